"""Bad and odd input: every case ends in a clear error or in sound numbers, never in between."""

from __future__ import annotations

import copy
import functools
import os
import pickle
import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from raysum import ProjectedAdditiveGPRegressor, _raysum
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils._param_validation import InvalidParameterError

ROWS = 30
NAME = "ProjectedAdditiveGPRegressor"

_rng = np.random.default_rng(0)
X = _rng.normal(size=(ROWS, 3))
Y = np.sin(X[:, 0]) + 0.1 * _rng.normal(size=ROWS)
TWO = np.column_stack([Y, X[:, 1]])
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
POLARS = pl.DataFrame(X, schema=["a", "b", "c"])
ONES = np.ones(ROWS)

X.setflags(write=False)
Y.setflags(write=False)
TWO.setflags(write=False)


# --- what the tables are made of


def gp(**parameters: Any) -> ProjectedAdditiveGPRegressor:
    return ProjectedAdditiveGPRegressor(**parameters)


def fit(x: Any = X, y: Any = Y, **arguments: Any) -> ProjectedAdditiveGPRegressor:
    return gp().fit(x, y, **arguments)


@functools.cache
def _fitted(kind: str) -> ProjectedAdditiveGPRegressor:
    if kind == "frame":
        return fit(FRAME)
    if kind == "two":
        return fit(y=TWO)
    if kind in ("weight", "ski"):
        return gp(engine=kind).fit(X, Y)
    return fit()


def fitted(kind: str = "plain") -> ProjectedAdditiveGPRegressor:
    """A fitted estimator of one's own: one target, "two" targets, names ("frame"), an engine."""
    return copy.deepcopy(_fitted(kind))


def put(values: Any, place: Any, value: Any) -> Any:
    """A copy with another value at one place, or several."""
    changed = np.array(values)
    changed[place] = value
    return changed


def failing(name: str, kind: type[Exception], text: str | re.Pattern[str], call: Any) -> Any:
    """A case that raises exactly this class, with a message that starts with the text."""
    return pytest.param(call, kind, text, id=name)


def check_error(call: Any, kind: type[Exception], text: str | re.Pattern[str]) -> None:
    with pytest.raises(kind) as raised:
        call()
    assert type(raised.value) is kind
    message = str(raised.value)
    if isinstance(text, str):
        assert message.startswith(text)
    else:
        assert text.search(message), message


def check_predictions(model: ProjectedAdditiveGPRegressor, x: Any, several: int = 0) -> None:
    """Predictions are finite and of the right shape, and their standard deviations positive."""
    shape = (len(x), several) if several else (len(x),)
    mean, std, lower, upper = model.predict(x, return_std=True, interval=0.9)
    for part in (mean, std, lower, upper):
        assert part.shape == shape
        assert np.isfinite(part).all()
    assert (std > 0).all()
    assert (lower <= mean).all() and (mean <= upper).all()
    np.testing.assert_array_equal(model.predict(x), mean)
    assert (np.array(model.noise_std_) > 0).all()
    answers = [
        model.sample_y(x, 2),
        model.gradient(x),
        model.components(x),
        model.log_marginal_likelihood(),
        np.array(list(model.relevance_.values())),
    ]
    for answer in answers:
        assert np.isfinite(answer).all()


def check_sound(model: ProjectedAdditiveGPRegressor, x: Any, several: int = 0) -> None:
    """Whatever is asked of the model is finite and of the right shape."""
    check_predictions(model, x, several)
    _, std = model.components(x, return_std=True)
    assert np.isfinite(std).all() and (std >= 0).all()
    _, covariance = model.predict(x, return_cov=True)
    assert covariance.shape == (len(x), len(x), several)[: 3 if several else 2]
    assert np.isfinite(covariance).all()


# --- shapes

SHAPES = [
    failing("x-0d", ValueError, "Expected 2D array, got scalar array", lambda: fit(3.0)),
    failing("x-1d", ValueError, "Expected 2D array, got 1D array", lambda: fit(X[:, 0])),
    failing("x-3d", ValueError, "Found array with dim 3", lambda: fit(X[:, :, None])),
    failing("x-no-columns", ValueError, "Found array with 0 feature(s)", lambda: fit(X[:, :0])),
    failing("x-no-rows", ValueError, "Found array with 0 sample(s)", lambda: fit(X[:0], Y[:0])),
    failing(
        "x-one-row",
        ValueError,
        f"Found array with 1 sample(s) (shape=(1, 3)) while a minimum of 2 is required by {NAME}",
        lambda: fit(X[:1], Y[:1]),
    ),
    failing("x-series", ValueError, "Expected a 2-dimensional", lambda: fit(FRAME["a"])),
    failing("frame-no-rows", ValueError, "Found array with 0 sample", lambda: fit(FRAME[:0], [])),
    failing("y-0d", TypeError, "Input should have at least 1 dimension", lambda: fit(y=1.0)),
    failing("y-3d", ValueError, "Found array with dim 3", lambda: fit(y=Y[:, None, None])),
    failing(
        "y-no-rows",
        ValueError,
        "Found input variables with inconsistent numbers of samples: [30, 0]",
        lambda: fit(y=Y[:0]),
    ),
    failing(
        "y-too-short",
        ValueError,
        "Found input variables with inconsistent numbers of samples: [30, 29]",
        lambda: fit(y=Y[:-1]),
    ),
    failing(
        "y-two-targets-too-short",
        ValueError,
        "Found input variables with inconsistent numbers of samples: [30, 29]",
        lambda: fit(y=TWO[:-1]),
    ),
    failing("predict-0d", ValueError, "Expected 2D array", lambda: fitted().predict(1.0)),
    failing("predict-1d", ValueError, "Expected 2D array", lambda: fitted().predict(X[0])),
    failing("predict-3d", ValueError, "Found array with dim 3", lambda: fitted().predict([[[1]]])),
    failing("predict-no-rows", ValueError, "Found array with 0", lambda: fitted().predict(X[:0])),
    failing("predict-no-columns", ValueError, "Found", lambda: fitted().predict(X[:, :0])),
    failing(
        "predict-too-few-columns",
        ValueError,
        f"X has 2 features, but {NAME} is expecting 3 features as input.",
        lambda: fitted().predict(X[:, :2]),
    ),
    failing(
        "predict-too-many-columns",
        ValueError,
        f"X has 4 features, but {NAME} is expecting 3 features as input.",
        lambda: fitted().predict(np.c_[X, Y]),
    ),
    failing(
        "sample_y-too-few-columns",
        ValueError,
        "X has 2 features",
        lambda: fitted().sample_y(X[:, :2]),
    ),
    failing(
        "gradient-too-few-columns",
        ValueError,
        "X has 2 features",
        lambda: fitted().gradient(X[:, :2]),
    ),
    failing(
        "loo-too-few-columns", ValueError, "X has 2 features", lambda: fitted().loo(X[:, :2], Y)
    ),
]


# --- types

