"""Corners of the language that were wrong once, each with the value that is right."""

from __future__ import annotations

import math
import textwrap
from typing import Any

import numpy as np
import pytest

from warpwise.simt import Kernel, SimtError

N = 6


def evaluate(text: str, *args: Any, dtype: Any = np.float64, **constants: Any) -> list[Any]:
    """out after one block of six threads runs kernel `k` of a text."""
    out = np.zeros(N, dtype)
    header = "import math\nfrom numba import float32, int32, uint8\n"
    Kernel.from_source(header + text, "k", constants)[1, N](out, *args)
    return out.tolist()


def body(lines: str, parameters: str = "") -> str:
    """A kernel `k(out, ...)` with `i` as the thread."""
    indented = "".join(f"    {line}\n" for line in lines.strip().splitlines())
    return f"@cuda.jit\ndef k(out{parameters}):\n    i = cuda.grid(1)\n{indented}"


@pytest.mark.parametrize("tail", ["pass", "'text'", "x: int", "f = math.sin", "y = None", "i"])
def test_a_guard_may_be_followed_by_nothing(tail: str) -> None:
    """What a lab skeleton looks like: a guard, then no code."""
    assert evaluate(body(f"if i >= 3:\n    return\n{tail}")) == [0] * N


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("10**-3", 0.001), ("2**63", 2.0**63), ("1 << 63", 2.0**63),
        ("-9223372036854775808", -(2.0**63)), ("(2**64) >> 32", 2**32),
        ("(0xFFFFFFFF * 0xFFFFFFFF) >> 40", 16777215), ("7 // 2 * 2", 6), ("-7 % 4", 1),
    ],
)  # fmt: skip
def test_literals_are_folded_as_python_folds_them(expression: str, value: float) -> None:
    """Numba sees the bytecode, in which Python has computed these already."""
    assert evaluate(body(f"out[i] = {expression}"))[0] == value


def test_a_literal_too_large_for_64_bits_is_refused() -> None:
    """As by the compiler."""
    with pytest.raises(SimtError, match="the integer 100000000000000000000 does not fit"):
        evaluate(body("out[i] = 10**20"))


def test_functions_passed_to_a_device_function_are_told_apart() -> None:
    """Each function given as an argument makes its own specialisation."""
    text = """
@cuda.jit(device=True)
def g(f, x):
    return f(x)
""" + body("out[0] = g(math.sin, 1.0)\nout[1] = g(math.cos, 1.0)\nout[2] = g(math.exp, 1.0)")
    assert evaluate(text)[:3] == [math.sin(1), math.cos(1), math.exp(1)]


def test_defaults_of_device_functions_belong_to_them() -> None:
    """A default is the value where the function was defined, not a local of the caller."""
    text = "N = 100\n@cuda.jit(device=True)\ndef g(v, n=N):\n    return v + n\n"
    assert evaluate(text + body("N = 5\nout[i] = g(i) + 0 * N")) == [100 + i for i in range(N)]


def test_a_signature_of_a_device_function_casts() -> None:
    """float32(float32): argument and result are rounded."""
    text = '@cuda.jit("float32(float32)", device=True)\ndef g(v):\n    return v + v\n'
    assert evaluate(text + body("out[i] = g(i + 0.1)")) == [
        float(np.float32(i + 0.1) + np.float32(i + 0.1)) for i in range(N)
    ]


def test_a_swap_beside_a_static_value() -> None:
    """The whole right side is read before anything is assigned."""
    assert evaluate(body("a = i\nb = 2 * i\na, b, c = b, a, None\nout[i] = a + 100 * b")) == [
        2 * i + 100 * i for i in range(N)
    ]


def test_the_middle_of_a_chained_comparison_is_evaluated_once() -> None:
    """A device function that counts its calls is called once per comparison."""
    text = """
@cuda.jit(device=True)
def bump(x, i):
    x[i] += 1
    return x[i]
""" + body("if 0 <= bump(out, i) < 5 < 6:\n    out[i] += 10")
    assert evaluate(text) == [11] * N


def test_an_assignment_expression() -> None:
    """:= assigns and gives the value."""
    assert evaluate(body("if (v := 2 * i) > 4:\n    out[i] = v")) == [0, 0, 0, 6, 8, 10]


