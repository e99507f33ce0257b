"""`python -m tests.benchmarks.grading [UNIT]`: what grading costs beside papermill alone.

Prints, measured on this machine: a notebook's own run by papermill, a submission graded by one
worker, their ratio, and how many submissions two workers grade in the time of one.
The three take turns, so that other work on the machine is in all of them.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from grading.course import load_lab
from grading.intake import Submission
from grading.pool import Pool
from grading.requests import Task
from grading.run import Limits
from warpwise import curriculum

ROUNDS = 5


def different(source: Path, folder: Path, name: str) -> Submission:
    """A copy of a notebook whose answers are nobody else's."""
    data = json.loads(source.read_text(encoding="utf-8"))
    code = next(cell for cell in data["cells"] if cell["cell_type"] == "code")
    code["source"] = f"# {name}\n" + "".join(code["source"])
    path = folder / f"{name}.ipynb"
    path.write_text(json.dumps(data), encoding="utf-8")
    return Submission(name, name, path)


def seconds(work: Callable[[], object]) -> float:
    """Wall clock of a call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def by_papermill(one: Submission, folder: Path) -> None:
    """A notebook's own run, with its checks, as a person would start it."""
    words = [sys.executable, "-m", "papermill", str(one.path), str(folder / "out.ipynb")]
    env = os.environ | {"WARPWISE_BACKEND": "sim"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([*words, "--cwd", str(folder)], check=True, env=env, **quiet)


def main(argv: list[str]) -> int:
    """Measure and print."""
    unit = curriculum.load().unit(argv[0] if argv else "t1_01_threads")
    lab = load_lab(unit.name)
    with tempfile.TemporaryDirectory() as name, Pool(lab, 1) as one, Pool(lab, 2) as two:
        folder = Path(name)
        made = iter(range(10**6))

        def graded(pool: Pool, count: int) -> float:
            several = [different(unit.solution, folder, f"s{next(made)}") for _ in range(count)]
            task = Task(7, Limits(seconds=10 * lab.seconds), folder / "out")
            return seconds(lambda: pool.grade(several, task, lambda result: None))

        for name in ("answers", "verdicts", "students"):
            (folder / "out" / name).mkdir(parents=True)
        graded(one, 1), graded(two, 4)  # workers load the lab, helpers are compiled
        own, single, double = [], [], []
        for _ in range(ROUNDS):
            notebook = different(unit.solution, folder, f"s{next(made)}")
            own.append(seconds(partial(by_papermill, notebook, folder)))
            single.append(graded(one, 2) / 2)
            double.append(graded(two, 4) / 4)
    load = os.getloadavg()[0]
    print(f"{unit.name}: medians of {ROUNDS} rounds, measured, load {load:.1f}")
    print(f"  its own run by papermill      {statistics.median(own):6.2f} s")
    print(f"  graded by one worker          {statistics.median(single):6.2f} s")
    print(f"  graded by two workers, each   {statistics.median(double):6.2f} s")
    ratios = [b / a for a, b in zip(own, single, strict=True)]
    print(f"  grading to papermill          {statistics.median(ratios):6.2f} times")
    gains = [a / b for a, b in zip(single, double, strict=True)]
    print(f"  two workers to one            {statistics.median(gains):6.2f} times")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
