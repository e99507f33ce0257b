"""C++ helpers to LTO-IR, by NVRTC without a driver.

Numba brings the half-precision math functions as C++ source and compiles them at launch.  Its own
way there asks the driver whether it could load the result; there is no driver here to ask.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from . import architecture
from .errors import CompilerError


@cache
def compile_ltoir(source: str, name: str, cc: tuple[int, int]) -> bytes:
    """LTO-IR of a C++ source text: what nvJitLink inlines into the kernel."""
    from cuda.bindings import nvrtc

    options = [
        f"--gpu-architecture={architecture.name(cc)}",
        "--relocatable-device-code=true",
        "-dlto",
        "-lineinfo",
    ]
    options += [f"--include-path={folder}" for folder in _include_folders()]
    _, program = _checked(nvrtc.nvrtcCreateProgram(source.encode(), name.encode(), 0, [], []))
    try:
        encoded = [option.encode() for option in options]
        status = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)[0]
        if int(status):
            _, size = _checked(nvrtc.nvrtcGetProgramLogSize(program))
            log = b" " * size
            nvrtc.nvrtcGetProgramLog(program, log)
            raise CompilerError(f"NVRTC could not compile {name}:\n{log.decode().strip()}")
        _, size = _checked(nvrtc.nvrtcGetLTOIRSize(program))
        code = b" " * size
        _checked(nvrtc.nvrtcGetLTOIR(program, code))
        return code
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _include_folders() -> list[str]:
    """CUDA's headers and Numba's own, as Numba itself finds them."""
    from cuda import pathfinder
    from numba import cuda
    from numba.cuda.cuda_paths import get_cuda_paths

    root = Path(cuda.__file__).parent
    folders = [str(root / "include" / "13"), str(get_cuda_paths()["include_dir"].info)]
    found = pathfinder.locate_nvidia_header_directory("cccl")
    if found is not None:
        folders.append(str(found.abs_path))
    return [*folders, str(root / "memory_management")]


def _checked(result: tuple) -> tuple:  # type: ignore[type-arg]
    if int(result[0]):
        raise CompilerError(f"NVRTC reported {result[0]}.")
    return result
