"""What a `for` of a kernel runs over: items, their order and their types are Python's."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from numba import literal_unroll

from warpwise.simt import Kernel, SimtError
from warpwise.simt import api as cuda

A = np.arange(12.0).reshape(3, 4) + 0.5
X = np.array([5, 3, 8, 1, 9], np.int32)
Y = np.array([2.5, -1.0, 4.0, 7.0])

#: A loop that appends numbers to `out`; the same text runs in Python.
LOOPS = {
    "an array": "for v in x:\n    put(out, v)",
    "rows": "for r in a:\n    put(out, r[1] + r.shape[0])",
    "a tuple": "for v in (3, 1, 2):\n    put(out, v)",
    "a literal list": "for v in [3, 1.5, 2]:\n    put(out, v)",
    "enumerate": "for i, v in enumerate(y):\n    put(out, i)\n    put(out, v)",
    "enumerate from": "for i, v in enumerate(y, 10):\n    put(out, i * v)",
    "zip": "for v, w in zip(x, y):\n    put(out, v - w)",
    "zip of many": "for v, w, r, n in zip(x, y, a, range(9, 0, -2)):\n    put(out, v * w + r[0])",
    "enumerate of zip": "for i, (v, w) in enumerate(zip(x, y)):\n    put(out, i * v + w)",
    "zip of enumerate": "for (i, v), w in zip(enumerate(x, 2), y):\n    put(out, i * v + w)",
    "enumerate of range": "for i, j in enumerate(range(7, 2, -2)):\n    put(out, i * 100 + j)",
    "a range of int32": "for j in range(x[3], x[0]):\n    put(out, j)",
    "iter": "for v in iter(y):\n    put(out, v)",
    "flat": "for v in a.T.flat:\n    put(out, v)",
    "ndindex": "for i, j in np.ndindex(3, 2):\n    put(out, a[i, j])",
    "ndindex of a shape": "for i in np.ndindex(a.shape):\n    put(out, a[i])",
    "ndenumerate": "for (i, j), v in np.ndenumerate(a):\n    put(out, v + 100 * i + 10 * j)",
    "nditer": "for v in np.nditer(a[1:, ::2]):\n    put(out, v.item())",
    "nothing": "for v in x[2:2]:\n    put(out, v)\nfor v, w in zip(x, y[:0]):\n    put(out, v)",
    "break and else": (
        "for v in x:\n    if v == 8:\n        break\n    put(out, v)\nelse:\n    put(out, -9)\n"
        "for i, v in enumerate(y):\n    if v < 0:\n        continue\n    put(out, v)\n"
        "else:\n    put(out, i)"
    ),
    "a name that changes": "z = y\nfor v in z:\n    z = y[1:]\n    put(out, v + z[0])",
    "an iterator kept": "r = range(3)\nput(out, len(r))\nfor j in r:\n    put(out, j)",
}


@cuda.jit(device=True)
def put(out, value):
    n = int(out[0]) + 1
    out[n] = value
    out[0] = n


@pytest.mark.parametrize("loop", LOOPS.values(), ids=list(LOOPS))
def test_loops_run_over_what_python_runs_over(loop: str) -> None:
    """The same items in the same order."""
    indented = "".join(f"    {line}\n" for line in loop.splitlines())
    text = f"import numpy as np\n@cuda.jit\ndef k(out, a, x, y):\n{indented}"
    out, want = np.zeros(64), np.zeros(64)
    Kernel.from_source(text, "k", {"put": put})[1, 1](out, A, X, Y)
    exec(loop, {"out": want, "put": put.py_func, "a": A, "x": X, "y": Y, "np": np})
    assert out.tolist() == want.tolist()


def test_lanes_leave_such_loops_one_by_one() -> None:
    """Each thread runs over its own part, of its own length."""

    @cuda.jit
    def k(out, x):
        i = cuda.grid(1)
        for n, v in enumerate(x[: i % 5]):
            if v == 8:
                break
            out[i] += v * (n + 1)

    out = np.zeros(40)
    k[2, 20](out, X)
    want = []
    for i in range(40):
        total = 0
        for n, v in enumerate(X[: i % 5].tolist()):
            if v == 8:
                break
            total += v * (n + 1)
        want.append(total)
    assert out.tolist() == want


@cuda.jit(device=True)
def doubled(v):
    return 2 * v


@cuda.jit(device=True)
def halved(v):
    return v / 2


def test_literal_unroll() -> None:
    """The body once for each item, whatever their types; break and continue act on the loop."""
    sizes = (2, 3)

    @cuda.jit
    def k(out, x, y):
        i = cuda.grid(1)
        total = 0
        for part in literal_unroll((x, y, 3, 2.5)):
            if hasattr(part, "shape"):
                total += part[i]
            else:
                total += part
        for f in literal_unroll((doubled, halved)):
            if i == 2:
                continue
            total = f(total)
        for n in literal_unroll(sizes):
            s = cuda.local.array(n, np.int32)
            s[n - 1] = n
            if i == 1:
                break
            total += s[n - 1]
        out[i] = total

    out = np.zeros(4)
    k[1, 4](out, X, Y)
    base = [float(X[i]) + Y[i] + 5.5 for i in range(4)]
    assert out.tolist() == [base[i] + (0 if i == 1 else 5) for i in range(4)]


@pytest.mark.parametrize(
    ("loop", "message"),
    [
        ("for v in (1, 2.5):\n    pass", "this tuple holds different types (int64, float64)"),
        ("for v in (1, x):\n    pass", "Numba loops over such a tuple only with literal_unroll"),
        ("for v in reversed(x):\n    pass", "Numba has no reversed()"),
        ("for v in 3:\n    pass", "int64 cannot be looped over"),
        ("for v in a[0, 0]:\n    pass", "float64 cannot be looped over"),
        ("for v in 'abc':\n    pass", "no number cannot be looped over"),
        ("for v in map(abs, x):\n    pass", "map"),
        ("for i, v in x:\n    pass", "int32 cannot be unpacked"),
        ("for i, v in enumerate(x, start=1):\n    pass", "enumerate takes no keyword arguments"),
        ("for j in range(0, 4, x[3] - 1):\n    pass", "range() with a step of 0 never ends"),
        ("for i, j in zip(range(0, 4, x[3] - 1), x):\n    pass", "with a step of 0 never ends"),
        ("if x[0] > 2:\n    r = range(3)\nfor v in r:\n    pass", "r holds an iterator"),
    ],
)
def test_what_cannot_be_looped_over(loop: str, message: str) -> None:
    """Refused with its line, as Numba does."""
    indented = "".join(f"    {line}\n" for line in loop.splitlines())
    text = f"@cuda.jit\ndef k(out, a, x):\n{indented}"
    with pytest.raises(SimtError) as error:
        Kernel.from_source(text, "k", {"map": map, "reversed": reversed})[1, 1](A, A, X)
    assert message in str(error.value)


needs_numba_cuda = pytest.mark.skipif(
    not importlib.util.find_spec("numba_cuda"), reason="needs the numba-cuda wheel (Linux, Windows)"
)


@needs_numba_cuda
def test_reductions_of_arrays() -> None:
    """Each thread reduces its own row, with NumPy's functions or methods, typed by Numba."""

    @cuda.jit
    def k(out, a):
        i = cuda.grid(1)
        row = a[i]
        out[i, 0] = row.sum() + np.sum(row[1:])
        out[i, 1] = row.mean() + np.mean(row)
        out[i, 2] = row.max() - np.min(row)
        out[i, 3] = np.argmax(row)
        out[i, 4] = np.any(row > 100) if False else np.all(row)
        out[i, 5] = row.prod()
        out[i, 6] = np.var(row) + row.std()
        out[i, 7] = np.count_nonzero(row)

    a = np.array([[1.5, 0, 3, 2], [4, 5, 6, 9], [0, 0, -1, 0.5]])
    out = np.zeros((3, 8))
    k[1, 3](out, a)
    want = [
        [r.sum() + r[1:].sum(), 2 * r.mean(), r.max() - r.min(), r.argmax(), r.all(), r.prod(),
         r.var() + r.std(), np.count_nonzero(r)]
        for r in a
    ]  # fmt: skip
    np.testing.assert_allclose(out, want, rtol=1e-14)
