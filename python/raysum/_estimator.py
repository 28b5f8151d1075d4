"""The scikit-learn estimator of one model: its parameters."""

from __future__ import annotations

import os
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin

from . import _description, _raysum, _settings
from ._answers import AnswersMixin
from ._components import ComponentsMixin
from ._explaining import ExplainMixin
from ._fitting import HISTORY, FitMixin
from ._prediction import PredictionMixin
from ._suggest import SuggestMixin
from ._types import NumberedStep, Settings
from .typing import (
    ColumnsScaleName,
    DirectionsName,
    EngineName,
    IntervalsName,
    KernelName,
    LengthScalePriorName,
    MissingRule,
    ModelName,
    NoiseName,
    OptimizerName,
    RandomState,
    SkiOptions,
    TargetScaleName,
)

if TYPE_CHECKING:
    from typing_extensions import Self


class ProjectedAdditiveGPRegressor(
    FitMixin,
    PredictionMixin,
    AnswersMixin,
    SuggestMixin,
    ExplainMixin,
    ComponentsMixin,
    MultiOutputMixin,
    RegressorMixin,
    BaseEstimator,
):
    """Gaussian-process regression by a sum of functions of one-dimensional projections.

    The model of Delbridge, Bindel and Wilson (2020): the columns are projected onto many
    directions, and one smooth function is learned of each projection. Columns are standardised
    internally.

    Parameters
    ----------
    model : str, default="dpa-ard"
        A configuration by name: "dpa-ard" (as many diverse directions as there are columns, from 20
        to 100, and a length-scale per column), "ppr" (learned directions), "rpa-ard", "dpa",
        "rpa-1", "rpa-2", "rpa-3", "single-rp", "gam" (one function per column), "linear" (ridge
        regression), "rbf", "matern12", "matern32", "matern52", "imq", "laplace" (all columns in one
        kernel, one length-scale), "rbf-ard", "imq-ard", "matern12-ard", "matern32-ard",
        "matern52-ard", "laplace-ard" (a length-scale per column), "dpa-ard-ski" and "rpa-1-ski"; or
        a sum of them, such as "linear+gam:matern52+dpa-ard", whose terms have variances and
        length-scales of their own, and behind a colon a kernel or degrees of their own, as in
        "gam:matern52+dpa-ard:40x1" ("dpa-ard" has 80 to 100 directions in a sum). The parameters
        below change parts of a model that is no sum; None keeps that of the model.
    n_projections : int or "d", default=None
        Number of one-dimensional projections; "d" for as many as there are columns.
    degrees : str or list of int, default=None
        The number of dimensions of each projection, as "4x1,4x2" or [1, 1, 1, 1, 2, 2, 2, 2].
    kernel : {"rbf", "cosine", "matern12", "matern32", "matern52", "imq", "laplace"}, default=None
        The sub-kernel.
    directions : {"axes", "gaussian", "sphere", "diverse", "energy"}, default=None
        How directions are chosen.
    ard : bool, default=None
        Learn a length-scale per column, applied before projecting. False learns one per projection
        instead; for projections onto the axes ("gam", "rbf-ard", "imq-ard") both are the same, and
        False is an error.
    learn_weights : bool, default=None
        Learn a mixing weight per sub-kernel, if there are several; otherwise all are equal.
    learn_directions : bool, default=None
        Learn the directions, too, starting from those chosen; `ard` must be False.
    columns_scale : {"standard", "robust", "ranks", "cuts"}, default="standard"
        How columns are scaled: to mean 0 and standard deviation 1; the same with values beyond ten
        standard deviations drawn in; by their ranks to normal scores, for columns with heavy tails
        or outliers; or by where boosted trees cut them, for steps and thresholds.
    target_scale : {"none", "yeo-johnson"}, default="none"
        How targets are scaled: to mean 0 and standard deviation 1, or by Yeo and Johnson's power
        transformation (the logarithm where it suits a target above 0 better), for skewed targets.
    noise : {"constant", "columns"}, default="constant"
        Whether the level of the noise depends on the columns. With "columns" a second model learns
        it from errors at held-out rows, and it is kept if it predicts them better than a constant.
    length_scale_prior : {"flat", "log-normal"}, default=None
        The prior of the length-scales: none, or a log-normal one around a value that grows with the
        square root of the number of columns in a kernel. By default the paper's models have none,
        the others and sums have one.
    shrinkage : {"auto", "none"} or float, default="auto"
        How length-scales are shrunk towards each other where rows are few. With "auto", held-out
        rows choose if there are fewer than 20 rows per length-scale; "none" is the paper's
        objective; a number is the width of the prior that ties the logarithms of the length-scales
        to their mean, and 0 makes them all equal.
    engine : {"auto", "dense", "weight", "ski", "neighbors"}, default=None
        Inference engine. "auto" takes the cheaper of "dense" (any model, up to 30,000 rows) and
        "weight" (weight space, linear in the rows); the results are the same. Above 4,000 rows it
        takes "neighbors" (any model, linear in the rows: each row is conditioned on its nearest)
        where the model has no form in weight space. "ski" is the paper's.
    neighbors : int, default=None
        Rows that each training row is conditioned on by the neighbors engine; 30 by default.
    prediction_neighbors : int, default=None
        Rows that each prediction is conditioned on by the neighbors engine; 200 by default.
    ski : dict, default=None
        Settings of the ski engine: "grid", "probes", "cg_tolerance", "cg_iterations",
        "exact_variance".
    optimizer : {"lbfgs", "adam"}, default="lbfgs"
        Optimiser of the hyperparameters; "adam" is the paper's recipe, and slower.
    max_evaluations : int, default=None
        Maximum number of evaluations of the likelihood per start.
    n_restarts : int, default=0
        Further starting points of the search; the one with the highest marginal likelihood is kept.
        A search in stages compares them on the rows of the next stage.
    subset : int, default=None
        Search hyperparameters on this many random rows; the posterior still uses all rows. By
        default searches over more than 2,000 rows start on half of them, at most 2,000.
    independent : bool, default=True
        Whether each of several targets has its own hyperparameters, found by its own search. False
        lets them share all hyperparameters, including the ratio of noise to signal, at the cost of
        one search.
    noise_bounds : (float, float), default=None
        Range of the noise variance, relative to the target's variance: never below the first, and
        above the second only against a steep prior. None stands for (1e-4, 10) of the models of the
        paper, and (1e-7, 10) of the others and of sums.
    intervals : {"calibrated", "gaussian"}, default="calibrated"
        Where standard deviations, intervals and quantiles come from: from errors at held-out rows,
        for which the model is also fitted without each fifth of the rows (without one part of them
        only, if there are many), or from the Gaussian process alone. Tables with fewer than 10
        distinct rows are not calibrated.
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
        Names of the encoded columns that the model uses: those of X, with `name=category` for each
        category of a text column, and none for text that identifies rows; `name (others)` for the
        category of all other texts, `name (missing)` for where values are missing.
    notes_ : list of str
        Notes on a frame with text, dates or missing values: which columns became categories, which
        were left out. Not available after `load`.
    n_outputs_ : int
        Number of targets.
    target_names_ : list of str or None
        Their names; None for each target if y had no names.
    relevance_ : dict of str to float
        The relevance of each column of X, the most relevant first: half the mean squared change of
        the prediction when the column's value is replaced by that of another training row, as a
        share of the sum over columns. An ndarray of one share per target, if y has two dimensions.
    feature_importances_ : ndarray of shape (n_features_in_,)
        The same in the order of the columns, as scikit-learn names it; the mean over targets.
    terms_ : list of FittedTerm
        The terms of the model, with name, kernel, degrees, directions, length-scales and variances
        of each; one such list per target, if y has two dimensions. The arrays below have those of
        all terms, one after another.
    directions_ : ndarray of shape (n_directions, len(encoded_names_))
        The projections; a sub-kernel of degree D has D rows. This and the following arrays have a
        leading dimension for the targets, if y has two dimensions.
    degrees_ : list of int
        The degree of each sub-kernel.
    length_scales_ : ndarray
        In standardised units: one per column where the model has `ard`, else one per row of
        `directions_`, or a common one.
    weights_ : ndarray of shape (n_components,)
        The mixing weight of each sub-kernel: its share of the prior variance.
    scale_ : float or ndarray of shape (n_outputs_,)
        The prior variance, relative to the target's variance.
    scores_ : HeldOutScores or None, or list of them
        With calibrated intervals, what held-out rows show, which `raysum.typing.HeldOutScores`
        describes: RMSE, MAE, NLPD, CRPS, coverage and width of intervals, beside those of a
        constant and of ridge regression.
    inflation_ : float or ndarray of shape (n_outputs_,)
        What standard deviations are multiplied by, so that errors of held-out rows are as large as
        they say; 1 if intervals are not calibrated.
    calibration_ : dict of float to float, or None, or list of them
        How much wider than those of a normal distribution intervals of some probabilities are,
        because errors of held-out rows are not normal.
    noise_std_ : float or ndarray of shape (n_outputs_,)
        Standard deviation of the noise of a row of sample weight 1, in the target's units.
    constant_ : float or ndarray of shape (n_outputs_,)
        The constant to which the functions are added, in the target's units; with a
        `target_scale`, functions and constant are those of the transformed target, in its standard
        deviations.
    target_transformation_ : str or None, or list of them
        The transformation of the target, with `target_scale="yeo-johnson"`.
    noise_relevance_ : dict
        The share of each column in what the noise depends on; empty where it is constant.
    engine_ : str
        The engine that holds the posterior.
    n_iter_ : int or ndarray of shape (n_outputs_,)
        Evaluations of the likelihood.
    shrinkage_ : float or None, or list of them
        The chosen width of the prior that ties length-scales to their mean: 0 if all are equal,
        None if they are free.
    history_ : structured ndarray
        The search, evaluation by evaluation: "target", "phase", "rows", "search", "evaluation" and
        "objective", the best log marginal likelihood plus log prior so far. The phase is
        "held-out" while held-out rows choose the shrinkage, then "search". Not available after
        `load`.
    log_marginal_likelihood_error_ : float or ndarray of shape (n_outputs_,)
        Standard error of `log_marginal_likelihood`: 0 except with the ski engine.

    See Also
    --------
    AutoGPRegressor : Chooses models by itself, and mixes them.
    sklearn.gaussian_process.GaussianProcessRegressor : All columns in one kernel, any kernel.

    References
    ----------
    I. Delbridge, D. Bindel, A. G. Wilson, "Randomly Projected Additive Gaussian Processes for
    Regression", ICML 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from raysum import ProjectedAdditiveGPRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> gp = ProjectedAdditiveGPRegressor().fit(X, y)
    >>> sorted(list(gp.relevance_)[:2])
    ['bmi', 's5']
    >>> mean, lower, upper = gp.predict(X[:2], interval=0.9)
    >>> bool((lower < y[:2]).all())
    True
    """

    _parameter_constraints = _settings.CONSTRAINTS

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
        noise: NoiseName = "constant",
        length_scale_prior: LengthScalePriorName | None = None,
        shrinkage: Literal["auto", "none"] | float = "auto",
        engine: EngineName | None = None,
        neighbors: int | None = None,
        prediction_neighbors: int | None = None,
        ski: SkiOptions | None = None,
        optimizer: OptimizerName = "lbfgs",
        max_evaluations: int | None = None,
        n_restarts: int = 0,
        subset: int | None = None,
        independent: bool = True,
        noise_bounds: Sequence[float] | NDArray[np.floating] | None = None,
        intervals: IntervalsName = "calibrated",
        missing: MissingRule = "error",
        categories: int = 100,
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
        self.noise = noise
        self.length_scale_prior = length_scale_prior
        self.shrinkage = shrinkage
        self.engine = engine
        self.neighbors = neighbors
        self.prediction_neighbors = prediction_neighbors
        self.ski = ski
        self.optimizer = optimizer
        self.max_evaluations = max_evaluations
        self.n_restarts = n_restarts
        self.subset = subset
        self.independent = independent
        self.noise_bounds = noise_bounds
        self.intervals = intervals
        self.missing = missing
        self.categories = categories
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model file, saved by Python, the command line or the Rust library.

        A model that was fitted on a table with text or dates takes frames with the original
        columns. A file with several models per target is for `AutoGPRegressor.load`.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        estimator : ProjectedAdditiveGPRegressor
            A fitted estimator, with the parameters of its fit except `missing`, unless it was
            "indicate", and `categories` where no column had more: a file does not record them.
        """
        model = _raysum.Model.load(path)
        most = max(len(members) for members in _description.describe(model)["members"])
        if most > 1:
            raise ValueError(
                f"{os.fspath(path)}: it holds a mixture of {most} models; read it with "
                "AutoGPRegressor.load."
            )
        estimator = cls()
        estimator._take(model)
        estimator.set_params(**_settings.parameters(estimator._description))
        return estimator

    def _recipe(self) -> Settings:
        return _settings.settings(self)

    def _record(self, history: list[NumberedStep]) -> None:
        self.history_ = np.array([step for _, step in history], dtype=HISTORY)
