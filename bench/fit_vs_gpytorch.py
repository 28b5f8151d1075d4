"""One DPA-GP-ARD fit by raysum and by GPyTorch, side by side on the same fold and threads.

    python bench/fit_vs_gpytorch.py --data DIR --set energy [--splits 1]
    python bench/fit_vs_gpytorch.py --memory

DIR holds uci/NAME/data.csv.gz (no header, target last) and uci/NAME/test_mask.csv.gz (column k
marks the test rows of split k); the environment variable RAYSUM_DATA may name it instead.
"""
import argparse
import csv
import datetime
import gzip
import json
import math
import os
import pathlib
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
RAYSUM = HERE.parent / "target" / "release" / "raysum"
MEMORY_ROWS, MEMORY_COLUMNS, MEMORY_LIMIT_GB = 5000, 8, 3.0


def main():
    args = arguments()
    if not RAYSUM.exists():
        sys.exit("target/release/raysum is missing: run `cargo build --release`")
    if args.memory:
        return memory(args)
    if os.getloadavg()[0] > 0.5:
        print("the machine is busy: wait, or trust the column `at least` only", flush=True)
    from gpytorch_peer import versions

    name = f"fit-{args.set}" + (f"-threads-{args.threads}" if args.threads != 2 else "")
    log = Log(args, name, versions(), set=args.set)
    for split in range(args.splits):
        fold = Fold(args.data, args.set, split)
        for repeat in range(max(args.repeats, args.peer_repeats)):
            for name, work in programs(args, fold, repeat):
                before = os.getloadavg()[0]
                found = {"program": name, "set": args.set, "split": split, "repeat": repeat}
                found |= {"rows": len(fold.train), "columns": fold.columns, **work()}
                log.add("measure", **found, load_before=before, load_after=os.getloadavg()[0])
                print(f"split {split} repeat {repeat} {name}: {found['fit_seconds']:.3f} s", flush=True)
    for line in ratios(log.measures):
        log.add("ratio", set=args.set, **line)
    table(log)
    return 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("RAYSUM_DATA"), help="folder with uci/ [RAYSUM_DATA]")
    parser.add_argument("--set", default="energy", help="name of the set [energy]")
    parser.add_argument("--splits", type=int, default=1, help="number of splits to measure [1]")
    parser.add_argument("--repeats", type=int, default=3, help="repetitions of raysum [3]")
    parser.add_argument("--peer-repeats", type=int, default=1, help="repetitions of GPyTorch [1]")
    parser.add_argument("--threads", type=int, default=2, help="threads of either side [2]")
    parser.add_argument("--iterations", type=int, default=1000, help="most Adam iterations [1000]")
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "results", help="where to write")
    parser.add_argument("--memory", action="store_true", help="measure raysum's peak memory instead")
    args = parser.parse_args()
    if not (args.memory or args.data):
        parser.error("say where the data is: --data DIR, or RAYSUM_DATA")
    return args


class Fold:
    """One split: rows as numbers, and standardised by the training rows for the peer."""

    def __init__(self, data, name, split):
        folder = pathlib.Path(data) / "uci" / name
        rows = read(folder / "data.csv.gz")
        held_out = [mask[split] > 0 for mask in read(folder / "test_mask.csv.gz")]
        self.train = [row for row, out in zip(rows, held_out) if not out]
        self.test = [row for row, out in zip(rows, held_out) if out]
        self.columns = len(rows[0]) - 1
        self.scales = [(statistics.fmean(c), statistics.pstdev(c) or math.inf) for c in zip(*self.train)]

    def standardised(self):
        """Training X and y, test X and y."""
        for rows in (self.train, self.test):
            scaled = [[(v - m) / s for v, (m, s) in zip(row, self.scales)] for row in rows]
            yield [row[:-1] for row in scaled]
            yield [row[-1] for row in scaled]


def read(path):
    with gzip.open(path, "rt") as file:
        return [[float(cell) for cell in row] for row in csv.reader(file)]


