"""Specs of the lab t3_10_pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from ...fabric.schedules import (
    Deadlock,
    Pipelined,
    Schedule,
    ScheduleError,
    Times,
    faults,
    interleaved,
    simulate,
)
from ..cases import Level
from ..ranked import Limits, World, ranks_spec
from ..spec import FunctionSpec
from ..values import show

UNIT = "t3_10_pipeline"

Array = np.ndarray[Any, Any]
Found = tuple[str, str] | None
Orders = list[list[str]]


# -- pipeline_bill -----------------------------------------------------------------------------

Bill = tuple[float, float, float, int]


def bill_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, int, int]]:
    """(p, m, v): the lesson's sizes, two ranks, several chunks."""
    yield 4, 8, 1
    yield 2, 3, 1
    yield 4, 8, 2
    for _ in range(4 if level == "grader" else 2):
        p = int(rng.integers(3, 17))
        yield p, p * int(rng.integers(2, 9)), int(rng.integers(3, 7))


def bill(p: int, m: int, v: int) -> Bill:
    """Makespan, bubble over ideal, bubble over total, messages."""
    return _bill(m, 3 * (p - 1) / v, 2 * m * (p * v - 1))


def _bill(m: int, bubble: float, messages: int) -> Bill:
    ideal = 3 * m
    return ideal + bubble, bubble / ideal, bubble / (ideal + bubble), messages


def _exchanged(p: int, m: int, v: int) -> Bill:
    makespan, ideal, total, messages = bill(p, m, v)
    return makespan, total, ideal, messages


def _per_cent(p: int, m: int, v: int) -> Bill:
    makespan, ideal, total, messages = bill(p, m, v)
    return makespan, 100 * ideal, 100 * total, messages


PIPELINE_BILL = FunctionSpec(
    "pipeline_bill", UNIT, 2, bill_inputs, bill,
    suspects={
        "chunks_ignored": lambda p, m, v: bill(p, m, 1),
        "messages_of_one_chunk": lambda p, m, v: _bill(m, 3 * (p - 1) / v, 2 * m * (p - 1)),
        "messages_times_chunks": lambda p, m, v: _bill(
            m, 3 * (p - 1) / v, 2 * m * (p - 1) * v
        ),
        "forward_only": lambda p, m, v: _bill(m, 3 * (p - 1) / v, m * (p * v - 1)),
        "shares_exchanged": _exchanged,
        "in_per_cent": _per_cent,
        "one_rank_more": lambda p, m, v: _bill(m, 3 * p / v, 2 * m * (p * v - 1)),
        "backward_forgotten": lambda p, m, v: _bill(m, (p - 1) / v, 2 * m * (p * v - 1)),
    },
    causes={
        "chunks_ignored": "It is the bill of one chunk a rank, whatever v is.",
        "messages_of_one_chunk": "The messages are those of one chunk a rank.",
        "messages_times_chunks": "Messages are counted v times between neighbours; those from the "
        "last rank back to the first are missing.",
        "forward_only": "Only the messages of the forward passes are counted.",
        "shares_exchanged": "The two shares of the bubble are exchanged.",
        "in_per_cent": "The shares are in per cent.",
        "one_rank_more": "The bubble is counted for p ranks; the first pass of the first rank does "
        "not wait.",
        "backward_forgotten": "The bubble has forward passes alone; a backward wave comes back "
        "through the ranks, too.",
    },
    hints={
        "chunks_ignored": (
            "How long does the first pass of the last rank wait, if a chunk is 1/v of a stage?",
            "The bubble is 3 (p - 1) / v.",
        ),
        "messages_of_one_chunk": (
            "Through how many stages does a microbatch go?",
            "Through p v stages: p v - 1 messages each way.",
        ),
        "messages_times_chunks": (
            "Where is the stage that follows the last rank's first chunk?",
            "On rank 0: a message, too.  p v stages have p v - 1 steps between them.",
        ),
        "forward_only": ("What travels in a backward pass?", "Gradients: as many messages again."),
        "shares_exchanged": (
            "Which of the two is larger?",
            "First over the ideal time 3 m, then over the makespan.",
        ),
        "in_per_cent": ("What is the share of the example?", "Do not multiply by 100."),
        "one_rank_more": (
            "How long is the bubble for one rank?",
            "0: it is 3 (p - 1) / v, for p - 1 other ranks.",
        ),
        "backward_forgotten": (
            "How long is a forward and a backward pass together?",
            "1 + 2 = 3: the bubble is 3 (p - 1) / v.",
        ),
    },
)  # fmt: skip


