r"""Gaussian processes on all columns at once, by neighbours, beside those of other libraries.

    python bench/neighbors.py --data DIR                            # kin40k and protein, split 0
    python bench/neighbors.py --data DIR --sets pol --rows 5000 --programs raysum gpboost
    python bench/neighbors.py --data DIR --sets pol bike --programs raysum \
        --model linear+matern32-ard --prediction-neighbors 200

DIR holds uci/NAME/data.csv.gz (no header, target last) and uci/NAME/test_mask.csv.gz (column k
marks the test rows of split k). `gpboost` needs `pip install gpboost`, `svgp` and `exact` need
GPyTorch. Each program has a process of its own; they take turns. A run prints a line for each and
appends it to results/. Errors are in units of the training rows' standard deviation. The times of
the process, which a busy machine hardly changes, are beside those of the clock.
"""
import argparse
import datetime
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

from fit_vs_gpytorch import HERE, RAYSUM, commit, machine

PROGRAMS = ["raysum", "gpboost", "svgp"]
NEIGHBORS = 30
# Of the variational peer: inducing points, rows in a batch, passes over the rows, rate of Adam.
INDUCING, BATCH, EPOCHS, RATE = 512, 1024, 20, 0.02
# Of the exact peer: steps of Adam and their rate.
STEPS, STEP_RATE = 60, 0.1


def main():
    args = arguments()
    if args.one:
        return print(json.dumps(alone(args)))
    out = HERE / "results" / f"{datetime.date.today()}-neighbors.jsonl"
    for name in args.sets:
        with tempfile.TemporaryDirectory() as place:
            prepare(args, name, pathlib.Path(place))
            for program in args.programs:
                line = {"set": name, "split": args.split, "program": program, "threads": args.threads,
                        "load_before": os.getloadavg()[0], **started(args, program, place)}
                line |= {"load_after": os.getloadavg()[0], "commit": commit(), "machine": machine()}
                print(json.dumps(line), flush=True)
                with open(out, "a") as file:
                    file.write(json.dumps(line) + "\n")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default=os.environ.get("RAYSUM_DATA"), type=pathlib.Path)
    parser.add_argument("--sets", nargs="+", default=["kin40k", "protein"])
    parser.add_argument("--split", type=int, default=0)
    parser.add_argument("--rows", type=int, help="number of training rows, from the first on [default: all]")
    parser.add_argument("--test-rows", type=int, help="number of test rows, from the first on [default: all]")
    parser.add_argument("--programs", nargs="+", default=PROGRAMS, choices=[*PROGRAMS, "exact"])
    parser.add_argument("--kernel", default="matern32", choices=["matern12", "matern32", "matern52"])
    parser.add_argument("--model", help="of raysum [that of the kernel, with a length-scale per column]")
    parser.add_argument("--prediction-neighbors", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--raysum", default=RAYSUM, help="the program [the release build]")
    parser.add_argument("--one", nargs=2, metavar=("PROGRAM", "FOLDER"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.model = args.model or f"{args.kernel}-ard"
    if args.data is None and not args.one:
        parser.error("give --data DIR or set RAYSUM_DATA")
    return args


def prepare(args, name, place):
    folder = args.data / "uci" / name
    rows = np.loadtxt(folder / "data.csv.gz", delimiter=",")
    test = np.loadtxt(folder / "test_mask.csv.gz", delimiter=",")[:, args.split] > 0
    train, new = rows[~test][: args.rows], rows[test][: args.test_rows]
    mean, std = train.mean(axis=0), train.std(axis=0)
    std[std == 0] = 1
    np.save(place / "train.npy", (train - mean) / std)
    np.save(place / "new.npy", (new - mean) / std)


def started(args, program, place):
    """Runs one program in a process of its own."""
    command = [sys.executable, __file__, "--one", program, str(place), "--kernel", args.kernel,
               "--threads", str(args.threads), "--raysum", str(args.raysum), "--model", args.model,
               "--prediction-neighbors", str(args.prediction_neighbors)]
    environment = os.environ | {"OMP_NUM_THREADS": str(args.threads)}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def alone(args):
    program, place = args.one[0], pathlib.Path(args.one[1])
    train, new = np.load(place / "train.npy"), np.load(place / "new.npy")
    run = {"raysum": raysum, "gpboost": gpboost, "svgp": svgp, "exact": exact}[program]
    found, mean, variance = run(args, train, new[:, :-1])
    error = new[:, -1] - mean
    density = -0.5 * np.log(2 * np.pi * variance) - 0.5 * error**2 / variance
    return {
        "n": len(train), "d": train.shape[1] - 1, "new": len(new), "kernel": args.kernel,
        "rmse": round(float(np.sqrt(np.mean(error**2))), 4),
        "nlpd": round(float(-np.mean(density)), 4),
        "in95": round(float(np.mean(np.abs(error) < 1.959964 * np.sqrt(variance))), 4),
        **found,
    }


class Clock:
    """Seconds by the clock, and of the processors, of this process and of those it started."""

    def __init__(self):
        self.start = self.now()

    def now(self):
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return time.perf_counter(), sum(u.ru_utime + u.ru_stime for u in used)

    def read(self, what):
        wall, processors = (b - a for a, b in zip(self.start, self.now()))
        return {f"{what}_seconds": round(wall, 2), f"{what}_cpu_seconds": round(processors, 2)}


def raysum(args, train, new):
    """Through the command line: the times include reading and writing of files."""
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        np.save(place / "train.npy", train)
        np.save(place / "new.npy", new)

        def run(*words):
            words = [str(word) for word in (args.raysum, *words, "--quiet", "--threads", args.threads)]
            return subprocess.run(words, capture_output=True, text=True, check=True).stdout

        clock = Clock()
        report = json.loads(run("fit", place / "train.npy", "--target", "-1", "--holdout", "0",
                                "--model", args.model, "--engine", "neighbors",
                                "--neighbors", NEIGHBORS, "--prediction-neighbors",
                                args.prediction_neighbors, "-o", place / "model", "--json"))
        found = {**clock.read("fit"), "evaluations": report["evaluations"], "model": args.model}
        clock = Clock()
        header, *lines = run("predict", place / "model", place / "new.npy").splitlines()
        found |= clock.read("predict")
    columns = header.split(",")
    table = np.array([[float(v) for v in line.split(",")] for line in lines])
    return found, table[:, columns.index("mean")], table[:, columns.index("std")] ** 2


def shape(args):
    return {"matern12": 0.5, "matern32": 1.5, "matern52": 2.5}[args.kernel]


def gpboost(args, train, new):
    """Vecchia's approximation with as many neighbours, which it finds in the kernel's metric, too.

    It starts at length-scales of √d and a noise of 0.1, which was faster than its own start and led to
    the same likelihood. Its arrays must be contiguous: it reads columns of a larger array wrongly.
    """
    import gpboost as gpb

    d = train.shape[1] - 1
    x, y = np.ascontiguousarray(train[:, :-1]), np.ascontiguousarray(train[:, -1])
    new = np.ascontiguousarray(new)
    clock = Clock()
    model = gpb.GPModel(gp_coords=x, cov_function="matern_ard", cov_fct_shape=shape(args),
                        gp_approx="vecchia", num_neighbors=NEIGHBORS, likelihood="gaussian",
                        num_parallel_threads=args.threads)
    start = np.concatenate([[0.1, 1.0], np.full(d, np.sqrt(d))])
    model.fit(y=y, X=np.ones((len(y), 1)), params={"init_cov_pars": start})
    found = {**clock.read("fit"), "evaluations": None, "version": gpb.__version__}
    clock = Clock()
    model.set_prediction_data(num_neighbors_pred=args.prediction_neighbors,
                              vecchia_pred_type="order_obs_first_cond_obs_only")
    found_new = model.predict(gp_coords_pred=new, X_pred=np.ones((len(new), 1)), predict_var=True,
                              predict_response=True)
    return found | clock.read("predict"), found_new["mu"], found_new["var"]


def tensors(args, *arrays):
    import torch

    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    return [torch.tensor(array, dtype=torch.float32) for array in arrays]


def scaled_kernel(args, d):
    import gpytorch

    kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=shape(args), ard_num_dims=d))
    kernel.base_kernel.lengthscale = np.sqrt(d)
    return kernel


def svgp(args, train, new):
    """GPyTorch's stochastic variational inducing points."""
    import gpytorch
    import torch

    x, y, x_new = tensors(args, train[:, :-1], train[:, -1], new)
    clock = Clock()
    points = x[torch.randperm(len(x))[:INDUCING]].clone()

    class Model(gpytorch.models.ApproximateGP):
        def __init__(self):
            distribution = gpytorch.variational.CholeskyVariationalDistribution(len(points))
            super().__init__(gpytorch.variational.VariationalStrategy(self, points, distribution))
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = scaled_kernel(args, x.shape[1])

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    model, likelihood = Model(), gpytorch.likelihoods.GaussianLikelihood()
    likelihood.noise = 0.1
    objective = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(x))
    optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=RATE)
    steps = 0
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(x)).split(BATCH):
            optimizer.zero_grad()
            (-objective(model(x[rows]), y[rows])).backward()
            optimizer.step()
            steps += 1
    found = {**clock.read("fit"), "evaluations": steps, "version": gpytorch.__version__}
    return predicted(found, model, likelihood, x_new)


