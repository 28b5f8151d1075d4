"""The estimator's parameters as the compiled part's settings, and back."""

from __future__ import annotations

from itertools import groupby
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import ArrayLike

# scikit-learn has no public names for these; `_validate_params` of its estimators takes no others.
from sklearn.utils._param_validation import (
    Interval,
    StrOptions,
    validate_parameter_constraints,
)

from . import _description, _inputs, _raysum
from ._types import AutoSettings, Settings
from .typing import MissingRule, SkiOptions

if TYPE_CHECKING:
    from ._auto import AutoGPRegressor
    from ._estimator import ProjectedAdditiveGPRegressor

NAMES = _raysum.names()
LIMITS = _raysum.limits()
#: Larger counts are typing errors.
LARGEST_COUNT = 2**53


def _named(kind: str) -> StrOptions:
    return StrOptions(set(NAMES[kind]))


class _Model(StrOptions):
    """The name of a model, or a sum of them, whose terms the compiled part checks."""

    def __str__(self) -> str:
        names = ", ".join(NAMES["model"])
        return f"one of {names}, or a sum such as 'linear+gam'; for auto see AutoGPRegressor"

    def is_satisfied_by(self, val: object) -> bool:
        terms = isinstance(val, str) and ("+" in val or ":" in val)
        return terms or bool(super().is_satisfied_by(val))


def _count(least: int, most: int = LARGEST_COUNT) -> Interval:
    return Interval(Integral, least, most, closed="both")


def _limited(name: str) -> Interval:
    least, most = LIMITS[name]
    return _count(least, LARGEST_COUNT if most is None else most)


#: Parameters that change a part of a preset of one term.
CHANGES = ["degrees", "kernel", "directions", "learn_weights"]
#: Constraints of the parameters of both estimators, checked by scikit-learn.
COMMON: dict[str, list[Any]] = {
    "intervals": [_named("intervals")],
    "missing": [StrOptions(set(get_args(MissingRule)))],
    "categories": [_limited("categories")],
    "random_state": [_count(0, _inputs.LARGEST_SEED), "random_state"],
    "n_jobs": [Integral, None],
    "verbose": ["verbose"],
}
#: Those of the estimator that chooses models by itself.
AUTO_CONSTRAINTS: dict[str, list[Any]] = {"effort": [_named("effort")], **COMMON}
#: Those of the estimator of one model.
CONSTRAINTS: dict[str, list[Any]] = {
    "model": [_Model(set(NAMES["model"]))],
    "n_projections": [_limited("n_projections"), StrOptions({"d"}), None],
    "degrees": [str, "array-like", None],
    "kernel": [_named("kernel"), None],
    "directions": [_named("directions"), None],
    "ard": ["boolean", None],
    "learn_weights": ["boolean", None],
    "learn_directions": ["boolean", None],
    "columns_scale": [_named("columns_scale")],
    "target_scale": [_named("target_scale")],
    "noise": [_named("noise")],
    "length_scale_prior": [_named("length_scale_prior"), None],
    "shrinkage": [StrOptions({"auto", "none"}), Interval(Real, 0, None, closed="left")],
    "engine": [_named("engine"), None],
    "neighbors": [_limited("neighbors"), None],
    "prediction_neighbors": [_limited("prediction_neighbors"), None],
    "ski": [dict, None],
    "optimizer": [_named("optimizer")],
    "max_evaluations": [_count(1), None],
    "n_restarts": [_count(0, 1000)],
    "subset": [_limited("subset"), None],
    "independent": ["boolean"],
    "noise_bounds": ["array-like", None],
    **COMMON,
}
#: Constraints of the settings in `ski`.
SKI_CONSTRAINTS: dict[str, list[Any]] = {
    "grid": [_limited("grid"), None],
    "probes": [_limited("probes"), None],
    "cg_tolerance": [Interval(Real, 0, 1, closed="neither"), None],
    "cg_iterations": [_count(1), None],
    "exact_variance": ["boolean", None],
}


def settings(estimator: ProjectedAdditiveGPRegressor) -> Settings:
    """The settings of a fit of one model."""
    e = estimator
    if isinstance(e.n_projections, bool):
        raise ValueError(f"n_projections is {e.n_projections}, but must be a number.")
    if e.n_projections is not None and e.degrees is not None:
        raise ValueError(
            "n_projections and degrees say the same in two ways; give at most one of them."
        )
    return {
        "model": e.model,
        "degrees": _degrees(e.n_projections, e.degrees),
        "kernel": e.kernel,
        "directions": e.directions,
        "ard": _flag(e.ard),
        "learn_weights": _flag(e.learn_weights),
        "learn_directions": _flag(e.learn_directions),
        "columns_scale": e.columns_scale,
        "target_scale": e.target_scale,
        "noise": e.noise,
        "length_scale_prior": e.length_scale_prior,
        "shrinkage": _shrinkage(e.shrinkage),
        "engine": e.engine,
        "optimizer": e.optimizer,
        "max_evaluations": e.max_evaluations,
        "subset": e.subset,
        "starts": e.n_restarts + 1,
        "noise_bounds": _noise_bounds(e.noise_bounds),
        "seed": _inputs.seed(e.random_state),
        "ski": _ski(e.ski),
        "neighbors": e.neighbors,
        "prediction_neighbors": e.prediction_neighbors,
        "intervals": e.intervals,
        "shared": not e.independent,
    }