# -- orders that the learner makes -------------------------------------------------------------


def listed(p: int, m: int, fits: Sequence[int], split: bool = False) -> Orders:
    """List scheduling: at each time a free rank runs a ready backward, else a forward that fits,
    else, where backward passes are split, a W that is left.

    F takes 1 and B takes 2; split, F, I and W take 1.
    """
    back = "I" if split else "B"
    orders: Orders = [[] for _ in range(p)]
    free = [0] * p
    done = [{"F": 0, back: 0, "W": 0} for _ in range(p)]
    end: dict[tuple[str, int, int], int] = {}
    last = "W" if split else back
    now = 0
    while min(one[last] for one in done) < m:
        chosen = []
        for rank in range(p):
            if free[rank] > now:
                continue
            f, b, w = done[rank].values()
            if b < f and _came(end, (back, b, rank + 1), rank == p - 1, now):
                chosen.append((rank, back))
            elif (
                f < m
                and f - (w if split else b) < fits[rank]
                and _came(end, ("F", f, rank - 1), rank == 0, now)
            ):
                chosen.append((rank, "F"))
            elif split and w < b:
                chosen.append((rank, "W"))
        for rank, kind in chosen:
            number = done[rank][kind]
            done[rank][kind] += 1
            free[rank] = end[kind, number, rank] = now + (2 if kind == "B" else 1)
            orders[rank].append(f"{kind}{number}")
        now += 1
    return orders


def _came(
    end: dict[tuple[str, int, int], int], cause: tuple[str, int, int], edge: bool, now: int
) -> bool:
    """Whether what a pass waits for is there; at the edge of the pipeline it waits for nobody."""
    return edge or end.get(cause, now + 1) <= now


def turning(p: int, m: int, ahead: Callable[[int], int]) -> Orders:
    """`ahead(rank)` forwards, then forward and backward in turn."""
    made = []
    for rank in range(p):
        first = min(m, ahead(rank))
        order = [f"F{k}" for k in range(first)]
        for k in range(m):
            order += [f"F{first + k}"] if first + k < m else []
            order.append(f"B{k}")
        made.append(order)
    return made


def waiting(p: int, m: int, fits: int) -> Orders:
    """Zero bubble, or as little as fits allows: W is put off for as long as memory is left.

    Rank r begins with p - 1 - r forwards and as many more as fits - p, at most twice as many.
    """
    made = []
    fits = min(fits, 2 * p - 1)  # more is of no use
    for rank in range(p):
        first = min(m, p - 1 - rank + min(p - 1 - rank, fits - p))
        late = fits - 1 - first
        order = [f"F{k}" for k in range(first)]
        for k in range(m):
            order += [f"F{first + k}"] if first + k < m else []
            order.append(f"I{k}")
            order += [f"W{k - late}"] if k >= late else []
        made.append([*order, *(f"W{k}" for k in range(max(0, m - late), m))])
    return made


def read(p: int, m: int, got: Any) -> tuple[str, str] | Schedule:
    """What the learner returned as a schedule that ends, or what keeps it from being one."""
    if not isinstance(got, list | tuple) or len(got) != p:
        size = f" with {len(got)} entries" if isinstance(got, list | tuple) else ""
        return "no_orders", f"it returned {show(got)}{size}; expected a list with {p} orders"
    for rank, order in enumerate(got):
        fits = isinstance(order, str) or (
            isinstance(order, list | tuple) and all(isinstance(one, str) for one in order)
        )
        if not fits:
            return "no_orders", (
                f"the order of rank {rank} is {show(order)}; expected a text such as 'F0 B0', "
                "or a list such as ['F0', 'B0']"
            )
        passes = len(order.split()) if isinstance(order, str) else len(order)
        if passes > 3 * m:
            return "no_schedule", (
                f"the order of rank {rank} has {passes} passes; {m} microbatches have at most "
                f"{3 * m}"
            )
    try:
        schedule = Schedule(got)
        wrong = faults(schedule, m)
        if wrong:
            more = f", and {len(wrong) - 1} more faults" if len(wrong) > 1 else ""
            return "no_schedule", wrong[0].rstrip(".") + more
        simulate(schedule)
    except Deadlock as stuck:
        lines = [
            f"{stand.task} {'stands behind' if stand.queued else 'waits for'} {stand.cause}"
            for stand in stuck.cycle
        ]
        shown = lines if len(lines) <= 6 else [*lines[:5], f"and so on, {len(lines)} in all"]
        return "deadlock", "these passes wait for each other for ever: " + "; ".join(shown)
    except ScheduleError as wrong_pass:
        return "no_schedule", str(wrong_pass).splitlines()[0].rstrip(".")
    return schedule


