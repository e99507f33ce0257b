"""The evidence of a world: what each rank did and where it stands, built from plain snapshots.

view       one rank: its operations and its place
Evidence   all ranks: who has issued what, which messages match, who waits for whom
"""

from __future__ import annotations

import linecache
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .history import operations_of
from .operations import Operation, Site

# States a rank can be in.  "dead": its process is gone; "silent": nothing is known of it.
STATES = ("inside", "outside", "finished", "failed", "dead", "silent")


@dataclass
class View:
    """One rank.  here: the learner's line it stands on; error: what it died or failed of."""

    rank: int
    state: str
    operations: list[Operation]
    current: Operation | None = None
    here: Site = field(default_factory=lambda: ["", 0, "", ""])
    error: str = ""
    error_site: Site | None = None
    collateral: bool = False
    partial: bool = False

    @property
    def waits_elsewhere(self) -> bool:
        """True where it waits on another line than the one that issued the operation."""
        now = self.current
        return now is not None and bool(self.here[1]) and self.here[:2] != now.site[:2]

    def collectives(self, group: str) -> dict[int, Operation]:
        """Its collectives in a group by number."""
        return self._by_group.get(group, {})

    @cached_property
    def _by_group(self) -> dict[str, dict[int, Operation]]:
        found: dict[str, dict[int, Operation]] = defaultdict(dict)
        for operation in self.operations:
            if not operation.is_message and not operation.outsider:
                found[operation.group_id][operation.number] = operation
        return found


def view(rank: int, snapshot: Mapping[str, Any] | None, outcome: Mapping[str, Any]) -> View:
    """What is known of one rank; a missing snapshot gives the state "silent"."""
    status = outcome.get("status", "")
    known: dict[str, Any] = {
        "error": outcome.get("message", ""),
        "error_site": outcome.get("site"),
        "collateral": bool(outcome.get("collateral")),
    }
    if snapshot is None:
        return View(rank, "dead" if status == "died" else "silent", [], **known)
    operations = operations_of(snapshot)
    state = snapshot.get("state", "outside")
    if state == "dead" and status != "died":
        # The black box of a rank that holds the GIL: it lives, but where it is nobody can say.
        state = "silent"
    if status == "died":
        state = "dead"
    elif status == "error":
        state = "failed"
    elif status == "ok":
        state = "finished"
    current = None
    if snapshot.get("current"):
        facts = Operation.of(snapshot["current"])
        current = next((o for o in reversed(operations) if o.index == facts.index), facts)
        current.done = False
    here = snapshot.get("here") or _innermost(snapshot)
    if current is None and state == "failed" and known["collateral"]:
        # It failed because a peer was lost: what it waited in is what never came to an end.
        current = next((o for o in reversed(operations) if not o.done), None)
        state = "inside" if current else state
    return View(
        rank, state, operations, current, list(here), partial=bool(snapshot.get("partial")), **known
    )


def _innermost(snapshot: Mapping[str, Any]) -> Site:
    """The place of a hand-written snapshot: its operation's line, else the innermost frame."""
    current, stack = snapshot.get("current"), snapshot.get("stack")
    if current and current.get("site"):
        return list(current["site"])
    return [stack[-1][0], stack[-1][1], "", stack[-1][2]] if stack else ["", 0, "", ""]


@dataclass(frozen=True)
class Wait:
    """Rank `rank` waits in `operation` for `others`; any: one of them is enough."""

    rank: int
    operation: Operation
    others: tuple[int, ...]
    any: bool = False


