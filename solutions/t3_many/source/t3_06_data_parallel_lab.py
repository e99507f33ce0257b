# %% [markdown]
r"""
# Lab: data parallelism

Six exercises on training one model on several ranks, with what you saw in the lesson `t3_06_data_parallel`. They take about 60 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

The checks run the functions of exercises 3 and 4 on two to four processes. Calls are *counted*, bytes over links and times are *modelled*.

Run this cell first.
"""

# %%
import torch
import torch.distributed as dist

from warpwise import check, run_ranks

# %% [markdown]
r"""
## Exercise 1 - The bill, before you run it (1 point)

**Goal.** Say how many bytes a rank has to send in one step.

**Given.** `parameters`: how many numbers the gradients have. `itemsize`: the bytes of each. `ranks`: how many ranks, 1 or more. `micro_batches`: how many micro-batches a step has. `no_sync`: whether all but the last of them run under `no_sync()`.

**Required.** Return the bytes that a rank sends over its links at least, with the factor (n - 1)/n, for all micro-batches of the step. Without `no_sync` all gradients are all-reduced after each micro-batch.

**Example.** 1,000 parameters of 4 bytes, 4 ranks, 4 micro-batches: 24,000.0 bytes without `no_sync`, 6,000.0 with it.
"""


# %% step_bytes tags=["exercise"]
def step_bytes(parameters, itemsize, ranks, micro_batches, no_sync):
    """Bytes that a rank sends in one step."""
    ### BEGIN SOLUTION
    calls = 1 if no_sync else micro_batches
    return calls * 2 * (ranks - 1) / ranks * parameters * itemsize
    ### END SOLUTION


# %% tags=["check"]
check("step_bytes", step_bytes)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
How many all-reduces are there, and what does one cost a rank?
</details>
<details><summary>Hint 2</summary>
Section 3 of the lesson has the formula. How often it is paid depends on <code>no_sync</code>.
</details>
<details><summary>Hint 3</summary>
2 (n - 1)/n times <code>parameters * itemsize</code>, times <code>micro_batches</code> without <code>no_sync</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - Fill the buckets (2 points)

**Goal.** Put the parameters of a model into buckets, by the rules of section 5.

**Given.** `parameters`: a list of pairs (name, bytes) in the order of the model. A tied parameter is in the list several times, with the same name; its gradient comes once. `cap`: bytes.

**Required.** Return a list of buckets, each a list of names, in the order in which their gradients come. A tied parameter stands in one bucket only, where its gradient comes. A bucket with `cap` bytes or more is closed. No bucket is empty; without parameters there is none.

**Example.** For (a, 8), (b, 4), (c, 4), (d, 2), (e, 8), (f, 1) and a cap of 8: [["f", "e"], ["d", "c", "b"], ["a"]].
"""


# %% bucket_plan tags=["exercise"]
def bucket_plan(parameters, cap):
    """The names in each bucket, in the order in which the gradients come."""
    ### BEGIN SOLUTION
    first = {}
    for name, nbytes in parameters:
        first.setdefault(name, nbytes)
    buckets, size = [], 0
    for name in reversed(list(first)):
        if not buckets or size >= cap:
            buckets.append([])
            size = 0
        buckets[-1].append(name)
        size += first[name]
    return buckets
    ### END SOLUTION


# %% tags=["check"]
check("bucket_plan", bucket_plan)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Which gradient comes first, and which last? When does a tied one come?
</details>
<details><summary>Hint 2</summary>
Keep each name at its first place, then reverse the list. When do you open a new bucket: before or after you put a parameter in?
</details>
<details><summary>Hint 3</summary>
A dictionary keeps the order in which names are first put in. Go through <code>reversed(list(first))</code>; if there is no bucket yet, or <code>size >= cap</code>, append an empty one and set <code>size = 0</code>; then append the name.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - The gradient of the whole batch (3 points)

**Goal.** Give all ranks the gradient of one process, also where ranks have different numbers of rows and did not use all parameters.

**Given.** `weights`: a list of float64 tensors, of the same shapes on all ranks. `gradients`: a list as long; `gradients[k]` is the gradient of this rank's loss for `weights[k]`, or `None` if this rank did not use that weight.
`rows`: how many rows this rank had. Its loss is the *mean* over these. A rank may have 0 rows, and then all its gradients are `None`. All together have at least one row.

**Required.** Return, on every rank, the list of the gradients of the mean over *all* rows of all ranks, each in the shape of its weight; zeros for a weight that no rank used.
Call one collective only, and once. No more may travel than all gradients and one number.

**Example.** Rank 0 has 3 rows and the gradient [4.0]; rank 1 has 1 row and did not use the weight. Both return [3.0], three quarters of 4.
"""