def _overfull(ran: Pipelined, fits: Sequence[int]) -> Found:
    for rank, (peak, most) in enumerate(zip(ran.peaks, fits, strict=True)):
        if peak > most:
            return "too_much_memory", (
                f"rank {rank} holds {peak:g} microbatches at once, and {most} fit"
            )
    return None


CAUSES = {
    "no_orders": "An answer is a list by rank, and each entry the passes of that rank in order.",
    "no_schedule": "Each rank has to run each pass of each microbatch once, F before its backward.",
    "deadlock": "Each order can be run for itself, but together they wait in a circle.",
}
HINTS = {
    "no_orders": (
        "What does the example return?",
        "A list of lists: orders[rank].append(f'F{k}').",
    ),
    "no_schedule": (
        "How often does each pass stand in the order that is named?",
        "For m = 2 write the order on paper, and compare.",
    ),
    "deadlock": (
        "Draw the passes that are named, with an arrow to what each waits for.",
        "A rank must not ask for a microbatch that the rank before has no room to begin.",
    ),
}


# -- fitted_order ------------------------------------------------------------------------------


def fitted_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, int, list[int]]]:
    """1F1B's memory, less than it, more than it; ranks with room behind ranks without."""
    yield 2, 3, [2, 1]
    yield 1, 2, [1]
    yield 3, 1, [2, 2, 2]
    yield 2, 4, [1, 2]
    yield 3, 3, [1, 2, 1]
    yield 3, 4, [2, 2, 2]
    yield 4, 8, [4, 3, 2, 1]
    yield 4, 8, [2, 2, 2, 2]
    yield 3, 7, [9, 9, 9]
    for _ in range(8 if level == "grader" else 2):
        p, m = int(rng.integers(2, 7)), int(rng.integers(3, 13))
        yield p, m, rng.integers(1, p + 2, p).tolist()


def _fitted(args: Sequence[Any], got: Any) -> Found:
    p, m, fits = args
    schedule = read(p, m, got)
    if isinstance(schedule, tuple):
        return schedule
    if any(one.kind not in "FB" for rank in range(p) for one in schedule.passes(rank)):
        return "no_schedule", "there are passes I or W; here a backward pass is one, B"
    ran = simulate(schedule)
    found = _overfull(ran, fits)
    if found:
        return found
    least = simulate(Schedule(listed(p, m, fits))).makespan
    if ran.makespan <= least:
        return None
    what = f"the makespan is {ran.makespan:g}, where the rule gives {least:g}"
    if p > 1 and ran.makespan == 3 * p * m:
        return "one_at_a_time", what
    small = [min(fits[: rank + 1]) - 1 for rank in range(p)]
    turns = simulate(Schedule(turning(p, m, lambda rank: min(p - 1 - rank, small[rank]))))
    return ("turns_only" if ran.makespan == turns.makespan else "too_long"), what


