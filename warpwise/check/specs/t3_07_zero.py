"""Specs of the lab t3_07_zero."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..cases import Level
from ..ranked import Limits, World, ranks_spec
from ..spec import FunctionSpec

UNIT = "t3_07_zero"

Array = np.ndarray[Any, Any]


# -- stage_bytes --------------------------------------------------------------------------------

Held = tuple[float, float, float]


def held_inputs(
    rng: np.random.Generator, level: Level
) -> Iterator[tuple[int, int, int, int, int, int]]:
    """Each stage, one rank alone, several recipes; the three sizes differ."""
    yield 100, 4, 1, 2, 2, 12
    yield 100, 4, 0, 2, 3, 12
    yield 1000, 1, 3, 2, 4, 8
    for stage in (2, 3, 1) * (2 if level == "grader" else 1):
        weight, gradient, states = rng.choice([1, 2, 4, 6, 8, 12], 3, replace=False).tolist()
        parameters, ranks = int(rng.integers(10**3, 10**10)), int(rng.integers(2, 1025))
        yield parameters, ranks, stage, weight, gradient, states


def held(
    parameters: int, ranks: int, stage: int, weight: float, gradient: float, states: float
) -> Held:
    """States are shared out from stage 1 on, gradients from 2, weights from 3."""
    return _shared(parameters, ranks, stage, (weight, gradient, states), (3, 2, 1))


def _shared(
    parameters: int, ranks: int, stage: int, sizes: Sequence[float], first: Sequence[int]
) -> Held:
    """first: from which stage on each kind is divided by ranks."""
    one, two, three = (
        float(parameters * size / (ranks if stage >= at else 1))
        for size, at in zip(sizes, first, strict=True)
    )
    return one, two, three


def _with_first(*first: int) -> Callable[..., Held]:
    def wrong(
        parameters: int, ranks: int, stage: int, weight: float, gradient: float, states: float
    ) -> Held:
        return _shared(parameters, ranks, stage, (weight, gradient, states), first)

    return wrong


def _total(
    parameters: int, ranks: int, stage: int, weight: float, gradient: float, states: float
) -> float:
    return sum(held(parameters, ranks, stage, weight, gradient, states))


def _per_parameter(
    parameters: int, ranks: int, stage: int, weight: float, gradient: float, states: float
) -> Held:
    return held(1, ranks, stage, weight, gradient, states)


def _states_first(
    parameters: int, ranks: int, stage: int, weight: float, gradient: float, states: float
) -> Held:
    one, two, three = held(parameters, ranks, stage, weight, gradient, states)
    return three, two, one


STAGE_BYTES = FunctionSpec(
    "stage_bytes", UNIT, 1, held_inputs, held,
    suspects={
        "never_shared": _with_first(9, 9, 9),
        "all_shared": _with_first(1, 1, 1),
        "shared_at_0": _with_first(0, 0, 0),
        "weights_first": _with_first(1, 2, 3),
        "weights_second": _with_first(2, 3, 1),
        "one_stage_early": _with_first(2, 1, 0),
        "one_stage_late": _with_first(4, 3, 2),
        "weights_stay": _with_first(9, 2, 1),
        "total_returned": _total,
        "of_one_parameter": _per_parameter,
        "states_returned_first": _states_first,
    },
    causes={
        "never_shared": "Nothing is divided by the number of ranks.",
        "all_shared": "Every stage divides all three; stages 1 and 2 leave something whole.",
        "shared_at_0": "All is divided, also in stage 0.",
        "weights_first": "Weights are divided first; ZeRO begins with the states.",
        "weights_second": "Stage 2 divides the weights; it is the gradients that come second.",
        "one_stage_early": "Each kind is divided one stage too early.",
        "one_stage_late": "Each kind is divided one stage too late.",
        "weights_stay": "The weights are never divided; stage 3 does it.",
        "total_returned": "It is the sum of the three.",
        "of_one_parameter": "These are the bytes of one parameter.",
        "states_returned_first": "The three numbers are in the reverse order.",
    },
    hints={
        "never_shared": ("What does each stage share out?", "Divide the states from stage 1 on."),
        "all_shared": (
            "What does stage 1 share out, and what not?",
            "States from 1 on, gradients from 2 on, weights from 3 on.",
        ),
        "shared_at_0": ("What is stage 0?", "Plain data parallelism: nothing is divided."),
        "weights_first": (
            "Which of the three is needed only for the update?",
            "States from 1 on, gradients from 2 on, weights from 3 on.",
        ),
        "weights_second": (
            "What does the hook of stage 2 give back?",
            "Gradients from 2 on, weights from 3 on.",
        ),
        "one_stage_early": (
            "Is it > or >= ?",
            "States from 1 on, gradients from 2 on, weights from 3 on.",
        ),
        "one_stage_late": (
            "Is it > or >= ?",
            "States from 1 on, gradients from 2 on, weights from 3 on.",
        ),
        "weights_stay": ("What is left in stage 3?", "Divide the weights as well."),
        "total_returned": ("How many numbers are asked for?", "Return three, not their sum."),
        "of_one_parameter": ("How many parameters are there?", "Multiply by parameters."),
        "states_returned_first": ("In which order?", "Weights, gradients, states."),
    },
)  # fmt: skip


# -- sharded_step ------------------------------------------------------------------------------


def step_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """Lengths that ranks do and do not divide; shards partly and wholly filled up."""
    cases = [(2, 3, 1), (3, 4, 3)]
    cases += [(4, 5, 2), (2, 8, 7), (4, 10, 4)] if level == "grader" else []
    for n, length, t in cases:
        c = -(-length // n)
        w = rng.standard_normal(length)
        scale = 0.0 if t == 1 else 1.0
        m, v = scale * rng.standard_normal(length), scale * (rng.random(length) + 0.1)
        lr = round(float(rng.uniform(0.05, 0.2)), 3)
        yield World(
            tuple(
                (
                    w,
                    rng.standard_normal(length) + 1 + rank,
                    filled(m, n)[rank * c : (rank + 1) * c],
                    filled(v, n)[rank * c : (rank + 1) * c],
                    t,
                    lr,
                )
                for rank in range(n)
            )
        )


def filled(array: Array, n: int) -> Array:
    """With zeros at the end, to the next multiple of n."""
    return np.concatenate([array, np.zeros(-len(array) % n)])


def _pieces(array: Array, n: int) -> list[Array]:
    return list(np.split(filled(array, n), n))


def adam(
    w: Array, g: Array, m: Array, v: Array, t: int, lr: float, corrected: bool = True
) -> tuple[Array, Array, Array]:
    """One step: weights and moments."""
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
    one, two = (1 - 0.9**t, 1 - 0.999**t) if corrected else (1.0, 1.0)
    return w - lr * (m / one) / (np.sqrt(v / two) + 1e-8), m, v


def stepped(
    world: World, gradients: Sequence[Array] | None = None, corrected: bool = True
) -> list[list[Array]]:
    """By rank: all weights, and the shards of the moments.  gradients: what each rank uses."""
    n, (w, _, _, _, t, lr) = world.ranks, world.args[0]
    if gradients is None:
        gradients = [np.mean([args[1] for args in world.args], axis=0)] * n
    shards = []
    for rank, (_, _, m, v, _, _) in enumerate(world.args):
        g = _pieces(gradients[rank], n)[rank]
        shards.append(adam(_pieces(w, n)[rank], g, m, v, t, lr, corrected))
    whole = np.concatenate([shard[0] for shard in shards])[: len(w)]
    return [[whole, m, v] for _, m, v in shards]


def _padding_left(world: World) -> list[list[Array]]:
    return [[filled(w, world.ranks), m, v] for w, m, v in stepped(world)]


def _own_shard_only(world: World) -> list[list[Array]]:
    """Each rank puts its new shard into the old weights."""
    n, found = world.ranks, []
    for rank, (new, m, v) in enumerate(stepped(world)):
        pieces = _pieces(world.args[rank][0], n)
        pieces[rank] = _pieces(new, n)[rank]
        found.append([np.concatenate(pieces)[: len(new)], m, v])
    return found


def _shard_returned(world: World) -> list[list[Array]]:
    return [
        [_pieces(new, world.ranks)[rank], m, v] for rank, (new, m, v) in enumerate(stepped(world))
    ]


def _old_moments(world: World) -> list[list[Array]]:
    return [
        [new, args[2], args[3]]
        for (new, _, _), args in zip(stepped(world), world.args, strict=True)
    ]


def _two_halves(world: World, numbers: int) -> float:
    """What a reduce-scatter and an all-gather of so many float64 send."""
    return 2 * (world.ranks - 1) / world.ranks * numbers * 8


SHARDED_STEP = ranks_spec(
    "sharded_step", UNIT, 3, step_worlds, stepped, ("w", "gradient", "m", "v", "t", "lr"),
    Limits(most_wire=lambda w: _two_halves(w, len(w.args[0][2]) * w.ranks)),
    suspects={
        "not_averaged": lambda world: stepped(
            world, [np.sum([args[1] for args in world.args], axis=0)] * world.ranks
        ),
        "own_gradient": lambda world: stepped(world, [args[1] for args in world.args]),
        "gradient_of_rank_0": lambda world: stepped(world, [world.args[0][1]] * world.ranks),
        "not_corrected": lambda world: stepped(world, corrected=False),
        "padding_left": _padding_left,
        "own_shard_only": _own_shard_only,
        "shard_returned": _shard_returned,
        "old_moments": _old_moments,
    },
    causes={
        "not_averaged": "The gradients of all ranks are added up, not averaged.",
        "own_gradient": "Each rank uses its own gradient; nobody hears of the others'.",
        "gradient_of_rank_0": "Rank 0's gradient is used for all.",
        "not_corrected": "The divisions by 1 - 0.9**t and 1 - 0.999**t are missing.",
        "padding_left": "The zeros at the end are returned with the weights.",
        "own_shard_only": "Only the own shard of the weights is new; the others' are not gathered.",
        "shard_returned": "It is this rank's shard of the weights; all are asked for.",
        "old_moments": "The moments are returned as they came.",
        "too_many_bytes": "More travels than one reduce-scatter and one all-gather.",
    },
    hints={
        "hang": (
            "Do all ranks call the same, with arrays of the same size?",
            "Fill up to n * len(m) numbers first, so that all n chunks are equal.",
        ),
        "rank_failed": (
            "Does n divide the number of weights?",
            "Fill up with zeros to n * len(m) numbers before you cut anything.",
        ),
        "wrong_values": (
            "Which numbers belong to this rank's shard?",
            "Those from rank * c to (rank + 1) * c of the array filled up, c = len(m).",
        ),
        "not_averaged": ("Sum or mean?", "Divide by the world size after the reduce-scatter."),
        "own_gradient": (
            "Who tells this rank of the others' gradients?",
            "dist.reduce_scatter(g, list(filled.chunk(n))), then divide by n.",
        ),
        "gradient_of_rank_0": ("Whose rows count?", "All ranks': reduce-scatter."),
        "not_corrected": ("What do the three formulas do with t?", "Write them as they stand."),
        "padding_left": ("How many weights are there?", "Return the first len(w) of them."),
        "own_shard_only": (
            "Who has the other new weights?",
            "dist.all_gather of the shards, on all ranks.",
        ),
        "shard_returned": (
            "With which weights does the next forward pass compute?",
            "With all: all-gather the shards, and return the first len(w) numbers.",
        ),
        "old_moments": (
            "What does the next step begin with?",
            "Return the new m and v of this rank's shard.",
        ),
        "too_many_bytes": (
            "Which half of an all-reduce is enough for the gradient?",
            "Reduce-scatter the gradient and all-gather the weights; moments never travel.",
        ),
    },
)  # fmt: skip


# -- clipped_shard -----------------------------------------------------------------------------


def clip_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """Clipped, not clipped, all zeros, and a rank whose shard is all padding."""

    def world(shards: Sequence[Array], part: float) -> World:
        limit = round(part * float(np.sqrt(sum((s**2).sum() for s in shards))), 6)
        return World(tuple((shard, limit or 1.0) for shard in shards))

    def shards(n: int, length: int) -> list[Array]:
        # Lengths differ by rank, and none is near the limit.
        return [rng.standard_normal(length) * (1 + rank) for rank in range(n)]

    yield world(shards(2, 2), 0.3)
    yield world([*shards(2, 4), np.zeros(4)], 1.2)
    yield world([np.zeros(2)] * 2, 0.0)
    if level == "grader":
        yield world(shards(4, 5), 0.55)
        yield world([np.zeros(3), *shards(2, 3)], 0.8)
        yield world(shards(3, 2), 1.01)


def _scaled(world: World, factor: Callable[[Array, float], float]) -> list[Array]:
    """factor: (lengths of all shards, limit) -> what all ranks multiply by."""
    lengths = np.array([np.linalg.norm(shard) for shard, _ in world.args])
    limit = world.args[0][1]
    return [shard * factor(lengths, limit) for shard, _ in world.args]


def _down(length: float, limit: float) -> float:
    return limit / length if length > limit else 1.0


def clipped(world: World) -> list[Array]:
    """By the length of the whole."""
    return _scaled(world, lambda lengths, limit: _down(float(np.linalg.norm(lengths)), limit))


def _always(lengths: Array, limit: float) -> float:
    length = float(np.linalg.norm(lengths))
    return limit / length if length else 1.0


CLIPPED_SHARD = ranks_spec(
    "clipped_shard", UNIT, 1, clip_worlds, clipped, ("shard", "limit"),
    Limits(most_wire=lambda w: max(1, w.ranks - 1) * 8),
    suspects={
        "own_length": lambda world: [
            shard * _down(float(np.linalg.norm(shard)), limit) for shard, limit in world.args
        ],
        "lengths_added": lambda world: _scaled(
            world, lambda lengths, limit: _down(float(lengths.sum()), limit)
        ),
        "largest_length": lambda world: _scaled(
            world, lambda lengths, limit: _down(float(lengths.max()), limit)
        ),
        "mean_of_squares": lambda world: _scaled(
            world, lambda lengths, limit: _down(float(np.sqrt((lengths**2).mean())), limit)
        ),
        "no_root": lambda world: _scaled(
            world, lambda lengths, limit: _down(float((lengths**2).sum()), limit)
        ),
        "always_scaled": lambda world: _scaled(world, _always),
        "never_scaled": lambda world: [shard for shard, _ in world.args],
        "numbers_cut": lambda world: [
            np.clip(shard, -limit, limit) for shard, limit in world.args
        ],
    },
    causes={
        "own_length": "Each rank clips by the length of its own shard.",
        "lengths_added": "The lengths of the shards are added up; squares are to be.",
        "largest_length": "It is the largest length of a shard, not that of the whole.",
        "mean_of_squares": "The squares are averaged over ranks, not added up.",
        "no_root": "The sum of squares is used without the root.",
        "always_scaled": "Also a gradient below the limit is scaled, up.",
        "never_scaled": "Nothing is clipped.",
        "numbers_cut": "Single numbers are cut at the limit, so that the direction changes.",
        "too_many_bytes": "More travels than one number of each rank.",
    },
    hints={
        "own_length": (
            "Does every rank multiply by the same number?",
            "dist.all_reduce the sum of squares before the root.",
        ),
        "lengths_added": ("What is the length of (3, 4)?", "All-reduce squares, then the root."),
        "largest_length": ("What is the length of (3, 4)?", "All-reduce squares as a sum."),
        "mean_of_squares": (
            "Do ranks have the same numbers, or different ones?",
            "Different ones: add their squares up, do not divide.",
        ),
        "no_root": ("What is the length of (3, 4)?", "The root of 25."),
        "always_scaled": (
            "What if the length is below the limit?",
            "Then return the shard as it is.",
        ),
        "never_scaled": (
            "Which length is compared with the limit?",
            "The root of the sum of all ranks' squares; multiply by limit / length above it.",
        ),
        "numbers_cut": ("What is clipped: numbers, or the length?", "Multiply by limit / length."),
        "wrong_values": (
            "What if all numbers are 0?",
            "Divide by the length only where it is larger than the limit.",
        ),
        "too_many_bytes": ("How long is what travels?", "One number: the sum of squares."),
    },
)  # fmt: skip


# -- scattered_gradients and sharded_pass ------------------------------------------------------


def chain(weights: Sequence[Array], x: Array, residual: bool = False) -> list[Array]:
    """Gradients of the mean square behind layers of tanh(x W'), or of x + tanh(x W')."""
    inputs, outs = [], []
    for w in weights:
        inputs.append(x)
        outs.append(np.tanh(x @ w.T))
        x = x + outs[-1] if residual else outs[-1]
    dy = 2 * x / x.size
    found = []
    for w, before, out in list(zip(weights, inputs, outs, strict=True))[::-1]:
        inner = dy * (1 - out**2)
        found.append(inner.T @ before)
        dy = inner @ w + (dy if residual else 0)
    return found[::-1]


def rows_of(array: Array, rank: int, n: int) -> Array:
    return np.split(array, n)[rank]


def matrices(rng: np.random.Generator, layers: int, h: int) -> list[Array]:
    return [rng.standard_normal((h, h)) / np.sqrt(h) for _ in range(layers)]


def scattered_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """One micro-batch and several; enough layers to tell one whole gradient from all."""
    cases = [(3, 12, 24, 2, 1), (2, 16, 24, 1, 1)]
    cases += [(4, 3, 8, 3, 1), (2, 2, 12, 2, 1)] if level == "grader" else []
    for n, layers, h, micro, rows in cases:
        weights = matrices(rng, layers, h)
        yield World(
            tuple((weights, rng.standard_normal((micro, rows, h))) for _ in range(n)), memory=True
        )


def scattered(
    world: World,
    ranks: Callable[[World, int], Sequence[int]] = lambda world, rank: range(world.ranks),
    times: float = 1.0,
    micro: slice = slice(None),
) -> list[list[Array]]:
    """Each rank's rows of the mean gradient.  ranks: whose gradients a rank averages."""
    n = world.ranks
    means = []
    for weights, x in world.args:
        each = [chain(weights, part) for part in x[micro]]
        means.append([np.mean(one, axis=0) for one in zip(*each, strict=True)])
    found = []
    for rank in range(n):
        chosen = [means[k] for k in ranks(world, rank)]
        mean = [times * np.mean(one, axis=0) for one in zip(*chosen, strict=True)]
        found.append([rows_of(g, rank, n) for g in mean])
    return found


