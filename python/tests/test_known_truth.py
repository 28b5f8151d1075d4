"""Whether answers make sense, on tables whose truth is known."""

import numpy as np
import pandas as pd
import pytest
from cases import plain
from sklearn.ensemble import BaggingRegressor
from sklearn.linear_model import RidgeCV


def sum_of_columns(rows, columns, noise, seed=0, useful=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    return X, X[:, :useful].sum(axis=1) + noise * rng.normal(size=rows)


def r2(y, mean):
    return 1 - np.mean((y - mean) ** 2) / np.var(y)


def inside(gp, X, y, level=0.95):
    _, lower, upper = gp.predict(X, interval=level)
    return ((lower <= y) & (y <= upper)).mean(axis=0)


@pytest.mark.parametrize("model", ["dpa-ard", "rbf-ard", "gam"])
def test_many_columns_of_few_rows(model):
    scores = []
    for seed in range(0, 6, 2):
        X, y = sum_of_columns(50, 20, 1.5, seed)
        X_new, y_new = sum_of_columns(1000, 20, 1.5, seed + 1)
        gp = plain(model).fit(X, y)
        ridge = RidgeCV(np.logspace(-3, 4, 20)).fit(X, y)
        # The paper's objective finds no noise in so few rows.
        free = plain(model, shrinkage="none").fit(X, y)
        assert free.shrinkage_ is None
        gain = r2(y_new, gp.predict(X_new)) - ridge.score(X_new, y_new)
        scores.append([gain, inside(gp, X_new, y_new), inside(free, X_new, y_new)])
    gain, held, held_free = np.mean(scores, axis=0)
    assert gain > -0.1
    assert held > 0.88
    assert held_free < held - 0.03


def test_shrinkage_is_what_was_asked_for():
    X, y = sum_of_columns(60, 6, 0.5)
    equal = plain(shrinkage=0).fit(X, y)
    assert equal.shrinkage_ == 0 and np.ptp(equal.length_scales_) < 1e-9
    tied = plain(shrinkage=0.5).fit(X, y)
    assert tied.shrinkage_ == 0.5 and np.ptp(tied.length_scales_) > 0
    for bad in ("some", -1, np.nan, np.inf, True, None):
        with pytest.raises(ValueError, match="shrinkage"):
            plain(shrinkage=bad).fit(X, y)


def test_pure_noise_is_predicted_by_its_mean():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 20)), rng.normal(size=80)
    gp = plain().fit(X, y)
    new = rng.normal(size=(500, 20))
    assert gp.predict(new).std() < 0.35
    assert inside(gp, new, rng.normal(size=500)) > 0.9


def test_a_common_factor_of_weights_changes_nothing_but_the_noise():
    X, y = sum_of_columns(100, 5, 1.0)
    weight = np.random.default_rng(2).uniform(0.5, 4, size=100)
    one = plain().fit(X, y, sample_weight=weight)
    ten = plain().fit(X, y, sample_weight=10 * weight)
    np.testing.assert_allclose(ten.predict(X), one.predict(X), atol=1e-4)
    np.testing.assert_allclose(
        ten.predict(X, return_std=True)[1], one.predict(X, return_std=True)[1], rtol=1e-3
    )
    assert ten.noise_std_ / one.noise_std_ == pytest.approx(np.sqrt(10), rel=1e-3)


def test_weights_are_precisions():
    rng = np.random.default_rng(3)
    X = rng.uniform(-2, 2, size=(400, 2))
    weight = rng.choice([1.0, 25.0], size=400)
    y = np.sin(2 * X[:, 0]) + X[:, 1] + rng.normal(size=400) / np.sqrt(weight)
    gp = plain().fit(X, y, sample_weight=weight)
    assert gp.noise_std_ == pytest.approx(1.0, rel=0.15)
    equal = plain().fit(X, y)
    new = rng.uniform(-2, 2, size=(500, 2))
    truth = np.sin(2 * new[:, 0]) + new[:, 1]
    error = lambda gp: np.sqrt(np.mean((gp.predict(new) - truth) ** 2))  # noqa: E731
    assert error(gp) < 0.8 * error(equal)
    # New rows have such weights too, and nobody says which.
    noise = rng.normal(size=500) / np.sqrt(rng.choice([1.0, 25.0], size=500))
    assert inside(gp, new, truth + noise) > 0.86


