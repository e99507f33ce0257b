"""Find what was handed in: one entry a student, whatever the names look like.

Names are labels, never paths to build on and never patterns.  Files for a student are named by
`identity`, which is safe on every file system and different for different names.  What is packed is
unpacked elsewhere; the folder itself stays as it is.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from grading.archives import CLASS, is_archive, unpack
from grading.choice import choose, is_hidden, label
from grading.layouts import PLAIN, Owner, recognise, stem_of
from grading.reasons import NEEDS_HUMAN, Note, SubmissionError, refusal

# Things that lie beside submissions and are not one: class lists, settings, notes.
COMPANIONS = (".csv", ".tsv", ".toml", ".yaml", ".yml", ".md")

_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,79}\Z")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)\Z")
_WRAPPERS = ("submissions", "submitted")
_MAX_WRAPPERS = 4


@dataclass(frozen=True)
class Submission:
    """One student's entry: a file to read, or the refusal that stands in its place.

    entry: what it is called in the folder.  notes: what the student is told beside the results.
    owner: whose it is, where the name has a platform's form.
    """

    student: str
    identity: str
    path: Path | None
    refusal: SubmissionError | None = None
    entry: str = ""
    notes: tuple[Note, ...] = ()
    owner: Owner | None = None


@dataclass(frozen=True)
class Intake:
    """All entries, sorted by student, and the names that were left out.

    entries: a student may have several.  layout: the platform whose names these are, or "".
    """

    entries: tuple[Submission, ...]
    left_out: tuple[str, ...]
    layout: str = ""

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


def find(
    folder: Path, lab: str, ignore: Collection[Path] = (), unpacked: Path | None = None
) -> Intake:
    """One `Submission` for each student's notebook, folder or archive in `folder`.

    folder: a folder, or the archive that a platform gave.
    lab: the unit's name, to choose among several notebooks of one student.
    ignore: paths inside `folder` that are the grader's own, such as its output.
    unpacked: where archives are unpacked; without it an archive is a file like any other.
    Raises SubmissionError where `folder` is an archive that cannot be read.
    """
    left_out: list[str] = []
    was_archive = unpacked is not None and not folder.is_dir()
    if was_archive:
        assert unpacked is not None
        folder, skipped = unpack(folder, unpacked, CLASS)
        left_out += [f"{label(name)} (not a regular file)" for name in skipped]
    ignored = {path.resolve() for path in ignore}
    folder, names = _inner(folder, ignored, was_archive)
    layout = recognise(folder, sorted(names))
    groups: dict[tuple[str, str], tuple[Owner, list[Path]]] = {}
    found: list[Submission] = []
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda e: os.fsencode(e.name)):
            if entry.name not in names:
                if not is_hidden(entry.name) and Path(entry.path).resolve() not in ignored:
                    left_out.append(label(entry.name))
                continue
            owners = layout.read(entry.name)
            if not owners and layout.is_its_own(entry.name):
                left_out.append(label(entry.name))
            elif not owners:
                found += _entry(entry, lab, unpacked)
            for owner in owners:
                key = (layout.name, owner.key or f"{entry.name} {owner.label}")
                groups.setdefault(key, (owner, []))[1].append(Path(entry.path))
    labels = [owner.label for owner, _ in groups.values()]
    for owner, paths in groups.values():
        shared = labels.count(owner.label) > 1 and owner.ids and layout is not PLAIN
        found += _owned(owner, paths, lab, unpacked, bool(shared))
    found.sort(key=lambda s: (s.student.casefold(), s.student, s.identity, s.entry))
    return Intake(tuple(found), tuple(left_out), layout.name)


def _inner(
    folder: Path, ignored: Collection[Path], was_archive: bool
) -> tuple[Path, frozenset[str]]:
    """The folder in which the entries lie, and their names: an archive often wraps them in one."""
    for _ in range(_MAX_WRAPPERS):
        with os.scandir(folder) as entries:
            there = [one for one in entries if _is_entry(one, ignored)]
        names = frozenset(one.name for one in there)
        if len(there) != 1 or not there[0].is_dir(follow_symlinks=False):
            return folder, names
        inside = Path(there[0].path)
        below = [one for one in os.scandir(inside) if _is_entry(one, ignored)]
        known = recognise(inside, [one.name for one in below]).name
        many = was_archive and sum(one.is_dir() or _may_be(one.name) for one in below) > 1
        if not (known or many or there[0].name in _WRAPPERS):
            return folder, names
        folder = inside
    return folder, names


def _is_entry(entry: os.DirEntry[str], ignored: Collection[Path]) -> bool:
    """Whether it may be a student's: not hidden, not ours, no class list."""
    path = Path(entry.path)
    if is_hidden(entry.name) or path.resolve() in ignored:
        return False
    is_file = entry.is_file(follow_symlinks=False)
    return not (is_file and path.suffix.lower() in COMPANIONS)


def _may_be(name: str) -> bool:
    return name.lower().endswith(".ipynb") or is_archive(Path(name))


def merged(several: Sequence[Submission]) -> Submission:
    """The single row of a student who appears more than once, such as as file and folder."""
    if len(several) == 1:
        return several[0]
    names = ", ".join(one.entry or one.student for one in several[:3])
    error = refusal("several-notebooks", status=NEEDS_HUMAN, count=len(several), names=names)
    return Submission(several[0].student, several[0].identity, None, error)


def _entry(entry: os.DirEntry[str], lab: str, unpacked: Path | None) -> list[Submission]:
    """The submissions of an entry that is named by its student."""
    path = Path(entry.path)
    packed = unpacked is not None and is_archive(path)
    plain = packed or path.suffix.lower() == ".ipynb"
    is_folder = entry.is_dir(follow_symlinks=False)
    name = stem_of(entry.name) if plain and not is_folder else entry.name
    return _submission(label(name), identity(name), None, [path], lab, unpacked)


def _owned(
    owner: Owner, paths: list[Path], lab: str, unpacked: Path | None, is_shared: bool
) -> list[Submission]:
    """The submissions of one owner; several where attempts lie in a folder."""
    shown = f"{owner.label} ({owner.ids[0]})" if is_shared else owner.label
    return _submission(label(shown), identity(shown), owner, paths, lab, unpacked)


def _submission(
    student: str,
    named: str,
    owner: Owner | None,
    paths: Sequence[Path],
    lab: str,
    unpacked: Path | None,
) -> list[Submission]:
    chosen: list[Path | None] = [None]
    error: SubmissionError | None = None
    try:
        chosen = list(choose(paths, lab, unpacked))
    except SubmissionError as caught:
        error = caught
    return [
        Submission(student, named, one, error, _shown(one, paths[0], unpacked), (), owner)
        for one in chosen
    ]


def _shown(chosen: Path | None, entry: Path, unpacked: Path | None) -> str:
    """What an entry is called, from its own folder on."""
    if chosen is None or not chosen.is_relative_to(entry.parent):
        return label(entry.name)
    return label(str(chosen.relative_to(entry.parent)))