_RAGGED = "setting an array element with a sequence."
_TEXT = "could not convert string to float: "
_STRUCTURE = np.dtype([("a", "f8"), ("b", "f8")])

TYPES = [
    failing("x-strings", ValueError, _TEXT, lambda: fit([["u", "v", "w"]] * ROWS)),
    failing("x-bytes", ValueError, _TEXT, lambda: fit(np.full((ROWS, 3), b"u"))),
    failing(
        "x-object-strings", ValueError, _TEXT, lambda: fit(X.astype("U6").astype(object) + "u")
    ),
    failing("x-object-dict", TypeError, "float() argument", lambda: fit([[{}, 1, 2]] * ROWS)),
    failing("x-one-string", ValueError, _TEXT + "'table.csv'", lambda: fit("table.csv")),
    failing("x-complex", ValueError, "Complex data not supported", lambda: fit(X + 1j)),
    failing("x-structured", TypeError, "Cannot cast", lambda: fit(np.zeros(ROWS, _STRUCTURE))),
    failing("x-matrix", TypeError, "np.matrix is not supported", lambda: fit(X.view(np.matrix))),
    failing("x-ragged", ValueError, _RAGGED, lambda: fit([[1, 2, 3], [1, 2]] * 15)),
    failing("x-generator", TypeError, "float() argument", lambda: fit(row for row in X)),
    failing("x-dict", TypeError, "float() argument", lambda: fit({"a": X[:, 0]})),
    failing("x-sparse", TypeError, "Sparse data", lambda: fit(scipy.sparse.csr_array(X))),
    failing("x-sparse-coo", TypeError, "Sparse data", lambda: fit(scipy.sparse.coo_matrix(X))),
    failing(
        "predict-sparse",
        TypeError,
        "Sparse data was passed for X, but dense data is required",
        lambda: fitted().predict(scipy.sparse.csr_array(X)),
    ),
    failing("predict-strings", ValueError, _TEXT, lambda: fitted().predict([["u", "v", "w"]])),
    failing("y-strings", ValueError, _TEXT, lambda: fit(y=["u"] * ROWS)),
    failing("y-complex", ValueError, "Complex data not supported", lambda: fit(y=Y + 1j)),
    failing("y-matrix", TypeError, "np.matrix is not", lambda: fit(y=Y[:, None].view(np.matrix))),
    failing("y-ragged", ValueError, _RAGGED, lambda: fit(y=[[1, 2], [1]] * 15)),
    failing("y-generator", TypeError, "float() argument", lambda: fit(y=(v for v in Y))),
    failing("y-dict", TypeError, "float() argument", lambda: fit(y={"t": Y})),
    failing(
        "y-sparse",
        TypeError,
        "Sparse data was passed for y, but dense data is required",
        lambda: fit(y=scipy.sparse.csr_array(Y[:, None])),
    ),
    failing(
        "y-none",
        ValueError,
        f"This {NAME} estimator requires y to be passed, but the target y is None.",
        lambda: fit(y=None),
    ),
    failing(
        "partial_fit-y-none",
        ValueError,
        f"This {NAME} estimator requires y",
        lambda: fitted().partial_fit(X, None),
    ),
    failing(
        "loo-y-none",
        ValueError,
        f"This {NAME} estimator requires y",
        lambda: fitted().loo(X, None),
    ),
]


# --- frames


def renamed(*names: Any) -> pd.DataFrame:
    frame = FRAME.copy()
    frame.columns = pd.Index(names, dtype=object)
    return frame


_NULLABLE = FRAME.astype("Float64")
_NULLABLE.loc[3, "b"] = pd.NA
_NAMES = "The feature names should match those that were passed during fit.\n"

FRAMES = [
    failing(
        "nullable-integer-na",
        ValueError,
        "Input X contains NaN at row 0, column 'a'.",
        lambda: fit(FRAME.assign(a=pd.array([None, *range(29)], dtype="Int64"))),
    ),
    failing(
        "nullable-float-na",
        ValueError,
        "Input X contains NaN at row 3, column 'b'.",
        lambda: fit(_NULLABLE),
    ),
    failing(
        "nullable-boolean-na",
        ValueError,
        "Input X contains NaN at row 29, column 'c'.",
        lambda: fit(FRAME.assign(c=pd.array([True] * 29 + [None], dtype="boolean"))),
    ),
    failing(
        "arrow-na",
        ValueError,
        "Input X contains NaN at row 2, column 'b'.",
        lambda: fit(FRAME.assign(b=put(X[:, 1], 2, np.nan)).astype("float64[pyarrow]")),
    ),
    failing("text", ValueError, _TEXT + "'u'", lambda: fit(FRAME.assign(b=["u", "v"] * 15))),
    failing(
        "categorical",
        ValueError,
        _TEXT + "'u'",
        lambda: fit(FRAME.assign(b=pd.Categorical(["u", "v"] * 15))),
    ),
    failing(
        "mixed-names",
        TypeError,
        "Feature names are only supported if all input features have string names",
        lambda: fit(renamed("a", 1, 2)),
    ),
    failing(
        "wrong-order",
        ValueError,
        _NAMES + "Feature names must be in the same order as they were in fit.",
        lambda: fitted("frame").predict(FRAME[["b", "a", "c"]]),
    ),
    failing(
        "missing-column",
        ValueError,
        _NAMES + "Feature names seen at fit time, yet now missing:\n- c",
        lambda: fitted("frame").predict(FRAME[["a", "b"]]),
    ),
    failing(
        "extra-column",
        ValueError,
        _NAMES + "Feature names unseen at fit time:\n- d",
        lambda: fitted("frame").predict(FRAME.assign(d=0.0)),
    ),
    failing(
        "partial_fit-renamed-column",
        ValueError,
        _NAMES + "Feature names unseen at fit time:\n- z",
        lambda: fitted("frame").partial_fit(renamed("z", "b", "c"), Y),
    ),
    failing(
        "polars-null",
        ValueError,
        "Input X contains NaN at row 4, column 'b'.",
        lambda: fit(POLARS.with_columns(pl.Series("b", [*range(4), None, *range(25)]))),
    ),
    failing(
        "polars-text",
        ValueError,
        _TEXT + "'u'",
        lambda: fit(POLARS.with_columns(pl.Series("b", ["u", "v"] * 15))),
    ),
    failing(
        "polars-wrong-order",
        ValueError,
        _NAMES + "Feature names must be in the same order",
        lambda: fitted("frame").predict(POLARS.select("c", "b", "a")),
    ),
    failing(
        "target-frame-text",
        ValueError,
        _TEXT + "'u'",
        lambda: fit(y=pd.DataFrame({"s": Y, "t": ["u"] * ROWS})),
    ),
    failing(
        "target-nullable-na",
        ValueError,
        "Input y contains NaN at row 0.",
        lambda: fit(y=pd.Series([None, *range(29)], dtype="Int64")),
    ),
    failing(
        "target-polars-null",
        ValueError,
        "Input y contains NaN at row 2.",
        lambda: fit(POLARS, pl.Series("t", [0.0, 1.0, None, *Y[3:]])),
    ),
]


