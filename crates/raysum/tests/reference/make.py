"""Freeze Gaussian-process numbers from scikit-learn and GPyTorch in reference.json.

    pip install scikit-learn gpytorch
    python make.py

The model of every case is y = c + f(x) + e, e ~ N(0, noise_variance), f ~ GP(0, k),

    k(x, x') = sum_j lambda_j kappa(|W_j (x - x')|),   W = diag(1/l_rows) P diag(1/sigma_cols),

with W_j the D_j rows of W that belong to sub-kernel j.  x and y are used as they stand.

What a case holds, beyond its inputs:
  lml                     log marginal likelihood, -n/2 log(2 pi) included
  mean_new                predictive mean at x_new, c included
  cov_new, var_new        covariance of f (no noise) at x_new, and its diagonal
  loo_mean, loo_var       some cases: y_i given all others, by n refits of the library at fixed
                          hyperparameters; loo_var is the variance of y_i (noise included)
  sklearn_theta_gradient  scikit-learn: d lml / d theta, theta all logarithms, in the order `theta`:
                          log_lambda.j | log_sigma_cols.i | log_sigma_cols (all columns together)
                          | log_l_rows.i | log_noise
  gradient                GPyTorch autograd: log_sigma_cols, log_l_rows, log_lambda (one by one),
                          log_scale (all lambda_j times a common factor), log_noise, mean

The last points of x_new are a training point and two points far outside the data.

Every number above comes from the library named in `source`.  plain_*() below is a third, plain numpy
computation; the script fails when it and the library differ by more than 1e-10 of the largest entry.
"""

import json
import math
import platform
from importlib.metadata import version
from pathlib import Path

import gpytorch
import numpy as np
import torch
from gpytorch.constraints import Positive
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

TOLERANCE = 1e-10
torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)

# ------------------------------------------------------------------ the plain computation

KAPPA = {
    "rbf": lambda r2: np.exp(-r2 / 2),
    "imq": lambda r2: 1 / np.sqrt(1 + r2),
    "matern12": lambda r2: np.exp(-np.sqrt(r2)),
    "matern32": lambda r2: (1 + np.sqrt(3 * r2)) * np.exp(-np.sqrt(3 * r2)),
    "matern52": lambda r2: (1 + np.sqrt(5 * r2) + 5 * r2 / 3) * np.exp(-np.sqrt(5 * r2)),
    "cosine": lambda r2: np.cos(np.sqrt(r2)),
    "laplace": lambda s: np.exp(-s),
}


def blocks(degrees):
    """The row numbers of each sub-kernel."""
    return np.split(np.arange(sum(degrees)), np.cumsum(degrees)[:-1])


def plain_k(p, a, b):
    w = p["directions"] / p["l_rows"][:, None] / p["sigma_cols"]
    z = (a[:, None, :] - b[None, :, :]) @ w.T
    # Squared distances; for Laplace absolute ones, written so that they have complex steps too.
    parts = np.sqrt(z**2) if p["kernel"] == "laplace" else z**2
    return sum(
        lam * KAPPA[p["kernel"]](parts[:, :, rows].sum(-1))
        for lam, rows in zip(p["lambdas"], blocks(p["degrees"]))
    )


def plain_lml(p):
    """Analytic in all hyperparameters, so that it can be differentiated by a complex step."""
    n = len(p["y"])
    K = plain_k(p, p["x"], p["x"]) + p["noise"] * np.eye(n)
    e = p["y"] - p["c"]
    sign, logabs = np.linalg.slogdet(K)
    logdet = logabs + 1j * np.angle(sign)
    return -0.5 * (e @ np.linalg.solve(K, e) + logdet + n * np.log(2 * np.pi))


def plain_derivative(p, change, h=1e-20):
    """d lml / dt at t = 0 of the model `change(p, t)`."""
    return plain_lml(change(p, 1j * h)).imag / h


def scaled(key, i=slice(None)):
    """The change that multiplies p[key] (or its entry i) by exp(t)."""

    def change(p, t):
        v = np.array(p[key], dtype=complex)
        v[(i if v.ndim else ())] *= np.exp(t)
        return p | {key: v}

    return change


