# %% [markdown]
r"""
# ZeRO: stages 1 to 3 and FSDP, byte by byte

**A model of 7.5 billion parameters has 15 GB of weights, and yet it cannot be trained on a GPU of 80 GB. What fills the rest? And if 64 GPUs train it together, why should each of them hold all of it?**

At the end of this lesson you can

- say how many bytes a parameter costs in training, and by whose convention,
- build the three stages of ZeRO by hand, with the gradients and weights of one process,
- compute what a rank holds and sends in each stage, and find the same by counting,
- say which stage suits gradient accumulation, and which does not,
- clip a gradient that no rank has as a whole,
- read in the ledger what PyTorch's `fully_shard` does.

You need the lesson `t3_06_data_parallel` and about 45 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
"""

# %%
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from warpwise import run_ranks
from warpwise.fabric import Link, theory
from warpwise.fabric.schedules import Layer, fsdp
from warpwise.planner import RECIPES, state
from warpwise.ranks.memory import alive, held
from warpwise.show import show_overlap, show_states, table
from warpwise.show.dial import Dial, Dialled

# %% [markdown]
r"""
## 1. What fills a GPU

In *mixed precision* the model computes with weights of 2 bytes. The optimizer Adam needs more than these. A step changes a weight by less than its last bit, so that a copy in float32 has to collect the small changes: the *master weights*. Adam also keeps a mean of the gradients and a mean of their squares, its two *moments*.

| for each parameter | bytes |
|---|---|
| weight, bf16 | 2 |
| gradient, bf16 | 2 |
| master weight, float32 | 4 |
| two moments, float32 | 8 |

How many GB is this for 7.5 billion parameters? And how many of them are weights and gradients?
"""

# %%
guesses = {"all": "?", "weights and gradients": "?"}  # GB

print("guesses:", guesses)
print("all:", 7.5e9 * (2 + 2 + 4 + 8) / 1e9, "  weights and gradients:", 7.5e9 * (2 + 2) / 1e9)

# %% [markdown]
r"""
**120** and **30** GB. Three quarters are *states of the optimizer*, 12 bytes a parameter. The paper on ZeRO [1] calls this number K.

What must be kept depends on who counts. Here are some conventions, in bytes a parameter. The letters fp32 stand for float32. Which of them keeps gradients?
"""

# %%
names = ["mixed", "mixed, fp32 accumulation", "fp32", "ml-engineering", "scaling book"]
rows = [
    [name, *(f"{part:g}" for part in (r.parameters, r.gradients, r.accumulator, r.optimizer)),
     f"{r.total:g}", r.source]
    for name, r in RECIPES.items() if name in names
]  # fmt: skip
table(["", "weights", "gradients", "accumulator", "optimizer", "all", "source"], rows)

# %% [markdown]
r"""
All but the last; it does not count them, since they come and go within a step. So 10, 16, 18 and 20 bytes can all be right: say which convention you use. Here we stay with the first line.

Activations come on top of all this; they are the subject of `t3_09_sequence_parallel`.

## 2. Who needs the states?

In data parallelism all ranks have the same weights, the same mean gradient, and the same states. All do the same update. Must they?
Below, Adam updates a vector of eight numbers. Then four Adams update two numbers each. Is the result the same?
"""

# %%
guess = "?"

torch.manual_seed(0)
whole, gradient = torch.randn(8).double(), torch.randn(8).double()


def updated(w, g):
    w = w.clone()
    w.grad = g.clone()
    torch.optim.Adam([w], lr=0.1).step()
    return w


one = updated(whole, gradient)
four = [updated(w, g) for w, g in zip(whole.chunk(4), gradient.chunk(4), strict=True)]
print("guess:", guess)
print("the same:", torch.equal(torch.cat(four), one))

# %% [markdown]
r"""
**Yes**, to the last bit. Adam treats each number alone, as do SGD and most others. So rank r can update the r-th part, and needs states for this part alone.
Such a part is called a *shard*, and to cut an array among ranks is *to shard* it.

That is ZeRO-1: **shard the states of the optimizer**. A step has three parts:

1. A reduce-scatter: each rank gets its shard of the mean gradient.
2. Each rank updates its shard of the weights.
3. An all-gather: each rank gets all new weights.

## 3. ZeRO-1 by hand

The model has eight layers, each a matrix of 48 x 48 and a tanh. There are four ranks with 4 of 16 rows each. First one process, for comparison. It returns the weights, and Adam's first moments. These are means of all gradients so far: if they agree, the gradients agreed, too.
"""

