"""The estimator that chooses models by itself."""

import copy
import io
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from raysum import AutoGPRegressor, ProjectedAdditiveGPRegressor, plot
from raysum.typing import HeldOutScores, StackMember
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


@pytest.fixture(scope="module")
def auto(table):
    """A stack for the table, which tests leave as it is."""
    return AutoGPRegressor().fit(*table)


def same(one, other, X):
    parts = zip(
        one.predict(X, return_std=True, interval=0.9),
        other.predict(X, return_std=True, interval=0.9),
    )
    return all((a == b).all() for a, b in parts)


class TestWhatIsFitted:
    def test_members_have_weights(self, auto):
        assert all(isinstance(member, StackMember) for member in auto.members_)
        assert sum(member.weight for member in auto.members_) == pytest.approx(1)
        assert sum(member.spread_weight for member in auto.members_) == pytest.approx(1)
        assert all(member.inflation > 0 for member in auto.members_)
        weights = [member.weight for member in auto.members_]
        assert weights == sorted(weights, reverse=True)

    def test_scores_are_those_of_held_out_rows(self, auto, table):
        _, y = table
        scores = auto.scores_
        assert isinstance(scores, HeldOutScores)
        assert (scores.rows, scores.folds) == (120, 5)
        # The target is a sine of a + b, which no linear function is.
        assert scores.stack.rmse < 0.5 * scores.ridge.rmse < scores.constant.rmse
        assert scores.stack.mae < scores.stack.rmse and scores.stack.crps < scores.ridge.crps
        assert scores.stack.nlpd < scores.ridge.nlpd < scores.constant.nlpd
        assert scores.constant.rmse == pytest.approx(y.std(), rel=0.05)
        assert 0.88 <= scores.stack.coverage95 <= 1
        assert scores.stack.width95 < scores.constant.width95
        assert scores.r2 == pytest.approx(1 - (scores.stack.rmse / scores.constant.rmse) ** 2)
        assert set(scores.tried) >= {member.name for member in auto.members_}

    def test_intervals_are_calibrated(self, auto):
        assert list(auto.calibration_) == [0.5, 0.8, 0.9, 0.95, 0.99]
        assert all(0.5 < widening < 2 for widening in auto.calibration_.values())

    def test_gaussian_intervals_are_not(self, auto, table):
        X, y = table
        gaussian = AutoGPRegressor(effort="quick", intervals="gaussian").fit(X, y)
        assert gaussian.calibration_ is None
        assert {member.inflation for member in gaussian.members_} == {1.0}
        assert gaussian.scores_.stack.rmse < gaussian.scores_.constant.rmse

    def test_more_effort_tries_more(self, table):
        X, y = table
        tried = [
            len(AutoGPRegressor(effort=effort).fit(X[:20], y[:20]).scores_.tried)
            for effort in ("quick", "normal", "best")
        ]
        assert tried == sorted(set(tried))

    def test_relevance_is_that_of_the_mixture(self, auto):
        assert set(list(auto.relevance_)[:2]) == {"a", "b"}
        assert auto.feature_importances_.sum() == pytest.approx(1)

    def test_history_has_every_fit(self, auto):
        history = auto.history_
        assert set(history.dtype.names) >= {"fit", "target", "rows", "evaluation", "objective"}
        assert len(set(history["fit"])) > 5 * len(auto.members_)
        assert {96, 120} <= set(history["rows"])

    def test_what_only_one_model_has_is_not_there(self, auto):
        for name in ("terms_", "directions_", "length_scales_", "log_marginal_likelihood"):
            assert not hasattr(auto, name)

    def test_progress_is_displayed(self, capfd, table):
        X, y = table
        gp = AutoGPRegressor(effort="quick", verbose=2).fit(X[:30], y[:30])
        lines = capfd.readouterr().err.splitlines()
        assert len(lines) == len(gp.history_)
        assert all(line.startswith("fit ") and " of 18" in line for line in lines)
        gp.set_params(verbose=1).fit(X[:30], y[:30])
        assert "100%" in capfd.readouterr().err


