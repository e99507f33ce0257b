"""Ranks that do not end are ended, and say where they were."""

import functools
import os
import re
import signal
import time

import pytest
import torch
import torch.distributed as dist

from warpwise.ranks import Hang, run_ranks
from warpwise.ranks.outcome import where

seen = functools.partial(run_ranks, echo=False, raises=False, timeout=1.0)


def test_a_hang_shows_where_each_rank_waits():
    """The ranks at the barrier are stuck; the one that returned early is not."""

    def early_return():
        if dist.get_rank() == 1:
            return "done"
        dist.barrier()

    with pytest.raises(Hang) as caught:
        run_ranks(early_return, 3, echo=False, timeout=1.0)
    outcome = caught.value.outcome
    assert outcome.status == ["stuck", "ok", "stuck"] and outcome[1] == "done"
    assert str(caught.value).startswith("ranks 0, 2 would wait for ever.\nRank 1 returned without")
    assert "dist.barrier()" in str(caught.value)


def test_a_deadlock_is_told_before_the_deadline():
    """When all ranks wait and none can go on, nobody has to wait for the timeout."""

    def everyone_sends():
        peer = 1 - dist.get_rank()
        dist.send(torch.zeros(1), peer)
        dist.recv(torch.zeros(1), peer)

    outcome = seen(everyone_sends, 2, timeout=600)
    assert outcome.status == ["stuck", "stuck"]
    assert outcome.diagnosis.kind == "cycle"
    assert outcome.seconds < 100


def test_a_straggler_is_no_deadlock():
    """At the deadline, ranks that wait for one that works were only not done."""

    def straggler():
        if dist.get_rank() == 0:
            time.sleep(100)
        dist.barrier()

    with pytest.raises(Hang, match=r"all 2 ranks had not ended after 1 s\.\nRank 0 is still at"):
        run_ranks(straggler, 2, echo=False, timeout=1.0)


@pytest.mark.slow
def test_a_slow_rank_is_waited_for():
    """Ranks that wait for one that works are not given up."""

    def straggler():
        if dist.get_rank() == 0:
            time.sleep(5)
        dist.barrier()
        return "all there"

    assert seen(straggler, 2, timeout=60).values == ["all there"] * 2


def test_endless_python_is_shown():
    """A loop that never communicates has a line, too."""

    def forever():
        while True:
            time.sleep(0.01)

    outcome = seen(forever, 2)
    assert outcome.status == ["stuck", "stuck"]
    assert re.search(r"line \d+, in forever:  time.sleep\(0.01\)", outcome.said(0))
    with pytest.raises(Hang, match=r"all 2 ranks had not ended after 0.5 s\."):
        run_ranks(forever, 2, echo=False, timeout=0.5)


def test_a_rank_that_holds_the_lock_of_the_interpreter_is_shown():
    """No thread of it can answer; a signal handler writes where it is."""

    def backtrack():
        return re.match(r"(a+)+$", "a" * 40 + "b")

    outcome = seen(backtrack, 2)
    assert outcome.status == ["stuck", "stuck"]
    assert re.search(r'line \d+, in backtrack:  return re.match\(r"\(a\+\)\+\$"', outcome.said(1))


def test_ranks_that_ignore_signals_or_stop_are_ended():
    """Nothing a rank does keeps it alive."""

    def deaf():
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            signal.signal(number, signal.SIG_IGN)
        if dist.get_rank():
            os.kill(os.getpid(), signal.SIGSTOP)
        while True:
            time.sleep(1)

    assert seen(deaf, 2).status == ["stuck", "stuck"]


def test_a_rank_without_descriptors_is_ended():
    """A rank that closes its connection to the caller ends with it."""
    outcome = seen(lambda: (os.closerange(3, 200), time.sleep(60)), 1)
    assert outcome.status == ["died"]


@pytest.mark.parametrize(
    ("number", "said"), [(3, "waiting in send #3, "), (-1, "waiting in send, ")]
)
def test_a_message_has_no_number_to_show(number: int, said: str) -> None:
    """Collectives are numbered in their group, messages are not."""
    site = ["cell.py", 6, "dist.send(x, 1)", "work"]
    current = {"name": "send", "number": number, "site": site}

    assert where({"state": "inside", "current": current}).startswith(said)
