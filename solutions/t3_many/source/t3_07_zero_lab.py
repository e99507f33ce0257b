# %% [markdown]
r"""
# Lab: ZeRO, byte by byte

Six exercises on sharded training, with what you saw in the lesson `t3_07_zero`. They take about 60 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

The checks run the functions of exercises 2, 3, 4 and 6 on two or three processes, with float64 tensors. Calls and the bytes of tensors are *counted*, bytes over links are *modelled*: (n - 1)/n of the whole array for a reduce-scatter or an all-gather.

Run this cell first.
"""

# %%
import torch
import torch.distributed as dist

from warpwise import check, run_ranks
from warpwise.ranks.memory import alive

# %% [markdown]
r"""
## Exercise 1 - What a rank holds (1 point)

**Goal.** Compute the table of section 6 for any recipe.

**Given.** `parameters`: how many there are. `ranks`: n. `stage`: 0 for plain data parallelism, or ZeRO's 1, 2 or 3. `weight`, `gradient`, `states`: the bytes of each kind for one parameter.

**Required.** Return three numbers: the bytes of weights, of gradients and of states that a rank holds.

**Example.** `stage_bytes(100, 4, 1, 2, 2, 12)` is `(200.0, 200.0, 300.0)`.
"""


# %% stage_bytes tags=["exercise"]
def stage_bytes(parameters, ranks, stage, weight, gradient, states):
    """(weights, gradients, states) of one rank, in bytes."""
    ### BEGIN SOLUTION
    sizes = {3: weight, 2: gradient, 1: states}  # by the stage that shards it
    return tuple(
        parameters * size / (ranks if stage >= first else 1) for first, size in sizes.items()
    )
    ### END SOLUTION


# %% tags=["check"]
check("stage_bytes", stage_bytes)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
From which stage on is each of the three divided by the number of ranks?
</details>
<details><summary>Hint 2</summary>
States from stage 1 on, gradients from 2 on, weights from 3 on.
</details>
<details><summary>Hint 3</summary>
<code>parameters * weight / (ranks if stage >= 3 else 1)</code>, and the other two in the same way.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - A step of ZeRO-1 (3 points)

**Goal.** Build a whole step of Adam with sharded states, for an array that n does not divide.

**Given.** On each rank: `w`: [N], all weights, the same on all ranks. `gradient`: [N], of this rank's own loss; all ranks had equally many rows. `t`: the number of this step, 1 or more. `lr`: a number.
`m` and `v`: [c], this rank's shard of the moments. To make n equal shards, the arrays are filled up with zeros at their end to n c numbers, where c is N / n, rounded up. Shard r has the numbers r c to (r + 1) c - 1. So the last shard, or more of them, may be partly or all zeros.

With the mean gradient g, a step of Adam is

    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g**2
    w = w - lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)

**Required.** Return `w, m, v`: all N new weights, the same on every rank, and this rank's new shards of the moments. A rank updates its own shard only. No more may travel than one reduce-scatter and one all-gather of n c numbers.

**Example.** Two ranks, N = 3, `w` = (1, 1, 1), a mean gradient of (2, -4, 1), t = 1, `lr` = 0.1, moments of 0. Both return w = (0.9, 1.1, 0.9). Rank 0 has m = (0.2, -0.4), and rank 1 has m = (0.1, 0).
"""


# %% sharded_step tags=["exercise"]
def sharded_step(w, gradient, m, v, t, lr):
    """(w, m, v) after one step of Adam: all weights, and this rank's shards of the moments."""
    ### BEGIN SOLUTION
    rank, n, c = dist.get_rank(), dist.get_world_size(), len(m)
    more = w.new_zeros(n * c - len(w))
    g = torch.empty_like(m)
    dist.reduce_scatter(g, list(torch.cat([gradient, more]).chunk(n)))
    g /= n
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g**2
    whole = torch.cat([w, more])
    shard = whole[rank * c : (rank + 1) * c].clone()
    shard -= lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
    dist.all_gather(list(whole.chunk(n)), shard)
    return whole[: len(w)], m, v
    ### END SOLUTION


# %% tags=["check"]
check("sharded_step", sharded_step)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Which three things does a step of ZeRO-1 do, by section 2 of the lesson? And which arrays have to be filled up?
</details>
<details><summary>Hint 2</summary>
<code>c = len(m)</code>. <code>torch.cat([gradient, gradient.new_zeros(n * c - len(gradient))])</code> can be cut into n equal chunks for the reduce-scatter. Weights are filled up in the same way, to cut out your shard.
</details>
<details><summary>Hint 3</summary>
Reduce-scatter into <code>torch.empty_like(m)</code> and divide by n. Update <code>m</code>, <code>v</code> and <code>padded[rank * c : (rank + 1) * c]</code> with the three formulas. All-gather the n shards, <code>torch.cat</code> them, and return the first <code>len(w)</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - The length of what nobody has (1 point)

