"""Tools that listen to a run: each one an observer, none known to the simulator."""

from .census import Census
from .counters import Counters
from .profiler import profile
from .report import Report
from .sanitizer import Finding, sanitize
from .trace import Event, Trace

__all__ = ["Census", "Counters", "Event", "Finding", "Report", "Trace", "profile", "sanitize"]
