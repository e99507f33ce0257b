"""Random expressions of a kernel, by kind: integer, unsigned 64-bit, float, complex, condition.

What compiled code leaves undefined is never written: shifts by more than the width, floats that no
integer holds, int64 and uint64 in one variable.
"""

from __future__ import annotations

import random

#: Names of the arrays that a kernel only reads, by kind of element: signed, unsigned, and so on.
SIGNED, UNSIGNED, FLOATS, WIDE, COMPLEX, BOOLS = "ab", "ef", "cd", "g", "zy", "h"

#: Forms with these words mean something else, or nothing, in code compiled for a CPU.
KERNEL_ONLY = ("cuda.", "min({l}, {a})", "max({l}, {k})")


class Expressions:
    """Draws expressions from the variables of the moment.  Every choice comes from the seed.

    `plain` leaves out what only kernels have, and what compiled code does otherwise on a CPU.
    """

    def __init__(self, r: random.Random, plain: bool = False) -> None:
        self.r = r
        self.plain = plain
        self.integers = ["i", "tid", "n"]
        self.floats = ["x"]
        self.complexes: list[str] = []
        self.loads: dict[str, list[str]] = {"int": [], "float": []}  # forms with {k}, an index
        self.calls: dict[str, list[str]] = {"int": [], "float": []}  # forms with {a}, {b}

    def form(self, forms: list[str]) -> str:
        """One of the forms, of those that are allowed."""
        if self.plain:
            forms = [f for f in forms if not any(word in f for word in KERNEL_ONLY)]
        return self.r.choice(forms)

    def index(self, array: str, depth: int) -> str:
        form = self.r.choice(["({k}) % {a}.shape[0]", "({k}) % len({a})", "({k}) % {a}.size"])
        return form.format(k=self.integer(depth), a=array)

    def load(self, names: str, depth: int) -> str:
        array = self.r.choice(names)
        return f"{array}[{self.index(array, depth)}]"

    def integer(self, depth: int = 0) -> str:
        """A signed integer, at most 64 bits wide."""
        r = self.r
        if depth > 1 or r.random() < 0.25:
            return r.choice([*self.integers, *self.integers, str(r.randint(-7, 9))])
        a, b = self.integer(depth + 1), self.integer(depth + 1)
        narrow = self.load(SIGNED, depth + 1)
        if self.loads["int"] and r.random() < 0.25:
            return r.choice(self.loads["int"]).format(k=a)
        if self.calls["int"] and r.random() < 0.15:
            return r.choice(self.calls["int"]).format(a=a, b=b, f=self.floating(depth + 1))
        form = self.form([
            "({a} + {b})", "({a} - {b})", "({a} * {b})", "({a} // {b})", "({a} % {b})",
            "({a} & {b})", "({a} | {b})", "({a} ^ {b})", "(-{a})", "(~{a})", "abs({a})",
            "min({a}, {b})", "max({a}, {b})", "min({a}, {b}, 3)", "({a} << ({b} & 7))",
            "({a} >> ({b} & 7))", "({a} if {c} else {b})", "int32(i * 7 - 90)", "int8({a})",
            "int16({n} * 5)", "{n}", "{n}", "({a} ** ({b} & 3))", "({a} ** 2)", "a.shape[0]",
            "len(b)", "({u} + {a})", "({u} * {n})", "({a} - {u})", "(uint8({a}) + {b})",
            "(uint16({a}) ^ {b})", "int64({w})", "int32({w})", "(h[{h}] + {a})", "int({c})",
            "int(c[{k}])", "int32(d[{j}] * 4.0)", "divmod({a}, {b})[1]", "({a}, {b})[1]",
            "int64(cuda.popc({a}))", "int64(cuda.clz({a}))", "int64(cuda.ffs(int32({a})))",
            "cuda.laneid", "int32(cuda.brev(int32({a})))", "cuda.blockIdx.x", "cuda.blockDim.x",
            "cuda.selp({c}, int64({a}), int64({b}))",
        ])  # fmt: skip
        return form.format(
            a=a, b=b, n=narrow, c=self.condition(depth + 1), u=self.load(UNSIGNED, depth + 1),
            w=self.wide(depth + 1), h=self.index("h", depth + 1), k=self.index("c", depth + 1),
            j=self.index("d", depth + 1),
        )  # fmt: skip

    def wide(self, depth: int = 0) -> str:
        """uint64; nothing but uint64 takes part."""
        r = self.r
        if depth > 1 or r.random() < 0.4:
            return r.choice(["g[{k}]", "uint64({a})"]).format(
                k=self.index("g", depth + 1), a=self.integer(depth + 1)
            )
        op = r.choice(["+", "-", "*", "&", "|", "^", "//", "%"])
        return f"({self.wide(depth + 1)} {op} {self.wide(depth + 1)})"

    def floating(self, depth: int = 0) -> str:
        """float32 or float64."""
        r = self.r
        if depth > 1 or r.random() < 0.25:
            return r.choice([*self.floats, *self.floats, f"{r.uniform(-3, 3):.2f}"])
        a, b, k = self.floating(depth + 1), self.floating(depth + 1), self.integer(depth + 1)
        if self.loads["float"] and r.random() < 0.25:
            return r.choice(self.loads["float"]).format(k=k)
        if self.calls["float"] and r.random() < 0.15:
            return r.choice(self.calls["float"]).format(a=k, b=a, f=b)
        form = self.form([
            "({a} + {b})", "({a} - {b})", "({a} * {b})", "({a} / {b})", "({a} + {k})",
            "({k} * {a})", "(-{a})", "abs({a})", "float32({a})", "float64({a})", "({k} / 3)",
            "({a} if {c} else {b})", "{l}", "{l}", "({l} * {l})", "({l} * float32(0.5))",
            "({l} - x)", "({a} // {b})", "({a} % {b})", "math.sqrt(abs({a}))", "math.fabs({a})",
            "math.floor({a})", "math.ceil({l})", "math.copysign({a}, {b})", "float({k})",
            "float32({k})", "({l} ** 2)", "cuda.selp({c}, float64({a}), float64({b}))",
            "z[{z}].real", "y[{y}].imag", "min({l}, {a})", "max({l}, {k})", "min({a}, {k})",
            "max({k}, {a})", "max({a}, {b}, {k})", "({a}, {k})[0]",
        ])  # fmt: skip
        return form.format(
            a=a, b=b, k=k, c=self.condition(depth + 1), l=self.load(FLOATS, depth + 1),
            z=self.index("z", depth + 1), y=self.index("y", depth + 1),
        )  # fmt: skip

    def complex(self, depth: int = 0) -> str:
        """complex64 or complex128.  Products are of input alone, so that rounding stays small."""
        r = self.r
        if depth > 1 or r.random() < 0.3:
            return r.choice([*self.complexes, self.load(COMPLEX, depth + 1)])
        form = r.choice(["({a} + {b})", "({a} - {b})", "({l} * {m})", "({l} * {f})", "(-{a})",
                         "complex({f}, {f})", "({a} + {k})", "complex({k})"])  # fmt: skip
        return form.format(
            a=self.complex(depth + 1), b=self.complex(depth + 1), f=self.load(FLOATS, depth + 1),
            k=self.load(SIGNED, depth + 1), l=self.load(COMPLEX, depth + 1),
            m=self.load(COMPLEX, depth + 1),
        )  # fmt: skip

    def condition(self, depth: int = 0) -> str:
        r = self.r
        op = r.choice(["<", "<=", ">", ">=", "==", "!="])
        draw = r.random()
        if draw < 0.6:
            simple = f"{self.integer(depth + 1)} {op} {self.integer(depth + 1)}"
        elif draw < 0.85:
            simple = f"{self.floating(depth + 1)} {op} {self.floating(depth + 1)}"
        elif draw < 0.93:
            simple = f"h[{self.index('h', depth + 1)}]"
        else:
            simple = f"0 < {self.integer(depth + 1)} <= {self.integer(depth + 1)}"
        if depth < 2 and r.random() < 0.2:
            return f"({simple} {r.choice(['and', 'or'])} {self.condition(depth + 1)})"
        return f"(not ({simple}))" if r.random() < 0.1 else f"({simple})"

    def repeats(self) -> str:
        """A condition of a while loop: integers only, whose types do not change in the loop.

        Python compiles such a condition twice, in front of the loop and at its end, so that a
        float32 that becomes float64 in the loop is compared in one type first and in another later.
        """
        op = self.r.choice(["<", ">", "!="])
        flag = self.index("h", 1)
        compared = f"{self.integer(1)} {op} {self.integer(1)}"
        return self.r.choice([f"({compared})", f"h[{flag}]", f"({compared} or h[{flag}])"])

    def uniform(self) -> str:
        """A condition that is the same for all threads of a block."""
        return self.r.choice(["n > 2", "n % 2 == 0", "cuda.blockIdx.x == 0", "a[0] > b[1]",
                              "cuda.gridDim.x > 1", "cuda.blockIdx.x % 2"])  # fmt: skip
