# %% [markdown]
r"""
# Lab: tensor parallelism

Five exercises on layers that are cut across ranks, with what you saw in the lesson `t3_08_tensor_parallel`. They take about 60 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

The checks run your functions on two or three processes, with float64 tensors. Bytes over links are *modelled* from the calls that were *counted*: 2 (n - 1)/n for an all-reduce.

Run this cell first.
"""

# %%
import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F

from warpwise import check, run_ranks

# %% [markdown]
r"""
## Exercise 1 - The bill, before you run (2 points)

**Goal.** Say what tensor parallelism costs a step of training, in all-reduces and bytes.

**Given.** `layers` transformer layers, `tokens` = b s, the width `h`, `itemsize` bytes a number, and `t` ranks. Attention and MLP are both cut as in the lesson. Only activations count, no recomputation.

**Required.** Three numbers: how many all-reduces there are, forward and backward together; how many bytes a rank hands in to them; how many bytes a rank sends over its links, with the least that an all-reduce can do. For t = 1 all three are 0.

**Example.** `layer_traffic(1, 4, 8, 2, 2)` is `(4, 256, 256.0)`.
"""


# %% layer_traffic tags=["exercise"]
def layer_traffic(layers, tokens, h, itemsize, t):
    """(all-reduces, bytes handed in, bytes sent) of one rank in one step."""
    ### BEGIN SOLUTION
    calls = 4 * layers if t > 1 else 0
    handed_in = calls * tokens * h * itemsize
    return calls, handed_in, 2 * (t - 1) / t * handed_in
    ### END SOLUTION


# %% tags=["check"]
check("layer_traffic", layer_traffic)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
How many f and g stand in one layer, and which of them calls an all-reduce in which direction?
</details>
<details><summary>Hint 2</summary>
Four all-reduces a layer. Each adds up arrays of tokens x h numbers, whatever t is.
</details>
<details><summary>Hint 3</summary>
<code>calls = 4 * layers</code>, times <code>tokens * h * itemsize</code>, and then times <code>2 * (t - 1) / t</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - One bias too many (3 points)

This MLP is cut across ranks, and its output is wrong:
"""


# %%
def broken_mlp(x, up, up_bias, down, down_bias):
    rank, n = dist.get_rank(), dist.get_world_size()
    hidden = torch.relu(F.linear(x, up.chunk(n)[rank], up_bias.chunk(n)[rank]))
    y = F.linear(hidden, down.chunk(n, dim=1)[rank], down_bias)
    dist.all_reduce(y)
    return y


given = (torch.ones(1, 2), torch.ones(4, 2), torch.zeros(4), torch.ones(2, 4), torch.ones(2))
for n in (1, 2, 4):
    print(n, "ranks:", run_ranks(broken_mlp, n, *given).values[0].tolist())

# %% [markdown]
r"""
**Goal.** Find out why the output grows with the number of ranks, and write it right.

**Given.** On every rank `x`: [tokens, h], `up`: [f, h], `up_bias`: [f], `down`: [h, f], `down_bias`: [h]. n divides f. `x` and `down_bias` are the same on all ranks. Of the other three, rank r has loaded only its own hidden columns, the r-th of n equal parts: all other numbers in them are NaN.

**Required.** Every rank returns `F.linear(relu(F.linear(x, up, up_bias)), down, down_bias)`, of the whole weights, and computes only its f/n hidden columns. No more bytes over the links than one all-reduce of the output.

**Example.** On the tensors above, both numbers are 9 for any number of ranks.
"""


# %% split_mlp tags=["exercise"]
def split_mlp(x, up, up_bias, down, down_bias):
    """The MLP's output; each rank computes its share of the hidden columns."""
    ### BEGIN SOLUTION
    rank, n = dist.get_rank(), dist.get_world_size()
    hidden = torch.relu(F.linear(x, up.chunk(n)[rank], up_bias.chunk(n)[rank]))
    y = F.linear(hidden, down.chunk(n, dim=1)[rank])
    dist.all_reduce(y)
    return y + down_bias
    ### END SOLUTION


# %% tags=["check"]
check("split_mlp", split_mlp)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Each rank adds something, and then all ranks' arrays are added up. What is in the sum more than once?
</details>
<details><summary>Hint 2</summary>
The first bias belongs to hidden columns, which one rank has. The second belongs to the output, which all have.
</details>
<details><summary>Hint 3</summary>
Call <code>F.linear(hidden, part)</code> without a bias, all-reduce, then add <code>down_bias</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - Forward and backward (4 points)

**Goal.** Build f and g, and with them gradients that equal those of one process.

**Given.** On each rank the whole `x`: [tokens, h], its own parts `up`: [f/n, h] and `down`: [h, f/n], and `dy`: [tokens, h], the gradient of the loss with respect to the whole output; `dy` is the same on all ranks. There are no biases.

**Required.** Return `y, dx, d_up, d_down`: the whole output; the gradient of `x`, the same on all ranks; the gradients of this rank's own parts. Use at most two all-reduces of tokens x h numbers. Do not change the arguments' values.

