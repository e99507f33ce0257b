"""Judging a kernel: run every case, find the smallest that fails, say why.

Values come first, then how often elements were written, then what the sanitizer finds, then what
the launch costs, and last what the kernel compiles to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from . import clues, diagnoses, hints, record, runner, todo, wording
from .cases import Case, Level, seeded
from .compiled import unlike
from .costly import costly
from .evidence import Evidence, gather
from .failure import Failure
from .faults import faults, urgent
from .printed import Printed
from .record import Record
from .report import Listing, Report, Row, listing
from .runner import Outcome
from .spec import KernelSpec, TritonSpec

ROWS = 5
#: One may do the work of this many, where the exercise wants the work shared.
IDLE = 4

NEARLY = "reduced_precision"


def judge_kernel(spec: KernelSpec, answer: Any, seed: int, level: Level, hint: int = 1) -> Record:
    """Check a kernel against its spec.  Raises only on a fault of ours."""
    nothing = todo.reason(answer)
    if nothing:
        return _record(spec, "todo", Report(nothing), seed)
    cases = list(spec.cases(seeded(spec.name, seed, level), level))
    if spec.counted is not None:  # right where it is counted, too
        cases.append(spec.counted())
    if not cases:
        raise ValueError(f"{spec.name} has no cases")
    params = tuple(cases[0].args)
    try:
        kernel = _kernel(spec, answer, params)
    except _NotThisKernel as error:
        start = f"The lab starts with @cuda.jit above def {spec.name}({', '.join(params)})."
        report = Report(str(error), next=start)
        return _record(spec, "fail", report, seed, error.slug)
    names = dict(zip(params, kernel.parameters, strict=True))

    failures: list[Failure] = []
    recognised = False
    unstored: set[int] = set()  # cases, by identity
    idle: Failure | None = None
    notes: dict[tuple[str, int], str] = {}  # one of a kind a line, of the smallest launch
    printed: list[tuple[Case, Printed]] = []
    slip = clues.bitwise(kernel.source)
    poisoned = spec.poisoned
    widest = max(cases, key=lambda case: _able(spec, case)) if spec.shared_out else None
    for case in cases:
        outcome = runner.run(answer, kernel, case, poisoned, seed)
        for note in outcome.notes:
            notes.setdefault((note.kind, note.line), note.text)
        failure = examine(spec, case, outcome, names)
        if case is widest:
            idle = _few_at_work(spec, case, outcome, names)
        if outcome.printed and (not printed or (failure and not failures)):
            printed[:] = [(case, outcome.printed)]
        if failure:
            failures.append(_explained(failure, outcome.error, kernel.source, slip))
        if outcome.error is not None:  # larger launches would be stopped as well
            break
        if spec.sanitized:
            faulty = _faulty(kernel, case, poisoned)
            recognised |= not faulty and failure is not None and _known(spec, failure)
            if any("uninitialised" in one.fits for one in faulty):
                unstored.add(id(case))
            failures += faulty
    if recognised:  # a wrong index; where an array ends it also reads what nobody stored
        failures = [failure for failure in failures if id(failure.case) not in unstored]
    failures = [failure for failure in failures if failure.urgent] or failures
    if not failures and spec.requirements:
        failures += costly(spec, kernel)
    if not failures and spec.compiled:
        failures += _compiled(spec, kernel, notes)
    if not failures and idle is not None:
        failures.append(idle)
    label = runner.label(answer)
    said = [_said(kernel, *one, names) for one in printed]
    if not failures:
        report = Report(_praise(spec, cases), printed=said[0] if said else None)
        return _record(spec, "pass", report, seed, None, tuple(notes.values()), label)

    slug, first = likeliest(failures, spec)
    not_called = next((text for (kind, _), text in notes.items() if kind == "not_called"), "")
    report = Report(
        what=first.what,
        where=wording.launch(kernel.name, kernel.parameters, first.case, names),
        cells=first.cells,
        left_out=first.left_out,
        cause=not_called or first.fits[slug],
        printed=said[0] if said else None,
        **hints.shown(first.hint or slug, spec.hints, hint, spec.name, _called(answer, spec)),
    )
    told = (slug, "not_called")
    others = tuple(text for (kind, _), text in notes.items() if kind not in told)
    return _record(spec, "fail", report, seed, slug, others, label)


def likeliest(failures: list[Failure], spec: KernelSpec | TritonSpec) -> tuple[str, Failure]:
    """The likeliest diagnosis, and the smallest failing case that shows it."""
    # Too many mistakes fit a single element; a double write matters once the values are right.
    failures = [f for f in failures if not f.minor] or failures
    failures = [_but_chance(f, failures) for f in failures]
    telling = [f for f in failures if f.elements > 1] or failures
    slug = diagnoses.common([failure.fits for failure in telling])
    if slug == "wrong_values":  # two mistakes at once: the first case may still show one of them
        slug = diagnoses.common([failures[0].fits])
    found = [failure for failure in failures if failure.fits.get(slug)]
    found = found or [failure for failure in failures if slug in failure.fits]
    if slug in spec.suspects:  # such a cause tells right elements from wrong ones
        found = [failure for failure in found if failure.partly] or found
    # A race within a warp asks for syncwarp; one between warps, in a larger case, for more.
    found = [failure for failure in found if not failure.mild] or found
    return slug, found[0]


def _but_chance(failure: Failure, failures: list[Failure]) -> Failure:
    """The failure, not as nearly right where the same output is far off in most launches."""
    same = [other for other in failures if other.valued and other.output == failure.output]
    near = sum(NEARLY in other.fits for other in same)
    if NEARLY not in failure.fits or 2 * near >= len(same):
        return failure
    return replace(failure, fits={k: said for k, said in failure.fits.items() if k != NEARLY})


def _explained(failure: Failure, error: Exception | None, source: Any, slip: str | None) -> Failure:
    """The failure, with what the text of the kernel gives away."""
    if error is not None and clues.guarded(source, error):
        head, guard, _ = failure.what.partition("Guard the access")
        failure = replace(failure, what=head + clues.PASSED if guard else failure.what)
    if not slip:
        return failure
    if failure.valued:
        return replace(failure, fits={clues.BITWISE: slip, **failure.fits})
    if "out_of_bounds" in failure.fits:
        return replace(failure, fits={"out_of_bounds": slip}, hint=clues.BITWISE)
    return failure


def _known(spec: KernelSpec, failure: Failure) -> bool:
    """Whether every value is what a known mistake of the exercise gives."""
    return failure.elements > 1 and any(slug in failure.fits for slug in spec.suspects)


def _faulty(kernel: Any, case: Case, poisoned: tuple[str, ...]) -> list[Failure]:
    """The gravest finding of the sanitizer as a failure; none where it found nothing."""
    found = faults(kernel, case, poisoned)
    if not found:
        return []
    first = found[0]
    what, *rest = first.text.splitlines()
    *lines, mend = rest or [""]
    return [
        Failure(
            case, {first.kind: mend.strip()}, "\n".join([what, *lines]),
            minor=not urgent(first), urgent=urgent(first), mild=first.severity == "warning",
        )
    ]  # fmt: skip


def _compiled(spec: KernelSpec, kernel: Any, notes: dict[tuple[str, int], str]) -> list[Failure]:
    """The first fact that the compiled code does not have; without a compiler none, and a note."""
    from ..compiler import compile_kernel
    from ..compiler.errors import CompilerMissingError

    assert spec.counted is not None
    case = spec.counted()
    args = list(case.args.values())
    try:
        return unlike(
            spec.compiled, lambda arch: compile_kernel(kernel, args, arch), case, spec.causes
        )
    except CompilerMissingError as error:
        notes["not_compiled", 0] = f"the machine code was not judged here: {error}"
        return []


def _said(kernel: Any, case: Case, printed: Printed, names: Mapping[str, str]) -> Listing:
    where = wording.launch(kernel.name, kernel.parameters, case, names)
    return listing(where, printed)


def examine(
    spec: KernelSpec, case: Case, outcome: Outcome, names: Mapping[str, str]
) -> Failure | None:
    """What is wrong with one finished launch; None when nothing is."""
    if outcome.error is not None:
        slug = getattr(outcome.error, "diagnosis", "raised")
        return Failure(case, {slug: ""}, str(outcome.error))
    changed = changed_input(spec, case, outcome, names)
    if changed:
        return changed
    reference = spec.reference(case)
    found = [
        gather(
            case, name, reference[name], outcome, spec.tolerance_of(outcome.arrays[name].dtype),
            names, name in spec.inout, name in spec.unordered,
        )
        for name in spec.outputs
    ]  # fmt: skip
    for evidence in found:
        if evidence.wrong.any():
            return _wrong(spec, evidence)
    if spec.writes_once:
        for evidence in found:
            if evidence.census is not None and (evidence.census.writes > 1).any():
                return _twice(evidence)
    return None


class _NotThisKernel(Exception):
    def __init__(self, slug: str, text: str) -> None:
        super().__init__(text)
        self.slug = slug


def _kernel(spec: KernelSpec, answer: Any, params: Sequence[str]) -> Any:
    """The answer as the simulator's kernel; raises _NotThisKernel with a sentence."""
    from warpwise.simt import DeviceFunction, SimtError, as_kernel

    if isinstance(answer, DeviceFunction) or getattr(answer, "targetoptions", {}).get("device"):
        text = f"{answer.__name__} is a device function: leave device=True out to make a kernel."
        raise _NotThisKernel("wrong_type", text)
    try:
        kernel = as_kernel(answer)
    except TypeError as error:
        raise _NotThisKernel("wrong_type", str(error)) from None
    except SimtError as error:
        raise _NotThisKernel(error.diagnosis, str(error)) from None
    if len(kernel.parameters) != len(params):
        own = wording.counted(len(kernel.parameters), "parameter")
        got = ", ".join(kernel.parameters) or "none"
        raise _NotThisKernel(
            "wrong_type",
            f"{kernel.name} has {own} ({got}); the exercise calls it with "
            f"{len(params)}: {', '.join(params)}.",
        )
    shuffled = wording.shuffled(kernel.parameters, params)
    if shuffled:
        raise _NotThisKernel("wrong_type", shuffled)
    return kernel


