"""Broken and hostile submissions as a table: what is done to a notebook, and the row it must get.

A kind starts from a notebook whose answers are all right or all wrong.  Forging kinds start from
wrong answers: whatever they do, they must earn nothing.  The others must cost no point but their
own.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from grading.reasons import (
    GRADED,
    GRADED_REPAIRED,
    NEEDS_HUMAN,
    NOT_SUBMITTED,
    PARTLY_GRADED,
    UNREADABLE,
)

ALL, NONE, BLANK, WITHOUT_LAST = "all", "none", "blank", "without the last"


@dataclass(frozen=True)
class Draft:
    """A student's notebook before something happens to it.

    cells: (exercise or "", source) of each code cell.  last: an exercise that no other one needs.
    """

    student: str
    name: str
    unit: str
    cells: tuple[tuple[str, str], ...]
    last: str

    def data(self, **changes: Any) -> dict[str, Any]:
        """The notebook as JSON-ready data; `changes` go into its top level."""
        return as_notebook(self.cells, self.student) | changes

    def file(self, **changes: Any) -> bytes:
        """The same as the bytes of a file."""
        return as_bytes(self.data(**changes))

    def with_cell(self, source: str, at: int = 1) -> Draft:
        """A cell of the student's in front of cell `at`."""
        cells = (*self.cells[:at], ("", source), *self.cells[at:])
        return Draft(self.student, self.name, self.unit, cells, self.last)

    def with_last(self, source: str | None) -> Draft:
        """Another text for the answer to `last`; None deletes its cell."""
        cells = [
            (name, source if name == self.last else text)
            for name, text in self.cells
            if name != self.last or source is not None
        ]
        kept = tuple((name, text or "") for name, text in cells)
        return Draft(self.student, self.name, self.unit, kept, self.last)


#: path below the folder of submissions -> bytes, or the target of a symbolic link
Files = dict[str, bytes | str]


@dataclass(frozen=True)
class Kind:
    """One way to hand in something odd.

    make: the files.  reasons: one of these is the row's.  points: of the draft: ALL, NONE, ...
    right: whether the draft's answers are right.  runs: whether it only shows when a run is needed.
    listed: whether the student is on the roster.
    """

    name: str
    make: Callable[[Draft], Files]
    status: str
    reasons: tuple[str, ...] = ("",)
    points: str = NONE
    right: bool = True
    runs: bool = False
    listed: bool = field(default=True)


