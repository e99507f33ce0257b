"""Loops that most lanes have left: the others go on packed together.

A loop whose body is arithmetic alone does not care which lanes its values belong to.  When many
have left it, the values of the rest are taken out into rows of their own, all active; when the loop
ends, results go back to their places.  Where observers listen, they are told the lanes' own places.

    packing = Packing(rt)
    while True:
        m, _ = split(m, x < y)
        if m is False: break
        if packing.due(m):
            m, x, y = packing.pack(m, (), (x,), (y,))
        ...                                     # x changes, y is only read
    x, y = packing.unpack((), (x,), (y,))
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from .values import Mask, Value

LEAST = 1024  # lanes; fewer are not worth the work
SHARE = 0.85  # of the lanes that go on; below, they are packed


class Packing:
    """The lanes of one loop that go on."""

    def __init__(self, run: Any) -> None:
        self._run = run
        self._outer = run.packing
        self._shape: tuple[int, int] = run.lanes if self._outer is None else self._outer.shape
        self._size = self._shape[0] * self._shape[1]
        self._lanes: Any = None  # positions in the outer shape, once packed
        self._masks: list[Mask] = []
        self._changed: list[Value] = []
        self._own: set[Any] = set()  # which of these are arrays of our own
        self._kept: tuple[Value, ...] = ()
        self._last: tuple[Mask, Mask] = (None, None)
        self.chosen: Any = None  # of the lanes before the last packing
        self._before = self._shape  # the shape values had before it

    @property
    def shape(self) -> tuple[int, int]:
        """The shape that values have in the loop."""
        return self._shape if self._lanes is None else (1, self._lanes.size)

    def due(self, m: Mask) -> bool:
        """Whether so many lanes have left that packing pays."""
        if m is True or m is False:
            return False
        size = self._size if self._lanes is None else self._lanes.size
        return size >= LEAST and m.size == size and np.count_nonzero(m) < SHARE * size

    def pack(
        self, m: Mask, masks: tuple[Mask, ...], changed: tuple[Value, ...], kept: tuple[Value, ...]
    ) -> tuple[Any, ...]:
        """Go on with the lanes of m: True for it, and the masks and values of these lanes."""
        self.chosen, self._before = np.flatnonzero(m), self.shape
        if self._lanes is None:
            self._masks, self._changed, self._kept = list(masks), list(changed), kept
            self._run.packing = self
            lanes = self.chosen
        else:
            self._save(masks, changed)
            lanes = self._lanes.take(self.chosen)
        taken = [self._mask(mask) for mask in masks]
        taken += [self.take(value) for value in (*changed, *kept)]
        self._lanes = lanes
        return (True, *taken)

    def unpack(
        self, masks: tuple[Mask, ...], changed: tuple[Value, ...], kept: tuple[Value, ...]
    ) -> tuple[Any, ...]:
        """All lanes again, with what the packed ones have found."""
        if self._lanes is None:
            return (*masks, *changed, *kept)
        self._run.packing = self._outer
        self._save(masks, changed)
        return (*self._masks, *self._changed, *self._kept)

    def take(self, value: Value) -> Value:
        """A value of the lanes chosen last; of a tuple, each item."""
        if isinstance(value, tuple):
            return tuple(map(self.take, value))
        if value is None or value.ndim == 0:
            return value
        whole = value if value.shape == self._before else np.broadcast_to(value, self._before)
        return whole.reshape(-1).take(self.chosen).reshape(1, -1)

    def full(self, m: Mask) -> Mask:
        """A mask of packed lanes as one of the chunk's."""
        if m is False:
            return m
        if self._last[0] is not m:
            whole = np.zeros(self._shape, np.bool_)
            whole.reshape(-1)[self._lanes] = m
            self._last = m, whole if self._outer is None else self._outer.full(whole)
        return self._last[1]

    def _mask(self, mask: Mask) -> Mask:
        if mask is True or mask is False:
            return mask
        return _plain(self.take(mask))

    def _save(self, masks: tuple[Mask, ...], changed: tuple[Value, ...]) -> None:
        """Put the values of the packed lanes into their places."""
        for k, mask in enumerate(masks):
            if mask is not self._masks[k]:
                whole = np.broadcast_to(np.bool_(self._masks[k]), self._shape).copy()
                whole.reshape(-1)[self._lanes] = mask
                self._masks[k] = _plain(whole)
        for k, value in enumerate(changed):
            self._changed[k] = self._put(k, self._changed[k], value)

    def _put(self, k: Any, before: Value, value: Value) -> Value:
        """`before` with the packed lanes' `value`; k names the place, an item of a tuple has its
        own."""
        if value is None or value is before:
            return before
        if isinstance(value, tuple):
            old = before if before is not None else (None,) * len(value)
            return tuple(self._put((k, i), *pair) for i, pair in enumerate(zip(old, value)))
        if k not in self._own:
            self._own.add(k)
            if before is None:
                before = value.dtype.type(0)
            before = np.broadcast_to(before, self._shape).copy()
        before.reshape(-1)[self._lanes] = value.reshape(-1)
        return before


