"""What a host program asks of the device, call by call, for whoever listens.

Glossary
    place   a piece of memory of the host or of the device: its address, its bytes, and those of the
            allocation it is in; the simulator's device memory lies in the host's, too
    stream  the handle of a stream: 0 and 1 are the default stream, -1 stands for the whole device
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

Place = tuple[int, int, int, int]
WHOLE_DEVICE = -1


@dataclass(frozen=True)
class HostCall:
    """One call.  kind: h2d, d2h, d2d, kernel, record, wait (of a stream for an event), or sync (of
    the host with a stream, an event or the device).

    name    of a kernel
    event   a number, of the calls that concern an event
    pinned  of a copy: whether the host's memory was pinned
    reads, writes   what it touches, from the first byte to the last
    """

    kind: str
    stream: int = 0
    name: str = ""
    event: int | None = None
    pinned: bool = False
    reads: tuple[Place, ...] = ()
    writes: tuple[Place, ...] = ()


_listeners: list[Callable[[HostCall], None]] = []
_kept: list[Any] = []  # memory that calls told of, so that no other gets its address meanwhile
_pinned: list[Place] = []


def listening() -> bool:
    """Whether anybody wants to know."""
    return bool(_listeners)


def tell(kind: str, stream: Any = 0, **facts: Any) -> None:
    """Tell the listeners of a call in `stream`: a stream, a handle, or 0."""
    if _listeners:
        handle = int(getattr(stream, "handle", stream) or 0)
        call = HostCall(kind, handle, **facts)
        for listener in _listeners:
            listener(call)


def tell_copy(kind: str, stream: Any, host: Any, device: Any) -> None:
    """Tell of a copy between a host array and device memory."""
    if _listeners:
        _kept.extend((host, device))
        source, target = (host, device) if kind == "h2d" else (device, host)
        tell(kind, stream, pinned=is_pinned(host), reads=(place(source),), writes=(place(target),))


@contextmanager
def listen(listener: Callable[[HostCall], None]) -> Iterator[None]:
    """Call `listener` with each call made inside the `with` block."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
        if not _listeners:
            _kept.clear()


def place(view: Any) -> Place:
    """Where the elements of a NumPy array lie, gaps between them included."""
    if not view.size:
        return 0, 0, 0, 0
    low, high = np.lib.array_utils.byte_bounds(view)
    start, end = np.lib.array_utils.byte_bounds(_owner(view))
    return int(low), int(high - low), int(start), int(end - start)


def _owner(array: Any) -> Any:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


# -- pinned memory ---------------------------------------------------------------


def pin(view: Any) -> Place:
    """Remember that this host memory is pinned; gives the place, for `unpin`."""
    found = place(view)
    _pinned.append(found)
    return found


def unpin(where: Place) -> None:
    """Forget it again."""
    _pinned.remove(where)


def pin_for_life(array: Any) -> None:
    """Pinned as long as the memory of this array lives."""
    weakref.finalize(_owner(array), unpin, pin(array))


def is_pinned(view: Any) -> bool:
    """Whether all of an array's memory is pinned; an empty one has nothing to pin."""
    address, count, *_ = place(view)
    return not count or any(
        low <= address and address + count <= low + size for low, size, *_ in _pinned
    )


# -- what a kernel touches -------------------------------------------------------


class TouchedPlaces:
    """An observer: the bytes that a launch reads and writes, of each allocation."""

    needs_counts = False

    def __init__(self) -> None:
        self._reads: dict[int, tuple[Any, int, int]] = {}  # allocation, first byte, end
        self._writes: dict[int, tuple[Any, int, int]] = {}

    @property
    def reads(self) -> tuple[Place, ...]:
        """What was loaded, when the launch is over."""
        return tuple(_place_in(*found) for found in self._reads.values())

    @property
    def writes(self) -> tuple[Place, ...]:
        """What was stored, when the launch is over."""
        return tuple(_place_in(*found) for found in self._writes.values())

    def load(self, run: Any, site: int, arr: Any, index: Any, at: Any, m: Any, value: Any) -> None:
        self._note(self._reads, arr, at, m)

    def store(self, run: Any, site: int, arr: Any, index: Any, at: Any, m: Any, value: Any) -> None:
        self._note(self._writes, arr, at, m)

    def atomic(self, run: Any, site: int, arr: Any, index: Any, at: Any, m: Any, name: str,
               operands: Any, old: Any) -> None:  # fmt: skip
        self._note(self._reads, arr, at, m)
        self._note(self._writes, arr, at, m)

    def _note(self, found: dict[int, tuple[Any, int, int]], arr: Any, at: Any, m: Any) -> None:
        root = arr.root
        if root.space != "global":
            return
        shape = np.broadcast_shapes(np.shape(at), np.shape(m))
        where = np.broadcast_to(at, shape)[np.broadcast_to(m, shape)]
        if not where.size:
            return
        item = root.buf.itemsize
        low, high = int(where.min()) * item, (int(where.max()) + 1) * item
        _, known_low, known_high = found.get(id(root), (root, low, high))
        found[id(root)] = root, min(low, known_low), max(high, known_high)

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *heard: None  # what else an observer may be told


def _place_in(root: Any, low: int, high: int) -> Place:
    _kept.append(root.buf)
    address, _, start, size = place(root.buf)
    return address + low, high - low, start, size
