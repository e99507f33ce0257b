"""PTX to machine code, with the assembler's own report of what a thread and a block need."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import architecture, linker, toolchain
from .errors import CompilerError
from .ptx import Ptx


@dataclass(frozen=True)
class Resources:
    """What the assembler reports.  Label: compiled.

    registers      per thread
    spill_stores, spill_loads, stack   bytes per thread; the stack holds local arrays, too
    shared         bytes per block, static
    barriers       named barriers used
    tool           who said so, for example "ptxas 13.1"
    """

    registers: int
    spill_stores: int
    spill_loads: int
    stack: int
    shared: int
    barriers: int
    tool: str


@dataclass(frozen=True)
class Cubin:
    """Machine code for one architecture, as an ELF file."""

    data: bytes
    resources: Resources
    log: str


def assemble(ptx: Ptx, cc: tuple[int, int], max_registers: int | None = None) -> Cubin:
    """Machine code of a kernel: by ptxas, or by nvJitLink where libraries have to be linked in, or
    where no ptxas is installed that reads this PTX."""
    if ptx.needs_linking or not _readable(ptx.version):
        return _link(ptx, cc, max_registers)
    return _ptxas(ptx, cc, max_registers)


def _readable(ptx_version: str) -> bool:
    """Whether ptxas is there and new enough: CUDA 13.1 reads PTX up to 9.1, CUDA 12.8 up to 8.7.

    Source: PTX ISA manual, release history.
    """
    found = toolchain.version("ptxas")
    if not found:
        return False
    cuda, minor = map(int, found.split("."))
    newest = (9, minor) if cuda == 13 else (8, minor - 1) if cuda == 12 else (cuda - 4, minor)
    return tuple(map(int, ptx_version.split("."))) <= newest


def _ptxas(ptx: Ptx, cc: tuple[int, int], max_registers: int | None) -> Cubin:
    with tempfile.TemporaryDirectory(prefix="warpwise-") as folder:
        source, target = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx.text, encoding="utf-8")
        command = [str(toolchain.tool("ptxas")), "-v", "-lineinfo"]
        command += [f"-arch={architecture.name(cc)}", str(source), "-o", str(target)]
        if max_registers:
            command.append(f"-maxrregcount={max_registers}")
        log = toolchain.run(command)
        report = _report(log, ptx.entry, f"ptxas {toolchain.version('ptxas')}")
        return Cubin(target.read_bytes(), report, log)


def _link(ptx: Ptx, cc: tuple[int, int], max_registers: int | None) -> Cubin:
    libraries = []
    if ptx.synchronises_grid:
        library = toolchain.cudadevrt()
        if library is None:
            raise CompilerError("the grid-wide barrier needs libcudadevrt, which is missing.")
        libraries.append(library)
    data, log = linker.link_cubin(ptx.text, libraries, cc, max_registers)
    return Cubin(data, _report(log, ptx.entry, linker.version()), log)


def _report(log: str, entry: str, tool: str) -> Resources:
    """Read `-v` output: the paragraph of the kernel's own entry.

    Formats, both from CUDA 13:
        ptxas info : Used 30 registers, used 1 barriers, 2048 bytes smem, 568 bytes cmem[0]
        info : used 30 registers, used 1 barriers, 16 stack, 2048 bytes smem, ... 0 bytes lmem
    """
    start = log.find(f"Compiling entry function '{entry}'")
    if start < 0:
        start = log.find(f"'{entry}'")
    part = log[start:] if start >= 0 else log

    def number(pattern: str) -> int:
        match = re.search(pattern, part)
        return int(match[1]) if match else 0

    registers = number(r"[Uu]sed (\d+) registers")
    if not registers:
        raise CompilerError(f"the assembler's report could not be read:\n{log}")
    line = part[part.find("sed ", part.find("registers") - 20) :].splitlines()[0]
    shared = re.search(r"(\d+) bytes smem", line)
    return Resources(
        registers=registers,
        spill_stores=number(r"(\d+) bytes spill stores"),
        spill_loads=number(r"(\d+) bytes spill loads"),
        stack=number(r"(\d+) bytes stack frame"),
        shared=int(shared[1]) if shared else 0,
        barriers=number(r"used (\d+) barriers"),
        tool=tool,
    )
