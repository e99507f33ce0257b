"""Judge with an end: in a process of its own, where what a kernel does to memory or to a native
compiler it does to that process, or here.
"""

from __future__ import annotations

import json
import math
import os
import select
import signal
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

#: A machine with other work takes this many times longer, and that is nobody's fault.
_PATIENCE = 4


class TooSlow(Exception):
    """The work did not end in its time and was stopped."""


class Died(Exception):
    """The process ended without a word; the text says how."""


def apart(work: Callable[[], Any], seconds: float) -> Any:
    """What `work()` returns, which must be plain data for JSON, out of a fork of this process.

    seconds: of computing; by the clock it may take four times as long.
    Raises TooSlow, Died, or RuntimeError with the traceback of what `work` raised.  Where a process
    cannot be forked the work is done here, without a limit.
    """
    if not hasattr(os, "fork"):
        return work()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _child(work, writing, seconds)
    os.close(writing)
    try:
        data = _read(reading, time.monotonic() + _PATIENCE * seconds)
    finally:
        os.close(reading)
        _end(pid)
        _, status = os.waitpid(pid, 0)
    if data is None:
        raise TooSlow
    try:
        kind, value = json.loads(data)
    except ValueError:
        code = os.waitstatus_to_exitcode(status)
        if code == -signal.SIGXCPU:
            raise TooSlow from None
        raise Died(f"The judging process ended with code {code}.") from None
    if kind == "raised":
        raise RuntimeError(value)
    return value


def here(work: Callable[[], T], seconds: float) -> T:
    """`work()` in this process, after `seconds` of computing TooSlow.

    For work that a student's text can prolong but not break; what it has loaded serves the next.
    There is no limit where signals cannot make one, and outside the main thread.
    """
    usable = hasattr(signal, "setitimer")
    if not usable or threading.current_thread() is not threading.main_thread():
        return work()

    def stop(number: int, frame: object) -> None:
        raise _Stop

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        return work()
    except _Stop:
        raise TooSlow from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class _Stop(BaseException):
    """Not an Exception, so that nothing between the clock and here takes it for a fault."""


def _child(work: Callable[[], Any], writing: int, seconds: float) -> None:
    """Do the work, say what came of it, and end without anything of the parent's."""
    try:
        import resource  # not on Windows

        limit = math.ceil(seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
        os.setsid()  # a compiler that this process starts ends with it
        try:
            said = json.dumps(["done", work()])
        except BaseException:
            said = json.dumps(["raised", traceback.format_exc()])
        data = memoryview(said.encode())
        while data:
            data = data[os.write(writing, data) :]
    finally:
        os._exit(0)


def _read(reading: int, deadline: float) -> bytes | None:
    """All bytes until the other side closes; None when the deadline comes first."""
    found = bytearray()
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return None
        part = os.read(reading, 1 << 16)
        if not part:
            return bytes(found)
        found += part


def _end(pid: int) -> None:
    """Kill the child and its group."""
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
