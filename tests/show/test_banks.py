"""The bank map: lanes under the banks of their words, with dials for access and parameters."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from warpwise.show import BankMap, show_banks
from warpwise.show.dial import Dialled
from warpwise.simt import Kernel, OutOfBoundsError

STRIDED = """
from numba import cuda, float32
@cuda.jit
def strided(out, stride):
    s = cuda.shared.array(1024, float32)
    t = cuda.threadIdx.x
    out[t] = s[stride * t]
"""

TILE = """
from numba import cuda, float64
@cuda.jit
def tile(out, x):
    s = cuda.shared.array((16, 16), float64)
    c, r = cuda.threadIdx.x, cuda.threadIdx.y
    s[r, c] = x[r, c]
    cuda.syncthreads()
    out[r, c] = s[c, r]
"""


def strided(stride: int, **choice: Any) -> Any:
    launch = Kernel.from_source(STRIDED, "strided")[1, 32]
    return show_banks(launch, np.zeros(32, np.float32), stride, **choice)


def tiled(**choice: Any) -> Any:
    launch = Kernel.from_source(TILE, "tile")[(2, 1), (16, 16)]
    return show_banks(launch, np.zeros((16, 16)), np.zeros((16, 16)), **choice)


def test_the_map_as_text() -> None:
    """Two rows of words, a lane in every second bank, two words below each."""
    lines = str(strided(2)).splitlines()
    assert lines[0] == "strided[1, 32](out, stride), warp 0: line 7 reads s"
    head, low, high, words = (line.split() for line in lines[1:5])
    assert head == ["bank", *map(str, range(32))]
    assert low[:6] == ["word", "0", "0", ".", "1", "."]
    assert high[:6] == ["word", "32", "16", ".", "17", "."]
    assert words == ["words", *(["2", "."] * 16)]
    assert lines[5:] == [
        "  2 wavefronts where 1 would do: a 2-way conflict", "  (counted, simulator)"
    ]  # fmt: skip


def test_lanes_that_share_a_word() -> None:
    """One cell for all; no conflict."""
    text = str(strided(0))
    assert "all" in text
    assert "1 wavefront: no conflict" in text


def test_the_map_as_html() -> None:
    """A cell a bank, thick frames where words collide, nothing that needs trust."""
    page = strided(16).html()
    assert "<script" not in page
    assert "<svg" not in page
    cells = re.findall(r'<td style="([^"]*)">([^<]*)</td>', page)
    assert len(cells) == 32 * 16 + 32
    assert sum("2px solid" in style for style, _ in cells) == 32
    assert [text for style, text in cells[-32:] if text] == ["16", "16"]
    assert "<b>16 wavefronts where 1 would do: a 16-way conflict</b>" in page


def test_a_dial_turns_a_parameter() -> None:
    """It starts at the argument given; the title says where it stands."""
    picture = strided(3, dials={"stride": range(34)})
    assert isinstance(picture, Dialled)
    assert picture.start == {"stride": 3}
    assert "with stride = 3, warp 0" in repr(picture)
    for stride, wavefronts in ((1, 1), (4, 4), (32, 32), (33, 1)):
        assert f"\n  {wavefronts} wavefront" in picture.at(stride=stride)["text/plain"]


def test_a_dial_chooses_the_access() -> None:
    """It starts at the worst; wide elements go in parts."""
    picture = tiled(block=(1, 0), warp=1)
    assert picture.dials[0].values == ("line 7 writes s", "line 9 reads s")
    assert "warp 1 of block (1,0): line 9 reads s" in repr(picture)
    assert "16 wavefronts" not in picture.at(access="line 7 writes s")["text/plain"]
    assert "2 parts of 16 lanes" in repr(picture)
    assert "32 wavefronts where 2 would do: a 16-way conflict" in repr(picture)


def test_one_access_is_no_dial() -> None:
    """A plain picture; where there are several, one kind alone may be asked for."""
    assert isinstance(strided(2), BankMap)
    assert "line 7 writes s" in str(tiled(kind="store"))


def test_what_cannot_be_shown_is_said() -> None:
    """A block, a warp, a parameter or an array that is not there; errors of the launch."""
    with pytest.raises(ValueError, match="there is no block 1: the launch has 1"):
        strided(1, block=1)
    with pytest.raises(ValueError, match="there is no warp 1: a block has 1, counted"):
        strided(1, warp=1)
    with pytest.raises(ValueError, match="no parameter 'step'; it has out, stride"):
        strided(1, dials={"step": (1,)})
    with pytest.raises(ValueError, match="warp 0 of strided never reads or writes 'out', an array"):
        strided(1, array="out")
    with pytest.raises(OutOfBoundsError):
        strided(34)
