"""Reading a submitted file: each defect has its own reason and sentence."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from grading.parse import MAX_DEPTH, parse, read_file
from grading.reasons import SubmissionError
from tests.grading.submissions import notebook, notebook_bytes

AGAIN = "Save the notebook in JupyterLab and hand it in again."
GOOD = notebook_bytes("a = 1", "b = 2")

MERGED = GOOD.replace(
    b' "cells": [', b'<<<<<<< HEAD\n "cells": [\n=======\n "cells": [\n>>>>>>> theirs', 1
)

DEFECTS = {
    "empty": (b"", "empty", f"The file is empty. {AGAIN}"),
    "only_blanks": (b" \n\n", "empty", f"The file is empty. {AGAIN}"),
    "only_zeros": (b"\0" * 4096, "empty", f"The file is empty. {AGAIN}"),
    "latin1": (
        GOOD.replace(b"a = 1", "é = 1".encode("latin-1")),
        "not-utf8",
        None,
    ),
    "utf16": ("{}".encode("utf-16"), "not-utf8", None),
    "python_file": (
        b"import math\nprint(1)\n",
        "not-json",
        f"The file is not a notebook: it is not JSON (line 1, column 1: expecting value). {AGAIN}",
    ),
    "web_page": (
        b"<!DOCTYPE html><html></html>",
        "not-json",
        "The file is not a notebook: it is not JSON "
        f"(line 1, column 1: it looks like a web page). {AGAIN}",
    ),
    "merge_markers": (
        MERGED,
        "merge-conflict",
        "Line 2 is a Git merge marker (2 in the file). Keep one side of each conflict, "
        "open the notebook to see that it loads, and hand it in again.",
    ),
    "cut_in_the_middle": (
        GOOD[: len(GOOD) // 2],
        "truncated",
        None,
    ),
    "cut_in_a_string": (GOOD[: GOOD.index(b"b = 2") + 3], "truncated", None),
    "nan": (
        b'{"cells": [], "x": NaN}',
        "bad-number",
        f"The file holds NaN, which is not a JSON number. {AGAIN}",
    ),
    "huge_int": (b'{"cells": ' + b"9" * 5000 + b"}", "bad-number", None),
    "duplicate_keys": (
        b'{"cells": [], "cells": [], "nbformat": 4}',
        "duplicate-keys",
        f'The file says "cells" twice in one place, so its meaning is not clear. {AGAIN}',
    ),
    "deep": (
        b'{"cells": ' + b"[" * 100 + b"]" * 100 + b"}",
        "too-deep",
        f"The file is nested more than {MAX_DEPTH} levels deep, which no notebook is. {AGAIN}",
    ),
    "very_deep": (b"[" * 200_000, "too-deep", None),
    "lone_surrogate": (
        notebook_bytes("a = 1", "b = 'x'").replace(b"'x'", b"'\\ud800'"),
        "bad-characters",
        "Code cell 2 holds half of a character pair (a lone surrogate). "
        "Delete that character, save, and hand it in again.",
    ),
    "a_list": (
        b"[1, 2]",
        "not-a-notebook",
        f"The file is JSON, but not a notebook: it is not an object. {AGAIN}",
    ),
    "no_cells": (
        b'{"nbformat": 4}',
        "not-a-notebook",
        f"The file is JSON, but not a notebook: it has no list of cells. {AGAIN}",
    ),
    "old_format": (
        b'{"nbformat": 3, "worksheets": []}',
        "notebook-version",
        f"The file says notebook format 3; the grader reads format 4. {AGAIN}",
    ),
    "no_code": (notebook_bytes(), "no-code", "The notebook has no code cell."),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_each_defect_has_its_reason_and_sentence(defect: str) -> None:
    """A broken file is refused with the reason of its defect and with nothing else."""
    data, reason, sentence = DEFECTS[defect]

    with pytest.raises(SubmissionError) as caught:
        parse(data)

    assert reason == caught.value.reason
    if sentence is not None:
        assert sentence == caught.value.sentence


def test_code_cells_are_numbered_and_the_rest_is_dropped() -> None:
    """Only the sources of code cells come through, counted as the student counts them."""
    data = notebook("a = 1", "b = 2\nc = 3")
    data["cells"].insert(1, {"cell_type": "markdown", "metadata": {}, "source": "text"})

    parsed = parse(json.dumps(data).encode())

    assert [(c.number, c.source) for c in parsed.cells] == [(1, "a = 1"), (2, "b = 2\nc = 3")]
    assert parsed.notes == ()


@pytest.mark.parametrize(
    "change",
    [
        {"nbformat_minor": 2},
        {"metadata": {"kernelspec": {"name": "conda-env-py37-py"}}},
        {"metadata": {"widgets": {}}},
        {"surprise": [1, 2]},
    ],
)
def test_harmless_differences_are_read(change: dict) -> None:
    """Other minor versions, kernels and unknown keys do not stop a student."""
    assert len(parse(json.dumps(notebook("a = 1") | change).encode()).cells) == 1


def test_missing_version_is_read() -> None:
    """A notebook without its nbformat key still has cells."""
    data = notebook("a = 1")
    del data["nbformat"]

    assert len(parse(json.dumps(data).encode()).cells) == 1


def test_byte_order_mark_is_repaired_and_noted() -> None:
    """A byte order mark is dropped, and the student is told."""
    parsed = parse(b"\xef\xbb\xbf" + GOOD)

    assert [one.reason for one in parsed.notes] == ["byte-order-mark"]


@pytest.mark.parametrize("bad", [17, {"source": "x"}, {"cell_type": "code", "source": [1]}])
def test_malformed_cell_hides_no_other(bad: object) -> None:
    """A cell that is none is left out with a note."""
    data = notebook("a = 1")
    data["cells"].insert(0, bad)

    parsed = parse(json.dumps(data).encode())

    assert [cell.source for cell in parsed.cells] == ["a = 1"]
    assert [one.sentence for one in parsed.notes] == [
        "Cell 1 of the file is malformed and was left out."
    ]


def test_large_saved_output_is_read() -> None:
    """A runaway loop's output saved in the file costs nothing."""
    data = notebook("a = 1")
    data["cells"][0]["outputs"] = [
        {"output_type": "stream", "name": "stdout", "text": "x" * 50_000_000}
    ]

    assert [cell.source for cell in parse(json.dumps(data).encode()).cells] == ["a = 1"]


def test_too_large_a_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """A file over the limit is refused by its size."""
    path = tmp_path / "a.ipynb"
    path.write_bytes(b" " * 3_000_000)

    with pytest.raises(SubmissionError) as caught:
        read_file(path, max_bytes=2_000_000)

    assert (
        caught.value.sentence == "The file has 3 MB and the grader reads at most 2 MB. "
        "Clear all outputs, save, and hand it in again."
    )


def test_link_and_pipe_are_not_opened(tmp_path: Path) -> None:
    """Neither a symbolic link nor a named pipe is read, even if it appears after the search."""
    (tmp_path / "real.ipynb").write_bytes(GOOD)
    link, pipe = tmp_path / "link.ipynb", tmp_path / "pipe.ipynb"
    link.symlink_to("real.ipynb")
    os.mkfifo(pipe)

    for path, reason in ((link, "cannot-open"), (pipe, "not-a-file")):
        with pytest.raises(SubmissionError) as caught:
            read_file(path)
        assert reason == caught.value.reason
