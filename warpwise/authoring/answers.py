"""The course's own answers, run: what a lab with its answers defines."""

from __future__ import annotations

import linecache
from collections.abc import Mapping
from typing import Any

from .notebook import NotebookNode, build_full
from .source import read_source


def run_cells(notebook: NotebookNode, filename: str) -> Mapping[str, Any]:
    """What a notebook defines, its checks left out.  `filename`: where kernels find their text."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    names: dict[str, Any] = {"__name__": "notebook"}
    for number, cell in enumerate(cells):
        if {"check", "gpu"} & set(cell.metadata.get("tags", [])):
            continue
        place = f"<{filename} {number}>"
        linecache.cache[place] = (len(cell.source), None, cell.source.splitlines(True), place)
        exec(compile(cell.source, place, "exec"), names)
    return names


def answers_of(unit: Any) -> Mapping[str, Any]:
    """The names a unit's solution defines."""
    return run_cells(build_full(read_source(unit.lab_source)), f"{unit.name} solution")
