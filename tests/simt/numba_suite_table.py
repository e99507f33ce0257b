"""The table of Numba's kernels: one file with every kernel, one with the counts by reason."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tests.simt.numba_suite_reasons import OUT_OF_SCOPE, group

SUMMARY = Path(__file__).with_name("numba_suite.csv")
KERNELS = Path(__file__).with_name("numba_suite_kernels.csv")
UPDATE = "python -m tests.simt.numba_suite --update"
VERSION = "0.30.4"  # the release the table was made with; lines move between releases


class Row(NamedTuple):
    """One kernel: the file and line of its def, and what became of it."""

    module: str
    file: str
    line: int
    kernel: str
    outcome: str
    reason: str


class Report(NamedTuple):
    """What one module gave: its kernels, and (verdict, reason) of its tests, counted."""

    module: str
    rows: list[Row]
    tests: Counter[tuple[str, str]]


def summary(rows: Iterable[Row], tests: dict[str, Counter[tuple[str, str]]]) -> list[list[str]]:
    """Rows of the summary: (what, outcome, reason, count), the largest counts first."""
    lines: list[list[str]] = []
    kernels = Counter((row.outcome, group(row.reason)) for row in rows)
    verdicts: Counter[tuple[str, str]] = Counter()
    for counted in tests.values():
        for (verdict, reason), n in counted.items():
            verdicts[verdict, group(reason)] += n
    left_out = Counter(
        {
            ("out of scope", f"{part}: {reason}"): len(names.split())
            for part, reasons in OUT_OF_SCOPE.items()
            for reason, names in reasons.items()
        }
    )
    for what, counter in (("kernels", kernels), ("tests", verdicts), ("modules", left_out)):
        for (outcome, reason), n in sorted(counter.items(), key=lambda item: (-item[1], item[0])):
            lines.append([what, outcome, reason, str(n)])
    return lines


def read() -> tuple[list[Row], dict[str, Counter[tuple[str, str]]]]:
    """The table: kernels, and the counted tests of each module."""
    rows: list[Row] = []
    tests: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    with KERNELS.open(newline="") as file:
        for module, path, line, kernel, outcome, reason in list(csv.reader(file))[1:]:
            if path == "tests":  # line is their number
                tests[module][outcome, reason] += int(line)
            else:
                rows.append(Row(module, path, int(line), kernel, outcome, reason))
    return rows, tests


def write(reports: Iterable[Report]) -> None:
    """Write both files."""
    rows, tests = [], {}
    with KERNELS.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(Row._fields)
        for report in reports:
            table.writerows(report.rows)
            for (verdict, reason), n in sorted(report.tests.items()):
                table.writerow([report.module, "tests", n, "", verdict, reason])
            rows.extend(report.rows)
            tests[report.module] = report.tests
    with SUMMARY.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["what", "outcome", "reason", "count"])
        table.writerows(summary(rows, tests))


def differences(report: Report) -> list[str]:
    """What this run of a module says otherwise than the table, one line each, worst first."""
    rows, tests = read()
    before = {row[:4]: row for row in rows if row.module == report.module}
    after = {row[:4]: row for row in report.rows}
    found = []
    for key in sorted(before.keys() | after.keys()):
        old = before[key].outcome if key in before else "not there"
        new = after[key].outcome if key in after else "not there"
        reason = after[key].reason if key in after else ""
        if (old, before.get(key)) != (new, after.get(key)):
            bad = new in ("wrong", "internal", "accepted") or old in ("passed", "partly")
            found.append((not bad, f"{key[1]}:{key[2]} {key[3]}: {old} -> {new}  {reason}"))
    lines = [line for _, line in sorted(found)]
    if report.tests != tests.get(report.module, Counter()):
        lines.append(f"tests: {sorted((report.tests - tests[report.module]).items())} are new")
    return [f"{report.module}: {line}" for line in lines]


def show(rows: list[Row]) -> str:
    """The share of kernels by outcome, in words."""
    counted = Counter(row.outcome for row in rows)
    lines = [f"{len(rows)} kernels of numba-cuda {VERSION}"]
    lines += [f"{n:5d}  {n / len(rows):5.1%}  {outcome}" for outcome, n in counted.most_common()]
    return "\n".join(lines)
