"""Names of results: two submissions with the same name have the same result.

answers   of a notebook's code, a lab as handed out, what runs it, a seed and limits
verdict   of evidence, the spec that judges it, and a seed
work      of a file, and all of the above: whoever has this row need not look at the file again
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from grading import fingerprint
from grading.evidence import Evidence
from grading.lab import Lab
from grading.parse import Parsed
from grading.questions import drawn, is_asked_for_values
from grading.run import Limits


@dataclass(frozen=True)
class Keys:
    """The names for one lab, seed and limits.

    run: digest of all that a run depends on, but for the student's code.
    specs: exercise -> digest of what judges it.
    """

    seed: int
    run: str
    specs: Mapping[str, str]

    def answers(self, parsed: Parsed) -> str:
        """The name of what comes back when these code cells are run and asked."""
        cells = [[cell.number, cell.source] for cell in parsed.cells]
        return fingerprint.digest("answers", self.run, cells, [one.reason for one in parsed.notes])

    def verdict(self, found: Evidence) -> str:
        """The name of the verdict on this evidence."""
        return fingerprint.digest("verdict", self.specs[found.exercise], self.seed, found.judged)

    def work(self, sha256: str) -> str:
        """The name of the row of a file with this content."""
        return fingerprint.digest("work", self.run, dict(self.specs), sha256)


def keys_of(lab: Lab, seed: int, limits: Limits) -> Keys:
    """The names for a lab, a seed and limits; the course's files are read once a process."""
    asked = {
        exercise.name: drawn(exercise, lab, seed).digest
        for exercise in lab.exercises
        if is_asked_for_values(exercise)
    }
    cells = [[cell.title, sorted(cell.tags), cell.source] for cell in lab.cells]
    names = [[exercise.name, exercise.answer] for exercise in lab.exercises]
    run = fingerprint.digest(
        lab.unit, cells, names, asked, seed, asdict(limits), fingerprint.library()
    )
    specs = {exercise.name: fingerprint.spec(exercise.spec) for exercise in lab.exercises}
    return Keys(seed, run, specs)
