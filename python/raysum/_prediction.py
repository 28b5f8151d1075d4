"""Predictions, draws and scores of a fitted model."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from . import _checks, _inputs
from ._fitted import FittedModel
from .typing import Coverage, Floats, RandomState, TableLike

LARGEST_ROOT = np.sqrt(np.finfo(np.float64).max)


class PredictionMixin(FittedModel):
    """Predictions, draws, leave-one-out predictions and coverage of a fitted model."""

    @overload
    def predict(
        self,
        X: TableLike,
        return_std: Literal[False] = False,
        return_cov: Literal[False] = False,
        interval: None = None,
        noise_std: ArrayLike | None = None,
        return_extrapolation: Literal[False] = False,
    ) -> Floats: ...
    @overload
    def predict(
        self,
        X: TableLike,
        return_std: Literal[True],
        return_cov: Literal[False] = False,
        interval: None = None,
        noise_std: ArrayLike | None = None,
        return_extrapolation: Literal[False] = False,
    ) -> tuple[Floats, Floats]: ...
    @overload
    def predict(
        self,
        X: TableLike,
        return_std: Literal[False] = False,
        *,
        return_cov: Literal[True],
        interval: None = None,
        noise_std: ArrayLike | None = None,
        return_extrapolation: Literal[False] = False,
    ) -> tuple[Floats, Floats]: ...
    @overload
    def predict(
        self,
        X: TableLike,
        return_std: Literal[False] = False,
        return_cov: Literal[False] = False,
        *,
        interval: float,
        noise_std: ArrayLike | None = None,
        return_extrapolation: Literal[False] = False,
    ) -> tuple[Floats, Floats, Floats]: ...
    @overload
    def predict(
        self,
        X: TableLike,
        return_std: Literal[True],
        return_cov: Literal[False] = False,
        *,
        interval: float,
        noise_std: ArrayLike | None = None,
        return_extrapolation: Literal[False] = False,
    ) -> tuple[Floats, Floats, Floats, Floats]: ...
    @overload
    def predict(
        self,
        X: TableLike,
        return_std: Literal[False] = False,
        return_cov: Literal[False] = False,
        interval: None = None,
        noise_std: ArrayLike | None = None,
        *,
        return_extrapolation: Literal[True],
    ) -> tuple[Floats, Floats]: ...
    @overload
    def predict(
        self,
        X: TableLike,
        return_std: Literal[True],
        return_cov: Literal[False] = False,
        interval: None = None,
        noise_std: ArrayLike | None = None,
        *,
        return_extrapolation: Literal[True],
    ) -> tuple[Floats, Floats, Floats]: ...
    @overload
    def predict(
        self,
        X: TableLike,
        return_std: Literal[False] = False,
        *,
        return_cov: Literal[True],
        interval: None = None,
        noise_std: ArrayLike | None = None,
        return_extrapolation: Literal[True],
    ) -> tuple[Floats, Floats, Floats]: ...
    @overload
    def predict(
        self,
        X: TableLike,
        return_std: Literal[False] = False,
        return_cov: Literal[False] = False,
        *,
        interval: float,
        noise_std: ArrayLike | None = None,
        return_extrapolation: Literal[True],
    ) -> tuple[Floats, Floats, Floats, Floats]: ...
    @overload
    def predict(
        self,
        X: TableLike,
        return_std: Literal[True],
        return_cov: Literal[False] = False,
        *,
        interval: float,
        noise_std: ArrayLike | None = None,
        return_extrapolation: Literal[True],
    ) -> tuple[Floats, Floats, Floats, Floats, Floats]: ...
    @overload
    def predict(
        self,
        X: TableLike,
        return_std: bool = False,
        return_cov: Literal[False] = False,
        interval: float | None = None,
        noise_std: ArrayLike | None = None,
        return_extrapolation: bool = False,
    ) -> Floats | tuple[Floats, ...]: ...
    @overload
    def predict(
        self,
        X: TableLike,
        return_std: Literal[False] = False,
        return_cov: bool = False,
        interval: None = None,
        noise_std: ArrayLike | None = None,
        return_extrapolation: bool = False,
    ) -> Floats | tuple[Floats, ...]: ...
    def predict(
        self,
        X: TableLike,
        return_std: bool = False,
        return_cov: bool = False,
        interval: float | None = None,
        noise_std: ArrayLike | None = None,
        return_extrapolation: bool = False,
    ) -> Floats | tuple[Floats, ...]:
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
        x, threads = self._ask(X)
        known = _inputs.noise_of(noise_std, x)
        beyond = [self._model.extrapolation(x, threads)] if return_extrapolation else []
        if return_cov:
            # The covariance, and temporary arrays.
            self._require("the covariance of predictions", len(x), 2 * len(x) + 2)
            return (*self._with_covariance(x, threads, known), *beyond)
        only_mean = not return_std and interval is None
        self._require("predictions", len(x), 1 if only_mean else 4)
        if only_mean:
            mean = self._join(self._model.mean(x, threads))
            return (mean, *beyond) if beyond else mean
        answers = self._model.predict(x, threads, known, interval)
        parts = [[mean for mean, _, _ in answers]]
        if return_std:
            parts.append([std for _, std, _ in answers])
        ends = [pair for _, _, pair in answers if pair is not None]
        if ends:
            parts.append([lower for lower, _ in ends])
            parts.append([upper for _, upper in ends])
        return (*(self._join(part) for part in parts), *beyond)

    def _with_covariance(
        self, x: Floats, threads: int, known: Floats | None
    ) -> tuple[Floats, Floats]:
        means, covariances = [], []
        marginals = self._model.predict(x, threads, known)
        for (mean, covariance), (_, std, _) in zip(self._model.joint(x, threads), marginals):
            # The variance of observations, including noise, limited to the largest float.
            np.fill_diagonal(covariance, np.minimum(std, LARGEST_ROOT) ** 2)
            means.append(mean)
            covariances.append(covariance)
        return self._join(means), self._join(covariances, axis=2)

    def sample_y(
        self,
        X: TableLike,
        n_samples: int = 1,
        random_state: RandomState = 0,
        noise: bool = True,
        prior: bool = False,
    ) -> Floats:
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
        x, threads = self._ask(X)
        if not (isinstance(n_samples, Integral) and 1 <= int(n_samples) < 2**32):
            raise ValueError(f"n_samples is {n_samples!r}, but must be a number from 1.")
        seed = _inputs.seed(random_state)
        # The draws, and temporary arrays.
        self._require(f"{n_samples} draws", len(x), 2 * int(n_samples))
        drawn = self._model.functions(x, int(n_samples), seed, (bool(prior), bool(noise)), threads)
        return self._join([values.T for values in drawn])

    def predict_noise(self, X: TableLike) -> Floats:
        """The standard deviation of the noise at the rows of X, in the target's units.

        It is that of new observations about a function that is known there: the same at all rows,
        except with `noise="columns"` or a `target_scale`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        noise_std : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Standard deviations.
        """
        x, threads = self._ask(X)
        self._require("predictions", len(x), 2)
        return self._join(self._model.noise_std(x, threads))

    def loo(
        self,
        X: TableLike,
        y: TableLike,
        sample_weight: ArrayLike | None = None,
        noise_std: ArrayLike | None = None,
    ) -> tuple[Floats, Floats]:
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

    def coverage(self, X: TableLike, y: TableLike, levels: ArrayLike = 0.95) -> Coverage:
        """The share of observations inside central intervals of given probabilities.

        On held-out rows a calibrated model has shares close to the levels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The observed targets.
        levels : float or array-like of float, default=0.95
            Probabilities of the intervals.

        Returns
        -------
        coverage : Coverage
            A named tuple of `levels`, `shares` and `n_samples`, which `raysum.typing.Coverage`
            describes.

        See Also
        --------
        raysum.plot.calibration : Draws it.

        Examples
        --------
        >>> import numpy as np
        >>> from raysum import ProjectedAdditiveGPRegressor
        >>> X, noise = np.random.default_rng(0).normal(size=(2, 400, 1))
        >>> y = (np.sin(X) + noise / 9).ravel()
        >>> gp = ProjectedAdditiveGPRegressor().fit(X[:200], y[:200])
        >>> half, most = gp.coverage(X[200:], y[200:], levels=[0.5, 0.95]).shares
        >>> bool(abs(half - 0.5) < 0.1 and abs(most - 0.95) < 0.05)
        True
        """
        check_is_fitted(self)
        checked = _checks.probabilities(levels)
        rows = self._further_rows(X, y)
        self._require("predictions", len(rows.x), 4)
        shares = []
        for below in self._model.cdf(rows, _inputs.threads(self.n_jobs)):
            # The level of the smallest central interval with the observation in it.
            level = np.abs(2 * below - 1)
            shares.append(np.array([np.mean(level <= checked_level) for checked_level in checked]))
        return Coverage(checked, self._join(shares), len(rows.x))

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
