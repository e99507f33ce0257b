"""measure() without a GPU says so; ncu's page is read."""

from __future__ import annotations

import numpy as np
import pytest

from warpwise import backend, cuda
from warpwise.measure import NoGpuError, measure
from warpwise.measure.ncu import NcuError, ncu_counters, parse


@cuda.jit
def double(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + x[i]


@pytest.mark.skipif(backend() == "gpu", reason="a GPU is here")
def test_without_a_gpu_nothing_is_measured() -> None:
    """No number, a sentence."""
    x = np.ones(64, np.float32)
    with pytest.raises(NoGpuError, match="nothing was measured"):
        measure(double[2, 32], np.zeros_like(x), x)


def test_without_ncu_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nsight Compute is not part of the course."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NcuError, match="not installed"):
        ncu_counters(double[2, 32], (), ["m"])


def test_the_page_of_ncu_is_read() -> None:
    """Its CSV has one row a metric, thousands with commas, and lines before the table."""
    page = (
        "==PROF== Connected to process 1\n"
        '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'
        '"0","double","l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum","sector","262,144"\n'
        '"0","double","sm__cycles.avg","cycle","1,024.5"\n'
    )
    assert parse(page) == {
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 262144.0, "sm__cycles.avg": 1024.5,
    }  # fmt: skip
    with pytest.raises(NcuError, match="no counters: ==ERROR== x"):
        parse("==ERROR== x")


@pytest.mark.gpu
def test_a_launch_is_timed_and_explain_carries_the_time() -> None:
    """256 MB through DRAM: a median, quartiles near it, never faster than the modelled floor."""
    from warpwise import explain

    x = np.ones(1 << 25, np.float32)
    got = measure(double[(1 << 25) // 256, 256], np.zeros_like(x), x)
    assert got.median_ms > 0 and got.high_ms < 10 * got.median_ms
    small = x[: 1 << 20]
    assert explain(double[4096, 256], np.zeros_like(small), small).measured is not None
