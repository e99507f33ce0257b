"""A training plan: how a model is split, what each rank holds and how long a step takes.

Everything is modelled.  The assumptions stand in `Estimate.assumptions`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..fabric.inputs import positive
from .activations import RECOMPUTE, head_bytes, in_flight, layer_bytes
from .cluster import Cluster, all_gather, all_reduce
from .model import Model, PlanError
from .state import Recipe, State, recipe, state

# Written and read once in the forward, and the same for its gradient: fused operations, no cache.
TOUCHES = 4
GIB = 2.0**30


@dataclass(frozen=True)
class Plan:
    """How a step is split.

    dp, tp, pp, cp  data, tensor, pipeline and context parallel ranks; their product is the GPUs
    ep              expert parallel ranks; they lie inside dp x cp
    batch           sequences a step, over all ranks;  microbatch: sequences a pass
    v               chunks of layers a pipeline rank holds (interleaving)
    zero            ZeRO stage over dp x cp
    overlap         share of the backward that data parallel traffic may hide behind
    """

    dp: int = 1
    tp: int = 1
    pp: int = 1
    cp: int = 1
    ep: int = 1
    batch: int = 1
    microbatch: int = 1
    v: int = 1
    zero: int = 0
    recompute: str = "none"
    sequence_parallel: bool = False
    recipe: str | Recipe = "mixed"
    overlap: float = 1.0

    @property
    def gpus(self) -> int:
        return self.dp * self.tp * self.pp * self.cp

    @property
    def microbatches(self) -> int:
        """Of one pipeline in a step."""
        return self.batch // (self.dp * self.microbatch)

    @property
    def split(self) -> str:
        """The degrees in words."""
        said = f"dp {self.dp} x tp {self.tp} x pp {self.pp} x cp {self.cp}"
        return said + (f", ep {self.ep}" if self.ep > 1 else "")

    def stage_layers(self, model: Model) -> int:
        """Layers of the fullest pipeline rank; the others may have fewer."""
        return -(-model.layers // (self.pp * self.v)) * self.v

    def faults(self, model: Model, cluster: Cluster) -> list[str]:
        """What keeps the plan from running at all, a sentence each."""
        found = []
        for name in ("dp", "tp", "pp", "cp", "ep", "batch", "microbatch", "v"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                found.append(f"{name} is a whole number, not {value!r}.")
            elif value < 1:
                found.append(f"{name} is at least 1, not {value}.")
        if found:
            return found
        divides = [
            (model.heads, self.tp, "tp", "heads"),
            (model.groups, self.tp, "tp", "heads of keys and values"),
            (model.sequence, self.cp, "cp", "tokens of a sequence"),
            (model.experts, self.ep, "ep", "experts"),
            (self.dp * self.cp, self.ep, "ep", "ranks of dp x cp"),
            (self.batch, self.dp * self.microbatch, "dp x microbatch", "sequences of a step"),
        ]
        for whole, part, name, what in divides:
            if whole % part:
                found.append(f"{name} = {part} does not divide {whole} {what}.")
        # The last chunk of a rank may have no layer, a rank must have some.
        if model.layers < self.pp or model.layers <= self.pp * (self.v - 1):
            found.append(
                f"pp x v = {self.pp * self.v} stages are too many for {model.layers} layers."
            )
        if self.v > 1 and self.microbatches % self.pp:
            found.append(
                f"interleaving needs a multiple of pp = {self.pp} microbatches; "
                f"there are {self.microbatches}."
            )
        if self.gpus != cluster.gpus:
            found.append(
                f"dp x tp x pp x cp is {self.gpus}, and the cluster has {cluster.gpus} GPUs."
            )
        if self.sequence_parallel and self.tp == 1:
            found.append("sequence parallelism divides what tp leaves whole; tp is 1.")
        if self.zero not in (0, 1, 2, 3):
            found.append(f"ZeRO has stages 0 to 3, not {self.zero!r}.")
        if not isinstance(self.overlap, int | float) or not 0 <= self.overlap <= 1:
            found.append(f"overlap is a share from 0 to 1, not {self.overlap!r}.")
        if self.recompute not in RECOMPUTE:
            found.append(f"recompute is {', '.join(RECOMPUTE)}, not {self.recompute!r}.")
        return found


@dataclass(frozen=True)
class Memory:
    """Bytes on the rank that holds most, of the first stage or the last."""

    parameters: float
    gradients: float
    optimizer: float
    activations: float

    @property
    def total(self) -> float:
        return self.parameters + self.gradients + self.optimizer + self.activations


@dataclass(frozen=True)
class Time:
    """Seconds of a step; communication is what compute does not hide."""

    compute: float
    memory: float  # what is no matrix product: bound by memory
    tensor: float
    expert: float
    context: float
    pipeline: float  # sends between stages
    bubble: float
    data: float

    @property
    def total(self) -> float:
        return sum(vars(self).values())


@dataclass(frozen=True)
class Estimate:
    """What a plan costs.  Label: modelled."""

    model: Model
    cluster: Cluster
    plan: Plan
    memory: Memory
    time: Time
    assumptions: tuple[str, ...]
    label: str = field(default="modelled")

    @property
    def fits(self) -> bool:
        """Whether a GPU holds it; what the allocator and the libraries take is not counted."""
        return self.memory.total <= self.cluster.memory

    @property
    def tokens(self) -> int:
        """Of a step."""
        return self.plan.batch * self.model.sequence

    def mfu(self, seconds: float | None = None) -> float:
        """Model FLOPs a second over the peak; of a measured step time if one is given."""
        return self._share(self.model.model_flops(self.tokens), seconds)

    def hfu(self, seconds: float | None = None) -> float:
        """The same with what is computed again."""
        again = self.model.recompute_flops(self.tokens, self.plan.recompute)
        return self._share(self.model.model_flops(self.tokens) + again, seconds)

    def published_hfu(self, seconds: float | None = None) -> float:
        """As arXiv 2205.05198 counts selective recomputation (see Model.recompute_flops)."""
        return self._share(self.model.published_hfu_flops(self.tokens), seconds)

    def _share(self, flops: float, seconds: float | None) -> float:
        if seconds is None:
            seconds = self.time.total
        positive(PlanError, seconds=seconds)
        return flops / (self.cluster.gpus * self.cluster.flops * seconds)

    def __str__(self) -> str:
        parts = vars(self.memory).items()
        held = ", ".join(f"{name} {value / GIB:.2f}" for name, value in parts)
        spent = ", ".join(f"{name} {value:.3f}" for name, value in vars(self.time).items() if value)
        plan = self.plan
        return "\n".join(
            [
                f"{self.model.parameters / 1e9:.2f}e9 parameters on {self.cluster.gpus} "
                f"{self.cluster.gpu.name}: {plan.split}, {plan.microbatches} microbatches "
                f"({self.label})",
                f"  memory of a GPU  {self.memory.total / GIB:.2f} GiB of "
                f"{self.cluster.memory / GIB:.2f}{'' if self.fits else ': does not fit'}",
                f"    {held}",
                f"  step  {self.time.total:.3f} s, MFU {self.mfu():.1%}, HFU {self.hfu():.1%}",
                f"    {spent}",
            ]
        )


def estimate(model: Model, cluster: Cluster, plan: Plan) -> Estimate:
    """Memory and step time of a plan.  Raises PlanError with all its faults."""
    wrong = plan.faults(model, cluster)
    if wrong:
        raise PlanError("This plan cannot run:\n" + "\n".join(f"  {line}" for line in wrong))
    return Estimate(model, cluster, plan, _memory(model, plan), *_time(model, cluster, plan))


def parameters_of_rank(model: Model, plan: Plan, last: bool = False) -> tuple[float, float]:
    """(dense, expert) parameters of a rank of the first stage, or of the last.

    The first has the embeddings, the last the output matrix: its own, or a copy if it is tied.
    """
    layers = plan.stage_layers(model)
    experts = model.experts * model.expert if model.experts > 1 else 0
    matrix = model.vocabulary * model.hidden
    ends = model.embeddings
    if plan.pp > 1:
        ends = matrix if last or model.gated else model.embeddings
    dense = layers * (model.layer - experts) + ends
    return dense / plan.tp, layers * experts / (plan.ep * plan.tp)


def _memory(model: Model, plan: Plan) -> Memory:
    """Of the first stage, with most microbatches in flight, or the last, with the logits."""
    ends = [_of_stage(model, plan, last) for last in (False, True)]
    return max(ends, key=lambda memory: memory.total)


def _of_stage(model: Model, plan: Plan, last: bool) -> Memory:
    dense, expert = parameters_of_rank(model, plan, last)
    replicas = plan.dp * plan.cp
    held: list[State] = [
        state(dense, plan.recipe, plan.zero, replicas),
        state(expert, plan.recipe, plan.zero, max(1, replicas // plan.ep)),
    ]
    how = (plan.microbatch, plan.tp, plan.sequence_parallel)
    flying = in_flight(plan.pp, plan.v, plan.microbatches)
    if last and plan.pp > 1:  # its first backward follows its first forward
        flying = min(((plan.v - 1) * plan.pp + 1) / plan.v, plan.microbatches)
    one = layer_bytes(model, *how, plan.recompute, plan.cp)
    activations = one * plan.stage_layers(model) * flying
    if last or plan.pp == 1:
        activations += head_bytes(model, *how, plan.cp)
    return Memory(
        sum(part.parameters for part in held),
        sum(part.gradients for part in held),
        sum(part.optimizer for part in held),
        activations,
    )


def _time(model: Model, cluster: Cluster, plan: Plan) -> tuple[Time, tuple[str, ...]]:
    tokens = plan.batch * model.sequence
    speed = cluster.flops * cluster.efficiency
    again = model.recompute_flops(tokens, plan.recompute)
    layers = plan.stage_layers(model)
    # The fullest rank sets the pace.
    compute = (model.model_flops(tokens) + again) / cluster.gpus / speed
    compute *= layers * plan.pp / model.layers
    passed = (
        plan.microbatch * model.sequence * model.hidden * 2 / plan.cp
    )  # bytes of a hidden state
    memory = plan.microbatches * layers * TOUCHES * layer_bytes(
        model, plan.microbatch, plan.tp, plan.sequence_parallel, "none", plan.cp
    ) / (cluster.gpu.dram_gbs.value * 1e9)  # fmt: skip
    tensor_link = cluster.link(plan.tp)
    passes = 6 if plan.recompute == "full" else 4
    tensor = plan.microbatches * layers * passes * all_reduce(passed, plan.tp, tensor_link)
    expert = 0.0
    if plan.ep > 1:
        bandwidth, latency = cluster.link(plan.ep, plan.tp)
        sent = passed * model.top_k * (plan.ep - 1) / plan.ep / plan.tp
        expert = plan.microbatches * layers * 4 * (sent / bandwidth + (plan.ep - 1) * latency)
    context = _context(model, cluster, plan, layers, speed)
    pipeline, bubble = 0.0, 0.0
    if plan.pp > 1:
        bandwidth, latency = cluster.link(plan.pp, plan.tp * plan.cp * plan.dp)
        hop = passed / (plan.tp if plan.sequence_parallel else 1) / bandwidth + latency
        pipeline = (
            2 * hop * (plan.pp - 1)
        )  # of the first microbatch there and back; the rest overlap
        bubble = (
            (compute + memory + tensor + expert + context)
            * (plan.pp - 1)
            / (plan.v * plan.microbatches)
        )
    data = _data(model, cluster, plan, compute)
    assumptions = (
        f"large products reach {cluster.efficiency:.0%} of the peak",
        f"what is no product moves each activation of a layer {TOUCHES} times through memory",
        "tensor, expert and context traffic runs beside no compute, but for the rings of attention",
        f"data parallel traffic may hide behind {plan.overlap:.0%} of the backward (ZeRO-3: and of "
        "the forward); from ZeRO-2 on every microbatch has its own",
        "ranks are numbered tp first, then cp, dp and pp, as in Megatron",
        "between steps: what ZeRO-3 gathers for a layer, and the allocator's own, is not counted",
        "all stages take the time of the fullest; the optimiser step takes none",
        "collectives are rings; groups inside a node use its fast link",
    )
    return Time(compute, memory, tensor, expert, context, pipeline, bubble, data), assumptions


def _context(model: Model, cluster: Cluster, plan: Plan, layers: float, speed: float) -> float:
    """Ring attention passes keys and values round; what the cores do not hide."""
    if plan.cp == 1:
        return 0.0
    link = cluster.link(plan.cp, plan.tp)
    share = model.groups / model.heads / plan.tp
    block = plan.microbatch * model.sequence / plan.cp * model.hidden * 2 * 2 * share
    ring = (plan.cp - 1) * (link[1] + block / link[0])
    own = plan.microbatch * model.sequence / plan.cp
    core = model.core_flops() * own / plan.tp / speed
    forward = max(0.0, ring - core)
    backward = max(0.0, 2 * ring - 2 * core)
    return plan.microbatches * layers * (forward + backward)


def _data(model: Model, cluster: Cluster, plan: Plan, compute: float) -> float:
    """Gradients summed, parameters gathered (in ZeRO-3 twice a microbatch), less what is hidden."""
    replicas = plan.dp * plan.cp
    if replicas == 1:
        return 0.0
    dense, expert = parameters_of_rank(model, plan)
    per = recipe(plan.recipe)
    link = cluster.link(replicas, plan.tp)
    took = 0.0
    for count, ranks in ((dense, replicas), (expert, max(1, replicas // plan.ep))):
        if not count:
            continue
        gradients, weights = count * max(per.gradients, 2), count * per.parameters
        # Who keeps a shard of the gradients cannot sum them up whole: each microbatch scatters.
        often = plan.microbatches if plan.zero >= 2 else 1
        if plan.zero < 1:
            took += all_reduce(gradients, ranks, link)
        else:
            took += all_gather(gradients, ranks, link) * often  # a reduce-scatter
            took += all_gather(weights, ranks, link) * (2 * often if plan.zero == 3 else 1)
    return max(0.0, took - plan.overlap * compute * (1 if plan.zero == 3 else 2 / 3))


def search(
    model: Model,
    cluster: Cluster,
    base: Plan,
    most_tp: int | None = None,
    most_cp: int | None = None,
    most_ep: int | None = None,
) -> list[Estimate]:
    """Every split of the cluster that runs and fits, best MFU first; `base` has the rest.

    Varied: dp, tp (up to a node, or most_tp), pp, microbatch, recompute, sequence parallelism; cp
    and ep up to most_cp and most_ep, else they are the base's.
    """
    found = []
    for tp in divisors(cluster.gpus, most_tp or cluster.node):
        for cp in divisors(cluster.gpus // tp, most_cp) if most_cp else [base.cp]:
            for pp in divisors(cluster.gpus // tp, model.layers):
                if cluster.gpus % (tp * pp * cp):
                    continue
                dp = cluster.gpus // (tp * pp * cp)
                for ep in divisors(dp * cp, most_ep) if most_ep else [base.ep]:
                    for microbatch in divisors(max(1, base.batch // dp)):
                        for again in RECOMPUTE:
                            for sequence in (False, True)[: 1 + (tp > 1)]:
                                plan = replace(base, dp=dp, tp=tp, pp=pp, cp=cp, ep=ep,
                                               microbatch=microbatch, recompute=again,
                                               sequence_parallel=sequence)  # fmt: skip
                                if not plan.faults(model, cluster):
                                    made = estimate(model, cluster, plan)
                                    if made.fits:
                                        found.append(made)
    return sorted(found, key=lambda made: -made.mfu())


def divisors(number: int, most: int | None = None) -> list[int]:
    """In order, up to `most`."""
    return [n for n in range(1, min(number, most or number) + 1) if number % n == 0]