def _grad_kept(world: World) -> list[list[Array]]:
    """What a micro-batch brought is scattered again with each that follows."""
    micro = len(world.args[0][1])
    each = [
        scattered(world, times=(micro - k) / micro, micro=slice(k, k + 1)) for k in range(micro)
    ]
    return [
        [np.sum(shards, axis=0) for shards in zip(*ranks, strict=True)]
        for ranks in zip(*each, strict=True)
    ]


def _whole_gradients(world: World) -> list[list[Array]]:
    shards = scattered(world)
    return [[np.concatenate(one) for one in zip(*shards, strict=True)]] * world.ranks


def _matrix(world: World) -> int:
    """Bytes of one whole matrix."""
    weights = world.args[0][0]
    return int(8 * weights[0].shape[1] ** 2)


def _layers(world: World) -> int:
    return len(world.args[0][0])


def _scatters(world: World) -> float:
    """A reduce-scatter for each matrix and micro-batch."""
    n, micro = world.ranks, len(world.args[0][1])
    return (n - 1) / n * _matrix(world) * _layers(world) * micro


def _room(world: World, matrices: int) -> float:
    """The shards, so many whole matrices, and three arrays a layer for activations."""
    x = world.args[0][1]
    shards = _layers(world) * _matrix(world) / world.ranks
    activations = 3 * (_layers(world) + 1) * x.nbytes / (len(x) if x.ndim == 3 else 1)
    return shards + matrices * _matrix(world) + activations


