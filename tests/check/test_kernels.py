"""Kernels: each mistake gets its diagnosis, and the message says where, what, why and what next."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest

from tests.check import answers
from tests.check.answers import GUARDED
from warpwise.check import Case, KernelSpec, cases, judge

DIAGNOSES = {
    answers.no_guard: "out_of_bounds",
    answers.thread_only: "only_first_block",
    answers.block_only: "only_first_thread",
    answers.whole_blocks: "multiple_of_block_only",
    answers.shifted: "shifted_by_one",
    answers.zeros: "all_zero",
    answers.copied: "input_copied",
    answers.constant: "constant_output",
    answers.half: "reduced_precision",
    answers.accumulates: "output_read",
    answers.writes_input: "input_modified",
    answers.subtracts: "wrong_values",
    answers.every_thread_all: "written_more_than_once",
    answers.skips_first: "never_written",
    answers.stores_nothing: "never_written",
    answers.three_parameters: "wrong_type",
    answers.never_ends: "livelock",
    answers.comprehension: "unsupported",
    answers.no_decorator: "wrong_type",
    answers.device_function: "wrong_type",
    "a string": "wrong_type",
    7: "wrong_type",
}


def lines(text: str) -> str:
    """Expected text written with a margin, so that it reads well in a test."""
    return "\n".join(line[4:] for line in text.strip("\n").rstrip().splitlines())


@pytest.mark.parametrize("answer", [answers.right, answers.renamed])
@pytest.mark.parametrize("level", ["student", "grader"])
def test_a_right_answer_passes(answer: object, level: cases.Level) -> None:
    """With all points, whatever the parameters are called."""
    record = judge(GUARDED, answer, 4, level)

    assert (record.status, record.points, record.diagnosis) == ("pass", 2, None)


@pytest.mark.parametrize("answer", DIAGNOSES, ids=lambda a: getattr(a, "__name__", str(a)))
@pytest.mark.parametrize("level", ["student", "grader"])
def test_a_mistake_gets_its_diagnosis(answer: object, level: cases.Level) -> None:
    """The same for every seed, at both levels."""
    found = {judge(GUARDED, answer, seed, level).diagnosis for seed in range(3)}

    assert {DIAGNOSES[answer]} == found


def test_a_pass_says_what_was_tried() -> None:
    """How many launches, what was required, how exact, and that it was simulated."""
    assert (
        lines("""
    guarded: pass, 2 of 2 points
      what   Right in 7 launches, each element written once (float32 within 1e-5 relative + 1e-6
             absolute).
      (counted, simulator)
    """)
        == judge(GUARDED, answers.right).message
    )


def test_an_unwritten_element_names_its_thread() -> None:
    """The learner's own names, the smallest case, the thread that should have written it."""
    assert (
        lines("""
    guarded: fail, 0 of 2 points
      where  thread_only[2, 32](res, x, y, n) with n = 33
      what   1 of 33 elements of res is wrong
               element  got          expected  to be written by   last written by
               res[32]  not written  -6.133    block 1, thread 0  nobody
      cause  Only the elements of the first block of threads were written: the kernel does not
             tell its 2 blocks apart.
      next   What tells two threads with the same number in different blocks apart?
             A plainer hint: check("guarded", thread_only, hint=2)
      (counted, simulator)
    """)
        == judge(GUARDED, answers.thread_only, 5).message
    )


def test_wrong_elements_name_who_wrote_them() -> None:
    """Five rows at most, with the thread that wrote each, and how many more there are."""
    assert (
        lines("""
    guarded: fail, 0 of 2 points
      where  shifted[1, 32](out, a, b, n) with n = 31
      what   31 of 31 elements of out are wrong (must be within 1e-5 relative + 1e-6 absolute)
               element  got          expected  to be written by   last written by
               out[0]   not written  -3.005    block 0, thread 0  nobody
               out[1]   -3.005       -0.837    block 0, thread 1  block 0, thread 0
               out[2]   -0.837       2.69      block 0, thread 2  block 0, thread 1
               out[3]   2.69         16.308    block 0, thread 3  block 0, thread 2
               out[4]   16.308       1.811     block 0, thread 4  block 0, thread 3
               ... and 26 more
      cause  The values in out are right, but each sits one place after its own.
      next   Write down by hand which element thread 0 reads and which it writes.
             A plainer hint: check("guarded", shifted, hint=2)
      (counted, simulator)
    """)
        == judge(GUARDED, answers.shifted, 5).message
    )