**Goal.** Clip a sharded gradient.

**Given.** `shard`: this rank's numbers of the mean gradient, float64. `limit`: a number above 0, the same on all ranks.

**Required.** Let the length be the root of the sum of the squares of *all* ranks' numbers. If it is larger than `limit`, return the shard times limit / length, else the shard as it is. No more may travel than one number of each rank. There may be no NaN, also if all numbers are 0.

**Example.** Rank 0 has [3.0], rank 1 has [4.0], the limit is 1: they return [0.6] and [0.8].
"""


# %% clipped_shard tags=["exercise"]
def clipped_shard(shard, limit):
    """This rank's part of the gradient, after clipping the whole."""
    ### BEGIN SOLUTION
    squares = shard.square().sum()
    dist.all_reduce(squares)
    length = squares.sqrt().item()
    return shard * (limit / length) if length > limit else shard
    ### END SOLUTION


# %% tags=["check"]
check("clipped_shard", clipped_shard)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
What adds up over ranks: lengths, or something else?
</details>
<details><summary>Hint 2</summary>
All-reduce the sum of squares, and take the root of the result. When is the shard left as it is?
</details>
<details><summary>Hint 3</summary>
<code>squares = shard.square().sum()</code>, <code>dist.all_reduce(squares)</code>, <code>length = squares.sqrt().item()</code>, and then an <code>if</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - No gradient stays whole (3 points)

The loss of this exercise:
"""


# %%
def loss_of(weights, x):
    for w in weights:
        x = torch.tanh(x @ w.T)
    return x.square().mean()


# %% [markdown]
r"""
A program that waits for the end of the backward pass has all gradients at once. Here are eight matrices of 4,608 bytes:
"""


# %%
def all_at_once(weights, x):
    n = dist.get_world_size()
    with alive() as tensors:
        for w in weights:
            w.requires_grad_()
        loss_of(weights, x).backward()
        shards = []
        for w in weights:
            shards.append(w.grad.new_empty(len(w) // n, w.shape[1]))
            dist.reduce_scatter(shards[-1], list((w.grad / n).chunk(n)))
    return tensors.most


torch.manual_seed(0)
given = [torch.randn(24, 24).double() / 5 for _ in range(8)]
most = run_ranks(all_at_once, 2, given, torch.randn(2, 24).double())[0]
print(f"at most at once: {most:,} bytes, or {most / 4608:.0f} matrices")

# %% [markdown]
r"""
Shards of eight matrices on two ranks are four matrices. The rest could have been given back.

**Goal.** Scatter each gradient as soon as it is there, also with several micro-batches.

**Given.** `weights`: a list of float64 matrices [h, h], the same on all ranks; n divides h. `x`: [m, rows, h], this rank's m micro-batches, equally many on all ranks.

**Required.** Return a list with this rank's rows of the gradient of each matrix, in the order of `weights`. The gradient is that of the mean of `loss_of` over all micro-batches of all ranks; rank r has the r-th of n equal parts of the rows.
Beside activations and your shards, there may never be tensors of more than **four** matrices at once; what you were given does not count. A view keeps the whole array alive that it was cut from. No more may travel than one reduce-scatter for each matrix and micro-batch.