# --- values that are not finite

NOT_FINITE = [
    failing(
        "x-nan",
        ValueError,
        "Input X contains NaN at row 7, column 1.",
        lambda: fit(put(X, (7, 1), np.nan)),
    ),
    failing(
        "x-infinity",
        ValueError,
        "Input X contains infinity at row 7, column 1.",
        lambda: fit(put(X, (7, 1), -np.inf)),
    ),
    failing(
        "x-many",
        ValueError,
        "Input X contains NaN at row 4, column 0, the first of 9 values that are not finite.",
        lambda: fit(put(X, [4, 9, 20], np.nan)),
    ),
    failing(
        "x-many-column-order",
        ValueError,
        "Input X contains NaN at row 4, column 0, the first of 9 values that are not finite.",
        lambda: fit(np.asfortranarray(put(X, [4, 9, 20], np.nan))),
    ),
    failing(
        "x-object-none",
        ValueError,
        "Input X contains NaN at row 0, column 1, the first of 30 values that are not finite.",
        lambda: fit([[1.0, None, 2.0]] * ROWS),
    ),
    failing(
        "frame-nan",
        ValueError,
        "Input X contains NaN at row 7, column 'b'.",
        lambda: fit(FRAME.assign(b=put(X[:, 1], 7, np.nan))),
    ),
    failing(
        "frame-many",
        ValueError,
        "Input X contains infinity at row 28, column 'c', the first of 2 values that are not",
        lambda: fit(FRAME.assign(c=put(X[:, 2], [28, 29], np.inf))),
    ),
    failing(
        "predict-nan",
        ValueError,
        "Input X contains NaN at row 1, column 2.",
        lambda: fitted().predict(put(X, (1, 2), np.nan)),
    ),
    failing(
        "predict-frame-infinity",
        ValueError,
        "Input X contains infinity at row 1, column 'c'.",
        lambda: fitted("frame").predict(FRAME.assign(c=put(X[:, 2], 1, np.inf))),
    ),
    failing(
        "components-nan",
        ValueError,
        "Input X contains NaN at row 1, column 2.",
        lambda: fitted().components(put(X, (1, 2), np.nan)),
    ),
    failing(
        "partial_fit-x-nan",
        ValueError,
        "Input X contains NaN at row 0, column 0, the first of 3 values",
        lambda: fitted().partial_fit([[np.nan] * 3], [0.0]),
    ),
    failing(
        "partial_fit-y-nan",
        ValueError,
        "Input y contains NaN at row 0.",
        lambda: fitted().partial_fit(X[:1], [np.nan]),
    ),
    failing(
        "y-nan", ValueError, "Input y contains NaN at row 4.", lambda: fit(y=put(Y, 4, np.nan))
    ),
    failing(
        "y-infinity",
        ValueError,
        "Input y contains infinity at row 4.",
        lambda: fit(y=put(Y, 4, np.inf)),
    ),
    failing(
        "y-many",
        ValueError,
        "Input y contains NaN at row 4, the first of 3 values that are not finite.",
        lambda: fit(y=put(Y, [4, 9, 20], np.nan)),
    ),
    failing(
        "y-second-target",
        ValueError,
        "Input y contains NaN at row 4, column 1.",
        lambda: fit(y=put(TWO, (4, 1), np.nan)),
    ),
]


# --- weights and known noise

WEIGHTS = [
    failing(
        "weight-negative",
        ValueError,
        "Negative values in data passed to `sample_weight`",
        lambda: fit(sample_weight=put(ONES, 3, -1)),
    ),
    failing(
        "weight-nan",
        ValueError,
        "Input sample_weight contains NaN",
        lambda: fit(sample_weight=put(ONES, 3, np.nan)),
    ),
    failing(
        "weight-infinity",
        ValueError,
        "Input sample_weight contains infinity",
        lambda: fit(sample_weight=put(ONES, 3, np.inf)),
    ),
    failing(
        "weight-too-short",
        ValueError,
        "sample_weight.shape == (29,), expected (30,)!",
        lambda: fit(sample_weight=ONES[1:]),
    ),
    failing(
        "weight-2d",
        ValueError,
        "Sample weights must be 1D array or scalar",
        lambda: fit(sample_weight=ONES[:, None]),
    ),
    failing(
        "weight-all-zero",
        ValueError,
        "Sample weights must contain at least one non-zero number.",
        lambda: fit(sample_weight=0 * ONES),
    ),
    failing(
        "weight-one-positive",
        ValueError,
        "Found 1 sample(s) with a weight above 0 while a minimum of 2 is required.",
        lambda: fit(sample_weight=put(0 * ONES, 3, 1)),
    ),
    failing("weight-text", ValueError, _TEXT, lambda: fit(sample_weight=["u"] * ROWS)),
    failing(
        "weight-sparse",
        TypeError,
        "Sparse data was passed for sample_weight",
        lambda: fit(sample_weight=scipy.sparse.csr_array(ONES[None, :])),
    ),
    failing(
        "partial_fit-weight-zero",
        ValueError,
        "Sample weights must contain at least one non-zero number.",
        lambda: fitted().partial_fit(X[:2], Y[:2], sample_weight=[0.0, 0.0]),
    ),
    failing(
        "noise-negative",
        ValueError,
        "the noise std of row 2 is -0.1, but must be finite and at least 0",
        lambda: fit(noise_std=put(ONES, 2, -0.1)),
    ),
    failing(
        "noise-scalar-negative",
        ValueError,
        "the noise std of row 0 is -0.1",
        lambda: fit(noise_std=-0.1),
    ),
    failing(
        "noise-nan",
        ValueError,
        "Input noise_std contains NaN",
        lambda: fit(noise_std=put(ONES, 2, np.nan)),
    ),
    failing(
        "noise-too-short",
        ValueError,
        "noise_std has shape (29,), expected (30,)!",
        lambda: fit(noise_std=ONES[1:]),
    ),
    failing(
        "noise-2d",
        ValueError,
        "noise_std has shape (30, 1), expected (30,)!",
        lambda: fit(noise_std=ONES[:, None]),
    ),
    failing(
        "noise-two-targets",
        ValueError,
        "known noise of rows is that of one target; fit several targets one by one",
        lambda: fit(y=TWO, noise_std=0.1),
    ),
    failing(
        "predict-noise-negative",
        ValueError,
        "noise_std is -0.1 at row 2, but must be 0 or more.",
        lambda: fitted().predict(X, return_std=True, noise_std=put(ONES, 2, -0.1)),
    ),
    failing(
        "predict-noise-too-short",
        ValueError,
        "noise_std has shape (29,), expected (30,)!",
        lambda: fitted().predict(X, noise_std=ONES[1:]),
    ),
    failing(
        "predict-noise-nan",
        ValueError,
        "Input noise_std contains NaN",
        lambda: fitted().predict(X, return_cov=True, noise_std=np.nan),
    ),
]


