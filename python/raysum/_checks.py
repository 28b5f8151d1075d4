"""Checks of input that scikit-learn would accept, or refuse without naming the location."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from . import _frames, _raysum
from .typing import Floats, TableLike

if TYPE_CHECKING:
    from ._fitted import FittedModel


def refuse(given: object, name: str) -> None:
    """Refuses input that NumPy would convert to numbers, or reject without a location."""
    if given is None:
        raise ValueError(f"{name} is None, but must be an array or a frame.")
    if type(given).__name__ == "LazyFrame":
        raise TypeError(f"{name} is a lazy frame; hand in {name}.collect().")
    if np.ma.is_masked(given):
        raise ValueError(f"Input {name} is an array with masked values; fill or drop them first.")
    shape = tuple(getattr(given, "shape", ()))
    if name == "X" and shape[1:] == (0,):
        least = "while a minimum of 1 is required."
        raise ValueError(f"Found array with 0 feature(s) (shape={shape}) {least}")
    if name == "X" and _frames.is_frame(given):
        _frames.check_names(given)


def refuse_dates(given: object, name: str) -> None:
    """Refuses dates and times, which NumPy would convert to numbers."""
    for column, dtype in _dtypes(given):
        temporal = getattr(dtype, "is_temporal", None)
        if getattr(dtype, "kind", "") in ("M", "m") or (temporal is not None and temporal()):
            place = "" if column is None else f" in column {str(column)!r}"
            raise ValueError(
                f"Input {name} contains dates or times{place}; turn them into numbers, such as the "
                "days since a date."
            )


def _dtypes(given: object) -> list[tuple[Any, Any]]:
    """The type of each column of a frame, or of all values."""
    columns, dtypes = getattr(given, "columns", None), getattr(given, "dtypes", None)
    if columns is not None and dtypes is not None:
        return list(zip(columns, dtypes))
    return [(None, getattr(given, "dtype", None))]


def known_numbers(estimator: FittedModel, X: TableLike) -> Floats:
    """Rows for a model of numeric columns, checked by scikit-learn."""
    check_names(estimator, X)
    with naming(X):
        checked = validate_data(
            estimator, X, reset=False, dtype=np.float64, order=None, ensure_all_finite=False
        )
    return without_gaps(checked)


def check_names(estimator: FittedModel, X: TableLike) -> None:
    """Compares the names of a frame with those of the fit, before its columns are read: a column
    that was not in the fit may be of any type.
    """
    if _frames.is_frame(X):
        validate_data(estimator, X, reset=False, skip_check_array=True)
    refuse_dates(X, "X")


@contextmanager
def naming(X: object) -> Iterator[None]:
    """Adds to an error which column of a frame is not numeric."""
    try:
        yield
    except OverflowError as error:
        raise ValueError(f"a value is too large for a float: {error}") from error
    except (TypeError, ValueError) as error:
        if _frames.is_frame(X):
            for name in X.columns:
                try:
                    np.asarray(X[name], dtype=np.float64)
                except (TypeError, ValueError) as reason:
                    raise ValueError(
                        f"X, column {str(name)!r}: it holds something else than numbers "
                        f"({reason}), but the model was fitted on numbers."
                    ) from error
        raise


def without_gaps(X: Floats) -> Floats:
    """X itself if it is in C or Fortran order, else a copy that is."""
    flags = X.flags
    if flags.aligned and (flags.c_contiguous or flags.f_contiguous):
        return X
    return np.array(X, order="C")


def finite(X: Floats, named: FittedModel | list[str]) -> Floats:
    """X itself, if all of it is finite. Columns have the names of an estimator, or of a list."""
    found = _raysum.not_finite(X)
    if found is None:
        return X
    row, column, count = found
    names = named if isinstance(named, list) else getattr(named, "feature_names_in_", None)
    place = f"row {row}, column " + (str(column) if names is None else repr(str(names[column])))
    hint = " The parameter missing says what to do about gaps." if np.isnan(X[row, column]) else ""
    raise ValueError(f"Input X contains {_kind(X[row, column])} at {place}{_more(count)}.{hint}")


def probabilities(given: ArrayLike, name: str = "levels") -> Floats:
    """A copy as an array, if these are probabilities."""
    checked = np.array(given, dtype=np.float64).ravel()
    if not len(checked) or not ((checked > 0) & (checked < 1)).all():
        raise ValueError(f"{name} must be probabilities between 0 and 1, at least one.")
    return checked


def some_target(y: Floats) -> None:
    """Fails if there are no targets."""
    if y.ndim == 2 and y.shape[1] == 0:
        raise ValueError("Found array with 0 target(s) while a minimum of 1 is required.")


def finite_target(y: Floats, missing: bool = False) -> None:
    """Fails if y is not finite; NaN may be a `missing` value."""
    bad = np.isinf(y) if missing else ~np.isfinite(y)
    if not bad.any():
        return
    place = np.argwhere(bad)[0]
    where = f"row {place[0]}" + (f", column {place[1]}" if y.ndim == 2 else "")
    kind = _kind(y[tuple(place)])
    hint = " Leave such rows out, as missing='drop' does." if kind == "NaN" else ""
    raise ValueError(f"Input y contains {kind} at {where}{_more(int(bad.sum()))}.{hint}")


def _kind(value: float) -> str:
    return "NaN" if np.isnan(value) else "infinity"


def _more(count: int) -> str:
    return "" if count == 1 else f", the first of {count} values that are not finite"
