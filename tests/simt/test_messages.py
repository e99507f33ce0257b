"""The exact text of what a learner reads when a kernel or a launch is wrong."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from warpwise.simt import KernelNote, LaunchError, SimtError
from warpwise.simt import api as cuda
from warpwise.simt.kernel import Kernel


def message(text: str, *args: Any, grid: Any = 1, block: Any = 4) -> str:
    """What launching the kernel `k` of a text says."""
    with pytest.raises(SimtError) as error:
        Kernel.from_source(text, "k")[grid, block](*args)
    return str(error.value)


def test_out_of_bounds_names_array_index_thread_and_line() -> None:
    """24 threads of the last block are past the end; the first of them is shown."""

    @cuda.jit
    def guarded_add(out, a, b):
        i = cuda.grid(1)
        out[i] = a[i] + b[i]

    line = guarded_add.source.first_line + 3
    with pytest.raises(SimtError) as error:
        guarded_add[8, 128](np.zeros(1000), np.zeros(1001), np.zeros(1000))
    assert str(error.value) == (
        "guarded_add: out-of-bounds load  a[1001], a has shape (1001,)\n"
        "  23 of 1,024 threads did this; the first is block (7, 0, 0), thread (105, 0, 0)\n"
        f"  line {line}:  out[i] = a[i] + b[i]\n"
        "  Guard the access: let a thread work only while its index is below the size."
    )
    assert (error.value.block, error.value.thread) == ((7, 0, 0), (105, 0, 0))


def test_a_shared_array_smaller_than_the_block_is_no_missing_guard() -> None:
    """Its size is what is wrong, and the block says which size would do."""

    @cuda.jit
    def keep(out):
        s = cuda.shared.array(64, np.float32)
        t = cuda.threadIdx.x
        s[t] = t
        out[t] = s[t]

    with pytest.raises(SimtError) as error:
        keep[1, 100](np.zeros(100, np.float32))
    assert str(error.value).splitlines()[-1] == (
        "  A block has 100 threads here. Make the array as large as the largest block, or guard "
        "the access."
    )


@pytest.mark.parametrize(
    ("given", "count", "next_step"),
    [
        (0, 4, "The launch gives no dynamic shared memory: write kernel[blocks, threads, 0, "
         "bytes], with the bytes of one block."),
        (8, 2, "The launch gives a block 8 bytes of dynamic shared memory, room for 2 of these "
         "elements: give more, kernel[blocks, threads, 0, bytes], or guard the access."),
    ],
)  # fmt: skip
def test_too_little_dynamic_shared_memory_says_where_it_comes_from(
    given: int, count: int, next_step: str
) -> None:
    """A forgotten or too small fourth number of the launch is no missing guard."""

    @cuda.jit
    def keep(out):
        s = cuda.shared.array(0, np.float32)
        t = cuda.threadIdx.x
        s[t] = t
        out[t] = s[t]

    with pytest.raises(SimtError) as error:
        keep[1, 4, 0, given](np.zeros(4, np.float32))
    assert str(error.value).splitlines()[0].endswith(f"s has shape ({given // 4},)")
    assert f"{count} of 4 threads did this" in str(error.value)
    assert str(error.value).splitlines()[-1] == f"  {next_step}"


def test_out_of_bounds_changes_no_array_of_the_host() -> None:
    """A launch that failed leaves the caller's arrays as they were."""
    out = np.zeros(3)
    message("@cuda.jit\ndef k(out):\n    out[cuda.grid(1)] = 1\n", out)
    assert out.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("out[i - 9] = 1", "k: out-of-bounds store  out[-9], out has shape (3,)\n"
         "  4 of 4 threads did this; the first is block (0, 0, 0), thread (0, 0, 0)\n"
         "  line 4:  out[i - 9] = 1\n"
         "  A negative index counts from the end, and this one goes past the beginning."),
        ("out[i] = [1, 2]", "k: a list cannot be used in a kernel\n  line 4:  out[i] = [1, 2]\n"
         "  A kernel has numbers, tuples and arrays; write a loop instead."),
        ("out[i] = y", "k: the name y is not defined\n  line 4:  out[i] = y\n"
         "  Define it before the kernel is launched, or check the spelling."),
        ("out[i / 2] = 1", "k: an index of out has type float64; it has to be an integer\n"
         "  line 4:  out[i / 2] = 1\n"
         "  Use // for a division that gives an integer, or int(...)."),
        ("out[i, 0] = 1", "k: out has 1 dimension but is indexed with 2\n"
         "  line 4:  out[i, 0] = 1"),
        ("out = out + 1", "k: + does not take array(float64, 1d) and int64\n"
         "  line 4:  out = out + 1\n"
         "  Index the array: a thread works on one element at a time."),
        ("return i", "k: a kernel cannot return a value\n  line 4:  return i\n"
         "  Store the result into an array that is passed as an argument."),
        ("for v in i: pass", "k: int64 cannot be looped over\n  line 4:  for v in i: pass\n"
         "  Write `for i in range(n)`."),
        ("x, y = i", "k: int64 cannot be unpacked\n  line 4:  x, y = i"),
        ("x, y = cuda.grid(1)", "k: int64 cannot be unpacked\n  line 4:  x, y = cuda.grid(1)\n"
         "  cuda.grid(1) gives one number: x, y = cuda.grid(2)."),
        ("j = cuda.grid(2)\n    if j < 3: out[0] = 1",
         "k: < does not take (int64, int64) and int64\n  line 5:  if j < 3: out[0] = 1\n"
         "  A tuple holds several values: take one, t[0], or unpack it: x, y = t."),
        ("j = cuda.grid(4)", "k: cuda.grid takes the number of dimensions, 1, 2 or 3; got 4\n"
         "  line 4:  j = cuda.grid(4)\n  Write cuda.grid(1) for a one-dimensional launch."),
        ("x = y = cuda.grid(2)\n    out[x] = 1",
         "k: out has 1 dimension but is indexed with 2\n  line 5:  out[x] = 1"),
        ("while i < 5:\n        out[0] = 1", "k: this loop never ends\n  line 4:  while i < 5:\n"
         "  A whole iteration changed nothing on which its end depends, so no later one will. "
         "Change what the condition tests."),
        ("j = cuda.grid\n    out[j] = 1", "k: cuda.grid itself is no number\n"
         "  line 5:  out[j] = 1\n  Write cuda.grid(1)."),
        ("s = cuda.shared.array(64)", "k: cuda.shared.array takes two arguments, a shape and a "
         "type; got 1\n  line 4:  s = cuda.shared.array(64)\n"
         "  For example: cuda.shared.array(64, np.float32)."),
        ("s = cuda.shared(64, np.float32)", "k: cuda.shared itself cannot be called\n"
         "  line 4:  s = cuda.shared(64, np.float32)\n"
         "  Call a function of it, such as cuda.shared.array."),
        ("cuda.synchronize()", "k: cuda.synchronize is for the host; a kernel cannot call it\n"
         "  line 4:  cuda.synchronize()\n"
         "  Threads of a block wait for each other with cuda.syncthreads()."),
        ("cuda.device_array(3)", "k: cuda.device_array is for the host; a kernel cannot call it\n"
         "  line 4:  cuda.device_array(3)\n  Call it before or after the launch."),
        ("import os", "k: import cannot be used in a kernel\n  line 4:  import os\n"
         "  Import at the top of the file."),
        ("out[i] = np.zeros(3)[0]", "k: np.zeros makes or changes whole arrays; kernels cannot\n"
         "  line 4:  out[i] = np.zeros(3)[0]\n"
         "  Compute it before the launch, or write the loop over elements."),
        ("if i > 0:\n        s = 1\n    out[i] = q", "k: the name q is not defined\n"
         "  line 6:  out[i] = q\n"
         "  Define it before the kernel is launched, or check the spelling."),
        ("out[i] = s\n    s = 1", "k: s is read before anything is assigned to it\n"
         "  line 4:  out[i] = s\n"
         "  Give s a value first, on every path that leads here."),
    ],
)  # fmt: skip
def test_what_a_kernel_cannot_do(body: str, expected: str) -> None:
    """Each message: the fact, the line, the next step."""
    text = f"@cuda.jit\ndef k(out):\n    i = cuda.grid(1)\n    {body}\n"
    assert message(text, np.zeros(3)) == expected


