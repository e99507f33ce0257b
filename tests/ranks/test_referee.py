"""The referee on real ranks over gloo: each fault gets its sentence, its right twin none."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.distributed as dist

from tests.ranks.world import play


def ordered(rank: int, right: bool) -> None:
    x, y = torch.ones(4), torch.ones(4)
    if rank == 0 or right:
        dist.all_reduce(x)
        dist.broadcast(y, 0)
    else:
        dist.broadcast(y, 0)
        dist.all_reduce(x)


FAULTS: dict[str, tuple[Any, int, str, list[str]]] = {
    "ordered": (ordered, 3, "order", ["rank 0 calls all_reduce", "ranks 1 and 2 call broadcast"]),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_named(name: str) -> None:
    """A wrong program gets the kind and the words it should."""
    program, size, kind, said = FAULTS[name]
    game = play(lambda rank: program(rank, False), size)
    diagnosis = game.diagnosis
    print(diagnosis)
    assert diagnosis.kind == kind, str(diagnosis)
    for words in said:
        assert words.lower() in diagnosis.sentence.lower(), diagnosis.sentence


@pytest.mark.parametrize("name", FAULTS)
def test_right_twin_is_not_accused(name: str) -> None:
    """The mended program runs to its end, and nothing is said."""
    program, size, _, _ = FAULTS[name]
    game = play(lambda rank: program(rank, True), size, timeout=20)
    assert not game.hung and game.diagnosis.kind == "", str(game.diagnosis)
