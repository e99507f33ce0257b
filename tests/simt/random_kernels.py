"""A generator of small well-typed kernels, and an independent executor for them.

The reference runs the same body one thread at a time under `numba.njit`: compiled code with Numba's
own types, no code shared with the simulator.  Kernels use integers of several widths, float32 and
float64, nested control flow with break, continue and return, tuples, and array reads and writes.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

PARAMETERS = "out_i, out_f, a, b, c, d, n, x"
SIZE = 48  # threads; one and a half warps


class Writer:
    """Writes one kernel.  Every choice comes from the seed."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.lines: list[str] = []
        self.kinds = {"i": "int", "n": "int", "x": "float"}
        self.loops = 0
        self.depth = 0

    def add(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def integer(self, depth: int = 0) -> str:
        r = self.r
        names = [k for k, v in self.kinds.items() if v == "int"]
        if depth > 2 or r.random() < 0.3:
            return r.choice([*names, *names, str(r.randint(-7, 9)), "a[i]", "b[i]"])
        a, b = self.integer(depth + 1), self.integer(depth + 1)
        form = r.choice([
            "({a} + {b})", "({a} - {b})", "({a} * {b})", "({a} // {b})", "({a} % {b})",
            "({a} & {b})", "({a} | {b})", "({a} ^ {b})", "(-{a})", "(~{a})", "abs({a})",
            "min({a}, {b})", "max({a}, {b})", "({a} << ({b} & 7))", "({a} >> ({b} & 7))",
            "({a} if {cond} else {b})", "int32(i * 7 - 90)", "uint8(i * 9)",
            "int16(a[({a}) % SIZE] * 5)", "a[({a}) % SIZE]",
            "b[({a}) % SIZE]", "(({a}) ** (({b}) & 3))", "a.shape[0]", "len(b)",
        ])  # fmt: skip
        return form.format(a=a, b=b, cond=self.condition(depth + 1))

    def floating(self, depth: int = 0) -> str:
        r = self.r
        names = [k for k, v in self.kinds.items() if v == "float"]
        if depth > 2 or r.random() < 0.3:
            return r.choice([*names, *names, f"{r.uniform(-3, 3):.2f}", "c[i]", "d[i]"])
        a, b = self.floating(depth + 1), self.floating(depth + 1)
        k = self.integer(depth + 1)
        form = r.choice([
            "({a} + {b})", "({a} - {b})", "({a} * {b})", "({a} / {b})", "({a} + {k})",
            "({k} * {a})", "(-{a})", "abs({a})", "float32({a})", "float64({a})", "({k} / 3)",
            "({a} if {cond} else {b})", "c[({k}) % SIZE]", "d[({k}) % SIZE]",
            "({a} * float32(0.5))", "({a} // {b})", "({a} % {b})", "math.sqrt(abs({a}))",
            "math.fabs({a})",
        ])  # fmt: skip
        return form.format(a=a, b=b, k=k, cond=self.condition(depth + 1))

    def condition(self, depth: int = 0) -> str:
        r = self.r
        op = r.choice(["<", "<=", ">", ">=", "==", "!="])
        simple = (
            f"{self.integer(depth + 1)} {op} {self.integer(depth + 1)}"
            if r.random() < 0.7
            else f"{self.floating(depth + 1)} {op} {self.floating(depth + 1)}"
        )
        if depth < 2 and r.random() < 0.25:
            return f"({simple} {r.choice(['and', 'or'])} {self.condition(depth + 1)})"
        if r.random() < 0.1:
            return f"(not ({simple}))"
        return f"({simple})"

    def assignment(self, indent: int) -> None:
        r = self.r
        if r.random() < 0.5:
            name = r.choice(["p", "q", "s"])
            known = name in self.kinds
            if known and r.random() < 0.4:
                self.add(indent, f"{name} {r.choice(['+', '-', '*', '^'])}= {self.integer()}")
                return
            value = self.integer()
            self.add(indent, f"{name} = {value}")
            if self.depth == 0:
                self.kinds[name] = "int"
        else:
            name = r.choice(["u", "v", "w"])
            known = name in self.kinds
            if known and r.random() < 0.4:
                self.add(indent, f"{name} {r.choice(['+', '-', '*'])}= {self.floating()}")
                return
            value = self.floating() if r.random() < 0.9 else self.integer()
            self.add(indent, f"{name} = {value}")
            if self.depth == 0:
                self.kinds[name] = "float"

    def statement(self, indent: int, loop: bool) -> None:
        r = self.r
        kind = r.choice(["set"] * 5 + ["if"] * 3 + ["for", "while", "store", "store", "swap"])
        if self.depth >= 3 and kind in ("if", "for", "while"):
            kind = "set"
        if kind == "set":
            self.assignment(indent)
        elif kind == "swap":
            self.add(indent, "p, q = q, p")
        elif kind == "store":
            if r.random() < 0.5:
                self.add(indent, f"out_i[i] {r.choice(['=', '+='])} {self.integer()}")
            else:
                self.add(indent, f"out_f[i] {r.choice(['=', '+='])} {self.floating()}")
        elif kind == "if":
            self.add(indent, f"if {self.condition()}:")
            self.block(indent + 1, loop)
            if r.random() < 0.5:
                self.add(indent, "else:")
                self.block(indent + 1, loop)
        elif kind == "for":
            self.loops += 1
            name = f"j{self.loops}"
            bounds = r.choice(
                [
                    f"{r.randint(0, 4)}",
                    f"({self.integer()}) % 5",
                    f"({self.integer()}) % 4, 6",
                    f"6, ({self.integer()}) % 3, -2",
                ]
            )
            self.add(indent, f"for {name} in range({bounds}):")
            self.kinds[name] = "int"
            self.block(indent + 1, True)
            del self.kinds[name]
        else:
            self.loops += 1
            name = f"k{self.loops}"
            self.add(indent, f"{name} = 0")
            self.add(indent, f"while {name} < {r.randint(1, 4)} and {self.condition()}:")
            self.add(indent + 1, f"{name} += 1")
            self.block(indent + 1, True)

    def block(self, indent: int, loop: bool) -> None:
        r = self.r
        self.depth += 1
        for _ in range(r.randint(1, 3)):
            self.statement(indent, loop)
        if loop and r.random() < 0.25:
            self.add(indent, r.choice(["break", "continue"]))
        elif r.random() < 0.06:
            self.add(indent, "return")
        self.depth -= 1

    def kernel(self) -> str:
        """The body, from the guard on."""
        for name in ("p", "q", "s"):
            self.add(1, f"{name} = {self.integer(2)}")
            self.kinds[name] = "int"
        for name in ("u", "v", "w"):
            self.add(1, f"{name} = {self.floating(2)}")
            self.kinds[name] = "float"
        for _ in range(self.r.randint(3, 6)):
            self.statement(1, False)
        self.add(1, "out_i[i] += p + q * 3 + s * 5")
        self.add(1, "out_f[i] += u + v * 3 + w * 5")
        return "\n".join(self.lines)


HEADER = """import math
from numba import cuda, float32, float64, int16, int32, uint8
SIZE = 48
"""


def simulated_text(seed: int) -> str:
    """The kernel as a learner would write it."""
    body = Writer(seed).kernel()
    return f"{HEADER}\n@cuda.jit\ndef k({PARAMETERS}):\n    i = cuda.grid(1)\n{body}\n"


def reference(seed: int) -> Any:
    """The same body as a compiled function of the thread's number."""
    import math

    import numba

    body = Writer(seed).kernel()
    text = f"def k(i, {PARAMETERS}):\n{body}\n"
    names: dict[str, Any] = {
        "math": math, "SIZE": SIZE,
        **{t: getattr(numba, t) for t in ["float32", "float64", "int16", "int32", "uint8"]},
    }  # fmt: skip
    exec(text, names)
    return numba.njit(error_model="numpy")(names["k"])


def inputs(seed: int) -> list[Any]:
    """Arguments of one run, outputs first."""
    rng = np.random.default_rng(seed)
    return [
        np.zeros(SIZE, np.int64), np.zeros(SIZE, np.float64),
        rng.integers(-9, 9, SIZE).astype(np.int32), rng.integers(0, 200, SIZE).astype(np.uint8),
        rng.uniform(-4, 4, SIZE).astype(np.float32), rng.uniform(-4, 4, SIZE),
        int(rng.integers(-5, 20)), np.float32(rng.uniform(-2, 2)),
    ]  # fmt: skip


def compare(seed: int) -> str:
    """Run both; a text that names the first difference, empty when there is none."""
    from numba.core.errors import NumbaError

    from warpwise.simt import Kernel, TypingError

    got, want = inputs(seed), inputs(seed)
    kernel = Kernel.from_source(simulated_text(seed), "k")
    one_thread = reference(seed)
    try:
        kernel[2, SIZE // 2](*got)
    except TypingError as error:
        try:
            one_thread(0, *want)
        except NumbaError:
            return ""  # both refuse
        return f"seed {seed}: refused, but compiled code runs: {error}"
    try:
        for i in range(SIZE):
            one_thread(i, *want)
    except NumbaError:
        return ""  # int64 meeting uint64 in a loop: Numba's inference may widen to float64
    for name, a, b in zip(("out_i", "out_f"), got[:2], want[:2], strict=True):
        same = (a == b) | (np.isnan(a) & np.isnan(b)) if a.dtype.kind == "f" else a == b
        if a.dtype.kind == "f":
            same |= np.isclose(a, b, rtol=1e-12, atol=0)
        if not same.all():
            at = int(np.argmin(same))
            return f"seed {seed}: {name}[{at}] is {a[at]!r}, compiled code gives {b[at]!r}"
    return ""
