"""Converts pandas and polars frames to columns for the compiled part: numbers, booleans, dates,
text. It encodes them there, as it does the files of the command line.
"""

from __future__ import annotations

import datetime
import decimal
from collections import Counter
from collections.abc import Iterator
from numbers import Real
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from ._types import Cells
from .typing import DataFrame, Floats

#: Nanoseconds of NumPy's units of time.
_NANOSECONDS = {
    "W": 604_800 * 10**9,
    "D": 86_400 * 10**9,
    "h": 3_600 * 10**9,
    "m": 60 * 10**9,
    "s": 10**9,
    "ms": 10**6,
    "us": 10**3,
    "ns": 1,
}
#: Types in object columns that are read as text, or as numbers.
_NUMBERS = (Real, decimal.Decimal, np.bool_)
_TEXTS = (str, *_NUMBERS, datetime.date, np.datetime64)


class Column(NamedTuple):
    """A column, in the order of the compiled part's tuple."""

    name: str
    kind: str
    cells: Cells
    extra: int


def contiguous(values: NDArray[Any]) -> NDArray[Any]:
    """The array itself, or a copy if its memory has gaps or is not aligned, as in a message from
    another process.
    """
    return np.require(values, requirements=["C", "A"])


def is_frame(given: object) -> TypeGuard[DataFrame]:
    """Whether this is a frame of pandas or polars."""
    return hasattr(given, "columns") and hasattr(given, "dtypes") and hasattr(given, "__getitem__")


def check_names(X: DataFrame) -> None:
    """Refuses a frame with two columns of one name."""
    twice = [str(name) for name, count in Counter(X.columns).items() if count > 1]
    if twice:
        listed = ", ".join(map(repr, twice))
        raise ValueError(f"X must have unique column names, but has more than one of {listed}.")


def is_plain(X: DataFrame) -> bool:
    """Whether all columns are numbers or booleans, which scikit-learn accepts unchanged."""
    return all(_kind(X, k) in ("number", "boolean", "complex") for k in range(len(X.columns)))


def columns(X: DataFrame, named: bool) -> list[Column]:
    """The columns of a frame; unnamed columns are named by position."""
    names = list(X.columns)
    return [_column(X, k, str(names[k]) if named else str(k)) for k in range(len(names))]


def array_columns(X: Floats) -> list[Column]:
    """The columns of an array of floats."""
    floats = int(X.dtype.kind == "f")
    return [
        Column(str(k), "number", contiguous(X[:, k].astype(np.float64, copy=False)), floats)
        for k in range(X.shape[1])
    ]


def with_nan(X: Any) -> Any:
    """An array of objects with NaN in place of what is missing, which includes pandas' NA: NumPy
    cannot convert that to a number. Other input is returned as it is.
    """
    if not (isinstance(X, np.ndarray) and X.dtype == np.dtype(object)):
        return X
    missing = np.frompyfunc(_is_missing, 1, 1)(X).astype(bool)
    return np.where(missing, np.nan, X)


def object_columns(X: NDArray[np.object_]) -> list[Column]:
    """The columns of an array of objects: numbers, or text as spelled."""
    return [_of_objects(str(k), X[:, k], _object_kind(X[:, k])) for k in range(X.shape[1])]


def _is_polars(X: object) -> bool:
    return type(X).__module__.partition(".")[0] == "polars"


def _series(X: Any, k: int) -> Any:
    return X.to_series(k) if _is_polars(X) else X.iloc[:, k]


def _kind(X: Any, k: int) -> str:
    """The kind of a column: "number", "boolean", "complex", "date", "text" or "other"."""
    series = _series(X, k)
    return _polars_kind(series.dtype) if _is_polars(X) else _pandas_kind(series)


def _polars_kind(dtype: Any) -> str:
    name = dtype.base_type().__name__
    if dtype.is_numeric() or name == "Null":
        return "number"
    kinds = {"Boolean": "boolean", "Date": "date", "Datetime": "date"}
    texts = dict.fromkeys(("String", "Utf8", "Categorical", "Enum"), "text")
    return {**kinds, **texts}.get(name, "other")


