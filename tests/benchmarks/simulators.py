"""Our simulator beside Numba's, same kernels and sizes, in one run.

    python -m tests.benchmarks.simulators

Numba's simulator is chosen by an environment variable before its import, so it runs in a process of
its own, started from here.  Times are wall-clock seconds of the simulators, not of any GPU.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any


def best(call: Any, repeats: int) -> float:
    """Shortest of some repeats, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def of_numba() -> dict[str, float]:
    """Seconds per benchmark in Numba's simulator; run in a process with NUMBA_ENABLE_CUDASIM=1."""
    from .kernels import BENCHMARKS

    found = {}
    for name, (make, size, _) in BENCHMARKS.items():
        kernel, grid, block, args = make(size)
        found[name] = best(lambda k=kernel[grid, block], a=args: k(*a), 1)
    return found


def of_ours(full: bool) -> dict[str, float]:
    """Seconds per benchmark in our simulator, first launch (lowering) left out."""
    from warpwise.simt import install

    install()
    from .kernels import BENCHMARKS

    found = {}
    for name, (make, small, large) in BENCHMARKS.items():
        kernel, grid, block, args = make(large if full else small)
        launch = kernel[grid, block]
        launch(*args)
        found[name] = best(lambda k=launch, a=args: k(*a), 5)
    return found


def main() -> None:
    if "--numba" in sys.argv:
        print(json.dumps(of_numba()))
        return
    ours, full = of_ours(False), of_ours(True)
    from .kernels import BENCHMARKS

    output = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.simulators", "--numba"],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        check=True, stdout=subprocess.PIPE, text=True,
    ).stdout  # fmt: skip
    theirs = json.loads(output.splitlines()[-1])
    print(f"{'kernel':12} {'size':>7} {'Numba s':>9} {'ours ms':>9} {'ratio':>8} "
          f"{'full size':>10} {'ours ms':>9}")  # fmt: skip
    ratios = []
    for name, (_, small, large) in BENCHMARKS.items():
        ratio = theirs[name] / ours[name]
        ratios.append(ratio)
        print(f"{name:12} {small:7} {theirs[name]:9.3f} {1e3 * ours[name]:9.2f} {ratio:8,.0f} "
              f"{large:10} {1e3 * full[name]:9.1f}")  # fmt: skip
    print(f"median ratio {statistics.median(ratios):,.0f}, worst {min(ratios):,.0f}")


if __name__ == "__main__":
    main()
