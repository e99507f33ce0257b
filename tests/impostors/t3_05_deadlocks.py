"""Wrong answers to the lab t3_05_deadlocks."""

from __future__ import annotations

import sys

import cloudpickle
import torch
import torch.distributed as dist

from tests.impostors import impostor

# As from a notebook: ranks get the functions themselves and need not import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

# -- first_difference --------------------------------------------------------------------------


def compared(logs, positions, usual_of):
    for position in positions:
        calls = [log[position] if position < len(log) else None for log in logs]
        usual = usual_of(calls)
        others = [rank for rank, call in enumerate(calls) if call != usual]
        if others:
            return position, others
    return -1, []


def majority(calls):
    return max(calls, key=calls.count)


@impostor("first_difference", diagnosis="against_rank_0")
def rank_0_is_right(logs):
    return compared(logs, range(max(map(len, logs))), lambda calls: calls[0])


@impostor("first_difference", diagnosis="ended_log_missed")
def as_far_as_all_go(logs):
    return compared(logs, range(min(map(len, logs))), majority)


@impostor("first_difference", diagnosis="last_call_compared")
def last_lines(logs):
    last = [log[-1] for log in logs]
    others = [rank for rank, call in enumerate(last) if call != majority(last)]
    return (max(map(len, logs)) - 1, others) if others else (-1, [])


@impostor("first_difference", diagnosis="from_one")
def counted_from_one(logs):
    position, others = compared(logs, range(max(map(len, logs))), majority)
    return position + 1, others


@impostor("first_difference", diagnosis="wrong_type")
def a_number_alone(logs):
    return compared(logs, range(max(map(len, logs))), majority)[0]


@impostor("first_difference", diagnosis="all_different")
def the_innocent(logs):
    position, others = compared(logs, range(max(map(len, logs))), majority)
    return position, [r for r in range(len(logs)) if r not in others] if others else []


# -- waiting_circle ----------------------------------------------------------------------------


@impostor("waiting_circle", diagnosis="not_from_the_smallest")
def from_rank_0(waits_for):
    way, rank = [0], waits_for[0]
    while rank != -1 and rank not in way:
        way.append(rank)
        rank = waits_for[rank]
    return [] if rank == -1 else way[way.index(rank) :]


@impostor("waiting_circle", diagnosis="way_included")
def all_on_the_way(waits_for):
    way, rank = [0], waits_for[0]
    while rank != -1 and rank not in way:
        way.append(rank)
        rank = waits_for[rank]
    return [] if rank == -1 else way


def right_circle(waits_for):
    for start in range(len(waits_for)):
        way, rank = [start], waits_for[start]
        while rank not in (-1, start) and rank not in way:
            way.append(rank)
            rank = waits_for[rank]
        if rank == start:
            return way
    return []


@impostor("waiting_circle", diagnosis="sorted")
def ascending(waits_for):
    return sorted(right_circle(waits_for))


@impostor("waiting_circle", diagnosis="backwards")
def who_waits_for_me(waits_for):
    circle = right_circle(waits_for)
    return circle[:1] + circle[:0:-1]


@impostor("waiting_circle", diagnosis="followers_included")
def everybody_who_waits(waits_for):
    """All ranks that never go on."""
    circle = right_circle(waits_for)
    stuck = set(circle)
    for _ in waits_for:
        stuck |= {rank for rank, other in enumerate(waits_for) if other in stuck}
    return sorted(stuck)


@impostor("waiting_circle", diagnosis="closed")
def back_to_the_start(waits_for):
    circle = right_circle(waits_for)
    return circle + circle[:1]


# -- summed_by_name ----------------------------------------------------------------------------


@impostor("summed_by_name", diagnosis="by_position")
def as_given(names, values):
    dist.all_reduce(values)
    return values


@impostor("summed_by_name", diagnosis="sorted_order")
def not_put_back(names, values):
    sums = values[sorted(range(len(names)), key=lambda k: names[k])].clone()
    dist.all_reduce(sums)
    return sums


@impostor("summed_by_name", diagnosis="too_many_rounds")
def one_call_a_name(names, values):
    for name in sorted(names):
        k = names.index(name)
        dist.all_reduce(values[k : k + 1])
    return values


@impostor("summed_by_name", diagnosis="not_summed")
def sorted_only(names, values):
    order = sorted(range(len(names)), key=lambda k: names[k])
    result = torch.empty_like(values)
    result[order] = values[order]
    return result


@impostor("summed_by_name", diagnosis="wrong_values")
def put_back_wrongly(names, values):
    """The order is applied a second time, where it should be undone."""
    order = sorted(range(len(names)), key=lambda k: names[k])
    sums = values[order].clone()
    dist.all_reduce(sums)
    return sums[order] if len(names) > 2 else sums[order[::-1]] * 2