def exact(args, train, new):
    """GPyTorch's exact Gaussian process, for some thousand rows."""
    import gpytorch
    import torch

    x, y, x_new = tensors(args, train[:, :-1], train[:, -1], new)
    clock = Clock()

    class Model(gpytorch.models.ExactGP):
        def __init__(self):
            super().__init__(x, y, likelihood)
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = scaled_kernel(args, x.shape[1])

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    likelihood.noise = 0.1
    model = Model()
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    optimizer = torch.optim.Adam(model.parameters(), lr=STEP_RATE)
    with gpytorch.settings.max_cholesky_size(10**6):
        for _ in range(STEPS):
            optimizer.zero_grad()
            (-objective(model(x), y)).backward()
            optimizer.step()
        found = {**clock.read("fit"), "evaluations": STEPS, "version": gpytorch.__version__}
        return predicted(found, model, likelihood, x_new)


def predicted(found, model, likelihood, x_new):
    import torch

    model.eval()
    likelihood.eval()
    clock = Clock()
    parts = []
    with torch.no_grad():
        for rows in x_new.split(1000):
            p = likelihood(model(rows))
            parts.append(np.stack([p.mean.double().numpy(), p.variance.double().numpy()]))
    mean, variance = np.concatenate(parts, axis=1)
    return found | clock.read("predict"), mean, variance


if __name__ == "__main__":
    main()
