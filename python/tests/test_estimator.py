"""What the estimator says, against what it must be."""

import sys
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from cases import plain
from raysum import _raysum
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

MODELS = _raysum.names()["model"]


@pytest.mark.parametrize("model", MODELS)
def test_every_model_fits_and_predicts_with_its_uncertainty(table, model):
    X, y = table
    # The engine of these two takes its time for each projection.
    few = {"n_projections": 5} if model.endswith("-ski") else {}
    gp = plain(model, max_evaluations=200, noise_bounds=(1e-3, 10.0), **few)
    gp.fit(X, y)
    mean, std, lower, upper = gp.predict(X, return_std=True, interval=0.9)
    assert np.isfinite(mean).all() and (std > 0).all()
    assert np.allclose((upper - lower) / std, 2 * 1.6448536269514722)
    if model != "single-rp":
        assert gp.score(X, y) > 0.7, gp.score(X, y)
    # 95 % of a model's own data is about inside its 90 % interval: it has seen it.
    assert np.mean((lower < y) & (y < upper)) > 0.8


def test_the_usual_gaussian_process_is_that_of_scikit_learn(table):
    X, y = table
    gp = plain("rbf-ard", max_evaluations=200).fit(X, y)
    standard, unit = (X - X.mean()) / X.std(ddof=0), y.std(ddof=0)
    mean = (gp.constant_ - y.mean()) / unit
    kernel = ConstantKernel(gp.scale_) * RBF(gp.length_scales_)
    noise = (gp.noise_std_ / unit) ** 2
    peer = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None)
    peer.fit(standard, (y - y.mean()) / unit - mean)
    expected, std = peer.predict(standard, return_std=True)
    found, found_std = gp.predict(X, return_std=True)
    assert np.allclose(found, (expected + mean) * unit + y.mean(), atol=1e-9)
    assert np.allclose(found_std, np.sqrt(std**2 + noise) * unit, atol=1e-9)
    assert gp.log_marginal_likelihood() == pytest.approx(peer.log_marginal_likelihood_value_)
    latent = gp.predict(X, return_cov=True)[1] - gp.noise_std_**2 * np.eye(120)
    assert np.allclose(latent, peer.predict(standard, return_cov=True)[1] * unit**2, atol=1e-9)


def test_covariance_and_deviation_are_of_the_same_thing(fitted, table):
    X, _ = table
    mean, std = fitted.predict(X, return_std=True)
    same, cov = fitted.predict(X, return_cov=True)
    assert np.allclose(mean, same) and np.allclose(np.sqrt(np.diag(cov)), std)
    assert (fitted.predict(X) == mean).all()


def test_draws_scatter_as_the_prediction_says(fitted, table):
    X, _ = table
    mean, std = fitted.predict(X[:5], return_std=True)
    draws = fitted.sample_y(X[:5], n_samples=600)
    assert draws.shape == (5, 600)
    assert np.abs(draws.mean(axis=1) - mean).max() < 5 * std.max() / np.sqrt(600)
    assert np.allclose(draws.std(axis=1), std, rtol=0.1)
    smooth = fitted.sample_y(X[:5], n_samples=600, noise=False)
    latent = np.sqrt(std**2 - fitted.noise_std_**2)
    assert np.allclose(smooth.std(axis=1), latent, rtol=0.1)


def test_a_drawn_function_is_the_same_at_any_rows(fitted, table):
    X, _ = table
    draw = lambda X, n: fitted.sample_y(X, n, random_state=3, noise=False)  # noqa: E731
    assert (draw(X, 4)[10:20, :2] == draw(X[10:20], 2)).all()
    assert not (draw(X, 1) == fitted.sample_y(X, random_state=4, noise=False)).any()
    prior = fitted.sample_y(X, 500, noise=False, prior=True)
    assert np.sqrt(fitted.scale_) * table[1].std() == pytest.approx(prior.std(), rel=0.15)


def test_components_add_up(fitted, table):
    X, _ = table
    values, std = fitted.components(X, return_std=True)
    assert values.shape == std.shape == (120, 20)
    assert np.allclose(values.sum(axis=1) + fitted.constant_, fitted.predict(X))
    assert (std > 0).all()


def test_slopes_are_those_of_the_mean(fitted, table):
    X, _ = table
    step = 1e-5
    for j, name in enumerate(X.columns):
        up, down = X.copy(), X.copy()
        up[name] += step
        down[name] -= step
        slope = (fitted.predict(up) - fitted.predict(down)) / (2 * step)
        assert np.allclose(fitted.gradient(X)[:, j], slope, atol=1e-6)


def test_leave_one_out_is_a_fit_without_the_row(table):
    X, y = table
    gp = plain("rbf-ard").fit(X, y)
    mean, std = gp.loo(X, y)
    # The scales are those of all rows, so a model without row 0 is the one that forgot it.
    standard, unit = (X - X.mean()) / X.std(ddof=0), y.std(ddof=0)
    c = (gp.constant_ - y.mean()) / unit
    noise = (gp.noise_std_ / unit) ** 2
    kernel = ConstantKernel(gp.scale_) * RBF(gp.length_scales_)
    for i in (0, 57, 119):
        rest = np.arange(120) != i
        peer = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None)
        peer.fit(standard[rest], ((y - y.mean()) / unit - c)[rest])
        m, s = peer.predict(standard[i : i + 1], return_std=True)
        assert mean[i] == pytest.approx((m[0] + c) * unit + y.mean())
        assert std[i] == pytest.approx(np.sqrt(s[0] ** 2 + noise) * unit)


