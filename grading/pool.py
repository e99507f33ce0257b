"""Several workers side by side; each submission gets a result, whatever happens to a worker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from queue import SimpleQueue

import psutil

from grading.intake import Submission
from grading.lab import Lab
from grading.results import Result, from_dict, grader_error
from grading.run import Limits
from grading.worker import request
from warpwise.curriculum import COURSE

# A submission that breaks its worker this often is a fault to be looked at.
_TRIES = 2
# All rounds of runs, then parsing and judging, have an end too.
_RUNS_TIME = 3
_JUDGING_S = 900.0


def _search_path() -> str:
    """The course first, so that a worker finds the package from any working directory."""
    return os.pathsep.join([str(COURSE), *filter(None, [os.environ.get("PYTHONPATH")])])


class WorkerDied(Exception):
    """The worker ended, or was stopped, without a result."""


class Worker:
    """One worker process; started when first needed and again after it died."""

    def __init__(self, lab: str) -> None:
        self._lab = lab
        self._process: subprocess.Popen[str] | None = None

    def grade(self, submission: Submission, seed: int, limits: Limits) -> Result:
        """The result for one submission.  Raises WorkerDied."""
        self._start()
        timeout = _RUNS_TIME * limits.seconds + _JUDGING_S
        reply = self._ask(json.dumps(request(submission, seed, limits)), timeout)
        return from_dict(json.loads(reply))

    def _start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-m", "grading.worker", self._lab],
            env=os.environ | {"PYTHONPATH": _search_path()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
        )
        self._read(_JUDGING_S)

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


def grade_all(
    submissions: Sequence[Submission],
    lab: Lab,
    seed: int,
    limits: Limits,
    jobs: int,
    on_result: Callable[[Result], None],
) -> list[Result]:
    """Grade all submissions, `jobs` at a time; `on_result` is called as each is known.

    The list has the order of `submissions`.
    """
    results: dict[str, Result] = {}
    with _workers(lab.unit, min(jobs, max(1, len(submissions)))) as free:
        pool = ThreadPoolExecutor(jobs)
        try:
            waiting = [pool.submit(_one, one, free, lab, seed, limits) for one in submissions]
            for done in as_completed(waiting):
                result = done.result()
                results[result.identity] = result
                on_result(result)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    return [results[one.identity] for one in submissions]


def _one(
    submission: Submission, free: SimpleQueue[Worker], lab: Lab, seed: int, limits: Limits
) -> Result:
    worker = free.get()
    try:
        fault = ""
        for _ in range(_TRIES):
            try:
                return worker.grade(submission, seed, limits)
            except WorkerDied as error:
                fault = str(error)
        return grader_error(
            submission.student, submission.identity, lab.unit, lab.max_points, fault
        )
    finally:
        free.put(worker)


@contextmanager
def _workers(unit: str, count: int) -> Iterator[SimpleQueue[Worker]]:
    """A queue of idle workers, all stopped at the end."""
    workers = [Worker(unit) for _ in range(count)]
    free: SimpleQueue[Worker] = SimpleQueue()
    for worker in workers:
        free.put(worker)
    try:
        yield free
    finally:
        for worker in workers:
            worker.stop()
