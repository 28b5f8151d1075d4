"""What comes from the user, as the arrays that the compiled part takes.

Numbers go scikit-learn's way: its checks, its words, no copy; a value that is not finite is named
with its row and column besides. Frames with texts, dates or gaps are read by the compiled part.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Number
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_array, validate_data

from . import _frames, _raysum

LARGEST_SEED = 2**64 - 1


class Rows(NamedTuple):
    """Checked rows, in the order of the compiled part's tuple."""

    x: np.ndarray
    targets: list[np.ndarray]
    weights: np.ndarray | None
    noise_std: np.ndarray | None


def features(estimator: Any, X: Any) -> np.ndarray:
    """Rows to predict."""
    if _is_table(estimator):
        x, left_out = _encoded(estimator, X)
        if left_out:
            raise ValueError(
                f"X has a missing value in row {left_out[0]}, and rows to predict cannot be left "
                "out; use missing='mean'."
            )
        return x
    _refuse(X, "X")
    if _frames.is_frame(X):
        _frames.check_names(X)
    return _finite(_numbers(estimator, X, {}), estimator)


class Given(NamedTuple):
    """Rows to learn from, the number of dimensions of y, and the frame that they come from."""

    rows: Rows
    dimensions: int
    frame: _raysum.TrainingFrame | None


def rows(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    noise_std: Any,
    *,
    reset: bool,
    least: int,
) -> Given:
    """Rows to learn from."""
    common = {"dtype": np.float64, "ensure_all_finite": False, "estimator": estimator}
    X_params = {**common, "ensure_min_samples": least}
    y_params = {**common, "ensure_2d": False, "ensure_min_samples": 0, "ensure_min_features": 0}
    _refuse(X, "X", dates=False)
    if _frames.is_frame(X):
        _frames.check_names(X)
    as_table = _is_new_table(estimator, X) if reset else _is_table(estimator)
    _refuse(X, "X", dates=not as_table)
    if y is not None:
        _refuse(y, "y")
    frame, left_out = None, []
    if as_table:
        # Without y this says so in scikit-learn's words, and it notes the names of the columns.
        validate_data(estimator, X, y, reset=reset, skip_check_array=True) if reset else None
        floats = getattr(np.asarray(y), "dtype", np.dtype(float)).kind == "f"
        y, names = check_array(y, **y_params, input_name="y"), target_names(y)
        check_consistent_length(X, y)
        _finite_target(y, missing=estimator.missing != "error")
        if reset:
            frame = _training_frame(estimator, X, y, names, floats, least)
            X, left_out = frame.x, frame.left_out
        else:
            X, left_out = _encoded(estimator, X)
            X, left_out = _with_target(X, y, left_out)
    else:
        both = (X_params, y_params)
        X, y = _numbers(estimator, X, {"y": y, "reset": reset, "validate_separately": both})
        check_consistent_length(X, y)
        X = _finite(X, estimator)
        _finite_target(y)
    if y.ndim == 2 and y.shape[1] == 0:
        raise ValueError("Found array with 0 target(s) while a minimum of 1 is required.")
    weights, known = _of_all_rows(sample_weight, noise_std, len(y))
    keep = np.ones(len(y), dtype=bool)
    keep[left_out] = False
    if left_out:
        y = y[keep]
        weights = None if weights is None else weights[keep]
        known = None if known is None else known[keep]
    return Given(_with_weight(X, y, weights, known, least), y.ndim, frame)


def _with_target(X: np.ndarray, y: np.ndarray, left_out: list[int]) -> tuple[np.ndarray, list[int]]:
    """X without the rows that have no target, and all rows that are left out."""
    gone = np.isnan(y).reshape(len(y), -1).any(axis=1)
    if not gone.any():
        return X, left_out
    there = np.delete(np.arange(len(y)), left_out)
    return X[~gone[there]], sorted({*left_out, *np.flatnonzero(gone).tolist()})


