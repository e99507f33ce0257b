"""Specs of the lab t3_12_expert_parallel."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..cases import Level
from ..ranked import Limits, World, ranks_spec
from ..spec import FunctionSpec

UNIT = "t3_12_expert_parallel"

Array = np.ndarray[Any, Any]
Choices = Sequence[Sequence[int]]
Kept = tuple[int, list[list[bool]]]
WIDTH = 16  # numbers a row, so that rows are cheaper to send than an expert's weights


def softmax(logits: Array) -> Array:
    """Along the last axis; rows may be none."""
    if not logits.size:
        return logits.copy()
    raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


# -- kept_choices ------------------------------------------------------------------------------


def choice_inputs(
    rng: np.random.Generator, level: Level
) -> Iterator[tuple[list[list[int]], int, float]]:
    """One choice and several; rests of the capacity; no token; more places than choices."""
    yield [[0], [0], [1], [0]], 2, 1.0
    yield [[0, 1], [0, 2], [0, 1], [1, 0], [1, 2]], 3, 0.75
    yield [[2, 0], [2, 1], [0, 2]], 4, 1.25
    yield [], 4, 1.0
    yield [[1]], 8, 1.0
    for _ in range(4 if level == "grader" else 2):
        experts, k = int(rng.integers(3, 7)), int(rng.integers(2, 4))
        likely = np.arange(experts, 0, -1.0) ** 2
        rows = [
            rng.choice(experts, k, replace=False, p=likely / likely.sum()).tolist()
            for _ in range(int(rng.integers(7, 12)))
        ]
        yield rows, experts, float(rng.choice([0.75, 1.0, 1.25]))


def places(choices: Choices, experts: int, factor: float) -> int:
    """How many choices an expert serves."""
    return math.ceil(factor * sum(len(row) for row in choices) / experts)


def _served(
    choices: Choices, experts: int, capacity: int, order: Callable[[tuple[int, int]], Any]
) -> list[list[bool]]:
    """Places given in the order of (token, choice) that `order` sorts by."""
    kept = [[False] * len(row) for row in choices]
    taken = [0] * experts
    every = [(token, k) for token, row in enumerate(choices) for k in range(len(row))]
    for token, k in sorted(every, key=order):
        expert = choices[token][k]
        kept[token][k] = taken[expert] < capacity
        taken[expert] += 1
    return kept


def _best_first(place: tuple[int, int]) -> tuple[int, int]:
    return place[1], place[0]


def kept_choices(choices: Choices, experts: int, factor: float) -> Kept:
    """All first choices in the order of the tokens, then all second ones, and so on."""
    capacity = places(choices, experts, factor)
    return capacity, _served(choices, experts, capacity, _best_first)


def _with_capacity(count: Callable[[Choices, int, float], int]) -> Callable[..., Kept]:
    """Another capacity, and places given by it."""

    def wrong(choices: Choices, experts: int, factor: float) -> Kept:
        capacity = count(choices, experts, factor)
        return capacity, _served(choices, experts, capacity, _best_first)

    return wrong


def _in_order(order: Callable[[tuple[int, int]], Any]) -> Callable[..., Kept]:
    def wrong(choices: Choices, experts: int, factor: float) -> Kept:
        capacity = places(choices, experts, factor)
        return capacity, _served(choices, experts, capacity, order)

    return wrong


def _after(change: Callable[[list[list[bool]]], list[list[bool]]]) -> Callable[..., Kept]:
    def wrong(choices: Choices, experts: int, factor: float) -> Kept:
        capacity, kept = kept_choices(choices, experts, factor)
        return capacity, change(kept)

    return wrong


def _one_place_more(choices: Choices, experts: int, factor: float) -> Kept:
    capacity = places(choices, experts, factor)
    return capacity, _served(choices, experts, capacity + 1, _best_first)


def _plain(choices: Choices, experts: int, factor: float) -> int:
    return math.ceil(factor * len(choices) / experts)


KEPT_CHOICES = FunctionSpec(
    "kept_choices", UNIT, 1, choice_inputs, kept_choices,
    suspects={
        "token_by_token": _in_order(lambda place: place),
        "last_come": _in_order(lambda place: (place[1], -place[0])),
        "k_forgotten": _with_capacity(_plain),
        "rounded_down": _with_capacity(
            lambda choices, experts, factor: math.floor(
                factor * sum(map(len, choices)) / experts
            )
        ),
        "factor_forgotten": _with_capacity(
            lambda choices, experts, factor: places(choices, experts, 1.0)
        ),
        "one_place_more": _one_place_more,
        "turned_round": _after(lambda kept: [[not one for one in row] for row in kept]),
        "whole_tokens": _after(lambda kept: [[all(row)] * len(row) for row in kept]),
        "nothing_dropped": _after(lambda kept: [[True] * len(row) for row in kept]),
    },
    causes={
        "token_by_token": "Second choices of early tokens go before first choices of later ones.",
        "last_come": "The last tokens get the places; it is the first.",
        "k_forgotten": "The capacity counts tokens; each has k choices that need a place.",
        "rounded_down": "The capacity is rounded down.",
        "factor_forgotten": "The capacity is the fair share, without the factor.",
        "one_place_more": "Each expert serves one choice more than it has places.",
        "turned_round": "True stands for what is dropped; it is to stand for what is kept.",
        "whole_tokens": "A token that loses one choice loses all; its other choices count.",
        "nothing_dropped": "Nothing is dropped, however full an expert is.",
    },
    hints={
        "token_by_token": (
            "Who comes first: token 0's second choice, or token 1's first?",
            "Loop over k outside and over tokens inside.",
        ),
        "last_come": ("In which order do tokens come?", "Go through them from token 0 on."),
        "k_forgotten": (
            "How many places do all choices need?",
            "factor * tokens * k / experts, rounded up.",
        ),
        "rounded_down": ("What is 2.5 places?", "3: math.ceil."),
        "factor_forgotten": ("What is factor for?", "Multiply the fair share by it."),
        "one_place_more": (
            "With capacity 2, is the third choice kept?",
            "No: keep it only if fewer than capacity are taken.",
        ),
        "turned_round": ("What does the name say?", "True where a choice keeps its place."),
        "whole_tokens": ("What of a token's other expert?", "Decide for each choice alone."),
        "nothing_dropped": (
            "How many places has an expert?",
            "Count what each has taken, and keep while that is less than capacity.",
        ),
        "raised": (
            "What if there is no token at all?",
            "Capacity 0 and an empty list: count k only where there is a row.",
        ),
    },
)  # fmt: skip


# -- round_trip --------------------------------------------------------------------------------


def _cycles(numbers: Array) -> bool:
    """Sorting changes the order, and doing it twice is not doing nothing."""
    order = np.argsort(numbers, kind="stable")
    return len(numbers) < 4 or not np.array_equal(order[order], np.arange(len(order)))


def trip_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """Uneven tokens, dropped ones, an expert without any; ranks that have or get none."""
    shapes: list[tuple[int, tuple[int, ...]]] = [(2, (6, 4)), (1, (5, 0, 4)), (2, (4, 7, 5))]
    if level == "grader":
        shapes += [(3, (8, 5)), (1, (4, 2, 0, 6))]
    for e, tokens in shapes:
        n = len(tokens)
        weights = rng.standard_normal((n * e, WIDTH, WIDTH))
        while True:
            never = 1 + int(rng.integers(n * e - 1)) if n * e > 2 else n * e
            own = [rng.integers(-1, n * e, count) for count in tokens]
            own = [np.where(one == never, 0, one) for one in own]
            full = all(-1 in one and (one >= 0).any() for one in own if len(one) > 3)
            if full and all(_cycles(one[one >= 0]) for one in own) and _all_differ(own, n, e):
                break
        yield World(
            tuple(
                (rng.standard_normal((count, WIDTH)), one, weights[r * e : (r + 1) * e])
                for r, (count, one) in enumerate(zip(tokens, own, strict=True))
            )
        )


def _all_differ(own: list[Array], n: int, e: int) -> bool:
    """Some pair of ranks gives one another different numbers of rows, so that no side can guess."""
    sent = np.array([[((one >= 0) & (one // e == to)).sum() for to in range(n)] for one in own])
    return not np.array_equal(sent, sent.T)


def _all_weights(world: World) -> Array:
    return np.concatenate([args[2] for args in world.args])


def _applied(x: Array, expert: Array, weights: Array) -> Array:
    """Each row through its expert; zeros for -1."""
    found = np.einsum("th,thk->tk", x, weights[expert]) if len(x) else x.copy()
    return np.asarray(np.where(expert[:, None] >= 0, found, 0.0))


def trip(world: World, turned: bool = False) -> list[Array]:
    """The right rows by rank; turned: through the transposed weights."""
    weights = _all_weights(world)
    weights = weights.transpose(0, 2, 1) if turned else weights
    return [_applied(x, expert, weights) for x, expert, _ in world.args]


def _reordered(world: World, wrong: Callable[[Array, Array], Array]) -> list[Array]:
    """Rows of kept tokens in another order.  wrong: (rows, order of sorting) -> rows."""
    found = []
    for y, (_, expert, _) in zip(trip(world), world.args, strict=True):
        y = y.copy()
        kept = np.flatnonzero(expert >= 0)
        y[kept] = wrong(y[kept], np.argsort(expert[kept], kind="stable"))
        found.append(y)
    return found


def _dropped_as(world: World, row: Callable[[Array], Array]) -> list[Array]:
    return [
        np.where(expert[:, None] < 0, row(x), y)
        for y, (x, expert, _) in zip(trip(world), world.args, strict=True)
    ]


def _at_home(world: World) -> list[Array]:
    e = len(world.args[0][2])
    return [
        np.where((expert // e == r)[:, None], y, 0.0)
        for r, (y, (_, expert, _)) in enumerate(zip(trip(world), world.args, strict=True))
    ]


def _received(world: World, rank: int) -> tuple[Array, Array, Array]:
    """Rows in the order of arrival, by source and expert: (source, place there, expert)."""
    e = len(world.args[0][2])
    rows = []
    for source, (_, expert, _) in enumerate(world.args):
        order = np.argsort(expert, kind="stable")
        rows += [(source, t, expert[t]) for t in order if expert[t] >= 0 and expert[t] // e == rank]
    made = np.array(rows, dtype=int).reshape(-1, 3)
    return made[:, 0], made[:, 1], made[:, 2]


def _mistaken_experts(world: World, wrong: Callable[[Array, int, int], Array]) -> list[Array]:
    """wrong: (right experts in the order of arrival, rank, experts a rank) -> those used."""
    weights, e = _all_weights(world), len(world.args[0][2])
    found = [np.zeros_like(args[0]) for args in world.args]
    for rank in range(world.ranks):
        source, place, expert = _received(world, rank)
        used = wrong(expert, rank, e)
        for s, t, one in zip(source, place, used, strict=True):
            found[s][t] = world.args[s][0][t] @ weights[one]
    return found


def _not_back(world: World) -> list[Array]:
    right, found = trip(world), []
    for rank in range(world.ranks):
        source, place, _ = _received(world, rank)
        rows = [right[s][t] for s, t in zip(source, place, strict=True)]
        found.append(np.array(rows).reshape(-1, WIDTH))
    return found


def _moved(world: World, sent: Array, beside: int, times: int = 1) -> float:
    """Bytes of the busiest rank: counts by expert, rows of `sent`[from, to] there and back.

    beside: numbers that may go beside a row; times: how often the rows go there and back.
    """
    n, e = world.ranks, len(world.args[0][-1])
    rows = sent - np.diag(np.diag(sent))
    out, back = rows.sum(axis=1), rows.sum(axis=0)
    numbers = (n - 1) * e + out * beside + times * (out + back) * WIDTH
    return float(8 * numbers.max())


def _trip_bytes(world: World) -> float:
    n, e = world.ranks, len(world.args[0][2])
    sent = [
        [((expert >= 0) & (expert // e == to)).sum() for to in range(n)]
        for _, expert, _ in world.args
    ]
    return _moved(world, np.array(sent), 1)


ORDER = (
    "Which row of the sorted array belongs to token 0?",
    "Sorting was rows = x[order], so putting back is y[order] = rows.",
)
SPLITS = (
    "Look at the call that the message names. If it is an all-to-all: how does a rank know how "
    "many rows come from each of the others?",
    "All-to-all the counts first. Then what comes in are their numbers, and what goes out are your "
    "own; on the way back the two lists change places.",
)
ROUND_TRIP = ranks_spec(
    "round_trip", UNIT, 3, trip_worlds, trip, ("x", "expert", "weights"),
    Limits(most_wire=_trip_bytes),
    suspects={
        "not_put_back": lambda w: _reordered(w, lambda rows, order: rows[order]),
        "sorted_twice": lambda w: _reordered(w, lambda rows, order: rows[order][order]),
        "dropped_done": lambda w: _dropped_as(w, lambda x: x @ _all_weights(w)[-1]),
        "dropped_passed": lambda w: _dropped_as(w, lambda x: x),
        "at_home": _at_home,
        "not_sent_back": _not_back,
        "first_expert": lambda w: _mistaken_experts(
            w, lambda expert, rank, e: np.full_like(expert, rank * e)
        ),
        "arrival_order": lambda w: _mistaken_experts(w, lambda expert, rank, e: np.sort(expert)),
        "weights_turned": lambda w: trip(w, turned=True),
    },
    causes={
        "not_put_back": "The rows come back sorted by expert, and stay so.",
        "sorted_twice": "The rows are sorted once more instead of being put back.",
        "dropped_done": "Expert -1 is taken for the last one: dropped tokens are to have zeros.",
        "dropped_passed": "Dropped tokens keep x; the layer's output for them is zero.",
        "at_home": "Only tokens whose expert is on their own rank have a result.",
        "not_sent_back": "Each rank returns the rows that it worked on, not those of its tokens.",
        "first_expert": "A rank sends all rows through its first expert.",
        "arrival_order": "Rows come source by source; they are cut as if they came expert by "
        "expert.",
        "weights_turned": "The rows go through the transposed weights.",
        "too_many_bytes": "More is sent than the counts and each row once there and once back.",
    },
    hints={
        "not_put_back": ORDER,
        "sorted_twice": ORDER,
        "dropped_done": (
            "What does Python make of weights[-1]?",
            "Pick the kept tokens first: torch.nonzero(expert >= 0).",
        ),
        "dropped_passed": ("What is added to x later?", "The output: start from zeros."),
        "at_home": ("Who computes the others?", "Send them to rank expert // e."),
        "not_sent_back": (
            "Whose tokens are these rows?",
            "A second all-to-all takes them back, with the two lists of splits exchanged.",
        ),
        "first_expert": (
            "How many experts has a rank?",
            "weights[k] for those rows whose expert is number k of this rank.",
        ),
        "arrival_order": (
            "Two sources send to two experts: in which order do the four parts arrive?",
            "By source, then by expert: repeat 0..e-1 for each source, by the counts received.",
        ),
        "weights_turned": ("Is F.linear(x, w) the same as x @ w?", "No, it is x @ w.T."),
        "rank_failed": SPLITS,
        "hang": SPLITS,
        "wrong_values": (
            "Take two ranks and two tokens, and write down where each row is after each step.",
            "Check that the counts you got are used for what comes in, and your own for what goes "
            "out.",
        ),
        "too_many_bytes": (
            "Which rows have to leave their rank?",
            "Those whose expert is elsewhere, once there and once back; dropped tokens stay, and "
            "nothing is filled up.",
        ),
    },
)  # fmt: skip


# -- expert_gradients --------------------------------------------------------------------------


def gradient_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """Two choices a token; uneven tokens, and a rank without any."""
    shapes: list[tuple[int, tuple[int, ...]]] = [(2, (5, 3)), (1, (4, 0, 6))]
    if level == "grader":
        shapes += [(2, (3, 6, 4)), (1, (2, 5, 3, 1))]
    for e, tokens in shapes:
        n = len(tokens)
        router = rng.standard_normal((n * e, WIDTH))
        weights = rng.standard_normal((n * e, WIDTH, WIDTH))
        while True:
            xs = [rng.standard_normal((count, WIDTH)) / 2 for count in tokens]
            sent = _pairs(xs, router, n, e)
            if not np.array_equal(sent, sent.T):
                break
        yield World(
            tuple(
                (x, router, rng.standard_normal(x.shape), weights[r * e : (r + 1) * e])
                for r, x in enumerate(xs)
            )
        )


def _best_two(x: Array, router: Array) -> Array:
    """The two experts of each token, the best first: [tokens, 2]."""
    return np.argsort(-(x @ router.T), axis=1, kind="stable")[:, :2]


def _pairs(xs: list[Array], router: Array, n: int, e: int) -> Array:
    """Rows from each rank to each rank."""
    return np.array([[(_best_two(x, router) // e == to).sum() for to in range(n)] for x in xs])


def layer(
    world: World,
    choices: int = 2,
    of_all: bool = False,
    ungated: bool = False,
    through_router: float = 1.0,
    dx_through_router: float = 1.0,
) -> list[list[Array]]:
    """y, dx, this rank's share of d_router, and d_weights: by hand, all ranks at once.

    of_all: gates are shares of all experts, not of the chosen.  through_router: factor of what
    flows back through the gates, and of its part in dx.
    """
    weights = np.concatenate([args[3] for args in world.args])
    e = len(world.args[0][3])
    d_weights = np.zeros_like(weights)
    found = []
    for x, router, dy, _ in world.args:
        logits = x @ router.T
        y, dx, d_router = np.zeros_like(x), np.zeros_like(x), np.zeros_like(router)
        for t, chosen in enumerate(_best_two(x, router)[:, :choices]):
            every = softmax(logits[t])
            gates = every[chosen] if of_all else softmax(logits[t][chosen])
            gates = np.ones(len(chosen)) if ungated else gates
            outs = [x[t] @ weights[one] for one in chosen]
            d_gates = np.array([out @ dy[t] for out in outs]) * (not ungated)
            for gate, out, one in zip(gates, outs, chosen, strict=True):
                y[t] += gate * out
                dx[t] += gate * dy[t] @ weights[one].T
                d_weights[one] += gate * np.outer(x[t], dy[t])
            d_logits = np.zeros(len(router))
            if of_all:
                d_logits[chosen] = gates * d_gates
                d_logits -= every * (gates @ d_gates)
            else:
                d_logits[chosen] = gates * (d_gates - gates @ d_gates)
            d_router += through_router * np.outer(d_logits, x[t])
            dx[t] += dx_through_router * d_logits @ router
        found.append([y, dx, d_router])
    return [
        [*three, d_weights[r * e : (r + 1) * e]] for r, three in enumerate(found)
    ]  # d_weights is whole only now


def _with_router(found: list[list[Array]], times: float = 1.0) -> list[list[Array]]:
    """The router's gradient summed over the ranks."""
    total = np.sum([one[2] for one in found], axis=0) * times
    return [[y, dx, total, d_weights] for y, dx, _, d_weights in found]


