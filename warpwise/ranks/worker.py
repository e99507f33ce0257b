"""The process of one rank: runs the function, answers the parent, ends with it.

The main thread runs the function.  A second thread listens to the parent, so that a rank that
hangs can still say where it is.  A rank that has finished or failed stays until the parent ends
the world: its peers then show where they wait for it, not that a connection was lost.
"""

from __future__ import annotations

import faulthandler
import mmap
import os
import signal
import socket
import sys
import threading
import time
import traceback
from datetime import timedelta
from typing import Any

from . import pickling, process, report, sites, wire

# The parent ends a world at its own deadline; a limit of the process group would end ranks one by
# one and hide who waits for whom.
NO_LIMIT = timedelta(days=7)

running: list[Rank] = []  # the rank that this process is; empty everywhere else


class Rank:
    """One rank of one world, in its own process."""

    def __init__(self, world: dict[str, Any], rank: int, control: int) -> None:
        self.world = world
        self.rank = rank
        self.size: int = world["size"]
        self.number = os.getpid()
        self.control = socket.socket(fileno=control)
        self.recorder: Any = None
        self.state = "outside"
        self._lock = threading.Lock()  # one writer at a time
        self._main = threading.get_ident()

    def send(self, kind: str, block: bytes = b"", **head: Any) -> None:
        """One message to the parent; without a parent there is nothing left to do."""
        try:
            with self._lock:
                wire.send(self.control, {"kind": kind, "time": time.monotonic(), **head}, block)
        except OSError:
            process.leave()

    def listen(self) -> None:
        """Do what the parent asks; end with it."""
        inbox = wire.Inbox(self.control)
        while not inbox.closed:
            for message, _ in inbox.read():
                if message["kind"] == "look":
                    self.send("look", position=self.position())
                elif message["kind"] == "snapshot":
                    self.send("snapshot", snapshot=self.snapshot())
        process.leave()

    def position(self) -> list[int] | None:
        """Which operation it waits in, if in any."""
        return self.recorder.position() if self.recorder and self.state == "outside" else None

    def snapshot(self) -> dict[str, Any]:
        """Where this rank is, as plain data."""
        stack = sites.frames(sys._current_frames().get(self._main))
        found: dict[str, Any] = {"rank": self.rank, "state": "outside", "stack": stack}
        if self.recorder is not None:
            try:
                found |= self.recorder.snapshot()
            except Exception as error:  # a picture without one rank is better than none
                found["problem"] = f"{type(error).__name__}: {error}"
        if self.state in ("finished", "failed"):
            found["state"] = self.state
        return found

    def join(self) -> None:
        """Form the process group, with GPUs where each rank can have one."""
        import torch
        import torch.distributed as dist

        torch.set_num_threads(1)
        if os.environ.get("TORCH_DISTRIBUTED_DEBUG"):
            dist.set_debug_level_from_env()
        backend = self.world["backend"] or choose_backend(self.size)
        if "nccl" in backend:
            if gpus() < self.size:
                raise RuntimeError(
                    f"backend {backend!r} needs a GPU for each rank, and this machine has {gpus()} "
                    f"for {self.size} ranks. Leave backend out: gloo runs on the CPU."
                )
            torch.cuda.set_device(self.rank)
        dist.init_process_group(
            backend,
            store=dist.FileStore(os.path.join(self.world["folder"], "store"), self.size),
            rank=self.rank,
            world_size=self.size,
            timeout=NO_LIMIT,
        )
        from .recorder import Recorder

        box = os.path.join(self.world["folder"], f"box.{self.rank}")
        self.recorder = Recorder(self.rank, self.size, box)
        self.recorder.install()

    def run(self, payload: int) -> None:
        """Everything this rank does."""
        try:
            with mmap.mmap(payload, 0, access=mmap.ACCESS_READ) as content:
                fn, args, kwargs = pickling.loads_call(content)
            os.close(payload)
            self.join()
            value = fn(*args, **kwargs)
            self.stop_if_forked()
        except BaseException as error:
            self.stop_if_forked(error)
            self.fail(error)
        else:
            self.answer(value)
        threading.Event().wait()  # until the parent ends the world

    def answer(self, value: Any) -> None:
        """Send what the function returned."""
        try:
            block, _ = pickling.dumps(value)
        except BaseException as error:
            name = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
            problem = TypeError(
                f"the function returned a {name}, which cannot be pickled ({error}). "
                f"Return numbers, tensors, lists or dicts."
            )
            self.fail(problem)
            return
        self.state = "finished"
        process.flush()
        self.send("value", block, snapshot=self.snapshot())

    def fail(self, error: BaseException) -> None:
        """Report an exception."""
        self.state = "failed"
        facts, block = report.describe(error)
        process.flush()
        self.send("error", block, **facts, snapshot=self.snapshot())

    def stop_if_forked(self, error: BaseException | None = None) -> None:
        """A copy that the function made with os.fork must not speak for this rank."""
        if os.getpid() != self.number:
            if error is not None:
                traceback.print_exception(error)
            process.flush()
            os._exit(error is not None)


def choose_backend(size: int) -> str:
    """nccl for tensors on GPUs where each rank can have one; gloo for the rest."""
    return "cpu:gloo,cuda:nccl" if gpus() >= size else "gloo"


def gpus() -> int:
    """How many GPUs this process can use."""
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def start(world: dict[str, Any], rank: int, control: int, output: int, payload: int) -> None:
    """What the fork server calls in a new process; does not return."""
    try:
        parent = os.getppid()
        os.setpgid(0, 0)
        process.die_with(parent)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        process.redirect(output)
        process.prepare(world, rank)
        this = Rank(world, rank, control)
        running.append(this)
        # Kept open for as long as the process lives: it is written to by signal handlers.
        stack = os.open(os.path.join(world["folder"], f"stack.{rank}"), os.O_CREAT | os.O_WRONLY)
        faulthandler.enable(stack)
        faulthandler.register(signal.SIGUSR1, stack)
        threading.Thread(target=this.listen, daemon=True).start()
        this.send("start", process=os.getpid(), thread=threading.get_ident())
        this.run(payload)
    except BaseException:
        traceback.print_exc()
    finally:
        process.leave()
