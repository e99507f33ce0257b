"""A CSV of somebody else's: read it, change single cells, write all others back byte by byte.

The csv module forgets quotes, line ends and marks at the start of the file.  A learning platform
takes its own file back most surely when nothing but the grades has changed.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DELIMITERS = ",;\t"
_MAX_BYTES = 50_000_000
_HEAD = 100_000  # characters in which the delimiter is looked for


class CsvError(Exception):
    """A file that is no CSV; the text is the sentence to print."""


@dataclass
class Line:
    """One record.  raw: its cells as they are written; end: its line end, "" at the file's end.

    number: of the line in the file, from 1.
    """

    raw: list[str]
    end: str
    number: int

    @property
    def cells(self) -> list[str]:
        """The values, without quotes."""
        return [_value(one) for one in self.raw]

    def cell(self, place: int) -> str:
        """The value in a column, "" beyond the end."""
        return _value(self.raw[place]) if place < len(self.raw) else ""


@dataclass
class Sheet:
    """A file: header, other lines, and how it was written."""

    header: Line
    lines: list[Line]
    delimiter: str
    encoding: str
    mark: bytes = field(default=b"", repr=False)

    def set(self, line: Line, place: int, value: str) -> None:
        """Write a cell; it is quoted where the old one was, or where the value needs it."""
        if line.cell(place) == value:
            return
        while len(line.raw) <= place:
            line.raw.append("")
        needed = any(one in value for one in (self.delimiter, '"', "\r", "\n"))
        quoted = '"' + value.replace('"', '""') + '"'
        was_quoted = line.raw[place].startswith('"')
        line.raw[place] = quoted if needed or was_quoted else value

    def data(self) -> bytes:
        """The file."""
        lines = [self.header, *self.lines]
        text = "".join(self.delimiter.join(one.raw) + one.end for one in lines)
        return self.mark + text.encode(self.encoding)


def read(data: bytes, name: str) -> Sheet:
    """The CSV in `data`; `name` stands in messages.  Raises CsvError.

    UTF-8 and UTF-16 with or without their mark, else Windows-1252; commas, semicolons or tabs.
    """
    if len(data) > _MAX_BYTES:
        raise CsvError(f"{name} has more than {_MAX_BYTES // 10**6} MB.")
    mark, encoding, text = _decoded(data, name)
    if "\0" in text or not text.strip():
        raise CsvError(f"{name} is {'empty' if not text.strip() else 'not a CSV file'}.")
    # Of the header, without what stands in quotes.
    first = re.split(r"[\r\n]", re.sub(r'"[^"]*"', "", text.lstrip()[:_HEAD]), maxsplit=1)[0]
    delimiter = max(_DELIMITERS, key=first.count)
    header, *lines = _records(text, delimiter, name)
    return Sheet(header, lines, delimiter, encoding, mark)


def _decoded(data: bytes, name: str) -> tuple[bytes, str, str]:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                return mark, encoding, data[len(mark) :].decode(encoding)
            except UnicodeDecodeError:
                raise CsvError(f"{name} is not the text that its first bytes say.") from None
    for encoding in ("utf-8", "cp1252"):
        try:
            return b"", encoding, data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise CsvError(f"{name} is not text. Export it again as CSV (UTF-8).")


def _records(text: str, delimiter: str, name: str) -> Iterator[Line]:
    """Every record; joined with delimiters and ends they are the text again."""
    place, line, size = 0, 1, len(text)
    while place < size:
        raw, start = [], line
        while True:
            end = _cell_end(text, place, delimiter)
            if end < 0:
                raise CsvError(f"{name}, line {start}: a quote is opened and never closed.")
            raw.append(text[place:end])
            line += text.count("\n", place, end)
            place = end
            if place < size and text[place] == delimiter:
                place += 1
                continue
            break
        closing = "\r\n" if text.startswith("\r\n", place) else text[place : place + 1]
        place += len(closing)
        line += bool(closing)
        yield Line(raw, closing, start)


def _cell_end(text: str, place: int, delimiter: str) -> int:
    """Where the cell that starts at `place` ends; -1 when its quote is never closed."""
    if text.startswith('"', place):
        place += 1
        while True:
            place = text.find('"', place)
            if place < 0:
                return -1
            if text.startswith('""', place):
                place += 2
                continue
            place += 1
            break
    ends = [text.find(one, place) for one in (delimiter, "\n", "\r")]
    return min([one for one in ends if one >= 0], default=len(text))


def _value(raw: str) -> str:
    if not raw.startswith('"'):
        return raw
    body, _, rest = raw[1:].rpartition('"')
    return body.replace('""', '"') + rest
