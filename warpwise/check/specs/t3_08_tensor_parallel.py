"""Specs of the lab t3_08_tensor_parallel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..cases import Level
from ..ranked import Limits, World, ranks_spec
from ..spec import FunctionSpec

UNIT = "t3_08_tensor_parallel"

Array = np.ndarray[Any, Any]


def reduced(ranks: int, nbytes: float) -> float:
    """What a rank sends in an all-reduce of `nbytes`."""
    return 2 * (ranks - 1) / ranks * nbytes


# -- layer_traffic -----------------------------------------------------------------------------

Traffic = tuple[int, int, float]


def traffic_inputs(
    rng: np.random.Generator, level: Level
) -> Iterator[tuple[int, int, int, int, int]]:
    """(layers, tokens, h, itemsize, t); one rank as well."""
    yield 1, 4, 8, 2, 2
    yield 3, 5, 8, 4, 1
    for t in (4, 8, 3):
        yield int(rng.integers(2, 97)), int(rng.integers(1, 9)) * 512, 1024 * t, 2, t
    if level == "grader":
        yield int(rng.integers(2, 97)), int(rng.integers(10, 9999)), 4096, 4, 16


def traffic(layers: int, tokens: int, h: int, itemsize: int, t: int) -> Traffic:
    """Four all-reduces a layer, of one activation."""
    calls = 4 * layers if t > 1 else 0
    nbytes = calls * tokens * h * itemsize
    return calls, nbytes, reduced(t, nbytes)


def _forward_only(layers: int, tokens: int, h: int, itemsize: int, t: int) -> Traffic:
    calls, nbytes, sent = traffic(layers, tokens, h, itemsize, t)
    return calls // 2, nbytes // 2, sent / 2


def _sent(factor: Callable[[int], float]) -> Callable[..., Traffic]:
    """The right calls and bytes; another factor for what is sent."""

    def wrong(layers: int, tokens: int, h: int, itemsize: int, t: int) -> Traffic:
        calls, nbytes, _ = traffic(layers, tokens, h, itemsize, t)
        return calls, nbytes, factor(t) * nbytes

    return wrong


def _alone_too(layers: int, tokens: int, h: int, itemsize: int, t: int) -> Traffic:
    nbytes = 4 * layers * tokens * h * itemsize
    return 4 * layers, nbytes, reduced(t, nbytes)


LAYER_TRAFFIC = FunctionSpec(
    "layer_traffic", UNIT, 2, traffic_inputs, traffic,
    suspects={
        "forward_only": _forward_only,
        "in_numbers": lambda layers, tokens, h, itemsize, t: traffic(layers, tokens, h, 1, t),
        "parts_reduced": lambda layers, tokens, h, itemsize, t: traffic(
            layers, tokens, h // t, itemsize, t
        ),
        "sent_once": _sent(lambda t: (t - 1) / t),
        "factor_left_out": _sent(lambda t: 2.0),
        "alone_too": _alone_too,
    },
    causes={
        "forward_only": "Two all-reduces a layer are counted; it is two forward and two backward.",
        "in_numbers": "These are numbers, not bytes.",
        "parts_reduced": "Each all-reduce is counted as a part of the activation; partial sums "
        "are as large as the whole one.",
        "sent_once": "An all-reduce is a reduce-scatter and an all-gather: each sends (t - 1)/t.",
        "factor_left_out": "The factor (t - 1)/t is missing in what is sent.",
        "alone_too": "One rank alone has nobody to add up with.",
    },
    hints={
        "forward_only": (
            "Which operators call an all-reduce in the backward pass?",
            "f of the attention and f of the MLP: 4 in all, for each layer.",
        ),
        "in_numbers": ("How many bytes has a number?", "Multiply by itemsize."),
        "parts_reduced": (
            "What is the shape of a partial sum?",
            "tokens x h on every rank, whatever t is.",
        ),
        "sent_once": ("What does a ring send?", "2 (t - 1)/t times the bytes handed in."),
        "factor_left_out": ("What does t = 2 send?", "2 (t - 1)/t times the bytes handed in."),
        "alone_too": ("What is summed for t = 1?", "Nothing: return (0, 0, 0)."),
    },
)  # fmt: skip


# -- split_mlp ---------------------------------------------------------------------------------


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def only(parts: list[Array], rank: int, axis: int = 0) -> Array:
    """The whole array, in which all parts but this rank's are NaN."""
    return np.concatenate(
        [part if k == rank else np.full_like(part, np.nan) for k, part in enumerate(parts)], axis
    )