def moe_gradients(world: World) -> list[list[Array]]:
    """What one process would get: the router's gradient from all tokens."""
    return _with_router(layer(world))


def _weights_as(world: World, change: Callable[[list[Array], int], Array]) -> list[list[Array]]:
    found = moe_gradients(world)
    parts = [one[3] for one in found]
    return [[y, dx, d_router, change(parts, r)] for r, (y, dx, d_router, _) in enumerate(found)]


def _own_tokens(world: World) -> list[list[Array]]:
    """Expert weights' gradients from this rank's own tokens alone."""
    found = moe_gradients(world)
    for r in range(world.ranks):
        # A token whose dy is zero leaves no gradient.
        alone = [(x, router, dy * (k == r), w) for k, (x, router, dy, w) in enumerate(world.args)]
        found[r][3] = layer(World(tuple(alone)))[r][3]
    return found


def _gradient_bytes(world: World) -> float:
    n, e, router = world.ranks, len(world.args[0][3]), world.args[0][1]
    sent = _pairs([args[0] for args in world.args], router, n, e)
    return _moved(world, sent, 1, times=2) + 2 * (n - 1) / n * router.nbytes


EXPERT_GRADIENTS = ranks_spec(
    "expert_gradients", UNIT, 3, gradient_worlds, moe_gradients,
    ("x", "router", "dy", "weights"), Limits(most_wire=_gradient_bytes),
    suspects={
        "router_share": layer,
        "router_averaged": lambda w: _with_router(layer(w), 1 / w.ranks),
        "gates_cut_off": lambda w: _with_router(
            layer(w, through_router=0, dx_through_router=0)
        ),
        "x_cut_off": lambda w: _with_router(layer(w, dx_through_router=0)),
        "weights_summed": lambda w: _weights_as(w, lambda parts, r: np.sum(parts, axis=0)),
        "weights_averaged": lambda w: _weights_as(w, lambda parts, r: parts[r] / len(parts)),
        "own_tokens": _own_tokens,
        "gates_of_all": lambda w: _with_router(layer(w, of_all=True)),
        "one_choice": lambda w: _with_router(layer(w, choices=1)),
        "ungated": lambda w: _with_router(layer(w, ungated=True)),
    },
    causes={
        "router_share": "The router's gradient has this rank's tokens only; all ranks have the "
        "same router.",
        "router_averaged": "The router's gradient is a mean; dy belongs to a sum over all tokens.",
        "gates_cut_off": "Nothing flows back through the gates: the router does not learn.",
        "x_cut_off": "The gradient of x lacks what flows back through the router.",
        "weights_summed": "Gradients of different experts are added up: each rank has its own.",
        "weights_averaged": "The experts' gradients are divided by n; they have all tokens in "
        "them already, as a sum.",
        "own_tokens": "The experts' gradients have this rank's own tokens only.",
        "gates_of_all": "The gates are shares of all experts; they are to be shares of the two.",
        "one_choice": "Only the best expert is used; it is two.",
        "ungated": "The outputs are added without their gates.",
        "too_many_bytes": "More is sent than counts, each row there and back in both directions, "
        "and one all-reduce of the router's gradient.",
    },
    hints={
        "router_share": (
            "Which of the weights are on all ranks?",
            "The router: dist.all_reduce its gradient.",
        ),
        "router_averaged": ("Is the loss a mean over ranks?", "No: all-reduce, do not divide."),
        "gates_cut_off": (
            "Which numbers of the layer depend on the router, and can be differentiated?",
            "The gates: compute them from x @ router.T without detach, and multiply the outputs.",
        ),
        "x_cut_off": (
            "In how many places is x used?",
            "Two: by the experts and by the router. Give both the same x that requires grad.",
        ),
        "weights_summed": (
            "Is expert 0 of rank 0 the same as expert 0 of rank 1?",
            "No: leave the experts' gradients alone.",
        ),
        "weights_averaged": ("Who else has these weights?", "Nobody: leave them as they are."),
        "own_tokens": (
            "Whose rows did the expert work on?",
            "Everybody's: the backward of the way back brings their gradients, too.",
        ),
        "gates_of_all": (
            "Do the two gates of a token add up to 1?",
            "They should: softmax of the two largest logits alone.",
        ),
        "one_choice": ("How many experts has a token?", "torch.topk(logits, 2)."),
        "ungated": ("How much does each of the two count?", "Multiply each row by its gate."),
        "rank_failed": (
            "Look at the line that the message names. Does autograd know what an all-to-all does?",
            "No: put it into a torch.autograd.Function, whose backward is an all-to-all with the "
            "two lists of splits exchanged.",
        ),
        "hang": (
            "Does every rank run the same backward, also one without tokens or rows?",
            "Let all rows go through the same two all-to-alls on every rank, however few.",
        ),
        "no_return": (
            "Which gradients are asked for?",
            "y, x.grad, router.grad and weights.grad; none of them may be None.",
        ),
        "too_many_bytes": (
            "What has to travel in the backward pass?",
            "The gradients of rows, the same ways back, and the router's. No weights.",
        ),
    },
)  # fmt: skip


