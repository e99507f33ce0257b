"""Triton kernels as answers: rebuilt from their text, and nothing but tile code of it."""

from __future__ import annotations

import inspect

import pytest

pytest.importorskip("triton", reason="Triton has wheels for Linux only")


from grading.answers import extract
from grading.grade import grade_one
from grading.intake import Submission
from grading.lab import CourseCell, Exercise, Lab
from grading.parse import CodeCell
from grading.results import Result
from grading.run import Limits
from grading.tiles import TileError, tile_kernel, tile_source
from tests.check import tile_answers
from tests.check.tile_answers import ADD, RIGHT, WRONG
from tests.grading.submissions import notebook_bytes
from tests.tiles import kernels
from warpwise.check import judge
from warpwise.check.record import Record

HEAD = "import triton\nimport triton.language as tl\n\n"
SLOW = pytest.mark.slow
KERNELS = [
    pytest.param(one, marks=[SLOW] * (k % 3 > 0))
    for k, one in enumerate([*RIGHT, *WRONG])
    if hasattr(one[1], "fn")
]


def rebuilt(text: str, name: str = "add", **constants: object) -> object:
    """The kernel `name` of a cell's text, as the verifier makes it."""
    found = extract([CodeCell(1, text)], [name], ())
    source = tile_source(found.found[name], found.definitions)
    assert source is not None
    return tile_kernel(source, constants)


def graded(text: str, seed: int = 1) -> Record:
    return judge(ADD, rebuilt(HEAD + text), seed, "grader")


@pytest.mark.parametrize("case", KERNELS, ids=lambda one: one[1].fn.__name__)
def test_a_kernel_from_its_text_is_judged_like_the_kernel_itself(case) -> None:
    """Right ones pass, each mistake has the same diagnosis."""
    spec, answer, *diagnosis = case
    text = inspect.getsource(tile_answers) + inspect.getsource(kernels)
    wanted = ("fail", *diagnosis) if diagnosis else ("pass", None)
    try:
        record = judge(spec, rebuilt(text, answer.fn.__name__), 1, "grader")
        got = (record.status, record.diagnosis)
    except TileError as error:
        got = ("fail", error.diagnosis)

    assert got == wanted


