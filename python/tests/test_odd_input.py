"""Odd input that is good enough: every case ends in sound numbers."""

from __future__ import annotations

from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from cases import (
    FRAME,
    ONES,
    POLARS,
    RNG,
    ROWS,
    TWO,
    X,
    Y,
    check_predictions,
    check_sound,
    fit,
    fitted,
    gp,
    put,
    renamed,
)
from raysum import _inputs
from sklearn.exceptions import ConvergenceWarning

# --- the same numbers in other clothes

_INTEGERS = RNG.integers(-9, 9, size=(ROWS, 3))
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
        pytest.param(RNG.normal(size=(8, 20)), Y[:8], id="more-columns-than-rows"),
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


@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param({"model": "gam"}, id="gam"),
        pytest.param({"model": "ppr"}, id="ppr"),
        pytest.param({"model": "rbf-ard"}, id="rbf-ard"),
        pytest.param({"model": "imq-ard"}, id="imq-ard"),
        pytest.param({"model": "rpa-2"}, id="rpa-2"),
        pytest.param({"model": "rpa-1-ski", "n_projections": 3}, id="rpa-1-ski"),
    ],
)
@pytest.mark.parametrize(
    ("x", "y"),
    [
        pytest.param(np.ones((ROWS, 3)), ONES, id="everything-constant"),
        pytest.param(1e300 * X, 1e300 * Y, id="huge"),
        pytest.param(1e-300 * X, 1e-300 * Y, id="tiny"),
        pytest.param(X[:2], Y[:2], id="two-rows"),
    ],
)
def test_odd_numbers_and_other_models(parameters: dict[str, Any], x: Any, y: Any) -> None:
    check_predictions(gp(**parameters).fit(x, y), x)


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
        pytest.param({"engine": "ski", "ski": {}, "n_projections": 3}, id="ski-empty"),
        pytest.param(
            {"engine": "ski", "ski": {"grid": np.int64(50)}, "n_projections": 3},
            id="ski-grid-int64",
        ),
    ],
)
def test_odd_parameters(parameters: dict[str, Any]) -> None:
    check_sound(gp(**parameters).fit(X, Y), X)


@pytest.mark.parametrize("unit", [1e160, 1e300])
def test_whatever_is_asked_about_huge_targets_is_finite(unit: float) -> None:
    check_sound(fit(y=unit * Y), X)


def test_slopes_beyond_the_largest_number_are_cut_to_it() -> None:
    assert np.isfinite(fit(1e-300 * X, 1e300 * Y).gradient(1e-300 * X)).all()


def test_more_threads_than_make_sense() -> None:
    assert (gp(n_jobs=2**70).fit(X, Y).predict(X) == fitted().predict(X)).all()


def test_there_are_no_more_threads_than_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    cores = joblib.cpu_count()
    assert [_inputs.threads(n) for n in (1, -1, cores, cores + 1, 1000)] == [1] + 4 * [cores]
    for name in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    assert _inputs.threads(None) == cores
    for name in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS"):
        monkeypatch.setenv(name, "1000")
        assert _inputs.threads(None) == cores
        monkeypatch.setenv(name, "1")
        assert _inputs.threads(None) == 1
