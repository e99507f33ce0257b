"""Random kernels: the simulator against compiled code that runs one thread at a time."""

from __future__ import annotations

import pytest

from tests.simt import random_kernels


@pytest.mark.parametrize("start", range(0, 10, 5))
def test_random_kernels_agree_with_compiled_code(start: int) -> None:
    """Kernels with nested control flow and mixed types give the same integers and floats."""
    assert [t for t in map(random_kernels.compare, range(start, start + 5)) if t] == []


@pytest.mark.slow
@pytest.mark.parametrize("start", range(5000, 5120, 40))
def test_many_random_kernels_agree_with_compiled_code(start: int) -> None:
    """The same over more kernels."""
    assert [t for t in map(random_kernels.compare, range(start, start + 40)) if t] == []


def test_the_comparison_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulator that adds wrongly is caught."""
    from warpwise.simt import ops

    monkeypatch.setitem(ops.BINARY, "Add", (ops.BINARY["Add"][0], "-"))
    assert any(random_kernels.compare(seed) for seed in range(2))
