"""Specs of the lab t3_06_data_parallel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from ..cases import Level
from ..ranked import Limits, World, ranks_spec
from ..spec import FunctionSpec

UNIT = "t3_06_data_parallel"

Array = np.ndarray[Any, Any]
Plan = list[list[int]]


# -- step_bytes --------------------------------------------------------------------------------


def bytes_inputs(
    rng: np.random.Generator, level: Level
) -> Iterator[tuple[int, int, int, int, bool]]:
    """Few and many ranks, one alone; one micro-batch and several."""
    yield 1000, 4, 4, 4, False
    yield 1000, 4, 4, 4, True
    yield 500, 2, 1, 3, False
    yield 10**10, 2, 1024, 1, False
    for silent in (False, True):
        for _ in range(4 if level == "grader" else 2):
            yield (
                int(rng.integers(1, 10**6)), int(rng.choice([2, 4])), int(rng.integers(2, 65)),
                int(rng.integers(2, 17)), silent,
            )  # fmt: skip


def step_sent(
    parameters: int, itemsize: int, ranks: int, micro_batches: int, no_sync: bool
) -> float:
    """2 (n - 1)/n of all gradients, once a step or once a micro-batch."""
    times = 1 if no_sync else micro_batches
    return times * 2 * (ranks - 1) / ranks * parameters * itemsize


STEP_BYTES = FunctionSpec(
    "step_bytes", UNIT, 1, bytes_inputs, step_sent,
    suspects={
        "limit_of_many": lambda parameters, itemsize, ranks, micro_batches, no_sync: (
            2.0 * parameters * itemsize * (1 if no_sync else micro_batches)
        ),
        "always_once": lambda parameters, itemsize, ranks, micro_batches, no_sync: step_sent(
            parameters, itemsize, ranks, 1, True
        ),
        "always_each": lambda parameters, itemsize, ranks, micro_batches, no_sync: step_sent(
            parameters, itemsize, ranks, micro_batches, False
        ),
        "no_sync_exchanged": lambda parameters, itemsize, ranks, micro_batches, no_sync: step_sent(
            parameters, itemsize, ranks, micro_batches, not no_sync
        ),
        "one_half": lambda parameters, itemsize, ranks, micro_batches, no_sync: (
            step_sent(parameters, itemsize, ranks, micro_batches, no_sync) / 2
        ),
        "in_numbers": lambda parameters, itemsize, ranks, micro_batches, no_sync: step_sent(
            parameters, 1, ranks, micro_batches, no_sync
        ),
    },
    causes={
        "limit_of_many": "The factor (n - 1)/n is missing.",
        "always_once": "One all-reduce a step is counted, also without no_sync.",
        "always_each": "An all-reduce is counted for each micro-batch, also under no_sync.",
        "no_sync_exchanged": "The two cases of no_sync are exchanged.",
        "one_half": "An all-reduce is two operations; one is counted.",
        "in_numbers": "These are numbers, not bytes.",
    },
    hints={
        "limit_of_many": ("What does one rank alone send?", "Multiply by (ranks - 1) / ranks."),
        "always_once": (
            "When does an all-reduce happen without no_sync?",
            "After each micro-batch: multiply by micro_batches.",
        ),
        "always_each": (
            "What travels under no_sync?",
            "Only the last micro-batch has an all-reduce: count it once.",
        ),
        "no_sync_exchanged": ("Does no_sync save calls or add them?", "With it: once a step."),
        "one_half": ("What does the 2 stand for in section 3?", "Multiply by 2."),
        "in_numbers": ("How many bytes has a gradient?", "Multiply by itemsize."),
    },
)  # fmt: skip


# -- bucket_plan -------------------------------------------------------------------------------

Parameters = list[list[Any]]


def plan_inputs(
    rng: np.random.Generator, level: Level
) -> Iterator[tuple[list[tuple[str, int]], int]]:
    """Rests, parameters above the cap, tied ones; no parameter at all."""
    yield [("a", 8), ("b", 4), ("c", 4), ("d", 2), ("e", 8), ("f", 1)], 8
    yield [("a", 4), ("b", 4), ("c", 4), ("d", 4)], 8
    yield [("in", 6), ("b", 2), ("c", 5), ("d", 3), ("in", 6)], 8
    yield [("a", 100), ("b", 1), ("c", 100)], 10
    yield [("a", 3), ("b", 8)], 8
    yield [], 5
    for _ in range(4 if level == "grader" else 2):
        count = int(rng.integers(6, 12))
        names = [f"p{k}" for k in range(count)]
        rows = [(name, int(rng.integers(1, 30))) for name in names]
        yield [*rows, rows[int(rng.integers(count // 2))]], int(rng.integers(15, 50))


def _first_places(parameters: Parameters) -> Parameters:
    sizes: dict[str, int] = {}
    for name, size in parameters:
        sizes.setdefault(name, size)
    return [[name, size] for name, size in sizes.items()]


def _filled(parameters: Parameters, cap: int, before: bool = False) -> list[list[str]]:
    """`parameters` in their order; before: a bucket is closed before it would exceed the cap."""
    buckets: list[list[str]] = []
    held = 0
    for name, size in parameters:
        if not buckets or (held + size > cap if before else held >= cap):
            buckets.append([])
            held = 0
        buckets[-1].append(name)
        held += size
    return buckets


def bucketed(parameters: Parameters, cap: int) -> list[list[str]]:
    """Each storage once, at its first place; the list reversed; buckets closed when full."""
    return _filled(_first_places(parameters)[::-1], cap)


def _rest_lost(parameters: Parameters, cap: int) -> list[list[str]]:
    """A last bucket that never became full is missing."""
    sizes = {str(name): int(size) for name, size in parameters}
    return [names for names in bucketed(parameters, cap) if sum(sizes[n] for n in names) >= cap]


def _empty_at_the_end(parameters: Parameters, cap: int) -> list[list[str]]:
    """A new bucket is opened as soon as one is full, or before there is any parameter."""
    sizes = {str(name): int(size) for name, size in parameters}
    filled = bucketed(parameters, cap)
    full = not filled or sum(sizes[name] for name in filled[-1]) >= cap
    return [*filled, []] if full else filled


def _strictly_fuller(parameters: Parameters, cap: int) -> list[list[str]]:
    return _filled(_first_places(parameters)[::-1], cap + 1)


BUCKET_PLAN = FunctionSpec(
    "bucket_plan", UNIT, 2, plan_inputs, bucketed,
    suspects={
        "forward_order": lambda parameters, cap: _filled(_first_places(parameters), cap),
        "last_place": lambda parameters, cap: _filled(_first_places(parameters[::-1]), cap),
        "tied_twice": lambda parameters, cap: _filled(parameters[::-1], cap),
        "closed_early": lambda parameters, cap: _filled(
            _first_places(parameters)[::-1], cap, before=True
        ),
        "closed_late": _strictly_fuller,
        "each_alone": lambda parameters, cap: [[n] for n, _ in _first_places(parameters)[::-1]],
        "rest_lost": _rest_lost,
        "empty_bucket": _empty_at_the_end,
        "turned_at_the_end": lambda parameters, cap: _filled(_first_places(parameters), cap)[::-1],
    },
    causes={
        "forward_order": "The buckets are filled from the first parameter on.",
        "last_place": "A tied parameter stands at its last place; its gradient comes with the "
        "first.",
        "tied_twice": "A tied parameter is in two places; its gradient comes once.",
        "closed_early": "A bucket is closed before it would exceed the cap, so that it is not "
        "full.",
        "closed_late": "A bucket with exactly cap bytes is still filled up.",
        "each_alone": "Each parameter has a bucket of its own.",
        "rest_lost": "The last bucket is missing where it does not become full.",
        "empty_bucket": "The last bucket is empty.",
        "turned_at_the_end": "The buckets are filled forwards, and only their list is reversed.",
    },
    hints={
        "forward_order": (
            "Which gradient comes first?",
            "The last parameter's: go through the list backwards.",
        ),
        "last_place": (
            "When is the gradient of a tied parameter whole?",
            "Drop the later places first, and reverse then.",
        ),
        "tied_twice": (
            "How often does the hook of a tied parameter run?",
            "Keep each name only once, at its first place.",
        ),
        "closed_early": (
            "May a bucket be larger than the cap?",
            "Yes: open a new one only when the current one holds cap bytes or more.",
        ),
        "closed_late": ("Is a bucket with exactly cap bytes full?", "Yes: use >=, not >."),
        "each_alone": ("What is the cap for?", "Fill a bucket until it holds cap bytes."),
        "rest_lost": (
            "What happens to parameters that do not fill a bucket?",
            "They make the last bucket, however small.",
        ),
        "empty_bucket": (
            "When is a new bucket needed?",
            "Open it only when there is a parameter to put in.",
        ),
        "turned_at_the_end": (
            "In which order do the parameters of one bucket come?",
            "Reverse the parameters before the buckets are filled.",
        ),
    },
)  # fmt: skip


# -- whole_gradients ---------------------------------------------------------------------------


def gradient_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """Unequal rows; parameters used by some ranks, by none; a rank without rows."""
    shapes = [(2, 3), (3,), (1, 2)]
    worlds = [((3, 1), (0b101, 0b111)), ((3, 1, 2), (0b101, 0b111, 0b001))]
    if level == "grader":
        worlds += [((4, 0), (0b101, 0b000)), ((1, 2, 3, 4), (0b001, 0b011, 0b001, 0b011))]
    for rows, used in worlds:
        args = []
        for count, mask in zip(rows, used, strict=True):
            weights = [rng.random(shape) for shape in shapes]
            gradients = [
                rng.random(shape) + 1 if mask >> k & 1 else None for k, shape in enumerate(shapes)
            ]
            args.append((weights, gradients, count))
        yield World(tuple(args))


def _weighted(world: World, weights: Sequence[float]) -> list[list[Array]]:
    """On every rank: gradients of all ranks with these weights; None counts as zero."""
    shapes = [w.shape for w in world.args[0][0]]
    total = [np.zeros(shape) for shape in shapes]
    for (_, gradients, _), weight in zip(world.args, weights, strict=True):
        for k, gradient in enumerate(gradients):
            if gradient is not None:
                total[k] = total[k] + weight * gradient
    return [total] * world.ranks


def _rows(world: World) -> list[int]:
    return [rows for _, _, rows in world.args]


def whole(world: World) -> list[list[Array]]:
    """The gradient of the mean over all rows."""
    return _weighted(world, [rows / sum(_rows(world)) for rows in _rows(world)])


def _users_only(world: World) -> list[list[Array]]:
    """Each parameter's mean over the rows of the ranks that used it."""
    total = whole(world)[0]
    means = []
    for k, value in enumerate(total):
        used = sum(rows for _, gradients, rows in world.args if gradients[k] is not None)
        means.append(value * sum(_rows(world)) / used if used else value)
    return [means] * world.ranks


