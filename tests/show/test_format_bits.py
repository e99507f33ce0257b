"""The format explorer: what it says, its SVG, its buttons."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from warpwise.numerics import FORMATS, FormatError
from warpwise.show import show_format


def test_the_text_has_bits_formula_and_neighbours():
    assert str(show_format("e4m3", 1.5)) == (
        "e4m3  0 0111 100  (code 0x3c)\n"
        "  1.100 (binary) x 2^(7 - 7) = 1.5, normal\n"
        "  on the line: 0.9375  1  1.125  1.25  1.375  [1.5]  1.625  1.75  1.875  2  2.25"
    )


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("e2m1", 0b1001, "-0.1 (binary) x 2^(1 - 1) = -0.5, subnormal"),
        ("e4m3", 0x7F, "NaN: this pattern of bits is reserved"),
        ("e5m2", 0xFC, "infinity: this pattern of bits is reserved"),
        ("e4m3", 0, "0.000 (binary) x 2^(1 - 7) = 0, zero"),
        ("e8m0", 130, "1 (binary) x 2^(130 - 127) = 8, normal"),
    ],
)
def test_formulas(name, code, said):
    assert show_format(name, code=code).formula == said


@pytest.mark.parametrize("name", [name for name in FORMATS if FORMATS[name].bits <= 19])
def test_every_format_draws_well_formed_svg(name):
    """At its smallest, at 1, at its largest number and at the code after: a box for each bit."""
    fmt = FORMATS[name]
    for code in {0, show_format(name).code, fmt.max_code, min(fmt.max_code + 1, fmt.codes - 1)}:
        picture = show_format(name, code=code)
        root = ElementTree.fromstring(picture.svg())
        assert len(root.findall(".//{*}rect")) == fmt.bits
        inside = [float(one.get("x")) for one in root.findall(".//{*}text")]
        assert all(0 <= x <= 640 for x in inside)


def test_text_takes_the_colour_of_the_page():
    svg = show_format("e4m3").svg()
    assert 'fill="currentColor"' in svg and "#000" not in svg and "white" not in svg


def test_a_line_ends_at_the_largest_number():
    values = [value for _, value in show_format("e4m3", 448).around()]
    assert values == [288, 320, 352, 384, 416, 448]
    assert show_format("e4m3", code=0x7F).around() == []


def test_pressing_a_bit_and_choosing_a_format():
    pytest.importorskip("ipywidgets")
    seen = []
    box = show_format("e4m3", 1.0).buttons(seen.append)
    names, row = box.children
    assert [button.description for button in row.children] == list("00111000")
    row.children[-1].click()
    assert seen[-1].value == 1.125 and row.children[-1].description == "1"
    names.value = "e2m1"
    assert seen[-1].value == 1 and len(row.children) == 4
    row.children[0].click()
    assert seen[-1].value == -1
    names.value = "e8m0"
    assert seen[-1].code == 0


def test_refusals():
    with pytest.raises(FormatError, match="no format 'fp5'"):
        show_format("fp5")
    with pytest.raises(FormatError, match="a code of e4m3 has 8 bits"):
        show_format("e4m3", code=256)
