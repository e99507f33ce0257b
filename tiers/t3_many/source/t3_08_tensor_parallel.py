# %% [markdown]
r"""
# Tensor parallelism: forward and backward

**One matrix of a model is too large for one GPU, or one GPU is too slow for it. Several GPUs could each do a part of the product. Who then has to talk to whom, how often, and what happens to the gradients?**

At the end of this lesson you can

- cut a linear layer by columns or by rows, and join the two with one all-reduce,
- write the two operators that make the backward pass right,
- count calls and bytes of a whole transformer layer before you run it,
- put biases and dropout where they do no harm,
- say up to how many GPUs the communication can hide behind the products.

You need the lessons `t3_01_collectives` and `t2_01_gemm_tiles` and about 40 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
"""

# %%
import torch
import torch.distributed as dist
import torch.nn.functional as F

from warpwise import run_ranks
from warpwise.show import table
from warpwise.show.dial import Dial, Dialled

# %% [markdown]
r"""
## 1. Two ways to cut

A linear layer computes y = x A, with x of *tokens* x h numbers. A token is one row: b sequences of s tokens make b s rows. **Tensor parallelism** cuts A, and gives each rank a part.

**Column-parallel.** A is cut into columns, [A0 A1]. Each rank has the whole x and computes x A0 or x A1: some columns of y, complete.

**Row-parallel.** A is cut into rows, A0 above A1. Then x must be cut into columns, and x A = x0 A0 + x1 A1: each rank has a **partial sum** of *all* of y. An all-reduce adds them.

PyTorch stores the weight of a layer as [outputs, inputs], which is A transposed. So column-parallel is `weight.chunk(n)`, row-parallel is `weight.chunk(n, dim=1)`.

The MLP of a transformer has two layers with a function between them, y = relu(x A) B. We cut A one way and B one way. With which pair does it take the fewest calls?
"""

# %%
guess = "?"  # (columns or rows, columns or rows)

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
tokens, h, f = 6, 4, 8
x, up, down = torch.randn(tokens, h), torch.randn(f, h), torch.randn(h, f)
whole = torch.relu(x @ up.T) @ down.T

columns_then_rows = sum(
    torch.relu(x @ a.T) @ b.T for a, b in zip(up.chunk(2), down.chunk(2, dim=1), strict=True)
)
rows_first = sum(
    torch.relu(part @ a.T)
    for part, a in zip(x.chunk(2, dim=1), up.chunk(2, dim=1), strict=True)
) @ down.T  # fmt: skip
print("guess:", guess)
print("columns, then rows, one sum at the end:", torch.allclose(columns_then_rows, whole))
print("rows first, relu of partial sums:      ", torch.allclose(rows_first, whole))

# %% [markdown]
r"""
**Columns, then rows.** The first product leaves complete hidden columns, and relu works on each number alone. The second product needs exactly those columns. One sum at the end is the only communication.

Rows first is wrong without a sum *before* relu, since relu(a + b) is not relu(a) + relu(b).

This is the layout of Megatron-LM [1]. Now on ranks:
"""

# %%


def mlp(x, up, down):
    rank, n = dist.get_rank(), dist.get_world_size()
    hidden = torch.relu(F.linear(x, up.chunk(n)[rank]))
    y = F.linear(hidden, down.chunk(n, dim=1)[rank])
    dist.all_reduce(y)
    return y


outcome = run_ranks(mlp, 4, x, up, down)
print("equal to one process:", all(torch.allclose(y, whole) for y in outcome.values))
print("bytes handed in by a rank:", outcome.ledger.bytes[0], " = tokens x h x 8:", tokens * h * 8)

# %% [markdown]
r"""
The hidden array, here twice as wide as x and in most models four times, never travels.

## 2. Backward: f and g

For training we need gradients. Each rank has the gradient dy of the whole y, and computes backward through its own part.
Is the gradient of x then the same on all ranks? Is it right?
"""

# %%
guess = "?"


