"""Lowering of assignments: `x = ...`, `a, b = ...`, `x += ...`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from . import arithmetic, lints, stores, structures, subscripts
from .errors import TypingError, UnsupportedError
from .iterators import Items
from .program import Val, Var, describe
from .typing import STATIC, RecordType, TupleType

if TYPE_CHECKING:
    from .expressions import Expressions
    from .statements import Function


def lower_assign(fl: Function, node: ast.Assign) -> None:
    if isinstance(node.targets[0], ast.Name):
        fl.target_name = node.targets[0].id
    value = fl.expression(node.value)
    fl.target_name = ""
    if len(node.targets) > 1 and not value.static:
        value = fl.held(value)
    for target in node.targets:
        assign_to(fl, target, value, node)


def lower_annotated(fl: Function, node: ast.AnnAssign) -> None:
    if node.value is None:
        return
    assign_to(fl, node.target, fl.expression(node.value), node)


def lower_augmented(fl: Function, node: ast.AugAssign) -> None:
    name = type(node.op).__name__
    if isinstance(node.target, ast.Name):
        read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        old = fl.expression(read)
        value = arithmetic.binary(fl, name, old, fl.expression(node.value), node)
        assign_to(fl, node.target, value, node)
        return
    if not isinstance(node.target, (ast.Subscript, ast.Attribute)):
        fl.fail(UnsupportedError, node, "only variables and array elements can be changed")
    owner = fl.expression(node.target.value)
    if isinstance(owner.type, RecordType):
        owner = fl.held(owner)
        part = subscripts.field_target(fl, owner, node.target)
        old = structures.read(fl, owner, part, node)
        value = arithmetic.binary(fl, name, old, fl.expression(node.value), node)
        structures.write(fl, owner, part, value, node)
        return
    if isinstance(node.target, ast.Attribute):
        stores.no_attribute_target(fl, owner, node.target)
    array, parts = stores.element_target(fl, node.target, owner)
    held = [fl.held(p) for p in parts]
    index = "".join(f"{p.code}, " for p in held)
    label = ast.unparse(node.target.value)
    old = subscripts.element(fl, array, index, label, node)
    value = arithmetic.binary(fl, name, old, fl.expression(node.value), node)
    stores.store(fl, array, index, value, node, label)


def assign_to(fl: Function, target: ast.expr, value: Val, node: ast.AST) -> None:
    """target = value"""
    if isinstance(target, ast.Name):
        assign_name(fl, target.id, value, node)
    elif isinstance(target, (ast.Tuple, ast.List)):
        unpack(fl, target, value, node)
    elif isinstance(target, (ast.Subscript, ast.Attribute)):
        owner = fl.expression(target.value)
        if isinstance(owner.type, RecordType):
            structures.write(fl, owner, subscripts.field_target(fl, owner, target), value, node)
            return
        if isinstance(target, ast.Attribute):
            stores.no_attribute_target(fl, owner, target)
        array, parts = stores.target_of(fl, target, owner)
        if len(parts) == array.type.ndim and all(isinstance(p, Val) for p in parts):
            index = "".join(f"{p.code}, " for p in parts)
            stores.store(fl, array, index, value, node, ast.unparse(target.value))
        else:
            view = subscripts.view(fl, array, parts, target)
            stores.store_all(fl, view, value, node, ast.unparse(target.value))
    else:
        fl.fail(UnsupportedError, node, "only variables and array elements can be assigned to")


def assign_name(fl: Expressions, name: str, value: Val, node: ast.AST) -> None:
    if value.static:
        if isinstance(value.const, Items) and fl.mask != "m":
            fl.fail(
                UnsupportedError, node, f"{name} holds an iterator, made in a branch or loop",
                "Write it where it is used: for ... in range(n).",
            )  # fmt: skip
        fl.env[name] = Var(STATIC, _kept(fl, name, value.const, node))
        return
    value = fl.settled(node, value, name)
    variable = fl.variable(name, value.type)
    fl.env[name] = Var(value.type)
    fl.emit(f"{variable} = {blended(fl, name, value.code, variable)}")
    fl.note_assigned(name)
    lints.origin(fl, name, value, node)
    if value.known and name in fl.once:
        fl.known_names[name] = value.const


def _kept(fl: Expressions, name: str, const: Any, node: ast.AST) -> Any:
    """A static object; the numbers in a tuple with it go into variables of their own."""
    if not isinstance(const, tuple):
        return const
    items = []
    for k, item in enumerate(const):
        if isinstance(item, Val) and not item.known:
            inner = f"{name}__item{k}"
            assign_name(fl, inner, item, node)
            item = Val(fl.variable(inner, item.type), item.type)
        elif isinstance(item, Val) and item.static:
            item = Val("None", STATIC, _kept(fl, f"{name}__item{k}", item.const, node))
        items.append(item)
    return tuple(items)


def blended(fl: Expressions, name: str, code: str, variable: str) -> str:
    """The new value of a variable, keeping the old one for lanes outside the mask."""
    if fl.mask == "m" or name in fl.local[-1]:
        return code
    return f"assign({fl.mask}, {code}, {variable}, m)"


def _one_number(target: ast.Tuple | ast.List, node: ast.AST) -> str:
    """The way on from `x, y = cuda.grid(1)`."""
    call = getattr(node, "value", None)
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return ""
    name, count = call.func.attr, len(target.elts)
    if name not in ("grid", "gridsize") or not 2 <= count <= 3:
        return ""
    names = ast.unparse(target).strip("()[]")
    return f"{ast.unparse(call)} gives one number: {names} = cuda.{name}({count})."


def unpack(fl: Function, target: ast.Tuple | ast.List, value: Val, node: ast.AST) -> None:
    if not isinstance(value.type, TupleType) and not isinstance(value.const, tuple):
        text = f"{describe(value.type)} cannot be unpacked"
        fl.fail(TypingError, node, text, _one_number(target, node))
    # Evaluate the whole right side first: `a, b = b, a` must swap.
    if not value.static and not value.known and not value.code.isidentifier():
        name = fl.temporary()
        fl.emit(f"{name} = {value.code}")
        value = Val(name, value.type)
    items = fl.items(value)
    if value.static:
        copies = []
        for item in items:
            if not item.static and not item.known:
                name = fl.temporary()
                fl.emit(f"{name} = {item.code}")
                item = Val(name, item.type)
            copies.append(item)
        items = copies
    if len(items) != len(target.elts):
        fl.fail(
            TypingError, node, f"{len(items)} values for {len(target.elts)} names",
            "cuda.grid(2) gives two values: x, y = cuda.grid(2)."
            if "grid" in fl.source.line_text(getattr(node, "lineno", 0)) else "",
        )  # fmt: skip
    for part, item in zip(target.elts, items, strict=True):
        assign_to(fl, part, item, node)
