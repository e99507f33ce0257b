"""A function on the ranks of a world, and what can be told of it: `warpwise.check.ranked` runs it.

World    one case: how many ranks, and what each of them is given
Stands here, not in `check`: each rank imports this module, and a grader's student side has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from .net import Net
from .network import Network

TIMEOUT = 6.0  # seconds of a case; a cycle is told at once


@dataclass(frozen=True)
class World:
    """`args[rank]` is what rank gets; arrays, also in lists, are handed over as torch tensors.

    network   where time is judged: the function gets a Net as its last argument
    counted   whether matrix products and the largest tensor are counted, see `ranks.work`
    memory    where the tensors that the function makes are counted
    """

    args: tuple[tuple[Any, ...], ...]
    network: Network | None = None
    counted: bool = False
    memory: bool = False

    @property
    def ranks(self) -> int:
        return len(self.args)


def on_ranks(answer: Callable[..., Any], args: Sequence[Any]) -> dict[str, Any]:
    """Run the answer on the ranks of the world `args[0]`; all that is judged, as plain data.

    The function is called on every rank with that rank's arguments.  Its ledger is the recorder's;
    its time is the network's, virtual.  "last": there is no use in trying other worlds.
    """
    from ..ranks import run_ranks

    world: World = args[0]
    outcome = run_ranks(
        call, world.ranks, answer, world.args, world.network, world.counted, world.memory,
        timeout=TIMEOUT, raises=False,
    )  # fmt: skip
    first = outcome.first
    told: dict[str, Any] = {
        "ranks": world.ranks,
        "status": list(outcome.status),
        "sentence": str(getattr(outcome.diagnosis, "sentence", "")),
        "failed": "" if first is None else f"rank {first.rank} failed: {first}",
        "last": not outcome.ok,
    }
    if outcome.ok:
        ledger = outcome.ledger
        rounds = ledger.rounds()
        told |= {
            "values": [one[0] for one in outcome.values],
            "seconds": max(one[1] for one in outcome.values),
            "flops": max(one[2] for one in outcome.values),
            "largest": max(one[3] for one in outcome.values),
            "held": max(one[4] for one in outcome.values),
            "sent": max(ledger.of("send").bytes, default=0),
            "wire": max(ledger.wire, default=0),
            "rounds": max((r for r in rounds if r is not None), default=0),
            "operations": sorted({entry.operation for entry in ledger.entries}),
        }
    return told


def call(
    answer: Callable[..., Any], args_by_rank: Sequence[Sequence[Any]], network: Network | None,
    counted: bool = False, memory: bool = False,
) -> tuple[Any, float, int, int, int]:  # fmt: skip
    """The answer's value on this rank, its virtual time, its operations, its largest tensor, and
    the most bytes of tensors it held.

    NumPy arrays, also in lists, are handed over as torch tensors, and tensors come back as NumPy
    arrays.  With a network the function gets its Net as the last argument.
    """
    import torch.distributed as dist

    from ..ranks.memory import alive
    from ..ranks.work import work

    args = [_given(value) for value in args_by_rank[dist.get_rank()]]
    net = None if network is None else Net(network)
    given = args if net is None else [*args, net]
    with work() if counted else nullcontext() as done, alive() if memory else nullcontext() as held:
        value = answer(*given)
    seconds = 0.0 if net is None else net.now
    counts = (done.flops, done.largest) if done else (0, 0)
    return _taken(value), seconds, *counts, held.most if held else 0


def _given(value: Any) -> Any:
    import torch

    if isinstance(value, list):
        return [_given(item) for item in value]
    return torch.from_numpy(value.copy()) if isinstance(value, np.ndarray) else value


def _taken(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return value.detach().cpu().numpy()
    if isinstance(value, list | tuple):
        return [_taken(item) for item in value]
    if isinstance(value, dict):
        return {key: _taken(item) for key, item in value.items()}
    if value is None or isinstance(value, bool | int | float | str | np.ndarray | np.generic):
        return value
    name = type(value).__name__
    raise TypeError(f"it returned a {name}: return numbers, texts, lists, dictionaries or tensors")
