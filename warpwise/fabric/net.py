"""A network on real ranks whose time is virtual: clocks travel with the messages.

Used inside the function of `run_ranks` (or under torchrun): the messages are real, gloo carries
them; the time is that of the links.  A receiver is done at max(its clock, the sender's) + alpha +
n beta, a sender is free after as long.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from .inputs import positive, real
from .network import CLOCK_TAGS, FabricError, Link, Network

Tensor = Any


@dataclass(frozen=True)
class Event:
    """Something a rank did: `name` (send, recv, compute), from `start` to `end` virtual seconds."""

    name: str
    start: float
    end: float
    peer: int | None = None
    nbytes: int = 0


class Net:
    """One rank's network.

    mode  "virtual": time is only reckoned.  "slept": each rank also sleeps until its clock has
          come, `slower` times slower than life, so that a person sees who waits.
    """

    def __init__(
        self, network: Network, mode: str = "virtual", slower: float = 1.0, start: float = 0.0
    ) -> None:
        import torch.distributed as dist

        if mode not in ("virtual", "slept"):
            raise FabricError(f"a network is virtual or slept, not {mode!r}.")
        positive(FabricError, slower=slower)
        real(FabricError, start=start)
        size = dist.get_world_size()
        if network.ranks != size:
            raise FabricError(f"the network has {network.ranks} ranks, the process group {size}.")
        self.network, self.mode, self.slower = network, mode, slower
        self.rank: int = dist.get_rank()
        self.size: int = size
        self.now = start
        self.events: list[Event] = []
        self._out = start  # when the way out is free again
        self._begun = time.monotonic() - start * slower

    def compute(self, seconds: float, name: str = "compute") -> None:
        """Declare work: the clock moves on, nothing is computed."""
        real(FabricError, **{name: seconds})
        self._do(name, self.now, self.now + seconds)

    def send(self, tensor: Tensor, destination: int, tag: int = 0) -> None:
        """Send and wait until it has left.  Blocks until it is received, as gloo's send does."""
        end, works = self._start(tensor, destination, tag)
        for work in works:
            work.wait()
        self._catch_up(end)

    def recv(self, tensor: Tensor, source: int, tag: int = 0) -> None:
        """Receive into `tensor`."""
        self._catch_up(self._take(tensor, source, tag, self.now))

    def sendrecv(
        self, out: Tensor, destination: int, into: Tensor, source: int, tag: int = 0
    ) -> None:
        """Send and receive at the same time: no order of ranks can block."""
        begun = self.now
        sent, works = self._start(out, destination, tag)
        came = self._take(into, source, tag, begun)
        for work in works:
            work.wait()
        self._catch_up(max(sent, came))

    def barrier(self) -> None:
        """All clocks at the latest one; it costs nothing."""
        import torch
        import torch.distributed as dist

        latest = torch.tensor([self.now], dtype=torch.float64)
        dist.all_reduce(latest, dist.ReduceOp.MAX)
        self._catch_up(float(latest))
        self._out = self.now

    def _link(self, source: int, destination: int) -> Link:
        return self.network.link(source, destination)

    def _start(self, tensor: Tensor, destination: int, tag: int) -> tuple[float, list[Any]]:
        import torch
        import torch.distributed as dist

        nbytes = tensor.numel() * tensor.element_size()
        start = max(self.now, self._out)
        end = start + self._link(self.rank, destination).time(nbytes)
        self._out = end
        self.events.append(Event("send", start, end, destination, nbytes))
        stamp = torch.tensor([start], dtype=torch.float64)
        works = [dist.isend(stamp, destination, tag=tag + CLOCK_TAGS)]
        works.append(dist.isend(tensor.contiguous(), destination, tag=tag))
        return end, works

    def _take(self, tensor: Tensor, source: int, tag: int, now: float) -> float:
        import torch
        import torch.distributed as dist

        stamp = torch.empty(1, dtype=torch.float64)
        dist.recv(stamp, source, tag=tag + CLOCK_TAGS)
        dist.recv(tensor, source, tag=tag)
        nbytes = tensor.numel() * tensor.element_size()
        start = max(now, float(stamp))
        end = start + self._link(source, self.rank).time(nbytes)
        self.events.append(Event("recv", start, end, source, nbytes))
        return end

    def _do(self, name: str, start: float, end: float) -> None:
        self.events.append(Event(name, start, end))
        self._catch_up(end)

    def _catch_up(self, until: float) -> None:
        self.now = max(self.now, until)
        if self.mode == "slept":
            ahead = self._begun + self.now * self.slower - time.monotonic()
            if ahead > 0:
                time.sleep(ahead)
