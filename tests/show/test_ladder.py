"""compare() in a notebook: a table and a roofline with the versions, as two outputs."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from IPython import display as shown

from tests.answers import kernels
from warpwise import compare
from warpwise.measure import Measurement
from warpwise.show.ladder import NO_FLOPS, LadderPicture

N = 1 << 12
X = np.arange(N, dtype=np.float32)

pytest.importorskip("numba.cuda.compiler", reason="numba-cuda has no wheel for this system")


def ladder() -> LadderPicture:
    """Two kernels of four and eight operations."""
    return compare({
        "sums": (kernels.only_sums[N // 256, 256], np.zeros_like(X), X, X),
        "fused": (kernels.fused_sums[N // 256, 256], np.zeros_like(X), X, X),
    })  # fmt: skip


@pytest.fixture
def outputs(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What a cell would show."""
    found: list[dict[str, Any]] = []
    monkeypatch.setattr(shown, "display", lambda bundle, raw: found.append(bundle))
    return found


def test_a_cell_shows_the_table_and_the_roofline(outputs: list[dict[str, Any]]) -> None:
    """Both with their text; the picture is a PNG, which a page shows before it is trusted."""
    got = ladder()
    got._ipython_display_()
    table, picture = outputs
    assert "<table" in table["text/html"] and table["text/plain"] == str(got)
    assert base64.b64decode(picture["image/png"]).startswith(b"\x89PNG")
    assert picture["text/plain"] == got.caption() and "(modelled)" in got.caption()


def test_a_version_is_a_line_from_no_cache_to_a_perfect_one() -> None:
    """x: flops over the bytes of all requests, and over those that are touched; y: flops over the
    two ends of the modelled time."""
    got = ladder()
    spans = {name: (worst, best) for name, worst, best in got.spans()}
    bound = dict(got.rows)["sums"].bound
    assert spans["sums"][0] == pytest.approx((4 / 24, 4 * N / bound.high_ms / 1e9), rel=0.01)
    assert spans["sums"][1] == pytest.approx((4 / 12, 4 * N / bound.low_ms / 1e9), rel=0.01)
    assert "sums: 0.167 to 0.333 operations a byte" in got.caption()
    for (x0, y0), (x1, y1) in spans.values():
        assert x0 <= x1 and y0 <= y1


def test_no_two_versions_look_alike() -> None:
    """Up to 36 of them have a colour and a marker of their own."""
    one = ladder().rows[0][1]
    figure = LadderPicture(tuple((f"v{n}", one) for n in range(36))).figure()
    handles, names = figure.axes[0].get_legend_handles_labels()
    assert names == [f"v{n}" for n in range(36)]
    assert len({(line.get_color(), line.get_marker()) for line in handles}) == 36


def test_the_peak_is_that_of_the_arithmetic() -> None:
    """float64 kernels stand under the float64 roof."""
    wide = X.astype(np.float64)
    got = compare({"sums": (kernels.only_sums[N // 256, 256], np.zeros_like(wide), wide, wide)})
    assert got.kind == "fp64" and ladder().kind == "fp32"


def test_without_arithmetic_there_is_a_sentence(outputs: list[dict[str, Any]]) -> None:
    """A transpose moves bytes and computes nothing."""
    m = np.zeros((64, 64), np.float32)
    got = compare({"naive": (kernels.naive[(2, 2), (32, 32)], np.zeros_like(m), m)})
    got._ipython_display_()
    assert len(outputs) == 1 and NO_FLOPS in outputs[0]["text/html"]
    assert NO_FLOPS in outputs[0]["text/plain"] and got.figure() is None


def test_a_measured_time_is_a_filled_marker_and_a_column() -> None:
    """Where a GPU measured, its rate stands beside the modelled ends."""
    got = ladder()
    name, row = got.rows[0]
    time = Measurement("A100", 0.01, 0.01, 0.01, (0.01,))
    measured = LadderPicture(((name, replace(row, measured=time)),))
    assert "measured, ms" in str(measured) and "measured, ms" not in str(got)
    filled = [
        line for line in measured.figure().axes[0].lines if line.get_markerfacecolor() != "none"
        and line.get_marker() not in ("None", "")
    ]  # fmt: skip
    assert [line.get_ydata()[0] for line in filled] == [pytest.approx(4 * N / 0.01 / 1e9)]