class TestPredictions:
    def test_predicts_better_than_ridge_regression(self, auto, table):
        rng = np.random.default_rng(1)
        X = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
        y = np.sin(X["a"] + X["b"]) + 0.3 * X["a"] + 0.1 * rng.normal(size=300)
        assert auto.score(X, y) > 0.85
        coverage = auto.coverage(X, y, [0.5, 0.95])
        assert coverage.shares == pytest.approx([0.5, 0.95], abs=0.12)

    def test_quantiles(self, auto, table):
        X, _ = table
        shares = [0.025, 0.5, 0.975]
        quantiles = auto.predict(X, quantiles=shares)
        assert quantiles.shape == (120, 3) and (np.diff(quantiles, axis=1) > 0).all()
        mean, lower, upper, again = auto.predict(X, interval=0.95, quantiles=shares)
        assert np.allclose(lower, quantiles[:, 0], rtol=1e-12)
        assert np.allclose(upper, quantiles[:, 2], rtol=1e-12)
        assert (again == quantiles).all() and (mean == auto.predict(X)).all()
        mean, std, again, beyond = auto.predict(
            X, return_std=True, quantiles=shares, return_extrapolation=True
        )
        assert (again == quantiles).all() and mean.shape == std.shape == beyond.shape == (120,)
        assert (auto.predict(X, quantiles=0.5) == quantiles[:, 1:2]).all()
        for wrong in ([], [0.5, 1.0], -1, [np.nan]):
            with pytest.raises(ValueError, match="quantiles must be probabilities"):
                auto.predict(X, quantiles=wrong)
        with pytest.raises(ValueError, match="return_cov goes neither with"):
            auto.predict(X, return_cov=True, quantiles=0.5)

    def test_covariance(self, auto, table):
        X, _ = table
        mean, std = auto.predict(X, return_std=True)
        _, covariance = auto.predict(X, return_cov=True)
        assert np.allclose(np.sqrt(np.diag(covariance)), std)
        assert np.allclose(covariance, covariance.T)
        assert (mean == auto.predict(X)).all()

    def test_draws_come_from_the_mixture(self, auto, table):
        X, _ = table
        draws = auto.sample_y(X[:20], n_samples=400)
        mean, std = auto.predict(X[:20], return_std=True)
        assert draws.shape == (20, 400)
        assert (np.abs(draws.mean(axis=1) - mean) < std).all()
        assert (auto.sample_y(X[:5], n_samples=3) == draws[:5, :3]).all()
        assert auto.sample_y(X[:5], prior=True, noise=False).shape == (5, 1)

    def test_components_of_members(self, auto, table):
        X, _ = table
        parts = auto.components(X[:10])
        assert [part.member for part in parts] == list(range(len(auto.members_)))
        for part in parts:
            assert part.values.shape == part.std.shape and len(part.values) == 10
            assert (part.std >= 0).all()

    def test_other_answers(self, auto, table):
        X, y = table
        mean, std = auto.loo(X, y)
        assert np.corrcoef(mean, y)[0, 1] > 0.9 and (std > 0).all()
        assert auto.gradient(X).shape == (120, 3)
        assert (auto.predict_noise(X) > 0).all()
        far = X[:2].mul([1, 100], axis=0)
        _, beyond = auto.predict(far, return_extrapolation=True)
        assert beyond[0] == 0 and beyond[1] > 10
        plot.relevance(auto)
        plot.calibration(auto, X, y)
        for draw in (lambda: plot.components(auto, X), lambda: plot.convergence(auto)):
            with pytest.raises(ValueError, match="AutoGPRegressor mixes several models"):
                draw()

    def test_rows_are_added(self, auto, table):
        X, y = table
        gp = copy.deepcopy(auto).partial_fit(X[:5] + 0.01, y[:5])
        assert not (gp.predict(X) == auto.predict(X)).all()
        assert gp.members_ == auto.members_
        first = AutoGPRegressor(effort="quick").partial_fit(X[:40], y[:40])
        assert first.scores_.rows == 40


