"""The programs and libraries behind the compiler, all from installed packages.

ptxas      PTX to machine code, with its report of registers and spills (in Triton's wheel)
nvdisasm   machine code to text (in Triton's wheel)
nvJitLink  links PTX with device libraries, and assembles where there is no ptxas (NVIDIA's wheel)
NVRTC      compiles the few C++ helpers that Numba brings for half precision (NVIDIA's wheel)
"""

from __future__ import annotations

import re
import subprocess
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from .errors import CompilerError, CompilerMissingError

#: Seconds.  A kernel takes well under one; a runaway unrolling may take a few.
TIMEOUT_S = 120


@cache
def tool(name: str) -> Path | None:
    """Path of `ptxas` or `nvdisasm`; None where no installed package has it.

    Triton brings two assemblers; the newer one, `ptxas-blackwell`, reads the PTX version that
    libNVVM writes.
    """
    spec = find_spec("triton")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(next(iter(spec.submodule_search_locations))) / "backends" / "nvidia" / "bin"
    for candidate in (f"{name}-blackwell", name):
        if (folder / candidate).is_file():
            return folder / candidate
    return None


@cache
def version(name: str) -> str:
    """ "13.1" for a tool; empty where it is missing."""
    path = tool(name)
    if path is None:
        return ""
    match = re.search(r"release (\d+\.\d+)", run([str(path), "--version"]))
    return match[1] if match else "?"


def run(command: list[str]) -> str:
    """Standard output and error of a tool; raises CompilerError with its last lines if it fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise CompilerError(
            f"{Path(command[0]).name} took more than {TIMEOUT_S} s. A loop with a large constant "
            "trip count may have been unrolled; make the count an argument."
        ) from None
    if done.returncode:
        last = "\n".join((done.stderr or done.stdout).strip().splitlines()[-5:])
        raise CompilerError(f"{Path(command[0]).name} failed:\n{last}")
    return done.stdout + done.stderr


@cache
def cudadevrt() -> Path | None:
    """The device runtime library that a grid-wide barrier is linked with."""
    spec = find_spec("nvidia")
    for folder in spec.submodule_search_locations or () if spec else ():
        for found in sorted(Path(folder).glob("**/*cudadevrt*")):
            return found
    return None


def need(module: str, what: str, systems: str = "Linux and Windows") -> None:
    """Raise CompilerMissingError when a package is not there.  systems: where it exists."""
    try:
        found = find_spec(module)
    except ImportError:
        found = None
    if found is None:
        raise CompilerMissingError(
            f"{what} is not installed here (no {module}). It comes with requirements.txt on "
            f"{systems}; there is none for macOS. Everything else of the course works without it."
        )
