"""Tools that listen to a run: each one an observer, none known to the simulator."""

from .census import Census
from .trace import Event, Trace

__all__ = ["Census", "Event", "Trace"]
