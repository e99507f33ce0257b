# %% [markdown]
r"""
# Lab: topologies

Six exercises on all-reduces with few rounds, and on links that are shared, with what you saw in the lesson `t3_04_topologies`. They take about 60 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

Messages, bytes and rounds are *counted*, times are *modelled*.

Run this cell first.
"""

# %%
import math

import torch
import torch.distributed as dist

from warpwise import check, run_ranks

# %% [markdown]
r"""
## Exercise 1 - Partners (1 point)

**Goal.** Say with whom a rank talks in recursive doubling.

**Given.** `rank`, and `n`, the number of ranks, a power of two.

**Required.** The list of the partners of the rank, round by round, nearest first. For one rank it is empty.

**Example.** `partners(5, 8)` is `[4, 7, 1]`.
"""


# %% partners tags=["exercise"]
def partners(rank, n):
    """The partners of a rank in recursive doubling, round by round."""
    ### BEGIN SOLUTION
    return [rank ^ (1 << k) for k in range(n.bit_length() - 1)]
    ### END SOLUTION


# %% tags=["check"]
check("partners", partners)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Write 5 and its three partners in binary. In what do they differ?
</details>
<details><summary>Hint 2</summary>
In one bit each: the last one first.
</details>
<details><summary>Hint 3</summary>
<code>rank ^ (1 &lt;&lt; k)</code> for each k from 0 to log2 n - 1.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - Where they meet (2 points)

**Goal.** Find the array size from which on the ring is faster than recursive doubling.

**Given.** `n`, a power of two from 2; `alpha_us`, the latency of a message in us; `gbs`, the bandwidth of a link in GB/s, 1e9 bytes.

**Required.** The size in *bytes* at which both take the same time, a float. For two ranks both send the same bytes, and the ring has more rounds, so it is never faster: return infinity, `math.inf`.

**Examples.** `meeting_bytes(8, 5.0, 25.0)` is 1,100,000, but for rounding. `meeting_bytes(4, 10.0, 1.0)` is 80,000.
"""


# %% meeting_bytes tags=["exercise"]
def meeting_bytes(n, alpha_us, gbs):
    """The bytes at which ring and recursive doubling take the same time."""
    ### BEGIN SOLUTION
    steps = n.bit_length() - 1
    more_rounds = 2 * (n - 1) - steps
    fewer_arrays = steps - 2 * (n - 1) / n
    if fewer_arrays == 0:
        return math.inf
    return alpha_us * 1e-6 * gbs * 1e9 * more_rounds / fewer_arrays
    ### END SOLUTION


# %% tags=["check"]
check("meeting_bytes", meeting_bytes)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
How many rounds does the ring need more, and how many times K does doubling send more?
</details>
<details><summary>Hint 2</summary>
The additional rounds cost alpha each. The additional bytes cost K/B each. Set both equal.
</details>
<details><summary>Hint 3</summary>
<code>alpha * B * (2 * (n - 1) - steps) / (steps - 2 * (n - 1) / n)</code> with <code>steps = log2 n</code>, alpha in seconds and B in bytes a second.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - Two levels, before you run (2 points)

**Goal.** Say what an all-reduce on two levels costs.

**Given.** `nodes` machines with `gpus` GPUs each, and an array of `nbytes`. `shared`: true if all GPUs of a machine share one network card, false if each has its own.

**Required.** Three numbers: the bytes that a GPU sends to others *inside* its machine, the bytes that leave the machine through *one card*, and the number of rounds. The counts of the lesson, as floats or whole numbers.

**Examples.** `two_level_bill(8, 8, 6400, False)` is (11200, 1400, 28). With `True` it is (11200, 11200, 28).
"""


# %% two_level_bill tags=["exercise"]
def two_level_bill(nodes, gpus, nbytes, shared):
    """(bytes of a GPU inside, bytes through a card, rounds) of an all-reduce on two levels."""
    ### BEGIN SOLUTION
    inside = 2 * (gpus - 1) * nbytes / gpus
    between = 2 * (nodes - 1) * nbytes / nodes / gpus
    return inside, between * gpus if shared else between, 2 * (gpus - 1) + 2 * (nodes - 1)
    ### END SOLUTION


