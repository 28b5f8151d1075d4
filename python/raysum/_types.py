"""Types of what the compiled part takes and returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypedDict

from numpy.typing import NDArray

from .typing import Floats, SkiOptions

#: X, the targets, the weights of the rows, and the known standard deviations of their noise.
Rows: TypeAlias = tuple[Floats, list[Floats], Floats | None, Floats | None]
#: The cells of a column: numbers, texts, or the name of a type that is not taken.
Cells: TypeAlias = NDArray[Any] | list[str | None] | str
#: Name, kind, cells, and whether numbers are floats or the nanoseconds of a unit of dates.
Column: TypeAlias = tuple[str, str, Cells, int]
#: Name, values, and whether they came as floats.
Target: TypeAlias = tuple[str, Floats, bool]
#: Whether it is a warning, and its text.
Note: TypeAlias = tuple[bool, str]
#: Target, phase, rows, number of the search, evaluation, objective.
Step: TypeAlias = tuple[int, str, int, int, int, float]
#: Called with a step, the number of all rows, and the share of the work that is done.
Progress: TypeAlias = Callable[[Step, int, float], object]
#: Mean, standard deviation, and the ends of an interval if it was asked for.
Predicted: TypeAlias = tuple[Floats, Floats, tuple[Floats, Floats] | None]


class Settings(TypedDict):
    """What to fit and how; None leaves the preset's own."""

    model: str
    degrees: str | None
    kernel: str | None
    directions: str | None
    ard: bool | None
    learn_weights: bool | None
    learn_directions: bool | None
    shrinkage: str
    engine: str | None
    optimizer: str
    max_evaluations: int | None
    subset: int | None
    starts: int
    noise_bounds: tuple[float, float]
    seed: int
    ski: SkiOptions
    shared: bool
