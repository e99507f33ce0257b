"""What of the course goes to students, and how it is laid out.

    tiers/      lessons as notebooks, cheat sheets, glossary; not their text sources
    labs/       the released labs, with holes
    warpwise/   the library with its checks, without the tools that build notebooks from answers
    grading/    the grader's code, for submit-check; it holds no answer and no seed
    Makefile  README.md  requirements.txt  pyproject.toml  LICENSE

Copied is what is named here, never a whole folder: nothing that lies about gets in.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

from warpwise.curriculum import COURSE, Unit

_CODE = (".py", ".toml", ".json", ".md")
_PAGES = (".ipynb", ".md", ".png", ".svg")
_PLAIN = ("LICENSE", "pyproject.toml")
#: Targets of the Makefile that need what students do not have.
_NOT_THEIRS = ("test", "check", "bench", "build", "grade", "gpu-test", "fmt", "release")
#: Sections of requirements.txt that serve authors and graders only.
_NOT_NEEDED = ("# Tests and tools.", "# Grading on a cluster.")


def lay_out(target: Path, units: Collection[Unit], course: Path = COURSE) -> None:
    """Write the bundle with the labs of `units` into the new folder `target`."""
    names = {unit.name for unit in units}
    target.mkdir(parents=True)
    for path in _files(course, names):
        place = target / path.relative_to(course)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
    texts = {
        "README.md": (course / "grading/student/README.md").read_text(encoding="utf-8"),
        "Makefile": makefile((course / "Makefile").read_text(encoding="utf-8")),
        "requirements.txt": requirements((course / "requirements.txt").read_text(encoding="utf-8")),
        "warpwise/curriculum.toml": manifest(
            (course / "warpwise/curriculum.toml").read_text(encoding="utf-8"), names
        ),
    }
    for name, text in texts.items():
        (target / name).write_text(text, encoding="utf-8")


def _files(course: Path, names: Collection[str]) -> Iterator[Path]:
    """The course's files that are copied as they are."""
    yield from (course / name for name in _PLAIN)
    for path in _below(course / "tiers", _PAGES):
        if "source" not in path.relative_to(course).parts:
            yield path
    for path in _below(course / "labs", (".ipynb",)):
        if path.stem.removesuffix("_lab") in names:
            yield path
    for path in _below(course / "warpwise", _CODE):
        parts = path.relative_to(course / "warpwise").parts
        of_a_unit = parts[:2] in (("check", "specs"), ("check", "baselines"))
        if parts[0] == "authoring" or (of_a_unit and not _is_for(path.stem, names)):
            continue
        yield path
    for path in _below(course / "grading", (".py",)):
        if path.relative_to(course / "grading").parts[0] not in ("release", "student"):
            yield path


def _is_for(stem: str, names: Collection[str]) -> bool:
    """Whether a file beside specs is a released unit's, or no single unit's."""
    return stem in names or re.match(r"t\d+_\d\d_", stem) is None


def _below(folder: Path, suffixes: Collection[str]) -> Iterator[Path]:
    """Regular files with one of these suffixes; nothing hidden, no link."""
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).parts
        if any(part.startswith((".", "__pycache__")) for part in inside) or path.is_symlink():
            continue
        if path.is_file() and path.suffix in suffixes:
            yield path


def makefile(text: str) -> str:
    """The Makefile without the targets that need answers, tests or a class."""
    kept = []
    for block in re.split(r"\n{2,}", text):
        target = re.search(r"^([a-z-]+):", block, re.MULTILINE)
        if target is None or target[1] not in _NOT_THEIRS:
            kept.append(block)
    text = "\n\n".join(kept).rstrip("\n") + "\n"
    gone = "|".join(_NOT_THEIRS)
    return re.sub(
        r"^\.PHONY:.*$",
        lambda found: re.sub(rf" (?:{gone})(?= |$)", "", found[0]),
        text,
        flags=re.MULTILINE,
    )


def requirements(text: str) -> str:
    """requirements.txt without the sections that serve authors and graders only."""
    blocks = text.rstrip("\n").split("\n\n")
    return "\n\n".join(one for one in blocks if not one.startswith(_NOT_NEEDED)) + "\n"


def manifest(text: str, names: Collection[str]) -> str:
    """The curriculum in which only the units `names` have a lab; the others are still to come."""
    head, *entries = text.split("[[unit]]\n")
    out = [head]
    for entry in entries:
        name = re.search(r'^name = "(\w+)"', entry, re.MULTILINE)
        if name is None or name[1] not in names:
            entry = entry.replace('status = "written"', 'status = "planned"')
            entry = re.sub(r"^exercises = \[.*?^\]\n", "", entry, flags=re.MULTILINE | re.DOTALL)
        out.append(entry)
    return "[[unit]]\n".join(out)
