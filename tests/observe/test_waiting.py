"""Loops that wait for memory: they run where a GPU runs them, else they say who waits for whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpwise.observe import Counters, profile
from warpwise.observe.trace import Trace
from warpwise.simt import LivelockError, UnsupportedError, run
from warpwise.simt import api as cuda

from .launches import findings, kernel


def ints(n: int) -> Any:
    return np.zeros(n, np.int32)


SCAN = """
def k(out, x, total, flag):
    part = cuda.shared.array(32, int32)
    before = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    b = cuda.blockIdx.x
    i = cuda.grid(1)
    part[t] = x[i]
    cuda.syncthreads()
    if t == 0:
        for j in range(1, 32):
            part[j] += part[j - 1]
        before[0] = 0
        if b > 0:
            while cuda.atomic.add(flag, b - 1, 0) == 0:
                pass
            before[0] = total[b - 1]
        total[b] = before[0] + part[31]
        {fence}
        cuda.atomic.exch(flag, b, 1)
    cuda.syncthreads()
    out[i] = before[0] + part[t]
"""


def test_a_scan_that_looks_back_at_earlier_blocks() -> None:
    """Each block waits for the sum of the block before it: right values, in one launch."""
    blocks = 40
    x = np.random.default_rng(0).integers(-9, 9, 32 * blocks).astype(np.int32)
    text = SCAN.format(fence="cuda.threadfence()")
    out = np.zeros_like(x)
    kernel(text)[blocks, 32](out, x, ints(blocks), ints(blocks))
    assert out.tolist() == np.cumsum(x).tolist()
    out[:] = 0
    assert findings(text, blocks, 32, out, x, ints(blocks), ints(blocks)) == []
    assert out.tolist() == np.cumsum(x).tolist()


def test_looking_back_without_a_fence_is_a_race() -> None:
    """The flag may be seen before the sum that it announces."""
    text = SCAN.format(fence="pass")
    found = findings(text, 8, 32, ints(256), ints(256), ints(8), ints(8))
    assert [(f.kind, f.hazard, f.severity, f.array, f.line, f.other_line) for f in found] == [
        ("race", "RAW", "error", "total", 19, 20)
    ]
    assert found[0].threads == (((1, 0, 0), (0, 0, 0)), ((0, 0, 0), (0, 0, 0)))
    assert "Call cuda.threadfence() after line 20" in found[0].text


def test_device_arrays_are_put_back_before_a_second_attempt() -> None:
    """What a stuck attempt has written does not count twice; what is printed shows once."""
    text = """
def k(count, flag):
    b = cuda.blockIdx.x
    cuda.atomic.add(count, 0, 1)
    if b > 0:
        while cuda.atomic.add(flag, b - 1, 0) == 0:
            pass
    cuda.atomic.exch(flag, b, 1)
"""
    count, flag = cuda.to_device(ints(1)), cuda.to_device(ints(6))
    kernel(text)[6, 1](count, flag)
    assert count.copy_to_host().tolist() == [6]


def test_counters_of_a_launch_that_began_anew() -> None:
    """Only the attempt that came to its end is counted."""
    report = profile(
        kernel(SCAN.format(fence="cuda.threadfence()"))[4, 32],
        ints(128), ints(128), ints(4), ints(4),
    )  # fmt: skip
    assert report.stores.requests == 4 + 4  # out by each warp, total by each block


HANDSHAKE = """
def k(out):
    box = cuda.shared.array(1, int32)
    flag = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        flag[0] = 0
    cuda.syncthreads()
    if t == 0:
        while cuda.atomic.add(flag, 0, 0) == 0:
            pass
        out[0] = box[0]
    if t == 32:
        box[0] = 42
        {fence}
        cuda.atomic.exch(flag, 0, 1)
    cuda.syncthreads()
    if t < 32:
        out[1 + t] = 1
