"""Specs of the lab t3_11_context_parallel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from ..cases import Level
from ..ranked import Limits, World, ranks_spec
from ..spec import FunctionSpec

UNIT = "t3_11_context_parallel"

Array = np.ndarray[Any, Any]


def contiguous(n: int, c: int) -> Array:
    """Positions by rank: [n, c]."""
    return np.arange(n * c).reshape(n, c)


def zigzag(n: int, c: int) -> Array:
    """Piece r and piece 2 n - 1 - r."""
    pieces = np.arange(n * c).reshape(2 * n, c // 2)
    return np.concatenate([pieces[:n], pieces[: n - 1 : -1]], axis=1)


def shuffled(rng: np.random.Generator, n: int, c: int) -> Array:
    """Any positions, in any order."""
    return rng.permutation(n * c).reshape(n, c)


# -- context_bill ------------------------------------------------------------------------------


def bill_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, int, int, int, int]]:
    """(tokens, kv_heads, head_size, itemsize, n); one rank as well."""
    yield 8, 1, 4, 2, 2
    yield 12, 2, 8, 4, 1
    for n, itemsize in ((4, 2), (8, 4), (3, 1)):
        c = int(rng.integers(2, 999))
        yield n * c, int(rng.integers(2, 9)), int(rng.choice([64, 80, 128])), itemsize, n
    if level == "grader":
        yield 16 * int(rng.integers(10, 9999)), 8, 128, 4, 16


def _bill(
    forward: Callable[[int], float] = lambda n: 2 * (n - 1),
    backward: Callable[[int], float] = lambda n: 4 * (n - 1),
) -> Callable[[int, int, int, int, int], tuple[float, float]]:
    """Blocks of K or V alone that a rank sends; one rank sends none."""

    def bill(
        tokens: int, kv_heads: int, head_size: int, itemsize: int, n: int
    ) -> tuple[float, float]:
        block = tokens / n * kv_heads * head_size * itemsize
        return forward(n) * block, backward(n) * block

    return bill


def context_traffic(
    tokens: int, kv_heads: int, head_size: int, itemsize: int, n: int
) -> tuple[float, float]:
    """K and V n - 1 steps; backward once more, and dK and dV n - 1 steps."""
    return _bill()(tokens, kv_heads, head_size, itemsize, n)


CONTEXT_BILL = FunctionSpec(
    "context_bill", UNIT, 1, bill_inputs, context_traffic,
    suspects={
        "home_hop": _bill(backward=lambda n: 4 * n - 2),
        "keys_alone": _bill(lambda n: n - 1, lambda n: 2 * (n - 1)),
        "gradients_alone": _bill(backward=lambda n: 2 * (n - 1)),
        "own_block_sent": _bill(lambda n: 2 * n, lambda n: 4 * n),
        "all_ranks": _bill(lambda n: 2 * n * (n - 1), lambda n: 4 * n * (n - 1)),
        "in_numbers": lambda tokens, kv_heads, head_size, itemsize, n: context_traffic(
            tokens, kv_heads, head_size, 1, n
        ),
        "whole_sequence": lambda tokens, kv_heads, head_size, itemsize, n: context_traffic(
            tokens * n, kv_heads, head_size, itemsize, n
        ),
        "one_head": lambda tokens, kv_heads, head_size, itemsize, n: context_traffic(
            tokens, 1, head_size, itemsize, n
        ),
    },
    causes={
        "home_hop": "The gradients are counted with n steps, as in the lesson's program; they can "
        "do with n - 1.",
        "keys_alone": "Keys are counted, values are not, or the other way round.",
        "gradients_alone": "Backward counts dK and dV alone; K and V travel once more.",
        "own_block_sent": "Each block is counted with n steps; after n - 1 all have seen it.",
        "all_ranks": "This is what all ranks send together.",
        "in_numbers": "These are numbers, not bytes.",
        "whole_sequence": "A message is counted as the whole sequence; it has tokens / n.",
        "one_head": "One head is counted.",
    },
    hints={
        "home_hop": (
            "Who adds the last share of a block's gradient, if it begins at the neighbour?",
            "Its owner: n - 1 steps are enough. Backward: 4 (n - 1) blocks.",
        ),
        "keys_alone": ("What is in a block?", "K and V: twice as much."),
        "gradients_alone": (
            "What does a rank need to compute its share of dK?",
            "The keys and values: they go round once more, beside dK and dV.",
        ),
        "own_block_sent": ("How many ranks have to see a block?", "The n - 1 others."),
        "all_ranks": ("How many ranks are asked for?", "One: do not multiply by n."),
        "in_numbers": ("How many bytes has a number?", "Multiply by itemsize."),
        "whole_sequence": ("How many tokens has a block?", "tokens / n."),
        "one_head": ("How wide is a key of all heads?", "kv_heads * head_size numbers."),
    },
)  # fmt: skip


# -- busy_pairs --------------------------------------------------------------------------------

Places = Sequence[Sequence[int]]


def places_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[list[list[int]]]]:
    """Contiguous, zig-zag and shuffled cuts; one rank, one token a rank."""
    yield ([[0, 1], [2, 3]],)
    yield ([[0, 3], [1, 2]],)
    yield ([[0, 1, 2]],)
    yield ([[0, 1], [2, 5], [3, 4]],)  # the smallest whose wait is no rank's sum
    yield (contiguous(4, 3).tolist(),)
    yield (zigzag(3, 4).tolist(),)
    for n, c in ((3, 2), (4, 5), (5, 1)) if level == "student" else ((5, 3), (6, 4), (3, 7)):
        yield (shuffled(rng, n, c).tolist(),)


def pairs_by_step(places: Places, least: int = 0, causal: bool = True) -> list[list[int]]:
    """[step][rank]: pairs of a query there and a key of the block that is there."""
    n = len(places)
    return [
        [
            sum(not causal or query - key >= least
                for query in places[rank] for key in places[(rank - step) % n])
            for rank in range(n)
        ]
        for step in range(n)
    ]  # fmt: skip


def _told(count: list[list[int]]) -> tuple[list[int], int]:
    return [sum(row) for row in zip(*count, strict=True)], sum(max(row) for row in count)


def waited(places: Places) -> tuple[list[int], int]:
    """Pairs by rank, and the sum over steps of the most that a rank has."""
    return _told(pairs_by_step(places))


def _other_wait(wait: Callable[[list[list[int]]], float]) -> Callable[[Places], Any]:
    def wrong(places: Places) -> Any:
        return waited(places)[0], wait(pairs_by_step(places))

    return wrong


BUSY_PAIRS = FunctionSpec(
    "busy_pairs", UNIT, 2, places_inputs, waited,
    suspects={
        "not_by_step": _other_wait(lambda count: max(sum(row) for row in zip(*count, strict=True))),
        "all_pairs": lambda places: _told(pairs_by_step(places, causal=False)),
        "self_left_out": lambda places: _told(pairs_by_step(places, least=1)),
        "one_step": _other_wait(lambda count: max(max(row) for row in count)),
        "by_place_in_the_list": lambda places: _told(
            pairs_by_step(contiguous(len(places), len(places[0])).tolist())
        ),
        "all_steps_added": _other_wait(lambda count: sum(sum(row) for row in count)),
    },
    causes={
        "not_by_step": "The wait is the largest sum of a rank; ranks wait in every step.",
        "all_pairs": "Pairs with later keys are counted as well.",
        "self_left_out": "A query sees its own key, too.",
        "one_step": "The wait of one step is given; there are n.",
        "by_place_in_the_list": "Positions are taken as if the cut were contiguous.",
        "all_steps_added": "The work of all ranks is added up; they work at the same time.",
    },
    hints={
        "not_by_step": (
            "Can the rank with the most work be another one in the next step?",
            "Take the maximum over ranks in each step, then add up the steps.",
        ),
        "all_pairs": ("Which keys does query 2 see?", "0, 1 and 2: key <= query."),
        "self_left_out": ("Does query 0 see any key?", "Its own: key <= query."),
        "one_step": ("How many steps has the ring?", "n: add up the maximum of each."),
        "by_place_in_the_list": (
            "Which position has the first token of rank 1?",
            "places[1][0]: compare positions, not indices.",
        ),
        "all_steps_added": (
            "How long does a step take in which ranks have 3 and 5 pairs?",
            "5: the maximum, not the sum.",
        ),
    },
)  # fmt: skip


# -- hidden_from -------------------------------------------------------------------------------

Machine = tuple[int, int, int, int, float, float, bool]


def machine_inputs(rng: np.random.Generator, level: Level) -> Iterator[Machine]:
    """(n, heads, kv_heads, itemsize, tflops, gbs, zigzag); nothing just at a border."""
    yield 8, 32, 32, 2, 989, 450, False
    yield 8, 32, 32, 2, 989, 450, True
    yield 4, 32, 8, 2, 990, 46, True  # an odd number of tokens a rank would do
    yield 2, 8, 1, 1, 1979, 50, False
    yield 3, 16, 4, 4, 312, 23, False
    left = 6 if level == "grader" else 3
    while left:
        kv_heads = int(rng.choice([1, 2, 4, 8]))
        case = (
            int(rng.integers(2, 17)), kv_heads * int(rng.integers(1, 9)), kv_heads,
            int(rng.choice([1, 2, 4])), int(rng.integers(100, 2500)), int(rng.integers(10, 900)),
            bool(left % 2),
        )  # fmt: skip
        if 0.01 < float(_block(*case)) % 1 < 0.99:
            yield case
            left -= 1


def _block(
    n: int, heads: int, kv_heads: int, itemsize: int, tflops: float, gbs: float, zigzag: bool
) -> Fraction:
    """Tokens of a rank: share 4 c^2 heads d / F = 2 c kv_heads d itemsize / B."""
    ratio = Fraction(tflops) * 1000 / Fraction(gbs)
    return ratio * itemsize * kv_heads / (2 * heads) * (2 if zigzag else 1)


def hidden(
    n: int, heads: int, kv_heads: int, itemsize: int, tflops: float, gbs: float, zigzag: bool
) -> int:
    """The shortest sequence; under a zig-zag each rank has two pieces."""
    pieces = 2 if zigzag else 1
    return n * pieces * ceil(_block(n, heads, kv_heads, itemsize, tflops, gbs, zigzag) / pieces)


def _with(**changed: Any) -> Callable[..., int]:
    names = ("n", "heads", "kv_heads", "itemsize", "tflops", "gbs", "zigzag")

    def wrong(*given: Any) -> int:
        case = dict(zip(names, given, strict=True))
        for name, value in changed.items():
            case[name] = value(case) if callable(value) else value
        return hidden(**case)

    return wrong


def _zigzag_work_whole(*case: Any) -> int:
    """Twice the pieces, but all pairs counted."""
    n, zigzag = case[0], case[-1]
    pieces = 2 if zigzag else 1
    return n * pieces * ceil(_block(*(*case[:-1], False)) / pieces)


def _halved_instead(*case: Any) -> int:
    n, zigzag = case[0], case[-1]
    pieces = 2 if zigzag else 1
    share = Fraction(1, 2) if zigzag else Fraction(1)
    return n * pieces * ceil(_block(*(*case[:-1], False)) * share / pieces)


def _of_one_rank(*case: Any) -> int:
    return hidden(*case) // case[0]


def _rounded_down(*case: Any) -> int:
    n, pieces = case[0], 2 if case[-1] else 1
    return n * pieces * int(_block(*case) / pieces)


def _odd_pieces(*case: Any) -> int:
    return int(case[0] * ceil(_block(*case)))


HIDDEN_FROM = FunctionSpec(
    "hidden_from", UNIT, 2, machine_inputs, hidden,
    suspects={
        "of_one_rank": _of_one_rank,
        "mask_ignored": _with(zigzag=False),
        "mask_ignored_in_work": _zigzag_work_whole,
        "mask_turned_round": _halved_instead,
        "all_heads_sent": _with(kv_heads=lambda case: case["heads"]),
        "keys_alone": _with(gbs=lambda case: 2 * case["gbs"]),
        "scores_alone": _with(tflops=lambda case: 2 * case["tflops"]),
        "itemsize_left_out": _with(itemsize=1),
        "always_two_bytes": _with(itemsize=2),
        "rounded_down": _rounded_down,
        "odd_pieces": _odd_pieces,
        "not_whole_tokens": lambda *case: ceil(case[0] * _block(*case)),
    },
    causes={
        "of_one_rank": "These are the tokens of one rank; the whole sequence is asked for.",
        "mask_ignored": "The zig-zag leaves half of the products out: the same bytes have half the "
        "time to hide.",
        "mask_ignored_in_work": "The zig-zag leaves half of the products out: the same bytes have "
        "half the time to hide.",
        "mask_turned_round": "Half of the work needs a longer block, not a shorter one.",
        "all_heads_sent": "All heads are sent; K and V have kv_heads of them.",
        "keys_alone": "One of K and V is counted as bytes.",
        "scores_alone": "One of the two products is counted.",
        "itemsize_left_out": "Numbers travel as bytes: itemsize of them each.",
        "always_two_bytes": "A number is counted with 2 bytes, whatever itemsize is.",
        "rounded_down": "One token less than needed: the block is rounded down.",
        "odd_pieces": "In a zig-zag a rank has two equal pieces: an even number of tokens.",
        "not_whole_tokens": "The sequence cannot be cut into n equal parts.",
    },
    hints={
        "of_one_rank": ("How many ranks share the sequence?", "Multiply by n."),
        "mask_ignored": (
            "How long does a rank compute with a block, if half is left out?",
            "Half as long: c has to be twice as large.",
        ),
        "mask_ignored_in_work": (
            "How long does a rank compute with a block, if half is left out?",
            "Half as long: c has to be twice as large.",
        ),
        "mask_turned_round": (
            "Has a message more or less time to hide, if half of the work is left out?",
            "Less: c has to be twice as large.",
        ),
        "all_heads_sent": ("How wide are K and V?", "kv_heads * head size: the head size cancels."),
        "keys_alone": ("What travels?", "K and V: 2 c kv_heads numbers of a head size each."),
        "scores_alone": (
            "Which products take a block of queries and a block of keys?",
            "Scores, and their product with V: 2 c c operations each, a head and number.",
        ),
        "itemsize_left_out": ("How many bytes has a number?", "Multiply by itemsize."),
        "always_two_bytes": ("Where does the 4 in 4 c h of the lesson come from?",
                             "K and V, 2 bytes each: put itemsize in place of the second 2."),
        "rounded_down": ("Does one token less still hide?", "No: round up, math.ceil."),
        "odd_pieces": (
            "How many pieces has the sequence in a zig-zag?",
            "2 n: round the piece up, ceil(c / 2), and multiply by 2 n.",
        ),
        "not_whole_tokens": (
            "Has each rank equally many tokens?",
            "Round the tokens of a rank up first, then multiply by n.",
        ),
    },
)  # fmt: skip


# -- ring_attention, ring_gradients, zigzag_attention ------------------------------------------


def _finite(values: Any) -> bool:
    if isinstance(values, list):
        return all(_finite(value) for value in values)
    return not isinstance(values, np.ndarray | float) or bool(np.isfinite(values).all())


def _telling_nan(spec: FunctionSpec) -> FunctionSpec:
    """The same spec; wrong values with NaN or inf among them have a diagnosis of their own."""
    judged = spec.examine
    assert judged is not None

    def examine(args: Sequence[Any], got: Any) -> tuple[str, str] | None:
        found = judged(args, got)
        if found and found[0] == "wrong_values" and not _finite(got["values"]):
            return "not_finite", found[1]
        return found

    return replace(spec, examine=examine)


NOT_FINITE = {
    "not_finite": "NaN or an infinity came out: of a query that sees no key of a block, or of the "
    "exponential of a large score.",
}
NOT_FINITE_HINT = {
    "not_finite": (
        "What is -inf - (-inf), and what is exp(1000)?",
        "Use the lesson's second attend, with torch.logsumexp and safe, and begin with the block "
        "of the rank itself, in which each query sees a key.",
    ),
}
TOO_LARGE = {
    "too_large": "Keys or scores of several blocks are put together; a rank holds one block at a "
    "time.",
}
TOO_LARGE_HINT = {
    "too_large": (
        "How many keys have your scores in one step?",
        "Those of one block: compute with it, merge, and go on to the next.",
    ),
}


def seen_by(places: Array, a: int, b: int, starts: Array | None = None) -> Array:
    """[queries of rank a, keys of rank b]: later keys are hidden, other documents too."""
    query, key = places[a][:, None], places[b][None, :]
    seen = key <= query
    return np.asarray(seen if starts is None else seen & (key >= starts[query]))


Parts = tuple[Array, Array]


def part_of(q: Array, k: Array, v: Array, seen: Array, scale: float) -> Parts:
    """Output and log-sum-exp over the keys that are seen."""
    scores = np.where(seen, q @ k.T * scale, -np.inf)
    top = scores.max(axis=1)
    safe = np.where(np.isfinite(top), top, 0.0)
    weights = np.exp(scores - safe[:, None])
    total = weights.sum(axis=1)
    out = weights @ v / np.where(total > 0, total, 1.0)[:, None]
    with np.errstate(divide="ignore"):
        return out, np.log(total) + safe


def attention(
    world: World,
    seen: Callable[[int, int], Array],
    blocks: Callable[[int, int], Sequence[int]] = lambda rank, n: range(n),
    scale: float | None = None,
) -> list[Parts]:
    """By rank; seen(a, b): mask of the queries of a and the keys of b; blocks: whose are used."""
    n = world.ranks
    scale = world.args[0][0].shape[1] ** -0.5 if scale is None else scale
    found = []
    for rank in range(n):
        used = list(blocks(rank, n))
        k, v = (np.concatenate([world.args[b][place] for b in used]) for place in (1, 2))
        mask = np.concatenate([seen(rank, b) for b in used], axis=1)
        found.append(part_of(world.args[rank][0], k, v, mask, scale))
    return found


def block_bytes(world: World) -> int:
    """K of one block."""
    return int(world.args[0][1].nbytes)


def ring_limits(blocks: int, **more: Any) -> Limits:
    """`blocks` of the size of K may go from each rank in each of n - 1 steps."""
    return Limits(
        by_hand=True,
        most_bytes=lambda w: float(blocks * (w.ranks - 1) * block_bytes(w)),
        least_bytes=lambda w: float(block_bytes(w)),
        most_rounds=lambda w: blocks * (w.ranks - 1),
        largest_tensor=lambda w: 2.0 * 8 * len(w.args[0][0]) ** 2,
        **more,
    )


def attention_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """Documents across borders; large scores; any cut.  Two keys' widths fit into a block."""
    cases = [("contiguous", 3, 4, 2, 1.0), ("shuffled", 3, 6, 3, 1.0)]
    if level == "grader":
        cases += [("zigzag", 4, 6, 2, 1.0), ("contiguous", 2, 4, 2, 1.0)]
    cases += [("contiguous", 3, 6, 3, 600.0)]
    for name, n, c, d, size in cases:
        places = {"contiguous": contiguous(n, c), "zigzag": zigzag(n, c)}.get(name)
        places = shuffled(rng, n, c) if places is None else places
        # The first document ends inside the second rank's tokens of a contiguous cut.
        start = c + 1 + int(rng.integers(0, c - 2))
        starts = np.where(np.arange(n * c) < start, 0, start)
        q, k, v = (rng.standard_normal((n, c, d)) for _ in range(3))
        q = q * size
        yield World(tuple((q[r], k[r], v[r], places, starts) for r in range(n)), counted=True)


