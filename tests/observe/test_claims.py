"""Looking quickly at what cannot race loses no finding, and adds none."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from warpwise.observe import sanitizer as module
from warpwise.observe.area import Area
from warpwise.observe.sanitizer import Sanitizer
from warpwise.simt import api as cuda

from .launches import findings
from .race_suite import CASES

BLOCKS, THREADS = 3, 64


class Thorough(Sanitizer):
    """Looks at every access by itself, with a full shadow from the start."""

    def _watch(self, run: Any, root: Any) -> Area:
        area = super()._watch(run, root)
        self._open(area)
        return area

    def _put_off(self, *args: Any) -> bool:
        return False


def both(monkeypatch: pytest.MonkeyPatch, text: str, grid: Any, block: Any, make: Any) -> list[Any]:
    """The findings; fails when the thorough way has others."""
    quick = findings(text, grid, block, *make())
    with monkeypatch.context() as patch:
        patch.setattr(module, "Sanitizer", Thorough)
        thorough = findings(text, grid, block, *make())
    assert quick == thorough, text
    return quick


INDICES = {  # of `a` in global memory, 512 elements; of `s`, 64 elements
    "a": ("i", "i", "i", "i + 192", "(i + 1) % 192", "(i + 64) % 192", "i ^ 1", "t", "2 * i",
          "x[i]", "i % 96", "511 - i"),
    "s": ("t", "t", "t", "(t + 1) % 64", "t ^ 32", "t ^ 1", "63 - t", "t % 32", "5", "x[i] % 64"),
}  # fmt: skip
GUARDS = ("", "", "if t < 32: ", "if i < 100: ", "if t == 0: ", "if i % 2 == 0: ")
ORDER = ("cuda.syncthreads()",) * 3 + ("cuda.syncwarp()",)


def random_kernel(seed: int) -> str:
    """Loads and stores, in a loop, with barriers between most of them."""
    choose = random.Random(seed)

    def place() -> str:
        array = choose.choice("as")
        return f"{array}[{choose.choice(INDICES[array])}]"

    lines = [
        "i = cuda.grid(1)",
        "t = cuda.threadIdx.x",
        "s = cuda.shared.array(64, int32)",
        "v = 0",
    ]
    if choose.random() < 0.8:
        lines += ["s[t] = i", "cuda.syncthreads()"]
    lines.append("for k in range(2):")
    for _ in range(choose.randint(1, 5)):
        what = choose.random()
        if what < 0.4:
            lines.append(f"    {choose.choice(GUARDS)}{place()} = {choose.choice(('v', '1', 'i'))}")
        elif what < 0.7:
            lines.append(f"    {choose.choice(GUARDS)}v += {place()}")
        elif what < 0.85:
            array = choose.choice("as")
            index = choose.choice(INDICES[array])
            lines.append(f"    {choose.choice(GUARDS)}cuda.atomic.add({array}, {index}, 1)")
        else:
            lines.append(f"    {place()} += 1")
        if choose.random() < 0.6:
            lines.append(f"    {choose.choice(ORDER)}")
    return "\ndef k(a, x):\n" + "".join(f"    {line}\n" for line in lines)


def arguments() -> list[Any]:
    x = np.random.default_rng(1).permutation(192).astype(np.int32)
    return [np.zeros(512, np.int32), x]


def fresh_arguments() -> list[Any]:
    return [cuda.device_array(512, np.int32), arguments()[1]]


@pytest.mark.parametrize("first", range(0, 40, 20))
def test_random_kernels_have_the_same_findings(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without a race, also where memory starts undefined."""
    clean = 0
    for seed in range(first, first + 20):
        make = fresh_arguments if seed % 4 == 0 else arguments
        clean += not both(monkeypatch, random_kernel(seed), BLOCKS, THREADS, make)
    assert 0 < clean < 20


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 2000, 100))
def test_many_random_kernels_have_the_same_findings(
    first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As above, a thousand of them."""
    for seed in range(first, first + 100):
        make = fresh_arguments if seed % 4 == 0 else arguments
        both(monkeypatch, random_kernel(seed), BLOCKS, THREADS, make)


@pytest.mark.slow
def test_the_race_suite_has_the_same_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kernel, right and wrong."""
    for case in CASES:
        for x in (*case.right, *case.wrong):
            both(
                monkeypatch, case.text.replace("{x}", x), case.grid, case.block,
                lambda sizes=case.sizes: [np.ones(n, np.int32) for n in sizes],
            )  # fmt: skip


def test_a_race_after_many_quiet_accesses(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was only kept in the log is told to the shadow: both lines and the equal value."""
    text = """
def k(a, x):
    i = cuda.grid(1)
    for n in range(30):
        a[i] = n
    if i > 0:
        a[i - 1] = 29
"""
    found = both(monkeypatch, text, 3, 64, arguments)
    assert {(f.hazard, f.severity, f.line, f.other_line) for f in found} == {("WAW", "info", 9, 7)}


def test_a_race_before_an_error_is_still_found() -> None:
    """Accesses that wait for a barrier are looked at when the launch stops before it."""
    text = """
def k(a, x):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    s[t] = t
    a[t] = s[63 - t]
    if t < 7:
        cuda.syncthreads()
"""
    found = findings(text, 1, 64, *arguments())
    assert {f.kind for f in found} == {"race", "divergent_barrier"}