def _all_bytes(world: World) -> float:
    """All gradients and one number more, of 8 bytes each."""
    return 8.0 * (sum(w.size for w in world.args[0][0]) + 1)


WHOLE_GRADIENTS = ranks_spec(
    "whole_gradients", UNIT, 3, gradient_worlds, whole, ("weights", "gradients", "rows"),
    Limits(
        most_rounds=lambda w: 1,
        most_wire=lambda w: 2 * (w.ranks - 1) / w.ranks * _all_bytes(w),
    ),
    suspects={
        "mean_of_means": lambda world: _weighted(world, [1 / world.ranks] * world.ranks),
        "users_only": _users_only,
        "none_left": lambda world: [
            [
                None if own is None else mean
                for mean, own in zip(whole(world)[0], args[1], strict=True)
            ]
            for args in world.args
        ],
        "not_divided": lambda world: _weighted(world, [float(rows) for rows in _rows(world)]),
        "plain_sum": lambda world: _weighted(world, [1.0] * world.ranks),
        "divided_by_ranks": lambda world: _weighted(
            world, [rows / world.ranks for rows in _rows(world)]
        ),
    },
    causes={
        "mean_of_means": "All ranks count the same, whatever the number of their rows.",
        "users_only": "A parameter is divided by the rows of the ranks that used it; the mean is "
        "over all rows.",
        "none_left": "Ranks that did not use a parameter return None for it; all make the same "
        "step.",
        "not_divided": "It is the sum over rows, not yet the mean.",
        "plain_sum": "The means of all ranks are added up.",
        "divided_by_ranks": "The sum over rows is divided by the number of ranks.",
        "too_many_rounds": "More calls than one are made.",
        "too_many_bytes": "More travels than all gradients and one number.",
    },
    hints={
        "hang": (
            "Do all ranks call the same collectives with as many numbers?",
            "A gradient that is None counts as zeros of its weight's shape, also on a rank without "
            "rows.",
        ),
        "rank_failed": (
            "Which gradients can be None?",
            "Put torch.zeros_like(weight) in their place before torch.cat.",
        ),
        "mean_of_means": (
            "What counts more, 3 rows or 1?",
            "Multiply each gradient by rows, add up, and divide by the rows of all ranks.",
        ),
        "users_only": (
            "What is the gradient of rows that do not use a parameter?",
            "Zero, and they are rows all the same: divide by the rows of all ranks.",
        ),
        "none_left": (
            "What would happen to the weights if only some ranks updated them?",
            "Return the mean gradient on every rank, also where the own one is None.",
        ),
        "not_divided": (
            "What was the loss, a sum or a mean?",
            "Divide by the rows of all ranks: they travel in the same call.",
        ),
        "plain_sum": ("What was the loss?", "Weigh by rows, and divide by all rows."),
        "divided_by_ranks": (
            "How many rows does the sum stand for?",
            "Let rows travel in the same call, and divide by their sum.",
        ),
        "too_many_rounds": (
            "How can several arrays travel in one call?",
            "torch.cat of all flattened gradients, and rows as one number more.",
        ),
        "wrong_type": (
            "Which shape has each gradient?",
            "Split the flat sum, and give each part the shape of its weight: part.view_as(weight).",
        ),
    },
)  # fmt: skip


