"""What a warp's addresses cost: sectors of global memory, wavefronts of shared memory.

Compiled loops over warps, kept on disk.  Positions come as rows of threads; a block's threads form
warps of 32 in linear order, and one access of a warp is one request.

Glossary
    sector     32 bytes of global memory, the unit that moves
    wavefront  one pass through the 32 banks of shared memory
    ideal      the fewest that any arrangement of the same distinct elements would need
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

SECTOR = 32
BANKS = 32


@numba.njit(cache=True, nogil=True)
def sectors(at: Any, mask: Any, itemsize: int, seen: Any, seen_by_block: Any, out: Any) -> None:
    """Add up requests, lanes, sectors and ideal sectors of a global access.

    at: (rows, threads) int64, element positions from a 256-byte aligned base.
    mask: (rows or 1, threads) bool.  seen: (sectors,) uint8, set for every sector touched.
    seen_by_block: (rows or 0, sectors) uint8, the same for each row.
    out: int64, [requests, lanes, sectors, ideal].
    """
    rows, threads = at.shape
    mask_rows = mask.shape[0]
    found = np.empty(64, np.int64)
    elements = np.empty(32, np.int64)
    for row in range(rows):
        m = row if mask_rows > 1 else 0
        for start in range(0, threads, 32):
            lanes = 0
            count = 0
            distinct = 0
            highest = np.int64(-1)
            for t in range(start, min(start + 32, threads)):
                if not mask[m, t]:
                    continue
                lanes += 1
                a = at[row, t]
                known = False
                if distinct and a <= highest:  # ascending addresses need no search
                    for k in range(distinct - 1, -1, -1):
                        if elements[k] == a:
                            known = True
                            break
                if a > highest:
                    highest = a
                if not known:
                    elements[distinct] = a
                    distinct += 1
                first = a * itemsize // SECTOR
                last = (a * itemsize + itemsize - 1) // SECTOR
                for sector in range(first, last + 1):
                    known = False
                    for k in range(count - 1, -1, -1):
                        if found[k] == sector:
                            known = True
                            break
                    if not known:
                        found[count] = sector
                        count += 1
                        seen[sector] = 1
                        if seen_by_block.shape[0] > 0:
                            seen_by_block[row, sector] = 1
            if lanes:
                out[0] += 1
                out[1] += lanes
                out[2] += count
                out[3] += (distinct * itemsize + SECTOR - 1) // SECTOR


@numba.njit(cache=True, nogil=True)
def _phase(words: Any, count: int, per_bank: Any, kept: Any) -> int:
    """Wavefronts of one phase: the most distinct words that any bank has to give."""
    per_bank[:] = 0
    distinct = 0
    most = 0
    for k in range(count):
        word = words[k]
        known = False
        for j in range(distinct - 1, -1, -1):
            if kept[j] == word:
                known = True
                break
        if known:
            continue
        kept[distinct] = word
        distinct += 1
        bank = word % BANKS
        per_bank[bank] += 1
        if per_bank[bank] > most:
            most = per_bank[bank]
    return most


@numba.njit(cache=True, nogil=True)
def _merges(at: Any, mask: Any, row: int, m: int, start: int, threads: int, apart: int) -> bool:
    """Whether each lane's partner lane ^ apart is inactive or reads the same address."""
    for t in range(start, min(start + 32, threads)):
        other = start + ((t - start) ^ apart)
        if other < threads and mask[m, t] and mask[m, other] and at[row, t] != at[row, other]:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def wavefronts(at: Any, mask: Any, itemsize: int, out: Any) -> None:
    """Add up requests, lanes, wavefronts and ideal wavefronts of a shared-memory access.

    32 banks of 4 bytes.  Accesses of 8 bytes go by half warps, of 16 bytes by quarter warps; two
    phases merge when every lane's neighbour (lane ^ 1, or lane ^ 2) reads the same address.
    Source: CUDA C++ Programming Guide, shared memory of compute capability 5.x and later; Triton,
    GenericSwizzling.cpp; the merging as seen with Nsight Compute on A100 and Turing.
    """
    rows, threads = at.shape
    mask_rows = mask.shape[0]
    per_bank = np.zeros(BANKS, np.int64)
    words = np.empty(128, np.int64)
    kept = np.empty(128, np.int64)
    width = max(1, itemsize // 4)
    for row in range(rows):
        m = row if mask_rows > 1 else 0
        for start in range(0, threads, 32):
            size = 32 // width
            if width > 1 and (
                _merges(at, mask, row, m, start, threads, 1)
                or _merges(at, mask, row, m, start, threads, 2)
            ):
                size *= 2
            lanes = 0
            total = 0
            phases = 0
            for begin in range(start, start + 32, size):
                count = 0
                for t in range(begin, min(begin + size, threads)):
                    if not mask[m, t]:
                        continue
                    lanes += 1
                    first = at[row, t] * itemsize // 4
                    for k in range(width):
                        words[count] = first + k
                        count += 1
                if count:
                    phases += 1
                    total += _phase(words, count, per_bank, kept)
            if lanes:
                out[0] += 1
                out[1] += lanes
                out[2] += total
                out[3] += phases


@numba.njit(cache=True, nogil=True)
def collisions(at: Any, mask: Any, itemsize: int, out: Any) -> None:
    """Add up requests, lanes, transactions and the worst multiplicity of an atomic access.

    Transactions of a warp: per 32-byte sector, how many lanes hit its most wanted address.
    Source: GPGPU-Sim, memory_coalescing_arch_atomic.
    """
    rows, threads = at.shape
    mask_rows = mask.shape[0]
    for row in range(rows):
        m = row if mask_rows > 1 else 0
        for start in range(0, threads, 32):
            stop = min(start + 32, threads)
            lanes = 0
            total = 0
            for t in range(start, stop):
                if not mask[m, t]:
                    continue
                lanes += 1
                sector = at[row, t] * itemsize // SECTOR
                first_of_sector = True
                for u in range(start, t):
                    if mask[m, u] and at[row, u] * itemsize // SECTOR == sector:
                        first_of_sector = False
                        break
                if not first_of_sector:
                    continue
                most = 0
                for u in range(t, stop):
                    if not mask[m, u] or at[row, u] * itemsize // SECTOR != sector:
                        continue
                    same = 0
                    for v in range(t, stop):
                        if mask[m, v] and at[row, v] == at[row, u]:
                            same += 1
                    if same > most:
                        most = same
                total += most
                if most > out[3]:
                    out[3] = most
            if lanes:
                out[0] += 1
                out[1] += lanes
                out[2] += total


def warm() -> None:
    """Compile the loops, so that the first profile starts fast."""
    at, mask, out = np.zeros((1, 32), np.int64), np.ones((1, 32), bool), np.zeros(4, np.int64)
    sectors(at, mask, 4, np.zeros(4, np.uint8), np.zeros((0, 4), np.uint8), out)
    wavefronts(at, mask, 4, out)
    collisions(at, mask, 4, out)
