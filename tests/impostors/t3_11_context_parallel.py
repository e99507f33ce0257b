"""Wrong answers to the lab t3_11_context_parallel."""

from __future__ import annotations

import math
import sys

import cloudpickle
import torch
import torch.distributed as dist

from tests.impostors import impostor

# As from a notebook: ranks get the functions themselves and need not import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def attend(q, k, v, seen, scale=None):
    scores = (q @ k.T * (scale or q.shape[1] ** -0.5)).masked_fill(~seen, -torch.inf)
    log = torch.logsumexp(scores, dim=1)
    safe = torch.where(log == -torch.inf, 0.0, log)
    return torch.exp(scores - safe[:, None]) @ v, log


def merge(out, log, other, other_log):
    total = torch.logaddexp(log, other_log)
    a, b = torch.exp(log - total), torch.exp(other_log - total)
    return a[:, None] * out + b[:, None] * other, total


def pass_on(what):
    rank, n = dist.get_rank(), dist.get_world_size()
    came = torch.empty_like(what)
    sending = dist.isend(what, (rank + 1) % n)
    dist.recv(came, (rank - 1) % n)
    sending.wait()
    return came


def mask(query, key, starts):
    return (starts[query] <= key) & (key <= query)


def ring(q, k, v, seen, steps=None, join=merge, first=attend, back=False):
    """seen: step, rank, n -> mask; the ring of the lesson, with something else in it."""
    rank, n = dist.get_rank(), dist.get_world_size()
    block, total = torch.stack([k, v]), None
    for step in range(n if steps is None else steps(n)):
        if step:
            block = pass_on(block)
        part = first(q, *block, seen(step, rank, n))
        total = part if total is None else join(*total, *part)
    if back:
        pass_on(block)
    return total


def right(places, starts):
    """The mask of the exercise, by step."""
    return lambda step, rank, n: mask(
        places[rank][:, None], places[(rank - step) % n][None, :], starts
    )


# -- context_bill ------------------------------------------------------------------------------


@impostor("context_bill", diagnosis="home_hop")
def n_steps_of_gradients(tokens, kv_heads, head_size, itemsize, n):
    block = tokens / n * kv_heads * head_size * itemsize
    return 2 * (n - 1) * block, (2 * (n - 1) + 2 * n) * block


@impostor("context_bill", diagnosis="keys_alone")
def values_forgotten(tokens, kv_heads, head_size, itemsize, n):
    block = tokens / n * kv_heads * head_size * itemsize
    return (n - 1) * block, 2 * (n - 1) * block


@impostor("context_bill", diagnosis="gradients_alone")
def backward_like_forward(tokens, kv_heads, head_size, itemsize, n):
    block = 2 * (n - 1) * tokens / n * kv_heads * head_size * itemsize
    return block, block


@impostor("context_bill", diagnosis="in_numbers")
def not_bytes(tokens, kv_heads, head_size, itemsize, n):
    block = tokens / n * kv_heads * head_size
    return 2 * (n - 1) * block, 4 * (n - 1) * block


@impostor("context_bill", diagnosis="all_ranks")
def summed_over_ranks(tokens, kv_heads, head_size, itemsize, n):
    block = tokens * kv_heads * head_size * itemsize
    return 2 * (n - 1) * block, 4 * (n - 1) * block


@impostor("context_bill", diagnosis="own_block_sent")
def n_messages(tokens, kv_heads, head_size, itemsize, n):
    block = tokens * kv_heads * head_size * itemsize
    return 2 * block, 4 * block


# -- busy_pairs --------------------------------------------------------------------------------


def pairs(places, sees=lambda query, key: key <= query):
    n = len(places)
    return [
        [sum(sees(q, k) for q in places[r] for k in places[(r - s) % n]) for r in range(n)]
        for s in range(n)
    ]


@impostor("busy_pairs", diagnosis="not_by_step")
def largest_sum(places):
    sums = [sum(row) for row in zip(*pairs(places), strict=True)]
    return sums, max(sums)


@impostor("busy_pairs", diagnosis="all_pairs")
def no_mask(places):
    count = pairs(places, lambda query, key: True)
    return [sum(row) for row in zip(*count, strict=True)], sum(map(max, count))


@impostor("busy_pairs", diagnosis="self_left_out")
def strictly_before(places):
    count = pairs(places, lambda query, key: key < query)
    return [sum(row) for row in zip(*count, strict=True)], sum(map(max, count))