def plain_gradient(p):
    def each(key):
        return [plain_derivative(p, scaled(key, i)) for i in range(len(p[key]))]

    return {
        "log_sigma_cols": each("sigma_cols"),
        "log_l_rows": each("l_rows"),
        "log_lambda": each("lambdas"),
        "log_scale": plain_derivative(p, scaled("lambdas")),
        "log_noise": plain_derivative(p, scaled("noise")),
        "mean": plain_derivative(p, lambda p, t: p | {"c": p["c"] + t}),
    }


def plain_results(p):
    n = len(p["y"])
    Kinv = np.linalg.inv(plain_k(p, p["x"], p["x"]) + p["noise"] * np.eye(n))
    Ks, e = plain_k(p, p["x_new"], p["x"]), p["y"] - p["c"]
    cov = plain_k(p, p["x_new"], p["x_new"]) - Ks @ Kinv @ Ks.T
    return {
        "lml": plain_lml(p).real,
        "mean_new": p["c"] + Ks @ (Kinv @ e),
        "var_new": np.diag(cov),
        "cov_new": cov,
        "loo_mean": p["y"] - (Kinv @ e) / np.diag(Kinv),
        "loo_var": 1 / np.diag(Kinv),
    }


# ------------------------------------------------------------------ scikit-learn


class Columns:
    """A scikit-learn kernel (the next base class) that sees only some columns of its input."""

    def __call__(self, X, Y=None, eval_gradient=False):
        Y = None if Y is None else Y[:, self.columns]
        return super().__call__(X[:, self.columns], Y, eval_gradient)


class ColumnsRBF(Columns, sk.RBF):
    def __init__(self, length_scale=1.0, length_scale_bounds=(1e-5, 1e5), columns=()):
        super().__init__(length_scale, length_scale_bounds)
        self.columns = columns


class ColumnsMatern(Columns, sk.Matern):
    def __init__(self, length_scale=1.0, length_scale_bounds=(1e-5, 1e5), nu=1.5, columns=()):
        super().__init__(length_scale, length_scale_bounds, nu)
        self.columns = columns


def from_sklearn(p, kernel, theta, inputs=lambda x: x, loo=False):
    """`kernel` acts on `inputs(x)`.  The noise is `alpha`, the mean is taken off y by hand."""
    z, z_new, e = inputs(p["x"]), inputs(p["x_new"]), p["y"] - p["c"]

    def fit(z, e):
        gp = GaussianProcessRegressor(kernel, alpha=p["noise"], optimizer=None, normalize_y=False)
        return gp.fit(z, e)

    gp = fit(z, e)
    mean, cov = gp.predict(z_new, return_cov=True)
    _, std = gp.predict(z_new, return_std=True)
    out = {
        "lml": gp.log_marginal_likelihood_value_,
        "mean_new": p["c"] + mean,
        "var_new": std**2,
        "cov_new": cov,
    }
    if loo:
        n = len(e)
        rest = [np.delete(np.arange(n), i) for i in range(n)]
        left = [fit(z[r], e[r]).predict(z[[i]], return_std=True) for i, r in enumerate(rest)]
        out["loo_mean"] = p["c"] + np.array([m[0] for m, _ in left])
        out["loo_var"] = p["noise"] + np.array([s[0] ** 2 for _, s in left])

    # For the gradient the noise is a WhiteKernel and alpha is 0, so that it is part of theta.
    noisy = GaussianProcessRegressor(kernel + sk.WhiteKernel(p["noise"]), alpha=0.0, optimizer=None)
    lml, gradient = noisy.fit(z, e).log_marginal_likelihood(
        noisy.kernel_.theta, eval_gradient=True, clone_kernel=True
    )
    agree("lml with WhiteKernel", lml, out["lml"])
    agree("sklearn_theta_gradient", gradient, [plain_derivative(p, theta_change(t)) for t in theta])
    out["sklearn_theta_gradient"] = {"theta": theta, "value": gradient}
    return out


def theta_change(name):
    """What `log_lambda.2`, `log_sigma_cols`, ... changes in the plain model."""
    key, _, i = name.removeprefix("log_").partition(".")
    key = {"lambda": "lambdas"}.get(key, key)
    return scaled(key, int(i) if i else slice(None))


# ------------------------------------------------------------------ GPyTorch


