"""All-reduce algorithms by hand, over messages: what a learner writes in the labs."""

from __future__ import annotations

import torch
import torch.distributed as dist


def swap(out: torch.Tensor, to: int, into: torch.Tensor, source: int) -> None:
    """Send and receive side by side."""
    ops = [dist.P2POp(dist.isend, out, to), dist.P2POp(dist.irecv, into, source)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()


def ring(x: torch.Tensor) -> None:
    rank, n = dist.get_rank(), dist.get_world_size()
    parts = list(x.chunk(n))
    room = torch.empty_like(parts[0])
    for step in range(n - 1):
        swap(parts[(rank - step) % n], (rank + 1) % n, room, (rank - 1) % n)
        parts[(rank - step - 1) % n] += room
    for step in range(n - 1):
        swap(parts[(rank + 1 - step) % n], (rank + 1) % n, room, (rank - 1) % n)
        parts[(rank - step) % n].copy_(room)


def doubling(x: torch.Tensor) -> None:
    rank, n, bit = dist.get_rank(), dist.get_world_size(), 1
    room = torch.empty_like(x)
    while bit < n:
        swap(x.clone(), rank ^ bit, room, rank ^ bit)
        x += room
        bit *= 2


def halving_doubling(x: torch.Tensor) -> None:
    rank, n = dist.get_rank(), dist.get_world_size()
    low, high, bit = 0, len(x), n // 2
    spans = []
    while bit:
        middle = (low + high) // 2
        mine, theirs = ((low, middle), (middle, high))[:: 1 if not rank & bit else -1]
        room = torch.empty(mine[1] - mine[0])
        swap(x[slice(*theirs)].clone(), rank ^ bit, room, rank ^ bit)
        x[slice(*mine)] += room
        spans.append((mine, theirs, bit))
        (low, high), bit = mine, bit // 2
    for mine, theirs, bit in reversed(spans):
        room = torch.empty(theirs[1] - theirs[0])
        swap(x[slice(*mine)].clone(), rank ^ bit, room, rank ^ bit)
        x[slice(*theirs)] = room


def through_a_root(x: torch.Tensor) -> None:
    rank, n = dist.get_rank(), dist.get_world_size()
    room = torch.empty_like(x)
    if rank:
        dist.send(x, 0)
        dist.recv(x, 0)
        return
    for other in range(1, n):
        dist.recv(room, other)
        x += room
    for other in range(1, n):
        dist.send(x, other)


def blocking_ring(x: torch.Tensor) -> None:
    """A ring in which half of the ranks send first and half receive first."""
    rank, n = dist.get_rank(), dist.get_world_size()
    parts = list(x.chunk(n))
    room = torch.empty_like(parts[0])
    for step in range(2 * (n - 1)):
        phase = 0 if step < n - 1 else 1
        out = parts[(rank - step + phase * n) % n].clone()
        if rank % 2 == 0:
            dist.send(out, (rank + 1) % n)
            dist.recv(room, (rank - 1) % n)
        else:
            dist.recv(room, (rank - 1) % n)
            dist.send(out, (rank + 1) % n)
        place = parts[(rank - step - 1 + phase * n) % n]
        if phase:
            place.copy_(room)
        else:
            place += room


ALGORITHMS = {
    "ring all-reduce": ring,
    "recursive doubling": doubling,
    "halving-doubling": halving_doubling,
    "through the root": through_a_root,
}


def run(name: str, elements: int) -> float:
    """all_reduce of ones by an algorithm; the sum of the result."""
    x = torch.ones(elements)
    ALGORITHMS.get(name, blocking_ring)(x)
    assert torch.all(x == dist.get_world_size()) or name == "blocking ring", x
    dist.barrier()
    return x.sum().item()
