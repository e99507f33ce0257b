"""`python -m grading.child JOB`: papermill with limits, in a process of its own.

JOB is a folder with `job.json` and `notebook.ipynb`.  What happens to each cell is appended to
`out/events.jsonl`, so it is known even when this process is killed.  Whoever reads that file must
not trust it: the student's code runs with the same rights.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any


def limit_resources(memory_mb: int, file_mb: int, threads: int | None) -> None:
    """Limit memory, file size, core dumps and threads of this process and of all it starts.

    The memory limit is on address space; with a CUDA driver it would have to be a cgroup's.
    """
    try:
        import resource
    except ImportError:  # not on Windows
        return
    wanted = [
        (resource.RLIMIT_AS, memory_mb * 1_000_000),
        (resource.RLIMIT_FSIZE, file_mb * 1_000_000),
        (resource.RLIMIT_CORE, 0),
    ]
    if threads is not None:
        wanted.append((resource.RLIMIT_NPROC, threads))
    for kind, value in wanted:
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        try:
            resource.setrlimit(kind, (value, value))
        except (ValueError, OSError):  # macOS refuses a limit on address space
            continue


def import_faster() -> None:
    """Keep jsonschema from building a grammar for internationalised addresses at import.

    That takes longer than all other imports together, and jsonschema does without the one format.
    """
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]


def main(argv: list[str]) -> int:
    """Run the job in folder argv[0]; 0 when every cell was run, 3 when the run was cut short."""
    folder = Path(argv[0]).resolve()
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    limit_resources(job["memory_mb"], job["file_mb"], job["threads"])
    events = os.open(folder / "out" / "events.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def tell(kind: str, cell: str = "", fact: Any = None) -> None:
        os.write(events, (json.dumps([kind, cell, fact]) + "\n").encode("utf-8"))

    import_faster()
    # Only after the limits: what these imports need counts too.
    import nbformat
    from papermill import execute_notebook
    from papermill.exceptions import PapermillExecutionError

    from grading import client

    tell("imported")
    notebook = nbformat.from_dict(
        json.loads((folder / "notebook.ipynb").read_text(encoding="utf-8"))
    )
    try:
        execute_notebook(
            notebook,
            None,
            parameters=job["parameters"],
            engine_name=client.register(),
            kernel_name="python3",  # the one that is always there: this very interpreter
            progress_bar=False,
            request_save_on_cell_execute=False,
            execution_timeout=job["cell_limit_s"],
            cwd=str(folder / "cwd"),
            tell=tell,
            output_limit=job["output_mb"] * 1_000_000,
        )
    except PapermillExecutionError:
        pass  # a cell raised; the later ones ran all the same
    except Exception as error:
        tell("stopped", "", f"{type(error).__name__}: {error}"[:300])
        return 3
    tell("done")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
