"""Networks that are computed: links, topologies, and schedules.  Nothing here takes real time."""

from .collectives import (
    crossover,
    halving_doubling,
    recursive_doubling,
    ring_all_gather,
    ring_all_reduce,
    ring_reduce_scatter,
    theory,
    through_root,
    tree,
    two_level,
    two_level_theory,
)
from .expected import EXPECTED, Expected, expected
from .faults import faults
from .fit import Fit, bus_factor, busbw, fit
from .net import Event, Net
from .network import FabricError, Link, Network
from .presets import Preset, preset, presets
from .rounds import Algorithm, Costs, Round, apply, cost, messages, shares
from .topology import Topology, fat_tree, island, nodes_on_a_switch, pcie_tree, rails, torus

__all__ = [
    "EXPECTED", "Algorithm", "Costs", "Event", "Expected", "FabricError", "Fit", "Link", "Net",
    "Network", "Preset", "Round", "Topology", "apply", "bus_factor", "busbw", "cost", "crossover",
    "expected", "fat_tree", "faults", "fit", "halving_doubling", "island", "messages",
    "nodes_on_a_switch", "pcie_tree", "preset", "presets", "rails", "recursive_doubling",
    "ring_all_gather", "ring_all_reduce", "ring_reduce_scatter", "shares", "theory", "through_root",
    "torus", "tree", "two_level", "two_level_theory",
]  # fmt: skip
