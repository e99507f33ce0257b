"""The manifest, the files and the checks tell of the same units and exercises."""

from pathlib import Path

import nbformat
import pytest

from warpwise import curriculum
from warpwise.authoring import read_source
from warpwise.curriculum import CurriculumError, Exercise

COURSE = curriculum.load()

UNIT = """[[unit]]
name = "t1_01_threads"
title = "Threads"
tier = "t1_kernels"
status = "written"
prerequisites = []
minutes = 45
points = 5
exercises = [
    { name = "guarded_add", points = 2 },
    { name = "saxpy", points = 3 },
]
"""

SECOND = """[[unit]]
name = "t1_02_grids"
title = "Grids"
tier = "t1_kernels"
status = "planned"
prerequisites = ["t1_01_threads"]
minutes = 60
points = 10
"""


def sources():
    """All sources of lessons and labs on disk."""
    root = curriculum.COURSE
    trees = (root / "tiers", root / "solutions")
    return {path for tree in trees for path in tree.glob("*/source/*.py")}


@pytest.fixture
def written():
    """The written units; none is a failure."""
    assert COURSE.written, "the manifest calls no unit written"
    return COURSE.written


def test_the_course_has_38_units_in_three_tiers():
    """The plan of the course: twelve, twelve and fourteen."""
    counts = {tier: sum(unit.tier == tier for unit in COURSE.units) for tier in COURSE.tiers}

    assert counts == {"t1_kernels": 12, "t2_gpu": 12, "t3_many": 14}


def test_prerequisites_come_earlier():
    """Whoever takes the units in order has all that each one needs."""
    names = [unit.name for unit in COURSE.units]

    for place, unit in enumerate(COURSE.units):
        assert set(unit.prerequisites) <= set(names[:place]), unit.name


def test_every_unit_but_the_first_of_a_subject_leads_back_to_the_first():
    """No unit stands alone: its prerequisites lead to the first unit."""
    reached = {"t1_01_threads"}
    for unit in COURSE.units[1:]:
        assert reached & set(unit.prerequisites), unit.name
        reached.add(unit.name)


def test_written_units_have_their_files(written):
    """Two sources and three notebooks each."""
    for unit in written:
        for path in (unit.lesson_source, unit.lab_source, unit.lesson, unit.solution, unit.lab):
            assert path.is_file(), path


def test_every_source_belongs_to_a_written_unit(written):
    """A source the manifest does not know would be in no table of contents."""
    assert {path for unit in written for path in (unit.lesson_source, unit.lab_source)} == sources()


def test_exercise_cells_are_those_of_the_manifest(written):
    """Same names, same order, in the lab's source and in the manifest."""
    for unit in written:
        cells = [cell.title for cell in read_source(unit.lab_source) if "exercise" in cell.tags]
        assert [exercise.name for exercise in unit.exercises] == cells


def test_every_exercise_is_checked_in_its_lab(written):
    """After an exercise comes a cell tagged `check` that names it."""
    for unit in written:
        checks = [cell.source for cell in read_source(unit.lab_source) if "check" in cell.tags]
        for name, _ in unit.exercises:
            assert any(f'check("{name}"' in source for source in checks), name


def test_specs_are_those_of_the_manifest():
    """Each exercise has a spec worth the same points; a planned unit has none."""
    from warpwise.check import specs

    for unit in COURSE.units:
        found = {spec.name: spec.points for spec in specs.for_unit(unit.name)}
        assert found == dict(unit.exercises), unit.name


def test_labs_have_three_to_six_exercises(written):
    """What fits in an hour, with at most one more for those who want it."""
    for unit in written:
        assert 3 <= len(unit.exercises) <= 7, unit.name


def test_a_unit_says_what_it_is_and_where_its_files_are():
    """All keys of the manifest, and five paths under the given root."""
    unit = curriculum.parse(UNIT + SECOND, Path("/course")).units[0]

    assert unit.exercises == (Exercise("guarded_add", 2), ("saxpy", 3))
    assert (unit.title, unit.tier, unit.minutes, unit.points) == ("Threads", "t1_kernels", 45, 5)
    assert [
        path.as_posix()
        for path in (unit.lesson_source, unit.lesson, unit.lab_source, unit.solution, unit.lab)
    ] == [
        "/course/tiers/t1_kernels/source/t1_01_threads.py",
        "/course/tiers/t1_kernels/t1_01_threads.ipynb",
        "/course/solutions/t1_kernels/source/t1_01_threads_lab.py",
        "/course/solutions/t1_kernels/t1_01_threads_lab.ipynb",
        "/course/labs/t1_kernels/t1_01_threads_lab.ipynb",
    ]


