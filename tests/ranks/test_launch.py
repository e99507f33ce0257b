"""A function from a notebook runs on real ranks, and its values come back."""

import functools
import os
import sys
import warnings

import numpy as np
import pytest
import torch
import torch.distributed as dist

from warpwise.ranks import RankError, run_ranks

run = functools.partial(run_ranks, echo=False)


def add_ranks(start):
    total = torch.tensor([dist.get_rank() + start])
    dist.all_reduce(total)
    return total.item()


class Point:
    """A class of the caller's own module."""

    def __init__(self, x):
        self.x = x


@pytest.mark.parametrize("size", [1, 2, 5])
def test_values_come_back_by_rank(size):
    """Each rank's value stands at its place."""
    outcome = run(lambda: (dist.get_rank(), dist.get_world_size()), size)
    assert outcome.values == [(rank, size) for rank in range(size)]
    assert outcome.status == ["ok"] * size and outcome.ok
    assert outcome.errors == [None] * size and outcome.first is None


def test_arguments_travel():
    """Positional and keyword arguments reach every rank."""
    assert run(add_ranks, 3, 10).values == [33, 33, 33]
    assert run(add_ranks, 2, kwargs={"start": 1}).values == [3, 3]


def test_callables_of_all_kinds():
    """Partials, methods, callable objects and built-in functions run."""

    class Adder:
        def __init__(self, start):
            self.start = start

        def add(self):
            return add_ranks(self.start)

        def __call__(self):
            return self.add()

    assert run(functools.partial(add_ranks, 5), 2).values == [11, 11]
    assert run(Adder(1).add, 2).values == [3, 3]
    assert run(Adder(2), 2).values == [5, 5]
    assert run(os.getcwd, 1).values == [os.getcwd()]


def test_classes_keep_their_identity():
    """An object of a notebook's class comes back as an object of that class."""

    class Local:
        pass

    assert isinstance(run(lambda: Point(3), 1)[0], Point)
    assert isinstance(run(Local, 1)[0], Local)


