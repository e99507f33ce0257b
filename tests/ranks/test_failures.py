"""A rank that fails is named, with its line; what others suffer from it is told apart."""

import functools
import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from warpwise.ranks import RankError, run_ranks

run = functools.partial(run_ranks, echo=False)
seen = functools.partial(run_ranks, echo=False, raises=False)


class ShardError(Exception):
    """An exception class of the learner's."""


def line_of(function, text):
    """The number of the first line of a function that has the text."""
    lines = Path(__file__).read_text().splitlines()
    first = function.__code__.co_firstlineno
    return next(k for k in range(first, len(lines)) if text in lines[k - 1])


def fail_on_two():
    if dist.get_rank() == 2:
        raise ShardError("shard 2 is empty")
    dist.barrier()


def test_the_first_failing_rank_is_named_with_its_line():
    """The message has rank, exception, place and source; the others show where they wait."""
    with pytest.raises(RankError) as caught:
        run(fail_on_two, 4)
    text, error = str(caught.value), caught.value
    line = line_of(fail_on_two, "raise")
    assert text.startswith(
        f"rank 2 of 4 failed: ShardError: shard 2 is empty\n"
        f'  test_failures.py, line {line}, in fail_on_two:  raise ShardError("shard 2 is empty")\n'
    )
    assert f"test_failures.py, line {line + 1} `dist.barrier()`" in text
    assert "worker.py" not in text  # the launcher's frames are not the learner's
    assert error.outcome.status == ["killed", "killed", "error", "killed"]
    assert isinstance(error.exception, ShardError)
    assert error.failure.rank == 2 and error.failure.site[1] == line


def test_a_notebook_shows_the_message_alone():
    """IPython asks the exception how it looks."""
    with pytest.raises(RankError) as caught:
        run(fail_on_two, 3)
    [shown] = caught.value._render_traceback_()
    assert shown.startswith("RankError: rank 2 of 3 failed: ShardError")


def test_all_ranks_may_fail():
    """The earliest is the first."""

    def fail():
        time.sleep(0.2 * (3 - dist.get_rank()))
        raise ValueError(dist.get_rank())

    outcome = seen(fail, 3)
    assert outcome.status == ["error"] * 3
    assert outcome.first.rank == 2


@pytest.mark.parametrize(
    ("end", "status", "message"),
    [
        (lambda: os._exit(7), "died", "its process ended with exit code 7"),
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), "died", "its process was ended by SIGSEGV"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "died", "its process was ended by SIGKILL"),
        (os.abort, "died", "its process was ended by SIGABRT"),
        (lambda: sys.exit(3), "error", "SystemExit: 3"),
        (lambda: (_ for _ in ()).throw(KeyboardInterrupt()), "error", "KeyboardInterrupt: "),
    ],
    ids=["_exit", "segfault", "kill", "abort", "sys.exit", "interrupt"],
)
def test_a_rank_that_ends_is_named(end, status, message):
    """However it ends, it comes first; peers that lost their connection are its consequence."""

    def work():
        if dist.get_rank() == 1:
            end()
        dist.all_reduce(torch.ones(4))

    outcome = seen(work, 3)
    assert outcome.status[1] == status
    assert outcome.first.rank == 1
    assert str(outcome.first).startswith(message)
    assert all(failure.collateral for failure in outcome.errors if failure and failure.rank != 1)


def test_a_crash_has_a_line():
    """The place of a crash comes from the signal handler."""

    def crash():
        import ctypes

        ctypes.string_at(0)

    with pytest.raises(RankError) as caught:
        run(crash, 1)
    assert re.search(r"line \d+, in crash:  ctypes.string_at\(0\)", str(caught.value))


def test_sizes_that_differ_end_a_process_and_are_explained():
    """gloo aborts; the message says what that often means."""

    def mismatch():
        dist.all_reduce(torch.ones(4 + 1000 * dist.get_rank()))

    outcome = seen(mismatch, 2)
    assert not outcome.ok
    assert any(status == "died" for status in outcome.status)
    assert "often tensors whose sizes differ between ranks" in str(outcome.first)