**Example.** One micro-batch and one matrix: it is the reduce-scatter of the gradient, divided by n.
"""


# %% scattered_gradients tags=["exercise"]
def scattered_gradients(weights, x):
    """This rank's rows of the mean gradient of each matrix."""
    ### BEGIN SOLUTION
    n = dist.get_world_size()
    shards = {}

    def ready(w):
        piece = w.grad.new_empty(len(w) // n, w.shape[1])
        dist.reduce_scatter(piece, list(w.grad.chunk(n)))
        w.grad = None
        piece /= n * len(x)
        shards[w] = shards[w] + piece if w in shards else piece

    for w in weights:
        w.requires_grad_()
        w.register_post_accumulate_grad_hook(ready)
    for part in x:
        loss_of(weights, part).backward()
    return [shards[w] for w in weights]
    ### END SOLUTION


# %% tags=["check"]
check("scattered_gradients", scattered_gradients)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
What runs as soon as the gradient of one matrix is there? In which order do they come?
</details>
<details><summary>Hint 2</summary>
Register a hook on each matrix, as in section 4 of the lesson. It reduce-scatters the gradient, sets <code>w.grad = None</code>, and adds the shard to what earlier micro-batches brought.
</details>
<details><summary>Hint 3</summary>
Keep the shards in a dictionary by <code>w</code>, and return <code>[shards[w] for w in weights]</code>. Divide by <code>n * len(x)</code>: that is the mean over ranks and micro-batches. Call <code>w.requires_grad_()</code> before you register.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - The cheapest stage (2 points)

**Goal.** Choose a stage by its memory and its traffic.

**Given.** `parameters`; `ranks`: n; `micro_batches`: m in a step; `room`: the bytes that a rank has for weights, gradients and states. They take 2, 2 and 12 bytes a parameter. Weights and gradients travel in 2 bytes.

**Required.** Of the stages 0 to 3 that fit into `room`, choose the one that sends the least in a step; if several send as little, the lowest of these. What takes exactly `room` fits. Return two numbers: the stage, and the bytes that a rank sends in a step, with the factor (n - 1)/n. If no stage fits, return `None`.

**Example.** 1,000 parameters on 4 ranks with 3 micro-batches: in 7,000 bytes stage 1 fits, and sends 3,000.0 bytes. In 5,500 only stages 2 and 3 fit, and stage 2 sends 6,000.0. In 3,000 none does.
"""


# %% cheapest_stage tags=["exercise"]
def cheapest_stage(parameters, ranks, micro_batches, room):
    """(stage, bytes sent in a step), or None."""
    ### BEGIN SOLUTION
    held = [16, 4 + 12 / ranks, 2 + 14 / ranks, 16 / ranks]
    times = [2, 2, micro_batches + 1, 3 * micro_batches]
    for stage in range(4):  # none sends less than the one before
        if parameters * held[stage] <= room:
            return stage, times[stage] * 2 * parameters * (ranks - 1) / ranks
    return None
    ### END SOLUTION


# %% tags=["check"]
check("cheapest_stage", cheapest_stage)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Sections 6 and 8 of the lesson each have a table. Which one decides whether a stage is possible, and which one how good it is?
</details>
<details><summary>Hint 2</summary>
A step sends 2, 2, m + 1 or 3 m times the weights, and each time only (n - 1)/n of them.
</details>
<details><summary>Hint 3</summary>
Go through the stages from 0 to 3. None sends less than the one before, so that the first that fits is the answer. A parameter takes 16, 4 + 12 / n, 2 + 14 / n or 16 / n bytes.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - Nothing stays whole (4 points, stretch)

**Goal.** Forward and backward through a model whose matrices no rank has.

**Given.** `shards`: a list of float64 tensors [h/n, h], this rank's rows of each matrix. `x`: [rows, h], this rank's rows of the batch, equally many on all ranks. The model has *residual* layers, and the loss is a mean of squares:

    for w in weights:
        x = x + torch.tanh(x @ w.T)
    loss = x.square().mean()

**Required.** Return a list with this rank's rows of the mean gradient of each matrix, in the order of `shards`.
Beside activations and the shards of the gradients, there may never be tensors of more than **five** matrices at once.
Each matrix is gathered twice, but the last one only once: it is needed again at once. So with L matrices no more may travel than 2 L - 1 all-gathers and L reduce-scatters.

Three programs for comparison, with L = 16 on two ranks:

| program | matrices at once, about | gathers |
|---|---|---|
| gather all, then compute | 16 and more | 16 |
| gather each when needed, and let autograd save it | 16 and more | 16 |
| gather each twice, but the last | 5 and fewer, and the shards | 31 |

**Example.** With one matrix it is gathered once, and its gradient is scattered once.
"""


# %% sharded_pass tags=["exercise"]
def sharded_pass(shards, x):
    """This rank's rows of the mean gradient of each matrix."""
    ### BEGIN SOLUTION
    n = dist.get_world_size()

    def gathered(shard):
        whole = shard.new_empty(n * len(shard), shard.shape[1])
        dist.all_gather(list(whole.chunk(n)), shard)
        return whole

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, shard, keep):
            whole = gathered(shard)
            ctx.save_for_backward(x, shard)
            ctx.whole = whole if keep else None
            return x @ whole.T

        @staticmethod
        def backward(ctx, dy):
            x, shard = ctx.saved_tensors
            whole = gathered(shard) if ctx.whole is None else ctx.whole
            dx = dy @ whole
            ctx.whole = whole = None
            piece = torch.empty_like(shard)
            dist.reduce_scatter(piece, list((dy.T @ x).chunk(n)))
            return dx, piece / n, None

    for shard in shards:
        shard.requires_grad_()
        x = x + torch.tanh(Product.apply(x, shard, shard is shards[-1]))
    x.square().mean().backward()
    return [shard.grad for shard in shards]
    ### END SOLUTION


# %% tags=["check"]
check("sharded_pass", sharded_pass)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
What may an operation save for its backward pass, if whole matrices are to disappear?
</details>
<details><summary>Hint 2</summary>
Write an autograd function as in section 5 of the lesson: it saves x and the shard, gathers again in the backward pass, and returns the scattered gradient. How can it know that its matrix is the last?
</details>
<details><summary>Hint 3</summary>
<code>forward(ctx, x, shard, last)</code> keeps the whole matrix as <code>ctx.whole</code> only if <code>last</code>; <code>backward</code> gathers only if there is none, and returns three values, <code>None</code> for <code>last</code>. Then <code>x = x + torch.tanh(Product.apply(x, shard, shard is shards[-1]))</code>.
</details>
"""