def mlp_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """Every rank has the whole input; of the weights only its own part is no NaN."""
    shapes = [(2, 3, 2, 10), (3, 2, 4, 15)]
    shapes += [(4, 5, 3, 8), (2, 1, 5, 2)] if level == "grader" else []
    for n, tokens, h, f in shapes:
        x, c = rng.standard_normal((tokens, h)), rng.random(h) + 0.5
        ups = np.split(rng.standard_normal((f, h)), n)
        biases = np.split(rng.standard_normal(f), n)
        downs = np.split(rng.standard_normal((h, f)), n, axis=1)
        yield World(
            tuple((x, only(ups, r), only(biases, r), only(downs, r, 1), c) for r in range(n))
        )


def _partial(world: World, with_bias: bool) -> list[Array]:
    n, found = world.ranks, []
    for rank, (x, up, b, down, c) in enumerate(world.args):
        hidden = relu(x @ np.split(up, n)[rank].T + np.split(b, n)[rank])
        found.append(hidden @ np.split(down, n, axis=1)[rank].T + with_bias * c)
    return found


def _mlp(world: World) -> Array:
    return np.asarray(np.sum(_partial(world, False), axis=0) + world.args[0][4])


def _everywhere(y: Array, world: World) -> list[Array]:
    return [y] * world.ranks


SPLIT_MLP = ranks_spec(
    "split_mlp", UNIT, 3, mlp_worlds, lambda world: _everywhere(_mlp(world), world),
    ("x", "up", "up_bias", "down", "down_bias"),
    Limits(most_wire=lambda w: reduced(w.ranks, w.args[0][0].nbytes)),
    suspects={
        "bias_n_times": lambda world: _everywhere(
            _mlp(world) + (world.ranks - 1) * world.args[0][4], world
        ),
        "bias_lost": lambda world: _everywhere(_mlp(world) - world.args[0][4], world),
        "bias_on_some": lambda world: [
            _mlp(world) - (rank > 0) * world.args[0][4] for rank in range(world.ranks)
        ],
        "not_summed": lambda world: _partial(world, True),
        "not_summed_no_bias": lambda world: _partial(world, False),
    },
    causes={
        "bias_n_times": "The second bias is added on every rank before the sum: n times.",
        "bias_lost": "The second bias is missing.",
        "bias_on_some": "Only rank 0 has the second bias: it was added there after the sum.",
        "not_summed": "Each rank returns its own partial sum.",
        "not_summed_no_bias": "Each rank returns its own partial sum, without the second bias.",
        "too_many_bytes": "More is sent than one all-reduce of the output, or it is done alone "
        "after gathering.",
    },
    hints={
        "bias_n_times": (
            "How many ranks add their bias to the sum?",
            "Add down_bias once, after the all-reduce.",
        ),
        "bias_lost": ("Which weight is not used yet?", "Add down_bias after the all-reduce."),
        "bias_on_some": ("Who needs the output?", "All ranks: add down_bias on each."),
        "not_summed": (
            "What has rank 0 of rank 1's hidden columns?",
            "Nothing: dist.all_reduce(y), then add the bias.",
        ),
        "not_summed_no_bias": (
            "What has rank 0 of rank 1's hidden columns?",
            "Nothing: dist.all_reduce(y), then add the bias.",
        ),
        "wrong_values": (
            "Which part of up, up_bias and down is not NaN on your rank?",
            "Part number rank: up.chunk(n)[rank], up_bias.chunk(n)[rank] and "
            "down.chunk(n, dim=1)[rank].",
        ),
        "too_many_bytes": (
            "Which array has to be summed?",
            "The output alone: tokens x h, one all-reduce. The hidden columns stay where they are.",
        ),
    },
)  # fmt: skip


# -- split_gradients ---------------------------------------------------------------------------


def gradient_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """Every rank has its own parts, the whole input and the gradient of the output."""
    shapes = [(2, 3, 2, 4), (3, 2, 4, 6)] + ([(4, 5, 3, 8)] if level == "grader" else [])
    for n, tokens, h, f in shapes:
        x, dy = rng.standard_normal((tokens, h)), rng.standard_normal((tokens, h))
        ups = np.split(rng.standard_normal((f, h)), n)
        downs = np.split(rng.standard_normal((h, f)), n, axis=1)
        yield World(
            tuple(
                (x, up, np.ascontiguousarray(down), dy) for up, down in zip(ups, downs, strict=True)
            )
        )


def gradients(
    world: World, dy_times: float = 1, dx_times: float = 1, own_dx: bool = False
) -> list[list[Array]]:
    """y, dx, d_up, d_down by rank."""
    outs, insides, ups, downs = [], [], [], []
    for x, up, down, dy in world.args:
        before = x @ up.T
        dy = dy * dy_times
        inner = (dy @ down) * (before > 0)
        outs.append(relu(before) @ down.T)
        insides.append(inner @ up)
        ups.append(inner.T @ x)
        downs.append(dy.T @ relu(before))
    y, dx = np.sum(outs, axis=0), np.sum(insides, axis=0) * dx_times
    return [[y, insides[r] if own_dx else dx, ups[r], downs[r]] for r in range(world.ranks)]


