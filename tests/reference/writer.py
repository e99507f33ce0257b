"""Random kernels with one right answer: no races, no undefined behaviour.

A thread writes its own element of an output; shared memory is written and read in phases with
barriers between them, also inside loops and branches that all threads of a block take alike;
atomics commute.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .expressions import Expressions

HEADER = """import math
from numba import (cuda, complex64, complex128, float32, float64, int8, int16, int32, int64,
                   uint8, uint16, uint32, uint64)
"""
PARAMETERS = "out_i, out_f, out_z, out_2, hist, a, b, c, d, e, f, g, h, y, z, n, x"
LAUNCHES = [(2, 32), (1, 64), (2, 64), (3, 20), (2, 48), (1, 96), ((2, 2), (8, 4)),
            ((1, 3), (5, 7)), ((2, 1), (16, 4)), (1, (4, 4, 4))]  # fmt: skip
ATOMICS = ["add", "sub", "max", "min", "and_", "or_", "xor"]


@dataclass(frozen=True)
class Case:
    """A kernel `k` with its launch.  The seed draws the arguments."""

    seed: int
    text: str
    grid: Any
    block: Any

    def arguments(self, device: Callable[[Any], Any] = lambda array: array) -> list[Any]:
        """New arguments, outputs first.  `device` puts an array on the device: some arguments are
        slices of such arrays, with gaps, backwards, or not at the beginning."""
        return arguments(self.seed, self.grid, self.block, device)


def threads(size: Any) -> int:
    return int(np.prod(size))


def arguments(seed: int, grid: Any, block: Any, device: Callable[[Any], Any]) -> list[Any]:
    """Outputs, inputs of every type, numbers."""
    rng = np.random.default_rng(seed)
    blocks, width = threads(grid), threads(block)
    n = int(rng.integers(5, 40))

    def part(values: Any) -> Any:
        """n of 2 n elements: a host array, or a view of a device array."""
        draw = rng.integers(8)
        slices = {0: np.s_[1 : n + 1], 1: np.s_[::2], 2: np.s_[n - 1 :: -1]}
        return device(values)[slices[draw]] if draw in slices else values[:n].copy()

    def whole(dtype: str, low: int, high: int) -> Any:
        return part(rng.integers(low, high, 2 * n).astype(dtype))

    def real(dtype: str) -> Any:
        return part(rng.uniform(-4, 4, 2 * n).astype(dtype))

    def pairs(dtype: str) -> Any:
        return part((rng.uniform(-4, 4, 2 * n) + 1j * rng.uniform(-4, 4, 2 * n)).astype(dtype))

    out_2 = [
        lambda: np.zeros((blocks, width), np.float32),
        lambda: np.zeros((blocks, width), np.float32, order="F"),
        lambda: device(np.zeros((blocks + 1, 2 * width + 1), np.float32))[1:, 1::2],
    ][rng.integers(3)]()  # fmt: skip
    return [
        np.zeros(blocks * width, np.int64), np.zeros(blocks * width),
        np.zeros(blocks * width, np.complex128), out_2,
        rng.integers(0, 99, 7).astype(rng.choice(["int32", "int64"])),
        whole("int32", -9, 9), whole(str(rng.choice(["int8", "int16", "int64"])), -9, 9),
        real("float32"), real("float64"),
        whole("uint8", 0, 250), whole(str(rng.choice(["uint16", "uint32"])), 0, 5000),
        whole("uint64", 0, 1 << 40), whole("bool", 0, 2), pairs("complex64"), pairs("complex128"),
        int(rng.integers(-5, 20)), np.float32(rng.uniform(-2, 2)),
    ]  # fmt: skip


class Writer:
    """Writes one kernel.  Every choice comes from the seed.

    `plain` kernels keep to one thread and to what a CPU can run, too; `large` ones are longer and
    nested more deeply.
    """

    def __init__(self, seed: int, plain: bool = False, large: bool = True) -> None:
        self.r = random.Random(seed)
        self.large = large
        self.plain = plain
        self.e = Expressions(self.r, plain)
        self.lines: list[str] = []
        self.functions: list[str] = []
        self.numbers = 0
        self.depth = 0
        self.may_return = False
        self.grid, self.block = (2, 20) if plain else self.r.choice(LAUNCHES)
        self.warps = threads(self.block) % 32 == 0

    def add(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def fresh(self, stem: str) -> str:
        self.numbers += 1
        return f"{stem}{self.numbers}"

    # -- statements of one thread ----------------------------------------------------------

    def assignment(self, indent: int) -> None:
        r, e = self.r, self.e
        kind = r.random()
        if kind < 0.45:
            name = r.choice(["p", "q", "s"])
            if r.random() < 0.4:
                self.add(indent, f"{name} {r.choice(['+', '-', '*', '^', '//'])}= {e.integer()}")
            else:
                self.add(indent, f"{name} = {e.integer()}")
        elif kind < 0.8:
            name = r.choice(["u", "v", "w"])
            if r.random() < 0.4:
                self.add(indent, f"{name} {r.choice(['+', '-', '*'])}= {e.floating()}")
            else:
                self.add(indent, f"{name} = {e.floating() if r.random() < 0.9 else e.integer()}")
        elif kind < 0.88:
            self.add(indent, f"o {r.choice(['=', '+='])} {e.complex()}")
        elif kind < 0.94:
            self.add(indent, f"pair = ({e.integer()}, {e.floating()})")
            self.add(indent, r.choice(["p += pair[0]", "u = pair[1]", "q, v = pair"]))
        else:
            self.add(indent, r.choice(["p, q = q, p", "u, w = w, u", "p, q, s = s, p, q",
                                       "(p, u), q = (q, w), p"]))  # fmt: skip

    def store(self, indent: int) -> None:
        r, e = self.r, self.e
        form = e.form(["out_i[i] {op} {k}", "out_i[i] {op} {k}", "out_f[i] {op} {f}",
                         "out_z[i] {op} {z}", "out_2[bid, tid] {op} {f}", "out_2[bid][tid] = {k}",
                         "cuda.atomic.{atomic}(hist, ({k}) % 7, {j})"])  # fmt: skip
        self.add(indent, form.format(
            op=r.choice(["=", "+="]), k=e.integer(), f=e.floating(), z=e.complex(),
            atomic=self.atomic, j=e.integer(1),
        ))  # fmt: skip

    def loop(self, indent: int, around: bool) -> None:
        r, e = self.r, self.e
        name = self.fresh("j")
        form = r.random()
        if form < 0.7:
            bounds = r.choice([f"{r.randint(0, 4)}", f"({e.integer()}) % 5",
                               f"({e.integer()}) % 4, 6", f"6, ({e.integer()}) % 3, -2",
                               f"({e.integer()}) % 3, 7, 2"])  # fmt: skip
            self.add(indent, f"for {name} in range({bounds}):")
            kinds = self.e.integers
        elif form < 0.8:
            self.add(indent, f"for {name} in {r.choice(['a[:4]', 'b[::-9]', 'a[1:1]'])}:")
            kinds = self.e.integers
        elif form < 0.9:
            other = self.fresh("j")
            self.add(indent, f"for {other}, {name} in enumerate({r.choice(['c[:3]', 'd[2:5]'])}):")
            self.add(indent + 1, f"q += {other}")
            kinds = self.e.floats
        else:
            other = self.fresh("j")
            self.add(indent, f"for {other}, {name} in zip(a[1:4], d):")
            self.add(indent + 1, f"q ^= {other}")
            kinds = self.e.floats
        kinds.append(name)
        self.body(indent + 1, True)
        kinds.remove(name)
        self.otherwise(indent, around)

    def otherwise(self, indent: int, around: bool) -> None:
        """Perhaps the `else` of a loop; around: whether there is a loop for it to leave."""
        if self.r.random() < 0.15:
            self.add(indent, "else:")
            self.body(indent + 1, around)

    def repeat(self, indent: int, around: bool) -> None:
        name = self.fresh("k")
        self.add(indent, f"{name} = i * 0")
        test = self.e.repeats()
        bound = f"{name} < {self.r.randint(1, 4)}"
        self.add(indent, f"while {self.r.choice([f'{bound} and {test}', bound])}:")
        self.add(indent + 1, f"{name} += 1")
        self.e.integers.append(name)
        self.body(indent + 1, True)
        self.e.integers.remove(name)
        self.otherwise(indent, around)

    def statement(self, indent: int, loop: bool) -> None:
        r = self.r
        kind = r.choice(["set"] * 5 + ["if"] * 3 + ["for", "while", "store", "store"])
        if self.depth >= (3 if self.large else 2) and kind in ("if", "for", "while"):
            kind = "set"
        if kind == "set":
            self.assignment(indent)
        elif kind == "store":
            self.store(indent)
        elif kind == "for":
            self.loop(indent, loop)
        elif kind == "while":
            self.repeat(indent, loop)
        else:
            self.add(indent, f"if {self.e.condition()}:")
            self.body(indent + 1, loop)
            if r.random() < 0.3:
                self.add(indent, f"elif {self.e.condition()}:")
                self.body(indent + 1, loop)
            if r.random() < 0.5:
                self.add(indent, "else:")
                self.body(indent + 1, loop)

    def body(self, indent: int, loop: bool) -> None:
        r = self.r
        self.depth += 1
        for _ in range(r.choice([1, 1, 2, 3])):
            self.statement(indent, loop)
        if loop and r.random() < 0.25:
            self.add(indent, r.choice(["break", "continue"]))
        elif self.may_return and r.random() < 0.08:
            self.add(indent, "return")
        self.depth -= 1

    # -- phases of a block -----------------------------------------------------------------

    def phase(self, indent: int) -> None:
        """Statements that all threads of a block run together."""
        choices = [self.exchange, self.exchange, self.table, self.counted, self.uniform_loop,
                   self.uniform_branch]  # fmt: skip
        if self.warps:
            choices += [self.shuffle, self.shuffle, self.within_warp]
        if threads(self.block) & (threads(self.block) - 1) == 0:
            choices.append(self.tree)
        simple = [c for c in choices if c not in (self.uniform_loop, self.uniform_branch)]
        self.r.choice(choices if self.depth < 2 else simple)(indent)

    def shared(self, kind: str) -> tuple[str, str]:
        """A new shared array of one element a thread: its name, and the form of an index."""
        name, n = self.fresh("sh"), threads(self.block)
        dtype = self.r.choice(["int32", "int64", "int16"] if kind == "int" else
                              ["float32", "float64"])  # fmt: skip
        if n % 8 == 0 and self.r.random() < 0.3:
            pad = self.r.choice([0, 1])
            self.top(f"{name} = cuda.shared.array(({n // 8}, {8 + pad}), {dtype})")
            return name, f"{name}[({{k}}) % {n} // 8, ({{k}}) % {n} % 8]"
        self.top(f"{name} = cuda.shared.array({n}, {dtype})")
        return name, f"{name}[({{k}}) % {n}]"

    def top(self, text: str) -> None:
        """A line at the beginning of the kernel."""
        self.lines.insert(self.begin, "    " + text)
        self.begin += 1

    def exchange(self, indent: int) -> None:
        """Everyone writes its own element and reads others'."""
        kind = self.r.choice(["int", "float"])
        _, form = self.shared(kind)
        own = form.format(k="tid")
        value = self.e.integer() if kind == "int" else self.e.floating()
        if self.r.random() < 0.3:
            self.add(indent, f"if {self.e.condition()}:")
            self.add(indent + 1, f"{own} = {value}")
            self.add(indent, "else:")
            self.add(indent + 1, f"{own} = {self.r.randint(0, 9)}")
        else:
            self.add(indent, f"{own} = {value}")
        self.add(indent, "cuda.syncthreads()")
        self.e.loads[kind].append(form)
        for _ in range(self.r.randint(1, 2)):
            self.depth += 1
            self.statement(indent, False)
            self.depth -= 1
        target = "p" if kind == "int" else "u"
        self.add(indent, f"{target} += {form.format(k=self.e.integer(1))}")
        self.e.loads[kind].remove(form)
        self.add(indent, "cuda.syncthreads()")

    def tree(self, indent: int) -> None:
        """A sum over the block."""
        name, n, step = self.fresh("sh"), threads(self.block), self.fresh("step")
        self.top(f"{name} = cuda.shared.array({n}, {self.r.choice(['int64', 'int32'])})")
        self.add(indent, f"{name}[tid] = {self.e.integer()}")
        self.add(indent, "cuda.syncthreads()")
        self.add(indent, f"{step} = {n // 2}")
        self.add(indent, f"while {step} > 0:")
        self.add(indent + 1, f"if tid < {step}:")
        self.add(indent + 2, f"{name}[tid] += {name}[tid + {step}]")
        self.add(indent + 1, "cuda.syncthreads()")
        self.add(indent + 1, f"{step} //= 2")
        self.add(indent, f"q += {name}[0]")
        self.add(indent, "cuda.syncthreads()")

    def table(self, indent: int) -> None:
        """A histogram of the block."""
        name, n = self.fresh("sh"), self.r.randint(3, 9)
        op = self.r.choice(ATOMICS)
        self.top(f"{name} = cuda.shared.array({n}, {self.r.choice(['int32', 'int64'])})")
        self.add(indent, f"if tid < {n}:")
        self.add(indent + 1, f"{name}[tid] = tid")
        self.add(indent, "cuda.syncthreads()")
        self.depth += 2
        if self.r.random() < 0.5:
            self.add(indent, f"if {self.e.condition()}:")
            self.add(indent + 1, f"cuda.atomic.{op}({name}, ({self.e.integer(1)}) % {n}, 3 + p)")
        else:
            self.add(indent, f"cuda.atomic.{op}({name}, ({self.e.integer(1)}) % {n}, q)")
        self.depth -= 2
        self.add(indent, "cuda.syncthreads()")
        self.add(indent, f"s += {name}[({self.e.integer(1)}) % {n}]")
        self.add(indent, "cuda.syncthreads()")

    def counted(self, indent: int) -> None:
        name = self.r.choice(["count", "and", "or"])
        self.add(indent, f"p += cuda.syncthreads_{name}(int32({self.e.condition()}))")

    def uniform_loop(self, indent: int) -> None:
        name = self.fresh("r")
        bound = self.r.choice(["3", "2", "n % 4", "cuda.blockIdx.x + 1"])
        self.add(indent, f"for {name} in range({bound}):")
        self.e.integers.append(name)
        self.depth += 1
        for _ in range(self.r.randint(1, 2)):
            self.phase(indent + 1)
        if self.r.random() < 0.2:
            self.add(indent + 1, f"if {self.e.uniform()}:")
            self.add(indent + 2, self.r.choice(["break", "continue"]))
        self.depth -= 1
        self.e.integers.remove(name)

    def uniform_branch(self, indent: int) -> None:
        self.add(indent, f"if {self.e.uniform()}:")
        self.depth += 1
        self.phase(indent + 1)
        if self.r.random() < 0.4:
            self.add(indent, "else:")
            self.phase(indent + 1)
        self.depth -= 1

    def shuffle(self, indent: int) -> None:
        e, r = self.e, self.r
        form = r.choice([
            "p += cuda.shfl_sync(0xffffffff, int64({k}), ({j}) % 32)",
            "u = cuda.shfl_sync(-1, {f}, 5)", "w += cuda.shfl_down_sync(-1, {f}, {d})",
            "q += cuda.shfl_up_sync(0xffffffff, int32({k}), {d})",
            "q = cuda.shfl_xor_sync(0xffffffff, int64({k}), {d})", "p += cuda.ballot_sync(-1, {c})",
            "q += cuda.all_sync(0xffffffff, {c})", "s += cuda.any_sync(0xffffffff, {c})",
            "s += cuda.eq_sync(-1, int32({k}))",
        ])  # fmt: skip
        self.add(indent, form.format(k=e.integer(1), j=e.integer(2), f=e.floating(1),
                                     d=r.randint(0, 31), c=e.condition(1)))  # fmt: skip

    def within_warp(self, indent: int) -> None:
        """Lanes of a warp hand values to each other through shared memory."""
        name, n = self.fresh("sh"), threads(self.block)
        self.top(f"{name} = cuda.shared.array({n}, {self.r.choice(['int32', 'float32'])})")
        self.add(indent, f"{name}[tid] = {self.e.integer()}")
        self.add(indent, self.r.choice(["cuda.syncwarp()", "cuda.syncwarp(0xffffffff)"]))
        self.add(indent, f"v += {name}[tid // 32 * 32 + ({self.e.integer(1)}) % 32]")
        self.add(indent, "cuda.syncwarp()")

    # -- the whole -------------------------------------------------------------------------

    def device_functions(self) -> None:
        """Functions of an integer and a float, with branches, loops and early returns."""
        for number in range(self.r.randint(0, 2 if self.large else 1)):
            kind = self.r.choice(["int", "float", "pair"])
            body = [f"if k {self.r.choice(['<', '>', '=='])} {self.r.randint(-3, 9)}:",
                    f"    return {result(self.r, kind)}"]  # fmt: skip
            if self.r.random() < 0.5:
                body += ["for m in range(4):", f"    f += {result(self.r, 'float')}",
                         "    if m * 3 > k:", f"        return {result(self.r, kind)}"]  # fmt: skip
            body.append(f"return {result(self.r, kind)}")
            name = f"dev{number}"
            lines = "\n".join("    " + line for line in body)
            self.functions.append(f"@cuda.jit(device=True)\ndef {name}(k, f):\n{lines}\n")
            if kind == "pair":
                self.e.calls["int"].append(f"{name}({{a}} + i, {{f}} + x)[0]")
                self.e.calls["float"].append(f"{name}({{a}} + tid, {{f}} * x)[1]")
            else:
                self.e.calls[kind].append(f"{name}({{a}} + n, {{f}} - x)")

    def kernel(self) -> str:
        flat = isinstance(self.grid, int) and isinstance(self.block, int)
        deep = isinstance(self.block, tuple) and len(self.block) == 3
        if flat:
            self.add(1, "i = cuda.grid(1)")
            self.add(1, "tid, bid = cuda.threadIdx.x, cuda.blockIdx.x")
        elif deep:
            self.add(1, "tid = (cuda.threadIdx.z * cuda.blockDim.y + cuda.threadIdx.y) * "
                        "cuda.blockDim.x + cuda.threadIdx.x")  # fmt: skip
            self.add(1, "bid, i = cuda.blockIdx.x, tid")
        else:
            self.add(1, "tx, ty = cuda.grid(2)")
            self.add(1, "tid = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x")
            self.add(1, "bid = cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x")
            self.add(1, "i = ty * cuda.gridsize(2)[0] + tx")
        self.begin = len(self.lines)
        self.atomic = self.r.choice(ATOMICS)
        self.device_functions()
        for name in ("p", "q", "s"):
            self.add(1, f"{name} = {self.e.integer(2)} + i")
            self.e.integers.append(name)
        for name in ("u", "v", "w"):
            self.add(1, f"{name} = {self.e.floating(2)} + x")
            self.e.floats.append(name)
        self.add(1, f"o = {self.e.complex(2)}")
        self.e.complexes.append("o")
        if self.r.random() < 0.4 and not self.plain:
            self.local_array()
        for _ in range(0 if self.plain else self.r.randint(0, 3 if self.large else 2)):
            self.phase(1) if self.r.random() < 0.6 else self.statement(1, False)
        self.may_return = True
        for _ in range(self.r.randint(1, 4 if self.large else 2)):
            self.statement(1, False)
        self.add(1, "out_i[i] += p + q * 3 + s * 5")
        self.add(1, "out_f[i] += u + v * 3 + w * 5")
        self.add(1, "out_z[i] += o")
        body = "\n".join(self.lines)
        functions = "\n".join(self.functions)
        return f"{HEADER}\n{functions}\n@cuda.jit\ndef k({PARAMETERS}):\n{body}\n"

    def local_array(self) -> None:
        kind = self.r.choice(["int", "float"])
        dtype = {"int": "int32", "float": "float32"}[kind]
        name = self.fresh("lo")
        self.add(1, f"{name} = cuda.local.array(5, {dtype})")
        self.add(1, f"for m in range({name}.size):")
        value = self.e.integer(1) if kind == "int" else self.e.floating(1)
        self.add(2, f"{name}[m] = {value}")
        self.add(1, f"{name}[({self.e.integer(2)}) % 5] += m")
        self.e.loads[kind].append(f"{name}[({{k}}) % 5]")


def result(r: random.Random, kind: str) -> str:
    """A small expression of the parameters k and f of a device function."""
    if kind == "pair":
        return f"({result(r, 'int')}, {result(r, 'float')})"
    if kind == "int":
        return r.choice(["k", "k + 1", "k * 3 - 2", "abs(k)", "k // 3", "k % 5", "min(k, 7)",
                         "k if f > 0 else -k", "k & 12"])  # fmt: skip
    return r.choice(["f", "f * 2", "f + k", "f * float32(0.5)", "abs(f)", "f / 3", "f - k * 0.5",
                     "f if k > 2 else -f"])  # fmt: skip


def case(seed: int, large: bool = True) -> Case:
    """The kernel of a seed."""
    writer = Writer(seed, large=large)
    return Case(seed, writer.kernel(), writer.grid, writer.block)
