"""The pilot and the progress line: what an instructor is told while a class is graded."""

from __future__ import annotations

import io

from grading import pilot
from grading.intake import Submission
from grading.progress import Progress, duration
from grading.results import ExerciseResult, Result


def row(name: str, status: str = "graded", reason: str = "", **verdicts: str) -> Result:
    """A row with these verdicts by exercise."""
    exercises = tuple(ExerciseResult(one, what, 0.0, 1.0) for one, what in verdicts.items())
    return Result(
        name, name, "toy", status, reason, 0.0, 2.0, exercises, run_seconds=float(len(name))
    )


def test_the_seed_chooses_the_pilot() -> None:
    """Twenty, in order, the same for a seed and not simply the first."""
    left = [Submission(f"s{k}", f"s{k}", None) for k in range(200)]

    first = pilot.chosen(left, 5)

    assert first == pilot.chosen(left, 5) != pilot.chosen(left, 6)
    assert len(first) == 20 and first == sorted(first, key=left.index) and first != left[:20]
    assert pilot.chosen(left[:7], 5) == left[:7]


def test_forecast_says_time_mix_and_suspicious_checks() -> None:
    """Expected time from the measured pace; a check that nearly all fail is named."""
    rows = [row(f"s{k}", saxpy="fail", fill="pass") for k in range(17)]
    rows += [row("t", "partly-graded", "timeout", saxpy="no-answer", fill="pass")]
    rows += [row("u", saxpy="pass", fill="fail"), row("v", saxpy="todo", fill="todo")]

    assert pilot.forecast(rows, 40.0, 480, 2) == (
        "Pilot: 20 of 500 submissions, chosen by the seed, took 40 s (measured, 2 at a time).\n"
        "The other 480 will take about 16 min at this pace.\n"
        "Rows: 19 graded, 1 partly-graded. Reasons: timeout 1.\n"
        "18 of 19 fail saxpy. Look at its task and its check before you go on."
    )


def test_a_check_is_suspicious_only_when_enough_tried_and_more_than_80_percent_fail() -> None:
    """Exactly 80 %, or four answers, or holes say nothing."""
    four_of_five = [row("a", x="fail")] * 4 + [row("a", x="pass")]
    assert pilot.suspicious(four_of_five) == []
    assert pilot.suspicious([row("a", x="fail")] * 4) == []
    assert pilot.suspicious([row("a", x="todo")] * 9) == []
    assert pilot.suspicious([*four_of_five, row("a", x="fail")]) == [("x", 5, 6)]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def steps(stream: io.StringIO, count: int, seconds: float) -> str:
    """What is said while `count` rows come, one each `seconds`."""
    now = [0.0]
    progress = Progress(count, stream, lambda: now[0])
    for k in range(count):
        now[0] += seconds
        progress.step(row("x" * (k + 1)))
    return stream.getvalue()


def test_a_terminal_gets_one_line_that_renews_itself() -> None:
    """Count, time, what is left, the slowest; a line end only at the end."""
    said = steps(Terminal(), 3, 10.0)

    assert said.count("\n") == 1 and said.endswith("\n")
    assert (
        said.split("\r")[1].rstrip()
        == "1 of 3 graded in 10 s, about 20 s left; slowest run: x, 1 s"
    )
    assert said.split("\r")[3].rstrip() == "3 of 3 graded in 30 s; slowest run: xxx, 3 s"


def test_elsewhere_a_line_a_minute() -> None:
    """A log gets no carriage returns and not a line for each of thousands."""
    said = steps(io.StringIO(), 60, 10.0)

    assert "\r" not in said
    assert [line.split(" graded")[0] for line in said.splitlines()] == [
        f"{k} of 60" for k in (6, 12, 18, 24, 30, 36, 42, 48, 54, 60)
    ]


def test_durations_are_for_people() -> None:
    """Seconds, minutes, hours."""
    assert [duration(s) for s in (4.2, 99, 600, 7500)] == ["4 s", "99 s", "10 min", "2 h 05 min"]
