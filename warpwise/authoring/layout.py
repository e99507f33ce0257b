"""Which source makes which notebook, and which notebooks nobody makes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from warpwise.authoring.errors import AuthoringError
from warpwise.authoring.notebook import BUILT_FROM

COURSE = Path(__file__).resolve().parents[2]

_STEM = re.compile(r"(t\d+)_\d\d_[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class Product:
    """One notebook the builder makes: what it is, from which source, to which file."""

    kind: Literal["lesson", "solution", "lab"]
    source: Path
    target: Path


def find_products(root: Path = COURSE) -> list[Product]:
    """All notebooks the sources under `root` make, sorted by source.

    Raises AuthoringError for a file among the sources whose name or folder does not fit.
    """
    products: list[Product] = []
    for source in _sources(root / "tiers"):
        _check_name(source, lab=False)
        products.append(Product("lesson", source, _beside(source)))
    for source in _sources(root / "solutions"):
        _check_name(source, lab=True)
        target = _beside(source)
        products.append(Product("solution", source, target))
        lab = root / "labs" / target.relative_to(root / "solutions")
        products.append(Product("lab", source, lab))
    return products


def find_orphans(products: Iterable[Product], root: Path = COURSE) -> list[Path]:
    """Notebooks in tiers/, labs/ and solutions/ that no source makes, sorted."""
    made = {product.target for product in products}
    return [path for path in _notebooks(root) if path not in made]


def made_by_builder(orphan: Path) -> bool:
    """Whether the builder once wrote this file under this name, so that it may delete it.

    A copy that somebody made of a lab, or a notebook of their own, is not ours to delete.
    """
    try:
        first = json.loads(orphan.read_text(encoding="utf-8"))["cells"][0]
        text = first["source"] if isinstance(first["source"], str) else "".join(first["source"])
        return first["id"] == BUILT_FROM and f"/{orphan.stem}.py`" in text
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        return False


def select(products: list[Product], paths: Iterable[Path]) -> list[Product]:
    """The products that the paths name: a source, a notebook, or a folder with some inside.

    Raises AuthoringError for a path that names none.
    """
    chosen: list[Product] = []
    for path in paths:
        full = path.resolve()
        hits = [
            product
            for product in products
            if full in (product.source, product.target)
            or full in product.source.parents
            or full in product.target.parents
        ]
        if not hits:
            raise AuthoringError(path, 0, "No source and no built notebook is here.")
        chosen += hits
    return [product for product in products if product in chosen]


def _sources(tree: Path) -> list[Path]:
    return sorted(path for path in tree.glob("*/source/*") if path.name[0] not in "._")


def _notebooks(root: Path) -> list[Path]:
    found: list[Path] = []
    for tree in ("tiers", "labs", "solutions"):
        for path in (root / tree).rglob("*.ipynb"):
            if not any(part.startswith(".") for part in path.relative_to(root).parts):
                found.append(path)
    return sorted(found)


def _beside(source: Path) -> Path:
    return source.parents[1] / f"{source.stem}.ipynb"


def _check_name(source: Path, lab: bool) -> None:
    stem = source.stem
    form = "t1_01_topic_lab.py" if lab else "t1_01_topic.py"
    match = _STEM.fullmatch(stem)
    if source.suffix != ".py" or not match or stem.endswith("_lab") != lab:
        raise AuthoringError(source, 0, f"A source here is named like '{form}'.")
    tier = source.parents[1].name
    if not tier.startswith(match[1] + "_"):
        raise AuthoringError(source, 0, f"'{stem}' does not belong in the folder of '{tier}'.")
