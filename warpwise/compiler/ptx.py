"""PTX of a kernel from Numba's own compiler, and what can be read in it."""

from __future__ import annotations

import re
import threading
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from . import architecture, nvrtc
from .diagnosis import plain
from .errors import CompilerError, KernelTypeError
from .linker import link_ptx

_LOCK = threading.RLock()

#: Options of `cuda.jit` that change the code.
OPTIONS = ("debug", "fastmath", "opt", "launch_bounds")


@dataclass(frozen=True)
class Ptx:
    """`text` is the kernel's PTX, with everything it calls inlined or beside it."""

    text: str
    entry: str  # mangled name
    types: Mapping[str, str]  # variable -> type, as Numba inferred it

    @property
    def version(self) -> str:
        """PTX ISA version, such as "9.0"."""
        match = re.search(r"^\.version\s+(\S+)", self.text, re.M)
        return match[1] if match else "0.0"

    @property
    def needs_linking(self) -> bool:
        """Whether functions are called that are not in the text (vprintf is the driver's)."""
        outside = set(re.findall(r"^\.extern\s+\.func\s+(?:\(.*?\)\s*)?(\w+)", self.text, re.M))
        return bool(outside - {"vprintf", "malloc", "free", "__assertfail"})

    @property
    def synchronises_grid(self) -> bool:
        """Whether the kernel has a grid-wide barrier, so that it needs a cooperative launch."""
        return "cudaCGSynchronize" in self.text

    @property
    def operations(self) -> Counter[str]:
        """Instructions by full name, as written: `ld.global.v4.f32`, `fma.rn.f64`..."""
        return Counter(_instructions(self.text))

    @property
    def float64(self) -> int:
        """Instructions that work in float64; a conversion to or from it counts."""
        return sum(
            n for name, n in self.operations.items()
            if ".f64" in name and not name.startswith(("ld.", "st.", "mov."))
        )  # fmt: skip


@contextmanager
def without_driver(cc: tuple[int, int]) -> Iterator[list[bytes]]:
    """Let Numba's compiler run on a machine without a driver.

    It asks the device for its compute capability when one kernel calls another function, and the
    driver for its version when it compiles C++ helpers.  Both are answered here instead; the list
    fills with the helpers as LTO-IR.
    """
    from numba.cuda import codegen, compiler, dispatcher

    class Device:
        compute_capability = cc

    helpers: list[bytes] = []

    def helper(src: Any, name: str, *args: Any, **kwargs: Any) -> tuple[bytes, str]:
        text = src if isinstance(src, str) else bytes(src).decode()
        code = nvrtc.compile_ltoir(text, name, cc)
        if code not in helpers:
            helpers.append(code)
        return code, ""

    def compile_ir(modules: Any, **options: Any) -> Any:
        # The linker refuses modules whose flags behave differently; NVRTC's say 1, Numba's 2.
        texts = [modules] if isinstance(modules, str) else modules
        return saved[2]([text.replace('i32 2, !"Debug Info', 'i32 1, !"Debug Info')
                         for text in texts], **options)  # fmt: skip

    saved = dispatcher.get_current_device, compiler.nvrtc.compile, codegen.nvvm.compile_ir
    dispatcher.get_current_device, compiler.nvrtc.compile = Device, helper
    codegen.nvvm.compile_ir = compile_ir
    try:
        yield helpers
    finally:
        dispatcher.get_current_device, compiler.nvrtc.compile, codegen.nvvm.compile_ir = saved


@contextmanager
def results() -> Iterator[list[Any]]:
    """Collects Numba's compile results, which know every variable's type."""
    from numba.cuda import compiler

    found: list[Any] = []
    original = compiler.compile_cuda

    def recording(*args: Any, **kwargs: Any) -> Any:
        found.append(original(*args, **kwargs))
        return found[-1]

    compiler.compile_cuda = recording
    try:
        yield found
    finally:
        compiler.compile_cuda = original


def compile_ptx(
    function: Any, argtypes: tuple[Any, ...], cc: tuple[int, int], options: Mapping[str, Any]
) -> Ptx:
    """PTX for a plain function (see function.py); raises KernelTypeError in plain words."""
    from numba.core import errors as core
    from numba.cuda import compiler, types
    from numba.cuda.core import errors as cuda

    chosen = {k: v for k, v in options.items() if k in OPTIONS and v is not None}
    with _LOCK, without_driver(cc) as helpers, results() as compiled, warnings.catch_warnings():
        warnings.simplefilter("ignore")

        def code(output: str) -> list[Any]:
            codes, _ = compiler.compile_all(
                function, types.void(*argtypes), device=False, abi="numba", output=output, cc=cc,
                lineinfo=not chosen.get("debug"), **chosen,
            )  # fmt: skip
            return list(codes)

        try:
            text = code("ptx")[0]
            if helpers:
                text = link_ptx([*code("ltoir")[:1], *helpers], cc)
        except (core.NumbaError, cuda.NumbaError) as error:
            message, original = plain(error, function, argtypes)
            raise KernelTypeError(message, original) from None
        except Exception as error:  # from inside the compiler, which stops in many ways
            raise CompilerError(
                f"{function.__name__}: Numba's compiler stopped with {type(error).__name__}: "
                f"{error}\n  for {architecture.name(cc)}."
            ) from None
    match = re.search(r"\.visible\s+\.entry\s+(\S+?)\(", text)
    if match is None:
        raise CompilerError(f"{function.__name__}: the compiler wrote no kernel.")
    typemap = compiled[0].type_annotation.typemap
    return Ptx(text, match[1], _variables(typemap))


def _variables(typemap: Mapping[str, Any]) -> dict[str, str]:
    """Type of each of the learner's variables; the versions of one name (`x`, `x.1`) are joined."""
    found: dict[str, list[str]] = {}
    for name, kind in typemap.items():
        own = name.split(".")[0]
        if own.isidentifier() and not name.startswith(("arg.", "$")):
            kinds = found.setdefault(own, [])
            if str(kind) not in kinds:
                kinds.append(str(kind))
    return {name: " or ".join(kinds) for name, kinds in found.items()}


#: One instruction: an optional predicate, its name with dots, then operands up to a semicolon.
_INSTRUCTION = re.compile(r"^\s*(?:@!?%\w+\s+)?([a-z][\w]*(?:\.[\w:]+)*)\s[^;]*;", re.M)


def _instructions(text: str) -> Iterator[str]:
    for match in _INSTRUCTION.finditer(text):
        yield match[1]
