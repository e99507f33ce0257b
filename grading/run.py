"""Run one notebook in a child process and bring back what it wrote; then leave nothing running.

The child is papermill with limits (`grading.child`), inside the walls of `grading.sandbox`.  This
side keeps its own clock, watches the size of the work folder, and at the end kills every process
that came out of the run.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from grading import sandbox, scratch, wire
from grading.lab import RUN_SECONDS
from grading.library import copy_library, shared
from grading.probe import ANSWERS, PARAMETER
from grading.rebuild import FreshCell, notebook

MAX_ANSWER_BYTES = 40_000_000
MAX_EVENT_BYTES = 2_000_000
_MARK = "WARPWISE_RUN"  # in the environment of every process of the run, unless it removes it
_POLL_S = 0.05
_LOOK_S = 0.5  # between two looks at processes, memory and files
_BLOCK = 4096  # bytes that a file takes at least
_THREADS = 10  # of a process, where the system counts threads


@dataclass(frozen=True)
class Limits:
    """What one submission may use.

    seconds: wall clock of its whole run; memory_mb: address space of each process, and what all
    have in memory together; output_mb: kept of what it prints; disk_mb: files it writes;
    processes: at the same time.
    """

    seconds: float = RUN_SECONDS
    memory_mb: int = 4096
    output_mb: int = 5
    disk_mb: int = 256
    processes: int = 200

    @property
    def cell_seconds(self) -> int:
        """A single cell is interrupted after this long, so that the others get their turn."""
        return max(1, int(self.seconds / 4))


@dataclass(frozen=True)
class Event:
    """Something the child reported: kind, id of the cell, and a fact."""

    kind: str
    cell: str
    fact: Any = None


@dataclass(frozen=True)
class Run:
    """What is left of a run.

    lines: the answers file, line by line, not yet believed.
    events: what the child said, not yet believed.
    end: "done", "stopped", "killed" (the child itself), "time", "disk", "memory" or "processes".
    seconds: wall clock.
    """

    lines: tuple[str, ...]
    events: tuple[Event, ...]
    end: str
    seconds: float


class RunFault(Exception):
    """The run could not even start; the grader's fault, not the student's."""


def run(
    cells: Sequence[FreshCell],
    requests: Mapping[str, Any],
    limits: Limits,
    seconds: float | None = None,
) -> Run:
    """Run `cells`; `requests` reach the probes as one papermill parameter."""
    folder = scratch.new("run")
    started = time.monotonic()
    try:
        _lay_out(folder, cells, requests, limits)
        mark = secrets.token_hex(16)
        child = subprocess.Popen(
            sandbox.command(
                [sys.executable, "-m", "grading.child", str(folder)],
                folder,
                limits.disk_mb,
                shared(),
            ),
            env=_environment(folder, mark),
            cwd=folder / "cwd",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            end = _wait(child, folder, limits, started + (seconds or limits.seconds))
        finally:
            _kill_all(child, mark)
        events = _events(folder / sandbox.OUT / "events.jsonl")
        if not any(event.kind == "start" for event in events):
            facts = [str(event.fact) for event in events if event.kind == "stopped"]
            raise RunFault(f"The run did not start ({end}). {' '.join(facts)}".strip())
        lines = _lines(folder / sandbox.OUT / "answers.jsonl", MAX_ANSWER_BYTES)
        return Run(lines, events, end, time.monotonic() - started)
    finally:
        _remove(folder)


def _lay_out(
    folder: Path, cells: Sequence[FreshCell], requests: Mapping[str, Any], limits: Limits
) -> None:
    """Write the job, the notebook and the library; make the working directory."""
    sandbox.lay_out(folder)
    if shared() is None or sandbox.kind() == sandbox.NONE:
        copy_library(folder / sandbox.LIBRARY)
    job = {
        "parameters": {PARAMETER: wire.dumps(requests)},
        "cell_limit_s": limits.cell_seconds,
        "memory_mb": limits.memory_mb,
        "output_mb": limits.output_mb,
        "file_mb": limits.disk_mb,
        # Only in a box are they counted by themselves, not with all that the user has running.
        "threads": None if sandbox.kind() == sandbox.NONE else _THREADS * limits.processes,
    }
    (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
    (folder / "notebook.ipynb").write_text(json.dumps(notebook(cells)), encoding="utf-8")


def _environment(folder: Path, mark: str) -> dict[str, str]:
    """A small environment of the run's own: none of the grader's variables, keys or folders."""
    home = str(folder / "home")
    kept = {
        name: os.environ[name]
        for name in ("PATH", "LANG", "SYSTEMROOT", "LD_LIBRARY_PATH")
        if name in os.environ
    }
    return kept | {
        "HOME": home,
        "TMPDIR": str(folder / "cwd"),
        "IPYTHONDIR": f"{home}/ipython",
        "JUPYTER_CONFIG_DIR": f"{home}/jupyter-config",
        "JUPYTER_DATA_DIR": f"{home}/jupyter-data",
        "JUPYTER_RUNTIME_DIR": f"{home}/jupyter-runtime",
        "MPLCONFIGDIR": f"{home}/matplotlib",
        "PYTHONPATH": str(folder / sandbox.LIBRARY),
        "PYTHONSAFEPATH": "1",
        "PYTHONUTF8": "1",
        # Points never depend on a GPU, and its driver does not start under a limit on memory.
        "WARPWISE_BACKEND": "sim",
        # One notebook gets one core: others are graded beside it.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        ANSWERS: str(folder / sandbox.OUT / "answers.jsonl"),
        _MARK: mark,
    }


def _wait(child: subprocess.Popen[bytes], folder: Path, limits: Limits, deadline: float) -> str:
    """Wait for the child's end, the clock, or a run that grows too large."""
    next_look = time.monotonic() + _LOOK_S
    while True:
        code = child.poll()
        if code is not None:
            return {0: "done", 3: "stopped"}.get(code, "killed")
        now = time.monotonic()
        if now > deadline:
            return "time"
        if now > next_look:
            if _folder_bytes(folder) > limits.disk_mb * 1_000_000 + MAX_ANSWER_BYTES:
                return "disk"
            grown = _grown(child.pid, limits)
            if grown:
                return grown
            next_look = time.monotonic() + _LOOK_S
        time.sleep(_POLL_S)


