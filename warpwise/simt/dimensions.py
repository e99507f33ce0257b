"""Dimensions of a launch: blocks, threads, bytes of shared memory, and their limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import LaunchError

#: Limits of every compute capability from 7.5 to 12.0.
#: Source: CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability".
MAX_THREADS_PER_BLOCK = 1024
MAX_BLOCK = (1024, 1024, 64)
MAX_GRID = (2**31 - 1, 65535, 65535)

#: Dynamic shared memory of one block, in bytes, where there is most (compute capability 9.0, 10.0).
#: Source: CUDA C++ Programming Guide, technical specifications.
MAX_SHARED = 227 * 1024

Dim3 = tuple[int, int, int]


def unravel(linear: int, extents: Dim3) -> Dim3:
    """Linear number -> (x, y, z), x fastest, as CUDA numbers threads and blocks."""
    x, rest = linear % extents[0], linear // extents[0]
    return x, rest % extents[1], rest // extents[1]


def dim3(value: Any, what: str, limits: Dim3) -> Dim3:
    """Check one half of a launch configuration: an integer or a tuple of one to three."""
    if isinstance(value, np.ndarray) and value.ndim:
        value = tuple(value.reshape(-1).tolist())
    parts = value if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(parts) <= 3:
        raise LaunchError(f"{what} has one to three dimensions, got {len(parts)}: {value}")
    sizes = []
    for axis, part in zip("xyz", parts, strict=False):
        if isinstance(part, (float, np.floating)):
            raise LaunchError(
                f"{what} has to be made of integers, got {part!r}. "
                "A division with / gives a float: use (n + threads - 1) // threads."
            )
        if isinstance(part, bool) or not hasattr(part, "__index__"):
            raise LaunchError(f"{what} has to be made of integers, got {part!r}")
        n = part.__index__()
        if n < 1:
            raise LaunchError(
                f"{what} is {value}: there is nothing to run. Every dimension is at least 1"
                + ("; for an empty array, skip the launch." if n == 0 else ".")
            )
        limit = limits["xyz".index(axis)]
        if n > limit:
            raise LaunchError(f"{what} is {value}: at most {limit:,} along {axis}.")
        sizes.append(n)
    sizes += [1] * (3 - len(sizes))
    return sizes[0], sizes[1], sizes[2]


def configuration(grid: Any, block: Any) -> tuple[Dim3, Dim3]:
    """Check kernel[grid, block]."""
    blocks = dim3(grid, "the number of blocks", MAX_GRID)
    if isinstance(block, np.ndarray) and block.ndim:
        block = tuple(block.reshape(-1).tolist())
    # The total is checked first: its message is the one that helps.
    parts = block if isinstance(block, (tuple, list)) else (block,)
    if all(hasattr(p, "__index__") and not isinstance(p, bool) for p in parts) and parts:
        total = 1
        for p in parts:
            total *= p.__index__()
        if total > MAX_THREADS_PER_BLOCK:
            raise LaunchError(
                f"a block of {block} has {total:,} threads; a GPU allows {MAX_THREADS_PER_BLOCK:,} "
                "at most. Use smaller blocks and more of them."
            )
    return blocks, dim3(block, "the block", MAX_BLOCK)


def shared_bytes(value: Any) -> int:
    """Check the dynamic shared memory of a launch, in bytes."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise LaunchError(f"the dynamic shared memory is a number of bytes, got {value!r}")
    n = int(value.__index__())
    if not 0 <= n <= MAX_SHARED:
        raise LaunchError(
            f"the dynamic shared memory is {n:,} bytes; a block can have 0 to {MAX_SHARED:,}."
        )
    return n


def check_shared(name: str, static: int, dynamic: int) -> None:
    """A block has one piece of shared memory: for declared arrays, and for dynamic ones."""
    if static and dynamic and static + dynamic > MAX_SHARED:
        raise LaunchError(
            f"{name}: the shared arrays of this kernel take {static:,} bytes and the launch asks "
            f"for {dynamic:,} more; a block can have {MAX_SHARED:,} in all."
        )
