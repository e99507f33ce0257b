"""The figure: every cell names its thread and block, in text and in HTML that needs no trust."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.show import kernels
from warpwise.show import show_threads
from warpwise.show.palette import INK, TINTS, shade


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def cells(page: str) -> list[tuple[str, str]]:
    """(style, visible text) of every cell that stands for an element."""
    found = re.findall(r'<td style="([^"]*)" title="[^"]*">(.*?)</td>', page)
    return [(style, " ".join(re.sub(r"<[^>]*>", " ", inner).split())) for style, inner in found]


def test_the_text_names_block_and_thread_of_each_element() -> None:
    """One line a row, a summary, and where the facts come from."""
    picture = show_threads(kernels.add[3, 4], zeros(10), zeros(10), zeros(10))

    assert str(picture) == (
        "add[3, 4](out, a, b)\n"
        "  which thread wrote each element of out\n"
        "        0  0:0  0:1  0:2  0:3  1:0  1:1  1:2  1:3  2:0  2:1\n"
        "  10 of 10 elements of out written, each once. 2 of 12 threads wrote nothing.\n"
        "  each element: block:thread\n"
        "  (counted, simulator)"
    )


def test_a_matrix_has_rows_and_columns() -> None:
    """Threads and blocks are named x,y as in CUDA."""
    assert str(show_threads(kernels.image[(2, 1), (2, 2)], zeros(2, 3))) == (
        "image[(2, 1), (2, 2)](out)\n"
        "  which thread wrote each element of out (2, 3)\n"
        "           0            1            2\n"
        "        0  (0,0):(0,0)  (0,0):(1,0)  (1,0):(0,0)\n"
        "        1  (0,0):(0,1)  (0,0):(1,1)  (1,0):(0,1)\n"
        "  6 of 6 elements of out written, each once. 2 of 8 threads wrote nothing.\n"
        "  each element: block:thread\n"
        "  (counted, simulator)"
    )


def test_unwritten_and_doubly_written_elements_stand_out_without_colour() -> None:
    """A dash in a dashed frame, a count in a double frame, and a legend for both."""
    picture = show_threads(kernels.same_for_every_block[3, 2], zeros(4))

    assert cells(picture.html())[0][1] == "0 b2 ×3"
    assert "border: 3px double" in cells(picture.html())[0][0]
    assert cells(picture.html())[2][1] == "–"
    assert "border: 2px dashed" in cells(picture.html())[2][0]
    assert "Dashed, –: not written." in picture.html()
    assert str(picture).splitlines()[2:7] == [
        "        0  2:0*3  2:1*3  --     --",
        "  2 of 4 elements of out written, 2 of them more than once.",
        "  each element: block:thread",
        "  -- not written",
        "  *2 written twice; the last thread is named",
    ]


def test_a_legend_names_only_the_signs_that_occur() -> None:
    """No double frame is explained where there is none."""
    page = show_threads(kernels.add[3, 4], zeros(10), zeros(10), zeros(10)).html()

    assert "In a cell: its thread, and below it the thread's block." in page
    assert "Dashed" not in page
    assert "Double" not in page


def test_a_block_in_focus_is_dark_and_the_others_lose_their_colour() -> None:
    """The focused block keeps its tint and gets a dark frame, and its idle threads are named."""
    page = show_threads(kernels.add[3, 4], zeros(10), zeros(10), zeros(10)).html(2)
    near = [text for style, text in cells(page) if f"background: {TINTS[2]}" in style]
    far = [text for style, text in cells(page) if "background: none" in style]

    assert near == ["0 b2", "1 b2"]
    assert len(far) == 8
    assert f"border: 3px solid {INK}" in cells(page)[8][0]
    assert "Block 2 wrote 2 elements of out. Its threads 2 and 3 wrote nothing." in page


def test_a_block_whose_elements_were_overwritten_is_still_shown() -> None:
    """Each block's own threads are in its cells, and the overlap is said."""
    picture = show_threads(kernels.same_for_every_block[3, 2], zeros(4))

    assert [text for _, text in cells(picture.html(0))][:2] == ["0 b0 ×3", "1 b0 ×3"]
    assert "Block 0 wrote 2 elements of out. Other blocks wrote 2 of them as well." in (
        picture.html(0)
    )


def test_reads_are_drawn_on_request() -> None:
    """An array that was only read shows who read it, and how often."""
    picture = show_threads(kernels.neighbours[1, 6], zeros(6), zeros(6), array="a")

    assert "  which thread read each element of a\n" in str(picture)
    assert "        0  0:1    0:2    0:1*2  0:2*2  0:3    0:4\n" in str(picture)


