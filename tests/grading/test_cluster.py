"""The same rows from a Dask cluster, also when one of its workers is killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from grading import cluster
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
        ) as started,
        distributed.Client(started) as client,
    ):
        killer = threading.Thread(target=kill_a_busy_one, args=(client, killed))
        killer.start()
        with Cluster(lab, 2, started.scheduler_address) as workers:
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


def command(folder: Path, *more: str) -> list[str]:
    """The command line that grades the class in `folder`."""
    return ["grade", str(folder), "--lab", UNIT, "--out", str(folder / "out"), "--jobs", "2", *more]


@pytest.mark.slow
def test_a_class_on_a_local_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From the command line: rows as from the pool, then judged again there."""
    pytest.importorskip("distributed", reason="Dask is not installed")
    class_of(tmp_path)

    assert main(command(tmp_path, "--dask", "local")) == 0
    rows = Store(tmp_path / "out").rows()
    assert [(row.student, row.points) for row in rows] == [("ada", 1), ("bob", 0), ("cyd", 0)]
    for verdict in (tmp_path / "out" / "verdicts").rglob("*.json"):
        verdict.unlink()
    again = ["rescore", str(tmp_path / "out"), "--lab", UNIT, "--dask", "local", "--jobs", "1"]
    assert main(again) == 0
    assert "0 up, 0 down, 3 the same" in capsys.readouterr().out
    assert main(command(tmp_path)) == 0
    assert "There already: 3 rows. Graded now: 0." in capsys.readouterr().out


@pytest.mark.slow
def test_a_scheduler_that_goes_away_loses_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command ends with a sentence, and goes on when it is given again."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    class_of(tmp_path)
    words = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard"]
    file = tmp_path / "out" / "scheduler.json"
    file.parent.mkdir()
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen([*words, "--port", "0", "--scheduler-file", str(file)], **quiet)
    worker = None
    try:
        end = time.monotonic() + 60
        while not file.exists() and time.monotonic() < end:
            time.sleep(0.05)
        with distributed.Client(scheduler_file=str(file)) as client:
            address = client.scheduler.address
            words = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-dashboard"]
            worker = subprocess.Popen([*words, "--nthreads", "1"], **quiet)
            killer = threading.Thread(
                target=lambda: (wait_for_work(client), scheduler.kill()), daemon=True
            )
            killer.start()
            assert main(command(tmp_path, "--dask", address)) == 2
            killer.join(60)
    finally:
        for process in filter(None, (scheduler, worker)):
            process.kill()
            process.wait()
    assert "went away. What was graded so far is kept" in capsys.readouterr().err
    assert main(command(tmp_path)) == 0
    assert [row.points for row in Store(tmp_path / "out").rows()] == [1, 0, 0]


def wait_for_work(client: Any) -> None:
    """Until a worker has something to do."""
    end = time.monotonic() + 60
    while time.monotonic() < end and not any(client.processing().values()):
        time.sleep(0.05)


@pytest.mark.slow
def test_a_scheduler_without_workers_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody waits for ever."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    monkeypatch.setattr(cluster, "_FIRST_WORKER_S", 0.5)
    class_of(tmp_path)
    with distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as empty:
        assert main(command(tmp_path, "--dask", empty.scheduler_address)) == 2
    assert "has no workers. Start some: dask worker" in capsys.readouterr().err


@pytest.mark.slow
def test_a_class_under_slurm(tmp_path: Path) -> None:
    """Where there is a Slurm: jobs that sbatch starts, rows as from the pool."""
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")
    if (
        shutil.which("sbatch") is None
        or subprocess.run(["sinfo"], check=False, **SILENT).returncode != 0
    ):
        pytest.skip("there is no Slurm here")
    class_of(tmp_path)

    assert main(command(tmp_path, "--dask", "slurm")) == 0
    assert [row.points for row in Store(tmp_path / "out").rows()] == [1, 0, 0]


SILENT: dict[str, Any] = {
    "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "timeout": 30
}  # fmt: skip


def test_no_scheduler_is_said_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And so is that Dask is not there."""
    class_of(tmp_path)

    assert main(command(tmp_path, "--dask", "nonsense://127.0.0.1:1")) == 2
    said = capsys.readouterr().err
    assert "There is no Dask scheduler" in said or "needs the package distributed" in said


def test_without_dask_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is optional."""
    monkeypatch.setitem(__import__("sys").modules, "dask", None)

    with pytest.raises(ClusterError, match=r"pip install -r requirements\.txt"):
        Cluster(load_lab(UNIT), 1, "local").__enter__()


def test_rows_of_another_environment_are_refused(tmp_path: Path) -> None:
    """A row that was made by another course or other packages has another name."""
    submissions = class_of(tmp_path)
    workers = Cluster(load_lab(UNIT), 1, "tcp://nowhere:1")
    row = Result("ada", "ada", UNIT, "graded", "", 1.0, 1.0, sha256="a", work="another")
    workers._all = lambda requests, timeout, task, on_result: on_result(row)  # type: ignore

    with pytest.raises(ClusterError, match="another course, Python or packages"):
        workers.grade(submissions, Task(7, Limits()), lambda row: None)


def test_a_worker_that_does_not_see_the_results_is_named(tmp_path: Path) -> None:
    """Before anything is graded."""

    class Client:
        def nthreads(self) -> dict[str, int]:
            return {"tcp://b:1": 1}

        def run(self, _: Any, path: str) -> dict[str, bool]:
            return {"tcp://a:1": True, "tcp://b:1": path != str(tmp_path)}

    workers = Cluster(load_lab(UNIT), 1, "tcp://nowhere:1")
    workers._client = Client()  # type: ignore[assignment]

    with pytest.raises(ClusterError, match=r"The worker tcp://b:1 does not see"):
        workers._ready(Task(7, Limits(), tmp_path))
