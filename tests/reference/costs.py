"""What the touches of a launch cost a GPU, warp by warp, in plain Python.

A request is what the lanes of a warp touch together.  Global memory moves in sectors of 32 bytes.
Shared memory has 32 banks of 4 bytes; 8 bytes a lane go by half warps and 16 by quarter warps, and
two neighbouring phases merge when every lane and its neighbour ask for the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from .grid import Trace
from .memory import Touch, Way

Line = tuple[str, int]
Counts = Counter[str]
GROUPS = {"load": "loads", "store": "stores", "atomic": "atomics"}


def requests(trace: Trace) -> Iterator[tuple[Line, str, str, int, dict[int, int]]]:
    """(line, operation, space, bytes of an element, lane -> element) of every request."""
    groups: dict[Any, list[Touch]] = defaultdict(list)
    for touch in trace.touches:
        space = touch.root.space
        memory = "local" if space == "local" else id(touch.root)
        key = touch.together, touch.op, memory, touch.block, touch.thread // 32
        groups[key].append(touch)
    for touches in groups.values():
        one, space = touches[0], touches[0].root.space
        place = trace.places[one.site]
        lanes = {t.thread % 32: t.at for t in touches}
        assert len(lanes) == len(touches), "a lane that touches twice in one request"
        where, size = (place.function, place.line), one.root.buf.itemsize
        if space in ("global", "const") and one.root.buf.dtype.kind == "c":  # part by part
            for part in place.parts:
                parts = {lane: 2 * at + part for lane, at in lanes.items()}
                yield where, one.op, space, size // 2, parts
            continue
        yield where, one.op, space, size, lanes


def by_line(trace: Trace) -> dict[tuple[Line, str], Counts]:
    """(line, group of a report, such as "shared_loads") -> what is counted."""
    found: dict[tuple[Line, str], Counts] = defaultdict(Counter)
    for line, op, space, size, lanes in requests(trace):
        group = GROUPS[op] if space in ("global", "const") else f"{space}_{GROUPS[op]}"
        if space == "local":  # the arrays of the lanes lie side by side, element by element
            lanes = {lane: at * 32 + lane for lane, at in lanes.items()}
        cost = banks if space == "shared" else sectors
        if op == "atomic":
            cost = bank_queues if space == "shared" else queues
        counts = {"requests": 1, "lanes": len(lanes), **cost(lanes, size)}
        if space == "local":  # a lane's place is given: eight neighbours fill a sector
            counts["ideal_sectors"] = len({lane // 8 for lane in lanes})
        found[line, group].update(counts)
    for (line, way), counts in branches(trace).items():
        found[line, way] = counts
    return found


def branches(trace: Trace) -> dict[tuple[Line, str], Counts]:
    """(line, "branches") -> warps that came to a condition, warps that parted, lanes, taken."""
    groups: dict[Any, list[Way]] = defaultdict(list)
    for way in trace.ways:
        groups[way.together, way.block, way.thread // 32].append(way)
    found: dict[tuple[Line, str], Counts] = defaultdict(Counter)
    for ways in groups.values():
        place = trace.conditions[ways[0].condition]
        taken = sum(way.holds for way in ways)
        found[(place.function, place.line), "branches"].update({
            "warps": 1, "divergent": int(0 < taken < len(ways)), "lanes": len(ways),
            "taken": taken,
        })  # fmt: skip
    return found


def sectors(lanes: dict[int, int], size: int) -> dict[str, int]:
    """Sectors and lines touched, and the fewest sectors that hold as many different bytes."""
    touched = {byte // 32 for at in lanes.values() for byte in (at * size, at * size + size - 1)}
    return {"sectors": len(touched), "lines_128b": len({s // 4 for s in touched}),
            "ideal_sectors": -(-len(set(lanes.values())) * size // 32)}  # fmt: skip


def banks(lanes: dict[int, int], size: int) -> dict[str, int]:
    """Wavefronts of shared memory: in each phase, the most different words of one bank."""
    width = max(1, size // 4)
    phase = 32 // width
    for apart in (1, 2):
        if width > 1 and all(lanes.get(k ^ apart, at) == at for k, at in lanes.items()):
            phase = 64 // width
    wavefronts = ideal = 0
    for first in range(0, 32, phase):
        words = {at * size // 4 + k for lane, at in lanes.items() if first <= lane < first + phase
                 for k in range(width)}  # fmt: skip
        if words:
            wavefronts += max(Counter(word % 32 for word in words).values())
            ideal += 1
    return {"wavefronts": wavefronts, "ideal_wavefronts": ideal}


def queues(lanes: dict[int, int], size: int) -> dict[str, int]:
    """Atomics on global memory: in each sector, how often its most wanted element is asked for."""
    most: Counter[int] = Counter()
    for at, times in Counter(lanes.values()).items():
        most[at * size // 32] = max(most[at * size // 32], times)
    return {"sectors": len(most), "transactions": sum(most.values())}


def bank_queues(lanes: dict[int, int], size: int) -> dict[str, int]:
    """Atomics on shared memory: in each phase, the longest queue for a bank."""
    phase = 32 // max(1, size // 4)
    longest = 0
    for first in range(0, 32, phase):
        here = Counter(at * size // 4 % 32 for lane, at in lanes.items()
                       if first <= lane < first + phase)  # fmt: skip
        longest += max(here.values(), default=0)
    return {"transactions": longest}
