"""Before and after a collective."""

import pytest

from warpwise.show import show_holdings

SUMMED = ([[1, 2], [10, 20]], [[11, 22], [11, 22]])
SWAPPED = ([[1, 2], [10, 20]], [[1, 10], [2, 20]])
ONE_GETS_ALL = ([[1], [10]], [[1, 10], None])


def test_text_has_both_sides():
    picture = show_holdings({"all_reduce": SUMMED, "gather": ONE_GETS_ALL})
    assert picture.at()["text/plain"].splitlines() == [
        "all_reduce",
        "rank 0:  1  2   ->   rank 0: 11 22",
        "rank 1: 10 20   ->   rank 1: 11 22",
    ]
    assert picture.at(operation="gather")["text/plain"].splitlines()[1:] == [
        "rank 0:  1   ->   rank 0:       1      10",
        "rank 1: 10   ->   rank 1: nothing",
    ]


def test_a_value_is_known_by_its_rank_and_a_sum_by_its_frame():
    html = show_holdings({"all_to_all": SWAPPED}).at()["text/html"]
    assert html.count("from rank 0") == html.count("from rank 1") == 4
    assert "several" not in html
    assert show_holdings({"all_reduce": SUMMED}).at()["text/html"].count("made of several") == 4


def test_sides_of_different_size_are_refused():
    with pytest.raises(ValueError, match="same number of ranks, at most 8; got 2 and 1"):
        show_holdings({"gather": ([[1], [2]], [[1, 2]])})
