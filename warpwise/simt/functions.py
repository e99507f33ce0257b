"""Calls of device functions: arguments, one generated function per set of types, recursion."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import objects, typing
from .assignments import assign_name
from .closures import Closure
from .errors import TypingError, UnsupportedError
from .frozen import FrozenScope
from .names import parameters_of
from .program import MISSING, Program, Val, describe, same_type
from .signatures import choose, shown
from .typing import STATIC, Type

if TYPE_CHECKING:
    from .expressions import Expressions

#: How often the result type of a function that calls itself may grow before it is refused.
ROUNDS = 6


class UnresolvedError(Exception):
    """A function calls itself before the type of its result is known."""


def device_function(called: Any) -> Any:
    """What a kernel may call as a device function; None for anything else."""
    from .adoption import device_function_of
    from .device_functions import DeviceFunction

    if isinstance(called, (DeviceFunction, Closure)):
        return called
    return device_function_of(called)


def arguments_of(fl: Expressions, node: ast.Call) -> list[Val]:
    """The positional arguments of a call, tuples after a star spread out."""
    args: list[Val] = []
    for arg in node.args:
        if not isinstance(arg, ast.Starred):
            args.append(fl.expression(arg))
            continue
        value = fl.expression(arg.value)
        if not isinstance(value.type, typing.TupleType) and not isinstance(value.const, tuple):
            fl.fail(TypingError, arg, f"only a tuple can follow *, not {describe(value.type)}")
        args.extend(fl.items(fl.held(value)))
    return args


def keywords_of(fl: Expressions, node: ast.Call) -> dict[str, Val]:
    """The keyword arguments of a call."""
    found = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            fl.fail(UnsupportedError, node, "** cannot be used in a kernel",
                    "Write the arguments out.")  # fmt: skip
        found[keyword.arg] = fl.expression(keyword.value)
    return found


def lower_device(fl: Expressions, node: ast.Call, device: Any, name: str) -> Val:
    """A call of a device function, or of a function inside the kernel."""
    args, named = arguments_of(fl, node), keywords_of(fl, node)
    return call_device(fl, node, device, name, args, named)


def call_device(
    fl: Expressions, node: ast.Call, device: Any, name: str, args: list[Val], named: dict[str, Val]
) -> Val:
    """The same with the arguments lowered."""
    tree = device.source.tree
    parameters = parameters_of(tree)
    values = _bound(fl, node, device, name, args, named)
    ordered = [values[parameter] for parameter in parameters]
    result_type: Type | None = None
    if device.explicit:
        ordered, result_type = _converted(fl, node, device, name, ordered)
    ordered += args[len(parameters) :]  # of *args
    captured = device.values(fl, node) if isinstance(device, Closure) else {}
    generated, result = specialise(fl, node, device, [*captured.values(), *ordered], list(captured))
    passed = "".join(f", {code}" for value in (*captured.values(), *ordered)
                     for code in codes(value))  # fmt: skip
    out = fl.temporary("r")
    waits = "yield from " if fl.program.serial else ""
    fl.emit(f"{out} = {waits}{generated}(rt, {fl.mask}{passed})")
    if result is None:
        return Val("None", STATIC, None)
    value = Val(out, result)
    if isinstance(device, Closure) and device.changed:
        if fl is not device.home:
            fl.fail(UnsupportedError, node, f"{name} changes names of {device.home.source.name}, "
                    "and so can be called only there", "Return the new value instead.")  # fmt: skip
        for changed, item in zip(device.changed, fl.items(value), strict=True):
            assign_name(fl, changed, item, node)
        return Val("None", STATIC, None)
    return fl.cast(value, result_type, node) if typing.is_number(result_type) else value


def _converted(
    fl: Expressions, node: ast.Call, device: Any, name: str, args: list[Val]
) -> tuple[list[Val], Type | None]:
    """The arguments as the explicit signature that fits them best wants them, and its result."""
    kinds = [value.type for value in args]
    found = choose([given for given, _ in device.explicit], kinds)
    if found is None:
        listed = "; ".join(shown(given) for given, _ in device.explicit)
        fl.fail(TypingError, node, f"{name} was compiled for {listed} only, not for {shown(kinds)}",
                "Leave the signature out of its @cuda.jit, or convert the arguments.")  # fmt: skip
    converted = [
        fl.cast(value, kind, node) if typing.is_number(kind) else value
        for value, kind in zip(args, found, strict=True)
    ]
    return converted, dict(device.explicit)[found]


def _bound(
    fl: Expressions, node: ast.Call, device: Any, name: str, args: list[Val], named: dict[str, Val]
) -> dict[str, Val]:
    """Parameter -> value, defaults filled in."""
    tree = device.source.tree
    parameters = parameters_of(tree)
    by_name = dict(zip(parameters, args, strict=False))
    for keyword, value in named.items():
        if keyword not in parameters[len(tree.args.posonlyargs) :] or keyword in by_name:
            fl.fail(TypingError, node, f"{name} has no free parameter {keyword}")
        by_name[keyword] = value
    if isinstance(device, Closure):
        defaults = device.default_values
    else:
        defaults = {p: objects.of_object(fl, node, value) for p, value in device.defaults().items()
                    if p not in by_name}  # fmt: skip
    by_name = {**defaults, **by_name}
    too_many = len(args) > len(parameters) and tree.args.vararg is None
    if too_many or any(p not in by_name for p in parameters):
        listed = f" ({', '.join(parameters)})" if parameters else ""
        fl.fail(
            TypingError, node,
            f"{name} takes {len(parameters)} argument{'s' * (len(parameters) != 1)}{listed}, "
            f"got {len(args) + len(named)}",
        )  # fmt: skip
    return by_name


def codes(value: Val) -> Iterator[str]:
    """What is passed at run time of an argument: nothing of what is known while lowering."""
    if not value.static:
        yield value.code
    elif isinstance(value.const, tuple):
        for item in value.const:
            if isinstance(item, Val):
                yield from codes(item)


def specialise(
    caller: Expressions, node: ast.AST, device: Any, args: list[Val], captured: list[str]
) -> tuple[str, Type | None]:
    """Generate a device function for these argument types; its name and result type."""
    program = caller.program
    active = [key for key in program.in_progress if key[0] == id(device)]
    if active:  # it calls itself: with literals, each call would be a function of its own
        args = [value if value.static else Val(value.code, value.type) for value in args]
    key = (id(device), tuple(_key(program, value) for value in args))
    if key in program.specialised:
        return program.specialised[key]
    if active:
        _check_recursion(caller, node, device, key, active)
    if key in program.in_progress:
        if key not in program.assumed:
            raise UnresolvedError
        program.recursive.add(key)
        return program.in_progress[key], program.assumed[key]
    program.kept.append(device)
    name = program.fresh(f"device_{re.sub(r'[^0-9A-Za-z_]', '_', device.source.name)}")
    program.in_progress[key] = name
    try:
        result = _settled(caller, node, device, key, args, captured)
    finally:
        del program.in_progress[key]
    program.specialised[key] = name, result
    return program.specialised[key]


def _check_recursion(
    caller: Expressions, node: ast.AST, device: Any, key: Any, active: list[Any]
) -> None:
    """Refuse the recursion that Numba does not compile for CUDA."""
    program, name = caller.program, device.source.name
    innermost = list(program.in_progress)[-1]
    if innermost[0] != id(device):
        caller.fail(
            UnsupportedError, node, f"{name} calls itself through another function",
            "Numba compiles recursion for CUDA only when a function calls itself directly.",
        )  # fmt: skip
    types_of = [[part[0] for part in one[1]] for one in (*active, key)]
    if any(kinds != types_of[0] for kinds in types_of):
        caller.fail(
            UnsupportedError, node, f"{name} calls itself with arguments of other types",
            "Numba compiles recursion for CUDA only with the same types. Convert the arguments.",
        )  # fmt: skip


def _settled(
    caller: Expressions, node: ast.AST, device: Any, key: Any, args: list[Val], captured: list[str]
) -> Type | None:
    """Lower a function until the type of its result no longer changes; that type."""
    from .statements import Function

    program, scope = caller.program, device.scope
    if not isinstance(device, Closure):
        scope = device.frozen.setdefault(tuple(value.type for value in args), FrozenScope(scope))
        program.scopes.append((device.source.name, scope))

    def function(**options: Any) -> Any:
        return Function(program, device.source, scope, kernel=False, captured=captured,
                        home=getattr(device, "home", None), **options)  # fmt: skip

    name = program.in_progress[key]
    result: Any = MISSING
    for _ in range(ROUNDS):
        before = len(program.functions)
        made = function(result=None if result is MISSING else result)
        try:
            found = made.lower(name, args)
        except UnresolvedError:
            # The returns that need no call of the function itself give the type.
            program.assumed[key] = function(probing=True).lower(name, args)
            del program.functions[before:]
            continue
        assumed = program.assumed.get(key, found)
        if key in program.recursive and made.local_arrays:
            caller.fail(
                UnsupportedError, node,
                f"{device.source.name} calls itself and has a cuda.local.array",
                "The simulator has one such array for all of its calls. Pass the array on.",
            )  # fmt: skip
        if found != assumed:
            program.assumed[key] = result = same_type(found, assumed) or found
        elif result is MISSING and any(kind != found for kind in made.returned):
            result = found  # the returns differ in type: lower again, casting each of them
        else:
            return found
        program.functions.pop()
    caller.fail(
        TypingError, node, f"the type of the result of {device.source.name} does not converge",
        "Each call of itself makes it larger. Return a number, or a tuple of one length.",
    )  # fmt: skip


def _key(program: Program, value: Val) -> Any:
    """What tells one argument from another: its type, and the literal or object it is."""
    if not value.static:
        # A literal argument makes its own function, so that it can be a size.
        return value.type, repr(value.const) if value.known else None
    if isinstance(value.const, tuple):
        return STATIC, tuple(
            _key(program, item) if isinstance(item, Val) else item for item in value.const
        )
    program.kept.append(value.const)  # so that its id stays its own
    return STATIC, id(value.const)
