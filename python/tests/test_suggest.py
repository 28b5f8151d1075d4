"""The next rows to try."""

import numpy as np
import pandas as pd
import polars
import pytest
from cases import plain
from raysum import ProjectedAdditiveGPRegressor


def fitted(X, y):
    return ProjectedAdditiveGPRegressor("rbf-ard", intervals="gaussian").fit(X, y)


@pytest.fixture(scope="module")
def kitchen():
    """Bread is best after 30 minutes at 220 degrees, from rye."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "minutes": rng.integers(10, 60, 60),
            "heat": rng.uniform(150, 250, 60),
            "flour": rng.choice(["rye", "wheat"], 60),
        }
    )
    taste = -(((X["minutes"] - 30) / 20) ** 2) - ((X["heat"] - 220) / 40) ** 2
    return X, taste + (X["flour"] == "rye")


def test_the_best_is_suggested(kitchen):
    X, y = kitchen
    gp = fitted(X, y)
    rows = gp.suggest(n=5, maximize=True)
    assert list(rows.columns) == ["minutes", "heat", "flour"] and len(rows) == 5
    near = (abs(rows["minutes"] - 30) < 8) & (abs(rows["heat"] - 220) < 15)
    assert (near & (rows["flour"] == "rye")).sum() >= 3
    # They are rows like those of the fit.
    assert gp.predict(rows).min() > np.quantile(y, 0.9)
    assert rows.equals(gp.suggest(n=5, maximize=True))
    assert not rows.equals(gp.suggest(n=5, maximize=True, random_state=1))
    low = gp.suggest(n=5)
    assert gp.predict(low).max() < np.quantile(y, 0.1)


def test_bounds(kitchen):
    gp = fitted(*kitchen)
    bounds = {"minutes": range(40, 43), "heat": (200, 205.5), "flour": "wheat"}
    rows = gp.suggest(bounds, n=6, maximize=True)
    assert set(rows["minutes"]) <= {40, 41, 42} and set(rows["flour"]) == {"wheat"}
    assert rows["heat"].between(200, 205.5).all() and not rows.duplicated().any()
    rows = gp.suggest({"heat": [180, 190]}, n=3)
    assert set(rows["heat"]) <= {180, 190}


def test_arrays_and_several_targets():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, size=(50, 2))
    Y = np.stack([(X[:, 0] - 0.2) ** 2, (X[:, 1] - 0.7) ** 2], axis=1)
    gp = fitted(X, Y)
    first, second = gp.suggest(n=3), gp.suggest({0: 0.5}, n=3, target=1)
    assert first.shape == second.shape == (3, 2)
    assert (abs(first[:, 0] - 0.2) < 0.05).all() and (abs(second[:, 1] - 0.7) < 0.05).all()
    assert (second[:, 0] == 0.5).all()


def test_dates_and_polars():
    days = pd.date_range("2026-01-01", periods=40, freq="D")
    frame = polars.DataFrame({"day": days.to_numpy(), "a": np.arange(40.0)})
    gp = fitted(frame, (np.arange(40.0) - 20) ** 2)
    start, end = pd.Timestamp("2026-01-03"), pd.Timestamp("2026-01-06")
    rows = gp.suggest({"day": (start, end)}, n=2)
    assert rows["day"].between(start, end).all()


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"n": 0}, "0 points cannot be suggested at once, but 1 to 100 can"),
        ({"n": 101}, "101 points cannot be suggested"),
        ({"n": 1.5}, "n is 1.5, but must be a whole number"),
        ({"bounds": {"z": (0, 1)}}, "the model has no column 'z'"),
        ({"bounds": {"a": (1, 0)}}, "column 'a': the lower bound 1 is above the upper one, 0"),
        ({"bounds": {"a": (1, 2, 3)}}, r"bounds of 'a': write \(low, high\)"),
        ({"bounds": {"a": range(0, 9, 2)}}, "a range must have steps of 1"),
        ({"bounds": {"a": []}}, "bounds of 'a': there are no options"),
        ({"bounds": {"a": ["red"]}}, "column 'a': 'red' is not a number"),
        ({"bounds": {"a": (0, np.inf)}}, "column 'a': 'inf' is not a number"),
        ({"target": 3}, "target is 3, but there are 1"),
        ({"target": "price"}, "there is no target 'price'"),
    ],
)
def test_what_cannot_be_suggested(table, settings, says):
    X, y = table
    gp = plain().fit(X, y)
    with pytest.raises(ValueError, match=says):
        gp.suggest(**settings)
    with pytest.raises(ValueError, match="columns go by their position, 0 to 2"):
        plain().fit(X.to_numpy(), y).suggest({"a": (0, 1)})
