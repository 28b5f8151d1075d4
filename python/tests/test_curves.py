"""Curves along directions, coverage, and the names of targets: what pictures are drawn from."""

import numpy as np
import pandas as pd
import pytest
from cases import plain
from raysum import ProjectedAdditiveGPRegressor


@pytest.fixture(scope="module")
def two(table):
    """A model of two targets with names."""
    X, y = table
    Y = pd.DataFrame({"first": y, "second": 3 * X["c"]})
    return plain("gam").fit(X, Y), Y


def test_a_curve_goes_through_the_components_of_rows(two, table):
    gp, _ = two
    X = table[0]
    for target in (0, 1):
        curve = gp.component_curves(X, components=[2], target=target)[0]
        assert curve.component == 2
        np.testing.assert_array_equal(curve.direction != 0, [False, False, True])
        np.testing.assert_array_equal(curve.coordinate, X["c"])
        assert curve.points[0] == X["c"].min() and curve.points[-1] == X["c"].max()
        values = gp.components(X)[:, target, 2]
        at_rows = np.interp(X["c"], curve.points, curve.mean)
        np.testing.assert_allclose(at_rows, values - values.mean(), atol=0.01)
        assert (curve.std >= 0).all() and curve.std.max() > 0


def test_the_curves_that_vary_most_come_first(fitted, table):
    X = table[0]
    curves = fitted.component_curves(X)
    order = np.argsort(-fitted.components(X).var(axis=0), kind="stable")[:6]
    assert [curve.component for curve in curves] == order.tolist()
    directions = fitted.directions_[order] / fitted.length_scales_
    np.testing.assert_array_equal([curve.direction for curve in curves], directions)
    standard = (X - X.mean()) / X.std(ddof=0)
    projected = standard.to_numpy() @ directions[0]
    np.testing.assert_allclose(curves[0].coordinate, projected, atol=1e-12)


def test_coverage_is_the_share_of_rows_in_the_intervals(two, table):
    gp, Y = two
    X = table[0]
    levels = [0.9, 0.3]
    found = gp.coverage(X, Y, levels)
    assert found.levels.tolist() == levels and found.n_samples == len(X)
    assert found.shares.shape == (2, 2)
    for share, level in zip(found.shares, levels):
        _, lower, upper = gp.predict(X, interval=level)
        np.testing.assert_allclose(share, ((lower <= Y) & (upper >= Y)).mean())
    one = plain("gam").fit(X, Y["first"])
    assert one.coverage(X, Y["first"]).shares.shape == (1,)


def test_coverage_leaves_out_missing_targets(table):
    X, y = table
    gp = plain("gam", missing="drop").fit(X, y)
    some = y.where(np.arange(len(y)) % 3 > 0)
    kept = some.notna()
    found, expected = gp.coverage(X, some, 0.5), gp.coverage(X[kept], y[kept], 0.5)
    assert found.n_samples == expected.n_samples == 80
    np.testing.assert_array_equal(found.shares, expected.shares)


@pytest.mark.parametrize("levels", [0, 1.0, [0.5, np.nan], []])
def test_levels_are_probabilities(fitted, table, levels):
    with pytest.raises(ValueError, match="levels must be probabilities between 0 and 1"):
        fitted.coverage(*table, levels)


def test_names_of_targets(two, fitted, table, tmp_path):
    assert two[0].target_names_ == ["first", "second"]
    assert fitted.target_names_ == ["target"]
    fitted.save(tmp_path / "model")
    assert ProjectedAdditiveGPRegressor.load(tmp_path / "model").target_names_ == ["target"]
    X, y = (part.to_numpy() for part in table)
    assert plain("gam").fit(X, y).target_names_ == [None]
