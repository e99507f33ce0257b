"""Starts the real JupyterLab of a course folder, the way `make lab` does, for a test."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# What a fresh clone would hold; environments, caches and a developer's own copies stay behind.
LEFT_BEHIND = shutil.ignore_patterns(
    ".git", ".venv", "mine", "__pycache__", ".*_cache", ".hypothesis", ".ipynb_checkpoints"
)
START_SECONDS = 120


@dataclass(frozen=True)
class Server:
    """A running JupyterLab: its address with the token, and the folder it serves."""

    url: str
    token: str
    root: Path

    @property
    def start(self) -> str:
        """The address that `make lab` prints and opens."""
        return f"{self.url}/?token={self.token}"

    def page(self, path: str) -> str:
        """The address that opens a file, and only it.  path: relative to the root."""
        workspace = path.replace("/", "-").removesuffix(".ipynb")
        return f"{self.url}/lab/workspaces/{workspace}/tree/{path}?token={self.token}"


def copy_course(course: Path, target: Path) -> Path:
    """Copies a course folder as a fresh clone would hold it.  Returns the copy."""
    shutil.copytree(course, target, ignore=LEFT_BEHIND)
    return target


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def private_environment(root: Path, scratch: Path) -> dict[str, str]:
    """Variables that keep a test away from the user's own Jupyter, and on the simulator."""
    kernel = scratch / "data/kernels/warpwise"
    kernel.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": command, "display_name": "Warpwise", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(spec))
    # The whole notebook in the page: a cell scrolled out of sight would otherwise not be there.
    tracker = scratch / "settings/@jupyterlab/notebook-extension/tracker.jupyterlab-settings"
    tracker.parent.mkdir(parents=True, exist_ok=True)
    tracker.write_text(json.dumps({"windowingMode": "none"}))
    return {
        **os.environ,
        "WARPWISE_BACKEND": "sim",
        "PYTHONPATH": str(root),
        "JUPYTER_DATA_DIR": str(scratch / "data"),
        "JUPYTER_CONFIG_DIR": str(scratch / "config"),
        "JUPYTER_RUNTIME_DIR": str(scratch / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(scratch / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(scratch / "workspaces"),
        "IPYTHONDIR": str(scratch / "ipython"),
    }


def wait_until_up(url: str, token: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Returns when the server answers; fails with its log when it ends or takes too long."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise AssertionError(f"JupyterLab ended at once:\n{log.read_text()}")
        try:
            with urllib.request.urlopen(f"{url}/api/status?token={token}", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)  # between two questions; nothing is assumed about how long it takes
    raise AssertionError(f"JupyterLab did not answer in {START_SECONDS} s:\n{log.read_text()}")


@contextmanager
def serve(root: Path, scratch: Path) -> Iterator[Server]:
    """Runs `python -m warpwise lab` on a course folder until the block ends.

    root: the folder, which it may write into.  scratch: where Jupyter keeps its own files.
    """
    token, port = secrets.token_hex(16), free_port()
    url, log = f"http://127.0.0.1:{port}", scratch / "jupyterlab.log"
    command = [
        *(sys.executable, "-m", "warpwise", "lab", "--no-browser"),
        *("--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}", "--ServerApp.port_retries=0"),
        f"--IdentityProvider.token={token}",
    ]
    environment = private_environment(root, scratch)
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=root, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        wait_until_up(url, token, process, log)
        yield Server(url, token, root)
    finally:
        process.terminate()  # the server ends its kernels itself
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
