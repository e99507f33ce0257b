"""The syntax tree of a function that has no text: made with exec(), or typed at a bare prompt.

Numba's own front end reads the bytecode; what it gives for straight code and for branches is turned
back into Python, one operation a line.  Functions with loops stay without text.

Glossary
    block   a piece of straight code, by its label; it ends in a jump, a branch, a return or a raise
    inline  temporaries that stand for something that never changes: a constant, a module's
            attribute, a slice; all others become variables, so that everything keeps its order
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections import Counter
from collections.abc import Callable
from types import CodeType
from typing import Any

from numba.core import ir
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.compiler import run_frontend

_BINARY = {
    operator.add: ast.Add, operator.sub: ast.Sub, operator.mul: ast.Mult,
    operator.truediv: ast.Div, operator.floordiv: ast.FloorDiv, operator.mod: ast.Mod,
    operator.pow: ast.Pow, operator.lshift: ast.LShift, operator.rshift: ast.RShift,
    operator.and_: ast.BitAnd, operator.or_: ast.BitOr, operator.xor: ast.BitXor,
}  # fmt: skip
_COMPARE = {
    operator.lt: ast.Lt, operator.le: ast.LtE, operator.gt: ast.Gt, operator.ge: ast.GtE,
    operator.eq: ast.Eq, operator.ne: ast.NotEq, operator.is_: ast.Is, operator.is_not: ast.IsNot,
}  # fmt: skip
_UNARY = {
    operator.neg: ast.USub, operator.pos: ast.UAdd, operator.invert: ast.Invert,
    operator.not_: ast.Not,
}  # fmt: skip


class NotReadableError(Exception):
    """The bytecode holds something that is not turned back into Python here."""


def text_of(fn: Callable[..., Any]) -> str:
    """Python text with the meaning of a function's bytecode; NotReadableError when there is none.

    The text defines a function of the same name and parameters, without their default values.
    """
    code: CodeType = fn.__code__
    try:
        blocks = run_frontend(fn).blocks
        return _Reader(blocks).text(code)
    except NotReadableError:
        raise
    except Exception as error:  # Numba's front end refuses what it does not know
        raise NotReadableError(str(error)) from None


class _Reader:
    def __init__(self, blocks: dict[int, Any]) -> None:
        self.blocks = blocks
        self.graph = compute_cfg_from_blocks(blocks)
        if self.graph.loops():
            raise NotReadableError("a loop")
        self.inline: dict[str, ast.expr] = {}
        statements = [one for block in blocks.values() for one in block.body]
        self.stores = Counter(one.target.name for one in statements if isinstance(one, ir.Assign))
        self.reads = Counter(var.name for one in statements for var in one.list_vars())
        values = [one.value for one in statements if isinstance(one, ir.Assign)]
        calls = [v for v in values if isinstance(v, ir.Expr) and v.op == "call"]
        self.called = {call.func.name for call in calls}  # x.conjugate, to be called
        self.reads -= self.stores  # list_vars() has the target, too
        self.once = {_spelled(name) for name, n in self.reads.items() if n == 1}
        self.seen: set[int] = set()

    def text(self, code: CodeType) -> str:
        names = code.co_varnames[: code.co_argcount]
        if code.co_kwonlyargcount or code.co_flags & 0x0C:  # *args or **kwargs
            raise NotReadableError("parameters")
        arguments = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
        body = self.suite(min(self.blocks), None) or [ast.Pass()]
        name = code.co_name if code.co_name.isidentifier() else "function"
        tree = ast.FunctionDef(name, arguments, body, [], None)
        return ast.unparse(ast.fix_missing_locations(tree)) + "\n"

    def suite(self, label: int | None, end: int | None) -> list[ast.stmt]:
        """Everything from a block to the one where its paths meet again."""
        body: list[ast.stmt] = []
        while label is not None and label != end:
            made = [s for one in self.blocks[label].body if (s := self.statement(one)) is not None]
            if made and isinstance(made[-1], ast.Raise):
                made[-1].exc = self.merged(made, made[-1].exc, -2)
            if label in self.seen and any(
                isinstance(n, ast.Call) for s in made for n in ast.walk(s)
            ):
                raise NotReadableError("a call that two branches share")
            self.seen.add(label)
            body += made
            last = self.blocks[label].body[-1]
            if isinstance(last, ir.Jump):
                label = last.target
            elif isinstance(last, ir.Branch):
                test = self.merged(body, self.value(last.cond), -1)
                label = self.meeting(label)
                yes, no = (self.suite(arm, label) for arm in (last.truebr, last.falsebr))
                if not yes and no:
                    test, yes, no = ast.UnaryOp(ast.Not(), test), no, []
                if yes:
                    body.append(ast.If(test, yes, no))
            else:
                label = None
        return body

    def merged(self, body: list[ast.stmt], value: Any, at: int) -> Any:
        """A temporary that the statement before has made, put where it is read."""
        before = body[at] if len(body) >= -at else None
        if isinstance(before, ast.Assign) and isinstance(value, ast.Name):
            target = before.targets[0]
            if isinstance(target, ast.Name) and target.id == value.id and value.id in self.once:
                del body[at]
                return before.value
        return value

    def meeting(self, label: int) -> int | None:
        """The first block that all paths from here come to."""
        after = self.graph.post_dominators()
        common = [other for other in after[label] if other != label and other in self.blocks]
        return max(common, key=lambda other: len(after[other]), default=None)

    def statement(self, one: Any) -> ast.stmt | None:
        if isinstance(one, (ir.Del, ir.Jump, ir.Branch)):
            return None
        if isinstance(one, ir.Assign):
            return self.assignment(one.target.name, one.value)
        if isinstance(one, (ir.SetItem, ir.StaticSetItem)):
            index = getattr(one, "index_var", None) or one.index
            return ast.Assign([self.item(one.target, index, ast.Store())], self.value(one.value))
        if isinstance(one, ir.SetAttr):
            owner = self.value(one.target)
            return ast.Assign([ast.Attribute(owner, one.attr, ast.Store())], self.value(one.value))
        if isinstance(one, ir.Return):
            value = self.value(one.value)
            nothing = isinstance(value, ast.Constant) and value.value is None
            return ast.Return(None if nothing else value)
        if isinstance(one, ir.Raise):
            return ast.Raise(self.value(one.exception) if one.exception else None, None)
        raise NotReadableError(type(one).__name__)

    def assignment(self, name: str, value: Any) -> ast.stmt | None:
        if isinstance(value, ir.Arg):
            if value.name != name:
                raise NotReadableError("a renamed parameter")
            return None
        made = self.expression(value)
        if name.startswith("$") and self.stores[name] == 1:
            tested = isinstance(made, ast.Name) and getattr(value, "op", "") == "call"
            if tested or name in self.called or self.fixed(made):
                self.inline[name] = made
                return None
            if not self.reads[name]:
                return ast.Expr(made) if isinstance(made, ast.Call) else None
        return ast.Assign([ast.Name(_spelled(name), ast.Store())], made)

    def fixed(self, made: ast.expr) -> bool:
        """Whether an expression means the same wherever it stands in its block."""
        if isinstance(made, ast.Tuple):
            return all(
                self.fixed(item) or isinstance(item, ast.Slice) for item in made.elts
            ) or any(isinstance(item, ast.Slice) for item in made.elts)
        if isinstance(made, ast.Attribute):
            return self.fixed(made.value)
        known = isinstance(made, ast.Name) and getattr(made, "outside", False)
        if isinstance(made, ast.UnaryOp):  # -2
            return isinstance(made.operand, ast.Constant)
        return known or isinstance(made, (ast.Constant, ast.Slice))

    def value(self, var: Any) -> ast.expr:
        """What a variable of the front end is read as."""
        if not isinstance(var, ir.Var):
            return _constant(var)
        found = self.inline.get(var.name)
        return found if found is not None else ast.Name(_spelled(var.name), ast.Load())

    def item(self, owner: Any, index: Any, context: ast.expr_context) -> ast.expr:
        return ast.Subscript(self.value(owner), self.value(index), context)

    def expression(self, value: Any) -> ast.expr:
        if isinstance(value, ir.Const):
            return _constant(value.value)
        if isinstance(value, (ir.Global, ir.FreeVar)):
            name = ast.Name(value.name, ast.Load())
            name.outside = True  # type: ignore[attr-defined]
            return name
        if isinstance(value, ir.Var):
            return self.value(value)
        handler = getattr(self, f"on_{value.op}", None) if isinstance(value, ir.Expr) else None
        if handler is None:
            raise NotReadableError(getattr(value, "op", type(value).__name__))
        made: ast.expr = handler(value)
        return made

    def on_cast(self, value: Any) -> ast.expr:
        return self.value(value.value)

    on_exhaust_iter = on_cast

    def on_getattr(self, value: Any) -> ast.expr:
        return ast.Attribute(self.value(value.value), value.attr, ast.Load())

    def on_getitem(self, value: Any) -> ast.expr:
        return self.item(value.value, value.index, ast.Load())

    def on_static_getitem(self, value: Any) -> ast.expr:
        return self.item(value.value, value.index_var or value.index, ast.Load())

    def on_build_tuple(self, value: Any) -> ast.expr:
        return ast.Tuple([self.value(item) for item in value.items], ast.Load())

    def on_binop(self, value: Any) -> ast.expr:
        return self.operation(value.fn, value)

    def on_inplace_binop(self, value: Any) -> ast.expr:
        return self.operation(value.immutable_fn, value)

    def operation(self, function: Any, value: Any) -> ast.expr:
        left, right = self.value(value.lhs), self.value(value.rhs)
        if function in _BINARY:
            return ast.BinOp(left, _BINARY[function](), right)
        if function in _COMPARE:
            return ast.Compare(left, [_COMPARE[function]()], [right])
        raise NotReadableError(function.__name__)

    def on_unary(self, value: Any) -> ast.expr:
        if value.fn not in _UNARY:
            raise NotReadableError(str(value.fn))
        return ast.UnaryOp(_UNARY[value.fn](), self.value(value.value))

    def on_call(self, value: Any) -> ast.expr:
        if value.vararg is not None or value.varkwarg is not None:
            raise NotReadableError("a call with *")
        function = self.value(value.func)
        args = [self.value(arg) for arg in value.args]
        if isinstance(function, ast.Name) and value.func.name.startswith("$bool"):
            return args[0]  # of a branch
        if isinstance(function, ast.Name) and function.id == "slice" and "slice" in value.func.name:
            bounds = [None if _is_none(arg) else arg for arg in args]
            return ast.Slice(*(bounds if len(bounds) > 1 else [None, *bounds]))
        named = [ast.keyword(name, self.value(arg)) for name, arg in value.kws]
        return ast.Call(function, args, named)


def _constant(value: Any) -> ast.expr:
    """A constant so that its text stands for it anywhere: -2 ** x is not (-2) ** x."""
    plain = (bool, int, float, complex, str, bytes, type(None))
    if not isinstance(value, plain) or value != value:
        raise NotReadableError("a constant")
    if isinstance(value, (int, float)) and math.copysign(1, value) < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _spelled(name: str) -> str:
    """A name of the front end as one of Python: $12load.3 is v_12load_3, x.1 is x__1."""
    if name.startswith("$"):
        return "v_" + re.sub(r"\W", "_", name[1:])
    return name.replace(".", "__")
