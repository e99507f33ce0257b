"""Forging and timing attacks as submissions: each must score what it deserves.

Others stand where what they attack is tested: test_grade.py (patched checks, records, replies and
files, liars' types, exits, loops), test_border.py (what may cross), test_sandbox.py (what can be
reached), test_tiles.py and test_ranks.py (kernels of Triton's, runs on ranks).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from grading.answers import extract
from grading.cells import BrokenCell, Cell, to_python
from grading.evidence import evidence
from grading.grade import grade_one
from grading.intake import Submission
from grading.parse import CodeCell
from grading.questions import question
from grading.results import ExerciseResult, Result
from grading.rounds import Gathered
from grading.run import Limits
from grading.verify import verdict
from tests.grading.submissions import (
    CEIL_DIV,
    FILL,
    notebook_bytes,
    toy_cells,
    toy_lab,
)

WRONG = "def ceil_div(n, d):\n    return 0"
LIMITS = Limits(seconds=40, disk_mb=20)


def grade(tmp_path: Path, cells: list[str]) -> Result:
    path = tmp_path / "ada.ipynb"
    path.write_bytes(notebook_bytes(*cells))
    return grade_one(Submission("ada", "ada", path), toy_lab(), 5, LIMITS)


def judged(text: str, payload: dict | None = None) -> ExerciseResult:
    """The verdict on the kernel `fill` in a cell, given what came back from the student's side."""
    lab = toy_lab()
    asked = question(lab.exercises[2], extract([CodeCell(1, text)], ["fill"], ()), lab, 1)
    gathered = Gathered(payloads={"fill": payload} if payload else {})
    return verdict(lab.exercises[2], evidence(asked, gathered), 1)


# Cells that Python's parser takes and its compiler, or IPython, does not.
LATE = {
    "global_after_use": FILL + "\n    global cuda",
    "two_arguments_of_one_name": FILL.replace("n):", "out):"),
    "nonlocal": FILL + "\n    nonlocal n",
    "many_shell_lines": FILL + "\n" + "!ls\n" * 600,
    "many_assigned_lines": FILL + "\n" + "x = !ls\n" * 450,
    "many_questions": FILL + "\n" + "fill?\n" * 600,
    "a_magic_in_a_long_cell": FILL + "\n%time\n!ls\n" + "# x\n" * 40_000,
}


@pytest.mark.parametrize("cell", LATE)
def test_code_that_is_refused_late_is_the_students(cell: str) -> None:
    """It is left out with a note, at once, and hides no answer in another cell."""
    assert isinstance(to_python(CodeCell(1, LATE[cell])), BrokenCell)

    found = extract([CodeCell(1, LATE[cell]), CodeCell(2, FILL)], ["fill"], ())

    assert found.found["fill"].definition.cell == 2
    assert found.notes[0].reason in ("invalid-cell", "cell-too-complex")


def test_a_few_magics_in_a_usual_cell_are_read() -> None:
    """The limit is far from what a student writes."""
    source = "%matplotlib inline\n!nvidia-smi\n%time x = 1\n" + (FILL + "\n\n") * 20

    assert isinstance(to_python(CodeCell(1, source)), Cell)


@pytest.mark.parametrize("value", ["9" * 400, "-1" + "0" * 90, "(" * 15 + "3" + ",)" * 15])
def test_a_monstrous_constant_is_the_students(value: str) -> None:
    """A number or tuple that is too large to keep costs its exercise, and is no fault of ours."""
    assert judged(f"STEP = {value}\n{FILL}").status in ("fail", "no-answer")


# Constants that a student's process may tell in place of a number.
TOLD = {
    "nothing": None,
    "hole": {"hole": 1},
    "text": {"text": "3"},
    "nan": {"float": "nan"},
    "list": {"list": [3]},
    "dictionary": {"dict": [[1, 2]]},
    "empty_tuple": {"tuple": []},
    "huge": 2**100,
    "array": {"array": ["<f8", [2], "AAAAAAAAAAAAAAAAAAAAAA=="]},
    "complex": {"scalar": ["<c8", "AAAAAAAAAAA="]},
    "none_of_ours": {"pickle": "gASVAA=="},
}


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("use", ["S * i", "S[0] * i", "S.x", "len(S)", "i // S"])
def test_a_forged_constant_is_never_our_fault(told: str, use: str) -> None:
    """Whatever is told of a kernel's constant: no points, and no error of the grader's."""
    text = "S = open\n" + FILL.replace("STEP * i", use)
    payload = {"exercise": "fill", "names": {"S": {"value": TOLD[told]}}}

    result = judged(text, payload)

    assert (result.status in ("fail", "no-answer"), result.points) == (True, 0.0), result.message


