"""Machines a plan runs on: GPUs in nodes, and the links inside and between them."""

from __future__ import annotations

from dataclasses import dataclass

from ..fabric.inputs import positive, real, whole
from ..hardware import Device, device
from .model import PlanError


@dataclass(frozen=True)
class Cluster:
    """`gpus` of one kind in nodes of `node`.

    nic_gbs     bandwidth between nodes for each GPU, GB/s one way
    latency_us  of a message inside a node and between nodes
    peak        dense TFLOP/s the plan computes with; the device's 16-bit tensor peak if None
    efficiency  share of the peak that large matrix products reach: 0.75 where nothing is known.
                Measured ceilings (stas00/ml-engineering, MAMF): A100 0.869, H100 0.803, B200 0.776
    """

    where: str
    gpus: int
    node: int = 8
    nic_gbs: float = 25.0
    latency_us: tuple[float, float] = (3.0, 10.0)
    peak: float | None = None
    efficiency: float = 0.75

    def __post_init__(self) -> None:
        whole(PlanError, gpus=self.gpus, node=self.node)
        positive(PlanError, nic_gbs=self.nic_gbs)
        if self.peak is not None:
            positive(PlanError, peak=self.peak)
        if not isinstance(self.latency_us, tuple | list) or len(self.latency_us) != 2:
            raise PlanError(f"latency_us is (inside, between), not {self.latency_us!r}.")
        for latency in self.latency_us:
            real(PlanError, latency_us=latency)
        positive(PlanError, efficiency=self.efficiency)
        if self.efficiency > 1:
            raise PlanError(f"efficiency is a share above 0, at most 1, not {self.efficiency}.")

    @property
    def gpu(self) -> Device:
        return device(self.where)

    @property
    def flops(self) -> float:
        """Peak of one GPU, operations a second."""
        if self.peak is not None:
            return self.peak * 1e12
        return self.gpu.peak("fp16") * 1e12

    @property
    def memory(self) -> float:
        """Bytes of one GPU."""
        return self.gpu.memory_gb.value * 1e9

    def link(self, ranks: int, stride: int = 1) -> tuple[float, float]:
        """(bytes a second, seconds of latency) of a GPU in a group of `ranks`, `stride` apart.

        A group inside a node uses NVLink, or PCIe where there is none; else the network card.
        Groups that do not divide a node lie across two.
        """
        wide = ranks * stride
        if self.gpus <= self.node or (wide <= self.node and self.node % wide == 0):
            bridge = self.gpu.nvlink_gbs
            inside = bridge if bridge and bridge.value else self.gpu.pcie_gbs
            return inside.value * 1e9, self.latency_us[0] * 1e-6
        return self.nic_gbs * 1e9, self.latency_us[1] * 1e-6


def all_reduce(nbytes: float, ranks: int, link: tuple[float, float]) -> float:
    """Seconds of a ring: 2 (n - 1) rounds, 2 (n - 1) / n of the bytes a rank."""
    return 2 * all_gather(nbytes, ranks, link)


def all_gather(nbytes: float, ranks: int, link: tuple[float, float]) -> float:
    """Seconds of a ring all-gather or reduce-scatter of `nbytes` in all."""
    bandwidth, latency = link
    return (ranks - 1) * (latency + nbytes / ranks / bandwidth)
