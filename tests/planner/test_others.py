"""Figures of models and papers other than Megatron's: counts, activations, links, memory."""

from __future__ import annotations

from math import nan

import pytest

from warpwise.planner import (
    Cluster,
    Model,
    Plan,
    PlanError,
    coefficient,
    copies_bytes,
    estimate,
    first_stage_bytes,
    head_bytes,
    in_flight,
    layer_bytes,
    state,
)

LLAMA = {"vocabulary": 128256, "sequence": 8192, "gated": True, "kv_heads": 8}

# Model cards and checkpoints: numbers of parameters to the last one.
SIZES = [
    (Model(32, 4096, 32, ffn=14336, **LLAMA), 8_030_261_248),  # Llama 3 8B
    (Model(80, 8192, 64, ffn=28672, **LLAMA), 70_553_706_496),  # Llama 3 70B
    (Model(126, 16384, 128, ffn=53248, **LLAMA), 405_853_388_800),  # Llama 3 405B
    (Model(32, 4096, 32, 32000, 4096, ffn=11008, gated=True), 6_738_415_616),  # Llama 2 7B
    (Model(32, 4096, 32, 32000, 4096, 8, 14336, True, 8, 2), 46_702_792_704),  # Mixtral 8x7B
    (Model(12, 768, 12, 50257, 1024), 124_439_808 - 2 * 768),  # GPT-2, without its last norm
    (Model(48, 1600, 25, 50257, 1024), 1_557_611_200 - 2 * 1600),  # GPT-2 XL, likewise
]


@pytest.mark.parametrize(("model", "published"), SIZES)
def test_published_numbers_of_parameters(model, published):
    """Exact, not rounded."""
    assert model.parameters == published


def test_mixtral_meets_13_billion_parameters_a_token():
    """Its paper says 13e9 active (arXiv 2401.04088)."""
    assert SIZES[4][0].active == pytest.approx(12.88e9, rel=1e-3)


def test_gpt3s_training_operations():
    """3.14e23 for 300e9 tokens (arXiv 2005.14165), which leaves the attention core out."""
    gpt3 = Model(96, 12288, 96, 50257)
    core = 3 * 300e9 * 96 * gpt3.core_flops()
    assert (gpt3.model_flops(300e9) - core) == pytest.approx(3.14e23, rel=0.01)


def test_zero_at_other_sizes():
    """ZeRO's text and table (arXiv 1910.02054): 1e12 parameters on 1024 GPUs, 128e9 on 64."""
    assert state(1e12, "mixed", 3, 1024).total == pytest.approx(15.6e9, rel=2e-3)
    assert state(128e9, "mixed", 3, 64).total == 32e9
    assert state(7.6e9, "mixed", 1, 64).total == pytest.approx(32e9, rel=0.01)


@pytest.mark.parametrize("width", [4, 2, 3.5])
def test_other_widths_save_what_megatron_counts(width):
    """18 + 4 f / h for selective recomputation: Megatron-LM, theoretical_memory_usage.py."""
    model = Model(24, 2048, 16, ffn=int(2048 * width))
    assert coefficient(model, 1, recompute="selective") == 18 + 4 * width
    assert coefficient(model, 8, True, "selective") == (18 + 4 * width) / 8


def test_llamas_layer_tensor_by_tensor():
    """Norms 4, inputs 2 + 2, Q and the core's output 4, a quarter for K and V, 3 x 3.5 x 2."""
    model = Model(32, 4096, 32, ffn=14336, **LLAMA)
    assert coefficient(model, recompute="selective") == 4 + 2 + 2 + 4 + 4 / 4 + 3 * 3.5 * 2
    assert coefficient(model, 8, recompute="selective") == 8 + (4 + 1 + 21) / 8


def test_experts_save_what_their_tokens_need():
    """top_k times the feed-forward part of a dense layer, and the router's input."""
    dense = Model(24, 2048, 16)
    moe = Model(24, 2048, 16, experts=8, top_k=2)
    more = coefficient(moe) - coefficient(dense)
    assert more == 2 + 2 + 16


