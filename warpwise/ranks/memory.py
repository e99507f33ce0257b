"""What a rank holds, by kind, between steps and at the peak.

Counted are storages, each once: a gradient that is a view of a DDP bucket, a parameter that two
modules share and an FSDP shard cost what their storage costs.  Resident set sizes tell something
else (the allocator keeps pages), and so does tracemalloc (tensors are not Python's).
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

MIB = 1 << 20
SETTLE = 0.003  # seconds
KINDS = ("parameters", "gradients", "optimizer", "buffers")


@dataclass(frozen=True)
class Held:
    """Bytes on this rank, by kind.  Label: counted."""

    parameters: int = 0
    gradients: int = 0
    optimizer: int = 0
    buffers: int = 0
    label: str = field(default="counted", compare=False)

    @property
    def total(self) -> int:
        return self.parameters + self.gradients + self.optimizer + self.buffers

    def __str__(self) -> str:
        parts = ", ".join(f"{kind} {getattr(self, kind) / MIB:.2f}" for kind in KINDS)
        return f"{self.total / MIB:.2f} MiB: {parts} ({self.label})"


def held(model: Any, optimizer: Any = None) -> Held:
    """Bytes of a module's and its optimiser's tensors on this rank.

    DTensors count with their local part.  A storage that holds two kinds counts with the first of
    parameters, gradients, optimizer, buffers.
    """
    seen: set[int] = set()
    return Held(
        parameters=_bytes(model.parameters(), seen),
        gradients=_bytes((p.grad for p in model.parameters() if p.grad is not None), seen),
        optimizer=_bytes(_states(optimizer), seen),
        buffers=_bytes(model.buffers(), seen),
    )


@dataclass
class Peak:
    """Filled when the block of `peak` ends.  Bytes; Label: counted.

    before  what the module and the optimiser held when the block began, by kind
    added   the most the block had allocated on top and not yet released: activations, temporaries,
            gradients and gathered parameters
    """

    before: Held = field(default_factory=Held)
    added: int = 0
    label: str = "counted"

    @property
    def most(self) -> int:
        """The most that was live at once."""
        return self.before.total + self.added

    def __str__(self) -> str:
        return (
            f"peak {self.most / MIB:.2f} MiB: {self.before.total / MIB:.2f} before, "
            f"{self.added / MIB:.2f} on top ({self.label})"
        )


@contextmanager
def peak(model: Any = None, optimizer: Any = None) -> Iterator[Peak]:
    """The most bytes that were live within the block, as the profiler sees them come and go.

    >>> with peak(model, optimizer) as most:
    ...     step()
    >>> print(most)

    Warm up first: the first steps make optimiser states and DDP's buckets.
    """
    # Read when the profiler starts: without it each rank prints that it did.
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    from torch.profiler import ProfilerActivity, profile

    found = Peak(before=held(model, optimizer) if model is not None else Held())
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        yield found
    found.added = _highest(recorded)


@dataclass
class Alive:
    """Bytes of the tensors that a block of `alive` made.  Label: counted.

    now    of those that are still alive
    most   the most that were alive at once
    """

    now: int = 0
    most: int = 0
    label: str = "counted"


@contextmanager
def alive() -> Iterator[Alive]:
    """Counts the tensors that operations within the block make, each storage once.

    >>> with alive() as held:
    ...     step()
    >>> held.most

    Unlike `peak` it leaves out what a backend allocates for itself, which differs from run to run.
    Tensors that were there before do not count, and neither do NumPy arrays.
    """
    from torch import Tensor
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    found = Alive()
    known: dict[int, Any] = {}  # by storage, each as long as it lives

    def note(tensor: Any, size: int) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in known:
            return

        def gone(_: Any) -> None:
            known.pop(key, None)
            found.now -= size

        known[key] = weakref.ref(storage, gone)
        found.now += size
        if found.now > found.most:
            time.sleep(SETTLE)  # a backend's thread may be about to let go of a tensor
            found.most = max(found.most, found.now)

    class Count(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            for one in tree_leaves((args, kwargs)):
                if isinstance(one, Tensor):
                    note(one, 0)
            made = func(*args, **(kwargs or {}))
            for one in tree_leaves(made):
                if isinstance(one, Tensor):
                    note(one, one.untyped_storage().nbytes())
            return made

    with Count():
        yield found
    time.sleep(SETTLE)


def _highest(recorded: Any) -> int:
    """Highest running sum of the CPU allocations and releases of a profile, in order of time."""
    events = recorded.profiler.kineto_results.events()
    changes = sorted(
        (event.start_ns(), event.nbytes()) for event in events if event.name() == "[memory]"
    )
    now = most = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most


def _bytes(tensors: Iterable[Any], seen: set[int]) -> int:
    total = 0
    for tensor in tensors:
        local = tensor.to_local() if hasattr(tensor, "to_local") else tensor
        storage = local.untyped_storage()
        if storage.data_ptr() in seen or storage.size() == 0:
            continue
        seen.add(storage.data_ptr())
        total += storage.size()
    return total


def _states(optimizer: Any) -> Iterator[Any]:
    """Tensors of an optimiser's state; scalars such as Adam's step count as they are."""
    if optimizer is None:
        return
    inner = getattr(optimizer, "optim", optimizer)  # ZeroRedundancyOptimizer wraps its own
    for state in inner.state.values():
        values = state.values() if isinstance(state, dict) else [state]
        for value in values:
            if hasattr(value, "untyped_storage") or hasattr(value, "to_local"):
                yield value
