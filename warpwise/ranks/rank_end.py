"""One rank seen from the process that started it: what it said, printed, and how it ended."""

from __future__ import annotations

import contextlib
import os
import socket
from typing import Any

from . import blackbox, crash, output, pickling, sites, wire
from .failure import Failure, died, unpickled


class RankEnd:
    """What this process has of one rank."""

    def __init__(self, rank: int, folder: str, control: socket.socket, printed: int) -> None:
        self.rank = rank
        self.folder = folder  # of its world
        self.control = control
        self.printed = printed  # the reading end of its output
        self.inbox = wire.Inbox(control)
        self.text = output.Transcript()
        self.unshown = b""  # a line of a live echo that is not whole yet
        self.thread = 0  # identity of its main thread
        self.answer: tuple[dict[str, Any], bytes] | None = None
        self.snapshot: dict[str, Any] | None = None
        self.asked = False
        self.position: Any = None  # the operation it waits in, when it was last looked at
        self.exit_code: int | None = None
        self.exit_time = 0.0
        control.setblocking(False)
        os.set_blocking(printed, False)

    @property
    def ended(self) -> bool:
        return self.answer is not None or self.exit_code is not None

    @property
    def failed(self) -> bool:
        if self.answer is not None:
            return self.answer[0]["kind"] == "error"
        return self.exit_code is not None

    def look(self) -> None:
        """Ask for its position; it goes on working meanwhile."""
        self.position = None
        with contextlib.suppress(OSError):
            wire.send(self.control, {"kind": "look"})

    def ask(self) -> None:
        """Ask where it is; the answer becomes `snapshot`."""
        self.asked = True
        with contextlib.suppress(OSError):
            wire.send(self.control, {"kind": "snapshot"})

    def listen(self) -> None:
        """Take its messages."""
        for message, block in self.inbox.read():
            if message["kind"] == "start":
                self.thread = message["thread"]
            elif message["kind"] == "look":
                self.position = message["position"]
            else:
                self.snapshot = message["snapshot"]
                self.asked = False
            if message["kind"] in ("value", "error"):
                self.answer = message, block

    def read(self, most: int = 16) -> bytes:
        """Take what it has printed, up to `most` pieces."""
        pieces = []
        with contextlib.suppress(BlockingIOError):
            for _ in range(most):
                piece = os.read(self.printed, 1 << 16)
                if not piece:
                    break
                self.text.add(piece)
                pieces.append(piece)
        return b"".join(pieces)

    def close(self) -> None:
        self.control.close()
        os.close(self.printed)

    def stack(self) -> list[Any]:
        """The main thread's stack as a signal handler in the rank wrote it."""
        return crash.read_stack(os.path.join(self.folder, f"stack.{self.rank}"), self.thread)

    def last_known(self) -> dict[str, Any] | None:
        """What a rank said of itself, else what its black box and a signal handler wrote."""
        died = self.answer is None and self.exit_code is not None
        if self.snapshot is not None and not self.snapshot.get("silent") and not died:
            return self.snapshot
        box = blackbox.read(os.path.join(self.folder, f"box.{self.rank}"))
        if box is None or self.snapshot is None or died:
            return box or self.snapshot  # a dead rank's box is younger than its last answer
        stack = self.snapshot["stack"]
        here = sites.site(sites.learners_frame(stack)) or box["here"]
        if recorder_waits(stack):
            return box | {"state": "inside", "stack": stack, "here": here}
        return box | self.snapshot | {"current": None, "unfinished": [], "here": here}

    def status(self, in_time: bool) -> str:
        if self.answer is not None:
            return "error" if self.failed else "ok"
        if self.exit_code is not None:
            return "died"
        return "killed" if in_time else "stuck"

    def value(self) -> Any:
        """What a rank returned; one that cannot be rebuilt here makes it a failed rank."""
        if self.answer is None or self.failed:
            return None
        said, block = self.answer
        try:
            return pickling.loads(block)
        except Exception as error:
            problem = (
                f"what it returned cannot be rebuilt in this process "
                f"({type(error).__name__}: {error}). Return numbers, tensors, lists or dicts."
            )
            self.answer = (
                {**said, "kind": "error", "name": "TypeError", "message": problem, "lines": [],
                 "causes": [], "text": ""}, b"",
            )  # fmt: skip
            return None

    def failure(self) -> Failure | None:
        """How a rank failed, if it did."""
        if not self.failed:
            return None
        if self.answer is None:
            assert self.exit_code is not None
            return Failure(
                self.rank, "", died(self.exit_code), crash.learners_lines(self.stack()),
                time=self.exit_time, exit_code=self.exit_code,
            )  # fmt: skip
        said, block = self.answer
        return Failure(
            self.rank, said["name"], said["message"], said["lines"], said["text"], said["causes"],
            said["time"], exception=unpickled(block),
        )  # fmt: skip


def recorder_waits(stack: list[Any]) -> bool:
    """Whether a stack is inside an operation that the recorder saw begin."""
    places = {(os.path.basename(file), function) for file, _, function in stack}
    return bool(places & {("recorder.py", "wait"), ("recorder.py", "kernel")})
