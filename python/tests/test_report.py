"""The report of an estimator, and its card in notebooks."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import sklearn
from raysum import AutoGPRegressor, ProjectedAdditiveGPRegressor

VOID = {"meta", "br", "img", "link", "input", "hr"}
SVG = {"rect", "path", "circle"}


class Outline(HTMLParser):
    """Checks that tags are closed in order, and collects what a page consists of."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.charts: list[list[str]] = []
        self.links: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "action")]
        assert not any(name.startswith("on") for name, _ in attrs), attrs
        if tag == "svg":
            self.charts.append([])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in SVG, tag
        if dict(attrs).get("class", "").startswith("mark"):
            self.charts[-1].append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


def outline(page: str) -> Outline:
    found = Outline()
    found.feed(page)
    found.close()
    assert found.open == []
    return found


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(90, 3)), columns=["a", "<b onclick=x>", "c"])
    X["word"] = rng.choice(["<i>", "two"], size=90)
    y = pd.Series(X["a"] * X["c"] + X["a"] + 0.1 * rng.normal(size=90), name="<u>")
    return AutoGPRegressor(effort="quick").fit(X, y), X, y


def test_a_page_is_well_formed_and_complete(fitted, tmp_path):
    gp, X, y = fitted
    report = gp.report(X, y)
    found = outline(report.html)
    assert found.links == [] and found.seen.count("script") == 1
    assert len(found.charts) >= 7 and all(found.charts)
    assert {"title", "main", "table", "figure"} <= set(found.seen)
    assert "i" not in found.seen and "u" not in found.seen
    assert len(report.html) < 500_000
    # The rows of the fit are recognised, and shown as they were predicted without themselves.
    assert "predicted without having been seen" in report.html
    path = tmp_path / "report.html"
    report.save(path)
    assert path.read_text(encoding="utf-8") == report.html
    with pytest.raises(OSError, match="does not exist"):
        report.save(tmp_path / "none" / "report.html")
    assert "srcdoc=" in report._repr_html_() and "report" in repr(report)


def test_other_rows_are_scored_by_themselves(fitted):
    gp, X, y = fitted
    page = gp.report(X[:40], y[:40]).html
    assert "40 rows of this table, which the model was not fitted to" in page


def test_several_targets_are_shown_one_after_another():
    X = np.random.default_rng(1).normal(size=(50, 2))
    Y = np.stack([X[:, 0], X[:, 1] ** 2], axis=1)
    gp = ProjectedAdditiveGPRegressor(model="gam").fit(X, Y)
    assert outline(gp.report(X, Y).html).seen.count("article") == 2
    with pytest.raises(ValueError, match="y has one dimension"):
        gp.report(X, Y[:, 0])
    with pytest.raises(ValueError, match="3 features"):
        gp.report(np.ones((4, 3)), Y[:4])


def test_a_fitted_estimator_shows_a_card(fitted):
    gp, _, _ = fitted
    card = gp._repr_html_()
    outline(card)
    assert card.startswith('<div class="raysum-card">') and "ridge regression" in card
    assert "&lt;b onclick" in card and "<b onclick" not in card
    assert gp._repr_mimebundle_()["text/html"] == card
    assert "raysum-card" not in AutoGPRegressor()._repr_html_()
    with sklearn.config_context(display="text"):
        assert not hasattr(gp, "_repr_html_")
        assert "text/html" not in gp._repr_mimebundle_()
