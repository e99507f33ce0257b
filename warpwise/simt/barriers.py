"""Barriers of a block and of a warp, in lockstep: nobody waits, but everybody has to arrive."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import divergent_barrier
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

    members(run, mask, m, site)
    for observer in run.observers:
        observer.warp_barrier(run, site, mask, m)


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
