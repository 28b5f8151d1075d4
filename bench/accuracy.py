"""Accuracy of auto, its members and peers on the UCI sets, on the splits of their masks.

    python bench/accuracy.py --data DIR                                   # everything
    python bench/accuracy.py --data DIR --sets pol bike --models auto catboost --splits 1
    python bench/accuracy.py --table results/2026-11-18-accuracy.jsonl    # the tables of the documents

DIR holds uci/NAME/data.csv.gz (no header, target last) and uci/NAME/test_mask.csv.gz (column k marks
the test rows of split k). Every model is fitted to the same rows, with its defaults, one after another
on all cores; one JSON line per fit is appended to results/, and a run that was stopped continues.
`--models members` fits those that auto tried on the same split, each alone. Needs a build of raysum
(RAYSUM_BIN, or target/release/raysum) and, for the peers, bench/requirements.txt.

Errors are in standard deviations of the target of the training rows. NLPD is that of a normal
distribution with the predicted mean and standard deviation; boosting predicts none.
"""

import json
import os
import pathlib
import subprocess
import tempfile
import time
import warnings

import numpy as np
import output

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = os.environ.get("RAYSUM_BIN", HERE.parent / "target" / "release" / "raysum")
#: The sets, and how many of the ten splits are used where --splits does not say.
SETS = {
    **dict.fromkeys(["challenger", "fertility", "concreteslump", "autos", "servo"], 10),
    **dict.fromkeys(["breastcancer", "machine", "yacht", "autompg", "housing", "forest"], 10),
    **dict.fromkeys(["stock", "energy", "concrete", "airfoil"], 10),
    **dict.fromkeys(["gas", "skillcraft", "sml", "parkinsons", "pumadyn32nm", "pol"], 1),
    **dict.fromkeys(["elevators", "bike", "kin40k", "protein", "tamielectric", "keggdirected"], 1),
}
PEERS = ["ridge", "hist-gradient-boosting", "lightgbm", "catboost", "ebm", "sklearn-gp"]
#: Most rows for which scikit-learn's Gaussian process is fitted: its cost is cubic.
MOST_GP_ROWS = 1_600


def main():
    args = arguments()
    if args.table:
        print(tables(output.read(args.table)))
        return
    out = output.place(args, "accuracy")
    lines = output.read(out) if out.exists() else []
    known = {(line["set"], line["split"], line["model"]) for line in lines}
    for name in args.sets:
        splits = range(args.first_split, args.first_split + (args.splits or SETS[name]))
        for split in splits:
            for model in models_of(args.models, lines, name, split):
                if (name, split, model) in known:
                    continue
                for line in measure(args.data / "uci" / name, split, model):
                    line = {"set": name, "split": split, **line, "machine": machine()}
                    print(json.dumps(line), flush=True)
                    lines.append(line)
                    with open(out, "a") as file:
                        file.write(json.dumps(line) + "\n")


def arguments():
    parser = output.parser(__doc__)
    parser.add_argument("--data", default=os.environ.get("RAYSUM_DATA"), type=pathlib.Path)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--models", nargs="+", default=["auto", *PEERS])
    parser.add_argument("--splits", type=int, help="number of splits [default: 10, or 1 of large sets]")
    parser.add_argument("--first-split", type=int, default=0)
    args = parser.parse_args()
    if args.data is None and args.table is None:
        parser.error("give --data DIR or set RAYSUM_DATA")
    return args


def models_of(models, lines, name, split):
    """The models by name; `members` are those that auto tried, which must have been measured."""
    for model in models:
        if model != "members":
            yield model
            continue
        for line in lines:
            if (line["set"], line["split"], line["model"]) == (name, split, "auto"):
                yield from line.get("tried", [])


