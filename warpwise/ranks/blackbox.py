"""The black box: a mapped file that keeps the last operations of a rank that cannot tell.

gloo aborts the process when the sizes of a collective differ, and a rank may hold the GIL or be
killed: nobody can be asked then.  The recorder writes each operation's signature here before it
starts, one number a time; the facts of a signature are written once.

Layout: 8 bytes "count of issues" and "end of facts", a ring of RING signature numbers, and the
facts as lines of JSON.
"""

from __future__ import annotations

import json
import mmap
import struct
from pathlib import Path
from typing import Any

from .history import expand

RING = 2048
SIZE = 1 << 20
_HEAD = struct.Struct("<qq")
_ENTRY = struct.Struct("<i")
_FACTS = _HEAD.size + RING * _ENTRY.size


class BlackBox:
    """The writing end, at `path`; 1 MiB, most of it a hole."""

    def __init__(self, path: str, rank: int):
        with open(path, "wb") as file:
            file.truncate(SIZE)
        with open(path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), SIZE)
        self._count, self._end = 0, _FACTS
        self._full = False
        self._line({"rank": rank})

    def _line(self, facts: dict[str, Any]) -> None:
        line = json.dumps(facts).encode() + b"\n"
        if self._full or self._end + len(line) > SIZE:
            self._full = True  # later signatures are unknown to the reader
            return
        self._map[self._end : self._end + len(line)] = line
        self._end += len(line)
        _HEAD.pack_into(self._map, 0, self._count, self._end)

    def sign(self, facts: dict[str, Any]) -> None:
        """Write the facts of the next signature."""
        self._line(facts)

    def write(self, signature: int) -> None:
        """Note that an operation with this signature starts."""
        at = _HEAD.size + self._count % RING * _ENTRY.size
        _ENTRY.pack_into(self._map, at, signature)
        self._count += 1
        _HEAD.pack_into(self._map, 0, self._count, self._end)


def read(path: str | Path) -> dict[str, Any] | None:
    """The snapshot of a rank that cannot answer, state "dead"; None where there is nothing.

    The last operation counts as unfinished; the true state is unknown.
    """
    try:
        content = Path(path).read_bytes()
    except OSError:
        return None
    if len(content) < _FACTS:
        return None
    count, end = _HEAD.unpack_from(content)
    lines = content[_FACTS:end].splitlines()
    if not lines:
        return None
    head, *signatures = [json.loads(line) for line in lines]
    kept = min(count, RING)
    log = [
        _ENTRY.unpack_from(content, _HEAD.size + k % RING * _ENTRY.size)[0]
        for k in range(count - kept, count)
    ]
    known = [s for s in log if 0 <= s < len(signatures)]
    operations = expand(signatures, known, {}, count - kept)
    last = operations[-1] if operations else None
    if last:
        last["done"] = False
    return {
        "rank": head["rank"],
        "state": "dead",
        "current": last,
        "here": last["site"] if last else ["", 0, "", ""],
        "operations": operations[-32:],
        "unfinished": [last["index"]] if last else [],
        "signatures": signatures,
        "totals": [],
        "log": known,
        "firsts": {},
        "dropped": count - kept,
        "stack": [],
        "groups": {s["group_id"]: s["group"] for s in signatures if s["group_id"]},
        "partial": kept < count,
    }
