"""Named machines, each number with its source (presets.toml)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .network import FabricError, Link, Network
from .topology import Topology, island, nodes_on_a_switch, pcie_tree, rails


@dataclass(frozen=True)
class Number:
    """A figure: how is printed, derived or assumed."""

    value: float
    how: str
    source: str


@dataclass(frozen=True)
class Preset:
    """One machine; `topology` has its shared links, `network` a link for every pair of GPUs."""

    name: str
    kind: str
    numbers: dict[str, Number]

    def value(self, name: str) -> float:
        """One of its figures.  Raises FabricError with the names there are."""
        if name not in self.numbers:
            raise FabricError(f"{self.name} has no {name!r}: there are {', '.join(self.numbers)}.")
        return self.numbers[name].value

    def count(self, name: str) -> int:
        return int(self.value(name))

    def link(self, which: str) -> Link:
        """inside, between or socket."""
        return Link(self.value(f"{which}_us"), self.value(f"{which}_gbs"))

    @property
    def gpus(self) -> int:
        """In all."""
        nodes = self.count("nodes") if "nodes" in self.numbers else 1
        return nodes * self.count("gpus")

    @property
    def network(self) -> Network:
        """Every pair with a link of its own: what one message at a time sees."""
        if "nodes" not in self.numbers:
            return Network(self.gpus, self.link("inside"))
        return Network(self.gpus, self.link("inside"), self.link("between"), self.count("gpus"))

    def topology(self) -> Topology:
        """A new Topology, free to be changed."""
        inside = self.link("inside")
        gpus = self.count("gpus")
        if self.kind == "island":
            made = island(gpus, inside)
        elif self.kind == "pcie":
            made = pcie_tree(gpus, inside, socket_link=self.link("socket"))
        elif self.kind == "rails":
            made = rails(self.count("nodes"), gpus, inside, self.link("between"))
        else:
            made = nodes_on_a_switch(self.count("nodes"), gpus, inside, self.link("between"))
        made.name = self.name
        return made


@cache
def presets() -> tuple[Preset, ...]:
    """All of them."""
    rows = tomllib.loads(Path(__file__).with_name("presets.toml").read_text())["preset"]
    return tuple(
        Preset(row.pop("name"), row.pop("kind"), {k: Number(**v) for k, v in row.items()})
        for row in rows
    )


def preset(name: str) -> Preset:
    """One by name.  Raises FabricError with the names there are."""
    for one in presets():
        if one.name.lower() == str(name).lower():
            return one
    known = ", ".join(one.name for one in presets())
    raise FabricError(f"no machine {name!r}: there are {known}.")
