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
        noise_bounds: Sequence[float] | NDArray[np.floating] | None = None,
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


def prediction_columns(
    model: ProjectedAdditiveGPRegressor, return_std: bool, interval: float | None
) -> list[str]:
    """The names of predicted columns, target by target."""
    kinds = ["mean", *(["std"] if return_std else [])]
    kinds += [] if interval is None else ["lower", "upper"]
    targets = [str(name or f"y{k}") for k, name in enumerate(model.target_names_)]
    several = len(targets) > 1
    return [f"{kind}_{target}" if several else kind for target in targets for kind in kinds]


def predicted(
    X: Any, model: ProjectedAdditiveGPRegressor, return_std: bool, interval: float | None
) -> Any:
    """Predictions of a partition, one column for each name of `prediction_columns`."""
    width = len(prediction_columns(model, return_std, interval))
    if not len(X):
        return np.empty((0, width))
    model.n_jobs = 1
    if interval is None:
        found: Any = model.predict(X, return_std=return_std)
    else:
        found = model.predict(X, return_std=return_std, interval=interval)
    answers = [found] if not isinstance(found, tuple) else list(found)
    by_kind = np.stack([np.asarray(answer).reshape(len(X), -1) for answer in answers], axis=2)
    return by_kind.reshape(len(X), -1)
