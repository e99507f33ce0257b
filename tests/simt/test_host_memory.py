"""Device arrays and the host's side of memory: as Numba's device arrays, and messages that help.

Numba's own description of arrays (dummyarray) is the reference for shapes and strides of views.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpwise.simt import KernelNote, LaunchError, capacity
from warpwise.simt import api as cuda


@cuda.jit
def add_one(out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] += 1


@cuda.jit
def shifted(out, a):
    i = cuda.grid(1)
    if 0 < i < out.size:
        out[i] = a[i - 1]


def error_of(kind: type[BaseException], what: Any, *args: Any, **kwargs: Any) -> str:
    """What calling it says."""
    with pytest.raises(kind) as error:
        what(*args, **kwargs)
    return str(error.value)


INDICES = [
    0, -1, np.int64(2), (1, 2), (slice(None), 1), (slice(1, None), slice(None, None, 2)),
    slice(None, None, -1), (slice(None), slice(3, 0, -2)), (-1, slice(None)), slice(2, 2),
]  # fmt: skip


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("index", INDICES)
def test_views_lie_where_numba_puts_them(index: Any, order: str) -> None:
    """Elements, slices and steps: values of NumPy, shape, strides and place of Numba."""
    dummyarray = pytest.importorskip("numba.cuda.cudadrv.dummyarray")
    host = np.array(np.arange(20, dtype=np.int32).reshape(4, 5), order=order)  # type: ignore[call-overload]
    device = cuda.to_device(host)
    got = device[index]
    numbas = dummyarray.Array.from_desc(0, host.shape, host.strides, 4)[index]
    if not numbas.is_array:
        assert got == host[index]
        assert type(got) is np.int32
        return
    assert got.shape == numbas.shape
    if got.size:
        assert got.strides == numbas.strides
        begin = got.gpu_data.address - device.gpu_data.address
        assert begin == numbas.extent.begin
        if min(got.strides) > 0:
            assert begin + got.alloc_size == numbas.extent.end
    assert np.array_equal(got._view, host[index])
    assert got.flags == numbas.flags


@pytest.mark.parametrize("order", ["C", "F"])
def test_copies_keep_values_order_and_strides(order: str) -> None:
    """To the device and back, whole and in part; a host copy lies as the device array does."""
    host = np.array(np.arange(12.0).reshape(3, 4), order=order)  # type: ignore[call-overload]
    device = cuda.to_device(host)
    host[:] = -1
    back = device.copy_to_host()
    assert back.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert back.strides == device.strides == host.strides
    assert device[:, 1].copy_to_host().tolist() == [1, 5, 9]
    into = np.empty_like(host)
    assert device.copy_to_host(into) is into
    assert into.tolist() == back.tolist()
    device.copy_to_device(back * 2)
    device.copy_to_device(np.ascontiguousarray(back * 2))  # the other order is fine for the host
    assert device.copy_to_host().tolist() == (back * 2).tolist()
    assert np.asarray(device).tolist() == np.array(device, np.int32).tolist()
    assert (np.ones((3, 4)) + device).tolist() == (back * 2 + 1).tolist()


def test_parts_are_copied_through_slices() -> None:
    """A contiguous slice of a device array takes and gives a part."""
    device = cuda.to_device(np.zeros(6, np.int16))
    device[2:4].copy_to_device(np.array([7, 8], np.int16))
    part = np.zeros(3, np.int16)
    device[1:4].copy_to_host(part)
    assert part.tolist() == [0, 7, 8]
    left, right = device.split(4)
    assert (left.copy_to_host().tolist(), right.copy_to_host().tolist()) == ([0, 0, 7, 8], [0, 0])
    add_one[1, 8](device[::2])
    assert device.copy_to_host().tolist() == [1, 0, 8, 8, 1, 0]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.zeros(4), "copy_to_device: incompatible shape: (3,) vs. (4,) of the host array. "
         "To copy a part, slice the larger array: array[:n]."),
        (np.zeros(3, np.float32), "copy_to_device: incompatible dtype: float64 vs. float32 of the "
         "host array. Copies do not convert: use .astype(np.float64) on the host."),
        ([1.0, 2.0, 3.0], "copy_to_device: got a list, it takes an array: np.array(...) of it"),
        (np.ma.masked_equal(np.arange(3.0), 1), "copy_to_device: got a masked array, whose mask "
         "would be lost on the device. Pass x.filled(value), and x.mask as an array of its own."),
        (np.zeros(3, ">f8"), "dtype >f8 has not this machine's byte order, which kernels cannot "
         "read. Convert the array first: x.astype(x.dtype.newbyteorder('='))."),
    ],
)  # fmt: skip
def test_copies_that_do_not_fit(value: Any, expected: str) -> None:
    """Shape, dtype, kind: a sentence, and the device array keeps what it has."""
    device = cuda.to_device(np.arange(3.0))
    assert error_of((TypeError, ValueError), device.copy_to_device, value) == expected
    assert device.copy_to_host().tolist() == [0, 1, 2]


def test_copies_of_views_with_gaps() -> None:
    """Only one piece of memory can be copied; bytes are copied as they lie."""
    device = cuda.to_device(np.arange(12.0).reshape(3, 4))
    assert "the device array is a view with gaps" in error_of(
        ValueError, device[:, 0].copy_to_device, np.zeros(3)
    )
    assert "the host array is a view with gaps" in error_of(
        ValueError, device[0].copy_to_host, np.zeros((4, 2))[:, 0]
    )
    assert "incompatible strides: (32, 8) vs. (8, 24)" in error_of(
        ValueError, device.copy_to_host, np.zeros((3, 4), order="F")
    )
    assert "This view runs backwards" in error_of(NotImplementedError, device[::-1].copy_to_host)
    assert "np.ascontiguousarray" in error_of(ValueError, cuda.to_device, np.zeros((3, 4))[:, 1:3])
    repeated = cuda.to_device(np.broadcast_to(np.arange(3.0), (2, 3)))
    assert repeated.strides == (0, 8)
    assert repeated.copy_to_host().tolist() == [[0, 1, 2]] * 2


def test_stores_from_the_host() -> None:
    """array[...] = value: numbers, arrays, device arrays, broadcast and converted."""
    device = cuda.to_device(np.zeros((2, 3), np.int32))
    device[0, 1] = 5.9
    device[1] = np.array([1, 2, 3])
    device[:, 2] = cuda.to_device(np.array([8, 9]))
    assert device.copy_to_host().tolist() == [[0, 5, 8], [1, 2, 9]]
    device[...] = 4
    assert device.copy_to_host().tolist() == [[4] * 3] * 2
    for value, expected in (
        (np.zeros((1, 2, 3)), "Can't assign 3-D array to 2-D self"),
        (np.zeros(2), "Can't copy sequence with size 2 to array axis 1 with dimension 3"),
    ):
        assert error_of(ValueError, device.__setitem__, slice(None), value) == expected
    assert "complex values cannot be stored" in error_of(TypeError, device.__setitem__, 0, 1j)
    assert "'x' cannot be stored" in error_of(TypeError, device.__setitem__, 0, "x")


def test_what_the_host_stores_counts_as_written() -> None:
    """Of an array that starts undefined, only the cells that got a value are defined."""
    device = cuda.device_array((2, 4))
    device[0, 1] = 1.0
    device[1, ::2].setitem(0, 2.0)
    device[:, 3] = 0.0
    want = [[False, True, False, True], [True, False, False, True]]
    assert device._root.init.reshape(2, 4).tolist() == want
    device.copy_to_device(np.zeros((2, 4)))
    assert device._root.init.all()


def test_other_shapes_and_types_of_the_same_memory() -> None:
    """reshape, ravel, squeeze and view share memory; a transpose is a copy, as in Numba."""
    device = cuda.to_device(np.arange(6, dtype=np.int32).reshape(2, 3))
    device.reshape(3, 2)[2, 1] = 50
    device.reshape(-1)[0] = 7
    device.view(np.uint32).ravel()[1] = 2**32 - 1
    assert device.copy_to_host().tolist() == [[7, -1, 2], [3, 4, 50]]
    assert device.reshape((1, 6, 1)).squeeze().shape == (6,)
    assert device.view(np.int8).shape == (2, 12)
    turned = device.T
    turned[0, 0] = 1
    assert turned.copy_to_host().tolist() == [[1, 3], [-1, 4], [2, 50]]
    assert device[0, 0] == 7
    assert np.transpose(device).shape == (3, 2)
    assert "operation requires copying" in error_of(NotImplementedError, device[:, :2].reshape, 4)
    assert "isn't supported" in error_of(NotImplementedError, device.reshape(1, 2, 3).transpose)
    assert "starts at byte 4" in error_of(ValueError, device.reshape(6)[1:3].view, np.int64)


def test_indices_that_device_arrays_do_not_take() -> None:
    """Masks and lists need a copy; beyond the end is an IndexError, which also ends a loop."""
    device = cuda.to_device(np.arange(3))
    for index in (np.array([True, False, True]), [0, 1], None, 1.0, True):
        assert "integers and slices only" in error_of(TypeError, device.__getitem__, index)
    with pytest.raises(IndexError):
        device[3]
    assert [int(x) for x in device] == [0, 1, 2]
    assert len(device) == 3


def test_names_of_numpy_say_how_to_get_there() -> None:
    """A method that only NumPy has: the message writes the line."""
    device = cuda.to_device(np.arange(3))
    assert error_of(AttributeError, getattr, device, "sum") == (
        "a device array has no sum: copy it to the host first, array.copy_to_host().sum, "
        "or compute it in a kernel"
    )
    assert error_of(AttributeError, getattr, device, "nonsense") == (
        "a device array has no nonsense"
    )


@pytest.mark.parametrize(
    ("args", "kind", "expected"),
    [
        ((2.0,), TypeError, "a shape is made of integers, got 2.0. A division with / gives a "
         "float: use //."),
        (((2, "3"),), TypeError, "a shape is made of integers, got '3'"),
        ((-1,), ValueError, "a shape has no negative sizes, got (-1,)"),
        ((3, object), TypeError, "device memory cannot hold Python objects (dtype object)"),
        ((3, ">i4"), TypeError, "dtype >i4 has not this machine's byte order"),
        ((3, np.int32, None, "Z"), ValueError, "order is 'Z'"),
    ],
)  # fmt: skip
def test_device_arrays_that_cannot_be_made(args: Any, kind: type[Exception], expected: str) -> None:
    """A sentence before anything is allocated."""
    assert error_of(kind, cuda.device_array, *args).startswith(expected)


def test_more_memory_than_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """An array larger than the machine's memory is refused before the machine suffers."""
    message = error_of(MemoryError, cuda.device_array, 10**13)
    assert message.startswith("an allocation of 72.8 TiB does not fit: the simulated device's")
    few = capacity.MemoryInfo(2**26, 2**30)
    monkeypatch.setattr(capacity, "memory_info", lambda: few)
    host = np.broadcast_to(np.float64(0), 2**24)
    assert "of 1.0 GiB, and 64.0 MiB are free" in error_of(
        MemoryError, cuda.to_device, np.lib.stride_tricks.as_strided(np.zeros(1), (2**24,), (8,))
    )
    assert cuda.to_device(host).shape == host.shape  # one element, repeated
    free, total = cuda.current_context().get_memory_info()
    assert (free, total) == few


