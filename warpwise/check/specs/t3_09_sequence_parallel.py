"""Specs of the lab t3_09_sequence_parallel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from ...fabric.backward import (
    RNG_STATE,
    backward_on_ranks,
    forward_pass,
    kept_on_ranks,
    layer,
    recompute,
    saved_bytes,
)
from ..cases import Level
from ..ranked import Limits, World, ranks_spec
from ..spec import FLOAT, FunctionSpec
from ..values import equal, mismatch, show

UNIT = "t3_09_sequence_parallel"

Array = np.ndarray[Any, Any]
Found = tuple[str, str] | None

LIBRARY = (
    "it calls torch.utils.checkpoint, which the exercise leaves out",
    "The exercise is to write this by hand.",
)


# -- layer_keeps -------------------------------------------------------------------------------

Layer = tuple[int, int, int, int, int, bool, str]


def keeps_inputs(rng: np.random.Generator, level: Level) -> Iterator[Layer]:
    """All ways to cut and to recompute; one rank as well."""
    for cut, how in product((False, True), ("none", "selective", "full")):
        yield 8, 1, 8, 4, 4, cut, how
    yield 5, 3, 8, 2, 1, False, "none"
    for cut, how in product((False, True), ("none", "selective", "full")):
        for _ in range(2 if level == "grader" else 1):
            t = int(rng.choice([2, 4, 8]))
            heads = t * int(rng.integers(1, 13))
            yield (
                int(rng.integers(4, 65)) * 64, int(rng.integers(2, 5)),
                heads * int(rng.choice([64, 80, 128])), heads, t, cut, how,
            )  # fmt: skip


def _keeps(
    outside: float = 10, inside: float = 24, scores: float = 5, always: str = "", cut: bool = True
) -> Callable[..., float]:
    """The formula with units of its own; always: one way to recompute; cut: outside parts, too."""

    def formula(
        s: int, b: int, h: int, a: int, t: int, sequence_parallel: bool, recompute: str
    ) -> float:
        whole = 1 / t if sequence_parallel and cut else 1
        how = always or recompute
        if how == "full":
            return 2.0 * s * b * h * whole
        kept = outside * whole + inside / t + (scores * a * s / h / t if how == "none" else 0)
        return float(kept * s * b * h)

    return formula


def keeps(s: int, b: int, h: int, a: int, t: int, sequence_parallel: bool, recompute: str) -> float:
    """s b h (10 / t or 10, and (24 + 5 a s / h) / t); full: the input."""
    return _keeps()(s, b, h, a, t, sequence_parallel, recompute)


def _always_cut(
    s: int, b: int, h: int, a: int, t: int, sequence_parallel: bool, recompute: str
) -> float:
    return keeps(s, b, h, a, t, True, recompute)


def _full_cut(
    s: int, b: int, h: int, a: int, t: int, sequence_parallel: bool, recompute: str
) -> float:
    return keeps(s, b, h, a, t, sequence_parallel or recompute == "full", recompute)


def _full_whole(
    s: int, b: int, h: int, a: int, t: int, sequence_parallel: bool, recompute: str
) -> float:
    return keeps(s, b, h, a, t, sequence_parallel and recompute != "full", recompute)


def _attention_dropped(
    s: int, b: int, h: int, a: int, t: int, sequence_parallel: bool, recompute: str
) -> float:
    """Selective recomputation without the whole attention block: 3 outside and 8 inside."""
    given = (s, b, h, a, t, sequence_parallel, recompute)
    return _keeps(7, 16)(*given) if recompute == "selective" else keeps(*given)


def _gathered(
    s: int, b: int, h: int, a: int, t: int, sequence_parallel: bool, recompute: str
) -> float:
    """The two gathered inputs are kept whole."""
    more = 4 * (1 - 1 / t) if sequence_parallel and recompute != "full" else 0
    return keeps(s, b, h, a, t, sequence_parallel, recompute) + more * s * b * h


def _scores_whole(
    s: int, b: int, h: int, a: int, t: int, sequence_parallel: bool, recompute: str
) -> float:
    more = 5 * a * s * s * b * (1 - 1 / t) if recompute == "none" else 0
    return keeps(s, b, h, a, t, sequence_parallel, recompute) + more


LAYER_KEEPS = FunctionSpec(
    "layer_keeps", UNIT, 1, keeps_inputs, keeps,
    suspects={
        "full_cut": _full_cut,
        "full_whole": _full_whole,
        "always_cut": _always_cut,
        "never_cut": _keeps(cut=False),
        "attention_dropped": _attention_dropped,
        "not_recomputed": lambda s, b, h, a, t, sequence_parallel, recompute: keeps(
            s, b, h, a, t, sequence_parallel, "full" if recompute == "full" else "none"
        ),
        "gathered_kept": _gathered,
        "scores_whole": _scores_whole,
        "wide_masks": _keeps(12, 24, 6),
        "one_sequence": lambda s, b, h, a, t, sequence_parallel, recompute: keeps(
            s, 1, h, a, t, sequence_parallel, recompute
        ),
        "in_units": lambda s, b, h, a, t, sequence_parallel, recompute: (
            keeps(s, b, h, a, t, sequence_parallel, recompute) / (s * b * h)
        ),
    },
    causes={
        "always_cut": "All is divided by t, also without sequence parallelism.",
        "never_cut": "What stands outside the blocks is never divided, though sequence parallelism "
        "does.",
        "full_cut": "The layer's input is divided by t, also without sequence parallelism.",
        "full_whole": "With sequence parallelism a rank has only its own tokens of the layer's "
        "input.",
        "attention_dropped": "Selective recomputation drops all of attention; it drops the scores "
        "alone.",
        "not_recomputed": "Selective recomputation changes nothing here.",
        "gathered_kept": "The two gathered inputs are counted whole; they are gathered again.",
        "scores_whole": "The scores are not divided: each rank has the heads of its own.",
        "wide_masks": "Masks are counted with two bytes a number.",
        "one_sequence": "It is what one sequence keeps; there are b.",
        "in_units": "These are units of s b h bytes, not bytes.",
    },
    hints={
        "always_cut": (
            "What did tensor parallelism leave whole in section 3?",
            "10 units: divide them by t only if sequence_parallel.",
        ),
        "never_cut": ("What does sequence parallelism cut?", "The 10 units outside the blocks."),
        "full_cut": ("Who has the layer's input?", "Each rank has all, if not sequence_parallel."),
        "full_whole": ("How many tokens enter a layer on a rank?", "s / t: divide the 2 by t."),
        "attention_dropped": (
            "From what does the core of attention start when it runs again?",
            "From q, k and v: they stay, and so do the inputs of the linear layers.",
        ),
        "not_recomputed": ("Which term do the scores have?", "Leave out 5 a s / h."),
        "gathered_kept": ("What does Given say of gathered inputs?", "Divide all 34 units by t."),
        "scores_whole": ("How many heads has a rank?", "a / t: divide 5 a s / h by t as well."),
        "wide_masks": ("How many bytes has a number of a mask?", "One: 34 and 5, not 36 and 6."),
        "one_sequence": ("What does b multiply?", "Everything: s b h units."),
        "in_units": ("How large is a unit?", "s b h bytes."),
    },
)  # fmt: skip


# -- saved_bytes -------------------------------------------------------------------------------

Pass = tuple[str, int, int]

#: What each forward pass keeps, in bytes.
KEPT: dict[str, Callable[[int, int], int]] = {
    "square": lambda rows, width: 4 * rows * width,  # the exponentials
    "rows": lambda rows, width: 4 * rows * width,  # all of x, for two of its rows
    "mlp": lambda rows, width: 4 * rows * (width + 3 * width),  # x, relu's result
    "heads": lambda rows, width: 4 * rows * (width + 3 * width + rows),  # x; q, k, v; softmax
    "masked": lambda rows, width: rows * width * (2 + 1 + 2),  # x, mask, what is left of gelu
}
#: How a message writes them.
CODE = {
    "square": "y = torch.exp(x); y * y",
    "rows": "x[:2] * scale",
    "mlp": "torch.relu(x @ up.T) @ down.T",
    "heads": "q, k, v = F.linear(x, qkv).chunk(3, dim=1); torch.softmax(q @ k.T, dim=-1) @ v",
    "masked": "F.linear(torch.native_dropout(F.gelu(x), 0.5, True)[0], down) in bfloat16",
}


def pass_inputs(rng: np.random.Generator, level: Level) -> Iterator[Pass]:
    """Each forward pass; no two sizes alike, but once relu's result has the shape of `down`."""
    for number, kind in enumerate(KEPT):
        yield kind, 3 + number, 2 + 2 * number
    yield "mlp", 6, 6
    for kind in KEPT:
        for _ in range(2 if level == "grader" else 1):
            yield kind, int(rng.integers(5, 40)), int(rng.integers(5, 40))


