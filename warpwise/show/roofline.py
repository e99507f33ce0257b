"""The roofline of a device with kernels as points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..hardware import Device, bound_by, ceilings, device, ridge
from .plot import COLOURS, GREY, MARKERS, axes, bundle


class Roofline:
    """points: name -> (operations a byte, TFLOP/s or None).  Without a rate a point stands on the
    roof, hollow: the most it could reach."""

    def __init__(
        self, where: str | Device, points: Mapping[str, tuple[float, float | None]], kind: str
    ) -> None:
        self.device = device(where)
        self.points = dict(points)
        self.kind = kind
        self.device.peak(kind)  # refuse an unknown format now

    def __str__(self) -> str:
        turn = ridge(self.device, self.kind)
        rows = [f"roofline of {self.device.name}, {self.kind}: the ridge is at {turn:.3g} "
                "operations a byte"]  # fmt: skip
        for name, (intensity, rate) in self.points.items():
            said = f", {rate:.3g} TFLOP/s" if rate is not None else ""
            rows.append(
                f"  {name}: {intensity:.3g} operations a byte{said}, "
                f"bound by {bound_by(self.device, intensity, self.kind)}"
            )
        return "\n".join([*rows, "  (modelled)"])

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(self.figure(), str(self))

    def figure(self) -> Any:
        """The matplotlib figure."""
        figure, ax = axes(7.2, 4.4)
        roofs = {roof.name: roof for roof in ceilings(self.device)}
        flat = [roof for roof in roofs.values() if roof.flat]
        top = max(roof.value for roof in flat)
        intensities = [i for i, _ in self.points.values() if 0 < i < float("inf")]
        left = min([0.05, *(i / 3 for i in intensities)])
        right = max([4 * ridge(self.device, self.kind), *(3 * i for i in intensities)])
        for roof in flat:
            style = "-" if roof.name == self.kind else ":"
            ax.plot([left, right], [roof.value] * 2, style, color=GREY, lw=1.2)
            ax.annotate(f"{roof.name} {roof.value:g}", (1.01, roof.value), color=GREY, va="center",
                        xycoords=("axes fraction", "data"), fontsize=8)  # fmt: skip
        for name in ("shared memory", "L2", "DRAM"):
            if name not in roofs:
                continue
            slope = roofs[name].value / 1000
            end = min(right, top / slope)
            ax.plot([left, end], [left * slope, end * slope], "-" if name == "DRAM" else ":",
                    color=GREY, lw=1.2)  # fmt: skip
            ax.text(left * 1.1, left * slope * 1.25, f"{name} {roofs[name].value:,.0f} GB/s",
                    color=GREY, fontsize=8, rotation=34, rotation_mode="anchor")  # fmt: skip
        for number, (name, (intensity, rate)) in enumerate(self.points.items()):
            colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
            at = min(max(intensity, left), right)
            roof_here = min(self.device.peak(self.kind), at * roofs["DRAM"].value / 1000)
            ax.plot(at, roof_here if rate is None else rate, marker, color=colour, ms=9,
                    mfc="none" if rate is None else colour, mew=2)  # fmt: skip
            ax.annotate(name, (at, roof_here if rate is None else rate), color=colour,
                        xytext=(9, -14), textcoords="offset points", fontsize=9)  # fmt: skip
        ax.set(xscale="log", yscale="log", xlabel="operations a byte of DRAM traffic",
               ylabel="TFLOP/s", title=f"{self.device.name} (modelled)")  # fmt: skip
        return figure


def show_roofline(
    where: str | Device = "A100",
    points: Mapping[str, tuple[float, float | None]] | None = None,
    kind: str = "fp32",
) -> Roofline:
    """The roofline of a device, with kernels as points.

    points  name -> (operations a byte, measured TFLOP/s or None); the ladder of compare() gives
            them: `{name: (row.intensity, None) for name, row in ladder.rows}`
    kind    the peak that counts: fp64, fp32, tf32, fp16, fp8, fp4
    """
    return Roofline(where, points or {}, kind)
