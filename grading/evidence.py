"""What a verdict is made from, as plain data that can be stored: no verdict, no code to run.

Of a kernel that is its text and its constants, of a host function what came back for each input.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from grading import wire
from grading.kernels import KernelSource
from grading.questions import Question
from grading.reasons import Note, note
from grading.rounds import Gathered


@dataclass(frozen=True)
class Settled:
    """An exercise without points whose case is clear before anything is judged."""

    status: str
    reason: str
    message: str


@dataclass(frozen=True)
class KernelText:
    """A `KernelSource` as plain data; literals: name -> value as `wire` writes it."""

    name: str
    text: str
    literals: dict[str, Any]
    wanted: tuple[str, ...]

    def source(self) -> KernelSource:
        """What the verifier builds the kernel from."""
        literals = {name: wire.decode(value) for name, value in self.literals.items()}
        return KernelSource(self.name, self.text, literals, self.wanted)


@dataclass(frozen=True)
class Evidence:
    """What there is to judge of one exercise.

    exercise, answer: names of the exercise and of the student's function or value.
    cell, source: the student's code cell, and the text that is shown beside the verdict.
    settled: set where there is nothing to judge.
    kernel: a kernel's text.  constants: name -> what the probe wrote, not yet believed.
    outcomes: one for each input, what the probe wrote, not yet believed.
    parameters: of the student's function.  inputs: digest of the inputs it was called with.
    """

    exercise: str
    answer: str
    cell: int | None = None
    source: str = ""
    settled: Settled | None = None
    kernel: KernelText | None = None
    constants: dict[str, Any] = field(default_factory=dict)
    outcomes: list[Any] | None = None
    parameters: tuple[str, ...] = ()
    inputs: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; it shares its parts with this evidence."""
        found = dict(vars(self))
        for name in ("settled", "kernel"):
            if found[name] is not None:
                found[name] = dict(vars(found[name]))
        return found

    @property
    def judged(self) -> dict[str, Any]:
        """The part that a verdict depends on."""
        shown = ("cell", "source")
        return {key: value for key, value in self.to_dict().items() if key not in shown}


def evidence(asked: Question, gathered: Gathered) -> Evidence:
    """What is known about an exercise after the student's notebook ran."""
    answer, exercise = asked.answer, asked.exercise
    function = answer.definition.function if answer else None
    found = Evidence(
        exercise.name,
        exercise.answer,
        cell=answer.definition.cell if answer else None,
        source=asked.kernel.text if asked.kernel else answer.definition.text if answer else "",
        parameters=tuple(one.arg for one in function.args.args) if function else (),
        inputs=asked.inputs,
    )
    if asked.settled is not None:
        return replace(found, settled=Settled(*asked.settled))
    payload = gathered.payloads.get(exercise.name)
    if asked.request is not None and (payload is None or _is_cut_short(payload)):
        why = _gap(asked, gathered)
        return replace(found, settled=Settled("no-answer", why.reason, why.sentence))
    payload = payload or {}
    if asked.kernel is None:
        return replace(found, outcomes=payload.get("values", []))
    names, text = payload.get("names", {}), _kernel_text(asked.kernel)
    constants = {name: names[name] for name in text.wanted if name in names}
    return replace(found, kernel=text, constants=constants)


def _is_cut_short(payload: Mapping[str, Any]) -> bool:
    """Whether a call was interrupted before it returned."""
    return any(one == {"interrupted": 1} for one in payload.get("values", ()))


def _kernel_text(source: KernelSource) -> KernelText:
    literals = {name: wire.encode(value) for name, value in source.literals.items()}
    return KernelText(source.name, source.text, literals, tuple(source.wanted))


def _gap(asked: Question, gathered: Gathered) -> Note:
    """Why there is nothing to judge, in the most telling words there are."""
    name = asked.exercise.name
    if name in gathered.blamed:
        return gathered.blamed[name]
    if name in gathered.malformed:
        return note("malformed-answers", name=asked.exercise.answer)
    return note("no-answer", name=asked.exercise.answer)


def from_dict(data: Mapping[str, Any]) -> Evidence:
    """The evidence that `to_dict` made."""
    fields = dict(data)
    if fields["settled"] is not None:
        fields["settled"] = Settled(**fields["settled"])
    if fields["kernel"] is not None:
        kernel = dict(fields["kernel"])
        fields["kernel"] = KernelText(**kernel | {"wanted": tuple(kernel["wanted"])})
    return Evidence(**fields | {"parameters": tuple(fields["parameters"])})
