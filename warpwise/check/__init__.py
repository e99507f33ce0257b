"""Checks: `check("guarded_add", guarded_add)` says whether an answer is right, and if not, why.

spec      what an exercise asks (spec.py); the exercises of a tier stand in specs/
case      one launch with random inputs (cases.py)
record    the outcome, as data and as something to read (record.py)
judge     spec + answer -> record, for the learner and the grader alike (judge.py)
"""

from __future__ import annotations

import sys
from types import ModuleType

from .cases import Case
from .entry import check
from .functions import collect, inputs_of, judge_values
from .judge import judge
from .record import MIME, Record
from .requirements import Requirement
from .spec import CompiledFact, FunctionSpec, KernelSpec, Spec, Traffic, TritonSpec, ValueSpec
from .tolerance import Tolerance

__all__ = [
    "MIME",
    "Case",
    "CompiledFact",
    "FunctionSpec",
    "KernelSpec",
    "Record",
    "Requirement",
    "Spec",
    "Tolerance",
    "Traffic",
    "TritonSpec",
    "ValueSpec",
    "check",
    "collect",
    "inputs_of",
    "judge",
    "judge_values",
]


class _Callable(ModuleType):
    """`from warpwise import check` finds this package once it is imported: calling it checks."""

    __call__ = staticmethod(check)


sys.modules[__name__].__class__ = _Callable
