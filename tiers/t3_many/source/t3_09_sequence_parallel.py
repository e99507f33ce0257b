# %% [markdown]
r"""
# Sequence parallelism: activation memory, checkpointing

**A model of 22 billion parameters is cut over eight GPUs of 80 GB. Its weights and all that the optimizer keeps take 46 GiB on each. Yet it does not fit. What fills the rest, and how do you get rid of it?**

At the end of this lesson you can

- count what a forward pass keeps for its backward, tensor by tensor,
- write down the bytes of a transformer layer: s b h (34 + 5 a s / h),
- build sequence parallelism, which cuts what tensor parallelism leaves whole, for the same bytes over the links,
- keep less and compute again: selective and full recomputation, and what each costs,
- reproduce a published table of formulas for four models, and find where one published cost is counted too high.

You need the lesson `t3_08_tensor_parallel` and about 35 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
"""

# %%
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop
from torch.utils.flop_counter import FlopCounterMode

from warpwise import run_ranks
from warpwise.planner import Model, coefficient, layer_bytes, state
from warpwise.ranks.saved import saved
from warpwise.show import table
from warpwise.show.dial import Dial, Dialled
from warpwise.show.plot import COLOURS, axes, bundle, legend

# %% [markdown]
r"""
## 1. What is kept?

The gradient of a weight is the layer's *input* times the gradient of its output. So the forward pass must keep that input until the backward pass comes. What a layer keeps are its *saved activations*.

Autograd tells us what it saves: `saved_tensors_hooks` calls a function for each saved tensor. We name each *storage*, the memory behind a tensor, with a letter.
Here is the MLP of the last lesson, relu(x A) B, with 6 tokens, a width of 4, 16 inside, in float32. How many tensors are saved? How many bytes are it, without the weights?
"""

# %%
guesses = {"tensors": "?", "bytes without weights": "?"}

torch.manual_seed(0)
x = torch.randn(6, 4, requires_grad=True)
up = torch.randn(16, 4, requires_grad=True)
down = torch.randn(4, 16, requires_grad=True)
letters = {}


def pack(tensor):
    storage = tensor.untyped_storage()
    letter = letters.setdefault(storage.data_ptr(), "ABCDEF"[len(letters)])
    weight = storage.data_ptr() in (up.data_ptr(), down.data_ptr())
    what = "a weight's" if weight else "new"
    print(f"shape {tuple(tensor.shape)!s:8} storage {letter}, {storage.nbytes()} bytes, {what}")
    return tensor


with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
    torch.relu(x @ up.T) @ down.T
print("guesses:", guesses)
with saved([up, down]) as found:
    torch.relu(x @ up.T) @ down.T
print(found)

# %% [markdown]
r"""
**Five** tensors, but only **480** bytes more than before: 96 for x and 384 for the hidden array.

- The result of relu is saved twice, once by relu itself and once as the input of the second product. It is one storage, C here, so it counts once.
- The weights are saved, too, as transposed views. They are there anyway, in the storages of `up` and `down`, so they do not count.
- The array before relu is *not* saved: relu's backward needs only to know which results are above 0.

A view counts with its whole storage. Whoever saves three rows of an array keeps all of it alive.

The second list is by `saved` from this course, which counts by these rules.

## 2. A layer of GPT

Now a whole layer, in 16-bit numbers, for s tokens of one sequence, a width of h, and a heads. The MLP is 4 h wide inside. Dropout keeps its mask, with one byte for each number.

`first` and `last` are the two linear layers of a block, the one after the norm and the one before the sum. They are arguments, because we will cut them in a moment. There are no biases, since a bias keeps nothing.
"""


# %%
def drop(x, p):
    return torch.native_dropout(x, p, True)[0]


def core(q, k, v, p):
    """Attention of all heads, [heads, s, width] each."""
    scores = torch.bmm(q, k.transpose(1, 2)) / q.shape[-1] ** 0.5
    return torch.bmm(drop(torch.softmax(scores, dim=-1), p), v)


