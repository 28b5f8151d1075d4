"""What all plots share: colours, figures, legends and labels."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, distinguishable for colour-blind readers.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
GREY = "0.45"


def subplots(width: float, height: float, *shape: int, **options: Any) -> tuple[Figure, Any]:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("raysum.plot needs matplotlib: pip install raysum[plot]") from error
    with plt.rc_context({"axes.spines.top": False, "axes.spines.right": False}):
        return plt.subplots(*shape, figsize=(width, height), layout="constrained", **options)


def legend(ax: Axes, **where: Any) -> None:
    ax.legend(**where, fontsize="small", title_fontsize="small", framealpha=0.8, edgecolor="none")


def labels(names: list[str], most: int) -> list[str]:
    """Short names; prefixed by the column's number where they would coincide."""
    shorter = [short(name, most) for name in names]
    count = Counter(shorter)
    numbered = (short(f"{i}: {name}", most) for i, name in enumerate(names))
    return [other if count[label] > 1 else label for label, other in zip(shorter, numbered)]


def short(name: str, most: int) -> str:
    """A long name without its middle: names mostly differ at their ends."""
    if len(name) > most:
        tail = (most - 1) // 2
        name = f"{name[: most - 1 - tail]}…{name[-tail:]}"
    # A dollar sign would start a formula.
    return name.replace("$", r"\$")
