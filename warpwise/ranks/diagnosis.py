"""What the referee says: one sentence, and a row for each rank that shows where it stands."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from html import escape
from typing import Any

WIDTH = 100


@dataclass(frozen=True)
class Row:
    """One rank: what it is doing, where, the operation's facts, and whom it waits for."""

    rank: int
    state: str
    doing: str
    line: str
    facts: str
    waits: tuple[int, ...] = ()
    any: bool = False

    @property
    def waiting(self) -> str:
        """ "rank 1", "rank 1 or 2", "" where it waits for nobody."""
        if not self.waits:
            return ""
        joint = " or " if self.any else ", "
        return ("rank " if len(self.waits) == 1 else "ranks ") + joint.join(map(str, self.waits))


@dataclass(frozen=True)
class Diagnosis:
    """kind: what is wrong, "" where nothing is.  sentence: the whole finding, with the mend.

    kinds   order, groups, cycle, missing, iterations, failed, died, endless, peer, tag, unmatched,
            shape, dtype, root, reduction, splits, groups made, outsider, swap, busy
    ranks   those the sentence is about.  cycle: ranks that wait in a circle.
    warning True where the run ended all the same.  notes: more that was found, a sentence each.
    """

    kind: str
    sentence: str
    ranks: tuple[int, ...] = ()
    cycle: tuple[int, ...] = ()
    warning: bool = False
    notes: tuple[str, ...] = ()
    rows: tuple[Row, ...] = field(default=(), repr=False)

    def __bool__(self) -> bool:
        return bool(self.kind)

    def to_dict(self) -> dict[str, Any]:
        """Plain data that JSON can carry."""
        return {
            "kind": self.kind, "sentence": self.sentence, "ranks": list(self.ranks),
            "cycle": list(self.cycle), "warning": self.warning, "notes": list(self.notes),
            "rows": [vars(row) | {"waits": list(row.waits)} for row in self.rows],
        }  # fmt: skip

    def __str__(self) -> str:
        from .picture import text

        said = [textwrap.fill(s, WIDTH) for s in (self.sentence, *self.notes) if s]
        shown = text(self) if self.rows and (self.kind or not said) and not self.warning else ""
        return "\n".join([*said, shown] if shown else said) or "no fault found"

    def _repr_html_(self) -> str:
        from .picture import svg

        said = "".join(
            f'<p style="margin: 4px 0; max-width: 60em;">{weight}</p>'
            for weight in (f"<b>{escape(self.sentence)}</b>", *map(escape, self.notes))
        )
        shown = svg(self) if self.rows and not self.warning else ""
        return f"<div>{said}{shown}</div>"
