"""Wrong answers to the lab t3_02_ring."""

from __future__ import annotations

import sys

import cloudpickle
import torch
import torch.distributed as dist

from tests.impostors import impostor

# As from a notebook: ranks get the functions themselves and need not import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def swapped(out, into, to=None, source=None):
    """Send one array and receive another, of the right neighbour and the left one if not told."""
    rank, n = dist.get_rank(), dist.get_world_size()
    came = torch.empty_like(into)
    sending = dist.isend(out, (rank + 1) % n if to is None else to)
    dist.recv(came, (rank - 1) % n if source is None else source)
    sending.wait()
    return came


# -- ring_pieces -------------------------------------------------------------------------------


@impostor("ring_pieces", diagnosis="other_direction")
def to_the_left(rank, step, n):
    return (rank + step) % n, (rank + step + 1) % n


@impostor("ring_pieces", diagnosis="not_wrapped")
def below_zero(rank, step, n):
    return rank - step, rank - step - 1


@impostor("ring_pieces", diagnosis="exchanged")
def receives_first(rank, step, n):
    return (rank - step - 1) % n, (rank - step) % n


@impostor("ring_pieces", diagnosis="always_own")
def never_passed_on(rank, step, n):
    return rank, (rank - 1) % n


@impostor("ring_pieces", diagnosis="ahead_by_one")
def second_half(rank, step, n):
    return (rank + 1 - step) % n, (rank - step) % n


@impostor("ring_pieces", diagnosis="wrong_values")
def differences_exchanged(rank, step, n):
    return (step - rank) % n, (step - rank - 1) % n


# -- ring_bill ---------------------------------------------------------------------------------


