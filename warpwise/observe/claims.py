"""Accesses that cannot race, told apart cheaply from those that may.

Most kernels that are right let each thread write elements of its own, and order the rest by a
barrier of the whole block.  That is quickly seen; the full shadow is for what is left.  Nothing is
let through here that the shadow would report.

Compiled loops over lanes, kept on disk.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

LOAD, STORE, ATOMIC = range(3)
# Claims of nobody: several threads have read the element, or updated it by atomic operations, and
# nothing else has happened to it.
ALL_READ, ALL_UPDATED = -1, -2
MOST_THREADS = (1 << 30) - 1  # of a launch, that a claim can name
THREAD_BITS = 10  # of a block


@numba.njit(cache=True, nogil=True)
def claim(claims: Any, init: Any, at: Any, mask: Any, first_thread: int, kind: int) -> bool:
    """Whether an access touches only what no other thread has written, or read before this writes,
    or what all have updated by atomic operations.

    claims: (elements,) int32, 2 * (thread + 1) + 1 for whoever has written, 2 * (thread + 1) for
    the only one that has read, ALL_READ, ALL_UPDATED, or 0.  init: (elements,) uint8, 0 where there
    is no value yet; empty where all have one.
    at: (rows, threads); mask: (rows or 1, threads).  first_thread: of row 0, in the launch.

    After a False the claims are of no more use.
    """
    rows, threads = at.shape
    fresh = init.size > 0
    for row in range(rows):
        m = row if mask.shape[0] > 1 else 0
        first = np.int32(2 * (first_thread + row * threads + 1))
        for t in range(threads):
            if not mask[m, t]:
                continue
            i = at[row, t]
            if fresh and init[i] == 0:
                if kind != STORE:
                    return False
                init[i] = 1
            mine = np.int32(first + 2 * t)
            known = claims[i]
            if kind == ATOMIC:
                if known != 0 and known != ALL_UPDATED:
                    return False
                claims[i] = ALL_UPDATED
            elif known & ~1 == mine or known == 0:
                if kind == STORE:
                    claims[i] = mine + 1
                elif known == 0:
                    claims[i] = mine
            elif kind == STORE or (known != ALL_READ and (known & 1 or known < 0)):
                return False
            else:
                claims[i] = ALL_READ
    return True


@numba.njit(cache=True, nogil=True)
def _separable(at: Any) -> bool:
    """Whether each row of positions is the first one, moved."""
    apart = np.int64(0)
    for row in range(1, at.shape[0]):
        moved = at[row, 0] - at[0, 0]
        for t in range(at.shape[1]):
            apart |= at[row, t] - at[0, t] - moved
    return apart == 0


def parts(at: Any) -> tuple[Any, Any]:
    """Two arrays that positions of (rows, threads) are the sum of; small ones where there are."""
    if at.shape[0] > 1 and _separable(at):
        return at[:, :1].copy(), at[:1] - at[0, 0]
    return np.zeros((1, 1), np.int64), at


@numba.njit(cache=True, nogil=True)
def orderly(owners: Any, init: Any, at: Any, mask: Any, writes: Any, stamp: int) -> bool:
    """Whether accesses between two barriers are in order, none of them to what has no value.

    owners: (2, elements) int64, who has written and who has read, with the stamp of the round; a
    round with a stamp of its own need not clear them.  init: (1, elements) uint8.
    at: (accesses, threads); mask: (accesses or 1, threads); writes: (accesses,) bool.
    """
    accesses, threads = at.shape
    round = stamp << (THREAD_BITS + 1)
    several = round + (1 << THREAD_BITS) + 1  # have read
    for k in range(accesses):
        m = k if mask.shape[0] > 1 else 0
        for t in range(threads):
            if not mask[m, t]:
                continue
            i = at[k, t]
            mine = round + t + 1
            writer, reader = owners[0, i], owners[1, i]
            if writer > round and writer != mine:
                return False
            if writes[k]:
                if reader > round and reader != mine:
                    return False
                owners[0, i] = mine
                init[0, i] = 1
                continue
            if init[0, i] == 0:
                return False
            owners[1, i] = mine if reader <= round or reader == mine else several
    return True


def warm() -> None:
    """Compile the loops, so that the first sanitize() starts fast."""
    one, bits = np.zeros((1, 1), np.int64), np.ones((1, 1), np.uint8)
    claim(np.zeros(1, np.int32), bits[0], one, one == 0, 0, STORE)
    parts(np.zeros((2, 1), np.int64))
    orderly(np.zeros((2, 1), np.int64), bits, one, one == 0, np.ones(1, np.bool_), 1)