# %%
LAYERS, h = 8, 48
PARAMETERS = LAYERS * h * h


def start(dtype=torch.float64):
    torch.manual_seed(0)
    return [(torch.randn(h, h).double() / h**0.5).to(dtype) for _ in range(LAYERS)]


def loss_of(weights, x, product=F.linear):
    for w in weights:
        x = torch.tanh(product(x, w))
    return x.square().mean()


torch.manual_seed(1)
batch = torch.randn(16, h).double()


def one_process(steps):
    weights = [w.requires_grad_() for w in start()]
    adam = torch.optim.Adam(weights, lr=0.01)
    for _ in range(steps):
        adam.zero_grad()
        loss_of(weights, batch).backward()
        adam.step()
    return weights, [adam.state[w]["exp_avg"] for w in weights]


expected = one_process(3)

# %% [markdown]
r"""
A shard is the r-th of n equal parts of the rows of each matrix. Three functions do all that we need:
"""

# %%


def own(whole):
    """This rank's rows: a view."""
    return whole.chunk(dist.get_world_size())[dist.get_rank()]


def scattered(whole):
    """This rank's rows of the mean over all ranks."""
    n = dist.get_world_size()
    shard = torch.empty_like(own(whole))
    dist.reduce_scatter(shard, list(whole.chunk(n)))
    return shard.div_(n)


def gathered(shard):
    """The rows of all ranks."""
    n = dist.get_world_size()
    whole = shard.new_empty(n * len(shard), *shard.shape[1:])
    dist.all_gather(list(whole.chunk(n)), shard)  # the chunks are views of whole
    return whole


# %% [markdown]
r"""
If n does not divide the rows, the array is filled up with zeros to the next multiple, and cut afterwards, as in `t3_01_collectives`.

Now the engine. The weights may be of float64, or of bf16 with master weights of float32. There is one Adam for each layer, so that at any time only one layer's update is under way.
"""

# %%


class Zero1:
    """Sharded: master weights and moments."""

    def __init__(self, dtype=torch.float64):
        self.weights = [w.requires_grad_() for w in start(dtype)]
        self.prepare([own(w.detach()) for w in self.weights])

    def prepare(self, shards):
        wide = torch.promote_types(shards[0].dtype, torch.float32)
        self.masters = [shard.to(wide, copy=True) for shard in shards]
        self.adams = [torch.optim.Adam([master], lr=0.01) for master in self.masters]

    def backward(self, x, micro_batches):
        for w in self.weights:
            w.grad = None
        for part in x.chunk(micro_batches):
            (loss_of(self.weights, part) / micro_batches).backward()

    def gradient(self, k):
        """This rank's shard of layer k's mean gradient."""
        return scattered(self.weights[k].grad)

    def put(self, k, shard):
        """The new weights of layer k."""
        self.weights[k].data.copy_(gathered(shard))

    def step(self, x, micro_batches=1):
        self.backward(x, micro_batches)
        for k, (master, adam) in enumerate(zip(self.masters, self.adams, strict=True)):
            master.grad = self.gradient(k).to(master.dtype)
            adam.step()
            master.grad = None
            self.put(k, master.to(self.weights[k].dtype))


def trained(kind, steps, micro_batches):
    engine = kind()
    for _ in range(steps):
        engine.step(own(batch), micro_batches)
    return engine.masters, [
        adam.state[master]["exp_avg"]
        for master, adam in zip(engine.masters, engine.adams, strict=True)
    ]


def compare(kind, steps=3, micro_batches=1):
    """Train on four ranks: is it as in one process, and what was sent?"""
    outcome = run_ranks(trained, 4, kind, steps, micro_batches, timeout=60)
    for what, wanted in enumerate(expected):
        for k in range(LAYERS):
            assert torch.allclose(torch.cat([v[what][k] for v in outcome.values]), wanted[k])
    return outcome.ledger.wire[0] / steps / (PARAMETERS * 8)


# %% [markdown]
r"""
`compare` ends with an error if weights or moments differ from those of one process. It returns what a rank sends over its links in a step, as a multiple of the weights' bytes.
Plain data parallelism has one all-reduce of all gradients: 2 (n - 1)/n, which is 1.5 on four ranks. How much is it with ZeRO-1?
"""

# %%
guess = "?"