def test_the_simulators_own_message_is_shown_with_the_launch() -> None:
    """An index outside an array stops the kernel; the launch and a hint are put around it."""
    message = judge(GUARDED, answers.no_guard, 5).message

    assert message.startswith(
        "guarded: fail, 0 of 2 points\n"
        "  where  no_guard[1, 32](out, a, b, n) with n = 1\n"
        "  what   no_guard: out-of-bounds load  a[1], a has shape (1,)\n"
    )
    assert message.endswith(
        "  next   How many threads does this launch start, and how many elements are there for "
        "them?\n"
        '         A plainer hint: check("guarded", no_guard, hint=2)\n'
        "  (counted, simulator)"
    )


def test_a_changed_input_names_the_thread_that_changed_it() -> None:
    """Inputs must come back as they were."""
    assert (
        lines("""
    guarded: fail, 0 of 2 points
      where  writes_input[1, 32](out, a, b, n) with n = 1
      what   1 of 1 element of a changed
               element  before  after   changed by
               a[0]     -3.56   -1.206  block 0, thread 0
      cause  a is an input, but the kernel stores to it.
      next   Which array is on the left of each =?
             A plainer hint: check("guarded", writes_input, hint=2)
      (counted, simulator)
    """)
        == judge(GUARDED, answers.writes_input, 5).message
    )


def test_a_double_write_counts_the_stores() -> None:
    """Right values are not enough where each element is to be written once."""
    assert (
        lines("""
    guarded: fail, 0 of 2 points
      where  every_thread_all[1, 32](out, a, b, n) with n = 1
      what   1 of 1 element of out was written more than once
               element  times written  last written by
               out[0]   32             block 0, thread 31
      cause  The values are right, but several stores went to one element.
      next   Which threads store to the element in the table?
             A plainer hint: check("guarded", every_thread_all, hint=2)
      (counted, simulator)
    """)
        == judge(GUARDED, answers.every_thread_all, 5).message
    )


def test_a_wrong_number_of_parameters_names_the_expected_ones() -> None:
    """Before anything is launched."""
    assert (
        lines("""
    guarded: fail, 0 of 2 points
      what   three_parameters has 3 parameters (out, a, b); the exercise calls it with 4: out, a,
             b, n.
      next   The lab starts with @cuda.jit above def guarded(out, a, b, n).
    """)
        == judge(GUARDED, answers.three_parameters).message
    )


def test_a_missing_decorator_is_said() -> None:
    """A plain function is not a kernel."""
    assert (
        lines("""
    guarded: fail, 0 of 2 points
      what   no_decorator is not a kernel: put @cuda.jit above its def.
      next   The lab starts with @cuda.jit above def guarded(out, a, b, n).
    """)
        == judge(GUARDED, answers.no_decorator).message
    )


def test_the_second_hint_is_plainer() -> None:
    """hint=2 shows it at once; there is no memory of earlier attempts."""
    first = judge(GUARDED, answers.zeros, hint=1).message
    second = judge(GUARDED, answers.zeros, hint=2).message

    assert "  next   Where does the stored value come from?\n" in first
    assert (
        "  next   Follow one thread: what does it read, what does it compute, what does it "
        "store?\n" in second
    )
    assert second.endswith("\n         More: hint 3 below the check cell.\n  (counted, simulator)")
    assert "hint=2" not in second
    assert first == judge(GUARDED, answers.zeros, hint=1).message


def test_the_arrays_of_a_case_are_not_changed() -> None:
    """A kernel that spoils its arguments spoils copies."""
    case = next(iter(answers.launches(np.random.default_rng(0), "student")))
    before = {name: np.copy(value) for name, value in case.args.items()}
    spec = KernelSpec("one", "t0", 1, ("out",), lambda rng, level: [case], answers.add)

    judge(spec, answers.writes_input)

    assert all((before[name] == case.args[name]).all() for name in ("out", "a", "b"))


