"""Published reports of hangs and mismatches, re-enacted on gloo; each names where it was reported.

As in faults.py: program(right) runs on every rank, and the mended twin must not be accused.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from tests.ranks.faults import Program, me

REPORTS: dict[str, tuple[Program, int, str, tuple[str, ...]]] = {}


def report(where: str, size: int, kind: str, *said: str) -> Callable[[Program], Program]:
    assert "#" in where

    def keep(program: Program) -> Program:
        REPORTS[program.__name__] = (program, size, kind, said)
        return program

    return keep


@report("NVIDIA/apex #19", 2, "shape", "broadcast", "shape [3] on rank 0", "shape [5] on rank 1")
def dict_in_another_order(right: bool) -> None:
    """Tensors are broadcast in the order of a dict, which differs between ranks."""
    tensors = {"bias": torch.ones(3), "weight": torch.ones(5)}
    names = sorted(tensors) if right or me() == 0 else sorted(tensors, reverse=True)
    for name in names:
        dist.broadcast(tensors[name], 0)


@report("pytorch/pytorch #130102", 4, "groups made", "[0, 3] on ranks 0 and 3",
        "[1, 2] on ranks 1 and 2", "every rank must call new_group for every group")  # fmt: skip
def each_rank_makes_its_own_group(right: bool) -> None:
    """Every rank calls new_group once, with the pair that it belongs to."""
    pairs = [[0, 3], [1, 2]]
    mine = next(pair for pair in pairs if me() in pair)
    made = {tuple(pair): dist.new_group(pair) for pair in (pairs if right else [mine])}
    dist.barrier(group=made[tuple(mine)])


@report("pytorch/pytorch #25390", 4, "groups made", "[0, 1] on ranks 0 and 1",
        "[2, 3] on ranks 2 and 3")  # fmt: skip
def permuted_groups(right: bool) -> None:
    """Each rank looks for the slice of a permutation it is in, and makes that group alone."""
    start = 0 if me() < 2 else 2
    for first in (0, 2) if right else (start,):
        dist.new_group([first, first + 1])


@report("pytorch/pytorch #97191", 2, "shape", "all_reduce", "shape [200] on rank 0",
        "shape [100] on rank 1")  # fmt: skip
def twice_the_elements(right: bool) -> None:
    """One rank brings twice as many elements to an all_reduce."""
    dist.all_reduce(torch.ones(200 if me() == 0 and not right else 100))


@report("pytorch/pytorch #88000", 2, "missing", "rank 1 returned without this broadcast",
        "rank 0 waits for it in broadcast")  # fmt: skip
def broadcast_on_the_root_alone(right: bool) -> None:
    if me() == 0 or right:
        dist.broadcast(torch.ones(1 << 20), 0)


@report("pytorch/pytorch #77562", 2, "order", "rank 0 calls all_gather of all_gather_object()",
        "`dist.all_gather_object([None] * 2, \"state\")`", "rank 1 calls all_reduce")  # fmt: skip
def saved_by_a_sum_that_only_the_root_has(right: bool) -> None:
    """`reduce` gives the loss to rank 0 alone; the ranks decide differently whether to save."""
    loss = torch.tensor([0.4 if me() == 0 else 0.9])
    if right:
        dist.all_reduce(loss)
    else:
        dist.reduce(loss, 0)
        loss = loss if me() == 0 else torch.tensor([0.9])  # what gloo leaves there is undefined
    if loss < 1.0 if right else loss > 1.0:
        dist.all_gather_object([None] * 2, "state")
    dist.all_reduce(torch.ones(2))


@report("Lightning-AI/pytorch-lightning #19106", 2, "iterations",
        "rank 1 made 1 call to all_reduce", "went on to broadcast",
        "rank 0 is in call 2")  # fmt: skip
def logged_keys_differ(right: bool) -> None:
    """One rank logs a key more than the other; then the best score is broadcast."""
    keys = ["loss", "f1"] if me() == 0 or right else ["loss"]
    for _ in keys:
        dist.all_reduce(torch.ones(1))
    dist.broadcast(torch.ones(1), 0)


@report("speechbrain/speechbrain #2401", 2, "order", "rank 0 calls broadcast of",
        "broadcast_object_list()", "rank 1 calls broadcast of forward()",
        "`model(x).sum().backward()`")  # fmt: skip
def checkpoint_against_backward(right: bool) -> None:
    """A checkpoint by wall-clock time begins on one rank while the other is in its backward."""
    model = DistributedDataParallel(nn.Linear(4, 1))
    x = torch.ones(2, 4)
    model(x).sum().backward()
    if right or me() == 0:
        dist.broadcast_object_list(["path"], 0)
    model(x).sum().backward()


@report("deepspeedai/DeepSpeed #5008", 2, "shape", "all_reduce", "shape [8]", "shape [6]")
def only_active_experts_are_reduced(right: bool) -> None:
    """Gradients are reduced by a hook that fires only for experts that saw a token."""
    experts = [nn.Linear(4, 2, bias=False), nn.Linear(3, 2, bias=False)]
    active = experts if right else experts[me() :] + experts[:0]
    for expert in active:
        dist.all_reduce(torch.ones_like(expert.weight).flatten())


@report("deepspeedai/DeepSpeed #7044", 2, "dtype", "broadcast", "int64 on rank 0",
        "int32 on rank 1")  # fmt: skip
def index_of_another_dtype(right: bool) -> None:
    """The root draws an index with multinomial (int64), the others make room in int32."""
    if me() == 0:
        index = torch.multinomial(torch.tensor([0.2, 0.5, 0.3]), 1)
    else:
        index = torch.zeros(1, dtype=torch.int64 if right else torch.int32)
    dist.broadcast(index, 0)


@report("NVIDIA/nccl #479", 2, "cycle", "circle, 0 -> 1 -> 0", "rank 0 waits in send to rank 1",
        "rank 1 waits in send to rank 0")  # fmt: skip
def both_ranks_send_then_receive(right: bool) -> None:
    x, y = torch.ones(4), torch.ones(4)
    first, second = (dist.send, dist.recv) if me() == 0 or not right else (dist.recv, dist.send)
    first(x, 1 - me())
    second(y, 1 - me())


@report("NVIDIA/nccl #2130", 2, "cycle", "rank 0 waits",
        "in recv of batch_isend_irecv() from rank 1",
        "rank 1 waits for rank 0 in barrier")  # fmt: skip
def lists_of_different_length(right: bool) -> None:
    """One rank's batch receives twice, the other's sends once and goes on to a barrier."""
    x = torch.ones(4)
    op = dist.irecv if me() == 0 else dist.isend
    times = 2 if me() == 0 and not right else 1
    for work in dist.batch_isend_irecv([dist.P2POp(op, x, 1 - me()) for _ in range(times)]):
        work.wait()
    dist.barrier()


@report("meta-pytorch/torchrec #4149", 2, "groups", "all_to_all_single of group 1 [0, 1]",
        "all_reduce of group 2 [0, 1]", "opposite order")  # fmt: skip
def shard_and_replica_groups(right: bool) -> None:
    """An all_to_all of one mesh dimension and an all_reduce of the other, in divergent order."""
    shard, replicate = dist.new_group([0, 1]), dist.new_group([0, 1])
    x = torch.ones(4)

    def exchange() -> None:
        dist.all_to_all_single(torch.empty(4), x, group=shard)

    def reduce() -> None:
        dist.all_reduce(x, group=replicate)

    for step in (exchange, reduce) if right or me() == 0 else (reduce, exchange):
        step()


@report("k2-fsa/snowfall #152", 2, "iterations", "rank 1 made 4 calls to all_reduce of backward()",
        "`model(x).sum().backward()`", "and returned", "rank 0 is in call 5", "Join")  # fmt: skip
def one_rank_has_fewer_batches(right: bool) -> None:
    """The last rank's share of the data is shorter; DDP reduces in backward."""
    model = DistributedDataParallel(nn.Linear(4, 1))
    x = torch.ones(2, 4)
    for _ in range(3 if right or me() == 0 else 2):
        model(x).sum().backward()


