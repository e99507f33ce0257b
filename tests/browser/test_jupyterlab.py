"""A learner's first minutes in the real JupyterLab, in a real browser."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Page, expect

from tests.browser import pages
from tests.browser.server import Server, copy_course, serve
from warpwise import curriculum
from warpwise.check.record import MIME

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(
        pages.find_browser() is None,
        reason="Chromium is not installed (Debian or Ubuntu: sudo apt-get install chromium)",
    ),
]

UNIT = curriculum.load().written[0]
mistakes = importlib.import_module(f"tests.impostors.{UNIT.name}")
LAB = f"mine/{UNIT.tier}/{UNIT.lab.name}"
LESSON = f"tiers/{UNIT.tier}/{UNIT.lesson.name}"
FORMATS = "tiers/t2_gpu/t2_04_formats.ipynb"
EXERCISE = UNIT.exercises[0].name
WRONG = next(one for one in vars(mistakes).values() if getattr(one, "name", "") == "no_guard")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One JupyterLab, opened on a copy of the course as a fresh clone holds it."""
    folder = tmp_path_factory.mktemp("browser")
    scratch = folder / "scratch"
    scratch.mkdir()
    with serve(copy_course(curriculum.COURSE, folder / "course"), scratch) as running:
        yield running


@pytest.fixture
def page(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Page]:
    """A fresh browser; a failing test leaves a picture of what was on the screen."""
    with pages.browser() as chromium:
        window = pages.new_page(chromium)
        yield window
        shot(window, f"last_{request.node.name}", tmp_path)


def shot(page: Page, name: str, fallback: Path) -> None:
    """Saves a screenshot under a name."""
    page.screenshot(path=pages.screenshot_folder(fallback) / f"{name}.png")


def answer() -> str:
    """The source of the first exercise, from the solution."""
    for cell in nbformat.read(UNIT.solution, 4).cells:
        if cell.cell_type == "code" and f"def {EXERCISE}(" in cell.source:
            lines = str(cell.source).splitlines()
            return "\n".join(line for line in lines if " SOLUTION" not in line)
    raise AssertionError(f"{UNIT.solution} has no {EXERCISE}")


def wrong_answer() -> str:
    """The source of a kernel without a guard, under the exercise's name."""
    lines = inspect.getsource(WRONG.answer.py_func).splitlines()
    text = "\n".join(line for line in lines if not line.startswith("@impostor"))
    return re.sub(rf"\bdef {WRONG.name}\(", f"def {WRONG.exercise}(", text)


def status_of(notebook: Path, exercise: str) -> str:
    """The status of an exercise's record in a saved notebook."""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            record = output.get("data", {}).get(MIME)
            if record and record["exercise"] == exercise:
                return str(record["status"])
    return "no record"


def test_from_the_start_page_to_a_passed_exercise(
    server: Server, page: Page, tmp_path: Path
) -> None:
    """The start page leads to the learner's lab; an answer typed there is run and passes."""
    page.goto(server.start)
    page.get_by_role("heading", name="The next five minutes").wait_for()
    shot(page, "start_page", tmp_path)
    page.get_by_role("link", name="your copy of its lab").click()
    notebook = pages.Notebook(page, server.root / LAB)

    notebook.run_all()
    notebook.save()
    assert status_of(notebook.path, EXERCISE) == "todo"

    cell = notebook.cell(f"def {EXERCISE}(")
    notebook.fill(cell, answer())
    notebook.run(cell)
    check = notebook.cell(f'check("{EXERCISE}"')
    notebook.run(check)
    output = check.locator(".jp-OutputArea-output").first
    expect(output).to_contain_text("pass")
    output.scroll_into_view_if_needed()
    shot(page, "check_passes", tmp_path)
    notebook.save()
    assert status_of(notebook.path, EXERCISE) == "pass"
    assert (server.root / LAB).read_bytes() != UNIT.lab.read_bytes()


def test_a_missing_guard_is_explained(server: Server, page: Page, tmp_path: Path) -> None:
    """A wrong answer gets the line, the block and the thread, and leaves a record that says so."""
    path = LAB.replace("_lab.ipynb", "_no_guard.ipynb")  # a copy of this test's own
    shutil.copy(UNIT.lab, server.root / path)
    notebook = pages.open_notebook(page, server, path)
    notebook.run_all()
    cell = notebook.cell(f"def {WRONG.exercise}(")
    notebook.fill(cell, wrong_answer())
    notebook.run(cell)
    check = notebook.cell(f'check("{WRONG.exercise}"')
    notebook.run(check)
    output = check.locator(".jp-OutputArea-output").first
    expect(output).to_contain_text(f"{WRONG.exercise}: fail")
    for word in ("line", "block", "thread"):
        expect(output).to_contain_text(word)
    folder = pages.screenshot_folder(tmp_path)
    pages.picture(page, folder / "check_fails.png", cell, output)
    notebook.save()
    assert status_of(notebook.path, WRONG.exercise) == "fail"


def test_moving_the_slider_changes_the_picture(server: Server, page: Page, tmp_path: Path) -> None:
    """In the first lesson, the slider over blocks redraws which thread touches which cell."""
    notebook = pages.open_notebook(page, server, LESSON)
    notebook.run_all()
    slider = notebook.slider()
    slider.scroll_into_view_if_needed()
    before = notebook.picture_of(slider)
    assert before, "no picture beside the slider"
    shot(page, "picture_before", tmp_path)
    slider.press("ArrowRight")
    notebook.wait_for_another_picture(slider, before)
    cell = notebook.panel.locator(".jp-CodeCell", has=page.locator("[role=slider]")).first
    pages.picture(page, pages.screenshot_folder(tmp_path) / "picture.png", cell, cell)


def test_pressing_a_bit_changes_the_number(server: Server, page: Page, tmp_path: Path) -> None:
    """In the lesson on formats, a button for the last bit makes 1.625 of 1.5, and back."""
    notebook = pages.open_notebook(page, server, FORMATS)
    notebook.run_all()
    cell = notebook.panel.locator(".jp-CodeCell", has_text='show_format("e4m3", 1.5)').first
    last_bit = cell.locator("button[title='mantissa, bit 0']")
    last_bit.scroll_into_view_if_needed()
    expect(last_bit).to_have_text("0")
    last_bit.click()
    expect(last_bit).to_have_text("1")
    expect(cell.locator(".jp-OutputArea")).to_contain_text("code 0x3d: 1.625")
    shot(page, "format_bits", tmp_path)
    last_bit.click()
    expect(cell.locator(".jp-OutputArea")).to_contain_text("code 0x3c: 1.5")
