"""Matrix instructions: who holds what, the values, the refusals, and what Numba compiles."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import warpwise
from warpwise import cuda, mma_m16n8k8, mma_m16n8k16, profile, sanitize
from warpwise.compiler import compile_kernel
from warpwise.numerics import round_to
from warpwise.simt import Kernel, SimtError, run
from warpwise.simt.fragments import M16N8K8, M16N8K16, TILES
from warpwise.simt.matrix import tf32


@cuda.jit
def halves(out, a, b):
    fa = cuda.local.array(8, np.float16)
    fb = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x % 32
    g, p = lane // 4, lane % 4
    w = cuda.grid(1) // 32
    for i in range(8):
        fa[i] = a[w, g + i // 2 % 2 * 8, 2 * p + i % 2 + i // 4 * 8]
    for i in range(4):
        fb[i] = b[w, 2 * p + i % 2 + i // 2 * 8, g]
        acc[i] = 1
    mma_m16n8k16(acc, fa, fb, acc)
    for i in range(4):
        out[w, g + i // 2 * 8, 2 * p + i % 2] = acc[i]


@cuda.jit
def singles(out, a, b):
    fa = cuda.local.array(4, np.float32)
    fb = cuda.local.array(2, np.float32)
    zero = cuda.local.array(4, np.float32)
    d = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    g, p = lane // 4, lane % 4
    for i in range(4):
        fa[i] = a[g + i % 2 * 8, p + i // 2 * 4]
        zero[i] = 0
    for i in range(2):
        fb[i] = b[p + i * 4, g]
    mma_m16n8k8(d, fa, fb, c=zero)
    for i in range(4):
        out[g + i // 2 * 8, 2 * p + i % 2] = d[i]


def matrices(dtype: type, warps: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    return tuple(rng.normal(size=(warps, *s)).astype(dtype) for s in ((16, k), (k, 8)))


@pytest.mark.parametrize("tile", TILES.values(), ids=TILES)
@pytest.mark.parametrize("matrix", "abc")
def test_each_element_has_one_holder(tile, matrix: str) -> None:
    """A fragment is a permutation: 32 lanes times its registers are all elements, each once."""
    part = getattr(tile, matrix)
    assert 32 * part.held == part.rows * part.columns
    assert len({tuple(place) for place in part.places.reshape(-1, 2).tolist()}) == 32 * part.held
    for lane in (0, 13, 31):
        for i, (row, column) in enumerate(part.places[lane]):
            assert part.holders[row, column].tolist() == [lane, i]
    whole = np.arange(part.rows * part.columns).reshape(part.rows, part.columns)
    assert np.array_equal(part.scatter(part.gather(whole)), whole)


#: Spot values of the figures in the PTX manual: (lane, register) -> (row, column).
PTX = [
    (M16N8K16.a, 0, 0, (0, 0)), (M16N8K16.a, 1, 2, (8, 2)), (M16N8K16.a, 31, 7, (15, 15)),
    (M16N8K16.a, 4, 4, (1, 8)), (M16N8K16.b, 1, 1, (3, 0)), (M16N8K16.b, 30, 2, (12, 7)),
    (M16N8K16.c, 5, 1, (1, 3)), (M16N8K16.c, 5, 2, (9, 2)), (M16N8K8.a, 6, 1, (9, 2)),
    (M16N8K8.a, 6, 2, (1, 6)), (M16N8K8.b, 6, 0, (2, 1)), (M16N8K8.b, 6, 1, (6, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("part", "lane", "register", "place"), PTX)
def test_places_are_those_of_the_manual(part, lane: int, register: int, place) -> None:
    """Single elements, read off the figures."""
    assert tuple(part.places[lane, register]) == place


@pytest.mark.parametrize("order", ["lockstep", "warp-serial"])
def test_products_of_several_warps(order: str) -> None:
    """D = A B + C for each warp; the products are exact, the sum is rounded once."""
    a, b = matrices(np.float16, 6, 16)
    out = np.zeros((6, 16, 8), np.float32)
    run(halves, 2, 96, (out, a, b), order=order)
    exact = a.astype(float) @ b.astype(float) + 1
    assert np.array_equal(out, exact.astype(np.float32))


def test_single_precision_is_rounded_to_tf32() -> None:
    """a and b are rounded to TF32, halfway away from zero."""
    (a,), (b,) = matrices(np.float32, 1, 8)
    a[0, 0] = 1 + 2**-11  # halfway
    out = np.zeros((16, 8), np.float32)
    singles[1, 32](out, a, b)
    near = [round_to(x, "tf32", "nearest_away") for x in (a, b)]
    assert np.array_equal(out, (near[0] @ near[1]).astype(np.float32))
    special = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 3e38], np.float32)
    assert np.array_equal(tf32(special)[:5], special[:5], equal_nan=True)


def test_it_is_one_instruction() -> None:
    """A warp issues one for it, beside the reads and the stores of its fragments."""
    a, b = matrices(np.float16, 1, 16)
    report = profile(halves[1, 32], np.zeros((1, 16, 8), np.float32), a, b)
    line = next(line for line in report.lines if "mma_" in line.text)
    assert line.work.slots == 1 + 8 + 4 + 4 + 4


def test_part_of_a_warp_is_found() -> None:
    """All 32 lanes have to come."""
    a, b = matrices(np.float16, 2, 16)
    found = sanitize(halves[1, 48], np.zeros((2, 16, 8), np.float32), a, b)
    assert found[0].text.startswith(
        "halves: mma_m16n8k16: thread 32 calls it, and lane 16 of its warp does not (16 threads do)"
    )
    assert "guard the loads and stores, not the call" in found[0].text


def refused(call: str) -> str:
    text = f"""
