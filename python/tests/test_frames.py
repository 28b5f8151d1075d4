"""Frames with texts, categories, dates, truth values and gaps: what `raysum fit` makes of them."""

from __future__ import annotations

import datetime
import pickle
import re
import subprocess
import warnings
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from cases import plain
from raysum import ProjectedAdditiveGPRegressor
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

ROWS = 60
RNG = np.random.default_rng(5)
Y = pd.Series(RNG.normal(size=ROWS).round(3), name="y")
WHEN = pd.date_range("2024-01-01 06:30:00.25", periods=ROWS, freq="31h")

FRAME = pd.DataFrame(
    {
        "size": RNG.normal(size=ROWS).round(3),
        "count": RNG.integers(0, 9, size=ROWS),
        "city": [["Lima", "05", "Oslo", "5 de Mayo"][i % 4] for i in range(ROWS)],
        "kind": pd.Categorical([["b", "a", "c"][i % 3] for i in range(ROWS)]),
        "flag": RNG.normal(size=ROWS) > 0,
        "said": [["TRUE", "false"][i % 2] for i in range(ROWS)],
        "code": [f"0{i % 7}" for i in range(ROWS)],
        "when": WHEN,
        "day": [day.date() for day in WHEN],
        "due": [day.strftime("%d/%m/%Y") for day in WHEN],
        "price": [f"${1 + i % 3},{i * 13 % 1000:03}.50" for i in range(ROWS)],
        "share": [f"{i % 11}.5%" for i in range(ROWS)],
        "id": [f"K{i:03}" for i in range(ROWS)],
    }
)


def gp(**parameters: Any) -> ProjectedAdditiveGPRegressor:
    return plain("gam", **parameters)