@impostor("busy_pairs", diagnosis="by_place_in_the_list")
def always_contiguous(places):
    n, c = len(places), len(places[0])
    return largest_of([[r * c + i for i in range(c)] for r in range(n)])


def largest_of(places):
    count = pairs(places)
    return [sum(row) for row in zip(*count, strict=True)], sum(map(max, count))


@impostor("busy_pairs", diagnosis="all_steps_added")
def total_of_all(places):
    sums, _ = largest_of(places)
    return sums, sum(sums)


# -- hidden_from -------------------------------------------------------------------------------


def tokens_of(heads, kv_heads, itemsize, tflops, gbs, zigzag):
    return itemsize * kv_heads * tflops * 1000 / (2 * heads * gbs) * (2 if zigzag else 1)


@impostor("hidden_from", diagnosis="of_one_rank")
def one_rank_alone(n, heads, kv_heads, itemsize, tflops, gbs, zigzag):
    pieces = 2 if zigzag else 1
    return pieces * math.ceil(tokens_of(heads, kv_heads, itemsize, tflops, gbs, zigzag) / pieces)


@impostor("hidden_from", diagnosis="mask_ignored")
def same_with_a_mask(n, heads, kv_heads, itemsize, tflops, gbs, zigzag):
    return n * math.ceil(tokens_of(heads, kv_heads, itemsize, tflops, gbs, False))


@impostor("hidden_from", diagnosis="all_heads_sent")
def no_grouped_heads(n, heads, kv_heads, itemsize, tflops, gbs, zigzag):
    pieces = 2 if zigzag else 1
    c = tokens_of(heads, heads, itemsize, tflops, gbs, zigzag)
    return n * pieces * math.ceil(c / pieces)


@impostor("hidden_from", diagnosis="odd_pieces")
def uneven_pieces(n, heads, kv_heads, itemsize, tflops, gbs, zigzag):
    return n * math.ceil(tokens_of(heads, kv_heads, itemsize, tflops, gbs, zigzag))


@impostor("hidden_from", diagnosis="rounded_down")
def one_token_short(n, heads, kv_heads, itemsize, tflops, gbs, zigzag):
    pieces = 2 if zigzag else 1
    c = tokens_of(heads, kv_heads, itemsize, tflops, gbs, zigzag)
    return n * pieces * int(c / pieces)


@impostor("hidden_from", diagnosis="always_two_bytes")
def two_bytes_always(n, heads, kv_heads, itemsize, tflops, gbs, zigzag):
    pieces = 2 if zigzag else 1
    c = tokens_of(heads, kv_heads, 2, tflops, gbs, zigzag)
    return n * pieces * math.ceil(c / pieces)


# -- ring_attention ----------------------------------------------------------------------------


@impostor("ring_attention", diagnosis="documents_ignored")
def as_in_the_lesson(q, k, v, places, starts):
    return ring(q, k, v, lambda s, r, n: places[(r - s) % n][None, :] <= places[r][:, None])


@impostor("ring_attention", diagnosis="later_keys_seen")
def same_document(q, k, v, places, starts):
    return ring(
        q, k, v,
        lambda s, r, n: starts[places[(r - s) % n]][None, :] == starts[places[r]][:, None],
    )  # fmt: skip


@impostor("ring_attention", diagnosis="other_owner")
def owner_to_the_right(q, k, v, places, starts):
    return ring(
        q, k, v,
        lambda s, r, n: mask(places[r][:, None], places[(r + s) % n][None, :], starts),
    )  # fmt: skip


@impostor("ring_attention", diagnosis="own_places")
def own_positions_for_all(q, k, v, places, starts):
    return ring(q, k, v, lambda s, r, n: mask(places[r][:, None], places[r][None, :], starts))


@impostor("ring_attention", diagnosis="places_ignored")
def as_if_contiguous(q, k, v, places, starts):
    return ring(q, k, v, right(torch.arange(places.numel()).view_as(places), starts))


@impostor("ring_attention", diagnosis="own_block")
def no_ring(q, k, v, places, starts):
    return ring(q, k, v, right(places, starts), steps=lambda n: 1)


@impostor("ring_attention", diagnosis="last_block_lost")
def one_step_short(q, k, v, places, starts):
    return ring(q, k, v, right(places, starts), steps=lambda n: n - 1)


@impostor("ring_attention", diagnosis="not_scaled")
def no_root_of_d(q, k, v, places, starts):
    return ring(
        q, k, v, right(places, starts), first=lambda q, k, v, seen: attend(q, k, v, seen, 1.0)
    )


