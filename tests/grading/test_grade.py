"""One submission from bytes to its row: honest, broken and hostile ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grading import sandbox
from grading.grade import grade_one
from grading.intake import Submission
from grading.results import Result
from grading.run import Limits
from tests.grading.submissions import (
    CEIL_DIV,
    CHECK,
    CHECK_KERNEL,
    CHECK_TWO,
    FILL,
    HOLE,
    HOLE_KERNEL,
    HOLE_TWO,
    SETUP,
    notebook,
    notebook_bytes,
    toy_cells,
    toy_lab,
)

WRONG = "def ceil_div(n, d):\n    return 0"
ALL = 7.0
# Enough for a slow machine; a cell is interrupted after a quarter of it.
LIMITS = Limits(seconds=40)
SHORT = Limits(seconds=16, disk_mb=20)


def grade(
    tmp_path: Path, data: bytes | list[str], limits: Limits = LIMITS, seed: int = 5
) -> Result:
    """The row of a submission given as bytes or as the sources of its cells."""
    path = tmp_path / "ada.ipynb"
    path.write_bytes(data if isinstance(data, bytes) else notebook_bytes(*data))
    return grade_one(Submission("ada", "ada", path), toy_lab(), seed, limits)


def statuses(result: Result) -> dict[str, str]:
    """exercise -> status."""
    return {one.exercise: one.status for one in result.exercises}


def test_right_answers_get_all_points(tmp_path: Path) -> None:
    """A filled lab is graded in full, with the evidence for each exercise."""
    result = grade(tmp_path, toy_cells())

    assert (result.status, result.reason, result.points, result.max_points) == (
        "graded",
        "",
        ALL,
        ALL,
    )
    assert [one.label for one in result.exercises] == [
        "computed on this machine",
        "computed on this machine",
        "counted, simulator",
    ]
    assert result.exercises[2].source.startswith(FILL)
    assert [one.cell for one in result.exercises] == [2, 4, 6]
    assert result.sandbox == sandbox.kind()


def test_untouched_lab_is_todo_and_costs_no_run(tmp_path: Path) -> None:
    """Holes get no points, no blame and no run."""
    holes = [SETUP, HOLE, CHECK, HOLE_TWO, CHECK_TWO, HOLE_KERNEL, CHECK_KERNEL]
    result = grade(tmp_path, holes)

    assert (result.status, result.points, result.sandbox) == ("graded", 0.0, "not run")
    assert set(statuses(result).values()) == {"todo"}


def test_wrong_answers_get_none_and_a_diagnosis(tmp_path: Path) -> None:
    """Wrong values, an exception and a missing guard cost their own points."""
    result = grade(
        tmp_path,
        toy_cells(
            ceil_div="def ceil_div(n, d):\n    return n // d + 1",
            last_index="def last_index(n):\n    return 1 // 0",
            fill=FILL.replace("if i < n:", "if True:"),
        ),
    )

    assert (result.status, result.points) == ("graded", 0.0)
    assert [one.diagnosis for one in result.exercises][1:] == ["raised", "out_of_bounds"]
    assert "line 2:  return 1 // 0" in result.exercises[1].message


DEFECTS = {
    # name: (cells, status, reason, points, part of the sentence)
    "missing_function": (
        [SETUP, CEIL_DIV, FILL],
        "partly-graded",
        "missing-function",
        5.0,
        "No cell defines last_index, so it gets no points.",
    ),
    "twice_defined": (
        toy_cells(ceil_div=WRONG, at_end=CEIL_DIV),
        "graded-repaired",
        "twice-defined",
        ALL,
        "ceil_div is defined 2 times; the one in code cell 8 was graded.",
    ),
    "invalid_cell": (
        toy_cells(at_end="x = = 1"),
        "graded-repaired",
        "invalid-cell",
        ALL,
        "Code cell 8 is not valid Python (line 1: invalid syntax) and was left out.",
    ),
    "answer_in_invalid_cell": (
        toy_cells(last_index="def last_index(n):\nreturn n - 1"),
        "partly-graded",
        "in-invalid-cell",
        5.0,
        "The only definition of last_index is in code cell 4, which is not valid Python",
    ),
    "endless_loop_in_a_cell": (
        toy_cells(after_setup="while True:\n    pass"),
        "graded-repaired",
        "timeout",
        ALL,
        "Code cell 2 did not end within 4 s and was stopped.",
    ),
    "endless_loop_deaf_to_interrupts": (
        toy_cells(
            after_setup="import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
            "while True:\n    pass"
        ),
        "graded-repaired",
        "timeout",
        ALL,
        "Code cell 2 did not end within 4 s and was stopped.",
    ),
    "endless_loop_in_a_function": (
        toy_cells(ceil_div="def ceil_div(n, d):\n    while True:\n        pass"),
        "partly-graded",
        "timeout",
        5.0,
        "ceil_div, called on the grader's inputs, did not end within 4 s and was stopped.",
    ),
    "killed_kernel": (
        toy_cells(after_setup="import os\nos.kill(os.getpid(), 9)"),
        "graded-repaired",
        "kernel-killed",
        ALL,
        "Code cell 2 killed the kernel (SIGKILL).",
    ),
    "os_exit": (
        toy_cells(after_setup="import os\nos._exit(0)"),
        "graded-repaired",
        "kernel-exited",
        ALL,
        "Code cell 2 ended the kernel (exit code 0).",
    ),
    "sys_exit": (
        toy_cells(after_setup="import sys\nsys.exit(0)"),
        "graded-repaired",
        "exit-called",
        ALL,
        "Code cell 2 called exit; the rest of that cell did not run.",
    ),
    "fifty_megabytes_of_output": (
        toy_cells(after_setup="print('x' * 50_000_000)"),
        "graded-repaired",
        "too-much-output",
        ALL,
        "Code cell 2 printed more than 5 MB; the rest was thrown away.",
    ),
    "out_of_memory": (
        toy_cells(after_setup="x = bytearray(50_000_000_000)"),
        "graded-repaired",
        "out-of-memory",
        ALL,
        "Code cell 2 asked for more than the 4096 MB of memory there are.",
    ),
    "asks_for_input": (
        toy_cells(after_setup="name = input()"),
        "graded-repaired",
        "asks-for-input",
        ALL,
        "Code cell 2 asks for input, and nobody is there to type.",
    ),
    "fills_the_disk": (
        toy_cells(
            after_setup="for k in range(40):\n"
            "    with open(f'f{k}', 'wb') as file:\n        file.write(bytes(5_000_000))\n"
            "while True: pass"
        ),
        "graded-repaired",
        "too-much-disk",
        ALL,
        "Code cell 2 wrote more than 20 MB of files and was stopped.",
    ),
    "loop_before_the_answer_in_its_cell": (
        toy_cells(ceil_div="while True:\n    pass\n\n" + CEIL_DIV),
        "graded-repaired",
        "timeout",
        ALL,
        "Code cell 2 did not end within 4 s and was stopped.",
    ),
    "endless_kernel": (
        toy_cells(fill="@cuda.jit\ndef fill(out, n):\n    while True:\n        pass"),
        "graded",
        "",
        4.0,
        "",
    ),
    "constant_from_a_cell_that_kills": (
        toy_cells(fill="import os\nSTEP = 100 + os.getpid()\nos._exit(1)\n" + FILL),
        "graded-repaired",
        "kernel-exited",
        4.0,
        "Code cell 6 ended the kernel (exit code 1).",
    ),
    "another_lab": (
        ["x = 1"],
        "needs-human",
        "wrong-notebook",
        None,
        "The notebook defines none of this lab's functions (ceil_div, last_index, fill). "
        "Is it another lab?",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("defect", DEFECTS)
def test_each_defect_has_its_row_and_costs_no_more_than_its_own(
    tmp_path: Path, defect: str
) -> None:
    """Status, reason, points and sentence of a defect; the other exercises keep their points."""
    cells, status, reason, points, sentence = DEFECTS[defect]

    result = grade(tmp_path, cells, SHORT)

    assert (result.status, result.reason, result.points) == (status, reason, points)
    assert sentence in result.sentence
    assert result.max_points == ALL


def test_unreadable_file_is_a_row(tmp_path: Path) -> None:
    """A broken file gets a row with its reason, zero points and the lab's maximum."""
    result = grade(tmp_path, b"")

    assert (result.status, result.reason, result.points, result.max_points) == (
        "unreadable",
        "empty",
        0.0,
        ALL,
    )


