"""Big worlds in one process, counted by hand."""

import pytest
import torch
from torch import nn

from warpwise.ranks.worlds import WorldError, count_step, self_test


def test_this_pytorch_can_count_fake_worlds():
    """The one test that fails when PyTorch changes what this is built on."""
    self_test()


def blocks(width, count):
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.LayerNorm(width)
            self.up = nn.Linear(width, 4 * width, bias=False)
            self.down = nn.Linear(4 * width, width, bias=False)

        def forward(self, x):
            return x + self.down(torch.relu(self.up(self.norm(x))))

    return nn.Sequential(*[Block() for _ in range(count)])


def shard(model, mesh):
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    for block in model:
        plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
        parallelize_module(block, mesh["tp"], plan)
        fully_shard(block, mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])


@pytest.mark.slow
def test_a_step_of_27e9_parameters_on_1024_ranks():
    width, count, tokens = 10240, 32, 4 * 128
    counted = count_step(
        lambda: blocks(width, count),
        shard,
        lambda model: model(torch.empty(4, 128, width)).sum(),
        {"dp": 128, "tp": 8},
    )
    assert counted.world == 1024
    assert counted.parameters == count * (8 * width**2 + 2 * width)
    # Matrices are divided by all ranks, norms by the data parallel ones alone.
    shares = count * (8 * width**2 // 1024 + 2 * width // 128)
    assert counted.held.parameters == counted.held.gradients == 4 * shares
    assert counted.held.optimizer == 8 * shares
    # Tensor parallel: one all-reduce of the hidden state forward, one backward, for each block.
    assert counted.calls("all_reduce", 8) == 2 * count
    assert counted.nbytes("all_reduce", 8) == 2 * count * tokens * width * 4
    # Fully sharded: gathered forward and backward, scattered once.
    assert counted.calls("all_gather", 128) == 2 * count
    assert counted.calls("reduce_scatter", 128) == count
    whole = 4 * count * (8 * width**2 // 8 + 2 * width)
    assert counted.nbytes("reduce_scatter", 128) == whole
    assert counted.nbytes("all_gather", 128) == 2 * whole
    assert "26.84e9 parameters on 1024 ranks (counted)" in str(counted)


@pytest.mark.parametrize("mesh", [{}, {"dp": 0}])
def test_a_mesh_without_ranks_is_refused(mesh):
    with pytest.raises(WorldError, match="names and sizes from 1"):
        count_step(lambda: None, lambda m, d: None, lambda m: None, mesh)


def test_a_failing_function_is_named_with_its_line():
    def shard_wrong(model, mesh):
        raise KeyError("no such axis")

    with pytest.raises(Exception, match="no such axis"):
        count_step(lambda: nn.Linear(4, 4), shard_wrong, lambda m: None, {"dp": 2})
