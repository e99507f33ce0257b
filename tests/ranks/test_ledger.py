"""The ledger counts what real ranks move, and knows what algorithms should cost."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

from tests.ranks.algorithms import run
from warpwise.ranks import run_ranks
from warpwise.ranks.ledger import Ledger

COUNTS_FILE = Path(__file__).parents[1] / "fabric" / "counts.csv"


COUNTS = list(csv.DictReader(COUNTS_FILE.read_text().splitlines()[1:]))


@pytest.mark.parametrize("row", [r for r in COUNTS if int(r["ranks"]) <= 8],
                         ids=lambda row: f"{row['algorithm']}-{row['ranks']}")  # fmt: skip
def test_real_ranks_cost_what_the_algorithm_says(row: dict[str, str]) -> None:
    """Hand-written algorithms on real ranks: rounds and bytes equal the theory to the digit."""
    elements, n = 64, int(row["ranks"])
    outcome = run_ranks(run, n, row["algorithm"], elements, echo=False)
    found = outcome.ledger.against(row["algorithm"], 4 * elements)
    assert found.agrees, found
    assert found.counted_rounds == int(row["rounds"])
    assert found.counted_bytes == float(row["sent"]) * 4 * elements
    assert not outcome.diagnosis


def test_a_root_is_the_busiest() -> None:
    """Gather and broadcast through rank 0 load its link n - 1 times, one message at a time."""
    ledger = run_ranks(run, 4, "through the root", 16, echo=False).ledger
    assert ledger.against("through the root", 64).agrees
    assert ledger.of("send").bytes == [192, 64, 64, 64]


def test_blocking_calls_double_the_rounds() -> None:
    """A send before each recv on half of the ranks makes two rounds of one."""
    ledger = run_ranks(run, 4, "blocking ring", 16, echo=False).ledger
    found = ledger.against("ring all-reduce", 64)
    assert (found.counted_rounds, found.expected_rounds) == (12, 6)
    assert not found.agrees and "12 rounds counted, 6 expected" in str(found)


def mixed() -> None:
    pair = dist.new_group([0, 1])
    x = torch.ones(256)
    for _ in range(3):
        dist.all_reduce(x)
    if dist.get_rank() < 2:
        dist.all_reduce(x, group=pair)
    dist.all_gather_into_tensor(torch.empty(4 * 256), x)
    dist.reduce_scatter_tensor(torch.empty(64), x)
    dist.broadcast(x, 2)


@pytest.fixture(scope="module")
def ledger() -> Ledger:
    return run_ranks(mixed, 4, echo=False).ledger


def test_bytes_by_operation(ledger: Ledger) -> None:
    """Collectives: calls and bytes handed in; a broadcast's bytes are its root's."""
    assert ledger.of("all_reduce").calls == [4, 4, 3, 3]
    assert ledger.of("all_reduce").bytes == [4096, 4096, 3072, 3072]
    assert ledger.of("all_gather").bytes == [1024] * 4
    assert ledger.of("reduce_scatter").bytes == [1024] * 4
    assert ledger.of("broadcast").bytes == [0, 0, 1024, 0]


def test_wire_is_modelled(ledger: Ledger) -> None:
    """What moves over the wires: nccl-tests' factor times S."""
    assert ledger.of("all_reduce", range(4)).wire == [3 * 1.5 * 1024] * 4
    assert ledger.of("all_reduce", [0, 1]).wire == [1024.0, 1024.0, 0, 0]
    assert ledger.of("all_gather").wire == [0.75 * 4096] * 4
    assert ledger.of("reduce_scatter").wire == [0.75 * 1024] * 4


def only_the_root_gives_or_takes():
    x = torch.ones(4)
    parts = [torch.empty(4) for _ in range(4)] if dist.get_rank() == 0 else None
    dist.gather(x, parts)
    dist.scatter(torch.empty(1), list(x.chunk(4)) if dist.get_rank() == 0 else None)


def test_a_root_takes_in_a_gather_and_gives_in_a_scatter():
    """What goes over the links of each rank, for 16 bytes a rank and 16 bytes at the root."""
    ledger = run_ranks(only_the_root_gives_or_takes, 4, echo=False).ledger
    assert ledger.of("gather").wire == [0, 16, 16, 16]
    assert ledger.of("scatter").wire == [12, 0, 0, 0]


def uneven_and_even() -> None:
    rank = dist.get_rank()
    gives, takes = [[1, 2, 0], [0, 0, 5], [3, 0, 1]][rank], [[1, 0, 3], [2, 0, 0], [0, 5, 1]][rank]
    dist.all_to_all_single(
        torch.empty(sum(takes), 4), torch.ones(sum(gives), 4), list(takes), list(gives)
    )
    dist.all_to_all_single(torch.empty(6), torch.ones(6))
    dist.all_to_all([torch.empty(2) for _ in range(3)], [torch.ones(2) for _ in range(3)])


def test_an_all_to_all_sends_what_its_splits_give_to_others() -> None:
    """A part that stays takes no link; even parts are (n - 1)/n of the array."""
    ledger = run_ranks(uneven_and_even, 3, echo=False).ledger
    wire = [entry.wire for entry in ledger.entries]
    assert wire[:3] == [2 * 16, 5 * 16, 3 * 16]
    assert wire[3:6] == [16, 16, 16]
    assert wire[6:] == [16, 16, 16]
    assert "calls, bytes, wire and rounds counted" in str(ledger)


def test_rounds_by_rank_and_group(ledger: Ledger) -> None:
    """Collectives of the world wait for each other; those of a pair only for the pair."""
    assert ledger.rounds([0, 1]) == [1, 1, 0, 0]
    assert ledger.rounds([0, 1, 2, 3]) == [7] * 4


def functional() -> None:
    from torch.distributed import _functional_collectives

    for _ in range(2):
        y = _functional_collectives.all_reduce(torch.ones(3), "sum", dist.group.WORLD)
        y + 1


def test_functional_collectives_take_rounds() -> None:
    """They are waited for inside C++, and count all the same."""
    assert run_ranks(functional, 2, echo=False).ledger.rounds() == [2, 2]


def test_rows_are_data(ledger: Ledger) -> None:
    """to_dict is a list of plain records, one for each rank and line."""
    rows: list[dict[str, Any]] = json.loads(json.dumps(ledger.to_dict()))
    loop = [row for row in rows if row["text"] == "dist.all_reduce(x)"]
    assert [row["rank"] for row in loop] == [0, 1, 2, 3]
    assert {row["calls"] for row in loop} == {3} and {row["rounds"] for row in loop} == {3}
    assert {row["received"] for row in loop} == {3072}


def test_text_and_html(ledger: Ledger) -> None:
    """Ranks that did the same share a row; the label says what is modelled."""
    text = str(ledger)
    assert "dist.all_reduce(x)`" in text and "3 KiB" in text and "4.50 KiB" in text
    assert "0 and 1" in text and "[0, 1]" in text
    assert "wire modelled as nccl-tests' factor times S" in text
    assert "<td" in ledger._repr_html_() and "4.50 KiB" in ledger._repr_html_()