def _pandas_kind(series: Any) -> str:
    dtype = series.dtype
    if hasattr(dtype, "categories"):
        of_categories = _pandas_kind(dtype.categories.to_series())
        # Other categories, such as intervals, are converted to text.
        return of_categories if of_categories in ("number", "boolean") else "text"
    if dtype.kind in "iuf":
        return "number"
    if dtype.kind in "bcM":
        return {"b": "boolean", "c": "complex", "M": "date"}[dtype.kind]
    name = str(dtype)
    if name.startswith("decimal"):
        return "number"
    if dtype == np.dtype(object):
        return _object_kind(series.to_numpy())
    return "text" if name.startswith(("str", "large_string")) else "other"


def _object_kind(cells: NDArray[np.object_]) -> str:
    present = [cell for cell in cells if not _is_missing(cell)]
    if all(isinstance(cell, _NUMBERS) for cell in present):
        return "number"
    return "text" if all(isinstance(cell, _TEXTS) for cell in present) else "other"


def _column(X: Any, k: int, name: str) -> Column:
    series, kind = _series(X, k), _kind(X, k)
    dtype = series.dtype
    if kind in ("other", "complex") and dtype != np.dtype(object):
        return Column(name, "other", str(dtype), 0)
    if _is_polars(X):
        return _of_polars(name, series, kind)
    if hasattr(dtype, "categories"):
        cells = np.array([*dtype.categories, None], dtype=object)[series.cat.codes.to_numpy()]
        return _of_objects(name, cells, kind)
    if dtype == np.dtype(object) or kind == "text":
        return _of_objects(name, series.to_numpy(dtype=object), kind)
    if kind == "date":
        if getattr(dtype, "tz", None) is not None:
            series = series.dt.tz_convert("UTC").dt.tz_localize(None)
        values = series.to_numpy()
        if values.dtype.kind != "M":
            # Arrow types; those with a time zone are in UTC.
            kind = "datetime64[ns]" if "[ns" in str(dtype) else "datetime64[us]"
            zoned = "tz=" in str(dtype)
            values = series.to_numpy(dtype=kind) if zoned else series.astype(kind).to_numpy()
        return _of_dates(name, values)
    values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    return Column(name, kind, contiguous(values), int(dtype.kind == "f"))


def _of_polars(name: str, series: Any, kind: str) -> Column:
    if kind == "text":
        return Column(name, "text", series.cast(type(series)([""]).dtype).to_list(), 0)
    if kind == "date":
        return _of_dates(name, series.to_numpy())
    floats = int(series.dtype.is_float() or series.dtype.is_decimal())
    values = np.array(series.cast(type(series)([0.0]).dtype).to_numpy(), dtype=np.float64)
    return Column(name, kind, contiguous(values), floats)


def _of_dates(name: str, values: NDArray[Any]) -> Column:
    unit, count = np.datetime_data(values.dtype)
    if unit not in _NANOSECONDS:
        values, unit, count = values.astype("datetime64[s]"), "s", 1
    cells = contiguous(values).view(np.int64)
    return Column(name, "date", contiguous(cells), count * _NANOSECONDS[unit])


def _of_objects(name: str, cells: NDArray[np.object_], kind: str) -> Column:
    if kind == "other":
        return Column(name, "other", _first_other(cells), 0)
    if kind in ("number", "boolean"):
        try:
            values = [np.nan if _is_missing(cell) else float(cell) for cell in cells]
        except OverflowError as error:
            raise ValueError(f"X, column {name!r}: a value is too large for a float.") from error
        whole = all(isinstance(cell, (bool, np.bool_)) for cell in cells if not _is_missing(cell))
        floats = any(isinstance(cell, (float, np.floating, decimal.Decimal)) for cell in cells)
        kind = "boolean" if whole and len(values) else "number"
        return Column(name, kind, np.array(values, dtype=np.float64), int(floats))
    return Column(name, "text", list(_spelled(cells)), 0)


def _first_other(cells: NDArray[np.object_]) -> str:
    others = (cell for cell in cells if not (_is_missing(cell) or isinstance(cell, _TEXTS)))
    return f"values of type {type(next(others)).__name__}"


def _spelled(cells: NDArray[np.object_]) -> Iterator[str | None]:
    """Texts as in a CSV file."""
    for cell in cells:
        if _is_missing(cell):
            yield None
        else:
            yield cell if type(cell) is str else str(cell)


def _is_missing(cell: Any) -> bool:
    """None, NaN, or the NA and NaT of pandas, which are not equal to anything either."""
    if cell is None:
        return True
    if isinstance(cell, str):
        return False
    try:
        return bool(cell != cell)
    except (TypeError, ValueError):
        # Neither pandas' NA nor an array has a truth value; only the former is missing.
        return type(cell).__name__ == "NAType"
