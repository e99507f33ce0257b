"""Layout: where the elements of an array go on the page, and what is said about them.

view   a window of rows and columns; a 1-D array is wrapped into rows, more axes are flattened
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .touch import LaunchTouch, Touch

CELLS = 256
COLUMNS = 24  # cells side by side in a notebook of usual width


@dataclass(frozen=True)
class View:
    """Flat positions of the elements to show, by row; -1 pads the last row.

    rows, columns: headings; columns is empty where each cell carries its own index.
    hidden: how many elements are not in the window.
    """

    positions: tuple[tuple[int, ...], ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    hidden: int


def view(launch: LaunchTouch, touch: Touch, focus: int | None) -> View:
    """The window onto an array: all of it up to 256 elements, else the part around the focus."""
    if touch.times.ndim == 2:
        return _matrix(touch, _first(launch, touch, focus))
    return _wrapped(launch, touch, _first(launch, touch, focus))


def summary(launch: LaunchTouch, touch: Touch, focus: int | None) -> str:
    """One or two sentences on all blocks, or on the block in focus."""
    name, written = touch.array, "written" if touch.done == "wrote" else "read"
    if focus is None:
        missing, often = int((touch.times == 0).sum()), int((touch.times > 1).sum())
        total = touch.times.size
        done = f"{total - missing} of {total} elements of {name} {written}"
        said = [f"{done}, each once" if not often and missing < total else done]
        said += [f"{often} of them more than once"] if often else []
        text = ", ".join(said) + "."
        if touch.busy is not None:
            threads = launch.blocks * launch.threads_per_block
            idle = threads - len(touch.busy)
            text += f" {idle} of {threads} threads {touch.done} nothing." if idle else ""
        return text
    mine = _mine(launch, touch, focus)
    elements = "1 element" if len(mine) == 1 else f"{len(mine)} elements"
    text = f"Block {launch.block_name(focus)} {touch.done} {elements} of {name}."
    others = _shared(launch, touch, focus, mine)
    if others:
        text += f" Other blocks {touch.done} {others} of them as well."
    idle_threads = launch.idle(touch, focus)
    if idle_threads:
        names = _ranges(launch, idle_threads)
        word = "thread" if len(idle_threads) == 1 else "threads"
        text += f" Its {word} {names} {touch.done} nothing."
    return text


def _mine(launch: LaunchTouch, touch: Touch, focus: int) -> list[int]:
    """Flat positions that the block in focus touched, in order."""
    if touch.by_block is not None:
        return sorted(touch.by_block.get(focus, {}))
    last = (touch.last // launch.threads_per_block == focus) & (touch.times > 0)
    return [int(at) for at in np.flatnonzero(last)]


def _shared(launch: LaunchTouch, touch: Touch, focus: int, mine: Sequence[int]) -> int:
    """How many of a block's elements other blocks touched as well; 0 where it is not known."""
    if touch.by_block is None:
        return 0
    others = [set(at) for block, at in touch.by_block.items() if block != focus]
    return len(set(mine) & set().union(*others))


def _first(launch: LaunchTouch, touch: Touch, focus: int | None) -> int:
    """The first element that the block in focus touched; 0 where there is none."""
    mine = [] if focus is None else _mine(launch, touch, focus)
    return mine[0] if mine else 0


def _wrapped(launch: LaunchTouch, touch: Touch, first: int) -> View:
    total, per_block = touch.times.size, launch.threads_per_block
    # Whole blocks in a row where they fit, else equal parts of one, so that edges line up.
    parts = [n for n in range(1, COLUMNS + 1) if n % per_block == 0 or per_block % n == 0]
    width = max(1, min(parts[-1] if per_block > 1 and parts[-1] > 7 else COLUMNS, total))
    start = 0 if first < CELLS else first // width * width
    stop = min(total, start + CELLS)
    rows = [tuple(range(row, min(row + width, stop))) for row in range(start, stop, width)]
    padded = tuple((*row, *[-1] * (width - len(row))) for row in rows)
    return View(padded, tuple(str(row[0]) for row in rows), (), total - (stop - start))


def _matrix(touch: Touch, first: int) -> View:
    height, width = touch.times.shape
    if height * width == 0:
        return View((), (), (), 0)
    row, column = divmod(first, width)
    columns = _window(width, column, COLUMNS)
    rows = _window(height, row, max(1, CELLS // len(columns)))
    positions = tuple(tuple(r * width + c for c in columns) for r in rows)
    hidden = height * width - len(rows) * len(columns)
    return View(positions, tuple(map(str, rows)), tuple(map(str, columns)), hidden)


def _window(extent: int, wanted: int, limit: int) -> range:
    start = 0 if wanted < limit else wanted // limit * limit
    return range(start, min(extent, start + limit))


def _ranges(launch: LaunchTouch, numbers: Sequence[int]) -> str:
    """ "2 and 3", "4 to 31": names of threads, runs of three and more shortened."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    said: list[str] = []
    for run in runs:
        names = [launch.thread_name(number) for number in run]
        names = [f"({name})" for name in names] if launch.axes > 1 else names
        said += [f"{names[0]} to {names[-1]}"] if len(names) > 2 else names
    if len(said) > 6:
        said = [*said[:5], f"{len(said) - 5} more"]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
