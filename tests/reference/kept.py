"""Kernels that once failed, kept as files that a test runs again.

    python -m tests.reference.kept 1000 2000

runs the random kernels of these seeds; what fails is made small and kept in tests/kernels/.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import replace
from pathlib import Path

from warpwise.simt import SimtError

from .memory import Fault
from .races import races
from .shrink import shrink
from .typed import Refused
from .verdict import compare, expected
from .writer import Case, case

FOLDER = Path(__file__).parents[1] / "kernels"


def failure(case: Case) -> str:
    """How the simulator fails a case; empty when it does not, or when there is no one answer."""
    try:
        trace = expected(case)[1]
    except (Fault, SyntaxError):
        return ""
    except Refused:
        return compare(case)
    if trace.unset or races(trace):
        return ""
    try:
        return compare(case)
    except SimtError as error:
        return f"{type(error).__name__}: {error}"


def smallest(case: Case, seconds: float = 60) -> Case:
    """A small case that fails in the same way: a wrong value, or the same kind of error."""
    way = failure(case).split(":")[0]

    def fails(text: str) -> bool:
        try:
            return failure(replace(case, text=text)).split(":")[0] == way
        except Exception:  # a text that the reference does not know either
            return False

    return replace(case, text=shrink(case.text, fails, seconds))


def keep(case: Case, why: str) -> Path:
    """Write a case as a file."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"seed_{case.seed}.py"
    head = f"# {why.splitlines()[0]}\n# launch: {(case.seed, case.grid, case.block)!r}\n"
    path.write_text(head + case.text.strip() + "\n")
    return path


def load(path: Path) -> Case:
    """The case of a file."""
    text = path.read_text()
    launch = next(line for line in text.splitlines() if line.startswith("# launch: "))
    seed, grid, block = ast.literal_eval(launch.removeprefix("# launch: "))
    return Case(seed, text, grid, block)


def main(first: int, last: int) -> None:
    for seed in range(first, last):
        found = case(seed)
        why = failure(found)
        if why:
            small = smallest(found)
            print(f"seed {seed}: {why}\n{small.text}\nkept in {keep(small, why)}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
