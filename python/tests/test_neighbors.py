"""The engine that conditions each row on its neighbours."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from cases import plain
from raysum import ProjectedAdditiveGPRegressor

RNG = np.random.default_rng(5)
X = RNG.normal(size=(300, 3))
Y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * RNG.normal(size=300)


def fitted(rows=250, **parameters):
    given = {"model": "linear+matern32-ard", "engine": "neighbors", "max_evaluations": 200}
    return plain(**(given | parameters)).fit(X[:rows], Y[:rows])


@pytest.fixture(scope="module")
def gp():
    return fitted()


def test_predictions_are_about_those_of_the_dense_engine(gp):
    dense = fitted(engine="dense")
    assert gp.engine_ == "neighbors"
    mean, std = gp.predict(X[250:], return_std=True)
    expected, spread = dense.predict(X[250:], return_std=True)
    assert np.sqrt(np.mean((mean - expected) ** 2)) < 0.1 * Y.std()
    assert 0.7 < np.median(std / spread) < 1.4
    assert gp.coverage(X[250:], Y[250:]).shares > 0.85


def test_with_all_rows_as_neighbours_it_is_exact():
    gp = fitted(rows=60, neighbors=60, prediction_neighbors=60)
    dense = fitted(rows=60, engine="dense")
    gap = abs(gp.log_marginal_likelihood() - dense.log_marginal_likelihood())
    assert gap < 0.05 and gp.neighbors == 60


def test_files_pickles_and_updates_keep_it(gp, tmp_path):
    gp.save(tmp_path / "m")
    back = ProjectedAdditiveGPRegressor.load(tmp_path / "m")
    assert back.engine == "neighbors"
    np.testing.assert_array_equal(back.predict(X), gp.predict(X))
    again = pickle.loads(pickle.dumps(gp)).partial_fit(X[250:], Y[250:])
    before = np.abs(gp.predict(X[250:]) - Y[250:]).mean()
    assert np.abs(again.predict(X[250:]) - Y[250:]).mean() < before


def test_what_it_cannot_do_is_a_sentence(gp):
    with pytest.raises(ValueError, match="a model of the neighbors engine does not support"):
        gp.sample_y(X[:5])


@pytest.mark.parametrize("name", ["neighbors", "prediction_neighbors"])
def test_its_settings_are_checked(name):
    with pytest.raises(ValueError, match=f"The '{name}' parameter"):
        fitted(**{name: 0})
    with pytest.raises(ValueError, match="is a setting of the neighbors engine"):
        fitted(**{name: 10}, model="gam", engine="dense")