def test_a_known_mistake_of_the_exercise_comes_first() -> None:
    """A suspect that matches every failing launch gives its own diagnosis, cause and hints."""
    spec = KernelSpec(
        "guarded",
        "t0_00_test",
        2,
        outputs=("out",),
        cases=answers.launches,
        reference=answers.add,
        suspects={"minus": lambda case: {"out": case.args["a"].astype(float) - case.args["b"]}},
        causes={"minus": "The values are those of a[i] - b[i]."},
        hints={"minus": ("Look at the operator.", "The exercise adds.")},
    )
    record = judge(spec, answers.subtracts)

    assert record.diagnosis == "minus"
    assert "  cause  The values are those of a[i] - b[i].\n" in record.message
    assert "  next   Look at the operator.\n" in record.message


def test_a_suspect_may_leave_elements_out() -> None:
    """A masked element in a suspect stands for one that the mistake leaves unwritten."""

    def first_missing(case: Case) -> dict[str, np.ndarray]:
        right = answers.add(case)["out"]
        return {"out": np.ma.masked_array(right, np.arange(right.size) < 1)}

    spec = KernelSpec(
        "guarded", "t0_00_test", 2, ("out",), answers.launches, answers.add,
        suspects={"starts_at_one": first_missing},
    )  # fmt: skip

    assert judge(spec, answers.skips_first).diagnosis == "starts_at_one"
    assert judge(spec, answers.no_guard).diagnosis == "out_of_bounds"


def test_a_fault_of_the_spec_is_not_the_learners() -> None:
    """A reference of the wrong shape raises, so that `check` can call it our error."""
    spec = KernelSpec(
        "guarded", "t0", 2, ("out",), answers.launches, lambda case: {"out": np.zeros(3)}
    )

    with pytest.raises(ValueError, match=r"^the reference of out has shape \(3,\), not \(1,\)$"):
        judge(spec, answers.right)


def test_parameters_in_another_order_are_said() -> None:
    """Before anything is launched; other names are fine, the same names elsewhere are not."""
    assert (
        lines("""
    guarded: fail, 0 of 2 points
      what   Your parameters are (a, b, out, n); the check passes (out, a, b, n), in that order.
      next   The lab starts with @cuda.jit above def guarded(out, a, b, n).
    """)
        == judge(GUARDED, answers.shuffled).message
    )
    assert judge(GUARDED, answers.shuffled).diagnosis == "wrong_type"


def test_stores_of_one_thread_are_told_from_those_of_several() -> None:
    """A sum that is built up in the output needs a variable, not another index."""
    record = judge(GUARDED, answers.stores_twice, 5)

    assert record.diagnosis == "written_more_than_once"
    assert record.report is not None
    assert record.report.cells[1] == ("out[0]", "2", "block 0, thread 0")
    assert record.report.cause == (
        "The values are right.  One thread stores to it twice: keep the value in a variable and "
        "store once."
    )
    assert record.report.next == "Which of your lines does this thread run more than once?"


def test_there_is_no_third_hint() -> None:
    """It stands in the lab; the second is not repeated."""
    for hint in (3, 4):
        message = judge(GUARDED, answers.zeros, hint=hint).message
        assert message.endswith(
            "  next   There are no more hints here; hint 3 stands below the check.\n"
            "  (counted, simulator)"
        )


def test_one_element_is_no_last_element() -> None:
    """A part left out is shown where there is a whole to leave it out of."""
    assert (
        "  where  whole_blocks[2, 32](out, a, b, n) with n = 33\n"
        "  what   1 of 33 elements of out is wrong\n"
    ) in judge(GUARDED, answers.whole_blocks).message
    assert (
        "  cause  The last element of out was not written: the last block of 32 threads is not "
        "full.\n"
    ) in judge(GUARDED, answers.whole_blocks).message

    message = judge(one_launch(1), answers.whole_blocks).message
    assert "  cause  No thread wrote to out.\n" in message
    message = judge(one_launch(1), answers.zeros).message
    assert "  cause  The value written to out is zero.\n" in message


def test_two_mistakes_at_once_show_the_first() -> None:
    """The first failing case has a telling cause, the others only wrong values."""
    record = judge(GUARDED, answers.zero_then_wrong)

    assert record.diagnosis == "all_zero"
    assert "  where  zero_then_wrong[1, 32](out, a, b, n) with n = 1\n" in record.message


