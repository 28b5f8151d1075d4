"""Accuracy and seconds of a fit on the larger UCI sets, one split of their masks.

    python bench/accuracy.py --data DIR                       # all sets, J = 20 and 100
    python bench/accuracy.py --data DIR --sets pol bike -J 20 -- --model dpa-ard --seed 1

DIR holds uci/NAME/data.csv.gz (no header, target last) and uci/NAME/test_mask.csv.gz (column k
marks the test rows of split k). What follows `--` goes to `raysum fit`. Needs numpy and a release
build; one JSON line per fit is appended to results/. Errors are in units of the training rows'
standard deviation.
"""
import argparse
import datetime
import json
import os
import pathlib
import sys
import tempfile

import numpy as np

from fit_vs_gpytorch import HERE, commit, machine, run

SETS = ["pol", "elevators", "bike", "tamielectric", "keggdirected", "kin40k", "protein"]


def main():
    args = arguments()
    out = HERE / "results" / f"{datetime.date.today()}-accuracy.jsonl"
    for name in args.sets:
        for projections in args.projections:
            line = measure(args, name, projections)
            line = {"set": name, "split": args.split, "J": projections, **line, "commit": commit(),
                    "machine": machine(), "options": args.options}
            print(json.dumps(line), flush=True)
            with open(out, "a") as file:
                file.write(json.dumps(line) + "\n")


def arguments():
    own, options = sys.argv[1:], []
    if "--" in own:
        at = own.index("--")
        own, options = own[:at], own[at + 1:]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default=os.environ.get("RAYSUM_DATA"), type=pathlib.Path)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--split", type=int, default=0)
    parser.add_argument("-J", "--projections", nargs="+", type=int, default=[20, 100])
    args = parser.parse_args(own)
    args.options = options
    if args.data is None:
        parser.error("give --data DIR or set RAYSUM_DATA")
    return args


def measure(args, name, projections):
    folder = args.data / "uci" / name
    rows = np.loadtxt(folder / "data.csv.gz", delimiter=",")
    test = np.loadtxt(folder / "test_mask.csv.gz", delimiter=",")[:, args.split] > 0
    x, y = rows[:, :-1], rows[:, -1]
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        np.save(place / "x.npy", x[~test])
        np.save(place / "y.npy", y[~test])
        np.save(place / "new.npy", x[test])
        fit, *_ = run(["fit", place / "x.npy", "--y", place / "y.npy", "-J", str(projections),
                       "--held-out", "no", "-o", place / "model", "--json", "--quiet", *args.options])
        report = json.loads(fit)
        predicted, *_ = run(["predict", place / "model", place / "new.npy", "--quiet"])
    header, *lines = predicted.splitlines()
    columns = header.split(",")
    table = np.array([[float(v) for v in line.split(",")] for line in lines])
    mean, std = table[:, columns.index("mean")], table[:, columns.index("std")]
    scale, error = y[~test].std(), y[test] - mean
    density = -0.5 * np.log(2 * np.pi * std**2) - 0.5 * (error / std) ** 2
    return {
        "rmse": round(float(np.sqrt(np.mean(error**2)) / scale), 4),
        "nlpd": round(float(-np.mean(density) - np.log(scale)), 4),
        "in95": round(float(np.mean(np.abs(error) < 1.959964 * std)), 4),
        "n": int((~test).sum()), "d": x.shape[1],
        "fit_seconds": round(report["fit_seconds"], 2),
        "features": report["features"], "evaluations": report["evaluations"],
    }


if __name__ == "__main__":
    main()
