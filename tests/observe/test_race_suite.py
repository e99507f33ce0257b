"""Every fault of the race suite is found, with array, lines and threads; no twin has a finding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .launches import findings
from .programs import PROGRAMS
from .race_suite import CASES, Case


def arrays(case: Case) -> list[Any]:
    rng = np.random.default_rng(0)
    out, x, flag = (np.zeros(n, np.int32) for n in case.sizes)
    x[:] = rng.integers(1, 9, x.size)
    return [out, x, flag]


def summary(found: Any) -> set[str]:
    """A race as hazard:array:line:other line with its marks, else the kind."""
    marks = {"warning": "w", "error": "", "info": "="}
    said = set()
    for f in found:
        text = f"{f.hazard}:{f.array}:{f.line}:{f.other_line}"
        if f.kind != "race":
            said.add(f.kind)
        elif f.severity == "info":
            one_warp = f.threads[0][0] == f.threads[1][0] and len(
                {thread[0] // 32 for _, thread in f.threads}
            ) == 1  # fmt: skip
            said.add(text + ("w=" if one_warp else "="))
        else:
            said.add(text + marks[f.severity])
    return said


RIGHT = [(case, x) for case in (*CASES, *PROGRAMS) for x in case.right]
WRONG = [(case, x) for case in (*CASES, *PROGRAMS) for x in case.wrong]


def names(pairs: list[tuple[Case, str]]) -> list[str]:
    return [f"{case.name}: {' '.join(x.split())}" for case, x in pairs]


def test_the_suite_has_kernels_of_both_kinds() -> None:
    """At least a hundred of each."""
    assert len(RIGHT) >= 100
    assert len(WRONG) >= 100


@pytest.mark.parametrize(("case", "x"), RIGHT, ids=names(RIGHT))
def test_right_kernels_give_no_finding(case: Case, x: str) -> None:
    """Not one."""
    found = findings(case.text.replace("{x}", x), case.grid, case.block, *arrays(case))
    assert found == []


@pytest.mark.parametrize(("case", "x"), WRONG, ids=names(WRONG))
def test_wrong_kernels_give_theirs(case: Case, x: str) -> None:
    """The hazards with their array and both lines, and both threads."""
    found = findings(case.text.replace("{x}", x), case.grid, case.block, *arrays(case))
    expected = case.wrong[x]
    assert summary(found) == expected or (
        "..." in expected and summary(found) >= expected - {"..."}
    )
    for f in found:
        if f.kind == "race":
            assert len(f.threads) == 2
            assert f.threads[0] != f.threads[1]
