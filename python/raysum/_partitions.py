"""Tasks, and what a partition of the rows answers to them.

A task is a line with the version of raysum, a header as JSON, and for sums over rows the bytes of
the compiled part. Answers are those of the compiled part, or summaries of columns as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from . import _checks, _frames, _raysum
from .typing import Floats

TASK = b"raysum task "
SUMMARY = b"raysum summary "
#: Bytes of the length of a header.
LENGTH = 8


class Header(TypedDict):
    """What a task says beside the sums that it asks for."""

    #: Whether X is a frame, and not an array of numbers.
    table: bool
    #: The names of the targets.
    targets: list[str]
    weighted: bool
    known_noise: bool
    missing: str
    #: How columns are read, if that was decided.
    readings: str | None
    #: The schema of the table, once it is known.
    schema: str | None


class Labels(NamedTuple):
    """The labels of a partition: rows by targets, weights and known noise."""

    targets: Floats
    weights: Floats | None
    noise_std: Floats | None


def version() -> str:
    """The version of raysum that answers tasks here."""
    return _raysum.version()


def seal(header: Header, sums: bytes) -> bytes:
    """The bytes of a task."""
    text = json.dumps(header).encode()
    start = TASK + version().encode() + b"\n"
    return start + len(text).to_bytes(LENGTH, "little") + text + sums


def open_task(task: bytes) -> tuple[Header, bytes]:
    """A task's header, and its part for the compiled half."""
    if not isinstance(task, bytes) or not task.startswith(TASK):
        raise ValueError("the task cannot be read: it is not a task of raysum.")
    theirs, _, rest = task[len(TASK) :].partition(b"\n")
    if theirs.decode(errors="replace") != version():
        raise ValueError(
            f"the task comes from raysum {theirs.decode(errors='replace')}, but this machine has "
            f"raysum {version()}; install the same version on all machines."
        )
    length = int.from_bytes(rest[:LENGTH], "little")
    text, sums = rest[LENGTH : LENGTH + length], rest[LENGTH + length :]
    if len(text) < length:
        raise ValueError("the task cannot be read: it ends in the middle of its header.")
    header: Header = json.loads(text)
    return header, sums


@contextmanager
def naming(partition: int) -> Iterator[None]:
    """Adds to an error which partition it is about."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        if str(error).startswith("partition "):
            raise
        kind = type(error) if type(error) in (TypeError, ValueError) else ValueError
        raise kind(f"partition {partition}: {error}") from error


def answer(
    task: bytes,
    X: Any,
    y: Any,
    sample_weight: Any,
    noise_std: Any,
    partition: int,
    threads: int,
) -> bytes:
    """What the rows of a partition answer to a task."""
    header, sums = open_task(task)
    with naming(partition):
        X = as_frame(X)
        count = len(X)
        labels = _labels(header, y, sample_weight, noise_std, count)
        if not sums:
            return _summary(header, X, labels, partition)
        rows = _rows(header, X, labels, partition)
        return _raysum.run_task(sums, partition, rows, threads)


def as_frame(X: Any) -> Any:
    """Arrow's tables and batches as pandas frames; anything else as it is."""
    if type(X).__module__.partition(".")[0] == "pyarrow":
        return X.to_pandas()
    return X


def _summary(header: Header, X: Any, labels: Labels, partition: int) -> bytes:
    start = SUMMARY + version().encode() + b"\n"
    if not len(X):
        return start
    named = all(isinstance(name, str) for name in X.columns)
    columns = _frames.columns(X, named)
    taken = {column.name for column in columns}
    targets = []
    for name, values in zip(header["targets"], labels.targets.T):
        while name in taken:
            name += "_"
        taken.add(name)
        targets.append((name, _frames.contiguous(values), True))
    summary = _raysum.summarise_frame(columns, named, targets, partition, header["readings"])
    return start + summary.encode()


def summary_of(answer: bytes) -> str:
    """The JSON of a summary; nothing without rows."""
    return answer.partition(b"\n")[2].decode()


def merge(first: bytes, second: bytes) -> bytes:
    """The answer of the rows of two answers."""
    kinds = [answer.startswith(SUMMARY) for answer in (first, second)]
    if not any(kinds):
        return _raysum.merge_answers(first, second)
    if not all(kinds):
        raise ValueError("the answer is to another task; merge the answers to one task.")
    a, b = summary_of(first), summary_of(second)
    merged = _raysum.merge_summaries(a, b) if a and b else a or b
    return first.partition(b"\n")[0] + b"\n" + merged.encode()


