"""The generated program of one kernel for one set of argument types.

Glossary
    Val      a value while lowering: a piece of Python source, its type, its constant if known
    Var      what a name holds at one point of the function
    Site     one place in the source that touches memory; the run reports by site number
    Program  everything the generated source needs: functions, constants, sites
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from . import checks, ops, runtime, typing
from .typing import STATIC, Type

#: Lines of generated source; a nested list is a block that is filled in later, same indentation.
Lines = list[Any]


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Any = _Missing()


@dataclass(frozen=True)
class Val:
    """`code` evaluates to the value; `const` is the NumPy scalar or static object, if known.
    wide: the note about float64 arithmetic in it, see lints.py; load: the number of the site that
    has just read it."""

    code: str
    type: Type
    const: Any = MISSING
    wide: Any = field(default=None, compare=False)
    load: int | None = field(default=None, compare=False)

    @property
    def known(self) -> bool:
        return self.const is not MISSING

    @property
    def static(self) -> bool:
        return self.type is STATIC


@dataclass(frozen=True)
class Var:
    """The type of a name here, and its object when that is static."""

    type: Type
    const: Any = MISSING
    sure: bool = True  # False when some path leads here without an assignment


#: What sites do that a warp has to issue; other operations are named by their type.
INSTRUCTIONS = ("load", "store", "atomic", "barrier", "warp")


@dataclass(frozen=True)
class Site:
    """A load or store: function, line, array expression as the learner wrote it.
    part: the only part of a complex number that is used, 0 the real one, 1 the imaginary one."""

    function: str
    line: int
    line_text: str
    array: str
    op: str
    space: str = "global"
    part: int | None = None

    @property
    def issued(self) -> bool:
        """Whether a warp issues an instruction for it."""
        return self.op in INSTRUCTIONS


@dataclass(frozen=True)
class Note:
    """Something worth knowing that is not an error; `text` is a finished sentence.

    Of a launch: "negative_index", "launch_dimension", "mask_without_caller", "inactive_source",
    "overflow", "zero_division"; with counters also "waits", "unwritten", "partial_warp".
    Of the compiled program: "float64", arithmetic that is wider than its operands,
    "float_equality" and "not_called".
    """

    kind: str
    line: int
    text: str


@dataclass
class Program:
    """Collects the generated functions.  `entry` is filled when the source is compiled.

    `types` keeps, for each generated function, every (variable, type) that occurs in it.
    A counted program has segments: straight pieces of the source that the same lanes run, each with
    its operations as (function, line, kind, role), for example ("saxpy", 4, "float32", "product")
    or, see INSTRUCTIONS, ("saxpy", 4, "load", "").  Roles say what the compiler may join:
    "product"; "fused", a sum with a product right in it, which is one instruction with that;
    "sign", a change of sign, which becomes part of another instruction; or none.
    `sources` are the functions that were lowered, by name.
    """

    name: str
    functions: list[Lines] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)
    sites: list[Site] = field(default_factory=list)
    notes: list[Any] = field(default_factory=list)
    specialised: dict[Any, tuple[str, Type]] = field(default_factory=dict)
    in_progress: dict[Any, str] = field(default_factory=dict)  # key -> name, outermost first
    recursive: set[Any] = field(default_factory=set)  # keys of functions that call themselves
    assumed: dict[Any, Any] = field(default_factory=dict)  # key -> type of the result
    names: set[str] = field(default_factory=set)
    sources: dict[str, Any] = field(default_factory=dict)
    lints: list[Note] = field(default_factory=list)
    slips: list[Note] = field(default_factory=list)  # said at every launch
    scopes: list[Any] = field(default_factory=list)  # (function, FrozenScope) that it was made with
    kept: list[Any] = field(default_factory=list)  # objects whose id() stands in a key
    types: dict[str, set[tuple[str, Type]]] = field(default_factory=dict)
    cooperative: bool = False  # whether the kernel synchronises its whole grid
    fastmath: bool = False  # whether a float32 division is the fast one, which never raises
    debug: bool = False  # whether a division by zero raises
    serial: bool = False  # whether functions are generators that wait at barriers
    partial: bool = False  # whether parts of a warp meet by themselves, under a mask
    waits: bool = False  # whether a `while` looks at memory that others may change
    polls: bool = False  # whether it does so by an atomic operation, or in its condition
    counted: bool = False  # whether the source reports segments and branches to observers
    segments: list[list[tuple[str, int, str, str]]] = field(default_factory=list)
    shared_bytes: dict[Any, int] = field(default_factory=dict)
    local_bytes: dict[Any, int] = field(default_factory=dict)
    places: dict[Any, int] = field(default_factory=dict)
    text: str = ""
    entry: Callable[..., Any] | None = None

    def stored_names(self, parameters: Iterable[str]) -> set[str] | None:
        """The parameters whose arrays the kernel may change, or None when that is not plain to see:
        a store is behind a view, a function or a global name, or a parameter gets another value."""
        names = set(parameters)
        stores = [s for s in self.sites if s.op in ("store", "atomic") and s.space == "global"]
        assigned = {variable for pairs in self.types.values() for variable, _ in pairs}
        if assigned & names or any(
            site.function != self.name or site.array not in names for site in stores
        ):
            return None
        return {site.array for site in stores}

    def constant(self, value: Any) -> str:
        """A name for a NumPy scalar or a static object, the same for the same value."""
        if isinstance(value, np.generic):
            label = re.sub(r"\W", "_", str(value).replace("-", "m").replace(".", "p"))
            name = re.sub(r"\W", "_", f"{value.dtype.name}_{label}")
        elif isinstance(value, np.dtype):
            name = re.sub(r"\W", "_", f"dtype_{value.name}")
        else:
            name = f"object_{len(self.constants)}"
        self.constants.setdefault(name, value)
        return name

    def place(self, node: Any, dtype: Type) -> int:
        """Number of a place that owns an allocation; the same for the same call and type."""
        return self.places.setdefault((id(node), dtype), len(self.places))

    def site(self, site: Site) -> int:
        """Number of a new site."""
        self.sites.append(site)
        return len(self.sites) - 1

    def read_part(self, number: int, part: int) -> None:
        """Of the complex number that a site loads, only one part is used."""
        self.sites[number] = replace(self.sites[number], part=part)

    def fresh(self, stem: str) -> str:
        """A function name no other generated function has."""
        name, n = stem, 2
        while name in self.names:
            name, n = f"{stem}_{n}", n + 1
        self.names.add(name)
        return name

    def compile(self, entry: str) -> None:
        """Turn the collected lines into a callable; `text` is the readable source."""
        parts: list[str] = []
        for lines in self.functions:
            parts += flattened(lines)
            parts.append("")
        self.text = "\n".join(with_bodies(parts))
        words = {**vars(runtime), **vars(ops), **vars(checks)}
        namespace: dict[str, Any] = {**words, **self.constants, "np": np}
        code = compile(self.text, f"<generated {self.name}>", "exec")
        exec(code, namespace)
        self.entry = namespace[entry]


def with_bodies(lines: list[str]) -> Iterator[str]:
    """The lines, with `pass` where a block would be empty."""
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        yield line
        indent = len(line) - len(line.lstrip())
        if line.endswith(":") and len(following) - len(following.lstrip()) <= indent:
            yield " " * (indent + 4) + "pass"


def flattened(lines: Lines) -> Iterator[str]:
    """The lines, with those of the nested lists in their places."""
    for line in lines:
        if isinstance(line, list):
            yield from flattened(line)
        else:
            yield line


def describe(t: Type) -> str:
    """A type as a reader would say it."""
    return "something that is no number" if t is STATIC else typing.name_of(t)


def same_type(a: Type, b: Type) -> Type | None:
    """typing.unify, with static objects refused."""
    if a is STATIC or b is STATIC:
        return None
    return typing.unify(a, b)
