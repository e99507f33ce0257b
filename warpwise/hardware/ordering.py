"""Which operations of a host program are ordered, and which pairs of them are a race.

Two operations that touch the same memory, one of them writing, need an order.  It comes from a
stream, from an event, from the default stream, or from the host, which waits between two calls.

Sources: CUDA C++ Programming Guide, "Streams" and "Explicit Synchronization"; CUDA Runtime API,
"Stream synchronization behavior" (default stream) and "API synchronization behavior" (copies of
memory that is not pinned).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

COPIES = ("h2d", "d2h", "d2d")
MARKS = ("record", "wait", "sync")  # calls that enqueue no work
KINDS = (*COPIES, "kernel", "host", *MARKS)
WHOLE_DEVICE = -1

Place = tuple[str, int, int]  # memory, first byte, end


class TimelineError(ValueError):
    """Operations that cannot be put on a line."""


@dataclass(frozen=True)
class Op:
    """One call of the host.  kind: h2d, d2h, d2d, kernel or host, which take time; record (an
    event), wait (the stream, for an event) or sync (the host, with an event, a stream, or with the
    whole device: stream -1), which take none.

    ms       its time; of a copy or a kernel, `nbytes` may be given instead
    after    names of operations that have to be done before
    pageable a copy of host memory that is not pinned: the host waits until it is done
    event    its name, of record, wait and sync
    reads, writes   memory that it touches: (name, first byte, end)
    """

    name: str
    kind: str
    stream: int = 0
    ms: float | None = None
    nbytes: float = 0
    after: tuple[str, ...] = ()
    pageable: bool = False
    event: str = ""
    reads: tuple[Place, ...] = ()
    writes: tuple[Place, ...] = ()

    @property
    def holds_host(self) -> bool:
        """Whether the host waits until it is done: copies in the default stream, and pageable."""
        return self.kind in ("h2d", "d2h") and (self.pageable or self.stream == 0)


@dataclass(frozen=True)
class Order:
    """Numbers of operations, by the number of an operation.

    after       those that have to end before it begins
    host_waits  those that the host waits for before it makes this call
    end_waits   those that the host has waited for after its last call
    before      bits of all that are certainly done when it begins
    done        bits of all that are certainly done when the host is through
    """

    after: tuple[tuple[int, ...], ...]
    host_waits: tuple[tuple[int, ...], ...]
    end_waits: tuple[int, ...]
    before: tuple[int, ...]
    done: int


def order_of(ops: Sequence[Op], *, legacy: bool = True) -> Order:
    """What the streams, events and waits of a program order.

    legacy  the default stream waits for all others, and they for it
    Raises TimelineError for unknown kinds, names used twice, and what was not called for before.
    """
    names: dict[str, int] = {}
    last: dict[int, int] = {}  # of each stream
    pending: dict[int, list[int]] = {}  # what a stream waits for before its next operation
    events: dict[str, list[int]] = {}
    after: list[tuple[int, ...]] = []
    host_waits: list[tuple[int, ...]] = []
    before: list[int] = []
    held: list[int] = []  # what the host waits for before its next call
    host_knows = 0
    for k, op in enumerate(ops):
        _check(op, names, events)
        if op.kind == "sync":
            held += _awaited(op, last, events, pending)
        elif op.kind == "host":
            held += [names[name] for name in op.after]
        for j in held:
            host_knows |= before[j] | 1 << j
        host_waits.append(tuple(held))
        held = []
        names[op.name] = k
        streams = last if legacy and op.stream == 0 else [op.stream]
        tails = [last[stream] for stream in streams if stream in last]
        if legacy and op.stream == 0:
            tails += [j for waits in pending.values() for j in waits]
        if legacy and op.stream != 0 and 0 in last:
            tails.append(last[0])
        if op.kind == "host":
            after.append(())
            before.append(host_knows)
            host_knows |= 1 << k
            continue
        if op.kind in MARKS:
            after.append(())
            before.append(0)
            if op.kind == "record":
                events[op.event] = [*tails, *pending.get(op.stream, ())]
            elif op.kind == "wait":
                pending.setdefault(op.stream, []).extend(events[op.event])
            continue
        needed = {*tails, *pending.pop(op.stream, ()), *(names[name] for name in op.after)}
        after.append(tuple(sorted(needed)))
        known = host_knows
        for j in needed:
            known |= before[j] | 1 << j
        before.append(known)
        last[op.stream] = k
        if op.holds_host:
            held = [k]
    for j in held:
        host_knows |= before[j] | 1 << j
    return Order(tuple(after), tuple(host_waits), tuple(held), tuple(before), host_knows)


def _awaited(
    op: Op, last: dict[int, int], events: dict[str, list[int]], pending: dict[int, list[int]]
) -> list[int]:
    if op.event:
        return events[op.event]
    streams = {*last, *pending} if op.stream == WHOLE_DEVICE else {op.stream}
    tails = [last[stream] for stream in streams if stream in last]
    return [*tails, *(j for stream in streams for j in pending.get(stream, ()))]


def _check(op: Op, names: dict[str, int], events: dict[str, list[int]]) -> None:
    if op.kind not in KINDS:
        raise TimelineError(f"{op.name}: {op.kind!r} is no kind of operation: {', '.join(KINDS)}.")
    if op.name in names:
        raise TimelineError(f"two operations are called {op.name!r}.")
    for name in op.after:
        if name not in names:
            raise TimelineError(f"{op.name} waits for {name!r}, which was not enqueued before.")
    if op.kind in ("wait", "sync") and op.event and op.event not in events:
        raise TimelineError(
            f"{op.name} waits for the event {op.event!r}, which was not recorded before: such a "
            "wait orders nothing."
        )


# -- races ------------------------------------------------------------------------


@dataclass(frozen=True)
class Race:
    """Two operations on the same memory without an order; `second` was called for later.

    host: there is no second operation: the host goes on while `first` still writes its memory.
    """

    first: Op
    second: Op | None
    memory: str
    label: str = field(default="by the order of the calls")

    def __str__(self) -> str:
        one, two = self.first, self.second
        if two is None:
            return (
                f"{one.name} (stream {one.stream}) writes {self.memory}, and the host does not "
                "wait for it.\n  Before you use the result: synchronize the stream, or the device."
            )
        verbs = ["writes" if self.memory in _names(op.writes) else "reads" for op in (one, two)]
        return (
            f"{one.name} (stream {one.stream}) {verbs[0]} {self.memory}, {two.name} (stream "
            f"{two.stream}) {verbs[1]} it, and nothing orders the two.\n"
            f"  Record an event in stream {one.stream} after {one.name}, and let stream "
            f"{two.stream} wait for it before {two.name}."
        )


def races(ops: Sequence[Op], *, legacy: bool = True, host: bool = True) -> list[Race]:
    """All pairs without an order that touch the same memory, one of them writing.

    host  also what the host's own memory still waits for at the end of the program
    """
    order = order_of(ops, legacy=legacy)
    found = []
    for k, second in enumerate(ops):
        for j in range(k):
            if not order.before[k] >> j & 1:
                found += [Race(ops[j], second, name) for name in _clash(ops[j], second)]
    if host:
        found += [
            Race(op, None, op.writes[0][0]) for k, op in enumerate(ops)
            if op.kind == "d2h" and op.writes and not order.done >> k & 1
        ]  # fmt: skip
    return found


def _clash(one: Op, two: Op) -> Iterator[str]:
    seen = set()
    for mine, other in ((one.writes, two.writes), (one.writes, two.reads), (one.reads, two.writes)):
        for name, low, high in mine:
            for name2, low2, high2 in other:
                if name == name2 and low < high2 and low2 < high and name not in seen:
                    seen.add(name)
                    yield name


def _names(places: tuple[Place, ...]) -> set[str]:
    return {name for name, _, _ in places}
