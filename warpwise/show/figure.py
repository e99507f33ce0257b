"""The figure: cells with their thread, in the colour of its block, as HTML and as text.

Tables with inline styles only: a notebook that is not trusted yet loses SVG, style sheets and
scripts, and this figure has to be there before anything has run.
"""

from __future__ import annotations

import textwrap
from html import escape

import numpy as np

from .layout import View, summary, view
from .palette import INK, QUIET, shade
from .touch import LABEL, LaunchTouch, Touch

_BARE = "border: none; background: none; padding: 0 4px; line-height: 1.2;"
_INDEX = f"{_BARE} font-size: 10px; color: {QUIET}; text-align: center; font-weight: 400;"
_CELL = (
    "padding: 1px 2px; min-width: 20px; height: 30px; text-align: center; vertical-align: middle;"
    " line-height: 1.15; font-size: 13px; white-space: nowrap;"
)
_SMALL = "font-size: 10px; font-weight: 400;"
WIDTH = 88
_FAR = f"background: none; color: {QUIET};"
_PROSE = "line-height: 1.5; white-space: normal; overflow-wrap: break-word; max-width: 48em;"
_FAINT = "rgba(122, 122, 122, 0.2)"


def html(launch: LaunchTouch, focus: int | None = None) -> str:
    """The whole figure; `focus` is the number of a block, None shows all."""
    body = "".join(_panel(launch, touch, focus) for touch in launch.touches)
    return (
        f'<figure style="margin: 4px 0;">{body}'
        f'<div style="font-size: 90%; color: {QUIET};">({escape(LABEL)})</div></figure>'
    )


def text(launch: LaunchTouch) -> str:
    """The same as plain text: block:thread per element, e.g. 0:3; -- nobody, *2 twice."""
    lines = [launch.call]
    for touch in launch.touches:
        shown = view(launch, touch, None)
        lines.append(f"  {_title(launch, touch)}")
        cells = [[_plain(launch, touch, at) for at in row if at >= 0] for row in shown.positions]
        width = max((len(cell) for row in cells for cell in row), default=0)
        if shown.columns:
            head = "  ".join(name.ljust(width) for name in shown.columns)
            lines.append(f"    {'':>5}  {head}".rstrip())
        for name, row in zip(shown.rows, cells, strict=True):
            lines.append(f"    {name:>5}  {'  '.join(c.ljust(width) for c in row)}".rstrip())
        lines += [f"    ... and {shown.hidden} more elements"] if shown.hidden else []
        for said in (summary(launch, touch, None), *_keys(launch, touch, None, plain=True)):
            lines += textwrap.wrap(said, WIDTH, initial_indent="  ", subsequent_indent="  ")
    return "\n".join([*lines, f"  ({LABEL})"])


def _title(launch: LaunchTouch, touch: Touch) -> str:
    shape = f" {touch.times.shape}" if touch.times.ndim > 1 else ""
    flat = ", flattened" if touch.times.ndim > 2 else ""
    return f"which thread {touch.done} each element of {touch.array}{shape}{flat}"


def _panel(launch: LaunchTouch, touch: Touch, focus: int | None) -> str:
    shown = view(launch, touch, focus)
    rows = _matrix_rows if shown.columns else _wrapped_rows
    table = (
        '<table cellspacing="2" style="border-collapse: separate; border-spacing: 2px;'
        f' margin: 4px 0; width: auto;">{rows(launch, touch, shown, focus)}</table>'
    )
    rest = f"<div>... and {shown.hidden} more elements</div>" if shown.hidden else ""
    keys = "  ".join(_keys(launch, touch, focus, plain=False))
    return (
        f'<div style="{_PROSE}"><b>{escape(launch.call)}</b>: '
        f"{escape(_title(launch, touch))}</div>{table}{rest}"
        f'<div style="{_PROSE}">{escape(summary(launch, touch, focus))}</div>'
        f'<div style="{_PROSE} font-size: 90%; color: {QUIET};">{keys}</div>'
    )


def _wrapped_rows(launch: LaunchTouch, touch: Touch, shown: View, focus: int | None) -> str:
    """Each row of cells has its indices above."""
    rows = []
    for row in shown.positions:
        indices = [f'<td style="{_INDEX}">{at if at >= 0 else ""}</td>' for at in row]
        cells = [_cell(launch, touch, at, focus) for at in row]
        rows += [_tr("".join(indices)), _tr("".join(cells))]
    return "".join(rows)