def _seen(world: World) -> Callable[[int, int], Array]:
    _, _, _, places, starts = world.args[0]
    return lambda a, b: seen_by(places, a, b, starts)


def _causal(world: World) -> Callable[[int, int], Array]:
    return lambda a, b: seen_by(world.args[0][3], a, b)


def _document(world: World) -> Callable[[int, int], Array]:
    """Later keys of the same document are seen as well."""
    _, _, _, places, starts = world.args[0]
    return lambda a, b: starts[places[a]][:, None] == starts[places[b]][None, :]


def _start_alone(world: World) -> Callable[[int, int], Array]:
    _, _, _, places, starts = world.args[0]
    return lambda a, b: places[b][None, :] >= starts[places[a]][:, None]


def _other_owner(world: World) -> list[Parts]:
    """Masks of the block of rank r + s for the block of rank r - s."""
    seen, n = _seen(world), world.ranks
    return attention(world, lambda a, b: seen(a, (2 * a - b) % n))


def _own_places(world: World) -> list[Parts]:
    """The rank's own positions for all blocks."""
    seen = _seen(world)
    return attention(world, lambda a, b: seen(a, a))


def _in_order(world: World) -> list[Parts]:
    """Masks of a contiguous cut."""
    _, _, _, places, starts = world.args[0]
    return attention(world, lambda a, b: seen_by(contiguous(*places.shape), a, b, starts))


