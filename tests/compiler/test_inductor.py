"""The text of torch.compile's fused kernels."""

from __future__ import annotations

import pytest
import torch

from warpwise.compiler import fused_cpp


def softmax(x: torch.Tensor) -> torch.Tensor:
    z = torch.exp(x - x.amax(dim=1, keepdim=True))
    return z / z.sum(dim=1, keepdim=True)


def test_a_softmax_becomes_one_kernel() -> None:
    """Five operations, one kernel: the row is read twice, exponentials stay in a local buffer."""
    kernels = fused_cpp(softmax, (6, 100))

    assert len(kernels) == 1
    assert kernels[0].startswith("void kernel(const float* in_ptr0, float* out_ptr0, ")
    assert kernels[0].count("in_ptr0[x1 + 100*x0]") == 2
    assert kernels[0].count("std::exp") == 1
    assert "static_cast<int64_t>" not in kernels[0]


def test_the_indentation_shows_the_loops() -> None:
    """Loops over rows and columns, and what is done inside of both."""
    (kernel,) = fused_cpp(lambda x, b: torch.relu(x + b), (6, 100), (100,))

    assert "for(int64_t x0=0; x0<6; x0+=1)" in kernel
    assert "        for(int64_t x1=0; x1<100; x1+=1)\n            auto tmp0 = in_ptr0" in kernel


def test_no_cpp_compiler_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text is the same where there is none."""
    before = fused_cpp(softmax, (6, 100))
    monkeypatch.setenv("CXX", "/nonexistent")
    monkeypatch.setenv("PATH", "/nonexistent")

    assert fused_cpp(softmax, (6, 100)) == before


def test_what_the_function_raises_comes_through() -> None:
    """Shapes that do not fit are torch's own error."""
    with pytest.raises(RuntimeError, match="broadcast"):
        fused_cpp(lambda x, b: x + b, (6, 100), (7,))
