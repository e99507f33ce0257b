"""Terms of a glossary become links, once each, and only in prose."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpwise.authoring.glossary import anchor, link_terms, read_terms

PAGE = """# Words

<a id="bank"></a>**Bank** (pl. *bank*). A column.

<a id="bank-conflict"></a>**Bank conflict** (pl. *konflikt*). Lanes that wait.

<a id="latency"></a>**Latency** (pl. *opóźnienie*). Waiting.

<a id="host"></a>**Host, device** (pl. *host*). Two machines.

<a id="index"></a>**Index** (pl. *indeks*). A number.
"""


@pytest.fixture
def terms(tmp_path: Path) -> dict[str, str]:
    """The terms of a small glossary."""
    page = tmp_path / "glossary.md"
    page.write_text(PAGE, encoding="utf-8")
    return read_terms(page)


def test_an_entry_may_name_several_terms(terms: dict[str, str]) -> None:
    """Each leads to the entry's one anchor."""
    assert terms == {"bank": "bank", "bank conflict": "bank-conflict", "latency": "latency",
                     "host": "host", "device": "host", "index": "index"}  # fmt: skip
    assert anchor("Little's law") == "littles-law" and anchor("Grid-stride loop") == (
        "grid-stride-loop"
    )


def test_without_a_page_nothing_is_linked(tmp_path: Path) -> None:
    """A course without a glossary is built as it is written."""
    assert read_terms(tmp_path / "none.md") == {}
    assert link_terms(["a bank"], {}) == ["a bank"]


@pytest.mark.parametrize(("text", "expected"), [
    ("A bank, a bank.", "A [bank](../glossary.md#bank), a bank."),
    ("*Banks* wait", "*[Banks](../glossary.md#bank)* wait"),
    ("a bank conflict, a bank",
     "a [bank conflict](../glossary.md#bank-conflict), a [bank](../glossary.md#bank)"),
    ("bank\nconflicts", "[bank\nconflicts](../glossary.md#bank-conflict)"),
    ("latencies, indices",
     "[latencies](../glossary.md#latency), [indices](../glossary.md#index)"),
    ("a device, the host", "a [device](../glossary.md#host), the host"),
    ("`bank` of banks", "`bank` of [banks](../glossary.md#bank)"),
    ("# Bank\n\nbank", "# Bank\n\n[bank](../glossary.md#bank)"),
    ("```python\nbank = 1\n```\nbank", "```python\nbank = 1\n```\n[bank](../glossary.md#bank)"),
    ("It is\n\n    bank = 1\n\nbank", "It is\n\n    bank = 1\n\n[bank](../glossary.md#bank)"),
    ("[the bank](x.md) bank", "[the bank](x.md) [bank](../glossary.md#bank)"),
    ("<b title='bank'>", "<b title='bank'>"), ("$bank$", "$bank$"),
    ("https://bank.org/bank", "https://bank.org/bank"),
    ("embankment, bank_of, bank-wise", "embankment, bank_of, bank-wise"),
    ("## Sources\n\n1. Bank", "## Sources\n\n1. Bank"),
])  # fmt: skip
def test_the_first_use_in_prose_is_linked(text: str, expected: str, terms: dict[str, str]) -> None:
    """Not in code, headings, links, tags, formulas, addresses, or parts of other words."""
    assert link_terms([text], terms) == [expected]


def test_cells_are_one_text(terms: dict[str, str]) -> None:
    """What the first cell has linked, the second has not to."""
    assert link_terms(["a bank", "a bank"], terms) == ["a [bank](../glossary.md#bank)", "a bank"]