@impostor("ring_bill", diagnosis="largest_pieces")
def rounded_up(n, length, itemsize):
    return 2 * (n - 1), 2 * (n - 1) * -(-length // n) * itemsize


@impostor("ring_bill", diagnosis="equal_pieces")
def formula_of_the_lesson(n, length, itemsize):
    return 2 * (n - 1), 2 * (n - 1) / n * length * itemsize


@impostor("ring_bill", diagnosis="rounded_down")
def rest_forgotten(n, length, itemsize):
    return 2 * (n - 1), 2 * (n - 1) * (length // n) * itemsize


@impostor("ring_bill", diagnosis="one_half")
def reduce_scatter_only(n, length, itemsize):
    return n - 1, (length - length // n) * itemsize if n > 1 else 0


@impostor("ring_bill", diagnosis="same_left_out")
def twice_the_first_half(n, length, itemsize):
    return 2 * (n - 1), 2 * (length - length // n) * itemsize if n > 1 else 0


@impostor("ring_bill", diagnosis="in_numbers")
def bytes_forgotten(n, length, itemsize):
    sizes = [length // n + (k < length % n) for k in range(n)]
    sent = [2 * length - sizes[(r + 1) % n] - sizes[(r + 2) % n] for r in range(n)]
    return 2 * (n - 1), max(sent) if n > 1 else 0


@impostor("ring_bill", diagnosis="whole_arrays")
def arrays_go_round(n, length, itemsize):
    return 2 * (n - 1), 2 * (n - 1) * length * itemsize


# -- passed_right ------------------------------------------------------------------------------


@impostor("passed_right", diagnosis="hang")
def all_send_first(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    came = torch.empty_like(x)
    dist.send(x, (rank + 1) % n)
    dist.recv(came, (rank - 1) % n)
    return came


@impostor("passed_right", diagnosis="too_many_rounds")
def one_after_the_other(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    came = torch.empty_like(x)
    if rank == 0:
        dist.send(x, 1)
        dist.recv(came, n - 1)
    else:
        dist.recv(came, rank - 1)
        dist.send(x, (rank + 1) % n)
    return came


@impostor("passed_right", diagnosis="passed_left")
def wrong_way(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    return swapped(x, x, (rank - 1) % n, (rank + 1) % n)


@impostor("passed_right", diagnosis="collective_used")
def gathered(x):
    parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x)
    return parts[dist.get_rank() - 1]


@impostor("passed_right", diagnosis="not_passed")
def own_returned(x):
    swapped(x, x)
    return x


# -- ring_share --------------------------------------------------------------------------------


@impostor("ring_share", diagnosis="next_piece")
def as_in_the_lesson(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    pieces = list(torch.tensor_split(x, n))
    for step in range(n - 1):
        into = (rank - 1 - step) % n
        pieces[into] += swapped(pieces[(rank - step) % n], pieces[into])
    return pieces[(rank + 1) % n]


@impostor("ring_share", diagnosis="too_many_bytes")
def whole_arrays_round(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    total, own = x.clone(), x
    for _ in range(n - 1):
        own = swapped(own, own)
        total += own
    return torch.tensor_split(total, n)[rank]


@impostor("ring_share", diagnosis="rank_failed")
def size_of_what_goes(x):
    """All pieces as long as the first: right only where n divides the length."""
    rank, n = dist.get_rank(), dist.get_world_size()
    pieces = list(torch.tensor_split(x, n))
    for step in range(n - 1):
        out, into = (rank - 1 - step) % n, (rank - 2 - step) % n
        pieces[into] += swapped(pieces[out], torch.zeros(len(x) // n, dtype=x.dtype))
    return pieces[rank]


@impostor("ring_share", diagnosis="not_summed")
def own_piece(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    return torch.tensor_split(x, n)[rank]


@impostor("ring_share", diagnosis="collective_used")
def the_library_s(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    dist.all_reduce(x)
    return torch.tensor_split(x, n)[rank]


@impostor("ring_share", diagnosis="not_summed")
def last_step_missing(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    pieces = list(torch.tensor_split(x, n))
    for step in range(max(n - 2, 1)):
        into = (rank - 2 - step) % n
        pieces[into] += swapped(pieces[(rank - 1 - step) % n], pieces[into])
    return pieces[rank] + 0


# -- ring_total --------------------------------------------------------------------------------


def first_half(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    pieces = list(torch.tensor_split(x.clone(), n))
    for step in range(n - 1):
        into = (rank - 1 - step) % n
        pieces[into] += swapped(pieces[(rank - step) % n], pieces[into])
    return pieces


@impostor("ring_total", diagnosis="half_done")
def reduce_scattered_only(x):
    return torch.cat(first_half(x))


@impostor("ring_total", diagnosis="wrong_values")
def added_again(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    pieces = first_half(x)
    for step in range(n - 1):
        into = (rank - step) % n
        pieces[into] = pieces[into] + swapped(pieces[(rank + 1 - step) % n], pieces[into])
    return torch.cat(pieces)


@impostor("ring_total", diagnosis="too_many_bytes")
def through_rank_0(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    if rank:
        dist.send(x, 0)
        dist.recv(x, 0)
        return x
    came = torch.empty_like(x)
    for k in range(1, n):
        dist.recv(came, k)
        x += came
    for k in range(1, n):
        dist.send(x, k)
    return x


@impostor("ring_total", diagnosis="too_many_rounds")
def in_turns(x):
    """Rank 0 sends first, all others receive first."""
    rank, n = dist.get_rank(), dist.get_world_size()
    pieces = list(torch.tensor_split(x.clone(), n))
    for step in range(2 * (n - 1)):
        out, into = (rank - step) % n, (rank - 1 - step) % n
        came = torch.empty_like(pieces[into])
        if rank == 0:
            dist.send(pieces[out], 1)
            dist.recv(came, n - 1)
        else:
            dist.recv(came, rank - 1)
            dist.send(pieces[out], (rank + 1) % n)
        pieces[into] = came + pieces[into] if step < n - 1 else came
    return torch.cat(pieces)


@impostor("ring_total", diagnosis="hang")
def blocking_sends(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    pieces = list(torch.tensor_split(x.clone(), n))
    for step in range(2 * (n - 1)):
        out, into = (rank - step) % n, (rank - 1 - step) % n
        came = torch.empty_like(pieces[into])
        dist.send(pieces[out], (rank + 1) % n)
        dist.recv(came, (rank - 1) % n)
        pieces[into] = came + pieces[into] if step < n - 1 else came
    return torch.cat(pieces)


@impostor("ring_total", diagnosis="averaged")
def the_mean(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    pieces = first_half(x)
    for step in range(n - 1):
        into = (rank - step) % n
        pieces[into] = swapped(pieces[(rank + 1 - step) % n], pieces[into])
    return torch.cat(pieces) / n


# -- chain_broadcast ---------------------------------------------------------------------------


@impostor("chain_broadcast", diagnosis="too_slow")
def all_at_once(x, chunks, net):
    if net.rank:
        net.recv(x, net.rank - 1)
    if net.rank < net.size - 1:
        net.send(x, net.rank + 1)
    return x


@impostor("chain_broadcast", diagnosis="too_slow")
def received_then_sent(x, chunks, net):
    parts = list(torch.tensor_split(x, chunks))
    for part in parts:
        if net.rank:
            net.recv(part, net.rank - 1)
        if net.rank < net.size - 1:
            net.send(part, net.rank + 1)
    return torch.cat(parts)


@impostor("chain_broadcast", diagnosis="not_passed_on")
def ends_at_rank_1(x, chunks, net):
    for part in torch.tensor_split(x, chunks):
        if net.rank == 0:
            net.send(part, 1)
        elif net.rank == 1:
            net.recv(part, 0)
    return x


@impostor("chain_broadcast", diagnosis="collective_used")
def the_library_does_it(x, chunks, net):
    dist.broadcast(x, 0)
    return x


@impostor("chain_broadcast", diagnosis="not_passed_on")
def one_chunk_behind(x, chunks, net):
    """The middle ranks send each chunk before it has come."""
    parts = list(torch.tensor_split(x, chunks))
    for part in parts:
        if net.rank == 0:
            net.send(part, 1)
        elif net.rank == net.size - 1:
            net.recv(part, net.rank - 1)
        else:
            old = part.clone()
            net.sendrecv(old, net.rank + 1, part, net.rank - 1)
    return torch.cat(parts)
