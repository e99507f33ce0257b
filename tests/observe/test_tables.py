"""Every row of the published and derived tables: one warp's access at a time."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warpwise.observe import Report, profile
from warpwise.observe.touched import Touched
from warpwise.simt import Kernel

HEADER = "from numba import cuda\n"
BLOCK_8X4, BLOCK_16X2, BLOCK_16X16 = (8, 4), (16, 2), (16, 16)


def rows(name: str) -> list[dict[str, str]]:
    """The rows of a table beside this file."""
    with open(Path(__file__).parent / name, newline="") as file:
        return list(csv.DictReader(file))


def of(text: str, block: Any, *args: Any, **constants: Any) -> Report:
    """The report of one block of the kernel `k` of a text."""
    return profile(Kernel.from_source(HEADER + text, "k", constants)[1, block], *args)


# -- global memory ------------------------------------------------------------------------------

WIDE = "16 bytes"  # a load that no type of Numba makes by itself, so it is asked for itself
#: Pattern without a number in it -> (dtype, shape of x, index, guard, block).
LOADS: dict[str, tuple[str, Any, str, str, Any]] = {
    "f32 reversed": ("float32", 32, "31 - t", "", 32),
    "f32 random perm": ("float32", 32, "(t * 7 + 3) % 32", "", 32),
    "f32 broadcast (same addr)": ("float32", 32, "0 * t", "", 32),
    "f32 2 groups i//16": ("float32", 32, "t // 16", "", 32),
    "f32 pairs i//2": ("float32", 32, "t // 2", "", 32),
    "f32 first 16 lanes only": ("float32", 32, "t", "t < 16", 32),
    "f32 even lanes only": ("float32", 32, "t", "t % 2 == 0", 32),
    "f32 1 lane": ("float32", 32, "t", "t == 5", 32),
    "u8 unit": ("uint8", 32, "t", "", 32),
    "f16 unit": ("float16", 32, "t", "", 32),
    "f64 unit aligned": ("float64", 32, "t", "", 32),
    "float2 unit": ("float64", 32, "t", "", 32),
    "float4 unit aligned": (WIDE, 32, "t", "", 32),
    "float4 offset 1 float4": (WIDE, 33, "t + 1", "", 32),
    "float4 stride 2": (WIDE, 64, "2 * t", "", 32),
    "float4 stride 8 (128B)": (WIDE, 256, "8 * t", "", 32),
    "AoS float3 .x (stride 12B)": ("float32", (32, 3), "t, 0", "", 32),
    "AoS 16B struct .x": ("float32", (32, 4), "t, 0", "", 32),
    "complex128 (16B)": (WIDE, 32, "t", "", 32),
    "f32 2D block 8x4 on row pitch 1024 elem": ("float32", (4, 1024), "ty, t", "", BLOCK_8X4),
    "f32 2D block 16x2 on row pitch 1024 elem": ("float32", (2, 1024), "ty, t", "", BLOCK_16X2),
    "f32 2D block 16x2 row pitch 1000": ("float32", (2, 1000), "ty, t", "", BLOCK_16X2),
    # published
    "k-th thread k-th 4 B word, 32 B-aligned": ("float32", 40, "t + 8", "", 32),
    "permuted within or across the 4 segments": ("float32", 32, "t ^ 21", "", 32),
    "sequential 4 B words, not 32 B-aligned": ("float32", 40, "t + 3", "", 32),
    "offsetCopy, offset multiple of 8 words": ("float32", 64, "t + 24", "", 32),
    "offsetCopy, other offsets": ("float32", 64, "t + 17", "", 32),
    "strideCopy stride 2": ("float32", 64, "2 * t", "", 32),
    "stride large, 32 threads": ("float32", 32_000, "1000 * t", "", 32),
    "all lanes read one 4 B value": ("float32", 32, "0 * t + 9", "", 32),
    "f32 consecutive": ("float32", 32, "t", "", 32),
    "f32 stride 32": ("float32", 1024, "32 * t", "", 32),
    "float4, 32 neighbouring lanes": (WIDE, 32, "t", "", 32),
    "float4, scattered": (WIDE, 1200, "37 * t", "", 32),
    "complex double (16 B), warp of 32 consecutive": (WIDE, 32, "t", "", 32),
}

#: Pattern with a number n in it -> (shape of x, index).
NUMBERED: list[tuple[str, Any, str]] = [
    (r"unit (?:aligned|offset) (\d+)(?: elem)?", 64, "t + {n}"),
    (r"unit offset (\d+)", 64, "t + {n}"),
    (r"offset (\d+) elem", 64, "t + {n}"),
    (r"stride (\d+)", 1100, "{n} * t"),
    (r"column of row-major width (\d+)", (32, 0), "t, 0"),
]
DTYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "u8": "uint8"}


def load_of(pattern: str) -> tuple[str, Any, str, str, Any]:
    """(dtype, shape of x, index, guard, block) of a row."""
    if pattern in LOADS:
        return LOADS[pattern]
    short, rest = pattern.split(" ", 1)
    for text, shape, index in NUMBERED:
        found = re.fullmatch(text, rest)
        if found:
            n = int(found[1])
            shape = (32, n) if isinstance(shape, tuple) else shape
            return DTYPES[short], shape, index.format(n=n), "", 32
    raise AssertionError(f"no kernel for the row {pattern!r}")


@pytest.mark.parametrize("row", rows("coalescing.csv"), ids=lambda row: row["pattern"])
def test_coalescing(row: dict[str, str]) -> None:
    """Sectors, lines, bytes and efficiency of one warp's load, and sectors of its store."""
    dtype, shape, index, guard, block = load_of(row["pattern"])
    if dtype == WIDE:
        at = eval(index, {"t": np.arange(32)}) + np.zeros((1, 32), np.int64)
        counts = Touched("x", 16 * shape).access(at, np.ones((1, 32), bool), 16, 1)
        assert counts.tolist()[:3] == [1, 32, int(row["sectors"])]
        assert row["lines_128b"] in ("", str(counts[4]))
        assert row["requested_bytes"] in ("", str(16 * 32))
        assert row["moved_bytes"] in ("", str(32 * counts[2]))
        return
    text = f"""
@cuda.jit
def k(x, out):
    t, ty = cuda.threadIdx.x, cuda.threadIdx.y
    if {guard or "True"}:
        {{}}
"""
    x = np.zeros(shape, dtype)
    loads = of(text.format(f"v = x[{index}]"), block, x, x).loads
    stores = of(text.format(f"x[{index}] = 0"), block, x, x).stores
    for got in (loads, stores):
        assert got.requests == 1
        assert got.sectors == int(row["sectors"])
        if row["lines_128b"]:
            assert got.lines_128b == int(row["lines_128b"])
        if row["requested_bytes"]:
            assert got.bytes_requested == int(row["requested_bytes"])
        if row["moved_bytes"]:
            assert got.bytes_moved == int(row["moved_bytes"])
        if row["efficiency_pct"]:
            used = 100 * got.bytes_per_sector / 32
            assert used == pytest.approx(float(row["efficiency_pct"]), abs=0.05)


