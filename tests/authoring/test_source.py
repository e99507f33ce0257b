"""The percent parser: what it reads, and the exact words in which it refuses."""

import string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpwise.authoring import TAGS, AuthoringError, parse_source, read_source

LAB = '''# A note to authors.

# %% [markdown]
r"""
# Lab

$\\alpha$ and a "quote".
"""

# %%
import numpy as np

# %% guarded_add tags=["exercise"]


def guarded_add(out, a, b, n):
    ### BEGIN SOLUTION
    out[:n] = a + b
    ### END SOLUTION


# %% tags=["check"]
check("guarded_add", guarded_add)

# %% talk [markdown] tags=["solution"]
r"""
### Solution
"""
'''

FORM = """Write '# %%', then optionally a title, '[markdown]' and 'tags=["..."]', in this order."""


def refusal(text: str) -> str:
    """The message with which a source is refused."""
    with pytest.raises(AuthoringError) as caught:
        parse_source(text, "lab.py")
    return str(caught.value)


def test_cells_come_with_type_title_tags_source_and_line():
    """A source gives its cells in order, each with what its header and body say."""
    cells = parse_source(LAB)

    assert [(cell.type, cell.title, cell.tags, cell.line) for cell in cells] == [
        ("markdown", "", (), 5),
        ("code", "", (), 11),
        ("code", "guarded_add", ("exercise",), 16),
        ("code", "", ("check",), 23),
        ("markdown", "talk", ("solution",), 27),
    ]
    assert cells[0].source == '# Lab\n\n$\\alpha$ and a "quote".'
    assert cells[1].source == "import numpy as np"


def test_windows_line_ends_give_the_same_cells():
    """A checkout with CRLF builds the same notebook."""
    assert parse_source(LAB) == parse_source(LAB.replace("\n", "\r\n"))


def test_named_cells_have_their_title_as_id():
    """The id of a named cell is its title."""
    assert parse_source(LAB)[2].id == "guarded_add"


def test_unnamed_cells_have_a_digest_of_type_and_source_as_id():
    """The id of an unnamed cell depends on its type and text alone."""
    code = parse_source("# %%\nx = 1\n")[0].id
    prose = parse_source('# %% [markdown]\nr"""\nx = 1\n"""\n')[0].id

    assert code == "a63de5c8"
    assert prose == "ba8d0609"


def test_equal_unnamed_cells_are_numbered():
    """The second of two identical cells gets another id, the same in each build."""
    ids = [cell.id for cell in parse_source("# %%\nx = 1\n" * 3)]

    assert ids == ["a63de5c8", "a63de5c8-2", "a63de5c8-3"]


def test_changing_one_cell_leaves_the_other_ids():
    """An edit gives a new id to the edited cell only."""
    before = parse_source("# %%\nx = 1\n# %%\ny = 2\n")
    after = parse_source("# %%\nx = 3\n# %%\ny = 2\n")

    assert before[0].id != after[0].id
    assert before[1].id == after[1].id


