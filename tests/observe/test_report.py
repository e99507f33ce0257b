"""The report of profile(): text, HTML, plain data, the worst line, device functions."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from warpwise.observe import Report, addresses, metrics, profile, touched, warps
from warpwise.simt import Kernel

HEADER = "from numba import cuda, float32, float64\n"


def of(text: str, grid: Any, block: Any, *args: Any, **constants: Any) -> Report:
    """The report of launching the kernel `k` of a text."""
    return profile(Kernel.from_source(HEADER + text, "k", constants)[grid, block], *args)


STRIDE_2 = "@cuda.jit\ndef k(out):\n    i = cuda.grid(1)\n    out[2 * i] = 1\n"

CALLS = """
@cuda.jit(device=True)
def half(v):
    w = v * float32(0.5)
    return w

@cuda.jit
def k(out, a):
    i = cuda.grid(1)
    if i % 2 == 0:
        out[i] = half(a[i])
"""


def test_the_report_as_text() -> None:
    """Source with costs, the worst line with its arithmetic, totals with Nsight Compute's names."""
    lines = str(of(STRIDE_2, 1, 32, np.zeros(64, np.float32))).splitlines()
    assert lines[:5] == [
        "k[1, 32]   (counted; per request of a warp, the fewest in brackets)",
        "     3  def k(out):",
        "     4      i = cuda.grid(1)",
        ">    5      out[2 * i] = 1    stores 8.0 (4.0) sectors, 100 % of the lanes, 32 int64",
        "  Look at line 5: its global stores move 8.0 sectors a request where 4.0 would do: "
        "neighbouring threads are 2 elements of out apart.",
    ]
    sectors = next(line for line in lines if "global stores: sectors " in line)
    assert sectors.split() == [
        "global", "stores:", "sectors", "8", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"
    ]  # fmt: skip


def test_a_device_function_has_its_lines_under_its_own_source() -> None:
    """Its operations stand beside its own text, and are part of the total."""
    report = of(CALLS, 2, 64, np.zeros(128, np.float32), np.zeros(128, np.float32))
    by_text = {line.text.strip(): line for line in report.lines}
    assert by_text["w = v * float32(0.5)"].function == "half"
    assert by_text["w = v * float32(0.5)"].operations == {"float32": 64}
    assert report.flops == {"float32": 64}
    functions = [line.function for line in report.lines]
    assert functions == sorted(functions, key=lambda name: name != "k")
    assert "  device function half" in str(report).splitlines()
    assert "device function half" in report._repr_html_()


def test_issue_slots_count_a_warp_once() -> None:
    """Half the lanes of each warp: as many slots, half the lanes."""
    report = of(CALLS, 2, 64, np.zeros(128, np.float32), np.zeros(128, np.float32))
    condition = next(line for line in report.lines if "if" in line.text)
    inside = next(line for line in report.lines if "out[i]" in line.text)
    assert (condition.work.slots, condition.work.lanes) == (2 * 4, 2 * 128)  # % and ==
    assert (inside.work.slots, inside.work.lanes) == (2 * 4, 2 * 64)  # load and store
    assert (report.warps, report.busiest_warp) == (4, 2 + 2 + 1)
    assert report.work.slots == 4 * 5
    assert report.lane_efficiency == (256 + 128 + 64) / (32 * 20)


def test_the_busiest_warp_shows_imbalance() -> None:
    """Warp w adds w times: the busiest one does most of the work."""
    text = """
@cuda.jit
def k(out):
    v = float32(0)
    for j in range(10 * (cuda.grid(1) // 32)):
        v += float32(1)
    out[cuda.grid(1)] = v
"""
    report = of(text, 2, 64, np.zeros(128, np.float32))
    assert report.busiest_warp == 30 + 2 + 1  # additions, // and *, a store
    assert report.work.slots == 10 + 20 + 30 + 4 * 3


def test_operations_by_type() -> None:
    """Floating point and integers apart; a fused multiply-add is two."""
    text = """
@cuda.jit
def k(out, x):
    i = cuda.grid(1)
    out[i] = cuda.fma(x[i], x[i], x[i]) + x[i]
    out[i + 32] = float64(x[i]) * float64(2)
"""
    report = of(text, 1, 32, np.zeros(64, np.float32), np.zeros(32, np.float32))
    assert report.flops == {"float32": 3 * 32, "float64": 32}
    assert report.integer_operations == {"int64": 32}


