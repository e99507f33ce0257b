"""A made-up class whose true scores are known, and what grading it should have given.

    DIR/submissions/    what the students handed in
    DIR/roster.csv      who they are
    DIR/truth.csv       the row that each must get

Most students hand in right and wrong answers that the course's own tests hold, some nothing, some
something broken or hostile (`grading.nasty`).  As in a real class many have the same notebook.
"""

from __future__ import annotations

import ast
import csv
import io
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grading.lab import Lab
from grading.material import IMPOSTOR, SOLUTION, TODO, VARIANT, Material, Text
from grading.nasty import ALL, BLANK, KINDS, WITHOUT_LAST, Draft, Files, Kind, as_bytes, as_notebook
from grading.reasons import GRADED
from grading.results import Result, number, write_atomic
from warpwise.check import FunctionSpec, ValueSpec

SUBMISSIONS, ROSTER, TRUTH = "submissions", "roster.csv", "truth.csv"
DISTINCT = 20
#: What a student who is neither perfect nor absent answers, and how often.
_MIX = {SOLUTION: 4, VARIANT: 2, IMPOSTOR: 3, TODO: 1}
_FIRST = (
    "Ada",
    "Zoë",
    "李",
    "Søren",
    "José",
    "Nguyễn",
    "O'Brien,",
    "=SUM(A1)",
    'the "one"',
    "Ольга",
)
_COLUMNS = ("student", "kind", "status", "reason", "points")


@dataclass(frozen=True)
class Truth:
    """The row that a student must get.

    reasons: one of these.  points: None for a row without any.
    exercises: name -> points; empty where nothing was judged.
    """

    student: str
    kind: str
    status: str
    reasons: tuple[str, ...]
    points: float | None
    exercises: Mapping[str, float]


@dataclass(frozen=True)
class Simulated:
    """files: path below the folder of submissions -> bytes, or a link's target."""

    files: Files
    roster: tuple[tuple[str, str], ...]
    truth: tuple[Truth, ...]
    left_out: tuple[str, ...]


def simulate(
    count: int, lab: Lab, made_of: Material, nasty: float, seed: int, distinct: int = DISTINCT
) -> Simulated:
    """A class of `count` students, of whom the part `nasty` (0 to 1) hands in something odd.

    distinct: how many different notebooks the others have.  The same arguments give the same class.
    left_out: kinds that would not show, because no answer to this lab needs a run.
    """
    chance = random.Random(f"{made_of.unit} {count} {nasty} {seed} {distinct}")
    kinds = [one for one in KINDS if not one.runs or needs_run(lab)]
    odd = set(chance.sample(range(count), round(count * nasty)))
    common = profiles(made_of, distinct, chance)
    right = made_of.draw(dict.fromkeys(made_of.points, SOLUTION), chance)
    wrong = made_of.draw(dict.fromkeys(made_of.points, IMPOSTOR), chance)
    wrong = {
        name: text if not text.is_right else made_of.answers[name][TODO][0]
        for name, text in wrong.items()
    }
    cycle = chance.sample(kinds, len(kinds))
    files: Files = {}
    roster, truth = [], []
    ordinary = turn = 0
    for place in range(count):
        student = f"s{place + 1:05d}"
        name = f"{_FIRST[place % len(_FIRST)]} Student {place + 1}"
        kind = None
        if place in odd:
            kind = cycle[turn % len(cycle)]
            turn += 1
            chosen = right if kind.right else wrong
            files |= kind.make(draft_of(made_of, chosen, student, name))
        else:
            # Each notebook once, then as chance has it.
            chosen = common[ordinary] if ordinary < len(common) else chance.choice(common)
            ordinary += 1
            files[f"{student}.ipynb"] = as_bytes(as_notebook(made_of.notebook(chosen), student))
        if kind is None or kind.listed:
            roster.append((student, name))
        truth.append(true_row(student, kind, chosen, made_of))
    left_out = tuple(one.name for one in KINDS if one not in kinds)
    return Simulated(files, tuple(roster), tuple(truth), left_out)


def needs_run(lab: Lab) -> bool:
    """Whether a right answer to some exercise has to be run in the student's process."""
    return any(isinstance(one.spec, (FunctionSpec, ValueSpec)) for one in lab.exercises)


def profiles(made_of: Material, count: int, chance: random.Random) -> list[dict[str, Text]]:
    """The solution, the lab as handed out, and mixtures."""
    names = list(made_of.points)
    found = [made_of.draw(dict.fromkeys(names, kind), chance) for kind in (SOLUTION, TODO)]
    while len(found) < count:
        kinds = chance.choices(list(_MIX), list(_MIX.values()), k=len(names))
        found.append(made_of.draw(dict(zip(names, kinds)), chance))
    return found[:count]


