# %% [markdown]
r"""
# Lab: the ring

Six exercises on collectives made of messages, with what you saw in the lesson `t3_02_ring`. They take about 60 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

The checks run your functions on two to five processes. Messages, their bytes and the rounds that follow each other are *counted*, times are *modelled*.
A message that waits for ever is found after about five seconds.

Run this cell first.
"""

# %%
import torch
import torch.distributed as dist

from warpwise import check, run_ranks

# %% [markdown]
r"""
## Exercise 1 - Which piece? (1 point)

**Goal.** Say what a rank of a ring sends and gets in a step of the reduce-scatter.

**Given.** `rank`, `step` and `n`, the number of ranks. `0 <= rank < n` and `0 <= step < n - 1`. In step 0 each rank sends the piece with its own number to its right neighbour.

**Required.** Two whole numbers from 0 to n - 1: the piece that the rank sends in this step, and the piece that comes from its left neighbour.

**Example.** `ring_pieces(1, 2, 4)` is `(3, 2)`.
"""


# %% ring_pieces tags=["exercise"]
def ring_pieces(rank, step, n):
    """(piece sent, piece that comes) of a rank in a step of the reduce-scatter."""
    ### BEGIN SOLUTION
    return (rank - step) % n, (rank - step - 1) % n
    ### END SOLUTION


# %% tags=["check"]
check("ring_pieces", ring_pieces)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Turn the slider of the lesson's picture, and follow rank 1.
</details>
<details><summary>Hint 2</summary>
In each step a rank sends what came in the step before.
</details>
<details><summary>Hint 3</summary>
<code>(rank - step) % n</code>; what comes is one less, <code>% n</code> as well.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - The bill, before you run (2 points)

**Goal.** Say what a ring all-reduce costs the busiest rank.

**Given.** `n` ranks, an array of `length` numbers of `itemsize` bytes each, cut into n pieces like `torch.tensor_split` does: the first `length % n` pieces have one number more than the others.

**Required.** Two whole numbers: the rounds, and the bytes that the busiest rank sends. For one rank both are 0.

**Examples.** `ring_bill(4, 8, 4)` is `(6, 48)`: twice three pieces of 8 bytes.
`ring_bill(4, 10, 1)` is `(6, 16)`: of pieces with 3, 3, 2 and 2 numbers the busiest rank leaves out a small one, in either half.
"""


# %% ring_bill tags=["exercise"]
def ring_bill(n, length, itemsize):
    """(rounds, bytes of the busiest rank) of a ring all-reduce."""
    ### BEGIN SOLUTION
    if n == 1:
        return 0, 0
    # In the first half rank r leaves out piece r + 1, in the second piece r + 2.
    sizes = [length // n + (k < length % n) for k in range(n)]
    left_out = min(sizes[(rank + 1) % n] + sizes[(rank + 2) % n] for rank in range(n))
    return 2 * (n - 1), (2 * length - left_out) * itemsize
    ### END SOLUTION


# %% tags=["check"]
check("ring_bill", ring_bill)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
How many pieces does a rank send in each half, and which one does it not send?
</details>
<details><summary>Hint 2</summary>
In the first half rank r sends pieces r, r - 1, ...: all but r + 1. In the second half it begins with r + 1: all but r + 2. All mod n.
</details>
<details><summary>Hint 3</summary>
Make the list of the n sizes. For each rank: <code>2 * length</code> minus the sizes of the pieces r + 1 and r + 2. The largest of these, times <code>itemsize</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - Nobody moves (1 point)

Each rank wants to pass its array to the right. This program stands still:
"""


