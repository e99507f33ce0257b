"""Specs of the lab t3_01_collectives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..cases import Level
from ..ranked import Limits, World, ranks_spec
from ..spec import FunctionSpec

UNIT = "t3_01_collectives"

Rows = list[list[Any] | None]


# -- mean_loss ---------------------------------------------------------------------------------


def loss_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """Different numbers of samples; one rank with none."""
    counts = [(3, 1), (2, 0, 5)] + ([(7, 1, 1, 4), (0, 3)] if level == "grader" else [(4, 4, 1)])
    for by_rank in counts:
        yield World(tuple((rng.random(count) * 4 + k,) for k, count in enumerate(by_rank)))


def _losses(world: World) -> list[np.ndarray]:
    return [args[0] for args in world.args]


def mean_of_all(world: World) -> list[float]:
    """The right mean, on every rank."""
    return [float(np.concatenate(_losses(world)).mean())] * world.ranks


def _mean_of_means(world: World) -> list[float]:
    with np.errstate(invalid="ignore"):
        means = [float(x.sum() / x.size) if x.size else float("nan") for x in _losses(world)]
    return [float(np.mean(means))] * world.ranks


MEAN_LOSS = ranks_spec(
    "mean_loss", UNIT, 2, loss_worlds, mean_of_all, ("losses",), Limits(most_rounds=lambda w: 1),
    suspects={
        "mean_of_means": _mean_of_means,
        "own_mean": lambda w: [float(x.mean()) if x.size else 0.0 for x in _losses(w)],
        "sum_only": lambda w: [float(np.concatenate(_losses(w)).sum())] * w.ranks,
        "divided_by_ranks": lambda w: [float(np.concatenate(_losses(w)).sum()) / w.ranks] * w.ranks,
    },
    causes={
        "mean_of_means": "The means of the ranks are averaged, whatever their numbers of samples.",
        "own_mean": "Each rank returns the mean of its own losses.",
        "sum_only": "It is the sum of all losses.",
        "divided_by_ranks": "The sum is divided by the number of ranks, not of samples.",
        "too_many_rounds": "Sum and count travel in two calls.",
    },
    hints={
        "mean_of_means": (
            "Rank 0 has 1, 1, 1 and rank 1 has 5.  What is the mean of the four?",
            "Add up sums and counts over the ranks, and divide at the end.",
        ),
        "own_mean": (
            "What does a rank know of the others' losses?",
            "Call dist.all_reduce on a tensor with the sum and the count.",
        ),
        "sum_only": ("By what must the sum be divided?", "Send the count along with the sum."),
        "divided_by_ranks": (
            "How many samples are there in all?",
            "Send the count along with the sum.",
        ),
        "too_many_rounds": (
            "How many numbers can one all-reduce add up?",
            "Put the sum and the count into one tensor of two numbers.",
        ),
    },
)  # fmt: skip


# -- held_after --------------------------------------------------------------------------------

OPERATIONS = (
    "all_reduce", "broadcast", "scatter", "gather", "reduce", "all_gather", "reduce_scatter",
    "all_to_all",
)  # fmt: skip


def held_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[str, list[list[int]]]]:
    """Each operation on two ranks with the smallest arrays, then on more."""
    sizes = [(2, 2), (3, 6)] + ([(4, 4), (5, 10)] if level == "grader" else [])
    for n, length in sizes:
        values = rng.permutation(n * length * 4)[: n * length].reshape(n, length)
        for operation in OPERATIONS:
            yield operation, values.tolist()


def right_holdings(operation: str, held: Rows) -> Rows:
    """By NumPy: all arrays are one matrix with a row for each rank."""
    x = np.array(held)
    n = len(x)
    nothing: list[None] = [None] * (n - 1)
    made: dict[str, Any] = {
        "broadcast": np.repeat(x[:1], n, axis=0),
        "scatter": x[0].reshape(n, -1),
        "gather": [x.reshape(-1), *nothing],
        "reduce": [x.sum(axis=0), *nothing],
        "all_gather": np.tile(x.reshape(-1), (n, 1)),
        "all_reduce": np.repeat(x.sum(axis=0, keepdims=True), n, axis=0),
        "reduce_scatter": x.sum(axis=0).reshape(n, -1),
        "all_to_all": x.reshape(n, n, -1).transpose(1, 0, 2).reshape(n, -1),
    }
    return [None if row is None else row.tolist() for row in made[operation]]


def _but(operation: str, instead: Callable[[Rows], Rows]) -> Callable[[str, Rows], Rows]:
    """The right answer but for one operation."""
    return lambda name, held: instead(held) if name == operation else right_holdings(name, held)


def _strided(held: Rows) -> Rows:
    total = np.array(held).sum(axis=0)
    return [total[k :: len(held)].tolist() for k in range(len(held))]


def _every_other(held: Rows) -> Rows:
    x = np.array(held)
    return [x[:, k :: len(x)].reshape(-1).tolist() for k in range(len(x))]


def _root_everywhere(operation: str, held: Rows) -> Rows:
    """gather and reduce give all ranks the result."""
    other = {"gather": "all_gather", "reduce": "all_reduce"}.get(operation, operation)
    return right_holdings(other, held)


def _rest_kept(operation: str, held: Rows) -> Rows:
    right = right_holdings(operation, held)
    return [own if row is None else row for row, own in zip(right, held, strict=True)]


HELD_AFTER = FunctionSpec(
    "held_after", UNIT, 2, held_inputs, right_holdings,
    suspects={
        "root_everywhere": _root_everywhere,
        "rest_kept": _rest_kept,
        "reduce_scatter_whole": _but(
            "reduce_scatter", lambda held: right_holdings("all_reduce", held)
        ),
        "reduce_scatter_strided": _but("reduce_scatter", _strided),
        "all_to_all_strided": _but("all_to_all", _every_other),
        "all_to_all_is_gather": _but(
            "all_to_all", lambda held: right_holdings("all_gather", held)
        ),
        "all_to_all_unchanged": _but("all_to_all", lambda held: held),
        "scatter_of_own": _but(
            "scatter",
            lambda held: [
                np.array(row).reshape(len(held), -1)[k].tolist() for k, row in enumerate(held)
            ],
        ),
    },
    causes={
        "root_everywhere": "Gather and reduce give every rank the result; only the root gets it.",
        "rest_kept": "Ranks that get no result are said to keep what they had.",
        "reduce_scatter_whole": "Reduce-scatter gives each rank the whole sum, not its piece.",
        "reduce_scatter_strided": "The pieces are every n-th number; a piece is a row of "
        "neighbours.",
        "all_to_all_strided": "The pieces are every n-th number; a piece is a row of neighbours.",
        "all_to_all_is_gather": "After the all-to-all each rank has everything; it gets one piece "
        "of each rank.",
        "all_to_all_unchanged": "The all-to-all leaves everything where it was.",
        "scatter_of_own": "Each rank takes a piece of its own array; a scatter cuts the root's.",
    },
    hints={
        "root_everywhere": (
            "Who gets the result of a gather?",
            "Return None for all ranks but the first, for gather and reduce.",
        ),
        "rest_kept": (
            "Which ranks have a result after a gather?",
            "Return None for the ranks that have none.",
        ),
        "reduce_scatter_whole": (
            "What is scattered in a reduce-scatter?",
            "Cut the sum into as many pieces as there are ranks: piece k for rank k.",
        ),
        "reduce_scatter_strided": (
            "Which numbers go to rank 0?",
            "The first len // n of the sum: values[k * size : (k + 1) * size].",
        ),
        "all_to_all_strided": (
            "Which numbers of rank 1 go to rank 0?",
            "Its first len // n numbers: values[k * size : (k + 1) * size].",
        ),
        "all_to_all_is_gather": (
            "How long is each rank's array after an all-to-all?",
            "As long as before: rank k gets piece k of every rank.",
        ),
        "all_to_all_unchanged": (
            "Where does piece 1 of rank 0 go?",
            "To rank 1: rank k gets piece k of every rank.",
        ),
        "scatter_of_own": ("Whose array is cut?", "The root's: use held[0] for all ranks."),
    },
)  # fmt: skip


# -- bytes_sent --------------------------------------------------------------------------------


def bytes_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[str, int, int]]:
    """Few and many ranks, one rank, sizes that n does not divide."""
    names = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
    for ranks in (4, 1, 2, 3, int(rng.integers(5, 9)), 1024):
        for name in names:
            yield name, ranks, int(rng.integers(1, 1000)) * 8


def least_sent(operation: str, ranks: int, own_bytes: int) -> float:
    """(n - 1)/n S with S of the whole array, twice for an all-reduce."""
    whole = own_bytes * (ranks if operation == "all_gather" else 1)
    return (2 if operation == "all_reduce" else 1) * whole * (1 - 1 / ranks)


BYTES_SENT = FunctionSpec(
    "bytes_sent", UNIT, 1, bytes_inputs, least_sent,
    suspects={
        "gather_of_own": lambda operation, ranks, own_bytes: least_sent(
            operation.replace("all_gather", "reduce_scatter"), ranks, own_bytes
        ),
        "scatter_of_sum": lambda operation, ranks, own_bytes: least_sent(
            operation.replace("reduce_scatter", "all_gather"), ranks, own_bytes
        ),
        "reduce_once": lambda operation, ranks, own_bytes: least_sent(
            operation.replace("all_reduce", "reduce_scatter"), ranks, own_bytes
        ),
        "always_reduce": lambda operation, ranks, own_bytes: least_sent(
            "all_reduce", ranks, own_bytes
        ),
        "whole_arrays": lambda operation, ranks, own_bytes: float(
            own_bytes * (ranks - 1) * (2 if operation == "all_reduce" else 1)
        ),
        "limit_of_many": lambda operation, ranks, own_bytes: float(
            own_bytes * (ranks if operation == "all_gather" else 1)
            * (2 if operation == "all_reduce" else 1)
        ),
    },
    causes={
        "gather_of_own": "For the all-gather S is taken as what one rank hands in.",
        "scatter_of_sum": "For the reduce-scatter S is taken n times too large.",
        "reduce_once": "The all-reduce is counted once; it is two operations.",
        "always_reduce": "Every operation is counted as an all-reduce.",
        "whole_arrays": "Each rank sends its whole array to all others; a piece is enough.",
        "limit_of_many": "The factor (n - 1)/n is missing: a rank need not send to itself.",
    },
    hints={
        "gather_of_own": (
            "How many bytes does a rank hold after the all-gather?",
            "S is own_bytes * ranks there, so a rank sends (ranks - 1) * own_bytes.",
        ),
        "scatter_of_sum": (
            "How large is the array that is summed?",
            "Each rank hands in the whole array: S is own_bytes.",
        ),
        "reduce_once": (
            "Which two operations make an all-reduce?",
            "Reduce-scatter and all-gather of S bytes: twice (n - 1)/n S.",
        ),
        "always_reduce": (
            "Is the row of the table the same for all four?",
            "Only the all-reduce has the 2.",
        ),
        "whole_arrays": (
            "Which part of its array does a rank owe to one other rank?",
            "One n-th of it, to each of n - 1 others.",
        ),
        "limit_of_many": (
            "What does one rank alone send?",
            "Nothing: multiply by (ranks - 1) / ranks.",
        ),
    },
)  # fmt: skip


# -- logged_total ------------------------------------------------------------------------------


def total_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """One number a rank."""
    for n in (3, 2, 5) if level == "grader" else (3, 2):
        yield World(tuple((np.array(rng.random() + k),) for k in range(n)))


def _own(world: World) -> list[float]:
    return [float(args[0]) for args in world.args]


def _logged(world: World, first: Any, others: Any) -> list[Any]:
    """(own or what stands for it, total) by rank; functions of the own loss and of the total."""
    own, total = _own(world), sum(_own(world))
    return [list((first if k == 0 else others)(value, total)) for k, value in enumerate(own)]


LOGGED_TOTAL = ranks_spec(
    "logged_total", UNIT, 1, total_worlds,
    lambda world: _logged(world, lambda own, total: (own, total), lambda own, total: (own, None)),
    ("loss",), Limits(most_rounds=lambda w: 1),
    suspects={
        "own_lost": lambda world: _logged(
            world, lambda own, total: (total, total), lambda own, total: (total, None)
        ),
        "own_lost_on_root": lambda world: _logged(
            world, lambda own, total: (total, total), lambda own, total: (own, None)
        ),
        "total_everywhere": lambda world: _logged(
            world, lambda own, total: (own, total), lambda own, total: (own, total)
        ),
        "not_summed": lambda world: _logged(
            world, lambda own, total: (own, own), lambda own, total: (own, None)
        ),
        "mean_returned": lambda world: _logged(
            world, lambda own, total: (own, total / world.ranks), lambda own, total: (own, None)
        ),
    },
    causes={
        "own_lost": "The first value is the total: the call has overwritten the own loss.",
        "own_lost_on_root": "On rank 0 the first value is the total: the own loss is overwritten.",
        "total_everywhere": "The total is returned on every rank; only rank 0 writes the log.",
        "not_summed": "The second value is rank 0's own loss; nothing was added.",
        "mean_returned": "The second value is the mean, not the sum.",
        "too_many_rounds": "More calls than one are made.",
    },
    hints={
        "hang": (
            "Which ranks have to call a collective?",
            "All: move the call out of the if, and keep only the log under it.",
        ),
        "own_lost": (
            "What does an all-reduce do to its argument?",
            "It works in place: call it on loss.clone().",
        ),
        "own_lost_on_root": (
            "What does a reduce do to the root's argument?",
            "It works in place: call it on loss.clone().",
        ),
        "total_everywhere": ("Who needs the total?", "Return None on ranks other than 0."),
        "not_summed": ("Who tells rank 0 the other losses?", "dist.reduce(total, dst=0)."),
        "mean_returned": ("Is the mean asked for?", "Do not divide."),
        "wrong_values": (
            "Which of the two values is wrong, and on which rank?",
            "After a reduce the arrays of the other ranks are undefined: reduce a clone.",
        ),
    },
)  # fmt: skip


# -- sum_in_two_steps --------------------------------------------------------------------------


def sum_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """Lengths that n divides and does not divide, shorter than n as well."""
    pairs = [(2, 3), (3, 6), (4, 2)] + ([(3, 7), (5, 16)] if level == "grader" else [])
    for n, length in pairs:
        yield World(tuple((rng.random(length) + k,) for k in range(n)))


def _padded_bytes(world: World) -> int:
    length = len(world.args[0][0])
    return 8 * world.ranks * -(-length // world.ranks)


def _without_rest(world: World) -> list[np.ndarray]:
    """What n does not divide is left out: not summed."""
    n, length = world.ranks, len(world.args[0][0])
    whole = length // n * n
    total = sum(args[0] for args in world.args)
    return [np.concatenate([total[:whole], args[0][whole:]]) for args in world.args]


def _cut_off(world: World) -> list[np.ndarray]:
    length = len(world.args[0][0])
    return [sum(args[0] for args in world.args)[: length // world.ranks * world.ranks]] * (
        world.ranks
    )


def _padding_left(world: World) -> list[np.ndarray]:
    total = sum(args[0] for args in world.args)
    rest = _padded_bytes(world) // 8 - total.size
    return [np.concatenate([total, np.zeros(rest)])] * world.ranks


SUM_IN_TWO_STEPS = ranks_spec(
    "sum_in_two_steps", UNIT, 2, sum_worlds,
    lambda world: [sum(args[0] for args in world.args)] * world.ranks, ("x",),
    Limits(
        without=frozenset({"all_reduce", "reduce", "broadcast"}),
        most_wire=lambda w: 2 * (w.ranks - 1) / w.ranks * _padded_bytes(w),
    ),
    suspects={
        "rest_not_summed": _without_rest,
        "rest_cut_off": _cut_off,
        "padding_left": _padding_left,
        "not_summed": lambda world: [args[0] for args in world.args],
    },
    causes={
        "rest_not_summed": "The last numbers, where n does not divide the length, are not summed.",
        "rest_cut_off": "The last numbers, where n does not divide the length, are missing.",
        "padding_left": "The zeros that fill the array up are still in the result.",
        "not_summed": "Every rank still has its own array.",
    },
    hints={
        "rest_not_summed": (
            "How long is a piece if 2 ranks share 3 numbers?",
            "Round up, and fill the array up with zeros to n times that.",
        ),
        "rest_cut_off": (
            "How long is a piece if 2 ranks share 3 numbers?",
            "Round up: -(-len(x) // n), and fill the array up with zeros to n times that.",
        ),
        "padding_left": ("How long is x?", "Return only the first len(x) numbers."),
        "operation_used": (
            "Which two operations make an all-reduce?",
            "dist.reduce_scatter(piece, list(padded.split(size))), then dist.all_gather.",
        ),
        "too_many_bytes": (
            "How long is what each rank hands in?",
            "Pieces of the length divided by n, rounded up: at most n - 1 zeros in all.",
        ),
    },
)  # fmt: skip


# -- transposed_rows ---------------------------------------------------------------------------


def matrix_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """r and c differ, so that a mistake in the shape shows."""
    shapes = [(2, 2, 3), (3, 3, 2)] + ([(4, 2, 3), (5, 4, 2)] if level == "grader" else [])
    for n, r, c in shapes:
        yield World(tuple((rng.random((r, n * c)) + k,) for k in range(n)))


def _transposed(world: World) -> list[np.ndarray]:
    whole = np.concatenate([args[0] for args in world.args])
    return [np.ascontiguousarray(part) for part in np.split(whole.T, world.ranks)]


def _blocks_not_turned(world: World) -> list[np.ndarray]:
    """The blocks are exchanged, each still as it was, and reshaped to fit."""
    n = world.ranks
    rows, columns = world.args[0][0].shape
    blocks = [np.split(args[0], n, axis=1) for args in world.args]
    return [
        np.concatenate([blocks[k][rank].reshape(columns // n, rows) for k in range(n)], axis=1)
        for rank in range(n)
    ]


def _stacked(world: World) -> list[np.ndarray]:
    """The blocks that came, one below the other instead of side by side."""
    n, rows = world.ranks, world.args[0][0].shape[0]
    return [
        np.concatenate(np.split(part, n, axis=1)).reshape(-1, n * rows)
        for part in _transposed(world)
    ]


TRANSPOSED_ROWS = ranks_spec(
    "transposed_rows", UNIT, 2, matrix_worlds, _transposed, ("rows",),
    Limits(most_wire=lambda w: (w.ranks - 1) / w.ranks * w.args[0][0].nbytes),
    suspects={
        "blocks_not_turned": _blocks_not_turned,
        "blocks_stacked": _stacked,
        "own_transposed": lambda world: [np.ascontiguousarray(a[0].T) for a in world.args],
    },
    causes={
        "blocks_not_turned": "The blocks are in their places, but not transposed themselves.",
        "blocks_stacked": "The blocks stand one below the other instead of side by side.",
        "own_transposed": "Each rank has transposed its own rows; nothing was exchanged.",
        "too_many_bytes": "Every rank gets rows that it does not need.",
    },
    hints={
        "blocks_not_turned": (
            "What happens to the numbers inside a block?",
            "Transpose each block, too: block.t().contiguous().",
        ),
        "blocks_stacked": (
            "Where does the block of rank 1 belong?",
            "To the right of rank 0's: torch.cat(list(got), dim=1).",
        ),
        "own_transposed": (
            "Which rows of the transposed matrix are yours?",
            "They need columns of all ranks: exchange blocks with an all-to-all.",
        ),
        "too_many_bytes": (
            "How many of the numbers that arrive does your rank use?",
            "Send each block only to the rank that needs it: dist.all_to_all_single.",
        ),
    },
)  # fmt: skip

SPECS = [MEAN_LOSS, HELD_AFTER, BYTES_SENT, LOGGED_TOTAL, SUM_IN_TWO_STEPS, TRANSPOSED_ROWS]
