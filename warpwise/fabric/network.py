"""Links between ranks: a message of n bytes takes alpha + n beta (Hockney's model).

Time here is virtual: it is computed, so it is exact and the same on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .inputs import positive, real, whole

Ints = Any
Floats = Any

# Messages with tags from here on carry clocks (see net), no data; ledgers leave them out.
CLOCK_TAGS = 1 << 20


class FabricError(ValueError):
    """A network, an algorithm or a topology that cannot be."""


@dataclass(frozen=True)
class Link:
    """latency_us: alpha in microseconds; gbs: bandwidth one way in GB/s (1e9 bytes), 1 / beta."""

    latency_us: float
    gbs: float

    def __post_init__(self) -> None:
        real(FabricError, latency_us=self.latency_us)
        positive(FabricError, gbs=self.gbs)

    @property
    def alpha(self) -> float:
        """Seconds."""
        return self.latency_us * 1e-6

    @property
    def beta(self) -> float:
        """Seconds a byte."""
        return 1e-9 / self.gbs

    def time(self, nbytes: float) -> float:
        """Seconds of a message."""
        return self.alpha + nbytes * self.beta


@dataclass(frozen=True)
class Network:
    """`ranks` ranks, in nodes of `node`: one link inside a node, another between nodes.

    Every pair has its own link: nothing is shared (for shared links see `flows`).
    links  other links for single pairs: {(source, destination): Link}
    """

    ranks: int
    inside: Link
    between: Link | None = None
    node: int | None = None
    links: Mapping[tuple[int, int], Link] = field(default_factory=dict)

    def __post_init__(self) -> None:
        whole(FabricError, ranks=self.ranks)
        if self.node is not None:
            whole(FabricError, node=self.node)
        if (self.between is None) != (self.node is None):
            raise FabricError("a network of nodes needs both: `node` ranks each, a link `between`.")
        if self.node is not None and self.ranks % self.node:
            raise FabricError(f"nodes of {self.node} do not divide {self.ranks} ranks.")
        for source, destination in self.links:
            if not (0 <= source < self.ranks and 0 <= destination < self.ranks):
                raise FabricError(f"no link {source} to {destination}: {self.ranks} ranks.")

    def link(self, source: int, destination: int) -> Link:
        """The link of one pair."""
        if (source, destination) in self.links:
            return self.links[source, destination]
        if self.between is not None and self.node is not None:
            if source // self.node != destination // self.node:
                return self.between
        return self.inside

    def times(self, sources: Ints, destinations: Ints, nbytes: Ints) -> Floats:
        """Seconds of many messages at once (arrays of equal length)."""
        alpha = np.full(len(sources), self.inside.alpha)
        beta = np.full(len(sources), self.inside.beta)
        if self.between is not None and self.node is not None:
            far = sources // self.node != destinations // self.node
            alpha[far], beta[far] = self.between.alpha, self.between.beta
        for (source, destination), link in self.links.items():
            here = (sources == source) & (destinations == destination)
            alpha[here], beta[here] = link.alpha, link.beta
        return alpha + nbytes * beta
