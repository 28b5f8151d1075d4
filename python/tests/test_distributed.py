"""Fits to partitions: equal to the bit wherever they run, close to fits of one table, and clear
about bad input.
"""

import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from raysum import AutoGPRegressor, ProjectedAdditiveGPRegressor
from raysum.distributed import Job, fit_partitions, merge, merge_all, run

SIZES = [70, 0, 130, 1, 99]


def gp(**parameters):
    given = {"model": "gam", "intervals": "gaussian", **parameters}
    return ProjectedAdditiveGPRegressor(**given)


def split(*arrays):
    ends = np.cumsum([0, *SIZES])
    return [tuple(a[s:e] for a in arrays) for s, e in pairwise(ends)]


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(sum(SIZES), 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=len(X))


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(6)
    n = sum(SIZES)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "town": rng.choice(["Ulm", "Aalen", "Riga"], size=n),
            "sold": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 500, n), "D"),
            "year": rng.integers(1950, 2020, n).astype(str),
        }
    )
    effect = frame["town"].map({"Ulm": 0.0, "Aalen": 1.0, "Riga": -1.0})
    y = pd.Series(np.sin(frame["size"]) + effect + 0.1 * rng.normal(size=n), name="price")
    return frame, y


def test_partitions_give_about_the_fit_of_the_whole_table(numbers):
    X, y = numbers
    alone = gp(engine="weight").fit(X, y)
    parts = fit_partitions(gp(), split(X, y))
    assert np.abs(alone.predict(X) - parts.predict(X)).max() < 0.05
    std = [model.predict(X, return_std=True)[1] for model in (alone, parts)]
    assert np.abs(std[0] - std[1]).max() < 0.03
    assert parts._description["reports"][0]["rows"] == len(X)


def test_threads_and_repetition_do_not_change_a_bit(numbers):
    X, y = numbers
    fits = [fit_partitions(gp(n_jobs=jobs), split(X, y)) for jobs in (1, 2)]
    first, second = (fit._model.to_bytes() for fit in fits)
    assert first == second


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("dpa-ard", {"n_projections": 5}),
        ("rpa-1", {"n_projections": 5}),
        ("ppr", {"n_projections": 5}),
        ("linear", {}),
        ("gam+linear", {}),
    ],
)
def test_every_additive_model_has_jobs(numbers, model, settings):
    X, y = numbers
    found = fit_partitions(gp(model=model, max_evaluations=4, **settings), split(X, y))
    assert np.isfinite(found.predict(X)).all()


def test_tables_agree_on_one_schema(table):
    frame, y = table
    parts = fit_partitions(gp(), split(frame, y), targets=["price"])
    alone = gp(engine="weight").fit(frame, y)
    assert parts.encoded_names_ == alone.encoded_names_
    assert parts.target_names_ == ["price"]
    assert list(parts.feature_names_in_) == list(frame.columns)
    assert np.abs(alone.predict(frame) - parts.predict(frame)).max() < 0.1


def test_arrow_batches_are_frames(table):
    pa = pytest.importorskip("pyarrow")
    frame, y = table
    parts = split(frame, y)
    batches = [(pa.Table.from_pandas(x, preserve_index=False), y) for x, y in parts]
    models = [fit_partitions(gp(), given)._model.to_bytes() for given in (parts, batches)]
    assert models[0] == models[1]


def test_missing_values_follow_the_rule(table):
    frame, y = table
    gaps = frame.copy()
    gaps.loc[[3, 120], "size"] = np.nan
    gaps.loc[250, "town"] = None
    with pytest.raises(ValueError, match=r"^partition 0: X, row 3, column 'size'"):
        fit_partitions(gp(), split(gaps, y))
    mean = fit_partitions(gp(missing="mean"), split(gaps, y))
    assert mean._description["reports"][0]["rows"] == len(y)
    dropped = fit_partitions(gp(missing="drop"), split(gaps, y))
    assert dropped._description["reports"][0]["rows"] == len(y) - 3