print("guess:", guess)
print("ZeRO-1 sends, in weights:", compare(Zero1), "(modelled)")

# %% [markdown]
r"""
**1.5**, not a byte more: an all-reduce *is* a reduce-scatter and an all-gather. Between the two halves each rank holds one shard of the gradient, and there the update takes place. So the states of the optimizer are shared out for nothing.

## 4. ZeRO-2: gradients, too

After its reduce-scatter a gradient is needed no more, except for the own shard. ZeRO-2 gives it back at once: **also the gradients are sharded**.
When can it do so for the last layer: at the end of the backward pass, or before?
"""

# %%
guess = "?"


class Zero2(Zero1):
    """Sharded: gradients as well."""

    def __init__(self, dtype=torch.float64):
        super().__init__(dtype)
        for w in self.weights:
            w.register_post_accumulate_grad_hook(self.ready)

    def ready(self, w):
        shard = scattered(w.grad)
        w.grad = None
        self.shards[w] = self.shards[w] + shard if w in self.shards else shard

    def backward(self, x, micro_batches):
        self.shards = {}
        super().backward(x, micro_batches)

    def gradient(self, k):
        return self.shards[self.weights[k]]


print("guess:", guess)
print("ZeRO-2 sends, in weights:", compare(Zero2), "(modelled)")

# %% [markdown]
r"""
**Before**: the last layer's gradient comes first. A hook runs as soon as it is there, as in `t3_06_data_parallel`. So there is hardly ever more than one whole gradient. The bytes are the same, again **1.5**.

## 5. ZeRO-3: weights, too

What is left are the weights. A layer's weights are needed while *this* layer computes. ZeRO-3 keeps shards only, **of all three**. It gathers a layer's weights, computes, and gives them back.
But the backward pass needs them again, for the gradient of the layer's input. If they were kept from the forward pass, then at its end all of them would be there, and nothing would be won. So they are gathered twice. What does a rank send now?
"""

# %%
guess = "?"  # in weights


class Sharded(torch.autograd.Function):
    """x times a matrix of which this rank has some rows."""

    @staticmethod
    def forward(ctx, x, shard):
        ctx.save_for_backward(x, shard)  # the shard, not the whole
        return F.linear(x, gathered(shard))

    @staticmethod
    def backward(ctx, dy):
        x, shard = ctx.saved_tensors
        return dy @ gathered(shard), scattered(dy.T @ x)


class Zero3(Zero1):
    """Sharded: all."""

    def __init__(self, dtype=torch.float64):
        self.weights = [own(w).clone().requires_grad_() for w in start(dtype)]
        self.prepare([shard.detach() for shard in self.weights])

    def backward(self, x, micro_batches):
        for shard in self.weights:
            shard.grad = None
        for part in x.chunk(micro_batches):
            (loss_of(self.weights, part, Sharded.apply) / micro_batches).backward()

    def gradient(self, k):
        return self.weights[k].grad

    def put(self, k, shard):
        self.weights[k].data.copy_(shard)


print("guess:", guess)
print("ZeRO-3 sends, in weights:", compare(Zero3), "(modelled)")

# %% [markdown]
r"""
**2.25**: two all-gathers and one reduce-scatter, 3 (n - 1)/n. That is half as much again. The all-gather at the end of a step is gone, since the next step gathers anyway.

`Sharded` saves the *shard*. What autograd saves for a product in the usual way is the whole matrix, and with it the graph would hold all gathered weights until the backward pass.

## 6. What a rank holds

In bytes a parameter, on n ranks, for the recipe of section 1:

| | weights | gradients | states |
|---|---|---|---|
| data parallel | 2 | 2 | 12 |
| ZeRO-1 | 2 | 2 | 12 / n |
| ZeRO-2 | 2 | 2 / n | 12 / n |
| ZeRO-3 | 2 / n | 2 / n | 12 / n |

Do our engines keep to it? `alive` counts the bytes of all tensors that a block makes and that are still alive: between two steps, and the most at any time. Nothing is left out that somebody forgot to give back.
We train with weights of bf16 on four ranks. On one rank ZeRO-1 is plain data parallelism, as nothing is shared. Guess the three numbers between steps, and which stage has the lowest peak.
"""

# %%
guesses = {"ZeRO-1": "?", "ZeRO-2": "?", "ZeRO-3": "?", "lowest peak": "?"}  # bytes a parameter


