"""Judge evidence: on the grader's side of the border, without executing the student's Python.

A kernel is run by the simulator from its text, on inputs drawn here.  A host function was run in
the student's process on inputs drawn here; only the values it returned are judged.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from grading import wire
from grading.apart import TooSlow, apart, here
from grading.evidence import Evidence, Settled
from grading.kernels import KernelSource, numba_kernel
from grading.lab import Exercise
from grading.reasons import Note, note
from grading.results import ExerciseResult
from warpwise.check import Record, TritonSpec, inputs_of, judge, judge_values, plain
from warpwise.simt import SimtError

# A check takes a few seconds at most; a kernel that needs this long never ends.
JUDGE_SECONDS = 30


def verdict(exercise: Exercise, found: Evidence, seed: int) -> ExerciseResult:
    """The result of one exercise; status "error" where the judge itself failed.

    seed: the one that the inputs in `found` were drawn from.
    """
    try:
        result = _verdict(exercise, found, seed)
    except TooSlow:
        why = note("too-slow", name=exercise.answer, seconds=JUDGE_SECONDS)
        result = replace(_noted(exercise, "fail", why), diagnosis="too_slow")
    except Exception:
        fault = Settled("error", "grader-error", traceback.format_exc())
        result = _without_points(exercise, fault)
    return replace(result, cell=found.cell, source=found.source)


def _verdict(exercise: Exercise, found: Evidence, seed: int) -> ExerciseResult:
    if found.settled is not None:
        return _without_points(exercise, found.settled)
    if found.kernel is not None:
        return _kernel(exercise, found, seed)
    return _values(exercise, found, seed)


def _kernel(exercise: Exercise, found: Evidence, seed: int) -> ExerciseResult:
    """Run the kernel from its text and judge what it wrote."""
    assert found.kernel is not None
    source = found.kernel.source()
    constants: dict[str, Any] = {}
    for name in source.wanted:
        try:
            constants[name] = _constant(found.constants.get(name))
        except wire.WireError:
            why = note("constant-unknown", name=exercise.answer, fact=name)
            return _noted(exercise, "no-answer", why)
    within = apart if isinstance(exercise.spec, TritonSpec) else here
    judged = within(lambda: asdict(_run(exercise, source, constants, seed)), JUDGE_SECONDS)
    return ExerciseResult(**judged)


def _run(
    exercise: Exercise, source: KernelSource, constants: dict[str, Any], seed: int
) -> ExerciseResult:
    """Build and judge a kernel."""
    stops: tuple[type[Exception], ...] = (SimtError,)
    build: Callable[[KernelSource, dict[str, Any]], Any] = numba_kernel
    if isinstance(exercise.spec, TritonSpec):
        from grading.tiles import TileError, tile_kernel

        stops, build = (TileError,), tile_kernel
    try:
        kernel = build(source, constants)
    except stops as error:
        failed = _without_points(exercise, Settled("fail", "", str(error)))
        return replace(failed, diagnosis=getattr(error, "diagnosis", None))
    return _judged(exercise, judge(exercise.spec, kernel, seed, "grader"))


def _constant(entry: Any) -> Any:
    """The value of a name; where Triton wraps it, so again here."""
    value = wire.decode(_part(entry, "value"))
    if "constexpr" not in entry:
        return value
    import triton.language as tl

    return tl.constexpr(value)


def _values(exercise: Exercise, found: Evidence, seed: int) -> ExerciseResult:
    """Judge the values that a host function returned in the student's process."""
    try:
        values = [_outcome(one) for one in found.outcomes or ()]
    except wire.WireError:
        values = []
    every = inputs_of(exercise.spec, seed, "grader")
    inputs = every
    if 0 < len(values) < len(every) and values[-1].get("last"):
        inputs = every[: len(values)]
    malformed = note("malformed-answers", name=exercise.answer)
    if len(values) != len(inputs):
        return _noted(exercise, "no-answer", malformed)
    judged = judge_values(
        exercise.spec, inputs, values, seed=seed, called=exercise.answer, names=found.parameters
    )
    if judged.status == "pass" and len(inputs) < len(every):
        return _noted(exercise, "no-answer", malformed)
    return _judged(exercise, judged)


def _outcome(entry: Any) -> plain.Outcome:
    """One outcome of the probe in the judge's own form.  Raises WireError for anything else."""
    if not isinstance(entry, dict):
        raise wire.WireError("not an outcome")
    if set(entry) == {"raised"}:
        said = entry["raised"]
        if not (isinstance(said, list) and [type(part) for part in said] == [str, str, int, str]):
            raise wire.WireError("not an error")
        kind, text, line_text = (_printable(said[k]) for k in (0, 1, 3))
        return {"raised": kind, "text": text, "line": said[2], "line_text": line_text}
    if set(entry) == {"not_plain"}:
        return {"returned": {"opaque": _printable(str(entry["not_plain"]))[:80]}}
    changed = entry.get("changed", [])
    if not isinstance(changed, list) or not all(type(k) is int and k >= 0 for k in changed):
        raise wire.WireError("not a list of arguments")
    value = wire.decode(_part(entry, "value"))
    found = {"returned": plain.encode(value)} | ({"changed": changed} if changed else {})
    return found | ({"last": True} if plain.is_last(value) else {})


def _part(entry: Any, key: str) -> Any:
    if not isinstance(entry, dict) or key not in entry:
        raise wire.WireError("not an outcome")
    return entry[key]


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)[:400]


def _judged(exercise: Exercise, record: Record) -> ExerciseResult:
    """A judge's record as a result; the most it can bring is the spec's."""
    return ExerciseResult(
        exercise=exercise.name,
        status=record.status,
        points=min(float(record.points), exercise.points),
        max_points=exercise.points,
        diagnosis=record.diagnosis,
        message=record.message,
        label=record.label,
        reason="grader-error" if record.status == "error" else "",
    )


def _without_points(exercise: Exercise, why: Settled) -> ExerciseResult:
    """A result without points, for a reason."""
    return ExerciseResult(
        exercise.name, why.status, 0.0, exercise.points, message=why.message, reason=why.reason
    )


def _noted(exercise: Exercise, status: str, why: Note) -> ExerciseResult:
    return _without_points(exercise, Settled(status, why.reason, why.sentence))
