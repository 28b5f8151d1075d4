"""Checks the user's input and converts it to arrays for the compiled part.

Numeric input is validated by scikit-learn, with its messages and without a copy; the message about
a value that is not finite also names its row and column. Frames with text, dates or missing values
are read by the compiled part.
"""

from __future__ import annotations

import os
from numbers import Integral, Number
from typing import TYPE_CHECKING, NamedTuple

import joblib
import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_array, check_non_negative, validate_data

from . import _checks, _raysum, _tables
from .typing import Floats, RandomState, TableLike

if TYPE_CHECKING:
    from ._fitted import FittedModel

LARGEST_SEED = 2**64 - 1


class Rows(NamedTuple):
    """Checked rows, in the order of the compiled part's tuple."""

    x: Floats
    targets: list[Floats]
    weights: Floats | None
    noise_std: Floats | None


def features(estimator: FittedModel, X: TableLike) -> Floats:
    """Rows to predict."""
    _checks.refuse(X, "X")
    if _tables.is_known(estimator, X):
        x, left_out = _tables.encoded(estimator, X)
        if left_out:
            raise ValueError(
                f"X has a missing value in row {left_out[0]}, and rows to predict cannot be left "
                "out; use missing='mean'."
            )
        return x
    return _checks.finite(_checks.known_numbers(estimator, X), estimator)


class Given(NamedTuple):
    """Training rows, the number of dimensions of y, and the frame that they come from."""

    rows: Rows
    dimensions: int
    frame: _raysum.TrainingFrame | None


def rows(
    estimator: FittedModel,
    X: TableLike,
    y: TableLike,
    sample_weight: ArrayLike | None,
    noise_std: ArrayLike | None,
    *,
    reset: bool,
    least: int,
) -> Given:
    """Checks training rows."""
    common = {"dtype": np.float64, "ensure_all_finite": False, "estimator": estimator}
    X_params = {**common, "ensure_min_samples": least}
    y_params = {**common, "ensure_2d": False, "ensure_min_samples": 0, "ensure_min_features": 0}
    _checks.refuse(X, "X")
    if y is None:
        name = type(estimator).__name__
        raise ValueError(
            f"This {name} estimator requires y to be passed, but the target y is None."
        )
    _checks.refuse(y, "y")
    _checks.refuse_dates(y, "y")
    as_table = _tables.is_new(estimator, X) if reset else _tables.is_known(estimator, X)
    x: Floats
    targets: Floats
    frame: _raysum.TrainingFrame | None = None
    left_out: list[int] = []
    if as_table:
        targets = check_array(y, **y_params, input_name="y")
        check_consistent_length(X, targets)
        _checks.some_target(targets)
        _checks.finite_target(targets, missing=estimator.missing != "error")
        if reset:
            floats = np.asarray(y).dtype.kind == "f"
            target = _tables.Target(targets, target_names(y))
            frame = _tables.training(estimator, X, target, floats, least)
            x, left_out = frame.x, frame.left_out
        else:
            x, left_out = _with_target(*_tables.encoded(estimator, X), targets)
    else:
        if reset:
            _checks.refuse_dates(X, "X")
        else:
            _checks.check_names(estimator, X)
        with _checks.naming(X):
            both = (X_params, y_params)
            x, targets = validate_data(estimator, X, y, reset=reset, validate_separately=both)
        check_consistent_length(x, targets)
        _checks.some_target(targets)
        x = _checks.finite(_checks.without_gaps(x), estimator)
        _checks.finite_target(targets)
    weights, known = _of_all_rows(sample_weight, noise_std, len(targets))
    if left_out:
        keep = np.delete(np.arange(len(targets)), left_out)
        targets = targets[keep]
        weights = None if weights is None else weights[keep]
        known = None if known is None else known[keep]
    return Given(_with_weight(x, targets, weights, known, least), targets.ndim, frame)


def _with_target(X: Floats, left_out: list[int], y: Floats) -> tuple[Floats, list[int]]:
    """X without the rows that have no target, and all rows that are left out."""
    gone = np.asarray(np.isnan(y).reshape(len(y), -1).any(axis=1))
    if not gone.any():
        return X, left_out
    there = np.delete(np.arange(len(y)), left_out)
    return X[~gone[there]], sorted({*left_out, *np.flatnonzero(gone).tolist()})


def _of_all_rows(
    sample_weight: ArrayLike | None, noise_std: ArrayLike | None, count: int
) -> tuple[Floats | None, Floats | None]:
    """Sample weights and known noise, checked against the number of rows."""
    weights = None if sample_weight is None else _weights(sample_weight, count)
    known = None if noise_std is None else _of_rows(noise_std, count, "noise_std")
    return weights, known


def _weights(given: ArrayLike, count: int) -> Floats:
    """Sample weights, checked with the messages of scikit-learn's estimators."""
    if isinstance(given, Number):
        given = np.full(count, given)
    weights: Floats = check_array(
        given, dtype=np.float64, order="C", ensure_2d=False, input_name="sample_weight"
    )
    if weights.ndim != 1:
        raise ValueError(
            f"Sample weights must be 1D array or scalar, got {weights.ndim}D array. Expected "
            f"either a scalar value or a 1D array of length {count}."
        )
    if weights.shape != (count,):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(count,)}!")
    if not weights.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    check_non_negative(weights, "`sample_weight`")
    return weights


def _with_weight(
    X: Floats,
    y: Floats,
    weights: Floats | None,
    known: Floats | None,
    least: int,
) -> Rows:
    """The rows with positive sample weight; the others have no influence."""
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
    return Rows(_checks.without_gaps(X), targets, weights, known)


def noise_of(noise_std: ArrayLike | None, X: Floats) -> Floats | None:
    """Known noise of rows to predict."""
    if noise_std is None:
        return None
    known = _of_rows(noise_std, len(X), "noise_std")
    if (known < 0).any():
        row = int(np.argmax(known < 0))
        raise ValueError(f"noise_std is {known[row]} at row {row}, but must be 0 or more.")
    return known


def target_names(y: TableLike) -> list[str] | None:
    """The names of the targets, if y has names."""
    columns = getattr(y, "columns", None)
    if columns is not None:
        return [str(column) for column in columns]
    name = getattr(y, "name", None)
    return None if name is None or callable(name) else [str(name)]


def threads(n_jobs: int | None) -> int:
    """Number of threads: by default all cores, or as many as the environment allows.

    A worker of joblib has its fair share of the cores in OMP_NUM_THREADS.
    """
    cores: int = joblib.cpu_count()
    if n_jobs is not None:
        # More threads than cores bring no gain, and far more slow the fit down.
        wanted: int = joblib.effective_n_jobs(n_jobs)
        return min(wanted, cores)
    for name in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS"):
        granted = os.environ.get(name, "")
        if granted.isdigit() and int(granted) > 0:
            return min(int(granted), cores)
    return cores


def seed(random_state: RandomState) -> int:
    """An integer is the seed itself, so that the command line and Rust draw the same numbers."""
    if isinstance(random_state, Integral):
        given = int(random_state)
        if not 0 <= given <= LARGEST_SEED:
            raise ValueError(f"random_state is {given}, but must be from 0 to 2**64 - 1.")
        return given
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _of_rows(values: ArrayLike, count: int, name: str) -> Floats:
    if np.ndim(values) == 0:
        values = np.full(count, values)
    checked: Floats = check_array(values, dtype=np.float64, ensure_2d=False, input_name=name)
    if checked.shape != (count,):
        raise ValueError(f"{name} has shape {checked.shape}, expected {(count,)}!")
    return np.ascontiguousarray(checked)
