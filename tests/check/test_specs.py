"""The registry: every spec by name, ready to be judged."""

from __future__ import annotations

import sys
import types

import pytest

import warpwise
from tests.check.answers import GUARDED
from warpwise.check import (
    FunctionSpec,
    KernelSpec,
    TritonSpec,
    cases,
    hints,
    inputs_of,
    specs,
)  # fmt: skip

ALL = list(specs.all_specs().values())


def test_there_are_specs() -> None:
    """Without one, nothing below would be tested."""
    assert ALL


def test_specs_are_found_by_name_and_by_unit() -> None:
    """In the order of the tiers."""
    first = ALL[0]

    assert specs.get(first.name) is first
    assert first in specs.for_unit(first.unit)
    assert specs.for_unit("t9_99_none") == []


def test_an_unknown_name_raises_with_the_nearest() -> None:
    """A misspelt name is a sentence."""
    with pytest.raises(specs.UnknownExerciseError, match=f'Did you mean "{ALL[0].name}"'):
        specs.get(ALL[0].name[:-1])


def test_two_specs_of_one_name_are_refused(monkeypatch) -> None:
    """Names are unique in the whole course."""
    module = types.ModuleType("double")
    module.SPECS = [GUARDED, GUARDED]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "warpwise.check.specs.double", module)
    monkeypatch.setattr(
        specs.pkgutil, "iter_modules", lambda path: [types.SimpleNamespace(name="double")]
    )

    with pytest.raises(ValueError, match=r"^two exercises are called 'guarded'$"):
        specs.all_specs.__wrapped__()


def test_the_package_can_be_called() -> None:
    """`from warpwise import check` gives something to call, whatever was imported before."""
    assert callable(warpwise.check)
    assert sys.modules["warpwise.check"].judge is not None


@pytest.mark.parametrize("spec", ALL, ids=lambda spec: spec.name)
@pytest.mark.parametrize("level", ["student", "grader"])
def test_cases_are_drawn_from_the_seed_alone(spec, level) -> None:
    """Twice the same, smallest first, and the outputs are arguments."""
    if not isinstance(spec, KernelSpec | TritonSpec):
        assert repr(inputs_of(spec, 5, level)) == repr(inputs_of(spec, 5, level))
        return
    one, two = (list(spec.cases(cases.seeded(spec.name, 5, level), level)) for _ in range(2))

    assert repr(one) == repr(two)
    assert {tuple(case.args) for case in one} == {tuple(one[0].args)}
    assert set(spec.outputs) <= set(one[0].args)
    assert set(spec.inout) <= set(spec.outputs)


@pytest.mark.parametrize("spec", ALL, ids=lambda spec: spec.name)
def test_hints_have_two_levels(spec) -> None:
    """A vague and a plainer one, which differ; every suspect has a cause to say."""
    for slug, (vague, plain) in spec.hints.items():
        assert vague and plain and vague != plain, slug
    if isinstance(spec, KernelSpec | FunctionSpec | TritonSpec):
        assert set(spec.suspects) <= set(spec.causes)


def test_every_general_diagnosis_has_hints() -> None:
    """A pair for each slug that a check can give."""
    from warpwise.check.diagnoses import DIAGNOSES

    assert {slug for slug, _ in DIAGNOSES} <= set(hints.GENERAL)
    assert all(vague != plain for vague, plain in hints.GENERAL.values())
