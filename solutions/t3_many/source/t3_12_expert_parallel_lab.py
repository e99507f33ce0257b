# %% [markdown]
r"""
# Lab: expert parallelism

Six exercises on tokens that travel to experts and back, with what you saw in the lesson `t3_12_expert_parallel`. They take about 60 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

The checks run your functions on two to four processes, with float64 tensors. Bytes are *counted* from the splits of your calls, times are *modelled*.

In all exercises n ranks have e experts each: rank r has the experts e r to e r + e - 1, in order.

Run this cell first.
"""

# %%
import math

import torch
import torch.distributed as dist

from warpwise import check, run_ranks

# %% [markdown]
r"""
## Exercise 1 - Who gets a place? (1 point)

**Goal.** Find out which choices an expert serves, and which are dropped.

**Given.** `choices`: a list with a row for each token, in the order of the tokens; a row is the list of the token's k experts, the best one first. `experts`: how many there are. `factor`: the capacity factor.

**Required.** Two values: the capacity, so factor times tokens times k, divided by experts, rounded up; and a list of the same shape as `choices`, with `True` where a choice keeps its place and `False` where it is dropped.
Places are given in this order: first the first choices of all tokens, in the order of the tokens, then all second choices, and so on. Plain Python: no processes are needed. There may be no token at all.

**Example.** `kept_choices([[0], [0], [1], [0]], 2, 1.0)` is `(2, [[True], [True], [True], [False]])`.
"""


# %% kept_choices tags=["exercise"]
def kept_choices(choices, experts, factor):
    """The capacity, and for each choice whether it is kept."""
    ### BEGIN SOLUTION
    k = len(choices[0]) if choices else 0
    capacity = math.ceil(factor * len(choices) * k / experts)
    taken = [0] * experts
    kept = [[False] * k for _ in choices]
    for j in range(k):
        for token, row in enumerate(choices):
            kept[token][j] = taken[row[j]] < capacity
            taken[row[j]] += 1
    return capacity, kept
    ### END SOLUTION


# %% tags=["check"]
check("kept_choices", kept_choices)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
How many choices are there in all, and which of them comes first?
</details>
<details><summary>Hint 2</summary>
Count for each expert how many places are taken. The outer loop goes over first, second, ... choices, the inner one over tokens.
</details>
<details><summary>Hint 3</summary>
<code>math.ceil(factor * len(choices) * k / experts)</code>, and <code>kept[token][j] = taken[row[j]] &lt; capacity</code>, then one more is taken.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - There and back (3 points)

In the lesson each rank had one expert. Here it may have several, and some tokens are dropped.

**Goal.** Send each token to its expert, and bring the result back to its place.

**Given.** On each rank `x`: [tokens, h], its own tokens, maybe none; `expert`: [tokens], whole numbers, the expert of each token among all, or -1 for a dropped one; `weights`: [e, h, h], those of its own experts. Ranks have different numbers of tokens.

**Required.** Return y: [tokens, h], with `x[t] @ w` for the weights w of token t's expert, and zeros for dropped tokens.
Each row travels at most once there and once back, and only if its expert is on another rank. Beside that, a rank may send one number for each expert of the others, and one number beside each row.

**Example.** Two ranks with one expert each, of weights 1 and 10 (h = 1). Rank 0 has the tokens 2, 3, 4 with the experts 1, 0, -1, rank 1 has the token 5 with expert 0. Rank 0 returns 20, 3, 0, rank 1 returns 5.
"""


# %% round_trip tags=["exercise"]
def round_trip(x, expert, weights):
    """Each row of x through its expert's weights, in the order of x."""
    ### BEGIN SOLUTION
    n, e = dist.get_world_size(), len(weights)
    kept = torch.nonzero(expert >= 0)[:, 0]
    kept = kept[torch.argsort(expert[kept], stable=True)]
    gives = torch.bincount(expert[kept], minlength=n * e).view(n, e)
    takes = torch.empty_like(gives)
    dist.all_to_all_single(takes, gives)
    out, back = gives.sum(1).tolist(), takes.sum(1).tolist()

    rows = x.new_empty(sum(back), x.shape[1])
    dist.all_to_all_single(rows, x[kept], back, out)
    # Rows stand by source, and by expert within a source.
    which = torch.arange(e).repeat(n).repeat_interleave(takes.flatten())
    done = torch.empty_like(rows)
    for k in range(e):
        done[which == k] = rows[which == k] @ weights[k]

    came = x.new_empty(len(kept), x.shape[1])
    dist.all_to_all_single(came, done, out, back)
    y = torch.zeros_like(x)
    y[kept] = came
    return y
    ### END SOLUTION


