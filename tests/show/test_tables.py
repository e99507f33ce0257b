"""Tables: aligned as text, the same as HTML."""

from __future__ import annotations

import pytest

from warpwise.show import table


def test_numbers_stand_at_the_right() -> None:
    """Floats get six digits, and the label says where the numbers come from."""
    shown = table(
        ("kernel", "reads", "ratio"), [("naive", 9, 1 / 3), ("tiled", 12, 2.0)], "counted"
    )

    assert str(shown) == (
        "kernel  reads     ratio\n"
        "naive       9  0.333333\n"
        "tiled      12         2\n"
        "(counted)"
    )  # fmt: skip


def test_html_has_the_same_cells_and_escapes_them() -> None:
    """No markup comes from the values."""
    page = table(("a",), [("<b>",)])._repr_mimebundle_()["text/html"]

    assert "&lt;b&gt;" in page
    assert "<b>" not in page


def test_a_row_of_another_length_is_refused() -> None:
    """A mistake of the caller, with the row in the message."""
    with pytest.raises(ValueError) as error:
        table(("a", "b"), [(1,)])

    assert str(error.value) == "a row has 1 cells, the head 2: ('1',)"
