"""Specs: what an exercise asks, as data.  One spec serves the learner's check and the grader.

output    an array parameter that the kernel must write
suspect   a function that computes what a known mistake would give, keyed by its diagnosis
hint      (vague, plain): what to look at, and what to do about it

All texts are plain: no Markdown, no backticks.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from .cases import Case, Level
from .requirements import Requirement
from .tolerance import Tolerance, for_dtype

Hints = Mapping[str, tuple[str, str]]
FLOAT = Tolerance(1e-9, 1e-12)
Found = tuple[Any, str]  # a diagnosis or several, and what is wrong
Owner = Callable[[tuple[int, ...], Case], tuple[Any, Any] | None]


@dataclass(frozen=True)
class CompiledFact:
    """What the real compiler has to make of the kernel, for one architecture.

    wrong: warpwise.compiler.Compiled, or TritonCompiled -> what is missing, as a sentence, or None.
    """

    arch: str
    wrong: Callable[[Any], str | None]
    diagnosis: str = "not_compiled_so"


@dataclass(frozen=True)
class KernelSpec:
    """An exercise whose answer is a `@cuda.jit` kernel.

    name, unit, points: e.g. "guarded_add", "t1_01_threads", 2.
    outputs: names in `Case.args` that the kernel writes; they are filled with poison first.
    cases: (rng, level) -> cases, smallest first; use the helpers of `warpwise.check.cases`.
    reference: case -> {output: array}, computed in higher precision.  A masked element (np.ma) is
        one that the kernel must leave alone.
    inout: outputs whose contents the kernel may read first; they are not poisoned.
    scratch: arrays that the kernel may change as it likes; nobody looks at them afterwards.
    tolerance: dtype name -> Tolerance, where the default of the dtype does not fit.
    unordered: 1-D outputs whose elements may come in any order; `reference` gives them sorted.
    writes_once: no element may be written twice.
    shared_out: "threads" or "warps" among which the work must be shared out: in the case where most
        of them could store an element, at least a quarter must.
    owner: (index, case) -> (block, thread) that should write this element, None when open.
    hints: {diagnosis: (vague, plain)}; the general hints serve for the rest.
    suspects: {diagnosis: case -> {output: array}}; masked elements are unwritten ones.
    causes: {diagnosis: sentence} for diagnoses of this exercise only.
    sanitized: the sanitizer must find nothing; its findings come before wrong values where shared
        memory is concerned.
    requirements: what the kernel may cost, counted on the launch that `counted` gives; that launch
        is judged by its values, too.
    compiled: facts of the compiled code, with the arguments of that launch.  Where the compiler is
        not installed they are left out, and the record says so.
    """

    name: str
    unit: str
    points: float
    outputs: tuple[str, ...]
    cases: Callable[[np.random.Generator, Level], Iterable[Case]]
    reference: Callable[[Case], Mapping[str, np.ndarray]]
    inout: tuple[str, ...] = ()
    unordered: tuple[str, ...] = ()
    scratch: tuple[str, ...] = ()
    tolerance: Mapping[str, Tolerance] = field(default_factory=dict)
    writes_once: bool = False
    shared_out: Literal["", "threads", "warps"] = ""
    owner: Owner | None = None
    hints: Hints = field(default_factory=dict)
    suspects: Mapping[str, Callable[[Case], Mapping[str, np.ndarray]]] = field(default_factory=dict)
    causes: Mapping[str, str] = field(default_factory=dict)
    sanitized: bool = True
    requirements: tuple[Requirement, ...] = ()
    compiled: tuple[CompiledFact, ...] = ()
    counted: Callable[[], Case] | None = None

    def __post_init__(self) -> None:
        if (self.requirements or self.compiled) and self.counted is None:
            raise ValueError(f"{self.name} has requirements but no counted case")

    @property
    def poisoned(self) -> tuple[str, ...]:
        """Outputs that hold poison before a launch."""
        return tuple(name for name in self.outputs if name not in self.inout)

    def tolerance_of(self, dtype: Any) -> Tolerance:
        """How exact an output of `dtype` must be."""
        return self.tolerance.get(np.dtype(dtype).name, for_dtype(dtype))


@dataclass(frozen=True)
class FunctionSpec:
    """An exercise whose answer is a host function from plain data to plain data.

    inputs: (rng, level) -> argument tuples, smallest first: numbers, strings, tuples, arrays.
    reference: the right function, of the same arguments; its parameter names serve in messages.
    tolerance: for floats; integers, strings and booleans are exact.
    suspects: {diagnosis: function of the same arguments giving the known wrong value}.
    examine: (arguments, returned) -> None when it is right, else (diagnosis, what is wrong), where
        many values are right: it replaces the comparison with the reference, which is not called.
        Of several diagnoses, likeliest first, the one that fits every failing call is told.
    run: (answer, arguments) -> what to judge, as plain data, where an answer is not simply called;
        see `fabric.world`.  A function of a module outside `check`: a grader runs it, by its name,
        in the student's process, where there are no checks.
    takes: the names of the answer's parameters, where they are not the reference's.
    said: arguments -> the failing case in words, where a call does not tell it.
    """

    name: str
    unit: str
    points: float
    inputs: Callable[[np.random.Generator, Level], Iterable[Sequence[Any]]]
    reference: Callable[..., Any]
    tolerance: Tolerance = FLOAT
    hints: Hints = field(default_factory=dict)
    suspects: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    causes: Mapping[str, str] = field(default_factory=dict)
    examine: Callable[[Sequence[Any], Any], Found | None] | None = None
    run: Callable[[Callable[..., Any], Sequence[Any]], Any] | None = None
    takes: tuple[str, ...] = ()
    said: Callable[[Sequence[Any]], str] | None = None

    @property
    def params(self) -> tuple[str, ...]:
        """Names of the answer's parameters."""
        return self.takes or tuple(inspect.signature(self.reference).parameters)


