"""The picture of a data parallel step."""

import pytest

from warpwise.fabric.schedules import Layer, ddp, fsdp
from warpwise.show import show_overlap

LAYERS = [Layer(1, 2, 10)] * 3


def test_totals_and_rows_in_words():
    text = str(show_overlap(ddp(LAYERS, lambda size: 0.1 * size, cap=10, first=None)))
    first, compute, network = text.splitlines()
    assert first == "10 ms in all: computes 9, exposed 1 of 3 communication   (modelled)"
    assert compute.endswith("F0 0 to 1, F1 1 to 2, F2 2 to 3, B2 3 to 5, B1 5 to 7, B0 7 to 9")
    assert network.endswith("AR0 5 to 6, AR1 7 to 8, AR2 9 to 10")


def test_long_rows_are_cut_in_the_middle():
    text = str(show_overlap(ddp(LAYERS * 10, lambda size: 1.0, cap=10), unit="us"))
    assert " us in all" in text
    assert "F5 5 to 6, ..., B4" in text


def test_a_bar_a_task_also_of_shards():
    step = fsdp(LAYERS, lambda size: 1.0, lambda size: 1.0)
    bars = show_overlap(step).figure().axes[0].patches
    assert len(bars) == len(step.run.spans)


def test_other_things_are_refused():
    with pytest.raises(TypeError, match=r"ddp\(\.\.\.\) or fsdp"):
        show_overlap([1, 2])
