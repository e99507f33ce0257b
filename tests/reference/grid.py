"""Runs a kernel's text one thread at a time: from barrier to barrier, from one warp function to the
next.  The result is what CUDA defines for a kernel without races."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import typeof, types

from . import marks, memory
from .machine import Compiler
from .memory import Fault, Thread, Touch
from .typed import typed

WARP = 32


@dataclass
class Trace:
    """What the threads of a launch did."""

    places: dict[int, marks.Place]
    conditions: dict[int, marks.Place]
    ways: list[memory.Way] = field(default_factory=list)
    touches: list[Touch] = field(default_factory=list)
    work: dict[tuple[int, str], int] = field(default_factory=dict)
    unset: list[int] = field(default_factory=list)
    barriers: dict[int, int] = field(default_factory=dict)  # site -> blocks that passed it


@dataclass
class Text:
    """A kernel that is typed and compiled for the types of its arguments."""

    marked: marks.Marked
    run: Any
    kinds: tuple[Any, ...]


def prepare(text: str, args: list[Any], name: str = "k", **names: Any) -> Text:
    """Type and compile a kernel's text.  Raises what Numba's compiler raises."""
    marked = marks.functions(text, names)
    kinds = tuple(typeof(a) for a in args)
    code = typed(marked.scope[name], kinds)
    run, _ = Compiler().function(code, name)
    return Text(marked, run, kinds)


def launch(kernel: Text, grid: Any, block: Any, args: list[Any]) -> Trace:
    """Run every block; changes the arrays in `args`.  Raises Fault where CUDA defines nothing."""
    values = [
        memory.of_numpy(str(k), a, kind.dtype) if isinstance(kind, types.Array)
        else _scalar(a)
        for k, (a, kind) in enumerate(zip(args, kernel.kinds, strict=True))
    ]  # fmt: skip
    trace = Trace(kernel.marked.places, kernel.marked.conditions)
    grid, block = _three(grid), _three(block)
    around, conditions = (
        {uid: place.loops for uid, place in table.items()}
        for table in (trace.places, trace.conditions)
    )
    with np.errstate(all="ignore"):
        for number in range(int(np.prod(grid))):
            shared: dict[Any, Any] = {}
            threads = [
                Thread(number, n, _dims(grid, block, number, n), shared, trace.touches, trace.work,
                       trace.unset, trace.ways, around=around, conditions=conditions)
                for n in range(int(np.prod(block)))
            ]  # fmt: skip
            _block([(t, kernel.run(t, *values)) for t in threads], trace)
    return trace


def _scalar(value: Any) -> Any:
    if isinstance(value, (bool, int, np.integer, np.bool_)):
        return value if isinstance(value, (bool, int)) else value.item()
    if isinstance(value, tuple):
        return tuple(_scalar(v) for v in value)
    return np.float64(value) if type(value) is float else value


def _three(size: Any) -> tuple[int, int, int]:
    parts = size if isinstance(size, tuple) else (size,)
    return (*parts, 1, 1)[:3]


def _dims(grid: Any, block: Any, number: int, n: int) -> dict[str, int]:
    dims = {"laneid": n % WARP, "warpsize": WARP}
    rest, others = n, number
    for axis, size, blocks in zip("xyz", block, grid, strict=True):
        rest, thread = divmod(rest, size)
        others, at = divmod(others, blocks)
        dims |= {
            f"threadIdx.{axis}": thread, f"blockIdx.{axis}": at, f"blockDim.{axis}": size,
            f"gridDim.{axis}": blocks, f"grid.{axis}": at * size + thread,
            f"gridsize.{axis}": size * blocks,
        }  # fmt: skip
    return dims


def _block(threads: list[tuple[Thread, Any]], trace: Trace) -> None:
    """All threads of a block, to their end."""
    asks: dict[int, Any] = {}  # thread -> what it waits for

    def step(n: int, answer: Any) -> None:
        try:
            asks[n] = threads[n][1].send(answer)
        except StopIteration:
            asks.pop(n, None)

    for n in range(len(threads)):
        step(n, None)
    while asks:
        warps = itertools.groupby(sorted(asks), lambda n: n // WARP)
        moved = False
        for _, members in warps:
            group = list(members)
            if any(asks[n][0] == "warp" for n in group):
                _warp(group, asks, threads, step)
                moved = True
        if moved:
            continue
        if len({ask[1] for ask in asks.values()}) > 1:
            raise Fault("threads of a block wait at different barriers")
        _, site, name, _ = next(iter(asks.values()))
        trace.barriers[site] = trace.barriers.get(site, 0) + 1
        given = [ask[3] for ask in asks.values()]
        answer = {
            "syncthreads": None, "syncthreads_count": sum(bool(v) for v in given),
            "syncthreads_and": int(all(given)), "syncthreads_or": int(any(given)),
        }[name]  # fmt: skip
        for n in list(asks):
            threads[n][0].epoch += 1
            step(n, answer)


def _warp(group: list[int], asks: dict[int, Any], threads: Any, step: Any) -> None:
    """One warp function, for all lanes of a warp that still run."""
    if len({asks[n][:3] for n in group}) > 1:
        raise Fault("lanes of a warp wait at different places")
    name = asks[group[0]][2]
    masks = {asks[n][3] & 0xFFFFFFFF for n in group}
    if masks != {0xFFFFFFFF}:
        raise Fault("a mask that leaves lanes out")
    lanes = {n % WARP: asks[n][4:] for n in group}
    answers = {}
    for lane, (n, rest) in zip(lanes, zip(group, lanes.values(), strict=True), strict=True):
        if name == "syncwarp":
            threads[n][0].warp_epoch += 1
            answers[n] = None
        elif name.startswith("shfl"):
            answers[n] = _shuffle(name, lane, rest, lanes)
        elif name == "ballot_sync":
            bits = sum(1 << k for k, v in lanes.items() if v[0])
            answers[n] = bits - (1 << 32) if bits >> 31 else bits
        else:
            votes = [bool(v[0]) for v in lanes.values()]
            answers[n] = {
                "all_sync": all(votes), "any_sync": any(votes), "eq_sync": len(set(votes)) == 1,
            }[name]  # fmt: skip
    for n, answer in answers.items():
        step(n, answer)


def _shuffle(name: str, lane: int, rest: Any, lanes: dict[int, Any]) -> Any:
    """The value of the source lane; the lane's own value when the source lies outside."""
    b = rest[1]
    if name == "shfl_sync":
        source = b % WARP
    elif name == "shfl_xor_sync":
        source = lane ^ (b & 31)
    else:
        b &= 31
        source = lane - b if name == "shfl_up_sync" else lane + b
        source = source if 0 <= source < WARP else lane
    if source not in lanes:
        raise Fault("a lane reads from one that does not take part")
    return lanes[source][0]
