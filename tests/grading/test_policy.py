"""The policy: read strictly, applied in a stated order, beside the raw points."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from grading.points import final_of, late_days, unused
from grading.policy import Late, Policy, PolicyError, parse_policy
from grading.results import ExerciseResult, Result

MOST = {"saxpy": 2.0, "fill": 3.0}
DUE = datetime(2026, 3, 1, 23, 59, tzinfo=UTC)
TEXT = """
[late]
deadline = 2026-03-01T23:59:00Z
grace_minutes = 10
percent_per_day = 10
cap_percent = 50
times = "roster"
column = "submitted"

[[late.extension]]
student = "Bob"
deadline = 2026-03-08T23:59:00Z
reason = "ill"

[[override]]
student = "ada"
exercise = "saxpy"
points = 1.5
reason = "the text was ambiguous"

[[withdraw]]
exercise = "fill"
give = "full"
reason = "the check was wrong"

[grade_lines]
B = 50
A = 90
"""


def row(status: str = "graded", **points: float) -> Result:
    """Ada's row with these points."""
    exercises = tuple(
        ExerciseResult(name, "pass", points.get(name, 0.0), most) for name, most in MOST.items()
    )
    total = None if status in ("needs-human", "grader-error") else sum(points.values())
    return Result("ada", "ada", "toy", status, "", total, 5.0, exercises if total else ())


def test_a_whole_policy_is_read() -> None:
    """Every table and key; grade lines from the highest down."""
    found = parse_policy(TEXT, MOST)

    assert found.late == Late(
        DUE, timedelta(minutes=10), 10.0, 50.0, "roster", "submitted",
        {"bob": DUE + timedelta(days=7)},
    )  # fmt: skip
    assert found.grade_lines == (("A", 90.0), ("B", 50.0))
    assert found.text == TEXT
    assert parse_policy("", MOST) == Policy()


BAD = {
    "[late\n": "p.toml: ",
    "x = 1": "p.toml, line 1: x is not a key of the policy; known are late, override, withdraw,",
    "\n[overide]\nx = 1": "line 2: overide is not a key of the policy; did you mean override.",
    "[override]\nstudent = 'a'": "line 1: [override] is a list of tables, each written [[",
    "[[override]]\nstudent = 'a'\npoints = 1": "line 1: [override] needs reason.",
    "[[override]]\nstudent = 'a'\nreason = 'r'\npoints = 1\n[[override]]\nstudent = 'b'\n"
    "reason = 'r'\npoints = 'x'": "line 8: override.points must be a number from 0 to 5, not 'x'.",
    "[[override]]\nstudent = 'a'\nexercise = 'saxpi'\npoints = 1\nreason = 'r'": (
        "line 3: override.exercise names no exercise of the lab: saxpy, fill."
    ),
    "[[override]]\nstudent = 'a'\nexercise = 'fill'\npoints = 4\nreason = 'r'": (
        "line 4: override.points must be a number from 0 to 3, not 4."
    ),
    "[[override]]\nstudent = 'a'\npoints = nan\nreason = 'r'": "must be a number from 0 to 5",
    "[[override]]\nstudent = 'a'\npoints = true\nreason = 'r'": "must be a number from 0 to 5",
    "[[override]]\nstudent = 'a'\npoints = 1\nreason = ' '": (
        "line 4: override.reason must be a text in quotes, and not empty."
    ),
    "[[override]]\nstudent = 'a'\npoints = 1\nreason = 'r'\n" * 2: (
        "line 5: [override] says the same thing a second time."
    ),
    "[late]\npercent_per_day = 5": "line 1: [late] needs deadline.",
    "[late]\ndeadline = 2026-03-01": "line 2: late.deadline must be a time with its zone",
    "[late]\ndeadline = 2026-03-01T10:00:00": "line 2: late.deadline must be a time with its zone",
    "[late]\ndeadline = 2026-03-01T10:00:00Z\npercent_per_day = -1": (
        "line 3: late.percent_per_day must be a number from 0 to 100, not -1."
    ),
    "[late]\ndeadline = 2026-03-01T10:00:00Z\ntimes = 'git'": (
        'line 3: late.times must be one of "roster", "names", "files", not \'git\'.'
    ),
    "[late]\ndeadline = 2026-03-01T10:00:00Z\ntimes = 'roster'": (
        'line 3: late.times needs column = "..." of the roster.'
    ),
    "[late]\ndeadline = 2026-03-01T10:00:00Z\ncolumn = 'x'": "line 3: late.column is only for",
    "[[withdraw]]\nexercise = 'fill'\nreason = 'r'\ngive = 'half'": (
        'line 4: withdraw.give must be one of "full", "nothing", not \'half\'.'
    ),
    "[grade_lines]\nA = 90\nB = 90": "line 1: [grade_lines] has two grades with one percentage.",
    "[grade_lines]\nA = 190": "line 2: grade_lines.A must be a number from 0 to 100, not 190.",
}