def auto_settings(estimator: AutoGPRegressor) -> AutoSettings:
    """The settings of a fit that chooses models by itself."""
    return {
        "effort": estimator.effort,
        "intervals": estimator.intervals,
        "seed": _inputs.seed(estimator.random_state),
    }


def common_parameters(description: _description.Description) -> dict[str, Any]:
    """The parameters of a fit that both estimators have, as far as a file shows them."""
    calibrated = any(curve is not None for curve in description["calibration"])
    return {
        "intervals": "calibrated" if calibrated else "gaussian",
        "random_state": description["config"]["seed"],
        **_of_schema(description["schema"]),
    }


def parameters(description: _description.Description) -> dict[str, Any]:
    """The parameters of a model's fit: a preset, and differences from it."""
    config = description["config"]
    name = description["preset"] or "dpa-ard"
    usual = _description.preset(name)
    found: dict[str, Any] = {"model": name}
    if config["engine"] != usual["engine"]:
        found["engine"] = config["engine"]
    if config["prior"] != usual["prior"]:
        found["length_scale_prior"] = config["prior"]
    found["columns_scale"] = config["columns_scale"]
    found["target_scale"] = config["target_scale"]
    found["noise"] = config["noise"]
    # A sum has no changes to its terms.
    if config["terms"] != usual["terms"]:
        found.update(_changes(config["terms"][0], usual["terms"][0]))
    counts = dict(usual["neighbors"])
    found.update({key: n for key, n in config["neighbors"].items() if n != counts[key]})
    if config["ski"] != usual["ski"]:
        ski = config["ski"]
        values = (ski[key] for key in ("grid", "probes", "tolerance", "iterations"))
        given = dict(zip(SKI_CONSTRAINTS, (*values, ski["exact_variance"])))
        found["ski"] = {key: value for key, value in given.items() if value is not None}
    shrinkage = config["shrinkage"]
    found["shrinkage"] = shrinkage if shrinkage in ("auto", "none") else float(shrinkage)
    found["optimizer"] = config["optimizer"]
    found["max_evaluations"] = config["max_evaluations"]
    found["subset"] = config["subset"]
    found["n_restarts"] = config["starts"] - 1
    if config["noise_bounds"] != usual["noise_bounds"]:
        found["noise_bounds"] = tuple(config["noise_bounds"])
    return {**found, **common_parameters(description)}


def _of_schema(schema: _description.Schema | None) -> dict[str, Any]:
    """The parameters that a schema shows."""
    features = [] if schema is None else schema["features"]
    found: dict[str, Any] = {}
    if any(feature.get("indicator") for feature in features):
        found["missing"] = "indicate"
    sizes = [len(feature["means"]) for feature in features if feature["kind"].get("others")]
    if sizes:
        found["categories"] = sizes[0]
    return found


def _changes(term: _description.Term, usual: _description.Term) -> dict[str, Any]:
    """The parameters that make this term of a preset's."""
    own, of_preset = dict(term), dict(usual)
    found: dict[str, Any] = {key: own[key] for key in CHANGES if own[key] != of_preset[key]}
    scales, others = term["length_scales"], usual["length_scales"]
    if scales != others:
        if "directions" in (scales, others):
            found["learn_directions"] = scales == "directions"
        if "columns" in (scales, others):
            found["ard"] = scales == "columns"
    return found


def _flag(value: bool | None) -> bool | None:
    return None if value is None else bool(value)


def _shrinkage(given: str | float) -> str:
    if isinstance(given, str):
        return given
    if isinstance(given, (bool, np.bool_)) or not np.isfinite(given):
        raise ValueError(f"shrinkage is {given!r}, but must be 'auto', 'none' or a number from 0.")
    return repr(float(given))


def _degrees(n_projections: int | str | None, degrees: str | ArrayLike | None) -> str | None:
    if n_projections is not None:
        return f"{n_projections}x1"
    if degrees is None or isinstance(degrees, str):
        return degrees
    each = np.atleast_1d(degrees).tolist()
    if not each or not all(type(degree) is int and degree > 0 for degree in each):
        raise ValueError(
            f"degrees is {degrees!r}, but must be a text like '4x1,4x2' or a list with the degree "
            "of each sub-kernel, from 1."
        )
    return ",".join(f"{len(list(same))}x{degree}" for degree, same in groupby(each))


def _noise_bounds(given: ArrayLike | None) -> tuple[float, float] | None:
    if given is None:
        return None
    bounds = list(np.ravel(given))
    if len(bounds) != 2 or not all(isinstance(bound, Real) for bound in bounds):
        raise ValueError(f"noise_bounds must be two numbers, low and high. Got {bounds!r} instead.")
    return float(bounds[0]), float(bounds[1])


def _ski(options: SkiOptions | None) -> SkiOptions:
    given: SkiOptions = options or {}
    for name in given:
        if name not in SKI_CONSTRAINTS:
            known = ", ".join(SKI_CONSTRAINTS)
            raise ValueError(f"unknown ski option {name!r}; known are: {known}")
    validate_parameter_constraints(SKI_CONSTRAINTS, given, caller_name="ski")
    return {
        "grid": given.get("grid"),
        "probes": given.get("probes"),
        "cg_tolerance": given.get("cg_tolerance"),
        "cg_iterations": given.get("cg_iterations"),
        "exact_variance": _flag(given.get("exact_variance")),
    }