@dataclass(frozen=True)
class ValueSpec:
    """An exercise whose answer is one predicted value: a number, or a function without arguments.

    expected: () -> the right value, computed, never typed in.
    what: what the value is, for the message, e.g. "the number of idle threads".
    suspects: {diagnosis: the wrong value that this mistake gives}.
    """

    name: str
    unit: str
    points: float
    expected: Callable[[], Any]
    what: str = "the value"
    tolerance: Tolerance = FLOAT
    hints: Hints = field(default_factory=dict)
    suspects: Mapping[str, Any] = field(default_factory=dict)
    causes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Traffic:
    """At most `limit(case)` bytes, or programs, of a Triton kernel on the counted case.

    counter: "loaded", "stored" or "atomic": bytes of the lanes that are not masked off; "programs";
        "touched": bytes that the first programs load, each element counted once.
    limit: case -> the most that is allowed, from a formula.  first: how many are the first.
    pointer: count this parameter alone.  diagnosis: the slug of breaking it.
    """

    counter: str
    limit: Callable[[Case], float]
    diagnosis: str = "too_many_bytes"
    pointer: str = ""
    first: int = 0


@dataclass(frozen=True)
class TritonSpec:
    """An exercise whose answer is a `@triton.jit` kernel.

    What has a name of KernelSpec's means the same.  In a case `args` has every parameter, those
    marked tl.constexpr too; `grid` is in programs; `block` is the extent of a program's tile, x
    first, which only the diagnoses read.  Arrays keep their strides: give views to judge strides.
    Outputs are poisoned, gaps between rows as well.  Accesses outside an array, stores between the
    rows of an output and two programs at one element are always mistakes.

    traffic: bytes that the kernel may move, counted on the launch that `counted` gives; that launch
        is judged by its values, too.
    compiled: facts of the compiled code, with the arguments of that launch.
    """

    name: str
    unit: str
    points: float
    outputs: tuple[str, ...]
    cases: Callable[[np.random.Generator, Level], Iterable[Case]]
    reference: Callable[[Case], Mapping[str, np.ndarray]]
    inout: tuple[str, ...] = ()
    scratch: tuple[str, ...] = ()
    tolerance: Mapping[str, Tolerance] = field(default_factory=dict)
    hints: Hints = field(default_factory=dict)
    suspects: Mapping[str, Callable[[Case], Mapping[str, np.ndarray]]] = field(default_factory=dict)
    causes: Mapping[str, str] = field(default_factory=dict)
    traffic: tuple[Traffic, ...] = ()
    compiled: tuple[CompiledFact, ...] = ()
    counted: Callable[[], Case] | None = None

    def __post_init__(self) -> None:
        if (self.traffic or self.compiled) and self.counted is None:
            raise ValueError(f"{self.name} has requirements but no counted case")

    @property
    def poisoned(self) -> tuple[str, ...]:
        """Outputs that hold poison before a launch."""
        return tuple(name for name in self.outputs if name not in self.inout)

    def tolerance_of(self, dtype: Any) -> Tolerance:
        """How exact an output of `dtype` must be."""
        return self.tolerance.get(np.dtype(dtype).name, for_dtype(dtype))


Spec = KernelSpec | FunctionSpec | ValueSpec | TritonSpec