def kept_by(kind: str, rows: int, width: int) -> int:
    """Bytes, by a formula for each forward pass."""
    return KEPT[kind](rows, width)


def _miscounted(
    count: Callable[[list[Any], list[Any]], int],
) -> Callable[[str, int, int], int]:
    """A counter that makes a mistake: (saved tensors, weights) -> bytes."""

    def wrong(kind: str, rows: int, width: int) -> int:
        import torch

        run, weights = forward_pass(kind, rows, width)
        found: list[Any] = []

        def pack(tensor: Any) -> Any:
            found.append(tensor)
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            run()
        return count(found, weights)

    return wrong


def _place(tensor: Any) -> int:
    return int(tensor.untyped_storage().data_ptr())


def _own(found: list[Any], weights: list[Any]) -> list[Any]:
    there = {_place(weight) for weight in weights}
    return [tensor for tensor in found if _place(tensor) not in there]


def _whole(tensors: list[Any]) -> dict[int, int]:
    return {_place(tensor): tensor.untyped_storage().nbytes() for tensor in tensors}


def _seen(tensors: list[Any]) -> int:
    """Each place once, with the bytes of the tensor that lies there, not of its storage."""
    return sum({_place(tensor): tensor.nbytes for tensor in tensors}.values())


def _by_shape(found: list[Any], weights: list[Any]) -> int:
    """What has the shape of a weight, or of a transposed one, is taken for it."""
    shapes = {tuple(shape) for weight in weights for shape in (weight.shape, weight.shape[::-1])}
    return sum(_whole([tensor for tensor in found if tuple(tensor.shape) not in shapes]).values())


