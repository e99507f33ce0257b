"""Bring notebooks and sources together: plan, compare, write."""

from __future__ import annotations

import copy
import difflib
import json
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from warpwise.authoring.execute import execute, is_executed
from warpwise.authoring.glossary import read_terms
from warpwise.authoring.layout import Product
from warpwise.authoring.links import curriculum_of, line_of_links
from warpwise.authoring.notebook import build_full, build_lab, build_lesson, canonical_bytes
from warpwise.authoring.source import read_source


@dataclass(frozen=True)
class Plan:
    """One notebook as it should be, beside the file as it is.

    `notebook` carries the file's outputs where its code cells are still those of the source.
    `stale` is true for a lesson whose stored outputs are missing or belong to other code.
    """

    product: Product
    notebook: NotebookNode
    current: bytes | None
    stale: bool

    @property
    def wanted(self) -> bytes:
        """The bytes the file should have."""
        return canonical_bytes(self.notebook)

    @property
    def in_sync(self) -> bool:
        """Whether the file has these bytes and, for a lesson, was run."""
        return self.current == self.wanted and not self.stale


def make_plan(product: Product) -> Plan:
    """Read a source and the notebook it makes. Raises AuthoringError for a bad source."""
    notebook = _build(product)
    current = product.target.read_bytes() if product.target.exists() else None
    if product.kind != "lesson":
        return Plan(product, notebook, current, stale=False)
    stored = _load(current)
    if stored is not None and _code(stored) == _code(notebook):
        _take_outputs(stored, notebook)
    return Plan(product, notebook, current, stale=not is_executed(notebook))


def _build(product: Product) -> NotebookNode:
    """The notebook of a source, without outputs, linked to its neighbours and to the glossary."""
    root = product.target.parents[2]
    cells = read_source(product.source)
    links = line_of_links(product.kind, product.target, curriculum_of(root))
    if product.kind == "lesson":
        return build_lesson(cells, links, read_terms(root / "tiers" / "glossary.md"))
    return (build_lab if product.kind == "lab" else build_full)(cells, links)


def run_lesson(plan: Plan, root: Path) -> Plan:
    """The plan with fresh outputs. Raises ExecutionError."""
    product = plan.product
    notebook = _build(product)
    execute(notebook, product.target.parent, root, str(product.source.relative_to(root)))
    return Plan(product, notebook, plan.current, stale=not is_executed(notebook))


def write(plan: Plan) -> bool:
    """Write the notebook if its bytes differ; says whether it did."""
    if plan.current == plan.wanted:
        return False
    plan.product.target.parent.mkdir(parents=True, exist_ok=True)
    plan.product.target.write_bytes(plan.wanted)
    return True


def describe(plan: Plan, root: Path) -> str:
    """Why a plan is not in sync: a unified diff of source cells, or a sentence."""
    name = plan.product.target.relative_to(root).as_posix()
    if plan.current is None:
        return f"{name}: missing"
    stored = _load(plan.current)
    if stored is None:
        return f"{name}: not a notebook"
    diff = list(
        difflib.unified_diff(
            _cell_lines(stored),
            _cell_lines(plan.notebook),
            fromfile=name,
            tofile=f"built from {plan.product.source.relative_to(root).as_posix()}",
            lineterm="",
        )
    )
    if diff:
        return "\n".join(diff)
    if plan.stale:
        return f"{name}: not executed from top to bottom"
    return f"{name}: same cells, but not in the form the builder writes"


def _load(data: bytes | None) -> NotebookNode | None:
    """A stored notebook, None if there is none that can be read."""
    if data is None:
        return None
    try:
        notebook = nbformat.reads(data.decode("utf-8"), as_version=nbformat.NO_CONVERT)
        nbformat.validate(notebook)
    except (ValueError, nbformat.ValidationError, AttributeError, KeyError, TypeError):
        return None
    return notebook


def _code(notebook: NotebookNode) -> list[tuple[str, str, list[str]]]:
    return [
        (cell.get("id", ""), cell.source, cell.metadata.get("tags", []))
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def _take_outputs(stored: NotebookNode, notebook: NotebookNode) -> None:
    """Copy outputs cell by cell; both have the same code cells."""
    ours = [cell for cell in notebook.cells if cell.cell_type == "code"]
    theirs = [cell for cell in stored.cells if cell.cell_type == "code"]
    for cell, source in zip(ours, theirs, strict=True):
        cell.outputs = copy.deepcopy(source.outputs)
        cell.execution_count = source.execution_count


def _cell_lines(notebook: NotebookNode) -> list[str]:
    lines: list[str] = []
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        label = f"[{cell.cell_type}] {cell.get('id', '')}"
        lines.append(label + (f" {json.dumps(tags)}" if tags else ""))
        lines += cell.source.split("\n")
        lines.append("")
    return lines