@pytest.mark.parametrize("threads", [8, 65536])
def test_threads_without_a_value_are_named(threads: int) -> None:
    """Exact text, the same for a small and a large launch."""
    text = body("if i < 5:\n    s = i + 1\nif i < 8:\n    out[i % 6] = s")
    with pytest.raises(SimtError) as error:
        Kernel.from_source(text, "k")[threads // 8, 8](np.zeros(N))
    assert str(error.value) == (
        "k: s is read, but this thread's path has given it no value\n"
        "  block (0, 0, 0), thread (5, 0, 0), and others\n"
        "  line 7:  out[i % 6] = s\n"
        "  Assign to s before the branch or loop that may be skipped."
    )
    assert evaluate(body("if i < 5:\n    s = i + 1\nif i < 3:\n    out[i] = s"))[:3] == [1, 2, 3]


def test_arrays_may_differ_between_threads() -> None:
    """Swapped under a guard, chosen by a condition, returned, indexed out of a tuple."""
    x, y = np.arange(6.0), 10 * np.arange(6.0)
    swap = "if i < 4:\n    for s in range(3):\n        x, y = y, x\n    out[i] = x[i]"
    assert evaluate(body(swap, ", x, y"), x, y) == [0, 10, 20, 30, 0, 0]
    pick = "a = x if i % 2 else y\nout[i] = a[i] + a.size"
    assert evaluate(body(pick, ", x, y"), x, y) == [6, 7, 26, 9, 46, 11]
    branch = "if i % 2:\n    a = x\nelse:\n    a = y\na[i] = 7\nout[i] = x[i] + y[i]"
    assert evaluate(body(branch, ", x, y"), x, y) == [7, 17, 9, 37, 11, 57]
    assert evaluate(body("out[i] = (x, y)[i % 2][i]", ", x, y"), x, y) == [0, 10, 2, 30, 4, 50]


def test_lanes_outside_the_mask_do_not_matter() -> None:
    """A step of 0, a tuple index too large, an empty slice: only for threads that do not get
    there."""
    step = "s = i % 3\nif s != 0:\n    for j in range(0, 10, s):\n        out[i] += j"
    assert evaluate(body(step)) == [0, 45, 20, 0, 45, 20]
    assert evaluate(body("t = (10, 20, 30)\nif i < 3:\n    out[i] = t[i]"))[:4] == [10, 20, 30, 0]
    view = "v = x[i:]\nif v.size > 0:\n    out[i] = v[0]"
    assert evaluate(body(view, ", x"), np.arange(3.0)) == [0, 1, 2, 0, 0, 0]


def test_tuples_and_slices_may_differ_between_threads() -> None:
    """A tuple chosen by a condition; a slice with a step of its own."""
    text = "t = (i, 1) if i % 2 else (2, i)\nout[i] = t[0] + 10 * t[1]"
    assert evaluate(body(text)) == [i + 10 if i % 2 else 2 + 10 * i for i in range(N)]
    text = "v = x[:: 1 + i % 3]\nout[i] = v[1] + 10 * v.size"
    assert evaluate(body(text, ", x"), np.arange(6.0)) == [
        (1 + i % 3) + 10 * len(range(0, 6, 1 + i % 3)) for i in range(N)
    ]


def test_none_inside_a_tuple() -> None:
    """`is None` sees it."""
    assert evaluate(body("p = (4, None)\nif p[1] is None:\n    out[i] = p[0]")) == [4] * N


def test_a_loop_over_bad_indices_ends_with_their_report() -> None:
    """Searching past the end of an array is an out-of-bounds access, not an endless loop."""
    with pytest.raises(SimtError, match=r"out-of-bounds load  x\[5\]"):
        evaluate(body("j = 0\nwhile x[j] != 7: j += 1\nout[i] = j", ", x"), np.zeros(5))


def test_a_shrinking_view_is_progress() -> None:
    """A loop that only makes a view smaller does end."""
    text = body("v = x[:]\nwhile v.size > 1: v = v[:-1]\nout[i] = v.size", ", x")
    assert evaluate(text, np.zeros(9000)) == [1] * N


def test_unsigned_exponents_stay_integers() -> None:
    """int64 ** uint64 is computed in integers."""
    got = evaluate(body("out[i] = (i + 3) ** x[i]", ", x"), np.full(6, 35, np.uint64),
                   dtype=np.int64)  # fmt: skip
    assert got[0] == 3**35


def test_a_nested_kernel_may_have_text_at_column_zero() -> None:
    """Comments and strings are not indented with the function."""
    from warpwise.simt import api as cuda

    @cuda.jit
    def k(out):
        text = """
at column zero
"""  # noqa: F841
        # so is this comment
        out[0] = 3  # fmt: skip

    out = np.zeros(1)
    k[1, 1](out)
    assert out[0] == 3


def test_long_kernels_run_or_are_refused_with_a_sentence() -> None:
    """A hundred guards run; a chain too deep for Python is named as such."""
    guards = "\n".join(f"if i == {n + 50}:\n    return" for n in range(100)) + "\nout[i] = i"
    assert evaluate(body(guards)) == list(range(N))
    chain = "if i == -1:\n    out[i] = 0\n" + "\n".join(
        f"elif i == {n}:\n    out[i] = {n}" for n in range(400)
    )
    with pytest.raises(SimtError, match="this kernel is too long, or nested too deeply"):
        evaluate(body(chain))


def test_loops_over_arrays_tuples_enumerate_and_zip() -> None:
    """Rewritten as loops over range(); continue and break work."""
    text = """
s = 0.0
for v in x:
    if v == 2: continue
    s += v
for j, v in enumerate((1, 2, 3), 10):
    s += j * v
for a, b in zip(x, (5.0, 6.0)):
    s += a * b
for row in z:
    s += row[1]
    if row[0] > 0: break
out[i] = s
"""
    x, z = np.arange(4.0), np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    assert evaluate(body(text, ", x, z"), x, z) == [4 + 68 + 6 + 4] * N


def test_print_raise_and_assert(capsys: pytest.CaptureFixture[str]) -> None:
    """Each thread prints its line; threads that raise are counted and the first is named."""
    assert evaluate(body('if i < 2:\n    print("thread", i, 0.5 * i)'))[0] == 0
    assert capsys.readouterr().out == "thread 0 0.000000\nthread 1 0.500000\n"
    with pytest.raises(SimtError) as error:
        evaluate(body('assert i < 4, "too far"\nout[i] = 1'))
    assert str(error.value) == (
        "k: 2 of 6 threads raised AssertionError('too far'); the first is block (0, 0, 0), "
        "thread (4, 0, 0)\n"
        '  line 6:  assert i < 4, "too far"\n'
        "  On a GPU this is seen only with @cuda.jit(debug=True, opt=False)."
    )
    with pytest.raises(SimtError, match=r"1 of 6 threads raised ValueError\('three'\)"):
        evaluate(body('if i == 3:\n    raise ValueError("three")'))


def test_else_of_a_loop_runs_for_threads_that_did_not_break() -> None:
    """for and while; the else may return."""
    text = """
for j in range(4):
    if j == i:
        break
else:
    out[i] = 100
k = 0
while k < i:
    k += 1
    if k == 3:
        break
else:
    if i == 1:
        return
    out[i] += 10
out[i] += k
"""
    assert evaluate(body(text)) == [10, 0, 12, 3, 103, 103]


@pytest.mark.parametrize("word", ["break", "continue", "return"])
@pytest.mark.parametrize(
    "inner", ["for k in range(3):", "k = -1\n    while k < 2:\n        k += 1"]
)
def test_what_leaves_from_the_else_of_a_loop_leaves_the_loop_around(word: str, inner: str) -> None:
    """The inner loop has ended there."""
    text = f"""
for j in range(4):
    {inner}
        if j * k > i:
            break
    else:
        n += 100
        if j % 2 == i % 2:
            {word}
    n += 10 ** j + table[j]
out[i] = n
"""
    function = f"def one(i, n=0):\n{textwrap.indent(text, '    ')}    return n\n"
    table = np.arange(4)
    python: dict[str, Any] = {"table": table}
    exec(function.replace("return\n", "return 0\n").replace("out[i] = n", ""), python)
    assert evaluate(body("n = 0" + text), table=table) == [python["one"](i) for i in range(N)]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("x == None", 0), ("None != x", 1), ("z == None", 1), ("z != z", 0), ("out == None", 0),
        ("x is None", 0), ("1 if x == z else 2", 2),
    ],
)  # fmt: skip
def test_none_equals_nothing_else(expression: str, value: int) -> None:
    """Numba decides comparisons with None while it compiles."""
    assert evaluate(body(f"z = None\nout[i] = {expression}", ", x"), 3) == [value] * N


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("max(x)", 3), ("min(x)", -1), ("max(x[::-2]) - min(x[1:3])", 3), ("max(row[0])", 7),
        ("max(bad)", 5), ("min(bad)", 2),
    ],
)  # fmt: skip
def test_min_and_max_of_an_array_compare_from_the_left(expression: str, value: float) -> None:
    """As Numba compiles them: a NaN that is not the first element is never chosen."""
    arrays = np.array([3.0, -1, 1, 2]), np.array([[7, 2]], np.int8), np.array([5, np.nan, 2])
    assert evaluate(body(f"out[i] = {expression}", ", x, row, bad"), *arrays) == [value] * N


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("out[i] = max(x)", "max takes numbers, a tuple or a 1-D array"),
        ("out[i] = sorted(out)[0]", "Python's sorted cannot be used in a kernel"),
        ("out[i] = len(str(3))", "Python's str cannot be used in a kernel"),
        ("out[i] = cuda.blockDim", "blockDim itself is no number.*\n.*\n  Write cuda.blockDim.x"),
        ("out[i] = None", "something that is no number cannot be stored into out"),
        ("out[i] = x.max(1, 2, 3)", "no implementation for .*\n.*\n  too many positional"),
        ("out[i] = np.max()", "no implementation for .*\n.*\n  missing a required argument: 'a'"),
        ("out[i] = int('3')", "int does not take something that is no number"),
        ("out[i] = 'b' < 'a'", "< does not take things that are no numbers"),
        ("out[i] = 0.5 in range(3)", "`in` looks for an integer in a range, not for float64"),
        ("out[i] = i in range(9, 0, -1 - i)", "`in` needs a range whose step is a constant"),
        ("for j in range(0, 4, 0.5): out[i] += j", "which makes the step 0.5 a 0"),
    ],
)  # fmt: skip
def test_what_is_no_number_is_named(line: str, message: str) -> None:
    """With what to write instead, where there is something."""
    with pytest.raises(SimtError, match=message):
        evaluate(body(line, ", x"), np.zeros((2, 2)))


