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

# An access is four columns: thread + 1 (0 for none), block epoch, warp epoch, site.  The shadow of
# an element has the last plain write and two reads; where atomics are, two of these beside it.
EPOCH, WARP, PLACE = 1, 2, 3
WRITER, READER, SECOND = 0, 4, 8
COLUMNS = 12
LAST, BEFORE = 0, 4
ATOMIC_COLUMNS = 8

# Kinds of hazard.
RAW, WAR, WAW, UNINITIALISED = 0, 1, 2, 3

# Columns of a record.
KIND, SITE, OTHER, LEVEL, SAME_VALUE, COUNT, THREAD, OTHER_THREAD, AT = range(9)
RECORD = 9
NOTHING = np.zeros((0, RECORD + 2), np.int64)  # no hazard waits for a judge


@numba.njit(cache=True, nogil=True)
def note(
    records: Any, used: int, kind: int, site: int, other: int, level: int, same: bool,
    thread: int, other_thread: int, at: int, weight: int,
) -> int:  # fmt: skip
    """Count a hazard under its record, made at the first; returns how many records there are."""
    for k in range(used):
        r = records[k]
        if (
            r[KIND] == kind and r[SITE] == site and r[OTHER] == other
            and r[LEVEL] == level and r[SAME_VALUE] == same
        ):  # fmt: skip
            r[COUNT] += weight
            if thread < r[THREAD]:
                r[THREAD] = thread
                r[OTHER_THREAD] = other_thread
                r[AT] = at
            return used
    if used < records.shape[0]:
        r = records[used]
        r[KIND], r[SITE], r[OTHER], r[LEVEL], r[SAME_VALUE] = kind, site, other, level, same
        r[COUNT], r[THREAD], r[OTHER_THREAD], r[AT] = weight, thread, other_thread, at
        return used + 1
    return used


@numba.njit(cache=True, nogil=True)
def _apart(
    other: int, other_epoch: int, other_warp: int, t: int, first: int, epoch: int, warp_epoch: int,
    threads: int, exact: bool,
) -> int:  # fmt: skip
    """How far apart another thread's access is: 0 when something orders it before this one, 1 in
    the same warp, 2 in another warp, 3 in another block.  other: thread + 1, or 0 for none.
    t: the thread in its block, whose first thread is `first`.
    exact: somebody else judges the order within a warp.

    It takes numbers alone: passing an array costs more than all of this.
    """
    if other == 0:
        return 0
    inside = other - 1 - first
    if inside == t:
        return 0
    if inside < 0 or inside >= threads:
        return 3  # nothing orders two blocks of a launch
    if other_epoch != epoch:
        return 0
    if inside >> 5 == t >> 5:
        return 1 if exact or other_warp == warp_epoch else 0
    return 2


@numba.njit(cache=True, nogil=True)
def _hazard(
    records: Any, used: int, pending: Any, kind: int, site: int, place: int, level: int,
    same: bool, thread: int, other: int, epoch: int, warp_epoch: int, at: int, weight: int,
) -> int:  # fmt: skip
    """Note a hazard with an access of `other`, at `place`; or, with room in `pending`, leave it to
    be judged."""
    if pending.shape[0] == 0:
        return note(records, used, kind, site, place, level, same, thread, other, at, weight)
    pending[0, 0] += 1
    p = pending[pending[0, 0]]
    p[KIND], p[SITE], p[OTHER], p[LEVEL] = kind, site, place, level
    p[SAME_VALUE], p[COUNT], p[THREAD], p[OTHER_THREAD] = same, weight, thread, other
    p[AT], p[RECORD], p[RECORD + 1] = at, epoch, warp_epoch
    return used


