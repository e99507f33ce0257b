"""The plan's picture: bars by kind, and dials that say what cannot run."""

from warpwise.planner import Cluster, Model, Plan, estimate
from warpwise.show import show_plan, turn_plan

MODEL, CLUSTER = Model(48, 6144, 64), Cluster("A100", 8)


def test_bars_are_as_long_as_their_shares():
    made = estimate(MODEL, CLUSTER, Plan(tp=8, batch=4, microbatch=4, recompute="full"))
    html = show_plan(made).bundle()["text/html"]
    share = 560 * made.memory.activations / max(made.cluster.memory, made.memory.total)
    assert 'title="activations"' in html
    assert f"width: {share:.1f}px" in html
    assert "(modelled) assumptions" in html
    assert str(show_plan(made)) == str(made)


def test_what_does_not_fit_is_said():
    made = estimate(MODEL, CLUSTER, Plan(dp=8, batch=8))
    assert "<b>does not fit</b>" in show_plan(made).bundle()["text/html"]


def test_dials_fill_the_cluster_with_data_parallel_ranks():
    dials = turn_plan(MODEL, CLUSTER, Plan(tp=8, batch=8))
    assert "dp 1 x tp 8 x pp 1" in dials.at()["text/plain"]
    assert "dp 2 x tp 4 x pp 1" in dials.at(tp=4)["text/plain"]
    assert "dp 2 x tp 2 x pp 2" in dials.at(tp=2, pp=2)["text/plain"]
    assert "This plan cannot run" in dials.at(tp=8, pp=8)["text/html"]
