# %% [markdown]
r"""
# Lab: deadlocks

Six exercises on ranks that wait, with what you saw in the lesson `t3_05_deadlocks`. They take about 45 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

A function of exercises 3 and 4 that waits for ever is found after about five seconds.

Run this cell first.
"""

# %%
import torch
import torch.distributed as dist

from warpwise import check, run_ranks

# %% [markdown]
r"""
## Exercise 1 - Where the logs differ (1 point)

**Goal.** Find the place to look at in the logs of a run that stands still.

**Given.** `logs`: a list by rank of lists of calls, strings. All calls are in one group.

**Required.** Two values: the first position at which not all ranks have the same call, and the list of the ranks that differ from *the majority* there, in ascending order. A log that has ended counts as a call of its own.
If all logs are the same, return `(-1, [])`. There is always a majority.

**Example.** `first_difference([["a", "b"], ["a", "b"], ["a", "c"]])` is `(1, [2])`.
`first_difference([["a"], ["a", "b"], ["a", "b"]])` is `(1, [0])`.
"""


# %% first_difference tags=["exercise"]
def first_difference(logs):
    """(position, ranks that differ from the majority) of the first difference, or (-1, [])."""
    ### BEGIN SOLUTION
    for position in range(max(len(log) for log in logs)):
        calls = [log[position] if position < len(log) else None for log in logs]
        usual = max(calls, key=calls.count)
        others = [rank for rank, call in enumerate(calls) if call != usual]
        if others:
            return position, others
    return -1, []
    ### END SOLUTION


# %% tags=["check"]
check("first_difference", first_difference)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Go through the positions, not through the ranks. How far?
</details>
<details><summary>Hint 2</summary>
At each position collect the call of each rank, with something else where a log has ended. Which of these is the most frequent?
</details>
<details><summary>Hint 3</summary>
<code>usual = max(calls, key=calls.count)</code>; the ranks whose call is not that one are the answer, if there are any.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - The circle (2 points)

**Goal.** Find the ranks that wait for each other in a circle.

**Given.** `waits_for`: a list by rank with the rank that it waits for, or -1 for one that does not wait. Ranks may wait for a rank of the circle without being in it.

**Required.** The ranks of the circle, in the order in which they wait, starting with the smallest. If there is none, the empty list. There is at most one.

**Examples.** `waiting_circle([1, 2, 0])` is `[0, 1, 2]`. `waiting_circle([3, 3, -1, 1])` is `[1, 3]`: rank 0 waits for rank 3, but nobody waits for rank 0. `waiting_circle([1, 2, -1])` is `[]`.
"""


# %% waiting_circle tags=["exercise"]
def waiting_circle(waits_for):
    """The ranks of the circle, starting with the smallest; [] if there is none."""
    ### BEGIN SOLUTION
    for start in range(len(waits_for)):
        circle, rank = [start], waits_for[start]
        while rank not in (-1, start) and rank not in circle:
            circle.append(rank)
            rank = waits_for[rank]
        if rank == start:
            return circle
    return []
    ### END SOLUTION


# %% tags=["check"]
check("waiting_circle", waiting_circle)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Start at a rank and follow the arrows. How may that end?
</details>
<details><summary>Hint 2</summary>
At -1, at the rank where you started, or in a circle to which your start does not belong. Remember where you have been.
</details>
<details><summary>Hint 3</summary>
Try each rank as a start, in ascending order. Follow the arrows until -1 or a rank you have seen. If that is the start, the ranks on the way are the answer.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - Wrong in silence (2 points)

Each rank has the gradients of the same parameters, but they came out of a file in another order. This function runs to its end, and its result is wrong:
"""


# %%
def broken_sums(names, values):
    for value in values:
        dist.all_reduce(value)
    return values


def show_broken():
    rank = dist.get_rank()
    names = ["weight", "bias"] if rank == 0 else ["bias", "weight"]
    values = torch.tensor([100.0 + rank, 1.0 + rank] if rank == 0 else [1.0 + rank, 100.0 + rank])
    return dict(zip(names, broken_sums(names, values.clone()).tolist(), strict=True))


print(run_ranks(show_broken, 2)[0], "  right: weight 201, bias 3")

# %% [markdown]
r"""
**Goal.** Mend it.

**Given.** `names`: a list of strings, the same on all ranks but in another order on each. `values`: a one-dimensional float64 tensor; `values[k]` belongs to `names[k]`.

**Required.** Return a tensor with the sums over all ranks in the order of *this rank's* `names`. One collective is enough, and no more are allowed.

**Example.** Rank 0 has the names a, b and the values 1, 2. Rank 1 has b, a and 10, 20. Rank 0 returns 21, 12, and rank 1 returns 12, 21.
"""


# %% summed_by_name tags=["exercise"]
def summed_by_name(names, values):
    """The sums over all ranks, in the order of this rank's names."""
    ### BEGIN SOLUTION
    order = sorted(range(len(names)), key=lambda k: names[k])
    sums = values[order].clone()
    dist.all_reduce(sums)
    result = torch.empty_like(values)
    result[order] = sums
    return result
    ### END SOLUTION


# %% tags=["check"]
check("summed_by_name", summed_by_name)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Which order of the names do all ranks know without asking?
</details>
<details><summary>Hint 2</summary>
Sort the values by their names, sum all of them in one call, and put them back.
</details>
<details><summary>Hint 3</summary>
<code>order = sorted(range(len(names)), key=lambda k: names[k])</code>; all-reduce <code>values[order]</code>, and store it with <code>result[order] = sums</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - The last batch (2 points)

