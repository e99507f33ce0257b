"""Answers by name out of cells that may hold anything."""

from __future__ import annotations

import pytest

from grading.answers import Answers, extract
from grading.cells import without_magics
from grading.kernels import KernelSource, kernel_source
from grading.parse import CodeCell
from grading.rebuild import slice_of, slices, whole
from tests.grading.submissions import CEIL_DIV, CHECK, HOLE, LAST_INDEX, SETUP, toy_cells, toy_lab


def answers(*sources: str) -> Answers:
    """The answers in these cells to the toy lab's exercises."""
    lab = toy_lab()
    code = [CodeCell(number, source) for number, source in enumerate(sources, start=1)]
    names = [exercise.answer for exercise in lab.exercises]
    return extract(code, names, lab.given_sources)


def kernel(*sources: str) -> KernelSource | None:
    """The kernel `fill` in these cells."""
    code = [CodeCell(number, source) for number, source in enumerate(sources, start=1)]
    found = extract(code, ["fill"], ())
    return kernel_source(found.found["fill"], found.definitions)


def test_last_definition_wins_and_is_noted() -> None:
    """Of two definitions the later one is graded, and the student is told."""
    found = answers("def ceil_div(n, d): return 1", CEIL_DIV)

    assert found.found["ceil_div"].definition.cell == 2
    assert [one.sentence for one in found.notes] == [
        "ceil_div is defined 2 times; the one in code cell 2 was graded."
    ]


def test_a_hole_left_below_does_not_hide_the_answer() -> None:
    """An answer in a new cell above the untouched hole is the answer, without a note."""
    found = answers(SETUP, CEIL_DIV, HOLE, CHECK)

    assert (
        found.found["ceil_div"].definition.cell,
        found.found["ceil_div"].untouched,
    ) == (2, False)
    assert found.notes == ()


def test_untouched_hole_is_known() -> None:
    """The lab's own cell is no answer of the student's."""
    assert answers(SETUP, HOLE + "  \n").found["ceil_div"].untouched


def test_missing_function_is_named() -> None:
    """A function that nobody defines has its own sentence."""
    assert (
        answers(CEIL_DIV).missing["last_index"].sentence
    ) == "No cell defines last_index, so it gets no points."


def test_invalid_cell_hides_no_other_and_says_what_it_hid() -> None:
    """A cell that is not Python is left out; an exercise in it is not called missing."""
    found = answers("def last_index(n)\n    return n", CEIL_DIV)

    assert "ceil_div" in found.found
    assert (
        found.missing["last_index"].sentence
        == "The only definition of last_index is in code cell 1, which is not valid Python "
        "(line 1: expected ':')."
    )
    assert [one.sentence for one in found.notes] == [
        "Code cell 1 is not valid Python (line 1: expected ':') and was left out."
    ]


def test_merge_marker_in_a_cell_is_named() -> None:
    """Git's markers inside a cell are said to be what they are."""
    found = answers("a = 1\n<<<<<<< HEAD\na = 2\n=======\na = 3\n>>>>>>> x", CEIL_DIV)

    assert [one.sentence for one in found.notes] == [
        "Code cell 1 is not valid Python (line 2 is a Git merge marker) and was left out."
    ]


@pytest.mark.parametrize(
    "source",
    [
        "-" * 200_001,
        "x = " + "-" * 100_000 + "1",
        "x = " + "a." * 50_000 + "b",
        "x = " + "[" * 90 + "]" * 90 + "\0",
        "x = " + "+".join(["1"] * 30_000),
        "if 1:\n" + "\n".join(" " * d + "if 1:" for d in range(1, 90)) + "\n" + " " * 90 + "pass",
    ],
)
def test_monstrous_cell_hides_no_other(source: str) -> None:
    """Code made to exhaust a parser costs its own cell and nothing else."""
    found = answers(source, CEIL_DIV)

    assert "ceil_div" in found.found


@pytest.mark.parametrize(
    "magic", ["%matplotlib inline", "!nvidia-smi", "files = !ls", "ceil_div?", "%time x = 1"]
)
def test_magics_are_dropped_and_the_function_kept(magic: str) -> None:
    """IPython's own lines are left out, wherever they stand in the cell."""
    for source in (f"{magic}\n{CEIL_DIV}", f"{CEIL_DIV}\n{magic}"):
        found = answers(source)

        assert found.found["ceil_div"].definition.text == CEIL_DIV + "\n"
        assert found.notes == ()


def test_cell_magics() -> None:
    """A timed cell is Python, a shell cell is not."""
    assert without_magics("%%time\nx = 1") == "\nx = 1"
    assert without_magics("%%bash\nrm -rf x") == ""


def test_percent_in_a_string_is_not_a_magic() -> None:
    """Valid Python is taken as it is."""
    source = 'text = """\n%matplotlib\n!ls\n"""'

    assert source == without_magics(source)


