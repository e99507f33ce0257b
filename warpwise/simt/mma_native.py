"""The matrix instructions as Numba compiles them: PTX inside a device function."""

from __future__ import annotations

from typing import Any

from .fragments import Tile


def device_function(tile: Tile) -> Any:
    """numba.cuda's device function (d, a, b, c) for an instruction.

    Needs the package numba-cuda; a GPU only to run.
    """
    from numba.cuda.dispatcher import CUDADispatcher

    issue = _intrinsic(tile)

    def mma_m16n8k16(d, a, b, c):  # type: ignore[no-untyped-def]
        d[0], d[1], d[2], d[3] = issue(
            a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], b[0], b[1], b[2], b[3],
            c[0], c[1], c[2], c[3],
        )  # fmt: skip

    def mma_m16n8k8(d, a, b, c):  # type: ignore[no-untyped-def]
        d[0], d[1], d[2], d[3] = issue(a[0], a[1], a[2], a[3], b[0], b[1], c[0], c[1], c[2], c[3])

    chosen = {"m16n8k16": mma_m16n8k16, "m16n8k8": mma_m16n8k8}[tile.name]
    return CUDADispatcher(chosen, {"device": True})


def _intrinsic(tile: Tile) -> Any:
    from llvmlite import ir
    from numba.core import types
    from numba.core.errors import TypingError
    from numba.cuda.extending import intrinsic

    number = {"float16": types.float16, "float32": types.float32}[tile.dtype]
    inputs = tile.a.held + tile.b.held
    wanted = (number,) * inputs + (types.float32,) * tile.c.held
    result = types.UniTuple(types.float32, tile.c.held)  # type: ignore[attr-defined]
    word, single = ir.IntType(32), ir.FloatType()

    @intrinsic
    def issue(typingctx, *args):  # type: ignore[no-untyped-def]
        given = tuple(args[0]) if len(args) == 1 else args
        if given != wanted:
            raise TypingError(
                f"mma_{tile.name} takes a and b of {number}, c and d of float32; got "
                f"{', '.join(sorted({str(one) for one in given}))}"
            )
        return result(types.StarArgTuple(wanted)), generate  # type: ignore[attr-defined]

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        values = [builder.extract_value(args[0], i) for i in range(len(wanted))]
        head, start = values[:inputs], values[inputs:]
        registers = _pairs(builder, head) if tile.dtype == "float16" else _tf32(builder, head)
        struct = ir.LiteralStructType([single] * 4)
        kind = ir.FunctionType(struct, [word] * len(registers) + [single] * 4)
        text, constraints = _text(tile, len(registers))
        # On a side effect the compiler keeps the call where it is: all lanes have to come.
        done = builder.call(
            ir.InlineAsm(kind, text, constraints, side_effect=True), [*registers, *start]
        )
        parts = [builder.extract_value(done, i) for i in range(4)]
        return context.make_tuple(builder, result, parts)

    def _pairs(builder, halves):  # type: ignore[no-untyped-def]
        """Two float16 to a register, the first in the low half."""
        bits = [builder.zext(builder.bitcast(half, ir.IntType(16)), word) for half in halves]
        return [
            builder.or_(low, builder.shl(high, ir.Constant(word, 16)))
            for low, high in zip(bits[::2], bits[1::2], strict=True)
        ]

    def _tf32(builder, numbers):  # type: ignore[no-untyped-def]
        convert = ir.InlineAsm(ir.FunctionType(word, [single]), "cvt.rna.tf32.f32 $0, $1;", "=r,f")
        return [builder.call(convert, [number]) for number in numbers]

    return issue


def _text(tile: Tile, registers: int) -> tuple[str, str]:
    """The instruction, and LLVM's constraints of its operands."""
    short = {"float16": "f16", "float32": "tf32"}[tile.dtype]
    of_a = registers * tile.a.held // (tile.a.held + tile.b.held)
    ends = (4, 4 + of_a, 4 + registers, 8 + registers)
    starts = (0, *ends[:-1])
    groups = [
        "{" + ", ".join(f"${i}" for i in range(start, end)) + "}"
        for start, end in zip(starts, ends, strict=True)
    ]
    name = f"mma.sync.aligned.{tile.name}.row.col.f32.{short}.{short}.f32"
    constraints = ["=f"] * 4 + ["r"] * registers + ["f"] * 4
    return f"{name} {', '.join(groups)};", ",".join(constraints)
