"""Specs of the lab t3_05_deadlocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..cases import Level
from ..ranked import Limits, World, ranks_spec
from ..spec import FunctionSpec

UNIT = "t3_05_deadlocks"

Array = np.ndarray[Any, Any]
Logs = list[list[str]]

CALLS = ("all_reduce", "broadcast", "all_gather", "reduce_scatter", "barrier")


# -- first_difference --------------------------------------------------------------------------


def log_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[Logs]]:
    """No difference; a call left out, exchanged, too much; a log that ends; two ranks at fault."""
    for n, length in ((3, 3), (5, 6)) + (((7, 9),) if level == "grader" else ()):
        # Neighbours differ, so that a call left out shows at once.
        steps = rng.integers(1, len(CALLS), length)
        right = [CALLS[k] for k in np.cumsum(steps) % len(CALLS)]
        yield ([list(right) for _ in range(n)],)
        for fault in ("left_out", "exchanged", "added", "ended", "two"):
            logs = [list(right) for _ in range(n)]
            rank, place = int(rng.integers(n)), int(rng.integers(length - 1))
            rank = 0 if fault == "left_out" else rank
            if fault == "left_out":
                del logs[rank][place]
            elif fault == "exchanged":
                log = logs[rank]
                log[place], log[place + 1] = log[place + 1], log[place]
            elif fault == "added":
                logs[rank].append(CALLS[0])
            elif fault == "ended":
                del logs[rank][place + 1 :]
            elif n > 4:
                other = (rank + 1) % n
                del logs[rank][place], logs[other][place]
            yield (logs,)


def differing(logs: Logs) -> tuple[int, list[int]]:
    """Position by position, against the most frequent call."""
    for position in range(max(len(log) for log in logs)):
        calls = [log[position] if position < len(log) else None for log in logs]
        usual = max(calls, key=calls.count)
        ranks = [rank for rank, call in enumerate(calls) if call != usual]
        if ranks:
            return position, ranks
    return -1, []


def _against_rank_0(logs: Logs) -> tuple[int, list[int]]:
    for position in range(max(len(log) for log in logs)):
        calls = [log[position] if position < len(log) else None for log in logs]
        ranks = [rank for rank, call in enumerate(calls) if call != calls[0]]
        if ranks:
            return position, ranks
    return -1, []


def _shortest(logs: Logs) -> tuple[int, list[int]]:
    for position in range(min(len(log) for log in logs)):
        if len({log[position] for log in logs}) > 1:
            return differing(logs)
    return -1, []


def _last(logs: Logs) -> tuple[int, list[int]]:
    """Who differs in the last call."""
    usual = max((log[-1] for log in logs), key=[log[-1] for log in logs].count)
    ranks = [rank for rank, log in enumerate(logs) if log[-1] != usual]
    return (max(len(log) for log in logs) - 1, ranks) if ranks else (-1, [])


FIRST_DIFFERENCE = FunctionSpec(
    "first_difference", UNIT, 1, log_inputs, differing,
    suspects={
        "against_rank_0": _against_rank_0,
        "ended_log_missed": _shortest,
        "last_call_compared": _last,
        "from_one": lambda logs: (differing(logs)[0] + 1, differing(logs)[1]),
        "one_rank_only": lambda logs: (differing(logs)[0], differing(logs)[1][:1]),
        "all_different": lambda logs: (
            differing(logs)[0],
            [r for r in range(len(logs)) if r not in differing(logs)[1]]
            if differing(logs)[1] else [],
        ),
    },
    causes={
        "against_rank_0": "All are compared with rank 0, which may be the one to blame.",
        "ended_log_missed": "A log that has ended is not taken for a difference.",
        "last_call_compared": "Only the last calls are compared.",
        "from_one": "Positions are counted from 1.",
        "one_rank_only": "Only the first of the ranks is returned.",
        "all_different": "These are the ranks that agree, not those that differ.",
    },
    hints={
        "against_rank_0": (
            "What if rank 0 made the mistake?",
            "Compare with the most frequent call: max(calls, key=calls.count).",
        ),
        "ended_log_missed": (
            "How far do you go if one log is shorter?",
            "To the longest; where a log has ended, put None for its call.",
        ),
        "last_call_compared": (
            "Where did the lesson's logs differ first?",
            "Go through the positions from 0 and stop at the first difference.",
        ),
        "from_one": ("Which position has the first call?", "0."),
        "one_rank_only": ("May two ranks differ?", "Return all that differ."),
        "all_different": ("Which ranks are to blame?", "Those that are not the majority."),
    },
)  # fmt: skip


# -- waiting_circle ----------------------------------------------------------------------------


def waiting_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[list[int]]]:
    """Circles of all sizes with ranks that wait for them, and chains without a circle."""
    yield from (([1, 2, 0],), ([3, 3, -1, 1],), ([1, 2, -1],), ([-1],), ([0, 0],))
    for n in (4, 6, 9) + ((16, 25) if level == "grader" else ()):
        ranks = [int(k) for k in rng.permutation(n)]
        size = int(rng.integers(2, n))
        circle, rest = ranks[:size], ranks[size:]
        waits = [0] * n
        for k, rank in enumerate(circle):
            waits[rank] = circle[(k + 1) % size]
        for k, rank in enumerate(rest):
            waits[rank] = int(rng.choice(circle + rest[:k]))
        yield (waits,)
        waits = list(waits)
        waits[circle[-1]] = -1
        yield (waits,)


def circle_of(waits_for: list[int]) -> list[int]:
    """Follow the arrows n times from each rank: who comes back is in the circle."""
    n = len(waits_for)
    for start in range(n):
        way, rank = [], start
        for _ in range(n):
            way.append(rank)
            rank = waits_for[rank]
            if rank == start:
                return way
            if rank == -1:
                break
    return []


def _rotated(waits_for: list[int]) -> list[int]:
    """Starts where rank 0's arrows lead into the circle."""
    seen, rank = [0], waits_for[0]
    while rank != -1 and rank not in seen:
        seen.append(rank)
        rank = waits_for[rank]
    return [] if rank == -1 else seen[seen.index(rank) :]