def _by_identity(found: list[Any], weights: list[Any]) -> int:
    """Weights are left out only where they are saved themselves, not transposed."""
    same = {id(weight) for weight in weights}
    return sum(_whole([tensor for tensor in found if id(tensor) not in same]).values())


MISCOUNTS: dict[str, Callable[[str, int, int], int]] = {
    "views_of_weights": _miscounted(_by_identity),
    "by_shape": _miscounted(_by_shape),
    "weights_counted": _miscounted(lambda found, weights: sum(_whole(found).values())),
    "part_of_a_storage": _miscounted(lambda found, weights: _seen(_own(found, weights))),
    "counted_twice": _miscounted(
        lambda found, weights: sum(tensor.nbytes for tensor in _own(found, weights))
    ),
    "storages_twice": _miscounted(
        lambda found, weights: sum(
            tensor.untyped_storage().nbytes() for tensor in _own(found, weights)
        )
    ),
    "twice_with_weights": _miscounted(
        lambda found, weights: sum(tensor.nbytes for tensor in found)
    ),
    "by_address": _miscounted(
        lambda found, weights: sum(
            {
                tensor.data_ptr(): tensor.untyped_storage().nbytes()
                for tensor in _own(found, weights)
            }.values()
        )
    ),
    "in_numbers": _miscounted(
        lambda found, weights: sum(
            tensor.untyped_storage().nbytes() // tensor.element_size()
            for tensor in {_place(t): t for t in _own(found, weights)}.values()
        )
    ),
    "all_float32": _miscounted(
        lambda found, weights: sum(
            4 * tensor.untyped_storage().nbytes() // tensor.element_size()
            for tensor in {_place(t): t for t in _own(found, weights)}.values()
        )
    ),
}


def counted(args: Sequence[Any], got: Any) -> Found:
    """Whether a counter is right, and which mistake it makes."""
    want = kept_by(*args)
    if type(got) is not int:
        return "wrong_type", f"it returned {show(got)}; an int is asked for"
    if got == want:
        return None
    slug = next((name for name, wrong in MISCOUNTS.items() if wrong(*args) == got), "wrong_values")
    return slug, f"it returned {got:,}; {want:,} bytes are kept"


SAVED_BYTES = FunctionSpec(
    "saved_bytes", UNIT, 2, pass_inputs, kept_by,
    causes={
        "by_shape": "Weights are told by their shape; another array may have the same.",
        "weights_counted": "Weights are counted; they are there anyway.",
        "views_of_weights": "Weights are left out only where they are saved as they are; most are "
        "saved as transposed views.",
        "counted_twice": "A storage counts as often as it is saved.",
        "storages_twice": "A storage counts as often as it is saved.",
        "twice_with_weights": "Every saved tensor counts, weights and repeated storages, too.",
        "part_of_a_storage": "A view counts with its own bytes; it keeps all of its storage alive.",
        "by_address": "Tensors are told apart by where they begin; views of one storage begin at "
        "different places.",
        "in_numbers": "These are numbers, not bytes.",
        "all_float32": "Every number is taken to have four bytes.",
    },
    hints={
        "by_shape": (
            "Is every array of 6 x 18 a weight of 6 x 18?",
            "No: compare untyped_storage().data_ptr() with those of the weights.",
        ),
        "weights_counted": (
            "Which storages are there before run is called?",
            "Note the data_ptr() of each weight's untyped_storage(), and leave those out.",
        ),
        "views_of_weights": (
            "Is up.T the same tensor as up?",
            "No, but it lies in the same storage: compare untyped_storage().data_ptr().",
        ),
        "counted_twice": (
            "How often is relu's result saved in section 1?",
            "Twice: keep a dictionary by storage, and add up its values.",
        ),
        "storages_twice": (
            "How often is relu's result saved in section 1?",
            "Twice: keep a dictionary by storage, and add up its values.",
        ),
        "twice_with_weights": (
            "What do two tensors in one storage cost?",
            "Note each storage once, without those of the weights.",
        ),
        "part_of_a_storage": (
            "Can PyTorch free the other rows of x while two of them are saved?",
            "No: count untyped_storage().nbytes().",
        ),
        "by_address": (
            "Where do q, k and v begin, and where does their storage?",
            "tensor.data_ptr() differs, tensor.untyped_storage().data_ptr() does not.",
        ),
        "in_numbers": ("How many bytes has a number?", "untyped_storage().nbytes() knows."),
        "all_float32": (
            "Which types are there beside float32?",
            "untyped_storage().nbytes() is right for all.",
        ),
    },
    examine=counted, run=saved_bytes, takes=("run", "weights"),
    said=lambda args: f"{CODE[args[0]]}, with x of {args[1]} x {args[2]}",
)  # fmt: skip


# -- a forward and its backward on ranks -------------------------------------------------------


def ring(ranks: int, nbytes: float) -> float:
    """What a rank sends in an all-gather or a reduce-scatter of `nbytes` in all."""
    return (ranks - 1) / ranks * nbytes