def test_relevance_names_the_columns(fitted):
    assert set(fitted.relevance_) == {"a", "b", "c"}
    assert list(fitted.relevance_)[2] == "c"
    assert sum(fitted.relevance_.values()) == pytest.approx(1)
    assert list(fitted.feature_importances_) == [fitted.relevance_[name] for name in "abc"]


def test_relevance_without_names(table):
    X, y = table
    gp = plain().fit(X.to_numpy(), y)
    assert set(gp.relevance_) == {"x0", "x1", "x2"}


@pytest.mark.parametrize("engine", ["dense", "weight"])
def test_rows_that_come_later_are_as_good_as_those_that_were_there(table, engine):
    X, y = table
    gp = plain(engine=engine, n_projections=5)
    first = clone(gp).fit(X[:100], y[:100])
    before = first.predict(X, return_std=True)
    one = first.partial_fit(X[100:101], y[100:101]).partial_fit(X[101:], y[101:])
    assert one is first
    again = clone(gp).partial_fit(X[:100], y[:100])
    assert all((a == b).all() for a, b in zip(again.predict(X, return_std=True), before))
    # What sees all rows has smaller errors at the later ones.
    later = slice(100, None)
    assert np.abs(one.predict(X) - y)[later].mean() < np.abs(before[0] - y)[later].mean()
    mean, std = again.partial_fit(X[100:], y[100:]).predict(X, return_std=True)
    assert np.allclose(mean, one.predict(X), atol=1e-6)
    assert (std <= before[1] + 1e-9).all()


def test_weights_are_repetitions(table):
    X, y = table
    X, y = X[:40], y[:40]
    weights = np.arange(40) % 3
    one = plain().fit(X, y, sample_weight=weights)
    other = plain().fit(X.loc[X.index.repeat(weights)], y.repeat(weights))
    assert np.allclose(one.predict(X), other.predict(X), rtol=1e-9)


def test_known_noise_widens_the_interval(table):
    X, y = table
    noise = np.where(np.arange(120) < 60, 0.0, 0.5)
    gp = plain().fit(X, y, noise_std=noise)
    mean, std = gp.predict(X, return_std=True)
    same, wider = gp.predict(X, return_std=True, noise_std=0.5)
    assert (mean == same).all()
    assert np.allclose(wider**2, std**2 + 0.25)
    cov = gp.predict(X, return_cov=True, noise_std=np.full(120, 0.5))[1]
    assert np.allclose(np.sqrt(np.diag(cov)), wider)
    assert gp.loo(X, y, noise_std=noise)[1][100] > 0.5


def test_several_targets(table):
    X, y = table
    Y = pd.DataFrame({"y": y, "twice": 2 * y, "other": X["c"]})
    gp = plain().fit(X, Y)
    mean, std, lower, upper = gp.predict(X, return_std=True, interval=0.5)
    assert mean.shape == std.shape == lower.shape == upper.shape == (120, 3)
    assert np.allclose(mean[:, 1], 2 * mean[:, 0]) and np.allclose(std[:, 1], 2 * std[:, 0])
    assert gp.predict(X, return_cov=True)[1].shape == (120, 120, 3)
    assert gp.sample_y(X, 4).shape == (120, 3, 4)
    assert gp.components(X).shape == (120, 3, 20)
    assert gp.transform(X).shape == (120, 60) == (120, len(gp.get_feature_names_out()))
    assert gp.gradient(X).shape == (120, 3, 3)
    assert gp.loo(X, Y)[0].shape == (120, 3)
    assert gp.log_marginal_likelihood().shape == gp.noise_std_.shape == gp.constant_.shape == (3,)
    assert gp.relevance_["c"].shape == (3,) and gp.relevance_["c"][2] > 0.5
    assert gp.partial_fit(X[:1], Y[:1]).n_outputs_ == 3
    one = plain().fit(X, Y[["y"]])
    assert one.predict(X).shape == (120, 1)


def test_any_layout_and_frame_give_the_same_bits(fitted, table):
    X, y = table
    values = X.to_numpy()
    expected = fitted.predict(X)
    wide = np.zeros((240, 6))
    wide[::2, ::2] = values
    swapped = values.astype(">f8")
    for same in (
        np.ascontiguousarray(values),
        np.asfortranarray(values),
        wide[::2, ::2],
        values[::-1][::-1],
        swapped,
        values.tolist(),
    ):
        gp = plain().fit(same, y.tolist())
        assert (gp.predict(same) == expected).all()
    frame = pl.DataFrame({name: X[name].to_numpy() for name in X.columns})
    gp = plain().fit(frame, pl.Series("target", y.to_numpy()))
    assert (gp.predict(frame) == expected).all()
    assert list(gp.feature_names_in_) == ["a", "b", "c"]


