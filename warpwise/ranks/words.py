"""Words for ranks, lines and operations, as the referee's sentences use them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from . import sites
from .evidence import line_of
from .operations import WORLD, Operation, Site


def ranks(numbers: Iterable[int]) -> str:
    """ "rank 1", "ranks 0 and 2", "ranks 0 to 3"; "no rank"."""
    found = sorted(set(numbers))
    if not found:
        return "no rank"
    if len(found) == 1:
        return f"rank {found[0]}"
    if len(found) > 2 and found == list(range(found[0], found[-1] + 1)):
        return f"ranks {found[0]} to {found[-1]}"
    if len(found) > 8:
        found, more = found[:6], len(found) - 6
        return f"ranks {', '.join(map(str, found))} and {more} more"
    return f"ranks {', '.join(map(str, found[:-1]))} and {found[-1]}"


def verb(of: Sequence[object], one: str, many: str) -> str:
    """The verb's form for one rank or several."""
    return one if len(of) == 1 else many


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def place(site: Site | None) -> str:
    """ "line 5 `dist.barrier()`"; a file's name stands before it where it is not a cell's."""
    if not site or not site[1]:
        return "an unknown line"
    text = line_of(site)
    name = sites.name_of(str(site[0]))
    return f"{name}, line {site[1]}" + (f" `{text}`" if text else "")


def called(operation: Operation) -> str:
    """The operation as a reader would call it: "send to rank 1", "all_reduce"."""
    if operation.name == "send":
        return f"{operation.called} to rank {operation.peer}"
    if operation.name == "recv":
        return f"{operation.called} from " + (
            "any rank" if operation.peer is None else f"rank {operation.peer}"
        )
    return operation.called


def at(operation: Operation) -> str:
    """ "all_reduce (cell, line 5 `dist.all_reduce(x)`)"."""
    return f"{called(operation)} ({place(operation.site)})"


def group(operation: Operation, size: int) -> str:
    """ "all ranks" for the world, "group 3 [0, 2]" with torch's name for any other."""
    if operation.group_id == WORLD and len(operation.group) == size:
        return "all ranks"
    name = f"{operation.group_id} " if operation.group_id.isdecimal() else ""
    return f"group {name}{list(operation.group)}"


def ordinal(number: int) -> str:
    """1 -> "1st", 2 -> "2nd", 11 -> "11th"."""
    ending = (
        "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    return f"{number}{ending}"
