"""The estimator wherever scikit-learn puts one."""

import copy
import io
import json
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from cases import plain
from sklearn.base import clone, is_regressor
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import BaggingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

#: Estimators by what makes them, each checked in full. The first two are those that users begin
#: with, fitted sooner; the checks are the same whatever the length of a search.
CHECKED = [
    "ProjectedAdditiveGPRegressor(shrinkage='none')",
    "AutoGPRegressor(effort='quick')",
    "ProjectedAdditiveGPRegressor('rbf-ard', intervals='gaussian')",
    "ProjectedAdditiveGPRegressor('gam', missing='indicate', intervals='gaussian')",
]
DEFAULTS = ["ProjectedAdditiveGPRegressor()", "AutoGPRegressor()"]

#: What is not checked with all parameters at their defaults: it fits often, or many rows.
LONG = [
    "check_array_api_input",
    "check_dtype_object",
    "check_estimators_dtypes",
    "check_estimators_partial_fit_n_features",
    "check_fit_check_is_fitted",
    "check_fit_idempotent",
    "check_n_features_in",
    "check_pipeline_consistency",
    "check_positive_only_tag_during_fit",
    "check_regressor_data_not_an_array",
    "check_transformer_data_not_an_array",
    "check_transformer_general",
    "check_transformer_preserve_dtypes",
]

#: Most of the time is spent on fits to one table of 200 rows, of which 20 are as good.
CHECKS = """
import json, sys
from sklearn.utils import estimator_checks
from raysum import AutoGPRegressor, ProjectedAdditiveGPRegressor
X, y = estimator_checks._regression_dataset()
estimator_checks.REGRESSION_DATASET = X[:20], y[:20]
checked, defaults, long = map(json.loads, sys.argv[1:])
for made in checked:
    results = estimator_checks.check_estimator(eval(made), on_fail=None)
    print(json.dumps([[r["check_name"], r["status"], repr(r["exception"])] for r in results]))
for made in defaults:
    done = 0
    for estimator, check in estimator_checks.estimator_checks_generator(eval(made)):
        if check.func.__name__ not in long:
            check(estimator)
            done += 1
    print(done)
"""


@pytest.fixture(scope="module")
def checked():
    """What every check of scikit-learn says about each estimator, from one process."""
    # One of the checks is skipped unless SciPy's switch was set before it was imported.
    out = subprocess.run(
        [sys.executable, "-c", CHECKS, *map(json.dumps, (CHECKED, DEFAULTS, LONG))],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
    )
    assert out.returncode == 0, out.stderr
    return dict(zip(CHECKED + DEFAULTS, map(json.loads, out.stdout.splitlines())))


@pytest.mark.parametrize("made", CHECKED)
def test_check_estimator_passes_in_full(checked, made):
    assert len(checked[made]) > 50
    assert [result for result in checked[made] if result[1] != "passed"] == []


@pytest.mark.parametrize("made", DEFAULTS)
def test_defaults_pass_most_checks(checked, made):
    # The first check that fails, or is skipped, ends the process.
    assert checked[made] > 40


def test_in_a_pipeline(table):
    X, y = table
    pipe = make_pipeline(StandardScaler(), plain())
    pipe.set_output(transform="pandas").fit(X, y)
    assert list(pipe[-1].feature_names_in_) == ["a", "b", "c"]
    mean, std = pipe.predict(X, return_std=True)
    assert mean.shape == std.shape == (120,)
    assert pipe.score(X, y) > 0.9


def test_with_text_columns_through_a_column_transformer(table):
    X, y = table
    X = X.assign(colour=np.where(X["c"] > 0, "red", "blue"))
    columns = ColumnTransformer(
        [("colour", OneHotEncoder(sparse_output=False), ["colour"])], remainder="passthrough"
    )
    pipe = make_pipeline(columns, plain()).fit(X, y)
    assert pipe.score(X, y) > 0.9


def test_grid_search_in_two_processes(table):
    X, y = table
    search = GridSearchCV(
        plain(),
        {"model": ["dpa-ard", "gam"], "noise_bounds": [(1e-4, 10.0), (1e-2, 10.0)]},
        cv=3,
        n_jobs=2,
    ).fit(X, y)
    # The target is a function of a + b, which no sum over columns is.
    assert search.best_params_["model"] == "dpa-ard"
    assert search.best_score_ > 0.5


def test_cross_validation(table):
    X, y = table
    gp = plain(shrinkage="none")
    predicted = cross_val_predict(gp, X, y, cv=4)
    assert np.corrcoef(predicted, y)[0, 1] > 0.8
    scores = cross_val_score(gp, X, y, cv=4, params={"sample_weight": np.ones(120)})
    assert (scores > 0.5).all()