# -- layer_clock -------------------------------------------------------------------------------

Clock = tuple[float, list[float]]


def clock_inputs(
    rng: np.random.Generator, level: Level
) -> Iterator[tuple[list[list[int]], int, float, float, float]]:
    """(counts, row bytes, latency, seconds a byte, seconds a row); uneven, one rank alone."""
    yield [[1, 3], [0, 2]], 2, 1.0, 0.5, 1.0
    yield [[5]], 4, 1.0, 1.0, 1.0
    yield [[13, 0, 0], [0, 1, 5], [0, 2, 0]], 2, 1.0, 0.5, 1.0  # the last to compute sends nothing
    for n in (3, 4, 4) if level == "learner" else (3, 4, 5, 8):
        counts = rng.integers(0, 9, (n, n))
        counts[:, int(rng.integers(n))] += 7
        counts[int(rng.integers(n))] *= 3
        yield (
            counts.tolist(), int(rng.integers(2, 9)), float(rng.integers(1, 9)),
            float(rng.integers(1, 5)) / 8, float(rng.integers(2, 9)),
        )  # fmt: skip


def clock(
    counts: Any,
    row_bytes: int,
    latency: float,
    per_byte: float,
    per_row: float,
    busy: Callable[[Array, Array], Array] = np.maximum,
    stays: bool = True,
) -> tuple[Array, Array, Array]:
    """Seconds by rank of a transfer, until the dispatch is done, and until it has computed.

    stays: a rank's own rows take no link.
    """
    sent = np.array(counts, dtype=float).reshape(len(counts), -1)
    moved = sent - np.diag(np.diag(sent)) if stays else sent
    bytes_ = busy(moved.sum(axis=1), moved.sum(axis=0)) * row_bytes
    transfer = latency + per_byte * bytes_
    return transfer, transfer, transfer + per_row * sent.sum(axis=0)