@pytest.mark.parametrize(("dtype", "sectors"), [("complex64", 8), ("complex128", 16)])
def test_a_complex_number_is_two_requests(dtype: str, sectors: int) -> None:
    """One for the real parts and one for the imaginary parts, each touching all sectors."""
    x = np.zeros(32, dtype)
    report = of(
        "@cuda.jit\ndef k(x, out):\n    t = cuda.threadIdx.x\n    out[t] = x[t]\n", 32, x, x
    )
    for got in (report.loads, report.stores):
        assert (got.requests, got.lanes, got.sectors) == (2, 64, 2 * sectors)
        assert got.bytes_requested == x.nbytes and got.ideal_sectors == sectors
    assert report.unique_sectors["x"] == sectors


# -- shared memory --------------------------------------------------------------------------------

#: Pattern -> (dtype, elements of the tile, index, block).
TILES: dict[str, tuple[str, int, str, Any]] = {
    "f32 random permutation": ("float32", 32, "(t * 7 + 3) % 32", 32),
    "f32 lane//2 (pairs share a word)": ("float32", 32, "t // 2", 32),
    "f32 lane%4": ("float32", 32, "t % 4", 32),
    "f32 32x32 tile column, no pad": ("float32", 1024, "t * 32", 32),
    "f32 32x33 tile column": ("float32", 1056, "t * 33", 32),
    "f32 32x32 xor swizzle column c=7: row*32+(7^row)": ("float32", 1024, "t * 32 + (7 ^ t)", 32),
    "f32 32x32 xor swizzle row r=5": ("float32", 1024, "5 * 32 + (5 ^ t)", 32),
    "f32 16x16 tile, block 16x16: [ty][tx]": ("float32", 256, "ty * 16 + t", BLOCK_16X16),
    "f32 16x16 tile col: [tx][ty]": ("float32", 256, "t * 16 + ty", BLOCK_16X16),
    "f32 16x17 tile col": ("float32", 272, "t * 17 + ty", BLOCK_16X16),
    "u8 unit": ("uint8", 32, "t", 32),
    "f16 unit": ("float16", 32, "t", 32),
    "f16 stride 2 halves": ("float16", 64, "2 * t", 32),
    "f16 32x32 tile column (64B rows)": ("float16", 1024, "t * 32", 32),
    "f16 32x34 tile column (68B rows)": ("float16", 1088, "t * 34", 32),
    "f64 unit": ("float64", 32, "t", 32),
    "f64 stride 2": ("float64", 64, "2 * t", 32),
    "f64 stride 3": ("float64", 96, "3 * t", 32),
    "f64 32x32 tile column": ("float64", 1024, "t * 32", 32),
    "f64 32x33 tile column": ("float64", 1056, "t * 33", 32),
    "f64 broadcast": ("float64", 32, "0 * t", 32),
    "float4 unit": ("complex128", 32, "t", 32),
    "float4 stride 2": ("complex128", 64, "2 * t", 32),
    "float4 stride 3": ("complex128", 96, "3 * t", 32),
    "float4 all lanes same 16B": ("complex128", 32, "0 * t", 32),
    "float4 stride 32 f32 (128B rows)": ("complex128", 256, "8 * t", 32),
    "float4 stride 36 f32 (144B rows)": ("complex128", 288, "9 * t", 32),
}