SPLIT_GRADIENTS = ranks_spec(
    "split_gradients", UNIT, 4, gradient_worlds, gradients, ("x", "up", "down", "dy"),
    Limits(most_wire=lambda w: 2 * reduced(w.ranks, w.args[0][0].nbytes)),
    suspects={
        "f_missing": lambda world: gradients(world, own_dx=True),
        "g_sums_back": lambda world: gradients(world, dy_times=world.ranks),
        "g_sums_back_f_missing": lambda world: gradients(
            world, dy_times=world.ranks, own_dx=True
        ),
        "averaged": lambda world: gradients(world, dx_times=1 / world.ranks),
        "y_not_summed": lambda world: [
            [relu(a[0] @ a[1].T) @ a[2].T, *rest]
            for a, (_, *rest) in zip(world.args, gradients(world), strict=True)
        ],
    },
    causes={
        "f_missing": "The gradient of x is this rank's share alone: nothing adds up the shares.",
        "g_sums_back": "All gradients are n times too large: the sum has an all-reduce backward, "
        "too.",
        "g_sums_back_f_missing": "The all-reduce of the backward pass stands at the output; it "
        "belongs to the input.",
        "averaged": "The gradient of x is a mean, not a sum.",
        "y_not_summed": "The output is a partial sum: g has to add it up.",
        "too_many_bytes": "More than two all-reduces of an activation.",
    },
    hints={
        "f_missing": (
            "x goes to n ranks. What does the chain rule say of something used n times?",
            "F.apply(x) before the first product: its backward all-reduces the gradient.",
        ),
        "g_sums_back": (
            "Does every rank have the whole dy already?",
            "G's backward returns the gradient as it is.",
        ),
        "g_sums_back_f_missing": (
            "Which of the two has its all-reduce backward?",
            "F: forward nothing, backward the sum. G: forward the sum, backward nothing.",
        ),
        "averaged": ("Is it the same batch on all ranks?", "Yes: add the shares, do not divide."),
        "y_not_summed": ("What does G do forward?", "dist.all_reduce of a clone."),
        "too_many_bytes": (
            "Which gradients stay on their rank?",
            "Those of weights: only y and dx are summed.",
        ),
    },
)  # fmt: skip


# -- dropped_twice -----------------------------------------------------------------------------


def keep(seed: int, shape: tuple[int, ...]) -> Array:
    """Half the numbers are kept, and doubled."""
    return 2.0 * (np.random.default_rng(seed).random(shape) >= 0.5)


def dropout_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """Parts by rank; masks differ in many numbers."""
    shapes = [(2, 6, 4, 8), (3, 5, 4, 9)] + ([(4, 7, 6, 16)] if level == "grader" else [])
    for n, tokens, h, f in shapes:
        x, seed = rng.standard_normal((tokens, h)), int(rng.integers(1000))
        ups = np.split(rng.standard_normal((f, h)), n)
        downs = np.split(rng.standard_normal((h, f)), n, axis=1)
        yield World(
            tuple(
                (x, up, np.ascontiguousarray(down), seed)
                for up, down in zip(ups, downs, strict=True)
            )
        )


def dropped(
    world: World, inner: Callable[[int, int], int], outer: Callable[[int, int], int | None]
) -> list[Array]:
    """inner, outer: (seed, rank) -> the seed of a mask."""
    outs = []
    for rank, (x, up, down, seed) in enumerate(world.args):
        hidden = relu(x @ up.T)
        outs.append((hidden * keep(inner(seed, rank), hidden.shape)) @ down.T)
    y, seed = np.sum(outs, axis=0), world.args[0][3]
    found = [outer(seed, rank) for rank in range(world.ranks)]
    return [y if one is None else y * keep(one, y.shape) for one in found]


