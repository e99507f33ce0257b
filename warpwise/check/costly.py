"""A right kernel that costs too much: which requirement it breaks, and at which line."""

from __future__ import annotations

from typing import Any

from ..observe.report import Line, Report
from . import clues
from .counting import count
from .failure import Failure
from .report import Row
from .requirements import Broken, broken
from .spec import KernelSpec

ROWS = 4


def costly(spec: KernelSpec, kernel: Any) -> list[Failure]:
    """The first requirement that is not met, as a failure; none when all are."""
    assert spec.counted is not None
    case = spec.counted()
    counted, report = count(kernel, case, spec.poisoned)
    found = broken(spec.requirements, spec.unit, spec.name, case, counted)
    if not found:
        return []
    first = found[0]
    slug = first.requirement.diagnosis
    again = None if slug in spec.causes else _again(kernel, report, first)
    return [
        Failure(
            case, {slug: spec.causes.get(slug) or again or _cause(report, first)},
            f"The values are right.  {first}", _lines(report, first),
            hint=clues.AGAIN if again else "",
        )
    ]  # fmt: skip


def _again(kernel: Any, report: Report, found: Broken) -> str | None:
    """A sentence on an element that is loaded twice, where it is loads that cost too much."""
    if found.requirement.counter not in _LOADS:
        return None
    own = (line for line in report.lines if line.function == kernel.name)
    return clues.loaded_again(
        kernel.source, {line.number: line.arrays.get("loads", {}) for line in own}
    )


def _cause(report: Report, found: Broken) -> str:
    """The report's own sentence on its worst line, if that line costs what there is too much of."""
    costing = {line.number for _, line in _costs(report, found)}
    if found.requirement.counter == "float64" and costing:
        where = ", ".join(str(number) for number in sorted(costing))
        return (
            f"A float32 meets a wider number in line {where}: 1.0 is a float64, and a float32 plus "
            "an integer, even 1, becomes one.  Write np.float32(1)."
        )
    if report.worst is not None and (not costing or report.worst[0].number in costing):
        line, why = report.worst
        return f"Line {line.number}: {why}."
    if found.requirement.counter == "shared_bytes":
        return "The shared arrays are larger than the work of a block needs."
    asked, different = found.counted, sum(report.unique_sectors.values())
    if found.requirement.counter in ("load_sectors", "sectors") and asked > 2 * different:
        return (
            f"The same sectors are asked for again and again: {asked:,} in all, {different:,} "
            "different ones."
        )
    return "No single line wastes much; there are too many of them, or they run too often."


def _costs(report: Report, found: Broken) -> list[tuple[int, Line]]:
    """The lines that cost what there is too much of, the dearest first."""
    read = _PER_LINE.get(found.requirement.counter)
    if read is None:
        return []
    costs = [(read(line), line) for line in report.lines]
    return sorted((one for one in costs if one[0]), key=lambda one: (-one[0], one[1].number))


def _lines(report: Report, found: Broken) -> tuple[Row, ...]:
    """The lines that cost most of what there is too much of."""
    costs = _costs(report, found)
    if not costs:
        return ()
    head: list[Row] = [("line", "costs", "")]
    return tuple(
        head + [(str(line.number), f"{cost:,}", line.text.strip()) for cost, line in costs[:ROWS]]
    )


def _sectors(line: Line) -> int:
    return line.loads.sectors + line.stores.sectors


_LOADS = ("load_sectors", "sectors", "loads")
_PER_LINE = {
    "load_sectors": lambda line: line.loads.sectors,
    "store_sectors": lambda line: line.stores.sectors,
    "sectors": _sectors,
    "loads": lambda line: line.loads.requests,
    "stores": lambda line: line.stores.requests,
    "bank_conflicts": lambda line: line.shared.bank_conflicts,
    "wavefronts": lambda line: line.shared.wavefronts,
    "shared_requests": lambda line: line.shared.requests,
    "local_requests": lambda line: line.local.requests,
    "barriers": lambda line: line.barriers,
    "atomics": lambda line: line.atomics.requests,
    "atomic_transactions": lambda line: line.atomics.transactions,
    "shared_atomic_transactions": lambda line: line.shared_atomics.transactions,
    "divergent_branches": lambda line: line.branches.divergent,
    "issue_slots": lambda line: line.work.slots,
    "float64": lambda line: line.flops.get("float64", 0),
    "flops": lambda line: sum(line.flops.values()),
    "integer_operations": lambda line: sum(line.integer_operations.values()),
}
