"""The Gantt picture: what it prints, what it draws, and its dials."""

from warpwise.fabric.schedules import dualpipe, gpipe, interleaved, one_f_one_b
from warpwise.show import show_schedule


def test_text_has_a_row_a_rank_with_every_pass_where_it_runs():
    assert str(show_schedule(one_f_one_b(2, 2))).splitlines() == [
        "rank 0 |F0 F1 ......B0    ...B1    |",
        "rank 1 |...F0 B0    F1 B1    ......|",
        "1F1B (modelled): makespan 9, ideal 6, bubble 3 = 0.5000 of ideal = 0.3333 of total, "
        "most idle between own passes 3, peak 2",
    ]


def test_the_svg_has_a_bar_a_pass():
    html = show_schedule(gpipe(3, 4)).bundle()["text/html"]
    assert html.count("<rect") == 3 * 4 * 2
    assert "<title>B3</title>" in html
    passes = sum(len(dualpipe(4, 8).passes(rank)) for rank in range(4))
    assert show_schedule(dualpipe(4, 8)).bundle()["text/html"].count("<rect") == passes


def test_dials_turn_stages_and_microbatches():
    dials = show_schedule(one_f_one_b, p=4, m=8)
    assert [dial.name for dial in dials.dials] == ["ranks", "microbatches"]
    assert "makespan 33" in dials.at()["text/plain"]
    assert "makespan 117" in dials.at(ranks=8, microbatches=32)["text/plain"]


def test_a_setting_that_is_no_schedule_says_why():
    dials = show_schedule(interleaved, p=4, m=8, v=2)
    assert "28.5" in dials.at()["text/plain"]
    assert "6 is no multiple" in dials.at(microbatches=6)["text/plain"]


def test_what_is_too_long_for_text_says_so():
    assert "too long for a line of text" in str(show_schedule(gpipe(8, 64)))
