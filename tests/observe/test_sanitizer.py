"""The sanitizer: what it must find, with both parties, and what it must not report."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpwise.observe import Census, Finding, profile, sanitize
from warpwise.simt import Kernel, SimtError, run
from warpwise.simt import api as cuda

HEADER = "from numba import float32, float64, int32\n@cuda.jit\n"


def findings(text: str, grid: Any, block: Any, *args: Any) -> list[Finding]:
    """Findings of launching the kernel `k` of a text; its `def` stands in line 4."""
    return sanitize(Kernel.from_source(HEADER + "\n" + text.lstrip("\n"), "k")[grid, block], *args)


def kinds(text: str, grid: Any, block: Any, *args: Any) -> set[tuple[str, str, str]]:
    """(kind, hazard, severity) of each finding."""
    return {(f.kind, f.hazard, f.severity) for f in findings(text, grid, block, *args)}


SUM = """
def k(out):
    s = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    s[t] = t
    {barrier}
    if t == 0:
        a = 0
        for j in range(128):
            a += s[j]
        out[0] = a
"""


def test_a_missing_barrier_has_508_bytes_of_hazards() -> None:
    """NVIDIA's racecheck sample block_error: 127 threads x 4 bytes, 31 of them in the same warp."""
    found = findings(SUM.format(barrier="pass"), 1, 128, np.zeros(1))
    assert {(f.hazard, f.severity, f.count) for f in found} == {
        ("RAW", "error", 96), ("RAW", "warning", 31),
    }  # fmt: skip
    assert sum(f.bytes for f in found) == 508
    assert found[0].text == (
        "k: race on s[32]: thread 0 reads it in line 12, thread 32 wrote it in line 7, and nothing "
        "orders them\n"
        "  line 12:  a += s[j]\n"
        "  line 7:  s[t] = t\n"
        "  Put cuda.syncthreads() on the way between lines 7 and 12."
    )
    assert found[0].threads == (((0, 0, 0), (0, 0, 0)), ((0, 0, 0), (32, 0, 0)))
    assert findings(SUM.format(barrier="cuda.syncthreads()"), 1, 128, np.zeros(1)) == []


WARP = """
def k(out):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    s[t] = t
    {barrier}
    if t % 32 == 0:
        a = 0
        for j in range(32):
            a += s[t + j]
        out[t // 32] = a
"""


def test_a_missing_syncwarp_is_a_warning() -> None:
    """NVIDIA's sample warp_error: 2 x 31 x 4 bytes within warps; syncwarp mends it."""
    found = findings(WARP.format(barrier="pass"), 1, 64, np.zeros(2))
    assert [(f.hazard, f.severity, f.bytes) for f in found] == [("RAW", "warning", 248)]
    assert findings(WARP.format(barrier="cuda.syncwarp()"), 1, 64, np.zeros(2)) == []


GEMM = """
def k(c, a, b):
    sa = cuda.shared.array((8, 8), float32)
    sb = cuda.shared.array((8, 8), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    acc = float32(0)
    for p in range(a.shape[1] // 8):
        sa[ty, tx] = a[y, p * 8 + tx]
        sb[ty, tx] = b[p * 8 + ty, x]
        {first}
        for j in range(8):
            acc += sa[ty, j] * sb[j, tx]
        {second}
    c[y, x] = acc
"""


