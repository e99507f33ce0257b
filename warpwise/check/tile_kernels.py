"""Judging a Triton kernel: run every case, find the smallest that fails, say why.

Accesses outside an array come first, then values, stores between rows, two programs at one element,
and last what the kernel costs and what it compiles to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from . import hints, record, tile_diagnoses, todo, wording
from .cases import Case, Level, seeded
from .compiled import unlike
from .evidence import Evidence, gather
from .failure import Failure
from .kernels import changed_input, first_of, likeliest, more_than_shown
from .printed import Printed, caught
from .record import Record
from .report import Report, Row, listing
from .spec import CompiledFact, Traffic, TritonSpec
from .tile_runner import Launched, launch

ROWS = 4
#: Every answer has to be one that a GPU takes.
_COMPILES = (CompiledFact("sm_80", lambda code: None),)


def judge_tiles(spec: TritonSpec, answer: Any, seed: int, level: Level, hint: int = 1) -> Record:
    """Check a Triton kernel against its spec.  Raises only on a fault of ours."""
    from .. import tiles

    cases = list(spec.cases(seeded(spec.name, seed, level), level))
    if spec.counted is not None:
        cases.append(spec.counted())
    if not cases:
        raise ValueError(f"{spec.name} has no cases")
    params = tuple(cases[0].args)
    nothing = todo.reason(answer)
    if nothing:
        return _record(spec, "todo", Report(nothing), seed)
    try:
        jit, _ = tiles.as_jit(answer)
        wrong = _not_these(jit, params, cases[0])
    except tiles.TileError as error:
        if error.diagnosis == "absent":
            return _record(spec, "error", Report(str(error)), seed)
        jit, wrong = None, str(error)
    if jit is not None and todo.reason(jit.fn):
        return _record(spec, "todo", Report(str(todo.reason(jit.fn))), seed)
    if wrong:
        start = f"The lab starts with @triton.jit above def {spec.name}({', '.join(params)})."
        return _record(spec, "fail", Report(wrong, next=start), seed, "wrong_type")

    names = dict(zip(params, (one.name for one in jit.params), strict=True))
    failures: list[Failure] = []
    notes: dict[str, tuple[int, str]] = {}
    said: tuple[Case, Printed] | None = None
    done: Launched | None = None
    for case in cases:
        with caught() as printed:
            done = launch(answer, case, spec.poisoned)
        if done.run is not None:
            notes.update({k: v for k, v in done.run.notes.items() if k not in notes})
        failure = _examined(spec, case, done, names, jit.fn)
        if printed and (said is None or (failure and not failures)):
            said = (case, printed)
        if failure:
            failures.append(failure)
        if done.outcome.error is not None:
            break
    assert done is not None
    if not failures:  # where one is counted, it is the last case
        failures = _costly(spec, case, done, names) or _compiled(spec, case, jit, names)
    shown = listing(_where(jit, said[0], names), said[1]) if said else None
    texts = tuple(f"line {line}: {text}" for line, text in notes.values())
    if not failures:
        report = Report(_praise(spec, cases), printed=shown)
        return _record(spec, "pass", report, seed, None, texts, done.label)
    slug, first = likeliest(failures, spec)
    own = {**tile_diagnoses.HINTS, **spec.hints}
    report = Report(
        what=first.what, where=_where(jit, first.case, names), cells=first.cells,
        left_out=first.left_out, cause=first.fits[slug], printed=shown,
        **hints.shown(slug, own, hint, spec.name, jit.__name__),
    )  # fmt: skip
    return _record(spec, "fail", report, seed, slug, texts, done.label)


def _not_these(jit: Any, params: Sequence[str], case: Case) -> str | None:
    """A sentence where the kernel's parameters are not those that it is launched with."""
    own = [one.name for one in jit.params]
    if len(own) != len(params):
        return (
            f"{jit.__name__} has {wording.counted(len(own), 'parameter')} "
            f"({', '.join(own) or 'none'}); the exercise calls it with {len(params)}: "
            f"{', '.join(params)}."
        )
    arrays = [isinstance(case.args[name], np.ndarray) for name in params]
    for parameter, is_array in zip(jit.params, arrays, strict=True):
        if parameter.is_constexpr and is_array:
            return f"{parameter.name} is a pointer, and tl.constexpr is for constants."
    return wording.shuffled(own, params)


def _examined(
    spec: TritonSpec, case: Case, done: Launched, names: Mapping[str, str], function: Any
) -> Failure | None:
    """What is wrong with one launch; None when nothing is."""
    outcome = done.outcome
    if outcome.error is not None:
        slug = getattr(outcome.error, "diagnosis", "raised")
        fits = {slug: spec.causes.get(slug, "")}
        strided = tile_diagnoses.wrong_stride(case.args, names)
        if slug == "out_of_bounds" and strided and "has no mask" not in str(outcome.error):
            fits = {"wrong_stride": strided, **fits}
        return Failure(case, fits, str(outcome.error))
    changed = changed_input(spec, case, replace(outcome, census={}), names)
    if changed:
        return changed
    assert done.run is not None
    reference = spec.reference(case)
    for name in spec.outputs:
        evidence = gather(
            case, name, reference[name], outcome,
            spec.tolerance_of(outcome.arrays[name].dtype), names, name in spec.inout,
        )  # fmt: skip
        if evidence.wrong.any():
            return _wrong(spec, evidence, done.run.undefined, function)
    for name, count in done.strayed.items():
        text = tile_diagnoses.strayed(names[name], count)
        cause = tile_diagnoses.wrong_stride(case.args, names) or ""
        return Failure(case, {"stored_outside_rows": cause}, text)
    for finding in done.run.findings:
        cause = "The values are right here because programs run one after another on the CPU."
        return Failure(case, {finding.kind: cause}, finding.text, minor=True)
    return None


