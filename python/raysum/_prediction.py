"""Predictions of a fitted model."""

from __future__ import annotations

from numbers import Real
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from . import _checks, _inputs
from ._fitted import FittedModel
from .typing import Floats, TableLike

LARGEST_ROOT = np.sqrt(np.finfo(np.float64).max)


class PredictionMixin(FittedModel):
    """Means of new observations, and their uncertainty in several forms."""

    @overload
    def predict(
        self,
        X: TableLike,
        return_std: Literal[False] = False,
        return_cov: Literal[False] = False,
        interval: None = None,
        noise_std: ArrayLike | None = None,
        return_extrapolation: Literal[False] = False,
        quantiles: None = None,
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
        quantiles: None = None,
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
        quantiles: None = None,
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
        quantiles: None = None,
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
        quantiles: None = None,
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
        quantiles: None = None,
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
        quantiles: None = None,
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
        quantiles: None = None,
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
        quantiles: None = None,
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
        quantiles: None = None,
    ) -> tuple[Floats, Floats, Floats, Floats, Floats]: ...
    @overload
    def predict(
        self,
        X: TableLike,
        return_std: Literal[False] = False,
        return_cov: Literal[False] = False,
        interval: None = None,
        noise_std: ArrayLike | None = None,
        return_extrapolation: Literal[False] = False,
        *,
        quantiles: ArrayLike,
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
        *,
        quantiles: ArrayLike,
    ) -> tuple[Floats, Floats, Floats]: ...
    @overload
    def predict(
        self,
        X: TableLike,
        return_std: bool = False,
        return_cov: Literal[False] = False,
        interval: float | None = None,
        noise_std: ArrayLike | None = None,
        return_extrapolation: bool = False,
        quantiles: ArrayLike | None = None,
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
        quantiles: None = None,
    ) -> Floats | tuple[Floats, ...]: ...
    def predict(
        self,
        X: TableLike,
        return_std: bool = False,
        return_cov: bool = False,
        interval: float | None = None,
        noise_std: ArrayLike | None = None,
        return_extrapolation: bool = False,
        quantiles: ArrayLike | None = None,
    ) -> Floats | tuple[Floats, ...]:
        """Predict the target, optionally with its uncertainty.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        return_std : bool, default=False
            Also return the standard deviation of a new observation at each row, including noise.
        return_cov : bool, default=False
            Also return the covariance of new observations at all rows; not with `return_std`,
            `interval` or `quantiles`.
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
        quantiles : float or array-like of float, default=None
            Return the values that a new observation is below with these probabilities: alone, or
            after the mean if anything else is asked for.

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
        quantiles : ndarray of shape (n_samples, n_quantiles) or \
                (n_samples, n_quantiles, n_outputs)
            Quantiles, with `quantiles`.
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
        >>> low, middle, high = gp.predict([[2.0]], quantiles=[0.05, 0.5, 0.95])[0]
        >>> bool(low < middle < high)
        True
        """
        if return_cov and (return_std or interval is not None or quantiles is not None):
            raise ValueError(
                "return_cov goes neither with return_std nor with interval or quantiles."
            )
        if interval is not None and not (isinstance(interval, Real) and 0 < interval < 1):
            raise ValueError(f"interval is {interval!r}, but must be a number between 0 and 1.")
        shares = None if quantiles is None else _checks.probabilities(quantiles, "quantiles")
        x, threads = self._ask(X)
        known = _inputs.noise_of(noise_std, x)
        beyond = [self._model.extrapolation(x, threads)] if return_extrapolation else []
        if return_cov:
            # The covariance, and temporary arrays.
            self._require("the covariance of predictions", len(x), 2 * len(x) + 2)
            return (*self._with_covariance(x, threads, known), *beyond)
        only_mean = not return_std and interval is None and shares is None
        numbers = 4 + 2 * (0 if shares is None else len(shares))
        self._require("predictions", len(x), 1 if only_mean else numbers)
        if only_mean:
            mean = self._join(self._model.mean(x, threads))
            return (mean, *beyond) if beyond else mean
        asked = None if shares is None else shares.tolist()
        answers = self._model.predict(x, threads, known, interval, asked)
        parts = [[mean for mean, _, _, _ in answers]]
        if return_std:
            parts.append([std for _, std, _, _ in answers])
        ends = [pair for _, _, pair, _ in answers if pair is not None]
        if ends:
            parts.append([lower for lower, _ in ends])
            parts.append([upper for _, upper in ends])
        joined = [self._join(part) for part in parts]
        if shares is None:
            return (*joined, *beyond)
        found = [np.stack(of_target, axis=1) for _, _, _, of_target in answers]
        values = self._join(found, axis=2)
        alone = not return_std and interval is None and not beyond
        return values if alone else (*joined, values, *beyond)

    def _with_covariance(
        self, x: Floats, threads: int, known: Floats | None
    ) -> tuple[Floats, Floats]:
        means, covariances = [], []
        marginals = self._model.predict(x, threads, known)
        for (mean, covariance), (_, std, *_) in zip(self._model.joint(x, threads), marginals):
            # The variance of observations, including noise, limited to the largest float.
            np.fill_diagonal(covariance, np.minimum(std, LARGEST_ROOT) ** 2)
            means.append(mean)
            covariances.append(covariance)
        return self._join(means), self._join(covariances, axis=2)
