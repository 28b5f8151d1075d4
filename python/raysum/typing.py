"""Types of arguments and results, for annotations.

>>> from raysum.typing import Floats, TableLike
>>> def scaled(X: TableLike, by: float) -> Floats: ...
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "ColumnsScaleName",
    "ComponentCurve",
    "Coverage",
    "DataFrame",
    "DirectionsName",
    "EffortName",
    "EngineName",
    "Explanation",
    "FittedTerm",
    "Floats",
    "HeldOutScores",
    "IntervalsName",
    "KernelName",
    "LengthScalePriorName",
    "MemberComponents",
    "MissingRule",
    "ModelName",
    "NoiseName",
    "OptimizerName",
    "RandomState",
    "Scores",
    "SkiOptions",
    "StackMember",
    "Suggestions",
    "TableLike",
    "TargetScaleName",
]

#: An array of 64-bit floats.
Floats: TypeAlias = NDArray[np.float64]


class DataFrame(Protocol):
    """A data frame of pandas or polars."""

    @property
    def columns(self) -> Any:
        """Names of the columns."""

    @property
    def dtypes(self) -> Any:
        """Type of each column."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and of columns."""

    def __getitem__(self, key: Any, /) -> Any:
        """A column by its name."""

    def __len__(self) -> int:
        """Number of rows."""


#: Rows of numbers, or a data frame.
TableLike: TypeAlias = ArrayLike | DataFrame
#: Rows to try: a frame with the columns of X, or an array.
Suggestions: TypeAlias = Any
#: A seed, a generator of scikit-learn's kind, or None for a new seed each time.
RandomState: TypeAlias = int | np.random.RandomState | None

ModelName: TypeAlias = Literal[
    "dpa-ard",
    "ppr",
    "rpa-ard",
    "dpa",
    "rpa-1",
    "rpa-2",
    "rpa-3",
    "single-rp",
    "gam",
    "rbf-ard",
    "imq-ard",
    "linear",
    "rbf",
    "matern12",
    "matern32",
    "matern52",
    "imq",
    "laplace",
    "matern12-ard",
    "matern32-ard",
    "matern52-ard",
    "laplace-ard",
    "dpa-ard-ski",
    "rpa-1-ski",
]
ColumnsScaleName: TypeAlias = Literal["standard", "robust", "ranks", "cuts"]
TargetScaleName: TypeAlias = Literal["none", "yeo-johnson"]
NoiseName: TypeAlias = Literal["constant", "columns"]
LengthScalePriorName: TypeAlias = Literal["flat", "log-normal"]
KernelName: TypeAlias = Literal[
    "rbf", "cosine", "matern12", "matern32", "matern52", "imq", "laplace"
]
DirectionsName: TypeAlias = Literal["axes", "gaussian", "sphere", "diverse", "energy"]
EngineName: TypeAlias = Literal["auto", "dense", "weight", "ski", "neighbors"]
OptimizerName: TypeAlias = Literal["lbfgs", "adam"]
EffortName: TypeAlias = Literal["quick", "normal", "best"]
IntervalsName: TypeAlias = Literal["calibrated", "gaussian"]
MissingRule: TypeAlias = Literal["error", "drop", "mean", "indicate"]


class FittedTerm(NamedTuple):
    """A term of a fitted sum, in standardised units."""

    #: As the model names it, or the name of its kernel.
    name: str
    kernel: str
    #: The number of dimensions of each sub-kernel.
    degrees: list[int]
    #: One row for each dimension of each sub-kernel.
    directions: Floats
    #: One per column, one per row of `directions`, a common one, or none.
    length_scales: Floats
    #: The prior variance of each sub-kernel's function.
    variances: Floats


class SkiOptions(TypedDict, total=False):
    """Settings of the ski engine; None, or no entry, stands for the default."""

    grid: int | None
    probes: int | None
    cg_tolerance: float | None
    cg_iterations: int | None
    exact_variance: bool | None


