"""How a user's type checker sees raysum: mypy reads this file, and nothing runs it.

A line with `type: ignore` is a wrong use that has to be refused: mypy complains about an ignored
error that is not there.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray
from raysum import AutoGPRegressor, ProjectedAdditiveGPRegressor, plot
from raysum.typing import (
    ComponentCurve,
    Coverage,
    Explanation,
    Floats,
    HeldOutScores,
    MemberComponents,
    SkiOptions,
    StackMember,
    TableLike,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import assert_type

    class Own(ProjectedAdditiveGPRegressor):
        """A user's own kind of estimator."""


def fitting(X: NDArray[np.float64], y: list[float], frame: pl.DataFrame) -> None:
    ski: SkiOptions = {"grid": 50, "exact_variance": True}
    gp = ProjectedAdditiveGPRegressor("dpa-ard-ski", ski=ski, random_state=None, missing="drop")
    assert_type(gp.fit(X, y), ProjectedAdditiveGPRegressor)
    assert_type(gp.partial_fit(X, y, sample_weight=[1, 2]), ProjectedAdditiveGPRegressor)
    assert_type(Own().fit(X, y), Own)
    assert_type(Own.load(Path("model.raysum")), Own)
    gp.fit([[1.0, 2.0], [3.0, 4.0]], [1, 2], noise_std=0.1, checkpoint="fit.ckpt")
    gp.fit(frame, frame["y"])
    gp.fit(pd.DataFrame({"a": [1.0, 2.0]}), pd.Series([1.0, 2.0]))
    gp.fit(X.astype(np.float32), np.arange(len(X)))
    gp.fit(X)  # type: ignore[call-arg]
    gp.fit(frame.lazy(), y)  # type: ignore[arg-type]
    gp.fit(object(), y)  # type: ignore[arg-type]
    gp.fit(X, y, noise_std={"a": 1})  # type: ignore[arg-type]
    gp.fit(X, y, checkpoint=3)  # type: ignore[arg-type]


def parameters() -> None:
    ProjectedAdditiveGPRegressor(degrees=[1, 1, 2], n_projections="d", shrinkage=0.5)
    ProjectedAdditiveGPRegressor("linear+gam:matern52", length_scale_prior="flat")
    ProjectedAdditiveGPRegressor(3)  # type: ignore[arg-type]
    ProjectedAdditiveGPRegressor(kernel="RBF")  # type: ignore[arg-type]
    ProjectedAdditiveGPRegressor(ard="yes")  # type: ignore[arg-type]
    ProjectedAdditiveGPRegressor(engine="ski", ski={"gird": 50})  # type: ignore[arg-type]
    ProjectedAdditiveGPRegressor(foo=1)  # type: ignore[call-arg]


def predictions(gp: ProjectedAdditiveGPRegressor, X: TableLike, asked: bool) -> None:
    assert_type(gp.predict(X), Floats)
    assert_type(gp.predict(X, True), tuple[Floats, Floats])
    assert_type(gp.predict(X, return_std=True, noise_std=0.1), tuple[Floats, Floats])
    assert_type(gp.predict(X, return_cov=True), tuple[Floats, Floats])
    assert_type(gp.predict(X, interval=0.9), tuple[Floats, Floats, Floats])
    four = gp.predict(X, return_std=True, interval=0.9)
    assert_type(four, tuple[Floats, Floats, Floats, Floats])
    assert_type(gp.predict(X, return_extrapolation=True), tuple[Floats, Floats])
    three = gp.predict(X, return_std=True, return_extrapolation=True)
    assert_type(three, tuple[Floats, Floats, Floats])
    three = gp.predict(X, return_cov=True, return_extrapolation=True)
    assert_type(three, tuple[Floats, Floats, Floats])
    four = gp.predict(X, interval=0.9, return_extrapolation=True)
    assert_type(four, tuple[Floats, Floats, Floats, Floats])
    five = gp.predict(X, return_std=True, interval=0.9, return_extrapolation=True)
    assert_type(five, tuple[Floats, Floats, Floats, Floats, Floats])
    assert_type(gp.predict(X, quantiles=[0.1, 0.9]), Floats)
    three = gp.predict(X, return_std=True, quantiles=0.5)
    assert_type(three, tuple[Floats, Floats, Floats])
    assert_type(gp.predict(X, interval=0.9, quantiles=0.5), Floats | tuple[Floats, ...])
    assert_type(gp.predict(X, return_std=asked), Floats | tuple[Floats, ...])
    assert_type(gp.predict(X, return_cov=asked), Floats | tuple[Floats, ...])

    _mean, _std, _more = gp.predict(X, return_std=True)  # type: ignore[misc]
    gp.predict(X, return_std="yes")  # type: ignore[call-overload]
    gp.predict(X, interval="0.9")  # type: ignore[call-overload]
    gp.predict(X, return_std=True, return_cov=True)  # type: ignore[call-overload]
    gp.predict(X, interval=0.9, return_cov=True)  # type: ignore[call-overload]
    gp.predict(X, quantiles=0.9, return_cov=True)  # type: ignore[call-overload]
    gp.predict(X, quantiles={"a": 1})  # type: ignore[call-overload]


