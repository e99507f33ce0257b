"""Locks that are taken in different orders, also when this run got through."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .launches import findings

TWO = """
def k(out, lock):
    if cuda.threadIdx.x == 0:
        b = cuda.blockIdx.x
        first, second = {order}
        {outer}
        while cuda.atomic.cas(lock, first, 0, 1) != 0: pass
        while cuda.atomic.cas(lock, second, 0, 1) != 0: pass
        out[0] += 1
        cuda.threadfence()
        cuda.atomic.exch(lock, second, 0)
        cuda.atomic.exch(lock, first, 0)
        {end}
"""
OUTER = "while cuda.atomic.cas(lock, 4, 0, 1) != 0: pass"


def run(order: str, outer: str = "pass", end: str = "pass", blocks: int = 4) -> list[Any]:
    text = TWO.format(order=order, outer=outer, end=end)
    return findings(text, blocks, 32, np.zeros(1, np.int32), np.zeros(5, np.int32))


def test_two_locks_in_opposite_order() -> None:
    """Blocks one after the other never meet; they may on a GPU."""
    (found,) = run("b % 2, 1 - b % 2")
    assert (found.kind, found.severity, found.line, found.other_line) == (
        "lock_order",
        "error",
        9,
        10,
    )
    assert found.threads == (((0, 0, 0), (0, 0, 0)), ((1, 0, 0), (0, 0, 0)))
    assert found.text == (
        "k: locks are taken in different orders: thread 0 of block 0 takes lock[0] in line 9, then "
        "lock[1] in line 10; thread 0 of block 1 takes lock[1] in line 9, then lock[0] in line 10\n"
        "  line 9:  while cuda.atomic.cas(lock, first, 0, 1) != 0: pass\n"
        "  line 10:  while cuda.atomic.cas(lock, second, 0, 1) != 0: pass\n"
        "  This run got through; when each holds its first lock, all of them wait for ever. Take "
        "the locks in the same order everywhere, for example the one with the smaller index first."
    )


def test_three_locks_in_a_circle() -> None:
    """Philosophers: nobody takes two locks in the opposite order of another."""
    (found,) = run("b % 3, (b + 1) % 3", blocks=3)
    assert [t[0][0] for t in found.threads] == [0, 1, 2]


@pytest.mark.parametrize(
    ("order", "outer", "end", "blocks"),
    [
        ("0, 1", "pass", "pass", 4),  # everybody in the same order
        ("min(b % 3, (b + 1) % 3), max(b % 3, (b + 1) % 3)", "pass", "pass", 3),
        ("b % 2, 1 - b % 2", OUTER, "cuda.atomic.exch(lock, 4, 0)", 4),  # one lock around both
        ("b % 2, 1 - b % 2", "pass", "pass", 1),  # nobody else
    ],
)
def test_orders_that_cannot_block(order: str, outer: str, end: str, blocks: int) -> None:
    """No finding, and no race either: the locks and fences order everything."""
    assert run(order, outer, end, blocks) == []


def test_compare_and_swap_in_a_loop_is_no_lock() -> None:
    """A maximum made of cas changes elements and never puts them back."""
    text = """
def k(top, x):
    i = cuda.grid(1)
    for j in range(2):
        at = (i + j) % 2
        old = cuda.atomic.add(top, at, 0)
        while old < x[i]:
            seen = cuda.atomic.cas(top, at, old, x[i])
            if seen == old:
                break
            old = seen
"""
    x = np.random.default_rng(0).integers(0, 99, 64).astype(np.int32)
    top = np.zeros(2, np.int32)
    assert findings(text, 2, 32, top, x) == []
    assert top.tolist() == [x.max(), x.max()]
