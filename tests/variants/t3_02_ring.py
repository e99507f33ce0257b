"""Unusual but right answers to the lab t3_02_ring."""

from __future__ import annotations

import sys

import cloudpickle
import torch
import torch.distributed as dist

from tests.variants import variant

cloudpickle.register_pickle_by_value(sys.modules[__name__])


@variant("ring_pieces")
def by_counting(rank, step, n):
    piece = rank
    for _ in range(step):
        piece = n - 1 if piece == 0 else piece - 1
    return [piece, piece - 1 if piece else n - 1]


@variant("ring_bill")
def by_messages(n, length, itemsize):
    sizes = [len(piece) for piece in torch.tensor_split(torch.empty(length), n)]
    totals = [0] * n
    for rank in range(n):
        for ahead in (0, 1):
            for step in range(n - 1):
                totals[rank] += sizes[(rank + ahead - step) % n]
    return 2 * (n - 1), max(totals) * itemsize


@variant("passed_right")
def batch(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    came = torch.zeros_like(x)
    ops = [dist.P2POp(dist.irecv, came, (rank - 1) % n), dist.P2POp(dist.isend, x, (rank + 1) % n)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    return came


@variant("passed_right")
def receive_started_first(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    came = torch.empty_like(x)
    coming = dist.irecv(came, (rank - 1 + n) % n)
    dist.send(x, (rank + 1) % n)
    coming.wait()
    return came


@variant("ring_share")
def the_other_way_round(x):
    """A ring to the left."""
    rank, n = dist.get_rank(), dist.get_world_size()
    pieces = [piece.clone() for piece in torch.tensor_split(x, n)]
    for step in range(1, n):
        out, into = (rank + step) % n, (rank + step + 1) % n
        came = pieces[into].new_empty(pieces[into].shape)
        sending = dist.isend(pieces[out], (rank - 1) % n)
        dist.recv(came, (rank + 1) % n)
        sending.wait()
        pieces[into] = pieces[into] + came
    return pieces[rank]


@variant("ring_share")
def straight_to_their_owner(x):
    """No ring: each piece goes to the rank that sums it; all messages at the same time."""
    rank, n = dist.get_rank(), dist.get_world_size()
    pieces = [piece.contiguous() for piece in torch.tensor_split(x, n)]
    came = {k: torch.empty_like(pieces[rank]) for k in range(n) if k != rank}
    works = [dist.isend(pieces[k], k) for k in came]
    works += [dist.irecv(part, k) for k, part in came.items()]
    for work in works:
        work.wait()
    return pieces[rank] + sum(came.values())


@variant("ring_total")
def one_loop(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    pieces = [piece.clone() for piece in torch.tensor_split(x, n)]
    for step in range(2 * n - 2):
        out, into = (rank - step) % n, (rank - 1 - step) % n
        came = torch.empty_like(pieces[into])
        ops = [
            dist.P2POp(dist.isend, pieces[out], (rank + 1) % n),
            dist.P2POp(dist.irecv, came, (rank - 1) % n),
        ]
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        if step < n - 1:
            pieces[into].add_(came)
        else:
            pieces[into].copy_(came)
    return torch.cat(pieces)


@variant("chain_broadcast")
def one_loop_for_all(x, chunks, net):
    """One loop for all ranks, with what is missing left out."""
    parts = list(torch.tensor_split(x.clone(), chunks))
    receives, sends = net.rank > 0, net.rank + 1 < net.size
    for k in range(chunks + 1):
        coming, going = receives and k < chunks, sends and k > 0
        if coming and going:
            net.sendrecv(parts[k - 1], net.rank + 1, parts[k], net.rank - 1)
        elif coming:
            net.recv(parts[k], net.rank - 1)
        elif going:
            net.send(parts[k - 1], net.rank + 1)
    return torch.hstack(parts)
