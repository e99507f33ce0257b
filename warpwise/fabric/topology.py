"""Topologies: GPUs, switches and cards as nodes, links between them, and the way messages take.

A link between two nodes is two directed links, one each way.  A message takes the path with the
fewest links; of several, the one that its destination chooses: what goes to neighbours spreads, and
shifts by any distance cross a full fat tree undisturbed (D-mod-k; Zahavi, "Fat-tree routing and
node ordering providing contention free traffic for MPI global collectives", 2012).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import combinations, product

from .inputs import positive, real, whole
from .network import FabricError, Link

Hop = tuple[str, str]


@dataclass
class Topology:
    """Build one with `join`, or take one of the functions below."""

    name: str
    gpus: list[str] = field(default_factory=list)
    links: dict[Hop, Link] = field(default_factory=dict)
    _near: dict[str, list[str]] = field(default_factory=dict, repr=False)
    _ways: dict[tuple[int, int], tuple[Hop, ...]] = field(default_factory=dict, repr=False)

    def join(self, one: str, other: str, link: Link) -> None:
        """A link both ways.  Joining again makes it wider by that much."""
        if one == other:
            raise FabricError(f"{one} cannot be joined to itself.")
        for hop in ((one, other), (other, one)):
            if hop in self.links:
                old = self.links[hop]
                self.links[hop] = Link(max(old.latency_us, link.latency_us), old.gbs + link.gbs)
            else:
                self.links[hop] = link
                self._near.setdefault(hop[0], []).append(hop[1])
        self._ways.clear()

    def cut(self, one: str, other: str, share: float = 0.0) -> None:
        """Break a link, both ways, or leave a share of its bandwidth."""
        real(FabricError, share=share)
        if share > 1:
            raise FabricError(f"share is at most 1, not {share}.")
        for hop in ((one, other), (other, one)):
            if hop not in self.links:
                raise FabricError(f"{self.name} has no link {one} - {other}.")
            if share > 0:
                old = self.links[hop]
                self.links[hop] = Link(old.latency_us, old.gbs * share)
            else:
                del self.links[hop]
                self._near[hop[0]].remove(hop[1])
        self._ways.clear()

    def way(self, source: int, destination: int) -> tuple[Hop, ...]:
        """Links from one GPU to another, by their numbers."""
        pair = (source, destination)
        if pair not in self._ways:
            for number in pair:
                if not 0 <= number < len(self.gpus):
                    raise FabricError(f"{self.name} has {len(self.gpus)} GPUs, none is {number}.")
            self._ways[pair] = self._search(*pair)
        return self._ways[pair]

    def _search(self, source: int, destination: int) -> tuple[Hop, ...]:
        start, end = self.gpus[source], self.gpus[destination]
        far = {end: 0}
        queue = deque([end])
        while queue:
            node = queue.popleft()
            for near in self._near.get(node, []):
                if near not in far:
                    far[near] = far[node] + 1
                    queue.append(near)
        if start not in far:
            raise FabricError(f"no way from {start} to {end} in {self.name}.")
        hops: list[Hop] = []
        node = start
        while node != end:
            closer = [near for near in self._near[node] if far.get(near, 1 << 30) < far[node]]
            after = closer[destination % len(closer)]
            hops.append((node, after))
            node = after
        return tuple(hops)

    def latency(self, source: int, destination: int) -> float:
        """Seconds of the links on the way, added."""
        return sum(self.links[hop].alpha for hop in self.way(source, destination))


def island(gpus: int, link: Link, name: str = "island") -> Topology:
    """GPUs on one switch, `link` each.  NVSwitches stripe all traffic, so together they are one."""
    whole(FabricError, gpus=gpus)
    made = Topology(name, [f"gpu{g}" for g in range(gpus)])
    half = Link(link.latency_us / 2, link.gbs)
    for gpu in made.gpus:
        made.join(gpu, "switch", half)
    return made


def pcie_tree(
    gpus: int, link: Link, a_switch: int = 2, sockets: int = 2, socket_link: Link | None = None
) -> Topology:
    """GPUs below PCIe switches, switches below processors, processors side by side."""
    whole(FabricError, gpus=gpus, a_switch=a_switch, sockets=sockets)
    made = Topology("PCIe tree", [f"gpu{g}" for g in range(gpus)])
    half = Link(link.latency_us / 4, link.gbs)
    switches = -(-gpus // a_switch)
    for number, gpu in enumerate(made.gpus):
        made.join(gpu, f"switch{number // a_switch}", half)
    for switch in range(switches):
        made.join(f"switch{switch}", f"cpu{switch * sockets // switches}", half)
    for one, other in combinations(range(sockets), 2):
        made.join(f"cpu{one}", f"cpu{other}", socket_link or link)
    return made


def fat_tree(
    gpus: int, a_leaf: int, link: Link, spines: int = 2, oversubscribed: float = 1.0
) -> Topology:
    """Leaf switches of `a_leaf` GPUs, each joined to all spines.

    oversubscribed  bandwidth into a leaf from below, over that from above: 1 is a full fat tree
    """
    whole(FabricError, gpus=gpus, a_leaf=a_leaf, spines=spines)
    positive(FabricError, oversubscribed=oversubscribed)
    if gpus % a_leaf:
        raise FabricError(f"leaves of {a_leaf} do not divide {gpus} GPUs.")
    made = Topology("fat tree", [f"gpu{g}" for g in range(gpus)])
    quarter = link.latency_us / 4
    up = Link(quarter, link.gbs * a_leaf / spines / oversubscribed)
    for number, gpu in enumerate(made.gpus):
        made.join(gpu, f"leaf{number // a_leaf}", Link(quarter, link.gbs))
    for leaf, spine in product(range(gpus // a_leaf), range(spines)):
        made.join(f"leaf{leaf}", f"spine{spine}", up)
    return made


def rails(nodes: int, gpus: int, inside: Link, nic: Link) -> Topology:
    """Nodes of `gpus` GPUs with a card each; card i of every node hangs on rail switch i.

    Messages between GPUs of different rails take NVLink to or from the neighbour on the rail.
    """
    whole(FabricError, nodes=nodes, gpus=gpus)
    made = Topology("rails", [f"node{n}.gpu{g}" for n in range(nodes) for g in range(gpus)])
    each, half = Link(inside.latency_us / 2, inside.gbs), Link(nic.latency_us / 2, nic.gbs)
    for node, gpu in product(range(nodes), range(gpus)):
        made.join(f"node{node}.gpu{gpu}", f"node{node}.switch", each)
        made.join(f"node{node}.gpu{gpu}", f"rail{gpu}", half)
    return made


def nodes_on_a_switch(nodes: int, gpus: int, inside: Link, card: Link) -> Topology:
    """Nodes of `gpus` GPUs that share one card a node, all cards on one switch (Ethernet)."""
    whole(FabricError, nodes=nodes, gpus=gpus)
    made = Topology("nodes on a switch", [f"node{n}.gpu{g}" for n in range(nodes)
                                          for g in range(gpus)])  # fmt: skip
    each, half = Link(inside.latency_us / 2, inside.gbs), Link(card.latency_us / 2, card.gbs)
    for node in range(nodes):
        for gpu in range(gpus):
            made.join(f"node{node}.gpu{gpu}", f"node{node}.switch", each)
        made.join(f"node{node}.switch", "switch", half)
    return made


def torus(shape: tuple[int, ...], link: Link) -> Topology:
    """A grid whose ends meet, in any number of dimensions; every GPU has two links in each."""
    if not isinstance(shape, tuple | list) or not shape:
        raise FabricError(f"shape has a size for each dimension, such as (4, 4); not {shape!r}.")
    for size in shape:
        whole(FabricError, shape=size)
    places = list(product(*(range(size) for size in shape)))
    made = Topology("torus", ["gpu" + "_".join(map(str, place)) for place in places])
    number = {place: index for index, place in enumerate(places)}
    for place, dimension in product(places, range(len(shape))):
        if shape[dimension] < 2 or (shape[dimension] == 2 and place[dimension] == 1):
            continue
        near = list(place)
        near[dimension] = (near[dimension] + 1) % shape[dimension]
        made.join(made.gpus[number[place]], made.gpus[number[tuple(near)]], link)
    return made