class Sum(torch.autograd.Function):
    """g: all-reduce forward, nothing backward."""

    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def gradients(x, up, down, first):
    """y and the gradients of x, up and down, as this rank sees them."""
    rank, n = dist.get_rank(), dist.get_world_size()
    x = x.clone().requires_grad_()
    up = up.chunk(n)[rank].clone().requires_grad_()
    down = down.chunk(n, dim=1)[rank].clone().requires_grad_()
    y = Sum.apply(F.linear(torch.relu(F.linear(first(x), up)), down))
    y.square().sum().backward()
    return y.detach(), x.grad, up.grad, down.grad


one = [tensor.clone().requires_grad_() for tensor in (x, up, down)]
torch.relu(one[0] @ one[1].T).matmul(one[2].T).square().sum().backward()
right_dx, right_up, right_down = (tensor.grad for tensor in one)

values = run_ranks(gradients, 2, x, up, down, lambda x: x).values
print("guess:", guess)
print("dx right:", [torch.allclose(v[1], right_dx) for v in values])
print("sum of both right:", torch.allclose(values[0][1] + values[1][1], right_dx))
print("d_up right:", torch.allclose(torch.cat([v[2] for v in values]), right_up))

# %% [markdown]
r"""
**No**: each rank has a share. x is used by all ranks, each with other columns. What is used n times gets the sum of n gradients, also when the uses are on different ranks.
The layer's own weights are right. But dx goes on to the layers before it, and all their gradients would be wrong.

So there are two operators, one the mirror of the other:

| | forward | backward | stands |
|---|---|---|---|
| f | nothing | all-reduce | before the column-parallel layer |
| g | all-reduce | nothing | after the row-parallel layer |

Autograd does not know of other ranks. A `torch.autograd.Function` tells it what to do in each direction. Above is g, here is f:
"""

# %%


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


outcome = run_ranks(gradients, 2, x, up, down, Copy.apply)
values = outcome.values
print("dx right:", [torch.allclose(v[1], right_dx) for v in values])
print("d_up right:", torch.allclose(torch.cat([v[2] for v in values]), right_up))
print("d_down right:", torch.allclose(torch.cat([v[3] for v in values], dim=1), right_down))
print("all-reduces:", outcome.ledger.of("all_reduce").calls)

# %% [markdown]
r"""
Gradients equal those of one process. Why has g nothing to do backward? y is the plain sum of partial sums, so each has the gradient dy, and every rank has dy already.
An all-reduce there would make everything n times too large: all ranks hold the *same* dy, not shares of it.

## 3. Attention: heads

Attention has heads that do not know of each other. Give each rank some of them: the products for q, k and v are column-parallel, one head's columns together, and the product after the heads is row-parallel.
How many calls does that take, forward?
"""

# %%
guess = "?"


def attention(x, qkv, out, heads):
    """Attention of this rank's heads; qkv: [3, heads, width, h], out: [h, h]."""
    rank, n = dist.get_rank(), dist.get_world_size()
    q, k, v = (torch.einsum("th,nwh->ntw", x, one.chunk(n)[rank]) for one in qkv)
    mixed = torch.softmax(q @ k.transpose(1, 2) / q.shape[-1] ** 0.5, dim=-1) @ v
    mixed = mixed.transpose(0, 1).flatten(1)  # this rank's heads, side by side
    y = F.linear(mixed, out.chunk(n, dim=1)[rank])
    dist.all_reduce(y)
    return y


weights = torch.randn(3, 4, 1, 4), torch.randn(4, 4)
alone = run_ranks(attention, 1, x, *weights, 4).values[0]
outcome = run_ranks(attention, 4, x, *weights, 4)
print("guess:", guess)
print("equal:", torch.allclose(outcome.values[3], alone))
print("all-reduces:", outcome.ledger.of("all_reduce").calls[0])

# %% [markdown]
r"""
**One**, as for the MLP. So n should divide the number of heads: that is a limit of t, as tensor parallel ranks are usually counted.

## 4. The bill of a layer

A transformer layer is attention, then an MLP, each with its f and g. Before you run it: how many all-reduces are there in one step, forward and backward, for 3 layers? How many numbers does each add up?
"""

