"""Run a lesson on the simulator and keep what it prints."""

from __future__ import annotations

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
        # Quiet: an author's history file is neither read nor written.
        argv.append("--HistoryManager.enabled=False")
        return KernelSpec(argv=argv, display_name=kernel_name, language="python")


class _Recorder(NotebookClient):
    """Stores what nbval will compare: every output, in the cell that sent it.

    nbval plays no front end, so neither does this: an Output widget does not take a cell's outputs
    away, and clear_output clears nothing.
    """

    def __init__(self, notebook: NotebookNode, **options: Any) -> None:
        super().__init__(notebook, **options)
        self.comm_open_handlers = {}

    def create_kernel_manager(self) -> AsyncKernelManager:
        self.km = AsyncKernelManager(kernel_name="warpwise", kernel_spec_manager=_ThisInterpreter())
        return self.km

    def clear_output(self, *_: Any) -> None:
        """Nothing to clear, see the class."""


def execute(notebook: NotebookNode, folder: Path, root: Path, name: str) -> None:
    """Run all cells in a fresh kernel, in place, and make the outputs fit to commit.

    folder: where the kernel runs; root: the course, put first on its import path; name: for
    messages. The kernel has WARPWISE_BACKEND=sim, so that a lesson's numbers are the same on every
    machine. Raises ExecutionError for any cell that fails, takes longer than CELL_SECONDS, or
    prints what would differ in the next run.
    """
    client = _Recorder(
        notebook,
        timeout=CELL_SECONDS,
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
            cell = _failed_cell(notebook)
            raise ExecutionError(
                f"{name}: cell '{cell}' failed.\n{without_colours(str(error))}"
            ) from None
        except (CellTimeoutError, DeadKernelError) as error:
            raise ExecutionError(f"{name}: {error}") from None
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


def _failed_cell(notebook: NotebookNode) -> str:
    for cell in notebook.cells:
        if any(output.output_type == "error" for output in cell.get("outputs", [])):
            if "raises-exception" not in cell.metadata.get("tags", []):
                return str(cell.id)
    return "?"
