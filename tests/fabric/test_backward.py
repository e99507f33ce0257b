"""Forward passes that are run with their backward: what is told, and what is refused."""

import numpy as np
import pytest
import torch

from warpwise.fabric.backward import (
    backward_on_ranks,
    forward_pass,
    kept_on_ranks,
    layer,
    library_calls,
    recompute,
)
from warpwise.fabric.world import World
from warpwise.ranks.saved import saved

WORLD = World(tuple((np.full((2, 3), 2.0 + rank), np.ones((2, 3))) for rank in range(2)))


def test_values_are_the_output_and_the_gradients_of_the_arguments():
    told = backward_on_ranks(lambda x: x * x, [WORLD])
    assert [[value[0, 0] for value in row] for row in told["values"]] == [[4, 4], [9, 6]]


def test_what_is_kept_is_told_of_the_busiest_rank():
    told = kept_on_ranks(lambda x: torch.exp(x * 1).sum(dim=0, keepdim=True).expand(2, 3), [WORLD])
    assert told["kept"] == WORLD.args[0][0].nbytes  # the exponentials
    assert told["library"] is False


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda x: None, "returned a NoneType"),
        (lambda x: x[:1] * 1, "shape (1, 3), not (2, 3)"),
        (lambda x: (x * 2).detach(), "no grad_fn"),
    ],
)
def test_an_output_without_a_way_back_is_refused(answer, said):
    told = backward_on_ranks(answer, [WORLD])
    assert said in told["failed"]
    assert told["last"]


def test_a_call_of_the_library_is_noticed_and_the_library_put_back():
    from torch.utils.checkpoint import checkpoint

    x = torch.ones(3, requires_grad=True)
    for reentrant in (False, True):
        with library_calls() as used:
            checkpoint(torch.exp, x, use_reentrant=reentrant)
        assert used
    with library_calls() as used:
        torch.exp(x)
    assert not used
    checkpoint(torch.exp, x, use_reentrant=True).sum().backward()
    assert x.grad is not None


@pytest.mark.parametrize("kind", ["mlp", "heads", "rows", "square", "masked"])
def test_a_forward_pass_saves_something_and_leaves_the_generator_alone(kind):
    state = torch.get_rng_state()
    run, weights = forward_pass(kind, 5, 4)
    assert kind == "masked" or torch.equal(state, torch.get_rng_state())
    with saved(weights) as found:
        run()
    assert 0 < found.bytes < 5 * 4 * 4 * 6


def test_a_plain_call_is_told_as_such():
    state = torch.get_rng_state()
    told = recompute(lambda fn, x: fn(x), ("dropout", 2, 6, 4, 3))
    assert torch.equal(state, torch.get_rng_state())
    assert told["calls"] == [2, 0]
    fn, x, _, dy = layer("dropout", 6, 4, 3)
    y = fn(fn(x))
    y.backward(dy)
    assert np.allclose(told["values"][0], y.detach().numpy())
    assert np.allclose(told["values"][1], x.grad.numpy())
