# %% [markdown]
r"""
# Lab: pipeline parallelism

Five exercises on schedules of a pipeline, with what you saw in the lesson `t3_10_pipeline`. They take about 60 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

Times are *modelled*: a forward pass F of one microbatch through one rank's layers takes 1, a full backward pass B takes 2, and messages are free where nothing else is said. Passes, memory and messages are *counted*.

Run this cell first.
"""

# %%
import torch
import torch.distributed as dist

from warpwise import check, run_ranks
from warpwise.fabric.schedules import Schedule, Times, interleaved, simulate
from warpwise.show import show_schedule

# %% [markdown]
r"""
## Exercise 1 - The bill of a pipeline (2 points)

**Goal.** Say what a pipeline costs before you run it.

**Given.** `p` ranks (at least two), `m` microbatches (a multiple of `p`), and `v` chunks a rank: v = 1 is plain 1F1B, v > 1 is the interleaved schedule.

**Required.** Four numbers: the makespan; the bubble as a share of the ideal time; the bubble as a share of the makespan; how many messages all ranks together send in one step, forward and backward.

**Example.** `pipeline_bill(4, 8, 1)` is `(33.0, 0.375, 0.2727..., 48)`.
"""


# %% pipeline_bill tags=["exercise"]
def pipeline_bill(p, m, v):
    """(makespan, bubble over ideal, bubble over makespan, messages) of one step."""
    ### BEGIN SOLUTION
    ideal = 3 * m
    bubble = 3 * (p - 1) / v
    return ideal + bubble, bubble / ideal, bubble / (ideal + bubble), 2 * m * (p * v - 1)
    ### END SOLUTION


# %% tags=["check"]
check("pipeline_bill", pipeline_bill)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
How long does the last rank wait for its first pass, and the first rank for its last one? How many stages are there in all?
</details>
<details><summary>Hint 2</summary>
The ideal time is 3 m. The bubble is that of the plain pipeline, divided by the chunks. A microbatch goes through p v stages.
</details>
<details><summary>Hint 3</summary>
<code>bubble = 3 * (p - 1) / v</code>, and <code>2 * m * (p * v - 1)</code> messages.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - When memory is short (4 points)

**Goal.** Write a scheduler that never holds more than fits, never stands still for ever, and wastes no time.

In 1F1B rank r holds p - r microbatches. Here each rank has room for its own number, perhaps for fewer. Then strict turns are not the best any more: with 4 ranks and 4 microbatches, of which 2 fit on each rank, turns take 33, and 27 are possible.

**Given.** `p` ranks, `m` microbatches, and `fits[rank]`: how many microbatches the rank can hold at once, at least 1. A microbatch is held from the beginning of its F to the end of its B.

**Required.** A list with one list for each rank: its passes in order, as texts such as `"F0"` and `"B0"`. No rank ever holds more than fits. The makespan is no longer than that of this rule, *list scheduling*:

*At each time, a rank that is free starts a B if one is ready; else an F, if one is ready and there is room for it; else it waits.*
Microbatches are taken in ascending order. An F is ready when the rank before has ended its F of that microbatch; a B when this rank's F, and the next rank's B of it, have ended.

**Example.** `fitted_order(2, 3, [2, 1])` is `[["F0", "F1", "B0", "F2", "B1", "B2"], ["F0", "B0", "F1", "B1", "F2", "B2"]]`. Below the check you can draw yours.

