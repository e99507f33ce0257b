"""Lowering of calls: casts, builtins, `math`, ufuncs, `cuda` functions, device functions."""

from __future__ import annotations

import ast
import cmath
import math
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numba.core import types

from . import arithmetic, iterators, lints, named, ops, overloads, pointers, typing
from .array_methods import Method, lower_method
from .errors import TypingError, UnsupportedError
from .functions import arguments_of, device_function, lower_device
from .intrinsics import GridGroup, lower_grid_sync, lower_symbol
from .mma import Mma, lower_mma
from .operators import OPERATORS, lower_ufunc
from .program import Val, describe
from .symbols import Symbol
from .typed import lower_cmath
from .typing import ArrayType, TupleType

if TYPE_CHECKING:
    from .expressions import Expressions

Handler = Callable[["Expressions", ast.Call, list[Val]], Val]


def lower_call(fl: Expressions, node: ast.Call) -> Val:
    """Any call of a kernel."""
    if isinstance(node.func, ast.Attribute) and node.func.attr == "sync":
        group = fl.expression(node.func.value)
        if isinstance(group.const, GridGroup):
            return lower_grid_sync(fl, node)
    if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
        owner = fl.expression(node.func.value)
        if typing.is_number(owner.type):
            return METHODS[node.func.attr](fl, node, [owner, *_positional(fl, node, "it")])
    target = fl.expression(node.func)
    name = ast.unparse(node.func)
    if not target.static:
        fl.fail(TypingError, node, f"{name} is {describe(target.type)}, not a function")
    called = target.const
    if isinstance(called, Symbol):
        return lower_symbol(fl, node, called)
    if isinstance(called, Method):
        return lower_method(fl, node, called)
    if not getattr(called, "_can_compile", True) and type(called).__module__.startswith(
        "numba.core"
    ):
        fl.fail(
            TypingError, node, f"{name} was compiled for the CPU, with a signature",
            "Leave the signature out of its @jit, or put @cuda.jit(device=True) there.",
        )  # fmt: skip
    if isinstance(called, Mma):
        return lower_mma(fl, node, called)
    device = device_function(called)
    if device is not None:
        return lower_device(fl, node, device, name)
    if named.is_class(called):
        return named.construct(fl, node, called)
    if pointers.is_maker(called):
        return pointers.lower_maker(fl, node, called)
    overloaded = overloads.lower(fl, node, called, name)
    if overloaded is not None:
        return overloaded
    args = _positional(fl, node, name)
    if _is_number_type(called):
        return _lower_cast(fl, node, _known_number_type(fl, node, called, name), args, name)
    handler = BUILTINS.get(called) if _hashable(called) else None
    if handler is not None:
        return handler(fl, node, args)
    if called is not None and called is getattr(math, getattr(called, "__name__", ""), None):
        return _lower_math(fl, node, called, args)
    if called is not None and called is getattr(cmath, getattr(called, "__name__", ""), None):
        return lower_cmath(fl, node, called, args)
    if isinstance(called, np.ufunc):
        return lower_ufunc(fl, node, called, args)
    _refuse(fl, node, called, name)