def test_the_rank_that_holds_most():
    """One stage holds the logits, too; with two, the last holds them and a copy of the matrix."""
    model = Model(4, 1024, 16, vocabulary=256_000)
    cluster = Cluster("H100", 2)
    alone = estimate(model, Cluster("H100", 1), Plan(batch=4)).memory
    assert alone.activations == first_stage_bytes(model) + head_bytes(model)
    assert head_bytes(model) == 4 * 2048 * (1024 + 256_000)
    both = estimate(model, cluster, Plan(pp=2, batch=4)).memory
    assert both.activations == 2 * layer_bytes(model) + head_bytes(model)
    assert both.parameters == 2 * (2 * model.layer + 256_000 * 1024)
    deep = estimate(Model(48, 4096, 32), Cluster("H100", 8), Plan(pp=8, batch=8)).memory
    assert deep.activations == first_stage_bytes(Model(48, 4096, 32), pp=8)


def test_groups_that_cross_nodes_use_the_card():
    """Ranks count tp first, then cp, dp, pp: what fits in a node by its size may lie across two."""
    cluster = Cluster("H100", 32)
    fast, slow = cluster.link(4, 2), cluster.link(8, 2)
    assert fast[0] > slow[0] == cluster.nic_gbs * 1e9
    assert cluster.link(6) == slow  # ranks 6 to 11 are on two nodes
    assert Cluster("H100", 6).link(6) == fast
    model = Model(32, 2048, 16)
    near = estimate(model, Cluster("H100", 8), Plan(tp=2, pp=4, batch=8)).time.pipeline
    far = estimate(model, Cluster("H100", 32), Plan(tp=2, pp=4, dp=4, batch=32)).time.pipeline
    assert far > 5 * near


def test_sharded_gradients_are_scattered_every_microbatch():
    """ZeRO-2 and 3 with accumulation send more; ZeRO-1 sums first."""
    model, cluster = Model(24, 2048, 16), Cluster("A100", 16)

    def sent(zero, microbatch):
        plan = Plan(dp=16, batch=64, microbatch=microbatch, zero=zero, overlap=0)
        return estimate(model, cluster, plan).time.data

    assert sent(1, 1) == sent(1, 4)
    assert sent(2, 4) == sent(1, 4)
    assert sent(2, 1) == pytest.approx(2.5 * sent(2, 4))
    assert sent(3, 1) == pytest.approx(4 * sent(3, 4))
    assert sent(3, 4) == pytest.approx(1.5 * sent(1, 4))


MODEL, CLUSTER = Model(24, 2048, 16), Cluster("A100", 8)
BAD = [
    (lambda: Model(2.5, 2048, 16), "layers is a whole number, not 2.5"),
    (lambda: Model("2", 2048, 16), "layers is a whole number, not '2'"),
    (lambda: Model(24, 2048, 16, kv_heads=0), "kv_heads is at least 1, not 0"),
    (lambda: Model(24, 2048, 16, kv_heads=-8), "kv_heads is at least 1, not -8"),
    (lambda: Model(24, 2048, 16, ffn=0), "ffn is at least 1"),
    (lambda: MODEL.model_flops(nan), "tokens is a number from 0"),
    (lambda: Cluster("A100", nan), "gpus is a whole number"),
    (lambda: Cluster("A100", 8, nic_gbs=0), "nic_gbs is a number above 0"),
    (lambda: Cluster("A100", 8, peak=nan), "peak is a number from 0, not nan"),
    (lambda: Cluster("A100", 8, latency_us=3), r"latency_us is \(inside, between\)"),
    (lambda: Cluster("A100", 8, efficiency=2), "at most 1, not 2"),
    (lambda: estimate(MODEL, CLUSTER, Plan(dp="8")), "dp is a whole number, not '8'"),
    (lambda: estimate(MODEL, CLUSTER, Plan(dp=8.0)), "dp is a whole number, not 8.0"),
    (lambda: estimate(MODEL, CLUSTER, Plan(dp=8, batch=8, overlap=nan)), "overlap is a share"),
    (lambda: estimate(MODEL, CLUSTER, Plan(dp=8, batch=8, zero="3")), "not '3'"),
    (lambda: estimate(MODEL, CLUSTER, Plan(dp=8, batch=8)).mfu(0), "seconds is a number above 0"),
    (lambda: state(nan), "parameters is a number from 0"),
    (lambda: state(7e9, "mixed", 3, 2.5), "ranks is a whole number"),
    (lambda: coefficient(MODEL, 0), "tp is at least 1"),
    (lambda: layer_bytes(MODEL, -1), "microbatch is at least 1"),
    (lambda: in_flight(0), "pp is at least 1"),
    (lambda: copies_bytes(MODEL, nan, 28), "tokens is a number"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "said"), BAD, ids=[said for _, said in BAD])
def test_bad_numbers_are_named(make, said):
    """Every public function refuses them in a sentence."""
    with pytest.raises(PlanError, match=said):
        make()
