"""The device table: what a GPU is made of, each number with its source.

device("A100").peak("fp32")     19.5 TFLOP/s
device("A100").dram_gbs.source  who says so
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from .limits import Limits, limits

_PEAKS = ("fp64", "fp32", "tf32", "fp16", "fp8", "fp4")


class UnknownDeviceError(ValueError):
    """No such device in the table."""


@dataclass(frozen=True)
class Cell:
    """One number.  how: whitepaper, quoted, device, computed, measured or assumed."""

    value: float
    how: str
    source: str
    note: str = ""


@dataclass(frozen=True)
class Device:
    """One GPU.  Cells that no source gives are None.

    peaks           dense, TFLOP/s; fp32 and fp64 outside the tensor cores, the others inside
    dram_gbs, l2_gbs, pcie_gbs, nvlink_gbs   GB/s, one way; nvlink 0 means none
    clock_mhz       the clock its peaks are quoted at, or near it
    latency_cycles  of a load that misses every cache, l2_latency_cycles of one that hits L2
    """

    name: str
    compute_capability: tuple[int, int]
    sms: Cell
    clock_mhz: Cell
    dram_gbs: Cell
    l2_mb: Cell
    memory_gb: Cell
    pcie_gbs: Cell
    peaks: dict[str, Cell]
    nvlink_gbs: Cell | None = None
    l2_gbs: Cell | None = None
    latency_cycles: Cell | None = None
    l2_latency_cycles: Cell | None = None
    aliases: tuple[str, ...] = field(default=(), repr=False)

    @property
    def limits(self) -> Limits:
        """What a multiprocessor of this compute capability can hold."""
        return limits(self.compute_capability)

    def peak(self, kind: str) -> float:
        """Dense peak in TFLOP/s; raises ValueError for a format the device does not have."""
        if kind not in self.peaks:
            raise ValueError(
                f"{self.name} has no {kind} peak; it has {', '.join(sorted(self.peaks))}."
            )
        return self.peaks[kind].value

    @property
    def shared_gbs(self) -> float:
        """Shared memory of all SMs: 32 banks of 4 bytes a clock each (CUDA Programming Guide)."""
        return self.sms.value * 32 * 4 * self.clock_mhz.value / 1000

    def cells(self) -> Iterator[tuple[str, Cell]]:
        """Every number of the device by name."""
        for name, value in vars(self).items():
            if isinstance(value, Cell):
                yield name, value
        yield from self.peaks.items()


@cache
def devices() -> tuple[Device, ...]:
    """Every device of the table, in its order."""
    text = Path(__file__).with_name("devices.toml").read_text(encoding="utf-8")
    return tuple(_read(entry) for entry in tomllib.loads(text)["device"])


def _read(entry: dict) -> Device:  # type: ignore[type-arg]
    cells = {name: Cell(**cell) for name, cell in entry.items() if isinstance(cell, dict)}
    peaks = {name: cells.pop(name) for name in _PEAKS if name in cells}
    major, minor = entry["compute_capability"]
    return Device(
        name=entry["name"], aliases=tuple(entry["aliases"]), compute_capability=(major, minor),
        peaks=peaks, **cells,
    )  # fmt: skip


def device(name: str | Device) -> Device:
    """The device of that name, in any case and with or without spaces; UnknownDeviceError lists
    the known ones."""
    if isinstance(name, Device):
        return name
    wanted = _plain(str(name))
    for found in devices():
        if wanted in map(_plain, (found.name, *found.aliases)):
            return found
    known = ", ".join(found.name for found in devices())
    raise UnknownDeviceError(f"{name!r} is not in the device table. It has: {known}.")


def recognised(name: str) -> Device | None:
    """The device that a driver calls by this name, such as "NVIDIA H100 80GB HBM3"; None when the
    table has none.  The longest name that occurs in it counts."""
    said = _plain(name)
    found = [
        (len(known), gpu)
        for gpu in devices()
        for known in map(_plain, (gpu.name, *gpu.aliases))
        if known in said
    ]
    return max(found, key=lambda pair: pair[0])[1] if found else None


def _plain(name: str) -> str:
    return name.lower().replace(" ", "").replace("-", "").removeprefix("nvidia")