def measure(folder, split, model):
    rows = np.loadtxt(folder / "data.csv.gz", delimiter=",", ndmin=2)
    test = np.loadtxt(folder / "test_mask.csv.gz", delimiter=",", ndmin=2)[:, split] > 0
    x, y = rows[:, :-1], rows[:, -1]
    data = x[~test], y[~test], x[test]
    found = {"n": int((~test).sum()), "d": x.shape[1]}
    scale = y[~test].std() or 1.0
    if model in PEERS:
        if model == "sklearn-gp" and found["n"] > MOST_GP_ROWS:
            return
        started = time.time()
        mean, std = peer(model, *data)
        seconds = time.time() - started
        ends = None if std is None else (mean - 1.959964 * std, mean + 1.959964 * std)
        scores = score(y[test], mean, std, ends, scale)
        yield {"model": model, **found, **scores, "seconds": round(seconds, 2)}
        return
    if model.startswith("auto"):
        options = ["--effort", model.split(":")[1]] if ":" in model else []
    else:
        options = member_options(model, found["n"])
    table, report, seconds = raysum(*data, options)
    ends = table["lower"], table["upper"]
    scores = score(y[test], table["mean"], table["std"], ends, scale)
    extra = {"members": report["members"], "held_out": report["held_out"]["standardised"]}
    if model.startswith("auto"):
        extra["tried"] = [tried["name"] for tried in report["held_out"]["tried"]]
    yield {"model": model, **found, **scores, "seconds": round(seconds, 2), **extra}


def member_options(model, rows):
    """The options of a member by its name, such as 'linear+gam on ranks, target by a power'.

    They are those of `crates/raysum/src/stack/candidates.rs`.
    """
    name = model.split(" ")[0].rstrip(",")
    options = ["--model", name, "--shrinkage", "none"]
    full = any(term.endswith("-ard") and term != "dpa-ard" for term in name.split("+"))
    if rows <= 2_000:
        options += ["--max-evaluations", "25"]
    elif full:
        options += ["--engine", "neighbors"]
    most = 15_000 if full else 8_000 if name == "ppr" else 4_000
    if rows > most:
        options += ["--subset", str(most)]
    for scale in ["robust", "ranks", "cuts"]:
        if f" on {scale}" in model:
            options += ["--columns-scale", scale]
    if "target by a power" in model:
        options += ["--target-scale", "yeo-johnson"]
    return options


def raysum(x, y, new, options):
    """The predictions of new rows by name, what the fit reports, and its seconds."""
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        np.save(place / "x.npy", x)
        np.save(place / "y.npy", y)
        np.save(place / "new.npy", new)
        started = time.time()
        fit = [PROGRAM, "fit", place / "x.npy", "--y", place / "y.npy", "-o", place / "model"]
        fit = subprocess.run([*fit, "--json", "-q", *options], capture_output=True, check=True)
        seconds = time.time() - started
        predict = [PROGRAM, "predict", place / "model", place / "new.npy", "-q"]
        answer = subprocess.run(predict, capture_output=True, check=True, text=True).stdout
    header, *lines = answer.splitlines()
    values = np.array([[float(v) for v in line.split(",")] for line in lines])
    return dict(zip(header.split(","), values.T)), json.loads(fit.stdout), seconds


def peer(model, x, y, new):
    """Mean and, where there is one, standard deviation of new rows."""
    from sklearn.preprocessing import StandardScaler

    warnings.simplefilter("ignore")
    if model == "sklearn-gp":
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

        scaler = StandardScaler().fit(x)
        kernel = ConstantKernel() * RBF(np.ones(x.shape[1])) + WhiteKernel(0.1)
        gp = GaussianProcessRegressor(kernel, normalize_y=True).fit(scaler.transform(x), y)
        return gp.predict(scaler.transform(new), return_std=True)
    if model == "ridge":
        from sklearn.linear_model import RidgeCV
        from sklearn.pipeline import make_pipeline

        fitted = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 4, 30))).fit(x, y)
    elif model == "hist-gradient-boosting":
        from sklearn.ensemble import HistGradientBoostingRegressor

        fitted = HistGradientBoostingRegressor(random_state=0).fit(x, y)
    elif model == "lightgbm":
        from lightgbm import LGBMRegressor

        fitted = LGBMRegressor(random_state=0, verbose=-1).fit(x, y)
    elif model == "catboost":
        from catboost import CatBoostRegressor

        fitted = CatBoostRegressor(random_seed=0, verbose=False, allow_writing_files=False).fit(x, y)
    else:
        from interpret.glassbox import ExplainableBoostingRegressor

        fitted = ExplainableBoostingRegressor(random_state=0).fit(x, y)
    return fitted.predict(new), None


