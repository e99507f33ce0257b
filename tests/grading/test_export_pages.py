"""Pages that stand alone: feedback, dashboard, items, groups, similar answers."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from grading.__main__ import main
from grading.exports.alike import groups, groups_page
from grading.exports.dashboard import dashboard_page
from grading.exports.feedback import feedback_page
from grading.exports.items import items, items_page, point_biserial
from grading.exports.page import text
from grading.exports.shape import shape
from grading.exports.similar import idiom_limit, pairs, similar_page
from grading.results import Result
from grading.run import Limits
from grading.store import Store
from tests.grading.toy_rows import RIGHT, WRONG, graded, small_class, verdict, without

EVIL = '</pre></script><script>alert(1)</script><img src=x onerror="alert(2)">'
PAGES = {
    "feedback": lambda rows: feedback_page(rows[0]),
    "dashboard": lambda rows: dashboard_page(rows, "toy", feedback=True),
    "items": lambda rows: items_page(rows, "toy"),
    "groups": lambda rows: groups_page(rows, "toy"),
    "similar": lambda rows: similar_page(rows, "toy"),
}
LONG = """def mix(a, n):
    total = 0
    for k in range(0, n, 7):
        total = total * 31 + a[(k * 13 + 5) % n]
        if total > 99991:
            total = total - (total // 99991) * 99991
    return total ^ 0x5bd1
"""
OTHER = """def mix(a, n):
    return sum(value * place for place, value in enumerate(a[:n])) & 65535
"""


class Tags(HTMLParser):
    """What stands in a page: its tags with attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def renamed(source: str) -> str:
    """The same answer with other names, another layout and a comment."""
    for old, new in (("total", "acc"), ("k", "place"), ("(a, n)", "(data, size)")):
        source = re.sub(rf"\b{old}\b" if old.isalpha() else re.escape(old), new, source)
    source = re.sub(r"\ba\[", "data[", source)
    return re.sub(r"\bn\b", "size", source).replace("return", "# done\n\n    return")


def evil_class() -> list[Result]:
    """Every text that may come from outside is markup."""
    one = replace(
        verdict(f"def f(x):\n    return '{EVIL}' + x[1] + x[2] + x[3] + x[4] + x[5]\n", False),
        message=EVIL,
        diagnosis=EVIL,
    )
    names = {"name": EVIL, "email": EVIL, "section": EVIL, "reason": EVIL}
    return [graded(f"{EVIL}{k}", one, **names) for k in range(3)]


@pytest.mark.parametrize("name", PAGES)
def test_text_from_outside_never_becomes_markup(name: str) -> None:
    """No script, no image, no handler of a student's; what they wrote is there as text."""
    page = PAGES[name](evil_class())
    found = Tags(page)

    assert not any(tag == "img" for tag, _ in found.tags)
    assert not any(key.startswith("on") for _, attrs in found.tags for key in attrs)
    scripts = [attrs for tag, attrs in found.tags if tag == "script"]
    expected = [{"type": "application/json", "id": "rows"}, {}] if name == "dashboard" else []
    assert scripts == expected
    assert "alert(1)" in page
    assert "<script>alert" not in page


@pytest.mark.parametrize("name", PAGES)
def test_pages_stand_alone(name: str) -> None:
    """Nothing is loaded from anywhere, in any mode a reader may be in."""
    page = PAGES[name](small_class())
    found = Tags(page)

    assert not any(attrs.get("src") or tag in ("link", "iframe") for tag, attrs in found.tags)
    assert "http:" not in page and "https:" not in page and "url(" not in page
    policy = [attrs["content"] for _, attrs in found.tags if attrs.get("http-equiv")]
    assert len(policy) == 1 and "default-src 'none'" in policy[0]
    assert ("script-src 'none'" in policy[0]) == (name != "dashboard")
    assert "prefers-color-scheme: dark" in page and "@media print" in page
    assert ("html", {"lang": "en"}) in found.tags


def test_hidden_characters_are_shown() -> None:
    """Code cannot be made to look like other code, and no text breaks the encoding."""
    assert text("a\u202eb\ud800\x00<") == "a[U+202E]b[U+D800][U+0000]&lt;"
    assert text("Żółć\n\tπ") == "Żółć\n\tπ"
    row = graded("ada", replace(verdict(), source="x = '\ud800'"))
    feedback_page(row).encode()
    dashboard_page([replace(row, name="\ud800")], "toy").encode()


# feedback ---------------------------------------------------------------------------------------


def test_feedback_says_what_counts_and_why() -> None:
    """Points after lateness, the reason, the verdict in words, the own answer."""
    found = Tags(feedback_page(small_class()[1])).text

    assert "1.5 of 2 points" in found
    assert "1 day late: 25 percent less" in found
    assert "passed" in found
    assert "return -(-n // d)" in found


def test_feedback_without_points_is_not_a_zero() -> None:
    """Who waits for a person is told so."""
    for row in small_class()[2:4]:
        found = Tags(feedback_page(row)).text
        assert "There are no points yet." in found
        assert "not a zero" in found
        assert "0 of" not in found


def test_feedback_can_leave_out_values() -> None:
    """The verdict stays, what the check was asked with goes; the seed is never told."""
    row = graded("ada", verdict(WRONG, passed=False), seed=4711)

    assert "got 3" in feedback_page(row)
    brief = feedback_page(row, values=False)
    assert "got 3" not in brief and "not right yet" in brief
    assert "4711" not in feedback_page(row)


def test_feedback_reads_well_aloud() -> None:
    """Sections have names, code has a label and can be reached by keyboard, signs are not read."""
    found = Tags(feedback_page(small_class()[0]))
    ids = {attrs["id"] for _, attrs in found.tags if "id" in attrs}

    sections = [attrs for tag, attrs in found.tags if tag == "section"]
    assert sections and all(one["aria-labelledby"] in ids for one in sections)
    code = [attrs for tag, attrs in found.tags if tag == "pre"]
    assert code and all(one["aria-label"] and one["tabindex"] == "0" for one in code)
    assert ("span", {"aria-hidden": "true"}) in found.tags
    assert [tag for tag, _ in found.tags if tag in ("main", "h1")] == ["main", "h1"]


# items ------------------------------------------------------------------------------------------


def test_point_biserial_is_the_correlation() -> None:
    """The formula agrees with numpy's; where nothing varies there is none."""
    rng = np.random.default_rng(3)
    points = rng.integers(0, 9, 60).astype(float)
    passes = list(rng.random(60) < points / 9)

    found = point_biserial(passes, list(points))

    assert found == pytest.approx(np.corrcoef(passes, points)[0, 1])
    assert point_biserial([True, True], [1.0, 2.0]) is None
    assert point_biserial([True, False], [1.0, 1.0]) is None
    assert point_biserial([], []) is None


def test_items_count_those_with_points() -> None:
    """Rates are over verdicts that stand; who waits for a person is in none of them."""
    wrong = verdict(WRONG, passed=False)
    blank = replace(wrong, status="todo", diagnosis=None)
    rows = [graded("a"), graded("b"), graded("c", wrong), graded("d", blank), *small_class()[2:]]

    (one,) = items(rows)

    assert (one.seen, one.tried, one.passed) == (4, 3, 2)
    assert (one.mean, one.most) == (1.0, 2.0)
    assert one.diagnoses == (("rounds_down", 1),)
    assert one.values == (("expected 4, got 3", 1),)


def test_a_wrong_check_stands_out() -> None:
    """An exercise that the best fail and the weakest pass is doubted; a sound one is not."""
    rows = []
    for k in range(40):
        strong = k % 2 == 0
        rows.append(
            graded(
                f"s{k}",
                verdict(passed=strong, name="one"),
                verdict(passed=strong, name="two"),
                verdict(passed=not strong, name="odd"),
            )
        )
    found = {one.exercise: one for one in items(rows)}

    assert found["odd"].correlation == pytest.approx(-1)
    assert found["odd"].doubts == [
        "10 of the 10 best elsewhere fail it.",
        "Who passes it does no better elsewhere.",
    ]
    sound = items(
        [graded(f"s{k}", *[verdict(passed=k > 9, name=n) for n in "ab"]) for k in range(40)]
    )
    assert [one.doubts for one in sound] == [[], []]
    assert "Is its check right?" in items_page(rows, "toy")


def test_frequent_wrong_values_come_from_where_and_what() -> None:
    """The same words for the same inputs are the same mistake, counted."""
    message = (
        "f: fail, 0 of 2 points\n  where  f(n=10)\n  what   it returned 2, expected 3\n  next   x"
    )
    wrong = replace(verdict(WRONG, passed=False), message=message)

    (one,) = items([graded("a", wrong), graded("b", wrong), graded("c")])

    assert one.values == (("f(n=10) it returned 2, expected 3", 2),)


# groups -----------------------------------------------------------------------------------------


def test_names_comments_and_layout_do_not_change_a_shape() -> None:
    """One answer under other names has one shape; another answer has another one."""
    assert shape(LONG, "mix") == shape(renamed(LONG), "mix")
    assert shape(LONG, "mix") != shape(LONG.replace("31", "37"), "mix")
    assert shape("def f(a, b):\n    return a - b") != shape("def f(a, b):\n    return b - a")
    assert shape("def f(x):\n    '''Doc.'''\n    return x") == shape("def f(y: int):\n    return y")
    assert shape("def f(x):\n    return max(x)") != shape("def f(x):\n    return min(x)")
    assert shape("def f(:") == shape("def  f(:")


def test_identical_wrong_answers_are_grouped() -> None:
    """Right answers, single ones and untouched ones are in no group."""
    rows = [
        graded("ada", verdict(WRONG, passed=False)),
        graded("bob", verdict("def ceil_div(x, y):\n    # down\n    return x // y", passed=False)),
        graded("cyd", verdict("def ceil_div(n, d):\n    return n / d", passed=False)),
        graded("dan", verdict(RIGHT)),
        graded("eve", replace(verdict(WRONG, passed=False), status="todo")),
    ]
    (one,) = groups(rows)

    assert one.students == ("ada", "bob")
    assert one.diagnoses == ("rounds_down",)
    assert "Wrong answers: 3; in groups: 2; groups: 1." in Tags(groups_page(rows, "toy")).text


# similar ----------------------------------------------------------------------------------------


def class_with(*sources: str) -> list[Result]:
    """One student a source, all right."""
    return [graded(f"s{k}", verdict(one, name="mix")) for k, one in enumerate(sources)]


def test_renamed_copies_are_similar_and_others_are_not() -> None:
    """New names hide nothing; the lines in common are marked."""
    rows = class_with(LONG, OTHER, renamed(LONG), "def mix(a, n):\n    return 0\n")

    (pair,) = pairs(rows)

    assert pair.students == ("s0", "s2")
    (shared,) = pair.shared
    assert shared.share == 1.0
    assert {3, 4, 5, 6, 7} <= shared.left.lines
    page = similar_page(rows, "toy")
    assert "<mark>        total = total * 31" in page


def test_what_the_lab_hands_out_does_not_count() -> None:
    """With the text as scaffold nothing unusual is left."""
    assert pairs(class_with(LONG, renamed(LONG)), [LONG]) == []


def test_what_many_wrote_is_an_idiom() -> None:
    """An answer that half the class has says nothing about two of them."""
    many = class_with(*[LONG] * 8, *[OTHER.replace("65535", str(k)) for k in range(8)])

    found = pairs(many)

    assert idiom_limit(16) == 4
    assert all("s0" not in pair.students for pair in found)
    assert idiom_limit(5000) == 20 and idiom_limit(4) == 3


def test_the_report_calls_nobody_a_cheat() -> None:
    """The word is similar; what it means is for a person to say."""
    said = Tags(similar_page(class_with(LONG, renamed(LONG)), "toy")).text.casefold()

    assert "similar is not copied" in said
    assert not re.search(r"cheat|plagiar|stole|fraud", said)


def test_short_answers_are_never_a_pair() -> None:
    """One line has few right spellings."""
    assert pairs(class_with(RIGHT, RIGHT)) == []


# dashboard and command --------------------------------------------------------------------------


def test_dashboard_holds_every_row() -> None:
    """Points that nobody knows are null, not zero; texts are stored once."""
    page = dashboard_page(small_class(), "toy")
    held = json.loads(re.search(r'id="rows">(.*?)</script>', page, re.DOTALL)[1])

    place = held["heads"].index("points")
    assert [row["c"][place] for row in held["rows"]] == [2.0, 1.5, None, None, 0.0]
    assert len(set(held["words"])) == len(held["words"])
    assert all(len(row["c"]) == len(held["heads"]) == len(held["numeric"]) for row in held["rows"])
    assert "3 rows have points, 2 have none yet" in page


def test_dashboard_of_a_large_class_is_a_small_file() -> None:
    """Five thousand rows of six exercises stay below two megabytes."""
    one = [verdict(name=f"exercise_{k}") for k in range(6)]
    page = dashboard_page([graded(f"student{k}", *one, name=f"N {k}") for k in range(5000)], "toy")

    assert len(page) < 2_000_000


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Rows of a lab that exists."""
    store = Store(tmp_path / "out")
    store.open("t1_01_threads", 5, None, Limits())
    rows = [*small_class(), without("B/../x", "unreadable", identity="b-x.0123")]
    for row in rows:
        store.save_row(row)
    store.save_members([row.identity for row in rows])
    return store.folder


def test_command_writes_the_pages(out: Path, capsys) -> None:
    """Each in its place; the dashboard leads to feedback that lies beside it."""
    for name in ("feedback", "dashboard", "items", "groups", "similar"):
        assert main(["export", str(out), "--to", name]) == 0

    made = out / "exports"
    assert sorted(path.name for path in made.iterdir()) == [
        *("dashboard.html", "feedback", "groups.html", "items.html", "similar.html"),
    ]
    assert len(list((made / "feedback").iterdir())) == 6
    assert (made / "feedback" / "b-x.0123.html").exists()
    assert '"feedback":true' in (made / "dashboard.html").read_text()
    assert "Similar is not copied." in capsys.readouterr().out
