"""Bytes of parameters, gradients and optimiser states a rank holds, by recipe and ZeRO stage."""

from __future__ import annotations

from dataclasses import dataclass

from ..fabric.inputs import real, whole
from .model import PlanError


@dataclass(frozen=True)
class Recipe:
    """Bytes a parameter.  Authors differ: say which convention a figure uses."""

    name: str
    parameters: float
    gradients: float
    optimizer: float  # master weights and moments
    accumulator: float = 0.0  # gradients summed in higher precision
    source: str = ""

    @property
    def total(self) -> float:
        return self.parameters + self.gradients + self.optimizer + self.accumulator


_BOOK = "The Ultra-Scale Playbook, Hugging Face, 2025"
RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("mixed", 2, 2, 12, 0, "ZeRO, arXiv 1910.02054: K = 12"),
        Recipe("mixed, fp32 accumulation", 2, 2, 12, 4, _BOOK),
        Recipe("fp32", 4, 4, 8, 0, "plain Adam: weight, gradient and two moments in fp32"),
        Recipe("scaling book", 2, 0, 8, 0, "How to Scale Your Model, 2025: bf16 weight, fp32 Adam"),
        Recipe(
            "ml-engineering", 6, 4, 8, 0, "stas00/ml-engineering: weights twice, Adam, gradients"
        ),
        Recipe("Transformer Engine fp8", 4, 4, 8, 0, _BOOK),
        Recipe("FP8-LM O3", 1, 1, 5, 2, _BOOK),
        Recipe("DeepSeek-V3", 1, 2, 8, 4, _BOOK),
        Recipe("nanotron fp8", 1, 1, 4, 4, _BOOK),
    )
}


def recipe(name: str | Recipe) -> Recipe:
    """A recipe by name.  Raises PlanError with the known ones."""
    if isinstance(name, Recipe):
        return name
    if name not in RECIPES:
        raise PlanError(f"no recipe {name!r}: there are {', '.join(RECIPES)}.")
    return RECIPES[name]


@dataclass(frozen=True)
class State:
    """Bytes by kind on one rank, between steps.  Label: modelled."""

    parameters: float
    gradients: float
    optimizer: float
    label: str = "modelled"

    @property
    def total(self) -> float:
        return self.parameters + self.gradients + self.optimizer


def state(parameters: float, how: str | Recipe = "mixed", stage: int = 0, ranks: int = 1) -> State:
    """What a rank holds of `parameters` parameters (ZeRO, arXiv 1910.02054).

    stage  0: all replicated; 1: optimiser states divided by `ranks`; 2: gradients, too; 3: all
    The accumulator counts as gradients and is divided from stage 2 on.
    """
    if stage not in (0, 1, 2, 3):
        raise PlanError(f"ZeRO has stages 0 to 3, not {stage}.")
    whole(PlanError, ranks=ranks)
    real(PlanError, parameters=parameters)
    per = recipe(how)
    split = lambda bytes_, from_stage: bytes_ / (ranks if stage >= from_stage else 1)  # noqa: E731
    return State(
        parameters * split(per.parameters, 3),
        parameters * split(per.gradients + per.accumulator, 2),
        parameters * split(per.optimizer, 1),
    )
