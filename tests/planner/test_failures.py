"""Failures: Daly's published intervals, and a simulated run that keeps to the formula."""

import math

import numpy as np
import pytest

from warpwise.planner import (
    PlanError,
    best_interval,
    daly_interval,
    run_mtbf,
    segment_seconds,
    useful_share,
    young_interval,
)


@pytest.mark.parametrize(("mtbf", "printed"), [(24 * 60, "117"), (6 * 60, "57"), (15, "9.1")])
def test_dalys_figures_3_to_5(mtbf, printed):
    """FGCS 22, 2006: dump time 5 minutes, optimum printed with each figure."""
    digits = len(printed.partition(".")[2])
    assert f"{daly_interval(5, mtbf):.{digits}f}" == printed


def test_419_interruptions_of_16384_gpus_in_54_days():
    """arXiv 2407.21783: one in about three hours; 5.8 years a GPU."""
    hours = 54 * 24 / 419
    assert round(hours) == 3
    assert run_mtbf(50_677, 16_384) == pytest.approx(hours, rel=1e-4)


@pytest.mark.parametrize("mtbf", [40.0, 900.0, 1e5])
def test_the_best_interval_is_the_one_that_trying_finds(mtbf):
    tried = np.linspace(mtbf / 1e4, mtbf * 0.9999, 40_000)
    shares = [useful_share(work, 20, 7, mtbf) for work in tried]
    best = best_interval(20, mtbf)
    assert best == pytest.approx(tried[int(np.argmax(shares))], rel=1e-3, abs=mtbf / 2e4)
    assert useful_share(best, 20, 7, mtbf) >= max(shares)


def test_young_and_daly_meet_it_where_saving_is_cheap():
    assert young_interval(1, 1e6) == pytest.approx(best_interval(1, 1e6), rel=1e-3)
    assert daly_interval(1, 1e6) == pytest.approx(best_interval(1, 1e6), rel=1e-7)
    assert daly_interval(50, 20) == 20


def test_a_simulated_run_takes_what_the_formula_says():
    """Failures drawn at random, also during saving and restarting: within four sigma."""
    rng = np.random.default_rng(seed=5)
    work, save, restart, mtbf = 50.0, 10.0, 15.0, 100.0

    def segment():
        spent, need = 0.0, work + save
        while True:
            fails = rng.exponential(mtbf)
            if fails >= need:
                return spent + need
            spent += fails
            need = restart + work + save  # the failed part begins with a restart

    times = np.array([segment() for _ in range(40_000)])
    # A first segment needs no restart: Daly counts one for every failure.
    exact = mtbf * math.exp(restart / mtbf) * math.expm1((work + save) / mtbf)
    assert segment_seconds(work, save, restart, mtbf) == exact
    assert abs(times.mean() - exact) < 4 * times.std() / math.sqrt(len(times))


def test_what_never_ends_has_no_use():
    assert segment_seconds(1e6, 1, 1, 1) == math.inf
    assert useful_share(1e6, 1, 1, 1) == 0
    assert best_interval(1e4, 1) == pytest.approx(1)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: run_mtbf(0, 3), "part_mtbf is a number above 0"),
        (lambda: run_mtbf(1, 0), "parts is at least 1"),
        (lambda: young_interval(0, 1), "save is a number above 0"),
        (lambda: best_interval(1, -1), "mtbf is a number from 0"),
        (lambda: segment_seconds(1, -1, 1, 1), "save is a number from 0"),
    ],
)
def test_bad_numbers_are_named(make, said):
    with pytest.raises(PlanError, match=said):
        make()
