"""Collectives that meet but do not agree: another operation, root, reduction, dtype, size, splits.

agreement   the first collective of each group on which its ranks differ
messages    a send whose receive has another dtype or too little room
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .evidence import Evidence
from .operations import ROOTED, Operation


@dataclass(frozen=True)
class Mismatch:
    """kind: "order", "root", "reduction", "dtype", "shape", "splits" or "groups made".

    sides: what each rank has, as text, beside its operation.
    """

    kind: str
    group: str
    number: int
    sides: tuple[tuple[int, Operation, str], ...]

    @property
    def done(self) -> bool:
        """True where the operation went through on every rank."""
        return all(operation.done for _, operation, _ in self.sides)


def elements(operation: Operation) -> int | None:
    """What must be equal on all ranks of a collective; None where nothing need be."""
    if operation.name == "scatter":
        return sum(operation.received)
    if operation.name in ("barrier", "monitored_barrier", "new_group", "all_to_all"):
        return None
    return sum(operation.sent)


def _shape(operation: Operation) -> str:
    if len(operation.sent) > 1 and operation.name != "reduce_scatter":
        return f"{len(operation.sent)} tensors of {sum(operation.sent)} elements"
    return f"shape {operation.shape}"


# What ranks may differ in, the most telling first: kind, value to compare, words for it.
_RULES: tuple[tuple[str, Callable[[Operation], Any], Callable[[Operation], str]], ...] = (
    ("order", lambda o: o.name, lambda o: o.called),
    ("groups made", lambda o: o.shape if o.name == "new_group" else None, lambda o: f"{o.shape}"),
    ("root", lambda o: o.root if o.name in ROOTED else None, lambda o: f"root {o.root}"),
    ("reduction", lambda o: o.reduce, lambda o: o.reduce),
    ("dtype", lambda o: o.dtype, lambda o: o.dtype),
    ("shape", elements, _shape),
)


def agreement(evidence: Evidence) -> list[Mismatch]:
    """The first mismatch of each group, those that hold ranks up first."""
    found = []
    for group, members in evidence.groups.items():
        mine = {r: evidence.views[r].collectives(group) for r in members if r in evidence.views}
        numbers = sorted({number for operations in mine.values() for number in operations})
        for number in numbers:
            sides = {
                r: operations[number] for r, operations in mine.items() if number in operations
            }
            mismatch = _compare(group, number, sides, len(members))
            if mismatch:
                found.append(mismatch)
                break
    return sorted(found, key=lambda mismatch: mismatch.done)


def _compare(group: str, number: int, sides: Mapping[int, Operation], size: int) -> Mismatch | None:
    first, *rest = sides.values()
    if not rest or (first.name != "all_to_all" and all(_alike(first, o) for o in rest)):
        return None
    for kind, value, words in _RULES:
        if len({repr(value(operation)) for operation in sides.values()}) > 1:
            if kind == "shape" and _uneven_gather(sides, size):
                continue
            if len({o.called for o in sides.values()}) > 1:
                # One kind of collective, but of two calls: DDP's own broadcast and the learner's.
                kind, words = "order", _RULES[0][2]
            return Mismatch(kind, group, number, tuple((r, o, words(o)) for r, o in sides.items()))
    return _splits(group, number, sides)


def _alike(a: Operation, b: Operation) -> bool:
    """True where no rule can find a difference: the usual case, and quick."""
    return (
        a.name == b.name and a.sent == b.sent and a.received == b.received and a.root == b.root
        and a.dtype == b.dtype and a.reduce == b.reduce and a.shape == b.shape
    )  # fmt: skip


def _uneven_gather(sides: Mapping[int, Operation], size: int) -> bool:
    """True where ranks gather pieces of different size, and every rank made room for just those."""
    if len(sides) < size or any(o.name != "all_gather" for o in sides.values()):
        return False
    first = next(iter(sides.values()))
    pieces = [sum(sides[rank].sent) for rank in first.group]
    return all(o.received == pieces for o in sides.values())


def _splits(group: str, number: int, sides: Mapping[int, Operation]) -> Mismatch | None:
    """A pair of ranks of an all_to_all where one sends what the other does not expect."""
    if any(operation.name != "all_to_all" for operation in sides.values()):
        return None
    for a, sender in sides.items():
        for b, receiver in sides.items():
            sends, expects = sender.parts(0), receiver.parts(1)
            to, of = sender.group.index(b), sender.group.index(a)
            if to < len(sends) and of < len(expects) and sends[to] != expects[of]:
                return Mismatch(
                    "splits", group, number,
                    ((a, sender, f"sends {sends[to]:g} elements to rank {b}"),
                     (b, receiver, f"expects {expects[of]:g} from rank {a}")),
                )  # fmt: skip
    return None


def messages(evidence: Evidence) -> list[Mismatch]:
    """Sends and receives that met with different dtypes, or with too little or too much room."""
    found = []
    for rank, v in evidence.views.items():
        for send in v.operations:
            pair = evidence.partner(rank, send) if send.name == "send" else None
            if pair is None or pair[0] == rank:
                continue
            to, recv = pair
            sides = {rank: send, to: recv}
            if send.dtype != recv.dtype:
                kind, texts = "dtype", {r: o.dtype for r, o in sides.items()}
            elif sum(send.sent) != sum(recv.received):
                kind, texts = "shape", {r: f"shape {o.shape}" for r, o in sides.items()}
            else:
                continue
            both = tuple((r, o, texts[r]) for r, o in sides.items())
            found.append(Mismatch(kind, send.group_id, -1, both))
    return sorted(found, key=lambda mismatch: mismatch.done)
