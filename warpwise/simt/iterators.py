"""What a `for` of a kernel can run over, besides range(): each as a length and its k-th item.

array                    its elements, or its rows
tuple, literal list      items of one type
enumerate(x, start), zip(x, y, ...), iter(x), np.ndindex(n, m), np.ndenumerate(a), np.nditer(a),
a.flat, range(...)       also inside each other
literal_unroll(tuple)    items of any types, the body once for each
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core import types

from . import arithmetic, bounds, subscripts, typing
from .errors import TypingError, UnsupportedError
from .names import target_names
from .program import Val, describe
from .typing import STATIC, ArrayType, TupleType

if TYPE_CHECKING:
    from .expressions import Expressions

Item = Callable[["Expressions", ast.AST, Val], Val]


@dataclass(frozen=True, eq=False)
class Items:
    """`length` is an int64 value; `item` lowers the access to the item of a number."""

    length: Val
    item: Item


@dataclass(frozen=True, eq=False)
class Range(Items):
    """bounds: start, stop and step."""

    bounds: tuple[Val, Val, Val]


def static(items: Items) -> Val:
    """Items as a value while lowering."""
    return Val("None", STATIC, items)


def iterate(fl: Expressions, value: Val, node: ast.AST) -> Items:
    """The items of a value, or the sentence that it has none."""
    if isinstance(value.const, Items):
        return value.const
    if isinstance(value.type, ArrayType) and value.type.ndim:
        return _array(fl, value)
    if isinstance(value.type, TupleType) or isinstance(value.const, tuple):
        return _tuple(fl, value, node)
    fl.fail(TypingError, node, f"{describe(value.type)} cannot be looped over",
            "Write `for i in range(n)`.")  # fmt: skip


def _kept(fl: Expressions, value: Val) -> Val:
    """The value under a name that no loop assigns to."""
    if value.known or value.static:
        return value
    name = fl.temporary()
    fl.emit(f"{name} = {value.code}")
    return Val(name, value.type)


def _array(fl: Expressions, array: Val) -> Items:
    array = _kept(fl, array)
    kind: ArrayType = array.type

    def item(fl: Expressions, node: ast.AST, k: Val) -> Val:
        if kind.ndim > 1:
            site = fl.site(node, _label(node), "load", kind.space)
            out = fl.temporary("view")
            fl.emit(f"{out} = row(rt, {array.code}, ({k.code}, ), {fl.mask}, {site})")
            return Val(out, ArrayType(kind.dtype, kind.ndim - 1, kind.readonly, kind.space))
        return subscripts.element(fl, array, f"{k.code}, ", _label(node), node)

    return Items(Val(f"np.int64({array.code}.shape[0])", types.int64), item)


def _label(node: ast.AST) -> str:
    return ast.unparse(node.iter) if isinstance(node, ast.For) else ast.unparse(node)


def _tuple(fl: Expressions, value: Val, node: ast.AST) -> Items:
    items = fl.items(value)
    kinds = {item.type for item in items}
    if len(kinds) > 1 or STATIC in kinds:
        listed = ", ".join(describe(item.type) for item in items)
        fl.fail(
            TypingError, node, f"this tuple holds different types ({listed})",
            "Numba loops over such a tuple only with literal_unroll: "
            "from numba import literal_unroll.",
        )  # fmt: skip
    length = fl.number(node, len(items))
    if not items:
        return Items(length, lambda fl, node, k: fl.number(node, 0))
    whole = _kept(fl, fl.tuple_of(items))

    def item(fl: Expressions, node: ast.AST, k: Val) -> Val:
        return Val(f"pick({whole.code}, {k.code}, {fl.mask}, {fl.where(node)})", items[0].type)

    return Items(length, item)


def literal_list(fl: Expressions, node: ast.List) -> Val:
    """[1, 2.5] as a tuple of one type; elsewhere a kernel has no lists."""
    items = [fl.expression(element) for element in node.elts]
    kind: Any = items[0].type if items else types.int64
    for item in items[1:]:
        kind = typing.unify(kind, item.type) if kind is not None and kind is not STATIC else None
    if kind is None or kind is STATIC:
        fl.fail(TypingError, node, "the items of this list have no common type")
    return fl.tuple_of([fl.cast(item, kind, node) for item in items])


# -- functions that make items ---------------------------------------------------


def _count(fl: Expressions, node: ast.Call, args: list[Val], name: str, *counts: int) -> None:
    if len(args) not in counts:
        fl.fail(TypingError, node, f"{name} takes {' or '.join(map(str, counts))} arguments, got "
                f"{len(args)}")  # fmt: skip


def _enumerate(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    _count(fl, node, args, "enumerate", 1, 2)
    inner = iterate(fl, args[0], node)
    start = _kept(fl, fl.cast(args[1], types.int64, node)) if len(args) == 2 else None

    def item(fl: Expressions, node: ast.AST, k: Val) -> Val:
        number = arithmetic.binary(fl, "Add", k, start, node) if start else k
        return fl.tuple_of([number, inner.item(fl, node, k)])

    return static(Items(inner.length, item))


def _zip(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    if not args:
        fl.fail(TypingError, node, "zip needs at least one argument")
    parts = [iterate(fl, arg, node) for arg in args]
    length = parts[0].length
    for part in parts[1:]:
        length = Val(f"np.minimum({length.code}, {part.length.code})", types.int64)

    def item(fl: Expressions, node: ast.AST, k: Val) -> Val:
        return fl.tuple_of([part.item(fl, node, k) for part in parts])

    return static(Items(length, item))


def _iter(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    _count(fl, node, args, "iter", 1)
    return static(iterate(fl, args[0], node))


def _range(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    start, stop, step = (_kept(fl, bound) for bound in bounds.of_range(fl, node, args))
    kind = start.type
    codes = f"{start.code}, {stop.code}, {step.code}, {fl.mask}, {fl.where(node)}"
    length = _kept(fl, Val(f"range_length({codes})", types.int64))

    def item(fl: Expressions, node: ast.AST, k: Val) -> Val:
        number = fl.cast(k, kind, node).code
        return Val(f"({start.code} + {number} * {step.code})", kind)

    return static(Range(length, item, (start, stop, step)))


def _unravelled(fl: Expressions, node: ast.AST, k: Val, extents: list[Val]) -> list[Val]:
    """The index of the k-th element, the last axis fastest."""
    index: list[Val] = []
    rest = k
    for extent in reversed(extents[1:]):
        index.append(fl.held(Val(f"remainder_of({rest.code}, {extent.code})", types.int64)))
        rest = fl.held(Val(f"quotient_of({rest.code}, {extent.code})", types.int64))
    return [rest, *reversed(index)] if extents else []


def _product(fl: Expressions, extents: list[Val]) -> Val:
    code = " * ".join(["np.int64(1)", *(extent.code for extent in extents)])
    return _kept(fl, Val(f"({code})", types.int64))


def _ndindex(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    if len(args) == 1 and isinstance(args[0].type, TupleType):
        args = fl.items(args[0])
    for arg in args:
        if not typing.is_integer(arg.type):
            fl.fail(TypingError, node, f"np.ndindex takes integers, not {describe(arg.type)}")
    extents = [_kept(fl, fl.cast(arg, types.int64, node)) for arg in args]

    def item(fl: Expressions, node: ast.AST, k: Val) -> Val:
        return fl.tuple_of(_unravelled(fl, node, k, extents))

    return static(Items(_product(fl, extents), item))


def _extents(array: Val) -> list[Val]:
    shape = (f"np.int64({array.code}.shape[{k}])" for k in range(array.type.ndim))
    return [Val(code, types.int64) for code in shape]


def _of_array(fl: Expressions, node: ast.AST, args: list[Val], name: str) -> Val:
    if len(args) != 1 or not isinstance(args[0].type, ArrayType):
        fl.fail(TypingError, node, f"{name} takes one array in a kernel")
    return _kept(fl, args[0])


def _ndenumerate(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    array = _of_array(fl, node, args, "np.ndenumerate")

    def item(fl: Expressions, node: ast.AST, k: Val) -> Val:
        index = _unravelled(fl, node, k, _extents(array))
        return fl.tuple_of([fl.tuple_of(index), element(fl, node, array, index)])

    return static(Items(Val(f"{array.code}.size", types.int64), item))


def _nditer(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    array = _of_array(fl, node, args, "np.nditer")
    kind: ArrayType = array.type

    def item(fl: Expressions, node: ast.AST, k: Val) -> Val:
        index = _unravelled(fl, node, k, _extents(array))
        site = fl.site(node, _label(node), "view", kind.space)
        codes = "".join(f"{i.code}, " for i in index)
        out = fl.temporary("view")
        fl.emit(f"{out} = row(rt, {array.code}, ({codes}), {fl.mask}, {site})")
        return Val(out, ArrayType(kind.dtype, 0, kind.readonly, kind.space))

    return static(Items(Val(f"{array.code}.size", types.int64), item))


def element(fl: Expressions, node: ast.AST, array: Val, index: list[Val]) -> Val:
    """array[index]"""
    return subscripts.element(fl, array, "".join(f"{i.code}, " for i in index), _label(node), node)


@dataclass(frozen=True, eq=False)
class Flat(Items):
    """a.flat, which can be indexed, too."""

    array: Val

    def index(self, fl: Expressions, node: ast.AST, k: Val) -> list[Val]:
        """The index in the array of the k-th element; negative k counts from the end."""
        number = fl.held(Val(f"wrapped({k.code}, {self.array.code}.size)", types.int64))
        return _unravelled(fl, node, number, _extents(self.array))


def flat(fl: Expressions, array: Val) -> Val:
    """a.flat"""
    array = _kept(fl, array)

    def item(fl: Expressions, node: ast.AST, k: Val) -> Val:
        return element(fl, node, array, _unravelled(fl, node, k, _extents(array)))

    return static(Flat(Val(f"{array.code}.size", types.int64), item, array))


def _no_reversed(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    fl.fail(UnsupportedError, node, "Numba has no reversed()",
            "Count down: range(n - 1, -1, -1), or take x[::-1] of an array.")  # fmt: skip


MAKERS: dict[Any, Callable[[Expressions, ast.Call, list[Val]], Val]] = {
    enumerate: _enumerate, zip: _zip, iter: _iter, range: _range, reversed: _no_reversed,
    np.ndindex: _ndindex, np.ndenumerate: _ndenumerate, np.nditer: _nditer,
}  # fmt: skip


# -- literal_unroll --------------------------------------------------------------


def is_unroll(value: Any) -> bool:
    """Whether this is Numba's literal_unroll."""
    module = getattr(value, "__module__", None) or ""
    return module.startswith("numba") and getattr(value, "__name__", "") == "literal_unroll"


