"""The runner: one case through the simulator and, where a GPU works, through the GPU as well.

The simulator says who wrote what and stops at an index outside an array; it goes first, so that a
kernel with such an index never reaches the GPU.  Values then come from the GPU where there is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..simt.program import Note
from .cases import Case, poison
from .printed import Printed, caught

SIMULATED = "counted, simulator"


@dataclass(frozen=True)
class Writes:
    """Who touched an array: per element how often, and the last writing thread (-1: none).

    several: which elements more than one thread stored to.
    """

    writes: np.ndarray
    reads: np.ndarray
    writer: np.ndarray
    several: np.ndarray


class DeviceError(Exception):
    """What the compiler or the driver of a GPU said about a kernel that the simulator could run."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(f"on the GPU: {type(cause).__name__}: {str(cause).strip()}")
        compiling = any(kind.__module__.startswith("numba.core") for kind in type(cause).__mro__)
        self.diagnosis = "typing" if compiling else "launch"


@dataclass(frozen=True)
class Outcome:
    """A finished or stopped launch, by the spec's argument names.

    arrays: contents afterwards; census: empty where the simulator did not run to the end;
    error: the simulator's, when it stopped the kernel; notes: its remarks; printed: by the kernel.
    """

    arrays: Mapping[str, np.ndarray]
    census: Mapping[str, Writes] = field(default_factory=dict)
    error: Exception | None = None
    notes: tuple[Note, ...] = ()
    printed: Printed = field(default_factory=Printed)


def run(answer: Any, kernel: Any, case: Case, outputs: tuple[str, ...], seed: int) -> Outcome:
    """Run `kernel` (the simulator's) on a case, then `answer` on the GPU if it is made for one.

    outputs: arguments to poison first.  The arrays of `case` are copied, never changed.
    """
    with caught() as printed:
        outcome = _simulate(kernel, case, fresh(case, outputs), seed)
    outcome = replace(outcome, printed=printed)
    if not launches_on_gpu(answer):
        return outcome
    if outcome.error is not None and not _beyond_simulator(outcome.error):
        return outcome
    args, notes = fresh(case, outputs), outcome.notes
    if outcome.error is not None:
        first = str(outcome.error).splitlines()[0]
        notes = (*notes, Note("not_simulated", 0, f"not simulated: {first}"))
    try:
        answer[case.grid, case.block, 0, case.sharedmem](*args.values())
    except Exception as error:  # compiler and driver have many classes of their own
        return Outcome(_arrays(args), outcome.census, DeviceError(error), notes, printed)
    return Outcome(_arrays(args), outcome.census, None, notes, printed)


def fresh(case: Case, outputs: tuple[str, ...]) -> dict[str, Any]:
    """Copies of the arguments, outputs poisoned."""
    args: dict[str, Any] = {}
    for name, value in case.args.items():
        if not isinstance(value, np.ndarray):
            args[name] = value
        elif name in outputs:
            args[name] = poison(value.shape, value.dtype)
        else:
            args[name] = value.copy(order="K")
    return args


def launches_on_gpu(answer: Any) -> bool:
    """Is the answer a real Numba dispatcher, on a machine whose GPU is in use?"""
    from warpwise import backend
    from warpwise.simt import Kernel

    return not isinstance(answer, Kernel) and hasattr(answer, "py_func") and backend() == "gpu"


def label(answer: Any) -> str:
    """Where the facts of a check come from."""
    if not launches_on_gpu(answer):
        return SIMULATED
    from numba import cuda

    name = cuda.get_current_device().name
    return f"values from {name.decode() if isinstance(name, bytes) else name}; {SIMULATED}"


def _simulate(kernel: Any, case: Case, args: dict[str, Any], seed: int) -> Outcome:
    from warpwise.simt import SimtError
    from warpwise.simt import run as simulate

    from .writers import Writers

    census = Writers()
    try:
        finished = simulate(
            kernel, case.grid, case.block, list(args.values()), observers=(census,),
            sharedmem=case.sharedmem, seed=seed,
        )  # fmt: skip
    except SimtError as error:
        if error.__cause__ is not None:  # the simulator itself failed
            raise
        return Outcome(_arrays(args), error=error)
    theirs = dict(zip(args, kernel.parameters, strict=True))
    seen = {
        name: Writes(census.writes[own], census.reads[own], census.writer[own], census.several[own])
        for name, own in theirs.items()
        if own in census.writes
    }
    return Outcome(_arrays(args), seen, None, tuple(finished.notes))


def _beyond_simulator(error: Exception) -> bool:
    return getattr(error, "diagnosis", "") == "unsupported"


def _arrays(args: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {name: value for name, value in args.items() if isinstance(value, np.ndarray)}
