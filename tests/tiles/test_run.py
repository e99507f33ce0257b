"""Triton kernels on the CPU: right values, counted traffic, every access inside its argument."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("triton", reason="Triton has wheels for Linux only")
import triton

from tests.tiles import kernels
from warpwise import tiles


def run(kernel, grid, *args, **named) -> tiles.Run:
    return tiles.run(kernel, grid, *args, device="cpu", **named)


def lines(text: str) -> str:
    return "\n".join(line[4:] for line in text.strip("\n").rstrip().splitlines())


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 131])
def test_vector_add(n: int) -> None:
    """Sizes around a tile, and none: what is stored, how many bytes, how many lanes masked off."""
    x, y = np.random.default_rng(n).random((2, n), np.float32)
    out = np.full(n, np.nan, np.float32)
    programs = triton.cdiv(n, 64)

    done = run(kernels.add, (programs,), out, x, y, n, BLOCK=64)

    assert np.array_equal(out, x + y)
    assert done.programs == programs
    assert done.loaded == ({"x": 4 * n, "y": 4 * n} if n else {})
    assert done.stored == ({"out": 4 * n} if n else {})
    assert done.masked_off == 3 * (64 * programs - n)
    assert (done.writes("out") == 1).all()
    assert not done.findings


def test_who_touched_which_element() -> None:
    """Loads by element, the last program that stored, and what the first programs need."""
    m, n, k = 32, 48, 16
    a, b = np.ones((m, k), np.float16), np.ones((k, n), np.float16)
    c = np.zeros((m, n), np.float32)

    done = run(kernels.matmul, (2, 3), c, a, b, m, n, k, k, 1, n, 1, n, 1, BM=16, BN=16, BK=16)

    assert (done.reads("A") == 3).all() and (done.reads("B") == 2).all()
    assert done.writer("C")[::16, ::16].tolist() == [[0, 2, 4], [1, 3, 5]]
    tile = 2 * 16 * 16
    assert done.touched(1) == {"A": tile, "B": tile}
    assert done.touched(3) == {"A": 2 * tile, "B": 2 * tile}
    assert done.touched(6) == {"A": a.nbytes, "B": b.nbytes}


def test_lines_are_those_of_the_file() -> None:
    """Each line's traffic by pointer, with its text."""
    x = np.ones(3, np.float32)
    done = run(kernels.add, 1, x.copy(), x, x, 3, BLOCK=4)

    first = kernels.add.fn.__code__.co_firstlineno
    assert [(one.number - first, one.op, one.pointer) for one in done.lines] == [
        (4, "load", "x"), (4, "load", "y"), (5, "store", "out"),
    ]  # fmt: skip
    assert done.lines[2].text == "tl.store(out + i, total, mask=inside)"
    assert "12           1  tl.store" in str(done)


