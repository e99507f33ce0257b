"""Wrong answers to the lab t3_06_data_parallel."""

from __future__ import annotations

import sys
from itertools import accumulate

import cloudpickle
import torch
import torch.distributed as dist

from tests.impostors import impostor

# As from a notebook: ranks get the functions themselves and need not import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

# -- step_bytes --------------------------------------------------------------------------------


@impostor("step_bytes", diagnosis="limit_of_many")
def as_published(parameters, itemsize, ranks, micro_batches, no_sync):
    return 2.0 * parameters * itemsize * (1 if no_sync else micro_batches)


@impostor("step_bytes", diagnosis="always_once")
def no_sync_everywhere(parameters, itemsize, ranks, micro_batches, no_sync):
    return 2 * (ranks - 1) / ranks * parameters * itemsize


@impostor("step_bytes", diagnosis="always_each")
def each_micro_batch(parameters, itemsize, ranks, micro_batches, no_sync):
    return micro_batches * 2 * (ranks - 1) / ranks * parameters * itemsize


@impostor("step_bytes", diagnosis="no_sync_exchanged")
def the_other_way(parameters, itemsize, ranks, micro_batches, no_sync):
    return (micro_batches if no_sync else 1) * 2 * (ranks - 1) / ranks * parameters * itemsize


@impostor("step_bytes", diagnosis="one_half")
def one_operation(parameters, itemsize, ranks, micro_batches, no_sync):
    return (1 if no_sync else micro_batches) * (ranks - 1) / ranks * parameters * itemsize


@impostor("step_bytes", diagnosis="in_numbers")
def itemsize_forgotten(parameters, itemsize, ranks, micro_batches, no_sync):
    return (1 if no_sync else micro_batches) * 2 * (ranks - 1) / ranks * parameters


# -- bucket_plan -------------------------------------------------------------------------------


def _filled(rows, full):
    """full(held, size): whether a bucket is closed before the next parameter."""
    buckets, held = [], 0
    for name, size in rows:
        if not buckets or full(held, size):
            buckets.append([])
            held = 0
        buckets[-1].append(name)
        held += size
    return buckets


@impostor("bucket_plan", diagnosis="forward_order")
def from_the_front(parameters, cap):
    return _filled(dict(parameters).items(), lambda held, size: held >= cap)


@impostor("bucket_plan", diagnosis="last_place")
def reversed_then_once(parameters, cap):
    rows = dict(reversed([tuple(row) for row in parameters]))
    return _filled(rows.items(), lambda held, size: held >= cap)


@impostor("bucket_plan", diagnosis="tied_twice")
def every_place(parameters, cap):
    return _filled(parameters[::-1], lambda held, size: held >= cap)


@impostor("bucket_plan", diagnosis="closed_early")
def never_above_the_cap(parameters, cap):
    rows = reversed(dict(parameters).items())
    return _filled(rows, lambda held, size: held + size > cap)


@impostor("bucket_plan", diagnosis="closed_late")
def more_than_full(parameters, cap):
    return _filled(reversed(dict(parameters).items()), lambda held, size: held > cap)


@impostor("bucket_plan", diagnosis="each_alone")
def no_buckets(parameters, cap):
    return [[name] for name in reversed(dict(parameters))]


@impostor("bucket_plan", diagnosis="turned_at_the_end")
def list_reversed(parameters, cap):
    return _filled(dict(parameters).items(), lambda held, size: held >= cap)[::-1]


@impostor("bucket_plan", diagnosis="rest_lost")
def bucket_without_rest(parameters, cap):
    buckets, bucket, held = [], [], 0
    for name, size in reversed(dict(parameters).items()):
        bucket.append(name)
        held += size
        if held >= cap:
            buckets.append(bucket)
            bucket, held = [], 0
    return buckets


@impostor("bucket_plan", diagnosis="empty_bucket")
def opened_at_once(parameters, cap):
    buckets, held = [[]], 0
    for name, size in reversed(dict(parameters).items()):
        buckets[-1].append(name)
        held += size
        if held >= cap:
            buckets.append([])
            held = 0
    return buckets


