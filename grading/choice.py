"""The one notebook among all that a student handed in: files, folders, archives in archives."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from grading.archives import STUDENT, is_archive, unpack
from grading.parse import read_file
from grading.reasons import NEEDS_HUMAN, NOT_SUBMITTED, SubmissionError, refusal

MAX_FOLDER_DEPTH = 4
MAX_FOLDER_ENTRIES = 20_000
#: Archives in archives: a student's in a platform's, and one that the student packed again.
MAX_ARCHIVE_DEPTH = 3

# What browsers and platforms add to a name that is there already.
_AGAIN = re.compile(r"(?:[ _]?\(\d{1,2}\)|-\d{1,2})\Z")


@dataclass
class _Files:
    """What lies in one student's entry, at any depth."""

    notebooks: list[Path] = field(default_factory=list)
    links: list[Path] = field(default_factory=list)
    others: list[Path] = field(default_factory=list)
    faults: list[SubmissionError] = field(default_factory=list)
    seen: int = 0


def is_hidden(name: str) -> bool:
    """Whether it is a system's own: nobody hands it in on purpose."""
    return name.startswith((".", "__MACOSX"))


def label(name: str) -> str:
    """A name for people: composed characters, printable, valid text."""
    text = os.fsencode(name).decode("utf-8", "replace")
    text = unicodedata.normalize("NFC", text)
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def choose(paths: Sequence[Path], lab: str, unpacked: Path | None) -> list[Path]:
    """The notebook among a student's files: the only one, or the one named like the lab.

    Several in folders of their own are attempts.
    """
    found = _Files()
    for path in paths:
        _look(path, found, unpacked)
    notebooks = _different(found.notebooks, unpacked)
    exact = [path for path in notebooks if path.stem.casefold() in (lab, f"{lab}_lab")]
    if found.seen > MAX_FOLDER_ENTRIES and len(exact) != 1:
        raise refusal("too-many-files", status=NEEDS_HUMAN, limit=f"{MAX_FOLDER_ENTRIES:,}")
    if not notebooks:
        _refuse(paths, found)
    if len(notebooks) == 1:
        return notebooks
    named = exact or [path for path in notebooks if _is_named(path.stem.casefold(), lab)]
    if named and len({path.parent for path in named}) == len(named):
        return named
    shown = ", ".join(label(path.name) for path in notebooks[:3])
    raise refusal("several-notebooks", status=NEEDS_HUMAN, count=len(notebooks), names=shown)


def _is_named(stem: str, lab: str) -> bool:
    """Whether a name is the lab's with what platforms put before and behind it."""
    return _AGAIN.sub("", stem).endswith((f"_{lab}", f"_{lab}_lab", f" {lab}_lab"))


def _refuse(paths: Sequence[Path], found: _Files) -> NoReturn:
    """Why there is no notebook."""
    if found.faults:
        raise found.faults[0]
    if found.links:
        raise refusal("symlink", name=label(found.links[0].name))
    if all(path.is_dir() for path in paths) or not found.others:
        raise refusal("not-submitted", status=NOT_SUBMITTED)
    path = found.others[0]
    if not path.is_file():
        raise refusal("not-a-file", name=label(path.name))
    raise refusal("not-a-notebook-file", name=label(path.name))


def _different(notebooks: Sequence[Path], unpacked: Path | None) -> list[Path]:
    """Without what an archive holds and is there already, such as the notebook beside it."""
    if unpacked is None or len(notebooks) < 2:
        return list(notebooks)
    packed = [path for path in notebooks if path.is_relative_to(unpacked)]
    kept = {path: _content(path) for path in notebooks if path not in packed}
    for path in packed:
        content = _content(path)
        if content not in kept.values():
            kept[path] = content
    return list(kept)


def _content(path: Path) -> tuple[str, str]:
    digest = str(path)
    with contextlib.suppress(OSError, SubmissionError):
        digest = hashlib.sha256(read_file(path)).hexdigest()
    return path.name, digest


def _look(path: Path, found: _Files, unpacked: Path | None) -> None:
    """Put what lies in `path` into `found`: regular files only, no link is followed."""
    waiting = [(path, 0, 0)]
    while waiting:
        path, depth, packed = waiting.pop()
        if path.is_symlink():
            found.links.append(path)
        elif path.is_dir():
            waiting += [(one, depth + 1, packed) for one in _inside(path, found, depth)]
        elif path.suffix.lower() == ".ipynb":
            (found.notebooks if path.is_file() else found.others).append(path)
        elif unpacked is not None and is_archive(path) and path.is_file():
            try:
                if packed == MAX_ARCHIVE_DEPTH:
                    raise refusal("archive-in-archive", name=label(path.name))
                inner, _ = unpack(path, unpacked, STUDENT)
                waiting += [(one, depth, packed + 1) for one in _inside(inner, found, 0)]
            except SubmissionError as error:
                found.faults.append(error)
        else:
            found.others.append(path)


def _inside(folder: Path, found: _Files, depth: int) -> list[Path]:
    """What is looked at in a folder, last name first."""
    if depth > MAX_FOLDER_DEPTH:
        return []
    try:
        entries = sorted(os.scandir(folder), key=lambda e: os.fsencode(e.name), reverse=True)
    except OSError:
        return []
    shown = [entry for entry in entries if not is_hidden(entry.name)]
    room = max(0, MAX_FOLDER_ENTRIES - found.seen)
    found.seen += len(shown)
    return [Path(entry.path) for entry in shown[len(shown) - min(room, len(shown)) :]]
