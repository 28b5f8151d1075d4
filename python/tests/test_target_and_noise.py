"""Targets on the scale of a power, and noise that depends on the columns."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from cases import plain
from raysum import ProjectedAdditiveGPRegressor

RNG = np.random.default_rng(3)


def skewed(n: int) -> tuple[np.ndarray, np.ndarray]:
    X = RNG.normal(size=(n, 2))
    return X, np.exp(np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.3 * RNG.normal(size=n))


def fanned(n: int) -> tuple[np.ndarray, np.ndarray]:
    X = RNG.normal(size=(n, 2))
    return X, np.sin(X[:, 1]) + 0.3 * np.exp(0.6 * X[:, 0]) * RNG.normal(size=n)


@pytest.fixture(scope="module")
def transformed():
    X, y = skewed(200)
    gp = plain("linear+gam", target_scale="yeo-johnson")
    return gp.fit(X, y), X, y


def test_a_transformed_target_has_exact_intervals_and_stays_positive(transformed):
    gp, _, _ = transformed
    assert gp.target_transformation_ == "logarithm"
    X, y = skewed(500)
    mean, std, lower, upper = gp.predict(X, return_std=True, interval=0.95)
    assert (lower > 0).all() and (lower < mean).all() and (mean < upper).all()
    inside = np.mean((lower <= y) & (y <= upper))
    assert 0.91 < inside < 0.99
    assert gp.coverage(X, y, 0.95).shares == inside
    # Intervals are wider above the mean than below it.
    assert np.mean(upper - mean > mean - lower) > 0.99
    np.testing.assert_allclose(gp.predict(X), mean)
    untransformed = plain("linear+gam").fit(*transformed[1:])
    assert gp.log_marginal_likelihood() > untransformed.log_marginal_likelihood() + 30
    assert untransformed.target_transformation_ is None
    draws = gp.sample_y(X[:20], 2000)
    np.testing.assert_allclose(draws.mean(axis=1), mean[:20], atol=5 * std[:20].max() / 44)
    assert (draws > 0).all()


def test_what_a_transformed_target_lacks_is_a_sentence(transformed):
    gp, X, _ = transformed
    with pytest.raises(ValueError, match="cannot be combined with a target scale; fit with"):
        gp.predict(X, return_cov=True)
    with pytest.raises(ValueError, match="known noise cannot be combined with a target scale"):
        gp.predict(X, return_std=True, noise_std=0.1)
    # Components are those of the transformed target.
    values = gp.components(X).sum(axis=1) + gp.constant_
    order = np.argsort(values)
    median = gp.predict(X, interval=1e-9)[1]
    assert (np.diff(median[order]) > 0).all()


def test_files_and_pickles_keep_both(transformed, tmp_path):
    gp, X, y = transformed
    gp.save(tmp_path / "m")
    back = ProjectedAdditiveGPRegressor.load(tmp_path / "m")
    assert back.target_scale == "yeo-johnson"
    np.testing.assert_array_equal(back.predict(X), gp.predict(X))
    X, y = fanned(300)
    gp = plain("gam", noise="columns").fit(X, y)
    back = pickle.loads(pickle.dumps(gp))
    assert back.noise == "columns" and back.noise_relevance_ == gp.noise_relevance_
    np.testing.assert_array_equal(back.predict_noise(X), gp.predict_noise(X))


def test_noise_that_depends_on_a_column_is_found():
    X, y = fanned(500)
    gp = plain("gam", noise="columns").fit(X, y)
    assert next(iter(gp.noise_relevance_)) == "x0" and gp.noise_relevance_["x0"] > 0.8
    low, high = gp.predict_noise([[-1.5, 0.0], [1.5, 0.0]])
    assert 0.7 < low / (0.3 * np.exp(-0.9)) < 1.4
    assert 0.7 < high / (0.3 * np.exp(0.9)) < 1.4
    X, y = fanned(1000)
    quiet = X[:, 0] < -0.5
    _, lower, upper = gp.predict(X, interval=0.9)
    inside = (lower <= y) & (y <= upper)
    constant = plain("gam").fit(X[:500], y[:500])
    assert constant.noise_relevance_ == {}
    assert np.ptp(constant.predict_noise(X)) < 1e-12
    assert abs(inside[quiet].mean() - 0.9) < 0.06 and abs(inside[~quiet].mean() - 0.9) < 0.06
    # Constant noise is too wide where there is little.
    _, lower, upper = constant.predict(X[500:][quiet[500:]], interval=0.9)
    observed = y[500:][quiet[500:]]
    assert np.mean((lower <= observed) & (observed <= upper)) > 0.96


def test_several_targets_have_their_own():
    X, y = skewed(150)
    Y = np.column_stack([y, X[:, 0] - X[:, 1]])
    gp = plain("gam", target_scale="yeo-johnson", noise="columns")
    gp.fit(X, Y)
    first, second = gp.target_transformation_
    assert first == "logarithm" and second.startswith("Yeo–Johnson")
    assert gp.predict_noise(X).shape == (150, 2)
    with pytest.raises(ValueError, match="the noise of rows belongs to one target"):
        gp.set_params(independent=False).fit(X, Y)


@pytest.mark.parametrize(("name", "value"), [("target_scale", "log"), ("noise", "rows")])
def test_other_names_are_refused(name, value):
    with pytest.raises(ValueError, match="must be a str among"):
        plain(**{name: value}).fit(*skewed(20))
