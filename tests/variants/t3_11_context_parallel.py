"""Unusual but right answers to the lab t3_11_context_parallel."""

from __future__ import annotations

import sys

import cloudpickle
import numpy as np
import torch
import torch.distributed as dist

from tests.variants import variant

cloudpickle.register_pickle_by_value(sys.modules[__name__])


def exchange(what, step=1):
    """What the left neighbour has, by both calls in one batch."""
    rank, n = dist.get_rank(), dist.get_world_size()
    came = torch.empty_like(what)
    ops = [
        dist.P2POp(dist.isend, what.contiguous(), (rank + step) % n),
        dist.P2POp(dist.irecv, came, (rank - step) % n),
    ]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    return came


def scores_of(q, k, seen):
    return (torch.einsum("qd,kd->qk", q, k) / np.sqrt(q.shape[1])).masked_fill(~seen, -torch.inf)


@variant("context_bill")
def by_adding(tokens, kv_heads, head_size, itemsize, n):
    forward = backward = 0
    for _ in range(1, n):
        for _ in ("K", "V"):
            forward += tokens * kv_heads * head_size * itemsize / n
            backward += 2 * tokens * kv_heads * head_size * itemsize / n
    return [forward, backward]


@variant("busy_pairs")
def with_numpy(places):
    at = np.array(places)
    n = len(at)
    count = np.array(
        [[(at[(r + s) % n][None] <= at[r][:, None]).sum() for r in range(n)] for s in range(n)]
    )
    return count.sum(axis=0).tolist(), count.max(axis=1).sum()


@variant("hidden_from")
def by_trying(n, heads, kv_heads, itemsize, tflops, gbs, zigzag):
    step = 2 if zigzag else 1

    def hides(c):
        computing = 4 * c * c * heads / (tflops * 1e12) / step
        return computing >= 2 * c * kv_heads * itemsize / (gbs * 1e9)

    low, high = 0, 1
    while not hides(high * step):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if hides(middle * step) else (middle, high)
    return high * step * n


@variant("ring_attention")
def running_maximum(q, k, v, places, starts):
    """As in the online softmax: sums and the largest score; K and V in two messages."""
    rank, n = dist.get_rank(), dist.get_world_size()
    top = torch.full((len(q), 1), -1e300, dtype=q.dtype)
    total, out = torch.zeros_like(top), torch.zeros_like(q)
    at = places[rank].tolist()
    for step in range(n):
        keys = places[(rank - step) % n].tolist()
        seen = torch.tensor([[starts[i] <= j <= i for j in keys] for i in at])
        scores = scores_of(q, k, seen)
        higher = torch.maximum(top, scores.amax(dim=1, keepdim=True))
        weights, shrink = torch.exp(scores - higher), torch.exp(top - higher)
        out, total = out * shrink + weights @ v, total * shrink + weights.sum(1, keepdim=True)
        top = higher
        if step < n - 1:
            k, v = exchange(k), exchange(v)
    return [out / total, (top + torch.log(total))[:, 0]]


@variant("ring_attention")
def other_direction(q, k, v, places, starts):
    """Blocks go to the left; parts merged by a sigmoid of the difference."""
    rank, n = dist.get_rank(), dist.get_world_size()
    block = torch.cat([k, v], dim=1)
    i = places[rank][:, None]
    for step in range(n):
        j = places[(rank + step) % n][None, :]
        scores = scores_of(q, block[:, : k.shape[1]], (starts[i] <= j) & (j <= i))
        one = torch.logsumexp(scores, dim=1, keepdim=True)
        part = torch.exp(scores - one.clamp(min=-1e300)) @ block[:, k.shape[1] :]
        if step == 0:
            out, log = part, one
        else:
            out = out - torch.sigmoid(one - log) * (out - part)
            log = torch.logaddexp(log, one)
        if step < n - 1:
            block = exchange(block, -1)
    return out, log.squeeze(1)