"""


def test_one_warp_waits_for_another_of_its_block() -> None:
    """Warps go on by themselves, so this ends; a fence for the block is enough."""
    for fence in ("cuda.threadfence_block()", "cuda.threadfence()"):
        out = ints(33)
        assert findings(HANDSHAKE.format(fence=fence), 1, 64, out) == []
        assert out.tolist() == [42] + [1] * 32
    races = [f for f in findings(HANDSHAKE.format(fence="pass"), 1, 64, out) if f.array == "box"]
    assert [(f.hazard, f.severity) for f in races] == [("RAW", "error")]


def test_counters_of_warps_that_wait_for_each_other() -> None:
    """What stands outside the loop is counted as ever; a note says what the loop's counts are."""
    out = ints(33)
    report = profile(kernel(HANDSHAKE.format(fence="cuda.threadfence()"))[1, 64], out)
    assert out.tolist() == [42] + [1] * 32
    lines = {line.number: line for line in report.lines}
    assert (lines[14].stores.requests, lines[14].shared_loads.requests) == (1, 1)
    assert (lines[21].stores.requests, lines[21].stores.lanes, lines[21].stores.sectors) == (
        1,
        32,
        5,
    )
    assert (lines[11].branches.warps, lines[11].branches.divergent) == (2, 1)
    assert (lines[10].barriers, lines[19].barriers) == (1, 1)
    assert lines[18].shared_atomics.requests == 1
    assert 1 <= lines[12].shared_atomics.requests <= 4
    (note,) = [note for note in report.notes if note.kind == "waits"]
    assert note.line == 12
    assert "their warps took turns: this loop's rounds are those of this order" in note.text


def test_counters_say_which_order_they_saw_of_waiting_blocks() -> None:
    """A look at an earlier block: every flag is there at once."""
    report = profile(kernel(SCAN.format(fence="cuda.threadfence()"))[4, 32],
                     ints(128), ints(128), ints(4), ints(4))  # fmt: skip
    line = next(line for line in report.lines if line.number == 17)
    assert (line.atomics.requests, line.branches.warps) == (3, 3)
    (note,) = [note for note in report.notes if note.kind == "waits"]
    assert "its blocks ran one after another: this loop's rounds" in note.text


def test_what_is_not_simulated_says_so() -> None:
    """Pictures of warps that wait for each other, and waiting inside a grid that meets."""
    out = ints(33)
    with pytest.raises(UnsupportedError, match="this loop waits for another warp of its block"):
        run(kernel(HANDSHAKE.format(fence="cuda.threadfence()")), 1, 64, (out,), [Trace()])
    assert not out.any()
    text = """
def k(out, flag):
    grid = cuda.cg.this_grid()
    i = cuda.grid(1)
    if i == 0:
        while cuda.atomic.add(flag, 0, 0) == 0: pass
    if i == 64:
        cuda.atomic.exch(flag, 0, 1)
    grid.sync()
"""
    with pytest.raises(UnsupportedError, match="in a kernel that synchronises its grid"):
        kernel(text)[2, 64](ints(1), ints(1))


LOCK = """
def k(out, lock):
    {who}
        {wait}
        out[0] += 1
        {fence}
        {release}
"""
WAIT = "while cuda.atomic.cas(lock, 0, 0, 1) != 0: pass"
GIVE = "cuda.atomic.exch(lock, 0, 0)"


def test_a_lock_that_one_thread_of_each_block_takes() -> None:
    """Right with a fence, a race without, in whatever order the blocks came."""
    parts = {"who": "if cuda.threadIdx.x == 0:", "wait": WAIT, "release": GIVE}
    out = ints(1)
    text = LOCK.format(fence="cuda.threadfence()", **parts)
    assert findings(text, 9, 64, out, ints(1)) == []
    assert out[0] == 9
    for fence in ("pass", "cuda.threadfence_block()"):
        found = findings(LOCK.format(fence=fence, **parts), 9, 64, ints(1), ints(1))
        assert {f.hazard for f in found} == {"RAW", "WAR", "WAW"}
        assert {(f.array, f.severity) for f in found} == {("out", "error")}


def test_a_lock_taken_inside_the_loop_by_every_thread() -> None:
    """The form that runs on every GPU: work and release inside the loop."""
    text = """
def k(out, lock):
    done = False
    while not done:
        if cuda.atomic.cas(lock, 0, 0, 1) == 0:
            out[0] += 1
            {fence}
            cuda.atomic.exch(lock, 0, 0)
            done = True
"""
    out = ints(1)
    assert findings(text.format(fence="cuda.threadfence()"), 3, 40, out, ints(1)) == []
    assert out[0] == 120
    assert findings(text.format(fence="pass"), 3, 40, out, ints(1)) != []


