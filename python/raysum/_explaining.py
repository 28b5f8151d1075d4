"""Explanations of predictions, the report on a fitted model, and its card in notebooks."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from os import PathLike

import numpy as np
from sklearn import get_config
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from . import _inputs, _raysum
from ._fitted import FittedModel
from .typing import Explanation, Floats, TableLike


class Report:
    """A report: one HTML page that loads nothing.

    In a notebook it displays itself.

    Attributes
    ----------
    html : str
        The page.
    """

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file, atomically.

        Parameters
        ----------
        path : str or PathLike
            Where to write; a file that exists is replaced.
        """
        _raysum.write_text(path, self.html)

    def __repr__(self) -> str:
        return f"<raysum report, {len(self.html.encode()) // 1000} kB; save it with .save(path)>"

    def _repr_html_(self) -> str:
        # A frame of its own, so that the styles of page and notebook do not mix.
        style = "width:100%;height:44rem;border:0"
        return f'<iframe srcdoc="{escape(self.html)}" style="{style}" title="report"></iframe>'


class ExplainMixin(FittedModel):
    """What explains a fitted model and its predictions."""

    def explain(self, X: TableLike) -> Explanation:
        """The contribution of each column to the prediction at each row of X.

        Contributions are integrated gradients of the predicted mean, from a baseline, the row of
        the columns' means over the training rows, to the row explained. With the baseline they add
        up to the prediction. For models that add up functions of columns they are exact: what each
        function changes. The columns of a category count as one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to explain.

        Returns
        -------
        explanation : Explanation
            A named tuple of `baseline`, `contributions` and `names`, which
            `raysum.typing.Explanation` describes.

        See Also
        --------
        raysum.plot.explanation : Draws that of one row.

        Examples
        --------
        >>> import numpy as np
        >>> from raysum import ProjectedAdditiveGPRegressor
        >>> X = np.random.default_rng(0).normal(size=(80, 3))
        >>> gp = ProjectedAdditiveGPRegressor(model="linear").fit(X, X @ [2, 0, -1])
        >>> explanation = gp.explain(X[:5])
        >>> total = explanation.baseline + explanation.contributions.sum(axis=1)
        >>> bool(np.allclose(total, gp.predict(X[:5])))
        True
        """
        x, threads = self._ask(X)
        self._require("explanations", len(x), 4 * x.shape[1])
        groups, labels = self._columns
        answers = self._model.explain(x, threads)

        def by_column(values: Floats) -> Floats:
            return np.stack([values[:, group].sum(axis=1) for group in groups], axis=1)

        contributions = self._join([by_column(values) for _, values in answers])
        baseline = self._each([baseline for baseline, _ in answers])
        return Explanation(baseline, contributions, list(labels))

    def report(self, X: TableLike, y: TableLike) -> Report:
        """A report on this model and some rows: one HTML page.

        It has a verdict in plain words, scores of held-out rows, calibration, errors, the relevance
        and the effect of each column, interactions, the models that are mixed, rows that surprise,
        and warnings about the data. Pass the rows of the fit, all of them, and charts show
        predictions of held-out rows; pass others, and charts and scores are those of these rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.

        Returns
        -------
        report : Report
            The page, as `html`; `save(path)` writes it, and a notebook shows it.

        Examples
        --------
        >>> import numpy as np
        >>> from raysum import ProjectedAdditiveGPRegressor
        >>> X = np.random.default_rng(0).normal(size=(60, 2))
        >>> y = X[:, 0] + np.sin(X[:, 1])
        >>> report = ProjectedAdditiveGPRegressor(model="gam").fit(X, y).report(X, y)
        >>> report.html.startswith("<!doctype html>")
        True
        """
        check_is_fitted(self)
        rows = self._further_rows(X, y)
        commands = [f"gp = {self!r}.fit(X, y)", "gp.report(X, y).save('report.html')"]
        threads = _inputs.threads(self.n_jobs)
        return Report(_raysum.report(self._model, rows, commands, threads))

    @property
    def _repr_html_(self) -> Callable[[], str]:
        if get_config()["display"] != "diagram":
            raise AttributeError("_repr_html_ needs the display option 'diagram' of scikit-learn")
        return self._card

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        shown = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            shown["text/html"] = self._card()
        return shown

    def _card(self) -> str:
        """A card about the fitted model; before the fit, what scikit-learn shows."""
        if not hasattr(self, "_model"):
            diagram: str = estimator_html_repr(self)
            return diagram
        return _raysum.card(self._model, repr(self))