@impostor("ring_attention", diagnosis="averaged")
def mean_of_parts(q, k, v, places, starts):
    n = dist.get_world_size()
    out, log = ring(
        q, k, v, right(places, starts),
        join=lambda out, log, other, more: (out + other, torch.logaddexp(log, more)),
    )  # fmt: skip
    return out / n, log


@impostor("ring_attention", diagnosis="added_up")
def sum_of_parts(q, k, v, places, starts):
    return ring(
        q, k, v, right(places, starts),
        join=lambda out, log, other, more: (out + other, torch.logaddexp(log, more)),
    )  # fmt: skip


@impostor("ring_attention", diagnosis="last_log")
def log_of_the_last(q, k, v, places, starts):
    rank, n = dist.get_rank(), dist.get_world_size()
    block, total = torch.stack([k, v]), None
    for step in range(n):
        if step:
            block = pass_on(block)
        part = attend(q, *block, right(places, starts)(step, rank, n))
        total = part if total is None else merge(*total, *part)
    return total[0], part[1]


@impostor("ring_attention", diagnosis="not_finite")
def hidden_rows(q, k, v, places, starts):
    def first(q, k, v, seen):
        scores = (q @ k.T * q.shape[1] ** -0.5).masked_fill(~seen, -torch.inf)
        log = torch.logsumexp(scores, dim=1)
        return torch.exp(scores - log[:, None]) @ v, log

    return ring(q, k, v, right(places, starts), first=first)


@impostor("ring_attention", diagnosis="not_finite")
def sums_of_exponentials(q, k, v, places, starts):
    def first(q, k, v, seen):
        weights = torch.exp(q @ k.T * q.shape[1] ** -0.5) * seen
        return weights @ v, weights.sum(1)

    out, total = ring(
        q, k, v, right(places, starts), first=first,
        join=lambda out, total, other, more: (out + other, total + more),
    )  # fmt: skip
    return out / total[:, None], torch.log(total)


@impostor("ring_attention", diagnosis="hang")
def all_send_first(q, k, v, places, starts):
    rank, n = dist.get_rank(), dist.get_world_size()
    block = torch.stack([k, v])
    total = attend(q, *block, right(places, starts)(0, rank, n))
    for step in range(1, n):
        came = torch.empty_like(block)
        dist.send(block, (rank + 1) % n)
        dist.recv(came, (rank - 1) % n)
        block = came
        total = merge(*total, *attend(q, *block, right(places, starts)(step, rank, n)))
    return total


@impostor("ring_attention", diagnosis="collective_used")
def all_gathered(q, k, v, places, starts):
    rank, n = dist.get_rank(), dist.get_world_size()
    blocks = [torch.empty(2, *k.shape, dtype=k.dtype) for _ in range(n)]
    dist.all_gather(blocks, torch.stack([k, v]))
    total = None
    for step in range(n):
        part = attend(q, *blocks[(rank - step) % n], right(places, starts)(step, rank, n))
        total = part if total is None else merge(*total, *part)
    return total


@impostor("ring_attention", diagnosis="too_large")
def all_keys_at_once(q, k, v, places, starts):
    rank, n = dist.get_rank(), dist.get_world_size()
    blocks = [torch.stack([k, v])]
    for _ in range(n - 1):
        blocks.append(pass_on(blocks[-1]))
    keys, values = torch.cat(blocks, dim=1)
    at = torch.cat([places[(rank - step) % n] for step in range(n)])
    return attend(q, keys, values, mask(places[rank][:, None], at[None, :], starts))


@impostor("ring_attention", diagnosis="too_many_bytes")
def once_more_round(q, k, v, places, starts):
    return ring(q, k, v, right(places, starts), back=True)


@impostor("ring_attention", diagnosis="wrong_values")
def in_single_precision(q, k, v, places, starts):
    out, log = ring(q.float(), k.float(), v.float(), right(places, starts))
    return out.double(), log.double()


@impostor("ring_attention", diagnosis="wrong_type")
def outputs_alone(q, k, v, places, starts):
    return ring(q, k, v, right(places, starts))[0]


@impostor("ring_attention", diagnosis="no_return")
def only_rank_0_returns(q, k, v, places, starts):
    total = ring(q, k, v, right(places, starts))
    return total if dist.get_rank() == 0 else None


# -- ring_gradients ----------------------------------------------------------------------------


