"""Fits on a cluster beside fits in one process: seconds and bytes of each round, scaling from one worker
to two, and the merge of 1,000 partitions.

    python bench/clusters.py                 # 10⁶ × 20 rows, some minutes on two cores
    python bench/clusters.py --rows 100000   # smaller

Writes JSON lines to bench/results/DATE-clusters.jsonl.
"""

import argparse
import datetime
import json
import os
import platform
import time
from pathlib import Path

import dask.array as da
import distributed
import numpy as np
from raysum import ProjectedAdditiveGPRegressor, __version__
from raysum.dask import merged, partitions
from raysum.distributed import Job, merge_all, run

#: The kinds of rounds of one evaluation, in their order, after the first round.
KINDS = ["census", "counts", "statistics", "slopes"]


def data(rows, columns=20):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    f = np.sin(X[:, 0] + X[:, 1]) + 0.5 * np.cos(2 * X[:, 2]) + 0.3 * X[:, 3] * 0.5
    return X, f + 0.3 * rng.normal(size=rows)


def kind_of(task):
    """The kind of a task, from the JSON inside."""
    for name in ("Census", "Counts", "Statistics", "Slopes"):
        if f'\\"{name}\\":'.encode() in task[:4000] or f'"{name}":'.encode() in task[:4000]:
            return name.lower()
    return "other"


def job(estimator):
    return Job(estimator, table=False, sample_rows=20_000)


def rounds(estimator, answer):
    """Seconds and bytes of each round of a fit."""
    fit, found = job(estimator), []
    started = time.perf_counter()
    while (task := fit.task()) is not None:
        before = time.perf_counter()
        whole = answer(task)
        seconds = time.perf_counter() - before
        found.append((kind_of(task), seconds, len(task), len(whole)))
        fit.answer(whole)
    return found, time.perf_counter() - started, fit.model()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--model", default="dpa-ard")
    parser.add_argument("--evaluations", type=int, default=2)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    date = datetime.date.today().isoformat()
    out = args.out or Path(__file__).parent / "results" / f"{date}-clusters.jsonl"
    lines = []

    def keep(**line):
        lines.append(line)
        print(json.dumps(line), flush=True)

    keep(
        run="distributed",
        date=date,
        raysum=__version__,
        machine=platform.machine(),
        cores=os.cpu_count(),
        load=os.getloadavg()[0],
        rows=args.rows,
        columns=20,
        partitions=args.partitions,
        model=args.model,
    )
    X, y = data(args.rows)
    cuts = np.linspace(0, args.rows, args.partitions + 1).astype(int)
    parts = [(X[a:b], y[a:b]) for a, b in zip(cuts, cuts[1:])]
    estimator = ProjectedAdditiveGPRegressor(
        args.model,
        intervals="gaussian",
        engine="weight",
        n_jobs=1,
        max_evaluations=args.evaluations,
    )

    def alone(task):
        answers = [run(task, *part, partition=k) for k, part in enumerate(parts)]
        return merge_all(answers)

    found, seconds, model = rounds(estimator, alone)
    report("one process, one thread", found, seconds, keep)
    bits = model._model.to_bytes()
    for workers in (1, 2):
        with (
            distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address=None, memory_limit=0
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            size = args.rows // args.partitions
            rows = da.from_array(X, chunks=(size, -1)).persist()
            targets = da.from_array(y, chunks=size).persist()
            distributed.wait([rows, targets])
            delayed = partitions(rows, targets)
            found, seconds, model = rounds(estimator, lambda task: merged(client, task, delayed))
            report(f"dask, {workers} worker(s) of one thread", found, seconds, keep)
            keep(check="same bits as one process", equal=model._model.to_bytes() == bits)
    simulate(X, y, estimator, parts, keep)
    out.write_text("".join(json.dumps(line) + "\n" for line in lines))


def report(where, found, seconds, keep):
    for kind in dict.fromkeys(kind for kind, *_ in found):
        some = [line for line in found if line[0] == kind]
        keep(
            where=where,
            round=kind,
            count=len(some),
            seconds=round(float(np.median([line[1] for line in some])), 4),
            task_bytes=max(line[2] for line in some),
            answer_bytes=max(line[3] for line in some),
        )
    keep(where=where, rounds=len(found), fit_seconds=round(seconds, 2))


def simulate(X, y, estimator, parts, keep):
    """The statistics of 1,000 partitions, merged by the tree, and the merge's time."""
    fit = job(estimator)
    while (task := fit.task()) is not None:
        if kind_of(task) == "statistics":
            break
        fit.answer(merge_all([run(task, *part, partition=k) for k, part in enumerate(parts)]))
    cuts = np.linspace(0, len(X), 1001).astype(int)
    before = time.perf_counter()
    answers = [
        run(task, X[a:b], y[a:b], partition=k) for k, (a, b) in enumerate(zip(cuts, cuts[1:]))
    ]
    work = time.perf_counter() - before
    before = time.perf_counter()
    whole = merge_all(answers)
    seconds = time.perf_counter() - before
    again = merge_all(answers)
    fit.answer(whole)
    keep(
        simulation="1,000 partitions",
        answers_seconds=round(work, 3),
        merges=999,
        merge_seconds=round(seconds, 3),
        seconds_per_merge=round(seconds / 999, 6),
        answer_bytes=len(whole),
        same_bits_again=whole == again,
    )


if __name__ == "__main__":
    main()