DROPPED_TWICE = ranks_spec(
    "dropped_twice", UNIT, 2, dropout_worlds,
    lambda world: dropped(world, lambda s, r: s + 1 + r, lambda s, r: s),
    ("x", "up", "down", "seed"),
    Limits(most_wire=lambda w: reduced(w.ranks, w.args[0][0].nbytes)),
    suspects={
        "outputs_differ": lambda world: dropped(
            world, lambda s, r: s + 1 + r, lambda s, r: s + 1 + r
        ),
        "same_inside": lambda world: dropped(world, lambda s, r: s, lambda s, r: s),
        "same_inside_next": lambda world: dropped(world, lambda s, r: s + 1, lambda s, r: s),
        "exchanged": lambda world: dropped(world, lambda s, r: s, lambda s, r: s + 1 + r),
        "not_dropped_outside": lambda world: dropped(
            world, lambda s, r: s + 1 + r, lambda s, r: None
        ),
        "one_off": lambda world: dropped(world, lambda s, r: s + r, lambda s, r: s),
    },
    causes={
        "outputs_differ": "Ranks drop different numbers of the same output: they drift apart.",
        "same_inside": "All ranks drop the same places of different hidden columns.",
        "same_inside_next": "All ranks drop the same places of different hidden columns.",
        "exchanged": "The seeds of the two masks are exchanged.",
        "not_dropped_outside": "The output is not dropped.",
        "one_off": "Rank 0 uses one seed for both masks.",
    },
    hints={
        "outputs_differ": (
            "Is the output the same on all ranks?",
            "Yes, so its mask has to be: seed alone.",
        ),
        "same_inside": (
            "Are the hidden columns the same on all ranks?",
            "No: use seed + 1 + rank inside.",
        ),
        "same_inside_next": (
            "Are the hidden columns the same on all ranks?",
            "No: use seed + 1 + rank inside.",
        ),
        "exchanged": (
            "Which array is the same on all ranks?",
            "The output: seed. The hidden columns: seed + 1 + rank.",
        ),
        "not_dropped_outside": ("How many masks are asked for?", "Two: mask the sum as well."),
        "one_off": ("Which seed has the mask of the output?", "Inside it is seed + 1 + rank."),
    },
)  # fmt: skip


# -- split_loss --------------------------------------------------------------------------------


def loss_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """Logits of each rank's words; large ones, whose exponentials overflow, too."""
    shapes = [(2, 3, 4, 1.0), (3, 4, 5, 900.0)]
    shapes += [(4, 6, 3, 50.0), (2, 5, 8, 2000.0)] if level == "grader" else []
    for n, tokens, words, size in shapes:
        logits = rng.standard_normal((tokens, n * words)) * size
        # The targets are not always the likeliest words, and every rank owns one.
        targets = np.arange(tokens) * words % (n * words) + rng.integers(0, words, tokens)
        yield World(
            tuple((np.ascontiguousarray(part), targets) for part in np.split(logits, n, axis=1))
        )


def losses(world: World) -> tuple[Array, Array]:
    """Log of the sum of exponentials, and the target's logit, by token."""
    logits = np.concatenate([args[0] for args in world.args], axis=1)
    top = logits.max(axis=1)
    total = np.log(np.exp(logits - top[:, None]).sum(axis=1)) + top
    return total, logits[np.arange(len(logits)), world.args[0][1]]


def _own_loss(world: World) -> list[Array]:
    """Only this rank's words in the sum of exponentials, the right target."""
    _, target = losses(world)
    found = []
    for logits, _ in world.args:
        top = logits.max(axis=1)
        found.append(np.log(np.exp(logits - top[:, None]).sum(axis=1)) + top - target)
    return found


SPLIT_LOSS = ranks_spec(
    "split_loss", UNIT, 3, loss_worlds,
    lambda world: [losses(world)[0] - losses(world)[1]] * world.ranks, ("logits", "targets"),
    Limits(most_wire=lambda w: 3 * reduced(w.ranks, w.args[0][1].nbytes)),
    suspects={
        "target_missing": lambda world: [losses(world)[0]] * world.ranks,
        "own_words": _own_loss,
        "mean_returned": lambda world: (
            [np.asarray((losses(world)[0] - losses(world)[1]).mean())] * world.ranks
        ),
        "negative": lambda world: [losses(world)[1] - losses(world)[0]] * world.ranks,
    },
    causes={
        "target_missing": "The target's logit is not subtracted.",
        "own_words": "The sum of exponentials has this rank's words only.",
        "mean_returned": "It is the mean; one number a token is asked for.",
        "negative": "The sign is turned: a loss is positive.",
        "too_many_bytes": "More is sent than three numbers a token and rank.",
    },
    hints={
        "target_missing": (
            "What is the loss of a token?",
            "log(sum(exp(logits))) minus the target's logit.",
        ),
        "own_words": ("Which words are in the denominator?", "All: all-reduce the sums."),
        "mean_returned": ("How many tokens are there?", "Return one number for each."),
        "negative": ("What is -log of a probability?", "log of the sum minus the target's logit."),
        "wrong_values": (
            "What is exp(1000)?",
            "Subtract the largest logit of all ranks: all-reduce with dist.ReduceOp.MAX first.",
        ),
        "too_many_bytes": (
            "How many numbers a token does the formula need from the others?",
            "The largest logit, the sum of exponentials, and the target's logit.",
        ),
    },
)  # fmt: skip

SPECS = [LAYER_TRAFFIC, SPLIT_MLP, SPLIT_GRADIENTS, DROPPED_TWICE, SPLIT_LOSS]
