"""The scikit-learn estimator: parameters, fit, files."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from . import _inputs, _raysum, _settings, _tables
from ._components import ComponentsMixin
from ._prediction import PredictionMixin
from ._progress import reporting
from .typing import (
    ColumnsScaleName,
    DirectionsName,
    EngineName,
    KernelName,
    LengthScalePriorName,
    MissingRule,
    ModelName,
    NoiseName,
    OptimizerName,
    RandomState,
    SkiOptions,
    TableLike,
    TargetScaleName,
)

if TYPE_CHECKING:
    from typing_extensions import Self

#: The fields of `history_`.
HISTORY = [
    ("target", int),
    ("phase", "U8"),
    ("rows", int),
    ("search", int),
    ("evaluation", int),
    ("objective", float),
]


class ProjectedAdditiveGPRegressor(
    PredictionMixin, ComponentsMixin, MultiOutputMixin, RegressorMixin, BaseEstimator
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
        regression), "rbf", "matern12", "matern32", "matern52", "imq" (all columns in one kernel,
        one length-scale), "rbf-ard", "imq-ard", "matern12-ard", "matern32-ard", "matern52-ard" (a
        length-scale per column), "dpa-ard-ski" and "rpa-1-ski"; or a sum of them, such as
        "linear+gam:matern52+dpa-ard", whose terms have variances and length-scales of their own,
        and behind a colon a kernel of their own. The parameters below change parts of a model that
        is no sum; None keeps that of the model.
    n_projections : int or "d", default=None
        Number of one-dimensional projections; "d" for as many as there are columns.
    degrees : str or list of int, default=None
        The number of dimensions of each projection, as "4x1,4x2" or [1, 1, 1, 1, 2, 2, 2, 2].
    kernel : {"rbf", "cosine", "matern12", "matern32", "matern52", "imq"}, default=None
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
    columns_scale : {"standard", "ranks"}, default="standard"
        How columns are scaled: to mean 0 and standard deviation 1, or by their ranks to normal
        scores, for columns with heavy tails or outliers.
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
    noise_bounds : (float, float), default=(1e-4, 10.0)
        Range of the noise variance, relative to the target's variance: never below the first, and
        above the second only against a steep prior.
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

    notes_: list[str]
    history_: NDArray[np.void]

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
        noise_bounds: Sequence[float] | NDArray[np.floating] = (1e-4, 10.0),
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
        self.missing = missing
        self.categories = categories
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: TableLike,
        y: TableLike,
        sample_weight: ArrayLike | None = None,
        noise_std: ArrayLike | None = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> Self:
        """Find hyperparameters by the marginal likelihood, and compute the posterior.

        Ctrl-C stops it and leaves the estimator unchanged.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows: NumPy, pandas or polars. Arrays of 64-bit floats in C or Fortran order
            are not copied. Frames may contain text, categories, dates and booleans, which are
            encoded as in a file that `raysum fit` reads: text becomes one column per category,
            dates the days since 1970, booleans 0 and 1.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The target, or several.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights: the noise variance of a row of weight w is that of a row of weight 1,
            divided by w. Equal rows are merged into one row with the sum of their weights, and a
            common factor of all weights changes only `noise_std_`. Rows of weight 0 are left out;
            at least two rows must have a positive weight. Predictions have the average noise
            variance of the training rows.
        noise_std : float or array-like of shape (n_samples,), default=None
            Known standard deviation of each row's noise, in the target's units; for one target.
            Noise that the fit estimates is added to it.
        checkpoint : path, default=None
            A file that records the search. A fit that was stopped in any way continues when it is
            started again with the same rows, parameters and file, and ends with the same model. The
            file is removed when the fit is done.

        Returns
        -------
        self : ProjectedAdditiveGPRegressor
            The fitted estimator.
        """
        self._validate_params()
        settings = _settings.settings(self)
        # Validation sets attributes such as feature_names_in_: on a clone, until the fit succeeds.
        seen = clone(self)
        given = _inputs.rows(seen, X, y, sample_weight, noise_std, reset=True, least=2)
        notes = [] if given.frame is None else given.frame.notes
        _tables.tell(notes, stacklevel=3)
        with reporting(int(self.verbose)) as progress:
            threads = _inputs.threads(self.n_jobs)
            model, history = _raysum.fit(
                given.rows, settings, threads, given.frame, progress, checkpoint
            )
        if given.frame is None:
            names = getattr(seen, "feature_names_in_", None)
            columns = None if names is None else list(names)
            model = model.named(columns, _inputs.target_names(y))
        else:
            model = model.of_frame(given.frame)
        self._take(model, given.dimensions == 2)
        self.notes_ = [note for _, note in notes]
        self.history_ = np.array(history, dtype=HISTORY)
        self._warn()
        return self

    def partial_fit(
        self,
        X: TableLike,
        y: TableLike,
        sample_weight: ArrayLike | None = None,
        noise_std: ArrayLike | None = None,
    ) -> Self:
        """Add rows at the hyperparameters of the first call.

        The first call, or `fit`, searches hyperparameters and needs enough rows to find them. Later
        calls keep them, and mean, interval and likelihood become those of all rows so far. With the
        weight-space engine the cost does not depend on the number of earlier rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            More rows, at least one.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights; rows of weight 0 are left out.
        noise_std : float or array-like of shape (n_samples,), default=None
            Known standard deviation of each row's noise.

        Returns
        -------
        self : ProjectedAdditiveGPRegressor
            The fitted estimator.
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y, sample_weight, noise_std)
        self._validate_params()
        rows = self._further_rows(X, y, sample_weight, noise_std)
        model = self._model.updated(rows, _inputs.threads(self.n_jobs))
        self._take(model, self._several)
        return self

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a file, which the command line and the Rust library also read.

        Parameters
        ----------
        path : str or path-like
            The file, which is written atomically.

        Examples
        --------
        >>> import os, tempfile
        >>> import numpy as np
        >>> from raysum import ProjectedAdditiveGPRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> gp = ProjectedAdditiveGPRegressor().fit(X, X[:, 0])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "model.raysum")
        ...     gp.save(path)
        ...     again = ProjectedAdditiveGPRegressor.load(path)
        >>> bool((again.predict(X) == gp.predict(X)).all())
        True
        """
        check_is_fitted(self)
        self._model.save(path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model file, saved by Python, the command line or the Rust library.

        A model that was fitted on a table with text or dates takes frames with the original
        columns.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        estimator : ProjectedAdditiveGPRegressor
            A fitted estimator, with the parameters of its fit.
        """
        estimator = cls()
        estimator._take(_raysum.Model.load(path))
        estimator.set_params(**_settings.parameters(estimator._description))
        return estimator

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        return tags
