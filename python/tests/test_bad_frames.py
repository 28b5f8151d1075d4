"""Frames with the wrong columns, or with cells that are no numbers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from cases import (
    FRAME,
    POLARS,
    ROWS,
    X,
    Y,
    check_error,
    failing,
    fit,
    fitted,
    put,
    renamed,
)

_TEXT = "could not convert string to float: "
_DATES = "contains dates or times"
DATES = np.array(["2020-01-01", "NaT"] * 15, dtype="datetime64[D]")
_NULLABLE = FRAME.astype("Float64")
_NULLABLE.loc[3, "b"] = pd.NA
_NAMES = "The feature names should match those that were passed during fit.\n"

SHAPES = [
    failing("x-series", ValueError, "Expected a 2-dimensional", lambda: fit(FRAME["a"])),
    failing("frame-no-rows", ValueError, "Found array with 0 sample", lambda: fit(FRAME[:0], [])),
    failing("no-columns", ValueError, "Found array with 0 feature", lambda: fit(FRAME[[]])),
]

COLUMNS = [
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
        "polars-wrong-order",
        ValueError,
        _NAMES + "Feature names must be in the same order",
        lambda: fitted("frame").predict(POLARS.select("c", "b", "a")),
    ),
]

CELLS = [
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
        "polars-null",
        ValueError,
        "Input X contains NaN at row 4, column 'b'.",
        lambda: fit(POLARS.with_columns(pl.Series("b", [*range(4), None, *range(25)]))),
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
        "predict-frame-infinity",
        ValueError,
        "Input X contains infinity at row 1, column 'c'.",
        lambda: fitted("frame").predict(FRAME.assign(c=put(X[:, 2], 1, np.inf))),
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
]


@pytest.mark.parametrize(("call", "kind", "text"), [*SHAPES, *COLUMNS, *CELLS])
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
