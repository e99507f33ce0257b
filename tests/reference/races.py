"""Which touches of a launch nothing orders: the definition of a race, over all pairs."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from .grid import Trace
from .memory import Touch


def ordered(a: Touch, b: Touch) -> bool:
    """Whether a barrier of their block, or a syncwarp of their warp, stands between two touches."""
    if a.block != b.block:
        return False
    if a.epoch != b.epoch:
        return True
    return a.thread // 32 == b.thread // 32 and a.warp_epoch != b.warp_epoch


def races(trace: Trace) -> dict[frozenset[int], int]:
    """Pairs of source lines that race, with how many elements they race for."""
    cells: dict[Any, dict[Any, Touch]] = defaultdict(dict)
    for touch in trace.touches:
        if touch.root.space not in ("global", "shared"):
            continue
        same = touch.site, touch.op, touch.block, touch.thread, touch.epoch, touch.warp_epoch
        cells[id(touch.root), touch.at].setdefault(same, touch)
    found: dict[frozenset[int], int] = defaultdict(int)
    for touches in cells.values():
        if all(t.op == "load" for t in touches.values()):
            continue
        pairs = {
            frozenset((trace.places[a.site].line, trace.places[b.site].line))
            for a in touches.values() if a.op != "load"
            for b in touches.values()
            if (a.block, a.thread) != (b.block, b.thread)
            and not (a.op == b.op == "atomic") and not ordered(a, b)
        }  # fmt: skip
        for pair in pairs:
            found[pair] += 1
    return dict(found)
