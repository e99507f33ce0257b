"""Judge answers: on the grader's side of the border, without executing the student's Python.

A kernel is run by the simulator from its text, on inputs drawn here.  A host function was run in
the student's process on inputs drawn here; only the values it returned are judged.
"""

from __future__ import annotations

import ast
import base64
import pickle
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from types import SimpleNamespace
from typing import Any

from grading import wire
from grading.answers import Answer, Answers
from grading.apart import TooSlow, apart, here
from grading.kernels import KernelSource, kernel_source, numba_kernel
from grading.lab import Exercise, Lab, LabError
from grading.reasons import Note, note
from grading.results import ExerciseResult
from grading.rounds import Gathered
from warpwise.check import (
    FunctionSpec,
    KernelSpec,
    Record,
    TritonSpec,
    ValueSpec,
    inputs_of,
    judge,
    judge_values,
    plain,
    todo,
)
from warpwise.simt import SimtError

# A check takes a few seconds at most; a kernel that needs this long never ends.
JUDGE_SECONDS = 30


@dataclass(frozen=True)
class Question:
    """An exercise with the student's answer, and what has to be asked in the student's process.

    request: for the probe; None when no run is needed.  settled: the result, when it is known
    without any.
    """

    exercise: Exercise
    answer: Answer | None = None
    kernel: KernelSource | None = None
    inputs: tuple[Any, ...] = ()
    request: dict[str, Any] | None = None
    settled: ExerciseResult | None = None


def question(exercise: Exercise, answers: Answers, lab: Lab, seed: int) -> Question:
    """What to ask for this exercise; inputs are drawn from `seed`."""
    answer = answers.found.get(exercise.answer)
    if answer is None:
        why = answers.missing[exercise.answer]
        return Question(exercise, settled=_settled(exercise, "missing", why))
    nothing = _todo(answer)
    if nothing:
        done = replace(_result(exercise, "todo", answer), message=nothing)
        return Question(exercise, answer, settled=done)
    return ASK[type(exercise.spec)](exercise, answer, answers, lab, seed)


def _ask_for_names(
    exercise: Exercise, answer: Answer, answers: Answers, lab: Lab, seed: int
) -> Question:
    """A kernel is run here; what its text does not tell of its constants is asked for."""
    if isinstance(exercise.spec, TritonSpec):
        from grading.tiles import tile_source as source  # Triton is slow to load
    else:
        source = kernel_source
    kernel = source(answer, answers.definitions, lab.definitions)
    if kernel is None:
        why = note("no-kernel", name=exercise.answer)
        return Question(exercise, answer, settled=_settled(exercise, "fail", why, answer))
    names = list(kernel.wanted)
    request = {"kind": "names", "names": names} if names else None
    return Question(exercise, answer, kernel, request=request)


def _ask_for_values(
    exercise: Exercise, answer: Answer, answers: Answers, lab: Lab, seed: int
) -> Question:
    """A function is called in the student's process on the inputs drawn here."""
    spec = exercise.spec
    inputs = tuple(inputs_of(spec, seed, "grader"))
    request: dict[str, Any] = {"kind": "function", "name": exercise.answer}
    if isinstance(spec, FunctionSpec) and spec.run is not None:
        # Towards the student's process a pickle is as good as plain data; never the other way.
        encoded: list[Any] = [base64.b64encode(pickle.dumps(one)).decode() for one in inputs]
        request |= {"kind": "run", "run": run_name(spec)}
    else:
        encoded = [wire.encode(arguments) for arguments in inputs]
    request["inputs"] = encoded
    return Question(exercise, answer, inputs=inputs, request=request)


def run_name(spec: FunctionSpec) -> str:
    """Where the student's process finds `spec.run`.  Raises LabError where it cannot."""
    module, name = getattr(spec.run, "__module__", ""), getattr(spec.run, "__qualname__", "")
    if not module.startswith("warpwise.") or module.startswith("warpwise.check") or "." in name:
        raise LabError(f"{spec.name} is run by {module}.{name}, which students do not have.")
    return f"{module}:{name}"


#: What is asked for, by kind of spec; a lab with another kind cannot be graded.
ASK: dict[type, Callable[[Exercise, Answer, Answers, Lab, int], Question]] = {
    KernelSpec: _ask_for_names,
    TritonSpec: _ask_for_names,
    FunctionSpec: _ask_for_values,
    ValueSpec: _ask_for_values,
}


