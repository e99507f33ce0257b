"""A forward pass that a lab asks for, run with its backward: values, gradients, what stays alive.

Stands here for the same reason as `world`: a grader's student side has it.  What is kept and how
often a function is called is said by the process that ran it; values it has to compute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from time import sleep
from typing import Any

from .world import on_ranks

RNG_STATE = 5056  # bytes of torch's random state on a CPU


def backward_on_ranks(answer: Callable[..., Any], args: Sequence[Any]) -> dict[str, Any]:
    """As `on_ranks`, where the answer gives an output to differentiate.

    A rank's last argument is not for the answer: it is the gradient of its output.  Its values are
    the output and the gradients of all the others.
    """
    told = on_ranks(partial(forward_backward, answer), args)
    if told["status"] == ["ok"] * args[0].ranks:
        told["values"] = [value["values"] for value in told["values"]]
    return told


def kept_on_ranks(answer: Callable[..., Any], args: Sequence[Any]) -> dict[str, Any]:
    """The same, and what is kept.

    kept     bytes that the forward pass leaves alive beside its output, on the busiest rank
    library  whether torch.utils.checkpoint is called on a rank
    """
    told = on_ranks(partial(forward_backward, answer, settled=True), args)
    if told["status"] == ["ok"] * args[0].ranks:
        told["kept"] = max(value["kept"] for value in told["values"])
        told["library"] = any(value["library"] for value in told["values"])
        told["values"] = [value["values"] for value in told["values"]]
    return told


def forward_backward(
    answer: Callable[..., Any], *args: Any, settled: bool = False
) -> dict[str, Any]:
    """On one rank.  Raises TypeError or ValueError with what is wrong with the output.

    settled: wait until gloo's thread, which is behind, has let go of the last call's tensors.
    """
    from ..ranks.saved import Alive

    *given, dy = args
    for tensor in given:
        tensor.requires_grad_()
    with library_calls() as used, Alive() as made:
        y = answer(*given)
    differentiable(y, tuple(dy.shape))
    kept = made.bytes(y, *given)
    for _ in range(40 if settled else 0):
        if kept == 0:
            break
        sleep(0.005)
        kept = min(kept, made.bytes(y, *given))
    y.backward(dy)
    values = [y.detach(), *(tensor.grad for tensor in given)]
    return {"kept": kept, "library": bool(used), "values": values}


@contextmanager
def library_calls() -> Iterator[list[str]]:
    """Collects the calls of torch.utils.checkpoint within the block, however it was imported."""
    from torch.utils import checkpoint as library

    used: list[str] = []

    class Noticed:
        def __init__(self, wrapped: Any) -> None:
            self.wrapped = wrapped

        def __getattr__(self, name: str) -> Any:
            used.append(name)
            return getattr(self.wrapped, name)

        def __call__(self, *given: Any, **named: Any) -> Any:
            used.append("call")
            return self.wrapped(*given, **named)

    names = ("CheckpointFunction", "_checkpoint_without_reentrant_generator")  # its two ways
    theirs = {name: getattr(library, name) for name in names if hasattr(library, name)}
    for name, one in theirs.items():
        setattr(library, name, Noticed(one))
    try:
        yield used
    finally:
        for name, one in theirs.items():
            setattr(library, name, one)


def differentiable(y: Any, shape: tuple[int, ...]) -> None:
    """Raises where `y` is no tensor of this shape that autograd can go back from."""
    import torch

    if not isinstance(y, torch.Tensor):
        raise TypeError(f"the function returned a {type(y).__name__}; a tensor is asked for")
    if tuple(y.shape) != shape:
        raise ValueError(f"the output has shape {tuple(y.shape)}, not {shape}")
    if y.grad_fn is None:
        raise ValueError(
            "the output has no grad_fn: it was computed without autograd, or detached, so there is "
            "no way back to the inputs"
        )


# -- functions to count and to recompute -------------------------------------------------------


def saved_bytes(answer: Callable[..., Any], args: Sequence[Any]) -> Any:
    """What the answer, a counter, says of the forward pass that `args` describe."""
    run, weights = forward_pass(*args)
    return answer(run, weights)


def forward_pass(kind: str, rows: int, width: int) -> tuple[Callable[[], Any], list[Any]]:
    """(a forward pass without arguments, its weights): what it keeps follows from the shapes."""
    import torch
    import torch.nn.functional as F

    maker = torch.Generator().manual_seed(rows + width)
    dtype = torch.bfloat16 if kind == "masked" else torch.float32

    def weight(*shape: int) -> Any:
        return torch.randn(*shape, generator=maker, dtype=dtype, requires_grad=True)

    x = weight(rows, width)
    if kind == "mlp":
        up, down = weight(3 * width, width), weight(width, 3 * width)
        return lambda: torch.relu(x @ up.T) @ down.T, [up, down]
    if kind == "heads":
        qkv = weight(3 * width, width)

        def heads() -> Any:
            q, k, v = F.linear(x, qkv).chunk(3, dim=1)
            return torch.softmax(q @ k.T, dim=-1) @ v

        return heads, [qkv]
    if kind == "rows":
        scale = weight(width)
        return lambda: x[:2] * scale, [scale]
    if kind == "square":

        def square() -> Any:
            grown = torch.exp(x)
            return grown * grown

        return square, []
    if kind == "masked":
        down = weight(5, width)
        return lambda: F.linear(torch.native_dropout(F.gelu(x), 0.5, True)[0], down), [down]
    raise ValueError(f"no forward pass {kind!r}")


def recompute(answer: Callable[..., Any], args: Sequence[Any]) -> dict[str, Any]:
    """The answer, `recomputed(fn, x)`, in the place of `fn(x)`, one layer after the other.

    values   the output, the gradients of x and of the weights, and the next random number
    """
    import torch

    with torch.random.fork_rng(devices=[]):
        return _recompute(answer, *args)


def _recompute(
    answer: Callable[..., Any], kind: str, layers: int, rows: int, width: int, seed: int
) -> dict[str, Any]:
    import torch

    from ..ranks.saved import Alive

    fn, x, weights, dy = layer(kind, rows, width, seed)
    calls: list[int] = []

    def counted(x: Any) -> Any:
        calls.append(0)
        return fn(x)

    with library_calls() as used:
        with Alive() as made:
            y = x
            for _ in range(layers):
                y = answer(counted, y)
        differentiable(y, tuple(dy.shape))
        kept, forward = made.bytes(y, x), len(calls)
        y.backward(dy)
    values = [y.detach(), *(tensor.grad for tensor in (x, *weights)), torch.rand(1)]
    return {
        "values": [None if value is None else value.numpy() for value in values],
        "kept": kept, "calls": [forward, len(calls) - forward], "library": bool(used),
    }  # fmt: skip


def layer(kind: str, rows: int, width: int, seed: int) -> tuple[Any, Any, list[Any], Any]:
    """(fn, x, weights, dy), with torch's random state set by `seed`: "plain" or with "dropout"."""
    import torch
    import torch.nn.functional as F

    torch.manual_seed(seed)
    x, up, down = (
        torch.randn(*shape, dtype=torch.float64, requires_grad=True)
        for shape in ((rows, width), (16 * width, width), (width, 16 * width))
    )
    dy = torch.randn(rows, width, dtype=torch.float64)

    def fn(x: Any) -> Any:
        hidden = F.linear(torch.tanh(F.linear(x, up)), down) / width
        return F.dropout(hidden, 0.5) if kind == "dropout" else hidden

    return fn, x, [up, down], dy
