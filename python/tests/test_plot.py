"""Pictures show the model's own numbers."""

from __future__ import annotations

import copy
import subprocess
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
from cases import plain
from matplotlib.axes import Axes
from raysum import ProjectedAdditiveGPRegressor, plot
from sklearn.exceptions import NotFittedError

matplotlib.use("Agg")
import matplotlib.pyplot as plt

NAMES = ["age", "height", "weight", "dose"]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def table():
    """Columns in very different units, so that mistakes of scale show."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 4)) * [10, 0.1, 20, 1e-3] + [40, 1.7, 70, 5e-3]
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.sin(2 * z[:, 2]) + 0.5 * z[:, 0] + 0.1 * rng.normal(size=len(X))
    return pd.DataFrame(X, columns=NAMES), pd.Series(y, name="response")


@pytest.fixture(scope="module")
def gam(table):
    return plain("gam").fit(*table)


@pytest.fixture(scope="module")
def dpa(table):
    return plain(n_projections=8).fit(*table)


@pytest.fixture(scope="module")
def two(table):
    X, y = table
    Y = pd.DataFrame({"response": y, "_cost of $ and $": X["height"] * 30 + y / 3})
    return plain("gam").fit(X, Y), Y


def curve(ax):
    """Horizontal and vertical values of the mean."""
    return ax.lines[0].get_data()


def rows(ax):
    """Where the marks of the rows are."""
    return ax.lines[1].get_xdata()


def band(ax):
    """Lower and upper end of the band, where the mean has its values."""
    corners = ax.collections[0].get_paths()[0].vertices
    at = curve(ax)[0]
    halves = corners[1 : len(at) + 1], corners[len(at) + 2 : -1][::-1]
    assert all(np.allclose(half[:, 0], at) for half in halves)
    return halves[0][:, 1], halves[1][:, 1]


def texts(labels):
    return [label.get_text() for label in labels]


class TestComponents:
    def test_a_gam_is_drawn_over_its_columns(self, gam, table):
        X = table[0]
        axs = plot.components(gam, X, components=[2, 0])
        assert isinstance(axs, np.ndarray) and axs.shape == (2,)
        values = gam.components(X)
        values -= values.mean(axis=0)
        for ax, j in zip(axs, [2, 0]):
            assert isinstance(ax, Axes)
            assert ax.get_xlabel() == NAMES[j] and ax.get_title() == ""
            assert np.array_equal(rows(ax), X.iloc[:, j])
            at, mean = curve(ax)
            assert (at[0], at[-1]) == pytest.approx((X.iloc[:, j].min(), X.iloc[:, j].max()))
            lowest, highest = X.iloc[:, j].argmin(), X.iloc[:, j].argmax()
            for place, row in [(0, lowest), (-1, highest)]:
                assert mean[place] == pytest.approx(values[row, j])
        assert axs[0].figure.get_supylabel() == "effect on response"

    def test_bands_are_of_the_shape_and_not_of_its_level(self, gam, table):
        # If all columns but one stay where they are, what varies is the function of that one.
        X = table[0]
        one = X.assign(**{name: X[name].iloc[0] for name in NAMES if name != "weight"})
        cov = gam.predict(one, return_cov=True)[1] - gam.noise_std_**2 * np.eye(len(X))
        less = np.eye(len(X)) - 1 / len(X)
        std = np.sqrt(np.diag(less @ cov @ less))
        ax = plot.components(gam, X, components=[2])[0]
        (at, mean), (lower, upper) = curve(ax), band(ax)
        assert upper - mean == pytest.approx(mean - lower)
        found = np.interp(X["weight"], at, (upper - lower) / 4)
        assert found == pytest.approx(std, rel=1e-2)
        raw = gam.components(X, return_std=True)[1][:, 2]
        assert found.mean() < raw.mean() / 2

    def test_a_gam_has_the_same_curve_for_any_rows(self, gam, table):
        X = table[0]
        some = X[20:60]
        at, mean = curve(plot.components(gam, some, components=[2])[0])
        at_all, mean_all = curve(plot.components(gam, X, components=[2])[0])
        assert at[0] == some["weight"].min() and at[-1] == some["weight"].max()
        gap = mean - np.interp(at, at_all, mean_all)
        assert gap == pytest.approx(np.full(len(gap), gap.mean()), abs=5e-3)

    @pytest.mark.parametrize("model", ["dpa-ard", "rpa-1"])
    def test_training_rows_lie_on_the_curve(self, table, model):
        X, y = table
        # As many directions as columns: length-scales per row must not pass for those per column.
        gp = plain(model, n_projections=4).fit(X, y)
        values = gp.components(X)
        values -= values.mean(axis=0)
        z = (X - X.mean()) / X.std(ddof=0)
        scaled = z / gp.length_scales_ if model == "dpa-ard" else z
        axs = plot.components(gp, X, components=range(4))
        for j, ax in enumerate(axs):
            coordinate = scaled.to_numpy() @ gp.directions_[j]
            assert rows(ax) == pytest.approx(coordinate)
            at, mean = curve(ax)
            tolerance = 1e-3 * np.ptp(values)
            assert np.interp(coordinate, at, mean) == pytest.approx(values[:, j], abs=tolerance)
            later = plot.components(gp, X[:50], components=[j])[0]
            assert rows(later) == pytest.approx(coordinate[:50])
            assert ax.get_xlabel() == f"direction {j}"

    def test_titles_name_the_largest_shares_with_their_signs(self, dpa, table):
        ax = plot.components(dpa, table[0], components=[5])[0]
        share = dpa.directions_[5] / dpa.length_scales_
        expected = ""
        for i in np.argsort(-np.abs(share))[:3]:
            expected += (" − " if share[i] < 0 else " + ") + NAMES[i]
        begin = "−" if expected.startswith(" −") else ""
        assert ax.get_title() == begin + expected[3:] + " + …"

    def test_default_is_the_most_varying_first(self, dpa, table):
        X = table[0]
        axs = plot.components(dpa, X)
        order = np.argsort(-dpa.components(X).var(axis=0))[:6]
        assert [ax.get_xlabel() for ax in axs] == [f"direction {j}" for j in order]

    def test_scale_is_shared_and_holds_every_band(self, gam, table):
        _, given = plt.subplots(2, 2)
        for axs in [plot.components(gam, table[0]), plot.components(gam, table[0], axs=given)]:
            assert len(axs) == 4
            assert len({ax.get_ylim() for ax in axs}) == 1
            low, high = axs[0].get_ylim()
            assert all(low < band(ax)[0].min() and band(ax)[1].max() < high for ax in axs)

    def test_draws_where_told(self, gam, table):
        _, given = plt.subplots(1, 2)
        axs = plot.components(gam, table[0], components=[0, 1], axs=given)
        assert axs.tolist() == given.tolist()
        assert [ax.get_ylabel() for ax in axs] == ["effect on response"] * 2
        one = plt.figure().add_subplot()
        assert plot.components(gam, table[0], components=[3], axs=one).tolist() == [one]

    def test_takes_no_more_axes_than_it_fills(self, gam, table):
        axs = plot.components(gam, table[0], components=[0, 1, 2])
        assert axs[0].figure.axes == axs.tolist()

    def test_degree_1_among_others(self, table):
        X, y = table
        gp = plain(degrees=[2, 1, 1]).fit(X, y)
        axs = plot.components(gp, X)
        assert sorted(ax.get_xlabel() for ax in axs) == ["direction 1", "direction 2"]
        ax = plot.components(gp, X, components=[2])[0]
        z = ((X - X.mean()) / X.std(ddof=0) / gp.length_scales_).to_numpy()
        assert rows(ax) == pytest.approx(z @ gp.directions_[3])
        with pytest.raises(ValueError, match="component 0 has 2 coordinates"):
            plot.components(gp, X, components=[0])

    def test_each_target_has_its_own(self, two, table):
        gp, _ = two
        X = table[0]
        ax = plot.components(gp, X, components=[1], target=1)[0]
        row = X["height"].argmax()
        values = gp.components(X)[:, 1, 1]
        assert curve(ax)[1][-1] == pytest.approx(values[row] - values.mean())
        # As it is drawn, without formulas.
        assert ax.figure.get_supylabel() == r"effect on cost of \$ and \$"

    def test_one_column(self, table):
        X, y = table
        gp = plain(n_projections=3).fit(X[["weight"]], y)
        axs = plot.components(gp, X[["weight"]])
        assert [ax.get_xlabel() for ax in axs] == ["weight"] * 3
        assert [ax.get_title() for ax in axs] == ["direction 0", "direction 1", "direction 2"]

    def test_constant_columns_do_not_count(self, table):
        X, y = table
        X = X.assign(height=0.1)
        gp = plain(n_projections=2).fit(X, y)
        ax = plot.components(gp, X, components=[0])[0]
        at, mean = curve(ax)
        values = gp.components(X)[:, 0]
        values -= values.mean()
        assert np.interp(rows(ax), at, mean) == pytest.approx(values, abs=1e-3 * np.ptp(values))
        assert "height" not in ax.get_title()
        gam = plain("gam").fit(X, y)
        assert plot.components(gam, X)[-1].get_xlabel() == "height"

    def test_marks_are_few_enough_to_see(self, gam, table):
        many = pd.concat([table[0]] * 10)
        assert len(rows(plot.components(gam, many, components=[0])[0])) == 750

    def test_long_names_stay_apart(self, table):
        X, y = table
        long = X.set_axis([f"the {name} of everyone who has taken part" for name in NAMES], axis=1)
        gp = plain("gam").fit(long, y)
        label = plot.components(gp, long, components=[3])[0].get_xlabel()
        assert label.startswith("the dose of ") and label.endswith("taken part")
        assert len(label) == 24
        same = X.set_axis([f"what was measured {name} at the same time" for name in NAMES], axis=1)
        gp = plain("gam").fit(same, y)
        axs = plot.components(gp, same, components=range(4))
        assert [ax.get_xlabel()[:3] for ax in axs] == ["0: ", "1: ", "2: ", "3: "]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"components": [4]}, "components: there is no number 4; there are 0 to 3"),
            ({"components": [-1]}, "components: there is no number -1"),
            ({"components": [0.5]}, "components: there is no number 0.5"),
            ({"components": ["age"]}, "components: there is no number age"),
            ({"components": []}, "components is empty"),
            ({"target": 1}, "target: there is no number 1; there are 0 to 0"),
        ],
    )
    def test_bad_arguments(self, gam, table, options, message):
        with pytest.raises(ValueError, match=message):
            plot.components(gam, table[0], **options)
        assert not plt.get_fignums()

    def test_wrong_number_of_axes(self, gam, table):
        with pytest.raises(ValueError, match="axs has 1 axes, but 4 components"):
            plot.components(gam, table[0], axs=plt.figure().add_subplot())

    def test_one_row_is_too_few(self, gam, table):
        with pytest.raises(ValueError, match="X has 1 row"):
            plot.components(gam, table[0][:1])

    def test_no_function_of_one_coordinate(self, table):
        gp = plain("rbf-ard").fit(*table)
        with pytest.raises(ValueError, match="the model has none"):
            plot.components(gp, table[0])


class TestRelevance:
    def test_bars_are_percent_from_the_top(self, gam):
        ax = plot.relevance(gam)
        assert isinstance(ax, Axes)
        assert texts(ax.get_yticklabels()) == list(gam.relevance_)
        widths = [bar.get_width() for bar in ax.patches]
        assert widths == pytest.approx([100 * share for share in gam.relevance_.values()])
        assert ax.yaxis_inverted()
        assert ax.get_xlabel() == "relevance (%)"

    def test_top_says_what_it_leaves_out(self, gam):
        ax = plot.relevance(gam, top=1)
        _, *others = gam.relevance_.values()
        assert len(ax.patches) == 1
        assert ax.get_xlabel() == f"relevance (%)\n3 others: {100 * sum(others):.1f} %"

    def test_several_targets_are_dots_around_their_mean(self, two):
        gp, _ = two
        ax = plot.relevance(gp)
        shares = 100 * np.array(list(gp.relevance_.values()))
        assert [bar.get_width() for bar in ax.patches] == pytest.approx(shares.mean(axis=1))
        for k, line in enumerate(ax.lines):
            assert line.get_xdata() == pytest.approx(shares[:, k])
        assert texts(ax.get_legend().get_texts()) == ["response", r"cost of \$ and \$"]

    def test_a_target_in_a_column_is_one_target(self, table):
        X, y = table
        gp = plain("gam").fit(X.to_numpy(), y.to_numpy()[:, None])
        ax = plot.relevance(gp)
        assert not ax.lines and ax.get_legend() is None
        assert texts(ax.get_yticklabels())[0] == "x2"

    def test_a_constant_target_has_no_relevance(self, table):
        X, y = table
        gp = plain("gam").fit(X, 0 * y + 1)
        assert [bar.get_width() for bar in plot.relevance(gp).patches] == [0.0] * 4

    def test_draws_where_told(self, gam):
        ax = plt.figure().add_subplot()
        assert plot.relevance(gam, ax=ax) is ax and len(ax.patches) == 4

    @pytest.mark.parametrize("top", [0, -3, 2.5])
    def test_bad_top(self, gam, top):
        with pytest.raises(ValueError, match=f"top is {top}, but must be"):
            plot.relevance(gam, top=top)


class TestCalibration:
    def test_line_is_the_share_inside_predicted_intervals(self, dpa, table):
        X, y = table
        ax = plot.calibration(dpa, X, y)
        assert isinstance(ax, Axes)
        levels, shares = ax.lines[1].get_data()
        assert levels == pytest.approx(np.arange(1, 20) / 20)
        for level, share in zip(levels, shares):
            _, lower, upper = dpa.predict(X, interval=level)
            assert share == pytest.approx(((lower <= y) & (y <= upper)).mean())
        assert texts(ax.get_legend().get_texts()) == [f"{100 * shares[-1]:.1f} % of response"]
        assert ax.get_legend().get_title().get_text() == "In the 95 % interval"
        assert "of 150 rows" in ax.texts[0].get_text()

    def test_diagonal_and_chance(self, gam, table):
        ax = plot.calibration(gam, *table)
        level, same = ax.lines[0].get_data()
        assert np.array_equal(level, same) and (level[0], level[-1]) == (0, 1)
        corners = ax.collections[0].get_paths()[0].vertices
        for half, sign in [(corners[1:102], -1), (corners[103:-1][::-1], 1)]:
            error = np.sqrt(level * (1 - level) / 150)
            assert half == pytest.approx(np.column_stack([level, level + sign * 2 * error]))

    def test_a_line_for_each_target(self, two, table):
        gp, Y = two
        ax = plot.calibration(gp, table[0], Y, levels=[0.9, 0.5])
        mean, std = gp.predict(table[0], return_std=True)
        away = np.abs(Y.to_numpy() - mean) / std
        for k, line in enumerate(ax.lines[1:]):
            assert line.get_xdata().tolist() == [0.5, 0.9]
            expected = [(away[:, k] < z).mean() for z in (0.6744898, 1.6448536)]
            assert line.get_ydata() == pytest.approx(expected)
        held = [f"{100 * share:.1f} %" for share in (away < 1.959964).mean(axis=0)]
        names = ["response", r"cost of \$ and \$"]
        expected = [f"{share} of {name}" for share, name in zip(held, names)]
        assert texts(ax.get_legend().get_texts()) == expected

    def test_noise_of_the_right_size_stays_in_the_band(self):
        rng = np.random.default_rng(3)
        X = rng.uniform(-2, 2, size=(400, 2))
        y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=400)
        gp = plain("gam").fit(X[:200], y[:200])
        levels, shares = plot.calibration(gp, X[200:], y[200:]).lines[1].get_data()
        assert (np.abs(shares - levels) < 3 * np.sqrt(levels * (1 - levels) / 200)).all()

    def test_draws_where_told(self, gam, table):
        ax = plt.figure().add_subplot()
        assert plot.calibration(gam, *table, ax=ax) is ax and len(ax.lines) == 2

    @pytest.mark.parametrize("levels", [[], [0.0], [0.5, 1.0], [95], [np.nan]])
    def test_bad_levels(self, gam, table, levels):
        with pytest.raises(ValueError, match="levels must be probabilities between 0 and 1"):
            plot.calibration(gam, *table, levels=levels)

    def test_bad_y(self, gam, table):
        X, y = table
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            plot.calibration(gam, X, y[1:])
        with pytest.raises(ValueError, match="y has 2"):
            plot.calibration(gam, X, np.column_stack([y, y]))


class TestConvergence:
    def test_a_line_for_each_search(self, table):
        gp = plain("gam", n_restarts=2, shrinkage="none").fit(*table)
        ax = plot.convergence(gp)
        assert isinstance(ax, Axes) and len(ax.lines) == 3
        history = gp.history_
        drawn = np.concatenate([line.get_xydata() for line in ax.lines])
        assert np.array_equal(drawn[:, 0], np.arange(len(history)) + 1)
        assert np.array_equal(drawn[:, 1], history["objective"])
        for search, line in enumerate(ax.lines):
            assert len(line.get_xdata()) == (history["search"] == search).sum()
        assert texts(ax.get_legend().get_texts()) == ["search 1", "search 2", "search 3"]
        assert ax.get_xlabel() == "evaluation"

    def test_points_that_were_only_looked_at_are_left_out(self, gam):
        history = gam.history_
        lengths = np.unique(history["search"], return_counts=True)[1]
        assert (lengths == 1).any()
        ax = plot.convergence(gam)
        assert [len(line.get_xdata()) for line in ax.lines] == lengths[lengths > 1].tolist()

    def test_held_out_searches_are_left_out(self, table):
        X, y = table
        gp = plain("gam").fit(X[:40], y[:40])
        held_out = gp.history_["phase"] == "held-out"
        assert held_out.any()
        first = plot.convergence(gp).lines[0]
        assert first.get_ydata()[0] in gp.history_["objective"][~held_out]
        assert len(first.get_xdata()) < (~held_out).sum()

    def test_targets_have_colours(self, table):
        X, y = table
        gp = plain("gam", shrinkage="none").fit(X, np.column_stack([y, -y]))
        legend = plot.convergence(gp).get_legend()
        assert texts(legend.get_texts()) == ["target 0", "target 1"]

    def test_end_is_in_the_picture_and_no_more_than_a_tenth_below(self, dpa):
        low, high = plot.convergence(dpa).get_ylim()
        objective = dpa.history_["objective"]
        assert objective.max() < high
        assert (objective < low).mean() <= 0.1

    def test_end_of_every_stage_is_in_the_picture(self, gam):
        gp = copy.copy(gam)
        stages = [(0, "search", 10, 0, i + 1, -5.0 - 1 / (i + 1)) for i in range(40)]
        stages += [(0, "search", 30, 1, i + 1, -50.0 - 1 / (i + 1)) for i in range(3)]
        gp.history_ = np.array(stages, dtype=gam.history_.dtype)
        ax = plot.convergence(gp)
        low, high = ax.get_ylim()
        assert low < -51 and high > -5
        assert [len(line.get_xdata()) for line in ax.lines] == [40, 3]
        assert texts(ax.get_legend().get_texts()) == ["10 rows", "30 rows"]

    def test_one_search_needs_no_legend(self, table):
        ax = plot.convergence(plain("gam", shrinkage="none").fit(*table))
        assert len(ax.lines) == 1 and ax.get_legend() is None

    def test_searches_on_the_same_rows_share_a_colour(self, gam):
        gp = copy.copy(gam)
        steps = [(0, "search", rows, k, i + 1, -1.0 - 1 / (i + 1))
                 for k, rows in enumerate([10, 10, 30]) for i in range(4)]  # fmt: skip
        gp.history_ = np.array(steps, dtype=gam.history_.dtype)
        ax = plot.convergence(gp)
        assert texts(ax.get_legend().get_texts()) == ["10 rows", "30 rows"]
        colours = [line.get_color() for line in ax.lines]
        assert colours[0] == colours[1] != colours[2]

    def test_one_evaluation(self, table):
        gp = plain("gam", max_evaluations=1, shrinkage="none")
        with pytest.warns(match="limit of evaluations"):
            gp.fit(*table)
        assert plot.convergence(gp).lines[0].get_ydata() == gp.history_["objective"]

    def test_draws_where_told(self, gam):
        ax = plt.figure().add_subplot()
        assert plot.convergence(gam, ax=ax) is ax and ax.lines

    def test_a_model_file_has_no_history(self, gam, tmp_path):
        gam.save(tmp_path / "model.raysum")
        loaded = ProjectedAdditiveGPRegressor.load(tmp_path / "model.raysum")
        with pytest.raises(ValueError, match="no history_: it comes from a file"):
            plot.convergence(loaded)


class TestAll:
    def test_pictures_can_be_made_of_loaded_models(self, dpa, table, tmp_path):
        dpa.save(tmp_path / "model.raysum")
        loaded = ProjectedAdditiveGPRegressor.load(tmp_path / "model.raysum")
        for first, again in zip(plot.components(dpa, table[0]), plot.components(loaded, table[0])):
            assert np.array_equal(curve(first), curve(again))
        assert texts(plot.relevance(loaded).get_yticklabels()) == list(dpa.relevance_)
        plot.calibration(loaded, *table).figure.canvas.draw()

    def test_pictures_are_drawn_without_warnings(self, two, table):
        gp, Y = two
        axs = plot.components(gp, table[0]), plot.relevance(gp), plot.convergence(gp)
        for ax in (axs[0][0], *axs[1:], plot.calibration(gp, table[0], Y)):
            ax.figure.canvas.draw()

    def test_not_fitted(self, table):
        gp, (X, y) = plain(), table
        for draw in (
            lambda: plot.components(gp, X),
            lambda: plot.relevance(gp),
            lambda: plot.calibration(gp, X, y),
            lambda: plot.convergence(gp),
        ):
            with pytest.raises(NotFittedError):
                draw()

    def test_says_what_to_install(self, gam, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
        with pytest.raises(ImportError, match=r"pip install raysum\[plot\]"):
            plot.relevance(gam)

    def test_import_does_without_matplotlib(self):
        code = "import sys, raysum.plot; sys.exit('matplotlib' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