def verdict(asked: Question, gathered: Gathered, seed: int) -> ExerciseResult:
    """The result of one exercise; status "error" where the judge itself failed."""
    if asked.settled is not None:
        return asked.settled
    exercise, answer = asked.exercise, asked.answer
    assert answer is not None
    try:
        if asked.kernel is not None:
            result = _kernel(asked, asked.kernel, gathered, seed)
        else:
            result = _values(asked, gathered, seed)
    except TooSlow:
        why = note("too-slow", name=exercise.answer, seconds=JUDGE_SECONDS)
        result = replace(_settled(exercise, "fail", why, answer), diagnosis="too_slow")
    except Exception:
        fault = traceback.format_exc()
        result = replace(_result(exercise, "error", answer), message=fault, reason="grader-error")
    text = asked.kernel.text if asked.kernel else answer.definition.text
    return replace(result, cell=answer.definition.cell, source=text)


def _kernel(asked: Question, source: KernelSource, gathered: Gathered, seed: int) -> ExerciseResult:
    """Run the kernel from its text and judge what it wrote."""
    exercise = asked.exercise
    constants: dict[str, Any] = {}
    if source.wanted:
        payload = gathered.payloads.get(exercise.name)
        if payload is None:
            return _no_answer(asked, gathered)
        for name in source.wanted:
            try:
                constants[name] = _constant(payload["names"].get(name))
            except (wire.WireError, KeyError):
                why = note("constant-unknown", name=exercise.answer, fact=name)
                return _settled(exercise, "no-answer", why, asked.answer)
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
        failed = _result(exercise, "fail", None)
        diagnosis = getattr(error, "diagnosis", None)
        return replace(failed, diagnosis=diagnosis, message=str(error))
    return _judged(exercise, judge(exercise.spec, kernel, seed, "grader"))


def _constant(entry: Any) -> Any:
    """The value of a name; where Triton wraps it, so again here."""
    value = wire.decode(_part(entry, "value"))
    if "constexpr" not in entry:
        return value
    import triton.language as tl

    return tl.constexpr(value)


def _values(asked: Question, gathered: Gathered, seed: int) -> ExerciseResult:
    """Judge the values that a host function returned in the student's process."""
    exercise, answer = asked.exercise, asked.answer
    payload = gathered.payloads.get(exercise.name)
    if payload is None or answer is None:
        return _no_answer(asked, gathered)
    outcomes = payload.get("values", [])
    if any(one == {"interrupted": 1} for one in outcomes):
        return _no_answer(asked, gathered)
    try:
        values = [_outcome(one) for one in outcomes]
    except wire.WireError:
        values = []
    inputs = asked.inputs
    if 0 < len(values) < len(inputs) and values[-1].get("last"):
        inputs = inputs[: len(values)]
    if len(values) != len(inputs):
        why = note("malformed-answers", name=exercise.answer)
        return _settled(exercise, "no-answer", why, answer)
    function = answer.definition.function
    names = [one.arg for one in function.args.args] if function else []
    judged = judge_values(
        exercise.spec, inputs, values, seed=seed, called=exercise.answer, names=names
    )
    if judged.status == "pass" and len(inputs) < len(asked.inputs):
        why = note("malformed-answers", name=exercise.answer)
        return _settled(exercise, "no-answer", why, answer)
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


def _no_answer(asked: Question, gathered: Gathered) -> ExerciseResult:
    """Why there is nothing to judge, in the most telling words there are."""
    exercise = asked.exercise
    if exercise.name in gathered.blamed:
        why = gathered.blamed[exercise.name]
    elif exercise.name in gathered.malformed:
        why = note("malformed-answers", name=exercise.answer)
    else:
        why = note("no-answer", name=exercise.answer)
    return _settled(exercise, "no-answer", why, asked.answer)


def _todo(answer: Answer) -> str | None:
    """Why this is no answer yet; read from the source."""
    function, value = answer.definition.function, answer.definition.value
    if function is not None:
        return todo.reason(SimpleNamespace(source=SimpleNamespace(tree=function)))
    if isinstance(value, ast.Constant) and (value.value is None or value.value is Ellipsis):
        return todo.NOTHING
    return None


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


def _result(exercise: Exercise, status: str, answer: Answer | None) -> ExerciseResult:
    cell = answer.definition.cell if answer else None
    source = answer.definition.text if answer else ""
    return ExerciseResult(exercise.name, status, 0.0, exercise.points, cell=cell, source=source)


def _settled(
    exercise: Exercise, status: str, why: Note, answer: Answer | None = None
) -> ExerciseResult:
    """A result without points, for a reason."""
    result = _result(exercise, status, answer)
    return replace(result, message=why.sentence, reason=why.reason)
