"""What a person does in JupyterLab: open a notebook, type into a cell, run it, move a slider."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from tests.browser.server import Server

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# No sandbox: root has none in a container.  The rest keeps the browser off the network.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MS = 120_000
# Everything drawn in the output that a slider stands in; the slider itself has no picture.
_PICTURE = """handle => Array.from(
  handle.closest('.jp-Cell-outputArea').querySelectorAll(
    ['img', 'svg', 'canvas', 'figure'].map(tag => `.jp-OutputArea-output ${tag}`).join()
  )
).map(picture => picture.outerHTML).join('\\n')"""
_EXECUTED = re.compile(r"\[\d+\]")


def find_browser() -> str | None:
    """The path of the system's Chromium, None when there is none."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@contextmanager
def browser() -> Iterator[Browser]:
    """A headless browser for one test."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        try:
            yield chromium
        finally:
            chromium.close()


class Notebook:
    """One notebook open in JupyterLab."""

    def __init__(self, page: Page, path: Path) -> None:
        """Waits until a notebook that was opened just now has an idle kernel.  path: its file."""
        self.page, self.path = page, path
        self.panel = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
        expect(self.panel.locator(".jp-Cell").first).to_be_visible()
        self.wait_idle()

    def wait_idle(self) -> None:
        """Waits until the kernel has nothing left to do and no cell shows a star."""
        kernel = self.panel.locator(".jp-KernelName")
        expect(kernel).to_have_text("Warpwise")
        idle = self.panel.locator(".jp-Notebook-ExecutionIndicator[data-status='idle']")
        expect(idle).to_have_count(1)
        expect(self.panel.locator(".jp-InputPrompt", has_text="[*]")).to_have_count(0)

    def cell(self, text: str) -> Locator:
        """The one code cell with this text in its input."""
        editor = self.page.locator(".jp-Cell-inputWrapper", has_text=text)
        return self.panel.locator(".jp-CodeCell", has=editor)

    def fill(self, cell: Locator, source: str) -> None:
        """Replaces a cell's source the way a person pastes an answer."""
        editor = cell.locator(".cm-content")
        editor.scroll_into_view_if_needed()
        editor.click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(source)
        expect(cell.locator(".cm-line").last).to_have_text(source.splitlines()[-1])

    def run(self, cell: Locator) -> None:
        """Runs one cell with Shift+Enter and waits for its number."""
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")
        expect(cell.locator(".jp-InputPrompt")).to_have_text(_EXECUTED)
        self.wait_idle()

    def run_all(self) -> None:
        """Run, Run All Cells, from the menu."""
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        last = self.panel.locator(".jp-CodeCell").last
        expect(last.locator(".jp-InputPrompt")).to_have_text(_EXECUTED)
        self.wait_idle()

    def save(self) -> None:
        """Saves with Ctrl+S and waits until the file on disk is a newer one."""
        before = os.stat(self.path).st_mtime_ns
        self.page.keyboard.press("ControlOrMeta+s")
        for _ in range(PATIENCE_MS // 100):
            if os.stat(self.path).st_mtime_ns != before:
                return
            self.page.wait_for_timeout(100)  # between two looks at the file
        raise AssertionError(f"{self.path} was not saved")

    def slider(self) -> Locator:
        """The handle of the first slider."""
        return self.panel.locator("[role=slider]").first

    def picture_of(self, slider: Locator) -> str:
        """The pictures beside a slider as text, to see whether they have changed."""
        return str(slider.evaluate(_PICTURE))

    def wait_for_another_picture(self, slider: Locator, before: str) -> None:
        """Waits until the pictures beside a slider are not what they were."""
        handle = slider.element_handle()
        self.page.wait_for_function(
            f"([handle, before]) => ({_PICTURE})(handle) !== before", arg=[handle, before]
        )


def open_notebook(page: Page, server: Server, path: str) -> Notebook:
    """Opens a notebook by its address, in a window of its own.  path: relative to the root."""
    page.goto(server.page(path))
    return Notebook(page, server.root / path)


def new_page(chromium: Browser) -> Page:
    """A page large enough for a notebook with a picture, with patience for a busy machine."""
    page = chromium.new_page(viewport={"width": 1400, "height": 1000})
    page.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    return page


def picture(page: Page, path: Path, first: Locator, last: Locator) -> None:
    """Saves a picture of the page from the top of one element to the bottom of another."""
    first.scroll_into_view_if_needed()
    last.scroll_into_view_if_needed()
    page.mouse.move(0, 0)  # so that no button shows up where the mouse stands
    top, bottom = first.bounding_box(), last.bounding_box()
    assert top and bottom, "not on the screen"
    height = bottom["y"] + bottom["height"] - top["y"]
    page.screenshot(path=path, clip={**top, "height": height})


def screenshot_folder(fallback: Path) -> Path:
    """Where screenshots go: WARPWISE_ARTIFACTS when set, so that a build server can keep them."""
    folder = Path(os.environ.get("WARPWISE_ARTIFACTS") or fallback)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
