"""`run`: a launch of a Triton kernel, on the CPU with every access looked at, or on a GPU."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import arguments
from .absent import missing
from .device import on_gpu
from .errors import TileError
from .interpreting import interpreting
from .memory import Memory, Region, region
from .places import place_of_access, raised
from .report import Run

OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion")
Grid = int | tuple[int, ...] | Callable[[Mapping[str, Any]], tuple[int, ...]]


def run(kernel: Any, grid: Grid, *args: Any, device: str = "cpu", **named: Any) -> Run:
    """Launch `kernel[grid](*args, **named)` on NumPy arrays or torch tensors, and count.

    kernel  a function under @triton.jit, as Triton itself takes it
    grid    programs along up to three axes, or a function from the arguments by name to those
    named   further arguments, constants (tl.constexpr) and options such as num_warps
    device  "cpu": Triton's interpreter, which counts; "gpu": compiled, nothing is counted, arrays
            are copied there and back

    On the CPU an access outside an argument's memory raises TileError and nothing else is touched.
    Lanes that are masked off do not count.  An offset that leaves a row but stays inside the array
    is legal, as on a GPU, and is not told.  Lanes that are masked off in a load without other= hold
    NaN (77 in integers): on a GPU they hold anything.
    Raises TileError, also where Triton is not installed (it exists for Linux only).
    """
    jit, bound, chosen = bind(kernel, args, named)
    shape = _shape(jit, grid, bound)
    if device == "gpu":
        return on_gpu(jit, shape, bound, chosen)
    return _on_cpu(jit, shape, bound)


def bind(
    kernel: Any, args: Sequence[Any], named: Mapping[str, Any]
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """(the kernel as Triton's JITFunction, arguments by name in order, options).

    Raises TileError for what is no kernel, and for arguments that do not fit.
    """
    jit, extra = as_jit(kernel)
    params = [one.name for one in jit.params]
    options = {k: v for k, v in named.items() if k in OPTIONS and k not in params}
    named = {**extra, **{k: v for k, v in named.items() if k not in options}}
    unknown = [name for name in named if name not in params]
    defaults = {
        one.name: one.default for one in jit.params if one.has_default and one.name not in named
    }
    found = {**defaults, **named, **dict(zip(params, args, strict=False))}
    for name, value in list(found.items()):
        if isinstance(value, Computed):
            found[name] = value.rule(found)
    missing = [name for name in params if name not in found]
    twice = [name for name in params[: len(args)] if name in named and name not in extra]
    if unknown or missing or twice or len(args) > len(params):
        text = f"{jit.__name__} has the parameters {', '.join(params)}."
        for what, names in (("Missing", missing), ("Unknown", unknown), ("Given twice", twice)):
            text += f"  {what}: {', '.join(names)}." if names else ""
        text += f"  {len(args)} values were given." if len(args) > len(params) else ""
        raise TileError(text, "launch")
    return jit, {name: found[name] for name in params}, options


@dataclass(frozen=True)
class Computed:
    """A constant under @triton.heuristics: a rule from the other arguments."""

    rule: Callable[[Mapping[str, Any]], Any]


def as_jit(kernel: Any) -> tuple[Any, dict[str, Any]]:
    """(JITFunction, constants that @triton.autotune and @triton.heuristics give it).

    Of the configurations to choose from it is the first: without a GPU there is nothing to time.
    """
    try:
        from triton.runtime.autotuner import Autotuner, Heuristics
        from triton.runtime.jit import JITFunction
    except ImportError:
        raise missing() from None
    extra: dict[str, Any] = {}
    while not isinstance(kernel, JITFunction):
        if isinstance(kernel, Autotuner):
            extra.update(kernel.configs[0].kwargs)
        if isinstance(kernel, Heuristics):
            extra.update({name: Computed(rule) for name, rule in kernel.values.items()})
        inner = getattr(kernel, "fn", None)
        if inner is None:
            name = getattr(kernel, "__name__", repr(kernel))
            text = f"{name} is no Triton kernel: put @triton.jit above its def."
            raise TileError(text, "wrong_type")
        # TRITON_INTERPRET=1 makes another class, around the plain function.
        kernel = (
            inner if hasattr(inner, "fn") or isinstance(inner, JITFunction) else JITFunction(inner)
        )
    return kernel, extra


def _shape(jit: Any, grid: Grid, bound: Mapping[str, Any]) -> tuple[int, int, int]:
    given = grid(bound) if callable(grid) else grid
    axes = tuple(given) if isinstance(given, tuple | list) else (given,)
    whole = all(isinstance(n, int | np.integer) and n >= 0 for n in axes)
    if not 1 <= len(axes) <= 3 or not whole:
        text = (
            f"{jit.__name__}: the grid is {given!r}; it has to be one to three whole numbers, "
            "such as (triton.cdiv(n, BLOCK),)."
        )
        raise TileError(text, "launch")
    x, y, z = (*(int(n) for n in axes), 1, 1)[:3]
    return x, y, z


def default_device() -> str:
    """Where `kernel[grid](...)` goes here: "cpu" or "gpu"."""
    from .. import backend

    return "gpu" if backend() == "gpu" else "cpu"


def _on_cpu(jit: Any, shape: tuple[int, int, int], bound: Mapping[str, Any]) -> Run:
    from triton.runtime import interpreter

    from .builder import Builder
    from .rewrite import rewritten

    regions: dict[str, Region] = {}
    handles = {}
    constants = {one.name for one in jit.params if one.is_constexpr}
    for position, (name, value) in enumerate(bound.items()):
        handles[name] = value if name in constants else _handle(position, name, value, regions)
    memory = Memory(jit.__name__, tuple(bound), regions, place_of_access)
    builder = Builder(memory)
    builder.set_grid_dim(*shape)
    function = rewritten(jit.fn)
    used = 3 if shape[2] > 1 else 2 if shape[1] > 1 else 1
    with interpreting(interpreter, builder), np.errstate(all="ignore"):
        for number, (z, y, x) in enumerate(itertools.product(*map(range, reversed(shape)))):
            place = (x, y, z)
            text = f"program {x if used == 1 else place[:used]}"
            builder.start(place, number, text)
            try:
                function(**handles)
            except TileError:
                raise
            except Exception as error:  # Triton's checks, and Python's own errors in the kernel
                raise raised(jit.__name__, text, error) from None
    return Run(jit.__name__, shape, memory, builder.notes)


def _handle(position: int, name: str, value: Any, regions: dict[str, Region]) -> Any:
    """An argument as the kernel sees it."""
    import triton.language as tl
    from triton.runtime.interpreter import TensorHandle

    if value is None or isinstance(value, str | tl.dtype):
        return value
    if isinstance(value, tl.constexpr):
        return value.value
    if isinstance(value, np.ndarray) or arguments.is_tensor(value):
        array, kind_name = arguments.as_array(name, value)
        regions[name] = region(position, name, array)
        kind: Any = tl.pointer_type(getattr(tl, kind_name))
        data = np.array([regions[name].origin], np.uint64)
    else:
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, bool):
            kind, data = tl.int1, np.array([value])
        elif isinstance(value, int):
            kind = tl.int32 if -(2**31) <= value < 2**31 else tl.int64
            data = np.array([value], np.int32 if kind == tl.int32 else np.int64)
        elif isinstance(value, float):
            kind, data = tl.float32, np.array([value], np.float32)
        else:
            text = f"{name} is a {type(value).__name__}: give an array, a tensor or a number."
            raise TileError(text, "launch", pointer=name)
    return tl.tensor(TensorHandle(data, kind), kind)
