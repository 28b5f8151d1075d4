"""Draws what scaling.sh measured: seconds per iteration against rows, of each size its last run.

    python plot_scaling.py results/DATE-scaling.jsonl      # writes the .svg beside it
"""
import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "raysum"
import matplotlib.pyplot as plt

SERIES = [
    ("ski", "GPyTorch SKI, 512 points", "#c44e52", "s"),
    ("cholesky", "GPyTorch Cholesky", "#dd9a9c", "s"),
    ("raysum dense", "raysum dense", "#8c8c8c", "o"),
    ("raysum ski", "raysum SKI, 512 points", "#4c72b0", "o"),
    ("raysum weight", "raysum weight space", "#2a9d5c", "o"),
]


def latest(path):
    """The last run, and for every size what its own last run measured."""
    run, sizes = None, {}
    for line in map(json.loads, path.read_text().splitlines()):
        if line["kind"] == "run":
            run, seen = line, set()
            continue
        if line["n"] not in seen:
            seen.add(line["n"])
            sizes[line["n"]] = []
        sizes[line["n"]].append(line)
    return run, [line for lines in sizes.values() for line in lines]


def main(path):
    run, measures = latest(path)
    figure, axes = plt.subplots(figsize=(8.2, 4.4))
    for kind, label, colour, marker in SERIES:
        best = {}
        for m in (m for m in measures if m["kind"] == kind):
            best[m["n"]] = min(m["seconds_per_iteration"], best.get(m["n"], float("inf")))
        if best:
            n = sorted(best)
            axes.loglog(n, [best[k] for k in n], marker=marker, color=colour, label=label, lw=1.6, ms=5)
    low, high = axes.get_xlim()
    bottom, top = axes.get_ylim()
    axes.loglog([low, high], [1e-4 * low, 1e-4 * high], ":", color="black", lw=1, label="linear in n")
    axes.set(xlim=(low, high), ylim=(bottom, top), xlabel="rows", ylabel="seconds per Adam iteration")
    axes.set_title(f"RPA-GP, d = 100, J = 20, {run['cores']} cores")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.tight_layout()
    out = path.with_suffix(".svg")
    figure.savefig(out, metadata={"Date": None})
    print(f"drawn to {out}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
