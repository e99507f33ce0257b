"""How fast ranks start, and what many launches leave behind.

    python -m tests.benchmarks.ranks [--launches 200] [--repeats 7]

Wall-clock seconds on this machine, from the call to its return.  Nothing here passes or fails.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import torch
import torch.distributed as dist

from tests.ranks.processes import left
from warpwise.ranks import run_ranks, zygote

# What a launch must stay under, in seconds; for reading, not for judging.
GOALS = {1: None, 2: None, 4: 0.3, 8: 0.5, 16: None, 32: None, 64: 3.0}


def reduce_once() -> float:
    """The sum of all ranks' ones."""
    total = torch.ones(1)
    dist.all_reduce(total)
    return float(total)


def deadlock() -> None:
    if dist.get_rank():
        dist.barrier()


def seconds(size: int, fn: Any = reduce_once, **options: Any) -> float:
    """One launch."""
    start = time.perf_counter()
    run_ranks(fn, size, echo=False, **options)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--launches", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()

    start = time.perf_counter()
    zygote.start().wait()
    print(f"the fork server was ready {time.perf_counter() - start:.1f} s after the first wait")

    print("ranks  best   median  goal   (a launch with one all-reduce, s)")
    for size, goal in GOALS.items():
        times = [seconds(size) for _ in range(options.repeats if size < 16 else 3)]
        aim = f"{goal:.1f}" if goal else "-"
        print(f"{size:5d}  {min(times):.3f}  {statistics.median(times):.3f}   {aim}")

    for timeout in (1.0, 60.0):
        times = [seconds(4, deadlock, timeout=timeout, raises=False) for _ in range(3)]
        print(
            f"a hang of 4 ranks, timeout {timeout:g} s: told after {statistics.median(times):.2f} s"
        )

    before = left()
    start = time.perf_counter()
    for k in range(options.launches):
        seconds(1 + k % 4)
    spent = time.perf_counter() - start
    after = left()
    print(f"{options.launches} launches of 1 to 4 ranks: {spent:.1f} s")
    for name, value in after.items():
        print(f"  {name}: {before[name]} -> {value}")


if __name__ == "__main__":
    main()
