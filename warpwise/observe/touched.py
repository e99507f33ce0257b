"""Which sectors of an array were touched: by the launch, and by each block of the chunk.

Glossary
    word    64 sectors in a row; a bit for each that a block has touched
    pattern the addresses of a block, seen from its first: most blocks have their neighbour's
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from .addresses import SECTOR

#: Places in the vector of counts.
REQUESTS, LANES, SECTORS, IDEAL, LINES, WORST, PER_BLOCK = range(7)
#: Columns of a table of the lines that one warp wants: which line and for which warp, its sectors,
#: and the bytes at which elements start.
KEY, WANTED, STARTS = range(3)
LINE_BITS = 44  # of a key; the rest numbers the warp
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # spreads keys over a table


@numba.njit(cache=True, nogil=True)
def _slot(table: Any, key: int, shift: int) -> Any:
    """Where a key is in a table, or is to be entered.  What other warps have left there is free; a
    table as small as a warp's wants stays in the cache, however large the array is."""
    slot: Any = np.uint64(key) * GOLDEN >> np.uint64(shift)
    warp = key >> LINE_BITS
    while table[slot, KEY] != key and table[slot, KEY] >> LINE_BITS == warp:
        slot = (slot + np.uint64(1)) & np.uint64(table.shape[0] - 1)
    return slot


@numba.njit(cache=True, nogil=True)
def _scattered(
    at: Any, mask: Any, row: int, m: int, first: int, itemsize: int, wanted: Any, listed: Any,
    n: int,
) -> int:  # fmt: skip
    """How many lanes of a warp are active, if no two of them want the same line; else 0.

    Comparing each with each takes less time than a table, and lists their sectors from place n on.
    wanted: (64,) int32, to work in.
    """
    active = 0
    before = np.int64(-1)
    for k in range(32):
        wanted[k] = wanted[k + 32] = -1 - k
        t = first + k
        if t >= at.shape[1] or not mask[m, t]:
            continue
        start_byte = at[row, t] * itemsize
        line = start_byte >> 7
        if line == before or (start_byte & (SECTOR - 1)) + itemsize > SECTOR or line >> 31:
            return 0
        before = line
        wanted[k] = wanted[k + 32] = line
        listed[n + active] = start_byte >> 5
        active += 1
    twice = False
    for apart in range(1, 17):  # compiled to a few comparisons of whole vectors
        for k in range(32):
            twice |= wanted[k] == wanted[k + apart]
    return 0 if twice else active


