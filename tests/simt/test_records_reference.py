"""Records against Numba's compiler for the CPU: the same text, thread after thread."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest

from tests.simt.random_records import ALIGNED, Writer
from tests.simt.random_records import PACKED as PACKED_FIELDS
from tests.simt.test_records import NESTED, PACKED, POINT, sample
from warpwise.simt import Kernel

N = 30
INNER = np.dtype([("u", np.int16), ("v", np.float64)], align=True)
DEEP = np.dtype(
    [
        ("a", INNER),
        ("b", INNER, (2,)),
        ("c", np.float32, (2, 3)),
        ("z", np.complex128),
        ("w", "m8[s]"),
        ("f", np.bool_),
    ],
    align=True,
)

#: Bodies of a function of (a, o, i): records, float64 results, the number of the thread.
BODIES: list[tuple[np.dtype[Any], str]] = [
    (POINT, "t = a[i]\nj = a.size - 1 - i\nif i < a.size // 2:\n    a[i] = a[j]\n    a[j] = t"),
    (POINT, "p = a[i]\nq = p\nq.x = 5\np.k = q.k + 1\no[i] = p.x"),
    (POINT, "p = a[i] if i % 2 else a[0]\nif i % 3 == 0:\n    p = a[i // 2]\no[i] = p.y"),
    (POINT, "s = 0.0\nfor p in a:\n    s += p.x\n    if p.k > 50:\n        break\no[i] = s"),
    (POINT, "p = a[i]\nn = 0\nwhile p.k > 10 and n < 20:\n    p = a[p.k % a.size]\n    n += 1\n"
     "o[i] = n + p.x"),
    (POINT, "p = a[i]\nfor k in range(3):\n    p.k += k\n    if p.k > 60:\n"
     "        p = a[(i + 7) % a.size]\no[i] = p.k"),
    (POINT, "b = a[2:20:3]\nif i < b.size:\n    b[i].x = i\n    o[i] = b.x[i] + b[::-1].k[i]"),
    (POINT, "b = a.reshape((5, 6))\nif i < 5:\n    b[i, 2].x = 3\n"
     "    o[i] = b[i][3].y + b.x[i, 1]"),
    (POINT, "b = a.reshape((5, 6)).T\nif i < 5:\n    b[2, i].x = 3\n    o[i] = b[3, i].y"),
    (POINT, "a[i][1] = 4\na[i][0] += a[i][2]\no[i] = a[i][-1]"),
    (POINT, "t = (a[i], a[0], 3)\no[i] = t[0].x + t[1].y + t[2]"),
    (POINT, "a[i].x, a[i].y = a[i].y, a[i].x\no[i] = 3 < a[i].x < a[i].y or a[i].k == 5"),
    (POINT, "a[i].x = a[i].y = a[i].k\no[i] = min(a[i].x, a[i].y, 3) + abs(a[i].k)"),
    (POINT, "a.x[:] = 3\na[1:3] = a[i]\na[i].y = a[0].x"),
    (POINT, "for j, p in enumerate(a):\n    o[i] += j * p.x\nfor p, q in zip(a, a[1:]):\n"
     "    o[i] += p.x * q.y"),
    (PACKED, "a[i].x += 1\na[i].k += 3\no[i] = a[i].x * a[i].k\na[0] = a[i]"),
    (NESTED, "a[i].grid[1, 0] += a.grid[0, 2, 1]\na[i].c = a[i].c * 1j\no[i] = a[i].place.x"),
    (DEEP, "a[i].a.u = i\na[i].a.v += a[i].c[1, 2]\na[i].b[1].v = 3\na[i].b[0].u += a[i].b[1].u\n"
     "o[i] = a[i].b[0].v + a.b[i, 1].v"),
    (DEEP, "q = a[i].b\nq[1] = q[0]\na.a[i] = q[1]\no[i] = len(q) + q.shape[0]"),
    (DEEP, "a[i].z = a[i].z * 1j + 2\no[i] = a[i].z.real\na[i].f = not a[i].f\na.z[i] += 1"),
    (DEEP, "for q in a[i].b:\n    q.u += 1\n    o[i] += q.v\nfor r in a[i].c:\n    r[0] = 7\n"
     "    o[i] += r[1]"),
    (DEEP, "a[i].c[0] = 5\na[i].c[:, 1] = i\no[i] = a[i].c[1, 1]\na[i].c = a[(i + 1) % 4].c"),
    (DEEP, "a[i].a = a[0].b[1] if i % 2 else a[1].a\na[i].w += a[0].w\no[i] = int(a[i].w)"),
]  # fmt: skip


def run_compiled(body: str, parameters: str, *arrays: Any) -> None:
    """The body as Numba compiles it for the CPU, thread after thread."""
    names: dict[str, Any] = {"np": np}
    exec(f"def f({parameters}, i):\n{indented(body)}", names)
    compiled = numba.njit(names["f"])
    for i in range(N):
        compiled(*arrays, i)


def indented(body: str) -> str:
    """The lines of a body, inside a function."""
    return "".join(f"    {line}\n" for line in body.split("\n"))


def assert_same(found: Any, expected: Any) -> None:
    """Every field, NaN equal to NaN."""
    if expected.dtype.names:
        for name in expected.dtype.names:
            assert_same(found[name], expected[name])
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "body"), BODIES)
def test_records_do_what_compiled_code_does(dtype: np.dtype[Any], body: str) -> None:
    """Every field of the records, and every result, after each thread has run once."""
    kernel = Kernel.from_source(f"@cuda.jit\ndef k(a, o, i):\n{indented(body)}", "k")
    expected, expected_o = sample(dtype, N, 3), np.zeros(N)
    a, o = expected.copy(), np.zeros(N)
    run_compiled(body, "a, o", expected, expected_o)
    for i in range(N):
        kernel.run(1, 1, (a, o, i))
    assert_same(a, expected)
    assert_same(o, expected_o)


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 60))]
)
def test_random_functions_of_records(seed: int) -> None:
    """All threads at once, in both orders, do what compiled code does one after the other."""
    dtype = PACKED_FIELDS if seed % 2 else ALIGNED
    body = Writer(seed, packed=bool(seed % 2)).function()
    text = f"@cuda.jit\ndef k(a, b, o):\n    i = cuda.grid(1)\n{indented(body)}"
    start = [sample(dtype, N, seed), sample(dtype, N, seed + 1000), np.zeros(N)]
    expected = [array.copy() for array in start]
    with np.errstate(all="ignore"):
        run_compiled(body, "a, b, o", *expected)
    for order in ("lockstep", "warp-serial"):
        found = [array.copy() for array in start]
        Kernel.from_source(text, "k").run(3, N // 3, found, order=order)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