def layer_clock(
    counts: Any, row_bytes: int, latency: float, per_byte: float, per_row: float
) -> Clock:
    """All wait for the last to have computed; then the busiest rank's way back."""
    transfer, _, done = clock(counts, row_bytes, latency, per_byte, per_row)
    return float(done.max() + transfer.max()), (done.max() - done).tolist()


def _clocked(
    busy: Callable[[Array, Array], Array] = np.maximum,
    stays: bool = True,
    combine: bool = True,
    mean: bool = False,
    parts: bool = False,
    apart: bool = False,
    by_source: bool = False,
) -> Callable[..., Clock]:
    """Mistakes: see the suspects."""

    def wrong(
        counts: Any, row_bytes: int, latency: float, per_byte: float, per_row: float
    ) -> Clock:
        transfer, begun, done = clock(counts, row_bytes, latency, per_byte, per_row, busy, stays)
        if by_source:
            done = transfer + per_row * np.array(counts, dtype=float).sum(axis=1)
        if parts:
            done = done - begun + begun.max()
        if apart:
            return float((done + transfer).max()), (done.max() - done).tolist()
        last = done.mean() if mean else done.max()
        return float(last + combine * transfer.max()), (done.max() - done).tolist()

    return wrong


def _late_waits(
    counts: Any, row_bytes: int, latency: float, per_byte: float, per_row: float
) -> Clock:
    """The second value is when a rank has computed, not how long it waits."""
    _, _, done = clock(counts, row_bytes, latency, per_byte, per_row)
    return layer_clock(counts, row_bytes, latency, per_byte, per_row)[0], done.tolist()


