"""Parallel training by hand against PyTorch's engines and against one process."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from warpwise.ranks import run_ranks

from . import by_hand

RANKS, WIDTH, ROWS = 4, 12, 8
EXACT = {"rtol": 1e-12, "atol": 1e-13}


def net():
    torch.manual_seed(11)
    return nn.Sequential(
        nn.Linear(WIDTH, 3 * WIDTH), nn.Tanh(), nn.Linear(3 * WIDTH, WIDTH)
    ).double()


def batch(steps=1):
    torch.manual_seed(12)
    return torch.randn(steps, RANKS * ROWS, WIDTH, dtype=torch.float64)


def loss_of(rows):
    return lambda model: model(rows).square().mean()


def one_process():
    model = net()
    loss_of(batch()[0])(model).backward()
    return [p.grad for p in model.parameters()]


def data_parallel(engine):
    import torch.distributed as dist

    rank = dist.get_rank()
    model = net()
    rows = batch()[0][rank * ROWS : (rank + 1) * ROWS]
    if engine == "torch":
        wrapped = nn.parallel.DistributedDataParallel(model)
        loss_of(rows)(wrapped).backward()
    else:
        loss_of(rows)(model).backward()
        by_hand.mean_gradients(model)
    return [p.grad for p in model.parameters()]


@pytest.mark.parametrize("engine", ["torch", "by hand"])
def test_data_parallel_gradients_are_one_processs(engine):
    expected = one_process()
    for grads in run_ranks(data_parallel, RANKS, engine, timeout=60).values:
        for got, whole in zip(grads, expected, strict=True):
            torch.testing.assert_close(got, whole, **EXACT)


def tied_and_unused(_=None):
    """A weight used twice, and one that only rank 0 uses."""
    import torch.distributed as dist

    rank = dist.get_rank()
    torch.manual_seed(11)
    tied = nn.Linear(WIDTH, WIDTH, bias=False).double()
    rare = nn.Linear(WIDTH, WIDTH, bias=False).double()
    model = nn.ModuleList([tied, tied, rare])
    x = batch()[0][rank * ROWS : (rank + 1) * ROWS]
    y = tied(torch.tanh(tied(x)))
    (rare(y) if rank == 0 else y).square().mean().backward()
    by_hand.mean_gradients(model)
    return [tied.weight.grad, rare.weight.grad]


def test_tied_and_unused_parameters():
    values = run_ranks(tied_and_unused, RANKS, timeout=60).values
    torch.manual_seed(11)
    tied = nn.Linear(WIDTH, WIDTH, bias=False).double()
    rare = nn.Linear(WIDTH, WIDTH, bias=False).double()
    total = 0
    for rank in range(RANKS):
        x = batch()[0][rank * ROWS : (rank + 1) * ROWS]
        y = tied(torch.tanh(tied(x)))
        total = total + (rare(y) if rank == 0 else y).square().mean() / RANKS
    total.backward()
    for grads in values:
        torch.testing.assert_close(grads[0], tied.weight.grad, **EXACT)
        torch.testing.assert_close(grads[1], rare.weight.grad, **EXACT)


def sharded(engine, steps=3):
    import torch.distributed as dist
    from torch.distributed.fsdp import fully_shard

    rank = dist.get_rank()
    model = net()
    losses = [loss_of(rows[rank * ROWS : (rank + 1) * ROWS]) for rows in batch(steps)]
    if engine == "torch":
        fully_shard(model)
        adam = torch.optim.Adam(model.parameters(), lr=1e-2)
        for loss in losses:
            loss(model).backward()
            adam.step()
            adam.zero_grad()
        return [p.full_tensor().detach() for p in model.parameters()], None
    zero = by_hand.Zero(model, engine)
    for loss in losses:
        zero.step(loss)
    held = zero.shard.numel() * 8
    if engine == 3:
        zero.gather()
    return [p.detach().clone() for p in zero.parameters], held


@pytest.mark.parametrize("engine", [1, 2, 3, "torch"])
def test_sharded_training_ends_where_one_process_ends(engine):
    model = net()
    adam = torch.optim.Adam(model.parameters(), lr=1e-2)
    for rows in batch(3):
        loss_of(rows)(model).backward()
        adam.step()
        adam.zero_grad()
    count = sum(p.numel() for p in model.parameters())
    for weights, held in run_ranks(sharded, RANKS, engine, timeout=90).values:
        for got, whole in zip(weights, model.parameters(), strict=True):
            torch.testing.assert_close(got, whole.detach(), rtol=1e-9, atol=1e-11)
        assert held in (None, -(-count // RANKS) * 8)


@pytest.mark.parametrize(
    ("stage", "operations"),
    [(1, {"all_reduce": 3, "all_gather": 3}), (2, {"reduce_scatter": 3, "all_gather": 3}),
     (3, {"reduce_scatter": 3, "all_gather": 4})],
)  # fmt: skip
def test_the_ledger_of_zero(stage, operations):
    """ZeRO-3 gathers before each step (and once more here, to look at the weights)."""
    outcome = run_ranks(sharded, RANKS, stage, timeout=60)
    for name, calls in operations.items():
        assert outcome.ledger.of(name).calls == [calls] * RANKS, name


def tensor_parallel(engine):
    model = net()
    up, down = model[0], model[2]
    x = batch()[0].requires_grad_()
    if engine == "torch":
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor.parallel import (
            ColwiseParallel,
            RowwiseParallel,
            parallelize_module,
        )

        both = nn.Sequential(up, nn.ReLU(), down)
        mesh = init_device_mesh("cpu", (RANKS,))
        parallelize_module(both, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
        y = both(x)
        y.square().mean().backward()
        weights = [up.weight, up.bias, down.weight, down.bias]
        return y.detach(), x.grad, [w.grad.full_tensor() for w in weights]
    both = by_hand.TensorParallel(up, down)
    y = both(x)
    y.square().mean().backward()
    return y.detach(), x.grad, [p.grad for p in (both.up, both.up_bias, both.down, both.down_bias)]


@pytest.mark.parametrize("engine", ["torch", "by hand"])
def test_tensor_parallel_forward_and_backward(engine):
    model = net()
    both = nn.Sequential(model[0], nn.ReLU(), model[2])
    x = batch()[0].requires_grad_()
    y = both(x)
    y.square().mean().backward()
    whole = [model[0].weight.grad, model[0].bias.grad, model[2].weight.grad, model[2].bias.grad]
    cut = (0, 0, 1, None)
    outcome = run_ranks(tensor_parallel, RANKS, engine, timeout=90)
    for rank, (out, into, grads) in enumerate(outcome.values):
        torch.testing.assert_close(out, y.detach(), **EXACT)
        torch.testing.assert_close(into, x.grad, **EXACT)
        for got, full, dim in zip(grads, whole, cut, strict=True):
            mine = full
            if engine == "by hand" and dim is not None:
                mine = full.chunk(RANKS, dim=dim)[rank]
            torch.testing.assert_close(got, mine, **EXACT)
    if engine == "by hand":  # one all-reduce forward, one backward: of the layer's input
        assert outcome.ledger.of("all_reduce").calls == [2] * RANKS
        assert outcome.ledger.of("all_reduce").bytes == [2 * x.numel() * 8] * RANKS


def rings(_=None):
    import torch.distributed as dist

    rank = dist.get_rank()
    q, k, v = (part.chunk(RANKS, dim=1)[rank] for part in heads())
    return by_hand.ring_attention(q, k, v)


def heads():
    torch.manual_seed(13)
    return torch.randn(3, 2, RANKS * 6, 8, dtype=torch.float64).unbind()


def test_ring_attention_is_attention():
    q, k, v = heads()
    whole = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    outcome = run_ranks(rings, RANKS, timeout=60)
    torch.testing.assert_close(torch.cat(outcome.values, dim=1), whole, **EXACT)
    assert outcome.ledger.of("send").calls == [RANKS - 1] * RANKS


def experts(_=None):
    import torch.distributed as dist

    rank = dist.get_rank()
    torch.manual_seed(14)
    all_experts = [nn.Linear(WIDTH, WIDTH).double() for _ in range(2 * RANKS)]
    choice = torch.randint(2 * RANKS, (RANKS * ROWS,)).chunk(RANKS)[rank]
    tokens = batch()[0][rank * ROWS : (rank + 1) * ROWS]
    with torch.no_grad():
        got = by_hand.expert_parallel(tokens, choice, all_experts[2 * rank : 2 * rank + 2])
        alone = torch.stack([all_experts[c](t) for c, t in zip(choice, tokens, strict=True)])
    return got, alone


def test_experts_elsewhere_answer_as_here():
    for got, alone in run_ranks(experts, RANKS, timeout=60).values:
        torch.testing.assert_close(got, alone, **EXACT)