@report("pytorch/pytorch #172668", 2, "cycle", "circle, 0 -> 1 -> 0", "send to rank 1",
        "send to rank 0")  # fmt: skip
def pipeline_sends_before_it_receives(right: bool) -> None:
    """Two stages of an interleaved pipeline wait for their sends before they receive."""
    x, y = torch.ones(4), torch.ones(4)
    sending = dist.isend(x, 1 - me())
    assert sending is not None
    if not right:
        sending.wait()
    dist.recv(y, 1 - me())
    sending.wait()


@report("pytorch/pytorch #143536", 2, "missing", "rank 1 returned without this all_gather",
        "rank 0 waits for it in all_gather of full_tensor()", "`p.full_tensor()`")  # fmt: skip
def sharded_weights_saved_by_rank_0(right: bool) -> None:
    """Under FSDP the whole weight exists only after a collective, here inside `if rank == 0`."""
    model = nn.Linear(4, 4)
    fully_shard(model)
    model(torch.ones(2, 4)).sum().backward()
    if me() == 0 or right:
        for p in model.parameters():
            p.full_tensor()


@report("modelscope/ms-swift #9443", 2, "order", "all_reduce of backward()", "barrier")
def branch_without_a_gradient(right: bool) -> None:
    """One rank's batch has no image, so its backward never reaches the other's buckets."""
    model = DistributedDataParallel(nn.Linear(4, 1))
    loss = model(torch.ones(2, 4)).sum()
    if me() == 0 or right:
        loss.backward()
    dist.barrier()
