"""While a kernel runs on the CPU: the functions of tl compute with NumPy."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

from .places import learners


@contextmanager
def interpreting(interpreter: Any, builder: Any) -> Any:
    """Let the functions of tl compute on the CPU while a kernel runs.

    A kernel stays what @triton.jit made of it, so that it can be compiled as well: instead of an
    environment variable at its decoration, calls of such functions are turned over meanwhile.
    """
    import triton.language as tl
    from triton.runtime.jit import JITCallable, JITFunction

    from .narrow import is_narrow
    from .rewrite import rewritten

    # The interpreter looks for the modules to change among a function's globals.
    scope = interpreter._patch_lang(SimpleNamespace(__globals__={"tl": tl, "core": tl.core}))
    before = interpreter.interpreter_semantic.builder
    interpreter.interpreter_semantic.builder = builder
    try:
        scope.set_attr(JITFunction, "__call__", lambda self, *a, **k: rewritten(self.fn)(*a, **k))
        for name, member in list(vars(tl.tensor).items()):
            if isinstance(member, JITCallable):  # x.sum() has to pass x
                scope.set_attr(
                    tl.tensor, name, lambda self, *a, _of=member, **k: _of(self, *a, **k)
                )

        def truth(self: Any) -> bool:
            asking = sys._getframe(1).f_code.co_filename
            if asking == tl.semantic.__file__:  # is one given?
                return True
            if self.handle.data.size == 1 and not self.type.is_block():
                return bool(self.handle.data.item())
            if not learners(asking):
                return True
            raise builder.refused(
                "a condition has to be one value, and this is a tile", "Use a mask, or tl.where."
            )

        scope.set_attr(tl.tensor, "__bool__", truth)

        def element(self: Any, *index: Any) -> Any:
            raise builder.refused(
                "a pointer has no elements in brackets",
                "Write tl.load(pointer + offsets, mask=...) and tl.store(pointer + offsets, ...).",
            )

        part = tl.tensor.__getitem__

        def piece(self: Any, index: Any) -> Any:
            return (
                element(self)
                if self.dtype.is_ptr() and not self.type.is_block()
                else part(self, index)
            )

        scope.set_attr(tl.tensor, "__getitem__", piece)
        scope.set_attr(tl.tensor, "__setitem__", element)
        reduce = tl.reduce

        def checked(input: Any, axis: Any, combine_fn: Any, *rest: Any, **k: Any) -> Any:
            for one in input if isinstance(input, tuple) else (input,):
                if is_narrow(one.dtype):
                    raise builder.refused(
                        f"a reduction of {one.dtype} is not followed on the CPU",
                        "Convert with .to(tl.float32) first.",
                    )
            return reduce(input, axis, combine_fn, *rest, **k)

        def total(self: Any, input: Any) -> Any:
            """Integers wrap; NumPy would widen them."""
            data = input.handle.data
            kind = data.dtype if data.dtype.kind in "iu" else None
            found = np.sum(data, axis=self.axis, keepdims=self.keep_dims, dtype=kind)
            return self.to_tensor(found, input.dtype)

        scope.set_attr(interpreter.ReduceOps, "sum", total)
        scope.set_attr(tl, "reduce", checked)
        scope.set_attr(tl.core, "reduce", checked)
        yield
    finally:
        interpreter.interpreter_semantic.builder = before
        scope.restore()
