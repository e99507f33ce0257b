"""One case of a Triton kernel, on the CPU and, where the course uses a GPU, there as well.

gap  what lies between the rows of a strided array, inside its memory but no element of it
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import tiles
from .cases import Case, is_poison, poison
from .runner import DeviceError, Outcome, Writes


@dataclass(frozen=True)
class Launched:
    """outcome: by the spec's names.  run: what the CPU counted, None where it was stopped.
    strayed: output -> how many elements of its gaps were written."""

    outcome: Outcome
    run: tiles.Run | None
    strayed: Mapping[str, int]
    label: str


def launch(kernel: Any, case: Case, poisoned: tuple[str, ...]) -> Launched:
    """Run a kernel on copies of the arguments; outputs hold poison before."""
    args, memory = fresh(case, poisoned)
    label = tiles.report.SIMULATED
    try:
        run = tiles.run(kernel, case.grid, *args.values(), device="cpu")
    except tiles.TileError as error:
        return Launched(Outcome(_arrays(args), error=error), None, {}, label)
    assert run.memory is not None
    parameters = list(run.memory.parameters)
    census = {}
    for name, own in zip(args, parameters, strict=True):
        if own in run.memory.regions:
            area = run.memory.regions[own]
            counters = (area.writes, area.reads, area.writer, area.several)
            census[name] = Writes(*(area.shaped(one) for one in counters))
    if tiles.default_device() == "gpu":
        args, memory = fresh(case, poisoned)
        try:
            there = tiles.run(kernel, case.grid, *args.values(), device="gpu")
        except Exception as error:  # compiler and driver have many classes of their own
            return Launched(Outcome(_arrays(args), census, DeviceError(error)), run, {}, label)
        label = f"values: {there.label}; {label}"
    strayed = {name: _strayed(*memory[name]) for name in memory if name in poisoned}
    return Launched(
        Outcome(_arrays(args), census), run, {k: n for k, n in strayed.items() if n}, label
    )


def fresh(
    case: Case, poisoned: tuple[str, ...]
) -> tuple[dict[str, Any], dict[str, tuple[np.ndarray, np.ndarray]]]:
    """(copies of the arguments with their strides, name -> (whole memory, view of the array)).

    Gaps hold poison.
    """
    args: dict[str, Any] = {}
    memory = {}
    for name, value in case.args.items():
        if not isinstance(value, np.ndarray):
            args[name] = value
            continue
        steps = [step // value.itemsize for step in value.strides]
        if value.size and min(steps, default=1) >= 0:
            size = sum((n - 1) * step for n, step in zip(value.shape, steps, strict=True)) + 1
            flat = poison((size,), value.dtype)
            view = np.lib.stride_tricks.as_strided(flat, value.shape, value.strides)
        else:
            view = poison(value.shape, value.dtype)
            flat = view.reshape(-1)
        if name not in poisoned:
            view[...] = value
        args[name], memory[name] = view, (flat, view)
    return args, memory


def _strayed(flat: np.ndarray, view: np.ndarray) -> int:
    """How many elements of the gaps do not hold poison any more."""
    if flat.size <= view.size:
        return 0
    changed = ~is_poison(flat)
    own = np.lib.stride_tricks.as_strided(
        changed, view.shape, [step // view.itemsize for step in view.strides]
    )
    own[...] = False
    return int(changed.sum())


def _arrays(args: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {name: value for name, value in args.items() if isinstance(value, np.ndarray)}
