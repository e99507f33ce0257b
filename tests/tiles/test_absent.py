"""Where Triton is missing: kernels can be written down, and every use says one sentence."""

from __future__ import annotations

import sys
import traceback

import numpy as np
import pytest

from warpwise import tiles
from warpwise.check import Case, TritonSpec, judge
from warpwise.tiles import absent
from warpwise.tiles.absent import tl, triton


@triton.jit
def double(out, x, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, 2 * tl.load(x + i).to(tl.float32))


@triton.jit(do_not_specialize=["x"])
def hole(out, x, BLOCK: tl.constexpr):
    """Nothing yet."""
    raise NotImplementedError


def test_a_kernel_keeps_its_text_and_says_what_is_missing_when_launched() -> None:
    assert double.fn.__name__ == double.__name__ == "double"
    for use in (
        lambda: double[(1,)](1, 2, BLOCK=4),
        lambda: double(1, 2, 4),
        lambda: tl.arange(0, 4),
    ):
        with pytest.raises(tiles.TileError, match="exists for Linux only") as caught:
            use()
        assert caught.value.diagnosis == "absent"


def test_helpers_of_the_host_compute() -> None:
    assert [triton.cdiv(n, 8) for n in (0, 1, 8, 9)] == [0, 1, 1, 2]
    assert [triton.next_power_of_2(n) for n in (1, 2, 3, 8, 9)] == [1, 2, 4, 8, 16]


def test_a_check_is_no_fault_of_the_learner(monkeypatch) -> None:
    """An error, which costs nothing; a hole stays to do."""
    monkeypatch.setitem(sys.modules, "triton.runtime.autotuner", None)
    x = np.ones(4, np.float32)

    def cases(rng, level):
        yield Case({"out": x.copy(), "x": x, "BLOCK": 4}, 1, 4)

    spec = TritonSpec("double", "t0", 1, ("out",), cases, lambda case: {"out": 2 * x})
    record = judge(spec, double)
    assert record.status == "error" and absent.WHY.split(";")[0] in record.message
    assert judge(spec, hole).status == "todo"


def test_no_traps_are_known_without_it(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "triton.runtime.interpreter", None)
    with pytest.raises(tiles.TileError, match="exists for Linux only"):
        tiles.traps()


def test_a_notebook_shows_the_sentence_alone() -> None:
    error = absent.missing()
    assert error._render_traceback_() == [f"TileError: {absent.WHY}"]
    assert "Traceback" not in "".join(traceback.format_exception_only(error))
