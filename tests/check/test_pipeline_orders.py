"""The schedules that t3_10_pipeline asks for are the best there are, and its lesson's are right."""

import re
from itertools import product

import pytest

from warpwise import curriculum
from warpwise.authoring import read_source
from warpwise.check.specs.t3_10_pipeline import least_span, listed, longest, turning, waiting
from warpwise.fabric.schedules import Deadlock, Schedule, simulate, zb1p, zb2p


def every_order(m, fits):
    """All orders of one rank that hold at most `fits` and take microbatches in turn."""

    def go(f, b):
        if b == m:
            yield []
        if f < m and f - b < fits:
            yield from ([f"F{f}", *rest] for rest in go(f + 1, b))
        if b < f:
            yield from ([f"B{b}", *rest] for rest in go(f, b + 1))

    return list(go(0, 0))


def shortest(p, m, fits):
    """The least makespan of all."""
    best = float("inf")
    for orders in product(*(every_order(m, most) for most in fits)):
        try:
            best = min(best, simulate(Schedule(orders)).makespan)
        except Deadlock:
            continue
    return best


@pytest.mark.parametrize(
    ("p", "m", "fits"),
    [(2, 4, (2, 1)), (2, 4, (1, 2)), (2, 3, (3, 3)), (3, 3, (2, 2, 2)), (3, 3, (1, 2, 1)),
     (3, 4, (2, 2, 1)), (3, 3, (3, 2, 1)), (4, 3, (2, 2, 2, 1))],
)  # fmt: skip
def test_no_order_in_the_same_memory_is_shorter_than_list_scheduling(p, m, fits):
    ran = simulate(Schedule(listed(p, m, fits)))
    assert ran.makespan == shortest(p, m, fits)
    assert all(peak <= most for peak, most in zip(ran.peaks, fits, strict=True))


@pytest.mark.parametrize(("p", "m"), [(2, 5), (4, 8), (5, 4), (3, 1)])
def test_in_the_memory_of_1f1b_list_scheduling_is_1f1b(p, m):
    assert listed(p, m, range(p, 0, -1)) == turning(p, m, lambda rank: p - 1 - rank)


@pytest.mark.parametrize("p", [1, 2, 3, 5, 8])
def test_the_least_time_of_a_rank_is_reached_in_every_memory(p):
    for m, fits in product(range(2 * p - 1, 2 * p + 4), range(p, 2 * p + 2)):
        ran = simulate(Schedule(waiting(p, m, fits)))
        assert longest(ran) == least_span(p, m, fits)
        assert ran.peak <= fits


def test_the_ends_of_the_range_are_the_published_schedules():
    for p, m in ((2, 4), (4, 8), (5, 11)):
        assert Schedule(waiting(p, m, p)).orders == zb1p(p, m).orders
        assert Schedule(waiting(p, m, 2 * p - 1)).orders == zb2p(p, m).orders


@pytest.mark.parametrize(("p", "m", "more"), [(4, 8, 2), (8, 32, 2), (6, 12, 2)])
def test_greedy_misses_the_best(p, m, more):
    greedy = simulate(Schedule(listed(p, m, [p] * p, split=True)))
    assert greedy.peak <= p
    assert longest(greedy) == least_span(p, m, p) + more


def test_the_lessons_orders_are_those_it_says():
    """List scheduling's, typed into the lesson."""
    unit = next(unit for unit in curriculum.load().units if unit.name == "t3_10_pipeline")
    text = "\n".join(cell.source for cell in read_source(unit.lesson_source))
    blocks = re.findall(r"(?:greedy = Schedule\(|pairs = )\[\n(.*?)\]", text, re.DOTALL)
    pairs, greedy = (re.findall(r'"(.*?)"', block) for block in blocks)
    assert [one.split() for one in greedy] == listed(4, 8, [4] * 4, split=True)
    assert [one.split() for one in pairs] == listed(4, 4, [2] * 4)
