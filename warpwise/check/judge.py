"""The judge: one spec, one answer, one record.  The learner's check and the grader both call it."""

from __future__ import annotations

from typing import Any

from .cases import Level
from .functions import judge_function
from .kernels import judge_kernel
from .record import Record
from .spec import KernelSpec, Spec, TritonSpec


def judge(
    spec: Spec, answer: Any, seed: int = 0, level: Level = "student", *, hint: int = 1
) -> Record:
    """Check `answer` against `spec` on cases drawn from `seed`.

    level: "grader" draws other values and more sizes.  hint: 1 vague, 2 plain.
    Raises only on a fault of ours, e.g. a reference of the wrong shape.
    """
    if isinstance(spec, KernelSpec):
        return judge_kernel(spec, answer, seed, level, hint)
    if isinstance(spec, TritonSpec):
        from .tile_kernels import judge_tiles  # Triton is slow to load

        return judge_tiles(spec, answer, seed, level, hint)
    return judge_function(spec, answer, seed, level, hint)
