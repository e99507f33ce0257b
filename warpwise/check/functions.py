"""Judging host functions and predicted values: what they returned, against the reference.

call     one tuple of arguments, e.g. (33, 32)
outcome  what came of a call, as plain data (see `plain`)
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import clues, diagnoses, hints, plain, record, todo
from .calls import call_text, where_of
from .cases import Level, seeded
from .printed import Printed, caught
from .record import Record
from .report import Listing, Report, Row, listing
from .spec import FunctionSpec, ValueSpec
from .values import equal, kind, mismatch, show, slip
from .wording import shuffled

SHOWN = 5
LABEL = "computed on this machine"


@dataclass(frozen=True)
class Wrong:
    """One call that went wrong: its arguments, what happened, slug -> sentence."""

    call: tuple[Any, ...]
    what: str
    got: str
    expected: str
    fits: Mapping[str, str]


def inputs_of(spec: FunctionSpec | ValueSpec, seed: int, level: Level) -> list[tuple[Any, ...]]:
    """The calls of an exercise; a predicted value has one call without arguments."""
    if isinstance(spec, ValueSpec):
        return [()]
    return [tuple(args) for args in spec.inputs(seeded(spec.name, seed, level), level)]


def collect(
    spec: FunctionSpec | ValueSpec, answer: Any, inputs: Sequence[Sequence[Any]]
) -> list[plain.Outcome]:
    """Call the answer on each input; plain data, ready for JSON.  May run in another process.

    For a ValueSpec the answer may also be the value itself.
    """
    if not callable(answer):
        return [{"returned": plain.encode(answer)} for _ in inputs]
    run = spec.run if isinstance(spec, FunctionSpec) else None
    return [plain.run(run, answer, args) if run else plain.call(answer, args) for args in inputs]


def judge_function(
    spec: FunctionSpec | ValueSpec, answer: Any, seed: int, level: Level, hint: int = 1
) -> Record:
    """Check a live function or value against its spec."""
    nothing = todo.reason(answer)
    if nothing:
        return _record(spec, "todo", Report(nothing), seed)
    problem = _not_this_function(spec, answer)
    if problem:
        asked = spec.params if isinstance(spec, FunctionSpec) else ()
        report = Report(problem, next=f"The lab starts with def {spec.name}({', '.join(asked)}).")
        return _record(spec, "fail", report, seed, "wrong_type")
    inputs = inputs_of(spec, seed, level)
    values: list[plain.Outcome] = []
    printed: list[Printed] = []
    for args in inputs:
        with caught() as said:
            values += collect(spec, answer, [args])
        printed.append(said)
        if values[-1].get("last"):  # it hangs: the reader need not wait for the other cases
            inputs = inputs[: len(values)]
            break
    return judge_values(
        spec, inputs, values, seed=seed, hint=hint, called=_called(spec, answer),
        names=_parameters(answer), printed=printed, rounding=clues.rounding(answer),
    )  # fmt: skip


def judge_values(
    spec: FunctionSpec | ValueSpec,
    inputs: Sequence[Sequence[Any]],
    values: Sequence[plain.Outcome],
    *,
    seed: int = 0,
    hint: int = 1,
    called: str = "",
    names: Sequence[str] = (),
    printed: Sequence[Printed] = (),
    rounding: tuple[str, str] | None = None,
) -> Record:
    """Judge what `collect` brought back.  Runs nothing of the answer.

    called, names: the function and its parameters as the learner calls them, for the message.
    printed: during each call.  rounding: of NumPy, used in the function, and what gives integers.
    Raises ValueError when there is not one outcome per input.
    """
    if len(inputs) != len(values) or not inputs:
        raise ValueError(f"{spec.name}: {len(inputs)} inputs, {len(values)} values")
    examine = spec.examine if isinstance(spec, FunctionSpec) else None
    wanted = (
        [None] * len(inputs)
        if examine
        else [plain.decode(plain.encode(_expected(spec, args))) for args in inputs]
    )
    params = list(names or (spec.params if isinstance(spec, FunctionSpec) else ()))
    wrong: list[Wrong] = []
    loud: Listing | None = None
    for k, (args, value, want) in enumerate(zip(inputs, values, wanted, strict=True)):
        found = _examine(spec, tuple(args), value, want, params, rounding)
        said = printed[k] if printed else None
        if said and (loud is None or (found and not wrong)):
            where = call_text(called or spec.name, tuple(args), params)
            loud = listing(where if isinstance(spec, FunctionSpec) else "Your code", said)
        if found:
            wrong.append(found)
    if not wrong:
        count = f"{len(inputs)} calls" if len(inputs) > 1 else "1 call"
        praise = f"Right in {count}." if isinstance(spec, FunctionSpec) else "Right."
        return _record(spec, "pass", Report(praise, printed=loud), seed, None, LABEL)

    constant = {} if examine else _constant(values, wanted)
    fits = [{**f.fits, **constant} if "wrong_values" in f.fits else f.fits for f in wrong]
    fits = [_general_last(one) for one in fits]
    slug = diagnoses.common(fits)
    general = hints.FUNCTION if isinstance(spec, FunctionSpec) else hints.VALUE
    own = {**general, **spec.hints}
    first, called = wrong[0], called or spec.name
    rows: list[Row] = []
    if len(wrong) > 1 and not examine:
        rows = [("call", "got", "expected")]
        rows += [(call_text(called, w.call, params), w.got, w.expected) for w in wrong[:SHOWN]]
    report = Report(
        what=first.what,
        where=where_of(spec, called, first.call, params),
        cells=tuple(rows),
        left_out=f"... and {len(wrong) - SHOWN} more" if rows and len(wrong) > SHOWN else "",
        cause=fits[0].get(slug, ""),
        printed=loud,
        **hints.shown(slug, own, hint, spec.name, called),
    )
    return _record(spec, "fail", report, seed, slug, LABEL)


def _examine(
    spec: FunctionSpec | ValueSpec, call: tuple[Any, ...], value: plain.Outcome, want: Any,
    params: Sequence[str], rounding: tuple[str, str] | None,
) -> Wrong | None:  # fmt: skip
    hidden = isinstance(spec, ValueSpec)
    examine = spec.examine if isinstance(spec, FunctionSpec) else None
    expected = "" if hidden or examine else show(want)
    if "raised" in value:
        text = f"{value['raised']}: {value['text']}".rstrip(": ")
        at = f"\nline {value['line']}:  {value['line_text']}" if value.get("line_text") else ""
        return Wrong(call, f"it raised {text}{at}", value["raised"], expected, {"raised": ""})
    got = plain.decode(value["returned"])
    if got is None and (want is not None or examine):
        cause = "The function ends without a return, so it returns None."
        return Wrong(call, "it returned None", "None", expected, {"no_return": cause})
    if examine:
        verdict = examine(call, got)
        if verdict is None:
            return None
        told, what = verdict
        slugs = (told,) if isinstance(told, str) else told
        return Wrong(call, what, show(got), "", {one: spec.causes.get(one, "") for one in slugs})
    problem = mismatch(got, want)
    if problem:
        known = _suspected(spec, call, got)  # a mistake of a known kind may show in a shape
        return Wrong(call, problem, show(got), expected,
                     {**known, "wrong_type": slip(got, want, rounding)})  # fmt: skip
    if value.get("changed"):
        changed = ", ".join(params[k] for k in value["changed"] if k < len(params))
        cause = "The caller still needs these data: work on a copy, or build a new value."
        return Wrong(call, f"it changed its argument {changed}", show(got), expected,
                     {"input_modified": cause})  # fmt: skip
    if equal(got, want, spec.tolerance):
        return None
    fits = dict(_suspected(spec, call, got))
    if hidden:
        assert isinstance(spec, ValueSpec)
        if isinstance(want, dict):
            what = _entries(spec, got, want)
        else:
            what = f"{spec.what} is not {show(got)}{_direction(got, want)}"
        return Wrong(call, what, show(got), "", fits | {"wrong_values": ""})
    fits["wrong_values"] = "The value is not what the exercise asks for."
    place = _first_difference(spec, got, want)
    if place is not None and "..." in (show(got)[-3:], expected[-3:]):  # cut: what differs, then
        got, expected = f"value {place}: {show(got[place])}", f"value {place}: {show(want[place])}"
        what = f"it returned, among others, {got}; expected {expected}"
        return Wrong(call, what, got, expected, fits)
    return Wrong(call, f"it returned {show(got)}, expected {expected}", show(got), expected, fits)


def _suspected(spec: FunctionSpec | ValueSpec, call: tuple[Any, ...], got: Any) -> dict[str, str]:
    found = {}
    for slug, mistake in spec.suspects.items():
        wrong = mistake if isinstance(spec, ValueSpec) else mistake(*call)
        wrong = plain.decode(plain.encode(wrong))
        if mismatch(got, wrong) is None and equal(got, wrong, spec.tolerance):
            default = f"A known mistake gives this value: {slug.replace('_', ' ')}."
            found[slug] = spec.causes.get(slug, default)
    return found


def _constant(values: Sequence[plain.Outcome], wanted: Sequence[Any]) -> dict[str, str]:
    """The same value for every call, though the right ones differ."""
    returned = [value.get("returned") for value in values]
    if len(values) < 3 or any(value != returned[0] for value in returned):
        return {}
    if all(plain.encode(want) == plain.encode(wanted[0]) for want in wanted):
        return {}
    return {"constant_output": "It returns the same value for every call."}


def _general_last(fits: Mapping[str, str]) -> dict[str, str]:
    general = ("wrong_type", "wrong_values")
    return dict(sorted(fits.items(), key=lambda item: item[0] in general))


def _expected(spec: FunctionSpec | ValueSpec, args: Sequence[Any]) -> Any:
    return spec.expected() if isinstance(spec, ValueSpec) else spec.reference(*args)


def _not_this_function(spec: FunctionSpec | ValueSpec, answer: Any) -> str | None:
    if hasattr(answer, "py_func"):
        return f"{_called(spec, answer)} is a kernel; this exercise asks for an ordinary function."
    if not callable(answer):
        if isinstance(spec, ValueSpec):
            return None
        return f"this exercise asks for a function, not {kind(answer)}."
    names = _parameters(answer)
    wanted = spec.params if isinstance(spec, FunctionSpec) else ()
    try:
        inspect.signature(answer).bind(*wanted)
    except (TypeError, ValueError):
        count = len(wanted)
        asked = f"{count}: {', '.join(wanted)}" if wanted else "none"
        return (
            f"{_called(spec, answer)} has {len(names)} parameter{'s' * (len(names) != 1)} "
            f"({', '.join(names) or 'none'}); the exercise calls it with {asked}."
        )
    return shuffled(names, wanted)


def _parameters(answer: Any) -> list[str]:
    try:
        return list(inspect.signature(answer).parameters)
    except (TypeError, ValueError):
        return []


def _called(spec: FunctionSpec | ValueSpec, answer: Any) -> str:
    name = str(getattr(answer, "__name__", spec.name))
    return name if name.isidentifier() else spec.name


def _direction(got: Any, want: Any) -> str:
    """Too small or too large; never how far."""
    if isinstance(want, int | float) and not isinstance(want, bool):
        return ": too small" if got < want else ": too large"
    return ""


def _first_difference(spec: FunctionSpec | ValueSpec, got: Any, want: Any) -> int | None:
    """The place of the first wrong value of a tuple; None for anything else."""
    if not isinstance(want, list):
        return None
    pairs = enumerate(zip(got, want, strict=True))
    return next((k for k, (one, two) in pairs if not equal(one, two, spec.tolerance)), None)


def _entries(spec: ValueSpec, got: dict[Any, Any], want: dict[Any, Any]) -> str:
    """How many entries of a predicted dictionary are right, and the first wrong one."""
    wrong = [key for key in want if not equal(got[key], want[key], spec.tolerance)]
    first = f"{show(wrong[0])} is not {show(got[wrong[0]])}"
    return f"{spec.what}: {len(want) - len(wrong)} of {len(want)} are right; {first}"


def _record(
    spec: FunctionSpec | ValueSpec, status: record.Status, report: Report, seed: int,
    diagnosis: str | None = None, label: str = "",
) -> Record:  # fmt: skip
    return record.make(
        spec.name, spec.unit, status, spec.points, report, diagnosis=diagnosis, label=label,
        seed=seed,
    )  # fmt: skip