def from_gpytorch(p, loo=False):
    """A sum of library kernels, each on its own columns of z = P diag(1/sigma_cols) x.

    All positive parameters are held as logarithms, so that the gradients of the raw parameters are
    the gradients wanted.  l_rows is the library's (ARD) length-scale; sigma_cols enters through z.
    """
    log = lambda: Positive(transform=torch.exp, inv_transform=torch.log)  # noqa: E731
    P = torch.tensor(p["directions"])
    log_sigma = torch.tensor(np.log(p["sigma_cols"])).requires_grad_()

    def z(x):
        return (torch.tensor(x) * torch.exp(-log_sigma)) @ P.T

    def sub_kernel(rows):
        name, at = p["kernel"], {"active_dims": tuple(int(r) for r in rows)}
        l = torch.tensor(p["l_rows"][rows])
        if name == "cosine":  # cos(pi r / period), degree 1
            kernel = gpytorch.kernels.CosineKernel(period_length_constraint=log(), **at)
            kernel.period_length = np.pi * l
            return kernel
        at |= {"ard_num_dims": len(rows), "lengthscale_constraint": log()}
        if name == "rbf":
            kernel = gpytorch.kernels.RBFKernel(**at)
        elif name == "imq":  # (1 + r^2 / (2 alpha))^-alpha
            kernel = gpytorch.kernels.RQKernel(alpha_constraint=log(), **at)
            kernel.alpha = 0.5
        else:
            nu = {"matern32": 1.5, "matern52": 2.5}[name]
            kernel = gpytorch.kernels.MaternKernel(nu, **at)
        kernel.lengthscale = l
        return kernel

    class Model(gpytorch.models.ExactGP):
        def __init__(self, z, y, likelihood):
            super().__init__(z, y, likelihood)
            self.mean_module = gpytorch.means.ConstantMean()
            self.mean_module.constant.data.fill_(p["c"])
            parts = []
            for lam, rows in zip(p["lambdas"], blocks(p["degrees"])):
                part = gpytorch.kernels.ScaleKernel(sub_kernel(rows), outputscale_constraint=log())
                part.outputscale = float(lam)
                parts.append(part)
            self.covar_module = gpytorch.kernels.AdditiveKernel(*parts)

        def forward(self, z):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(z), self.covar_module(z))

    def model(x, y, differentiable=False):
        likelihood = gpytorch.likelihoods.GaussianLikelihood(noise_constraint=log())
        likelihood.noise = p["noise"]
        at = z(x) if differentiable else z(x).detach()
        return Model(at, torch.tensor(y), likelihood)

    def lml(m):
        m.train()
        mll = gpytorch.mlls.ExactMarginalLogLikelihood(m.likelihood, m)
        return mll(m(*m.train_inputs), m.train_targets) * len(m.train_targets)

    def predict(m, x):
        m.eval()
        f = m(z(x).detach())
        return f.mean.detach().numpy(), f.covariance_matrix.detach().numpy()

    with (
        gpytorch.settings.fast_computations(False, False, False),
        gpytorch.settings.fast_pred_var(False),
        gpytorch.settings.cholesky_jitter(double_value=0.0),
    ):
        m = model(p["x"], p["y"])
        mean, cov = predict(m, p["x_new"])
        out = {"lml": lml(m).item(), "mean_new": mean, "var_new": np.diag(cov), "cov_new": cov}
        if loo:
            left = []
            for i in range(len(p["y"])):
                rest = np.delete(np.arange(len(p["y"])), i)
                left.append(predict(model(p["x"][rest], p["y"][rest]), p["x"][[i]]))
            out["loo_mean"] = np.array([mean[0] for mean, _ in left])
            out["loo_var"] = p["noise"] + np.array([cov[0, 0] for _, cov in left])

        m = model(p["x"], p["y"], differentiable=True)
        lml(m).backward()

    parts = m.covar_module.kernels
    log_lambda = [k.raw_outputscale.grad.item() for k in parts]
    raw = [k.base_kernel for k in parts]
    raw = [k.raw_period_length if p["kernel"] == "cosine" else k.raw_lengthscale for k in raw]
    gradient = {
        "log_sigma_cols": log_sigma.grad.numpy(),
        "log_l_rows": np.concatenate([r.grad.numpy().ravel() for r in raw]),
        "log_lambda": log_lambda,
        "log_scale": sum(log_lambda),
        "log_noise": m.likelihood.noise_covar.raw_noise.grad.item(),
        "mean": m.mean_module.constant.grad.item(),
    }
    plain = plain_gradient(p)
    for key, value in gradient.items():
        agree(f"gradient {key}", value, plain[key])
    return out | {"gradient": gradient}


# ------------------------------------------------------------------ the cases