def block_shares(q, k, v, log, d_out, D, seen, scale=None, own_log=False):
    scale = scale or q.shape[1] ** -0.5
    scores = (q @ k.T * q.shape[1] ** -0.5).masked_fill(~seen, -torch.inf)
    if own_log:
        log = torch.logsumexp(scores, dim=1)
        log = torch.where(log == -torch.inf, 0.0, log)
    P = torch.exp(scores - log[:, None])
    dS = P * (d_out @ v.T - D) * scale
    return dS @ k, torch.stack([dS.T @ q, P.T @ d_out])


def backward(q, k, v, out, log, d_out, places, how, causal=True, D=None, in_order=False, **more):
    """how: what becomes of the shares: "home", "short", "lost", "own", "others", "lesson"."""
    rank, n = dist.get_rank(), dist.get_world_size()
    D = (d_out * out).sum(1, keepdim=True) if D is None else D
    if in_order:
        places = torch.arange(places.numel()).view_as(places)
    dq, block, travelling, own = 0, torch.stack([k, v]), None, None
    for step in range(n):
        if step:
            block = pass_on(block)
            travelling = pass_on(travelling) if travelling is not None else None
        seen = places[(rank - step) % n][None, :] <= places[rank][:, None]
        if not causal:
            seen = torch.ones_like(seen)
        part, share = block_shares(q, *block, log, d_out, D, seen, **more)
        dq = dq + part
        if step == 0 and how != "lesson" and how != "short":
            own = share
        else:
            travelling = share if travelling is None else travelling + share
    if how in ("lesson", "home", "others"):
        came = pass_on(travelling)
        own = came if how in ("lesson", "others") else own + came
    elif how == "short":
        own = travelling
    elif how == "lost":
        own = own + travelling
    return dq, own[0], own[1]


@impostor("ring_gradients", diagnosis="too_many_bytes")
def as_in_the_lessons_program(q, k, v, out, log, d_out, places):
    return backward(q, k, v, out, log, d_out, places, "lesson")


@impostor("ring_gradients", diagnosis="not_home")
def stays_where_it_is(q, k, v, out, log, d_out, places):
    return backward(q, k, v, out, log, d_out, places, "short")


@impostor("ring_gradients", diagnosis="own_share")
def only_its_own(q, k, v, out, log, d_out, places):
    return backward(q, k, v, out, log, d_out, places, "own")


@impostor("ring_gradients", diagnosis="own_share_lost")
def only_the_others(q, k, v, out, log, d_out, places):
    return backward(q, k, v, out, log, d_out, places, "others")


@impostor("ring_gradients", diagnosis="d_left_out")
def no_correction(q, k, v, out, log, d_out, places):
    return backward(q, k, v, out, log, d_out, places, "home", D=0.0)


@impostor("ring_gradients", diagnosis="not_scaled")
def no_root_in_the_gradient(q, k, v, out, log, d_out, places):
    return backward(q, k, v, out, log, d_out, places, "home", scale=1.0)


@impostor("ring_gradients", diagnosis="later_keys_seen")
def no_mask_backward(q, k, v, out, log, d_out, places):
    return backward(q, k, v, out, log, d_out, places, "home", causal=False)


@impostor("ring_gradients", diagnosis="places_ignored")
def as_if_contiguous_backward(q, k, v, out, log, d_out, places):
    return backward(q, k, v, out, log, d_out, places, "home", in_order=True)


@impostor("ring_gradients", diagnosis="last_hop_missing")
def added_where_it_is(q, k, v, out, log, d_out, places):
    return backward(q, k, v, out, log, d_out, places, "lost")


@impostor("ring_gradients", diagnosis="block_log")
def softmax_of_the_block(q, k, v, out, log, d_out, places):
    return backward(q, k, v, out, log, d_out, places, "home", own_log=True)


@impostor("ring_gradients", diagnosis="exchanged")
def values_before_keys(q, k, v, out, log, d_out, places):
    dq, dk, dv = backward(q, k, v, out, log, d_out, places, "home")
    return dq, dv, dk


@impostor("ring_gradients", diagnosis="collective_used")
def summed_by_all_reduce(q, k, v, out, log, d_out, places):
    rank, n = dist.get_rank(), dist.get_world_size()
    D, dq, block = (d_out * out).sum(1, keepdim=True), 0, torch.stack([k, v])
    sums = [torch.zeros_like(block) for _ in range(n)]
    for step in range(n):
        owner = (rank - step) % n
        block = pass_on(block) if step else block
        seen = places[owner][None, :] <= places[rank][:, None]
        part, sums[owner] = block_shares(q, *block, log, d_out, D, seen)
        dq = dq + part
    for one in sums:
        dist.all_reduce(one)
    return dq, sums[rank][0], sums[rank][1]


