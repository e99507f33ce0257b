"""`run_ranks`: a function on N processes that form one process group."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

from . import errors, output, pickling, torchrun, worker
from .interrupts import without_interrupts
from .outcome import Outcome
from .world import MOST, World

BACKENDS = ("gloo", "nccl", "cpu:gloo,cuda:nccl")


def run_ranks(
    fn: Callable[..., Any],
    n: int,
    *args: Any,
    timeout: float = 20.0,
    backend: str | None = None,
    kwargs: dict[str, Any] | None = None,
    echo: bool | str = True,
    raises: bool = True,
) -> Outcome:
    """Call `fn(*args, **kwargs)` on `n` ranks, each a fresh process of one process group.

    The function may be defined in a notebook; it asks `torch.distributed` for its rank.
    Under `torchrun` it runs in the world that is there already (`warpwise/ranks/README.md`).

    timeout: seconds from the first process on; then every rank is ended.
    backend: of `torch.distributed.init_process_group`; None is nccl for tensors on GPUs where each
    rank can have a GPU, and gloo for all others.
    echo: True prints what ranks printed, rank by rank, at the end; "live" prints lines as they
    come; False prints nothing.
    raises: False gives the Outcome of a world that failed or hung, too.

    Raises: RankError with the first rank that failed, Hang (a RankError) at the deadline;
    TypeError or ValueError for what cannot be run, before any process starts.

    >>> run_ranks(lambda: torch.distributed.get_rank() ** 2, 4).values
    [0, 1, 4, 9]
    """
    check_call(fn, timeout, backend, echo)
    size = check_size(n)
    if torchrun.inside():
        return torchrun.run_here(fn, size, args, kwargs or {}, backend)
    check_place()
    payload = pickling.dumps_call(fn, args, kwargs or {})
    with World(payload, size, backend, live=echo == "live") as world:
        try:
            found = world.outcome(world.watch(timeout))
        except KeyboardInterrupt:
            with without_interrupts():
                show_interrupted(world, echo)
            raise
    if echo is True:
        show_output(found)
    if raises and not found.ok:
        if "stuck" in found.status:
            raise errors.hung(found, timeout) from None
        raise errors.failed(found) from None
    return found


def show_output(found: Outcome) -> None:
    """Print what ranks printed, rank by rank."""
    text = output.by_rank(found.output)
    if text:
        print(text)


def show_interrupted(world: World, echo: bool | str) -> None:
    """Print what there is when a person gives up waiting: most often the ranks hang."""
    world.look_at_all()
    found = world.outcome(in_time=False)
    if echo is True:
        show_output(found)
    if echo and found.diagnosis:
        print(f"Interrupted.\n{found.diagnosis}")


def check_call(fn: Any, timeout: Any, backend: Any, echo: Any) -> None:
    """Refuse what cannot be called or kept."""
    if not callable(fn):
        hint = " Leave out the parentheses: run_ranks(work, 4)." if fn is None else ""
        raise TypeError(f"run_ranks needs a function, not {fn!r}.{hint}")
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise ValueError(f"timeout is {timeout!r}; it is a number of seconds above 0.")
    if backend not in (None, *BACKENDS):
        choices = ", ".join(map(repr, BACKENDS))
        raise ValueError(f"backend is {backend!r}; it can be None, {choices}.")
    if echo not in (True, False, "live"):
        raise ValueError(f"echo is {echo!r}; it can be True, False or 'live'.")


def check_size(n: Any) -> int:
    """The number of ranks as an int."""
    try:
        if isinstance(n, bool):
            raise TypeError
        size = operator.index(n)
    except TypeError:
        raise TypeError(f"n is {n!r}; the number of ranks is an int: run_ranks(work, 4).") from None
    if size < 1:
        raise ValueError(f"n is {size}; a world has at least 1 rank.")
    if size > MOST:
        raise ValueError(f"n is {size}; run_ranks starts at most {MOST} processes on one machine.")
    return size


def check_place() -> None:
    """Refuse where no ranks can be started."""
    if worker.running:
        raise RuntimeError(
            f"run_ranks was called inside rank {worker.running[0].rank} of another run_ranks. "
            f"Ranks cannot start ranks: use their process group, or make smaller ones "
            f"with torch.distributed.new_group."
        )
    if sys.platform == "win32":
        raise RuntimeError(
            "run_ranks forks processes, which Windows cannot do. Run the course in WSL: "
            "`wsl --install`, then `make lab` in its shell."
        )
