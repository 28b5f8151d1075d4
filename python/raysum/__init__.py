"""Gaussian-process regression for tables, with intervals that hold what they say.

>>> import numpy as np
>>> from raysum import AutoGPRegressor
>>> rng = np.random.default_rng(0)
>>> X = rng.normal(size=(100, 4))
>>> y = np.sin(X[:, 0] + X[:, 1]) + 0.1 * rng.normal(size=100)
>>> gp = AutoGPRegressor().fit(X, y)
>>> mean, std = gp.predict(X[:3], return_std=True)
>>> bool((np.abs(mean - y[:3]) < 3 * std).all())
True
"""

import atexit as _atexit
from importlib.metadata import version as _version

from . import _raysum
from ._auto import AutoGPRegressor
from ._estimator import ProjectedAdditiveGPRegressor

__all__ = ["AutoGPRegressor", "ProjectedAdditiveGPRegressor"]
__version__ = _version("raysum")

# Interrupted fits may still be running; they must not access the interpreter while it exits.
_atexit.register(_raysum.leave)
