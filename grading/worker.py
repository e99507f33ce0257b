"""`python -m grading.worker LAB`: grades one submission after another, each a line of JSON.

A worker is a process of its own so that a submission which breaks the grader breaks one worker
and nobody else's row.  Requests come on standard input, results go to standard output.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from grading.child import import_faster
from grading.intake import Submission
from grading.reasons import SubmissionError
from grading.results import Result, grader_error
from grading.run import Limits

# Address space for reading and judging; kernels are judged in the simulator, without a CUDA driver.
MEMORY_BYTES = 6_000_000_000


def request(submission: Submission, seed: int, limits: Limits) -> dict[str, Any]:
    """The request for one submission, as plain data."""
    refusal = submission.refusal
    return {
        "student": submission.student,
        "identity": submission.identity,
        "path": os.fsencode(submission.path).hex() if submission.path else None,
        "refusal": [refusal.reason, refusal.sentence, refusal.status] if refusal else None,
        "seed": seed,
        "limits": vars(limits),
    }


def _submission(data: dict[str, Any]) -> Submission:
    path = Path(os.fsdecode(bytes.fromhex(data["path"]))) if data["path"] else None
    refusal = SubmissionError(*data["refusal"]) if data["refusal"] else None
    return Submission(data["student"], data["identity"], path, refusal)


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
    from grading.grade import grade_one

    lab = load_lab(argv[0])
    print(json.dumps({"ready": lab.max_points}), file=replies, flush=True)
    for line in sys.stdin:
        data = json.loads(line)
        submission = _submission(data)
        result: Result
        try:
            result = grade_one(submission, lab, data["seed"], Limits(**data["limits"]))
        except Exception:
            result = grader_error(
                submission.student,
                submission.identity,
                lab.unit,
                lab.max_points,
                traceback.format_exc(),
            )
        print(json.dumps(result.to_dict(), allow_nan=False), file=replies, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
