"""Functions in kernels: closures, lambdas, *args, defaults, recursion, overloads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpwise.observe import profile, sanitize
from warpwise.simt import SimtError, TypingError, UnsupportedError, run
from warpwise.simt import api as cuda

THREADS = 40
I = np.arange(THREADS)  # noqa: E741  the thread number


def launch(kernel: Any, dtype: Any = np.float64, *args: Any) -> Any:
    """out after one block of THREADS threads."""
    out = np.zeros(THREADS, dtype)
    kernel[1, THREADS](out, *args)
    return out


def refusal(kernel: Any, *args: Any) -> str:
    """The message of a launch that is refused."""
    with pytest.raises(SimtError) as error:
        launch(kernel, np.float64, *args)
    return str(error.value)


@cuda.jit(device=True)
def apply(function, *values):
    return function(*values)


@cuda.jit(device=True)
def scaled(x, by=3, *, plus=0):
    return x * by + plus


@cuda.jit(device=True)
def shifted(x, by=3, plus=0):
    return x * by + plus


@cuda.jit(device=True)
def count_and_last(first, *rest):
    if len(rest) == 0:
        return 0, first
    return len(rest), rest[len(rest) - 1]


def test_inner_functions_see_the_names_around_them() -> None:
    """A closure reads the value a name has when it is called, as compiled by Numba."""

    @cuda.jit
    def k(out):
        i = cuda.grid(1)
        base = 10

        def plus(y, by=2):
            return base + y * by

        first = plus(i)
        base = 100
        twice = lambda v: plus(v, by=4) * 2  # noqa: E731
        out[i] = first + twice(i)

    assert launch(k).tolist() == [(10 + 2 * i) + (100 + 4 * i) * 2 for i in range(THREADS)]


def test_inner_functions_work_under_divergence() -> None:
    """A closure called in a branch and in a loop runs for the lanes that call it."""

    @cuda.jit
    def k(out):
        i = cuda.grid(1)
        total = 0

        def halve(n):
            steps = 0
            while n > 1:
                if n % 2:
                    return -steps
                n //= 2
                steps += 1
            return steps

        for j in range(i % 4):
            add = lambda v: v + j  # noqa: E731, B023
            if i % 3:
                total = add(total) + halve(i + j)
        out[i] = total

    def halve(n: int) -> int:
        steps = 0
        while n > 1:
            if n % 2:
                return -steps
            n //= 2
            steps += 1
        return steps

    want = []
    for i in range(THREADS):
        total = 0
        for j in range(i % 4):
            if i % 3:
                total = total + j + halve(i + j)
        want.append(total)
    assert launch(k).tolist() == want


def test_inner_names_are_their_own() -> None:
    """A name assigned inside an inner function is no name of the kernel."""

    @cuda.jit
    def k(out):
        i = cuda.grid(1)

        def square(v):
            THREADS_SQUARED = v * v
            return THREADS_SQUARED

        out[i] = square(i) + THREADS

    assert launch(k).tolist() == [i * i + THREADS for i in range(THREADS)]


def test_functions_passed_on_keep_their_constants_only() -> None:
    """What escapes may capture a constant; a value of run time is refused with what to do."""

    @cuda.jit
    def constant(out):
        y = 10
        out[cuda.grid(1)] = apply(lambda z: y + z, 1)

    @cuda.jit
    def variable(out):
        i = cuda.grid(1)
        out[i] = apply(lambda z: i + z, 1)

    assert set(launch(constant)) == {11.0}
    text = refusal(variable)
    assert "lambda uses i of variable, which is no constant, and so cannot be passed" in text
    assert "Make i a parameter of lambda." in text


def test_nested_inner_functions() -> None:
    """A function in a function in a kernel reaches the kernel's names."""

    @cuda.jit
    def k(out):
        i = cuda.grid(1)
        scale = out[i] + 2.5

        def outer(a):
            def inner(b):
                return b * scale

            return inner(a) + inner(i)

        out[i] = outer(1)

    assert launch(k).tolist() == [2.5 + 2.5 * i for i in range(THREADS)]


def test_star_arguments() -> None:
    """*args of a device function is a tuple; a tuple after a star is spread."""

    @cuda.jit
    def k(out):
        i = cuda.grid(1)
        pair = (i, 2.5)
        n, last = count_and_last(i)
        m, other = count_and_last(1, *pair)
        out[i] = n + last + 100 * m + other

    assert launch(k).tolist() == [i + 200 + 2.5 for i in range(THREADS)]