MARK = "/tmp/warpwise-was-here"

# Each tries to get the 2 points of ceil_div without an answer to it.
HOSTILE = {
    "assert_stripper": "import ast\nclass T(ast.NodeTransformer):\n"
    "    def visit_Assert(self, node): return None\n"
    "get_ipython().ast_transformers.append(T())",
    "input_transformer": "get_ipython().input_transformers_cleanup.append("
    "lambda lines: ['print(\"PASS\")\\n'])",
    "always_equal": "class Yes(int):\n    def __eq__(self, other): return True\n"
    "    __hash__ = int.__hash__\ndef ceil_div(n, d):\n    return Yes(3)",
    "always_equal_object": "class Yes:\n    def __eq__(self, other): return True\n"
    "def ceil_div(n, d):\n    return Yes()",
    "patched_json": 'import json\njson.dumps = lambda *a, **k: \'{"status": "pass"}\'',
    "patched_probe": "import grading.probe as p\n"
    "p.publish = lambda name, names: print('PASS', name)\n"
    "p._append = lambda line: None",
    "forged_check": "def check(*a, **k):\n    return 'pass'",
    "forged_record": "from IPython.display import display\n"
    "display({'application/vnd.warpwise.record+json': {'status': 'pass', 'points': 99},"
    " 'text/plain': 'pass'}, raw=True)",
    "forged_lines": "import os\n"
    "open(os.environ['WARPWISE_ANSWERS'], 'a').write("
    '\'{"exercise":"ceil_div","status":"pass","points":99}\\n\')',
    "writes_at_exit": "import atexit, os\n"
    "def late():\n"
    "    open(os.environ['WARPWISE_ANSWERS'], 'a').write("
    '\'{"exercise":"ceil_div","values":[{"value":1}]}\\n\')\n'
    "atexit.register(late)",
    "kills_the_parent": "import os\nos.kill(os.getppid(), 9)",
    "pickle_bomb": "import os\n"
    "class Bomb:\n    def __reduce__(self): return (os.system, ('touch " + MARK + "',))\n"
    "def ceil_div(n, d):\n    return Bomb()",
    "object_array": "import numpy as np\n"
    "def ceil_div(n, d):\n    return np.array([object()], dtype=object)",
    "asks_the_course": "def ceil_div(n, d):\n"
    "    from warpwise.check import specs\n"
    "    return specs.get('ceil_div').reference(n, d)",
    "patched_display": "get_ipython().showtraceback = lambda *a, **k: None\nraise ValueError",
    "deep_answer": "def ceil_div(n, d):\n    x = []\n    for _ in range(10**5): x = [x]\n"
    "    return x",
    "huge_answer": "def ceil_div(n, d):\n    return 'x' * 10**8",
    "self_containing": "def ceil_div(n, d):\n    x = []\n    x.append(x)\n    return x",
    "raises_base_exception": "class B(BaseException):\n    def __str__(self): raise self\n"
    "def ceil_div(n, d):\n    raise B()",
    "thread_left_behind": "import threading, time\n"
    "threading.Thread(target=lambda: time.sleep(10**6)).start()",
    "kernel_message": "k = get_ipython().kernel\nsend = k.session.send\n"
    "def forged(stream, kind, content=None, *a, **kw):\n"
    "    if kind == 'execute_reply': content = {'status': 'ok', 'execution_count': 1,"
    " 'payload': [], 'user_expressions': {}}\n"
    "    return send(stream, kind, content, *a, **kw)\n"
    "k.session.send = forged",
}


