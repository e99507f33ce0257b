"""Host functions and predicted values: judged from plain data, with the same kind of message."""

from __future__ import annotations

import json

import numpy as np
import pytest

from warpwise.check import FunctionSpec, ValueSpec, collect, inputs_of, judge, judge_values


def blocks_for(n: int, threads: int) -> int:
    """The reference: blocks of `threads` that cover `n`."""
    return -(-n // threads)


BLOCKS = FunctionSpec(
    "blocks_needed",
    "t0_00_test",
    1,
    inputs=lambda rng, level: [(1, 32), (32, 32), (33, 32), (1000, 256)],
    reference=blocks_for,
    suspects={"rounds_down": lambda n, threads: n // threads},
    causes={"rounds_down": "The last, partly filled block is missing."},
)
IDLE = ValueSpec(
    "idle_threads",
    "t0_00_test",
    1,
    expected=lambda: 4 * 256 - 1000,
    what="the number of idle threads",
    suspects={"counts_busy": 1000},
    causes={"counts_busy": "That is how many threads have work."},
)


def blocks_needed(n, threads):
    return (n + threads - 1) // threads


def hole(n, threads):
    """Blocks that cover n."""
    raise NotImplementedError


def rounds_down(count, per_block):
    return count // per_block


def always_one_more(n, threads):
    return n // threads + 1


def float_division(n, threads):
    return float((n + threads - 1) // threads)


def forgets_return(n, threads):
    if n < 0:
        return 0


def always_four(n, threads):
    return 4


def divides_by_zero(n, threads):
    return n // (threads - threads)


def one_parameter(n):
    return n


def idle_threads():
    return 24


def messages(answer: object, spec: FunctionSpec | ValueSpec = BLOCKS) -> str:
    return judge(spec, answer).message


@pytest.mark.parametrize("level", ["student", "grader"])
def test_right_answers_pass(level) -> None:
    """A function, and a predicted value as a function or as the number itself."""
    assert judge(BLOCKS, blocks_needed, 0, level).status == "pass"
    assert judge(IDLE, idle_threads, 0, level).status == "pass"
    assert judge(IDLE, 24, 0, level).status == "pass"
    assert judge(IDLE, np.int64(24), 0, level).status == "pass"
    assert messages(blocks_needed) == (
        "blocks_needed: pass, 1 of 1 point\n"
        "  what   Right in 4 calls.\n"
        "  (computed on this machine)"
    )


@pytest.mark.parametrize("answer", [hole, None, ...])
def test_nothing_written_is_todo(answer: object) -> None:
    """A hole, None and an ellipsis."""
    assert judge(BLOCKS, answer).status == "todo"
    assert judge(IDLE, answer).status == "todo"


@pytest.mark.parametrize(
    ("answer", "diagnosis"),
    [
        (rounds_down, "rounds_down"),
        (always_one_more, "wrong_values"),
        (float_division, "wrong_type"),
        (forgets_return, "no_return"),
        (always_four, "constant_output"),
        (divides_by_zero, "raised"),
        (one_parameter, "wrong_type"),
        ("32", "wrong_type"),
    ],
)
def test_a_mistake_gets_its_diagnosis(answer: object, diagnosis: str) -> None:
    """Each kind of wrong answer of a host function."""
    assert judge(BLOCKS, answer).diagnosis == diagnosis


def test_a_wrong_value_shows_the_calls() -> None:
    """The first failing call with the learner's parameter names, then a table of calls."""
    assert messages(rounds_down) == (
        "blocks_needed: fail, 0 of 1 point\n"
        "  where  rounds_down(count=1, per_block=32)\n"
        "  what   it returned 0, expected 1\n"
        "           call                                    got  expected\n"
        "           rounds_down(count=1, per_block=32)      0    1\n"
        "           rounds_down(count=33, per_block=32)     1    2\n"
        "           rounds_down(count=1000, per_block=256)  3    4\n"
        "  cause  The last, partly filled block is missing.\n"
        "  next   Work out the failing call by hand and write each step down.\n"
        '         A plainer hint: check("blocks_needed", rounds_down, hint=2)\n'
        "  (computed on this machine)"
    )


def test_a_float_for_an_integer_is_explained() -> None:
    """A float as a grid size is an error in CUDA, so it is one here."""
    message = messages(float_division)

    assert "  what   got 1.0, a float; expected an int\n" in message
    assert "  cause  The value is right, but its type is float.  A division with / gives" in message


def test_an_exception_shows_the_learners_line() -> None:
    """Type, text, line number and line."""
    message = messages(divides_by_zero)

    assert "  what   it raised ZeroDivisionError: integer division or modulo by zero\n" in message
    assert ":  return n // (threads - threads)\n" in message


def test_a_wrong_number_of_parameters_names_the_expected_ones() -> None:
    """Before the function is called."""
    assert messages(one_parameter).splitlines()[1] == (
        "  what   one_parameter has 1 parameter (n); the exercise calls it with 2: n, threads."
    )


def test_a_wrong_prediction_does_not_reveal_the_answer() -> None:
    """Only on which side it is, and the known mistake."""
    assert messages(1000, IDLE) == (
        "idle_threads: fail, 0 of 1 point\n"
        "  what   the number of idle threads is not 1000: too large\n"
        "  cause  That is how many threads have work.\n"
        "  next   Work out the value once more, and write each step down.\n"
        '         A plainer hint: check("idle_threads", idle_threads, hint=2)\n'
        "  (computed on this machine)"
    )
    assert "24" not in messages(23, IDLE).replace("#24", "")


def test_values_travel_as_json() -> None:
    """Another process may call the function; only plain data comes back to be judged."""
    inputs = inputs_of(BLOCKS, 3, "grader")
    values = json.loads(json.dumps(collect(BLOCKS, always_one_more, inputs)))
    record = judge_values(BLOCKS, inputs, values, seed=3)

    assert (record.status, record.diagnosis, record.seed) == ("fail", "wrong_values", 3)
    assert "  where  blocks_needed(n=32, threads=32)\n" in record.message


def test_arrays_come_back_with_dtype_and_shape() -> None:
    """An array is compared with the tolerance of its dtype, and its shape must fit."""
    spec = FunctionSpec(
        "double",
        "t0",
        1,
        inputs=lambda rng, level: [(np.arange(6, dtype=np.float32).reshape(2, 3),)],
        reference=lambda a: 2 * a,
    )

    assert judge(spec, lambda a: a + a).status == "pass"
    assert judge(spec, lambda a: (a + a).T).diagnosis == "wrong_type"
    assert judge(spec, lambda a: a).diagnosis == "wrong_values"
    assert judge(spec, lambda a: np.full((2, 3), np.nan)).diagnosis == "wrong_values"


def test_an_argument_must_come_back_unchanged() -> None:
    """The caller's data is not scratch space."""

    def in_place(a):
        a *= 2
        return a

    spec = FunctionSpec(
        "double", "t0", 1, lambda rng, level: [(np.ones(3),)], reference=lambda a: 2 * a
    )
    record = judge(spec, in_place)

    assert record.diagnosis == "input_modified"
    assert "  what   it changed its argument a\n" in record.message


def test_tuples_and_lists_are_the_same() -> None:
    """A grid may be written either way; its length counts."""
    spec = FunctionSpec("pair", "t0", 1, lambda rng, level: [(3,)], reference=lambda n: (n, 1))

    assert judge(spec, lambda n: [n, 1]).status == "pass"
    assert judge(spec, lambda n: (n, 1, 1)).diagnosis == "wrong_type"
    assert judge(spec, lambda n: (n, 1.0)).diagnosis == "wrong_type"


def test_exit_is_an_exception_like_any_other() -> None:
    """`exit()` inside an answer ends neither the check nor the notebook."""

    def leaves(n, threads):
        raise SystemExit(0)

    assert judge(BLOCKS, leaves).diagnosis == "raised"


def test_values_without_inputs_are_a_fault_of_ours() -> None:
    """One outcome for each input, or nothing is judged."""
    with pytest.raises(ValueError, match=r"^blocks_needed: 2 inputs, 1 values$"):
        judge_values(BLOCKS, [(1, 2), (3, 4)], [{"returned": 1}])


@pytest.mark.parametrize(
    "strange",
    [10**5000, [[1], [2, 3]], [None, []], {"a": None}, {"b": 1.0}, float("nan"), object()],
    ids=["long", "ragged", "empties", "none_in_dict", "other_key", "nan", "object"],
)
@pytest.mark.parametrize(
    "want", [1, 1.5, "x", True, (1, 2), None, np.arange(3.0), {"a": 1.0}], ids=str
)
def test_whatever_comes_back_is_judged(strange: object, want: object) -> None:
    """A strange value is a fail with a sentence, never a fault of ours."""
    spec = FunctionSpec("one", "t0", 1, lambda rng, level: [()], reference=lambda: want)
    record = judge(spec, lambda: strange)

    assert record.status == "fail"
    assert record.diagnosis in ("wrong_type", "wrong_values")


def test_a_list_that_contains_itself_is_an_error_of_the_answer() -> None:
    """It cannot be plain data."""

    def endless():
        items: list[object] = []
        items.append(items)
        return items

    spec = FunctionSpec("one", "t0", 1, lambda rng, level: [()], reference=lambda: 1)

    assert judge(spec, endless).diagnosis == "raised"


def test_parameters_in_another_order_are_said() -> None:
    """The calls are by position."""

    def swapped(threads, n):
        return -(-n // threads)

    assert messages(swapped).splitlines()[1] == (
        "  what   Your parameters are (threads, n); the check passes (n, threads), in that order."
    )


def test_a_predicted_dictionary_says_how_much_of_it_is_right() -> None:
    """How many entries, and the first wrong one; never what is right."""
    spec = ValueSpec("roofs", "t0_00_test", 1, lambda: {"a": "x", "b": "y", "c": "z"}, "the roofs")
    record = judge(spec, lambda: {"a": "x", "b": "q", "c": "q"})
    assert "the roofs: 1 of 3 are right; 'b' is not 'q'" in record.message
    assert "'y'" not in record.message


def test_where_many_values_are_right_the_spec_examines() -> None:
    """The verdict's words and diagnosis; None and errors as ever; no reference is asked."""

    def even(args, got):
        return None if got % 2 == 0 else ("odd", f"{got} is odd")

    def nobody(n):
        raise AssertionError("the reference is not called")

    spec = FunctionSpec(
        "even_above", "unit", 1, lambda rng, level: [(1,), (2,)], nobody, examine=even,
        causes={"odd": "Odd."}, hints={"odd": ("Look.", "Double it.")},
    )  # fmt: skip
    assert judge(spec, lambda n: 2 * n).status == "pass"
    assert judge(spec, lambda n: 0).status == "pass"
    wrong = judge(spec, lambda n: 2 * n + 1)
    assert (wrong.status, wrong.diagnosis) == ("fail", "odd")
    assert "3 is odd" in str(wrong) and "5 is odd" not in str(wrong)
    assert judge(spec, lambda n: None).diagnosis == "no_return"
    assert judge(spec, lambda n: n / 0).diagnosis == "raised"


def test_of_several_diagnoses_the_one_that_fits_every_call_is_told() -> None:
    """The first call alone could be two mistakes; the second tells them apart."""
    spec = FunctionSpec(
        "several", "unit", 1, lambda rng, level: [(2,), (3,), (0,)], lambda n: None,
        examine=lambda args, got: {2: (("double", "square"), "4"), 3: (("square",), "9")}.get(
            args[0]
        ),
        causes={"double": "Doubled.", "square": "Squared."},
        hints={"double": ("Look.", "Do."), "square": ("See.", "Do.")},
    )  # fmt: skip
    found = judge(spec, lambda n: n * n)
    assert found.diagnosis == "square" and "Squared." in found.message


def test_arrays_of_an_examined_call_are_told_by_their_sizes() -> None:
    """Not their contents: the verdict says what is wrong."""
    spec = FunctionSpec(
        "told_briefly", "unit", 1, lambda rng, level: [(np.zeros(3), [np.ones(2)] * 4, 5)],
        lambda a, parts, n: None, examine=lambda args, got: ("wrong", "no"),
    )  # fmt: skip
    said = judge(spec, lambda a, parts, n: 1).message
    assert "(a: float64 (3,), parts: 4 x float64 (2,), n: 5)" in said


def test_an_array_of_another_shape_in_a_tuple_is_told_by_its_shape() -> None:
    """Not by its dtype, which is right; and where a list will do, the message says so."""
    spec = FunctionSpec(
        "halves_and_sums",
        "t0_00_test",
        1,
        inputs=lambda rng, level: [(np.ones((2, 3)),)],
        reference=lambda a: (a / 2, a.sum(axis=1)),
    )

    assert judge(spec, lambda a: [a / 2, a.sum(axis=1)]).status == "pass"
    tall = judge(spec, lambda a: (a / 2, a.sum(axis=1, keepdims=True))).message
    assert "value 1: got an array of shape (2, 1), expected (2,)" in tall
    assert "expected a tuple or list" in judge(spec, lambda a: a).message


def test_what_differs_in_a_long_tuple_is_shown() -> None:
    """Not the same beginning twice."""
    right = (1 / 3, 2 / 3, 1 / 7, "memory")
    spec = FunctionSpec("place_it", "t0_00_test", 1, lambda rng, level: [(1,)], lambda n: right)
    record = judge(spec, lambda n: (*right[:3], "arithmetic"))
    assert "value 3: 'arithmetic'; expected value 3: 'memory'" in record.message
