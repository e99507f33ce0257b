"""Solution markers: exact ones cut holes, all others are refused. No answer may leak."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpwise.authoring import AuthoringError, build_full, build_lab, parse_source
from warpwise.authoring.markers import BEGIN, END, looks_like_marker


def lab_of(body: str) -> str:
    """The source of the one exercise cell as a learner gets it, less its last line."""
    cells = parse_source(f'# %% answer tags=["exercise"]\n{body}\nanswer = 0\n', "lab.py")
    return build_lab(cells).cells[1].source.removesuffix("\nanswer = 0")


def refusal(body: str) -> str:
    """The message with which an exercise cell is refused. Its first line is line 2."""
    with pytest.raises(AuthoringError) as caught:
        lab_of(body)
    return str(caught.value)


KERNEL = """def f(out, n):
    ### BEGIN SOLUTION
    i = 0

    # Why this is so.
    if i < n:
        out[i] = 1
    ### END SOLUTION"""


def test_a_hole_says_how_many_lines_of_code_it_had():
    """Blank lines and comments do not count."""
    expected = (
        "def f(out, n):\n    # YOUR CODE HERE (roughly 3 lines)\n    raise NotImplementedError"
    )

    assert expected == lab_of(KERNEL)


def test_one_line_is_singular():
    """A hole of one line says so in English."""
    body = f"def f(x):\n    {BEGIN}\n    return x\n    {END}"

    assert (
        lab_of(body)
        == "def f(x):\n    # YOUR CODE HERE (roughly 1 line)\n    raise NotImplementedError"
    )


def test_several_holes_keep_the_code_between_them():
    """Given code before, between and after the holes stays."""
    body = f"""def f(x):
    if x:
        {BEGIN}
        y = 1
        {END}
    else:
        {BEGIN}
        y = 2
        z = 3
        {END}
    return y"""
    expected = """def f(x):
    if x:
        # YOUR CODE HERE (roughly 1 line)
        raise NotImplementedError
    else:
        # YOUR CODE HERE (roughly 2 lines)
        raise NotImplementedError
    return y"""

    assert expected == lab_of(body)


def test_a_value_at_column_0_becomes_ellipsis():
    """An untouched lab must run, so a value is named rather than an error raised."""
    body = f"# Per warp.\n{BEGIN}\nsectors: int = 4\nlow, high = 1, 2\nlow = 3\n{END}\nprint(low)"
    expected = (
        "# Per warp.\n# YOUR CODE HERE (roughly 3 lines)\n"
        "sectors = ...\nlow = ...\nhigh = ...\nprint(low)"
    )

    assert expected == lab_of(body)


def test_the_full_notebook_keeps_markers_and_answer():
    """A solution shows where the hole was."""
    cells = parse_source(f'# %% f tags=["exercise"]\n{KERNEL}\n')

    assert build_full(cells).cells[1].source == KERNEL


def test_the_words_inside_a_line_are_no_marker():
    """A string that speaks of markers in the middle of a line is left alone."""
    body = f'def f():\n    """Between {BEGIN} and {END}."""\n    {BEGIN}\n    return 1\n    {END}'

    assert f'"""Between {BEGIN} and {END}."""' in lab_of(body)


@pytest.mark.parametrize(
    "line",
    [
        "### BEGIN  SOLUTION",
        "###BEGIN SOLUTION",
        "# BEGIN SOLUTION",
        "## BEGIN SOLUTION",
        "#### BEGIN SOLUTION",
        "### begin solution",
        "### BEGIN_SOLUTION",
        "### BEGIN SOLUTIONS",
        "### BEGIN SOLUTON",
        "### BEGN SOLUTION",
        "### BEING SOLUTION",
        "### BEGIN SOLUTION:",
        "### BEGIN THE SOLUTION",
        "### START SOLUTION",
        "### END OF SOLUTION",
        "# end solution",
        "### ANSWER",
        "# solution",
        "pass  ### BEGIN SOLUTION",
        "pass  # END SOLUTION",
    ],
)
def test_what_looks_like_a_marker_is_refused(line):
    """A misspelled marker is an error with its line, beside good markers or alone."""
    comment = line[line.index("#") :]
    expected = (
        f"lab.py:4: '{comment}' looks like a solution marker but is not one. "
        "Write '### BEGIN SOLUTION' or '### END SOLUTION' alone on its line, "
        "or word the comment differently."
    )

    assert expected == refusal(
        f"def f():\n    x = 1\n    {line}\n    {BEGIN}\n    y = 2\n    {END}"
    )
    assert expected == refusal(f"def f():\n    x = 1\n    {line}\n    y = 2")