def holds(kind):
    """Bytes between steps, and at the peak, of two steps of mixed precision."""
    x = own(batch).bfloat16()
    with alive() as tensors:
        engine = kind(torch.bfloat16)
        engine.step(x)
        engine.step(x)
    return tensors.now, tensors.most


print("guesses:", guesses)
formula = {}
for stage, kind in enumerate((Zero1, Zero1, Zero2, Zero3)):
    n = 4 if stage else 1
    now, most = (max(both) / PARAMETERS for both in zip(*run_ranks(holds, n, kind), strict=True))
    formula[stage] = state(1, "mixed", stage, n).total
    print(
        f"stage {stage}: {now:5.2f} between steps (counted), {formula[stage]:5.2f} by formula; "
        f"peak {most:5.1f} (counted)"
    )

# %% [markdown]
r"""
**7, 5.5 and 4**, to the second digit. (What goes beyond it is Adam's counter of steps, 4 bytes a layer.)

At the peak there is a little more than between steps: one layer's update, or a gathered layer or two, and saved activations. One layer of eight costs 2 / 8 = 0.25 bytes a parameter; in a model of a hundred layers it is next to nothing. Stage 3 has the lowest peak. But stage 3 never falls below the largest single layer, for however many ranks.

## 7. A published figure

The paper's first figure [1] has 7.5 billion parameters, K = 12 and 64 GPUs, and prints 120, 31.4, 16.6 and 1.9 GB. Do you get the same?
How many GPUs does it take until a rank holds no more than 80 GB, in stage 1 and in stage 3? And with any number of them, how many billion parameters fit into 80 GB in stages 0, 1 and 2?
"""

# %%
guesses = {"GPUs, stages 1 and 3": "?", "parameters, stages 0, 1 and 2": "?"}

print("guesses:", guesses)
for stage, printed in enumerate((120, 31.4, 16.6, 1.9)):
    total = state(7.5e9, "mixed", stage, ranks=64).total / 1e9
    print(f"stage {stage}: {total:9.5f} GB (modelled), printed {printed}")
    assert round(total, 1) == printed
for stage in (1, 3):
    n = next(n for n in range(1, 100) if state(7.5e9, "mixed", stage, n).total <= 80e9)
    print(f"stage {stage}: {n} GPUs, {state(7.5e9, 'mixed', stage, n).total / 1e9:g} GB (modelled)")
for stage in (0, 1, 2):
    each = state(1, "mixed", stage, ranks=10**9).total
    print(f"stage {stage}: at most {80 / each:.0f} billion parameters (modelled)")

# %% [markdown]
r"""
**All four** figures agree, to the digit.
**Two** GPUs are enough in either stage, with 75 and 60 GB, and with little room for activations.
At most **5, 20 and 40** billion parameters: with many ranks stage 1 comes down to 4 bytes a parameter and stage 2 to 2, but no further. Beyond that only stage 3 helps, or cutting the model itself, as in the lessons that follow.

Turn the dial:
"""

# %%


def picture(ranks):
    stages = {f"stage {k}": state(7.5e9, "mixed", k, ranks) for k in range(4)}
    return show_states(stages, room=80e9)._repr_mimebundle_()


Dialled([Dial("ranks", (1, 2, 4, 8, 16, 64, 256, 1024), 64)], picture)

# %% [markdown]
r"""
The bar of the states is the first to shrink, and the one that shrinks most.

## 8. What a rank sends

In weights of the model, without the factor (n - 1)/n: 2, 2, 2 and **3**. A guide gives for 10 billion parameters of 2 bytes 40 GB a step for data parallelism and ZeRO-1 and 2, and 60 GB for ZeRO-3 [2]. That is twice and three times 20 GB.

And with gradient accumulation? Suppose that a step has m micro-batches. ZeRO-1 can add up whole gradients, and send once. ZeRO-2 may not keep a whole gradient. ZeRO-3 may not even keep weights. What does a rank send for two micro-batches on four ranks?
"""

# %%
guesses = {"Zero1": "?", "Zero2": "?", "Zero3": "?"}  # in weights

for kind in (Zero1, Zero2, Zero3):
    sent = compare(kind, micro_batches=2)
    print(f"{kind.__name__}: guess {guesses[kind.__name__]}, {sent} (modelled)")

