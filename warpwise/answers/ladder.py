"""compare(): versions of a kernel as a ladder, one row a version, and what each step changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from ..hardware import Device
from .explanation import Explanation, explain

#: Column -> how to read it off an explanation, smaller is better.
_COUNTS = {
    "sectors": lambda e: e.counted.loads.sectors + e.counted.stores.sectors,
    "conflicts": lambda e: e.counted.shared.bank_conflicts,
    "atomics": lambda e: e.counted.atomics.transactions,
    "shared atomics": lambda e: e.counted.shared_atomics.transactions,
    "issue slots": lambda e: e.counted.work.slots,
    "registers": lambda e: e.compiled.registers if e.compiled else 0,
    "float64": lambda e: e.compiled.float64 if e.compiled else 0,
}
#: Columns that are left out where no version has any.
_RARE = ("atomics", "shared atomics")
#: Columns that are left out where the compiler is not installed.
_COMPILED = ("registers", "float64")


@dataclass(frozen=True)
class Ladder:
    """The versions in the order given.  Counters: counted; registers: compiled; time: modelled."""

    rows: tuple[tuple[str, Explanation], ...]

    @property
    def columns(self) -> list[str]:
        """The counts that are shown: of atomics and of the compiler only where there are some."""
        compiled = any(row.compiled for _, row in self.rows)
        return [
            name for name, read in _COUNTS.items()
            if (name not in _RARE or any(read(row) for _, row in self.rows))
            and (name not in _COMPILED or compiled)
        ]  # fmt: skip

    def changed(self, position: int) -> str:
        """What a version changed against the one before: the counts that moved by 10 % or more."""
        if position == 0:
            return ""
        before, after = self.rows[position - 1][1], self.rows[position][1]
        said = []
        for name, read in _COUNTS.items():
            old, new = read(before), read(after)
            if old and new and not 0.9 < new / old < 1.1:
                said.append(f"{name} {'/' if new < old else 'x'} {_factor(old, new)}")
            elif bool(old) != bool(new):
                said.append(f"{name} {old:,} to {new:,}")
        if before.bound.limiter.name != after.bound.limiter.name:
            said.append(f"bound by {after.bound.limiter.name}")
        return ", ".join(said) or "nothing that was counted"

    def table(self) -> list[dict[str, Any]]:
        """One flat row a version; `pandas.DataFrame(ladder.table())`."""
        found = []
        for position, (name, row) in enumerate(self.rows):
            found.append({
                "version": name,
                **{column: _COUNTS[column](row) for column in self.columns},
                "occupancy": row.occupancy.fraction if row.occupancy else None,
                "operations a byte": row.intensity,
                "low_ms": row.bound.low_ms, "high_ms": row.bound.high_ms,
                "bound by": row.bound.limiter.name,
                "measured_ms": getattr(row.measured, "median_ms", None),
                "changed": self.changed(position),
            })  # fmt: skip
        return found

    def _cells(self) -> list[list[str]]:
        timed = any(row.measured for _, row in self.rows)
        head = ["version", *self.columns, "occupancy", "time, ms", *["measured, ms"] * timed,
                "bound by", "what changed"]  # fmt: skip
        body = []
        for row in self.table():
            filled = "" if row["occupancy"] is None else f"{row['occupancy']:.0%}"
            body.append([
                row["version"], *(f"{row[column]:,}" for column in self.columns), filled,
                f"{row['low_ms']:.3g} to {row['high_ms']:.3g}",
                *[f"{row['measured_ms']:.3g}" if row["measured_ms"] else ""] * timed,
                row["bound by"], row["changed"],
            ])  # fmt: skip
        return [head, *body]

    @property
    def device(self) -> Device | None:
        return self.rows[0][1].device if self.rows else None

    def __str__(self) -> str:
        cells = self._cells()
        widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in cells
        ]
        return "\n".join([*lines, self._labels()])

    __repr__ = __str__

    def _labels(self) -> str:
        where = self.device.name if self.device else "no device"
        return (
            f"(counted; registers and float64: compiled; occupancy and time on {where}: modelled)"
        )

    def _repr_html_(self) -> str:
        cell = "padding: 2px 10px 2px 0; text-align: left; border: none; background: none;"
        head, *body = (
            "".join(f'<t{tag} style="{cell}">{escape(text)}</t{tag}>' for text in row)
            for tag, row in zip("h" + "d" * len(self.rows), self._cells(), strict=True)
        )
        rows = "".join(f'<tr style="background: none;">{row}</tr>' for row in body)
        return (
            f'<table style="border-collapse: collapse;"><tr style="background: none;">{head}</tr>'
            f"{rows}</table><div>{escape(self._labels())}</div>"
        )


def compare(versions: Mapping[str, tuple[Any, ...]], device: str | Device | None = None) -> Ladder:
    """Explain each version: name -> (kernel[grid, block], argument, ...), in the order of steps."""
    form = '{"naive": (naive[blocks, threads], out, x), ...}'
    if not isinstance(versions, Mapping) or not versions:
        raise TypeError(f"compare takes versions by name: compare({form}).")
    for name, version in versions.items():
        if not isinstance(version, tuple):
            raise TypeError(
                f"{name}: a version is a launch with its arguments, in round brackets: {form}."
            )
    return Ladder(tuple(
        (name, explain(launch, *args, device=device)) for name, (launch, *args) in versions.items()
    ))  # fmt: skip


def _factor(old: float, new: float) -> str:
    factor = old / new if new < old else new / old
    return f"{factor:.3g}"
