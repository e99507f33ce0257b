"""Outputs that may be committed, and those that may not."""

from pathlib import Path

import pytest
from nbformat import v4

from warpwise.authoring.outputs import WIDGET_VIEW, find_faults, normalise, private_folders


def cell_with(*outputs, tags=()):
    """A code cell that has these outputs."""
    return v4.new_code_cell("x", outputs=list(outputs), metadata={"tags": list(tags)})


def shown(**data):
    """A display_data output; `text_plain` stands for text/plain."""
    return v4.new_output("display_data", {key.replace("_", "/"): data[key] for key in data})


def test_a_widget_leaves_its_static_twin():
    """The model id goes, text and picture stay, so a page without a kernel shows something."""
    output = v4.new_output(
        "display_data",
        {"text/plain": "IntSlider()", "image/png": "aGk=", WIDGET_VIEW: {"model_id": "1"}},
    )
    notebook = v4.new_notebook(cells=[cell_with(output)], metadata={"widgets": {"state": {}}})

    normalise(notebook)

    assert notebook.cells[0].outputs[0].data == {"text/plain": "IntSlider()", "image/png": "aGk="}
    assert notebook.metadata == {}


def test_timestamps_are_removed():
    """When a cell was run is nobody's business, and differs each time."""
    cell = cell_with()
    cell.metadata = v4.new_notebook(
        metadata={"execution": {"iopub.execute_input": "2026"}}
    ).metadata
    notebook = v4.new_notebook(cells=[cell])

    normalise(notebook)

    assert notebook.cells[0].metadata == {}


def test_a_traceback_shrinks_to_its_message():
    """Tracebacks carry paths and colours; the message is what a lesson shows."""
    error = v4.new_output(
        "error",
        ename="ValueError",
        evalue="\x1b[31mno\x1b[0m",
        traceback=["\x1b[31m/home/ada/x.py in f", "ValueError: no"],
    )
    notebook = v4.new_notebook(cells=[cell_with(error)])

    normalise(notebook)

    assert (error.evalue, error.traceback) == ("no", ["ValueError: no"])


@pytest.mark.parametrize(
    ("output", "fault"),
    [
        (
            shown(text_plain="<function f at 0x7f3a2c>"),
            "its output has 'at 0x7f3a2c', which differs in every run",
        ),
        (
            v4.new_output("stream", name="stdout", text="/x/ipykernel_41/19.py"),
            "its output has 'ipykernel_41/19.py', which differs in every run",
        ),
        (
            v4.new_output("stream", name="stderr", text="\nUserWarning: slow\n  warn()"),
            "it writes to stderr: 'UserWarning: slow'",
        ),
        (
            v4.new_output("error", ename="E", evalue="in /srv/course/x.py"),
            "its output names the folder /srv/course, which is on this machine only",
        ),
    ],
)
def test_what_differs_from_run_to_run_is_refused(output, fault):
    """Each kind has a sentence that says what is wrong with it."""
    assert [fault] == find_faults(cell_with(output), ["/srv/course"])


@pytest.mark.parametrize(
    "output",
    [
        shown(text_plain="0x2A at 0 lanes", text_html="<b>32</b>"),
        shown(text_plain="/srv/courses/x.py"),
        shown(image_png="at 0x7f3a2c"),
        v4.new_output("stream", name="stdout", text="32\n"),
    ],
)
def test_ordinary_outputs_are_fine(output):
    """No false alarms on hexadecimal numbers, other folders, or pixels."""
    assert find_faults(cell_with(output), ["/srv/course"]) == []


def test_an_announced_error_must_come():
    """A cell that promises an error and raises none teaches the wrong thing."""
    assert find_faults(cell_with(tags=["raises-exception"])) == [
        "it is tagged 'raises-exception' but raised nothing"
    ]


def test_the_course_and_the_home_are_private():
    """Their names must not get into a committed output."""
    folders = private_folders(Path("/srv/course"))

    assert "/srv/course" in folders
    assert "/" not in folders
