"""Lowering of arithmetic: `a + b`, `-a`, with the types of Numba's signatures."""

from __future__ import annotations

import ast
import dis
from typing import TYPE_CHECKING

import numpy as np
from numba.core import types

from . import lints, ops, typing
from .errors import UnsupportedError
from .program import Val, describe
from .typing import TupleType, Type

if TYPE_CHECKING:
    from .expressions import Expressions


def of_literals(fl: Expressions, node: ast.expr) -> Val | None:
    """An expression of literals, as Python itself folds it before Numba sees it: 10**-3."""
    leaves = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
    if not all(isinstance(inner, leaves) for inner in ast.walk(node)):
        return None
    code = compile(ast.fix_missing_locations(ast.Expression(node)), "<constant>", "eval")
    names = {i.opname for i in dis.get_instructions(code)}
    if not names <= {"RESUME", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST", "LOAD_SMALL_INT"}:
        return None  # Python left it to run time, for example because it is too large
    value = eval(code)  # made of literals alone
    if isinstance(value, (bool, int, float, complex)):
        return fl.number(node, value)
    return None


def lower_binary(fl: Expressions, node: ast.BinOp) -> Val:
    folded = of_literals(fl, node)
    if folded is not None:
        return folded
    left, right = fl.expression(node.left), fl.expression(node.right)
    return binary(fl, type(node.op).__name__, left, right, node)


def binary(fl: Expressions, name: str, left: Val, right: Val, node: ast.AST) -> Val:
    """left <op> right, with Numba's types."""
    if name not in ops.BINARY:
        fl.fail(UnsupportedError, node, "the operator @ cannot be used in a kernel",
                  "Write the loop over the inner dimension.")  # fmt: skip
    function, infix = ops.BINARY[name]
    if infix == "+" and isinstance(left.type, TupleType) and isinstance(right.type, TupleType):
        return fl.tuple_of(fl.items(left) + fl.items(right))
    signature = fl.resolve(function, infix, [left, right], node)
    a = fl.cast(left, signature.args[0], node)
    b = fl.cast(right, signature.args[1], node)
    moments = typing.is_moment(left.type) or typing.is_moment(right.type)
    if typing.is_integer(signature.result) and not moments:
        # NumPy would make float64 of int64 and uint64; the compiler computes in the result's
        # type.  Only an exponent and the distance of a shift keep their own.
        a = fl.cast(a, signature.result, node)
        if name in ("LShift", "RShift"):
            b = fl.cast(b, types.int64, node)
        elif name != "Pow":
            b = fl.cast(b, signature.result, node)
    if not (a.known and b.known):
        role = _role(name, [left, right], signature.result, node)
        fl.operation(counted(signature.result), node, role)
    check_division(fl, infix, signature.result, b, node)
    if name in ("FloorDiv", "Mod") and typing.is_integer(b.type) and not b.known:
        b = fl.checked(f"divisor(rt, {b.code}", b.type, fl.site(node, "", "divide"))
    kind = typing.numpy_dtype(signature.result).kind
    helper = ops.helper_of(infix, kind, b.known)
    code = f"{helper}({a.code}, {b.code})" if helper else f"({a.code} {infix} {b.code})"
    if a.known and b.known:
        with np.errstate(all="ignore"):
            python = getattr(ops, helper) if helper else function
            return fl.known(
                typing.numpy_dtype(signature.result).type(python(a.const, b.const)),
                signature.result,
            )
    return lints.float64(fl, infix, left, right, Val(code, signature.result), node)


def check_division(fl: Expressions, infix: str, kind: Type, divisor: Val, node: ast.AST) -> None:
    """Report lanes that divide by zero where Numba raises: complex numbers, and all numbers
    in a kernel compiled with debug=True."""
    if infix not in ("/", "//", "%"):
        return
    if divisor.known and divisor.const != 0:
        return
    fast = infix == "/" and kind == types.float32 and fl.program.fastmath
    if isinstance(kind, types.Complex) or (fl.program.debug and not fast):
        site = fl.site(node, "ZeroDivisionError: division by zero", "raise")
        fl.emit(f"rt.raised_if({site}, {divisor.code} == 0, {fl.mask})")


def lower_unary(fl: Expressions, node: ast.UnaryOp) -> Val:
    folded = of_literals(fl, node)
    if folded is not None:
        return folded
    return unary(fl, type(node.op).__name__, fl.expression(node.operand), node)


def unary(fl: Expressions, name: str, value: Val, node: ast.AST) -> Val:
    """<op> value, with Numba's types."""
    if name == "Not":
        truth = fl.truth(value, node)
        if truth.known:
            return fl.known(np.bool_(not truth.const), types.boolean)
        return Val(f"(~{truth.code})", types.boolean)
    function, prefix = ops.UNARY[name]
    signature = fl.resolve(function, f"unary {prefix}", [value], node)
    # Computed in the operand's own width, then widened: -uint8(1) is 255, as compiled.
    narrow = (
        types.int64 if signature.args[0] == types.boolean and prefix != "~" else (signature.args[0])
    )
    operand = fl.cast(value, narrow, node)
    if operand.known:
        with np.errstate(all="ignore"):
            result = fl.known(function(operand.const), narrow)
    else:
        fl.operation(counted(narrow), node, "sign" if name == "USub" else "")
        result = Val(f"({prefix}{operand.code})", narrow)
    return fl.cast(result, signature.result, node)


def _role(name: str, operands: list[Val], result: Type, node: ast.AST) -> str:
    """The role of an operation, see Program."""
    if name in ("Mult", "Div", "Pow"):  # x / 2 and x ** 2 are compiled to products
        return "product"
    if name in ("Add", "Sub") and result in (types.float32, types.float64):
        written = [
            getattr(node, "left", None),
            getattr(node, "right", getattr(node, "value", None)),
        ]
        for value, part in zip(operands, written, strict=True):
            product = isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult)
            if product and value.type == result and not value.known:
                return "fused"
    return ""


def counted(kind: Type) -> str:
    """The name under which operations of a type are counted."""
    if typing.is_moment(kind):
        return "int64"
    return describe(kind.dtype if typing.is_enum(kind) else kind)