def _last_log(world: World) -> list[Parts]:
    """The right output, the log-sum-exp of the last block."""
    seen = _seen(world)
    right = attention(world, seen)
    last = attention(world, seen, lambda rank, n: [(rank + 1) % n])
    return [(out, log) for (out, _), (_, log) in zip(right, last, strict=True)]


def _parts(world: World, weigh: Callable[[list[Parts]], Array]) -> list[Parts]:
    """The right log-sum-exp; outputs of the parts put together in another way."""
    seen, n = _seen(world), world.ranks
    found = []
    for rank, (_, log) in enumerate(attention(world, seen)):
        order = [(rank - step) % n for step in range(n)]
        one = [attention(world, seen, lambda r, m, b=b: [b])[rank] for b in order]  # type: ignore[misc]
        found.append((weigh(one), log))
    return found


def _mean(parts: list[Parts]) -> Array:
    return np.asarray(np.mean([out for out, _ in parts], axis=0))


def _sum(parts: list[Parts]) -> Array:
    return np.asarray(np.sum([out for out, _ in parts], axis=0))


RING_ATTENTION = _telling_nan(ranks_spec(
    "ring_attention", UNIT, 3, attention_worlds,
    lambda world: attention(world, _seen(world)), ("q", "k", "v", "places", "starts"),
    ring_limits(2),
    suspects={
        "documents_ignored": lambda world: attention(world, _causal(world)),
        "later_keys_seen": lambda world: attention(world, _document(world)),
        "mask_half_right": lambda world: attention(world, _start_alone(world)),
        "other_owner": _other_owner,
        "own_places": _own_places,
        "places_ignored": _in_order,
        "own_block": lambda world: attention(world, _seen(world), lambda rank, n: [rank]),
        "last_block_lost": lambda world: attention(
            world, _seen(world), lambda rank, n: [(rank - s) % n for s in range(n - 1)]
        ),
        "not_scaled": lambda world: attention(world, _seen(world), scale=1.0),
        "averaged": lambda world: _parts(world, _mean),
        "added_up": lambda world: _parts(world, _sum),
        "last_log": _last_log,
    },
    causes={
        **NOT_FINITE, **TOO_LARGE,
        "documents_ignored": "Keys of other documents are seen.",
        "later_keys_seen": "Later keys of the same document are seen.",
        "mask_half_right": "Keys before the document are hidden, later ones are not.",
        "other_owner": "The mask belongs to the block of rank r + s; in step s it is that of "
        "rank r - s.",
        "own_places": "The mask uses this rank's own positions for every block.",
        "places_ignored": "The mask takes the cut as contiguous; places has the positions.",
        "own_block": "Only the rank's own keys are used.",
        "last_block_lost": "The block that comes last is not used.",
        "not_scaled": "The scores are not divided by sqrt(d).",
        "averaged": "The parts are averaged; each has its own weight.",
        "added_up": "The parts are added up without weights.",
        "last_log": "The log-sum-exp is that of the last block alone.",
        "too_many_bytes": "More travels than K and V of one block in each of n - 1 steps.",
    },
    hints={
        **NOT_FINITE_HINT, **TOO_LARGE_HINT,
        "documents_ignored": (
            "What does starts say of a query?",
            "It sees keys from starts[its position] on: add that to the mask.",
        ),
        "later_keys_seen": ("Does a query see later keys?", "No: key <= query as well."),
        "mask_half_right": ("Does a query see later keys?", "No: key <= query as well."),
        "other_owner": (
            "From which side do blocks come?",
            "From the left: owner = (rank - step) % n.",
        ),
        "own_places": (
            "Whose keys are in the block of step 1?",
            "Those of owner = (rank - step) % n: key positions are places[owner].",
        ),
        "places_ignored": (
            "Which positions have the rank's own tokens?",
            "places[rank], in any order; those of the block are places[owner].",
        ),
        "own_block": ("Who has the other keys?", "Pass K and V round, n - 1 times."),
        "last_block_lost": (
            "How many blocks are there, and how many messages?",
            "n blocks and n - 1 messages: compute once more after the last one.",
        ),
        "not_scaled": ("What stands under Q K in section 1?", "sqrt(d), d = q.shape[1]."),
        "averaged": (
            "Do 1 key and 4 keys weigh the same?",
            "Merge with exp(log of the part - log of both).",
        ),
        "added_up": (
            "What is the sum of two means?",
            "Merge with exp(log of the part - log of both).",
        ),
        "last_log": (
            "What is the log-sum-exp of two parts together?",
            "torch.logaddexp of both.",
        ),
        "wrong_values": (
            "Which key belongs to which position in each step?",
            "Key positions: places[owner] with owner = (rank - step) % n. Query positions: "
            "places[rank].",
        ),
        "too_many_bytes": (
            "How many times does a block have to move on?",
            "n - 1 times: send nothing in the last step.",
        ),
    },
))  # fmt: skip


