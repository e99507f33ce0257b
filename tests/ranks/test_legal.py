"""Unusual but right programs, and those of torch's own engines: the referee has nothing to say."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.distributed as dist
from torch import nn

from warpwise.ranks import run_ranks


def lines_by_role() -> None:
    """Root and others come to one collective from their own lines, with their own tensors."""
    mine, room = torch.ones(2), torch.empty(2)
    if dist.get_rank() == 0:
        dist.broadcast(mine, 0)
        dist.all_reduce(mine)
    else:
        dist.broadcast(room, 0)
        dist.all_reduce(room)


def everyone_is_root_once() -> None:
    """The lines of root and others change places from turn to turn."""
    mine, room = torch.ones(2), torch.empty(2)
    for root in range(dist.get_world_size()):
        if dist.get_rank() == root:
            dist.broadcast(mine, root)
        else:
            dist.broadcast(room, root)


def same_text_in_two_branches() -> None:
    """Even and odd steps swap the branches, but the calls are the same."""
    x = torch.ones(2)
    for step in range(4):
        if (step + dist.get_rank()) % 2:
            x = x * 2
            dist.all_reduce(x)
        else:
            x = x / 2
            dist.all_reduce(x)


def groups_of_neighbours() -> None:
    """Overlapping pairs, used in one order by all."""
    n, rank = dist.get_world_size(), dist.get_rank()
    pairs = [dist.new_group([k, k + 1]) for k in range(n - 1)]
    for k, pair in enumerate(pairs):
        if rank in (k, k + 1):
            dist.all_reduce(torch.ones(1), group=pair)


def groups_made_by_their_members() -> None:
    """use_local_synchronization: only members call new_group."""
    if dist.get_rank() < 2:
        pair = dist.new_group([0, 1], use_local_synchronization=True)
        dist.all_reduce(torch.ones(1), group=pair)


def uneven_pieces() -> None:
    """all_to_all with splits of zero, and scatter of one list."""
    rank, n = dist.get_rank(), dist.get_world_size()
    sends = [rank] * n
    expects = list(range(n))
    dist.all_to_all_single(torch.empty(sum(expects)), torch.ones(sum(sends)), expects, sends)
    dist.scatter(torch.empty(2), [torch.ones(2)] * n if rank == 0 else None)


def reshaped() -> None:
    """As many elements in another shape."""
    x = torch.ones(6)
    dist.all_reduce(x if dist.get_rank() else x.view(2, 3))


def messages_in_any_order() -> None:
    """Tags and posted receives let messages overtake each other."""
    x, y, z = torch.ones(1), torch.empty(1), torch.empty(1)
    works = []
    if dist.get_rank() == 0:
        works = [dist.isend(x, 1, tag=tag) for tag in (1, 2)]
    elif dist.get_rank() == 1:
        works = [dist.irecv(y, 0, tag=2), dist.irecv(z, 0, tag=1)]
    for work in works:
        assert work is not None
        work.wait()


def work_farm() -> None:
    """The root takes answers as they come."""
    if dist.get_rank() == 0:
        for _ in range(dist.get_world_size() - 1):
            dist.recv(torch.empty(1))
    else:
        dist.send(torch.ones(1), 0)


def overlapping() -> None:
    """Several asynchronous collectives at once, waited for in another order."""
    works = [dist.all_reduce(torch.ones(4), async_op=True) for _ in range(3)]
    for work in reversed(works):
        work.wait()


def joined() -> None:
    """DDP's Join lets ranks have different numbers of batches."""
    from torch.distributed.algorithms.join import Join
    from torch.nn.parallel import DistributedDataParallel

    model = DistributedDataParallel(nn.Linear(2, 1))
    with Join([model]):
        for _ in range(2 + dist.get_rank()):
            model(torch.ones(1, 2)).sum().backward()


def tensor_parallel() -> None:
    from torch.distributed.tensor import init_device_mesh
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = nn.Sequential(nn.Linear(4, 6), nn.Linear(6, 4))
    plan = {"0": ColwiseParallel(), "1": RowwiseParallel()}
    parallelize_module(model, mesh, plan)(torch.ones(2, 4)).sum().backward()


def pipeline() -> None:
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B

    rank, n = dist.get_rank(), dist.get_world_size()
    stage = PipelineStage(nn.Linear(4, 4), rank, n, torch.device("cpu"))
    schedule = Schedule1F1B(stage, 4, loss_fn=lambda out, target: (out - target).sum())
    if rank == 0:
        schedule.step(torch.ones(8, 4))
    elif rank == n - 1:
        schedule.step(target=torch.ones(8, 4))
    else:
        schedule.step()


LEGAL: tuple[Callable[[], None], ...] = (
    lines_by_role, everyone_is_root_once, same_text_in_two_branches, groups_of_neighbours,
    groups_made_by_their_members, uneven_pieces, reshaped, messages_in_any_order, work_farm,
    overlapping, joined, tensor_parallel, pipeline,
)  # fmt: skip


@pytest.mark.parametrize("program", LEGAL, ids=lambda program: program.__name__)
def test_right_programs_are_not_accused(program: Callable[[], None]) -> None:
    """They end, and the diagnosis is empty."""
    outcome = run_ranks(program, 3, echo=False)
    assert outcome.ok and not outcome.diagnosis, str(outcome.diagnosis)
