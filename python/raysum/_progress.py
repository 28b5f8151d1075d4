"""What a person sees of a fit while it runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._raysum import Progress

Searched = tuple[int, int, int, int, int]


@contextmanager
def reporting(verbose: int) -> Iterator[Progress | None]:
    """The callback for a fit: a bar if tqdm is there, a line per evaluation from 2 on."""
    if not verbose:
        yield None
        return
    bar = _bar() if verbose == 1 else None
    if bar is None:
        yield _Lines(1 if verbose > 1 else 10)
        return

    def advance(searched: Searched, later: float, objective: float) -> None:
        rows, start, starts, _evaluations, _limit = searched
        where = f"fit on {rows} rows" + (f", start {start + 1} of {starts}" if starts > 1 else "")
        bar.set_description_str(where, refresh=False)
        bar.set_postfix_str(f"objective {objective:.6g}", refresh=False)
        bar.update()

    try:
        yield advance
    finally:
        bar.close()


def _bar():
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    # How many evaluations a search takes is not known before it ends.
    return tqdm(unit=" evaluations", desc="fit")


class _Lines:
    """A line for every so many evaluations."""

    def __init__(self, every: int) -> None:
        self.every = every

    def __call__(self, searched: Searched, later: float, objective: float) -> None:
        rows, start, starts, evaluations, _limit = searched
        if evaluations % self.every and evaluations > 1:
            return
        begun = f"start {start + 1} of {starts}, " if starts > 1 else ""
        line = f"fit on {rows} rows: {begun}evaluation {evaluations}, objective {objective:.6g}"
        print(line, file=sys.stderr, flush=True)
