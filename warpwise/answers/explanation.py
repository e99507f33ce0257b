"""explain(): the four answers for one launch."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from html import escape
from typing import Any

from .. import hardware
from ..compiler import ArchitectureError, Compiled, CompilerError, architecture, compile_kernel
from ..hardware import Bound, Device, Occupancy, bound, occupancy, what_would_change_it
from ..machine import backend
from ..measure import Measurement
from ..observe.profiler import launch_of
from ..observe.report import Report
from .profiling import counted, gpu_name, timed
from .work import intensity_of, work_of


@dataclass(frozen=True)
class Explanation:
    """What is known of one launch.  Each part carries its own label.

    counted    the report of the simulator's counters
    compiled   the real compiler's verdict, or None with the reason in `compiler_problem`
    occupancy  blocks and warps on one SM, from the compiled resources
    bound      the modelled interval of its time on `device`
    measured   what a GPU measured, or None with the reason in `not_measured`
    """

    kernel: str
    device: Device
    counted: Report
    compiled: Compiled | None
    compiler_problem: str
    occupancy: Occupancy | None
    bound: Bound
    measured: Measurement | None = None
    not_measured: str = ""

    @property
    def intensity(self) -> float:
        """Operations a byte of DRAM traffic, each touched sector moved once."""
        return intensity_of(self.counted)

    @property
    def suggestions(self) -> list[str]:
        """What would let more warps in, where the launch leaves room for them."""
        return what_would_change_it(self.occupancy) if self.occupancy else []

    def answers(self) -> dict[str, list[tuple[str, str]]]:
        """Label -> rows of (what, how much): what the text and the HTML show."""
        return {
            "counted": _counted(self.counted),
            "compiled": self._compiled(),
            "modelled": self._modelled(),
            "measured": [("", str(self.measured) if self.measured else self.not_measured)],
        }

    def _compiled(self) -> list[tuple[str, str]]:
        if self.compiled is None:
            return [("", self.compiler_problem)]
        used = self.compiled.resources
        rows = [
            ("architecture", f"{self.compiled.architecture}, by {used.tool}"),
            ("registers a thread", str(used.registers)),
            ("spilled", f"{self.compiled.spills} bytes a thread"),
            ("stack", f"{used.stack} bytes a thread"),
            ("static shared memory", f"{used.shared} bytes a block"),
            ("float64 instructions", str(self.compiled.float64)),
        ]
        if self.compiler_problem:
            rows.append(("note", self.compiler_problem))
        return rows

    def _modelled(self) -> list[tuple[str, str]]:
        rows = []
        if self.occupancy is not None:
            rows.append(("occupancy", str(self.occupancy)))
        rows += [
            ("operations a byte", f"{self.intensity:.3g}"),
            ("time", f"{self.bound.low_ms:.3g} to {self.bound.high_ms:.3g} ms"),
            ("bound by", f"{self.bound.limiter.name}: {self.bound.limiter.how}"),
        ]
        return rows

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the model takes for granted, in words."""
        return self.bound.assumptions

    def to_dict(self) -> dict[str, Any]:
        """Plain data with the four labels as keys."""
        return {
            "kernel": self.kernel, "device": self.device.name, "counted": self.counted.to_dict(),
            "compiled": self.compiled.to_dict() if self.compiled else self.compiler_problem,
            "modelled": {
                "occupancy": self.occupancy.fraction if self.occupancy else None,
                "limiters": list(self.occupancy.limiters) if self.occupancy else [],
                "low_ms": self.bound.low_ms, "high_ms": self.bound.high_ms,
                "bound_by": self.bound.limiter.name, "intensity": self.intensity,
                "assumptions": list(self.assumptions),
            },
            "measured": self.measured.to_dict() if self.measured else self.not_measured,
        }  # fmt: skip

    def __str__(self) -> str:
        parts = [f"{self.kernel} on {self.device.name}"]
        for label, rows in self.answers().items():
            parts.append(label)
            parts += [f"  {what:<22}{how}".rstrip() if what else f"  {how}" for what, how in rows]
        parts += [f"  assumes {text}" for text in self.assumptions]
        return "\n".join(parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        boxes = "".join(_box(label, rows) for label, rows in self.answers().items())
        assumed = "".join(f"<li>{escape(text)}</li>" for text in self.assumptions)
        return (
            f"<div><b>{escape(self.kernel)}</b> on {escape(self.device.name)}</div>"
            f'<div style="display: flex; flex-wrap: wrap; gap: 8px 28px;">{boxes}</div>'
            f"<details><summary>what the model assumes</summary><ul>{assumed}</ul></details>"
        )


def explain(launch: Any, *args: Any, device: str | Device | None = None) -> Explanation:
    """Run `kernel[grid, block]` with counters, compile it for the device, and model its time.

    Arrays are written as by an ordinary launch.  device: a name of the device table; by default the
    GPU that is here, or an A100.  Raises UnknownDeviceError, and SimtError as the launch would; a
    compiler that is missing or refuses is told of in the result.
    """
    gpu = _default_device() if device is None else hardware.device(device)
    kernel, _, _, dynamic = launch_of(launch)
    compiled, problem = _compile(kernel, args, gpu)  # before the run: types, not values
    report = counted(launch, args)
    fits = None
    if compiled is not None:
        threads = report.block[0] * report.block[1] * report.block[2]
        fits = occupancy(
            gpu, threads, compiled.registers, compiled.shared_bytes, int(dynamic),
            compiled.resources.barriers,
        )  # fmt: skip
    modelled = bound(work_of(report, gpu, compiled), gpu, fits)
    measured, not_measured = timed(launch, args, gpu, modelled.low_ms)
    return Explanation(
        report.kernel, gpu, report, compiled, problem, fits, modelled, measured, not_measured
    )


def _default_device() -> Device:
    """The GPU that is here, if the table has it; an A100 otherwise."""
    found = hardware.recognised(gpu_name()) if backend() == "gpu" else None
    return found or hardware.device("A100")


def _compile(kernel: Any, args: tuple[Any, ...], gpu: Device) -> tuple[Compiled | None, str]:
    """(compiled kernel, what to say): for the device's architecture or the nearest."""
    note = ""
    try:
        arch = architecture.parse(gpu.compute_capability)
    except ArchitectureError:
        arch = architecture.KNOWN[0]
        note = (
            f"{gpu.name} is {architecture.name(gpu.compute_capability)}, which CUDA 13 no longer "
            f"compiles for; these are {architecture.name(arch)}'s figures"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile_kernel(kernel, args, arch), note
    except CompilerError as error:
        return None, str(error)


def _counted(report: Report) -> list[tuple[str, str]]:
    rows = []
    for name, traffic in (("global loads", report.loads), ("global stores", report.stores)):
        if traffic.requests:
            rows.append((name, f"{traffic.requests:,} requests, {traffic.sectors:,} sectors, "
                               f"{traffic.sectors_per_request:.2f} each"))  # fmt: skip
    if report.shared.requests:
        rows.append(("shared memory", f"{report.shared.requests:,} requests, "
                     f"{report.shared.bank_conflicts:,} bank conflicts"))  # fmt: skip
    if report.atomics.requests:
        rows.append(("atomics", f"{report.atomics.requests:,} requests, "
                     f"{report.atomics.transactions:,} transactions"))  # fmt: skip
    rows.append(("lanes at work", f"{report.lane_efficiency:.1%}"))
    flops = ", ".join(f"{count:,} {kind}" for kind, count in sorted(report.flops.items()))
    rows.append(("operations", flops or "no floating point"))
    if report.worst is not None:
        line, why = report.worst
        rows.append(("worst line", f"{line.number}: {why}"))
    return rows


def _box(label: str, rows: list[tuple[str, str]]) -> str:
    cell = (
        "padding: 1px 10px 1px 0; text-align: left; vertical-align: top; border: none;"
        " background: none;"
    )
    body = "".join(
        f'<tr style="background: none;"><td style="{cell} white-space: nowrap;">{escape(what)}</td>'
        f'<td style="{cell}">{escape(how)}</td></tr>'
        if what
        else f'<tr style="background: none;"><td colspan="2" style="{cell}">{escape(how)}</td></tr>'
        for what, how in rows
    )
    return (
        f'<div style="max-width: 46em;"><b>{label}</b>'
        f'<table style="border-collapse: collapse; margin: 2px 0;">{body}</table></div>'
    )