class TestWithScikitLearn:
    def test_in_pipelines_and_searches(self, table):
        X, y = table
        pipe = make_pipeline(StandardScaler(), AutoGPRegressor(effort="quick"))
        assert pipe.set_output(transform="pandas").fit(X, y).score(X, y) > 0.9
        search = GridSearchCV(AutoGPRegressor(), {"effort": ["quick", "normal"]}, cv=2, n_jobs=2)
        assert search.fit(X[:60], y[:60]).best_score_ > 0.3
        gp = AutoGPRegressor(effort="quick")
        assert (cross_val_score(gp, X, y, cv=3) > 0.5).all()
        select = SelectFromModel(gp, threshold=0.05).fit(X, y)
        assert list(select.get_feature_names_out()) == ["a", "b"]

    def test_copies_predict_the_same_bits(self, auto, table):
        X, _ = table
        file = io.BytesIO()
        joblib.dump(auto, file)
        file.seek(0)
        for again in (
            pickle.loads(pickle.dumps(auto)),
            copy.deepcopy(auto),
            joblib.load(file),
        ):
            assert same(auto, again, X)
            assert again.members_ == auto.members_ and again.scores_ == auto.scores_
            assert again.get_params() == auto.get_params()

    def test_a_clone_is_not_fitted(self, auto, table):
        again = clone(auto)
        assert is_regressor(again)
        with pytest.raises(NotFittedError):
            again.predict(table[0])
        assert "AutoGPRegressor" in repr(again) and "AutoGPRegressor" in again._repr_html_()

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_the_number_of_threads_changes_nothing(self, auto, table, n_jobs):
        X, y = table
        gp = AutoGPRegressor(n_jobs=n_jobs).fit(X, y)
        assert same(auto, gp, X) and gp.members_ == auto.members_
        assert (gp.history_ == auto.history_).all()


class TestTables:
    def test_frames_as_they_are(self, table):
        X, y = table
        days = pd.date_range("2026-01-01", periods=120, freq="D")
        X = X.assign(
            colour=np.where(X["c"] > 0, "red", "blue"), day=days, flag=X["a"] > 0, gap=X["b"]
        )
        X.loc[::7, "gap"] = np.nan
        gp = AutoGPRegressor(effort="quick", missing="indicate").fit(X, y)
        assert list(gp.feature_names_in_) == list(X.columns) and gp.n_features_in_ == 7
        assert {"colour=red", "gap (missing)"} <= set(gp.encoded_names_)
        assert any("colour" in note for note in gp.notes_)
        assert gp.score(X, y) > 0.8 and next(iter(gp.relevance_)) in ("a", "b", "gap")
        frame = pl.from_pandas(X)
        assert np.allclose(gp.predict(frame), gp.predict(X))
        with pytest.raises(ValueError, match="X, row 0, column 'gap': the value is missing"):
            AutoGPRegressor().fit(X, y)

    def test_several_targets(self, table):
        X, y = table
        Y = pd.DataFrame({"one": y, "two": X["c"] + 0.1 * y})
        gp = AutoGPRegressor(effort="quick").fit(X, Y)
        assert gp.target_names_ == ["one", "two"] and gp.n_outputs_ == 2
        assert len(gp.members_) == len(gp.scores_) == len(gp.calibration_) == 2
        mean, std, quantiles = gp.predict(X, return_std=True, quantiles=[0.1, 0.9])
        assert mean.shape == std.shape == (120, 2) and quantiles.shape == (120, 2, 2)
        assert (quantiles[:, 0] < mean).all() and (mean < quantiles[:, 1]).all()
        alone = AutoGPRegressor(effort="quick").fit(X, Y["one"])
        assert (alone.predict(X) == mean[:, 0]).all()
        assert gp.score(X, Y) > 0.9 and len(gp.components(X)) == 2
        assert gp.coverage(X, Y).shares.shape == (1, 2)

    def test_sample_weights_and_copies_are_the_same(self, table):
        X, y = table
        weights = np.arange(len(X)) % 3 + 1
        one = AutoGPRegressor(effort="quick").fit(X, y, sample_weight=weights)
        other = AutoGPRegressor(effort="quick").fit(
            X.loc[X.index.repeat(weights)], y.repeat(weights)
        )
        assert np.allclose(one.predict(X), other.predict(X), rtol=1e-6)

    def test_known_noise(self, table):
        X, y = table
        rng = np.random.default_rng(3)
        known = rng.choice([0.05, 1.0], size=len(X))
        noisy = y + known * rng.normal(size=len(X))
        gp = AutoGPRegressor(effort="quick").fit(X, noisy, noise_std=known)
        plain = AutoGPRegressor(effort="quick").fit(X, noisy)
        error = [np.mean((each.predict(X) - y) ** 2) for each in (gp, plain)]
        assert error[0] < error[1]
        _, some = gp.predict(X, return_std=True, noise_std=0.0)
        _, more = gp.predict(X, return_std=True, noise_std=2.0)
        assert (more > some).all()


