"""Bus bandwidth of a published table to its digits, and where one line fails."""

import csv
from pathlib import Path

import pytest

from warpwise.fabric import FabricError, bus_factor, busbw, fit

TABLE = Path(__file__).with_name("a100_all_reduce.csv")
ROWS = list(csv.DictReader(TABLE.read_text().splitlines()[1:]))
SIZES = [int(row["bytes"]) for row in ROWS]
SECONDS = [float(row["us"]) * 1e-6 for row in ROWS]


@pytest.mark.parametrize("row", ROWS, ids=[row["bytes"] for row in ROWS])
def test_every_printed_bus_bandwidth(row):
    got = busbw("all_reduce", 8, int(row["bytes"]), float(row["us"]) * 1e-6)
    assert f"{got:.2f}" == row["busbw"]


def test_factors_of_nccl_tests():
    assert [bus_factor(op, 8) for op in ("all_reduce", "all_gather", "reduce_scatter",
            "all_to_all", "broadcast", "reduce", "gather", "scatter", "sendrecv")] == [
            1.75, 0.875, 0.875, 0.875, 1, 1, 0.875, 0.875, 1]  # fmt: skip
    assert bus_factor("all_reduce", 1) == 0  # nccl-tests prints 0 for one rank, too


def test_one_line_through_the_table():
    """alpha about 56 us and 211 GB/s, half the bandwidth at 6.8 MB; the worst point is 36 % off."""
    line = fit(SIZES, SECONDS, bus_factor("all_reduce", 8))
    assert (round(line.alpha * 1e6), round(line.bandwidth / 1e9)) == (56, 211)
    assert round(line.worst, 2) == 0.36
    assert round(line.half / 1e6, 1) == 6.8
    worst = max(range(len(SIZES)), key=lambda i: abs(line.errors[i]))
    assert SIZES[worst] in (1 << 20, 1 << 22, 1 << 24)


def test_a_line_is_found_again():
    sizes = [1e3, 1e5, 1e7]
    line = fit(sizes, [2e-5 + 1.5 * size / 1e10 for size in sizes], 1.5)
    assert line.alpha == pytest.approx(2e-5)
    assert line.bandwidth == pytest.approx(1e10)
    assert line.worst < 1e-9
    assert line.time(1e5) == pytest.approx(2e-5 + 1.5e5 / 1e10)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: bus_factor("all_redcue", 8), "no bus factor for 'all_redcue'"),
        (lambda: bus_factor("all_reduce", 0), "ranks is at least 1, not 0"),
        (lambda: busbw("all_reduce", 8, 8, 0), "seconds is a number above 0"),
        (lambda: fit([1, 1], [1, 1]), "two different sizes"),
        (lambda: fit([1, 2], [1]), "as many times as sizes"),
        (lambda: fit([1, 2], [1, 0]), "seconds is a number above 0, not 0"),
        (lambda: fit([1, 2], [2, 1]), "do not grow with the size"),
    ],
)
def test_bad_input_gets_a_sentence(make, said):
    with pytest.raises(FabricError, match=said):
        make()
