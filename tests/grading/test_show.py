"""What stands behind one student's points, in the terminal and as a notebook to try."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest

from grading.__main__ import main
from grading.exports.evidence import evidence_text, found
from grading.parse import parse
from grading.replay import replay
from grading.results import Final
from grading.run import Limits
from grading.store import Store
from tests.grading.submissions import HOLE_TWO, notebook_bytes, toy_cells, toy_lab
from tests.grading.toy_rows import WRONG, graded, small_class, verdict


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder with the rows of a small class."""
    store = Store(tmp_path / "results")
    store.open("t1_01_threads", 7, None, Limits())
    for row in small_class():
        store.save_row(row)
    store.save_members([one.identity for one in small_class()])
    return store.folder


def test_all_that_is_known_about_a_row_is_told() -> None:
    """Who, status, points as judged and as they count, what was found and what was handed in."""
    final = Final(1.0, 4.0, {"ceil_div": 2.0, "last": 1.0}, 1, "C", ("1 day late",))
    row = graded("ada", verdict(), verdict(WRONG, False, "last"), name="Ada L", final=final, seed=7)
    text = evidence_text(row)

    assert text.startswith("ada, Ada L: toy\ngraded: 1 of 4, grade C\nas judged: 2 of 4\n")
    assert "seed of the inputs: 7" in text and "changed: 1 day late" in text
    assert "ceil_div: pass, 2 of 2\n" in text
    assert "last: fail, 0 of 2 as judged, counts 1, rounds_down" in text
    assert "  expected 4, got 3" in text
    assert "  Handed in, code cell 3:\n    def ceil_div(n, d):\n        return n // d" in text


@pytest.mark.parametrize("name", ["ada", "ADA", "Ada  Lovelace", "ada@example.org"])
def test_a_student_is_found_by_any_name(name: str) -> None:
    """Upper case and blanks do not count."""
    mine, _ = found(small_class(), name)

    assert [one.student for one in mine] == ["ada"]


def test_a_name_that_is_not_there_brings_names_like_it() -> None:
    """And no row."""
    assert found(small_class(), "Ada Lovelac") == ([], ["ada"])


def test_the_command_prints_one_exercise(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the name of student and exercise."""
    assert main(["show", str(results), "Bob Żółć", "ceil_div"]) == 0
    assert capsys.readouterr().out.startswith("ceil_div: pass, 2 of 2\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["adda"], "There is no row for 'adda'. Did you mean: ada?"),
        (["ada", "nothing"], "ada has no exercise 'nothing'. There are: ceil_div."),
        (["eve", "ceil_div"], "There are: none was judged."),
        (["ada", "--replay", "none.ipynb", "x.ipynb"], "none.ipynb: The file cannot be opened"),
    ],
)
def test_what_cannot_be_shown_is_refused(
    results: Path, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a sentence that says how to go on."""
    assert main(["show", str(results), *words]) == 2
    assert sentence in capsys.readouterr().err


def test_a_replay_holds_the_students_code_and_the_graders_checks() -> None:
    """In a valid notebook; an answer that is not there has no check."""
    cells = toy_cells(ceil_div=WRONG, last_index=HOLE_TWO)[:-2]
    made = nbformat.reads(replay(parse(notebook_bytes(*cells)), toy_lab(), 7, "ada"), 4)
    nbformat.validate(made)
    sources = [cell.source for cell in made.cells]

    assert WRONG.strip() in [source.strip() for source in sources]
    assert sources[0].startswith("# ada, as it was graded")
    checks = [source for source in sources if "judge(" in source]
    assert "judge(specs.get('ceil_div'), ceil_div, 7, \"grader\")" in checks[0]
    assert len(checks) == 2  # the third answer was deleted
    assert "publish" not in json.dumps(made)