# -- ring_gradients


def gradient_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """What the forward pass saved is given; contiguous and shuffled cuts."""
    cases = [("contiguous", 3, 4, 2), ("shuffled", 3, 6, 3)]
    cases += [("zigzag", 4, 6, 2), ("contiguous", 2, 4, 2)] if level == "grader" else []
    for name, n, c, d in cases:
        places = {"contiguous": contiguous(n, c), "zigzag": zigzag(n, c)}.get(name)
        places = shuffled(rng, n, c) if places is None else places
        q, k, v, d_out = (rng.standard_normal((n, c, d)) for _ in range(4))
        plain = World(tuple((q[r], k[r], v[r], places) for r in range(n)))
        saved = attention(plain, _causal(plain))
        yield World(
            tuple((q[r], k[r], v[r], *saved[r], d_out[r], places) for r in range(n)), counted=True
        )


def shares(
    world: World, causal: bool = True, with_d: bool = True, scale_back: bool = True,
    own_log: bool = False, in_order: bool = False,
) -> tuple[dict[tuple[int, int], Array], dict[tuple[int, int], tuple[Array, Array]]]:  # fmt: skip
    """dQ, and (dK, dV), of each pair (rank of the queries, rank of the keys)."""
    n, places = world.ranks, world.args[0][6]
    places = contiguous(*places.shape) if in_order else places
    dq, dkv = {}, {}
    for a, (q, _, _, out, log, d_out, _) in enumerate(world.args):
        scale = q.shape[1] ** -0.5
        for b in range(n):
            k, v = world.args[b][1:3]
            seen = seen_by(places, a, b) if causal else np.ones((len(q), len(k)), bool)
            scores = np.where(seen, q @ k.T * scale, -np.inf)
            if own_log:
                log = part_of(q, k, v, seen, scale)[1]
            safe = np.where(np.isfinite(log), log, 0.0)
            P = np.exp(scores - safe[:, None])
            dS = P * (d_out @ v.T - with_d * (d_out * out).sum(1, keepdims=True))
            back = scale if scale_back else 1.0
            dq[a, b], dkv[a, b] = dS @ k * back, (dS.T @ q * back, P.T @ d_out)
    return dq, dkv


