"""The device table: complete, sourced, and consistent with itself."""

from __future__ import annotations

import pytest

from warpwise.hardware import UnknownDeviceError, device, devices, recognised

NAMES = ["V100", "T4", "A100 80GB", "A100 40GB", "RTX 3090", "RTX 4090", "RTX 5090", "L4", "A10",
         "H100 SXM", "H100 PCIe", "H200", "B200", "laptop"]  # fmt: skip
HOW = {"whitepaper", "quoted", "device", "computed", "measured", "assumed"}


@pytest.mark.parametrize("name", NAMES)
def test_every_cell_has_a_source(name: str) -> None:
    """Value, way it was got, and who says so."""
    cells = dict(device(name).cells())
    assert len(cells) >= 9
    for cell in cells.values():
        assert cell.value >= 0 and cell.how in HOW and len(cell.source) > 5
        assert cell.how != "assumed" or name == "laptop"


@pytest.mark.parametrize("name", NAMES)
def test_fp32_peaks_follow_from_lanes_and_clock(name: str) -> None:
    """SMs x lanes x 2 x clock, within 10 %: vendors quote peaks at a clock of their own."""
    gpu = device(name)
    computed = gpu.sms.value * gpu.limits.fp32_lanes * 2 * gpu.clock_mhz.value / 1e6
    assert gpu.peak("fp32") == pytest.approx(computed, rel=0.1)


@pytest.mark.parametrize("name", NAMES)
def test_peaks_are_dense(name: str) -> None:
    """A format half as wide is twice as fast at most: a sparse peak among dense ones shows."""
    peaks = device(name).peaks
    for wide, narrow in (("fp16", "fp8"), ("fp8", "fp4"), ("tf32", "fp16")):
        if wide in peaks and narrow in peaks:
            assert 1.9 < peaks[narrow].value / peaks[wide].value < 4.1


def test_dense_peaks_recompute() -> None:
    """A100: 1410 MHz x 256 x 4 x 108 x 2 = 311.9; H100: 1830 x 512 x 4 x 132 x 2 = 989.4."""
    assert device("A100").peak("fp16") == pytest.approx(1.410e-3 * 256 * 4 * 108 * 2, rel=1e-3)
    assert device("H100").peak("fp16") == pytest.approx(1.830e-3 * 512 * 4 * 132 * 2, rel=1e-3)


def test_shared_memory_bandwidth() -> None:
    """A100: 108 SMs x 128 bytes x 1.41 GHz = 19.5 TB/s."""
    assert device("A100").shared_gbs == pytest.approx(19_492, abs=1)


@pytest.mark.parametrize("name", ["a100", "NVIDIA A100", "A100-80", "h100", "rtx4090"])
def test_names_are_forgiving(name: str) -> None:
    """Case, spaces and the maker's name do not matter."""
    assert device(name).name


def test_unknown_devices_are_answered_with_the_known_ones() -> None:
    """The message lists the table."""
    with pytest.raises(UnknownDeviceError, match=r"A100 80GB.*RTX 5090"):
        device("GTX 9999")


def test_what_no_source_gives_is_left_out() -> None:
    """NVIDIA's brief on the T4 says nothing of NVLink; the table then says nothing, too."""
    assert device("T4").nvlink_gbs is None and "nvlink_gbs" not in dict(device("T4").cells())
    assert all(gpu.nvlink_gbs is not None for gpu in devices() if gpu.name != "T4")


def test_missing_formats_are_named() -> None:
    """A T4 has no fp8."""
    with pytest.raises(ValueError, match="T4 has no fp8 peak"):
        device("T4").peak("fp8")


def test_there_are_no_others() -> None:
    """A new device needs its checks."""
    assert sorted(gpu.name for gpu in devices()) == sorted(NAMES)


@pytest.mark.parametrize(("said", "name"), [
    ("NVIDIA H100 80GB HBM3", "H100 SXM"), ("NVIDIA H100 PCIe", "H100 PCIe"),
    ("NVIDIA H200", "H200"),
    ("NVIDIA A100-SXM4-40GB", "A100 40GB"), ("NVIDIA A100-SXM4-80GB", "A100 80GB"),
    ("NVIDIA GeForce RTX 4090", "RTX 4090"), ("Tesla T4", "T4"), ("Tesla V100-SXM2-16GB", "V100"),
    ("NVIDIA A10", "A10"), ("NVIDIA L4", "L4"), ("NVIDIA B200", "B200"), ("GeForce GTX 1080", None),
])  # fmt: skip
def test_drivers_names_are_recognised(said: str, name: str | None) -> None:
    """What the driver calls a device leads to its row."""
    found = recognised(said)
    assert (found.name if found else None) == name
