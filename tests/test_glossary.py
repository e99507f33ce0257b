"""The glossary: every term with its Polish word and one plain explanation, each once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import mistune
import nbformat
import pytest

from warpwise import curriculum, workspace
from warpwise.authoring import glossary

PAGE = workspace.ROOT / "tiers" / "glossary.md"
ENTRY = re.compile(r"<a id=\"[\w-]+\"></a>\*\*(.+?)\*\* \(pl\. (.+?)\)\. (.+)")


def entries() -> list[tuple[str, str, str]]:
    text = PAGE.read_text(encoding="utf-8")
    return [ENTRY.fullmatch(row).groups() for row in text.splitlines() if "**" in row]  # type: ignore[union-attr,misc]


def test_every_entry_has_a_polish_word_and_an_explanation() -> None:
    """Bold term, italic Polish word, sentences that end."""
    assert len(entries()) > 50
    for term, polish, meaning in entries():
        assert re.fullmatch(r"[*\w ,'-]+", polish) and "*" in polish, term
        assert meaning.endswith((".", ".`")), term


def test_no_term_stands_twice() -> None:
    """One place for each."""
    terms = [term for term, _, _ in entries()]
    assert len(set(terms)) == len(terms)


def test_it_is_laid_beside_the_lessons(tmp_path: Path) -> None:
    """A lesson's link `../glossary.md` leads there in the course and in the working copy."""
    assert workspace.course_files(workspace.ROOT)["glossary.md"] == PAGE


UNITS = curriculum.load().written
TERMS = glossary.read_terms(PAGE)
FORMS = re.compile(glossary.pattern(TERMS), re.IGNORECASE)


def test_every_entry_has_the_anchor_of_its_first_term() -> None:
    """`../glossary.md#bank-conflict` leads to the entry that begins so, and to no other."""
    assert set(TERMS) == {term.lower() for names, _, _ in entries() for term in names.split(", ")}
    places = re.findall(r'<a id="([\w-]+)">', PAGE.read_text(encoding="utf-8"))
    assert places == [glossary.anchor(names.split(", ")[0]) for names, _, _ in entries()]
    assert len(set(places)) == len(places)


def prose(tokens: list[dict[str, Any]], url: str = "") -> list[tuple[str, str]]:
    """(text, address of the link that it stands in) of parsed Markdown, without headings and code.

    Neighbouring texts are joined, so that a term may go over two lines.
    """
    found: list[tuple[str, str]] = []
    for token in tokens:
        if token["type"] == "link":
            found += prose(token["children"], token["attrs"]["url"])
        elif token["type"] in ("softbreak", "linebreak"):
            found.append((" ", url))
        elif token["type"] == "text":
            found.append((token["raw"], url))
        elif token["type"] != "heading" and "children" in token:
            found += prose(token["children"], url)
            if token["type"] not in ("emphasis", "strong"):
                found.append(("\n", ""))
    joined: list[tuple[str, str]] = []
    for text, where in found:
        if joined and joined[-1][1] == where:
            joined[-1] = joined[-1][0] + text, where
        else:
            joined.append((text, where))
    return joined


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_each_term_is_linked_where_a_lesson_first_uses_it(unit: curriculum.Unit) -> None:
    """And nowhere else.  The Markdown is read by a parser that knows nothing of the builder's."""
    parse = mistune.create_markdown(renderer="ast", plugins=["table", "url"])
    first: dict[str, str] = {}
    linked: list[str] = []
    for cell in nbformat.read(unit.lesson, 4).cells[1:]:
        if cell.cell_type != "markdown":
            continue
        text = re.split(r"^## Sources$", cell.source, flags=re.MULTILINE)[0]
        tokens: Any = parse(text)
        for words, url in prose(tokens):
            in_glossary = url.startswith("../glossary.md#")
            if in_glossary:
                linked.append(url)
            for match in FORMS.finditer("" if url and not in_glossary else words):
                first.setdefault(TERMS[glossary.term_of(match[0], TERMS)], url)
    assert len(first) > 8
    assert first == {place: f"../glossary.md#{place}" for place in first}
    assert sorted(linked) == sorted(first.values())


def test_no_source_types_such_a_link() -> None:
    """The builder makes them: a typed one may lead nowhere."""
    for unit in UNITS:
        assert "glossary.md#" not in unit.lesson_source.read_text(encoding="utf-8"), unit.name
