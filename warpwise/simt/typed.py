"""Lowering of calls whose types Numba's own rules give and whose values one function computes.

cuda.fp16.*, cuda.bf16.*           formats.py
cuda.popc, clz, ffs, brev, fma...  warp.py
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numba.core import types

from . import formats, typing
from .errors import UnsupportedError
from .libdevice import LIBDEVICE
from .program import Val, describe
from .symbols import numba_object
from .typing import TupleType, Type

if TYPE_CHECKING:
    from .expressions import Expressions

Handler = Callable[["Expressions", ast.Call, list[Val]], Val]


def typed(dotted: str, function: str) -> Handler:
    """Handler of cuda.<dotted>; `function` is what generated source calls."""

    def lower(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
        signature = fl.resolve(numba_object(dotted), f"cuda.{dotted}", args, node)
        values = [fl.cast(a, t, node) for a, t in zip(args, signature.args, strict=True)]
        # A fused multiply-add is two operations.
        for role in ("product", "fused") if "fma" in dotted else ("",):
            fl.operation(describe(values[0].type), node, role)
        code = f"{function}({', '.join(value.code for value in values)})"
        parts = getattr(signature.result, "types", None)  # of a tuple
        if parts is None:
            return Val(code, signature.result)
        out = fl.temporary()
        fl.emit(f"{out} = {code}")
        return fl.tuple_of([Val(f"{out}[{k}]", t) for k, t in enumerate(parts)])

    return lower


def _ffs(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    """cuda.ffs: Numba has a rule for 8 and 16 bits, but no code."""
    if args and args[0].type in (types.int8, types.int16, types.uint8, types.uint16):
        fl.fail(UnsupportedError, node, f"Numba does not compile cuda.ffs of {args[0].type}",
                "Convert it: cuda.ffs(int32(x)).")  # fmt: skip
    return typed("ffs", "ffs")(fl, node, args)


def _part(z: Type) -> Type:
    return z.underlying_float


#: Result types of those functions of cmath that Numba writes in Python, and so types by compiling
#: them: constants in them are float64, so that some give complex128 for complex64.
_CMATH: dict[str, Callable[[Type], Type]] = {
    "acosh": lambda z: types.complex128, "log10": lambda z: types.complex128,
    "tanh": lambda z: types.complex128, "cosh": lambda z: z, "sinh": lambda z: z, "phase": _part,
    "polar": lambda z: TupleType((_part(z), _part(z))),
}  # fmt: skip


def lower_cmath(fl: Expressions, node: ast.Call, called: Any, args: list[Val]) -> Val:
    """A call of cmath.<name>."""
    name = called.__name__
    kinds = [a.type for a in args]
    if name == "rect" and len(kinds) == 2 and all(isinstance(t, types.Float) for t in kinds):
        wide = types.float64 in kinds
        result: Any = types.complex128 if wide else types.complex64
    elif name in _CMATH and len(kinds) == 1 and isinstance(kinds[0], types.Complex):
        result = _CMATH[name](kinds[0])
    else:
        signature = fl.resolve(called, f"cmath.{name}", args, node)
        args = [fl.cast(a, t, node) for a, t in zip(args, signature.args, strict=True)]
        result = signature.result
    code = f"CMATH[{name!r}]({', '.join(a.code for a in args)})"
    fl.operation(f"special {describe(args[0].type)}", node)
    if not isinstance(result, TupleType):
        return Val(f"{code}.astype(np.{typing.numpy_dtype(result).name})", result)
    out = fl.temporary()
    fl.emit(f"{out} = {code}")
    return fl.tuple_of([Val(f"{out}[{k}]", t) for k, t in enumerate(result.items)])


#: name under cuda -> handler
FUNCTIONS: dict[str, Handler] = {
    **{f"fp16.{name}": typed(f"fp16.{name}", f"FP16[{name!r}]") for name in formats.FP16},
    **{f"bf16.{name}": typed(f"bf16.{name}", f"BF16[{name!r}]") for name in formats.BF16},
    **{name: typed(name, name) for name in ("popc", "clz", "brev")},
    **{f"libdevice.{name}": typed(f"libdevice.{name}", f"LIBDEVICE[{name!r}]")
       for name in LIBDEVICE},
    "ffs": _ffs, "fma": typed("fma", "fused"), "cbrt": typed("cbrt", "np.cbrt"),
    "selp": typed("selp", "select"),
}  # fmt: skip
