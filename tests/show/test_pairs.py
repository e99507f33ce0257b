"""Queries and keys of causal attention by rank and step."""

import pytest

from warpwise.show import show_pairs

PLAIN = [[0, 1], [2, 3]]
ZIGZAG = [[0, 3], [1, 2]]


def test_steps_are_written_and_pairs_counted():
    assert show_pairs({"contiguous": PLAIN}).at()["text/plain"].splitlines() == [
        "contiguous, all steps",
        "query   0, rank 0  0",
        "query   1, rank 0  0 0",
        "query   2, rank 1  1 1 0",
        "query   3, rank 1  1 1 0 0",
        "pairs by rank: 3, 7",
        "all wait, step by step, for 3 + 4 = 7 (counted)",
    ]


def test_one_step_of_another_split():
    text = show_pairs({"contiguous": PLAIN, "zig-zag": ZIGZAG}).at(split="zig-zag", step=1)
    assert text["text/plain"].splitlines() == [
        "zig-zag, step 1",
        "query   0, rank 0  .",
        "query   1, rank 1  1 .",
        "query   2, rank 1  1 . .",
        "query   3, rank 0  . 1 1 .",
        "pairs by rank in this step: 2, 2",
        "all wait for 2 (counted)",
    ]


def test_a_cell_has_the_tint_of_its_rank():
    html = show_pairs({"zig-zag": ZIGZAG}).at()["text/html"]
    assert html.count("<rect") == 10
    assert 'fill="#9fd0f0"' in html
    assert html.count('fill="#f7c873"') == 2 + 3


def test_positions_have_to_be_there_once():
    with pytest.raises(ValueError, match="each position from 0 on has to be there once"):
        show_pairs({"torn": [[0, 1], [1, 2]]})
