"""Auto beside ridge regression and gradient boosting on tables whose truth is known.

    python bench/known_truth.py                        # every table, two seeds
    python bench/known_truth.py steps Cauchy --seeds 1
    python bench/known_truth.py --table results/2026-11-18-known-truth.jsonl

Each table is hard in its own way: wide, tiny, without noise, nothing but noise, heavy tails, 0/1
columns, duplicates, steps, new rows beyond the old ones. 500 new rows are predicted. One JSON line per
table and seed is written to results/. Needs a build of raysum (RAYSUM_BIN, or target/release/raysum) and
bench/requirements.txt.
"""

import json

import numpy as np
import output
from accuracy import peer, raysum

NEW = 500


def normal(rows, columns):
    return lambda r: r.normal(size=(rows + NEW, columns))


def uniform(rows, columns, low=0.0, high=1.0):
    return lambda r: r.uniform(low, high, (rows + NEW, columns))


def noise(r, x, std):
    return std * r.normal(size=len(x))


def line(columns=5, std=1.5):
    return lambda r, x: x[:, :columns].sum(1) + noise(r, x, std)


def beyond(rows, columns):
    """Old rows in [0, 10], new ones in [10, 15]."""
    return lambda r: np.r_[r.uniform(0, 10, (rows, columns)), r.uniform(10, 15, (NEW, columns))]


def steps(r, x):
    both = (x[:, 1] > 0.3) & (x[:, 2] > 0.6)
    return 2.0 * (x[:, 0] > 0.5) + 3.0 * both + 0.7 * np.floor(4 * x[:, 3]) + noise(r, x, 0.2)


def thresholds(r, x):
    """Six sums of a step in one column and a box in three."""
    y = np.zeros(len(x))
    for _ in range(6):
        (a, b, c), at = x[:, r.integers(0, x.shape[1], 3)].T, r.uniform(0.2, 0.8, 3)
        box = (a > at[0]) & (b > at[1]) & (c < at[2])
        y += 2 * r.normal() * box + r.normal() * (a > at[0])
    return y + noise(r, x, 0.1)


def friedman(r, x):
    curve = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
    return curve + 10 * x[:, 3] + 5 * x[:, 4] + noise(r, x, 1.0)


def copies(r):
    few = r.normal(size=(100, 5))
    return np.r_[few[r.integers(0, 100, 300)], r.normal(size=(NEW, 5))]


#: Name, columns and target, from a generator of random numbers.
TABLES = {
    "line, 100 x 10": (normal(100, 10), line()),
    "line, 100 x 30": (normal(100, 30), line()),
    "line, 100 x 100": (normal(100, 100), line()),
    "line, 60 x 400": (normal(60, 400), line()),
    "line, 20 x 3": (normal(20, 3), line(3, 0.8)),
    "line, new rows beyond": (
        beyond(200, 3),
        lambda r, x: x @ [2, -1, 0.5] + noise(r, x, 1.0),
    ),
    "wave, 40 x 5": (
        normal(40, 5),
        lambda r, x: np.sin(2 * x[:, 0]) + x[:, 1] + noise(r, x, 0.3),
    ),
    "smooth, no noise": (
        uniform(150, 4, -2, 2),
        lambda r, x: np.sin(x[:, 0]) * x[:, 1] + x[:, 2] ** 2,
    ),
    "Friedman, 300 x 10": (uniform(300, 10), friedman),
    "nothing but noise": (normal(150, 50), lambda r, x: noise(r, x, 1.0)),
    "heavy-tailed noise": (
        normal(300, 5),
        lambda r, x: x[:, 0] + np.sin(2 * x[:, 1]) + 0.5 * r.standard_t(2, len(x)),
    ),
    "noise that varies": (
        uniform(500, 4, -2, 2),
        lambda r, x: x[:, 0] + np.exp(x[:, 1] - 1) * r.normal(size=len(x)),
    ),
    "Cauchy columns": (
        lambda r: r.standard_cauchy((400 + NEW, 5)),
        lambda r, x: 2 * np.tanh(x[:, 0]) + np.arctan(x[:, 1]) + noise(r, x, 0.3),
    ),
    "log-normal target": (
        normal(400, 6),
        lambda r, x: np.exp(x[:, 0] + 0.5 * np.sin(2 * x[:, 1]) + noise(r, x, 0.3)),
    ),
    "many zeros": (
        normal(400, 5),
        lambda r, x: np.exp(0.8 * x[:, 0] + 0.5 * x[:, 1])
        * r.gamma(2, 0.5, len(x))
        * (r.uniform(size=len(x)) > 0.6),
    ),
    "0/1 columns": (
        lambda r: r.integers(0, 2, (300 + NEW, 12)).astype(float),
        lambda r, x: 2 * x[:, 0] + 3 * x[:, 1] * x[:, 2] - x[:, 3] + noise(r, x, 0.3),
    ),
    "copies of rows": (copies, lambda r, x: x[:, 0] * x[:, 1] + x[:, 2] + noise(r, x, 0.3)),
    "steps": (uniform(800, 6), steps),
    "thresholds": (uniform(1000, 8), thresholds),
    "thresholds, 4,000 rows": (uniform(4000, 8), thresholds),
}


def main():
    parser = output.parser(__doc__)
    parser.add_argument("tables", nargs="*", help="parts of names [default: all]")
    parser.add_argument("--seeds", type=int, default=2)
    args = parser.parse_args()
    if args.table:
        print(table(output.read(args.table)))
        return
    out = output.place(args, "known-truth")
    chosen = [n for n in TABLES if not args.tables or any(part in n for part in args.tables)]
    found = []
    for name in chosen:
        for seed in range(args.seeds):
            found.append(measure(name, seed))
            print(json.dumps(found[-1]), flush=True)
    out.write_text("".join(json.dumps(result) + "\n" for result in found))


def measure(name, seed):
    r = np.random.default_rng(seed)
    columns, target = TABLES[name]
    x = columns(r)
    y = target(r, x)
    old, truth = slice(0, len(x) - NEW), y[-NEW:]
    data = x[old], y[old], x[-NEW:]
    answer, report, seconds = raysum(*data, [])

    def rmse(mean):
        return float(np.sqrt(np.mean((truth - mean) ** 2)))

    inside = (answer["lower"] <= truth) & (truth <= answer["upper"])
    return {
        "table": name,
        "seed": seed,
        "auto": rmse(answer["mean"]),
        **{model: rmse(peer(model, *data)[0]) for model in ["ridge", "hist-gradient-boosting"]},
        "constant": rmse(y[old].mean()),
        "in95": float(inside.mean()),
        "seconds": round(seconds, 2),
        "members": {m["name"]: round(m["mean_weight"], 3) for m in report["members"]},
    }


def table(results):
    """The mean over seeds, as a table in Markdown."""
    models = ["auto", "ridge", "hist-gradient-boosting", "constant"]
    text = ["| table | " + " | ".join(models) + " | in 95 % |", "|---|" + "---:|" * 5]
    for name in TABLES:
        of_name = [result for result in results if result["table"] == name]
        if of_name:
            means = [np.mean([result[model] for result in of_name]) for model in models]
            cells = [f"**{m:.3f}**" if m == min(means) else f"{m:.3f}" for m in means]
            inside = np.mean([result["in95"] for result in of_name])
            text.append(f"| {name} | " + " | ".join(cells) + f" | {100 * inside:.0f} % |")
    return "\n".join(text)


if __name__ == "__main__":
    main()
