"""The scikit-learn estimator: parameters, fit, files."""

from __future__ import annotations

import json
import warnings
from itertools import pairwise
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from . import _inputs, _raysum, _settings, _tables
from ._progress import reporting
from ._questions import Questions

#: The fields of `history_`.
HISTORY = [
    ("target", int),
    ("phase", "U8"),
    ("rows", int),
    ("search", int),
    ("evaluation", int),
    ("objective", float),
]


class ProjectedAdditiveGPRegressor(Questions, MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Gaussian-process regression by a sum of functions of one-dimensional projections.

    The model of Delbridge, Bindel and Wilson (2020): the data is looked at along many directions,
    and one smooth function is learned for each. Columns are standardised inside; nothing has to
    be scaled beforehand.

    Parameters
    ----------
    model : str, default="dpa-ard"
        A configuration by name: "dpa-ard" (as many diverse directions as there are columns, from 20
        to 100, and a length-scale per column), "ppr" (learned directions), "rpa-ard", "dpa",
        "rpa-1", "rpa-2", "rpa-3", "single-rp", "gam" (one function per column), "rbf-ard" and
        "imq-ard" (all columns in one kernel), "dpa-ard-ski" and "rpa-1-ski". The parameters below
        change parts of it; None leaves the model's own.
    n_projections : int or "d", default=None
        Number of one-dimensional projections; "d" for as many as there are columns.
    degrees : str or list of int, default=None
        The number of dimensions of each projection, as "4x1,4x2" or [1, 1, 1, 1, 2, 2, 2, 2].
    kernel : {"rbf", "cosine", "matern12", "matern32", "matern52", "imq"}, default=None
        The sub-kernel.
    directions : {"axes", "gaussian", "sphere", "diverse", "energy"}, default=None
        How directions are chosen.
    ard : bool, default=None
        Learn a length-scale per column, and apply it before projecting. False learns one per
        projection instead; along the axes ("gam", "rbf-ard", "imq-ard") both are the same, and
        False is an error.
    learn_weights : bool, default=None
        Learn a weight per sub-kernel, if there are several; otherwise all weigh the same.
    learn_directions : bool, default=None
        Learn the directions too, from those chosen; `ard` must be False.
    shrinkage : {"auto", "none"} or float, default="auto"
        How length-scales are kept from following the noise of a table with few rows for its
        columns. "auto" lets held-out rows choose, where there are fewer than 20 rows per
        length-scale; "none" is the paper's objective; a number is the width of the prior that ties
        the logarithms of the length-scales to their mean, and 0 makes them all equal.
    engine : {"auto", "dense", "weight", "ski"}, default=None
        Who does the algebra. "auto" takes the cheaper of "dense" (any model, up to 30,000 rows)
        and "weight" (linear in the rows); the results are the same. "ski" is the paper's.
    ski : dict, default=None
        Settings of the ski engine: "grid", "probes", "cg_tolerance", "cg_iterations",
        "exact_variance".
    optimizer : {"lbfgs", "adam"}, default="lbfgs"
        How hyperparameters are searched; "adam" is the paper's recipe, and slower.
    max_evaluations : int, default=None
        Most evaluations of the likelihood per start.
    n_restarts : int, default=0
        Further starting points of the search; the one with the highest marginal likelihood wins. On
        many rows the search goes through parts of them, and the likelihood is compared on the next
        part.
    subset : int, default=None
        Search hyperparameters on this many random rows; the model still learns from all. By
        default searches over more than 2,000 rows begin on half of them, at most 2,000.
    independent : bool, default=True
        Whether each of several targets has hyperparameters of its own, by a search of its own.
        False lets them share all of them, the ratio of noise to signal too, at the cost of one
        search.
    noise_bounds : (float, float), default=(1e-4, 10.0)
        Range of the noise variance, as a share of the target's variance: never below the first,
        and above the second only against a prior that grows steep there.
    missing : {"error", "drop", "mean"}, default="error"
        What to do about missing values of X (NaN, None, NaT): refuse them; leave such rows out of a
        fit (rows to predict cannot be left out); or take the mean of the column over the training
        rows. Unless it is "error", rows with a missing target are left out of a fit.
    random_state : int, RandomState instance or None, default=0
        The seed of everything random. The same integer gives the same bits on any number of
        threads.
    n_jobs : int, default=None
        Threads, at most as many as there are cores. None: all cores, or as many as
        RAYON_NUM_THREADS or OMP_NUM_THREADS say (joblib's workers have their share there); -1: all
        cores.
    verbose : int, default=0
        1 shows a progress bar (lines, if tqdm is not installed), 2 a line for each evaluation.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of X, as they were given to `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names that are all strings.
    encoded_names_ : list of str
        Names of the columns that the model works on: those of X, but `name=category` for each
        category of a text column, and none for texts that identify rows.
    notes_ : list of str
        What was noticed about a frame with texts, dates or missing values: which columns became
        categories, which were left out. Not there after `load`.
    n_outputs_ : int
        Number of targets.
    relevance_ : dict of str to float
        How much each column of X matters, the most relevant first: half the mean squared change of
        the prediction when the column's value is replaced by that of another training row, as a
        share of the sum over columns. An ndarray of one share per target, if y has two dimensions.
    feature_importances_ : ndarray of shape (n_features_in_,)
        The same in the order of the columns, as scikit-learn names it; the mean over targets.
    directions_ : ndarray of shape (n_directions, len(encoded_names_))
        The projections; a sub-kernel of degree D has D rows. This and the next arrays have one more
        dimension in front, for the targets, if y has two dimensions.
    degrees_ : list of int
        The degree of each sub-kernel.
    length_scales_ : ndarray
        In standardised units: one per column where the model has `ard`, else one per row of
        `directions_`.
    weights_ : ndarray of shape (n_components,)
        The share of each sub-kernel in the prior variance.
    scale_ : float or ndarray of shape (n_outputs_,)
        The prior variance, as a share of the target's variance.
    noise_std_ : float or ndarray of shape (n_outputs_,)
        Standard deviation of the noise of a row of weight 1, in the target's units.
    constant_ : float or ndarray of shape (n_outputs_,)
        What the functions are added to, in the target's units.
    engine_ : str
        The engine that holds the posterior.
    n_iter_ : int or ndarray of shape (n_outputs_,)
        Evaluations of the likelihood.
    shrinkage_ : float or None, or list of them
        The width of the prior that ties length-scales to their mean, as it was chosen: 0 where all
        are equal, None where they are free.
    history_ : structured ndarray
        The search, evaluation by evaluation: "target", "phase", "rows", "search", "evaluation" and
        "objective", the best so far, of log marginal likelihood plus log prior. The phase is
        "held-out" while held-out rows choose the shrinkage, then "search". Not there after `load`.
    log_marginal_likelihood_error_ : float or ndarray of shape (n_outputs_,)
        Standard error of `log_marginal_likelihood`: 0 but with the ski engine.

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

    _parameter_constraints = _settings.CONSTRAINTS

    def __init__(
        self,
        model: str = "dpa-ard",
        *,
        n_projections: int | str | None = None,
        degrees: Any = None,
        kernel: str | None = None,
        directions: str | None = None,
        ard: bool | None = None,
        learn_weights: bool | None = None,
        learn_directions: bool | None = None,
        shrinkage: str | float = "auto",
        engine: str | None = None,
        ski: dict[str, Any] | None = None,
        optimizer: str = "lbfgs",
        max_evaluations: int | None = None,
        n_restarts: int = 0,
        subset: int | None = None,
        independent: bool = True,
        noise_bounds: tuple[float, float] = (1e-4, 10.0),
        missing: str = "error",
        random_state: Any = 0,
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
        self.shrinkage = shrinkage
        self.engine = engine
        self.ski = ski
        self.optimizer = optimizer
        self.max_evaluations = max_evaluations
        self.n_restarts = n_restarts
        self.subset = subset
        self.independent = independent
        self.noise_bounds = noise_bounds
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        noise_std: Any = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> ProjectedAdditiveGPRegressor:
        """Find hyperparameters by the marginal likelihood, and learn from all rows.

        Ctrl-C stops it; the estimator then stays as it was.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to learn from: NumPy, pandas or polars. Arrays of 64-bit floats in C or Fortran
            order are not copied. Frames may hold texts, categories, dates and truth values, which
            mean the same as in a file that `raysum fit` reads: texts become one column per
            category, dates the days since 1970, truth values 0 and 1.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The target, or several.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each row: a row of weight w has the noise variance of a row of weight 1,
            divided by w. Equal rows count as one row with the sum of their weights, and a common
            factor on all weights changes nothing but `noise_std_`. Predictions have the
            average noise variance of the training rows.
        noise_std : float or array-like of shape (n_samples,), default=None
            Known standard deviation of each row's noise, in the target's units; for one target.
            Noise that the fit finds comes on top.
        checkpoint : path, default=None
            A file that keeps what is found on the way. A fit that was ended in whatever way, and is
            started again with the same rows, parameters and file, goes on where it was, and ends
            with the same model. It is removed when the fit is done.

        Returns
        -------
        self : ProjectedAdditiveGPRegressor
            The fitted estimator.
        """
        self._validate_params()
        settings = _settings.settings(self)
        # What is noted of X while it is checked becomes this estimator's after the fit.
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
        self, X: Any, y: Any, sample_weight: Any = None, noise_std: Any = None
    ) -> ProjectedAdditiveGPRegressor:
        """Take in more rows, at the hyperparameters of the first call.

        The first call, or `fit`, searches hyperparameters: give it enough rows to find them. Later
        calls leave them as they are, and mean, interval and likelihood become those of all rows so
        far; with the weight engine at a cost that does not depend on their number.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            More rows; a single one will do.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each row.
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
        """Write the model to a file that the command line and the Rust library read as well.

        Parameters
        ----------
        path : str or path-like
            The file. It appears whole or not at all.

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
    def load(cls, path: str | PathLike[str]) -> ProjectedAdditiveGPRegressor:
        """Read a model file, whoever has written it.

        A model that was fitted on a table with texts or dates takes frames with these columns as
        they are, whether the command line or Python has fitted it.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        estimator : ProjectedAdditiveGPRegressor
            A fitted estimator, with the parameters that would fit it again.
        """
        estimator = cls()
        estimator._take(_raysum.Model.load(path))
        return estimator.set_params(**_settings.parameters(estimator._description))

    def _take(self, model: _raysum.Model, several: bool | None = None) -> None:
        """Makes this the fitted model. Whether its y has two dimensions no file says; if nobody
        does, they are as many as its targets need.
        """
        d = self._description = json.loads(model.describe())
        self._model = model
        schema = d["schema"]
        names = d["column_names"]
        #: How many columns of X each column of the user's becomes.
        widths = [1] * d["columns"]
        if schema is not None:
            names = [f["name"] for f in schema["features"]]
            widths = [len(f["means"]) for f in schema["features"]]
        self.n_features_in_ = len(widths)
        named = names is not None and (schema is None or schema["named"])
        if named:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.encoded_names_ = d["column_names"] or [f"x{i}" for i in range(d["columns"])]
        names = names if named else [f"x{i}" for i in range(len(widths))]
        self._noise_stds = d["predicted_noise_std"]
        self.n_outputs_ = len(self._noise_stds)
        self._several = self.n_outputs_ > 1 if several is None else several
        self.engine_ = d["engine"]
        self.n_iter_ = self._each([report["evaluations"] for report in d["reports"]])
        chosen = [report["shrinkage"] for report in d["reports"]]
        self.shrinkage_ = chosen if self._several else chosen[0]
        self.directions_ = self._join(model.directions(), axis=0)
        self.degrees_ = d["degrees"]
        found = d["hyperparameters"]
        scales = [h["column_length_scales"] or h["length_scales"] for h in found]
        self.length_scales_ = self._join([np.array(each) for each in scales], axis=0)
        variances = [np.array(h["variances"]) for h in found]
        self.scale_ = self._each([each.sum() for each in variances])
        self.weights_ = self._join([each / each.sum() for each in variances], axis=0)
        self.noise_std_ = self._each(d["noise_std"])
        self.constant_ = self._each(d["constant"])
        self.log_marginal_likelihood_error_ = self._each(d["likelihood_error"])
        ends = np.cumsum([0, *widths])
        relevance = np.array(d["relevance"])
        # The columns of a category have one share together; what identifies rows has none.
        groups = [sorted(set(d["groups"][a:b])) for a, b in pairwise(ends)]
        shares = np.stack([relevance[:, group].sum(axis=1) for group in groups], axis=1)
        self.feature_importances_ = shares.mean(axis=0)
        order = np.argsort(-self.feature_importances_, kind="stable")
        self.relevance_ = {
            names[i]: shares[:, i] if self._several else float(shares[0, i]) for i in order
        }

    def _warn(self) -> None:
        """Says what a person should know of the search."""
        reports = self._description["reports"]
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

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")
