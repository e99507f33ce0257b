"""Lowering of expressions: a Python expression of the kernel becomes one over NumPy.

Loads and calls become temporaries in the order of the source; everything else has no effect and
stays one readable expression.
"""

from __future__ import annotations

import ast
import difflib
import dis
import enum
from collections import Counter
from types import FunctionType, ModuleType
from typing import Any, NoReturn

import numpy as np
from numba.core import types

from . import iterators, lints, named, ops, overloads, structures, typing, vectors
from .allocation import as_cuda_array, is_cuda_array
from .array_methods import METHODS, Method
from .errors import SimtError, TypingError, UnsupportedError, at_line
from .frozen import FrozenScope
from .functions import UnresolvedError
from .names import parameters_of
from .program import MISSING, STATIC, Lines, Program, Site, Val, Var, describe
from .refusals import alternative, without_numba_cuda
from .rounding import narrow
from .source import Source
from .symbols import Symbol, as_symbol, is_cuda_module
from .typing import ArrayType, NamedTupleType, NoSignature, RecordType, TupleType, Type

AXES = ("x", "y", "z")


class Expressions:
    """Emits code for one function; statements are added by the subclass."""

    def __init__(self, program: Program, source: Source, scope: FrozenScope) -> None:
        self.program = program
        self.source = source
        self.scope = scope
        self.lines: Lines = []
        self.depth = 1
        self.mask = "m"
        self.env: dict[str, Var] = {}
        self.temporaries = 0
        self.known_names: dict[str, Any] = {}  # names assigned once, to a constant
        self.segment: int | None = None
        self.captured: tuple[str, ...] = ()  # names of the function around this one
        self.home: Expressions | None = None  # the function around this one
        self.local_arrays = False  # whether it asks for a cuda.local.array
        self.origins: dict[str, Any] = {}  # name -> what made it wide, see lints.py
        self.parameter_names: list[str] = []
        self.rounds: dict[Any, tuple[Type, ast.AST]] = {}  # types of earlier rounds, see settled
        self.visits: Counter[Any] = Counter()  # how often this round has been at a place
        self.target_name = ""  # the name being assigned to, for messages about arrays

    # -- text ----------------------------------------------------------------

    def emit(self, text: str) -> None:
        """One line of generated source at the current depth."""
        self.lines.append("    " * self.depth + text)

    def temporary(self, stem: str = "t") -> str:
        self.temporaries += 1
        return f"{stem}_{self.temporaries}"

    def fail(
        self, kind: type[SimtError], node: ast.AST, fact: str, next_step: str = ""
    ) -> NoReturn:
        """Refuse a construct, with its line."""
        line = getattr(node, "lineno", None)
        text = self.source.line_text(line) if line else ""
        raise kind(
            at_line(self.source.name, line, text, fact, next_step), line=line, line_text=text
        )

    def where(self, node: ast.AST) -> str:
        """(kernel, `line 3:  x = y[i]`) as a literal of the generated source."""
        line = getattr(node, "lineno", 0)
        return repr((self.source.name, f"line {line}:  {self.source.line_text(line)}"))

    def site(self, node: ast.AST, array: str, op: str, space: str = "global") -> int:
        """Number of a new site; an access, a barrier and a warp function are instructions, too."""
        line = getattr(node, "lineno", 0)
        site = Site(self.source.name, line, self.source.line_text(line), array, op, space)
        if site.issued:
            self.operation(op, node)
        return self.program.site(site)

    def operation(self, kind: str, node: ast.AST) -> None:
        """Count one instruction per lane, in the current segment of a counted program."""
        if not self.program.counted:
            return
        if self.segment is None:
            self.segment = len(self.program.segments)
            self.program.segments.append([])
            self.emit(f"rt.segment({self.segment}, {self.mask})")
        entry = (self.source.name, getattr(node, "lineno", 0), kind)
        self.program.segments[self.segment].append(entry)

    def branch_site(self, node: ast.AST, yes: str, no: str) -> None:
        """Tell observers how the lanes part here, in a counted program."""
        if self.program.counted:
            self.emit(f"rt.branch({self.site(node, '', 'branch')}, {yes}, {no})")

    # -- values --------------------------------------------------------------

    def number(self, node: ast.AST, value: Any) -> Val:
        """A constant as the compiler would freeze it."""
        try:
            kind = typing.type_of_constant(value)
        except NoSignature as error:
            self.fail(TypingError, node, str(error))
        scalar = typing.numpy_dtype(kind).type(value)
        return Val(self.program.constant(scalar), kind, scalar)

    def of_object(self, node: ast.AST, value: Any) -> Val:
        """A Python object that the kernel names: number, tuple, array, function, module."""
        symbol = as_symbol(value)
        if symbol is not None:
            return self.of_symbol(symbol)
        if isinstance(value, enum.Enum):
            return named.member(self, node, value)
        if isinstance(value, (bool, int, float, complex, np.number, np.bool_, np.datetime64)):
            return self.number(node, value)
        if isinstance(value, tuple):
            items = self.tuple_of([self.of_object(node, item) for item in value])
            made_by = type(value)
            return named.with_class(items, made_by) if named.is_class(made_by) else items
        if isinstance(value, np.ndarray):
            return self.frozen_array(node, value)
        if is_cuda_array(value) and not isinstance(value, (type, np.ndarray)):
            try:  # a global device array is used in place
                value = as_cuda_array(value)
            except (ValueError, TypeError, NotImplementedError) as error:
                self.fail(TypingError, node, str(error))
            name = node.id if isinstance(node, ast.Name) else "array"
            reference = value.reference(name)
            kind = ArrayType(typing.numba_type(value.dtype), value.ndim)
            return Val(self.program.constant(reference), kind)
        return Val("None", STATIC, value)

    def of_symbol(self, symbol: Symbol) -> Val:
        if symbol.name == "laneid":
            return Val("rt.laneid", types.int32)
        if symbol.name == "warpsize":
            return Val(self.program.constant(np.int32(32)), types.int32, np.int32(32))
        return Val("None", STATIC, symbol)

    def frozen_array(self, node: ast.AST, value: np.ndarray[Any, Any]) -> Val:
        """A global NumPy array: a constant of the kernel, frozen when it is compiled."""
        from .arguments import constant_array

        name = node.id if isinstance(node, ast.Name) else "array"
        try:
            ref, kind = constant_array(name, value)
        except NoSignature as error:
            self.fail(TypingError, node, f"{name}: {error}")
        return Val(self.program.constant(ref), kind)

    def tuple_of(self, items: list[Val]) -> Val:
        code = "(" + "".join(f"{item.code}, " for item in items) + ")"
        known = all(item.known for item in items)
        const = tuple(item.const for item in items) if known else MISSING
        if any(item.static for item in items):
            return Val("None", STATIC, tuple(items))
        return Val(code, TupleType(tuple(item.type for item in items)), const)

    def items(self, value: Val) -> list[Val]:
        """The items of a tuple value."""
        if value.static and isinstance(value.const, tuple):
            return list(value.const)
        assert isinstance(value.type, TupleType)
        constants = value.const if value.known else (MISSING,) * len(value.type.items)
        return [
            Val("None", STATIC, None)
            if t is STATIC  # None inside an argument
            else self.known(c, t)
            if c is not MISSING
            else Val(f"{value.code}[{k}]", t)
            for k, (t, c) in enumerate(zip(value.type.items, constants, strict=True))
        ]

    def known(self, const: Any, kind: Type) -> Val:
        if isinstance(const, tuple):
            parts = [self.known(c, t) for c, t in zip(const, kind.items, strict=True)]
            return self.tuple_of(parts)
        return Val(self.program.constant(const), kind, const)

    def cast(self, value: Val, to: Type, node: ast.AST | None = None) -> Val:
        """The value in another type, as the compiler converts it."""
        if value.type == to:
            return value
        if isinstance(to, TupleType) and isinstance(value.type, TupleType):
            parts = zip(self.items(value), to.items, strict=True)
            items = self.tuple_of([self.cast(item, kind, node) for item, kind in parts])
            return named.with_class(items, to.made_by) if isinstance(to, NamedTupleType) else items
        if isinstance(to, RecordType) and isinstance(value.type, RecordType):
            deeper = to.ndim != value.type.ndim
            return Val(f"padded({value.code}, {to.ndim})" if deeper else value.code, to)
        if isinstance(value.type, types.IntEnumMember) and typing.is_integer(to):
            return self.cast(named.plain(value), to, node)
        if isinstance(value.type, types.NPTimedelta) and typing.is_integer(to):
            return Val(f"{value.code}.astype(np.{typing.numpy_dtype(to).name})", to)
        if not typing.is_number(value.type) or not typing.is_number(to):
            self.fail(
                TypingError, node or self.source.tree,
                f"{describe(value.type)} cannot become {describe(to)}",
            )  # fmt: skip
        lints.said_now(self, value, to)
        if typing.is_bfloat16(to):
            return self.as_bfloat16(value, to, node or self.source.tree)
        dtype = typing.numpy_dtype(to)
        if isinstance(to, types.Boolean):
            code, convert = f"({value.code} != 0)", lambda v: np.bool_(v != 0)
        elif typing.is_float(value.type) and typing.is_integer(to):
            name = self.program.constant(dtype)
            code, convert = f"to_integer({value.code}, {name})", lambda v: ops.to_integer(v, dtype)
        elif isinstance(value.type, types.Complex) and not isinstance(to, types.Complex):
            self.fail(
                TypingError, node or self.source.tree,
                f"{value.type} cannot become {to}: take .real or .imag",
            )  # fmt: skip
        else:
            code, convert = f"{value.code}.astype(np.{dtype.name})", lambda v: v.astype(dtype)
        if value.known:
            with np.errstate(all="ignore"):
                return self.known(convert(value.const), to)
        return Val(code, to)

    def fitted(self, value: Val, to: Type, node: ast.AST, site: int) -> Val:
        """An integer cut to a narrower signed type, with a note at run time where it does not fit;
        any other value as it is."""
        if (
            value.known
            or not (typing.is_integer(value.type) and typing.is_integer(to))
            or not (to.signed and to.bitwidth < value.type.bitwidth)
        ):
            return value
        dtype = typing.numpy_dtype(to).name
        return self.checked(f"fitted(rt, {value.code}, np.dtype(np.{dtype})", to, site)

    def checked(self, call: str, kind: Type, site: int) -> Val:
        """A call that looks at the active lanes: a line of its own, so that its mask is there."""
        out = self.temporary()
        self.emit(f"{out} = {call}, {self.mask}, {site})")
        return Val(out, kind)

    def as_bfloat16(self, value: Val, to: Type, node: ast.AST) -> Val:
        """A number rounded once to bfloat16; refused for types that Numba does not convert."""
        if value.type in (types.boolean, types.int8, types.uint8) or isinstance(
            value.type, types.Complex
        ):
            self.fail(TypingError, node, f"Numba does not convert {value.type} to bfloat16",
                      "Convert it to float32 first.")  # fmt: skip
        dtype = typing.numpy_dtype(to)
        name = self.program.constant(dtype)
        short = value.type in (types.float32, types.float16)  # NumPy rounds these once, too
        code = f"{value.code}.astype({name})" if short else f"narrow({value.code}, {name})"
        if value.known:
            return self.known(narrow(value.const, dtype), to)
        return Val(code, to)

    def truth(self, value: Val, node: ast.AST) -> Val:
        """The value as a condition."""
        if isinstance(value.type, types.Boolean):
            return value
        if not typing.is_number(value.type):
            self.fail(TypingError, node, f"{describe(value.type)} cannot be used as a condition")
        if value.type == types.float16 or typing.is_bfloat16(value.type):
            self.fail(TypingError, node, f"Numba does not compile {describe(value.type)} as a "
                      "condition", "Compare it: x != 0.")  # fmt: skip
        return self.cast(value, types.boolean, node)

    # -- expressions ---------------------------------------------------------

    def expression(self, node: ast.expr) -> Val:
        """Lower any expression; refuses what kernels do not have."""
        method = getattr(self, f"on_{type(node).__name__}", None)
        if method is None:
            name = _CONSTRUCTS.get(type(node).__name__, type(node).__name__)
            self.fail(
                UnsupportedError, node, f"{name} cannot be used in a kernel",
                "A kernel has numbers, tuples and arrays; write a loop instead.",
            )  # fmt: skip
        result: Val = method(node)
        fixed = isinstance(node, (ast.Name, ast.Constant))
        return result if fixed else self.settled(node, result)

    def settled(self, node: ast.AST, value: Val, name: str = "") -> Val:
        """The value in a type that holds for all rounds of finding a loop's types.

        Numba's inference only widens: what an expression, or a name at its assignment, was in an
        earlier round stays part of its type.  uint64 in the first round and int64 in the second
        make float64.
        """
        if not typing.is_number(value.type):
            return value
        place = (id(node), name)
        key = (*place, self.visits[place])
        self.visits[place] += 1
        before, _ = self.rounds.get(key, (value.type, node))
        joined = typing.unify(before, value.type)
        if joined is None:
            self.fail(
                TypingError, node,
                f"this is {describe(before)} in one iteration, {describe(value.type)} in another",
                "Give it one type.",
            )  # fmt: skip
        self.rounds[key] = joined, node  # the node is kept, so that its id stays its own
        return self.cast(value, joined, node)

    def on_Constant(self, node: ast.Constant) -> Val:
        if node.value is None or isinstance(node.value, (str, bytes)) or node.value is ...:
            return Val("None", STATIC, node.value)
        return self.number(node, node.value)

    def on_Name(self, node: ast.Name) -> Val:
        if node.id in self.env:
            var = self.env[node.id]
            if var.type is STATIC:
                return self.static_value(var.const)
            code = self.variable(node.id, var.type)
            if not var.sure:
                self.track(node.id)
                site = self.site(node, node.id, "read")
                assigned = self.assigned_mask(node.id)
                code = f"bound(rt, {code}, {assigned}, {self.mask}, {node.id!r}, {site})"
            wide = self.origins[node.id][3] if node.id in self.origins else None
            return Val(code, var.type, self.known_names.get(node.id, MISSING), wide)
        if self.unresolved(node.id):
            raise UnresolvedError
        if self.is_local(node.id):
            self.fail(
                TypingError, node, f"{node.id} is read before anything is assigned to it",
                f"Give {node.id} a value first, on every path that leads here.",
            )  # fmt: skip
        try:
            value = self.scope.lookup(node.id)
        except KeyError:
            self.fail(
                TypingError, node, f"the name {node.id} is not defined",
                "Define it before the kernel is launched, or check the spelling.",
            )  # fmt: skip
        return self.of_object(node, value)

    def static_value(self, const: Any) -> Val:
        """A static object; a tuple of nothing but numbers and arrays at run time is a value."""
        if (
            isinstance(const, tuple)
            and const
            and all(isinstance(item, Val) and not item.static and not item.known for item in const)
        ):
            return self.tuple_of(list(const))
        return Val("None", STATIC, const)

    def is_local(self, name: str) -> bool:
        raise NotImplementedError

    def unresolved(self, name: str) -> bool:
        """Whether the type of a name depends on the result of the function it is in."""
        raise NotImplementedError

    def track(self, name: str) -> None:
        raise NotImplementedError

    def held(self, value: Val) -> Val:
        raise NotImplementedError

    def range_of(self, node: ast.AST, args: list[Val]) -> list[Val]:
        raise NotImplementedError

    def store_all(self, view: Val, value: Val, node: ast.AST, label: str) -> None:
        raise NotImplementedError

    def assigned_mask(self, name: str) -> str:
        raise NotImplementedError

    def assign_name(self, name: str, value: Val, node: ast.AST) -> None:
        raise NotImplementedError

    def variable(self, name: str, kind: Type) -> str:
        raise NotImplementedError

    def on_Tuple(self, node: ast.Tuple) -> Val:
        items: list[Val] = []
        for item in node.elts:
            if isinstance(item, ast.Starred):
                value = self.expression(item.value)
                if not isinstance(value.type, TupleType) and not isinstance(value.const, tuple):
                    self.fail(TypingError, item, f"only a tuple can follow *, not "
                              f"{describe(value.type)}")  # fmt: skip
                items.extend(self.items(self.held(value)))
            else:
                items.append(self.expression(item))
        return self.tuple_of(items)

    def folded(self, node: ast.expr) -> Val | None:
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
            return self.number(node, value)
        return None

    def on_BinOp(self, node: ast.BinOp) -> Val:
        folded = self.folded(node)
        if folded is not None:
            return folded
        left, right = self.expression(node.left), self.expression(node.right)
        return self.binary(type(node.op).__name__, left, right, node)

    def binary(self, name: str, left: Val, right: Val, node: ast.AST) -> Val:
        """left <op> right, with Numba's types."""
        if name not in ops.BINARY:
            self.fail(UnsupportedError, node, "the operator @ cannot be used in a kernel",
                      "Write the loop over the inner dimension.")  # fmt: skip
        function, infix = ops.BINARY[name]
        if infix == "+" and isinstance(left.type, TupleType) and isinstance(right.type, TupleType):
            return self.tuple_of(self.items(left) + self.items(right))
        signature = self.resolve(function, infix, [left, right], node)
        a = self.cast(left, signature.args[0], node)
        b = self.cast(right, signature.args[1], node)
        moments = typing.is_moment(left.type) or typing.is_moment(right.type)
        if typing.is_integer(signature.result) and not moments:
            # NumPy would make float64 of int64 and uint64; the compiler computes in the result's
            # type.  Only an exponent and the distance of a shift keep their own.
            a = self.cast(a, signature.result, node)
            if name in ("LShift", "RShift"):
                b = self.cast(b, types.int64, node)
            elif name != "Pow":
                b = self.cast(b, signature.result, node)
        if not (a.known and b.known):
            self.operation(_counted(signature.result), node)
        self.check_division(infix, signature.result, b, node)
        if name in ("FloorDiv", "Mod") and typing.is_integer(b.type) and not b.known:
            b = self.checked(f"divisor(rt, {b.code}", b.type, self.site(node, "", "divide"))
        if infix == "**" and isinstance(signature.result, types.Complex):
            self.check_square(b, node)
        kind = typing.numpy_dtype(signature.result).kind
        helper = ops.helper_of(infix, kind, b.known)
        code = f"{helper}({a.code}, {b.code})" if helper else f"({a.code} {infix} {b.code})"
        if a.known and b.known:
            with np.errstate(all="ignore"):
                python = getattr(ops, helper) if helper else function
                return self.known(
                    typing.numpy_dtype(signature.result).type(python(a.const, b.const)),
                    signature.result,
                )
        return lints.float64(self, infix, left, right, Val(code, signature.result), node)

    def check_division(self, infix: str, kind: Type, divisor: Val, node: ast.AST) -> None:
        """Report lanes that divide by zero where Numba raises: complex numbers, and all numbers
        in a kernel compiled with debug=True."""
        if infix not in ("/", "//", "%"):
            return
        if divisor.known and divisor.const != 0:
            return
        fast = infix == "/" and kind == types.float32 and self.program.fastmath
        if isinstance(kind, types.Complex) or (self.program.debug and not fast):
            site = self.site(node, "ZeroDivisionError: division by zero", "raise")
            self.emit(f"rt.raised_if({site}, {divisor.code} == 0, {self.mask})")

    def check_square(self, exponent: Val, node: ast.AST) -> None:
        if not exponent.known or exponent.const != 2:
            self.fail(
                UnsupportedError, node, "a complex number can be raised to the power 2 only",
                "Numba's CUDA target compiles other powers, but they do not link. Multiply, or "
                "use cmath.exp(w * cmath.log(z)).",
            )  # fmt: skip

    def no_function(self, value: Val, node: ast.AST) -> None:
        """Refuse `cuda.grid` where `cuda.grid(1)` was meant."""
        if value.static and isinstance(value.const, Symbol):
            name = value.const.name
            example = {"grid": "cuda.grid(1)", "gridsize": "cuda.gridsize(1)"}.get(
                name, f"cuda.{name}.x" if name.endswith(("Idx", "Dim")) else f"cuda.{name}(...)"
            )
            self.fail(TypingError, node, f"cuda.{name} itself is no number", f"Write {example}.")

    def resolve(
        self, function: Any, label: str, args: list[Val], node: ast.AST
    ) -> typing.Signature:
        """Numba's signature for a call, or its refusal in plain words."""
        for value in args:
            if not typing.is_scalar(value.type):
                self.no_function(value, node)
                kinds = " and ".join(describe(v.type) for v in args)
                hint = (
                    "Index the array: a thread works on one element at a time."
                    if any(isinstance(v.type, ArrayType) for v in args)
                    else ""
                )
                self.fail(TypingError, node, f"{label} does not take {kinds}", hint)
        kinds_of = tuple(value.type for value in args)
        try:
            return typing.resolve(function, kinds_of)
        except NoSignature:
            kinds = " and ".join(describe(t) for t in kinds_of)
            hint = without_numba_cuda(kinds_of)
            self.fail(TypingError, node, f"Numba has no {label} for {kinds}", hint)

    def on_UnaryOp(self, node: ast.UnaryOp) -> Val:
        folded = self.folded(node)
        if folded is not None:
            return folded
        return self.unary(type(node.op).__name__, self.expression(node.operand), node)

    def unary(self, name: str, value: Val, node: ast.AST) -> Val:
        """<op> value, with Numba's types."""
        if name == "Not":
            truth = self.truth(value, node)
            if truth.known:
                return self.known(np.bool_(not truth.const), types.boolean)
            return Val(f"(~{truth.code})", types.boolean)
        function, prefix = ops.UNARY[name]
        signature = self.resolve(function, f"unary {prefix}", [value], node)
        # Computed in the operand's own width, then widened: -uint8(1) is 255, as compiled.
        narrow = (
            types.int64
            if signature.args[0] == types.boolean and prefix != "~"
            else (signature.args[0])
        )
        operand = self.cast(value, narrow, node)
        if operand.known:
            with np.errstate(all="ignore"):
                result = self.known(function(operand.const), narrow)
        else:
            self.operation(_counted(narrow), node)
            result = Val(f"({prefix}{operand.code})", narrow)
        return self.cast(result, signature.result, node)

    def on_Compare(self, node: ast.Compare) -> Val:
        if len(node.ops) > 1:
            return self.comparison_chain(node)
        left, right = self.expression(node.left), self.expression(node.comparators[0])
        return self.compare(type(node.ops[0]).__name__, left, right, node)

    def comparison_chain(self, node: ast.Compare) -> Val:
        """a < b < c, as a < (v := b) and v < c."""
        left: ast.expr = node.left
        parts: list[ast.expr] = []
        for op, right in zip(node.ops, node.comparators, strict=True):
            name = f"v__{self.temporaries}_{len(parts)}"
            last = right is node.comparators[-1] or isinstance(right, (ast.Name, ast.Constant))
            kept = right if last else ast.NamedExpr(ast.Name(name, ast.Store()), right)
            parts.append(ast.copy_location(ast.Compare(left, [op], [kept]), node))
            left = right if last else ast.Name(name, ast.Load())
            ast.copy_location(left, node)
        self.temporaries += 1
        return self.on_BoolOp(ast.copy_location(ast.BoolOp(ast.And(), parts), node))

    def compare(self, name: str, left: Val, right: Val, node: ast.AST) -> Val:
        if name in ("Is", "IsNot"):
            if left.static and right.static:
                return self.known(
                    np.bool_((left.const is right.const) == (name == "Is")), types.boolean
                )
            if typing.is_enum(left.type) and typing.is_enum(right.type):
                return named.identical(self, left, right, node, name == "IsNot")
            if typing.is_number(left.type) and left.type == right.type:  # compared by value
                name = "Eq" if name == "Is" else "NotEq"
            elif left.static or right.static or typing.is_number(left.type):
                # Numbers of two types, or an array and None: never the same
                return self.known(np.bool_(name == "IsNot"), types.boolean)
        if name in ("In", "NotIn") and isinstance(right.type, TupleType):
            found = self.known(np.bool_(False), types.boolean)
            for item in self.items(right):
                found = self.binary("BitOr", found, self.compare("Eq", left, item, node), node)
            return found if name == "In" else Val(f"(~{found.code})", types.boolean)
        if name not in ops.COMPARE:
            words = {"Is": "is", "IsNot": "is not", "In": "in", "NotIn": "not in"}[name]
            self.fail(UnsupportedError, node, f"`{words}` between these values is not supported",
                      "Compare numbers with == or !=.")  # fmt: skip
        function, infix = ops.COMPARE[name]
        if left.static and right.static:
            return self.known(
                np.bool_((left.const == right.const) == (infix == "==")), types.boolean
            )
        if typing.is_enum(left.type) and left.type == right.type and infix in ("==", "!="):
            left, right = named.plain(left), named.plain(right)
        if isinstance(left.type, TupleType) and isinstance(right.type, TupleType):
            return self.compare_tuples(name, left, right, node)
        signature = self.resolve(function, infix, [left, right], node)
        a = self.cast(left, signature.args[0], node)
        b = self.cast(right, signature.args[1], node)
        if a.known and b.known:
            return self.known(np.bool_(function(a.const, b.const)), types.boolean)
        self.operation(f"compare {_counted(signature.args[0])}", node)
        result = Val(f"({a.code} {infix} {b.code})", types.boolean)
        return lints.float64(self, infix, left, right, result, node)

    def compare_tuples(self, name: str, left: Val, right: Val, node: ast.AST) -> Val:
        if name not in ("Eq", "NotEq"):
            self.fail(UnsupportedError, node, "tuples can be compared with == and != only")
        pairs = list(zip(self.items(left), self.items(right), strict=False))
        equal = len(self.items(left)) == len(self.items(right))
        result = self.known(np.bool_(equal), types.boolean)
        for a, b in pairs if equal else []:
            result = self.binary("BitAnd", result, self.compare("Eq", a, b, node), node)
        return result if name == "Eq" else Val(f"(~{result.code})", types.boolean)

    def on_NamedExpr(self, node: ast.NamedExpr) -> Val:
        self.assign_name(node.target.id, self.expression(node.value), node)
        var = self.env[node.target.id]
        if var.type is STATIC:
            return Val("None", STATIC, var.const)
        return Val(self.variable(node.target.id, var.type), var.type)

    def on_BoolOp(self, node: ast.BoolOp) -> Val:
        """`and` / `or`: the right side runs only for the lanes that need it."""
        is_and = isinstance(node.op, ast.And)
        result = self.expression(node.values[0])
        for operand in node.values[1:]:
            condition = self.truth(result, node)
            if condition.known:
                if bool(condition.const) == is_and:
                    result = self.expression(operand)
                continue
            result = self._bool_step(result, condition, operand, is_and, node)
        return result

    def _bool_step(
        self, left: Val, condition: Val, operand: ast.expr, is_and: bool, node: ast.AST
    ) -> Val:
        test = self.temporary("c")
        self.emit(f"{test} = {condition.code}")
        lines, right, inner = self._under(test, operand, negate=not is_and)
        both_bool = left.type == types.boolean and right.type == types.boolean
        kind = types.boolean if both_bool else typing.unify(left.type, right.type)
        if kind is None:
            kinds = f"{describe(left.type)} and {describe(right.type)}"
            self.fail(TypingError, node, f"`and`/`or` of {kinds} has no common type")
        if not lines:  # nothing to guard on the right
            if both_bool:
                return Val(f"({test} {'&' if is_and else '|'} {right.code})", kind)
            a, b = self.cast(left, kind, node), self.cast(right, kind, node)
            chosen = (b.code, a.code) if is_and else (a.code, b.code)
            return Val(f"select({test}, {chosen[0]}, {chosen[1]})", kind)
        out = self.temporary()
        self.emit(f"{out} = {self.cast(left, kind, node).code}")
        self.emit(f"if {inner} is not False:")
        self.lines.append(lines)
        value = self.cast(right, kind, node).code
        self.emit(f"    {out} = assign({inner}, {value}, {out}, m)")
        return Val(out, kind)

    def _under(self, test: str, operand: ast.expr, negate: bool) -> tuple[Lines, Val, str]:
        """Lower an operand for the lanes where `test` holds; the lines it needed, if any."""
        inner = self.temporary("m")
        outer_lines, outer_mask, outer_segment = self.lines, self.mask, self.segment
        self.lines, self.mask, self.segment = [], inner, None
        self.depth += 1
        value = self.expression(operand)
        lines, self.lines, self.mask = self.lines, outer_lines, outer_mask
        self.segment = outer_segment
        self.depth -= 1
        if lines:
            pair = f"_, {inner}" if negate else f"{inner}, _"
            self.emit(f"{pair} = split({self.mask}, {test})")
        return lines, value, inner

    def on_IfExp(self, node: ast.IfExp) -> Val:
        condition = self.truth(self.expression(node.test), node)
        if condition.known:
            return self.expression(node.body if condition.const else node.orelse)
        test = self.temporary("c")
        self.emit(f"{test} = {condition.code}")
        first, a, mask_a = self._under(test, node.body, negate=False)
        second, b, mask_b = self._under(test, node.orelse, negate=True)
        kind = typing.unify(a.type, b.type)
        if kind is None or (a.static or b.static):
            kinds = f"{describe(a.type)} and {describe(b.type)}"
            self.fail(TypingError, node, f"the two sides of the conditional are {kinds}")
        lints.joined(self, a, b)
        a, b = self.cast(a, kind, node), self.cast(b, kind, node)
        if not first and not second:
            return Val(f"select({test}, {a.code}, {b.code})", kind)
        out = self.temporary()
        self.emit(f"{out} = None")
        for lines, value, mask, negate in (
            (first, a, mask_a, False), (second, b, mask_b, True)
        ):  # fmt: skip
            if not lines:
                pair = f"_, {mask}" if negate else f"{mask}, _"
                self.emit(f"{pair} = split({self.mask}, {test})")
            self.emit(f"if {mask} is not False:")
            self.lines.append(lines)
            self.emit(f"    {out} = assign({mask}, {value.code}, {out}, m)")
        return Val(out, kind)

    def why_readonly(self, name: str) -> tuple[str, str]:
        """The fact and the next step for an array that cannot be stored to."""
        if name in parameters_of(self.source.tree):
            return (
                f"{name} is read-only on the host, so no kernel can change it",
                f"Pass {name}.copy(), or make it writable: {name}.flags.writeable = True.",
            )
        return (
            f"{name} is a constant of the kernel and cannot be changed",
            "Pass it as an argument instead.",
        )

    # -- attributes and subscripts -------------------------------------------

    def on_Attribute(self, node: ast.Attribute) -> Val:
        value = self.expression(node.value)
        if isinstance(value.type, ArrayType):
            return self.array_attribute(value, node)
        if isinstance(value.type, RecordType):
            return structures.read(self, value, node.attr, node)
        if isinstance(value.type, NamedTupleType):
            return named.item(self, value, node.attr, node)
        if typing.is_vector(value.type):
            return vectors.component(self, value, node.attr, node)
        if typing.is_enum(value.type):
            return named.member_attribute(self, value, node.attr, node)
        if value.static:
            return self.static_attribute(value.const, node)
        if isinstance(value.type, types.Complex) and node.attr in ("real", "imag"):
            kind = value.type.underlying_float
            return Val(f"{value.code}.{node.attr}", kind)
        if typing.is_real(value.type) and node.attr == "real":
            return value
        if typing.is_real(value.type) and node.attr == "imag":
            zero = typing.numpy_dtype(value.type).type(0)
            return self.known(zero, value.type)
        if typing.is_number(value.type) and node.attr == "item":
            return Val("None", STATIC, Method(value, node.attr))
        self.fail(TypingError, node, f"{describe(value.type)} has no attribute .{node.attr}")

    def static_attribute(self, owner: Any, node: ast.Attribute) -> Val:
        if isinstance(owner, Symbol):
            if owner.name in ("threadIdx", "blockIdx", "blockDim", "gridDim"):
                if node.attr in AXES:
                    return Val(f"rt.{owner.name}_{node.attr}", types.int32)
                self.fail(TypingError, node, f"cuda.{owner.name} has .x, .y and .z only")
            try:
                return self.of_symbol(getattr(owner, node.attr))
            except AttributeError as error:
                self.fail(TypingError, node, str(error))
        if isinstance(owner, (ModuleType, type)):
            if is_cuda_module(owner):
                from .symbols import DEVICE_NAMES

                if node.attr in DEVICE_NAMES:
                    return self.of_symbol(Symbol(node.attr))
                if instead := alternative(node.attr):
                    self.fail(UnsupportedError, node, f"cuda.{node.attr} is not in the simulator",
                              instead[0].upper() + instead[1:] + ".")  # fmt: skip
            try:
                return self.of_object(node, self.scope.attribute(owner, node.attr))
            except AttributeError:
                owner_name = "cuda" if is_cuda_module(owner) else owner.__name__
                near = difflib.get_close_matches(node.attr, dir(owner), 1)
                hint = f"Did you mean {owner_name}.{near[0]}?" if near else "Check the spelling."
                self.fail(TypingError, node, f"{owner_name} has no {node.attr}", hint)
        if isinstance(owner, FunctionType):
            self.fail(TypingError, node, f"a function has no attribute .{node.attr} in a kernel")
        self.fail(
            UnsupportedError, node,
            f"an attribute of a Python {type(owner).__name__} cannot be read in a kernel",
            "Take the value out before the launch and pass it as an argument.",
        )  # fmt: skip

    def array_attribute(self, value: Val, node: ast.Attribute) -> Val:
        kind: ArrayType = value.type
        name = node.attr
        if name == "shape":
            return Val(f"{value.code}.shape", TupleType((types.int64,) * kind.ndim))
        if name == "size":
            return Val(f"{value.code}.size", types.int64)
        if name == "ndim":
            return self.number(node, kind.ndim)
        if name == "T":
            return Val(f"transposed({value.code})", kind)
        if name == "dtype":
            return Val("None", STATIC, kind.dtype)
        if name in ("real", "imag"):
            return self.part_of(value, node)
        if name == "strides":
            codes = [f"byte_strides({value.code})[{k}]" for k in range(kind.ndim)]
            return self.tuple_of([Val(code, types.int64) for code in codes])
        if isinstance(kind.dtype, types.Record) and name in kind.dtype.fields:
            return structures.read_array(self, value, name, node, ast.unparse(node.value))
        itemsize = typing.numpy_dtype(kind.dtype).itemsize
        if name == "itemsize":
            return self.number(node, itemsize)
        if name == "nbytes":
            return self.binary("Mult", Val(f"{value.code}.size", types.int64),
                               self.number(node, itemsize), node)  # fmt: skip
        if name == "flat":
            return iterators.flat(self, value)
        if name in METHODS:
            return Val("None", STATIC, Method(value, name))
        found = overloads.of_attribute(self, node, value, name)
        if found is not None:
            return found
        self.fail(
            UnsupportedError, node, f"arrays in a kernel have no .{name}",
            "They have shape, size, ndim, strides, dtype, itemsize, nbytes, T and flat, and can be "
            "viewed with reshape and view.",
        )  # fmt: skip

    def part_of(self, value: Val, node: ast.Attribute) -> Val:
        """x.real and x.imag of an array: a view of every other float of its memory."""
        kind: ArrayType = value.type
        if not isinstance(kind.dtype, types.Complex):
            if node.attr == "real" and typing.is_number(kind.dtype):
                return value
            if not typing.is_number(kind.dtype):
                self.fail(TypingError, node, f"{describe(kind)} has no .{node.attr}")
            self.fail(UnsupportedError, node, "the imaginary part of this array is 0 everywhere")
        if kind.space != "global" or kind.readonly:
            self.fail(
                UnsupportedError, node,
                f"the .{node.attr} of a constant, shared or local array cannot be used as an array",
                f"Take an element first: {ast.unparse(node.value)}[i].{node.attr}.",
            )  # fmt: skip
        offset = "01"[node.attr == "imag"]
        part = ArrayType(kind.dtype.underlying_float, kind.ndim)
        return Val(f"part({value.code}, {offset})", part)

    def on_Subscript(self, node: ast.Subscript) -> Val:
        value = self.expression(node.value)
        if isinstance(value.type, ArrayType):
            if isinstance(value.type.dtype, types.Record):
                name = structures.field_name(self, node.slice)
                if isinstance(name, str):
                    label = ast.unparse(node.value)
                    return structures.read_array(self, value, name, node, label)
            return self.element_or_view(value, node)
        if isinstance(value.type, RecordType):
            return structures.read(self, value, self.field_of(value, node), node)
        if isinstance(value.type, TupleType) or isinstance(value.const, tuple):
            return self.tuple_item(value, node)
        if isinstance(value.const, iterators.Flat):
            array, index = self.flat_element(value.const, node)
            return iterators.element(self, node, array, index)
        if isinstance(value.const, enum.EnumMeta):
            name = structures.field_name(self, node.slice)
            return named.member_called(self, node, value.const, name)
        if isinstance(value.const, iterators.Items):
            self.fail(UnsupportedError, node, f"{ast.unparse(node.value)} cannot be indexed",
                      "Loop over it.")  # fmt: skip
        if value.static:
            self.fail(
                UnsupportedError, node,
                f"a Python {type(value.const).__name__} cannot be indexed in a kernel",
                "Make it a tuple or a NumPy array, or pass it as an argument.",
            )  # fmt: skip
        self.fail(TypingError, node, f"{describe(value.type)} is a number and cannot be indexed")

    def flat_element(self, flat: iterators.Flat, node: ast.Subscript) -> tuple[Val, list[Val]]:
        """The array and the index of a.flat[k]."""
        k = self.expression(node.slice)
        if not typing.is_integer(k.type):
            name = ast.unparse(node.value)
            self.fail(TypingError, node, f"an index of {name} is an integer, not "
                      f"{describe(k.type)}")  # fmt: skip
        return flat.array, flat.index(self, node, k)

    def field_of(self, record: Val, node: ast.Subscript) -> str | int:
        """The field that the subscript of a record names."""
        name: str | int | None = structures.field_name(self, node.slice)
        if name is None:
            owner, first = record.type.origin, next(iter(record.type.record.fields))
            self.fail(TypingError, node, f"a field of {owner} is named by a constant, such as "
                      f"{owner}['{first}']")  # fmt: skip
        return name

    def tuple_item(self, value: Val, node: ast.Subscript) -> Val:
        items = self.items(value)
        if isinstance(node.slice, ast.Slice):
            bounds = [
                None if part is None else self.expression(part)
                for part in (node.slice.lower, node.slice.upper, node.slice.step)
            ]
            for bound in bounds:
                if (
                    bound is not None
                    and not (bound.static and bound.const is None)
                    and not (typing.is_integer(bound.type))
                ):
                    self.fail(TypingError, node, "the bounds of a slice are integers")
            bounds = [None if b is None or b.static else b for b in bounds]
            if bounds[2] is not None and bounds[2].known and bounds[2].const == 0:
                self.fail(TypingError, node, "the step of a slice cannot be 0")
            if all(b is None or b.known for b in bounds):
                return self.tuple_of(
                    items[slice(*(None if b is None else int(b.const) for b in bounds))]
                )
            self.fail(UnsupportedError, node, "a slice of a tuple needs constant bounds")
        index = self.expression(node.slice)
        if not typing.is_integer(index.type):
            self.fail(TypingError, node, f"a tuple index is an integer, not {describe(index.type)}")
        if index.known:
            k = int(index.const)
            if not -len(items) <= k < len(items):
                self.fail(TypingError, node, f"index {k} is beyond a tuple of {len(items)} items")
            return items[k]
        value = self.tuple_of(items)
        kinds = set(value.type.items) if isinstance(value.type, TupleType) else set()
        if len(kinds) != 1:
            self.fail(TypingError, node, "this tuple holds different types, so its index has to be "
                      "a constant")  # fmt: skip
        whole = self.cast(index, types.int64, node)
        return Val(
            f"pick({value.code}, {whole.code}, {self.mask}, {self.where(node)})", kinds.pop()
        )

    def indices(self, node: ast.Subscript, kind: ArrayType) -> list[Any]:
        """The index as a list of Val, ast.Slice, None for a new axis; `...` is expanded."""
        parts: list[Any] = []
        written = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for part in written:
            if isinstance(part, ast.Slice):
                parts.append(part)
                continue
            if isinstance(part, ast.Constant) and part.value is ...:
                parts.append(...)
                continue
            value = self.expression(part)
            if value.static and value.const is None:
                parts.append(None)
            else:
                parts.extend(self.items(value) if isinstance(value.type, TupleType) else [value])
        used = len(parts) - parts.count(None)
        if parts.count(...) == 1:
            at = parts.index(...)
            parts[at : at + 1] = [ast.Slice()] * (kind.ndim - used + 1)
            used = max(used - 1, kind.ndim)
        name = ast.unparse(node.value)
        if used > kind.ndim:
            self.fail(
                TypingError, node,
                f"{name} has {kind.ndim} dimension{'s' * (kind.ndim != 1)} "
                f"but is indexed with {used}",
            )  # fmt: skip
        for part in parts:
            if isinstance(part, Val) and not typing.is_integer(part.type):
                self.no_function(part, node)
                hint = (
                    "Use // for a division that gives an integer, or int(...)."
                    if (typing.is_float(part.type))
                    else ""
                )
                self.fail(
                    TypingError, node,
                    f"an index of {name} has type {describe(part.type)}; it has to be an integer",
                    hint,
                )  # fmt: skip
        return parts

    def element_or_view(self, array: Val, node: ast.Subscript) -> Val:
        kind: ArrayType = array.type
        parts = self.indices(node, kind)
        if len(parts) == kind.ndim and all(isinstance(p, Val) for p in parts):
            index = "".join(f"{p.code}, " for p in parts)
            return self.element(array, index, ast.unparse(node.value), node)
        return self.view(array, parts, node)

    def element(self, array: Val, index: str, label: str, node: ast.AST) -> Val:
        """One element of an array; `index` is source, `label` what the reader calls the array."""
        kind: ArrayType = array.type
        if isinstance(kind.dtype, types.Record):
            return structures.element(self, array, index, label)
        if typing.is_vector(kind.dtype):
            return vectors.load(self, array, index, label, node)
        site = self.site(node, label, "load", kind.space)
        out = self.temporary("v")
        self.emit(f"{out} = load(rt, {array.code}, ({index}), {self.mask}, {site})")
        return Val(out, kind.dtype)

    def view(self, array: Val, parts: list[Any], node: ast.Subscript) -> Val:
        kind: ArrayType = array.type
        codes, ndim = [], kind.ndim
        for part in parts:
            if isinstance(part, Val):
                codes.append(part.code)
                ndim -= 1
                continue
            if part is None:
                codes.append("None")
                ndim += 1
                continue
            bounds = []
            for bound in (part.lower, part.upper, part.step):
                value = None if bound is None else self.expression(bound)
                if value is not None and not value.static and not typing.is_integer(value.type):
                    self.fail(TypingError, node, "the bounds of a slice are integers")
                absent = value is None or value.const is None
                if bound is part.step and value is not None and value.known and value.const == 0:
                    self.fail(TypingError, node, "the step of a slice cannot be 0")
                bounds.append("None" if absent or value is None else value.code)
            codes.append(f"({', '.join(bounds)})")
        site = self.site(node, ast.unparse(node.value), "view")
        out = self.temporary("view")
        index = "".join(f"{code}, " for code in codes)
        self.emit(f"{out} = row(rt, {array.code}, ({index}), {self.mask}, {site})")
        return Val(out, ArrayType(kind.dtype, ndim, kind.readonly, kind.space))

    def on_Call(self, node: ast.Call) -> Val:
        from .calls import lower_call

        return lower_call(self, node)


def _counted(kind: Type) -> str:
    """The name under which operations of a type are counted."""
    if typing.is_moment(kind):
        return "int64"
    return describe(kind.dtype if typing.is_enum(kind) else kind)


_CONSTRUCTS = {
    "ListComp": "a list comprehension", "SetComp": "a set comprehension",
    "DictComp": "a dict comprehension", "GeneratorExp": "a generator expression",
    "List": "a list", "Dict": "a dict", "Set": "a set",
    "JoinedStr": "an f-string", "Await": "await", "Yield": "yield", "YieldFrom": "yield from",
    "Starred": "a starred expression",
    "Slice": "a slice here",
}  # fmt: skip