def test_weights_noise_and_several_targets(numbers):
    X, y = numbers
    weights = np.where(np.arange(len(y)) % 7, 1.0 + np.arange(len(y)) % 3, 0.0)
    weighted = fit_partitions(gp(), split(X, y, weights))
    assert weighted._description["reports"][0]["rows"] == (weights > 0).sum()
    alone = gp(engine="weight").fit(X, y, sample_weight=weights)
    assert np.abs(weighted.predict(X) - alone.predict(X)).max() < 0.06
    noise = np.full(len(y), 0.05)
    parts = [(x, y, None, s) for x, y, s in split(X, y, noise)]
    assert np.isfinite(fit_partitions(gp(), parts).predict(X)).all()
    both = np.column_stack([y, -y])
    several = fit_partitions(gp(), split(X, both), targets=["a", "b"])
    mean = several.predict(X)
    assert mean.shape == (len(X), 2)
    assert np.abs(mean[:, 0] + mean[:, 1]).max() < 1e-6
    shared = fit_partitions(gp(independent=False), split(X, both), targets=2)
    assert shared.predict(X).shape == (len(X), 2)


def test_scales_are_those_of_all_rows(numbers):
    X, y = numbers
    found = fit_partitions(
        gp(columns_scale="ranks", target_scale="yeo-johnson"), split(X, np.exp(y))
    )
    assert (found.predict(X) > 0).all()


def test_text_among_numbers_is_named_by_partition_and_row(numbers, table):
    X, y = numbers
    spoilt = X.astype(object)
    spoilt[75, 1] = "many"
    with pytest.raises(ValueError) as error:
        fit_partitions(gp(), split(spoilt, y))
    assert str(error.value) == "partition 2: X, row 5, column 1: 'many' is not a number."
    frame, y = table
    frame = frame.astype({"size": object})
    frame.loc[75, "size"] = "many"
    with pytest.raises(ValueError) as error:
        fit_partitions(gp(), split(frame, y))
    assert str(error.value) == (
        "partition 2: X, row 5, column 'size': it holds text ('many'), but partition 3 holds "
        "numbers there"
    )
    y = y.astype(object)
    y[80] = "dear"
    with pytest.raises(ValueError, match=r"^partition 2: y, row 10: 'dear' is not a number"):
        fit_partitions(gp(), split(frame, y))


def test_infinities_and_lengths_are_named_by_partition(numbers):
    X, y = numbers
    broken = X.copy()
    broken[71, 2] = np.inf
    with pytest.raises(ValueError, match=r"^partition 2: .*infinity at row 1, column '2'"):
        fit_partitions(gp(), split(broken, y))
    with pytest.raises(ValueError, match=r"^partition 0: X has 350 rows, but y has 10"):
        fit_partitions(gp(), [(np.ones((350, 3)), y[:10])])


def test_partitions_with_other_columns_are_named(numbers, table):
    X, y = numbers
    parts = split(X, y)
    parts[2] = (parts[2][0][:, :2], parts[2][1])
    with pytest.raises(ValueError, match="partition 2 has 2 columns, but partition 3 has 3"):
        fit_partitions(gp(), parts)
    frame, y = table
    for change, message in [
        (lambda f: f.drop(columns="town"), "partition 2: it has no column 'town', but partition 3"),
        (lambda f: f.assign(more=1.0), "partition 3: it has no column 'more', but partition 2"),
        (lambda f: f[f.columns[::-1]], "partition 3: its columns are in another order"),
    ]:
        parts = split(frame, y)
        parts[2] = (change(parts[2][0]), parts[2][1])
        with pytest.raises(ValueError, match=f"^{message}"):
            fit_partitions(gp(), parts)


def test_other_versions_are_both_named(numbers):
    X, y = numbers
    task = Job(gp(), table=False).task()
    assert task is not None
    version = task.split(b"\n", 1)[0].split(b" ")[-1].decode()
    old = task.replace(version.encode(), b"0.0.9", 1)
    with pytest.raises(ValueError) as error:
        run(old, X, y)
    assert str(error.value) == (
        f"the task comes from raysum 0.0.9, but this machine has raysum {version}; install the "
        "same version on all machines."
    )


