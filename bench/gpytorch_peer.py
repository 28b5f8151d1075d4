"""The peer's side: DPA-GP-ARD in GPyTorch, fitted by the paper's recipe."""
import math
import time
import warnings

warnings.filterwarnings("ignore")

import gpytorch
import torch

PROJECTIONS = 20
ITERATIONS, RATE, WINDOW, TOLERANCE = 1000, 0.1, 20, 1e-4


def diverse_directions(count, columns, seed=0):
    """Unit rows: orthonormal up to d of them, else with the least sum of (eta·eta')^4."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(count, columns, generator=generator, dtype=torch.float64)
    if count <= columns:
        return torch.linalg.qr(rows.T)[0].T.contiguous()
    rows.requires_grad_()
    search = torch.optim.LBFGS([rows], max_iter=2000, tolerance_change=1e-12, line_search_fn="strong_wolfe")

    def loss():
        search.zero_grad()
        unit = torch.nn.functional.normalize(rows, dim=1)
        value = (unit @ unit.T).pow(4).sum()
        value.backward()
        return value

    search.step(loss)
    return torch.nn.functional.normalize(rows.detach(), dim=1)


class Projected(gpytorch.kernels.Kernel):
    """The mean of J one-dimensional RBF kernels of the projected columns; ARD before projecting."""

    has_lengthscale = True

    def __init__(self, directions):
        super().__init__(ard_num_dims=directions.shape[1])
        self.register_buffer("directions", directions)

    def project(self, x):
        return (x / self.lengthscale) @ self.directions.T


class Stock(Projected):
    """Written with GPyTorch's own kernels, as the library suggests."""

    def __init__(self, directions):
        super().__init__(directions)
        parts = [gpytorch.kernels.RBFKernel(active_dims=[j]) for j in range(len(directions))]
        for part in parts:
            part.lengthscale = 1.0
            part.raw_lengthscale.requires_grad_(False)
        self.sum = gpytorch.kernels.AdditiveKernel(*parts)

    def forward(self, a, b, diag=False, **_):
        k = self.sum(self.project(a), self.project(b), diag=diag)
        return (k if diag else k.to_dense()) / len(self.directions)


class Loop(Projected):
    """The fastest way found to write it: plain tensor operations, one n×n matrix at a time."""

    def forward(self, a, b, diag=False, **_):
        if diag:
            return torch.ones(a.shape[:-1], dtype=a.dtype)
        a, b = self.project(a), self.project(b)
        parts = (torch.exp(-0.5 * (a[:, j, None] - b[None, :, j]) ** 2) for j in range(a.shape[1]))
        return sum(parts) / len(self.directions)


KERNELS = {"stock": Stock, "loop": Loop}


class Regression(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood, kernel):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(kernel)

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def build(x, y, directions, kernel):
    prior = gpytorch.priors.SmoothedBoxPrior(1e-4, 10.0, sigma=0.01)
    likelihood = gpytorch.likelihoods.GaussianLikelihood(noise_prior=prior)
    return Regression(x, y, likelihood, KERNELS[kernel](directions)).to(x)


def maximise(model, x, y, iterations):
    """Adam with the paper's stopping rule; returns seconds and loss of each iteration."""
    model.train()
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    adam = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=RATE)
    losses, seconds = [], []
    for _ in range(iterations):
        start = time.perf_counter()
        adam.zero_grad()
        loss = -mll(model(x), y)
        loss.backward()
        adam.step()
        losses.append(loss.item())
        seconds.append(time.perf_counter() - start)
        before, now = losses[-2 * WINDOW : -WINDOW], losses[-WINDOW:]
        if len(before) == WINDOW and (sum(before) - sum(now)) / WINDOW < TOLERANCE:
            break
    return seconds, losses


def log_marginal_likelihood(model, x, y):
    """Without the noise prior, in double precision and by Cholesky: comparable across programs."""
    model = model.double().train()
    x, y = x.double(), y.double()
    model.set_train_data(x, y, strict=False)
    with torch.no_grad(), gpytorch.settings.fast_computations(False, False, False):
        return model.likelihood(model(x)).log_prob(y).item()


def measure(fold, kernel, cholesky, iterations, threads):
    """Fits one fold (standardised arrays); float32, which is GPyTorch's and the paper's default."""
    torch.set_num_threads(threads)
    x, y, x_new, y_new = (torch.tensor(a, dtype=torch.float32) for a in fold)
    directions = diverse_directions(PROJECTIONS, x.shape[1])
    with gpytorch.settings.fast_computations(*[not cholesky] * 3):
        maximise(build(x, y, directions, kernel), x, y, 2)  # warms up allocator and threads
        start = time.perf_counter()
        model = build(x, y, directions, kernel)
        each, losses = maximise(model, x, y, iterations)
        fit_seconds = time.perf_counter() - start
        model.eval()
        start = time.perf_counter()
        with torch.no_grad():
            new = model.likelihood(model(x_new))
            mean, variance = new.mean.double(), new.variance.double()
        predict_seconds = time.perf_counter() - start
    # The same at every iteration: noise stays inside the box.
    log_prior = model.likelihood.noise_covar.noise_prior.log_prob(model.likelihood.noise).item()
    error = (mean - y_new.double()).square()
    each = torch.tensor(each, dtype=torch.float64)
    return {
        "fit_seconds": fit_seconds,
        "predict_seconds": predict_seconds,
        "evaluations": len(each),
        "hit_limit": len(each) == iterations,
        "iteration_seconds_median": each.median().item(),
        "iteration_seconds_least": each.min().item(),
        "rmse": error.mean().sqrt().item(),
        "nlpd": (0.5 * (2 * math.pi * variance).log() + 0.5 * error / variance).mean().item(),
        "log_marginal_likelihood": log_marginal_likelihood(model, x, y),
        "likelihood_every_10": [round(-loss * len(y) - log_prior, 2) for loss in losses[::10]],
    }


def versions():
    return {"gpytorch": gpytorch.__version__, "torch": torch.__version__}
