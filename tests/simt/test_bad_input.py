"""What cannot be launched: a sentence with the argument's name, before anything runs."""

from __future__ import annotations

import decimal
import fractions
import types
from typing import Any

import numpy as np
import pytest

from warpwise.simt import Kernel, LaunchError, SimtError
from warpwise.simt import api as cuda

HEADER = "import numpy as np\nfrom numba import float32\n"
ADD = """
@cuda.jit
def k(out, n):
    i = cuda.grid(1)
    if i < out.size:
        out[i] += n
"""


def message(text: str, *args: Any, config: Any = (1, 4)) -> str:
    """What launching the kernel `k` says; nothing of it may come from inside."""
    with pytest.raises(SimtError) as error:
        Kernel.from_source(HEADER + text, "k")[config](*args)
    assert "the simulator itself failed" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (("1", 4), "k: the number of blocks has to be made of integers, got '1'"),
        ((None, 4), "k: the number of blocks has to be made of integers, got None"),
        ((1, np.array([4.0])), "k: the block has to be made of integers, got 4.0. A division with "
         "/ gives a float: use (n + threads - 1) // threads."),
        (((), 1), "k: the number of blocks has one to three dimensions, got 0: ()"),
        ((((1,),), 4), "k: the number of blocks has to be made of integers, got (1,)"),
        ((2**31, 1), "k: the number of blocks is 2147483648: at most 2,147,483,647 along x."),
        ((True, 4), "k: the number of blocks has to be made of integers, got True"),
        ((1, 4, 0, -1), "k: the dynamic shared memory is -1 bytes; a block can have 0 to 232,448."),
        ((1, 4, 0, 1.5), "k: the dynamic shared memory is a number of bytes, got 1.5"),
        ((1, 4, 1024), "k: the third part of the configuration is a stream, got 1024. Dynamic "
         "shared memory is the fourth: kernel[blocks, threads, 0, 1024]."),
        ((1, 2, 3, 4, 5), "k[...] takes the number of blocks and the threads of a block: "
         "k[blocks, threads](...). A stream and the bytes of dynamic shared memory may follow."),
    ],
)  # fmt: skip
def test_launch_configurations(config: Any, expected: str) -> None:
    """Each part of the configuration is named."""
    assert message(ADD, np.zeros(4), 1, config=config) == expected


@pytest.mark.parametrize(
    "config", [(np.int32(1), np.uint8(4)), (np.array([1, 1]), np.array([4])), ([1], [4]), (1, (4,))]
)
def test_configurations_that_are_fine(config: Any) -> None:
    """NumPy integers, arrays, lists and tuples of them."""
    out = np.zeros(4)
    Kernel.from_source(ADD, "k")[config](out, 1)
    assert out.tolist() == [1] * 4


class Series:
    """Has what pandas' Series has."""

    def to_numpy(self) -> Any:
        return np.zeros(3)