def test_bagged_and_of_a_transformed_target(table):
    X, y = table
    gp = plain()
    bag = BaggingRegressor(gp, n_estimators=3, random_state=0).fit(X, y)
    assert bag.score(X, y) > 0.8
    logged = TransformedTargetRegressor(gp, func=np.log1p, inverse_func=np.expm1).fit(
        X, y - y.min()
    )
    assert logged.score(X, y - y.min()) > 0.7


def test_selects_columns_for_others(table):
    X, y = table
    select = SelectFromModel(plain(), threshold=0.05).fit(X, y)
    assert list(select.get_feature_names_out()) == ["a", "b"]


@pytest.mark.parametrize(
    "copied",
    [
        lambda gp: pickle.loads(pickle.dumps(gp)),
        copy.copy,
        copy.deepcopy,
        lambda gp: joblib.load(_joblib(gp)),
    ],
    ids=["pickle", "copy", "deepcopy", "joblib"],
)
def test_a_copy_predicts_the_same_bits(fitted, table, copied):
    X, _ = table
    again = copied(fitted)
    for one, other in zip(fitted.predict(X, return_std=True), again.predict(X, return_std=True)):
        assert (one == other).all()
    assert again.relevance_ == fitted.relevance_
    assert again.get_params() == fitted.get_params()


def _joblib(gp):
    file = io.BytesIO()
    joblib.dump(gp, file)
    file.seek(0)
    return file


def test_a_clone_is_not_fitted(fitted, table):
    again = clone(fitted)
    with pytest.raises(NotFittedError):
        again.predict(table[0])
    assert is_regressor(again)


def test_threads_at_once_give_the_same_bits(table):
    X, y = table
    fit = lambda seed: plain(random_state=seed).fit(X, y)  # noqa: E731
    alone = [fit(seed).predict(X) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda seed: fit(seed).predict(X), range(4)))
        one = fit(0)
        asked = list(pool.map(lambda _: one.predict(X), range(8)))
    assert all((a == b).all() for a, b in zip(alone, together))
    assert all((a == alone[0]).all() for a in asked)


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1])
def test_the_number_of_threads_changes_nothing(fitted, table, n_jobs):
    X, y = table
    gp = plain(n_jobs=n_jobs).fit(X, y)
    for one, other in zip(fitted.predict(X, return_std=True), gp.predict(X, return_std=True)):
        assert (one == other).all()


def test_a_fork_has_threads_of_its_own(fitted, table):
    code = """
import multiprocessing, sys, warnings
import numpy as np
from raysum import ProjectedAdditiveGPRegressor
warnings.simplefilter("ignore")  # Python warns of forks beside threads
X = np.random.default_rng(0).normal(size=(50, 2))
gp = ProjectedAdditiveGPRegressor("gam", n_jobs=2, intervals="gaussian").fit(X, X[:, 0])
with multiprocessing.get_context("fork").Pool(1) as pool:
    assert (pool.apply(gp.predict, (X,)) == gp.predict(X)).all()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_a_thread_that_has_ended_may_have_been_the_first_to_import():
    # As a pool of processes does, whose results are read by a thread of its own.
    code = """
import threading
import numpy as np
found = []
def work():
    from raysum import ProjectedAdditiveGPRegressor
    X = np.random.default_rng(0).normal(size=(500, 5))
    gp = ProjectedAdditiveGPRegressor("gam", engine="weight", intervals="gaussian")
    found.append((gp.fit(X, X[:, 0]), X))
thread = threading.Thread(target=work)
thread.start()
thread.join()
gp, X = found[0]
for _ in range(20):
    gp.predict(np.tile(X, (20, 1)), return_std=True)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_components_as_frames(fitted, table, kind):
    X, y = table
    gp = clone(fitted).set_output(transform=kind).fit(X, y)
    frame = gp.transform(X)
    assert isinstance(frame, {"pandas": pd.DataFrame, "polars": pl.DataFrame}[kind])
    assert list(frame.columns) == [f"component{j}" for j in range(20)]
    assert np.allclose(np.asarray(frame).sum(axis=1) + gp.constant_, gp.predict(X))


def test_several_targets_as_scikit_learn_does_it(table):
    X, y = table
    Y = np.column_stack([y, X["c"]])
    gp = plain()
    apart = MultiOutputRegressor(gp).fit(X, Y)
    together = gp.fit(X, Y)
    assert apart.predict(X).shape == together.predict(X).shape == (120, 2)
    assert together.score(X, Y) > 0.9