LAYER_CLOCK = FunctionSpec(
    "layer_clock", UNIT, 1, clock_inputs, layer_clock,
    suspects={
        "own_rows_sent": _clocked(stays=False),
        "both_added": _clocked(busy=np.add),
        "sent_only": _clocked(busy=lambda out, into: out),
        "received_only": _clocked(busy=lambda out, into: into),
        "rows_of_source": _clocked(by_source=True),
        "dispatch_only": _clocked(combine=False),
        "mean_rank": _clocked(mean=True),
        "parts_apart": _clocked(parts=True),
        "nobody_waits": _clocked(apart=True),
        "ends_for_waits": _late_waits,
    },
    causes={
        "own_rows_sent": "Rows that stay on their rank are counted as sent.",
        "both_added": "What goes out and what comes in is added; a link carries both at once.",
        "sent_only": "Only what goes out is counted; a popular expert's rank is busy receiving.",
        "received_only": "Only what comes in is counted.",
        "rows_of_source": "A rank computes the rows that it got, not those that it had.",
        "dispatch_only": "The way back is missing.",
        "mean_rank": "The mean rank does not end the layer; the last one does.",
        "parts_apart": "A rank begins to compute when its own rows are there; it need not wait for "
        "the last dispatch.",
        "nobody_waits": "The way back begins when all have computed.",
        "ends_for_waits": "The second value is when each rank has computed; how long it waits is "
        "asked for.",
    },
    hints={
        "own_rows_sent": ("Which way does counts[r][r] take?", "None: leave the diagonal out."),
        "both_added": ("Does a link carry both ways at once?", "Yes: take the larger."),
        "sent_only": ("What if everybody sends to rank 0?", "Take the larger of out and in."),
        "received_only": ("What if rank 0 sends most?", "Take the larger of out and in."),
        "rows_of_source": (
            "Where do rows of counts[a][b] end?",
            "On rank b: add up column b.",
        ),
        "dispatch_only": (
            "Where are the results when all have computed?",
            "Add the busiest rank's transfer once more.",
        ),
        "mean_rank": ("Who is the last to compute?", "max, not the mean."),
        "parts_apart": (
            "When does rank r begin to compute?",
            "After its own transfer: max over ranks of (transfer + compute).",
        ),
        "nobody_waits": (
            "Which rank's results are missing when the first is done?",
            "First the latest, then the longest transfer.",
        ),
        "ends_for_waits": ("Who never waits?", "The last: return latest - own for each rank."),
    },
)  # fmt: skip


