"""Small data that many tests share."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from raysum import ProjectedAdditiveGPRegressor

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def table():
    """X as a frame of three columns, and y, a series."""
    rng = np.random.default_rng(7)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=["a", "b", "c"])
    y = np.sin(X["a"] + X["b"]) + 0.3 * X["a"] + 0.1 * rng.normal(size=120)
    return X, y.rename("target")


@pytest.fixture(scope="session")
def fitted(table):
    """A model of it, which tests leave as it is."""
    return ProjectedAdditiveGPRegressor(intervals="gaussian").fit(*table)


@pytest.fixture(scope="session")
def command():
    """Runs the command line; `make test` has built it."""
    path = os.environ.get("RAYSUM_BIN", ROOT / "target" / "debug" / "raysum")

    def run(*words):
        return subprocess.run(
            [path, *map(str, words)], check=True, capture_output=True, text=True
        ).stdout

    return run
