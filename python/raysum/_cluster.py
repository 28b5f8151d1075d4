"""The parameters of the estimators whose rows are on many machines."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ._estimator import ProjectedAdditiveGPRegressor
from .distributed import SAMPLE_ROWS
from .typing import (
    ColumnsScaleName,
    DirectionsName,
    KernelName,
    LengthScalePriorName,
    MissingRule,
    ModelName,
    OptimizerName,
    RandomState,
    TargetScaleName,
)


class ClusterRegressor(BaseEstimator):
    """Parameters, and the fitted model.

    Parameters
    ----------
    model, n_projections, degrees, kernel, directions, ard, learn_weights, learn_directions,
    columns_scale, target_scale, length_scale_prior, shrinkage, optimizer, max_evaluations,
    n_restarts, subset, independent, noise_bounds, missing, categories, random_state, verbose
        As in `raysum.ProjectedAdditiveGPRegressor`.
    sample_rows : int, default=100_000
        Most rows of the random sample on which hyperparameters are searched. It is held in memory
        by the process that calls `fit`.
    n_jobs : int or None, default=None
        Threads of that search. A task on a worker uses one thread.

    Attributes
    ----------
    model_ : ProjectedAdditiveGPRegressor
        The fitted model, which predicts, explains and saves itself on any machine.
    """

    model_: ProjectedAdditiveGPRegressor

    def __init__(
        self,
        model: ModelName | str = "dpa-ard",
        *,
        n_projections: int | Literal["d"] | None = None,
        degrees: str | Sequence[int] | NDArray[np.integer] | None = None,
        kernel: KernelName | None = None,
        directions: DirectionsName | None = None,
        ard: bool | None = None,
        learn_weights: bool | None = None,
        learn_directions: bool | None = None,
        columns_scale: ColumnsScaleName = "standard",
        target_scale: TargetScaleName = "none",
        length_scale_prior: LengthScalePriorName | None = None,
        shrinkage: Literal["auto", "none"] | float = "auto",
        optimizer: OptimizerName = "lbfgs",
        max_evaluations: int | None = None,
        n_restarts: int = 0,
        subset: int | None = None,
        independent: bool = True,
        noise_bounds: Sequence[float] | NDArray[np.floating] = (1e-4, 10.0),
        missing: MissingRule = "error",
        categories: int = 100,
        sample_rows: int = SAMPLE_ROWS,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.model = model
        self.n_projections = n_projections
        self.degrees = degrees
        self.kernel = kernel
        self.directions = directions
        self.ard = ard
        self.learn_weights = learn_weights
        self.learn_directions = learn_directions
        self.columns_scale = columns_scale
        self.target_scale = target_scale
        self.length_scale_prior = length_scale_prior
        self.shrinkage = shrinkage
        self.optimizer = optimizer
        self.max_evaluations = max_evaluations
        self.n_restarts = n_restarts
        self.subset = subset
        self.independent = independent
        self.noise_bounds = noise_bounds
        self.missing = missing
        self.categories = categories
        self.sample_rows = sample_rows
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _local(self) -> ProjectedAdditiveGPRegressor:
        """The estimator with these parameters for one machine."""
        given: dict[str, Any] = self.get_params(deep=False)
        del given["sample_rows"]
        return ProjectedAdditiveGPRegressor(**given, engine="weight", intervals="gaussian")

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a file, which `ProjectedAdditiveGPRegressor.load` reads.

        Parameters
        ----------
        path : str or path-like
            The file, which is written atomically.
        """
        check_is_fitted(self, "model_")
        self.model_.save(path)
