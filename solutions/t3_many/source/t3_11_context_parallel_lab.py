# %% [markdown]
r"""
# Lab: context parallelism

Six exercises on sequences that are cut across ranks, with what you saw in the lesson `t3_11_context_parallel`. They take about 60 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

The checks run the functions of exercises 4 to 6 on two or three processes, with float64 tensors. Messages, their bytes, the operations of matrix products and the largest tensor are *counted*.

Run this cell first. It has the two functions of the lesson that compute attention with one block and merge two parts.
"""

# %%
import math

import torch
import torch.distributed as dist

from warpwise import check


def attend(q, k, v, seen):
    """Output and log-sum-exp over the keys that are seen; seen: [queries, keys]."""
    scores = (q @ k.T / q.shape[-1] ** 0.5).masked_fill(~seen, -torch.inf)
    log = torch.logsumexp(scores, dim=1)
    safe = torch.where(log == -torch.inf, 0.0, log)
    return torch.exp(scores - safe[:, None]) @ v, log


def merge(out, log, other, other_log):
    """Two parts become one: its output and its log-sum-exp."""
    total = torch.logaddexp(log, other_log)
    a, b = torch.exp(log - total), torch.exp(other_log - total)
    return a[:, None] * out + b[:, None] * other, total


# %% [markdown]
r"""
## Exercise 1 - The bill, before you run (1 point)

**Goal.** Say how many bytes ring attention sends in one layer.

**Given.** `tokens` in the whole sequence, cut evenly across `n` ranks. K and V have `kv_heads` heads of `head_size` numbers each, of `itemsize` bytes.

**Required.** Two numbers: the bytes that one rank sends forward, and those that it sends backward. Forward K and V travel n - 1 steps. Backward they do so once more, and dK and dV travel n - 1 steps as well: one less than in the lesson's program, as exercise 5 will show. One rank alone sends nothing.

**Example.** `context_bill(8, 1, 4, 2, 2)` is `(64, 128)`.
"""


# %% context_bill tags=["exercise"]
def context_bill(tokens, kv_heads, head_size, itemsize, n):
    """(bytes forward, bytes backward) that one rank sends."""
    ### BEGIN SOLUTION
    block = 2 * tokens // n * kv_heads * head_size * itemsize  # K and V
    return (n - 1) * block, 2 * (n - 1) * block
    ### END SOLUTION


# %% tags=["check"]
check("context_bill", context_bill)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
How many numbers has K of one block, and how often does a rank send such an array?
</details>
<details><summary>Hint 2</summary>
A block has tokens / n tokens, and a token has kv_heads * head_size numbers in K and as many in V.
</details>
<details><summary>Hint 3</summary>
Forward: <code>2 * (n - 1) * tokens / n * kv_heads * head_size * itemsize</code>. Backward: twice that.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - Who waits for whom? (2 points)

**Goal.** Judge any cut of a sequence under a causal mask.

**Given.** `places`: a list for each rank, with the positions of its tokens. All lists are equally long, and each position is in one of them. In step s of the ring rank r computes with the keys of rank r - s (mod n); step 0 is the own block.
A query sees the keys at its own position and before.

**Required.** A list with the pairs of query and key of each rank, in all steps together; and the number of pairs that the ring waits for: in each step all wait for the rank with the most.

**Examples.** `busy_pairs([[0, 1], [2, 3]])` is `([3, 7], 7)`: 3 pairs in step 0 and 4 in step 1. `busy_pairs([[0, 3], [1, 2]])` is `([5, 5], 5)`.
`busy_pairs([[0, 1], [2, 5], [3, 4]])` is `([3, 9, 9], 11)`: no rank has 11 pairs, yet all wait for so many.
"""


# %% busy_pairs tags=["exercise"]
def busy_pairs(places):
    """(pairs by rank, pairs that all wait for)"""
    ### BEGIN SOLUTION
    n = len(places)
    by_rank, waits = [0] * n, 0
    for step in range(n):
        now = [
            sum(key <= query for query in places[rank] for key in places[(rank - step) % n])
            for rank in range(n)
        ]
        by_rank = [a + b for a, b in zip(by_rank, now, strict=True)]
        waits += max(now)
    return by_rank, waits
    ### END SOLUTION


# %% tags=["check"]
check("busy_pairs", busy_pairs)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
First write down, for two ranks, how many pairs each has in each step.
</details>
<details><summary>Hint 2</summary>
For each step, make the list of all ranks' pairs. Its maximum is what this step takes; its numbers go to the sums of the ranks.
</details>
<details><summary>Hint 3</summary>
Pairs of a rank in a step: <code>sum(key <= query for query in places[rank] for key in places[(rank - step) % n])</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - Long enough to hide (2 points)

**Goal.** Find the shortest sequence whose messages hide behind computing, forward.

**Given.** `n` ranks, 2 or more. Q has `heads` heads, K and V have `kv_heads`, all of the same size. Numbers have `itemsize` bytes. A GPU computes `tflops` 10^12 operations a second and sends `gbs` 10^9 bytes a second. There is no latency.
`zigzag`: if true, the sequence is causal and cut as a zig-zag, and half of the products of a block are left out. If false, all pairs are computed.

**Required.** The number of tokens in the *whole* sequence. Computing with one block must take at least as long as K and V of one block travel. Each rank has equally many tokens, under a zig-zag in two equal pieces.

**Example.** `hidden_from(8, 32, 32, 2, 989, 450, False)` is 17584: 8 times 2,198 tokens. With `True` it is 35168.
"""