# -- epoch_sums --------------------------------------------------------------------------------


@impostor("epoch_sums", diagnosis="hang")
def as_many_as_i_have(losses):
    sums = []
    for loss in losses:
        total = loss.clone()
        dist.all_reduce(total)
        sums.append(total.item())
    return sums


@impostor("epoch_sums", diagnosis="cut_to_the_shortest")
def drop_last(losses):
    steps = torch.tensor(len(losses))
    dist.all_reduce(steps, dist.ReduceOp.MIN)
    part = losses[: int(steps)].clone()
    dist.all_reduce(part)
    return part.tolist()


@impostor("epoch_sums", diagnosis="own_steps_only")
def takes_part_and_forgets(losses):
    steps = torch.tensor(len(losses))
    dist.all_reduce(steps, dist.ReduceOp.MAX)
    padded = torch.zeros(int(steps), dtype=losses.dtype)
    padded[: len(losses)] = losses
    dist.all_reduce(padded)
    return padded[: len(losses)].tolist()


@impostor("epoch_sums", diagnosis="too_many_rounds")
def asks_each_time(losses):
    """An all-reduce before each step to ask whether somebody goes on."""
    sums, k = [], 0
    while True:
        more = torch.tensor(int(k < len(losses)))
        dist.all_reduce(more, dist.ReduceOp.MAX)
        if not more:
            return sums
        total = losses[k].clone() if k < len(losses) else torch.zeros((), dtype=losses.dtype)
        dist.all_reduce(total)
        sums.append(total.item())
        k += 1


@impostor("epoch_sums", diagnosis="not_summed")
def own_losses(losses):
    return losses.tolist()


# -- run_time ----------------------------------------------------------------------------------


@impostor("run_time", diagnosis="waits_each_step")
def slowest_of_each_step(ms, comm_ms, every):
    return sum(max(step) for step in ms) + comm_ms * -(-len(ms) // every)


@impostor("run_time", diagnosis="rest_left_out")
def whole_parts_only(ms, comm_ms, every):
    total = 0
    for k in range(len(ms) // every):
        part = ms[k * every : (k + 1) * every]
        total += max(sum(times) for times in zip(*part, strict=True)) + comm_ms
    return total


@impostor("run_time", diagnosis="slowest_over_all")
def one_slow_rank(ms, comm_ms, every):
    slowest = max(sum(times) for times in zip(*ms, strict=True))
    return slowest + comm_ms * -(-len(ms) // every)


@impostor("run_time", diagnosis="comm_missing")
def free_meetings(ms, comm_ms, every):
    return sum(
        max(sum(times) for times in zip(*ms[k : k + every], strict=True))
        for k in range(0, len(ms), every)
    )


@impostor("run_time", diagnosis="comm_each_step")
def meets_each_step(ms, comm_ms, every):
    return free_meetings.answer(ms, comm_ms, every) + comm_ms * len(ms)


# -- ring_ends ---------------------------------------------------------------------------------


@impostor("ring_ends", diagnosis="left_neighbour_only")
def what_comes(begin_us, link_us, steps):
    clocks = list(begin_us)
    for _ in range(steps):
        clocks = [max(clocks[r], clocks[r - 1]) + link_us[r] for r in range(len(clocks))]
    return clocks


@impostor("ring_ends", diagnosis="new_clocks_used")
def in_place(begin_us, link_us, steps):
    clocks, n = list(begin_us), len(begin_us)
    for _ in range(steps):
        for r in range(n):
            clocks[r] = max(clocks[r], clocks[r - 1]) + link_us[r]
        clocks = [max(clocks[r], clocks[(r + 1) % n]) for r in range(n)]
    return clocks


@impostor("ring_ends", diagnosis="all_wait_for_all")
def barrier_each_step(begin_us, link_us, steps):
    clocks = list(begin_us)
    for _ in range(steps):
        clocks = [max(clocks) + max(link_us)] * len(clocks)
    return clocks


@impostor("ring_ends", diagnosis="links_to_the_right")
def other_links(begin_us, link_us, steps):
    clocks, n = list(begin_us), len(begin_us)
    for _ in range(steps):
        sent = [max(clocks[r], clocks[(r + 1) % n]) + link_us[r] for r in range(n)]
        clocks = [max(sent[r], sent[r - 1]) for r in range(n)]
    return clocks


@impostor("ring_ends", diagnosis="wrong_values")
def neighbours_of_the_start(begin_us, link_us, steps):
    """The delay is spread by way, links are added up: exact for equal links only."""
    n = len(begin_us)
    return [
        max(begin_us[(r + d) % n] for d in range(-min(steps, n), min(steps, n) + 1))
        + steps * max(link_us[r], link_us[(r + 1) % n])
        for r in range(n)
    ]