#: Uses of the run in a loop that may be packed: what only observers hear, and inner loops.
_HEARD = re.compile(r"rt\.(segment|branch)\(|(Packing|Spin)\(rt\b|\.begin\(rt\b")
_NAME = re.compile(r"(?<![\w.'])[A-Za-z_]\w*")
_TEXT = re.compile(r"'(\\.|[^'])*'|\"(\\.|[^\"])*\"")
_TEMPORARY = re.compile(r"(m|t|c|v|r|view|lanes|value|again|packing|tape)_\d+")
_MASK = re.compile(r"lanes_gone|broke_\w+|assigned_\d+|m_\d+")


def plan(
    lines: Iterable[str], numbers: set[str], others: set[str], own: set[str]
) -> tuple[list[str], list[str], list[str]] | None:
    """What a loop's lines need packed: masks, values that change, values that are only read.

    numbers, others: the generated variables that hold numbers, and those that hold anything else.
    own: the loop's mask and range.
    None when the loop does more than arithmetic, or uses what was prepared before it.
    """
    made: set[str] = set()  # temporaries that the loop itself makes before it reads them
    assigned: set[str] = set()
    read: dict[str, None] = {}
    masks: dict[str, None] = {}
    for text in lines:
        line = _TEXT.sub("", text)
        if re.search(r"\brt\b", _HEARD.sub("", line)):
            return None
        targets, code = _parts(line)
        for name in _NAME.findall(code):
            if name in others:
                return None
            if name in numbers or name == "value_returned":
                read[name] = None
            elif name in own or name in made:
                continue
            elif _MASK.fullmatch(name):
                masks[name] = None
            elif _TEMPORARY.fullmatch(name):
                return None
        for name in targets:
            if name in others:
                return None
            if name in numbers or name == "value_returned":
                assigned.add(name)
                read[name] = None
            elif name not in masks:
                made.add(name)
    changed = [name for name in read if name in assigned]
    kept = [name for name in read if name not in assigned]
    return list(masks), changed, kept


def _parts(line: str) -> tuple[list[str], str]:
    """Names that a generated line assigns to, and the rest of it."""
    line = line.strip()
    condition = ""
    if line.startswith("if ") and ": " in line:
        condition, _, line = line.partition(": ")
    if line.startswith("for "):
        target, _, code = line.removeprefix("for ").partition(" in ")
        return [target], code
    target, equals, code = line.partition(" = ")
    if not equals or not re.fullmatch(r"[\w, .]+", target):
        return [], condition + " " + line
    return [n.strip() for n in target.split(",") if "." not in n], condition + " " + code


def _plain(mask: Any) -> Mask:
    return True if mask.all() else (mask if mask.any() else False)
