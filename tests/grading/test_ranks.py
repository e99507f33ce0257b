"""Functions on ranks as answers: run in the student's process, judged by what they computed."""

from __future__ import annotations

import time

import numpy as np
import psutil
import pytest

pytest.importorskip("torch", reason="ranks need PyTorch")

import grading.run
from grading.grade import grade_one
from grading.intake import Submission
from grading.lab import CourseCell, Exercise, Lab
from grading.results import Result
from grading.run import Limits
from tests.grading.submissions import notebook_bytes
from warpwise.check.ranked import Limits as Costs
from warpwise.check.ranked import World, ranks_spec
from warpwise.fabric import Link, Network

SLOW = pytest.mark.slow
HEAD = "import torch\nimport torch.distributed as dist\nfrom warpwise import check"
HOLE = "def add_up(x, net):\n    # YOUR CODE HERE\n    raise NotImplementedError"
TO_ALL = """
def add_up(x, net):
    total = x.clone()
    for other in range(net.size):
        if other != net.rank:
            came = torch.empty_like(x)
            if net.rank < other:
                net.send(x, other)
                net.recv(came, other)
            else:
                net.recv(came, other)
                net.send(x, other)
            total += came
    return total
"""


def worlds(rng, level):
    for n, length in ((2, 3), (3, 4)):
        yield World(tuple((rng.random(length),) for _ in range(n)), Network(n, Link(5.0, 10.0)))


SPEC = ranks_spec(
    "add_up", "toy", 3, worlds,
    lambda world: [sum(args[0] for args in world.args)] * world.ranks, ("x", "net"),
    Costs(
        by_hand=True,
        most_bytes=lambda world: (world.ranks - 1) * world.args[0][0].nbytes,
        least_bytes=lambda world: world.args[0][0].nbytes,
        most_seconds=lambda world: 1.0,
    ),
)  # fmt: skip
LAB = Lab(
    "toy",
    (
        CourseCell("", frozenset(), HEAD),
        CourseCell("add_up", frozenset({"exercise"}), HOLE),
        CourseCell("", frozenset({"check"}), 'check("add_up", add_up)'),
    ),
    (Exercise("add_up", "add_up", SPEC),),
)


MARKS: list[str] = []


@pytest.fixture(autouse=True)
def marks_of_our_runs(monkeypatch):
    """Remembers the marks of the runs of one test: others may run on this machine."""
    made = grading.run._environment
    MARKS.clear()

    def remembered(folder, mark):
        MARKS.append(mark)
        return made(folder, mark)

    monkeypatch.setattr(grading.run, "_environment", remembered)


def row(tmp_path, *cells: str, seconds: float = 120) -> Result:
    """The row of a submission; nothing of its run is left."""
    path = tmp_path / "ada.ipynb"
    path.write_bytes(notebook_bytes(HEAD, *cells))
    result = grade_one(Submission("ada", "ada", path), LAB, 5, Limits(seconds=seconds))
    assert MARKS
    assert not left_over()
    return result


def left_over() -> list[str]:
    """Processes of runs that are still there a moment later."""
    deadline = time.monotonic() + 5
    while True:
        found = []
        for process in psutil.process_iter():
            try:
                mark = process.environ().get(grading.run._MARK)
                if mark in MARKS and process.status() != "zombie":
                    found.append(" ".join(process.cmdline())[:100])
            except (psutil.Error, OSError):
                continue
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.2)


def test_a_right_function_gets_its_points(tmp_path) -> None:
    result = row(tmp_path, TO_ALL)

    assert (result.status, result.points) == ("graded", 3.0), result.exercises[0].message


@SLOW
def test_wrong_values_are_seen(tmp_path) -> None:
    result = row(tmp_path, TO_ALL.replace("return total", "return total / net.size"))

    assert (result.points, result.exercises[0].diagnosis) == (0.0, "wrong_values")
    assert "2 ranks, rank 0 with float64 (3,)" in result.exercises[0].message


