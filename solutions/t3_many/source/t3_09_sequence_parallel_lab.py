# %% [markdown]
r"""
# Lab: sequence parallelism, activation memory, checkpointing

Six exercises on what a step of training keeps and how to keep less, with what you saw in the lesson `t3_09_sequence_parallel`. They take about 45 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

Exercises 3 and 4 run on two or three processes, with float64 tensors. There, calls and what stays in memory are *counted*; bytes over links are *modelled* from the calls: (n - 1)/n of the whole array for an all-gather or a reduce-scatter.

Run this cell first.
"""

# %%
import torch
import torch.distributed as dist
import torch.nn.functional as F

from warpwise import check

# %% [markdown]
r"""
## Exercise 1 - The bill of memory (1 point)

**Goal.** Say how many bytes a GPT layer keeps on a rank for its backward pass.

**Given.** `s` tokens in each of `b` sequences, width `h`, `a` heads, `t` ranks of tensor parallelism; whether there is sequence parallelism; and `recompute`: `"none"`, `"selective"` or `"full"`. Numbers have 16 bits, dropout masks one byte a number. With sequence parallelism gathered inputs are not kept, but gathered again. Leave out the norms' statistics.

**Required.** The bytes of one layer on one rank.

**Example.** `layer_keeps(2048, 1, 12288, 96, 8, True, "selective")` is 4.25 x 2048 x 12288 = 106,954,752.
"""


# %% layer_keeps tags=["exercise"]
def layer_keeps(s, b, h, a, t, sequence_parallel, recompute):
    """Bytes that one layer keeps on one rank."""
    ### BEGIN SOLUTION
    outside = 1 / t if sequence_parallel else 1
    if recompute == "full":
        return 2 * s * b * h * outside
    scores = 5 * a * s / h if recompute == "none" else 0
    return s * b * h * (10 * outside + (24 + scores) / t)
    ### END SOLUTION


# %% tags=["check"]
check("layer_keeps", layer_keeps)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Sort the 34 + 5 a s / h units into what tensor parallelism divides, what only sequence parallelism divides, and what recomputation drops.
</details>
<details><summary>Hint 2</summary>
24 and the scores are divided by t. 10 are divided only with sequence parallelism. Selective drops the scores alone. Full leaves the input of the layer, which stands outside the blocks.
</details>
<details><summary>Hint 3</summary>
<code>outside = 1 / t if sequence_parallel else 1</code>; full: <code>2 * s * b * h * outside</code>; else <code>s * b * h * (10 * outside + (24 + scores) / t)</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - A counter (2 points)

**Goal.** Count the bytes that autograd keeps, for any forward pass.

**Given.** `run`, a function without arguments that runs a forward pass; `weights`, a list of the tensors that are there anyway.

**Required.** The bytes that autograd keeps alive because of this pass, as an int. A storage counts once, however many saved tensors lie in it, and with all its bytes, also if only some of its rows are saved. The storages of `weights` do not count, in whatever shape they are saved.

**Example.** For `run = lambda: torch.exp(x)`, with `x` of 3 float32 numbers that needs a gradient and no weights, it is 12.
"""


# %% saved_bytes tags=["exercise"]
def saved_bytes(run, weights):
    """Bytes that autograd keeps from run(), without weights."""
    ### BEGIN SOLUTION
    there = {weight.untyped_storage().data_ptr() for weight in weights}
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in there:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        run()
    return sum(kept.values())
    ### END SOLUTION


# %% tags=["check"]
check("saved_bytes", saved_bytes)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Write down for each saved tensor which storage it lies in, and only then add up.
</details>
<details><summary>Hint 2</summary>
A dictionary from <code>tensor.untyped_storage().data_ptr()</code> to <code>tensor.untyped_storage().nbytes()</code> counts each storage once. A transposed weight lies in the weight's storage.
</details>
<details><summary>Hint 3</summary>
In <code>pack</code>: take the storage, leave it out if its <code>data_ptr()</code> is one of the weights' storages', else <code>kept[data_ptr] = nbytes</code>; return the tensor. Run within <code>torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)</code>, and return <code>sum(kept.values())</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - Own tokens outside, all tokens inside (3 points)

**Goal.** Build an MLP with its norm in sequence parallelism, with gradients as in one process.

**Given.** On rank r of n: its own tokens `x`: [tokens/n, h], the r-th part; its own parts `up`: [f/n, h] and `down`: [h, f/n]; and, the same on all ranks, the weight `norm`: [h] and the bias `bias`: [h] of the second layer. All need gradients.

**Required.** Return this rank's own tokens of

    F.linear(relu(F.linear(F.layer_norm(x, (h,), norm), up)), down, bias)

of the whole arrays. The check then calls `backward` on it and looks at all five gradients. Those of `norm` and `bias` are over all tokens, on each rank. In both directions together send no more bytes than two all-gathers and two reduce-scatters of tokens x h numbers, and one all-reduce of 2 h numbers. Do not call backward yourself.

**Example.** Two ranks, one token each, [1, -1] and [1, -1], `norm` 1, both `up` [[1, 0]], both `down` [[1], [1]], `bias` [5, 5]: both return about [[7, 7]].
"""


