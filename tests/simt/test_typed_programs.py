"""Every variable of many small programs has the type that Numba's own compiler gives it."""

from __future__ import annotations

import cmath
import importlib.util
import math
import operator
import re
import textwrap
from typing import Any

import numba
import numpy as np
import pytest
from numba import types

from tests.simt.typed_programs import PARAMETERS, bodies
from warpwise.simt import Kernel, typing

BODIES = bodies()
NAMES: dict[str, Any] = {
    name: getattr(numba, name)
    for name in [
        "int8",
        "uint8",
        "int16",
        "int32",
        "uint32",
        "int64",
        "uint64",
        "float32",
        "float64",
        "complex64",
    ]
} | {"cmath": cmath, "math": math, "np": np, "operator": operator, "float16": np.float16}

needs_compiler = pytest.mark.skipif(
    not importlib.util.find_spec("numba_cuda"), reason="needs the numba-cuda wheel (Linux, Windows)"
)


def _kernel_text(body: str) -> str:
    return f"@cuda.jit\ndef k({', '.join(PARAMETERS)}):\n{textwrap.indent(body, '    ')}\n"


def _plain(kind: Any) -> str:
    """A type without what the simulator does not track: layouts, names of tuple classes."""
    text = str(getattr(kind, "literal_type", kind)).replace("Tuple(", "(")
    text = re.sub(r"Uni\((\w+) x (\d+)\)",
                  lambda m: "(" + ", ".join([m[1]] * int(m[2])) + ")", text)  # fmt: skip
    return re.sub(r"(\dd), \w", r"\1", text)


def _ours(body: str) -> dict[str, set[str]]:
    kernel = Kernel.from_source(_kernel_text(body), "k", NAMES)
    kinds = []
    for text in PARAMETERS.values():
        kind = getattr(types, text.removesuffix("[]"))
        kinds.append(typing.ArrayType(kind, 1) if text.endswith("[]") else kind)
    found: dict[str, set[str]] = {}
    for name, kind in kernel.program(tuple(kinds)).types["kernel_k"]:
        found.setdefault(name, set()).add(_plain(kind))
    return found


def pretend_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the compiler ask for a GPU's compute capability where there is none."""
    from numba.cuda import api, dispatcher

    device = type("Device", (), {"compute_capability": (8, 0)})
    for module in (api, dispatcher):
        if hasattr(module, "get_current_device"):
            monkeypatch.setattr(module, "get_current_device", lambda: device)


def _compilers(body: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """The same from the front end of the real compiler, told that there is a GPU."""
    from numba import cuda
    from numba.cuda.compiler import compile_cuda

    pretend_gpu(monkeypatch)
    arguments = []
    for text in PARAMETERS.values():
        kind = getattr(types, text.removesuffix("[]"))
        arguments.append(types.Array(kind, 1, "C") if text.endswith("[]") else kind)
    names = {**NAMES, "cuda": cuda}
    exec(_kernel_text(body).removeprefix("@cuda.jit\n"), names)
    result = compile_cuda(names["k"], types.void, tuple(arguments), cc=(8, 0))
    found: dict[str, set[str]] = {}
    for name, kind in result.type_annotation.typemap.items():
        if not name.startswith("$"):
            found.setdefault(name.split(".")[0], set()).add(_plain(kind))
    return found


def _differences(body: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    ours, theirs = _ours(body), _compilers(body, monkeypatch)
    compared = [name for name in ours if name in theirs]
    assert compared, "no variable to compare"
    return [f"{n}: {ours[n]} here, {theirs[n]} in Numba" for n in compared if ours[n] != theirs[n]]


def test_there_are_many_programs() -> None:
    """Loops whose variables change their type, branches, tuples, arrays, calls."""
    assert len(BODIES) >= 80


@needs_compiler
@pytest.mark.parametrize("at", range(0, len(BODIES), 8))
def test_variables_have_the_compilers_types(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each variable of each program: the same set of types, no more and no fewer."""
    assert _differences(BODIES[at], monkeypatch) == []


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("at", [k for k in range(len(BODIES)) if k % 8])
def test_variables_of_all_programs_have_the_compilers_types(
    at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same for the other programs."""
    assert _differences(BODIES[at], monkeypatch) == []
