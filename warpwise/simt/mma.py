"""Matrix instructions in kernels: mma_m16n8k16(d, a, b, c) and mma_m16n8k8(d, a, b, c).

All 32 lanes of a warp call it together, each with its fragments in four local arrays; see
fragments.py.  On a GPU it is the instruction of PTX itself, from compute capability 8.0:

    mma_m16n8k16  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
    mma_m16n8k8   cvt.rna.tf32.f32 of a and b, then
                  mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32

The simulator takes it for one instruction of the warp; matrix.py says how it computes.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from numba.core import types

from .assignments import assign_to
from .errors import TypingError
from .fragments import TILES, Fragment, Tile
from .intrinsics import NOTHING
from .program import Val, describe
from .typing import ArrayType, Type

if TYPE_CHECKING:
    from .expressions import Expressions
    from .statements import Function

PARAMETERS = ("d", "a", "b", "c")
NUMBER_TYPES = {"float16": types.float16, "float32": types.float32}


@dataclass(frozen=True)
class Mma:
    """One of the two functions; kernels call it, in the simulator and on a GPU."""

    tile: Tile

    @property
    def __name__(self) -> str:
        return f"mma_{self.tile.name}"

    def fragment(self, parameter: str) -> tuple[Fragment, Type]:
        """The fragment that a parameter holds, and its number type."""
        if parameter in "ab":
            return getattr(self.tile, parameter), NUMBER_TYPES[self.tile.dtype]
        return self.tile.c, types.float32

    @cached_property
    def dispatcher(self) -> Any:
        """The device function that Numba compiles."""
        from .mma_native import device_function

        return device_function(self.tile)

    @property
    def _numba_type_(self) -> Any:
        """Where Numba meets it, it is that device function."""
        return self.dispatcher._numba_type_

    def __call__(self, *args: Any) -> None:
        raise RuntimeError(
            f"{self.__name__} means something only inside a kernel: a warp calls it."
        )

    def __repr__(self) -> str:
        return f"<{self.__name__}, for kernels>"

    def __reduce__(self) -> tuple[Any, ...]:
        return mma_named, (self.__name__,)


MMAS = {mma.__name__: mma for mma in map(Mma, TILES.values())}


def mma_named(name: str) -> Mma:
    """mma_m16n8k16 or mma_m16n8k8."""
    return MMAS[name]


# -- lowering ---------------------------------------------------------------------


def lower_mma(fl: Expressions, node: ast.Call, mma: Mma) -> Val:
    """A call: the elements of three arrays are read, those of the first are stored."""
    name = mma.__name__
    written = dict(zip(PARAMETERS, node.args, strict=False))
    written.update((keyword.arg or "**", keyword.value) for keyword in node.keywords)
    if len(node.args) + len(node.keywords) != 4 or set(written) != set(PARAMETERS):
        fl.fail(TypingError, node, f"{name} takes four arrays: the result d, then a, b and c")
    read = {p: _elements(fl, node, mma, p, written[p]) for p in PARAMETERS[1:]}
    site = fl.site(node, name, "warp")
    out = fl.temporary()
    groups = ", ".join(
        "(" + "".join(f"{value.code}, " for value in values) + ")" for values in read.values()
    )
    fl.emit(f"{out} = mma(rt, {mma.tile.name!r}, {groups}, {fl.mask}, {site})")
    _array(fl, node, mma, "d", written["d"])
    for k in range(mma.tile.c.held):
        element = _element(written["d"], k, ast.Store(), node)
        assign_to(cast("Function", fl), element, Val(f"{out}[{k}]", types.float32), node)
    return NOTHING


def _elements(
    fl: Expressions, node: ast.Call, mma: Mma, parameter: str, array: ast.expr
) -> list[Val]:
    held = _array(fl, node, mma, parameter, array)
    return [fl.held(fl.expression(_element(array, k, ast.Load(), node))) for k in range(held)]


def _array(fl: Expressions, node: ast.Call, mma: Mma, parameter: str, array: ast.expr) -> int:
    """How many elements the array has to hold; refused when it is none of that type."""
    fragment, number = mma.fragment(parameter)
    given = fl.expression(array).type
    if not isinstance(given, ArrayType) or given.ndim != 1 or given.dtype != number:
        fl.fail(
            TypingError, node,
            f"{ast.unparse(array)}, as {parameter} of {mma.__name__}, is {_said(given)}; it has to "
            f"be an array of {fragment.held} {number}",
            f"For example: {parameter} = cuda.local.array({fragment.held}, np.{number}).",
        )  # fmt: skip
    return fragment.held


def _said(given: Any) -> str:
    if isinstance(given, ArrayType):
        return f"an array of {given.dtype} with {given.ndim} dimension{'s' * (given.ndim != 1)}"
    return describe(given)


def _element(array: ast.expr, k: int, context: ast.expr_context, node: ast.AST) -> ast.expr:
    made = ast.Subscript(array, ast.Constant(k), context)
    return ast.fix_missing_locations(ast.copy_location(made, node))
