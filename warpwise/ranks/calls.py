"""What the operators of torch.distributed's dispatcher say about themselves.

Every collective and message, also those that DDP, FSDP, DTensor and functional collectives issue
from C++, passes one of the operators named c10d::...; CALLS says what each means.

Source: torch/csrc/distributed/c10d/Ops.cpp, torch 2.13: argument order of the schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

Tensors = Sequence[Any]
# The names of c10d::ReduceOp::RedOpType, in the order of their numbers.
REDUCTIONS = ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM", "UNUSED")


@dataclass(frozen=True)
class Call:
    """One operator: its canonical name and where its arguments stand.

    tensors(args) gives what goes in and what comes out; group, reduce, root, peer, tag, splits and
    asynchronous are positions; asynchronous defaults to True where the caller left it out.
    """

    name: str
    tensors: Callable[[Sequence[Any]], tuple[Tensors, Tensors]]
    group: int
    reduce: int | None = None
    root: int | None = None
    peer: int | None = None
    tag: int | None = None
    splits: int | None = None
    asynchronous: int | None = None


def _in_place(args: Sequence[Any]) -> tuple[Tensors, Tensors]:
    return args[0], args[0]


def _out_in(args: Sequence[Any]) -> tuple[Tensors, Tensors]:
    return (args[1],), (args[0],)


def _outs_ins(args: Sequence[Any]) -> tuple[Tensors, Tensors]:
    return args[1], args[0]


def _out_lists(args: Sequence[Any]) -> tuple[Tensors, Tensors]:
    return args[1], args[0][0] if args[0] else ()


def _in_lists(args: Sequence[Any]) -> tuple[Tensors, Tensors]:
    return args[1][0] if args[1] else (), args[0]


def _flat_out_lists(args: Sequence[Any]) -> tuple[Tensors, Tensors]:
    return args[1], [t for part in args[0] for t in part]


def _none(args: Sequence[Any]) -> tuple[Tensors, Tensors]:
    return (), ()


def _sending(args: Sequence[Any]) -> tuple[Tensors, Tensors]:
    return args[0], ()


def _receiving(args: Sequence[Any]) -> tuple[Tensors, Tensors]:
    return (), args[0]


CALLS = {
    "allreduce_": Call("all_reduce", _in_place, group=1, reduce=2, asynchronous=4),
    "allreduce_coalesced_": Call("all_reduce", _in_place, group=1, reduce=2, asynchronous=3),
    "broadcast_": Call("broadcast", _in_place, group=1, root=2, asynchronous=4),
    "reduce_": Call("reduce", _in_place, group=1, reduce=2, root=3, asynchronous=5),
    "allgather_": Call("all_gather", _out_lists, group=2, asynchronous=3),
    "_allgather_base_": Call("all_gather", _out_in, group=2, asynchronous=3),
    "allgather_coalesced_": Call("all_gather", _flat_out_lists, group=2, asynchronous=3),
    "allgather_into_tensor_coalesced_": Call("all_gather", _outs_ins, group=2, asynchronous=3),
    "reduce_scatter_": Call("reduce_scatter", _in_lists, group=2, reduce=3, asynchronous=4),
    "_reduce_scatter_base_": Call("reduce_scatter", _out_in, group=2, reduce=3, asynchronous=4),
    "reduce_scatter_tensor_coalesced_": Call(
        "reduce_scatter", _outs_ins, group=2, reduce=3, asynchronous=4
    ),
    "gather_": Call("gather", _out_lists, group=2, root=3, asynchronous=4),
    "scatter_": Call("scatter", _in_lists, group=2, root=3, asynchronous=4),
    "alltoall_": Call("all_to_all", _outs_ins, group=2, asynchronous=3),
    "alltoall_base_": Call("all_to_all", _out_in, group=2, splits=3, asynchronous=5),
    "barrier": Call("barrier", _none, group=1, asynchronous=3),
    "send": Call("send", _sending, group=1, peer=2, tag=3),
    "recv_": Call("recv", _receiving, group=1, peer=2, tag=3),
    "recv_any_source_": Call("recv", _receiving, group=1, tag=2),
}


class Told(NamedTuple):
    """What a call says: ranks are positions in the group; asynchronous None for messages."""

    sent: Tensors
    received: Tensors
    reduce: int | None
    root: int | None
    peer: int | None
    tag: int
    splits: tuple[tuple[int, ...], ...]  # to each rank, from each rank
    asynchronous: bool | None


def of_operator(call: Call, args: Sequence[Any]) -> Told:
    """From the arguments of an operator; the dispatcher leaves out those that have defaults."""

    def at(place: int | None, otherwise: Any = None) -> Any:
        return args[place] if place is not None and place < len(args) else otherwise

    sent, received = call.tensors(args)
    k = call.splits
    return Told(
        sent, received,
        None if call.reduce is None else args[call.reduce].op(),
        at(call.root), at(call.peer), at(call.tag, 0),
        () if k is None else (tuple(args[k + 1]), tuple(args[k])),
        None if call.asynchronous is None else bool(at(call.asynchronous, True)),
    )  # fmt: skip


# Methods of ProcessGroup that torch.distributed calls, and the operator behind each.
METHODS = {
    "allreduce": "allreduce_",
    "allreduce_coalesced": "allreduce_coalesced_",
    "broadcast": "broadcast_",
    "reduce": "reduce_",
    "allgather": "allgather_",
    "all_gather_single": "_allgather_base_",
    "all_gather_single_coalesced": "allgather_into_tensor_coalesced_",
    "reduce_scatter": "reduce_scatter_",
    "reduce_scatter_single": "_reduce_scatter_base_",
    "reduce_scatter_single_coalesced": "reduce_scatter_tensor_coalesced_",
    "gather": "gather_",
    "scatter": "scatter_",
    "alltoall": "alltoall_",
    "all_to_all_single": "alltoall_base_",
    "barrier": "barrier",
    "send": "send",
    "recv": "recv_",
    "recv_anysource": "recv_any_source_",
}


def _number(reduction: Any) -> int:
    """The number of a ReduceOp; comparing is five times as quick as asking it."""
    for number, name in enumerate(REDUCTIONS[:5]):
        if reduction == getattr(type(reduction), name):
            return number
    return int(reduction.op)


def of_method(call: Call, args: Sequence[Any]) -> Told | None:
    """From the arguments of a method of ProcessGroup; None for a form that takes no options."""
    if call.name in ("send", "recv"):
        if len(args) != (2 if call.peer is None else 3) or type(args[0]) is not list:
            return None
        sent, received = call.tensors(args)
        return Told(sent, received, None, None, args[1] if call.peer else None, args[-1], (), None)
    options: Any = args[-1] if args else None
    asynchronous = getattr(options, "asyncOp", None)
    if asynchronous is None:
        return None
    sent, received = call.tensors(args)
    return Told(
        sent, received,
        None if call.reduce is None else _number(options.reduceOp),
        None if call.root is None else options.rootRank,
        None, 0,
        () if call.splits is None else (tuple(args[3]), tuple(args[2])),
        asynchronous,
    )  # fmt: skip
