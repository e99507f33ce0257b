"""What to write so that two accesses do not race."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from ..simt.dimensions import Dim3
from ..simt.launch import Run
from ..simt.program import Site
from . import shadow

Who = tuple[Dim3, Dim3]  # block and thread


#: Operators that an atomic operation applies in one step.
_ATOMIC = {ast.Add: "add", ast.Sub: "sub", ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor"}
_EXTREMES = ("cuda.atomic.max", "cuda.atomic.min")

#: Bytes of the integers and floats that CUDA's atomic operations in Numba take.
ATOMIC_BYTES = (4, 8)


def _as_atomic(line: str) -> str:
    """`out[i] += x`, `out[i] = out[i] + x` or `out[i] = max(out[i], x)` as an atomic operation, ""
    when it is no such line."""
    try:
        (node,) = ast.parse(line).body
        if isinstance(node, (ast.If, ast.For)):
            (node,) = node.body
    except (SyntaxError, ValueError):
        return ""
    match node:
        case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
            name = _ATOMIC.get(type(op), "")
        case ast.Assign(targets=[ast.Subscript() as target], value=new):
            name, value = _change(new, ast.unparse(target))
        case _:
            return ""
    parts = (ast.unparse(part) for part in (target.value, target.slice, value))
    return name and f"cuda.atomic.{name}({', '.join(parts)})"


def _change(new: ast.expr, old: str) -> tuple[str, ast.expr]:
    """The atomic operation by which a new value comes from the old one, and its operand."""
    name, operands = "", [new]
    match new:
        case ast.BinOp(left=left, op=op, right=right):
            name, operands = _ATOMIC.get(type(op), ""), [left, right]
        case ast.Call(func=ast.Name(id="max" | "min" as name), args=[left, right]):
            operands = [left, right]
    if name != "sub":  # the others may be turned round
        operands.sort(key=lambda operand: ast.unparse(operand) != old)
    return (name if ast.unparse(operands[0]) == old else ""), operands[-1]


def advice(
    run: Run, kind: int, here: Site, where: Site, threads: tuple[Who, Who], warp: bool, same: bool,
    why: str, overlap: bool, updates: bool, dtype: np.dtype[Any],
) -> str:  # fmt: skip
    """What to write so that two accesses do not race.

    kind: of the hazard; here, where: the sites of the later and the earlier access, by threads[0]
    and threads[1]; warp: they are of one warp; same: both store the same value; why: what their
    flag lacks, see `Order.why`; overlap: two dynamic shared arrays on the same bytes; updates:
    several threads store to the element by this line; dtype: of the array.
    """
    if overlap:
        return (
            f"{here.array} and {where.array} lie on the same memory: every shared array of size 0 "
            "begins at the first byte of the dynamic shared memory. Cut the second one off behind "
            f"the first: {here.array} = cuda.shared.array(0, ...)[n:]."
        )
    if why == "fence":
        return (
            "An atomic operation on a flag or lock lies between them, but atomic operations order "
            f"no other memory. Call cuda.threadfence() after line {where.line} and before the "
            "operation that sets the flag or gives the lock back."
        )
    if why == "scope":
        return (
            "cuda.threadfence_block() makes stores visible to the threads of the same block only. "
            "For a thread of another block write cuda.threadfence()."
        )
    if why == "release":
        return (
            f"Another thread of its block sets the flag, and may do so before line {where.line} is "
            "done: put cuda.syncthreads() between that line and the operation that sets the flag."
        )
    if why == "acquire":
        return (
            "Another thread of its block has waited for the flag, this one has not: put "
            f"cuda.syncthreads() between the waiting and line {here.line}."
        )
    atomic = _as_atomic(here.line_text) if updates and here.line == where.line else ""
    if atomic:
        return (
            "Several threads change the same element, and each may overwrite what another one has "
            f"just {'stored' if atomic.startswith(_EXTREMES) else 'added'}. "
            + (
                f"Let it happen in one step: {atomic}"
                if dtype.itemsize in ATOMIC_BYTES
                else f"There are no atomic operations on {dtype.name}: let one thread own the "
                "element, or take an array of 32 bits."
            )
        )
    twins = threads[0][0] != threads[1][0] and threads[0][1] == threads[1][1]
    if twins and kind == shadow.WAW and here.op == where.op == "store":
        text = "Both are the same thread of their blocks: is the block's number in the index? "
        return text + "cuda.grid(1) numbers the threads of all blocks."
    if same:
        return "Both write the same value, so the result is the same; let one thread write it."
    if "atomic" in (here.op, where.op):
        plain = here if where.op == "atomic" else where
        instead = (
            f"read it with cuda.atomic.add({plain.array}, index, 0)"
            if plain.op == "load"
            else f"store it with cuda.atomic.exch({plain.array}, index, value)"
        )
        text = (
            f"Line {plain.line} is a plain access, and an atomic operation protects only against "
            "other atomic ones: "
        )
        if threads[0][0] == threads[1][0]:
            text += f"put cuda.syncthreads() between lines {_span(here, where)}, or "
        return f"{text}{instead}."
    if threads[0][0] != threads[1][0]:
        text = (
            "They are in different blocks: no barrier reaches both. Use an atomic operation, give "
            "each its own element, or split the work into two launches."
        )
        flags = sorted({site.line for site in run.program.sites if site.op == "atomic"})
        if flags and not any(site.op == "fence" for site in run.program.sites):
            text += (
                f" If line {flags[0]} sets a flag or counts for the other block, call "
                f"cuda.threadfence() between it and line {where.line}."
            )
        return text
    barrier = "cuda.syncwarp()" if warp else "cuda.syncthreads()"
    if kind == shadow.WAW and here.line != where.line:
        return (
            "The last one wins, and nobody knows which. If one prepares the element for the other, "
            f"put {barrier} between lines {_span(here, where)}; else give each its own element."
        )
    if kind == shadow.WAW:
        return (
            "The last one wins, and nobody knows which. Give each its own element, or use atomics."
        )
    if here.line == where.line and kind == shadow.RAW:
        return (
            "It was written in an earlier turn of the loop, or by the same line of another thread. "
            f"Put {barrier} behind this line, inside the loop; where threads add to one element, "
            "use cuda.atomic.add."
        )
    if here.line == where.line:
        return (
            f"Read into a variable first, then {barrier}, then write: the two parts of this line "
            "meet those of other threads."
        )
    return f"Put {barrier} on the way between lines {_span(here, where)}."


def _span(here: Site, where: Site) -> str:
    first, second = sorted((here.line, where.line))
    return f"{first} and {second}"
