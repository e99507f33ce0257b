"""Locks taken in an order that may block two threads for ever, also where this run got through.

A lock is an element that a thread changes by cas or exch and puts back itself.  While it holds one
lock and asks for another, it draws an arrow from the first to the second; arrows of different
threads in a circle are a deadlock that waits for its day.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Cell = tuple[int, int, int]  # root, block or -1, position


@dataclass
class _Hold:
    free: Any  # the value that the element had
    site: int
    asked: dict[Cell, int] = field(default_factory=dict)  # other locks asked for since -> site


@dataclass(frozen=True)
class Arrow:
    """`thread` held `first`, taken at a site, when it asked for `second` at another site."""

    thread: int
    first: Cell
    first_site: int
    second: Cell
    second_site: int
    guards: frozenset[Cell]  # what else it held: two under one lock cannot meet


class Locks:
    """The arrows of a launch."""

    def __init__(self) -> None:
        self._held: dict[int, dict[Cell, _Hold]] = {}
        self._arrows: dict[tuple[Cell, Cell], list[Arrow]] = {}

    def exchange(
        self, thread: int, cell: Cell, site: int, old: Any, new: Any, changed: bool
    ) -> None:
        """cas or exch of a thread; changed: the element got the new value."""
        held = self._held.setdefault(thread, {})
        hold = held.get(cell)
        if hold is not None and changed and new == hold.free:
            del held[cell]
            for other, other_site in hold.asked.items():
                guards = frozenset(held) - {other}
                self._draw(Arrow(thread, cell, hold.site, other, other_site, guards))
            return
        for first, other_hold in held.items():
            if first != cell:
                other_hold.asked.setdefault(cell, site)
        if changed and new != old:
            held[cell] = _Hold(old, site)

    def _draw(self, arrow: Arrow) -> None:
        known = self._arrows.setdefault((arrow.first, arrow.second), [])
        if len(known) < 2 and all(
            arrow.thread != a.thread or arrow.guards != a.guards for a in known
        ):
            known.append(arrow)

    def circle(self) -> list[Arrow]:
        """Arrows of different threads that lead back to their start; empty when there are none."""
        for arrows in self._arrows.values():
            for arrow in arrows:
                found = self._back(arrow.first, [arrow])
                if found:
                    return found
        return []

    def _back(self, start: Cell, path: list[Arrow]) -> list[Arrow]:
        for (first, _), arrows in self._arrows.items():
            if first != path[-1].second:
                continue
            for arrow in arrows:
                if any(arrow.thread == a.thread or arrow.guards & a.guards for a in path):
                    continue
                if arrow.second == start:
                    return [*path, arrow]
                if all(arrow.second != a.first for a in path):
                    found = self._back(start, [*path, arrow])
                    if found:
                        return found
        return []
