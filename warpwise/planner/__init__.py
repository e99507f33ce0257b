"""Plan a training run: a model's shape and a cluster to memory by kind and modelled step time."""

from .activations import (
    coefficient,
    copies_bytes,
    first_stage_bytes,
    head_bytes,
    in_flight,
    layer_bytes,
)
from .cluster import Cluster
from .model import Model, PlanError
from .plan import Estimate, Memory, Plan, Time, estimate, search
from .state import RECIPES, Recipe, State, recipe, state

__all__ = [
    "RECIPES", "Cluster", "Estimate", "Memory", "Model", "Plan", "PlanError", "Recipe", "State",
    "Time", "coefficient", "copies_bytes", "estimate", "first_stage_bytes", "head_bytes",
    "in_flight", "layer_bytes", "recipe", "search", "state",
]  # fmt: skip
