"""The same call under `torchrun`: no processes are started, this process is a rank already."""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from .outcome import Outcome

# What torchrun sets, and init_process_group("env://") reads.
NAMES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def inside() -> bool:
    """Whether this process was started as a rank by torchrun, or by a tool that sets the same."""
    return all(name in os.environ for name in NAMES) and "ipykernel" not in sys.modules


def join(backend: str | None = None) -> None:
    """Form the process group that the environment describes, if that has not happened yet."""
    import torch
    import torch.distributed as dist

    if dist.is_initialized():
        return
    local = int(os.environ.get("LOCAL_RANK", os.environ["RANK"]))
    if torch.cuda.is_available() and torch.cuda.device_count() > local:
        torch.cuda.set_device(local)
        backend = backend or "cpu:gloo,cuda:nccl"
    dist.init_process_group(backend or "gloo")
    atexit.register(lambda: dist.is_initialized() and dist.destroy_process_group())


def run_here(
    fn: Callable[..., Any],
    size: int,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    backend: str | None,
) -> Outcome:
    """Call the function as this rank; every rank gets the values of all.

    An exception ends this process, and torchrun the others.
    """
    import torch.distributed as dist

    join(backend)
    world = dist.get_world_size()
    if world != size and dist.get_rank() == 0:
        print(f"run_ranks: torchrun has {world} ranks; n = {size} is not used.", file=sys.stderr)
    start = time.monotonic()
    value = fn(*args, **kwargs)
    seconds = time.monotonic() - start
    values: list[Any] = [None] * world
    dist.all_gather_object(values, value)
    rank = dist.get_rank()
    return Outcome(values, ["ok"] * world, [""] * world, [None] * world, seconds, rank=rank)