@pytest.mark.parametrize(
    "header",
    [
        "#%% name",
        "# %%name",
        "# %% Name",
        "# %% two words",
        "# %% [markdown] name",
        "# %% [code]",
        "# %%[markdown]",
        "# %% name tags=['exercise']x",
        '# %% name  tags=["exercise"]',
        "# %%  ",
        "  # %%",
        "# % name",
        "## %% name",
        '# name tags=["solution"]',
    ],
)
def test_nearly_right_headers_are_refused(header):
    """A header that is nearly right must not melt into the cell before it."""
    expected = f"lab.py:3: '{header.strip()}' is not a cell header. {FORM}"

    assert expected == refusal(f"# %%\nx = 1\n{header}\ny = 2\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "lab.py: No cell found: there is no '# %%' line."),
        ("x = 1\n# %%\ny = 2\n", "lab.py:1: Code before the first cell. Add a '# %%' line."),
        ("# %%\n\n# %%\ny = 2\n", "lab.py:1: This cell is empty."),
        ('# %% [markdown]\nr"""\n\n"""\n', "lab.py:2: This cell is empty."),
        (
            "# %%\nx = (1\n",
            "lab.py:2: This cell is not valid Python: '(' was never closed.",
        ),
        (
            '# %% a\nx = 1\n# %% b tags=["exercize"]\ny = 2\n',
            f"lab.py:3: Unknown tag 'exercize'. The tags are: {', '.join(TAGS)}.",
        ),
        (
            "# %% tags=['check']\nx = 1\n",
            "lab.py:1: tags=['check'] is not a list of strings in double quotes.",
        ),
        (
            "# %% tags=[]\nx = 1\n",
            "lab.py:1: tags=[] is not a list of strings in double quotes.",
        ),
        (
            '# %% tags=["check", "check"]\nx = 1\n',
            "lab.py:1: The same tag stands here twice.",
        ),
        (
            "# %% a\nx = 1\n# %% a\ny = 2\n",
            "lab.py:4: The title 'a' is already that of the cell in line 2.",
        ),
        (
            '# %% tags=["parameters"]\nx = 1\n# %% tags=["parameters"]\ny = 2\n',
            "lab.py:4: A second cell tagged 'parameters'; the first is in line 2.",
        ),
        (
            f"# %% {'a' * 65}\nx = 1\n",
            f"lab.py:1: The title '{'a' * 65}' is longer than 64 characters.",
        ),
        (
            '# %% [markdown] tags=["check"]\nr"""\nx\n"""\n',
            "lab.py:1: A markdown cell cannot have the tag 'check'.",
        ),
        (
            '# %% tags=["exercise"]\nx = 1\n',
            "lab.py:1: An exercise cell needs a title: its name.",
        ),
        (
            '# %% a tags=["exercise"]\nx = 1\n',
            "lab.py:2: The exercise 'a' has no '### BEGIN SOLUTION' ... '### END SOLUTION', "
            "so the lab would show the answer.",
        ),
        (
            '# %% a tags=["exercise", "solution"]\n### BEGIN SOLUTION\na = 1\n### END SOLUTION\n',
            "lab.py:2: 'a' is tagged both 'exercise' and 'solution'.",
        ),
        (
            '# %% a tags=["exercise"]\n### BEGIN SOLUTION\nb = 1\n### END SOLUTION\n',
            "lab.py:2: The exercise 'a' defines no function and no value called 'a', "
            "so a grader could not find the answer.",
        ),
        (
            "# %% a\n### BEGIN SOLUTION\nx = 1\n### END SOLUTION\n",
            "lab.py:2: '### BEGIN SOLUTION' in a cell without the tag 'exercise'.",
        ),
        (
            '# %% [markdown]\nr"""\n### BEGIN SOLUTION\n"""\n',
            "lab.py:3: '### BEGIN SOLUTION' looks like a solution marker, "
            "but this is a markdown cell.",
        ),
        (
            '# %% [markdown]\nr"""\na\n"""\nx = """\n"""\n',
            'lab.py:4: The text of a cell cannot contain """.',
        ),
    ],
)
def test_bad_sources_are_refused_with_file_and_line(text, message):
    """Each mistake in a source has its own sentence."""
    assert message == refusal(text)


@pytest.mark.parametrize(
    "body",
    ['"""\nx\n"""', 'r"""x"""', "r'''\nx\n'''", "# x", 'r"""\nx\n"""  ', 'r"""\nx\n""".strip()'],
)
def test_markdown_cells_have_one_form(body):
    """Only a raw triple-quoted string, alone on its lines, is a markdown cell."""
    expected = (
        'lab.py:2: A markdown cell is text between a line r""" and a line """, with nothing else.'
    )

    assert expected == refusal(f"# %% [markdown]\n{body}\n")


def test_bytes_that_are_not_utf8_are_refused(tmp_path):
    """A file in another encoding is named, not decoded somehow."""
    path = tmp_path / "lab.py"
    path.write_bytes(b"# %%\nx = '\xff'\n")

    with pytest.raises(AuthoringError) as caught:
        read_source(path)

    assert f"{path}: This is not UTF-8 text (invalid start byte)." == str(caught.value)


TITLES = st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True)
PROSE = st.text(string.ascii_letters + " $\\_*\n'\"", min_size=1).filter(
    lambda text: text.strip() and text == text.strip("\n") and '"""' not in text
)
CODE = st.builds("{} = {}".format, TITLES.map(lambda name: f"v_{name}"), st.integers())


@settings(deadline=None)  # A slow machine is no mistake.
@given(st.lists(st.tuples(st.booleans(), PROSE, CODE), min_size=1, max_size=6))
def test_what_is_written_is_read_back(parts):
    """Any prose and any code come out of the parser as they went in."""
    text = ""
    for is_prose, prose, code in parts:
        text += f'# %% [markdown]\nr"""\n{prose}\n"""\n\n' if is_prose else f"# %%\n{code}\n\n"

    cells = parse_source(text, Path("lab.py"))

    assert [
        ("markdown", prose) if is_prose else ("code", code) for is_prose, prose, code in parts
    ] == [(cell.type, cell.source) for cell in cells]
    assert len(parts) == len({cell.id for cell in cells})
