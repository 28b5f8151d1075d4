"""Gaussian-process regression by sums of functions of one-dimensional projections.

>>> import numpy as np
>>> from raysum import ProjectedAdditiveGPRegressor
>>> rng = np.random.default_rng(0)
>>> X = rng.normal(size=(200, 4))
>>> y = np.sin(X[:, 0] + X[:, 1]) + 0.1 * rng.normal(size=200)
>>> gp = ProjectedAdditiveGPRegressor().fit(X, y)
>>> mean, std = gp.predict(X[:3], return_std=True)
>>> bool((np.abs(mean - y[:3]) < 3 * std).all())
True
"""

import atexit as _atexit
from importlib.metadata import version as _version

from . import _raysum
from ._estimator import ProjectedAdditiveGPRegressor

__all__ = ["ProjectedAdditiveGPRegressor"]
__version__ = _version("raysum")

# Interrupted fits may still be running; they must not access the interpreter while it exits.
_atexit.register(_raysum.leave)