# %%
guesses = {"calls": "?", "numbers in each": "?"}


def three_layers(x, up, down):
    """Six cut blocks; for the count, two MLPs stand for one layer."""
    rank, n = dist.get_rank(), dist.get_world_size()
    x = x.clone().requires_grad_()
    y = x
    for _ in range(6):
        hidden = torch.relu(F.linear(Copy.apply(y), up.chunk(n)[rank]))
        y = y + Sum.apply(F.linear(hidden, down.chunk(n, dim=1)[rank]))
    y.sum().backward()
    return x.grad


outcome = run_ranks(three_layers, 4, x, up / 8, down / 8)
ledger = outcome.ledger.of("all_reduce")
print("guesses:", guesses)
print("calls:", ledger.calls[0], "  numbers in each:", ledger.bytes[0] // 8 // ledger.calls[0])
print("bytes sent over links:", ledger.wire[0], "=", 12 * tokens * h * 8, "x 2 x 3/4 (modelled)")
outcome.ledger

# %% [markdown]
r"""
**12** calls of tokens x h = **24** numbers. That is the rule of Megatron-LM: *two all-reduces forward and two backward in each layer*, each of b s h numbers.
Over links each rank sends 2 (t - 1)/t of that. The array does not shrink with t! More ranks make products smaller and leave the all-reduce as large as it was.

## 5. Where it breaks: bias and dropout

The second layer has a bias. `F.linear(hidden, part, bias)` on every rank, then the all-reduce: what comes out, with a bias of 1 and four ranks, where all products are 0?
"""

# %%
guess = "?"


def with_bias(after):
    y = torch.zeros(2)
    bias = torch.ones(2)
    if not after:
        y += bias
    dist.all_reduce(y)
    return y + bias if after else y


print("guess:", guess)
for after in (False, True):
    print("bias after the sum:", after, " ", run_ranks(with_bias, 4, after).values[0].tolist())

# %% [markdown]
r"""
**4**, n times the bias. With one rank it is right, so a test on one GPU finds nothing. Add the bias of a row-parallel layer once, after the all-reduce. The bias of a column-parallel layer is cut with the columns, and needs no care.

Dropout sets random numbers to 0. Inside, between the two layers, ranks have *different* columns. Outside, after the sum, they have *the same* array.
Where must all ranks draw with the same seed?
"""

# %%
guess = "?"


def masks(same):
    maker = torch.Generator().manual_seed(7 if same else 7 + dist.get_rank())
    return (torch.rand(8, generator=maker) >= 0.5).int().tolist()


print("guess:", guess)
for same in (True, False):
    print("same seed:", same, " ", *run_ranks(masks, 2, same).values)

# %% [markdown]
r"""
**Outside.** With other seeds there, ranks would go on with different arrays of what should be one, and no error is raised: losses only get worse.
Inside it is the other way: with the same seed, column 0 of rank 0 and column 0 of rank 1 are always dropped together. The masks are not independent any more. Megatron-LM keeps two generators for this reason [1]: one seed for all, one that differs by rank.

## 6. The loss

The last layer has one output for each word of the vocabulary. Column-parallel, each rank has the *logits* of its own words. An all-gather would bring tokens x words numbers to each rank.
But the loss of a token, log(sum exp(logits)) minus its target's logit, needs only three numbers from outside: the largest logit, for safety, the sum, and the target's logit.
How many times fewer bytes is that, for 128,000 words on 8 ranks, counted as what each rank sends?
"""

# %%
guess = "?"

gathered = 7 / 8 * 128_000  # an all-gather, numbers a token
reduced = 3 * 2 * 7 / 8  # three all-reduces of one number a token
print("guess:", guess)
print(f"{gathered:,.0f} against {reduced} numbers a token: {gathered / reduced:,.0f} times")

# %% [markdown]
r"""
About **21,333** times. The lab's last exercise builds it.

## 7. How many ranks?

The products of the MLP, forward, take 4 tokens h f operations in all, so 4 tokens h f / (t C) seconds on t chips of C operations a second. Its all-reduce, of 2-byte numbers, takes 4 tokens h / W seconds if a chip can send W bytes a second: twice 2 tokens h, with (t - 1)/t left out.
The products take longer as long as

    t < f W / C

Tokens and h cancel. "How to Scale Your Model" gives C/W = 2,550 for a TPU v5p and says that a Llama 3 of 70 billion parameters, with f about 30,000, can be cut 8 ways comfortably, but not 16 ways [2]. Do you find the same?
"""

# %%
guess = "?"  # the largest t

C, W = 4.59e14, 1.8e11
print("guess:", guess)
print("C / W =", C / W, "  largest t:", round(30_000 * W / C, 2))

# %% [markdown]
r"""
**11.76**: 8 is below it, 16 is not. The statement holds. Turn the dial for other widths, on this chip:
"""

# %%


def hidden_part(f):
    rows = []
    for t in (2, 4, 8, 16, 32):
        ratio = t * C / W / f
        rows.append([str(t), f"{ratio:.2f}", "hides" if ratio < 1 else "shows"])
    head = ["t", "all-reduce : products", "the all-reduce"]
    return table(head, rows, label="modelled")._repr_mimebundle_()


Dialled([Dial("f", (8192, 16384, 30_000, 53_248), 30_000)], hidden_part)

# %% [markdown]
r"""
Only the width helps, not more tokens. That is why tensor parallelism stays inside a node, with its fast links. To hide at all, the all-reduce must run at the same time as a product that does not need it: other tokens' products, for example.

## 8. PyTorch's own

`parallelize_module` cuts the weights of a finished model and puts f and g in. Its ranks should make the same calls. Forward and backward, how many all-reduces for one MLP, if x needs a gradient?
"""

# %%
guess = "?"


def by_torch(x, up, down):
    from torch import nn
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    torch.set_default_dtype(torch.float64)
    (f, h), x = up.shape, x.clone().requires_grad_()
    model = nn.Sequential(nn.Linear(h, f, bias=False), nn.ReLU(), nn.Linear(f, h, bias=False))
    model[0].weight.data, model[2].weight.data = up, down
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    y = model(x)
    y.square().sum().backward()
    return y.detach(), x.grad, model[0].weight.grad.to_local()


outcome = run_ranks(by_torch, 2, x, up, down, timeout=90)
print("guess:", guess)
print("y right: ", [torch.allclose(v[0], whole) for v in outcome.values])
print("dx right:", [torch.allclose(v[1], right_dx) for v in outcome.values])
print("d_up right:", torch.allclose(torch.cat([v[2] for v in outcome.values]), right_up))
print("all-reduces:", outcome.ledger.of("all_reduce").calls)

# %% [markdown]
r"""
**Two**, and the same numbers as ours. `ColwiseParallel` and `RowwiseParallel` say only how a weight is cut; where a sum is needed follows from that.

## What to remember

- Cut the first layer by columns and the second by rows: one all-reduce, and the hidden array never travels.
- f before: nothing forward, all-reduce backward. g after: the reverse. Gradients then equal those of one process.
- Attention is cut by heads.
- Four all-reduces a layer, two each way, of b s h numbers, whatever t is.
- The bias of the row-parallel layer is added once, after the sum.
- Dropout: other seeds inside, the same seed outside.
- Communication can hide while t < f W / C.

On GPUs, Nsight Systems shows the all-reduces as NCCL kernels between the products; the tensor cores stand idle where nothing overlaps.

**Next:** the lab, `t3_08_tensor_parallel_lab`, in your folder `mine/t3_many/`.

## Sources

1. M. Shoeybi and others, "Megatron-LM: Training Multi-Billion Parameter Language Models Using Model Parallelism", 2019: f and g, cut heads, the loss, seeds. <https://arxiv.org/abs/1909.08053>
2. J. Austin and others, "How to Scale Your Model", 2025, chapter on training. <https://jax-ml.github.io/scaling-book/training>
3. PyTorch, tensor parallelism: `parallelize_module`. <https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html>
"""