# -- whole_gradients ---------------------------------------------------------------------------


def _packed(weights, gradients, factor, *more):
    parts = [
        (torch.zeros_like(w) if g is None else g * factor).flatten()
        for w, g in zip(weights, gradients, strict=True)
    ]
    return torch.cat([*parts, *(torch.tensor([float(x)], dtype=torch.float64) for x in more)])


def _unpacked(weights, flat):
    pieces = flat[: sum(w.numel() for w in weights)].split([w.numel() for w in weights])
    return [piece.view_as(w) for piece, w in zip(pieces, weights, strict=True)]


@impostor("whole_gradients", diagnosis="mean_of_means")
def as_ddp_does(weights, gradients, rows):
    flat = _packed(weights, gradients, 1)
    dist.all_reduce(flat)
    return _unpacked(weights, flat / dist.get_world_size())


@impostor("whole_gradients", diagnosis="plain_sum")
def only_added(weights, gradients, rows):
    flat = _packed(weights, gradients, 1)
    dist.all_reduce(flat)
    return _unpacked(weights, flat)


@impostor("whole_gradients", diagnosis="not_divided")
def sum_over_rows(weights, gradients, rows):
    flat = _packed(weights, gradients, rows)
    dist.all_reduce(flat)
    return _unpacked(weights, flat)


@impostor("whole_gradients", diagnosis="divided_by_ranks")
def by_the_world_size(weights, gradients, rows):
    flat = _packed(weights, gradients, rows)
    dist.all_reduce(flat)
    return _unpacked(weights, flat / dist.get_world_size())


@impostor("whole_gradients", diagnosis="too_many_rounds")
def one_call_each(weights, gradients, rows):
    total = torch.tensor([float(rows)])
    dist.all_reduce(total)
    out = []
    for w, g in zip(weights, gradients, strict=True):
        one = torch.zeros_like(w) if g is None else g * rows
        dist.all_reduce(one)
        out.append(one / total.item())
    return out


@impostor("whole_gradients", diagnosis="too_many_bytes")
def rows_for_each_number(weights, gradients, rows):
    flat = _packed(weights, gradients, rows)
    both = torch.cat([flat, torch.full_like(flat, rows)])
    dist.all_reduce(both)
    return _unpacked(weights, both[: len(flat)] / both[len(flat) :])


@impostor("whole_gradients", diagnosis="users_only")
def divided_by_users(weights, gradients, rows):
    used = [0 if g is None else rows for g in gradients]
    flat = _packed(weights, gradients, rows, *used)
    dist.all_reduce(flat)
    counts = flat[-len(weights) :].tolist()
    return [g / max(c, 1) for g, c in zip(_unpacked(weights, flat), counts, strict=True)]


@impostor("whole_gradients", diagnosis="none_left")
def only_for_users(weights, gradients, rows):
    flat = _packed(weights, gradients, rows, rows)
    dist.all_reduce(flat)
    means = _unpacked(weights, flat[:-1] / flat[-1])
    return [None if own is None else g for g, own in zip(means, gradients, strict=True)]


@impostor("whole_gradients", diagnosis="wrong_type")
def flat_gradients(weights, gradients, rows):
    flat = _packed(weights, gradients, rows, rows)
    dist.all_reduce(flat)
    flat = flat[:-1] / flat[-1]
    return list(flat.split([w.numel() for w in weights]))


@impostor("whole_gradients", diagnosis="rank_failed")
def none_forgotten(weights, gradients, rows):
    flat = torch.cat([(g * rows).flatten() for g in gradients])
    dist.all_reduce(flat)
    return _unpacked(weights, flat)


@impostor("whole_gradients", diagnosis="wrong_values")
def in_float32(weights, gradients, rows):
    flat = _packed(weights, gradients, rows, rows).float()
    dist.all_reduce(flat)
    return _unpacked(weights, (flat[:-1] / flat[-1]).double())


# -- trained -----------------------------------------------------------------------------------


def _gradient(w, x, y):
    return 2 * x.t() @ (x @ w - y) / len(y)