def write(path, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(rows)


def programs(args, fold, repeat):
    """What one repetition runs, in turns, so that a drift of the machine touches every side."""

    def peer(kernel, cholesky):
        from gpytorch_peer import measure

        return measure(list(fold.standardised()), kernel, cholesky, args.iterations, args.threads)

    if repeat < args.repeats:
        yield "raysum lbfgs", lambda: raysum(fold, args.threads, [])
    if repeat < args.peer_repeats:
        yield "gpytorch stock", lambda: peer("stock", False)
        yield "gpytorch loop", lambda: peer("loop", False)
        if len(fold.train) > 800:  # up to there GPyTorch takes Cholesky of its own accord
            yield "gpytorch loop cholesky", lambda: peer("loop", True)
    if repeat < args.repeats:
        adam = ["--optimizer", "adam", "--max-evaluations", str(args.iterations)]
        yield "raysum adam", lambda: raysum(fold, args.threads, adam)


def raysum(fold, threads, options):
    """Fits the training rows and predicts the test rows through the command line."""
    with tempfile.TemporaryDirectory() as folder:
        train, test, model = (os.path.join(folder, name) for name in ("train.csv", "test.csv", "fit.raysum"))
        write(train, fold.train)
        write(test, [row[:-1] for row in fold.test])
        common = ["--header", "no", "--threads", str(threads), "--json"]
        fit = ["fit", train, "--target", "-1", "--model", "dpa-ard", "--held-out", "no", "-o", model]
        out, fit_wall, _ = run(fit + common + options)
        predictions, predict_wall, _ = run(["predict", model, test, *common])
    report = json.loads(out)
    _, std = fold.scales[-1]
    squares, densities = [], []
    for line, row in zip(predictions.splitlines(), fold.test, strict=True):
        new = json.loads(line)
        error, deviation = (new["mean"] - row[-1]) / std, new["std"] / std
        squares.append(error**2)
        densities.append(0.5 * math.log(2 * math.pi * deviation**2) + 0.5 * (error / deviation) ** 2)
    return {
        "fit_seconds": report["fit_seconds"],
        "process_seconds": fit_wall,
        "predict_process_seconds": predict_wall,
        "evaluations": report["evaluations"],
        "hit_limit": report["hit_limit"],
        "rmse": math.sqrt(statistics.fmean(squares)),
        "nlpd": statistics.fmean(densities),
        "log_marginal_likelihood": report["log_marginal_likelihood"],
        "engine": report["engine"],
    }


def run(arguments):
    """Output, wall seconds and peak resident memory (GB) of one run of raysum.

    A child's peak counts this process's own memory at the fork, so it means nothing once torch is
    loaded: only --memory reports it.
    """
    with tempfile.TemporaryFile("w+") as out:
        start = time.perf_counter()
        child = subprocess.Popen([RAYSUM, *arguments], stdout=out)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            sys.exit(f"raysum {arguments[0]} ended with status {child.returncode}")
        out.seek(0)
        unit = 1e9 if sys.platform == "darwin" else 1e9 / 1024
        return out.read(), seconds, usage.ru_maxrss / unit


def version():
    return subprocess.run([RAYSUM, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]


def ratios(measures):
    """Every peer's seconds over every raysum's, per split, as medians of the repetitions."""
    for split in sorted({m["split"] for m in measures}):
        programs = {}
        for m in measures:
            if m["split"] == split:
                programs.setdefault(m["program"], []).append(m)
        for name, ours in programs.items():
            for peer, theirs in programs.items():
                if name.startswith("raysum") and not peer.startswith("raysum"):
                    yield {"split": split, "program": name, "peer": peer, **ratio(ours, theirs)}


def ratio(ours, theirs):
    """How many times faster: as measured; `unloaded`, with the peer's fastest iteration taken for
    all of them, so that a busy machine, which slows the peer's threads more, cannot inflate it; and
    `to_same_likelihood`, with the peer stopped where it reaches raysum's log marginal likelihood
    (null: it never does).
    """
    seconds = statistics.median(m["fit_seconds"] for m in ours)
    reached = ours[0]["log_marginal_likelihood"]
    trace = theirs[0]["likelihood_every_10"]
    enough = next((10 * i + 1 for i, value in enumerate(trace) if value >= reached), None)
    iteration = statistics.median(m["iteration_seconds_median"] for m in theirs)
    least = min(m["evaluations"] * m["iteration_seconds_least"] for m in theirs)
    return {
        "times_faster": statistics.median(m["fit_seconds"] for m in theirs) / seconds,
        "times_faster_unloaded": least / seconds,
        "peer_iterations_to_same_likelihood": enough,
        "times_faster_to_same_likelihood": enough and enough * iteration / seconds,
    }


def table(log):
    form = "{:<6}{:<24}{:>10}{:>10}{:>7}{:>9}{:>9}{:>11}"
    print(form.format("split", "program", "fit s", "process s", "evals", "RMSE", "NLPD", "log ml"))
    shown = set()
    for m in log.measures:
        key = (m["split"], m["program"])
        if key in shown:
            continue
        shown.add(key)
        same = [n for n in log.measures if (n["split"], n["program"]) == key]
        wall = [n["process_seconds"] for n in same if "process_seconds" in n]
        print(form.format(
            m["split"], m["program"], f"{statistics.median(n['fit_seconds'] for n in same):.3f}",
            f"{statistics.median(wall):.3f}" if wall else "", m["evaluations"],
            f"{m['rmse']:.4f}", f"{m['nlpd']:.3f}", f"{m['log_marginal_likelihood']:.1f}",
        ))
    form = "{:<6}{:<16}{:<24}{:>14}{:>10}{:>14}"
    print(form.format("split", "program", "peer", "times faster", "at least", "same log ml"))
    keys = ("times_faster", "times_faster_unloaded", "times_faster_to_same_likelihood")
    for line in log.lines:
        if line["kind"] == "ratio":
            values = (f"{line[key]:.1f}" if line[key] else "never" for key in keys)
            print(form.format(line["split"], line["program"], line["peer"], *values))


def memory(args):
    """Peak memory of a fit at n = 5000 on made-up rows; a few evaluations reach the peak."""
    noise = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.csv")
        rows = ([noise.gauss(0, 1) for _ in range(MEMORY_COLUMNS)] for _ in range(MEMORY_ROWS))
        write(path, ([*x, sum(map(math.sin, x)) + 0.1 * noise.gauss(0, 1)] for x in rows))
        fit = ["fit", path, "--target", "-1", "--header", "no", "--held-out", "no", "--json"]
        out, wall, peak = run([*fit, "--max-evaluations", "5", "--threads", str(args.threads)])
    report = json.loads(out)
    log = Log(args, f"memory-{MEMORY_ROWS}", {})
    log.add(
        "measure", program="raysum lbfgs", rows=MEMORY_ROWS, columns=MEMORY_COLUMNS, engine=report["engine"],
        evaluations=report["evaluations"], fit_seconds=report["fit_seconds"], process_seconds=wall,
        peak_memory_gb=peak, limit_gb=MEMORY_LIMIT_GB,
    )
    print(f"n = {MEMORY_ROWS}, {report['engine']} engine: peak {peak:.2f} GB, limit {MEMORY_LIMIT_GB} GB")
    return int(peak >= MEMORY_LIMIT_GB)


class Log:
    """One dated file of results, written as they come: the run, its measures, their ratios."""

    def __init__(self, args, name, versions, **about):
        now = datetime.datetime.now(datetime.timezone.utc)
        args.results.mkdir(parents=True, exist_ok=True)
        self.path, self.lines = args.results / f"{now:%Y-%m-%d}-{name}.jsonl", []
        self.path.write_text("")
        versions = {"raysum": version(), "commit": commit(), "python": platform.python_version(), **versions}
        about |= {"date": now.isoformat(timespec="seconds"), "threads": args.threads}
        self.add("run", **about, versions=versions, machine=machine())

    @property
    def measures(self):
        return [line for line in self.lines if line["kind"] == "measure"]

    def add(self, kind, **values):
        self.lines.append({"kind": kind, **values})
        with open(self.path, "a") as file:
            file.write(json.dumps(self.lines[-1]) + "\n")


def commit():
    """The commit, marked where sources differ from it."""
    git = ["git", "-C", HERE, "describe", "--always", "--dirty", "--exclude", "*"]
    found = subprocess.run(git, capture_output=True, text=True)
    return found.stdout.strip() if found.returncode == 0 else None


def machine():
    """The processor and memory, and nothing that names the machine."""
    about = {"system": platform.system(), "architecture": platform.machine(), "cores": os.cpu_count()}
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        about["cpu"] = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
        about["memory_gb"] = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (OSError, StopIteration, ValueError):
        about.setdefault("cpu", platform.processor())
    return about


if __name__ == "__main__":
    sys.exit(main())