def test_ranks_are_set_up_as_under_torchrun(monkeypatch, tmp_path):
    """Environment, folder and path are the caller's; the rank's numbers are in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("A_SETTING", "x\udcff")

    def seen():
        names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "A_SETTING")
        return [os.environ[name] for name in names], os.getcwd(), sys.path, torch.get_num_threads()

    values = run(seen, 2).values
    assert values[1] == (["1", "1", "2", "2", "x\udcff"], str(tmp_path), sys.path, 1)


def test_tensors_and_large_results_come_back():
    """A result of 50 MB from each rank comes back whole."""
    outcome = run(lambda: torch.full((12_500_000,), float(dist.get_rank())), 2)
    assert [value.sum().item() for value in outcome] == [0.0, 12_500_000.0]


def test_the_outcome_reads_well():
    """Ranks with the same value share a row; a large value is its shape."""
    outcome = run(lambda: torch.zeros(3, 4) if dist.get_rank() else 7, 3)
    assert outcome.rows() == [
        ("rank 0", "ok", "7"),
        ("ranks 1-2", "ok", "Tensor (3, 4) torch.float32"),
    ]
    assert str(outcome) == "rank 0: ok  7\nranks 1-2: ok  Tensor (3, 4) torch.float32"
    assert "<td style='text-align:left'>ranks 1-2</td>" in outcome._repr_html_()
    assert len(outcome) == 3 and next(iter(outcome)) == outcome[0] == 7


@pytest.mark.parametrize(
    ("size", "kind", "message"),
    [
        (0, ValueError, "n is 0; a world has at least 1 rank."),
        (-1, ValueError, "n is -1; a world has at least 1 rank."),
        (2.5, TypeError, "n is 2.5; the number of ranks is an int: run_ranks(work, 4)."),
        (True, TypeError, "n is True; the number of ranks is an int: run_ranks(work, 4)."),
        ("4", TypeError, "n is '4'; the number of ranks is an int: run_ranks(work, 4)."),
        (1000, ValueError, "n is 1000; run_ranks starts at most 128 processes on one machine."),
    ],
)
def test_a_wrong_number_of_ranks_is_refused(size, kind, message):
    """The number of ranks is an int from 1 to 128."""
    with pytest.raises(kind) as caught:
        run(add_ranks, size, 1)
    assert str(caught.value) == message


@pytest.mark.slow
def test_sixty_four_ranks_run():
    """A world of 64 processes."""
    assert run(add_ranks, 64, 1, timeout=120).values == [64 * 65 // 2] * 64


def test_numbers_of_numpy_count():
    """An integer of NumPy is a number of ranks."""
    assert run(add_ranks, np.int64(2), 0).values == [1, 1]


def test_what_is_not_callable_is_refused():
    """A called function is not a function."""
    with pytest.raises(TypeError, match=r"needs a function, not None. Leave out the parentheses"):
        run(None, 2)
    with pytest.raises(TypeError, match="needs a function, not 3"):
        run(3, 2)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), None, True, "20"])
def test_a_wrong_timeout_is_refused(timeout):
    """A timeout is a positive number of seconds."""
    with pytest.raises(ValueError, match="it is a number of seconds above 0"):
        run(add_ranks, 2, 1, timeout=timeout)


def test_a_wrong_echo_is_refused():
    """The choices are listed."""
    with pytest.raises(ValueError, match="echo is 'loud'; it can be True, False or 'live'"):
        run_ranks(add_ranks, 2, 1, echo="loud")


def test_a_wrong_backend_is_refused():
    """The choices are listed; nccl without GPUs says what there is."""
    with pytest.raises(ValueError, match="backend is 'mpi'; it can be None, 'gloo', 'nccl', 'cpu:"):
        run(add_ranks, 2, 1, backend="mpi")
    if not torch.cuda.is_available():
        with pytest.raises(RankError) as caught:
            run(add_ranks, 2, 1, backend="nccl")
        assert "needs a GPU for each rank, and this machine has 0 for 2 ranks" in str(caught.value)
    assert run(dist.get_backend, 1, backend="gloo").values == ["gloo"]


@pytest.mark.gpu
def test_a_rank_on_each_gpu():
    """With a GPU for each rank, rank k is on GPU k and sums there."""
    size = torch.cuda.device_count()

    def work():
        total = torch.ones(4, device="cuda") * (dist.get_rank() + 1)
        dist.all_reduce(total)
        on_cpu = torch.ones(1)
        dist.all_reduce(on_cpu)
        return torch.cuda.current_device(), total, on_cpu.item()

    values = run(work, size, timeout=120).values
    expected = torch.full((4,), size * (size + 1) / 2)
    assert [(at, on_cpu) for at, _, on_cpu in values] == [(k, size) for k in range(size)]
    assert all(torch.equal(total, expected) for _, total, _ in values)


def test_what_cannot_be_pickled_is_named():
    """The variable is named, before any process starts."""
    import threading

    lock = threading.Lock()

    def work():
        with lock:
            return 1

    with pytest.raises(TypeError) as caught:
        run(work, 2)
    assert str(caught.value).startswith(
        "work cannot be sent to the ranks: it carries `lock`, a _thread.lock, which cannot be "
    )
    assert str(caught.value).endswith("Make it inside the function, so that each rank has its own.")
    with pytest.raises(TypeError, match="carries argument 1, a _thread"):
        run(add_ranks, 2, lock)


def test_large_captures_are_warned_about():
    """The size and the name of what travels to every rank are said."""
    weights = torch.zeros(5_000_000)
    with pytest.warns(RuntimeWarning) as caught:
        assert run(lambda: len(weights), 2).values == [5_000_000] * 2
    text = str(caught[0].message)
    assert text.startswith(
        "<lambda> carries 20.0 MB to every rank: `weights` (torch.Tensor, 20.0 MB)."
    )
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(add_ranks, 2, 1).values == [3, 3]


def test_ranks_do_not_start_ranks():
    """A call inside a rank says what to do instead."""

    def nested():
        return run_ranks(lambda: 1, 2)

    with pytest.raises(RankError) as caught:
        run(nested, 2)
    assert "run_ranks was called inside rank 0 of another run_ranks" in str(caught.value)
    assert "torch.distributed.new_group" in str(caught.value)


def test_windows_is_told_about_wsl(monkeypatch):
    """Where processes cannot be forked, the way out is named."""
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(RuntimeError, match="Run the course in WSL"):
        run(add_ranks, 2, 1)


def test_threads_may_launch_at_the_same_time():
    """Two threads have a world each."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda start: run(add_ranks, 2, start).values, [0, 10, 20]))
    assert found == [[1, 1], [21, 21], [41, 41]]


def test_dtensor_and_functional_collectives_are_loaded_already():
    """The modules that cost seconds at their first use are there before the function runs."""

    def loaded():
        names = ("torch._dynamo", "torch.distributed.tensor", "torch.distributed.pipelining")
        return [name in sys.modules for name in names]

    assert run(loaded, 1)[0] == [True, True, True]
