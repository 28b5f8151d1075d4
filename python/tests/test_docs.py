"""The tutorial and the README show code that runs, and what it prints."""

import re
import warnings
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import matplotlib
import pytest
from matplotlib import pyplot

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
#: Numbers may differ by this share: another processor rounds a search another way.
TOLERANCE = 0.05


def steps(text):
    """Blocks of Python, each with the block of text right behind it."""
    blocks = BLOCK.findall(text)
    for (kind, code), (after, shown) in zip(blocks, [*blocks[1:], ("", "")]):
        if kind == "python":
            yield code, shown if after == "text" else None


def alike(printed, shown):
    """The words to the letter, the numbers nearly."""
    if NUMBER.sub("#", printed).split() != NUMBER.sub("#", shown).split():
        return False
    pairs = zip(map(float, NUMBER.findall(printed)), map(float, NUMBER.findall(shown)))
    return all(abs(a - b) <= TOLERANCE * max(abs(a), abs(b)) + 0.021 for a, b in pairs)


@pytest.mark.parametrize(("document", "least"), [("docs/tutorial.md", 15), ("README.md", 1)])
def test_code_in_documents(document, least, tmp_path, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / document).read_text()
    names = {"__name__": "document"}
    done = 0
    for code, shown in steps(text):
        out = StringIO()
        with redirect_stdout(out), warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compile(code, document, "exec"), names)
        if shown is not None:
            assert alike(out.getvalue(), shown), f"{code}\nprints\n{out.getvalue()}not\n{shown}"
        done += 1
    pyplot.close("all")
    assert done >= least, f"{document} has {done} blocks of Python"


def test_a_number_that_is_off_is_seen():
    assert alike("R² 0.50\n", "R² 0.51")
    assert not alike("R² 0.50\n", "R² 0.60")
    assert not alike("score 0.50\n", "R² 0.50")