def with_backward(
    spec: FunctionSpec,
    most_kept: Callable[[World], int] | None = None,
    least_wire: Callable[[World], float] | None = None,
) -> FunctionSpec:
    """`spec` of a function on ranks whose backward is run, too.

    most_kept: bytes that the forward pass may leave on a rank; where it is given,
    torch.utils.checkpoint may not be used.
    least_wire: bytes over its links that no answer does without if it keeps no more than that;
    who sends fewer has kept the rest where tensors are not counted, as a list or in NumPy.
    """
    inner, names = spec.examine, ("the output", *(f"the gradient of {name}" for name in spec.takes))
    assert inner is not None

    def examine(args: Sequence[Any], got: Any) -> Found:
        told = dict(got) if isinstance(got, dict) else got
        kept = library = None
        if most_kept is not None and isinstance(told, dict):
            kept, library = told.pop("kept", None), told.pop("library", None)
        found = inner(args, told)
        if found and found[0] in ("wrong_values", "wrong_type"):
            return _which(told["values"], spec.reference(args[0]), names) or found
        if found or most_kept is None:
            return found
        if type(kept) is not int or type(library) is not bool:
            return "not_told", "what came back is not what a run on ranks tells"
        if library:
            return "library_used", LIBRARY[0]
        most = most_kept(args[0])
        if kept > most:
            return "kept_too_much", (
                f"values and gradients are right, but after the forward pass {kept:,} bytes are "
                f"left in memory beside the output; {most:,} are enough"
            )
        fewest = least_wire(args[0]) if least_wire is not None else 0
        if told["wire"] < fewest * (1 - 1e-9):
            return "kept_elsewhere", (
                f"values and gradients are right, but the busiest rank sends {told['wire']:,.10g} "
                f"bytes over its links, and to gather again takes {fewest:,.10g} in all"
            )
        return None

    run = backward_on_ranks if most_kept is None else kept_on_ranks
    causes = {**spec.causes, **BACKWARD_CAUSES}
    return replace(
        spec, run=run, examine=examine, causes=causes, hints={**spec.hints, **BACKWARD_HINTS}
    )


def _which(values: Sequence[Any], wanted: Sequence[Any], names: Sequence[str]) -> Found:
    """The first value that is wrong, by its name."""
    for rank, (row, right) in enumerate(zip(values, wanted, strict=True)):
        if not isinstance(row, list) or len(row) != len(names):
            return None
        for name, got, want in zip(names, row, right, strict=True):
            if got is None:
                return "no_gradient", f"rank {rank}: {name} is missing"
            if mismatch(got, want) or not equal(got, want, FLOAT):
                return "wrong_values", (
                    f"rank {rank}: {name} is {show(got)}, expected {show(want)}"
                )
    return None


BACKWARD_CAUSES = {
    "library_used": LIBRARY[1],
    "no_gradient": "Autograd does not come there from the output.",
    "rank_failed": "A rank raised an exception: in the function, in its backward pass, or because "
    "there is no way back from what it returned.",
}
BACKWARD_HINTS = {
    "no_gradient": (
        "Is every argument used, and none of them detached?",
        "What backward of a torch.autograd.Function returns belongs to the inputs of its forward, "
        "in their order.",
    ),
    "rank_failed": (
        "Does the message name a line of yours, or what you returned?",
        "Return one tensor, as autograd made it; the check calls its backward.  What backward of "
        "a torch.autograd.Function returns has the shape of what went into forward.",
    ),
}


# -- sequence_mlp ------------------------------------------------------------------------------


def mlp_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """Own tokens, own columns, the same norm and bias; last the gradient of the output."""
    shapes = [(2, 1, 3, 4), (3, 2, 4, 6)]
    shapes += [(4, 2, 3, 8)] if level == "grader" else []
    for n, own, h, f in shapes:
        x, dy = rng.standard_normal((2, n * own, h))
        norm, bias = rng.random(h) + 0.5, rng.random(h) + 0.5
        ups = np.split(rng.standard_normal((f, h)), n)
        downs = np.split(rng.standard_normal((h, f)), n, axis=1)
        parts = zip(np.split(x, n), ups, downs, np.split(dy, n), strict=True)
        yield World(
            tuple((x, norm, up, np.ascontiguousarray(down), bias, dy) for x, up, down, dy in parts)
        )


