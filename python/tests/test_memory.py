"""What does not fit in memory is a MemoryError, before anything is allocated."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from cases import X, Y, fitted, plain

MANY = np.zeros((2_000_000, 3))


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        pytest.param(
            lambda gp: gp.predict(MANY, return_cov=True),
            "the covariance of predictions at 2000000 rows would take 64.0 TB of memory, ",
            id="return_cov",
        ),
        pytest.param(
            lambda gp: gp.sample_y(X, 2**31),
            "2147483648 draws at 30 rows would take 1.0 TB of memory, ",
            id="sample_y",
        ),
        pytest.param(
            lambda gp: gp.sample_y(X[:1], 2**23, noise=False, prior=True),
            "8388608 functions would take 1.1 TB of memory, ",
            id="functions",
        ),
    ],
)
def test_what_no_machine_has(ask: Any, text: str) -> None:
    with pytest.raises(MemoryError) as raised:
        ask(fitted())
    assert str(raised.value).startswith(text)


LIMITED = {
    "gp.predict(many[:8000], return_cov=True)": "the covariance of predictions at 8000 rows",
    "gp.sample_y(many, 2000)": "2000 draws at 300000 rows",
    "gp.sample_y(many[:1], 9000)": "9000 functions",
    "gp.components(np.zeros((3_000_000, 3)))": "components at 3000000 rows",
    "gp.transform(np.zeros((3_000_000, 3)))": "components at 3000000 rows",
    "gp.gradient(np.zeros((20_000_000, 3)))": "gradients at 20000000 rows",
    "gp.predict(np.zeros((20_000_000, 3)), return_std=True)": "predictions at 20000000 rows",
    "both.predict(many[:4000], return_cov=True)": "the covariance of predictions at 4000",
    "P('imq-ard', engine='dense', max_evaluations=1, intervals='gaussian')"
    ".fit(rng.normal(size=(7000, 3)), many[:7000, 0])": (
        "the kernel matrix of 7000 rows, which the dense engine needs,"
    ),
}

#: Each request in a process of its own, a fork of one that has the models.
LIMITS = """
import json, os, re, resource, sys, warnings
import numpy as np
from raysum import ProjectedAdditiveGPRegressor as P
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(50, 3))
gp = P(max_evaluations=2, n_jobs=1).fit(X, X[:, 0])
both = P(max_evaluations=2, n_jobs=1).fit(X, X[:, :2])
many = np.zeros((300_000, 3))
def used():
    return 1024 * int(re.search(r"VmSize:\\s+(\\d+)", open("/proc/self/status").read())[1])
def asked(request):
    resource.setrlimit(resource.RLIMIT_AS, (used() + 10**9, resource.RLIM_INFINITY))
    said = None
    try:
        eval(request)
    except MemoryError as error:
        said = str(error)
    return [said, gp.predict(X).shape]
for request in json.load(sys.stdin):
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(into, 2)
        os.write(into, json.dumps(asked(request)).encode())
        os._exit(0)
    os.close(into)
    with open(out) as answer:
        text = answer.read()
    print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), text]), flush=True)
"""


@pytest.fixture(scope="module")
def limited() -> dict[str, Any]:
    """For each request the exit code of its process, and what it answered."""
    run = subprocess.run(
        [sys.executable, "-c", LIMITS],
        input=json.dumps(list(LIMITED)),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    return dict(zip(LIMITED, map(json.loads, run.stdout.splitlines())))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits are those of Linux")
@pytest.mark.parametrize("ask", LIMITED)
def test_limits_of_the_process(limited: dict[str, Any], ask: str) -> None:
    """The process lives on: without the check it is ended by the allocator, or by the system."""
    code, answer = limited[ask]
    assert code == 0, (code, answer)
    said, shape = json.loads(answer)
    assert said is not None and said.startswith(LIMITED[ask]), said
    assert " of memory, but " in said and said.endswith(" MB is free"), said
    assert shape == [50]


def test_noise_comes_in_one_stream_whatever_the_number_of_rows() -> None:
    gp = plain("gam").fit(X, Y)
    # Predictions are made for 128 rows at a time.
    rows = np.tile(X, (10, 1))
    noisy = gp.sample_y(rows, 600, random_state=3)
    smooth = gp.sample_y(rows, 600, random_state=3, noise=False)
    noise = (noisy - smooth) / gp.noise_std_
    assert abs(noise.mean()) < 0.005 and abs(noise.std() - 1) < 0.005
    assert abs(np.corrcoef(noise[: len(X)].ravel(), noise[-len(X) :].ravel())[0, 1]) < 0.03
    assert (gp.sample_y(X, 600, random_state=3) == noisy[: len(X)]).all()


def test_what_fits_is_answered() -> None:
    gp = plain("gam").fit(X, np.c_[Y, X[:, 0]])
    mean, covariance = gp.predict(X, return_cov=True)
    assert mean.shape == (30, 2) and covariance.shape == (30, 30, 2)
    assert gp.sample_y(X, 500).shape == (30, 2, 500)