# -- trained -----------------------------------------------------------------------------------


def training_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """Every rank has other start weights; one micro-batch, and several; one step, and several."""
    cases = [(2, 3, 2), (3, 2, 3)] + ([(2, 1, 4), (4, 4, 1)] if level == "grader" else [])
    for n, micro, steps in cases:
        lr = round(float(rng.uniform(0.02, 0.1)), 3)
        yield World(
            tuple(
                (rng.random(4) + rank, rng.random((micro, 3, 4)), rng.random((micro, 3)), lr, steps)
                for rank in range(n)
            )
        )


def _grad(w: Array, x: Array, y: Array) -> Array:
    """Of the mean squared error of x @ w - y over a micro-batch."""
    return np.asarray(2 * x.T @ (x @ w - y) / len(y))


def in_one_process(world: World, times: float = 1.0) -> list[Array]:
    """Rank 0's start, all micro-batches of all ranks in each step; times: factor of the step."""
    w, lr, steps = world.args[0][0], *world.args[0][3:]
    for _ in range(steps):
        each = [
            _grad(w, x, y) for _, xs, ys, _, _ in world.args for x, y in zip(xs, ys, strict=True)
        ]
        w = w - lr * times * np.mean(each, axis=0)
    return [w] * world.ranks


def _own_starts(world: World) -> list[Array]:
    """All gradients are averaged; the weights are each rank's own."""
    weights = [args[0] for args in world.args]
    lr, steps = world.args[0][3:]
    for _ in range(steps):
        each = [
            _grad(w, x, y)
            for w, (_, xs, ys, _, _) in zip(weights, world.args, strict=True)
            for x, y in zip(xs, ys, strict=True)
        ]
        weights = [w - lr * np.mean(each, axis=0) for w in weights]
    return weights