def agree(what, a, b):
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape and np.isfinite(a).all(), what
    off = np.max(np.abs(a - b)) / np.max(np.abs(b))
    print(f"    {what:24} {off:.1e}")
    assert off < TOLERANCE, f"{what}: {off:.1e}"


def problem(seed, kernel, n, d, c, noise, lambdas, degrees, directions, l_rows, sigma_cols):
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=(n, d)), 3)
    f = np.sin(2 * x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] + 0.3 * x[:, -1]
    y = np.round(c + f + np.sqrt(noise) * rng.normal(size=n), 4)
    inside = np.round(0.7 * rng.normal(size=(5, d)), 3)
    far = np.round([[6.0], [-25.0]] * (1 + rng.random((2, d))), 3)
    return {
        "kernel": kernel,
        "degrees": degrees,
        "directions": np.asarray(directions, dtype=float),
        "l_rows": np.asarray(l_rows, dtype=float),
        "sigma_cols": np.asarray(sigma_cols, dtype=float),
        "lambdas": np.asarray(lambdas, dtype=float),
        "noise": noise,
        "c": c,
        "x": x,
        "y": y,
        "x_new": np.vstack([inside, x[3:4], far]),
    }


def case(name, source, p, results):
    plain = plain_results(p)
    for key in plain:
        if key in results:
            agree(key, results[key], plain[key])
    return {
        "name": name,
        "source": source,
        "kernel": p["kernel"],
        "degrees": p["degrees"],
        "views": p["directions"] / p["l_rows"][:, None] / p["sigma_cols"],
        "directions": p["directions"],
        "l_rows": p["l_rows"],
        "sigma_cols": p["sigma_cols"],
        "variances": p["lambdas"],
        "noise_variance": p["noise"],
        "mean": p["c"],
        "x": p["x"],
        "y": p["y"],
        "x_new": p["x_new"],
    } | results


def sklearn_cases():
    def one(name, seed, kernel, base, d, sigma, lam, noise, c, loo=False):
        """One kernel of degree d on the columns, as scikit-learn has it."""
        print(name)
        p = problem(seed, kernel, 44, d, c, noise, [lam], [d], np.eye(d), np.ones(d), sigma * np.ones(d))
        columns = [f"log_sigma_cols.{i}" for i in range(d)] if np.ndim(sigma) else ["log_sigma_cols"]
        theta = ["log_lambda.0", *columns, "log_noise"]
        results = from_sklearn(p, sk.ConstantKernel(lam) * base, theta, loo=loo)
        return case(name, "scikit-learn", p, results)

    def added(name, p, subs, scale, inputs):
        """A sum of kernels; scikit-learn selects no columns, so Columns does, on `inputs(x)`."""
        print(name)
        parts = [sk.ConstantKernel(lam) * s for lam, s in zip(p["lambdas"], subs)]
        theta = []
        for j, rows in enumerate(blocks(p["degrees"])):
            theta += [f"log_lambda.{j}", *(f"{scale}.{i}" for i in rows)]
        results = from_sklearn(p, sum(parts[1:], parts[0]), theta + ["log_noise"], inputs, loo=True)
        return case(name, "scikit-learn", p, results)

    s4, s3 = np.array([0.9, 1.6, 2.3, 4.1]), np.array([1.1, 2.7, 1.9])
    yield one("rbf-ard", 1, "rbf", sk.RBF(s4), 4, s4, 1.7, 0.05, 0.0, loo=True)
    rq = sk.RationalQuadratic(1.4, alpha=0.5, alpha_bounds="fixed")  # 1 / sqrt(1 + r^2 / l^2)
    yield one("imq-isotropic", 2, "imq", rq, 5, 1.4, 2.2, 0.03, 0.6)
    yield one("matern12-ard", 3, "matern12", sk.Matern(s3, nu=0.5), 3, s3, 1.3, 0.08, -0.4)
    yield one("matern32-ard", 4, "matern32", sk.Matern(s4, nu=1.5), 4, s4, 0.8, 0.02, 2.5)
    yield one("matern52-ard", 5, "matern52", sk.Matern(s3, nu=2.5), 3, s3, 3.1, 0.01, 0.1)

    # Laplace: a product of Matern 1/2 along the columns.
    each = [ColumnsMatern(s, nu=0.5, columns=[i]) for i, s in enumerate(s4)]
    product = math.prod(each[1:], start=each[0])
    yield one("laplace-ard", 8, "laplace", product, 4, s4, 1.4, 0.06, 0.3, loo=True)

    # A GAM: one RBF per column.
    sigma, lambdas = [0.7, 1.2, 2.0, 3.0, 1.5], [0.9, 0.4, 0.6, 0.2, 0.3]
    p = problem(6, "rbf", 48, 5, 1.2, 0.06, lambdas, [1] * 5, np.eye(5), np.ones(5), sigma)
    subs = [ColumnsRBF(s, columns=[i]) for i, s in enumerate(sigma)]
    yield added("gam-rbf", p, subs, "log_sigma_cols", lambda x: x)

    # Matern 1/2 on Gaussian directions: the Columns of x P^T.
    rng, degrees = np.random.default_rng(70), [1, 1, 2, 3]
    P = np.concatenate([rng.normal(size=(D, 4)) / np.sqrt(D) for D in degrees])
    l, lambdas = [0.8, 1.5, 2.1, 1.2, 3.0, 1.7, 0.9], [0.5, 0.3, 0.7, 0.4]
    p = problem(7, "matern12", 42, 4, -1.1, 0.07, lambdas, degrees, P, l, np.ones(4))
    subs = [ColumnsMatern(p["l_rows"][rows], nu=0.5, columns=rows.tolist()) for rows in blocks(degrees)]
    yield added("rpa-matern12", p, subs, "log_l_rows", lambda x: x @ P.T)