def _refuse(fl: Expressions, node: ast.Call, called: Any, name: str) -> NoReturn:
    if _is_of_cuda(called):
        fl.fail(
            TypingError, node, f"{name} is for the host; a kernel cannot call it",
            "Threads of a block wait for each other with cuda.syncthreads()."
            if called.__name__ == "synchronize"
            else "Call it before or after the launch.",
        )  # fmt: skip
    if re.match(r"(np|numpy|random)\.(random\.)?\w+$", name) and "random" in name:
        fl.fail(
            UnsupportedError, node, f"{name} cannot be called in a kernel",
            "Random numbers of threads come from cuda.random: create_xoroshiro128p_states before "
            "the launch, xoroshiro128p_uniform_float32(states, i) in the kernel.",
        )  # fmt: skip
    if callable(called) and hasattr(called, "__code__"):
        fl.fail(
            TypingError, node, f"{name} is an ordinary Python function; a kernel cannot call it",
            f"Put @cuda.jit(device=True) above def {called.__name__}.",
        )  # fmt: skip
    kind = type(called).__name__
    if kind == "ExternFunction":
        fl.fail(
            UnsupportedError, node, f"{name} is code in C or C++ (cuda.declare_device)",
            "The simulator runs Python only. Write the function with @cuda.jit(device=True).",
        )  # fmt: skip
    if kind == "_Intrinsic":
        fl.fail(
            UnsupportedError, node, f"{name} is an @intrinsic, which is written in LLVM's language",
            "The simulator runs Python only. Use @overload, or @cuda.jit(device=True).",
        )  # fmt: skip
    where = getattr(called, "__module__", None) or ""
    if where.startswith("numpy"):
        fl.fail(
            UnsupportedError, node, f"{name} makes or changes whole arrays; kernels cannot",
            "Compute it before the launch, or write the loop over elements.",
        )  # fmt: skip
    fl.fail(
        UnsupportedError, node, f"{name} cannot be called in a kernel",
        "A kernel can call cuda.*, math.*, abs, min, max, round, range, len, casts such as "
        "float32(x), and device functions.",
    )  # fmt: skip


def _is_of_cuda(called: Any) -> bool:
    """Whether it is a function that a cuda module has for the host."""
    name = getattr(called, "__name__", "")
    modules = (sys.modules.get("numba.cuda"), sys.modules.get("warpwise.simt.api"))
    return callable(called) and any(vars(m).get(name) is called for m in modules if m)


def _positional(fl: Expressions, node: ast.Call, name: str) -> list[Val]:
    if node.keywords:
        fl.fail(UnsupportedError, node, f"{name} takes no keyword arguments in a kernel",
                "Pass the arguments by position.")  # fmt: skip
    return arguments_of(fl, node)


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


# -- casts --------------------------------------------------------------------


def _is_number_type(called: Any) -> bool:
    if isinstance(called, (types.Number, types.Boolean)):
        return True
    return isinstance(called, type) and issubclass(called, np.generic)


def _number_type(called: Any) -> Any:
    return called if not isinstance(called, type) else typing.numba_type(np.dtype(called))


def _known_number_type(fl: Expressions, node: ast.Call, called: Any, name: str) -> Any:
    try:
        return _number_type(called)
    except (typing.NoSignature, TypeError):
        fl.fail(TypingError, node, f"Numba has no type {name}")


def _lower_cast(fl: Expressions, node: ast.Call, to: Any, args: list[Val], name: str) -> Val:
    _count(fl, node, args, name, 1)
    value = fl.fitted(args[0], to, node, fl.site(node, ast.unparse(node), "cast"))
    return fl.cast(value, to, node)


def _count(fl: Expressions, node: ast.Call, args: list[Val], name: str, *counts: int) -> None:
    if len(args) not in counts:
        wanted = " or ".join(str(c) for c in counts)
        fl.fail(
            TypingError, node,
            f"{name} takes {wanted} argument{'s' * (counts != (1,))}, got {len(args)}",
        )  # fmt: skip


# -- builtins -----------------------------------------------------------------