# %% tags=["check"]
check("round_trip", round_trip)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
In which order must rows stand before an all-to-all cuts them? And what must a rank know before it can receive?
</details>
<details><summary>Hint 2</summary>
Sort the kept tokens by expert. Exchange counts by expert, an array [n, e], with one all-to-all: then each rank knows from whom how many rows come, and for which of its experts. Rows arrive by source, and within a source by expert.
</details>
<details><summary>Hint 3</summary>
<code>gives = torch.bincount(expert[kept], minlength=n * e).view(n, e)</code>; its sums over dimension 1 are the splits that go out, those of what was received are the splits that come in. On the way back they change places. At the end <code>y[kept] = came</code>, with <code>kept</code> in sorted order.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - Forward and backward (3 points)

**Goal.** Build the whole layer, with a router and two experts a token, so that gradients equal those of one process.

**Given.** On each rank `x`: [tokens, h], its own tokens, maybe none; `router`: [n e, h], the same on all ranks; `dy`: [tokens, h], the gradient of the loss with respect to the output of its own tokens; `weights`: [e, h, h] of its own experts. The loss is a *sum* over the tokens of all ranks.

Logits are `x @ router.T`. Each token goes to the two experts with the largest logits. Its gates are the softmax of *those two logits alone*. Its output is the sum of gate times `x[t] @ w`, over its two experts. Nothing is dropped.

**Required.** Return `y, dx, d_router, d_weights`: the output and the gradient of the own tokens; the gradient of the router, over the tokens of all ranks, and the same on all; the gradients of the own experts' weights.
Rows travel as in exercise 2, in the backward pass once more there and back, and the router's gradient needs one all-reduce. No more bytes than that.

**Example.** With two ranks, one expert each, every token goes to both experts. If all logits are 0, then y is x times the mean of the two weights.
"""


# %% expert_gradients tags=["exercise"]
def expert_gradients(x, router, dy, weights):
    """y, and the gradients of x, router and weights."""
    ### BEGIN SOLUTION
    n, (e, h, _) = dist.get_world_size(), weights.shape

    class Moved(torch.autograd.Function):
        @staticmethod
        def forward(ctx, rows, gives, takes):
            ctx.splits = gives, takes
            came = rows.new_empty(sum(takes), h)
            dist.all_to_all_single(came, rows.contiguous(), takes, gives)
            return came

        @staticmethod
        def backward(ctx, gradient):
            gives, takes = ctx.splits
            came = gradient.new_empty(sum(gives), h)
            dist.all_to_all_single(came, gradient.contiguous(), gives, takes)
            return came, None, None

    for tensor in (x, router, weights):
        tensor.requires_grad_()
    logits, experts = torch.topk(x @ router.T, 2)
    gates = torch.softmax(logits, dim=1)

    order = torch.argsort(experts.flatten(), stable=True)
    token = order // 2
    counts = torch.bincount(experts.flatten(), minlength=n * e).view(n, e)
    arriving = torch.empty_like(counts)
    dist.all_to_all_single(arriving, counts)
    gives, takes = counts.sum(1).tolist(), arriving.sum(1).tolist()

    rows = Moved.apply(x[token], gives, takes)
    which = torch.arange(e).repeat(n).repeat_interleave(arriving.flatten())
    by_expert = torch.argsort(which, stable=True)
    parts = rows[by_expert].split(torch.bincount(which, minlength=e).tolist())
    done = torch.cat([part @ w for part, w in zip(parts, weights, strict=True)])
    came = Moved.apply(done[torch.argsort(by_expert)], takes, gives)

    weighted = came * gates.flatten()[order][:, None]
    y = torch.zeros_like(x).index_add(0, token, weighted)
    y.backward(dy)
    dist.all_reduce(router.grad)
    return y, x.grad, router.grad, weights.grad
    ### END SOLUTION


# %% tags=["check"]
check("expert_gradients", expert_gradients)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Which steps of your exercise 2 does autograd know, and which not? Which weights do several ranks have?
</details>
<details><summary>Hint 2</summary>
Put the all-to-all of rows into a <code>torch.autograd.Function</code>, as in the lesson, and use it both ways. Two experts a token: <code>experts.flatten()</code> has two entries for each token, and entry i belongs to token <code>i // 2</code>. Counts need no gradient.
</details>
<details><summary>Hint 3</summary>
<code>logits, experts = torch.topk(x @ router.T, 2)</code>, gates by softmax, <code>order = torch.argsort(experts.flatten(), stable=True)</code>, send <code>x[order // 2]</code>. At the end <code>torch.zeros_like(x).index_add(0, order // 2, came * gates.flatten()[order][:, None])</code>, <code>y.backward(dy)</code>, and an all-reduce of <code>router.grad</code> alone.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - The popular expert (1 point)

**Goal.** Compute how long a layer takes if rows are spread unevenly, and who waits.

**Given.** `counts`: a list of n lists; `counts[a][b]` rows go from rank a to experts on rank b. `row_bytes`: bytes of a row. `latency`, `per_byte`, `per_row`: seconds.

The model: a *transfer* takes a rank `latency + per_byte` times the larger of the bytes it sends to others and the bytes it receives from others. Each rank begins to compute when its own transfer is over, and takes `per_row` for each row that it has then. When *all* have computed, the rows go back, which takes as long as the longest transfer.

**Required.** Two values: the seconds until all rows are back; and a list of how long each rank waits between its own last row and that of the last rank.

**Example.** `layer_clock([[1, 3], [0, 2]], 2, 1.0, 0.5, 1.0)` is `(13.0, [4.0, 0.0])`: rank 0 sends 3 rows of 2 bytes, so a transfer takes 4 s. Rank 0 computes 1 row, rank 1 computes 5. Then 4 s more.
"""