# %%
def broken_pass(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    came = torch.empty_like(x)
    dist.send(x, (rank + 1) % n)
    dist.recv(came, (rank - 1) % n)
    return came


outcome = run_ranks(broken_pass, 3, torch.zeros(2), raises=False)
print(outcome.diagnosis.sentence)

# %% [markdown]
r"""
**Goal.** Mend it.

**Given.** `x`: a tensor, of the same size on all ranks.

**Required.** Return the left neighbour's array. Use messages between two ranks only, and let all of them travel at the same time: one round.

**Example.** On three ranks with 1, 2 and 3, they return 3, 1 and 2.
"""


# %% passed_right tags=["exercise"]
def passed_right(x):
    """The array of the left neighbour."""
    ### BEGIN SOLUTION
    rank, n = dist.get_rank(), dist.get_world_size()
    came = torch.empty_like(x)
    sending = dist.isend(x, (rank + 1) % n)
    dist.recv(came, (rank - 1) % n)
    sending.wait()
    return came
    ### END SOLUTION


# %% tags=["check"]
check("passed_right", passed_right)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Which rank's call is the first to return?
</details>
<details><summary>Hint 2</summary>
Letting rank 0 send first and all others receive first ends, but takes n rounds.
</details>
<details><summary>Hint 3</summary>
<code>sending = dist.isend(...)</code>, then <code>dist.recv(...)</code>, then <code>sending.wait()</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - Your own share (3 points)

**Goal.** Build a reduce-scatter in which rank r ends with piece *r*, as `torch.distributed` promises. The lesson's ends with piece r + 1.

**Given.** `x`: a one-dimensional float64 tensor, of the same length on all ranks. Pieces are those of `torch.tensor_split(x, n)`: their sizes may differ, and some may be empty.

**Required.** Return piece r of the sum. Use messages only, n - 1 rounds, and send no more than n - 1 pieces.

**Example.** Two ranks with 1, 2, 3 and 10, 20, 30: rank 0 returns 11, 22 and rank 1 returns 33.
"""


# %% ring_share tags=["exercise"]
def ring_share(x):
    """This rank's piece of the sum of all ranks' x."""
    ### BEGIN SOLUTION
    rank, n = dist.get_rank(), dist.get_world_size()
    pieces = list(torch.tensor_split(x.clone(), n))
    for step in range(n - 1):
        out, into = (rank - 1 - step) % n, (rank - 2 - step) % n
        came = torch.empty_like(pieces[into])
        sending = dist.isend(pieces[out], (rank + 1) % n)
        dist.recv(came, (rank - 1) % n)
        sending.wait()
        pieces[into] += came
    return pieces[rank]
    ### END SOLUTION


# %% tags=["check"]
check("ring_share", ring_share)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
If rank r is to end with piece r, with which piece must it begin?
</details>
<details><summary>Hint 2</summary>
All indices of the lesson move by one: rank r begins with piece r - 1. The array for what comes needs the size of the piece that comes.
</details>
<details><summary>Hint 3</summary>
In step s send <code>(rank - 1 - s) % n</code> to the right, receive into an empty array like piece <code>(rank - 2 - s) % n</code>, and add it there.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - The whole ring (3 points)

**Goal.** Build an all-reduce.

**Given.** `x` as in exercise 4.

**Required.** Return the sum of all ranks' `x`, of the same length, on every rank. Use messages only, at most 2 (n - 1) rounds, and no more bytes than the bill of exercise 2.

**Example.** Two ranks with 1, 2, 3 and 10, 20, 30: both return 11, 22, 33.
"""


# %% ring_total tags=["exercise"]
def ring_total(x):
    """The sum of all ranks' x, round the ring."""
    ### BEGIN SOLUTION
    rank, n = dist.get_rank(), dist.get_world_size()
    pieces = list(torch.tensor_split(x.clone(), n))

    def pass_on(out, into):
        came = torch.empty_like(pieces[into])
        sending = dist.isend(pieces[out], (rank + 1) % n)
        dist.recv(came, (rank - 1) % n)
        sending.wait()
        return came

    for step in range(n - 1):
        pieces[(rank - 1 - step) % n] += pass_on((rank - step) % n, (rank - 1 - step) % n)
    for step in range(n - 1):
        into = (rank - step) % n
        pieces[into] = pass_on((rank + 1 - step) % n, into)
    return torch.cat(pieces)
    ### END SOLUTION


# %% tags=["check"]
check("ring_total", ring_total)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
The second half is a ring all-gather: what did each rank finish in the first half?
</details>
<details><summary>Hint 2</summary>
In each step of the second half pass on what came in the step before, and put what comes in its place without adding.
</details>
<details><summary>Hint 3</summary>
With the lesson's first half: in step s send piece <code>(rank + 1 - s) % n</code>, and what comes is piece <code>(rank - s) % n</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - A chain that never rests (2 points, stretch)

**Goal.** Broadcast along a chain, in chunks, on a modelled network.

**Given.** `x`: a float64 tensor. On rank 0 it has the values, on the others only the right length. `chunks`: into how many chunks to cut it, with `torch.tensor_split`. `net`: this rank's network, with
`net.rank`, `net.size`, `net.send(tensor, k)`, `net.recv(tensor, k)`, and `net.sendrecv(out, to, into, source)` for both at the same time. Each keeps the clock.

**Required.** Return rank 0's values on every rank. Each chunk goes from rank r to r + 1. The last rank has to be done after (n - 2 + chunks) steps of one chunk: a rank passes on one chunk *while* the next one comes in.

Three versions for comparison, for 4 ranks, 4 chunks and 1 us a chunk, without latency: the whole array at once takes 12 us, since it is 4 chunks long; chunks that are received, then sent, take 9 us; the best takes 6.
"""


# %% chain_broadcast tags=["exercise"]
def chain_broadcast(x, chunks, net):
    """Rank 0's x on every rank, passed along in chunks."""
    ### BEGIN SOLUTION
    parts = list(torch.tensor_split(x.clone(), chunks))
    before, after = net.rank - 1, net.rank + 1
    if net.rank == 0:
        for part in parts:
            net.send(part, after)
    elif after == net.size:
        for part in parts:
            net.recv(part, before)
    else:
        net.recv(parts[0], before)
        for k in range(chunks - 1):
            net.sendrecv(parts[k], after, parts[k + 1], before)
        net.send(parts[-1], after)
    return torch.cat(parts)
    ### END SOLUTION


# %% tags=["check"]
check("chain_broadcast", chain_broadcast)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Draw four rows, one a rank, and in each column which chunk the rank sends and which it receives. Rank 0 only sends, the last only receives.
</details>
<details><summary>Hint 2</summary>
A rank in the middle first receives chunk 0. Then, for each k, it sends chunk k and receives chunk k + 1 together. At the end it sends the last one.
</details>
<details><summary>Hint 3</summary>
In the middle: <code>net.recv(parts[0], before)</code>, then for k from 0 to chunks - 2 <code>net.sendrecv(parts[k], after, parts[k + 1], before)</code>, then <code>net.send(parts[-1], after)</code>.
</details>
"""
