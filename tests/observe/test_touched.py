"""Sectors of global accesses against a count by sets, for patterns of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpwise.observe.touched import Touched

BLOCKS, THREADS, ELEMENTS = 5, 80, 4000  # the last warp is half full


def patterns() -> dict[str, Any]:
    """Name -> positions of (blocks or 1, threads)."""
    rng = np.random.default_rng(0)
    t, b = np.arange(THREADS).reshape(1, -1), np.arange(BLOCKS).reshape(-1, 1)
    return {
        "in a row": b * THREADS + t,
        "a sector apart": b * 8 + t,
        "one element apart": b + t,
        "descending": 1000 - 16 * b - t,
        "strided": 40 * t + b,
        "in two dimensions": 640 * (t // 16) + t % 16 + 16 * b,
        "the same in all blocks": t,
        "one element": np.full((1, THREADS), 77),
        "random": rng.integers(0, ELEMENTS, (BLOCKS, THREADS)),
        "random, few": rng.integers(0, 20, (BLOCKS, THREADS)),
        "one block differs": b * THREADS + t + (b == 2) * (t == 7),
    }


def masks() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    t, b = np.arange(THREADS).reshape(1, -1), np.arange(BLOCKS).reshape(-1, 1)
    return {
        "all": np.ones((1, THREADS), bool),
        "half": t % 2 == 0,
        "first warp": t < 32,
        "by block": (t + b) % 3 == 0,
        "one block": np.broadcast_to(b == 3, (BLOCKS, THREADS)),
        "random": rng.random((BLOCKS, THREADS)) < 0.5,
    }


def by_sets(at: Any, mask: Any, itemsize: int) -> tuple[list[int], set[tuple[int, int]]]:
    """Requests, lanes, sectors, ideal, lines; and the pairs of block and sector."""
    at, mask = (np.broadcast_to(v, (BLOCKS, THREADS)) for v in (at, mask))
    counts = np.zeros(5, np.int64)
    pairs = set()
    for block in range(BLOCKS):
        for start in range(0, THREADS, 32):
            here = slice(start, start + 32)
            lanes = at[block, here][mask[block, here]].tolist()
            if not lanes:
                continue
            held = {byte // 32 for a in lanes for byte in (a * itemsize, (a + 1) * itemsize - 1)}
            ideal = -(-len(set(lanes)) * itemsize // 32)
            counts += (1, len(lanes), len(held), ideal, len({s // 4 for s in held}))
            pairs |= {(block, s) for s in held}
    return counts.tolist(), pairs


@pytest.mark.parametrize("itemsize", [1, 2, 4, 8, 12, 16])
@pytest.mark.parametrize("pattern", patterns())
def test_counts_are_those_of_sets(pattern: str, itemsize: int) -> None:
    """Whatever is taken over from the block before, the counts are those of every block alone."""
    at = np.ascontiguousarray(patterns()[pattern])
    sectors = Touched("x", ELEMENTS * itemsize)
    pairs: set[tuple[int, int]] = set()
    per_block = 0
    for mask in masks().values():
        expected, touched_here = by_sets(at, mask, itemsize)
        assert sectors.access(at, mask, itemsize, BLOCKS)[:5].tolist() == expected
        pairs |= touched_here
    per_block += len(pairs)
    assert sectors.per_block == per_block
    sectors.end_chunk()
    assert sectors.unique == len({s for _, s in pairs})
    # The blocks of the next chunk are others: what they touch counts again for them.
    expected, touched_here = by_sets(at, masks()["all"], itemsize)
    assert sectors.access(at, masks()["all"], itemsize, BLOCKS)[:5].tolist() == expected
    sectors.end_chunk()
    assert sectors.per_block == per_block + len(touched_here)
    assert sectors.unique == len({s for _, s in pairs | touched_here})


def test_counting_again_gives_the_same() -> None:
    """Nothing of one access is left when the next is counted."""
    at, mask = patterns()["random"], masks()["all"]
    sectors = Touched("x", ELEMENTS * 4)
    expected, _ = by_sets(at, mask, 4)
    for _ in range(4):
        assert sectors.access(at, mask, 4, BLOCKS)[:5].tolist() == expected