def _with_way(waits_for: list[int]) -> list[int]:
    seen, rank = [0], waits_for[0]
    while rank != -1 and rank not in seen:
        seen.append(rank)
        rank = waits_for[rank]
    return [] if rank == -1 else seen


def _all_stuck(waits_for: list[int]) -> list[int]:
    """The circle and all who wait for it."""
    stuck = set(circle_of(waits_for))
    for _ in waits_for:
        stuck |= {rank for rank, other in enumerate(waits_for) if other in stuck}
    return sorted(stuck)


WAITING_CIRCLE = FunctionSpec(
    "waiting_circle", UNIT, 2, waiting_inputs, circle_of,
    suspects={
        "not_from_the_smallest": _rotated,
        "way_included": _with_way,
        "followers_included": _all_stuck,
        "sorted": lambda waits_for: sorted(circle_of(waits_for)),
        "backwards": lambda waits_for: circle_of(waits_for)[:1] + circle_of(waits_for)[:0:-1],
        "closed": lambda waits_for: circle_of(waits_for) + circle_of(waits_for)[:1],
        "from_rank_0_only": lambda waits_for: (
            circle_of(waits_for) if 0 in circle_of(waits_for) else []
        ),
    },
    causes={
        "not_from_the_smallest": "Only the arrows from rank 0 are followed, and the circle does "
        "not start with its smallest rank.",
        "way_included": "Ranks that lead into the circle are included.",
        "followers_included": "All ranks that never go on are listed, also those that only wait "
        "for the circle.",
        "sorted": "The ranks are sorted, not in the order in which they wait.",
        "backwards": "The order is backwards: each rank waits for the next one.",
        "closed": "The first rank stands at the end again.",
        "from_rank_0_only": "Only a circle with rank 0 is found.",
    },
    hints={
        "not_from_the_smallest": (
            "Which rank of the circle comes first?",
            "Try each rank as a start, in ascending order.",
        ),
        "way_included": (
            "Does anybody wait for rank 0 in the second example?",
            "A rank is in the circle only if the arrows lead back to it.",
        ),
        "followers_included": (
            "Does anybody wait for rank 0 in the second example?",
            "A rank is in the circle only if the arrows lead back to it.",
        ),
        "sorted": ("Who waits for whom?", "After each rank comes the one it waits for."),
        "backwards": (
            "For whom does the first rank wait?",
            "After each rank comes the one it waits for.",
        ),
        "closed": ("How many ranks are there?", "Each rank stands once."),
        "from_rank_0_only": ("Must rank 0 be part of it?", "Try each rank as a start."),
        "too_slow": ("Can your loop end if the start is not in the circle?", "Remember the way."),
    },
)  # fmt: skip