def test_a_value_that_cannot_be_pickled_is_refused():
    """The type is named, and what to return instead."""

    def generator():
        return (k for k in range(3))

    with pytest.raises(RankError) as caught:
        run(generator, 1)
    assert "TypeError: the function returned a generator, which cannot be pickled" in str(
        caught.value
    )
    assert "Return numbers, tensors, lists or dicts." in str(caught.value)


def test_a_value_that_cannot_be_rebuilt_is_refused():
    """A value whose pickle fails here is the rank's failure, not a crash of the caller."""

    class Odd:
        def __reduce__(self):
            return int, ("not a number",)

    outcome = seen(lambda: Odd() if dist.get_rank() else 5, 2)
    assert outcome.status == ["ok", "error"] and outcome[0] == 5
    assert "cannot be rebuilt in this process (ValueError" in str(outcome.first)


def test_exceptions_that_cannot_be_pickled_are_told_all_the_same():
    """Name, message and line come as text."""

    class Holder(Exception):
        def __init__(self, what):
            super().__init__("holds a socket")
            self.what = what

    def work():
        import socket

        raise Holder(socket.socket())

    outcome = seen(work, 1)
    assert str(outcome.first).endswith("Holder: holds a socket")
    assert outcome.first.exception is None
    assert "raise Holder(socket.socket())" in outcome.first.text


def test_causes_are_in_the_traceback():
    """A chained exception keeps its cause."""

    def work():
        try:
            {}["layer"]
        except KeyError as error:
            raise ShardError("no layer") from error

    outcome = seen(work, 1)
    assert outcome.first.causes == ["KeyError: 'layer'"]
    assert "direct cause" in outcome.first.text
    with pytest.raises(RankError, match="\n  after KeyError: 'layer'"):
        run(work, 1)


def test_all_ranks_that_fail_alike_are_told_once():
    """One headline for the same mistake on every rank, with a hint where PyTorch has none."""
    with pytest.raises(RankError) as caught:
        run(lambda: dist.init_process_group("gloo"), 3)
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("all 3 ranks failed: ValueError: trying to initialize")
    assert lines[2] == ("  run_ranks has formed the process group: leave init_process_group out.")


def test_long_and_broken_messages_are_cut():
    """A recursion, a message of 10 MB and one that cannot be made are told in a few lines."""

    def recursion():
        return recursion() + 1

    class Mute(Exception):
        def __str__(self):
            raise ValueError

    def mute():
        raise Mute

    def endless():
        raise ValueError("x" * 10_000_000)

    assert len(str(seen(recursion, 1).first.lines)) < 2000
    assert str(seen(mute, 1).first).endswith("Mute: (its message cannot be shown: ValueError)")
    assert str(seen(endless, 1).first).endswith("xxx ... (10,000,000 characters)")


def test_groups_may_be_destroyed_and_data_loaders_run():
    """What scripts for torchrun do at their end, and processes that belong to a rank."""

    def script():
        numbers = torch.utils.data.TensorDataset(torch.arange(8))
        loader = torch.utils.data.DataLoader(numbers, batch_size=2, num_workers=1)
        total = sum(batch.sum().item() for [batch] in loader)
        dist.destroy_process_group()
        return total

    assert seen(script, 2).values == [28, 28]


def test_a_failure_does_not_wait_for_the_deadline():
    """Peers that wait for ever are seen to wait, and the world ends long before its deadline."""
    start = time.monotonic()
    outcome = seen(fail_on_two, 4, timeout=600)
    assert outcome.first.rank == 2
    assert time.monotonic() - start < 60


def test_the_error_can_be_pickled():
    """A RankError survives a pickle, as test runners need."""
    import pickle

    with pytest.raises(RankError) as caught:
        run(lambda: 1 / 0, 1)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.outcome.status == ["error"]