Does the check not come back? Then your loop waits for a pass that never becomes ready. Stop it (Kernel, Interrupt).
All passes one after the other take 3 p m: with `for time in range(3 * p * m)` instead of `while` every loop ends, and the check says which pass is missing.
"""


# %% fitted_order tags=["exercise"]
def fitted_order(p, m, fits):
    """For each rank the list of its passes, in order."""
    ### BEGIN SOLUTION
    orders = [[] for _ in range(p)]
    forwards, backwards, free = [0] * p, [0] * p, [0] * p
    end = {}  # (pass, rank) -> time
    time = 0
    while min(backwards) < m:
        start = []
        for rank in range(p):
            f, b = forwards[rank], backwards[rank]
            b_came = rank == p - 1 or end.get((f"B{b}", rank + 1), time + 1) <= time
            f_came = rank == 0 or end.get((f"F{f}", rank - 1), time + 1) <= time
            if free[rank] > time:
                continue
            if b < f and b_came:
                start.append((rank, "B"))
            elif f < m and f - b < fits[rank] and f_came:
                start.append((rank, "F"))
        for rank, kind in start:
            count = forwards if kind == "F" else backwards
            name = f"{kind}{count[rank]}"
            count[rank] += 1
            free[rank] = end[name, rank] = time + (1 if kind == "F" else 2)
            orders[rank].append(name)
        time += 1
    return orders
    ### END SOLUTION


# %% tags=["check"]
check("fitted_order", fitted_order)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Let the time go up in steps of 1. What does a rank have to know about itself and its two neighbours, to decide what it starts now?
</details>
<details><summary>Hint 2</summary>
Keep for each rank how many F and B it has begun and when it is free again, and in a dictionary when each pass ends. A pass of the neighbour has come when its end is at most the time. First choose for all ranks, then write down: what starts now has not ended.
</details>
<details><summary>Hint 3</summary>
Rank r runs B number b = backwards[r] if b < forwards[r] and (r is the last, or B b of rank r + 1 has ended). Else F number f = forwards[r] if f < m, f - b < fits[r], and (r is 0, or F f of rank r - 1 has ended). After the choice, its end is time + 2 or time + 1.
</details>
"""

# %% [markdown]
r"""
When yours is right, this cell draws it:
"""

# %%
try:
    drawn = show_schedule(Schedule(fitted_order(4, 4, [2, 2, 2, 2])))
except NotImplementedError:
    drawn = "exercise 2 is to do"
drawn

# %% [markdown]
r"""
## Exercise 3 - Run it for real (4 points)

**Goal.** Run any such order on ranks, with real tensors: the gradients of one process, without a deadlock, and in no more memory than the order needs.

Each rank has one layer, `y = torch.tanh(x @ weight)`. The output of rank r is the input of rank r + 1. The loss of the whole batch is the mean of `(y - target) ** 2` over all numbers of all microbatches, with the last rank's y.

**Given.** On each rank `order`: its own passes, a list such as `["F0", "F1", "B0", "B1"]`; `weight`: [h, h]; `inputs` and `targets`: lists of m tensors [rows, h]. Only rank 0 has the real inputs and only the last rank the real targets: elsewhere they are NaN, but have the right shape and dtype. There may be one rank alone.
Microbatches need not come in ascending order. Neighbours have the same order of F, and of B. The orders are such that a rank which, between two passes, sends what the last one made *and* receives what the next one needs, both at once, never waits for ever.

**Required.** Run the passes in the given order, and return two values: on the last rank the list of the losses of the microbatches, as plain numbers, in the order in which it ran their F, each with its share of the whole batch's loss, so that they add up to it; on the other ranks an empty list. And the gradient of the whole batch's loss with respect to this rank's weight.
Messages only, no collectives: one activation and one gradient for each microbatch at each border. With the order of 1F1B on p ranks no rank may hold, at any moment, more tensors than fill 2 p + 9 activations: x and y of p microbatches, and what is under way. What it was given does not count.

**Example.** One rank, `order` `["F0", "B0"]`, `weight` 0, one input 1 and target 1, all of one number: y is 0, the loss is 1 and the gradient -2. The function returns `([1.0], tensor([[-2.]]))`.
"""


