"""Look for answers in a bundle: in sources, outputs, metadata, attachments and file names.

The bundle is put together without answers; this looks at the files that were written, as a
student with a search tool would.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from warpwise.authoring import read_source
from warpwise.authoring.layout import Product
from warpwise.authoring.markers import BEGIN, END
from warpwise.authoring.sync import make_plan
from warpwise.curriculum import Unit

_NEVER = ("solutions", "tests", "source", "authoring", "mine", "__pycache__", "answers.jsonl")
_FILES = ("run.json", "policy.toml", "class.json", "grades.csv")
#: An answer this long does not come about by chance; a shorter one may stand in a lesson.
LINES = 4


def traces(bundle: Path, units: Collection[Unit]) -> list[str]:
    """What should not be in the bundle, a sentence each; [] when it is clean."""
    found = list(_names(bundle))
    texts = {path: "\n".join(strings(path)) for path in sorted(bundle.rglob("*")) if path.is_file()}
    for path, text in texts.items():
        if any(line.strip() in (BEGIN, END) for line in text.split("\n")):
            found.append(f"{path.relative_to(bundle)}: it has a solution marker.")
    for unit in units:
        own = bundle / unit.lab.relative_to(unit.root)
        found += lab_faults(own, unit, bundle)
    for place, title in _answers(bundle / "labs", units):
        found.append(f"{place.relative_to(bundle)}: the answer to {title} is in it.")
    return found


def shown(bundle: Path, units: Collection[Unit]) -> list[str]:
    """Which answers the lessons show line by line, a sentence each: that is the author's choice."""
    return [
        f"{place.relative_to(bundle)} shows the answer to {title}."
        for place, title in _answers(bundle / "tiers", units)
    ]


def _answers(folder: Path, units: Collection[Unit]) -> Iterator[tuple[Path, str]]:
    """(file, exercise) for each answer that stands in a file below `folder`."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        text = "\n" + plain("\n".join(strings(path))) + "\n"
        for unit in units:
            is_own = path.name == unit.lab.name
            for title, answer in regions(unit):
                if f"\n{answer}\n" in text and (is_own or answer.count("\n") + 1 >= LINES):
                    yield path, title


def _names(bundle: Path) -> Iterator[str]:
    for path in sorted(bundle.rglob("*")):
        inside = path.relative_to(bundle)
        is_package = inside.parts[:2] == ("warpwise", "answers")
        if path.name.startswith(".") or path.name in _FILES:
            yield f"{inside}: such a file has no place here."
        elif path.name in _NEVER and not is_package:
            yield f"{inside}: this folder must stay with you."
        elif path.is_symlink():
            yield f"{inside}: it is a link."


def lab_faults(path: Path, unit: Unit, bundle: Path) -> list[str]:
    """How the bundle's lab differs from one built now out of the text with holes."""
    shown = path.relative_to(bundle)
    try:
        lab = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return [f"{shown}: it is not there, or no notebook. Run make build."]
    found = []
    cells = lab.get("cells", [])
    if any(cell.get("outputs") or cell.get("execution_count") for cell in cells):
        found.append(f"{shown}: it has outputs. Run make build.")
    if any(cell.get("attachments") for cell in cells):
        found.append(f"{shown}: it has attachments. Run make build.")
    wanted = make_plan(Product("lab", unit.lab_source, unit.lab)).wanted
    if path.read_bytes() != wanted:
        found.append(f"{shown}: it is not what its source makes. Run make build.")
    return found


@cache
def regions(unit: Unit) -> tuple[tuple[str, str], ...]:
    """(title of the cell, answer) of each hole of a lab; the answer as `plain` makes it."""
    found = []
    for cell in read_source(unit.lab_source):
        lines = cell.source.split("\n")
        if "solution" in cell.tags:
            found.append((cell.title, plain(cell.source)))
        for one in cell.regions:
            found.append((cell.title, plain("\n".join(lines[one.begin + 1 : one.end]))))
    return tuple(found)


def plain(text: str) -> str:
    """Lines without indentation, comments of their own, and empty ones."""
    lines = (line.strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line and not line.startswith("#"))


def strings(path: Path) -> Iterator[str]:
    """Every piece of text in a file; of JSON each string, wherever it stands, lists joined."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return
    if path.suffix not in (".ipynb", ".json"):
        yield text
        return
    waiting = [json.loads(text)]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            waiting += [*item.values()]
        elif isinstance(item, list) and item and all(isinstance(one, str) for one in item):
            yield "".join(item)
        elif isinstance(item, list):
            waiting += item
