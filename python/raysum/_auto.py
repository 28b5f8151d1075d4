"""The scikit-learn estimator that chooses models by itself, and mixes them."""

from __future__ import annotations

from itertools import groupby
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin

from . import _raysum, _settings
from ._answers import AnswersMixin
from ._explaining import ExplainMixin
from ._fitting import HISTORY, FitMixin
from ._prediction import PredictionMixin
from ._suggest import SuggestMixin
from ._types import AutoSettings, MemberComponent, NumberedStep
from .typing import (
    EffortName,
    IntervalsName,
    MemberComponents,
    MissingRule,
    RandomState,
    StackMember,
    TableLike,
)

if TYPE_CHECKING:
    from typing_extensions import Self


class AutoGPRegressor(
    FitMixin,
    PredictionMixin,
    AnswersMixin,
    SuggestMixin,
    ExplainMixin,
    MultiOutputMixin,
    RegressorMixin,
    BaseEstimator,
):
    """The best prediction without choosing anything, with calibrated intervals.

    Several Gaussian processes are fitted: linear and additive ones, some with learned directions,
    and kernels of all columns, on several scales of columns and target, by the size of the table.
    Rows that they were not fitted to decide how they are mixed: least squares for the mean, the
    log score for the distribution. Errors at these rows also calibrate the intervals, and give
    scores that are those of new rows. Columns need no scaling.

    Parameters
    ----------
    effort : {"quick", "normal", "best"}, default="normal"
        How much is tried: little, the models that are usually worth their time, or more.
    intervals : {"calibrated", "gaussian"}, default="calibrated"
        Where standard deviations, intervals and quantiles come from: from errors at held-out rows,
        or from the Gaussian processes alone.
    missing : {"error", "drop", "mean", "indicate"}, default="error"
        Treatment of missing values of X (NaN, None, NA, NaT): refuse them; leave such rows out of a
        fit (rows to predict cannot be left out); fill in the mean of the column over the training
        rows; or fill it in and add a column that is 1 where the value was missing (in text, a
        category of its own), which allows later gaps in the columns that had some in the fit.
        Unless it is "error", rows with a missing target are left out of a fit.
    categories : int, default=100
        Maximum number of categories of a text column, from 2 to 1000. Of more texts the most
        frequent are categories of their own; all others, also unknown ones, are one.
    random_state : int, RandomState instance or None, default=0
        The seed of everything random. The same integer gives the same bits on any number of
        threads.
    n_jobs : int, default=None
        Number of threads, at most the number of cores. None: all cores, or as many as
        RAYON_NUM_THREADS or OMP_NUM_THREADS say (joblib sets these for its workers); -1: all cores.
    verbose : int, default=0
        1 shows a progress bar (lines, if tqdm is not installed), 2 a line for each evaluation.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of X, as passed to `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names that are all strings.
    encoded_names_ : list of str
        Names of the encoded columns that the models use: those of X, with `name=category` for each
        category of a text column, and none for text that identifies rows; `name (others)` for the
        category of all other texts, `name (missing)` for where values are missing.
    notes_ : list of str
        Notes on a frame with text, dates or missing values: which columns became categories, which
        were left out. Not available after `load`.
    n_outputs_ : int
        Number of targets.
    target_names_ : list of str or None
        Their names; None for each target if y had no names.
    members_ : list of StackMember
        The models that are mixed, with their names, mixing weights and the factor of their standard
        deviations, the largest weight first; one such list per target, if y has two dimensions.
        `raysum.typing.StackMember` describes them.
    scores_ : HeldOutScores
        What rows show that the members were not fitted to, in any stage: RMSE, MAE, NLPD, CRPS,
        coverage and width of intervals, beside those of a constant, of ridge regression and of
        every model that was tried; one per target, if y has two dimensions.
        `raysum.typing.HeldOutScores` describes them.
    calibration_ : dict of float to float, or None
        How much wider than those of the mixture intervals of some probabilities are, because errors
        of held-out rows are; one per target, if y has two dimensions.
    relevance_ : dict of str to float
        The relevance of each column of X, the most relevant first: half the mean squared change of
        the prediction when the column's value is replaced by that of another training row, as a
        share of the sum over columns; the mean over members by their mixing weights. An ndarray of
        one share per target, if y has two dimensions.
    feature_importances_ : ndarray of shape (n_features_in_,)
        The same in the order of the columns, as scikit-learn names it; the mean over targets.
    history_ : structured ndarray
        All searches for hyperparameters, evaluation by evaluation: "target", "fit" (the number of
        the fit), "phase", "rows", "search", "evaluation" and "objective". Not available after
        `load`.

    See Also
    --------
    ProjectedAdditiveGPRegressor : One model, with all its settings.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from raysum import AutoGPRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> gp = AutoGPRegressor(effort="quick").fit(X, y)
    >>> sorted(list(gp.relevance_)[:2])
    ['bmi', 's5']
    >>> bool(gp.scores_.stack.rmse < gp.scores_.constant.rmse)
    True
    >>> low, high = gp.predict(X[:1], quantiles=[0.05, 0.95])[0]
    >>> bool(low < y[0] < high)
    True
    """

    members_: list[StackMember] | list[list[StackMember]]

    _parameter_constraints = _settings.AUTO_CONSTRAINTS

    def __init__(
        self,
        effort: EffortName = "normal",
        *,
        intervals: IntervalsName = "calibrated",
        missing: MissingRule = "error",
        categories: int = 100,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.effort = effort
        self.intervals = intervals
        self.missing = missing
        self.categories = categories
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def components(self, X: TableLike) -> list[MemberComponents] | list[list[MemberComponents]]:
        """The functions that members are sums of, at the rows of X, by mixing weight.

        Each function is multiplied by the mixing weight of its member, so that together with its
        constant they are the member's part of the predicted mean. Members by the neighbors engine
        cannot tell their functions apart and are left out; the functions of a member with a
        transformed target are those of the transformed target, in its standard deviations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows at which to evaluate.

        Returns
        -------
        components : list of MemberComponents
            One per member: named tuples of `member`, its index in `members_`, `values` and `std`,
            which `raysum.typing.MemberComponents` describes; one such list per target, if y has
            two dimensions.
        """
        x, threads = self._ask(X)
        of_targets = [_by_member(functions) for functions in self._model.components(x, threads)]
        return of_targets if self._several else of_targets[0]

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model file, saved by Python, the command line or the Rust library.

        Parameters
        ----------
        path : str or path-like
            The file, which may also hold a single model.

        Returns
        -------
        estimator : AutoGPRegressor
            A fitted estimator, with the parameters of its fit except `effort`, `missing`, unless it
            was "indicate", and `categories` where no column had more: a file does not record them.
        """
        estimator = cls()
        estimator._take(_raysum.Model.load(path))
        estimator.set_params(**_settings.common_parameters(estimator._description))
        return estimator

    def _take(self, model: _raysum.Model, several: bool | None = None) -> None:
        super()._take(model, several)
        described = self._description["members"]
        members = [[StackMember(**member) for member in target] for target in described]
        self.members_ = self._of_each(members)

    def _recipe(self) -> AutoSettings:
        return _settings.auto_settings(self)

    def _record(self, history: list[NumberedStep]) -> None:
        fields = [("fit", int), *HISTORY]
        self.history_ = np.array([(fit, *step) for fit, step in history], dtype=fields)


def _by_member(functions: list[MemberComponent]) -> list[MemberComponents]:
    found = []
    for member, group in groupby(functions, key=lambda function: function[0]):
        own = list(group)
        values = np.stack([mean for _, mean, _ in own], axis=1)
        found.append(MemberComponents(member, values, np.stack([std for _, _, std in own], axis=1)))
    return found
