"""Gradebooks of learning platforms: one column changes, every other byte stays."""

from __future__ import annotations

import csv
import io

import pytest

from grading.exports import canvas, moodle
from grading.exports.gradebook import GradebookError
from grading.exports.lossless import CsvError, read
from grading.points import final_of
from grading.policy import parse_policy
from tests.grading.toy_rows import graded, small_class

CANVAS = (
    'Student,ID,SIS Login ID,Section,"Lab 1 (7)",Notes col (8),Current Score (read only)\r\n'
    ",,,,Manual Posting,,\r\n"
    "    Points Possible,,,,2,5,(read only)\r\n"
    '"Lovelace, Ada",101,ada,"A ""x"", B",,4,90\r\n'
    '"Żółć, Bob",102,BOB@example.org,,0.5,,\r\n'
    "Cyd,103,cyd,,1,,\r\n"
    "Dan,104,dan,,,,\r\n"
    "Eve,105,eve,,,,\r\n"
    '"=Zed, Z",106,zed,,1.25,3,\r\n'
    '"Student, Test",107,f00ba,,,,\r\n'
)
MOODLE = (
    'First name,Last name,ID number,"Email address","Quiz: A (Real)",Assignment: Lab 1 (Real),'
    '"Last downloaded from this course"\n'
    "Ada,Lovelace,,ada@example.org,-,-,1700000000\n"
    "Bob,Żółć,bob,other@example.org,3.00,2.00,1700000000\n"
    "Cyd,C,,cyd@example.org,,-,1700000000\n"
)


def cells(data: bytes, encoding: str = "utf-8-sig") -> list[list[str]]:
    """The file as any reader of CSV sees it."""
    return list(csv.reader(io.StringIO(data.decode(encoding), newline="")))


def test_canvas_gets_one_column_and_keeps_the_rest() -> None:
    """Points stand in the assignment's column; rows, columns, quotes and line ends are the same."""
    done = canvas.filled(CANVAS.encode(), "book.csv", small_class(), "Lab 1")

    expected = (
        CANVAS.replace(', B",,4', ', B",2,4').replace(",,0.5,", ",,1.5,")
        .replace("cyd,,1,", "cyd,,,").replace("eve,,,", "eve,,0,")
    )  # fmt: skip
    assert done.data.decode() == expected
    assert done.column == "Lab 1 (7)"
    assert (done.filled, done.changed) == (3, 1)
    assert done.blank == ("cyd", "dan")
    assert done.emptied == ("cyd",)
    assert done.kept == ("=Zed, Z", "Student, Test")
    assert done.unmatched == ()
    assert done.formulas == 1


@pytest.mark.parametrize("status_at", [2, 3])
def test_unknown_points_are_blank_and_not_zero(status_at: int) -> None:
    """A row that waits for a person, or met a fault of the grader's, gets an empty cell."""
    done = canvas.filled(CANVAS.encode(), "book.csv", small_class(), "Lab 1")

    assert cells(done.data)[3 + status_at][4] == ""
    assert cells(done.data)[3 + 4][4] == "0", "who handed in nothing has zero points"


def test_a_decision_of_a_person_fills_the_blank() -> None:
    """Points of an override are points."""
    text = '[[override]]\nstudent = "cyd"\npoints = 1\nreason = "read by hand"\n'
    policy = parse_policy(text, {"ceil_div": 2.0})
    rows = small_class()
    object.__setattr__(rows[2], "final", final_of(rows[2], policy, {"ceil_div": 2.0}, None))

    done = canvas.filled(CANVAS.encode(), "book.csv", rows, "Lab 1")

    assert cells(done.data)[5][4] == "1"
    assert done.blank == ("dan",)


