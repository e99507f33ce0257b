"""A rank's history: the log of a snapshot, unrolled into operations.

The log holds signature numbers in the order of issue, and -k - 1 where issue k was waited for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .operations import Operation


def expand(
    signatures: Sequence[dict[str, Any]],
    log: Sequence[int],
    firsts: Mapping[str, int],
    dropped: int,
) -> list[dict[str, Any]]:
    """The operations of a log as dicts, with their numbers; all count as done."""
    numbers = dict(firsts)
    operations = []
    index = dropped
    for signature in log:
        if signature < 0:
            continue
        facts = signatures[signature]
        number = -1
        if facts.get("numbered"):
            group = facts["group_id"]
            number = numbers.get(group, 0)
            numbers[group] = number + 1
        operations.append(facts | {"number": number, "index": index, "done": True})
        index += 1
    return operations


def operations_of(snapshot: Mapping[str, Any]) -> list[Operation]:
    """All operations a snapshot tells of, oldest first.

    A hand-written snapshot may give "operations" alone; collectives without a number are counted.
    """
    if "log" in snapshot:
        facts = expand(
            snapshot["signatures"], snapshot["log"], snapshot["firsts"], snapshot["dropped"]
        )
        unfinished = set(snapshot.get("unfinished", ()))
        for known in facts:
            known |= {"done": known["index"] not in unfinished, "rank": snapshot["rank"]}
        return [Operation.of(known) for known in facts]
    told = [Operation.of(facts) for facts in snapshot.get("operations", ())]
    numbers: dict[str, int] = {}
    for index, operation in enumerate(told):
        operation.rank = snapshot.get("rank", -1)
        if operation.index < 0:
            operation.index = index
        if operation.is_message or operation.outsider:
            continue
        if operation.number < 0:
            operation.number = numbers.get(operation.group_id, 0)
        numbers[operation.group_id] = operation.number + 1
    return told
