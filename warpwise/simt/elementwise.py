"""A ufunc of whole arrays with a place for its result: np.sin(x, out).

Each thread that makes the call works through all elements, as Numba compiles it.  The loops are a
device function written for the call.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .errors import TypingError, UnsupportedError
from .program import Val, describe
from .source import Source
from .typing import ArrayType

if TYPE_CHECKING:
    from .expressions import Expressions


class _Names:
    """What the loops see: the ufunc, and Python's range."""

    def __init__(self, ufunc: Any) -> None:
        self._known = {"ufunc": ufunc, "range": range, "ValueError": ValueError}

    def lookup(self, name: str) -> Any:
        return self._known[name]


def lower_into(fl: Expressions, node: ast.Call, ufunc: Any, args: list[Val]) -> Val:
    """ufunc(a, ..., out); gives out."""
    from .device_functions import DeviceFunction
    from .functions import call_device

    name, out = f"np.{ufunc.__name__}", args[-1]
    if ufunc.nout != 1:
        fl.fail(UnsupportedError, node, f"{name} of whole arrays is not in the simulator",
                "Write the loop over the elements.")  # fmt: skip
    if not isinstance(out.type, ArrayType):
        fl.fail(TypingError, node, f"the last argument of {name} takes the result, so it is an "
                f"array, not {describe(out.type)}")  # fmt: skip
    ndims = [value.type.ndim if isinstance(value.type, ArrayType) else None for value in args]
    if {*ndims} - {None, out.type.ndim} or not out.type.ndim:
        fl.fail(UnsupportedError, node, f"{name} takes arrays with as many dimensions as its "
                "result here", "Write the loop over the elements.")  # fmt: skip
    text = _loops(ufunc.__name__, ndims)
    (tree,) = ast.parse(text).body
    assert isinstance(tree, ast.FunctionDef)
    device = DeviceFunction(Source(tree.name, "<numpy>", 1, text, tree), _Names(ufunc))
    call_device(fl, node, device, name, args, {})
    return out


def _loops(name: str, ndims: list[int | None]) -> str:
    """def name_of_arrays(a0, a1, out): ... for arguments with these dimensions, None: a number."""
    *inputs, ndim = ndims
    assert ndim is not None
    names = [f"a{k}" for k in range(len(inputs))]
    arrays = [one for one, dims in zip(names, inputs, strict=True) if dims is not None]
    index = ", ".join(f"k{axis}" for axis in range(ndim))
    lines = [f"def {name}_of_arrays({', '.join([*names, 'out'])}):"]
    for one in arrays:
        lines += [
            f"    if {one}.shape != out.shape:",
            f"        raise ValueError('the arrays of np.{name} differ in shape')",
        ]
    for axis in range(ndim):
        lines.append("    " * (axis + 1) + f"for k{axis} in range(out.shape[{axis}]):")
    elements = [f"{one}[{index}]" if one in arrays else one for one in names]
    lines.append("    " * (ndim + 1) + f"out[{index}] = ufunc({', '.join(elements)})")
    return "\n".join(lines) + "\n"