def test_a_second_round_changes_nothing() -> None:
    """What was filled and exported again is the same file, byte by byte."""
    once = canvas.filled(CANVAS.encode(), "book.csv", small_class(), "Lab 1")
    twice = canvas.filled(once.data, "book.csv", small_class(), "Lab 1 (7)")

    assert twice.data == once.data
    assert twice.changed == 0


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [("", "utf-8"), ("\ufeff", "utf-8"), ("\ufeff", "utf-16-le"), ("\ufeff", "utf-16-be")],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_encoding_mark_delimiter_and_line_ends_are_kept(
    mark: str, encoding: str, end: str, delimiter: str
) -> None:
    """Whatever the platform writes, it gets back."""
    lines = [["Student", "SIS Login ID", "Lab", "Ä"], ["Żółć", "ada", "", "ö;,\t"], ["É", "x", "1"]]
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator=end).writerows(lines)
    text = out.getvalue().rstrip("\r\n")  # the last line has no end

    done = canvas.filled((mark + text).encode(encoding), "b", [graded("ada")], "Lab")

    before = delimiter.join(["Żółć", "ada", ""])
    expected = (mark + text.replace(before, before + "2")).encode(encoding)
    assert done.data == expected


def test_commas_in_the_header_do_not_hide_the_delimiter() -> None:
    """What stands in quotes, also over two lines, says nothing about the delimiter."""
    data = b'"Student";"SIS Login ID";"Lab, with, many,\n, commas"\nAda;ada;\n'

    assert canvas.filled(data, "b", [graded("ada")]).data == data.replace(b"ada;", b"ada;2")


def test_windows_text_is_kept() -> None:
    """A file that is not UTF-8 comes back as it was."""
    data = "Student,SIS Login ID,Lab\nDaniël,ada,\nZoë,x,\n".encode("cp1252")

    done = canvas.filled(data, "book.csv", [graded("ada")])

    assert done.data == data.replace(b"ada,", b"ada,2")


def test_cells_that_were_quoted_stay_quoted() -> None:
    """A file with quotes around everything keeps them, also around the points."""
    data = b'"Student","SIS Login ID","Lab"\n"Ada","ada",""\n'

    assert canvas.filled(data, "b", [graded("ada")]).data == data.replace(b'ada",""', b'ada","2"')


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2\n",
        'a\r\n"x\r\ny ""z"""\r\n',
        "a;b\n\n1;2",
        'a\n"x"tail,\n',
        "a,b\r1,2\r",
        "\ta\n\n\n",
    ],
)
def test_reading_and_writing_is_the_identity(text: str) -> None:
    """Also for cells with line breaks, blank lines, and text behind a closing quote."""
    assert read(text.encode(), "x.csv").data() == text.encode()


def test_values_are_those_of_the_csv_module() -> None:
    """The reader agrees with Python's on what the cells say."""
    text = 'a,"b\r\nc","d ""e"" f",,"",g h\r\n1,2\r\n'
    sheet = read(text.encode(), "x.csv")

    expected = list(csv.reader(io.StringIO(text, newline="")))
    assert [line.cells for line in (sheet.header, *sheet.lines)] == expected


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b'a,b\nx,"open\n', "line 2: a quote is opened and never closed"),
        (b"PK\x00\x03 zip", "not a CSV"),
        (b"a\x81\x8d", "not text"),
    ],
)
def test_what_is_no_csv_is_refused(data: bytes, said: str) -> None:
    """With the file's name and what is wrong with it."""
    with pytest.raises(CsvError, match=said):
        read(data, "book.csv")


def test_students_who_fit_nobody_or_two_are_listed() -> None:
    """No guess: a name that two rows have is nobody's, a stranger is named."""
    book = b"Student,SIS Login ID,Lab\nAnn Lee,a1,\nAnn Lee,a2,\nBea,b1,\n"
    rows = [graded("Ann Lee"), graded("nobody"), graded("x9", name="Bea")]

    done = canvas.filled(book, "b", rows)

    assert done.unmatched == ("Ann Lee", "nobody")
    assert done.by_name == ("x9",)
    assert cells(done.data)[1:] == [
        ["Ann Lee", "a1", ""],
        ["Ann Lee", "a2", ""],
        ["Bea", "b1", "2"],
    ]


def test_two_of_ours_never_share_a_row() -> None:
    """Where an e-mail and an id lead to one row, nobody gets it."""
    book = b"Student,SIS Login ID,Lab\nAda,ada,\n"
    rows = [graded("ada"), graded("other", email="ADA")]

    done = canvas.filled(book, "b", rows)

    assert done.unmatched == ("ada", "other")
    assert done.filled == 0