def changed_input(
    spec: KernelSpec | TritonSpec, case: Case, outcome: Outcome, names: Mapping[str, str]
) -> Failure | None:
    for name, before in case.args.items():
        if not isinstance(before, np.ndarray) or name in (*spec.outputs, *spec.scratch):
            continue
        after, own = outcome.arrays[name], names[name]
        seen = outcome.census.get(name)
        differs = _differs(before, after)
        if not differs.any():
            continue
        rows: list[Row] = [("element", "before", "after", *(("changed by",) if seen else ()))]
        for index in first_of(differs):
            who = (wording.thread_of(seen.writer[index], case),) if seen else ()
            rows.append((
                wording.element(own, index), wording.number(before[index]),
                wording.number(after[index]), *who,
            ))  # fmt: skip
        return Failure(
            case,
            {"input_modified": f"{own} is an input, but the kernel stores to it."},
            f"{wording.count_of(differs, 'element')} of {own} changed",
            tuple(rows),
            more_than_shown(differs),
        )
    return None


def _wrong(spec: KernelSpec, e: Evidence) -> Failure:
    guesses = {slug: mistake(e.case) for slug, mistake in spec.suspects.items()}
    suspects = {slug: guess[e.output] for slug, guess in guesses.items() if e.output in guess}
    head = ["element", "got", "expected"]
    head += ["to be written by"] if spec.owner else []
    head += ["last written by"] if e.census else []
    rows: list[Row] = [tuple(head)]
    for index in first_of(e.wrong):
        got, want = wording.told_apart(e.got[index], e.want[index].astype(e.got.dtype))
        if e.unwritten[index] and e.due[index]:
            got = "not written"
        called = f"sorted({e.name})" if e.unordered else e.name
        row = [wording.element(called, index), got, "left alone" if e.keep[index] else want]
        if spec.owner:
            due = None if e.keep[index] else spec.owner(index, e.case)
            nobody = "nobody" if e.keep[index] else "any thread"
            row.append(wording.thread(*due, e.case) if due else nobody)
        if e.census:
            row.append(wording.thread_of(e.census.writer[index], e.case))
        rows.append(tuple(row))
    verb = "is" if int(e.wrong.sum()) == 1 else "are"
    what = f"{wording.count_of(e.wrong, 'element')} of {e.name} {verb} wrong"
    if (e.wrong & e.written).any():
        what += f" (must be {e.tolerance})"
    fits = diagnoses.fitting(e, suspects, spec.causes)
    return Failure(
        e.case, fits, what, tuple(rows), more_than_shown(e.wrong), int(e.due.sum()),
        partly=bool((e.due & ~e.wrong).any()), valued=True, output=e.output,
    )  # fmt: skip


