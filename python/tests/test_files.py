"""One model file for Python and the command line, with the same bits."""

import os

import numpy as np
import pandas as pd
import polars
import pytest
from cases import plain
from raysum import ProjectedAdditiveGPRegressor

#: Models, each with what makes it quick to fit.
MODELS = {"gam": {}, "rbf-ard": {}, "dpa-ard-ski": {"n_projections": 3}, "ppr": {}}


@pytest.fixture(scope="module")
def small(table):
    """The first rows of the table."""
    X, y = table
    return X[:40], y[:40]


def predicted(command, model, frame, folder):
    table, out = folder / "new.csv", folder / "out.csv"
    frame.to_csv(table, index=False)
    command("predict", model, table, "-o", out, "--level", 0.8)
    return pd.read_csv(out)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", MODELS)
def test_python_to_command_line(command, small, tmp_path, model):
    X, y = small
    gp = ProjectedAdditiveGPRegressor(model, max_evaluations=8, **MODELS[model]).fit(X, y)
    gp.save(tmp_path / "m.raysum")
    out = predicted(command, tmp_path / "m.raysum", X, tmp_path)
    expected = gp.predict(X, return_std=True, interval=0.8)
    for name, values in zip(["mean", "std", "lower", "upper"], expected):
        assert (out[name].to_numpy() == values).all(), name
    shown = command("inspect", tmp_path / "m.raysum")
    assert model in shown and "target" in shown and " a " in shown


def test_several_targets_to_the_command_line(command, small, tmp_path):
    X, y = small
    Y = pd.DataFrame({"one": y, "two": X["c"]})
    gp = ProjectedAdditiveGPRegressor().fit(X, Y)
    gp.save(tmp_path / "m.raysum")
    out = predicted(command, tmp_path / "m.raysum", X, tmp_path)
    mean, std = gp.predict(X, return_std=True)
    assert (out[["one_mean", "two_mean"]].to_numpy() == mean).all()
    assert (out[["one_std", "two_std"]].to_numpy() == std).all()
    again = ProjectedAdditiveGPRegressor.load(tmp_path / "m.raysum")
    assert (again.predict(X) == mean).all() and again.n_outputs_ == 2


@pytest.mark.parametrize("model", MODELS)
def test_command_line_to_python(command, small, tmp_path, model):
    X, y = small
    X.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    path = tmp_path / "m.raysum"
    options = ["--model", model, "--seed", 3, "--max-evaluations", 8]
    if "n_projections" in MODELS[model]:
        options += ["--projections", MODELS[model]["n_projections"]]
    command("fit", tmp_path / "t.csv", "--target", "y", *options, "-o", path)
    gp = ProjectedAdditiveGPRegressor.load(path)
    out = predicted(command, path, X, tmp_path)
    for name, values in zip(["mean", "std", "lower", "upper"], gp.predict(
        X, return_std=True, interval=0.8
    )):  # fmt: skip
        assert (out[name].to_numpy() == values).all(), name
    assert gp.model == model and gp.random_state == 3 and list(gp.feature_names_in_) == list("abc")


def test_arrays_for_a_model_of_the_command_line(command, table, tmp_path):
    X, y = table
    X.assign(y=y, extra=1.0).to_csv(tmp_path / "t.csv", index=False)
    path = tmp_path / "m.raysum"
    command("fit", tmp_path / "t.csv", "-t", "y", "--drop", "extra", "-m", "gam", "-o", path)
    gp = ProjectedAdditiveGPRegressor.load(path)
    expected = gp.predict(X)
    assert (gp.predict(X[["c", "b", "a"]].assign(more="text")) == expected).all()
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        assert (gp.predict(X.to_numpy()) == expected).all()
    with (
        pytest.warns(UserWarning, match="X does not have valid feature names"),
        pytest.raises(ValueError, match="Input X contains NaN at row 0, column 'a'"),
    ):
        gp.predict(np.full((2, 3), np.nan))


@pytest.mark.parametrize("model", ["dpa-ard", "linear+gam"])
def test_the_same_fit_from_both(command, small, tmp_path, model):
    X, _ = small
    y = X["a"] + np.sin(X["b"])  # without noise, so that the bounds of the noise decide
    X.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    path = tmp_path / "m.raysum"
    command("fit", tmp_path / "t.csv", "--target", "y", "--model", model, "-o", path)
    one = ProjectedAdditiveGPRegressor.load(path)
    other = ProjectedAdditiveGPRegressor(model).fit(X, y)
    assert (one.predict(X) == other.predict(X)).all()
    assert one.get_params() == other.get_params()
    assert (one.loo(X, y)[0] == other.loo(X, y)[0]).all()


