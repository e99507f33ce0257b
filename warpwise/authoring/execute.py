"""Run a lesson on the simulator and keep what it prints."""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from warpwise.authoring.errors import ExecutionError
from warpwise.authoring.notebook import LANGUAGE_INFO
from warpwise.authoring.outputs import find_faults, normalise, private_folders, without_colours

CELL_SECONDS = 300


class _ThisInterpreter(KernelSpecManager):
    """Knows one kernel: the Python that runs this program. Nothing need be registered."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        # An author's history is neither read nor written; only errors of the kernel are logged.
        argv += ["--HistoryManager.enabled=False", "--IPKernelApp.log_level=40"]
        return KernelSpec(argv=argv, display_name=kernel_name, language="python")


class _Recorder(NotebookClient):
    """Stores what nbval will compare: every output, in the cell that sent it.

    nbval plays no front end, so neither does this: an Output widget does not take a cell's outputs
    away, and clear_output clears nothing.
    """

    def __init__(self, notebook: NotebookNode, **options: Any) -> None:
        super().__init__(notebook, **options)
        self.comm_open_handlers = {}
        self.current = NotebookNode(id="", source="")

    async def async_execute_cell(self, cell: NotebookNode, *args: Any, **kwargs: Any) -> Any:
        """Runs one cell, remembering which, for messages."""
        if cell.cell_type == "code":
            self.current = cell
        return await super().async_execute_cell(cell, *args, **kwargs)

    def create_kernel_manager(self) -> AsyncKernelManager:
        self.km = AsyncKernelManager(kernel_name="warpwise", kernel_spec_manager=_ThisInterpreter())
        return self.km

    def clear_output(self, *_: Any) -> None:
        """Nothing to clear, see the class."""


def execute(
    notebook: NotebookNode, folder: Path, root: Path, name: str, seconds: int = CELL_SECONDS
) -> None:
    """Run all cells in a fresh kernel, in place, and make the outputs fit to commit.

    folder: where the kernel runs; root: the course, put first on its import path; name: for
    messages; seconds: what one cell may take. The kernel has WARPWISE_BACKEND=sim, so that a
    lesson's numbers are the same on every machine. Raises ExecutionError for any cell that fails,
    takes too long, or prints what would differ in the next run.
    """
    client = _Recorder(
        notebook,
        timeout=seconds,
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(folder)}},
    )
    paths = [str(root), os.environ.get("PYTHONPATH", "")]
    with tempfile.TemporaryDirectory() as profile:
        environment = {
            **os.environ,
            "WARPWISE_BACKEND": "sim",
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
            "IPYTHONDIR": profile,
        }
        try:
            client.execute(env=environment)
        except CellExecutionError as error:
            cell_id = client.current.id
            raise ExecutionError(
                f"{name}: cell '{cell_id}' failed.\n{without_colours(str(error))}"
            ) from None
        except CellTimeoutError:
            source = client.current.source
            raise ExecutionError(
                f"{name}: a cell took longer than {seconds} s:\n{source}"
            ) from None
        except DeadKernelError:
            source = client.current.source
            raise ExecutionError(f"{name}: the kernel died in this cell:\n{source}") from None
        except RuntimeError as error:
            # nbclient leaves this behind when a start fails, and it complains at exit.
            atexit.unregister(client._cleanup_kernel)
            raise ExecutionError(f"{name}: the kernel did not start. {error}") from None
    notebook.metadata["language_info"] = dict(LANGUAGE_INFO)
    normalise(notebook)
    folders = private_folders(root)
    faults = [
        f"{name}: cell '{cell.id}' cannot be committed: {fault}."
        for cell in notebook.cells
        if cell.cell_type == "code" and "timing" not in cell.metadata.get("tags", [])
        for fault in find_faults(cell, folders)
    ]
    if faults:
        raise ExecutionError("\n".join(faults))


def is_executed(notebook: NotebookNode) -> bool:
    """Whether every code cell was run once, in order, in one fresh kernel; `gpu` cells aside."""
    counts = [
        cell.execution_count
        for cell in notebook.cells
        if cell.cell_type == "code" and "skip-execution" not in cell.metadata.get("tags", [])
    ]
    return counts == list(range(1, len(counts) + 1))