def test_device_arrays_like_others() -> None:
    """Shape, dtype and order; of a view, without its gaps."""
    x = np.zeros((2, 3, 4), np.float32)
    assert cuda.device_array_like(x.T).strides == x.T.strides
    assert cuda.device_array_like(x[:, ::2]).strides == (32, 16, 4)
    assert cuda.device_array_like(x.transpose(1, 0, 2)).strides == (16, 48, 4)
    assert cuda.device_array_like(cuda.to_device(x)).dtype == np.float32
    assert cuda.pinned_array_like(x.T).flags.f_contiguous
    assert cuda.device_array((2, 3), np.int8, strides=(8, 1)).strides == (8, 1)


def test_mapped_and_managed_memory_is_used_in_place() -> None:
    """One array passed twice is the same memory; results of arithmetic have their own."""
    for make in (cuda.mapped_array, cuda.managed_array):
        array = make(6, np.int64)
        array[:] = 10
        add_one[1, 6](array[:3])
        shifted[1, 6](array, array)
        assert array.tolist()[:2] == [11, 11]
        more = array + 1
        add_one[1, 6](more)
        assert more.tolist() == (array + 2).tolist()
    host = np.zeros(3)
    with cuda.mapped(host) as device:
        add_one[1, 3](device)
    assert host.tolist() == [1, 1, 1]
    with cuda.pinned(host):
        add_one[1, 3](host)
    assert host.tolist() == [2, 2, 2]