# %% [markdown]
r"""
**1.5, 2.25 and 4.5**: with 3/4 left out, 2, m + 1, and 3 m. So

| stage | a step with m micro-batches sends, in weights |
|---|---|
| 0, 1 | 2 |
| 2 | m + 1 |
| 3 | 3 m |

With many micro-batches, as a pipeline has them, stage 1 is the usual choice. Stage 2 pays each micro-batch for memory that it saves.
Weights and moments were again those of one process: `compare` would have stopped otherwise.

## 9. A number that no rank has

*Clipping* limits a gradient: if its length, the root of the sum of all squares, is larger than a limit, all of it is multiplied by limit / length. With sharded gradients no rank knows the length.
The gradient below is (3, 4), of length 5, one number on each of two ranks, and the limit is 1. What does each rank get with `clip_grad_norm_` on its own shard? What is right?
"""

# %%
guesses = {"each alone": "?", "right": "?"}  # two numbers


def clipped(together):
    shard = torch.tensor([3.0, 4.0]).double()[dist.get_rank()].reshape(1)
    squares = shard.square().sum()
    if together:
        dist.all_reduce(squares)
    length = squares.sqrt()
    return (shard * torch.clamp(1 / length, max=1)).item()


for guess, together in zip(guesses.items(), (False, True), strict=True):
    print(f"{guess[0]}: guess {guess[1]},", [round(v, 2) for v in run_ranks(clipped, 2, together)])

# %% [markdown]
r"""
Alone, both become **1**: the direction of the step is another one, and no error is raised. Right is **0.6 and 0.8**. One all-reduce of a single number does it: sum *squares*, take the root afterwards. Lengths themselves do not add up, 3 + 4 is not 5.

The same holds for whatever looks at a whole tensor, such as optimizers with a length for each layer, or a test for infinite gradients before a step.

## 10. Does it wait?

ZeRO-3 has to gather a layer before it can compute with it. If it asks only then, the GPU waits for each layer. So one asks ahead: while layer 3 computes, layer 4 is under way. This is *prefetching*.
A model has 8 layers of 50 MB. A layer takes 0.5 ms forward and 1 ms backward. A gather or a scatter takes half of an all-reduce, on 8 GPUs with 20 us and 100 GB/s. All times are *modelled*. How much of the communication is exposed without asking ahead, and with one or two layers?
"""

# %%
guesses = {0: "?", 1: "?", 2: "?"}  # ms

layers = [Layer(forward=0.5, backward=1.0, nbytes=50e6)] * 8
link = Link(latency_us=20, gbs=100)


def half_ms(nbytes):
    return theory("ring all-reduce", 8, nbytes, link) * 1e3 / 2


for ahead, guess in guesses.items():
    step = fsdp(layers, half_ms, half_ms, prefetch=ahead)
    print(
        f"{ahead} ahead: guess {guess}, exposed {step.exposed:.2f} of {step.network:.2f} ms, "
        f"whole layers at once: {step.peak_layers} (modelled)"
    )

# %% [markdown]
r"""
**13.28, 2.63 and 1.7** ms. Each layer ahead costs the memory of one more layer. The first gather and the last scatter can never be hidden: nothing is computed before the one or after the other. They take 0.58 ms each.

AG are gathers, RS reduce-scatters; turn the dials.
"""

# %%


def overlap(ahead, gbs):
    other = Link(latency_us=20, gbs=gbs)
    took = lambda nbytes: theory("ring all-reduce", 8, nbytes, other) * 1e3 / 2  # noqa: E731
    return show_overlap(fsdp(layers, took, took, prefetch=ahead))._repr_mimebundle_()


Dialled([Dial("ahead", (0, 1, 2, 4), 1), Dial("gbs", (25, 50, 100, 200, 400), 100)], overlap)

# %% [markdown]
r"""
With a slow network, asking further ahead no longer helps: it is busy all the time, and the GPU waits for it. When is that so?
A layer of P parameters takes 2 P T operations forward, for T tokens on a chip. Gathering it takes 2 P bytes. With C operations and W bytes a second it is hidden as long as

    2 P T / C > 2 P / W,   or   T > C / W

P cancels: only the *tokens of a chip* count. Backward has twice the operations and twice the bytes, a gather and a scatter. "How to Scale Your Model" says for a TPU v5p that 2,550 tokens a chip are the limit, if one axis of the network is used, and n axes need an n-th of them [3].
"""

# %%
guess = "?"  # tokens a chip

