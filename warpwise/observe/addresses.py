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
def local_sectors(at: Any, mask: Any, itemsize: int, out: Any) -> None:
    """Add up requests, lanes, sectors and ideal sectors of a local-memory access.

    Local memory is interleaved by 4-byte words: word w of lane l lies beside word w of lane l + 1,
    so that eight lanes with one index share a sector.  out: as in `touched`.
    Source: CUDA C++ Programming Guide, device memory accesses, local memory.
    """
    rows, threads = at.shape
    mask_rows = mask.shape[0]
    width = max(1, itemsize // 4)
    found = np.empty(128, np.int64)
    for row in range(rows):
        m = row if mask_rows > 1 else 0
        for start in range(0, threads, 32):
            lanes = 0
            count = 0
            ideal = 0
            for first in range(start, min(start + 32, threads), 8):
                begin = count  # lanes of different groups of eight never share a sector
                here = 0
                for t in range(first, min(first + 8, threads)):
                    if not mask[m, t]:
                        continue
                    here += 1
                    for k in range(width):
                        word = at[row, t] * itemsize // 4 + k
                        known = False
                        for j in range(count - 1, begin - 1, -1):
                            if found[j] == word:
                                known = True
                                break
                        if not known:
                            found[count] = word
                            count += 1
                lanes += here
                if here:
                    ideal += width
            if lanes:
                out[0] += 1
                out[1] += lanes
                out[2] += count
                out[3] += ideal


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
def _together(at: Any, mask: Any, row: int, m: int, start: int, threads: int, width: int) -> int:
    """Lanes of a warp that go through the banks in one phase; width: words an element has."""
    size = 32 // width
    if width > 1 and (
        _merges(at, mask, row, m, start, threads, 1) or _merges(at, mask, row, m, start, threads, 2)
    ):
        size *= 2
    return size


def lanes_a_phase(at: Any, mask: Any, itemsize: int) -> int:
    """How many lanes of one warp go through the banks together: 32, or 16 or 8 where an element
    has two or four words.  at, mask: (1, lanes)."""
    return int(_together(at, mask, 0, 0, 0, at.shape[1], max(1, itemsize // 4)))


@numba.njit(cache=True, nogil=True)
def wavefronts(at: Any, mask: Any, itemsize: int, out: Any) -> None:
    """Add up requests, lanes, wavefronts and ideal wavefronts of a shared-memory access; out[5] is
    the worst conflict, as the most distinct words that one bank has to give in one phase.

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
            size = _together(at, mask, row, m, start, threads, width)
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
                    ways = _phase(words, count, per_bank, kept)
                    total += ways
                    out[5] = max(out[5], ways)
            if lanes:
                out[0] += 1
                out[1] += lanes
                out[2] += total
                out[3] += phases


@numba.njit(cache=True, nogil=True)
def collisions(at: Any, mask: Any, itemsize: int, out: Any) -> None:
    """Add up requests, lanes, sectors and transactions of an atomic access to global memory.

    Transactions of a warp: per 32-byte sector, how many lanes hit its most wanted address.
    out: int64, [requests, lanes, sectors, transactions, -, most lanes of a warp on one address].
    Source: GPGPU-Sim, memory_coalescing_arch_atomic.
    """
    rows, threads = at.shape
    mask_rows = mask.shape[0]
    address, lanes_on = np.empty(32, np.int64), np.empty(32, np.int64)
    found, most = np.empty(32, np.int64), np.empty(32, np.int64)
    for row in range(rows):
        m = row if mask_rows > 1 else 0
        for start in range(0, threads, 32):
            lanes = 0
            distinct = 0
            for t in range(start, min(start + 32, threads)):
                if not mask[m, t]:
                    continue
                lanes += 1
                k = distinct - 1
                while k >= 0 and address[k] != at[row, t]:
                    k -= 1
                if k < 0:
                    k = distinct
                    address[k], lanes_on[k] = at[row, t], 0
                    distinct += 1
                lanes_on[k] += 1
            count = 0
            for k in range(distinct):
                sector = address[k] * itemsize // SECTOR
                j = count - 1
                while j >= 0 and found[j] != sector:
                    j -= 1
                if j < 0:
                    j = count
                    found[j], most[j] = sector, 0
                    count += 1
                most[j] = max(most[j], lanes_on[k])
                out[5] = max(out[5], lanes_on[k])
            if lanes:
                out[0] += 1
                out[1] += lanes
                out[2] += count
                for j in range(count):
                    out[3] += most[j]


@numba.njit(cache=True, nogil=True)
def constants(at: Any, mask: Any, itemsize: int, out: Any) -> None:
    """Add up requests, lanes and distinct addresses of a load of constant memory.

    One address of a warp is served at a time.  out: int64, [requests, lanes, addresses, requests,
    -, most addresses of a warp].
    Source: CUDA C++ Best Practices Guide, constant memory.
    """
    rows, threads = at.shape
    mask_rows = mask.shape[0]
    seen = np.empty(32, np.int64)
    for row in range(rows):
        m = row if mask_rows > 1 else 0
        for start in range(0, threads, 32):
            lanes = 0
            distinct = 0
            for t in range(start, min(start + 32, threads)):
                if not mask[m, t]:
                    continue
                lanes += 1
                k = distinct - 1
                while k >= 0 and seen[k] != at[row, t]:
                    k -= 1
                if k < 0:
                    seen[distinct] = at[row, t]
                    distinct += 1
            if lanes:
                out[0] += 1
                out[1] += lanes
                out[2] += distinct
                out[3] += 1
                out[5] = max(out[5], distinct)


@numba.njit(cache=True, nogil=True)
def bank_queues(at: Any, mask: Any, itemsize: int, out: Any) -> None:
    """Add up requests, lanes and transactions of an atomic access to shared memory.

    A bank serves one lane at a time, so lanes queue for the same word and for the same bank;
    8 bytes go by half warps.  out: as in `collisions`, without sectors.
    """
    rows, threads = at.shape
    mask_rows = mask.shape[0]
    size = 32 // max(1, itemsize // 4)
    queue, queued = np.empty((BANKS, 32), np.int64), np.empty(BANKS, np.int64)
    for row in range(rows):
        m = row if mask_rows > 1 else 0
        for start in range(0, threads, 32):
            lanes = 0
            for begin in range(start, start + 32, size):
                longest = 0
                queued[:] = 0
                for t in range(begin, min(begin + size, threads)):
                    if not mask[m, t]:
                        continue
                    lanes += 1
                    bank = at[row, t] * itemsize // 4 % BANKS
                    k = queued[bank]
                    queue[bank, k] = at[row, t]
                    queued[bank] = k + 1
                    longest = max(longest, k + 1)
                    same = 1
                    for j in range(k):
                        same += queue[bank, j] == at[row, t]
                    out[5] = max(out[5], same)
                out[3] += longest
            if lanes:
                out[0] += 1
                out[1] += lanes


def warm() -> None:
    """Compile the loops, so that the first profile starts fast."""
    at, mask, out = np.zeros((1, 32), np.int64), np.ones((1, 32), bool), np.zeros(6, np.int64)
    for count in (collisions, wavefronts, local_sectors, bank_queues, constants):
        count(at, mask, 4, out)
