"""The roofline of a device with kernels as points, and dials for the device and the number format.

Glossary
    level  the memory whose bytes are counted: DRAM, L2 or shared memory
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import atan, degrees
from typing import Any

from ..hardware import Device, attainable, bound_by, ceilings, device, ridge
from .dial import Bundle, Dial, Dialled
from .plot import COLOURS, GREY, MARKERS, axes, bundle

Points = Mapping[str, tuple[float, float | None]]


class Roofline:
    """points: name -> (operations a byte of `level`, TFLOP/s or None).  Without a rate a point
    stands on the roof, hollow: the most it could reach."""

    def __init__(self, where: str | Device, points: Points, kind: str, level: str = "DRAM") -> None:
        self.device = device(where)
        self.points = {name: _point(name, given) for name, given in points.items()}
        self.kind, self.level = kind, level
        self.device.peak(kind)  # refuse an unknown format now
        ridge(self.device, kind, level)  # and an unknown level

    def __str__(self) -> str:
        turn = ridge(self.device, self.kind, self.level)
        where = "" if self.level == "DRAM" else f" of {self.level}"
        rows = [f"roofline of {self.device.name}, {self.kind}: the ridge{where} is at {turn:.3g} "
                "operations a byte"]  # fmt: skip
        for name, (intensity, rate) in self.points.items():
            if rate is None:
                most = attainable(self.device, intensity, self.kind, self.level)
                said = f", at most {most:.3g} TFLOP/s"
            else:
                said = f", {rate:.3g} TFLOP/s"
            rows.append(
                f"  {name}: {intensity:.3g} operations a byte{said}, "
                f"bound by {bound_by(self.device, intensity, self.kind, self.level)}"
            )
        return "\n".join([*rows, "  (modelled)"])

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(self.figure(), str(self))

    def figure(self) -> Any:
        """The matplotlib figure."""
        figure, ax = roofs(self.device, self.kind, self.level, [i for i, _ in self.points.values()])
        left, right = ax.get_xlim()
        turn = ridge(self.device, self.kind, self.level)
        for number, (name, (intensity, rate)) in enumerate(self.points.items()):
            colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
            at = min(max(intensity, left), right)
            high = attainable(self.device, at, self.kind, self.level) if rate is None else rate
            ax.plot(at, high, marker, color=colour, ms=9,
                    mfc="none" if rate is None else colour, mew=2)  # fmt: skip
            above = at >= turn  # over the flat roof there is room, over the slanted one a label
            ax.annotate(name, (at, high), color=colour, ha="center" if above else "left",
                        xytext=(0, 10) if above else (9, -14), textcoords="offset points",
                        fontsize=9)  # fmt: skip
        return figure


def _point(name: str, given: Any) -> tuple[float, float | None]:
    """A point as it was given; ValueError with its name for anything else."""
    try:
        intensity, rate = given
        good = intensity >= 0 and (rate is None or rate > 0)
    except (TypeError, ValueError):
        good = False
    if not good:
        raise ValueError(
            f"{name}: a point is (operations a byte, TFLOP/s), with None for a rate that nobody "
            f"measured; this one is {given!r}."
        )
    return intensity, rate


def roofs(where: Device, kind: str, level: str, places: Sequence[float]) -> tuple[Any, Any]:
    """A figure and its axes with the roofs of a device, as wide as points at `places` need it; the
    roof of the format over the level is thick."""
    figure, ax = axes(7.2, 4.4)
    found = {roof.name: roof for roof in ceilings(where)}
    flat = [roof for roof in found.values() if roof.flat]
    top = max(roof.value for roof in flat)
    turn, peak = ridge(where, kind, level), where.peak(kind)
    inside = [place for place in places if 0 < place < float("inf")]
    left = min([0.05, *(place / 3 for place in inside)])
    right = max([4 * turn, *(3 * place for place in inside)])
    for value in dict.fromkeys(roof.value for roof in flat):
        names = ", ".join(roof.name for roof in flat if roof.value == value)
        ax.plot([left, right], [value, value], ":", color=GREY, lw=1)
        ax.annotate(f"{names} {value:g}", (1.01, value), color=GREY, va="center",
                    xycoords=("axes fraction", "data"), fontsize=8)  # fmt: skip
    for roof in found.values():
        if roof.flat or roof.value < found[level].value:  # slower memories see other bytes
            continue
        slope = roof.value / 1000
        end = min(right, top / slope)
        ax.plot([left, end], [left * slope, end * slope], ":", color=GREY, lw=1)
        ax.text(left * 1.1, left * slope * 1.4, f"{roof.name} {roof.value:,.0f} GB/s",
                color=GREY, fontsize=8, rotation=degrees(atan(slope * 1.4 / 1.1)),
                rotation_mode="anchor", transform_rotates_text=True)  # fmt: skip
    ax.plot([left, turn, right], [peak * left / turn, peak, peak], "-", color=GREY, lw=2.4)
    ax.annotate(f"ridge {turn:.3g}", (turn, peak), color=GREY, fontsize=9, ha="right",
                xytext=(-6, 5), textcoords="offset points")  # fmt: skip
    ax.set(xscale="log", yscale="log", xlim=(left, right), ylabel="TFLOP/s",
           xlabel=f"operations a byte of {level} traffic",
           title=f"{where.name} (modelled)")  # fmt: skip
    return figure, ax


def show_roofline(
    where: str | Device = "A100", points: Points | None = None, kind: str = "fp32",
    level: str = "DRAM",
) -> Roofline:  # fmt: skip
    """The roofline of a device, with kernels as points.

    points  name -> (operations a byte, measured TFLOP/s or None); the ladder of compare() gives
            them: `{name: (row.intensity, None) for name, row in ladder.rows}`
    kind    the peak that counts: fp64, fp32, tf32, fp16, fp8, fp4
    level   the memory whose bytes are counted: DRAM, L2, shared memory

    ValueError for a format or a level that the device has no figure for.
    """
    return Roofline(where, points or {}, kind, level)


def turn_roofline(
    points: Points, devices: Sequence[str], kinds: Sequence[str] = ("fp64", "fp32")
) -> Dialled:
    """The roofline with a dial for the device and one for the number format: the same points under
    other roofs.  Starts at the first device and the last format."""

    def draw(device: str, format: str) -> Bundle:
        return show_roofline(device, points, format)._repr_mimebundle_()

    return Dialled(
        [Dial("device", tuple(devices), devices[0]), Dial("format", tuple(kinds), kinds[-1])], draw
    )