TWO_ARRAYS = """
@cuda.jit
def k(out, a, b):
    s = cuda.shared.array((32, 32), float32)
    r = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    out[t] = a[2 * t] + b[t] + b[31 - t]
    out[t] = s[t, 0] * r[t]
    out[t] = a[t] + b[t]
"""


def test_arrays_of_one_line_that_differ_are_told_apart() -> None:
    """A mean of a good load and a bad one names neither; arrays that cost the same share a cell."""
    a, b = np.zeros(64, np.float32), np.zeros(32, np.float32)
    report = of(TWO_ARRAYS, 1, 32, b.copy(), a, b)
    mixed, shared, alike = (line for line in report.lines if "out[t]" in line.text)
    assert {of: share.sectors for of, share in mixed.arrays["loads"].items()} == {"a": 8, "b": 8}
    assert (mixed.loads.requests, mixed.loads.sectors) == (3, 16)
    text = str(report)
    assert "loads of a 8.0 (4.0), loads of b 4.0 (4.0), stores 4.0 (4.0) sectors" in text
    assert "loads of s 32.0 (1.0), loads of r 1.0 (1.0) wavefronts" in text
    last = next(row for row in text.splitlines() if alike.text in row)
    assert " loads 4.0 (4.0), stores 4.0 (4.0) sectors" in last
    assert "loads of a 8.0 (4.0)<br>loads of b 4.0 (4.0)<br>stores 4.0 (4.0)" in (
        report._repr_html_()
    )
    assert report.worst is not None and report.worst[0] is shared
    assert report.worst[1].startswith("its shared loads of s take 32.0 wavefronts a request where")


def test_the_sentence_on_the_worst_line_names_the_array() -> None:
    """And how its own lanes lie, not those of its neighbour on the line."""
    text = "@cuda.jit\ndef k(out, a, b):\n    t = cuda.grid(1)\n    out[t] = b[t + 1] + a[32 * t]\n"
    report = of(text, 1, 32, *(np.zeros(n, np.float32) for n in (32, 1024, 64)))
    assert report.worst is not None and report.worst[1] == (
        "its global loads of a move 32.0 sectors a request where 4.0 would do: "
        "neighbouring threads are 32 elements of a apart"
    )


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("out[t] = x[t + 1]", "its global loads move 5.0 sectors a request where 4.0 would do: "
         "each warp starts 4 bytes past a sector of x"),
        ("out[t] = x[31 * (t * 7 % 32)]", "its global loads move 32.0 sectors a request where "
         "4.0 would do"),
        ("s[t, 0] = 1", "its shared stores take 32.0 wavefronts a request where 1.0 would do, "
         "for bank conflicts of up to 32 ways: neighbouring threads are 32 elements of s apart"),
        ("cuda.atomic.add(s, (0, t % 8), 1)", "its shared atomics take 4.0 transactions a request "
         "where 1.0 would do: up to 4 lanes of a warp queue for one address"),
        ("if t % 4 == 0: out[0 * t] = 1", "its 4 issue slots run with 20.0 of 32 lanes active"),
        ("a[t] = 1", "its local stores move 32.0 sectors a request where 4.0 would do: "
         "neighbouring threads use different indices of a"),
    ],
)  # fmt: skip
def test_the_worst_line_says_why(body: str, why: str) -> None:
    """What the line wastes, in numbers, and how its lanes lie."""
    text = f"""
@cuda.jit
def k(out, x):
    s = cuda.shared.array((32, 32), float32)
    a = cuda.local.array(32, float32)
    t = cuda.threadIdx.x
    {body}
"""
    report = of(text, 1, 32, np.zeros(32, np.float32), np.zeros(2000, np.float32))
    assert report.worst is not None
    assert (report.worst[0].text.strip(), report.worst[1]) == (body, why)


def test_shared_memory_is_not_explained_by_sectors() -> None:
    """The first warp has one row and no conflict, the next ones have two; sectors are no reason."""
    text = """
@cuda.jit
def k(out):
    s = cuda.shared.array((18, 18), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    if x > 0 and y > 0:
        s[y, x] = 1
"""
    report = of(text, 1, (16, 16), np.zeros(1, np.float32))
    assert report.worst is not None
    assert report.worst[1].endswith("for bank conflicts of up to 2 ways")


