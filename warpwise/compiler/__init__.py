"""The real compiler, without a GPU: PTX, registers, machine code by Python line.

compiled = compile_kernel(saxpy, (out, x, y, a), "sm_90")
compiled.registers, compiled.float64, compiled.ptx.text, compiled.lines
"""

from .errors import ArchitectureError, CompilerError, CompilerMissingError, KernelTypeError
from .inductor import fused_cpp
from .kernel import Compiled, compile_kernel
from .lines import SourceLine
from .triton_kernel import TritonCompiled, compile_triton

__all__ = [
    "ArchitectureError", "Compiled", "CompilerError", "CompilerMissingError", "KernelTypeError",
    "SourceLine", "TritonCompiled", "compile_kernel", "compile_triton",
    "fused_cpp",
]  # fmt: skip