STORE = "@cuda.jit\ndef k(out):\n    out[0] = 1\n"


@pytest.mark.parametrize(
    ("grid", "block", "expected"),
    [
        (0, 4, "k: the number of blocks is 0: there is nothing to run. Every dimension is at least "
         "1; for an empty array, skip the launch."),
        (1, 2048, "k: a block of 2048 has 2,048 threads; a GPU allows 1,024 at most. "
         "Use smaller blocks and more of them."),
        (1, (64, 32), "k: a block of (64, 32) has 2,048 threads; a GPU allows 1,024 at most. "
         "Use smaller blocks and more of them."),
        (2.5, 4, "k: the number of blocks has to be made of integers, got 2.5. "
         "A division with / gives a float: use (n + threads - 1) // threads."),
        (-1, 4, "k: the number of blocks is -1: there is nothing to run. "
         "Every dimension is at least 1."),
        ((1, 1, 1, 1), 4, "k: the number of blocks has one to three dimensions, got 4: "
         "(1, 1, 1, 1)"),
        ((1, 70000), 4, "k: the number of blocks is (1, 70000): at most 65,535 along y."),
        (1, (1, 1, 65), "k: the block is (1, 1, 65): at most 64 along z."),
    ],
)  # fmt: skip
def test_launch_configurations_that_no_gpu_takes(grid: Any, block: Any, expected: str) -> None:
    """A wrong configuration gets a sentence before anything runs."""
    assert message(STORE, np.zeros(1), grid=grid, block=block) == expected


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ((), "k takes 1 argument (out), got 0."),
        (([1, 2],), "k: argument out: a list cannot be passed to a kernel. "
         "Pass np.array(...) of it."),
        (("text",), "k: argument out: a str cannot be passed to a kernel; kernels take numbers and "
         "arrays."),
        ((np.array(["a"]),), "k: argument out: an array of strings (<U1) cannot be passed to a "
         "kernel. Arrays hold bool, integers, floats of up to 64 bits, dates or records of these."),
        ((np.zeros((4, 4))[:, 1],), "k: argument out: this array of shape (4,) is a view with "
         "gaps, and only one piece of memory can be copied to the device. "
         "Pass np.ascontiguousarray(out), or slice a device array: cuda.to_device(whole)[...]."),
        ((2**70,), "k: argument out: the integer 1180591620717411303424 does not fit into 64 "
         "bits"),
    ],
)  # fmt: skip
def test_arguments_that_cannot_be_passed(args: tuple[Any, ...], expected: str) -> None:
    """A wrong argument is named."""
    assert message(STORE, *args) == expected


