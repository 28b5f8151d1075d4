"""The state of a fitted estimator, and helpers of the methods that use it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from . import _inputs, _raysum
from ._description import Description, TermHyperparameters, describe
from .typing import FittedTerm, Floats, MissingRule, TableLike


def _fitted_terms(
    d: Description, directions: list[Floats], found: list[TermHyperparameters]
) -> list[FittedTerm]:
    """The terms of one target."""
    written = (d["preset"] or "").split("+")
    configs = d["config"]["terms"]
    named = len(written) == len(configs) and all(written)
    return [
        FittedTerm(
            name=written[t] if named else configs[t]["kernel"],
            kernel=configs[t]["kernel"],
            degrees=d["degrees"][t],
            directions=directions[t],
            length_scales=np.array(h["column_length_scales"] or h["length_scales"]),
            variances=np.array(h["variances"]),
        )
        for t, h in enumerate(found)
    ]


class FittedModel:
    """A fitted model of one or several targets. Results for several have one more dimension."""

    _model: _raysum.Model
    _description: Description
    #: The terms of each target.
    _terms: list[list[FittedTerm]]
    #: Whether y has two dimensions.
    _several: bool

    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    encoded_names_: list[str]
    n_outputs_: int
    target_names_: list[str | None]
    relevance_: dict[str, float] | dict[str, Floats]
    feature_importances_: Floats
    terms_: list[FittedTerm] | list[list[FittedTerm]]
    directions_: Floats
    degrees_: list[int]
    length_scales_: Floats
    weights_: Floats
    scale_: float | Floats
    noise_std_: float | Floats
    noise_relevance_: dict[str, float] | dict[str, Floats]
    target_transformation_: str | list[str | None] | None
    constant_: float | Floats
    engine_: str
    n_iter_: int | NDArray[np.int_]
    shrinkage_: float | list[float | None] | None
    log_marginal_likelihood_error_: float | Floats

    # Parameters of the estimator.
    n_jobs: int | None
    missing: MissingRule
    categories: int

    def _take(self, model: _raysum.Model, several: bool | None = None) -> None:
        """Makes this the fitted model. `several` is whether y has two dimensions, which a file does
        not record; by default it has if there are several targets.
        """
        d = self._description = describe(model)
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
        self.engine_ = d["engine"]
        evaluations = [report["evaluations"] for report in d["reports"]]
        self.n_iter_ = np.array(evaluations) if self._several else evaluations[0]
        chosen = [report["shrinkage"] for report in d["reports"]]
        self.shrinkage_ = chosen if self._several else chosen[0]
        self._terms = [
            _fitted_terms(d, directions, found["terms"])
            for directions, found in zip(model.directions(), d["hyperparameters"])
        ]
        self.terms_ = self._terms if self._several else self._terms[0]
        self.directions_ = self._over_terms(lambda term: term.directions)
        self.degrees_ = [degree for term in d["degrees"] for degree in term]
        self.length_scales_ = self._over_terms(lambda term: term.length_scales)
        variances = [np.concatenate([term.variances for term in each]) for each in self._terms]
        self.scale_ = self._each([each.sum() for each in variances])
        self.weights_ = self._join([each / each.sum() for each in variances], axis=0)
        self.noise_std_ = self._each(d["noise_std"])
        self.constant_ = self._each(d["constant"])
        transformations = d["target_transformation"]
        self.target_transformation_ = transformations if self._several else transformations[0]
        self.log_marginal_likelihood_error_ = self._each(d["likelihood_error"])
        ends = np.cumsum([0, *widths])
        # The encoded columns of a column share one value; an identifier has none.
        groups = [sorted(set(d["groups"][a:b])) for a, b in pairwise(ends)]
        labels = names if named and names else [f"x{i}" for i in range(len(widths))]
        self.feature_importances_, self.relevance_ = self._shares(d["relevance"], groups, labels)
        # Targets of constant noise have none.
        of_noise = [each or [0.0] * len(d["relevance"][0]) for each in d["noise_relevance"]]
        varies = any(d["noise_relevance"])
        self.noise_relevance_ = self._shares(of_noise, groups, labels)[1] if varies else {}

    def _shares(
        self, relevance: list[list[float]], groups: list[list[int]], labels: list[str]
    ) -> tuple[Floats, dict[str, float] | dict[str, Floats]]:
        """The mean share of each column, and the shares by name, the largest first."""
        of_targets = np.array(relevance)
        shares = np.stack([of_targets[:, group].sum(axis=1) for group in groups], axis=1)
        mean = shares.mean(axis=0)
        order = np.argsort(-mean, kind="stable")
        if self._several:
            return mean, {labels[i]: shares[:, i] for i in order}
        return mean, {labels[i]: float(shares[0, i]) for i in order}

    def _warn(self) -> None:
        """Warns if the search did not converge, or was bound by its cost."""
        reports = self._description["reports"]
        if any(report["rough"] for report in reports):
            warnings.warn(
                "the functions are as rough as is affordable for this many rows; if columns have "
                "heavy tails, columns_scale='ranks' often helps",
                stacklevel=3,
            )
        if any(report["hit_limit"] for report in reports):
            warnings.warn(
                "the search ended at its limit of evaluations; raise max_evaluations",
                ConvergenceWarning,
                stacklevel=3,
            )
        report = max(reports, key=lambda report: report["unconverged"])
        if report["unconverged"]:
            warnings.warn(
                f"conjugate gradients did not converge at {report['unconverged']} of "
                f"{report['evaluations']} evaluations, where the search stepped back; raise the "
                "lower of noise_bounds, or cg_iterations",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _over_terms(self, of: Callable[[FittedTerm], Floats]) -> Floats:
        """An array of each term, one after another, for each target."""
        return self._join([np.concatenate([of(term) for term in each]) for each in self._terms], 0)

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
