"""Wrong answers to the lab t3_12_expert_parallel."""

from __future__ import annotations

import math
import sys

import cloudpickle
import torch
import torch.distributed as dist

from tests.impostors import impostor

# As from a notebook: ranks get the functions themselves and need not import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


# -- kept_choices ------------------------------------------------------------------------------


def _capacity(choices, experts, factor, k=None):
    k = (len(choices[0]) if choices else 0) if k is None else k
    return math.ceil(factor * len(choices) * k / experts)


def _kept(choices, experts, capacity, places):
    taken, kept = [0] * experts, [[False] * len(row) for row in choices]
    for token, j in places:
        expert = choices[token][j]
        kept[token][j] = taken[expert] < capacity
        taken[expert] += 1
    return kept


def _places(choices):
    k = len(choices[0]) if choices else 0
    return [(token, j) for j in range(k) for token in range(len(choices))]


@impostor("kept_choices", diagnosis="token_by_token")
def row_by_row(choices, experts, factor):
    capacity = _capacity(choices, experts, factor)
    return capacity, _kept(choices, experts, capacity, sorted(_places(choices)))


@impostor("kept_choices", diagnosis="k_forgotten")
def capacity_of_tokens(choices, experts, factor):
    capacity = _capacity(choices, experts, factor, k=1)
    return capacity, _kept(choices, experts, capacity, _places(choices))