class Foreign:
    """What another library would share."""

    def __init__(self, interface: dict[str, Any]) -> None:
        self.__cuda_array_interface__ = interface


def test_the_cuda_array_interface() -> None:
    """An object that shares a device array's memory is that memory, for kernels too."""
    device = cuda.to_device(np.arange(6, dtype=np.int32).reshape(2, 3))
    other = Foreign(device[1].__cuda_array_interface__)
    assert cuda.is_cuda_array(other)
    assert not cuda.is_cuda_array(np.zeros(1))
    add_one[1, 3](other)
    seen = cuda.as_cuda_array(other)
    seen[0] = 70
    assert device.copy_to_host().tolist() == [[0, 1, 2], [70, 5, 6]]
    assert cuda.to_device(other).copy_to_host().tolist() == [70, 5, 6]
    column = Foreign(device[:, 1].__cuda_array_interface__)
    assert cuda.as_cuda_array(column).copy_to_host().tolist() == [1, 5]
    empty = Foreign(cuda.device_array(0).__cuda_array_interface__)
    assert cuda.as_cuda_array(empty).shape == (0,)


def test_arrays_of_other_gpu_libraries() -> None:
    """A pointer that is none of ours is refused, never followed."""
    interface = {**cuda.device_array(3).__cuda_array_interface__, "data": (0x7F00, False)}
    expected = (
        "the address 0x7f00 is not memory of the simulated device: an array of another GPU library "
        "needs a GPU. Bring it to the host, and use cuda.to_device."
    )
    assert error_of(ValueError, cuda.as_cuda_array, Foreign(interface)) == expected
    message = error_of(LaunchError, add_one[1, 1], Foreign(interface))
    assert message == f"add_one: argument out: {expected}"
    assert "cuda.to_device(obj)" in error_of(TypeError, cuda.as_cuda_array, np.zeros(1))
    masked = {**interface, "mask": cuda.device_array(3)}
    assert "Masked" in error_of(NotImplementedError, cuda.from_cuda_array_interface, masked)


