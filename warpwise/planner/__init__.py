"""Plan a training run: a model's shape and a cluster to memory by kind and modelled step time."""

from .activations import (
    coefficient,
    copies_bytes,
    first_stage_bytes,
    head_bytes,
    in_flight,
    layer_bytes,
)
from .around import around, filled
from .cluster import Cluster
from .failures import (
    best_interval,
    daly_interval,
    run_mtbf,
    segment_seconds,
    useful_share,
    young_interval,
)
from .model import Model, PlanError
from .plan import Estimate, Memory, Plan, Time, estimate, search
from .presets import GPUS, MODELS, cluster_of
from .state import RECIPES, Recipe, State, recipe, state

__all__ = [
    "GPUS", "MODELS", "RECIPES", "Cluster", "Estimate", "Memory", "Model", "Plan", "PlanError",
    "Recipe", "State", "Time", "around", "best_interval", "cluster_of", "coefficient",
    "copies_bytes", "daly_interval", "estimate", "filled", "first_stage_bytes", "head_bytes",
    "in_flight", "layer_bytes", "recipe", "run_mtbf", "search", "segment_seconds", "state",
    "useful_share", "young_interval",
]  # fmt: skip
