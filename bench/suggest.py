"""How far suggestions are from the minimum of Branin and Hartmann-6 after 60 evaluations.

    python bench/suggest.py                          # raysum, random search, scikit-optimize if it is there
    python bench/suggest.py --seeds 3 --methods raysum-auto raysum-rbf-ard

Every method starts from the same 10 random points and then evaluates batches of 8, ten for random search. One JSON
line per run is appended to results/. Needs the Python package raysum, and scikit-optimize as a peer.
"""

import argparse
import datetime
import json
import pathlib
import time
import warnings

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
FIRST, BATCH, TOTAL = 10, 8, 60
METHODS = ["random", "raysum-rbf-ard", "raysum-matern52-ard", "raysum-auto", "scikit-optimize"]


def branin(x):
    """Above its minimum, over [-5, 10] × [0, 15]."""
    a, b = x[:, 0], x[:, 1]
    bend = b - 5.1 / (4 * np.pi**2) * a**2 + 5 / np.pi * a - 6
    return bend**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10 - 0.39788735773


def hartmann6(x):
    """Above its minimum, over the unit cube."""
    scales = [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14],
              [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]  # fmt: skip
    centres = [[1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991],
               [2348, 1451, 3522, 2883, 3047, 6650], [4047, 8828, 8732, 5743, 1091, 381]]  # fmt: skip
    total = 0
    for height, scale, centre in zip([1, 1.2, 3, 3.2], np.array(scales), np.array(centres) / 1e4):
        total = total + height * np.exp(-np.sum(scale * (x - centre) ** 2, axis=1))
    return 3.32236801141551 - total


FUNCTIONS = {
    "branin": (branin, [(-5.0, 10.0), (0.0, 15.0)]),
    "hartmann6": (hartmann6, [(0.0, 1.0)] * 6),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    out = args.out or HERE / "results" / f"{datetime.date.today()}-suggest.jsonl"
    warnings.simplefilter("ignore")
    for name, (f, bounds) in FUNCTIONS.items():
        medians = {}
        for method in args.methods:
            regrets = []
            for seed in range(args.seeds):
                started = time.time()
                regret = run(method, f, bounds, seed)
                line = {"function": name, "method": method, "seed": seed, "regret": regret}
                line["seconds"] = round(time.time() - started, 2)
                with open(out, "a") as file:
                    file.write(json.dumps(line) + "\n")
                regrets.append(regret)
            medians[method] = np.median(regrets)
            better = medians["random"] / medians[method] if "random" in medians else np.nan
            print(f"{name:10} {method:20} median {medians[method]:.5f}  {better:.0f} × random", flush=True)


def run(method, f, bounds, seed):
    """The lowest value after all evaluations, above the minimum."""
    low, high = np.array(bounds).T
    rng = np.random.default_rng(seed)
    x = low + (high - low) * rng.random((TOTAL if method == "random" else FIRST, len(bounds)))
    y = f(x)
    if method == "scikit-optimize":
        return with_scikit_optimize(f, bounds, x, y, seed)
    while len(y) < TOTAL:
        next_x = suggested(method, bounds, x, y, min(BATCH, TOTAL - len(y)), seed)
        x, y = np.vstack([x, next_x]), np.append(y, f(next_x))
    return float(y.min())


def suggested(method, bounds, x, y, n, seed):
    from raysum import AutoGPRegressor, ProjectedAdditiveGPRegressor

    if method == "raysum-auto":
        gp = AutoGPRegressor(random_state=seed)
    else:
        gp = ProjectedAdditiveGPRegressor(method.removeprefix("raysum-"), intervals="gaussian")
    return gp.fit(x, y).suggest(dict(enumerate(bounds)), n=n, random_state=seed * 1000 + len(y))


def with_scikit_optimize(f, bounds, x, y, seed):
    from skopt import Optimizer

    optimizer = Optimizer(bounds, random_state=seed, n_initial_points=0)
    optimizer.tell(x.tolist(), y.tolist())
    lowest, count = y.min(), len(y)
    while count < TOTAL:
        points = optimizer.ask(n_points=min(BATCH, TOTAL - count))
        values = f(np.array(points))
        optimizer.tell(points, values.tolist())
        lowest, count = min(lowest, values.min()), count + len(points)
    return float(lowest)


if __name__ == "__main__":
    main()
