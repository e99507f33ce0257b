"""Shared by all tests: long tests first, and a closing list of what was left out and why."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from warpwise import backend

# From the longest on.  Everything without one of these markers is short.
LONG_MARKERS = ("env", "browser", "slow")


def rank(item: pytest.Item) -> int:
    """Place of a test's longest marker in LONG_MARKERS; their number for a short test."""
    for place, marker in enumerate(LONG_MARKERS):
        if item.get_closest_marker(marker):
            return place
    return len(LONG_MARKERS)


def deal(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """Orders tests so that each worker starts with its share of the long ones.

    With --dist worksteal each worker gets one contiguous part of the list, and takes over short
    tests from another when it has done its own.  Long tests of one file stay together: they share
    servers and environments.
    """
    long = sorted((item for item in items if rank(item) < len(LONG_MARKERS)), key=rank)
    short = [item for item in items if rank(item) == len(LONG_MARKERS)]
    files = list(dict.fromkeys(item.path for item in long))
    parts: list[list[pytest.Item]] = [[] for _ in range(workers)]
    for number, path in enumerate(files):
        parts[number % workers] += [item for item in long if item.path == path]
    ordered: list[pytest.Item] = []
    for number, part in enumerate(parts):
        size = (len(items) - len(ordered)) // (workers - number)
        fill = max(0, size - len(part))
        ordered += part + short[:fill]
        short = short[fill:]
    return ordered


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first, dealt over the workers; tests for a GPU are skipped where there is none."""
    if any(item.get_closest_marker("gpu") for item in items) and backend() != "gpu":
        left_out = pytest.mark.skip(reason="needs an NVIDIA GPU that works")
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(left_out)
    items[:] = deal(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


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
