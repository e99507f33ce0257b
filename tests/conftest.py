"""Shared by all tests: long tests first, and a closing list of what was left out and why."""

from __future__ import annotations

from collections import Counter

import pytest

# Longest first, so that two workers finish at about the same time.
LONG_MARKERS = ("env", "browser", "slow")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the longest tests first; the order is otherwise as collected."""

    def rank(item: pytest.Item) -> int:
        for place, marker in enumerate(LONG_MARKERS):
            if item.get_closest_marker(marker):
                return place
        return len(LONG_MARKERS)

    items.sort(key=rank)


def skip_reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """The reason a test was skipped, as its author wrote it."""
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    return str(report.longrepr)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Ends with a list of what was left out and why, one line a reason."""
    skipped = terminalreporter.stats.get("skipped", [])
    if not skipped:
        return
    reasons = Counter(skip_reason(report) for report in skipped)
    terminalreporter.section("left out")
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"{count:4d}  {reason}")
