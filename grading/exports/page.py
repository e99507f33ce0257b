"""A page that stands alone: no network, no script but one whose digest the page itself names.

Text from outside goes through `text`; nothing else may put it into markup.
"""

from __future__ import annotations

import base64
import hashlib
import json
import unicodedata
from collections.abc import Collection
from html import escape
from pathlib import Path
from typing import Any

# Characters that turn the reading direction could make code look like other code.
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def text(value: object) -> str:
    """Any text as harmless HTML; what cannot be seen is shown by its number."""
    return escape("".join(map(_visible, str(value))))


def _visible(one: str) -> str:
    if one in "\n\t" or (one.isascii() and one.isprintable()):
        return one
    if unicodedata.category(one) in _HIDDEN:
        return f"[U+{ord(one):04X}]"
    return one


def page(title: str, body: str, script: str = "", wide: bool = False) -> str:
    """A whole document.  title: plain text; body: markup.

    script: what a script and a style sheet beside this file are called, without their endings.
    """
    code = _read(f"{script}.js") if script else ""
    style = _read("page.css") + (_read(f"{script}.css") if script else "")
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    allowed = f"script-src 'sha256-{digest}'" if code else "script-src 'none'"
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
            f"style-src 'unsafe-inline'; {allowed}; base-uri 'none'; form-action 'none'\">",
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{text(title)}</title>",
            f"<style>\n{style}</style>",
            "</head>",
            f"<body{' class=wide' * wide}>",
            body,
            *([f"<script>{code}</script>"] if code else []),
            "</body>",
            "</html>",
            "",
        ]
    )


def _read(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def data(name: str, value: Any) -> str:
    """JSON for the page's script, in an element of this id; no text in it can end the element."""
    found = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for one in "<>&":
        found = found.replace(one, f"\\u{ord(one):04x}")
    return f'<script type="application/json" id="{name}">{found}</script>'


def table(heads: list[str], lines: list[list[str]], numbers: Collection[int] = ()) -> str:
    """A table of markup.  numbers: the columns that stand to the right."""

    def cell(kind: str, place: int, value: str) -> str:
        side = ' class="n"' if place in numbers else ""
        scope = ' scope="col"' if kind == "th" else ""
        return f"<{kind}{scope}{side}>{value}</{kind}>"

    head = "".join(cell("th", place, value) for place, value in enumerate(heads))
    rows = (
        "<tr>" + "".join(cell("td", place, value) for place, value in enumerate(line)) + "</tr>"
        for line in lines
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
