"""Several workers side by side; each submission gets a result, whatever happens to a worker."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import psutil

from grading import scratch
from grading.intake import Submission
from grading.lab import Lab
from grading.library import SHARED, lay_out_shared
from grading.requests import Task, request, rescore_request
from grading.results import Result, from_dict, grader_error
from grading.sandbox import NONE, kind
from warpwise.curriculum import COURSE

# A submission that breaks its worker this often is a fault to be looked at.
TRIES = 2
# All rounds of runs, then parsing and judging, have an end too.
RUNS_TIME = 3
JUDGING_S = 900.0


def _search_path() -> str:
    """The course first, so that a worker finds the package from any working directory."""
    return os.pathsep.join([str(COURSE), *filter(None, [os.environ.get("PYTHONPATH")])])


class WorkerDied(Exception):
    """The worker ended, or was stopped, without a result."""


class Worker:
    """One worker process; started when first needed and again after it died."""

    def __init__(self, lab: str) -> None:
        self._lab = lab
        #: Set before the first request: more of the worker's environment.
        self.environment: dict[str, str] = {}
        self._process: subprocess.Popen[str] | None = None
        self._closed = False

    def answer(self, request: Mapping[str, Any], timeout: float = JUDGING_S) -> Result:
        """The result for one request.  Raises WorkerDied."""
        self._start()
        return from_dict(json.loads(self._ask(json.dumps(request), timeout)))

    def _start(self) -> None:
        if self._closed:
            raise WorkerDied("The pool was closed.")
        if self._process is not None and self._process.poll() is None:
            return
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-m", "grading.worker", self._lab],
            env=os.environ | {"PYTHONPATH": _search_path()} | self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
        )
        self._read(JUDGING_S)

    def _ask(self, line: str, timeout: float) -> str:
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except OSError:
            raise WorkerDied(self._last_words()) from None
        return self._read(timeout)

    def _read(self, timeout: float) -> str:
        """The next line; the worker is stopped when it takes too long."""
        assert self._process is not None and self._process.stdout is not None
        timer = threading.Timer(timeout, self.stop)
        timer.daemon = True
        timer.start()
        try:
            line = self._process.stdout.readline()
        finally:
            timer.cancel()
        if not line.endswith("\n"):
            self.stop()
            raise WorkerDied(self._last_words())
        return line

    def close(self) -> None:
        """End the worker for good."""
        self._closed = True
        self.stop()

    def _last_words(self) -> str:
        self._errors.seek(0)
        return f"The worker ended without a result.\n{self._errors.read()[-2000:]}"

    def stop(self) -> None:
        """End the worker and everything it started."""
        if self._process is None:
            return
        try:
            family = psutil.Process(self._process.pid).children(recursive=True)
        except psutil.Error:
            family = []
        self._process.kill()
        for process in family:
            try:
                process.kill()
            except psutil.Error:
                continue
        self._process.wait()


class Pool:
    """Workers for one lab, `jobs` of them; a context manager that stops them all at its end."""

    def __init__(self, lab: Lab, jobs: int) -> None:
        self._lab = lab
        self._workers = [Worker(lab.unit) for _ in range(jobs)]
        self._library: Path | None = None

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self._workers:
            worker.close()
        if self._library is not None:
            shutil.rmtree(self._library, ignore_errors=True)

    def grade(
        self,
        submissions: Sequence[Submission],
        task: Task,
        on_result: Callable[[Result], None],
    ) -> list[Result]:
        """The rows of the submissions in their order; `on_result` is called as each is known."""
        self._share_library()
        requests = [request(one, task) for one in submissions]
        return self._all(requests, RUNS_TIME * task.limits.seconds + JUDGING_S, on_result)

    def rescore(
        self, answers: Sequence[str], task: Task, on_result: Callable[[Result], None]
    ) -> list[Result]:
        """The rows, nobody's yet, that stored answers deserve."""
        requests = [rescore_request(one, task) for one in answers]
        return self._all(requests, JUDGING_S, on_result)

    def _share_library(self) -> None:
        """One copy of the library for all runs; without a box each run makes its own."""
        if self._library is None and kind() != NONE:
            scratch.sweep()
            self._library = scratch.new("library")
            lay_out_shared(self._library)
            for worker in self._workers:
                worker.environment = {SHARED: str(self._library)}

    def _all(
        self,
        requests: Sequence[Mapping[str, Any]],
        timeout: float,
        on_result: Callable[[Result], None],
    ) -> list[Result]:
        free: SimpleQueue[Worker] = SimpleQueue()
        for worker in self._workers:
            free.put(worker)
        results: dict[int, Result] = {}
        threads = ThreadPoolExecutor(len(self._workers))
        try:
            waiting = {
                threads.submit(self._one, one, free, timeout): place
                for place, one in enumerate(requests)
            }
            for done in as_completed(waiting):
                result = results[waiting[done]] = done.result()
                on_result(result)
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
        return [results[place] for place in range(len(requests))]

    def _one(self, asked: Mapping[str, Any], free: SimpleQueue[Worker], timeout: float) -> Result:
        worker = free.get()
        try:
            fault = ""
            for _ in range(TRIES):
                try:
                    return worker.answer(asked, timeout)
                except WorkerDied as error:
                    fault = str(error)
            names = (asked.get("student", ""), asked.get("identity", ""))
            return grader_error(*names, self._lab.unit, self._lab.max_points, fault)
        finally:
            free.put(worker)
