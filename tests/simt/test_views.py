"""Views of arrays in kernels: slices, shapes, types, whole parts assigned at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpwise.observe import profile, sanitize
from warpwise.simt import Kernel, ShapeError, SimtError
from warpwise.simt import api as cuda

A = np.arange(24.0).reshape(4, 6)

#: An expression over `a` in the kernel that NumPy computes the same way; a number or an array.
VIEWS = """
    a.reshape(24)  a.reshape(-1)  a.reshape(3,8)  a.reshape((2,-1,3))  a.reshape(2,3,4).T
    a.T  a.T[2]  a.transpose()[1:3]  a[::-1]  a[:,::-2]  a[3:0:-1,4:1:-1]  a[...,1]  a[1,...]
    a[...]  a[None]  a[:,None,2]  a[np.newaxis,1:3,None]  a[2][1:][::-1]  a[-1,-3:]
    a[1:3].reshape(2,6)[1]
    a.flat[7]  a.flat[-1]  a.reshape(6,4)[5,3]  a[2:2]  a[1:2,1:2].item()  a[3][5:].item()
    a.view(np.int64)  a.view(np.uint8)  a[1].view(np.int32)[3:]  a.view(np.int32).view(np.float64)
    a.reshape(2,12)[:,2:4].T[1]
""".split()  # noqa: SIM905


def launch(text: str, *args: Any, threads: int = 1) -> Any:
    """Run a kernel of a text; `args` follow `out`, 200 elements of -1."""
    out = np.full(200, -1.0)
    Kernel.from_source("import numpy as np\n@cuda.jit\n" + text, "k")[1, threads](out, *args)
    return out


@pytest.mark.parametrize("view", VIEWS)
def test_views_are_numpys(view: str) -> None:
    """Every element of a view, in order, is what NumPy gives; for C order."""
    want = np.asarray(eval(view, {"a": A, "np": np}))
    if want.ndim:
        body = f"    for j, v in enumerate(({view}).flat):\n        out[j] = v\n"
    else:
        body = f"    out[0] = {view}\n"
    out = launch("def k(out, a):\n" + body, A)
    assert out[: want.size].tolist() == want.reshape(-1).tolist()
    assert set(out[want.size :]) == {-1.0}


@pytest.mark.parametrize("order", ["C", "F"])
def test_views_of_fortran_order_and_device_slices(order: Any) -> None:
    """Strides are the array's own, whatever its order; a slice of device memory has gaps."""
    whole = cuda.to_device(np.array(A, order=order))
    part = whole[1:, ::2]
    text = (
        "def k(out, a):\n    out[0], out[1] = a.shape\n    out[2], out[3] = a.strides\n"
        "    out[4], out[5], out[6], out[7] = a.size, a.ndim, a.itemsize, a.nbytes\n"
        "    for j in range(a.size):\n        out[8 + j] = a.flat[j]\n"
        "    out[50] = a.T[2, 1]\n    out[51] = len(a[:, 1:])\n"
    )
    want = np.array(A, order=order)[1:, ::2]
    out = launch(text, part)
    assert out[:8].tolist() == [3, 3, *want.strides, 9, 2, 8, 72]
    assert out[8:17].tolist() == want.reshape(-1).tolist()
    assert out[50:52].tolist() == [want[1, 2], 3]


def test_whole_parts_are_assigned() -> None:
    """A number fills a part, a tuple goes into a row of its length; each thread its own part."""
    text = """
def k(out, a, b):
    i = cuda.grid(1)
    a[i, 1:4] = i
    b[i] = (i, 2, 0.5)
    b[i, ::2] = -b[i, 0]
    s = cuda.local.array((2, 2), np.float32)
    s[:] = 0.25
    s[1].fill(i)
    out[i] = s[0, 1] + s[1, 0]
"""
    a, b = cuda.to_device(A), cuda.to_device(np.ones((4, 3)))
    out = launch(text, a, b, threads=4)
    want = A.copy()
    for i in range(4):
        want[i, 1:4] = i
    assert a.copy_to_host().tolist() == want.tolist()
    assert b.copy_to_host().tolist() == [[-i, 2, -i] for i in range(4)]
    assert out[:4].tolist() == [0.25 + i for i in range(4)]


def test_zero_dimensions() -> None:
    """a[()] and a 0-d argument."""
    zero = cuda.to_device(np.array(3.5))
    out = launch("def k(out, a):\n    out[0] = a[()] + a.size + a.item()\n    a[()] = 8\n", zero)
    assert out[0] == 8.0
    assert zero.copy_to_host()[()] == 8


