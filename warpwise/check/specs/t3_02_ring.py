"""Specs of the lab t3_02_ring."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...fabric import Link, Network
from ..cases import Level
from ..ranked import Limits, World, ranks_spec
from ..spec import FunctionSpec

UNIT = "t3_02_ring"

Array = np.ndarray[Any, Any]


def sizes_of(n: int, length: int) -> list[int]:
    """What `torch.tensor_split` makes: the first length % n pieces have one number more."""
    return [length // n + (k < length % n) for k in range(n)]


# -- ring_pieces -------------------------------------------------------------------------------


def piece_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, int, int]]:
    """All of small rings, some of large ones."""
    for n in (2, 3, 4):
        yield from ((rank, step, n) for rank in range(n) for step in range(n - 1))
    for _ in range(8 if level == "grader" else 4):
        n = int(rng.integers(5, 1000))
        yield int(rng.integers(n)), int(rng.integers(n - 1)), n


RING_PIECES = FunctionSpec(
    "ring_pieces", UNIT, 1, piece_inputs,
    lambda rank, step, n: ((rank - step) % n, (rank - step - 1) % n),
    suspects={
        "other_direction": lambda rank, step, n: ((rank + step) % n, (rank + step + 1) % n),
        "not_wrapped": lambda rank, step, n: (rank - step, rank - step - 1),
        "exchanged": lambda rank, step, n: ((rank - step - 1) % n, (rank - step) % n),
        "always_own": lambda rank, step, n: (rank, (rank - 1) % n),
        "ahead_by_one": lambda rank, step, n: ((rank + 1 - step) % n, (rank - step) % n),
    },
    causes={
        "other_direction": "The pieces are numbered as if they went to the left.",
        "not_wrapped": "Numbers below 0 are left: pieces have numbers from 0 to n - 1.",
        "exchanged": "The piece that is sent and the one that comes are exchanged.",
        "always_own": "The same piece is sent in each step.",
        "ahead_by_one": "These are the pieces of the second half, or of another start.",
    },
    hints={
        "other_direction": (
            "Who is the left neighbour, and what did it send in the step before?",
            "In each step the piece is one less: (rank - step) % n.",
        ),
        "not_wrapped": ("What is -1 on a ring of 4?", "Take % n of both."),
        "exchanged": ("Which of the two is your own in step 0?", "The first one is sent."),
        "always_own": (
            "What has a rank just received when step 1 begins?",
            "It passes that on: (rank - step) % n.",
        ),
        "ahead_by_one": (
            "Which piece does rank 0 send in step 0?",
            "The one with its own number: (rank - step) % n.",
        ),
    },
)  # fmt: skip


# -- ring_bill ---------------------------------------------------------------------------------


def bill_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, int, int]]:
    """Lengths around multiples of n, shorter than n, none at all."""
    for n in (4, 1, 2, 3, 8):
        for length in (2 * n, 2 * n + 1, 3 * n - 1, 3 * n + 2, n - 1, 0):
            yield n, length, int(rng.choice([2, 4, 8]))
    for _ in range(6 if level == "grader" else 2):
        yield int(rng.integers(5, 1025)), int(rng.integers(10**6)), 4


def bill(n: int, length: int, itemsize: int) -> tuple[int, int]:
    """In each half a rank sends all pieces but one: r + 1, then r + 2."""
    sizes = sizes_of(n, length)
    sent = [2 * length - sizes[(r + 1) % n] - sizes[(r + 2) % n] for r in range(n)]
    return 2 * (n - 1), max(sent) * itemsize if n > 1 else 0


def _pieces(size: Callable[[int, int], float]) -> Callable[[int, int, int], tuple[int, float]]:
    """A bill with all pieces of one size, in numbers."""
    return lambda n, length, itemsize: (2 * (n - 1), 2 * (n - 1) * size(n, length) * itemsize)


RING_BILL = FunctionSpec(
    "ring_bill", UNIT, 2, bill_inputs, bill,
    suspects={
        "same_left_out": lambda n, length, itemsize: (
            2 * (n - 1), 2 * (length - length // n) * itemsize if n > 1 else 0
        ),
        "largest_pieces": _pieces(lambda n, length: -(-length // n)),
        "equal_pieces": _pieces(lambda n, length: length / n),
        "rounded_down": _pieces(lambda n, length: length // n),
        "one_half": lambda n, length, itemsize: (
            n - 1, (length - length // n) * itemsize if n > 1 else 0
        ),
        "in_numbers": lambda n, length, itemsize: bill(n, length, 1),
        "whole_arrays": lambda n, length, itemsize: (2 * (n - 1), 2 * (n - 1) * length * itemsize),
    },
    causes={
        "largest_pieces": "All pieces are counted as large as the largest one.",
        "equal_pieces": "All pieces are counted as equal, with fractions of a number.",
        "rounded_down": "All pieces are counted as small as the smallest one.",
        "one_half": "Only the reduce-scatter is counted; the all-gather is missing.",
        "same_left_out": "In both halves the smallest piece is left out; the pieces r + 1 and "
        "r + 2 need not both be small.",
        "in_numbers": "These are numbers, not bytes.",
        "whole_arrays": "Each message is counted as a whole array.",
    },
    hints={
        "largest_pieces": (
            "Which pieces have 3 numbers, of 10 on 4 ranks?",
            "Make the list of sizes, and add up what each rank sends.",
        ),
        "equal_pieces": (
            "Can a message carry 2.5 numbers?",
            "Make the list of sizes, and add up what each rank sends.",
        ),
        "rounded_down": (
            "Where do the 2 numbers go that are left of 10 on 4 ranks?",
            "The first length % n pieces have one more.",
        ),
        "one_half": (
            "Who has the whole sum after n - 1 rounds?",
            "Nobody: count the all-gather as well.",
        ),
        "same_left_out": (
            "Which piece does rank r not send in the first half, and which in the second?",
            "Piece r + 1 and piece r + 2, mod n: try all ranks, take the largest.",
        ),
        "in_numbers": ("How many bytes has a number?", "Multiply by itemsize."),
        "whole_arrays": ("How large is a piece?", "About length / n numbers."),
    },
)  # fmt: skip


# -- passed_right ------------------------------------------------------------------------------


def pass_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """Few ranks; odd numbers too, and a matrix."""
    cases: list[tuple[int, tuple[int, ...]]] = [(3, (2,)), (2, (5,)), (4, (2, 3))]
    for n, shape in cases[: 3 if level == "grader" else 2]:
        yield World(tuple((rng.random(shape) + k,) for k in range(n)))


def _own(world: World) -> list[Array]:
    return [args[0] for args in world.args]


PASSED_RIGHT = ranks_spec(
    "passed_right", UNIT, 1, pass_worlds, lambda world: [_own(world)[-1], *_own(world)[:-1]],
    ("x",),
    Limits(
        by_hand=True, most_rounds=lambda w: 1, most_bytes=lambda w: float(w.args[0][0].nbytes)
    ),
    suspects={
        "passed_left": lambda world: [*_own(world)[1:], _own(world)[0]],
        "not_passed": _own,
    },
    causes={
        "passed_left": "The arrays went to the left.",
        "not_passed": "Every rank returns its own array.",
        "too_many_rounds": "Ranks wait for each other: the messages go one after the other.",
    },
    hints={
        "passed_left": ("Who is the right neighbour?", "Send to (rank + 1) % n."),
        "not_passed": ("What has come?", "Return the array that was received."),
        "too_many_rounds": (
            "Which ranks wait with their send until another has received?",
            "isend on every rank, then recv, then wait.",
        ),
    },
)  # fmt: skip


# -- ring_share and ring_total -----------------------------------------------------------------


def array_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """Lengths that n divides, does not divide, and fewer numbers than ranks."""
    pairs = [(2, 4), (3, 7), (4, 2)] + ([(3, 6), (5, 11)] if level == "grader" else [])
    for n, length in pairs:
        yield World(tuple((rng.random(length) + k,) for k in range(n)))


def _total(world: World) -> Array:
    return np.asarray(np.sum(_own(world), axis=0))


def _split(x: Array, n: int) -> list[Array]:
    return [np.ascontiguousarray(piece) for piece in np.array_split(x, n)]


def shares_of(world: World, ahead: int = 0) -> list[Array]:
    """Rank r's piece, r + ahead, of the sum."""
    pieces = _split(_total(world), world.ranks)
    return [pieces[(rank + ahead) % world.ranks] for rank in range(world.ranks)]


