"""The four answers, their labels, and the ladder."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.answers import kernels
from warpwise import compare, explain
from warpwise.compiler import toolchain
from warpwise.hardware import UnknownDeviceError

N = 1 << 12
X = np.arange(N, dtype=np.float32)
M = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)

pytest.importorskip("numba.cuda.compiler", reason="numba-cuda has no wheel for this system")


def explained(a: object = np.float32(2), device: str = "A100"):  # type: ignore[no-untyped-def]
    return explain(kernels.saxpy[N // 256, 256], np.zeros_like(X), X, X, a, device=device)


def test_each_answer_has_its_label_and_its_numbers() -> None:
    """saxpy of 4096: counters, registers, occupancy and time, each from where it comes."""
    got = explained()
    assert list(got.answers()) == ["counted", "compiled", "modelled", "measured"]
    assert got.counted.loads.sectors == 2 * N * 4 // 32
    assert got.counted.flops == {"float32": 2 * N}
    assert got.compiled is not None and got.compiled.architecture == "sm_80"
    assert got.occupancy is not None and got.occupancy.percent == 100
    assert got.intensity == pytest.approx(2 / 12)
    assert got.bound.limiter.name == "DRAM"
    assert got.measured is not None or got.not_measured.startswith("nothing was measured: no GPU")


def test_the_arrays_are_written_as_by_a_launch() -> None:
    """explain() runs the kernel once."""
    out = np.zeros_like(X)
    explain(kernels.saxpy[N // 256, 256], out, X, X, np.float32(2))
    assert np.array_equal(out, 3 * X)


def test_a_python_float_shows_in_every_answer() -> None:
    """float64 in the counters, in the compiled code, and in the roof."""
    got = explained(2.0, "RTX 4090")
    assert got.counted.flops == {"float64": 2 * N}
    assert got.compiled is not None and got.compiled.float64 > 0
    assert any(roof.name == "fp64" for roof in got.bound.roofs)


def test_other_devices_are_compiled_for_their_own_architecture() -> None:
    """sm_90 for an H100; a V100, which CUDA 13 dropped, gets sm_75's figures and is told so."""
    hopper = explained(device="H100").compiled
    assert hopper is not None and hopper.architecture == "sm_90"
    volta = explained(device="V100")
    assert volta.compiled is not None and volta.compiled.architecture == "sm_75"
    assert "no longer" in volta.compiler_problem and "no longer" in str(volta)


def test_text_html_and_data_say_the_same() -> None:
    """Every label stands in all three."""
    got = explained()
    data = json.loads(json.dumps(got.to_dict()))
    for label in ("counted", "compiled", "modelled", "measured"):
        assert label in str(got) and label in got._repr_html_() and label in data
    assert "assumes" in str(got) and "<details>" in got._repr_html_()


def test_without_a_compiler_the_other_answers_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    """On macOS there is no numba-cuda: the sentence stands where the figures would."""
    monkeypatch.setattr(toolchain, "find_spec", lambda name: None)
    got = explained()
    assert got.compiled is None and "not installed" in got.compiler_problem
    assert got.occupancy is None and got.bound.low_ms > 0
    assert "not installed" in str(got)


def test_unknown_devices_are_named() -> None:
    """The message lists the table."""
    with pytest.raises(UnknownDeviceError, match="H100 SXM"):
        explained(device="GTX 1")


def test_the_ladder_says_what_each_step_changed() -> None:
    """Transpose: the tile takes the sectors from 36 to 8 a warp, the padding the conflicts away."""
    shape = (2, 2), (32, 32)
    out = np.zeros_like(M)
    ladder = compare({
        name: (getattr(kernels, name)[shape], out, M) for name in ("naive", "tiled", "padded")
    })  # fmt: skip
    rows = {row["version"]: row for row in ladder.table()}
    assert [row["sectors"] for row in rows.values()] == [128 * 36, 128 * 8, 128 * 8]
    assert [row["conflicts"] for row in rows.values()] == [0, 128 * 31, 0]
    assert "sectors / 4.5" in rows["tiled"]["changed"]
    assert "conflicts 3,968 to 0" in rows["padded"]["changed"]
    assert rows["naive"]["changed"] == ""
    text = str(ladder)
    assert "version" in text and "modelled" in text and "A100" in text
    assert "<table" in ladder._repr_html_()


