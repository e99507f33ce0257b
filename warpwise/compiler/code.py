"""What compiled kernels have in common, whoever compiled them."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

from . import architecture
from .assembler import Cubin, Resources
from .lines import SourceLine, by_line
from .ptx import Ptx
from .sass import Instruction, disassemble


class Code:
    """A kernel for one architecture: its PTX, its cubin, and what follows from them."""

    cc: tuple[int, int]
    ptx: Ptx
    cubin: Cubin
    file: str

    @property
    def architecture(self) -> str:
        """Such as `sm_90`."""
        return architecture.name(self.cc)

    @property
    def resources(self) -> Resources:
        return self.cubin.resources

    @property
    def registers(self) -> int:
        """Per thread."""
        return self.resources.registers

    @cached_property
    def sass(self) -> tuple[Instruction, ...]:
        """The machine code; raises CompilerMissingError where there is no disassembler."""
        return disassemble(self.cubin.data, self.ptx.entry)

    @property
    def kinds(self) -> Counter[str]:
        """Machine instructions by kind."""
        return Counter(instruction.kind for instruction in self.sass)

    @property
    def load_bits(self) -> Counter[tuple[str, int]]:
        """Loads and stores by (name such as LDG, bits per lane): vector accesses show here."""
        return Counter(
            (i.name.split(".")[0], i.bits) for i in self.sass if i.kind in ("load", "store")
        )

    @cached_property
    def lines(self) -> tuple[SourceLine, ...]:
        """The machine code grouped by Python line, lines in file order, the kernel's file first."""
        return by_line(self.sass, self.file)