class Evidence:
    """All ranks of a world, numbered from 0."""

    def __init__(self, views: Mapping[int, View]):
        self.views = dict(sorted(views.items()))
        self.ranks = list(self.views)
        self._members: dict[tuple[str, int], list[int]] = {}

    @staticmethod
    def of(
        snapshots: Mapping[int, Mapping[str, Any] | None],
        outcomes: Mapping[int, Mapping[str, Any]] | None = None,
    ) -> Evidence:
        """From snapshots by rank and, where they are known, outcomes by rank.

        An outcome has "status" ("ok", "error", "died", "stuck", "killed") and may have "message",
        "site" and "collateral".  Keys may be text, as JSON makes them.
        """
        ends = {int(rank): facts for rank, facts in (outcomes or {}).items()}
        ranks = {int(rank): snapshot for rank, snapshot in snapshots.items()}
        return Evidence({rank: view(rank, s, ends.get(rank, {})) for rank, s in ranks.items()})

    @property
    def ended(self) -> bool:
        """True where every rank has returned."""
        return all(v.state == "finished" for v in self.views.values())

    @cached_property
    def groups(self) -> dict[str, list[int]]:
        """Global ranks by group."""
        found: dict[str, list[int]] = {}
        for v in self.views.values():
            for operation in v.operations:
                if operation.group and operation.group_id not in found:
                    found[operation.group_id] = list(operation.group)
        return found

    def members(self, operation: Operation) -> list[int]:
        """The ranks of its group that there is evidence of."""
        key = (operation.group_id, len(operation.group))
        known = self._members.get(key)
        if known is None:
            known = self._members[key] = [r for r in operation.group if r in self.views]
        return known

    def lacking(self, operation: Operation) -> list[int]:
        """Members of a collective's group that have not issued its number."""
        return [
            rank
            for rank in self.members(operation)
            if operation.number not in self.views[rank].collectives(operation.group_id)
            and not self.views[rank].partial
        ]

    @cached_property
    def waits(self) -> dict[int, Wait]:
        """What each rank that stands inside an operation waits for; nobody where all is there."""
        found = {}
        for rank, v in self.views.items():
            now = v.current
            if v.state != "inside" or now is None:
                continue
            if not now.is_message:
                found[rank] = Wait(rank, now, tuple(self.lacking(now)))
            elif now.name == "recv" and now.peer is None:
                others = tuple(r for r in self.members(now) if r != rank)
                matched = self.partner(rank, now) is not None
                found[rank] = Wait(rank, now, () if matched else others, any=True)
            else:
                assert now.peer is not None
                matched = self.partner(rank, now) is not None
                found[rank] = Wait(rank, now, () if matched else (now.peer,))
        return found

    # ---- messages

    @cached_property
    def _matches(self) -> dict[tuple[int, int], tuple[int, Operation]]:
        """(rank, index) of a send or recv -> its partner; first come, first served."""
        sends: dict[Any, list[tuple[int, Operation]]] = defaultdict(list)
        receives: dict[Any, list[tuple[int, Operation]]] = defaultdict(list)
        anyway: dict[Any, list[tuple[int, Operation]]] = defaultdict(list)
        for rank, v in self.views.items():
            for o in v.operations:
                if o.name == "send":
                    sends[o.group_id, rank, o.peer, o.tag].append((rank, o))
                elif o.name == "recv" and o.peer is not None:
                    receives[o.group_id, o.peer, rank, o.tag].append((rank, o))
                elif o.name == "recv":
                    anyway[o.group_id, rank, o.tag].append((rank, o))
        found: dict[tuple[int, int], tuple[int, Operation]] = {}
        left: dict[Any, list[tuple[int, Operation]]] = defaultdict(list)
        for key, mine in sends.items():
            theirs = receives.get(key, [])
            for (a, send), (b, recv) in zip(mine, theirs):
                found[a, send.index], found[b, recv.index] = (b, recv), (a, send)
            group, _, to, tag = key
            left[group, to, tag] += mine[len(theirs) :]
        for key, mine in anyway.items():
            for (b, recv), (a, send) in zip(mine, left.get(key, [])):
                found[a, send.index], found[b, recv.index] = (b, recv), (a, send)
        return found

    def partner(self, rank: int, message: Operation) -> tuple[int, Operation] | None:
        """(rank, operation) at the other end of a send or recv; None while there is none."""
        return self._matches.get((rank, message.index))

    @cached_property
    def unmatched(self) -> list[tuple[int, Operation]]:
        """(rank, operation) of each send and recv without a partner."""
        return [
            (rank, o)
            for rank, v in self.views.items()
            for o in v.operations
            if o.is_message and (rank, o.index) not in self._matches
        ]

    # ---- the wait-for graph

    def cycle(self) -> list[int]:
        """Ranks that wait for each other in a circle, [] where there is none.

        A rank that waits for any of several is in a circle only if all of them are stuck.
        """
        state: dict[int, int] = {}
        path: list[int] = []

        def visit(rank: int) -> list[int]:
            state[rank] = 1
            path.append(rank)
            wait = self.waits.get(rank)
            if wait is not None and (not wait.any or all(o in self.waits for o in wait.others)):
                for other in wait.others:
                    if state.get(other) == 1:
                        return path[path.index(other) :]
                    if other not in state:
                        found = visit(other)
                        if found:
                            return found
            path.pop()
            state[rank] = 2
            return []

        for rank in self.ranks:
            if rank not in state:
                found = visit(rank)
                if found:
                    least = found.index(min(found))
                    return found[least:] + found[:least]
        return []

    def culprits(self) -> list[int]:
        """Ranks that others wait for, themselves not waiting; those most waited for first."""
        wanted: dict[int, int] = defaultdict(int)
        for wait in self.waits.values():
            for other in wait.others:
                stands = self.waits.get(other)
                if stands is None or not stands.others:
                    wanted[other] += 1
        return sorted(wanted, key=lambda rank: (-wanted[rank], rank))


def line_of(site: Site | None) -> str:
    """The source text of a site's line, stripped; "" where it is not known."""
    if not site or not site[1]:
        return ""
    return (site[2] or linecache.getline(str(site[0]), int(site[1]))).strip()
