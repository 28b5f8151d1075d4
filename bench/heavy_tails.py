"""Time and error of single models on tables whose columns have heavy tails.

    python bench/heavy_tails.py                        # every table and model
    python bench/heavy_tails.py spiky --models gam
    python bench/heavy_tails.py --table results/2026-11-19-heavy-tails.jsonl

Each table has 20,000 rows and 8 columns, and 2,000 new rows are predicted. The target is a smooth
function of logarithms of the columns, some of them together, with noise of standard deviation 0.5.
One JSON line per table and model is written to results/. Needs a build of raysum (RAYSUM_BIN, or
target/release/raysum) and bench/requirements.txt.
"""

import json
import time

import numpy as np
import output
from accuracy import machine, peer, raysum

OLD, NEW, COLUMNS = 20_000, 2_000, 8
SHAPE = (OLD + NEW, COLUMNS)
NOISE = 0.5
RANKS = " on ranks"
MODELS = ["gam", "dpa-ard", "linear+gam+dpa-ard", "linear+gam+dpa-ard:80x1"]
MODELS += [model + RANKS for model in MODELS[:3]]
PEERS = ["ridge", "hist-gradient-boosting"]


def spiky(r):
    """0 in 99 rows of a hundred, and log-normal in the others."""
    return np.where(r.uniform(size=SHAPE) < 0.01, r.lognormal(3, 1, SHAPE), 0.0)


def mixed(r):
    columns = [log_normal(r, 2), r.standard_cauchy(SHAPE), r.poisson(0.3, SHAPE), spiky(r)]
    return np.column_stack([columns[j % 4][:, j] for j in range(COLUMNS)])


def log_normal(r, width):
    return r.lognormal(0, width, SHAPE)


#: Columns from a generator of random numbers.
TABLES = {
    "normal": lambda r: r.normal(size=SHAPE),
    "log-normal, 1": lambda r: log_normal(r, 1),
    "log-normal, 2": lambda r: log_normal(r, 2),
    "Cauchy": lambda r: r.standard_cauchy(SHAPE),
    "discrete": lambda r: r.geometric(0.3, SHAPE).astype(float),
    "duplicated": lambda r: log_normal(r, 1)[r.integers(0, 300, OLD + NEW)],
    "spiky": spiky,
    "mixed": mixed,
}


def target(r, x):
    z = np.sign(x) * np.log1p(np.abs(x))
    curve = np.sin(2 * z[:, 0]) + z[:, 1] + z[:, 2] * z[:, 3] + np.cos(z[:, 4] + z[:, 5])
    return curve + NOISE * r.normal(size=len(x))


def main():
    parser = output.parser(__doc__)
    parser.add_argument("tables", nargs="*", help="parts of names [default: all]")
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--options", default="", help="further options of raysum fit")
    args = parser.parse_args()
    if args.table:
        print(table(output.read(args.table)))
        return
    out = output.place(args, "heavy-tails")
    chosen = [n for n in TABLES if not args.tables or any(part in n for part in args.tables)]
    found = []
    for name in chosen:
        found += measure(name, args.models, args.options.split())
    out.write_text("".join(json.dumps(result) + "\n" for result in found))


def measure(table, models, options):
    r = np.random.default_rng(0)
    x = TABLES[table](r)
    y = target(r, x)
    truth, data = y[-NEW:], (x[:OLD], y[:OLD], x[-NEW:])
    for model in [*models, *PEERS]:
        started = time.time()
        if model in PEERS:
            mean, report, inside = peer(model, *data)[0], {}, None
            seconds = time.time() - started
        else:
            scale = ["--columns-scale", "ranks"] if model.endswith(RANKS) else []
            name = model.removesuffix(RANKS)
            answer, report, seconds = raysum(*data, ["--model", name, *scale, *options])
            mean = answer["mean"]
            inside = float(np.mean((answer["lower"] <= truth) & (truth <= answer["upper"])))
        bounds = [key for key in ["rough", "fewer_directions"] if report.get(key)]
        line = {
            "table": table,
            "model": model,
            "rmse": round(float(np.sqrt(np.mean((truth - mean) ** 2))), 4),
            "in95": inside,
            "seconds": round(seconds, 2),
            "bounds": bounds,
            "machine": machine(),
        }
        print(json.dumps(line), flush=True)
        yield line


def table(results):
    """Error and seconds of each model on each table, in Markdown; a star where a bound was met."""
    models = list(dict.fromkeys(line["model"] for line in results))
    text = ["| columns | " + " | ".join(models) + " |", "|---|" + "---:|" * len(models)]
    for name in TABLES:
        own = {line["model"]: line for line in results if line["table"] == name}
        if own:
            text.append(
                f"| {name} | " + " | ".join(cell(own.get(model)) for model in models) + " |"
            )
    return "\n".join(text)


def cell(line):
    if line is None:
        return ""
    star = "\\*" if line["bounds"] else ""
    seconds = "" if line["in95"] is None else f", {line['seconds']:.0f} s{star}"
    return f"{line['rmse']:.3f}{seconds}"


if __name__ == "__main__":
    main()