def _rows(header: Header, X: Any, labels: Labels, partition: int) -> Any:
    """X, targets, weights and known noise, as the compiled part takes them."""
    y, weights, known = labels
    keep = np.ones(len(y), dtype=bool) if weights is None else weights > 0
    if header["schema"] is None:
        x = _numbers(X)
        _checks.finite_target(y)
    else:
        if header["missing"] != "error":
            keep &= ~np.isnan(y).any(axis=1)
        x, there = _encoded(header, X)
        keep_there = keep[there]
        keep[np.setdiff1d(np.arange(len(y)), there)] = False
        x = x[keep_there] if not keep_there.all() else x
        _checks.finite_target(y[keep])
    if header["schema"] is None and not keep.all():
        x = x[keep]
    targets = [_frames.contiguous(column) for column in y[keep].T]
    weights = None if weights is None else _frames.contiguous(weights[keep])
    known = None if known is None else _frames.contiguous(known[keep])
    return _checks.without_gaps(np.asarray(x)), targets, weights, known


def _encoded(header: Header, X: Any) -> tuple[Floats, NDArray[np.intp]]:
    """X by the schema, and the numbers of its rows that are not left out."""
    schema = _raysum.FrameSchema.from_json(header["schema"] or "")
    if not len(X):
        return np.empty((0, 1)), np.arange(0)
    named = all(isinstance(name, str) for name in X.columns)
    columns = _frames.columns(X, named)
    x, left_out, _ = schema.encode(columns, named, len(X), header["missing"])
    return x, np.delete(np.arange(len(X)), left_out)


def _numbers(X: Any) -> Floats:
    """An array of numbers."""
    try:
        x = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        cells = np.asarray(X, dtype=object)
        for row, values in enumerate(cells.reshape(len(cells), -1)):
            for column, value in enumerate(values):
                try:
                    float(value)
                except (TypeError, ValueError):
                    place = f"X, row {row}, column {column}"
                    raise ValueError(f"{place}: {value!r} is not a number.") from error
        raise
    if x.ndim != 2:
        raise ValueError(f"X must have two dimensions, but has {x.ndim}.")
    return _checks.finite(_checks.without_gaps(x), []) if not len(x) else _finite(x)


def _finite(x: Floats) -> Floats:
    names = [str(k) for k in range(x.shape[1])]
    return _checks.finite(_checks.without_gaps(x), names)


def _labels(header: Header, y: Any, sample_weight: Any, noise_std: Any, count: int) -> Labels:
    width = len(header["targets"])
    targets = _of_rows(y, "y", count)
    targets = targets.reshape(len(targets), -1) if len(targets) else np.empty((0, width))
    if targets.shape[1] != width:
        raise ValueError(f"y has {targets.shape[1]} column(s), but the job has {width} target(s).")
    for name, given, wanted in (
        ("sample_weight", sample_weight, header["weighted"]),
        ("noise_std", noise_std, header["known_noise"]),
    ):
        if (given is not None) != wanted:
            rule = "needs" if wanted else "does not take"
            raise ValueError(f"the job {rule} {name}.")
    weights = None if sample_weight is None else _of_rows(sample_weight, "sample_weight", count)
    known = None if noise_std is None else _of_rows(noise_std, "noise_std", count)
    for name, values in (("sample_weight", weights), ("noise_std", known)):
        if values is not None and not (np.isfinite(values) & (values >= 0)).all():
            row = int(np.argmin(np.isfinite(values) & (values >= 0)))
            raise ValueError(f"{name} is {values[row]} at row {row}, but must be 0 or more.")
    return Labels(targets, weights, known)


def _of_rows(values: Any, name: str, count: int) -> Floats:
    """The values of each row, as numbers."""
    if values is None:
        raise ValueError(f"{name} is None, but must be an array or a frame.")
    values = as_frame(values)
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        for row, value in enumerate(np.asarray(values, dtype=object).ravel()):
            try:
                float(value)
            except (TypeError, ValueError):
                raise ValueError(f"{name}, row {row}: {value!r} is not a number.") from error
        raise
    if numbers.shape[:1] != (count,):
        raise ValueError(f"X has {count} rows, but {name} has {len(numbers)}.")
    return numbers