def test_hints_how_arguments_are_copied() -> None:
    """In is not copied back, Out starts undefined, InOut is both."""
    x = np.array([1.0, 2.0])
    add_one[1, 2](cuda.In(x))
    assert x.tolist() == [1, 2]
    add_one[1, 2](cuda.InOut(x))
    assert x.tolist() == [2, 3]
    add_one[1, 2](cuda.Out(x))
    assert np.isnan(x).all()


def test_host_arrays_that_share_memory() -> None:
    """All host arrays are copied back in order, so a later copy replaces what an earlier one got;
    the launch says so."""
    a = np.arange(6.0)
    with pytest.warns(KernelNote, match="out and a are the same memory on the host, but two"):
        shifted[1, 6](a, a)
    assert a.tolist() == [0, 1, 2, 3, 4, 5]
    b = np.arange(6.0)
    with pytest.warns(KernelNote):
        shifted[1, 6](b[2:], b[:4])  # b[4], b[5] belong to the output alone
    assert b.tolist() == [0, 1, 2, 3, 1, 2]
    device = cuda.to_device(np.arange(6.0))
    add_one[1, 6](device)
    assert device.copy_to_host().tolist() == [1, 2, 3, 4, 5, 6]


CAPTURED = cuda.to_device(np.arange(4.0))
SHARED = Foreign(CAPTURED.__cuda_array_interface__)


@cuda.jit
def captured(out):
    i = cuda.grid(1)
    out[i] = CAPTURED[i] + SHARED[i]
    SHARED[i] = -1.0


def test_global_device_arrays_are_used_in_place() -> None:
    """A device array, and what another object shares of it, as a global name of a kernel."""
    out = np.zeros(4)
    captured[1, 4](out)
    assert out.tolist() == [0, 2, 4, 6]
    assert CAPTURED.copy_to_host().tolist() == [-1] * 4
