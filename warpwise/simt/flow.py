"""Places of the control flow while a function is lowered: edges, loops, and a probe of types."""

from __future__ import annotations

from dataclasses import dataclass, field

from .program import Lines, Var
from .tape import Over

Env = dict[str, Var]


@dataclass
class Edge:
    """A way into a point of the function: the types there, and where to add moves."""

    env: Env
    lines: Lines
    depth: int
    mask: str


@dataclass
class Loop:
    """The loop being lowered: its mask, the types at its head, the edges out of it."""

    mask: str
    head: Env
    again: str  # mask variable of the lanes that said `continue`, "" when none does
    broke: str = ""  # mask variable of the lanes that said `break`, when the loop has an else
    breaks: list[Edge] = field(default_factory=list)
    continues: list[Edge] = field(default_factory=list)
    inside: Lines = field(default_factory=list)  # where the lanes that go on may be packed
    spin: str = ""  # what looks whether a `while` ever ends
    over: Over | None = None  # the range of a `for`


@dataclass
class Probe:
    """What is found out about a function that calls itself, before the type of its result is."""

    unknown: set[str] = field(default_factory=set)  # names whose type depends on the result
    returns: bool = False  # whether a return does