def fit(X: Any, y: Any = Y, **parameters: Any) -> ProjectedAdditiveGPRegressor:
    """A fit of a frame with a column that identifies the rows, and one of numbers among texts."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = gp(**parameters).fit(X, y)
    said = [str(warning.message) for warning in caught]
    assert [text.split(": ")[0] for text in said] == [
        "X, row 0, column 'city'" if X is FRAME else said[0].split(": ")[0],
        "X, column 'id'",
    ]
    assert all(warning.filename == __file__ for warning in caught)
    return found


@pytest.fixture(scope="module")
def everything() -> ProjectedAdditiveGPRegressor:
    return fit(FRAME)


def as_polars(frame: pd.DataFrame) -> pl.DataFrame:
    whole = pl.from_pandas(frame.astype({"kind": str}))
    return whole.with_columns(pl.col("kind").cast(pl.Categorical), pl.col("day").cast(pl.Date))


MIXED = "ignore:.*is not a number, so the whole column is taken as categories"


# --- the same model as the command line's


def test_kinds(everything):
    assert everything.n_features_in_ == len(FRAME.columns)
    assert list(everything.feature_names_in_) == list(FRAME.columns)
    assert everything.encoded_names_ == [
        *("size", "count", "city=05", "city=5 de Mayo", "city=Lima", "city=Oslo"),
        *("kind=a", "kind=b", "kind=c", "flag", "said", "code", "when", "day", "due"),
        *("price", "share"),
    ]
    assert everything.feature_importances_.shape == (len(FRAME.columns),)
    assert everything.feature_importances_[-1] == 0 == everything.relevance_["id"]
    # The target is noise.
    assert set(everything.relevance_.values()) == {0.0}
    assert everything.notes_ == [
        "X, row 0, column 'city': 'Lima' is not a number, so the whole column is taken as "
        "categories",
        "X, column 'id': it is left out, because its 60 texts are all different",
        "X: dates are read as day, month, year in 'due'",
        "X: taken as categories: 'city' (4 categories), 'kind' (3 categories)",
    ]


@pytest.mark.parametrize("given", [FRAME, as_polars(FRAME)], ids=["pandas", "polars"])
@pytest.mark.parametrize("written", ["csv", "parquet", "polars.parquet", "arrow"])
def test_the_same_file_as_the_command_line(command, tmp_path, given, written):
    path, model = tmp_path / f"t.{written}", tmp_path / "m.raysum"
    table = FRAME.assign(y=Y)
    if written == "csv":
        table.to_csv(path, index=False)
    elif written == "parquet":
        table.to_parquet(path)
    elif written == "arrow":
        as_polars(table).write_ipc(path)
    else:
        as_polars(table).write_parquet(path)
    command("fit", path, "-t", "y", "-m", "gam", "--held-out", "no", "-o", model)
    found = fit(given)
    assert found._model.to_bytes() == model.read_bytes()
    again = ProjectedAdditiveGPRegressor.load(model)
    assert (again.predict(given) == found.predict(FRAME)).all()
    command("predict", model, path, "-o", tmp_path / "out.csv")
    assert (pd.read_csv(tmp_path / "out.csv")["mean"] == found.predict(given)).all()


@pytest.mark.parametrize("missing", ["drop", "mean"])
def test_gaps_are_treated_as_on_the_command_line(command, tmp_path, missing):
    X, y = FRAME.astype({"flag": object, "count": float}), Y.copy()
    for k, name in enumerate(X.columns[:-1]):
        X.loc[3 * k, name] = None
    y[50] = np.nan
    path, model = tmp_path / "t.csv", tmp_path / "m.raysum"
    X.assign(y=y).to_csv(path, index=False)
    options = ("-m", "gam", "--held-out", "no", "--missing", missing)
    command("fit", path, "-t", "y", *options, "-o", model)
    found = fit(X, y, missing=missing)
    assert found._model.to_bytes() == model.read_bytes()
    frame = as_polars(X.astype({"flag": "boolean"}))
    assert fit(frame, y, missing=missing)._model.to_bytes() == model.read_bytes()
    assert found._description["reports"][0]["rows"] == (47 if missing == "drop" else 59)
    if missing == "mean":
        command("predict", model, path, "--missing", "mean", "-o", tmp_path / "out.csv")
        assert (pd.read_csv(tmp_path / "out.csv")["mean"] == found.predict(X)).all()
        assert found.loo(X, y)[0].shape == (59,)
    else:
        says = "X has a missing value in row 0, and rows to predict cannot be left out"
        with pytest.raises(ValueError, match=says):
            found.predict(X)
        assert found.loo(X, y)[0].shape == (47,)


def test_a_gap_has_the_sentence_of_the_command_line(command, tmp_path):
    X = FRAME.assign(kind=FRAME["kind"].cat.set_categories(["a", "b"]))
    X.assign(y=Y).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(subprocess.CalledProcessError) as failed:
        command("fit", tmp_path / "t.csv", "-t", "y")
    said = failed.value.stderr.splitlines()[-1]
    assert said.endswith(
        "t.csv, line 4, column 'kind': the value is missing (and 19 more cells in 19 rows); "
        "use --missing indicate, --missing mean or --missing drop"
    )
    with pytest.raises(ValueError) as raised:
        gp().fit(X, Y)
    assert str(raised.value) == (
        "X, row 2, column 'kind': the value is missing (and 19 more cells in 19 rows); "
        "use missing='indicate', missing='mean' or missing='drop'"
    )


def test_arrays_with_gaps_are_those_of_the_command_line(command, tmp_path):
    X = FRAME[["size", "count"]].to_numpy(dtype=float)
    X[3, 0] = np.nan
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    model = tmp_path / "m.raysum"
    options = ("-m", "gam", "--held-out", "no", "--missing", "mean", "-o", model)
    command("fit", tmp_path / "x.npy", "--y", tmp_path / "y.npy", *options)
    found = gp(missing="mean").fit(X, Y)
    assert found._model.to_bytes() == model.read_bytes()
    command("predict", model, tmp_path / "x.npy", "--missing", "mean", "-o", tmp_path / "out.csv")
    assert (pd.read_csv(tmp_path / "out.csv")["mean"] == found.predict(X)).all()
    assert not hasattr(found, "feature_names_in_") and found.n_features_in_ == 2
    whole = np.nan_to_num(X)
    plain = gp().fit(whole, Y)
    assert (gp(missing="mean").fit(whole, Y).predict(whole) == plain.predict(whole)).all()
    # A rule that comes after the fit counts, too.
    assert np.isfinite(plain.set_params(missing="mean").predict(X)).all()


@pytest.mark.parametrize("city", ["05", "5", 5, 5.0])
@pytest.mark.parametrize("said", ["TRUE", "true", True, 1])
def test_categories_and_truth_values_match_however_they_are_spelled(
    everything,
    command,
    tmp_path,
    city,
    said,
):
    X = FRAME[:3].astype({"city": object, "said": object}).assign(city=city, said=said)
    expected = everything.predict(FRAME[:3].assign(city="05", said="TRUE"))
    assert (everything.predict(X) == expected).all()
    everything.save(tmp_path / "m.raysum")
    X.to_csv(tmp_path / "t.csv", index=False)
    command("predict", tmp_path / "m.raysum", tmp_path / "t.csv", "-o", tmp_path / "out.csv")
    assert (pd.read_csv(tmp_path / "out.csv")["mean"] == expected).all()


# --- what frames can be


def frame_of(column: Any) -> pd.DataFrame:
    return pd.DataFrame({"size": FRAME["size"], "it": column})


@pytest.mark.parametrize(
    ("column", "same"),
    [
        pytest.param(FRAME["city"].astype("category"), FRAME["city"], id="category"),
        pytest.param(FRAME["city"].astype("string"), FRAME["city"], id="string"),
        pytest.param(FRAME["city"].astype(object), FRAME["city"], id="object"),
        pytest.param(FRAME["city"].astype("string[pyarrow]"), FRAME["city"], id="arrow-string"),
        pytest.param(
            pd.cut(FRAME["size"], 4), pd.cut(FRAME["size"], 4).astype(str), id="intervals"
        ),
        pytest.param(WHEN.tz_localize("UTC"), WHEN, id="utc"),
        pytest.param(WHEN.tz_localize("UTC").tz_convert("Asia/Tokyo"), WHEN, id="other-time-zone"),
        pytest.param(WHEN.as_unit("ms"), WHEN, id="milliseconds"),
        pytest.param(WHEN.astype(str), WHEN, id="date-texts"),
        pytest.param(list(WHEN.to_pydatetime()), WHEN, id="datetime-objects"),
        pytest.param(np.array(WHEN.to_pydatetime(), dtype=object), WHEN, id="object-of-datetimes"),
        pytest.param(
            WHEN.to_series().astype("timestamp[us][pyarrow]").array, WHEN, id="arrow-time"
        ),
        pytest.param(WHEN.normalize().astype("date32[pyarrow]"), WHEN.normalize(), id="arrow-date"),
        pytest.param(FRAME["flag"].astype("boolean"), FRAME["flag"], id="nullable-boolean"),
        pytest.param(
            FRAME["flag"].map({True: "Yes", False: "no"}).eq("Yes"), FRAME["flag"], id="eq"
        ),
        pytest.param(FRAME["code"].astype("category"), FRAME["code"].astype(int), id="codes"),
        pytest.param(
            FRAME["price"], FRAME["price"].str.replace("[$,]", "", regex=True), id="money"
        ),
        pytest.param(FRAME["due"], FRAME["day"], id="local-dates"),
    ],
)
@pytest.mark.filterwarnings(MIXED)
def test_columns_that_mean_the_same(column, same):
    X, expected = frame_of(column), frame_of(same)
    found = gp().fit(X, Y)
    assert found.n_features_in_ == 2
    assert (found.predict(X) == gp().fit(expected, Y).predict(expected)).all()
    with_text = lambda X: X.assign(kind=list(FRAME["kind"]))  # noqa: E731
    one, other = gp().fit(with_text(X), Y), gp().fit(with_text(expected), Y)
    assert (one.predict(with_text(X)) == other.predict(with_text(expected))).all()


def test_polars_types():
    values = FRAME["kind"].astype(str).to_list()
    for dtype in (pl.String, pl.Categorical, pl.Enum(["a", "b", "c"])):
        X = pl.DataFrame({"size": FRAME["size"].to_numpy(), "it": pl.Series(values, dtype=dtype)})
        expected = frame_of(values)
        assert (gp().fit(X, Y).predict(X) == gp().fit(expected, Y).predict(expected)).all()


@pytest.mark.parametrize(
    ("column", "says"),
    [
        pytest.param(
            pd.to_timedelta(range(ROWS), unit="h"),
            r"X, column 'it': it holds timedelta64\[.*\], which is neither number nor text; drop "
            "the column",
            id="timedelta",
        ),
        pytest.param([{}] * ROWS, "it holds values of type dict, which is neither", id="dicts"),
        pytest.param([b"u"] * ROWS, "it holds values of type bytes, which", id="bytes"),
        pytest.param(pd.period_range("2024", periods=ROWS), "it holds period", id="periods"),
        pytest.param(
            [None] * ROWS, "X, column 'it': it has no values; drop the column", id="empty"
        ),
        pytest.param(["5,1"] * 30 + ["5.1"] * 30, "its numbers are in different", id="notations"),
        pytest.param(["01/02/2024"] * ROWS, "turn the texts into dates first", id="doubtful-dates"),
        pytest.param(
            [1.0, np.inf] * 30, "row 1, column 'it': 'inf' is not a finite", id="infinity"
        ),
        pytest.param([10**400, "u"] * 30, "mixed", id="huge-integers"),
    ],
)
@pytest.mark.filterwarnings(MIXED)
def test_columns_that_are_refused(column, says):
    X = frame_of(column).assign(kind=FRAME["kind"])
    if says == "mixed":
        # A number among texts is a text.
        assert gp().fit(X, Y).n_features_in_ == 3
        return
    with pytest.raises(ValueError, match=says):
        gp().fit(X, Y)


def test_names_and_their_order(everything):
    X = FRAME[list(FRAME.columns[::-1])].assign(extra="unused")
    assert (everything.predict(X) == everything.predict(FRAME)).all()
    # What is left out is not asked for.
    assert (everything.predict(X.drop(columns="id")) == everything.predict(FRAME)).all()
    says = (
        r"X: the model needs 2 columns that are not there: 'city', 'when' \(columns there: 'size'"
    )
    for X in (FRAME, as_polars(FRAME)):
        some = X.drop(columns=["city", "when"]) if X is FRAME else X.drop("city", "when")
        with pytest.raises(ValueError, match=says):
            everything.predict(some)
    twice = pd.concat([FRAME, FRAME[["city"]]], axis=1)
    for call in (lambda: everything.predict(twice), lambda: gp().fit(twice, Y)):
        with pytest.raises(
            ValueError, match="unique column names, but has more than one of 'city'"
        ):
            call()


def test_kinds_that_change(everything):
    for column, values, says in [
        ("size", "many", "row 0, column 'size': 'many' is not a number, but the model was trained"),
        ("size", WHEN, "column 'size': it holds dates, but the model was trained on numbers here"),
        ("when", 5.0, "column 'when': it holds numbers, but the model was trained on dates here"),
        ("when", "soon", "row 0, column 'when': 'soon' is not a date, but the model was trained"),
        ("flag", "maybe", "row 0, column 'flag': 'maybe' is neither true nor false"),
        ("price", "5,5", "row 0, column 'price': '5,5' is not in the number notation of the train"),
        ("city", None, r"column 'city': the value is missing \(and 59 more cells in 59 rows\)"),
    ]:
        with pytest.raises(ValueError, match=says):
            everything.predict(FRAME.assign(**{column: values}))
    known = everything.predict(FRAME)
    says = r"X, column 'city': 60 rows with categories that training did not have \('Rome'\)"
    with pytest.warns(UserWarning, match=says):
        assert not (everything.predict(FRAME.assign(city="Rome")) == known).any()
    # Numbers that became texts are numbers; a date is a date in ISO's notation, too.
    texts = FRAME.astype({"size": str, "count": str, "when": str})
    assert (everything.predict(texts.assign(due=FRAME["day"])) == known).all()


def test_arrays_for_a_model_of_frames(everything):
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        mean = everything.predict(FRAME.to_numpy(dtype=object))
    assert (mean == everything.predict(FRAME)).all()
    with (
        pytest.warns(UserWarning, match="X does not have valid feature names"),
        pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 13 features"),
    ):
        everything.predict(np.zeros((2, 3)))


def test_a_model_of_numbers_names_the_column_of_texts():
    X = FRAME[["size", "count"]]
    plain = gp().fit(X, Y)
    for texts in (FRAME["kind"], FRAME["city"], list(WHEN)):
        with pytest.raises(ValueError, match=r"column 'count'"):
            plain.predict(X.assign(count=texts))
    with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- city"):
        plain.predict(FRAME[["size", "count", "city"]])


@pytest.mark.parametrize(
    "copied",
    [
        lambda gp, folder: pickle.loads(pickle.dumps(gp)),
        lambda gp, folder: joblib.load(joblib.dump(gp, folder / "m.joblib")[0]),
        lambda gp, folder: gp.save(folder / "m.raysum") or gp.load(folder / "m.raysum"),
    ],
    ids=["pickle", "joblib", "file"],
)
def test_copies(everything, tmp_path, copied):
    again = copied(everything, tmp_path)
    assert (again.predict(FRAME) == everything.predict(FRAME)).all()
    assert list(again.feature_names_in_) == list(FRAME.columns)
    assert again.relevance_ == everything.relevance_
    assert again.get_params() == everything.get_params()
    assert not hasattr(clone(again), "feature_names_in_")


def test_questions_about_a_model_of_frames(everything):
    X = FRAME[:7]
    assert everything.components(X).shape == (7, len(everything.encoded_names_))
    assert everything.gradient(X).shape == (7, len(everything.encoded_names_))
    assert everything.sample_y(X, 3).shape == (7, 3)
    assert everything.directions_.shape[1] == len(everything.encoded_names_)
    mean, std = everything.loo(FRAME, Y)
    assert mean.shape == std.shape == (ROWS,)
    more = pickle.loads(pickle.dumps(everything)).partial_fit(X, Y[:7])
    assert not (more.predict(FRAME) == everything.predict(FRAME)).all()


def test_weights_and_several_targets():
    X = FRAME[["size", "kind"]]
    weights = np.where(np.arange(ROWS) % 4 == 0, 0.0, 2.0)
    weighted = gp().fit(X, Y, sample_weight=weights)
    kept = np.flatnonzero(weights)
    expected = gp().fit(X.iloc[kept], Y.iloc[kept], sample_weight=weights[kept])
    assert np.allclose(weighted.predict(X), expected.predict(X))
    both = gp().fit(X, pd.DataFrame({"one": Y, "size": FRAME["size"]}))
    assert both.predict(X).shape == (ROWS, 2)
    assert both.relevance_["kind"].shape == (2,)
    assert both._description["target_names"] == ["one", "size_"]


def test_cross_validation_of_a_frame():
    X = FRAME[["size", "kind", "when"]]
    y = Y + (FRAME["kind"] == "a") * 5
    assert cross_val_score(gp(), X, y, cv=3).mean() > 0.5


def test_names_that_are_no_texts():
    X = FRAME[["size", "kind"]].set_axis([0, 1], axis=1)
    found = gp().fit(X, Y)
    assert not hasattr(found, "feature_names_in_") and list(found.relevance_) != []
    assert (found.predict(X) == gp().fit(FRAME[["size", "kind"]], Y).predict(
        FRAME[["size", "kind"]]
    )).all()  # fmt: skip


def test_unusual_rows():
    X = FRAME[["size", "kind"]]
    with pytest.raises(ValueError, match=re.escape("Found array with 0 sample(s) (shape=(0, 2))")):
        gp().fit(X[:0], Y[:0])
    with pytest.raises(ValueError, match=re.escape("Found array with 1 sample(s) (shape=(1, 2))")):
        gp().fit(X[:1], Y[:1])
    with pytest.raises(ValueError, match=re.escape("inconsistent numbers of samples: [60, 59]")):
        gp().fit(X, Y[1:])
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        gp().fit(X, None)
    with pytest.raises(ValueError, match="Input y contains NaN at row 3"):
        gp().fit(X, Y.where(Y.index != 3))
    with pytest.raises(ValueError, match="Input y contains infinity at row 0"):
        gp(missing="drop").fit(X, np.full(ROWS, np.inf))
    with pytest.raises(TypeError, match="Feature names are only supported if all"):
        gp().fit(X.set_axis(["size", 1], axis=1), Y)


@pytest.mark.parametrize(
    "dtype",
    [
        "datetime64[ns]",
        "datetime64[ns, Asia/Tokyo]",
        "date32[pyarrow]",
        "timestamp[ns][pyarrow]",
        "timestamp[us, tz=Asia/Tokyo][pyarrow]",
    ],
)
def test_missing_dates(dtype):
    days = pd.Series(WHEN.normalize())
    if "Tokyo" in dtype:
        days = days.dt.tz_localize("Asia/Tokyo")
    X = pd.DataFrame({"day": days.astype(dtype)})
    whole = gp().fit(X, Y)
    X.loc[5, "day"] = None
    with pytest.raises(ValueError, match=r"X, row 5, column 'day': the value is missing; use"):
        gp().fit(X, Y)
    filled = gp(missing="mean").fit(X, Y)
    assert filled._description["schema"]["features"][0]["kind"] == {"type": "date"}
    assert np.allclose(filled.predict(X[6:]), whole.predict(X[6:]), atol=0.5)


def test_dates_of_python_are_dates():
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=i) for i in range(ROWS)]
    found = gp().fit(pd.DataFrame({"day": days}), Y)
    assert found._description["schema"]["features"][0]["kind"] == {"type": "date"}
    assert found._description["schema"]["features"][0]["means"] == [19723 + 29.5]
