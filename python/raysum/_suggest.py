"""The next rows to try, where rows are experiments."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _inputs
from ._fitted import FittedModel
from .typing import RandomState, Suggestions


class SuggestMixin(FittedModel):
    """Suggestions of a fitted model."""

    def suggest(
        self,
        bounds: Mapping[Any, Any] | None = None,
        n: int = 8,
        maximize: bool = False,
        random_state: RandomState = 0,
        target: int | str = 0,
    ) -> Suggestions:
        """Suggest rows to try next, where low values of the target are wanted, or high ones.

        Each row is where one function drawn from the posterior is best (Thompson sampling), so that
        the rows of a batch explore and exploit at once. Try them, append the results to the table,
        and fit again.

        Parameters
        ----------
        bounds : mapping, default=None
            The values that a column may have, by its name, or its position where columns have no
            names: a tuple ``(low, high)`` of numbers or dates, a ``range`` of whole numbers with
            steps of 1, a list of options, or a single value. Columns that are not in it may have
            the values that they had in training.
        n : int, default=8
            How many rows.
        maximize : bool, default=False
            Look for high values of the target in place of low ones.
        random_state : int, RandomState instance or None, default=0
            The seed.
        target : int or str, default=0
            The target, by its position or its name, if there are several.

        Returns
        -------
        suggestions : DataFrame of n rows, or ndarray of shape (n, n_features)
            A frame with the columns of X if these have names: of pandas, of polars if there is no
            pandas, or a dict of arrays if there is neither.
        """
        check_is_fitted(self)
        if not isinstance(n, Integral) or isinstance(n, bool):
            raise ValueError(f"n is {n!r}, but must be a whole number from 1.")
        if not isinstance(bounds, Mapping | None):
            raise ValueError(f"bounds is {bounds!r}, but must be a mapping from columns to values.")
        labels = self._columns[1]
        named = hasattr(self, "feature_names_in_")
        ranges = [
            (_column(key, labels, named), *_range(key, value))
            for key, value in (bounds or {}).items()
        ]
        settings = (max(int(n), 0), bool(maximize), _inputs.seed(random_state))
        columns = self._model.suggest(
            self._target(target), ranges, settings, _inputs.threads(self.n_jobs)
        )
        if not named:
            return np.array([cells for _, _, cells in columns], dtype=float).T
        return _frame({name: np.array(cells, dtype=kind) for name, kind, cells in columns})

    def _target(self, target: int | str) -> int:
        if isinstance(target, str):
            if target in self.target_names_:
                return self.target_names_.index(target)
            raise ValueError(f"there is no target {target!r}; there are {self.target_names_}.")
        if isinstance(target, Integral) and 0 <= int(target) < self.n_outputs_:
            return int(target)
        raise ValueError(f"target is {target!r}, but there are {self.n_outputs_}, from 0.")


def _column(key: Any, labels: list[str], named: bool) -> str:
    """The name that the model has for a column."""
    if named:
        return str(key)
    if isinstance(key, Integral) and 0 <= int(key) < len(labels):
        return str(int(key))
    raise ValueError(
        f"bounds has {key!r}, but columns go by their position, 0 to {len(labels) - 1}."
    )


def _range(key: Any, value: Any) -> tuple[str, list[str]]:
    """The kind of a range, and its ends or options as text."""
    if isinstance(value, range):
        if value.step != 1 or len(value) == 0:
            raise ValueError(f"bounds of {key!r}: a range must have steps of 1, and numbers in it.")
        return "whole", [str(value[0]), str(value[-1])]
    if isinstance(value, tuple):
        if len(value) != 2:
            raise ValueError(f"bounds of {key!r}: write (low, high), or a list of options.")
        return "between", [_text(end) for end in value]
    if isinstance(value, (list, np.ndarray)):
        if len(value) == 0:
            raise ValueError(f"bounds of {key!r}: there are no options.")
        return "one of", [_text(option) for option in value]
    return "one of", [_text(value)]


def _text(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, np.datetime64):
        return str(value.astype("datetime64[s]"))
    return str(value)


def _frame(columns: dict[str, Any]) -> Suggestions:
    try:
        import pandas
    except ImportError:
        try:
            import polars
        except ImportError:
            return columns
        return polars.DataFrame(columns)
    return pandas.DataFrame(columns)
