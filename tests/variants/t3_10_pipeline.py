"""Unusual but right answers to the lab t3_10_pipeline."""

from __future__ import annotations

import sys
from collections import deque

import cloudpickle
import numpy as np
import torch
import torch.distributed as dist

from tests.variants import variant
from warpwise.fabric.schedules import Times, interleaved, simulate, zb2p

cloudpickle.register_pickle_by_value(sys.modules[__name__])


@variant("pipeline_bill")
def from_the_simulation(p, m, v):
    ran = simulate(interleaved(p, m, v))
    stages = range(p * v)
    return [ran.makespan, ran.bubble_over_ideal, ran.bubble_over_total, 2 * m * len(stages[1:])]


@variant("fitted_order")
def event_by_event(p, m, fits):
    """Texts instead of lists; the clock jumps to the next end of a pass."""
    orders, busy, done = [""] * p, {}, [{"F": 0, "B": 0} for _ in range(p)]
    begun = [{"F": 0, "B": 0} for _ in range(p)]
    now = 0
    while any(one["B"] < m for one in done):
        for rank in range(p):
            if rank in busy:
                continue
            f, b = begun[rank]["F"], begun[rank]["B"]
            if b < done[rank]["F"] and (rank == p - 1 or b < done[rank + 1]["B"]):
                kind = "B"
            elif f < m and f - b < fits[rank] and (rank == 0 or f < done[rank - 1]["F"]):
                kind = "F"
            else:
                continue
            orders[rank] += f" {kind}{begun[rank][kind]}"
            begun[rank][kind] += 1
            busy[rank] = now + "_FB".index(kind), kind
        now = min(time for time, _ in busy.values())
        for rank in [rank for rank, (time, _) in busy.items() if time == now]:
            done[rank][busy.pop(rank)[1]] += 1
    return tuple(orders)


@variant("run_order")
def one_message_under_way(order, weight, inputs, targets):
    """isend, waited for before the next one in the same direction; sums by hand."""
    rank, n = dist.get_rank(), dist.get_world_size()
    held, losses, under_way = {}, [], {}
    total = torch.zeros_like(weight)

    def post(tensor, peer):
        if peer in under_way:
            under_way.pop(peer)[0].wait()
        under_way[peer] = dist.isend(tensor, peer), tensor

    for step in order:
        kind, k = step[0], int(step[1:])
        if kind == "F":
            x = inputs[k]
            if rank:
                x = torch.zeros_like(x)
                dist.recv(x, rank - 1)
            held[k] = x, torch.tanh(x @ weight)
            if rank < n - 1:
                post(held[k][1], rank + 1)
            else:
                losses.append(float(((held[k][1] - targets[k]) ** 2).mean() / len(targets)))
            continue
        x, y = held.pop(k)
        if rank < n - 1:
            dy = torch.zeros_like(y)
            dist.recv(dy, rank + 1)
        else:
            dy = 2 * (y - targets[k]) / y.numel() / len(targets)
        inner = dy * (1 - y * y)
        total += x.T @ inner
        if rank:
            post(inner @ weight.T, rank - 1)
    for work, _ in under_way.values():
        work.wait()
    return losses, total


@variant("run_order")
def graph_of_the_loss(order, weight, inputs, targets):
    """Each pass receives first; grad instead of backward; losses as an array."""
    rank, n = dist.get_rank(), dist.get_world_size()
    w = weight.clone().requires_grad_()
    held, losses, grads, made = {}, [], [], None
    for step in order:
        k, ahead = int(step[1:]), step.startswith("F")
        source = rank - 1 if ahead else rank + 1
        ops, came = [], None
        if made is not None:
            ops.append(dist.P2POp(dist.isend, made[0], made[1]))
        if 0 <= source < n:
            came = torch.empty(inputs[k].shape, dtype=weight.dtype)
            ops.insert(0, dist.P2POp(dist.irecv, came, source))
        for work in dist.batch_isend_irecv(ops) if ops else []:
            work.wait()
        made = None
        if ahead:
            x = (inputs[k] if came is None else came).clone().requires_grad_()
            y = torch.einsum("rh,hk->rk", x, w).tanh()
            if rank == n - 1:
                y = torch.nn.functional.mse_loss(y, targets[k]) * (1 / len(targets))
                losses.append(y.item())
            else:
                made = y.detach(), rank + 1
            held[k] = x, y
        else:
            x, y = held.pop(k)
            dx, dw = torch.autograd.grad(y, (x, w), came)
            grads.append(dw)
            if rank:
                made = dx, rank - 1
        x = y = came = None
    if made is not None:
        for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, made[0], made[1])]):
            work.wait()
    return losses, np.sum([one.numpy() for one in grads], axis=0)


@variant("best_chunks")
def smallest_of_all(p, m, layers, send, fits):
    tried = {v: simulate(interleaved(p, m, v), Times(send=send)) for v in range(1, layers + 1)}
    fit = [v for v, ran in tried.items() if not layers % v and not ran.peak > fits]
    return min(fit, key=lambda v: (round(tried[v].makespan, 9), v), default=0)


@variant("zero_bubble")
def a_queue_of_w(p, m, fits):
    """Texts; the library's schedule where twice the memory is there."""
    if fits >= 2 * p - 1:
        return [" ".join(map(str, order)) for order in zb2p(p, m).orders]
    made = []
    for rank in range(p):
        ahead = min(2 * (p - 1 - rank), fits - 1 - rank)
        order, owed = [f"F{f}" for f in range(ahead)], deque()
        for i in range(m):
            if ahead + i < m:
                order.append(f"F{ahead + i}")
            order.append(f"I{i}")
            owed.append(f"W{i}")
            if len(owed) > fits - 1 - ahead:
                order.append(owed.popleft())
        made.append(" ".join([*order, *owed]))
    return made


@variant("zero_bubble")
def whole_backwards_at_rank_0(p, m, fits):
    """I and W of rank 0 follow each other, so they may be one B."""
    made = []
    room = min(fits, 2 * p - 1)
    for rank in range(p):
        ahead = p - 1 - rank + min(p - 1 - rank, room - p)
        late = room - 1 - ahead
        order = [f"F{k}" for k in range(ahead)]
        for k in range(m):
            order += [f"F{k + ahead}"] * (k + ahead < m)
            order += [f"I{k}"] if late else [f"B{k}"]
            order += [f"W{k - late}"] * (late > 0 and k >= late)
        made.append(order + [f"W{k}" for k in range(m - late, m)] * (late > 0))
    return made
