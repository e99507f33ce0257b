"""Where the results of a class lie: plain files, each written whole or not at all.

    OUT/run.json                  lab, seed and limits: drawn once, then the same for all students
    OUT/answers/ab/abcd….json     what a notebook's code answered, and all it was judged from
    OUT/verdicts/12/1234….json    what a spec says of one answer
    OUT/students/<identity>.json  one row a student: which answers, which verdicts, how many points
    OUT/class.json                whose rows belong to the class, in order
    OUT/policy.toml               overrides, late policy, withdrawn exercises, grade lines
    OUT/unpacked/                 what was handed in as archives
    OUT/grades.csv                the table

Answers and verdicts are named by content (see `grading.keys`) and never changed.  So whatever
exists need not be made again: not after an interrupt, not for the same code from another student,
not on another machine that writes to the same folder.  Two that make the same at once do no harm.
Nothing in these files is ever executed; what a student's process answered stays data.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from grading.evidence import Evidence, from_dict
from grading.reasons import Note
from grading.results import ExerciseResult, Result, write_atomic, write_student
from grading.results import from_dict as row_from_dict
from grading.run import Limits

FORMAT = 1
RUN = "run.json"
CLASS = "class.json"
ANSWERS = "answers"
VERDICTS = "verdicts"
STUDENTS = "students"
CSV = "grades.csv"
POLICY = "policy.toml"
UNPACKED = "unpacked"
_CUTS = {"timeout", "deaf", "died", "full"}


class StoreError(Exception):
    """A folder that cannot hold these results; the text is the sentence to print."""


@dataclass(frozen=True)
class RunFacts:
    """What all rows of a folder have in common."""

    lab: str
    seed: int
    limits: Limits


@dataclass(frozen=True)
class StoredAnswers:
    """One notebook's answers.

    key: its name.  seed, lab: what was asked.  evidence: in the order of the lab's exercises.
    notes: what had to be repaired and what happened in the run.  rounds: see `grading.rounds`;
    empty when no run was needed.  sandbox: what stood around the runs.
    """

    key: str
    lab: str
    seed: int
    evidence: tuple[Evidence, ...]
    notes: tuple[Note, ...]
    rounds: tuple[dict[str, Any], ...]
    sandbox: str

    @property
    def seconds(self) -> float | None:
        """Wall clock of the runs; None when there was none."""
        return round(sum(one["seconds"] for one in self.rounds), 2) if self.rounds else None

    @property
    def was_cut_short(self) -> bool:
        """Whether a run met a limit or lost its kernel, so that another time may bring more."""
        kinds = {event[0] for one in self.rounds for event in one["events"]}
        return any(one["end"] != "done" for one in self.rounds) or bool(kinds & _CUTS)


class Store:
    """The folder of a class.  Reading gives None for what is not there, or not whole."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self, lab: str, seed: int | None, limits: Limits | None, default: Limits) -> RunFacts:
        """Make the folder, or take over what is said in it.  Raises StoreError.

        seed, limits: what was asked for; None takes the folder's own, or a new one.
        Of several that open a new folder at once, the first decides.
        """
        try:
            for name in (ANSWERS, VERDICTS, STUDENTS):
                (self.folder / name).mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise StoreError(f"Cannot make the folder {self.folder}: {error.strerror}.") from None
        drawn = secrets.randbelow(2**31) if seed is None else seed
        self._create(RunFacts(lab, drawn, limits or default))
        facts = self.facts()
        if facts.lab != lab:
            raise StoreError(
                f"{self.folder} holds results of {facts.lab}. Choose another folder for {lab}."
            )
        if seed is not None and seed != facts.seed:
            raise StoreError(
                f"{self.folder} was graded with --seed {facts.seed}, and all students of a class "
                f"get the same inputs. Choose another folder for --seed {seed}."
            )
        if limits is not None and limits != facts.limits:
            facts = RunFacts(lab, facts.seed, limits)
            write_atomic(self.folder / RUN, _facts_text(facts))
        return facts

    def facts(self) -> RunFacts:
        """Lab, seed and limits of the folder.  Raises StoreError when there are none."""
        data = _read(self.folder / RUN)
        try:
            return RunFacts(data["lab"], data["seed"], Limits(**data["limits"]))
        except (KeyError, TypeError):
            raise StoreError(f"{self.folder} holds no results: it has no {RUN}.") from None

    def _create(self, facts: RunFacts) -> None:
        """Write the facts unless they are there already."""
        handle, name = tempfile.mkstemp(dir=self.folder, prefix=".writing-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(_facts_text(facts))
        try:
            os.link(name, self.folder / RUN)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            if not (self.folder / RUN).exists():
                write_atomic(self.folder / RUN, _facts_text(facts))
        finally:
            os.unlink(name)

    # answers and verdicts ------------------------------------------------------------------

    def answers(self, key: str) -> StoredAnswers | None:
        """The answers of this name."""
        data = _read(self._path(ANSWERS, key))
        try:
            return StoredAnswers(
                key,
                data["lab"],
                data["seed"],
                tuple(from_dict(one) for one in data["evidence"]),
                tuple(Note(**one) for one in data["notes"]),
                tuple(data["rounds"]),
                data["sandbox"],
            )
        except (KeyError, TypeError):
            return None

    def save_answers(self, found: StoredAnswers) -> None:
        """Write answers under their name."""
        data = {
            "format": FORMAT,
            "lab": found.lab,
            "seed": found.seed,
            "sandbox": found.sandbox,
            "notes": [asdict(one) for one in found.notes],
            "rounds": list(found.rounds),
            "evidence": [one.to_dict() for one in found.evidence],
        }
        self._write(ANSWERS, found.key, data)

    def verdict(self, key: str) -> ExerciseResult | None:
        """The verdict of this name, without the cell and the source it was given on."""
        data = _read(self._path(VERDICTS, key))
        try:
            return ExerciseResult(**data)
        except TypeError:
            return None

    def save_verdict(self, key: str, result: ExerciseResult) -> None:
        """Write a verdict under its name."""
        self._write(VERDICTS, key, asdict(result) | {"cell": None, "source": ""})

    def _path(self, kind: str, key: str) -> Path:
        return self.folder / kind / key[:2] / f"{key}.json"

    def _write(self, kind: str, key: str, data: Any) -> None:
        path = self._path(kind, key)
        path.parent.mkdir(exist_ok=True, mode=0o700)
        write_atomic(path, json.dumps(data, allow_nan=False) + "\n")

    # rows ----------------------------------------------------------------------------------

    def row(self, identity: str) -> Result | None:
        """The row of one student."""
        data = _read(self.folder / STUDENTS / f"{identity}.json")
        try:
            return row_from_dict(data)
        except (KeyError, TypeError):
            return None

    def save_row(self, result: Result) -> None:
        """Write one student's row."""
        write_student(result, self.folder / STUDENTS)

    def members(self) -> list[str]:
        """Identities of the class in order; without a list those that have a row."""
        data = _read(self.folder / CLASS)
        if isinstance(data, dict) and isinstance(data.get("students"), list):
            return [str(one) for one in data["students"]]
        files = (self.folder / STUDENTS).glob("*.json")
        return sorted(path.stem for path in files if not path.name.startswith("."))

    def save_members(self, identities: Sequence[str]) -> None:
        """Write whose rows belong to the class."""
        write_atomic(self.folder / CLASS, json.dumps({"students": list(identities)}) + "\n")

    def rows(self) -> list[Result]:
        """The rows of the class that exist, in order."""
        found = (self.row(identity) for identity in self.members())
        return [one for one in found if one is not None]


def _facts_text(facts: RunFacts) -> str:
    return json.dumps({"format": FORMAT, **asdict(facts)}, indent=2) + "\n"


def _read(path: Path) -> Any:
    """The JSON of a file; {} when it is not there or not whole."""
    with contextlib.suppress(OSError, ValueError):
        return json.loads(path.read_text(encoding="utf-8"))
    return {}
