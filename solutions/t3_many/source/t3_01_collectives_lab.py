# %% [markdown]
r"""
# Lab: collectives

Six exercises on operations that all ranks do together, with what you saw in the lesson `t3_01_collectives`. They take about 45 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

The checks run your functions on two to five processes. Bytes over links are *modelled* with the factors of the lesson; calls are *counted*.

Run this cell first.
"""

# %%
import torch
import torch.distributed as dist

from warpwise import check, run_ranks

# %% [markdown]
r"""
## Exercise 1 - The mean loss (2 points)

**Goal.** Give all ranks the mean of the losses of all samples.

**Given.** `losses`: a one-dimensional float64 tensor with the losses of this rank's samples. Ranks may have different numbers of samples, and some may have none. All together have at least one.

**Required.** Return the mean over all samples of all ranks, as a Python float, on every rank. Call one collective only, and once: sum and count go together.

**Example.** Rank 0 has 1, 1, 1 and rank 1 has 5. Both return 2.0.
"""


# %% mean_loss tags=["exercise"]
def mean_loss(losses):
    """The mean of the losses of all ranks."""
    ### BEGIN SOLUTION
    both = torch.tensor([losses.sum(), len(losses)], dtype=torch.float64)
    dist.all_reduce(both)
    return (both[0] / both[1]).item()
    ### END SOLUTION


# %% tags=["check"]
check("mean_loss", mean_loss)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
What would the mean of the means be for the example?
</details>
<details><summary>Hint 2</summary>
Two numbers of each rank are enough to know the mean of all. Which? And how do two numbers travel in one call?
</details>
<details><summary>Hint 3</summary>
Make a float64 tensor of <code>losses.sum()</code> and <code>len(losses)</code>, all-reduce it, divide.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - Who holds what? (2 points)

**Goal.** Say what all ranks hold after each of the eight operations, without running it.

**Given.** `operation`: one of `"broadcast"`, `"scatter"`, `"gather"`, `"reduce"`, `"all_gather"`, `"all_reduce"`, `"reduce_scatter"`, `"all_to_all"`.
`held`: a list by rank of what each rank holds before, a list of numbers. All have the same length; for operations that cut, it is a multiple of the number of ranks. The root is rank 0.

**Required.** Return a list by rank of what each rank holds afterwards: a list of numbers, or `None` where the operation leaves a rank without a result. Change nothing in `held`. This is plain Python: no processes are needed.

**Examples.** `held_after("all_reduce", [[1, 2], [10, 20]])` is `[[11, 22], [11, 22]]`.
`held_after("gather", [[1, 2], [10, 20]])` is `[[1, 2, 10, 20], None]`.
"""


# %% held_after tags=["exercise"]
def held_after(operation, held):
    """What each rank holds after the operation, by rank."""
    ### BEGIN SOLUTION
    n = len(held)
    ranks = range(n)
    size = len(held[0]) // n
    everything = [value for own in held for value in own]
    total = [sum(column) for column in zip(*held, strict=True)]

    def piece(values, k):
        return values[k * size : (k + 1) * size]

    if operation == "broadcast":
        return [list(held[0]) for _ in ranks]
    if operation == "scatter":
        return [piece(held[0], k) for k in ranks]
    if operation == "gather":
        return [everything] + [None] * (n - 1)
    if operation == "reduce":
        return [total] + [None] * (n - 1)
    if operation == "all_gather":
        return [list(everything) for _ in ranks]
    if operation == "all_reduce":
        return [list(total) for _ in ranks]
    if operation == "reduce_scatter":
        return [piece(total, k) for k in ranks]
    return [[value for own in held for value in piece(own, k)] for k in ranks]
    ### END SOLUTION


# %% tags=["check"]
check("held_after", held_after)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Turn the slider of the lesson's picture, and write down for each operation who has a result and how long it is.
</details>
<details><summary>Hint 2</summary>
Two lists serve nearly all of them: all arrays one after the other, and the sum element by element. Then ask who gets all of it, and who a piece.
</details>
<details><summary>Hint 3</summary>
Piece k of a list is <code>values[k * size : (k + 1) * size]</code> with <code>size = len(values) // n</code>. After an all-to-all rank k has piece k of each rank's list, in the order of the ranks.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - Bytes before you run (1 point)

**Goal.** Say what a rank must send at least.

**Given.** `operation`: `"all_gather"`, `"reduce_scatter"`, `"all_reduce"` or `"all_to_all"`. `ranks`: how many take part, 1 or more. `own_bytes`: the bytes that *each rank hands in*.

**Required.** The bytes that a rank sends, a number. Mind the S of the lesson: it is the whole array. For one rank it is 0.

**Examples.** `bytes_sent("all_reduce", 4, 1000)` is 1500. `bytes_sent("all_gather", 4, 1000)` is 3000.
"""


# %% bytes_sent tags=["exercise"]
def bytes_sent(operation, ranks, own_bytes):
    """The bytes that a rank sends at least."""
    ### BEGIN SOLUTION
    whole = own_bytes * ranks if operation == "all_gather" else own_bytes
    times = 2 if operation == "all_reduce" else 1
    return times * (ranks - 1) * whole / ranks
    ### END SOLUTION


# %% tags=["check"]
check("bytes_sent", bytes_sent)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
For which of the four is the result larger than what a rank hands in?
</details>
<details><summary>Hint 2</summary>
S is <code>own_bytes</code> for three of them.
</details>
<details><summary>Hint 3</summary>
All-gather: <code>(ranks - 1) * own_bytes</code>. All-reduce: <code>2 * (ranks - 1) / ranks * own_bytes</code>. The others: half of that.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - The logging that stopped the run (1 point)

