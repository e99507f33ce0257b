"""Lowering of statements and of whole functions.

Names keep their Python spelling in the generated source.  A name whose type changes along the way
gets one variable per type (`s`, `s__float64`); values are moved from one to the other on the edges
of the control flow where Numba would insert a phi.

Masks: `m` holds the lanes still in the function, every `if` and loop makes its own, a smaller one.
`break`, `continue` and `return` empty the current mask; where branches meet again, their masks are
joined, so lanes that left stay out.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from numba.core import types

from . import lints, named, structures, typing, vectors
from .closures import closure_of
from .errors import SimtError, TypingError, UnsupportedError
from .expressions import Expressions
from .frozen import FrozenScope
from .functions import UnresolvedError, arguments_of
from .iterators import Flat, Items, is_unroll, iterate, literal_list, unrolled
from .liveness import read_after
from .names import (
    FUNCTION_EXITS,
    assigned_in,
    assigned_once,
    count_names,
    has,
    idle_in,
    may_leave,
    may_leave_body,
    names,
    parameters_of,
    returns_early,
    target_names,
    targets,
)
from .packing import plan
from .program import MISSING, Lines, Program, Val, Var, describe, flattened, same_type
from .source import Source
from .typing import STATIC, ArrayType, RecordType, TupleType, Type

Env = dict[str, Var]
_CONSTANT = re.compile(r"(bool|u?int\d+|float\d+|complex\d+|object|dtype|kernel|device)_")
RESERVED = frozenset({"rt", "m", "np", "None", "True", "False"})


class _Again(Exception):
    """Lower the function once more: another name has to be tracked."""


@dataclass
class Edge:
    """A way into a point of the function: the types there, and where to add moves."""

    env: Env
    lines: Lines
    depth: int
    mask: str


@dataclass
class Probe:
    """What is found out about a function that calls itself, before the type of its result is."""

    unknown: set[str] = field(default_factory=set)  # names whose type depends on the result
    returns: bool = False  # whether a return does


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


class Function(Expressions):
    """Lowers one function for one set of argument types."""

    def __init__(
        self, program: Program, source: Source, scope: FrozenScope, *, kernel: bool,
        result: Type | None = None, captured: Sequence[str] = (), home: Expressions | None = None,
        probing: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(program, source, scope)
        program.sources.setdefault(source.name, source)
        self.is_kernel = kernel
        self.captured = tuple(captured)  # names of `home`, the function around, come first
        self.home = home
        self.probe = Probe() if probing else None
        self.result = result  # the unified type of the returns, once known
        self.returned: list[Type | None] = []
        self.loops: list[Loop] = []
        self.occurrences = Counter(names(source.tree))
        self.assigned = assigned_in(source.tree)
        self.parameters = [*captured, *parameters_of(source.tree)]
        self.parameter_names = self.parameters
        self.tracked: list[str] = []  # names that some path reads without a value
        self.once = assigned_once(source.tree)
        self.local: list[frozenset[str]] = []
        self.unrolled: dict[int, ast.For] = {}  # loops over literal_unroll(...), rewritten
        self.variables: dict[tuple[str, Type], str] = {}
        self.returns_early = returns_early(source.tree)

    # -- functions -----------------------------------------------------------

    def lower(self, name: str, arguments: list[Val]) -> Type | None:
        """Generate `def name(rt, m, ...)`; returns the type of its result."""
        while True:
            try:
                return self._lower(name, arguments)
            except _Again:
                self._start()

    def _start(self) -> None:
        """Forget everything but the names that are tracked."""
        self.lines, self.depth, self.mask, self.env = [], 1, "m", {}
        self.temporaries, self.segment, self.target_name = 0, None, ""
        self.returned, self.loops, self.local, self.variables = [], [], [], {}
        self.known_names, self.origins = {}, {}
        self.rounds, self.visits = {}, Counter()
        if self.probe:
            self.probe = Probe()

    def _lower(self, name: str, arguments: list[Val]) -> Type | None:
        tree = self.source.tree
        self._check_parameters(tree)
        passed: list[str] = []
        for parameter, value in zip(self.parameters, arguments, strict=False):
            self.env[parameter] = self._parameter(parameter, value, passed)
            if value.known and not value.static and parameter not in self.assigned:
                self.known_names[parameter] = value.const  # a literal argument stays one
        if tree.args.vararg is not None:
            # A static tuple of variables: each keeps its own type and literal.
            spread = Val("None", STATIC, tuple(arguments[len(self.parameters) :]))
            self.env[tree.args.vararg.arg] = self._parameter(tree.args.vararg.arg, spread, passed)
        end = self.suite(tree.body, top=True)
        header: Lines = [f"def {name}({', '.join(['rt', 'm', *passed])}):"]
        fresh = [v for v in dict.fromkeys(self.variables.values()) if v not in passed]
        for start in range(0, len(fresh), 8):
            header.append("    " + " = ".join(fresh[start : start + 8]) + " = None")
        header += [f"    {self.assigned_mask(tracked)} = False" for tracked in self.tracked]
        if self.returns_early:
            header.append("    value_returned = None")
            header.append("    lanes_gone = False")
        if end is not None and any(t is not None for t in self.returned) and not self.probe:
            self.fail(
                TypingError, tree, f"{self.source.name} returns a value on some paths only",
                "Return a value at the end, too.",
            )  # fmt: skip
        if self.program.serial:
            header.append("    if False: yield")  # a generator, also without a barrier
        if self.returns_early:
            self.emit("return value_returned")
        elif not self.lines:
            self.emit("pass")
        self.program.functions.append(header + self.lines)
        self.program.types[name] = {key for key in self.variables if key[0] in self.assigned}
        return self._result_type()

    def _check_parameters(self, tree: ast.FunctionDef) -> None:
        what = "a kernel" if self.is_kernel else "a device function"
        for kind, label in ((tree.args.vararg, "*args"), (tree.args.kwarg, "**kwargs")):
            if kind is not None and (self.is_kernel or label == "**kwargs"):
                self.fail(UnsupportedError, tree, f"{what} cannot have {label}",
                          "Give each argument its own name.")  # fmt: skip
        if tree.args.kwonlyargs:
            self.fail(UnsupportedError, tree, f"{what} cannot have keyword-only parameters",
                      "Take the * out of the parameter list.")  # fmt: skip

    def _parameter(self, name: str, value: Val, passed: list[str]) -> Var:
        """What a parameter holds; numbers and arrays, also inside tuples, arrive as variables."""
        if not value.static:
            passed.append(self.variable(name, value.type))
            kind = value.type
            return Var(replace(kind, origin=name) if isinstance(kind, RecordType) else kind)
        if not isinstance(value.const, tuple):
            return Var(STATIC, value.const)
        items = []
        for k, item in enumerate(value.const):
            if isinstance(item, Val):
                inner = self._parameter(f"{name}__item{k}", item, passed)
                const = inner.const if inner.type is STATIC else item.const
                item = Val("None" if item.static else passed[-1], item.type, const)
            items.append(item)
        return Var(STATIC, tuple(items))

    def _result_type(self) -> Type | None:
        kinds = [t for t in self.returned if t is not None]
        if not kinds and self.probe and self.probe.returns:
            self.fail(
                TypingError, self.source.tree,
                f"every return of {self.source.name} calls {self.source.name} again",
                "Give it a case that returns without calling itself.",
            )  # fmt: skip
        result: Type | None = kinds[0] if kinds else None
        for kind in kinds[1:]:
            result = same_type(result, kind)
            if result is None:
                listed = ", ".join(describe(k) for k in kinds)
                self.fail(
                    TypingError, self.source.tree, f"the returns have no common type: {listed}"
                )
        return result

    def is_local(self, name: str) -> bool:
        return name in self.assigned or name in self.parameters

    def unresolved(self, name: str) -> bool:
        return self.probe is not None and name in self.probe.unknown

    def track(self, name: str) -> None:
        """Keep the lanes that have assigned this name; starts the function over at the first."""
        if name not in self.tracked:
            self.tracked.append(name)
            raise _Again

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

    # -- suites --------------------------------------------------------------

    def suite(self, body: list[ast.stmt], top: bool = False, keep: bool = False) -> Env | None:
        """Lower a list of statements; the env at its end, None when no lane gets there."""
        depth = self.depth
        self.segment = None
        self.local.append(frozenset() if keep else frozenset(self._suite_local(body)))
        for at, statement in enumerate(body):
            if not self.statement(statement):
                self.depth = depth
                self.local.pop()
                return None
            if isinstance(statement, (ast.If, ast.For, ast.While, ast.Assert, ast.Match)):
                self.segment = None
            if at + 1 < len(body) and may_leave(statement):
                # Back to the suite's own depth: a long row of guards does not nest.
                self.depth = depth
                self.emit(f"if {self.mask} is not False:")
                self.depth += 1
        self.depth = depth
        self.local.pop()
        return self.env

    def _suite_local(self, body: list[ast.stmt]) -> Iterator[str]:
        """Names used nowhere outside this suite and assigned in it before they are read: lanes
        outside the mask never look at them, so their assignments need no blending."""
        inside: Counter[str] = Counter()
        first_assigned: set[str] = set()
        for statement in body:
            for name in targets(statement):
                value = getattr(statement, "value", None) or getattr(statement, "iter", None)
                reads = set(names(value)) if value is not None else set()
                if name not in inside and name not in reads:
                    first_assigned.add(name)
            inside.update(names(statement))
        for name in first_assigned:
            if inside[name] == self.occurrences[name] and name not in self.parameters:
                yield name

    def statement(self, node: ast.stmt) -> bool:
        """Lower one statement; False when no lane goes on after it."""
        return self._probed(node, self.probe) if self.probe else self._statement(node)

    def _probed(self, node: ast.stmt, probe: Probe) -> bool:
        """A statement of a function whose result type is looked for; only types matter.

        What needs a call of the function itself has no type yet, nor have the names it assigns.
        """
        keys = ("lines", "depth", "mask", "env", "loops", "local", "segment")
        before = {key: getattr(self, key) for key in keys}
        before |= {key: copy(before[key]) for key in ("env", "loops", "local")}
        try:
            return self._statement(node)
        except (UnresolvedError, SimtError):
            vars(self).update(before)
        for name in assigned_in(node):
            self.env.pop(name, None)
            probe.unknown.add(name)
        if isinstance(node, ast.Return):
            probe.returns = True
            return False
        if isinstance(node, (ast.For, ast.While)):
            self.loops.append(Loop("m", {}, "again"))
        for inner in (*getattr(node, "body", ()), *getattr(node, "orelse", ())):
            self.statement(inner)
        self.loops = before["loops"]
        return True

    def _statement(self, node: ast.stmt) -> bool:
        method: Callable[[Any], bool | None] | None = getattr(
            self, f"do_{type(node).__name__}", None
        )
        if method is None:
            name, instead = _STATEMENTS.get(type(node).__name__, (type(node).__name__, ""))
            self.fail(UnsupportedError, node, f"{name} cannot be used in a kernel", instead)
        return method(node) is not False

    # -- assignment ----------------------------------------------------------

    def do_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.assign_name(node.name, closure_of(self, node), node)

    def on_Lambda(self, node: ast.Lambda) -> Val:
        return closure_of(self, node)

    def do_Pass(self, node: ast.Pass) -> None: ...

    def do_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return  # a docstring
        value = self.expression(node.value)
        if value.static:
            lints.not_called(self, node, value)
            return
        if value.code.isidentifier():
            return
        self.emit(value.code)

    def do_Assign(self, node: ast.Assign) -> None:
        if isinstance(node.targets[0], ast.Name):
            self.target_name = node.targets[0].id
        value = self.expression(node.value)
        self.target_name = ""
        if len(node.targets) > 1 and not value.static:
            value = self.held(value)
        for target in node.targets:
            self.assign_to(target, value, node)

    def do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            return
        self.assign_to(node.target, self.expression(node.value), node)

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        name = type(node.op).__name__
        if isinstance(node.target, ast.Name):
            read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
            old = self.expression(read)
            value = self.binary(name, old, self.expression(node.value), node)
            self.assign_to(node.target, value, node)
            return
        if not isinstance(node.target, (ast.Subscript, ast.Attribute)):
            self.fail(UnsupportedError, node, "only variables and array elements can be changed")
        owner = self.expression(node.target.value)
        if isinstance(owner.type, RecordType):
            owner = self.held(owner)
            part = self.field_target(owner, node.target)
            old = structures.read(self, owner, part, node)
            value = self.binary(name, old, self.expression(node.value), node)
            structures.write(self, owner, part, value, node)
            return
        if isinstance(node.target, ast.Attribute):
            self.no_attribute_target(owner, node.target)
        array, parts = self.element_target(node.target, owner)
        held = [self.held(p) for p in parts]
        index = "".join(f"{p.code}, " for p in held)
        label = ast.unparse(node.target.value)
        old = self.element(array, index, label, node)
        value = self.binary(name, old, self.expression(node.value), node)
        self.store(array, index, value, node, label)

    def held(self, value: Val) -> Val:
        """The value in a temporary, so that using it twice evaluates it once."""
        if value.known or value.static or value.code.isidentifier():
            return value
        name = self.temporary()
        self.emit(f"{name} = {value.code}")
        return Val(name, value.type)

    def assign_to(self, target: ast.expr, value: Val, node: ast.AST) -> None:
        """target = value"""
        if isinstance(target, ast.Name):
            self.assign_name(target.id, value, node)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self.unpack(target, value, node)
        elif isinstance(target, (ast.Subscript, ast.Attribute)):
            owner = self.expression(target.value)
            if isinstance(owner.type, RecordType):
                structures.write(self, owner, self.field_target(owner, target), value, node)
                return
            if isinstance(target, ast.Attribute):
                self.no_attribute_target(owner, target)
            array, parts = self.target_of(target, owner)
            if len(parts) == array.type.ndim and all(isinstance(p, Val) for p in parts):
                index = "".join(f"{p.code}, " for p in parts)
                self.store(array, index, value, node, ast.unparse(target.value))
            else:
                view = self.view(array, parts, target)
                self.store_all(view, value, node, ast.unparse(target.value))
        else:
            self.fail(
                UnsupportedError, node, "only variables and array elements can be assigned to"
            )

    def assign_name(self, name: str, value: Val, node: ast.AST) -> None:
        if value.static:
            if isinstance(value.const, Items) and self.mask != "m":
                self.fail(
                    UnsupportedError, node, f"{name} holds an iterator, made in a branch or loop",
                    "Write it where it is used: for ... in range(n).",
                )  # fmt: skip
            self.env[name] = Var(STATIC, self._kept(name, value.const, node))
            return
        value = self.settled(node, value, name)
        variable = self.variable(name, value.type)
        self.env[name] = Var(value.type)
        self.emit(f"{variable} = {self.blended(name, value.code, variable)}")
        self.note_assigned(name)
        lints.origin(self, name, value, node)
        if value.known and name in self.once:
            self.known_names[name] = value.const

    def _kept(self, name: str, const: Any, node: ast.AST) -> Any:
        """A static object; the numbers in a tuple with it go into variables of their own."""
        if not isinstance(const, tuple):
            return const
        items = []
        for k, item in enumerate(const):
            if isinstance(item, Val) and not item.known:
                inner = f"{name}__item{k}"
                self.assign_name(inner, item, node)
                item = Val(self.variable(inner, item.type), item.type)
            elif isinstance(item, Val) and item.static:
                item = Val("None", STATIC, self._kept(f"{name}__item{k}", item.const, node))
            items.append(item)
        return tuple(items)

    def blended(self, name: str, code: str, variable: str) -> str:
        """The new value of a variable, keeping the old one for lanes outside the mask."""
        if self.mask == "m" or name in self.local[-1]:
            return code
        return f"assign({self.mask}, {code}, {variable}, m)"

    def unpack(self, target: ast.Tuple | ast.List, value: Val, node: ast.AST) -> None:
        if not isinstance(value.type, TupleType) and not isinstance(value.const, tuple):
            self.fail(TypingError, node, f"{describe(value.type)} cannot be unpacked")
        # Evaluate the whole right side first: `a, b = b, a` must swap.
        if not value.static and not value.known and not value.code.isidentifier():
            name = self.temporary()
            self.emit(f"{name} = {value.code}")
            value = Val(name, value.type)
        items = self.items(value)
        if value.static:
            copies = []
            for item in items:
                if not item.static and not item.known:
                    name = self.temporary()
                    self.emit(f"{name} = {item.code}")
                    item = Val(name, item.type)
                copies.append(item)
            items = copies
        if len(items) != len(target.elts):
            self.fail(
                TypingError, node, f"{len(items)} values for {len(target.elts)} names",
                "cuda.grid(2) gives two values: x, y = cuda.grid(2)."
                if "grid" in self.source.line_text(getattr(node, "lineno", 0)) else "",
            )  # fmt: skip
        for part, item in zip(target.elts, items, strict=True):
            self.assign_to(part, item, node)

    def field_target(self, record: Val, target: ast.Subscript | ast.Attribute) -> str | int:
        """The field of a record that is stored to."""
        return target.attr if isinstance(target, ast.Attribute) else self.field_of(record, target)

    def no_attribute_target(self, owner: Val, target: ast.Attribute) -> NoReturn:
        """Refuse `x.name = v` where x is no record."""
        self.fail(
            TypingError, target,
            f"{ast.unparse(target.value)} is {describe(owner.type)}; only fields of records can be "
            "assigned to",
            "Store into an element: a[i] = ..., or a[i].x = ... where a holds records.",
        )  # fmt: skip

    def target_of(self, target: ast.Subscript, array: Val) -> tuple[Val, list[Any]]:
        """The array that is stored to, and where: see `indices`."""
        name = ast.unparse(target.value)
        flat_index: list[Any] | None = None
        if isinstance(array.const, Flat):
            array, flat_index = self.flat_element(array.const, target)
        if not isinstance(array.type, ArrayType):
            self.fail(TypingError, target, f"{name} is {describe(array.type)}; only elements of "
                      "arrays can be stored to")  # fmt: skip
        if array.type.readonly:
            self.fail(TypingError, target, *self.why_readonly(name))
        return array, self.indices(target, array.type) if flat_index is None else flat_index

    def element_target(self, target: ast.Subscript, array: Val) -> tuple[Val, list[Val]]:
        """The array and index of one element."""
        array, parts = self.target_of(target, array)
        if len(parts) != array.type.ndim or not all(isinstance(p, Val) for p in parts):
            self.fail(
                UnsupportedError, target,
                f"a whole part of {ast.unparse(target.value)} cannot be changed at once",
                f"Give an index for each dimension ({array.type.ndim}) and loop over the rest.",
            )  # fmt: skip
        return array, parts

    def store_all(self, view: Val, value: Val, node: ast.AST, label: str) -> None:
        """view[...] = value: a number into all elements, or a tuple into as many."""
        kind: ArrayType = view.type
        site = self.site(node, label, "store", kind.space)
        if isinstance(value.type, TupleType) and kind.ndim == 1:
            codes = "".join(f"{self.cast(item, kind.dtype, node).code}, "
                            for item in self.items(self.held(value)))  # fmt: skip
            where = self.where(node)
            self.emit(f"fill_each(rt, {view.code}, ({codes}), {self.mask}, {site}, {where})")
            return
        if isinstance(value.type, ArrayType):
            self.fail(
                UnsupportedError, node, f"an array cannot be assigned to a part of {label}",
                "Numba has no memory for the copy in a kernel; write the loop over the elements.",
            )  # fmt: skip
        if isinstance(kind.dtype, types.Record):
            structures.fill(self, view, value, label, node)
            return
        if not typing.is_scalar(value.type):
            self.fail(TypingError, node, f"{describe(value.type)} cannot be stored into {label}")
        code = self.held(self.cast(value, kind.dtype, node)).code
        self.emit(f"fill(rt, {view.code}, {code}, {self.mask}, {site})")

    def store(self, array: Val, index: str, value: Val, node: ast.AST, label: str) -> None:
        kind: ArrayType = array.type
        if isinstance(kind.dtype, types.Record):
            target = structures.element(self, array, index, label)
            structures.store(self, target, value, label, node)
            return
        if typing.is_vector(kind.dtype):
            vectors.store(self, array, index, value, node, label)
            return
        if not typing.is_scalar(value.type):
            self.fail(TypingError, node, f"{describe(value.type)} cannot be stored into {label}")
        site = self.site(node, label, "store", kind.space)
        if self.program.counted:
            value = self.fitted(value, kind.dtype, node, site)
        code = self.cast(value, kind.dtype, node).code
        self.emit(f"store(rt, {array.code}, ({index}), {code}, {self.mask}, {site})")

    # -- control flow --------------------------------------------------------

    def makes_local(self, value: ast.expr | None) -> bool:
        """Whether a returned local array was made here, not passed in."""
        made = {
            name
            for node in ast.walk(self.source.tree)
            if isinstance(node, ast.Assign) and "local.array" in ast.unparse(node.value)
            for target in node.targets
            for name in assigned_in(target)
        }
        names_in = set() if value is None else set(names(value))
        passed = any(
            _local_memory(self.env[p].type) for p in self.parameters if p in self.env
        )  # fmt: skip
        return bool(names_in & made) or not passed

    def do_Return(self, node: ast.Return) -> bool:
        value = None if node.value is None else self.expression(node.value)
        if value is not None and value.static and value.const is None:
            value = None
        if value is not None and self.is_kernel:
            self.fail(
                UnsupportedError, node, "a kernel cannot return a value",
                "Store the result into an array that is passed as an argument.",
            )  # fmt: skip
        if value is not None and _local_memory(value.type) and self.makes_local(node.value):
            self.fail(
                UnsupportedError, node,
                f"{self.source.name} returns a local array, whose memory ends with the function",
                "On a GPU it may hold anything afterwards. Make the array in the function that "
                "calls, and pass it in as an argument.",
            )  # fmt: skip
        self.returned.append(None if value is None else value.type)
        code = ""
        if value is not None:
            if value.static:
                self.fail(UnsupportedError, node, "a device function returns numbers, tuples or "
                          "arrays only")  # fmt: skip
            if self.result is not None:
                value = self.cast(value, self.result, node)
            code = value.code
        if not self.returns_early:
            if code:
                self.emit(f"return {code}")
            return False
        if code:
            self.emit(f"value_returned = assign({self.mask}, {code}, value_returned, True)")
        if self.loops:
            self.emit(f"lanes_gone = both(lanes_gone, {self.mask})")
        if self.is_kernel:
            self.emit(f"rt.leave({self.mask})")
        self.emit(f"{self.mask} = False")
        return False

    def do_Raise(self, node: ast.Raise) -> bool:
        """The lanes that come here are reported and stop."""
        text = "" if node.exc is None else ast.unparse(node.exc)
        self._report(node, text)
        return False

    def do_Assert(self, node: ast.Assert) -> None:
        """assert test, message: lanes for which it does not hold are reported and stop."""
        test = ast.UnaryOp(ast.Not(), node.test)
        message = [] if node.msg is None else [node.msg]
        call = ast.Call(ast.Name("AssertionError", ast.Load()), message, [])
        stop = ast.If(test, [ast.Raise(call, None)], [])
        for made in ast.walk(stop):
            if not hasattr(made, "lineno"):
                ast.copy_location(made, node)
        self.do_If(stop)

    def _report(self, node: ast.AST, text: str) -> None:
        site = self.site(node, text, "raise")
        self.emit(f"rt.raised({site}, {self.mask})")
        if not self.is_kernel:  # its caller has no value to go on with
            self.emit("rt.stop()")
        if self.loops:
            self.emit(f"lanes_gone = both(lanes_gone, {self.mask})")
        self.emit(f"rt.leave({self.mask})")
        self.emit(f"{self.mask} = False")

    def do_Break(self, node: ast.Break) -> bool:
        loop = self.loops[-1]
        loop.breaks.append(self.edge())
        if loop.broke:
            self.emit(f"{loop.broke} = both({loop.broke}, {self.mask})")
        self.emit(f"{self.mask} = False")
        return False

    def do_Continue(self, node: ast.Continue) -> bool:
        loop = self.loops[-1]
        loop.continues.append(self.edge())
        self.emit(f"{loop.again} = both({loop.again}, {self.mask})")
        self.emit(f"{self.mask} = False")
        return False

    def edge(self) -> Edge:
        """An edge out of the current point; moves are added to it when its target is known."""
        moves: Lines = []
        self.lines.append(moves)
        return Edge(dict(self.env), moves, self.depth, self.mask)

    def merge(self, edges: list[Edge], node: ast.AST) -> Env:
        """The env where several edges meet; types are unified as Numba does at a phi."""
        env: Env = {}
        for name in dict.fromkeys(n for edge in edges for n in edge.env):
            here = [edge.env[name] for edge in edges if name in edge.env]
            sure = len(here) == len(edges) and all(var.sure for var in here)
            kind, const = here[0].type, here[0].const
            for other in here[1:]:
                if (other.type, other.const) == (kind, const):
                    continue
                joined = same_type(kind, other.type)
                if joined is None:
                    self._no_common_type(name, kind, other.type, node)
                    break
                kind, const = joined, MISSING
            else:
                env[name] = Var(kind, const, sure)
        return env

    def _no_common_type(self, name: str, a: Type, b: Type, node: ast.AST) -> None:
        if read_after(self.source.tree, node, name):
            if a is STATIC and b is STATIC:
                self.fail(
                    TypingError, node, f"{name} stands for different things on two paths",
                    "A function or type has to be known when the kernel is compiled: use it inside "
                    "the branches.",
                )  # fmt: skip
            self.fail(
                TypingError, node,
                f"{name} is {describe(a)} on one path and {describe(b)} on another",
                "Give it one type, or use two names.",
            )  # fmt: skip

    def join(self, edges: list[Edge], node: ast.AST) -> Env:
        """merge(), and the conversions on the edges."""
        env = self.merge(edges, node)
        for edge in edges:
            self.move(edge, env)
        return env

    def move(self, edge: Edge, env: Env, mask: str = "") -> None:
        """Add to an edge the conversions that its target's types ask for."""
        mask = mask or edge.mask
        for name, var in env.items():
            old = edge.env.get(name)
            if old is None or old.type == var.type or same_type(old.type, var.type) is None:
                continue  # nothing to convert, or a value that is not read any more
            source, target = self.variable(name, old.type), self.variable(name, var.type)
            code = self.cast(Val(source, old.type), var.type).code
            if edge.mask != "m" or mask != "m":
                code = f"assign({mask}, {code}, {target}, m)"
            indent = "    " * edge.depth
            edge.lines.append(
                f"{indent}if {mask} is not False and {source} is not None: {target} = {code}"
            )

    def branch(self, mask: str, body: list[ast.stmt], env: Env) -> tuple[Lines, Edge | None]:
        """Lower a suite under its own mask into lines of its own."""
        outer_lines, outer_mask, outer_env = self.lines, self.mask, self.env
        self.lines, self.mask, self.env = [], mask, dict(env)
        self.depth += 1
        end = self.suite(body)
        edge = self.edge() if end is not None else None
        if not any(_nonempty(line) for line in self.lines):
            self.emit("pass")
        lines = self.lines
        self.depth -= 1
        self.lines, self.mask, self.env = outer_lines, outer_mask, outer_env
        return lines, edge

    def do_If(self, node: ast.If) -> bool:
        condition = self.truth(self.expression(node.test), node.test)
        if condition.known:
            chosen = node.body if condition.const else node.orelse
            return self.suite(chosen, keep=True) is not None if chosen else True
        yes, no = self.temporary("m"), self.temporary("m")
        self.emit(f"{yes}, {no} = split({self.mask}, {condition.code})")
        self.branch_site(node, yes, no)
        before = dict(self.env)
        then_lines, then_edge = self.branch(yes, node.body, before)
        self.emit(f"if {yes} is not False:")
        self.lines.append(then_lines)
        else_edge: Edge | None
        if node.orelse:
            else_lines, else_edge = self.branch(no, node.orelse, before)
            self.emit(f"if {no} is not False:")
            self.lines.append(else_lines)
        else:
            else_edge = Edge(before, [], self.depth, no)
            self.lines.append(else_edge.lines)
        edges = [edge for edge in (then_edge, else_edge) if edge is not None]
        if not edges:
            self.emit(f"{self.mask} = False")
            return False
        self.env = self.join(edges, node)
        if may_leave(node):
            self.emit(f"{self.mask} = both({yes}, {no})")
        return True

    def do_Match(self, node: ast.Match) -> bool:
        """match of a number against values, as a chain of if."""
        subject = ast.Name(f"match__{node.lineno}_{node.col_offset}", ast.Load())
        self.assign_name(subject.id, self.expression(node.subject), node)
        chain: list[ast.stmt] = []
        for case in reversed(node.cases):
            test = self._pattern(case.pattern, subject)
            if case.guard is not None:
                test = ast.BoolOp(ast.And(), [test, case.guard])
            chain = [ast.If(test, case.body, chain)]
        for made in ast.walk(chain[0]):
            if not hasattr(made, "lineno"):
                ast.copy_location(made, node)
        return self.do_If(chain[0])  # type: ignore[arg-type]

    def _pattern(self, pattern: ast.pattern, subject: ast.expr) -> ast.expr:
        """The condition that a pattern stands for."""
        if isinstance(pattern, ast.MatchValue):
            return ast.Compare(subject, [ast.Eq()], [pattern.value])
        if isinstance(pattern, ast.MatchOr):
            return ast.BoolOp(ast.Or(), [self._pattern(p, subject) for p in pattern.patterns])
        if isinstance(pattern, ast.MatchAs) and pattern.name is None:
            return ast.Constant(True)
        self.fail(
            UnsupportedError, pattern, "this pattern of a match cannot be used in a kernel",
            "Patterns are numbers, several of them with |, and _ for the rest. Use if and elif.",
        )  # fmt: skip

    def do_Global(self, node: ast.Global) -> None:
        """`global x` says nothing new about a name that is read only."""
        for name in node.names:
            if name in self.assigned:
                self.fail(UnsupportedError, node, f"a kernel cannot change the global {name}",
                          "Store into an array that is passed as an argument.")  # fmt: skip

    def loop(
        self, node: ast.While | ast.For, mask: str, test: Callable[[], None]
    ) -> tuple[Lines, Loop]:
        """Lower a loop's body, repeating until the types at its head no longer change.

        `test` emits what stands at the head: the condition, or the assignment of the variable.
        """
        entry = self.edge()
        head = dict(self.env)
        visits = self.visits.copy()
        while True:
            self.visits = visits.copy()
            temporaries, returned = self.temporaries, list(self.returned)
            variables = dict(self.variables)
            again = f"again_{self.temporaries}" if has(node, ast.Continue) else ""
            loop = Loop(mask, head, again)
            if node.orelse:
                loop.broke = f"broke_{mask}"
            self.loops.append(loop)
            outer_lines, outer_mask = self.lines, self.mask
            self.lines, self.mask, self.env = [], mask, dict(head)
            self.depth += 1
            self.segment = None
            if again:
                self.emit(f"{again} = False")
            test()
            self.lines.append(loop.inside)
            end = self.suite(node.body)
            edges = [self.edge()] if end is not None else []
            edges += loop.continues
            lines = self.lines
            self.depth -= 1
            self.lines, self.mask = outer_lines, outer_mask
            self.loops.pop()
            merged = self.merge([Edge(head, [], 0, ""), *edges], node)
            if merged == head:
                for edge in edges:
                    self.move(edge, head)
                self.move(entry, head)
                return lines, loop
            # Types, or names, that the body adds at the head: lower the body again with them.
            head = merged
            self.temporaries, self.returned = temporaries, returned
            self.variables = variables

    def finish_loop(self, node: ast.While | ast.For, loop: Loop, lines: Lines, *own: str) -> bool:
        """Join the ways out of a loop and take returned lanes out of the mask."""
        before: Lines = []
        after: Lines = []
        self.lines.insert(len(self.lines) - 1, before)  # in front of the loop's own line
        self.lines.append(lines)
        if own:  # the last look of a `for` at its range, at which all others leave: still packed
            self.branch_site(node, "False", f"{own[0]}.left")
        self.lines.append(after)
        done = Edge(loop.head, [], self.depth, self.mask)
        self.env = self.merge([done, *loop.breaks], node)
        if any(self.env[n].type != v.type for n, v in loop.head.items() if n in self.env):
            # Lanes that left by break bring their own values; the others are converted here.
            broke = self.temporary("m")
            before.append("    " * self.depth + f"{broke} = False")
            for edge in loop.breaks:
                edge.lines.append("    " * edge.depth + f"{broke} = both({broke}, {edge.mask})")
            rest = self.temporary("m")
            self.emit(f"{rest} = minus({self.mask}, {broke})")
            self.move(done, self.env, rest)
        for edge in loop.breaks:
            self.move(edge, self.env)
        self.pack_loop(loop, lines, before, after, own)
        self.lines.append(done.lines)
        if any(has(node, kind) for kind in FUNCTION_EXITS):
            self.emit(f"{self.mask} = minus({self.mask}, lanes_gone)")
        if loop.broke:
            before.append("    " * self.depth + f"{loop.broke} = False")
            return self._loop_else(node, loop)
        return True

    def pack_loop(
        self, loop: Loop, lines: Lines, before: Lines, after: Lines, own: tuple[str, ...]
    ) -> None:
        """Let the lanes that go on be packed, where the loop is arithmetic alone.  own: the names
        of a for loop's range and of what it gives."""
        numbers = {v for (_, kind), v in self.variables.items() if typing.is_number(kind)}
        others = set(self.variables.values()) - numbers
        found = plan(flattened(lines), numbers, others, {loop.mask, *own})
        if found is None:
            return
        packing = self.temporary("packing")
        state = ", ".join("(" + "".join(f"{n}, " for n in names) + ")" for names in found)
        names = "".join(f"{n}, " for part in found for n in part)
        indent = "    " * self.depth
        before.append(f"{indent}{packing} = Packing(rt)")
        loop.inside.append(f"{indent}    if {packing}.due({loop.mask}):")
        loop.inside.append(
            f"{indent}        {loop.mask}, {names}= {packing}.pack({loop.mask}, {state})"
        )
        if own:
            loop.inside.append(f"{indent}        {own[0]}.pack({packing})")
        after.append(f"{indent}{names or '_ '}= {packing}.unpack({state})")

    def _loop_else(self, node: ast.While | ast.For, loop: Loop) -> bool:
        """`else` of a loop: for the lanes that did not break."""
        rest, others = self.temporary("m"), self.temporary("m")
        self.emit(f"{rest} = minus({self.mask}, {loop.broke})")
        self.emit(f"{others} = minus({self.mask}, {rest})")
        before = dict(self.env)
        lines, edge = self.branch(rest, node.orelse, before)
        self.emit(f"if {rest} is not False:")
        self.lines.append(lines)
        other = Edge(before, [], self.depth, others)
        self.lines.append(other.lines)
        self.env = self.join([edge, other] if edge is not None else [other], node)
        self.emit(f"{self.mask} = both({rest}, {others})")
        return True

    def do_While(self, node: ast.While) -> bool:
        mask = self.temporary("m")
        self.emit(f"{mask} = {self.mask}")
        spin = self.temporary("spin")
        where = (self.source.name, node.lineno, self.source.line_text(node.lineno))
        self.emit(f"{spin} = Spin(rt, {where!r})")

        def test() -> None:
            condition = self.truth(self.expression(node.test), node.test)
            if not (condition.known and condition.const):
                left = self.temporary("m") if self.program.counted else "_"
                self.emit(f"{mask}, {left} = split({mask}, {condition.code})")
                self.branch_site(node, mask, left)
                self.emit(f"if {mask} is False: break")

        known = len(self.program.sites)
        lines, loop = self.loop(node, mask, test)
        ops = {site.op for site in self.program.sites[known:]}
        if self.program.specialised or ops & {"load", "atomic"}:
            self.program.waits = True
            in_test = any(isinstance(n, ast.Subscript) for n in ast.walk(node.test))
            self.program.polls |= in_test or "atomic" in ops
        indent = "    " * (self.depth + 1)
        if loop.again:
            lines.append(f"{indent}{mask} = both({mask}, {loop.again})")
        if may_leave_body(node):
            lines.append(f"{indent}if {mask} is False: break")
        counted = assigned_in(node) - idle_in(node)
        changed = {v for (n, _), v in self.variables.items() if n in counted}
        state = "".join(f"{name}, " for name in sorted(changed))
        tick = f"{spin}.tick(({state}{mask},))"
        if self.program.serial:  # let the other warps go on
            tick = f"if {tick}: yield ('spin', {spin}, {mask}, 0)"
        lines.append(f"{indent}{tick}")
        self.emit("while True:")
        return self.finish_loop(node, loop, lines)

    def do_For(self, node: ast.For) -> bool:
        if isinstance(node.iter, ast.Call):
            called = self.expression(node.iter.func).const
            if is_unroll(called):
                return self._unrolled(node, node.iter)
            if called is range:
                return self._over_range(node, node.iter)
        source = node.iter
        over = (
            literal_list(self, source)
            if isinstance(source, ast.List)
            else (self.expression(source))
        )
        items = iterate(self, over, node)
        bounds = self.number(node, 0), items.length, self.number(node, 1)
        private = frozenset(n for n in target_names(node.target)
                            if count_names(node, n) == self.occurrences[n])  # fmt: skip

        def assign(mask: str, value: str) -> None:
            self.local.append(private)
            self.assign_to(
                node.target, items.item(self, node, Val(value, typing.types.int64)), node
            )
            self.local.pop()

        return self._for(node, bounds, assign)

    def _over_range(self, node: ast.For, call: ast.Call) -> bool:
        if not isinstance(node.target, ast.Name):
            self.fail(UnsupportedError, node, "the loop over range() has one variable")
        if call.keywords:
            self.fail(TypingError, node, "range() takes one, two or three numbers")
        bounds = self.range_of(node, arguments_of(self, call))
        kind, name = bounds[0].type, node.target.id

        def assign(mask: str, value: str) -> None:
            variable = self.variable(name, kind)
            self.env[name] = Var(kind)
            private = count_names(node, name) == self.occurrences[name]
            code = value if private else f"assign({mask}, {value}, {variable}, m)"
            self.emit(f"{variable} = {code}")
            if name in self.tracked:
                lanes_set = self.assigned_mask(name)
                self.emit(f"{lanes_set} = both({lanes_set}, {mask})")

        return self._for(node, bounds, assign)

    def _for(
        self, node: ast.For, bounds: Sequence[Val], assign: Callable[[str, str], None]
    ) -> bool:
        """A loop over numbers; `assign` lowers what gets the loop variable its value."""
        mask, lanes = self.temporary("m"), self.temporary("lanes")
        where = self.where(node.iter)
        codes = ", ".join(b.code for b in bounds)
        self.emit(f"{lanes} = LaneRange({codes}, {self.mask}, {where})")
        value = self.temporary("value")

        def test() -> None:
            self.emit(f"{mask} = {lanes}.mask")
            self.branch_site(node, mask, f"{lanes}.left")
            assign(mask, value)

        lines, loop = self.loop(node, mask, test)
        indent = "    " * (self.depth + 1)
        if loop.again:
            lines.append(f"{indent}{mask} = both({mask}, {loop.again})")
        if may_leave_body(node):
            lines.append(f"{indent}{lanes}.mask = {mask}")
        self.emit(f"for {value} in {lanes}:")
        return self.finish_loop(node, loop, lines, lanes, value)

    def _unrolled(self, node: ast.For, call: ast.Call) -> bool:
        """for v in literal_unroll(t): the body once for each item of the tuple."""
        if len(call.args) != 1 or call.keywords:
            self.fail(TypingError, node, "literal_unroll takes one tuple")
        value = self.expression(call.args[0])
        if not isinstance(value.type, TupleType) and not isinstance(value.const, tuple):
            self.fail(
                TypingError, node, f"literal_unroll takes a tuple, not {describe(value.type)}"
            )
        items = self.items(self.held(value))
        number = (
            list(self.unrolled).index(id(node)) if id(node) in self.unrolled else len(self.unrolled)
        )
        if id(node) not in self.unrolled:
            take = ast.Assign([node.target], ast.Constant(0))
            own = set(self._suite_local([take, *node.body]))
            loop = self.unrolled[id(node)] = unrolled(node, number, len(items), own)
            new = {n for n in names(loop) if self.occurrences[n] == 0}
            self.occurrences.update(n for n in names(loop) if n in new)
            self.assigned |= assigned_in(loop)
            self.once |= {f"unroll__{number}_{k}" for k in range(len(items))}
            if isinstance(node.target, ast.Name):
                self.once |= {f"{node.target.id}__{k}" for k in range(len(items))}
        for k, item in enumerate(items):
            self.assign_name(f"unroll__{number}_{k}", item, node)
        return self.do_For(self.unrolled[id(node)])

    def range_of(self, node: ast.AST, args: list[Val]) -> list[Val]:
        """start, stop, step of range(*args), in the type of the loop variable."""
        if not 1 <= len(args) <= 3:
            self.fail(TypingError, node, "range() takes one, two or three numbers")
        args = [named.plain(value) for value in args]
        for value in args:
            if not typing.is_number(value.type) or isinstance(value.type, typing.types.Complex):
                self.fail(TypingError, node, f"range() takes integers, not {describe(value.type)}")
        # Numba cuts floats to integers here, silently.
        args = [
            self.cast(value, typing.types.int64, node) if typing.is_float(value.type) else value
            for value in args
        ]
        try:
            kind = typing.range_type(tuple(value.type for value in args))
        except typing.NoSignature:
            kind = typing.types.int64
        zero, one = self.number(node, 0), self.number(node, 1)
        full = {1: [zero, *args, one], 2: [*args, one], 3: args}[len(args)]
        return [self.cast(value, kind, node) for value in full]


