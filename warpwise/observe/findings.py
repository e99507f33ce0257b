"""What the sanitizer found, in words: both threads, both lines, the cell, and what to write.

Every text answers in this order: what happened where, the lines, why it is wrong and what mends it.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from ..simt.dimensions import Dim3, unravel
from ..simt.errors import (
    BarrierDivergenceError,
    LivelockError,
    MisalignedAddressError,
    OutOfBoundsError,
    SimtError,
)
from ..simt.launch import Run
from ..simt.misuse import Misuse, text_of
from ..simt.program import Site
from ..simt.values import ArrayRef
from . import shadow
from .advice import Who, advice
from .locks import Arrow

HAZARDS = {shadow.RAW: "RAW", shadow.WAR: "WAR", shadow.WAW: "WAW"}


@dataclass(frozen=True)
class Finding:
    """One finding, in words and as data.

    kind: "race" | "uninitialised" | the diagnosis of an error that stopped the launch | a note.
    severity: "error", "warning" (within a warp), "info" (all write the same value).
    hazard: "RAW", "WAR", "WAW" for races, else "".  line, other_line: of both accesses.
    threads: (block, thread) of one or both parties.  count: how many accesses of this kind.
    bytes: count times the element's size, as compute-sanitizer counts hazards.
    """

    kind: str
    severity: str
    text: str
    line: int | None = None
    other_line: int | None = None
    hazard: str = ""
    array: str = ""
    space: str = ""
    index: tuple[int, ...] = ()
    threads: tuple[tuple[Dim3, Dim3], ...] = ()
    count: int = 1
    bytes: int = 0

    def __str__(self) -> str:
        return self.text


class Findings(list[Finding]):
    """A list of findings that shows itself as text and in a notebook."""

    def __str__(self) -> str:
        if not self:
            return "no findings"
        return "\n".join(f"{f.severity} ({f.count} times): {f.text}" for f in self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        if not self:
            return "<div>✓ no findings</div>"
        return "".join(
            f"<div style='margin:.4em 0'><b>{escape(f.severity)}</b> "
            f"<span style='opacity:.6'>({f.count} times)</span>"
            f"<pre style='margin:0;white-space:pre-wrap'>{escape(f.text)}</pre></div>"
            for f in self
        )


def of_error(error: SimtError, run: Run | None) -> Finding:
    """The finding of an error that stopped the launch."""
    facts: dict[str, Any] = {"line": error.line}
    if isinstance(error, LivelockError) and error.cell and run is not None:
        facts["threads"] = tuple(_who(run, thread) for thread in error.threads)
    elif isinstance(error, OutOfBoundsError):
        facts |= {"threads": ((error.block, error.thread),), "array": error.array,
                  "index": error.index, "count": error.count}  # fmt: skip
    elif isinstance(error, MisalignedAddressError) and error.thread is not None:
        facts |= {"threads": ((error.block, error.thread),), "array": error.array}
    elif isinstance(error, BarrierDivergenceError):
        parties = error.arrived[:1] + error.missing[:1]
        facts |= {"threads": tuple((error.block, thread) for thread in parties),
                  "other_line": error.other_line, "count": error.count}  # fmt: skip
    return Finding(error.diagnosis, "error", str(error), **facts)


def of_misuse(misuse: Misuse, run: Run) -> Finding:
    """The finding of a warp function that a GPU leaves undefined."""
    place = run.program.sites[misuse.site]
    block = misuse.thread // run.threads_per_block
    threads = tuple(
        _who(run, thread)
        for thread in (misuse.thread, misuse.other)
        if thread >= 0 and thread // run.threads_per_block == block
    )
    return Finding(
        misuse.kind, "error", text_of(run, misuse), line=place.line, threads=threads,
        count=misuse.count,
    )  # fmt: skip


def more(run: Run, known: int) -> Finding:
    """The table of findings is full."""
    text = (
        f"{run.program.name}: more than {known} kinds of findings; the others are not listed\n"
        "  Mend the first ones and look again."
    )
    return Finding("more", "warning", text)


def of_circle(run: Run, circle: list[Arrow], arrays: dict[int, ArrayRef]) -> Finding:
    """Locks that threads take in different orders."""
    sites = run.program.sites

    def lock(site: int, position: int) -> str:
        index = _index(arrays[site], position, run)
        return _cell(sites[site].array, index)

    ways = [
        f"{name(_who(run, arrow.thread), run)} takes {lock(arrow.first_site, arrow.first[2])} in "
        f"line {sites[arrow.first_site].line}, then {lock(arrow.second_site, arrow.second[2])} in "
        f"line {sites[arrow.second_site].line}"
        for arrow in circle
    ]
    here, there = sites[circle[0].first_site], sites[circle[0].second_site]
    text = (
        f"{here.function}: locks are taken in different orders: {'; '.join(ways)}\n"
        f"  line {here.line}:  {here.line_text}\n"
        + (f"  line {there.line}:  {there.line_text}\n" if there.line != here.line else "")
        + "  This run got through; when each holds its first lock, all of them wait for ever. Take "
        "the locks in the same order everywhere, for example the one with the smaller index first."
    )
    return Finding(
        "lock_order", "error", text, line=here.line, other_line=there.line, array=here.array,
        threads=tuple(_who(run, arrow.thread) for arrow in circle),
    )  # fmt: skip


def of_record(
    run: Run,
    row: Any,
    arr: ArrayRef,
    at: int,
    why: str,
    other_arr: ArrayRef | None,
    updates: bool = False,
) -> Finding:
    """The finding of a record of the shadow, about position `at` of the array's memory; why: what
    is wrong with the flag between the two."""
    kind, site, other = int(row[shadow.KIND]), int(row[shadow.SITE]), int(row[shadow.OTHER])
    here = run.program.sites[site]
    space = arr.root.space
    count = max(1, int(row[shadow.COUNT]))
    thread = _who(run, int(row[shadow.THREAD]))
    index = _index(arr, at, run)
    facts: dict[str, Any] = {
        "line": here.line, "array": here.array, "space": space, "index": index,
        "count": count, "bytes": count * arr.root.buf.dtype.itemsize,
    }  # fmt: skip
    cell = _cell(here.array, index)
    if kind == shadow.UNINITIALISED:
        text = (
            f"{here.function}: {name(thread, run)} reads {cell} before anything was stored "
            f"there\n  line {here.line}:  {here.line_text}\n"
            + (
                "  Shared memory starts undefined, not zero. Store a value first, then a barrier."
                if space == "shared"
                else "  Local memory belongs to one thread and starts undefined, not zero. Let the "
                "same thread store a value first; threads share only cuda.shared.array."
                if space == "local"
                else f"  {space.capitalize()} memory starts undefined, not zero. Store a value "
                "first."
            )
        )
        return Finding("uninitialised", "error", text, threads=(thread,), **facts)
    where = run.program.sites[other]
    second = _who(run, int(row[shadow.OTHER_THREAD]))
    warp, same = row[shadow.LEVEL] == 1, bool(row[shadow.SAME_VALUE])
    severity = "info" if same else ("warning" if warp else "error")
    verb = {shadow.RAW: "reads", shadow.WAR: "writes", shadow.WAW: "writes"}[kind]
    before = {shadow.RAW: "wrote", shadow.WAR: "read", shadow.WAW: "wrote"}[kind]
    overlap = (
        other_arr is not None and here.array != where.array
        and all(a.root.bytewise and np.all(a.offset == 0) for a in (arr, other_arr))
    )  # fmt: skip
    first, last = _spot(here, where), _spot(where, here)
    text = (
        f"{here.function}: race on {cell}: {name(thread, run)} {verb} it in {first}, "
        f"{name(second, run)} {before} it in {last}, and nothing orders them\n"
        f"  {first}:  {here.line_text}\n"
        + (f"  {last}:  {where.line_text}\n" if last != first else "")
        + "  "
        + advice(
            run,
            kind,
            here,
            where,
            (thread, second),
            warp,
            same,
            why,
            overlap,
            updates,
            arr.root.buf.dtype,
        )
    )
    return Finding(
        "race", severity, text, other_line=where.line, hazard=HAZARDS[kind],
        threads=(thread, second), **facts,
    )  # fmt: skip


def _who(run: Run, thread: int) -> Who:
    block, inside = divmod(thread, run.threads_per_block)
    return unravel(block, run.grid), unravel(inside, run.block)


def _short(dims: Dim3, extents: Dim3) -> str:
    return str(dims[0]) if extents[1] * extents[2] == 1 else str(dims)


def name(who: Who, run: Run) -> str:
    """A thread as a sentence names it."""
    thread = f"thread {_short(who[1], run.block)}"
    if run.blocks == 1:
        return thread
    return f"{thread} of block {_short(who[0], run.grid)}"


def _index(arr: ArrayRef, at: int, run: Run) -> tuple[int, ...]:
    """The index that leads to a position, for arrays with constant strides."""
    if arr.root.space == "local":
        at //= run.lanes[0] * run.lanes[1]
    rest = at - int(np.asarray(arr.offset).flat[0])
    index = []
    for stride in arr.strides:
        step = int(stride)
        index.append(rest // step if step else 0)
        rest -= index[-1] * step
    return tuple(index)


def _spot(place: Site, other: Site) -> str:
    """A line, with its function where the other place is in another one."""
    return f"line {place.line}" + f" of {place.function}" * (place.function != other.function)


def _cell(array: str, index: tuple[int, ...]) -> str:
    """An element as the reader would write it; a field of one record has no index."""
    return f"{array}[{', '.join(map(str, index))}]" if index else array