# %% whole_gradients tags=["exercise"]
def whole_gradients(weights, gradients, rows):
    """The gradients of the mean over the rows of all ranks."""
    ### BEGIN SOLUTION
    parts = [
        (torch.zeros_like(w) if g is None else g * rows).flatten()
        for w, g in zip(weights, gradients, strict=True)
    ]
    flat = torch.cat([*parts, torch.tensor([rows], dtype=torch.float64)])
    dist.all_reduce(flat)
    flat = flat[:-1] / flat[-1]
    pieces = flat.split([w.numel() for w in weights])
    return [piece.view_as(w) for piece, w in zip(pieces, weights, strict=True)]
    ### END SOLUTION


# %% tags=["check"]
check("whole_gradients", whole_gradients)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
What must be added up, so that 3 rows count three times as much as 1? And what do you divide by?
</details>
<details><summary>Hint 2</summary>
Each rank contributes <code>rows</code> times its gradient, and zeros where it has none. <code>rows</code> can travel in the same call, as one number more.
</details>
<details><summary>Hint 3</summary>
<code>torch.cat</code> of all flattened parts and <code>torch.tensor([rows], dtype=torch.float64)</code>; all-reduce; divide all but the last number by the last; <code>split</code> by <code>w.numel()</code>, and <code>view_as(w)</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - Mend the training (3 points)

The function below trains a vector `w` so that `x @ w` comes close to `y`. Each step adds up the gradients of several micro-batches. On two ranks it ends with this:
"""


# %%
def broken_training(w, x, y, lr, steps):
    for _ in range(steps):
        gradient = torch.zeros_like(w)
        for k in range(len(x)):
            error = x[k] @ w - y[k]
            gradient += 2 * x[k].t() @ error / len(error)
            dist.all_reduce(gradient)
        w -= lr * gradient / (dist.get_world_size() * len(x))
    return w


def show_broken():
    torch.manual_seed(dist.get_rank())
    w, x, y = torch.randn(2), torch.randn(3, 4, 2), torch.randn(3, 4)
    return broken_training(w, x, y, lr=0.05, steps=5)


outcome = run_ranks(show_broken, 2)
for rank, w in enumerate(outcome.values):
    print(f"rank {rank}: w = {w[0].item():.3f}, {w[1].item():.3f}")
print("calls:", outcome.ledger.of("all_reduce").calls[0], "all-reduces in 5 steps")

# %% [markdown]
r"""
Two things are wrong with the values, and one of them costs bytes as well.

**Goal.** Mend it.

**Given.** `w`: a float64 tensor of the shape (d,), *other* start weights on each rank. `x`: (m, r, d) and `y`: (m, r), this rank's m micro-batches of r rows; m and r are the same on all ranks. `lr`, `steps`: how far and how often.

**Required.** Return the weights that one process would have: it starts from rank 0's `w`, and in each step uses the mean of the gradients of all micro-batches of all ranks.
Call one collective before the first step, and one in each step; what travels is as long as `w`.

**Example.** One step with `lr` 0.1 and one micro-batch of one row, x = 1: rank 0 has w = 1 and y = 0, rank 1 has w = 5 and y = 1. The gradients at w = 1 are 2 and 0, their mean is 1. Both return 0.9.
"""


# %% trained tags=["exercise"]
def trained(w, x, y, lr, steps):
    """The weights after so many steps, as in one process."""
    ### BEGIN SOLUTION
    dist.broadcast(w, src=0)
    for _ in range(steps):
        gradient = torch.zeros_like(w)
        for k in range(len(x)):
            error = x[k] @ w - y[k]
            gradient += 2 * x[k].t() @ error / len(error)
        dist.all_reduce(gradient)
        w -= lr * gradient / (dist.get_world_size() * len(x))
    return w
    ### END SOLUTION


# %% tags=["check"]
check("trained", trained)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Why do the two ranks end with different weights? And what does <code>gradient</code> hold when the second micro-batch begins?
</details>
<details><summary>Hint 2</summary>
Sections 2 and 3 of the lesson: the same start, and one all-reduce after the last micro-batch.
</details>
<details><summary>Hint 3</summary>
<code>dist.broadcast(w, src=0)</code> as the first line, and the all-reduce four spaces further to the left.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - What is exposed (2 points)

**Goal.** Compute how much of the communication remains visible.

**Given.** `backward`: for each layer, first to last, the time of its backward pass in ms. `nbytes`: the bytes of each layer's gradients. `plan`: the buckets in the order in which they are sent, each a list of layers. `latency` and `per_byte`: an all-reduce of s bytes takes `latency + per_byte * s` ms.

The backward pass begins at time 0 with the last layer, and runs without a break. A layer's gradient is there when its backward pass is over. The network carries one bucket at a time, in the order of `plan`. It starts one when all its gradients are there and the bucket before is done.

**Required.** Return the time in ms from the end of the backward pass to the end of the last bucket.

**Example.** Three layers of 2.0 ms and 10 bytes, the plan [[2], [1], [0]], latency 0.5 ms and 0.05 ms a byte: each call takes 1 ms, all but the last are hidden, and 1.0 ms is exposed.
"""