def test_bad_calls_say_what_is_wrong(numbers):
    X, y = numbers
    with pytest.raises(ValueError, match="calibrated intervals need all rows on one machine"):
        Job(ProjectedAdditiveGPRegressor(), table=False)
    with pytest.raises(ValueError, match="noise that depends on the columns needs all rows"):
        Job(gp(noise="columns"), table=False)
    with pytest.raises(ValueError, match="the dense engine needs all rows on one machine"):
        Job(gp(engine="dense"), table=True)
    with pytest.raises(ValueError, match="at least 2 rows"):
        fit_partitions(gp(), [])
    with pytest.raises(ValueError, match="at least 2 rows"):
        fit_partitions(gp(), [(X[:0], y[:0])])
    with pytest.raises(ValueError, match="at least 2 rows"):
        fit_partitions(gp(), [(X[:1], y[:1])])
    job = Job(gp(), table=False)
    with pytest.raises(ValueError, match="the job is not done"):
        job.model()
    task = job.task()
    with pytest.raises(ValueError, match="the job does not take sample_weight"):
        run(task, X, y, np.ones(len(y)))
    with pytest.raises(ValueError, match="the task cannot be read"):
        run(b"nonsense", X, y)
    with pytest.raises(ValueError, match="the task cannot be read"):
        run(task[:40], X, y)
    other = run(Job(gp(random_state=1), table=False).task(), X, y)
    with pytest.raises(ValueError, match="the answer is to another task"):
        merge(run(task, X, y), other)
    with pytest.raises(ValueError, match="the answer is to another task"):
        job.answer(other)
    with pytest.raises(ValueError, match="there are no answers"):
        merge_all([])


#: For each name, fits in a forked process that is killed at this reading of the rows.
DRIVERS = """
import os, signal, sys
import numpy as np
from raysum import ProjectedAdditiveGPRegressor
from raysum.distributed import fit_partitions

rng = np.random.default_rng(1)
X = rng.normal(size=(300, 2))
y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=300)

class Partitions:
    count = 0
    def __iter__(self):
        Partitions.count += 1
        if Partitions.count == passes:
            os.kill(os.getpid(), signal.SIGKILL)
        return iter([(X[:100], y[:100]), (X[100:], y[100:])])

def drive(path):
    gp = ProjectedAdditiveGPRegressor("gam", intervals="gaussian")
    fit_partitions(gp, Partitions(), checkpoint="kept", sample_rows=200).save(path)
    return Partitions.count

for name, passes in [("whole", 0), ("resumed", 8), ("resumed", 0)]:
    driver = os.fork()
    if driver == 0:
        print(drive(name), flush=True)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(driver, 0)[1])
    kept = os.path.getsize("kept") if os.path.exists("kept") else 0
    print(name, code, kept, flush=True)
"""


def test_a_killed_driver_resumes_with_the_same_model(tmp_path):
    words = [sys.executable, "-c", DRIVERS]
    out = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    whole, of_whole, of_killed, resumed, of_resumed = out.stdout.splitlines()
    assert of_whole == "whole 0 0", out.stderr
    name, code, kept = of_killed.split()
    assert (name, int(code)) == ("resumed", -signal.SIGKILL) and int(kept) > 100
    assert of_resumed == "resumed 0 0", out.stderr
    assert int(resumed) < int(whole)
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "whole").read_bytes()
    assert not (tmp_path / "kept").exists()


def test_rows_can_be_taken_out_again(numbers):
    X, y = numbers
    model = gp(engine="weight").fit(X, y)
    before = model.predict(X)
    model.partial_fit(X[:20] + 0.01, y[:20])
    assert np.abs(model.predict(X) - before).max() > 1e-4
    model.remove(X[:20] + 0.01, y[:20])
    assert np.abs(model.predict(X) - before).max() < 1e-7
    with pytest.raises(ValueError):
        model.remove(np.tile(X, (5, 1)), np.tile(y, 5))
    few = AutoGPRegressor(effort="quick", intervals="gaussian").fit(X, y)
    rows = few._description["reports"][0]["rows"]
    assert few.remove(X[:3], y[:3])._description["reports"][0]["rows"] == rows - 3


def test_shards_add_up_to_all_rows(numbers, tmp_path):
    X, y = numbers
    model = gp(engine="weight").fit(X[:100], y[:100])
    files = [tmp_path / f"{k}.stats" for k in range(2)]
    assert model.save_stats(files[0], X[100:200], y[100:200]) >= 0
    model.save_stats(files[1], X[200:], y[200:])
    sample = model._model
    model.merge_stats(files)
    assert model._description["reports"][0]["rows"] == len(X)
    with pytest.raises(ValueError, match=r"0\.stats: its rows would count twice.*allow_duplicates"):
        model.merge_stats([files[0]])
    model._take(sample)
    assert (
        model.merge_stats(files, only_shards=True)._description["reports"][0]["rows"]
        == len(X) - 100
    )
    with pytest.raises(TypeError, match="a list of files"):
        model.merge_stats(str(files[0]))
    with pytest.raises(FileNotFoundError):
        model.merge_stats([Path("not there")])
