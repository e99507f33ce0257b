"""The recorder sees what every way of communicating issues, and puts torch back as it was."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn

from warpwise.ranks import run_ranks
from warpwise.ranks.history import operations_of
from warpwise.ranks.operations import Operation


def recorded(program: Any, size: int = 2) -> list[Operation]:
    """What rank 0 of a program issued; the run must have ended with nothing to say."""
    outcome = run_ranks(program, size, echo=False)
    assert outcome.ok and not outcome.diagnosis, str(outcome.diagnosis)
    snapshot = outcome.snapshots[0]
    assert snapshot is not None and snapshot["state"] == "finished"
    json.dumps(snapshot)
    operations = operations_of(snapshot)
    # DDP's Works may still be on their way to say that they are over.
    assert all(o.done or o.is_async for o in operations), [o for o in operations if not o.done]
    return operations


def called(operations: list[Operation]) -> Counter[str]:
    return Counter(o.called for o in operations)


def everything() -> None:
    n, rank = dist.get_world_size(), dist.get_rank()
    x, y = torch.ones(4), torch.ones(8)
    dist.all_reduce(x, op=dist.ReduceOp.MAX)
    dist.broadcast(x, 1)
    dist.reduce(x, 1)
    dist.all_gather([torch.empty(4) for _ in range(n)], x)
    dist.all_gather_into_tensor(torch.empty(8), x)
    dist.reduce_scatter(torch.empty(4), [x, x])
    dist.reduce_scatter_tensor(x, y)
    dist.gather(x, [torch.empty(4) for _ in range(n)] if rank == 0 else None)
    dist.scatter(x, [x, x] if rank == 0 else None)
    dist.all_to_all_single(x, torch.ones(4), [2, 2], [2, 2])
    dist.all_to_all([torch.empty(2), torch.empty(2)], [torch.ones(2), torch.ones(2)])
    dist.barrier()
    dist.monitored_barrier()
    with dist._coalescing_manager():
        dist.all_reduce(x)
        dist.all_reduce(y)


def test_every_collective() -> None:
    """Name, shape, bytes in nccl-tests' sense, root, reduction and splits of each collective."""
    found = recorded(everything)
    assert [o.name for o in found] == [
        "all_reduce", "broadcast", "reduce", "all_gather", "all_gather", "reduce_scatter",
        "reduce_scatter", "gather", "scatter", "all_to_all", "all_to_all", "barrier",
        "monitored_barrier", "all_reduce",
    ]  # fmt: skip
    assert [o.number for o in found] == list(range(14))
    assert [o.bytes for o in found] == [16, 0, 16, 16, 16, 32, 32, 16, 32, 16, 16, 0, 0, 48]
    assert [o.size for o in found] == [16, 16, 16, 32, 32, 32, 32, 32, 32, 16, 16, 0, 0, 48]
    assert [o.root for o in found][1:3] == [1, 1] and found[7].root == 0
    assert found[0].reduce == "MAX" and found[2].reduce == "SUM" and found[3].reduce == ""
    assert found[9].splits == [[2, 2], [2, 2]]
    assert found[0].dtype == "float32" and found[0].shape == [4]


def messages() -> None:
    other = 1 - dist.get_rank()
    x, y = torch.ones(2), torch.empty(2)
    if other:
        dist.send(x, 1, tag=3)
        dist.recv(y)
    else:
        dist.recv(y, 0, tag=3)
        dist.send(x, 0)
    works = [dist.isend(x, other), dist.irecv(y, other)]
    for work in works:
        assert work is not None
        work.wait()
    for work in dist.batch_isend_irecv(
        [dist.P2POp(dist.isend, x, other), dist.P2POp(dist.irecv, y, other)]
    ):
        work.wait()
    dist.send_object_list(["a"], other) if other else dist.recv_object_list([None], other)


def test_messages() -> None:
    """Both sides of every message: peer, tag, bytes, and whether the call waits."""
    found = recorded(messages)
    assert [o.called for o in found[:6]] == [
        "send", "recv", "isend", "irecv", "send of batch_isend_irecv()",
        "recv of batch_isend_irecv()",
    ]  # fmt: skip
    assert [(o.peer, o.tag) for o in found[:3]] == [(1, 3), (None, 0), (1, 0)]
    assert [o.is_async for o in found[:6]] == [False, False, True, True, True, True]
    assert [o.bytes for o in found[:3]] == [8, 0, 8]
    assert {o.called for o in found[6:]} == {"send of send_object_list()"}


def objects() -> None:
    dist.all_gather_object([None, None], "x")
    dist.broadcast_object_list([1], 0)


def test_object_collectives_have_the_learners_name() -> None:
    """What a call does underneath is named after the call, at the learner's line."""
    found = recorded(objects)
    assert called(found) == {
        "all_gather of all_gather_object()": 2,
        "broadcast of broadcast_object_list()": 2,
    }
    assert {o.site[3] for o in found} == {"objects"}


