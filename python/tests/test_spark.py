"""Fits on real Spark with executors, one of which is killed; run by `make test-spark`."""

import os
import re
import signal
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from raysum import ProjectedAdditiveGPRegressor
from raysum.distributed import fit_partitions, merge_all
from raysum.spark import SparkGPRegressor, merge_numbered

pyspark = pytest.importorskip("pyspark")

PARTS = 4
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    # Executors do not have this file.
    pyspark.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .appName("raysum")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(2)
    n = 400
    frame = pd.DataFrame({"size": rng.normal(size=n), "town": rng.choice(["Ulm", "Riga"], n)})
    frame["row"] = np.arange(n)
    effect = frame["town"].map({"Ulm": 0.0, "Riga": 1.0})
    frame["price"] = np.sin(2 * frame["size"]) + effect + 0.1 * rng.normal(size=n)
    return frame


@pytest.fixture(scope="module")
def table(spark, frame):
    rows = spark.createDataFrame(frame)
    return rows.repartitionByRange(PARTS, "row").sortWithinPartitions("row").persist()


def model(**parameters):
    return SparkGPRegressor("gam", max_evaluations=10, **parameters)


@pytest.fixture(scope="module")
def expected(table):
    """The bits of the fit of the same partitions in one process."""
    from pyspark.sql.functions import spark_partition_id

    rows = table.withColumn("part", spark_partition_id()).toPandas()
    assert rows["part"].nunique() == PARTS
    parts = [part[["size", "town", "price"]] for _, part in rows.groupby("part")]
    parts = [(part[["size", "town"]].reset_index(drop=True), part[["price"]]) for part in parts]
    gp = ProjectedAdditiveGPRegressor(
        "gam", max_evaluations=10, engine="weight", intervals="gaussian"
    )
    return fit_partitions(gp, parts, targets=["price"])._model.to_bytes()


def test_a_cluster_has_the_bits_of_one_process(table, expected, frame):
    gp = model().fit(table, "price", columns=["size", "town"])
    assert gp.model_._model.to_bytes() == expected
    found = gp.predict(table, return_std=True, interval=0.9).toPandas().sort_values("row")
    assert list(found.columns) == [*frame.columns, "mean", "std", "lower", "upper"]
    mean = gp.model_.predict(frame[["size", "town"]])
    assert np.abs(found["mean"].to_numpy() - mean).max() < 1e-12
    assert (found["lower"] < found["mean"]).all()
    with pytest.raises(ValueError, match="the table already has a column 'mean'; rename it first"):
        gp.predict(table.withColumnRenamed("row", "mean"))


def executor():
    """The process of the executor that this worker belongs to."""
    pid = os.getpid()
    while pid > 1:
        with open(f"/proc/{pid}/stat") as file:
            name, rest = file.read().rpartition(")")[::2]
        if "java" in name:
            return pid
        pid = int(rest.split()[1])
    raise AssertionError("no executor")


def dying(folder, reads):
    """A pass over partitions that kills the executor when the first is read for the given times."""

    def passing(batches):
        for batch in batches:
            if batch.num_rows and batch.column("row")[0].as_py() == 0:
                path = os.path.join(folder, "reads")
                with open(path, "ab") as file:
                    file.write(b".")
                if os.path.getsize(path) in reads:
                    os.kill(executor(), signal.SIGKILL)
            yield batch

    return passing


def test_a_killed_executor_changes_nothing(table, expected, tmp_path):
    mortal = table.mapInArrow(dying(str(tmp_path), (4, 9)), table.schema)
    gp = model().fit(mortal, "price", columns=["size", "town"])
    assert os.path.getsize(tmp_path / "reads") > 9
    assert gp.model_._model.to_bytes() == expected


def test_bad_rows_and_columns_are_named(spark, table):
    with pytest.raises(ValueError, match="the table has no column 'cost'; it has 'size', 'town'"):
        model().fit(table, "cost")
    gaps = table.selectExpr("nullif(row, 250) * 1.0 as size", "town", "price")
    with pytest.raises(ValueError, match=r"^partition 2: X, row \d+, column 'size'"):
        model().fit(gaps, "price")


def test_empty_partitions_are_fine(spark, frame):
    few = spark.createDataFrame(frame[["size", "price"]].head(60)).repartition(1)
    empty = few.limit(0)
    gp = model().fit(empty.union(few).union(empty), "price")
    assert gp.model_._description["reports"][0]["rows"] == 60
    with pytest.raises(ValueError, match="at least 2 rows"):
        model().fit(empty, "price")


def test_the_tree_of_spark_is_that_of_one_process(table):
    from raysum.distributed import Job, run

    gp = ProjectedAdditiveGPRegressor("gam", intervals="gaussian")
    rng = np.random.default_rng(0)
    task = Job(gp, table=False).task()
    X = rng.normal(size=(110, 2))
    answers = [
        run(task, X[k : k + 10], X[k : k + 10, 0], partition=k // 10) for k in range(0, 110, 10)
    ]
    assert merge_numbered(dict(enumerate(answers)), 4) == merge_all(answers)


def test_the_page_of_the_documentation_runs(spark, tmp_path, monkeypatch):
    page = (Path(__file__).resolve().parents[2] / "docs" / "clusters.md").read_text()
    blocks = re.findall(r"```(\w*)\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(next(code for kind, code in blocks if kind == "python"), {})
    code = next(code for kind, code in blocks if kind == "py")
    # Spark has a folder of its own.
    for name in ("sales", "predictions"):
        code = code.replace(f'"{name}"', f'"{tmp_path / name}"')
    exec(code, {"spark": spark})
    found = spark.read.parquet(str(tmp_path / "predictions"))
    assert found.count() == 900 and {"mean", "lower", "upper"} < set(found.columns)