# -- balance_loss ------------------------------------------------------------------------------


def balance_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """Ranks of uneven size that like different experts."""
    shapes = [((4, 2), 4, 2), ((3, 6, 1), 5, 2)]
    shapes += [((2, 7), 3, 1), ((3, 1, 5, 2), 8, 3)] if level == "grader" else []
    for tokens, experts, k in shapes:
        yield World(
            tuple(
                (rng.standard_normal((count, experts)) + 1.5 * np.roll(np.eye(experts)[0], r), k)
                for r, count in enumerate(tokens)
            )
        )


def shares(logits: Array, k: int) -> tuple[Array, Array]:
    """How many choices each expert gets, and the sum of its probabilities."""
    chosen = np.argsort(-logits, axis=1, kind="stable")[:, :k]
    return np.bincount(chosen.ravel(), minlength=logits.shape[1]), softmax(logits).sum(axis=0)


def _loss(logits: Array, k: int) -> float:
    counts, mass = shares(logits, k)
    tokens, experts = logits.shape
    return float(experts * (counts / (tokens * k)) @ (mass / tokens))


def _own_losses(world: World) -> list[float]:
    return [_loss(*args) for args in world.args]


def _together(world: World) -> tuple[Array, int]:
    return np.concatenate([args[0] for args in world.args]), world.args[0][1]


def balance(world: World) -> list[float]:
    """Shares over all tokens of all ranks; the same on every rank."""
    return [_loss(*_together(world))] * world.ranks


def _balance_as(wrong: Callable[[Array, int], float]) -> Callable[[World], list[float]]:
    return lambda world: [float(wrong(*_together(world)))] * world.ranks


