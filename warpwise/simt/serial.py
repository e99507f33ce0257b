"""The second order: each warp alone to the next barrier.

Lockstep makes every thread arrive at once, so a missing barrier changes no value.  Here the warps
of a block take turns in an order drawn from a seed, and what they see of each other's stores
depends on it, as on a GPU.  Blocks still run side by side, all in the same order.

The generated functions are generators.  At a barrier they yield (vote or None, predicate, mask,
site), and wait for the other warps; in a loop that waits for memory ("spin", loop, mask, 0), and go
on when the others had their turn.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .barriers import check_arrival
from .errors import LivelockError

WARP = 32


def run_warps(
    run: Any, entry: Callable[..., Any], values: Iterable[Any], seed: int, start: Any = True
) -> None:
    """Run the blocks of a chunk, warp by warp; start: the mask of the threads that take part."""
    warps = _split(run)
    taking_part = np.broadcast_to(start, (run.blocks_here, run.threads_per_block))
    whole = dict(vars(run))
    values = list(values)
    order = random.Random(seed)
    running: dict[int, Any] = {}
    answers: dict[int, Any] = {}
    arrived: dict[int, Any] = {}  # warps at a barrier, with what they ask
    try:
        for number in range(len(warps)):
            warp = warps[number]
            _switch(run, warp)
            here = taking_part[:, warp["first_thread"] : warp["first_thread"] + warp["width"]]
            if here.all():
                running[number] = entry(run, True, *values)
                continue
            warp["exited"] = run.exited = ~here
            if here.any():
                running[number] = entry(run, here, *values)
        while running:
            turn = sorted(set(running) - set(arrived))
            order.shuffle(turn)
            spinning: dict[int, Any] = {}
            memory = run.watch()
            for number in turn:
                _switch(run, warps[number])
                try:
                    request = running[number].send(answers.pop(number, None))
                except StopIteration:
                    del running[number]
                else:
                    (spinning if request[0] == "spin" else arrived)[number] = request
                warps[number].update({k: getattr(run, k) for k in KEPT})
            unchanged = run.unchanged_since(memory)
            if len(arrived) == len(running):
                _meet(run, whole, warps, arrived)
                answers = _vote(run, arrived, [warp["width"] for warp in warps])
                arrived = {}
            elif len(spinning) == len(turn) and unchanged:
                raise _stuck(run, warps, spinning)
    finally:
        for name in set(vars(run)) - set(whole):
            delattr(run, name)
        for name in PER_WARP:
            if name in whole:
                setattr(run, name, whole[name])


#: What a warp has for itself: its threads' indices, its local arrays, which lanes have left.
PER_WARP = (
    "threadIdx_x", "threadIdx_y", "threadIdx_z", "laneid", "width", "first_thread", "exited",
)  # fmt: skip
KEPT = ("exited",)


def _split(run: Any) -> list[dict[str, Any]]:
    """The attributes of the run for each warp of its blocks."""
    found = []
    for start in range(0, run.threads_per_block, WARP):
        stop = min(start + WARP, run.threads_per_block)
        warp: dict[str, Any] = {"width": stop - start, "first_thread": start, "exited": False,
                                "local": {}}  # fmt: skip
        for name in ("threadIdx_x", "threadIdx_y", "threadIdx_z", "laneid"):
            value = getattr(run, name)
            if value.ndim:
                value = value[:, start:stop]
                value = value[0, 0] if value.size == 1 else value
            warp[name] = value
        found.append(warp)
    return found


def _switch(run: Any, warp: dict[str, Any]) -> None:
    """Let the run look like this warp to the generated source."""
    for axis in "xyz":
        vars(run).pop(f"grid_{axis}", None)
    for name in PER_WARP:
        setattr(run, name, warp[name])
    run.local = warp["local"]


def _joined(run: Any, warps: list[dict[str, Any]], masks: dict[int, Any]) -> Any:
    """(blocks, threads) of one mask a warp; False for warps without."""
    return np.concatenate(
        [
            np.broadcast_to(masks.get(number, False), (run.blocks_here, warp["width"]))
            for number, warp in enumerate(warps)
        ],
        axis=1,
    )


def _meet(
    run: Any, whole: dict[str, Any], warps: list[dict[str, Any]], arrived: dict[int, Any]
) -> None:
    """All warps that still run are at a barrier: it has to be one, for everybody."""
    if not arrived:
        return
    for name in PER_WARP:
        setattr(run, name, whole[name])
    run.exited = _joined(run, warps, {n: warp["exited"] for n, warp in enumerate(warps)})
    here = _joined(run, warps, {n: request[2] for n, request in arrived.items()})
    sites = {number: request[3] for number, request in arrived.items()}
    first = min(sites.values())
    if run.blocks_here == 1:  # blocks side by side need not come to a barrier together
        for site in sorted(set(sites.values())):
            here = _joined(run, warps, {n: arrived[n][2] for n in sites if sites[n] == site})
            check_arrival(run, here, site)
    for observer in run.observers:
        observer.barrier(run, first, here)


def _stuck(run: Any, warps: list[dict[str, Any]], spinning: dict[int, Any]) -> LivelockError:
    """Nobody goes on: the warps that do not spin wait at a barrier for those that do."""
    found = []
    alive: set[int] = set()
    for number, warp in enumerate(warps):
        _switch(run, warp)
        alive.update(run.stuck(("", 0, ""), True).alive)
        if number in spinning:
            _, loop, mask, _ = spinning[number]
            found.append(run.stuck(loop.where, mask))
    first = found[0]
    return LivelockError(
        first.kernel, first.line or 0, first.line_text,
        threads=[t for error in found for t in error.threads], alive=alive,
    )  # fmt: skip


def _vote(run: Any, requests: dict[int, Any], widths: list[int]) -> dict[int, Any]:
    """Answer the barriers that vote: per block, over all warps that came."""
    answers: dict[int, Any] = dict.fromkeys(requests)
    modes = {request[0] for request in requests.values()} - {None}
    if not modes:
        return answers
    blocks = run.blocks_here
    count, every, some = np.zeros(blocks, np.int32), np.ones(blocks, bool), np.zeros(blocks, bool)
    for number, (mode, predicate, mask, _) in requests.items():
        if mode is None:
            continue
        here = np.broadcast_to(mask, (blocks, widths[number]))
        holds = np.broadcast_to(predicate, (blocks, widths[number]))
        count += (holds & here).sum(axis=1, dtype=np.int32)
        every &= (holds | ~here).all(axis=1)
        some |= (holds & here).any(axis=1)
    results = {"count": count, "and": every.astype(np.int32), "or": some.astype(np.int32)}
    for number, (mode, *_) in requests.items():
        if mode is not None:
            value = results[mode].reshape(-1, 1)
            answers[number] = value if value.size > 1 else value[0, 0]
    return answers
