"""Schedules as task graphs: pipelines, gradient buckets, prefetched shards."""

from .generators import dualpipe, gpipe, interleaved, one_f_one_b, zb1p, zb2p
from .overlap import Layer, buckets, ddp, fsdp
from .passes import Pair, Pass
from .schedule import Schedule, faults
from .simulate import Pipelined, Times, simulate
from .tasks import Deadlock, Run, ScheduleError, Span, Stand, Task, Wait, run

__all__ = [
    "Deadlock", "Layer", "Pair", "Pass", "Pipelined", "Run", "Schedule", "ScheduleError", "Span",
    "Stand", "Task", "Times", "Wait", "buckets", "ddp", "dualpipe", "faults", "fsdp", "gpipe",
    "interleaved", "one_f_one_b", "run", "simulate", "zb1p", "zb2p",
]  # fmt: skip
