"""The twelve kernels of t1_11_roofline do what its spec reckons from their text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpwise import curriculum, profile
from warpwise.answers.work import work_of
from warpwise.authoring import build_full, read_source
from warpwise.authoring.answers import run_cells
from warpwise.check.specs.t1_11_roofline import ROOFS, TWELVE, WHERE, N
from warpwise.hardware import bound, device

WITHIN = 0.03  # half sectors at edges, additions of a last round


@pytest.fixture(scope="module")
def kernels() -> dict[str, Any]:
    """The cells of the solution, run."""
    unit = curriculum.load().unit("t1_11_roofline")
    return dict(run_cells(build_full(read_source(unit.lab_source)), "the lab"))


def launch(k: dict[str, Any], name: str) -> tuple[Any, ...]:
    """kernel[grid, block] and its arguments, as the table of the lab says."""
    x = np.ones(N + 32, np.float32)
    out = np.zeros(N, np.float32)
    side = np.ones((256, 256), np.float32)
    full = (N // 256, 256)
    return {
        "copy": lambda: (k["copy"][full], out, x[:N]),
        "saxpy": lambda: (k["saxpy"][full], out, x[:N], x[:N].copy(), np.float32(2)),
        "poly_16": lambda: (k["poly"][full], out, x[:N], 16),
        "poly_128": lambda: (k["poly"][full], out, x[:N], 128),
        "double_16": lambda: (k["poly_double"][full], np.zeros(N), np.ones(N), 16),
        "double_64": lambda: (k["poly_double"][full], np.zeros(N), np.ones(N), 64),
        "every_8th": lambda: (k["every_8th"][N // 8 // 256, 256], out[: N // 8], x[:N]),
        "sum_33": lambda: (k["sum_33"][full], out, x),
        "table_sum": lambda: (k["table_sum"][full], out, x[:4096]),
        "pair_sums": lambda: (k["pair_sums"][256, 256], out[:65536], x[:65536]),
        "matvec": lambda: (
            k["matvec"][256, 256], out[:2048], np.ones((2048, 512), np.float32), x[:512]
        ),
        "matmul": lambda: (k["matmul"][(16, 16), (16, 16)], np.zeros_like(side), side, side.copy()),
    }[name]()  # fmt: skip


@pytest.mark.parametrize("name", TWELVE)
@pytest.mark.filterwarnings("ignore:overflow")
def test_the_roofs_are_those_of_a_count(kernels: dict[str, Any], name: str) -> None:
    """Every roof of the exercise within a few percent, and the same one binds, by 15 %."""
    configured, *args = launch(kernels, name)
    counted = work_of(profile(configured, *args), device(WHERE))

    found, said = (
        {roof.name: roof.low_ms for roof in bound(work, WHERE).roofs if roof.name in ROOFS}
        for work in (counted, TWELVE[name])
    )
    for roof, low in found.items():
        assert said.get(roof, 0) == pytest.approx(low, rel=WITHIN), roof
    first, second = sorted(found.values(), reverse=True)[:2]
    assert first > 1.15 * second
    assert max(found, key=found.__getitem__) == max(said, key=said.__getitem__)
