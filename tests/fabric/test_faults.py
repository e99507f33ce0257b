"""Collectives that others write: unusual ones that are right, usual ones that are wrong."""

from __future__ import annotations

import numpy as np
import pytest

from warpwise.fabric import (
    Algorithm,
    FabricError,
    apply,
    faults,
    halving_doubling,
    messages,
    recursive_doubling,
    ring_all_gather,
    ring_all_reduce,
    ring_reduce_scatter,
    through_root,
    tree,
    two_level,
)


def algorithm(n, pieces, *rounds):
    made = [messages(moves, add) for add, moves in rounds]
    return Algorithm("mine", n, pieces, lambda: iter(made))


def everybody_to_everybody(n):
    """One round, each rank's array to all others."""
    moves = [(a, b, 0, 1) for a in range(n) for b in range(n) if a != b]
    return algorithm(n, 1, (True, moves))


def fold(n):
    """Six ranks by recursive doubling: two fold in, four double, two get the sum back."""
    power = 1 << (n.bit_length() - 1)
    extra = [(power + r, r, 0, 1) for r in range(n - power)]
    rounds = [(True, extra)]
    bit = 1
    while bit < power:
        rounds.append((True, [(r, r ^ bit, 0, 1) for r in range(power)]))
        bit *= 2
    rounds.append((False, [(r, s, 0, 1) for s, r, _, _ in extra]))
    return algorithm(n, 1, *rounds)


def backwards_ring(n):
    """The ring the other way round."""
    rounds = []
    for add, ahead in ((True, 0), (False, -1)):
        for step in range(n - 1):
            moves = []
            for r in range(n):
                piece = (r + ahead + step) % n
                moves.append((r, (r - 1) % n, piece, piece + 1))
            rounds.append((add, moves))
    return algorithm(n, n, *rounds)


def chain(n):
    """Down a line of ranks and back."""
    down = [(True, [(r, r - 1, 0, 1)]) for r in reversed(range(1, n))]
    back = [(False, [(r, r + 1, 0, 1)]) for r in range(n - 1)]
    return algorithm(n, 1, *down, *back)


RIGHT = [everybody_to_everybody(5), fold(6), fold(7), backwards_ring(4), backwards_ring(7),
         chain(5), ring_all_reduce(6), recursive_doubling(8), halving_doubling(16), tree(11),
         through_root(5), two_level(3, 4), two_level(4, 1), ring_all_reduce(1)]  # fmt: skip


@pytest.mark.parametrize("made", RIGHT, ids=lambda made: f"{made.name}-{made.ranks}")
def test_right_ones_pass(made):
    """No fault is found, and real arrays come out as their sum."""
    assert faults(made) == []
    arrays = [np.arange(24) * (rank + 1) for rank in range(made.ranks)]
    assert all((held == sum(arrays)).all() for held in apply(made, arrays))


WRONG = [
    (ring_reduce_scatter(4), "rank 0 ends without rank 1's part of piece 0."),
    (algorithm(4, 1, *[(True, [(r, r ^ bit, 0, 1) for r in range(4)]) for bit in (1, 1)]),
     "rank 0 has rank 0's part of piece 0 2 times."),
    (algorithm(3, 1, (True, [(1, 0, 0, 1), (2, 0, 0, 1)])),
     "rank 1 ends without rank 0's part of piece 0."),
    (algorithm(2, 1, (False, [(0, 1, 0, 1), (1, 0, 0, 1)])),
     "rank 0 ends without rank 0's part of piece 0."),
    (algorithm(2, 1, (True, [(0, 2, 0, 1)])), "mine, round 0: there is no rank 2, only 0 to 1."),
]  # fmt: skip


@pytest.mark.parametrize(("made", "said"), WRONG)
def test_wrong_ones_get_the_sentence(made, said):
    """A part that is missing, one added twice, one written over, a rank that is not there."""
    assert said in faults(made)


def test_reduce_scatter():
    """The ring's first half is one; its second half alone is none."""
    assert faults(ring_reduce_scatter(5), "reduce_scatter") == []
    assert "no rank ends with the whole of piece 0." in faults(ring_all_gather(5), "reduce_scatter")
    lazy = algorithm(2, 2, (True, [(1, 0, 0, 2)]))
    assert faults(lazy, "reduce_scatter") == ["rank 1 ends with fewer than 1 whole pieces."]
    with pytest.raises(FabricError, match="a goal is all_reduce or reduce_scatter, not 'sum'"):
        faults(lazy, "sum")
