"""Functions along one direction as curves."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .typing import ComponentCurve, Floats

if TYPE_CHECKING:
    from ._single import SingleModel

MOST_COMPONENTS = 6
# Points of a curve, and approximate number of rows over which its mean is taken.
POINTS = 200


def curves(
    model: SingleModel, x: Floats, threads: int, components: Sequence[int] | None, target: int
) -> list[ComponentCurve]:
    """The curves of the given components, by default of those that vary most over the rows."""
    if len(x) < 2:
        raise ValueError("X has 1 row, but functions are drawn from one row to the next.")
    if components is None:
        shown = _most_varying(model, x, threads, target)
    else:
        shown = _checked_components(model, components)
    return [_curve(model, x, threads, j, target) for j in shown]


def check_number(name: str, number: object, count: int) -> None:
    """Fails unless this is an integer from 0 to below `count`."""
    if not isinstance(number, Integral) or not 0 <= int(number) < count:
        raise ValueError(f"{name}: there is no number {number}; there are 0 to {count - 1}.")


def _most_varying(model: SingleModel, x: Floats, threads: int, target: int) -> list[int]:
    functions = model._model.components(x, threads)[target]
    one = [j for j, degree in enumerate(model.degrees_) if degree == 1]
    if not one:
        raise ValueError("only functions of one coordinate are drawn; the model has none.")
    # Rounded, so that equal functions stay in their order.
    variance = {j: float(f"{functions[j][1].var():.6g}") for j in one}
    return sorted(one, key=lambda j: -variance[j])[:MOST_COMPONENTS]


def _checked_components(model: SingleModel, components: Sequence[int]) -> list[int]:
    shown = list(np.ravel(components))
    if not shown:
        raise ValueError("components is empty; give the number of at least one.")
    for j in shown:
        check_number("components", j, len(model.degrees_))
        degree = model.degrees_[j]
        if degree > 1:
            raise ValueError(f"component {j} has {degree} coordinates; those drawn have 1.")
    return [int(j) for j in shown]


def _curve(model: SingleModel, x: Floats, threads: int, j: int, target: int) -> ComponentCurve:
    line = _line(model, x, j, target)
    points = np.linspace(line.coordinate.min(), line.coordinate.max(), POINTS)
    some = line.coordinate[:: -(-len(x) // POINTS)]
    path = line.centre + np.outer(np.append(points, some), line.step)
    mean, covariance = model._model.joint(path, threads, j)[target]
    around = _around_its_mean(mean, covariance)
    return ComponentCurve(j, line.direction, line.coordinate, points, *around)


def _around_its_mean(mean: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation at the first POINTS points, less the mean over the others."""
    less = np.eye(POINTS, len(mean))
    less[:, POINTS:] -= 1 / (len(mean) - POINTS)
    variance = np.einsum("ij,ij->i", less @ covariance, less)
    return less @ mean, np.sqrt(np.maximum(variance, 0.0))


class _Line(NamedTuple):
    """The coordinate t of rows along a direction; centre + t · step is a row with coordinate t."""

    direction: Floats
    coordinate: Floats
    centre: Floats
    step: Floats


def _line(model: SingleModel, x: Floats, j: int, target: int) -> _Line:
    direction = _of_target(model.directions_, target, 2)[sum(model.degrees_[:j])]
    scales = model._description["columns_scales"]
    centre = np.array([column["mean"] for column in scales])
    scale = np.array([column["std"] for column in scales])
    if np.count_nonzero(direction) == 1:
        column = int(np.flatnonzero(direction)[0])
        centre[column] = 0.0
        return _Line(direction, x[:, column], centre, (direction != 0).astype(float))
    if model._description["config"]["columns_scale"] != "standard":
        raise ValueError(
            f"component {j} is a function of several columns that are not on the standard scale, "
            "along which there is no straight line; functions of one column can be drawn."
        )
    scales_of_columns = _column_length_scales(model, j, target)
    if scales_of_columns is not None:
        direction = direction / scales_of_columns
    # A column that was constant in the fit does not affect a row's coordinate.
    direction = np.where(scale > 0, direction, 0.0)
    scale = np.where(scale > 0, scale, 1.0)
    step = direction * scale / (direction @ direction or 1.0)
    return _Line(direction, (x - centre) @ (direction / scale), centre, step)


def _column_length_scales(model: SingleModel, j: int, target: int) -> Floats | None:
    """The length-scale of each column, if the term of this component has one per column."""
    for config, term in zip(model._description["config"]["terms"], model._terms[target]):
        if j < len(term.degrees):
            return term.length_scales if config["length_scales"] == "columns" else None
        j -= len(term.degrees)
    return None


def _of_target(values: Floats, target: int, dimensions: int) -> Floats:
    """The values of one target: several targets have a leading dimension."""
    return values if values.ndim == dimensions else values[target]
