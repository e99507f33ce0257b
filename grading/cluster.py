"""Workers on a Dask cluster; the same results as from the pool on one machine.

A Dask worker is asked for one thing: to run `python -m grading.worker LAB`, feed it requests, and
give back what it printed.  So no student's code runs in a Dask process, and a cluster needs no
more than this folder and the one with the results under the same paths.  What a worker had done
when it was killed is in the store; whoever does it again finds it there.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from grading.intake import Submission
from grading.keys import keys_of
from grading.lab import Lab
from grading.pool import JUDGING_S, RUNS_TIME, TRIES
from grading.requests import Task, request, rescore_request
from grading.results import Result, from_dict, grader_error
from warpwise.curriculum import COURSE

#: Requests for one start of the grader there: starting it costs seconds.
BATCH = 4
LOCAL = "local"
SLURM = "slurm"
_FIRST_WORKER_S = 20


class ClusterError(Exception):
    """There is no such cluster, or no more; the text says why and what to do."""


class Cluster:
    """The pool's interface on Dask workers; a context manager.

    address: of a scheduler, such as "tcp://10.0.0.1:8786"; "local" for `jobs` workers here;
    "slurm" for `jobs` jobs of Slurm, each with one worker, as dask-jobqueue is configured.
    """

    def __init__(self, lab: Lab, jobs: int, address: str) -> None:
        self._lab, self._jobs, self._address = lab, jobs, address
        self._own: Any = None

    def __enter__(self) -> Cluster:
        try:
            import dask
            from distributed import Client
        except ImportError:
            raise ClusterError(
                "--dask needs the package distributed: python -m pip install -r requirements.txt"
            ) from None
        # How often a submission may take its worker with it before it is given up.
        dask.config.set({"distributed.scheduler.allowed-failures": TRIES})
        self._own = self._started()
        try:
            self._client = Client(self._own or self._address, timeout="20s")
        except (OSError, ValueError) as error:
            raise ClusterError(
                f"There is no Dask scheduler at {self._address} ({error}). "
                "Start one with: dask scheduler"
            ) from None
        return self

    def _started(self) -> Any:
        """A cluster of our own, where one is asked for."""
        if self._address == LOCAL:
            from distributed import LocalCluster

            return LocalCluster(n_workers=self._jobs, threads_per_worker=1, dashboard_address=None)
        if self._address != SLURM:
            return None
        try:
            from dask_jobqueue import SLURMCluster
        except ImportError:
            raise ClusterError(
                "--dask slurm needs dask-jobqueue: python -m pip install dask-jobqueue==0.9.0"
            ) from None
        own = SLURMCluster(**_unless_configured(cores=1, processes=1, memory="6GB"))
        own.scale(jobs=self._jobs)
        return own

    def __exit__(self, *error: object) -> None:
        for one in (self._client, self._own):
            if one is not None:
                # A scheduler that is gone has nothing to be told.
                with contextlib.suppress(OSError, TimeoutError):
                    one.close()

    def grade(
        self,
        submissions: Sequence[Submission],
        task: Task,
        on_result: Callable[[Result], None],
    ) -> list[Result]:
        """The rows of the submissions in their order; `on_result` is called as each is known.

        Raises ClusterError; what was done until then is in the store.
        """
        keys = keys_of(self._lab, task.seed, task.limits)

        def checked(row: Result) -> None:
            if row.sha256 and row.work and row.work != keys.work(row.sha256):
                raise ClusterError(
                    "The workers have another course, Python or packages than this machine. "
                    "Give all the same, or grades from two would be mixed."
                )
            on_result(row)

        requests = [request(one, task) for one in submissions]
        return self._all(requests, RUNS_TIME * task.limits.seconds + JUDGING_S, task, checked)

    def rescore(
        self, answers: Sequence[str], task: Task, on_result: Callable[[Result], None]
    ) -> list[Result]:
        """The rows, nobody's yet, that stored answers deserve.  Raises ClusterError."""
        requests = [rescore_request(one, task) for one in answers]
        return self._all(requests, JUDGING_S, task, on_result)

    def _all(
        self,
        requests: Sequence[Mapping[str, Any]],
        timeout: float,
        task: Task,
        on_result: Callable[[Result], None],
    ) -> list[Result]:
        if requests:
            self._ready(task)
        rows: dict[int, Result] = {}
        faults: dict[int, str] = {}

        def known(place: int, row: Result) -> None:
            rows[place] = row
            on_result(row)

        size = self._batch(len(requests))
        places = range(len(requests))
        batches: list[Sequence[int]] = [places[at : at + size] for at in places[::size]]
        for _ in range(TRIES):
            faults = self._round(requests, batches, timeout, known)
            # What was in a batch with a poisonous one gets a start of its own.
            batches = [[place] for place in faults]
            if not batches:
                break
        for place, fault in faults.items():
            names = (requests[place].get("student", ""), requests[place].get("identity", ""))
            known(place, grader_error(*names, self._lab.unit, self._lab.max_points, fault))
        return [rows[place] for place in places]

    def _ready(self, task: Task) -> None:
        """Wait for the first worker, and see whether all have what they need."""
        if self._own is None and not self._client.nthreads():
            try:
                self._client.wait_for_workers(1, timeout=_FIRST_WORKER_S)
            except TimeoutError:
                raise ClusterError(
                    f"The scheduler at {self._address} has no workers. "
                    f"Start some: dask worker {self._address} --nthreads 1"
                ) from None
        for path in (COURSE, Path(sys.executable), *filter(None, [task.out])):
            seen = self._client.run(os.path.exists, str(path))
            blind = [worker for worker, there in seen.items() if not there]
            if blind:
                raise ClusterError(
                    f"The worker {blind[0]} does not see {path}. "
                    "All machines need it under the same path."
                )

    def _is_there(self) -> None:
        """Raise ClusterError where the scheduler is gone."""
        if self._client.status != "running":
            raise ClusterError(
                f"The Dask scheduler at {self._address} went away. What was graded so far is "
                "kept; the same command goes on from there."
            )

    def _batch(self, count: int) -> int:
        """Few enough for all threads of the cluster to have something to do."""
        threads = sum(self._client.nthreads().values()) or 1
        return max(1, min(BATCH, count // (2 * threads)))

    def _round(
        self,
        asked: Sequence[Mapping[str, Any]],
        batches: Sequence[Sequence[int]],
        timeout: float,
        known: Callable[[int, Result], None],
    ) -> dict[int, str]:
        """Hand the batches out and take the rows in; place -> fault where there is none."""
        from distributed import as_completed

        faults: dict[int, str] = {}
        waiting = {}
        self._is_there()
        for batch in batches:
            text = "".join(json.dumps(asked[place]) + "\n" for place in batch)
            # `pure=False`: a name of its own, so nothing from an earlier class is given back.
            future = self._client.submit(
                subprocess.run,
                [sys.executable, "-m", "grading.worker", self._lab.unit],
                input=text,
                capture_output=True,
                encoding="utf-8",
                cwd=str(COURSE),
                timeout=timeout * len(batch),
                pure=False,
            )
            waiting[future] = batch
        for future in as_completed(list(waiting)):
            batch = waiting[future]
            try:
                done = future.result()
                lines, fault = done.stdout.splitlines()[1:], done.stderr[-2000:]
            except Exception as error:  # whatever Dask or the worker says
                self._is_there()
                lines, fault = [], f"{type(error).__name__}: {error}"[:2000]
            for number, place in enumerate(batch):
                row = _row(lines[number]) if number < len(lines) else None
                if row is None:
                    faults[place] = f"The worker ended without a result.\n{fault}"
                else:
                    known(place, row)
            future.release()
        return faults


def _unless_configured(**defaults: Any) -> dict[str, Any]:
    """What dask-jobqueue's own configuration says nothing about."""
    import dask

    return {
        name: value
        for name, value in defaults.items()
        if dask.config.get(f"jobqueue.slurm.{name}", None) is None
    }


def _row(line: str) -> Result | None:
    try:
        return from_dict(json.loads(line))
    except (ValueError, KeyError, TypeError):
        return None
