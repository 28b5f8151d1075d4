"""What a fitted estimator of one model has, and a mixture of several has not."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from . import _raysum
from ._description import Description, TermHyperparameters
from ._fitted import FittedModel
from .typing import FittedTerm, Floats


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


class SingleModel(FittedModel):
    """A fitted model per target, with its hyperparameters."""

    #: The terms of each target.
    _terms: list[list[FittedTerm]]

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
    inflation_: float | Floats
    log_marginal_likelihood_error_: float | Floats

    def _take(self, model: _raysum.Model, several: bool | None = None) -> None:
        super()._take(model, several)
        d = self._description
        self.engine_ = d["engine"]
        evaluations = [report["evaluations"] for report in d["reports"]]
        self.n_iter_ = np.array(evaluations) if self._several else evaluations[0]
        self.shrinkage_ = self._of_each([report["shrinkage"] for report in d["reports"]])
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
        self.target_transformation_ = self._of_each(d["target_transformation"])
        self.inflation_ = self._each([members[0]["inflation"] for members in d["members"]])
        self.log_marginal_likelihood_error_ = self._each(d["likelihood_error"])
        # Targets of constant noise have none.
        of_noise = [each or [0.0] * len(d["relevance"][0]) for each in d["noise_relevance"]]
        self.noise_relevance_ = self._shares(of_noise)[1] if any(d["noise_relevance"]) else {}

    def log_marginal_likelihood(self) -> float | Floats:
        """The log marginal likelihood of the training rows, of the standardised target.

        Returns
        -------
        log_likelihood : float or ndarray of shape (n_outputs,)
            log p(y | X) at the fitted hyperparameters. With the ski engine it is an estimate with
            standard error `log_marginal_likelihood_error_`.
        """
        check_is_fitted(self)
        return self._each(self._description["log_marginal_likelihood"])

    def _warn(self) -> None:
        """Warns if the search did not converge, or was bound by its cost."""
        reports = self._description["reports"]
        if any(report["fewer_directions"] for report in reports):
            warnings.warn(
                "some columns have tails so heavy that the usual number of directions would cost "
                "too much: dpa-ard has fewer; columns_scale='ranks' often helps, and a number that "
                "is named, as in 'dpa-ard:80x1', stays",
                stacklevel=3,
            )
        if any(report["rough"] for report in reports):
            ranked = self._description["config"]["columns_scale"] in ("ranks", "cuts")
            scale = "if columns have heavy tails, columns_scale='ranks' often helps; "
            warnings.warn(
                "the functions are as rough as is affordable for this many rows; "
                f"{'' if ranked else scale}"
                "a kernel of all columns, such as 'linear+matern32-ard', has no such limit",
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
