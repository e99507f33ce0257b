"""Lowering of functions that are operators by another name: operator.add(a, b), np.sqrt(x)...

Only the ufuncs that Numba's CUDA target compiles are taken; the others have a rule for their type
but no code, and end in a KeyError of the compiler.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from . import arithmetic, comparisons, ops, typing
from .elementwise import lower_into
from .errors import TypingError, UnsupportedError
from .program import Val, describe

if TYPE_CHECKING:
    from .expressions import Expressions

Handler = Callable[["Expressions", ast.Call, list[Val]], Val]


def _expect(fl: Expressions, node: ast.Call, args: list[Val], name: str, count: int) -> None:
    if len(args) != count:
        fl.fail(TypingError, node, f"{name} takes {count} argument{'s' * (count > 1)}, got "
                f"{len(args)}")  # fmt: skip


def _binary(name: str) -> Handler:
    def lower(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
        _expect(fl, node, args, f"operator.{name}", 2)
        return arithmetic.binary(fl, name, args[0], args[1], node)

    return lower


def _divide_in_place(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    _expect(fl, node, args, "operator.itruediv", 2)
    kinds = tuple(a.type for a in args)
    if all(typing.is_integer(t) for t in kinds):
        fl.fail(UnsupportedError, node, "operator.itruediv of integers has an integer type in "
                "Numba", "Write operator.truediv(a, b), or a // b.")  # fmt: skip
    return arithmetic.binary(fl, "Div", args[0], args[1], node)


def _compare(name: str) -> Handler:
    def lower(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
        _expect(fl, node, args, f"operator.{name}", 2)
        return comparisons.compare(fl, name, args[0], args[1], node)

    return lower


def _unary(name: str) -> Handler:
    def lower(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
        _expect(fl, node, args, f"operator.{name}", 1)
        return arithmetic.unary(fl, name, args[0], node)

    return lower


def _in_place(function: Any) -> Any:
    return getattr(operator, f"i{function.__name__.rstrip('_')}")


#: function of the operator module -> handler
OPERATORS: dict[Any, Handler] = {
    **{function: _binary(name) for name, (function, _) in ops.BINARY.items()},
    **{_in_place(function): _binary(name) for name, (function, _) in ops.BINARY.items()},
    **{function: _compare(name) for name, (function, _) in ops.COMPARE.items()},
    operator.itruediv: _divide_in_place,
    operator.neg: _unary("USub"), operator.pos: _unary("UAdd"), operator.invert: _unary("Invert"),
    operator.not_: _unary("Not"),
}  # fmt: skip

#: ufunc -> what generated source calls, where NumPy's own is not what is compiled
_UFUNCS = {np.left_shift: "shift_left", np.right_shift: "shift_right"}


@cache
def _compiled_ufuncs() -> frozenset[Any]:
    """The ufuncs that Numba's CUDA target has code for."""
    from numba.cuda.ufuncs import ufunc_db

    return frozenset(ufunc_db())


def lower_ufunc(fl: Expressions, node: ast.Call, called: Any, args: list[Val]) -> Val:
    """A NumPy ufunc of numbers."""
    name = called.__name__
    if called not in _compiled_ufuncs():
        same = {"absolute": "abs(x)", "rint": "round(x)", "power": "x ** y", "add": "x + y"}
        instead = f"math.{name}(x)" if hasattr(math, name) else same.get(name, "")
        fl.fail(UnsupportedError, node, f"Numba's CUDA target does not compile np.{name}",
                f"Write {instead}." if instead else "Write it with operators.")  # fmt: skip
    if len(args) == called.nin + called.nout:
        return lower_into(fl, node, called, args)
    if len(args) != called.nin:
        fl.fail(TypingError, node, f"np.{name} takes {called.nin} number"
                f"{'s' * (called.nin > 1)} in a kernel")  # fmt: skip
    signature = fl.resolve(called, f"np.{name}", args, node)
    cast = [fl.cast(a, t, node) for a, t in zip(args, signature.args, strict=True)]
    fl.operation(describe(cast[0].type), node, "product" if called is np.divide else "")
    codes = ", ".join(value.code for value in cast)
    dtype = typing.numpy_dtype(signature.result).name
    function = _UFUNCS.get(called, f"np.{name}")
    return Val(f"{function}({codes}).astype(np.{dtype})", signature.result)