def test_constant_memory_serves_one_address_at_a_time() -> None:
    """A global array is constant memory: broadcast is free, distinct addresses queue."""
    text = "@cuda.jit\ndef k(out):\n    t = cuda.grid(1)\n    out[t] = TABLE[{}]\n"
    table = np.zeros(128, np.float32)
    for index, distinct in (("3", 1), ("t", 32), ("t // 8", 4)):
        report = of(
            text.format(index), 2, 64, np.zeros(128, np.float32), TABLE=table[:64].repeat(2)
        )
        got = report.const_loads
        assert (got.requests, got.addresses, got.worst) == (4, 4 * distinct, distinct)
        assert report.loads.requests == 0
        assert "TABLE" not in report.unique_sectors
    report = of(text.format("t"), 2, 64, np.zeros(128, np.float32), TABLE=table)
    assert report.worst is not None
    assert report.worst[1] == (
        "its loads of constant memory want 32.0 addresses a request where 1.0 would do, and are "
        "served one after the other: use a global or a shared array"
    )


def test_a_good_kernel_has_no_worst_line() -> None:
    """One partly filled warp of thirty-two is no waste to speak of."""
    text = "@cuda.jit\ndef k(x):\n    i = cuda.grid(1)\n    if i < x.size:\n        x[i] += 1\n"
    assert of(text, 4, 256, np.zeros(1000, np.float32)).worst is None


def test_plain_data() -> None:
    """to_dict can be written as JSON; lines_table has equal columns in every row."""
    report = of(CALLS, 2, 64, np.zeros(128, np.float32), np.zeros(128, np.float32))
    plain = json.loads(json.dumps(report.to_dict()))
    assert plain["loads"]["sectors_per_request"] == report.loads.sectors_per_request
    assert plain["grid"] == [2, 1, 1]
    assert plain["worst"]["line"] == report.worst[0].number  # type: ignore[index]
    assert plain["metrics"]["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"] == 4
    table = report.lines_table()
    assert {tuple(row) for row in table} == {tuple(table[0])}
    row = next(row for row in table if "out[i]" in row["text"])
    assert (row["loads_sectors"], row["stores_sectors_per_request"]) == (16, 4.0)
    half = next(row for row in table if row["text"].strip() == "w = v * float32(0.5)")
    assert (half["function"], half["float32_operations"]) == ("half", 64)
    assert all(isinstance(value, (str, int, float)) for row in table for value in row.values())


def test_warming_compiles_all_that_a_profile_runs() -> None:
    """After warm(), no kernel makes the loops compile for another kind of array."""
    text = """
@cuda.jit
def k(out, x, h):
    s = cuda.shared.array(64, float32)
    a = cuda.local.array(4, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < out.size - 1:
        s[t] = x[i]
        a[t % 4] = TABLE[t % 4]
        s[(t * 2) % 64] += a[0]
        cuda.atomic.add(h, t % 3, 1)
        cuda.atomic.add(s, t % 3, 1)
    cuda.syncthreads()
    s[t] = 1
    a[1] = TABLE[1]
    cuda.atomic.add(h, 0, 1)
    out[i] = s[63 - t]
"""
    modules = (addresses, touched, warps)
    for module in modules:
        module.warm()
    loops = [f for module in modules for f in vars(module).values() if hasattr(f, "signatures")]
    before = [list(loop.signatures) for loop in loops]
    out = np.zeros(128, np.float32)
    of(text, 2, 64, out, out.copy(), np.zeros(4, np.int32), TABLE=np.zeros(4, np.float32))
    assert [list(loop.signatures) for loop in loops] == before


class _Tags(HTMLParser):
    """Checks that tags nest, and remembers them."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_report_as_html() -> None:
    """Well formed, no script, the learner's text escaped, no colour that a theme could hide."""
    text = "@cuda.jit\ndef k(out):\n    if cuda.grid(1) < 7 & 3:\n        out[0] = 1\n"
    html = of(text, 1, 32, np.zeros(64, np.float32))._repr_html_()
    tags = _Tags()
    tags.feed(html)
    assert tags.open == []
    assert "script" not in tags.seen
    assert "&lt; 7 &amp; 3" in html
    assert set(re.findall(r"(?<![-\w])color:\s*([^;']+)", html)) <= {"inherit"}
    assert "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum" in html


def test_every_metric_belongs_to_a_number() -> None:
    """The table of names fits the groups of the report."""
    report = of(STRIDE_2, 1, 32, np.zeros(64, np.float32))
    for key in metrics.NSIGHT:
        group, _, number = key.partition(".")
        assert hasattr(report, group)
        assert group in ("operations", "unique_sectors") or hasattr(getattr(report, group), number)