# %% run_order tags=["exercise"]
def run_order(order, weight, inputs, targets):
    """([losses in the order run], gradient of this rank's weight)."""
    ### BEGIN SOLUTION
    rank, n = dist.get_rank(), dist.get_world_size()
    weight.requires_grad_()
    held, losses, out = {}, [], None  # out: (what goes, to which rank)
    for step in [*order, None]:
        messages, came = [], None
        if out is not None:
            messages.append(dist.P2POp(dist.isend, *out))
        source = None if step is None else rank - 1 if step[0] == "F" else rank + 1
        if source in range(n):
            came = torch.empty_like(inputs[0])
            messages.append(dist.P2POp(dist.irecv, came, source))
        if messages:
            for work in dist.batch_isend_irecv(messages):
                work.wait()
        out = None
        if step is None:
            break
        k = int(step[1:])
        if step[0] == "F":
            x = inputs[k] if rank == 0 else came.requires_grad_()
            y = torch.tanh(x @ weight)
            if rank == n - 1:
                y = ((y - targets[k]) ** 2).mean() / len(inputs)
                losses.append(y.item())
            else:
                out = y.detach(), rank + 1
            held[k] = x, y
        else:
            x, y = held.pop(k)
            y.backward(came)
            if rank > 0:
                out = x.grad, rank - 1
    return losses, weight.grad
    ### END SOLUTION


# %% tags=["check"]
check("run_order", run_order)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Go through the order, and write down before each pass what it needs from a neighbour, and after it what a neighbour needs. Which rank has no neighbour on that side? What do you have to keep from an F until its B?
</details>
<details><summary>Hint 2</summary>
Remember what the last pass made and for whom. Before a pass, put that <code>dist.P2POp(dist.isend, ...)</code> and the <code>dist.P2POp(dist.irecv, ...)</code> of this pass into one list for <code>dist.batch_isend_irecv</code>, and wait for all. What the last pass of all made has to be sent, too. An input that came from another rank needs <code>requires_grad_()</code> before the forward; its <code>.grad</code> is what goes back.
</details>
<details><summary>Hint 3</summary>
F: <code>x = inputs[k] if rank == 0 else came.requires_grad_()</code>, <code>y = torch.tanh(x @ weight)</code>; on the last rank y becomes the loss of k, divided by <code>len(inputs)</code>; <code>held[k] = x, y</code>; send <code>y.detach()</code>. B: <code>x, y = held.pop(k)</code>, <code>y.backward(came)</code> with <code>came</code> None on the last rank; send <code>x.grad</code>. At the end return <code>weight.grad</code>.
</details>
"""

# %% [markdown]
r"""
To try yours on the example, on one rank:
"""

# %%
one = torch.ones(1, 1)
outcome = run_ranks(run_order, 1, ["F0", "B0"], 0 * one, [one], [one], raises=False)
print(outcome.values if outcome.ok else outcome.first)

# %% [markdown]
r"""
## Exercise 4 - How many chunks? (2 points)

**Goal.** Choose v of the interleaved schedule: more chunks make the bubble smaller, and cost messages and memory.

**Given.** `p` ranks with `layers` layers each, `m` microbatches (a multiple of p), `send`: the time a message takes from the end of a pass to the start of the neighbour's, and `fits`: how many microbatches a rank can hold, perhaps no whole number, as a chunk is a part of a stage.

**Required.** The number of chunks v with the shortest makespan. All chunks have equally many layers, so v divides `layers`; v = 1 is plain 1F1B. The peak is at most `fits`. If two are equally fast, the smaller v. If none fits, 0.

`simulate(interleaved(p, m, v), Times(send=send))` gives you `.makespan` and `.peak`.

