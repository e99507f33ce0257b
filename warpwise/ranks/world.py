"""The ranks of one `run_ranks`, seen from the process that called it.

The calling thread does everything: asks for the processes, reads what they print and answer,
keeps the deadline.  However it leaves - with answers, an error, an interrupt - closing the
world's socket ends every rank.
"""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import shutil
import signal
import socket
import sys
import tempfile
import time
from typing import Any

from . import output, pickling, wire, zygote
from .failure import with_collateral
from .interrupts import without_interrupts
from .outcome import FOREVER, Outcome
from .rank_end import RankEnd

MOST = 128  # ranks: each needs two open files here
GRACE = 1.0  # seconds that the others get after a first failure to end or to show where they wait
LOOK = 0.1  # seconds between two looks at the others after a failure
PATIENCE = 1.5  # and between two looks at ranks that all may wait for ever
ANSWER = 0.4  # seconds to answer a question; after that a signal asks
CLOSE = 10.0  # seconds for the kernel to end processes that were killed


class World:
    """A context: ranks start on the way in and are gone on the way out."""

    def __init__(self, payload: bytes, size: int, backend: str | None, live: bool) -> None:
        self.live = live
        self.ranks: list[RankEnd] = []
        self.selector = selectors.DefaultSelector()
        self.server = zygote.start()
        folder = self.server.wait()
        os.makedirs(folder, mode=0o700, exist_ok=True)  # a cleaner of old files may have been there
        self.folder = tempfile.mkdtemp(dir=folder)
        self.sock: socket.socket | None = None
        self.start = time.monotonic()
        facts = {
            "size": size,
            "backend": backend,
            "folder": self.folder,
            "cwd": working_folder(),
            "path": sys.path,
            "environment": dict(os.environ),
        }
        try:
            # An interrupt between two halves of a message would confuse the fork server.
            with pickling.nameless_file(payload) as file, without_interrupts():
                self.sock = self.server.open(facts, file)
                self.inbox = wire.Inbox(self.sock)
                for rank in range(size):
                    self.fork(rank)
                self.sock.setblocking(False)
                self.selector.register(self.sock, selectors.EVENT_READ)
        except OSError as error:
            self.close()
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            raise RuntimeError(
                f"{size} ranks need {2 * size} open files here, and this process may not open as "
                f"many. Ask for fewer ranks, or raise the limit before starting: `ulimit -n 1024`."
            ) from None
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fork(self, rank: int) -> None:
        """Ask for one rank."""
        assert self.sock is not None
        control, its_control = socket.socketpair()
        try:
            printed, its_printed = os.pipe()
        except OSError:
            control.close()
            its_control.close()
            raise
        end = RankEnd(rank, self.folder, control, printed)
        self.ranks.append(end)
        try:
            files = [its_control.fileno(), its_printed]
            wire.send_with_files(self.sock, {"kind": "fork", "rank": rank}, files)
        finally:
            its_control.close()
            os.close(its_printed)
        self.selector.register(control, selectors.EVENT_READ, end.listen)
        self.selector.register(printed, selectors.EVENT_READ, end)

    def attend(self, seconds: float) -> None:
        """Take what comes, for at most that long or until something came."""
        exits = False
        for key, _ in self.selector.select(max(0.0, seconds)):
            if key.fileobj is self.sock:
                exits = True
            elif isinstance(key.data, RankEnd):
                self.read(key.data)
            else:
                key.data()
        if exits:  # last: what a rank said is older than its end
            self.take_exits()
        for end in self.ranks:
            if end.inbox.closed and end.control in self.selector.get_map():
                self.selector.unregister(end.control)

    def read(self, end: RankEnd) -> None:
        data = end.read()
        if not data:
            self.selector.unregister(end.printed)
        elif self.live:
            self.show(end, data)

    def show(self, end: RankEnd, data: bytes = b"\n") -> None:
        """Print the lines that are whole."""
        *lines, end.unshown = (end.unshown + data).split(b"\n")
        if len(end.unshown) > output.HEAD:  # a line without an end
            lines, end.unshown = [*lines, end.unshown], b""
        for line in output.lines_of(b"\n".join(lines).decode(errors="replace")):
            print(f"[rank {end.rank}] {line}", flush=True)

    def take_exits(self) -> None:
        """Ranks whose process has ended."""
        for message, _ in self.inbox.read():
            end = self.ranks[message["rank"]]
            if message["kind"] == "refused":
                raise RuntimeError(
                    f"rank {end.rank} of {len(self.ranks)} could not be started: "
                    f"{message['message']}. Ask for fewer ranks, or close other programs."
                )
            while not (end.inbox.closed or end.inbox.empty):
                end.listen()
            end.exit_code = message["code"]
            end.exit_time = time.monotonic()
        if self.inbox.closed:
            raise RuntimeError(
                "the process that forks ranks has ended, and the ranks with it. Run again: "
                "a new one is started. If this repeats, the machine may be out of memory."
            )

    def watch(self, timeout: float) -> bool:
        """Until all have ended, a failure has settled, or the time is over; whether in time."""
        limit, failed, look = self.start + timeout, False, self.start + PATIENCE
        seen: list[Any] = []
        while not all(end.ended for end in self.ranks):
            now = time.monotonic()
            if now >= limit:
                self.look_at_all()
                return failed
            if not failed and any(end.failed for end in self.ranks):
                failed, limit, look, seen = True, min(limit, now + GRACE), now, []
            if now >= look:
                waiting = [end for end in self.ranks if not end.ended]
                last, seen = seen, [(end.rank, end.position) for end in waiting]
                still = last == seen and all(end.position for end in waiting)
                if still:
                    self.look_at_all()
                    if failed or self.hopeless():
                        return failed
                look = now + (LOOK if failed else PATIENCE)
                for end in waiting:
                    end.look()
            self.attend(min(limit, look, now + 1.0) - now)
        return True

    def hopeless(self) -> bool:
        """Whether ranks that all wait can never go on; `False` where data may still be moving."""
        return self.outcome(in_time=False, with_values=False).diagnosis.kind in FOREVER

    def look_at_all(self) -> None:
        """Get a snapshot of each rank that has not ended, from a signal handler if need be."""
        asked = [end for end in self.ranks if not end.ended]
        for end in asked:
            end.ask()
        self.until(lambda: not any(end.asked for end in asked), ANSWER)
        silent = [end for end in asked if end.asked and not end.ended]
        for end in silent:
            self.signal(end.rank, signal.SIGUSR1)
        if silent:
            self.until(lambda: all(end.stack() for end in silent), ANSWER / 2)
        for end in silent:
            stack = end.stack()
            if stack:
                end.snapshot = {
                    "rank": end.rank,
                    "state": "outside",
                    "stack": stack,
                    "silent": True,
                }

    def until(self, condition: Any, seconds: float) -> None:
        limit = time.monotonic() + seconds
        while not condition() and (left := limit - time.monotonic()) > 0:
            self.attend(min(left, 0.05))

    def signal(self, rank: int, number: int) -> None:
        assert self.sock is not None
        with contextlib.suppress(OSError):
            wire.send(self.sock, {"kind": "signal", "rank": rank, "number": int(number)})

    def outcome(self, in_time: bool, with_values: bool = True) -> Outcome:
        """What came of it, so far."""
        seconds = time.monotonic() - self.start
        values = [end.value() if with_values else None for end in self.ranks]
        for end in self.ranks:
            data = end.read(most=1 << 20)
            if self.live:
                self.show(end, data)
                if end.unshown:
                    self.show(end)
        failures = [end.failure() for end in self.ranks]
        snapshots = {end.rank: end.last_known() for end in self.ranks}
        return Outcome(
            values=values,
            status=[end.status(in_time) for end in self.ranks],
            output=[end.text.text() for end in self.ranks],
            errors=with_collateral(failures),
            seconds=seconds,
            snapshots=snapshots,
        )

    def close(self) -> None:
        """End every rank and leave nothing behind; a second interrupt waits until it is done."""
        with without_interrupts():
            if self.sock is not None:
                self.sock.setblocking(True)
                self.sock.settimeout(CLOSE)
                with contextlib.suppress(OSError):
                    self.sock.shutdown(socket.SHUT_WR)
                    while self.sock.recv(1 << 16):
                        pass
                self.sock.close()
            for end in self.ranks:
                end.close()
            self.selector.close()
            shutil.rmtree(self.folder, ignore_errors=True)


def working_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # it was removed
        return os.path.sep
