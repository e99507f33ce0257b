"""Kernels as the public GPU race suites have them: each fault with its race-free twin.

Written anew after the kinds in Indigo and Indigo2 (irregular loops, missing guards and barriers),
ScoR and iGUARD (scopes of fences and atomics, locks), GPUVerify's and Faial's test suites (barriers
in loops and branches, warp-synchronous code), DataRaceBench (patterns of loops) and CUDA's samples
(reductions, last block done, scan).  A kernel has one place, {x}, where it is right or wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    """A kernel, what stands in its place when it is right, and each way to get it wrong.

    wrong: text -> the races found, as hazard:array:line:other line, with a "w" behind the lines
    within a warp and an "=" when all write the same value; or the kind of another finding.
    "..." stands for more of the same.
    """

    name: str
    grid: Any
    block: Any
    text: str
    right: tuple[str, ...]
    wrong: dict[str, set[str]]
    sizes: tuple[int, ...] = (256, 256, 8)  # of out, x, flag: int32


SYNC = "cuda.syncthreads()"
FENCE = "cuda.threadfence()"

CASES = [
    # -- barriers of a block --------------------------------------------------------------------
    Case("tree reduction", 2, 64, """
def k(out, x, flag):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    s[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    d = 32
    while d > 0:
        if t < d:
            s[t] += s[t + d]
        {x}
        d //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]
""", (SYNC,), {
        "pass": {"RAW:s:12:12w"},
        "cuda.syncwarp()": set(),  # two warps only: the first step reads what a barrier ordered
        "if t < d: cuda.syncthreads()": {"divergent_barrier"},
    }),
    Case("tree reduction of four warps", 1, 128, """
def k(out, x, flag):
    s = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    d = 64
    while d > 0:
        if t < d:
            s[t] += s[t + d]
        {x}
        d //= 2
    if t == 0:
        out[0] = s[0]
""", (SYNC,), {"cuda.syncwarp()": {"RAW:s:12:12"}}),
    Case("the last warp of a reduction", 1, 64, """
def k(out, x, flag):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    if t < 32:
        v = s[t] + s[t + 32]
        {x}
        s[t] = v
        {x}
        v += s[(t + 16) % 32]
        out[t] = v
""", ("cuda.syncwarp()",), {"pass": {"RAW:s:14:12w"}}),
    Case("a reduction buffer used twice", 1, 64, """
def k(out, x, flag):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    for turn in range(2):
        s[t] = x[t + 64 * turn]
        cuda.syncthreads()
        total = 0
        for j in range(64):
            total += s[j]
        {x}
        if t == 0:
            out[turn] = total
""", (SYNC,), {"pass": {"WAR:s:8:12"}, "if t == 0: out[5] = 1": {"WAR:s:8:12"}}),
    Case("two buffers, one barrier", 1, 64, """
def k(out, x, flag):
    s = cuda.shared.array((2, 64), int32)
    t = cuda.threadIdx.x
    total = 0
    for turn in range(4):
        s[{x}, t] = x[t + turn]
        cuda.syncthreads()
        total += s[{x}, 63 - t]
    out[t] = total
""", ("turn % 2",), {"0": {"WAR:s:9:11"}}),
    Case("prefetching into the other buffer", 1, 64, """
def k(out, x, flag):
    s = cuda.shared.array((2, 64), int32)
    t = cuda.threadIdx.x
    s[0, t] = x[t]
    cuda.syncthreads()
    total = 0
    for turn in range(3):
        s[1 - turn % 2, t] = x[t + turn + 1]
        total += s[turn % 2, 63 - t]
        {x}
    out[t] = total
""", (SYNC,), {"pass": {"RAW:s:12:11", "WAR:s:11:12"}}),
    Case("a tile with a halo", 2, 64, """
def k(out, x, flag):
    s = cuda.shared.array(66, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t + 1] = x[i]
    if t == 0:
        s[0] = x[max(i - 1, 0)]
    if t == 63:
        s[65] = x[min(i + 1, x.size - 1)]
    {x}
    out[i] = s[t] + s[t + 1] + s[t + 2]
""", (SYNC,), {"pass": {"RAW:s:14:8", "RAW:s:14:8w"},
               "cuda.syncwarp()": {"RAW:s:14:8"}}),
    Case("a halo that nobody loads", 2, 64, """
def k(out, x, flag):
    s = cuda.shared.array(66, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t + 1] = x[i]
    if t == 0:
        s[0] = 0
    if t == {x}:
        s[65] = 0
    cuda.syncthreads()
    out[i] = s[t] + s[t + 2]
""", ("63",), {"64": {"uninitialised"}}),
    Case("a halo that is loaded twice", 2, 64, """
def k(out, x, flag):
    s = cuda.shared.array(66, int32)
    t = cuda.threadIdx.x
    s[t + 1] = x[t]
    if t == 0:
        s[{x}] = x[100] + 1
    cuda.syncthreads()
    out[cuda.grid(1)] = s[t + 1]
""", ("0",), {"2": {"WAW:s:9:7w"}}),
    Case("an in-place scan", 1, 64, """
def k(out, x, flag):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    d = 1
    while d < 64:
        v = 0
        if t >= d:
            v = s[t - d]
        {x}
        s[t] += v
        cuda.syncthreads()
        d *= 2
    out[t] = s[t]
""", (SYNC,), {"pass": {"WAR:s:15:13", "WAR:s:15:13w"}}),
    Case("a transposed tile", 1, (8, 8), """
def k(out, x, flag):
    s = cuda.shared.array((8, 9), int32)
    i, j = cuda.threadIdx.x, cuda.threadIdx.y
    s[j, i] = x[8 * j + i]
    {x}
    out[8 * j + i] = s[i, j]
""", (SYNC,), {"pass": {"RAW:s:9:7", "RAW:s:9:7w"}, "cuda.syncwarp()": {"RAW:s:9:7"}}),
    Case("a barrier in a branch on the thread", 1, 64, """
def k(out, x, flag):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    {x}
    out[t] = s[63 - t]
""", (SYNC, "if cuda.blockIdx.x == 0: cuda.syncthreads()"), {
        "if t % 2 == 0: cuda.syncthreads()": {"divergent_barrier"},
        "if t < 0: cuda.syncthreads()": {"RAW:s:9:7"},
    }),
    Case("a return before a barrier", 1, 64, """
def k(out, x, flag):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    if t >= 48:
        {x}
    cuda.syncthreads()
    out[t] = s[t]
""", ("return", "pass"), {
        "cuda.syncthreads()": {"divergent_barrier"},
    }),
    Case("a barrier in a loop with a length of its own", 1, 64, """
def k(out, x, flag):
    t = cuda.threadIdx.x
    n = {x}
    for j in range(n):
        cuda.syncthreads()
    out[t] = n
""", ("3", "flag.size", "cuda.blockIdx.x + 1"), {
        "x[t]": {"divergent_barrier"}, "t // 32": {"divergent_barrier"},
    }),
    Case("leaving a loop with a barrier", 1, 64, """
def k(out, x, flag):
    t = cuda.threadIdx.x
    for j in range(4):
        if {x}:
            break
        cuda.syncthreads()
    out[t] = 1
""", ("j == 2", "flag[0] == 1"), {"t == 40": {"divergent_barrier"}}),
    Case("one writes, all read", 1, 64, """
def k(out, x, flag):
    s = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        s[0] = x[0]
    {x}
    out[t] = s[0]
""", (SYNC,), {"pass": {"RAW:s:10:8", "RAW:s:10:8w"}}),
    Case("all write one element", 1, 64, """
def k(out, x, flag):
    s = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    s[0] = {x}
    cuda.syncthreads()
    out[t] = s[0]
""", (), {"t": {"WAW:s:7:7", "WAW:s:7:7w"}, "7": {"WAW:s:7:7=", "WAW:s:7:7w="}}),
    Case("warp-synchronous exchange", 1, 64, """
def k(out, x, flag):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    {x}
    out[t] = s[t ^ 1]
""", ("cuda.syncwarp()", SYNC), {
        "pass": {"RAW:s:9:7w"},
        "v = cuda.shfl_sync(0xffffffff, t, 0)": {"RAW:s:9:7w"},  # shuffles order no memory
        "cuda.threadfence_block()": {"RAW:s:9:7w"},  # nor does a fence alone
    }),
    # -- atomics ---------------------------------------------------------------------------------
    Case("a histogram in shared memory", 2, 64, """
def k(out, x, flag):
    s = cuda.shared.array(8, int32)
    t = cuda.threadIdx.x
    if t < 8:
        s[t] = 0
    {x}
    cuda.syncthreads()
    if t < 8:
        cuda.atomic.add(out, t, s[t])
""", (SYNC + "\n    cuda.atomic.add(s, x[t] % 8, 1)",), {
        "cuda.atomic.add(s, x[t] % 8, 1)": {"WAW:s:9:8", "WAW:s:9:8w"},
        SYNC + "\n    s[x[t] % 8] += 1": {
            "WAR:s:10:10", "WAR:s:10:10w", "WAW:s:10:10=", "WAW:s:10:10w=",
        },
    }),
    Case("a counter in global memory", 2, 64, """
def k(out, x, flag):
    i = cuda.grid(1)
    {x}
""", ("cuda.atomic.add(out, 0, x[i])", "out[i] = x[i]"), {
        "out[0] += x[i]": {"WAR:out:6:6", "WAW:out:6:6", "WAW:out:6:6w", "WAW:out:6:6w="},
    }),
    Case("an atomic beside a plain read", 2, 64, """
def k(out, x, flag):
    i = cuda.grid(1)
    cuda.atomic.add(flag, 0, 1)
    out[i] = {x}
""", ("cuda.atomic.add(flag, 0, 0)", "x[i]"), {"flag[0]": {"RAW:flag:7:6"}}),
    Case("an atomic beside a plain write", 2, 64, """
def k(out, x, flag):
    i = cuda.grid(1)
    cuda.atomic.max(flag, 0, x[i])
    if i == 100:
        {x}
""", ("cuda.atomic.max(flag, 0, 99)",), {"flag[0] = 99": {"WAW:flag:8:6"}}),
    Case("a counter that one block sets up", 3, 32, """
def k(out, x, flag):
    i = cuda.grid(1)
    if {x}:
        flag[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(flag, 0, 1)
""", ("i < 0",), {"i == 0": {"WAW:flag:9:7"}}),
    Case("a slot taken from a counter", 2, 64, """
def k(out, x, flag):
    i = cuda.grid(1)
    if x[i] > 0:
        at = {x}
        out[at] = i
""", ("cuda.atomic.add(flag, 0, 1)",), {
        "i // 2": {"WAW:out:8:8w"},
        "flag[0]": {"WAW:out:8:8", "WAW:out:8:8w"},
    }),
    # -- blocks ----------------------------------------------------------------------------------
    Case("neighbours of other blocks", 2, 64, """
def k(out, x, flag):
    i = cuda.grid(1)
    if i > 0:
        {x}
""", ("out[i] = x[i - 1]",), {
        "x[i] = x[i - 1]": {"WAR:x:7:7", "WAR:x:7:7w"},
    }),
    Case("a barrier does not reach other blocks", 2, 64, """
def k(out, x, flag):
    i = cuda.grid(1)
    out[i] = x[i]
    cuda.syncthreads()
    x[i] = out[{x}]
""", ("i", "cuda.blockIdx.x * 64 + 63 - cuda.threadIdx.x"), {"127 - i": {"RAW:out:8:6"}}),
    Case("a grid-stride loop", 2, 32, """
def k(out, x, flag):
    for i in range(cuda.grid(1), out.size, {x}):
        out[i] = x[i] + i
""", ("cuda.gridsize(1)", "64"), {"32": {"WAW:out:6:6="}, "16": {"WAW:out:6:6=", "WAW:out:6:6w="}}),
    Case("rows that overlap", 2, 32, """
def k(out, x, flag):
    i = cuda.grid(1)
    for j in range({x}):
        out[3 * i + j] = i
""", ("3",), {"4": {"WAW:out:7:7", "WAW:out:7:7w"}}),
    Case("odd and even phases", 1, 64, """
def k(out, x, flag):
    t = cuda.threadIdx.x
    for phase in range(4):
        i = 2 * t + phase % 2
        if i + 1 < 128 and x[i] > x[i + 1]:
            v = x[i]
            x[i] = x[i + 1]
            x[i + 1] = v
        {x}
""", (SYNC,), {"pass": {"RAW:x:8:11", "RAW:x:8:11w", "..."}}),
    Case("relaxation in place", 2, 32, """
def k(out, x, flag):
    i = cuda.grid(1)
    if 0 < i < 63:
        {x}
""", ("out[i] = x[i - 1] + x[i + 1]",), {
        "x[i] = x[i - 1] + x[i + 1]": {"WAR:x:7:7", "WAR:x:7:7w"},
    }),
    # -- fences, flags and scopes ------------------------------------------------------------------
    Case("the last block that is done", 4, 64, """
def k(out, x, flag):
    last = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    b = cuda.blockIdx.x
    out[64 * b + t] = x[t]
    {x}
    if t == 0:
        last[0] = cuda.atomic.add(flag, 0, 1) == cuda.gridDim.x - 1
    cuda.syncthreads()
    if last[0]:
        total = 0
        for j in range(4):
            total += out[64 * j + t]
        x[t + 128] = total
""", (FENCE + "\n    " + SYNC, SYNC + "\n    " + FENCE), {
        "pass": {"RAW:out:16:8"},
        SYNC: {"RAW:out:16:8"},  # no fence
        FENCE: {"RAW:out:16:8"},  # thread 0 may count before its neighbours have written
        "cuda.threadfence_block()\n    " + SYNC: {"RAW:out:17:8"},
    }),
    Case("the last block, by one thread", 4, 32, """
def k(out, x, flag):
    if cuda.threadIdx.x == 0:
        b = cuda.blockIdx.x
        out[b] = x[b]
        {x}
        if cuda.atomic.add(flag, 0, 1) == 3:
            total = 0
            for j in range(4):
                total += out[j]
            out[8] = total
""", (FENCE, "cuda.threadfence_system()"), {
        "pass": {"RAW:out:12:7"}, "cuda.threadfence_block()": {"RAW:out:12:7"},
    }),
    Case("the fence behind the flag", 4, 32, """
def k(out, x, flag):
    if cuda.threadIdx.x == 0:
        b = cuda.blockIdx.x
        out[b] = x[b]
        {x}
        if old == 3:
            out[8] = out[0] + out[1]
""", (FENCE + "\n        old = cuda.atomic.add(flag, 0, 1)",), {
        "old = cuda.atomic.add(flag, 0, 1)\n        " + FENCE: {"RAW:out:11:7"},
    }),
    Case("a message to the next block", 2, 32, """
def k(out, x, flag):
    if cuda.threadIdx.x == 0:
        if cuda.blockIdx.x == 0:
            out[0] = 42
            {x}
        else:
            while cuda.atomic.add(flag, 0, 0) == 0: pass
            out[1] = out[0]
""", (FENCE + "\n            cuda.atomic.exch(flag, 0, 1)",
      FENCE + "\n            cuda.atomic.cas(flag, 0, 0, 1)",
      FENCE + "\n            cuda.atomic.max(flag, 0, 1)"), {
        "cuda.atomic.exch(flag, 0, 1)": {"RAW:out:11:7"},
        "cuda.threadfence_block()\n            cuda.atomic.exch(flag, 0, 1)": {"RAW:out:12:7"},
        FENCE + "\n            flag[0] = 1": {"WAW:flag:11:9", "RAW:out:12:7"},
    }),
    Case("a message that is polled without an atomic", 2, 32, """
def k(out, x, flag):
    if cuda.threadIdx.x == 0:
        if cuda.blockIdx.x == 0:
            out[0] = 42
            cuda.threadfence()
            cuda.atomic.exch(flag, 0, 1)
        else:
            while {x} == 0: pass
            out[1] = out[0]
""", ("cuda.atomic.add(flag, 0, 0)", "cuda.atomic.or_(flag, 0, 0)"), {
        "flag[0]": {"RAW:flag:11:9", "RAW:out:12:7"},
    }),
    Case("a whole block's message", 2, 64, """
def k(out, x, flag):
    t = cuda.threadIdx.x
    if cuda.blockIdx.x == 0:
        out[t] = x[t]
        {x}
        if t == 0:
            cuda.atomic.exch(flag, 0, 1)
    else:
        if t == 0:
            while cuda.atomic.add(flag, 0, 0) == 0: pass
        cuda.syncthreads()
        out[64 + t] = out[63 - t]
""", (FENCE + "\n        " + SYNC, SYNC + "\n        " + FENCE), {
        FENCE: {"RAW:out:15:7"}, SYNC: {"RAW:out:15:7"},
    }),
    Case("the reader's block does not wait", 2, 64, """
def k(out, x, flag):
    t = cuda.threadIdx.x
    if cuda.blockIdx.x == 0:
        out[t] = x[t]
        cuda.threadfence()
        cuda.syncthreads()
        if t == 0:
            cuda.atomic.exch(flag, 0, 1)
    else:
        if t == 0:
            while cuda.atomic.add(flag, 0, 0) == 0: pass
        {x}
        out[64 + t] = out[63 - t]
""", (SYNC,), {"pass": {"RAW:out:16:7"}}),
    Case("a chain of messages", 3, 32, """
def k(out, x, flag):
    if cuda.threadIdx.x == 0:
        b = cuda.blockIdx.x
        if b > 0:
            while cuda.atomic.add(flag, b, 0) == 0: pass
        else:
            out[0] = 7
        {x}
        if b < 2:
            cuda.atomic.exch(flag, b + 1, 1)
        else:
            out[1] = out[0]
""", (FENCE,), {"pass": {"RAW:out:15:10"}, "if b == 0: " + FENCE: {"RAW:out:15:10"}}),
    Case("a buffer handed back", 2, 32, """
def k(out, x, flag):
    if cuda.threadIdx.x == 0:
        if cuda.blockIdx.x == 0:
            v = out[0]
            {x}
            cuda.atomic.exch(flag, 0, 1)
        else:
            while cuda.atomic.add(flag, 0, 0) == 0: pass
            out[0] = 1
""", (FENCE,), {"pass": {"WAR:out:12:7"}}),
    Case("a lock of a block's warps", 1, 128, """
def k(out, x, flag):
    lock = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        lock[0] = 0
    cuda.syncthreads()
    if t % 32 == 0:
        while cuda.atomic.cas(lock, 0, 0, 1) != 0: pass
        out[0] = 2 * out[0] + t
        {x}
        cuda.atomic.exch(lock, 0, 0)
""", (FENCE, "cuda.threadfence_block()"), {
        "pass": {"RAW:out:12:12", "WAR:out:12:12", "WAW:out:12:12"},
    }),
    Case("a lock that is opened by a store", 3, 32, """
def k(out, x, flag):
    if cuda.threadIdx.x == 0:
        while cuda.atomic.cas(flag, 0, 0, 1) != 0: pass
        out[0] = 2 * out[0] + 1
        cuda.threadfence()
        {x}
""", ("cuda.atomic.exch(flag, 0, 0)", "cuda.atomic.cas(flag, 0, 1, 0)",
      "cuda.atomic.add(flag, 0, -1)"), {
        "flag[0] = 0": {
            "WAW:flag:6:9", "WAW:flag:9:6", "WAW:flag:9:9=", "RAW:out:7:7", "WAR:out:7:7",
            "WAW:out:7:7",
        },
    }),
    Case("a lock that is opened early", 4, 32, """
def k(out, x, flag):
    if cuda.threadIdx.x == 0:
        while cuda.atomic.cas(flag, 0, 0, 1) != 0: pass
        cuda.threadfence()
        {x}
        out[0] = 2 * out[0] + 1
        cuda.threadfence()
        cuda.atomic.exch(flag, 0, 0)
""", ("pass", "x[0] += 1"), {
        "cuda.atomic.exch(flag, 0, 0)": {"RAW:out:9:9", "WAR:out:9:9", "WAW:out:9:9"},
        "cuda.atomic.and_(flag, 0, 0)": {"RAW:out:9:9", "WAR:out:9:9", "WAW:out:9:9"},
    }),
    Case("a flag that is set twice", 2, 32, """
def k(out, x, flag):
    if cuda.threadIdx.x == 0:
        if cuda.blockIdx.x == 0:
            x[0] = 5
            cuda.threadfence()
            cuda.atomic.exch(flag, 0, 1)
            {x}
            cuda.threadfence()
            cuda.atomic.max(flag, 0, 1)
        else:
            while cuda.atomic.add(flag, 0, 0) == 0: pass
            out[0] = x[0]
""", ("pass", "out[1] = 6"), {"x[0] = 6": {"RAW:x:15:10"}}),
    Case("two locks for one element", 4, 32, """
def k(out, x, flag):
    if cuda.threadIdx.x == 0:
        mine = {x}
        while cuda.atomic.cas(flag, mine, 0, 1) != 0: pass
        out[0] += 1 + cuda.blockIdx.x
        cuda.threadfence()
        cuda.atomic.exch(flag, mine, 0)
""", ("0",), {"cuda.blockIdx.x % 2": {"RAW:out:8:8", "WAR:out:8:8", "WAW:out:8:8"}}),
    Case("a ticket lock", 4, 32, """
def k(out, x, flag):
    if cuda.threadIdx.x == 0:
        mine = cuda.atomic.add(flag, 0, 1)
        while cuda.atomic.add(flag, 1, 0) != mine: pass
        out[0] = 2 * out[0] + 1
        {x}
        cuda.atomic.add(flag, 1, 1)
""", (FENCE,), {"pass": {"RAW:out:8:8", "WAR:out:8:8", "WAW:out:8:8"}}),
    Case("two phases of a grid", 2, 64, """
def k(out, x, flag):
    i = cuda.grid(1)
    out[i] = x[i]
    {x}
    x[i] = out[127 - i]
""", ("cuda.cg.this_grid().sync()",), {FENCE: {"RAW:out:8:6"}, SYNC: {"RAW:out:8:6"}}),
    Case("a thread passes its own way", 2, 64, """
def k(out, x, flag):
    i = cuda.grid(1)
    a = cuda.local.array(4, int32)
    for j in range({x}):
        a[j] = x[i] + j
    out[i] = a[3]
""", ("4",), {"3": {"uninitialised"}, "5": {"out_of_bounds"}}),
]  # fmt: skip
