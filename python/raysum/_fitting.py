"""Fits, updates and files of both estimators."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from . import _inputs, _raysum, _settings, _tables
from ._fitted import FittedModel
from ._progress import reporting
from ._types import AutoSettings, NumberedStep, Settings
from .typing import TableLike

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


class FitMixin(FittedModel, BaseEstimator):
    """Fits, updates and files."""

    notes_: list[str]
    history_: NDArray[np.void]

    # A parameter of the estimator.
    verbose: int

    def fit(
        self,
        X: TableLike,
        y: TableLike,
        sample_weight: ArrayLike | None = None,
        noise_std: ArrayLike | None = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> Self:
        """Find models and their hyperparameters, and compute the posterior of all rows.

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
            common factor of all weights changes only the noise of a row of weight 1. Rows of weight
            0 are left out; at least two rows must have a positive weight. Predictions have the
            average noise variance of the training rows.
        noise_std : float or array-like of shape (n_samples,), default=None
            Known standard deviation of each row's noise, in the target's units; for one target.
            Noise that the fit estimates is added to it.
        checkpoint : path, default=None
            A file that records the search. A fit that was stopped in any way continues when it is
            started again with the same rows, parameters and file, and ends with the same model. The
            file is removed when the fit is done.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self._validate_params()
        settings = self._recipe()
        # Validation sets attributes such as feature_names_in_: on a clone, until the fit succeeds.
        seen = clone(self)
        given = _inputs.rows(seen, X, y, sample_weight, noise_std, reset=True, least=2)
        notes = [] if given.frame is None else given.frame.notes
        _tables.tell(notes, stacklevel=3)
        with reporting(int(self.verbose)) as progress:
            threads = _inputs.threads(self.n_jobs)
            model, history, too_few = _raysum.fit(
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
        self._record(history)
        self._warn()
        if too_few is not None:
            warnings.warn(
                f"the choice of models needs at least {_settings.LIMITS['distinct_rows'][0]} "
                f"distinct rows, and there are {too_few}: ridge regression was fitted alone, "
                "without scores and calibrated intervals",
                stacklevel=2,
            )
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
        self : estimator
            The fitted estimator.
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y, sample_weight, noise_std)
        self._validate_params()
        rows = self._further_rows(X, y, sample_weight, noise_std)
        model = self._model.updated(rows, False, _inputs.threads(self.n_jobs))
        self._take(model, self._several)
        return self

    def remove(
        self,
        X: TableLike,
        y: TableLike,
        sample_weight: ArrayLike | None = None,
        noise_std: ArrayLike | None = None,
    ) -> Self:
        """Take rows out that the model was fitted to or updated with, at the same hyperparameters.

        The dense engine looks for them among its rows. The weight-space engine has only sums: it
        detects if more is taken out than was put in, but not that other rows were meant.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, at least one.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Their sample weights.
        noise_std : float or array-like of shape (n_samples,), default=None
            Known standard deviation of each row's noise.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        check_is_fitted(self)
        rows = self._further_rows(X, y, sample_weight, noise_std)
        model = self._model.updated(rows, True, _inputs.threads(self.n_jobs))
        self._take(model, self._several)
        return self

    def save_stats(
        self,
        path: str | PathLike[str],
        X: TableLike,
        y: TableLike,
        sample_weight: ArrayLike | None = None,
        noise_std: ArrayLike | None = None,
    ) -> int:
        """Write the statistics of a shard of rows to a file, for `merge_stats` here or elsewhere.

        The model stays as it is. The file is also that of `raysum stats`.

        Parameters
        ----------
        path : str or path-like
            The file, which is written atomically.
        X, y, sample_weight, noise_std
            The rows, as `partial_fit` takes them.

        Returns
        -------
        kept_whole : int
            How many of the rows lie where the model has no features, so that the file holds them as
            they are.
        """
        check_is_fitted(self)
        rows = self._further_rows(X, y, sample_weight, noise_std)
        return self._model.save_stats(rows, path, _inputs.threads(self.n_jobs))

    def merge_stats(
        self,
        paths: Sequence[str | PathLike[str]],
        *,
        only_shards: bool = False,
        allow_duplicates: bool = False,
    ) -> Self:
        """Add the rows of shards, from the files of `save_stats` or `raysum stats`.

        Parameters
        ----------
        paths : sequence of str or path-like
            The files.
        only_shards : bool, default=False
            Whether the rows of the shards replace those of the model: for hyperparameters that were
            found on a sample, and the statistics of all shards.
        allow_duplicates : bool, default=False
            Whether shards with the same rows, or rows merged before, count again.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        check_is_fitted(self)
        if isinstance(paths, (str, PathLike)):
            raise TypeError("paths must be a list of files.")
        model = self._model.merged(list(paths), only_shards, allow_duplicates)
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

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        return tags

    def _recipe(self) -> Settings | AutoSettings:
        """What the parameters say is to be fitted."""
        raise NotImplementedError

    def _record(self, history: list[NumberedStep]) -> None:
        """Keeps the history of a fit."""
        raise NotImplementedError
