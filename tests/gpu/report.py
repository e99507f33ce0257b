"""`python -m tests.gpu.report`: what a GPU really does with the course's kernels, in one file.

Kernels right, registers, times beside the modelled bound and a library's, counters beside ncu's.
Writes tests/gpu/REPORT.md.  Exit status 0, or 3 where there is no GPU: then nothing was measured.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from warpwise import backend, explain
from warpwise.machine import gpu_problem
from warpwise.measure import measure
from warpwise.measure.ncu import NcuError, ncu_counters

from .kernels import Case, cases

REPORT = Path(__file__).with_name("REPORT.md")
NO_GPU = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line.  Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.gpu.report", description=__doc__)
    parser.add_argument("--size", type=int, default=2048, help="rows of the square arrays timed")
    parser.add_argument("--out", type=Path, default=REPORT, help="where the report goes")
    options = parser.parse_args(arguments)
    if backend() != "gpu":
        why = gpu_problem() or "the simulator was asked for"
        print(f"No report: kernels do not run on a GPU here ({why}). Nothing was measured.",
              file=sys.stderr)  # fmt: skip
        return NO_GPU
    text = "\n".join(report(options.size)) + "\n"
    options.out.write_text(text, encoding="utf-8")
    print(text)
    return 0


def report(size: int) -> Iterator[str]:
    """The report, line by line."""
    from numba import cuda

    gpu = cuda.get_current_device()
    name = gpu.name.decode() if isinstance(gpu.name, bytes) else str(gpu.name)
    major, minor = gpu.compute_capability
    yield f"# GPU report: {name}, compute capability {major}.{minor}"
    yield ""
    yield f"Taken {datetime.datetime.now(datetime.UTC):%Y-%m-%d} at {size} x {size} float32."
    yield ""
    yield f"Times and registers: measured on {name}. Bounds: modelled. Counters: counted, and"
    yield "by ncu on the same device."
    yield ""
    yield "| kernel | right | registers | median ms | quartiles | bound ms | library | of library |"
    yield "|---|---|---|---|---|---|---|---|"
    for case in cases(size):
        yield row(case)
    yield ""
    yield "## Counters against Nsight Compute"
    yield ""
    yield from counters()


def row(case: Case) -> str:
    """One kernel: right or not, and its time beside the bound and a library's."""
    out = np.zeros_like(case.args[0])
    case.kernel[case.grid, case.block](out, *case.args[1:])
    scale = float(np.abs(case.expected).max()) or 1.0
    right = bool(np.allclose(out, case.expected, rtol=1e-3, atol=1e-4 * scale))
    registers = max(case.kernel.get_regs_per_thread().values())
    library = torch_call(case)
    timed = measure(case.kernel[case.grid, case.block], out, *case.args[1:], reference=library)
    small = next(c for c in cases(256) if c.name == case.name)
    factor = case.args[1].size / small.args[1].size
    if case.name.startswith("gemm"):
        factor **= 1.5
    bound = explain(small.kernel[small.grid, small.block], *small.args).bound
    versus = f"{timed.versus:.2f}x" if timed.versus else ""
    return (
        f"| {case.name} | {'yes' if right else 'NO'} | {registers} | {timed.median_ms:.4g} | "
        f"{timed.low_ms:.4g} to {timed.high_ms:.4g} | "
        f"{bound.limiter.low_ms * factor:.4g} ({bound.limiter.name}, scaled from 256) | "
        f"{'torch' if library else ''} | {versus} |"
    )


def torch_call(case: Case) -> Any:
    """The library's way to do the same on the GPU; None without a torch that has one."""
    try:
        import torch
    except ImportError:
        return None
    if case.torch_call is None or not torch.cuda.is_available():
        return None
    there = [torch.from_numpy(a).cuda() if isinstance(a, np.ndarray) else a for a in case.args]
    return lambda: case.torch_call(torch, there)


def counters() -> Iterator[str]:
    """Our counts and ncu's for the same launches, metric by metric."""
    from warpwise import profile

    yield "| kernel | metric | counted | ncu |"
    yield "|---|---|---|---|"
    for case in cases(256):
        launch = case.kernel[case.grid, case.block]
        ours = profile(launch, *(a.copy() if isinstance(a, np.ndarray) else a for a in case.args))
        wanted = {name: value for name, value in ours.metrics().items() if name.endswith(".sum")}
        try:
            theirs = ncu_counters(launch, case.args, sorted(wanted))
        except NcuError as error:
            yield f"| {case.name} | not compared: {error} | | |"
            return
        for metric, value in sorted(wanted.items()):
            yield f"| {case.name} | {metric} | {value:g} | {theirs.get(metric, float('nan')):g} |"


if __name__ == "__main__":
    raise SystemExit(main())