def test_a_kernel_that_writes_nothing_shows_what_it_did_not_write() -> None:
    """All cells are dashed."""
    picture = show_threads(kernels.nothing[1, 4], zeros(3))

    assert "  0 of 3 elements of out written. 4 of 4 threads wrote nothing.\n" in str(picture)


@pytest.mark.parametrize(("threads", "width"), [(4, 24), (8, 24), (5, 20), (32, 16), (37, 24)])
def test_rows_hold_whole_blocks_or_equal_parts_of_one(threads: int, width: int) -> None:
    """So that edges of blocks stand below each other."""
    n = 64
    picture = show_threads(kernels.add[-(-n // threads), threads], zeros(n), zeros(n), zeros(n))

    assert str(picture).splitlines()[3].split()[0] == str(width)


def test_a_large_array_is_shown_in_part_around_the_focus() -> None:
    """256 cells at most, and how many more there are."""
    picture = show_threads(kernels.add[100, 32], zeros(3000), zeros(3000), zeros(3000))

    assert len(cells(picture.html())) == 256
    assert "... and 2744 more elements" in picture.html()
    assert cells(picture.html(50))[0][1] == "0 b50"
    assert len(show_threads(kernels.image[(9, 9), (8, 8)], zeros(70, 70)).html()) < 100_000


def test_an_empty_array_has_no_cells() -> None:
    """Nothing to draw is no error, also in two dimensions."""
    empty = show_threads(kernels.add[1, 4], zeros(0), zeros(0), zeros(0))

    assert cells(empty.html()) == []
    assert "0 of 0 elements of out written." in str(empty)
    assert cells(show_threads(kernels.image[(1, 1), (2, 2)], zeros(0, 3)).html()) == []


def test_the_html_survives_an_untrusted_notebook() -> None:
    """Only tags and attributes that JupyterLab keeps before a notebook is trusted."""
    page = show_threads(kernels.same_for_every_block[3, 2], zeros(4)).html()

    assert set(re.findall(r"<([a-z]+)", page)) == {"figure", "div", "b", "table", "tr", "td"}
    assert set(re.findall(r' ([a-z]+)="', page)) == {"style", "title", "cellspacing"}


def test_the_bytes_are_the_same_each_time() -> None:
    """A committed notebook does not change when it runs again."""
    pages = {show_threads(kernels.image[(2, 2), (4, 4)], zeros(5, 7)).html() for _ in range(2)}

    assert len(pages) == 1


def test_tints_are_legible_under_dark_text() -> None:
    """A contrast of at least 8 (WCAG asks for 7 at its highest level)."""

    def luminance(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for tint in TINTS:
        assert (luminance(tint) + 0.05) / (luminance(INK) + 0.05) >= 8


def test_nine_blocks_look_different() -> None:
    """The ninth has the colour of the first, and a dotted frame, which the legend explains."""
    page = show_threads(kernels.image[(3, 3), (1, 1)], zeros(3, 3)).html()
    looks = [style for style, _ in cells(page)]

    assert len(set(looks)) == 9
    assert f"background: {TINTS[0]}" in looks[0] and "border: 3px solid" in looks[0]
    assert f"background: {TINTS[0]}" in looks[8] and f"border: 3px dotted {INK}" in looks[8]
    assert "Dotted frame: a second block of the same colour." in page
    assert "Dotted" not in show_threads(kernels.image[(2, 4), (1, 1)], zeros(4, 2)).html()


@pytest.mark.parametrize("grid", [(16, 1, 1), (40, 1, 1), (3, 3, 1), (8, 8, 1), (16, 9, 1),
                                  (5, 4, 3), (1, 40, 1), (13, 7, 2)])  # fmt: skip
def test_blocks_that_touch_never_look_the_same(grid: tuple[int, int, int]) -> None:
    """Straight or across a corner, in grids of one to three axes."""
    looks = {place: shade(place, grid) for place in np.ndindex(grid)}
    compared = 0
    for (x, y, z), look in looks.items():
        for step in np.ndindex(3, 3, 3):
            near = (x + step[0] - 1, y + step[1] - 1, z + step[2] - 1)
            if near in looks and near != (x, y, z):
                compared += 1
                assert looks[near] != look, (x, y, z, near)

    assert compared
    assert grid != (3, 3, 1) or looks[0, 0, 0] != looks[2, 2, 0]


def test_long_lines_wrap() -> None:
    """In the text at 88 characters, in HTML at the width of the page."""
    picture = show_threads(kernels.same_for_every_block[1000, 2], zeros(40_000), array="out")
    said = [line for line in str(picture).splitlines() if "elements of out written" in line]

    assert said and all(len(line) <= 88 for line in said)
    assert "white-space: normal; overflow-wrap: break-word; max-width: 48em;" in picture.html()
