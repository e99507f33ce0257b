"""Write what the solutions cost: `python -m warpwise.authoring.baselines [unit ...]`.

One JSON file a unit under warpwise/check/baselines/, for the exercises that count something.  A
learner's copy of the course has these files and needs no solutions.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from .. import curriculum
from ..check import KernelSpec, specs
from ..check.counting import count
from ..check.requirements import path_of
from ..simt import as_kernel
from .answers import answers_of


def baseline_of(unit: curriculum.Unit) -> dict[str, dict[str, int]]:
    """Exercise -> counter -> cost of the solution on the counted case."""
    counted = [
        spec for spec in specs.for_unit(unit.name)
        if isinstance(spec, KernelSpec) and spec.counted is not None
    ]  # fmt: skip
    if not counted:
        return {}
    answers = answers_of(unit)
    found = {}
    for spec in counted:
        assert spec.counted is not None
        costs, _ = count(as_kernel(answers[spec.name]), spec.counted(), spec.poisoned)
        found[spec.name] = costs
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files of the units named, or of all written ones."""
    wanted = list(sys.argv[1:] if arguments is None else arguments)
    for unit in curriculum.load().written:
        if wanted and unit.name not in wanted:
            continue
        path, found = path_of(unit.name), baseline_of(unit)
        if not found:
            path.unlink(missing_ok=True)
            continue
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(f"wrote {path.name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
