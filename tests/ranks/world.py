"""Real ranks for the referee's tests: forked processes with gloo, a recorder and a deadline.

play(fn, n) runs fn(rank) on n ranks and gives the snapshots and outcomes as a launcher would.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from warpwise.ranks import blackbox
from warpwise.ranks.diagnosis import Diagnosis
from warpwise.ranks.referee import diagnose

FORK = multiprocessing.get_context("fork")


class Game:
    """What came of a world: snapshots and outcomes by rank, values where a rank returned."""

    def __init__(self, size: int):
        self.snapshots: dict[int, Any] = dict.fromkeys(range(size))
        self.outcomes: dict[int, dict[str, Any]] = {r: {"status": "stuck"} for r in range(size)}
        self.values: dict[int, Any] = {}
        self.hung = False

    @property
    def diagnosis(self) -> Diagnosis:
        return diagnose(self.snapshots, self.outcomes)


def _rank(fn: Callable[[int], Any], rank: int, size: int, folder: str, pipe: Any) -> None:
    import torch
    import torch.distributed as dist

    from warpwise.ranks.recorder import Recorder

    # gloo speaks of lost peers; these tests read what the referee says.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    store = dist.FileStore(os.path.join(folder, "store"), size)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
    recorder = Recorder(rank, size, os.path.join(folder, f"box.{rank}"))
    recorder.install()

    def listen() -> None:
        while True:
            pipe.recv()
            pipe.send(("snapshot", recorder.snapshot()))

    threading.Thread(target=listen, daemon=True).start()
    try:
        value = fn(rank)
        recorder.state = "finished"
        pipe.send(("ok", value))
    except BaseException as error:
        recorder.state = "failed"
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "/tests/" in f.filename]
        last = frames[-1]
        site = [last.filename, last.lineno, last.line, last.name]
        pipe.send(("error", f"{type(error).__name__}: {error}", site))
    time.sleep(1000)


def play(fn: Callable[[int], Any], size: int, timeout: float = 1.0) -> Game:
    """Run fn(rank) on `size` ranks.  timeout: seconds from the moment all ranks run."""
    game = Game(size)
    with tempfile.TemporaryDirectory() as folder:
        pipes, processes = [], []
        for rank in range(size):
            mine, theirs = FORK.Pipe()
            process = FORK.Process(target=_rank, args=(fn, rank, size, folder, theirs), daemon=True)
            process.start()
            theirs.close()
            pipes.append(mine)
            processes.append(process)
        try:
            _listen(game, pipes, processes, timeout)
            _ask(game, pipes, folder)
        finally:
            for process in processes:
                process.kill()
                process.join()
    return game


def _listen(game: Game, pipes: list[Any], processes: list[Any], timeout: float) -> None:
    deadline = time.monotonic() + timeout
    open_ranks = set(range(len(pipes)))
    while open_ranks:
        if time.monotonic() > deadline:
            game.hung = True
            return
        for rank in list(open_ranks):
            try:
                if pipes[rank].poll(0.005):
                    kind, *what = pipes[rank].recv()
                    if kind == "ok":
                        game.values[rank] = what[0]
                        game.outcomes[rank] = {"status": "ok"}
                    else:
                        game.outcomes[rank] = {
                            "status": "error", "message": what[0], "site": what[1],
                            "collateral": "closed by peer" in what[0] or "reset" in what[0],
                        }  # fmt: skip
                    open_ranks.discard(rank)
            except (EOFError, OSError):
                processes[rank].join()
                code = processes[rank].exitcode
                game.outcomes[rank] = {"status": "died", "message": f"exit code {code}"}
                open_ranks.discard(rank)
        failed = [r for r, o in game.outcomes.items() if o["status"] in ("error", "died")]
        if failed:
            deadline = min(deadline, time.monotonic() + 0.3)


def _ask(game: Game, pipes: list[Any], folder: str) -> None:
    for pipe in pipes:
        try:
            pipe.send("snapshot")
        except OSError:
            continue
    for rank, pipe in enumerate(pipes):
        try:
            while game.snapshots[rank] is None and pipe.poll(0.5):
                kind, *what = pipe.recv()
                if kind == "snapshot":
                    game.snapshots[rank] = what[0]
        except (EOFError, OSError):
            pass
        if game.snapshots[rank] is None:
            game.snapshots[rank] = blackbox.read(os.path.join(folder, f"box.{rank}"))
