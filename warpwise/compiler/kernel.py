"""`compile_kernel`: what the real compiler makes of a kernel, for any GPU, without one."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import architecture, toolchain
from .argtypes import argument_types
from .assembler import Cubin, assemble
from .code import Code
from .errors import CompilerError
from .function import fingerprint, plain_function
from .ptx import OPTIONS, Ptx, compile_ptx

_CACHE: dict[tuple[Any, ...], Compiled] = {}


@dataclass(frozen=True)
class Compiled(Code):
    """One kernel for one architecture.  Label: compiled.

    `types` are Numba's inferred types by variable; `arguments` the types compiled for.
    """

    name: str
    cc: tuple[int, int]
    arguments: tuple[str, ...]
    ptx: Ptx
    cubin: Cubin = field(repr=False)
    file: str
    label: str = "compiled"

    @property
    def spills(self) -> int:
        """Bytes per thread stored to and loaded from local memory for want of registers."""
        return self.resources.spill_stores + self.resources.spill_loads

    @property
    def shared_bytes(self) -> int:
        """Static shared memory of a block."""
        return self.resources.shared

    @property
    def types(self) -> Mapping[str, str]:
        return self.ptx.types

    @property
    def float64(self) -> int:
        """PTX instructions that compute in float64, or convert to or from it."""
        return self.ptx.float64

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without the code itself."""
        used = self.resources
        return {
            "kernel": self.name, "architecture": self.architecture, "label": self.label,
            "arguments": list(self.arguments), "types": dict(self.types),
            "registers": used.registers, "spill_stores": used.spill_stores,
            "spill_loads": used.spill_loads, "stack": used.stack, "shared_bytes": used.shared,
            "barriers": used.barriers, "float64": self.float64, "ptx_version": self.ptx.version,
            "tool": used.tool,
        }  # fmt: skip

    def __str__(self) -> str:
        used = self.resources
        rows = [
            ("registers a thread", used.registers, ""),
            ("spilled", f"{used.spill_stores} B stored, {used.spill_loads} B loaded", "a thread")
            if self.spills else ("spilled", "nothing", ""),
            ("stack", f"{used.stack} B", "a thread; local arrays live here"),
            ("static shared memory", f"{used.shared} B", "a block"),
            ("float64 instructions", self.float64, "PTX"),
        ]  # fmt: skip
        head = f"{self.name} for {self.architecture}   ({self.label}: {used.tool})"
        return "\n".join([head, *(f"  {k:<22}{v} {note}".rstrip() for k, v, note in rows)])


def compile_kernel(
    kernel: Any, args: Any, arch: Any = (8, 0), max_registers: int | None = None
) -> Compiled:
    """Compile a kernel as Numba would for a GPU of architecture `arch`; no GPU or driver needed.

    kernel  a function under @cuda.jit, or a plain function
    args    the arguments of a launch, their Numba types, or a signature as text
    arch    "sm_90", 9.0, (9, 0)...

    The machine code is the assembler's for the PTX that is shown.  A launch on a GPU links through
    LTO instead, which may give a few registers more or fewer.
    Raises KernelTypeError (a type the compiler refuses), ArchitectureError, CompilerMissingError.
    """
    toolchain.need("numba_cuda", "Numba's CUDA compiler")
    cc = architecture.parse(arch)
    options = _options(kernel)
    max_registers = max_registers or options.pop("max_registers", None)
    types = argument_types(args)
    key = (fingerprint(kernel), types, cc, max_registers, tuple(sorted(map(str, options.items()))))
    if key[0] is not None and key in _CACHE:
        return _CACHE[key]
    function = plain_function(kernel)
    _check_count(function, types)
    ptx = compile_ptx(function, types, cc, options)
    found = Compiled(
        function.__name__, cc, tuple(map(str, types)), ptx, assemble(ptx, cc, max_registers),
        inspect.getsourcefile(function) or function.__code__.co_filename,
    )  # fmt: skip
    if key[0] is not None:
        _CACHE[key] = found
    return found


def _options(kernel: Any) -> dict[str, Any]:
    """Options given to cuda.jit that change the code; ours and Numba's keep them by other names."""
    given = getattr(kernel, "options", None) or getattr(kernel, "targetoptions", None) or {}
    chosen = {k: given[k] for k in (*OPTIONS, "max_registers") if given.get(k) is not None}
    return {k: v for k, v in chosen.items() if not (k in ("debug", "fastmath") and v is False)}


def _check_count(function: Any, types: tuple[Any, ...]) -> None:
    wanted = function.__code__.co_argcount
    if len(types) != wanted:
        raise CompilerError(
            f"{function.__name__} takes {wanted} arguments; {len(types)} types were given."
        )