# %% exposed_time tags=["exercise"]
def exposed_time(backward, nbytes, plan, latency, per_byte):
    """Milliseconds of communication after the end of the backward pass."""
    ### BEGIN SOLUTION
    free = 0.0
    for bucket in plan:
        full = max(sum(backward[layer:]) for layer in bucket)
        free = max(free, full) + latency + per_byte * sum(nbytes[layer] for layer in bucket)
    return free - sum(backward)
    ### END SOLUTION


# %% tags=["check"]
check("exposed_time", exposed_time)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Draw the picture of section 6 for the example, with a row for computing and one for the network.
</details>
<details><summary>Hint 2</summary>
When is layer i's gradient there? Its own backward pass and those of all layers behind it are over. And which two things does a bucket wait for?
</details>
<details><summary>Hint 3</summary>
Keep one clock <code>free</code> for the network. For each bucket: <code>free = max(free, full) + latency + per_byte * size</code>, where <code>full</code> is the largest <code>sum(backward[layer:])</code> of its layers. At the end subtract <code>sum(backward)</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - The best buckets (3 points, stretch)

**Goal.** Find the buckets that leave the least exposed.

**Given.** `backward`, `nbytes`, `latency`, `per_byte` as in exercise 5, with up to 13 layers.

**Required.** Return a plan: a list of buckets, each a list of layers, from the last layer down to layer 0, each layer once. No other plan of this kind may have less exposed time.

Four plans are easy. For 9 layers of 0.5 ms and 5 bytes, with latency 0.3 ms and 0.07 ms a byte, they leave

| plan | exposed, ms |
|---|---|
| all in one bucket | 3.45 |
| each layer alone | 1.85 |
| whenever the network is free, it takes all that is there | 1.25 |
| the same number of layers in each, the best one | 1.15 |
| **the best plan** | **1.00** |

Only the last is enough. Where layers differ, the gain is larger.

**Example.** Four layers of 1.0 ms and 10 bytes, latency 1.0 ms and 0.1 ms a byte: [[3, 2, 1, 0]] leaves 5.0 ms, as does each layer alone. [[3, 2], [1, 0]] leaves 4.0, and no plan less: it is right, and so is any other with 4.0.
"""


# %% best_buckets tags=["exercise"]
def best_buckets(backward, nbytes, latency, per_byte):
    """The plan with the least exposed time."""
    ### BEGIN SOLUTION
    n = len(backward)
    best = [(0.0, [])]  # for the last k layers: the end of their last bucket, and the plan
    for k in range(1, n + 1):
        ready = sum(backward[n - k :])
        options = []
        for length in range(1, k + 1):
            bucket = list(range(n - k, n - k + length))[::-1]
            end, plan = best[k - length]
            cost = latency + per_byte * sum(nbytes[layer] for layer in bucket)
            options.append((max(end, ready) + cost, [*plan, bucket]))
        best.append(min(options))
    return best[n][1]
    ### END SOLUTION


# %% tags=["check"]
check("best_buckets", best_buckets)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Between two neighbouring layers you either cut or you don't. How many plans are there for 13 layers? A computer can try that many.
</details>
<details><summary>Hint 2</summary>
There are 4,096. Or build it up: if you know the earliest end for the last k - 1, k - 2, ... layers, which choices are left for the last k?
</details>
<details><summary>Hint 3</summary>
For each way to cut make the plan and its <code>exposed_time</code>, and keep the best. <code>itertools.product([False, True], repeat=n - 1)</code> gives all ways.
</details>
"""
