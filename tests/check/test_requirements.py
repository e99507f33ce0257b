"""Requirements on cost and on what the sanitizer finds: told after the values, with the line."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from warpwise.check import Case, KernelSpec, Requirement, cases, judge, requirements
from warpwise.simt.api import jit

from numba import cuda, float32  # isort: skip

N = 64


def matrices(rng: np.random.Generator, level: cases.Level) -> Iterator[Case]:
    """Squares of one and two tiles."""
    for n in (32, 64):
        args = {"out": np.zeros((n, n), np.float32), "x": cases.values(rng, (n, n))}
        yield Case(args, (n // 32, n // 32), (32, 32))


def counted() -> Case:
    """Always the same launch."""
    return list(matrices(np.random.default_rng(5), "student"))[-1]


def turned(case: Case) -> dict[str, np.ndarray]:
    return {"out": case.args["x"].T.astype(np.float64)}


REQUIRED = (
    Requirement("sectors", "too_many_sectors"),
    Requirement("bank_conflicts", "bank_conflicts"),
    Requirement("shared_bytes", "too_much_shared", limit=lambda case: 4 * 32 * 33),
)
TRANSPOSE = KernelSpec(
    "turn", "t0_00_test", 3, ("out",), matrices, turned, requirements=REQUIRED, counted=counted
)


def tile_kernel(width: int, barrier: bool = True):  # type: ignore[no-untyped-def]
    """The tiled transpose with rows of `width` elements."""

    @jit
    def with_barrier(out, x):
        tile = cuda.shared.array((32, width), float32)
        col, row = cuda.grid(2)
        tile[cuda.threadIdx.y, cuda.threadIdx.x] = x[row, col]
        cuda.syncthreads()
        r = cuda.blockIdx.x * 32 + cuda.threadIdx.y
        c = cuda.blockIdx.y * 32 + cuda.threadIdx.x
        out[r, c] = tile[cuda.threadIdx.x, cuda.threadIdx.y]

    @jit
    def without(out, x):
        tile = cuda.shared.array((32, width), float32)
        col, row = cuda.grid(2)
        tile[cuda.threadIdx.y, cuda.threadIdx.x] = x[row, col]
        r = cuda.blockIdx.x * 32 + cuda.threadIdx.y
        c = cuda.blockIdx.y * 32 + cuda.threadIdx.x
        out[r, c] = tile[cuda.threadIdx.x, cuda.threadIdx.y]

    return with_barrier if barrier else without


@jit
def naive(out, x):
    col, row = cuda.grid(2)
    out[col, row] = x[row, col]


@jit
def read_twice(out, x):
    tile = cuda.shared.array((32, 33), float32)
    col, row = cuda.grid(2)
    if x[row, col] != 0:
        tile[cuda.threadIdx.y, cuda.threadIdx.x] = x[row, col]
    else:
        tile[cuda.threadIdx.y, cuda.threadIdx.x] = 0
    cuda.syncthreads()
    r = cuda.blockIdx.x * 32 + cuda.threadIdx.y
    c = cuda.blockIdx.y * 32 + cuda.threadIdx.x
    out[r, c] = tile[cuda.threadIdx.x, cuda.threadIdx.y]


@jit
def nearly_once(out, x):
    col, row = cuda.grid(2)
    if col < 32 and row < 32:
        out[row, col] = x[col, row] * float32(1.0004)
    else:
        out[row, col] = x[col, row] + 1


@jit
def wrong(out, x):
    col, row = cuda.grid(2)
    out[row, col] = x[row, col]


@pytest.fixture(autouse=True)
def solution(monkeypatch: pytest.MonkeyPatch) -> None:
    """The padded tile is the course's answer: 8 sectors a warp, no conflict."""
    costs = {"turn": {"sectors": 2 * N * N // 8, "bank_conflicts": 0, "shared_bytes": 4224}}
    monkeypatch.setattr(requirements, "baseline", lambda unit: costs)


def test_an_answer_that_costs_what_it_may_passes() -> None:
    """The padded tile, judged by values and counters."""
    assert judge(TRANSPOSE, tile_kernel(33)).status == "pass"


@pytest.mark.parametrize(("answer", "diagnosis", "said"), [
    (naive, "too_many_sectors", "4,608 sectors of 32 bytes loaded and stored, where at most 1,024"),
    (tile_kernel(32), "bank_conflicts", "3,968 bank conflicts, where at most 0 are allowed"),
    (tile_kernel(35), "too_much_shared", "4,480 bytes of shared memory in a block, where at most"),
    (tile_kernel(33, False), "race", "nothing orders them"),
    (wrong, "input_copied", "elements of out are wrong"),
], ids=lambda value: getattr(value, "name", None))  # fmt: skip
def test_each_shortcoming_gets_its_diagnosis(answer: object, diagnosis: str, said: str) -> None:
    """Values first, races with them, then the requirements in their order."""
    record = judge(TRANSPOSE, answer)
    assert (record.status, record.diagnosis) == ("fail", diagnosis)
    assert said in " ".join(record.message.split())
    assert "  next   " in record.message


def test_the_expensive_line_is_shown() -> None:
    """The store that takes 32 sectors, with what it costs."""
    message = judge(TRANSPOSE, naive).message
    assert "out[col, row] = x[row, col]" in message and "4,608" in message


def test_an_element_that_is_loaded_twice_is_the_cause() -> None:
    """Rather than the sectors of its second load, with hints of its own."""
    report = judge(TRANSPOSE, read_twice).report
    assert report is not None and report.cause is not None and report.next is not None
    assert report.cause.startswith("x[row, col] is loaded in line ")
    assert report.next == "How often does one thread load this element?"


def test_nearly_right_in_one_case_is_chance() -> None:
    """The smaller matrix is off by 0.04 %, the larger ones by 1: no matter of rounding."""
    assert judge(TRANSPOSE, nearly_once).diagnosis == "wrong_values"


def test_a_race_names_both_threads_and_the_fix() -> None:
    """As the sanitizer says it."""
    message = " ".join(judge(TRANSPOSE, tile_kernel(33, False)).message.split())
    assert "Put cuda.syncthreads()" in message and "race on tile" in message


def rotations(rng: np.random.Generator, level: cases.Level) -> Iterator[Case]:
    """One warp, then two."""
    for n in (32, 64):
        yield Case({"out": np.zeros(n, np.float32), "x": cases.values(rng, n)}, 1, n)


@jit
def turned_at_once(out, x):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    out[t] = s[x.size - 1 - t]


def test_the_gravest_form_of_a_race_is_told() -> None:
    """Within the one warp of the smallest case syncwarp would do; in the next it would not."""
    spec = KernelSpec(
        "rotate", "t0_00_test", 1, ("out",), rotations,
        lambda case: {"out": case.args["x"][::-1].astype(np.float64)},
    )  # fmt: skip
    message = " ".join(judge(spec, turned_at_once).message.split())
    assert "turned_at_once[1, 64]" in message and "Put cuda.syncthreads()" in message


def test_right_values_by_luck_do_not_pass() -> None:
    """Without its barrier the kernel gives the right values in lockstep order; it still fails."""
    case = counted()
    out = np.zeros_like(case.args["out"])
    tile_kernel(33, False)[case.grid, case.block](out, case.args["x"])
    assert np.array_equal(out, case.args["x"].T)


def test_requirements_are_checked_when_they_are_written() -> None:
    """A counter that does not exist, and requirements without a launch to count."""
    with pytest.raises(ValueError, match="'sector' is no counter"):
        Requirement("sector", "x")
    with pytest.raises(ValueError, match="no counted case"):
        KernelSpec("a", "u", 1, ("out",), matrices, turned, requirements=REQUIRED)


def test_dynamic_shared_memory_is_part_of_a_case() -> None:
    """It is launched with it, shown, and counted."""

    @jit
    def dynamic(out, x):
        tile = cuda.shared.array(0, float32)
        i = cuda.grid(1)
        tile[cuda.threadIdx.x] = x[i]
        cuda.syncthreads()
        out[i] = tile[31 - cuda.threadIdx.x]

    def reversed_cases(rng: np.random.Generator, level: cases.Level) -> Iterator[Case]:
        x = cases.values(rng, 32)
        yield Case({"out": np.zeros(32, np.float32), "x": x}, 1, 32, sharedmem=128)

    spec = KernelSpec(
        "mirror", "t0_00_test", 1, ("out",), reversed_cases,
        lambda case: {"out": case.args["x"][::-1]},
        requirements=(Requirement("shared_bytes", "too_much_shared", limit=lambda case: 100),),
        counted=lambda: next(reversed_cases(np.random.default_rng(1), "student")),
    )  # fmt: skip
    record = judge(spec, dynamic)
    assert record.diagnosis == "too_much_shared" and "128 bytes" in record.message
    assert "dynamic[1, 32, 0, 128](out, x)" in record.message


@jit
def turned_without_call(out, x):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads  # noqa: B018
    out[t] = s[x.size - 1 - t]


def test_a_barrier_without_parentheses_is_the_cause() -> None:
    """What the learner wrote is told, not the barrier that they think is there."""
    spec = KernelSpec(
        "rotate", "t0_00_test", 1, ("out",), rotations,
        lambda case: {"out": case.args["x"][::-1].astype(np.float64)},
    )  # fmt: skip
    record = judge(spec, turned_without_call)
    message = " ".join(record.message.split())
    assert record.diagnosis == "race"
    assert "cause turned_without_call, line " in message
    assert "`cuda.syncthreads` without parentheses calls nothing." in message
    assert message.count("without parentheses") == 1


def test_sectors_asked_for_again_are_counted() -> None:
    """Where no access is badly placed, the same sectors come too often."""
    from warpwise.check.costly import costly
    from warpwise.simt import as_kernel

    @jit
    def rows_again(out, x):
        col, row = cuda.grid(2)
        total = float32(0)
        for k in range(64):
            total += x[k, col]
        out[row, col] = total

    (failure,) = costly(TRANSPOSE, as_kernel(rows_again))
    cause = failure.fits["too_many_sectors"]
    assert cause == (
        "The same sectors are asked for again and again: 33,280 in all, 1,024 different ones."
    )


def test_shared_arrays_that_are_too_large_are_named() -> None:
    """No line is to blame for bytes of shared memory."""
    message = " ".join(judge(TRANSPOSE, tile_kernel(35)).message.split())
    assert "The shared arrays are larger than the work of a block needs." in message


def test_one_of_a_thing_is_said_in_the_singular() -> None:
    """Every counter has its noun in front."""
    for counter, what in requirements.COUNTERS.items():
        one = requirements.Broken(requirements.Requirement(counter, "slug"), 1, 0, None)
        assert str(one) != f"1 {what}, where at most 0 are allowed", counter
    branch = requirements.Requirement("divergent_branches", "warps_part")
    text = str(requirements.Broken(branch, 1, 0, None))
    assert text == "1 branch at which a warp divides, where at most 0 are allowed"