# --- parameters of the estimator


def parameter(name: str, value: Any) -> Any:
    """A value that scikit-learn's check refuses."""
    got = re.escape(f"Got {value!r} instead.")
    text = re.compile(rf"\AThe '{name}' parameter of {NAME} must be .* {got}\Z", re.DOTALL)
    return refused(f"{name}={value!r}", InvalidParameterError, text, **{name: value})


def refused(
    case: str, kind: type[Exception], text: str | re.Pattern[str], **parameters: Any
) -> Any:
    return failing(case, kind, text, lambda: gp(**parameters).fit(X, Y))


_DEGREES_TEXT = "does not describe degrees; write for example 20x1, dx1, 1xd or 4x1,4x2,4x3"
_DEGREES_LIST = "but must be a text like '4x1,4x2' or a list with the degree of each sub-kernel"
_BOUNDS = "noise_bounds must be two numbers, low and high."
_LOW = ", but must be above 0"
_HIGH = ", but must be finite and above the lower one"
_TWO_SCALES = "learned directions have lengths of their own in every column"

PARAMETERS = [
    *(parameter("model", value) for value in ("nope", "", None, 3, ["gam"])),
    *(parameter("n_projections", value) for value in (0, -1, 2.5, "x", [2])),
    *(parameter("degrees", value) for value in (3, 1.5)),
    *(
        refused(f"degrees={text!r}", ValueError, f"'{text}' {_DEGREES_TEXT}", degrees=text)
        for text in ("0x1", "", "x", "1x0", "1x-1", "1x1.5", "1x1,,", "9999999999x1")
    ),
    *(
        refused(
            f"degrees={given}", ValueError, f"degrees is {given}, {_DEGREES_LIST}", degrees=given
        )
        for given in ([], [0], [-1], [1.5], ["a"], [[1]])
    ),
    refused(
        "n_projections-and-degrees",
        ValueError,
        "n_projections and degrees say the same in two ways; give at most one of them.",
        n_projections=2,
        degrees="2x1",
    ),
    refused(
        "more-axes-than-columns",
        ValueError,
        "the degrees ask for 5 axes, but X has 3 columns",
        directions="axes",
        n_projections=5,
    ),
    *(parameter("kernel", value) for value in ("nope", "RBF", 1)),
    *(parameter("directions", value) for value in ("nope", 1)),
    *(parameter("ard", value) for value in ("yes", 1)),
    parameter("learn_weights", "yes"),
    parameter("learn_directions", "yes"),
    refused("learn_directions-ard", ValueError, _TWO_SCALES, learn_directions=True, ard=True),
    refused("ppr-ard", ValueError, _TWO_SCALES, model="ppr", ard=True),
    *(parameter("engine", value) for value in ("nope", 1)),
    refused(
        "weight-engine-rough-kernel",
        ValueError,
        "the model's functions are too rough for the weight engine",
        engine="weight",
        kernel="matern12",
    ),
    *(parameter("ski", value) for value in ("x", [])),
    refused(
        "ski-unknown-option",
        ValueError,
        "unknown ski option 'foo'; known are: grid, probes, cg_tolerance, cg_iterations",
        engine="ski",
        ski={"foo": 1},
    ),
    refused(
        "ski-without-the-engine",
        ValueError,
        "ski holds settings of the ski engine; give engine='ski' too.",
        ski={"grid": 50},
    ),
    *(
        refused(
            f"ski-{name}={value}",
            InvalidParameterError,
            f"The '{name}' parameter of ski must be ",
            engine="ski",
            ski={name: value},
        )
        for name, value in (
            ("grid", 2),
            ("grid", "a"),
            ("grid", 10**30),
            ("probes", 0),
            ("probes", 10**12),
            ("cg_tolerance", 0.0),
            ("cg_tolerance", -1.0),
            ("cg_tolerance", 2.0),
            ("cg_tolerance", np.nan),
            ("cg_iterations", 0),
            ("exact_variance", "yes"),
        )
    ),
    refused(
        "ski-option-not-a-text",
        ValueError,
        "unknown ski option 2; known are: grid",
        engine="ski",
        ski={2: 3},
    ),
    refused(
        "n_projections-too-many",
        ValueError,
        "100000 projections of 3 columns are more than can be handled",
        n_projections=10**5,
    ),
    refused("n_projections-bool", ValueError, "n_projections is True", n_projections=True),
    refused("degrees-bool", ValueError, "degrees is [True], but must be", degrees=[True]),
    refused("degrees-text-too-many", ValueError, "65536 projections", degrees="65536x1"),
    refused(
        "ski-too-few-iterations",
        ValueError,
        "conjugate gradients did not converge: after 1 iterations",
        engine="ski",
        ski={"cg_iterations": 1},
    ),
    *(parameter("optimizer", value) for value in ("sgd", None)),
    *(parameter("max_evaluations", value) for value in (0, -1, 2.5, "a")),
    *(parameter("n_restarts", value) for value in (-1, 1.5, "a", None, 1001)),
    *(parameter("subset", value) for value in (1, 0, 2.5, "a")),
    *(parameter("noise_bounds", value) for value in ("x", None, 1.0)),
    *(
        refused(f"noise_bounds={given}", ValueError, _BOUNDS, noise_bounds=given)
        for given in ((1,), (1, 2, 3), ("a", "b"), (None, 1), (1j, 2))
    ),
    refused("noise_bounds-0", ValueError, f"the lower noise bound is 0{_LOW}", noise_bounds=(0, 1)),
    refused("noise_bounds-below", ValueError, "the lower noise bound is -1", noise_bounds=(-1, 1)),
    refused("noise_bounds-nan", ValueError, "the lower noise", noise_bounds=(np.nan, 1)),
    refused(
        "noise_bounds-swapped",
        ValueError,
        f"the upper noise bound is 0{_HIGH}",
        noise_bounds=(1, 0),
    ),
    refused(
        "noise_bounds-infinite",
        ValueError,
        f"the upper noise bound is inf{_HIGH}",
        noise_bounds=(1e-4, np.inf),
    ),
    *(parameter("random_state", value) for value in (-1, "a", 2**65, 1.5)),
    *(parameter("n_jobs", value) for value in ("a", 1.5)),
    refused("n_jobs=0", ValueError, "n_jobs == 0", n_jobs=0),
    *(parameter("verbose", value) for value in ("a", -1, None)),
    failing("unknown-parameter", TypeError, f"{NAME}.__init__() got an", lambda: gp(foo=1)),
    failing("set-unknown", ValueError, "Invalid parameter 'foo'", lambda: gp().set_params(foo=1)),
]


# --- questions

_RANGE = ", but must be a number between 0 and 1."
_COVARIANCE = "return_cov goes neither with return_std nor with interval."
_OTHER_ROWS = "these are not the rows that the model was fitted on"
_OTHER_TARGETS = re.compile(r"\Ay has .*, but the y of the fit had")

