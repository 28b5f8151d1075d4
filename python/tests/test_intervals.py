"""Calibrated intervals and quantiles of a single model."""

import numpy as np
import pytest
from raysum import ProjectedAdditiveGPRegressor
from scipy.stats import norm


@pytest.fixture(scope="module")
def both(table):
    """The same model with calibrated intervals and with those of the Gaussian process."""
    X, y = table
    gaussian = ProjectedAdditiveGPRegressor("gam", intervals="gaussian").fit(X, y)
    return ProjectedAdditiveGPRegressor("gam").fit(X, y), gaussian


def test_the_mean_is_that_of_the_gaussian_process(both, table):
    X, y = table
    calibrated, gaussian = both
    mean, std = calibrated.predict(X, return_std=True)
    plain, plain_std = gaussian.predict(X, return_std=True)
    assert (mean == plain).all()
    assert np.allclose(std, calibrated.inflation_ * plain_std)
    assert (calibrated.history_ == gaussian.history_).all()
    assert calibrated.log_marginal_likelihood() == gaussian.log_marginal_likelihood()
    assert calibrated.noise_std_ == gaussian.noise_std_
    assert (calibrated.loo(X, y)[0] == gaussian.loo(X, y)[0]).all()


def test_what_held_out_rows_show(both):
    calibrated, gaussian = both
    scores = calibrated.scores_
    assert (scores.rows, scores.folds) == (120, 5)
    assert list(scores.tried) == ["linear", "gam"] and scores.tried["linear"] == scores.ridge
    assert scores.stack.rmse < scores.constant.rmse and 0.85 < scores.stack.coverage95 <= 1
    assert list(calibrated.calibration_) == [0.5, 0.8, 0.9, 0.95, 0.99]
    assert 0.5 < calibrated.inflation_ < 3
    assert gaussian.scores_ is None and gaussian.calibration_ is None
    assert gaussian.inflation_ == 1.0


def test_quantiles_are_the_ends_of_intervals(both, table):
    X, _ = table
    for gp in both:
        mean, std, lower, upper = gp.predict(X, return_std=True, interval=0.8)
        quantiles = gp.predict(X, quantiles=[0.1, 0.5, 0.9])
        assert quantiles.shape == (120, 3)
        assert np.allclose(quantiles[:, [0, 2]], np.stack([lower, upper], axis=1))
        again = gp.predict(X, return_std=True, quantiles=(0.1, 0.5, 0.9))
        assert all((a == b).all() for a, b in zip(again, (mean, std, quantiles)))
    # Those of a Gaussian process have a closed form.
    expected = mean[:, None] + std[:, None] * norm.ppf([0.1, 0.5, 0.9])
    assert np.allclose(quantiles, expected, rtol=1e-9)


@pytest.mark.parametrize("independent", [True, False])
def test_several_targets(table, independent):
    X, y = table[0][:50], table[1][:50]
    Y = np.column_stack([y, X["c"] + 0.2 * y])
    gp = ProjectedAdditiveGPRegressor("gam", independent=independent).fit(X, Y)
    assert len(gp.scores_) == len(gp.calibration_) == 2 and gp.inflation_.shape == (2,)
    quantiles = gp.predict(X, quantiles=[0.05, 0.5, 0.95])
    assert quantiles.shape == (50, 3, 2) and (np.diff(quantiles, axis=1) > 0).all()
    assert gp.predict(X[:1], quantiles=0.5).shape == (1, 1, 2)


def test_intervals_hold_where_errors_are_not_normal():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1400, 2))
    y = X[:, 0] + rng.exponential(size=1400) ** 1.5
    train, test = slice(400), slice(400, None)
    shares = [0.05, 0.25, 0.75, 0.95]
    gp = ProjectedAdditiveGPRegressor("linear").fit(X[train], y[train])
    below = (y[test, None] < gp.predict(X[test], quantiles=shares)).mean(axis=0)
    assert below == pytest.approx(shares, abs=0.05)
    assert gp.coverage(X[test], y[test], 0.9).shares == pytest.approx([0.9], abs=0.04)


def test_known_noise_and_weights(table):
    X, y = table
    gp = ProjectedAdditiveGPRegressor("gam").fit(
        X, y, sample_weight=np.arange(120) % 3, noise_std=0.1
    )
    assert gp.scores_.rows == 80
    narrow = gp.predict(X, noise_std=0.0, quantiles=[0.1, 0.9])
    wide = gp.predict(X, noise_std=3.0, quantiles=[0.1, 0.9])
    assert (np.diff(wide) > np.diff(narrow)).all()


@pytest.mark.parametrize("copies", [1, 4])
def test_few_distinct_rows_are_not_calibrated(table, copies):
    X, y = table
    X, y = np.tile(X[:9], (copies, 1)), np.tile(y[:9], copies)
    gp = ProjectedAdditiveGPRegressor().fit(X, y)
    assert gp.scores_ is None and gp.calibration_ is None and gp.inflation_ == 1.0
    assert np.isfinite(gp.predict(X, quantiles=0.5)).all()


def test_a_file_keeps_the_calibration(both, table, tmp_path):
    X, _ = table
    for gp in both:
        gp.save(tmp_path / "m.raysum")
        again = ProjectedAdditiveGPRegressor.load(tmp_path / "m.raysum")
        assert again.get_params() == gp.get_params()
        assert (again.predict(X, quantiles=0.9) == gp.predict(X, quantiles=0.9)).all()
        assert again.calibration_ == gp.calibration_ and again.scores_ == gp.scores_


@pytest.mark.parametrize("wrong", [[], 0, 1, [0.1, 1.5], [np.nan], [-0.1]])
def test_quantiles_are_probabilities(both, table, wrong):
    with pytest.raises(ValueError, match="quantiles must be probabilities between 0 and 1"):
        both[0].predict(table[0], quantiles=wrong)
