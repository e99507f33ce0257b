"""The units of the course, read from curriculum.toml.

One table a unit, in the order they are taught:

    [[unit]]
    name = "t1_01_threads"             # t<tier>_<number in the tier>_<topic>
    title = "Threads: index, guard, grid-stride"
    tier = "t1_kernels"
    status = "written"                 # or "planned": no files and no exercises yet
    prerequisites = []                 # names of earlier units
    minutes = 45                       # lesson and lab together
    points = 10                        # when written: the sum of its exercises
    exercises = [
        { name = "guarded_add", points = 2 },
    ]

An exercise's name is the title of its cell, the name of its spec and the learner's function.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

COURSE = Path(__file__).resolve().parents[1]
MANIFEST = Path(__file__).with_name("curriculum.toml")

_UNIT_KEYS = {
    "name": str,
    "title": str,
    "tier": str,
    "status": str,
    "prerequisites": list,
    "minutes": int,
    "points": int,
}
_KINDS = {str: "a string", list: "a list", int: "a whole number"}
_NAME = re.compile(r"(t\d)_(\d\d)_[a-z][a-z0-9_]*")
_EXERCISE = re.compile(r"[a-z][a-z0-9_]*")


class CurriculumError(ValueError):
    """A manifest that contradicts itself; the message names the unit."""


class Exercise(NamedTuple):
    """One exercise of a lab and what it is worth."""

    name: str
    points: int


@dataclass(frozen=True)
class Unit:
    """One lesson with its lab. Paths are absolute; those of a planned unit do not exist yet."""

    name: str
    title: str
    tier: str
    status: str
    prerequisites: tuple[str, ...]
    minutes: int
    points: int
    exercises: tuple[Exercise, ...]
    root: Path

    @property
    def is_written(self) -> bool:
        """Whether the unit's files exist."""
        return self.status == "written"

    @property
    def lesson(self) -> Path:
        """The lesson's notebook, executed."""
        return self.root / "tiers" / self.tier / f"{self.name}.ipynb"

    @property
    def lesson_source(self) -> Path:
        """The text the lesson is built from."""
        return self.root / "tiers" / self.tier / "source" / f"{self.name}.py"

    @property
    def lab(self) -> Path:
        """The lab's notebook, with holes."""
        return self.root / "labs" / self.tier / f"{self.name}_lab.ipynb"

    @property
    def solution(self) -> Path:
        """The lab's notebook with its answers."""
        return self.root / "solutions" / self.tier / f"{self.name}_lab.ipynb"

    @property
    def lab_source(self) -> Path:
        """The text both lab notebooks are built from."""
        return self.root / "solutions" / self.tier / "source" / f"{self.name}_lab.py"


@dataclass(frozen=True)
class Curriculum:
    """All units in the order they are taught."""

    units: tuple[Unit, ...]

    @property
    def written(self) -> tuple[Unit, ...]:
        """The units that can be taken today."""
        return tuple(unit for unit in self.units if unit.is_written)

    @property
    def planned(self) -> tuple[Unit, ...]:
        """The units still to be written."""
        return tuple(unit for unit in self.units if not unit.is_written)

    @property
    def tiers(self) -> tuple[str, ...]:
        """The tiers in order: ('t1_kernels', 't2_gpu', 't3_many')."""
        return tuple(dict.fromkeys(unit.tier for unit in self.units))

    def unit(self, name: str) -> Unit:
        """The unit of this name; KeyError with a sentence when there is none.

        The name of its lab, `t1_01_threads_lab`, will do as well.
        """
        for unit in self.units:
            if unit.name == name.removesuffix("_lab"):
                return unit
        raise KeyError(f"No unit '{name}'. Written units: {_join(u.name for u in self.written)}.")

    def unit_of(self, exercise: str) -> Unit:
        """The unit an exercise belongs to; KeyError with a sentence when there is none."""
        for unit in self.units:
            if any(exercise == name for name, _ in unit.exercises):
                return unit
        raise KeyError(f"No exercise '{exercise}' in any unit.")


