"""Draws, noise, slopes, leave-one-out predictions and coverage of a fitted model."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from . import _checks, _inputs
from ._fitted import FittedModel
from .typing import Coverage, Floats, RandomState, TableLike


class AnswersMixin(FittedModel):
    """What a fitted model answers beside predictions."""

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
            Add noise, so that the draws are new observations. False gives draws of the noise-free
            function. Draws are those of the Gaussian process, before intervals are calibrated.
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
        except where a model has noise that depends on the columns or a transformed target.

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

    def gradient(self, X: TableLike) -> Floats:
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
        x, threads = self._ask(X)
        self._require("gradients", len(x), 2 * x.shape[1])
        return self._join(self._model.gradient(x, threads))
