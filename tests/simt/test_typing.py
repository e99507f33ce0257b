"""Types are Numba's: operators against a measured table, kernels against the real compiler."""

from __future__ import annotations

import csv
import importlib.util
import operator
from pathlib import Path

import numba
import numpy as np
import pytest
from numba import types

from warpwise.simt import Kernel, typing
from warpwise.simt.api import to_device

# Result type of `a + b`, measured with the compiler of numba-cuda 0.30.4 for every pair of types.
TABLE = list(csv.DictReader((Path(__file__).parent / "typing_add.csv").open()))


def test_addition_has_the_types_of_the_compiler() -> None:
    """All 144 pairs of scalar types add to the type that Numba's CUDA compiler gives."""
    assert len(TABLE) == 144
    for row in TABLE:
        left, right = (getattr(types, row[side].replace("bool", "boolean")) for side in
                       ("left", "right"))  # fmt: skip
        if types.float16 in (left, right) and not importlib.util.find_spec("numba_cuda"):
            continue  # Numba's core alone has no float16 arithmetic
        result = typing.resolve(operator.add, (left, right)).result
        assert str(result).replace("boolean", "bool") == row["result"], row


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("f * 2.0", "float64"), ("f * 2", "float64"), ("f * float32(2)", "float32"),
        ("f ** 2.0", "float64"), ("f ** 2", "float32"), ("f / 2", "float64"),
        ("min(f, 0.0)", "float64"), ("max(f, f)", "float32"),
        ("f if k > 0 else 0.0", "float64"), ("abs(k)", "int32"), ("k + 1", "int64"),
        ("~k", "int64"), ("int(f)", "int64"), ("round(f)", "int64"), ("float(f)", "float32"),
        ("float(k)", "float64"), ("math.sqrt(f)", "float32"), ("math.sqrt(k)", "float64"),
        ("cuda.threadIdx.x", "int32"), ("cuda.blockDim.x * cuda.blockIdx.x", "int64"),
        ("cuda.grid(1)", "int64"), ("cuda.gridsize(1)", "int64"), ("cuda.laneid", "int32"),
        ("math.floor(f)", "float32"), ("k // 3", "int64"), ("k / 3", "float64"),
        ("math.isnan(f)", "bool"), ("math.pow(f, k)", "float32"), ("k > 0", "bool"),
        ("not k", "bool"), ("k and 2", "int64"), ("x.shape[0]", "int64"), ("x[0]", "float32"),
    ],
)  # fmt: skip
def test_expressions_have_the_types_of_the_compiler(expression: str, expected: str) -> None:
    """The type of a variable is what the compiler infers for the expression assigned to it."""
    text = f"""from numba import float32
@cuda.jit
def kernel(x, f, k):
    value = {expression}
"""
    kernel = Kernel.from_source(text, "kernel")
    arguments = kernel.bind((np.zeros(3, np.float32), np.float32(1.5), np.int32(2)))
    program = kernel.program(tuple(a.kind for a in arguments))
    assert {str(t) for name, t in program.types["kernel_kernel"] if name == "value"} == {expected}


def test_python_numbers_are_64_bits_wide() -> None:
    """An int is int64, from 2**63 uint64; a float is float64; NumPy scalars keep their type."""
    values = (1, 2**63, 1.0, True, np.float32(1), np.uint8(1))
    found = [str(typing.type_of_constant(v)) for v in values]
    assert found == ["int64", "uint64", "float64", "bool", "float32", "uint8"]


def _compare_types(seed: int) -> str:
    """A variable with a type in the compiler that it does not have here; empty without one."""
    from tests.reference import marks, typed, writer

    case = writer.case(seed)
    args = case.arguments()
    function = marks.functions(case.text, {}).scope["k"]
    compiled: dict[str, set[str]] = {}
    for name, kind in typed.typed(function, tuple(map(numba.typeof, args))).typemap.items():
        if name[0] != "$" and typing.is_number(types.unliteral(kind)):
            compiled.setdefault(name.split(".")[0], set()).add(str(types.unliteral(kind)))
    kernel = Kernel.from_source(case.text, "k")
    program = kernel.program(tuple(a.kind for a in kernel.bind(case.arguments(to_device))))
    ours: dict[str, set[str]] = {}
    for name, kind in program.types["kernel_k"]:
        ours.setdefault(name, set()).add(str(kind))
    for name, kinds in compiled.items():
        if name in ours and not kinds <= ours[name]:
            return f"seed {seed}: {name} is {ours[name]} here, {kinds} in the compiler"
    return ""


needs_compiler = pytest.mark.skipif(
    not importlib.util.find_spec("numba_cuda"), reason="needs the numba-cuda wheel (Linux, Windows)"
)


@needs_compiler
@pytest.mark.parametrize("seed", range(3))
def test_variables_of_random_kernels_have_the_compilers_types(seed: int) -> None:
    """Every type the real compiler gives a variable is one the simulator gives it."""
    assert _compare_types(seed) == ""


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 1060, 20))
def test_variables_of_many_random_kernels_have_the_compilers_types(start: int) -> None:
    """The same over more kernels."""
    assert [t for t in map(_compare_types, range(start, start + 20)) if t] == []
