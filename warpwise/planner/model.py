"""A transformer's shape: parameters, matrix-multiply operations and how both are counted.

Operations are those of matrix multiplications, 2 a multiply-add, forward and backward (twice the
forward), with attention over the whole square: the count of Megatron's papers, arXiv 2104.04473 and
2205.05198, and of PaLM's model FLOPs utilisation (arXiv 2204.02311).
"""

from __future__ import annotations

from dataclasses import dataclass

from ..fabric.inputs import real, whole


class PlanError(ValueError):
    """A model, a cluster or a plan that cannot be."""


@dataclass(frozen=True)
class Model:
    """A decoder-only transformer.

    layers, hidden, heads, vocabulary, sequence   L, h, a, V, s
    kv_heads   heads of keys and values (grouped-query attention); as many as heads if None
    ffn        width of the feed-forward part; 4 h if None
    gated      LLaMA's kind: three matrices in the feed-forward part, no biases, no positions, an
               output matrix of its own.  Else GPT's: two, biases, learned positions, tied output
    experts    feed-forward parts a layer; each token goes through top_k of them
    """

    layers: int
    hidden: int
    heads: int
    vocabulary: int = 51200
    sequence: int = 2048
    kv_heads: int | None = None
    ffn: int | None = None
    gated: bool = False
    experts: int = 1
    top_k: int = 1

    def __post_init__(self) -> None:
        for name in ("layers", "hidden", "heads", "vocabulary", "sequence", "experts", "top_k"):
            whole(PlanError, **{name: getattr(self, name)})
        for name in ("kv_heads", "ffn"):
            if getattr(self, name) is not None:
                whole(PlanError, **{name: getattr(self, name)})
        if self.hidden % self.heads:
            raise PlanError(f"{self.heads} heads do not divide a hidden size of {self.hidden}.")
        if self.heads % self.groups:
            raise PlanError(f"{self.groups} kv_heads do not divide {self.heads} heads.")
        if self.top_k > self.experts:
            raise PlanError(f"top_k = {self.top_k} of {self.experts} experts.")

    @property
    def groups(self) -> int:
        """Heads of keys and values."""
        return self.kv_heads or self.heads

    @property
    def width(self) -> int:
        """Of the feed-forward part."""
        return self.ffn or 4 * self.hidden

    @property
    def attention(self) -> int:
        """Weights of a layer's attention matrices."""
        return 2 * self.hidden**2 + 2 * self.hidden**2 * self.groups // self.heads

    @property
    def feed_forward(self) -> int:
        """Weights of one expert's matrices."""
        return (3 if self.gated else 2) * self.hidden * self.width

    @property
    def router(self) -> int:
        """Weights that choose the experts of a token."""
        return self.hidden * self.experts if self.experts > 1 else 0

    @property
    def expert(self) -> int:
        """Parameters of one expert, or of the one feed-forward part.  GPT: biases width + h."""
        return self.feed_forward + (0 if self.gated else self.width + self.hidden)

    @property
    def small(self) -> int:
        """A layer's norms and attention biases.  GPT: two norms with bias 4 h, biases 4 h."""
        h = self.hidden
        if self.gated:
            return 2 * h
        return 4 * h + 2 * h + 2 * h * self.groups // self.heads

    @property
    def embeddings(self) -> int:
        """Rows of the vocabulary, twice if the output has its own; learned positions."""
        rows = 2 * self.vocabulary if self.gated else self.vocabulary + self.sequence
        return rows * self.hidden

    @property
    def layer(self) -> int:
        """Parameters of a layer."""
        return self.attention + self.experts * self.expert + self.router + self.small

    @property
    def parameters(self) -> int:
        """All of them.  GPT: 12 L h^2 (1 + 13 / 12h + (V + s) / 12Lh), which leaves the last norm
        out (2 h); gated models count theirs (h)."""
        return self.layers * self.layer + self.embeddings + self.gated * self.hidden

    @property
    def active(self) -> int:
        """Parameters that a token meets."""
        idle = (self.experts - self.top_k) * self.expert
        return self.parameters - self.layers * idle

    def layer_flops(self) -> float:
        """Forward of a layer, a token."""
        weights = self.attention + self.top_k * self.feed_forward + self.router
        return 2 * weights + self.core_flops()

    def core_flops(self) -> float:
        """Forward of a layer's attention core, a token: scores, and their product with V."""
        return 4 * self.sequence * self.hidden

    def head_flops(self) -> float:
        """Forward of the output matrix, a token."""
        return 2 * self.hidden * self.vocabulary

    def model_flops(self, tokens: float) -> float:
        """Forward and backward: 72 B L s h^2 (1 + s / 6h + V / 12hL) for GPT's shape."""
        real(PlanError, tokens=tokens)
        return 3 * tokens * (self.layers * self.layer_flops() + self.head_flops())

    def recompute_flops(self, tokens: float, recompute: str) -> float:
        """What recomputation adds: none, the attention cores (selective) or all layers (full).

        arXiv 2205.05198 counts a recomputed core as three forwards (s / 3h in its hardware FLOPs);
        counted by its matrices it is one.  `published_hfu_flops` keeps theirs.
        """
        extra = {"none": 0.0, "selective": self.core_flops(), "full": self.layer_flops()}
        if recompute not in extra:
            raise PlanError(f"recompute is none, selective or full, not {recompute!r}.")
        return tokens * self.layers * extra[recompute]

    def published_hfu_flops(self, tokens: float) -> float:
        """Hardware FLOPs of selective recomputation as arXiv 2205.05198 has them:
        72 B L s h^2 (1 + s / 3h + V / 12hL)."""
        return self.model_flops(tokens) + 3 * tokens * self.layers * self.core_flops()