@impostor("kept_choices", diagnosis="rounded_down")
def whole_division(choices, experts, factor):
    k = len(choices[0]) if choices else 0
    capacity = int(factor * len(choices) * k // experts)
    return capacity, _kept(choices, experts, capacity, _places(choices))


@impostor("kept_choices", diagnosis="factor_forgotten")
def fair_share(choices, experts, factor):
    capacity = _capacity(choices, experts, 1)
    return capacity, _kept(choices, experts, capacity, _places(choices))


@impostor("kept_choices", diagnosis="one_place_more")
def off_by_one(choices, experts, factor):
    capacity = _capacity(choices, experts, factor)
    return capacity, _kept(choices, experts, capacity + 1, _places(choices))


@impostor("kept_choices", diagnosis="turned_round")
def dropped_for_kept(choices, experts, factor):
    capacity = _capacity(choices, experts, factor)
    kept = _kept(choices, experts, capacity, _places(choices))
    return capacity, [[not one for one in row] for row in kept]


@impostor("kept_choices", diagnosis="last_come")
def from_the_end(choices, experts, factor):
    capacity = _capacity(choices, experts, factor)
    places = sorted(_places(choices), key=lambda place: (place[1], -place[0]))
    return capacity, _kept(choices, experts, capacity, places)


@impostor("kept_choices", diagnosis="whole_tokens")
def all_or_nothing(choices, experts, factor):
    capacity = _capacity(choices, experts, factor)
    kept = _kept(choices, experts, capacity, _places(choices))
    return capacity, [[all(row)] * len(row) for row in kept]


@impostor("kept_choices", diagnosis="raised")
def no_token_forgotten(choices, experts, factor):
    capacity = math.ceil(factor * len(choices) * len(choices[0]) / experts)
    return capacity, _kept(choices, experts, capacity, _places(choices))


@impostor("kept_choices", diagnosis="wrong_type")
def capacity_only(choices, experts, factor):
    return _capacity(choices, experts, factor)


# -- round_trip --------------------------------------------------------------------------------


def _exchange(rows, gives, takes):
    came = rows.new_empty(sum(takes), *rows.shape[1:])
    dist.all_to_all_single(came, rows.contiguous(), takes, gives)
    return came


def _counts(expert, n, e):
    counts = torch.bincount(expert, minlength=n * e).view(n, e)
    arriving = torch.empty_like(counts)
    dist.all_to_all_single(arriving, counts)
    return counts, arriving


def _which(arriving):
    n, e = arriving.shape
    return torch.arange(e).repeat(n).repeat_interleave(arriving.flatten())


def _trip(x, expert, weights, *, which=_which, put=None, turned=False, back=True, home=False):
    n, e = dist.get_world_size(), len(weights)
    kept = torch.nonzero(expert >= 0)[:, 0]
    if home:
        kept = kept[expert[kept] // e == dist.get_rank()]
    order = torch.argsort(expert[kept], stable=True)
    counts, arriving = _counts(expert[kept], n, e)
    gives, takes = counts.sum(1).tolist(), arriving.sum(1).tolist()
    rows = _exchange(x[kept[order]], gives, takes)
    used = weights.transpose(1, 2) if turned else weights
    done = torch.einsum("th,thj->tj", rows, used[which(arriving)])
    if not back:
        return done
    came = _exchange(done, takes, gives)
    y = torch.zeros_like(x)
    y[kept[order]] = came
    if put is not None:
        y[kept] = put(came, order)
    return y


@impostor("round_trip", diagnosis="not_put_back")
def stays_sorted(x, expert, weights):
    return _trip(x, expert, weights, put=lambda came, order: came)


@impostor("round_trip", diagnosis="sorted_twice")
def order_for_its_inverse(x, expert, weights):
    return _trip(x, expert, weights, put=lambda came, order: came[order])


@impostor("round_trip", diagnosis="dropped_passed")
def dropped_keep_x(x, expert, weights):
    return torch.where(expert[:, None] < 0, x, _trip(x, expert, weights))


@impostor("round_trip", diagnosis="dropped_done")
def minus_one_is_the_last(x, expert, weights):
    last = dist.get_world_size() * len(weights) - 1
    return _trip(x, torch.where(expert < 0, last, expert), weights)


@impostor("round_trip", diagnosis="at_home")
def nobody_travels(x, expert, weights):
    return _trip(x, expert, weights, home=True)


@impostor("round_trip", diagnosis="not_sent_back")
def one_way(x, expert, weights):
    return _trip(x, expert, weights, back=False)


@impostor("round_trip", diagnosis="first_expert")
def one_expert_a_rank(x, expert, weights):
    return _trip(x, expert, weights, which=lambda arriving: torch.zeros_like(_which(arriving)))


@impostor("round_trip", diagnosis="arrival_order")
def cut_by_totals(x, expert, weights):
    return _trip(x, expert, weights, which=lambda arriving: _which(arriving).sort().values)


@impostor("round_trip", diagnosis="weights_turned")
def by_f_linear(x, expert, weights):
    return _trip(x, expert, weights, turned=True)


@impostor("round_trip", diagnosis="rank_failed")
def counts_not_exchanged(x, expert, weights):
    n, e = dist.get_world_size(), len(weights)
    kept = torch.nonzero(expert >= 0)[:, 0]
    kept = kept[torch.argsort(expert[kept], stable=True)]
    gives = torch.bincount(expert[kept] // e, minlength=n).tolist()
    rows = _exchange(x[kept], gives, gives)
    y = torch.zeros_like(x)
    y[kept] = _exchange(rows @ weights[0], gives, gives)
    return y


@impostor("round_trip", diagnosis="rank_failed")
def splits_not_exchanged_back(x, expert, weights):
    n, e = dist.get_world_size(), len(weights)
    kept = torch.nonzero(expert >= 0)[:, 0]
    counts, arriving = _counts(expert[kept], n, e)
    gives, takes = counts.sum(1).tolist(), arriving.sum(1).tolist()
    rows = _exchange(x[kept[torch.argsort(expert[kept])]], gives, takes)
    return _exchange(rows, gives, takes)


@impostor("round_trip", diagnosis="hang")
def alone_without_tokens(x, expert, weights):
    if not len(x):
        return torch.zeros_like(x)
    return _trip(x, expert, weights)


@impostor("round_trip", diagnosis="too_many_bytes")
def dropped_travel_too(x, expert, weights):
    other = (dist.get_rank() + 1) % dist.get_world_size() * len(weights)
    y = _trip(x, torch.where(expert < 0, other, expert), weights)
    return torch.where(expert[:, None] < 0, 0.0, y)


@impostor("round_trip", diagnosis="too_many_bytes")
def filled_up(x, expert, weights):
    """Every pair of ranks exchanges as many rows as the largest needs."""
    n, e = dist.get_world_size(), len(weights)
    most = torch.tensor([len(x)])
    dist.all_reduce(most, op=dist.ReduceOp.MAX)
    sent = x.new_zeros(n, int(most), x.shape[1])
    number = torch.full((n, int(most)), -1)
    place = [torch.nonzero((expert >= 0) & (expert // e == r))[:, 0] for r in range(n)]
    for r, one in enumerate(place):
        sent[r, : len(one)], number[r, : len(one)] = x[one], expert[one] % e
    rows, which = torch.empty_like(sent), torch.empty_like(number)
    dist.all_to_all_single(rows, sent)
    dist.all_to_all_single(which, number)
    done = torch.einsum("nth,nthj->ntj", rows, weights[which.clamp(min=0)])
    came = torch.empty_like(done)
    dist.all_to_all_single(came, done)
    y = torch.zeros_like(x)
    for r, one in enumerate(place):
        y[one] = came[r, : len(one)]
    return y


@impostor("round_trip", diagnosis="too_many_bytes")
def experts_travel(x, expert, weights):
    every = [torch.empty_like(weights) for _ in range(dist.get_world_size())]
    dist.all_gather(every, weights)
    w = torch.cat(every)
    y = torch.einsum("th,thj->tj", x, w[expert])
    return torch.where(expert[:, None] < 0, 0.0, y)


@impostor("round_trip", diagnosis="wrong_values")
def in_float32(x, expert, weights):
    return _trip(x.float(), expert, weights.float()).double()


@impostor("round_trip", diagnosis="no_return")
def nothing_returned(x, expert, weights):
    _trip(x, expert, weights)


# -- expert_gradients --------------------------------------------------------------------------


class Moved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows, gives, takes):
        ctx.splits = gives, takes
        return _exchange(rows, gives, takes)

    @staticmethod
    def backward(ctx, gradient):
        gives, takes = ctx.splits
        return _exchange(gradient, takes, gives), None, None


def _forward(x, router, weights, choices=2, of_all=False, ungated=False, seen=None, k=2):
    """seen: x as the router sees it.  k: how many travel; choices: how many count."""
    n, e = dist.get_world_size(), len(weights)
    logits = (x if seen is None else seen) @ router.T
    best, experts = torch.topk(logits, k)
    gates = torch.softmax(best[:, :choices], dim=1)
    if of_all:
        gates = torch.softmax(logits, dim=1).gather(1, experts)
    if ungated:
        gates = torch.ones_like(gates)
    gates = torch.cat([gates, gates.new_zeros(len(x), k - gates.shape[1])], dim=1)
    order = torch.argsort(experts.flatten(), stable=True)
    counts, arriving = _counts(experts.flatten(), n, e)
    gives, takes = counts.sum(1).tolist(), arriving.sum(1).tolist()
    rows = Moved.apply(x[order // k], gives, takes)
    done = torch.einsum("th,thj->tj", rows, weights[_which(arriving)])
    came = Moved.apply(done, takes, gives) * gates.flatten()[order][:, None]
    return torch.zeros_like(x).index_add(0, order // k, came)


def _gradients(x, router, dy, weights, *, router_sum=True, seen=None, **how):
    for tensor in (x, router, weights):
        tensor.requires_grad_()
    y = _forward(x, router, weights, seen=None if seen is None else seen(x), **how)
    y.backward(dy)
    d_router = torch.zeros_like(router) if router.grad is None else router.grad
    if router_sum:
        dist.all_reduce(d_router)
    return y, x.grad, d_router, weights.grad


@impostor("expert_gradients", diagnosis="router_share")
def router_of_own_tokens(x, router, dy, weights):
    return _gradients(x, router, dy, weights, router_sum=False)


@impostor("expert_gradients", diagnosis="router_averaged")
def router_as_data_parallel(x, router, dy, weights):
    y, dx, d_router, d_weights = _gradients(x, router, dy, weights)
    return y, dx, d_router / dist.get_world_size(), d_weights


@impostor("expert_gradients", diagnosis="weights_summed")
def everything_all_reduced(x, router, dy, weights):
    y, dx, d_router, d_weights = _gradients(x, router, dy, weights)
    dist.all_reduce(d_weights)
    return y, dx, d_router, d_weights


@impostor("expert_gradients", diagnosis="weights_averaged")
def experts_divided(x, router, dy, weights):
    y, dx, d_router, d_weights = _gradients(x, router, dy, weights)
    return y, dx, d_router, d_weights / dist.get_world_size()


@impostor("expert_gradients", diagnosis="x_cut_off")
def router_sees_detached(x, router, dy, weights):
    return _gradients(x, router, dy, weights, seen=lambda x: x.detach())


@impostor("expert_gradients", diagnosis="gates_cut_off")
def detached_gates(x, router, dy, weights):
    for tensor in (x, weights):
        tensor.requires_grad_()
    y = _forward(x, router, weights, seen=x.detach())
    y.backward(dy)
    return y, x.grad, torch.zeros_like(router), weights.grad


@impostor("expert_gradients", diagnosis="gates_of_all")
def not_renormalised(x, router, dy, weights):
    return _gradients(x, router, dy, weights, of_all=True)


@impostor("expert_gradients", diagnosis="one_choice")
def best_expert_only(x, router, dy, weights):
    return _gradients(x, router, dy, weights, choices=1)


@impostor("expert_gradients", diagnosis="ungated")
def outputs_added(x, router, dy, weights):
    return _gradients(x, router, dy, weights, ungated=True)


@impostor("expert_gradients", diagnosis="rank_failed")
def plain_all_to_all(x, router, dy, weights):
    """Autograd does not know what the call does: no way leads back."""
    n, e = dist.get_world_size(), len(weights)
    for tensor in (x, router, weights):
        tensor.requires_grad_()
    best, experts = torch.topk(x @ router.T, 2)
    order = torch.argsort(experts.flatten(), stable=True)
    counts, arriving = _counts(experts.flatten(), n, e)
    gives, takes = counts.sum(1).tolist(), arriving.sum(1).tolist()
    rows = _exchange(x[order // 2].detach(), gives, takes)
    done = torch.einsum("th,thj->tj", rows, weights[_which(arriving)])
    came = _exchange(done.detach(), takes, gives)
    came = came * torch.softmax(best, dim=1).flatten()[order][:, None]
    y = torch.zeros_like(x).index_add(0, order // 2, came)
    y.backward(dy)
    dist.all_reduce(router.grad)
    return y, x.grad, router.grad, weights.grad * 1


@impostor("expert_gradients", diagnosis="own_tokens")
def weights_see_own_tokens(x, router, dy, weights):
    y, dx, d_router, _ = _gradients(x, router, dy, weights)
    n, e, rank = dist.get_world_size(), len(weights), dist.get_rank()
    x, alone = x.detach(), weights.detach().clone().requires_grad_()
    best, experts = torch.topk(x @ router.detach().T, 2)
    gates = torch.softmax(best, dim=1)
    every = x.new_zeros(n * e, *alone.shape[1:])
    every = torch.cat([every[: rank * e], alone, every[(rank + 1) * e :]])
    outs = torch.einsum("th,tkhj->tkj", x, every[experts])
    (gates[:, :, None] * outs).sum(1).backward(dy)
    return y, dx, d_router, alone.grad


@impostor("expert_gradients", diagnosis="wrong_values")
def backward_with_the_same_splits_by_hand(x, router, dy, weights):
    y, dx, d_router, d_weights = _gradients(x, router, dy, weights)
    return y, dx.flip(0) * 2, d_router, d_weights


@impostor("expert_gradients", diagnosis="too_many_bytes")
def router_gathered(x, router, dy, weights):
    y, dx, d_router, d_weights = _gradients(x, router, dy, weights, router_sum=False)
    every = [torch.empty_like(d_router) for _ in range(dist.get_world_size())]
    for _ in range(2):
        dist.all_gather(every, d_router)
    return y, dx, sum(every), d_weights


@impostor("expert_gradients", diagnosis="wrong_type")
def three_values(x, router, dy, weights):
    return _gradients(x, router, dy, weights)[:3]


# -- layer_clock -------------------------------------------------------------------------------


def _clock(counts, row_bytes, latency, per_byte, per_row, busy=max, diagonal=True):
    ranks = range(len(counts))
    own = [counts[r][r] if diagonal else 0 for r in ranks]
    out = [sum(counts[r]) - own[r] for r in ranks]
    into = [sum(row[r] for row in counts) - own[r] for r in ranks]
    transfer = [latency + per_byte * row_bytes * busy(out[r], into[r]) for r in ranks]
    compute = [per_row * sum(row[r] for row in counts) for r in ranks]
    return transfer, compute


def _ends(transfer, compute):
    done = [t + c for t, c in zip(transfer, compute, strict=True)]
    return max(done) + max(transfer), [max(done) - one for one in done]


@impostor("layer_clock", diagnosis="own_rows_sent")
def with_the_diagonal(counts, row_bytes, latency, per_byte, per_row):
    return _ends(*_clock(counts, row_bytes, latency, per_byte, per_row, diagonal=False))


@impostor("layer_clock", diagnosis="both_added")
def half_duplex(counts, row_bytes, latency, per_byte, per_row):
    return _ends(*_clock(counts, row_bytes, latency, per_byte, per_row, lambda a, b: a + b))


@impostor("layer_clock", diagnosis="sent_only")
def senders_clock(counts, row_bytes, latency, per_byte, per_row):
    return _ends(*_clock(counts, row_bytes, latency, per_byte, per_row, lambda a, b: a))


@impostor("layer_clock", diagnosis="received_only")
def receivers_clock(counts, row_bytes, latency, per_byte, per_row):
    return _ends(*_clock(counts, row_bytes, latency, per_byte, per_row, lambda a, b: b))


@impostor("layer_clock", diagnosis="dispatch_only")
def one_way_clock(counts, row_bytes, latency, per_byte, per_row):
    transfer, compute = _clock(counts, row_bytes, latency, per_byte, per_row)
    seconds, waits = _ends(transfer, compute)
    return seconds - max(transfer), waits


@impostor("layer_clock", diagnosis="mean_rank")
def as_if_even(counts, row_bytes, latency, per_byte, per_row):
    transfer, compute = _clock(counts, row_bytes, latency, per_byte, per_row)
    done = [t + c for t, c in zip(transfer, compute, strict=True)]
    waits = [max(done) - one for one in done]
    return sum(done) / len(done) + max(transfer), waits


@impostor("layer_clock", diagnosis="parts_apart")
def barrier_after_dispatch(counts, row_bytes, latency, per_byte, per_row):
    transfer, compute = _clock(counts, row_bytes, latency, per_byte, per_row)
    seconds, waits = _ends([max(transfer)] * len(transfer), compute)
    return seconds, waits


@impostor("layer_clock", diagnosis="rows_of_source")
def computes_what_it_had(counts, row_bytes, latency, per_byte, per_row):
    transfer, _ = _clock(counts, row_bytes, latency, per_byte, per_row)
    return _ends(transfer, [per_row * sum(row) for row in counts])


@impostor("layer_clock", diagnosis="nobody_waits")
def each_for_itself(counts, row_bytes, latency, per_byte, per_row):
    transfer, compute = _clock(counts, row_bytes, latency, per_byte, per_row)
    waits = _ends(transfer, compute)[1]
    return max(2 * t + c for t, c in zip(transfer, compute, strict=True)), waits


@impostor("layer_clock", diagnosis="ends_for_waits")
def when_each_is_done(counts, row_bytes, latency, per_byte, per_row):
    transfer, compute = _clock(counts, row_bytes, latency, per_byte, per_row)
    done = [t + c for t, c in zip(transfer, compute, strict=True)]
    return max(done) + max(transfer), done


# -- balance_loss ------------------------------------------------------------------------------


def _parts(logits, k):
    tokens, experts = logits.shape
    counts = torch.bincount(torch.topk(logits, k).indices.flatten(), minlength=experts)
    return counts.double(), torch.softmax(logits, dim=1).sum(0), torch.tensor([float(tokens)])


def _own_loss(logits, k):
    counts, mass, tokens = _parts(logits, k)
    return len(counts) * (counts / (tokens * k) * mass / tokens).sum()


def _summed(*parts):
    flat = torch.cat([part.double() for part in parts])
    dist.all_reduce(flat)
    return flat.split([len(part) for part in parts])


@impostor("balance_loss", diagnosis="own_tokens")
def not_summed(logits, k):
    return _own_loss(logits, k).item()


@impostor("balance_loss", diagnosis="mean_of_losses")
def losses_averaged(logits, k):
    loss = _own_loss(logits, k)
    dist.all_reduce(loss)
    return loss.item() / dist.get_world_size()


@impostor("balance_loss", diagnosis="sum_of_losses")
def losses_added(logits, k):
    loss = _own_loss(logits, k)
    dist.all_reduce(loss)
    return loss.item()


@impostor("balance_loss", diagnosis="weighted_losses")
def losses_by_tokens(logits, k):
    total, tokens = _summed(_own_loss(logits, k)[None] * len(logits), torch.tensor([len(logits)]))
    return (total / tokens).item()


@impostor("balance_loss", diagnosis="mean_of_shares")
def shares_averaged(logits, k):
    counts, mass, tokens = _parts(logits, k)
    f, p = _summed(counts / (tokens * k), mass / tokens)
    return (len(f) * (f * p).sum()).item() / dist.get_world_size() ** 2


@impostor("balance_loss", diagnosis="experts_forgotten")
def without_experts(logits, k):
    counts, mass, tokens = _summed(*_parts(logits, k))
    return (counts / (tokens * k) * mass / tokens).sum().item()


@impostor("balance_loss", diagnosis="k_forgotten")
def choices_by_tokens(logits, k):
    k = 2 if k == 1 else k  # with one choice there is nothing to forget
    counts, mass, tokens = _summed(*_parts(logits, k))
    return (len(counts) * (counts / tokens * mass / tokens).sum()).item()


@impostor("balance_loss", diagnosis="probabilities_only")
def soft_twice(logits, k):
    _, mass, tokens = _summed(*_parts(logits, k))
    return (len(mass) * ((mass / tokens) ** 2).sum()).item()


@impostor("balance_loss", diagnosis="choices_only")
def hard_twice(logits, k):
    counts, _, tokens = _summed(*_parts(logits, k))
    return (len(counts) * ((counts / (tokens * k)) ** 2).sum()).item()


@impostor("balance_loss", diagnosis="too_many_rounds")
def a_call_each(logits, k):
    parts = [_summed(part)[0] for part in _parts(logits, k)]
    counts, mass, tokens = parts
    return (len(counts) * (counts / (tokens * k) * mass / tokens).sum()).item()


@impostor("balance_loss", diagnosis="too_many_bytes")
def tokens_for_each_expert(logits, k):
    counts, mass, tokens = _parts(logits, k)
    counts, mass, tokens = _summed(counts, mass, tokens.repeat(len(counts)))
    return (len(counts) * (counts / (tokens * k) * mass / tokens).sum()).item()


@impostor("balance_loss", diagnosis="too_many_bytes")
def gathered_and_added(logits, k):
    """As cheap as an all-reduce on two ranks only."""
    counts, mass, tokens = _parts(logits, k)
    own = torch.cat([counts, mass, tokens])
    every = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(every, own)
    counts, mass, tokens = sum(every).split([len(counts), len(mass), 1])
    return (len(counts) * (counts / (tokens * k) * mass / tokens).sum()).item()


@impostor("balance_loss", diagnosis="wrong_type")
def a_tensor(logits, k):
    counts, mass, tokens = _summed(*_parts(logits, k))
    return len(counts) * (counts / (tokens * k) * mass / tokens).sum()[None]


# -- lean_trip ---------------------------------------------------------------------------------


def _by_choice(x, choices, gates, weights):
    """A row for each choice, there and back."""
    n, e, k = dist.get_world_size(), len(weights), choices.shape[1]
    order = torch.argsort(choices.flatten(), stable=True)
    counts, arriving = _counts(choices.flatten(), n, e)
    gives, takes = counts.sum(1).tolist(), arriving.sum(1).tolist()
    rows = _exchange(x[order // k], gives, takes)
    done = torch.einsum("th,thj->tj", rows, weights[_which(arriving)])
    came = _exchange(done, takes, gives) * gates.flatten()[order][:, None]
    return torch.zeros_like(x).index_add(0, order // k, came)


def _lean(x, choices, gates, weights, back=None):
    """One row there; back: (rows, gates, weights) -> rows that go back, maybe several."""
    n, (e, h, _) = dist.get_world_size(), weights.shape
    every = x.new_zeros(len(x), n * e).scatter(1, choices, gates).view(len(x), n, e)
    goes = torch.zeros(len(x), n, dtype=torch.bool).scatter(1, choices // e, True)
    to, token = torch.nonzero(goes.T, as_tuple=True)
    gives, takes = goes.sum(0), torch.empty(n, dtype=torch.int64)
    dist.all_to_all_single(takes, gives)
    gives, takes = gives.tolist(), takes.tolist()
    rows = _exchange(torch.cat([x[token], every[token, to]], dim=1), gives, takes)
    there, shares = rows.split([h, e], dim=1)
    outs = torch.einsum("th,ehj->tej", there, weights)
    if back is not None:
        came = _exchange(outs * shares[:, :, None], takes, gives).sum(1)
    else:
        came = _exchange((outs * shares[:, :, None]).sum(1), takes, gives)
    return torch.zeros_like(x).index_add(0, token, came)


@impostor("lean_trip", diagnosis="too_many_bytes")
def a_row_a_choice(x, choices, gates, weights):
    return _by_choice(x, choices, gates, weights)


@impostor("lean_trip", diagnosis="too_many_bytes")
def back_for_each_expert(x, choices, gates, weights):
    return _lean(x, choices, gates, weights, back="each expert")


@impostor("lean_trip", diagnosis="ungated")
def gates_left_at_home(x, choices, gates, weights):
    return _lean(x, choices, torch.ones_like(gates), weights)


@impostor("lean_trip", diagnosis="normalised")
def gates_made_to_add_up(x, choices, gates, weights):
    """Right for gates of a softmax."""
    return _lean(x, choices, gates / gates.sum(1, keepdim=True), weights)


@impostor("lean_trip", diagnosis="one_choice")
def first_column(x, choices, gates, weights):
    return _lean(x, choices[:, :1], gates[:, :1], weights)


def _earlier(choices, e):
    """Whether an earlier choice of the token is on the same rank, and which."""
    rank = choices // e
    same = (rank[:, :, None] == rank[:, None, :]).int()
    first = same.argmax(2)
    return first, first == torch.arange(choices.shape[1])


@impostor("lean_trip", diagnosis="first_of_rank")
def one_expert_for_a_rank(x, choices, gates, weights):
    _, is_first = _earlier(choices, len(weights))
    return _lean(x, choices, gates * is_first, weights)


@impostor("lean_trip", diagnosis="one_gate")
def the_first_gate(x, choices, gates, weights):
    first, _ = _earlier(choices, len(weights))
    return _lean(x, choices, gates.gather(1, first), weights)


@impostor("lean_trip", diagnosis="wrong_values")
def overwritten(x, choices, gates, weights):
    """What comes back from the last rank stands alone."""
    y, e = torch.zeros_like(x), len(weights)
    for rank in range(dist.get_world_size()):
        there = choices // e == rank
        part = _lean(x, choices, gates * there, weights)
        y = torch.where(there.any(1)[:, None], part, y)
    return y


@impostor("lean_trip", diagnosis="rank_failed")
def no_splits(x, choices, gates, weights):
    got = torch.empty_like(x)
    dist.all_to_all_single(got, x)
    return got