@variant("ring_gradients")
def four_in_one_message(q, k, v, out, log, d_out, places):
    """K, V, dK and dV of the visitor side by side, by autograd of the block's shares."""
    rank, n = dist.get_rank(), dist.get_world_size()
    home = [0, 0]
    dq, visitor = torch.zeros_like(q), torch.stack([k, v])
    for step in range(n):
        owner = (rank - step) % n
        seen = places[owner][None, :] <= places[rank][:, None]
        given = [x.clone().requires_grad_() for x in (q, visitor[0], visitor[1])]
        P = torch.exp(scores_of(given[0], given[1], seen) - log[:, None])
        # Gradient of the normalised output: the sum of P over all blocks is one.
        loss = (P @ given[2] * d_out).sum() - (P.sum(1) * (d_out * out).sum(1)).sum()
        more, dk, dv = torch.autograd.grad(loss, given)
        dq += more
        if step == 0:
            home = [dk, dv]
        else:
            dk, dv = dk + visitor[2], dv + visitor[3]
        if step == 0 and n > 1:
            visitor = torch.cat([exchange(visitor), torch.zeros_like(visitor)])
        elif step < n - 1:
            visitor = exchange(torch.stack([visitor[0], visitor[1], dk, dv]))
        elif n > 1:
            came = exchange(torch.stack([dk, dv]))
            home = [home[0] + came[0], home[1] + came[1]]
    return [dq, *home]


@variant("ring_gradients")
def queries_travel_back(q, k, v, out, log, d_out, places):
    """Queries, their gradients and two numbers each go round; keys stay."""
    rank, n = dist.get_rank(), dist.get_world_size()
    scale = q.shape[1] ** -0.5
    row = torch.cat([q, d_out, log[:, None], (d_out * out).sum(1, keepdim=True)], dim=1)
    d = q.shape[1]

    def shares(row, owner):
        q, d_out, log, D = row[:, :d], row[:, d : 2 * d], row[:, -2:-1], row[:, -1:]
        seen = places[rank][None, :] <= places[owner][:, None]
        P = torch.exp(scores_of(q, k, seen) - log)
        dS = P * (d_out @ v.T - D) * scale
        return dS @ k, dS.T @ q, P.T @ d_out

    dq, dk, dv = shares(row, rank)
    held = torch.zeros_like(q)
    for step in range(1, n):
        row = exchange(row)
        if step > 1:
            held = exchange(held)
        more, a, b = shares(row, (rank - step) % n)
        held, dk, dv = held + more, dk + a, dv + b
    return (dq + exchange(held) if n > 1 else dq), dk, dv


@variant("zigzag_attention")
def own_block_in_quarters(q, k, v):
    """Three quarters of the own block; keys are cut before they are stacked."""
    rank, n = dist.get_rank(), dist.get_world_size()
    p = len(q) // 2
    open_, tril = torch.ones(p, p, dtype=torch.bool), torch.ones(p, p, dtype=torch.bool).tril()
    parts = {0: [], 1: []}  # by piece of queries

    def add(piece, keys, values, seen):
        scores = scores_of(q[piece * p : (piece + 1) * p], keys, seen)
        log = torch.logsumexp(scores, dim=1)
        parts[piece].append((torch.exp(scores - log[:, None]) @ values, log))

    add(0, k[:p], v[:p], tril)
    add(1, k[:p], v[:p], open_)
    add(1, k[p:], v[p:], tril)
    for step in range(1, n):
        k, v = exchange(k), exchange(v)
        if step <= rank:
            add(0, k[:p], v[:p], open_)
            add(1, k[:p], v[:p], open_)
        else:
            add(1, k[:p], v[:p], open_)
            add(1, k[p:], v[p:], open_)
    outs = []
    for piece in (0, 1):
        total = parts[piece][0][1]
        for _, log in parts[piece][1:]:
            total = torch.logaddexp(total, log)
        outs.append(sum(torch.exp(log - total)[:, None] * out for out, log in parts[piece]))
    return torch.cat(outs)
