"""Wrong answers to the lab t3_07_zero."""

from __future__ import annotations

import sys

import cloudpickle
import torch
import torch.distributed as dist

from tests.impostors import impostor

# As from a notebook: ranks get the functions themselves and need not import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def loss_of(weights, x):
    for w in weights:
        x = torch.tanh(x @ w.T)
    return x.square().mean()


def size():
    return dist.get_world_size()


def scatter(whole):
    """This rank's rows of the sum."""
    piece = whole.new_empty(len(whole) // size(), *whole.shape[1:])
    dist.reduce_scatter(piece, [part.contiguous() for part in whole.chunk(size())])
    return piece


def gather(piece):
    whole = piece.new_empty(size() * len(piece), *piece.shape[1:])
    dist.all_gather(list(whole.chunk(size())), piece)
    return whole


# -- stage_bytes --------------------------------------------------------------------------------


@impostor("stage_bytes", diagnosis="never_shared")
def as_data_parallel(parameters, ranks, stage, weight, gradient, states):
    return tuple(float(parameters * one) for one in (weight, gradient, states))


@impostor("stage_bytes", diagnosis="weights_second")
def weights_before_gradients(parameters, ranks, stage, weight, gradient, states):
    return (
        parameters * weight / (ranks if stage >= 2 else 1),
        parameters * gradient / (ranks if stage >= 3 else 1),
        parameters * states / (ranks if stage >= 1 else 1),
    )


@impostor("stage_bytes", diagnosis="one_stage_late")
def larger_not_at_least(parameters, ranks, stage, weight, gradient, states):
    return (
        parameters * weight / (ranks if stage > 3 else 1),
        parameters * gradient / (ranks if stage > 2 else 1),
        parameters * states / (ranks if stage > 1 else 1),
    )


@impostor("stage_bytes", diagnosis="total_returned")
def one_number(parameters, ranks, stage, weight, gradient, states):
    shares = [ranks if stage >= first else 1 for first in (3, 2, 1)]
    return sum(
        parameters * one / share
        for one, share in zip((weight, gradient, states), shares, strict=True)
    )


@impostor("stage_bytes", diagnosis="wrong_values")
def recipe_of_the_lesson(parameters, ranks, stage, weight, gradient, states):
    return (
        parameters * 2 / (ranks if stage >= 3 else 1),
        parameters * 2 / (ranks if stage >= 2 else 1),
        parameters * 12 / (ranks if stage >= 1 else 1),
    )


@impostor("stage_bytes", diagnosis="all_shared")
def shared_if_any(parameters, ranks, stage, weight, gradient, states):
    share = ranks if stage else 1
    return tuple(parameters * one / share for one in (weight, gradient, states))


# -- sharded_step ------------------------------------------------------------------------------


def stepped(w, gradient, m, v, t, lr, mean, old=False):
    """mean: the gradient filled up -> this rank's shard of it; all weights filled up come back."""
    c, rank = len(m), dist.get_rank()
    fill = w.new_zeros(c * size() - len(w))
    g = mean(torch.cat([gradient, fill]))
    shard = torch.cat([w, fill]).chunk(size())[rank]
    before = m, v
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
    shard = shard - lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
    return (shard, *before) if old else (shard, m, v)


def mean_shard(g):
    return scatter(g) / size()


@impostor("sharded_step", diagnosis="not_averaged")
def sum_of_gradients(w, gradient, m, v, t, lr):
    shard, m, v = stepped(w, gradient, m, v, t, lr, scatter)
    return gather(shard)[: len(w)], m, v


@impostor("sharded_step", diagnosis="own_gradient")
def no_reduction(w, gradient, m, v, t, lr):
    shard, m, v = stepped(w, gradient, m, v, t, lr, lambda g: g.chunk(size())[dist.get_rank()])
    return gather(shard)[: len(w)], m, v


@impostor("sharded_step", diagnosis="padding_left")
def zeros_returned(w, gradient, m, v, t, lr):
    shard, m, v = stepped(w, gradient, m, v, t, lr, mean_shard)
    return gather(shard), m, v


@impostor("sharded_step", diagnosis="own_shard_only")
def not_gathered(w, gradient, m, v, t, lr):
    shard, m, v = stepped(w, gradient, m, v, t, lr, mean_shard)
    c, rank = len(m), dist.get_rank()
    whole = torch.cat([w, w.new_zeros(c * size() - len(w))])
    whole[rank * c : (rank + 1) * c] = shard
    return whole[: len(w)], m, v


@impostor("sharded_step", diagnosis="old_moments")
def moments_forgotten(w, gradient, m, v, t, lr):
    shard, m, v = stepped(w, gradient, m, v, t, lr, mean_shard, old=True)
    return gather(shard)[: len(w)], m, v


@impostor("sharded_step", diagnosis="too_many_bytes")
def all_reduce_first(w, gradient, m, v, t, lr):
    def mean(g):
        dist.all_reduce(g)
        return g.chunk(size())[dist.get_rank()] / size()

    shard, m, v = stepped(w, gradient, m, v, t, lr, mean)
    return gather(shard)[: len(w)], m, v


@impostor("sharded_step", diagnosis="rank_failed")
def not_filled_up(w, gradient, m, v, t, lr):
    g = torch.empty_like(m)
    dist.reduce_scatter(g, list(gradient.chunk(size())))
    return w, m, v


@impostor("sharded_step", diagnosis="not_corrected")
def without_t(w, gradient, m, v, t, lr):
    shard, m, v = stepped(w, gradient, m, v, 10**9, lr, mean_shard)
    return gather(shard)[: len(w)], m, v


@impostor("sharded_step", diagnosis="shard_returned")
def only_my_weights(w, gradient, m, v, t, lr):
    return stepped(w, gradient, m, v, t, lr, mean_shard)


# -- clipped_shard -----------------------------------------------------------------------------


@impostor("clipped_shard", diagnosis="own_length")
def torch_s_clip(shard, limit):
    length = shard.norm().item()
    return shard * (limit / length) if length > limit else shard


@impostor("clipped_shard", diagnosis="lengths_added")
def sum_of_lengths(shard, limit):
    length = shard.norm()
    dist.all_reduce(length)
    return shard * (limit / length) if length > limit else shard


@impostor("clipped_shard", diagnosis="always_scaled")
def up_as_well(shard, limit):
    squares = shard.square().sum()
    dist.all_reduce(squares)
    return shard * (limit / squares.sqrt().clamp(min=1e-30))


@impostor("clipped_shard", diagnosis="mean_of_squares")
def averaged(shard, limit):
    squares = shard.square().sum()
    dist.all_reduce(squares)
    length = (squares / size()).sqrt()
    return shard * (limit / length) if length > limit else shard


@impostor("clipped_shard", diagnosis="no_root")
def squares_as_length(shard, limit):
    squares = shard.square().sum()
    dist.all_reduce(squares)
    return shard * (limit / squares) if squares > limit else shard


@impostor("clipped_shard", diagnosis="numbers_cut")
def each_number(shard, limit):
    return shard.clamp(-limit, limit)


@impostor("clipped_shard", diagnosis="wrong_values")
def nan_of_zeros(shard, limit):
    squares = shard.square().sum()
    dist.all_reduce(squares)
    return shard * torch.minimum(limit / squares.sqrt(), torch.ones_like(squares)).where(
        squares > 0, torch.nan
    )


@impostor("clipped_shard", diagnosis="too_many_bytes")
def whole_gathered(shard, limit):
    length = gather(shard).norm().item()
    return shard * (limit / length) if length > limit else shard


# -- scattered_gradients -----------------------------------------------------------------------


def by_hooks(weights, x, ready, factor=1.0):
    shards = {}
    for w in weights:
        w.requires_grad_()
        w.register_post_accumulate_grad_hook(lambda w: ready(shards, w))
    for part in x:
        (loss_of(weights, part) * factor).backward()
    return shards


def add(shards, w):
    piece = scatter(w.grad)
    w.grad = None
    shards[w] = shards[w] + piece if w in shards else piece


@impostor("scattered_gradients", diagnosis="too_much_held")
def after_the_backward_pass(weights, x):
    for w in weights:
        w.requires_grad_()
    for part in x:
        loss_of(weights, part).backward()
    found = []
    for w in weights:
        found.append(scatter(w.grad) / (size() * len(x)))
        w.grad = None
    return found


@impostor("scattered_gradients", diagnosis="too_much_held")
def views_of_the_whole(weights, x):
    """The slice is small; the storage behind it is the whole gradient."""
    kept = {}

    def ready(shards, w):
        piece = scatter(w.grad)
        own = w.grad.chunk(size())[dist.get_rank()]
        own.copy_(piece)
        shards[w] = shards[w] + own if w in shards else own
        kept[w] = own
        w.grad = None

    shards = by_hooks(weights, x, ready)
    return [shards[w] / (size() * len(x)) for w in weights]


@impostor("scattered_gradients", diagnosis="summed_up")
def nothing_divided(weights, x):
    shards = by_hooks(weights, x, add)
    return [shards[w] for w in weights]


@impostor("scattered_gradients", diagnosis="not_averaged")
def micro_batches_divided(weights, x):
    shards = by_hooks(weights, x, add)
    return [shards[w] / len(x) for w in weights]


@impostor("scattered_gradients", diagnosis="not_averaged_micro")
def ranks_divided(weights, x):
    shards = by_hooks(weights, x, add)
    return [shards[w] / size() for w in weights]


@impostor("scattered_gradients", diagnosis="last_micro_divided")
def overwritten(weights, x):
    def ready(shards, w):
        shards[w] = scatter(w.grad) / (size() * len(x))
        w.grad = None

    shards = by_hooks(weights, x, ready)
    return [shards[w] for w in weights]


@impostor("scattered_gradients", diagnosis="as_they_come")
def in_the_order_of_hooks(weights, x):
    shards = by_hooks(weights, x, add)
    return [shard / (size() * len(x)) for shard in shards.values()]


@impostor("scattered_gradients", diagnosis="own_gradient")
def never_scattered(weights, x):
    def ready(shards, w):
        own = w.grad.chunk(size())[dist.get_rank()].clone()
        w.grad = None
        shards[w] = shards[w] + own if w in shards else own

    shards = by_hooks(weights, x, ready)
    return [shards[w] / len(x) for w in weights]


@impostor("scattered_gradients", diagnosis="too_many_bytes")
def all_reduced_in_the_hook(weights, x):
    def ready(shards, w):
        g = w.grad.contiguous()
        w.grad = None
        dist.all_reduce(g)
        own = g.chunk(size())[dist.get_rank()].clone()
        shards[w] = shards[w] + own if w in shards else own

    shards = by_hooks(weights, x, ready)
    return [shards[w] / (size() * len(x)) for w in weights]


@impostor("scattered_gradients", diagnosis="grad_kept")
def gradient_left_to_grow(weights, x):
    def ready(shards, w):
        piece = scatter(w.grad)
        shards[w] = shards[w] + piece if w in shards else piece

    shards = by_hooks(weights, x, ready)
    return [shards[w] / (size() * len(x)) for w in weights]


@impostor("scattered_gradients", diagnosis="wrong_values")
def rows_of_the_next_rank(weights, x):
    def ready(shards, w):
        turned, w.grad = w.grad.roll(len(w) // size(), 0), None
        piece = scatter(turned)
        shards[w] = shards[w] + piece if w in shards else piece

    shards = by_hooks(weights, x, ready)
    return [shards[w] / (size() * len(x)) for w in weights]


@impostor("scattered_gradients", diagnosis="whole_returned")
def whole_gradients(weights, x):
    shards = by_hooks(weights, x, add)
    return [gather(shards[w] / (size() * len(x))) for w in weights]


# -- cheapest_stage ----------------------------------------------------------------------------


def first_fit(parameters, n, room, times, order=(0, 1, 2, 3)):
    each = [16, 4 + 12 / n, 2 + 14 / n, 16 / n]
    for stage in order:
        if parameters * each[stage] <= room:
            return stage, times[stage] * 2 * parameters * (n - 1) / n
    return None


@impostor("cheapest_stage", diagnosis="least_memory")
def always_the_smallest(parameters, ranks, micro_batches, room):
    times = [2, 2, micro_batches + 1, 3 * micro_batches]
    return first_fit(parameters, ranks, room, times, (3, 2, 1, 0))


@impostor("cheapest_stage", diagnosis="one_micro_batch")
def two_two_two_three(parameters, ranks, micro_batches, room):
    return first_fit(parameters, ranks, room, [2, 2, 2, 3])


@impostor("cheapest_stage", diagnosis="stage_2_sends_once")
def accumulated_in_stage_2(parameters, ranks, micro_batches, room):
    return first_fit(parameters, ranks, room, [2, 2, 2, 3 * micro_batches])


@impostor("cheapest_stage", diagnosis="stage_3_gathers_once")
def weights_kept_in_stage_3(parameters, ranks, micro_batches, room):
    return first_fit(parameters, ranks, room, [2, 2, micro_batches + 1, micro_batches + 2])


@impostor("cheapest_stage", diagnosis="limit_of_many")
def as_published(parameters, ranks, micro_batches, room):
    found = first_fit(parameters, ranks, room, [2, 2, micro_batches + 1, 3 * micro_batches])
    return found and (found[0], found[1] * ranks / (ranks - 1) if ranks > 1 else 0.0)


@impostor("cheapest_stage", diagnosis="exactly_refused")
def strictly_less(parameters, ranks, micro_batches, room):
    times = [2, 2, micro_batches + 1, 3 * micro_batches]
    return first_fit(parameters, ranks, room * (1 - 1e-9), times)


@impostor("cheapest_stage", diagnosis="stage_0_never")
def zero_only(parameters, ranks, micro_batches, room):
    times = [2, 2, micro_batches + 1, 3 * micro_batches]
    return first_fit(parameters, ranks, room, times, (1, 2, 3))


# -- sharded_pass ------------------------------------------------------------------------------


class Regathered(torch.autograd.Function):
    """Gathers in both passes, also the last matrix."""

    @staticmethod
    def forward(ctx, x, shard):
        ctx.save_for_backward(x, shard)
        return x @ gather(shard).T

    @staticmethod
    def backward(ctx, dy):
        x, shard = ctx.saved_tensors
        return dy @ gather(shard), scatter(dy.T @ x) / size()


class Gathered(torch.autograd.Function):
    """Shard to whole; the whole stays in the graph of the product."""

    @staticmethod
    def forward(ctx, shard):
        return gather(shard)

    @staticmethod
    def backward(ctx, gradient):
        return scatter(gradient) / size()


def through(shards, x, product, residual=True):
    for shard in shards:
        shard.requires_grad_()
        y = torch.tanh(product(x, shard))
        x = x + y if residual else y
    x.square().mean().backward()
    return [shard.grad for shard in shards]


@impostor("sharded_pass", diagnosis="too_many_bytes")
def last_gathered_again(shards, x):
    return through(shards, x, Regathered.apply)


@impostor("sharded_pass", diagnosis="too_much_held")
def saved_by_autograd(shards, x):
    return through(shards, x, lambda x, shard: x @ Gathered.apply(shard).T)


@impostor("sharded_pass", diagnosis="too_much_held")
def gathered_at_the_start(shards, x):
    wholes = [gather(shard).requires_grad_() for shard in shards]
    for whole in wholes:
        x = x + torch.tanh(x @ whole.T)
    x.square().mean().backward()
    return [scatter(whole.grad) / size() for whole in wholes]


@impostor("sharded_pass", diagnosis="not_residual")
def loss_of_exercise_4(shards, x):
    return through(shards, x, lambda x, shard: x @ Gathered.apply(shard).T, residual=False)


@impostor("sharded_pass", diagnosis="own_gradient")
def rows_cut_out(shards, x):
    class Cut(torch.autograd.Function):
        @staticmethod
        def forward(ctx, shard):
            return gather(shard)

        @staticmethod
        def backward(ctx, gradient):
            return gradient.chunk(size())[dist.get_rank()]

    return through(shards, x, lambda x, shard: x @ Cut.apply(shard).T)


@impostor("sharded_pass", diagnosis="not_averaged")
def sum_over_ranks(shards, x):
    return [size() * g for g in through(shards, x, Regathered.apply)]


@impostor("sharded_pass", diagnosis="as_they_come")
def last_first(shards, x):
    return through(shards, x, Regathered.apply)[::-1]


@impostor("sharded_pass", diagnosis="whole_returned")
def gathered_at_the_end(shards, x):
    return [gather(g) for g in through(shards, x, Regathered.apply)]


@impostor("sharded_pass", diagnosis="wrong_values")
def gradient_of_the_transpose(shards, x):
    class Product(Regathered):
        @staticmethod
        def backward(ctx, dy):
            x, shard = ctx.saved_tensors
            return dy @ gather(shard), scatter(x.T @ dy) / size()

    return through(shards, x, Product.apply)


@impostor("sharded_pass", diagnosis="no_return")
def left_in_grad(shards, x):
    through(shards, x, Regathered.apply)
