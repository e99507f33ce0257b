"""Find what was handed in: one entry a student, whatever the names look like.

Names are labels, never paths to build on and never patterns.  Files for a student are named by
`identity`, which is safe on every file system and different for different names.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from grading.reasons import NEEDS_HUMAN, NOT_SUBMITTED, UNREADABLE, SubmissionError, refusal

# Things that lie beside submissions and are not one: class lists, settings, notes.
COMPANIONS = (".csv", ".tsv", ".toml", ".yaml", ".yml", ".md")
MAX_FOLDER_DEPTH = 4
MAX_FOLDER_ENTRIES = 2_000

_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,79}\Z")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)\Z")


@dataclass(frozen=True)
class Submission:
    """One student's entry: a file to read, or the refusal that stands in its place."""

    student: str
    identity: str
    path: Path | None
    refusal: SubmissionError | None = None


@dataclass(frozen=True)
class Intake:
    """All submissions, sorted by student, and the names that were left out."""

    submissions: tuple[Submission, ...]
    left_out: tuple[str, ...]


def identity(name: str) -> str:
    """A file-name-safe id: the name where it is plain already, else readable part and hash."""
    if _PLAIN.match(name) and not _RESERVED.match(name):
        return name
    digest = hashlib.sha256(os.fsencode(name)).hexdigest()[:16]
    readable = re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:40]
    return f"{readable}.{digest}" if readable else digest


def label(name: str) -> str:
    """A name for people: composed characters, printable, valid text."""
    text = os.fsencode(name).decode("utf-8", "replace")
    text = unicodedata.normalize("NFC", text)
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def find(folder: Path, lab: str, ignore: Collection[Path] = ()) -> Intake:
    """One `Submission` for each notebook file or student folder in `folder`.

    lab: the unit's name, to choose among several notebooks of one student.
    ignore: paths inside `folder` that are the grader's own, such as its output.
    """
    found: dict[str, list[Submission]] = {}
    left_out: list[str] = []
    ignored = {path.resolve() for path in ignore}
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda e: os.fsencode(e.name)):
            path = Path(entry.path)
            if entry.name.startswith((".", "__MACOSX")) or path.resolve() in ignored:
                continue
            if path.suffix.lower() in COMPANIONS and entry.is_file(follow_symlinks=False):
                left_out.append(label(entry.name))
                continue
            one = _entry(entry, lab)
            found.setdefault(one.student, []).append(one)
    merged = [_one_row(student, several) for student, several in found.items()]
    merged.sort(key=lambda s: (s.student.casefold(), s.student, s.identity))
    return Intake(tuple(merged), tuple(left_out))


def _one_row(student: str, several: list[Submission]) -> Submission:
    """The single row of a student who appears more than once, such as as file and folder."""
    if len(several) == 1:
        return several[0]
    names = ", ".join(label(s.path.name) if s.path else s.student for s in several[:3])
    error = refusal("several-notebooks", status=NEEDS_HUMAN, count=len(several), names=names)
    return Submission(student, several[0].identity, None, error)


def _entry(entry: os.DirEntry[str], lab: str) -> Submission:
    """The submission that one directory entry stands for."""
    path, shown = Path(entry.path), label(entry.name)
    is_notebook = path.suffix.lower() == ".ipynb"
    name = path.stem if is_notebook else entry.name
    chosen: Path | None = None
    error: SubmissionError | None = None
    if entry.is_symlink():
        error = refusal("symlink", status=UNREADABLE, name=shown)
    elif entry.is_dir(follow_symlinks=False):
        name = entry.name
        try:
            chosen = _choose(path, lab)
        except SubmissionError as caught:
            error = caught
    elif not entry.is_file(follow_symlinks=False):
        error = refusal("not-a-file", name=shown)
    elif not is_notebook:
        error = refusal("not-a-notebook-file", name=shown)
    else:
        chosen = path
    return Submission(label(name), identity(name), chosen, error)


def _choose(folder: Path, lab: str) -> Path:
    """The notebook of a student's folder: the only one, or the one named like the lab."""
    notebooks, links = _notebooks(folder)
    if not notebooks:
        if links:
            raise refusal("symlink", name=label(links[0].name))
        raise refusal("not-submitted", status=NOT_SUBMITTED)
    if len(notebooks) == 1:
        return notebooks[0]
    named = [path for path in notebooks if path.stem.casefold() in (lab, f"{lab}_lab")]
    if len(named) == 1:
        return named[0]
    shown = ", ".join(label(path.name) for path in notebooks[:3])
    raise refusal("several-notebooks", status=NEEDS_HUMAN, count=len(notebooks), names=shown)


def _notebooks(folder: Path) -> tuple[list[Path], list[Path]]:
    """Regular notebook files below `folder`, and links with a notebook's name; none followed."""
    notebooks: list[Path] = []
    links: list[Path] = []
    waiting, seen = [(folder, 0)], 0
    while waiting:
        current, depth = waiting.pop()
        try:
            entries = sorted(os.scandir(current), key=lambda e: os.fsencode(e.name))
        except OSError:
            continue
        for entry in entries:
            seen += 1
            if seen > MAX_FOLDER_ENTRIES or entry.name.startswith((".", "__MACOSX")):
                continue
            path = Path(entry.path)
            if entry.is_dir(follow_symlinks=False):
                if depth < MAX_FOLDER_DEPTH:
                    waiting.append((path, depth + 1))
            elif path.suffix.lower() == ".ipynb":
                if entry.is_symlink():
                    links.append(path)
                elif entry.is_file(follow_symlinks=False):
                    notebooks.append(path)
    return notebooks, links
