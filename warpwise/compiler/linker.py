"""nvJitLink: NVIDIA's linker as a library."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from . import architecture, toolchain
from .errors import CompilerError


def version() -> str:
    """Such as "nvJitLink 13.5"."""
    major, minor = _library().version()
    return f"nvJitLink {major}.{minor}"


def link_ptx(parts: Iterable[bytes], cc: tuple[int, int]) -> str:
    """One PTX text out of LTO-IR parts, everything that can be inlined inlined."""
    nvjitlink = _library()
    inputs = [(nvjitlink.InputType.LTOIR, part) for part in parts]
    with _Link(["-lto", "-ptx"], cc, inputs) as handle:
        text = bytearray(nvjitlink.get_linked_ptx_size(handle))
        nvjitlink.get_linked_ptx(handle, text)
        return text.decode().rstrip("\0")


def link_cubin(
    ptx: str, libraries: Sequence[Path], cc: tuple[int, int], max_registers: int | None
) -> tuple[bytes, str]:
    """(machine code, report) of PTX linked with libraries."""
    nvjitlink = _library()
    options = ["-verbose"] + ([f"-maxrregcount={max_registers}"] if max_registers else [])
    inputs = [(nvjitlink.InputType.PTX, ptx.encode())]
    with _Link(options, cc, inputs, libraries) as handle:
        cubin = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, cubin)
        log = bytearray(nvjitlink.get_info_log_size(handle))
        nvjitlink.get_info_log(handle, log)
        return bytes(cubin), log.decode(errors="replace").strip("\0 \n")


class _Link:
    """A finished link; the handle is freed at the end of the `with`."""

    def __init__(
        self,
        options: list[str],
        cc: tuple[int, int],
        inputs: Iterable[tuple[Any, bytes]],
        libraries: Iterable[Path] = (),
    ) -> None:
        self.options = [f"-arch={architecture.name(cc)}", "-lineinfo", *options]
        self.inputs, self.libraries = list(inputs), list(libraries)

    def __enter__(self) -> int:
        nvjitlink = _library()
        self.handle: int = nvjitlink.create(len(self.options), self.options)
        try:
            for number, (kind, data) in enumerate(self.inputs):
                nvjitlink.add_data(self.handle, kind, data, len(data), f"part{number}")
            for library in self.libraries:
                nvjitlink.add_file(self.handle, nvjitlink.InputType.LIBRARY, str(library))
            nvjitlink.complete(self.handle)
        except nvjitlink.nvJitLinkError as error:
            log = bytearray(nvjitlink.get_error_log_size(self.handle))
            nvjitlink.get_error_log(self.handle, log)
            nvjitlink.destroy(self.handle)
            text = log.decode(errors="replace").strip("\0 \n") or str(error)
            raise CompilerError(f"nvJitLink failed:\n{text}") from None
        return self.handle

    def __exit__(self, *exc: object) -> None:
        _library().destroy(self.handle)


def _library() -> Any:
    toolchain.need("cuda.bindings", "NVIDIA's linker")
    from cuda.bindings import nvjitlink

    return nvjitlink
