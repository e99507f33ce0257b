"""Random input for the front end: functions from a grammar wider than the language of kernels,
kernels with a part exchanged, and broken text.  Out comes a result or an error of ours."""

from __future__ import annotations

import ast
import contextlib
import copy
import io
import linecache
import math
import random
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from warpwise.observe import profile, sanitize
from warpwise.simt import Kernel, SimtError, SourceError
from warpwise.simt import api as cuda

HEADER = """import math
import numpy as np
from numba import cuda, float32, float64, int8, int32, int64, uint8, uint64, complex64
@cuda.jit(device=True)
def dev(p, q=3):
    return p + q
"""
WORDS = [
    "i", "x", "out", "n", "p", "q", "t", "cuda", "math", "np", "dev", "range", "len", "min", "abs",
    "int", "float", "print", "zip", "enumerate", "round", "sum", "str", "k", "undefined", "int32",
    "float32", "complex64", "uint64", "True", "False", "None", "...", "cuda.grid",
    "cuda.threadIdx", "cuda.blockDim.x", "cuda.shared", "x.shape", "x.T", "x.size", "math.pi",
]  # fmt: skip
LITERALS = [
    "0", "1", "-1", "7", "3.5", "1e400", "2**70", "1j", "'s'", "b'b'", "''", "10**100",
    "0xffffffff", "1_000", "-0.0", "float('nan')", "f'{i}'", "()", "(1,)", "[]", "{}",
]  # fmt: skip
OPERATORS = [
    "+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", "@", "and", "or", "<", "<=",
    ">", ">=", "==", "!=", "is", "in", "not in", "is not",
]  # fmt: skip
CALLS = [
    "cuda.grid({a})", "cuda.gridsize({a})", "cuda.shared.array({a}, {b})", "len({a})",
    "cuda.local.array({a}, {b})", "cuda.shared.array(4, float32)", "cuda.syncthreads()",
    "cuda.shared.array(shape=(2, 2), dtype=int32)", "cuda.local.array(3, int32)", "dev({a})",
    "cuda.atomic.add({a}, {b}, {c})", "cuda.atomic.max(x, {a}, {b})", "cuda.syncwarp({a})",
    "cuda.atomic.cas({a}, {b}, {c}, {a})", "cuda.shfl_sync({a}, {b}, {c})", "dev({a}, {b})",
    "cuda.ballot_sync({a}, {b})", "cuda.const.array_like({a})", "cuda.syncthreads_count({a})",
    "cuda.match_any_sync({a}, {b})", "cuda.popc({a})", "cuda.fma({a}, {b}, {c})", "abs({a})",
    "cuda.selp({a}, {b}, {c})", "min({a}, {b})", "max({a})", "round({a}, {b})", "range({a})",
    "int({a})", "float({a})", "bool({a})", "complex({a}, {b})", "divmod({a}, {b})",
    "pow({a}, {b})", "float32({a})", "int8({a})", "math.sqrt({a})", "math.floor({a})",
    "math.pow({a}, {b})", "math.hypot({a}, {b})", "math.ldexp({a}, {b})", "math.frexp({a})",
    "np.sqrt({a})", "np.zeros({a})", "np.add({a}, {b})", "np.float32({a})", "np.sum({a})",
    "dev(*{a})", "dev(p={a})", "dev(q={a}, p={b})", "dev()", "dev({a}, {b}, {c})", "k({a})",
    "x.sum()", "x.reshape({a})", "x.copy()", "({a}).real", "({a}).foo", "({a})({b})",
    "cuda.cg.this_grid().sync()", "cuda.threadfence()", "cuda.nanosleep({a})", "str({a})",
    "isinstance({a}, {b})", "print({a}, {b})", "sorted({a})", "any({a})", "type({a})",
    "cuda.{w}({a}, {b})", "cuda.atomic.{w}({a}, {b}, {c})", "math.{w}({a})", "np.{w}({a})",
]  # fmt: skip
SHAPES = [
    "({a} {o} {b})", "({a} {o} {b})", "(-{a})", "(~{a})", "(not {a})", "({a} if {b} else {c})",
    "{a}[{b}]", "x[{a}]", "x[{a}:{b}]", "x[::{a}]", "out[{a}, {b}]", "x[{a}, ...]", "x[None]",
    "({a}, {b})", "({a}, {b}, *{c})", "[{a}, {b}]", "[{a} for p in {b}]", "{{{a}: {b}}}",
    "{{{a}}}", "(lambda p: {a})({b})", "(lambda: {a})", "(t := {a})", "({a} < {b} < {c})",
    "(yield {a})", "({a} for p in {b})", "f'{{{a}}}'", "{a}.{w}", "(await {a})",
]  # fmt: skip
STATEMENTS = [
    "{t} = {a}", "{t} = {a}", "{t} {o}= {a}", "out[{a}] = {b}", "out[i] = {a}", "{t}: int = {a}",
    "{t}, {t} = {a}", "{t} = {t} = {a}", "({t}, ({t}, {t})) = {a}", "*{t}, {t} = {a}", "return",
    "return {a}", "break", "continue", "pass", "assert {a}", "assert {a}, {b}", "raise {a}",
    "raise ValueError({a})", "del {t}", "global {t}", "nonlocal {t}", "{a}", "import math",
    "from math import {t}", "x.{t} = {a}", "x[{a}:{b}] = {c}", "x[...] = {a}", "out += {a}",
    "type {t} = int", "{t}: int",
]  # fmt: skip
BLOCKS = [
    "if {a}:", "if {a}:", "while {a}:", "for {t} in range({a}):", "for {t} in {a}:",
    "for {t}, {t} in enumerate({a}):", "for {t}, {t} in zip({a}, {b}):", "with {a}:", "try:",
    "with {a} as {t}:", "def {t}({t}):", "class {t}:", "async def {t}():", "match {a}:",
]  # fmt: skip
HEADS = ["out, x, n=3", "out, *x", "out, x, /, n", "*, out", "out, x: int, n", "out, x, n, **q"]
DECORATORS = ["@cuda.jit()", "@cuda.jit('void(f4[:])')", "@cuda.jit(debug=True)", "", "@dev"]
TARGETS = ["p", "q", "t", "i", "x", "n", "out", "m", "v_1", "lanes_gone", "rt", "cuda"]