# %% tags=["check"]
check("two_level_bill", two_level_bill)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Three steps: a reduce-scatter, an all-reduce, an all-gather. Among how many GPUs is each, and of how many bytes?
</details>
<details><summary>Hint 2</summary>
Inside: two halves of a ring of <code>gpus</code>, of the whole array. Between: a whole ring of <code>nodes</code>, of one piece.
</details>
<details><summary>Hint 3</summary>
<code>2 * (gpus - 1) / gpus * nbytes</code>; <code>2 * (nodes - 1) / nodes * nbytes / gpus</code>, times <code>gpus</code> if shared; <code>2 * (gpus - 1) + 2 * (nodes - 1)</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - Any number of ranks (3 points)

This is recursive doubling. It works for 2, 4 and 8 ranks. With 3 it fails:
"""


# %%
def doubling(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    total = x.clone()
    bit = 1
    while bit < n:
        came = torch.empty_like(total)
        sending = dist.isend(total, rank ^ bit)
        dist.recv(came, rank ^ bit)
        sending.wait()
        total = total + came
        bit *= 2
    return total


outcome = run_ranks(doubling, 3, torch.ones(2), raises=False)
print(outcome.first)

# %% [markdown]
r"""
Rank 2 has no partner 3. **Goal.** Make it work for any number of ranks.

The usual way: let p be the largest power of two that is not larger than n. Each of the n - p *extra* ranks, p and above, first sends its array to rank - p, which adds it. Then the first p ranks double. At the end the extra ranks get the sum back.

**Given.** `x`: a float64 tensor, of the same shape on all ranks.

**Required.** Return the sum over all ranks on every rank. Messages only. With log2 p rounds, and two more if there are extra ranks. `x` stays as it is.

**Example.** Three ranks with 1, 2 and 3 return 6 each: p is 2, and rank 2 is extra.
"""


# %% doubling_sum tags=["exercise"]
def doubling_sum(x):
    """The sum over all ranks by recursive doubling, for any number of ranks."""
    ### BEGIN SOLUTION
    rank, n = dist.get_rank(), dist.get_world_size()
    p = 1 << (n.bit_length() - 1)
    total = x.clone()
    if rank >= p:
        dist.send(total, rank - p)
        dist.recv(total, rank - p)
        return total
    came = torch.empty_like(total)
    if rank + p < n:
        dist.recv(came, rank + p)
        total += came
    bit = 1
    while bit < p:
        sending = dist.isend(total, rank ^ bit)
        dist.recv(came, rank ^ bit)
        sending.wait()
        total = total + came
        bit *= 2
    if rank + p < n:
        dist.send(total, rank + p)
    return total
    ### END SOLUTION


# %% tags=["check"]
check("doubling_sum", doubling_sum)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Three kinds of ranks: those that are extra, those that take one in, and those that only double. What does each do before and after?
</details>
<details><summary>Hint 2</summary>
<code>p = 1 &lt;&lt; (n.bit_length() - 1)</code>. A rank r below p has an extra rank if <code>r + p &lt; n</code>.
</details>
<details><summary>Hint 3</summary>
Extra: send to rank - p, receive from there, return. Others: receive and add if there is an extra rank; double with <code>bit &lt; p</code>; send the sum to the extra rank.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - The busiest link (2 points)

**Goal.** Find out how many bytes the busiest link carries in one round.

**Given.** `messages`: a list of pairs (source, destination) of GPUs; all send `nbytes` at the same time. GPU g is in machine g // `gpus`. Each machine has one card, which all messages to or from other machines pass, in either direction separately: one way out and one way in.

**Required.** The bytes of the busiest *way* of any card, out or in. Messages inside a machine do not count. If nothing crosses, 0.

**Example.** With 2 GPUs a machine, `busiest_card([(0, 1), (1, 2), (0, 3), (2, 0)], 10, 2)` is 20: two messages leave machine 0 and come into machine 1; one goes back.
"""


