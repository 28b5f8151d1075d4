"""Sums of models, and columns by their ranks."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from cases import plain
from raysum import ProjectedAdditiveGPRegressor
from sklearn.base import clone
from sklearn.linear_model import Ridge

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 3))
Y = 3 * X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * X[:, 1] * X[:, 2] + 0.1 * RNG.normal(size=160)


@pytest.fixture(scope="module")
def fitted():
    return plain("linear+gam:matern52+dpa-ard:8x1").fit(X, Y)


def test_the_terms_of_a_sum_are_there(fitted):
    linear, gam, dpa = fitted.terms_
    assert [term.name for term in fitted.terms_] == ["linear", "gam:matern52", "dpa-ard:8x1"]
    assert [term.kernel for term in fitted.terms_] == ["linear", "matern52", "rbf"]
    assert len(linear.length_scales) == 0 and len(gam.length_scales) == 3
    assert len(fitted.degrees_) == 3 + 3 + 8 and fitted.directions_.shape == (14, 3)
    variances = np.concatenate([term.variances for term in fitted.terms_])
    np.testing.assert_allclose(fitted.scale_, variances.sum())
    np.testing.assert_allclose(fitted.weights_, variances / variances.sum())
    assert len(dpa.variances) == 8


def test_components_add_up_and_curves_are_drawn(fitted):
    values = fitted.components(X)
    np.testing.assert_allclose(values.sum(axis=1) + fitted.constant_, fitted.predict(X))
    line, bend = fitted.component_curves(X, components=[0, 4])
    slopes = np.diff(line.mean) / np.diff(line.points)
    np.testing.assert_allclose(slopes, slopes[0], rtol=1e-6)
    assert np.ptp(np.diff(bend.mean) / np.diff(bend.points)) > 0.1
    assert len(fitted.component_curves(X)) == 6


@pytest.mark.parametrize(
    "parameters",
    [
        {"model": "linear+gam:matern52+dpa-ard:8x1"},
        {"model": "linear+matern32", "columns_scale": "ranks", "length_scale_prior": "flat"},
        {"model": "rbf", "ard": True},
    ],
)
def test_a_file_and_a_pickle_keep_it(parameters, tmp_path):
    few, target = X[:60], Y[:60]
    gp = plain(max_evaluations=200, **parameters).fit(few, target)
    gp.save(tmp_path / "m")
    back = ProjectedAdditiveGPRegressor.load(tmp_path / "m")
    expected = clone(gp).get_params()
    assert {key: back.get_params()[key] for key in parameters} == {
        key: expected[key] for key in parameters
    }
    for other in (back, pickle.loads(pickle.dumps(gp)), clone(back).fit(few, target)):
        np.testing.assert_array_equal(other.predict(X), gp.predict(X))


def test_linear_is_ridge_regression():
    gp = plain("linear").fit(X, Y)
    [term] = gp.terms_
    mean, std = X.mean(axis=0), X.std(axis=0)
    scaled = (Y - Y.mean()) / Y.std()
    # The noise in standardised units over the variance of a coefficient.
    noise = (gp.noise_std_ / Y.std()) ** 2
    ridge = Ridge(alpha=noise / term.variances[0], fit_intercept=False)
    constant = (gp.constant_ - Y.mean()) / Y.std()
    ridge.fit((X - mean) / std, scaled - constant)
    expected = (ridge.predict((X - mean) / std) + constant) * Y.std() + Y.mean()
    np.testing.assert_allclose(gp.predict(X), expected, atol=1e-7)


def test_ranks_do_not_see_monotone_changes():
    bent = X.copy()
    bent[:, 1] = np.exp(3 * X[:, 1])
    by_ranks = plain("gam", columns_scale="ranks")
    a, b = clone(by_ranks).fit(X, Y), clone(by_ranks).fit(bent, Y)
    np.testing.assert_array_equal(a.predict(X), b.predict(bent))
    assert np.isfinite(a.predict(np.full((1, 3), 1e300))).all()
    # Functions of one column are drawn, those along other lines are not.
    a.component_curves(X)
    dpa = plain(columns_scale="ranks", max_evaluations=200).fit(X, Y)
    with pytest.raises(ValueError, match="several columns that are not on the standard scale"):
        dpa.component_curves(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fewer_directions_on_heavy_tails_are_a_warning():
    x = np.exp(3 * np.random.default_rng(4).normal(size=(2_100, 2)))
    sums = plain("gam+dpa-ard", max_evaluations=2)
    with pytest.warns(UserWarning, match="dpa-ard has fewer"):
        sums.fit(x, np.log(x[:, 0]))


def test_cuts_find_steps():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 3))
    y = 2.0 * (x[:, 0] > 0.3) + 3.0 * ((x[:, 1] > -0.4) & (x[:, 2] > 0.1))
    y = y + 0.1 * rng.normal(size=400)
    error = {}
    for scale in ["ranks", "cuts"]:
        gp = plain("laplace-ard", columns_scale=scale, max_evaluations=30).fit(x[:200], y[:200])
        error[scale] = np.sqrt(np.mean((gp.predict(x[200:]) - y[200:]) ** 2))
    assert error["cuts"] < 0.7 * error["ranks"], error


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"model": "gam+svm"}, "unknown model 'svm'"),
        ({"model": "gam+"}, "is empty"),
        ({"model": "gam:spline"}, "unknown kernel 'spline'"),
        ({"model": "linear:rbf"}, "has no kernel and no degrees"),
        ({"model": "gam:80"}, "'80' does not describe degrees"),
        ({"model": "gam:rbf:imq"}, "'gam:rbf:imq' has two kernels"),
        ({"model": "linear+gam", "kernel": "imq"}, "the model is a sum of terms"),
        ({"model": "linear+gam", "n_projections": 3}, "the model is a sum of terms"),
        ({"model": "linear", "ard": True}, "the linear model has no kernel"),
        ({"model": "linear+gam", "engine": "ski"}, "no grid for the linear term"),
        ({"columns_scale": "logs"}, "must be a str among"),
        ({"length_scale_prior": "wide"}, "must be a str among"),
    ],
)
def test_what_is_no_model_is_refused(parameters, text):
    with pytest.raises(ValueError, match=text):
        plain(**parameters).fit(X, Y)