SHARED = """
@cuda.jit
def k(out):
    s = cuda.shared.array(N, dtype)
    t, ty = cuda.threadIdx.x, cuda.threadIdx.y
    if {guard}:
        {access}
"""


def tile_of(pattern: str) -> tuple[str, int, str, Any]:
    """(dtype, elements, index, block) of a row."""
    found = re.fullmatch(r"f32 tile\[(\d+)\*lane\]", pattern)
    return ("float32", 2048, f"{found[1]} * t", 32) if found else TILES[pattern]


@pytest.mark.parametrize("row", rows("banks.csv"), ids=lambda row: row["pattern"])
def test_banks(row: dict[str, str]) -> None:
    """Wavefronts, the fewest possible, and the worst conflict of one warp's load and store."""
    dtype, elements, index, block = tile_of(row["pattern"])
    out = np.zeros(1, np.float32)
    for access in (f"v = s[{index}]", f"s[{index}] = 0"):
        text = SHARED.format(guard="True", access=access)
        got = of(text, block, out, N=elements, dtype=np.dtype(dtype)).shared
        per_request = got.wavefronts / got.requests
        assert np.dtype(dtype).itemsize * 8 == int(row["bits_per_lane"])
        assert per_request == int(row["wavefronts"])
        assert got.worst == int(row["max_way_in_a_phase"])
        if "merged" not in row["note"]:  # the table's minimum and excess
            assert got.ideal_wavefronts / got.requests == int(row["min_wavefronts"])
            assert got.bank_conflicts / got.requests == int(row["excess"])


@pytest.mark.parametrize(
    ("dtype", "index", "guard", "wavefronts"),
    [
        ("complex128", "(t // 8) * 2 + ((t % 8) // 2) % 2", "True", 2),
        ("complex128", "(t // 8) * 2 + (((t % 8) // 2) % 2 if t < 16 else (t % 8) % 2)", "True", 4),
        ("complex128", "(t // 16) * 4 + (t % 16) // 8 + (t % 8) // 4 * 8", "True", 4),
        ("complex128", "4 + 0 * t", "t == 15 or t == 16", 2),
        ("complex128", "4 + 0 * t", "t == 0 or t == 15", 1),
        ("float64", "t", "True", 2),
        ("float64", "t // 2", "True", 1),
    ],
)
def test_merged_phases(dtype: str, index: str, guard: str, wavefronts: int) -> None:
    """Wide loads whose neighbours read the same: seen with Nsight Compute on A100 and Turing."""
    text = SHARED.format(guard=guard, access=f"v = s[{index}]")
    got = of(text, 32, np.zeros(1, np.float32), N=64, dtype=np.dtype(dtype)).shared
    assert (got.requests, got.wavefronts) == (1, wavefronts)
