"""Random functions of two arrays of records, for comparison with compiled code.

Each thread works on its own two records, `a[i]` and `b[i]`, under several names, so that the
order of the threads does not matter.
"""

from __future__ import annotations

import random

import numpy as np

#: Numba asks only whether a field lies right within its own record, so packed ones are legal, too.
INNER = np.dtype([("u", np.int64), ("v", np.float64)], align=True)
ALIGNED = np.dtype(
    [("x", np.float32), ("y", np.float64), ("k", np.int64), ("s", INNER), ("b", INNER, (2,)),
     ("c", np.float32, (2, 3)), ("f", np.bool_), ("g", np.uint8)],
    align=True,
)  # fmt: skip
SMALL = np.dtype([("u", np.int64), ("v", np.float32)])
PACKED = np.dtype(
    [("x", np.float32), ("y", np.float32), ("k", np.int64), ("c", np.float32, (2, 3)),
     ("s", SMALL), ("b", SMALL, (2,)), ("f", np.bool_), ("g", np.uint8), ("e", np.uint8)]
)  # fmt: skip

RECORDS = ("p", "q", "a[i]", "b[i]")
FIELDS = ("{}.x", "{}.y", "{}['k']", "{}.s.u", "{}.s['v']", "{}.b[0].v", "{}.b[1].u", "{}.c[1, -2]",
          "{}[2]", "{}.b[{}.k % 2].v")  # fmt: skip
COPIES = ("{0} = {1}", "{0}.s = {1}.b[0]", "{0}.b[1] = {1}.s", "{0}.c = {1}.c", "w = {1}.b[1]",
          "w = {1}.s")  # fmt: skip


class Writer:
    """Writes functions f(a, b, o, i) from a seed."""

    def __init__(self, seed: int, packed: bool) -> None:
        self.pick = random.Random(seed)
        # A field of a whole array has to lie at whole addresses.
        self.arrays = () if packed else ("a.x[i]", "b['c'][i, 1, 2]", "a.s.u[i]")

    def function(self) -> str:
        """The lines of a body."""
        lines = ["p = a[i]", "q = b[i]", "w = q.s", "t = 1.5"]
        for _ in range(self.pick.randint(3, 8)):
            lines += self.statement(2)
        return "\n".join([*lines, "o[i] = t"])

    def place(self) -> str:
        choices = (*FIELDS, *self.arrays, "w.u", "w.v")
        return self.pick.choice(choices).replace("{}", self.pick.choice(RECORDS))

    def expression(self, depth: int = 2) -> str:
        kind = self.pick.random() if depth else 0
        if kind < 0.3:
            number = str(self.pick.randint(-3, 9))
            return self.pick.choice((self.place(), self.place(), number, number + ".5", "t", "i"))
        a, b = self.expression(depth - 1), self.expression(depth - 1)
        if kind < 0.8:
            return f"({a} {self.pick.choice('+-*')} {b})"
        return f"min({a}, {b})" if kind < 0.9 else f"({a} if {self.condition()} else {b})"

    def condition(self) -> str:
        compared = f"{self.expression(1)} {self.pick.choice(('<', '>', '==', '!='))} t"
        return self.pick.choice((compared, f"not {self.pick.choice(RECORDS)}.f"))

    def statement(self, depth: int) -> list[str]:
        kind = self.pick.random()
        if kind < 0.35 or (depth == 0 and kind > 0.7):
            return [f"{self.pick.choice((self.place(), 't'))} = {self.expression()}"]
        if kind < 0.45:
            return [f"{self.place()} {self.pick.choice('+-*')}= {self.expression(1)}"]
        if kind < 0.55:
            one, other = self.pick.choice(RECORDS), self.pick.choice(RECORDS)
            return [f"{self.pick.choice('pq')} = {one} if {self.condition()} else {other}"]
        if kind < 0.7:
            target, source = self.pick.choice(("a[i]", "b[i]")), self.pick.choice(RECORDS)
            return [self.pick.choice(COPIES).format(target, source)]
        if kind < 0.88:
            return [f"if {self.condition()}:", *self.block(depth), "else:", *self.block(depth)]
        leave = [
            f"    if {self.condition()}:",
            f"        {self.pick.choice(('break', 'continue'))}",
        ]
        return [f"for j{depth} in range(p.k % 3):", *self.block(depth), *leave]

    def block(self, depth: int) -> list[str]:
        lines = [line for _ in range(self.pick.randint(1, 3)) for line in self.statement(depth - 1)]
        return [f"    {line}" for line in lines]
