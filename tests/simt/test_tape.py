"""Loops that run strip by strip: the same values and the same counts as all lanes in step."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from warpwise.observe.counters import Counters
from warpwise.simt import Kernel, LivelockError, strips, tape

HEADER = """
from numba import float32, float64, int32, int64
import math

@cuda.jit
def k(out, x, n):
    i = cuda.grid(1)
"""

#: name -> body of a kernel whose loop has a tape
BODIES = {
    "float64 and integers": """
    v = x[i]
    k = 0
    while v > 1.5 and k < 200:
        v = v * 0.9 - 0.01 / v
        k += 1
    out[i] = v + k
""",
    "float32": """
    v = float32(x[i])
    k = int32(0)
    while v > float32(1.5) and k < int32(200):
        v = -(float32(0.1) - v) * float32(0.97)
        k += int32(1)
    out[i] = v + k
""",
    "collatz": """
    n = i + 1
    s = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        s += 1
    out[i] = s
""",
    "negative numbers, floor and rest": """
    v = 7 - i
    s = 0
    while v * v > 5:
        s += v // 3 + v % 3 - (v // 4) * (v % 8)
        v = v // 2 if v > 0 else v // 3 + 1
    out[i] = s
""",
    "numbers change places": """
    a, b, c = i, 1, 2
    while a * 3 + b < 400:
        a, b, c = b, c, a + b
    out[i] = a * 10000 + b * 100 + c
""",
    "int64 wraps": """
    v = i + 3
    k = 0
    while v > 0 and k < 60:
        v = v * 5 + i
        k += 1
    out[i] = v
""",
    "casts": """
    v = x[i]
    f = float32(1)
    k = 0
    while float64(f) < v and k < 50:
        f = float32(float64(f) * 1.1 + k) + float32(k)
        k += 1
    out[i] = f + k
""",
    "break and continue": """
    v = x[i]
    k = 0
    s = 0.0
    while k < 50:
        k += 1
        if k % 3 == 1:
            continue
        v = v * 0.8
        if v < 0.5:
            s = v + k
            break
        s += v
    out[i] = s + k
""",
    "nested branches": """
    v = x[i]
    k = 0
    while v < 20.0:
        if v > 3.0:
            if k % 2 == 0:
                v = v + 1.0
            else:
                v = v * 1.01 + 0.1
            k += 2
        else:
            v = v + 0.3
        k += 1
    out[i] = v + k
""",
    "logic": """
    v = i
    k = 0
    odd = False
    while not (v > 300 or (k > 9 and odd)):
        odd = not odd
        v = v + (k ^ 3) + (v & 5) - (k | 1)
        k += 1
    out[i] = v * 100 + k
""",
    "nan and infinity": """
    v = x[i] - 4.0
    k = 0
    while v == v and k < 300:
        v = v * v * 3.0 - v * v * v
        k += 1
    out[i] = k
""",
    "a range with a break": """
    v = x[i]
    n = 60
    for j in range(60):
        v = v * 0.93
        if v < 0.7:
            n = j
            break
    out[i] = n + v
""",
    "a range by lane": """
    s = 0
    last = 0
    for j in range(i % 7, i % 40, 3):
        if j % 4 == 1:
            continue
        s += j * j
        last = j
    out[i] = s * 100 + last
""",
    "a range in a guard": """
    if i % 3 < 2:
        v = float32(x[i])
        j = 5
        for j in range(n):
            v = v * v - float32(1.5)
            if v > float32(4):
                break
        out[i] = v + j
""",
    "under a guard": """
    if i < n and x[i] > 0.5:
        v = x[i]
        k = 0
        while v > 0.2:
            v = v / 1.5
            k += 1
        out[i] = k
""",
}  # fmt: skip
#: bodies of loops that have none
WITHOUT = {
    "a power": "    v = x[i]\n    while v > 1.0:\n        v = v ** 0.5 - 0.01\n    out[i] = v\n",
    "a store": "    k = 0\n    while k < i % 7:\n        out[i] = k\n        k += 1\n",
    "a divisor that changes": """
    v = 1000
    while v > 3:
        v = v // (i % 3 + 2)
    out[i] = v
""",
}


def kernel(body: str) -> Kernel:
    return Kernel.from_source(HEADER + body, "k")


def launch(
    body: str, monkeypatch: pytest.MonkeyPatch, least: int, block: int = 96
) -> tuple[Any, Any, int]:
    """The results, the counts, and how often a tape ran."""
    monkeypatch.setattr(tape, "LEAST", least)
    calls = []
    original = strips.run
    monkeypatch.setattr(strips, "run", lambda *args: calls.append(1) or original(*args))
    x = np.random.default_rng(0).random(5 * block) * 8
    out, again = np.zeros(5 * block), np.zeros(5 * block)
    counters = Counters()
    k = kernel(body)
    k[5, block](out, x, 400)
    k.run(5, block, (again, x, 400), [counters])
    monkeypatch.undo()
    np.testing.assert_array_equal(out, again)
    branches: dict[int, Any] = {}  # by line: a range's last look has a place of its own
    for place in counters.branches.values():
        branches[place.line] = branches.get(place.line, 0) + np.array(
            list(vars(place.counts).values())
        )
    counts = (
        counters.segments.tolist(), {k: v.tolist() for k, v in branches.items()},
        counters.busiest_warp,
    )  # fmt: skip
    return out, counts, len(calls)


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("rounds", [1, 3, strips.ROUNDS])
def test_values_and_counts_stay(name: str, rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a tape and without: every value and every count; also when it has to stop before."""
    out, counts, _ = launch(BODIES[name], monkeypatch, 10**9)
    monkeypatch.setattr(strips, "ROUNDS", rounds)
    found, same, times = launch(BODIES[name], monkeypatch, 2)
    np.testing.assert_array_equal(out, found)
    assert counts == same
    assert times >= 2