def _local_memory(kind: Type | None) -> bool:
    """Whether a value of this type leads to local memory."""
    if isinstance(kind, TupleType):
        return any(_local_memory(item) for item in kind.items)
    return getattr(kind, "space", "") == "local"


def _nonempty(line: Any) -> bool:
    return any(_nonempty(part) for part in line) if isinstance(line, list) else True


def _ours(name: str) -> bool:
    """True for a learner's name that the generated source uses for something else."""
    from . import checks, ops, runtime

    stem = name.rstrip("0123456789")
    ours = "m_ t_ c_ v_ r_ view_ lanes_ value_ spin_ again_ packing_ broke_m_ assigned_".split()  # noqa: SIM905
    return (
        name in ("value_returned", "lanes_gone", "_") or stem in ours or bool(_CONSTANT.match(name))
        or any(hasattr(module, name) for module in (checks, ops, runtime))
    )  # fmt: skip


_STATEMENTS = {
    "Try": ("try", "Check the condition with if."),
    "With": ("with", ""),
    "AsyncFunctionDef": ("an async function", ""),
    "ClassDef": ("a class", ""),
    "Import": ("import", "Import at the top of the file."),
    "ImportFrom": ("import", "Import at the top of the file."),
    "Nonlocal": ("nonlocal", "Pass the value as an argument."),
    "Delete": ("del", ""),
}  # fmt: skip
