"""The occupancy explorer: dials for block, registers, shared memory and device."""

from __future__ import annotations

from html import escape
from typing import Any

from ..hardware import Occupancy, device, devices, occupancy, what_would_change_it
from .dial import Bundle, Dial, Dialled
from .palette import QUIET

_BAR = "display: inline-block; height: 12px; vertical-align: middle;"
THREADS = tuple(range(32, 1025, 32))
REGISTERS = tuple(range(16, 256, 1))
SHARED_KB = (0, 1, 2, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 99, 112, 128, 160, 163, 192,
             227)  # fmt: skip


def show_occupancy(
    where: Any = "A100", threads: int = 256, registers: int = 32, shared_bytes: int = 0
) -> Dialled:
    """Dials for a kernel's block, registers and shared memory on a device; below them how many
    blocks each limit allows, which of them binds, and what would change it."""
    names = tuple(gpu.name for gpu in devices())
    shared = tuple(sorted({*(kb * 1024 for kb in SHARED_KB), shared_bytes}))
    return Dialled(
        [
            Dial("device", names, device(where).name),
            Dial("threads", tuple(sorted({*THREADS, threads})), threads),
            Dial("registers", tuple(sorted({*REGISTERS, registers})), registers),
            Dial("shared_bytes", shared, shared_bytes),
        ],
        _draw,
    )


def _draw(device: str, threads: int, registers: int, shared_bytes: int) -> Bundle:
    now = occupancy(device, threads, registers, 0, shared_bytes)
    said = what_would_change_it(now) if now.fits else []
    text = [f"{device}: {now}", *(f"  {name}: {count} blocks" for name, count in _rows(now)),
            *(f"  {sentence}" for sentence in said), "  (modelled)"]  # fmt: skip
    return {"text/plain": "\n".join(text), "text/html": _html(device, now, said)}


def _rows(now: Occupancy) -> list[tuple[str, int]]:
    return [(name, count) for name, count in now.allowed.items() if count <= 64]


def _html(name: str, now: Occupancy, said: list[str]) -> str:
    most = max([1, *(count for _, count in _rows(now))])
    cell = "padding: 1px 10px 1px 0; text-align: left; border: none; background: none;"
    rows = "".join(
        f'<tr style="background: none;"><td style="{cell}">{escape(limit)}</td>'
        f'<td style="{cell} text-align: right;">{count}</td>'
        f'<td style="{cell}"><span style="{_BAR} width: {220 * count // most + 1}px; '
        f'background: {"#d55e00" if limit in now.limiters else QUIET};"></span>'
        f"{' binds' if limit in now.limiters else ''}</td></tr>"
        for limit, count in _rows(now)
    )
    warps = "".join(
        f'<span style="{_BAR} width: 6px; margin-right: 1px; background: '
        f'{"#0072b2" if warp < now.warps else "none"}; outline: 1px solid {QUIET};"></span>'
        for warp in range(now.max_warps)
    )
    advice = "".join(f"<li>{escape(sentence)}</li>" for sentence in said)
    return (
        f"<div><b>{escape(name)}</b>: {escape(str(now))}</div>"
        f'<div style="margin: 4px 0;">{warps} <span style="color: {QUIET};">warps of one SM</span>'
        f'</div><table style="border-collapse: collapse; margin: 4px 0;"><tr style="background: '
        f'none;"><th style="{cell}">limit</th><th style="{cell}">blocks</th><th></th></tr>{rows}'
        f"</table>{f'<div>To let more in:</div><ul>{advice}</ul>' if advice else ''}"
        f'<div style="font-size: 90%; color: {QUIET};">(modelled)</div>'
    )