def one_launch(n: int) -> KernelSpec:
    """The exercise with one launch only."""
    rng = np.random.default_rng(0)
    args = {"out": np.zeros(n, np.float32), "a": cases.values(rng, n), "b": cases.values(rng, n)}
    case = Case({**args, "n": n}, cases.ceil_div(n, 32), 32)
    return KernelSpec("one", "t0", 1, ("out",), lambda rng, level: [case], answers.add)


def test_a_cause_that_speaks_of_a_part_is_shown_where_there_is_one() -> None:
    """A suspect that leaves some elements right is shown in a launch where some are."""

    def ends_zero(case: Case) -> dict[str, np.ndarray]:
        right = answers.add(case)["out"]
        right[:31] = 0
        return {"out": right}

    spec = KernelSpec(
        "guarded", "t0", 2, ("out",), answers.launches, answers.add,
        suspects={"start_zero": ends_zero}, causes={"start_zero": "Only the end is right."},
    )  # fmt: skip
    record = judge(spec, answers.zero_start)

    assert record.diagnosis == "start_zero"
    assert "  where  zero_start[1, 32](out, a, b, n) with n = 32\n" in record.message


def test_scratch_may_be_changed() -> None:
    """An array that the spec calls scratch is no input that must stay as it is."""
    before = judge(GUARDED, answers.writes_input)
    spec = dataclasses.replace(GUARDED, scratch=("a", "b"))

    assert before.diagnosis == "input_modified"
    assert judge(spec, answers.writes_input).status == "pass"


def test_a_known_mistake_comes_before_unstored_places() -> None:
    """A wrong index reads what nobody stored where a block is not full; full blocks tell why."""

    def turned(case: Case) -> dict[str, np.ndarray]:
        right = answers.add(case)["out"]
        whole = right[: right.size // 32 * 32].reshape(-1, 32)
        wrong = np.ma.masked_all(right.shape)
        wrong[: whole.size] = whole[:, ::-1].ravel()
        return {"out": wrong}

    plain = KernelSpec("turned", "t0", 2, ("out",), answers.launches, answers.add)
    spec = KernelSpec(
        "turned", "t0", 2, ("out",), answers.launches, answers.add,
        suspects={"turned_around": turned}, causes={"turned_around": "Each block is turned."},
    )  # fmt: skip

    assert judge(plain, answers.own_place_for_reversed).diagnosis == "uninitialised"
    record = judge(spec, answers.own_place_for_reversed)
    assert record.diagnosis == "turned_around"
    assert "Each block is turned." in record.message


SHUFFLES = """
from numba import cuda
@cuda.jit
def guarded_add(out, a, b, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = a[i] + cuda.shfl_sync(0xffffffff, b[i], i % 32)
        b[-1]
"""


def test_notes_come_once_for_each_line_and_not_for_the_diagnosis_itself() -> None:
    """Launches of many sizes have the same note about other threads; one of them is enough."""
    from warpwise.simt import Kernel

    record = judge(GUARDED, Kernel.from_source(SHUFFLES, "guarded_add"), 0)

    assert record.diagnosis == "mask_names_absent"
    assert len(record.findings) == 1
    assert "b[-1]" in record.findings[0]


def test_a_few_threads_that_do_all_the_work_are_refused() -> None:
    """Where the exercise wants it shared: threads by number, warps by the lanes that store."""

    def wide(rng: np.random.Generator, level: cases.Level) -> Iterator[Case]:
        args = {name: cases.values(rng, 512) for name in ("out", "a", "b")}
        yield Case({**args, "n": 512}, 8, 64)

    spec = dataclasses.replace(GUARDED, cases=wide)
    assert judge(spec, answers.first_thread_alone).status == "pass"
    for unit, said in (("threads", "1 of 512 threads stores"), ("warps", "1 of 16 warps stores")):
        record = judge(dataclasses.replace(spec, shared_out=unit), answers.first_thread_alone)
        assert record.diagnosis == "few_threads_work"
        assert said + " to out: block 0, thread 0 stores 512 elements" in " ".join(
            record.message.split()
        )
        assert judge(dataclasses.replace(spec, shared_out=unit), answers.right).status == "pass"
