"""Kernels from text alone: nothing of the text runs, and what cannot be had says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warpwise.simt import Kernel, SourceError, UnsupportedError
from warpwise.simt import api as cuda
from warpwise.simt.decorator import jit


def test_a_kernel_is_made_from_text_without_running_it(tmp_path: Path) -> None:
    """Module-level code, decorators and signature strings of the text are never executed."""
    mark = tmp_path / "ran"
    text = f"""
open({str(mark)!r}, "w")
@cuda.jit
def k(out):
    out[cuda.grid(1)] = 1
"""
    out = np.zeros(4)
    Kernel.from_source(text, "k")[1, 4](out)
    assert out.tolist() == [1, 1, 1, 1]
    assert not mark.exists()


@pytest.mark.parametrize(
    "signature",
    ["\"__import__('os').system('true')\"", "print(1)", "(lambda: 0)()", '"float32.__class__"'],
)
def test_a_signature_of_a_text_is_made_of_type_names(signature: str) -> None:
    """Numba would evaluate the string; anything but type names is refused before that."""
    text = f"@cuda.jit({signature})\ndef k(out):\n    out[0] = 1\n"
    with pytest.raises(SourceError, match="is not made of type names"):
        Kernel.from_source(text, "k")


@pytest.mark.parametrize(
    "signature",
    ['"void(float64[:], int32)"', '["void(float64[:], int32)"]', "(float64[:], int32)",
     "numba.void(numba.float64[::1], numba.int32)"],
)  # fmt: skip
def test_a_signature_casts_scalar_arguments(signature: str) -> None:
    """An int32 parameter gets the low 32 bits of a Python integer, as in Numba."""
    text = f"@cuda.jit({signature})\ndef k(out, n):\n    out[0] = n\n"
    out = np.zeros(1)
    Kernel.from_source(text, "k")[1, 1](out, 2**33 - 3)
    assert out[0] == -3


def test_constants_and_device_functions_of_the_text_are_found() -> None:
    """Literals of the text count, given constants win, device functions can be called."""
    text = """
SCALE = 2
OFFSET = compute()
@cuda.jit(device=True)
def twice(v):
    return SCALE * v
@cuda.jit
def k(out):
    i = cuda.grid(1)
    out[i] = twice(i) + OFFSET
"""
    out = np.zeros(3)
    Kernel.from_source(text, "k", {"OFFSET": 10})[1, 3](out)
    assert out.tolist() == [10, 12, 14]


def test_a_text_cannot_reach_other_modules() -> None:
    """os, open and __import__ are no names of a kernel made from text."""
    for call in ("os.getpid()", "open(1)", "__import__(1)", "eval(1)"):
        text = f"import os\n@cuda.jit\ndef k(out):\n    out[0] = {call}\n"
        with pytest.raises(Exception, match=r"is not defined|cannot be used in a kernel"):
            Kernel.from_source(text, "k")[1, 1](np.zeros(1))


def test_missing_pieces_are_named() -> None:
    """No such function, no decorator, no valid Python: one sentence each."""
    with pytest.raises(SourceError, match=r"there is no function k in the text\."):
        Kernel.from_source("x = 1", "k")
    with pytest.raises(SourceError, match=r"k is not a kernel: it needs @cuda\.jit above its def"):
        Kernel.from_source("def k(out):\n    pass", "k")
    with pytest.raises(SourceError, match=r"the text is not valid Python: .* in line 1"):
        Kernel.from_source("def k(:", "k")


def test_a_function_made_by_exec_runs_while_its_text_is_there() -> None:
    """The text is found in a variable; only one that compiles to the very same code counts."""
    names: dict[str, Any] = {"cuda": cuda}
    text = "\n\ndef k(out):\n    out[cuda.grid(1)] = 7\n"
    exec(text, names)
    out = np.zeros(2)
    jit(names["k"])[1, 2](out)
    assert out.tolist() == [7, 7]
    text = text.replace("7", "8")
    assert "] = 7" in jit(names["k"]).source.text  # read back from the bytecode


def test_the_generated_source_can_be_read() -> None:
    """The generated program keeps the learner's names."""
    text = (
        "@cuda.jit\ndef k(out, x):\n    i = cuda.grid(1)\n    if i < x.size:\n"
        "        out[i] = x[i]\n"
    )
    generated = Kernel.from_source(text, "k").generated(np.zeros(3), np.zeros(3))
    assert generated.splitlines() == [
        "def kernel_k(rt, m, out, x):",
        "    i = None",
        "    i = rt.grid_x",
        "    m_1, m_2 = split(m, (i < x.size))",
        "    if m_1 is not False:",
        "        v_3 = load(rt, x, (i, ), m_1, 0)",
        "        store(rt, out, (i, ), v_3, m_1, 1)",
    ]


def test_unsupported_features_name_their_line() -> None:
    """Nothing is run when a construct is not supported."""
    text = "@cuda.jit\ndef k(out):\n    out[0] = 1\n    cuda.alias(out, 0)\n"
    out = np.zeros(1)
    with pytest.raises(UnsupportedError) as error:
        Kernel.from_source(text, "k")[1, 1](out)
    assert str(error.value) == (
        "k: cuda.alias is not in the simulator\n"
        "  line 4:  cuda.alias(out, 0)\n"
        "  It is a name of Numba's own build."
    )
    assert out[0] == 0