def _soft(logits: Array, k: int) -> float:
    return float(logits.shape[1] * ((softmax(logits).mean(axis=0)) ** 2).sum())


def _hard(logits: Array, k: int) -> float:
    counts, _ = shares(logits, k)
    return float(logits.shape[1] * ((counts / counts.sum()) ** 2).sum())


def _mean_shares(world: World) -> list[float]:
    """Shares of each rank count the same, whatever its tokens."""
    f, p = [], []
    for logits, k in world.args:
        counts, mass = shares(logits, k)
        f.append(counts / counts.sum())
        p.append(mass / len(logits))
    loss = len(f[0]) * np.mean(f, axis=0) @ np.mean(p, axis=0)
    return [float(loss)] * world.ranks


BALANCE_LOSS = ranks_spec(
    "balance_loss", UNIT, 2, balance_worlds, balance, ("logits", "k"),
    Limits(
        most_rounds=lambda w: 1,
        most_wire=lambda w: 2 * (w.ranks - 1) / w.ranks * 8 * (2 * w.args[0][0].shape[1] + 1),
    ),
    suspects={
        "own_tokens": _own_losses,
        "mean_of_losses": lambda w: [float(np.mean(_own_losses(w)))] * w.ranks,
        "sum_of_losses": lambda w: [float(np.sum(_own_losses(w)))] * w.ranks,
        "mean_of_shares": _mean_shares,
        "weighted_losses": lambda w: [
            float(np.average(_own_losses(w), weights=[len(args[0]) for args in w.args]))
        ] * w.ranks,
        "experts_forgotten": _balance_as(lambda logits, k: _loss(logits, k) / logits.shape[1]),
        "k_forgotten": _balance_as(lambda logits, k: _loss(logits, k) * k),
        "probabilities_only": _balance_as(_soft),
        "choices_only": _balance_as(_hard),
        "one_choice": _balance_as(lambda logits, k: _loss(logits, 1)),
    },
    causes={
        "own_tokens": "Each rank has the loss of its own tokens; the shares are to be over all.",
        "mean_of_losses": "It is the mean of the ranks' losses: a product of means is not the mean "
        "of products.",
        "sum_of_losses": "The ranks' losses are added up.",
        "mean_of_shares": "All ranks count the same, whatever the number of their tokens.",
        "weighted_losses": "It is a mean of the ranks' losses: a product of means is not the mean "
        "of products.",
        "experts_forgotten": "The factor, the number of experts, is missing.",
        "k_forgotten": "The choices are divided by the tokens; there are k for each.",
        "probabilities_only": "Both factors are probabilities; one is to count choices.",
        "choices_only": "Both factors count choices; one is to be probabilities.",
        "one_choice": "Only the best choice of each token is counted.",
        "too_many_rounds": "More calls than one are made.",
        "too_many_bytes": "More travels than an all-reduce of two numbers an expert, and one; an "
        "all-gather sends every rank's numbers to all.",
    },
    hints={
        "own_tokens": (
            "Which sums over tokens does the formula have?",
            "Counts, probabilities and tokens: all-reduce these, then divide and multiply.",
        ),
        "mean_of_losses": (
            "Which has to be summed first, the shares or the losses?",
            "All-reduce counts, probabilities and tokens; multiply after that.",
        ),
        "sum_of_losses": (
            "What is the loss if all is even?",
            "1. All-reduce counts, probabilities and tokens; multiply after that.",
        ),
        "mean_of_shares": (
            "What counts more, 4 tokens or 2?",
            "All-reduce sums, not shares, and the number of tokens with them.",
        ),
        "weighted_losses": (
            "Which has to be summed first, the shares or the losses?",
            "All-reduce counts, probabilities and tokens; multiply after that.",
        ),
        "experts_forgotten": ("What is the loss if all is even?", "1: multiply by the experts."),
        "k_forgotten": ("What do the shares of choices add up to?", "1: divide by tokens * k."),
        "probabilities_only": (
            "What is f in the formula?",
            "Of all choices, the share that falls on an expert: torch.topk, torch.bincount.",
        ),
        "choices_only": ("What is p in the formula?", "The mean of softmax(logits)."),
        "one_choice": ("How many experts has a token?", "torch.topk(logits, k)."),
        "too_many_rounds": (
            "How many numbers can one all-reduce add up?",
            "torch.cat counts, probabilities and the number of tokens into one array.",
        ),
        "too_many_bytes": (
            "What does the formula need of a rank?",
            "Two sums for each expert, and how many tokens there are: all-reduce them.",
        ),
    },
)  # fmt: skip


# -- lean_trip ---------------------------------------------------------------------------------


def lean_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """Three choices among four experts a rank, two of them on the same; a rank without tokens."""
    shapes: list[tuple[int, ...]] = [(4, 3), (3, 0, 4)]
    shapes += [(5, 2, 4), (2, 3, 4, 3)] if level == "grader" else []
    for tokens in shapes:
        while True:
            world = _lean_world(rng, tokens)
            choices = [args[1] for args in world.args]
            sent = _rows_by(choices, world.ranks, 4, lean=False)
            uneven = not np.array_equal(sent, sent.T)
            # A row for each choice, with nothing beside it, is to be more than is allowed.
            if uneven and _moved(world, sent, 0) > _lean_bytes(world):
                break
        yield world