def test_other_maximum_is_refused_or_scaled() -> None:
    """Ten points in Canvas and two in the lab: a person says whether to scale."""
    book = CANVAS.replace("Possible,,,,2", "Possible,,,,10").encode()
    with pytest.raises(GradebookError, match=r"counts 10 points, and the lab 2.*--maximum 10"):
        canvas.filled(book, "b", small_class(), "Lab 1")
    with pytest.raises(GradebookError, match="counts 10 points, and --maximum says 20"):
        canvas.filled(book, "b", small_class(), "Lab 1", 20)

    done = canvas.filled(book, "b", small_class(), "Lab 1", 10)

    assert [line[4] for line in cells(done.data)[3:8]] == ["10", "7.5", "", "", "0"]


@pytest.mark.parametrize(
    ("column", "said"),
    [("", "Say which column"), ("Lab 9", "no column 'Lab 9'.*'Lab 1 \\(7\\)', 'Notes col")],
)
def test_the_column_is_never_guessed(column: str, said: str) -> None:
    """Of several columns a person chooses; the error lists them."""
    with pytest.raises(GradebookError, match=said):
        canvas.filled(CANVAS.encode(), "b", small_class(), column)


def test_read_only_columns_are_not_filled() -> None:
    """Canvas computes those itself."""
    with pytest.raises(GradebookError, match="no column"):
        canvas.filled(CANVAS.encode(), "b", small_class(), "Current Score (read only)")


def test_moodle_gradebook() -> None:
    """Found by e-mail and by id number; a dash is an empty grade; 2 is 2.00 already."""
    rows = small_class()
    done = moodle.filled(MOODLE.encode(), "book.csv", rows, "Lab 1")

    expected = (
        MOODLE.replace("ada@example.org,-,-", "ada@example.org,-,2")
        .replace("3.00,2.00", "3.00,1.5")
        .replace("org,,-,", "org,,,")
    )
    assert done.data.decode() == expected
    assert done.unmatched == ("dan", "eve")
    assert done.emptied == ()
    same = moodle.filled(MOODLE.encode(), "b", [graded("bob")], "Assignment: Lab 1 (Real)")
    assert same.data.decode() == MOODLE


def test_moodle_with_a_decimal_comma_gets_one() -> None:
    """A site that writes 3,50 is not given 1.5."""
    book = 'ID number;Lab (Real)\nada;"3,50"\nbob;-\n'

    done = moodle.filled(book.encode(), "b", small_class())

    assert done.data.decode() == 'ID number;Lab (Real)\nada;"2"\nbob;1,5\n'


def test_moodle_worksheet_keeps_what_is_locked() -> None:
    """Of an assignment's worksheet only grades that may change are filled, by its maximum."""
    book = (
        "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,"
        "Feedback comments\n"
        'Participant 1,Ada Lovelace,ada@example.org,Submitted,,4.00,Yes,"<p>a</p>"\n'
        "Participant 2,Bob Żółć,bob@example.org,Submitted,3.00,4.00,No,\n"
    )

    done = moodle.filled(book.encode(), "b", small_class(), most=4)

    assert done.data.decode() == book.replace("Submitted,,4.00", "Submitted,4,4.00")
    assert done.locked == ("bob",)


def test_moodle_columns_of_letters_are_refused() -> None:
    """Points are not letters."""
    book = b"ID number,Lab (Letter)\nada,A\n"
    with pytest.raises(GradebookError, match="no real grades"):
        moodle.filled(book, "b", small_class(), "Lab (Letter)")


def test_ids_in_a_column_of_ones_own() -> None:
    """--match names a column in any language."""
    book = b"Numer albumu,Zadanie: Lab (Rzeczywista)\nada,-\n"

    assert moodle.filled(book, "b", [graded("ada")], "Lab").unmatched == ("ada",)
    done = moodle.filled(book, "b", [graded("ada")], "Lab", match="Numer albumu")
    assert done.data.endswith(b"\nada,2\n")


def test_five_thousand_rows() -> None:
    """A large class takes one pass: every student gets the own points."""
    rows = [graded(f"s{k}", points=k % 3) for k in range(5000)]
    book = "Student,SIS Login ID,Lab\n" + "".join(f"N{k},s{k},\n" for k in range(5000))

    done = canvas.filled(book.encode(), "b", rows)

    assert [line[2] for line in cells(done.data)[1:]] == [str(k % 3) for k in range(5000)]
