"""A function while it is lowered: its text, its names, and the sites and operations to count."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from . import ops, typing
from .errors import SimtError, TypingError, at_line
from .flow import Env, Loop, Probe
from .frozen import FrozenScope
from .names import assigned_in, assigned_once, names, parameters_of
from .program import MISSING, Lines, Program, Site, Val, describe
from .source import Source
from .typing import STATIC, NoSignature, TupleType, Type

if TYPE_CHECKING:
    from .expressions import Expressions


_CONSTANT = re.compile(r"(bool|u?int\d+|float\d+|complex\d+|object|dtype|kernel|device)_")
RESERVED = frozenset({"rt", "m", "np", "None", "True", "False"})


class Again(Exception):
    """Lower the function once more: another name has to be tracked."""


class UnassignedError(Exception):
    """Some lanes read a name that no path to here assigns."""

    def __init__(self, node: ast.Name, mask: str) -> None:
        self.node = node
        self.mask = mask


class Lowering:
    """The state of one function, and what is written with it."""

    def __init__(
        self, program: Program, source: Source, scope: FrozenScope, captured: Sequence[str] = ()
    ) -> None:
        self.program = program
        self.source = source
        self.scope = scope
        self.home: Expressions | None = None  # the function around this one
        self.captured = tuple(captured)  # names of `home`; they come first among the parameters
        self.parameters = [*captured, *parameters_of(source.tree)]
        self.occurrences = Counter(names(source.tree))
        self.assigned = assigned_in(source.tree)
        self.once = assigned_once(source.tree)
        self.meetings: dict[int, list[ast.stmt] | None] = {}  # branches that meet, see meetings.py
        self.unrolled: dict[int, ast.For] = {}  # loops over literal_unroll(...), rewritten
        self.rotated: dict[ast.While, ast.If] = {}  # loops with two tests, see rotation.py
        self.stands_for: dict[ast.AST, ast.AST] = {}  # node made while lowering -> that of the text
        self.probe: Probe | None = None  # while the type of a recursive function is looked for
        self.local_arrays = False  # whether it asks for a cuda.local.array
        self.tracked: list[str] = []  # names that some path reads without a value
        self.start()

    def start(self) -> None:
        """Start, or start over: nothing is written yet."""
        self.lines: Lines = []
        self.depth = 1
        self.mask = "m"
        self.env: Env = {}
        self.variables: dict[tuple[str, Type], str] = {}
        self.temporaries = 0
        self.segment: int | None = None
        self.loops: list[Loop] = []
        self.local: list[frozenset[str]] = []  # names that need no blending, by suite
        self.returned: list[Type | None] = []
        self.known_names: dict[str, Any] = {}  # names assigned once, to a constant
        self.origins: dict[str, Any] = {}  # name -> what made it wide, see lints.py
        self.rounds: dict[Any, tuple[Type, ast.AST]] = {}  # types of earlier rounds, see settled
        self.visits: Counter[Any] = Counter()  # how often this round has been at a place
        self.target_name = ""  # the name being assigned to, for messages about arrays
        if self.probe:
            self.probe = Probe()

    def emit(self, text: str) -> None:
        """One line of generated source at the current depth."""
        self.lines.append("    " * self.depth + text)

    def temporary(self, stem: str = "t") -> str:
        self.temporaries += 1
        return f"{stem}_{self.temporaries}"

    def fail(
        self, kind: type[SimtError], node: ast.AST, fact: str, next_step: str = ""
    ) -> NoReturn:
        """Refuse a construct, with its line."""
        line = getattr(node, "lineno", None)
        text = self.source.line_text(line) if line else ""
        raise kind(
            at_line(self.source.name, line, text, fact, next_step), line=line, line_text=text
        )

    def where(self, node: ast.AST) -> str:
        """(kernel, `line 3:  x = y[i]`) as a literal of the generated source."""
        line = getattr(node, "lineno", 0)
        return repr((self.source.name, f"line {line}:  {self.source.line_text(line)}"))

    def site(self, node: ast.AST, array: str, op: str, space: str = "global") -> int:
        """Number of a new site; an access, a barrier and a warp function are instructions, too."""
        line = getattr(node, "lineno", 0)
        site = Site(self.source.name, line, self.source.line_text(line), array, op, space)
        if site.issued:
            self.operation(op, node)
        return self.program.site(site)

    def operation(self, kind: str, node: ast.AST, role: str = "") -> None:
        """Count one instruction per lane, in the current segment of a counted program; role: see
        Program."""
        if not self.program.counted:
            return
        if self.segment is None:
            self.segment = len(self.program.segments)
            self.program.segments.append([])
            self.emit(f"rt.segment({self.segment}, {self.mask})")
        entry = (self.source.name, getattr(node, "lineno", 0), kind, role)
        self.program.segments[self.segment].append(entry)

    def branch_site(self, node: ast.AST, yes: str, no: str) -> None:
        """Tell observers how the lanes part here, in a counted program."""
        if self.program.counted:
            self.emit(f"rt.branch({self.site(node, '', 'branch')}, {yes}, {no})")

    def is_local(self, name: str) -> bool:
        return name in self.assigned or name in self.parameters

    def unresolved(self, name: str) -> bool:
        return self.probe is not None and name in self.probe.unknown

    def track(self, name: str) -> None:
        """Keep the lanes that have assigned this name; starts the function over at the first."""
        if name not in self.tracked:
            self.tracked.append(name)
            raise Again

    def assigned_mask(self, name: str) -> str:
        return f"assigned_{self.tracked.index(name)}"

    def note_assigned(self, name: str) -> None:
        """After an assignment: these lanes have a value now."""
        if name in self.tracked:
            lanes = self.assigned_mask(name)
            self.emit(f"{lanes} = both({lanes}, {self.mask})")

    def variable(self, name: str, kind: Type) -> str:
        """The generated variable of a name for one type."""
        key = (name, kind)
        if key not in self.variables:
            stem = f"{name}_" if name in RESERVED or _ours(name) else name
            taken = set(self.variables.values())
            if stem in taken:
                tail = "".join(c if c.isalnum() else "_" for c in describe(kind))
                stem = f"{stem}__{tail}"
                while stem in taken:
                    stem += "_"
            self.variables[key] = stem
        return self.variables[key]

    def number(self, node: ast.AST, value: Any) -> Val:
        """A constant as the compiler would freeze it."""
        try:
            kind = typing.type_of_constant(value)
        except NoSignature as error:
            self.fail(TypingError, node, str(error))
        scalar = typing.numpy_dtype(kind).type(value)
        return Val(self.program.constant(scalar), kind, scalar)

    def known(self, const: Any, kind: Type) -> Val:
        if isinstance(const, tuple):
            parts = [self.known(c, t) for c, t in zip(const, kind.items, strict=True)]
            return self.tuple_of(parts)
        return Val(self.program.constant(const), kind, const)

    def tuple_of(self, items: list[Val]) -> Val:
        code = "(" + "".join(f"{item.code}, " for item in items) + ")"
        known = all(item.known for item in items)
        const = tuple(item.const for item in items) if known else MISSING
        if any(item.static for item in items):
            return Val("None", STATIC, tuple(items))
        return Val(code, TupleType(tuple(item.type for item in items)), const)

    def items(self, value: Val) -> list[Val]:
        """The items of a tuple value."""
        if value.static and isinstance(value.const, tuple):
            return list(value.const)
        assert isinstance(value.type, TupleType)
        constants = value.const if value.known else (MISSING,) * len(value.type.items)
        return [
            Val("None", STATIC, None)
            if t is STATIC  # None inside an argument
            else self.known(c, t)
            if c is not MISSING
            else Val(f"{value.code}[{k}]", t)
            for k, (t, c) in enumerate(zip(value.type.items, constants, strict=True))
        ]

    def held(self, value: Val) -> Val:
        """The value in a temporary, so that using it twice evaluates it once."""
        if value.known or value.static or value.code.isidentifier():
            return value
        name = self.temporary()
        self.emit(f"{name} = {value.code}")
        return Val(name, value.type)

    def checked(self, call: str, kind: Type, site: int) -> Val:
        """A call that looks at the active lanes: a line of its own, so that its mask is there."""
        out = self.temporary()
        self.emit(f"{out} = {call}, {self.mask}, {site})")
        return Val(out, kind)


def _ours(name: str) -> bool:
    """True for a learner's name that the generated source uses for something else."""
    from . import checks, runtime

    stem = name.rstrip("0123456789")
    ours = ("m_", "t_", "c_", "v_", "r_", "view_", "lanes_", "value_", "spin_", "again_", "tape_",
            "packing_", "broke_m_", "assigned_")  # fmt: skip
    return (
        name in ("value_returned", "lanes_gone", "_") or stem in ours or bool(_CONSTANT.match(name))
        or any(hasattr(module, name) for module in (checks, ops, runtime))
    )  # fmt: skip