HOSTILE = {
    # name: (cells, diagnosis or None)
    "hangs": (
        [TO_ALL.replace("if net.rank < other:", "if True:")],
        "hang",
    ),
    "loops": (
        ["def add_up(x, net):\n    while True:\n        pass"],
        "hang",
    ),
    "kills_its_siblings": (
        [
            "import os, psutil\n\ndef add_up(x, net):\n    if net.rank == 0:\n"
            "        for one in psutil.Process(os.getppid()).children():\n"
            "            if one.pid != os.getpid():\n                one.kill()\n"
            "    net.barrier()\n    return x"
        ],
        "rank_failed",
    ),
    "kills_its_parent": (
        ["import os\n\ndef add_up(x, net):\n    os.kill(os.getppid(), 9)"],
        None,
    ),
    "forks_away": (
        [
            "import os, time\n\ndef away():\n    if os.fork() == 0:\n        os.setsid()\n"
            "        os.environ.clear()\n        time.sleep(600)\n",
            TO_ALL.replace("total = x.clone()", "away()\n    total = x.clone()"),
        ],
        "",
    ),
    "tells_its_own_story": (
        [
            TO_ALL,
            "import warpwise.fabric.world as w\n"
            "w.on_ranks = lambda answer, args: {'ranks': 2, 'status': ['ok', 'ok'], 'sentence': '',"
            " 'failed': '', 'last': False, 'values': [0, 0], 'seconds': 1.0, 'sent': 24,"
            " 'wire': 24, 'rounds': 1, 'operations': ['send', 'recv'],"
            " 'flops': 0, 'largest': 0, 'held': 0}",
        ],
        "wrong_type",
    ),
    "ends_after_the_first": (
        [
            TO_ALL,
            "import warpwise.fabric.world as w\nhonest = w.on_ranks\n"
            "w.on_ranks = lambda answer, args: honest(answer, args) | {'last': True}",
        ],
        "not_told",
    ),
    "sends_nothing_and_reads_the_others": (
        [
            TO_ALL,
            "import warpwise.fabric.world as w\n\n"
            "def told(answer, args):\n    world = args[0]\n"
            "    total = sum(one[0] for one in world.args)\n"
            "    return {'ranks': world.ranks, 'status': ['ok'] * world.ranks, 'sentence': '',"
            " 'failed': '', 'last': False, 'values': [total] * world.ranks, 'seconds': 0.0,"
            " 'sent': 0, 'wire': 0, 'rounds': 0, 'operations': [], 'flops': 0,"
            " 'largest': 0, 'held': 0}\n\nw.on_ranks = told",
        ],
        "not_sent",
    ),
    "messages_around_the_clock": (
        [TO_ALL.replace("net.send(", "dist.send(").replace("net.recv(", "dist.recv(")],
        "not_timed",
    ),
    "writes_the_answers_file": (
        [
            TO_ALL.replace("return total", "return total * 0"),
            "import os, json\nopen(os.environ['WARPWISE_ANSWERS'], 'a').write(json.dumps("
            "{'exercise': 'add_up', 'values': [{'value': 1}] * 2}) + chr(10))",
        ],
        None,
    ),
}
FAST = {"tells_its_own_story"}


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[SLOW] * (one not in FAST)) for one in HOSTILE]
)
def test_each_gets_what_it_deserves(tmp_path, name) -> None:
    """None but the one that only leaves a process behind gets points; nothing goes on running."""
    cells, diagnosis = HOSTILE[name]
    result = row(tmp_path, *cells)
    one = result.exercises[0]

    assert result.status in ("graded", "graded-repaired", "partly-graded"), result
    assert result.points == (3.0 if diagnosis == "" else 0.0), one.message
    if diagnosis:
        assert one.diagnosis == diagnosis, one.message


def test_what_a_liar_tells_is_read_or_refused() -> None:
    """Whatever is told, the judge says what is wrong with it and never fails."""
    world = next(iter(worlds(np.random.default_rng(1), "grader")))
    honest = {
        "ranks": 2, "status": ["ok", "ok"], "sentence": "", "failed": "", "last": False,
        "values": [1, 2], "seconds": 1.0, "sent": 24, "wire": 24, "rounds": 1,
        "operations": ["send"], "flops": 0, "largest": 0, "held": 0,
    }  # fmt: skip
    lies = [None, 3, [], {}, {"status": ["ok"]}, {**honest, "more": 1}]
    lies += [{key: value for key, value in honest.items() if key != left} for left in honest]
    for value in (None, "x", -1, float("nan"), float("inf"), [], [3], [[]], {}, True, 10**30):
        lies += [{**honest, key: value} for key in honest]
    for lie in lies:
        found = SPEC.examine((world,), lie)
        assert found is not None
        assert all(isinstance(part, str) for part in found)