def gpytorch_cases():
    def dpa(name, seed, kernel, J, sigma, scale, noise, c, l=1.0, loo=False):
        """J unit directions after a pre-scaling of the columns, lambda_j = scale / J."""
        print(name)
        d = len(sigma)
        P = np.random.default_rng(10 * seed).normal(size=(J, d))
        P /= np.linalg.norm(P, axis=1, keepdims=True)
        p = problem(seed, kernel, 46, d, c, noise, np.full(J, scale / J), [1] * J, P, l * np.ones(J), sigma)
        return case(name, "gpytorch", p, from_gpytorch(p, loo))

    def rpa2(name, seed, kernel, noise, c):
        """Degrees 1, 1, 2, 2, 3, 3: Gaussian directions of variance 1/D_j, own l and lambda_j."""
        print(name)
        rng, degrees, d = np.random.default_rng(10 * seed), [1, 1, 2, 2, 3, 3], 6
        P = np.concatenate([rng.normal(size=(D, d)) / np.sqrt(D) for D in degrees])
        l, lambdas = rng.uniform(0.7, 3.0, size=12), rng.uniform(0.1, 0.8, size=6)
        p = problem(seed, kernel, 50, d, c, noise, lambdas, degrees, P, l, rng.uniform(0.6, 1.8, size=d))
        return case(name, "gpytorch", p, from_gpytorch(p))

    s5 = np.array([0.6, 1.3, 0.9, 2.4, 1.7])
    yield dpa("dpa-ard-rbf", 11, "rbf", 8, s5, 1.9, 0.04, 0.7, loo=True)
    yield dpa("dpa-ard-matern52", 12, "matern52", 8, s5, 1.1, 0.02, -3.0)
    yield rpa2("rpa2-imq", 13, "imq", 0.05, 0.9)
    yield rpa2("rpa2-matern32", 14, "matern32", 0.1, -0.5)
    yield dpa("cosine", 15, "cosine", 6, s5[:4], 2.0, 0.09, 1.5, l=np.array([0.5, 0.8, 1.1, 1.4, 2.0, 3.0]))


def plain_types(v):
    if isinstance(v, dict):
        return {k: plain_types(w) for k, w in v.items()}
    return np.asarray(v).tolist() if isinstance(v, (list, np.ndarray, np.generic)) else v


def main():
    packages = ["numpy", "scipy", "scikit-learn", "torch", "gpytorch", "linear_operator"]
    made_with = {"python": platform.python_version()} | {k: version(k) for k in packages}
    cases = [plain_types(c) for c in [*sklearn_cases(), *gpytorch_cases()]]
    # One line per key; json writes floats with repr.
    lines = [",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in c.items()) for c in cases]
    text = '{"made_with": %s,\n"cases": [\n{\n%s\n}\n]}\n' % (json.dumps(made_with), "\n},\n{\n".join(lines))
    json.loads(text)
    Path(__file__).with_name("reference.json").write_text(text)


if __name__ == "__main__":
    main()