def _trained(w, x, y, lr, steps, *, alike=True, averaged=True, divide=None):
    if alike:
        dist.broadcast(w, 0)
    for _ in range(steps):
        gradient = sum(_gradient(w, one, other) for one, other in zip(x, y, strict=True))
        if averaged:
            dist.all_reduce(gradient)
        w -= lr * gradient / (divide or dist.get_world_size() * len(x))
    return w


@impostor("trained", diagnosis="as_broken")
def as_it_was(w, x, y, lr, steps):
    for _ in range(steps):
        gradient = torch.zeros_like(w)
        for one, other in zip(x, y, strict=True):
            gradient += _gradient(w, one, other)
            dist.all_reduce(gradient)
        w -= lr * gradient / (dist.get_world_size() * len(x))
    return w


@impostor("trained", diagnosis="summed_again")
def half_mended(w, x, y, lr, steps):
    dist.broadcast(w, 0)
    return as_it_was.answer(w, x, y, lr, steps)


@impostor("trained", diagnosis="own_starts")
def no_broadcast(w, x, y, lr, steps):
    return _trained(w, x, y, lr, steps, alike=False)


@impostor("trained", diagnosis="not_averaged")
def nobody_asked(w, x, y, lr, steps):
    return _trained(w, x, y, lr, steps, averaged=False, divide=len(x))


@impostor("trained", diagnosis="not_divided_by_ranks")
def sum_of_ranks(w, x, y, lr, steps):
    return _trained(w, x, y, lr, steps, divide=len(x))


@impostor("trained", diagnosis="not_divided_by_micro")
def sum_of_micro_batches(w, x, y, lr, steps):
    return _trained(w, x, y, lr, steps, divide=dist.get_world_size())


@impostor("trained", diagnosis="too_many_rounds")
def without_no_sync(w, x, y, lr, steps):
    """As DDP does it without no_sync: the mean so far after each micro-batch."""
    dist.broadcast(w, 0)
    for _ in range(steps):
        gradient = torch.zeros_like(w)
        for one, other in zip(x, y, strict=True):
            gradient += _gradient(w, one, other)
            dist.all_reduce(gradient)
            gradient /= dist.get_world_size()
        w -= lr * gradient / len(x)
    return w


@impostor("trained", diagnosis="start_averaged")
def mean_start(w, x, y, lr, steps):
    dist.all_reduce(w)
    return _trained(w / dist.get_world_size(), x, y, lr, steps, alike=False)


@impostor("trained", diagnosis="weights_averaged")
def averaged_at_the_end(w, x, y, lr, steps):
    dist.broadcast(w, 0)
    w = _trained(w, x, y, lr, steps, alike=False, averaged=False, divide=len(x))
    dist.all_reduce(w)
    return w / dist.get_world_size()


@impostor("trained", diagnosis="step_each_micro")
def update_inside(w, x, y, lr, steps):
    dist.broadcast(w, 0)
    for _ in range(steps):
        for one, other in zip(x, y, strict=True):
            gradient = _gradient(w, one, other)
            dist.all_reduce(gradient)
            w -= lr * gradient / (dist.get_world_size() * len(x))
    return w


@impostor("trained", diagnosis="last_micro_only")
def not_added_up(w, x, y, lr, steps):
    return _trained(w, x[-1:], y[-1:], lr, steps)


@impostor("trained", diagnosis="alone")
def no_collective(w, x, y, lr, steps):
    return _trained(w, x, y, lr, steps, alike=False, averaged=False, divide=len(x))


@impostor("trained", diagnosis="wrong_values")
def always_two_steps(w, x, y, lr, steps):
    return _trained(w, x, y, lr, 2)


# -- exposed_time ------------------------------------------------------------------------------


def _clock(ready, nbytes, plan, latency, per_byte, full=max):
    free = 0.0
    for bucket in plan:
        start = max(free, full(ready[layer] for layer in bucket))
        free = start + latency + per_byte * sum(nbytes[layer] for layer in bucket)
    return free


def _ready(backward):
    return [sum(backward[layer:]) for layer in range(len(backward))]