SCATTERED_GRADIENTS = ranks_spec(
    "scattered_gradients", UNIT, 3, scattered_worlds, scattered, ("weights", "x"),
    Limits(most_wire=_scatters, most_held=lambda w: _room(w, 4)),
    suspects={
        "not_averaged": lambda world: scattered(world, times=world.ranks),
        "not_averaged_micro": lambda world: scattered(world, times=len(world.args[0][1])),
        "summed_up": lambda world: scattered(world, times=world.ranks * len(world.args[0][1])),
        "last_micro_only": lambda world: scattered(world, micro=slice(-1, None)),
        "last_micro_divided": lambda world: scattered(
            world, times=1 / len(world.args[0][1]), micro=slice(-1, None)
        ),
        "grad_kept": _grad_kept,
        "own_gradient": lambda world: scattered(world, lambda world, rank: [rank]),
        "as_they_come": lambda world: [shards[::-1] for shards in scattered(world)],
        "whole_returned": _whole_gradients,
    },
    causes={
        "not_averaged": "The gradients of all ranks are added up, not averaged.",
        "not_averaged_micro": "The gradients of the micro-batches are added up, not averaged.",
        "summed_up": "The gradients are added up over ranks and micro-batches, not averaged.",
        "last_micro_only": "Only the gradient of the last micro-batch counts.",
        "last_micro_divided": "Each micro-batch takes the place of the one before.",
        "grad_kept": "What the first micro-batch brought is scattered again with the second.",
        "own_gradient": "These are rows of this rank's own gradient.",
        "as_they_come": "The shards are in the order in which gradients come: the last first.",
        "whole_returned": "These are whole gradients; a rank needs its own rows.",
        "too_many_bytes": "More travels than one reduce-scatter for each matrix and micro-batch.",
        "too_much_held": "Several whole gradients are there at the same time.",
    },
    hints={
        "not_averaged": ("Sum or mean?", "Divide by the world size."),
        "not_averaged_micro": ("How many micro-batches are there?", "Divide by len(x) as well."),
        "summed_up": ("Of what is it the mean?", "Divide by n * len(x)."),
        "last_micro_only": (
            "Where is what earlier micro-batches brought?",
            "Add the new shard to the one that is there already.",
        ),
        "last_micro_divided": (
            "Where is what earlier micro-batches brought?",
            "Add the new shard to the one that is there already.",
        ),
        "grad_kept": (
            "What does w.grad hold when the second micro-batch's gradient comes?",
            "Set w.grad = None as soon as it is scattered.",
        ),
        "wrong_values": (
            "What is a mean over ranks, and over micro-batches? Which rows are this rank's?",
            "Reduce-scatter list(w.grad.chunk(n)), divide by n * len(x), add micro-batches up.",
        ),
        "own_gradient": (
            "Who tells this rank of the others' gradients?",
            "dist.reduce_scatter(piece, list(w.grad.chunk(n))).",
        ),
        "as_they_come": (
            "Whose hook runs first?",
            "The last matrix's: keep shards by their matrix, and list them by weights at the end.",
        ),
        "whole_returned": ("How many rows has a shard?", "h / n: return what the scatter left."),
        "too_many_bytes": (
            "Which half of an all-reduce leaves each rank its own rows?",
            "dist.reduce_scatter, once for each matrix in each micro-batch.",
        ),
        "too_much_held": (
            "When is the last matrix's gradient there, and when do you scatter it?",
            "In the hook: reduce-scatter into a new tensor, then w.grad = None. Let no name keep "
            "the whole gradient; a view of it keeps all of it.",
        ),
        "rank_failed": (
            "Does each weight need a gradient, and has it one in the hook?",
            "w.requires_grad_() first, then w.register_post_accumulate_grad_hook(ready).",
        ),
    },
)  # fmt: skip


