"""Shadow memory of the race detector: who touched an element last, and when.

Compiled loops over lanes, kept on disk.  Nothing here looks at luck: two accesses race when nothing
orders them, whatever order the simulator ran them in.

Glossary
    epoch        how many barriers a block has passed; a barrier orders all its threads
    warp epoch   how many syncwarps a warp has passed since; orders the lanes of that warp
    record       one kind of finding between two places of the source, with its first example
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

# Columns of the shadow of an element: the last write, and the last reads by two threads.
WRITER, W_EPOCH, W_WARP, W_SITE, W_ATOMIC, READER, R_EPOCH, R_WARP, R_SITE, SECOND, S_EPOCH = range(
    11
)
S_WARP, S_SITE = 11, 12
COLUMNS = 13

# Kinds of hazard.
RAW, WAR, WAW, UNINITIALISED = 0, 1, 2, 3

# Columns of a record.
KIND, SITE, OTHER, SAME_WARP, SAME_VALUE, COUNT, THREAD, OTHER_THREAD, AT = range(9)
RECORD = 9


@numba.njit(cache=True, nogil=True)
def note(
    records: Any, used: int, kind: int, site: int, other: int, warp: bool, same: bool,
    thread: int, other_thread: int, at: int, weight: int,
) -> int:  # fmt: skip
    """Count a hazard under its record, made at the first; returns how many records there are."""
    for k in range(used):
        r = records[k]
        if (
            r[KIND] == kind and r[SITE] == site and r[OTHER] == other
            and r[SAME_WARP] == warp and r[SAME_VALUE] == same
        ):  # fmt: skip
            r[COUNT] += weight
            if thread < r[THREAD]:
                r[THREAD] = thread
                r[OTHER_THREAD] = other_thread
                r[AT] = at
            return used
    if used < records.shape[0]:
        r = records[used]
        r[KIND], r[SITE], r[OTHER], r[SAME_WARP], r[SAME_VALUE] = kind, site, other, warp, same
        r[COUNT], r[THREAD], r[OTHER_THREAD], r[AT] = weight, thread, other_thread, at
        return used + 1
    return used


@numba.njit(cache=True, nogil=True)
def _unordered(
    thread: int, other: int, epoch: int, other_epoch: int, warp_epoch: int, other_warp: int,
    threads: int,
) -> int:  # fmt: skip
    """0 when something orders the two threads, 1 within a warp, 2 across warps or blocks."""
    if other < 0 or other == thread:
        return 0
    if other // threads != thread // threads:
        return 2  # nothing orders two blocks of a launch
    if other_epoch != epoch:
        return 0
    if (other % threads) // 32 == (thread % threads) // 32:
        return 1 if other_warp == warp_epoch else 0
    return 2


@numba.njit(cache=True, nogil=True)
def access(
    shadow: Any, values: Any, init: Any, at: Any, mask: Any, bits: Any, first_block: int,
    per_block: bool, weight: int, epochs: Any, warp_epochs: Any, site: int, writes: bool,
    atomic: bool, records: Any, used: int,
) -> int:  # fmt: skip
    """Check one access of the lanes against the shadow, then enter it.

    shadow: (rows or 1, elements, COLUMNS) int32; values: (rows or 1, elements) int64, the bits last
    written; init: (rows or 1, elements) uint8, 0 where nothing was stored yet.
    at: (rows, threads); mask, bits: (rows or 1, threads).  epochs: (rows,); warp_epochs: (rows,
    warps).  per_block: each row has a shadow of its own.  weight: for how many blocks a row stands.
    Returns the number of records.
    """
    rows, threads = at.shape
    for row in range(rows):
        block = shadow[row if per_block else 0]
        ready = init[row if per_block else 0]
        written = values[row if per_block else 0]
        m = row if mask.shape[0] > 1 else 0
        b = row if bits.shape[0] > 1 else 0
        epoch = epochs[row]
        for t in range(threads):
            if not mask[m, t]:
                continue
            i = at[row, t]
            e = block[i]
            thread = (first_block + row) * threads + t
            warp_epoch = warp_epochs[row, t // 32]
            reads = (not writes) or atomic
            if reads and ready[i] == 0:
                used = note(records, used, UNINITIALISED, site, site, False, False, thread, -1, i,
                             weight)  # fmt: skip
                ready[i] = 1  # once per element
            if not (atomic and e[W_ATOMIC]):
                level = _unordered(thread, e[WRITER], epoch, e[W_EPOCH], warp_epoch, e[W_WARP],
                                   threads)  # fmt: skip
                if level:
                    kind = WAW if writes else RAW
                    same = writes and not atomic and written[i] == bits[b, t]
                    used = note(records, used, kind, site, e[W_SITE], level == 1, same, thread,
                                 e[WRITER], i, weight)  # fmt: skip
            if writes:
                level = _unordered(thread, e[READER], epoch, e[R_EPOCH], warp_epoch, e[R_WARP],
                                   threads)  # fmt: skip
                other, where = e[READER], e[R_SITE]
                if level < 2:
                    second = _unordered(thread, e[SECOND], epoch, e[S_EPOCH], warp_epoch,
                                        e[S_WARP], threads)  # fmt: skip
                    if second > level:
                        level, other, where = second, e[SECOND], e[S_SITE]
                if level:
                    used = note(records, used, WAR, site, where, level == 1, False, thread, other,
                                 i, weight)  # fmt: skip
                e[WRITER], e[W_EPOCH], e[W_WARP] = thread, epoch, warp_epoch
                e[W_SITE], e[W_ATOMIC] = site, atomic
                written[i] = bits[b, t]
                if ready[i] == 0:
                    ready[i] = 1
            else:
                # Keep two readers, the second of another warp or block where there is one: a
                # write that is ordered after one of them may still race with the other.
                if e[READER] != thread:
                    apart = e[READER] // 32 != thread // 32
                    if apart or e[SECOND] < 0 or e[S_EPOCH] != epoch:
                        e[SECOND], e[S_EPOCH] = e[READER], e[R_EPOCH]
                        e[S_WARP], e[S_SITE] = e[R_WARP], e[R_SITE]
                e[READER], e[R_EPOCH], e[R_WARP], e[R_SITE] = thread, epoch, warp_epoch, site
    return used


def fresh(rows: int, elements: int) -> Any:
    """An empty shadow."""
    shadow = np.zeros((rows, elements, COLUMNS), np.int32)
    shadow[:, :, (WRITER, READER, SECOND)] = -1
    return shadow


def warm() -> None:
    """Compile the loop, so that the first sanitize() starts fast."""
    one = np.zeros((1, 1), np.int64)
    access(fresh(1, 1), one.copy(), np.ones((1, 1), np.uint8), one, one == 0, one, 0, False, 1,
           one[0], one, 0, True, False, np.zeros((4, RECORD), np.int64), 0)  # fmt: skip