# In a kernel of the simulator: nothing of Python's own may run where verdicts are made.
MARK = "/tmp/warpwise-attack-was-here"
REACHING = {
    "default": FILL.replace("n):", f"n=open({MARK!r}, 'w')):"),
    "annotation": FILL.replace("n):", f"n: open({MARK!r}, 'w')):"),
    "returns": FILL.replace("):", f") -> open({MARK!r}, 'w'):", 1),
    "call": FILL + f"\n    open({MARK!r}, 'w')",
    "lambda": FILL + f"\n    (lambda: open({MARK!r}, 'w'))()",
    "comprehension": FILL + f"\n    x = [open({MARK!r}, 'w') for _ in (1,)]",
    "import": FILL + f"\n    import os\n    os.system('touch {MARK}')",
    "class": FILL + f"\n    class A:\n        x = open({MARK!r}, 'w')",
    "with": FILL + f"\n    with open({MARK!r}, 'w'):\n        pass",
    "loader": "import math\n"
    + FILL
    + f"\n    math.__loader__.load_module('os').system('touch {MARK}')",
    "module_in_a_module": "import numpy as np\n" + FILL + f"\n    np.os.system('touch {MARK}')",
    "array_method": FILL + f"\n    out.tofile({MARK!r})",
    "saves": "import numpy as np\n" + FILL + f"\n    np.save({MARK!r}, n)",
    "helper_default": FILL
    + f"\n    h(1)\n@cuda.jit(device=True)\ndef h(x, y=open({MARK!r}, 'w')):\n    return x",
}


@pytest.mark.parametrize("attack", REACHING)
def test_a_kernel_reaches_nothing_of_the_verifiers(attack: str) -> None:
    """What stands where a kernel's code may stand is read by the simulator, never by Python."""
    Path(MARK).unlink(missing_ok=True)

    result = judged(REACHING[attack])

    assert not Path(MARK).exists()
    assert result.status in ("pass", "fail", "no-answer"), result.message


_LIES = "    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n"
_PLACE = "import os\nos.chdir(os.path.dirname(os.environ['WARPWISE_ANSWERS']))\n"

