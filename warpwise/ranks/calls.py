"""What the operators of torch.distributed's dispatcher say about themselves.

Every collective and message, also those that DDP, FSDP, DTensor and functional collectives issue
from C++, passes one of the operators named c10d::...; CALLS says what each means.

Source: torch/csrc/distributed/c10d/Ops.cpp, torch 2.13: argument order of the schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

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