def test_softmax_of_a_view() -> None:
    """Rows of a wider array, rows of -inf and of large numbers."""
    x = np.random.default_rng(0).normal(size=(5, 50)).astype(np.float32)[:, :33]
    x[1] += 1e4
    x[2, 1:] = -np.inf
    out = np.zeros((5, 33), np.float32)

    run(kernels.softmax, 5, out, x, 33, 50, 33, BLOCK=64)

    powers = np.exp(x.astype("f8") - x.max(axis=1, keepdims=True))
    assert np.allclose(out, powers / powers.sum(axis=1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("turned", [False, True])
def test_matmul_with_tails(dtype: object, turned: bool) -> None:
    """Odd sizes, a transposed operand, a device function; bfloat16 is right, too."""
    m, n, k = 17, 19, 37
    rng = np.random.default_rng(3)
    a = rng.normal(size=(m, k)).astype(dtype)
    b = rng.normal(size=(n, k)).astype(dtype).T if turned else rng.normal(size=(k, n)).astype(dtype)
    c = np.zeros((m, n), np.float32)
    steps = [step // one.itemsize for one in (a, b, c) for step in one.strides]

    done = run(
        kernels.matmul, lambda meta: (triton.cdiv(m, meta["BM"]), triton.cdiv(n, meta["BN"])),
        c, a, b, m, n, k, *steps, BM=16, BN=16, BK=16, num_warps=2,
    )  # fmt: skip

    assert np.allclose(c, a.astype("f8") @ b.astype("f8"), rtol=1e-4, atol=1e-4)
    assert done.loaded == {"A": 2 * m * k * a.itemsize, "B": 2 * k * n * a.itemsize}
    assert ("tf32" in done.notes) == (dtype is np.float32)


def test_torch_tensors() -> None:
    """On the CPU, strided and bfloat16; a launch in Triton's own words changes them in place."""
    torch = pytest.importorskip("torch")
    x = torch.arange(12, dtype=torch.bfloat16).reshape(3, 4).T
    out = torch.zeros(12, dtype=torch.bfloat16)

    run(kernels.twice, 1, out, x, BLOCK=4)

    assert out[:4].tolist() == [0, 2, 6, 12]


def test_a_launch_as_triton_writes_it() -> None:
    """With NumPy arrays, where the course uses no GPU."""
    x = np.ones(5, np.float32)
    out = np.zeros(5, np.float32)

    kernels.add[(2,)](out, x, x, 5, BLOCK=4)

    assert (out == 2).all()


def test_on_a_gpu_arrays_of_the_host_are_copied(monkeypatch) -> None:
    """A launch takes them there and back; a run counts, on the CPU, unless it is told otherwise."""
    went = []
    modules = {name: sys.modules[f"warpwise.tiles.{name}"] for name in ("install", "run")}
    monkeypatch.setattr(modules["install"], "default_device", lambda: "gpu")
    monkeypatch.setattr(
        modules["run"], "on_gpu", lambda jit, shape, bound, options: went.append(list(bound))
    )
    x = np.ones(5, np.float32)

    kernels.add[(2,)](x.copy(), x, x, 5, BLOCK=4)

    assert went == [["out", "x", "y", "n", "BLOCK"]]
    assert tiles.run(kernels.add, 2, x.copy(), x, x, 5, BLOCK=4).loaded == {"x": 20, "y": 20}


def test_no_mask() -> None:
    """The pointer, the program, the line, the offsets, and what to do."""
    x = np.ones(6, np.float32)
    with pytest.raises(tiles.TileError) as caught:
        run(kernels.add_unmasked, 2, x.copy(), x, x, 6, BLOCK=4)

    line = kernels.add_unmasked.fn.__code__.co_firstlineno + 3
    assert (caught.value.diagnosis, caught.value.pointer) == ("out_of_bounds", "x")
    assert caught.value.line == line
    assert str(caught.value) == lines(f"""
    add_unmasked: program 1 loads outside x, which has 6 elements:
      offsets 6, 7 (2 of 4 lanes that are not masked off)
      line {line}:  total = tl.load(x + i) + tl.load(y + i)
      tl.load has no mask here: give it one that is off for these lanes.
    """)


def test_a_mask_that_lets_lanes_through() -> None:
    x = np.ones(6, np.float32)
    with pytest.raises(
        tiles.TileError, match=r"offset 6 \(1 of 3 lanes(.|\n)*mask is on for these"
    ):
        run(kernels.add_mask_too_wide, 2, x.copy(), x, x, 6, BLOCK=4)


def test_before_the_start_is_outside_too() -> None:
    """Also where another argument lies in memory before it."""
    both = np.ones(16, np.float32)
    with pytest.raises(tiles.TileError, match=r"outside x, .*\n  offset -1 \(1 of 8"):
        run(kernels.before_the_start, 1, both[:8], both[8:], BLOCK=8)


def test_a_neighbouring_row_is_legal() -> None:
    """Inside the array but outside the row: a GPU does not mind, and nothing is said."""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    out = np.zeros(4, np.float32)

    done = run(kernels.twice, 1, out, x, BLOCK=4)

    assert out.tolist() == [0, 2, 6, 12]
    assert not done.findings


def test_what_is_masked_off_is_undefined() -> None:
    """Without other= such lanes hold anything; here NaN, and the line is known."""
    out = np.zeros(1, np.float32)
    done = run(kernels.sum_without_other, 1, out, np.ones(3, np.float32), 3, BLOCK=4)

    assert np.isnan(out[0])
    assert list(done.undefined.values()) == [1]


def test_a_single_value_that_is_masked_off() -> None:
    """other=0.0 counts as given, though it is false."""
    out = np.ones(3, np.float32)
    done = run(kernels.one_or_zero, 3, out, np.full(2, 5, np.float32), 2)

    assert out.tolist() == [5, 5, 0] and not done.undefined


def test_a_mask_made_of_a_tile_and_a_scalar() -> None:
    """The interpreter keeps such a condition as integers; they are no indices."""
    out = np.full(6, -1, np.int32)
    run(kernels.whole_tiles, 2, out, 6, BLOCK=4)

    assert out.tolist() == [0, 1, 2, 3, -1, -1]


def test_a_condition_on_a_float_scalar() -> None:
    out = np.full(4, -1, np.float32)
    run(kernels.below_all, 1, out, np.array([0.5, 3, -2, 1.5], np.float32), 2.0, BLOCK=4)

    assert out.tolist() == [0.5, -1, -1, 1.5]


def test_block_pointers() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    out = np.zeros_like(x)
    run(kernels.block_pointers, 2, out, x, 2, 3, BLOCK=4)

    assert np.array_equal(out, 2 * x)


def test_tensor_descriptors() -> None:
    """What lies beyond the tensor is zero and not stored."""
    x = np.arange(24, dtype=np.float32).reshape(6, 4)
    out = np.zeros_like(x)
    done = run(kernels.descriptors, 2, out, x, 6, 4, BLOCK=4)

    assert np.array_equal(out, 2 * x)
    assert done.loaded == {"x": 96} and done.masked_off == 16


def test_two_programs_at_one_element() -> None:
    """Stores of two programs, and a load of what another stored."""
    done = run(kernels.last_wins, 2, np.zeros(4, np.int32), BLOCK=4)
    assert [one.kind for one in done.findings] == ["race"]
    assert "program 1 stores to out at offset 0, which program number 0 has stored to" in str(done)

    done = run(kernels.reads_neighbour, 3, np.zeros(3, np.int32), BLOCK=4)
    assert "program 1 loads out at offset 0, which program number 0 has stored" in str(done)


def test_a_store_over_what_another_program_has_loaded() -> None:
    """Right here, where programs run one after another."""
    x = np.arange(8, dtype=np.int32)
    done = run(kernels.shifted_in_place, 2, x, 8, BLOCK=4)

    assert x.tolist() == [1, 2, 3, 4, 5, 6, 7, 0]
    assert "program 1 stores to x at offset 4, which program number 0 has loaded" in str(done)


@pytest.mark.parametrize("kernel", [kernels.sum_behind_an_atomic, kernels.cleared_by_one])
def test_an_atomic_that_orders_nothing(kernel) -> None:
    """One before the store of the other program, or one that meets a plain store."""
    args = [np.zeros(1, np.int32) for _ in kernel.params]
    done = run(kernel, 3, *args)

    assert args[0][0] == 3 and [one.kind for one in done.findings][:1] == ["race"]


def test_atomics_that_order() -> None:
    """The last program sums the parts; a lock around an addition."""
    out, parts, count = np.zeros(1, np.int32), np.zeros(4, np.int32), np.zeros(1, np.int32)
    done = run(kernels.last_one_sums, 4, out, parts, count, P=4)
    assert out[0] == 10 and not done.findings

    done = run(kernels.under_a_lock, 3, count, np.zeros(1, np.int32))
    assert count[0] == 7 and not done.findings


def test_atomics() -> None:
    """Lanes of one tile at one element count one by one; no race is told."""
    x = np.array([0, 1, 1, 1, 2, 0], np.int32)
    out = np.zeros(3, np.int32)
    done = run(kernels.histogram, 2, out, x, 6, BLOCK=4)
    assert out.tolist() == [2, 3, 1] and not done.findings

    top = np.full(1, -np.inf, np.float32)
    run(kernels.largest, 2, top, np.array([-3, -1, 7, 2], np.float32), BLOCK=2)
    assert top[0] == 7


def test_constants_from_autotune_and_heuristics() -> None:
    """The first configuration, as there is nothing to time; rules are asked."""
    tuned = triton.autotune([triton.Config({"BLOCK": 4}), triton.Config({"BLOCK": 8})], ["n"])
    ruled = triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["n"])})
    x = np.ones(6, np.float32)
    for kernel in (tuned(kernels.add), ruled(kernels.add)):
        out = np.zeros(6, np.float32)
        done = run(kernel, lambda meta: (triton.cdiv(6, meta["BLOCK"]),), out, x, x, 6)
        assert (out == 2).all()
        assert done.programs == (2 if kernel.__class__.__name__ == "Autotuner" else 1)


