"""What the tables of bad and odd input are made of."""

from __future__ import annotations

import copy
import functools
import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from raysum import ProjectedAdditiveGPRegressor

ROWS = 30
NAME = "ProjectedAdditiveGPRegressor"

RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROWS, 3))
Y = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=ROWS)
TWO = np.column_stack([Y, X[:, 1]])
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
POLARS = pl.DataFrame(X, schema=["a", "b", "c"])
ONES = np.ones(ROWS)

X.setflags(write=False)
Y.setflags(write=False)
TWO.setflags(write=False)


def plain(model: str = "dpa-ard", **parameters: Any) -> ProjectedAdditiveGPRegressor:
    """An estimator that is fitted once: calibrated intervals have tests of their own."""
    return ProjectedAdditiveGPRegressor(model, **{"intervals": "gaussian", **parameters})


gp = plain


def fit(x: Any = X, y: Any = Y, **arguments: Any) -> ProjectedAdditiveGPRegressor:
    return gp().fit(x, y, **arguments)


@functools.cache
def _fitted(kind: str) -> ProjectedAdditiveGPRegressor:
    if kind == "frame":
        return fit(FRAME)
    if kind == "two":
        return fit(y=TWO)
    if kind in ("weight", "ski"):
        return gp(engine=kind, n_projections=3).fit(X, Y)
    return fit()


def fitted(kind: str = "plain") -> ProjectedAdditiveGPRegressor:
    """A fitted estimator of one's own: one target, "two" targets, names ("frame"), an engine."""
    return copy.deepcopy(_fitted(kind))


def put(values: Any, place: Any, value: Any) -> Any:
    """A copy with another value at one place, or several."""
    changed = np.array(values)
    changed[place] = value
    return changed


def failing(name: str, kind: type[Exception], text: str | re.Pattern[str], call: Any) -> Any:
    """A case that raises exactly this class, with a message that starts with the text."""
    return pytest.param(call, kind, text, id=name)


def check_error(call: Any, kind: type[Exception], text: str | re.Pattern[str]) -> None:
    with pytest.raises(kind) as raised:
        call()
    assert type(raised.value) is kind
    message = str(raised.value)
    if isinstance(text, str):
        assert message.startswith(text)
    else:
        assert text.search(message), message


def check_predictions(model: ProjectedAdditiveGPRegressor, x: Any, several: int = 0) -> None:
    """Predictions are finite and of the right shape, and their standard deviations positive."""
    shape = (len(x), several) if several else (len(x),)
    mean, std, lower, upper = model.predict(x, return_std=True, interval=0.9)
    for part in (mean, std, lower, upper):
        assert part.shape == shape
        assert np.isfinite(part).all()
    assert (std > 0).all()
    assert (lower <= mean).all() and (mean <= upper).all()
    np.testing.assert_array_equal(model.predict(x), mean)
    assert (np.array(model.noise_std_) > 0).all()
    answers = [
        model.sample_y(x, 2),
        model.gradient(x),
        model.components(x),
        model.log_marginal_likelihood(),
        np.array(list(model.relevance_.values())),
    ]
    for answer in answers:
        assert np.isfinite(answer).all()


def check_sound(model: ProjectedAdditiveGPRegressor, x: Any, several: int = 0) -> None:
    """Whatever is asked of the model is finite and of the right shape."""
    check_predictions(model, x, several)
    _, std = model.components(x, return_std=True)
    assert np.isfinite(std).all() and (std >= 0).all()
    _, covariance = model.predict(x, return_cov=True)
    assert covariance.shape == (len(x), len(x), several)[: 3 if several else 2]
    assert np.isfinite(covariance).all()


def renamed(*names: Any) -> pd.DataFrame:
    frame = FRAME.copy()
    frame.columns = pd.Index(names, dtype=object)
    return frame