# %% hidden_from tags=["exercise"]
def hidden_from(n, heads, kv_heads, itemsize, tflops, gbs, zigzag):
    """Tokens of the shortest sequence whose messages hide."""
    ### BEGIN SOLUTION
    # share * 4 c^2 heads / F >= 2 c kv_heads itemsize / B; the size of a head cancels.
    share = 0.5 if zigzag else 1
    c = itemsize * kv_heads * tflops * 1000 / (2 * heads * gbs * share)
    pieces = 2 if zigzag else 1
    return n * pieces * math.ceil(c / pieces)
    ### END SOLUTION


# %% tags=["check"]
check("hidden_from", hidden_from)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Write the two times of section 5 with heads and kv_heads in place of the one width, and itemsize in place of 2 bytes.
</details>
<details><summary>Hint 2</summary>
4 c² heads operations, or half of it, against 2 c kv_heads itemsize bytes, both times the size of a head. Solve for c, then round up what each rank has.
</details>
<details><summary>Hint 3</summary>
<code>c = itemsize * kv_heads / (2 * heads) * 1000 * tflops / gbs</code>, doubled for a zig-zag. Then <code>n * math.ceil(c)</code>, or <code>2 * n * math.ceil(c / 2)</code> for a zig-zag.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - A ring of documents (3 points)

Training packs several documents into one sequence. A query must see only keys of its own document.

**Goal.** Build ring attention with this mask, for any cut.

**Given.** On each rank `q`, `k`, `v`: [c, d], of its own tokens. `places`: a tensor [n, c]; row r has the positions of the tokens of rank r, in their order there. `starts`: a tensor of as many numbers as the sequence has tokens; `starts[i]` is the position at which the document of position i begins. `places` and `starts` are the same on all ranks.

**Required.** The query at position i sees the key at position j if `starts[i] <= j <= i`. Return the outputs [c, d] and the log-sum-exps [c] of this rank's queries.
Use messages only. Send no more than K and V of one block in each of n - 1 steps, and make no tensor of more than 2 c² numbers: no scores of all keys at once.

**Example.** One rank, `places` = [[0, 1]], `starts` = [0, 1]: two documents of one token each. Each query sees only its own key, so the outputs are `v`.
"""


# %% ring_attention tags=["exercise"]
def ring_attention(q, k, v, places, starts):
    """(outputs, log-sum-exps) of this rank's queries over all keys that they see."""
    ### BEGIN SOLUTION
    rank, n = dist.get_rank(), dist.get_world_size()
    block, query, total = torch.stack([k, v]), places[rank][:, None], None
    for step in range(n):
        if step < n - 1:
            came = torch.empty_like(block)
            sending = dist.isend(block, (rank + 1) % n)
            coming = dist.irecv(came, (rank - 1) % n)
        key = places[(rank - step) % n][None, :]
        part = attend(q, *block, (starts[query] <= key) & (key <= query))
        total = part if total is None else merge(*total, *part)
        if step < n - 1:
            sending.wait()
            coming.wait()
            block = came
    return total
    ### END SOLUTION


# %% tags=["check"]
check("ring_attention", ring_attention)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
The lesson's <code>ring</code> has all you need but the mask. Whose keys are in the block in step s?
</details>
<details><summary>Hint 2</summary>
Make two tensors of positions: queries as a column, keys of the block's owner as a row. The mask compares them with each other, and the keys with <code>starts</code> of the queries.
</details>
<details><summary>Hint 3</summary>
<code>query = places[rank][:, None]</code>, <code>key = places[(rank - step) % n][None, :]</code>, and <code>seen = (starts[query] <= key) & (key <= query)</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - Gradients that come home (3 points)

**Goal.** Build the backward pass, with one step less than the lesson.

**Given.** On each rank `q`, `k`, `v`: [c, d] and `places`: [n, c] as in exercise 4, with one document: a query sees keys up to its own position. From the forward pass `out`: [c, d] and `log`: [c], the log-sum-exps over all keys; and `d_out`: [c, d], the gradient of the outputs.

**Required.** Return `dq, dk, dv`: [c, d] each, for this rank's own tokens.
Use messages only, and no tensor of more than 2 c² numbers. Send no more than K, V, dK and dV of one block in each of n - 1 steps. So a rank keeps its own share of its own dK and dV; the gradient of a block begins at the first rank that it visits.