def _summed_again(world: World, alike: bool) -> list[Array]:
    """The broken program: the sum is summed again after each micro-batch."""
    n = world.ranks
    weights = [world.args[0][0] if alike else args[0] for args in world.args]
    micro = len(world.args[0][1])
    lr, steps = world.args[0][3:]
    for _ in range(steps):
        held = np.zeros_like(weights[0])
        for k in range(micro):
            held = n * held + sum(
                _grad(w, args[1][k], args[2][k])
                for w, args in zip(weights, world.args, strict=True)
            )
        weights = [w - lr * held / (n * micro) for w in weights]
    return weights


def _alone(world: World, alike: bool) -> list[Array]:
    out = []
    for args in world.args:
        one = World((((world.args[0] if alike else args)[0], *args[1:]),))
        out.append(in_one_process(one)[0])
    return out


def _step_each_micro(world: World) -> list[Array]:
    """The weights change after each micro-batch."""
    w, lr, steps = world.args[0][0], *world.args[0][3:]
    micro = len(world.args[0][1])
    for _ in range(steps):
        for k in range(micro):
            each = [_grad(w, args[1][k], args[2][k]) for args in world.args]
            w = w - lr * np.mean(each, axis=0) / micro
    return [w] * world.ranks


def _one_broadcast(world: World) -> float:
    nbytes, steps = world.args[0][0].nbytes, world.args[0][4]
    return nbytes + steps * 2 * (world.ranks - 1) / world.ranks * nbytes


