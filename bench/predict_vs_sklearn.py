"""A million rows predicted with their uncertainty, beside scikit-learn's GaussianProcessRegressor.

Each program runs in a process of its own; they take turns. scikit-learn predicts fewer rows, in
blocks, because it needs 8 n bytes for each; what counts is the time per row.

    .venv/bin/python bench/predict_vs_sklearn.py            # prints a table, appends to results/
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from multiprocessing import get_context
from pathlib import Path

import numpy as np

COLUMNS = 20
HERE = Path(__file__).resolve().parent


def data(rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, COLUMNS))
    y = np.sin(X[:, 0] + X[:, 1]) + 0.5 * X[:, 2] * X[:, 3] + 0.3 * X[:, 4:].sum(axis=1)
    return X, y + 0.1 * rng.standard_normal(rows)


def memory(field):
    """VmRSS or VmHWM (the peak) of this process, in bytes."""
    for line in open("/proc/self/status"):
        if line.startswith(field + ":"):
            return 1024 * int(line.split()[1])
    raise SystemExit(f"this system does not report {field}")


def measured(predict, X):
    """Seconds, and memory beyond what was there before and what came out."""
    predict(X[:1000])  # what is made once is made here
    before = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    start = time.perf_counter()
    mean, std = predict(X)
    seconds = time.perf_counter() - start
    beyond = memory("VmHWM") - before - mean.nbytes - std.nbytes
    return {"seconds": seconds, "rows": len(X), "beyond_mb": beyond / 1e6}


def fitted(train):
    from raysum import ProjectedAdditiveGPRegressor

    return ProjectedAdditiveGPRegressor(engine="weight").fit(*data(train, 0))


def raysum(train, rows):
    # Another process fits, so that none of its memory is there to be used again.
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        gp = pool.submit(fitted, train).result()
    test, truth = data(rows, 1)
    result = measured(lambda X: gp.predict(X, return_std=True), test)
    rmse = float(np.sqrt(np.mean((gp.predict(test[:20_000]) - truth[:20_000]) ** 2)))
    return {**result, "rmse": rmse, "features": gp._description["features"]}


def sklearn(train, rows, block=5000):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    # Prediction costs the same at any hyperparameters, so they are not searched.
    gp = GaussianProcessRegressor(RBF(5.0), alpha=0.01, optimizer=None, normalize_y=True)
    gp.fit(*data(train, 0))

    def predict(X):
        parts = [gp.predict(X[i : i + block], return_std=True) for i in range(0, len(X), block)]
        return tuple(np.concatenate(part) for part in zip(*parts))

    return measured(predict, data(rows, 1)[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only:
        name, train, rows = args.only
        print(json.dumps(globals()[name](int(train), int(rows))))
        return
    from importlib.metadata import version

    versions = {name: version(name) for name in ("raysum", "scikit-learn", "numpy", "scipy")}
    path = HERE / "results" / f"{date.today()}-predict.jsonl"
    programs = [("raysum", 2_000, 1_000_000), ("raysum", 20_000, 1_000_000),
                ("sklearn", 2_000, 20_000)]  # fmt: skip
    best = {}
    with path.open("a") as out:
        head = {"kind": "run", "date": str(date.today()), "cores": os.cpu_count(),
                "machine": platform.machine(), "versions": versions}  # fmt: skip
        out.write(json.dumps(head) + "\n")
        for _ in range(args.repeat):
            for program in programs:
                words = [sys.executable, __file__, "--only", *map(str, program)]
                done = subprocess.run(words, check=True, capture_output=True, text=True)
                result = json.loads(done.stdout)
                name, train, _ = program
                line = {"kind": "measure", "program": name, "train": train, **result,
                        "load": os.getloadavg()[0]}  # fmt: skip
                out.write(json.dumps(line) + "\n")
                print(json.dumps(line))
                each = 1e6 * result["seconds"] / result["rows"]
                best.setdefault((name, train), []).append(each)
    peer = best[("sklearn", 2_000)]
    for (name, train), each in best.items():
        times = ", ".join(f"{e:.1f}" for e in each)
        ratio = f", {min(peer) / max(each):.0f}–{max(peer) / min(each):.0f} times as fast"
        print(f"{name:8} fitted on {train:6}: {times} µs per row" + ratio * (each is not peer))


if __name__ == "__main__":
    main()
