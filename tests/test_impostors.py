"""The checks are checked: impostors fail for the right reason, variants and solutions pass."""

from __future__ import annotations

import importlib
import json
import os
from typing import Any

import numpy as np
import pytest

from tests.impostors import Impostor
from tests.variants import Variant
from warpwise import curriculum
from warpwise.authoring import build_full, build_lab, read_source
from warpwise.authoring.answers import answers_of, run_cells
from warpwise.authoring.baselines import baseline_of
from warpwise.check import KernelSpec, TritonSpec, judge, specs
from warpwise.check.requirements import path_of
from warpwise.compiler import compile_kernel, toolchain
from warpwise.curriculum import Unit
from warpwise.simt.device_functions import DeviceFunction
from warpwise.simt.mma import Mma

UNITS = curriculum.load().written
FEWEST_IMPOSTORS = 10
FEWEST_VARIANTS = 3


def marked(folder: str, kind: type, unit: Unit) -> list[Any]:
    """What the unit's module under tests/ marks as impostors or variants, in order."""
    try:
        module = importlib.import_module(f"tests.{folder}.{unit.name}")
    except ModuleNotFoundError as error:
        if error.name != f"tests.{folder}.{unit.name}":
            raise
        return []
    return [value for value in vars(module).values() if isinstance(value, kind)]


IMPOSTORS = [(unit.name, one) for unit in UNITS for one in marked("impostors", Impostor, unit)]
VARIANTS = [(unit.name, one) for unit in UNITS for one in marked("variants", Variant, unit)]
EXERCISES = [(unit, exercise) for unit in UNITS for exercise in unit.exercises]
STUDENT, GRADER = [("student", 0), ("student", 20260)], [("grader", 0), ("grader", 1)]
DRAWS = STUDENT + GRADER
#: ALL_DRAWS=1 judges every answer on all of them; else they take turns.
ALL = bool(os.environ.get("ALL_DRAWS"))


def drawn(answers: list[tuple[str, Any]]) -> list[Any]:
    """(unit, answer, draws): each answer on one draw or all, and every eighth in the fast part."""
    made = []
    for number, (unit, one) in enumerate(answers):
        name = f"{unit}-{name_of(one)}"
        if number % 8 == 0:
            made.append(pytest.param(unit, one, DRAWS[:1], id=f"{name}-once"))
        # The first draw of every eighth is the fast part's.
        turn = number % 4 if number % 8 else 1 + number // 8 % 3
        draws = DRAWS if ALL else [DRAWS[turn]]
        made.append(pytest.param(unit, one, draws, id=f"{name}-drawn", marks=pytest.mark.slow))
    return made


ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_120")


def name_of(value: Any) -> str:
    """Test ids: t1_01_threads-guarded_add-no_guard."""
    if isinstance(value, Impostor | Variant):
        return f"{value.exercise}-{value.name}"
    return value.name if hasattr(value, "name") else str(value)


def need(spec: Any) -> None:
    """Skip where an exercise cannot be judged."""
    if isinstance(spec, TritonSpec):
        pytest.importorskip("triton", reason="Triton has wheels for Linux only")
    if isinstance(spec, KernelSpec) and spec.compiled:
        pytest.importorskip("numba.cuda.compiler", reason="numba-cuda has no wheel for this system")
        if toolchain.tool("nvdisasm") is None:
            pytest.skip("machine code cannot be read: nvdisasm comes with Triton, for Linux only")


def test_there_are_written_units() -> None:
    """Without a written unit nothing below would be tested."""
    assert UNITS
    assert IMPOSTORS
    assert VARIANTS


@pytest.mark.parametrize("unit", UNITS, ids=name_of)
def test_specs_are_those_of_the_curriculum(unit: Unit) -> None:
    """Each exercise has one spec with the same points, and no spec is left over."""
    found = [(spec.name, spec.points) for spec in specs.for_unit(unit.name)]

    assert [(exercise.name, exercise.points) for exercise in unit.exercises] == found


@pytest.mark.parametrize("unit", UNITS, ids=name_of)
def test_a_unit_brings_enough_wrong_and_right_answers(unit: Unit) -> None:
    """At least ten impostors and three variants, at least one of each for each exercise."""
    impostors = marked("impostors", Impostor, unit)
    variants = marked("variants", Variant, unit)

    assert len(impostors) >= FEWEST_IMPOSTORS
    assert len(variants) >= FEWEST_VARIANTS
    assert {one.exercise for one in impostors} == {exercise.name for exercise in unit.exercises}
    assert {one.exercise for one in variants} == {exercise.name for exercise in unit.exercises}


