"""Bytes of activations saved for the backward (Korthikanti et al., arXiv 2205.05198, 16-bit).

A layer of GPT's shape saves, in units of s b h bytes: attention 11 + 5 a s / h, feed-forward 19,
two norms 4.  Tensor parallelism divides 24 + 5 a s / h of it, sequence parallelism the rest, too.
"""

from __future__ import annotations

from .model import Model, PlanError

WHOLE, SHARED = 10.0, 24.0  # of 34: what tensor parallelism leaves whole, and what it divides
BOUNDARY = 2.0  # a layer's input in 16 bits: all that full recomputation keeps
RECOMPUTE = ("none", "selective", "full")


def coefficient(
    model: Model, tp: int = 1, sequence_parallel: bool = False, recompute: str = "none"
) -> float:
    """Bytes a layer saves on a rank, divided by s b h."""
    if recompute not in RECOMPUTE:
        raise PlanError(f"recompute is {', '.join(RECOMPUTE)}, not {recompute!r}.")
    if recompute == "full":
        return BOUNDARY / (tp if sequence_parallel else 1)
    scores = 5 * model.heads * model.sequence / model.hidden if recompute == "none" else 0.0
    return WHOLE / (tp if sequence_parallel else 1) + (SHARED + scores) / tp


def layer_bytes(
    model: Model,
    microbatch: int = 1,
    tp: int = 1,
    sequence_parallel: bool = False,
    recompute: str = "none",
    cp: int = 1,
) -> float:
    """Bytes one layer saves for one microbatch on one rank; cp divides the sequence.

    The scores of a rank are s / cp queries against all s keys.
    """
    size = model.sequence * microbatch * model.hidden / cp
    return size * coefficient(model, tp, sequence_parallel, recompute)


def in_flight(pp: int = 1, v: int = 1, microbatches: int | None = None) -> float:
    """Microbatches the first stage of 1F1B holds at its peak, in those of its own layers.

    p without interleaving, p (1 + (p - 1) / (p v)) with v > 1 chunks; never more than there are.
    """
    held = pp * (1 + (pp - 1) / (pp * v)) if v > 1 else float(pp)
    return held if microbatches is None else min(held, microbatches)


def first_stage_bytes(
    model: Model,
    microbatch: int = 1,
    tp: int = 1,
    pp: int = 1,
    v: int = 1,
    sequence_parallel: bool = False,
    recompute: str = "none",
    cp: int = 1,
    microbatches: int | None = None,
) -> float:
    """Bytes on a rank of the first stage: L / p layers for each microbatch in flight."""
    layers = model.layers / pp
    one = layer_bytes(model, microbatch, tp, sequence_parallel, recompute, cp)
    return one * layers * in_flight(pp, v, microbatches)


def copies_bytes(model: Model, tokens: float, copies: float, bytes_each: float = 2) -> float:
    """Counted otherwise: a layer keeps `copies` of the hidden state (stas00/ml-engineering)."""
    return tokens * model.hidden * bytes_each * copies
