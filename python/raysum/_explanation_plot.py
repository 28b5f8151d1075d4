"""The plot of the explanation of one prediction."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from ._drawing import COLOURS, GREY, labels, subplots
from .typing import Explanation

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def explanation(
    explained: Explanation,
    row: int = 0,
    top: int = 10,
    target: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw what each column contributes to one prediction, from the baseline to the prediction.

    The largest contribution is on top; each bar begins where the one below it ends. Columns beyond
    `top` are one bar.

    Parameters
    ----------
    explained : Explanation
        The result of `gp.explain(X)`.
    row : int, default=0
        Which of its rows.
    top : int, default=10
        Number of columns to show.
    target : int, default=0
        The index of the target, if there are several.
    ax : Axes, default=None
        Where to draw; by default in a new figure.

    Returns
    -------
    ax : Axes
        The axes.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import numpy as np
    >>> from raysum import ProjectedAdditiveGPRegressor, plot
    >>> X = np.random.default_rng(0).normal(size=(80, 3))
    >>> gp = ProjectedAdditiveGPRegressor(model="gam").fit(X, np.sin(X[:, 1]) + X[:, 0])
    >>> ax = plot.explanation(gp.explain(X), row=4)
    >>> len(ax.patches)
    3
    """
    if not isinstance(top, Integral) or top < 1:
        raise ValueError(f"top is {top}, but must be a number of columns, 1 or more.")
    several = explained.contributions.ndim == 3
    targets = explained.contributions.shape[1] if several else 1
    _check_index("target", target, targets)
    _check_index("row", row, len(explained.contributions))
    of_row = explained.contributions[row]
    values = of_row[target] if several else of_row
    baseline = float(np.ravel(explained.baseline)[target])
    order = np.argsort(-np.abs(values), kind="stable")
    short = labels(explained.names, 28)
    bars = [(short[i], float(values[i])) for i in order[:top]]
    rest = values[order[top:]]
    if len(rest):
        bars.append((f"{len(rest)} other" + "s" * (len(rest) > 1), float(rest.sum())))
    bars.reverse()
    if ax is None:
        longest = max(len(name) for name, _ in bars)
        _, ax = subplots(4.0 + 0.07 * longest, 1.1 + 0.3 * len(bars))
    start = baseline
    for k, (_, value) in enumerate(bars):
        ax.barh(k, value, left=start, height=0.62, color=COLOURS[0 if value >= 0 else 3])
        ax.annotate(
            f"{value:+.3g}",
            (max(start, start + value), k),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
        )
        start += value
    ax.axvline(baseline, color=GREY, lw=0.8, ls=":")
    ax.axvline(start, color=GREY, lw=0.8)
    ax.set_yticks(range(len(bars)), [name for name, _ in bars])
    ax.tick_params(axis="y", length=0)
    ax.margins(x=0.12)
    ax.set(xlabel=f"prediction: from {baseline:.4g} to {start:.4g}", ylim=(-0.6, len(bars) - 0.4))
    return ax


def _check_index(name: str, index: int, count: int) -> None:
    if not isinstance(index, Integral) or not -count <= index < count:
        raise ValueError(f"{name} is {index}, but must be an index below {count}.")