def _lean_world(rng: np.random.Generator, tokens: tuple[int, ...]) -> World:
    n, e, k = len(tokens), 4, 3
    weights = rng.standard_normal((n * e, WIDTH, WIDTH))
    args = []
    for r, count in enumerate(tokens):
        choices = _clustered(rng, count, n, e, k)
        gates = rng.uniform(0.1, 1.0, choices.shape)  # their sum is not 1
        x = rng.standard_normal((count, WIDTH))
        args.append((x, choices, gates, weights[r * e : (r + 1) * e]))
    return World(tuple(args))


def _clustered(rng: np.random.Generator, tokens: int, n: int, e: int, k: int) -> Array:
    """[tokens, k]: at least two choices of each token are on one rank, and in no order."""
    rows = []
    for _ in range(tokens):
        first, second = rng.integers(n, size=2)
        two = first * e + rng.choice(e, 2, replace=False)
        rest = [one for one in second * e + np.arange(e) if one not in two]
        rows.append(rng.permutation([*two, *rng.choice(rest, k - 2, replace=False)]))
    return np.array(rows, dtype=np.int64).reshape(-1, k)


def _rows_by(choices: list[Array], n: int, e: int, lean: bool) -> Array:
    """Rows from rank to rank: one a choice, or one for each token and rank."""
    by_rank = [
        [((one // e) == to).any(axis=1).sum() if lean else ((one // e) == to).sum()
         for to in range(n)]
        for one in choices
    ]  # fmt: skip
    return np.array(by_rank)


def mixed(world: World, used: Callable[[Array, Array, int], Array] | None = None) -> list[Array]:
    """Outputs of the chosen experts, weighted.  used: (choices, gates, e) -> other gates."""
    weights = np.concatenate([args[3] for args in world.args])
    e, found = len(world.args[0][3]), []
    for x, choices, gates, _ in world.args:
        by = gates if used is None else used(choices, gates, e)
        outs = (
            np.einsum("th,tkhj->tkj", x, weights[choices])
            if len(x)
            else np.zeros((0, choices.shape[1], WIDTH))
        )
        found.append((by[:, :, None] * outs).sum(axis=1))
    return found


def _first_of_rank(choices: Array, gates: Array, e: int) -> Array:
    """Only the first choice of a token on each rank counts."""
    kept = np.zeros_like(gates)
    for t, row in enumerate(choices // e):
        for j, rank in enumerate(row):
            kept[t, j] = gates[t, j] * (rank not in row[:j])
    return kept


def _one_gate(choices: Array, gates: Array, e: int) -> Array:
    """All experts of a rank get the gate of the first of them."""
    made = gates.copy()
    for t, row in enumerate(choices // e):
        for j, rank in enumerate(row):
            made[t, j] = gates[t, list(row).index(rank)]
    return made


def _lean_bytes(world: World) -> float:
    n, e, k = world.ranks, len(world.args[0][3]), world.args[0][1].shape[1]
    return _moved(world, _rows_by([args[1] for args in world.args], n, e, True), 2 * k)


LEAN_TRIP = ranks_spec(
    "lean_trip", UNIT, 2, lean_worlds, mixed, ("x", "choices", "gates", "weights"),
    Limits(most_wire=_lean_bytes),
    suspects={
        "first_of_rank": lambda w: mixed(w, _first_of_rank),
        "one_gate": lambda w: mixed(w, _one_gate),
        "ungated": lambda w: mixed(w, lambda choices, gates, e: np.ones_like(gates)),
        "normalised": lambda w: mixed(
            w, lambda choices, gates, e: gates / gates.sum(axis=1, keepdims=True)
        ),
        "one_choice": lambda w: mixed(
            w, lambda choices, gates, e: gates * (np.arange(gates.shape[1]) == 0)
        ),
    },
    causes={
        "first_of_rank": "Of several experts on one rank only the first has worked on the token.",
        "one_gate": "All experts of a rank get the gate of the first of them.",
        "normalised": "The gates are divided by their sum; they count as they are given.",
        "ungated": "The outputs are added without their gates.",
        "one_choice": "Only the first choice of each token counts.",
        "too_many_bytes": "A token goes to the same rank more than once, or comes back more than "
        "once.",
    },
    hints={
        "first_of_rank": (
            "A token has experts 0 and 3, both on rank 0: what does rank 0 compute?",
            "Both, and adds them up: let the row carry a gate for each of them.",
        ),
        "one_gate": (
            "Whose gate is it?",
            "Each expert has its own: send a gate for each expert of that rank, 0 where not "
            "chosen.",
        ),
        "normalised": (
            "What is 0.25 and 0.5 of 5 in the example?",
            "3.75: multiply by gates as they came, whatever their sum.",
        ),
        "ungated": ("How much does each expert count?", "Multiply by gates before adding."),
        "one_choice": ("How many experts has a token?", "k: go through all columns of choices."),
        "rank_failed": SPLITS,
        "hang": SPLITS,
        "too_many_bytes": (
            "How many rows go to a rank that has two of a token's experts?",
            "One there, with its gates beside it, and one back: the rank adds up its experts' "
            "outputs before it sends.",
        ),
    },
)  # fmt: skip

SPECS = [KEPT_CHOICES, ROUND_TRIP, EXPERT_GRADIENTS, LAYER_CLOCK, BALANCE_LOSS, LEAN_TRIP]
