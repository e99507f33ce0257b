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
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from . import assignments, branches, exits, lints, loops, ranges
from .closures import closure_of
from .errors import SimtError, TypingError, UnsupportedError
from .expressions import Expressions
from .flow import Env, Loop, Probe
from .frozen import FrozenScope
from .functions import UnresolvedError
from .lowering import Again, UnassignedError
from .names import assigned_in, may_leave, names, returns_early, targets
from .program import Lines, Program, Val, Var, describe, same_type
from .source import Source
from .typing import STATIC, RecordType, Type


class Function(Expressions):
    """Lowers one function for one set of argument types."""

    def __init__(
        self, program: Program, source: Source, scope: FrozenScope, *, kernel: bool,
        result: Type | None = None, captured: Sequence[str] = (), home: Expressions | None = None,
        probing: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(program, source, scope, captured)
        program.sources.setdefault(source.name, source)
        self.is_kernel = kernel
        self.home = home
        self.probe = Probe() if probing else None
        self.result = result  # the unified type of the returns, once known
        self.returns_early = returns_early(source.tree)

    def lower(self, name: str, arguments: list[Val]) -> Type | None:
        """Generate `def name(rt, m, ...)`; returns the type of its result."""
        while True:
            try:
                return self._lower(name, arguments)
            except Again:
                self.start()

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
        if self.probe:
            return self._probed(node, self.probe)
        mask, depth, segment, lines = self.mask, self.depth, self.segment, self.lines
        written = len(lines)
        try:
            return self._statement(node)
        except UnassignedError as error:
            read, name = error.node, error.node.id
            if error.mask != mask:  # in one side of an `and`, or in the head of a loop
                self.fail(
                    TypingError, read, f"{name} is read before anything is assigned to it",
                    f"Give {name} a value first, on every path that leads here.",
                )  # fmt: skip
        # Whoever comes here stops, as at a raise; what was written of the statement is dropped.
        self.mask, self.depth, self.segment, self.lines = mask, depth, segment, lines
        del lines[written:]
        site = self.site(read, name, "read")
        self.emit(f"bound(rt, None, False, {mask}, {name!r}, {site})")
        self.emit(f"{mask} = False")
        return False

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
        lower = STATEMENTS.get(type(node))
        if lower is None:
            name, instead = _REFUSED.get(type(node).__name__, (type(node).__name__, ""))
            self.fail(UnsupportedError, node, f"{name} cannot be used in a kernel", instead)
        return lower(self, node) is not False


def _lower_def(fl: Function, node: ast.FunctionDef) -> None:
    assignments.assign_name(fl, node.name, closure_of(fl, node), node)


def _lower_pass(fl: Function, node: ast.Pass) -> None: ...


def _lower_expression(fl: Function, node: ast.Expr) -> None:
    if isinstance(node.value, ast.Constant):
        return  # a docstring
    value = fl.expression(node.value)
    if value.static:
        lints.not_called(fl, node, value)
    elif not value.code.isidentifier():
        fl.emit(value.code)


def _lower_global(fl: Function, node: ast.Global) -> None:
    """`global x` says nothing new about a name that is read only."""
    for name in node.names:
        if name in fl.assigned:
            fl.fail(UnsupportedError, node, f"a kernel cannot change the global {name}",
                    "Store into an array that is passed as an argument.")  # fmt: skip


#: What lowers each statement; False from it says that no lane goes on after it.
STATEMENTS: dict[type[ast.stmt], Callable[[Function, Any], bool | None]] = {
    ast.FunctionDef: _lower_def,
    ast.Pass: _lower_pass,
    ast.Expr: _lower_expression,
    ast.Global: _lower_global,
    ast.Assign: assignments.lower_assign,
    ast.AnnAssign: assignments.lower_annotated,
    ast.AugAssign: assignments.lower_augmented,
    ast.If: branches.lower_if,
    ast.Match: branches.lower_match,
    ast.Raise: branches.lower_raise,
    ast.Assert: branches.lower_assert,
    ast.Break: exits.lower_break,
    ast.Continue: exits.lower_continue,
    ast.Return: exits.lower_return,
    ast.While: loops.lower_while,
    ast.For: ranges.lower_for,
}
_REFUSED = {
    "Try": ("try", "Check the condition with if."),
    "With": ("with", ""),
    "AsyncFunctionDef": ("an async function", ""),
    "ClassDef": ("a class", ""),
    "Import": ("import", "Import at the top of the file."),
    "ImportFrom": ("import", "Import at the top of the file."),
    "Nonlocal": ("nonlocal", "Pass the value as an argument."),
    "Delete": ("del", ""),
}  # fmt: skip  # fmt: skip
