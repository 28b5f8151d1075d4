"""Types of arguments and results of the compiled part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypedDict

from numpy.typing import NDArray

from .typing import Floats, SkiOptions

#: X, the targets, the sample weights, and the known standard deviations of the noise.
Rows: TypeAlias = tuple[Floats, list[Floats], Floats | None, Floats | None]
#: The cells of a column: numbers, texts, or the name of an unsupported type.
Cells: TypeAlias = NDArray[Any] | list[str | None] | str
#: Name, kind, cells, and whether numbers are floats or the nanoseconds of a unit of dates.
Column: TypeAlias = tuple[str, str, Cells, int]
#: Name, values, and whether they were floats.
Target: TypeAlias = tuple[str, Floats, bool]
#: Whether it is a warning, and its text.
Note: TypeAlias = tuple[bool, str]
#: Target, phase, rows, number of the search, evaluation, objective.
Step: TypeAlias = tuple[int, str, int, int, int, float]
#: Called with a step, the total number of rows, the number of the fit and of all fits, and the
#: share of the work that is done.
Progress: TypeAlias = Callable[[Step, int, tuple[int, int], float], object]
#: The number of a fit among those of a stack, and a step of it.
NumberedStep: TypeAlias = tuple[int, Step]
#: Mean, standard deviation, the ends of the interval, if requested, and quantiles.
Predicted: TypeAlias = tuple[Floats, Floats, tuple[Floats, Floats] | None, list[Floats]]
#: The number of a member, and mean and standard deviation of one of its functions.
MemberComponent: TypeAlias = tuple[int, Floats, Floats]


class Settings(TypedDict):
    """The settings of a fit of one model; None keeps the value of the preset."""

    model: str
    degrees: str | None
    kernel: str | None
    directions: str | None
    ard: bool | None
    learn_weights: bool | None
    learn_directions: bool | None
    columns_scale: str
    target_scale: str
    noise: str
    length_scale_prior: str | None
    shrinkage: str
    engine: str | None
    optimizer: str
    max_evaluations: int | None
    subset: int | None
    starts: int
    noise_bounds: tuple[float, float] | None
    seed: int
    ski: SkiOptions
    neighbors: int | None
    prediction_neighbors: int | None
    intervals: str
    shared: bool


class AutoSettings(TypedDict):
    """The settings of a fit that chooses models by itself."""

    effort: str
    intervals: str
    seed: int
