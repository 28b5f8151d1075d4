"""What comes from the user, as the arrays that the compiled part takes.

Checks and words are scikit-learn's where it has them; a value that is not finite is named with its
row and column besides.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from numbers import Integral, Number
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_array, validate_data

from . import _raysum

LARGEST_SEED = 2**64 - 1


class Rows(NamedTuple):
    """Checked rows, in the order of the compiled part's tuple."""

    x: np.ndarray
    targets: list[np.ndarray]
    weights: np.ndarray | None
    noise_std: np.ndarray | None


def features(estimator: Any, X: Any) -> np.ndarray:
    """Rows to predict."""
    table = getattr(estimator, "_table", None)
    _refuse(X, "X", table.dates if table is not None else ())
    if table is not None and table.describes(X):
        return _finite(table.encode(X), estimator)
    with _named(X):
        checked = validate_data(
            estimator, X, reset=False, dtype=np.float64, order=None, ensure_all_finite=False
        )
    return _finite(_without_gaps(checked), estimator)


def rows(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    noise_std: Any,
    *,
    reset: bool,
    least: int,
) -> tuple[Rows, int]:
    """Rows to learn from, and the number of dimensions of y."""
    common = {"dtype": np.float64, "ensure_all_finite": False, "estimator": estimator}
    X_params = {**common, "ensure_min_samples": least}
    y_params = {**common, "ensure_2d": False, "ensure_min_samples": 0, "ensure_min_features": 0}
    table = None if reset else getattr(estimator, "_table", None)
    _refuse(X, "X", table.dates if table is not None else ())
    if y is not None:
        _refuse(y, "y")
    if table is not None and table.describes(X):
        X, y = table.encode(X), check_array(y, **y_params, input_name="y")
    else:
        with _named(X):
            both = (X_params, y_params)
            X, y = validate_data(estimator, X, y, reset=reset, validate_separately=both)
    check_consistent_length(X, y)
    if y.ndim == 2 and y.shape[1] == 0:
        raise ValueError("Found array with 0 target(s) while a minimum of 1 is required.")
    X = _finite(_without_gaps(X), estimator)
    _finite_target(y)
    weights = known = None
    if sample_weight is not None:
        if isinstance(sample_weight, Number):
            sample_weight = np.full(len(X), sample_weight)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if noise_std is not None:
        known = _of_rows(noise_std, X, "noise_std")
    if weights is not None:
        keep = weights > 0
        if not keep.all():
            # A row that counts nothing is as good as not there.
            X, y, weights = X[keep], y[keep], weights[keep]
            known = None if known is None else known[keep]
            if len(X) < least:
                raise ValueError(
                    f"Found {len(X)} sample(s) with a weight above 0 while a minimum of {least} "
                    "is required."
                )
        if (weights == 1).all():
            weights = None
    columns = [y] if y.ndim == 1 else list(y.T)
    targets = [np.ascontiguousarray(column) for column in columns]
    return Rows(_without_gaps(X), targets, weights, known), y.ndim


def noise_of(noise_std: Any, X: np.ndarray) -> np.ndarray | None:
    """Known noise of rows to predict."""
    if noise_std is None:
        return None
    known = _of_rows(noise_std, X, "noise_std")
    if (known < 0).any():
        row = int(np.argmax(known < 0))
        raise ValueError(f"noise_std is {known[row]} at row {row}, but must be 0 or more.")
    return known


def target_names(y: Any) -> list[str] | None:
    """The names of the targets, where y has names."""
    columns = getattr(y, "columns", None)
    if columns is not None:
        return [str(column) for column in columns]
    name = getattr(y, "name", None)
    return None if name is None or callable(name) else [str(name)]


def threads(n_jobs: int | None) -> int:
    """How many threads to use: by default all cores, or as many as the environment grants.

    A worker of joblib has its fair share of the cores in OMP_NUM_THREADS.
    """
    if n_jobs is not None:
        # More threads than cores gain nothing, and a thousand of them do harm.
        return min(joblib.effective_n_jobs(n_jobs), joblib.cpu_count())
    for name in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS"):
        granted = os.environ.get(name, "")
        if granted.isdigit() and int(granted) > 0:
            return min(int(granted), joblib.cpu_count())
    return joblib.cpu_count()