@pytest.mark.parametrize(
    "comment",
    [
        "# i is the index of this thread",
        "# The sum of both.",
        "# the end of the row",
        "# Begin with the last block.",
        "# Any solution of this equation is negative.",
        "# resolve later",
    ],
)
def test_ordinary_comments_are_no_markers(comment):
    """What a comment may say is not narrowed more than needed."""
    assert not looks_like_marker(comment)


@settings(deadline=None)  # A slow machine is no mistake.
@given(
    st.sampled_from([BEGIN, END]),
    st.integers(0, 17),
    st.sampled_from(["drop", "double", "swap", "lower"]),
)
def test_one_slip_in_a_marker_never_leaks(marker, position, slip):
    """A marker with one slip of the finger is refused, wherever the slip is."""
    at = position % (len(marker) - 1)
    new = {
        "drop": marker[:at] + marker[at + 1 :],
        "double": marker[: at + 1] + marker[at:],
        "swap": marker[:at] + marker[at + 1] + marker[at] + marker[at + 2 :],
        "lower": marker[:at] + marker[at].lower() + marker[at + 1 :],
    }[slip]
    wrong = new != marker
    begin, end = (new, END) if marker == BEGIN else (BEGIN, new)
    body = f"def f():\n    {begin}\n    secret = 1\n    {end}"

    if wrong:
        refusal(body)
    else:
        assert "secret" not in lab_of(body)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            f"def f():\n    {BEGIN}\n    x = 1",
            "lab.py:3: '### BEGIN SOLUTION' without an '### END SOLUTION' in the same cell.",
        ),
        (
            f"def f():\n    x = 1\n    {END}",
            "lab.py:4: '### END SOLUTION' without a '### BEGIN SOLUTION' before it.",
        ),
        (
            f"def f():\n    {BEGIN}\n    x = 1\n    {BEGIN}\n    y = 1\n    {END}",
            "lab.py:5: '### BEGIN SOLUTION' again before the one in line 3 ended.",
        ),
        (
            f"def f():\n    {BEGIN}\n    x = 1\n    {END}\n    {END}",
            "lab.py:6: '### END SOLUTION' without a '### BEGIN SOLUTION' before it.",
        ),
        (
            f"def f():\n    {BEGIN}  \n    x = 1\n    {END}",
            "lab.py:3: '### BEGIN SOLUTION' has spaces after it. Remove them.",
        ),
        (
            f'def f():\n    """\n    {BEGIN}\n    """\n    x = 1',
            "lab.py:4: '### BEGIN SOLUTION' stands inside a string. Move it out.",
        ),
        (
            f"def f():\n    {BEGIN}\n    x = 1\n  {END}",
            "lab.py:5: '### END SOLUTION' is not indented like its '### BEGIN SOLUTION'.",
        ),
        (
            f"def f():\n        {BEGIN}\n    x = 1\n        {END}",
            "lab.py:4: This line is indented less than the markers around it.",
        ),
        (
            f"def f():\n    {BEGIN}\n    # Nothing.\n\n    {END}\n    return 1",
            "lab.py:3: There is no code between these markers.",
        ),
        (
            f"{BEGIN}\ndef f():\n    return 1\n{END}",
            "lab.py:3: A region at column 0 may only assign to plain names. "
            "For a function, put the markers inside its body.",
        ),
        (
            f"a = {{}}\n{BEGIN}\na['x'] = 1\n{END}",
            "lab.py:4: A region at column 0 may only assign to plain names. "
            "For a function, put the markers inside its body.",
        ),
        (
            f"def f():\n{BEGIN}\n    return 1\n{END}",
            "lab.py:3: No statement begins between these markers. "
            "Indent them like the code around them.",
        ),
        (
            f"if True:\n    {BEGIN}\n    x = 1\n    {END}",
            "lab.py:3: This region is indented but in no function, so its hole would stop the "
            "lab. Put it inside a function or at column 0.",
        ),
        (
            f"def f():\n    x = [\n    {BEGIN}\n    1\n    {END}\n    ]\n    return x",
            "lab.py:4: With the answer cut out, this cell is not valid Python: invalid syntax.",
        ),
    ],
)
def test_bad_markers_are_refused_with_file_and_line(body, message):
    """Each way to misplace a marker has its own sentence."""
    assert message == refusal(body)
