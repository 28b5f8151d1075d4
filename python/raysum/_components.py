"""The functions along the directions, whose sum is the fitted model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import _curves
from ._single import SingleModel
from .typing import ComponentCurve, Floats, TableLike


class ComponentsMixin(SingleModel, TransformerMixin):
    """The function along each direction, as values, features or curves."""

    @overload
    def components(self, X: TableLike, return_std: Literal[False] = False) -> Floats: ...
    @overload
    def components(self, X: TableLike, return_std: Literal[True]) -> tuple[Floats, Floats]: ...
    @overload
    def components(
        self, X: TableLike, return_std: bool = False
    ) -> Floats | tuple[Floats, Floats]: ...
    def components(self, X: TableLike, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
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
        x, threads = self._ask(X)
        # Means and standard deviations: of a chunk, of all rows, and joined.
        self._require("components", len(x), 6 * len(self.degrees_))
        answers = self._model.components(x, threads)
        values = self._join([np.stack([m for _, m, _ in target], axis=-1) for target in answers])
        if not return_std:
            return values
        return values, self._join([np.stack([s for _, _, s in t], axis=-1) for t in answers])

    def component_curves(
        self, X: TableLike, components: Sequence[int] | None = None, target: int = 0
    ) -> list[ComponentCurve]:
        """Functions of a single direction, as curves over the range of the rows of X.

        Functions are relative to their mean over the rows: the data determines their shapes, but
        only the sum of their levels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, preferably those of the fit; curves cover their range.
        components : list of int, default=None
            Which functions, by their index in `components(X)`. By default the at most 6 whose means
            vary most over X, in descending order.
        target : int, default=0
            The index of the target, if there are several.

        Returns
        -------
        curves : list of ComponentCurve
            One per function, in the order of `components`: named tuples of `component`,
            `direction`, `coordinate`, `points`, `mean` and `std`, which
            `raysum.typing.ComponentCurve` describes.

        See Also
        --------
        raysum.plot.components : Draws them.

        Examples
        --------
        >>> import numpy as np
        >>> from raysum import ProjectedAdditiveGPRegressor
        >>> X = np.random.default_rng(0).normal(size=(80, 2))
        >>> gp = ProjectedAdditiveGPRegressor(model="gam").fit(X, X[:, 0] ** 2 + X[:, 1] / 2)
        >>> curve = gp.component_curves(X, components=[1])[0]
        >>> rise = (curve.mean[-1] - curve.mean[0]) / (curve.points[-1] - curve.points[0])
        >>> print(np.round(rise, 2))
        0.5
        """
        check_is_fitted(self)
        _curves.check_number("target", target, self.n_outputs_)
        x, threads = self._ask(X)
        return _curves.curves(self, x, threads, components, target)

    def transform(self, X: TableLike) -> Floats:
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

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
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