QUESTIONS = [
    *(
        failing(
            f"interval={level}",
            ValueError,
            f"interval is {level!r}{_RANGE}",
            lambda level=level: fitted().predict(X, interval=level),
        )
        for level in (0, 1, 2, -0.5, np.nan, np.inf, "a", [0.5], (0.1, 0.9))
    ),
    failing(
        "std-and-covariance",
        ValueError,
        _COVARIANCE,
        lambda: fitted().predict(X, return_std=True, return_cov=True),
    ),
    failing(
        "interval-and-covariance",
        ValueError,
        _COVARIANCE,
        lambda: fitted().predict(X, interval=0.5, return_cov=True),
    ),
    *(
        failing(
            f"n_samples={count}",
            ValueError,
            f"n_samples is {count!r}, but must be a number from 1.",
            lambda count=count: fitted().sample_y(X, count),
        )
        for count in (0, -1, 1.5, "a", None, 2**70)
    ),
    *(
        failing(
            f"sample_y-random_state={seed}",
            ValueError,
            f"random_state is {seed}, but must be from 0 to 2**64 - 1.",
            lambda seed=seed: fitted().sample_y(X, random_state=seed),
        )
        for seed in (-1, 2**65)
    ),
    failing(
        "sample_y-random_state-text",
        ValueError,
        "'a' cannot be used to seed",
        lambda: fitted().sample_y(X, random_state="a"),
    ),
    *(
        failing(
            f"partial_fit-{name}",
            ValueError,
            _OTHER_TARGETS,
            lambda kind=kind, y=y: fitted(kind).partial_fit(X, y),
        )
        for name, kind, y in (
            ("second-dimension", "plain", Y[:, None]),
            ("two-targets-for-one", "plain", TWO),
            ("one-target-for-two", "two", Y),
            ("three-targets-for-two", "two", np.c_[TWO, Y]),
        )
    ),
    failing(
        "partial_fit-no-rows",
        ValueError,
        "Found array with 0 sample(s) (shape=(0, 3)) while a minimum of 1 is required",
        lambda: fitted().partial_fit(X[:0], Y[:0]),
    ),
    failing(
        "partial_fit-too-few-columns",
        ValueError,
        "X has 2 features",
        lambda: fitted().partial_fit(X[:, :2], Y),
    ),
    failing(
        "partial_fit-first-with-one-row",
        ValueError,
        "Found array with 1 sample(s) (shape=(1, 3)) while a minimum of 2 is required",
        lambda: gp().partial_fit(X[:1], Y[:1]),
    ),
    failing(
        "partial_fit-ski",
        ValueError,
        "a model of the ski engine does not keep its rows; fit again on all of them",
        lambda: fitted("ski").partial_fit(X[:2], Y[:2]),
    ),
    failing(
        "partial_fit-beyond-the-features",
        ValueError,
        "the new rows lie where the model's features do not reach",
        lambda: fitted("weight").partial_fit(X[:1] + 1e300, Y[:1]),
    ),
    failing(
        "loo-other-rows",
        ValueError,
        f"{_OTHER_ROWS} (row 5 differs)",
        lambda: fitted().loo(put(X, (5, 0), 9.0), Y),
    ),
    failing(
        "loo-other-order",
        ValueError,
        f"{_OTHER_ROWS} (row 0 differs)",
        lambda: fitted().loo(X[::-1], Y[::-1]),
    ),
    *(
        failing(
            f"loo-{name}-{kind}",
            ValueError,
            _OTHER_ROWS,
            lambda kind=kind, x=x, y=y: fitted(kind).loo(x, y),
        )
        for kind in ("plain", "weight", "ski")
        for name, x, y in (
            ("fewer-rows", X[:10], Y[:10]),
            ("more-rows", np.r_[X, X], np.r_[Y, Y]),
            ("moved-rows", X + 1, Y),
        )
    ),
    *(
        failing(
            f"loo-other-target-{kind}",
            ValueError,
            _OTHER_ROWS,
            lambda kind=kind: fitted(kind).loo(X, Y + 5),
        )
        for kind in ("weight", "ski")
    ),
    *(
        failing(
            f"loo-{kind}-other-{what}",
            ValueError,
            _OTHER_ROWS,
            lambda kind=kind, arguments=arguments: fitted(kind).loo(X, *arguments),
        )
        for kind in ("plain", "weight")
        for what, arguments in (("y", (Y + 1000,)), ("weights", (Y, 2 * ONES)))
    ),
    failing(
        "loo-second-dimension",
        ValueError,
        _OTHER_TARGETS,
        lambda: fitted().loo(X, Y[:, None]),
    ),
]


# --- what looks like numbers and is not

_DATES = "contains dates or times"
DATES = np.array(["2020-01-01", "NaT"] * 15, dtype="datetime64[D]")

UNLIKE_NUMBERS = [
    failing("x-none", ValueError, "X is None", lambda: fit(None)),
    failing("predict-none", ValueError, "X is None", lambda: fitted().predict(None)),
    failing("x-dates", ValueError, f"Input X {_DATES};", lambda: fit(DATES[:, None])),
    failing("y-dates", ValueError, f"Input y {_DATES};", lambda: fit(y=DATES)),
    failing(
        "x-time-differences",
        ValueError,
        f"Input X {_DATES};",
        lambda: fitted().predict(X.astype("timedelta64[s]")),
    ),
    failing(
        "frame-with-dates",
        ValueError,
        f"Input X {_DATES} in column 'when';",
        lambda: fit(FRAME.assign(when=DATES)),
    ),
    failing(
        "polars-with-dates",
        ValueError,
        f"Input X {_DATES} in column 'when';",
        lambda: fit(POLARS.with_columns(when=pl.Series(DATES))),
    ),
    failing("lazy-frame", TypeError, "X is a lazy frame", lambda: fit(POLARS.lazy())),
    failing(
        "masked-x",
        ValueError,
        "Input X is an array with masked values",
        lambda: fit(np.ma.masked_array(X, mask=X > 1)),
    ),
    failing(
        "masked-y",
        ValueError,
        "Input y is an array with masked values",
        lambda: fit(y=np.ma.masked_array(Y, mask=Y > 0)),
    ),
    failing("no-columns", ValueError, "Found array with 0 feature", lambda: fit(FRAME[[]])),
    failing("y-no-columns", ValueError, "Found array with 0 target", lambda: fit(y=TWO[:, :0])),
    failing(
        "integers-beyond-floats",
        ValueError,
        "a value is too large for a float",
        lambda: fit([[10**400], [1]], [1, 2]),
    ),
    failing(
        "text-column",
        ValueError,
        re.compile(r"could not convert string to float.*\(column 'colour'\); encode texts"),
        lambda: fit(FRAME.assign(colour=["red", "blue"] * 15)),
    ),
    failing(
        "weight-nan",
        ValueError,
        "Input sample_weight contains NaN",
        lambda: fit(sample_weight=np.nan),
    ),
]


