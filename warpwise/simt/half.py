"""Lowering of `cuda.fp16.*`: half precision by name.

NumPy computes float16 in float32 and rounds once, as the hardware's half instructions do; hfma
rounds once, too, since a product of two halves is exact in float32 and the sum is rounded from
float64.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from numba.core import types

from .errors import TypingError
from .program import Val, describe

if TYPE_CHECKING:
    from .expressions import Expressions

Handler = Callable[["Expressions", ast.Call, list[Val]], Val]

#: name -> expression over float16 values a, b, c
NUMBERS = {
    "hadd": "({a} + {b})", "hsub": "({a} - {b})", "hmul": "({a} * {b})", "hdiv": "({a} / {b})",
    "hneg": "(-{a})", "habs": "np.abs({a})", "hmax": "np.fmax({a}, {b})",
    "hmin": "np.fmin({a}, {b})", "hsin": "np.sin({a})", "hcos": "np.cos({a})",
    "hlog": "np.log({a})", "hlog2": "np.log2({a})", "hlog10": "np.log10({a})",
    "hexp": "np.exp({a})", "hexp2": "np.exp2({a})",
    "hexp10": "np.power(np.float32(10), {a}.astype(np.float32)).astype(np.float16)",
    "hfloor": "np.floor({a})", "hceil": "np.ceil({a})", "hsqrt": "np.sqrt({a})",
    "hrsqrt": "(np.float32(1) / np.sqrt({a}.astype(np.float32))).astype(np.float16)",
    "hrcp": "(np.float16(1) / {a})", "hrint": "np.rint({a})", "htrunc": "np.trunc({a})",
    "hfma": "({a}.astype(np.float64) * {b} + {c}).astype(np.float16)",
}  # fmt: skip

COMPARISONS = {"heq": "==", "hne": "!=", "hgt": ">", "hge": ">=", "hlt": "<", "hle": "<="}


def _function(name: str, form: str, result: object) -> Handler:
    count = 3 if "{c}" in form else 2 if "{b}" in form else 1

    def lower(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
        if len(args) != count or any(value.type != types.float16 for value in args):
            got = ", ".join(describe(value.type) for value in args)
            fl.fail(
                TypingError, node,
                f"cuda.fp16.{name} takes {count} float16 value{'s' * (count > 1)}, got {got}",
                "Convert with float16(x).",
            )  # fmt: skip
        codes = dict(zip("abc", (value.code for value in args), strict=False))
        fl.operation("float16", node)
        return Val(form.format(**codes), result)

    return lower


FUNCTIONS: dict[str, Handler] = {
    **{name: _function(name, form, types.float16) for name, form in NUMBERS.items()},
    **{
        name: _function(name, f"({{a}} {sign} {{b}})", types.boolean)
        for name, sign in COMPARISONS.items()
    },
}
