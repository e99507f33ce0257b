"""The glossary: every term with its Polish word and one plain explanation, each once."""

from __future__ import annotations

import re
from pathlib import Path

from warpwise import workspace

PAGE = workspace.ROOT / "tiers" / "glossary.md"
ENTRY = re.compile(r"\*\*(.+?)\*\* \(pl\. (.+?)\)\. (.+)")


def entries() -> list[tuple[str, str, str]]:
    text = PAGE.read_text(encoding="utf-8")
    return [ENTRY.fullmatch(row).groups() for row in text.splitlines() if row.startswith("**")]  # type: ignore[union-attr,misc]


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
