"""A first small launch, as a notebook would do it; run in a fresh process."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpwise import cuda


@cuda.jit
def double(x: Any) -> None:
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2


x = np.ones(1000)
double[4, 256](x)
assert (x == 2).all()