@numba.njit(cache=True, nogil=True)
def access(
    shadow: Any, atomics: Any, values: Any, init: Any, at: Any, mask: Any, bits: Any,
    first_block: int, per_block: bool, weight: int, epochs: Any, warp_epochs: Any, site: int,
    writes: bool, atomic: bool, records: Any, used: int, pending: Any,
) -> int:  # fmt: skip
    """Check one access of the lanes against the shadow, then enter it.

    shadow: (rows or 1, elements, COLUMNS) int32; atomics: the same with ATOMIC_COLUMNS, no elements
    where nothing is atomic; values: (rows or 1, elements) int64, the bits last written; init: (rows
    or 1, elements) uint8, 0 where nothing was stored yet.
    at: (rows, threads); mask, bits: (rows or 1, threads).  epochs: (rows,); warp_epochs: (rows,
    warps).  per_block: each row has a shadow of its own.  weight: for how many blocks a row stands.
    pending: (1 + 5 * lanes, RECORD + 2), hazards that somebody else judges; warp_epochs then has a
    column per lane.  Without rows they are noted at once.  Returns the number of records.

    Of reads and of atomic operations two are kept.  The older one is the one that is farthest from
    the newer: so whatever orders a later access with one of them, a third that it does not order is
    there.
    """
    rows, threads = at.shape
    exact = pending.shape[0] > 0
    mixed = atomics.shape[1] > 0
    for row in range(rows):
        own = row if per_block else 0
        m = row if mask.shape[0] > 1 else 0
        b = row if bits.shape[0] > 1 else 0
        epoch = epochs[row]
        first = (first_block + row) * threads
        for t in range(threads):
            if not mask[m, t]:
                continue
            i = at[row, t]
            thread = first + t
            warp_epoch = warp_epochs[row, t if exact else t >> 5]
            if init[own, i] == 0:
                if atomic or not writes:
                    used = note(records, used, UNINITIALISED, site, site, 0, False, thread, -1,
                                i, weight)  # fmt: skip
                init[own, i] = 1  # once per element
            level = _apart(
                shadow[own, i, WRITER], shadow[own, i, EPOCH], shadow[own, i, WARP], t, first,
                epoch, warp_epoch, threads, exact,
            )  # fmt: skip
            if level:
                same = writes and not atomic and values[own, i] == bits[b, t]
                used = _hazard(
                    records, used, pending, WAW if writes else RAW, site, shadow[own, i, PLACE],
                    level, same, thread, shadow[own, i, WRITER] - 1, shadow[own, i, EPOCH],
                    shadow[own, i, WARP], i, weight,
                )  # fmt: skip
            if mixed and atomics[own, i, LAST] > 0:
                last = _apart(
                    atomics[own, i, LAST], atomics[own, i, LAST + EPOCH],
                    atomics[own, i, LAST + WARP], t, first, epoch, warp_epoch, threads, exact,
                )  # fmt: skip
                second = _apart(
                    atomics[own, i, BEFORE], atomics[own, i, BEFORE + EPOCH],
                    atomics[own, i, BEFORE + WARP], t, first, epoch, warp_epoch, threads, exact,
                )  # fmt: skip
                if atomic:
                    if last >= second and atomics[own, i, LAST] != thread + 1:
                        for k in range(4):
                            atomics[own, i, BEFORE + k] = atomics[own, i, LAST + k]
                else:
                    for older in range(2):  # the farther one, or both to be judged
                        level, k = (second, BEFORE) if older else (last, LAST)
                        if level and (exact or (second > last) == older):
                            used = _hazard(
                                records, used, pending, WAW if writes else RAW, site,
                                atomics[own, i, k + PLACE], level, False, thread,
                                atomics[own, i, k] - 1, atomics[own, i, k + EPOCH],
                                atomics[own, i, k + WARP], i, weight,
                            )  # fmt: skip
            last = second = 0
            if shadow[own, i, READER] > 0:
                last = _apart(
                    shadow[own, i, READER], shadow[own, i, READER + EPOCH],
                    shadow[own, i, READER + WARP], t, first, epoch, warp_epoch, threads, exact,
                )  # fmt: skip
                second = _apart(
                    shadow[own, i, SECOND], shadow[own, i, SECOND + EPOCH],
                    shadow[own, i, SECOND + WARP], t, first, epoch, warp_epoch, threads, exact,
                )  # fmt: skip
            if not writes:
                if last >= second and shadow[own, i, READER] != thread + 1:
                    for k in range(4):
                        shadow[own, i, SECOND + k] = shadow[own, i, READER + k]
                shadow[own, i, READER] = thread + 1
                shadow[own, i, READER + EPOCH] = epoch
                shadow[own, i, READER + WARP] = warp_epoch
                shadow[own, i, READER + PLACE] = site
                continue
            if last + second:
                for older in range(2):
                    level, k = (second, SECOND) if older else (last, READER)
                    if level and (exact or (second > last) == older):
                        used = _hazard(
                            records, used, pending, WAR, site, shadow[own, i, k + PLACE], level,
                            False, thread, shadow[own, i, k] - 1, shadow[own, i, k + EPOCH],
                            shadow[own, i, k + WARP], i, weight,
                        )  # fmt: skip
            if atomic:
                atomics[own, i, LAST] = thread + 1
                atomics[own, i, LAST + EPOCH] = epoch
                atomics[own, i, LAST + WARP] = warp_epoch
                atomics[own, i, LAST + PLACE] = site
            else:
                shadow[own, i, WRITER] = thread + 1
                shadow[own, i, EPOCH] = epoch
                shadow[own, i, WARP] = warp_epoch
                shadow[own, i, PLACE] = site
                values[own, i] = bits[b, t]
    return used


@numba.njit(cache=True, nogil=True)
def several(
    shadow: Any, atomics: Any, values: Any, init: Any, at: Any, mask: Any, bits: Any,
    first_block: int, weight: int, epochs: Any, warp_epochs: Any, sites: Any, writes: Any,
    records: Any, used: int, pending: Any,
) -> int:  # fmt: skip
    """Several loads and stores of one row of threads, one after another: at, mask, bits (accesses,
    threads); sites, writes (accesses,).
    One call for many, since a call costs more than the work on so few lanes."""
    for k in range(at.shape[0]):
        used = access(
            shadow, atomics, values, init, at[k : k + 1], mask[k : k + 1], bits[k : k + 1],
            first_block, False, weight, epochs, warp_epochs, sites[k], writes[k], False, records,
            used, pending,
        )  # fmt: skip
    return used


def fresh(rows: int, elements: int, columns: int = COLUMNS) -> Any:
    """An empty shadow."""
    return np.zeros((rows, elements, columns), np.int32)


def warm() -> None:
    """Compile the loop, so that the first sanitize() starts fast."""
    one = np.zeros((1, 1), np.int64)
    access(fresh(1, 1), fresh(1, 1, ATOMIC_COLUMNS), one.copy(), np.ones((1, 1), np.uint8), one,
           one == 0, one, 0, False, 1, one[0], one, 0, True, False,
           np.zeros((4, RECORD), np.int64), 0, NOTHING)  # fmt: skip
    several(fresh(1, 1), fresh(1, 0, ATOMIC_COLUMNS), one.copy(), np.ones((1, 1), np.uint8), one,
            one == 0, one, 0, 1, one[0], one, one[0], one[0] == 0, np.zeros((4, RECORD), np.int64),
            0, NOTHING)  # fmt: skip
