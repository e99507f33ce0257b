"""The students' bundle: what is in it, what must not be, and what stops a release."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grading.__main__ import main
from grading.release import bundle, gate
from grading.release.traces import regions, traces
from tests.impostors import Impostor
from tests.variants import Variant
from warpwise import curriculum
from warpwise.curriculum import COURSE

UNIT = curriculum.load().unit("t1_01_threads")
LAB = UNIT.lab.relative_to(COURSE)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A bundle with one lab."""
    target = tmp_path / "bundle"
    bundle.lay_out(target, [UNIT])
    return target


def change(path: Path, edit: Any) -> None:
    """Edit a notebook in place."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    edit(notebook)
    path.write_text(json.dumps(notebook), encoding="utf-8")


def test_a_bundle_is_clean_and_holds_what_a_student_needs(made: Path) -> None:
    """Only the released lab and its checks; no answers, tests or tools that need them."""
    assert traces(made, [UNIT]) == []
    assert {path.name for path in made.iterdir()} == {
        "LICENSE", "Makefile", "README.md", "grading", "labs", "pyproject.toml",
        "requirements.txt", "tiers", "warpwise",
    }  # fmt: skip
    assert [path.name for path in (made / "labs").rglob("*.ipynb")] == [LAB.name]
    assert [p.stem for p in (made / "warpwise/check/specs").glob("t*.py")] == [UNIT.name]
    assert not (made / "warpwise/authoring").exists() and not (made / "grading/release").exists()
    assert [unit.name for unit in curriculum.load(made, made / "warpwise/curriculum.toml").written]
    assert regions(UNIT)


def test_the_makefile_and_the_requirements_are_cut() -> None:
    """Targets that need a class or the tests are gone; the rest is as it was."""
    text = bundle.makefile((COURSE / "Makefile").read_text(encoding="utf-8"))
    needs = bundle.requirements((COURSE / "requirements.txt").read_text(encoding="utf-8"))

    assert "\nlab: env" in text and "\nsubmit-check: env" in text and "\nenv:\n" in text
    assert not any(f"\n{name}: " in text for name in ("test", "build", "grade", "release"))
    assert "jupyterlab==" in needs and "papermill==" in needs and "pytest==" not in needs


def test_answers_are_found_wherever_they_hide(made: Path) -> None:
    """In a source, an output, metadata or an attachment, a sentence each."""
    answer = "\n".join(f"    {line}" for line in dict(regions(UNIT))["interleave"].split("\n"))
    places = {
        "source": lambda nb: nb["cells"][-1].update(source=answer),
        "output": lambda nb: nb["cells"][2].update(
            outputs=[{"output_type": "stream", "name": "stdout", "text": [answer]}]
        ),
        "metadata": lambda nb: nb["metadata"].update(note=answer),
        "attachment": lambda nb: nb["cells"][0].update(
            attachments={"a.txt": {"text/plain": base64.b64encode(answer.encode()).decode()}}
        ),
    }
    clean = (made / LAB).read_bytes()
    for place, edit in places.items():
        (made / LAB).write_bytes(clean)
        change(made / LAB, edit)

        found = traces(made, [UNIT])

        assert any(str(LAB) in sentence for sentence in found), place
        if place != "attachment":
            assert any("the answer to interleave" in sentence for sentence in found), place


@pytest.mark.parametrize("name", ["solutions/x.py", ".git/config", "run.json", "tests/a.py"])
def test_files_that_must_stay_are_found(made: Path, name: str) -> None:
    """Folders of the course, a git directory, and a class's seed."""
    path = made / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")

    assert traces(made, [UNIT])


def test_a_marker_is_found(made: Path) -> None:
    """Wherever it stands."""
    with open(made / "tiers/glossary.md", "a", encoding="utf-8") as file:
        file.write("\n### BEGIN SOLUTION\n")

    assert traces(made, [UNIT]) == ["tiers/glossary.md: it has a solution marker."]


def test_the_gate_says_what_is_wrong() -> None:
    """A solution below the maximum, a lab that is worth something, a check that is fooled."""
    one = SimpleNamespace(exercise="blocks_for", status="fail", points=0, max_points=2, message="m")
    row: Any = SimpleNamespace(
        points=10.0, max_points=12.0, status="graded", sentence="s", exercises=[one]
    )
    right, wrong = (lambda n, block: -(-n // block)), (lambda n, block: n // block)

    assert "10.0 of 12.0" in next(gate.solution_faults(row))
    assert len(list(gate.untouched_faults(row))) == 2
    for answer, faults in ((Impostor("blocks_for", "a", "d", right), "must fail"),
                           (Impostor("blocks_for", "a", "d", wrong), "is taken for"),
                           (Variant("blocks_for", "a", wrong), "must pass")):  # fmt: skip
        wanted = "pass" if isinstance(answer, Variant) else "fail"
        assert faults in "".join(gate.answer_faults(answer, wanted, 1))
    assert not list(gate.answer_faults(Variant("blocks_for", "a", right), "pass", 1))


def test_a_release_is_refused_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No such lab, a folder in use, a folder in the course."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full/a").write_text("")
    for words, said in (
        ([str(tmp_path / "o"), "--lab", "t9_01_no"], "No unit"),
        ([str(tmp_path / "full"), "--lab", UNIT.name], "Name a new folder"),
        ([str(COURSE / "o"), "--lab", UNIT.name], "outside of it"),
    ):
        assert main(["release", *words]) == 2
        assert said in capsys.readouterr().err


@pytest.mark.slow
def test_a_release_is_tried_and_serves_a_student(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the command to a student's look at a notebook, with the bundle's own code."""
    out = tmp_path / "course"

    code = main(["release", str(out), "--lab", UNIT.name, "--quick", "--seed", "5"])

    assert code == 0, capsys.readouterr().out
    done = subprocess.run(
        [sys.executable, "-m", "grading", "submit-check", str(UNIT.solution)],
        cwd=out,
        env=os.environ | {"PYTHONPATH": str(out), "WARPWISE_BACKEND": "sim"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 of 6 pass" in done.stdout and "the grader draws other inputs" in done.stdout