FITTED_ORDER = FunctionSpec(
    "fitted_order", UNIT, 4, fitted_inputs, listed, examine=_fitted, takes=("p", "m", "fits"),
    causes={
        **CAUSES,
        "too_much_memory": "A microbatch is held from its F to the end of its B.",
        "one_at_a_time": "One rank works at a time: nothing runs at the same time as anything.",
        "turns_only": "After the first forwards each rank takes strict turns, F and B.  Where "
        "memory is short, a rank then waits for an F that comes late, though a B is ready.",
        "too_long": "At some moment a rank idles, or runs an F, although a B is ready.",
    },
    hints={
        **HINTS,
        "too_much_memory": (
            "When does a rank have to stop running forwards?",
            "Run F only while (forwards begun) - (backwards ended) < fits[rank].",
        ),
        "too_slow": (
            "Does your time go on when no rank can start anything?",
            "time += 1 at the end of each round, and every B that is possible is begun: then all "
            "m come to their end.",
        ),
        "one_at_a_time": (
            "What can rank 0 do while microbatch 0 is on rank 1?",
            "At each time ask every free rank what it can start.",
        ),
        "turns_only": (
            "Let time go by in steps of 1. What would each rank start, if it looked at what is "
            "ready?",
            "Keep the end of each pass in a dictionary. A rank that is free runs B if the B of the "
            "next rank has ended, else F if it fits and the F of the rank before has ended.",
        ),
        "too_long": (
            "Which rank idles first, and what was ready then?",
            "B before F, and each as soon as the neighbour's pass has ended: end <= now.",
        ),
    },
)  # fmt: skip


# -- run_order ---------------------------------------------------------------------------------

GPIPE_SHUFFLED = ["F2", "F0", "F1", "B1", "B2", "B0"]


def order_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """One rank; microbatches out of order; 1F1B, where memory is counted; an uneven order."""
    yield _world(rng, 1, [["F1", "F0", "B0", "B1"]], 2, 3)
    yield _world(rng, 2, [GPIPE_SHUFFLED] * 2, 3, 2)
    yield _world(rng, 3, turning(3, 12, lambda rank: 2 - rank), 64, 4, memory=True)
    if level == "grader":
        yield _world(rng, 4, listed(4, 6, [2, 2, 2, 2]), 5, 3)


def _world(
    rng: np.random.Generator, p: int, orders: Orders, rows: int, h: int, memory: bool = False
) -> World:
    m = sum(one.startswith("F") for one in orders[0])
    inputs = [rng.standard_normal((rows, h)) for _ in range(m)]
    targets = [rng.standard_normal((rows, h)) for _ in range(m)]
    args = []
    for rank in range(p):
        # What a rank has no business with is not there.
        unknown = [np.full((rows, h), np.nan)] * m
        args.append(
            (
                orders[rank], rng.standard_normal((h, h)) * 0.8,
                inputs if rank == 0 else unknown, targets if rank == p - 1 else unknown,
            )
        )  # fmt: skip
    return World(tuple(args), memory=memory)


def _forwards(world: World) -> list[int]:
    return [int(one[1:]) for one in world.args[-1][0] if one.startswith("F")]


def gradients(
    world: World, targets_in_order: bool = False, own_slope_missing: bool = False
) -> list[list[tuple[float, Array]]]:
    """By rank, in the order of the last rank's forwards: loss and weight gradient of each."""
    p, found = world.ranks, []
    inputs, targets = world.args[0][2], world.args[-1][3]
    weights = [args[1] for args in world.args]
    for place, k in enumerate(_forwards(world)):
        xs = [inputs[k]]
        for weight in weights:
            xs.append(np.tanh(xs[-1] @ weight))
        target = targets[place if targets_in_order else k]
        error = xs[-1] - target
        dy = 2 * error / error.size / len(inputs)
        loss = float((error**2).mean() / len(inputs))
        each = []
        for rank in reversed(range(p)):
            inner = dy * (1 - xs[rank + 1] ** 2)
            each.append((loss, xs[rank].T @ inner))
            dy = dy if own_slope_missing else inner @ weights[rank].T
        found.append(each[::-1])
    return [[one[rank] for one in found] for rank in range(p)]


def _returned(
    world: World, by_rank: list[list[tuple[float, Array]]], scale: float = 1
) -> list[Any]:
    """What the ranks return: losses on the last, sums of gradients."""
    return [
        [
            [scale * loss for loss, _ in each] if rank == world.ranks - 1 else [],
            scale * np.sum([gradient for _, gradient in each], axis=0),
        ]
        for rank, each in enumerate(by_rank)
    ]


def _run(world: World) -> list[Any]:
    return _returned(world, gradients(world))


def _sorted_losses(world: World) -> list[Any]:
    """Losses by number of the microbatch."""
    right = _run(world)
    right[-1][0] = [right[-1][0][_forwards(world).index(k)] for k in range(len(right[-1][0]))]
    return right


