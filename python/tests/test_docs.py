"""README and the pages in `docs/` show code that runs, what it prints, and measured numbers."""

import csv
import json
import re
import warnings
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import matplotlib
import numpy as np
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


def documents():
    pages = sorted((ROOT / "docs").glob("*.md"))
    return [page.relative_to(ROOT).as_posix() for page in [ROOT / "README.md", *pages]]


#: The least number of blocks of Python in a document.
LEAST = {"README.md": 1, "docs/tutorial.md": 15}


@pytest.mark.parametrize("document", documents())
def test_code_in_documents(document, tmp_path, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / document).read_text()
    names = {"__name__": "document"}
    done = 0
    for code, shown in steps(text):
        out = StringIO()
        with redirect_stdout(out), warnings.catch_warnings():
            warnings.simplefilter("error")
            # Dask calls functions of pandas that are deprecated.
            warnings.filterwarnings("ignore", category=DeprecationWarning, module="dask")
            warnings.filterwarnings("ignore", message=".*is deprecated", module="dask")
            exec(compile(code, document, "exec"), names)
        if shown is not None:
            assert alike(out.getvalue(), shown), f"{code}\nprints\n{out.getvalue()}not\n{shown}"
        done += 1
    pyplot.close("all")
    assert done >= LEAST.get(document, 0), f"{document} has {done} blocks of Python"


@pytest.mark.parametrize(
    "document", [*documents(), "CONTRIBUTING.md", "bench/README.md", "experiments/README.md"]
)
def test_links_lead_somewhere(document):
    place = ROOT / document
    for link in re.findall(r"\]\((?!https?:)([^)]*)\)", place.read_text()):
        file, _, heading = link.partition("#")
        target = place.parent / file if file else place
        assert target.exists(), f"{document}: {link}"
        if heading:
            lines = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
            anchors = [re.sub(r"[^\w -]", "", line).lower().replace(" ", "-") for line in lines]
            assert heading in anchors, f"{document}: {link}"


def test_the_rust_example_is_the_tested_one():
    """The crate's README is a doctest; lines that begin with # are hidden in it."""
    crate, ours = (
        next(code for kind, code in BLOCK.findall(path.read_text()) if kind == "rust")
        for path in (ROOT / "crates/raysum/README.md", ROOT / "README.md")
    )
    assert ours == re.sub(r"^# .*\n", "", crate, flags=re.MULTILINE)


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "README.md").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "README.md" or f"({page.name})" in index, page.name


def test_accuracy_is_what_was_measured():
    with (ROOT / "experiments/2026-11-16/uci-summary.csv").open() as file:
        summary = {(line["set"], line["model"]): line for line in csv.DictReader(file)}
    rows = re.findall(
        r"^\| (\w+) \| [\d,]+ \| \d+ \| (.*) \|$",
        (ROOT / "docs/accuracy.md").read_text().split("## Small tables")[1],
        re.MULTILINE,
    )
    assert len(rows) == 16
    for name, cells in rows:
        shown = [cell.strip(" *%") for cell in cells.split("|")]
        rbf, gam, dpa = (summary[name, model] for model in ("rbf-ard", "gam", "dpa-ard"))
        measured = [f"{float(line['rmse_mean']):.3f}" for line in (rbf, gam, dpa)]
        paper = [f"{float(line['paper_mean']):.2f}" for line in (rbf, dpa)]
        assert shown == [*measured, *paper, f"{100 * float(dpa['coverage95']):.0f}"], name


def test_errors_beside_gradient_boosting_are_those_measured():
    raw = (ROOT / "bench/results/2026-11-18-accuracy.jsonl").read_text().splitlines()
    lines = [json.loads(line) for line in raw]
    page = (ROOT / "docs/accuracy.md").read_text().split("## Small tables")[0]
    rows = re.findall(r"^\| (\w+) \| [\d,]+ \| \d+ \| (\d+) \| ([\d.*]+) \|", page, re.MULTILINE)
    assert len(rows) == 27
    for name, splits, shown in rows:
        errors = [line["rmse"] for line in lines if (line["set"], line["model"]) == (name, "auto")]
        assert (str(len(errors)), f"{np.mean(errors):.3f}") == (splits, shown.strip("*")), name


def test_a_number_that_is_off_is_seen():
    assert alike("R² 0.50\n", "R² 0.51")
    assert not alike("R² 0.50\n", "R² 0.60")
    assert not alike("score 0.50\n", "R² 0.50")