class ComponentCurve(NamedTuple):
    """The function along one direction, as a curve over the range of given rows.

    Attributes
    ----------
    component : int
        Index of the function in `components`.
    direction : ndarray of shape (len(encoded_names_),)
        The direction, divided by the length-scales of the columns where the model has `ard`.
        The direction of a single column has one entry that is not 0, of any value.
    coordinate : ndarray of shape (n_samples,)
        Coordinate of each row: the value of the column if the direction has only one, otherwise
        the projection of the standardised columns onto `direction`.
    points : ndarray of shape (n_points,)
        Evenly spaced coordinates from the smallest to the largest of the rows.
    mean : ndarray of shape (n_points,)
        The function at `points`, less its mean over the rows, in the target's units.
    std : ndarray of shape (n_points,)
        Standard deviation of that difference.
    """

    component: int
    direction: Floats
    coordinate: Floats
    points: Floats
    mean: Floats
    std: Floats


class Coverage(NamedTuple):
    """Coverage of central intervals.

    Attributes
    ----------
    levels : ndarray of shape (n_levels,)
        Probabilities of the intervals.
    shares : ndarray of shape (n_levels,) or (n_levels, n_outputs)
        Share of observations inside the interval of each level.
    n_samples : int
        Number of rows, without those that have missing values.
    """

    levels: Floats
    shares: Floats
    n_samples: int


class StackMember(NamedTuple):
    """A model of a stack.

    Attributes
    ----------
    name : str
        The name of the model, with the scales that are not the usual ones.
    weight : float
        Its mixing weight in the mean.
    spread_weight : float
        Its mixing weight in the distribution of new observations.
    inflation : float
        What its standard deviations are multiplied by, so that errors of held-out rows are as
        large as it expects.
    """

    name: str
    weight: float
    spread_weight: float
    inflation: float


class Scores(NamedTuple):
    """Scores of predictions, in the target's units.

    Attributes
    ----------
    rmse : float
        Root mean squared error.
    mae : float
        Mean absolute error.
    nlpd : float
        Mean negative log predictive density.
    crps : float
        Mean continuous ranked probability score.
    coverage95 : float
        Share of the rows inside their 95 % interval.
    width95 : float
        Mean width of the 95 % interval.
    """

    rmse: float
    mae: float
    nlpd: float
    crps: float
    coverage95: float
    width95: float


class HeldOutScores(NamedTuple):
    """Scores of rows that were held out from the fits that predicted them.

    Attributes
    ----------
    rows : int
        Number of held-out rows; equal ones count once.
    folds : int
        Number of fits that rows were held out from.
    stack : Scores
        Those of the fitted estimator, with mixing weights and calibration that come from other rows
        than those they are scored on.
    constant : Scores
        Those of the mean and the standard deviation of the target, without any model.
    ridge : Scores or None
        Those of ridge regression.
    tried : dict of str to Scores
        Those of all models that were tried; None for a model that could not be fitted.
    """

    rows: int
    folds: int
    stack: Scores
    constant: Scores
    ridge: Scores | None
    tried: dict[str, Scores | None]

    @property
    def r2(self) -> float:
        """The share of the constant's squared error that the fitted estimator avoids."""
        if not self.constant.rmse:
            return 0.0
        return 1.0 - (self.stack.rmse / self.constant.rmse) ** 2


class Explanation(NamedTuple):
    """What each column contributes to predictions, in the target's units.

    Attributes
    ----------
    baseline : float or ndarray of shape (n_outputs,)
        The prediction where all columns have their means over the training rows.
    contributions : ndarray of shape (n_samples, n_features) or (n_samples, n_outputs, n_features)
        What each column adds: with the baseline they add up to the predicted mean.
    names : list of str
        The columns.
    """

    baseline: float | Floats
    contributions: Floats
    names: list[str]


class MemberComponents(NamedTuple):
    """The functions of one model of a stack, times its mixing weight in the mean.

    Attributes
    ----------
    member : int
        The index of the model in `members_`.
    values : ndarray of shape (n_samples, n_functions)
        The mean of each function.
    std : ndarray of shape (n_samples, n_functions)
        Their standard deviations.
    """

    member: int
    values: Floats
    std: Floats
