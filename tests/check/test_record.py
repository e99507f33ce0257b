"""Records: plain data for the grader, the same words as HTML and as text for the reader."""

from __future__ import annotations

import html.parser
import json
import re
import subprocess
import sys

import pytest

from tests.check import answers
from tests.check.answers import GUARDED
from warpwise.check import MIME, KernelSpec, Record, check, judge, specs
from warpwise.check.record import make
from warpwise.check.report import Report


class Words(html.parser.HTMLParser):
    """The visible words of a page, and its tags with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data.split()


def page_of(record: Record) -> str:
    return record._repr_mimebundle_()["text/html"]


def test_a_record_is_plain_data() -> None:
    """to_dict survives JSON and names everything a grader needs."""
    record = judge(GUARDED, answers.zeros, 7)
    data = json.loads(json.dumps(record.to_dict()))

    assert data.pop("message") == record.message
    assert data == {
        "exercise": "guarded", "unit": "t0_00_test", "status": "fail", "points": 0,
        "max_points": 2, "diagnosis": "all_zero", "findings": [], "label": "counted, simulator",
        "seed": 7,
    }  # fmt: skip


def test_the_display_has_three_forms() -> None:
    """Text, HTML and the record itself under a MIME type of its own."""
    bundle = judge(GUARDED, answers.right)._repr_mimebundle_()

    assert list(bundle) == ["text/plain", "text/html", MIME]
    assert MIME == "application/vnd.warpwise.record+json"
    assert bundle[MIME]["status"] == "pass"


@pytest.mark.parametrize("name", ["right", "hole", "no_guard", "shifted", "writes_input", "half"])
def test_html_and_text_say_the_same(name: str) -> None:
    """Every word of the text is in the HTML, but for the call that gives the plainer hint."""
    record = judge(GUARDED, getattr(answers, name))
    text = re.sub(r"\n +A plainer hint: .*", "", record.message)

    assert set(text.split()) <= set(Words(page_of(record)).words)


def test_the_plainer_hint_is_one_click_away() -> None:
    """Folded in the HTML; the text says how to get it."""
    page = page_of(judge(GUARDED, answers.zeros))

    assert '<summary style="cursor: pointer;">A plainer hint</summary>' in page
    assert "Follow one thread: what does it read" in page


def test_html_needs_no_style_sheet_and_no_script() -> None:
    """Inline styles and known tags only: a notebook that is not trusted yet shows it too."""
    page = Words(page_of(judge(GUARDED, answers.shifted)))

    assert {tag for tag, _ in page.tags} <= {
        "div", "span", "table", "tr", "th", "td", "pre", "details", "summary",
    }  # fmt: skip
    assert {name for _, attrs in page.tags for name in attrs} <= {"style", "scope", "aria-hidden"}


def test_every_theme_colour_has_a_plain_one_before_it() -> None:
    """A colour from the theme is never the only one."""
    for style in re.findall(r'style="([^"]*)"', page_of(judge(GUARDED, answers.right))):
        for name in re.findall(r"(border-left|color)(?:-color)?: var", style):
            assert re.search(rf"{name}: [^;]*#[0-9a-f]{{6}}", style)


def test_the_learners_text_is_escaped() -> None:
    """Nothing the learner wrote becomes markup."""
    spec = KernelSpec("<b>", "t0", 1, ("out",), answers.launches, answers.add)
    page = page_of(judge(spec, answers.zeros))

    assert "<b>" not in page
    assert "&lt;b&gt;" in page


def test_status_is_not_told_by_colour_alone() -> None:
    """A word and a sign for each."""
    signs = {
        name: Words(page_of(judge(GUARDED, answer))).words[:3]
        for name, answer in (
            ("pass", answers.right), ("fail", answers.zeros), ("todo", answers.hole)
        )
    }  # fmt: skip

    assert signs == {
        "pass": ["✓", "guarded:", "pass,"],
        "fail": ["✗", "guarded:", "fail,"],
        "todo": ["○", "guarded:", "to"],
    }


def test_check_prints_where_there_is_no_notebook(capsys, monkeypatch) -> None:
    """In a script the plain text is printed, and the record returned."""
    monkeypatch.setattr(specs, "get", lambda name: GUARDED)
    record = check("guarded", answers.right)

    assert record.status == "pass"
    assert capsys.readouterr().out == record.message + "\n"


def test_check_never_raises(monkeypatch) -> None:
    """A fault of ours becomes a record of its own, with the traceback and an apology."""

    def broken(rng, level):
        raise ZeroDivisionError("ours")

    spec = KernelSpec("guarded", "t0_00_test", 2, ("out",), broken, answers.add)
    monkeypatch.setattr(specs, "get", lambda name: spec)
    record = check("guarded", answers.right)

    assert (record.status, record.points, record.max_points) == ("error", 0, 2)
    assert record.message.startswith(
        "guarded: not checked\n"
        "  what   The check itself failed.  This is not your mistake, and it costs no points.\n"
        "         Traceback (most recent call last):\n"
    )
    assert record.message.endswith(
        "         ZeroDivisionError: ours\n"
        "  next   Please report it with the text above.  You can go on with the next exercise."
    )


def test_an_unknown_exercise_is_named() -> None:
    """With the nearest name that exists."""
    name = next(iter(specs.all_specs()))
    record = check(name + "s", answers.right)

    assert record.status == "error"
    assert record.message == (
        f"{name}s: not checked\n"
        f'  what   There is no exercise called "{name}s".  Did you mean "{name}"?\n'
        "  next   Restore the check cell as it was in the lab."
    )


def test_a_notebook_shows_a_record_once() -> None:
    """`check` as the last line of a cell displays one output, in a later cell the record again."""
    program = """
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from tests.check.answers import GUARDED, right
from warpwise import check
from warpwise.check import specs
specs.get = lambda name: GUARDED
shell = InteractiveShell.instance()
shell.user_ns.update(check=check, right=right)
for cell in ('check("guarded", right)', 'r = check("guarded", right)', 'r'):
    with capture_output() as seen:
        shell.run_cell(cell, store_history=True)
    print(len(seen.outputs), seen.outputs[0].data["text/plain"].splitlines()[0])
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert run.stdout.splitlines() == ["1 guarded: pass, 2 of 2 points"] * 3


def test_a_note_keeps_its_line_of_code_below_it() -> None:
    """What the simulator remarks is shown with a pass, too."""

    spec = KernelSpec(
        "from_end", "t0", 1, ("out",), answers.backwards_launches, answers.backwards,
    )  # fmt: skip
    record = judge(spec, answers.negative_index)

    assert record.status == "pass"
    assert len(record.findings) == 1
    assert "\n  note   negative_index, line " in record.message
    assert "\n           out[-1 - i] = a[i]\n" in record.message
    assert page_of(record).count("out[-1 - i] = a[i]") == 1


def test_a_long_note_wraps() -> None:
    """As every other part does; a line of code stays as it is."""
    long = "word " * 30
    record = make("one", "t0", "pass", 1, Report("Right."), findings=(f"{long}\n  {'x' * 99}",))

    assert record.message.splitlines()[2:] == [
        "  note   " + " ".join(["word"] * 17),
        "         " + " ".join(["word"] * 13),
        "           " + "x" * 99,
    ]
