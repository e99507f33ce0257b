"""However a world ends, nothing is left of it: no process, no descriptor, no file."""

import functools
import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import torch
import torch.distributed as dist

from tests.ranks.processes import alive, folders, gone, left
from warpwise.ranks import run_ranks, zygote

seen = functools.partial(run_ranks, echo=False, raises=False)


def reduce_once():
    total = torch.ones(1)
    dist.all_reduce(total)
    return os.getpid()


ENDS = {
    "values": os.getpid,
    "an exception": lambda: [][dist.get_rank()],
    "a crash": lambda: os._exit(3),
    "a hang": lambda: time.sleep(100),
    "a pickle that fails": threading.Lock,
}


@pytest.mark.parametrize("end", ENDS)
def test_nothing_is_left_after(end):
    """Descriptors, processes and files are as before."""
    seen(reduce_once, 2)
    before = left()
    seen(ENDS[end], 2, timeout=0.5)
    assert left() == before
    assert before["processes"] == [] and before["files"] == [] and before["threads"] == 1


def test_nothing_is_left_of_what_cannot_start():
    """A function that cannot be sent starts nothing."""
    before = left()
    lock = threading.Lock()
    with pytest.raises(TypeError):
        run_ranks(lambda: lock, 2)
    assert left() == before


def test_children_of_ranks_are_ended(tmp_path):
    """Children end with their rank, also those that left its group or were forked by hand."""

    def start_children():
        name = tmp_path / f"pids.{dist.get_rank()}"
        pids = [
            subprocess.Popen(["sleep", "100"]).pid,
            subprocess.Popen(["sleep", "100"], start_new_session=sys.platform == "linux").pid,
        ]
        forked = os.fork()
        if forked == 0:
            time.sleep(100)
        name.write_text(json.dumps([*pids, forked]))
        dist.barrier()
        return [*pids, forked]

    before = left()
    values = seen(start_children, 2).values
    assert gone([pid for pids in values for pid in pids], 2.0)
    assert left() == before


def test_a_forked_copy_does_not_answer_for_its_rank():
    """A child made with os.fork that returns from the function is not heard."""

    def forks():
        if os.fork() == 0:
            return "child"
        time.sleep(0.2)
        return "rank"

    assert seen(forks, 2).values == ["rank", "rank"]


@pytest.fixture
def interrupts():
    """SIGINT raises KeyboardInterrupt; a shell that runs tests in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_ends_the_ranks(capsys, interrupts):
    """KeyboardInterrupt arrives in the caller, with where the ranks were; nothing is left."""
    seen(reduce_once, 1)
    before = left()

    def sleep():
        print("begin")
        time.sleep(100)

    timer = threading.Timer(1.0, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run_ranks(sleep, 2, timeout=60)
    timer.join()
    text = capsys.readouterr().out
    assert text.startswith("[all 2 ranks] begin\nInterrupted.\nNo rank waits for another")
    assert "`time.sleep(100)`" in text
    assert left() == before
    assert len(seen(reduce_once, 2).values) == 2


@pytest.mark.slow
def test_a_fork_server_that_was_killed_is_replaced():
    """A world of a killed server is told apart, the next has a new one, and no folder stays."""
    server = zygote.start()
    folder = server.wait()
    threading.Timer(0.3, server.process.kill).start()
    with pytest.raises(RuntimeError, match="the process that forks ranks has ended"):
        run_ranks(lambda: time.sleep(100), 2, echo=False)
    assert len(seen(reduce_once, 2).values) == 2
    assert not os.path.exists(folder)


CALLER = """
import os, signal, sys, time
from warpwise.ranks import run_ranks, zygote

# A shell that runs tests in the background has it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

def work():
    print(os.getpid(), flush=True)
    time.sleep(100)

print("server", zygote.start().process.pid, os.path.basename(zygote.start().wait()), flush=True)
run_ranks(work, 3, timeout=100, echo="live")
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_ranks_end_with_the_caller(number):
    """A caller that is killed takes its server, its ranks and its folder along."""
    caller = subprocess.Popen(
        [sys.executable, "-c", CALLER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    _, server, folder = caller.stdout.readline().split()
    pids = [int(caller.stdout.readline().split()[-1]) for _ in range(3)]
    assert folder in folders() and all(map(alive, pids))
    caller.send_signal(number)
    caller.wait(10)
    caller.stdout.close()
    assert gone([int(server), *pids], 5.0)
    assert folder not in folders()


def test_a_short_process_leaves_nothing():
    """A process that ends while PyTorch is still loading takes the loading process along."""
    code = (
        "from warpwise import run_ranks; from warpwise.ranks import zygote; "
        "print(zygote.start().process.pid)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not alive(int(run.stdout)) and run.stderr == ""


def test_only_who_asks_for_ranks_has_them_prepared():
    """Other modules of the package start no process."""
    code = (
        "import warpwise.ranks, warpwise.ranks.referee; from warpwise.ranks import zygote; "
        "print(zygote._Running.server)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "None\n"


@pytest.mark.slow
def test_a_forked_caller_has_a_server_of_its_own():
    """A process forked from a notebook does not speak to the notebook's server."""
    mine = zygote.start().process.pid
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            found = seen(reduce_once, 2)
            os.write(writing, json.dumps([zygote.start().process.pid, found.ok]).encode())
            zygote.end()
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        theirs, ok = json.loads(pipe.read())
    os.waitpid(child, 0)
    assert ok and theirs != mine
    assert zygote.start().process.pid == mine and alive(mine) and gone([theirs])


@pytest.mark.slow
def test_sixty_launches_leave_nothing():
    """Launch after launch, descriptors, processes and files stay as they were."""
    seen(reduce_once, 4)
    before = left()
    for k in range(60):
        outcome = seen(reduce_once, 2 + k % 3)
        assert outcome.ok
    assert left() == before