def score(truth, mean, std, ends, scale):
    error = truth - mean
    scores = {"rmse": float(np.sqrt(np.mean(error**2)) / scale), "test_rows": len(truth)}
    if std is not None:
        density = -0.5 * np.log(2 * np.pi * std**2) - 0.5 * (error / std) ** 2
        scores["nlpd"] = float(-np.mean(density) - np.log(scale))
        scores["in95"] = float(np.mean((ends[0] <= truth) & (truth <= ends[1])))
        scores["width95"] = float(np.mean(ends[1] - ends[0]) / scale)
    return scores


def machine():
    return f"{os.cpu_count()} cores"


def tables(lines):
    """The mean over splits of each set and model, and a table of split 0, in Markdown."""
    models = [m for m in ["auto", *PEERS[:4]] if any(line["model"] == m for line in lines)]
    head = ["set", "rows", "columns", "splits", *models, "in 95 %", "seconds"]
    text = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    ahead = dict.fromkeys(models[1:], 0)
    sets = [name for name in SETS if any(line["set"] == name for line in lines)]
    for name in sets:
        own = [line for line in lines if line["set"] == name]
        done = {line["split"] for line in own if line["model"] == "auto"}
        own = [line for line in own if line["split"] in done]
        mean = {}
        for model in models:
            errors = [line["rmse"] for line in own if line["model"] == model]
            mean[model] = np.mean(errors) if len(errors) == len(done) else None
        for model in models[1:]:
            ahead[model] += mean[model] is not None and mean["auto"] < mean[model]
        auto = [line for line in own if line["model"] == "auto"]
        inside = np.average([a["in95"] for a in auto], weights=[a["test_rows"] for a in auto])
        best = min(m for m in mean.values() if m is not None)
        show = {m: "" if v is None else f"**{v:.3f}**" if v == best else f"{v:.3f}" for m, v in mean.items()}
        cells = [name, f"{own[0]['n']:,}", str(own[0]["d"]), str(len(done)), *show.values()]
        cells += [f"{100 * inside:.0f} %", f"{np.mean([a['seconds'] for a in auto]):.0f}"]
        text.append("| " + " | ".join(cells) + " |")
    counts = ", ".join(f"{m} on {count}" for m, count in ahead.items())
    first = table_of_members([line for line in lines if line["split"] == 0], sets)
    return "\n".join(text) + f"\n\nOf {len(sets)} sets, auto is ahead of {counts}.\n\n{first}\n"


def table_of_members(lines, sets):
    """Auto beside its best member, by the errors on these very rows, and the slower peers."""
    text = ["| set | auto | best member | which | ebm | sklearn-gp | in 95 %, its own |"]
    text.append("|---|---:|---:|---|---:|---:|---:|")
    for name in sets:
        own = {line["model"]: line for line in lines if line["set"] == name}
        members = [own[m] for m in own["auto"].get("tried", []) if m in own]
        best = min(members, key=lambda line: line["rmse"], default=None)
        cells = [name, f"{own['auto']['rmse']:.3f}"]
        cells += [f"{best['rmse']:.3f}", best["model"]] if best else ["", ""]
        cells += [f"{own[m]['rmse']:.3f}" if m in own else "" for m in ["ebm", "sklearn-gp"]]
        cells += [f"{100 * own['sklearn-gp']['in95']:.0f} %" if "sklearn-gp" in own else ""]
        text.append("| " + " | ".join(cells) + " |")
    return "\n".join(text)


if __name__ == "__main__":
    main()
