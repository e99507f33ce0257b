"""A job in chunks: copy to the device, compute, copy back, for each chunk in turn."""

from __future__ import annotations

from .ordering import Op

STAGES = ("h2d", "kernel", "d2h")


def staged(
    chunks: int, streams: int, h2d_us: float, kernel_us: float, d2h_us: float,
    by_stage: bool = False,
) -> list[Op]:  # fmt: skip
    """The operations of a job; `h2d_us`, `kernel_us` and `d2h_us` are for all chunks together.

    Chunk k is in stream 1 + k % streams.  A stage that takes no time is left out.
    by_stage  all copies to the device are called for first, then all kernels, then all copies back;
              else chunk after chunk
    """
    times = dict(zip(STAGES, (h2d_us, kernel_us, d2h_us), strict=True))
    ops = [Op(f"{kind} {k}", kind, 1 + k % streams, us / chunks / 1000)
           for k in range(chunks) for kind, us in times.items() if us]  # fmt: skip
    return sorted(ops, key=lambda op: STAGES.index(op.kind)) if by_stage else ops


def streams_to_hide(h2d_us: float, kernel_us: float, d2h_us: float) -> int:
    """The fewest streams that keep the slowest of three engines busy; times of one chunk.

    A stream is through with a chunk after the sum of the three, and the slowest engine needs a new
    chunk after the largest.
    """
    return -int(-(h2d_us + kernel_us + d2h_us) // max(h2d_us, kernel_us, d2h_us))