from warpwise import cuda, mma_m16n8k16
@cuda.jit
def k(x):
    a = cuda.local.array(8, np.float16)
    b = cuda.local.array(4, np.float16)
    d = cuda.local.array(4, np.float32)
    a[0] = b[0] = d[0] = 0
    {call}
    x[0] = d[0]
"""
    with pytest.raises(SimtError) as error:
        Kernel.from_source(text, "k")[1, 32](np.zeros(1, np.float32))
    return str(error.value)


def test_wrong_fragments_are_refused() -> None:
    """With the name of the array, and what it has to be."""
    assert "takes four arrays: the result d, then a, b and c" in refused("mma_m16n8k16(d, a, b)")
    said = refused("mma_m16n8k16(a, d, b, d)")
    assert "d, as a of mma_m16n8k16, is an array of float32 with 1 dimension" in said
    assert "a = cuda.local.array(8, np.float16)" in said
    said = refused("mma_m16n8k16(d, b, b, d)")
    assert "b[4] is outside" in said or ("b" in said and "4" in said)


def test_the_host_cannot_call_it() -> None:
    """It says so."""
    with pytest.raises(RuntimeError, match="only inside a kernel"):
        mma_m16n8k16(1, 2, 3, 4)
    assert pickle.loads(pickle.dumps(mma_m16n8k16)) is mma_m16n8k16
    assert warpwise.mma_m16n8k8 is mma_m16n8k8


@pytest.mark.parametrize(
    ("kernel", "dtype", "k", "instruction"),
    [
        (halves, np.float16, 16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
        (singles, np.float32, 8, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"),
    ],
)
def test_numba_compiles_the_instruction(kernel, dtype: type, k: int, instruction: str) -> None:
    """On a GPU the call is the instruction itself, with its fragments in registers."""
    pytest.importorskip("numba_cuda")
    a, b = matrices(dtype, 1, k)
    out = np.zeros((1, 16, 8), np.float32)
    args = (out, a, b) if kernel is halves else (out[0], a[0], b[0])
    compiled = compile_kernel(kernel, args, "sm_80")
    assert compiled.ptx.text.count(instruction) == 1
    assert compiled.spills == 0
    assert "st.local" not in compiled.ptx.text