# -- zigzag_attention --------------------------------------------------------------------------


def zigzag(q, k, v, lower, higher, own=None):
    """lower, higher: (queries, keys) as slices of halves that are computed."""
    rank, n = dist.get_rank(), dist.get_world_size()
    p = len(q) // 2
    halves = {"early": slice(0, p), "late": slice(p, 2 * p), "all": slice(0, 2 * p)}
    block = torch.stack([k, v])
    seen = torch.ones(2 * p, 2 * p, dtype=torch.bool).tril() if own is None else own
    out, log = attend(q, k, v, seen)
    for step in range(1, n):
        block = pass_on(block)
        mine, theirs = (halves[one] for one in (lower if step <= rank else higher))
        keys, values = block[:, theirs]
        part = attend(q[mine], keys, values, torch.ones(len(q[mine]), len(keys)).bool())
        out[mine], log[mine] = merge(out[mine], log[mine], *part)
    return out


@impostor("zigzag_attention", diagnosis="too_many_flops")
def masked_as_in_the_lesson(q, k, v):
    n, p = dist.get_world_size(), len(q) // 2
    pieces = torch.arange(2 * n * p).chunk(2 * n)
    places = [torch.cat([pieces[r], pieces[2 * n - 1 - r]]) for r in range(n)]
    starts = torch.zeros(2 * n * p, dtype=torch.long)
    return ring(q, k, v, right(places, starts))[0]


@impostor("zigzag_attention", diagnosis="cases_exchanged")
def lower_and_higher_exchanged(q, k, v):
    return zigzag(q, k, v, ("late", "all"), ("all", "early"))


@impostor("zigzag_attention", diagnosis="early_always")
def early_keys_always(q, k, v):
    return zigzag(q, k, v, ("all", "early"), ("all", "early"))


@impostor("zigzag_attention", diagnosis="late_always")
def late_queries_always(q, k, v):
    return zigzag(q, k, v, ("late", "all"), ("late", "all"))


@impostor("zigzag_attention", diagnosis="late_keys")
def the_other_half_of_keys(q, k, v):
    return zigzag(q, k, v, ("all", "late"), ("late", "all"))


@impostor("zigzag_attention", diagnosis="early_queries")
def the_other_half_of_queries(q, k, v):
    return zigzag(q, k, v, ("all", "early"), ("early", "all"))


@impostor("zigzag_attention", diagnosis="own_block_open")
def no_mask_at_home(q, k, v):
    own = torch.ones(len(q), len(q), dtype=torch.bool)
    return zigzag(q, k, v, ("all", "early"), ("late", "all"), own)


@impostor("zigzag_attention", diagnosis="as_contiguous")
def skips_later_ranks(q, k, v):
    rank, n = dist.get_rank(), dist.get_world_size()
    out, log = attend(q, k, v, torch.ones(len(q), len(q), dtype=torch.bool).tril())
    block = torch.stack([k, v])
    for step in range(1, n):
        block = pass_on(block)
        if step <= rank:
            every = torch.ones(len(q), len(q), dtype=torch.bool)
            out, log = merge(out, log, *attend(q, *block, every))
    return out


@impostor("zigzag_attention", diagnosis="not_counted")
def without_matrix_products(q, k, v):
    rank, n = dist.get_rank(), dist.get_world_size()
    p, scale = len(q) // 2, q.shape[1] ** -0.5
    pieces = torch.arange(2 * n * p).chunk(2 * n)
    places = [torch.cat([pieces[r], pieces[2 * n - 1 - r]]) for r in range(n)]

    def first(q, k, v, seen):
        scores = torch.stack([(one * k).sum(1) * scale for one in q])
        scores = scores.masked_fill(~seen, -torch.inf)
        log = torch.logsumexp(scores, dim=1)
        weights = torch.exp(scores - torch.where(log == -torch.inf, 0.0, log)[:, None])
        return torch.stack([(row[:, None] * v).sum(0) for row in weights]), log

    starts = torch.zeros(2 * n * p, dtype=torch.long)
    return ring(q, k, v, right(places, starts), first=first)[0]
