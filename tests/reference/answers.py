"""Stored answers of the reference, so that thousands of kernels can be checked in little time.

    python -m tests.reference.answers

writes answers.csv anew, in some ten minutes: for each seed a digest of the kernel's text, and one
of what the reference makes of it.  The fast tests run the simulator on FEW of these kernels, the
slow ones on all.  The reference itself runs only on those that are the day's turn, in the slow
tests, so that each answer is computed again every TURNS days.
"""

from __future__ import annotations

import csv
import hashlib
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from . import verdict, writer
from .writer import Case

FILE = Path(__file__).parent / "answers.csv"
SEEDS = range(1_000, 4_000)
FEW = SEEDS[:300]
TURNS = 75  # days; 40 answers a day


def case(seed: int) -> Case:
    return writer.case(seed, large=False)


def digest(outputs: list[Any]) -> str:
    """Of all outputs but the complex ones, which may differ by rounding; a NaN is a NaN."""
    total = hashlib.sha256()
    for name, values in zip(verdict.OUTPUTS, outputs, strict=False):
        if name != "out_z":
            values = np.where(values == values, values, np.zeros_like(values) + 1) + 0
            total.update(np.ascontiguousarray(values).tobytes())
    return total.hexdigest()[:16]


def of_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def stored() -> dict[int, tuple[str, str]]:
    """Seed -> (digest of the text, digest of the outputs)."""
    with FILE.open(newline="") as file:
        return {int(row["seed"]): (row["text"], row["outputs"]) for row in csv.DictReader(file)}


def turn_of(day: date) -> range:
    """The seeds whose answers the reference computes again on a day."""
    return SEEDS[day.toordinal() % TURNS :: TURNS]


def answer(seed: int) -> tuple[str, str]:
    """The same, computed by the reference."""
    found = case(seed)
    return of_text(found.text), digest(verdict.expected(found)[0])


def main() -> None:
    with FILE.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["seed", "text", "outputs"])
        for seed in SEEDS:
            rows.writerow([seed, *answer(seed)])


if __name__ == "__main__":
    main()
