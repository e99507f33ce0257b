"""What a rank holds, as bars and as a table."""

import pytest

from warpwise.planner import state
from warpwise.ranks.memory import Held
from warpwise.show import show_states


def by_stage():
    return {f"stage {k}": state(7.5e9, stage=k, ranks=64) for k in range(4)}


def test_the_table_has_the_published_totals():
    """ZeRO, arXiv 1910.02054, figure 1."""
    totals = [row[4] for row in show_states(by_stage()).table().rows]
    assert [round(float(total), 1) for total in totals] == [120.0, 31.4, 16.6, 1.9]


def test_what_does_not_fit_says_so():
    rows = show_states(by_stage(), room=20e9).table().rows
    assert [row[-1] for row in rows] == ["no", "no", "yes", "yes"]


def test_bars_are_as_long_as_the_parts():
    picture = show_states(by_stage(), room=80e9)
    bars = picture.figure().axes[0].patches
    assert [round(bar.get_width(), 3) for bar in bars[:4]] == [15, 15, 15, round(15 / 64, 3)]
    assert "image/png" in picture._repr_mimebundle_()


def test_counted_ones_are_labelled_as_such():
    assert str(show_states({"mine": Held(10**9, 10**9, 2 * 10**9)})).endswith("(counted)")


def test_nothing_and_something_else_are_refused():
    with pytest.raises(ValueError, match="nothing to show"):
        show_states({})
    with pytest.raises(TypeError, match="mine has no parameters"):
        show_states({"mine": 3})