@impostor("exposed_time", diagnosis="no_overlap")
def after_the_end(backward, nbytes, plan, latency, per_byte):
    return latency * len(plan) + per_byte * sum(nbytes)


@impostor("exposed_time", diagnosis="makespan")
def the_whole_step(backward, nbytes, plan, latency, per_byte):
    return _clock(_ready(backward), nbytes, plan, latency, per_byte)


@impostor("exposed_time", diagnosis="no_queue")
def many_networks(backward, nbytes, plan, latency, per_byte):
    ready = _ready(backward)
    ends = [_clock(ready, nbytes, [bucket], latency, per_byte) for bucket in plan]
    return max(ends) - sum(backward)


@impostor("exposed_time", diagnosis="at_first_gradient")
def too_early(backward, nbytes, plan, latency, per_byte):
    end = _clock(_ready(backward), nbytes, plan, latency, per_byte, full=min)
    return max(0.0, end - sum(backward))


@impostor("exposed_time", diagnosis="no_overlap")
def first_layer_first(backward, nbytes, plan, latency, per_byte):
    ready = list(accumulate(backward))
    return _clock(ready, nbytes, plan, latency, per_byte) - sum(backward)


@impostor("exposed_time", diagnosis="last_bucket_only")
def only_the_last(backward, nbytes, plan, latency, per_byte):
    return latency + per_byte * sum(nbytes[layer] for layer in plan[-1])


@impostor("exposed_time", diagnosis="one_layer_early")
def before_its_own_pass(backward, nbytes, plan, latency, per_byte):
    ready = [sum(backward[layer + 1 :]) for layer in range(len(backward))]
    return _clock(ready, nbytes, plan, latency, per_byte) - sum(backward)


@impostor("exposed_time", diagnosis="difference_of_sums")
def network_minus_compute(backward, nbytes, plan, latency, per_byte):
    return max(0.0, latency * len(plan) + per_byte * sum(nbytes) - sum(backward))


@impostor("exposed_time", diagnosis="one_latency")
def paid_once(backward, nbytes, plan, latency, per_byte):
    end = _clock(_ready(backward), nbytes, plan, 0.0, per_byte)
    return end - sum(backward) + latency


# -- best_buckets ------------------------------------------------------------------------------


def _cut(count, length):
    layers = list(range(count))[::-1]
    return [layers[k : k + length] for k in range(0, count, length)]


def _exposed(backward, nbytes, plan, latency, per_byte):
    return _clock(_ready(backward), nbytes, plan, latency, per_byte) - sum(backward)


@impostor("best_buckets", diagnosis="one_bucket")
def all_at_the_end(backward, nbytes, latency, per_byte):
    return _cut(len(backward), len(backward))


@impostor("best_buckets", diagnosis="each_alone")
def no_bucket(backward, nbytes, latency, per_byte):
    return _cut(len(backward), 1)


@impostor("best_buckets", diagnosis="equal_counts")
def best_equal_count(backward, nbytes, latency, per_byte):
    plans = [_cut(len(backward), length) for length in range(1, len(backward) + 1)]
    return min(plans, key=lambda plan: _exposed(backward, nbytes, plan, latency, per_byte))


@impostor("best_buckets", diagnosis="not_least")
def greedy(backward, nbytes, latency, per_byte):
    """Whenever the network is free, it takes all that is there."""
    ready, free, plan = _ready(backward), 0.0, [[]]
    for layer in reversed(range(len(backward))):
        if plan[-1] and ready[layer] > max(free, ready[plan[-1][-1]]):
            free = max(free, ready[plan[-1][-1]]) + latency
            free += per_byte * sum(nbytes[one] for one in plan[-1])
            plan.append([])
        plan[-1].append(layer)
    return plan


@impostor("best_buckets", diagnosis="order")
def from_the_first_layer(backward, nbytes, latency, per_byte):
    return [[layer] for layer in range(len(backward))]


@impostor("best_buckets", diagnosis="no_plan")
def lengths_only(backward, nbytes, latency, per_byte):
    return [1] * len(backward)