C, W = 4.59e14, 1.8e11
print("guess:", guess)
print("one axis:", C / W, "tokens   three axes:", C / (3 * W), "(modelled)")

# %% [markdown]
r"""
**2,550**, as published. More chips with the same batch have fewer tokens each, until the network is the limit. Then the model itself must be cut, as in `t3_08_tensor_parallel`.

## 11. PyTorch's own

`fully_shard`, also called FSDP2, does what `Zero3` does: call it on each layer, and then on the whole model [4]. Parameters become *DTensors*, of which each rank has its rows. The optimizer is an ordinary one, which sees shards only.
We train the same model in float64: 8 bytes of weight, 8 of gradient and 16 of moments, 32 in all. Guess, for each of two ranks: the bytes a parameter, and the numbers of all-gathers and reduce-scatters in one step. The second run says `reshard_after_forward=False`. What changes?
"""

# %%
guesses = {"bytes a parameter": "?", "all-gathers": "?", "reduce-scatters": "?"}


def with_torch(steps, reshard):
    from torch.distributed.fsdp import fully_shard

    model = nn.Sequential(
        *[nn.Sequential(nn.Linear(h, h, bias=False), nn.Tanh()) for _ in range(LAYERS)]
    ).double()
    for layer, w in zip(model, start(), strict=True):
        layer[0].weight.data = w
        fully_shard(layer, reshard_after_forward=reshard)
    fully_shard(model)
    adam = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        adam.zero_grad()
        model(own(batch)).square().mean().backward()
        adam.step()
    holds = held(model, adam)
    return (
        [p.to_local().detach() for p in model.parameters()],
        [adam.state[p]["exp_avg"].to_local() for p in model.parameters()],
        holds.total / PARAMETERS,
    )


print("guesses:", guesses)
for reshard in (True, False):
    outcome = run_ranks(with_torch, 2, 3, reshard, timeout=120)
    same = all(
        torch.allclose(torch.cat([v[what][k] for v in outcome.values]), wanted[k])
        for what, wanted in enumerate(expected)
        for k in range(LAYERS)
    )
    calls = {op: outcome.ledger.of(op).calls[0] // 3 for op in ("all_gather", "reduce_scatter")}
    sent = outcome.ledger.wire[0] / 3 / (PARAMETERS * 8)
    print(f"reshard {reshard}: as one process {same}; calls in a step {calls}")
    print(f"  {outcome[0][2]:.2f} bytes a parameter (counted); sends {sent} weights (modelled)")

# %% [markdown]
r"""
**16** bytes, half of 32, **16** all-gathers and **8** reduce-scatters: each layer is gathered twice and scattered once. It sends 1.5 = 3 times 1/2, as our `Zero3` would on two ranks.

With `reshard_after_forward=False` gathered weights stay until the backward pass, so that 8 gathers are enough. Between steps all is sharded as before; during a step there are whole weights. Some call it ZeRO-2, since it sends as little. But the stage 2 of the paper has whole weights *between* steps, too.

With `MixedPrecisionPolicy(param_dtype=torch.bfloat16)` the shards are the master weights. They are rounded first and gathered in 2 bytes, and there is no second copy.

## What to remember

- Mixed precision with Adam: 2 + 2 + 12 = 16 bytes a parameter. Other conventions have 10, 18 or 20.
- ZeRO-1 shards states, ZeRO-2 gradients as well, ZeRO-3 weights as well. All have the gradients and weights of one process.
- A rank sends 2, 2, 2 and 3 times the weights, without (n - 1)/n. With m micro-batches 2, 2, m + 1, and 3 m.
- Stages 1 and 2 stop at 4 and 2 bytes a parameter, stage 3 at the largest layer.
- What looks at a whole gradient, such as clipping, needs the other ranks: add up squares.
- Gathers hide behind products while a chip has more than C / W tokens.

**Next:** the lab, `t3_07_zero_lab`, in your folder `mine/t3_many/`.

## Sources

1. S. Rajbhandari and others, "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", 2019: figure 1, K. <https://arxiv.org/abs/1910.02054>
2. N. Tazi and others, "The Ultra-Scale Playbook", 2025: volumes and bytes a parameter. <https://huggingface.co/spaces/nanotron/ultrascale-playbook>
3. J. Austin and others, "How to Scale Your Model", 2025, chapter on training. <https://jax-ml.github.io/scaling-book/training>
4. PyTorch, `fully_shard`. <https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html>
"""