def _loss_of_all(world: World) -> list[Any]:
    right = _run(world)
    return [[sum(losses), gradient] for losses, gradient in right]


def _overwritten(world: World) -> list[Any]:
    """The gradient of the last backward alone."""
    backward = int(world.args[0][0][-1][1:])
    at = _forwards(world).index(backward)
    return [
        [losses, each[at][1]]
        for (losses, _), each in zip(_run(world), gradients(world), strict=True)
    ]


def activation(world: World) -> int:
    """Bytes of what goes from one rank to the next for one microbatch."""
    return int(world.args[0][2][0].nbytes)


def busiest(world: World) -> int:
    """Bytes that the busiest rank sends: one in the middle each way, one at the end one way."""
    ways = min(world.ranks - 1, 2)
    return ways * len(world.args[0][2]) * activation(world)


#: Beside the p microbatches that are held, each x and y: what a pass makes and what is under way.
PASSING = 9


RUN_ORDER = ranks_spec(
    "run_order", UNIT, 4, order_worlds, _run, ("order", "weight", "inputs", "targets"),
    Limits(
        by_hand=True, most_bytes=busiest, least_bytes=busiest,
        most_held=lambda w: (
            (2 * w.ranks + PASSING) * activation(w) if w.memory else float("inf")
        ),
    ),
    suspects={
        "not_averaged": lambda world: _returned(
            world, gradients(world), scale=len(world.args[0][2])
        ),
        "targets_in_order": lambda world: _returned(
            world, gradients(world, targets_in_order=True)
        ),
        "losses_sorted": _sorted_losses,
        "losses_summed": _loss_of_all,
        "losses_everywhere": lambda world: [
            [_run(world)[-1][0], gradient] for _, gradient in _run(world)
        ],
        "overwritten": _overwritten,
        "wrong_gradient_sent": lambda world: _returned(
            world, gradients(world, own_slope_missing=True)
        ),
    },
    causes={
        "not_averaged": "Losses and gradients are m times too large: the whole batch's loss is the "
        "mean over its microbatches.",
        "targets_in_order": "A microbatch meets the target of another one: targets are taken by "
        "place in the order, not by number.",
        "losses_sorted": "The losses are right, in the order of their numbers, not in that in "
        "which they were run.",
        "losses_summed": "The losses are added up.",
        "losses_everywhere": "All ranks return losses; they are asked of the last one alone.",
        "overwritten": "Only the gradient of the last microbatch is left.",
        "wrong_gradient_sent": "The rank before got the gradient of this rank's output, not that "
        "of its input.",
        "too_much_held": "Activations are kept after their backward pass, or messages after they "
        "have gone; or all forwards run first.",
        "hang": "A rank waits in a send for one that waits in a send itself.",
    },
    hints={
        "not_averaged": (
            "How many microbatches make the batch?",
            "Divide each loss by len(inputs) before its backward.",
        ),
        "targets_in_order": (
            "Which number stands behind the letter F?",
            "Use inputs[k] and targets[k] with k = int(step[1:]).",
        ),
        "losses_sorted": (
            "Which microbatch did the last rank run first?",
            "Append each loss when its forward has run.",
        ),
        "losses_summed": ("What does the example return?", "A list with a loss for each forward."),
        "losses_everywhere": ("Who knows the losses?", "The last rank: others return []."),
        "overwritten": (
            "Does .grad of the weight grow from one backward to the next?",
            "backward() adds to weight.grad; do not set it to None, nor assign what grad() gives.",
        ),
        "wrong_gradient_sent": (
            "What does the chain rule ask for at the output of the rank before?",
            "x.grad of your input, with x.requires_grad_() set before the forward.",
        ),
        "too_much_held": (
            "When is the last time that you need a microbatch's x and y?",
            "Run the passes in the given order, and held.pop(k) in the backward. A message that "
            "was only started is held, too: wait() for it before the next pass, and let go of "
            "it.",
        ),
        "hang": (
            "Rank 0 sends an activation, and rank 1 at that moment sends a gradient. Who receives?",
            "Between two passes send what the last one made and receive what the next one needs in "
            "one dist.batch_isend_irecv, and wait for both.",
        ),
        "too_many_bytes": (
            "How many messages does a microbatch make at one border between ranks?",
            "One activation down, one gradient up, and nothing else.",
        ),
        "rank_failed": (
            "Is the failing rank the first or the last one?",
            "The first receives no activation and sends no gradient; the last sends no activation "
            "and receives no gradient.",
        ),
    },
)  # fmt: skip


