"""Terms of the glossary, linked where a lesson first uses them.

An entry of the page:

    <a id="bank-conflict"></a>**Bank conflict** (pl. *konflikt banków*). Lanes of one warp ...

An entry may name several terms, with commas between them; its anchor is made of the first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

PAGE = "../glossary.md"  # as seen from a lesson, in tiers/ and in a learner's copy

_ENTRY = re.compile(r'^<a id="([\w-]+)"></a>\*\*(.+?)\*\* \(pl\. ', re.MULTILINE)
#: What is no prose: sources, code, headings, links and pictures, tags, formulas, addresses.
_NOT_PROSE = (
    r"^## Sources$[\s\S]*", r"^ *```[\s\S]*?^ *```", r"(?<=\n\n)(?: {4}[^\n]*\n?)+", r"`+[^`]+`+",
    r"^#[^\n]*$", r"!?\[[^\]]*\]\([^)]*\)", r"</?[a-zA-Z][^>\n]*>", r"\$[^$\n]+\$",
    r"https?://\S+",
)  # fmt: skip


def anchor(term: str) -> str:
    """The anchor of a term: `anchor("Little's law")` is "littles-law"."""
    return re.sub(r"\W+", "-", term.lower().replace("'", ""))


def read_terms(page: Path) -> dict[str, str]:
    """Term in small letters -> anchor of its entry; empty where there is no such page."""
    if not page.is_file():
        return {}
    return {
        term.lower(): place
        for place, names in _ENTRY.findall(page.read_text(encoding="utf-8"))
        for term in names.split(", ")
    }


def pattern(terms: Mapping[str, str]) -> str:
    """A regular expression for any of the terms, longest first, also in the plural."""
    words = [_forms(term) for term in sorted(terms, key=len, reverse=True)]
    return rf"(?<![\w-])(?:{'|'.join(words)})(?![\w-])"


def term_of(found: str, terms: Mapping[str, str]) -> str:
    """The term that a piece of text is a form of."""
    return next(term for term in terms if re.fullmatch(_forms(term), found, re.IGNORECASE))


def link_terms(texts: Sequence[str], terms: Mapping[str, str]) -> list[str]:
    """Markdown cells in their order, with the first use of each entry linked to it."""
    if not terms:
        return list(texts)
    either = re.compile(
        rf"(?P<other>{'|'.join(_NOT_PROSE)})|(?P<term>{pattern(terms)})",
        re.MULTILINE | re.IGNORECASE,
    )
    seen: set[str] = set()

    def linked(match: re.Match[str]) -> str:
        text = match[0]
        if match["term"] is None:
            return text
        place = terms[term_of(text, terms)]
        if place in seen:
            return text
        seen.add(place)
        return f"[{text}]({PAGE}#{place})"

    return [either.sub(linked, text) for text in texts]


def _forms(term: str) -> str:
    """A term, or its plural; its words may stand on two lines."""
    return r"\s+".join(map(_word, term.split()))


def _word(word: str) -> str:
    """A word in the singular and the plural."""
    if word == "index":
        return "(?:index|indices)"
    if word.endswith("y"):
        return rf"{re.escape(word[:-1])}(?:y|ies)"
    return rf"{re.escape(word)}(?:s|es)?"
