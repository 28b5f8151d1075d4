"""The state of a fitted estimator, and helpers of the methods that use it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from . import _description, _inputs, _raysum
from ._description import Description
from .typing import Floats, HeldOutScores, MissingRule, Scores, TableLike

Value = TypeVar("Value")


class FittedModel:
    """A fitted model of one or several targets. Results for several have one more dimension."""

    _model: _raysum.Model
    _description: Description
    #: Whether y has two dimensions.
    _several: bool
    #: The encoded columns of each of the user's columns, by number, and their labels.
    _columns: tuple[list[list[int]], list[str]]

    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    encoded_names_: list[str]
    n_outputs_: int
    target_names_: list[str | None]
    relevance_: dict[str, float] | dict[str, Floats]
    feature_importances_: Floats
    scores_: HeldOutScores | list[HeldOutScores | None] | None
    calibration_: dict[float, float] | list[dict[float, float] | None] | None

    # Parameters of the estimator.
    n_jobs: int | None
    missing: MissingRule
    categories: int

    def _take(self, model: _raysum.Model, several: bool | None = None) -> None:
        """Makes this the fitted model. `several` is whether y has two dimensions, which a file does
        not record; by default it has if there are several targets.
        """
        d = self._description = _description.describe(model)
        self._model = model
        schema = d["schema"]
        names = d["column_names"]
        #: Number of encoded columns of each of the user's columns.
        widths = [1] * d["columns"]
        if schema is not None:
            names = [f["name"] for f in schema["features"]]
            widths = [len(f["means"]) + f.get("indicator", False) for f in schema["features"]]
        self.n_features_in_ = len(widths)
        named = names is not None and (schema is None or schema["named"])
        if named:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.encoded_names_ = d["column_names"] or [f"x{i}" for i in range(d["columns"])]
        self.target_names_ = d["target_names"]
        self.n_outputs_ = len(self.target_names_)
        self._several = self.n_outputs_ > 1 if several is None else several
        ends = np.cumsum([0, *widths])
        # The encoded columns of a column share one value; an identifier has none.
        groups = [sorted(set(d["groups"][a:b])) for a, b in pairwise(ends)]
        labels = names if named and names else [f"x{i}" for i in range(len(widths))]
        self._columns = groups, labels
        self.feature_importances_, self.relevance_ = self._shares(d["relevance"])
        self.scores_ = self._of_each([_scores(held_out) for held_out in d["held_out"]])
        curves = [None if curve is None else dict(curve) for curve in d["calibration"]]
        self.calibration_ = self._of_each(curves)

    def _shares(
        self, relevance: list[list[float]]
    ) -> tuple[Floats, dict[str, float] | dict[str, Floats]]:
        """The mean share of each column, and the shares by name, the largest first."""
        groups, labels = self._columns
        of_targets = np.array(relevance)
        shares = np.stack([of_targets[:, group].sum(axis=1) for group in groups], axis=1)
        mean = shares.mean(axis=0)
        order = np.argsort(-mean, kind="stable")
        if self._several:
            return mean, {labels[i]: shares[:, i] for i in order}
        return mean, {labels[i]: float(shares[0, i]) for i in order}

    def _warn(self) -> None:
        """Issues warnings about a fit, if there are any."""

    def _ask(self, X: TableLike) -> tuple[Floats, int]:
        """The encoded rows, and the number of threads."""
        check_is_fitted(self)
        return _inputs.features(self, X), _inputs.threads(self.n_jobs)

    def _join(self, answers: Sequence[Floats], axis: int = 1) -> Floats:
        """The results of all targets as one array, with the dimensions of y."""
        return np.stack(answers, axis=axis) if self._several else answers[0]

    def _each(self, values: list[float]) -> float | Floats:
        """A number, or an array with one per target if y has two dimensions."""
        return np.array(values) if self._several else values[0]

    def _of_each(self, values: list[Value]) -> Value | list[Value]:
        """What the only target has, or a list with that of each if y has two dimensions."""
        return values if self._several else values[0]

    def _require(self, what: str, rows: int, numbers: int) -> None:
        """Raises MemoryError if there is no memory for this many numbers per row and target, and
        for the copy that `_join` makes of several targets."""
        copies = 2 if self._several else 1
        total = rows * numbers * self.n_outputs_ * copies
        _raysum.require_memory(f"{what} at {rows} rows", min(total, 2**63))

    def _further_rows(
        self,
        X: TableLike,
        y: TableLike,
        sample_weight: ArrayLike | None = None,
        noise_std: ArrayLike | None = None,
    ) -> _inputs.Rows:
        """Rows with the targets of this model."""
        given = _inputs.rows(self, X, y, sample_weight, noise_std, reset=False, least=1)
        rows, dimensions = given.rows, given.dimensions
        if dimensions != 1 + self._several or len(rows.targets) != self.n_outputs_:
            shapes = {1: "one dimension", 2: f"{len(rows.targets)} column(s)"}
            fitted = f"{self.n_outputs_} column(s)" if self._several else "one dimension"
            raise ValueError(f"y has {shapes[dimensions]}, but the y of the fit had {fitted}.")
        return rows


def _scores(found: _description.HeldOut | None) -> HeldOutScores | None:
    if found is None:
        return None
    ridge = found["ridge"]
    tried = [(each["name"], each["scores"]) for each in found["tried"]]
    return HeldOutScores(
        rows=found["rows"],
        folds=found["folds"],
        stack=Scores(**found["stack"]),
        constant=Scores(**found["constant"]),
        ridge=None if ridge is None else Scores(**ridge),
        tried={name: None if scores is None else Scores(**scores) for name, scores in tried},
    )