def as_notebook(cells: Sequence[tuple[str, str]], student: str) -> dict[str, Any]:
    """A notebook as a student's JupyterLab writes it."""
    head = {"cell_type": "markdown", "id": "name", "metadata": {}, "source": [student]}
    code = [
        {
            "cell_type": "code",
            "execution_count": number,
            "id": f"cell-{number}",
            "metadata": {},
            "outputs": [],
            "source": source.splitlines(keepends=True),
        }
        for number, (_, source) in enumerate(cells, start=1)
    ]
    kernel = {"display_name": "mine", "language": "python", "name": "conda-env-mine-py"}
    return {
        "cells": [head, *code],
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def as_bytes(data: Any) -> bytes:
    """JSON as JupyterLab writes it."""
    return json.dumps(data, indent=1, ensure_ascii=False).encode()


def _file(change: Callable[[Draft], bytes]) -> Callable[[Draft], Files]:
    return lambda draft: {f"{draft.student}.ipynb": change(draft)}


def _bytes(data: bytes) -> Callable[[Draft], Files]:
    return _file(lambda draft: data)


def _cell(source: str) -> Callable[[Draft], Files]:
    return _file(lambda draft: draft.with_cell(source).file())


def _half(draft: Draft) -> bytes:
    data = draft.file()
    return data[: len(data) // 2]


def _conflict(draft: Draft) -> bytes:
    lines = draft.file().split(b"\n")
    lines[3:3] = [b"<<<<<<< HEAD", b"=======", b">>>>>>> theirs"]
    return b"\n".join(lines)


def _latin(draft: Draft) -> bytes:
    return draft.with_cell("# caf\u00e9").file().decode().encode("latin-1", "replace")


def _twice(draft: Draft) -> bytes:
    source = dict(draft.cells)[draft.last]
    wrong = f"def {draft.last}(*anything):\n    return None"
    return draft.with_last(wrong).with_cell(source, len(draft.cells)).file()


def _painted(draft: Draft) -> bytes:
    """Tags that skip cells, saved records of a pass, ids of the lab's own."""
    data = draft.data()
    record = {"status": "pass", "points": 99}
    shown = {"application/vnd.warpwise.record+json": record, "text/plain": "pass"}
    for cell in data["cells"]:
        cell["metadata"] = {"tags": ["skip-execution", "check", "exercise"], "points": 99}
        if cell["cell_type"] == "code":
            cell["outputs"] = [{"output_type": "display_data", "metadata": {}, "data": shown}]
    data["metadata"]["papermill"] = {"status": "completed"}
    return as_bytes(data)


def _odd_cells(draft: Draft) -> bytes:
    data = draft.data()
    data["cells"] += [17, {"cell_type": "code", "source": [1]}]
    return as_bytes(data)


def _deep(draft: Draft) -> bytes:
    return b'{"cells": ' + b"[" * 5_000 + b"]" * 5_000 + b"}"


def _half_a_pair(draft: Draft) -> bytes:
    data = draft.with_cell("x = 'HALF'").file()
    return data.replace(b"HALF", b"\\ud83d")


def _by_name(draft: Draft) -> Files:
    """Named by the student's own name, with accents in two parts."""
    return {f"{unicodedata.normalize('NFD', draft.name)}.ipynb": draft.file()}


_FORGED_CHECK = "def check(name, answer):\n    print(name, 'pass, all points')"
_FORGED_RECORD = (
    "from IPython.display import display\n"
    "display({'application/vnd.warpwise.record+json': {'status': 'pass', 'points': 99},"
    " 'text/plain': 'pass'}, raw=True)"
)
_FORGED_REPLY = (
    "session = get_ipython().kernel.session\nsend = session.send\n"
    "def forged(stream, kind, content=None, *more, **named):\n"
    "    if kind == 'execute_reply':\n"
    "        content = {'status': 'ok', 'execution_count': 1, 'payload': [],"
    " 'user_expressions': {}}\n"
    "    return send(stream, kind, content, *more, **named)\n"
    "session.send = forged"
)
_ASSERTS = (
    "import ast\nclass Strip(ast.NodeTransformer):\n"
    "    def visit_Assert(self, node):\n        return ast.Pass()\n"
    "get_ipython().ast_transformers.append(Strip())"
)
_TRACE = "import sys\nsys.settrace(lambda *any: None)\nsys.setprofile(lambda *any: None)"
_HIDDEN = "get_ipython().showtraceback = lambda *any, **named: None"
_SEARCH = (
    "import os, sys\nfound = []\n"
    "for top in ['/', *sys.path]:\n"
    "    for path in ('warpwise/check/specs', 'solutions', 'tests/variants'):\n"
    "        found += [os.path.join(top, path)] * os.path.exists(os.path.join(top, path))\n"
    "for path in found:\n    sys.path.insert(0, os.path.dirname(path))"
)
_CALLS_HOME = (
    "import socket, urllib.request\nsocket.setdefaulttimeout(1)\n"
    "try:\n    urllib.request.urlopen('http://192.0.2.1/answers')\nexcept OSError:\n    pass"
)
_LATER = (
    "import threading, time\n"
    "def later():\n    time.sleep(0.5)\n    print('pass')\n"
    "threading.Thread(target=later, daemon=True).start()"
)
_FORKS = (
    "import os, time\nfor _ in range(2_000):\n    if os.fork() == 0:\n"
    "        time.sleep(600)\n        os._exit(0)\ntime.sleep(600)"
)

KINDS: tuple[Kind, ...] = (
    # the file cannot be read
    Kind("empty_file", _bytes(b""), UNREADABLE, ("empty",)),
    Kind("half_a_file", _file(_half), UNREADABLE, ("truncated",)),
    Kind("merge_markers", _file(_conflict), UNREADABLE, ("merge-conflict",)),
    Kind("latin_1", _file(_latin), UNREADABLE, ("not-utf8",)),
    Kind("utf_16", _file(lambda d: d.file().decode().encode("utf-16")), UNREADABLE, ("not-utf8",)),
    Kind("web_page", _bytes(b"<!DOCTYPE html><p>Log in</p>"), UNREADABLE, ("not-json",)),
    Kind(
        "not_a_number",
        _file(lambda d: d.file(metadata={"x": float("nan")})),
        UNREADABLE,
        ("bad-number",),
    ),
    Kind("twice_the_cells", _bytes(b'{"cells": [], "cells": []}'), UNREADABLE, ("duplicate-keys",)),
    Kind("deep_json", _file(_deep), UNREADABLE, ("too-deep",)),
    Kind("half_a_pair", _file(_half_a_pair), UNREADABLE, ("bad-characters",)),
    Kind("a_list", _bytes(b"[]"), UNREADABLE, ("not-a-notebook",)),
    Kind("format_3", _file(lambda d: d.file(nbformat=3)), UNREADABLE, ("notebook-version",)),
    Kind("no_cells", _file(lambda d: d.file(cells=[])), UNREADABLE, ("no-code",)),
    Kind(
        "script", lambda d: {f"{d.student}.py": b"print(1)"}, UNREADABLE, ("not-a-notebook-file",)
    ),
    Kind("link", lambda d: {f"{d.student}.ipynb": "/etc/passwd"}, UNREADABLE, ("symlink",)),
    # nothing was handed in, or a person has to look
    Kind("nothing", lambda d: {}, NOT_SUBMITTED, ("no-submission",)),
    Kind(
        "folder_without_a_notebook",
        lambda d: {f"{d.student}/notes.txt": b"later"},
        NOT_SUBMITTED,
        ("not-submitted",),
    ),
    Kind(
        "two_notebooks",
        lambda d: {f"{d.student}/a.ipynb": d.file(), f"{d.student}/b.ipynb": d.file()},
        NEEDS_HUMAN,
        ("several-notebooks",),
        BLANK,
    ),
    Kind(
        "another_lab",
        _file(lambda d: as_bytes(as_notebook([("", "x = 1")], d.student))),
        NEEDS_HUMAN,
        ("wrong-notebook",),
        BLANK,
    ),
    Kind(
        "stranger",
        _file(lambda d: d.file()),
        NEEDS_HUMAN,
        ("not-on-roster",),
        BLANK,
        listed=False,
    ),
    # odd, and read all the same
    Kind("named_by_name", _by_name, GRADED, points=ALL),
    Kind(
        "named_by_the_platform",
        lambda d: {f"Lab 1_{d.student} (2).ipynb": d.file()},
        GRADED,
        points=ALL,
    ),
    Kind(
        "in_a_folder",
        lambda d: {f"{d.student}/deep er/{d.unit}_lab.ipynb": d.file()},
        GRADED,
        points=ALL,
    ),
    Kind("minor_2", _file(lambda d: d.file(nbformat_minor=2, extra=[1])), GRADED, points=ALL),
    Kind(
        "byte_order_mark",
        _file(lambda d: b"\xef\xbb\xbf" + d.file()),
        GRADED_REPAIRED,
        ("byte-order-mark",),
        ALL,
    ),
    Kind("odd_cells", _file(_odd_cells), GRADED_REPAIRED, ("malformed-cell",), ALL),
    Kind("invalid_cell", _cell("x = = 1"), GRADED_REPAIRED, ("invalid-cell",), ALL),
    Kind("defined_twice", _file(_twice), GRADED_REPAIRED, ("twice-defined",), ALL),
    Kind("magics", _cell("%matplotlib inline\n!ls\nx = 1"), GRADED, points=ALL),
    Kind("unicode_names", _cell("größe = 名前 = 3\nﬁn = größe"), GRADED, points=ALL),
    Kind(
        "answer_deleted",
        _file(lambda d: d.with_last(None).file()),
        PARTLY_GRADED,
        ("missing-function",),
        WITHOUT_LAST,
    ),
    Kind(
        "answer_in_invalid_cell",
        _file(lambda d: d.with_last(f"def {d.last}(n):\nreturn 1").file()),
        PARTLY_GRADED,
        ("in-invalid-cell",),
        WITHOUT_LAST,
    ),
    # what a cell does to its run
    Kind("loop", _cell("while True:\n    pass"), GRADED_REPAIRED, ("timeout",), ALL, runs=True),
    Kind(
        "dies", _cell("import os\nos._exit(0)"), GRADED_REPAIRED, ("kernel-exited",), ALL, runs=True
    ),
    Kind(
        "kills_its_kernel",
        _cell("import os\nos.kill(os.getpid(), 9)"),
        GRADED_REPAIRED,
        ("kernel-killed",),
        ALL,
        runs=True,
    ),
    Kind(
        "exits",
        _cell("import sys\nsys.exit(0)"),
        GRADED_REPAIRED,
        ("exit-called",),
        ALL,
        runs=True,
    ),
    Kind("asks", _cell("x = input()"), GRADED_REPAIRED, ("asks-for-input",), ALL, runs=True),
    Kind(
        "prints_50_megabytes",
        _cell("print('x' * 50_000_000)"),
        GRADED_REPAIRED,
        ("too-much-output",),
        ALL,
        runs=True,
    ),
    Kind(
        "asks_for_50_gigabytes",
        _cell("x = bytearray(50_000_000_000)"),
        GRADED_REPAIRED,
        ("out-of-memory",),
        ALL,
        runs=True,
    ),
    Kind("forks", _cell(_FORKS), GRADED_REPAIRED, ("too-many-processes",), ALL, runs=True),
    # what is meant to earn points without answers
    Kind("painted", _file(_painted), GRADED, right=False),
    Kind("forged_check", _cell(_FORGED_CHECK), GRADED, right=False),
    Kind("forged_record", _cell(_FORGED_RECORD), GRADED, right=False),
    Kind("forged_reply", _cell(_FORGED_REPLY), GRADED, right=False),
    Kind("no_asserts", _cell(_ASSERTS), GRADED, right=False),
    Kind("traces", _cell(_TRACE), GRADED, right=False),
    Kind("hides_errors", _cell(_HIDDEN), GRADED, right=False),
    Kind("searches_for_answers", _cell(_SEARCH), GRADED, right=False),
    Kind("calls_home", _cell(_CALLS_HOME), GRADED, right=False),
    Kind("comes_back_later", _cell(_LATER), GRADED, right=False),
)