def pass_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """Enough layers to tell a gathered one from all."""
    cases = [(2, 16, 24, 1), (3, 12, 24, 2)]
    cases += [(4, 4, 8, 3), (2, 1, 8, 3)] if level == "grader" else []
    for n, layers, h, rows in cases:
        weights = matrices(rng, layers, h)
        yield World(
            tuple(
                ([np.ascontiguousarray(rows_of(w, rank, n)) for w in weights],
                 rng.standard_normal((rows, h)))
                for rank in range(n)
            ), memory=True,
        )  # fmt: skip


def passed(
    world: World, times: float = 1.0, residual: bool = True, own: bool = False
) -> list[list[Array]]:
    """Each rank's rows of the mean gradient.  own: of its own rows of the batch alone."""
    n = world.ranks
    every = [args[0] for args in world.args]
    weights = [np.concatenate(one) for one in zip(*every, strict=True)]
    each = [chain(weights, x, residual) for _, x in world.args]
    mean = [times * np.mean(one, axis=0) for one in zip(*each, strict=True)]
    return [[rows_of(g, rank, n) for g in (each[rank] if own else mean)] for rank in range(n)]


def _whole_passed(world: World) -> list[list[Array]]:
    shards = passed(world)
    return [[np.concatenate(one) for one in zip(*shards, strict=True)]] * world.ranks