**Example.** With `p` = 4, `m` = 8, `layers` = 4 and no time for messages, 1, 2 and 4 chunks take 33, 28.5 and 26.25, and hold 4, 5.5 and 4.75. So `best_chunks(4, 8, 4, 0.0, 5.0)` is 4.
"""


# %% best_chunks tags=["exercise"]
def best_chunks(p, m, layers, send, fits):
    """The best number of chunks a rank, or 0."""
    ### BEGIN SOLUTION
    best, shortest = 0, float("inf")
    for v in range(1, layers + 1):
        if layers % v == 0:
            ran = simulate(interleaved(p, m, v), Times(send=send))
            if ran.peak <= fits and ran.makespan < shortest:
                best, shortest = v, ran.makespan
    return best
    ### END SOLUTION


# %% tags=["check"]
check("best_chunks", best_chunks)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Which v are possible at all? Try them all.
</details>
<details><summary>Hint 2</summary>
Go through the divisors of layers in ascending order, leave out those whose peak is larger than fits, and keep the one with the shortest makespan so far.
</details>
<details><summary>Hint 3</summary>
<code>ran = simulate(interleaved(p, m, v), Times(send=send))</code>; if <code>ran.peak <= fits</code> and <code>ran.makespan < shortest</code>, remember v. Begin with best = 0.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - No bubble (4 points, stretch)

**Goal.** Write the zero-bubble schedule, for any memory between that of 1F1B and twice as much. List scheduling, as in exercise 2, is not good enough here.

A backward pass may be split into I, the gradient of the input, and W, that of the weights. F, I and W take 1 each, B takes 2. I of a rank waits for I of the next rank; W waits only for its own I.

**Given.** `p` ranks, `m` microbatches (at least 2 p - 1), and `fits`, at least p: how many microbatches each rank can hold, from the beginning of F to the end of W.

**Required.** A list by rank of lists of passes: each microbatch has F, I and W once on each rank, or F and B. No rank holds more than `fits`. Each rank takes as little time as is possible, from its *own* first pass to its own last.
What is possible? Rank 0 has its first I at the time 2 p - 1, since a wave has to go down p ranks and come back. Until then it can only run forwards, at most `fits`. So it takes 3 m + (2 p - 1 - fits), or 3 m where fits is larger than 2 p - 1. No rank may take longer than that.

For comparison, with p = 4, m = 8 and fits = 4: 1F1B takes 33, list scheduling 29, and 27 are possible.

**Example.** `zero_bubble(2, 4, 2)` could be `[["F0", "F1", "I0", "W0", "F2", "I1", "W1", "F3", "I2", "W2", "I3", "W3"], ["F0", "I0", "F1", "I1", "W0", "F2", "I2", "W1", "F3", "I3", "W2", "W3"]]`: 13, which is 3 x 4 + (3 - 2).
"""


# %% zero_bubble tags=["exercise"]
def zero_bubble(p, m, fits):
    """For each rank the list of its passes, in order."""
    ### BEGIN SOLUTION
    fits = min(fits, 2 * p - 1)
    orders = []
    for rank in range(p):
        first = p - 1 - rank + min(p - 1 - rank, fits - p)
        late = fits - 1 - first  # how many W wait when memory is full
        order = [f"F{k}" for k in range(first)]
        for k in range(m):
            if first + k < m:
                order.append(f"F{first + k}")
            order.append(f"I{k}")
            if k >= late:
                order.append(f"W{k - late}")
        orders.append(order + [f"W{k}" for k in range(m - late, m)])
    return orders
    ### END SOLUTION


# %% tags=["check"]
check("zero_bubble", zero_bubble)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Draw the example with <code>show_schedule(Schedule(...))</code>. Which rank puts its W off, and what does it gain? Which rank needs many forwards at the beginning, and which needs few?
</details>
<details><summary>Hint 2</summary>
Fix two numbers for each rank: how many forwards it begins with, and how many W it puts off. Then it goes on with F, I, W in turn. The number of microbatches that it holds is the sum of the two, and one more; that is fits. In the memory of 1F1B it begins with p - 1 - rank forwards.
</details>
<details><summary>Hint 3</summary>
<code>first = (p - 1 - rank) + min(p - 1 - rank, fits - p)</code>, with fits at most 2 p - 1, and <code>late = fits - 1 - first</code>. First these forwards; then for each k: F of first + k if there is one, I of k, and W of k - late if that is not negative. At the end the late W.
</details>
"""