# -- summed_by_name ----------------------------------------------------------------------------

NAMES = ("embed", "bias", "weight", "norm", "head", "gate", "scale")


def name_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """Each rank has an order of its own."""
    for n, count in ((2, 2), (3, 5), (4, 7))[: 3 if level == "grader" else 2]:
        used = [NAMES[k] for k in rng.permutation(len(NAMES))[:count]]
        args = []
        for rank in range(n):
            order = np.roll(np.arange(count), rank) if count == 2 else rng.permutation(count)
            args.append(([used[k] for k in order], rng.random(count) + 10 * rank))
        yield World(tuple(args))


def _by_name(world: World) -> list[dict[str, float]]:
    return [dict(zip(names, values, strict=True)) for names, values in world.args]


def sums_by_name(world: World) -> list[Array]:
    """Right sums, in each rank's own order."""
    held = _by_name(world)
    return [np.array([sum(one[name] for one in held) for name in names]) for names, _ in world.args]


def _in_sorted_order(world: World) -> list[Array]:
    held = _by_name(world)
    return [np.array([sum(one[name] for one in held) for name in sorted(held[0])])] * world.ranks


SUMMED_BY_NAME = ranks_spec(
    "summed_by_name", UNIT, 2, name_worlds, sums_by_name, ("names", "values"),
    Limits(most_rounds=lambda w: 1),
    suspects={
        "by_position": lambda world: [np.sum([v for _, v in world.args], axis=0)] * world.ranks,
        "sorted_order": _in_sorted_order,
        "not_summed": lambda world: [values for _, values in world.args],
    },
    causes={
        "by_position": "Values are added by position, whatever their names.",
        "sorted_order": "The sums are right, but in the order of the sorted names.",
        "not_summed": "Every rank still has its own values.",
        "too_many_rounds": "There is more than one collective.",
    },
    hints={
        "by_position": (
            "What stands at position 0 on either rank?",
            "Sort the values by name before the sum, and put them back after it.",
        ),
        "sorted_order": (
            "In which order does this rank want them?",
            "result[order] = sums puts them back.",
        ),
        "not_summed": ("What is summed?", "All-reduce the sorted values."),
        "too_many_rounds": (
            "How many values can travel in one call?",
            "All: all-reduce values[order] at once.",
        ),
    },
)  # fmt: skip


# -- epoch_sums --------------------------------------------------------------------------------


def epoch_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """Different numbers of batches; a rank without any; no batches at all."""
    counts = [(2, 3), (4, 0, 2)] + ([(1, 5, 5, 3), (0, 0)] if level == "grader" else [(0, 0)])
    for by_rank in counts:
        yield World(tuple((rng.random(count) + rank,) for rank, count in enumerate(by_rank)))


def _losses(world: World) -> list[Array]:
    return [args[0] for args in world.args]


def padded_sums(world: World) -> list[list[float]]:
    """One sum for each step of the longest rank."""
    steps = max(x.size for x in _losses(world))
    padded = [np.pad(x, (0, steps - x.size)) for x in _losses(world)]
    return [np.sum(padded, axis=0).tolist()] * world.ranks


def _cut(world: World) -> list[list[float]]:
    steps = min(x.size for x in _losses(world))
    return [padded_sums(world)[0][:steps]] * world.ranks


