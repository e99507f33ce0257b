"""Bytes of activations saved for the backward (Korthikanti et al., arXiv 2205.05198, 16-bit).

A layer of GPT's shape saves, in units of s b h bytes: attention 11 + 5 a s / h, feed-forward 19,
two norms 4.  Tensor parallelism divides 24 + 5 a s / h of it, sequence parallelism the rest, too.
Other shapes are counted by the same list of tensors: `saved`.
"""

from __future__ import annotations

from ..fabric.inputs import positive, real, whole
from .model import Model, PlanError

BOUNDARY = 2.0  # a layer's input in 16 bits: all that full recomputation keeps
RECOMPUTE = ("none", "selective", "full")


def coefficient(
    model: Model, tp: int = 1, sequence_parallel: bool = False, recompute: str = "none"
) -> float:
    """Bytes a layer saves on a rank, divided by s b h."""
    whole(PlanError, tp=tp)
    if recompute not in RECOMPUTE:
        raise PlanError(f"recompute is {', '.join(RECOMPUTE)}, not {recompute!r}.")
    if recompute == "full":
        return BOUNDARY / (tp if sequence_parallel else 1)
    rest, shared, scores = saved(model)
    scores = scores if recompute == "none" else 0.0
    return rest / (tp if sequence_parallel else 1) + (shared + scores) / tp


def saved(model: Model) -> tuple[float, float, float]:
    """What a layer saves in units of s b h bytes: what tp leaves whole, what it divides, scores.

    GPT: 10, 24 and 5 a s / h, with dropout.  Gated: no dropout, and gate, up and their product of
    the feed-forward part (the activation is fused).  Keys and values shrink with their heads, and
    each of top_k experts saves its input and its inner values.
    """
    wide = model.width / model.hidden
    keys = model.groups / model.heads
    score = model.heads * model.sequence / model.hidden
    masks = 0.0 if model.gated else 1.0
    routed = 2.0 if model.experts > 1 else 0.0  # the router's input, beside the experts'
    rest = 4 + (2 + masks) + (routed + model.top_k * 2 + masks)
    inner = (6 if model.gated else 4) * wide
    shared = 2 + 2 * keys + 2 * keys + 2 + model.top_k * inner
    return rest, shared, (2 if model.gated else 5) * score


def head_bytes(
    model: Model, microbatch: int = 1, tp: int = 1, sequence_parallel: bool = False, cp: int = 1
) -> float:
    """Bytes behind the last layer: inputs of norm and output matrix, and logits in 32 bits.

    4 s b h (1 + V / h) / t with sequence parallelism, as in arXiv 2205.05198.
    """
    tokens = model.sequence * microbatch / cp
    inputs = 4 * model.hidden / (tp if sequence_parallel else 1)
    return tokens * (inputs + 4 * model.vocabulary / tp)


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
    whole(PlanError, microbatch=microbatch, cp=cp)
    size = model.sequence * microbatch * model.hidden / cp
    return size * coefficient(model, tp, sequence_parallel, recompute)


def in_flight(pp: int = 1, v: int = 1, microbatches: int | None = None) -> float:
    """Microbatches the first stage of 1F1B holds at its peak, in those of its own layers.

    p without interleaving, p (1 + (p - 1) / (p v)) with v > 1 chunks; never more than there are.
    """
    whole(PlanError, pp=pp, v=v)
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
    whole(PlanError, pp=pp)
    layers = model.layers / pp
    one = layer_bytes(model, microbatch, tp, sequence_parallel, recompute, cp)
    return one * layers * in_flight(pp, v, microbatches)


def copies_bytes(model: Model, tokens: float, copies: float, bytes_each: float = 2) -> float:
    """Counted otherwise: a layer keeps `copies` of the hidden state (stas00/ml-engineering)."""
    real(PlanError, tokens=tokens, copies=copies)
    positive(PlanError, bytes_each=bytes_each)
    return tokens * model.hidden * bytes_each * copies