def _twice(e: Evidence) -> Failure:
    assert e.census is not None
    often = e.census.writes > 1
    rows: list[Row] = [("element", "times written", "last written by")]
    for index in first_of(often):
        rows.append((
            wording.element(e.name, index), str(e.census.writes[index]),
            wording.thread_of(e.census.writer[index], e.case),
        ))  # fmt: skip
    cause = "The values are right, but several stores went to one element."
    alone = not e.census.several[often].any()
    if alone:
        times = wording.times(int(e.census.writes[often][0]))
        cause = (
            f"The values are right.  One thread stores to it {times}: keep the value in a "
            "variable and store once."
        )
    return Failure(
        e.case,
        {"written_more_than_once": cause},
        f"{wording.count_of(often, 'element')} of {e.name} {'was' if often.sum() == 1 else 'were'} "
        "written more than once",
        tuple(rows),
        more_than_shown(often),
        minor=True,
        hint="stored_by_one_thread" if alone else "",
    )


def _able(spec: KernelSpec, case: Case) -> int:
    """How many threads, or warps, could store an element."""
    elements = max(int(case.args[name].size) for name in spec.outputs)
    return min(case.blocks * -(-case.threads_per_block // _group(spec)), elements)


def _group(spec: KernelSpec) -> int:
    return 32 if spec.shared_out == "warps" else 1


def _few_at_work(
    spec: KernelSpec, case: Case, outcome: Outcome, names: Mapping[str, str]
) -> Failure | None:
    """Right values, but most of the threads or warps that could store an element store none."""
    threads = case.threads_per_block
    of_block = -(-threads // _group(spec))
    at_work, busiest, stores = 0, -1, 0
    for seen in map(outcome.census.get, spec.outputs):
        if seen is None:  # the simulator did not run to the end
            return None
        writer = seen.writer[seen.writer >= 0]
        share = np.bincount(writer)
        groups = writer // threads * of_block + writer % threads // _group(spec)
        at_work = max(at_work, np.unique(groups).size)
        if share.size and share.max() > stores:
            busiest, stores = int(share.argmax()), int(share.max())
    if at_work * IDLE >= _able(spec, case):
        return None
    own = " and ".join(names[name] for name in spec.outputs)
    what = (
        f"The values are right.  {at_work:,} of {case.blocks * of_block:,} {spec.shared_out} "
        f"{'stores' if at_work == 1 else 'store'} to {own}: {wording.thread_of(busiest, case)} "
        f"stores {stores:,} element{'s' if stores > 1 else ''}"
    )
    cause = f"A few {spec.shared_out} do the work of all the others, which have nothing to do."
    return Failure(case, {"few_threads_work": cause}, what)


def first_of(which: np.ndarray) -> list[tuple[int, ...]]:
    return [tuple(int(i) for i in index) for index in np.argwhere(which)[:ROWS]]


def more_than_shown(which: np.ndarray) -> str:
    more = int(which.sum()) - ROWS
    return f"... and {more} more" if more > 0 else ""


def _differs(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Which elements changed, by their bits, so that NaN equals itself."""
    size = before.dtype.itemsize
    one, two = (np.ascontiguousarray(a).reshape(-1).view(np.uint8) for a in (before, after))
    return (one != two).reshape(before.size, size).any(axis=1).reshape(before.shape)


def _praise(spec: KernelSpec, cases: Sequence[Case]) -> str:
    dtypes = {case.args[name].dtype.name: None for case in cases for name in spec.outputs}
    how = "; ".join(f"{name} {spec.tolerance_of(name)}" for name in dtypes)
    once = ", each element written once" if spec.writes_once else ""
    return f"Right in {wording.counted(len(cases), 'launch')}{once} ({how})."


def _called(answer: Any, spec: KernelSpec) -> str:
    name = getattr(answer, "__name__", spec.name)
    return str(name) if str(name).isidentifier() else spec.name


def _record(
    spec: KernelSpec, status: record.Status, report: Report, seed: int,
    diagnosis: str | None = None, findings: tuple[str, ...] = (), label: str = "",
) -> Record:  # fmt: skip
    return record.make(
        spec.name, spec.unit, status, spec.points, report, diagnosis=diagnosis, findings=findings,
        label=label, seed=seed,
    )  # fmt: skip
