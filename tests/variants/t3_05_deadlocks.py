"""Unusual but right answers to the lab t3_05_deadlocks."""

from __future__ import annotations

import itertools
import sys
from collections import Counter

import cloudpickle
import torch
import torch.distributed as dist

from tests.variants import variant

cloudpickle.register_pickle_by_value(sys.modules[__name__])


@variant("first_difference")
def columns(logs):
    for k, calls in enumerate(itertools.zip_longest(*logs, fillvalue="(ended)")):
        (usual, count), *_ = Counter(calls).most_common(1)
        if count < len(calls):
            return [k, [rank for rank, call in enumerate(calls) if call != usual]]
    return [-1, []]


@variant("waiting_circle")
def leaves_taken_away(waits_for):
    """Take away ranks without an arrow in or out, until there are none."""
    left = {r: w for r, w in enumerate(waits_for) if w != -1}
    while True:
        keep = {r: w for r, w in left.items() if w in left and r in left.values()}
        if keep == left:
            break
        left = keep
    if not left:
        return []
    circle = [min(left)]
    while left[circle[-1]] != circle[0]:
        circle.append(left[circle[-1]])
    return circle


@variant("waiting_circle")
def many_steps_ahead(waits_for):
    """After as many steps as there are ranks one is in the circle, if there is one."""
    found = []
    for rank in range(len(waits_for)):
        for _ in waits_for:
            rank = waits_for[rank] if rank != -1 else -1
        if rank != -1:
            found.append(rank)
    if not found:
        return []
    circle = [found[0]]
    while waits_for[circle[-1]] != circle[0]:
        circle.append(waits_for[circle[-1]])
    first = circle.index(min(circle))
    return circle[first:] + circle[:first]


@variant("summed_by_name")
def objects(names, values):
    every = [None] * dist.get_world_size()
    table = dict(zip(names, values.tolist(), strict=True))
    ordered = torch.tensor([table[name] for name in sorted(table)], dtype=values.dtype)
    parts = [torch.empty_like(ordered) for _ in every]
    dist.all_gather(parts, ordered)
    sums = dict(zip(sorted(table), sum(parts).tolist(), strict=True))
    return torch.tensor([sums[name] for name in names], dtype=values.dtype)


@variant("epoch_sums")
def step_by_step(losses):
    steps = torch.tensor([len(losses)])
    dist.all_reduce(steps, op=dist.ReduceOp.MAX)
    sums = []
    for k in range(steps.item()):
        total = losses[k : k + 1].clone() if k < len(losses) else losses.new_zeros(1)
        dist.all_reduce(total)
        sums.append(float(total))
    return tuple(sums)


@variant("run_time")
def clocks_that_meet(ms, comm_ms, every):
    clocks = [0] * len(ms[0])
    for k, step in enumerate(ms, start=1):
        clocks = [clock + more for clock, more in zip(clocks, step, strict=True)]
        if k % every == 0 or k == len(ms):
            clocks = [max(clocks) + comm_ms] * len(clocks)
    return float(clocks[0])


@variant("ring_ends")
def by_messages(begin_us, link_us, steps):
    n = len(begin_us)
    clocks = tuple(begin_us)
    for _ in range(steps):
        new = [0] * n
        for sender in range(n):
            receiver = (sender + 1) % n
            arrives = max(clocks[sender], clocks[receiver]) + link_us[receiver]
            new[sender] = max(new[sender], arrives)
            new[receiver] = max(new[receiver], arrives)
        clocks = tuple(new)
    return clocks