@pytest.mark.parametrize(("unit", "impostor", "draws"), drawn(IMPOSTORS))
def test_an_impostor_is_rejected_with_its_diagnosis(
    unit: str, impostor: Impostor, draws: list[Any]
) -> None:
    """Whatever the seed, at both levels, and the message says where to look."""
    spec = specs.get(impostor.exercise)
    need(spec)

    for level, seed in draws:
        record = judge(spec, impostor.answer, seed, level)

        assert (record.status, record.diagnosis) == ("fail", impostor.diagnosis), (
            f"{level}, seed {seed}:\n{record.message}"
        )
        assert "  next   " in record.message


@pytest.mark.parametrize(("unit", "variant", "draws"), drawn(VARIANTS))
def test_a_variant_passes(unit: str, variant: Variant, draws: list[Any]) -> None:
    """Whatever the seed, at both levels."""
    spec = specs.get(variant.exercise)
    need(spec)

    for level, seed in draws:
        record = judge(spec, variant.answer, seed, level)

        assert record.status == "pass", f"{level}, seed {seed}:\n{record.message}"


def solved(unit: Unit) -> tuple[dict[str, Any], str]:
    """The names of the solution notebook, and the text of its answers."""
    cells = read_source(unit.lab_source)
    text = "\n\n".join(cell.source for cell in cells if "exercise" in cell.tags)
    return run_cells(build_full(cells), f"{unit.name} solution"), text


# The notebooks' tests run every solution as a learner, the grader's as a hand-in.
@pytest.mark.parametrize("unit", UNITS if ALL else UNITS[::4], ids=name_of)
def test_the_solution_passes(unit: Unit) -> None:
    """Every answer of the solution notebook, as a learner's check judges it."""
    names, _ = solved(unit)

    for exercise in unit.exercises:
        record = judge(specs.get(exercise.name), names[exercise.name], 0, "student")
        assert record.status == "pass", record.message


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS if ALL else UNITS[2::4], ids=name_of)
def test_the_solution_passes_at_the_graders_level(unit: Unit) -> None:
    """Also a kernel taken from its text alone."""
    from warpwise.simt import Kernel

    names, text = solved(unit)
    kept = int | float | Mma | DeviceFunction
    constants = {name: value for name, value in names.items() if isinstance(value, kept)}

    for exercise in unit.exercises:
        spec = specs.get(exercise.name)
        for level, seed in DRAWS[1:] if ALL else GRADER[:1]:
            record = judge(spec, names[exercise.name], seed, level)
            assert record.status == "pass", record.message
        if isinstance(spec, KernelSpec):
            record = judge(spec, Kernel.from_source(text, exercise.name, constants), 0, "grader")
            assert record.status == "pass", record.message


@pytest.mark.parametrize("unit", UNITS, ids=name_of)
def test_the_baseline_is_what_the_solutions_cost(unit: Unit) -> None:
    """The committed counters are those of a fresh count; `make build` writes them."""
    path = path_of(unit.name)
    committed = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}

    assert committed == baseline_of(unit)


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS, ids=name_of)
def test_the_solutions_compile_for_real_gpus(unit: Unit) -> None:
    """Every kernel of a solution, with the arguments of its first case, for four architectures."""
    pytest.importorskip("numba.cuda.compiler", reason="numba-cuda has no wheel for this system")
    names = answers_of(unit)
    kernels = [spec for spec in specs.for_unit(unit.name) if isinstance(spec, KernelSpec)]
    for spec in kernels:
        case = next(iter(spec.cases(np.random.default_rng(0), "student")))
        called = names[spec.name].py_func.__code__.co_names
        matrix = any(name.startswith("mma_") for name in called)  # since compute capability 8.0
        for arch in ARCHITECTURES[1:] if matrix else ARCHITECTURES:
            compiled = compile_kernel(names[spec.name], tuple(case.args.values()), arch)
            assert compiled.spills == 0 and compiled.registers < 256


@pytest.mark.parametrize("unit", UNITS, ids=name_of)
def test_a_hole_is_todo(unit: Unit) -> None:
    """An untouched lab is to do, exercise by exercise, and nothing of it is launched."""
    names = run_cells(build_lab(read_source(unit.lab_source)), f"{unit.name} lab")

    for exercise in unit.exercises:
        record = judge(specs.get(exercise.name), names[exercise.name])
        assert (record.status, record.points) == ("todo", 0)
