"""An operation: one collective or message as one rank issued it, as plain data.

name      canonical name: all_reduce, broadcast, all_gather, reduce_scatter, all_to_all, reduce,
          gather, scatter, barrier, monitored_barrier, send, recv, new_group
number    position among the collectives of its group on this rank, from 0; -1 for send and recv
sent, received   elements of each tensor that goes in and comes out, e.g. [4]
bytes     what this rank hands in: 0 for recv, barrier and every rank but the root of a broadcast
size      the S of nccl-tests: the whole array, e.g. all ranks' output of an all_gather
site      [file, line, source text or "", function] of the learner's line
trail     the sites that led there: of the functions that called the site's, innermost first
via       the torch function the learner called, e.g. "all_gather_object" or "backward"
outsider  True where torch ignored the call, because this rank is not in the group
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from ..fabric.network import CLOCK_TAGS

Site = list[Any]

WORLD = "0"  # the name that torch gives the default group
POINT_TO_POINT = frozenset({"send", "recv"})
REDUCING = frozenset({"all_reduce", "reduce", "reduce_scatter"})
ROOTED = frozenset({"broadcast", "reduce", "gather", "scatter"})
# Calls whose own name says the same: "all_gather of all_gather_into_tensor()" would be noise.
_ALIASES = {
    "all_gather": {"all_gather", "all_gather_into_tensor", "all_gather_single", "_all_gather_base"},
    "reduce_scatter": {
        "reduce_scatter",
        "reduce_scatter_tensor",
        "reduce_scatter_single",
        "_reduce_scatter_base",
    },
    "all_to_all": {"all_to_all", "all_to_all_single"},
    "send": {"send", "isend"},
    "recv": {"recv", "irecv"},
}


@dataclass
class Operation:
    """One operation of one rank; see the head of the module.  Ranks are global."""

    name: str
    number: int = -1
    group: list[int] = field(default_factory=list)
    group_id: str = "0"
    shape: list[int] = field(default_factory=list)
    dtype: str = ""
    sent: list[int] = field(default_factory=list)
    received: list[int] = field(default_factory=list)
    bytes: int = 0
    size: int = 0
    peer: int | None = None
    tag: int = 0
    root: int | None = None
    reduce: str = ""
    splits: list[list[int]] = field(default_factory=list)
    site: Site = field(default_factory=lambda: ["", 0, "", ""])
    via: str = ""
    trail: list[Site] = field(default_factory=list)
    done: bool = False
    is_async: bool = False
    outsider: bool = False
    index: int = -1
    rank: int = -1

    @staticmethod
    def of(facts: dict[str, Any]) -> Operation:
        """From a dict with any of the fields; "async" is the name of is_async there."""
        made = Operation("")
        made.__dict__.update(facts)
        made.is_async = facts.get("async", made.is_async)
        return made

    def to_dict(self) -> dict[str, Any]:
        """Plain data that JSON can carry."""
        facts = asdict(self)
        facts["async"] = facts.pop("is_async")
        return facts

    @property
    def is_message(self) -> bool:
        """True for send and recv."""
        return self.name in POINT_TO_POINT

    @property
    def counts(self) -> bool:
        """False for what a ledger leaves out: ignored calls, and clocks of a virtual network."""
        return not self.outsider and self.tag < CLOCK_TAGS

    def parts(self, side: int) -> list[float]:
        """Elements to (side 0) or from (side 1) each rank of an all_to_all."""
        tensors = self.received if side else self.sent
        if len(tensors) != 1 or len(self.group) == 1:
            return [float(n) for n in tensors]
        splits = self.splits[side] if self.splits else []
        if not splits:
            return [tensors[0] / len(self.group)] * len(self.group)
        rows = sum(splits) or 1
        return [tensors[0] * n / rows for n in splits]

    @property
    def called(self) -> str:
        """The name a sentence uses: the learner's own call where that says more."""
        if not self.via or self.via == self.name:
            return self.name
        if self.via in _ALIASES.get(self.name, ()):
            return self.via
        return f"{self.name} of {self.via}()"