def mlp(
    world: World, summed: str = "norm bias", bias_times: int = 1, own_columns: bool = False,
    own_rows: bool = False, divided: bool = False,
) -> list[list[Any]]:  # fmt: skip
    """y, dx, d_norm, d_up, d_down, d_bias by rank.

    summed: whose gradients are summed over ranks.  bias_times: how often the bias is added.
    own_columns: nothing is summed at the start of the backward's way out (dx of own columns).
    own_rows: nothing is gathered at its way in (dy of own tokens).  divided: sums are means.
    """
    import torch
    import torch.nn.functional as F

    n = world.ranks
    given = [[torch.from_numpy(value.copy()) for value in args] for args in world.args]
    norms = [args[1].clone().requires_grad_() for args in given]
    xs = [args[0].clone().requires_grad_() for args in given]
    normed = [F.layer_norm(x, x.shape[1:], norm) for x, norm in zip(xs, norms, strict=True)]
    own, dy = len(xs[0]), torch.cat([args[5] for args in given])
    total: Any = 0
    inner, ups, downs = [], [], []
    for rank, args in enumerate(given):
        whole = torch.cat(normed).detach().requires_grad_()
        up, down = args[2].clone().requires_grad_(), args[3].clone().requires_grad_()
        out = F.linear(torch.relu(F.linear(whole, up)), down)
        mine = torch.zeros_like(dy)
        mine[rank * own : (rank + 1) * own] = dy[rank * own : (rank + 1) * own]
        out.backward(mine if own_rows else dy)
        total = total + out.detach()
        inner.append(whole.grad)
        ups.append(up.grad)
        downs.append(down.grad)
    found = []
    for rank in range(n):
        back = inner[rank] if own_columns else sum(inner)
        normed[rank].backward(back[rank * own : (rank + 1) * own])
    shares = {"norm": [norm.grad for norm in norms], "bias": [args[5].sum(0) for args in given]}
    for rank, args in enumerate(given):
        whole_of = {
            name: sum(parts) / (n if divided else 1) if name in summed else parts[rank]
            for name, parts in shares.items()
        }
        y = total[rank * own : (rank + 1) * own] + bias_times * args[4]
        found.append([y, xs[rank].grad, whole_of["norm"], ups[rank], downs[rank], whole_of["bias"]])
    return [[value.numpy() for value in row] for row in found]


def _bias_gradient_n_times(world: World) -> list[list[Any]]:
    return [[*row[:5], world.ranks * row[5]] for row in mlp(world, bias_times=world.ranks)]


def _mlp_wire(world: World) -> float:
    x, n = world.args[0][0], world.ranks
    return 4 * ring(n, n * x.nbytes) + 2 * ring(n, 2 * x[0].nbytes)


SEQUENCE_MLP = with_backward(ranks_spec(
    "sequence_mlp", UNIT, 3, mlp_worlds, mlp, ("x", "norm", "up", "down", "bias"),
    Limits(most_wire=_mlp_wire),
    suspects={
        "shares_of_both": lambda world: mlp(world, summed=""),
        "share_of_norm": lambda world: mlp(world, summed="bias"),
        "share_of_bias": lambda world: mlp(world, summed="norm"),
        "averaged": lambda world: mlp(world, divided=True),
        "bias_n_times": lambda world: mlp(world, bias_times=world.ranks),
        "bias_n_times_back": _bias_gradient_n_times,
        "own_columns": lambda world: mlp(world, own_columns=True),
        "own_columns_shares": lambda world: mlp(world, "", own_columns=True),
        "own_tokens_back": lambda world: mlp(world, own_rows=True),
        "own_tokens_back_shares": lambda world: mlp(world, "", own_rows=True),
    },
    causes={
        "shares_of_both": "The gradients of norm and bias are those of this rank's tokens.",
        "share_of_norm": "The gradient of norm is that of this rank's tokens.",
        "share_of_bias": "The gradient of bias is that of this rank's tokens.",
        "averaged": "The gradients of norm and bias are means over ranks, not sums.",
        "bias_n_times": "Each rank adds the bias before the sum: it is there n times.",
        "bias_n_times_back": "Each rank adds the bias before the sum: it is there n times, forward "
        "and backward.",
        "own_columns": "The gradient of the gathered array is this rank's share; nothing adds up "
        "the shares.",
        "own_columns_shares": "The gradient of the gathered array is this rank's share; nothing "
        "adds up the shares.",
        "own_tokens_back": "Backward through the end of the block only this rank's tokens go on; "
        "its columns need all.",
        "own_tokens_back_shares": "Backward through the end of the block only this rank's tokens "
        "go on; its columns need all.",
        "too_many_bytes": "More travels than two all-gathers, two reduce-scatters, and 2 h "
        "numbers.",
    },
    hints={
        "shares_of_both": (
            "On which tokens has this rank used norm and bias?",
            "On its own: put them through an operator whose backward is an all-reduce.",
        ),
        "share_of_norm": (
            "On which tokens has this rank used norm?",
            "On its own: Copy.apply(norm), whose backward is an all-reduce.",
        ),
        "share_of_bias": (
            "On which tokens has this rank used bias?",
            "On its own: Copy.apply(bias), whose backward is an all-reduce.",
        ),
        "averaged": ("Is the loss a mean over ranks?", "No: add the shares, do not divide."),
        "bias_n_times": (
            "How many ranks add their bias to the same token?",
            "Add it after the reduce-scatter, where each token is on one rank.",
        ),
        "bias_n_times_back": (
            "How many ranks add their bias to the same token?",
            "Add it after the reduce-scatter, where each token is on one rank.",
        ),
        "own_columns": (
            "The gathered array goes through the columns of all ranks. Who has which share of its "
            "gradient?",
            "The backward of the all-gather is a reduce-scatter.",
        ),
        "own_columns_shares": (
            "The gathered array goes through the columns of all ranks. Who has which share of its "
            "gradient?",
            "The backward of the all-gather is a reduce-scatter; norm and bias need an all-reduce.",
        ),
        "own_tokens_back": (
            "Which tokens has this rank's d_down to know?",
            "All: the backward of the reduce-scatter is an all-gather.",
        ),
        "own_tokens_back_shares": (
            "Which tokens has this rank's d_down to know?",
            "All: the backward of the reduce-scatter is an all-gather; norm and bias need an "
            "all-reduce.",
        ),
        "too_many_bytes": (
            "Which calls carry tokens x h numbers, forward and backward?",
            "One all-gather and one reduce-scatter each way; norm and bias travel as h numbers.",
        ),
    },
))  # fmt: skip