def test_tuples_of_functions_and_numbers() -> None:
    """A tuple may mix them; its numbers stay what they were when it was made."""

    @cuda.jit(device=True)
    def use(pair):
        return pair[0](pair[1])

    @cuda.jit
    def k(out):
        i = cuda.grid(1)
        x = i + 1
        pair = (shifted, x)
        x = 1000
        out[i] = pair[0](pair[1]) + use(pair) + x

    assert launch(k).tolist() == [6 * (i + 1) + 1000 for i in range(THREADS)]


def test_keyword_and_default_arguments() -> None:
    """By name, by position, left out; a wrong name or number is named."""

    @cuda.jit
    def k(out):
        i = cuda.grid(1)
        out[i] = shifted(i) + shifted(i, plus=1) + shifted(by=2, x=i)

    assert launch(k).tolist() == [3 * i + 3 * i + 1 + 2 * i for i in range(THREADS)]

    @cuda.jit
    def wrong(out):
        out[0] = shifted(1, to=2)

    @cuda.jit
    def few(out):
        out[0] = shifted()

    @cuda.jit
    def only_by_name(out):
        out[0] = scaled(1)

    assert "shifted has no free parameter to" in refusal(wrong)
    assert "shifted takes 3 arguments (x, by, plus), got 0" in refusal(few)
    assert "a device function cannot have keyword-only parameters" in refusal(only_by_name)


@cuda.jit(device=True)
def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


@cuda.jit(device=True)
def halved(n):
    if n < 2:
        return 1
    return halved(n - 1) * 0.5


@cuda.jit(device=True)
def steps(n):
    if n <= 0:
        return 0
    deeper = steps(n - 1)
    more = deeper + 1
    return more


@cuda.jit(device=True)
def fill(a, n):
    if n > 0:
        a[n - 1] = n
        fill(a, n - 1)


@cuda.jit(device=True)
def endless(n):
    return endless(n + 1)


@cuda.jit(device=True)
def grows(n):
    if n < 1:
        return (1,)
    return (n, grows(n - 1)[0], 1) if n > 2 else (n, grows(n - 1))


@cuda.jit(device=True)
def even(n):
    if n == 0:
        return 1
    return odd(n - 1)


@cuda.jit(device=True)
def odd(n):
    if n == 0:
        return 0
    return even(n - 1)


@cuda.jit(device=True)
def bottomless(n):
    if n == -1:
        return 0
    return bottomless(n + 1)


def test_a_function_may_call_itself() -> None:
    """Lanes go down to their own depth; the returns that end it give the type."""

    @cuda.jit
    def k(out, other, filled):
        i = cuda.grid(1)
        out[i] = fib(i % 12)
        other[i] = halved(i % 6)
        filled[i, 3] = steps(i) + steps(3)
        fill(filled[i], 2)

    def number(n: int) -> int:
        return n if n < 2 else number(n - 1) + number(n - 2)

    other, filled = np.zeros(THREADS), np.zeros((THREADS, 4))
    assert launch(k, np.float64, other, filled).tolist() == [number(i % 12) for i in range(THREADS)]
    assert other.tolist() == [0.5 ** max(0, i % 6 - 1) for i in range(THREADS)]
    assert filled.tolist() == [[1, 2, 0, i + 3] for i in range(THREADS)]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (endless, "every return of endless calls endless again"),
        (even, "even calls itself through another function"),
        (grows, "grows"),
        (bottomless, "a device function calls itself more often than the simulator can follow"),
    ],
)
def test_recursion_that_does_not_end_well(function: Any, message: str) -> None:
    """No type, a circle of functions, a result that grows, no end: one sentence each."""

    @cuda.jit
    def k(out):
        i = cuda.grid(1)
        function(i)
        out[i] = 1

    assert message in refusal(k)


LAMBDAS = (cuda.jit(device=True)(lambda a: a + 1), cuda.jit(device=True)(lambda a: (lambda b:
    b * a)(3)))  # fmt: skip


