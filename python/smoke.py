"""Whether an installed package works: a fit, intervals, a file."""

import pathlib
import tempfile

import numpy as np
import raysum


def main():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=80)
    gp = raysum.AutoGPRegressor(effort="quick").fit(X[:60], y[:60])
    mean, lower, upper = gp.predict(X[60:], interval=0.95)
    assert gp.score(X[60:], y[60:]) > 0.8, gp.score(X[60:], y[60:])
    assert ((lower < mean) & (mean < upper)).all()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.raysum"
        gp.save(path)
        assert (raysum.AutoGPRegressor.load(path).predict(X[60:]) == mean).all()
    print(f"raysum {raysum.__version__} works")


if __name__ == "__main__":
    main()
