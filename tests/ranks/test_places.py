"""The launcher works where the course is taken: notebooks, their runners, scripts, torchrun."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import papermill
import pytest
from jupyter_client.manager import KernelManager

from tests.ranks.processes import folders, gone

pytestmark = pytest.mark.slow
COURSE = Path(__file__).parents[2]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run"]

CELLS = [
    "import os\n"
    "from warpwise import run_ranks\n"
    "from warpwise.ranks import zygote\n"
    "import torch.distributed as dist",
    "class Broken(Exception):\n    pass\n\n"
    "def work():\n"
    "    print('hello')\n"
    "    if dist.get_rank() == 1:\n"
    "        raise Broken('rank one')\n"
    "    return dist.get_rank()",
    "run_ranks(dist.get_rank, 3)",
    "found = run_ranks(work, 1)\nfound.values",
    "try:\n    run_ranks(work, 2)\nexcept Exception as error:\n"
    "    print(error)\n    print(isinstance(error.exception, Broken))",
    "print(zygote.start().process.pid, os.path.basename(zygote.start().wait()))",
]


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels find the course, wherever they run."""
    monkeypatch.setenv("PYTHONPATH", str(COURSE))


def notebook(cells: list[str]) -> Any:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])


def printed(cell: Any) -> str:
    """Text of a cell's outputs."""
    return "".join(
        output["text"] if output.output_type == "stream" else output["data"]["text/plain"]
        for output in cell.outputs
    )


def check_outputs(cells: list[Any]) -> None:
    assert printed(cells[2]) == "rank 0: ok  0\nrank 1: ok  1\nrank 2: ok  2"
    assert printed(cells[3]) == "[rank 0] hello\n[0]"
    text = printed(cells[4])
    assert text.startswith("[all 2 ranks] hello\nrank 1 of 2 failed: Broken: rank one\n")
    assert "  cell, line 7, in work:  raise Broken('rank one')\n" in text
    assert text.endswith("True\n") and "ipykernel" not in text


def test_a_notebook_runs_ranks(environment: None) -> None:
    """Lines are the cell's; nothing stays when the kernel ends."""
    done = nbclient.NotebookClient(notebook(CELLS), timeout=120, kernel_name="python3").execute()
    check_outputs(done.cells)
    server, folder = printed(done.cells[5]).split()
    assert gone([int(server)]) and folder not in folders()


def test_papermill_runs_ranks(environment: None, tmp_path: Path) -> None:
    """The same notebook under papermill."""
    nbformat.write(notebook(CELLS), tmp_path / "in.ipynb")
    paths = tmp_path / "in.ipynb", tmp_path / "out.ipynb"
    done = papermill.execute_notebook(*paths, kernel_name="python3", progress_bar=False)
    check_outputs(done.cells)


