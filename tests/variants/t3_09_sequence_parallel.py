"""Unusual but right answers to the lab t3_09_sequence_parallel."""

from __future__ import annotations

import sys
from itertools import combinations

import cloudpickle
import torch
import torch.distributed as dist
import torch.nn.functional as F

from tests.variants import variant

cloudpickle.register_pickle_by_value(sys.modules[__name__])


@variant("layer_keeps")
def by_tensors(s, b, h, a, t, sequence_parallel, recompute):
    tokens = s * b
    few = tokens // t if sequence_parallel else tokens
    if recompute == "full":
        return 2 * few * h
    norms, inputs, masks = 2 * 2 * few * h, 2 * 2 * few * h, 2 * few * h
    attention = (6 + 2) * tokens * h // t
    feed_forward = (8 + 8) * tokens * h // t
    scores = (2 + 1 + 2) * b * (a // t) * s * s if recompute == "none" else 0
    return norms + inputs + masks + attention + feed_forward + scores


@variant("saved_bytes")
def from_the_graph(run, weights):
    """Collects storages first and compares them at the end."""
    found = []

    def pack(tensor):
        found.append(tensor.detach())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        y = run()
    known = [weight.untyped_storage()._cdata for weight in weights]
    total = 0
    for tensor in found:
        storage = tensor.untyped_storage()
        if storage._cdata not in known:
            known.append(storage._cdata)
            total += storage.nbytes()
    del y
    return total


@variant("saved_bytes")
def kept_elsewhere(run, weights):
    """Saved tensors are put into a list and unpacked by their number."""
    kept = []

    def pack(tensor):
        kept.append(tensor)
        return len(kept) - 1

    with torch.autograd.graph.saved_tensors_hooks(pack, kept.__getitem__):
        run()
    sizes = {t.untyped_storage().data_ptr(): t.untyped_storage().size() for t in kept}
    for weight in weights:
        sizes.pop(weight.untyped_storage().data_ptr(), None)
    return sum(sizes.values())


def gathered(x):
    whole = x.new_empty(dist.get_world_size() * len(x), *x.shape[1:])
    dist.all_gather(list(whole.chunk(dist.get_world_size())), x.contiguous())
    return whole


def scattered(x):
    n = dist.get_world_size()
    piece = x.new_empty(len(x) // n, *x.shape[1:])
    dist.reduce_scatter(piece, list(x.contiguous().chunk(n)))
    return piece


@variant("sequence_mlp")
def one_function(x, norm, up, down, bias):
    """The whole block as one operator; norm's and bias's gradients travel together."""

    class Block(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, norm, up, down, bias):
            with torch.enable_grad():
                given = [one.detach().requires_grad_() for one in (x, norm)]
                normed = F.layer_norm(given[0], x.shape[1:], given[1])
                whole = gathered(normed.detach()).requires_grad_()
                weights = [one.detach().requires_grad_() for one in (up, down)]
                out = F.linear(torch.relu(F.linear(whole, weights[0])), weights[1])
            ctx.parts = given, normed, whole, weights, out
            return scattered(out.detach()) + bias

        @staticmethod
        def backward(ctx, dy):
            given, normed, whole, weights, out = ctx.parts
            out.backward(gathered(dy))
            normed.backward(scattered(whole.grad))
            both = torch.stack([given[1].grad, dy.sum(0)])
            dist.all_reduce(both)
            return given[0].grad, both[0], weights[0].grad, weights[1].grad, both[1]

    return Block.apply(x, norm, up, down, bias)


@variant("sequence_mlp")
def hooks_for_the_small_ones(x, norm, up, down, bias):
    """Tensor hooks sum what all ranks have; a bias on rank 0 alone, before the sum, of all."""

    def total(gradient):
        gradient = gradient.clone()
        dist.all_reduce(gradient)
        return gradient

    class Enter(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return gathered(x)

        @staticmethod
        def backward(ctx, gradient):
            return scattered(gradient)

    class Leave(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return scattered(x)

        @staticmethod
        def backward(ctx, gradient):
            return gathered(gradient)

    scale = norm * 1
    scale.register_hook(total)
    width = x.shape[1]
    middle = x - x.mean(1, keepdim=True)
    normed = middle / torch.sqrt(middle.square().mean(1, keepdim=True) + 1e-5) * scale
    inner = torch.clamp(Enter.apply(normed) @ up.T, min=0) @ down.T
    once = bias if dist.get_rank() == 0 else bias * 0
    # All ranks see the gradient of all tokens; the one that adds it must not be alone to have it.
    added = inner + once.detach() + (bias - bias.detach())
    return Leave.apply(added.view(-1, width))


@variant("gathered_linear")
def cut_by_hand(x, weight):
    """Keeps a copy of its own tokens; the gradient of the weight in pieces."""

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.own = x.detach().clone()
            ctx.weight = weight
            return gathered(x) @ weight.T

        @staticmethod
        def backward(ctx, gradient):
            whole = gathered(ctx.own)
            d_weight = torch.einsum("tf,th->fh", gradient, whole)
            return scattered(gradient.mm(ctx.weight)), d_weight

    return Product.apply(x, weight)


@variant("recomputed")
def without_a_function(fn, x):
    """A hook on the output runs fn again."""
    state = torch.get_rng_state()
    with torch.no_grad():
        y = fn(x)

    class Join(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x)
            return y.view_as(y)

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            with torch.random.fork_rng(devices=[]), torch.enable_grad():
                torch.set_rng_state(state)
                start = x.detach().requires_grad_()
                again = fn(start)
            torch.autograd.backward(again, gradient)
            return start.grad, None

    return Join.apply(x, y)


@variant("least_recompute")
def by_size_of_choice(parts, budget):
    choices = [
        again
        for size in range(len(parts) + 1)
        for again in combinations(range(len(parts)), size)
        if sum(part[0] for k, part in enumerate(parts) if k not in again) <= budget
    ]
    return min(choices, key=lambda again: sum(parts[k][1] for k in again))


@variant("least_recompute")
def by_a_table(parts, budget):
    """Which parts to keep, as a knapsack."""
    best = {0: (0, ())}
    for k, (kept, cost) in enumerate(parts):
        for used, (worth, chosen) in list(best.items()):
            more = used + kept
            if more <= budget and worth + cost > best.get(more, (-1, ()))[0]:
                best[more] = worth + cost, (*chosen, k)
    _, keep = max(best.values(), key=lambda one: one[0])
    return [k for k in range(len(parts)) if k not in keep]