def test_units_are_found_by_name_lab_and_exercise():
    """And a wrong name gets a sentence."""
    course = curriculum.parse(UNIT + SECOND)
    first, second = course.units

    assert (course.written, course.planned) == ((first,), (second,))
    assert course.unit("t1_01_threads_lab") is course.unit_of("saxpy") is first
    with pytest.raises(KeyError, match=r"No unit 't9'. Written units: t1_01_threads\."):
        course.unit("t9")
    with pytest.raises(KeyError, match=r"No exercise 'scan' in any unit\."):
        course.unit_of("scan")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[[unit]]", "[[units]]", "The manifest must hold [[unit]] tables and nothing else."),
        ("minutes = 45", "", "t1_01_threads: 'minutes' must be a whole number."),
        ("minutes = 45", 'minutes = "45"', "t1_01_threads: 'minutes' must be a whole number."),
        ("minutes = 45", "minutes = 0", "t1_01_threads: minutes and points must be positive."),
        ("minutes = 45", "minutes = 45\nhours = 1", "t1_01_threads: unknown key 'hours'."),
        (
            '"t1_01_threads"',
            '"threads"',
            "threads: the name must be 't1_<two digits>_<topic>'.",
        ),
        ('"t1_01_threads"', '"t1_03_threads"', "t1_03_threads: it is number 1 of its tier."),
        (
            '"t1_kernels"',
            '"t2_gpu"',
            "t1_01_threads: the name must be 't2_<two digits>_<topic>'.",
        ),
        (
            '"written"',
            '"done"',
            "t1_01_threads: status must be 'written' or 'planned'.",
        ),
        ('"written"', '"planned"', "t1_01_threads: a planned unit has no exercises yet."),
        (
            "points = 5",
            "points = 6",
            "t1_01_threads: its exercises are worth 5 points, the unit 6.",
        ),
        (
            "prerequisites = []",
            'prerequisites = ["t1_02_grids"]',
            "t1_01_threads: its prerequisite 't1_02_grids' is no earlier unit.",
        ),
        ('"saxpy"', '"guarded_add"', "t1_01_threads: the exercise 'guarded_add' exists already."),
        (
            '{ name = "saxpy", points = 3 }',
            '{ name = "saxpy" }',
            't1_01_threads: an exercise is { name = "snake_case", points = 2 }, '
            "not {'name': 'saxpy'}.",
        ),
    ],
)
def test_a_manifest_that_contradicts_itself_is_refused(old, new, message):
    """Each contradiction has a sentence that names the unit."""
    assert old in UNIT

    with pytest.raises(CurriculumError) as caught:
        curriculum.parse(UNIT.replace(old, new, 1))

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The manifest must hold [[unit]] tables and nothing else."),
        (UNIT + UNIT, "t1_01_threads: there are two units of this name."),
        (
            UNIT + SECOND.replace("planned", "written"),
            "t1_02_grids: a written unit needs exercises.",
        ),
        (
            UNIT + SECOND.replace("t1_02_", "t2_01_").replace("t1_k", "t2_k") + SECOND,
            "t1_02_grids: the units of t1_kernels must stand together.",
        ),
    ],
)
def test_units_that_contradict_each_other_are_refused(text, message):
    """Order and names are checked across units as well."""
    with pytest.raises(CurriculumError) as caught:
        curriculum.parse(text)

    assert str(caught.value) == message


def test_text_that_is_not_toml_is_refused():
    """With the parser's own line and column."""
    with pytest.raises(CurriculumError) as caught:
        curriculum.parse("x = = 1")

    assert str(caught.value) == "The manifest is not TOML: Invalid value (at line 1, column 5)."


def test_lessons_have_fifteen_to_forty_cells(written):
    """More are too many for one sitting."""
    for unit in written:
        assert 15 <= len(nbformat.read(unit.lesson, 4).cells) <= 40, unit.name
