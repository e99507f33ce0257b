"""profile() on a machine with a GPU, which a played clock and a played ncu stand in for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from tests.answers import kernels
from tests.measure.played import Played
from warpwise import profile
from warpwise.answers import profiling
from warpwise.measure import launch as measuring
from warpwise.simt import api
from warpwise.simt.kernel import Kernel

N = 1 << 12
X = np.arange(N, dtype=np.float32)
LOADS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"


class NumbasLaunch:
    """`kernel[grid, block]` in the shape that Numba gives it on a GPU."""

    def __init__(self, kernel: Kernel, grid: int, block: int) -> None:
        self.dispatcher, self.griddim, self.blockdim = kernel, (grid, 1, 1), (block, 1, 1)
        self.sharedmem, self.calls = 0, 0

    def __call__(self, *args: Any) -> None:
        self.calls += 1
        self.dispatcher[self.griddim, self.blockdim](*args)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], Played]:
    """Says that an A100 is here, whose launches take so many ms, and any reference 2 ms."""

    def start(ms: float) -> Played:
        clock = Played({"launch": lambda i: ms * (1 + (i % 2) / 100), "reference": lambda i: 2.0},
                       states=4 * ({"sm_clock_mhz": 1410.0},))  # fmt: skip
        clock.device = "NVIDIA A100-SXM4-80GB"

        def time(call: Callable[[], Any]) -> tuple[float, float]:
            name = "reference" if call() == "reference" else "launch"
            clock.log.append(name)
            clock.counts[name] += 1
            return clock.times[name](clock.counts[name] - 1), 0.0

        monkeypatch.setattr(clock, "time", time)
        monkeypatch.setattr(measuring, "EventClock", lambda: clock)
        monkeypatch.setattr(numba, "cuda", api)  # its launches and device arrays
        for module in (profiling, measuring):
            monkeypatch.setattr(module, "backend", lambda: "gpu")
        monkeypatch.setattr(profiling, "gpu_name", lambda: clock.device)
        return clock

    monkeypatch.setenv("PATH", "")
    return start


def saxpy() -> NumbasLaunch:
    """A launch for N elements."""
    return NumbasLaunch(kernels.saxpy, N // 256, 256)


def test_the_time_stands_beside_the_counters(gpu: Callable[[float], Played]) -> None:
    """Median, quartiles and device; a cold cache before each sample; the counters as ever."""
    clock = gpu(1.0)
    got = profile(saxpy(), np.zeros_like(X), X, X, np.float32(2))
    assert got.loads.sectors == 2 * N * 4 // 32 and got.label == "counted"
    assert got.measured.median_ms == pytest.approx(1.0, abs=0.01)
    assert got.measured.state["after"]["sm_clock_mhz"] == 1410
    assert 0 < got.measured.of_floor < 1
    assert clock.log.count("flush") == 30
    for text in (str(got), got._repr_html_()):
        assert "measured on NVIDIA A100-SXM4-80GB" in text and "counted" in text
    assert json.loads(json.dumps(got.to_dict()))["measured"]["median_ms"] == got.measured.median_ms


def test_arrays_are_written_once(gpu: Callable[[float], Played]) -> None:
    """Whatever is repeated for the clock works on copies."""
    gpu(1.0)
    total = np.zeros(1, np.float32)
    profile(NumbasLaunch(kernels.sums, N // 256, 256), total, np.ones_like(X))
    assert total[0] == N


def test_a_reference_is_timed_in_between(gpu: Callable[[float], Played]) -> None:
    """Half of the reference's time, round by round."""
    clock = gpu(1.0)
    got = profile(saxpy(), np.zeros_like(X), X, X, np.float32(2), reference=lambda: "reference")
    assert got.measured.versus == pytest.approx(0.5, abs=0.01)
    assert "times the reference's time" in str(got)
    rounds = [set(clock.log[i : i + 4]) for i in range(0, 120, 4)]
    assert rounds == [{"flush", "launch", "reference"}] * 30


def test_faster_than_physics_is_refused(gpu: Callable[[float], Played]) -> None:
    """A launch cannot end before it began: the report says why there is no time."""
    gpu(1e-5)
    got = profile(saxpy(), np.zeros_like(X), X, X, np.float32(2))
    assert got.measured is None and "takes at least" in got.not_measured
    assert "takes at least" in str(got) and "takes at least" in got._repr_html_()


def fake_ncu(folder: Path, page: str) -> None:
    """An `ncu` that prints a page, whatever it is asked."""
    tool = folder / "ncu"
    tool.write_text(f"#!/bin/sh\n/bin/cat <<'END'\n{page}\nEND\n")
    tool.chmod(0o755)


def test_ncus_numbers_stand_beside_the_counted_ones(
    gpu: Callable[[float], Played], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the tool is: its value for the same metric, in a column of its own."""
    gpu(1.0)
    monkeypatch.setenv("PATH", str(tmp_path))
    fake_ncu(tmp_path, f'"ID","Metric Name","Metric Value"\n"0","{LOADS}","1,025"')
    got = profile(saxpy(), np.zeros_like(X), X, X, np.float32(2))
    assert got.by_ncu == {LOADS: 1025}
    assert any(row.split()[-3:] == ["1,024", "1,025", LOADS] for row in str(got).splitlines())
    assert "by ncu" in str(got) and "1,025" in got._repr_html_()
    without = profile(saxpy(), np.zeros_like(X), X, X, np.float32(2), ncu=False)
    assert without.by_ncu == {} and "by ncu" not in str(without)


def test_counters_for_administrators_only_are_a_sentence(
    gpu: Callable[[float], Played], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time stands all the same."""
    gpu(1.0)
    monkeypatch.setenv("PATH", str(tmp_path))
    fake_ncu(tmp_path, "==ERROR== ERR_NVGPUCTRPERM")
    got = profile(saxpy(), np.zeros_like(X), X, X, np.float32(2))
    assert got.measured is not None and "only administrators" in got.not_measured


def test_without_a_gpu_there_is_nothing_of_a_time() -> None:
    """The simulator never prints seconds."""
    got = profile(kernels.saxpy[N // 256, 256], np.zeros_like(X), X, X, np.float32(2))
    assert got.measured is None and got.not_measured == "" and "measured" not in str(got)
