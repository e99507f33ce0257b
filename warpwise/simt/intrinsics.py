"""Lowering of `cuda.*` calls: indices, memory, barriers, warp functions, atomics.

The result types are Numba's (numba-cuda 0.30, docs "CUDA Kernel API"): ballot_sync and the match
functions give int32, activemask and ffs uint32, votes bool.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core import types

from . import cache_hints, literals, stores, typed, typing, vectors
from .errors import LaunchError, TypingError, UnsupportedError
from .program import Val, describe
from .refusals import alternative
from .symbols import VECTORS, Symbol
from .typing import ArrayType, TupleType, Type

if TYPE_CHECKING:
    from .expressions import Expressions

Handler = Callable[["Expressions", ast.Call, list[Val]], Val]

NOTHING = Val("None", typing.STATIC, None)


class GridGroup:
    """What cuda.cg.this_grid() gives: all threads of the launch."""


GRID_GROUP = GridGroup()


def lower_symbol(fl: Expressions, node: ast.Call, symbol: Symbol) -> Val:
    """A call of cuda.<name>."""
    name = symbol.name
    if name in VECTORS:
        return vectors.construct(fl, node, name)
    handler = SYMBOLS.get(name)
    if handler is None:
        parts = [known for known in SYMBOLS if known.startswith(f"{name}.")]
        if parts:
            fl.fail(TypingError, node, f"cuda.{name} itself cannot be called",
                    f"Call a function of it, such as cuda.{parts[0]}.")  # fmt: skip
        instead = alternative(name) or "nothing was run"
        fl.fail(UnsupportedError, node, f"cuda.{name} is not in the simulator",
                instead[0].upper() + instead[1:] + ".")  # fmt: skip
    args = [fl.expression(arg) for arg in node.args]
    named = KEYWORDS.get(name, ())
    given = {k.arg: fl.expression(k.value) for k in node.keywords}
    given.pop("alignment", None)  # changes speed only
    for parameter in named[len(args) :]:
        if parameter in given:
            args.append(given.pop(parameter))
    if given:
        fl.fail(TypingError, node, f"cuda.{name} has no argument {next(iter(given))}")
    return handler(fl, node, args)


def expect(fl: Expressions, node: ast.Call, args: list[Val], name: str, *counts: int) -> None:
    """Refuse a wrong number of arguments."""
    if len(args) not in counts:
        wanted = " or ".join(str(c) for c in counts)
        plural = "s" * (counts != (1,))
        fl.fail(TypingError, node, f"cuda.{name} takes {wanted} argument{plural}, got {len(args)}")


# -- indices ----------------------------------------------------------------------


def _grid(name: str) -> Handler:
    def lower(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
        expect(fl, node, args, name, 1)
        ndim = args[0]
        if not ndim.known or not typing.is_integer(ndim.type) or int(ndim.const) not in (1, 2, 3):
            got = f"{ndim.const}" if ndim.known else "a value known only at run time"
            fl.fail(
                TypingError, node,
                f"cuda.{name} takes the number of dimensions, 1, 2 or 3; got {got}",
                f"Write cuda.{name}(1) for a one-dimensional launch.",
            )  # fmt: skip
        n = int(ndim.const)
        line = node.lineno
        fl.program.notes.append((name, n, line, fl.source.line_text(line)))
        if n == 1:
            return Val(f"rt.{name}_x", types.int64)
        return fl.tuple_of([Val(f"rt.{name}_{axis}", types.int64) for axis in "xyz"[:n]])

    return lower


# -- memory -----------------------------------------------------------------------


#: Bytes that a kernel may declare, and what to do beyond.  Source: CUDA C++ Programming Guide,
#: technical specifications: static shared memory of a block, local memory of a thread.
LIMITS = {
    "shared": (48 * 1024, "Use a smaller tile, or dynamic shared memory: shape 0 and the size in "
               "bytes in the launch."),
    "local": (512 * 1024, "Use a smaller array, or an argument with a part for each thread."),
}  # fmt: skip


def _declare(fl: Expressions, node: ast.Call, space: str, dtype: Type, nbytes: int) -> None:
    """Count the bytes of a shared or local array; LaunchError when there are too many."""
    declared = getattr(fl.program, f"{space}_bytes")
    declared[id(node), dtype] = nbytes
    total, (limit, hint) = sum(declared.values()), LIMITS[space]
    if total > limit:
        whose = "a kernel may declare" if space == "shared" else "a thread can have"
        fl.fail(
            LaunchError, node,
            f"the {space} arrays of this kernel take {total:,} bytes; {whose} {limit:,}", hint,
        )  # fmt: skip


def _array(space: str) -> Handler:
    name = f"{space}.array"

    def lower(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
        if len(args) != 2:
            fl.fail(
                TypingError, node,
                f"cuda.{name} takes two arguments, a shape and a type; got {len(args)}",
                f"For example: cuda.{name}(64, np.float32).",
            )  # fmt: skip
        shape, dtype = (
            _shape(fl, node, name, args[0]),
            number_type(fl, node, f"cuda.{name}", args[1]),
        )
        if typing.is_bfloat16(dtype):
            fl.fail(
                TypingError, node, "Numba has no shared or local arrays of bfloat16",
                "Keep the bits: an array of uint16, with cuda.bf16.bfloat16_as_uint16 and "
                "uint16_as_bfloat16.",
            )  # fmt: skip
        itemsize = typing.numpy_dtype(dtype).itemsize
        fl.local_arrays |= space == "local"
        if space == "local" and 0 in shape:
            fl.fail(TypingError, node, "a local array has at least one element")
        _declare(fl, node, space, dtype, math.prod(shape) * itemsize)
        place = fl.program.place(node, dtype)
        label = fl.target_name or f"{space} array"
        out = fl.temporary("view")
        if isinstance(dtype, types.Record) or typing.is_vector(dtype):
            fl.emit(
                f"{out} = record_storage(rt, {place}, {shape!r}, {itemsize}, {space!r}, {label!r})"
            )
        else:
            element = fl.program.constant(typing.numpy_dtype(dtype))
            fl.emit(f"{out} = {space}_array(rt, {place}, {shape!r}, {element}, {label!r})")
        return Val(out, ArrayType(dtype, len(shape), space=space))

    return lower


def _shape(fl: Expressions, node: ast.Call, name: str, shape: Val) -> tuple[int, ...]:
    items = fl.items(shape) if isinstance(shape.type, TupleType) else [shape]
    sizes = []
    for item in items:
        if not item.known or not typing.is_integer(item.type):
            fl.fail(
                TypingError, node,
                f"the shape of cuda.{name} has to be known when the kernel is compiled",
                "Use a number or a global constant, such as TILE = 16 outside the kernel; a size "
                "that is an argument needs dynamic shared memory.",
            )  # fmt: skip
        if int(item.const) < 0:
            fl.fail(TypingError, node, f"a size of cuda.{name} is negative: {int(item.const)}")
        sizes.append(int(item.const))
    written = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "shape")]
    computed = literals.computed_part(fl, written[0])
    if computed is not None:
        text = ast.unparse(computed)
        fl.fail(
            TypingError, node,
            f"the compiler does not take {text} as a constant in the shape of cuda.{name}",
            f"Compute it outside the kernel, SIZE = {text}, and write SIZE here.",
        )  # fmt: skip
    return tuple(sizes)


def number_type(fl: Expressions, node: ast.Call, name: str, dtype: Val) -> Type:
    """The type that an argument names."""
    value = dtype.const if dtype.static else None
    if isinstance(value, (types.Number, types.Boolean, types.Record)) or typing.is_vector(value):
        return value
    if isinstance(value, str):  # 'int32'
        named = getattr(types, value, None)
        if isinstance(named, (types.Number, types.Boolean)):
            return named
    if isinstance(value, np.dtype) and value.names:
        return _record_type(fl, node, value)
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return typing.numba_type(np.dtype(value))
    fl.fail(
        TypingError, node, f"{name} takes a type here, such as float32",
        "Import it: from numba import float32.",
    )  # fmt: skip


def _record_type(fl: Expressions, node: ast.Call, dtype: np.dtype[Any]) -> Type:
    try:
        return typing.numba_type(dtype)
    except typing.NoSignature as error:
        fl.fail(TypingError, node, str(error))


def _const_array(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    expect(fl, node, args, "const.array_like", 1)
    if not isinstance(args[0].type, ArrayType) or not args[0].type.readonly:
        fl.fail(TypingError, node, "cuda.const.array_like takes a global NumPy array")
    return args[0]


# -- barriers ---------------------------------------------------------------------


def _barrier(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    expect(fl, node, args, "syncthreads", 0)
    site = fl.site(node, "syncthreads", "barrier")
    if fl.program.serial:
        fl.emit(f"yield (None, None, {fl.mask}, {site})")
    else:
        fl.emit(f"barrier(rt, {fl.mask}, {site})")
    return NOTHING


def _barrier_with(mode: str) -> Handler:
    def lower(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
        expect(fl, node, args, f"syncthreads_{mode}", 1)
        if not typing.is_integer(args[0].type):
            condition = ast.unparse(node.args[0])
            fl.fail(
                TypingError, node,
                f"cuda.syncthreads_{mode} takes an integer, not {describe(args[0].type)}",
                f"Write cuda.syncthreads_{mode}(int32({condition})).",
            )  # fmt: skip
        predicate = fl.truth(fl.cast(args[0], types.int32, node), node)
        site = fl.site(node, f"syncthreads_{mode}", "barrier")
        out = fl.temporary()
        if fl.program.serial:
            fl.emit(f"{out} = yield ({mode!r}, {predicate.code}, {fl.mask}, {site})")
        else:
            fl.emit(f"{out} = barrier_vote(rt, {mode!r}, {predicate.code}, {fl.mask}, {site})")
        return Val(out, types.int32)

    return lower


def _syncwarp(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    expect(fl, node, args, "syncwarp", 0, 1)
    mask = args[0] if args else fl.number(node, 0xFFFFFFFF)
    if not typing.is_integer(mask.type):
        fl.fail(TypingError, node, f"the mask of syncwarp is an integer, not {describe(mask.type)}")
    if not mask.known or int(mask.const) & 0xFFFFFFFF != 0xFFFFFFFF:
        fl.program.partial = True
    code = fl.cast(mask, types.int64, node).code
    fl.emit(f"warp_barrier(rt, {code}, {fl.mask}, {fl.site(node, 'syncwarp', 'warp')})")
    return NOTHING


def _nothing(name: str, *counts: int) -> Handler:
    """Functions that change nothing here, such as sleeping."""

    def lower(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
        expect(fl, node, args, name, *counts)
        return NOTHING

    return lower


def _fence(name: str) -> Handler:
    def lower(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
        expect(fl, node, args, name, 0)
        site = fl.site(node, name, "fence")
        fl.emit(f"fence(rt, {name != 'threadfence_block'}, {fl.mask}, {site})")
        return NOTHING

    return lower


def _this_grid(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    expect(fl, node, args, "cg.this_grid", 0)
    return Val("None", typing.STATIC, GRID_GROUP)


def lower_grid_sync(fl: Expressions, node: ast.Call) -> Val:
    """g.sync(): the whole grid runs as one chunk, so that all blocks are there."""
    fl.program.cooperative = True
    fl.emit(f"grid_barrier(rt, {fl.mask}, {fl.site(node, 'sync', 'barrier')})")
    return NOTHING


# -- warp functions ---------------------------------------------------------------


def _mask(fl: Expressions, node: ast.Call, mask: Val) -> str:
    if not typing.is_integer(mask.type):
        fl.fail(TypingError, node, f"the mask is an integer, not {describe(mask.type)}",
                "0xffffffff names all 32 lanes.")  # fmt: skip
    return fl.cast(mask, types.int64, node).code


def _shuffle(mode: str) -> Handler:
    name = "shfl_sync" if mode == "idx" else f"shfl_{mode}_sync"

    def lower(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
        expect(fl, node, args, name, 3)
        mask = _mask(fl, node, args[0])
        value = args[1]
        if value.type not in (types.int32, types.int64, types.float32, types.float64):
            fl.fail(
                TypingError, node,
                f"cuda.{name} moves int32, int64, float32 or float64, not {describe(value.type)}",
                "Convert the value, for example with int32(x).",
            )  # fmt: skip
        by = fl.cast(args[2], types.int64, node).code
        site = fl.site(node, name, "warp")
        out = fl.temporary()
        fl.emit(f"{out} = shuffle(rt, {mode!r}, {mask}, {value.code}, {by}, {fl.mask}, {site})")
        return Val(out, value.type)

    return lower


def _vote(mode: str) -> Handler:
    name = f"{mode}_sync"

    def lower(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
        expect(fl, node, args, name, 2)
        mask = _mask(fl, node, args[0])
        if not typing.is_integer(args[1].type) and args[1].type != types.boolean:
            fl.fail(TypingError, node, "the predicate is an integer or a boolean")
        predicate = fl.truth(args[1], node).code
        site = fl.site(node, name, "warp")
        out = fl.temporary()
        if mode == "ballot":
            fl.emit(f"{out} = ballot(rt, {mask}, {predicate}, {fl.mask}, {site})")
            return Val(out, types.int32)
        fl.emit(f"{out} = vote(rt, {mode!r}, {mask}, {predicate}, {fl.mask}, {site})")
        return Val(out, types.boolean)

    return lower


def _match(mode: str) -> Handler:
    name = f"match_{mode}_sync"

    def lower(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
        expect(fl, node, args, name, 2)
        mask = _mask(fl, node, args[0])
        if not typing.is_number(args[1].type):
            fl.fail(TypingError, node, f"cuda.{name} compares numbers")
        site = fl.site(node, name, "warp")
        out = fl.temporary()
        fl.emit(f"{out} = match_{mode}(rt, {mask}, {args[1].code}, {fl.mask}, {site})")
        kind = types.int32 if mode == "any" else TupleType((types.int32, types.boolean))
        return Val(out, kind)

    return lower


def _activemask(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    expect(fl, node, args, "activemask", 0)
    return Val(f"activemask(rt, {fl.mask})", types.uint32)


def _lanemask_lt(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    expect(fl, node, args, "lanemask_lt", 0)
    return Val("lanemask_lt(rt)", types.uint32)


# -- atomics ----------------------------------------------------------------------

ATOMIC_TYPES = {types.int32, types.int64, types.uint32, types.uint64}
ATOMIC_FLOATS = {types.float32, types.float64}


def _atomic(name: str) -> Handler:
    allowed = set(ATOMIC_TYPES)
    if name in ("add", "sub", "max", "min", "nanmax", "nanmin"):
        allowed |= ATOMIC_FLOATS
    if name in ("inc", "dec"):
        allowed = {types.uint32, types.uint64}

    def lower(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
        expect(fl, node, args, f"atomic.{name}", 3)
        array, index, label = _atomic_target(fl, node, args[0], args[1], name, allowed)
        value = fl.cast(args[2], array.type.dtype, node)
        site = fl.site(node, label, "atomic", array.type.space)
        out = fl.temporary("v")
        fl.emit(
            f"{out} = atomic(rt, {name!r}, {array.code}, ({index}), ({value.code},), {fl.mask}, "
            f"{site})"
        )
        return Val(out, array.type.dtype)

    return lower


def _cas(name: str) -> Handler:
    def lower(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
        if name == "compare_and_swap":  # works on element 0
            expect(fl, node, args, f"atomic.{name}", 3)
            args = [args[0], fl.number(node, 0), args[1], args[2]]
        expect(fl, node, args, f"atomic.{name}", 4)
        array, index, label = _atomic_target(fl, node, args[0], args[1], name, ATOMIC_TYPES)
        old, value = (fl.cast(v, array.type.dtype, node).code for v in args[2:])
        site = fl.site(node, label, "atomic", array.type.space)
        out = fl.temporary("v")
        fl.emit(
            f"{out} = atomic(rt, 'cas', {array.code}, ({index}), ({old}, {value}), {fl.mask}, "
            f"{site})"
        )
        return Val(out, array.type.dtype)

    return lower


def _atomic_target(
    fl: Expressions, node: ast.Call, array: Val, index: Val, name: str, allowed: set[Type]
) -> tuple[Val, str, str]:
    label = ast.unparse(node.args[0])
    if not isinstance(array.type, ArrayType):
        fl.fail(TypingError, node, f"cuda.atomic.{name} takes an array first, not "
                f"{describe(array.type)}")  # fmt: skip
    if array.type.readonly:
        fl.fail(TypingError, node, *stores.why_readonly(fl, label))
    if array.type.dtype not in allowed:
        listed = ", ".join(sorted(str(t) for t in allowed))
        fl.fail(TypingError, node, f"cuda.atomic.{name} works on {listed}; {label} holds "
                f"{describe(array.type.dtype)}")  # fmt: skip
    parts = fl.items(index) if isinstance(index.type, TupleType) else [index]
    if len(parts) != array.type.ndim:
        fl.fail(
            TypingError, node,
            f"{label} has {array.type.ndim} dimension{'s' * (array.type.ndim != 1)} but is "
            f"indexed with {len(parts)}",
        )  # fmt: skip
    for part in parts:
        if not typing.is_integer(part.type):
            fl.fail(TypingError, node, f"an index of {label} has type {describe(part.type)}; it "
                    "has to be an integer")  # fmt: skip
    return array, "".join(f"{p.code}, " for p in parts), label


SYMBOLS: dict[str, Handler] = {
    "grid": _grid("grid"), "gridsize": _grid("gridsize"),
    "shared.array": _array("shared"), "local.array": _array("local"),
    "const.array_like": _const_array,
    "syncthreads": _barrier, "syncthreads_count": _barrier_with("count"),
    "syncthreads_and": _barrier_with("and"), "syncthreads_or": _barrier_with("or"),
    "cg.this_grid": _this_grid, "syncwarp": _syncwarp,
    **{name: _fence(name) for name in ("threadfence", "threadfence_block", "threadfence_system")},
    "nanosleep": _nothing("nanosleep", 1),
    "shfl_sync": _shuffle("idx"), "shfl_up_sync": _shuffle("up"),
    "shfl_down_sync": _shuffle("down"), "shfl_xor_sync": _shuffle("xor"),
    "all_sync": _vote("all"), "any_sync": _vote("any"), "eq_sync": _vote("eq"),
    "ballot_sync": _vote("ballot"), "match_any_sync": _match("any"),
    "match_all_sync": _match("all"), "activemask": _activemask, "lanemask_lt": _lanemask_lt,
    **typed.FUNCTIONS, **cache_hints.FUNCTIONS,
    **{f"atomic.{name}": _atomic(name) for name in
       ("add", "sub", "max", "min", "nanmax", "nanmin", "and_", "or_", "xor", "exch", "inc",
        "dec")},
    "atomic.cas": _cas("cas"), "atomic.compare_and_swap": _cas("compare_and_swap"),
}  # fmt: skip

#: Parameters that may be given by name.
KEYWORDS: dict[str, tuple[str, ...]] = {
    "shared.array": ("shape", "dtype"), "local.array": ("shape", "dtype"),
    "shfl_sync": ("mask", "value", "src_lane"), "syncwarp": ("mask",),
}  # fmt: skip