def _passes(world: World) -> float:
    """2 L - 1 all-gathers and L reduce-scatters."""
    n = world.ranks
    return (n - 1) / n * _matrix(world) * (3 * _layers(world) - 1)


SHARDED_PASS = ranks_spec(
    "sharded_pass", UNIT, 4, pass_worlds, passed, ("shards", "x"),
    Limits(most_wire=_passes, most_held=lambda w: _room(w, 5)),
    suspects={
        "not_averaged": lambda world: passed(world, times=world.ranks),
        "not_residual": lambda world: passed(world, residual=False),
        "own_gradient": lambda world: passed(world, own=True),
        "as_they_come": lambda world: [shards[::-1] for shards in passed(world)],
        "whole_returned": _whole_passed,
    },
    causes={
        "not_averaged": "The gradients of all ranks are added up, not averaged.",
        "not_residual": "The layers are tanh(x W'), without the x that is added.",
        "own_gradient": "These are rows of the gradient of this rank's own rows of the batch.",
        "as_they_come": "The shards are in the order in which gradients come: the last first.",
        "whole_returned": "These are whole gradients; a rank needs its own rows.",
        "too_many_bytes": "More travels than 2 L - 1 all-gathers and L reduce-scatters.",
        "too_much_held": "Whole matrices are kept: gathered ones, or gradients.",
    },
    hints={
        "not_averaged": ("Sum or mean?", "Divide the scattered gradient by the world size."),
        "wrong_values": (
            "What are the gradients of x and of the matrix behind y = x @ w.T?",
            "dy @ w and dy.T @ x; the second is reduce-scattered and divided by n.",
        ),
        "not_residual": ("What is a layer's output?", "x + torch.tanh(...)."),
        "own_gradient": (
            "Who tells this rank of the others' gradients?",
            "Reduce-scatter the gradient of the whole matrix in backward.",
        ),
        "as_they_come": ("In which order are they asked for?", "In the order of shards."),
        "whole_returned": ("How many rows has a shard?", "h / n: return what the scatter left."),
        "too_many_bytes": (
            "Which matrix is needed in the backward pass as soon as the forward pass ends?",
            "The last: keep it instead of gathering it again, and scatter each gradient once.",
        ),
        "too_much_held": (
            "What does the graph keep of each product until the backward pass?",
            "Save x and the shard, not the whole; gather again in backward, and scatter the "
            "gradient there, before the next layer's is made.",
        ),
    },
)  # fmt: skip


