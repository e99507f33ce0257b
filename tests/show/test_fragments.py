"""The picture of who holds which element."""

from __future__ import annotations

import pytest

from warpwise.show import show_fragments


def test_text_lists_the_registers_of_a_lane() -> None:
    """The elements of the lane at which the dial stands."""
    assert repr(show_fragments("m16n8k8", 6)) == (
        "m16n8k8, lane 6 holds\n"
        "  A: a0 = [1, 2]  a1 = [9, 2]  a2 = [1, 6]  a3 = [9, 6]\n"
        "  B: b0 = [2, 1]  b1 = [6, 1]\n"
        "  C and D: c0 = [1, 4]  c1 = [1, 5]  c2 = [9, 4]  c3 = [9, 5]"
    )


def test_every_element_is_drawn() -> None:
    """A cell for each element of A, B and C; thick frames for those of the lane."""
    html = show_fragments("m16n8k16").at(lane=31)["text/html"]
    assert html.count("<rect") == 256 + 128 + 128
    assert html.count('stroke-width="3"') == 8 + 4 + 4
    assert "A[15, 15]: lane 31, a7" in html


def test_an_unknown_instruction_is_refused() -> None:
    """With the names of the others."""
    with pytest.raises(ValueError, match="there are m16n8k16, m16n8k8"):
        show_fragments("m8n8k4")
