"""Which line wastes most, and the sentence that says so.

waste   what a line moves, passes or issues beyond the fewest for the same work: sectors,
        wavefronts, transactions and issue slots weigh the same
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import metrics

#: Waste below this share of a line's work is not worth a sentence.
SHARE = 0.05


def worst(lines: Iterable[Any]) -> tuple[Any, str] | None:
    """(line, why) with the most waste; None when no line wastes a twentieth of its work."""
    best: tuple[float, Any, str] | None = None
    for line in lines:
        for wasted, share, why in _wastes(line):
            if share >= SHARE and wasted > (best[0] if best else 0):
                best = (wasted, line, why)
    return None if best is None else (best[1], best[2])


def _wastes(line: Any) -> Iterable[tuple[float, float, str]]:
    """(waste, its share, sentence) for each group of a line's counts."""
    for group, (title, _) in metrics.MEMORY.items():
        t = getattr(line, group)
        of, one = _culprit(line, group)
        yield _waste(
            t.sectors, t.ideal_sectors,
            f"its {title}{of} move {one.sectors_per_request:.1f} sectors a request where "
            f"{one.fewest_per_request:.1f} would do{_cause(line, group)}",
        )  # fmt: skip
    for group, (title, _) in metrics.SHARED.items():
        s = getattr(line, group)
        of, one = _culprit(line, group)
        yield _waste(
            s.wavefronts, s.ideal_wavefronts,
            f"its {title}{of} take {one.wavefronts_per_request:.1f} wavefronts a request where "
            f"{one.fewest_per_request:.1f} would do, for bank conflicts of up to {one.worst} ways"
            f"{_cause(line, group)}",
        )  # fmt: skip
    for group, title in metrics.ATOMICS.items():
        a = getattr(line, group)
        fewest = a.sectors if group == "atomics" else a.requests
        queue = (
            f"up to {a.worst} lanes of a warp queue for one address"
            if a.worst > 1
            else "lanes of a warp queue for one bank"
        )
        yield _waste(
            a.transactions, fewest,
            f"its {title} take {a.transactions_per_request:.1f} transactions a request where "
            f"{fewest / max(a.requests, 1):.1f} would do: {queue}",
        )  # fmt: skip
    c = line.const_loads
    yield _waste(
        c.addresses, c.requests,
        f"its loads of constant memory want {c.addresses_per_request:.1f} addresses a request "
        "where 1.0 would do, and are served one after the other: use a global or a shared array",
    )  # fmt: skip
    w = line.work
    yield _waste(
        w.slots, w.lanes / 32,
        f"its {w.slots:,} issue slots run with {w.lanes_per_slot:.1f} of 32 lanes active",
    )  # fmt: skip


def _waste(actual: float, fewest: float, why: str) -> tuple[float, float, str]:
    return actual - fewest, (actual - fewest) / actual if actual else 0.0, why


def _beyond(counts: Any) -> int:
    """What the accesses of an array move or pass beyond the fewest."""
    if isinstance(counts, metrics.SharedTraffic):
        return counts.bank_conflicts
    return int(counts.sectors - counts.ideal_sectors)


def _worst_array(line: Any, group: str) -> str:
    """The array of a group that wastes most."""
    shares = line.arrays[group]
    return max(shares, key=lambda of: _beyond(shares[of]))


def _culprit(line: Any, group: str) -> tuple[str, Any]:
    """(" of a", its counts) where the arrays of a line waste differently; else the whole group."""
    shares = line.arrays.get(group, {})
    rates = {round(_beyond(one) / one.requests, 1) for one in shares.values()}
    if len(rates) < 2:
        return "", getattr(line, group)
    name = _worst_array(line, group)
    return f" of {name}", shares[name]


def _cause(line: Any, group: str) -> str:
    patterns = line.patterns.get(group, {})
    pattern = patterns.get(_worst_array(line, group)) if patterns else ""
    return f": {pattern}" if pattern else ""
