"""What the real compiler makes of a kernel: types, LLVM, PTX, registers.

Glossary
    Overload   a kernel, compiled for one tuple of argument types
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cached_property
from typing import Any

from .device import ATTRIBUTES, get_current_device
from .native import compiler, function_of, native_function, options_of
from .options import largest_block


class Overload:
    """A kernel, compiled for one tuple of Numba types.  Made when something is asked of it."""

    objectmode = False

    def __init__(self, kernel: Any, argument_types: tuple[Any, ...]) -> None:
        self.kernel = kernel
        self.argument_types = argument_types

    @cached_property
    def native(self) -> Any:
        """What numba.cuda's own @cuda.jit would hold for these types."""
        fn = native_function(function_of(self.kernel))
        with compiler() as dispatcher:
            return dispatcher._Kernel(fn, self.argument_types, **options_of(self.kernel.options))

    @property
    def _type_annotation(self) -> Any:
        """The types of all variables, under the name that Numba's own kernels have for it."""
        return self.native._type_annotation

    @property
    def cooperative(self) -> bool:
        """Whether the compiled kernel waits for the whole grid, so that all its blocks have to run
        at once."""
        return bool(self.native.cooperative)

    @property
    def _codelibrary(self) -> Any:
        """The compiled code, under the name that Numba's own kernels have for it."""
        return self.native._codelibrary

    @property
    def signature(self) -> Any:
        """The types of the arguments, and none."""
        from numba.core import types, typing

        return typing.signature(types.none, *self.argument_types)

    def inspect_llvm(self) -> str:
        """LLVM's intermediate representation."""
        return str(self.native.inspect_llvm())

    def inspect_asm(self, cc: tuple[int, int] | None = None) -> str:
        """PTX."""
        cc = cc or get_current_device().compute_capability
        with compiler():
            return str(self.native.inspect_asm(cc))

    def inspect_lto_ptx(self, cc: tuple[int, int] | None = None) -> str:
        """PTX after optimisation at link time; for kernels made with lto=True."""
        with compiler():
            return str(self.native.inspect_lto_ptx(cc or get_current_device().compute_capability))

    def inspect_sass(self) -> str:
        """Machine code; needs NVIDIA's nvdisasm, and says so where it is missing."""
        with compiler():
            return str(self.native.inspect_sass())

    def inspect_sass_cfg(self) -> str:
        """The control flow of the machine code; needs nvdisasm."""
        with compiler():
            return str(self.native.inspect_sass_cfg())

    def inspect_types(self, file: Any = None) -> None:
        """Print the source with the types of all variables."""
        self.native.inspect_types(file or sys.stdout)

    # -- what the assembler reports -----------------------------------------------

    @cached_property
    def _resources(self) -> dict[str, int]:
        from cuda.bindings import nvjitlink

        native, cc = self.native, get_current_device().compute_capability
        library = native._codelibrary
        flags = [f"-arch=sm_{cc[0]}{cc[1]}", "-verbose"]
        if limit := self.kernel.options.get("max_registers"):
            flags.append(f"-maxrregcount={limit}")
        link = nvjitlink.create(len(flags), flags)
        try:
            with compiler():
                texts = library.get_asm_strs(cc)
            for text in texts:
                data = text.encode()
                nvjitlink.add_data(link, nvjitlink.InputType.PTX, data, len(data), "kernel")
            if library.needs_cudadevrt:
                from numba.cuda.cudadrv.libs import get_cudalib

                nvjitlink.add_file(
                    link, nvjitlink.InputType.LIBRARY, get_cudalib("cudadevrt", static=True)
                )
            nvjitlink.complete(link)
            buf = bytearray(nvjitlink.get_info_log_size(link))
            nvjitlink.get_info_log(link, buf)
        finally:
            nvjitlink.destroy(link)
        # The last two lines are about the program and the kernel, for example
        #   info : 16 bytes gmem, 800 bytes cmem[3]
        #   info : used 11 registers, used 1 barriers, 0 stack, 256 bytes smem, 464 bytes cmem[0]
        lines = [line for line in buf.decode().splitlines() if re.match(r"info .*\d", line)]
        found = re.findall(r"(\d+) (?:bytes )?([\w\[\]]+)", " ".join(lines))
        return {unit: int(number) for number, unit in found}

    @property
    def regs_per_thread(self) -> int:
        """Registers of a thread, as the assembler for the simulated device allots them."""
        return self._resources["registers"]

    @property
    def const_mem_size(self) -> int:
        """Bytes of constant arrays."""
        return self._resources.get("cmem[3]", 0)

    @property
    def shared_mem_per_block(self) -> int:
        """Bytes of static shared memory."""
        return self._resources.get("smem", 0)

    @property
    def local_mem_per_thread(self) -> int:
        """Bytes of local memory of a thread."""
        return self._resources.get("stack", 0)

    @property
    def max_threads_per_block(self) -> int:
        """The largest block for which there are registers enough."""
        most = ATTRIBUTES["MAX_THREADS_PER_BLOCK"]
        if bound := largest_block(self.kernel.options):
            return bound
        return min(most, 32 * (_warps_for_registers(self.regs_per_thread) // 4 * 4))

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """Blocks that run at once on the simulated device: the most for a synchronised grid."""
        threads = 1
        for n in blockdim if isinstance(blockdim, tuple) else (blockdim,):
            threads *= n
        return self._blocks_per_sm(threads, dynsmemsize) * ATTRIBUTES["MULTIPROCESSOR_COUNT"]

    def _blocks_per_sm(self, threads: int, dynamic: int) -> int:
        # Granularities: CUDA's occupancy calculator (cuda_occupancy.h), compute capability 8.0.
        warps = -(-threads // 32)
        if threads > ATTRIBUTES["MAX_THREADS_PER_BLOCK"]:
            return 0
        by_warps = ATTRIBUTES["MAX_THREADS_PER_MULTIPROCESSOR"] // 32 // warps
        by_registers = _warps_for_registers(self.regs_per_thread) // warps
        reserved = ATTRIBUTES["RESERVED_SHARED_MEMORY_PER_BLOCK"]
        shared = -(-(self.shared_mem_per_block + dynamic + reserved) // 128) * 128
        by_shared = ATTRIBUTES["MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"] // shared
        return min(by_warps, by_registers, by_shared, ATTRIBUTES["MAX_BLOCKS_PER_MULTIPROCESSOR"])


def _warps_for_registers(registers: int) -> int:
    """Warps whose registers fit into a multiprocessor: 4 parts, allotted in units of 256."""
    per_warp = -(-registers * 32 // 256) * 256
    return ATTRIBUTES["MAX_REGISTERS_PER_MULTIPROCESSOR"] // 4 // per_warp * 4


class Inspectable:
    """What a kernel tells of its compiled forms.  Each answer is for one signature, a tuple of
    types; without one it is a dict over all signatures the kernel was used with."""

    specialized: bool
    overloads: dict[tuple[Any, ...], Overload]

    def _ask(self, signature: Any, answer: Callable[[Overload], Any], alone: bool = False) -> Any:
        if signature is not None:
            found = tuple(getattr(signature, "args", signature))
            return answer(self.overloads.get(found) or Overload(self, found))
        if alone and self.specialized:
            return answer(next(iter(self.overloads.values())))
        return {types: answer(overload) for types, overload in self.overloads.items()}

    def inspect_llvm(self, signature: Any = None) -> Any:
        """LLVM's intermediate representation."""
        return self._ask(signature, Overload.inspect_llvm)

    def inspect_asm(self, signature: Any = None) -> Any:
        """PTX for the simulated device."""
        return self._ask(signature, Overload.inspect_asm)

    def inspect_lto_ptx(self, signature: Any = None) -> Any:
        """PTX after optimisation at link time; for kernels made with lto=True."""
        return self._ask(signature, Overload.inspect_lto_ptx)

    def inspect_sass(self, signature: Any = None) -> Any:
        """Machine code for the simulated device; needs nvdisasm."""
        return self._ask(signature, Overload.inspect_sass)

    def inspect_sass_cfg(self, signature: Any = None) -> Any:
        """The control flow of the machine code; needs nvdisasm."""
        return self._ask(signature, Overload.inspect_sass_cfg)

    def inspect_types(self, file: Any = None) -> None:
        """Print the source with the types of all variables, for each signature."""
        for overload in self.overloads.values():
            overload.inspect_types(file)

    def get_regs_per_thread(self, signature: Any = None) -> Any:
        """Registers of a thread."""
        return self._ask(signature, lambda one: one.regs_per_thread, alone=True)

    def get_const_mem_size(self, signature: Any = None) -> Any:
        """Bytes of constant arrays."""
        return self._ask(signature, lambda one: one.const_mem_size, alone=True)

    def get_shared_mem_per_block(self, signature: Any = None) -> Any:
        """Bytes of static shared memory."""
        return self._ask(signature, lambda one: one.shared_mem_per_block, alone=True)

    def get_local_mem_per_thread(self, signature: Any = None) -> Any:
        """Bytes of local memory of a thread."""
        return self._ask(signature, lambda one: one.local_mem_per_thread, alone=True)

    def get_max_threads_per_block(self, signature: Any = None) -> Any:
        """The largest block for which there are registers enough."""
        return self._ask(signature, lambda one: one.max_threads_per_block, alone=True)