def _total(arrays: list[Array]) -> Array:
    return np.asarray(np.sum(arrays, axis=0))


def gradients(
    world: World,
    givers: Callable[[int, int], Sequence[int]] = lambda rank, n: range(n),
    ahead: int = 0,
    keys: Callable[[int, int], Sequence[int]] = lambda rank, n: range(n),
    **how: Any,
) -> list[list[Array]]:
    """dq, dk, dv by rank.  givers: whose shares a rank's dk has; ahead: whose dk a rank returns."""
    n, (dq, dkv) = world.ranks, shares(world, **how)
    found = []
    for rank in range(n):
        b = (rank + ahead) % n
        dk, dv = (_total([dkv[a, b][i] for a in givers(b, n)]) for i in (0, 1))
        found.append([_total([dq[rank, k] for k in keys(rank, n)]), dk, dv])
    return found


def _last_hop_missing(world: World) -> list[list[Array]]:
    """The own share of the own block, and all others' of the right neighbour's."""
    own = gradients(world, lambda rank, n: [rank])
    next_one = gradients(world, lambda rank, n: [a for a in range(n) if a != rank], ahead=1)
    return [
        [dq, dk + more_dk, dv + more_dv]
        for (dq, dk, dv), (_, more_dk, more_dv) in zip(own, next_one, strict=True)
    ]


