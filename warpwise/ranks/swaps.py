"""Collectives that match in kind and size but not in meaning: the silent exchange of two calls.

If rank 0 reduces `a` and then `b`, and rank 1 `b` and then `a`, and both have one shape, every
call matches and the sums are wrong.  No library notices.  Call sites tell: the ranks visit the same
lines in another order.

Ranks may well come to one collective from different lines (`if rank == 0: ... else: ...`); then
the lines of one rank are not lines of the other, and nothing is said.  Two calls from one line, in
a loop over a dict say, cannot be told apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from .evidence import Evidence, line_of
from .operations import ROOTED, Operation, Site

Key = tuple[str, ...]

WINDOW = 64  # calls within which the same lines must come again


@dataclass(frozen=True)
class Swap:
    """Ranks a and b visit the same lines in another order, from collective `number` on."""

    a: int
    b: int
    group: str
    number: int
    first: tuple[Operation, ...]  # of rank a, in its order
    second: tuple[Operation, ...]  # of rank b


def swaps(evidence: Evidence) -> list[Swap]:
    """The first swap of each group against the order of most of its ranks."""
    found = []
    for group, members in evidence.groups.items():
        views = [evidence.views[r] for r in members if r in evidence.views]
        if len(views) < 2 or any(v.partial for v in views):
            continue
        orders = {v.rank: _in_order(v.collectives(group)) for v in views}
        if _all_alike(list(orders.values())):
            continue
        usual = _usual(list(orders.values()))
        a = next(rank for rank, order in orders.items() if order is usual)
        roles = _roles([o for order in orders.values() for o in order])
        for b, order in orders.items():
            swap = _first_swap(usual, order, roles)
            if swap:
                number, first, second = swap
                found.append(Swap(a, b, group, number, tuple(first), tuple(second)))
                break
    return found


def _all_alike(orders: Sequence[list[Operation]]) -> bool:
    """True where every rank comes from the same lines in the same order: the usual case."""
    first, *rest = orders
    return all(
        len(order) == len(first)
        and all(a.site == b.site and a.trail == b.trail for a, b in zip(first, order))
        for order in rest
    )


def _in_order(operations: dict[int, Operation]) -> list[Operation]:
    return [operations[number] for number in sorted(operations)]


def _usual(orders: Sequence[list[Operation]]) -> list[Operation]:
    """The order that most ranks have."""
    keys = [tuple(_key(o) for o in order) for order in orders]
    most = Counter(keys).most_common(1)[0][0]
    return orders[keys.index(most)]


def _key(operation: Operation) -> Key:
    """Where a call comes from: the text of its line and of those that led there.

    By text, not by number: each branch of an `if rank == 0` has its own copy of the same call.
    """
    return tuple(_line(site) for site in (operation.site, *operation.trail))


@lru_cache(maxsize=10_000)
def _text(file: str, line: int, text: str) -> str:
    return line_of([file, line, text, ""]) or f"{file}:{line}"


def _line(site: Site) -> str:
    return _text(str(site[0]), int(site[1]), str(site[2]))


def _roles(operations: Sequence[Operation]) -> dict[Key, set[bool]]:
    """Whether a line issues rooted collectives as the root, as another rank, or both."""
    roles: dict[Key, set[bool]] = {}
    for o in operations:
        if o.name in ROOTED:
            roles.setdefault(_key(o), set()).add(o.root == o.rank)
    return roles


def _first_swap(
    a: list[Operation], b: list[Operation], roles: dict[Key, set[bool]]
) -> tuple[int, list[Operation], list[Operation]] | None:
    """(number, part of a, part of b): the shortest stretch with the same lines in another order."""
    length = min(len(a), len(b))
    k = 0
    while k < length:
        if _same(a[k], b[k], roles):
            k += 1
            continue
        ahead: Counter[Key] = Counter()
        for end in range(k, min(length, k + WINDOW)):
            ahead[_key(a[end])] += 1
            ahead[_key(b[end])] -= 1
            if end > k and not any(ahead.values()):
                return a[k].number, a[k : end + 1], b[k : end + 1]
        k += 1
    return None


def _same(a: Operation, b: Operation, roles: dict[Key, set[bool]]) -> bool:
    """Whether two calls may be one operation although they stand on different lines."""
    if _key(a) == _key(b):
        return True
    # `if rank == src: broadcast(mine, src) else: broadcast(room, src)`: a line for the root alone.
    ours, theirs = roles.get(_key(a), {True, False}), roles.get(_key(b), {True, False})
    return a.name in ROOTED and len(ours) == len(theirs) == 1 and ours != theirs
