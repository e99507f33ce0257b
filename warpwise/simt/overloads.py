"""Functions that Numba knows through @overload: their implementation is Python, and is lowered.

`@overload(f)` gives, for argument types, the Python function that a kernel's call of f stands for.
NumPy's reductions (np.sum, a.mean(), ...) are such functions, too.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core import types
from numba.core.types import BaseTuple  # type: ignore[attr-defined]
from numba.core.types import literal as literal_type  # type: ignore[attr-defined]

from . import library, typing
from .closures import Closure
from .errors import TypingError, UnsupportedError
from .program import Val, describe
from .typing import STATIC, ArrayType, TupleType

if TYPE_CHECKING:
    from .expressions import Expressions

#: Functions of NumPy that work on an array without making one.
REDUCTIONS = frozenset(
    getattr(np, name)
    for name in """all any sum prod mean var std min max argmin argmax nanmin nanmax nanmean nansum
    nanprod nanvar nanstd count_nonzero""".split()  # noqa: SIM905
)
#: Where Numba's own overloads are.
OWN = re.compile(r"numba(\.cuda)?\.(np|cpython|core|typing)\b")
METHODS = frozenset("all any sum prod mean var std min max argmin argmax".split())  # noqa: SIM905


def lower(fl: Expressions, node: ast.Call, called: Any, name: str) -> Val | None:
    """A call of an overloaded function; None when it is none."""
    from .functions import arguments_of, call_device, keywords_of

    if not callable(called) or not (hasattr(called, "__code__") or called in REDUCTIONS):
        return None
    module = getattr(called, "__module__", None) or ""
    if module.startswith("numpy") and called not in REDUCTIONS:
        return None
    if not any(_templates(called)) and called not in library.REDUCTIONS:
        return None
    args, named = arguments_of(fl, node), keywords_of(fl, node)
    device = _implementation(fl, node, called, name, args, named)
    return call_device(fl, node, device, name, args, named)


def lower_builtin(fl: Expressions, node: ast.Call, called: Any, args: list[Val]) -> Val:
    """max() or min() of an array."""
    from .functions import call_device

    device = _implementation(fl, node, called, called.__name__, args, {})
    return call_device(fl, node, device, called.__name__, args, {})


def lower_overloaded_method(fl: Expressions, node: ast.Call, array: Val, name: str) -> Val:
    """array.name(...)"""
    from .functions import arguments_of, call_device, keywords_of

    args, named = [fl.held(array), *arguments_of(fl, node)], keywords_of(fl, node)
    if name in METHODS:
        device = _implementation(fl, node, getattr(np, name), f".{name}", args, named)
    else:
        (template,) = _attribute(array.type, name)
        made = _called(template._overload_func, args, named, False)
        device = _device(fl, node, made, f".{name}")
    return call_device(fl, node, device, f".{name}", args, named)


def of_attribute(fl: Expressions, node: ast.expr, array: Val, name: str) -> Val | None:
    """array.name where Numba knows it through @overload_attribute or @overload_method."""
    from .array_methods import Method
    from .functions import call_device

    if name in METHODS:
        return Val("None", STATIC, Method(array, name))
    for template in _attribute(array.type, name):
        if template.is_method:
            return Val("None", STATIC, Method(array, name))
        made = _called(template._overload_func, [array], {}, False)
        device = _device(fl, node, made, f".{name}")
        call = ast.copy_location(ast.Call(node, [], []), node)
        return call_device(fl, call, device, f".{name}", [array], {})
    return None


def _templates(called: Any) -> Iterator[Any]:
    """What was registered with @overload for a function, the most specific for CUDA first."""
    from numba.core.target_extension import target_registry
    from numba.core.utils import order_by_target_specificity

    context = typing.context()
    try:
        context.refresh()  # the learner may have registered more
        known = context.resolve_value_type(called)
    except Exception:
        return
    found = [t for t in getattr(known, "templates", ()) if hasattr(t, "_overload_func")]
    if found:
        yield from order_by_target_specificity(target_registry["cuda"], found)


def _attribute(kind: ArrayType, name: str) -> list[Any]:
    """What was registered with @overload_method or @overload_attribute by the learner."""
    context = typing.context()
    context.refresh()
    found = [
        template
        for template in context._get_attribute_templates(numba_type(kind))
        if getattr(template, "_attr", None) == name and hasattr(template, "_overload_func")
    ]
    outside = [t for t in found if not OWN.match(t._overload_func.__module__)]
    return outside[:1]


def _implementation(
    fl: Expressions, node: ast.AST, called: Any, name: str, args: list[Val], named: dict[str, Val]
) -> Any:
    """The device function for a call."""
    whole = len(args) == 1 and not named and isinstance(args[0].type, ArrayType)
    if called in library.REDUCTIONS and whole:
        return _device(fl, node, library.reduction(called, numba_type(args[0].type)), called)
    reasons = []
    for template in _templates(called):
        try:
            inspect.signature(template._overload_func).bind(*args, **named)
        except TypeError as error:  # too many arguments, too few, or names it does not have
            reasons.append(str(error))
            continue
        prefer = bool(template.prefer_literal)
        for literal in (prefer, not prefer):
            try:
                made = _called(template._overload_func, args, named, literal)
                if made is not None and template._strict:
                    template._validate_sigs(template, template._overload_func, made)
            except Exception as error:
                if not type(error).__module__.startswith("numba"):
                    raise
                reasons.append(str(error).strip().split("\n")[0])
                continue
            if made is not None:
                return _device(fl, node, made, called)
    kinds = ", ".join(describe(value.type) for value in (*args, *named.values()))
    fl.fail(TypingError, node, f"{name} has no implementation for ({kinds})", *reasons[:1])


def _called(
    function: Callable[..., Any], args: list[Val], named: dict[str, Val], literal: bool
) -> Any:
    """What the overloading function answers for the types of a call; None: nothing."""
    kinds = [numba_type_of(value, literal) for value in args]
    made = function(*kinds, **{n: numba_type_of(v, literal) for n, v in named.items()})
    return made[1] if isinstance(made, tuple) else made  # with a signature, or the function alone


def _device(fl: Expressions, node: ast.AST, made: Any, key: Any) -> Any:
    """A device function of an implementation."""
    from .device_functions import DeviceFunction
    from .source import LiveScope, source_of

    if not hasattr(made, "__code__"):
        fl.fail(UnsupportedError, node, f"the implementation of {key} is no Python function")
    return DeviceFunction(source_of(made), LiveScope(made), made)


def numba_type(kind: Any) -> Any:
    """Numba's own type for one of ours; the layout of an array is left open."""
    if isinstance(kind, ArrayType):
        return types.Array(kind.dtype, kind.ndim, "A", readonly=kind.readonly)
    if isinstance(kind, TupleType):
        return BaseTuple.from_types([numba_type(item) for item in kind.items])
    return kind


def numba_type_of(value: Val, literal: bool) -> Any:
    """The type of a value as the overloading function gets it."""
    if not value.static:
        integer = typing.is_integer(value.type) or value.type == types.boolean
        if literal and value.known and integer:
            return literal_type(value.const.item())
        return numba_type(value.type)
    const = value.const
    if const is None:
        return types.none
    if isinstance(const, str):
        return literal_type(const) if literal else types.unicode_type
    if isinstance(const, tuple):
        return BaseTuple.from_types(
            [numba_type_of(i, literal) if isinstance(i, Val) else types.none for i in const]
        )
    if isinstance(const, types.Type):
        return types.NumberClass(const)
    if isinstance(const, type) and issubclass(const, np.generic):
        return types.NumberClass(typing.numba_type(np.dtype(const)))
    name = const.source.name if isinstance(const, Closure) else repr(const)
    return types.Opaque(name)
