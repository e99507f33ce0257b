"""Data parallel steps as task graphs: gradient buckets behind the backward, shards fetched ahead.

One rank stands for all, since they do the same: a `compute` and a `network` resource.  What a
collective takes is the caller's function of its bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..inputs import whole
from .tasks import Run, ScheduleError, Task, run

COMPUTE, NETWORK = "compute", "network"
MIB = 1 << 20


@dataclass(frozen=True)
class Layer:
    """One layer of a data parallel step: times of its passes, and bytes of its parameters."""

    forward: float
    backward: float
    nbytes: float


@dataclass(frozen=True)
class Step:
    """A step on one rank.  Times are in the unit of the layers' times.  Label: modelled."""

    run: Run
    peak_layers: int  # layers whose whole parameters are there at once; all of them without shards
    label: str = "modelled"

    @property
    def makespan(self) -> float:
        return self.run.makespan

    @property
    def compute(self) -> float:
        """Time in which the rank computes."""
        return self.run.busy(COMPUTE)

    @property
    def network(self) -> float:
        """Time in which the network works."""
        return self.run.busy(NETWORK)

    @property
    def exposed(self) -> float:
        """Communication that nothing hides: makespan - compute."""
        return self.makespan - self.compute


def buckets(layers: Sequence[Layer], cap: float, first: float | None = None) -> list[list[int]]:
    """Layers in buckets as their gradients come, last layer first; a full bucket (`cap`) is closed.

    first  another cap for the first bucket (PyTorch's DDP: 1 MiB, then 25 MiB)
    """
    filled: list[list[int]] = []
    size = 0.0
    for layer in reversed(range(len(layers))):
        if not filled or size >= (first if first is not None and len(filled) == 1 else cap):
            filled.append([])
            size = 0.0
        filled[-1].append(layer)
        size += layers[layer].nbytes
    return filled


def ddp(
    layers: Sequence[Layer],
    all_reduce: Callable[[float], float],
    cap: float = 25 * MIB,
    first: float | None = 1 * MIB,
    overlap: bool = True,
) -> Step:
    """Forward, backward, and one all-reduce a bucket as soon as its last gradient is there.

    all_reduce  time of an all-reduce of so many bytes
    overlap     False: the network starts when the backward is done
    """
    _some(layers)
    tasks = [Task(f"F{i}", COMPUTE, layer.forward) for i, layer in enumerate(layers)]
    tasks += [Task(f"B{i}", COMPUTE, layers[i].backward) for i in reversed(range(len(layers)))]
    for number, bucket in enumerate(buckets(layers, cap, first)):
        size = sum(layers[i].nbytes for i in bucket)
        after = f"B{bucket[-1]}" if overlap else "B0"
        tasks.append(Task(f"AR{number}", NETWORK, all_reduce(size), (after,)))
    return Step(run(tasks), len(layers))


def fsdp(
    layers: Sequence[Layer],
    all_gather: Callable[[float], float],
    reduce_scatter: Callable[[float], float],
    prefetch: int = 1,
    reshard: bool = True,
) -> Step:
    """A fully sharded step: a layer is gathered before it computes, its gradient scattered after.

    prefetch  layers gathered ahead: with 0 a layer is asked for when the one before is done
    reshard   give the parameters back after the forward, so that the backward gathers again

    The network keeps PyTorch's order: the next gather comes before the scatter of the layer at
    hand, which would else hold it up.
    """
    _some(layers)
    whole(ScheduleError, 0, prefetch=prefetch)
    last = len(layers) - 1
    forwards = [("F", i) for i in range(last + 1)]
    backwards = [("B", i) for i in reversed(range(last + 1))]
    uses = forwards + backwards
    # The last layer is needed again at once, so that its parameters stay.
    gathered = {n for n, (kind, i) in enumerate(uses) if kind == "F" or (reshard and i != last)}
    tasks: list[Task] = []
    network: list[Task] = []
    asked: set[int] = set()

    def ask(use: int, after: tuple[str, ...]) -> None:
        if use in gathered and use not in asked and use < len(uses):
            asked.add(use)
            kind, i = uses[use]
            network.append(Task(f"AG-{kind}{i}", NETWORK, all_gather(layers[i].nbytes), after))

    for use, (kind, i) in enumerate(uses):
        done = (f"{uses[use - 1][0]}{uses[use - 1][1]}",) if use else ()
        for ahead in range(use, min(use + prefetch + 1, len(uses))):
            ask(ahead, done)
        needs = (f"AG-{kind}{i}",) if use in gathered else ()
        layer = layers[i]
        tasks.append(
            Task(f"{kind}{i}", COMPUTE, layer.forward if kind == "F" else layer.backward, needs)
        )
        if kind == "B":
            network.append(Task(f"RS{i}", NETWORK, reduce_scatter(layer.nbytes), (f"B{i}",)))
    ran = run(tasks + network)
    return Step(ran, _peak_layers(ran, uses, gathered, reshard))


def _peak_layers(ran: Run, uses: list[tuple[str, int]], gathered: set[int], reshard: bool) -> int:
    """Most layers held whole at once: from the start of a gather to the end of what it serves."""
    at = {span.task.name: span for span in ran.spans}
    moments: list[tuple[float, int]] = []
    for use in gathered:
        kind, i = uses[use]
        serves = f"{kind}{i}"
        if kind == "F" and (not reshard or i == len(uses) // 2 - 1):
            serves = f"B{i}"
        moments += [(at[f"AG-{kind}{i}"].start, 1), (at[serves].end, -1)]
    held = most = 0
    for _, change in sorted(moments, key=lambda moment: (moment[0], moment[1])):
        held += change
        most = max(most, held)
    return most


def _some(layers: Sequence[Layer]) -> None:
    if not layers:
        raise ScheduleError("a step has at least one layer.")
