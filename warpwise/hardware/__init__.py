"""What the hardware could do at best: devices, occupancy, roofline, latency, bounds, timelines.

Takes numbers and knows no reports.  Everything here is modelled; each formula has its source.
"""

from .bound import Bound, Roof, Work, bound
from .devices import Cell, Device, UnknownDeviceError, device, devices, recognised
from .latency import InFlight, in_flight
from .occupancy import Occupancy, occupancy, what_would_change_it
from .ordering import Op, Race, TimelineError, races
from .roofline import Ceiling, attainable, bound_by, ceilings, intensity, ridge
from .stages import staged, streams_to_hide
from .timeline import Span, Timeline, timeline

__all__ = [
    "Bound", "Ceiling", "Cell", "Device", "InFlight", "Occupancy", "Op", "Race", "Roof", "Span",
    "Timeline", "TimelineError", "UnknownDeviceError", "Work", "attainable", "bound", "bound_by",
    "ceilings", "device", "devices", "in_flight", "intensity", "occupancy", "races", "recognised",
    "ridge", "staged", "streams_to_hide", "timeline", "what_would_change_it",
]  # fmt: skip
