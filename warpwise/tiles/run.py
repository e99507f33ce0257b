"""`run`: a launch of a Triton kernel, on the CPU with every access looked at, or on a GPU."""

from __future__ import annotations

import itertools
import linecache
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from . import arguments
from .errors import TileError, at_line
from .memory import Memory, Region, region
from .report import Run

OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion")
_HERE = os.path.dirname(os.path.abspath(__file__))
_SITE = os.path.dirname(os.path.dirname(np.__file__))
_OTHERS = tuple(os.path.join(one, "") for one in (_HERE, f"{_SITE}/triton", f"{_SITE}/numpy"))
Grid = int | tuple[int, ...] | Callable[[Mapping[str, Any]], tuple[int, ...]]


def run(kernel: Any, grid: Grid, *args: Any, device: str | None = None, **named: Any) -> Run:
    """Launch `kernel[grid](*args, **named)` on NumPy arrays or torch tensors.

    kernel  a function under @triton.jit, as Triton itself takes it
    grid    programs along up to three axes, or a function from the arguments by name to those
    named   further arguments, constants (tl.constexpr) and options such as num_warps
    device  "cpu": Triton's interpreter; "gpu": compiled, arrays are copied there and back; by
            default the GPU where the course uses one

    On the CPU an access outside an argument's memory raises TileError and nothing else is touched.
    Lanes that are masked off do not count.  An offset that leaves a row but stays inside the array
    is legal, as on a GPU, and is not told.  Lanes that are masked off in a load without other= hold
    NaN (77 in integers): on a GPU they hold anything.
    Raises TileError, also where Triton is not installed (it exists for Linux only).
    """
    jit, bound, chosen = bind(kernel, args, named)
    shape = _shape(jit, grid, bound)
    if (device or default_device()) == "gpu":
        return _on_gpu(jit, kernel, shape, bound, chosen)
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
        raise TileError(
            "Triton is not installed here; it exists for Linux only.", "launch"
        ) from None
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
    """Where launches go here: "cpu" or "gpu"."""
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
    memory = Memory(jit.__name__, tuple(bound), regions, _place)
    builder = Builder(memory)
    builder.set_grid_dim(*shape)
    function = rewritten(jit.fn)
    used = 3 if shape[2] > 1 else 2 if shape[1] > 1 else 1
    with _interpreting(interpreter, builder), np.errstate(all="ignore"):
        for number, (z, y, x) in enumerate(itertools.product(*map(range, reversed(shape)))):
            place = (x, y, z)
            text = f"program {x if used == 1 else place[:used]}"
            builder.start(place, number, text)
            try:
                function(**handles)
            except TileError:
                raise
            except Exception as error:  # Triton's checks, and Python's own errors in the kernel
                raise _raised(jit.__name__, text, error) from None
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