def draft_of(made_of: Material, chosen: Mapping[str, Text], student: str, name: str) -> Draft:
    """A notebook for something to happen to."""
    return Draft(student, name, made_of.unit, tuple(made_of.notebook(chosen)), last_of(made_of))


def last_of(made_of: Material) -> str:
    """The last exercise on a function that no other solution uses."""
    solutions = {name: kinds[SOLUTION][0] for name, kinds in made_of.answers.items()}
    for name in reversed(list(solutions)):
        body = ast.parse(solutions[name].source).body
        used = any(name in text.uses for other, text in solutions.items() if other != name)
        if not used and any(isinstance(n, ast.FunctionDef) and n.name == name for n in body):
            return name
    raise ValueError(f"Every function of {made_of.unit} is used by another exercise.")


def true_row(
    student: str, kind: Kind | None, chosen: Mapping[str, Text], made_of: Material
) -> Truth:
    """What a student deserves who answered `chosen` and handed it in as `kind`."""
    exercises = {
        name: made_of.points[name] if text.is_right else 0.0 for name, text in chosen.items()
    }
    if kind is None:
        return Truth(student, "", GRADED, ("",), sum(exercises.values()), exercises)
    if kind.points == BLANK:
        return Truth(student, kind.name, kind.status, kind.reasons, None, {})
    if kind.points == ALL or not kind.right:
        pass
    elif kind.points == WITHOUT_LAST:
        exercises[last_of(made_of)] = 0.0
    else:
        exercises = {}
    points = sum(exercises.values())
    return Truth(student, kind.name, kind.status, kind.reasons, points, exercises)


def write(group: Simulated, folder: Path) -> None:
    """Write the class below `folder`, the truth last.  Raises OSError, also where one is."""
    (folder / SUBMISSIONS).mkdir(parents=True)
    for name, content in group.files.items():
        path = folder / SUBMISSIONS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.symlink_to(content)
        else:
            path.write_bytes(content)
    head = [("student id", "name")]
    write_atomic(folder / ROSTER, _csv([*head, *group.roster]))
    exercises = list(dict.fromkeys(name for one in group.truth for name in one.exercises))
    rows = [
        (
            *(one.student, one.kind, one.status, "|".join(one.reasons), number(one.points)),
            *(number(one.exercises.get(name)) for name in exercises),
        )
        for one in group.truth
    ]
    write_atomic(folder / TRUTH, _csv([(*_COLUMNS, *exercises), *rows]))


def _csv(rows: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows(rows)
    return out.getvalue()


def read_truth(folder: Path) -> list[Truth]:
    """The truth that `write` wrote.  Raises OSError, and ValueError for another file."""
    with open(folder / TRUTH, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows or not set(_COLUMNS) <= set(rows[0]):
        raise ValueError(f"{folder / TRUTH} is not the truth about a class.")
    return [
        Truth(
            row["student"],
            row["kind"],
            row["status"],
            tuple(row["reason"].split("|")),
            float(row["points"]) if row["points"] else None,
            {name: float(row[name]) for name in row if name not in _COLUMNS and row[name]},
        )
        for row in rows
    ]


def differences(truth: Sequence[Truth], rows: Sequence[Result]) -> list[str]:
    """What the rows say that is not true, a line each; [] when every row is as it must be."""
    found, said = {one.student: one for one in rows}, []
    if len(found) < len(rows):
        said.append(f"{len(rows) - len(found)} students have more than one row.")
    for one in truth:
        row = found.pop(one.student, None)
        if row is None:
            said.append(f"{_called(one)}: there is no row.")
            continue
        said += [f"{_called(one)}: {line}" for line in _wrong(one, row)]
    said += [f"{name}: a row of nobody in the class." for name in found]
    return said


def _called(one: Truth) -> str:
    return f"{one.student} ({one.kind})" if one.kind else one.student


def _wrong(one: Truth, row: Result) -> list[str]:
    """How a row differs from the true one."""
    said: list[str] = []

    def same(what: str, got: str, wanted: Sequence[str]) -> None:
        if got not in wanted:
            said.append(f"{what} is {got or 'blank'}, true is {' or '.join(wanted) or 'blank'}")

    points = {exercise.exercise: exercise.points for exercise in row.exercises}
    same("status", row.status, [one.status])
    same("reason", row.reason, one.reasons)
    same("points", number(row.points), [number(one.points)])
    for name, wanted in one.exercises.items():
        same(name, number(points.get(name)), [number(wanted)])
    return said
