"""The lab t3_14_capstone: its references are the planner's, and its text has no number made up."""

from __future__ import annotations

import math

import numpy as np
import pytest

from warpwise.check.specs import t3_14_capstone as specs
from warpwise.curriculum import load
from warpwise.planner import (
    Cluster,
    Model,
    Plan,
    estimate,
    first_stage_bytes,
    layer_bytes,
    run_mtbf,
    state,
    useful_share,
)
from warpwise.planner.trials import Problem

LAB = next(unit for unit in load().units if unit.name == specs.UNIT).lab_source.read_text("utf-8")


@pytest.mark.parametrize("level", ["student", "grader"])
def test_held_bytes_are_the_planners(level):
    """States by ZeRO's formula; activations of the first stage, and a layer being recomputed."""
    for args in specs.held_inputs(np.random.default_rng(3), level):
        layers, hidden, heads, sequence, dp, tp, pp, zero, micro, many, recompute = args
        model = Model(layers, hidden, heads, sequence=sequence)
        states = state(12 * layers * hidden**2 / (tp * pp), "mixed", zero, dp).total
        active = first_stage_bytes(
            model, micro, tp, pp, sequence_parallel=True, recompute=recompute, microbatches=many
        )
        if recompute == "full":
            active += layer_bytes(model, micro, tp, True)
        assert specs.held(*args) == pytest.approx((states, active), rel=1e-12)


def test_step_parts_are_the_planners():
    """Without latency and without what is bound by memory."""
    model, cluster = Model(32, 4096, 32), Cluster("A100", 64, latency_us=(0, 0), efficiency=0.6)
    plan = Plan(dp=4, tp=4, pp=4, batch=64, microbatch=2)
    time = estimate(model, cluster, plan).time
    dense = 4 * 4 * (8 * model.layer + model.embeddings) / (4 * 4)  # of the first stage
    parts = specs.step(
        model.model_flops(64 * 2048), 312e12, 0.6, 32, dense, 4, 4, 4, 8, 2 * 2048 * 4096 * 2,
        300e9, 25e9,
    )  # fmt: skip
    assert parts[0] == pytest.approx(time.compute, rel=1e-12)
    assert parts[1] == pytest.approx(time.tensor, rel=1e-12)
    assert parts[2] == pytest.approx((time.compute + time.tensor) * 3 / 8, rel=1e-12)
    assert parts[3] == pytest.approx(time.data, abs=1e-12)


def test_the_example_of_best_plan_is_as_the_text_says():
    """245 plans, 121 that fit, one best."""
    problem = Problem(Model(24, 3072, 24), Cluster("A100 40GB", 12, nic_gbs=1.0),
                      Plan(batch=24, zero=1))  # fmt: skip
    made = specs._all(problem)
    fits = [one for one in made if one[2] <= problem.cluster.memory]
    top = max(fits, key=lambda one: one[1])
    assert (len(list(problem.splits())), len(fits), top[0]) == (245, 121, (1, 1, 3, 4, 1))
    assert f"{top[1]:.2%}" == "52.08%"
    assert sum(one[1] == top[1] for one in fits) == 1
    for said in ("245 such plans", "121 of them fit", "(1, 1, 3, 4, 1)", "52.08 %"):
        assert said in LAB


def test_the_audits_versions_are_as_the_text_says():
    """Six rows of ten fall with tflops taken as exact; 71.0 is within one percent."""
    assert all(not specs.audited(row) for row in specs.TABLE)
    assert sum(bool(specs.audited(row, one_side=True)) for row in specs.TABLE) == 6
    row = (*specs.TABLE[4][:-1], 71.0)
    assert specs.audited(row) == ["petaflops"]
    assert specs.audited(row, share=0.01) == []
    assert "six of the ten rows" in LAB


def test_the_checkpoints_versions_are_as_the_text_says():
    mtbf = run_mtbf(50_000 * 3600, 16_384)
    young = round(math.sqrt(2 * 60 * mtbf) / 10)
    steps, share = specs.checkpoint(10.0, 60.0, 300.0, 50_000.0, 16_384)
    figures = [useful_share(n * 10, 60, 300, mtbf) for n in (1, young)]
    assert [f"{figures[0]:.1%}", young, f"{figures[1]:.3%}", f"{share:.3%}"] == [
        "13.9%", 115, "87.482%", "87.488%"
    ]  # fmt: skip
    for said in ("13.9 %", "115 steps", "87.482 %", "87.488 %"):
        assert said in LAB
    tried = range(1, 1000)
    assert steps == max(tried, key=lambda n: useful_share(n * 10, 60, 300, mtbf))


@pytest.mark.parametrize("level", ["student", "grader"])
@pytest.mark.parametrize("seed", range(3))
def test_every_rule_of_thumb_loses_somewhere(level, seed):
    """In every draw: no context parallelism, microbatches of 1, tp of a node, powers of two."""
    found = [one for (one,) in specs.plan_inputs(np.random.default_rng(seed), level)]
    assert sum(specs.best(one) == 0 for one in found) == 1
    lost, too_large = set(), 0
    for problem in found:
        room, made = problem.cluster.memory, specs._all(problem)
        too_large += max(made, key=lambda one: one[1])[2] > room
        for slug, kept in specs._NARROW.items():
            left = [mfu for split, mfu, held in made if kept(split, problem) and held <= room]
            if max(left, default=0.0) < specs.best(problem) * (1 - 1e-4):
                lost.add(slug)
    assert lost == set(specs._NARROW)
    assert too_large >= 3  # what is fastest without a look at the memory does not fit
