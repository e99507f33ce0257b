"""The same rows from a Dask cluster, also when one of its workers is killed."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from grading.__main__ import main
from grading.cluster import Cluster, ClusterError
from grading.course import load_lab
from grading.intake import Submission
from grading.requests import Task
from grading.results import Result
from grading.run import Limits
from grading.store import Store
from tests.grading.submissions import notebook_bytes

UNIT = "t1_01_threads"
SETUP = "from warpwise import check, cuda"
# A kernel's text says all, so grading it needs no run: only the worker's start takes time.
KERNEL = "@cuda.jit\ndef write_index(out):\n    i = cuda.grid(1)\n    out[i] = i + {}"


def class_of(folder: Path) -> list[Submission]:
    """Three students; the first is right and the others are off by 1 and 2."""
    found = []
    for number, name in enumerate(("ada", "bob", "cyd")):
        path = folder / f"{name}.ipynb"
        path.write_bytes(notebook_bytes(SETUP, KERNEL.format(number)))
        found.append(Submission(name, name, path))
    return found


def kill_a_busy_one(client: Any, killed: list[int]) -> None:
    """SIGKILL to the first Dask worker that is running something."""
    pids = client.run(os.getpid)
    end = time.monotonic() + 120
    while time.monotonic() < end:
        busy = [address for address, keys in client.processing().items() if keys]
        if busy and busy[0] in pids:
            os.kill(pids[busy[0]], signal.SIGKILL)
            killed.append(pids[busy[0]])
            return
        time.sleep(0.05)


@pytest.mark.slow
def test_a_killed_worker_loses_nothing(tmp_path: Path) -> None:
    """A real scheduler and two workers, one killed while it grades: every row, once, and right."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    lab, store = load_lab(UNIT), Store(tmp_path / "out")
    store.open(UNIT, 7, None, Limits())
    submissions, killed, told = class_of(tmp_path), [], []
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        killer = threading.Thread(target=kill_a_busy_one, args=(client, killed))
        killer.start()
        with Cluster(lab, 2, cluster.scheduler_address) as workers:
            rows: list[Result] = workers.grade(
                submissions, Task(7, Limits(), store.folder), lambda row: told.append(row.student)
            )
        killer.join()

    assert killed
    assert [(row.student, row.exercises[0].status) for row in rows] == [
        ("ada", "pass"), ("bob", "fail"), ("cyd", "fail"),
    ]  # fmt: skip
    assert sorted(told) == ["ada", "bob", "cyd"]
    assert all(store.answers(row.answers) is not None for row in rows)


def test_no_scheduler_is_said_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And so is that Dask is not there."""
    class_of(tmp_path)
    command = ["grade", str(tmp_path), "--lab", UNIT, "--out", str(tmp_path / "out")]

    assert main([*command, "--dask", "nonsense://127.0.0.1:1"]) == 2
    said = capsys.readouterr().err
    assert "There is no Dask scheduler" in said or "needs the package distributed" in said


def test_without_dask_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is optional."""
    monkeypatch.setitem(__import__("sys").modules, "dask", None)

    with pytest.raises(ClusterError, match=r"pip install -r requirements\.txt"):
        Cluster(load_lab(UNIT), 1, "local").__enter__()