def answers(gp: ProjectedAdditiveGPRegressor, X: TableLike, y: TableLike, asked: bool) -> None:
    assert_type(gp.sample_y(X, 3, random_state=np.random.RandomState(0)), Floats)
    assert_type(gp.components(X), Floats)
    assert_type(gp.components(X, return_std=True), tuple[Floats, Floats])
    assert_type(gp.components(X, return_std=asked), Floats | tuple[Floats, Floats])
    assert_type(gp.component_curves(X, [0, 1])[0], ComponentCurve)
    assert_type(gp.transform(X), Floats)
    assert_type(gp.gradient(X), Floats)
    assert_type(gp.loo(X, y), tuple[Floats, Floats])
    assert_type(gp.coverage(X, y, levels=[0.5, 0.9]), Coverage)
    assert_type(gp.log_marginal_likelihood(), float | Floats)
    gp.sample_y(X, "3")  # type: ignore[arg-type]
    gp.sample_y(X, random_state="a")  # type: ignore[arg-type]
    gp.component_curves(X, 0)  # type: ignore[arg-type]


def attributes(gp: ProjectedAdditiveGPRegressor) -> None:
    assert_type(gp.relevance_, dict[str, float] | dict[str, Floats])
    assert_type(gp.feature_importances_, Floats)
    assert_type(gp.target_names_, list[str | None])
    assert_type(gp.noise_std_, float | Floats)
    assert_type(gp.directions_, Floats)
    text: str = gp.n_outputs_  # type: ignore[assignment]
    print(text)


def pictures(gp: ProjectedAdditiveGPRegressor, X: TableLike, y: TableLike, ax: Axes) -> None:
    assert_type(plot.components(gp, X, [0], axs=ax), NDArray[np.object_])
    assert_type(plot.relevance(gp, top=3, ax=ax), "Axes")
    assert_type(plot.calibration(gp, X, y, levels=[0.5]), "Axes")
    plot.relevance(gp, top="all")  # type: ignore[arg-type]
    plot.components(X, gp)  # type: ignore[arg-type]


def choosing(X: TableLike, y: TableLike, ax: Axes) -> None:
    gp = AutoGPRegressor("quick", intervals="gaussian", missing="mean", n_jobs=2)
    assert_type(gp.fit(X, y, noise_std=0.1), AutoGPRegressor)
    assert_type(gp.partial_fit(X, y), AutoGPRegressor)
    assert_type(AutoGPRegressor.load("model.raysum"), AutoGPRegressor)
    assert_type(gp.predict(X, interval=0.9), tuple[Floats, Floats, Floats])
    assert_type(gp.predict(X, quantiles=[0.1, 0.9]), Floats)
    assert_type(gp.members_, list[StackMember] | list[list[StackMember]])
    assert_type(gp.scores_, HeldOutScores | list[HeldOutScores | None] | None)
    functions = gp.components(X)
    assert_type(functions, list[MemberComponents] | list[list[MemberComponents]])
    assert_type(gp.coverage(X, y), Coverage)
    assert_type(plot.relevance(gp), "Axes")
    assert_type(plot.calibration(gp, X, y, ax=ax), "Axes")
    assert_type(gp.explain(X), Explanation)
    assert_type(plot.explanation(gp.explain(X), row=1, ax=ax), "Axes")
    assert_type(gp.report(X, y).html, str)
    AutoGPRegressor(effort="most")  # type: ignore[arg-type]
    AutoGPRegressor(model="gam")  # type: ignore[call-arg]
