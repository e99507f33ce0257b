"""The real compiler's answers about a kernel of the simulator: types, PTX, registers."""

from __future__ import annotations

import copy
import io
import pickle
import re
from typing import Any

import numpy as np
import pytest
from numba import float32, float64, int64, void

from warpwise.simt import Kernel, LaunchError
from warpwise.simt import api as cuda

numba_cuda = pytest.importorskip("numba_cuda")

TILE = 64
TABLE = np.arange(100.0)


@cuda.jit(device=True)
def twice(value):
    return value * float32(2)


@cuda.jit(device=True)
def countdown(n):
    if n <= 0:
        return 0
    return 1 + countdown(n - 1)


@cuda.jit
def tiled(out, x):
    tile = cuda.shared.array(TILE, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    tile[t] = x[i]
    cuda.syncthreads()
    out[i] = twice(tile[TILE - 1 - t])


def vectors(dtype: Any = np.float32) -> tuple[Any, Any]:
    """Output and input."""
    return np.zeros(TILE, dtype), np.arange(TILE).astype(dtype)


def test_a_launch_leaves_an_overload_for_its_types() -> None:
    """One for each tuple of types, with the types Numba gives the same arguments."""
    fresh = Kernel(tiled.source, tiled.scope, tiled.py_func)
    assert fresh.signatures == []
    out, x = vectors()
    fresh[1, TILE](out, x)
    fresh[1, TILE](out, x)
    fresh[1, TILE](*vectors(np.float64))
    fresh[1, TILE](cuda.to_device(out), cuda.to_device(x))
    assert [tuple(t.dtype for t in types) for types in fresh.signatures] == [
        (float32, float32), (float64, float64),
    ]  # fmt: skip
    assert list(fresh.overloads) == fresh.signatures
    assert (fresh.overloads[fresh.signatures[0]]).signature.args == fresh.signatures[0]


def test_assembly_is_that_of_numbas_compiler() -> None:
    """PTX with the kernel's operations; for one signature text, for all a dict."""
    text = tiled.inspect_asm((float32[::1], float32[::1]))
    assert ".target sm_80" in text
    assert ".visible .entry" in text
    assert "bar.sync" in text
    assert "f64" not in text
    out, x = vectors()
    tiled[1, TILE](out, x)
    assert set(tiled.inspect_asm()) == set(tiled.signatures)
    assert "define" in tiled.inspect_llvm((float32[::1], float32[::1]))
    text, result = cuda.compile_ptx(tiled, (float32[::1], float32[::1]))
    assert ".entry" in text
    assert str(result) == "none"
    text, result = cuda.compile(twice, float32(float32), device=True, cc=(9, 0))
    assert ".target sm_90" in text
    assert result == float32
    assert ".target sm_80" in cuda.compile_for_current_device(twice, float32(float32))[0]


def test_types_are_printed_by_line() -> None:
    """inspect_types writes the source with the types Numba found."""
    special = tiled.specialize(*vectors())
    out = io.StringIO()
    special.inspect_types(file=out)
    assert "tile[t] = x[i]" in out.getvalue()
    assert "tile = call" in out.getvalue()
    assert "array(float32, 1d, C)" in out.getvalue()


def test_registers_and_memory_are_the_assemblers() -> None:
    """For the simulated device; a specialised kernel gives the number itself."""
    special = tiled.specialize(*vectors())
    assert special.get_shared_mem_per_block() == 4 * TILE
    assert 5 < special.get_regs_per_thread() < 40
    assert special.get_const_mem_size() == 0
    assert special.get_local_mem_per_thread() == 0
    assert special.get_max_threads_per_block() == 1024
    (types,) = special.signatures
    assert tiled.get_shared_mem_per_block(void(*types)) == 4 * TILE

    @cuda.jit
    def heavy(out, i):
        table = cuda.const.array_like(TABLE)
        own = cuda.local.array(50, float64)
        for k in range(50):
            own[k] = out[k] + table[i]
        out[i] = own[i % 50]

    heavy[1, 1](np.zeros(50), 3)
    (words,) = heavy.get_const_mem_size().values()
    assert words == TABLE.nbytes
    (local,) = heavy.get_local_mem_per_thread().values()
    assert local >= 400


def test_blocks_of_a_synchronised_grid() -> None:
    """As many as fit on 108 multiprocessors: by threads, and by shared memory."""
    special = tiled.specialize(*vectors())
    (overload,) = special.overloads.values()
    assert overload.max_cooperative_grid_blocks(1024) == 2 * 108
    assert overload.max_cooperative_grid_blocks((16, 16)) == 8 * 108
    assert overload.max_cooperative_grid_blocks(32) == 32 * 108
    assert overload.max_cooperative_grid_blocks(64, 40 * 1024) == 3 * 108
    assert overload.max_cooperative_grid_blocks(2000) == 0


def test_registers_limit_blocks_in_quarters_of_a_multiprocessor() -> None:
    """Rows of CUDA's occupancy calculator for compute capability 8.0: 37 registers in blocks of
    128 and 320 threads, and 800 threads of 80 registers, which do not fit."""
    from warpwise.simt.inspection import Overload

    def blocks(registers: int, threads: int) -> int:
        overload = Overload(tiled, ())
        overload.__dict__["_resources"] = {"registers": registers}
        return overload._blocks_per_sm(threads, 0)

    assert blocks(37, 128) == 12
    assert blocks(37, 320) == 4
    assert blocks(80, 800) == 0
    assert blocks(72, 800) == 1


def test_specialised_kernels_are_kept() -> None:
    """The same types give the same kernel; it takes no others and is not specialised again."""
    special = tiled.specialize(*vectors())
    assert special is tiled.specialize(*vectors())
    out, x = vectors()
    special[1, TILE](out, x)
    assert out.tolist() == (2 * x[::-1]).tolist()
    with pytest.raises(RuntimeError, match="already specialized"):
        special.specialize(out, x)
    with pytest.raises(Exception, match="was compiled for"):
        special[1, TILE](*vectors(np.float64))


def test_device_functions_are_inspected_too() -> None:
    """Types of a result, PTX; recursion is no obstacle; machine code is the kernels'."""
    assert twice.compile_device((float64,)).signature.return_type == float64
    assert ".func" in cuda.jit(device=True)(twice.py_func).inspect_asm((float32,))
    assert countdown.compile_device((int64,)).signature.return_type == int64
    explicit = cuda.jit(float32(float32), device=True)(twice.py_func)
    ((types, compiled),) = explicit.overloads.items()
    assert (types, compiled.signature.return_type) == ((float32,), float32)
    assert "define" in explicit.inspect_llvm()[types]
    with pytest.raises(RuntimeError, match="ask a kernel that calls it"):
        twice.inspect_sass()


def test_options_of_the_decorator_reach_the_compiler() -> None:
    """fastmath and max_registers change what the compiler makes."""

    def divide(out, x):
        out[0] = x[0] / x[1]

    types = (float32[::1], float32[::1])
    assert re.search(r"div\.rn\.f32|div\.full\.f32", cuda.jit(divide).inspect_asm(types))
    assert "div.approx" in cuda.jit(fastmath=True)(divide).inspect_asm(types)
    few = cuda.jit(max_registers=16)(tiled.py_func)
    assert few.get_regs_per_thread(void(*types)) <= 16
    bounded = cuda.jit(launch_bounds=128)(tiled.py_func)
    assert bounded.get_max_threads_per_block(void(*types)) == 128
    assert ".maxntid 128" in bounded.inspect_asm(types)


TEXT = """
@cuda.jit(device=True)
def scaled(v, by: print("run") = print("run")):
    return v * by

@cuda.jit(max_registers=24)
def k(out, x):
    i = cuda.grid(1)
    if i < min(len(out), LAST):
        out[i] = scaled(x[i], np.float32(HALF))
"""


def test_a_kernel_that_is_text_only_is_compiled_from_it(capsys: pytest.CaptureFixture[str]) -> None:
    """With its constants, device functions and options, and nothing of the text is run."""
    kernel = Kernel.from_source(TEXT, "k", {"HALF": 0.5, "LAST": 40})
    text = kernel.inspect_asm((float32[::1], float32[::1]))
    assert "mul.f32" in text and "40" in text and ".f64" not in text
    assert kernel.options == {"max_registers": 24}
    assert capsys.readouterr().out == ""


def test_a_name_that_a_text_does_not_define_is_told() -> None:
    """By Numba, as for a function."""
    kernel = Kernel.from_source("@cuda.jit\ndef k(out):\n    out[0] = OTHER\n", "k")
    with pytest.raises(Exception, match="OTHER"):
        kernel.inspect_asm((float32[::1],))


def test_launch_bounds_and_carveouts() -> None:
    """A block larger than the bound is refused, and values the compiler does not take."""
    bounded = cuda.jit(launch_bounds=(32, 2))(tiled.py_func)
    with pytest.raises(LaunchError, match=r"tiled: .* launch_bounds=32, and a block has 64"):
        bounded[1, (32, 2)](*vectors())
    with pytest.raises(ValueError, match="Got 4 launch bounds"):
        cuda.jit(launch_bounds=(1, 2, 3, 4))(tiled.py_func)
    for carveout, text in ((150, "between -1 and 100"), ("much", "Invalid carveout value")):
        with pytest.raises(ValueError, match=text):
            cuda.jit(shared_memory_carveout=carveout)(tiled.py_func)


def add(out, a, b):
    out[0] = a + b


def test_the_signature_that_fits_best_is_numbas_choice() -> None:
    """Of several explicit signatures the one that converts least; two equally good ones are
    refused."""
    types = "(float64[::1], {}, {})"
    kernel = cuda.jit([types.format("float32", "float32"), types.format("float64", "float64")])(add)
    out = np.zeros(1)
    kernel[1, 1](out, np.float32(1), np.float32(2**-25))
    assert out[0] == 1
    kernel[1, 1](out, 1, 2**-25)
    assert out[0] == 1 + 2**-25
    unclear = cuda.jit([types.format("float32", "float64"), types.format("float64", "float32")])(
        add
    )
    with pytest.raises(LaunchError, match="add: these arguments fit two of its signatures equally"):
        unclear[1, 1](out, 1.0, 2.0)


def test_kernels_go_through_pickle() -> None:
    """A kernel made inside a function, its device function, a launch; compiled forms stay here."""

    @cuda.jit(device=True)
    def doubled(a: Any) -> Any:
        return a * 2

    @cuda.jit
    def inner(out: Any, x: Any) -> None:
        i = cuda.grid(1)
        out[i] = doubled(x[i])

    x = np.arange(4.0)
    for kernel in (inner, pickle.loads(pickle.dumps(inner))):
        launch = pickle.loads(pickle.dumps(kernel[2, 2]))
        assert (launch.griddim, launch.blockdim) == ((2, 1, 1), (2, 1, 1))
        out = np.zeros(4)
        launch(out, x)
        assert out.tolist() == [0, 2, 4, 6]
    assert pickle.loads(pickle.dumps(tiled)).explicit == tiled.explicit
    assert copy.deepcopy(inner) is inner
    launch = inner[2, 2]
    launch.pre_launch_callbacks.append(print)
    with pytest.raises(pickle.PicklingError, match="Cannot pickle configured launches with pre-l"):
        pickle.dumps(launch)


def test_kernels_can_be_sent_to_another_process() -> None:
    """cloudpickle takes a kernel and the functions it calls; compiled forms are made again."""
    cloudpickle = pytest.importorskip("cloudpickle")
    out, x = vectors()
    tiled[1, TILE](out, x)
    tiled.inspect_asm()
    again = cloudpickle.loads(cloudpickle.dumps(tiled))
    assert again.signatures == []
    got = np.zeros_like(out)
    again[1, TILE](got, x)
    assert got.tolist() == out.tolist()
    assert again.explicit == tiled.explicit