Ranks have different numbers of batches. This epoch does not end:
"""


# %%
def broken_epoch(losses):
    sums = []
    for loss in losses:
        total = loss.clone()
        dist.all_reduce(total)
        sums.append(total.item())
    return sums


def show_hang():
    return broken_epoch(torch.ones(2 if dist.get_rank() == 0 else 3))


outcome = run_ranks(show_hang, 2, raises=False)
print(outcome.diagnosis.sentence)

# %% [markdown]
r"""
**Goal.** Mend it: ranks without a batch take part with a loss of 0.

**Given.** `losses`: a one-dimensional float64 tensor, one loss for each batch of this rank. Some ranks may have none.

**Required.** Return, on every rank, the list of the sums over all ranks, one float for each step: as many steps as the rank with the most batches has. If no rank has any, the empty list.
At most one collective more than there are steps; two are always allowed.

**Example.** Rank 0 has 1, 2 and rank 1 has 10, 20, 30: both return [11.0, 22.0, 30.0].
"""


# %% epoch_sums tags=["exercise"]
def epoch_sums(losses):
    """The sum of each step's losses over all ranks, as a list of floats."""
    ### BEGIN SOLUTION
    steps = torch.tensor(len(losses))
    dist.all_reduce(steps, dist.ReduceOp.MAX)
    padded = torch.zeros(int(steps), dtype=losses.dtype)
    padded[: len(losses)] = losses
    dist.all_reduce(padded)
    return padded.tolist()
    ### END SOLUTION


# %% tags=["check"]
check("epoch_sums", epoch_sums)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
What must all ranks know before the first step?
</details>
<details><summary>Hint 2</summary>
An all-reduce with <code>dist.ReduceOp.MAX</code> gives all ranks the largest number of batches.
</details>
<details><summary>Hint 3</summary>
Then make that number of steps on every rank, with a zero where there is no batch. Or fill up with zeros, and sum all steps in one call.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - What waiting costs (1 point)

**Goal.** Say how long a run takes, before it runs.

**Given.** `ms`: a list of steps; each step is a list by rank of the time that the rank computes. `comm_ms`: what a collective takes, once all ranks have come. `every`: the ranks meet in a collective after each `every` steps, and at the end if steps are left over. At least one step.

**Required.** The time until the last collective has ended, in ms.

**Examples.** With `ms = [[10, 15], [15, 10]]` and `comm_ms = 1`: `run_time(ms, 1, 1)` is 32, and `run_time(ms, 1, 2)` is 26.
"""


# %% run_time tags=["exercise"]
def run_time(ms, comm_ms, every):
    """The ms of a run whose ranks meet after each `every` steps."""
    ### BEGIN SOLUTION
    total = 0
    for first in range(0, len(ms), every):
        part = ms[first : first + every]
        total += max(sum(times) for times in zip(*part, strict=True)) + comm_ms
    return total
    ### END SOLUTION


# %% tags=["check"]
check("run_time", run_time)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Between two meetings nobody waits. Who is the last one at the next?
</details>
<details><summary>Hint 2</summary>
Cut the steps into parts of <code>every</code>. For each part add up the times of each rank, and take the largest.
</details>
<details><summary>Hint 3</summary>
For each part: <code>max(sum(times) for times in zip(*part))</code>, plus <code>comm_ms</code>. The last part may be shorter.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - A late rank in a ring (2 points, stretch)

**Goal.** Say when each rank of a ring is done, if they do not begin together and one link is slow.

**Given.** `begin_us`: a list by rank of the time at which the rank begins. `link_us`: a list by rank of what a message takes from the rank's *left neighbour* to the rank. `steps`: in each step, each rank sends one message to its right neighbour and receives one from the left.
A message leaves when its sender has done the step before; it takes the link's time from the moment at which *both* sender and receiver are ready. A rank has done a step when its message has come *and* the one that it sent has arrived.

**Required.** The list of the times at which the ranks have done all steps.

For comparison: a rank that is 100 us late makes a ring of 4 ranks with 10 us a link end at 160 us after 6 steps, on all ranks. After one step: 110, 110, 10 and 110 us for the ranks 0 to 3, if rank 0 is late. Its left neighbour, rank 3, waits with its message.
"""


# %% ring_ends tags=["exercise"]
def ring_ends(begin_us, link_us, steps):
    """When each rank has done all steps, in us."""
    ### BEGIN SOLUTION
    n = len(begin_us)
    clocks = list(begin_us)
    for _ in range(steps):
        came = [max(clocks[rank], clocks[rank - 1]) + link_us[rank] for rank in range(n)]
        clocks = [max(came[rank], came[(rank + 1) % n]) for rank in range(n)]
    return clocks
    ### END SOLUTION


# %% tags=["check"]
check("ring_ends", ring_ends)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Compute for each rank when the message from the left has come. Which two clocks decide?
</details>
<details><summary>Hint 2</summary>
<code>came[rank] = max(clocks[rank], clocks[rank - 1]) + link_us[rank]</code>. When has the message that the rank sent arrived?
</details>
<details><summary>Hint 3</summary>
When its right neighbour has it: the new clock is the later of <code>came[rank]</code> and <code>came[(rank + 1) % n]</code>. Compute all new clocks from the old ones.
</details>
"""
