"""Numba's own CUDA tests, run on the simulator, against the table of what is known to work.

The table changes only by its command (`numba_suite_table.UPDATE`): every change is looked at.
"""

from __future__ import annotations

import csv
from collections import Counter

import pytest

from tests.simt import numba_suite, numba_suite_reasons, numba_suite_table
from tests.simt.numba_suite_table import Report, Row

LEFT_OUT = numba_suite.missing()
installed = pytest.mark.skipif(bool(LEFT_OUT), reason=LEFT_OUT or "installed")
ALL = [] if LEFT_OUT else numba_suite.modules()
#: Short ones with barriers, warp functions, atomics, device functions and control flow.
FAST = ("cudapy.test_warp_ops", "cudapy.test_sync", "cudapy.test_ssa")

#: (outcome, file) -> kernels.  What the simulator is known to do wrongly with Numba's kernels.
FAULTS: dict[tuple[str, str], int] = {}


def _assert_as_in_the_table(module: str) -> None:
    changed = numba_suite_table.differences(numba_suite.run(module))
    advice = f"If all of this is meant:  {numba_suite_table.UPDATE}"
    assert not changed, "\n".join([*changed, advice])


@installed
@pytest.mark.parametrize("module", FAST)
def test_a_few_modules_are_as_in_the_table(module: str) -> None:
    """The kernels of short modules that span the language do what the table says."""
    _assert_as_in_the_table(module)


@installed
@pytest.mark.slow
@pytest.mark.parametrize("module", [name for name in ALL if name not in FAST])
def test_every_module_is_as_in_the_table(module: str) -> None:
    """The kernels of all other modules do, too."""
    _assert_as_in_the_table(module)


@installed
def test_the_table_covers_every_module_and_nothing_else() -> None:
    """Each module is run, or left out by name with a reason; each name left out is a real one."""
    _, tests = numba_suite_table.read()
    assert sorted(tests) == sorted(ALL)
    for part, reasons in numba_suite_reasons.OUT_OF_SCOPE.items():
        for names in reasons.values():
            for name in names.split():
                assert (numba_suite.folder() / part / f"test_{name}.py").exists(), name


def test_the_counts_are_those_of_the_kernels() -> None:
    """The counts by reason are the sums over the kernels."""
    rows, tests = numba_suite_table.read()
    assert len(rows) > 400
    with numba_suite_table.SUMMARY.open(newline="") as file:
        assert list(csv.reader(file))[1:] == numba_suite_table.summary(rows, tests)


def test_every_fault_in_the_table_is_known() -> None:
    """Writing the table anew cannot hide a fault: wrong answers and failures are named here."""
    rows, _ = numba_suite_table.read()
    faults = ("wrong", "internal", "accepted")
    found = Counter((row.outcome, row.file) for row in rows if row.outcome in faults)
    assert found == FAULTS


def test_a_kernel_that_stops_running_is_reported() -> None:
    """A passed kernel that is now refused comes first, with the reason."""
    rows, tests = numba_suite_table.read()
    module = "cudapy.test_warp_ops"
    own = [row for row in rows if row.module == module]
    at = next(k for k, row in enumerate(own) if row.outcome == "passed")
    changed: list[Row] = list(own)
    changed[at] = own[at]._replace(outcome="refused", reason="UnsupportedError: no")
    assert numba_suite_table.differences(Report(module, own, tests[module])) == []
    assert numba_suite_table.differences(Report(module, changed, tests[module])) == [
        f"{module}: {own[at].file}:{own[at].line} {own[at].kernel}: passed -> refused  "
        "UnsupportedError: no"
    ]


def test_a_wrong_answer_is_told_from_a_test_that_stops() -> None:
    """A failed comparison is a wrong answer; a missing part of the host API judges nothing."""
    launch = {"kernel": "k", "file": "f", "line": 1, "outcome": "ran", "reason": "", "expected": ""}
    unit = {"test": "t", "verdict": "failed", "where": "a:1:b < c:2:test_it", "attempts": [launch]}

    def outcome(kind: str, text: str) -> tuple[str, str]:
        found = {**unit, "kind": kind, "text": text}
        (row,) = numba_suite._rows("cudapy.test_x", [found])
        return row.outcome, row.reason

    assert outcome("AssertionError", "1 != 2") == ("wrong", "another answer in test_it")
    assert outcome("AttributeError", "'Kernel' object has no attribute 'inspect_asm'") == (
        "unjudged", "host API: Kernel.inspect_asm",
    )  # fmt: skip
    accepted = outcome("AssertionError", "TypingError not raised")
    assert accepted == ("accepted", "expects TypingError")
