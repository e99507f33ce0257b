"""Names that change their type: legal where the old value is not read any more, as in Numba."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from warpwise.simt import Kernel, TypingError
from warpwise.simt.liveness import read_after


def kernel(body: str) -> Kernel:
    """A kernel k with this body; `i` is the thread."""
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    return Kernel.from_source(f"@cuda.jit\ndef k(o):\n    i = cuda.grid(1)\n{lines}", "k")


def test_loops_over_tuples_of_different_types_share_a_name() -> None:
    """The loop gives its variable a value before anything reads it."""
    body = """
j = 0
for v in (cuda.float2(1, 2), cuda.float2(3, 4)):
    o[j] = v.x
    j += 1
for v in (cuda.float3(1, 2, 3), cuda.float3(3, 4, 5)):
    if v.z > 3:
        o[j] = v.z
    j += 1
"""
    o = np.zeros(4)
    kernel(body)[1, 2](o)
    assert o.tolist() == [1, 3, 0, 5]


def test_two_branches_use_a_name_for_different_things() -> None:
    """After the branches it gets a new value, or is not read."""
    body = """
for k in range(2):
    if i == k:
        w = cuda.int2(1, 2)
        o[i] += w.x
    else:
        w = (i, k)
        o[i] += 10 * w[1]
w = 3
o[i] += 100 * w
"""
    o = np.zeros(3)
    kernel(body)[1, 3](o)
    assert o.tolist() == [311, 301, 310]


@pytest.mark.parametrize(
    "body",
    [
        "if i:\n    w = (1, 2)\nelse:\n    w = 3\no[0] = w",
        "w = 3\nfor k in range(i):\n    o[0] = w\n    w = (1, 2)",
        "w = 3\nfor k in range(i):\n    w = (1, 2)\no[0] = w",
        "w = 3\nwhile i > 5:\n    if i:\n        w = (1, 2)\n    o[0] = w",
    ],
)
def test_a_value_that_is_read_has_one_type(body: str) -> None:
    """Numba refuses these, too."""
    with pytest.raises(TypingError, match=r"w is .* on one path and .* on another"):
        kernel(body)[1, 2](np.zeros(2))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if a: pass\nw = 1\nprint(w)", False),
        ("if a: pass\nprint(w)\nw = 1", True),
        ("if a: pass\nw += 1", True),
        ("if a: pass\nif b: w = 1\nelse: w = 2\nprint(w)", False),
        ("if a: pass\nif b: w = 1\nprint(w)", True),
        ("if a: pass\nfor w in b: print(w)\n", False),
        ("if a: pass\nfor w in b: pass\nprint(w)", True),
        ("while c:\n    if a: pass\n    w = 1", False),
        ("while c:\n    print(w)\n    if a: pass\n", True),
        ("while c:\n    w = 1\n    print(w)\n    if a: pass\nprint(1)", False),
        ("while c:\n    if a: pass\n    if b: break\n    w = 1\nprint(w)", True),
        ("if a: pass\nf = lambda: w", True),
        ("if a: pass\nf = lambda w: w", False),
        ("if a: pass\no[w] = 1", True),
    ],
)
def test_whether_a_value_is_read_later(text: str, expected: bool) -> None:
    """After the `if a`, along every path, through loops and inner functions."""
    lines = "".join(f"    {line}\n" for line in text.split("\n"))
    (tree,) = ast.parse(f"def f(a, b, c, o):\n{lines}").body
    assert isinstance(tree, ast.FunctionDef)
    node = next(n for n in ast.walk(tree) if isinstance(n, ast.If) and n.test.id == "a")  # type: ignore[attr-defined]
    assert read_after(tree, node, "w") is expected
