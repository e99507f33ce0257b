"""Machine code beside the Python it came from."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from ..compiler import SourceLine
from ..compiler.sass import Instruction
from .palette import QUIET

#: Colour, legible on a light and a dark page, and sign of an instruction's kind; others stay plain.
_KINDS = {
    "load": ("#1a84c7", "ld"), "store": ("#d55e00", "st"), "barrier": ("#cc79a7", "bar"),
    "shuffle": ("#009e73", "shfl"), "matrix": ("#009e73", "mma"), "atomic": ("#cc79a7", "atom"),
    "float64": ("#b8860b", "f64"),
}  # fmt: skip


class MachineCode:
    """The lines of a compiled kernel, each with its instructions under it."""

    def __init__(self, title: str, lines: Iterable[SourceLine], tool: str) -> None:
        self.title, self.lines, self.tool = title, tuple(lines), tool

    def __str__(self) -> str:
        rows = [f"{self.title}   (compiled: {self.tool})"]
        for line in self.lines:
            counts = ", ".join(f"{n} {kind}" for kind, n in line.kinds.most_common())
            rows.append(f"{line.number or '':>5}  {line.text}   [{counts}]")
            rows += [f"         {_sign(i):<5}{i.text}" for i in line.instructions]
        return "\n".join(rows)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        body = "".join(map(self._line, self.lines))
        return (
            f"<div><b>{escape(self.title)}</b></div>{body}"
            f'<div style="font-size: 90%; color: {QUIET};">(compiled: {escape(self.tool)})</div>'
        )

    def _line(self, line: SourceLine) -> str:
        counts = " ".join(
            f'<span style="color: {_KINDS[kind][0]};">{n} {kind}</span>' if kind in _KINDS
            else f'<span style="color: {QUIET};">{n} {kind}</span>'
            for kind, n in line.kinds.most_common()
        )  # fmt: skip
        code = "\n".join(map(_instruction, line.instructions))
        return (
            '<details style="margin: 1px 0;"><summary><code style="background: none;">'
            f"{line.number or '':>4}  {escape(line.text)}</code> {counts}</summary>"
            f'<pre style="margin: 2px 0 6px 4em; background: none;">{code}</pre></details>'
        )


def show_sass(compiled: Any) -> MachineCode:
    """The machine code of `compile_kernel(...)` or `compile_triton(...)` by Python line; loads,
    stores, barriers, shuffles, matrix instructions, atomics and float64 stand out."""
    if not hasattr(compiled, "cubin"):
        name = getattr(compiled, "__name__", "kernel")
        raise TypeError(
            f'compile it first: show_sass(compile_kernel({name}, arguments, "sm_90")), '
            "with compile_kernel from warpwise.compiler."
        )
    title = f"{compiled.name} for {compiled.architecture}"
    return MachineCode(title, compiled.lines, compiled.cubin.resources.tool)


def _sign(instruction: Instruction) -> str:
    return _KINDS.get(instruction.kind, ("", ""))[1]


def _instruction(instruction: Instruction) -> str:
    text = escape(instruction.text)
    if instruction.kind not in _KINDS:
        return f"     {text}"
    colour, sign = _KINDS[instruction.kind]
    return f'{sign:<5}<b style="color: {colour};">{text}</b>'