**Example.** One rank with one token: `out` is `v`, so `dv` is `d_out`, and `dq` and `dk` are 0.
"""


# %% ring_gradients tags=["exercise"]
def ring_gradients(q, k, v, out, log, d_out, places):
    """(dq, dk, dv) of this rank's tokens."""
    ### BEGIN SOLUTION
    rank, n = dist.get_rank(), dist.get_world_size()
    scale = q.shape[1] ** -0.5
    D = (d_out * out).sum(dim=1, keepdim=True)

    def shares(k, v, owner):
        seen = places[owner][None, :] <= places[rank][:, None]
        P = torch.exp((q @ k.T * scale).masked_fill(~seen, -torch.inf) - log[:, None])
        dS = P * (d_out @ v.T - D) * scale
        return dS @ k, torch.stack([dS.T @ q, P.T @ d_out])

    def pass_on(what):
        came = torch.empty_like(what)
        sending = dist.isend(what, (rank + 1) % n)
        dist.recv(came, (rank - 1) % n)
        sending.wait()
        return came

    dq, own = shares(k, v, rank)
    block, travelling = torch.stack([k, v]), torch.zeros_like(own)
    for step in range(1, n):
        block = pass_on(block)
        if step > 1:
            travelling = pass_on(travelling)
        more, share = shares(*block, (rank - step) % n)
        dq, travelling = dq + more, travelling + share
    if n > 1:
        own = own + pass_on(travelling)
    return dq, own[0], own[1]
    ### END SOLUTION


# %% tags=["check"]
check("ring_gradients", ring_gradients)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Follow block 0 on three ranks. Who adds what to its gradient, and when? Which share never has to travel?
</details>
<details><summary>Hint 2</summary>
Step 0: compute with the own block, and keep its dK and dV. From step 1 on: K and V come from the left; from step 2 on their gradient comes with them; add your share. After step n - 1 send the gradient once more: it is the right neighbour's own.
</details>
<details><summary>Hint 3</summary>
<code>dq, own = shares(k, v, rank)</code>. In step 1 to n - 1: pass <code>block</code> on; if <code>step > 1</code> pass <code>travelling</code> on; add the share to it. After the loop: <code>own + pass_on(travelling)</code>. <code>shares</code> has the lines of <code>block_gradients</code> in the lesson.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - Half the work (3 points, stretch)

**Goal.** Build causal ring attention on a zig-zag that leaves out what the mask hides.

**Given.** On each rank `q`, `k`, `v`: [c, d]. Rows 0 to c/2 - 1 are piece `rank` of the sequence, the others are piece 2 n - 1 - `rank`; c is even.

**Required.** Return the outputs [c, d]. Messages and the largest tensor as in exercise 4.
Products of whole pieces that the mask hides must not be computed. Count in *quarters*, a piece of queries with a piece of keys. You may use 4 of them for the own block, and 2 for each other one: 2 n + 2.

Three versions for comparison, on 4 ranks: the lesson's `ring` computes 16 quarters on each rank; leaving out only blocks that are hidden as a whole saves nothing on a zig-zag; 10 are enough.
"""


# %% zigzag_attention tags=["exercise"]
def zigzag_attention(q, k, v):
    """Causal outputs of this rank's queries: piece rank, then piece 2 n - 1 - rank."""
    ### BEGIN SOLUTION
    rank, n = dist.get_rank(), dist.get_world_size()
    half = len(q) // 2
    block = torch.stack([k, v])
    for step in range(n):
        owner = (rank - step) % n
        if step < n - 1:
            came = torch.empty_like(block)
            sending = dist.isend(block, (rank + 1) % n)
            coming = dist.irecv(came, (rank - 1) % n)
        if step == 0:
            seen = torch.ones(len(q), len(q), dtype=torch.bool).tril()
            out, log = attend(q, k, v, seen)
        elif owner < rank:
            early = block[:, :half]
            seen = torch.ones(len(q), half, dtype=torch.bool)
            out, log = merge(out, log, *attend(q, *early, seen))
        else:
            seen = torch.ones(half, len(q), dtype=torch.bool)
            late = merge(out[half:], log[half:], *attend(q[half:], *block, seen))
            out, log = torch.cat([out[:half], late[0]]), torch.cat([log[:half], late[1]])
        if step < n - 1:
            sending.wait()
            coming.wait()
            block = came
    return out
    ### END SOLUTION


# %% tags=["check"]
check("zigzag_attention", zigzag_attention)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Which two pieces has rank 0 of 2, which has rank 1? For each, which keys of the other does it see?
</details>
<details><summary>Hint 2</summary>
The own block: rows are in order, so key j is seen by query i if j <= i. A lower rank's block: its early half, by all queries. A higher rank's: all of it, by the late half of the queries.
</details>
<details><summary>Hint 3</summary>
If <code>owner < rank</code>: <code>attend(q, *block[:, :half], all_true)</code>, merged into everything. Else: <code>attend(q[half:], *block, all_true)</code>, merged into <code>out[half:]</code> and <code>log[half:]</code>.
</details>
"""