TRAINED = ranks_spec(
    "trained", UNIT, 3, training_worlds, in_one_process, ("w", "x", "y", "lr", "steps"),
    Limits(most_rounds=lambda w: 1 + w.args[0][4], most_wire=_one_broadcast),
    suspects={
        "as_broken": lambda world: _summed_again(world, alike=False),
        "own_starts": _own_starts,
        "summed_again": lambda world: _summed_again(world, alike=True),
        "not_averaged": lambda world: _alone(world, alike=True),
        "alone": lambda world: _alone(world, alike=False),
        "weights_averaged": lambda world: (
            [np.mean(_alone(world, alike=True), axis=0)] * world.ranks
        ),
        "step_each_micro": _step_each_micro,
        "last_micro_only": lambda world: in_one_process(
            World(tuple((w, x[-1:], y[-1:], *rest) for w, x, y, *rest in world.args))
        ),
        "not_divided_by_ranks": lambda world: in_one_process(world, world.ranks),
        "not_divided_by_micro": lambda world: in_one_process(world, len(world.args[0][1])),
        "start_averaged": lambda world: in_one_process(
            World(
                tuple(
                    (np.mean([one[0] for one in world.args], axis=0), *args[1:])
                    for args in world.args
                )
            )
        ),
    },
    causes={
        "as_broken": "It does what the broken program does.",
        "own_starts": "Each rank starts from its own weights; they stay apart for ever.",
        "summed_again": "What was summed over the ranks is summed over the ranks again.",
        "not_averaged": "Each rank trains on its own micro-batches.",
        "alone": "Each rank trains alone, from its own start.",
        "weights_averaged": "Each rank trains alone, and the weights are averaged at the end; the "
        "gradients of each step are to be.",
        "step_each_micro": "The weights change after each micro-batch; a step comes after all.",
        "last_micro_only": "Only the gradient of the last micro-batch counts.",
        "not_divided_by_ranks": "The step is too large by the number of ranks.",
        "not_divided_by_micro": "The step is too large by the number of micro-batches.",
        "start_averaged": "The start is the mean of all start weights; rank 0's are asked for.",
        "too_many_rounds": "An all-reduce follows each micro-batch; one a step is enough.",
        "too_many_bytes": "More travels than the weights once and the gradients once a step.",
    },
    hints={
        "as_broken": (
            "Which two lines of sections 2 and 3 of the lesson are missing?",
            "Broadcast w first, and all-reduce once a step, after the loop over micro-batches.",
        ),
        "own_starts": (
            "What is the first thing that a data parallel program does?",
            "dist.broadcast(w, src=0) before the first step.",
        ),
        "summed_again": (
            "What does gradient hold when the second micro-batch begins?",
            "Move the all-reduce behind the loop over micro-batches.",
        ),
        "not_averaged": (
            "Who tells the other ranks your gradient?",
            "dist.all_reduce(gradient) before each update.",
        ),
        "alone": ("Which collectives does it call?", "A broadcast, then an all-reduce a step."),
        "weights_averaged": (
            "At which weights does a rank compute its second gradient?",
            "All-reduce the gradient in each step, before the update.",
        ),
        "step_each_micro": (
            "How many updates has a step?",
            "One: add up the gradients of all micro-batches first.",
        ),
        "last_micro_only": ("How many micro-batches are there?", "Add up their gradients: +=."),
        "not_divided_by_ranks": ("Sum or mean?", "Divide by the world size as well."),
        "not_divided_by_micro": ("How many gradients were added?", "Divide by len(x) as well."),
        "start_averaged": ("Whose weights are asked for?", "dist.broadcast(w, src=0)."),
        "too_many_rounds": (
            "Which of the all-reduces does the update need?",
            "Only one, of the sum over all micro-batches; a broadcast only before the first step.",
        ),
    },
)  # fmt: skip


