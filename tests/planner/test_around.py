"""Neighbours of a plan, presets, and the search's further dimensions."""

from dataclasses import replace

import pytest

from tests.planner.test_others import SIZES
from warpwise.planner import (
    GPUS,
    MODELS,
    Model,
    Plan,
    PlanError,
    around,
    cluster_of,
    estimate,
    filled,
    search,
)


def test_presets_are_the_published_models():
    """Those whose sizes a test knows, and Megatron's by name."""
    known = dict(SIZES)
    for name in ("Llama 3 8B", "Llama 3 70B", "Llama 3 405B", "Mixtral 8x7B"):
        assert MODELS[name].parameters == known[MODELS[name]]
    for name, billions in (("22B", 22.1), ("175B", 174.6), ("530B", 529.6), ("1T", 1008.0)):
        model = next(model for said, model in MODELS.items() if said.endswith(name))
        assert round(model.parameters / 1e9, 1) == billions


def test_clusters_have_the_devices_links():
    for gpu in GPUS:
        made = cluster_of(gpu, 16)
        assert made.gpu.name == gpu
        assert made.link(8)[0] > made.link(16)[0] == made.nic_gbs * 1e9
    with pytest.raises(PlanError, match="no preset 'A10': there are A100 80GB"):
        cluster_of("A10", 8)


def test_neighbours_differ_in_one_thing_and_run():
    model, cluster = MODELS["Llama 3 8B"], cluster_of("H100 SXM", 64)
    plan = filled(Plan(tp=2, pp=2, batch=64, microbatch=2, zero=1, sequence_parallel=True), cluster)
    near = around(model, cluster, plan)
    assert [one.mfu() for _, one in near] == sorted((one.mfu() for _, one in near), reverse=True)
    said = {name: one.plan for name, one in near}
    assert said["tp 2 -> 4"] == replace(plan, tp=4, dp=8)
    assert said["tp 2 -> 1"] == replace(plan, tp=1, dp=32, sequence_parallel=False)
    assert said["zero 1 -> 3"] == replace(plan, zero=3)
    assert said["recompute none -> full"] == replace(plan, recompute="full")
    assert "ep 1 -> 2" not in said  # no experts
    alone = filled(replace(plan, pp=1), cluster)
    assert "v 1 -> 2" in said and "v 1 -> 2" not in dict(around(model, cluster, alone))
    for one in said.values():
        assert one.gpus == 64 and not one.faults(model, cluster)


def test_the_search_over_cp_and_ep_finds_what_trying_all_finds():
    model = Model(8, 1024, 16, sequence=8192, experts=4, top_k=2)
    cluster, base = cluster_of("A100 80GB", 16), Plan(batch=16, zero=1)
    found = search(model, cluster, base, most_cp=4, most_ep=4)
    best = 0.0
    for tp in (1, 2, 4, 8):
        for pp in (1, 2, 4, 8):
            for cp in (1, 2, 4):
                for ep in (1, 2, 4):
                    dp = 16 // (tp * pp * cp)
                    for microbatch in (1, 2, 4, 8, 16):
                        for again in ("none", "selective", "full"):
                            for sequence in (False, True):
                                plan = replace(base, dp=dp, tp=tp, pp=pp, cp=cp, ep=ep,
                                               microbatch=microbatch, recompute=again,
                                               sequence_parallel=sequence)  # fmt: skip
                                if dp and not plan.faults(model, cluster):
                                    made = estimate(model, cluster, plan)
                                    best = max(best, made.mfu() * made.fits)
    assert found[0].mfu() == best
    assert {one.plan.cp for one in found} == {1, 2, 4}
    assert {one.plan.ep for one in found} == {1, 2, 4}
    assert {(one.plan.cp, one.plan.ep) for one in search(model, cluster, base)} == {(1, 1)}


def test_expert_ranks_stand_in_the_plans_words():
    assert Plan(dp=8, ep=4).split == "dp 8 x tp 1 x pp 1 x cp 1, ep 4"
    assert Plan(dp=8).split == "dp 8 x tp 1 x pp 1 x cp 1"
