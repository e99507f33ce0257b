"""The front end: whatever comes in, out comes a result or an error of ours with its line."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.simt import fuzz
from warpwise.simt import Kernel, LaunchError, SimtError, SourceError

KEPT = Path(__file__).parents[1] / "kernels"
SIMPLE = (
    fuzz.HEADER
    + """@cuda.jit
def k(out, x, n):
    i = cuda.grid(1)
    s = cuda.shared.array(20, float32)
    t = cuda.threadIdx.x
    s[t] = x[i]
    cuda.syncthreads()
    p = 0
    for j in range(n):
        if s[j] > 0:
            p += dev(j, i) * s[19 - t]
        elif j % 2:
            continue
        else:
            p -= math.sqrt(abs(x[j]))
    while p > 3 and i < 30:
        p //= 2
    a, b = (p, i)
    out[i] = a + b
    cuda.atomic.add(out, i, cuda.shfl_sync(0xffffffff, p, 3))
"""
)


def texts(seed: int) -> list[str]:
    """A drawn function, a kernel with parts exchanged, a broken text."""
    r = random.Random(seed)
    grammar = fuzz.Grammar(r)
    drawn = grammar.text()
    return [drawn, fuzz.exchanged(SIMPLE, r, grammar), fuzz.broken(drawn, r)]


def faults(seeds: range) -> list[str]:
    return [
        f"seed {seed}: {text}\n{found}"
        for seed in seeds
        for text in texts(seed)
        if (found := fuzz.fault(text))
    ]


@pytest.mark.parametrize("start", range(0, 150, 50))
def test_random_functions_give_a_result_or_an_error_of_ours(start: int) -> None:
    """Launched in both orders, profiled, sanitized and decorated."""
    assert faults(range(start, start + 50)) == []


@pytest.mark.slow
@pytest.mark.parametrize("start", range(10_000, 12_000, 250))
def test_many_random_functions_give_a_result_or_an_error_of_ours(start: int) -> None:
    """The same over more functions."""
    assert faults(range(start, start + 250)) == []


@pytest.mark.filterwarnings("ignore")
def test_most_functions_get_past_the_parser() -> None:
    """Fuzzing that only finds syntax errors would find nothing."""
    outcomes = {"parsed": 0, "ran": 0}
    for seed in range(40):
        for text in texts(seed)[:2]:
            try:
                Kernel.from_source(text, "k", {"np": fuzz.np})[2, 20](*fuzz.inputs())
                outcomes["ran"] += 1
            except SourceError:
                continue
            except SimtError as error:
                assert error.line or isinstance(error, LaunchError), error
            outcomes["parsed"] += 1
    assert outcomes["parsed"] >= 40
    assert outcomes["ran"] >= 5


@pytest.mark.parametrize("path", sorted(KEPT.glob("fuzz_*.txt")), ids=lambda path: path.stem)
def test_texts_that_failed_once_do_not_fail_again(path: Path) -> None:
    """The kept texts."""
    assert fuzz.fault(path.read_text()) == ""