def test_weights_that_have_nothing_to_do_with_the_noise():
    rng = np.random.default_rng(4)
    X, y = sum_of_columns(300, 4, 1.0)
    gp = plain().fit(X, y, sample_weight=1 / rng.uniform(0.01, 1, 300))
    X_new, y_new = sum_of_columns(1000, 4, 1.0, seed=1)
    assert inside(gp, X_new, y_new) > 0.9


def test_bagging_keeps_a_model_sane():
    X, y = sum_of_columns(120, 6, 1.0)
    X_new, y_new = sum_of_columns(500, 6, 1.0, seed=1)
    alone = plain().fit(X, y).score(X_new, y_new)
    bagged = BaggingRegressor(plain(), 3, random_state=0).fit(X, y)
    assert bagged.score(X_new, y_new) > alone - 0.05


def test_each_target_has_intervals_that_hold():
    X, quiet = sum_of_columns(200, 4, 0.05, useful=2)
    X_new, quiet_new = sum_of_columns(1000, 4, 0.05, seed=1, useful=2)
    rng = np.random.default_rng(5)
    Y = np.column_stack([quiet, X[:, 0] + 3 * rng.normal(size=200)])
    Y_new = np.column_stack([quiet_new, X_new[:, 0] + 3 * rng.normal(size=1000)])
    gp = plain().fit(X, Y)
    assert (abs(inside(gp, X_new, Y_new) - 0.95) < 0.04).all()
    assert gp.length_scales_.shape == (2, 4) and gp.directions_.shape[0] == 2
    assert gp.scale_.shape == gp.n_iter_.shape == (2,) and len(gp.shrinkage_) == 2
    # As each of them alone.
    for k in range(2):
        alone = plain().fit(X, Y[:, k])
        assert (alone.predict(X_new) == gp.predict(X_new)[:, k]).all()
        assert (alone.length_scales_ == gp.length_scales_[k]).all()
    shared = plain(independent=False).fit(X, Y)
    assert (shared.length_scales_[0] == shared.length_scales_[1]).all()
    assert abs(inside(shared, X_new, Y_new) - 0.95).max() > 0.04


def test_extrapolation():
    X = np.linspace(0, 1, 50)[:, None] * [1.0, -2.0]
    gp = plain("gam").fit(X, X[:, 0])
    new = [[0.5, -1.0], [2.0, -1.0], [0.5, 4.0]]
    mean, beyond = gp.predict(new, return_extrapolation=True)
    assert (mean == gp.predict(new)).all()
    assert beyond == pytest.approx([0.0, 1 / X[:, 0].std(), 4 / X[:, 1].std()])
    assert len(gp.predict(new, return_std=True, return_extrapolation=True)) == 3
    assert len(gp.predict(new, interval=0.9, return_extrapolation=True)) == 4
    assert len(gp.predict(new, return_cov=True, return_extrapolation=True)) == 3
    later = gp.partial_fit([[2.0, 4.0]], [2.0])
    assert (later.predict(new, return_extrapolation=True)[1] == 0).all()


@pytest.mark.parametrize("model", ["gam", "dpa-ard"])
def test_relevance_of_truth_values_and_categories(model):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "flag": rng.integers(0, 2, 150).astype(bool),
            "shop": rng.choice(["north", "east", "west"], 150),
            "size": rng.normal(size=150),
            "noise": rng.normal(size=150),
        }
    )
    effect = frame["shop"].map({"north": 0.0, "east": 1.5, "west": -1.5})
    y = 3.0 * frame["flag"] + effect + 0.5 * frame["size"] + 0.1 * rng.normal(size=150)
    gp = plain(model).fit(frame, y)
    assert list(gp.relevance_) == ["flag", "shop", "size", "noise"]
    assert gp.feature_importances_.sum() == pytest.approx(1)
    # Shares of the variance: 2.25, 1.5 and 0.25 of 4.
    expected = np.array([3**2 * frame["flag"].var(), effect.var(), 0.25 * frame["size"].var(), 0])
    expected /= expected.sum()
    assert gp.feature_importances_ == pytest.approx(expected, abs=0.07)
