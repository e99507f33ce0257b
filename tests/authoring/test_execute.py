"""Running lessons: what is stored, what fails, and that nbval agrees with what is stored."""

import os
import subprocess
import sys

import pytest

from warpwise.authoring import ExecutionError, build_lesson, parse_source
from warpwise.authoring import __main__ as cli
from warpwise.authoring.execute import execute, is_executed

pytestmark = pytest.mark.slow

LESSON = "tiers/t1_kernels/t1_01_threads.ipynb"
SOURCE = "tiers/t1_kernels/source/t1_01_threads.py"

# One cell for each output that is awkward to store.
AWKWARD = """# %%
import time
import ipywidgets as widgets
from IPython.display import HTML, clear_output, display

# %%
out = widgets.Output()
with out:
    print("inside")
    clear_output(wait=True)
    display(HTML("<i>1</i>"))
out

# %%
widgets.interactive(lambda k: print("k is", k), k=(0, 4))

# %% tags=["raises-exception"]
raise ValueError("first line\\nsecond line")

# %% tags=["timing"]
print(time.time())

# %% tags=["gpu"]
raise RuntimeError("not run here")
"""


def ran(text, tmp_path, **options):
    """The notebook of a lesson's text, executed."""
    notebook = build_lesson(parse_source(text))
    execute(notebook, tmp_path, tmp_path, "lesson.py", **options)
    return notebook


def failure(text, tmp_path):
    """The message with which a lesson is refused."""
    with pytest.raises(ExecutionError) as caught:
        ran(text, tmp_path)
    return str(caught.value)


def nbval(course):
    """Run nbval, strict, on a course's lessons; the finished process."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--nbval", "--nbval-current-env", "tiers"],
        cwd=course,
        env={**os.environ, "WARPWISE_BACKEND": "sim"},
        capture_output=True,
        check=False,
        text=True,
    )


def test_a_lesson_runs_on_the_simulator_and_keeps_its_outputs(course, capsys):
    """--execute runs what has no outputs, and only that."""
    assert cli.main(["--root", str(course), "--execute"]) == cli.OK
    assert f"running {LESSON}\nwrote {LESSON}\n" in capsys.readouterr().out
    stored = (course / LESSON).read_text()
    assert '"sim\\n"' in stored
    assert '"45"' in stored

    assert cli.main(["--root", str(course), "--execute"]) == cli.OK
    assert capsys.readouterr().out == "3 notebooks, 0 written.\n"

    assert cli.main(["--root", str(course), "--execute", "--all"]) == cli.OK
    assert f"running {LESSON}\n3 notebooks, 0 written.\n" == capsys.readouterr().out


def test_a_lesson_that_fails_writes_nothing_of_itself(course, capsys):
    """The exit code says so, the message names source, cell and error."""
    path = course / SOURCE
    path.write_text(path.read_text() + "\n# %% broken\n1 / 0\n")

    assert cli.main(["--root", str(course), "--execute"]) == cli.NOT_RUNNING

    message = capsys.readouterr().err
    assert message.startswith(f"{SOURCE}: cell 'broken' failed.\n")
    assert "ZeroDivisionError: division by zero" in message
    assert "\x1b" not in message
    assert not (course / LESSON).exists()


def test_nbval_agrees_with_what_is_stored(course):
    """Widgets, cleared outputs, errors, clocks: a second run compares equal, cell by cell."""
    (course / SOURCE).write_text(AWKWARD)
    assert cli.main(["--root", str(course), "--execute"]) == cli.OK

    result = nbval(course)

    assert result.returncode == 0, result.stdout
    assert "5 passed, 1 skipped" in result.stdout


def test_nbval_sees_a_number_that_changed(course):
    """The comparison above is one that can fail."""
    assert cli.main(["--root", str(course), "--execute"]) == cli.OK
    path = course / LESSON
    path.write_text(path.read_text().replace('"45"', '"46"'))

    result = nbval(course)

    assert result.returncode == 1
    assert "1 failed, 1 passed" in result.stdout


def test_outputs_that_cannot_be_committed_are_refused(tmp_path):
    """With the cell and the reason, one line each."""
    text = (
        "# %% address\nprint(object())\n\n# %% noise\nimport sys\n\nprint('x', file=sys.stderr)\n"
    )

    first, second = failure(text, tmp_path).splitlines()

    assert first.startswith("lesson.py: cell 'address' cannot be committed: its output has 'at 0x")
    assert second == "lesson.py: cell 'noise' cannot be committed: it writes to stderr: 'x'."


def test_a_kernel_that_dies_is_a_failure(tmp_path):
    """Nothing is stored of a lesson whose kernel was killed."""
    text = "# %%\nimport os\n\n# %%\nos._exit(1)\n\n# %%\nx = 1\n"

    assert failure(text, tmp_path) == "lesson.py: the kernel died in this cell:\nos._exit(1)"


def test_a_kernel_that_does_not_start_is_a_failure(tmp_path, monkeypatch):
    """A broken installation is said in a sentence, too."""
    monkeypatch.setattr(sys, "executable", "/bin/false")

    assert failure("# %%\nx = 1\n", tmp_path).startswith(
        "lesson.py: the kernel did not start. Kernel died before replying to kernel_info"
    )


def test_an_endless_cell_is_a_failure(tmp_path):
    """A cell has its time, then the run ends with a sentence."""
    with pytest.raises(ExecutionError) as caught:
        ran("# %%\nx = 1\n\n# %%\nwhile True:\n    pass\n\n# %%\nx = 2\n", tmp_path, seconds=2)

    assert str(caught.value) == "lesson.py: a cell took longer than 2 s:\nwhile True:\n    pass"


def test_executed_means_every_cell_once_in_order(tmp_path):
    """Gaps and repeats show that somebody ran cells by hand."""
    notebook = ran("# %%\nx = 1\n\n# %%\nx += 1\n\n# %%\nprint(x)\n", tmp_path)
    assert is_executed(notebook)

    for counts in ([1, 3, 2], [1, None, 2], [2, 3, 4]):
        for cell, count in zip(notebook.cells[1:], counts):
            cell.execution_count = count
        assert not is_executed(notebook)