def test_the_ladder_is_ordered_as_measured() -> None:
    """On a grid that fills the device: naive slowest, then the conflicts, then the padded tile."""
    x = np.zeros((1024, 1024), np.float32)
    out = np.zeros_like(x)
    ladder = compare({
        name: (getattr(kernels, name)[(32, 32), (32, 32)], out, x)
        for name in ("naive", "tiled", "padded")
    })  # fmt: skip
    middles = [row.bound.middle_ms for _, row in ladder.rows]
    assert middles == sorted(middles, reverse=True) and len(set(middles)) == 3


def test_atomics_are_columns_where_a_version_has_some() -> None:
    """One sum: 4096 transactions on one address; with a part for each block, one a block."""
    total = np.zeros(1, np.float32)
    ladder = compare({
        "straight": (kernels.sums[N // 256, 256], total, X),
        "by block": (kernels.sums_in_blocks[N // 256, 256], total, X),
    })  # fmt: skip
    rows = ladder.table()
    assert [row["atomics"] for row in rows] == [N, N // 256]
    assert [row["shared atomics"] for row in rows] == [0, N]
    assert "atomics / 256, shared atomics 0 to 4,096" in rows[1]["changed"]
    assert ladder.rows[0][1].bound.limiter.name == "atomics"
    assert ladder.rows[0][1].counted.atomic_queue == N // 32

    without = compare({"saxpy": (kernels.saxpy[N // 256, 256], np.zeros_like(X), X, X, 2)})
    assert "atomics" not in without.columns and "atomics" not in str(without)
    assert "atomic" not in str(without.rows[0][1])


@pytest.mark.parametrize(("name", "expected"), [
    ("only_sums", (4 * N, 4 * N)), ("only_products", (4 * N, 4 * N)),
    ("fused_sums", (4 * N, 4 * N)), ("apart", (4 * N, 8 * N)), ("explicit", (4 * N, 4 * N)),
])  # fmt: skip
@pytest.mark.parametrize(("kind", "peak"), [("float32", "fp32"), ("float64", "fp64")])
def test_instructions_are_what_the_compiler_can_join(
    name: str, expected: tuple[int, int], kind: str, peak: str
) -> None:
    """Four sums, four products, four sums of a product, four pairs on two lines, four cuda.fma."""
    x = X.astype(kind)
    got = explain(getattr(kernels, name)[N // 256, 256], np.zeros_like(x), x, x)
    assert got.counted.float_instructions == {kind: expected}
    rate = got.device.peak(peak) / 2 * 1e9 * min(1, N / 256 / got.device.sms.value)
    roof = next(roof for roof in got.bound.roofs if roof.name == peak)
    assert (roof.low_ms, roof.high_ms) == pytest.approx(tuple(n / rate for n in expected))
    assert got.compiled is not None
    arithmetic = sum(i.name.startswith(("FADD", "FMUL", "FFMA", "DADD", "DMUL", "DFMA"))
                     for i in got.compiled.sass)  # fmt: skip
    assert expected[0] <= arithmetic * N <= expected[1]


def test_signs_and_ready_made_products_count_as_compiled() -> None:
    """Two signs, four products (two by a division), three sums: at best four instructions."""
    got = explain(kernels.signed[N // 256, 256], np.zeros_like(X), X, X)
    assert got.counted.flops == {"float32": 9 * N}
    assert got.counted.float_instructions == {"float32": (4 * N, 8 * N)}
    assert got.compiled is not None
    names = [i.name for i in got.compiled.sass if i.name.startswith(("FADD", "FMUL", "FFMA"))]
    assert 4 <= len(names) <= 8


@pytest.mark.parametrize(("versions", "said"), [
    ({}, "takes versions by name"), ([1], "takes versions by name"),
    ({"naive": 1}, "naive: a version is a launch with its arguments"),
])  # fmt: skip
def test_what_is_no_ladder_is_refused(versions: Any, said: str) -> None:
    """With the form that is one."""
    with pytest.raises(TypeError, match=said):
        compare(versions)


def test_float64_that_the_compiler_narrows_stands_under_the_float32_roof() -> None:
    """3 * a[i] is float64 by Numba's types; stored as float32, it is compiled in float32."""
    got = explain(kernels.triple[N // 256, 256], np.zeros_like(X), X, device="A100")
    assert got.counted.flops == {"float64": N}
    assert got.compiled is not None and got.compiled.float64 == 0
    names = [roof.name for roof in got.bound.roofs]
    assert "fp32" in names and "fp64" not in names
    assert compare({"triple": (kernels.triple[N // 256, 256], np.zeros_like(X), X)}).kind == "fp32"
