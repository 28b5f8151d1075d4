"""Types of the arguments and results of raysum, for annotations.

>>> from raysum.typing import Floats, TableLike
>>> def scaled(X: TableLike, by: float) -> Floats: ...
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "ComponentCurve",
    "Coverage",
    "DataFrame",
    "DirectionsName",
    "EngineName",
    "Floats",
    "KernelName",
    "MissingRule",
    "ModelName",
    "OptimizerName",
    "RandomState",
    "SkiOptions",
    "TableLike",
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
    "dpa-ard-ski",
    "rpa-1-ski",
]
KernelName: TypeAlias = Literal["rbf", "cosine", "matern12", "matern32", "matern52", "imq"]
DirectionsName: TypeAlias = Literal["axes", "gaussian", "sphere", "diverse", "energy"]
EngineName: TypeAlias = Literal["auto", "dense", "weight", "ski"]
OptimizerName: TypeAlias = Literal["lbfgs", "adam"]
MissingRule: TypeAlias = Literal["error", "drop", "mean"]


class SkiOptions(TypedDict, total=False):
    """Settings of the ski engine. Missing keys, or None, have their defaults."""

    grid: int | None
    probes: int | None
    cg_tolerance: float | None
    cg_iterations: int | None
    exact_variance: bool | None


class ComponentCurve(NamedTuple):
    """The function along one direction, as a curve over the range of the given rows.

    Attributes
    ----------
    component : int
        Number of the sub-kernel, as in `components`.
    direction : ndarray of shape (len(encoded_names_),)
        The direction. Where it is a single column, only that entry is not 0.
    coordinate : ndarray of shape (n_samples,)
        The rows' coordinates along it: the column in its own units where the direction is a single
        column, otherwise the projection of the standardised columns onto `direction`.
    points : ndarray of shape (n_points,)
        Coordinates from the least to the greatest of the rows, evenly spaced.
    mean : ndarray of shape (n_points,)
        The function there, less its mean over the rows, in the target's units.
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
    """The share of observations inside central intervals.

    Attributes
    ----------
    levels : ndarray of shape (n_levels,)
        Probabilities of the intervals.
    shares : ndarray of shape (n_levels,) or (n_levels, n_outputs)
        Share of the rows inside the interval of each level.
    n_samples : int
        Number of rows: those without a missing value.
    """

    levels: Floats
    shares: Floats
    n_samples: int
