"""Lowering of calls whose types Numba's own rules give and whose values one function computes.

cuda.fp16.*, cuda.bf16.*           formats.py
cuda.popc, clz, ffs, brev, fma...  warp.py
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import formats
from .program import Val, describe
from .symbols import numba_object

if TYPE_CHECKING:
    from .expressions import Expressions

Handler = Callable[["Expressions", ast.Call, list[Val]], Val]


def typed(dotted: str, function: str) -> Handler:
    """Handler of cuda.<dotted>; `function` is what generated source calls."""

    def lower(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
        signature = fl.resolve(numba_object(dotted), f"cuda.{dotted}", args, node)
        values = [fl.cast(a, t, node) for a, t in zip(args, signature.args, strict=True)]
        for _ in range(2 if "fma" in dotted else 1):  # a fused multiply-add is two operations
            fl.operation(describe(values[0].type), node)
        code = f"{function}({', '.join(value.code for value in values)})"
        parts = getattr(signature.result, "types", None)  # of a tuple
        if parts is None:
            return Val(code, signature.result)
        out = fl.temporary()
        fl.emit(f"{out} = {code}")
        return fl.tuple_of([Val(f"{out}[{k}]", t) for k, t in enumerate(parts)])

    return lower


#: name under cuda -> handler
FUNCTIONS: dict[str, Handler] = {
    **{f"fp16.{name}": typed(f"fp16.{name}", f"FP16[{name!r}]") for name in formats.FP16},
    **{f"bf16.{name}": typed(f"bf16.{name}", f"BF16[{name!r}]") for name in formats.BF16},
    **{name: typed(name, name) for name in ("popc", "clz", "ffs", "brev")},
    "fma": typed("fma", "fused"), "cbrt": typed("cbrt", "np.cbrt"),
    "selp": typed("selp", "select"),
}  # fmt: skip