def share_bytes(world: World) -> float:
    """All pieces but the smallest."""
    length = len(world.args[0][0])
    return 8.0 * (length - length // world.ranks)


RING_SHARE = ranks_spec(
    "ring_share", UNIT, 3, array_worlds, shares_of, ("x",),
    Limits(by_hand=True, most_bytes=share_bytes, most_rounds=lambda w: w.ranks - 1),
    suspects={
        "next_piece": lambda world: shares_of(world, 1),
        "whole_sum": lambda world: [_total(world)] * world.ranks,
        "not_summed": lambda world: [
            _split(x, world.ranks)[rank] for rank, x in enumerate(_own(world))
        ],
    },
    causes={
        "next_piece": "Rank r returns piece r + 1, as in the lesson.",
        "whole_sum": "Every rank returns the whole sum.",
        "not_summed": "Rank r returns its own piece r; nothing was added.",
    },
    hints={
        "next_piece": (
            "With which piece must rank r begin to end with piece r?",
            "With piece r - 1: move every index by one.",
        ),
        "whole_sum": ("What is a share?", "Return pieces[rank]."),
        "not_summed": (
            "What happens to what comes?",
            "Add it to your own piece of the same number, before the next step sends it.",
        ),
        "rank_failed": (
            "How long is the piece that comes?",
            "Make the empty array like the piece that comes, not like the one that goes.",
        ),
    },
)  # fmt: skip


def _half_done(world: World) -> list[Array]:
    """After the first half alone: rank r has the whole sum in piece r + 1, parts elsewhere."""
    n = world.ranks
    pieces = [_split(x, n) for x in _own(world)]
    held = []
    for rank in range(n):
        row = []
        for k in range(n):  # piece k began at rank k, and has come as far as this rank
            came = [(k + step) % n for step in range((rank - k) % n + 1)]
            row.append(np.sum([pieces[one][k] for one in came], axis=0))
        held.append(np.concatenate(row))
    return held


RING_TOTAL = ranks_spec(
    "ring_total", UNIT, 3, array_worlds, lambda world: [_total(world)] * world.ranks, ("x",),
    Limits(
        by_hand=True, most_rounds=lambda w: 2 * (w.ranks - 1),
        most_bytes=lambda w: float(bill(w.ranks, len(w.args[0][0]), 8)[1]),
    ),
    suspects={
        "half_done": _half_done,
        "not_summed": _own,
        "averaged": lambda world: [_total(world) / world.ranks] * world.ranks,
    },
    causes={
        "half_done": "Each rank has finished one piece, and has parts of sums in the others: the "
        "second half is missing.",
        "not_summed": "Every rank still has its own array.",
        "averaged": "It is the mean, not the sum.",
    },
    hints={
        "half_done": (
            "Who has the finished piece 0 after n - 1 rounds?",
            "Send the finished pieces round once more, and take what comes without adding.",
        ),
        "not_summed": (
            "Where do you add what comes?",
            "pieces[into] += came, and return torch.cat(pieces).",
        ),
        "averaged": ("Is a mean asked for?", "Do not divide by n."),
        "rank_failed": (
            "How long is the piece that comes?",
            "Make the empty array like the piece that comes, not like the one that goes.",
        ),
    },
)  # fmt: skip


# -- chain_broadcast ---------------------------------------------------------------------------

LINK = Link(latency_us=2.0, gbs=1.0)


def chain_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """Chunks of the same size, so that theory is exact; one chunk, and two ranks, as well."""
    cases = [(2, 1), (4, 3), (3, 5)] + ([(5, 4), (2, 6)] if level == "grader" else [])
    for n, chunks in cases:
        x = rng.random(chunks * 1000) + 1
        args = tuple((x if rank == 0 else np.zeros_like(x), chunks) for rank in range(n))
        yield World(args, Network(n, LINK))


def chain_seconds(world: World) -> float:
    """(n - 2 + m) steps of one chunk."""
    x, chunks = world.args[0]
    return (world.ranks - 2 + chunks) * LINK.time(x.nbytes / chunks)


CHAIN_BROADCAST = ranks_spec(
    "chain_broadcast", UNIT, 2, chain_worlds, lambda world: [world.args[0][0]] * world.ranks,
    ("x", "chunks", "net"), Limits(by_hand=True, most_seconds=chain_seconds),
    suspects={
        "not_passed_on": lambda world: [
            world.args[0][0] if rank < 2 else world.args[rank][0] for rank in range(world.ranks)
        ],
        "not_sent": _own,
    },
    causes={
        "not_passed_on": "Rank 1 has the values, the ranks behind it do not.",
        "not_sent": "Only rank 0 has the values.",
        "too_slow": "Some link rests while it could carry a chunk, or chunks are too large.",
    },
    hints={
        "not_passed_on": (
            "Who tells rank 2?",
            "Rank 1: each rank but the last sends each chunk to net.rank + 1.",
        ),
        "not_sent": ("Who tells rank 1?", "Rank 0 sends each chunk to rank 1."),
        "too_slow": (
            "What does the link to the left do while a rank sends to the right?",
            "Send chunk k and receive chunk k + 1 in one net.sendrecv.",
        ),
    },
)  # fmt: skip

SPECS = [RING_PIECES, RING_BILL, PASSED_RIGHT, RING_SHARE, RING_TOTAL, CHAIN_BROADCAST]
