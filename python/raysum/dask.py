"""Gaussian-process regression on Dask: rows on many machines, predictions where the rows are.

    from dask.distributed import Client
    from raysum.dask import DaskGPRegressor

    client = Client("scheduler:8786")
    gp = DaskGPRegressor(model="dpa-ard").fit(X, y)
    mean = gp.predict(X)    # lazy

Fits survive the death of workers: a task is a pure function of a partition, which Dask repeats on
another worker, and the answers are merged in a fixed order, so the model is the same to the last
bit.
"""

from __future__ import annotations

import importlib.metadata
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _partitions
from ._cluster import ClusterRegressor, predicted, prediction_columns
from ._estimator import ProjectedAdditiveGPRegressor
from ._progress import reporting
from .distributed import Job, merge, run

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["DaskGPRegressor"]


class DaskGPRegressor(ClusterRegressor):
    __doc__ = (ClusterRegressor.__doc__ or "").replace(
        "Parameters, and the fitted model.",
        "Gaussian-process regression over Dask DataFrames and Arrays, on a `distributed` cluster.",
    )

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        noise_std: Any = None,
        *,
        client: Any = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> Self:
        """Find hyperparameters, and compute the posterior of all rows.

        The partitions are read some ten to twenty times: call `X.persist()` first if they fit into
        the memory of the cluster.

        Parameters
        ----------
        X : Dask DataFrame or Array
            The rows. Frames may contain text, categories, dates and missing values.
        y : Dask Series, DataFrame or Array
            The target, or several, with the partitions of X.
        sample_weight, noise_std : Dask Series or Array, default=None
            Sample weights, and the known standard deviation of each row's noise, with the same
            partitions.
        client : distributed.Client, default=None
            The cluster; by default that of the current client.
        checkpoint : path, default=None
            A file that records the search. A fit whose process was killed continues when it is
            started again with the same rows, parameters and file, and ends with the same model.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        client = _client(client)
        _check_workers(client)
        parts = partitions(X, y, sample_weight, noise_std)
        with reporting(int(self.verbose)) as progress:
            job = Job(
                self._local(),
                table=hasattr(X, "divisions"),
                targets=_targets(y),
                sample_weight=sample_weight is not None,
                noise_std=noise_std is not None,
                sample_rows=self.sample_rows,
                checkpoint=checkpoint,
                progress=progress,
            )
            while (task := job.task()) is not None:
                job.answer(merged(client, task, parts))
        self.model_ = job.model(several=y.ndim == 2)
        return self

    def predict(
        self,
        X: Any,
        *,
        return_std: bool = False,
        interval: float | None = None,
    ) -> Any:
        """Predict, lazily: partitions are computed on the workers when their values are asked for.

        Parameters
        ----------
        X : Dask DataFrame or Array
            The rows.
        return_std : bool, default=False
            Whether to predict the standard deviation too.
        interval : float, default=None
            The level of an interval, such as 0.95.

        Returns
        -------
        prediction : Dask Series, DataFrame or Array
            The mean of one target alone is a Series, or an Array of one dimension. Else it has a
            column for the mean of each target, its standard deviation and the ends of its interval,
            target by target.
        """
        check_is_fitted(self, "model_")
        from dask.delayed import delayed

        names = prediction_columns(self.model_, return_std, interval)
        model = delayed(self.model_, pure=True)
        if hasattr(X, "divisions"):
            import pandas as pd

            meta = pd.DataFrame({name: np.empty(0) for name in names})
            found = X.map_partitions(
                _predicted_frame, model, names, return_std, interval, meta=meta
            )
            return found[names[0]] if len(names) == 1 else found
        rows = X.rechunk({1: -1})
        found = rows.map_blocks(
            predicted,
            model,
            return_std,
            interval,
            chunks=(rows.chunks[0], (len(names),)),
            dtype=np.float64,
            meta=np.empty((0, 0)),
        )
        return found[:, 0] if len(names) == 1 else found


def _predicted_frame(
    X: Any,
    model: ProjectedAdditiveGPRegressor,
    names: list[str],
    return_std: bool,
    interval: float | None,
) -> Any:
    import pandas as pd

    return pd.DataFrame(predicted(X, model, return_std, interval), columns=names, index=X.index)


def _client(client: Any) -> Any:
    """The client given, or the current one."""
    try:
        from distributed import get_client
    except ImportError as error:
        raise ImportError("raysum.dask needs Dask's scheduler: pip install raysum[dask]") from error
    if client is not None:
        return client
    try:
        return get_client()
    except ValueError as error:
        raise ValueError(
            "there is no Dask client; make one by dask.distributed.Client(...), or give client=."
        ) from error


def _check_workers(client: Any) -> None:
    """Fails if a worker has no raysum, or another version of it."""
    # A function of the standard library, which a worker without raysum can call too.
    found = client.run(importlib.metadata.version, "raysum", on_error="return")
    if not found:
        raise ValueError("the Dask cluster has no workers.")
    ours = _partitions.version()
    for worker, theirs in found.items():
        if isinstance(theirs, Exception):
            raise ValueError(f"worker {worker} has no raysum; install raysum {ours} there.")
        if theirs != ours:
            raise ValueError(
                f"worker {worker} has raysum {theirs}, but this machine has raysum {ours}; install "
                "the same version on all machines."
            )


def partitions(X: Any, y: Any, sample_weight: Any = None, noise_std: Any = None) -> list[Any]:
    """The partitions of collections that belong together, each as one delayed object: a tuple of
    arrays, or a frame and the columns of its labels.
    """
    given = {"X": X, "y": y, "sample_weight": sample_weight, "noise_std": noise_std}
    given = {name: data for name, data in given.items() if data is not None}
    frames = hasattr(X, "divisions")
    for name, data in given.items():
        if not hasattr(data, "to_delayed") or hasattr(data, "divisions") != frames:
            kind, wanted = type(data).__name__, "DataFrame" if frames else "Array"
            if name == "X":
                wanted = "DataFrame or Array"
            raise TypeError(f"{name} must be a Dask {wanted}, but is a {kind}.")
        count, expected = (each.npartitions if frames else each.numblocks[0] for each in (data, X))
        if count != expected:
            raise ValueError(
                f"X has {expected} partitions, but {name} has {count}; repartition one of them."
            )
    from dask.delayed import delayed

    if not frames:
        blocks = []
        for data in given.values():
            rows = data.rechunk({1: -1}) if data.ndim == 2 else data
            blocks.append(np.ravel(np.asarray(rows.to_delayed(), dtype=object)))
        group = delayed(_of_arrays, pure=False)
        return [group(list(given), *block) for block in zip(*blocks)]
    # One frame, because Dask may read each collection of a table in partitions of its own.
    labels: dict[str, list[str]] = {}
    added: dict[str, Any] = {}
    for name, data in list(given.items())[1:]:
        columns = list(data.columns) if data.ndim == 2 else [None]
        labels[name] = [f"raysum {name} {k}" for k in range(len(columns))]
        for label, column in zip(labels[name], columns):
            added[label] = data if column is None else data[column]
    group = delayed(_of_frame, pure=False)
    return [group(labels, part) for part in X.assign(**added).to_delayed()]


def _of_arrays(names: list[str], *arrays: Any) -> dict[str, Any]:
    return dict(zip(names, arrays))


def _of_frame(labels: dict[str, list[str]], part: Any) -> dict[str, Any]:
    added = {name: part[columns] for name, columns in labels.items()}
    for name in ("sample_weight", "noise_std"):
        if name in added:
            added[name] = added[name].iloc[:, 0]
    used = [label for columns in labels.values() for label in columns]
    return {"X": part.drop(columns=used), **added}


def _answer(task: bytes, part: dict[str, Any], partition: int) -> bytes:
    return run(task, **part, partition=partition)


def _targets(y: Any) -> list[str] | int:
    """The names of the targets, or their number."""
    if hasattr(y, "divisions"):
        names = y.columns if y.ndim == 2 else [y.name]
        return ["y" if name is None else str(name) for name in names]
    return 1 if y.ndim == 1 else int(y.shape[1])


def merged(client: Any, task: bytes, parts: list[Any]) -> bytes:
    """The answer of all partitions to a task, merged on the cluster by a tree."""
    from dask.delayed import delayed

    # Held by the scheduler too, so that it outlives any worker.
    shared = client.submit(bytes, task, pure=False)
    answer, join = delayed(_answer, pure=False), delayed(merge, pure=False)
    level = [answer(shared, part, k) for k, part in enumerate(parts)]
    while len(level) > 1:
        pairs = [level[k : k + 2] for k in range(0, len(level), 2)]
        level = [join(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    future = client.compute(level[0])
    try:
        found: bytes = future.result()
    except BaseException:
        future.cancel()
        raise
    return found
