"""`compile_triton`: what Triton's compiler makes of a kernel, for any GPU, without one."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from . import architecture, toolchain
from .assembler import Cubin, Resources
from .code import Code
from .errors import CompilerError
from .ptx import Ptx
from .sass import Instruction, disassemble

#: The matrix instructions of PTX: warps up to Ampere and on 12.x, warp groups on Hopper, tensor
#: memory on Blackwell data-centre parts.  Source: PTX ISA manual, chapters on mma, wgmma, tcgen05.
_MATRIX = re.compile(r"\b(mma\.sync[\w.:]*|wgmma\.mma_async[\w.:]*|tcgen05\.mma[\w.:]*)")

#: Where the kernel begins, in Triton's first stage.
_PLACE = re.compile(r'^#loc = loc\("(.+?)":\d+:\d+\)$', re.MULTILINE)

_DTYPES = {
    "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64", "int8": "i8",
    "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "bool": "i1",
    "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5",
}  # fmt: skip


@dataclass(frozen=True)
class TritonCompiled(Code):
    """One Triton kernel for one architecture.  Label: compiled.

    ttir, ttgir     Triton's own stages: what was written, and how it is laid out over warps
    shared_bytes    dynamic shared memory a block
    """

    name: str
    cc: tuple[int, int]
    ttir: str = field(repr=False)
    ttgir: str = field(repr=False)
    ptx: Ptx = field(repr=False)
    cubin: Cubin = field(repr=False)
    shared_bytes: int
    file: str
    label: str = "compiled"

    @property
    def spills(self) -> int:
        """Bytes per thread in local memory; a Triton kernel has nothing else there."""
        return self.cubin.resources.stack

    @property
    def matrix(self) -> Counter[str]:
        """Matrix instructions of the PTX by full name, such as
        mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32; empty where plain arithmetic is used."""
        return Counter(_MATRIX.findall(self.ptx.text))

    @cached_property
    def sass(self) -> tuple[Instruction, ...]:
        """The machine code, with lines of `file`.

        Triton keeps code on disk by the kernel's text and first line: what it finds there may have
        been compiled from the same text in another file.  That file's name is the kernel's place
        in the first stage.
        """
        code = disassemble(self.cubin.data, self.ptx.entry)
        place = _PLACE.search(self.ttir)
        own = place[1] if place else self.file
        return tuple(replace(one, file=self.file) if one.file == own else one for one in code)


def compile_triton(
    kernel: Any,
    args: Mapping[str, Any],
    arch: Any = (8, 0),
    num_warps: int = 4,
    num_stages: int = 3,
) -> TritonCompiled:
    """Compile a function under @triton.jit for a GPU of architecture `arch`.

    args  by parameter name: a torch tensor, or a Triton type such as "*fp16" or "i32", or a number.
          Parameters marked tl.constexpr get their value.
    Raises CompilerError, also where Triton is not installed (it exists for Linux only).
    """
    toolchain.need("triton", "Triton", "Linux")
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.compiler import compile as run

    cc = architecture.parse(arch)
    if not hasattr(kernel, "params"):
        raise CompilerError(f"{kernel!r} is no Triton kernel: put @triton.jit above its def.")
    names = [parameter.name for parameter in kernel.params]
    missing = [name for name in names if name not in args]
    unknown = [name for name in args if name not in names]
    if missing or unknown:
        raise CompilerError(
            f"{kernel.__name__} has the parameters {', '.join(names)}."
            + (f" Missing: {', '.join(missing)}." if missing else "")
            + (f" Unknown: {', '.join(unknown)}." if unknown else "")
        )
    signature: dict[str, str] = {}
    constants: dict[tuple[int, ...], Any] = {}
    attributes: dict[tuple[int, ...], Any] = {}
    for position, parameter in enumerate(kernel.params):
        value = args[parameter.name]
        if parameter.is_constexpr:
            signature[parameter.name] = "constexpr"
            constants[position,] = value
            continue
        kind = _type_of(value, parameter.name)
        if isinstance(value, int) and value == 1 and not isinstance(value, bool):
            signature[parameter.name] = "constexpr"  # as a launch does, for strides of 1
            constants[position,] = 1
            continue
        signature[parameter.name] = kind
        # A launch assumes the same of memory from an allocator and of multiples of 16.
        if kind.startswith("*") or (isinstance(value, int) and value % 16 == 0 and value > 0):
            attributes[position,] = [["tt.divisibility", 16]]
    source = ASTSource(kernel, signature, constants, attributes)
    target = GPUTarget("cuda", cc[0] * 10 + cc[1], 32)
    try:
        done = run(
            source, target=target, options={"num_warps": num_warps, "num_stages": num_stages}
        )
    except Exception as error:  # Triton raises many kinds, among them MLIR's bare RuntimeError
        raise CompilerError(_message(kernel.__name__, cc, error)) from None
    code = done.asm
    entry = re.search(r"\.visible\s+\.entry\s+(\S+?)\(", code["ptx"])
    return TritonCompiled(
        kernel.__name__, cc, code["ttir"], code["ttgir"],
        Ptx(code["ptx"], entry[1] if entry else kernel.__name__, {}),
        _cubin(code["cubin"]), int(done.metadata.shared), kernel.fn.__code__.co_filename,
    )  # fmt: skip


def _type_of(value: Any, name: str) -> str:
    """Triton's name of an argument's type."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, int):
        return "i32" if -(2**31) <= value < 2**31 else "i64"
    if isinstance(value, float):
        return "fp32"
    dtype = str(getattr(value, "dtype", "")).removeprefix("torch.")
    if dtype not in _DTYPES:
        raise CompilerError(
            f"{name} is a {type(value).__name__}. "
            'Give a tensor, a number, or a type such as "*fp16".'
        )
    return f"*{_DTYPES[dtype]}"


def _message(name: str, cc: tuple[int, int], error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    while error.__cause__ is not None and str(error.__cause__).strip():
        error = error.__cause__  # type: ignore[assignment]
        text = f"{text}\n{error}"
    return f"{name}: Triton could not compile this for {architecture.name(cc)}:\n{text}"


def _cubin(data: bytes) -> Cubin:
    """Registers and stack out of the cubin itself."""
    tool = toolchain.tool("cuobjdump")
    if tool is None:
        raise CompilerError("cuobjdump is missing from the installed Triton.")
    with tempfile.TemporaryDirectory(prefix="warpwise-") as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(data)
        log = toolchain.run([str(tool), "-res-usage", str(path)])
    found = dict(re.findall(r"\b(REG|STACK|SHARED|LOCAL):(\d+)", log))
    stack = int(found.get("STACK", 0)) + int(found.get("LOCAL", 0))
    used = Resources(
        registers=int(found["REG"]), spill_stores=0, spill_loads=0, stack=stack,
        shared=int(found.get("SHARED", 0)), barriers=0, tool="Triton's ptxas",
    )  # fmt: skip
    return Cubin(data, used, log)