def test_a_view_of_another_type_is_the_same_memory() -> None:
    """Stores through a view of bytes change the array, also a host array, and only then."""
    text = (
        "def k(out, a):\n    i = cuda.grid(1)\n    a.view(np.uint8)[8 * i] = 1\n"
        "    out[i] = a.view(np.int64)[i]\n"
    )
    a = np.zeros(4)
    out = launch(text, a, threads=4)
    assert a.view(np.int64).tolist() == [1] * 4
    assert out[:4].tolist() == [1] * 4


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("a.reshape(5)[0] = 1", "an array of shape (4, 6) cannot become (5,)"),
        ("a.reshape(-1, -1)[0] = 1", "cannot become (-1, -1)"),
        ("a.T.reshape(24)[0] = 1", "only an array that lies in one piece, row after row"),
        ("a[0] = (1, 2)", "2 values are assigned to (6,) elements"),
        ("a[0] = a[1]", "an array cannot be assigned to a part of a"),
        ("a[:] += 1", "a whole part of a cannot be changed at once"),
        ("a[:, 1:] = None", "no number cannot be stored into a"),
        ("out[0] = a[1].item()", ".item() needs an array of one element, this one has shape (6,)"),
        ("b = a.copy()", "a.copy makes a new array; a kernel cannot allocate one"),
        ("b = a.ravel()", "Numba compiles .ravel() to a copy. Use .reshape(-1)"),
        ("out[0] = a[:, ::2].view(np.int32)[0, 0]", "whose last axis has gaps"),
        ("out[0] = a[0].view(np.uint8)[1:9].view(np.int64)[0]",
         "misaligned address: int64 has to start at a multiple of 8 bytes"),
        ("out[0] = a.nonsense()", "arrays in a kernel have no .nonsense"),
        ("a[1, 2, None, 3] = 1", "a has 2 dimensions but is indexed with 3"),
        ("a[True] = 1", "an index of a has type bool; it has to be an integer"),
        ("a[a > 0] = 1", "> does not take array(float64, 2d) and int64"),
        ("a[::0] = 1", "the step of a slice cannot be 0"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said(body: str, message: str) -> None:
    """Shapes that do not fit, copies, arithmetic on whole arrays: a sentence with the line."""
    with pytest.raises(SimtError) as error:
        launch(f"def k(out, a):\n    {body}\n", A)
    assert message in str(error.value)
    assert body.split(" ")[0] in str(error.value)
    assert issubclass(ShapeError, SimtError)


def test_complex_numbers_need_the_alignment_of_their_parts() -> None:
    """complex64 may start at any multiple of 4, as two float32 are moved."""
    text = (
        "def k(out, a):\n    i = cuda.grid(1)\n"
        "    v = a[0].view(np.float32)[1:7].view(np.complex64)\n"
        "    v[i] = complex(i, -i)\n    out[i] = v[i].real\n    out[i + 4] = v[i].imag\n"
    )
    a = np.zeros((1, 4))
    out = launch(text, a, threads=3)
    assert out[:3].tolist() == [0, 1, 2] and out[4:7].tolist() == [0, -1, -2]
    assert a.view(np.float32)[0].tolist() == [0, 0, 0, 1, -1, 2, -2, 0]


def test_counters_see_the_true_addresses() -> None:
    """A transposed read is strided, a reshaped one is not, a view of bytes moves single bytes."""
    a = np.zeros((32, 32), np.float32)

    def sectors(index: str) -> float:
        text = f"@cuda.jit\ndef k(out, a):\n    i = cuda.grid(1)\n    out[i] = a{index}\n"
        report = profile(Kernel.from_source(text, "k")[1, 32], np.zeros(32, np.float32), a)
        return float(report.loads.sectors)

    assert sectors("[i, 0]") == 32
    assert sectors(".T[0, i]") == 32
    assert sectors(".T[i, 0]") == 4
    assert sectors(".reshape(1024)[i]") == 4
    assert sectors(".reshape(-1)[32 * i]") == 32
    assert sectors(".flat[i]") == 4
    assert sectors("[::-1, 0][i]") == 32
    assert sectors(".view(np.uint8)[0, i]") == 1
    assert sectors("[:, None, 0][i, 0]") == 32


CARVED = """
from numba import cuda, float32, uint8
@cuda.jit
def k(x, y):
    base = cuda.shared.array(SIZE, uint8)
    n = cuda.blockDim.x
    t, i = cuda.threadIdx.x, cuda.grid(1)
    f = base[: 4 * n].view(float32)
    d = base[OFFSET * n :].view(np.float64)
    f[t] = x[i]
    d[n - 1 - t] = x[i] * 2
    cuda.syncthreads()
    y[i] = f[n - 1 - t] + d[t]
"""


def test_dynamic_shared_memory_is_carved_into_arrays_of_other_types() -> None:
    """The sanitizer sees that they are apart, or where they overlap."""
    x, y = np.arange(96, dtype=np.float32), np.zeros(96)

    def carved(offset: int, size: int = 0) -> Any:
        text = CARVED.replace("OFFSET", str(offset)).replace("SIZE", str(size))
        return Kernel.from_source(text, "k", {"np": np})

    carved(4)[3, 32, 0, 32 * 12](x, y)
    assert y.reshape(3, 32).tolist() == (3 * x.reshape(3, 32)[:, ::-1]).tolist()
    assert sanitize(carved(4)[3, 32, 0, 32 * 12], x, y) == []
    assert {f.kind for f in sanitize(carved(2)[3, 32, 0, 32 * 12], x, y)} == {"race"}
    with pytest.raises(ShapeError, match="a row of 291 bytes is no whole number"):
        carved(3)[3, 31, 0, 32 * 12](x, y)
    with pytest.raises(ShapeError, match="of the same size only; dynamic shared memory"):
        carved(4, 384)[3, 32](x, y)