@pytest.mark.parametrize("text", BAD)
def test_a_bad_policy_is_named_with_line_and_key(text: str) -> None:
    """Nothing is guessed: a wrong key or value stops the command with one sentence."""
    with pytest.raises(PolicyError) as caught:
        parse_policy(text, MOST, "p.toml")

    assert BAD[text] in str(caught.value)
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


def policy(text: str) -> Policy:
    """A policy of these lines."""
    return parse_policy(text, MOST)


def test_overrides_replace_points_and_say_so() -> None:
    """Of an exercise, or of the whole lab; of this student and no other."""
    one = policy("[[override]]\nstudent='ADA'\nexercise='saxpy'\npoints=2\nreason='fair'")
    whole = policy("[[override]]\nstudent='ada'\npoints=4\nreason='oral'")

    final = final_of(row(saxpy=1, fill=3), one, MOST, None)
    assert (final.points, final.exercises) == (5.0, {"saxpy": 2.0, "fill": 3.0})
    assert final.adjustments == ("saxpy: 1 to 2 by hand (fair)",)
    assert final_of(row(saxpy=1), whole, MOST, None).points == 4.0
    assert final_of(replace(row(saxpy=1), student="eve"), one, MOST, None).points == 1.0
    assert unused(one, [row()]) == [] and unused(one, [replace(row(), student="e")]) == ["ADA"]


@pytest.mark.parametrize("status", ["needs-human", "grader-error"])
def test_a_person_can_settle_what_nobody_graded(status: str) -> None:
    """Unknown points stay unknown until every exercise, or the whole, was decided on."""
    one = "[[override]]\nstudent='ada'\nexercise='{}'\npoints=2\nreason='r'\n"

    assert final_of(row(status), Policy(), MOST, None).points is None
    assert final_of(row(status), policy(one.format("saxpy")), MOST, None).points is None
    both = policy(one.format("saxpy") + one.format("fill"))
    assert final_of(row(status), both, MOST, None).points == 4.0


def test_a_withdrawn_exercise_is_full_marks_or_out_of_the_maximum() -> None:
    """Full marks for all who handed in; or neither points nor maximum."""
    text = "[[withdraw]]\nexercise='fill'\ngive='{}'\nreason='r'"
    full, nothing = policy(text.format("full")), policy(text.format("nothing"))

    given = final_of(row(saxpy=1), full, MOST, None)
    gone = final_of(row(saxpy=1, fill=3), nothing, MOST, None)
    assert (given.points, given.max_points) == (4.0, 5.0)
    assert (gone.points, gone.max_points, gone.exercises) == (1.0, 2.0, {"saxpy": 1.0})
    assert final_of(row("not-submitted"), full, MOST, None).points == 0.0
    assert final_of(row("unreadable"), full, MOST, None).points == 3.0


@pytest.mark.parametrize(
    ("minutes", "days"),
    [(-1, 0), (0, 0), (10, 0), (11, 1), (24 * 60, 1), (24 * 60 + 1, 2), (9 * 24 * 60, 9)],
)
def test_lateness_counts_days_begun_after_the_grace(minutes: int, days: int) -> None:
    """From the deadline on, as soon as the grace is over."""
    late = Late(DUE, timedelta(minutes=10))

    assert late_days(late, ["ada"], DUE + timedelta(minutes=minutes)) == days


def test_lateness_takes_its_part_up_to_the_cap() -> None:
    """Of the points reached; an extension moves the deadline; no time, no penalty."""
    late = policy(TEXT.split("[[override]]")[0])

    def points(days: float, who: str = "ada") -> float | None:
        one = replace(row(saxpy=2, fill=3), student=who)
        return final_of(one, late, MOST, DUE + timedelta(days=days)).points

    assert [points(days) for days in (0, 1, 2, 9)] == [5.0, 4.5, 4.0, 2.5]
    assert points(2, "bob") == 5.0 and points(9, "bob") == 4.0
    assert final_of(row(saxpy=2, fill=3), late, MOST, None).points == 5.0
    said = final_of(row(saxpy=2), late, MOST, DUE + timedelta(days=2))
    assert (said.late_days, said.adjustments) == (2, ("2 days late: 20 percent less",))


def test_grades_are_the_highest_line_reached() -> None:
    """In percent of the maximum that counts; nothing below the lowest line or without points."""
    lines = policy("[grade_lines]\nA = 90\nB = 60")

    grades = [final_of(row(fill=points), lines, MOST, None).grade for points in (4.5, 4.4, 3, 2)]
    assert grades == ["A", "B", "B", ""]
    assert final_of(row("needs-human"), lines, MOST, None).grade == ""


def test_all_steps_in_their_order() -> None:
    """Override, withdrawal, sum, lateness, grade; the row itself keeps its points."""
    before = row(saxpy=0, fill=1)
    final = final_of(before, parse_policy(TEXT, MOST), MOST, DUE + timedelta(days=1))

    assert final.points == pytest.approx((1.5 + 3) * 0.9)
    assert final.grade == "B" and len(final.adjustments) == 3
    assert before.points == 1.0
