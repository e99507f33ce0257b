"""Worlds too big for any laptop, in one process: what one rank of a thousand does and holds.

PyTorch's `fake` process group answers every collective at once and its fake tensors have shapes
and no data.  So a training step of tens of billions of parameters on 128 x 8 ranks runs in seconds,
and its collectives, their bytes and the rank's resident memory are exact.  Values are not computed,
and peaks are not told.

The parts used are not PyTorch's public interface: `self_test` says in one sentence whether this
version still has them, and `count_step` says the same when they fail.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .memory import Held


class WorldError(RuntimeError):
    """A big world that cannot be counted."""


@dataclass(frozen=True)
class Collective:
    """`calls` of one operation over groups of `ranks`, with `nbytes` in all.

    Bytes are nccl-tests' S: the whole array for gathers and scatters, a rank's buffer for the rest.
    """

    name: str
    ranks: int
    calls: int
    nbytes: int


@dataclass(frozen=True)
class Counted:
    """One step of one rank.  Label: counted.

    world        ranks
    parameters   of the whole model
    held         bytes on this rank after the step
    collectives  by operation and group size
    """

    world: int
    parameters: int
    held: Held
    collectives: tuple[Collective, ...]
    label: str = field(default="counted", compare=False)

    def calls(self, name: str, ranks: int | None = None) -> int:
        """Calls of one operation, over all groups or those of a size."""
        return sum(c.calls for c in self.collectives if c.name == name and ranks in (None, c.ranks))

    def nbytes(self, name: str, ranks: int | None = None) -> int:
        """Bytes of one operation, likewise."""
        return sum(
            c.nbytes for c in self.collectives if c.name == name and ranks in (None, c.ranks)
        )

    def __str__(self) -> str:
        rows = [
            f"  {c.name:16} groups of {c.ranks:5}: {c.calls:6} calls, {c.nbytes:,} bytes"
            for c in self.collectives
        ]
        head = f"{self.parameters / 1e9:.2f}e9 parameters on {self.world} ranks ({self.label})"
        return "\n".join([head, f"  a rank holds {self.held}", *rows])


def count_step(
    build: Callable[[], Any],
    shard: Callable[[Any, Any], Any],
    loss: Callable[[Any], Any],
    mesh: Mapping[str, int],
    optimizer: Callable[[Any], Any] | None = None,
    timeout: float = 120.0,
) -> Counted:
    """Count one training step on a mesh of ranks, as rank 0 sees it.

    build      makes the module; it is called where tensors have no data
    shard      shard(module, mesh): applies parallelize_module, fully_shard, ...
    loss       loss(module): a forward on inputs it makes itself, on the CPU
    mesh       {"dp": 128, "tp": 8}: names and sizes of the DeviceMesh, slowest first
    optimizer  optimizer(parameters); AdamW(fused=True) if None (others may read values)

    Runs in a process of its own.  Raises WorldError, or RankError for what fails in a function.
    """
    from .launch import run_ranks

    if not mesh or any(size < 1 for size in mesh.values()):
        raise WorldError(f"a mesh has names and sizes from 1, not {dict(mesh)}.")
    outcome = run_ranks(_count, 1, build, shard, loss, dict(mesh), optimizer, timeout=timeout)
    found: Counted = outcome.values[0]
    return found


def self_test() -> None:
    """One linear layer on 4 x 2 fake ranks.  Raises WorldError if this PyTorch cannot do it."""
    import torch

    try:
        counted = count_step(_tiny, _shard_tiny, _loss_tiny, {"dp": 4, "tp": 2})
    except Exception as error:
        raise WorldError(
            f"PyTorch {torch.__version__} no longer has the fake process group or fake tensors as "
            f"this module uses them: {error}"
        ) from error
    if counted.calls("reduce_scatter", 4) != 1 or counted.held.parameters != 64 * 64 * 4 // 8:
        raise WorldError(
            f"PyTorch {torch.__version__} counts a step of fake ranks otherwise than it should: "
            f"{counted}"
        )


def _tiny() -> Any:
    from torch import nn

    return nn.Sequential(nn.Linear(64, 64, bias=False), nn.ReLU())


def _shard_tiny(module: Any, mesh: Any) -> None:
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module

    parallelize_module(module, mesh["tp"], {"0": ColwiseParallel()})
    fully_shard(module, mesh=mesh["dp"])


def _loss_tiny(module: Any) -> Any:
    import torch

    return module(torch.empty(2, 64)).sum()


def _count(
    build: Callable[[], Any],
    shard: Callable[[Any, Any], Any],
    loss: Callable[[Any], Any],
    mesh: dict[str, int],
    optimizer: Callable[[Any], Any] | None,
) -> Counted:
    """In a process of its own: its real process group gives way to the fake one."""
    import math

    import torch
    import torch.distributed as dist
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.distributed.device_mesh import init_device_mesh
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.destroy_process_group()
    world = math.prod(mesh.values())
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=world)
    # The mesh reads values, so it is made of real tensors.
    device_mesh = init_device_mesh("cpu", tuple(mesh.values()), mesh_dim_names=tuple(mesh))
    with torch.device("meta"):
        module = build()
    parameters = sum(p.numel() for p in module.parameters())
    shard(module, device_mesh)
    counter = _counter()
    with FakeTensorMode(allow_non_fake_inputs=True):
        module.to_empty(device="cpu")
        make = optimizer or (lambda weights: torch.optim.AdamW(weights, fused=True))
        made = make(module.parameters())
        with counter:
            loss(module).backward()
            made.step()
        return Counted(world, parameters, _held(module, made), counter.rows())


def _held(module: Any, optimizer: Any) -> Held:
    """As memory.held, but fake storages have no address: each tensor counts."""

    def size(tensor: Any) -> int:
        local = tensor.to_local() if hasattr(tensor, "to_local") else tensor
        return int(local.numel() * local.element_size())

    states = [
        value
        for state in optimizer.state.values()
        for value in state.values()
        if hasattr(value, "numel") and value.numel() > 1
    ]
    weights = list(module.parameters())
    return Held(
        sum(map(size, weights)),
        sum(size(p.grad) for p in weights if p.grad is not None),
        sum(map(size, states)),
        sum(map(size, module.buffers())),
    )


# Operators of the dispatcher: what they are called, and which argument is the whole array.
_OPERATORS = {
    "_c10d_functional.all_reduce": ("all_reduce", 0),
    "_c10d_functional.all_reduce_": ("all_reduce", 0),
    "_c10d_functional.all_gather_into_tensor": ("all_gather", None),
    "_c10d_functional.reduce_scatter_tensor": ("reduce_scatter", 0),
    "_c10d_functional.all_to_all_single": ("all_to_all", 0),
    "_c10d_functional.broadcast": ("broadcast", 0),
    "c10d._allgather_base_": ("all_gather", 0),
    "c10d._reduce_scatter_base_": ("reduce_scatter", 1),
    "c10d.allreduce_": ("all_reduce", 0),
    "c10d.broadcast_": ("broadcast", 0),
    "c10d.alltoall_base_": ("all_to_all", 1),
}


def _counter() -> Any:
    """A dispatch mode that writes collectives down.  Made here, since it needs PyTorch's class."""
    from torch.distributed import ProcessGroup
    from torch.distributed.distributed_c10d import _resolve_process_group
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counter(TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.counts: dict[tuple[str, int], list[int]] = {}

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            out = func(*args, **(kwargs or {}))
            name = f"{func.namespace}.{func._schema.name.split('::')[1]}"
            if name in _OPERATORS:
                operation, which = _OPERATORS[name]
                whole = out if which is None else args[which]
                tensors = list(whole) if isinstance(whole, list | tuple) else [whole]
                nbytes = sum(t.numel() * t.element_size() for t in tensors)
                row = self.counts.setdefault((operation, self._ranks(name, args)), [0, 0])
                row[0] += 1
                row[1] += nbytes
            return out

        @staticmethod
        def _ranks(name: str, args: Any) -> int:
            """Size of the group: named in functional operators, boxed in the others."""
            if name.startswith("_c10d_functional"):
                group = next(arg for arg in reversed(args) if isinstance(arg, str))
                return int(_resolve_process_group(group).size())
            for arg in args:
                if hasattr(arg, "_type") and "ProcessGroup" in str(arg._type()):
                    return int(ProcessGroup.unbox(arg).size())
            raise WorldError(f"{name} names no process group.")

        def rows(self) -> tuple[Collective, ...]:
            return tuple(
                Collective(name, ranks, calls, nbytes)
                for (name, ranks), (calls, nbytes) in sorted(self.counts.items())
            )

    return Counter()
