"""Calls of the reference: builtins, casts, math, cuda, device functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import cuda, types
from numba.cuda import stubs
from numba.cuda.descriptor import cuda_target
from numba.cuda.dispatcher import CUDADispatcher

from . import arithmetic, memory
from .marks import MARK

if TYPE_CHECKING:
    from .machine import Function

Lowered = tuple[str | None, Any]
AXIS = "xyz"
SHUFFLES = ("shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync")
VOTES = ("all_sync", "any_sync", "eq_sync", "ballot_sync")
BARRIERS = ("syncthreads", "syncthreads_count", "syncthreads_and", "syncthreads_or")


def lower(fn: Function, node: Any, target: Any, called: Any, signature: Any) -> Lowered:
    """The text of a call and the type of its value."""
    from .machine import Unknown

    args = [fn.read(v, t) if v.name not in fn.static else None
            for v, t in zip(node.args, signature.args, strict=False)]  # fmt: skip
    kinds = tuple(arithmetic.plain(t) for t in signature.args)
    result = signature.return_type
    line = node.loc.line
    if isinstance(called, CUDADispatcher):
        return _device(fn, called, args, signature, line), result
    if getattr(called, "name", None) == MARK or getattr(called, "__name__", None) == MARK:
        fn.emit(f"t.mark({args[0]})")
        return "None", None
    if called in (range, slice, enumerate, zip, len):
        if called is enumerate:
            items = f"t.items({line}, {args[0]})"
            return f"enumerate({', '.join([items, *args[1:]])})", None
        if called is zip:
            return f"zip({', '.join(f't.items({line}, {a})' for a in args)}, strict=False)", None
        if called is len:
            array = isinstance(kinds[0], types.Array)
            return f"{args[0]}.shape[0]" if array else f"len({args[0]})", result
        return f"{called.__name__}({', '.join(args)})", result
    if isinstance(called, types.Type) or (
        isinstance(result, types.Number) and isinstance(called, type) and hasattr(called, "dtype")
    ):  # float32(x), np.int8(x)
        return fn.cast(args[0], kinds[0], result), result
    name = _cuda_name(called)
    if name is not None:
        return _cuda(fn, node, target, name, args, signature)
    f = arithmetic.function(called, kinds, result)
    if f is None:
        raise Unknown(f"call of {called}")
    if called in (min, max) and result in arithmetic.FLOATS:
        for k in range(1, len(args)):  # compared pair by pair, in the type that holds both
            if not {v.name for v in node.args[: k + 1]} <= fn.fixed:
                fn.count(node, cuda_target.typing_context.unify_types(*kinds[: k + 1]))
    return f"{fn.held(f)}({', '.join(args)})", result


def _device(fn: Function, called: Any, args: list[Any], signature: Any, line: int) -> str:
    code = called.overloads[tuple(signature.args)]
    f, generator = fn.compiler.function(code, (called, tuple(signature.args)))
    fn.emit(f"saved = t.path; t.path = (*t.together({line}), 'call')")
    text = f"{'(yield from ' if generator else '('}{fn.held(f)}(t, {', '.join(args)}))"
    fn.emit(f"back = {text}")
    fn.emit("t.path = saved")
    return "back"


def _cuda_name(called: Any) -> str | None:
    """The name below cuda of what is called, such as "atomic.add"."""
    for owner, prefix in ((cuda, ""), (stubs.atomic, "atomic."), (stubs.shared, "shared."),
                          (stubs.local, "local."), (stubs.const, "const.")):  # fmt: skip
        name = getattr(called, "__name__", "").split(".")[-1]
        if name and getattr(owner, name, None) is called:
            return prefix + name
    return None


def _cuda(
    fn: Function, node: Any, target: Any, name: str, args: list[Any], signature: Any
) -> Lowered:
    from .machine import Unknown

    line, result = node.loc.line, signature.return_type
    if name in ("grid", "gridsize"):
        if isinstance(result, types.BaseTuple):
            parts = "".join(f"t.dims['{name}.{a}'], " for a in AXIS[: len(result.types)])
            return f"({parts})", result
        return f"t.dims['{name}.x']", result
    if name == "shared.array":
        key = f"{line}, {fn.held(result)}"
        make = f"{fn.held(memory.fresh)}('shared', {args[0]}, {fn.held(result.dtype)})"
        return f"t.shared.get(({key})) or t.shared.setdefault(({key}), {make})", result
    if name == "local.array":
        return f"{fn.held(memory.fresh)}('local', {args[0]}, {fn.held(result.dtype)})", result
    if name == "const.array_like":
        return args[0], result
    if name in BARRIERS:
        value = args[0] if args else "None"
        return f"(yield ('barrier', {line}, {name!r}, {value}))", result
    if name == "syncwarp":
        mask = args[0] if args else "0xffffffff"
        return f"(yield ('warp', {line}, {name!r}, {mask}))", result
    if name in SHUFFLES or name in VOTES:
        return f"(yield ('warp', {line}, {name!r}, {', '.join(args)}))", result
    if name.startswith("atomic."):
        kind = signature.args[0].dtype
        value = fn.cast(args[2], signature.args[2], kind)
        cut = fn.held(arithmetic.wrap(kind)) if isinstance(kind, types.Integer) else "type(old)"
        fn.emit(f"at = {args[0]}.locate({args[1]})")
        fn.emit(f"t.touch({line}, 'atomic', {args[0]}.root, at)")
        fn.emit(f"old = {args[0]}.element(at); new = {value}")
        change = {"add": "old + new", "sub": "old - new", "max": "max(old, new)", "exch": "new",
                  "min": "min(old, new)", "and_": "old & new", "or_": "old | new",
                  "xor": "old ^ new"}.get(name.removeprefix("atomic."))  # fmt: skip
        if change is None:
            raise Unknown(name)
        fn.emit(f"{args[0]}.root.buf[at] = {cut}({change})")
        return "old", result
    if name in arithmetic.BITS:
        width = signature.args[0].bitwidth
        f = fn.held(arithmetic.BITS[name])
        cut = arithmetic.plain(signature.args[0])
        unsigned = types.Integer.from_bitwidth(width, False)
        value = f"{f}({fn.cast(args[0], cut, unsigned)}, {width})"
        return fn.cast(value, types.uint64, result), result
    if name == "selp":
        return f"({args[1]} if {args[0]} else {args[2]})", result
    if name.startswith("threadfence"):
        return "None", None
    raise Unknown(f"cuda.{name}")
