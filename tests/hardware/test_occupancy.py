"""Occupancy against the calculator of the CUDA toolkit, cell by cell."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from warpwise.hardware import device, occupancy, what_would_change_it

TABLE = Path(__file__).with_name("occupancy.csv")
LETTERS = {"W": "warps", "R": "registers", "S": "shared memory", "B": "blocks", "b": "barriers"}


def rows() -> list[dict[str, str]]:
    with TABLE.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_cell_of_the_calculators_table() -> None:
    """456 cells: blocks, occupancy and every binding limit."""
    wrong = []
    for row in rows():
        major, minor = map(int, row["compute_capability"].split("."))
        got = occupancy(
            (major, minor), int(row["block_threads"]), int(row["registers_per_thread"]),
            int(row["static_shared_bytes"]), int(row["dynamic_shared_bytes"]),
        )  # fmt: skip
        limiters = tuple(LETTERS[letter] for letter in row["limiters"])
        expected = (int(row["blocks_per_sm"]), float(row["occupancy_pct"]), set(limiters))
        if (got.blocks, float(f"{got.percent:.4g}"), set(got.limiters)) != expected:
            wrong.append((row, got))
    assert len(rows()) == 456
    assert wrong == []


def test_nvidias_own_examples() -> None:
    """Best Practices Guide 11.1.1: 37 registers on 7.0; 128 threads 75 %, 320 threads 62.5 %
    (printed 63 %)."""
    assert occupancy((7, 0), 128, 37).percent == 75
    assert occupancy((7, 0), 128, 37).blocks == 12
    assert occupancy((7, 0), 320, 37).percent == 62.5


def test_a_published_answer_that_is_wrong() -> None:
    """A public glossary puts 19 blocks of 32 threads, 8 registers, 12 KB on an H100; the system
    keeps 1 KB of each block's shared memory, so it is 17."""
    got = occupancy("H100", 32, 8, 12 * 1024)
    assert got.blocks == 17 and got.limiters == ("shared memory",)


def test_the_register_file_has_four_parts() -> None:
    """800 threads of 80 registers are 64000 of 65536, and still do not fit."""
    got = occupancy((8, 0), 800, 80)
    assert 800 * 80 <= 65536 and not got.fits
    assert "0 blocks fit: registers" in str(got)
    assert occupancy((8, 0), 800, 72).blocks == 1


def test_a_full_wave_and_one_block_more() -> None:
    """H100, 8 blocks an SM: 1056 blocks are one wave, 1057 need two, half of it idle."""
    got = occupancy("H100", 256, 32)
    sms = int(device("H100").sms.value)
    assert got.blocks == 8
    assert got.waves(1056, sms) == 1 and got.tail_efficiency(1056, sms) == 1
    assert got.tail_efficiency(1057, sms) == pytest.approx(0.5005, abs=5e-5)


def test_a_smaller_carveout_is_rounded_up() -> None:
    """Asking for 20 KB gives 32 KB: two blocks of 12 KB and their reserve."""
    assert occupancy("A100", 64, 32, 12 * 1024, carveout_kb=20).blocks == 2


def test_what_would_change_it_names_the_nearest_step() -> None:
    """256 threads, 40 registers on 8.0: 75 %; 32 registers fill the SM."""
    now = occupancy((8, 0), 256, 40)
    said = what_would_change_it(now)
    assert now.limiters == ("registers",)
    assert said[0] == "32 registers a thread instead of 40: 64 warps (100 %)."
    assert what_would_change_it(occupancy((8, 0), 256, 32)) == []


@pytest.mark.parametrize(("args", "said"), [
    ((0,), "threads is 0"), ((128, -1), "registers is -1"), ((128.0,), "threads is 128.0"),
])  # fmt: skip
def test_impossible_numbers_get_a_sentence(args: tuple, said: str) -> None:
    """Zero threads, negative registers, fractions."""
    with pytest.raises(ValueError, match=said):
        occupancy((8, 0), *args)


def test_unknown_capabilities_are_listed() -> None:
    """2.0 is long gone."""
    with pytest.raises(ValueError, match=r"7\.0, 7\.5, 8\.0"):
        occupancy((2, 0), 128)


@pytest.mark.parametrize(("numbers", "said"), [
    ({"threads": 0}, "threads is 0; it has to be a whole number from 1 on"),
    ({"threads": 1025}, "threads is 1,025; a block has at most 1,024"),
    ({"threads": 32, "registers": 256}, "registers is 256; a thread has at most 255"),
    ({"threads": 32, "shared_bytes": -1}, "shared_bytes is -1; it has to be a whole number from 0"),
])  # fmt: skip
def test_numbers_that_no_kernel_has_are_refused(numbers: dict[str, int], said: str) -> None:
    """By name, with what there can be."""
    with pytest.raises(ValueError, match=said):
        occupancy("A100", **numbers)