class TestFiles:
    def test_either_way(self, auto, fitted, table, tmp_path):
        X, _ = table
        auto.save(tmp_path / "auto.raysum")
        again = AutoGPRegressor.load(tmp_path / "auto.raysum")
        assert same(auto, again, X) and again.get_params() == auto.get_params()
        assert again.members_ == auto.members_ and again.scores_ == auto.scores_
        assert again.calibration_ == auto.calibration_ and again.relevance_ == auto.relevance_
        with pytest.raises(ValueError, match=r"it holds a mixture of \d+ models; read"):
            ProjectedAdditiveGPRegressor.load(tmp_path / "auto.raysum")
        fitted.save(tmp_path / "one.raysum")
        one = AutoGPRegressor.load(tmp_path / "one.raysum")
        assert same(one, fitted, X)
        assert [member.name for member in one.members_] == ["dpa-ard"]

    def test_the_same_fit_from_the_command_line(self, command, table, tmp_path):
        X, y = table
        X.assign(target=y).to_csv(tmp_path / "t.csv", index=False)
        path, out = tmp_path / "m.raysum", tmp_path / "out.csv"
        options = ("--effort", "quick", "--seed", 3)
        command("fit", tmp_path / "t.csv", "--target", "target", *options, "-o", path)
        one = AutoGPRegressor.load(path)
        other = AutoGPRegressor(effort="quick", random_state=3).fit(X, y)
        assert same(one, other, X) and one.members_ == other.members_
        assert one.scores_ == other.scores_ and one.random_state == 3
        command("predict", path, tmp_path / "t.csv", "--quantiles", "0.1,0.9", "-o", out)
        found = pd.read_csv(out)[["q0.1", "q0.9"]].to_numpy()
        assert (found == other.predict(X, quantiles=[0.1, 0.9])).all()

    def test_a_stopped_fit_continues(self, auto, table, tmp_path):
        X, y = table
        kept = tmp_path / "fit.checkpoint"
        gp = AutoGPRegressor(n_jobs=2)
        code = f"""
import os, signal, threading
import numpy as np, pandas as pd
from raysum import AutoGPRegressor
X = pd.read_pickle({str(tmp_path / "X.pkl")!r})
y = pd.read_pickle({str(tmp_path / "y.pkl")!r})
def kill():
    while not os.path.exists({str(kept)!r}) or os.path.getsize({str(kept)!r}) < 20_000:
        pass
    os.kill(os.getpid(), signal.SIGKILL)
threading.Thread(target=kill).start()
AutoGPRegressor(n_jobs=2).fit(X, y, checkpoint={str(kept)!r})
"""
        X.to_pickle(tmp_path / "X.pkl")
        y.to_pickle(tmp_path / "y.pkl")
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert out.returncode == -9 and kept.exists(), out.stderr
        gp.fit(X, y, checkpoint=kept)
        assert not kept.exists() and same(gp, auto, X)
        assert gp._model.to_bytes() == auto._model.to_bytes()


def made_up(rows, columns, seed=0):
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=(rows, columns))


