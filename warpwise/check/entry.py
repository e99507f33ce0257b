"""`check`: what a lab calls below each exercise."""

from __future__ import annotations

import sys
import traceback
from typing import Any

from .. import progress
from . import record, specs
from .judge import judge
from .record import Record
from .report import Report

SEED = 0


def check(name: str, answer: Any, *, hint: int = 1, seed: int | None = None) -> Record:
    """Check an answer and show what came of it: `check("guarded_add", guarded_add)`.

    hint: 2 shows the plainer hint at once.  seed: of the random inputs; another one draws others.
    Without it the notebook's own SEED is taken, if it has one: `papermill LAB OUT -p SEED 7`.
    In a learner's copy of a lab the result is noted for the start page.  Never raises: a fault of
    the course itself is shown as such and costs nothing.
    """
    result = _checked(name, answer, hint, _seed() if seed is None else seed)
    if record.in_notebook():
        progress.note(name, result.status, result.points, result.max_points)
        result._ipython_display_()
    else:
        print(result.message)
    return result


def _seed() -> int:
    """SEED as the notebook defines it, where it is a whole number from 0 on; else the usual one."""
    value = sys.modules["IPython"].get_ipython().user_ns.get("SEED") if record.in_notebook() else 0
    return value if type(value) is int and value >= 0 else SEED


def _checked(name: str, answer: Any, hint: int, seed: int) -> Record:
    try:
        spec = specs.get(name)
    except specs.UnknownExerciseError as error:
        report = Report(str(error), next="Restore the check cell as it was in the lab.")
        return record.make(str(name), "", "error", 0, report, seed=seed)
    except Exception:
        return _fault(str(name), "", 0, seed)
    try:
        return judge(spec, answer, seed, hint=hint)
    except Exception:
        return _fault(spec.name, spec.unit, spec.points, seed)


def _fault(name: str, unit: str, points: float, seed: int) -> Record:
    report = Report(
        "The check itself failed.  This is not your mistake, and it costs no points.\n"
        + traceback.format_exc().rstrip(),
        next="Please report it with the text above.  You can go on with the next exercise.",
    )
    return record.make(name, unit, "error", points, report, seed=seed)