# -- exposed_time and best_plan ----------------------------------------------------------------


def _reversed_plan(lengths: Sequence[int]) -> Plan:
    """Buckets of so many layers each, the last layer first."""
    layers = list(range(sum(lengths)))[::-1]
    ends = list(accumulate(lengths))
    return [layers[end - length : end] for end, length in zip(ends, lengths, strict=True)]


def _ready(backward: Sequence[float]) -> list[float]:
    """When each layer's gradient is there: the last layer comes first."""
    return list(accumulate(backward[::-1]))[::-1]


def ends_at(
    backward: Sequence[float], nbytes: Sequence[float], plan: Plan, latency: float, per_byte: float
) -> float:
    """When the last all-reduce is done: one at a time, in order, each when its gradients are."""
    ready = _ready(backward)
    free = 0.0
    for bucket in plan:
        start = max(free, *(ready[layer] for layer in bucket))
        free = start + latency + per_byte * sum(nbytes[layer] for layer in bucket)
    return free


def exposed(
    backward: Sequence[float], nbytes: Sequence[float], plan: Plan, latency: float, per_byte: float
) -> float:
    """What the network does after the last backward pass."""
    return ends_at(backward, nbytes, plan, latency, per_byte) - sum(backward)


def _no_queue(backward: Any, nbytes: Any, plan: Plan, latency: float, per_byte: float) -> float:
    alone = [ends_at(backward, nbytes, [bucket], latency, per_byte) for bucket in plan]
    return max(alone) - sum(backward)


def _layer_early(backward: Any, nbytes: Any, plan: Plan, latency: float, per_byte: float) -> float:
    """A gradient is there when the layer's own backward pass begins."""
    ready, free = [*_ready(backward)[1:], 0.0], 0.0
    for bucket in plan:
        start = max(free, *(ready[layer] for layer in bucket))
        free = start + latency + per_byte * sum(nbytes[layer] for layer in bucket)
    return free - sum(backward)


def _at_first(backward: Any, nbytes: Any, plan: Plan, latency: float, per_byte: float) -> float:
    """A bucket starts with the first of its gradients."""
    ready, free = _ready(backward), 0.0
    for bucket in plan:
        start = max(free, min(ready[layer] for layer in bucket))
        free = start + latency + per_byte * sum(nbytes[layer] for layer in bucket)
    return max(0.0, free - sum(backward))


def _network(nbytes: Any, plan: Plan, latency: float, per_byte: float) -> float:
    return float(sum(latency + per_byte * sum(nbytes[i] for i in bucket) for bucket in plan))


