"""A function from a notebook runs on real ranks, and its values come back."""

import pytest
import torch
import torch.distributed as dist

from warpwise.ranks import run_ranks


def add_ranks(start):
    total = torch.tensor([dist.get_rank() + start])
    dist.all_reduce(total)
    return total.item()


@pytest.mark.parametrize("size", [1, 2, 5])
def test_values_come_back_by_rank(size):
    """Each rank's value stands at its place."""
    outcome = run_ranks(lambda: (dist.get_rank(), dist.get_world_size()), size)
    assert outcome.values == [(rank, size) for rank in range(size)]
    assert outcome.status == ["ok"] * size and outcome.ok


def test_arguments_travel():
    """Positional and keyword arguments reach every rank."""
    assert run_ranks(add_ranks, 3, 10).values == [33, 33, 33]
    assert run_ranks(add_ranks, 2, kwargs={"start": 1}).values == [3, 3]
