"""Wrong answers to the lab t3_09_sequence_parallel."""

from __future__ import annotations

import sys

import cloudpickle
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from tests.impostors import impostor

# As from a notebook: ranks get the functions themselves and need not import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


# -- layer_keeps -------------------------------------------------------------------------------


def units(s, b, h, a, t, outside, recompute):
    scores = 5 * a * s / h if recompute == "none" else 0
    return s * b * h * (outside + (24 + scores) / t)


@impostor("layer_keeps", diagnosis="always_cut")
def all_by_t(s, b, h, a, t, sequence_parallel, recompute):
    if recompute == "full":
        return 2 * s * b * h / t
    return units(s, b, h, a, t, 10 / t, recompute)


@impostor("layer_keeps", diagnosis="never_cut")
def ten_remain(s, b, h, a, t, sequence_parallel, recompute):
    return 2 * s * b * h if recompute == "full" else units(s, b, h, a, t, 10, recompute)


@impostor("layer_keeps", diagnosis="full_whole")
def whole_input(s, b, h, a, t, sequence_parallel, recompute):
    outside = 10 / t if sequence_parallel else 10
    return 2 * s * b * h if recompute == "full" else units(s, b, h, a, t, outside, recompute)


@impostor("layer_keeps", diagnosis="attention_dropped")
def no_attention(s, b, h, a, t, sequence_parallel, recompute):
    cut = t if sequence_parallel else 1
    if recompute == "full":
        return 2 * s * b * h / cut
    if recompute == "selective":
        return s * b * h * (7 / cut + 16 / t)
    return units(s, b, h, a, t, 10 / cut, recompute)


@impostor("layer_keeps", diagnosis="gathered_kept")
def inputs_whole(s, b, h, a, t, sequence_parallel, recompute):
    if recompute == "full":
        return 2 * s * b * h / (t if sequence_parallel else 1)
    return units(s, b, h, a, t, 4 + 6 / t if sequence_parallel else 10, recompute)


@impostor("layer_keeps", diagnosis="scores_whole")
def all_heads(s, b, h, a, t, sequence_parallel, recompute):
    cut = t if sequence_parallel else 1
    if recompute == "full":
        return 2 * s * b * h / cut
    scores = 5 * a * s * s * b if recompute == "none" else 0
    return s * b * h * (10 / cut + 24 / t) + scores


@impostor("layer_keeps", diagnosis="constant_output")
def of_the_example(s, b, h, a, t, sequence_parallel, recompute):
    return 106_954_752


# -- saved_bytes -------------------------------------------------------------------------------


def seen(run):
    found = []

    def pack(tensor):
        found.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        run()
    return found


def place(tensor):
    return tensor.untyped_storage().data_ptr()


@impostor("saved_bytes", diagnosis="weights_counted")
def with_weights(run, weights):
    return sum({place(t): t.untyped_storage().nbytes() for t in seen(run)}.values())


@impostor("saved_bytes", diagnosis="views_of_weights")
def weights_by_identity(run, weights):
    own = [t for t in seen(run) if all(t is not w for w in weights)]
    return sum({place(t): t.untyped_storage().nbytes() for t in own}.values())


@impostor("saved_bytes", diagnosis="by_shape")
def weights_by_shape(run, weights):
    """Right as long as nothing else has the shape of a weight."""
    shapes = {s for w in weights for s in (w.shape, w.T.shape if w.dim() == 2 else w.shape)}
    return sum({place(t): t.untyped_storage().nbytes() for t in seen(run)
                if t.shape not in shapes}.values())  # fmt: skip


@impostor("saved_bytes", diagnosis="counted_twice")
def each_tensor(run, weights):
    there = [place(w) for w in weights]
    return sum(t.numel() * t.element_size() for t in seen(run) if place(t) not in there)


@impostor("saved_bytes", diagnosis="part_of_a_storage")
def own_bytes(run, weights):
    there = [place(w) for w in weights]
    return sum({place(t): t.nbytes for t in seen(run) if place(t) not in there}.values())


@impostor("saved_bytes", diagnosis="part_of_a_storage")
def by_data_ptr(run, weights):
    there = [place(w) for w in weights]
    return sum({t.data_ptr(): t.nbytes for t in seen(run) if place(t) not in there}.values())


@impostor("saved_bytes", diagnosis="by_address")
def storages_by_data_ptr(run, weights):
    own = [t for t in seen(run) if place(t) not in [place(w) for w in weights]]
    return sum({t.data_ptr(): t.untyped_storage().nbytes() for t in own}.values())


