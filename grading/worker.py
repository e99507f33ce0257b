"""`python -m grading.worker LAB`: grades one submission after another, each a line of JSON.

A worker is a process of its own so that a submission which breaks the grader breaks one worker
and nobody else's row.  Requests come on standard input (see `grading.requests`), results go to
standard output.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback

from grading.child import import_faster
from grading.results import Result, grader_error

# Address space for reading and judging; kernels are judged in the simulator, without a CUDA driver.
MEMORY_BYTES = 6_000_000_000


def limit_memory() -> None:
    """Let a submission made to fill the memory fill this process only.

    Children may set their own limit: only the soft one is lowered.
    """
    try:
        import resource
    except ImportError:  # not on Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or hard > MEMORY_BYTES:
        with contextlib.suppress(ValueError, OSError):  # macOS has no such limit
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, hard))


def main(argv: list[str]) -> int:
    """Answer requests until standard input ends."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.environ["WARPWISE_BACKEND"] = "sim"
    # What a library prints must not get among the replies.
    os.dup2(2, 1)
    limit_memory()
    import_faster()
    from grading.course import load_lab
    from grading.desk import Desk

    lab = load_lab(argv[0])
    print(json.dumps({"ready": lab.max_points}), file=replies, flush=True)
    desk = Desk(lab)
    for line in sys.stdin:
        data = json.loads(line)
        result: Result
        try:
            result = desk.answer(data)
        except Exception:
            result = grader_error(
                data.get("student", ""),
                data.get("identity", ""),
                lab.unit,
                lab.max_points,
                traceback.format_exc(),
            )
        print(json.dumps(result.to_dict(), allow_nan=False), file=replies, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
