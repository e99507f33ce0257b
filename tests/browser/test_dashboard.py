"""The dashboard in a real browser: five thousand rows, sorted, filtered and walked by keyboard."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="Playwright is not installed")

from grading.exports.dashboard import dashboard_page
from tests.browser.pages import browser, find_browser
from tests.grading.toy_rows import graded, verdict, without

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(find_browser() is None, reason="there is no Chromium"),
]
ROWS = "#body tr[data-place]"


def large_class() -> list:
    """5,000 rows; every hundredth waits for a person, every fiftieth is wrong."""
    rows = []
    for k in range(5000):
        wrong = verdict(passed=k % 50 != 7)
        row = graded(f"s{k:04}", wrong, name=f"Name {4999 - k}", points=float(k % 977))
        rows.append(without(row.student, "needs-human") if k % 100 == 50 else row)
    rows[3] = replace(rows[3], name="<img src=x onerror=document.title='run'>")
    return rows


def test_the_dashboard_sorts_filters_and_walks(tmp_path: Path) -> None:
    """Rows in view are those that should be, and nothing of a student's is run."""
    path = tmp_path / "dashboard.html"
    path.write_text(dashboard_page(large_class(), "toy"), encoding="utf-8")
    with browser() as chromium:
        page = chromium.new_page()
        said: list[str] = []
        page.on("console", lambda one: said.append(one.text))
        page.on("pageerror", lambda one: said.append(str(one)))
        page.goto(path.as_uri())

        def first(column: int) -> str:
            return page.locator(f"{ROWS}:nth-child(2) td").nth(column).inner_text()

        assert page.locator("#count").inner_text() == "5000 of 5000 rows"
        assert page.locator(ROWS).count() < 100, "only what is in view is drawn"
        assert page.title() == "toy: 5000 rows"

        page.get_by_role("button", name="points").click()
        assert first(4) == "976"
        page.get_by_role("button", name="points").click()
        assert first(4) == "0"
        page.locator("#grid").focus()
        page.keyboard.press("End")
        assert "needs-human" in page.locator("#detail").inner_text(), "no points come last"

        page.keyboard.press("/")
        page.keyboard.type("rounds_down name")
        assert page.locator("#count").inner_text() == "100 of 5000 rows"
        page.keyboard.press("Escape")
        page.locator("button[data-status=needs-human]").click()
        assert page.locator("#count").inner_text() == "50 of 5000 rows"
        page.locator("button[data-status=needs-human]").click()

        page.locator("#grid").focus()
        page.keyboard.press("n")
        assert page.url.endswith("#s0050") or "needs-human" in page.locator("#detail").inner_text()
        page.goto(path.as_uri() + "#s4321")
        page.reload()
        assert "s4321" in page.locator("#detail").inner_text()
        assert said == []
