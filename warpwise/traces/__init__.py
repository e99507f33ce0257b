"""Traces of programs: read Chrome's format, make tables of them, and ten examples with a cause.

trace = shipped(3)             one of the ten files beside this module
trace = read_trace("t.json")   a file of torch.profiler, or any other in Chrome's format
trace.lanes, trace.on("stream 7"), trace.totals("stream 7"), trace.gaps("stream 7")
"""

from .chrome import read_trace, write_trace
from .examples import CAUSES, example, shipped
from .trace import Event, Trace, TraceError

__all__ = [
    "CAUSES",
    "Event",
    "Trace",
    "TraceError",
    "example",
    "read_trace",
    "shipped",
    "write_trace",
]