def test_lambdas_under_jit() -> None:
    """A lambda can be a device function or a kernel; each is told from its neighbours."""
    first, second = LAMBDAS

    @cuda.jit
    def k(out):
        i = cuda.grid(1)
        out[i] = first(i) * 1000 + second(i)

    assert launch(k).tolist() == [(i + 1) * 1000 + 3 * i for i in range(THREADS)]
    assert launch(cuda.jit(lambda out: fill(out, 2)))[:3].tolist() == [1, 2, 0]
    assert "a kernel cannot return a value" in refusal(cuda.jit(lambda out: cuda.grid(1)))


@cuda.jit(device=True)
def checked_root(x):
    if x < 0:
        raise ValueError("negative")
    assert x < 30, "large"
    return x**0.5


def test_a_device_function_may_raise() -> None:
    """The launch ends with the first thread that raised; without one, nothing happens."""

    @cuda.jit
    def k(out, shift, sign):
        i = cuda.grid(1)
        out[i] = checked_root((i - shift) * sign)

    assert launch(k, np.float64, 0, 0.5).tolist() == [(0.5 * i) ** 0.5 for i in range(THREADS)]
    assert refusal(k, 7, 1).startswith(
        "checked_root: 7 of 40 threads raised ValueError('negative') before the launch stopped; "
        "the first is block (0, 0, 0), thread (0, 0, 0)\n"
    )
    assert "10 of 40 threads raised AssertionError('large')" in refusal(k, 0, 1)


def test_match_and_global() -> None:
    """match against numbers is a chain of if; a global can be read, not changed."""

    @cuda.jit
    def k(out):
        global THREADS  # noqa: PLW0602
        i = cuda.grid(1)
        match i % 7:
            case 0:
                out[i] = 10
            case 1 | 2 if i > 10:
                out[i] = 20
            case 3:
                return
            case _:
                out[i] = 30
        out[i] += THREADS

    want = [
        0
        if i % 7 == 3
        else THREADS + (10 if i % 7 == 0 else 20 if i % 7 in (1, 2) and i > 10 else 30)
        for i in range(THREADS)
    ]
    assert launch(k).tolist() == want

    @cuda.jit
    def captures(out):
        match out.size:
            case n:
                out[0] = n

    @cuda.jit
    def changes(out):
        global I  # noqa: E741, PLW0603
        I = 3  # noqa: E741

    @cuda.jit
    def two(out):
        if out[0] > 0:
            f = lambda x: x  # noqa: E731
        else:
            f = lambda x: 2  # noqa: E731
        out[0] = f(1)

    assert "this pattern of a match cannot be used in a kernel" in refusal(captures)
    assert "a kernel cannot change the global I" in refusal(changes)
    assert "f stands for different things on two paths" in refusal(two)


def test_errors_of_the_wrong_kind_of_function() -> None:
    """Plain Python functions and decorated inner functions are refused with what to do."""

    def plain(x):
        return x

    @cuda.jit
    def k(out):
        out[0] = plain(1)

    @cuda.jit
    def itself(out):
        def f(n):
            return 1 if n < 1 else f(n - 1)

        out[0] = f(3)

    assert "plain is an ordinary Python function; a kernel cannot call it" in refusal(k)
    assert "f, a function inside a kernel, calls itself" in refusal(itself)
    assert issubclass(TypingError, SimtError) and issubclass(UnsupportedError, SimtError)


@cuda.jit
def everything(out, a):
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    s = cuda.shared.array(20, np.float64)
    c = 2
    scale = lambda v: v * c + i  # noqa: E731
    s[t] = fib(i % 8) + apply(lambda z: z * 2, i)

    def other():
        cuda.syncthreads()
        return s[19 - t]

    out[i] = scale(other()) + a.reshape(-1)[i] + np.sum(a[i % 4])
    for j, (u, v) in enumerate(zip(a[0], a.T)):
        out[i] += u * j + v[1]


def test_every_way_to_run_gives_the_same() -> None:
    """Counting, checking and warp-serial programs call the same functions."""
    a = np.arange(40.0).reshape(4, 10)
    want, counted, serial = np.zeros(40), np.zeros(40), np.zeros(40)
    everything[2, 20](want, a)
    report = profile(everything[2, 20], counted, a)
    run(everything, 2, 20, (serial, a), order="warp-serial", seed=3)
    assert counted.tolist() == want.tolist()
    assert serial.tolist() == want.tolist()
    assert report.shared.requests == 4
    assert sanitize(everything[2, 20], np.zeros(40), a) == []
