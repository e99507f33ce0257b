"""The rungs that a lab prints as numbers are what those versions cost."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.impostors import t1_07_reduction as wrong_reduction
from tests.variants import t1_03_warps as right_warps
from warpwise import curriculum, profile
from warpwise.authoring.answers import answers_of


def warp_slots(kernel: Any) -> int:
    """Issue slots on the launch of the lab t1_03_warps."""
    a = np.random.default_rng(seed=7).random(1000, dtype=np.float32)
    best, place = np.zeros(32, np.float32), np.zeros(32, np.int32)
    return profile(kernel[4, 256], best, place, a, 1000).work.slots


def reduction_slots(kernel: Any) -> int:
    """Issue slots on the launch of the lab t1_07_reduction."""
    x = np.random.default_rng(seed=1).random(40_000, dtype=np.float32)
    best, where = np.zeros(8, np.float32), np.zeros(8, np.int64)
    return profile(kernel[8, 256], best, where, x, x.size).work.slots


def gemm_clocks(kernel: Any) -> int:
    """Clocks of the load/store pipe on the launch of the lab t2_01_gemm_tiles."""
    rng = np.random.default_rng(seed=5)
    a, b = rng.random((256, 256), dtype=np.float32), rng.random((256, 256), dtype=np.float32)
    report = profile(kernel[(8, 8), (16, 16)], np.zeros_like(a), a, b, 256, 256, 256)
    return (report.loads.sectors + report.stores.sectors) // 4 + report.shared.wavefronts


RUNGS: list[tuple[str, str, Callable[[Any], int], Any]] = [
    ("t1_03_warps", "value and place travel together", warp_slots,
     right_warps.value_and_place_travel_together.answer),
    ("t1_03_warps", "our solution", warp_slots, "warp_argmax"),
    ("t1_07_reduction", "two passes: the maximum, then its index", reduction_slots,
     wrong_reduction.two_passes.answer),
    ("t1_07_reduction", "a tree of pairs in shared memory", reduction_slots,
     wrong_reduction.tree_of_pairs.answer),
    ("t1_07_reduction", "our solution", reduction_slots, "max_where"),
    ("t2_01_gemm_tiles", "our solution", gemm_clocks, "four_results"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("unit", "rung", "count", "kernel"), RUNGS, ids=[f"{rung[0]}-{rung[1]}" for rung in RUNGS]
)
def test_a_typed_rung_is_what_that_version_costs(
    unit: str, rung: str, count: Callable[[Any], int], kernel: Any
) -> None:
    """A changed rule of counting has to change the lab."""
    course = {one.name: one for one in curriculum.load().written}
    if isinstance(kernel, str):
        kernel = answers_of(course[unit])[kernel]
    text = course[unit].lab_source.read_text(encoding="utf-8")
    printed = re.findall(rf'"{re.escape(rung)}": ([\d_]+)', text)
    assert [int(number) for number in printed] == [count(kernel)]