# %% layer_clock tags=["exercise"]
def layer_clock(counts, row_bytes, latency, per_byte, per_row):
    """Seconds of the layer, and how long each rank waits for the last to compute."""
    ### BEGIN SOLUTION
    n = len(counts)
    out = [sum(counts[r]) - counts[r][r] for r in range(n)]
    into = [sum(row[r] for row in counts) - counts[r][r] for r in range(n)]
    transfer = [latency + per_byte * row_bytes * max(pair) for pair in zip(out, into, strict=True)]
    done = [transfer[r] + per_row * (into[r] + counts[r][r]) for r in range(n)]
    return max(done) + max(transfer), [max(done) - one for one in done]
    ### END SOLUTION


# %% tags=["check"]
check("layer_clock", layer_clock)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Which numbers of <code>counts</code> does rank r send, which does it receive, and which does it compute?
</details>
<details><summary>Hint 2</summary>
Row r without the diagonal goes out, column r without the diagonal comes in. It computes all of column r.
</details>
<details><summary>Hint 3</summary>
<code>done[r]</code> is the rank's transfer plus <code>per_row</code> times column r. The layer takes <code>max(done) + max(transfer)</code>, and rank r waits <code>max(done) - done[r]</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - Even over all ranks (2 points)

This function adds up what the ranks say, and keeps experts apart that could help each other:
"""


# %%
def even_on_each_rank(logits, k):
    tokens, experts = logits.shape
    chosen = torch.topk(logits, k).indices
    f = torch.bincount(chosen.flatten(), minlength=experts) / (tokens * k)
    p = torch.softmax(logits, dim=1).mean(0)
    loss = experts * (f * p).sum()
    dist.all_reduce(loss)
    return (loss / dist.get_world_size()).item()


def two_subjects():
    """Each rank has texts of one subject, and each subject its own expert."""
    logits = torch.zeros(5, 2, dtype=torch.float64)
    logits[:, dist.get_rank()] = 2.0
    return even_on_each_rank(logits, 1)


print(run_ranks(two_subjects, 2).values, "  even over both ranks would be 1")

# %% [markdown]
r"""
**Goal.** Compute the load-balancing loss of all tokens of all ranks.

**Given.** On each rank `logits`: [tokens, experts], the router's numbers for its own tokens, at least one; `k`: how many experts a token goes to.

**Required.** Every rank returns the same Python float, experts times the sum over experts i of f_i p_i. Of all choices of *all* ranks, the share f_i falls on expert i; p_i is the mean over *all* tokens of softmax(logits)[:, i]. Ranks have different numbers of tokens.
Call one collective, once, and send no more bytes than an all-reduce of two numbers for each expert, and one more.

