"""The step-through picture of a collective."""

import pytest

from warpwise.fabric import ring_all_reduce, tree
from warpwise.show import show_chunks


def test_it_starts_with_own_parts_and_ends_with_all():
    dials = show_chunks(ring_all_reduce(3))
    assert dials.at()["text/plain"].splitlines() == [
        "ring all-reduce, 3 ranks, round 0 of 4: at the start",
        "rank  0:  1  1  1",
        "rank  1:  1  1  1",
        "rank  2:  1  1  1",
    ]
    assert dials.at(after_round=1)["text/plain"].splitlines() == [
        "ring all-reduce, 3 ranks, round 1 of 4: 0 sends piece 0 to 1, 1 sends piece 1 to 2, "
        "2 sends piece 2 to 0; added",
        "rank  0:  1  1  2",
        "rank  1:  2  1  1",
        "rank  2:  1  2  1",
    ]
    assert dials.at(after_round=4)["text/plain"].splitlines()[1:] == [
        f"rank  {rank}:  3  3  3" for rank in range(3)
    ]


def test_cells_that_a_round_changed_are_framed():
    html = show_chunks(tree(4)).at(after_round=1)["text/html"]
    assert html.count('stroke-width="3"') == 2
    assert "parts of rank 0, 1" in html


def test_what_has_no_room_is_refused():
    with pytest.raises(ValueError, match="room for 16 ranks and pieces"):
        show_chunks(ring_all_reduce(17))