def test_nbval_runs_ranks(environment: None, tmp_path: Path) -> None:
    """What a launch prints is the same in every run."""
    done = nbclient.NotebookClient(
        notebook(CELLS[:5]), timeout=120, kernel_name="python3"
    ).execute()
    nbformat.write(done, tmp_path / "lesson.ipynb")
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "-q"]
    command += ["-p", "no:cacheprovider", "-p", "no:xdist", "--override-ini=addopts="]
    run = subprocess.run(
        [*command, tmp_path / "lesson.ipynb"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout[-4000:]


# What a rank prints; the source of that line, which the interrupt shows, is another thing.
STARTED = re.compile(r"started (\d+)")


def test_an_interrupted_kernel_lives_on(environment: None) -> None:
    """An interrupt ends the cell and the ranks, not the kernel and not its fork server."""
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)

    def execute(code: str, interrupt: bool = False) -> str:
        text = ""

        def hook(message: Any) -> None:
            nonlocal text
            content = message["content"]
            text += content.get("text", "") + content.get("ename", "")
            if interrupt and STARTED.search(content.get("text", "")):
                manager.interrupt_kernel()

        client.execute_interactive(code, output_hook=hook, timeout=120)
        return text

    try:
        execute("\n".join(CELLS[:1]) + "\nimport time")
        server = execute(CELLS[5])
        text = execute(
            "run_ranks(lambda: (print('started', os.getpid()), time.sleep(100)), 2, "
            "timeout=100, echo='live')",
            interrupt=True,
        )
        pids = [int(pid) for pid in STARTED.findall(text)]
        assert "KeyboardInterrupt" in text and pids
        assert gone(pids, 0.1)
        assert "[0, 1]" in execute("print(run_ranks(dist.get_rank, 2).values)")
        assert execute(CELLS[5]) == server
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert gone([int(server.split()[0])])


SCRIPT = """
import os, torch, torch.distributed as dist
from warpwise.ranks import run_ranks

def total():
    mine = torch.tensor([dist.get_rank() + 1])
    dist.all_reduce(mine)
    return mine.item()

outcome = run_ranks(total, 4)
# In one piece: ranks of a node share a pipe.
os.write(1, f"{outcome.rank} {outcome.values}\\n".encode())
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    return path


def test_a_script_needs_no_main_guard(environment: None, script: Path) -> None:
    """Ranks do not run the script again."""
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert run.stdout == "None [10, 10, 10, 10]\n" and run.stderr == ""


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def test_the_same_script_runs_under_torchrun_on_two_nodes(
    environment: None, script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two nodes of two ranks each, on this machine: the values are those of four local ranks."""
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo" if sys.platform == "linux" else "lo0")
    port = free_port()
    nodes = [
        subprocess.Popen(
            [
                *(*TORCHRUN, "--nnodes", "2"),
                *("--nproc-per-node", "2", "--node-rank", str(node)),
                *("--master-addr", "127.0.0.1", "--master-port", str(port), script),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for node in range(2)
    ]
    texts = [node.communicate(timeout=120)[0] for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0], texts
    lines = sorted(line for text in texts for line in text.splitlines() if "[10" in line)
    assert lines == [f"{rank} [10, 10, 10, 10]" for rank in range(4)], texts


def test_torchrun_decides_the_number_of_ranks(environment: None, script: Path) -> None:
    """With two ranks where the script says four, there are two, and a note says so."""
    run = subprocess.run(
        [*TORCHRUN, "--standalone", "--nproc-per-node=2", script],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.count("[3, 3]\n") == 2
    assert "run_ranks: torchrun has 2 ranks; n = 4 is not used." in run.stderr


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_no_shared_memory_is_needed(environment: None, script: Path) -> None:
    """With a /dev/shm that cannot be written, ranks start all the same."""
    room = ["bwrap", "--bind", "/", "/", "--dev", "/dev", "--remount-ro", "/dev", "--proc", "/proc"]
    if subprocess.run([*room, "true"], check=False).returncode:
        pytest.skip("bubblewrap may not make a room here")
    refused = subprocess.run([*room, "touch", "/dev/shm/x"], check=False, stderr=subprocess.DEVNULL)
    assert refused.returncode
    run = subprocess.run(
        [*room, sys.executable, script], capture_output=True, text=True, check=True
    )
    assert run.stdout == "None [10, 10, 10, 10]\n"


def test_importing_is_quick_and_needs_no_torch(environment: None) -> None:
    """`import warpwise` loads neither PyTorch nor the launcher; the launcher loads no PyTorch."""
    code = (
        "import sys, warpwise; assert 'warpwise.ranks' not in sys.modules; "
        "from warpwise import run_ranks; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_missing_torch_is_named(environment: None, tmp_path: Path) -> None:
    """Where PyTorch cannot be imported, the first use says so."""
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')")
    code = "from warpwise import run_ranks; run_ranks(print, 2)"
    path = os.pathsep.join([str(tmp_path), str(COURSE)])
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    last = run.stderr.splitlines()[-1]
    assert last.startswith(
        "RuntimeError: ranks cannot start: torch cannot be imported: ImportError"
    )
