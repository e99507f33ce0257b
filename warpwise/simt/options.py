"""Options of @cuda.jit that limit a launch; the others speak to the compiler alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import LaunchError

CARVEOUTS = ("default", "maxl1", "maxshared")


def check_options(options: Mapping[str, Any]) -> None:
    """ValueError for values that the compiler does not take."""
    bounds = options.get("launch_bounds")
    if isinstance(bounds, tuple) and len(bounds) > 3:
        raise ValueError(
            f"Got {len(bounds)} launch bounds: {bounds}. There are at most three: the threads of a "
            "block, the blocks of a multiprocessor, the blocks of a cluster."
        )
    carveout = options.get("shared_memory_carveout")
    if isinstance(carveout, str) and carveout.lower() not in CARVEOUTS:
        raise ValueError(
            f"Invalid carveout value: {carveout!r}. It can be {', '.join(CARVEOUTS)} or a per cent."
        )
    if isinstance(carveout, int) and not -1 <= carveout <= 100:
        raise ValueError(f"shared_memory_carveout must be between -1 and 100, got {carveout}")


def largest_block(options: Mapping[str, Any]) -> int | None:
    """The threads of a block that launch_bounds allows; None without."""
    bounds = options.get("launch_bounds")
    if bounds is None:
        return None
    return int(bounds[0] if isinstance(bounds, tuple) else bounds)


def check_bounds(options: Mapping[str, Any], threads: int) -> None:
    """LaunchError for a block that is larger than launch_bounds says."""
    limit = largest_block(options)
    if limit is not None and threads > limit:
        raise LaunchError(
            f"the kernel is compiled with launch_bounds={limit}, and a block has {threads} "
            "threads: a GPU refuses the launch. Use smaller blocks, or a larger bound."
        )