Rank 0 writes the total loss to a log. Each rank goes on with its own loss. This program does not end:
"""


# %%
def broken_total(loss):
    if dist.get_rank() == 0:
        dist.all_reduce(loss)
        return loss.item(), loss.item()
    return loss.item(), None


outcome = run_ranks(broken_total, 3, torch.tensor(2.0), raises=False)
print(outcome.diagnosis.sentence)

# %% [markdown]
r"""
**Goal.** Mend it. There are two mistakes in it.

**Given.** `loss`: a tensor with one number, another one on each rank.

**Required.** Return two values. The first is this rank's *own* loss, as a Python float. The second is the sum of all losses as a float on rank 0, and `None` on the other ranks.

**Example.** With the losses 2, 3 and 4: rank 0 returns `(2.0, 9.0)`, rank 1 returns `(3.0, None)`.
"""


# %% logged_total tags=["exercise"]
def logged_total(loss):
    """This rank's loss, and on rank 0 the sum of all."""
    ### BEGIN SOLUTION
    total = loss.clone()
    dist.reduce(total, dst=0)
    return loss.item(), total.item() if dist.get_rank() == 0 else None
    ### END SOLUTION


# %% tags=["check"]
check("logged_total", logged_total)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Who has to call a collective? And what is in <code>loss</code> after it?
</details>
<details><summary>Hint 2</summary>
Move the call out of the <code>if</code>. Keep the own loss before you make it.
</details>
<details><summary>Hint 3</summary>
<code>total = loss.clone()</code>, then <code>dist.reduce(total, dst=0)</code> on all ranks; only rank 0 looks at the result.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - All-reduce in two steps (2 points)

**Goal.** Make an all-reduce out of a reduce-scatter and an all-gather.

**Given.** `x`: a one-dimensional float64 tensor, the same length on all ranks. The number of ranks need not divide the length.

**Required.** Return the sum of all ranks' tensors, of the same length as `x`, on every rank.
Do not call `all_reduce`, `reduce` or `broadcast`. Fill up with fewer than n numbers: a rank may send 2 (n - 1)/n times the bytes of the padded array, and no more.

**Example.** Two ranks with 1, 2, 3 and 10, 20, 30: both return 11, 22, 33.
"""


# %% sum_in_two_steps tags=["exercise"]
def sum_in_two_steps(x):
    """The sum of all ranks' x, by a reduce-scatter and an all-gather."""
    ### BEGIN SOLUTION
    n = dist.get_world_size()
    size = -(-len(x) // n)
    padded = torch.zeros(n * size, dtype=x.dtype)
    padded[: len(x)] = x
    piece = torch.empty(size, dtype=x.dtype)
    dist.reduce_scatter(piece, list(padded.split(size)))
    parts = [torch.empty_like(piece) for _ in range(n)]
    dist.all_gather(parts, piece)
    return torch.cat(parts)[: len(x)]
    ### END SOLUTION


# %% tags=["check"]
check("sum_in_two_steps", sum_in_two_steps)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Section 4 of the lesson does it where n divides the length. What is missing?
</details>
<details><summary>Hint 2</summary>
A piece has the length divided by n, rounded up: <code>-(-len(x) // n)</code>. What is added to the sum by zeros?
</details>
<details><summary>Hint 3</summary>
Copy <code>x</code> into <code>torch.zeros(n * size, dtype=x.dtype)</code>, pass <code>list(padded.split(size))</code> to the reduce-scatter, gather the pieces, cut to <code>len(x)</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - Turn a matrix over (2 points, stretch)

**Goal.** Transpose a matrix that is spread over the ranks.

**Given.** A matrix with n r rows and n c columns on n ranks. `rows`: the r rows of this rank, a float64 tensor of the shape (r, n c): rank 0 has the first r rows, and so on.

**Required.** Return this rank's rows of the *transposed* matrix, a tensor of the shape (c, n r).

Two ways to do it are ready. Give all rows to all ranks with an all-gather, and each rank takes what it needs: a rank sends n - 1 times its own bytes.
Or let each number travel once, to the rank that needs it: (n - 1)/n times. **The second is required.**

**Example.** On two ranks, with the rows 1, 2, 3, 4 on rank 0 and 5, 6, 7, 8 on rank 1, rank 0 returns the rows (1, 5) and (2, 6), and rank 1 returns (3, 7) and (4, 8).
"""


# %% transposed_rows tags=["exercise"]
def transposed_rows(rows):
    """This rank's rows of the transposed matrix."""
    ### BEGIN SOLUTION
    n = dist.get_world_size()
    blocks = [block.t().contiguous() for block in rows.chunk(n, dim=1)]  # (c, r) each
    got = torch.empty_like(torch.stack(blocks))
    dist.all_to_all_single(got, torch.stack(blocks))
    return torch.cat(list(got), dim=1)
    ### END SOLUTION


# %% tags=["check"]
check("transposed_rows", transposed_rows)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Cut the matrix into n times n blocks. Which block has to go where, and what has to be done inside it?
</details>
<details><summary>Hint 2</summary>
Rank k needs the k-th block of columns of every rank: that is an all-to-all. <code>dist.all_to_all_single</code> cuts the first dimension, so the blocks have to stand one after the other.
</details>
<details><summary>Hint 3</summary>
<code>blocks = [block.t() for block in rows.chunk(n, dim=1)]</code>, stack them, exchange, and put what came side by side: <code>torch.cat(list(got), dim=1)</code>.
</details>
"""
