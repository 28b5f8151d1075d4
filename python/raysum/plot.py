"""Plots of a fitted model. matplotlib is an optional dependency, imported by the first plot."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from numbers import Integral
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from . import _checks
from ._auto import AutoGPRegressor
from ._drawing import COLOURS, GREY
from ._drawing import labels as _labels
from ._drawing import legend as _legend
from ._drawing import short as _short
from ._drawing import subplots as _subplots
from ._explanation_plot import explanation
from .typing import ComponentCurve, Floats, TableLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._estimator import ProjectedAdditiveGPRegressor

    Estimator: TypeAlias = AutoGPRegressor | ProjectedAdditiveGPRegressor

__all__ = ["calibration", "components", "convergence", "explanation", "relevance"]

# More marks than this form a solid bar and are slow to draw.
MOST_MARKS = 1000


def components(
    gp: ProjectedAdditiveGPRegressor,
    X: TableLike,
    components: Sequence[int] | None = None,
    target: int = 0,
    axs: ArrayLike | Axes | None = None,
) -> NDArray[np.object_]:
    """Draw the function along each direction, with a band of 2 standard deviations.

    Functions are drawn relative to their mean over the rows: the data determines their shapes, but
    only the sum of their levels. All have the same vertical scale, in the target's units; marks at
    the bottom are the rows.

    Where a direction is a single column, the horizontal axis is that column in its own units.
    Otherwise it is the row's projection, of standardised columns divided by their length-scales, if
    columns have any; the title has the columns with the largest share.

    Parameters
    ----------
    gp : ProjectedAdditiveGPRegressor
        A fitted model with sub-kernels of degree 1.
    X : array-like of shape (n_samples, n_features)
        Rows, preferably those of the fit; functions are drawn over their range.
    components : list of int, default=None
        Which to draw, by their index in `gp.components(X)`. By default the at most 6 whose means
        vary most over X, in descending order.
    target : int, default=0
        The index of the target, if there are several.
    axs : array-like of Axes, default=None
        Where to draw: one for each component. By default a new figure.

    Returns
    -------
    axs : ndarray of Axes
        One for each component, in their order.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import numpy as np
    >>> from raysum import ProjectedAdditiveGPRegressor, plot
    >>> X = np.random.default_rng(0).normal(size=(80, 2))
    >>> gp = ProjectedAdditiveGPRegressor(model="gam").fit(X, X[:, 0] ** 2 + X[:, 1] / 2)
    >>> axs = plot.components(gp, X)
    >>> [ax.get_xlabel() for ax in axs]
    ['x0', 'x1']
    """
    _refuse_stacks(gp)
    curves = gp.component_curves(X, components, target)
    effect = f"effect on {_target_name(gp, target)}"
    axs = _grid(len(curves), effect) if axs is None else _checked_axes(axs, len(curves), effect)
    for ax, curve in zip(axs, curves):
        _function(ax, curve)
        _rug(ax, curve.coordinate)
        label, title = _label_and_title(gp, curve, target)
        ax.set_xlabel(label)
        ax.set_title(title, fontsize="small")
    _same_height(axs)
    return axs


def _refuse_stacks(gp: object) -> None:
    """Refuses an estimator that mixes models, each with functions and searches of its own."""
    if isinstance(gp, AutoGPRegressor):
        raise ValueError(
            "AutoGPRegressor mixes several models; fit a ProjectedAdditiveGPRegressor to draw the "
            "functions and the search of one."
        )


def _label_and_title(
    gp: ProjectedAdditiveGPRegressor, curve: ComponentCurve, target: int
) -> tuple[str, str]:
    """The label of the horizontal axis, and the title."""
    directions = gp.directions_ if gp.directions_.ndim == 2 else gp.directions_[target]
    j = curve.component
    used = np.flatnonzero(directions[sum(gp.degrees_[:j])])
    if len(used) != 1:
        return f"direction {j}", _largest(gp, curve.direction)
    column = int(used[0])
    title = f"direction {j}" if np.count_nonzero(directions[:, column]) > 1 else ""
    return _labels(gp.encoded_names_, 24)[column], title


def _largest(gp: ProjectedAdditiveGPRegressor, direction: Floats) -> str:
    """The columns with the largest share in a direction, as the start of a sum."""
    labels = _labels(gp.encoded_names_, 11)
    order = [i for i in np.argsort(-np.abs(direction), kind="stable") if direction[i]]
    # As many as fit above a panel.
    most = 3 if sum(len(labels[i]) for i in order[:3]) <= 20 else 2
    text = " ".join(("− " if direction[i] < 0 else "+ ") + labels[i] for i in order[:most])
    text = text.removeprefix("+ ") if text.startswith("+") else text.replace("− ", "−", 1)
    return text + (" + …" if len(order) > most else "")


def _checked_axes(axs: ArrayLike | Axes, count: int, label: str) -> NDArray[np.object_]:
    given = np.ravel(np.asarray(axs, dtype=object))
    if len(given) != count:
        raise ValueError(f"axs has {len(given)} axes, but {count} components are to be drawn.")
    for ax in given:
        ax.set_ylabel(label)
    return given


def _grid(count: int, label: str) -> NDArray[np.object_]:
    columns = min(count, 2)
    rows = -(-count // columns)
    figure, axs = _subplots(2.6 * columns, 1.9 * rows, rows, columns, sharey=True, squeeze=False)
    for ax in axs.flat[count:]:
        figure.delaxes(ax)
    # One label for all: a panel may be shorter than the label.
    figure.supylabel(label, fontsize="medium")
    shown: NDArray[np.object_] = axs.ravel()[:count]
    return shown


def _function(ax: Axes, curve: ComponentCurve) -> None:
    at, mean, std = curve.points, curve.mean, curve.std
    ax.fill_between(at, mean - 2 * std, mean + 2 * std, color=COLOURS[0], alpha=0.2, lw=0)
    ax.plot(at, mean, color=COLOURS[0])


def _rug(ax: Axes, coordinate: Floats) -> None:
    marks = coordinate[:: -(-len(coordinate) // MOST_MARKS)]
    # The height is relative to the axes, so that marks stay at the bottom.
    height, across = np.full(len(marks), 0.03), ax.get_xaxis_transform()
    ax.plot(marks, height, "|", color="0.2", alpha=0.25, ms=5, transform=across)


def _same_height(axs: NDArray[np.object_]) -> None:
    limits = np.array([ax.get_ylim() for ax in axs])
    low, high = limits.min(), limits.max()
    for ax in axs:
        # Space for the marks below the bands.
        ax.set_ylim(low - 0.06 * (high - low), high)


def relevance(gp: Estimator, top: int = 20, ax: Axes | None = None) -> Axes:
    """Draw the relevance of each column: `gp.relevance_` as bars, the most relevant on top.

    For several targets bars are the mean, and each target is a dot.

    Parameters
    ----------
    gp : AutoGPRegressor or ProjectedAdditiveGPRegressor
        A fitted model.
    top : int, default=20
        Number of columns to show.
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
    >>> gp = ProjectedAdditiveGPRegressor().fit(X, np.sin(X[:, 1]))
    >>> ax = plot.relevance(gp, top=2)
    >>> ax.get_yticklabels()[0].get_text(), len(ax.patches)
    ('x1', 2)
    """
    check_is_fitted(gp)
    if not isinstance(top, Integral) or top < 1:
        raise ValueError(f"top is {top}, but must be a number of columns, 1 or more.")
    shares = 100 * np.array([np.ravel(share) for share in gp.relevance_.values()])
    names = _column_names(gp)
    of_name = dict(zip(names, _labels(names, 28)))
    labels = [of_name[name] for name in list(gp.relevance_)[:top]]
    count = len(labels)
    if ax is None:
        _, ax = _subplots(3.4 + 0.07 * max(map(len, labels)), 0.8 + 0.24 * count)
    _bars(ax, gp, shares[:count])
    others = f"\n{len(shares) - count} others: {shares[count:].mean(axis=1).sum():.1f} %"
    ax.set(xlim=(0, None), xlabel="relevance (%)" + (others if count < len(shares) else ""))
    ax.set_yticks(range(count), labels)
    ax.set_ylim(count - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    return ax


def _bars(ax: Axes, gp: Estimator, shares: Floats) -> None:
    heights = np.arange(len(shares))
    several = gp.n_outputs_ > 1
    ax.barh(heights, shares.mean(axis=1), color="0.85" if several else COLOURS[0], height=0.7)
    if several:
        for k, colour in zip(range(gp.n_outputs_), cycle(COLOURS)):
            ax.plot(shares[:, k], heights, "o", color=colour, ms=4, label=_target_name(gp, k))
        _legend(ax, loc="lower right")


def calibration(
    gp: Estimator,
    X: TableLike,
    y: TableLike,
    levels: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the coverage of intervals against their level, preferably on held-out rows.

    Below the diagonal intervals are too narrow, above it too wide. The grey band is two binomial
    standard errors for this number of rows.

    Parameters
    ----------
    gp : AutoGPRegressor or ProjectedAdditiveGPRegressor
        A fitted model.
    X : array-like of shape (n_samples, n_features)
        Rows to predict.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        The observed targets.
    levels : array-like of float, default=None
        Probabilities of the central intervals; by default 0.05, 0.10, …, 0.95.
    ax : Axes, default=None
        Where to draw; by default in a new figure.

    Returns
    -------
    ax : Axes
        The axes, with a line for each target.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import numpy as np
    >>> from raysum import ProjectedAdditiveGPRegressor, plot
    >>> X, noise = np.random.default_rng(0).normal(size=(2, 200, 1))
    >>> y = (np.sin(X) + noise / 9).ravel()
    >>> gp = ProjectedAdditiveGPRegressor().fit(X[:100], y[:100])
    >>> ax = plot.calibration(gp, X[100:], y[100:])
    >>> ax.get_xlabel()
    'probability of the interval'
    """
    check_is_fitted(gp)
    wanted = _checks.probabilities(np.linspace(0.05, 0.95, 19) if levels is None else levels)
    wanted.sort()
    found = gp.coverage(X, y, np.append(wanted, 0.95))
    inside = found.shares.reshape(len(found.levels), gp.n_outputs_)
    ax = _subplots(4.2, 4.0)[1] if ax is None else ax
    _chance(ax, found.n_samples)
    for share, k, colour in zip(inside.T, range(gp.n_outputs_), cycle(COLOURS)):
        label = f"{100 * share[-1]:.1f} % of {_target_name(gp, k)}"
        ax.plot(wanted, share[:-1], "o-", color=colour, ms=3.5, lw=1.2, label=label)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.set(xlabel="probability of the interval", ylabel="share of rows inside it")
    _legend(ax, loc="upper left", title="In the 95 % interval")
    return ax


