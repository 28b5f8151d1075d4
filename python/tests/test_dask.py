"""Fits on a real Dask cluster of several processes, some of which are killed."""

import os
import signal
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from raysum import ProjectedAdditiveGPRegressor, _partitions
from raysum.dask import DaskGPRegressor
from raysum.distributed import fit_partitions, run

distributed = pytest.importorskip("distributed")
dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")

PARTS = 4
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            memory_limit=0,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(2)
    n = 400
    frame = pd.DataFrame({"size": rng.normal(size=n), "town": rng.choice(["Ulm", "Riga"], n)})
    effect = frame["town"].map({"Ulm": 0.0, "Riga": 1.0})
    frame["price"] = np.sin(2 * frame["size"]) + effect + 0.1 * rng.normal(size=n)
    return frame


def model(**parameters):
    return DaskGPRegressor("gam", max_evaluations=5, **parameters)


def local(partitions, **options):
    gp = ProjectedAdditiveGPRegressor(
        "gam", max_evaluations=5, engine="weight", intervals="gaussian"
    )
    return fit_partitions(gp, partitions, **options)._model.to_bytes()


def parts_of(table):
    parts = [table.get_partition(k).compute() for k in range(table.npartitions)]
    return [(part[["size", "town"]], part["price"]) for part in parts]


def test_a_cluster_has_the_bits_of_one_process_and_predicts_lazily(client, frame):
    table = dd.from_pandas(frame, npartitions=PARTS)
    X, y = table[["size", "town"]], table["price"]
    gp = model().fit(X, y, client=client)
    assert gp.model_._model.to_bytes() == local(parts_of(table), targets=["price"])
    lazy = gp.predict(X)
    assert isinstance(lazy, dd.Series) and lazy.npartitions == table.npartitions
    mean = lazy.compute()
    assert (mean.index == frame.index).all()
    assert (mean.to_numpy() == gp.model_.predict(frame[["size", "town"]])).all()
    both = gp.predict(X, return_std=True, interval=0.9).compute()
    assert list(both.columns) == ["mean", "std", "lower", "upper"]
    assert (both["lower"] < both["mean"]).all() and (both["mean"] < both["upper"]).all()


def test_arrays_with_empty_chunks_weights_and_several_targets(client):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(300, 3))
    targets = np.column_stack([np.sin(rows[:, 0]), rows[:, 1]]) + 0.1 * rng.normal(size=(300, 2))
    weights = rng.uniform(1, 2, size=300)
    sizes = (100, 0, 200)
    X, y = da.from_array(rows, chunks=(sizes, 2)), da.from_array(targets, chunks=(sizes, 1))
    w = da.from_array(weights, chunks=(sizes,))
    gp = model().fit(X, y, w)
    ends = np.cumsum([0, *sizes])
    parts = [(rows[a:b], targets[a:b], weights[a:b]) for a, b in pairwise(ends)]
    assert gp.model_._model.to_bytes() == local(parts, targets=2)
    assert gp.predict(X).compute().shape == (300, 2)
    one = model().fit(X, y[:, 0])
    mean = one.predict(X)
    assert mean.shape == (300,) and np.abs(mean.compute() - np.sin(rows[:, 0])).mean() < 0.2


def dying(part, folder, reads):
    """A partition whose worker is killed while it is read for the given times."""
    if not len(part):
        return part
    path = os.path.join(folder, f"{part.index[0]}")
    with open(path, "ab") as file:
        file.write(b".")
    if part.index[0] == 0 and os.path.getsize(path) in reads:
        os.kill(os.getpid(), signal.SIGKILL)
    return part


def test_killed_workers_change_nothing(client, frame, tmp_path):
    table = dd.from_pandas(frame, npartitions=PARTS)
    mortal = table.map_partitions(dying, str(tmp_path), (4, 9), meta=table._meta)
    gp = model().fit(mortal[["size", "town"]], mortal["price"])
    assert os.path.getsize(tmp_path / "0") > 9
    assert gp.model_._model.to_bytes() == local(parts_of(table), targets=["price"])
    client.wait_for_workers(2, timeout=30)


def spoilt(part, kind):
    if kind == "text" and 250 in part.index:
        part = part.astype({"size": object})
        part.loc[250, "size"] = "many"
    if kind == "columns" and 250 in part.index:
        part = part.drop(columns="town")
    return part


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (
            "text",
            "partition 2: X, row 50, column 'size': it holds text ('many'), but partition 3 holds "
            "numbers there",
        ),
        ("columns", "partition 2: it has no column 'town', but partition 3 has"),
    ],
)
def test_a_bad_partition_is_named(client, frame, kind, message):
    table = dd.from_pandas(frame, npartitions=PARTS)
    X = table[["size", "town"]].map_partitions(
        spoilt, kind, meta=table[["size", "town"]]._meta, enforce_metadata=False
    )
    with pytest.raises(ValueError) as error:
        model().fit(X, table["price"])
    assert str(error.value).startswith(message)


def test_versions_of_workers_are_compared(client, frame, monkeypatch):
    table = dd.from_pandas(frame, npartitions=PARTS)
    ours = _partitions.version()
    task = b"raysum task 0.0.9\nold"
    with pytest.raises(ValueError, match=f"raysum 0.0.9, but this machine has raysum {ours}"):
        client.submit(run, task, [[1.0]], [1.0]).result()
    monkeypatch.setattr(_partitions, "version", lambda: "9.9.9")
    with pytest.raises(ValueError) as error:
        model().fit(table[["size", "town"]], table["price"])
    assert f"has raysum {ours}, but this machine has raysum 9.9.9; install" in str(error.value)


def test_bad_calls_say_what_is_wrong(client, frame):
    table = dd.from_pandas(frame, npartitions=PARTS)
    X, y = table[["size", "town"]], table["price"]
    with pytest.raises(TypeError, match="y must be a Dask DataFrame, but is a Series"):
        model().fit(X, frame["price"])
    with pytest.raises(ValueError, match="X has 4 partitions, but y has 2; repartition"):
        model().fit(X, y.repartition(npartitions=2))
    with pytest.raises(TypeError, match="X must be a Dask DataFrame or Array, but is a DataFrame"):
        model().fit(frame[["size"]], y)


def test_files_that_dask_reads_together_keep_their_rows(client, frame, tmp_path):
    for k in range(3):
        frame[k::3].to_parquet(tmp_path / f"{k}.parquet")
    table = dd.read_parquet(tmp_path)
    gp = model().fit(table[["size", "town"]], table["price"])
    mean = gp.model_.predict(frame[["size", "town"]])
    assert np.abs(mean - frame["price"]).mean() < 0.15


def test_no_client_is_one_sentence(frame, monkeypatch):
    def none():
        raise ValueError("No global client found and no address provided")

    monkeypatch.setattr(distributed, "get_client", none)
    table = dd.from_pandas(frame, npartitions=2)
    with pytest.raises(ValueError, match=r"^there is no Dask client; make one by"):
        model().fit(table[["size", "town"]], table["price"])
