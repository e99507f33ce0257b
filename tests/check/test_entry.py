"""check() in a notebook: which inputs it draws."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from warpwise.check import entry


@pytest.mark.parametrize(
    ("names", "seed"),
    [({}, 0), ({"SEED": 7}, 7), ({"SEED": -1}, 0), ({"SEED": "7"}, 0), ({"SEED": True}, 0)],
)
def test_the_notebooks_seed_is_taken(
    monkeypatch: pytest.MonkeyPatch, names: dict[str, Any], seed: int
) -> None:
    """SEED, where it is a seed; papermill's `-p SEED 7` defines it."""
    session = SimpleNamespace(user_ns=names)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: session))

    assert entry._seed() == seed


def test_outside_of_a_notebook_it_is_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """And an explicit one always wins."""
    monkeypatch.setattr(entry.record, "in_notebook", lambda: False)

    assert entry._seed() == entry.SEED
    answer = entry.check("blocks_for", lambda n, block: -(-n // block), seed=3)
    assert answer.status == "pass"
