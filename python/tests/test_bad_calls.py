"""Methods called with arguments that they refuse, on other rows, or before the fit."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from cases import (
    FRAME,
    NAME,
    ONES,
    TWO,
    X,
    Y,
    check_error,
    failing,
    fitted,
    gp,
    put,
    renamed,
)
from sklearn.exceptions import NotFittedError

_RANGE = ", but must be a number between 0 and 1."
_COVARIANCE = "return_cov goes neither with return_std nor with interval or quantiles."
_OTHER_ROWS = "these are not the rows that the model was fitted on"
_OTHER_TARGETS = re.compile(r"\Ay has .*, but the y of the fit had")

ARGUMENTS = [
    *(
        failing(
            f"interval={level}",
            ValueError,
            f"interval is {level!r}{_RANGE}",
            lambda level=level: fitted().predict(X, interval=level),
        )
        for level in (0, 1, 2, -0.5, np.nan, np.inf, "a", [0.5], (0.1, 0.9))
    ),
    failing(
        "std-and-covariance",
        ValueError,
        _COVARIANCE,
        lambda: fitted().predict(X, return_std=True, return_cov=True),
    ),
    failing(
        "interval-and-covariance",
        ValueError,
        _COVARIANCE,
        lambda: fitted().predict(X, interval=0.5, return_cov=True),
    ),
    *(
        failing(
            f"n_samples={count}",
            ValueError,
            f"n_samples is {count!r}, but must be a number from 1.",
            lambda count=count: fitted().sample_y(X, count),
        )
        for count in (0, -1, 1.5, "a", None, 2**70)
    ),
    *(
        failing(
            f"sample_y-random_state={seed}",
            ValueError,
            f"random_state is {seed}, but must be from 0 to 2**64 - 1.",
            lambda seed=seed: fitted().sample_y(X, random_state=seed),
        )
        for seed in (-1, 2**65)
    ),
    failing(
        "sample_y-random_state-text",
        ValueError,
        "'a' cannot be used to seed",
        lambda: fitted().sample_y(X, random_state="a"),
    ),
    *(
        failing(
            f"partial_fit-{name}",
            ValueError,
            _OTHER_TARGETS,
            lambda kind=kind, y=y: fitted(kind).partial_fit(X, y),
        )
        for name, kind, y in (
            ("second-dimension", "plain", Y[:, None]),
            ("two-targets-for-one", "plain", TWO),
            ("one-target-for-two", "two", Y),
            ("three-targets-for-two", "two", np.c_[TWO, Y]),
        )
    ),
    failing(
        "partial_fit-no-rows",
        ValueError,
        "Found array with 0 sample(s) (shape=(0, 3)) while a minimum of 1 is required",
        lambda: fitted().partial_fit(X[:0], Y[:0]),
    ),
    failing(
        "partial_fit-too-few-columns",
        ValueError,
        "X has 2 features",
        lambda: fitted().partial_fit(X[:, :2], Y),
    ),
    failing(
        "partial_fit-first-with-one-row",
        ValueError,
        "Found array with 1 sample(s) (shape=(1, 3)) while a minimum of 2 is required",
        lambda: gp().partial_fit(X[:1], Y[:1]),
    ),
    failing(
        "partial_fit-ski",
        ValueError,
        "a model of the ski engine does not keep its rows; fit it again on all of them",
        lambda: fitted("ski").partial_fit(X[:2], Y[:2]),
    ),
    failing(
        "partial_fit-beyond-the-features",
        ValueError,
        "the new rows lie where the model's features do not reach",
        lambda: fitted("weight").partial_fit(X[:1] + 1e300, Y[:1]),
    ),
    failing(
        "loo-other-rows",
        ValueError,
        f"{_OTHER_ROWS} (row 5 differs)",
        lambda: fitted().loo(put(X, (5, 0), 9.0), Y),
    ),
    failing(
        "loo-other-order",
        ValueError,
        f"{_OTHER_ROWS} (row 0 differs)",
        lambda: fitted().loo(X[::-1], Y[::-1]),
    ),
    *(
        failing(
            f"loo-{name}-{kind}",
            ValueError,
            _OTHER_ROWS,
            lambda kind=kind, x=x, y=y: fitted(kind).loo(x, y),
        )
        for kind in ("plain", "weight", "ski")
        for name, x, y in (
            ("fewer-rows", X[:10], Y[:10]),
            ("more-rows", np.r_[X, X], np.r_[Y, Y]),
            ("moved-rows", X + 1, Y),
        )
    ),
    *(
        failing(
            f"loo-other-target-{kind}",
            ValueError,
            _OTHER_ROWS,
            lambda kind=kind: fitted(kind).loo(X, Y + 5),
        )
        for kind in ("plain", "weight", "ski")
    ),
    *(
        failing(
            f"loo-other-weights-{kind}",
            ValueError,
            _OTHER_ROWS,
            lambda kind=kind: fitted(kind).loo(X, Y, 2 * ONES),
        )
        for kind in ("plain", "weight")
    ),
    failing(
        "loo-second-dimension",
        ValueError,
        _OTHER_TARGETS,
        lambda: fitted().loo(X, Y[:, None]),
    ),
]

UNFITTED = [
    failing(
        name,
        NotFittedError,
        f"This {NAME} instance is not fitted yet.",
        lambda name=name, arguments=arguments: getattr(gp(), name)(*arguments),
    )
    for name, arguments in (
        ("predict", (X,)),
        ("score", (X, Y)),
        ("sample_y", (X,)),
        ("components", (X,)),
        ("transform", (X,)),
        ("get_feature_names_out", ()),
        ("gradient", (X,)),
        ("loo", (X, Y)),
        ("log_marginal_likelihood", ()),
        ("save", ("never.raysum",)),
    )
]


@pytest.mark.parametrize(("call", "kind", "text"), [*ARGUMENTS, *UNFITTED])
def test_error(call: Any, kind: type[Exception], text: str | re.Pattern[str]) -> None:
    check_error(call, kind, text)


@pytest.mark.parametrize(
    "fail",
    [
        pytest.param(lambda e: e.fit(FRAME[["a", "b"]], put(Y, 0, np.nan)), id="nan"),
        pytest.param(lambda e: e.fit(renamed("u", "v", "w"), Y, sample_weight=-ONES), id="weights"),
        pytest.param(lambda e: e.fit(X[:, :1], Y, noise_std=-1.0), id="noise"),
        pytest.param(lambda e: e.fit(X[:, :1], TWO, noise_std=1.0), id="two-targets"),
        pytest.param(lambda e: e.set_params(degrees="0x1").fit(X[:, :1], Y), id="parameter"),
        pytest.param(lambda e: e.partial_fit(FRAME, put(Y, 0, np.inf)), id="partial_fit"),
        pytest.param(lambda e: e.partial_fit(FRAME, TWO), id="partial_fit-two-targets"),
    ],
)
def test_a_failed_fit_leaves_the_estimator_as_it_was(fail: Any) -> None:
    estimator = fitted("frame")
    expected = estimator.predict(FRAME, return_std=True)
    with pytest.raises(ValueError):
        fail(estimator)
    assert estimator.n_features_in_ == 3
    assert list(estimator.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(estimator.predict(FRAME, return_std=True), expected)
