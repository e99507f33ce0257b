"""Streams and events: the order of work on a device, without a clock.

Work in the simulator is done at once and in program order, so every stream is idle when asked, and
every event that was recorded has happened.  When it happened is not known: there is no GPU.
"""

from __future__ import annotations

import asyncio
import itertools
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .errors import LaunchError
from .host_log import tell

LEGACY, PER_THREAD = 1, 2  # the handles that CUDA gives its two default streams
_handles = itertools.count(0x1000)
_events = itertools.count()


class Stream:
    """A queue of work.  `handle` is a number; 0 is the default stream."""

    def __init__(self, handle: int, external: bool = False) -> None:
        self.handle = handle
        self.external = external

    def synchronize(self) -> None:
        """Wait for the work in the stream; it is done already."""
        tell("sync", self)

    @contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """Wait at the end of a `with` block."""
        yield self
        self.synchronize()

    def add_callback(self, callback: Callable[[Any, int, Any], Any], arg: Any = None) -> None:
        """Call `callback(stream, 0, arg)` when the work before it is done: now."""
        try:
            callback(self, 0, arg)
        except Exception as error:
            warnings.warn(f"Exception in stream callback: {error}", stacklevel=2)

    def async_done(self) -> asyncio.Future[Stream]:
        """An awaitable that gives the stream when its work is done."""
        future = asyncio.get_running_loop().create_future()
        future.set_result(self)
        return future

    def __int__(self) -> int:
        return self.handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle

    def __repr__(self) -> str:
        known = {0: "Default", LEGACY: "Legacy default", PER_THREAD: "Per-thread default"}
        if self.handle in known:
            return f"<{known[self.handle]} CUDA stream of the simulator>"
        return f"<{'External ' * self.external}CUDA stream {self.handle} of the simulator>"


def stream() -> Stream:
    """A new stream."""
    return Stream(next(_handles))


def default_stream() -> Stream:
    """The default stream."""
    return Stream(0)


def legacy_default_stream() -> Stream:
    """The default stream that waits for all others."""
    return Stream(LEGACY)


def per_thread_default_stream() -> Stream:
    """The default stream of this thread."""
    return Stream(PER_THREAD)


def external_stream(ptr: int) -> Stream:
    """A stream that another library made; `ptr` is its handle."""
    return Stream(int(ptr), external=True)


def check_stream(value: Any) -> None:
    """LaunchError for what is no stream, in a launch configuration."""
    if value is None or hasattr(value, "__cuda_stream__") or (isinstance(value, int) and not value):
        return
    hint = (
        f" Dynamic shared memory is the fourth: kernel[blocks, threads, 0, {value}]."
        if isinstance(value, int) and not isinstance(value, bool)
        else " Use cuda.stream(), or 0 for the default stream."
    )
    raise LaunchError(f"the third part of the configuration is a stream, got {value!r}.{hint}")


class Event:
    """Marks a point in a stream."""

    handle = 0

    def __init__(self, timing: bool = True) -> None:
        self.timing = timing
        self.recorded = False
        self.number = next(_events)

    def record(self, stream: Any = 0) -> None:
        """Mark the point that the stream has reached."""
        self.recorded = True
        tell("record", stream, event=self.number)

    def synchronize(self) -> None:
        """Wait until the point is reached; it is."""
        tell("sync", event=self.number)

    def wait(self, stream: Any = 0) -> None:
        """Make a stream wait for the point; it is reached."""
        tell("wait", stream, event=self.number)

    def query(self) -> bool:
        """Whether the point is reached."""
        return True

    def elapsed_time(self, evtend: Event) -> float:
        """Milliseconds on the GPU until `evtend`: see event_elapsed_time."""
        return event_elapsed_time(self, evtend)


def event(timing: bool = True) -> Event:
    """A new event."""
    return Event(timing)


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Milliseconds on the GPU between two events: NaN, with a warning, since there is no GPU.

    RuntimeError where CUDA gives an error: events not recorded, or made with timing=False.
    """
    for name, one in (("first", evtstart), ("second", evtend)):
        if not one.timing:
            raise RuntimeError(f"the {name} event was made with timing=False: it has no time")
        if not one.recorded:
            raise RuntimeError(f"the {name} event was not recorded: call event.record() first")
    warnings.warn(
        "the simulator has no GPU clock: the elapsed time is NaN. Time kernels on a GPU.",
        stacklevel=2,
    )
    return float("nan")


@contextmanager
def defer_cleanup() -> Iterator[None]:
    """Frees nothing inside the `with` block; here Python frees memory."""
    yield


def profile_start() -> None:
    """Starts a profiler that listens, such as Nsight; none can listen here.  To count what a kernel
    does, use warpwise.profile."""


def profile_stop() -> None:
    """Stops it."""


@contextmanager
def profiling() -> Iterator[None]:
    """profile_start and profile_stop around a `with` block."""
    profile_start()
    yield
    profile_stop()
