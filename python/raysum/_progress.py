"""Progress display of a fit."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._types import Progress, Step

#: Description of each phase of a fit.
PHASES = {"held-out": "choosing the shrinkage by held-out rows", "search": "fit"}
#: The bar shows the share of the work that is done.
FORMAT = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"


@contextmanager
def reporting(verbose: int) -> Iterator[Progress | None]:
    """The progress callback of a fit: a bar if tqdm is installed, each evaluation from 2 on."""
    if not verbose:
        yield None
        return
    bar = _bar() if verbose == 1 else None
    if bar is None:
        yield _Lines(1 if verbose > 1 else 10)
        return

    def advance(step: Step, all_rows: int, fits: tuple[int, int], done: float) -> None:
        bar.set_description_str(_where(step, all_rows, fits), refresh=False)
        bar.set_postfix_str(f"objective {step[-1]:.6g}", refresh=False)
        bar.update(done - bar.n)

    try:
        yield advance
        bar.update(1.0 - bar.n)
    finally:
        bar.close()


def _bar() -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(total=1.0, desc="fit", bar_format=FORMAT)


def _where(step: Step, all_rows: int, fits: tuple[int, int]) -> str:
    _target, phase, rows, *_ = step
    number, count = fits
    what = PHASES[phase]
    if count > 1:
        what = f"fit {number + 1} of {count}" + ("" if phase == "search" else f", {what},")
    part = f"{rows} of {all_rows}" if rows < all_rows else f"{rows}"
    return f"{what} on {part} rows"


class _Lines:
    """Prints a line at regular numbers of evaluations."""

    def __init__(self, every: int) -> None:
        self.every = every
        self.count = 0

    def __call__(self, step: Step, all_rows: int, fits: tuple[int, int], done: float) -> None:
        self.count += 1
        if self.count % self.every and self.count > 1:
            return
        *_, evaluation, objective = step
        where = _where(step, all_rows, fits)
        line = f"{where}: evaluation {evaluation}, objective {objective:.6g}"
        print(f"{line}, {100 * done:.0f} % done", file=sys.stderr, flush=True)
