"""The benchmarks run: every kernel launches, and the figures come out as text and as data."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.benchmarks import __main__ as benchmarks
from tests.benchmarks import kernels, loops
from warpwise.simt import run


@pytest.mark.parametrize("name", kernels.BENCHMARKS)
def test_every_benchmark_launches(name: str) -> None:
    """At its small size, with something in its output."""
    kernel, grid, block, args = kernels.BENCHMARKS[name].make(kernels.BENCHMARKS[name].small)
    run(kernel, grid, block, args)
    assert args[0].any()


def test_the_loops_do_the_arithmetic_of_the_kernel() -> None:
    """The compiled loops give the kernel's product, bit for bit."""
    kernel, grid, block, args = kernels.BENCHMARKS["gemm tiled"].make(48)
    run(kernel, grid, block, args)
    expected = args[0].copy()
    loops.gemm(*args)
    assert (args[0] == expected).all()


def test_figures_as_text_and_as_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One command prints ratios and writes seconds."""
    small = kernels.Benchmark(kernels.saxpy, 256, 512)
    product = kernels.Benchmark(kernels.gemm_tiled, 16, 32)
    monkeypatch.setattr(benchmarks, "BENCHMARKS", {"saxpy": small, "gemm tiled": product})
    monkeypatch.setattr(benchmarks.numba_simulator, "seconds", lambda names: {"saxpy": 1.0})
    monkeypatch.setattr(benchmarks, "first_call", lambda: 0.5)
    file = tmp_path / "figures.json"
    monkeypatch.setattr(
        sys, "argv", ["benchmarks", "--only", "saxpy", "--repeats", "1", "--json", str(file)]
    )
    benchmarks.main()
    printed = capsys.readouterr().out
    assert "times faster" in printed
    assert "times compiled loops" in printed
    figures = json.loads(file.read_text())["kernels"]["saxpy"]
    assert set(figures) == {"small", "numba", "plain", "counters", "sanitizer", "peak_mb"}
