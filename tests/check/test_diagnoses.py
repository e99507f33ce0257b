"""Diagnoses of two-dimensional and unusual outputs, on hand-made evidence and real launches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numba import cuda

from tests.check import answers
from warpwise.check import Case, KernelSpec, cases, diagnoses, judge
from warpwise.simt.api import jit


def images(rng: np.random.Generator, level: cases.Level) -> Iterator[Case]:
    """Images that are never square, in blocks of 8 x 4."""
    for rows, columns in ((3, 5), (4, 8), (5, 9), (13, 21)):
        args = {
            "out": np.zeros((rows, columns), np.float32),
            "a": cases.values(rng, (rows, columns)),
        }
        grid = (cases.ceil_div(columns, 8), cases.ceil_div(rows, 4))
        yield Case(args, grid, (8, 4))


def twice(case: Case) -> dict[str, np.ndarray]:
    """The reference: out = 2 a."""
    return {"out": 2.0 * case.args["a"]}


IMAGE = KernelSpec(
    "image", "t0", 1, ("out",), images, twice, owner=cases.owner_by_position, writes_once=True
)


@jit
def double(out, a):
    column, row = cuda.grid(2)
    if row < a.shape[0] and column < a.shape[1]:
        out[row, column] = 2 * a[row, column]


@jit
def swapped(out, a):
    row, column = cuda.grid(2)
    if row < a.shape[0] and column < a.shape[1]:
        out[row, column] = 2 * a[row, column]


@jit
def swapped_reads(out, a):
    column, row = cuda.grid(2)
    if row < a.shape[0] and column < a.shape[1]:
        k = column * a.shape[0] + row
        out[k // a.shape[1], k % a.shape[1]] = 2 * a[row, column]


@jit
def one_block(out, a):
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    if row < a.shape[0] and column < a.shape[1]:
        out[row, column] = 2 * a[row, column]


@jit
def inner_only(out, a):
    column, row = cuda.grid(2)
    if 0 < row < a.shape[0] - 1 and 0 < column < a.shape[1] - 1:
        out[row, column] = 2 * a[row, column]


@jit
def everywhere(out, a):
    column, row = cuda.grid(2)
    if row < a.shape[0] and column < a.shape[1]:
        out[row, column] = 2 * a[row, column]


@jit
def in_place(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = a[i] + 1


@jit
def in_place_wrong(a):
    i = cuda.grid(1)
    if i < a.size - 1:
        a[i] = a[i] + 1


def inner(case: Case) -> dict[str, np.ndarray]:
    """The border must be left alone."""
    keep = np.ones(case.args["a"].shape, bool)
    keep[1:-1, 1:-1] = False
    return {"out": np.ma.masked_array(2.0 * case.args["a"], keep)}


def test_a_right_image_passes() -> None:
    """Two-dimensional launches are judged like one-dimensional ones."""
    assert judge(IMAGE, double).status == "pass"


def test_swapped_axes_are_called_transposed() -> None:
    """Threads of a grid laid out the other way round do not reach every element."""
    record = judge(IMAGE, swapped)

    assert record.diagnosis == "transposed"
    assert "  where  swapped[(1, 1), (8, 4)](out, a) with out (3, 5), a (3, 5)" in record.message
    assert "out[2, 4]  not written  -16.192   block (0, 0), thread (4, 2)  nobody" in record.message


def test_a_transposed_result_is_called_transposed() -> None:
    """The values of the transposed image, on images that are not square."""
    assert judge(IMAGE, swapped_reads).diagnosis == "transposed"


def test_one_block_of_an_image() -> None:
    """Only the corner that the first block covers was written."""
    assert judge(IMAGE, one_block).diagnosis == "only_first_block"


def test_masked_elements_must_be_left_alone() -> None:
    """A masked reference asks for elements that nobody writes."""
    spec = KernelSpec("inner", "t0", 1, ("out",), images, inner, owner=cases.owner_by_position)
    record = judge(spec, everywhere)

    assert judge(spec, inner_only).status == "pass"
    assert record.diagnosis == "wrote_outside"
    assert (
        "  what   12 of 15 elements of out are wrong\n"
        "           element    got      expected    to be written by  last written by\n"
    ) in record.message
    assert "  cause  12 elements of out that must be left alone were written.\n" in record.message


def test_an_inout_array_keeps_its_contents() -> None:
    """In place: the kernel reads what was there, and every element is compared."""

    def one(rng: np.random.Generator, level: cases.Level) -> Iterator[Case]:
        for n in (1, 31, 33):
            yield Case({"a": cases.values(rng, n, np.int32)}, cases.ceil_div(n, 32), 32)

    spec = KernelSpec(
        "increment", "t0", 1, ("a",), one, lambda case: {"a": case.args["a"] + 1}, inout=("a",)
    )

    assert judge(spec, in_place).status == "pass"
    assert judge(spec, in_place_wrong).diagnosis == "never_written"


def test_the_likeliest_diagnosis_fits_every_failure() -> None:
    """Of those that fit all, the first in order; else the likeliest of the smallest case."""
    assert diagnoses.common([{"a": "", "b": "", "wrong_values": ""}, {"b": "", "c": ""}]) == "b"
    assert diagnoses.common([{"a": "", "wrong_values": ""}, {"wrong_values": ""}]) == "a"
    assert diagnoses.common([{"a": "", "b": ""}, {"c": ""}]) == "a"


def test_without_a_census_poison_shows_what_was_not_written() -> None:
    """On a GPU nobody counts the stores: an element that still holds its poison was not written."""
    from warpwise.check.kernels import examine
    from warpwise.check.runner import Outcome

    case = list(answers.launches(np.random.default_rng(0), "student"))[3]
    out = cases.poison((33,), np.float32)
    out[:32] = answers.add(case)["out"][:32]
    arrays = {"out": out, "a": case.args["a"], "b": case.args["b"]}
    failure = examine(answers.GUARDED, case, Outcome(arrays), dict.fromkeys(case.args, "x"))

    assert failure is not None
    assert next(iter(failure.fits)) == "only_first_block"
    assert failure.cells[0] == ("element", "got", "expected", "to be written by")
    assert failure.cells[1][1] == "not written"
