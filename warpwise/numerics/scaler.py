"""The loss scaler: a state machine that keeps small gradients of fp16 above zero.

The loss is multiplied by `scale`, so are all gradients; before the step they are divided again.
An infinity or NaN among them means: skip the step, scale down.  After enough good steps: scale up.

Source of rules and numbers: PyTorch, torch.amp.GradScaler (init_scale, growth_factor,
backoff_factor, growth_interval).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .formats import FP32


@dataclass(frozen=True)
class Scaler:
    """The state between two steps.

    scale: factor of the loss;  good: steps without overflow since the scale last changed;
    growth, backoff: factors;  interval: good steps before the scale grows.
    """

    scale: float = 65536.0
    good: int = 0
    growth: float = 2.0
    backoff: float = 0.5
    interval: int = 2000

    def after(self, overflow: bool) -> Scaler:
        """The state after a step: with an overflow the step was skipped.

        >>> Scaler(interval=2).after(False).after(False).scale
        131072.0
        """
        if overflow:
            return replace(self, scale=self.scale * self.backoff, good=0)
        if self.good + 1 < self.interval:
            return replace(self, good=self.good + 1)
        grown = self.scale * self.growth
        # A scale that would leave fp32 stays, as PyTorch has it.
        return replace(self, scale=grown if grown <= FP32.max else self.scale, good=0)


def overflowed(gradients: Iterable[Any]) -> bool:
    """Is there an infinity or a NaN in any of the arrays?"""
    return not all(np.isfinite(np.asarray(one)).all() for one in gradients)


def run(scaler: Scaler, overflows: Iterable[bool]) -> Iterator[Scaler]:
    """The state after each step of a sequence of overflows."""
    for overflow in overflows:
        scaler = scaler.after(overflow)
        yield scaler