@pytest.mark.slow
@pytest.mark.parametrize("attack", HOSTILE)
def test_hostile_notebook_earns_nothing(tmp_path: Path, attack: str) -> None:
    """No attack brings a point for the wrong answer, or costs one of the right ones."""
    source = HOSTILE[attack]
    answer = source if "def ceil_div" in source else WRONG
    extra = "" if "def ceil_div" in source else source
    Path(MARK).unlink(missing_ok=True)

    result = grade(tmp_path, toy_cells(ceil_div=answer, after_setup=extra), SHORT)

    points = {one.exercise: one.points for one in result.exercises}
    assert points["ceil_div"] == 0.0
    if attack not in ("input_transformer", "patched_json", "patched_probe"):
        # Those three spoil the student's own answers on their way out.
        assert (points["last_index"], points["fill"]) == (2.0, 3.0)
    assert points["fill"] == 3.0
    assert result.points == sum(points.values())
    assert not Path(MARK).exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "decorator",
    [
        '@cuda.jit(\'__import__("os").system("touch ' + MARK + "\")')",
        "@cuda.jit(__import__('os').system('touch " + MARK + "'))",
        "@cuda.jit(f\"{__import__('os').system('touch " + MARK + "')}\")",
    ],
)
def test_kernel_text_is_never_executed_by_the_judge(tmp_path: Path, decorator: str) -> None:
    """Code in a decorator runs in the student's process at most, never where verdicts are made."""
    from grading.answers import extract
    from grading.evidence import evidence
    from grading.parse import CodeCell
    from grading.questions import question
    from grading.rounds import Gathered
    from grading.verify import verdict

    Path(MARK).unlink(missing_ok=True)
    lab = toy_lab()
    found = extract([CodeCell(1, FILL.replace("@cuda.jit", decorator))], ["fill"], ())
    asked = question(lab.exercises[2], found, lab, 1)

    result = verdict(lab.exercises[2], evidence(asked, Gathered()), 1)

    assert (result.status, result.points) == ("fail", 0.0)
    assert not Path(MARK).exists()


