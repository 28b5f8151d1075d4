"""Encodes frames with text, dates or missing values as the numbers that a model uses."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from . import _checks, _frames, _raysum
from ._description import Schema
from ._types import Note
from .typing import DataFrame, Floats, TableLike

if TYPE_CHECKING:
    from ._fitted import FittedModel


class Target(NamedTuple):
    """Checked targets, and their names if they have any."""

    values: Floats
    names: list[str] | None


def is_new(estimator: FittedModel, X: TableLike) -> bool:
    """Whether X has text, dates or missing values, so that its schema must be inferred."""
    return estimator.missing != "error" or (_frames.is_frame(X) and not _frames.is_plain(X))


def is_known(estimator: FittedModel, X: TableLike) -> bool:
    """Whether X is read by the schema of the fitted model, which an array of numbers does not need
    if the model was fitted on numbers only.
    """
    if estimator.missing != "error":
        return True
    schema = estimator._description["schema"]
    if schema is None or _frames.is_frame(X):
        return schema is not None
    plain = ("number", "boolean")
    return any(f["kind"]["type"] not in plain or f.get("indicator") for f in schema["features"])


def training(
    estimator: FittedModel, X: TableLike, target: Target, floats: bool, least: int
) -> _raysum.TrainingFrame:
    """Infers the schema of X, and encodes it. `floats` is whether the target was of floats."""
    # Records the names of the columns as scikit-learn does.
    validate_data(estimator, X, reset=True, skip_check_array=True, y="no_validation")
    named = hasattr(estimator, "feature_names_in_")
    if _frames.is_frame(X):
        _check_rows(X, least)
        columns = _frames.columns(X, named)
    else:
        _checks.refuse_dates(X, "X")
        params = {"dtype": np.float64, "ensure_all_finite": False, "estimator": estimator}
        numbers = check_array(_frames.with_nan(X), **params, ensure_min_samples=least)
        columns = _frames.array_columns(numbers)
    y = target.values
    several = y.ndim == 2
    names = target.names or ([f"y{k}" for k in range(y.shape[1])] if several else ["y"])
    taken = {column.name for column in columns}
    targets = []
    for name, values in zip(names, y.T if several else [y]):
        while name in taken:
            name += "_"
        taken.add(name)
        targets.append((name, np.ascontiguousarray(values), floats))
    return _raysum.read_frame(
        columns, named, targets, estimator.missing, estimator.categories, least
    )


def encoded(estimator: FittedModel, X: TableLike) -> tuple[Floats, list[int]]:
    """X, encoded for the fitted model, and the rows that are left out."""
    described = estimator._description
    schema, names = described["schema"], described["column_names"] or []
    named = False
    if schema is None:
        numbers = _checks.known_numbers(estimator, X)
        count, columns = len(numbers), _frames.array_columns(numbers)
    elif _frames.is_frame(X):
        _check_rows(X, 1)
        if schema["named"] and _is_encoded(X, schema, names):
            params = {"dtype": np.float64, "ensure_all_finite": False, "estimator": estimator}
            x = _checks.without_gaps(check_array(X[names], **params))
            return _checks.finite(x, names), []
        named = all(isinstance(name, str) for name in X.columns)
        count, columns = len(X), _frames.columns(X, named)
    else:
        _checks.refuse_dates(X, "X")
        cells = validate_data(estimator, X, reset=False, dtype=None, ensure_all_finite=False)
        is_text = cells.dtype.kind not in "biuf"
        columns = _frames.object_columns(cells) if is_text else _frames.array_columns(cells)
        count = len(cells)
    x, left_out, notes = estimator._model.encode(columns, named, count, estimator.missing)
    tell(notes, stacklevel=6)
    return x, left_out


def _is_encoded(X: DataFrame, schema: Schema, encoded: list[str]) -> bool:
    """Whether a frame has encoded columns, and not the original ones."""
    there = set(X.columns)
    used = {f["name"] for f in schema["features"] if f["kind"]["type"] != "identifier"}
    # Numbers keep their names, so that only indicators distinguish their encoded columns.
    return set(encoded) <= there and (used < set(encoded) or not used <= there)


def tell(notes: list[Note], stacklevel: int) -> None:
    """Issues warnings for notes that are warnings."""
    for is_warning, note in notes:
        if is_warning:
            warnings.warn(note, UserWarning, stacklevel=stacklevel)


def _check_rows(X: DataFrame, least: int) -> None:
    if len(X) < least:
        raise ValueError(
            f"Found array with {len(X)} sample(s) (shape={X.shape}) while a minimum of {least} is "
            "required."
        )