class TestKnownTruth:
    def test_a_wide_linear_table(self):
        rng, X = made_up(60 + 1000, 65)
        y = X[:, :5].sum(axis=1) + 1.5 * rng.normal(size=len(X))
        train, test = slice(60), slice(60, None)
        gp = AutoGPRegressor().fit(X[train], y[train])
        ridge = RidgeCV(np.logspace(-3, 3, 13)).fit(X[train], y[train])
        assert gp.score(X[test], y[test]) >= ridge.score(X[test], y[test]) - 0.05
        assert gp.coverage(X[test], y[test]).shares[0] >= 0.88

    def test_the_score_of_pure_noise_does_not_lie(self):
        rng, X = made_up(30, 65)
        gp = AutoGPRegressor().fit(X, rng.normal(size=30))
        assert gp.scores_.r2 <= 0.1
        assert 0.85 <= gp.scores_.stack.coverage95 <= 1

    def test_heavy_tails(self):
        rng, X = made_up(200 + 2000, 2)
        y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_t(2.5, size=len(X))
        train, test = slice(200), slice(200, None)
        gp = AutoGPRegressor().fit(X[train], y[train])
        coverage = gp.coverage(X[test], y[test], [0.5, 0.8, 0.95]).shares
        assert coverage == pytest.approx([0.5, 0.8, 0.95], abs=0.06)


class TestBadInput:
    @pytest.mark.parametrize("copies", [1, 5])
    def test_too_few_rows(self, copies):
        _, X = made_up(9, 2)
        X = np.tile(X, (copies, 1))
        says = "needs at least 10 distinct rows, and there are 9: ridge regression was fitted alone"
        with pytest.warns(UserWarning, match=says):
            gp = AutoGPRegressor().fit(X, X[:, 0])
        assert [member.name for member in gp.members_] == ["linear"] and gp.scores_ is None
        assert np.allclose(gp.predict(X), X[:, 0], atol=0.05)
        with pytest.raises(ValueError, match="minimum of 2 is required"):
            AutoGPRegressor().fit(X[:1], X[:1, 0])

    @pytest.mark.parametrize("value", [0.0, 1e-9, 1e6])
    def test_a_constant_target(self, value):
        _, X = made_up(30, 2)
        gp = AutoGPRegressor().fit(X, np.full(30, value))
        assert np.allclose(gp.predict(X), value)
        _, std = gp.predict(X, return_std=True)
        assert np.isfinite(std).all() and gp.scores_.r2 == pytest.approx(0)

    def test_two_distinct_targets(self):
        _, X = made_up(60, 2)
        gp = AutoGPRegressor().fit(X, (X[:, 0] > 0).astype(float))
        mean, lower, upper = gp.predict(X, interval=0.9)
        assert np.isfinite([mean, lower, upper]).all() and (lower < upper).all()
        assert np.corrcoef(mean, X[:, 0] > 0)[0, 1] > 0.7

    def test_equal_rows_stay_in_one_fold(self):
        # Each row is there three times: if folds split them, the score would show no error.
        rng, X = made_up(40, 5)
        y = rng.normal(size=40)
        gp = AutoGPRegressor().fit(np.tile(X, (3, 1)), np.tile(y, 3))
        assert gp.scores_.rows == 40 and gp.scores_.r2 < 0.2

    @pytest.mark.parametrize(
        ("parameters", "text"),
        [
            ({"effort": "most"}, "The 'effort' parameter of AutoGPRegressor must be a str among"),
            ({"intervals": "wide"}, "The 'intervals' parameter of AutoGPRegressor must be"),
            ({"categories": 1}, "The 'categories' parameter of AutoGPRegressor must be"),
            ({"missing": None}, "The 'missing' parameter of AutoGPRegressor must be"),
        ],
    )
    def test_parameters(self, parameters, text, table):
        with pytest.raises(ValueError, match=text):
            AutoGPRegressor(**parameters).fit(*table)

    def test_values_that_are_not_finite(self, table):
        X, y = table
        with pytest.raises(ValueError, match="Input X contains NaN at row 3, column 'b'"):
            AutoGPRegressor().fit(X.assign(b=X["b"].where(X.index != 3)), y)
        with pytest.raises(ValueError, match="Input y contains infinity at row 0"):
            AutoGPRegressor().fit(X, y.where(y.index > 0, np.inf))
