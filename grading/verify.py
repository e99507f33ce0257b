"""Judge answers: on the grader's side of the border, without executing the student's Python.

A kernel is run by the simulator from its text, on inputs drawn here.  A host function was run in
the student's process on inputs drawn here; only the values it returned are judged.
"""

from __future__ import annotations

import ast
import signal
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from grading import wire
from grading.answers import Answer, Answers
from grading.kernels import KernelSource, has_plain_signatures, kernel_source
from grading.lab import Exercise, Lab
from grading.reasons import Note, note
from grading.results import ExerciseResult
from grading.rounds import Gathered
from warpwise.check import KernelSpec, Record, inputs_of, judge, judge_values, plain, todo
from warpwise.simt import Kernel, SimtError

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
    if isinstance(exercise.spec, KernelSpec):
        kernel = kernel_source(answer, answers.definitions, lab.definitions)
        if kernel is None:
            why = note("no-kernel", name=exercise.answer)
            return Question(exercise, answer, settled=_settled(exercise, "fail", why, answer))
        names = list(kernel.wanted)
        request = {"kind": "names", "names": names} if names else None
        return Question(exercise, answer, kernel, request=request)
    inputs = tuple(inputs_of(exercise.spec, seed, "grader"))
    encoded = [wire.encode(arguments) for arguments in inputs]
    request = {"kind": "function", "name": exercise.answer, "inputs": encoded}
    return Question(exercise, answer, inputs=inputs, request=request)


def verdict(asked: Question, gathered: Gathered, seed: int) -> ExerciseResult:
    """The result of one exercise; status "error" where the judge itself failed."""
    if asked.settled is not None:
        return asked.settled
    exercise, answer = asked.exercise, asked.answer
    assert answer is not None
    try:
        with _time_limit(JUDGE_SECONDS):
            if asked.kernel is not None:
                result = _kernel(asked, asked.kernel, gathered, seed)
            else:
                result = _values(asked, gathered, seed)
    except _TooSlow:
        why = note("too-slow", name=exercise.answer, seconds=JUDGE_SECONDS)
        result = replace(_settled(exercise, "fail", why, answer), diagnosis="too_slow")
    except Exception:
        fault = traceback.format_exc()
        result = replace(_result(exercise, "error", answer), message=fault, reason="grader-error")
    text = asked.kernel.text if asked.kernel else answer.definition.text
    return replace(result, cell=answer.definition.cell, source=text)


def _kernel(asked: Question, source: KernelSource, gathered: Gathered, seed: int) -> ExerciseResult:
    """Run the kernel from its text in the simulator and judge what it wrote."""
    exercise = asked.exercise
    constants = dict(source.literals)
    if source.wanted:
        payload = gathered.payloads.get(exercise.name)
        if payload is None:
            return _no_answer(asked, gathered)
        for name in source.wanted:
            try:
                constants[name] = wire.decode(_part(payload["names"].get(name), "value"))
            except (wire.WireError, KeyError):
                why = note("constant-unknown", name=exercise.answer, fact=name)
                return _settled(exercise, "no-answer", why, asked.answer)
    if not has_plain_signatures(source.text):
        why = note("odd-signature", name=exercise.answer)
        return _settled(exercise, "fail", why, asked.answer)
    try:
        kernel = Kernel.from_source(source.text, source.name, constants)
    except SimtError as error:
        failed = _result(exercise, "fail", asked.answer)
        return replace(failed, diagnosis=error.diagnosis, message=str(error))
    return _judged(exercise, judge(exercise.spec, kernel, seed, "grader"))


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
    if len(values) != len(asked.inputs):
        why = note("malformed-answers", name=exercise.answer)
        return _settled(exercise, "no-answer", why, answer)
    function = answer.definition.function
    names = [one.arg for one in function.args.args] if function else []
    judged = judge_values(
        exercise.spec, asked.inputs, values, seed=seed, called=exercise.answer, names=names
    )
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
    return {"returned": plain.encode(value)} | ({"changed": changed} if changed else {})


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


class _TooSlow(BaseException):
    """Not an Exception, so that nothing between the clock and here takes it for a fault."""


@contextmanager
def _time_limit(seconds: int) -> Iterator[None]:
    """Raise _TooSlow after `seconds`; only where signals can do it, and in the main thread."""
    usable = hasattr(signal, "setitimer")
    if not usable or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
