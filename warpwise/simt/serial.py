"""The second order: each warp alone to the next barrier.

Lockstep makes every thread arrive at once, so a missing barrier changes no value.  Here the warps
of a block take turns in an order drawn from a seed, and what they see of each other's stores
depends on it, as on a GPU.  Blocks still run side by side, all in the same order.

The generated functions are generators; at a barrier they yield (vote or None, predicate, mask).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

WARP = 32


def run_warps(run: Any, entry: Callable[..., Any], values: Iterable[Any], seed: int) -> None:
    """Run the blocks of a chunk, warp by warp."""
    warps = _split(run)
    whole = dict(vars(run))
    values = list(values)
    order = random.Random(seed)
    waiting: dict[int, Any] = {}
    try:
        for number in range(len(warps)):
            _switch(run, warps[number])
            waiting[number] = entry(run, True, *values)
        answers: dict[int, Any] = dict.fromkeys(waiting)
        while waiting:
            turn = sorted(waiting)
            order.shuffle(turn)
            requests = {}
            for number in turn:
                _switch(run, warps[number])
                try:
                    requests[number] = waiting[number].send(answers[number])
                except StopIteration:
                    del waiting[number]
                warps[number].update({k: getattr(run, k) for k in KEPT})
            answers = _vote(run, requests, [warp["width"] for warp in warps])
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


def _vote(run: Any, requests: dict[int, Any], widths: list[int]) -> dict[int, Any]:
    """Answer the barriers that vote: per block, over all warps that came."""
    answers: dict[int, Any] = dict.fromkeys(requests)
    modes = {mode for mode, _, _ in requests.values()} - {None}
    if not modes:
        return answers
    blocks = run.blocks_here
    count, every, some = np.zeros(blocks, np.int32), np.ones(blocks, bool), np.zeros(blocks, bool)
    for number, (mode, predicate, mask) in requests.items():
        if mode is None:
            continue
        here = np.broadcast_to(mask, (blocks, widths[number]))
        holds = np.broadcast_to(predicate, (blocks, widths[number]))
        count += (holds & here).sum(axis=1, dtype=np.int32)
        every &= (holds | ~here).all(axis=1)
        some |= (holds & here).any(axis=1)
    results = {"count": count, "and": every.astype(np.int32), "or": some.astype(np.int32)}
    for number, (mode, _, _) in requests.items():
        if mode is not None:
            value = results[mode].reshape(-1, 1)
            answers[number] = value if value.size > 1 else value[0, 0]
    return answers
