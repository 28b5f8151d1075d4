"""Missing values that are indicated, and text columns with more texts than categories."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from cases import plain
from raysum import ProjectedAdditiveGPRegressor
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

ROWS = 80
RNG = np.random.default_rng(11)
A = RNG.normal(size=ROWS).round(3)
Y = pd.Series((np.sin(A) + np.where(np.arange(ROWS) % 4 == 1, 2, 0)).round(4), name="y")

FRAME = pd.DataFrame(
    {
        "a": A,
        "b": np.where(np.arange(ROWS) % 4 == 1, np.nan, RNG.normal(size=ROWS).round(3)),
        "city": [None if i % 9 == 2 else ["Lima", "Oslo", "Rome"][i % 3] for i in range(ROWS)],
        "open": pd.array([None if i % 7 == 3 else i % 2 == 0 for i in range(ROWS)], "boolean"),
        "count": pd.array([None if i % 6 == 1 else i % 5 for i in range(ROWS)], "Int64"),
        "when": [pd.NaT if i % 8 == 5 else pd.Timestamp(2024, 1, 1 + i % 28) for i in range(ROWS)],
    }
)
ENCODED = [
    *("a", "b", "b (missing)", "city=Lima", "city=Oslo", "city=Rome", "city (missing)"),
    *("open", "open (missing)", "count", "count (missing)", "when", "when (missing)"),
]


def gp(**parameters: Any) -> ProjectedAdditiveGPRegressor:
    return plain("gam", **{"missing": "indicate", **parameters})


@pytest.fixture(scope="module")
def model() -> ProjectedAdditiveGPRegressor:
    return gp().fit(FRAME, Y)


def test_gaps_are_indicated(model):
    assert model.encoded_names_ == ENCODED
    assert model.notes_[-1] == (
        "X: 64 missing cells in 40 rows marked in indicator columns (columns 'b', 'city', 'open', "
        "'count', 'when')"
    )
    # An indicator belongs to its column: the target depends on where b is missing.
    assert list(model.relevance_)[:2] == ["b", "a"]
    assert set(model.relevance_) == set(FRAME.columns)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert np.abs(model.predict(FRAME) - Y).max() < 0.3


@pytest.mark.parametrize("written", ["csv", "parquet", "polars.parquet", "arrow"])
def test_the_same_model_as_the_command_line(command, tmp_path, model, written):
    path, file = tmp_path / f"t.{written}", tmp_path / "m.raysum"
    table = FRAME.assign(y=Y)
    if written == "csv":
        table.to_csv(path, index=False)
    elif written == "parquet":
        table.to_parquet(path)
    elif written == "arrow":
        pl.from_pandas(table).write_ipc(path)
    else:
        pl.from_pandas(table).write_parquet(path)
    options = ("-m", "gam", "--held-out", "no", "--missing", "indicate")
    command("fit", path, "-t", "y", *options, "-o", file)
    assert model._model.to_bytes() == file.read_bytes()
    command("predict", file, path, "-o", tmp_path / "out.csv")
    assert (pd.read_csv(tmp_path / "out.csv")["mean"] == model.predict(FRAME)).all()


def test_polars_and_pickle_and_files(tmp_path, model):
    expected = model.predict(FRAME)
    frame = pl.from_pandas(FRAME)
    assert (gp().fit(frame, Y).predict(frame) == expected).all()
    assert (pickle.loads(pickle.dumps(model)).predict(frame) == expected).all()
    model.save(tmp_path / "m.raysum")
    again = ProjectedAdditiveGPRegressor.load(tmp_path / "m.raysum")
    assert (again.predict(FRAME) == expected).all()
    # The parameters of the fit come back, so that a copy can be fitted again.
    assert again.get_params()["missing"] == "indicate"
    assert (clone(again).fit(FRAME, Y).predict(FRAME) == expected).all()


def test_a_new_gap_is_refused_unless_a_rule_allows_it(model):
    X = FRAME.copy()
    X.loc[7, "a"] = np.nan
    says = "X, row 7, column 'a': the value is missing; use missing='mean', or leave such rows out"
    for ask in (model.predict, model.sample_y, model.components, model.gradient):
        with pytest.raises(ValueError) as raised:
            ask(X)
        assert str(raised.value) == says
    with pytest.raises(ValueError, match="X, row 7, column 'a': the value is missing"):
        pickle.loads(pickle.dumps(model)).partial_fit(X, Y)
    filled = pickle.loads(pickle.dumps(model)).set_params(missing="mean").predict(X)
    assert np.isfinite(filled).all()
    rest = np.arange(ROWS) != 7
    assert (filled[rest] == model.predict(FRAME)[rest]).all()
    # Whatever the rule, the gaps of the fit are indicated.
    for missing in ("error", "drop", "mean"):
        other = pickle.loads(pickle.dumps(model)).set_params(missing=missing)
        assert (other.predict(FRAME) == model.predict(FRAME)).all()


def test_arrays_are_those_of_the_command_line(command, tmp_path):
    X = FRAME[["a", "b"]].to_numpy()
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    file = tmp_path / "m.raysum"
    options = ("-m", "gam", "--held-out", "no", "--missing", "indicate", "-o", file)
    command("fit", tmp_path / "x.npy", "--y", tmp_path / "y.npy", *options)
    found = gp().fit(X, Y.to_numpy())
    assert found._model.to_bytes() == file.read_bytes()
    assert found.encoded_names_ == ["0", "1", "1 (missing)"]
    assert (found.n_features_in_, found.feature_importances_.shape) == (2, (2,))
    expected = found.predict(X)
    # None is missing in an array of objects, and so is NA.
    for gap in (None, pd.NA, np.nan):
        objects = X.astype(object)
        objects[np.isnan(X)] = gap
        assert (found.predict(objects) == expected).all()
        assert (gp().fit(objects, Y.to_numpy()).predict(X) == expected).all()
    # A model from a file has arrays with gaps, too, and no others.
    again = ProjectedAdditiveGPRegressor.load(file)
    assert (again.predict(X) == expected).all()
    assert (again.set_params(missing="error").predict(X) == expected).all()
    with pytest.raises(ValueError, match="X, row 1, column '0': the value is missing"):
        again.predict(X[:, ::-1])


def test_a_missing_target_is_left_out_and_a_missing_column_refused():
    y = Y.copy()
    y[3] = np.nan
    found = gp().fit(FRAME, y)
    assert found._description["reports"][0]["rows"] == ROWS - 1
    for value in (None, np.nan):
        with pytest.raises(ValueError, match="column 'b': it has no values; drop the column"):
            gp().fit(FRAME.assign(b=value), Y)


def test_an_encoded_frame_is_taken_as_it_is(model):
    # Everything but texts keeps its name, beside its indicator.
    X = FRAME[["a", "b"]]
    found = gp().fit(X, Y)
    mean, gap = float(X["b"].mean()), X["b"].isna()
    encoded = X.fillna({"b": mean}).assign(**{"b (missing)": gap.astype(float)})
    assert found.predict(encoded) == pytest.approx(found.predict(X), abs=1e-12)
    assert found.predict(encoded.drop(columns="b (missing)"))[gap] != pytest.approx(
        found.predict(X)[gap], abs=0.5
    )


def test_folds_and_columns_of_other_names():
    scores = cross_val_score(gp(), FRAME, Y, cv=4)
    assert scores.mean() > 0.7
    # A column named like an indicator is another column, and keeps its name.
    X = FRAME[["a", "b"]].assign(**{"b (missing)": 1.5 * A})
    found = gp().fit(X, Y)
    assert found.encoded_names_ == ["a", "b", "b (missing) (2)", "b (missing)"]
    assert np.abs(found.predict(X) - Y).max() < 0.3
    assert list(found.relevance_) != [] and len(found.relevance_) == 3


# --- categories


def shops(rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Three frequent shops, and many that occur once or twice, all with the same effect."""
    frequent = ["north", "others", "(others)"]
    names = [f"rare {i % 43}" if i % 4 == 3 else frequent[i % 4] for i in range(rows)]
    effects = np.array([4.0 if i % 4 == 3 else i % 4 - 1.0 for i in range(rows)])
    size = np.random.default_rng(2).normal(size=rows)
    return pd.DataFrame({"shop": names, "size": size}), effects + 0.3 * size


def test_rare_texts_are_one_category(command, tmp_path):
    X, y = shops(200)
    says = "column 'shop': 46 different texts become 4 categories: the 3 most frequent, and one"
    with pytest.warns(UserWarning, match=says):
        found = gp(missing="error", categories=4).fit(X, y)
    names = ["shop=(others)", "shop=north", "shop=others", "shop (others)", "size"]
    assert found.encoded_names_ == names
    assert set(found.relevance_) == {"shop", "size"}
    new = pd.DataFrame({"shop": ["rare 3", "never seen", "north"], "size": 0.0})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mean = found.predict(new)
    assert mean == pytest.approx([4, 4, -1], abs=0.2)
    path, file = tmp_path / "t.csv", tmp_path / "m.raysum"
    X.assign(y=y).to_csv(path, index=False)
    command("fit", path, "-t", "y", "-m", "gam", "--held-out", "no", "--categories", 4, "-o", file)
    again = ProjectedAdditiveGPRegressor.load(file)
    assert (again.predict(new) == mean).all()
    assert again.get_params()["categories"] == 4
    assert gp(missing="error").fit(X, y).encoded_names_[:2] == ["shop=(others)", "shop=north"]