@numba.njit(cache=True, nogil=True)
def access(at: Any, mask: Any, itemsize: int, bits: Any, span: Any, seen: Any, out: Any) -> None:
    """Add up requests, lanes, sectors, ideal sectors and 128-byte lines of all blocks.

    at: (blocks or 1, threads) int64, element positions from a 256-byte aligned base.
    mask: (blocks or 1, threads) bool.
    bits: (blocks, words) int64, the sectors each block has touched; span: (blocks, 2) int64, the
    first and last of its words that are not zero; seen: (words,), what any block has.
    out: int64, see the places above.

    Most kernels' blocks do the same at another place: a block whose addresses are the last one's,
    a whole number of sectors further, needs no new count.
    """
    rows, threads = at.shape
    mask_rows = mask.shape[0]
    blocks = bits.shape[0]
    warps = 0
    most = (itemsize + SECTOR - 2) // SECTOR + 1  # sectors of an element
    size, shift_by = 128, 57  # a power of two, four times what a warp may want
    while size < 128 * most:
        size, shift_by = size * 2, shift_by - 1
    lines = np.zeros((size, 4), np.int64)
    wanted = np.empty(64, np.int32)
    listed = np.empty(threads * most, np.int64)  # the sectors of each warp, one after another
    ends = np.empty(threads // 32 + 1, np.int64)
    lines_at = np.empty(4, np.int64)  # lines, by where in a line the sectors start; -1 not known
    like = -1  # the block that `listed` and the counts are of
    n = lanes = ideal = requests = warp = 0
    for block in range(blocks):
        row = block if rows > 1 else 0
        m = block if mask_rows > 1 else 0
        same = like >= 0
        shift = np.int64(0)
        if same and rows > 1:
            shift = at[row, 0] - at[like, 0]
            apart = np.int64(0)
            for t in range(threads):
                apart |= at[row, t] - at[like, t] - shift
            same = apart == 0 and shift * itemsize % SECTOR == 0
        if same and mask_rows > 1:
            unlike = False
            for t in range(threads):
                unlike |= mask[m, t] != mask[like, t]
            same = not unlike
        if not same:
            like, shift = block, np.int64(0)
            n = lanes = ideal = requests = warp = 0
            lines_at[:] = -1
            lines_at[0] = 0
            for first_lane in range(0, threads, 32):
                distinct = 0
                active = _scattered(at, mask, row, m, first_lane, itemsize, wanted, listed, n)
                if active:
                    n += active
                    lines_at[0] += active
                    ends[warp] = n
                    warp += 1
                    requests += 1
                    lanes += active
                    ideal += (active * itemsize + SECTOR - 1) // SECTOR
                    continue
                warps += 1
                for t in range(first_lane, min(first_lane + 32, threads)):
                    if not mask[m, t]:
                        continue
                    active += 1
                    start_byte = at[row, t] * itemsize
                    first = start_byte >> 5
                    last = (start_byte + itemsize - 1) >> 5
                    home = np.uint64(0)
                    for sector in range(last, first - 1, -1):
                        key = warps << LINE_BITS | sector >> 2
                        home = _slot(lines, key, shift_by)
                        if lines[home, KEY] != key:
                            lines[home, KEY], lines[home, WANTED] = key, 0
                            lines[home, STARTS] = lines[home, STARTS + 1] = 0
                            lines_at[0] += 1
                        bit = 1 << (sector & 3)
                        if not lines[home, WANTED] & bit:
                            lines[home, WANTED] |= bit
                            listed[n] = sector
                            n += 1
                    half = STARTS + (start_byte >> 6 & 1)
                    bit = 1 << (start_byte & 63)
                    if not lines[home, half] & bit:
                        lines[home, half] |= bit
                        distinct += 1
                ends[warp] = n
                warp += 1
                if active:
                    requests += 1
                    lanes += active
                    ideal += (distinct * itemsize + SECTOR - 1) // SECTOR
        out[REQUESTS] += requests
        out[LANES] += lanes
        out[SECTORS] += n
        out[IDEAL] += ideal
        moved = shift * itemsize // SECTOR
        if lines_at[moved & 3] < 0:
            lines_at[moved & 3] = 0
            k = 0
            for w in range(warp):
                warps += 1
                while k < ends[w]:
                    key = warps << LINE_BITS | (listed[k] + moved) >> 2
                    home = _slot(lines, key, shift_by)
                    if lines[home, KEY] != key:
                        lines[home, KEY] = key
                        lines_at[moved & 3] += 1
                    k += 1
        out[LINES] += lines_at[moved & 3]
        low, high = span[block, 0], span[block, 1]
        for k in range(n):
            sector = listed[k] + moved
            word = sector >> 6
            before = bits[block, word]
            after = before | (np.int64(1) << (sector & 63))
            bits[block, word] = after
            seen[word] |= after
            out[PER_BLOCK] += before != after
            low, high = min(low, word), max(high, word)
        span[block, 0], span[block, 1] = low, high


@numba.njit(cache=True, nogil=True)
def _forget(bits: Any, span: Any) -> None:
    """The next blocks have touched nothing yet."""
    for block in range(bits.shape[0]):
        bits[block, span[block, 0] : span[block, 1] + 1] = 0
        span[block, 0], span[block, 1] = bits.shape[1], -1


class Touched:
    """The sectors of one array: `unique` over the launch, `per_block` summed over its blocks."""

    def __init__(self, name: str, nbytes: int) -> None:
        self.name = name
        self.per_block = 0
        self.root: Any = None  # keeps the id of a root that no argument holds
        self._seen: Any = np.zeros((nbytes // SECTOR + 2) // 64 + 1, np.int64)
        self._bits: Any = np.zeros((0, self._seen.size), np.int64)
        self._span: Any = None
        self._counts: Any = np.zeros(7, np.int64)

    @property
    def row_bytes(self) -> int:
        """What one block of a chunk takes."""
        return int(self._bits.shape[1]) * 8

    @property
    def unique(self) -> int:
        return int(np.bitwise_count(self._seen.view(np.uint64)).sum())

    def access(self, at: Any, mask: Any, itemsize: int, blocks: int) -> Any:
        """Count one access of all blocks of the chunk; six counts, see `addresses`."""
        counts = self._counts
        counts.fill(0)
        if self._bits.shape[0] != blocks:
            words = self._bits.shape[1]
            self._bits = np.zeros((blocks, words), np.int64)
            self._span = np.tile(np.array([words, -1]), (blocks, 1))
        access(at, mask, itemsize, self._bits, self._span, self._seen, counts)
        self.per_block += int(counts[PER_BLOCK])
        return counts[:PER_BLOCK]

    def end_chunk(self) -> None:
        """The next blocks have touched nothing yet."""
        if self._span is not None:
            _forget(self._bits, self._span)


def warm() -> None:
    """Compile the loops, so that the first profile starts fast."""
    touched = Touched("", 0)
    touched.access(np.zeros((1, 32), np.int64), np.ones((1, 32), bool), 4, 1)
    touched.end_chunk()