def _of_all_rows(
    sample_weight: Any, noise_std: Any, count: int
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Weights and known noise, checked against the number of rows."""
    weights = known = None
    samples = np.empty((count, 0))
    if sample_weight is not None:
        if isinstance(sample_weight, Number):
            sample_weight = np.full(count, sample_weight)
        weights = _check_sample_weight(
            sample_weight, samples, dtype=np.float64, ensure_non_negative=True
        )
    if noise_std is not None:
        known = _of_rows(noise_std, count, "noise_std")
    return weights, known


def _with_weight(
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None,
    known: np.ndarray | None,
    least: int,
) -> Rows:
    """The rows that count: one of weight 0 is as good as not there."""
    if weights is not None:
        keep = weights > 0
        if not keep.all():
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
    return Rows(_without_gaps(X), targets, weights, known)


def _is_new_table(estimator: Any, X: Any) -> bool:
    """Whether X is more than numbers without gaps, so that a schema of it has to be inferred."""
    return estimator.missing != "error" or (_frames.is_frame(X) and not _frames.is_plain(X))


def _is_table(estimator: Any) -> bool:
    """Whether the fitted model takes tables by their schema."""
    return estimator.missing != "error" or estimator._description["schema"] is not None


def _training_frame(
    estimator: Any, X: Any, y: np.ndarray, names: list[str] | None, floats: bool, least: int
) -> _raysum.TrainingFrame:
    """Infers the schema of X, and encodes it."""
    named = hasattr(estimator, "feature_names_in_")
    if _frames.is_frame(X):
        _check_rows(X, least)
        columns = _frames.columns(X, named)
    else:
        params = {"dtype": np.float64, "ensure_all_finite": False, "estimator": estimator}
        columns = _frames.array_columns(check_array(X, **params, ensure_min_samples=least))
    several = y.ndim == 2
    names = names or ([f"y{k}" for k in range(y.shape[1])] if several else ["y"])
    taken = {column.name for column in columns}
    targets = []
    for name, values in zip(names, y.T if several else [y]):
        while name in taken:
            name += "_"
        taken.add(name)
        targets.append((name, np.ascontiguousarray(values), floats))
    return _raysum.read_frame(columns, named, targets, estimator.missing, least)


def _encoded(estimator: Any, X: Any) -> tuple[np.ndarray, list[int]]:
    """X as the fitted model takes it, and the rows that are left out."""
    _refuse(X, "X", dates=False)
    described = estimator._description
    schema = described["schema"]
    named = False
    if schema is None:
        _refuse(X, "X")
        columns = _frames.array_columns(_numbers(estimator, X, {}))
    elif _frames.is_frame(X):
        _frames.check_names(X)
        _check_rows(X, 1)
        if schema["named"] and _is_encoded(X, schema, described["column_names"]):
            X = X[described["column_names"]]
            params = {"dtype": np.float64, "ensure_all_finite": False, "estimator": estimator}
            return _finite(_without_gaps(check_array(X, **params)), described["column_names"]), []
        named = all(isinstance(name, str) for name in X.columns)
        columns = _frames.columns(X, named)
    else:
        params = {"dtype": None, "ensure_all_finite": False}
        X = validate_data(estimator, X, reset=False, **params)
        texts = X.dtype.kind not in "biuf"
        columns = _frames.object_columns(X) if texts else _frames.array_columns(X)
    x, left_out, notes = estimator._model.encode(columns, named, len(X), estimator.missing)
    tell(notes, stacklevel=5)
    return x, left_out


def _is_encoded(X: Any, schema: dict[str, Any], encoded: list[str]) -> bool:
    """Whether a frame has the columns of X as the model works on them, and not the user's."""
    there = set(X.columns)
    used = {f["name"] for f in schema["features"] if f["kind"]["type"] != "identifier"}
    return set(encoded) <= there and not used <= there


def tell(notes: list[tuple[bool, str]], stacklevel: int) -> None:
    """Warns of what may not be what the user wants."""
    for is_warning, note in notes:
        if is_warning:
            warnings.warn(note, UserWarning, stacklevel=stacklevel)


def _check_rows(X: Any, least: int) -> None:
    if len(X) < least:
        raise ValueError(
            f"Found array with {len(X)} sample(s) (shape={X.shape}) while a minimum of {least} is "
            "required."
        )


def _numbers(estimator: Any, X: Any, arguments: dict[str, Any]) -> Any:
    """X, or X and y, as scikit-learn checks them."""
    params = {} if arguments else {"dtype": np.float64, "ensure_all_finite": False}
    arguments = arguments or {"reset": False, "order": None}
    if _frames.is_frame(X) and not arguments["reset"]:
        # Names come first: a column that should not be there may hold anything.
        validate_data(estimator, X, reset=False, skip_check_array=True)
    with _named(X):
        checked = validate_data(estimator, X, **arguments, **params)
    if "y" in arguments:
        return _without_gaps(checked[0]), checked[1]
    return _without_gaps(checked)


def noise_of(noise_std: Any, X: np.ndarray) -> np.ndarray | None:
    """Known noise of rows to predict."""
    if noise_std is None:
        return None
    known = _of_rows(noise_std, len(X), "noise_std")
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
        return min(joblib.effective_n_jobs(n_jobs), max(joblib.cpu_count(), 64))
    for name in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS"):
        granted = os.environ.get(name, "")
        if granted.isdigit() and int(granted) > 0:
            return int(granted)
    return joblib.cpu_count()


def seed(random_state: Any) -> int:
    """An integer is the seed itself, so that other faces of raysum draw the same."""
    if isinstance(random_state, Integral):
        given = int(random_state)
        if not 0 <= given <= LARGEST_SEED:
            raise ValueError(f"random_state is {given}, but must be from 0 to 2**64 - 1.")
        return given
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _refuse(given: Any, name: str, dates: bool = True) -> None:
    """What NumPy would take for numbers, or give up on without saying where; `dates`, too."""
    if given is None:
        raise ValueError(f"{name} is None, but must be an array or a frame.")
    if type(given).__name__ == "LazyFrame":
        raise TypeError(f"{name} is a lazy frame; hand in {name}.collect().")
    if np.ma.is_masked(given):
        raise ValueError(f"Input {name} is an array with masked values; fill or drop them first.")
    for column, dtype in _dtypes(given) if dates else []:
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


def _of_rows(values: Any, count: int, name: str) -> np.ndarray:
    if np.ndim(values) == 0:
        values = np.full(count, values)
    values = check_array(values, dtype=np.float64, ensure_2d=False, input_name=name)
    if values.shape != (count,):
        raise ValueError(f"{name} has shape {values.shape}, expected {(count,)}!")
    return np.ascontiguousarray(values)


def _without_gaps(X: np.ndarray) -> np.ndarray:
    """X itself if it is in C or Fortran order, else a copy that is."""
    flags = X.flags
    if flags.aligned and (flags.c_contiguous or flags.f_contiguous):
        return X
    return np.array(X, order="C")


def _finite(X: np.ndarray, named: Any) -> np.ndarray:
    """X itself, if all of it is finite. Columns have the names of an estimator, or of a list."""
    found = _raysum.not_finite(X)
    if found is None:
        return X
    row, column, count = found
    names = named if isinstance(named, list) else getattr(named, "feature_names_in_", None)
    place = f"row {row}, column " + (str(column) if names is None else repr(str(names[column])))
    raise ValueError(f"Input X contains {_kind(X[row, column])} at {place}{_more(count)}.")


def _finite_target(y: np.ndarray, missing: bool = False) -> None:
    """Fails if y is not finite; NaN may be a `missing` value."""
    bad = np.isinf(y) if missing else ~np.isfinite(y)
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
