"""Which machine runs kernels: a GPU that fails means the simulator, and a sentence, once."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numba.cuda
import pytest

from warpwise import machine


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Says that a GPU is here whose first kernel ends with this driver error."""

    def start(message: str) -> None:
        class CudaAPIError(RuntimeError):
            pass

        def jit(function: Any) -> Any:
            raise CudaAPIError(message)

        monkeypatch.setattr(numba.cuda, "is_available", lambda: True)
        monkeypatch.setattr(numba.cuda, "jit", jit)

    monkeypatch.delenv("WARPWISE_BACKEND", raising=False)
    for name in ("backend", "gpu_problem"):  # asked anew, and for this test alone
        monkeypatch.setattr(machine, name, cache(getattr(machine, name).__wrapped__))
    return start


@pytest.mark.parametrize(("message", "said"), [
    ("[222] Call to cuModuleLoadDataEx results in CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "driver is older than the PTX .* install a newer NVIDIA driver"),
    ("[800] Call to cuCtxCreate results in CUDA_ERROR_NOT_PERMITTED",
     "may not use the GPU; ask whoever runs the machine"),
    ("[209] CUDA_ERROR_NO_BINARY_FOR_GPU", "too old for the compiler"),
    ("[999] CUDA_ERROR_UNKNOWN\nmore", r"simulator: CudaAPIError: \[999\] CUDA_ERROR_UNKNOWN\.$"),
    ("", "no message"),
])  # fmt: skip
def test_a_broken_gpu_falls_back_and_says_so_once(
    broken: Callable[[str], None], message: str, said: str
) -> None:
    """With what it means and the way on; the second call is silent."""
    broken(message)
    with pytest.warns(UserWarning, match=f"kernels run in the simulator.*{said}|{said}"):
        assert machine.backend() == "sim"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert machine.backend() == "sim"


def test_a_wish_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """WARPWISE_BACKEND is gpu or sim."""
    monkeypatch.setenv("WARPWISE_BACKEND", "tpu")
    with pytest.raises(ValueError, match="'tpu'; it can be gpu or sim"):
        machine.backend.__wrapped__()
