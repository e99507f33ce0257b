"""Warp functions used in a way that a GPU leaves undefined: by whom, and what to write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import at_line

#: kind -> (what happens, what to write)
KINDS = {
    "mask_without_caller": (
        "{thread} calls it, and its own bit is not in the mask {mask}",
        "The mask has to name every thread that calls. Take the mask inside the branch, such as "
        "cuda.ballot_sync(0xffffffff, condition) with the same condition, or let only the threads "
        "of the mask come here.",
    ),
    "mask_names_absent": (
        "{thread} calls it, and the mask {mask} also names {other}, which goes on elsewhere",
        "All threads that the mask names have to make this very call: on a GPU the others hang or "
        "get anything. Move the call out of the branch or loop, or name in the mask only those who "
        "come here.",
    ),
    "inactive_source": (
        "{thread} reads the value of {other}, which does not take part",
        "Let every lane that is read from make the call and be in the mask; lanes beyond the end "
        "of the block, and lanes that have returned, have no value to give.",
    ),
    "part_of_warp": (
        "{thread} calls it, and {other} does not",
        "A matrix instruction is one of the whole warp: all 32 lanes make this call together. Use "
        "blocks of a multiple of 32 threads, and guard the loads and stores, not the call.",
    ),
}  # fmt: skip


@dataclass
class Misuse:
    """One kind at one site; thread and other: linear numbers in the launch of the first case.
    other is -1 where there is none, and may lie beyond the block.  count: threads that did it."""

    kind: str
    site: int
    thread: int
    lane: int  # of the other thread
    other: int
    mask: int
    count: int = 0


def note(run: Any, kind: str, site: int, mask: Any, callers: Any, others: Any = None) -> None:
    """Remember the callers (rows, warps, 32) that do this; others: lanes they do it with, or one
    row of lanes per warp of which the first that holds counts."""
    row, warp, lane = (int(i) for i in np.argwhere(callers)[0])
    count = int(callers.sum()) * (run.blocks_here if callers.shape[0] == 1 else 1)
    first = (run.first_block + row) * run.threads_per_block + run.first_thread + warp * 32
    masks = np.broadcast_to(mask, run.lanes)
    found = run.misuses.get((kind, site))
    if found is None:
        lane_of_other = -1 if others is None else int(others[row, warp, lane])
        found = run.misuses[kind, site] = Misuse(
            kind, site, first + lane, lane_of_other,
            -1 if others is None else first + lane_of_other,
            int(masks[row, warp * 32 + lane]) & 0xFFFFFFFF,
        )  # fmt: skip
    found.count += count


def text_of(run: Any, misuse: Misuse) -> str:
    """The finished message."""
    place = run.program.sites[misuse.site]
    fact, advice = KINDS[misuse.kind]
    other = f"lane {misuse.lane} of its warp"
    inside = misuse.other >= 0 and (
        misuse.other // run.threads_per_block == misuse.thread // run.threads_per_block
    )
    if inside:
        other = run.name_of(misuse.other)
    fact = fact.format(thread=run.name_of(misuse.thread), other=other, mask=f"{misuse.mask:#x}")
    name = place.array if place.array.startswith("mma_") else f"cuda.{place.array}"
    more = f" ({misuse.count:,} threads do)" if misuse.count > 1 else ""
    return at_line(place.function, place.line, place.line_text, f"{name}: {fact}{more}", advice)