BODY = """
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)
"""
ADD_TEXT = "@triton.jit\ndef add(out, x, y, n, BLOCK: tl.constexpr):" + BODY
PARTS = """
TWO = 2
STEP = tl.constexpr(TWO - 1)
ONE = tl.constexpr(STEP + 0)
KIND = tl.float32

@triton.jit
def both(a, b):
    return (a + b).to(KIND) * ONE

@triton.jit
def add(out, x, y, n, BLOCK: tl.constexpr):
    \"\"\"A helper, constants of three kinds, a loop that is unrolled.\"\"\"
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for _ in tl.static_range(1):
        s = both(tl.load(x + i, mask=i < n), tl.load(y + i, mask=i < n))
        tl.store(out + i, s * STEP, mask=i < n)
"""
FORMS = {
    "plain": ADD_TEXT,
    "parts": PARTS,
    "renamed_modules": "import triton as t\nfrom triton import jit, language as T\n@jit\n"
    + ADD_TEXT.split("\n", 1)[1].replace("tl.", "T."),
    "names_that_are_globals_elsewhere": "x = open\nn = [1]\ni = print\n" + ADD_TEXT,
    "modules_of_the_course": "from warpwise.tiles import tl as T, triton as t\n@t.jit\n"
    + ADD_TEXT.split("\n", 1)[1].replace("tl.", "T."),
    "full_names": ADD_TEXT.replace("tl.", "triton.language."),
    "wrapped_later": ADD_TEXT.replace("@triton.jit\ndef add", "def mine")
    + "add = triton.jit(mine)",
    "options": ADD_TEXT.replace("@triton.jit", "@triton.jit(do_not_specialize=['n'])"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_usual_form_is_read(form) -> None:
    record = graded(FORMS[form])

    assert record.status == "pass", record.message


def test_lines_are_those_of_the_function() -> None:
    """Line 1 is the function's first line, with its decorator."""
    record = graded(ADD_TEXT.replace("tl.load(x + i, mask=i < n)", "tl.load(x + i)"))

    assert record.diagnosis == "out_of_bounds"
    assert "line 4:  tl.store(out + i, tl.load(x + i)" in record.message


def with_line(line: str) -> str:
    return ADD_TEXT.replace("    i = ", f"    {line}\n    i = ")


HOSTILE = {
    "import": with_line("import os"),
    "dunder": with_line("z = tl.load.__globals__"),
    "dunder_name": with_line("z = __builtins__"),
    "class_chain": with_line("z = ().__class__"),
    "module": with_line("z = tl.core"),
    "module_in_a_module": with_line("z = tl.math.core"),
    "extra": with_line("z = tl.extra"),
    "runtime": with_line("z = triton.runtime.driver"),
    "handle": with_line("z = x.handle.data"),
    "function_of_a_kernel": with_line("z = add.fn"),
    "format": with_line("z = '{0.handle}'.format(x)"),
    "lambda": with_line("z = (lambda: 1)()"),
    "walrus": with_line("(z := 1)"),
    "function_inside": with_line("def z(): pass"),
    "class": with_line("class z: pass"),
    "try": with_line("try:\n        z = 1\n    except tl.float32:\n        z = 2"),
    "global": with_line("global tl"),
    "patch": with_line("tl.load = tl.store"),
    "patch_item": with_line("del tl.load"),
    "builder": with_line("z = tl.load(x, _semantic=out)"),
    "double_star": with_line("z = tl.load(**x)"),
    "the_rewriter": with_line("_to_tensor = tl.load"),
    "asm": with_line("z = tl.inline_asm_elementwise('', '', [], tl.int32, True, 1)"),
    "jit_in_the_body": with_line("z = triton.jit(print)"),
    "default": ADD_TEXT.replace("BLOCK: tl.constexpr", "BLOCK: tl.constexpr = open('/x', 'w')"),
    "default_of_a_host": ADD_TEXT.replace(
        "n, BLOCK: tl.constexpr", "n=1, BLOCK: tl.constexpr = print(1)"
    ),
    "annotation": ADD_TEXT.replace("tl.constexpr", "print('here')"),
    "returns": ADD_TEXT.replace("):", ") -> print('here'):", 1),
    "decorator": "@print\n" + ADD_TEXT,
    "decorator_of_the_module": ADD_TEXT.replace("@triton.jit", "@triton.runtime.jit.jit"),
    "decorator_called": "@evil(1)\n" + ADD_TEXT,
    "any_arguments": ADD_TEXT.replace("BLOCK:", "*BLOCK:"),
    "helper_with_a_decorator": "@print\ndef h(a):\n    return a\n" + with_line("z = h(1)"),
    "helper_with_a_default": "@triton.jit\ndef h(a=print(1)):\n    return a\n"
    + with_line("z = h()"),
    "helper_that_imports": "def h(a):\n    import os\n    return os.getpid()\n"
    + with_line("z = h(1)"),
    "helper_named_builtins": "def __builtins__():\n    pass\n" + with_line("z = __builtins__()"),
    "import_as_builtins": "import triton as __builtins__\n" + with_line("z = os"),
    "number": with_line(f"z = {10**40}"),
}


@pytest.mark.parametrize("attack", HOSTILE)
def test_what_is_not_tile_code_is_refused_before_it_runs(attack, capsys) -> None:
    """Nothing of the student's has run, and the message names the line."""
    if attack == "import_as_builtins":  # the name stays unknown to the kernel
        record = graded(HOSTILE[attack])
        assert (record.status, record.diagnosis) == ("fail", "raised")
        assert "name 'os' is not defined" in record.message
        return
    with pytest.raises(TileError) as refused:
        graded(HOSTILE[attack])

    assert refused.value.diagnosis == "compilation"
    assert "  line " in str(refused.value)
    assert not capsys.readouterr().out


@pytest.mark.parametrize(
    "text", ["z = open('/x', 'w')", "z = eval('1')", "z = getattr(tl, 'core')"]
)
def test_python_has_few_names_in_a_kernel(text) -> None:
    record = graded(with_line(text))

    assert (record.status, record.diagnosis) == ("fail", "raised")
    assert "is not defined" in record.message


def test_the_names_that_are_allowed_are_harmless_on_every_value() -> None:
    """What may follow a dot says nothing dangerous on a number, a text, a list or a type."""
    import triton
    import triton.language as tl
    from triton.runtime.jit import JITFunction

    from grading.tiles import Rules, _members

    allowed = Rules("k", [], {}, {}).attributes
    for module in (triton, tl, tl.math):
        allowed |= _members(module)
    shared = {
        name
        for kind in (int, float, bool, str, tuple, list, range, JITFunction, type(len), type)
        for name in vars(kind)
        if name in allowed
    }
    assert shared == {"join", "split", "sort"}


def lab() -> Lab:
    """One exercise on a Triton kernel."""
    hole = ADD_TEXT.split("\n    i =")[0] + "\n    # YOUR CODE HERE\n    raise NotImplementedError"
    cells = (
        CourseCell("", frozenset(), HEAD + "from warpwise import check"),
        CourseCell("add", frozenset({"exercise"}), hole),
        CourseCell("", frozenset({"check"}), 'check("add", add)'),
    )
    return Lab("toy", cells, (Exercise("add", "add", ADD),))


def row(tmp_path, *cells: str) -> Result:
    path = tmp_path / "ada.ipynb"
    path.write_bytes(notebook_bytes(*cells))
    return grade_one(Submission("ada", "ada", path), lab(), 5, Limits(seconds=40))


def test_a_kernel_whose_text_says_everything_needs_no_run(tmp_path) -> None:
    """Also where the student patched tl: the verifier has its own."""
    patch = "tl.load = None\ntl.store = lambda *a, **k: None"
    result = row(tmp_path, HEAD, patch, ADD_TEXT)

    assert (result.status, result.points, result.sandbox) == ("graded", 2.0, "not run")
    assert result.exercises[0].label == "counted, Triton's interpreter"


def test_a_constant_that_was_computed_is_asked_for(tmp_path) -> None:
    """Plain numbers and what Triton wraps; they come from the student's process."""
    text = ADD_TEXT.replace("mask=i < n)", "mask=i < n) * SCALE * ONE", 1)
    computed = "SCALE = tl.constexpr(len('a'))\nONE = tl.constexpr(int('1'))"
    result = row(tmp_path, HEAD, computed, text)

    assert (result.status, result.points) == ("graded", 2.0), result.exercises[0].message


@SLOW
def test_a_kernel_that_never_ends_is_stopped(tmp_path, monkeypatch) -> None:
    """Also one that multiplies a number of Python's until nothing else happens."""
    monkeypatch.setattr("grading.verify.JUDGE_SECONDS", 3)
    for loop in ("while True:\n        pass", "for _ in range(60):\n        BLOCK *= BLOCK"):
        result = row(tmp_path, HEAD, with_line(loop))

        assert (result.points, result.exercises[0].diagnosis) == (0.0, "too_slow")


def test_an_attack_costs_its_own_points(tmp_path) -> None:
    """A decorator and a default that write a file: neither runs at the verifier."""
    target = tmp_path / "written"
    attack = f"(lambda: open({str(target)!r}, 'w'))()"
    for text in (f"@{attack}\n{ADD_TEXT}", HOSTILE["default"].replace("open('/x', 'w')", attack)):
        result = row(tmp_path, HEAD, text)

        assert (result.status, result.points) == ("graded", 0.0)
        assert result.exercises[0].diagnosis == "compilation"
        assert not target.exists()
