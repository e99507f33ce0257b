"""Lays copies of lessons and labs under mine/, where a learner works, and never touches an answer.

    mine/t1_kernels/t1_01_threads.ipynb           the learner's copy of a lesson, to run
    mine/t1_kernels/t1_01_threads_lab.ipynb       the learner's copy of a lab
    mine/glossary.md                              pages that lessons point to
    mine/t1_kernels/t1_01_threads_lab.new.ipynb   laid beside it when the course's lab has changed
    mine/.warpwise.json                           which version of each was copied (SHA-256)

mine/ is ignored by git, so pulling a newer course never conflicts with answers.
Links from tree to tree lead to mine/ in a copy, where the learner's other notebooks are.
A copy is replaced only while it is byte for byte what was laid there: nothing in it is the
learner's then.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STATE_NAME = ".warpwise.json"
SENTENCES = {
    "new": "{count} new in {mine}/: {names}",
    "updated": "{count} brought up to date; you had not changed them: {names}",
    "beside": (
        "{count} changed in the course since the copy in {mine}/, and your copy stays as it is.  "
        "The newer version lies beside it; to go over to it, rename yours, then it: {names}"
    ),
    "gone": "{count} no longer in the course; your copies stay: {names}",
}


class WorkspaceError(Exception):
    """The copies could not be laid; the text says why and what to do."""


@dataclass
class Report:
    """What one run did.  Each list holds paths relative to mine/, with forward slashes."""

    mine: Path
    new: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """What to tell the learner, one sentence a line; nothing when nothing changed."""
        said = list(self.notes)
        for kind, sentence in SENTENCES.items():
            names: list[str] = getattr(self, kind)
            if names:
                count = f"{len(names)} file" + ("s" if len(names) > 1 else "")
                said.append(
                    sentence.format(count=count, mine=self.mine.name, names=", ".join(names))
                )
        return said


def sha256(content: bytes) -> str:
    """Hex digest of a file's content."""
    return hashlib.sha256(content).hexdigest()


def lab_files(labs: Path) -> Iterator[Path]:
    """Every file of the labs in a fixed order, hidden ones and checkpoints left out."""
    for path in sorted(labs.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(labs).parts)
        if path.is_file() and not hidden:
            yield path


def course_files(root: Path) -> dict[str, Path]:
    """Name under mine/ -> file of the course: the labs, the lessons' notebooks and the pages that
    they point to."""
    labs, tiers = root / "labs", root / "tiers"
    found = {path.relative_to(labs).as_posix(): path for path in lab_files(labs)}
    for pattern in ("*/*.ipynb", "*.md", "*/*.md"):
        for path in sorted(tiers.glob(pattern)):
            found.setdefault(path.relative_to(tiers).as_posix(), path)
    return found


def read_state(path: Path) -> tuple[dict[str, dict[str, Any]], str | None]:
    """The state file's entries, and a note when it is there but cannot be understood.

    An entry: copied (digest of the lab as it was copied), offered (digest of the newer one laid
    beside, and its name in offered_as), gone (true once the learner was told).
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}, None
    except (OSError, UnicodeDecodeError):
        text = ""
    try:
        entries = json.loads(text)["labs"]
        if all(isinstance(entry["copied"], str) for entry in entries.values()):
            return dict(entries), None
    except (ValueError, TypeError, KeyError, AttributeError):
        pass
    note = f"{path.parent.name}/{path.name} could not be read and was made anew; your labs stay."
    return {}, note


def write_file(path: Path, content: bytes) -> None:
    """Writes a file whole or not at all: a full disk never leaves half a notebook."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".laying-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(name, 0o666 & ~_umask())  # mkstemp makes files that only the owner can read
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    """The process's file mode mask; reading it needs setting it twice."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def beside_name(target: Path, offered_as: str | None, offered: str | None) -> Path:
    """Where a newer lab goes: beside the learner's copy, on no file the learner may have edited."""
    number = 1
    while True:
        mark = ".new" if number == 1 else f".new{number}"
        path = target.with_name(f"{target.stem}{mark}{target.suffix}")
        if not os.path.lexists(path):
            return path
        if path.name == offered_as and sha256(path.read_bytes()) == offered:
            return path
        number += 1


def as_laid(file: Path) -> bytes:
    """What a copy of a file holds: its links to lessons and labs lead to those in mine/."""
    content = file.read_bytes()
    for tree in (b"tiers", b"labs"):
        content = content.replace(b"](../../" + tree + b"/", b"](../../mine/")
    return content


def _lay_one(lab: Path, name: str, mine: Path, state: dict[str, Any], report: Report) -> None:
    """Lays or renews one copy, and notes it in state and report."""
    content, target = as_laid(lab), mine / name
    current = sha256(content)
    entry = state.get(name)
    if not os.path.lexists(target):
        write_file(target, content)
        state[name] = {"copied": current}
        report.new.append(name)
        return
    if entry is None:  # a copy from before the state file was lost: taken as up to date, and kept
        state[name] = {"copied": current}
        report.kept.append(name)
        return
    entry.pop("gone", None)
    if entry["copied"] == current:
        report.kept.append(name)
        return
    if target.is_file() and sha256(target.read_bytes()) == entry["copied"]:
        write_file(target, content)
        state[name] = {"copied": current}
        report.updated.append(name)
        return
    offered, offered_as = entry.get("offered"), entry.get("offered_as")
    if offered == current:
        if not os.path.lexists(target.with_name(str(offered_as))):
            state[name] = {"copied": current}  # the learner moved or removed it: settled
        report.kept.append(name)
        return
    newer = beside_name(target, offered_as, offered)
    write_file(newer, content)
    entry.update(offered=current, offered_as=newer.name)
    report.beside.append(newer.relative_to(mine).as_posix())


def lay(root: Path = ROOT) -> Report:
    """Copies every lab and lesson to root/mine, never overwriting a learner's work.

    Raises WorkspaceError with a sentence when there are no labs or mine/ cannot be written.
    """
    labs, mine = root / "labs", root / "mine"
    files = course_files(root) if labs.is_dir() else {}
    if not any(path.is_relative_to(labs) for path in files.values()):
        raise WorkspaceError(f"There are no labs in {labs}.  Is the clone complete?  git status")
    report = Report(mine)
    try:
        if os.path.lexists(mine) and not mine.is_dir():
            raise WorkspaceError(f"{mine} is a file; rename it, your copies of the labs go there.")
        mine.mkdir(exist_ok=True)
        state, note = read_state(mine / STATE_NAME)
        report.notes.extend([note] if note else [])
        for name, path in files.items():
            _lay_one(path, name, mine, state, report)
        for name in sorted(set(state) - set(files)):
            if not os.path.lexists(mine / name):
                del state[name]
            elif not state[name].get("gone"):
                state[name]["gone"] = True
                report.gone.append(name)
        text = json.dumps({"version": 1, "labs": state}, indent=1, sort_keys=True)
        write_file(mine / STATE_NAME, text.encode())
    except OSError as error:
        raise WorkspaceError(
            f"{error.filename or mine} could not be written: {error.strerror or error}.\n"
            "Your copies of the labs belong there.  Check who owns the folder and the free space."
        ) from error
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: `python -m warpwise mine`.  Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m warpwise mine", description="Lay copies of lessons and labs under mine/."
    )
    parser.parse_args(arguments)
    try:
        report = lay()
    except WorkspaceError as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(report.lines() or [f"Nothing new; {len(report.kept)} notebooks lie in mine/."]))
    return 0