def _chance(ax: Axes, rows: int) -> None:
    level = np.linspace(0, 1, 101)
    error = 2 * np.sqrt(level * (1 - level) / rows)
    ax.fill_between(level, level - error, level + error, color="0.88", lw=0)
    ax.plot(level, level, color=GREY, lw=0.8)
    note = f"grey: ±2 sampling errors\nof {rows} rows"
    ax.text(0.98, 0.03, note, color=GREY, fontsize="small", ha="right")


def convergence(gp: ProjectedAdditiveGPRegressor, ax: Axes | None = None) -> Axes:
    """Draw the search for hyperparameters: `gp.history_`, a line for each search.

    A search on many rows runs in stages; lines of the same stage share a colour.

    The objective is the best log marginal likelihood plus log prior so far; compare it only at the
    same number of rows. The lowest tenth, where searches start, is not shown.

    Parameters
    ----------
    gp : ProjectedAdditiveGPRegressor
        A model fitted in this process; a model file does not contain the search.
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
    >>> X = np.random.default_rng(0).normal(size=(80, 2))
    >>> gp = ProjectedAdditiveGPRegressor(n_restarts=1, shrinkage="none").fit(X, np.sin(X[:, 0]))
    >>> ax = plot.convergence(gp)
    >>> [line.get_label() for line in ax.lines]
    ['search 1', 'search 2']
    """
    _refuse_stacks(gp)
    check_is_fitted(gp)
    if not hasattr(gp, "history_"):
        raise ValueError("the model has no history_: it comes from a file, which keeps none.")
    ax = _subplots(4.2, 3.0)[1] if ax is None else ax
    # Fits that chose the shrinkage on held-out rows are not part of the search.
    history = gp.history_[gp.history_["phase"] == "search"]
    _draw_searches(ax, history)
    _look_at_the_end(ax, history)
    ax.set(xlabel="evaluation", ylabel="best objective so far")
    ax.locator_params(axis="x", integer=True)
    return ax