def test_arguments_beside_each_other_are_told_apart() -> None:
    """Two views of one array: each is an argument of its own."""
    both = np.arange(8, dtype=np.float32)
    out = np.zeros(4, np.float32)
    done = run(kernels.add, 1, out, both[:4], both[4:], 4, BLOCK=4)

    assert out.tolist() == [4, 6, 8, 10]
    assert done.loaded == {"x": 16, "y": 16}


def test_a_reversed_view() -> None:
    """Its first element lies last in memory."""
    x = np.arange(4, dtype=np.float32)[::-1]
    with pytest.raises(tiles.TileError, match="ends at offset 0"):
        run(kernels.twice, 1, np.zeros(4, np.float32), x, BLOCK=4)


REFUSED = {
    "waits": (lambda: run(kernels.waits, 1, np.zeros(1, np.int32), BLOCK=1), "waits here for an"),
    "condition": (
        lambda: run(kernels.condition_on_tile, 1, *np.ones((2, 4), np.float32), BLOCK=4),
        "a condition has to be one value",
    ),
    "range": (lambda: run(kernels.odd_range, 1, np.ones(6, np.float32), BLOCK=6), "power of 2"),
    "dot": (
        lambda: run(kernels.small_dot, 1, *np.ones((2, 8, 8), np.float16), BLOCK=8), "K >= 16"
    ),
    "brackets": (
        lambda: run(kernels.brackets_load, 1, np.ones(4), np.ones(4), BLOCK=4), "in brackets"
    ),
    "stored": (
        lambda: run(kernels.brackets_store, 1, np.ones(4), np.ones(4), BLOCK=4), "in brackets"
    ),
    "missing": (lambda: run(kernels.add, 1, BLOCK=4), "Missing: out, x, y, n."),
    "unknown": (
        lambda: run(kernels.odd_range, 1, np.ones(4), BLOCK=4, TILE=3), "Unknown: TILE."
    ),
    "grid": (lambda: run(kernels.odd_range, 1.5, np.ones(4), BLOCK=4), "whole numbers"),
    "list": (lambda: run(kernels.odd_range, 1, [1.0], BLOCK=4), "out is a list"),
    "plain": (lambda: run(lines, 1, np.ones(4)), "lines is no Triton kernel"),
    "dtype": (lambda: run(kernels.odd_range, 1, np.ones(4, complex), BLOCK=4), "complex128"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    """One sentence, with the line where there is one."""
    call, said = REFUSED[name]
    with pytest.raises(tiles.TileError) as caught:
        call()

    assert said in str(caught.value)
    assert "Traceback" not in str(caught.value)


def test_the_language_is_as_it_was() -> None:
    """After a launch, also one that was stopped, kernels compile as before."""
    from warpwise.compiler import compile_triton

    x = np.ones(6, np.float32)
    with pytest.raises(tiles.TileError):
        run(kernels.add_unmasked, 2, x.copy(), x, x, 6, BLOCK=4)
    args = {"out": "*fp32", "x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": 64}

    assert "ld.global" in compile_triton(kernels.add, args).ptx.text


@pytest.mark.slow
@pytest.mark.parametrize("variable", ["", "1"])
def test_with_and_without_the_variable_of_triton(variable: str) -> None:
    """TRITON_INTERPRET changes what @triton.jit makes; the launch is the same, torch stays out."""
    code = """
        import sys, numpy as np
        from tests.tiles import kernels
        from warpwise import tiles
        x = np.arange(4, dtype=np.float32).reshape(1, 4); out = np.zeros_like(x)
        tiles.run(kernels.softmax, 1, out, x, 4, 4, 4, device="cpu", BLOCK=4)
        print(out.sum(), "torch" in sys.modules)
    """
    import os

    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True,
        env={**os.environ, "TRITON_INTERPRET": variable},
    )  # fmt: skip
    assert done.stdout.split() == ["1.0", "False"]
