"""Pointers in signatures, and loads and stores with a word to the cache."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import carray, farray, types

from warpwise import profile
from warpwise.simt import LaunchError, OutOfBoundsError, SimtError, TypingError, api

cuda: Any = api
FLOATS = types.CPointer(types.float32)


def _add(x: Any, n: Any) -> None:
    i = cuda.grid(1)
    if i < n:
        x[i] += i


add = cuda.jit(types.void(FLOATS, types.int32))(_add)


def test_a_pointer_reaches_the_elements_from_its_address_on() -> None:
    """As a number, from a view in the middle, and as ctypes has it."""
    d = cuda.to_device(np.zeros(8, np.float32))
    add[1, 8](d.__cuda_array_interface__["data"][0], 8)
    assert d.copy_to_host().tolist() == list(range(8))
    add[1, 8](d[5:].__cuda_array_interface__["data"][0], 3)
    add[1, 8](d.device_ctypes_pointer, 2)
    assert d.copy_to_host().tolist() == [0, 2, 2, 3, 4, 5, 7, 9]


def test_an_access_beyond_the_memory_of_a_pointer_is_reported() -> None:
    """Before its first element, too: nothing wraps."""
    d = cuda.to_device(np.zeros(8, np.float32))
    with pytest.raises(OutOfBoundsError, match=r"x\[3\], x has shape \(3,\)"):
        add[1, 8](d[5:].gpu_data.address, 4)

    @cuda.jit((FLOATS,))
    def before(x: Any) -> None:
        x[-1] = 1

    with pytest.raises(OutOfBoundsError, match="out-of-bounds store"):
        before[1, 1](d[5:].gpu_data.address)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (77, "0x4d is no address of the simulated device's memory"),
        (1.5, "the signature says float32*, so it takes an address, got float"),
        (True, "takes an address, got bool"),
    ],
)
def test_what_is_no_address_is_refused(value: Any, message: str) -> None:
    """The message says where an address comes from."""
    with pytest.raises(LaunchError, match=message.replace("*", r"\*")):
        add[1, 8](value, 1)


def test_an_address_of_another_alignment_is_refused() -> None:
    """A GPU reads float32 at multiples of 4."""
    d = cuda.to_device(np.zeros(8, np.float32))
    with pytest.raises(LaunchError, match="no multiple of 4"):
        add[1, 8](d.gpu_data.address + 2, 1)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x[0] = x.size", "a pointer has no .size"),
        ("x[0] = x.shape[0]", "a pointer has no .shape"),
        ("x[0] = len(x)", r"len\(\) of pointer to float32"),
        ("x[0:2] = 1", "x is a pointer, and is indexed with one integer"),
        ("x[0, 1] = 1", "x is a pointer, and is indexed with one integer"),
        ("x[0] = carray(x, 2.0)[0]", "a shape is made of integers, not float64"),
        ("x[0] = carray(x, 2, dtype=np.int32)[0]", "carray of int32 does not fit a pointer"),
        ("x[0] = carray(n, 2)[0]", "carray takes a pointer first, not int64"),
    ],
)
def test_a_pointer_is_no_array(line: str, message: str) -> None:
    """What Numba does not compile for a pointer is refused, with what to write instead."""
    names: dict[str, Any] = {"carray": carray, "np": np}
    text = f"def k(x, n):\n    {line}\n"
    exec(text, names)
    with pytest.raises(TypingError, match=message):
        cuda.jit((FLOATS, types.int64))(names["k"])


def test_arrays_of_a_pointer() -> None:
    """carray runs along rows, farray along columns; more than there is, is refused."""

    @cuda.jit((FLOATS, types.float32[:, :], types.int64))
    def k(x: Any, out: Any, n: Any) -> None:
        c, f = carray(x, (n, 3)), farray(x, (n, 3), dtype=np.float32)
        i = cuda.grid(1)
        out[i, 0], out[i, 1] = c[i // 3, i % 3], f[i // 3, i % 3]
        out[i, 2] = c.shape[0] * 10 + f.size

    d = cuda.to_device(np.arange(6, dtype=np.float32))
    out = np.zeros((6, 3), np.float32)
    k[1, 6](d.gpu_data.address, out, 2)
    flat = np.arange(6)
    assert out[:, 0].tolist() == flat.tolist()
    assert out[:, 1].tolist() == flat.reshape((2, 3), order="F").ravel().tolist()
    assert set(out[:, 2]) == {26}
    with pytest.raises(SimtError, match=r"the memory of x has 6 elements, .* \(3, 3\)"):
        k[1, 6](d.gpu_data.address, out, 3)


def test_loads_and_stores_with_a_word_to_the_cache() -> None:
    """The values of plain ones, in one dimension and two, negative indices, too; and they count."""

    @cuda.jit
    def k(out: Any, x: Any) -> None:
        i = cuda.grid(1)
        v = cuda.ldca(x, (i, 0)) + cuda.ldcg(x, (i, 1)) * cuda.ldcs(x, (-1, -1))
        cuda.stcs(out, i, v + cuda.ldlu(out, i) + cuda.ldcv(out, 0) * 0)
        cuda.stcg(x, (i, 0), i)
        cuda.stwb(x, (i, 1), 2.5)

    x = np.arange(64, dtype=np.float32).reshape(32, 2)
    out = np.ones(32)
    report = profile(k[1, 32], out, given := x.copy())
    assert np.array_equal(out, 1 + x[:, 0] + x[:, 1] * x[-1, -1])
    assert np.array_equal(given, np.stack([np.arange(32), np.full(32, 2.5)], 1))
    assert (report.loads.requests, report.stores.requests) == (5, 3)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("cuda.ldca(x, 1.0)", "an index of x has type float64"),
        ("cuda.ldca(x, (0, 1))", "x has 1 dimension but is indexed with 2"),
        ("cuda.ldca(1, 0)", "cuda.ldca takes an array first, not int64"),
        ("cuda.ldcg(x)", "cuda.ldcg takes 2 arguments, got 1"),
        ("cuda.stwt(x > 0, 0, 1)", "> does not take"),
        ("cuda.ldca(z, 0)", "works on integers and floats; z holds complex128"),
        ("cuda.stcg(frozen, 0, 1)", "frozen is a constant of the kernel"),
        ("s = cuda.shared.array(4, np.float32)\n    x[0] = cuda.ldca(s, 0)",
         "reaches global memory; s is a shared array"),
    ],
)  # fmt: skip
def test_refused_as_numba_refuses(line: str, message: str) -> None:
    """Numba's compiler checks the array, its type and the index."""
    names: dict[str, Any] = {"cuda": cuda, "np": np, "frozen": np.zeros(3)}
    text = f"def k(x, z):\n    {line}\n"
    exec(text, names)
    with pytest.raises(TypingError, match=message):
        cuda.jit(names["k"])[1, 1](np.zeros(3), np.zeros(3, complex))