def test_a_kernel_is_called_with_a_configuration() -> None:
    """Without brackets, the message shows how."""
    kernel = Kernel.from_source(STORE, "k")
    with pytest.raises(LaunchError) as error:
        kernel(np.zeros(1))
    assert str(error.value) == (
        "k was called without a launch configuration.\n"
        "  Write k[blocks, threads](...), for example k[1, 32](out)."
    )
    with pytest.raises(LaunchError, match="takes the number of blocks and the threads of a block"):
        kernel[4]


def test_an_explicit_signature_is_kept() -> None:
    """Arrays of another type are refused, as in Numba."""
    text = '@cuda.jit("void(float32[:])")\ndef k(out):\n    out[0] = 1\n'
    assert message(text, np.zeros(1)) == (
        "k was compiled for (array(float32, 1d, A)) only, and was called with "
        "(array(float64, 1d)).\n"
        "  Leave the signature out of @cuda.jit to let Numba choose it."
    )


def test_a_launch_of_more_dimensions_than_the_kernel_uses_is_noted() -> None:
    """cuda.grid(1) under a 2-D launch: legal, rarely meant."""
    text = "@cuda.jit\ndef k(out):\n    out[cuda.grid(1)] = 1\n"
    kernel = Kernel.from_source(text, "k")
    with pytest.warns(KernelNote) as notes:
        kernel[(1, 2), (4, 2)](np.zeros(4))
    assert str(notes[0].message) == (
        "k, line 3: cuda.grid(1) numbers the threads along 1 dimension, but the launch has 2; "
        "threads that differ only in y get the same number.\n  out[cuda.grid(1)] = 1"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel[1, (4, 1)](np.zeros(4))


def test_a_negative_index_works_and_is_noted() -> None:
    """As in Numba, -1 is the last element."""
    out = np.zeros(3)
    with pytest.warns(KernelNote) as notes:
        Kernel.from_source("@cuda.jit\ndef k(out):\n    out[-1] = 7\n", "k")[1, 1](out)
    assert out.tolist() == [0, 0, 7]
    assert str(notes[0].message) == (
        "k, line 3: a negative index into out was used; it counts from the end, here and on a "
        "GPU.\n  out[-1] = 7\n"
        "  block (0, 0, 0), thread (0, 0, 0): -1 means 2 of 3. "
        "Guard the index if this is not meant."
    )