# name: (cells' texts, points of ceil_div, last_index and fill)
ATTACKS = {
    "array_subclass": (
        {
            "ceil_div": "import numpy as np\nclass A(np.ndarray):\n"
            + _LIES
            + "    __array_priority__ = 1e9\n"
            "def ceil_div(n, d):\n    return np.zeros(()).view(A)"
        },
        (0, 2, 3),
    ),
    "text_subclass": (
        {"ceil_div": f"class S(str):\n{_LIES}def ceil_div(n, d):\n    return S(-(-n // d))"},
        (0, 2, 3),
    ),
    "float_that_is_any": (
        {"ceil_div": "def ceil_div(n, d):\n    return float('nan')"},
        (0, 2, 3),
    ),
    "true_for_one": ({"ceil_div": "def ceil_div(n, d):\n    return True"}, (0, 2, 3)),
    "right_then_wrong": (
        {
            "ceil_div": "calls = []\ndef ceil_div(n, d):\n    calls.append(n)\n"
            "    return -(-n // d) if len(calls) < 9 else 0"
        },
        (0, 2, 3),
    ),
    "patched_modules": (
        {
            "after_setup": "import builtins, math, numpy as np, operator\n"
            "for name in ('allclose', 'array_equal', 'testing', 'asarray'):\n"
            "    setattr(np, name, lambda *a, **k: True)\n"
            "math.isclose = operator.eq = lambda *a, **k: True",
            "ceil_div": WRONG,
        },
        (0, 2, 3),
    ),
    "traces_the_probe": (
        {
            "after_setup": "import sys\n"
            "def spy(frame, event, arg):\n"
            "    for name in ('values', 'answer', 'request'):\n"
            "        if name in frame.f_locals and isinstance(frame.f_locals[name], dict):\n"
            "            frame.f_locals[name]['status'] = 'pass'\n    return None\n"
            "sys.setprofile(spy)",
            "ceil_div": WRONG,
        },
        (0, None, 3),
    ),
    "a_thread_after_the_probe": (
        {
            "ceil_div": WRONG,
            "at_end": "import os, threading, time\n"
            "def late():\n    time.sleep(0.2)\n"
            "    path = os.environ['WARPWISE_ANSWERS']\n    text = open(path).read()\n"
            "    open(path, 'w').write(text.replace('\"value\":0', '\"value\":1'))\n"
            "threading.Thread(target=late).start()\ntime.sleep(1)",
        },
        (0, 2, 3),
    ),
    "gives_the_file_away": (
        {
            "at_end": "import os\npath = os.environ['WARPWISE_ANSWERS']\nos.unlink(path)\n"
            "os.symlink('/etc/passwd', path)"
        },
        (None, None, 3),
    ),
    "a_pipe_for_a_file": (
        {
            "at_end": "import os\npath = os.environ['WARPWISE_ANSWERS']\nos.unlink(path)\n"
            "os.mkfifo(path)"
        },
        (None, None, 3),
    ),
    "deep_json_in_the_file": (
        {
            "after_setup": "import os\nopen(os.environ['WARPWISE_ANSWERS'], 'a').write("
            "'[' * 100_000 + chr(10) + '{\"exercise\":' * 5_000 + chr(10))",
            "ceil_div": WRONG,
        },
        (0, 2, 3),
    ),
    "looks_for_the_spec": (
        {
            "ceil_div": "import gc, importlib, os, sys\ndef ceil_div(n, d):\n"
            "    for one in gc.get_objects():\n"
            "        if type(one).__name__ == 'FunctionSpec':\n"
            "            return one.reference(n, d)\n"
            "    for top in sys.path:\n"
            "        if os.path.isdir(os.path.join(top, 'warpwise', 'check', 'specs')):\n"
            "            return importlib.import_module('warpwise.check.specs').get("
            "'ceil_div').reference(n, d)\n    return 0"
        },
        (0, 2, 3),
    ),
    "other_inputs": (
        {
            "after_setup": "warpwise_requests = warpwise_requests.replace('1', '2')",
            "ceil_div": WRONG,
        },
        (0, None, 3),
    ),
    "nests_folders": (
        {
            "after_setup": _PLACE
            + "for _ in range(3000):\n    os.mkdir('d')\n    os.chdir('d')\nos.chdir('/')"
        },
        (2, 2, 3),
    ),
    "makes_files": (
        {
            "after_setup": _PLACE
            + "for k in range(10**7):\n    os.close(os.open(f'f{k}', os.O_CREAT))"
        },
        (2, 2, 3),
    ),
    "stays_in_the_room": (
        {
            "after_setup": "import os, signal, time\n"
            "for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):\n"
            "    signal.signal(number, signal.SIG_IGN)\n"
            "if os.fork() == 0:\n    os.setsid()\n    os.environ.clear()\n    time.sleep(9999)",
            "ceil_div": WRONG,
        },
        (0, 2, 3),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS)
def test_each_attack_scores_what_it_deserves(tmp_path: Path, attack: str) -> None:
    """No points for a wrong answer; never a fault of ours; an honest answer keeps its points.

    None: it spoils the answer's own way out, so that it may have no points.
    """
    texts, points = ATTACKS[attack]

    result = grade(tmp_path, toy_cells(**texts))

    assert result.status in ("graded", "graded-repaired", "partly-graded"), result.sentence
    for one, wanted in zip(result.exercises, points, strict=True):
        assert wanted is None or one.points == wanted, (one.exercise, one.status, one.message)
        assert one.status != "error"


def test_the_plain_answer_is_graded_as_ever() -> None:
    """What the attacks above start from is right."""
    assert judged(FILL).points == 3.0
    assert isinstance(to_python(CodeCell(1, CEIL_DIV)), Cell)
