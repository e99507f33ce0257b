"""The benchmarks in Numba's simulator, in a process of its own.

Numba reads NUMBA_ENABLE_CUDASIM when it is imported; `seconds` starts this file with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

from .kernels import BENCHMARKS


def seconds(names: list[str]) -> dict[str, float]:
    """CPU seconds of one launch of each benchmark at its small size."""
    output = subprocess.run(
        [sys.executable, "-m", __name__, *names],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        check=True, stdout=subprocess.PIPE, text=True,
    ).stdout  # fmt: skip
    found: dict[str, float] = json.loads(output.splitlines()[-1])
    return found


def main(names: list[str]) -> None:
    found = {}
    for name in names:
        kernel, grid, block, args = BENCHMARKS[name].make(BENCHMARKS[name].small)
        start = time.process_time()
        kernel[grid, block](*args)
        found[name] = time.process_time() - start
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