# -- cheapest_stage ----------------------------------------------------------------------------

Choice = tuple[int, float] | None


def stage_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, int, int, float]]:
    """Room for each stage and for none, exactly and nearly; one micro-batch and several."""
    yield 1000, 4, 3, 7000.0
    yield 1000, 4, 3, 5500.0
    yield 1000, 4, 3, 4500.0
    yield 1000, 4, 3, 3000.0
    yield 1000, 4, 3, 16000.0
    yield 500, 1, 4, 8000.0
    yield 1000, 8, 1, 4000.0
    for stage in (2, 3, 1) * (2 if level == "grader" else 1):
        parameters, ranks = int(rng.integers(10**3, 10**9)), int(rng.integers(3, 65))
        least = parameters * bytes_each(stage, ranks)
        yield parameters, ranks, int(rng.integers(2, 17)), round(least * 1.01, 1)


def bytes_each(stage: int, ranks: int) -> float:
    """What a parameter takes in mixed precision."""
    return (16, 4 + 12 / ranks, 2 + 14 / ranks, 16 / ranks)[stage]


def cheapest(parameters: int, ranks: int, micro_batches: int, room: float) -> Choice:
    """The first stage that fits: none sends less than the one before."""
    return _first_fit(parameters, ranks, micro_batches, room)


