"""Noise that depends on the columns beside constant noise, on the paper's sets.

    python bench/noise.py --data DIR                     # DIR has uci/; every set
    python bench/noise.py --data DIR servo --models gam
    python bench/noise.py --table results/2026-11-19-noise.jsonl

One JSON line per set, model and kind of noise is appended to a file in results/. Needs a build of
raysum (RAYSUM_BIN, or target/release/raysum) and bench/requirements.txt.
"""

import json
import os
import pathlib
import subprocess
import sys

import output
from accuracy import PROGRAM, machine

#: The paper's sets, by their rows.
SETS = "challenger fertility concreteslump autos servo breastcancer machine yacht autompg housing"
SETS = [*SETS.split(), "forest", "stock", "energy", "concrete", "airfoil", "gas"]
MODELS = ["gam", "dpa-ard"]
KINDS = ["constant", "columns"]
SHOWN = ["rmse_mean", "nlpd_mean", "coverage95"]
KEPT = ["n", "d", "folds", "rmse_mean", "rmse_sd", "nlpd_mean", "nlpd_sd", "crps_mean"]
KEPT = [*KEPT, "coverage95"]
#: A fit of `gas`, with 128 columns, takes minutes.
FEWER = {"gas": ["--folds", "3", "--shrinkage", "none"]}


def main():
    parser = output.parser(__doc__)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--data", type=pathlib.Path, default=os.environ.get("RAYSUM_DATA"))
    parser.add_argument("--models", nargs="+", default=MODELS)
    args = parser.parse_args()
    if args.table:
        print(table(output.read(args.table)))
        return
    if args.data is None:
        parser.error("name the folder with uci/ by --data or RAYSUM_DATA")
    out = output.place(args, "noise")
    with out.open("a") as file:
        for name in args.sets:
            for model in args.models:
                for noise in KINDS:
                    line = evaluate(pathlib.Path(args.data), name, model, noise)
                    for to in [file, sys.stdout]:
                        print(json.dumps(line), file=to, flush=True)


def evaluate(data, name, model, noise):
    """Scores of a model, with intervals that are its own."""
    command = [PROGRAM, "evaluate", data / "uci" / name / "data.csv.gz", "--header", "no"]
    command += ["--target", "-1", "--model", model, "--noise", noise, "--json", "--quiet"]
    command += ["--intervals", "gaussian", *FEWER.get(name, ["--folds", "5"])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    scores = {key: found[key] for key in KEPT}
    return {"set": name, "model": model, "noise": noise, **scores, "machine": machine()}


def table(results):
    """Scores with both kinds of noise, in Markdown."""
    heads = [f"{score}, {kind}" for score in ["RMSE", "NLPD", "inside 95 %"] for kind in KINDS]
    text = ["| set | model | " + " | ".join(heads) + " |", "|---" * (2 + len(heads)) + "|"]
    rows = dict.fromkeys((line["set"], line["model"]) for line in results)
    for name, model in rows:
        own = {r["noise"]: r for r in results if (r["set"], r["model"]) == (name, model)}
        cells = [cell(own[kind], score) for score in SHOWN for kind in KINDS]
        text.append(f"| {name} | {model} | " + " | ".join(cells) + " |")
    return "\n".join(text)


def cell(line, score):
    text = f"{100 * line[score]:.0f} %" if score == "coverage95" else f"{line[score]:.3f}"
    return text.replace("-", "−")


if __name__ == "__main__":
    main()
