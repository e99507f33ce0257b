"""Numba's typed IR of a kernel: parsed, in SSA form, every variable and call with its type.

This is the first half of Numba's CUDA compiler, up to where LLVM would begin, so it needs no GPU
and takes a few hundredths of a second.  Device functions are typed the same way, for the argument
types they are called with.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cache
from types import FunctionType, SimpleNamespace
from typing import Any
from unittest import mock

from numba import types
from numba.core import typing
from numba.core.errors import NumbaError
from numba.cuda import compiler, dispatcher
from numba.cuda.core import errors as cuda_errors
from numba.cuda.core.compiler_machinery import LoweringPass, PassManager, register_pass
from numba.cuda.core.typed_passes import PreLowerStripPhis
from numba.cuda.core.untyped_passes import InlineClosureLikes

#: What Numba raises for a kernel that it does not accept.
Refused = (NumbaError, cuda_errors.NumbaError)


@register_pass(mutates_CFG=False, analysis_only=False)
class _Stop(LoweringPass):  # type: ignore[misc]
    """Takes the place of everything after typing; keeps what the reference needs."""

    _name = "stop_after_typing"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        state.cr = SimpleNamespace(
            blocks=state.func_ir.blocks, typemap=state.typemap, calltypes=state.calltypes,
            parameters=tuple(state.func_ir.arg_names), result=state.return_type,
            signature=typing.signature(state.return_type, *state.args),
            objectmode=False, fndesc=None, library=mock.Mock(), entry_point=id(state),
            target_context=mock.Mock(),
        )  # fmt: skip
        return True


class _Compiler(compiler.CUDACompiler):
    """Numba's compiler without its second half."""

    def define_pipelines(self) -> list[Any]:
        (whole,) = super().define_pipelines()
        manager = PassManager("typed")
        for step, description in whole.passes:
            if step is not InlineClosureLikes:  # a kernel has none, and looking takes time
                manager.add_pass(step, description)
            if step is PreLowerStripPhis:
                break
        manager.add_pass(_Stop, "keep the typed IR")
        manager.finalize()
        return [manager]


def typed(function: FunctionType, args: tuple[Any, ...], result: Any = types.void) -> Any:
    """Blocks, typemap, calltypes, parameters and result of a function for these argument types.

    Raises one of `Refused`, as Numba's compiler would.
    """
    with _without_driver():
        return compiler.compile_cuda(function, result, args, cc=(8, 0))


_resolve = types.Function.get_call_type


@cache
def _known(function: Any, context: Any, args: Any, named: Any) -> Any:
    return _resolve(function, context, args, dict(named))


def _remembered(function: Any, context: Any, args: Any, named: Any) -> Any:
    """Operators and builtins resolve the same way each time: ask once for each set of types."""
    return _known(function, context, tuple(args), tuple(dict(named).items()))


@contextlib.contextmanager
def _without_driver() -> Iterator[None]:
    def types_only(function: Any, result: Any, args: Any, **options: Any) -> Any:
        return compiler.compile_cuda(function, result, args, cc=(8, 0))

    device = SimpleNamespace(compute_capability=(8, 0))
    with (
        mock.patch.object(types.Function, "get_call_type", _remembered),
        mock.patch.object(compiler, "CUDACompiler", _Compiler),
        mock.patch.object(dispatcher, "compile_cuda", types_only),
        mock.patch.object(dispatcher, "get_current_device", lambda: device),
    ):
        yield