@pytest.mark.parametrize(
    ("first", "second", "hazards"),
    [(1, 1, set()), (1, 0, {"WAR"}), (0, 1, {"RAW"}), (0, 0, {"RAW", "WAR"})],
)
def test_both_barriers_of_a_tiled_product_are_needed(
    first: int, second: int, hazards: set[str]
) -> None:
    """Without the first, tiles are read too early; without the second, overwritten too early."""
    barrier = ["pass", "cuda.syncthreads()"]
    text = GEMM.format(first=barrier[first], second=barrier[second])
    a = np.random.default_rng(0).random((16, 32), np.float32)
    b = np.random.default_rng(1).random((32, 24), np.float32)
    found = findings(text, (3, 2), (8, 8), np.zeros((16, 24), np.float32), a, b)
    assert {f.hazard for f in found} == hazards
    assert all(f.kind == "race" for f in found)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # every block its own elements, every thread its own element
        ("out[i] = i", set()),
        # neighbours read what others write, across warps and blocks
        ("if i + 1 < out.size: out[i] = out[i + 1]",
         {("race", "WAR", "error"), ("race", "WAR", "warning")}),
        # all write one element: different values, the same value
        ("out[0] = i", {("race", "WAW", "error"), ("race", "WAW", "warning")}),
        ("out[0] = 7", {("race", "WAW", "info")}),
        # atomics do not race with each other, but with a plain access
        ("cuda.atomic.add(out, 0, 1.0)", set()),
        ("cuda.atomic.add(out, 0, 1.0)\n    v = out[0]", {("race", "RAW", "error")}),
        # ... also when the only one that reads is the one that was last
        ("cuda.atomic.add(out, 0, 1.0)\n    if i == 127: v = out[0]", {("race", "RAW", "error")}),
        # one block sets the counter up, its barrier does not reach the others
        ("if i == 0: out[0] = 0\n    cuda.syncthreads()\n    cuda.atomic.add(out, 0, 1.0)",
         {("race", "WAW", "error")}),
        # a reader of another block is not forgotten for later ones of the writer's own
        ("if i >= 64: v = out[0]\n    if i < 64: v = out[0]\n    if i < 32: v = out[0]\n"
         "    cuda.syncthreads()\n    if i == 0: out[0] = 1", {("race", "WAR", "error")}),
        # ... nor a lane of the warp that read after the others had met
        ("if i < 2: v = out[0]\n    cuda.syncwarp()\n    if i == 1: v = out[0]\n"
         "    if i == 0: v = out[0]\n    if i == 0: out[0] = 1", {("race", "WAR", "warning")}),
        # reading is free
        ("v = out[0]", set()),
        # a barrier does not order blocks
        ("out[cuda.threadIdx.x] = 1\n    cuda.syncthreads()\n    v = out[0]",
         {("race", "WAW", "info"), ("race", "RAW", "error")}),
    ],
)  # fmt: skip
def test_global_memory(body: str, expected: set[tuple[str, str, str]]) -> None:
    """Two blocks of 64 threads on one array."""
    text = f"def k(out):\n    i = cuda.grid(1)\n    {body}\n"
    assert kinds(text, 2, 64, np.zeros(128)) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("v = s[t]", {("uninitialised", "", "error")}),
        ("s[t] = 1\n    v = s[t]", set()),
        ("if t < 32: s[t] = 1\n    cuda.syncthreads()\n    v = s[t]",
         {("uninitialised", "", "error")}),
        ("s[t] = t\n    cuda.syncthreads()\n    v = s[63 - t]", set()),
        ("s[t] = t\n    v = s[63 - t]", {("race", "RAW", "error")}),
        ("s[t] = t\n    cuda.syncwarp()\n    v = s[63 - t]", {("race", "RAW", "error")}),
        ("s[t] = t\n    cuda.syncwarp()\n    v = s[t ^ 1]", set()),
        ("s[t] = t\n    cuda.syncthreads()\n    s[t] = s[(t + 32) % 64]",
         {("race", "WAR", "error")}),
        ("s[t] = t\n    cuda.syncthreads()\n    v = s[(t + 32) % 64]\n    cuda.syncthreads()\n"
         "    s[t] = v", set()),
        ("s[0] = t", {("race", "WAW", "error"), ("race", "WAW", "warning")}),
        ("s[0] = 3", {("race", "WAW", "info")}),
        ("if t == 0: s[0] = 3\n    cuda.syncthreads()\n    v = s[0]", set()),
        ("s[t] = t\n    v = cuda.shfl_xor_sync(0xffffffff, t, 1)\n    w = s[t ^ 1]",
         {("race", "RAW", "warning")}),  # shuffles order no memory
        ("a = cuda.local.array(2, float32)\n    v = a[t % 2]", {("uninitialised", "", "error")}),
        ("a = cuda.local.array(2, float32)\n    a[0] = 1\n    v = a[0]", set()),
        ("if t < 9: cuda.syncthreads()", {("divergent_barrier", "", "error")}),
        ("s[t + 1] = 0", {("out_of_bounds", "", "error")}),
        ("while t < 5: pass", {("livelock", "", "error")}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("blocks", [1, 3])
def test_shared_and_local_memory(
    body: str, expected: set[tuple[str, str, str]], blocks: int
) -> None:
    """One rule at a time, for one block and for several."""
    text = f"""
def k(out):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    {body}
"""
    assert kinds(text, blocks, 64, np.zeros(64)) == expected


def test_blocks_that_differ_are_looked_at_one_by_one() -> None:
    """A race in the last block only is found, with its block."""
    text = """
def k(out):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    s[t] = t
    if cuda.blockIdx.x < 3:
        cuda.syncthreads()
    v = s[63 - t]
"""
    found = findings(text, 4, 64, np.zeros(1))
    assert [(f.hazard, f.count) for f in found] == [("RAW", 64)]
    assert found[0].threads[0][0] == (3, 0, 0)


def test_uninitialised_device_memory() -> None:
    """device_array starts undefined; what a kernel or the host stored is defined."""

    @cuda.jit
    def read(out, x):
        i = cuda.grid(1)
        out[i] = x[i]

    @cuda.jit
    def write(x):
        i = cuda.grid(1)
        if i < 5:
            x[i] = 1

    x = cuda.device_array(8)
    write[1, 8](x)
    found = sanitize(read[1, 8], np.zeros(8), x)
    assert [(f.kind, f.array, f.index, f.count) for f in found] == [("uninitialised", "x", (5,), 3)]
    assert sanitize(read[1, 8], np.zeros(8), cuda.to_device(np.zeros(8))) == []


def test_it_takes_a_launch() -> None:
    """The kernel itself, without brackets, is refused with how to write it."""
    kernel = Kernel.from_source(HEADER + "def k(out):\n    pass\n", "k")
    with pytest.raises(TypeError, match=r"give it a launch: k\[blocks, threads\]"):
        sanitize(kernel, np.zeros(1))


def test_findings_show_themselves() -> None:
    """As text and as HTML; a clean run says so."""
    clean = sanitize(Kernel.from_source(HEADER + "def k(out):\n    pass\n", "k")[1, 1], np.zeros(1))
    assert (str(clean), clean._repr_html_()) == ("no findings", "<div>✓ no findings</div>")
    text = HEADER + "def k(out):\n    out[0] = cuda.grid(1)\n"
    found = sanitize(Kernel.from_source(text, "k")[1, 2], np.zeros(1))
    assert repr(found).startswith("warning (1 times): k: race on out[0]: thread 1 writes it")
    assert "&lt;" not in found._repr_html_()


def test_a_global_device_array_is_watched_and_counted() -> None:
    """An array that no argument owns is treated like one that is, whatever its size."""
    state = cuda.to_device(np.zeros(1_000_000))

    @cuda.jit
    def k(out):
        i = cuda.grid(1)
        state[state.size - 1] = i
        out[i] = state[i]

    assert {f.hazard for f in sanitize(k[2, 64], np.zeros(128))} == {"WAW"}
    report = profile(k[2, 64], np.zeros(128))
    assert report.unique_sectors == {"state": 33, "out": 32}


def test_the_census_counts_atomic_operations() -> None:
    """Each is a read and a write."""
    census = Census()
    text = "@cuda.jit\ndef k(out):\n    cuda.atomic.add(out, cuda.grid(1) % 2, 1)\n"
    run(Kernel.from_source(text, "k"), 1, 6, (np.zeros(3),), [census])
    assert census.writes["out"].tolist() == census.reads["out"].tolist() == [3, 3, 0]
    assert census.writer["out"].tolist() == [4, 5, -1]


DYNAMIC = """
def k(out):
    a = cuda.shared.array(0, {wide})
    b = cuda.shared.array(0, {narrow}){cut}
    t = cuda.threadIdx.x
    a[t] = 1
    b[t] = 2
    cuda.syncthreads()
    out[t] = a[63 - t] + b[63 - t]
"""


@pytest.mark.parametrize(
    ("wide", "narrow", "cut", "clean"),
    [
        ("float64", "int32", "", False), ("float64", "int32", "[128:]", True),
        ("int32", "float64", "", False), ("int32", "float64", "[32:]", True),
        ("float32", "int8", "[255:]", False), ("float32", "int8", "[256:]", True),
    ],
)  # fmt: skip
def test_dynamic_shared_arrays_that_overlap(wide: str, narrow: str, cut: str, clean: bool) -> None:
    """Types of any size on the same bytes; the advice tells where the arrays begin."""
    text = "from numba import int8\n" + HEADER + DYNAMIC.format(wide=wide, narrow=narrow, cut=cut)
    out = np.zeros(64)
    found = sanitize(Kernel.from_source(text, "k")[1, 64, 0, 1024], out)
    assert (found == []) is clean
    assert out.tolist() == [3] * 64 or not clean
    if not cut:
        assert "a and b lie on the same memory" in found[0].text.replace("b and a", "a and b")


def test_views_of_another_type_are_the_same_memory() -> None:
    """A store through a view of int32 and a load of the float32 itself meet."""
    text = """
def k(out, x):
    i = cuda.grid(1)
    x.view(int32)[i] = i
    {barrier}
    out[i] = x[x.size - 1 - i]
"""
    args = np.zeros(64, np.float32), np.zeros(64, np.float32)
    assert {f.hazard for f in findings(text.format(barrier="pass"), 1, 64, *args)} == {"RAW"}
    assert findings(text.format(barrier="cuda.syncthreads()"), 1, 64, *args) == []


def test_a_local_array_does_not_leave_its_function() -> None:
    """Returned, it would be read after its end; passed in and back, it belongs to the caller."""
    text = """
from numba import float32
@cuda.jit(device=True)
def make(a, v):
    {own}
    a[0] = v
    return a

@cuda.jit
def k(out):
    b = cuda.local.array(2, float32)
    c = make(b, 5.0)
    out[0] = c[0]
"""
    out = np.zeros(1)
    Kernel.from_source(text.format(own="pass"), "k")[1, 1](out)
    assert out[0] == 5
    with pytest.raises(SimtError, match="returns a local array, whose memory ends with the functi"):
        own = "a = cuda.local.array(2, float32)"
        Kernel.from_source(text.format(own=own), "k")[1, 1](out)


def test_a_full_table_of_findings_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not listed is not clean."""
    monkeypatch.setattr("warpwise.observe.sanitizer.RECORDS", 2)
    body = "    out[0] = i\n" * 4
    found = findings(f"def k(out):\n    i = cuda.grid(1)\n{body}", 2, 64, np.zeros(1))
    assert sorted(f.kind for f in found) == ["more", "race", "race"]
    assert "more than 2 kinds of findings; the others are not listed" in str(found)


def test_arrays_that_change_places() -> None:
    """After a, b = b, a the store by the name of one goes to the other."""
    text = """
def k(a, b):
    i = cuda.grid(1)
    for turn in range(2):
        a, b = b, a
        a[i] = b[(i + 1) % 64]
        {barrier}
"""
    for barrier, hazards in (("cuda.syncthreads()", set()), ("pass", {"RAW", "WAR"})):
        args = np.zeros(64), np.zeros(64)
        found = findings(text.format(barrier=barrier), 1, 64, *args)
        assert {f.hazard for f in found} == hazards


def test_lines_of_two_functions_say_whose_they_are() -> None:
    """A library function's own lines are of another text than the kernel's."""
    text = "def k(out, x):\n    t = cuda.threadIdx.x\n    out[t] = 1\n    x[t] = out[:64].sum()\n"
    found = [f for f in findings(text, 1, 64, np.zeros(64), np.zeros(64)) if f.severity == "error"]
    assert "line 6 of k, and nothing orders them" in found[0].text
    assert " of array_sum, thread 32 wrote it in line 6 of k" in found[0].text
