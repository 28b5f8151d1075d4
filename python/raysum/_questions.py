"""The methods of a fitted model; `_estimator.py` has those that fit it."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import _inputs, _raysum

LARGEST_ROOT = np.sqrt(np.finfo(np.float64).max)


class Questions(TransformerMixin):
    """The methods of a fitted estimator. Results for several targets have one more dimension."""

    _model: _raysum.Model
    _description: dict[str, Any]
    _noise_stds: list[float]
    _several: bool
    degrees_: list[int]
    n_outputs_: int
    n_jobs: int | None
    missing: str

    def _ask(self, X: Any) -> tuple[np.ndarray, int]:
        check_is_fitted(self)
        return _inputs.features(self, X), _inputs.threads(self.n_jobs)

    def _join(self, answers: list[np.ndarray], axis: int = 1) -> np.ndarray:
        """The results of all targets as one array, with the dimensions of y."""
        return np.stack(answers, axis=axis) if self._several else answers[0]

    def _require(self, what: str, rows: int, numbers: int) -> None:
        """Raises MemoryError if there is no memory for this many numbers per row and target, and
        for the copy that `_join` makes of several targets."""
        copies = 2 if self._several else 1
        total = rows * numbers * self.n_outputs_ * copies
        _raysum.require_memory(f"{what} at {rows} rows", min(total, 2**63))

    def predict(
        self,
        X: Any,
        return_std: bool = False,
        return_cov: bool = False,
        interval: float | None = None,
        noise_std: Any = None,
        return_extrapolation: bool = False,
    ) -> Any:
        """Predict the target, optionally with its uncertainty.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        return_std : bool, default=False
            Also return the standard deviation of a new observation at each row, including noise.
        return_cov : bool, default=False
            Also return the covariance of new observations at all rows; not with `return_std` or
            `interval`.
        interval : float, default=None
            Also return the ends of the interval that contains a new observation with this
            probability, such as 0.95.
        noise_std : float or array-like of shape (n_samples,), default=None
            Known standard deviation of the noise at these rows, in the target's units, in addition
            to the noise that the fit estimated.
        return_extrapolation : bool, default=False
            Also return the distance of each row from the range of the training rows: the largest
            over its columns, in standard deviations of the column; 0 inside. Predictions far
            outside fall back to the prior.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The mean.
        std : ndarray of the same shape
            Standard deviations, with `return_std`.
        cov : ndarray of shape (n_samples, n_samples) or (n_samples, n_samples, n_outputs)
            Covariances, with `return_cov`.
        lower, upper : ndarrays of the same shape as `mean`
            Ends of the interval, with `interval`.
        extrapolation : ndarray of shape (n_samples,)
            Distances beyond the training rows, with `return_extrapolation`.

        Examples
        --------
        >>> import numpy as np
        >>> from raysum import ProjectedAdditiveGPRegressor
        >>> X = np.linspace(0, 6, 60)[:, None]
        >>> gp = ProjectedAdditiveGPRegressor(model="gam").fit(X, np.sin(X[:, 0]))
        >>> mean, lower, upper = gp.predict([[2.0], [20.0]], interval=0.95)
        >>> print(np.round(mean[0], 2), upper[1] - lower[1] > upper[0] - lower[0])
        0.91 True
        >>> mean, beyond = gp.predict([[2.0], [20.0]], return_extrapolation=True)
        >>> print(np.round(beyond, 1))
        [0.  7.9]
        """
        if return_cov and (return_std or interval is not None):
            raise ValueError("return_cov goes neither with return_std nor with interval.")
        if interval is not None and not (isinstance(interval, Real) and 0 < interval < 1):
            raise ValueError(f"interval is {interval!r}, but must be a number between 0 and 1.")
        X, threads = self._ask(X)
        known = _inputs.noise_of(noise_std, X)
        beyond = [self._model.extrapolation(X, threads)] if return_extrapolation else []
        if return_cov:
            # The covariance, and temporary arrays.
            self._require("the covariance of predictions", len(X), 2 * len(X) + 2)
            return (*self._with_covariance(X, threads, known), *beyond)
        only_mean = not return_std and interval is None
        self._require("predictions", len(X), 1 if only_mean else 4)
        if only_mean:
            mean = self._join(self._model.mean(X, threads))
            return (mean, *beyond) if beyond else mean
        answers = self._model.predict(X, threads, known, interval)
        parts = [[mean for mean, _, _ in answers]]
        if return_std:
            parts.append([std for _, std, _ in answers])
        ends = [pair for _, _, pair in answers if pair is not None]
        if ends:
            parts.append([lower for lower, _ in ends])
            parts.append([upper for _, upper in ends])
        return (*(self._join(part) for part in parts), *beyond)

    def _with_covariance(self, X: np.ndarray, threads: int, known: Any) -> Any:
        means, covariances = [], []
        marginals = self._model.predict(X, threads, known)
        for (mean, covariance), (_, std, _) in zip(self._model.joint(X, threads), marginals):
            # The variance of observations, including noise, limited to the largest float.
            np.fill_diagonal(covariance, np.minimum(std, LARGEST_ROOT) ** 2)
            means.append(mean)
            covariances.append(covariance)
        return self._join(means), self._join(covariances, axis=2)

    def sample_y(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: Any = 0,
        noise: bool = True,
        prior: bool = False,
    ) -> np.ndarray:
        """Draw new observations at the rows of X, or functions.

        Parameters
        ----------
        X : array-like of shape (n_samples_X, n_features)
            Where to draw.
        n_samples : int, default=1
            How many to draw.
        random_state : int, RandomState instance or None, default=0
            The seed. With the same seed function k is the same in every call, at any rows and for
            any number of draws.
        noise : bool, default=True
            Add noise, so that the draws have the standard deviation of `predict(X,
            return_std=True)`. False gives draws of the noise-free function.
        prior : bool, default=False
            Draw from the prior instead of the posterior.

        Returns
        -------
        y_samples : ndarray of shape (n_samples_X, n_samples) or \
                (n_samples_X, n_outputs, n_samples)
            The draws.
        """
        X, threads = self._ask(X)
        if not (isinstance(n_samples, Integral) and 1 <= int(n_samples) < 2**32):
            raise ValueError(f"n_samples is {n_samples!r}, but must be a number from 1.")
        seed = _inputs.seed(random_state)
        # The draws, and temporary arrays.
        self._require(f"{n_samples} draws", len(X), 2 * int(n_samples))
        draws = [f.T for f in self._model.functions(X, n_samples, seed, prior, threads)]
        if noise:
            rng = np.random.default_rng(seed)
            for drawn, std in zip(draws, self._noise_stds):
                # In chunks: the same numbers as all at once, without a second large array.
                step = max(1, 2**20 // int(n_samples))
                for start in range(0, len(drawn), step):
                    rows = drawn[start : start + step]
                    rows += std * rng.standard_normal(rows.shape)
        return self._join(draws)

    def components(self, X: Any, return_std: bool = False) -> Any:
        """The function along each direction, at the rows of X.

        Together with `constant_` they add up to the predicted mean.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows at which to evaluate.
        return_std : bool, default=False
            Also return the standard deviation of each function.

        Returns
        -------
        values : ndarray of shape (n_samples, n_components) or \
                (n_samples, n_outputs, n_components)
            The mean of each function.
        std : ndarray of the same shape
            Standard deviations, with `return_std`.

        Examples
        --------
        >>> import numpy as np
        >>> from raysum import ProjectedAdditiveGPRegressor
        >>> X = np.random.default_rng(0).normal(size=(80, 2))
        >>> gp = ProjectedAdditiveGPRegressor(model="gam").fit(X, X[:, 0] ** 2 + X[:, 1])
        >>> values = gp.components(X)
        >>> np.allclose(values.sum(axis=1) + gp.constant_, gp.predict(X))
        True
        """
        X, threads = self._ask(X)
        # Means and standard deviations: of a chunk, of all rows, and joined.
        self._require("components", len(X), 6 * len(self.degrees_))
        answers = self._model.components(X, threads)
        values = self._join([np.stack([m for m, _ in target], axis=-1) for target in answers])
        if not return_std:
            return values
        return values, self._join([np.stack([s for _, s in t], axis=-1) for t in answers])

    def transform(self, X: Any) -> np.ndarray:
        """The means of `components`, as a scikit-learn transformer; targets are concatenated.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows at which to evaluate.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components * n_outputs)
            The functions' values; a frame after `set_output(transform="pandas")`.
        """
        values = self.components(X)
        return values.reshape(len(values), -1)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the columns that `transform` makes.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Ignored; part of scikit-learn's interface.

        Returns
        -------
        names : ndarray of str objects
            `component0`, …; for several targets with the number of the target as a prefix.
        """
        check_is_fitted(self)
        names = [f"component{j}" for j in range(len(self.degrees_))]
        if self._several:
            names = [f"target{k}_{name}" for k in range(self.n_outputs_) for name in names]
        return np.array(names, dtype=object)

    def gradient(self, X: Any) -> np.ndarray:
        """The slope of the predicted mean along each column, at the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows at which to evaluate.

        Returns
        -------
        slopes : ndarray of shape (n_samples, n_columns) or (n_samples, n_outputs, n_columns)
            Change of the target per unit of each column in `encoded_names_`.
        """
        X, threads = self._ask(X)
        self._require("gradients", len(X), 2 * X.shape[1])
        return self._join(self._model.gradient(X, threads))

    def loo(self, X: Any, y: Any, sample_weight: Any = None, noise_std: Any = None) -> Any:
        """Leave-one-out predictions of the training rows.

        They have a closed form at the same hyperparameters, so the cost is that of a prediction.
        The model does not keep its training rows: pass all of them again, unchanged.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Their sample weights, if the fit had any.
        noise_std : float or array-like of shape (n_samples,), default=None
            Their known noise, if the fit had any.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The mean of rows with a positive weight.
        std : ndarray of the same shape
            Standard deviation of a new observation.
        """
        check_is_fitted(self)
        rows = self._further_rows(X, y, sample_weight, noise_std)
        self._require("leave-one-out predictions", len(rows.x), 2)
        answers = self._model.leave_one_out(rows, _inputs.threads(self.n_jobs))
        return self._join([mean for mean, _ in answers]), self._join([std for _, std in answers])

    def _further_rows(self, X: Any, y: Any, sample_weight: Any, noise_std: Any) -> _inputs.Rows:
        """Rows with the targets of this model."""
        given = _inputs.rows(self, X, y, sample_weight, noise_std, reset=False, least=1)
        rows, dimensions = given.rows, given.dimensions
        if dimensions != 1 + self._several or len(rows.targets) != self.n_outputs_:
            shapes = {1: "one dimension", 2: f"{len(rows.targets)} column(s)"}
            fitted = f"{self.n_outputs_} column(s)" if self._several else "one dimension"
            raise ValueError(f"y has {shapes[dimensions]}, but the y of the fit had {fitted}.")
        return rows

    def log_marginal_likelihood(self) -> Any:
        """The log marginal likelihood of the training rows, of the standardised target.

        Returns
        -------
        log_likelihood : float or ndarray of shape (n_outputs,)
            log p(y | X) at the fitted hyperparameters. With the ski engine it is an estimate with
            standard error `log_marginal_likelihood_error_`.
        """
        check_is_fitted(self)
        return self._each(self._description["log_marginal_likelihood"])

    def _each(self, values: list[Any]) -> Any:
        return np.array(values) if self._several else values[0]