# --- before the fit

UNFITTED = [
    failing(
        name,
        NotFittedError,
        f"This {NAME} instance is not fitted yet.",
        lambda name=name, arguments=arguments: getattr(gp(), name)(*arguments),
    )
    for name, arguments in (
        ("predict", (X,)),
        ("score", (X, Y)),
        ("sample_y", (X,)),
        ("components", (X,)),
        ("transform", (X,)),
        ("get_feature_names_out", ()),
        ("gradient", (X,)),
        ("loo", (X, Y)),
        ("log_marginal_likelihood", ()),
        ("save", ("never.raysum",)),
    )
]


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        *SHAPES,
        *TYPES,
        *FRAMES,
        *NOT_FINITE,
        *WEIGHTS,
        *PARAMETERS,
        *QUESTIONS,
        *UNLIKE_NUMBERS,
        *UNFITTED,
    ],
)
def test_error(call: Any, kind: type[Exception], text: str | re.Pattern[str]) -> None:
    check_error(call, kind, text)


def test_duplicate_names() -> None:
    # The class is that of the library which scikit-learn reads frames with; it is a ValueError.
    with pytest.raises(ValueError, match="unique column names"):
        fit(renamed("a", "a", "b"))


@pytest.mark.parametrize(
    "fail",
    [
        pytest.param(lambda e: e.fit(FRAME[["a", "b"]], put(Y, 0, np.nan)), id="nan"),
        pytest.param(lambda e: e.fit(renamed("u", "v", "w"), Y, sample_weight=-ONES), id="weights"),
        pytest.param(lambda e: e.fit(X[:, :1], Y, noise_std=-1.0), id="noise"),
        pytest.param(lambda e: e.fit(X[:, :1], TWO, noise_std=1.0), id="two-targets"),
        pytest.param(lambda e: e.set_params(degrees="0x1").fit(X[:, :1], Y), id="parameter"),
        pytest.param(lambda e: e.partial_fit(FRAME, put(Y, 0, np.inf)), id="partial_fit"),
        pytest.param(lambda e: e.partial_fit(FRAME, TWO), id="partial_fit-two-targets"),
    ],
)
def test_a_failed_fit_leaves_the_estimator_as_it_was(fail: Any) -> None:
    estimator = fitted("frame")
    expected = estimator.predict(FRAME, return_std=True)
    with pytest.raises(ValueError):
        fail(estimator)
    assert estimator.n_features_in_ == 3
    assert list(estimator.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(estimator.predict(FRAME, return_std=True), expected)


# --- the same numbers in other clothes

_INTEGERS = _rng.integers(-9, 9, size=(ROWS, 3))
_BIG = 2**60 + 2**40 * _INTEGERS
_UNALIGNED = np.frombuffer(b"-" + X.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(X.shape)


@pytest.mark.parametrize(
    ("x", "y", "same_x", "same_y"),
    [
        pytest.param(X.astype(">f8"), Y.astype(">f8"), X, Y, id="big-endian"),
        pytest.param(X.astype("longdouble"), Y.astype("longdouble"), X, Y, id="longdouble"),
        pytest.param(X.astype(object), Y.astype(object), X, Y, id="objects"),
        pytest.param(X.tolist(), Y.tolist(), X, Y, id="lists"),
        pytest.param(tuple(map(tuple, X)), tuple(Y), X, Y, id="tuples"),
        pytest.param(np.ma.masked_array(X), np.ma.masked_array(Y), X, Y, id="nothing-masked"),
        pytest.param(np.asfortranarray(X), Y, X, Y, id="column-order"),
        pytest.param(np.repeat(X, 2, axis=1)[:, ::2], np.repeat(Y, 2)[::2], X, Y, id="gaps"),
        pytest.param(X[::-1][::-1], Y[::-1][::-1], X, Y, id="backwards"),
        pytest.param(_UNALIGNED, Y, X, Y, id="unaligned"),
        pytest.param(X.astype("f4"), Y, X.astype("f4").astype("f8"), Y, id="float32"),
        pytest.param(X.astype("f2"), Y, X.astype("f2").astype("f8"), Y, id="float16"),
        pytest.param(_INTEGERS.astype("i1"), Y, _INTEGERS * 1.0, Y, id="int8"),
        pytest.param(X > 0, Y > 0, (X > 0) * 1.0, (Y > 0) * 1.0, id="bool"),
        pytest.param(_BIG, Y, _BIG.astype(float), Y, id="integers-beyond-2**53"),
        pytest.param((_BIG.astype(object) * 2**9), Y, _BIG * 2.0**9, Y, id="integers-beyond-2**64"),
        pytest.param(FRAME, Y, X, Y, id="frame"),
        pytest.param(FRAME.astype("Float64"), Y, X, Y, id="nullable-floats"),
        pytest.param(FRAME.astype("float64[pyarrow]"), Y, X, Y, id="arrow-floats"),
        pytest.param(
            pd.DataFrame(_INTEGERS).astype("Int64"), Y, _INTEGERS * 1.0, Y, id="nullable-integers"
        ),
        pytest.param(
            pd.DataFrame({"a": _INTEGERS[:, 0], "b": X[:, 1] > 0, "c": X[:, 2].astype("f4")}),
            Y,
            np.c_[_INTEGERS[:, 0], X[:, 1] > 0, X[:, 2].astype("f4")],
            Y,
            id="frame-mixed",
        ),
        pytest.param(
            FRAME.assign(a=pd.Categorical([1, 2] * 15)),
            Y,
            np.c_[[1, 2] * 15, X[:, 1:]],
            Y,
            id="frame-categorical-numbers",
        ),
        pytest.param(renamed(0, 1, 2), Y, X, Y, id="frame-integer-names"),
        pytest.param(
            FRAME.set_index(pd.Index(["r"] * ROWS)),
            pd.Series(Y, index=range(100, 100 + ROWS)),
            X,
            Y,
            id="frame-other-index",
        ),
        pytest.param(POLARS, pl.Series("t", Y), X, Y, id="polars"),
    ],
)
def test_same_as_floats(x: Any, y: Any, same_x: Any, same_y: Any) -> None:
    model, same = fit(x, y), fit(np.ascontiguousarray(same_x), np.ascontiguousarray(same_y))
    check_sound(model, x)
    expected = same.predict(same_x, return_std=True)
    np.testing.assert_array_equal(model.predict(x, return_std=True), expected)


@pytest.mark.parametrize(
    ("y", "targets"),
    [
        pytest.param(Y[:, None], 1, id="one-column"),
        pytest.param(TWO, 2, id="two-columns"),
        pytest.param(pd.DataFrame({"s": Y, "t": X[:, 1]}), 2, id="frame"),
        pytest.param(pl.DataFrame({"s": Y}), 1, id="polars"),
        pytest.param(np.column_stack([ONES, Y]), 2, id="one-constant"),
    ],
)
def test_target_of_two_dimensions(y: Any, targets: int) -> None:
    check_sound(fit(y=y), X, several=targets)


def test_names_at_fit_but_an_array_at_predict() -> None:
    estimator = fitted("frame")
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        mean = estimator.predict(X)
    np.testing.assert_array_equal(mean, estimator.predict(FRAME))


def test_an_array_at_fit_but_names_at_predict() -> None:
    estimator = fitted()
    with pytest.warns(UserWarning, match="X has feature names, but"):
        mean = estimator.predict(FRAME)
    np.testing.assert_array_equal(mean, estimator.predict(X))


# --- odd numbers that a model can be learned from


@pytest.mark.parametrize(
    ("x", "y"),
    [
        pytest.param(X[:2], Y[:2], id="two-rows"),
        pytest.param(X[:3], Y[:3], id="three-rows"),
        pytest.param(X[:, :1], Y, id="one-column"),
        pytest.param(np.c_[X, ONES], Y, id="constant-column"),
        pytest.param(np.ones((ROWS, 3)), Y, id="constant-columns"),
        pytest.param(np.zeros((ROWS, 3)), Y, id="zeros"),
        pytest.param(X, 5 * ONES, id="constant-target"),
        pytest.param(X, 0 * ONES, id="zero-target"),
        pytest.param(np.ones((ROWS, 3)), ONES, id="everything-constant"),
        pytest.param(np.repeat(X[:1], ROWS, axis=0), Y, id="identical-rows"),
        pytest.param(np.r_[X, X], np.r_[Y, Y], id="duplicated-rows"),
        pytest.param(np.r_[X, X], np.r_[Y, Y + 1], id="duplicated-rows-other-targets"),
        pytest.param(np.c_[X, 2 * X[:, 0], X.sum(axis=1)], Y, id="collinear"),
        pytest.param(_rng.normal(size=(8, 20)), Y[:8], id="more-columns-than-rows"),
        pytest.param(1e300 * X, Y, id="huge"),
        pytest.param(1e-300 * X, Y, id="tiny"),
        pytest.param(1e-320 * X, Y, id="subnormal"),
        pytest.param(X * [1e300, 1, 1e-300], Y, id="huge-and-tiny"),
        pytest.param(put(X, (4, 1), 1e300), Y, id="one-huge-value"),
        pytest.param(np.where(X > 0, 1.7e308, -1.7e308), Y, id="largest-floats"),
        pytest.param(1e12 + X, Y, id="far-from-zero"),
        pytest.param(X, 1e-300 * Y, id="tiny-target"),
        pytest.param(X, 1e12 + 1e-2 * Y, id="large-target-of-small-variance"),
        pytest.param(X, 1e16 + Y, id="target-at-the-end-of-precision"),
    ],
)
def test_odd_numbers(x: Any, y: Any) -> None:
    model = fit(x, y)
    check_sound(model, x)
    mean, std = model.loo(x, y)
    assert np.isfinite(mean).all() and (std > 0).all() and np.isfinite(std).all()


@pytest.mark.parametrize(
    "y",
    [
        pytest.param(1e300 * Y, id="all"),
        pytest.param(put(Y, 4, 1e300), id="one"),
        pytest.param(1e300 * ONES, id="constant"),
    ],
)
def test_huge_target(y: Any) -> None:
    # The squares of such values are no floats any more; covariances are left alone.
    check_predictions(fit(y=y), X)


@pytest.mark.parametrize("model", ["gam", "ppr", "rbf-ard", "imq-ard", "rpa-2", "rpa-1-ski"])
@pytest.mark.parametrize(
    ("x", "y"),
    [
        pytest.param(np.ones((ROWS, 3)), ONES, id="everything-constant"),
        pytest.param(1e300 * X, 1e300 * Y, id="huge"),
        pytest.param(1e-300 * X, 1e-300 * Y, id="tiny"),
        pytest.param(X[:2], Y[:2], id="two-rows"),
    ],
)
def test_odd_numbers_and_other_models(model: str, x: Any, y: Any) -> None:
    check_predictions(gp(model=model).fit(x, y), x)


@pytest.mark.parametrize(
    "x",
    [
        pytest.param(np.full((2, 3), 1.7e308), id="largest-floats"),
        pytest.param(np.full((2, 3), 5e-324), id="smallest-floats"),
        pytest.param(X[:2] + 1e6, id="far-away"),
        pytest.param([[1, True, np.float32(2)]], id="mixed-list"),
    ],
)
@pytest.mark.parametrize("kind", ["plain", "weight", "ski"])
def test_predict_anywhere(kind: str, x: Any) -> None:
    check_sound(fitted(kind), x)


@pytest.mark.parametrize(
    "weight",
    [
        pytest.param(2.0, id="scalar"),
        pytest.param(X[:, 0] > 0, id="bool"),
        pytest.param(pd.Series(2 * ONES), id="series"),
        pytest.param(1e300 * ONES, id="huge"),
        pytest.param(1e-300 * ONES, id="tiny"),
        pytest.param(put(ONES, 3, 1e300), id="one-huge"),
        pytest.param(put(ONES, 3, 1e-300), id="one-tiny"),
    ],
)
def test_odd_weights(weight: Any) -> None:
    check_sound(fit(sample_weight=weight), X)


def test_rows_of_weight_zero_are_as_good_as_not_there() -> None:
    keep = np.arange(ROWS) % 3 > 0
    weighted = fit(sample_weight=keep.astype(float))
    without = fit(X[keep], Y[keep])
    for one, other in zip(
        weighted.predict(X, return_std=True), without.predict(X, return_std=True)
    ):
        np.testing.assert_array_equal(one, other)
    mean, _ = weighted.loo(X, Y, sample_weight=keep.astype(float))
    assert mean.shape == (keep.sum(),)


@pytest.mark.parametrize(
    "noise",
    [
        pytest.param(0.1, id="scalar"),
        pytest.param(0.0, id="zero"),
        pytest.param(1e-300, id="tiny"),
        pytest.param(put(0 * ONES, 3, 1e300), id="one-huge"),
    ],
)
def test_odd_noise(noise: Any) -> None:
    check_sound(fit(noise_std=noise), X)


def test_noise_as_scalar_and_as_array() -> None:
    expected = fit(noise_std=0.1 * ONES).predict(X, return_std=True, noise_std=0.1 * ONES)
    given = fit(noise_std=0.1).predict(X, return_std=True, noise_std=0.1)
    np.testing.assert_array_equal(given, expected)


def test_a_single_evaluation() -> None:
    with pytest.warns(ConvergenceWarning, match="raise max_evaluations"):
        model = gp(max_evaluations=1).fit(X, Y)
    check_sound(model, X)


@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param({"n_projections": "d"}, id="n_projections=d"),
        pytest.param({"n_projections": np.int64(3)}, id="n_projections=int64"),
        pytest.param({"degrees": np.array([1, 2])}, id="degrees=array"),
        pytest.param({"degrees": " 2x1 , 1x2 "}, id="degrees=spaces"),
        pytest.param({"degrees": [7]}, id="degrees-above-columns"),
        pytest.param({"ard": np.bool_(False)}, id="ard=numpy"),
        pytest.param({"subset": 2}, id="subset=2"),
        pytest.param({"subset": 10**6}, id="subset-above-rows"),
        pytest.param({"noise_bounds": np.array([1e-3, 1.0])}, id="noise_bounds=array"),
        pytest.param({"noise_bounds": (1e5, 1e6)}, id="noise_bounds-high"),
        pytest.param({"random_state": 2**64 - 1}, id="random_state-largest"),
        pytest.param({"random_state": None}, id="random_state=None"),
        pytest.param({"random_state": np.random.RandomState(0)}, id="random_state=RandomState"),
        pytest.param({"n_jobs": -5}, id="n_jobs=-5"),
        pytest.param({"engine": "ski", "ski": {}}, id="ski-empty"),
        pytest.param({"engine": "ski", "ski": {"grid": np.int64(50)}}, id="ski-grid-int64"),
    ],
)
def test_odd_parameters(parameters: dict[str, Any]) -> None:
    check_sound(gp(**parameters).fit(X, Y), X)