# %% sequence_mlp tags=["exercise"]
def sequence_mlp(x, norm, up, down, bias):
    """This rank's tokens of the output, ready for backward."""
    ### BEGIN SOLUTION
    n = dist.get_world_size()

    def gathered(x):
        parts = [torch.empty_like(x) for _ in range(n)]
        dist.all_gather(parts, x.contiguous())
        return torch.cat(parts)

    def scattered(x):
        parts = list(x.contiguous().chunk(n))
        piece = torch.empty_like(parts[0])
        dist.reduce_scatter(piece, parts)
        return piece

    class Gather(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return gathered(x)

        @staticmethod
        def backward(ctx, gradient):
            return scattered(gradient)

    class Scatter(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return scattered(x)

        @staticmethod
        def backward(ctx, gradient):
            return gathered(gradient)

    class Copy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, weight):
            return weight.view_as(weight)

        @staticmethod
        def backward(ctx, gradient):
            gradient = gradient.clone()
            dist.all_reduce(gradient)
            return gradient

    y = F.layer_norm(x, x.shape[1:], Copy.apply(norm))
    y = F.linear(torch.relu(F.linear(Gather.apply(y), up)), down)
    return Scatter.apply(y) + Copy.apply(bias)
    ### END SOLUTION


# %% tags=["check"]
check("sequence_mlp", sequence_mlp)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Three operators: one before the first product, one after the second, and one for what all ranks have. What does each do in each direction?
</details>
<details><summary>Hint 2</summary>
All-gather forward and reduce-scatter backward; the reverse; and nothing forward, all-reduce backward. The bias is added where each token is on one rank only, once.
</details>
<details><summary>Hint 3</summary>
<code>y = F.layer_norm(x, x.shape[1:], Copy.apply(norm))</code>, then <code>F.linear(torch.relu(F.linear(Gather.apply(y), up)), down)</code>, then <code>Scatter.apply(y) + Copy.apply(bias)</code>. <code>dist.all_gather(list_of_n, x)</code>, <code>dist.reduce_scatter(piece, list_of_n)</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - Keep your part, gather again (2 points)

In the lesson `checkpoint` gathered the input of a product again. Megatron-LM has an operator of its own for it.

**Goal.** Write the all-gather and the product behind it as one operator that keeps only its own tokens.

**Given.** On each rank its own tokens `x`: [tokens/n, h], and its own part `weight`: [f/n, h].

**Required.** Return `F.linear(all tokens, weight)`: [tokens, f/n], ready for backward. The gradient of `x` is that of own tokens, of all ranks' losses together. Beside the output no more may stay in memory after the forward pass than one array as large as `x`. Do it without `torch.utils.checkpoint`. No more bytes over the links than two all-gathers and one reduce-scatter of tokens x h numbers.

**Example.** Two ranks with the tokens [[1]] and [[2]], weights [[10]] and [[20]]: they return [[10], [20]] and [[20], [40]].
"""


# %% gathered_linear tags=["exercise"]
def gathered_linear(x, weight):
    """F.linear of all ranks' tokens and this rank's weight; keeps own tokens only."""
    ### BEGIN SOLUTION
    n = dist.get_world_size()

    def gathered(x):
        parts = [torch.empty_like(x) for _ in range(n)]
        dist.all_gather(parts, x.contiguous())
        return torch.cat(parts)

    class GatheredLinear(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.save_for_backward(x, weight)
            return F.linear(gathered(x), weight)

        @staticmethod
        def backward(ctx, gradient):
            x, weight = ctx.saved_tensors
            shares = list((gradient @ weight).chunk(n))
            dx = torch.empty_like(x)
            dist.reduce_scatter(dx, shares)
            return dx, gradient.T @ gathered(x)

    return GatheredLinear.apply(x, weight)
    ### END SOLUTION


# %% tags=["check"]
check("gathered_linear", gathered_linear)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Which arrays does the backward pass of a linear layer need? Which of them does the rank have anyway?
</details>
<details><summary>Hint 2</summary>
Write one <code>torch.autograd.Function</code> with two inputs. It saves <code>x</code> and <code>weight</code> as they came. For y = x W^T the gradients are dx = dy W and dW = dy^T x, here with all tokens.
</details>
<details><summary>Hint 3</summary>
Backward: <code>gradient @ weight</code>, cut into n parts and reduce-scattered, is dx; gather x again, and <code>gradient.T @ gathered</code> is the weight's gradient. Return both, in this order.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - Checkpointing by hand (2 points)

**Goal.** Write what `torch.utils.checkpoint` does, without it.

**Given.** `fn`, a function from a tensor to a tensor. It uses weights that need gradients, and it may draw random numbers from PyTorch's generator. `x`, a tensor that needs a gradient.

**Required.** Return `fn(x)`, ready for backward. `fn` is called once forward and once in the backward pass. After the forward pass only `x`, the output and a state of the generator may be left. Gradients of `x` *and of the weights of* `fn` are as without you. Random numbers that are drawn after the backward pass are as without you, too: `torch.get_rng_state()` and `torch.set_rng_state(state)`.

**Example.** `recomputed(torch.sin, x)` has the gradient cos(x).
"""


# %% recomputed tags=["exercise"]
def recomputed(fn, x):
    """fn(x), which keeps only x and computes the rest again."""

    ### BEGIN SOLUTION
    class Again(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.state = torch.get_rng_state()
            return fn(x)

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            now = torch.get_rng_state()
            torch.set_rng_state(ctx.state)
            x = x.detach().requires_grad_()
            with torch.enable_grad():
                y = fn(x)
            torch.set_rng_state(now)
            y.backward(gradient)
            return x.grad

    return Again.apply(x)
    ### END SOLUTION


# %% tags=["check"]
check("recomputed", recomputed)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Within <code>forward</code> of a <code>torch.autograd.Function</code> nothing is saved unless you save it. In its <code>backward</code> you may run <code>fn</code> with autograd, and go backward through that.
</details>
<details><summary>Hint 2</summary>
In backward: take a detached copy of x that needs a gradient, run <code>fn</code> on it within <code>torch.enable_grad()</code>, and call <code>backward</code> on the result. That puts the weights' gradients where they belong.
</details>
<details><summary>Hint 3</summary>
Forward: save x, keep <code>ctx.state = torch.get_rng_state()</code>, return <code>fn(x)</code>. Backward: note the state of now, set <code>ctx.state</code>, run, set the state of now again, <code>y.backward(gradient)</code>, return <code>x.grad</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - The least to compute again (2 points, stretch)

**Goal.** A layer has several parts, each with what it keeps and what it costs to run again. Choose which to recompute, so that the rest fits.

**Given.** `parts`: a list of `(kept, operations)`, whole numbers: what part i keeps in memory if it is not recomputed, and the operations that recomputing it costs. `budget`: the most that may be kept. There are at most 12 parts.

**Required.** The numbers of the parts to recompute, as a list in ascending order, such that what the others keep is at most `budget`, which is not negative, and the operations are as few as possible. Where several choices are as good, any of them.

Three ways, on parts (7, 6), (5, 5), (5, 5), (1, 4) with a budget of 8: who takes first what keeps most takes (7, 6) and (5, 5), 11 operations; who takes first what keeps most for each operation takes the same; trying all choices finds (5, 5) and (5, 5), 10 operations.

**Example.** `least_recompute([(80, 4), (34, 96)], 40)` is `[0]`: it is what selective recomputation does.
"""


# %% least_recompute tags=["exercise"]
def least_recompute(parts, budget):
    """Which parts to run again so that the rest fits into the budget, with fewest operations."""
    ### BEGIN SOLUTION
    best = sum(cost for _, cost in parts), list(range(len(parts)))
    for choice in range(2 ** len(parts)):
        again = [k for k in range(len(parts)) if choice >> k & 1]
        kept = sum(kept for kept, _ in parts) - sum(parts[k][0] for k in again)
        cost = sum(parts[k][1] for k in again)
        if kept <= budget and cost < best[0]:
            best = cost, again
    return best[1]
    ### END SOLUTION


# %% tags=["check"]
check("least_recompute", least_recompute)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
There is no order of the parts in which taking one after the other is always best. How many choices are there in all?
</details>
<details><summary>Hint 2</summary>
Each part is recomputed or not: 2 to the power of their number, at most 4,096 choices. Try all.
</details>
<details><summary>Hint 3</summary>
<code>for choice in range(2 ** len(parts))</code>: part k is recomputed if <code>choice >> k & 1</code>. Keep the cheapest choice that fits; start with all parts.
</details>
"""