**Example.** For the two ranks above it is 1.0 on both.
"""


# %% balance_loss tags=["exercise"]
def balance_loss(logits, k):
    """The load-balancing loss over the tokens of all ranks."""
    ### BEGIN SOLUTION
    tokens, experts = logits.shape
    chosen = torch.topk(logits, k).indices
    counts = torch.bincount(chosen.flatten(), minlength=experts)
    mass = torch.softmax(logits, dim=1).sum(0)
    sums = torch.cat([counts.double(), mass, torch.tensor([float(tokens)]).double()])
    dist.all_reduce(sums)
    f = sums[:experts] / (sums[-1] * k)
    p = sums[experts:-1] / sums[-1]
    return (experts * (f * p).sum()).item()
    ### END SOLUTION


# %% tags=["check"]
check("balance_loss", balance_loss)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
The loss is a product of two means. Is the mean of products the same?
</details>
<details><summary>Hint 2</summary>
Sum over ranks first: the counts of the experts, the probabilities, and the number of tokens. Multiply after that.
</details>
<details><summary>Hint 3</summary>
<code>torch.cat</code> of the counts as float64, <code>softmax(logits, dim=1).sum(0)</code> and one number with the tokens; all-reduce; then f is counts / (tokens k), p is the sum of probabilities / tokens.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - Once to each rank (2 points, stretch)

**Goal.** A token may have several experts on the same rank. Send it there once.

**Given.** On each rank `x`: [tokens, h], maybe no token; `choices`: [tokens, k], whole numbers, k different experts of each token among all; `gates`: [tokens, k], float64, how much each counts; `weights`: [e, h, h] of its own experts.

**Required.** Return y: [tokens, h], the sum over the token's choices of gate times `x[t] @ w`.
Three versions for comparison, in rows that travel there and back: a row for each choice, as in exercise 3; one row there and a row back for each expert; one row there and *one back*. The last is required, also for a token with all its experts on one rank. Beside each row that goes out, 2 k numbers may travel, and beside that one number for each expert of the others.

**Example.** Two ranks with two experts each, all weights 1 (h = 1). Rank 0's token 5 has the experts 2 and 3 and the gates 0.25 and 0.5. One row goes to rank 1, and one comes back: 3.75.
"""


# %% lean_trip tags=["exercise"]
def lean_trip(x, choices, gates, weights):
    """The mixed outputs; a token travels to each rank at most once."""
    ### BEGIN SOLUTION
    n, (e, h, _) = dist.get_world_size(), weights.shape
    every = x.new_zeros(len(x), n * e).scatter(1, choices, gates).view(len(x), n, e)
    goes = torch.zeros(len(x), n, dtype=torch.bool).scatter(1, choices // e, True)
    to, token = torch.nonzero(goes.T, as_tuple=True)
    gives = goes.sum(0)
    takes = torch.empty_like(gives)
    dist.all_to_all_single(takes, gives)
    gives, takes = gives.tolist(), takes.tolist()

    sent = torch.cat([x[token], every[token, to]], dim=1)  # a row, and its gates there
    rows = x.new_empty(sum(takes), h + e)
    dist.all_to_all_single(rows, sent, takes, gives)
    x_there, gates_there = rows.split([h, e], dim=1)
    done = torch.einsum("th,ehj,te->tj", x_there, weights, gates_there)
    came = x.new_empty(len(token), h)
    dist.all_to_all_single(came, done, gives, takes)
    return torch.zeros_like(x).index_add(0, token, came)
    ### END SOLUTION


# %% tags=["check"]
check("lean_trip", lean_trip)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Which pairs of a token and a rank are there? And what has the rank to know of the token, beside its row?
</details>
<details><summary>Hint 2</summary>
Make an array of gates by token and expert, 0 where an expert is not chosen. Its part for one rank, e numbers, travels beside the row. The rank adds up gate times output over its experts, and sends one row back.
</details>
<details><summary>Hint 3</summary>
<code>goes = torch.zeros(len(x), n, dtype=torch.bool).scatter(1, choices // e, True)</code> says which token goes where, and <code>to, token = torch.nonzero(goes.T, as_tuple=True)</code> lists the rows sorted by rank. Send <code>torch.cat([x[token], every[token, to]], dim=1)</code>, and at the end <code>index_add</code> what came back to its tokens.
</details>
"""
