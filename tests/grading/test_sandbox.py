"""What a student's process can reach: its own box, where bubblewrap makes one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from grading import sandbox
from grading.grade import grade_one
from grading.intake import Submission
from grading.library import SHARED, lay_out_shared
from grading.results import Result
from grading.run import Limits
from tests.grading.submissions import notebook_bytes, toy_cells, toy_lab
from warpwise.curriculum import COURSE

boxed = pytest.mark.skipif(
    sandbox.kind() == sandbox.NONE, reason="bubblewrap cannot be used on this machine"
)

# Raises what it finds out, so that the message of the result tells it.
SPY = """
def last_index(n):
    import os, pathlib, socket, subprocess
    def fails(attempt):
        try:
            attempt()
        except OSError as error:
            return type(error).__name__
        return "done"
    facts = {{
        "outside": fails(lambda: open({outside!r}).read()),
        "course": os.path.exists({course!r}),
        "usr": fails(lambda: open("/usr/x", "w")),
        "top": fails(lambda: open("/x", "w")),
        "job": fails(lambda: open("../job.json", "a")),
        "library": fails(lambda: open(os.environ["PYTHONPATH"] + "/x", "w")),
        "net": fails(lambda: socket.create_connection(("192.0.2.1", 9), 1)),
        "kernel": sum(
            fails(lambda: os.close(os.open(folder + "/" + name, os.O_WRONLY | os.O_NONBLOCK)))
            == "done"
            for top in os.listdir("/proc")
            if not top.isdigit() and "self" not in top
            for folder, _, names in os.walk("/proc/" + top)
            for name in names
        ),
        "spaces": subprocess.run(["unshare", "-Ur", "true"], capture_output=True).returncode,
        "sysctl": fails(lambda: open("/proc/sys/kernel/core_pattern", "w")),
        "few": sum(name.isdigit() for name in os.listdir("/proc")) < 12,
        "here": fails(lambda: open("x", "w").write("x")),
        "user": os.getuid(),
    }}
    raise ValueError(" ".join(f"{{k}}={{v}}" for k, v in facts.items()))
"""


def grade(tmp_path: Path, *cells: str) -> Result:
    path = tmp_path / "ada.ipynb"
    path.write_bytes(notebook_bytes(*cells))
    return grade_one(Submission("ada", "ada", path), toy_lab(), 5, Limits(seconds=60, disk_mb=20))


@boxed
@pytest.mark.parametrize("is_shared", [False, True])
def test_a_box_has_walls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_shared: bool) -> None:
    """No file of the grader's, no network, no other process; only its own folder can be written.

    So it is with a library of the run's own and with one that serves all runs of a pool.
    """
    if is_shared:
        lay_out_shared(tmp_path / "shared")
        monkeypatch.setenv(SHARED, str(tmp_path / "shared"))
        monkeypatch.setattr("grading.run.copy_library", None)
    secret = tmp_path / "secret"
    secret.write_text("seed")
    spy = SPY.format(outside=str(secret), course=str(COURSE / "solutions"))

    result = grade(tmp_path, *toy_cells(last_index=spy))

    assert result.sandbox == "in bubblewrap"
    said = dict(
        word.split("=") for word in result.exercises[1].message.split() if word.count("=") == 1
    )
    assert said["outside"] == "FileNotFoundError"
    assert said["course"] == "False"
    for name in ("usr", "top", "job", "library"):
        assert said[name] == "OSError", name  # read-only file system
    assert said["sysctl"] in ("OSError", "PermissionError")
    assert (said["kernel"], said["spaces"]) == ("0", "1")
    assert said["net"] == "OSError"  # network is unreachable
    assert (said["few"], said["here"], said["user"]) == ("True", "done", "65534")
    assert result.points == 5.0


def test_without_bubblewrap_each_result_says_so(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(sandbox, "kind", lambda: sandbox.NONE)

    assert sandbox.command(["python", "-c", "pass"], tmp_path, 1) == ["python", "-c", "pass"]


def test_it_is_tried_before_it_is_relied_on(monkeypatch) -> None:
    """A bubblewrap that may make no namespaces here is as good as none."""
    monkeypatch.setattr(
        sandbox, "inside", lambda *args: [sys.executable, "-c", "raise SystemExit(1)"]
    )

    assert sandbox.kind.__wrapped__() == sandbox.NONE


GROWING = {
    "processes": (
        "import os, time\nfor _ in range(60):\n    if os.fork() == 0:\n"
        "        time.sleep(300)\n        os._exit(0)\ntime.sleep(60)",
        "too-many-processes",
    ),
    "memory": (
        "import os, time\nfor _ in range(12):\n    if os.fork() == 0:\n"
        "        x = b'x' * 150_000_000\n        time.sleep(300)\n        os._exit(0)\n"
        "time.sleep(60)",
        "out-of-memory",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", GROWING)
def test_processes_are_limited_together(tmp_path: Path, kind: str) -> None:
    """Many small processes, or several that each stay below the limit; answers are still graded."""
    cell, reason = GROWING[kind]
    path = tmp_path / "ada.ipynb"
    path.write_bytes(notebook_bytes(*toy_cells(after_setup=cell)))
    limits = Limits(seconds=60, memory_mb=1500, processes=40)

    result = grade_one(Submission("ada", "ada", path), toy_lab(), 5, limits)

    assert (result.status, result.reason, result.points) == ("graded-repaired", reason, 7.0)
