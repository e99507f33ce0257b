"""The sector map: lanes over elements, sectors and lines of 128 bytes, against the counters."""

from __future__ import annotations

import re

import numpy as np
import pytest

from warpwise.observe import profile
from warpwise.observe.requests import Requests
from warpwise.show import Sectors, show_sectors
from warpwise.show.dial import Dialled
from warpwise.simt import Kernel, LaunchError, OutOfBoundsError, run

STRIDED = """
@cuda.jit
def strided(out, a, offset, stride):
    i = cuda.grid(1)
    out[i] = a[offset + i * stride]
"""
RECORD = np.dtype([("x", "f4"), ("y", "f4"), ("z", "f4")], align=True)


def strided(n: int = 32) -> object:
    """One block of n threads."""
    return Kernel.from_source(STRIDED, "strided")[1, n]


def a(n: int = 2048, dtype: object = np.float32) -> np.ndarray:
    return np.zeros(n, dtype)


def test_the_map_of_a_shifted_load_as_text() -> None:
    """Lane by lane, with what moved for nobody, and sectors that do not move left blank."""
    assert str(show_sectors(strided(), a(32), a(), 1, 1, array="a")) == (
        "strided[1, 32](out, a, offset, stride)\n"
        "  line 5 reads a: 32 lanes ask for 128 bytes, 5 sectors move 160 bytes: 80 %\n"
        "    byte     0 | --  0  1  2  3  4  5  6 |  7  8  9 10 11 12 13 14 "
        "| 15 16 17 18 19 20 21 22 | 23 24 25 26 27 28 29 30 |\n"
        "    byte   128 | 31 -- -- -- -- -- -- -- |                         "
        "|                         |                         |\n"
        "  number: the lane that asks;  --: moved, nobody asks;  blank: not moved\n"
        "  (counted, simulator)"
    )


def test_the_map_as_html() -> None:
    """A cell for each element of the lines: asked for, moved, not moved; nothing needs trust."""
    page = show_sectors(strided(), a(32), a(), 1, 1, array="a").html()
    assert "<script" not in page and "<svg" not in page
    cells = re.findall(r'<td style="([^"]*border: 1px[^"]*)">([^<]*)</td>', page)
    assert len(cells) == 64
    assert [text for _, text in cells if text] == [str(lane) for lane in range(32)]
    assert sum("dotted" in style for style, _ in cells) == 24
    assert sum("#c9c9c9" in style for style, _ in cells) == 8


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.float64])
@pytest.mark.parametrize(("offset", "stride"), [(0, 0), (0, 1), (1, 1), (8, 1), (3, 2), (0, 33)])
def test_the_requests_are_what_the_counters_count(dtype: object, offset: int, stride: int) -> None:
    """Sectors, lines and bytes, for every size of an element."""
    args = a(32, dtype), a(dtype=dtype), offset, stride
    requests = Requests()
    launch = strided()
    run(launch.kernel, 1, 32, list(args), (requests,))
    counted = profile(launch, *args)
    for one, traffic in zip(requests.found, (counted.loads, counted.stores), strict=True):
        assert len(one.sectors) == traffic.sectors
        assert len(one.lines_128b) == traffic.lines_128b
        assert one.bytes_requested == traffic.bytes_requested
        assert one.bytes_moved == traffic.bytes_moved
    shown = show_sectors(launch, *args)
    assert f"{counted.loads.bytes_requested} bytes" in str(shown)
    assert f"{counted.loads.bytes_moved:,} bytes: " in str(shown)


def test_dials_are_parameters_of_the_kernel() -> None:
    """Each starts at the launch's own value."""
    got = show_sectors(strided(), a(32), a(), 0, 1, array="a",
                       dials={"offset": range(33), "stride": range(1, 33)})  # fmt: skip
    assert isinstance(got, Dialled) and got.start == {"offset": 0, "stride": 1}
    assert "4 sectors move" in repr(got)
    assert "8 sectors move" in got.at(stride=2)["text/plain"]
    assert "9 sectors move" in got.at(offset=7, stride=2)["text/plain"]
    with pytest.raises(ValueError, match="strided has no parameter 'step': out, a, offset, stride"):
        show_sectors(strided(), a(32), a(), 0, 1, dials={"step": (1, 2)})


def test_many_lanes_on_one_element() -> None:
    """They are counted in the cell; more bytes are asked for than move."""
    text = str(show_sectors(strided(), a(32), a(), 3, 0, array="a"))
    assert "32 lanes ask for 128 bytes, 1 sector moves 32 bytes: 400 %" in text
    assert "--  --  -- ×32  --" in text


def test_a_warp_and_a_block_are_chosen() -> None:
    """The map is that warp's; the title says which; lanes that do not take part are missing."""
    launch = Kernel.from_source(STRIDED, "strided")[2, 48]
    shown = show_sectors(launch, a(96), a(), 0, 1, array="a", block=1, warp=1)
    assert shown.title == "strided[2, 48](out, a, offset, stride), block 1, warp 1"
    assert len(shown.requests[0].starts) == 16
    assert "byte   320" not in str(shown) and "byte   256" in str(shown)
    with pytest.raises(LaunchError, match="there is no warp 2: a block of this launch has 2"):
        show_sectors(launch, a(96), a(), 0, 1, warp=2)
    with pytest.raises(LaunchError, match="there is no block 7: the launch has 2"):
        show_sectors(launch, a(96), a(), 0, 1, block=7)


def test_a_field_of_records_is_an_array_of_its_own() -> None:
    """Its elements lie a record apart; the array's name chooses its fields."""
    text = "@cuda.jit\ndef first(out, p):\n    i = cuda.grid(1)\n    out[i] = p[i].x\n"
    launch = Kernel.from_source(text, "first")[1, 32]
    shown = show_sectors(launch, a(32), np.zeros(32, RECORD), array="p")
    assert isinstance(shown, Sectors) and [one.array for one in shown.requests] == ["p.x"]
    assert "12 sectors move 384 bytes: 33.3 %" in str(shown)


def test_what_is_left_out_is_said() -> None:
    """Lines beyond sixteen, requests beyond four, and a warp that touches nothing."""
    assert "... and 16 more lines of 128 bytes" in str(show_sectors(strided(), a(32), a(), 0, 32))
    text = "@cuda.jit\ndef five(out):\n    for k in range(5):\n        out[k] = k\n"
    five = Kernel.from_source(text, "five")
    assert "The first 4 of 5 requests are shown. Choose an array" in str(
        show_sectors(five[1, 1], a(5))
    )
    quiet = "@cuda.jit\ndef quiet(out):\n    if cuda.grid(1) < 0:\n        out[0] = 1\n"
    shown = show_sectors(Kernel.from_source(quiet, "quiet")[1, 32], a(1))
    assert "This warp does not touch global memory." in str(shown)
    assert "number: the lane" not in str(shown)


def test_the_arrays_stay_as_they_are_and_errors_are_the_launch_s_own() -> None:
    """A drawing runs on copies."""
    out = a(32)
    show_sectors(strided(), out, np.ones(64, np.float32), 0, 1)
    assert not out.any()
    with pytest.raises(OutOfBoundsError, match=r"a\[64\]"):
        show_sectors(strided(), out, a(64), 33, 1)
