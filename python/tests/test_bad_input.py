"""Bad input: every case ends in a clear error."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from cases import (
    FRAME,
    NAME,
    ONES,
    POLARS,
    ROWS,
    TWO,
    X,
    Y,
    check_error,
    failing,
    fit,
    fitted,
    gp,
    put,
    renamed,
)
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import InvalidParameterError

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
_ALONG_AXES = "along the axes every column has a length-scale of its own, with or without ard"
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
    *(
        refused(f"{model}-without-ard", ValueError, _ALONG_AXES, model=model, ard=False)
        for model in ("rbf-ard", "imq-ard", "gam")
    ),
    refused("axes-without-ard", ValueError, _ALONG_AXES, model="dpa", directions="axes", ard=False),
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
    *(parameter("missing", value) for value in ("guess", None, True)),
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
        "X, row 1, column 'when': the value is missing (and 14 more cells in 14 rows); use missing",
        lambda: fit(FRAME.assign(when=DATES)),
    ),
    failing(
        "polars-with-dates",
        ValueError,
        "X, row 1, column 'when': the value is missing (and 14 more cells in 14 rows); use missing",
        lambda: fit(POLARS.with_columns(when=pl.Series(DATES))),
    ),
    failing(
        "predict-dates",
        ValueError,
        f"Input X {_DATES} in column 'c';",
        lambda: fitted("frame").predict(FRAME.assign(c=DATES)),
    ),
    failing(
        "partial_fit-text",
        ValueError,
        "X, column 'b': it holds something else than numbers (could not convert string to float",
        lambda: fitted("frame").partial_fit(FRAME.assign(b=["u", "v"] * 15), Y),
    ),
    failing(
        "predict-category",
        ValueError,
        "X, column 'b': it holds something else than numbers (",
        lambda: fitted("frame").predict(FRAME.assign(b=pd.Categorical(["u", "v"] * 15))),
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
    twice = renamed("a", "a", "b")
    says = "X must have unique column names, but has more than one of 'a'."
    for call in (
        lambda: fit(twice),
        lambda: fit(twice.assign(kind=["u", "v"] * 15)),
        lambda: fitted("frame").predict(twice),
        lambda: fitted("frame").partial_fit(twice, Y),
    ):
        check_error(call, ValueError, says)


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