# -- best_chunks -------------------------------------------------------------------------------


def chunk_inputs(
    rng: np.random.Generator, level: Level
) -> Iterator[tuple[int, int, int, float, float]]:
    """(p, m, layers, send, fits): free messages, dear ones, too little memory, 6 layers, ties."""
    yield 4, 8, 4, 0.0, 4.5
    yield 4, 8, 4, 0.0, 5.0
    yield 2, 4, 6, 0.0, 9.0
    yield 4, 8, 8, 0.25, 8.0
    yield 4, 8, 8, 0.1, 4.5
    yield 3, 9, 4, 0.13, 4.0
    yield 4, 4, 2, 2.0, 9.0
    yield 3, 3, 2, 0.75, 9.0  # 19.5 with either
    yield 3, 6, 4, 0.125, 9.0  # 22.25 with 2 and with 4: all sums are exact
    yield 4, 8, 4, 0.0, 3.0
    for _ in range(4 if level == "grader" else 2):
        p = int(rng.integers(2, 5))
        yield (
            p, p * int(rng.integers(1, 4)), int(rng.choice([4, 6])),
            round(float(rng.uniform(0.02, 0.3)), 2), float(p + rng.integers(0, 3)),
        )  # fmt: skip


@cache
def _tried(p: int, m: int, v: int, send: float) -> tuple[float, float]:
    """Makespan and peak."""
    ran = simulate(interleaved(p, m, v), Times(send=send))
    return round(ran.makespan, 9), ran.peak


def chunked(
    p: int,
    m: int,
    layers: int,
    send: float,
    fits: float,
    dividing: bool = True,
    larger: bool = False,
) -> int:
    """The divisor of `layers` with the shortest makespan of those that fit; 0 for none.

    Of equally fast ones the smaller, or the larger.
    """
    found = []
    for v in range(1, layers + 1):
        makespan, peak = _tried(p, m, v, send)
        if peak <= fits and not (dividing and layers % v):
            found.append((makespan, -v if larger else v))
    return abs(min(found)[1]) if found else 0


BEST_CHUNKS = FunctionSpec(
    "best_chunks", UNIT, 2, chunk_inputs, chunked, takes=("p", "m", "layers", "send", "fits"),
    suspects={
        "larger_of_equals": lambda p, m, layers, send, fits: chunked(
            p, m, layers, send, fits, larger=True
        ),
        "memory_ignored": lambda p, m, layers, send, fits: chunked(
            p, m, layers, send, float("inf")
        ),
        "messages_free": lambda p, m, layers, send, fits: chunked(p, m, layers, 0.0, fits),
        "most_chunks": lambda p, m, layers, send, fits: layers,
        "not_a_divisor": lambda p, m, layers, send, fits: chunked(
            p, m, layers, send, fits, dividing=False
        ),
        "one_when_none": lambda p, m, layers, send, fits: (
            chunked(p, m, layers, send, fits) or 1
        ),
    },
    causes={
        "memory_ignored": "It does not fit, or a choice that fits less well was taken: peak.",
        "messages_free": "Messages are taken as free: then the largest number of chunks that fits "
        "is the best.",
        "most_chunks": "It is one layer a chunk, whatever that costs.",
        "not_a_divisor": "The chunks of a rank have different numbers of layers.",
        "one_when_none": "Nothing fits, and 0 is asked for then.",
        "larger_of_equals": "Two choices are equally fast, and the one with more chunks was "
        "taken.",
    },
    hints={
        "memory_ignored": (
            "Which value of simulate says what is held?",
            "Leave out each v with simulate(...).peak > fits.",
        ),
        "messages_free": (
            "How does simulate know what a message costs?",
            "simulate(interleaved(p, m, v), Times(send=send)).",
        ),
        "most_chunks": (
            "What does a message cost, and what fits?",
            "Try each divisor of layers, and compare makespans of those that fit.",
        ),
        "not_a_divisor": (
            "How many layers has each chunk?",
            "Use v only where layers % v == 0.",
        ),
        "one_when_none": ("What does 1F1B hold?", "p microbatches: if fits is less, return 0."),
        "larger_of_equals": (
            "Which makespans do 1 and 2 chunks have in the case that is named?",
            "Go up through the divisors, and take another v only if its makespan is < the best "
            "so far, not <=.",
        ),
        "wrong_values": (
            "Print the makespan and the peak for each v of the case that is named.",
            "Take the least makespan of those v that divide layers and whose peak is at most fits.",
        ),
    },
)  # fmt: skip


