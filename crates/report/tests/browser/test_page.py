"""The report in a real browser: `make test-browser`.

Screenshots are kept in the folder that RAYSUM_SCREENSHOTS names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

RAYSUM = os.environ["RAYSUM_BIN"]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NAMES = [
    "<script>window.hacked = 1</script>",
    "\"quoted\" & 'so'",
    "\u202eright to left \u05d0\u05d1",
    "\U0001f697 emoji",
    "</script><img src=x onerror=window.hacked=1>" * 225,
]


def run(folder: Path, *words: str) -> None:
    subprocess.run([RAYSUM, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The page of the demo, and one about a table with hostile names."""
    folder = tmp_path_factory.mktemp("pages")
    run(folder, "demo")
    lines = [",".join('"' + name.replace('"', '""') + '"' for name in [*NAMES, "text", "y"])]
    for i in range(90):
        x = [((7 * i + 13 * j * j) % 31) / 31 - 0.5 for j in range(5)]
        word = ["<b>a</b>", "</svg>", "c"][i % 3]
        lines.append(",".join(map(str, [*x, word, round(x[0] * x[1] * 4 + x[2], 4)])))
    (folder / "hostile.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    run(folder, "fit", "hostile.csv", "-t", "y", "--effort", "quick", "-o", "hostile.raysum")
    run(folder, "report", "hostile.raysum", "hostile.csv", "-o", "hostile.html")
    return {"demo": folder / "demo" / "report.html", "hostile": folder / "hostile.html"}


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        installed = shutil.which("chromium") or shutil.which("google-chrome")
        started = playwright.chromium.launch(executable_path=installed, args=FLAGS)
        yield started
        started.close()


def opened(browser: Browser, path: Path, **options) -> tuple[Page, list[str]]:
    """The page, and everything that went wrong while it was opened."""
    page = browser.new_page(**options)
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on("dialog", lambda dialog: wrong.append("dialog"))
    page.on("request", lambda request: wrong.append(request.url) if request.url != url else None)
    url = path.as_uri()
    page.goto(url)
    return page, wrong


def keep(page: Page, name: str) -> None:
    folder = os.environ.get("RAYSUM_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)


@pytest.mark.parametrize("name", ["demo", "hostile"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1180, 360])
def test_shows_everything(browser, pages, name, scheme, width):
    size = {"width": width, "height": 800}
    page, wrong = opened(browser, pages[name], viewport=size, color_scheme=scheme)
    assert page.evaluate("window.hacked") is None
    charts = page.locator("svg")
    assert charts.count() >= 7
    without = "all => all.filter(c => !c.querySelector('.mark[data-tip]')).length"
    assert charts.evaluate_all(without) == 0
    outside = """all => all.filter(t => {
        const text = t.getBoundingClientRect(), chart = t.ownerSVGElement.getBoundingClientRect();
        return text.left < chart.left - 14 || text.right > chart.right + 14;
    }).map(t => t.textContent)"""
    assert page.locator("svg text").evaluate_all(outside) == []
    # Nothing is wider than the window; tables scroll by themselves.
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    lightness = sum(map(int, background.removeprefix("rgb(").removesuffix(")").split(","))) / 3
    assert lightness < 60 if scheme == "dark" else lightness > 200
    keep(page, f"{name}-{scheme}-{width}")
    assert wrong == []
    page.close()


def test_hover_shows_values_and_tables_sort(browser, pages):
    page, wrong = opened(browser, pages["demo"], viewport={"width": 1180, "height": 800})
    mark = page.locator("svg .mark[data-tip]").nth(3)
    mark.scroll_into_view_if_needed()
    mark.hover(force=True)
    tip = page.locator("#tip")
    assert tip.is_visible() and "intervals hold" in tip.inner_text()
    head = page.locator("table.sortable").first.locator("th").nth(1)
    column = page.locator("table.sortable").first.locator("tbody tr td:nth-child(2)")
    values = "cells => cells.map(cell => Number(cell.dataset.v))"
    head.locator("button").click()
    rising = column.evaluate_all(values)
    head.locator("button").click()
    assert rising == sorted(rising) and column.evaluate_all(values) == rising[::-1]
    assert head.get_attribute("aria-sort") == "descending"
    assert wrong == []
    page.close()


def test_prints(browser, pages, tmp_path):
    page, wrong = opened(browser, pages["demo"], color_scheme="dark")
    page.emulate_media(media="print")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(255, 255, 255)"
    keep(page, "print")
    page.pdf(path=str(tmp_path / "report.pdf"), format="A4")
    assert (tmp_path / "report.pdf").stat().st_size > 10_000
    assert wrong == []
    page.close()
