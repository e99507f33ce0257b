"""Lanes of a warp that wait for each other at syncwarps in two branches, against real threads."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from warpwise import profile, sanitize
from warpwise.simt import UnsupportedError, api
from warpwise.simt.kernel import Kernel

cuda: Any = api
WARP = 32


def by_threads(fn: Callable[..., Any], out: Any, lanes: int) -> None:
    """Run the body of a kernel of one warp on Python threads; syncwarp waits for all of them."""
    meeting = threading.Barrier(lanes)
    shared: dict[int, Any] = {}
    here = threading.local()
    lock = threading.Lock()

    class Shared:
        @staticmethod
        def array(n: int, dtype: Any) -> Any:
            here.arrays += 1
            with lock:
                return shared.setdefault(here.arrays, np.zeros(n, dtype))

    class Cuda:
        shared = Shared

        @staticmethod
        def grid(_: int) -> int:
            return int(here.lane)

        @staticmethod
        def syncwarp(mask: int = 0xFFFFFFFF) -> None:
            if mask == 0xFFFFFFFF:
                meeting.wait(10)

    def one(lane: int) -> None:
        here.lane, here.arrays = lane, 0
        fn(out)

    names = {**fn.__globals__, "cuda": Cuda}
    fn = type(fn)(fn.__code__, names)
    running = [threading.Thread(target=one, args=(lane,)) for lane in range(lanes)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def exchange(out: Any) -> None:
    """Two halves, each reading what the other wrote."""
    i = cuda.grid(1)
    s = cuda.shared.array(32, np.int32)
    s[i] = i
    if i < 16:
        s[i] = 100 + i
        cuda.syncwarp()
        out[i] = s[31 - i]
    else:
        s[i] = 200 + i
        cuda.syncwarp()
        out[i] = s[31 - i]


def three_ways(out: Any) -> None:
    """An elif chain, two meetings, masks written in two ways."""
    i = cuda.grid(1)
    s = cuda.shared.array(32, np.int32)
    if i % 3 == 0:
        s[i] = i * 10
        cuda.syncwarp()
        v = s[(i + 1) % 32]
        cuda.syncwarp(0xFFFFFFFF)
        s[i] = v
    elif i % 3 == 1:
        s[i] = i * 20
        cuda.syncwarp(mask=0xFFFFFFFF)
        v = s[(i + 1) % 32] + 1
        cuda.syncwarp()
        s[i] = v
    else:
        s[i] = i * 30
        cuda.syncwarp()
        v = s[(i + 1) % 32] + 2
        cuda.syncwarp()
    cuda.syncwarp()
    out[i] = s[31 - i] * 1000 + v


def hand_over(out: Any) -> None:
    """One lane fills a table while the others wait; in a loop."""
    i = cuda.grid(1)
    s = cuda.shared.array(32, np.int32)
    total = 0
    for k in range(3):
        if i == 0:
            for j in range(32):
                s[j] = j * (k + 1)
            cuda.syncwarp()
        else:
            cuda.syncwarp()
            total += s[31 - i]
        cuda.syncwarp()
    out[i] = total


@pytest.mark.parametrize("fn", [exchange, three_ways, hand_over])
@pytest.mark.parametrize("order", ["lockstep", "warp-serial"])
def test_lanes_meet_at_two_calls(fn: Callable[..., Any], order: str) -> None:
    """The values are those of threads that really wait, and no note warns."""
    kernel: Kernel = cuda.jit(fn)
    out, want = np.zeros(3 * WARP, np.int64), np.zeros(WARP, np.int64)
    by_threads(fn, want, WARP)
    run = kernel.run(1, WARP, [out[:WARP]], order=order, seed=3)
    assert out[:WARP].tolist() == want.tolist()
    assert not [note for note in run.notes if note.kind.startswith("mask")]
    assert want.any()


@pytest.mark.parametrize("fn", [exchange, three_ways, hand_over])
def test_the_sanitizer_knows_the_order_of_two_calls(fn: Callable[..., Any]) -> None:
    """No race between what stands before one call and behind the other."""
    assert sanitize(cuda.jit(fn)[1, WARP], np.zeros(WARP, np.int64)) == []


def test_without_the_calls_the_race_is_found() -> None:
    """The same exchange with nothing between."""

    @cuda.jit
    def k(out: Any) -> None:
        i = cuda.grid(1)
        s = cuda.shared.array(32, np.int32)
        if i < 16:
            s[i] = 100 + i
            out[i] = s[31 - i]
        else:
            s[i] = 200 + i
            out[i] = s[31 - i]

    assert any("race on s" in str(f) for f in sanitize(k[1, WARP], np.zeros(WARP, np.int64)))


def test_a_constant_condition_keeps_one_branch() -> None:
    """What the other branch says is not even compiled."""
    size = 4

    @cuda.jit
    def k(out: Any) -> None:
        i = cuda.grid(1)
        if size > 3:
            cuda.syncwarp()
            out[i] = 1
        else:
            cuda.syncwarp()
            out[i] = out[i].nothing

    out = np.zeros(WARP)
    k[1, WARP](out)
    assert out.all()


def test_branches_count_as_before() -> None:
    """The cut adds no request, and stores stay at their lines."""
    report = profile(cuda.jit(exchange)[1, WARP], np.zeros(WARP, np.int64))
    assert (report.stores.requests, report.shared.requests) == (2, 5)


def test_calls_that_the_simulator_cannot_put_side_by_side_are_refused() -> None:
    """In loops of their own, one branch would run through before the other starts."""

    @cuda.jit
    def k(out: Any) -> None:
        i = cuda.grid(1)
        if i < 16:
            for _ in range(2):
                out[i] += 1
                cuda.syncwarp()
        else:
            for _ in range(2):
                cuda.syncwarp()
                out[i] += out[i - 16]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(UnsupportedError, match=r"(?s)wait for each other at two calls of "
                           r"cuda.syncwarp, here and in line \d+.*side by side"):  # fmt: skip
            k[1, WARP](np.zeros(WARP))


def test_lanes_that_nobody_joins_are_only_noted() -> None:
    """A call in one branch, and later one for all: no meeting at two calls."""

    @cuda.jit
    def k(out: Any) -> None:
        i = cuda.grid(1)
        if i < 16:
            cuda.syncwarp()
        out[i] = i
        cuda.syncwarp()

    out = np.zeros(2 * WARP)
    notes = k.run(1, 2 * WARP, [out]).notes
    assert [note.kind for note in notes] == ["mask_names_absent"]
    assert out.tolist() == list(range(2 * WARP))
