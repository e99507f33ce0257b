"""Numba's own CUDA tests as a yardstick: which of their kernels the simulator runs, and how well.

    python -m tests.simt.numba_suite                      what the table says
    python -m tests.simt.numba_suite --update             run all and write the table (minutes)
    python -m tests.simt.numba_suite --update MODULE...   the same for some, as cudapy.test_sync

The tests come with the installed numba-cuda; nothing of them is kept here but names and lines.

Glossary, outcomes of a kernel
    passed    it ran, and the tests around it passed
    partly    the same, but with some arguments it was refused
    wrong     it ran, and a test found another answer: a fault of the simulator
    accepted  it ran, where Numba raises an error
    refused   the simulator said what it does not support
    as Numba  the simulator refused what the test expects Numba to refuse
    internal  the simulator itself failed
    unjudged  it ran, and no test that could judge it came to its end (`reason` says where it stops)
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from tests.simt.numba_suite_reasons import FAILS_TOO, OUT_OF_SCOPE, plain, why
from tests.simt.numba_suite_table import VERSION, Report, Row, read, show, write

ROOT = Path(__file__).resolve().parents[2]
TIME_LIMIT_S = 300


def missing() -> str:
    """Why there is nothing to run here; empty when there is."""
    if importlib.util.find_spec("numba_cuda") is None:
        return "numba-cuda is not installed"
    if not folder().is_dir():
        return "this numba-cuda comes without its tests"
    found = metadata.version("numba-cuda")
    return "" if found == VERSION else f"the table is for numba-cuda {VERSION}, this is {found}"


def folder() -> Path:
    """Where numba-cuda keeps its tests."""
    spec = importlib.util.find_spec("numba_cuda")
    origin = spec.origin if spec else None
    return Path(origin or ".").parent / "numba" / "cuda" / "tests"


def modules() -> list[str]:
    """The modules that are run, as `cudapy.test_sync`."""
    left_out = {
        f"{part}.test_{name}"
        for part, reasons in OUT_OF_SCOPE.items()
        for names in reasons.values()
        for name in names.split()
    }
    found = [
        f"{part}.{path.stem}"
        for part in ("cudapy", "cudadrv", "doc_examples")
        for path in sorted((folder() / part).glob("test_*.py"))
    ]
    return [name for name in found if name not in left_out]


def run(module: str) -> Report:
    """Run one module in a process of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "out.json"
        command = [sys.executable, "-m", "tests.simt.numba_suite_worker"]
        done = subprocess.run(
            [*command, f"numba.cuda.tests.{module}", str(out)],
            cwd=ROOT, check=False, capture_output=True, text=True, timeout=TIME_LIMIT_S,
            env={**os.environ, "TMPDIR": scratch, "PYTHONHASHSEED": "0"},
        )  # fmt: skip
        if not out.exists():
            raise RuntimeError(f"{module}: the process ended early.\n{done.stderr[-2000:]}")
        found = json.loads(out.read_text())
    if found["error"]:
        return Report(module, [], Counter({("not imported", plain(found["error"])): 1}))
    return Report(module, list(_rows(module, found["units"])), _tests(found["units"]))


def _rows(module: str, units: list[dict[str, Any]]) -> Iterator[Row]:
    seen: dict[tuple[str, int, str], list[tuple[str, str]]] = defaultdict(list)
    for unit in units:
        clean = all(one["outcome"] == "ran" for one in unit["attempts"])
        for one in unit["attempts"]:
            own = one["file"].startswith("<")
            key = (module.split(".")[1] if own else one["file"], one["line"], one["kernel"])
            seen[key].append(_judge(one, unit, clean))
    for key, judged in sorted(seen.items()):
        yield Row(module, *key, *_sum_up(judged))


def _judge(one: dict[str, Any], unit: dict[str, Any], clean: bool) -> tuple[str, str]:
    """(outcome, reason) of one launch in one test."""
    if one["outcome"] == "internal":
        return "internal", plain(one["reason"])
    if one["outcome"] == "refused":
        fails_too = unit["text"] == FAILS_TOO  # the test is marked as one that Numba fails
        return ("as Numba" if one["expected"] or fails_too else "refused"), plain(one["reason"])
    if unit["verdict"] == "passed":
        return "passed", ""
    if unit["verdict"] == "skipped":
        return "unjudged", plain(unit["text"])
    if not clean:
        return "unjudged", "another launch of its test is refused"
    reason = why(unit)
    if reason.startswith("expects "):
        return "accepted", reason
    judged = unit["kind"] == "AssertionError" and not reason.startswith("host API")
    return ("wrong" if judged else "unjudged"), reason


def _sum_up(judged: list[tuple[str, str]]) -> tuple[str, str]:
    """The outcome of a kernel over all its launches: the worst one counts."""
    reasons = dict(reversed(judged))  # of each outcome the first reason
    if "passed" in reasons and "refused" in reasons and not {"wrong", "internal"} & set(reasons):
        return "partly", reasons["refused"]
    order = ("internal", "wrong", "accepted", "passed", "refused", "as Numba", "unjudged")
    outcome = next(name for name in order if name in reasons)
    return outcome, reasons[outcome]


def _tests(units: list[dict[str, Any]]) -> Counter[tuple[str, str]]:
    """Verdicts of whole tests: a failing subtest fails its test."""
    tests: dict[str, tuple[str, str]] = {}
    for unit in units:
        verdict = unit["verdict"]
        reason = "" if verdict == "passed" else why(unit)
        if unit["test"] != "import" and tests.get(unit["test"], ("passed",))[0] != "failed":
            tests[unit["test"]] = (verdict, reason)
    return Counter(tests.values())


def main(arguments: list[str]) -> None:
    """Show the table, or with --update make it."""
    if arguments[:1] == ["--update"]:
        if reason := missing():
            sys.exit(reason)
        again = arguments[1:] or modules()
        rows, tests = read() if arguments[1:] else ([], {})
        reports = []
        for module in modules():
            if module in again:
                print(module, flush=True)
                reports.append(run(module))
            elif module in tests:
                own = [row for row in rows if row.module == module]
                reports.append(Report(module, own, tests[module]))
        write(reports)
    elif arguments:
        sys.exit(__doc__)
    print(show(read()[0]))


if __name__ == "__main__":
    main(sys.argv[1:])