def _grown(pid: int, limits: Limits) -> str:
    """Which limit the processes of a run break together, or ""."""
    try:
        family = psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return ""
    if len(family) > limits.processes:
        return "processes"
    allowed = limits.memory_mb * 1_000_000
    # Forked processes share most of their memory; the exact sum takes long, and most need it not.
    if _memory(family, "rss") > allowed and _memory(family, "pss") > allowed:
        return "memory"
    return ""


def _memory(family: Sequence[psutil.Process], kind: str) -> int:
    """Bytes in memory, by psutil's name: rss, or pss, which shares out what several use."""
    total = 0
    for process in family:
        with contextlib.suppress(psutil.Error, OSError):
            exact = kind == "pss"
            facts = process.memory_full_info() if exact else process.memory_info()
            total += getattr(facts, kind, facts.rss)
    return total


def _remove(folder: Path) -> None:
    """Remove a folder that a student's code may have nested deeper than Python's own way goes."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except RecursionError:
        _flatten(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _flatten(folder: Path) -> None:
    """Move all folders below `folder` right into it; no link is followed."""
    waiting, count = [str(folder)], 0
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in [one for one in entries if one.is_dir(follow_symlinks=False)]:
                count += 1
                flat = str(folder / f"flat-{count}")
                os.rename(entry.path, flat)
                waiting.append(flat)


def _folder_bytes(folder: Path) -> float:
    """Bytes of the files in `folder`; no link is followed.

    Each counts as one block at least.  Infinite where something lies so that we cannot see it.
    """
    total, waiting = 0, [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    with contextlib.suppress(FileNotFoundError):
                        total += max(_BLOCK, entry.stat(follow_symlinks=False).st_size)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except FileNotFoundError:
            continue
        except OSError:  # a path too long for the system, or a folder that forbids to look
            return float("inf")
    return total


def _kill_all(child: subprocess.Popen[bytes], mark: str) -> None:
    """Kill the child's group, its descendants and whatever carries the run's mark."""
    for _ in range(20):
        found = _of_run(child.pid, mark)
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
        for process in found:
            try:
                process.kill()
            except psutil.Error:
                continue
        child.poll()
        if not found:
            break
        psutil.wait_procs(found, timeout=0.5)
    child.wait()


def _of_run(pid: int, mark: str) -> list[psutil.Process]:
    """Living processes that descend from `pid` or carry `mark` in their environment."""
    found: dict[int, psutil.Process] = {}
    try:
        parent = psutil.Process(pid)
        for process in [parent, *parent.children(recursive=True)]:
            found[process.pid] = process
    except psutil.Error:
        pass
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(_MARK) == mark:
                found[process.pid] = process
        except (psutil.Error, OSError):
            continue
    return [process for process in found.values() if _is_alive(process)]


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _lines(path: Path, limit: int) -> tuple[str, ...]:
    """The lines of a file that a student's code may have written: size-capped, never a link."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            data = file.read(limit + 1)
    except OSError:
        return ()
    if len(data) > limit:
        return ()
    return tuple(data.decode("utf-8", "replace").split("\n"))


def _events(path: Path) -> tuple[Event, ...]:
    """The events that can be read; a line that is none of ours is passed over."""
    found = []
    for line in _lines(path, MAX_EVENT_BYTES):
        try:
            entry = wire.loads(line)
        except wire.WireError:
            continue
        if (
            isinstance(entry, list)
            and len(entry) == 3
            and all(isinstance(part, str) for part in entry[:2])
        ):
            fact = entry[2] if isinstance(entry[2], (str, int)) else None
            found.append(Event(entry[0][:40], entry[1][:200], fact))
    return tuple(found)
