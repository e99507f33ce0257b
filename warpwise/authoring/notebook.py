"""Cells to notebooks, and notebooks to canonical bytes.

The same cells always give the same bytes: ids come from the source, metadata is one fixed set, keys
are sorted. Three builds: the lesson, the full lab (in solutions/), and the lab with holes.

Each takes `links`, the line of links for its first and last cell, if it has neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from warpwise.authoring.errors import AuthoringError
from warpwise.authoring.glossary import link_terms
from warpwise.authoring.markers import cut_holes
from warpwise.authoring.source import Cell

BUILT_FROM, LINKS = "built-from", "links"  # ids of cells that no source has
KERNELSPEC = {"display_name": "Warpwise", "language": "python", "name": "warpwise"}
LANGUAGE_INFO = {"name": "python"}

# What a tag of ours means to the tools that run notebooks: nbval and nbclient.
_TOOL_TAGS = {
    "timing": ("nbval-ignore-output",),
    "gpu": ("nbval-skip", "skip-execution"),
}

_NOTES = {
    "lesson": (
        "*A Warpwise lesson. Guess each number before you run the cell that prints it.*"
        "\n\n*Built from `{source}`; to change the lesson for everyone, edit that file.*"
    ),
    "lab": (
        "*A Warpwise lab. Your answers go into your own copy, which `make lab` keeps under "
        "`mine/`: a newer course never overwrites it.*"
        "\n\n*The original under `labs/` is built from `{source}`.*"
    ),
    "solution": (
        "*The answers to a Warpwise lab. They help most after you have tried for yourself.*"
        "\n\n*Built from `{source}`; to change the lab or an answer, edit that file.*"
    ),
}


def build_lesson(
    cells: list[Cell], links: str = "", terms: Mapping[str, str] | None = None
) -> NotebookNode:
    """The notebook of a lesson, not yet run. Raises AuthoringError for an exercise in it.

    terms: of the glossary, with their anchors; each is linked where it is first used.
    """
    for cell in cells:
        if "exercise" in cell.tags or "solution" in cell.tags:
            raise AuthoringError(
                cell.path, cell.line, "A lesson has no exercises and no answers. Use the lab."
            )
    notebook = _build("lesson", cells, links)
    prose = [cell for cell in notebook.cells[1:] if cell.cell_type == "markdown"]
    linked = link_terms([cell.source for cell in prose], terms or {})
    for cell, text in zip(prose, linked, strict=True):
        cell.source = text
    return notebook


def build_full(cells: list[Cell], links: str = "") -> NotebookNode:
    """The notebook of a lab with its answers, as it stands in solutions/."""
    return _build("solution", cells, links)


def build_lab(cells: list[Cell], links: str = "") -> NotebookNode:
    """The notebook a learner gets: holes for the answers, no `solution` cells.

    Shared cells have the ids they have in `build_full`. Raises AuthoringError for a hole that
    cannot be cut.
    """
    return _build("lab", cells, links)


def canonical_bytes(notebook: NotebookNode) -> bytes:
    """The notebook as UTF-8 JSON: sorted keys, one space of indent, a newline at the end."""
    nbformat.validate(notebook)
    text: str = nbformat.writes(notebook, version=nbformat.NO_CONVERT)
    return (text.rstrip("\n") + "\n").encode()


def plain_name(path: Path) -> str:
    """A source's path from the top of the course, with slashes.

    >>> plain_name(Path("/home/ada/course/tiers/t1_kernels/source/t1_01_threads.py"))
    'tiers/t1_kernels/source/t1_01_threads.py'
    """
    parts = path.parts
    if len(parts) >= 4 and parts[-2] == "source" and parts[-4] in ("tiers", "solutions"):
        parts = parts[-4:]
    else:
        parts = parts[-1:]
    return "/".join(parts)


def _build(kind: str, cells: list[Cell], links: str) -> NotebookNode:
    note = _NOTES[kind].format(source=plain_name(cells[0].path))
    out = [_node("markdown", BUILT_FROM, f"{links}\n\n{note}" if links else note, ())]
    for cell in cells:
        if kind == "lab" and "solution" in cell.tags:
            continue
        source = cell.source
        if kind == "lab" and cell.regions:
            source = cut_holes(source, list(cell.regions), cell.path, cell.line)
        out.append(_node(cell.type, cell.id, source, cell.tags))
    if links and out[-1]["cell_type"] == "markdown":
        out[-1]["source"] += f"\n\n---\n\n{links}"
    elif links:
        out.append(_node("markdown", LINKS, links, ()))
    metadata = {"kernelspec": dict(KERNELSPEC), "language_info": dict(LANGUAGE_INFO)}
    return nbformat.from_dict(
        {"cells": out, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    )


def _node(cell_type: str, cell_id: str, source: str, tags: tuple[str, ...]) -> dict[str, Any]:
    all_tags = [*tags, *(tool for tag in tags for tool in _TOOL_TAGS.get(tag, ()))]
    node: dict[str, Any] = {
        "cell_type": cell_type,
        "id": cell_id,
        "metadata": {"tags": all_tags} if all_tags else {},
        "source": source,
    }
    if cell_type == "code":
        node |= {"execution_count": None, "outputs": []}
    return node