def test_defined_inside_if_and_with_decorators() -> None:
    """The function's text has its decorators and no indent."""
    found = answers("if True:\n    @staticmethod\n    def ceil_div(n, d):\n        return 1\n")

    assert (
        found.found["ceil_div"].definition.text
        == "@staticmethod\ndef ceil_div(n, d):\n    return 1\n"
    )


def test_lambda_is_an_answer() -> None:
    """A name bound to a lambda answers a host function."""
    assert "ceil_div" in answers("ceil_div = lambda n, d: -(-n // d)").found


def test_slice_has_what_the_answer_uses_and_no_more() -> None:
    """Imports, constants and helpers come along; loops and other cells do not."""
    found = answers(
        SETUP,
        "import math\nONE = 1\ndef helper(x):\n    return math.ceil(x) * ONE",
        "while True: pass",
        "def ceil_div(n, d):\n    return helper(n / d)\nwhile True: pass",
    )

    lines = [line for line in slice_of(found.found["ceil_div"], found).split("\n") if line]
    assert lines == [
        "import math",
        "ONE = 1",
        "def helper(x):",
        "    return math.ceil(x) * ONE",
        "def ceil_div(n, d):",
        "    return helper(n / d)",
    ]


def test_whole_keeps_the_students_order_and_drops_the_courses_copies() -> None:
    """The course's cells are ours, the student's own follow where they stood, checks are probes."""
    found = answers(*toy_cells(after_setup="x = 1", at_end="y = 2"))

    cells = whole(toy_lab(), found, ["ceil_div", "last_index"])

    assert [cell.id for cell in cells] == [
        "course-0",
        "student-2",
        "student-3",
        "probe-ceil_div",
        "student-5",
        "probe-last_index",
        "student-7",
        "student-9",
    ]
    assert not any("check(" in cell.source for cell in cells)


def test_whole_never_goes_back() -> None:
    """Answers in another order run in it, probes behind them: a cell uses what is above it."""
    found = answers(SETUP, LAST_INDEX, "ONE = 1", CEIL_DIV.replace("1", "ONE"), CHECK)

    cells = whole(toy_lab(), found, ["ceil_div", "last_index"])

    ours = [cell.id for cell in cells if not cell.id.startswith("course")]
    assert ours == ["student-2", "student-3", "student-4", "probe-ceil_div", "probe-last_index"]


def test_edited_check_cell_is_only_a_students_cell() -> None:
    """A forged check runs as the student's code and takes no probe's place."""
    found = answers(SETUP, CEIL_DIV, "def check(*a): return 'pass'\n" + CHECK)

    cells = whole(toy_lab(), found, ["ceil_div"])

    assert [cell.id for cell in cells] == [
        "course-0",
        "student-2",
        "student-3",
        "probe-ceil_div",
        "course-3",
        "course-5",
    ]


def test_slices_leave_the_rest_out() -> None:
    """The second round has the course's cells, one answer and one probe for each exercise."""
    found = answers(*toy_cells(at_end="while True: pass"))

    cells = slices(toy_lab(), found, ["last_index"])

    assert [cell.id for cell in cells] == ["course-0", "answer-last_index", "probe-last_index"]


KERNEL = "@cuda.jit\ndef fill(out, n):\n    i = cuda.grid(1)\n    if i < n:\n        out[i] = "


def test_kernel_takes_helpers_constants_and_imports() -> None:
    """The text starts with the kernel; what it uses follows; constants are read, not run."""
    helper = "@cuda.jit(device=True)\ndef twice(x):\n    return x * TWO\n"
    found = kernel(
        "from numba import float32\nimport os",
        f"TWO = 2\nBLOCK = TWO * 64\nSHAPE = (BLOCK, -1)\n{helper}",
        KERNEL + "twice(i) + BLOCK + SHAPE[1] + float32(0)\n",
    )

    assert found is not None
    assert found.text.startswith(KERNEL)
    assert helper in found.text and "from numba import float32" in found.text
    assert "os" not in found.text.split()
    assert found.literals == {"TWO": 2, "BLOCK": 128, "SHAPE": (128, -1)}
    assert found.wanted == ()


def test_computed_constant_is_asked_for() -> None:
    """A value that only a run can tell is not guessed."""
    found = kernel("import os\nK = len(os.listdir('.'))", KERNEL + "K\n")

    assert found is not None
    assert found.wanted == ("K",)


def test_alias_leads_to_the_kernel() -> None:
    """`fill = cuda.jit(other)` is the kernel `other`."""
    found = kernel("def other(out, n):\n    out[0] = n\n", "fill = cuda.jit(other)")

    assert found is not None
    assert (found.name, found.text) == ("other", "@cuda.jit\ndef other(out, n):\n    out[0] = n\n")


@pytest.mark.parametrize(
    "source", ["fill = fill", "fill = make()", "a = fill\nfill = a", "fill = 3"]
)
def test_circle_or_call_is_no_kernel(source: str) -> None:
    """A name with no readable function behind it is told apart from a kernel."""
    assert kernel(source) is None
