"""Every kind of exercise of the course can be graded."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from grading.course import load_lab
from grading.lab import LabError
from grading.questions import ASK, run_name
from warpwise import curriculum
from warpwise.check import FunctionSpec, specs
from warpwise.check.spec import Spec


def test_each_kind_of_spec_has_a_way() -> None:
    assert set(get_args(Spec)) == set(ASK)


@pytest.mark.parametrize("unit", [one.name for one in curriculum.load().written])
def test_each_written_lab_loads(unit: str) -> None:
    """Its specs are of known kinds, and students have what runs their answers."""
    lab = load_lab(unit)

    assert lab.max_points == curriculum.load().unit(unit).points


def test_a_kind_without_a_way_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    worth = {one.name: one.points for one in curriculum.load().unit("t1_01_threads").exercises}
    monkeypatch.setattr(specs, "get", lambda name: type("Other", (), {"points": worth[name]})())
    with pytest.raises(LabError, match="knows no way to judge"):
        load_lab("t1_01_threads")


def test_what_students_do_not_have_cannot_run_an_answer() -> None:
    spec = FunctionSpec("f", "toy", 1, lambda rng, level: [()], reference=lambda: 1)
    for run in (lambda answer, args: 1, test_each_kind_of_spec_has_a_way):
        with pytest.raises(LabError, match="which students do not have"):
            run_name(replace(spec, run=run))