def exposed_inputs(
    rng: np.random.Generator, level: Level
) -> Iterator[tuple[list[float], list[float], Plan, float, float]]:
    """A network that is never late, one that always is, and mixed; unequal layers."""
    yield [2.0, 2.0, 2.0], [10.0, 10.0, 10.0], [[2], [1], [0]], 0.5, 0.05
    yield [1.0, 1.0, 1.0], [15.0, 10.0, 60.0], [[2], [1], [0]], 0.4, 0.05
    yield [1.0, 1.0, 1.0, 1.0], [10.0] * 4, [[3, 2], [1, 0]], 1.0, 0.1
    yield [1.0, 2.0, 3.0, 4.0], [40.0, 10.0, 20.0, 90.0], [[3], [2, 1], [0]], 0.5, 0.1
    yield [3.0], [8.0], [[0]], 0.0, 0.25
    for _ in range(5 if level == "grader" else 2):
        lengths = [int(k) for k in rng.integers(1, 4, int(rng.integers(2, 5)))]
        count = sum(lengths)
        yield (
            [round(t, 3) for t in rng.uniform(0.5, 3, count).tolist()],
            [round(s, 1) for s in rng.uniform(5, 60, count).tolist()],
            _reversed_plan(lengths), 0.5, float(rng.choice([0.02, 0.05, 0.1])),
        )  # fmt: skip


EXPOSED_TIME = FunctionSpec(
    "exposed_time", UNIT, 2, exposed_inputs, exposed,
    suspects={
        "no_overlap": lambda backward, nbytes, plan, latency, per_byte: _network(
            nbytes, plan, latency, per_byte
        ),
        "makespan": ends_at,
        "one_layer_early": _layer_early,
        "no_queue": _no_queue,
        "at_first_gradient": _at_first,
        "last_bucket_only": lambda backward, nbytes, plan, latency, per_byte: _network(
            nbytes, plan[-1:], latency, per_byte
        ),
        "difference_of_sums": lambda backward, nbytes, plan, latency, per_byte: max(
            0.0, _network(nbytes, plan, latency, per_byte) - sum(backward)
        ),
        "one_latency": lambda backward, nbytes, plan, latency, per_byte: (
            exposed(backward, nbytes, plan, 0.0, per_byte) + latency
        ),
    },
    causes={
        "no_overlap": "It is all of the communication, as if it began at the end; the last layer's "
        "gradient comes first.",
        "makespan": "It is the end of the last all-reduce, computing included.",
        "one_layer_early": "A gradient is taken to be there when its backward pass begins.",
        "no_queue": "All-reduces run at the same time; the network does one after the other.",
        "at_first_gradient": "A bucket starts with the first of its gradients; it needs all.",
        "last_bucket_only": "Only the last bucket is counted; earlier ones may be late, too.",
        "difference_of_sums": "It is communication minus computing; but the last bucket cannot "
        "start before the end.",
        "one_latency": "The latency is counted once; each bucket pays it.",
    },
    hints={
        "no_overlap": (
            "When can the first bucket start?",
            "As soon as all its gradients are there; follow the clock of the network.",
        ),
        "makespan": ("How long does the backward pass take?", "Subtract sum(backward)."),
        "one_layer_early": (
            "When is the last layer's gradient there?",
            "After its own backward pass: sum(backward[i:]), with layer i itself.",
        ),
        "no_queue": (
            "What does the network do when bucket 1 becomes full?",
            "It may still carry bucket 0: start at the later of the two times.",
        ),
        "at_first_gradient": (
            "When is a bucket full?",
            "With the last of its gradients: the largest of their times.",
        ),
        "last_bucket_only": (
            "What if the network is still busy when the last bucket is full?",
            "Follow the clock through all buckets.",
        ),
        "difference_of_sums": (
            "What can the network do while nothing is ready yet?",
            "Nothing: follow its clock from bucket to bucket.",
        ),
        "one_latency": ("How many calls are there?", "Add the latency for each bucket."),
    },
)  # fmt: skip


def best_inputs(
    rng: np.random.Generator, level: Level
) -> Iterator[tuple[list[float], list[float], float, float]]:
    """Equal layers with dear and cheap calls, one layer, unequal ones."""
    yield [1.0] * 4, [10.0] * 4, 1.0, 0.1
    yield [2.0], [10.0], 0.5, 0.1
    yield [0.5] * 9, [5.0] * 9, 0.3, 0.07
    yield [3.0] * 5, [1.0] * 5, 0.1, 0.1
    yield [0.1] * 6, [5.0] * 6, 2.0, 0.1
    for _ in range(6 if level == "grader" else 3):
        count = int(rng.integers(8, 13))
        yield (
            [round(t, 3) for t in rng.uniform(0.3, 1.5, count).tolist()],
            [round(s, 1) for s in rng.uniform(2, 20, count).tolist()],
            float(rng.choice([0.3, 0.6, 1.0])), 0.07,
        )  # fmt: skip