EPOCH_SUMS = ranks_spec(
    "epoch_sums", UNIT, 2, epoch_worlds, padded_sums, ("losses",),
    Limits(most_rounds=lambda w: max(2, 1 + max(x.size for x in _losses(w)))),
    suspects={
        "cut_to_the_shortest": _cut,
        "own_steps_only": lambda world: [
            padded_sums(world)[0][: x.size] for x in _losses(world)
        ],
        "not_summed": lambda world: [x.tolist() for x in _losses(world)],
    },
    causes={
        "cut_to_the_shortest": "Batches that not all ranks have are dropped.",
        "own_steps_only": "Ranks with fewer batches return fewer sums.",
        "not_summed": "Every rank returns its own losses.",
        "too_many_rounds": "There are more collectives than steps and one.",
    },
    hints={
        "cut_to_the_shortest": (
            "Which batches are lost?",
            "Take the largest number of batches, dist.ReduceOp.MAX, and fill up with zeros.",
        ),
        "own_steps_only": (
            "How many steps does the rank with the most batches make?",
            "All ranks return that many sums.",
        ),
        "not_summed": ("What is asked for each step?", "The sum over all ranks: all_reduce."),
        "hang": (
            "How many collectives does each rank call?",
            "Agree on the largest number of batches first, and call that many on all ranks.",
        ),
    },
)  # fmt: skip


# -- run_time ----------------------------------------------------------------------------------


def time_inputs(
    rng: np.random.Generator, level: Level
) -> Iterator[tuple[list[list[int]], int, int]]:
    """Numbers of steps that `every` divides and does not; one step, one rank."""
    yield [[10, 15], [15, 10]], 1, 2
    for steps, ranks, every in ((1, 3, 1), (4, 1, 2), (6, 3, 2), (7, 4, 3), (5, 2, 10)):
        yield rng.integers(5, 30, (steps, ranks)).tolist(), int(rng.integers(1, 5)), every


def meeting_time(ms: list[list[int]], comm_ms: int, every: int) -> float:
    """Each part lasts as long as its slowest rank."""
    parts = [np.sum(ms[k : k + every], axis=0).max() for k in range(0, len(ms), every)]
    return float(sum(parts) + comm_ms * len(parts))


