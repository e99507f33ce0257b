"""Barriers of a block and of a warp, in lockstep: nobody waits, but everybody has to arrive."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import UnsupportedError, at_line, divergent_barrier
from .values import Mask, Value


def barrier(run: Any, m: Mask, site: int) -> None:
    """cuda.syncthreads(): every thread of the block that still runs has to be here."""
    if m is not True or run.divided is not None:
        check_arrival(run, m, site)
    for observer in run.observers:
        observer.barrier(run, site, m)


def check_arrival(run: Any, m: Mask, site: int) -> None:
    """Some threads of a block are here, and others go on elsewhere: the launch fails.  It goes on
    until it is seen where the others come to, so that the report can say so."""
    arrived = np.broadcast_to(m, run.lanes)
    if run.divided is not None:
        _find_others(run, arrived, site)
        return
    missing = ~arrived & ~np.broadcast_to(run.exited, run.lanes)
    divided = arrived.any(axis=1) & missing.any(axis=1)
    if divided.any():
        row = int(np.argmax(divided))
        place = run.program.sites[site]
        run.divided = {
            "kernel": place.function, "line": place.line, "line_text": place.line_text,
            "block": run.block_index(row), "count": _divided_threads(arrived[row], missing[row]),
            "arrived": [run.thread_index(t) for t in np.flatnonzero(arrived[row]).tolist()],
            "missing": [run.thread_index(t) for t in np.flatnonzero(missing[row]).tolist()],
        }  # fmt: skip


def _find_others(run: Any, arrived: Any, site: int) -> None:
    """Raise when the threads that a barrier waits for are at another one."""
    facts = run.divided
    for row in range(run.lanes[0]):
        if run.block_index(row) == facts["block"]:
            here = {run.thread_index(t) for t in np.flatnonzero(arrived[row]).tolist()}
            if here.intersection(facts["missing"]):
                facts["other"] = run.program.sites[site]
                raise divergent_barrier(**facts)


def _divided_threads(arrived: Any, missing: Any) -> int:
    """Threads that still run of the warps that are not wholly there."""
    warps = np.arange(missing.size) // 32
    return int((np.isin(warps, warps[missing]) & (arrived | missing)).sum())


def barrier_vote(run: Any, mode: str, predicate: Value, m: Mask, site: int) -> Value:
    """syncthreads_count, _and, _or: int32, the same for all threads of a block."""
    barrier(run, m, site)
    here = np.broadcast_to(m, run.lanes)
    holds = np.broadcast_to(predicate, run.lanes)
    if mode == "count":
        got = (holds & here).sum(axis=1)
    elif mode == "and":
        got = (holds | ~here).all(axis=1)
    else:
        got = (holds & here).any(axis=1)
    result = got.astype(np.int32).reshape(-1, 1)
    return result if result.size > 1 else result[0, 0]


def warp_barrier(run: Any, mask: Value, m: Mask, site: int) -> None:
    """cuda.syncwarp(mask): nothing to wait for in lockstep; a caller outside its mask is noted."""
    from .warp import members

    active, _ = members(run, mask, m, site)
    if m is True:
        run.half_met.clear()
    else:
        _check_meeting(run, mask, active, site)
    for observer in run.observers:
        observer.warp_barrier(run, site, mask, m)


def _check_meeting(run: Any, mask: Value, active: Any, site: int) -> None:
    """Refuse lanes of a warp that wait for each other at two calls, which run one after the other
    here: what is stored between them comes in another order than on a GPU."""
    from .warp import bits_of, warps_of

    here = bits_of(active).astype(np.int64)
    wanted = np.bitwise_or.reduce(np.where(active, warps_of(run, mask.astype(np.int64)), 0), axis=2)
    alive = np.bool_(True) if run.exited is False else ~np.broadcast_to(run.exited, run.lanes)
    absent = wanted & bits_of(warps_of(run, alive, False)) & ~here
    zero = np.zeros_like(absent + here)
    waiting, sites = run.half_met.get(run.first_thread, (zero, zero))
    if zero.shape[0] not in (1, waiting.shape[0]) and waiting.shape[0] != 1:
        waiting, sites = zero, zero  # other blocks run now
    met = (absent & waiting & ~here) != 0
    if met.any():
        other = run.program.sites[int(np.broadcast_to(sites, met.shape)[met][0])]
        place = run.program.sites[site]
        raise UnsupportedError(
            at_line(
                place.function, place.line, place.line_text,
                "lanes of one warp wait for each other at two calls of cuda.syncwarp, here and in "
                f"line {other.line}",
                "The simulator runs one branch after the other, so they cannot meet. Write the "
                "calls side by side in the two branches of one if, outside loops; or one call "
                "behind both.",
            ),
            line=place.line, line_text=place.line_text,
        )  # fmt: skip
    waits = absent != 0
    run.half_met[run.first_thread] = (
        np.where(waits, here | waiting, waiting & ~here), np.where(waits, site, sites),
    )  # fmt: skip


def fence(run: Any, device: bool, m: Mask, site: int) -> None:
    """cuda.threadfence() and its forms: here memory is always visible; observers need to know."""
    for observer in run.observers:
        observer.fence(run, site, device, m)


def grid_barrier(run: Any, m: Mask, site: int) -> None:
    """cuda.cg.this_grid().sync(): every thread of the launch that still runs has to be here."""
    if m is not True:
        check_arrival(run, m, site)
        here = np.broadcast_to(m, run.lanes).any(axis=1)
        gone = False if run.exited is False else np.broadcast_to(run.exited, run.lanes).all(axis=1)
        away = ~here & ~gone
        if away.any():
            place = run.program.sites[site]
            raise divergent_barrier(
                kernel=place.function, line=place.line, line_text=place.line_text,
                block=run.block_index(int(np.argmax(away))), count=int(away.sum()),
                arrived=[], missing=[(0, 0, 0)],
            )  # fmt: skip
    for observer in run.observers:
        observer.grid_barrier(run, site)
