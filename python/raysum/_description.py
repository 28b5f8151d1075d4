"""The compiled part's description of a fitted model, with types.

A test compares the keys with those of real models.
"""

from __future__ import annotations

import json
from typing import Any, TypedDict

from . import _raysum


class Ski(TypedDict):
    """Settings of the ski engine."""

    grid: int | None
    probes: int
    tolerance: float
    iterations: int
    exact_variance: bool


class Neighbors(TypedDict):
    """Settings of the neighbors engine."""

    neighbors: int
    prediction_neighbors: int


class Term(TypedDict):
    """The configuration of a term. Its length-scales are those of columns, projections or
    directions, a common one, or fixed."""

    kernel: str
    degrees: str
    directions: str
    length_scales: str
    learn_weights: bool


class Config(TypedDict):
    """The configuration of a fit: a preset with the changes that were asked for."""

    terms: list[Term]
    prior: str
    columns_scale: str
    target_scale: str
    noise: str
    shrinkage: str
    engine: str
    ski: Ski
    neighbors: Neighbors
    optimizer: str
    subset: int | None
    max_evaluations: int | None
    starts: int
    noise_bounds: tuple[float, float]
    seed: int


class _Feature(TypedDict):
    name: str
    position: int
    kind: dict[str, Any]
    means: list[float]


class Feature(_Feature, total=False):
    """A column of the training table. Its kind has a `type`, and details of that type; `means` has
    an entry for each column that its values become.
    """

    #: Whether a further column says where values are missing; absent if not.
    indicator: bool


class Schema(TypedDict):
    """The columns of a training table with texts, dates or missing values."""

    named: bool
    width: int
    features: list[Feature]
    labels: dict[str, Any]


class ColumnScale(TypedDict):
    """Mean, standard deviation and range of an encoded column over the training rows."""

    mean: float
    std: float
    range: tuple[float, float]


class Report(TypedDict):
    """Report of the search for hyperparameters."""

    evaluations: int
    hit_limit: bool
    unconverged: int
    rough: bool
    fewer_directions: bool
    log_marginal_likelihood: float
    rows: int
    copies: float
    jacobian: float
    shrinkage: float | None


class TermHyperparameters(TypedDict):
    """The fitted hyperparameters of a term, in standardised units."""

    column_length_scales: list[float]
    length_scales: list[float]
    variances: list[float]


class Hyperparameters(TypedDict):
    """The fitted hyperparameters, in standardised units."""

    terms: list[TermHyperparameters]
    noise_variance: float
    mean: float


class Member(TypedDict):
    """A model of a stack: its mixing weights in the mean and in the spread, and the factor of its
    standard deviations."""

    name: str
    weight: float
    spread_weight: float
    inflation: float


class Scores(TypedDict):
    """Scores of held-out rows, in the target's units."""

    rmse: float
    mae: float
    nlpd: float
    crps: float
    coverage95: float
    width95: float


class Tried(TypedDict):
    """A model that was tried; its scores, if it could be fitted."""

    name: str
    scores: Scores | None


class HeldOut(TypedDict):
    """What held-out rows show."""

    rows: int
    folds: int
    stack: Scores
    constant: Scores
    ridge: Scores | None
    tried: list[Tried]


class Description(TypedDict):
    """A fitted model without its large arrays; lists from `reports` on have an entry per target.
    What only one model has is that of the first member of a stack."""

    version: str
    columns: int
    column_names: list[str] | None
    schema: Schema | None
    preset: str | None
    config: Config
    engine: str
    features: int | None
    degrees: list[list[int]]
    columns_scales: list[ColumnScale]
    groups: list[int]
    reports: list[Report]
    hyperparameters: list[Hyperparameters]
    target_names: list[str | None]
    noise_std: list[float]
    noise_relevance: list[list[float]]
    target_transformation: list[str | None]
    constant: list[float]
    log_marginal_likelihood: list[float]
    likelihood_error: list[float]
    relevance: list[list[float]]
    members: list[list[Member]]
    held_out: list[HeldOut | None]
    calibration: list[list[tuple[float, float]] | None]


def describe(model: _raysum.Model) -> Description:
    """The description of a fitted model."""
    description: Description = json.loads(model.describe())
    return description


def preset(name: str) -> Config:
    """The configuration of a preset."""
    config: Config = json.loads(_raysum.preset(name))
    return config