RING_GRADIENTS = _telling_nan(ranks_spec(
    "ring_gradients", UNIT, 3, gradient_worlds, gradients,
    ("q", "k", "v", "out", "log", "d_out", "places"), ring_limits(4),
    suspects={
        "own_share": lambda world: gradients(world, lambda rank, n: [rank]),
        "own_share_lost": lambda world: gradients(
            world, lambda rank, n: [a for a in range(n) if a != rank]
        ),
        "not_home": lambda world: gradients(world, ahead=1),
        "last_hop_missing": _last_hop_missing,
        "own_keys_alone": lambda world: gradients(world, keys=lambda rank, n: [rank]),
        "d_left_out": lambda world: gradients(world, with_d=False),
        "not_scaled": lambda world: gradients(world, scale_back=False),
        "later_keys_seen": lambda world: gradients(world, causal=False),
        "places_ignored": lambda world: gradients(world, in_order=True),
        "block_log": lambda world: gradients(world, own_log=True),
        "exchanged": lambda world: [[q, v, k] for q, k, v in gradients(world)],
    },
    causes={
        **NOT_FINITE, **TOO_LARGE,
        "own_share": "dK and dV have the share of the own queries alone.",
        "own_share_lost": "dK and dV have the shares of all others; the own one is missing.",
        "not_home": "Each rank returns dK and dV of its right neighbour: they have not come home.",
        "last_hop_missing": "The own share is added to the gradient of the right neighbour's "
        "block, which has not been sent home.",
        "own_keys_alone": "dQ has the share of the own keys alone.",
        "d_left_out": "D is missing in dS.",
        "not_scaled": "dQ and dK are not divided by sqrt(d).",
        "later_keys_seen": "Pairs with later keys have a share.",
        "places_ignored": "The mask takes the cut as contiguous; places has the positions.",
        "block_log": "The shares are computed with the log-sum-exp of one block, not of all keys.",
        "exchanged": "dK and dV are exchanged.",
        "too_many_bytes": "More travels than K, V, dK and dV of one block in each of n - 1 steps.",
    },
    hints={
        **NOT_FINITE_HINT, **TOO_LARGE_HINT,
        "own_share": (
            "Whose queries saw your keys?",
            "Those of other ranks, too: let dK and dV travel with the block and collect.",
        ),
        "own_share_lost": (
            "What did you compute with your own block in step 0?",
            "Keep that share, and add it to what comes home.",
        ),
        "not_home": (
            "Where is the gradient of block r after the last step?",
            "At rank r - 1, which adds its share and sends it on to its owner.",
        ),
        "last_hop_missing": (
            "Whose block is at a rank in the last step?",
            "That of the right neighbour: send its gradient there, then add the own share.",
        ),
        "own_keys_alone": ("Which keys did your queries see?", "Add up dQ over all blocks."),
        "d_left_out": (
            "What does the softmax subtract in its gradient?",
            "dS = P * (dP - D), D the sum over a row of d_out * out.",
        ),
        "not_scaled": (
            "Where does 1 / sqrt(d) stand in the scores?",
            "Multiply dS K and dS Q by q.shape[1] ** -0.5.",
        ),
        "later_keys_seen": (
            "Has a key after the query a share?",
            "No: scores of hidden pairs are -inf, so that P is 0.",
        ),
        "places_ignored": (
            "Which positions have the rank's own tokens?",
            "places[rank], in any order; those of the block are places[owner].",
        ),
        "block_log": (
            "What is the share of a key among all keys?",
            "exp(score - log) with the given log.",
        ),
        "exchanged": ("In which order are they asked for?", "dq, dk, dv."),
        "wrong_values": (
            "For two ranks: who adds what to the gradient of block 0, and who returns it?",
            "Rank 1 computes its share in step 1 and sends it home; rank 0 adds its own of step 0. "
            "Make empty tensors with torch.zeros_like(k): torch.zeros has another dtype.",
        ),
        "too_many_bytes": (
            "Which message of the gradients carries only what its receiver could have kept?",
            "The first one. Keep the own share of step 0, start the gradient of a visiting block "
            "in step 1 with your share, and do not send K and V after step n - 2.",
        ),
    },
))  # fmt: skip


