"""What kernels may say, and that it means what Numba makes of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from warpwise.simt import Kernel, KernelNote, run
from warpwise.simt import api as cuda

THREADS = 37  # a warp and a bit


MATH_OF_ONE = """
    sin cos tan asin acos atan sinh cosh tanh exp expm1 exp2 log log2 log10 log1p sqrt fabs floor
    ceil trunc erf erfc gamma lgamma degrees radians
"""


def evaluate(body: str, dtype: Any = np.float64, constants: Any = None, **arrays: Any) -> Any:
    """out[i] after a 1-D launch of the body; `i` is the thread."""
    names = ", ".join(["out", *arrays])
    text = f"import math\n@cuda.jit\ndef k({names}):\n    i = cuda.grid(1)\n"
    text += "".join(f"    {line}\n" for line in body.strip().splitlines())
    out = np.zeros(THREADS, dtype)
    Kernel.from_source(text, "k", constants)[1, THREADS](out, *arrays.values())
    return out


I = np.arange(THREADS)  # noqa: E741  the thread number, as in the kernels
X = np.random.default_rng(3).uniform(-3, 3, THREADS)


def test_loops_branches_and_early_exits() -> None:
    """break, continue and return leave with the right lanes; nested loops keep their variables."""
    got = evaluate(
        """
s = 0
for j in range(10):
    if j == i % 7:
        continue
    if j > i:
        break
    for k in range(j, 0, -2):
        if k == 3:
            break
        s += k
if i == 5:
    out[i] = -1
    return
