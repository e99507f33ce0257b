"""Wrong answers to the lab t3_08_tensor_parallel."""

from __future__ import annotations

import sys

import cloudpickle
import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F

from tests.impostors import impostor

# As from a notebook: ranks get the functions themselves and need not import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def summed(x):
    x = x.clone()
    dist.all_reduce(x)
    return x


def hidden_of(x, up, up_bias):
    rank, n = dist.get_rank(), dist.get_world_size()
    return torch.relu(F.linear(x, up.chunk(n)[rank], up_bias.chunk(n)[rank]))


def own_rows(down):
    return down.chunk(dist.get_world_size(), dim=1)[dist.get_rank()]


# -- layer_traffic -----------------------------------------------------------------------------


@impostor("layer_traffic", diagnosis="forward_only")
def two_a_layer(layers, tokens, h, itemsize, t):
    calls = 2 * layers if t > 1 else 0
    nbytes = calls * tokens * h * itemsize
    return calls, nbytes, 2 * (t - 1) / t * nbytes


@impostor("layer_traffic", diagnosis="parts_reduced")
def parts_of_h(layers, tokens, h, itemsize, t):
    calls = 4 * layers if t > 1 else 0
    nbytes = calls * tokens * (h // t) * itemsize
    return calls, nbytes, 2 * (t - 1) / t * nbytes


@impostor("layer_traffic", diagnosis="sent_once")
def half_an_all_reduce(layers, tokens, h, itemsize, t):
    calls = 4 * layers if t > 1 else 0
    nbytes = calls * tokens * h * itemsize
    return calls, nbytes, (t - 1) / t * nbytes


@impostor("layer_traffic", diagnosis="alone_too")
def one_rank_calls(layers, tokens, h, itemsize, t):
    nbytes = 4 * layers * tokens * h * itemsize
    return 4 * layers, nbytes, 2 * (t - 1) / t * nbytes


@impostor("layer_traffic", diagnosis="constant_output")
def of_the_example(layers, tokens, h, itemsize, t):
    return 4, 256, 256.0


# -- split_mlp ---------------------------------------------------------------------------------


@impostor("split_mlp", diagnosis="bias_n_times")
def bias_everywhere(x, up, up_bias, down, down_bias):
    return summed(F.linear(hidden_of(x, up, up_bias), own_rows(down), down_bias))


@impostor("split_mlp", diagnosis="bias_lost")
def no_second_bias(x, up, up_bias, down, down_bias):
    return summed(F.linear(hidden_of(x, up, up_bias), own_rows(down)))


@impostor("split_mlp", diagnosis="bias_on_some")
def bias_on_rank_0_after(x, up, up_bias, down, down_bias):
    y = summed(F.linear(hidden_of(x, up, up_bias), own_rows(down)))
    return y + down_bias if dist.get_rank() == 0 else y


@impostor("split_mlp", diagnosis="not_summed")
def no_sum(x, up, up_bias, down, down_bias):
    return F.linear(hidden_of(x, up, up_bias), own_rows(down), down_bias)


@impostor("split_mlp", diagnosis="too_many_bytes")
def hidden_gathered(x, up, up_bias, down, down_bias):
    mine = hidden_of(x, up, up_bias)
    every = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(every, mine)
    parts = [torch.empty_like(own_rows(down).contiguous()) for _ in every]
    dist.all_gather(parts, own_rows(down).contiguous())
    return F.linear(torch.cat(every, dim=1), torch.cat(parts, dim=1), down_bias)


@impostor("split_mlp", diagnosis="wrong_values")
def all_of_it_alone(x, up, up_bias, down, down_bias):
    return F.linear(torch.relu(F.linear(x, up, up_bias)), down, down_bias)


# -- split_gradients ---------------------------------------------------------------------------


def through(x, up, down, dy, back, into):
    """Gradients by hand; back, into: what is done to dy and to dx."""
    before = x @ up.T
    y, dy = summed(torch.relu(before) @ down.T), back(dy)
    inner = (dy @ down) * (before > 0)
    return y, into(inner @ up), inner.T @ x, dy.T @ torch.relu(before)


@impostor("split_gradients", diagnosis="f_missing")
def only_g(x, up, down, dy):
    return through(x, up, down, dy, lambda g: g, lambda g: g)


@impostor("split_gradients", diagnosis="g_sums_back_f_missing")
def all_reduce_at_the_output(x, up, down, dy):
    return through(x, up, down, dy, summed, lambda g: g)


@impostor("split_gradients", diagnosis="g_sums_back")
def both_sum(x, up, down, dy):
    return through(x, up, down, dy, summed, summed)


@impostor("split_gradients", diagnosis="averaged")
def as_data_parallel(x, up, down, dy):
    return through(x, up, down, dy, lambda g: g, lambda g: summed(g) / dist.get_world_size())


# -- dropped_twice -----------------------------------------------------------------------------


def masked(array, seed):
    keep = np.random.default_rng(seed).random(tuple(array.shape)) >= 0.5
    return array * torch.from_numpy(2.0 * keep)


@impostor("dropped_twice", diagnosis="same_inside")
def one_seed(x, up, down, seed):
    return masked(summed(F.linear(masked(torch.relu(F.linear(x, up)), seed), down)), seed)


@impostor("dropped_twice", diagnosis="outputs_differ")
def seeds_by_rank(x, up, down, seed):
    own = seed + 1 + dist.get_rank()
    return masked(summed(F.linear(masked(torch.relu(F.linear(x, up)), own), down)), own)


@impostor("dropped_twice", diagnosis="exchanged")
def the_other_way(x, up, down, seed):
    own = seed + 1 + dist.get_rank()
    return masked(summed(F.linear(masked(torch.relu(F.linear(x, up)), seed), down)), own)


# -- split_loss --------------------------------------------------------------------------------


def own_target(logits, targets):
    words = logits.shape[1]
    place = targets - dist.get_rank() * words
    own = (place >= 0) & (place < words)
    picked = logits.gather(1, place.clamp(0, words - 1)[:, None])[:, 0]
    return torch.where(own, picked, 0.0)


@impostor("split_loss", diagnosis="wrong_values")
def without_the_largest(logits, targets):
    return torch.log(summed(torch.exp(logits).sum(1))) - summed(own_target(logits, targets))


@impostor("split_loss", diagnosis="own_words")
def sum_of_own_words(logits, targets):
    return torch.logsumexp(logits, 1) - summed(own_target(logits, targets))


@impostor("split_loss", diagnosis="too_many_bytes")
def logits_gathered(logits, targets):
    every = [torch.empty_like(logits) for _ in range(dist.get_world_size())]
    dist.all_gather(every, logits)
    return F.cross_entropy(torch.cat(every, dim=1), targets, reduction="none")


@impostor("split_loss", diagnosis="wrong_values")
def largest_of_own_words(logits, targets):
    top = logits.amax(1)
    total = summed(torch.exp(logits - top[:, None]).sum(1))
    return torch.log(total) + top - summed(own_target(logits, targets))