def _lower_abs(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    _count(fl, node, args, "abs", 1)
    signature = fl.resolve(abs, "abs", args, node)
    lints.joined(fl, args[0])
    value = fl.cast(args[0], signature.args[0], node)
    return fl.cast(Val(f"np.abs({value.code})", signature.result), signature.result)


_COMPARED = (types.Number, types.NPDatetime, types.NPTimedelta)


def _lower_min_max(name: str) -> Handler:
    builtin = {"min": min, "max": max}[name]

    def lower(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
        if len(args) == 1 and isinstance(args[0].type, TupleType):
            args = fl.items(args[0])
        if not args:
            fl.fail(TypingError, node, f"{name} needs at least one argument")
        if len(args) == 1 and isinstance(args[0].type, ArrayType):
            if args[0].type.ndim == 1:
                return overloads.lower_builtin(fl, node, builtin, args)
            fl.fail(TypingError, node, f"{name} takes numbers, a tuple or a 1-D array",
                    f"Write np.{name}({ast.unparse(node.args[0])}).")  # fmt: skip
        flags = [value.type == types.boolean for value in args]
        for value, flag in zip(args, flags):
            # Numba takes bools among themselves, and refuses them beside numbers.
            if not (all(flags) if flag else isinstance(value.type, _COMPARED)):
                fl.fail(TypingError, node, f"{name} does not take {describe(value.type)}")
        # Two floats: fminf and the like, where a number wins over a NaN (CUDA math API).  All else,
        # three floats too, is compared from left to right, as Numba compiles it.
        if len(args) == 2 and all(a.type in (types.float32, types.float64) for a in args):
            call, code = getattr(np, f"f{name}"), f"np.f{name}"
        else:
            code = {"min": "least", "max": "greatest"}[name]
            call = getattr(ops, code)
        result = args[0]
        for other in args[1:]:
            fl.resolve(builtin, name, [result, other], node)
            kind = typing.unify(result.type, other.type)
            a, b = fl.cast(result, kind, node), fl.cast(other, kind, node)
            if a.known and b.known:
                result = fl.known(call(a.const, b.const), kind)
            else:
                fl.operation(describe(kind), node)
                made = Val(f"{code}({a.code}, {b.code})", kind)
                result = lints.float64(fl, name, result, other, made, node)
        return result

    return lower


def _lower_round(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    _count(fl, node, args, "round", 1, 2)
    signature = fl.resolve(round, "round", args, node)
    cast = [fl.cast(a, t, node) for a, t in zip(args, signature.args, strict=True)]
    if len(cast) == 2:
        return Val(f"round_digits({cast[0].code}, {cast[1].code})", signature.result)
    return fl.cast(Val(f"np.rint({cast[0].code})", signature.args[0]), signature.result, node)


def _lower_conversion(builtin: Any, name: str) -> Handler:
    def lower(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
        _count(fl, node, args, name, 1)
        if builtin is bool:
            return fl.truth(args[0], node)
        if builtin is float and args[0].static and isinstance(args[0].const, str):
            try:  # float("inf")
                return fl.number(node, float(args[0].const))
            except ValueError:
                fl.fail(TypingError, node, f"float({args[0].const!r}) is no number")
        return fl.cast(args[0], fl.resolve(builtin, name, args, node).result, node)

    return lower


def _lower_len(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    _count(fl, node, args, "len", 1)
    value = args[0]
    if isinstance(value.const, iterators.Items):
        return value.const.length
    if isinstance(value.type, ArrayType):
        return Val(f"np.int64({value.code}.shape[0])", types.int64)
    if isinstance(value.type, TupleType) or isinstance(value.const, tuple):
        return fl.number(node, len(fl.items(value)))
    fl.fail(TypingError, node, f"len() of {describe(value.type)}")


def _lower_tuple(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    _count(fl, node, args, "tuple", 1)
    if not isinstance(args[0].type, TupleType) and not isinstance(args[0].const, tuple):
        fl.fail(TypingError, node, f"tuple() of {describe(args[0].type)}")
    return fl.tuple_of(fl.items(args[0]))


def _lower_pow(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    _count(fl, node, args, "pow", 2)
    return arithmetic.binary(fl, "Pow", args[0], args[1], node)


def _lower_divmod(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    _count(fl, node, args, "divmod", 2)
    kinds = fl.resolve(divmod, "divmod", args, node).args  # not always those of // and %
    a, b = (fl.held(fl.cast(value, kind, node)) for value, kind in zip(args, kinds, strict=True))
    return fl.tuple_of([arithmetic.binary(fl, name, a, b, node) for name in ("FloorDiv", "Mod")])


def _lower_complex(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    _count(fl, node, args, "complex", 1, 2)
    result = fl.resolve(complex, "complex", args, node).result
    if isinstance(args[0].type, types.Complex):
        return fl.cast(args[0], result, node)
    parts = [fl.cast(a, result.underlying_float, node).code for a in args]
    imaginary = parts[1] if len(parts) == 2 else "0.0"
    dtype = typing.numpy_dtype(result).name
    return Val(f"joined({parts[0]}, {imaginary}, np.{dtype})", result)


def _lower_print(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    """print(): numbers and literal strings; each lane prints its own line, in thread order."""
    parts = []
    for value in args:
        if value.static and isinstance(value.const, str):
            parts.append(repr(value.const))
        elif typing.is_number(value.type):
            parts.append(value.code)
        else:
            fl.fail(TypingError, node, f"print() in a kernel takes numbers and literal strings, "
                    f"not {describe(value.type)}")  # fmt: skip
    codes = "".join(f"{part}, " for part in parts)
    fl.emit(f"rt.print({fl.mask}, ({codes}))")
    return Val("None", typing.STATIC, None)


def _lower_hasattr(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    """hasattr(x, "name"), known while compiling."""
    _count(fl, node, args, "hasattr", 2)
    value, name = args
    if not isinstance(name.const, str):
        fl.fail(TypingError, node, "hasattr takes a literal name")
    if isinstance(value.type, ArrayType):
        has = hasattr(np.ndarray, name.const)
    elif value.static:
        has = hasattr(value.const, name.const)
    else:
        has = typing.is_number(value.type) and name.const in ("real", "imag")
    return fl.number(node, has)


def _lower_isinstance(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    """isinstance(x, kind or tuple of kinds), known while compiling.

    As in Numba, int stands for int64 and float for float64 only.
    """
    _count(fl, node, args, "isinstance", 2)
    value, asked = args
    kinds = list(asked.const) if isinstance(asked.const, tuple) else [asked]
    found = False
    for kind in (k.const if isinstance(k, Val) else k for k in kinds):
        if kind is tuple:
            found |= isinstance(value.type, TupleType) or isinstance(value.const, tuple)
        elif kind in _KINDS or _is_number_type(kind):
            found |= value.type == (_KINDS[kind] if kind in _KINDS else _number_type(kind))
        else:
            fl.fail(TypingError, node, "isinstance takes int, float, complex, bool, tuple or a "
                    "number type such as float32")  # fmt: skip
    return fl.number(node, found)


_KINDS: dict[Any, Any] = {
    int: types.int64, float: types.float64, complex: types.complex128, bool: types.boolean,
}  # fmt: skip


def _lower_part(name: str) -> Handler:
    """np.real, np.imag of a number."""

    def lower(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
        _count(fl, node, args, f"np.{name}", 1)
        value = args[0]
        if isinstance(value.type, types.Complex):
            return Val(f"{value.code}.{name}", value.type.underlying_float)
        if not typing.is_number(value.type):
            fl.fail(TypingError, node, f"np.{name} takes a number, not {describe(value.type)}")
        return value if name == "real" else fl.cast(fl.number(node, 0), value.type, node)

    return lower


def _lower_asarray(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    _count(fl, node, args, "np.asarray", 1)
    if not isinstance(args[0].type, ArrayType):
        fl.fail(UnsupportedError, node, "np.asarray makes an array; a kernel cannot allocate one",
                "Use cuda.local.array.")  # fmt: skip
    return args[0]


def _lower_sum(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    """sum() of a tuple, from the left."""
    _count(fl, node, args, "sum", 1, 2)
    if not isinstance(args[0].type, TupleType):
        fl.fail(UnsupportedError, node, "sum() takes a tuple in a kernel", "Write the loop.")
    total = args[1] if len(args) == 2 else fl.number(node, 0)
    for item in fl.items(args[0]):
        total = arithmetic.binary(fl, "Add", total, item, node)
    return total


BUILTINS: dict[Any, Handler] = {
    abs: _lower_abs, min: _lower_min_max("min"), max: _lower_min_max("max"), round: _lower_round,
    int: _lower_conversion(int, "int"), float: _lower_conversion(float, "float"),
    bool: _lower_conversion(bool, "bool"), complex: _lower_complex, len: _lower_len,
    tuple: _lower_tuple, pow: _lower_pow, divmod: _lower_divmod, print: _lower_print,
    sum: _lower_sum,
    hasattr: _lower_hasattr, isinstance: _lower_isinstance, np.real: _lower_part("real"),
    np.imag: _lower_part("imag"), np.asarray: _lower_asarray,
    **iterators.MAKERS, **OPERATORS,
}  # fmt: skip


# -- methods of numbers ---------------------------------------------------------


def _conjugate(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    _count(fl, node, args, "conjugate", 1)
    (value,) = args
    if isinstance(value.type, types.Complex):
        return Val(f"np.conjugate({value.code})", value.type)
    if typing.is_real(value.type):
        return value
    fl.fail(TypingError, node, f"{describe(value.type)} has no conjugate()")


def _bit_count(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
    _count(fl, node, args, "bit_count", 1)
    (value,) = args
    if not typing.is_integer(value.type):
        fl.fail(TypingError, node, f"{describe(value.type)} has no bit_count()")
    return Val(f"popc({value.code})", value.type)  # as cuda.popc: -1 has all bits


METHODS: dict[str, Handler] = {"conjugate": _conjugate, "bit_count": _bit_count}


# -- math and ufuncs ------------------------------------------------------------


def _lower_math(fl: Expressions, node: ast.Call, called: Any, args: list[Val]) -> Val:
    name = called.__name__
    if not args:
        fl.fail(TypingError, node, f"math.{name} needs a number")
    signature = fl.resolve(called, f"math.{name}", args, node)
    cast = [fl.cast(a, t, node) for a, t in zip(args, signature.args, strict=True)]
    if not any(typing.is_float(value.type) for value in cast):
        # Integers: the functions of the math library take and give float64.
        cast = [fl.cast(cast[0], types.float64, node), *cast[1:]]
        if name != "ldexp":
            cast = [fl.cast(value, types.float64, node) for value in cast]
    codes = ", ".join(value.code for value in cast)
    if name in ops.MATH_PAIRS:
        items = tuple(signature.result.types)
        out = fl.temporary()
        fl.emit(f"{out} = MATH_PAIRS[{name!r}]({codes})")
        dtypes = [typing.numpy_dtype(t).name for t in items]
        parts = [Val(f"{out}[{k}].astype(np.{d})", t)
                 for k, (t, d) in enumerate(zip(items, dtypes, strict=True))]  # fmt: skip
        return fl.tuple_of(parts)
    if name not in ops.MATH:
        fl.fail(UnsupportedError, node, f"math.{name} is not supported by the simulator")
    fl.operation(f"special {_natural(cast)}", node)
    # The function computes in the type of its arguments; Numba may say the result is another.
    natural = types.boolean if name.startswith("is") else _natural(cast)
    if all(value.known for value in cast):
        with np.errstate(all="ignore"):
            value = ops.MATH[name](*[v.const for v in cast])
        return fl.cast(fl.known(typing.numpy_dtype(natural).type(value), natural), signature.result)
    made = Val(f"MATH[{name!r}]({codes})", natural)
    pair = (args[0], args[1]) if len(args) == 2 else (args[0], args[0])
    made = lints.float64(fl, f"math.{name}", *pair, made, node)
    return fl.cast(made, signature.result, node)


def _natural(cast: list[Val]) -> Any:
    """The float type a NumPy function returns for arguments of these types."""
    dtypes = [typing.numpy_dtype(v.type) for v in cast]
    first = dtypes[0] if dtypes[0].kind == "f" else np.dtype(np.float64)
    return typing.numba_type(first)
