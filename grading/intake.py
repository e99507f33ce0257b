"""Find what was handed in: one entry a student, whatever the names look like.

Names are labels, never paths to build on and never patterns.  Files for a student are named by
`identity`, which is safe on every file system and different for different names.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from grading.reasons import (
    NEEDS_HUMAN,
    NOT_SUBMITTED,
    UNREADABLE,
    Note,
    SubmissionError,
    refusal,
)

# Things that lie beside submissions and are not one: class lists, settings, notes.
COMPANIONS = (".csv", ".tsv", ".toml", ".yaml", ".yml", ".md")
MAX_FOLDER_DEPTH = 4
MAX_FOLDER_ENTRIES = 2_000

_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,79}\Z")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)\Z")


@dataclass(frozen=True)
class Submission:
    """One student's entry: a file to read, or the refusal that stands in its place.

    entry: what it is called in the folder.  notes: what the student is told beside the results.
    """

    student: str
    identity: str
    path: Path | None
    refusal: SubmissionError | None = None
    entry: str = ""
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Intake:
    """All entries, sorted by student, and the names that were left out.

    entries: a student may have several.
    """

    entries: tuple[Submission, ...]
    left_out: tuple[str, ...]

    @property
    def submissions(self) -> tuple[Submission, ...]:
        """One for each name; of several a person has to choose."""
        found: dict[str, list[Submission]] = {}
        for one in self.entries:
            found.setdefault(one.student, []).append(one)
        return tuple(merged(several) for several in found.values())


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
    found: list[Submission] = []
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
            found.extend(_entries(entry, lab))
    found.sort(key=lambda s: (s.student.casefold(), s.student, s.identity, s.entry))
    return Intake(tuple(found), tuple(left_out))


def merged(several: Sequence[Submission]) -> Submission:
    """The single row of a student who appears more than once, such as as file and folder."""
    if len(several) == 1:
        return several[0]
    names = ", ".join(one.entry or one.student for one in several[:3])
    error = refusal("several-notebooks", status=NEEDS_HUMAN, count=len(several), names=names)
    return Submission(several[0].student, several[0].identity, None, error)


def _entries(entry: os.DirEntry[str], lab: str) -> list[Submission]:
    """The submissions that one directory entry stands for: several where attempts lie in it."""
    path, shown = Path(entry.path), label(entry.name)
    is_notebook = path.suffix.lower() == ".ipynb"
    name = path.stem if is_notebook else entry.name
    chosen: list[Path | None] = [None]
    error: SubmissionError | None = None
    if entry.is_symlink():
        error = refusal("symlink", status=UNREADABLE, name=shown)
    elif entry.is_dir(follow_symlinks=False):
        name = entry.name
        try:
            chosen = list(_choose(path, lab))
        except SubmissionError as caught:
            error = caught
    elif not entry.is_file(follow_symlinks=False):
        error = refusal("not-a-file", name=shown)
    elif not is_notebook:
        error = refusal("not-a-notebook-file", name=shown)
    else:
        chosen = [path]
    return [
        Submission(label(name), identity(name), one, error, _shown(one, path)) for one in chosen
    ]


def _shown(chosen: Path | None, entry: Path) -> str:
    """What an entry is called, from its own folder on."""
    return label(str((chosen or entry).relative_to(entry.parent)))


def _choose(folder: Path, lab: str) -> list[Path]:
    """The notebook of a student's folder: the only one, or the one named like the lab.

    Several in folders of their own are attempts.
    """
    notebooks, links = _notebooks(folder)
    if not notebooks:
        if links:
            raise refusal("symlink", name=label(links[0].name))
        raise refusal("not-submitted", status=NOT_SUBMITTED)
    if len(notebooks) == 1:
        return notebooks
    named = [path for path in notebooks if path.stem.casefold() in (lab, f"{lab}_lab")]
    if named and len({path.parent for path in named}) == len(named):
        return named
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