@impostor("saved_bytes", diagnosis="all_float32")
def four_bytes(run, weights):
    there = [place(w) for w in weights]
    own = {place(t): t for t in seen(run) if place(t) not in there}
    return sum(4 * t.untyped_storage().nbytes() // t.element_size() for t in own.values())


@impostor("saved_bytes", diagnosis="no_return")
def prints_it(run, weights):
    len(seen(run))


# -- sequence_mlp ------------------------------------------------------------------------------


def gathered(x):
    parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x.contiguous())
    return torch.cat(parts)


def scattered(x):
    parts = list(x.contiguous().chunk(dist.get_world_size()))
    piece = torch.empty_like(parts[0])
    dist.reduce_scatter(piece, parts)
    return piece


def own(x):
    return x.chunk(dist.get_world_size())[dist.get_rank()]


def reduced(x):
    x = x.clone()
    dist.all_reduce(x)
    return x


def padded(x):
    """All tokens, of which only this rank's are not zero."""
    whole = x.new_zeros(dist.get_world_size() * len(x), *x.shape[1:])
    own(whole).copy_(x)
    return whole


def operator(there, back):
    class Operator(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return there(x)

        @staticmethod
        def backward(ctx, gradient):
            return back(gradient)

    return Operator.apply


def same(x):
    return x.view_as(x)


def built(x, norm, up, down, bias, enter=None, leave=None, of_norm=None, of_bias=None):
    """The right block, except for what is given."""
    enter, leave = enter or (gathered, scattered), leave or (scattered, gathered)
    of_norm, of_bias = of_norm or (same, reduced), of_bias or (same, reduced)
    y = operator(*enter)(F.layer_norm(x, x.shape[1:], operator(*of_norm)(norm)))
    y = operator(*leave)(F.linear(torch.relu(F.linear(y, up)), down))
    return y + operator(*of_bias)(bias)


@impostor("sequence_mlp", diagnosis="shares_of_both")
def nothing_reduced(x, norm, up, down, bias):
    return built(x, norm, up, down, bias, of_norm=(same, same), of_bias=(same, same))


@impostor("sequence_mlp", diagnosis="share_of_norm")
def norm_forgotten(x, norm, up, down, bias):
    return built(x, norm, up, down, bias, of_norm=(same, same))


@impostor("sequence_mlp", diagnosis="share_of_bias")
def bias_forgotten(x, norm, up, down, bias):
    return built(x, norm, up, down, bias, of_bias=(same, same))


@impostor("sequence_mlp", diagnosis="averaged")
def as_data_parallel(x, norm, up, down, bias):
    mean = same, lambda g: reduced(g) / dist.get_world_size()
    return built(x, norm, up, down, bias, of_norm=mean, of_bias=mean)


@impostor("sequence_mlp", diagnosis="bias_n_times")
def bias_before_the_sum(x, norm, up, down, bias):
    y = operator(gathered, scattered)(F.layer_norm(x, x.shape[1:], operator(same, reduced)(norm)))
    y = F.linear(torch.relu(F.linear(y, up)), down, bias)
    return operator(scattered, gathered)(y)


@impostor("sequence_mlp", diagnosis="own_columns")
def sliced_back(x, norm, up, down, bias):
    return built(x, norm, up, down, bias, enter=(gathered, own))


@impostor("sequence_mlp", diagnosis="own_tokens_back")
def padded_back(x, norm, up, down, bias):
    return built(x, norm, up, down, bias, leave=(scattered, padded))


@impostor("sequence_mlp", diagnosis="too_many_bytes")
def an_all_reduce_and_a_cut(x, norm, up, down, bias):
    return built(x, norm, up, down, bias, leave=(lambda y: own(reduced(y)), gathered))


@impostor("sequence_mlp", diagnosis="too_many_bytes")
def norm_of_all_tokens(x, norm, up, down, bias):
    """All tokens from the start, as tensor parallelism has them, and twice the bytes back."""
    whole = operator(gathered, own)(x)
    y = F.layer_norm(operator(same, reduced)(whole), x.shape[1:], operator(same, reduced)(norm))
    y = operator(scattered, gathered)(F.linear(torch.relu(F.linear(y, up)), down))
    return y + operator(same, reduced)(bias)


@impostor("sequence_mlp", diagnosis="rank_failed")
def not_scattered(x, norm, up, down, bias):
    return built(x, norm, up, down, bias, leave=(reduced, same))


@impostor("sequence_mlp", diagnosis="rank_failed")
def detached(x, norm, up, down, bias):
    return built(x, norm, up, down, bias).detach()


@impostor("sequence_mlp", diagnosis="no_gradient")
def norm_detached(x, norm, up, down, bias):
    return built(x, norm.detach(), up, down, bias)


@impostor("sequence_mlp", diagnosis="wrong_values")
def without_the_norm(x, norm, up, down, bias):
    y = operator(gathered, scattered)(x * operator(same, reduced)(norm))
    y = operator(scattered, gathered)(F.linear(torch.relu(F.linear(y, up)), down))
    return y + operator(same, reduced)(bias)


# -- gathered_linear ---------------------------------------------------------------------------


def linear_of(x, weight, saved, dx, dw):
    """saved: (x, all tokens) -> what is kept; dx, dw: what is made of the gradient."""

    class Linear(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            whole = gathered(x)
            ctx.save_for_backward(saved(x, whole), weight)
            return F.linear(whole, weight)

        @staticmethod
        def backward(ctx, gradient):
            kept, weight = ctx.saved_tensors
            return dx(gradient @ weight), dw(gradient, kept)

    return Linear.apply(x, weight)


def of_all(gradient, x):
    return gradient.T @ gathered(x)


@impostor("gathered_linear", diagnosis="kept_too_much")
def by_operators(x, weight):
    return F.linear(operator(gathered, scattered)(x), weight)


@impostor("gathered_linear", diagnosis="kept_too_much")
def saves_what_is_gathered(x, weight):
    return linear_of(x, weight, lambda x, whole: whole, scattered, lambda g, whole: g.T @ whole)


@impostor("gathered_linear", diagnosis="kept_too_much")
def hidden_in_ctx(x, weight):
    class Linear(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.whole = gathered(x)
            ctx.save_for_backward(weight)
            return F.linear(ctx.whole, weight)

        @staticmethod
        def backward(ctx, gradient):
            (weight,) = ctx.saved_tensors
            return scattered(gradient @ weight), gradient.T @ ctx.whole

    return Linear.apply(x, weight)


def linear_hidden(x, weight, hide, found):
    """The gathered array waits where no tensor is: hide makes something of it, found undoes it."""

    class Linear(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            whole = gathered(x)
            ctx.hidden = hide(whole)
            ctx.save_for_backward(x, weight)
            return F.linear(whole, weight)

        @staticmethod
        def backward(ctx, gradient):
            _, weight = ctx.saved_tensors
            return scattered(gradient @ weight), gradient.T @ found(ctx.hidden)

    return Linear.apply(x, weight)


@impostor("gathered_linear", diagnosis="kept_elsewhere")
def hidden_in_numpy(x, weight):
    return linear_hidden(x, weight, lambda whole: whole.numpy().copy(), torch.from_numpy)


@impostor("gathered_linear", diagnosis="kept_elsewhere")
def hidden_in_a_list(x, weight):
    return linear_hidden(
        x, weight, lambda whole: whole.tolist(), lambda rows: torch.tensor(rows, dtype=x.dtype)
    )


@impostor("gathered_linear", diagnosis="kept_too_much")
def a_view_of_what_is_gathered(x, weight):
    return linear_of(x, weight, lambda x, whole: own(whole), scattered, of_all)


@impostor("gathered_linear", diagnosis="library_used")
def with_the_library(x, weight):
    gather = operator(gathered, scattered)
    return checkpoint(lambda x: F.linear(gather(x), weight), x, use_reentrant=False)


@impostor("gathered_linear", diagnosis="own_share")
def not_reduced(x, weight):
    return linear_of(x, weight, lambda x, whole: x, own, of_all)


@impostor("gathered_linear", diagnosis="own_tokens")
def weight_of_own_tokens(x, weight):
    return linear_of(x, weight, lambda x, whole: x, scattered, lambda g, x: own(g).T @ x)


@impostor("gathered_linear", diagnosis="averaged")
def mean_of_shares(x, weight):
    n = dist.get_world_size()
    return linear_of(x, weight, lambda x, whole: x, lambda g: scattered(g) / n, of_all)


@impostor("gathered_linear", diagnosis="too_many_bytes")
def all_reduced_back(x, weight):
    return linear_of(x, weight, lambda x, whole: x, lambda g: own(reduced(g)), of_all)


@impostor("gathered_linear", diagnosis="rank_failed")
def own_tokens_only(x, weight):
    return F.linear(x, weight)


# -- recomputed --------------------------------------------------------------------------------


def once_more(fn, x, old_state=True, back_again=True, go=None, first=None):
    class Again(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.state = torch.get_rng_state()
            return (first or fn)(x)

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            now = torch.get_rng_state()
            if old_state:
                torch.set_rng_state(ctx.state)
            x = x.detach().requires_grad_()
            with torch.enable_grad():
                y = fn(x)
            if back_again:
                torch.set_rng_state(now)
            if go:
                return go(y, x, gradient)
            y.backward(gradient)
            return x.grad

    return Again.apply(x)


@impostor("recomputed", diagnosis="not_again")
def just_called(fn, x):
    return fn(x)


@impostor("recomputed", diagnosis="library_used")
def by_the_library(fn, x):
    return checkpoint(fn, x, use_reentrant=False)


@impostor("recomputed", diagnosis="library_used")
def by_the_library_the_old_way(fn, x):
    return checkpoint(fn, x, use_reentrant=True)


@impostor("recomputed", diagnosis="other_numbers")
def other_masks(fn, x):
    return once_more(fn, x, old_state=False)


@impostor("recomputed", diagnosis="generator_left")
def generator_not_put_back(fn, x):
    return once_more(fn, x, back_again=False)


@impostor("recomputed", diagnosis="weights_lost")
def gradient_of_x_alone(fn, x):
    return once_more(fn, x, go=lambda y, x, gradient: torch.autograd.grad(y, x, gradient)[0])


@impostor("recomputed", diagnosis="wrong_gradient")
def gradient_of_the_sum(fn, x):
    def go(y, x, gradient):
        torch.autograd.backward(y, torch.ones_like(y))
        return x.grad

    return once_more(fn, x, go=go)


@impostor("recomputed", diagnosis="wrong_weights")
def backward_twice(fn, x):
    def go(y, x, gradient):
        y.backward(gradient, retain_graph=True)
        dx = x.grad.clone()
        y.backward(gradient)
        return dx

    return once_more(fn, x, go=go)


@impostor("recomputed", diagnosis="calls")
def forward_twice(fn, x):
    def first(x):
        state = torch.get_rng_state()
        fn(x)
        torch.set_rng_state(state)
        return fn(x)

    return once_more(fn, x, first=first)


@impostor("recomputed", diagnosis="kept_too_much")
def with_autograd_first(fn, x):
    """Runs again, but autograd has saved all of the first run, too."""

    def first(x):
        with torch.enable_grad():
            graph.append(fn(x.detach().requires_grad_()))
        return graph[-1].detach()

    graph = []
    y = once_more(fn, x, first=first)
    y.graph = graph
    y.grad_fn.metadata["graph"] = graph
    return y


@impostor("recomputed", diagnosis="not_again")
def graph_in_ctx(fn, x):
    class Hidden(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x.detach().requires_grad_()
            with torch.enable_grad():
                ctx.y = fn(ctx.x)
            return ctx.y.detach()

        @staticmethod
        def backward(ctx, gradient):
            ctx.y.backward(gradient)
            return ctx.x.grad

    return Hidden.apply(x)


# -- least_recompute ---------------------------------------------------------------------------


def taken_in_order(parts, budget, key):
    left, again = sum(kept for kept, _ in parts), []
    for k in sorted(range(len(parts)), key=key):
        if left > budget:
            again.append(k)
            left -= parts[k][0]
    return sorted(again)


@impostor("least_recompute", diagnosis="one_by_one")
def largest_first(parts, budget):
    return taken_in_order(parts, budget, lambda k: -parts[k][0])


@impostor("least_recompute", diagnosis="one_by_one")
def ratio_first(parts, budget):
    return taken_in_order(parts, budget, lambda k: -parts[k][0] / parts[k][1])


@impostor("least_recompute", diagnosis="one_by_one")
def cheap_first(parts, budget):
    return taken_in_order(parts, budget, lambda k: parts[k][1])


@impostor("least_recompute", diagnosis="all")
def everything(parts, budget):
    return list(range(len(parts)))


@impostor("least_recompute", diagnosis="does_not_fit")
def nothing(parts, budget):
    return []


@impostor("least_recompute", diagnosis="kept_instead")
def those_to_keep(parts, budget):
    best = None
    for choice in range(2 ** len(parts)):
        again = [k for k in range(len(parts)) if choice >> k & 1]
        kept = sum(part[0] for k, part in enumerate(parts) if k not in again)
        cost = sum(parts[k][1] for k in again)
        if kept <= budget and (best is None or cost < best[0]):
            best = cost, [k for k in range(len(parts)) if k not in again]
    return best[1]


@impostor("least_recompute", diagnosis="no_list")
def the_cost(parts, budget):
    return sum(cost for _, cost in parts)


@impostor("least_recompute", diagnosis="not_least")
def a_byte_too_strict(parts, budget):
    """Fits only what is below the budget."""
    best = sum(cost for _, cost in parts), list(range(len(parts)))
    for choice in range(2 ** len(parts)):
        again = [k for k in range(len(parts)) if choice >> k & 1]
        kept = sum(part[0] for k, part in enumerate(parts) if k not in again)
        cost = sum(parts[k][1] for k in again)
        if kept < budget and cost < best[0]:
            best = cost, again
    return best[1]
