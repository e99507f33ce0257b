"""Rounds: how many messages follow one another, from the logs of all ranks.

A message or collective happens in the round after the latest of those that issue it; a rank that
has waited for it is in that round.  What ranks do side by side is one round: a ring all-reduce of
n ranks with isend and irecv has 2(n - 1), with a send before each recv on half of the ranks twice
as many.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .evidence import Evidence
from .operations import Operation

Event = tuple[str, Operation]  # "issue" or "wait"


def events(snapshot: Mapping[str, Any], operations: Sequence[Operation]) -> list[Event]:
    """What a rank did, in order.  An operation that is not asynchronous is waited for at once."""
    found: list[Event] = []
    by_index = {o.index: o for o in operations}
    index = snapshot.get("dropped", 0)
    log = snapshot.get("log")
    if log is None:
        return [event for o in operations for event in (("issue", o), ("wait", o))]
    waited = {-entry - 1 for entry in log if entry < 0}
    for entry in log:
        if entry < 0:
            over = by_index.get(-entry - 1)
            found += [("wait", over)] if over else []
            continue
        operation = by_index[index]
        index += 1
        found.append(("issue", operation))
        # C++ waits unseen for the collectives of DDP and of functional collectives.
        unseen = operation.index not in waited and not operation.is_message
        if not operation.is_async or unseen:
            found.append(("wait", operation))
    return found


class Rounds:
    """by_rank: the round each rank came to; of(rank, index): the round of one operation, or None.

    keep: which operations count; the others take no round and hold nobody up.
    """

    def __init__(
        self,
        evidence: Evidence,
        snapshots: Mapping[int, Mapping[str, Any] | None],
        keep: Callable[[Operation], bool] = lambda o: o.counts,
    ):
        self._evidence = evidence
        self._issued: dict[tuple[int, int], int] = {}
        self._found: dict[tuple[int, int], int] = {}
        # By group and number: how many ranks have come to a collective, and the latest's round.
        self._met: dict[tuple[str, int], list[int]] = {}
        self.by_rank = dict.fromkeys(evidence.ranks, 0)
        waiting: dict[int, deque[Event]] = {}
        for rank, v in evidence.views.items():
            told = events(snapshots[rank] or {}, v.operations)
            waiting[rank] = deque(event for event in told if keep(event[1]))
        going = True
        while going:  # one rank after the other, as far as its partners have come
            going = False
            for rank, left in waiting.items():
                while left and self._step(rank, *left[0]):
                    left.popleft()
                    going = True

    def of(self, rank: int, index: int) -> int | None:
        """The round in which a rank's operation happened; None where it did not end."""
        return self._found.get((rank, index))

    def _step(self, rank: int, what: str, operation: Operation) -> bool:
        key = (rank, operation.index)
        if what == "issue":
            self._issued[key] = self.by_rank[rank]
            if not operation.is_message:
                met = self._met.setdefault((operation.group_id, operation.number), [0, 0])
                met[:] = met[0] + 1, max(met[1], self.by_rank[rank])
            return True
        last = self._last(rank, operation)
        if last is None:
            return False
        self._found[key] = 1 + last
        self.by_rank[rank] = max(self.by_rank[rank], self._found[key])
        return True

    def _last(self, rank: int, operation: Operation) -> int | None:
        """The latest round in which a side issued it; None until all have."""
        if not operation.is_message:
            came, latest = self._met[operation.group_id, operation.number]
            return latest if came >= len(self._evidence.members(operation)) else None
        pair = self._evidence.partner(rank, operation)
        if pair is None or (pair[0], pair[1].index) not in self._issued:
            return None
        return max(self._issued[rank, operation.index], self._issued[pair[0], pair[1].index])


def tally(rounds: Rounds, operations: Mapping[int, Sequence[Operation]]) -> dict[Any, int]:
    """Different rounds by (rank, key of the line); see Ledger."""
    seen: dict[Any, set[int]] = defaultdict(set)
    for rank, told in operations.items():
        for o in told:
            number = rounds.of(rank, o.index)
            if number is not None:
                seen[rank, o.name, o.group_id, str(o.site[0]), o.site[1]].add(number)
    return {key: len(numbers) for key, numbers in seen.items()}
