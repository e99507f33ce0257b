"""How fast the simulator is, as ratios measured in one run.

    python -m tests.benchmarks [--only "saxpy,gemm tiled"] [--repeats 5] [--json FILE] [--no-numba]

Times are CPU seconds of simulators on this machine, not of any GPU.  Nothing here passes or fails.

A launch runs on one core.  Blocks of a launch may store to one element, and then the last in block
order wins, in every run; with chunks on two cores it would be whoever comes last.  What two cores
would gain at most is printed, too: what is not spent in NumPy's and compiled loops holds Python's
interpreter lock.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from warpwise.observe.counters import Counters
from warpwise.observe.sanitizer import Sanitizer
from warpwise.simt import run

from . import loops, numba_simulator
from .kernels import BENCHMARKS, Benchmark
from .measure import peak_megabytes, shortest


def small(benchmark: Benchmark, repeats: int) -> float:
    """Seconds of a plain launch at the size that Numba's simulator gets."""
    kernel, grid, block, args = benchmark.make(benchmark.small)
    return shortest({"plain": lambda: run(kernel, grid, block, args)}, 2 * repeats)["plain"]


def full(benchmark: Benchmark, repeats: int) -> dict[str, float]:
    """Seconds at full size: plain, with counters, with the sanitizer; and the peak in megabytes."""
    kernel, grid, block, args = benchmark.make(benchmark.full)
    found = shortest({
        "plain": lambda: run(kernel, grid, block, args),
        "counters": lambda: run(kernel, grid, block, args, [Counters()]),
        "sanitizer": lambda: run(kernel, grid, block, args, [Sanitizer()]),
    }, repeats)  # fmt: skip
    copies = sum(a.nbytes for a in args[:1] if hasattr(a, "nbytes"))  # of what it writes
    found["peak_mb"] = peak_megabytes(lambda: run(kernel, grid, block, args)) - copies / 1e6
    return found


def against_loops(repeats: int) -> dict[str, float]:
    """Seconds of the tiled product with all counters, and of compiled loops that only multiply."""
    benchmark = BENCHMARKS["gemm tiled"]
    kernel, grid, block, args = benchmark.make(benchmark.full)
    return shortest({
        "simulator": lambda: run(kernel, grid, block, args),
        "simulator with counters": lambda: run(kernel, grid, block, args, [Counters()]),
        "loops": lambda: loops.gemm(*args),
    }, repeats)  # fmt: skip


def two_threads(repeats: int) -> dict[str, float]:
    """Wall-clock seconds of two launches one after the other, and in two threads."""
    benchmark = BENCHMARKS["gemm tiled"]
    launches = [benchmark.make(benchmark.full) for _ in range(2)]

    def in_threads() -> None:
        threads = [threading.Thread(target=run, args=launch) for launch in launches]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return shortest({
        "one after the other": lambda: [run(*launch) for launch in launches],
        "two threads": in_threads,
    }, repeats, time.perf_counter)  # fmt: skip


def first_call() -> float:
    """Wall-clock seconds of a first small launch in a fresh process, imports included."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "tests.benchmarks.first_call"], check=True)
    return time.perf_counter() - start


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    """Print rows in columns, the first to the left."""
    lines = [head, *rows]
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    for line in lines:
        cells = [line[0].ljust(widths[0])]
        print("  ".join(cells + [c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True)]))


def measure(names: list[str], repeats: int, numba: bool) -> dict[str, Any]:
    """All figures; seconds unless a name says otherwise."""
    found: dict[str, Any] = {"kernels": {}}
    theirs = {}
    if numba:
        print("Numba's simulator runs ...", file=sys.stderr)
        theirs = numba_simulator.seconds([n for n in names if BENCHMARKS[n].in_numba])
    for name in names:
        print(f"{name} ...", file=sys.stderr)
        benchmark = BENCHMARKS[name]
        figures: dict[str, Any] = {"small": small(benchmark, repeats), **full(benchmark, repeats)}
        if name in theirs:
            figures["numba"] = theirs[name]
        found["kernels"][name] = figures
    found["gemm"] = against_loops(repeats)
    found["threads"] = two_threads(repeats)
    found["first_call"] = first_call()
    return found


def show(found: dict[str, Any]) -> None:
    kernels: dict[str, dict[str, float]] = found["kernels"]
    ratios = {n: f["numba"] / f["small"] for n, f in kernels.items() if "numba" in f}
    if ratios:
        print("Small sizes, against Numba's simulator (wanted: median 1000, worst 100)\n")
        table(
            ("kernel", "size", "Numba s", "ours ms", "times faster"),
            [(n, str(BENCHMARKS[n].small), f"{kernels[n]['numba']:.3f}",
              f"{1e3 * kernels[n]['small']:.2f}", f"{ratio:,.0f}") for n, ratio in ratios.items()],
        )  # fmt: skip
        print(f"\nmedian {statistics.median(ratios.values()):,.0f}, "
              f"worst {min(ratios.values()):,.0f}\n")  # fmt: skip
    print("Full sizes (wanted: counters 3, sanitizer 1.5, where it watches global memory 4; "
          "peak 16 MB)\n")  # fmt: skip
    table(
        ("kernel", "size", "plain ms", "counters", "sanitizer", "peak MB"),
        [(n, str(BENCHMARKS[n].full), f"{1e3 * f['plain']:.1f}",
          f"{f['counters'] / f['plain']:.2f}", f"{f['sanitizer'] / f['plain']:.2f}",
          f"{f['peak_mb']:.1f}") for n, f in kernels.items()],
    )  # fmt: skip
    gemm = found["gemm"]
    print(f"\nTiled product of 512 x 512 with all counters: {gemm['simulator with counters']:.2f} "
          f"s, {gemm['simulator with counters'] / gemm['loops']:.2f} times compiled loops "
          f"({gemm['loops']:.2f} s; wanted: 2.5)")  # fmt: skip
    threads = found["threads"]
    share = threads["two threads"] / threads["one after the other"]
    print(f"Two launches in two threads take {share:.2f} of the time of one after the other")
    print(f"First call in a fresh process: {found['first_call']:.1f} s (wanted: 6)")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("--only", default="", help="names of benchmarks, with commas between")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the figures to this file, in seconds")
    parser.add_argument("--no-numba", action="store_true", help="leave Numba's simulator out")
    options = parser.parse_args()
    names = [name.strip() for name in options.only.split(",") if name.strip()] or list(BENCHMARKS)
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    found = measure(names, options.repeats, not options.no_numba)
    show(found)
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