# --- files


@pytest.mark.parametrize(
    ("place", "kind", "text"),
    [
        pytest.param(lambda p: p, IsADirectoryError, "{path}: Is a directory", id="folder"),
        pytest.param(
            lambda p: p / "no" / "model",
            FileNotFoundError,
            "{path}: the folder {folder} does not exist",
            id="missing-folder",
        ),
        pytest.param(
            lambda p: p / ("a" * 300), OSError, "{path}: File name too long", id="long-name"
        ),
        pytest.param(lambda p: None, TypeError, "expected str, bytes or os.PathLike", id="none"),
        pytest.param(lambda p: 3, TypeError, "expected str, bytes or os.PathLike", id="number"),
    ],
)
def test_save(tmp_path: Any, place: Any, kind: type[Exception], text: str) -> None:
    path = place(tmp_path)
    text = text.format(path=path, folder=tmp_path / "no")
    check_error(lambda: fitted().save(path), kind, text)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_save_on_a_full_disk() -> None:
    check_error(lambda: fitted().save("/dev/full"), OSError, "/dev/full: No space left on device")


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_save_without_permission(tmp_path: Any) -> None:
    tmp_path.chmod(0o500)
    path = tmp_path / "model.raysum"
    check_error(lambda: fitted().save(path), PermissionError, f"{path}: ")
    assert list(tmp_path.iterdir()) == []


