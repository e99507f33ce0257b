"""Unusual but right answers to the lab t3_04_topologies."""

from __future__ import annotations

import math
import sys
from collections import Counter

import cloudpickle
import torch
import torch.distributed as dist

from tests.variants import variant

cloudpickle.register_pickle_by_value(sys.modules[__name__])


@variant("partners")
def by_blocks(rank, n):
    """The other half of the block of 2, 4, 8 ... ranks."""
    found = []
    size = 1
    while size < n:
        found.append(rank + size if rank // size % 2 == 0 else rank - size)
        size *= 2
    return tuple(found)


@variant("meeting_bytes")
def two_lines(n, alpha_us, gbs):
    """Each a line over K: where they cross."""
    steps = round(math.log2(n))
    ring = (2 * (n - 1) * alpha_us, 2 * (n - 1) / n)
    doubling = (steps * alpha_us, float(steps))
    if ring[1] >= doubling[1]:
        return float("inf")
    return (ring[0] - doubling[0]) / (doubling[1] - ring[1]) * gbs * 1000


@variant("two_level_bill")
def piece_by_piece(nodes, gpus, nbytes, shared):
    piece = nbytes / gpus
    part = piece / nodes
    cards = gpus if shared else 1
    return [2 * (gpus - 1) * piece, 2 * (nodes - 1) * part * cards, 2 * (gpus + nodes - 2)]


@variant("doubling_sum")
def batches(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    p = 1
    while 2 * p <= n:
        p *= 2
    total, came = x.clone(), torch.zeros_like(x)
    extra = rank + p if rank + p < n else None
    if rank >= p:
        dist.isend(total, rank - p).wait()
        dist.irecv(total, rank - p).wait()
        return total
    if extra is not None:
        dist.recv(came, extra)
        total = torch.add(total, came)
    for k in range(p.bit_length() - 1):
        other = rank ^ (1 << k)
        ops = [dist.P2POp(dist.isend, total, other), dist.P2POp(dist.irecv, came, other)]
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        total = total + came
    if extra is not None:
        dist.send(total, extra)
    return total


@variant("busiest_card")
def counters(messages, nbytes, gpus):
    crossing = [(a // gpus, b // gpus) for a, b in messages if a // gpus != b // gpus]
    out, into = Counter(a for a, _ in crossing), Counter(b for _, b in crossing)
    most = max([0, *out.values(), *into.values()])
    return most * nbytes


@variant("two_level_sum")
def other_direction(x, gpus, net):
    """Rings to the left, and pieces that end at their own number."""

    def pieces_round(ring, pieces, add):
        me, n = ring.index(net.rank), len(ring)
        for step in range(n - 1):
            out = (me + 1 + step) % n if add else (me + step) % n
            into = (out + 1) % n
            came = torch.empty_like(pieces[into])
            net.sendrecv(pieces[out].clone(), ring[me - 1], came, ring[(me + 1) % n])
            pieces[into] = pieces[into] + came if add else came
        return pieces

    machine, place = divmod(net.rank, gpus)
    inside = list(range(machine * gpus, machine * gpus + gpus))
    between = list(range(place, net.size, gpus))
    pieces = pieces_round(inside, list(x.clone().chunk(gpus)), True)
    parts = pieces_round(between, list(pieces[place].chunk(len(between))), True)
    parts = pieces_round(between, parts, False)
    pieces[place] = torch.cat(parts)
    return torch.cat(pieces_round(inside, pieces, False))