def test_tags_outputs_and_metadata_count_for_nothing(tmp_path: Path) -> None:
    """Tags that skip cells, saved outputs and records of a pass are dropped with the rest."""
    data = notebook(*toy_cells(ceil_div=WRONG))
    for cell in data["cells"]:
        cell["metadata"] = {"tags": ["skip-execution", "check", "gpu"], "points": 99}
        cell["execution_count"] = 3
        cell["outputs"] = [
            {
                "output_type": "display_data",
                "metadata": {},
                "data": {
                    "application/vnd.warpwise.record+json": {"status": "pass", "points": 99},
                    "text/plain": "ceil_div: pass, 2 of 2 points",
                },
            }
        ]
    data["metadata"] = {"kernelspec": {"name": "evil"}, "papermill": {"status": "completed"}}

    result = grade(tmp_path, json.dumps(data).encode())

    assert statuses(result) == {"ceil_div": "fail", "last_index": "pass", "fill": "pass"}


@pytest.mark.slow
def test_nothing_is_left_running_or_lying_about(tmp_path: Path, monkeypatch) -> None:
    """After a run its processes are dead, also detached ones, and its folder is gone."""
    import psutil

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    detached = (
        "import subprocess\nfor _ in range(2):\n"
        "    p = subprocess.Popen(['sleep', '98765'], start_new_session=True)"
    )

    grade(tmp_path, toy_cells(after_setup=detached))

    left = [p for p in psutil.process_iter(["cmdline"]) if "98765" in (p.info["cmdline"] or [])]
    assert left == []
    assert [path.name for path in tmp_path.iterdir()] == ["ada.ipynb"]


def test_the_students_process_has_no_specs_and_no_secrets(tmp_path: Path, monkeypatch) -> None:
    """References, the grader's environment and its seed do not reach the student's process."""
    monkeypatch.setenv("GRADER_KEY", "secret")
    spy = (
        "def last_index(n):\n"
        "    import os, sys, warpwise.check, pathlib\n"
        "    here = pathlib.Path(warpwise.check.__file__).parent\n"
        "    found = ['GRADER_KEY' in os.environ, (here / 'specs').exists(),\n"
        "             (here.parent.parent / 'solutions').exists(),\n"
        "             'judge' in dir(warpwise.check)]\n"
        "    raise ValueError(found)"
    )

    result = grade(tmp_path, toy_cells(last_index=spy))

    assert "ValueError: [False, False, False, False]" in result.exercises[1].message


@pytest.mark.slow
def test_same_seed_same_row(tmp_path: Path) -> None:
    """Two gradings with one seed draw the same inputs; another seed draws others."""
    cells = toy_cells(ceil_div="def ceil_div(n, d):\n    return n")

    one, two = (grade(tmp_path, cells, seed=1).exercises[0].message for _ in range(2))

    assert one == two
    assert one != grade(tmp_path, cells, seed=2).exercises[0].message


@pytest.mark.slow
def test_fault_of_the_judge_is_never_a_zero(tmp_path: Path, monkeypatch) -> None:
    """A reference that fails leaves the row without points and says whose fault it is."""

    def broken(*args: object, **more: object) -> None:
        raise RuntimeError("broken reference")

    monkeypatch.setattr("grading.verify.judge_values", broken)

    result = grade(tmp_path, toy_cells())

    assert (result.status, result.points) == ("grader-error", None)
    assert result.sentence == (
        "The grader failed on this notebook. This is not the student's fault."
    )
    assert "broken reference" in result.exercises[0].message
