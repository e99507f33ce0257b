"""cuda.vectorize and cuda.guvectorize on the simulator, against NumPy."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from warpwise.simt import SimtError, install, uninstall

cuda = pytest.importorskip("numba.cuda")
pytest.importorskip("numba_cuda")


@pytest.fixture(autouse=True)
def _installed() -> Iterator[None]:
    install()
    yield
    uninstall()


def add(a, b):
    return a + b


def relative(a, b):
    return math.sqrt(a * a + b * b)


@pytest.mark.parametrize("n", [0, 1, 33, 1000])
def test_a_function_of_scalars_over_arrays(n: int) -> None:
    """Host arrays, device arrays, scalars; the signature that fits is chosen."""
    ufunc = cuda.vectorize(["int64(int64, int64)", "float32(float32, float32)"])(add)
    rng = np.random.default_rng(n)
    a, b = rng.integers(0, 99, n), rng.integers(0, 99, n)
    assert np.array_equal(ufunc(a, b), a + b)
    x, y = a.astype(np.float32), b.astype(np.float32)
    assert ufunc(x, y).dtype == np.float32
    assert np.array_equal(ufunc(x, y), x + y)
    device = cuda.to_device(a)
    if n:
        got = ufunc(device, device)
        assert cuda.is_cuda_array(got)
        assert np.array_equal(got.copy_to_host(), 2 * a)
        assert ufunc.reduce(a) == a.sum()


def test_shapes_are_broadcast() -> None:
    """A column and a row; an output of one's own; a function of math."""
    ufunc = cuda.vectorize(["float64(float64, float64)"])(relative)
    column, row = np.arange(3.0)[:, None], np.arange(4.0)[None, :]
    assert np.allclose(ufunc(column, row), np.hypot(column, row))
    out = np.zeros(5)
    ufunc(np.arange(5.0), np.arange(5.0), out=out)
    assert np.allclose(out, np.hypot(np.arange(5.0), np.arange(5.0)))
    assert ufunc(3.0, 4.0) == 5.0


def test_a_function_of_inner_arrays() -> None:
    """A small matrix product for each outer index."""

    @cuda.guvectorize(["void(float64[:,:], float64[:,:], float64[:,:])"], "(m,n),(n,p)->(m,p)")
    def matmul(a, b, c):
        for i in range(c.shape[0]):
            for j in range(c.shape[1]):
                total = 0.0
                for k in range(a.shape[1]):
                    total += a[i, k] * b[k, j]
                c[i, j] = total

    rng = np.random.default_rng(0)
    a, b = rng.random((7, 2, 3)), rng.random((7, 3, 4))
    assert np.allclose(matmul(a, b), a @ b)


def test_a_ufunc_of_whole_arrays_in_a_kernel() -> None:
    """np.f(x, out) fills out, in one dimension and two, with numbers among the arguments."""

    @cuda.jit
    def k(out, plane, x, table):
        np.sin(x, out)
        np.hypot(out, 1, out)
        np.maximum(table, 0.5, plane)

    x, table = np.arange(5, dtype=np.float32), np.linspace(0, 1, 12).reshape(3, 4)
    out, plane = np.zeros(5, np.float32), np.zeros((3, 4))
    k[1, 1](out, plane, x, table)
    np.testing.assert_allclose(out, np.hypot(np.sin(x), 1), 1e-6)
    assert np.array_equal(plane, np.maximum(table, 0.5))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("np.sin(x, y)", "the arrays of np.sin differ in shape"),
        ("np.sin(x, table)", "as many dimensions as its result"),
        ("np.sin(x, 1.0)", "the last argument of np.sin takes the result"),
        ("np.fmax(x, x, x, x)", "np.fmax takes 2 numbers"),
        ("y = np.sin(x)", r"does not take array\(float64, 1d\)"),
    ],
)
def test_ufuncs_of_arrays_that_are_refused(line: str, message: str) -> None:
    """Shapes that differ, no place for the result."""
    names = {"np": np}
    text = f"def k(x, y, table):\n    {line}\n"
    exec(text, names)
    with pytest.raises(SimtError, match=message):
        cuda.jit(names["k"])[1, 1](np.zeros(3), np.zeros(4), np.zeros((3, 4)))
