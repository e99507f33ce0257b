"""Functions without text: what their bytecode is read back as, against the same with the text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import cuda as numba_cuda
from numba import float32, int32

from tests.simt import test_reported_kernels as reported
from tests.simt.reported_kernels import CASES
from warpwise.simt import SourceError, api
from warpwise.simt.decorator import jit

cuda: Any = api
N = 64


def without_text(text: str, **names: Any) -> Callable[..., Any]:
    """The function `k` of a text that nobody keeps."""
    scope: dict[str, Any] = {"cuda": numba_cuda, "int32": int32, "float32": float32, **names}
    exec("".join(["def k(out, x, n):\n", text]), scope)
    made: Callable[..., Any] = scope["k"]
    return made


BODIES = {
    "straight": """
    i = cuda.grid(1)
    out[i] = x[i] * 2 + n
""",
    "guard and barrier": """
    i = cuda.grid(1)
    s = cuda.shared.array(64, float32)
    if i < n:
        s[i] = x[i]
    else:
        s[i] = -1.0
    cuda.syncthreads()
    if i < x.size:
        out[i] = s[(i + 1) % 32]
""",
    "swap": """
    i = cuda.grid(1)
    a, b = x[i], float(i)
    if a > b and n > 3 or i == 2:
        a, b = b, a
    out[i] = a - 2 * b
""",
    "elif": """
    i = cuda.grid(1)
    if i % 3 == 0:
        v = 1
    elif i % 3 == 1:
        v = x[i]
    else:
        v = x[i] if i > n else i // 2
    out[i] = v
""",
    "early return": """
    i = cuda.grid(1)
    if i >= n:
        return
    if x[i] < 0:
        out[i] = -1
        return
    n = n + 1
    out[i] = n
""",
    "elements": """
    i = cuda.grid(1)
    out[i] += x[i]
    out[i] *= not i > n
    x[i], out[i] = out[i], x[i]
    row = out[1:]
    if i + 1 < row.shape[0]:
        row[i - i] = -3 if 1 < i < n else ~i
""",
    "signs": """
    i = cuda.grid(1)
    out[i] = (-2) ** (i % 4) + (-1.5) ** 3 - -i + (i - -3) * -2 + x[i] + 2 ** -(i % 3)
""",
    "methods": """
    i = cuda.grid(1)
    z = x[i] * (1 - 2j)
    out[i] = z.conjugate().imag + x[1:4].sum() + x.reshape(2, 32)[i % 2, 0] + x.max()
""",
    "atomics": """
    i = cuda.grid(1)
    cuda.atomic.max(out, 0, x[i])
    cuda.atomic.add(out, int32(i % n) + 1, float32(1.5))
    v = cuda.shfl_down_sync(0xFFFFFFFF, i, 1)
    out[i % 2 + 10] = cuda.threadIdx.x * 0 + cuda.blockDim.x
    out[20 + i % 2] = v * 0
""",
}


def _unlike(a: Any, b: Any) -> bool:
    return isinstance(a, np.ndarray) and a.tobytes() != b.tobytes()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_reported_kernels_read_back() -> None:
    """Those without a loop: the same bytes as with their text."""
    compared = 0
    for name, case in CASES.items():
        lines = "".join(f"    {line}\n" for line in case.body.strip("\n").splitlines())
        parts = (case.device, "def k(", case.parameters, "):\n    i = cuda.grid(1)\n", lines)
        results = []
        try:
            for made in (_kept("".join(parts), names_of(case)), _lost(parts, names_of(case))):
                args = [a.copy() if isinstance(a, np.ndarray) else a for a in case.args]
                jit(made)[1, 8](*args)
                results.append(args)
        except SourceError:
            continue
        compared += 1
        assert not any(_unlike(a, b) for a, b in zip(*results, strict=True)), name
    assert compared > 70


def names_of(case: Any) -> dict[str, Any]:
    """What the functions of a reported kernel see."""
    return reported._names(case, jit(device=True))


def _kept(text: str, names: dict[str, Any]) -> Any:
    return reported._run(f"read back {hash(text)}", text, names)["k"]


def _lost(parts: tuple[str, ...], names: dict[str, Any]) -> Any:
    exec("".join(parts), names)
    return names["k"]


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_reads_back_what_the_text_says(body: str) -> None:
    """The values are those of the same kernel with its text in sight."""
    found = jit(without_text(body))  # before the text is in a variable here
    text = f"def k(out, x, n):\n{body}"
    rng = np.random.default_rng(7)
    x = rng.normal(size=N).astype(np.float32) * 10
    scope: dict[str, Any] = {"cuda": numba_cuda, "int32": int32, "float32": float32}
    exec(text, scope)
    seen = jit(scope["k"])
    assert found.source.text != seen.source.text
    results = []
    for kernel in (seen, found):
        out, given = np.zeros(N), x.copy()
        kernel[1, N](out, given, 7)
        results.append((out, given))
    np.testing.assert_array_equal(results[0], results[1])
    assert results[0][0].any()


def test_a_raise_is_reported() -> None:
    """The line is that of the text read back."""
    kernel = jit(
        without_text("    if n > 3:\n        raise ValueError('too many')\n    out[0] = n\n")
    )
    kernel[1, 1](np.zeros(1), np.zeros(1), 1)
    with pytest.raises(Exception, match=r"1 of 1 threads raised ValueError\('too many'\)"):
        kernel[1, 1](np.zeros(1), np.zeros(1), 5)


def test_a_device_function_and_its_defaults() -> None:
    """A function made by exec() can be called, with the default values of its parameters."""
    scope: dict[str, Any] = {}
    exec("".join(["def twice(v, w=3):\n", "    return v * 2 + w\n"]), scope)
    twice = jit(scope["twice"], device=True)

    @cuda.jit
    def k(out: Any) -> None:
        out[0], out[1] = twice(1), twice(1.5, 0)

    out = np.zeros(2)
    k[1, 1](out)
    assert out.tolist() == [5, 3]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("    for i in range(n):\n        out[i] = 1\n", "a loop"),
        ("    while n > 0:\n        n -= 1\n", "a loop"),
        ("    if n > 1 and x[0] > 1:\n        out[0] = 1\n    else:\n        cuda.syncthreads()\n",
         "a call that two branches share"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_back_is_refused(body: str, reason: str) -> None:
    """The message says what stands in the way, and where the kernel should go."""
    with pytest.raises(SourceError, match=f"no source text .*cannot be read back \\({reason}\\)"):
        jit(without_text(body))
