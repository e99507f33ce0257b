"""Outputs of an executed lesson, made fit to commit and to compare.

nbval runs a lesson again and compares what each cell gave with what is stored, except images and
widget views. So what differs from run to run, or names a folder of this machine, must not be
stored: the harmless part is removed here, the rest is refused.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]{4,}")
_KERNEL_FILE = re.compile(r"\bipykernel_\d+\S*")


def normalise(notebook: NotebookNode) -> None:
    """Remove, in place, what must not be stored in an executed notebook.

    Widget views lose their model id, which means nothing without the kernel; what stands beside
    them (text, an image, HTML) stays, so that a page without a kernel shows something. Tracebacks
    shrink to their message, for they carry paths and colours.
    """
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        cell.metadata.pop("widgets", None)
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                output.evalue = without_colours(output.evalue)
                output.traceback = [f"{output.ename}: {output.evalue}"]
            elif output.output_type in ("display_data", "execute_result"):
                output.data.pop(WIDGET_VIEW, None)
                output.metadata = NotebookNode()


def without_colours(text: str) -> str:
    """The text without terminal colour codes."""
    return _COLOURS.sub("", text)


def private_folders(root: Path) -> tuple[str, ...]:
    """Folders of this machine that a committed output must not name."""
    folders = {root, Path.home(), Path(sys.prefix), Path(tempfile.gettempdir())}
    # A home of "/" or "" (a bare container) would match everything.
    return tuple(sorted(str(folder) for folder in folders if len(folder.parts) > 1))


def find_faults(cell: NotebookNode, folders: Iterable[str] = ()) -> list[str]:
    """Sentences about outputs of one code cell that must not be committed; empty when fine."""
    faults: list[str] = []
    outputs = cell.get("outputs", [])
    if "raises-exception" in cell.metadata.get("tags", []):
        if not any(output.output_type == "error" for output in outputs):
            faults.append("it is tagged 'raises-exception' but raised nothing")
    for output in outputs:
        if output.output_type == "stream" and output.name == "stderr":
            first = (output.text.strip().splitlines() or [""])[0]
            faults.append(f"it writes to stderr: {first!r}")
            continue
        for text in _texts(output):
            if match := _ADDRESS.search(text):
                faults.append(f"its output has {match[0]!r}, which differs in every run")
            if match := _KERNEL_FILE.search(text):
                faults.append(f"its output has {match[0]!r}, which differs in every run")
            faults += [
                f"its output names the folder {folder}, which is on this machine only"
                for folder in folders
                if re.search(re.escape(folder) + r"(?![\w.-])", text)
            ]
    return faults


def _texts(output: Any) -> Iterator[str]:
    if output.output_type == "stream":
        yield output.text
    elif output.output_type == "error":
        yield output.evalue
    else:
        for mime, value in output.data.items():
            if isinstance(value, str) and not mime.startswith("image/"):
                yield value