class Grammar:
    """Draws functions that are Python most of the time, and kernels some of the time."""

    def __init__(self, r: random.Random) -> None:
        self.r = r
        self.names = [n for m in (cuda, math, np) for n in dir(m) if not n.startswith("_")]

    def fill(self, form: str, depth: int) -> str:
        r = self.r
        return form.format(
            a=self.expression(depth + 1), b=self.expression(depth + 1), o=r.choice(OPERATORS),
            c=self.expression(depth + 1), t=r.choice(TARGETS), w=r.choice(self.names),
        )  # fmt: skip

    def expression(self, depth: int = 0) -> str:
        draw = self.r.random()
        if depth > 2 or draw < 0.35:
            return self.r.choice(WORDS + LITERALS if draw < 0.2 else ["i", "n", "x[i]", "p", "3"])
        return self.fill(self.r.choice(SHAPES + CALLS), depth)

    def suite(self, indent: int, depth: int = 0) -> list[str]:
        lines = []
        for _ in range(self.r.randint(1, 3)):
            space = "    " * indent
            if depth < 2 and self.r.random() < 0.3:
                head = self.fill(self.r.choice(BLOCKS), 0)
                lines.append(space + head)
                if head.startswith("match"):
                    lines += [f"{space}    case 1:", *self.suite(indent + 2, depth + 1)]
                else:
                    lines += self.suite(indent + 1, depth + 1)
                if head == "try:":
                    lines += [f"{space}except ValueError:", *self.suite(indent + 1, depth + 1)]
                elif self.r.random() < 0.2 and head.split()[0] in ("if", "for", "while"):
                    lines += [f"{space}else:", *self.suite(indent + 1, depth + 1)]
            else:
                lines.append(space + self.fill(self.r.choice(STATEMENTS), 0))
        return lines

    def text(self) -> str:
        head = self.r.choice(HEADS) if self.r.random() < 0.4 else "out, x, n"
        start = "" if self.r.random() < 0.1 else "    i = cuda.grid(1)\n    p = q = 1\n"
        lines = "\n".join(self.suite(1))
        decorator = self.r.choice(DECORATORS) if self.r.random() < 0.4 else "@cuda.jit"
        return f"{HEADER}{decorator}\ndef k({head}):\n{start}{lines}\n"