def groups() -> None:
    pair = dist.new_group([0, 2])
    if dist.get_rank() != 1:
        dist.all_reduce(torch.ones(1), group=pair)
        if dist.get_rank() == 0:
            dist.send(torch.ones(1), 2, group=pair)
        else:
            dist.recv(torch.ones(1), 0, group=pair)


def test_groups() -> None:
    """Ranks are global also in a group; numbers count within it."""
    made, reduced, sent = recorded(groups, 3)
    assert (made.name, made.group, made.shape) == ("new_group", [0, 1, 2], [0, 2])
    assert (reduced.group, reduced.number) == ([0, 2], 0)
    assert (sent.peer, sent.group_id) == (2, reduced.group_id)


def data_parallel() -> None:
    from torch.nn.parallel import DistributedDataParallel

    model = DistributedDataParallel(nn.Linear(4, 4))
    for _ in range(2):
        model(torch.ones(2, 4)).sum().backward()


def test_ddp() -> None:
    """DDP issues its collectives from C++: they are seen, at the line of backward."""
    found = recorded(data_parallel)
    reduced = [o for o in found if o.called == "all_reduce of backward()"]
    assert len(reduced) >= 2 and {o.site[3] for o in reduced} == {"data_parallel"}
    assert all(o.sent == [20] for o in reduced if o.dtype == "float32")
    assert called(found)["broadcast of DistributedDataParallel()"] == 2


def sharded() -> None:
    from torch.distributed.fsdp import fully_shard

    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    model(torch.ones(2, 4)).sum().backward()


def test_fsdp() -> None:
    """FSDP2: each layer gathered forward and backward, each gradient scattered once."""
    found = recorded(sharded)
    names = Counter(o.name for o in found)
    assert names["reduce_scatter"] == 2 and names["all_gather"] in (3, 4)
    assert all(o.reduce == "AVG" for o in found if o.name == "reduce_scatter")


def tensors() -> None:
    from torch.distributed import _functional_collectives as functional
    from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh

    mesh = init_device_mesh("cpu", (2,))
    distribute_tensor(torch.ones(4, 4), mesh, [Shard(0)]).full_tensor()
    y = functional.all_reduce(torch.ones(3), "sum", dist.group.WORLD)
    assert (y + 1).tolist() == [3, 3, 3]
    with torch.inference_mode():
        functional.all_gather_tensor(torch.ones(3), 0, dist.group.WORLD).sum()


def test_dtensor_and_functional_collectives() -> None:
    """DTensor and functional collectives, also under inference_mode."""
    found = recorded(tensors)
    names = [o.called for o in found if o.name != "new_group"]
    assert "all_gather of full_tensor()" in names and "all_reduce" in names
    assert names[-1].startswith("all_gather")


def test_the_line_of_a_lambda() -> None:
    """A site is the line in the learner's code, with its text known to the parent."""
    outcome = run_ranks(lambda: [dist.barrier()], 2, echo=False)
    assert "`outcome = run_ranks(lambda: [dist.barrier()], 2, echo=False)`" in str(outcome.ledger)


def long_loop(count: int) -> int:
    x = torch.ones(1)
    for _ in range(count):
        dist.all_reduce(x, async_op=True).wait()
    return count


def test_log_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long run keeps exact counts, and the numbers of what is left of its log."""
    from warpwise.ranks import recorder

    monkeypatch.setattr(recorder, "LOG_LIMIT", 10)
    kept = recorder.Recorder(0, 1)
    kept.signatures = [{"name": "barrier", "numbered": True, "group_id": "0", "group": [0]}]
    kept.counts = [0]
    for _ in range(100):
        kept._log(0, False)
    assert kept.counts == [100] and len(kept.log) <= 10
    told = kept.snapshot()
    assert [o["number"] for o in told["operations"]][-1] == 99
    assert told["totals"][0]["count"] == 100


def test_many_operations_do_not_hold_each_other_up() -> None:
    """gloo's threads and the recorder never wait for each other: thousands of quick calls end."""
    assert run_ranks(long_loop, 2, 3000, echo=False, timeout=60).values == [3000, 3000]


def removed() -> list[int]:
    from warpwise.ranks import worker

    recorder = worker.running[0].recorder
    x = torch.ones(1)
    dist.all_reduce(x)
    recorder.remove()
    dist.all_reduce(x)
    dist.barrier()
    return [recorder.issued, int(x.item())]


def test_remove_puts_torch_back() -> None:
    """After remove() collectives work and nothing is recorded."""
    assert run_ranks(removed, 2, echo=False).values == [[1, 4], [1, 4]]


def test_black_box_survives(tmp_path: Any) -> None:
    """What was written before a process died can be read; the last operation is unfinished."""
    from warpwise.ranks.blackbox import RING, BlackBox, read

    path = str(tmp_path / "box")
    box = BlackBox(path, 3)
    box.sign({"name": "barrier", "numbered": True, "group_id": "0", "group": [0], "site": ["", 1]})
    for _ in range(RING + 5):
        box.write(0)
    told = read(path)
    assert told is not None and told["rank"] == 3 and told["partial"]
    assert told["current"]["index"] == RING + 4 and not told["current"]["done"]
    assert read(str(tmp_path / "nothing")) is None