**Example.** Two ranks, `x` = 1, both `up` = 1, `down` = 1 on rank 0 and 2 on rank 1, `dy` = 1: then `y` is 3 and `dx` is 3 on both. `d_up` is 1 on rank 0 and 2 on rank 1, `d_down` is 1 on both.
"""


# %% split_gradients tags=["exercise"]
def split_gradients(x, up, down, dy):
    """y, and the gradients of x, up and down."""

    ### BEGIN SOLUTION
    class Copied(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, gradient):
            gradient = gradient.clone()
            dist.all_reduce(gradient)
            return gradient

    class Summed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x = x.clone()
            dist.all_reduce(x)
            return x

        @staticmethod
        def backward(ctx, gradient):
            return gradient

    for tensor in (x, up, down):
        tensor.requires_grad_()
    y = Summed.apply(F.linear(torch.relu(F.linear(Copied.apply(x), up)), down))
    y.backward(dy)
    return y, x.grad, up.grad, down.grad
    ### END SOLUTION


# %% tags=["check"]
check("split_gradients", split_gradients)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Which arrays does each rank have only a share of: in the forward pass, and in the backward pass?
</details>
<details><summary>Hint 2</summary>
Write two classes as in the lesson: one goes between x and the first product, one after the second product. Then <code>x.requires_grad_()</code> and so on, and <code>y.backward(dy)</code>.
</details>
<details><summary>Hint 3</summary>
f: forward returns <code>x.view_as(x)</code>, backward returns the all-reduced clone of the gradient. g: forward returns the all-reduced clone, backward the gradient as it is.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - Two masks, two seeds (2 points)

**Goal.** Put dropout into a split MLP: where must ranks drop the same numbers, and where not?

**Given.** `x`, `up` and `down` as in exercise 3, and a whole number `seed`, the same on all ranks. The mask with seed k of an array is

    torch.from_numpy(2.0 * (np.random.default_rng(k).random(tuple(array.shape)) >= 0.5))

**Required.** Multiply this rank's hidden columns, after relu, with a mask, and the whole output with another. The seeds to use are `seed` and `seed + 1 + rank`: choose which goes where. Forward only, one all-reduce.

**Example.** The outputs of all ranks are equal, and no two ranks have the same mask for their hidden columns.
"""


# %% dropped_twice tags=["exercise"]
def dropped_twice(x, up, down, seed):
    """The output of a split MLP with dropout inside and outside."""
    ### BEGIN SOLUTION

    def masked(array, seed):
        keep = np.random.default_rng(seed).random(tuple(array.shape)) >= 0.5
        return array * torch.from_numpy(2.0 * keep)

    hidden = masked(torch.relu(F.linear(x, up)), seed + 1 + dist.get_rank())
    y = F.linear(hidden, down)
    dist.all_reduce(y)
    return masked(y, seed)
    ### END SOLUTION


# %% tags=["check"]
check("dropped_twice", dropped_twice)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Which of the two arrays do all ranks have in the same way?
</details>
<details><summary>Hint 2</summary>
An array that all have must stay the same on all. Columns that only one rank has would otherwise be dropped in a pattern that repeats.
</details>
<details><summary>Hint 3</summary>
The hidden columns get <code>seed + 1 + rank</code>, the sum gets <code>seed</code>, after the all-reduce.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - A loss that never meets its words (3 points, stretch)

**Goal.** The last layer gives a number for each word of the vocabulary, the *logits*. Cut by columns, each rank has those of its own words. Compute the loss without bringing them together.

**Given.** `logits`: [tokens, words/n], float64, of this rank's words: rank r has words r w to (r + 1) w - 1, for w of them a rank. `targets`: [tokens], whole numbers, the right words among all; the same on all ranks.

**Required.** Every rank returns, for each token, log(sum of exp(logits)) minus the target's logit. The sum runs over all words of all ranks. Logits may be as large as 2,000, whose exponential is no number any more.

Three versions for comparison, in numbers a token: gathering all logits takes all words, 128,256 for a Llama 3 [1]; gathering each rank's largest, sum and target takes 3 n; the best takes three numbers, whatever n is. The last is required: no more bytes than three all-reduces of one number a token.

**Example.** Two ranks with one word each, logits 0 and 0, target 1: both return log 2.

[1] Meta, Llama 3, `tokenizer.py`, 2024: 128,000 tokens and 256 special ones.
"""


# %% split_loss tags=["exercise"]
def split_loss(logits, targets):
    """Cross-entropy by token; each rank has the logits of its own words."""
    ### BEGIN SOLUTION
    words = logits.shape[1]
    top = logits.amax(dim=1)
    dist.all_reduce(top, op=dist.ReduceOp.MAX)
    total = torch.exp(logits - top[:, None]).sum(dim=1)
    place = targets - dist.get_rank() * words
    own = (place >= 0) & (place < words)
    target = logits.gather(1, place.clamp(0, words - 1)[:, None])[:, 0]
    both = torch.stack([total, torch.where(own, target, 0.0)])
    dist.all_reduce(both)
    return torch.log(both[0]) + top - both[1]
    ### END SOLUTION


# %% tags=["check"]
check("split_loss", split_loss)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Three numbers a token need the other ranks. For each: is it a sum or a maximum?
</details>
<details><summary>Hint 2</summary>
First the largest logit of all ranks, with <code>op=dist.ReduceOp.MAX</code>. Subtract it, take exponentials, and all-reduce their sum. The target's logit is known to one rank; let all others hand in 0.
</details>
<details><summary>Hint 3</summary>
<code>place = targets - rank * words</code> is the column, if it is from 0 to words - 1. Clamp it, gather, and put 0 with <code>torch.where</code> where it is not. Result: <code>log(total) + top - target</code>.
</details>
"""
