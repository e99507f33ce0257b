"""The ledger: what each rank sent and received, by line, operation and group.

Operations and bytes are counted as the learner's calls hand them in; what a collective moves over
the wires is the backend's choice, and stands beside them as modelled: nccl-tests' factor times S;
for an all_to_all what its splits give to other ranks, which is the same where they are even.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from html import escape
from typing import Any

from ..fabric.expected import expected
from ..fabric.fit import FACTORS
from . import words
from .evidence import Evidence, line_of
from .operations import Operation
from .rounds import Rounds, tally

LABEL = "calls, bytes and rounds counted; wire modelled as nccl-tests' factor times S"
COUNTED = "calls, bytes, wire and rounds counted"
EXACT = frozenset({"send", "recv", "all_to_all", "barrier"})  # what they send leaves no choice


@dataclass(frozen=True)
class Entry:
    """What one line did on one rank.

    calls: how often.  bytes: handed in by this rank.  received: bytes that came back.
    wire: bytes this rank sends over links; for collectives modelled with a ring's factor, for an
        all_to_all by its splits.
    rounds: in how many different rounds (see rounds.py); None where the log is not whole.
    """

    rank: int
    file: str
    line: int
    text: str
    operation: str
    group: tuple[int, ...]
    calls: int
    bytes: int
    received: int
    wire: float
    rounds: int | None


class Ledger:
    """The ledger of a world, from its snapshots by rank; entries stand in the order of their lines.

    >>> outcome.ledger.bytes                    # by rank
    >>> pandas.DataFrame(outcome.ledger.to_dict())
    """

    def __init__(self, snapshots: Mapping[int, Mapping[str, Any] | None]):
        self._snapshots = {int(rank): snapshot for rank, snapshot in snapshots.items()}
        self._evidence = Evidence.of(self._snapshots)
        self.ranks = self._evidence.ranks

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """One for each rank, line, operation and group."""
        counted: dict[Any, list[float]] = defaultdict(lambda: [0, 0, 0, 0.0])
        groups: dict[Any, tuple[tuple[int, ...], list[Any]]] = {}
        for rank, snapshot in self._snapshots.items():
            for o, count in self._totals(rank, snapshot or {}):
                key = (rank, o.name, o.group_id, str(o.site[0]), int(o.site[1]))
                groups[key] = (tuple(o.group), o.site)
                each = counted[key]
                item = _item(o)
                each[0] += count
                each[1] += count * o.bytes
                each[2] += count * item * sum(o.received)
                each[3] += count * _wire(o, rank)
        rounds = self._by_line
        found = [
            Entry(
                key[0], key[3], key[4], line_of(groups[key][1]), key[1], groups[key][0],
                int(each[0]), int(each[1]), int(each[2]), each[3],
                None if rounds is None else rounds.get(key, 0),
            )
            for key, each in counted.items()
        ]  # fmt: skip
        return tuple(sorted(found, key=lambda e: (e.file, e.line, e.operation, e.group, e.rank)))

    def _totals(self, rank: int, snapshot: Mapping[str, Any]) -> Iterable[tuple[Operation, int]]:
        """Signatures with counts: exact also where the log has lost its beginning."""
        if snapshot.get("totals"):
            found = [(Operation.of(facts), facts["count"]) for facts in snapshot["totals"]]
        else:
            found = [(o, 1) for o in self._evidence.views[rank].operations]
        return [(o, count) for o, count in found if o.counts]

    # ---- rounds

    @cached_property
    def _whole(self) -> bool:
        return not any(s is None or s.get("dropped") for s in self._snapshots.values())

    @cached_property
    def _by_line(self) -> dict[Any, int] | None:
        if not self._whole:
            return None
        operations = {rank: v.operations for rank, v in self._evidence.views.items()}
        return tally(Rounds(self._evidence, self._snapshots), operations)

    def rounds(self, group: Iterable[int] | None = None) -> list[int | None]:
        """Rounds by rank: how many messages and collectives follow one another.

        group: global ranks; only its operations are counted.  None where a log is not whole.
        """
        if not self._whole:
            return [None] * len(self.ranks)
        if group is None:
            return list(Rounds(self._evidence, self._snapshots).by_rank.values())
        wanted = list(group)
        names = [name for name, ranks in self._evidence.groups.items() if list(ranks) == wanted]
        found = Rounds(
            self._evidence, self._snapshots, lambda o: o.counts and o.group_id in names
        ).by_rank
        return list(found.values())

    # ---- sums

    def _sum(self, value: Callable[[Entry], float], **only: Any) -> list[Any]:
        total = dict.fromkeys(self.ranks, 0)
        for entry in self.entries:
            if all(getattr(entry, name) == wanted for name, wanted in only.items()):
                total[entry.rank] += value(entry)  # type: ignore[assignment]
        return list(total.values())

    @property
    def calls(self) -> list[int]:
        """Operations by rank."""
        return self._sum(lambda e: e.calls)

    @property
    def bytes(self) -> list[int]:
        """Bytes handed in, by rank."""
        return self._sum(lambda e: e.bytes)

    @property
    def wire(self) -> list[float]:
        """Bytes each rank sends over links; modelled for collectives."""
        return self._sum(lambda e: e.wire)

    @property
    def label(self) -> str:
        """Where the numbers come from."""
        return COUNTED if all(e.operation in EXACT for e in self.entries) else LABEL

    def of(self, operation: str, group: Iterable[int] | None = None) -> Ledger:
        """The ledger of one operation ("all_reduce", "send"), or of one within a group."""
        wanted = None if group is None else tuple(group)
        part = Ledger(self._snapshots)
        part.__dict__["entries"] = tuple(
            e for e in self.entries
            if e.operation == operation and (wanted is None or e.group == wanted)
        )  # fmt: skip
        return part

    def against(self, algorithm: str, size: int) -> Comparison:
        """Messages counted beside what an algorithm of all ranks needs.  size: bytes of the array.

        Only sends are counted, so that a barrier before or after does no harm.
        """
        theory = expected(algorithm, len(self.ranks), size)
        rounds = Rounds(
            self._evidence, self._snapshots, lambda o: o.counts and o.is_message
        ).by_rank
        sent = self._sum(lambda e: e.bytes, operation="send")
        return Comparison(
            algorithm, theory.rounds, max(rounds.values()), theory.bytes, max(sent)
        )  # fmt: skip

    # ---- showing

    def to_dict(self) -> list[dict[str, Any]]:
        """A record for each entry; pandas.DataFrame takes the list as it is."""
        return [asdict(entry) | {"group": list(entry.group)} for entry in self.entries]

    def rows(self) -> list[tuple[str, ...]]:
        """Entries as text; ranks whose line did the same share a row."""
        same: dict[Any, list[int]] = defaultdict(list)
        for e in self.entries:
            same[
                e.file, e.line, e.text, e.operation, e.group, e.calls, e.bytes, e.wire, e.rounds
            ] += [e.rank]
        size = len(self.ranks)
        return [
            (
                words.place([file, line, text, ""]), operation,
                "all" if len(group) == size else str(list(group)),
                "all" if len(ranks) == size else words.ranks(ranks).split(" ", 1)[1],
                f"{calls:,}", _amount(handed), _amount(wire),
                "-" if rounds is None else f"{rounds:,}",
            )
            for (file, line, text, operation, group, calls, handed, wire, rounds), ranks
            in same.items()
        ]  # fmt: skip

    def __str__(self) -> str:
        lines = [_HEAD, *self.rows()]
        widths = [max(len(line[k]) for line in lines) for k in range(len(_HEAD))]
        shown = [
            "  ".join(
                c.rjust(w) if k > 3 else c.ljust(w) for k, (c, w) in enumerate(zip(row, widths))
            )
            for row in lines
        ]
        return "\n".join([*(line.rstrip() for line in shown), f"({self.label})"])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        style = "padding: 2px 12px 2px 0; border: none; background: none; text-align: "
        rows = [
            "<tr style='background: none;'>"
            + "".join(
                f"<{tag} style='{style}{'right' if k > 3 else 'left'}'>{escape(cell)}</{tag}>"
                for k, cell in enumerate(row)
            )
            + "</tr>"
            for tag, row in [("th", _HEAD), *(("td", row) for row in self.rows())]
        ]
        return f"<table>{''.join(rows)}</table><div>({escape(self.label)})</div>"


_HEAD = ("line", "operation", "group", "ranks", "calls", "bytes", "wire", "rounds")


@dataclass(frozen=True)
class Comparison:
    """An algorithm's counts as expected and as counted; bytes of the rank that sends most."""

    algorithm: str
    expected_rounds: int
    counted_rounds: int
    expected_bytes: float
    counted_bytes: int

    @property
    def agrees(self) -> bool:
        """True where both are as expected."""
        return (
            self.expected_rounds == self.counted_rounds
            and self.expected_bytes == self.counted_bytes
        )

    def __str__(self) -> str:
        return (
            f"{self.algorithm}: {self.counted_rounds} rounds counted, {self.expected_rounds} "
            f"expected; {self.counted_bytes:,} bytes sent by the busiest rank, "
            f"{self.expected_bytes:,.10g} expected"
        )

    __repr__ = __str__


def _item(o: Operation) -> float:
    """Bytes of one element."""
    elements = max(sum(o.sent), sum(o.received))
    return o.size / elements if elements else 0


def _wire(o: Operation, rank: int) -> float:
    if o.name == "recv" or (o.name == "gather" and o.received):  # the root of a gather only takes
        return 0.0
    if o.name == "gather":
        return float(o.bytes)
    if o.name == "scatter":  # the others hand in nothing
        return FACTORS["scatter"](len(o.group)) * o.bytes
    if o.name == "all_to_all":  # no other way moves fewer, and uneven parts have no factor
        others = [n for to, n in zip(o.group, o.parts(0), strict=True) if to != rank]
        return sum(others) * _item(o)
    factor = FACTORS.get(o.name)  # a barrier, say, has none: it moves no array
    return factor(len(o.group)) * o.size if factor else 0.0


def _amount(count: float) -> str:
    """Bytes in the largest fitting unit: 512 B, 4 KiB, 1.5 MiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:,.0f} {unit}" if count == int(count) else f"{count:,.2f} {unit}"
        count /= 1024
    raise AssertionError