out[i] = s
"""
    )
    want = []
    for i in range(THREADS):
        s = 0
        for j in range(10):
            if j == i % 7:
                continue
            if j > i:
                break
            for k in range(j, 0, -2):
                if k == 3:
                    break
                s += k
        want.append(-1 if i == 5 else s)
    assert got.tolist() == want


def test_the_loop_variable_keeps_its_last_value() -> None:
    """After a loop each lane has the value with which it left."""
    body = "for j in range(20):\n    if j * j > i: break\nout[i] = j"
    want = [next((j for j in range(20) if j * j > i), 19) for i in range(THREADS)]
    assert evaluate(body).tolist() == want


def test_a_variable_no_thread_assigned_is_named() -> None:
    """A loop that may run zero times leaves its variables without a value."""
    with pytest.raises(Exception, match="j is read, but this thread's path has given it no value"):
        evaluate("for j in range(i, 0): pass\nout[i] = j")


def test_a_type_that_changes_in_a_branch_is_unified() -> None:
    """int on one path and float on the other meet as float64, and stay int inside the branch."""
    got = evaluate("s = 7\nif i % 2: s = 0.5\nelse:\n    s = s // 2\nout[i] = s")
    assert got.tolist() == [0.5 if i % 2 else 3 for i in range(THREADS)]


def test_break_takes_its_own_type_out_of_the_loop() -> None:
    """A lane that breaks with a float keeps it; the others keep their integer."""
    got = evaluate(
        "s = 0\nfor j in range(4):\n    if j == i:\n        s = 0.5\n        break\n"
        "    s = s + 3\nout[i] = s"
    )
    assert got.tolist() == [0.5 if i < 4 else 12 for i in range(THREADS)]


def test_and_or_guard_their_right_side() -> None:
    """A lane for which the left side decides never touches the memory on the right."""
    got = evaluate("if i < x.size and x[i] > 0: out[i] = 1", x=X[:10])
    assert got.tolist() == [float(i < 10 and X[i] > 0) for i in range(THREADS)]
    got = evaluate("if i >= x.size or x[i] > 0: out[i] = 1", x=X[:10])
    assert got.tolist() == [float(i >= 10 or X[i] > 0) for i in range(THREADS)]


def test_a_conditional_expression_loads_on_one_side_only() -> None:
    """`x[i] if i < n else 0` is a guard."""
    got = evaluate("out[i] = x[i] if i < x.size else 2.5", x=X[:10])
    assert got.tolist() == [X[i] if i < 10 else 2.5 for i in range(THREADS)]


def test_chained_comparison_and_not() -> None:
    """a < b < c, `not`, and `in` a tuple."""
    got = evaluate("out[i] = 1 if 3 < i <= 9 and not i == 7 or i in (20, 22) else 0")
    assert got.tolist() == [float((3 < i <= 9 and i != 7) or i in (20, 22)) for i in range(THREADS)]


def test_tuples_unpack_swap_and_index() -> None:
    """Tuples of numbers: several assignments, swap, constant and computed index, len."""
    got = evaluate(
        "t = (i, 2 * i, 7)\na, b = t[0], t[-1]\na, b = b, a\nout[i] = a - b + t[i % 3] + len(t)"
    )
    want = [7 - i + (i, 2 * i, 7)[i % 3] + 3 for i in range(THREADS)]
    assert got.tolist() == want


def test_integer_arithmetic_is_pythons_on_signs() -> None:
    """// and % round toward minus infinity; division by zero gives 0, as compiled."""
    got = evaluate("out[i] = (i - 18) // 5 * 100 + (i - 18) % 5 + (i - 18) // (i - i)", np.int64)
    assert got.tolist() == [(i - 18) // 5 * 100 + (i - 18) % 5 for i in range(THREADS)]


def test_float_to_integer_saturates() -> None:
    """int() truncates toward zero and saturates; of a NaN in 64 bits it makes the top bit alone."""
    x = np.array([1.9, -1.9, 1e30, -1e30, math.nan, math.inf])
    got = evaluate("if i < 6: out[i] = int(x[i])", np.int64, x=x)
    big = 2**63 - 1
    assert got[:6].tolist() == [1, -1, big, -(2**63), -(2**63), big]
    got = evaluate("if i < 6: out[i] = x[i]", np.int32, x=x)
    assert got[:6].tolist() == [1, -1, 2**31 - 1, -(2**31), -(2**31), 2**31 - 1]
    got = evaluate("if i < 6: out[i] = x[i]", np.int16, x=x)
    assert got[:6].tolist() == [1, -1, 2**15 - 1, -(2**15), -(2**15), 2**15 - 1]
    got = evaluate("if i < 6: out[i] = x[i]", np.uint8, x=x)
    assert got[:6].tolist() == [1, 0, 255, 0, 0, 255]


@pytest.mark.parametrize("source", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("target", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64])
def test_a_nan_becomes_0_or_the_top_bit(source: type, target: type) -> None:
    """0, unless 64 bits take part; 8 bits are cut from 16."""
    if 8 not in (np.dtype(source).itemsize, np.dtype(target).itemsize):
        expected = 0
    else:
        bits = 8 * np.dtype(target).itemsize
        expected = 0 if bits == 8 else (-1 if np.dtype(target).kind == "i" else 1) << (bits - 1)
    got = evaluate("out[i] = x[0]", target, x=np.array([math.nan], source))
    assert got.tolist() == [expected] * THREADS


def test_range_of_a_float_counts_in_int32() -> None:
    """As Numba types it: 3e9 is cut to the largest int32."""
    body = "c = 0\nfor k in range(x[0], x[1]):\n    c += 1\nout[i] = c * 100 + k"
    assert evaluate(body, np.int64, x=np.array([-1.9, 2.9]))[0] == 301
    body = "k = 7\nfor k in range(x[0] - 4, x[0]):\n    k += 1\nout[i] = k"
    assert evaluate(body, np.int64, x=np.array([3e9]))[0] == 7  # both ends are 2**31 - 1


def test_integers_wrap_when_stored() -> None:
    """An int64 value stored into int8 keeps the low bits."""
    assert (
        evaluate("out[i] = 100 + i * 10", np.int8).tolist()
        == (100 + I * 10).astype(np.int8).tolist()
    )


@pytest.mark.parametrize(
    "name",
    MATH_OF_ONE.split(),
)
def test_math_functions_agree_with_pythons(name: str) -> None:
    """math.* of one argument, where Python's function is defined."""
    x = np.abs(X) / 3.1 + 0.01
    got = evaluate(f"out[i] = math.{name}(x[i])", x=x)
    want = [2.0**v if name == "exp2" else getattr(math, name)(v) for v in x]
    np.testing.assert_allclose(got, want, rtol=1e-13)


@pytest.mark.parametrize("name", ["atan2", "hypot", "fmod", "copysign", "pow", "remainder"])
def test_math_functions_of_two_arguments(name: str) -> None:
    """math.* of two arguments."""
    a = np.abs(X)
    got = evaluate(f"out[i] = math.{name}(a[i], x[i])", a=a, x=X)
    np.testing.assert_allclose(got, [getattr(math, name)(p, q) for p, q in zip(a, X)], rtol=1e-13)


def test_functions_with_two_results() -> None:
    """frexp, modf and divmod give tuples."""
    got = evaluate("m, e = math.frexp(x[i])\nf, w = math.modf(x[i])\nout[i] = m + 100 * e + f * w",
                   x=X)  # fmt: skip
    want = [m + 100 * e + f * w for (m, e), (f, w) in zip(map(math.frexp, X), map(math.modf, X))]
    np.testing.assert_allclose(got, want, rtol=1e-14)


def test_rounding_and_extremes() -> None:
    """round() is half to even; min and max of a NaN and a number give the number."""
    x = np.array([0.5, 1.5, 2.5, -0.5, math.nan])
    got = evaluate("if i < 4: out[i] = round(x[i])\nif i == 4: out[i] = max(x[i], 3.0)", x=x)
    assert got[:5].tolist() == [0, 2, 2, 0, 3]


def test_integer_powers() -> None:
    """Integers to integer powers stay integers; a negative exponent gives 0, or a sign for +-1."""
    got = evaluate("out[i] = (i - 3) ** 3 + (i + 2) ** (-1) + (0 - 1) ** i", np.int64)
    assert got.tolist() == [(i - 3) ** 3 + (-1) ** i for i in range(THREADS)]


def test_globals_closures_and_casts_of_literals() -> None:
    """Global numbers, tuples, arrays and dtypes are constants of the kernel."""
    table = np.array([10, 20, 30])
    got = evaluate(
        "out[i] = TABLE[i % 3] + PAIR[1] + N", constants={"TABLE": table, "PAIR": (1, 2), "N": 5}
    )
    assert got.tolist() == [table[i % 3] + 7 for i in range(THREADS)]
    offset = 4

    def make(api: Any) -> Any:
        @api.jit
        def closure(out):
            i = api.grid(1)
            out[i] = i + offset

        return closure

    out = np.zeros(5)
    make(cuda)[1, 5](out)
    assert out.tolist() == [4, 5, 6, 7, 8]


def test_device_functions_return_numbers_and_tuples() -> None:
    """Specialised by type, with early returns, defaults and a function as argument."""
    text = """
@cuda.jit(device=True)
def clamp(v, low, high=10):
    if v < low:
        return low
    if v > high:
        return high
    return v
@cuda.jit(device=True)
def apply(f, v):
    return f(v, 2), v * 0.5
@cuda.jit
def k(out):
    i = cuda.grid(1)
    a, b = apply(clamp, i)
    out[i] = a + b + clamp(v=i + 0.25, low=1.5, high=3)
"""
    out = np.zeros(THREADS)
    Kernel.from_source(text, "k")[1, THREADS](out)
    want = [min(max(i, 2), 10) + i * 0.5 + min(max(i + 0.25, 1.5), 3) for i in range(THREADS)]
    assert out.tolist() == want


@pytest.mark.parametrize(
    "dtype",
    [np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
     np.float16, np.float32, np.float64],
)  # fmt: skip
@pytest.mark.parametrize("shape", [(6,), (3, 4), (2, 3, 4)])
def test_arrays_of_every_type_and_shape(dtype: Any, shape: tuple[int, ...]) -> None:
    """A copy through a kernel keeps every bit, in C and in Fortran order."""
    index = ", ".join("xyz"[: len(shape)])
    text = f"""
@cuda.jit
def k(out, a):
    {index} = cuda.grid({len(shape)})
    if {" and ".join(f"{v} < a.shape[{n}]" for n, v in enumerate("xyz"[: len(shape)]))}:
        out[{index}] = a[{index}]
"""
    a = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    a = np.asfortranarray(a) if len(shape) == 2 else a
    out = np.zeros(shape, dtype)
    Kernel.from_source(text, "k")[(1,) * len(shape), (8,) * len(shape)](out, a)
    assert np.array_equal(out, a)


def test_views_rows_slices_and_transposes() -> None:
    """A row, a slice with a step, a negative step and .T are views into the same memory."""
    a = np.arange(24.0).reshape(4, 6)
    text = """
@cuda.jit
def k(out, a):
    i = cuda.grid(1)
    row = a[i]
    part = a[i, 1::2]
    back = a[i, ::-1]
    turned = a.T
    whole = a[1:3]
    out[i] = row[2] + 10 * part[1] + 100 * back[0] + 1000 * turned[0, i]
    out[i] += part.size + whole.shape[0]
    row[5] = -1
"""
    out = np.zeros(4)
    want = [a[i, 2] + 10 * a[i, 3] + 100 * a[i, 5] + 1000 * a[i, 0] + 3 + 2 for i in range(4)]
    b = a.copy()
    Kernel.from_source(text, "k")[1, 4](out, b)
    assert out.tolist() == want
    assert b[:, 5].tolist() == [-1] * 4


def test_device_arrays_keep_their_contents_between_launches() -> None:
    """to_device, device_array, slices and copy_to_host, with a stream in the launch."""

    @cuda.jit
    def add_one(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] += 1

    device = cuda.to_device(np.arange(10.0))
    add_one[1, 16, cuda.stream()](device)
    add_one[1, 16](device[::3])
    assert device.copy_to_host().tolist() == [2, 2, 3, 5, 5, 6, 8, 8, 9, 11]
    fresh = cuda.device_array(3, np.float32)
    assert np.isnan(fresh.copy_to_host()).all()
    assert np.asarray(device).tolist() == device.copy_to_host().tolist()


def test_one_host_array_passed_twice_is_two_device_arrays() -> None:
    """As in Numba: the input is read from its own copy, and that copy is copied back last."""

    @cuda.jit
    def shift(out, a):
        i = cuda.grid(1)
        if i > 0:
            out[i] = a[i - 1]

    a = np.arange(6.0)
    with pytest.warns(KernelNote, match="out and a are the same memory on the host"):
        shift[1, 6](a, a)
    assert a.tolist() == [0, 1, 2, 3, 4, 5]
    shift[1, 6](a, cuda.In(a))
    assert a.tolist() == [0, 0, 1, 2, 3, 4]


def test_three_dimensional_launches_number_threads_as_cuda_does() -> None:
    """x is the fastest; blocks and threads unravel alike; gridsize counts threads."""
    text = """
@cuda.jit
def k(out):
    x, y, z = cuda.grid(3)
    sx, sy, sz = cuda.gridsize(3)
    t = cuda.threadIdx.x + cuda.threadIdx.y * cuda.blockDim.x
    out[x, y, z] = t + 100 * (cuda.blockIdx.x + 10 * cuda.blockIdx.z) + sx * sy * sz
"""
    out = np.zeros((6, 2, 4))
    Kernel.from_source(text, "k")[(2, 1, 4), (3, 2, 1)](out)
    want = [
        [[x % 3 + 3 * y + 100 * (x // 3 + 10 * z) + 48 for z in range(4)] for y in range(2)]
        for x in range(6)
    ]
    assert out.tolist() == want


def test_chunks_do_not_show() -> None:
    """More threads than a chunk holds: every element is written once."""
    from warpwise.observe import Census

    text = "@cuda.jit\ndef k(out):\n    i = cuda.grid(1)\n    if i < out.size: out[i] = i\n"
    out = np.zeros(100_003)
    census = Census()
    run(Kernel.from_source(text, "k"), 391, 256, (out,), [census])
    assert np.array_equal(out, np.arange(100_003))
    assert (census.writes["out"] == 1).all()
    assert np.array_equal(census.writer["out"], np.arange(100_003))


def test_numba_cuda_itself_can_be_used_unchanged() -> None:
    """After install(), `from numba import cuda` means the simulator; uninstall() undoes it."""
    from numba import cuda as numba_cuda
    from numba.cuda import grid

    from warpwise.simt import install, uninstall

    was_installed = numba_cuda.jit is cuda.jit
    uninstall()
    before = numba_cuda.jit
    install()
    try:

        @numba_cuda.jit
        def direct(out):
            i = grid(1)
            if i < out.size:
                out[i] = numba_cuda.blockDim.x

        out = np.zeros(3)
        direct[1, 4](out)
        assert out.tolist() == [4, 4, 4]
    finally:
        uninstall()
        after = numba_cuda.jit
        if was_installed:
            install()
    assert after is before
    assert before is not cuda.jit