# %% busiest_card tags=["exercise"]
def busiest_card(messages, nbytes, gpus):
    """The bytes of the busiest way, out or in, of any machine's card."""
    ### BEGIN SOLUTION
    ways = {}
    for source, destination in messages:
        one, other = source // gpus, destination // gpus
        if one != other:
            for way in (("out", one), ("in", other)):
                ways[way] = ways.get(way, 0) + nbytes
    return max(ways.values(), default=0)
    ### END SOLUTION


# %% tags=["check"]
check("busiest_card", busiest_card)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Which two ways does a message take that goes from one machine to another?
</details>
<details><summary>Hint 2</summary>
Out of the source's machine and into the destination's. Add up the bytes of each way in a dictionary.
</details>
<details><summary>Hint 3</summary>
For each message with <code>source // gpus != destination // gpus</code>, add <code>nbytes</code> to <code>("out", source // gpus)</code> and to <code>("in", destination // gpus)</code>. Return the largest.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - Two levels for real (4 points, stretch)

**Goal.** Build the all-reduce on two levels, on a network with slow links between machines.

**Given.** `x`: a float64 tensor whose length is a multiple of the number of ranks. `gpus`: GPUs in a machine; rank r is in machine r // `gpus`. `net`: this rank's network, as in `t3_02_ring`:
`net.rank`, `net.size`, `net.sendrecv(out, to, into, source)`, which sends and receives at the same time and keeps the clock.

**Required.** Return the sum over all ranks on every rank. The last rank has to be done when the formula says: 2 (g - 1) rounds inside, of K/g each, and 2 (m - 1) rounds between, of K/(g m) each, for m machines.

For comparison, 2 machines of 2 GPUs, 32 KB, 1 us and 100 GB/s inside, 10 us and 1 GB/s between: one ring takes 108.0 us, recursive doubling 43.3, two levels 38.3, modelled.
"""


# %% two_level_sum tags=["exercise"]
def two_level_sum(x, gpus, net):
    """The sum over all ranks: reduce-scatter inside, all-reduce between, all-gather inside."""
    ### BEGIN SOLUTION
    machine, place = net.rank // gpus, net.rank % gpus
    nodes = net.size // gpus
    inside = [machine * gpus + k for k in range(gpus)]
    between = [k * gpus + place for k in range(nodes)]

    def half_ring(ring, pieces, ahead, add):
        """n - 1 rounds round a ring of ranks; changes the pieces."""
        me, n = ring.index(net.rank), len(ring)
        came = torch.empty_like(pieces[0])
        for step in range(n - 1):
            out, into = (me + ahead - step) % n, (me + ahead - step - 1) % n
            net.sendrecv(pieces[out], ring[(me + 1) % n], came, ring[me - 1])
            pieces[into].copy_(pieces[into] + came if add else came)

    pieces = list(x.clone().chunk(gpus))
    half_ring(inside, pieces, 0, add=True)
    mine = pieces[(place + 1) % gpus]
    parts = list(mine.chunk(nodes))
    half_ring(between, parts, 0, add=True)
    half_ring(between, parts, 1, add=False)
    half_ring(inside, pieces, 1, add=False)
    return torch.cat(pieces)
    ### END SOLUTION


# %% tags=["check"]
check("two_level_sum", two_level_sum)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
It is three times the ring of <code>t3_02_ring</code>, among other ranks each time. Write a function for half a ring, and give it the list of ranks.
</details>
<details><summary>Hint 2</summary>
The ring inside has the ranks of your machine; the ring between has the ranks with your place, <code>rank % gpus</code>, of all machines. Which piece have you finished after the first half?
</details>
<details><summary>Hint 3</summary>
Piece <code>(place + 1) % gpus</code>. Cut it into as many parts as there are machines, run both halves of the ring between on them, then the second half of the ring inside on the pieces.
</details>
"""
