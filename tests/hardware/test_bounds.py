"""Roofline, Little's law and the modelled interval, against published figures."""

from __future__ import annotations

import pytest

from warpwise.hardware import (
    Work,
    attainable,
    bound,
    bound_by,
    ceilings,
    device,
    in_flight,
    intensity,
    occupancy,
    ridge,
)
from warpwise.hardware.latency import throughput, warps_needed


def test_saxpy_on_an_h100_is_bound_by_memory() -> None:
    """2^28 float32: 3.22 GB in 0.96 ms; 2/12 operations a byte, and the ridge is at 20."""
    n = 2**28
    assert intensity(2 * n, 12 * n) == pytest.approx(1 / 6)
    assert ridge("H100") == pytest.approx(20)
    assert bound_by("H100", 1 / 6) == "DRAM"
    assert attainable("H100", 1 / 6) == pytest.approx(0.558, abs=1e-3)
    work = Work({"fp32": 2 * n}, 12 * n, 12 * n, 12 * n / 32, blocks=n // 256)
    got = bound(work, "H100")
    assert got.low_ms == pytest.approx(0.96, abs=0.01)
    assert got.limiter.name == "DRAM" and got.low_ms < got.high_ms
    assert got.label == "modelled" and len(got.assumptions) >= 4


def test_each_roof_is_work_over_rate() -> None:
    """3072^3 is 57.98 GFLOP and 113 MB at least; each over its own roof."""
    n = 3072
    flops, unique = 2 * n**3, 3 * 4 * n * n
    assert flops == pytest.approx(57.98e9, rel=1e-4)
    work = Work({"fp32": flops}, unique, unique, unique / 32, blocks=9216)
    roofs = {roof.name: roof for roof in bound(work, "RTX 3090").roofs}
    assert roofs["fp32"].low_ms == pytest.approx(flops / 35.6e9, rel=1e-6)
    assert roofs["DRAM"].low_ms == pytest.approx(unique / 936e6, rel=1e-6)


@pytest.mark.parametrize(("kind", "units"), [("fp32", 64), ("fp64", 32)])
def test_a_lone_sum_reaches_half_the_peak(kind: str, units: int) -> None:
    """An A100's SM issues 64 float32 and 32 float64 instructions a clock (Best Practices Guide),
    fused or not: adds alone take as long as as many multiply-adds, which are twice the flops."""
    n = 1e12
    alone = Work({kind: n}, 0, 0, 0, blocks=10**6, instructions={kind: (n, n)})
    fused = Work({kind: 2 * n}, 0, 0, 0, blocks=10**6, instructions={kind: (n, n)})
    assert bound(alone, "A100").roofs[0].low_ms == bound(fused, "A100").roofs[0].low_ms
    by_rate = n / (108 * units * 1410e3)
    assert bound(alone, "A100").roofs[0].low_ms == pytest.approx(by_rate, rel=0.01)
    assert "1 T instructions" in str(bound(alone, "A100"))
    unknown = Work({kind: n}, 0, 0, 0, blocks=10**6)
    assert bound(unknown, "A100").roofs[0].low_ms == pytest.approx(by_rate / 2, rel=0.01)


def test_what_may_be_fused_is_an_interval() -> None:
    """At best every product joins a sum, at worst none: the roof has two ends."""
    work = Work({"fp32": 2e12}, 0, 0, 0, blocks=10**6, instructions={"fp32": (1e12, 2e12)})
    roof = bound(work, "A100").roofs[0]
    assert roof.high_ms == pytest.approx(2 * roof.low_ms)
    assert "1 T to 2 T instructions" in roof.how


def test_atomics_queue_at_a_place() -> None:
    """A million on one address of an A100: 32,768 combined warps at 1410 MHz, or each by itself."""
    n = 1 << 20
    roofs = {
        roof.name: roof
        for roof in bound(
            Work({}, 32, 32, n / 32, blocks=4096, atomic_queue=(n / 32, n)), "A100"
        ).roofs
    }
    assert roofs["atomics"].low_ms == pytest.approx(n / 32 / 1410e3)
    assert roofs["atomics"].high_ms == pytest.approx(n / 1410e3)
    assert "combined" in str(bound(Work({}, 1, 1, 1, atomic_queue=(1, 1)), "A100"))
    assert "atomics" not in str(bound(Work({}, 1, 1, 1), "A100"))


def test_every_ceiling_has_a_source() -> None:
    """Peaks, shared memory, L2 where known, DRAM."""
    names = [ceiling.name for ceiling in ceilings("A100")]
    assert {"fp64", "fp32", "tf32", "fp16", "shared memory", "L2", "DRAM"} <= set(names)
    assert "L2" not in [ceiling.name for ceiling in ceilings("RTX 4090")]
    assert all(ceiling.source for ceiling in ceilings("A100"))
    with pytest.raises(ValueError, match="no roof 'fp8'"):
        ridge("A100", "fp8")


def test_bytes_in_flight() -> None:
    """Little's law with Luo's latencies: A100-40 466 cycles, 514 KB, 37 warps of 128 bytes; H100
    479 cycles at 1980 MHz (at the table's 1830 it is 8 % more)."""
    a100 = in_flight("A100 40GB", latency_cycles=466)
    assert a100.nbytes == pytest.approx(514e3, rel=0.002)
    assert a100.warps_per_sm == pytest.approx(37, abs=0.3)
    h100 = in_flight("H100", latency_cycles=479 * 1830 / 1980)
    assert h100.nbytes == pytest.approx(810e3, rel=0.002)
    assert h100.warps_per_sm == pytest.approx(48, abs=0.3)
    assert in_flight("H100", 16, latency_cycles=479 * 1830 / 1980).warps_per_sm == pytest.approx(
        12, abs=0.1
    )
    with pytest.raises(ValueError, match="no DRAM latency of L4"):
        in_flight("L4")


def test_volkovs_maxwell_figures() -> None:
    """Arithmetic latency 6 at 4 a cycle: 24 warps; the cusp is where both pipes are full."""
    assert warps_needed(4, 6) == 24
    full = throughput(64, 0, 368, 6, 0.0815, 4)
    assert full == pytest.approx(0.0815)
    assert throughput(10, 49, 368, 6, 0.0815, 4) == pytest.approx(10 / (368 + 49 * 6))


# What each rung of the public GEMM ladder does per output element and step of k, in a grid of
# 4096^2 outputs: (sectors of global loads, shared wavefronts), both per 32 multiply-adds.
#   1 naive: a column of A (32 sectors) and one element of B       2 coalesced: 1 and 4 sectors
#   3 tile of 32: a row and a column of the tile, 8 sectors every 32 steps
#   4 1-D block tile 64 x 64 x 8, 8 results a thread: 9 shared loads for 8 results
#   5 2-D block tile 128 x 128 x 8, 8 x 8 results: 16 shared loads for 64
#   6 the same with 128-bit loads: 4 loads of 4 wavefronts for A and B
# Source of the kernels and times: siboehm/SGEMM_CUDA (A6000, 4096^2).
LADDER = (
    ("naive", 309.0, 33, 0), ("coalesced", 1986.5, 5, 0), ("shared tile", 2980.3, 8 / 32, 2),
    ("1-D block tile", 8474.7, 2 * 8 / 64, 9 / 8),
    ("2-D block tile", 15971.7, 2 * 4 / 128, 16 / 64),
)  # fmt: skip


def test_the_gemm_ladder_is_ordered_as_measured() -> None:
    """Each published rung is faster than the one before, and so is its modelled interval."""
    n = 4096
    middles = []
    for name, _, sectors, wavefronts in LADDER:
        steps = n**3 / 32
        work = Work({"fp32": 2 * n**3}, 3 * 4 * n * n, 4 * n * n * 2 * n / 32, sectors * steps,
                    wavefronts * steps, blocks=n * n // 1024)  # fmt: skip
        middles.append((bound(work, "RTX 3090").middle_ms, name))
    assert [name for _, name in sorted(middles, reverse=True)] == [row[0] for row in LADDER]
    gflops = [row[1] for row in LADDER]
    assert gflops == sorted(gflops)


def test_the_transpose_ladder_is_ordered_as_measured() -> None:
    """NVIDIA's blog (Harris 2013): copy and padded tile beat the tile with conflicts, which beats
    the naive one."""
    n = 1024
    warps, nbytes = n * n / 32, 8 * n * n
    ladder = {"copy": (8, 0), "padded": (8, 2), "tiled": (8, 1 + 32), "naive": (4 + 32, 0)}
    got = {
        name: bound(
            Work({}, nbytes, nbytes, sectors * warps, wavefronts * warps, blocks=1024), "A100"
        ).middle_ms
        for name, (sectors, wavefronts) in ladder.items()
    }
    assert got["copy"] <= got["padded"] < got["tiled"] < got["naive"]


def test_a_part_empty_last_wave_costs() -> None:
    """1057 blocks on an H100 take up to twice as long as 1056."""
    fits = occupancy("H100", 256, 32)
    full = bound(Work({"fp32": 1e12}, 1, 1, 1, blocks=1056), "H100", fits)
    more = bound(Work({"fp32": 1e12}, 1, 1, 1, blocks=1057), "H100", fits)
    assert more.high_ms / full.high_ms == pytest.approx(2, rel=0.01)
    assert any("last wave" in text for text in more.assumptions)


def test_a_request_takes_a_pass_however_few_its_sectors() -> None:
    """1,000 loads of one sector pass L1 in as many clocks as 1,000 loads of four."""
    ms = {
        sectors: next(
            roof.low_ms
            for roof in bound(Work({}, 1, 1, 1000 * sectors, passes=passes), "A100").roofs
            if roof.name == "load/store"
        )
        for sectors, passes in ((1, 1000), (4, 1000), (8, 0))
    }
    assert ms[1] == ms[4] == ms[8] / 2


def test_one_block_waits_for_its_own_sm_alone() -> None:
    """At worst one block of two that would fit takes its SM's arithmetic twice as long, not 216
    times."""
    fits = occupancy("A100", 1024, 32)
    one = bound(Work({"fp32": 1e9}, 0, 0, 0, blocks=1), "A100", fits)
    roof = next(roof for roof in one.roofs if roof.name == "fp32")
    assert one.high_ms - 0.006 == pytest.approx(fits.blocks * roof.high_ms, rel=1e-6)


def test_a_small_grid_leaves_sms_idle() -> None:
    """One block uses one SM's arithmetic."""
    one = bound(Work({"fp32": 1e9}, 1, 1, 1, blocks=1), "A100")
    many = bound(Work({"fp32": 1e9}, 1, 1, 1, blocks=108), "A100")
    assert one.roofs[0].low_ms == pytest.approx(108 * many.roofs[0].low_ms)


def test_the_interval_reads_as_text() -> None:
    """Device, limiter, roofs and assumptions."""
    text = str(bound(Work({"fp32": 2e9}, 1e9, 1e9, 1e9 / 32, blocks=1000), "A100"))
    assert "A100" in text and "bound by DRAM" in text and "assumes" in text and "modelled" in text


def test_devices_are_found_by_a_part_of_their_name() -> None:
    """A100 is the one with 80 GB."""
    assert device("A100").name == "A100 80GB"


def test_a_fused_multiply_add_takes_one_issue_slot_at_best() -> None:
    """4 schedulers start 128 FMA lanes a clock: arithmetic at the fp32 peak is not impossible."""
    gpu = device("RTX 4090")
    flops = 1e12
    work = Work({"fp32": flops}, 1e6, 1e6, 1e6 / 32, issues=flops / 32, blocks=10_000)
    roofs = {roof.name: roof for roof in bound(work, gpu).roofs}
    assert roofs["issue"].low_ms == pytest.approx(roofs["fp32"].low_ms, rel=0.01)
    assert roofs["issue"].high_ms == pytest.approx(2 * roofs["issue"].low_ms)
