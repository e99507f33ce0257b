"""Workers on a Dask cluster; the same results as from the pool on one machine.

A Dask worker is asked for one thing: to run `python -m grading.worker LAB`, feed it requests, and
give back what it printed.  So no student's code runs in a Dask process, and a cluster needs no
more than this folder and the one with the results under the same paths.  What a worker had done
when it was killed is in the store; whoever does it again finds it there.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from grading.intake import Submission
from grading.lab import Lab
from grading.pool import JUDGING_S, RUNS_TIME, TRIES
from grading.requests import Task, request
from grading.results import Result, from_dict, grader_error
from warpwise.curriculum import COURSE

#: Requests for one start of the grader there: starting it costs seconds.
BATCH = 4
LOCAL = "local"


class ClusterError(Exception):
    """There is no such cluster; the text says why and what to do."""


class Cluster:
    """The pool's interface on Dask workers; a context manager.

    address: of a scheduler, such as "tcp://10.0.0.1:8786", or "local" for `jobs` workers here.
    """

    def __init__(self, lab: Lab, jobs: int, address: str) -> None:
        self._lab, self._jobs, self._address = lab, jobs, address

    def __enter__(self) -> Cluster:
        try:
            import dask
            from distributed import Client, LocalCluster
        except ImportError:
            raise ClusterError(
                "--dask needs the package distributed: python -m pip install -r requirements.txt"
            ) from None
        # How often a submission may take its worker with it before it is given up.
        dask.config.set({"distributed.scheduler.allowed-failures": TRIES})
        self._own = None
        if self._address == LOCAL:
            self._own = LocalCluster(
                n_workers=self._jobs, threads_per_worker=1, dashboard_address=None
            )
        try:
            self._client = Client(self._own or self._address, timeout="20s")
        except (OSError, ValueError) as error:
            raise ClusterError(
                f"There is no Dask scheduler at {self._address} ({error}). "
                "Start one with: dask scheduler"
            ) from None
        return self

    def __exit__(self, *error: object) -> None:
        self._client.close()
        if self._own is not None:
            self._own.close()

    def grade(
        self,
        submissions: Sequence[Submission],
        task: Task,
        on_result: Callable[[Result], None],
    ) -> list[Result]:
        """The rows of the submissions in their order; `on_result` is called as each is known."""
        asked = dict(enumerate(request(one, task) for one in submissions))
        timeout = RUNS_TIME * task.limits.seconds + JUDGING_S
        rows: dict[int, Result] = {}
        faults: dict[int, str] = {}

        def known(place: int, row: Result) -> None:
            rows[place] = row
            on_result(row)

        size = self._batch(len(asked))
        places = list(asked)
        batches = [places[at : at + size] for at in range(0, len(places), size)]
        for _ in range(TRIES):
            faults = self._round(asked, batches, timeout, known)
            # What was in a batch with a poisonous one gets a start of its own.
            batches = [[place] for place in faults]
            if not batches:
                break
        for place, fault in faults.items():
            one = submissions[place]
            known(
                place,
                grader_error(
                    one.student, one.identity, self._lab.unit, self._lab.max_points, fault
                ),
            )
        return [rows[place] for place in range(len(submissions))]

    def _batch(self, count: int) -> int:
        """Few enough for all threads of the cluster to have something to do."""
        threads = sum(self._client.nthreads().values()) or 1
        return max(1, min(BATCH, count // (2 * threads)))

    def _round(
        self,
        asked: Mapping[int, Mapping[str, Any]],
        batches: Sequence[Sequence[int]],
        timeout: float,
        known: Callable[[int, Result], None],
    ) -> dict[int, str]:
        """Hand the batches out and take the rows in; place -> fault where there is none."""
        from distributed import as_completed

        faults: dict[int, str] = {}
        waiting = {}
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
                lines, fault = [], f"{type(error).__name__}: {error}"[:2000]
            for number, place in enumerate(batch):
                row = _row(lines[number]) if number < len(lines) else None
                if row is None:
                    faults[place] = f"The worker ended without a result.\n{fault}"
                else:
                    known(place, row)
            future.release()
        return faults


def _row(line: str) -> Result | None:
    try:
        return from_dict(json.loads(line))
    except (ValueError, KeyError, TypeError):
        return None
