"""What a function on ranks is given, and what of its answer is told."""

import numpy as np
import torch

from warpwise.fabric.world import World, on_ranks


def test_arrays_in_lists_are_tensors_and_what_is_none_stays_none():
    def answer(gradients):
        return [None if g is None else g * isinstance(g, torch.Tensor) for g in gradients]

    world = World(tuple(([np.array([1.0, rank]), None],) for rank in range(2)))
    told = on_ranks(answer, [world])
    assert told["status"] == ["ok", "ok"]
    assert [value[0].tolist() for value in told["values"]] == [[1, 0], [1, 1]]
    assert [value[1] for value in told["values"]] == [None, None]