def _first_fit(
    parameters: int, ranks: int, micro: int, room: float,
    order: Sequence[int] = (0, 1, 2, 3),
    times: Callable[[int], Sequence[float]] = lambda micro: (2, 2, micro + 1, 3 * micro),
    fits: Callable[[float, float], bool] = lambda held, room: held <= room,
) -> Choice:  # fmt: skip
    for stage in order:
        if fits(parameters * bytes_each(stage, ranks), room):
            return stage, times(micro)[stage] * 2 * parameters * (ranks - 1) / ranks
    return None


def _limit_of_many(parameters: int, ranks: int, micro_batches: int, room: float) -> Choice:
    found = cheapest(parameters, ranks, micro_batches, room)
    return found and (found[0], found[1] * ranks / max(1, ranks - 1))


def _in_numbers(parameters: int, ranks: int, micro_batches: int, room: float) -> Choice:
    found = cheapest(parameters, ranks, micro_batches, room)
    return found and (found[0], found[1] / 2)


CHEAPEST_STAGE = FunctionSpec(
    "cheapest_stage", UNIT, 2, stage_inputs, cheapest,
    suspects={
        "least_memory": lambda parameters, ranks, micro_batches, room: _first_fit(
            parameters, ranks, micro_batches, room, (3, 2, 1, 0)
        ),
        "each_times_m": lambda parameters, ranks, micro_batches, room: _first_fit(
            parameters, ranks, micro_batches, room,
            times=lambda m: (2 * m, 2 * m, 2 * m, 3 * m),
        ),
        "stage_2_sends_once": lambda parameters, ranks, micro_batches, room: _first_fit(
            parameters, ranks, micro_batches, room, times=lambda m: (2, 2, 2, 3 * m)
        ),
        "stage_2_gathers_each": lambda parameters, ranks, micro_batches, room: _first_fit(
            parameters, ranks, micro_batches, room, times=lambda m: (2, 2, 2 * m, 3 * m)
        ),
        "stage_3_gathers_once": lambda parameters, ranks, micro_batches, room: _first_fit(
            parameters, ranks, micro_batches, room, times=lambda m: (2, 2, m + 1, m + 2)
        ),
        "one_micro_batch": lambda parameters, ranks, micro_batches, room: _first_fit(
            parameters, ranks, 1, room
        ),
        "stage_0_never": lambda parameters, ranks, micro_batches, room: _first_fit(
            parameters, ranks, micro_batches, room, (1, 2, 3)
        ),
        "exactly_refused": lambda parameters, ranks, micro_batches, room: _first_fit(
            parameters, ranks, micro_batches, room, fits=lambda held, room: held < room
        ),
        "room_ignored": lambda parameters, ranks, micro_batches, room: _first_fit(
            parameters, ranks, micro_batches, room, fits=lambda held, room: True
        ),
        "limit_of_many": _limit_of_many,
        "in_numbers": _in_numbers,
    },
    causes={
        "least_memory": "It is the stage that takes the least memory; one that sends less fits, "
        "too.",
        "one_micro_batch": "The micro-batches are not counted.",
        "each_times_m": "Every stage pays for each micro-batch; 0 and 1 send once a step, and 2 "
        "gathers once.",
        "stage_2_sends_once": "Stage 2 scatters once a step; it may not keep whole gradients, so "
        "it scatters in each micro-batch.",
        "stage_2_gathers_each": "Stage 2 gathers in each micro-batch; weights change once a step.",
        "stage_3_gathers_once": "Stage 3 gathers twice a step; it keeps no weights between "
        "micro-batches.",
        "stage_0_never": "Stage 0 is left out.",
        "exactly_refused": "What takes exactly the room fits, too.",
        "room_ignored": "The stage does not fit into the room.",
        "limit_of_many": "The factor (n - 1)/n is missing.",
        "in_numbers": "These are numbers sent, not bytes.",
    },
    hints={
        "least_memory": ("Is it memory that is to be small?", "Begin with stage 0."),
        "one_micro_batch": (
            "Which stages pay for each micro-batch?",
            "2 sends m + 1 times the weights, 3 sends 3 m times.",
        ),
        "each_times_m": (
            "What may stages 0 and 1 keep between micro-batches?",
            "Whole gradients: they send twice the weights, and 2 sends m + 1 times.",
        ),
        "stage_2_sends_once": (
            "What may stage 2 keep of a micro-batch's gradient?",
            "Its own rows only: m reduce-scatters and one all-gather.",
        ),
        "stage_2_gathers_each": (
            "When do the weights change?",
            "Once a step: m reduce-scatters and one all-gather.",
        ),
        "stage_3_gathers_once": (
            "What does stage 3 keep between two micro-batches?",
            "Shards only: two all-gathers and a reduce-scatter in each, 3 m.",
        ),
        "stage_0_never": ("What if all fits?", "Then it is stage 0: go through 0 to 3."),
        "exactly_refused": ("Is it < or <= ?", "Held <= room."),
        "room_ignored": (
            "How many bytes does a parameter take in each stage?",
            "16, 4 + 12 / n, 2 + 14 / n, 16 / n; and return None if none fits.",
        ),
        "limit_of_many": ("What does one rank alone send?", "Multiply by (ranks - 1) / ranks."),
        "in_numbers": ("How many bytes has a weight?", "Multiply by 2."),
        "no_return": (
            "Does a stage fit in the call that is named?",
            "Return (stage, bytes) inside the loop, and None only after it.",
        ),
    },
)  # fmt: skip

SPECS = [
    STAGE_BYTES, SHARDED_STEP, CLIPPED_SHARD, SCATTERED_GRADIENTS, CHEAPEST_STAGE, SHARDED_PASS,
]  # fmt: skip
