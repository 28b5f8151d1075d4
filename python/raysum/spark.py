"""Gaussian-process regression on Spark: rows on many machines, predictions where the rows are.

    from raysum.spark import SparkGPRegressor

    gp = SparkGPRegressor(model="dpa-ard").fit(table, "price")
    predictions = gp.predict(table, interval=0.95)    # a DataFrame, evaluated lazily

A task is a pure function of a partition, which Spark repeats when an executor dies, and the answers
are merged in a fixed order, so the model is the same to the last bit as long as the partitions are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _partitions
from ._cluster import ClusterRegressor, predicted, prediction_columns
from ._progress import reporting
from .distributed import Job, merge, run

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["SparkGPRegressor"]

#: Answers that are merged by one task of the tree: 2 to this power.
FAN_IN = 4
ANSWERS = "partition long, answer binary"


class SparkGPRegressor(ClusterRegressor):
    __doc__ = (ClusterRegressor.__doc__ or "").replace(
        "Parameters, and the fitted model.",
        "Gaussian-process regression over PySpark DataFrames.",
    )

    def fit(
        self,
        table: Any,
        target: str | Sequence[str],
        *,
        columns: Sequence[str] | None = None,
        sample_weight: str | None = None,
        noise_std: str | None = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> Self:
        """Find hyperparameters, and compute the posterior of all rows.

        The table is read some ten to twenty times: call `table.persist()` first if it is the result
        of other work. Its partitions must be the same every time, as those of files are.

        Parameters
        ----------
        table : pyspark.sql.DataFrame
            The rows, with the target.
        target : str or sequence of str
            The column to predict, or several.
        columns : sequence of str, default=None
            The columns to predict from; by default all others.
        sample_weight, noise_std : str, default=None
            Columns with sample weights, and with the known standard deviation of each row's noise.
        checkpoint : path, default=None
            A file that records the search. A fit whose driver was killed continues when it is
            started again with the same rows, parameters and file, and ends with the same model.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        targets = [target] if isinstance(target, str) else list(target)
        labels = [*targets, *(name for name in (sample_weight, noise_std) if name is not None)]
        if columns is None:
            columns = [name for name in table.columns if name not in labels]
        for name in [*labels, *columns]:
            if name not in table.columns:
                there = ", ".join(map(repr, table.columns))
                raise ValueError(f"the table has no column {name!r}; it has {there}.")
        table = table.select(*columns, *labels)
        with reporting(int(self.verbose)) as progress:
            job = Job(
                self._local(),
                table=True,
                targets=targets,
                sample_weight=sample_weight is not None,
                noise_std=noise_std is not None,
                sample_rows=self.sample_rows,
                checkpoint=checkpoint,
                progress=progress,
            )
            while (task := job.task()) is not None:
                answer = _answering(task, list(columns), targets, sample_weight, noise_std)
                job.answer(_merged(table, answer))
        self.model_ = job.model(several=not isinstance(target, str))
        return self

    def predict(
        self, table: Any, *, return_std: bool = False, interval: float | None = None
    ) -> Any:
        """Predict, lazily: the table with columns of predictions.

        Parameters
        ----------
        table : pyspark.sql.DataFrame
            The rows.
        return_std : bool, default=False
            Whether to predict the standard deviation too.
        interval : float, default=None
            The level of an interval, such as 0.95.

        Returns
        -------
        table : pyspark.sql.DataFrame
            All columns of the table, and "mean", "std", "lower" and "upper" as far as they are
            asked for; with several targets, each with the name of its target.
        """
        check_is_fitted(self, "model_")
        from pyspark.sql.types import DoubleType, StructField, StructType

        model = self.model_
        names = prediction_columns(model, return_std, interval)
        twice = [name for name in names if name in table.columns]
        if twice:
            raise ValueError(f"the table already has a column {twice[0]!r}; rename it first.")
        used = list(getattr(model, "feature_names_in_", table.columns))

        def add(batches: Iterable[Any]) -> Iterator[Any]:
            import pyarrow as pa

            for batch in batches:
                frame = batch.to_pandas()[used]
                values = predicted(frame, model, return_std, interval)
                arrays = [pa.array(np.ascontiguousarray(column)) for column in values.T]
                yield pa.RecordBatch.from_arrays(
                    [*batch.columns, *arrays], names=[*batch.schema.names, *names]
                )

        fields = [StructField(name, DoubleType()) for name in names]
        return table.mapInArrow(add, StructType([*table.schema.fields, *fields]))


def _answering(
    task: bytes,
    columns: list[str],
    targets: list[str],
    sample_weight: str | None,
    noise_std: str | None,
) -> Any:
    """A function of the batches of a partition, which answers a task."""

    def answer(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        rows = list(batches)
        if rows:
            frame = pa.Table.from_batches(rows).to_pandas()
            found = run(
                task,
                frame[columns],
                frame[targets],
                None if sample_weight is None else frame[sample_weight],
                None if noise_std is None else frame[noise_std],
                partition=number,
            )
            yield pa.RecordBatch.from_arrays(
                [pa.array([number]), pa.array([found], pa.binary())], names=["partition", "answer"]
            )

    return answer


def merge_numbered(answers: dict[int, bytes], levels: int) -> bytes:
    """Merges answers by the tree over partition numbers: 2k and 2k + 1, level by level."""
    for _ in range(levels):
        above: dict[int, bytes] = {}
        for number in sorted(answers):
            pair = above.get(number // 2)
            above[number // 2] = answers[number] if pair is None else merge(pair, answers[number])
        answers = above
    return answers[min(answers)]


def _merged(table: Any, answer: Any) -> bytes:
    """The answer of all partitions, merged on the cluster by a tree."""
    from pyspark.errors import PythonException

    rdd = table.mapInArrow(answer, ANSWERS).rdd.map(lambda row: (row[0], bytes(row[1])))
    count = rdd.getNumPartitions()
    while count > 2**FAN_IN:
        count = -(-count // 2**FAN_IN)
        rdd = rdd.map(lambda item: (item[0] >> FAN_IN, item)).groupByKey(count)
        rdd = rdd.mapValues(lambda items: merge_numbered(_low_bits(items), FAN_IN))
    try:
        answers = dict(rdd.collect())
    except PythonException as error:
        raise _plain(error) from error
    except Exception as error:
        if "PythonException" not in str(error) and "ModuleNotFoundError" not in str(error):
            raise
        raise _plain(error) from error
    if not answers:
        raise ValueError("a fit needs at least 2 rows, but no partition has any.")
    return merge_numbered(answers, FAN_IN)


def _low_bits(items: Iterable[tuple[int, bytes]]) -> dict[int, bytes]:
    return {number & (2**FAN_IN - 1): answer for number, answer in items}


def _plain(error: Exception) -> Exception:
    """The error of a partition, without the stack traces of Spark."""
    text = str(error)
    if "No module named 'raysum'" in text:
        ours = _partitions.version()
        return ValueError(f"the executors have no raysum; install raysum {ours} on them.")
    found = re.findall(r"^(?:builtins\.)?(?:Value|Type)Error: (.+)$", text, re.MULTILINE)
    return ValueError(found[-1]) if found else error