def load(root: Path = COURSE, manifest: Path = MANIFEST) -> Curriculum:
    """Read the manifest; `root` is the folder of tiers/, labs/ and solutions/.

    Raises CurriculumError, naming the unit, for anything that contradicts itself.
    """
    return parse(manifest.read_text(encoding="utf-8"), root)


def parse(text: str, root: Path = COURSE) -> Curriculum:
    """The curriculum of a manifest's text, see the module for its form."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CurriculumError(f"The manifest is not TOML: {error}.") from None
    extra = set(table) - {"unit"}
    if extra or not table.get("unit"):
        raise CurriculumError("The manifest must hold [[unit]] tables and nothing else.")
    units: list[Unit] = []
    for entry in table["unit"]:
        unit = _read_unit(entry, root)
        _check_against(unit, units)
        units.append(unit)
    return Curriculum(tuple(units))


def _read_unit(entry: dict[str, Any], root: Path) -> Unit:
    name = entry.get("name", "?")
    for key, kind in _UNIT_KEYS.items():
        if type(entry.get(key)) is not kind:
            raise CurriculumError(f"{name}: '{key}' must be {_KINDS[kind]}.")
    unknown = set(entry) - set(_UNIT_KEYS) - {"exercises"}
    if unknown:
        raise CurriculumError(f"{name}: unknown key '{min(unknown)}'.")
    match = _NAME.fullmatch(name)
    if not match or not entry["tier"].startswith(match[1] + "_") or name.endswith("_lab"):
        raise CurriculumError(
            f"{name}: the name must be '{entry['tier'][:2]}_<two digits>_<topic>'."
        )
    if entry["status"] not in ("written", "planned"):
        raise CurriculumError(f"{name}: status must be 'written' or 'planned'.")
    if entry["minutes"] <= 0 or entry["points"] <= 0:
        raise CurriculumError(f"{name}: minutes and points must be positive.")
    exercises = tuple(_read_exercise(name, item) for item in entry.get("exercises", []))
    total = sum(exercise.points for exercise in exercises)
    if entry["status"] == "planned" and exercises:
        raise CurriculumError(f"{name}: a planned unit has no exercises yet.")
    if entry["status"] == "written" and not exercises:
        raise CurriculumError(f"{name}: a written unit needs exercises.")
    if exercises and total != entry["points"]:
        raise CurriculumError(
            f"{name}: its exercises are worth {total} points, the unit {entry['points']}."
        )
    return Unit(
        name=name,
        title=entry["title"],
        tier=entry["tier"],
        status=entry["status"],
        prerequisites=tuple(entry["prerequisites"]),
        minutes=entry["minutes"],
        points=entry["points"],
        exercises=exercises,
        root=root,
    )


def _read_exercise(unit: str, item: Any) -> Exercise:
    fits = (
        isinstance(item, dict)
        and set(item) == {"name", "points"}
        and isinstance(item["name"], str)
        and _EXERCISE.fullmatch(item["name"])
        and type(item["points"]) is int
        and item["points"] > 0
    )
    if not fits:
        raise CurriculumError(
            f'{unit}: an exercise is {{ name = "snake_case", points = 2 }}, not {item}.'
        )
    return Exercise(item["name"], item["points"])


def _check_against(unit: Unit, earlier: list[Unit]) -> None:
    names = {other.name for other in earlier}
    if unit.name in names:
        raise CurriculumError(f"{unit.name}: there are two units of this name.")
    before = sum(other.tier == unit.tier for other in earlier)
    if int(unit.name[3:5]) != before + 1:
        raise CurriculumError(f"{unit.name}: it is number {before + 1} of its tier.")
    if before and earlier[-1].tier != unit.tier:
        raise CurriculumError(f"{unit.name}: the units of {unit.tier} must stand together.")
    for needed in unit.prerequisites:
        if needed not in names:
            raise CurriculumError(f"{unit.name}: its prerequisite '{needed}' is no earlier unit.")
    taken = {name for other in earlier for name, _ in other.exercises}
    for name, _ in unit.exercises:
        if name in taken:
            raise CurriculumError(f"{unit.name}: the exercise '{name}' exists already.")
        taken.add(name)


def _join(names: Any) -> str:
    return ", ".join(names) or "none"