def load(path: Any) -> ProjectedAdditiveGPRegressor:
    return ProjectedAdditiveGPRegressor.load(path)


def test_load_a_missing_file(tmp_path: Any) -> None:
    path = tmp_path / "no"
    check_error(lambda: load(path), FileNotFoundError, f"{path}: No such file or directory")


def test_load_a_folder(tmp_path: Any) -> None:
    check_error(lambda: load(tmp_path), IsADirectoryError, f"{tmp_path}: Is a directory")


@pytest.mark.parametrize("path", [None, 3], ids=["none", "number"])
def test_load_what_is_no_path(path: Any) -> None:
    check_error(lambda: load(path), TypeError, "expected str, bytes or os.PathLike")


_NO_MODEL = "not a raysum model file"
_DAMAGED = "the model file is damaged ("


def model_bytes() -> bytes:
    return _fitted("plain")._model.to_bytes()


def flipped(at: float) -> bytes:
    """A model file with one bit that is wrong."""
    content = bytearray(model_bytes())
    content[int(at * len(content))] ^= 1
    return bytes(content)


CONTENTS = [
    pytest.param(lambda: b"", _NO_MODEL, id="empty"),
    pytest.param(lambda: b"junk", _NO_MODEL, id="short"),
    pytest.param(lambda: b"some,text\n1,2\n" * 100, _NO_MODEL, id="text"),
    pytest.param(lambda: b'{"a": 1}', _NO_MODEL, id="json"),
    pytest.param(lambda: bytes(1000), _NO_MODEL, id="zeros"),
    pytest.param(lambda: b"\xff" * 1000, _NO_MODEL, id="ones"),
    pytest.param(lambda: pickle.dumps(fitted()), _NO_MODEL, id="pickle"),
    pytest.param(lambda: model_bytes()[:4], _NO_MODEL, id="cut-at-once"),
    pytest.param(lambda: model_bytes()[:100], _DAMAGED, id="cut-in-header"),
    pytest.param(lambda: model_bytes()[:-1], _DAMAGED, id="cut-at-end"),
    pytest.param(
        lambda: model_bytes()[: len(model_bytes()) // 2], _DAMAGED, id="cut-in-the-middle"
    ),
    pytest.param(lambda: model_bytes() + b"x", _DAMAGED, id="one-byte-more"),
    pytest.param(lambda: flipped(0.5), _DAMAGED, id="bit-in-the-middle"),
    pytest.param(lambda: flipped(0.9), _DAMAGED, id="bit-near-the-end"),
]


@pytest.mark.parametrize(("content", "text"), CONTENTS)
def test_load_bad_content(tmp_path: Any, content: Any, text: str) -> None:
    path = tmp_path / "model.raysum"
    path.write_bytes(content())
    check_error(lambda: load(path), ValueError, f"{path}: {text}")


@pytest.mark.parametrize(("content", "text"), CONTENTS)
def test_bad_bytes(content: Any, text: str) -> None:
    read = _raysum.Model.from_bytes
    check_error(lambda: read(content()), ValueError, f"bytes of a model: {text}")


def test_no_damaged_bit_and_no_cut_goes_unnoticed() -> None:
    content = model_bytes()
    for at in range(0, len(content), len(content) // 100):
        damaged = bytearray(content)
        damaged[at] ^= 0x55
        for bad in (bytes(damaged), content[:at]):
            check_error(
                lambda bad=bad: _raysum.Model.from_bytes(bad), ValueError, "bytes of a model: "
            )


def test_damaged_pickle() -> None:
    content = bytearray(pickle.dumps(fitted()))
    start = content.find(model_bytes()[:16])
    assert start > 0
    content[start + len(model_bytes()) // 2] ^= 1
    text = "bytes of a model: the model file is damaged (its checksum is wrong)"
    check_error(lambda: pickle.loads(bytes(content)), ValueError, text)


@pytest.mark.parametrize("unit", [1e160, 1e300])
def test_whatever_is_asked_about_huge_targets_is_finite(unit: float) -> None:
    check_sound(fit(y=unit * Y), X)


def test_slopes_beyond_the_largest_number_are_cut_to_it() -> None:
    assert np.isfinite(fit(1e-300 * X, 1e300 * Y).gradient(1e-300 * X)).all()


def test_more_threads_than_make_sense() -> None:
    assert (gp(n_jobs=2**70).fit(X, Y).predict(X) == fitted().predict(X)).all()
