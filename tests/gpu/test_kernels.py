"""The kernels of the GPU report: right in the simulator, and right on a GPU where there is one."""

from __future__ import annotations

import numpy as np
import pytest

from tests.gpu.kernels import Case, cases

SIZE = 100  # odd for every tile and warp


def run(case: Case) -> np.ndarray:
    out = np.zeros_like(case.args[0])
    case.kernel[case.grid, case.block](out, *case.args[1:])
    return out


@pytest.mark.parametrize("case", cases(SIZE), ids=lambda case: case.name)
def test_the_kernels_are_right_where_they_run(case: Case) -> None:
    """Against NumPy in float64."""
    np.testing.assert_allclose(run(case), case.expected, rtol=2e-4, atol=2e-3)


@pytest.mark.gpu
@pytest.mark.parametrize("case", cases(SIZE), ids=lambda case: case.name)
def test_gpu_and_simulator_agree(case: Case) -> None:
    """The same kernel in both, to float32's accuracy."""
    from warpwise.simt.adoption import as_kernel

    simulated = np.zeros_like(case.args[0])
    as_kernel(case.kernel)[case.grid, case.block](simulated, *case.args[1:])
    np.testing.assert_allclose(run(case), simulated, rtol=2e-5, atol=2e-4)


@pytest.mark.gpu
@pytest.mark.parametrize("case", cases(SIZE), ids=lambda case: case.name)
def test_registers_are_near_what_the_compiler_said(case: Case) -> None:
    """A launch links through LTO; the assembler's figure for the PTX is within eight registers."""
    from numba import cuda

    from warpwise.compiler import compile_kernel

    run(case)
    cc = cuda.get_current_device().compute_capability
    said = compile_kernel(case.kernel, case.args, tuple(cc)).registers
    there = max(case.kernel.get_regs_per_thread().values())
    assert abs(said - there) <= 8