def _draw_searches(ax: Axes, history: NDArray[np.void]) -> None:
    """A line for each search; those of the same target and rows share a colour."""
    colours: dict[str, str] = {}
    same = history[["target", "search"]]
    begins = np.flatnonzero(np.append(True, same[1:] != same[:-1]))
    searches = list(zip(begins, np.split(history, begins[1:])))
    # Single evaluations are not searches.
    searches = [(first, s) for first, s in searches if len(s) > 1] or searches
    for k, (first, search) in enumerate(searches):
        name = _search_name(k, search, history)
        # A legend omits labels that begin with an underscore.
        label = f"_{name}" if name in colours else name
        colour = colours.setdefault(name, COLOURS[len(colours) % len(COLOURS)])
        number = first + 1 + np.arange(len(search))
        ax.plot(number, search["objective"], ".-", color=colour, ms=4, lw=1.2, label=label)
    if 1 < len(colours) <= len(COLOURS):
        # Above the axes, because lines may occupy every corner.
        columns = 3 if max(map(len, colours)) < 12 else 2
        _legend(ax, loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0)


def _search_name(number: int, search: NDArray[np.void], history: NDArray[np.void]) -> str:
    """The label of a search: its target, its number of rows, or both; else its own number."""
    parts = [f"target {search['target'][0]}"] if np.ptp(history["target"]) else []
    if np.ptp(history["rows"]):
        parts.append(f"{search['rows'][0]} rows")
    return ", ".join(parts) or f"search {number + 1}"


def _look_at_the_end(ax: Axes, history: NDArray[np.void]) -> None:
    """Limits the axis to the end of the search: the first steps would hide the later ones."""
    history = history[np.isfinite(history["objective"])]
    stages = [history["objective"][history["rows"] == rows] for rows in np.unique(history["rows"])]
    low = min(np.quantile(stage, 0.1, method="lower") for stage in stages)
    high = history["objective"].max()
    if low < high:
        ax.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))


def _column_names(gp: Estimator) -> list[str]:
    names = getattr(gp, "feature_names_in_", None)
    return [f"x{i}" for i in range(gp.n_features_in_)] if names is None else list(names)


def _target_name(gp: Estimator, target: int) -> str:
    unnamed = "y" if gp.n_outputs_ == 1 else f"target {target}"
    name = gp.target_names_[target] or unnamed
    # A legend omits labels that begin with an underscore.
    return _short(name.lstrip("_"), 24)
