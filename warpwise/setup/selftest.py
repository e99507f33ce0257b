"""Runs one kernel the way a notebook does and checks every value.

    python -m warpwise.setup.selftest          on the backend that a notebook would get

Prints the backend's name.  Exit status 1 and a sentence when a value is wrong.
"""

# warpwise.cuda becomes numba.cuda or the simulator at run time, so its names are not in its file.
# mypy: disable-error-code="attr-defined"

from __future__ import annotations

import sys

import numpy as np

import warpwise
from warpwise import cuda


@cuda.jit
def saxpy(out, x, y, a):
    """out = a*x + y, one element a thread."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + y[i]


def main() -> int:
    """Runs saxpy on 1000 elements: the last of 8 blocks has threads past the end."""
    x = np.arange(1000, dtype=np.float32)
    y = np.ones_like(x)
    out = np.full_like(x, np.nan)
    saxpy[8, 128](out, x, y, np.float32(2))
    wrong = np.flatnonzero(out != 2 * x + y)
    if wrong.size:
        print(f"{wrong.size} of {out.size} values are wrong, the first at {wrong[0]}")
        return 1
    if warpwise.backend() == "sim":
        warm()
    print(warpwise.backend())
    return 0


def warm() -> None:
    """Compiles what the simulator keeps compiled, so that the first lab does not wait for it."""
    from warpwise.observe import addresses, claims, shadow, touched, warps
    from warpwise.simt import atomics, blending, random, strips

    for module in (atomics, blending, random, strips, addresses, claims, shadow, touched, warps):
        module.warm()


if __name__ == "__main__":
    sys.exit(main())