# -- zigzag_attention


def zigzag_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """Two pieces a rank; twice as many tokens as numbers in a key, at least."""
    cases = [(2, 4, 2, 1.0), (3, 6, 3, 1.0)] + ([(4, 8, 4, 300.0)] if level == "grader" else [])
    for n, c, d, size in cases:
        q, k, v = (rng.standard_normal((n, c, d)) for _ in range(3))
        yield World(tuple((q[r] * size, k[r], v[r]) for r in range(n)), counted=True)


def _zigzag_seen(world: World) -> Callable[[int, int], Array]:
    places = zigzag(world.ranks, len(world.args[0][0]))
    return lambda a, b: seen_by(places, a, b)


def zigzag_out(world: World, seen: Callable[[int, int], Array] | None = None) -> list[Array]:
    """The outputs alone."""
    return [out for out, _ in attention(world, seen or _zigzag_seen(world))]


def quarter_flops(world: World) -> int:
    """Scores of one piece with another, and their product with V."""
    c, d = world.args[0][0].shape
    return int(4 * d * (c // 2) ** 2)


def pair_flops(world: World) -> float:
    """What the pairs of a rank take that are not hidden."""
    n, (c, d) = world.ranks, world.args[0][0].shape
    piece = c // 2
    return float(4 * d * (piece**2 * (2 * n - 1) + piece * (piece + 1)))


def _as_contiguous(world: World) -> list[Array]:
    places = contiguous(world.ranks, len(world.args[0][0]))
    return zigzag_out(world, lambda a, b: seen_by(places, a, b))


def _quarters(
    world: World, lower: tuple[tuple[int, int], ...], higher: tuple[tuple[int, int], ...]
) -> list[Array]:
    """Outputs where (piece of queries, piece of keys) of lower and higher ranks are computed."""
    c = len(world.args[0][0])
    own, half = _zigzag_seen(world), c // 2

    def seen(a: int, b: int) -> Array:
        if a == b:
            return own(a, a)
        mask = np.zeros((c, c), bool)
        for mine, theirs in lower if b < a else higher:
            mask[mine * half : (mine + 1) * half, theirs * half : (theirs + 1) * half] = True
        return mask

    return zigzag_out(world, seen)


ALL_EARLY, LATE_ALL = ((0, 0), (1, 0)), ((1, 0), (1, 1))

ZIGZAG_ATTENTION = _telling_nan(ranks_spec(
    "zigzag_attention", UNIT, 3, zigzag_worlds, zigzag_out, ("q", "k", "v"),
    ring_limits(
        2, most_flops=lambda w: float((2 * w.ranks + 2) * quarter_flops(w)),
        least_flops=pair_flops,
    ),
    suspects={
        "cases_exchanged": lambda world: _quarters(world, LATE_ALL, ALL_EARLY),
        "early_always": lambda world: _quarters(world, ALL_EARLY, ALL_EARLY),
        "late_always": lambda world: _quarters(world, LATE_ALL, LATE_ALL),
        "late_keys": lambda world: _quarters(world, ((0, 1), (1, 1)), LATE_ALL),
        "early_queries": lambda world: _quarters(world, ALL_EARLY, ((0, 0), (0, 1))),
        "as_contiguous": _as_contiguous,
        "not_causal": lambda world: zigzag_out(
            world, lambda a, b: np.ones((len(world.args[0][0]),) * 2, bool)
        ),
        "own_block_open": lambda world: zigzag_out(
            world,
            lambda a, b: np.ones((len(world.args[0][0]),) * 2, bool) if a == b
            else _zigzag_seen(world)(a, b),
        ),
        "own_block": lambda world: [
            out for out, _ in attention(world, _zigzag_seen(world), lambda rank, n: [rank])
        ],
    },
    causes={
        **NOT_FINITE, **TOO_LARGE,
        "cases_exchanged": "Blocks of lower and of higher ranks are exchanged.",
        "early_always": "All queries and the early keys are used for every block; of a higher "
        "rank's block the late queries see all keys.",
        "late_always": "The late queries and all keys are used for every block; of a lower rank's "
        "block all queries see the early keys.",
        "late_keys": "Of a lower rank's block the late keys are used; they are later than both "
        "pieces of queries.",
        "early_queries": "With a higher rank's block the early queries are used; both of its "
        "pieces are later than these.",
        "as_contiguous": "The tokens are taken as if the cut were contiguous.",
        "not_causal": "Later keys are seen.",
        "own_block_open": "Within the own block later keys are seen.",
        "own_block": "Only the rank's own keys are used.",
        "too_many_bytes": "More travels than K and V of one block in each of n - 1 steps.",
        "too_many_flops": "More than half of the products with other ranks' blocks are computed.",
    },
    hints={
        **NOT_FINITE_HINT, **TOO_LARGE_HINT,
        "cases_exchanged": (
            "Which pieces has rank 0, and are they earlier or later than those of rank 1?",
            "Piece 0 and the last one. Of a lower rank only the early keys are seen, by all.",
        ),
        "early_always": (
            "Which pieces has a higher rank?",
            "Both lie between your own two: the late queries see all of them, the early none.",
        ),
        "late_always": (
            "Which pieces has a lower rank?",
            "One before both of yours, one after both: all queries see its early keys.",
        ),
        "late_keys": (
            "Which pieces has a lower rank?",
            "One before both of yours, one after both: all queries see its early keys.",
        ),
        "early_queries": (
            "Which pieces has a higher rank?",
            "Both lie between your own two: the late queries see all of them, the early none.",
        ),
        "as_contiguous": (
            "Which positions have your second half of tokens?",
            "Those of piece 2 n - 1 - rank.",
        ),
        "not_causal": ("Which keys does a query see?", "Those up to its own position."),
        "own_block_open": (
            "Does the first token see the last one of its own rank?",
            "No: within the own block key j is seen by query i if j <= i, as both are in order.",
        ),
        "own_block": ("Who has the other keys?", "Pass K and V round, n - 1 times."),
        "wrong_values": (
            "For two ranks: which of the four products does each need of the other's block?",
            "If owner < rank: q with the first half of k and v. If owner > rank: the second half "
            "of q with k and v, merged into the second half of the result.",
        ),
        "too_many_flops": (
            "Which products are masked away as a whole?",
            "If owner < rank take the first half of k and v; if owner > rank the second half of q.",
        ),
        "too_many_bytes": (
            "How many times does a block have to move on?",
            "n - 1 times: send nothing in the last step.",
        ),
    },
))  # fmt: skip

SPECS = [
    CONTEXT_BILL, BUSY_PAIRS, HIDDEN_FROM, RING_ATTENTION, RING_GRADIENTS, ZIGZAG_ATTENTION,
]  # fmt: skip