def test_half_precision_is_read_as_it_is(table):
    X, y = table
    narrow = X.to_numpy().astype(np.float32)
    one = plain().fit(narrow, y)
    other = plain().fit(narrow.astype(np.float64), y)
    assert (one.predict(narrow) == other.predict(narrow)).all()


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_floats_are_not_copied(table, order):
    X, y = table[0].to_numpy(), table[1]
    gp = plain().fit(X, y)
    many = np.asarray(np.tile(X, (1_000, 1)), order=order)
    tracemalloc.start()
    gp.predict(many)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # NumPy reports what it allocates; X has 2.9 MB.
    assert peak < 3e5, peak


def test_settings_reach_the_fit(table):
    X, y = table
    gp = plain(
        "rpa-1", degrees=[1, 1, 2], kernel="rbf", directions="sphere", ard=True,
        learn_weights=False, engine="dense", optimizer="adam", max_evaluations=30, n_restarts=1,
        subset=80, noise_bounds=(0.01, 1.0), random_state=5, n_jobs=1,
    )  # fmt: skip
    with pytest.warns(ConvergenceWarning, match="ended at its limit of evaluations"):
        gp.fit(X, y)
    config = gp._description["config"]
    [term] = config["terms"]
    assert term["degrees"] == "2x1,1x2" and gp.degrees_ == [1, 1, 2]
    assert term["directions"] == "sphere" and gp.directions_.shape == (4, 3)
    assert term["length_scales"] == "columns" and gp.length_scales_.shape == (3,)
    assert not term["learn_weights"] and np.ptp(gp.weights_) == 0
    assert config["engine"] == gp.engine_ == "dense"
    assert config["optimizer"] == "adam" and gp.n_iter_ <= 60
    assert set(gp.history_["search"]) == {0, 1} and set(gp.history_["rows"]) == {80}
    assert set(gp.history_["phase"]) == {"search"} and set(gp.history_["target"]) == {0}
    assert config["noise_bounds"] == [0.01, 1.0] and config["seed"] == 5
    learned = plain("dpa", learn_directions=True, max_evaluations=20)
    [term] = learned.fit(X, y)._description["config"]["terms"]
    assert term["length_scales"] == "directions"
    one = plain(n_projections="d").fit(X, y)
    assert one.degrees_ == [1, 1, 1]


def test_settings_of_the_ski_engine_reach_it(table):
    X, y = table
    options = {"grid": 64, "probes": 9, "cg_tolerance": 1e-5, "cg_iterations": 500}
    gp = plain(engine="ski", ski={**options, "exact_variance": True})
    gp.fit(X, y)
    names = {"grid": "grid", "probes": "probes", "cg_tolerance": "tolerance",
             "cg_iterations": "iterations"}  # fmt: skip
    ski = gp._description["config"]["ski"]
    assert {name: ski[names[name]] for name in options} == options and ski["exact_variance"]
    assert gp.engine_ == "ski" and gp.log_marginal_likelihood_error_ > 0


def test_seeds(table):
    X, y = table
    directions = lambda seed: (  # noqa: E731
        plain(random_state=seed, max_evaluations=200).fit(X, y).directions_
    )
    assert (directions(1) == directions(1)).all()
    assert not (directions(1) == directions(2)).any()
    assert not (directions(None) == directions(None)).any()
    state = lambda: np.random.RandomState(0)  # noqa: E731
    assert (directions(state()) == directions(state())).all()


def test_progress(table, capsys, monkeypatch):
    X, y = table
    gp = plain(verbose=1, max_evaluations=200).fit(X, y)
    out, err = capsys.readouterr()
    assert out == "" and "fit on 120 rows" in err and "objective" in err and "%|" in err
    gp.set_params(verbose=2).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == gp.n_iter_ == len(gp.history_)
    assert lines[-1].startswith("fit on 120 rows: evaluation ") and lines[-1].endswith("% done")
    shares = [int(line.split()[-3]) for line in lines]
    assert shares == sorted(shares)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    gp.set_params(verbose=1, n_restarts=1).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert 1 < len(lines) < gp.n_iter_ / 5
    gp.set_params(verbose=0).fit(X, y)
    assert capsys.readouterr() == ("", "")


def test_a_search_over_many_rows_ends_on_the_right_hill():
    # Started on all of 10,000 rows it ends where columns of noise seem to matter, with noise of
    # 0.13. From 2,000 rows on it starts on some of them.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_100, 20))
    y = np.sin(X[:, 0] + X[:, 1]) + 0.5 * X[:, 2] * X[:, 3] + 0.1 * rng.normal(size=2_100)
    gp = plain().fit(X, y)
    assert set(list(gp.relevance_)[:4]) == {"x0", "x1", "x2", "x3"}
    assert sum(list(gp.relevance_.values())[4:]) < 1e-5
    assert gp.noise_std_ < 0.11
    assert list(dict.fromkeys(gp.history_["rows"])) == [1_050, 2_100]
