"""Sample weights and known noise that cannot be used."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from cases import (
    ONES,
    ROWS,
    TWO,
    X,
    Y,
    check_error,
    failing,
    fit,
    fitted,
    put,
)

_TEXT = "could not convert string to float: "

WEIGHTS = [
    failing(
        "weight-negative",
        ValueError,
        "Negative values in data passed to `sample_weight`",
        lambda: fit(sample_weight=put(ONES, 3, -1)),
    ),
    failing(
        "weight-nan",
        ValueError,
        "Input sample_weight contains NaN",
        lambda: fit(sample_weight=put(ONES, 3, np.nan)),
    ),
    failing(
        "weight-infinity",
        ValueError,
        "Input sample_weight contains infinity",
        lambda: fit(sample_weight=put(ONES, 3, np.inf)),
    ),
    failing(
        "weight-too-short",
        ValueError,
        "sample_weight.shape == (29,), expected (30,)!",
        lambda: fit(sample_weight=ONES[1:]),
    ),
    failing(
        "weight-2d",
        ValueError,
        "Sample weights must be 1D array or scalar",
        lambda: fit(sample_weight=ONES[:, None]),
    ),
    failing(
        "weight-all-zero",
        ValueError,
        "Sample weights must contain at least one non-zero number.",
        lambda: fit(sample_weight=0 * ONES),
    ),
    failing(
        "weight-one-positive",
        ValueError,
        "Found 1 sample(s) with a weight above 0 while a minimum of 2 is required.",
        lambda: fit(sample_weight=put(0 * ONES, 3, 1)),
    ),
    failing("weight-text", ValueError, _TEXT, lambda: fit(sample_weight=["u"] * ROWS)),
    failing(
        "weight-sparse",
        TypeError,
        "Sparse data was passed for sample_weight",
        lambda: fit(sample_weight=scipy.sparse.csr_array(ONES[None, :])),
    ),
    failing(
        "partial_fit-weight-zero",
        ValueError,
        "Sample weights must contain at least one non-zero number.",
        lambda: fitted().partial_fit(X[:2], Y[:2], sample_weight=[0.0, 0.0]),
    ),
    failing(
        "weight-scalar-nan",
        ValueError,
        "Input sample_weight contains NaN",
        lambda: fit(sample_weight=np.nan),
    ),
]

NOISE = [
    failing(
        "noise-negative",
        ValueError,
        "the noise std of row 2 is -0.1, but must be finite and at least 0",
        lambda: fit(noise_std=put(ONES, 2, -0.1)),
    ),
    failing(
        "noise-scalar-negative",
        ValueError,
        "the noise std of row 0 is -0.1",
        lambda: fit(noise_std=-0.1),
    ),
    failing(
        "noise-nan",
        ValueError,
        "Input noise_std contains NaN",
        lambda: fit(noise_std=put(ONES, 2, np.nan)),
    ),
    failing(
        "noise-too-short",
        ValueError,
        "noise_std has shape (29,), expected (30,)!",
        lambda: fit(noise_std=ONES[1:]),
    ),
    failing(
        "noise-2d",
        ValueError,
        "noise_std has shape (30, 1), expected (30,)!",
        lambda: fit(noise_std=ONES[:, None]),
    ),
    failing(
        "noise-two-targets",
        ValueError,
        "the noise of rows belongs to one target: fit several targets one by one",
        lambda: fit(y=TWO, noise_std=0.1),
    ),
    failing(
        "predict-noise-negative",
        ValueError,
        "noise_std is -0.1 at row 2, but must be 0 or more.",
        lambda: fitted().predict(X, return_std=True, noise_std=put(ONES, 2, -0.1)),
    ),
    failing(
        "predict-noise-too-short",
        ValueError,
        "noise_std has shape (29,), expected (30,)!",
        lambda: fitted().predict(X, noise_std=ONES[1:]),
    ),
    failing(
        "predict-noise-nan",
        ValueError,
        "Input noise_std contains NaN",
        lambda: fitted().predict(X, return_cov=True, noise_std=np.nan),
    ),
]


@pytest.mark.parametrize(("call", "kind", "text"), [*WEIGHTS, *NOISE])
def test_error(call: Any, kind: type[Exception], text: str | re.Pattern[str]) -> None:
    check_error(call, kind, text)