@contextmanager
def _interpreting(interpreter: Any, builder: Any) -> Any:
    """Let the functions of tl compute on the CPU while a kernel runs.

    A kernel stays what @triton.jit made of it, so that it can be compiled as well: instead of an
    environment variable at its decoration, calls of such functions are turned over meanwhile.
    """
    import triton.language as tl
    from triton.runtime.jit import JITCallable, JITFunction

    from .narrow import is_narrow
    from .rewrite import rewritten

    # The interpreter looks for the modules to change among a function's globals.
    scope = interpreter._patch_lang(SimpleNamespace(__globals__={"tl": tl, "core": tl.core}))
    before = interpreter.interpreter_semantic.builder
    interpreter.interpreter_semantic.builder = builder
    try:
        scope.set_attr(JITFunction, "__call__", lambda self, *a, **k: rewritten(self.fn)(*a, **k))
        for name, member in list(vars(tl.tensor).items()):
            if isinstance(member, JITCallable):  # x.sum() has to pass x
                scope.set_attr(
                    tl.tensor, name, lambda self, *a, _of=member, **k: _of(self, *a, **k)
                )

        def truth(self: Any) -> bool:
            if self.handle.data.size == 1 and not self.type.is_block():
                return bool(self.handle.data.item())
            if not _learners(sys._getframe(1).f_code.co_filename):  # Triton asks: is one given?
                return True
            raise builder.refused(
                "a condition has to be one value, and this is a tile", "Use a mask, or tl.where."
            )

        scope.set_attr(tl.tensor, "__bool__", truth)

        def element(self: Any, *index: Any) -> Any:
            raise builder.refused(
                "a pointer has no elements in brackets",
                "Write tl.load(pointer + offsets, mask=...) and tl.store(pointer + offsets, ...).",
            )

        part = tl.tensor.__getitem__

        def piece(self: Any, index: Any) -> Any:
            return (
                element(self)
                if self.dtype.is_ptr() and not self.type.is_block()
                else part(self, index)
            )

        scope.set_attr(tl.tensor, "__getitem__", piece)
        scope.set_attr(tl.tensor, "__setitem__", element)
        reduce = tl.reduce

        def checked(input: Any, axis: Any, combine_fn: Any, *rest: Any, **k: Any) -> Any:
            for one in input if isinstance(input, tuple) else (input,):
                if is_narrow(one.dtype):
                    raise builder.refused(
                        f"a reduction of {one.dtype} is not followed on the CPU",
                        "Convert with .to(tl.float32) first.",
                    )
            return reduce(input, axis, combine_fn, *rest, **k)

        def total(self: Any, input: Any) -> Any:
            """Integers wrap; NumPy would widen them."""
            data = input.handle.data
            kind = data.dtype if data.dtype.kind in "iu" else None
            found = np.sum(data, axis=self.axis, keepdims=self.keep_dims, dtype=kind)
            return self.to_tensor(found, input.dtype)

        scope.set_attr(interpreter.ReduceOps, "sum", total)
        scope.set_attr(tl, "reduce", checked)
        scope.set_attr(tl.core, "reduce", checked)
        yield
    finally:
        interpreter.interpreter_semantic.builder = before
        scope.restore()


def _learners(file: str) -> bool:
    """Is this neither Triton's code, nor ours, nor NumPy's?"""
    return not file.startswith(_OTHERS)


def _place() -> tuple[int, str]:
    """(line, text) of the learner's code that is running: neither Triton's nor ours."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if _learners(name):
            return frame.f_lineno, linecache.getline(name, frame.f_lineno).strip()
        frame = frame.f_back
    return 0, ""


def _raised(kernel: str, program: str, error: Exception) -> TileError:
    """An exception from inside a program, as one sentence with the learner's line."""
    line, text = None, ""
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if _learners(name):
            line, text = trace.tb_lineno, linecache.getline(name, trace.tb_lineno).strip()
        trace = trace.tb_next
    said = (str(error).strip() or type(error).__name__).splitlines()[0]
    fact = f"{program} stops: {type(error).__name__}: {said}"
    step = "Triton's compiler refuses the same." if isinstance(error, ValueError) else ""
    return TileError(at_line(kernel, fact, line, text, step), "raised", line=line)


def _on_gpu(
    jit: Any, kernel: Any, shape: tuple[int, int, int], bound: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Run:  # fmt: skip
    """Compile and launch; arrays that are not on the GPU are copied there and back."""
    import torch

    there: dict[str, Any] = {}
    back: list[tuple[Any, Any]] = []
    for name, value in bound.items():
        if isinstance(value, np.ndarray):
            array, kind = arguments.as_array(name, value)
            host = torch.from_numpy(array)
            if kind in ("bfloat16", "float8e4nv", "float8e5"):
                host = host.view(getattr(torch, str(value.dtype)))
        elif arguments.is_tensor(value) and value.device.type == "cpu":
            host = value.detach()
        else:
            there[name] = value
            continue
        there[name] = _placed(host)
        back.append((host, there[name]))
    jit[shape](**there, **options)
    torch.cuda.synchronize()
    for host, copy in back:
        host.copy_(copy)
    return Run(jit.__name__, shape, None, {}, f"run on {torch.cuda.get_device_name()}")


def _placed(host: Any) -> Any:
    """A copy on the GPU with the same strides."""
    import torch

    if not host.numel():
        return torch.empty_like(host, device="cuda")
    size = sum((n - 1) * step for n, step in zip(host.shape, host.stride())) + 1
    flat = torch.empty(size, dtype=host.dtype, device="cuda")
    copy = flat.as_strided(host.shape, host.stride())
    return copy.copy_(host)
