"""A clean Python environment for one test, and the memory of what runs in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


class CleanVenv:
    """An environment with nothing in it but pip, and a copy of the course to use it on."""

    def __init__(self, folder: Path, course: Path) -> None:
        """Makes the environment under folder.  course: the copy that commands run in."""
        self.folder, self.course = folder, course
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        self.python = folder / "bin/python"
        # As in an activated environment, and without the caller's.
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST"))},
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "VIRTUAL_ENV": str(folder),
            "WARPWISE_BACKEND": "sim",
        }

    def run(self, *command: str | Path) -> str:
        """Runs a command in the course's folder; fails with all it printed.  Returns stdout."""
        done = subprocess.run(
            command,
            cwd=self.course,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-6000:]}\n{done.stderr[-6000:]}"
        return done.stdout

    def pip_install(self, *arguments: str | Path) -> None:
        """Runs this environment's pip, quietly."""
        self.run(self.python, "-m", "pip", "install", "-q", *arguments)


@contextmanager
def clean_venv(folder: Path, course: Path) -> Iterator[CleanVenv]:
    """An environment that is removed afterwards: each takes gigabytes."""
    try:
        yield CleanVenv(folder / "venv", course)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def children_of(process: int) -> Iterator[int]:
    """A process and all that it started, by number (Linux)."""
    yield process
    try:
        text = Path(f"/proc/{process}/task/{process}/children").read_text()
    except OSError:
        return
    for child in text.split():
        yield from children_of(int(child))


def memory_of(processes: Sequence[int]) -> int:
    """Bytes of memory that processes hold together; shared pages are counted once (PSS)."""
    total = 0
    for process in processes:
        try:
            text = Path(f"/proc/{process}/smaps_rollup").read_text()
        except OSError:
            continue  # it ended between two looks
        pss = next(line for line in text.splitlines() if line.startswith("Pss:"))
        total += int(pss.split()[1]) * 1024
    return total


class PeakMemory(threading.Thread):
    """Watches a process and all its children until stopped; `peak` in bytes."""

    def __init__(self, process: int) -> None:
        """process: number of the process at the root."""
        super().__init__(daemon=True)
        self.process, self.peak, self._stop_it = process, 0, threading.Event()

    def run(self) -> None:
        """Looks ten times a second."""
        while not self._stop_it.wait(0.1):
            self.peak = max(self.peak, memory_of(list(children_of(self.process))))

    def stop(self) -> int:
        """Ends the watch and returns the peak in bytes."""
        self._stop_it.set()
        self.join()
        return self.peak
