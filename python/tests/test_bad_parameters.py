"""Parameters of the estimator that are refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from cases import (
    NAME,
    X,
    Y,
    check_error,
    failing,
    gp,
)
from sklearn.utils._param_validation import InvalidParameterError


def parameter(name: str, value: Any) -> Any:
    """A value that scikit-learn's check refuses."""
    got = re.escape(f"Got {value!r} instead.")
    text = re.compile(rf"\AThe '{name}' parameter of {NAME} must be .* {got}\Z", re.DOTALL)
    return refused(f"{name}={value!r}", InvalidParameterError, text, **{name: value})


def refused(
    case: str, kind: type[Exception], text: str | re.Pattern[str], **parameters: Any
) -> Any:
    return failing(case, kind, text, lambda: gp(**parameters).fit(X, Y))


_DEGREES_TEXT = "does not describe degrees; write for example 20x1, dx1, 1xd or 4x1,4x2,4x3"
_DEGREES_LIST = "but must be a text like '4x1,4x2' or a list with the degree of each sub-kernel"
_BOUNDS = "noise_bounds must be two numbers, low and high."
_LOW = ", but must be above 0"
_HIGH = ", but must be finite and above the lower one"
_ALONG_AXES = "along the axes every column has a length-scale of its own, with or without ard"
_TWO_SCALES = "learned directions have lengths of their own in every column"