RUN_TIME = FunctionSpec(
    "run_time", UNIT, 1, time_inputs, meeting_time,
    suspects={
        "waits_each_step": lambda ms, comm_ms, every: (
            sum(max(step) for step in ms) + comm_ms * -(-len(ms) // every)
        ),
        "comm_each_step": lambda ms, comm_ms, every: (
            meeting_time(ms, 0, every) + comm_ms * len(ms)
        ),
        "comm_missing": lambda ms, comm_ms, every: meeting_time(ms, 0, every),
        "rest_left_out": lambda ms, comm_ms, every: (
            meeting_time(ms[: len(ms) // every * every], comm_ms, every)
            if len(ms) >= every else 0
        ),
        "slowest_over_all": lambda ms, comm_ms, every: float(
            np.sum(ms, axis=0).max() + comm_ms * -(-len(ms) // every)
        ),
        "mean_rank": lambda ms, comm_ms, every: float(
            np.sum(np.mean(ms, axis=1)) + comm_ms * -(-len(ms) // every)
        ),
    },
    causes={
        "waits_each_step": "The slowest rank of each step is taken; between meetings nobody waits.",
        "comm_each_step": "The collective is counted in each step.",
        "comm_missing": "The collectives' own time is missing.",
        "rest_left_out": "The steps that are left over at the end are missing.",
        "slowest_over_all": "The slowest rank of the whole run is taken; ranks wait at each "
        "meeting.",
        "mean_rank": "It is the time of a mean rank; the slowest one decides.",
    },
    hints={
        "waits_each_step": (
            "When does a rank wait?",
            "Only at a meeting: add up the times of each rank since the last one.",
        ),
        "comm_each_step": ("How many meetings are there?", "Steps over every, rounded up."),
        "comm_missing": ("What happens at a meeting?", "Add comm_ms for each."),
        "rest_left_out": ("What about steps that are left over?", "They end with a meeting, too."),
        "slowest_over_all": (
            "Can a slow rank catch up across a meeting?",
            "No: take the largest sum of each part.",
        ),
        "mean_rank": ("For whom do all wait?", "Take the largest, not the mean."),
    },
)  # fmt: skip


# -- ring_ends ---------------------------------------------------------------------------------


def ring_inputs(
    rng: np.random.Generator, level: Level
) -> Iterator[tuple[list[int], list[int], int]]:
    """The lesson's ring after one step; no step; a slow link; many ranks."""
    yield [100, 0, 0, 0], [10, 10, 10, 10], 1
    yield [3, 5], [2, 1], 0
    for n, steps in ((2, 1), (3, 2), (5, 3), (4, 6)) + (((9, 4),) if level == "grader" else ()):
        begin, link = rng.integers(0, 200, n), rng.integers(5, 40, n)
        yield begin.tolist(), link.tolist(), steps


Rule = Callable[[list[int], list[int]], list[int]]


def _stepped(rule: Rule) -> Callable[[list[int], list[int], int], list[int]]:
    def run(begin_us: list[int], link_us: list[int], steps: int) -> list[int]:
        clocks = list(begin_us)
        for _ in range(steps):
            clocks = rule(clocks, link_us)
        return clocks

    return run


def _both(clocks: list[int], link: list[int]) -> list[int]:
    """A rank goes on when its message has come and the one it sent has arrived."""
    came = [max(clocks[r], clocks[r - 1]) + link[r] for r in range(len(clocks))]
    return [max(one, came[(r + 1) % len(came)]) for r, one in enumerate(came)]


def _left_only(clocks: list[int], link: list[int]) -> list[int]:
    return [max(clocks[r], clocks[r - 1]) + link[r] for r in range(len(clocks))]


def _in_place(clocks: list[int], link: list[int]) -> list[int]:
    """New clocks are used within the step."""
    new = list(clocks)
    for r in range(len(new)):
        new[r] = max(new[r], new[r - 1]) + link[r]
    return [max(one, new[(r + 1) % len(new)]) for r, one in enumerate(new)]


def _all_wait(clocks: list[int], link: list[int]) -> list[int]:
    return [max(clocks) + max(link)] * len(clocks)


def _own_link(clocks: list[int], link: list[int]) -> list[int]:
    """link[r] taken for the link to the right."""
    n = len(clocks)
    sent = [max(clocks[r], clocks[(r + 1) % n]) + link[r] for r in range(n)]
    return [max(one, sent[r - 1]) for r, one in enumerate(sent)]


_TRUE_ENDS = _stepped(_both)


def ends(begin_us: list[int], link_us: list[int], steps: int) -> list[int]:
    """When each rank has done all steps."""
    return _TRUE_ENDS(begin_us, link_us, steps)


RING_ENDS = FunctionSpec(
    "ring_ends", UNIT, 2, ring_inputs, ends,
    suspects={
        "left_neighbour_only": _stepped(_left_only),
        "new_clocks_used": _stepped(_in_place),
        "all_wait_for_all": _stepped(_all_wait),
        "links_to_the_right": _stepped(_own_link),
        "one_step_only": lambda begin_us, link_us, steps: ends(begin_us, link_us, min(steps, 1)),
    },
    causes={
        "left_neighbour_only": "A rank waits for what comes, but not until its own message has "
        "arrived.",
        "new_clocks_used": "Clocks of this step are used within the same step.",
        "all_wait_for_all": "All ranks wait for the latest one in each step, as with a barrier.",
        "links_to_the_right": "link_us[rank] is taken for the link to the right; it is the one "
        "from the left.",
        "one_step_only": "Only one step is made.",
    },
    hints={
        "left_neighbour_only": (
            "When is rank 3 done with the first step, if rank 0 takes its message late?",
            "The new clock is the later of came[rank] and came[(rank + 1) % n].",
        ),
        "new_clocks_used": (
            "Can rank 2 know in step 1 that rank 0 is late?",
            "Compute all new clocks from the old ones, in a new list.",
        ),
        "all_wait_for_all": (
            "Does rank 2 wait in the first step of the example?",
            "A rank waits for its two neighbours only.",
        ),
        "links_to_the_right": (
            "Which link does the message to rank 1 take?",
            "link_us[1], from its left neighbour 0.",
        ),
        "one_step_only": ("How many steps are there?", "Repeat it steps times."),
    },
)  # fmt: skip

SPECS = [FIRST_DIFFERENCE, WAITING_CIRCLE, SUMMED_BY_NAME, EPOCH_SUMS, RUN_TIME, RING_ENDS]
