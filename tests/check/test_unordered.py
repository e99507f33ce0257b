"""Outputs whose elements may come in any order: which elements, never where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from warpwise import cuda
from warpwise.check import Case, KernelSpec, judge
from warpwise.check.cases import Level


def launches(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Seven different numbers, four of them positive."""
    yield case_of(rng.permutation([3, -1, 4, -5, 9, -2, 6]))


def case_of(values: Any) -> Case:
    """One launch, of seven elements."""
    x = np.full(7, -7, np.int32)
    x[: len(values)] = values
    return Case({"out": np.zeros_like(x), "count": np.zeros(1, np.int32), "x": x}, 1, 32)


def positives(case: Case) -> dict[str, np.ndarray]:
    """Sorted, then masked."""
    found = np.ma.masked_all(7, np.int32)
    found[:4] = [3, 4, 6, 9]
    return {"out": found, "count": np.array([4])}


SPEC = KernelSpec(
    "positives", "t0", 1, ("out", "count"), launches, positives, inout=("count",),
    unordered=("out",),
)  # fmt: skip


@cuda.jit
def forwards(out, count, x):
    i = cuda.grid(1)
    if i < x.size and x[i] > 0:
        out[cuda.atomic.add(count, 0, 1)] = x[i]


@cuda.jit
def backwards(out, count, x):
    i = x.size - 1 - cuda.grid(1)
    if i >= 0 and x[i] > 0:
        out[cuda.atomic.add(count, 0, 1)] = x[i]


@cuda.jit
def with_a_gap(out, count, x):
    i = cuda.grid(1)
    if i < x.size and x[i] > 0:
        out[cuda.atomic.add(count, 0, 1) + 1] = x[i]


@cuda.jit
def one_twice(out, count, x):
    i = cuda.grid(1)
    if i < x.size and x[i] > 0:
        out[cuda.atomic.add(count, 0, 1)] = max(x[i], 4)


@cuda.jit
def one_left_out(out, count, x):
    i = cuda.grid(1)
    if i < x.size and x[i] > 0:
        place = cuda.atomic.add(count, 0, 1)
        if x[i] != 4:
            out[place if place < 3 else 2] = x[i]


@pytest.mark.parametrize("answer", [forwards, backwards])
def test_any_order_passes(answer: object) -> None:
    """A GPU promises no order between atomic operations."""
    assert judge(SPEC, answer).status == "pass"


def test_the_right_elements_are_needed() -> None:
    """Rows name the place in sorted order."""
    record = judge(SPEC, one_twice)

    assert record.diagnosis == "wrong_values"
    assert "1 of 7 elements of out is wrong" in record.message
    assert "sorted(out)[0]  4    3 " in record.message


def test_a_missing_element_is_named() -> None:
    """Not all that come after it as well."""
    spec = replace(SPEC, cases=lambda rng, level: [case_of([9, 3, 6, 4])])
    record = judge(spec, one_left_out)

    assert record.diagnosis == "never_written"
    assert "1 of 7 elements of out is wrong" in record.message
    assert "sorted(out)[1]  not written  4 " in record.message


def test_they_have_to_stand_side_by_side() -> None:
    """An element that was left out and one written beyond are both told."""
    record = judge(SPEC, with_a_gap)

    assert record.status == "fail"
    assert "not written" in record.message
    assert "sorted(out)[4]" in record.message
