"""The bounds of range(...): start, stop and step, in the type of the loop variable."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from . import named, typing
from .errors import TypingError
from .program import Val, describe

if TYPE_CHECKING:
    from .expressions import Expressions


def of_range(fl: Expressions, node: ast.AST, args: list[Val]) -> list[Val]:
    """start, stop, step of range(*args), in the type of the loop variable."""
    if not 1 <= len(args) <= 3:
        fl.fail(TypingError, node, "range() takes one, two or three numbers")
    args = [named.plain(value) for value in args]
    for value in args:
        if not typing.is_number(value.type) or isinstance(value.type, typing.types.Complex):
            fl.fail(TypingError, node, f"range() takes integers, not {describe(value.type)}")
    try:  # floats are cut to integers here, in silence: to int32, where no integer is wider
        kind = typing.range_type(tuple(value.type for value in args))
    except typing.NoSignature:
        kind = typing.types.int64
    zero, one = fl.number(node, 0), fl.number(node, 1)
    full = {1: [zero, *args, one], 2: [*args, one], 3: args}[len(args)]
    step = full[2]
    if step.known and typing.is_float(step.type) and abs(step.const) < 1:
        fl.fail(TypingError, node, f"range() counts in integers, which makes the step "
                f"{step.const} a 0", "Count in integers, and multiply in the loop.")  # fmt: skip
    return [fl.cast(value, kind, node) for value in full]
