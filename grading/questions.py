"""What has to be asked in the student's process so that an exercise can be judged.

A kernel is run by the verifier from its text; only constants that the text does not spell out are
asked for.  A host function is called in the student's process, on inputs drawn here.
"""

from __future__ import annotations

import ast
import base64
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from grading import fingerprint, wire
from grading.answers import Answer, Answers
from grading.kernels import KernelSource, kernel_source
from grading.lab import Exercise, Lab, LabError
from grading.reasons import note
from warpwise.check import FunctionSpec, KernelSpec, TritonSpec, ValueSpec, inputs_of, todo


@dataclass(frozen=True)
class Question:
    """An exercise with the student's answer, and what has to be asked in the student's process.

    request: for the probe; None when no run is needed.  inputs: digest of the inputs in it.
    settled: (status, reason, message), when the case is clear without any.
    """

    exercise: Exercise
    answer: Answer | None = None
    kernel: KernelSource | None = None
    inputs: str = ""
    request: dict[str, Any] | None = None
    settled: tuple[str, str, str] | None = None


@dataclass(frozen=True)
class Drawn:
    """Inputs of an exercise as they go to the student's process, and their digest."""

    encoded: list[Any]
    digest: str


def question(exercise: Exercise, answers: Answers, lab: Lab, seed: int) -> Question:
    """What to ask for this exercise; inputs are drawn from `seed`."""
    answer = answers.found.get(exercise.answer)
    if answer is None:
        why = answers.missing[exercise.answer]
        return Question(exercise, settled=("missing", why.reason, why.sentence))
    nothing = _todo(answer)
    if nothing:
        return Question(exercise, answer, settled=("todo", "", nothing))
    return ASK[type(exercise.spec)](exercise, answer, answers, lab, seed)


def _todo(answer: Answer) -> str | None:
    """Why this is no answer yet; read from the source."""
    function, value = answer.definition.function, answer.definition.value
    if function is not None:
        return todo.reason(SimpleNamespace(source=SimpleNamespace(tree=function)))
    if isinstance(value, ast.Constant) and (value.value is None or value.value is Ellipsis):
        return todo.NOTHING
    return None


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
        return Question(exercise, answer, settled=("fail", why.reason, why.sentence))
    names = list(kernel.wanted)
    request = {"kind": "names", "names": names} if names else None
    return Question(exercise, answer, kernel, request=request)


def _ask_for_values(
    exercise: Exercise, answer: Answer, answers: Answers, lab: Lab, seed: int
) -> Question:
    """A function is called in the student's process on the inputs drawn here."""
    spec, inputs = exercise.spec, drawn(exercise, lab, seed)
    request: dict[str, Any] = {"kind": "function", "name": exercise.answer}
    if isinstance(spec, FunctionSpec) and spec.run is not None:
        request |= {"kind": "run", "run": run_name(spec)}
    request["inputs"] = inputs.encoded
    return Question(exercise, answer, inputs=inputs.digest, request=request)


def drawn(exercise: Exercise, lab: Lab, seed: int) -> Drawn:
    """The inputs of a seed for an exercise that is judged by values; drawn once for each lab."""
    key = (exercise.name, seed)
    if key not in lab.memory:
        lab.memory[key] = _draw(exercise.spec, seed)
    return lab.memory[key]


def _draw(spec: Any, seed: int) -> Drawn:
    inputs = inputs_of(spec, seed, "grader")
    if isinstance(spec, FunctionSpec) and spec.run is not None:
        # Towards the student's process a pickle is as good as plain data; never the other way.
        encoded: list[Any] = [base64.b64encode(pickle.dumps(one)).decode() for one in inputs]
        try:
            return Drawn(encoded, fingerprint.of(inputs))
        except fingerprint.UnknownKind:
            return Drawn(encoded, fingerprint.digest(encoded))
    encoded = [wire.encode(arguments) for arguments in inputs]
    return Drawn(encoded, fingerprint.digest(encoded))


def is_asked_for_values(exercise: Exercise) -> bool:
    """Whether the answer is called on inputs, which are drawn from a seed."""
    return ASK[type(exercise.spec)] is _ask_for_values


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
