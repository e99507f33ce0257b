"""Sizes of shared and local arrays: what Numba's compiler takes as a literal, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.simt.test_typed_programs import pretend_gpu
from tests.simt.test_typing import needs_compiler
from warpwise.simt import Kernel, TypingError

NAMES: dict[str, Any] = {"TILE": 16, "SHAPE": (4, 5), "FLAG": True, "I32": np.int32(4)}

LITERAL = [
    "s = cuda.{}.array(TILE, np.float32)", "s = cuda.{}.array((TILE, 17), np.float32)",
    "s = cuda.{}.array(2 * 4, np.float32)", "s = cuda.{}.array(SHAPE, np.float32)",
    "s = cuda.{}.array(SHAPE[0], np.float32)", "m = TILE\n    s = cuda.{}.array(m, np.float32)",
    "p, q = SHAPE\n    s = cuda.{}.array(p, np.float32)",
    "p, q = 4, 5\n    s = cuda.{}.array((p, q), np.float32)",
    "s = cuda.{}.array(4 if FLAG else 8, np.float32)", "s = cuda.{}.array(x.ndim, np.float32)",
    "s = cuda.{}.array(dtype=np.float32, shape=TILE)",
    "m: int = 4\n    s = cuda.{}.array(m, np.float32)",
]  # fmt: skip

COMPUTED = [
    ("s = cuda.{}.array((TILE, TILE + 1), np.float32)", "TILE + 1"),
    ("s = cuda.{}.array(TILE * 2, np.float32)", "TILE * 2"),
    ("m = TILE + 1\n    s = cuda.{}.array(m, np.float32)", "TILE + 1"),
    ("p, q = 4, -TILE + 40\n    s = cuda.{}.array(q, np.float32)", "-TILE + 40"),
    ("s = cuda.{}.array(len(SHAPE), np.float32)", "len(SHAPE)"),
    ("s = cuda.{}.array(np.int32(4), np.float32)", "np.int32(4)"),
    ("s = cuda.{}.array(min(4, 8), np.float32)", "min(4, 8)"),
    ("s = cuda.{}.array(cuda.warpsize, np.float32)", "cuda.warpsize"),
    ("s = cuda.{}.array(I32, np.float32)", "I32"),
    ("s = cuda.{}.array(shape=TILE + 1, dtype=np.float32)", "TILE + 1"),
]  # fmt: skip


def _text(body: str, space: str) -> str:
    return f"@cuda.jit\ndef k(x):\n    {body.format(space)}\n    x[0] = 1\n"


@pytest.mark.parametrize("space", ["shared", "local"])
@pytest.mark.parametrize("body", LITERAL)
def test_literal_sizes(body: str, space: str) -> None:
    """Numbers, what Python folds, globals, names that are one of these."""
    Kernel.from_source(_text(body, space), "k", NAMES)[1, 1](np.zeros(1))


@pytest.mark.parametrize("space", ["shared", "local"])
@pytest.mark.parametrize(("body", "part"), COMPUTED)
def test_computed_sizes_are_refused(body: str, part: str, space: str) -> None:
    """What the kernel would have to compute is named, with where to compute it."""
    kernel = Kernel.from_source(_text(body, space), "k", NAMES)
    with pytest.raises(TypingError) as caught:
        kernel[1, 1](np.zeros(1))
    assert f"does not take {part} as a constant" in str(caught.value)
    assert f"SIZE = {part}" in str(caught.value)


@needs_compiler
@pytest.mark.parametrize("literal", [True, False])
def test_the_compiler_agrees(literal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba's own compiler takes the first list and refuses the second."""
    from numba import cuda, types
    from numba.core.errors import NumbaError

    pretend_gpu(monkeypatch)
    for body in LITERAL if literal else [body for body, _ in COMPUTED]:
        names: dict[str, Any] = {**NAMES, "cuda": cuda, "np": np}
        exec(_text(body, "shared").removeprefix("@cuda.jit\n"), names)
        try:
            cuda.compile_ptx(names["k"], (types.float64[::1],), cc=(8, 0))
            taken = True
        except NumbaError:
            taken = False
        assert taken == literal, body
