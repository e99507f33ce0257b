"""papermill's engine with limits: a time for each cell, a size for all output, a log of events.

An endless loop is interrupted and the notebook goes on.  Output over the limit is thrown away as
it arrives, so it fills neither memory nor disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from jupyter_core.utils import run_sync
from nbclient.exceptions import CellTimeoutError
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import NBClientEngine, papermill_engines

ENGINE = "warpwise"
# Cells of a student's own may be slow to hand over a flood of output after they ended.
_WAIT_FOR_OUTPUT_S = 20


class LimitedClient(PapermillNotebookClient):
    """Runs cells one by one and reports to `tell(kind, cell_id, fact)`."""

    def __init__(self, nb_man: Any, tell: Callable[..., None], output_limit: int, **kw: Any):
        super().__init__(nb_man, raise_on_iopub_timeout=False, **kw)
        self.tell = tell
        self.output_left = output_limit
        self.files = os.getcwd()  # where the notebook's code writes
        self.cell_id = ""
        self.interrupted = ""
        self.quit_by = ""

    async def async_execute_cell(self, cell: Any, cell_index: int, **kw: Any) -> Any:
        self.cell_id = cell.get("id", "")
        self.tell("start", self.cell_id)
        done = await super().async_execute_cell(cell, cell_index, **kw)
        self.tell("end", self.cell_id)
        return done

    # nbclient's own synchronous form is bound to the method that is replaced above.
    execute_cell = run_sync(async_execute_cell)

    def process_message(self, msg: dict[str, Any], cell: Any, cell_index: int) -> Any:
        kind = msg["msg_type"]
        if kind in ("stream", "display_data", "execute_result", "update_display_data", "error"):
            self.output_left -= _size(msg["content"])
            if self.output_left < 0:
                if self.output_left > -(10**18):
                    self.tell("flood", self.cell_id)
                    self.output_left = -(10**18)
                return None
        elif kind.startswith("comm"):
            return None  # a widget needs nobody to answer, and its state is not graded
        return super().process_message(msg, cell, cell_index)

    async def _check_raise_for_error(self, cell: Any, cell_index: int, exec_reply: Any) -> None:
        content = (exec_reply or {}).get("content") or {}
        if any(entry.get("source") == "ask_exit" for entry in content.get("payload") or ()):
            # IPython's exit() ends the kernel a little later, when another cell is running.
            self.quit_by = self.cell_id
            self.tell("error", self.cell_id, "SystemExit")
        if content.get("status") == "error":
            self.tell("error", self.cell_id, str(content.get("ename"))[:60])
            if not os.statvfs(self.files).f_bavail:
                self.tell("full", self.cell_id)
        await super()._check_raise_for_error(cell, cell_index, exec_reply)

    async def _async_handle_timeout(self, timeout: int, cell: Any = None) -> Any:
        if self.interrupted == self.cell_id:
            self.tell("deaf", self.cell_id)
            raise CellTimeoutError.error_from_timeout_and_cell("Not interruptible", timeout, cell)
        self.interrupted = self.cell_id
        self.tell("timeout", self.cell_id)
        return await super()._async_handle_timeout(timeout, cell)

    async def _async_check_alive(self) -> None:
        provisioner = getattr(self.km, "provisioner", None)
        code = await provisioner.poll() if provisioner is not None else None
        if code is not None:
            self.tell("died", self.quit_by or self.cell_id, code)
        await super()._async_check_alive()


def _size(content: dict[str, Any]) -> int:
    """Characters that an output message carries, about."""
    size = len(content.get("text") or "") if isinstance(content.get("text"), str) else 0
    for value in (content.get("data") or {}).values():
        size += len(value) if isinstance(value, (str, bytes)) else len(repr(value))
    return size + sum(len(str(line)) for line in content.get("traceback") or ()) + 50


class LimitedEngine(NBClientEngine):
    """The papermill engine that uses `LimitedClient`."""

    @classmethod
    def execute_managed_notebook(  # type: ignore[override]
        cls,
        nb_man: Any,
        kernel_name: str,
        log_output: bool = False,
        stdout_file: Any = None,
        stderr_file: Any = None,
        start_timeout: int = 60,
        execution_timeout: int | None = None,
        **kwargs: Any,
    ) -> Any:
        client = LimitedClient(
            nb_man,
            tell=kwargs["tell"],
            output_limit=kwargs["output_limit"],
            kernel_name=kernel_name,
            timeout=execution_timeout,
            startup_timeout=start_timeout,
            interrupt_on_timeout=True,
            iopub_timeout=_WAIT_FOR_OUTPUT_S,
            allow_errors=True,
            store_widget_state=False,
            shutdown_kernel="immediate",
        )
        return client.execute()


def register() -> str:
    """Make the engine known to papermill; returns its name."""
    papermill_engines.register(ENGINE, LimitedEngine)
    return ENGINE
