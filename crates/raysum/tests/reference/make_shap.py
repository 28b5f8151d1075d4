"""Freeze contributions by the package shap of a linear and of an additive model in shap.json.

    pip install shap
    python make_shap.py

The reference row of shap is the row of the columns' means, as in `explain`. Its exact explainer
goes through all subsets of columns, so that its numbers are Shapley values, not estimates of them.
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import shap
from raysum import ProjectedAdditiveGPRegressor

ROWS, COLUMNS, EXPLAINED = 80, 4, 6


def main():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(ROWS, COLUMNS)).round(3)
    targets = {
        "linear": X @ [1.5, -2.0, 0.5, 0.0] + 3.0,
        "gam": np.sin(2 * X[:, 0]) + X[:, 1] ** 2 - np.abs(X[:, 2]),
    }
    cases = {}
    for model, y in targets.items():
        y = (y + 0.05 * rng.normal(size=ROWS)).round(4)
        gp = ProjectedAdditiveGPRegressor(model=model).fit(X, y)
        means = X.mean(axis=0, keepdims=True)
        explained = shap.explainers.Exact(gp.predict, means)(X[:EXPLAINED])
        cases[model] = {
            "y": y.tolist(),
            "baseline": float(np.ravel(explained.base_values)[0]),
            "contributions": explained.values.round(8).tolist(),
        }
    result = {"shap": version("shap"), "X": X.tolist(), "cases": cases}
    Path(__file__).with_name("shap.json").write_text(json.dumps(result) + "\n")


main()
