"""The steps of a loop that is arithmetic alone, from its generated source; see strips.py.

    tape = object_3.begin(rt)
    while True:
        m, _ = split(m, x < y)
        if m is False: break
        if tape.due(m):
            m, x, = tape.run(m, (x, ), (y, ))
            if m is False: break
        ...                                     # x changes, y is only read
        spin.tick(...)

A loop whose source has anything else in it has no tape, and goes on as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import strips
from .program import with_bodies
from .values import Mask, Value

ENDLESS = 1 << 40  # rounds; a range has an end
LEAST = 1024  # lanes; for fewer NumPy's calls cost as little
F, G, I = "F", "G", "I"  # noqa: E741 - the banks
BANKS = {
    np.dtype(np.float64): F, np.dtype(np.float32): G, np.dtype(np.int64): I,
    np.dtype(np.int32): I, np.dtype(np.bool_): I,
}  # fmt: skip
INT64, BOOL = np.dtype(np.int64), np.dtype(np.bool_)

ARITHMETIC = {ast.Add: "ADD", ast.Sub: "SUB", ast.Mult: "MUL"}
BITS = {ast.BitAnd: "AND", ast.BitOr: "OR", ast.BitXor: "XOR"}
#: operator -> (step, whether the operands change places)
COMPARISONS: dict[type[ast.cmpop], tuple[str, bool]] = {
    ast.Lt: ("LT", False), ast.LtE: ("LE", False), ast.Gt: ("LT", True), ast.GtE: ("LE", True),
    ast.Eq: ("EQ", False), ast.NotEq: ("NE", False),
}  # fmt: skip
CASTS = {(I, F): "I_TO_F", (I, G): "I_TO_G", (G, F): "G_TO_F", (F, G): "F_TO_G"}


class _OtherError(Exception):
    """Something that has no step."""


@dataclass(frozen=True)
class _Cell:
    """A register while the tape is made."""

    bank: str
    number: int
    dtype: np.dtype[Any]


_Found = Any  # _Cell, a tuple of them, None, or True or False for a mask


@dataclass
class Tape:
    """The steps of one loop.

    changed, kept: dtypes of the variables that it writes and of those that it only reads.
    constants: what registers hold from the start.
    segments, branches: numbers of what is counted in a counted program, by place in the steps.
    """

    steps: Any
    changed: list[np.dtype[Any]]
    kept: list[np.dtype[Any]]
    constants: list[tuple[str, int, Any]]
    sizes: dict[str, int]  # registers of each bank
    segments: list[int] = field(default_factory=list)
    branches: list[int] = field(default_factory=list)

    def begin(self, run: Any, spin: Any = None) -> Running:
        """For one time that the loop is run."""
        return Running(self, run, spin)


class Running:
    """A loop that runs."""

    def __init__(self, tape: Tape, run: Any, spin: Any) -> None:
        self._tape, self._run, self._spin = tape, run, spin
        shape = run.lanes if run.packing is None else run.packing.shape
        self._shape: tuple[int, int] = shape
        self._size = shape[0] * shape[1]
        self._fit = self._size >= LEAST
        if tape.segments or tape.branches:  # somebody counts: by warps of 32
            self._fit &= run.packing is None and shape[1] % strips.WARP == 0
            self._fit &= all(hasattr(observer, "rounds") for observer in run.observers)

    def due(self, m: Mask) -> bool:
        """Whether lanes have left the loop while others go on."""
        return self._fit and m is not True and m.size == self._size

    def run(self, m: Mask, changed: tuple[Value, ...], kept: tuple[Value, ...]) -> tuple[Any, ...]:
        """Run the loop for the lanes of m: the mask of those that are still in it, and what the
        others have found."""
        tape, run = self._tape, self._run
        states: dict[str, list[Any]] = {F: [], G: [], I: []}
        for value, dtype in zip((*changed, *kept), (*tape.changed, *tape.kept), strict=True):
            states[BANKS[dtype]].append(0 if value is None else value)
        kinds = {F: np.float64, G: np.float32, I: np.int64}
        state = {}
        for bank, values in states.items():
            state[bank] = np.empty((len(values), *self._shape), kinds[bank])
            for row, value in zip(state[bank], values, strict=True):
                row[...] = value
        mask = np.empty(self._shape, np.int64)
        mask[...] = m
        banks = strips.registers(*(tape.sizes[bank] for bank in (F, G, I)))
        for bank, number, constant in tape.constants:
            banks["FGI".index(bank)][number] = constant
        written = np.array([sum(BANKS[d] == bank for d in tape.changed) for bank in (F, G, I)])
        counted = bool(tape.segments or tape.branches)
        segments = np.zeros((len(tape.segments), 2), np.int64)
        branches = np.zeros((len(tape.branches), 4), np.int64)
        sizes = np.array([len(run.program.segments[k]) for k in tape.segments], np.int64)
        slots = np.zeros(-(-self._size // strips.WARP), np.int64)
        done = strips.run(
            tape.steps, strips.ROUNDS if self._spin else ENDLESS, not counted, mask.reshape(-1),
            *(part.reshape(part.shape[0], self._size) for part in state.values()),
            written, *banks, segments, branches, sizes, slots,
        )  # fmt: skip
        if counted:
            for observer in run.observers:
                observer.rounds(run, zip(tape.segments, segments, strict=True),
                                zip(tape.branches, branches, strict=True),
                                slots.reshape(self._shape[0], -1))  # fmt: skip
        if self._spin is not None and not done:
            self._spin.look()
        rows = {bank: iter(part) for bank, part in state.items()}
        found = [next(rows[BANKS[dtype]]).astype(dtype, copy=False) for dtype in tape.changed]
        return (False if done else mask.astype(np.bool_), *found)


@dataclass(frozen=True)
class Over:
    """The range of a `for`: the generated names of the range and of its number; its step > 0."""

    lanes: str
    value: str
    dtype: np.dtype[Any]
    step: int


def record(
    lines: Iterable[str], mask: str, changed: Mapping[str, Any], kept: Mapping[str, Any],
    constants: Mapping[str, Any], over: Over | None = None,
) -> Tape | None:  # fmt: skip
    """The tape of a loop's lines; `pass` stands between its test and its body.  None where it does
    more than there are steps for.

    mask: the name of its mask; changed, kept: the dtypes of its variables, by generated name.
    over: of a `for`, whose value is among the changed ones and whose end is among the kept ones.
    """
    text = "\n".join(with_bodies(list(lines)))
    indent = len(text) - len(text.lstrip())
    tree = ast.parse("\n".join(line[indent:] for line in text.split("\n")))
    middle = next(k for k, node in enumerate(tree.body) if isinstance(node, ast.Pass))
    try:
        recorder = _Recorder(mask, {**changed, **kept}, constants)
        # Masks that each round starts with, such as that of the lanes that `continue`.
        fixed = {
            node.targets[0].id: node.value.value for node in tree.body[:middle]
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Constant)
        }  # fmt: skip
        recorder.part(tree.body[middle + 1 :], fixed)
        if over is not None:
            fixed = recorder.following(over)
        recorder.part(tree.body[:middle], fixed)
    except _OtherError:
        return None
    return recorder.tape(list(changed.values()), list(kept.values()))


class _Recorder:
    """Follows the generated source once and writes down the steps."""

    def __init__(
        self, mask: str, variables: Mapping[str, Any], constants: Mapping[str, Any]
    ) -> None:
        self._constants = constants
        self._steps: list[list[Any]] = []
        self._next = {F: 0, G: 0, I: 0}
        self._fixed: list[tuple[str, int, Any]] = []
        self._known: dict[Any, _Cell] = {}  # constants and results that are there already
        self._segments: list[int] = []
        self._branches: list[int] = []
        self._homes: dict[str, _Cell] = {}
        for name, dtype in variables.items():
            if dtype not in BANKS:
                raise _OtherError
            self._homes[name] = self._cell(dtype)
        self._mask = mask
        self._homes[mask] = self._cell(BOOL)
        self._names: dict[str, _Found] = {}

    def tape(self, changed: list[Any], kept: list[Any]) -> Tape:
        lasting = {(c.bank, c.number) for c in self._homes.values()}
        lasting |= {(bank, number) for bank, number, _ in self._fixed}
        steps, places, sizes = _fewest(self._steps, lasting)
        fixed = [(bank, places[bank, number], value) for bank, number, value in self._fixed]
        return Tape(steps, changed, kept, fixed, sizes, self._segments, self._branches)

    def following(self, over: Over) -> dict[str, _Found]:
        """What a range gives next."""
        at, end, mask = (self._homes[n] for n in (over.value, f"{over.lanes}.stop", self._mask))
        if at.bank != I or end.bank != I:
            raise _OtherError
        value = self._result("ADD_I", at.dtype, at, self._constant(np.int64(over.step)))
        inside = self._result("LT_I", BOOL, value, end)
        return {
            over.value: value,
            f"{over.lanes}.mask": self._result("AND", BOOL, mask, inside),
            f"{over.lanes}.left": self._result("AND_NOT", BOOL, mask, inside),
        }

    def part(self, body: list[ast.stmt], names: Mapping[str, Any]) -> None:
        """The loop's body, or its test; each starts with the variables in their homes."""
        self._names = {**self._homes, **names}
        self._suite(body)
        for name in self._names:
            if name.endswith(".mask"):  # of a range: who goes on
                self._names[self._mask] = self._names[name]
        moves = []
        for name, home in self._homes.items():
            found = self._lanes(self._names[name]) if name == self._mask else self._names[name]
            if not isinstance(found, _Cell) or found.dtype != home.dtype:
                raise _OtherError
            if found.number != home.number:
                moves.append((home, found))
        taken = {(home.bank, home.number) for home, _ in moves}
        for k, (home, found) in enumerate(moves):
            if (found.bank, found.number) in taken:  # a home that is written, too
                moves[k] = home, self._cell(found.dtype)
                self._step(f"MOVE_{home.bank}", moves[k][1], found)
        for home, found in moves:
            self._step(f"MOVE_{home.bank}", home, found)
        # The homes hold something else now.
        self._known = {key: cell for key, cell in self._known.items() if key[0] == "constant"}

    def _suite(self, body: list[ast.stmt]) -> None:
        for node in body:
            self._statement(node)

    # -- statements --------------------------------------------------------------

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.If(test=ast.Compare(left=ast.Name(), ops=[ast.IsNot()],
                                         comparators=[ast.Constant(value=False)])):  # fmt: skip
                self._suite(node.body)  # without lanes it changes nothing
            case ast.If(test=ast.Compare(left=ast.Name(id=name), ops=[ast.Is()]),
                        body=[ast.Break()]) if name == self._mask:  # fmt: skip
                pass  # strips look at the mask themselves
            case ast.Pass():
                pass
            case ast.Assign(targets=[ast.Name(id=name)]):
                self._names[name] = self._value(node.value)
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=of), attr="mask")]):
                self._names[f"{of}.mask"] = self._value(node.value)
            case ast.Assign(targets=[ast.Tuple(elts=[ast.Name(id=yes), ast.Name(id=no)])],
                            value=ast.Call(func=ast.Name(id="split"), args=[m, c])):  # fmt: skip
                mask, condition = self._lanes(self._value(m)), self._lanes(self._value(c))
                self._names[yes] = self._result("AND", BOOL, mask, condition)
                self._names[no] = self._result("AND_NOT", BOOL, mask, condition)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(), attr=what),
                                         args=args)):  # fmt: skip
                self._told(what, args)
            case _:
                raise _OtherError

    def _told(self, what: str, args: list[ast.expr]) -> None:
        """What only observers hear."""
        if what == "tick":
            return
        number = args[0].value if args and isinstance(args[0], ast.Constant) else None
        if what not in ("segment", "branch") or not isinstance(number, int):
            raise _OtherError
        masks = [self._lanes(self._value(a)) for a in args[1:]]
        kept = self._segments if what == "segment" else self._branches
        kept.append(number)
        op = "SEGMENT" if what == "segment" else "BRANCH"
        self._steps.append([op, len(kept) - 1, *(m.number for m in masks), 0, 0][:5])

    # -- values ------------------------------------------------------------------

    def _value(self, node: ast.expr) -> _Found:
        match node:
            case ast.Constant(value=bool(truth)):
                return truth
            case ast.Constant(value=None):
                return None
            case ast.Name(id=name):
                return self._name(name)
            case ast.Tuple(elts=items):
                return tuple(self._value(item) for item in items)
            case ast.Attribute(value=ast.Name(id=of), attr=("mask" | "left") as attr):
                return self._name(f"{of}.{attr}")
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(k))):
                found = self._names.get(name)
                if isinstance(found, tuple):
                    return found[k]
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(type(op), self._number(left), self._number(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
                return self._compared(type(op), self._number(left), self._number(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                x = self._number(operand)
                if x.bank != I:
                    return self._result(f"NEG_{x.bank}", x.dtype, x)
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                x = self._number(operand)
                if x.dtype == BOOL:
                    return self._result("AND_NOT", BOOL, self._lanes(True), x)
            case ast.Call(func=ast.Attribute(value=of, attr="astype"),
                          args=[ast.Attribute(value=ast.Name(id="np"), attr=kind)]):  # fmt: skip
                return self._cast(self._number(of), np.dtype(kind))
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._call(name, args)
        raise _OtherError

    def _name(self, name: str) -> _Found:
        if name in self._names:
            return self._names[name]
        constant = self._constants.get(name)
        if isinstance(constant, np.generic) and constant.dtype in BANKS:
            return self._constant(constant)
        raise _OtherError

    def _call(self, name: str, args: list[ast.expr]) -> _Found:
        if name == "assign":
            m, new, old = (self._value(a) for a in args[:3])
            if isinstance(new, tuple) or isinstance(old, tuple):
                raise _OtherError
            return new if m is True or old is None else self._select(m, new, old)
        if name == "select":
            return self._select(*(self._value(a) for a in args))
        if name in ("both", "minus"):
            a, b = (self._lanes(self._value(arg)) for arg in args)
            return self._result("OR" if name == "both" else "AND_NOT", BOOL, a, b)
        raise _OtherError

    def _number(self, node: ast.expr) -> _Cell:
        found = self._value(node)
        if not isinstance(found, _Cell):
            raise _OtherError
        return found

    def _lanes(self, found: _Found) -> _Cell:
        """A mask as a register."""
        if isinstance(found, bool):
            return self._constant(np.bool_(found))
        if not isinstance(found, _Cell) or found.dtype != BOOL:
            raise _OtherError
        return found

    def _select(self, m: _Found, new: _Found, old: _Found) -> _Cell:
        if not isinstance(new, _Cell) or not isinstance(old, _Cell) or new.dtype != old.dtype:
            raise _OtherError
        return self._result(f"SELECT_{new.bank}", new.dtype, new, old, self._lanes(m))

    def _binary(self, op: type[ast.operator], a: _Cell, b: _Cell) -> _Cell:
        if a.dtype != b.dtype:
            raise _OtherError
        if op in BITS and a.bank == I:
            return self._result(BITS[op], a.dtype, a, b)
        if a.dtype == BOOL:
            raise _OtherError
        if op in ARITHMETIC:
            return self._cut(self._result(f"{ARITHMETIC[op]}_{a.bank}", a.dtype, a, b))
        if op is ast.Div and a.bank != I:
            return self._result(f"DIV_{a.bank}", a.dtype, a, b)
        if op in (ast.FloorDiv, ast.Mod) and a.bank == I:
            by = next((c for bank, n, c in self._fixed if (bank, n) == (I, b.number)), 0)
            if by > 0:
                step = "FLOOR_I" if op is ast.FloorDiv else "REST_I"
                return self._result(step, a.dtype, a, b)
        raise _OtherError

    def _compared(self, op: type[ast.cmpop], a: _Cell, b: _Cell) -> _Cell:
        if a.dtype != b.dtype:
            raise _OtherError
        step, other_way = COMPARISONS[op]
        if other_way:
            a, b = b, a
        return self._result(f"{step}_{a.bank}", BOOL, a, b)

    def _cast(self, x: _Cell, dtype: np.dtype[Any]) -> _Cell:
        if dtype not in BANKS or dtype == BOOL or (BANKS[dtype] == I and x.bank != I):
            raise _OtherError
        if BANKS[dtype] != x.bank:
            return self._result(CASTS[x.bank, BANKS[dtype]], dtype, x)
        narrower = dtype.itemsize < x.dtype.itemsize
        there = _Cell(x.bank, x.number, dtype)
        return self._cut(there) if narrower else there

    def _cut(self, x: _Cell) -> _Cell:
        """An integer as narrow as its type."""
        if x.bank != I or x.dtype == INT64:
            return x
        found = self._cell(x.dtype)
        bits = 64 - 8 * x.dtype.itemsize
        self._steps.append(["CUT", found.number, x.number, 0, bits])
        return found

    # -- registers ---------------------------------------------------------------

    def _cell(self, dtype: np.dtype[Any]) -> _Cell:
        bank = BANKS[dtype]
        self._next[bank] += 1
        return _Cell(bank, self._next[bank] - 1, dtype)

    def _constant(self, value: Any) -> _Cell:
        key = "constant", value.dtype, value.tobytes()
        if key not in self._known:
            cell = self._known[key] = self._cell(value.dtype)
            self._fixed.append((cell.bank, cell.number, value))
        return self._known[key]

    def _step(self, op: str, to: _Cell, *cells: _Cell) -> None:
        numbers = [cell.number for cell in cells]
        self._steps.append([op, to.number, *numbers, *[0] * (3 - len(numbers))])

    def _result(self, op: str, dtype: np.dtype[Any], *cells: _Cell) -> _Cell:
        """The register of a step's result; one that is there already where nothing else is new."""
        key = "result", op, dtype, *(cell.number for cell in cells)
        if key not in self._known:
            found = self._cell(dtype)
            self._step(op, found, *cells)
            self._known[key] = found
        return self._known[key]


def _banks(name: str) -> tuple[str, str]:
    """The banks of what a step reads, and that of its result, "" for none."""
    stem, _, bank = name.rpartition("_")
    if name in ("SEGMENT", "BRANCH"):
        return "II"[: 1 + (name == "BRANCH")], ""
    if "_TO_" in name:
        return name[0], bank
    if name in ("AND", "OR", "XOR", "AND_NOT"):
        return "II", I
    if name == "CUT":
        return I, I
    if stem == "SELECT":
        return f"{bank}{bank}I", bank
    reads = bank if stem in ("MOVE", "NEG") else 2 * bank
    return reads, I if stem in ("LT", "LE", "EQ", "NE") else bank


def _fewest(
    steps: list[list[Any]], lasting: set[tuple[str, int]]
) -> tuple[Any, dict[tuple[str, int], int], dict[str, int]]:
    """The steps that are needed, in as few registers as will do, so that they stay in the cache;
    the new numbers of `lasting` ones, which keep what they hold; and the registers of each bank."""
    wanted = set(lasting)
    kept = []
    for step in reversed(steps):
        reads, bank = _banks(step[0])
        if bank and (bank, step[1]) not in wanted:
            continue
        sources = [(b, n) for b, n in zip(reads, step[2:], strict=False)]
        wanted.update(sources)
        kept.append((step, sources, bank))
    kept.reverse()
    last = {cell: k for k, (_, sources, _) in enumerate(kept) for cell in sources}
    places: dict[tuple[str, int], int] = {}
    sizes = dict.fromkeys((F, G, I), 0)
    for bank, number in sorted(lasting):
        places[bank, number] = sizes[bank]
        sizes[bank] += 1
    free: dict[str, list[int]] = {F: [], G: [], I: []}
    found = []
    for k, (step, sources, bank) in enumerate(kept):
        numbers = [places[cell] for cell in sources]
        to = step[1]
        if bank:
            if (bank, to) not in places:
                if free[bank]:
                    places[bank, to] = free[bank].pop()
                else:
                    places[bank, to] = sizes[bank]
                    sizes[bank] += 1
            to = places[bank, to]
        # Afterwards: a step never writes what it reads, which would be slow.
        for cell in set(sources) - lasting:
            if last[cell] == k:
                free[cell[0]].append(places[cell])
        found.append([getattr(strips, step[0]), to, *numbers, *step[2 + len(numbers) :]])
    sizes = {bank: max(1, count) for bank, count in sizes.items()}
    return np.array(found, np.int64).reshape(-1, 5), places, sizes
