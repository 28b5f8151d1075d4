"""Contributions of columns to predictions, and their plot."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from raysum import AutoGPRegressor, ProjectedAdditiveGPRegressor, plot

ROOT = Path(__file__).parents[2]
REFERENCE = json.loads((ROOT / "crates/raysum/tests/reference/shap.json").read_text())


def table(rows=80, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=rows),
            "colour": rng.choice(["red", "green", "blue"], size=rows),
            "b": rng.normal(size=rows),
        }
    )
    y = np.exp(0.5 * X["a"]) + X["b"] * (X["colour"] == "red") + 0.1 * rng.normal(size=rows)
    return X, y.rename("y")


@pytest.mark.parametrize("model", ["linear", "gam"])
def test_agrees_with_shap(model):
    X, case = np.array(REFERENCE["X"]), REFERENCE["cases"][model]
    gp = ProjectedAdditiveGPRegressor(model=model).fit(X, np.array(case["y"]))
    expected = np.array(case["contributions"])
    found = gp.explain(X[: len(expected)])
    scale = np.std(case["y"])
    assert np.abs(found.contributions - expected).max() < 1e-3 * scale
    assert abs(found.baseline - case["baseline"]) < 1e-3 * scale


def test_adds_up_and_counts_the_users_columns():
    X, y = table()
    gp = AutoGPRegressor().fit(X, y)
    found = gp.explain(X[:20])
    assert found.names == ["a", "colour", "b"]
    assert found.contributions.shape == (20, 3)
    total = found.baseline + found.contributions.sum(axis=1)
    assert np.abs(total - gp.predict(X[:20])).max() < 1e-3 * y.std()


def test_several_targets_have_one_more_dimension():
    X = np.random.default_rng(1).normal(size=(60, 3))
    Y = np.stack([X[:, 0], X[:, 1] ** 2], axis=1)
    gp = ProjectedAdditiveGPRegressor(model="gam").fit(X, Y)
    found = gp.explain(X[:5])
    assert found.contributions.shape == (5, 2, 3)
    total = found.baseline + found.contributions.sum(axis=2)
    assert np.abs(total - gp.predict(X[:5])).max() < 1e-3


def test_the_plot_leads_from_the_baseline_to_the_prediction():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X, y = table()
    gp = AutoGPRegressor(effort="quick").fit(X, y)
    found = gp.explain(X)
    ax = plot.explanation(found, row=3, top=2)
    assert len(ax.patches) == 3
    assert ax.get_yticklabels()[0].get_text() == "1 other"
    last = ax.patches[-1]
    assert np.isclose(last.get_x() + last.get_width(), gp.predict(X[3:4])[0], atol=1e-3)
    with pytest.raises(ValueError, match="row is 80, but must be an index below 80"):
        plot.explanation(found, row=80)
    with pytest.raises(ValueError, match="top is 0"):
        plot.explanation(found, top=0)