def unrolled(node: ast.For, number: int, count: int, own: set[str]) -> ast.For:
    """`for v in literal_unroll(t)` as a loop over range() with a branch for each item.

    The items are in unroll__<number>_<k>.  `own` are the names that nothing outside the loop reads:
    each branch has its own, since their types differ.
    """
    counter = f"unroll__{number}"
    branch: list[ast.stmt] = []
    for k in reversed(range(count)):
        renamed = _Rename({name: f"{name}__{k}" for name in {*own, *target_names(node.target)}})
        take = ast.Assign([node.target], ast.Name(f"{counter}_{k}", ast.Load()))
        body = [renamed.visit(deepcopy(statement)) for statement in (take, *node.body)]
        test = ast.Compare(ast.Name(counter, ast.Load()), [ast.Eq()], [ast.Constant(k)])
        branch = [ast.If(test, body, branch)]
    call = ast.Call(ast.Name("range", ast.Load()), [ast.Constant(count)], [])
    loop = ast.For(ast.Name(counter, ast.Store()), call, branch or [ast.Pass()], node.orelse)
    for inner in ast.walk(loop):
        if not hasattr(inner, "lineno") and isinstance(inner, (ast.expr, ast.stmt)):
            ast.copy_location(inner, node)
    return loop


class _Rename(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.names.get(node.id, node.id)
        return node
