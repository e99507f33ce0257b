"""Notebooks: canonical bytes, shared ids, and nothing of the answer in a lab."""

import json
from pathlib import Path

import nbformat
import pytest

from warpwise.authoring import (
    AuthoringError,
    build_full,
    build_lab,
    build_lesson,
    canonical_bytes,
    parse_source,
    read_source,
)
from warpwise.authoring.notebook import plain_name

LAB = "solutions/t1_kernels/source/t1_01_threads_lab.py"


@pytest.fixture
def cells(course):
    """The cells of the course's lab."""
    return read_source(course / LAB)


@pytest.mark.parametrize("build", [build_full, build_lab])
def test_two_builds_give_the_same_bytes(course, build):
    """Nothing random, no clock and no folder gets into a notebook."""
    first = canonical_bytes(build(read_source(course / LAB)))
    second = canonical_bytes(build(read_source(course / LAB)))

    assert first == second
    assert str(course).encode() not in first


def test_bytes_are_sorted_json_with_a_newline_at_the_end(cells):
    """The form git likes: sorted keys, one space, one newline."""
    data = canonical_bytes(build_lab(cells))
    again = json.dumps(json.loads(data), indent=1, sort_keys=True, ensure_ascii=False)

    assert (again + "\n").encode() == data


def test_notebooks_are_valid_and_carry_only_our_metadata(cells):
    """nbformat 4.5, our kernel, and tags as the only metadata of a cell."""
    notebook = build_full(cells)

    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert notebook.metadata == {
        "kernelspec": {"display_name": "Warpwise", "language": "python", "name": "warpwise"},
        "language_info": {"name": "python"},
    }
    assert [cell.metadata for cell in notebook.cells] == [
        {},
        {},
        {"tags": ["exercise"]},
        {"tags": ["solution"]},
        {"tags": ["check"]},
    ]


def test_lab_and_solution_share_their_ids(cells):
    """Only the cells tagged `solution` are in the one and not in the other."""
    full = [cell.id for cell in build_full(cells).cells if "solution" not in _tags(cell)]

    assert full == [cell.id for cell in build_lab(cells).cells]
    assert "double" in full


def test_editing_an_answer_leaves_the_lab_as_it_was(course, cells):
    """The lab does not depend on an answer of the same length, and its ids on no answer."""
    text = (course / LAB).read_text()
    edited = parse_source(text.replace("x + x", "2 * x"), course / LAB)

    assert canonical_bytes(build_lab(cells)) == canonical_bytes(build_lab(edited))


def test_nothing_of_the_answer_is_in_the_lab(cells):
    """Neither the region, nor its markers, nor a solution cell."""
    data = canonical_bytes(build_lab(cells)).decode()

    assert "secret" not in data
    assert "SOLUTION" not in data
    assert "secret" in canonical_bytes(build_full(cells)).decode()


@pytest.mark.parametrize("build", [build_full, build_lab])
def test_the_first_cell_says_where_the_notebook_comes_from(cells, build):
    """Whoever opens a built notebook sees which text to edit instead."""
    first = build(cells).cells[0]

    assert (first.id, first.cell_type) == ("built-from", "markdown")
    assert f"`{LAB}`" in first.source


def test_a_lab_tells_its_reader_to_work_in_a_copy(cells):
    """The words a learner reads first."""
    assert build_lab(cells).cells[0].source == (
        "*A Warpwise lab. Your answers go into your own copy, which `make lab` keeps under "
        "`mine/`: a newer course never overwrites it.*\n\n"
        "*The original under `labs/` is built from "
        "`solutions/t1_kernels/source/t1_01_threads_lab.py`.*"
    )


@pytest.mark.parametrize(
    ("tag", "tags"),
    [
        ("timing", ["timing", "nbval-ignore-output"]),
        ("gpu", ["gpu", "nbval-skip", "skip-execution"]),
        ("raises-exception", ["raises-exception"]),
    ],
)
def test_tags_are_said_in_the_words_of_nbval_and_nbclient_too(tag, tags):
    """One tag of ours stands for those that the tools understand."""
    notebook = build_lesson(parse_source(f'# %% tags=["{tag}"]\nx = 1\n'))

    assert tags == _tags(notebook.cells[1])


@pytest.mark.parametrize("place", [1, 2])
def test_a_lesson_has_no_exercises(cells, place):
    """Neither an exercise nor an answer: a lesson is built without holes."""
    with pytest.raises(AuthoringError) as caught:
        build_lesson([cells[place]])

    assert str(caught.value).endswith(": A lesson has no exercises and no answers. Use the lab.")


def test_a_name_outside_the_course_is_the_file_name():
    """No folder of this machine is told."""
    assert plain_name(Path("/home/ada/notes.py")) == "notes.py"


def _tags(cell) -> list[str]:
    return cell.metadata.get("tags", [])
