"""The peer's side of the paper's scaling task.

    pip install torch gpytorch
    python gpytorch_scaling.py ski 16000 5        # kind (ski | cholesky), rows, Adam iterations
    python gpytorch_scaling.py ski 1000000 2 cuda
"""
import contextlib
import json
import math
import sys
import time
import warnings

import gpytorch
import torch

warnings.filterwarnings("ignore")


def rows(n, d=100, seed=0):
    g = torch.Generator().manual_seed(seed)
    X = torch.randn(n, d, generator=g)
    y = torch.sin(X).sum(1) + 0.01 * torch.randn(n, generator=g)
    return X, (y - y.mean()) / y.std()


class Projected(gpytorch.kernels.Kernel):
    def __init__(self, P, base):
        super().__init__()
        self.register_buffer("P", P)
        self.base = base

    def forward(self, x1, x2, **kw):
        return self.base(x1 @ self.P.t(), x2 @ self.P.t(), **kw)


class GP(gpytorch.models.ExactGP):
    def __init__(self, X, y, likelihood, kernel):
        super().__init__(X, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = kernel

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def ski(X, J=20, grid=512):
    P = torch.randn(J, X.shape[1]).to(X)
    parts = []
    for z in (X @ P.t()).T:
        k = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
        k.outputscale, k.base_kernel.lengthscale = 1 / J, math.sqrt(X.shape[1])
        bounds = [(z.min().item() - 0.1, z.max().item() + 0.1)]
        parts.append(gpytorch.kernels.GridInterpolationKernel(
            k, grid_size=grid, grid_bounds=bounds, num_dims=1, active_dims=[len(parts)]))
    return Projected(P, gpytorch.kernels.AdditiveKernel(*parts))


def main(kind, n, iterations, device="cpu"):
    torch.manual_seed(1)
    X, y = (t.to(device) for t in rows(int(n)))
    kernel = ski(X) if kind == "ski" else gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
    model = GP(X, y, gpytorch.likelihoods.GaussianLikelihood(), kernel).to(device).train()
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    adam = torch.optim.Adam(model.parameters(), lr=0.1)
    exact = gpytorch.settings.fast_computations(False, False, False) if kind == "cholesky" else contextlib.nullcontext()
    start = time.time()
    with exact, gpytorch.settings.max_cg_iterations(10000), gpytorch.settings.cg_tolerance(0.05):
        for _ in range(int(iterations)):
            adam.zero_grad()
            loss = -mll(model(X), y)
            loss.backward()
            adam.step()
    if device != "cpu":
        torch.cuda.synchronize()
    seconds = (time.time() - start) / int(iterations)
    print(json.dumps(dict(kind=kind, n=int(n), device=device, seconds_per_iteration=seconds, loss=loss.item())))


if __name__ == "__main__":
    main(*sys.argv[1:])