def seed(random_state: Any) -> int:
    """An integer is the seed itself, so that other faces of raysum draw the same."""
    if isinstance(random_state, Integral):
        given = int(random_state)
        if not 0 <= given <= LARGEST_SEED:
            raise ValueError(f"random_state is {given}, but must be from 0 to 2**64 - 1.")
        return given
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _refuse(given: Any, name: str, dates: Collection[str] = ()) -> None:
    """What NumPy would take for numbers, or give up on without saying where. Columns that are known
    to hold `dates` may."""
    if given is None:
        raise ValueError(f"{name} is None, but must be an array or a frame.")
    if type(given).__name__ == "LazyFrame":
        raise TypeError(f"{name} is a lazy frame; hand in {name}.collect().")
    if np.ma.is_masked(given):
        raise ValueError(f"Input {name} is an array with masked values; fill or drop them first.")
    for column, dtype in _dtypes(given):
        if column in dates:
            continue
        temporal = getattr(dtype, "is_temporal", None)
        if getattr(dtype, "kind", "") in ("M", "m") or (temporal is not None and temporal()):
            place = "" if column is None else f" in column {str(column)!r}"
            raise ValueError(
                f"Input {name} contains dates or times{place}; turn them into numbers, such as the "
                "days since a date."
            )
    shape = tuple(getattr(given, "shape", ()))
    if name == "X" and shape[1:] == (0,):
        least = "while a minimum of 1 is required."
        raise ValueError(f"Found array with 0 feature(s) (shape={shape}) {least}")


def _dtypes(given: Any) -> list[tuple[Any, Any]]:
    """The type of each column of a frame, or of all values."""
    columns, dtypes = getattr(given, "columns", None), getattr(given, "dtypes", None)
    if columns is not None and dtypes is not None:
        return list(zip(columns, dtypes))
    return [(None, getattr(given, "dtype", None))]


@contextmanager
def _named(X: Any) -> Iterator[None]:
    """Says which column of a frame holds what is not a number."""
    try:
        yield
    except OverflowError as error:
        raise ValueError(f"a value is too large for a float: {error}") from error
    except ValueError as error:
        names = getattr(X, "columns", None)
        if names is None or "could not convert" not in str(error):
            raise
        for name in names:
            try:
                np.asarray(X[name], dtype=np.float64)
            except (TypeError, ValueError):
                raise ValueError(
                    f"{error} (column {str(name)!r}); encode texts as numbers first, for example "
                    "by a OneHotEncoder in a ColumnTransformer."
                ) from error
        raise


def _of_rows(values: Any, X: np.ndarray, name: str) -> np.ndarray:
    if np.ndim(values) == 0:
        values = np.full(len(X), values)
    values = check_array(values, dtype=np.float64, ensure_2d=False, input_name=name)
    if values.shape != (len(X),):
        raise ValueError(f"{name} has shape {values.shape}, expected {(len(X),)}!")
    return np.ascontiguousarray(values)


def _without_gaps(X: np.ndarray) -> np.ndarray:
    """X itself if it is in C or Fortran order, else a copy that is."""
    flags = X.flags
    if flags.aligned and (flags.c_contiguous or flags.f_contiguous):
        return X
    return np.array(X, order="C")


def _finite(X: np.ndarray, estimator: Any) -> np.ndarray:
    found = _raysum.not_finite(X)
    if found is None:
        return X
    row, column, count = found
    names = getattr(estimator, "feature_names_in_", None)
    place = f"row {row}, column " + (str(column) if names is None else repr(str(names[column])))
    raise ValueError(f"Input X contains {_kind(X[row, column])} at {place}{_more(count)}.")


def _finite_target(y: np.ndarray) -> None:
    bad = ~np.isfinite(y)
    if not bad.any():
        return
    place = np.argwhere(bad)[0]
    where = f"row {place[0]}" + (f", column {place[1]}" if y.ndim == 2 else "")
    raise ValueError(
        f"Input y contains {_kind(y[tuple(place)])} at {where}{_more(int(bad.sum()))}."
    )


def _kind(value: float) -> str:
    return "NaN" if np.isnan(value) else "infinity"


def _more(count: int) -> str:
    return "" if count == 1 else f", the first of {count} values that are not finite"
