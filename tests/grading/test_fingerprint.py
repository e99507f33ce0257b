"""Digests: equal where a spec means the same, different where it does not."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from grading import fingerprint
from grading.course import load_lab
from grading.keys import keys_of
from grading.run import Limits
from tests.grading.submissions import toy_lab
from warpwise import curriculum

FACTOR = 3


def scaled(x: float) -> float:
    """Uses a global, a default and a closure in turn, in the tests below."""
    return FACTOR * x


def closing(number: int):
    """A function with `number` in its closure."""
    return lambda x: x + number


class Plain:
    """An object of the course's own that is no dataclass."""

    def __init__(self, number: int) -> None:
        self.number = number


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (1, 1.0),
        (1, True),
        ("1", 1),
        ((1, 2), [1, 2]),
        ({"a": 1}, {"a": 2}),
        (np.zeros(3), np.zeros(3, np.float32)),
        (np.zeros(3), np.zeros((3, 1))),
        (np.array([0.0]), np.array([-0.0])),
        (closing(1), closing(2)),
        (lambda x: x + 1, lambda x: x + 2),
        (lambda x=1: x, lambda x=2: x),
        (lambda x: [y for y in x if y > 1], lambda x: [y for y in x if y > 2]),
        (re.compile("a" * 400), re.compile("a" * 401)),
        ([[1], [1]], [[1], [2]]),
        (Plain(1), Plain(2)),
    ],
)
def test_different_things_have_different_digests(one: object, two: object) -> None:
    """Types, values, code, defaults and closures count."""
    assert fingerprint.of(one) != fingerprint.of(two)


def test_globals_of_our_own_functions_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A constant beside a reference changes the digest, as a change in the reference does."""
    before = fingerprint.of(scaled)
    monkeypatch.setitem(globals(), "FACTOR", 4)

    assert fingerprint.of(scaled) != before


def test_what_cannot_be_told_is_not_guessed() -> None:
    """An object of an unknown kind raises; a spec that holds one is told by all specs' texts."""
    with pytest.raises(fingerprint.UnknownKind):
        fingerprint.of([object()])
    spec = toy_lab().exercises[0].spec
    odd = replace(spec, suspects={"x": object()})

    assert fingerprint.spec(odd) == fingerprint.spec(replace(spec, suspects={"y": object()}))
    assert fingerprint.spec(odd) != fingerprint.spec(spec)


def test_the_specs_of_the_course_can_be_told() -> None:
    """Hardly any falls back on the texts of all specs: a change in one unit leaves the others."""
    told, unknown = 0, []
    for unit in curriculum.load().written:
        for exercise in load_lab(unit.name).exercises:
            try:
                assert fingerprint.of(exercise.spec) == fingerprint.of(exercise.spec)
                told += 1
            except fingerprint.UnknownKind as error:
                unknown.append(f"{exercise.name}: {error}")
    assert told > 20 * len(unknown), unknown


def test_digests_are_the_same_in_another_process() -> None:
    """Workers and clusters name the same thing alike."""
    unit = curriculum.load().written[0].name
    code = (
        "from grading.course import load_lab; from grading.keys import keys_of; "
        "from grading.run import Limits; "
        f"k = keys_of(load_lab({unit!r}), 7, Limits()); print(k.run, *k.specs.values())"
    )
    keys = keys_of(load_lab(unit), 7, Limits())

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == [keys.run, *keys.specs.values()]


def test_tensors_count_by_their_bytes() -> None:
    """Also in formats that NumPy does not have."""
    torch = pytest.importorskip("torch", reason="tensors need PyTorch")
    one, two = (torch.tensor([1.0, x], dtype=torch.bfloat16) for x in (1.0, 2.0))

    assert fingerprint.of(one) == fingerprint.of(one.clone()) != fingerprint.of(two)
    assert fingerprint.of(one) != fingerprint.of(one.float())
