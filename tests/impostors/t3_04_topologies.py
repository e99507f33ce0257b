"""Wrong answers to the lab t3_04_topologies."""

from __future__ import annotations

import math
import sys

import cloudpickle
import torch
import torch.distributed as dist

from tests.impostors import impostor

# As from a notebook: ranks get the functions themselves and need not import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

# -- partners ----------------------------------------------------------------------------------


@impostor("partners", diagnosis="farthest_first")
def halving_order(rank, n):
    return [rank ^ (1 << k) for k in reversed(range(n.bit_length() - 1))]


@impostor("partners", diagnosis="sum_for_xor")
def round_the_ring(rank, n):
    return [(rank + 2**k) % n for k in range(n.bit_length() - 1)]


@impostor("partners", diagnosis="round_for_bit")
def bits_forgotten(rank, n):
    return [rank ^ k for k in range(1, n.bit_length())]


@impostor("partners", diagnosis="one_round_more")
def as_many_as_bits(rank, n):
    return [rank ^ (1 << k) for k in range(n.bit_length())]


@impostor("partners", diagnosis="all_others")
def everybody(rank, n):
    return [other for other in range(n) if other != rank]


# -- meeting_bytes -----------------------------------------------------------------------------


def solved(n, alpha_us, gbs, rounds, arrays):
    return alpha_us * 1e-6 * gbs * 1e9 * rounds / arrays if arrays else math.inf


@impostor("meeting_bytes", diagnosis="latency_of_doubling_free")
def all_rounds_of_the_ring(n, alpha_us, gbs):
    steps = n.bit_length() - 1
    return solved(n, alpha_us, gbs, 2 * (n - 1), steps - 2 * (n - 1) / n)


@impostor("meeting_bytes", diagnosis="half_a_ring")
def reduce_scatter_only(n, alpha_us, gbs):
    steps = n.bit_length() - 1
    return solved(n, alpha_us, gbs, n - 1 - steps, steps - (n - 1) / n)


@impostor("meeting_bytes", diagnosis="ring_sends_twice")
def limit_of_many(n, alpha_us, gbs):
    steps = n.bit_length() - 1
    return solved(n, alpha_us, gbs, 2 * (n - 1) - steps, steps - 2)


@impostor("meeting_bytes", diagnosis="raised")
def two_ranks_forgotten(n, alpha_us, gbs):
    steps = n.bit_length() - 1
    return alpha_us * gbs * 1e3 * (2 * (n - 1) - steps) / (steps - 2 * (n - 1) / n)


@impostor("meeting_bytes", diagnosis="in_kilobytes")
def as_in_the_lesson(n, alpha_us, gbs):
    steps = n.bit_length() - 1
    return solved(n, alpha_us, gbs, 2 * (n - 1) - steps, steps - 2 * (n - 1) / n) / 1000


@impostor("meeting_bytes", diagnosis="wrong_values")
def minus_one_for_never(n, alpha_us, gbs):
    steps = n.bit_length() - 1
    if n == 2:
        return -1.0
    return solved(n, alpha_us, gbs, 2 * (n - 1) - steps, steps - 2 * (n - 1) / n)


# -- two_level_bill ----------------------------------------------------------------------------


@impostor("two_level_bill", diagnosis="whole_array_between")
def all_of_it_between(nodes, gpus, nbytes, shared):
    between = 2 * (nodes - 1) / nodes * nbytes * (gpus if shared else 1)
    return 2 * (gpus - 1) / gpus * nbytes, between, 2 * (gpus - 1) + 2 * (nodes - 1)


@impostor("two_level_bill", diagnosis="cards_never_shared")
def own_cards(nodes, gpus, nbytes, shared):
    between = 2 * (nodes - 1) / nodes * nbytes / gpus
    return 2 * (gpus - 1) / gpus * nbytes, between, 2 * (gpus - 1) + 2 * (nodes - 1)


@impostor("two_level_bill", diagnosis="cards_always_shared")
def one_card(nodes, gpus, nbytes, shared):
    between = 2 * (nodes - 1) / nodes * nbytes
    return 2 * (gpus - 1) / gpus * nbytes, between, 2 * (gpus - 1) + 2 * (nodes - 1)


@impostor("two_level_bill", diagnosis="rounds_of_one_ring")
def flat_rounds(nodes, gpus, nbytes, shared):
    between = 2 * (nodes - 1) / nodes * nbytes / (1 if shared else gpus)
    return 2 * (gpus - 1) / gpus * nbytes, between, 2 * (nodes * gpus - 1)


@impostor("two_level_bill", diagnosis="one_half_inside")
def no_way_back(nodes, gpus, nbytes, shared):
    between = 2 * (nodes - 1) / nodes * nbytes / (1 if shared else gpus)
    return (gpus - 1) / gpus * nbytes, between, gpus - 1 + 2 * (nodes - 1)


# -- doubling_sum ------------------------------------------------------------------------------


def swap(total, other):
    came = torch.empty_like(total)
    sending = dist.isend(total, other)
    dist.recv(came, other)
    sending.wait()
    return came


def doubled(total, rank, p):
    bit = 1
    while bit < p:
        total = total + swap(total, rank ^ bit)
        bit *= 2
    return total


@impostor("doubling_sum", diagnosis="rank_failed")
def powers_only(x):
    return doubled(x, dist.get_rank(), dist.get_world_size())