def test_values_against_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Collatz, one number at a time."""
    out, _, _ = launch(BODIES["collatz"], monkeypatch, 2)
    for i in range(480):
        n, steps = i + 1, 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        assert out[i] == steps


def test_blocks_that_do_not_fill_warps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values by tape, counts without."""
    out, counts, never = launch(BODIES["collatz"], monkeypatch, 10**9, block=75)
    found, same, times = launch(BODIES["collatz"], monkeypatch, 2, block=75)
    np.testing.assert_array_equal(out, found)
    assert counts == same
    assert (never, times) == (0, 1)


@pytest.mark.parametrize("name", WITHOUT)
def test_other_loops_go_on_as_they_are(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has no step has no tape."""
    assert launch(WITHOUT[name], monkeypatch, 2)[2] == 0


def test_other_observers_hear_every_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tape counts for those alone that can be told many rounds at once."""
    from warpwise.observe.issue import Issues

    monkeypatch.setattr(tape, "LEAST", 2)
    issues = Issues(0, 0)
    kernel(BODIES["collatz"]).run(5, 96, (np.zeros(480), np.ones(480), 480), [issues])
    assert max(issue.lanes for issue in issues.issues) == 32
    assert sum(issue.lanes == 1 for issue in issues.issues) > 10


def test_an_endless_loop_is_still_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some lanes leave, and the rest never does."""
    monkeypatch.setattr(tape, "LEAST", 2)
    body = """
    v = i
    while v % 5 != 4:
        if v % 5 < 3:
            v += 1
    out[i] = v
"""
    with pytest.raises(LivelockError, match="never ends"):
        kernel(body)[5, 96](np.zeros(480), np.ones(480), 480)


def test_random_kernels_by_tape(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random kernels agree with the reference."""
    pytest.importorskip("numba_cuda", reason="needs the numba-cuda wheel (Linux, Windows)")
    from tests.reference import verdict, writer

    monkeypatch.setattr(tape, "LEAST", 2)
    cases = map(writer.case, range(300, 306))
    assert [text for text in map(verdict.compare, cases) if text] == []


def random_loop(seed: int) -> str:
    """A loop of arithmetic with branches, that ends after as many rounds as its lane wants."""
    choose = random.Random(seed)
    numbers = {"p": "i % 11", "q": "int64(x[i] * 9) - 20", "u": "x[i]", "v": "float32(x[i]) - 1"}
    kinds = {"p": "int", "q": "int", "u": "float", "v": "single"}

    def value(kind: str, depth: int = 0) -> str:
        if depth > 2 or choose.random() < 0.3:
            names = [name for name, its in kinds.items() if its == kind]
            literals = {"int": "{}", "float": "{}.5", "single": "float32({}.25)"}
            return choose.choice([*names, literals[kind].format(choose.randint(1, 9))])
        a, b = (value(kind, depth + 1) for _ in range(2))
        if kind == "int":
            kinds_of = (
                f"({a} {choose.choice('+-*&|^')} {b})",
                f"({a} {choose.choice(('//', '%'))} {choose.choice((2, 3, 8, 7))})",
            )
            return choose.choice(kinds_of)
        if choose.random() < 0.15:
            other = choose.choice(["int", "float"])
            return f"float{64 if kind == 'float' else 32}({value(other, depth + 1)})"
        if choose.random() < 0.1:
            return f"(-{a})"
        return f"({a} {choose.choice('+-*/')} {b})"

    def test() -> str:
        kind = choose.choice(["int", "float", "single"])
        return (
            f"{value(kind, 1)} {choose.choice(('<', '<=', '>', '>=', '==', '!='))} {value(kind, 1)}"
        )

    def statements(depth: int) -> list[str]:
        lines = []
        for _ in range(choose.randint(1, 3)):
            if depth < 2 and choose.random() < 0.3:
                lines += [f"if {test()}:", *("    " + line for line in statements(depth + 1))]
                if choose.random() < 0.5:
                    lines += ["else:", *("    " + line for line in statements(depth + 1))]
            else:
                name = choose.choice(list(kinds))
                lines.append(f"{name} = {value(kinds[name])}")
        if depth and choose.random() < 0.2:
            lines.append(choose.choice(["break", "continue"]))
        return lines

    body = [f"{name} = {start}" for name, start in numbers.items()]
    if choose.random() < 0.5:
        body += ["k = 0", f"while k < i % 37 and ({test()} or k < 3):", "    k += 1"]
    else:
        body += ["k = 0", f"for j in range({choose.choice(('i % 37', '30', 'i % 5, 40, 2'))}):"]
        body += ["    k = j"] * (choose.random() < 0.8)
    body += ["    " + line for line in statements(0)]
    body.append("out[i] = p * 3 + q + u + v + k")
    return "".join(f"    {line}\n" for line in body)


@pytest.mark.parametrize("first", [0, pytest.param(1000, marks=pytest.mark.slow)])
def test_random_loops(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values and counts are those without a tape."""
    used = 0
    for seed in range(first, first + (15 if first == 0 else 300)):
        body = random_loop(seed)
        out, counts, _ = launch(body, monkeypatch, 10**9)
        found, same, times = launch(body, monkeypatch, 2)
        np.testing.assert_array_equal(out, found, err_msg=body)
        assert counts == same, body
        used += times > 0
    assert used > 5