@pytest.mark.parametrize(
    "expression",
    [
        "(i, 2) < (3, 1)", "(3, i) <= (3, 2)", "(i, 1.5, i) > (2, 1.5)", "(2, 1.5) >= (i, 1.5, i)",
        "(i,) < (4, 0)", "(1, 2) < (1, 3)", "i in range(1, 4)", "i not in range(5, -1, -2)",
        "i * 2 in range(-2, 9, 3)", "range(2, i + 3, 2).stop + range(i, 9).start",
        "len(range(i, 12, 4)) + range(i, 12, 4).step",
    ],
)  # fmt: skip
def test_tuples_are_ordered_and_ranges_are_asked(expression: str) -> None:
    """As in Python, which Numba follows."""
    assert evaluate(body(f"out[i] = {expression}")) == [eval(expression) for i in range(N)]


def test_a_nan_makes_a_tuple_neither_less_nor_greater() -> None:
    """The first pair that differs decides, and a NaN differs from all."""
    text = "p, q = (1.0, x), (1.0, 2.0)\nout[i] = (p < q) + (p > q) + (p <= q) + 10 * (p != q)"
    assert evaluate(body(text, ", x"), np.nan) == [10] * N


def test_divmod_has_types_of_its_own() -> None:
    """uint64 with int64 is float64 there, unlike for // and %."""
    text = "q, r = divmod(u, i + 1)\nout[i] = q\nout[i] += 10 * r + 100 * (u % (i + 1))"
    top = 2**63 + 2**11
    want = [top // n + 10.0 * (top % n) + 100 * ((top - 2**64) % n) for n in range(1, N + 1)]
    assert evaluate(body(text, ", u"), np.uint64(top)) == pytest.approx(want, rel=1e-15)
