"""Times on a GPU: events, warm-up, interleaving, a cold L2, median and spread, and a sanity floor.

    measure(saxpy[blocks, threads], out, x, y, a)    -> Measurement, label "measured on <device>"
Without a GPU it raises NoGpuError: nothing here is ever estimated.
"""

from .launch import NoGpuError, measure
from .sampling import FasterThanPhysicsError, Measurement, sample

__all__ = ["FasterThanPhysicsError", "Measurement", "NoGpuError", "measure", "sample"]
