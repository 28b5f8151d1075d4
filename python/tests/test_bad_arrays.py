"""Arrays of the wrong shape or type, or with values that are not finite."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from cases import (
    NAME,
    ROWS,
    TWO,
    X,
    Y,
    check_error,
    failing,
    fit,
    fitted,
    put,
)

_RAGGED = "setting an array element with a sequence."
_TEXT = "could not convert string to float: "
_STRUCTURE = np.dtype([("a", "f8"), ("b", "f8")])
_DATES = "contains dates or times"
DATES = np.array(["2020-01-01", "NaT"] * 15, dtype="datetime64[D]")

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
        "predict-nan",
        ValueError,
        "Input X contains NaN at row 1, column 2.",
        lambda: fitted().predict(put(X, (1, 2), np.nan)),
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

# What looks like numbers and is not.
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
    failing("y-no-columns", ValueError, "Found array with 0 target", lambda: fit(y=TWO[:, :0])),
    failing(
        "integers-beyond-floats",
        ValueError,
        "a value is too large for a float",
        lambda: fit([[10**400], [1]], [1, 2]),
    ),
]


@pytest.mark.parametrize(("call", "kind", "text"), [*SHAPES, *TYPES, *NOT_FINITE, *UNLIKE_NUMBERS])
def test_error(call: Any, kind: type[Exception], text: str | re.Pattern[str]) -> None:
    check_error(call, kind, text)