class Wrapper:
    """NumPy can make an array of it."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.zeros(3)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "None cannot be passed to a kernel. Pass a number, or an array of size 0."),
        ([1.0], "a list cannot be passed to a kernel. Pass np.array(...) of it."),
        (range(3), "a range cannot be passed to a kernel. Pass np.array(...) of it."),
        ({}, "a dict cannot be passed to a kernel; kernels take numbers and arrays."),
        ("a", "a str cannot be passed to a kernel; kernels take numbers and arrays."),
        (memoryview(b"a"), "a memoryview cannot be passed to a kernel; kernels take numbers and "
         "arrays."),
        (Series(), "a tests.Series cannot be passed to a kernel. Pass its .to_numpy()."),
        (Wrapper(), "a tests.Wrapper cannot be passed to a kernel. Pass np.asarray(...) of it."),
        (fractions.Fraction(1, 2), "a fractions.Fraction cannot be passed to a kernel. Pass "
         "float(...) of it."),
        (decimal.Decimal(1), "a decimal.Decimal cannot be passed to a kernel. Pass float(...) of "
         "it."),
        (np.longdouble(1), "a numpy.longdouble cannot be passed to a kernel. Pass float(...) of "
         "it."),
        (len, "the function len cannot be passed to a kernel. A kernel can call functions under "
         "@cuda.jit(device=True) by their name."),
        (int, "a type cannot be passed to a kernel. A kernel can use types that are global "
         "names."),
        (types, "a module cannot be passed to a kernel; kernels take numbers and arrays."),
        (2**70, "the integer 1180591620717411303424 does not fit into 64 bits"),
        (np.zeros(3, ">f8"), "the array's byte order is not this machine's. Pass "
         "n.astype(n.dtype.newbyteorder('='))."),
        (np.ma.masked_equal(np.arange(3.0), 1), "a masked array cannot be passed to a kernel, "
         "since its mask would be lost. Pass n.filled(value), and n.mask as an array of its own."),
        (np.arange(4.0)[::-1], "this array of shape (4,) is a view with gaps, and only one piece "
         "of memory can be copied to the device. Pass np.ascontiguousarray(n), or slice a device "
         "array: cuda.to_device(whole)[...]."),
    ],
)  # fmt: skip
def test_arguments(value: Any, expected: str) -> None:
    """The argument's name, what it is, what to pass instead; the arrays of the launch are kept."""
    out = np.zeros(4)
    assert message(ADD, out, value) == f"k: argument n: {expected}"
    assert message(ADD, out, (1, value)).startswith("k: argument n[1]: ")
    assert out.tolist() == [0] * 4


@pytest.mark.parametrize("value", [np.array([None]), np.zeros(3, np.longdouble), np.array(["a"])])
def test_arrays_of_what_kernels_do_not_know(value: Any) -> None:
    """Objects, long doubles, strings: the dtype and what arrays hold."""
    said = message(ADD, value, 1)
    assert said.startswith("k: argument out: an array of ")
    assert str(value.dtype) in said
    assert "cannot be passed to a kernel. Arrays hold bool, integers" in said


def test_tensors_of_torch() -> None:
    """On the CPU, a tensor shares its memory with a NumPy array."""
    torch = pytest.importorskip("torch")
    assert message(ADD, torch.zeros(4), 1) == (
        "k: argument out: a torch tensor on the CPU cannot be passed to a kernel. "
        "Pass tensor.numpy()."
    )
    tensor = torch.zeros(4)
    Kernel.from_source(ADD, "k")[1, 4](tensor.numpy(), 1)
    assert tensor.tolist() == [1] * 4


def test_read_only_arrays_can_be_read() -> None:
    """Storing into one is refused with what to pass."""
    constant = np.arange(4.0)
    constant.flags.writeable = False
    out = np.zeros(4)
    copy = "@cuda.jit\ndef k(out, a):\n    i = cuda.grid(1)\n    out[i] = a[i]\n"
    Kernel.from_source(copy, "k")[1, 4](out, constant)
    assert out.tolist() == [0, 1, 2, 3]
    assert message(ADD, constant, 1) == (
        "k: out is read-only on the host, so no kernel can change it\n"
        "  line 8:  out[i] += n\n"
        "  Pass out.copy(), or make it writable: out.flags.writeable = True."
    )


def test_empty_arrays_and_arrays_without_dimensions() -> None:
    """Both are arrays like others."""
    Kernel.from_source(ADD, "k")[1, 4](np.zeros(0), 1)
    Kernel.from_source(ADD, "k")[1, 4](cuda.device_array(0), 1)
    one = np.array(5.0)
    Kernel.from_source("@cuda.jit\ndef k(a):\n    a[()] = a[()] + 1\n", "k")[1, 1](one)
    assert one == 6
    assert "out has 0 dimensions but is indexed with 1" in message(ADD, one, 1)


