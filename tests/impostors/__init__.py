"""Impostors: plausible wrong answers that a check must reject, each with the right diagnosis.

One module per lab, `t1_01_threads.py`.  Above the answer stands what it is an impostor of; the name
of the function is the mistake:

    @impostor("guarded_add", diagnosis="out_of_bounds")
    @cuda.jit
    def no_guard(out, a, b, n):
        i = cuda.grid(1)
        out[i] = a[i] + b[i]

For an exercise on a host function or a value, a plain function is decorated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Impostor:
    """A wrong answer: the exercise it is for, the mistake's name, the diagnosis it must get."""

    exercise: str
    name: str
    diagnosis: str
    answer: Any


def impostor(exercise: str, *, diagnosis: str) -> Callable[[Any], Impostor]:
    """Mark a kernel or a function as a wrong answer to `exercise`."""

    def mark(answer: Any) -> Impostor:
        return Impostor(exercise, answer.__name__, diagnosis, answer)

    return mark
