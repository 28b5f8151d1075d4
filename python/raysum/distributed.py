"""Fits to rows on many machines, on any engine that calls functions on partitions.

A `Job` hands out tasks as bytes. Every partition of the rows answers a task by `run`; the answers
are merged by `merge_all`, and the job takes the result. `run` and `merge` are pure functions, so an
engine may repeat them wherever and as often as it likes. `raysum.dask` and `raysum.spark` do all of
this.

>>> import numpy as np
>>> from raysum import ProjectedAdditiveGPRegressor
>>> from raysum.distributed import Job, merge_all, run
>>> rng = np.random.default_rng(0)
>>> X = rng.normal(size=(400, 3))
>>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=400)
>>> parts = [(X[:150], y[:150]), (X[150:], y[150:])]
>>> job = Job(ProjectedAdditiveGPRegressor("gam", intervals="gaussian"), table=False)
>>> while (task := job.task()) is not None:
...     answers = [run(task, *part, partition=k) for k, part in enumerate(parts)]
...     job.answer(merge_all(answers))
>>> gp = job.model()
>>> bool(abs(gp.predict(X) - np.sin(X[:, 0])).mean() < 0.1)
True
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any

from sklearn.base import clone

from . import _inputs, _partitions, _raysum, _tables
from ._estimator import ProjectedAdditiveGPRegressor
from ._progress import reporting
from ._types import NumberedStep, Progress

__all__ = ["Job", "fit_partitions", "merge", "merge_all", "run"]

#: Rows of the sample on which hyperparameters are searched, by default.
SAMPLE_ROWS = 100_000


def run(
    task: bytes,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    noise_std: Any = None,
    *,
    partition: int = 0,
    threads: int = 1,
) -> bytes:
    """Answer a task for the rows of one partition.

    A pure function: the same arguments give the same bytes, on any number of threads.

    Parameters
    ----------
    task : bytes
        What `Job.task` returned.
    X : array or frame
        The rows: NumPy, pandas, polars or Arrow. It may have no rows.
    y, sample_weight, noise_std : array-like
        What belongs to the rows, as in the `fit` of an estimator.
    partition : int
        The number of the partition, from 0, which errors name. Every partition must have its own.
    threads : int
        Number of threads.

    Returns
    -------
    answer : bytes
        What `merge` and `Job.answer` take.
    """
    return _partitions.answer(task, X, y, sample_weight, noise_std, partition, threads)


def merge(first: bytes, second: bytes) -> bytes:
    """Merge two answers to one task into the answer of the rows of both."""
    return _partitions.merge(first, second)


def merge_all(answers: Sequence[bytes]) -> bytes:
    """Merge the answers of all partitions, given in their order.

    They are merged in pairs, then pairs of pairs, and so on: the result does not depend on where or
    when they were computed.
    """
    level = list(answers)
    if not level:
        raise ValueError("there are no answers to merge.")
    while len(level) > 1:
        pairs = [level[k : k + 2] for k in range(0, len(level), 2)]
        level = [merge(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return level[0]


class Job:
    """A fit to rows on many machines, as its driver sees it.

    Parameters
    ----------
    estimator : ProjectedAdditiveGPRegressor
        The parameters of the fit. `intervals` must be "gaussian", `noise` "constant", and the model
        additive.
    table : bool
        Whether partitions are frames, whose columns may hold text, dates and missing values. Else
        they are arrays of numbers.
    targets : sequence of str or int, default=1
        The names of the targets, or their number.
    sample_weight, noise_std : bool
        Whether rows come with them.
    sample_rows : int
        Most rows of the random sample on which hyperparameters are searched. It is held in memory
        by the driver.
    checkpoint : path, default=None
        A file that records the search. A job that was stopped in any way continues when it is
        started again with the same partitions, parameters and file, and ends with the same model.
    progress : callable, default=None
        Called during the search.
    """

    def __init__(
        self,
        estimator: ProjectedAdditiveGPRegressor,
        *,
        table: bool,
        targets: Sequence[str] | int = 1,
        sample_weight: bool = False,
        noise_std: bool = False,
        sample_rows: int = SAMPLE_ROWS,
        checkpoint: str | PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._estimator = clone(estimator)
        self._estimator._validate_params()
        self._settings = self._estimator._recipe()
        self._several = not isinstance(targets, int) or targets > 1
        if isinstance(targets, int):
            self._named = False
            names = ["y"] if targets == 1 else [f"y{k}" for k in range(targets)]
        else:
            self._named = True
            names = list(targets)
            self._several = len(names) > 1
        self._header: _partitions.Header = {
            "table": table,
            "targets": names,
            "weighted": sample_weight,
            "known_noise": noise_std,
            "missing": self._estimator.missing,
            "readings": None,
            "schema": None,
        }
        if not table and self._estimator.missing != "error":
            raise ValueError("missing values need frames with columns; give a data frame.")
        self._sample_rows, self._checkpoint = sample_rows, checkpoint
        self._progress = progress
        self._history: list[NumberedStep] = []
        self._schema: _raysum.FrameSchema | None = None
        self._job: _raysum.DriverJob | None = None
        # The settings are checked before the first pass over the rows.
        checked = self._driver(None)
        if not table:
            self._job = self._driver(checkpoint)
        del checked

    def _driver(self, checkpoint: str | PathLike[str] | None) -> _raysum.DriverJob:
        header = self._header
        return _raysum.DriverJob(
            self._settings,
            len(header["targets"]),
            (header["weighted"], header["known_noise"]),
            self._sample_rows,
            _inputs.threads(self._estimator.n_jobs),
            self._schema,
            checkpoint,
        )

    def task(self) -> bytes | None:
        """The next task, or None if the job is done; until it is answered, the same one.

        Most of the search happens inside this call.
        """
        if self._job is None:
            return _partitions.seal(self._header, b"")
        while True:
            task, step = self._job.step()
            if task is not None:
                return _partitions.seal(self._header, task)
            if step is None:
                return None
            at, all_rows, done = step
            self._history.append((0, at))
            if self._progress is not None:
                self._progress(at, all_rows, (0, 1), done)

    def answer(self, answer: bytes) -> None:
        """Take the merged answer of all partitions to the task."""
        if self._job is not None:
            return self._job.answer(answer)
        if not answer.startswith(_partitions.SUMMARY):
            raise ValueError("the answer is to another task; give it to its job.")
        summary, header = _partitions.summary_of(answer), self._header
        if not summary:
            raise ValueError("a fit needs at least 2 rows, but no partition has any.")
        schema, header["readings"] = _raysum.agree(
            summary, len(header["targets"]), header["missing"], self._estimator.categories
        )
        if schema is not None:
            self._schema, header["schema"] = schema, schema.to_json()
            _tables.tell(schema.notes, stacklevel=3)
            self._job = self._driver(self._checkpoint)
        return None

    def model(self, several: bool | None = None) -> ProjectedAdditiveGPRegressor:
        """The fitted estimator, once there are no more tasks.

        Parameters
        ----------
        several : bool, default=None
            Whether predictions have a dimension for targets; by default if there are several.
        """
        if self._job is None:
            raise ValueError("the job is not done; answer its tasks until there are no more.")
        model = self._job.model()
        if self._schema is not None:
            model = model.of_schema(self._schema)
        elif self._named:
            model = model.named(None, self._header["targets"])
        fitted: ProjectedAdditiveGPRegressor = clone(self._estimator)
        fitted._take(model, self._several if several is None else several)
        fitted.notes_ = [] if self._schema is None else [note for _, note in self._schema.notes]
        fitted._record(self._history)
        fitted._warn()
        return fitted


def fit_partitions(
    estimator: ProjectedAdditiveGPRegressor,
    partitions: Iterable[Sequence[Any]],
    *,
    sample_rows: int = SAMPLE_ROWS,
    targets: Sequence[str] | int = 1,
    checkpoint: str | PathLike[str] | None = None,
) -> ProjectedAdditiveGPRegressor:
    """Fit to partitions in this process, one after another, with the bits of a cluster's fit.

    Parameters
    ----------
    estimator : ProjectedAdditiveGPRegressor
        The parameters of the fit.
    partitions : iterable of (X, y), (X, y, sample_weight) or (X, y, sample_weight, noise_std)
        The rows; each pass over them starts from the beginning.
    sample_rows, targets, checkpoint
        See `Job`.

    Returns
    -------
    estimator : ProjectedAdditiveGPRegressor
        A fitted copy.
    """
    first = next(iter(partitions), None)
    if first is None:
        raise ValueError("a fit needs at least 2 rows, but there are no partitions.")
    given = [k < len(first) and first[k] is not None for k in (2, 3)]
    threads = _inputs.threads(estimator.n_jobs)
    with reporting(int(estimator.verbose)) as progress:
        job = Job(
            estimator,
            table=hasattr(_partitions.as_frame(first[0]), "columns"),
            targets=targets,
            sample_weight=given[0],
            noise_std=given[1],
            sample_rows=sample_rows,
            checkpoint=checkpoint,
            progress=progress,
        )
        while (task := job.task()) is not None:
            answers = [
                run(task, *part, partition=number, threads=threads)
                for number, part in enumerate(partitions)
            ]
            job.answer(merge_all(answers))
    return job.model()