def _wrong(spec: TritonSpec, e: Evidence, undefined: Mapping[int, int], function: Any) -> Failure:
    guesses = {slug: mistake(e.case) for slug, mistake in spec.suspects.items()}
    suspects = {slug: guess[e.output] for slug, guess in guesses.items() if e.output in guess}
    rows: list[Row] = [("element", "got", "expected", "stored by")]
    for index in first_of(e.wrong):
        got, want = wording.told_apart(e.got[index], e.want[index].astype(e.got.dtype))
        if e.unwritten[index] and e.due[index]:
            got = "not stored"
        writer = int(e.census.writer[index]) if e.census else -1
        rows.append((
            wording.element(e.name, index), got, "left alone" if e.keep[index] else want,
            "nobody" if writer < 0 else _program(writer, e.case),
        ))  # fmt: skip
    verb = "is" if int(e.wrong.sum()) == 1 else "are"
    what = f"{wording.count_of(e.wrong, 'element')} of {e.name} {verb} wrong"
    if (e.wrong & e.written).any():
        what += f" (must be {e.tolerance})"
    fits = tile_diagnoses.fitting(e, suspects, spec.causes, undefined, function)
    return Failure(
        e.case, fits, what, tuple(rows), more_than_shown(e.wrong), int(e.due.sum()),
        partly=bool((e.due & ~e.wrong).any()), valued=True,
    )  # fmt: skip


def _program(linear: int, case: Case) -> str:
    """ "program 3", or "program (1, 2)" in a grid of several axes."""
    grid = wording.as_dims(case.grid)
    used = max(axis + 1 for axis in range(3) if axis == 0 or grid[axis] > 1)
    place = wording.unravel(linear, grid)[:used]
    return f"program {place[0] if used == 1 else place}"


def _costly(
    spec: TritonSpec, case: Case, done: Launched, names: Mapping[str, str]
) -> list[Failure]:
    """The first limit on traffic that is broken, with the lines that cost most."""
    run = done.run
    assert run is not None
    for one in spec.traffic:
        op = {"stored": "store", "atomic": "atomic"}.get(one.counter, "load")
        own = names.get(one.pointer, "")
        lines = [n for n in run.lines if n.op == op and own in ("", n.pointer)]
        cost, unit = _cost(run, one, own, lines)
        allowed = int(one.limit(case))
        if cost <= allowed:
            continue
        of = f" {'from' if op == 'load' else 'to'} {own}" if own else ""
        what = f"The values are right.  {cost:,} {unit}{of}, where at most {allowed:,} are allowed"
        rows: list[Row] = [("line", "bytes", "")]
        worst = sorted(lines, key=lambda n: -n.bytes)[:ROWS]
        rows += [(str(n.number), f"{n.bytes:,}", n.text) for n in worst]
        by_line = lines and one.counter in ("loaded", "stored", "atomic")
        cause = spec.causes.get(one.diagnosis, "An element that is moved twice counts twice.")
        return [Failure(case, {one.diagnosis: cause}, what, tuple(rows) if by_line else ())]
    return []


def _cost(run: Any, one: Traffic, own: str, lines: Sequence[Any]) -> tuple[int, str]:
    """(what a launch costs by one counter, its unit)."""
    if one.counter == "programs":
        return run.programs, "programs"
    if one.counter == "touched":
        found = run.touched(one.first)
        unit = f"different bytes loaded by the first {one.first} programs"
        return (found.get(own, 0) if own else sum(found.values())), unit
    return sum(line.bytes for line in lines), f"bytes {one.counter}"


def _compiled(spec: TritonSpec, case: Case, jit: Any, names: Mapping[str, str]) -> list[Failure]:
    """What the compiler refuses, or the first fact that its code does not have."""
    from ..compiler import compile_triton

    args = {names[name]: value for name, value in case.args.items()}
    cause = "The interpreter runs it as Python, but Triton's compiler refuses it."
    facts = spec.compiled or _COMPILES
    return unlike(facts, lambda arch: compile_triton(jit, args, arch), case, spec.causes, cause)


def _where(jit: Any, case: Case, names: Mapping[str, str]) -> str:
    """ "add[(3,)](out, x, y, n, BLOCK=64) with n = 133"."""
    constants = {one.name for one in jit.params if one.is_constexpr}
    shown = [f"{own}={case.args[name]}" if own in constants else own for name, own in names.items()]
    grid = tuple(case.grid) if isinstance(case.grid, tuple | list) else (case.grid,)
    facts = re.sub(r"^1 (\w+)s$", r"1 \1", case.describe(names))
    return f"{jit.__name__}[{grid}]({', '.join(shown)})" + (f" with {facts}" if facts else "")


def _praise(spec: TritonSpec, cases: Sequence[Case]) -> str:
    dtypes = {case.args[name].dtype.name: None for case in cases for name in spec.outputs}
    how = "; ".join(f"{name} {spec.tolerance_of(name)}" for name in dtypes)
    return f"Right in {wording.counted(len(cases), 'launch')} ({how})."


def _record(
    spec: TritonSpec, status: record.Status, report: Report, seed: int,
    diagnosis: str | None = None, findings: tuple[str, ...] = (), label: str = "",
) -> Record:  # fmt: skip
    return record.make(
        spec.name, spec.unit, status, spec.points, report, diagnosis=diagnosis, findings=findings,
        label=label, seed=seed,
    )  # fmt: skip
