"""Machine code as text (SASS), instruction by instruction, with the Python line of each."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from . import toolchain
from .errors import CompilerMissingError

#: What an instruction does, by the first part of its name.  Source: instruction tables of the
#: CUDA Binary Utilities manual, Turing to Blackwell.
CLASSES = {
    "load": ("LDG", "LD", "LDS", "LDL", "LDSM", "LDGSTS", "LDTM"),
    "store": ("STG", "ST", "STS", "STL", "STSM", "STTM"),
    "barrier": ("BAR", "WARPSYNC", "SYNCS", "MEMBAR", "BARRIER"),
    "shuffle": ("SHFL", "VOTE", "MATCH", "REDUX", "VOTEU"),
    "matrix": ("HMMA", "IMMA", "DMMA", "QMMA", "OMMA", "HGMMA", "IGMMA", "QGMMA", "UTCHMMA",
               "UTCQMMA", "UTCIMMA", "UTCOMMA"),
    "atomic": ("ATOM", "ATOMG", "ATOMS", "RED", "REDG"),
    "float64": ("DADD", "DMUL", "DFMA", "DSETP", "DMNMX"),
    "float32": ("FADD", "FMUL", "FFMA", "FSETP", "FMNMX", "MUFU", "FADD2", "FMUL2", "FFMA2"),
    "half": ("HADD2", "HMUL2", "HFMA2", "HSETP2", "HMNMX2"),
    "convert": ("F2F", "F2I", "I2F", "F2FP", "I2FP", "FRND", "I2I"),
    "branch": ("BRA", "BRX", "EXIT", "RET", "CALL", "BSSY", "BSYNC", "BREAK", "YIELD", "NANOSLEEP",
               "BRXU", "JMP"),
}  # fmt: skip
_CLASS = {name: kind for kind, names in CLASSES.items() for name in names}


@dataclass(frozen=True)
class Instruction:
    """`text` is the whole instruction, predicate included; `line` is 0 where the compiler gives
    none.  Code inlined from a device function has that function's file and line."""

    address: int
    text: str
    file: str
    line: int

    @property
    def name(self) -> str:
        """`LDG.E.128` out of `@P0 LDG.E.128 R4, ...`."""
        match = re.match(r"(?:@!?U?P\w+\s+)?(\S+)", self.text)
        return match[1].rstrip(";") if match else ""

    @property
    def kind(self) -> str:
        """One of CLASSES, or "other"."""
        return _CLASS.get(self.name.split(".")[0], "other")

    @property
    def bits(self) -> int:
        """Bits per lane of a load or store; 0 for anything else."""
        if self.kind not in ("load", "store"):
            return 0
        match = re.search(r"\.(U8|S8|U16|S16|64|128|256)\b", self.name)
        return int(re.sub(r"\D", "", match[1])) if match else 32


def disassemble(cubin: bytes, entry: str) -> tuple[Instruction, ...]:
    """The instructions of a kernel in address order, without the padding after its end."""
    tool = toolchain.tool("nvdisasm")
    if tool is None:
        raise CompilerMissingError(
            "machine code cannot be shown here: nvdisasm comes with Triton, which exists for Linux "
            "only. Registers, shared memory and PTX are there."
        )
    with tempfile.TemporaryDirectory(prefix="warpwise-") as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(cubin)
        text = toolchain.run([str(tool), "-c", "-g", str(path)])
    return tuple(_trimmed(_parse(text, entry)))


_FILE = re.compile(r'//## File "([^"]+)", line (\d+)')
_CODE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;")
_LABEL = re.compile(r"(\.L_x_\d+):")


def _parse(text: str, entry: str) -> Iterable[Instruction]:
    file, line, inside = "", 0, False
    for row in text.splitlines():
        if row.startswith(".text."):
            inside = row == f".text.{entry}:"
            file, line = "", 0
        elif not inside:
            continue
        elif match := _FILE.search(row):
            file, line = match[1], int(match[2])
        elif match := _CODE.search(row):
            yield Instruction(int(match[1], 16), " ".join(match[2].split()), file, line)
        elif match := _LABEL.match(row):
            yield Instruction(-1, match[1], file, line)


def _trimmed(rows: Iterable[Instruction]) -> Iterable[Instruction]:
    """Without labels, and without the branch to itself and the NOPs that fill the section up."""
    code: list[Instruction] = []
    labels: dict[str, int] = {}  # label -> position of the instruction after it
    for row in rows:
        if row.address < 0:
            labels[row.text] = len(code)
        else:
            code.append(row)
    while code and code[-1].name == "NOP":
        code.pop()
    target = re.fullmatch(r"BRA `\((\S+)\)", code[-1].text) if code else None
    if target and labels.get(target[1]) == len(code) - 1:
        code.pop()
    while code and code[-1].name == "NOP":
        code.pop()
    return code