# -- zero_bubble -------------------------------------------------------------------------------


def zero_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, int, int]]:
    """(p, m, fits): fits from p to more than 2 p - 1; one rank alone."""
    yield 2, 4, 2
    yield 1, 3, 1
    yield 2, 5, 3
    yield 4, 8, 4
    yield 4, 8, 7
    yield 4, 10, 5
    yield 3, 7, 9
    for _ in range(5 if level == "grader" else 1):
        p = int(rng.integers(3, 8))
        yield p, 2 * p + int(rng.integers(0, 6)), p + int(rng.integers(0, p))


def longest(ran: Pipelined) -> float:
    """The longest time from a rank's own first pass to its own last."""
    return max(ran.idle(rank) + ran.busy(rank) for rank in range(ran.schedule.ranks))


def least_span(p: int, m: int, fits: int) -> int:
    """3 m, and what rank 0 idles at least.

    Its first I ends a wave of p forwards and p - 1 other I: it begins at 2 p - 1, before which
    nothing but min(fits, m) forwards can run.
    """
    return 3 * m + max(0, 2 * p - 1 - min(fits, m))


def _zero(args: Sequence[Any], got: Any) -> Found:
    p, m, fits = args
    schedule = read(p, m, got)
    if isinstance(schedule, tuple):
        return schedule
    ran = simulate(schedule)
    found = _overfull(ran, [fits] * p)
    if found:
        return found
    span, least = longest(ran), least_span(p, m, fits)
    if span <= least:
        return None
    what = (
        f"a rank takes {span:g} from its first to its last pass; {least:g} is possible, {3 * m} "
        "of it work"
    )
    if not any(one.kind == "W" for rank in range(p) for one in schedule.passes(rank)):
        return "not_split", what
    known = {"memory_left": waiting(p, m, p), "greedy": listed(p, m, [fits] * p, split=True)}
    for slug, orders in known.items():
        if span == longest(simulate(Schedule(orders))):
            return slug, what
    return "too_long", what


ZERO_BUBBLE = FunctionSpec(
    "zero_bubble", UNIT, 4, zero_inputs, waiting, examine=_zero,
    causes={
        **CAUSES,
        "too_much_memory": "With split backward passes a microbatch is held until the end of its "
        "W.",
        "not_split": "No backward pass is split, so no W can fill a gap.",
        "greedy": "It is what greedy scheduling gives: a rank starts whatever is ready, so a "
        "forward that later ranks wait for comes after a backward that has time.",
        "memory_left": "It is the best in the memory of 1F1B; more fits.",
        "too_long": "Some rank idles, with a W at hand or a forward that could have come earlier.",
    },
    hints={
        **HINTS,
        "too_much_memory": (
            "When is a microbatch let go of?",
            "After its W: (forwards) - (W) is at most fits.",
        ),
        "not_split": (
            "Which two passes are a B?",
            "I, which the rank before waits for, and W, for which nobody waits.",
        ),
        "greedy": (
            "How many forwards does the last rank need before its first I?",
            "One. Fix for each rank how many forwards it begins with: p - 1 - rank in the memory "
            "of 1F1B; then F, I and W in turn, the W as many microbatches late as fit.",
        ),
        "memory_left": (
            "What can rank 0 run while it waits for its first I?",
            "More forwards: up to p - 1 - rank more on each rank, and no more than fits - p.",
        ),
        "too_long": (
            "Look at show_schedule(Schedule(...)): which rank idles, and what could it run?",
            "Rank 0 begins with as many forwards as fit, less one; rank r has fewer to begin with, "
            "and lets its W wait longer. Then F, I and W in turn, to the end.",
        ),
    },
)  # fmt: skip

SPECS = [PIPELINE_BILL, FITTED_ORDER, RUN_ORDER, BEST_CHUNKS, ZERO_BUBBLE]
