"""The planner's page: bars, what a run costs, neighbours, and what a search finds."""

import pytest

from warpwise.planner import MODELS, Model, Plan, PlanError, cluster_of, search
from warpwise.show import TrainingRun, planner_page


def test_it_says_what_the_plan_holds_takes_and_costs():
    text = planner_page().at()["text/plain"]
    for said in ("70.55e9 parameters on 512 H100 SXM", "tokens a second", "days for 1e12 tokens",
                 "checkpoint every", "turn one dial", "as it is", "best that fit"):  # fmt: skip
        assert said in text
    html = planner_page().at()["text/html"]
    assert html.count("(modelled)") >= 4
    assert "as it is" in html


def test_the_best_plan_is_the_searchs():
    page = planner_page("Llama 3 8B", gpus=64)
    best = search(MODELS["Llama 3 8B"], cluster_of("H100 SXM", 64),
                  Plan(batch=1024, zero=1), most_cp=8)[0]  # fmt: skip
    assert f"{best.plan.split}, microbatch {best.plan.microbatch}" in page.at()["text/plain"]


def test_what_cannot_run_says_why_and_what_could():
    text = planner_page().at(tp=16)["text/plain"]
    assert "tp = 16 does not divide 8 heads of keys and values." in text
    assert "best that fit, by search over dp, tp, pp, cp" in text


def test_where_nothing_fits_it_says_so():
    assert "none fits" in planner_page("Megatron 1T", gpus=8).at(tp=8, pp=1)["text/plain"]


def test_dials_turn_the_run_and_the_machine():
    page = planner_page(run=TrainingRun(tokens=15e12))
    assert "days for 15e12 tokens" in page.at()["text/plain"]
    assert "days for 2e12 tokens" in page.at(tokens_1e12=2)["text/plain"]
    assert "A100 80GB" in page.at(gpu="A100 80GB")["text/plain"]
    experts = page.at(model="Mixtral 8x7B", gpus=64, tp=1, pp=1, ep=8)["text/plain"]
    assert "dp 64 x tp 1 x pp 1 x cp 1, ep 8" in experts
    assert "by search over dp, tp, pp, ep; cp 1" in experts


def test_neighbours_that_fit_come_first():
    rows = planner_page().at(tp=4)["text/plain"].split("as it is")[1].split("(modelled)")[0]
    fits = [row.split()[-1] for row in rows.splitlines()[1:] if row.strip()]
    assert fits == sorted(fits, reverse=True) and set(fits) == {"yes", "no"}


def test_a_shape_of_your_own():
    mine = {"mine": Model(24, 2048, 16)}
    assert "e9 parameters" in planner_page("mine", models=mine).at()["text/plain"]
    with pytest.raises(PlanError, match="no preset 'yours': there are Megatron 22B"):
        planner_page("yours")