@impostor("doubling_sum", diagnosis="extra_left_out")
def without_the_rest(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    p = 1 << (n.bit_length() - 1)
    return doubled(x, rank, p) if rank < p else x


@impostor("doubling_sum", diagnosis="extra_not_told")
def taken_and_forgotten(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    p = 1 << (n.bit_length() - 1)
    if rank >= p:
        dist.send(x, rank - p)
        return x
    if rank + p < n:
        came = torch.empty_like(x)
        dist.recv(came, rank + p)
        x = x + came
    return doubled(x, rank, p)


@impostor("doubling_sum", diagnosis="too_many_rounds")
def round_a_ring(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    total, own = x.clone(), x.clone()
    for _ in range(n - 1):
        came = torch.empty_like(own)
        sending = dist.isend(own, (rank + 1) % n)
        dist.recv(came, (rank - 1) % n)
        sending.wait()
        total, own = total + came, came
    dist.barrier()
    return total if n < 4 else doubled(total * 0, rank, 1) + total


@impostor("doubling_sum", diagnosis="hang")
def both_receive_first(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    p = 1 << (n.bit_length() - 1)
    total = x.clone()
    came = torch.empty_like(x)
    if rank >= p:
        dist.recv(total, rank - p)
        dist.send(total, rank - p)
        return total
    if rank + p < n:
        dist.recv(came, rank + p)
        total += came
    total = doubled(total, rank, p)
    if rank + p < n:
        dist.send(total, rank + p)
    return total


@impostor("doubling_sum", diagnosis="collective_used")
def the_library_s(x):
    dist.all_reduce(x)
    return x


# -- busiest_card ------------------------------------------------------------------------------


def counted(keys, nbytes):
    keys = list(keys)
    return max((keys.count(key) for key in keys), default=0) * nbytes


@impostor("busiest_card", diagnosis="out_only")
def senders(messages, nbytes, gpus):
    return counted((a // gpus for a, b in messages if a // gpus != b // gpus), nbytes)


@impostor("busiest_card", diagnosis="in_only")
def receivers(messages, nbytes, gpus):
    return counted((b // gpus for a, b in messages if a // gpus != b // gpus), nbytes)


@impostor("busiest_card", diagnosis="both_ways_together")
def added_up(messages, nbytes, gpus):
    ends = [(a // gpus, b // gpus) for a, b in messages if a // gpus != b // gpus]
    return counted((machine for pair in ends for machine in pair), nbytes)


@impostor("busiest_card", diagnosis="pairs_of_machines")
def by_pairs(messages, nbytes, gpus):
    return counted(((a // gpus, b // gpus) for a, b in messages if a // gpus != b // gpus), nbytes)


@impostor("busiest_card", diagnosis="inside_counted")
def everything_sent(messages, nbytes, gpus):
    return counted((a // gpus for a, _ in messages), nbytes)


@impostor("busiest_card", diagnosis="all_that_cross")
def one_for_all(messages, nbytes, gpus):
    return sum(nbytes for a, b in messages if a // gpus != b // gpus)


# -- two_level_sum -----------------------------------------------------------------------------


def half_ring(net, ring, pieces, ahead, add):
    me, n = ring.index(net.rank), len(ring)
    came = torch.empty_like(pieces[0])
    for step in range(n - 1):
        out, into = (me + ahead - step) % n, (me + ahead - step - 1) % n
        net.sendrecv(pieces[out], ring[(me + 1) % n], came, ring[me - 1])
        pieces[into].copy_(pieces[into] + came if add else came)


@impostor("two_level_sum", diagnosis="too_slow")
def one_ring(x, gpus, net):
    pieces = list(x.chunk(net.size))
    half_ring(net, list(range(net.size)), pieces, 0, True)
    half_ring(net, list(range(net.size)), pieces, 1, False)
    return torch.cat(pieces)


@impostor("two_level_sum", diagnosis="machines_alone")
def inside_only(x, gpus, net):
    first = net.rank // gpus * gpus
    inside = list(range(first, first + gpus))
    pieces = list(x.chunk(gpus))
    half_ring(net, inside, pieces, 0, True)
    half_ring(net, inside, pieces, 1, False)
    return torch.cat(pieces)


@impostor("two_level_sum", diagnosis="too_slow")
def whole_arrays_between(x, gpus, net):
    """The sum of the machine first, then the whole of it between machines."""
    first = net.rank // gpus * gpus
    inside = list(range(first, first + gpus))
    pieces = list(x.chunk(gpus))
    half_ring(net, inside, pieces, 0, True)
    half_ring(net, inside, pieces, 1, False)
    between = list(range(net.rank % gpus, net.size, gpus))
    parts = list(torch.cat(pieces).chunk(len(between)))
    half_ring(net, between, parts, 0, True)
    half_ring(net, between, parts, 1, False)
    return torch.cat(parts)


@impostor("two_level_sum", diagnosis="machines_alone")
def wrong_piece_between(x, gpus, net):
    """The piece with the own number goes between machines, which is not the finished one."""
    first = net.rank // gpus * gpus
    inside = list(range(first, first + gpus))
    pieces = list(x.chunk(gpus))
    half_ring(net, inside, pieces, 0, True)
    between = list(range(net.rank % gpus, net.size, gpus))
    parts = list(pieces[net.rank % gpus].chunk(len(between)))
    half_ring(net, between, parts, 0, True)
    half_ring(net, between, parts, 1, False)
    half_ring(net, inside, pieces, 1, False)
    return torch.cat(pieces)


@impostor("two_level_sum", diagnosis="collective_used")
def groups_of_the_library(x, gpus, net):
    dist.all_reduce(x)
    return x