PARAMETERS = [
    *(parameter("model", value) for value in ("nope", "", None, 3, ["gam"])),
    *(parameter("n_projections", value) for value in (0, -1, 2.5, "x", [2])),
    *(parameter("degrees", value) for value in (3, 1.5)),
    *(
        refused(f"degrees={text!r}", ValueError, f"'{text}' {_DEGREES_TEXT}", degrees=text)
        for text in ("0x1", "", "x", "1x0", "1x-1", "1x1.5", "1x1,,", "9999999999x1")
    ),
    *(
        refused(
            f"degrees={given}", ValueError, f"degrees is {given}, {_DEGREES_LIST}", degrees=given
        )
        for given in ([], [0], [-1], [1.5], ["a"], [[1]])
    ),
    refused(
        "n_projections-and-degrees",
        ValueError,
        "n_projections and degrees say the same in two ways; give at most one of them.",
        n_projections=2,
        degrees="2x1",
    ),
    refused(
        "more-axes-than-columns",
        ValueError,
        "the degrees ask for 5 axes, but there are 3 columns",
        directions="axes",
        n_projections=5,
    ),
    *(parameter("kernel", value) for value in ("nope", "RBF", 1)),
    *(parameter("directions", value) for value in ("nope", 1)),
    *(parameter("ard", value) for value in ("yes", 1)),
    parameter("learn_weights", "yes"),
    parameter("learn_directions", "yes"),
    refused("learn_directions-ard", ValueError, _TWO_SCALES, learn_directions=True, ard=True),
    refused("ppr-ard", ValueError, _TWO_SCALES, model="ppr", ard=True),
    *(
        refused(f"{model}-without-ard", ValueError, _ALONG_AXES, model=model, ard=False)
        for model in ("rbf-ard", "imq-ard", "gam")
    ),
    refused("axes-without-ard", ValueError, _ALONG_AXES, model="dpa", directions="axes", ard=False),
    *(parameter("engine", value) for value in ("nope", 1)),
    refused(
        "weight-engine-rough-kernel",
        ValueError,
        "the model's functions are too rough for the weight engine",
        engine="weight",
        kernel="matern12",
    ),
    refused(
        "weight-engine-rough-term",
        ValueError,
        "the functions of term 2 of the sum, matern12, are too rough for the weight engine",
        engine="weight",
        model="linear+gam:matern12",
    ),
    *(parameter("ski", value) for value in ("x", [])),
    refused(
        "ski-unknown-option",
        ValueError,
        "unknown ski option 'foo'; known are: grid, probes, cg_tolerance, cg_iterations",
        engine="ski",
        ski={"foo": 1},
    ),
    refused(
        "ski-without-the-engine",
        ValueError,
        "ski holds settings of the ski engine; give engine='ski' too.",
        ski={"grid": 50},
    ),
    *(
        refused(
            f"ski-{name}={value}",
            InvalidParameterError,
            f"The '{name}' parameter of ski must be ",
            engine="ski",
            ski={name: value},
        )
        for name, value in (
            ("grid", 2),
            ("grid", "a"),
            ("grid", 10**30),
            ("probes", 0),
            ("probes", 10**12),
            ("cg_tolerance", 0.0),
            ("cg_tolerance", -1.0),
            ("cg_tolerance", 2.0),
            ("cg_tolerance", np.nan),
            ("cg_iterations", 0),
            ("exact_variance", "yes"),
        )
    ),
    refused(
        "ski-option-not-a-text",
        ValueError,
        "unknown ski option 2; known are: grid",
        engine="ski",
        ski={2: 3},
    ),
    refused(
        "n_projections-too-many",
        ValueError,
        "100000 projections of 3 columns are more than can be handled",
        n_projections=10**5,
    ),
    refused("n_projections-bool", ValueError, "n_projections is True", n_projections=True),
    refused("degrees-bool", ValueError, "degrees is [True], but must be", degrees=[True]),
    refused("degrees-text-too-many", ValueError, "65536 projections", degrees="65536x1"),
    refused(
        "ski-too-few-iterations",
        ValueError,
        "conjugate gradients did not converge: after 1 iterations",
        engine="ski",
        ski={"cg_iterations": 1},
    ),
    *(parameter("optimizer", value) for value in ("sgd", None)),
    *(parameter("max_evaluations", value) for value in (0, -1, 2.5, "a")),
    *(parameter("n_restarts", value) for value in (-1, 1.5, "a", None, 1001)),
    *(parameter("subset", value) for value in (1, 0, 2.5, "a")),
    *(parameter("noise_bounds", value) for value in ("x", 1.0)),
    *(
        refused(f"noise_bounds={given}", ValueError, _BOUNDS, noise_bounds=given)
        for given in ((1,), (1, 2, 3), ("a", "b"), (None, 1), (1j, 2))
    ),
    refused("noise_bounds-0", ValueError, f"the lower noise bound is 0{_LOW}", noise_bounds=(0, 1)),
    refused("noise_bounds-below", ValueError, "the lower noise bound is -1", noise_bounds=(-1, 1)),
    refused("noise_bounds-nan", ValueError, "the lower noise", noise_bounds=(np.nan, 1)),
    refused(
        "noise_bounds-swapped",
        ValueError,
        f"the upper noise bound is 0{_HIGH}",
        noise_bounds=(1, 0),
    ),
    refused(
        "noise_bounds-infinite",
        ValueError,
        f"the upper noise bound is inf{_HIGH}",
        noise_bounds=(1e-4, np.inf),
    ),
    *(parameter("missing", value) for value in ("guess", None, True)),
    *(parameter("categories", value) for value in (0, 1, 1001, 2.5, "many", None)),
    *(parameter("random_state", value) for value in (-1, "a", 2**65, 1.5)),
    *(parameter("n_jobs", value) for value in ("a", 1.5)),
    refused("n_jobs=0", ValueError, "n_jobs == 0", n_jobs=0),
    *(parameter("verbose", value) for value in ("a", -1, None)),
    failing("unknown-parameter", TypeError, f"{NAME}.__init__() got an", lambda: gp(foo=1)),
    failing("set-unknown", ValueError, "Invalid parameter 'foo'", lambda: gp().set_params(foo=1)),
]


@pytest.mark.parametrize(("call", "kind", "text"), PARAMETERS)
def test_error(call: Any, kind: type[Exception], text: str | re.Pattern[str]) -> None:
    check_error(call, kind, text)
