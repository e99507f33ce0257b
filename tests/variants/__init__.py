"""Variants: unusual but right answers that a check must accept.

One module per lab, `t1_01_threads.py`.  The name of the function says what is unusual about it:

    @variant("guarded_add")
    @cuda.jit
    def early_return(out, a, b, n):
        i = cuda.grid(1)
        if i >= n:
            return
        out[i] = a[i] + b[i]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Variant:
    """A right answer in another style: the exercise it is for, and what is unusual."""

    exercise: str
    name: str
    answer: Any


def variant(exercise: str) -> Callable[[Any], Variant]:
    """Mark a kernel or a function as a right answer to `exercise`."""

    def mark(answer: Any) -> Variant:
        return Variant(exercise, answer.__name__, answer)

    return mark
