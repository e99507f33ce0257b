"""`python -m warpwise.authoring`: what it says, what it writes, its exit codes."""

import json
import sys

import pytest

from warpwise.authoring import __main__ as cli

LESSON = "tiers/t1_kernels/t1_01_threads.ipynb"
LAB = "labs/t1_kernels/t1_01_threads_lab.ipynb"
LAB_SOURCE = "solutions/t1_kernels/source/t1_01_threads_lab.py"
LESSON_SOURCE = "tiers/t1_kernels/source/t1_01_threads.py"


def run(course, *arguments):
    """The exit code of one call."""
    return cli.main(["--root", str(course), *arguments])


def edit(path, old, new):
    """Replace text that must be there in a file."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def pretend_executed(course):
    """Give the lesson outputs as if it had been run."""
    path = course / LESSON
    notebook = json.loads(path.read_text())
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for count, cell in enumerate(code, 1):
        cell["execution_count"] = count
        cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": ["45\n"]}]
    text = json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def stored_outputs(course):
    """How many code cells of the lesson on disk have outputs."""
    cells = json.loads((course / LESSON).read_text())["cells"]
    return sum(bool(cell.get("outputs")) for cell in cells)


@pytest.fixture
def built(course, capsys):
    """A course that is built and whose lesson was run."""
    assert run(course) == cli.OK
    pretend_executed(course)
    capsys.readouterr()
    return course


def test_build_writes_three_notebooks(course, capsys):
    """One line a notebook, and a sum."""
    assert run(course) == cli.OK

    assert capsys.readouterr().out == (
        "wrote tiers/t1_kernels/t1_01_threads.ipynb\n"
        "tiers/t1_kernels/t1_01_threads.ipynb has no outputs yet: run it with --execute\n"
        "wrote solutions/t1_kernels/t1_01_threads_lab.ipynb\n"
        "wrote labs/t1_kernels/t1_01_threads_lab.ipynb\n"
        "3 notebooks, 3 written.\n"
    )


def test_building_again_writes_nothing(built, capsys):
    """A built course is left alone, outputs included."""
    assert run(built) == cli.OK

    assert capsys.readouterr().out == "3 notebooks, 0 written.\n"
    assert stored_outputs(built) == 2


def test_check_is_content_with_a_built_course(built, capsys):
    """Also with whatever outputs a lesson has: those are not its question."""
    assert run(built, "--check") == cli.OK

    assert capsys.readouterr().out == "3 notebooks checked: as the sources say.\n"


def test_check_shows_the_source_cells_that_differ(built, capsys):
    """A unified diff, then the command that mends it."""
    edit(built / LAB_SOURCE, "Twice x.", "Two times x.")

    assert run(built, "--check") == cli.DIFFERENT

    out = capsys.readouterr().out
    assert (
        "--- labs/t1_kernels/t1_01_threads_lab.ipynb\n"
        "+++ built from solutions/t1_kernels/source/t1_01_threads_lab.py\n"
    ) in out
    assert '-    """Twice x."""\n+    """Two times x."""\n' in out
    assert out.endswith("\n\n2 of 3 notebooks to mend. The command for it: make build\n")


def test_check_writes_nothing(built):
    """Whatever it finds, the files stay."""
    edit(built / LAB_SOURCE, "Twice x.", "Two times x.")
    before = {path: path.read_bytes() for path in built.rglob("*.ipynb")}

    run(built, "--check")

    assert before == {path: path.read_bytes() for path in built.rglob("*.ipynb")}
    assert len(before) == 3


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda path: path.unlink(), "missing"),
        (lambda path: path.write_text("<<<<<<< HEAD"), "not a notebook"),
        (
            lambda path: path.write_text(path.read_text().rstrip("\n")),
            "same cells, but not in the form the builder writes",
        ),
    ],
)
def test_check_says_why_a_notebook_differs_when_no_cell_does(built, capsys, damage, sentence):
    """Missing, unreadable, or reformatted."""
    damage(built / LAB)

    assert run(built, "--check") == cli.DIFFERENT

    assert (
        f"{LAB}: {sentence}\n\n1 of 3 notebooks to mend. The command for it: make build\n"
        == capsys.readouterr().out
    )


def test_check_refuses_a_lesson_that_was_not_run(built, capsys):
    """nbval compares no cell that was never run, so a lesson without outputs would test nothing."""
    edit(built / LESSON, '"execution_count": 2', '"execution_count": null')

    assert run(built, "--check") == cli.DIFFERENT

    assert f"{LESSON}: not executed from top to bottom" in capsys.readouterr().out


def test_prose_may_change_without_a_new_run(built):
    """Outputs stay when no code cell has changed."""
    edit(built / LESSON_SOURCE, "# Threads", "# Many threads")

    assert run(built) == cli.OK

    assert stored_outputs(built) == 2
    assert run(built, "--check") == cli.OK


def test_changed_code_drops_all_outputs(built, capsys):
    """One cell may change the numbers of any later one."""
    edit(built / LESSON_SOURCE, "range(10)", "range(11)")

    assert run(built) == cli.OK

    assert stored_outputs(built) == 0
    assert f"{LESSON} has no outputs yet: run it with --execute" in capsys.readouterr().out


def test_orphans_are_reported_then_deleted(built, capsys):
    """A unit that was renamed leaves nothing behind."""
    for path in (*built.rglob("*t1_01_threads*"),):
        path.rename(path.with_name(path.name.replace("t1_01_threads", "t1_02_grids")))
    for path in built.rglob("*.ipynb"):
        path.rename(path.with_name(path.name.replace("t1_02_grids", "t1_01_threads")))

    assert run(built, "--check") == cli.DIFFERENT
    assert f"{LAB}: made by no source" in capsys.readouterr().out

    assert run(built) == cli.OK
    assert f"deleted {LAB}: no source makes it" in capsys.readouterr().out
    assert not (built / LAB).exists()
    assert (built / LAB.replace("t1_01_threads", "t1_02_grids")).exists()


def test_a_notebook_of_somebody_else_is_left_alone(built, capsys):
    """The builder deletes only what it wrote itself."""
    path = built / "labs/t1_kernels/my_notes.ipynb"
    path.write_text("{}")

    assert run(built, "--check") == cli.DIFFERENT
    assert "labs/t1_kernels/my_notes.ipynb: not a notebook of the course" in capsys.readouterr().out

    assert run(built) == cli.OK
    assert (
        "left labs/t1_kernels/my_notes.ipynb alone: it is not the builder's. "
        "Move it to mine/ or delete it."
    ) in capsys.readouterr().out
    assert path.exists()


def test_a_bad_source_leaves_every_notebook_as_it_was(built, capsys):
    """All sources are read before anything is written."""
    edit(built / LESSON_SOURCE, "# Threads", "# Many threads")
    edit(built / LAB_SOURCE, "### END SOLUTION", "### END  SOLUTION")
    before = (built / LESSON).read_bytes()

    assert run(built) == cli.BAD_SOURCE

    captured = capsys.readouterr()
    assert captured.err.startswith(f"{built / LAB_SOURCE}:12: '### END  SOLUTION' looks like")
    assert captured.out == ""
    assert before == (built / LESSON).read_bytes()


def test_finding_no_source_is_an_error(tmp_path, capsys):
    """An empty course is not a course in order."""
    assert run(tmp_path, "--check") == cli.BAD_SOURCE

    assert (
        f"{tmp_path}: No sources in tiers/*/source or solutions/*/source.\n"
        == capsys.readouterr().err
    )


def test_paths_narrow_the_work(course, capsys):
    """Only what is named is written."""
    assert run(course, str(course / LAB)) == cli.OK

    assert f"wrote {LAB}\n1 notebook, 1 written.\n" == capsys.readouterr().out
    assert not (course / LESSON).exists()


@pytest.mark.parametrize("arguments", [["--all"], ["--check", "--execute"], ["--bogus"]])
def test_options_that_make_no_sense_are_refused(course, arguments):
    """With the exit code of a bad argument."""
    with pytest.raises(SystemExit) as caught:
        run(course, *arguments)

    assert caught.value.code == cli.BAD_SOURCE


def test_checking_needs_no_kernel(built, monkeypatch):
    """--check is quick because it starts nothing."""
    monkeypatch.setattr(sys, "executable", "/nonexistent")

    assert run(built, "--check") == cli.OK
