"""Unusual but right answers to the lab t3_12_expert_parallel."""

from __future__ import annotations

import sys
from collections import Counter
from fractions import Fraction

import cloudpickle
import numpy as np
import torch
import torch.distributed as dist

from tests.variants import variant

cloudpickle.register_pickle_by_value(sys.modules[__name__])


@variant("kept_choices")
def by_rank_in_the_queue(choices, experts, factor):
    """Exact numbers; a choice is kept if few enough stand before it."""
    flat = [row[j] for j in range(max(map(len, choices), default=0)) for row in choices]
    capacity = -(-Fraction(factor) * len(flat) // experts)
    before, kept = Counter(), []
    for expert in flat:
        kept.append(before[expert] < capacity)
        before[expert] += 1
    tokens = len(choices)
    return int(capacity), [tuple(kept[t::tokens]) for t in range(tokens)]


@variant("kept_choices")
def with_numpy(choices, experts, factor):
    array = np.array(choices, dtype=int).reshape(len(choices), max(map(len, choices), default=1))
    capacity = int(np.ceil(factor * array.size / experts))
    flat = array.T.ravel()
    place = np.array([(flat[:i] == one).sum() for i, one in enumerate(flat)], dtype=int)
    return capacity, (place < capacity).reshape(array.T.shape).T.tolist()


@variant("round_trip")
def numbers_beside_rows(x, expert, weights):
    """Counts by rank; the expert's number travels in front of its row."""
    n, e = dist.get_world_size(), len(weights)
    mine = [torch.nonzero((expert >= 0) & (expert // e == r))[:, 0] for r in range(n)]
    gives = torch.tensor([len(one) for one in mine])
    takes = torch.empty_like(gives)
    dist.all_to_all_single(takes, gives)
    gives, takes = gives.tolist(), takes.tolist()
    kept = torch.cat(mine)
    sent = torch.cat([(expert[kept] % e)[:, None].to(x.dtype), x[kept]], dim=1)
    got = x.new_empty(sum(takes), x.shape[1] + 1)
    dist.all_to_all_single(got, sent, takes, gives)
    done = torch.stack([row[1:] @ weights[int(row[0])] for row in got] or [x.new_empty(0)])
    came = x.new_empty(len(kept), x.shape[1])
    dist.all_to_all_single(came, done.reshape(-1, x.shape[1]), gives, takes)
    return torch.zeros_like(x).index_copy(0, kept, came)


@variant("round_trip")
def by_messages(x, expert, weights):
    """No collective: isend and irecv, also of empty parts."""
    rank, n, e = dist.get_rank(), dist.get_world_size(), len(weights)
    mine = [
        [torch.nonzero(expert == r * e + k)[:, 0] for k in range(e)] for r in range(n)
    ]  # places by rank and expert
    counts = torch.tensor([[len(one) for one in row] for row in mine])
    arriving = counts.clone()
    work = []
    for r in range(n):
        if r != rank:
            work += [dist.isend(counts[r].clone(), r), dist.irecv(arriving[r], r)]
    for one in work:
        one.wait()
    sent = [x[torch.cat(row)] for row in mine]
    got = [sent[r] if r == rank else x.new_empty(int(arriving[r].sum()), x.shape[1])
           for r in range(n)]  # fmt: skip
    _swap(sent, got)
    done = []
    for r in range(n):
        parts = got[r].split(arriving[r].tolist())
        done.append(torch.cat([part @ w for part, w in zip(parts, weights, strict=True)]))
    came = [done[r] if r == rank else torch.empty_like(sent[r]) for r in range(n)]
    _swap(done, came)
    y = torch.zeros_like(x)
    for row, rows in zip(mine, came, strict=True):
        y[torch.cat(row)] = rows
    return y


def _swap(out, into):
    work = []
    for r in range(len(out)):
        if r != dist.get_rank():
            if len(out[r]):
                work.append(dist.isend(out[r].contiguous(), r))
            if len(into[r]):
                work.append(dist.irecv(into[r], r))
    for one in work:
        one.wait()


def _moved(rows, gives, takes):
    came = rows.new_empty(sum(takes), *rows.shape[1:])
    dist.all_to_all_single(came, rows.contiguous(), takes, gives)
    return came


@variant("expert_gradients")
def by_hand(x, router, dy, weights):
    """Without autograd; the backward sends dy with its gate in it, and x stays there."""
    n, (e, h, _) = dist.get_world_size(), weights.shape
    logits = x @ router.T
    best, experts = logits.topk(2)
    gates = best.softmax(1)
    order = experts.flatten().argsort(stable=True)
    token, gate = order // 2, gates.flatten()[order][:, None]
    counts = torch.bincount(experts.flatten(), minlength=n * e).view(n, e)
    arriving = torch.empty_like(counts)
    dist.all_to_all_single(arriving, counts)
    gives, takes = counts.sum(1).tolist(), arriving.sum(1).tolist()
    which = torch.arange(e).repeat(n).repeat_interleave(arriving.flatten())

    rows = _moved(x[token], gives, takes)
    outs = _moved(torch.einsum("th,thj->tj", rows, weights[which]), takes, gives)
    d_rows = _moved(gate * dy[token], gives, takes)
    d_weights = torch.zeros_like(weights)
    d_weights.index_add_(0, which, rows[:, :, None] * d_rows[:, None, :])
    back = _moved(torch.einsum("tj,thj->th", d_rows, weights[which]), takes, gives)

    d_gates = torch.empty(2 * len(x), dtype=x.dtype)
    d_gates[order] = (outs * dy[token]).sum(1)
    d_gates = d_gates.view(-1, 2)
    d_best = gates * (d_gates - (gates * d_gates).sum(1, keepdim=True))
    d_logits = torch.zeros_like(logits).scatter(1, experts, d_best)
    d_router = d_logits.T @ x
    dist.all_reduce(d_router)
    y = torch.zeros_like(x).index_add(0, token, gate * outs)
    return y, (d_logits @ router).index_add(0, token, back), d_router, d_weights


@variant("expert_gradients")
def by_torch(x, router, dy, weights):
    """PyTorch's own all-to-all that autograd knows; softmax over all, then made to sum to 1."""
    from torch.distributed._functional_collectives import all_to_all_single_autograd

    n, (e, h, _) = dist.get_world_size(), weights.shape
    x, router, weights = (one.clone().requires_grad_() for one in (x, router, weights))
    shares = (x @ router.T).softmax(1)
    gates, experts = shares.topk(2)
    gates = gates / gates.sum(1, keepdim=True)
    order = experts.flatten().argsort(stable=True)
    counts = torch.bincount(experts.flatten(), minlength=n * e).view(n, e)
    arriving = torch.empty_like(counts)
    dist.all_to_all_single(arriving, counts)
    gives, takes = counts.sum(1).tolist(), arriving.sum(1).tolist()
    which = torch.arange(e).repeat(n).repeat_interleave(arriving.flatten())
    group = dist.group.WORLD
    rows = all_to_all_single_autograd(x[order // 2], takes, gives, group)
    done = torch.einsum("th,thj->tj", rows, weights[which])
    came = all_to_all_single_autograd(done, gives, takes, group)
    y = (came * gates.flatten()[order][:, None])[order.argsort()].view(-1, 2, h).sum(1)
    dx, d_router, d_weights = torch.autograd.grad(y, (x, router, weights), dy)
    d_router = d_router.contiguous()
    dist.all_reduce(d_router)
    return [y, dx, d_router, d_weights]


@variant("layer_clock")
def by_numpy(counts, row_bytes, latency, per_byte, per_row):
    rows = np.array(counts)
    away = rows * (1 - np.eye(len(rows), dtype=int))
    transfer = latency + per_byte * row_bytes * np.maximum(away.sum(0), away.sum(1))
    done = transfer + per_row * rows.sum(0)
    return float(done.max() + transfer.max()), list(done.max() - done)


@variant("balance_loss")
def by_gathering_sums(logits, k):
    """One all-gather of 2 E + 1 numbers would be too much; an all-reduce of a row for each."""
    tokens, experts = logits.shape
    sums = np.zeros(2 * experts + 1)
    for row in logits.numpy():
        sums[np.argsort(row)[-k:]] += 1
        e = np.exp(row - row.max())
        sums[experts : 2 * experts] += e / e.sum()
    sums[-1] = tokens
    total = torch.from_numpy(sums)
    dist.all_reduce(total)
    counts, mass, tokens = total.split([experts, experts, 1])
    return float(experts * (counts @ mass) / (k * tokens**2))


@variant("lean_trip")
def numbers_and_gates(x, choices, gates, weights):
    """Beside a row: the k numbers of experts there, or -1, and the k gates."""
    n, (e, h, _), k = dist.get_world_size(), weights.shape, choices.shape[1]
    sent, tokens = [], []
    for r in range(n):
        there = choices // e == r
        token = torch.nonzero(there.any(1))[:, 0]
        number = torch.where(there, choices % e, -1)[token].to(x.dtype)
        sent.append(torch.cat([x[token], number, gates[token]], dim=1))
        tokens.append(token)
    gives = torch.tensor([len(one) for one in tokens])
    takes = torch.empty_like(gives)
    dist.all_to_all_single(takes, gives)
    gives, takes = gives.tolist(), takes.tolist()
    rows = _moved(torch.cat(sent), gives, takes)
    done = x.new_zeros(len(rows), h)
    for i, row in enumerate(rows):
        for j in range(k):
            if row[h + j] >= 0:
                done[i] += row[h + k + j] * (row[:h] @ weights[int(row[h + j])])
    y = torch.zeros_like(x)
    for token, came in zip(tokens, _moved(done, takes, gives).split(gives), strict=True):
        y[token] += came
    return y
