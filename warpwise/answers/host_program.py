"""Run a host program in the simulator and write down what it asks of the device, call by call.

A host program is a function that copies arrays, launches kernels, and uses streams and events, with
the names of numba.cuda.  Its calls, as operations, are what `timeline` and `races` take.

Not written down: what `cuda.reduce` and `cuda.vectorize` launch, and accesses to mapped and managed
memory.  On a machine with a GPU, helper functions in other modules keep the GPU's `cuda`.
"""

from __future__ import annotations

import functools
import inspect
import math
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from ..hardware import Op
from ..simt import api, host_log
from ..simt.adoption import as_kernel
from ..simt.host_log import HostCall
from ..simt.streams import LEGACY

Named = list[tuple[str, int, int]]  # name, address, end


def host_ops(function: Callable[..., Any], *args: Any) -> list[Op]:
    """Call `function(*args)` in the simulator, with results, and give its calls as operations.

    Streams are numbered 1, 2, ... as they are first used; 0 is the default stream.  Host memory has
    the name of the parameter it came in by; device memory that of what was first copied into it.
    """
    function = inspect.unwrap(function)
    known: Named = []
    for name, value in inspect.signature(function).bind(*args).arguments.items():
        known += _named(name, value)
    calls: list[HostCall] = []
    with host_log.listen(calls.append):
        _in_simulator(function)(*args)
    return _as_ops(calls, known)


def recorded(function: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """A function that runs the host program `function` and gives, as plain data, its calls and the
    arrays it was given, as they are then: {"calls": [...], "arrays": [...]}."""

    @functools.wraps(function)
    def run(*args: Any) -> dict[str, Any]:
        ops = host_ops(function, *args)
        return {"calls": [asdict(op) for op in ops], "arrays": _arrays(args)}

    return run


def ops_of(calls: Iterable[Mapping[str, Any]]) -> list[Op]:
    """The operations in what a `recorded` function gave, also after a way through JSON.

    Raises TypeError, KeyError or ValueError for anything else.
    """
    return [_op_of(call) for call in calls]


def _op_of(call: Mapping[str, Any]) -> Op:
    op = Op(**{**call, "after": tuple(map(str, call["after"])),
               **{key: tuple((str(name), int(low), int(high)) for name, low, high in call[key])
                  for key in ("reads", "writes")}})  # fmt: skip
    kinds = {"name": str, "kind": str, "event": str, "stream": int, "pageable": bool}
    wrong = [key for key, kind in kinds.items() if not isinstance(getattr(op, key), kind)]
    numbers = (op.ms or 0, op.nbytes)
    if wrong or not all(isinstance(n, (int, float)) and 0 <= n < math.inf for n in numbers):
        raise TypeError(f"this is no call of a host program: {call!r}")
    return op


def _arrays(value: Any) -> list[Any]:
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [array for item in value for array in _arrays(item)]
    return []


def _named(name: str, value: Any) -> Named:
    if isinstance(value, np.ndarray):
        low, count, *_ = host_log.place(value)
        return [(name, low, low + count)] if count else []
    if isinstance(value, (list, tuple)):
        return [one for k, item in enumerate(value) for one in _named(f"{name}[{k}]", item)]
    return []


def _in_simulator(function: Any) -> Any:
    """The function with the simulator's `cuda` and kernels, whatever backend the notebook has."""
    scope = dict(function.__globals__)
    for name, value in scope.items():
        if getattr(value, "__name__", "") == "numba.cuda":
            scope[name] = api
        elif hasattr(value, "py_func") and hasattr(value, "targetoptions"):
            scope[name] = as_kernel(value)
    copy = types.FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _as_ops(calls: Sequence[HostCall], known: Named) -> list[Op]:
    streams: dict[int, int] = {0: 0, LEGACY: 0, host_log.WHOLE_DEVICE: host_log.WHOLE_DEVICE}
    counts: dict[str, int] = {}
    ops = []
    for call in calls:
        handle = call.stream
        if call.event is None or call.kind != "sync":
            streams.setdefault(handle, len(streams) - 2)
        what = call.name or call.kind
        number = counts[what] = counts.get(what, -1) + 1
        reads = tuple(_place(known, place, "") for place in call.reads if place[1])
        source = reads[0][0] if call.kind == "h2d" and reads else ""
        writes = tuple(_place(known, place, source) for place in call.writes if place[1])
        touched = call.reads + call.writes if call.kind == "kernel" else call.writes
        nbytes = sum(size for _, size, *_ in touched)
        ops.append(Op(
            f"{what} {number}", call.kind, streams.get(handle, 0), None if nbytes else 0.0, nbytes,
            pageable=call.kind in ("h2d", "d2h") and not call.pinned,
            event="" if call.event is None else f"event {call.event}",
            reads=reads, writes=writes,
        ))  # fmt: skip
    return _renumbered(ops)


def _place(known: Named, place: host_log.Place, source: str) -> tuple[str, int, int]:
    """The memory that this place is in, by name; a new name when it is in none."""
    low, high, whole_low, whole = place[0], place[0] + place[1], place[2], place[3]
    for name, start, end in known:
        if start <= low and high <= end:
            return name, low - start, high - start
    taken = {name for name, _, _ in known}
    name = f"device {source}" if source else ""
    if not name or name in taken:
        name = next(f"device {k}" for k in range(len(taken) + 1) if f"device {k}" not in taken)
    known.append((name, whole_low, whole_low + whole))
    return name, low - whole_low, high - whole_low


def _renumbered(ops: Sequence[Op]) -> list[Op]:
    """Events as numbers from 0, in the order of their use: the same program, the same names."""
    numbers: dict[str, str] = {}
    for op in ops:
        if op.event:
            numbers.setdefault(op.event, f"event {len(numbers)}")
    return [replace(op, event=numbers[op.event]) if op.event else op for op in ops]