LIVELOCKS = [
    # (name, blocks, threads, kernel, words of the message)
    ("a spin lock inside a warp", 1, 32,
     LOCK.format(who="if True:", wait=WAIT, fence="cuda.threadfence()", release=GIVE),
     "thread 1 waits for lock[0] to change, and thread 0 of the same warp changed it last (line 6: "
     "while cuda.atomic.cas(lock, 0, 0, 1) != 0: pass) and waits for the others where the loop "
     "ends"),
    ("a lock that is never given back", 3, 32,
     LOCK.format(who="if cuda.threadIdx.x == 0:", wait=WAIT, fence="pass", release="pass"),
     "thread 0 of block 1 waits for lock[0] to change, and thread 0 of block 0, which changed it "
     "last (line 6: while cuda.atomic.cas(lock, 0, 0, 1) != 0: pass), has ended"),
    ("a block waits for a later one", 3, 32, """
def k(out, flag):
    b = cuda.blockIdx.x
    if cuda.threadIdx.x == 0:
        tries = 0
        while b < 2 and cuda.atomic.add(flag, b + 1, 0) == 0:
            tries += 1
        cuda.atomic.exch(flag, b, 1)
""", "thread 0 of block 0 waits for flag[1] to change, and it is thread 0 of block 1 that would "
     "change it (line 10: cuda.atomic.exch(flag, b, 1)), in a later block"),
    ("two warps take two locks in opposite order", 1, 64, """
def k(out, lock):
    t = cuda.threadIdx.x
    if t % 32 == 0:
        while cuda.atomic.cas(lock, t // 32, 0, 1) != 0: pass
        cuda.atomic.add(lock, 2, 1)
        while cuda.atomic.add(lock, 2, 0) < 2: pass
        while cuda.atomic.cas(lock, 1 - t // 32, 0, 1) != 0: pass
""", "they wait for each other in a circle"),
    ("a thread of the same warp would set the flag", 1, 32, """
def k(out, flag):
    if cuda.threadIdx.x == 0:
        while cuda.atomic.add(flag, 0, 0) == 0:
            pass
    else:
        cuda.atomic.exch(flag, 0, 1)
""", "thread 0 waits for flag[0] to change, and thread 1 of the same warp, which would change it "
     "(line 9: cuda.atomic.exch(flag, 0, 1)), goes on only when the warp leaves the loop"),
    ("nobody sets the flag", 2, 32, """
def k(out, flag):
    if cuda.blockIdx.x == 1:
        while cuda.atomic.add(flag, 0, 0) == 0: pass
    else:
        cuda.atomic.exch(flag, 1, 1)
""", "thread 0 of block 1 waits for flag[0] to change, and no other thread ever changes it"),
    ("the flag is set behind a barrier", 1, 64, """
def k(out, flag):
    t = cuda.threadIdx.x
    if t == 0:
        cuda.atomic.exch(flag, 0, 1)
    if t >= 32:
        while cuda.atomic.add(flag, 0, 0) != 2: pass
    cuda.syncthreads()
    if t == 0:
        cuda.atomic.exch(flag, 0, 2)
""", "thread 32 waits for flag[0] to change, and thread 0, which changed it last (line 7: "
     "cuda.atomic.exch(flag, 0, 1)), waits at a barrier"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("blocks", "threads", "text", "words"),
    [c[1:] for c in LIVELOCKS],
    ids=[c[0] for c in LIVELOCKS],
)
def test_livelocks_say_who_waits_for_whom(blocks: int, threads: int, text: str, words: str) -> None:
    """By a plain launch and by the sanitizer, which gives both threads."""
    with pytest.raises(LivelockError) as error:
        kernel(text)[blocks, threads](ints(4), ints(4))
    assert words in str(error.value)
    found = [f for f in findings(text, blocks, threads, ints(4), ints(4)) if f.kind == "livelock"]
    assert [f.text for f in found] == [str(error.value)]
    assert found[0].line == error.value.line
    assert len(found[0].threads) == (1 if "no other thread" in words else 2)


def test_a_grid_barrier_made_by_hand() -> None:
    """It passes where all blocks are there at once; the sanitizer does not rely on that."""
    text = """
def k(out, count):
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(count, 0, 1)
        while cuda.atomic.add(count, 0, 0) < cuda.gridDim.x:
            pass
        out[cuda.blockIdx.x] = 1
"""
    out = ints(2)
    kernel(text)[2, 32](out, ints(1))
    assert out.tolist() == [1, 1]
    (found,) = findings(text, 2, 32, ints(2), ints(1))
    assert "thread 0 of block 1 that would change it (line 6: " in found.text
    assert "in a later block" in found.text
    assert "use cuda.cg.this_grid().sync()" in found.text
    assert found.threads == (((0, 0, 0), (0, 0, 0)), ((1, 0, 0), (0, 0, 0)))


def test_blocks_that_hand_a_box_to_and_fro() -> None:
    """The same; what the other block would do with the data is no finding."""
    text = """
def k(out, full):
    if cuda.threadIdx.x == 0:
        for j in range(1, 4):
            if cuda.blockIdx.x == 0:
                while cuda.atomic.cas(full, 0, 0, 0) != 0: pass
                out[0] = j
                cuda.threadfence()
                cuda.atomic.exch(full, 0, 1)
            else:
                while cuda.atomic.cas(full, 0, 1, 1) != 1: pass
                out[j] = 10 * out[0]
                cuda.threadfence()
                cuda.atomic.exch(full, 0, 0)
"""
    out = ints(4)
    kernel(text)[2, 32](out, ints(1))
    assert out.tolist() == [3, 10, 20, 30]
    (found,) = findings(text, 2, 32, ints(4), ints(1))
    assert "thread 0 of block 1 that would change it (line 16: " in found.text


def test_loops_that_only_count_are_left_alone() -> None:
    """A long computation is no livelock; one that goes in a circle is."""
    text = "def k(out):\n    n = 0\n    while n < 20000: n += 1\n    out[0] = n\n"
    out = ints(1)
    kernel(text)[2, 32](out)
    assert out[0] == 20000
    with pytest.raises(LivelockError, match="this loop never ends\n"):
        kernel("def k(out):\n    n = 0\n    while n < 2: n = n * 1\n")[1, 1](out)


FORGOTTEN = [
    "d = 32\nwhile d > 0:\n    if t < d: s[t] += s[t + d]\n    cuda.syncthreads()",
    "j = t\nwhile j < out.size:\n    s[t] += out[j]",
    "j = t\nv = 0\nwhile j < out.shape[0]:\n    v += 1\n    if j > 99: break",
    "j = 0\nk = 5\nwhile True:\n    s[t] += 1\n    if j == k: break\n    k = k % 7",
]


@pytest.mark.parametrize("body", FORGOTTEN)
def test_what_a_loop_computes_beside_its_end_does_not_hide_that_it_has_none(body: str) -> None:
    """The step is forgotten, and something else changes in every round."""
    lines = "\n    ".join(body.splitlines())
    text = f"""
def k(out):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    s[t] = t
    cuda.syncthreads()
    {lines}
    out[t] = s[t]
"""
    with pytest.raises(LivelockError, match="changed nothing on which its end depends"):
        kernel(text)[2, 64](ints(64))
    assert {f.kind for f in findings(text, 2, 64, ints(64))} >= {"livelock"}


@pytest.mark.parametrize(
    "loop",
    [
        "while go:\n        n += 1\n        if n > 9000: go = False",
        "while x[0] < 1:\n        n += 1\n        if n == 9000: x[0] = 1",
        "while True:\n        n += 1\n        for j in range(2):\n"
        "            if n > 9000: go = False\n        if not go: break",
        "while go:\n        m = n\n        n = m + 1\n        if m < 9000: continue\n"
        "        go = False",
    ],
)  # fmt: skip
def test_a_loop_that_ends_late_is_left_alone(loop: str) -> None:
    """What decides is found through other names, tests and memory."""
    out, x = ints(1), ints(1)
    text = f"def k(out, x):\n    n = 0\n    go = True\n    {loop}\n    out[0] = n\n"
    kernel(text)[1, 1](out, x)
    assert 9000 <= out[0] <= 9001


def test_other_observers_hear_waiting_blocks() -> None:
    """Counters count a launch that runs block by block."""
    counters = Counters()
    run(kernel(SCAN.format(fence="cuda.threadfence()")), 3, 32,
        (ints(96), ints(96), ints(3), ints(3)), [counters])  # fmt: skip