def _matrix_rows(launch: LaunchTouch, touch: Touch, shown: View, focus: int | None) -> str:
    head = "".join(f'<th scope="col" style="{_INDEX}">{name}</th>' for name in shown.columns)
    rows = [_tr(f'<td style="{_INDEX}"></td>{head}')]
    for name, row in zip(shown.rows, shown.positions, strict=True):
        cells = "".join(_cell(launch, touch, at, focus) for at in row)
        rows.append(_tr(f'<th scope="row" style="{_INDEX}">{name}</th>{cells}'))
    return "".join(rows)


def _tr(cells: str) -> str:
    return f'<tr style="background: none;">{cells}</tr>'


def _cell(launch: LaunchTouch, touch: Touch, at: int, focus: int | None) -> str:
    if at < 0:
        return f'<td style="{_BARE}"></td>'
    times, thread = int(touch.times.flat[at]), launch.toucher(touch, at, focus)
    if times == 0:
        style = f"border: 2px dashed {QUIET}; padding: 2px 3px; background: none; color: {QUIET};"
        return f'<td style="{_CELL} {style}" title="{_tip(launch, touch, at)}">–</td>'
    block = thread // launch.threads_per_block
    near = focus is None or focus == block
    tint, dotted = shade(launch.block_place(block), launch.grid)
    paint = f"background: {tint}; color: {INK};" if near else _FAR
    # All frames are 3 pixels wide, so that nothing moves when the focus does.
    frame = f"solid {INK if focus is not None else tint}" if near else f"solid {_FAINT}"
    if dotted and focus is None:
        frame = f"dotted {INK}"
    if times > 1:
        frame = f"double {INK if near else QUIET}"
    often = f'<div style="{_SMALL} font-weight: 700;">×{times}</div>' if times > 1 else ""
    name = f"b{launch.block_name(block)}" if launch.axes == 1 else f"b {launch.block_name(block)}"
    number = launch.thread_name(thread)
    number = f"<b>{number}</b>" if near else number
    return (
        f'<td style="{_CELL} border: 3px {frame}; {paint}" title="{_tip(launch, touch, at)}">'
        f'{number}<div style="{_SMALL}">{name}</div>{often}</td>'
    )


def _tip(launch: LaunchTouch, touch: Touch, at: int) -> str:
    """What a pointer over the cell reads, e.g. "out[5]: block 1, thread 1"."""
    index = ", ".join(str(i) for i in _unravel(at, touch.times.shape))
    times, last = int(touch.times.flat[at]), int(touch.last.flat[at])
    if times == 0:
        return escape(f"{touch.array}[{index}]: nobody {touch.done} it")
    block = launch.block_name(last // launch.threads_per_block)
    who = f"block {block}, thread {launch.thread_name(last)}"
    often = f", {times} times, this thread last" if times > 1 else ""
    return escape(f"{touch.array}[{index}]: {who}{often}")


def _unravel(at: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    index: list[int] = []
    for extent in reversed(shape):
        index.insert(0, at % extent)
        at //= extent
    return tuple(index)


def _plain(launch: LaunchTouch, touch: Touch, at: int) -> str:
    times, last = int(touch.times.flat[at]), int(touch.last.flat[at])
    if times == 0:
        return "--"
    block, thread = launch.block_name(last // launch.threads_per_block), launch.thread_name(last)
    name = f"{block}:{thread}" if launch.axes == 1 else f"({block}):({thread})"
    return f"{name}*{times}" if times > 1 else name


def _keys(launch: LaunchTouch, touch: Touch, focus: int | None, *, plain: bool) -> list[str]:
    """What the signs in the cells mean, only those that occur."""
    past = "written" if touch.done == "wrote" else "read"
    keys = [
        "each element: block:thread"
        if plain
        else "In a cell: its thread, and below it the thread's block."
    ]
    blocks = np.unique(touch.last[touch.times == 1] // launch.threads_per_block)
    if not plain and focus is None:
        if any(shade(launch.block_place(int(b)), launch.grid)[1] for b in blocks):
            keys.append("Dotted frame: a second block of the same colour.")
    if (touch.times == 0).any():
        keys.append(f"-- not {past}" if plain else f"Dashed, –: not {past}.")
    if (touch.times > 1).any():
        keys.append(
            f"*2 {past} twice; the last thread is named" if plain
            else f"Double frame, ×2: {past} twice; the last thread is named."
        )  # fmt: skip
    return keys