def test_text_columns_of_the_command_line(command, table, tmp_path):
    X, y = table
    X = X.assign(colour=np.where(X["c"] > 0.5, "red", "blue"))
    X["y"] = y + (X["colour"] == "red")
    X.to_csv(tmp_path / "t.csv", index=False)
    path = tmp_path / "m.raysum"
    command("fit", tmp_path / "t.csv", "--target", "y", "--model", "gam", "-o", path)
    gp = ProjectedAdditiveGPRegressor.load(path)
    assert list(gp.feature_names_in_) == ["a", "b", "c", "colour"] and gp.n_features_in_ == 4
    assert gp.encoded_names_ == ["a", "b", "c", "colour=blue", "colour=red"]
    frame = X.drop(columns="y")
    out = predicted(command, path, frame, tmp_path)
    assert (gp.predict(frame) == out["mean"]).all()
    # Columns are found by name, as they stand or encoded already.
    assert (gp.predict(X[["colour", "y", "c", "b", "a"]]) == out["mean"]).all()
    encoded = pd.get_dummies(frame, prefix_sep="=", dtype=float)
    assert (gp.predict(encoded) == out["mean"]).all()
    says = r"X, column 'colour': 117 rows with categories that training did not have \('green'\)"
    with pytest.warns(UserWarning, match=says):
        gp.predict(frame.assign(colour=["red"] * 3 + ["green"] * 117))
    with pytest.raises(ValueError, match="X, row 1, column 'colour': the value is missing"):
        gp.predict(frame.assign(colour=["red", None] * 60))
    # A column that is not there is named as it was in the table, and so is a gap in encoded ones.
    with pytest.raises(ValueError, match="the model needs 1 column that is not there: 'colour'"):
        gp.predict(frame.drop(columns="colour"))
    with pytest.raises(ValueError, match="Input X contains NaN at row 2, column 'colour=red'"):
        gp.predict(encoded.assign(**{"colour=red": encoded["colour=red"].where(X.index != 2)}))
    gp.partial_fit(frame[:5], X["y"][:5])


def test_a_loaded_model_fits_again_the_same(table, tmp_path):
    X, y = table
    settings = {"model": "rpa-1", "degrees": "3x1,2x2", "kernel": "imq", "engine": "dense",
                "noise_bounds": (0.01, 2.0), "random_state": 2**40,
                "intervals": "gaussian"}  # fmt: skip
    gp = ProjectedAdditiveGPRegressor(**settings).fit(X, y)
    gp.save(tmp_path / "m.raysum")
    again = ProjectedAdditiveGPRegressor.load(tmp_path / "m.raysum")
    assert {name: again.get_params()[name] for name in settings} == settings
    assert (again.fit(X, y).predict(X) == gp.predict(X)).all()
    ski = plain(engine="ski", ski={"grid": 50}).fit(X, y)
    ski.save(tmp_path / "s.raysum")
    again = ProjectedAdditiveGPRegressor.load(tmp_path / "s.raysum")
    assert again.engine == "ski" and again.ski["grid"] == 50
    assert (again.fit(X, y).predict(X) == ski.predict(X)).all()


def test_dates_and_truth_values_of_the_command_line(command, table, tmp_path):
    X, y = table
    frame = X.assign(
        when=pd.date_range("2026-01-01", periods=len(X), freq="36h"), flag=X["a"] > 0, y=y
    )
    as_text = frame.assign(when=frame["when"].astype(str))
    as_text.to_csv(tmp_path / "t.csv", index=False)
    polars.from_pandas(frame).write_parquet(tmp_path / "t.parquet")
    polars.from_pandas(frame).write_ipc(tmp_path / "t.arrow")
    expected = None
    for name in ["t.csv", "t.parquet", "t.arrow"]:
        model, out = tmp_path / "m.raysum", tmp_path / "out.csv"
        command("fit", tmp_path / name, "-t", "y", "-m", "gam", "--held-out", "no", "-o", model)
        command("predict", model, tmp_path / name, "-o", out)
        mean = pd.read_csv(out)["mean"].to_numpy()
        gp = ProjectedAdditiveGPRegressor.load(model)
        assert (gp.predict(frame.drop(columns="y")) == mean).all(), name
        assert (gp.predict(as_text.drop(columns="y")) == mean).all(), name
        expected = mean if expected is None else expected
        assert (mean == expected).all(), name
    with pytest.raises(ValueError, match="X, row 0, column 'when': the value is missing"):
        gp.predict(frame.drop(columns="y").assign(when=pd.NaT))
    with pytest.raises(ValueError, match="row 0, column 'when': 'yesterday' is not a date"):
        gp.predict(frame.drop(columns="y").assign(when="yesterday"))


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_a_replaced_file_stays_private(fitted, tmp_path):
    path = tmp_path / "model.raysum"
    fitted.save(path)
    path.chmod(0o600)
    fitted.save(path)
    assert path.stat().st_mode & 0o777 == 0o600
