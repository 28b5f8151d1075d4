"""Ctrl-C stops a fit within a second, and other threads run while one fits."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from cases import plain
from raysum import ProjectedAdditiveGPRegressor
from sklearn.base import clone

#: What is stopped, in this order. An evaluation of 6,000 rows in the dense engine takes seconds,
#: and has no end before its own.
JOBS = {
    "prediction": "lambda: gp.predict(np.tile(X, (400, 1)), return_std=True)",
    "fit": "lambda: gp.fit(X, X[:, 0])",
}

SCRIPT = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np
from raysum import ProjectedAdditiveGPRegressor
X = np.random.default_rng(0).normal(size=(6000, 3))
gp = ProjectedAdditiveGPRegressor(engine="dense", noise_bounds=(0.01, 10), intervals="gaussian")
gp.fit(X[:400], X[:400, 0])
before = gp.predict(X[:5])
for job in map(eval, sys.argv[1:]):
    print("ready", flush=True)
    try:
        job()
    except KeyboardInterrupt:
        print("stopped", time.time(), flush=True)
        assert (gp.predict(X[:5]) == before).all()
"""


@pytest.fixture(scope="module")
def interrupted():
    """Seconds from Ctrl-C until Python hears of it, and from the last until the process ended."""
    words = [sys.executable, "-c", SCRIPT, *JOBS.values()]
    seconds = {}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        for job in JOBS:
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            sent = time.time()
            word, stopped = process.stdout.readline().split()
            assert word == "stopped", job
            seconds[job] = float(stopped) - sent
        assert process.wait(timeout=60) == 0
        seconds["end"] = time.time() - sent
    return seconds


def test_ctrl_c_stops_a_fit_within_a_second(interrupted):
    # A second, and as much again for a busy machine.
    assert interrupted["fit"] < 2 and interrupted["end"] < 3, interrupted


def test_ctrl_c_stops_a_prediction(interrupted):
    assert interrupted["prediction"] < 2, interrupted


def test_a_killed_fit_goes_on_from_its_checkpoint(tmp_path):
    X = np.random.default_rng(0).normal(size=(250, 3))
    y = np.sin(X[:, 0]) + X[:, 1]
    file = tmp_path / "c"
    script = (
        "import sys; import numpy as np; from raysum import ProjectedAdditiveGPRegressor\n"
        "X = np.random.default_rng(0).normal(size=(250, 3))\n"
        "gp = ProjectedAdditiveGPRegressor(engine='dense', n_projections=8)\n"
        "gp.fit(X, np.sin(X[:, 0]) + X[:, 1], checkpoint=sys.argv[1])\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(file)]) as process:
        while not file.exists() or file.stat().st_size < 1000:
            assert process.poll() is None, "the fit ended before it was killed"
            time.sleep(0.01)
        process.kill()
    gp = ProjectedAdditiveGPRegressor(engine="dense", n_projections=8)
    before = file.read_bytes()
    with pytest.raises(ValueError, match="the checkpoint is of another fit"):
        gp.fit(X[:100], y[:100], checkpoint=file)
    assert file.read_bytes() == before
    resumed = gp.fit(X, y, checkpoint=str(file)).predict(X)
    assert not file.exists()
    assert (resumed == clone(gp).fit(X, y).predict(X)).all()


def test_an_interrupted_fit_leaves_the_old_model(table):
    # Where tests run in the background SIGINT may be ignored from the start.
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    X, y = table
    gp = plain().fit(X, y)
    before = gp.predict(X)
    assert list(gp.feature_names_in_) == ["a", "b", "c"]
    many = np.random.default_rng(0).normal(size=(100_000, 5))
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        gp.set_params(n_restarts=50).fit(many, np.sin(5 * many.sum(axis=1)))
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("the fit ended before it was interrupted")
    finally:
        signal.signal(signal.SIGINT, previous)
    assert (gp.predict(X) == before).all()


def test_other_threads_run_while_one_fits():
    X = np.random.default_rng(0).normal(size=(400, 5))
    gp = plain(engine="dense", max_evaluations=200, n_jobs=1)
    worker = threading.Thread(target=gp.fit, args=(X, np.sin(X.sum(axis=1))))
    worker.start()
    longest, last, ticks = 0.0, time.perf_counter(), 0
    while worker.is_alive() and ticks < 200:
        time.sleep(0.005)
        now = time.perf_counter()
        longest, last, ticks = max(longest, now - last), now, ticks + 1
    worker.join()
    assert ticks > 10 and longest < 1.0, (ticks, longest)
