"""What may cross from the student's side: properties of the parser, the wire and the judge."""

from __future__ import annotations

import contextlib
import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grading import wire
from grading.answers import extract
from grading.evidence import evidence
from grading.incidents import incidents
from grading.parse import CodeCell, Parsed, parse
from grading.questions import question
from grading.reasons import SENTENCES, SubmissionError
from grading.rebuild import FreshCell
from grading.rounds import Gathered
from grading.run import Event, Limits, Run
from grading.verify import verdict
from tests.grading.submissions import CEIL_DIV, notebook_bytes, toy_lab
from warpwise.check import FunctionSpec

CALM = settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**100), 2**100)
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from([np.float32(1.5), np.int64(-3), np.bool_(True), np.float64("nan")])
)
ARRAYS = st.sampled_from(
    [np.zeros((0, 3)), np.arange(6, dtype=np.int16).reshape(2, 3), np.array(2.0, np.float16)]
)
PLAIN = st.recursive(
    SCALARS | ARRAYS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.integers() | st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=12,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=10,
)


def same(one: object, two: object) -> bool:
    """Equal in value, type and, for arrays, dtype and shape; NaN equals NaN."""
    if type(one) is not type(two):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == two.dtype and np.array_equal(one, two, equal_nan=True)
    if isinstance(one, (list, tuple)):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[k], two[k]) for k in one)
    if isinstance(one, (float, np.floating)) and math.isnan(one):
        return math.isnan(two)
    return one == two


@CALM
@given(PLAIN)
def test_plain_data_survives_the_border(value: object) -> None:
    """Every plain value arrives as it was sent, to the bit and the type."""
    assert same(value, wire.decode(wire.loads(wire.dumps(wire.encode(value)))))


class Liar(int):
    """An int that is equal to everything."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


@pytest.mark.parametrize(
    "value",
    [
        Liar(3),
        [Liar(3)],
        {1: object()},
        range(3),
        np.array([object()]),
        np.zeros(2, "U3"),
        np.ma.array([1]),
        2**1000,
        "x" * 100_000,
        np.zeros(10**6),
        lambda: 1,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_plain_is_refused(value: object) -> None:
    """Subclasses, objects and monsters stay on their side."""
    with pytest.raises(wire.WireError):
        wire.encode(value)


@CALM
@given(JSON)
def test_decoding_refuses_or_gives_plain_data(data: object) -> None:
    """Whatever JSON comes back, decoding never fails otherwise than with its own error."""
    with contextlib.suppress(wire.WireError):
        wire.encode(wire.decode(data))


@CALM
@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """The parser raises nothing but its own error, with a reason of the closed list."""
    try:
        assert isinstance(parse(data), Parsed)
    except SubmissionError as error:
        assert error.reason in SENTENCES


@CALM
@given(st.integers(0, 10**6), st.binary(max_size=4), JSON)
def test_damaged_notebooks_are_read_or_refused(at: int, bytes_: bytes, cell: object) -> None:
    """A notebook with bytes overwritten, or with anything for a cell, is no surprise."""
    good = notebook_bytes("a = 1", "b = 2")
    where = at % len(good)
    damaged = [good[:where] + bytes_ + good[where + len(bytes_) :], good[:where]]
    odd = json.loads(good)
    odd["cells"].append(cell)
    for data in [*damaged, json.dumps(odd).encode()]:
        try:
            extract(parse(data).cells, ["ceil_div"], ())
        except SubmissionError as error:
            assert error.reason in SENTENCES


@CALM
@given(st.text(max_size=60) | st.lists(st.sampled_from("%!?=()[]{}:'\"\n\t ax\\@#")).map("".join))
def test_any_cell_is_read_or_left_out(source: str) -> None:
    """No text of a cell breaks the search for answers or hides the answer beside it."""
    found = extract([CodeCell(1, source), CodeCell(2, CEIL_DIV)], ["ceil_div"], ())

    assert found.found["ceil_div"].definition.cell == 2


WANTED = [3, 2.5, "a", True, (1, 2.0), [1], None, np.arange(3), {"a": 1}]


@CALM
@given(
    st.sampled_from(WANTED),
    st.lists(PLAIN.map(lambda v: {"value": wire.encode(v)}) | JSON, min_size=3, max_size=3),
)
def test_the_judge_never_fails_on_what_comes_back(wanted: object, values: list) -> None:
    """Whatever a student's side writes is a pass, a fail or no answer; never our fault."""
    spec = FunctionSpec("f", "toy", 2, lambda rng, level: [(1,), (2,), (3,)], lambda n: wanted)
    exercise = SimpleNamespace(name="f", answer="f", spec=spec, points=2.0)
    found = extract([CodeCell(1, "def f(n):\n    return n")], ["f"], ())
    asked = question(exercise, found, toy_lab(), 1)
    gathered = Gathered(payloads={"f": {"exercise": "f", "values": values}})

    result = verdict(exercise, evidence(asked, gathered), 1)

    assert result.status in ("pass", "fail", "no-answer"), result.message
    if result.status == "pass":
        assert all("value" in value for value in values)


@CALM
@given(st.lists(st.tuples(st.text(max_size=9), st.text(max_size=9), st.none() | st.integers())))
def test_forged_events_only_change_sentences(entries: list) -> None:
    """Events are not believed: any list of them gives incidents, and none gives an error."""
    kinds = ["start", "timeout", "deaf", "died", "flood", "error", "stopped"]
    events = [Event(kinds[len(kind) % 7], cell, fact) for kind, cell, fact in entries]
    for end in ("done", "stopped", "killed", "time", "disk"):
        run = Run((), tuple(events), end, 1.0)
        for one in incidents(run, [FreshCell("", "x", 1)], Limits()):
            assert one.note.reason in SENTENCES