def layer(x, w, width, first=F.linear, last=F.linear, core=core, p=0.1):
    """x: [tokens, h] -> [tokens, h]; width: of a head."""
    y = first(F.layer_norm(x, x.shape[1:], w["norm1"]), w["qkv"])
    q, k, v = (part.unflatten(1, (-1, width)).transpose(0, 1) for part in y.chunk(3, dim=1))
    mixed = core(q, k, v, p).transpose(0, 1).flatten(1)
    x = x + drop(last(mixed, w["out"]), p)
    y = F.gelu(first(F.layer_norm(x, x.shape[1:], w["norm2"]), w["up"]))
    return x + drop(last(y, w["down"]), p)


# %% [markdown]
r"""
The layer of GPT-3 has s = 2,048, h = 12,288, a = 96. It would need gigabytes. On the device `meta` tensors have shapes but no data, and autograd saves them all the same: so we can count without memory.

We count in units of s h bytes. An array of s x h numbers of 2 bytes is then 2. How many units does this layer keep? And how much of it is attention's a matrices of s x s?
"""

# %%
guesses = {"all": "?", "matrices of s x s": "?"}


def weights(h, t=1, device="meta", dtype=torch.bfloat16):
    shapes = {
        "norm1": (h,), "qkv": (3 * h // t, h), "out": (h, h // t),
        "norm2": (h,), "up": (4 * h // t, h), "down": (h, 4 * h // t),
    }  # fmt: skip
    made = {name: torch.empty(shape, device=device, dtype=dtype) for name, shape in shapes.items()}
    return {name: weight.requires_grad_() for name, weight in made.items()}


s, h, a = 2048, 12288, 96
w = weights(h)
x = torch.empty(s, h, device="meta", dtype=torch.bfloat16, requires_grad=True)
with saved(w.values()) as found:
    layer(x, w, h // a)
print("guesses:", guesses)
statistics = found.of("float32")
print(f"all: {found.bytes / (s * h):.5f}")
print("float32, a token:", statistics // s, "bytes")
print(f"the rest: {(found.bytes - statistics) / (s * h)}")
rows = [[f"{list(one.shape)}", one.dtype, f"{one.bytes / (s * h):.3f}"] for one in found.kept]
table(["saved", "of", "units of s h bytes"], rows, label="counted")

# %% [markdown]
r"""
**114**, and **80** of them are the matrices of s x s.

In float32 there are only the mean and the spread of each row, which the two norms keep: 16 bytes a token. The published formula leaves them out, and so do we from now on. The rest is exactly

    attention   2 + 6 + 2 + 1           = 11     input, q k v, input of `out`, mask
    MLP         2 + 8 + 8 + 1           = 19     input, input of gelu, input of `down`, mask
    norms       2 + 2                   =  4     their inputs
    scores      (2 + 1 + 2) a s / h     = 80     after softmax, mask, after dropout

that is 34 + 5 a s / h, times s b h bytes with b sequences. It was published by Korthikanti and others [1]. Only the scores grow with the square of s.

## 3. What tensor parallelism leaves whole

Cut this layer for t = 8 ranks as in `t3_08_tensor_parallel`. Heads and hidden columns are divided by 8. Which of the 114 units are not? How many are left on a rank?

The operators f and g are those of the last lesson. On `meta` there is nobody to talk to, and they only have to give the right shapes.
"""

# %%
guesses = {"not divided": "?", "left on a rank": "?"}


class Copy(torch.autograd.Function):
    """f: nothing forward, all-reduce backward."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.clone()
        dist.all_reduce(gradient)
        return gradient


class Sum(torch.autograd.Function):
    """g: all-reduce forward, nothing backward."""

    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        if not x.is_meta:
            dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient


tensor_parallel = {
    "first": lambda x, weight: F.linear(Copy.apply(x), weight),
    "last": lambda x, weight: Sum.apply(F.linear(x, weight)),
}


def units(s, h, a, t, tokens, step=layer, **cut):
    """What `step` keeps on one rank, in units of s h bytes, without the norms' statistics."""
    w = weights(h, t)
    x = torch.empty(tokens, h, device="meta", dtype=torch.bfloat16, requires_grad=True)
    with saved(w.values()) as found:
        step(x, w, h // a, **cut)
    return (found.bytes - found.of("float32")) / (s * h)


print("guesses:", guesses)
print("left on a rank:", units(s, h, a, 8, tokens=s, **tensor_parallel))
print("104 / 8 + 10 =", 104 / 8 + 10)

# %% [markdown]
r"""
**23**: 104 are divided, and **10** are not. These 10 are what stands outside the cut blocks: the inputs of both norms (4), the inputs of both blocks (4), and the masks after the sums (2). Each rank has them for all tokens, and each computes the same with them.

With more ranks the 10 remain. At t = 8 they are already 10 of 23.

## 4. Sequence parallelism

Outside the blocks, norms and dropout treat each token alone. So give each rank s / t *tokens* there, instead of all of them. Inside a block it still needs all tokens, for its own heads or columns.

What a rank has must then change twice: at the start of a block from own tokens to all tokens, at its end from partial sums of all tokens to finished sums of own tokens. Which two operations do that?
"""

# %%
guesses = {"at the start": "?", "at the end": "?"}


def all_gather(x, n):
    whole = x.new_empty(n * len(x), *x.shape[1:])
    if not x.is_meta:
        dist.all_gather(list(whole.chunk(n)), x.contiguous())
    return whole


def reduce_scatter(x, n):
    piece = x.new_empty(len(x) // n, *x.shape[1:])
    if not x.is_meta:
        dist.reduce_scatter(piece, list(x.contiguous().chunk(n)))
    return piece


class Gather(torch.autograd.Function):
    """At the start: all-gather forward, reduce-scatter backward."""

    @staticmethod
    def forward(ctx, x, n):
        ctx.n = n
        return all_gather(x, n)

    @staticmethod
    def backward(ctx, gradient):
        return reduce_scatter(gradient, ctx.n), None


class Scatter(torch.autograd.Function):
    """At the end: reduce-scatter forward, all-gather backward."""

    @staticmethod
    def forward(ctx, x, n):
        ctx.n = n
        return reduce_scatter(x, n)

    @staticmethod
    def backward(ctx, gradient):
        return all_gather(gradient, ctx.n), None


def sequence_parallel(t):
    return {
        "first": lambda x, weight: F.linear(Gather.apply(x, t), weight),
        "last": lambda x, weight: Scatter.apply(F.linear(x, weight), t),
    }


# %% [markdown]
r"""
An **all-gather** at the start, a **reduce-scatter** at the end, and backward each is the other. That is Megatron-LM's *sequence parallelism* [1].

Now on four ranks, forward and backward, in float64 and without dropout, beside tensor parallelism and one process. An all-reduce *is* a reduce-scatter and an all-gather. How many bytes does a rank send over its links, compared with tensor parallelism?
"""

# %%
guess = "?"  # times the bytes of tensor parallelism

torch.set_default_dtype(torch.float64)
torch.manual_seed(1)
whole = {name: torch.randn(one.shape) / 3 for name, one in weights(8).items()}
tokens, dy = torch.randn(12, 8), torch.randn(12, 8)


def cut(w, rank, t):
    """This rank's heads, columns and rows."""
    h = len(w["norm1"])
    mine = {
        "qkv": w["qkv"].view(3, t, h // t, h)[:, rank].reshape(-1, h),
        "up": w["up"].chunk(t)[rank],
        **{name: w[name].chunk(t, dim=1)[rank] for name in ("out", "down")},
    }
    return {name: mine.get(name, one).clone().requires_grad_() for name, one in w.items()}


def trained(way, t):
    """One step: y, dx and the gradients of the weights, as this rank has them."""
    rank = dist.get_rank() if t > 1 else 0
    w, x, gradient = cut(whole, rank, t), tokens, dy
    if way == "sequence":
        x, gradient = tokens.chunk(t)[rank], dy.chunk(t)[rank]
    blocks = {"sequence": sequence_parallel(t), "tensor": tensor_parallel, "alone": {}}[way]
    x = x.clone().requires_grad_()
    y = layer(x, w, 2, p=0.0, **blocks)
    y.backward(gradient)
    return y.detach(), x.grad, {name: one.grad for name, one in w.items()}


y, dx, grads = trained("alone", 1)
by_tensor = run_ranks(trained, 4, "tensor", 4)
by_sequence = run_ranks(trained, 4, "sequence", 4)
values = by_sequence.values
print("guess:", guess)
print("y right: ", torch.allclose(torch.cat([v[0] for v in values]), y))
print("dx right:", torch.allclose(torch.cat([v[1] for v in values]), dx))
print("d_down right:", torch.allclose(torch.cat([v[2]["down"] for v in values], 1), grads["down"]))
print("bytes sent, tensor:  ", by_tensor.ledger.wire[0], "(modelled)")
print("bytes sent, sequence:", by_sequence.ledger.wire[0], "(modelled)")
print("4 calls x 2 x 3/4 x 12 tokens x 8 x 8 bytes:", 4 * 2 * 3 / 4 * 12 * 8 * 8)
by_sequence.ledger

# %% [markdown]
r"""
**The same**: 4 all-reduces, or 4 all-gathers and 4 reduce-scatters, each with half of an all-reduce's bytes.

## 5. The trap

The weight of a norm is whole on each rank. Is its gradient right?
"""

# %%
guess = "?"

print("guess:", guess)
print("on each rank:", [torch.allclose(v[2]["norm1"], grads["norm1"]) for v in values])
print("the sum:     ", torch.allclose(sum(v[2]["norm1"] for v in values), grads["norm1"]))

# %% [markdown]
r"""
**No.** Each rank has used the weight on its own tokens only, so each has a share of the gradient. With tensor parallelism every rank had all tokens, and this was no question.

Nothing fails: the ranks update their copies differently, and these drift apart. What is used by all ranks with *different* tokens needs an all-reduce of its gradient. That is true for norms and for the biases of `last`. The gradient has only h numbers, so it costs little. With the f of the last lesson it is one word: `Copy.apply(weight)` where the weight is used.

And dropout after the sum? With tensor parallelism all ranks had to draw the same mask. Now each has other tokens, so each must draw *another* one: the rule of the last lesson turns round.

## 6. What is still whole

The scheme should divide all by t: 114 / 8 = 14.25. Does it?
"""

# %%
guess = "?"

print("guess:", guess)
print("left on a rank:", units(s, h, a, 8, tokens=s // 8, **sequence_parallel(8)))

# %% [markdown]
r"""
**17.75**: that is 3.5 more. The two `F.linear` behind an all-gather save their input, and that is the *gathered* array: 2 units each instead of 2/8.

The rank has its own part of it. It could keep only this part, and gather the others again in the backward pass. To keep an input and run something again is what PyTorch calls *checkpointing*: `checkpoint(function, *inputs)` runs the function without saving anything but the inputs, and runs it again when the backward pass comes there.

Then all is divided by 8. What does it cost? Guess how many all-gathers there are in a step of one layer, and how many products are computed a second time.
"""

# %%
guesses = {"all-gathers": "?", "products again": "?"}


def gathered_again(t):
    def first(x, weight):
        return checkpoint(lambda x: F.linear(Gather.apply(x, t), weight), x, use_reentrant=False)

    return {**sequence_parallel(t), "first": first}


def counted():
    w = cut(whole, dist.get_rank(), 4)
    x = tokens.chunk(4)[dist.get_rank()].clone().requires_grad_()
    flops = {}
    for name, blocks in (("kept", sequence_parallel(4)), ("again", gathered_again(4))):
        with FlopCounterMode(display=False) as counter:
            layer(x, w, 2, p=0.0, **blocks).sum().backward()
        flops[name] = counter.get_total_flops()
    return flops


def kept(x, w):
    with saved(w.values()) as found:
        layer(x, w, 2, **gathered_again(4))
    return found.bytes


def kept_here():
    rank = dist.get_rank()
    return kept(tokens.chunk(4)[rank].clone().requires_grad_(), cut(whole, rank, 4))


outcome = run_ranks(counted, 4)
on_meta = kept(torch.empty(3, 8, device="meta").requires_grad_(), weights(8, 4, dtype=dy.dtype))
print("bytes kept, real ranks:", run_ranks(kept_here, 4).values, " on meta:", on_meta)
print("left on a rank:", units(s, h, a, 8, tokens=s // 8, **gathered_again(8)))
print("guesses:", guesses)
print("all-gathers, both ways together:", outcome.ledger.of("all_gather").calls[0])
print("operations of the products:", outcome.values[0])

# %% [markdown]
r"""
**14.25** units are left, and on four real ranks exactly the bytes are kept that `meta` says. There are 10 all-gathers in all: 4 for the way before, so **6** now, two more for each layer. And **no** product runs again: PyTorch stops running again as soon as it has what the backward pass needs, and that is the input of `F.linear`, not its result.

So "the same bytes" has a footnote: where the gathered inputs are thrown away, a layer sends 10 halves of an all-reduce instead of 8. Megatron-LM hides the two behind a product of the backward pass [1]. In the lab you write this operator yourself.

## 7. Compute again

Of the 114 units 80 are scores. They are cheap to compute and dear to keep. *Selective recomputation* keeps q, k and v, and runs only the core of attention again. How many units are left, on one GPU?
"""

# %%
guess = "?"


def selective(q, k, v, p):
    return checkpoint(core, q, k, v, p, use_reentrant=False)


print("guess:", guess)
print("left:", units(s, h, a, 1, tokens=s, core=selective))
print(f"less: {80 / 114:.1%}")

# %% [markdown]
r"""
**34**: 70.2 % less. The paper's "70 %" for GPT-3 [1] comes out.

Dropout must draw the *same* mask when the core runs again, or the gradient belongs to another function. `checkpoint` notes the state of the random numbers, and puts it back.

*Full recomputation* keeps nothing of a layer but its input, and runs the whole layer again. So how many units are left? And if the products of a step are 100 %, forward once and backward twice as much, how many per cent more are computed, by each of the two?
"""

# %%
guesses = {"full, units": "?", "selective, more": "?", "full, more": "?"}


def full(x, w, width, **cut):
    return checkpoint(lambda x: layer(x, w, width, **cut), x, use_reentrant=False)


def operations(step=layer, early=False, **cut):
    w = weights(h)
    x = torch.empty(s, h, device="meta", dtype=torch.bfloat16, requires_grad=True)
    with FlopCounterMode(display=False) as counter, set_checkpoint_early_stop(early):
        step(x, w, h // a, **cut).backward(torch.empty_like(x))
    return counter.get_total_flops()


plain = operations()
print("guesses:", guesses)
print("full, units:", units(s, h, a, 1, tokens=s, step=full))
print("as the formula 72 s h^2 (1 + s / 6h):", plain == round(72 * s * h**2 * (1 + s / (6 * h))))
print(f"selective, more: {operations(core=selective) / plain - 1:.2%}")
print(f"full, more:      {operations(step=full) / plain - 1:.2%}")
print(f"selective, if it may stop early: {operations(core=selective, early=True) / plain - 1:.2%}")

# %% [markdown]
r"""
Full: **2** units, for **33.33 %**, a whole forward pass more. Selective: 34 units, for **0.90 %**. That is the bargain: two thirds of the memory for one hundredth of the work.
If PyTorch stops as soon as it has what it needs, the product with v is not repeated, and half of this remains.
On ranks, full recomputation also calls the collectives of the forward pass again.

## 8. An audit

The paper prints 2.7 % for GPT-3, not 0.9 %: its tables have 51.4 % of the peak for the operations that the model needs, and 52.8 % for those that the hardware does [1]. How did they count? The formula for all L layers and a vocabulary of v words is, in units of 72 b L s h^2,

    model      1 + s / 6h + v / 12hL
    hardware   1 + s / 3h + v / 12hL
"""

# %%
guess = "?"  # how many forward passes of the core is s / 3h - s / 6h?

L, v = 96, 51200
model = 1 + s / (6 * h) + v / (12 * h * L)
hardware = 1 + s / (3 * h) + v / (12 * h * L)
forward = 4 * s * s * h / (72 * s * h**2)  # two products of the core, 2 s s h operations each
print("guess:", guess)
print(f"hardware / model: {hardware / model - 1:.2%}")
print(f"printed: 52.8 / 51.4 - 1 = {52.8 / 51.4 - 1:.2%}")
print(f"their difference: {(hardware - model) / forward:.2f} forward passes of the core")
print(f"with one forward pass: {forward / model:.2%}")

# %% [markdown]
r"""
The formula gives **2.69 %**, as printed: we can reproduce the number. But it counts **three** forward passes of the core, forward and backward, where only one is run again. So the published price of selective recomputation is three times too high, in its own disfavour. With one forward pass, and with the vocabulary, it is 0.90 %.

And full recomputation: a third more operations should take about a third more time. The paper measured seconds for each step on A100s, with full recomputation and with its own scheme, which is sequence parallelism and selective recomputation [1, Table 5]:
"""

# %%
guess = "?"  # per cent longer

print("guess:", guess)
for name, before, after in (
    ("22B", 1.42, 1.10),
    ("175B", 18.13, 13.75),
    ("530B", 49.05, 37.83),
    ("1T", 94.42, 71.49),
):
    print(f"{name:>4}: {before:5} s -> {after:5} s, {before / after - 1:.1%} longer (published)")

# %% [markdown]
r"""
**29 to 32 %**, a little below 33.3 %. Time outside the layers does not grow, and the new scheme has its own small costs.

## 9. Every cell

The paper has four models. Here are all six variants at t = 8 for each, counted on `meta`, and beside it whether the formula of `warpwise.planner` gives exactly the same. Before you run it: for which models does sequence parallelism alone keep less than selective recomputation with tensor parallelism alone?
"""

# %%
guess = "?"

SHAPES = {
    "22B": Model(48, 6144, 64),
    "175B": Model(96, 12288, 96),
    "530B": Model(105, 20480, 128),
    "1T": Model(128, 25600, 160),
}  # layers, hidden, heads
t, rows, same = 8, [], True
for name, shape in SHAPES.items():
    few, all_of = s // t, {"s": s, "h": shape.hidden, "a": shape.heads}
    found = {
        (1, False, "none"): units(t=1, tokens=s, **all_of),
        (t, False, "none"): units(t=t, tokens=s, **all_of, **tensor_parallel),
        (t, True, "none"): units(t=t, tokens=few, **all_of, **gathered_again(t)),
        (t, False, "selective"): units(t=t, tokens=s, **all_of, core=selective, **tensor_parallel),
        (t, True, "selective"): units(
            t=t, tokens=few, **all_of, core=selective, **gathered_again(t)
        ),
        (t, True, "full"): units(t=t, tokens=few, **all_of, step=full, **gathered_again(t)),
    }
    same &= all(abs(n - coefficient(shape, *how)) < 1e-12 * n for how, n in found.items())
    rows.append([name, *(f"{number:.2f}" for number in found.values())])
print("guess:", guess)
print("24 cells equal the formula:", same)
head = ["model", "one GPU", "TP", "TP + SP", "TP + selective", "TP + SP + selective", "full + SP"]
table(head, rows, label="counted, units of s b h bytes")

# %% [markdown]
r"""
For **530B and 1T**: 12.25 against 13. All columns but the last are the formulas of the paper [1], to the last digit.
For full recomputation it prints 2, which is what a rank keeps that has the whole input of the layer; here a rank has its own tokens of it, 2/8.

So does the model of 22 billion fit, with b = 4 sequences at a time? Its 48 layers have 12 h^2 weights each. A weight takes 18 bytes: 6 for itself, in 16 bits and in 32, 4 for its gradient and 8 for Adam.
"""

# %%
guesses = {"TP": "?", "TP + SP + selective": "?"}  # GiB on a rank

shape, GiB = SHAPES["22B"], 2**30
static = state(12 * 48 * shape.hidden**2 / t, "ml-engineering").total / GiB
print("guesses:", guesses)
print(f"weights, gradients, optimizer: {static:.4f} GiB (modelled)")
for name, how in {"TP": (t,), "TP + SP + selective": (t, True, "selective")}.items():
    kept = 48 * layer_bytes(shape, 4, *how) / GiB
    print(f"{name}: {kept:.4f} GiB of activations (modelled), {static + kept:.1f} GiB in all")

# %% [markdown]
r"""
**59.25** GiB with tensor parallelism alone, so it does not fit into 80 GB. **9.5625** with both, and it does: these are the bars of the paper's Figure 1.

Turn the dials: where is sequence parallelism the better half, where recomputation? What happens with long sequences?
"""

# %%
VARIANTS = {
    "TP": (False, "none"),
    "TP + SP": (True, "none"),
    "TP + selective": (False, "selective"),
    "TP + SP + selective": (True, "selective"),
    "full + SP": (True, "full"),
}


def bars(model, t, s):
    base = SHAPES[model]
    shape = Model(base.layers, base.hidden, base.heads, sequence=s)
    figure, ax = axes(7, 2.8)
    lines = []
    for row, (name, (sp, again)) in enumerate(VARIANTS.items()):
        unit = s * shape.hidden / 2**20
        every = coefficient(shape, t, sp, again)
        bare = coefficient(shape, t, sp, "selective") if again == "none" else every
        ax.barh(row, bare * unit, color=COLOURS[0], label="all but the scores" if not row else None)
        ax.barh(row, (every - bare) * unit, left=bare * unit, color=COLOURS[1], hatch="//",
                label="scores, s x s" if not row else None)  # fmt: skip
        scores = (every - bare) * unit
        lines.append(f"{name:20} {every * unit:8,.1f} MiB a layer, {scores:,.1f} of it scores")
    ax.set_yticks(range(len(VARIANTS)), list(VARIANTS))
    ax.invert_yaxis()
    ax.set_xlabel(f"MiB a layer and sequence: {model}, t = {t}, s = {s} (modelled)")
    legend(ax)
    return bundle(figure, "\n".join(lines))


Dialled(
    [
        Dial("model", tuple(SHAPES), "175B"),
        Dial("t", (2, 4, 8, 16), 8),
        Dial("s", (512, 2048, 8192, 32768), 2048),
    ],
    bars,
)

# %% [markdown]
r"""
At t = 2 most of it is divided anyway, and sequence parallelism brings little. With long sequences scores are nearly everything, and only recomputation helps.

## 10. Attention that never keeps its scores

Today's attention kernels go through the scores in tiles, as in `t2_10_attention`, and compute them again in their own backward pass. What does PyTorch's keep for one sequence of 256 tokens and 4 heads? Is there an array of 256 x 256?
"""

# %%
guess = "?"

q, k, v = (torch.randn(1, 4, 256, 16, dtype=torch.float32, requires_grad=True) for _ in range(3))
with saved() as found:
    F.scaled_dot_product_attention(q, k, v, is_causal=True)
print("guess:", guess)
print(found)

# %% [markdown]
r"""
**No**: q, k, v, the output, and one number for each row, the logarithm of its sum of exponentials. So such a kernel *is* selective recomputation, inside. With it a layer has no 5 a s / h, and what remains of this lesson is the 34: sequence parallelism divides it, and full recomputation drops it.

## 11. PyTorch's own

`SequenceParallel` marks a norm that works on own tokens; `ColwiseParallel` and `RowwiseParallel` are told that what comes in and goes out is cut by tokens. Which calls do you expect, for one MLP with its norm, forward and backward?
"""

# %%
guesses = {"all-gathers": "?", "reduce-scatters": "?", "all-reduces": "?"}


def by_torch(x, dy, up, down):
    from torch import nn
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        SequenceParallel,
        parallelize_module,
    )

    torch.set_default_dtype(torch.float64)
    rank, n, (f, h) = dist.get_rank(), dist.get_world_size(), up.shape
    first, last = nn.Linear(h, f, bias=False), nn.Linear(f, h, bias=False)
    first.weight.data, last.weight.data = up.clone(), down.clone()
    model = nn.Sequential(nn.LayerNorm(h, bias=False), first, nn.ReLU(), last)
    plan = {
        "0": SequenceParallel(sequence_dim=0, use_local_output=True),
        "1": ColwiseParallel(input_layouts=Shard(0)),
        "3": RowwiseParallel(output_layouts=Shard(0)),
    }
    parallelize_module(model, init_device_mesh("cpu", (n,)), plan)
    x = x.chunk(n)[rank].clone().requires_grad_()
    y = model(x)
    y.backward(dy.chunk(n)[rank])
    # clone: y may still be on its way.
    return y.detach().clone(), x.grad, model[0].weight.grad.full_tensor()


x = tokens.clone().requires_grad_()
norm = torch.ones(8, requires_grad=True)
y = F.linear(torch.relu(F.linear(F.layer_norm(x, (8,), norm), whole["up"])), whole["down"])
y.backward(dy)
outcome = run_ranks(by_torch, 2, tokens, dy, whole["up"], whole["down"], timeout=90)
print("guesses:", guesses)
print("y right:     ", torch.allclose(torch.cat([v[0] for v in outcome.values]), y))
print("dx right:    ", torch.allclose(torch.cat([v[1] for v in outcome.values]), x.grad))
print("d_norm right:", [torch.allclose(v[2], norm.grad) for v in outcome.values])
for name in ("all_gather", "reduce_scatter", "all_reduce"):
    print(f"{name}: {outcome.ledger.of(name).calls[0]}")

# %% [markdown]
r"""
**Two** all-gathers and **two** reduce-scatters, as ours, and **one** all-reduce, for the norm's weight: DTensor knows that its gradient is a partial sum. The gathered input is kept here: nobody asked to gather it again.

## What to remember

- A layer keeps s b h (34 + 5 a s / h) bytes in 16 bits. Count storages, each once, and no weights.
- Tensor parallelism divides all but 10 of it. Sequence parallelism divides these, too: all-gather before, reduce-scatter behind, backward the reverse, and the bytes of the all-reduces.
- Weights that all ranks use on different tokens, norms and biases, need an all-reduce of their gradients.
- Keep the part, gather again: all by t, for two more all-gathers a layer.
- Selective recomputation drops the scores for 0.9 % more operations; full recomputation leaves 2, for a third more.
- When something runs again, it must draw the same random numbers.

On GPUs, `torch.cuda.max_memory_allocated` and the memory snapshots of PyTorch show the same as a saw: activations rise through the forward pass and fall through the backward pass.

**Next:** the lab, `t3_09_sequence_parallel_lab`, in your folder `mine/t3_many/`.

## Sources

1. V. Korthikanti and others, "Reducing Activation Recomputation in Large Transformer Models", 2022: the formulas, the four models, Table 5, Figure 1. <https://arxiv.org/abs/2205.05198>
2. T. Chen and others, "Training Deep Nets with Sublinear Memory Cost", 2016: recomputation. <https://arxiv.org/abs/1604.06174>
3. PyTorch, `torch.utils.checkpoint` and saved tensor hooks. <https://docs.pytorch.org/docs/stable/checkpoint.html>
4. PyTorch, tensor parallelism: `SequenceParallel`. <https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html>
"""