def exchanged(text: str, r: random.Random, grammar: Grammar) -> str:
    """A text with some expressions replaced, or statements moved, doubled or taken away."""
    tree = ast.parse(text)
    for _ in range(r.randint(1, 3)):
        owners = [(n, f, v) for n in ast.walk(tree) for f, v in ast.iter_fields(n)]
        suites = [v for _, f, v in owners if f == "body" and isinstance(v, list) and v]
        places = [(n, f) for n, f, v in owners if isinstance(v, ast.expr) and f not in ("func",)]
        draw = r.random()
        if not places or not suites:
            break
        if draw < 0.6:
            node, name = r.choice(places)
            try:
                new: Any = ast.parse(grammar.expression(1), mode="eval").body
            except SyntaxError:
                continue
            setattr(node, name, new)
        elif draw < 0.75:
            suite = r.choice(suites)
            suite.insert(r.randrange(len(suite)), copy.deepcopy(r.choice(r.choice(suites))))
        elif draw < 0.9:
            suite = r.choice(suites)
            if len(suite) > 1:
                del suite[r.randrange(len(suite))]
        else:
            node, name = r.choice(places)
            setattr(node, name, copy.deepcopy(getattr(*r.choice(places))))
    try:
        return ast.unparse(ast.fix_missing_locations(tree))
    except (ValueError, AttributeError, TypeError, RecursionError):
        return text  # not a tree that a text could have


ODD = ["\x00", "\t", "\r", "\ufeff", "é", "λ", "\u202e", "(", ")", ":", "\\", "'", '"""', "\n", " ",
       "0x", "1e", "#", "@", "🙂", "\x1a", "\ud800"]  # fmt: skip


def broken(text: str, r: random.Random) -> str:
    """A text with characters changed, lines cut, odd spaces, zeros and marks."""
    letters = list(text)
    for _ in range(r.randint(1, 6)):
        at = r.randrange(len(letters))
        odd = r.choice(ODD)
        letters[at : at + r.choice([0, 1, 20])] = odd
    return "".join(letters)


def inputs() -> list[Any]:
    rng = np.random.default_rng(5)
    return [np.zeros(40, np.float32), rng.uniform(-3, 3, 40).astype(np.float32), 5]


def ways(text: str) -> dict[str, Callable[[], Any]]:
    """Everything that a learner may do with the text of a kernel `k`."""
    constants = {"np": np}

    def from_text() -> Kernel:
        return Kernel.from_source(text, "k", constants)

    return {
        "launch": lambda: from_text()[2, 20](*inputs()),
        "warp by warp": lambda: from_text().run(2, 20, inputs(), order="warp-serial", seed=1),
        "profile": lambda: profile(from_text()[2, 20], *inputs()),
        "sanitize": lambda: sanitize(from_text()[2, 20], *inputs()),
        "decorate": lambda: decorated(text)[2, 20](*inputs()),
    }


def decorated(text: str) -> Kernel:
    """The kernel as a function under the decorator.  Errors of Python's own are the learner's."""
    name = "<fuzz>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope: dict[str, Any] = {"cuda": cuda}
    try:
        tree = ast.parse(text)
        tree.body = [n for n in tree.body if not (isinstance(n, ast.ImportFrom) and "cuda" in
                                                  [a.name for a in n.names])]  # fmt: skip
        code = compile(tree, name, "exec")
    except (SyntaxError, ValueError, RecursionError) as error:
        raise SourceError(str(error)) from None
    for kind in ("float32", "float64", "int8", "int32", "int64", "uint8", "uint64", "complex64"):
        scope[kind] = getattr(__import__("numba"), kind)
    try:
        exec(code, scope)
    except SimtError:
        raise
    except Exception as error:
        # Attributes and defaults are evaluated by Python; only what `jit` itself does is ours.
        if any(frame.name == "jit" for frame in traceback.extract_tb(error.__traceback__)):
            raise
        raise SourceError(f"Python itself refuses: {error}") from None
    kernel = scope.get("k")
    if not isinstance(kernel, Kernel):
        raise SourceError("no kernel")
    return kernel


class TooLong(BaseException):
    """The time is over."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Ends what takes too long."""

    def ring(number: int, frame: Any) -> None:
        raise TooLong

    old = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def fault(text: str, seconds: float = 10) -> str:
    """What goes wrong with a text that must not; empty when all is as promised."""
    for name, way in ways(text).items():
        try:
            with limited(seconds), warnings.catch_warnings(), _quiet():
                warnings.simplefilter("ignore")
                way()
        except SimtError as error:
            said = str(error)
            if not said.strip() or "simulator itself failed" in said or "Traceback" in said:
                return f"{name}: {said!r} from {error.__cause__!r}"
        except TooLong:
            if "while" not in text and "for" not in text:
                return f"{name}: never ends"
            return ""  # a loop of the kernel that never ends
        except Exception as error:
            return f"{name}: {type(error).__name__}: {error}"
    return ""


def _quiet() -> Any:
    return contextlib.redirect_stdout(io.StringIO())