EAGER = "@cuda.jit('void(float32[:], int32)')\ndef k(out, n):\n    out[0] = n\n"


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ((np.zeros(4), 1), "array(float64, 1d), int"),
        ((np.zeros((2, 2), np.float32), 1), "array(float32, 2d), int"),
        (([1.0], 1), "list, int"),
        ((np.array(["a"]), 1), "array(<U1, 1d), int"),
    ],
)
def test_arguments_that_no_explicit_signature_takes(args: Any, expected: str) -> None:
    """What it was compiled for, and what was passed."""
    assert message(EAGER, *args) == (
        f"k was compiled for (array(float32, 1d, A), int32) only, and was called with ({expected})."
        "\n  Leave the signature out of @cuda.jit to let Numba choose it."
    )


@pytest.mark.parametrize(
    ("value", "change"), [(1.7, "int(...)"), (np.float32(2), "int(...)"), (1j, ".real")]
)
def test_scalars_that_an_explicit_signature_would_cut(value: Any, change: str) -> None:
    """A fraction or an imaginary part is not dropped in silence; ctypes refuses them on a GPU."""
    assert message(EAGER, np.zeros(1, np.float32), value) == (
        f"k: argument n: got {value!r}, and the signature of the kernel says int32. "
        f"Pass {change} of it, or change the signature."
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("s = cuda.shared.array(10**9, float32)", "k: the shared arrays of this kernel take "
         "4,000,000,000 bytes; a kernel may declare 49,152"),
        ("s = cuda.shared.array((2**32, 2**32), float32)", "k: the shared arrays of this kernel "
         "take 73,786,976,294,838,206,464 bytes; a kernel may declare 49,152"),
        ("s = cuda.local.array(200000, float32)", "k: the local arrays of this kernel take 800,000 "
         "bytes; a thread can have 524,288"),
        ("s = cuda.local.array(n, float32)", "k: the shape of cuda.local.array has to be known "
         "when the kernel is compiled"),
        ("s = cuda.shared.array(out.size, float32)", "k: the shape of cuda.shared.array has to be "
         "known when the kernel is compiled"),
    ],
)  # fmt: skip
def test_sizes_of_arrays_inside_a_kernel(body: str, expected: str) -> None:
    """Too large, or not known to the compiler: the line and the next step."""
    said = message(f"@cuda.jit\ndef k(out, n):\n    {body}\n", np.zeros(4), 3).splitlines()
    assert said[0] == expected
    assert said[1] == f"  line 5:  {body}"
    assert said[2].startswith("  Use a ")


def test_declared_and_dynamic_shared_memory_together() -> None:
    """A block has one piece of shared memory for both."""
    text = (
        "@cuda.jit\ndef k(out):\n    s = cuda.shared.array(10240, float32)\n"
        "    d = cuda.shared.array(0, float32)\n    s[0] = d[0] = 1\n    out[0] = s[0] + d[0]\n"
    )
    assert message(text, np.zeros(1), config=(1, 1, 0, 200 * 1024)) == (
        "k: the shared arrays of this kernel take 40,960 bytes and the launch asks for 204,800 "
        "more; a block can have 232,448 in all."
    )
    out = np.zeros(1)
    Kernel.from_source(HEADER + text, "k")[1, 1, 0, 1024](out)
    assert out[0] == 2


def test_large_local_arrays_run_in_small_chunks() -> None:
    """Half a megabyte a thread and thousands of threads: a few blocks at a time, right values."""
    text = (
        "@cuda.jit\ndef k(out):\n    own = cuda.local.array(131072, float32)\n"
        "    i = cuda.grid(1)\n    own[i % 131072] = i\n    out[i] = own[i % 131072]\n"
    )
    out = np.zeros(256)
    Kernel.from_source(HEADER + text, "k")[16, 16](out)
    assert out.tolist() == list(range(256))


def test_numbers_of_arguments() -> None:
    """Too few, too many, by name."""
    assert message(ADD, np.zeros(4)) == "k takes 2 arguments (out, n), got 1."
    assert message(ADD, np.zeros(4), 1, 2) == "k takes 2 arguments (out, n), got 3."
    with pytest.raises(LaunchError, match=r"given by position, in the order \(out, n\)"):
        Kernel.from_source(ADD, "k")[1, 4](out=np.zeros(4), n=1)
