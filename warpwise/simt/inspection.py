"""What the real compiler says about a function: types, LLVM, PTX, registers.  No GPU is needed.

The compiler is Numba's own, with NVIDIA's libraries behind it; it is asked for the compute
capability of the simulated device.  The kernel it gets is the learner's function, with Numba's
names where the simulator's stand.

Glossary
    Overload   a kernel, compiled for one tuple of argument types
"""

from __future__ import annotations

import re
import sys
import threading
import types as python_types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any

from .arguments import ArgumentHint
from .device import ATTRIBUTES, current_context, get_current_device
from .options import largest_block
from .symbols import Symbol

_LOCK = threading.RLock()
#: Options of @cuda.jit that Numba's compiler takes, too.
OPTIONS = ("debug", "fastmath", "forceinline", "inline", "launch_bounds", "lineinfo", "lto",
           "max_registers", "opt", "shared_memory_carveout")  # fmt: skip


@contextmanager
def compiler() -> Iterator[Any]:
    """Numba's CUDA compiler (numba.cuda.dispatcher), which finds the simulated device instead of
    asking a driver for a real one.  One thread at a time."""
    try:
        from numba.cuda import compiler as first
        from numba.cuda import dispatcher
        from numba.cuda.cudadrv import devices
    except ImportError as error:
        raise NotImplementedError(f"this needs the package numba-cuda ({error})") from None
    replaced: list[tuple[Any, str, Any]] = [
        (dispatcher, "get_current_device", get_current_device),
        (first, "get_current_device", get_current_device),
        (devices, "get_context", current_context),
    ]
    with _LOCK:
        saved = [(owner, name, getattr(owner, name, None)) for owner, name, _ in replaced]
        for owner, name, value in replaced:
            setattr(owner, name, value)
        try:
            yield dispatcher
        finally:
            for owner, name, value in saved:
                setattr(owner, name, value)


def native(value: Any) -> Any:
    """Numba's own object for one of the simulator's: kernel, device function, cuda.<name>."""
    from . import api
    from .kernel import DeviceFunction, Kernel

    if isinstance(value, (Kernel, DeviceFunction)):
        return _native_device(value)
    if isinstance(value, Symbol):
        from numba import cuda

        found: Any = cuda
        for part in value.name.split("."):
            found = getattr(found, part)
        return found
    if value is api:
        from numba import cuda

        return cuda
    return value


def _native_device(value: Any) -> Any:
    """Numba's dispatcher for a device function; made once."""
    if value.native is None:
        from numba.cuda.dispatcher import CUDADispatcher

        fn = _function_of(value)
        own = _empty_copy(fn)
        value.native = CUDADispatcher(own, {**_options(value.options), "device": True})
        _fill(own, fn)  # afterwards: a function may name itself
    return value.native


def _function_of(value: Any) -> Any:
    if value.py_func is None:
        raise NotImplementedError(
            f"{value.__name__} exists as text only: the compiler needs the function itself"
        )
    return value.py_func


def _options(given: dict[str, Any]) -> dict[str, Any]:
    kept = {name: given[name] for name in OPTIONS if given.get(name) is not None}
    return {"opt": True, **kept}


def native_function(fn: Callable[..., Any]) -> Any:
    """The same Python function, with Numba's names where the simulator's stand."""
    fn = getattr(fn, "py_func", None) or fn
    own = _empty_copy(fn)
    _fill(own, fn)
    return own


def _empty_copy(fn: Any) -> Any:
    cells = tuple(python_types.CellType() for _ in fn.__closure__ or ())
    own = python_types.FunctionType(fn.__code__, {}, fn.__name__, fn.__defaults__, cells or None)
    own.__kwdefaults__ = fn.__kwdefaults__
    own.__module__, own.__qualname__, own.__doc__ = fn.__module__, fn.__qualname__, fn.__doc__
    return own


def _fill(own: Any, fn: Any) -> None:
    own.__globals__.update(fn.__globals__)
    for name in _names(fn.__code__):
        if name in fn.__globals__:
            own.__globals__[name] = native(fn.__globals__[name])
    for cell, theirs in zip(own.__closure__ or (), fn.__closure__ or (), strict=True):
        with suppress(ValueError):  # not filled yet
            cell.cell_contents = native(theirs.cell_contents)


def _names(code: Any) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, python_types.CodeType):
            yield from _names(constant)


class Overload:
    """A kernel, compiled for one tuple of Numba types.  Made when something is asked of it."""

    objectmode = False

    def __init__(self, kernel: Any, argument_types: tuple[Any, ...]) -> None:
        self.kernel = kernel
        self.argument_types = argument_types

    @cached_property
    def native(self) -> Any:
        """What numba.cuda's own @cuda.jit would hold for these types."""
        fn = native_function(_function_of(self.kernel))
        with compiler() as dispatcher:
            return dispatcher._Kernel(fn, self.argument_types, **_options(self.kernel.options))

    @property
    def _type_annotation(self) -> Any:
        """The types of all variables, under the name that Numba's own kernels have for it."""
        return self.native._type_annotation

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


def _compiles(name: str) -> Callable[..., Any]:
    from_numba = f"numba.cuda.{name}, for a function that may use the simulator's names."

    def compiled(pyfunc: Any, *args: Any, **kwargs: Any) -> Any:
        with compiler():
            from numba.cuda import compiler as module

            return getattr(module, name)(native_function(pyfunc), *args, **kwargs)

    compiled.__name__, compiled.__doc__ = name, from_numba
    return compiled


compile = _compiles("compile")
compile_all = _compiles("compile_all")
compile_ptx = _compiles("compile_ptx")
compile_for_current_device = _compiles("compile_for_current_device")
compile_ptx_for_current_device = _compiles("compile_ptx_for_current_device")


def types_of(args: Any) -> tuple[Any, ...]:
    """The Numba types of a launch's arguments; types stand for themselves."""
    from numba.core import types
    from numba.cuda.typing.typeof import Purpose, typeof

    return tuple(
        value if isinstance(value, types.Type) else typeof(value, Purpose.argument)
        for value in (one.value if isinstance(one, ArgumentHint) else one for one in args)
    )


def best_signature(name: str, args: tuple[Any, ...], signatures: Sequence[Any]) -> int:
    """Which signature Numba's dispatcher takes for these types; TypeError when two are as good."""
    from numba.core import types, typing

    from .typing import context

    cases = [typing.signature(types.none, *signature) for signature in signatures]
    found = context().resolve_overload(name, cases, args, {}, allow_ambiguous=False)
    return cases.index(found) if found in cases else 0