def best_plan(
    backward: Sequence[float], nbytes: Sequence[float], latency: float, per_byte: float
) -> Plan:
    """The buckets whose last all-reduce ends first.

    Done early with the first layers is never worse for the rest: the best end for the last k layers
    is the best over the length of their last bucket.
    """
    count, ready = len(backward), _ready(backward)
    best: list[tuple[float, list[int]]] = [(0.0, [])]
    for k in range(1, count + 1):
        first = count - k  # the layer whose gradient comes k-th
        options = []
        for length in range(1, k + 1):
            end, lengths = best[k - length]
            size = sum(nbytes[first : first + length])
            options.append((max(end, ready[first]) + latency + per_byte * size, [*lengths, length]))
        best.append(min(options))
    return _reversed_plan(best[count][1])


def _is_plan(plan: Any, count: int) -> bool:
    if not isinstance(plan, list) or not all(isinstance(b, list) and b for b in plan):
        return False
    flat = [layer for bucket in plan for layer in bucket]
    if any(isinstance(layer, bool) or not isinstance(layer, int) for layer in flat):
        return False
    # Within a bucket the order does not matter.
    return [layer for b in plan for layer in sorted(b, reverse=True)] == list(range(count))[::-1]


def _best(args: Sequence[Any], got: Any) -> tuple[str, str] | None:
    backward, nbytes, latency, per_byte = args
    count = len(backward)
    if not _is_plan(got, count):
        flat = (
            sorted(str(i) for b in got if isinstance(b, list) for i in b)
            if isinstance(got, list)
            else []
        )
        if flat == sorted(str(i) for i in range(count)) and all(got):
            return "order", f"{got} does not go from layer {count - 1} down to layer 0"
        return "no_plan", f"{got!r:.120} is no list of lists with each layer once"
    least = exposed(backward, nbytes, best_plan(*args), latency, per_byte)
    mine = exposed(backward, nbytes, got, latency, per_byte)
    if mine <= least + 1e-9:
        return None
    said = f"{mine:.5g} ms are exposed; {least:.5g} are possible"
    lengths = [len(bucket) for bucket in got]
    if len(got) == 1:
        return "one_bucket", said
    if max(lengths) == 1:
        return "each_alone", said
    if len({*lengths[:-1]}) == 1 and lengths[-1] <= lengths[0]:
        return "equal_counts", said
    return "not_least", said


BEST_BUCKETS = FunctionSpec(
    "best_buckets", UNIT, 3, best_inputs, best_plan, examine=_best,
    causes={
        "no_plan": "Each layer has to be in one bucket.",
        "order": "The gradients come from the last layer to the first, and so do the buckets.",
        "one_bucket": "All gradients wait for the end of the backward pass.",
        "each_alone": "Each layer pays the latency.",
        "equal_counts": "All buckets have the same number of layers; unequal ones are better here.",
        "not_least": "There are other buckets that end earlier.",
    },
    hints={
        "no_plan": ("What does a plan look like?", "A list of lists, such as [[3, 2], [1, 0]]."),
        "order": ("Which gradient comes first?", "Begin with the last layer."),
        "one_bucket": ("What could travel during the backward pass?", "Cut the bucket."),
        "each_alone": ("Is the network faster than the backward pass?", "Put layers together."),
        "equal_counts": (
            "Which bucket can never be hidden?",
            "The last: it should be small; earlier ones may be large.  Try all ways to cut.",
        ),
        "not_least": (
            "Suppose the best end for the first k gradients were known. Which is the next bucket?",
            "best[k] = min over the length of the last bucket of max(best[k - length], ready) + "
            "latency + per_byte * bytes.",
        ),
    },
)  # fmt: skip

SPECS = [STEP_BYTES, BUCKET_PLAN, WHOLE_GRADIENTS, TRAINED, EXPOSED_TIME, BEST_BUCKETS]