# -- gathered_linear ---------------------------------------------------------------------------


def linear_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """Own tokens, own columns; last the gradient of the output, which is of all tokens."""
    shapes = [(2, 1, 3, 4), (3, 2, 4, 6)]
    shapes += [(4, 3, 5, 4)] if level == "grader" else []
    for n, own, h, f in shapes:
        yield World(
            tuple(
                (
                    rng.standard_normal((own, h)), rng.standard_normal((f // n, h)),
                    rng.standard_normal((n * own, f // n)),
                )
                for _ in range(n)
            )
        )  # fmt: skip


def linear(
    world: World, own_share: bool = False, own_tokens: bool = False, divided: bool = False
) -> list[list[Array]]:
    """y, dx, d_weight by rank."""
    xs, own = np.concatenate([args[0] for args in world.args]), len(world.args[0][0])
    shares = [dy @ weight for _, weight, dy in world.args]
    found = []
    for rank, (x, weight, dy) in enumerate(world.args):
        mine = slice(rank * own, (rank + 1) * own)
        dx = shares[rank][mine] if own_share else np.sum(shares, axis=0)[mine]
        dw = dy[mine].T @ x if own_tokens else dy.T @ xs
        found.append([xs @ weight.T, dx / (world.ranks if divided else 1), dw])
    return found


def _linear_wire(world: World) -> float:
    """Two all-gathers and one reduce-scatter."""
    return 3 * ring(world.ranks, world.ranks * world.args[0][0].nbytes)


GATHERED_LINEAR = with_backward(ranks_spec(
    "gathered_linear", UNIT, 2, linear_worlds, linear, ("x", "weight"),
    Limits(most_wire=_linear_wire),
    suspects={
        "own_share": lambda world: linear(world, own_share=True),
        "own_tokens": lambda world: linear(world, own_tokens=True),
        "own_share_own_tokens": lambda world: linear(world, own_share=True, own_tokens=True),
        "averaged": lambda world: linear(world, divided=True),
    },
    causes={
        "own_share": "The gradient of x is this rank's share: other ranks used these tokens, too.",
        "own_tokens": "The gradient of the weight is that of own tokens.",
        "own_share_own_tokens": "Both gradients are of own tokens and own columns alone.",
        "averaged": "The gradient of x is a mean over ranks, not a sum.",
        "kept_too_much": "The gathered array, or another one as large, is still alive.",
        "kept_elsewhere": "The gathered numbers wait somewhere for the backward pass: in a list, "
        "in a NumPy array, in a file.",
        "too_many_bytes": "More travels than two all-gathers and one reduce-scatter.",
    },
    hints={
        "own_share": (
            "Whose products have used this rank's tokens?",
            "All ranks': dist.reduce_scatter of gradient @ weight.",
        ),
        "own_tokens": (
            "Which tokens went through this rank's weight?",
            "All: gather x again in the backward pass.",
        ),
        "own_share_own_tokens": (
            "What does the rank need from others in the backward pass?",
            "Their tokens for the weight's gradient, and their shares of dx.",
        ),
        "averaged": ("Is the loss a mean over ranks?", "No: reduce-scatter, and do not divide."),
        "kept_too_much": (
            "What did you give to save_for_backward, or to ctx?",
            "Save x and weight as they came in; gather x again in backward.",
        ),
        "kept_elsewhere": (
            "Where does the backward pass take the other ranks' tokens from?",
            "From the other ranks: gather x again there, and keep them nowhere.",
        ),
        "library_used": (
            "What does a torch.autograd.Function keep by itself?",
            "Nothing: write one for both steps, and save x and weight in it.",
        ),
        "too_many_bytes": (
            "How often does x have to be gathered?",
            "Once forward, once backward; dx is reduce-scattered.",
        ),
    },
), lambda world: int(world.args[0][0].nbytes), _linear_wire)  # fmt: skip


# -- recomputed --------------------------------------------------------------------------------

Again = tuple[str, int, int, int, int]


def again_inputs(rng: np.random.Generator, level: Level) -> Iterator[Again]:
    """(kind, layers, rows, width, seed); with and without random numbers, one layer and two."""
    yield "plain", 1, 2, 2, int(rng.integers(1000))
    yield "dropout", 1, 3, 4, int(rng.integers(1000))
    yield "plain", 1, 24, 8, int(rng.integers(1000))
    yield "dropout", 2, 24, 8, int(rng.integers(1000))
    if level == "grader":
        yield "dropout", 3, 32, 6, int(rng.integers(1000))
        yield "plain", 2, 20, 10, int(rng.integers(1000))


def directly(kind: str, layers: int, rows: int, width: int, seed: int) -> list[Any]:
    """y, dx, d_up, d_down and the next random number, without recomputation."""
    import torch

    with torch.random.fork_rng(devices=[]):
        fn, x, weights, dy = layer(kind, rows, width, seed)
        y = x
        for _ in range(layers):
            y = fn(y)
        y.backward(dy)
        found = [y.detach(), x.grad, *(weight.grad for weight in weights), torch.rand(1)]
    return [value.numpy() for value in found]


def _alike(got: Any, want: Array) -> bool:
    return isinstance(got, np.ndarray) and got.shape == want.shape and np.allclose(got, want)


def again(args: Sequence[Any], got: Any) -> Found:
    """The first thing that is wrong with a run of `recompute`."""
    kind, layers, rows, width, _ = args
    keys = {"values": list, "kept": int, "calls": list, "library": bool}
    if not isinstance(got, dict) or {key: type(value) for key, value in got.items()} != keys:
        return "not_told", "what came back is not what a run tells"
    want = directly(*args)
    values, calls = got["values"], got["calls"]
    if len(values) != len(want) or len(calls) != 2:
        return "not_told", "what came back is not what a run tells"
    if got["library"]:
        return "library_used", LIBRARY[0]
    if not _alike(values[0], want[0]):
        return "wrong_output", "the output is not fn(x)"
    if values[1] is None:
        return "input_lost", "x has no gradient"
    if values[2] is None or values[3] is None:
        return "weights_lost", "the weights that fn uses have no gradient"
    if not _alike(values[1], want[1]):
        slug = "other_numbers" if kind == "dropout" else "wrong_gradient"
        return slug, f"the gradient of x is wrong{' where fn drops numbers' * (kind == 'dropout')}"
    if not all(_alike(a, b) for a, b in zip(values[2:4], want[2:4], strict=True)):
        return "wrong_weights", "the gradients of the weights that fn uses are wrong"
    if calls[1] == 0:
        return "not_again", "fn is not called in the backward pass: nothing is computed again"
    x = 8 * rows * width
    most = layers * (x + RNG_STATE)
    if got["kept"] > most:
        return "kept_too_much", (
            f"values and gradients are right, but after the forward pass {got['kept']:,} bytes are "
            f"left in memory beside the output; {most:,} are enough"
        )
    if calls != [layers, layers]:
        return "calls", (
            f"fn is called {calls[0]} times forward and {calls[1]} times in the backward pass, for "
            f"{layers} call{'s' * (layers > 1)} of yours"
        )
    if not _alike(values[4], want[4]):
        return "generator_left", "the next random number after the backward pass is another one"
    return None


RECOMPUTED = FunctionSpec(
    "recomputed", UNIT, 2, again_inputs, lambda kind, layers, rows, width, seed: [],
    causes={
        "library_used": LIBRARY[1],
        "wrong_output": "The forward pass has to give what fn gives.",
        "input_lost": "What backward returns, or adds, does not reach x.",
        "weights_lost": "The second run is differentiated for x alone, or without autograd.",
        "other_numbers": "The second run draws other random numbers than the first.",
        "wrong_gradient": "The second run is not differentiated with the gradient that came in.",
        "wrong_weights": "Something adds to the weights' gradients more than once, or not all.",
        "not_again": "What fn computes is kept, by autograd or by ctx, and not computed again.",
        "kept_too_much": "Autograd has saved what is inside fn, or ctx holds it.",
        "calls": "fn is to run once in each direction.",
        "generator_left": "The generator is not where it would be without recomputation.",
    },
    hints={
        "library_used": (
            "What are the two halves of a torch.autograd.Function?",
            "Forward runs fn and saves x; backward runs fn again with autograd.",
        ),
        "wrong_output": ("What does forward return?", "fn(x)."),
        "input_lost": (
            "Which tensor did you differentiate for?",
            "A detached copy of x with requires_grad_(): return its .grad from backward.",
        ),
        "weights_lost": (
            "Where do the gradients of the weights come from?",
            "Call y.backward(gradient) on the second run: it reaches all that fn uses.",
        ),
        "other_numbers": (
            "What would F.dropout draw now, and what did it draw then?",
            "Keep torch.get_rng_state() before the first run, and set it before the second.",
        ),
        "wrong_gradient": (
            "What comes into backward?",
            "The gradient of the output: y.backward(gradient).",
        ),
        "wrong_weights": (
            "How often is backward called on the second run?",
            "Once, with the gradient that came in.",
        ),
        "not_again": (
            "When does fn run a second time?",
            "Within backward of a torch.autograd.Function, on a detached x that needs a gradient.",
        ),
        "kept_too_much": (
            "What is saved if fn runs with autograd in the forward pass?",
            "Run it within forward of a torch.autograd.Function, or under torch.no_grad().",
        ),
        "calls": ("Which run serves which purpose?", "One for the output, one for the gradients."),
        "generator_left": (
            "Where was the generator when backward began?",
            "Note the state of now before you set the old one, and set it again after fn.",
        ),
    },
    examine=again, run=recompute, takes=("fn", "x"),
    said=lambda args: (
        f"{args[1]} layer{'s' * (args[1] > 1)} {'with' if args[0] == 'dropout' else 'without'} "
        f"dropout, x of {args[2]} x {args[3]}"
    ),
)  # fmt: skip


# -- least_recompute ---------------------------------------------------------------------------

Parts = Sequence[Sequence[int]]


def parts_inputs(
    rng: np.random.Generator, level: Level
) -> Iterator[tuple[list[tuple[int, int]], int]]:
    """Everything fits, nothing does; choices where no order of the parts is right."""
    yield [(80, 4), (34, 96)], 40
    yield [(3, 5), (4, 2)], 7
    yield [(3, 5), (4, 2)], 0
    yield [(7, 6), (5, 5), (5, 5), (1, 4)], 8
    yield [(6, 9), (3, 2), (3, 2), (3, 2)], 8
    yield [], 3
    for count in (6, 9, 11) + ((12, 12, 10) if level == "grader" else ()):
        parts = [(int(k), int(c)) for k, c in rng.integers(3, 40, (count, 2))]
        yield parts, int(sum(kept for kept, _ in parts) * rng.uniform(0.3, 0.7))


def cheapest(parts: Parts, budget: int) -> int:
    """Fewest operations, by what is freed: a table over freed amounts."""
    need = sum(kept for kept, _ in parts) - budget
    best = {0: 0}
    for kept, cost in parts:
        for freed, spent in list(best.items()):
            more = min(freed + kept, max(need, 0))
            best[more] = min(best.get(more, spent + cost), spent + cost)
    return best[max(need, 0)]


def _greedy(parts: Parts, budget: int, value: Callable[[Sequence[int]], float]) -> list[int]:
    left = sum(kept for kept, _ in parts)
    chosen: list[int] = []
    for k in sorted(range(len(parts)), key=lambda k: -value(parts[k])):
        if left > budget:
            chosen.append(k)
            left -= parts[k][0]
    return sorted(chosen)


def chosen(args: Sequence[Any], got: Any) -> Found:
    """Whether a choice is one, fits and is the cheapest."""
    parts, budget = args
    if not isinstance(got, list) or any(type(k) is not int for k in got):
        return "no_list", f"{show(got)} is no list of numbers of parts"
    if any(not 0 <= k < len(parts) for k in got) or len(set(got)) != len(got):
        return "no_list", f"{show(got)} is no choice of {len(parts)} parts, numbered from 0"
    left = sum(kept for k, (kept, _) in enumerate(parts) if k not in got)
    cost, least = sum(parts[k][1] for k in got), cheapest(parts, budget)
    if left > budget:
        inside = sum(parts[k][0] for k in got) <= budget
        slug = "kept_instead" if got and inside else "does_not_fit"
        return slug, f"for {parts} and {budget}, {got} leaves {left} in memory"
    if cost > least:
        said = f"for {parts} and {budget}, {got} costs {cost} operations; {least} are enough"
        if len(got) == len(parts):
            return "all", said
        orders = (
            _greedy(parts, budget, lambda part: part[0]),
            _greedy(parts, budget, lambda part: part[0] / part[1]),
            _greedy(parts, budget, lambda part: -part[1]),
        )
        return "one_by_one" if sorted(got) in orders else "not_least", said
    if got != sorted(got):
        return "not_sorted", f"{got} is not in ascending order"
    return None


LEAST_RECOMPUTE = FunctionSpec(
    "least_recompute", UNIT, 2, parts_inputs, cheapest, examine=chosen,
    causes={
        "no_list": "A choice is a list of whole numbers, each part at most once.",
        "kept_instead": "These parts fit into the budget themselves: they are those to keep.",
        "does_not_fit": "What is left is more than the budget.",
        "all": "All parts are recomputed.",
        "one_by_one": "Parts are taken one after the other, the largest, the cheapest or the best "
        "for its cost first; the last one may free far more than is needed.",
        "not_least": "Another choice fits, too, with fewer operations.",
        "not_sorted": "The numbers are to come in ascending order.",
    },
    hints={
        "no_list": ("What is the answer of the example?", "A list of indices, such as [0]."),
        "kept_instead": (
            "Does the list say what is kept, or what is recomputed?",
            "What is recomputed: return the others.",
        ),
        "does_not_fit": (
            "Which parts stay in memory?",
            "Those that are not in the list: their sum has to be at most the budget.",
        ),
        "all": ("What has to be freed?", "The sum of all minus the budget, and little more."),
        "one_by_one": (
            "What does the last part that is taken free beyond the need?",
            "No order is always right: try all 2 to the power of the number of parts choices.",
        ),
        "not_least": (
            "Have you looked at all choices?",
            "for choice in range(2 ** len(parts)): part k is recomputed if choice >> k & 1.",
        ),
        "not_sorted": ("In which order are the numbers?", "Return sorted(list)."),
    },
)  # fmt: skip

SPECS = [
    LAYER_KEEPS, SAVED_BYTES, SEQUENCE_MLP, GATHERED_LINEAR, RECOMPUTED, LEAST_RECOMPUTE,
]  # fmt: skip
