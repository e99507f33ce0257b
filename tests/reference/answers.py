"""Stored answers of the reference, so that many kernels can be checked in little time.

    python -m tests.reference.answers

writes answers.csv anew: for each seed a digest of the kernel's text, and one of what the reference
makes of it.  The slow tests compute some of them again.
"""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from . import verdict, writer
from .writer import Case

FILE = Path(__file__).parent / "answers.csv"
SEEDS = range(1_000, 1_300)


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
