# %% [markdown]
r"""
# Deadlocks: who waits for whom, and who makes all others late

**The run has stood still for two hours. All 64 GPUs show 100 percent utilisation, and no rank has an error. How do you find the one that is to blame?**

At the end of this lesson you can

- name the five ways in which ranks come to wait for each other for ever,
- find the guilty rank in the logs of all ranks, without running anything,
- recognise the mistake that does not stop the run and makes wrong numbers instead,
- say what a slow rank costs all others, and why more ranks make it worse.

You need the lesson `t3_02_ring` and about 40 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.distributed as dist

from warpwise import run_ranks
from warpwise.fabric import Link, Net, Network

# %% [markdown]
r"""
## 1. Two calls in different order

A collective on a GPU is a kernel that waits for the other ranks, so a GPU that waits looks busy: that is the 100 percent.

Ranks do not exchange the *names* of their calls. Each counts its collectives, and the k-th call of one rank meets the k-th of the others, whatever it is.
Here rank 1 makes its two calls in another order than the others. What happens?
"""

# %%
guess = "?"


def two_orders():
    loss, weights = torch.ones(1), torch.ones(4)
    if dist.get_rank() == 1:
        dist.broadcast(weights, src=0)
        dist.all_reduce(loss)
    else:
        dist.all_reduce(loss)
        dist.broadcast(weights, src=0)
    return loss.item()


outcome = run_ranks(two_orders, 3, raises=False)
print("guess:", guess)
print(outcome.diagnosis.sentence)

# %% [markdown]
r"""
They wait **for ever**. The launcher has asked each rank what it is doing, and compared. This is what you can do with any run that stands still, if each rank writes a log of its calls: *look for the first place where the logs differ*.

## 2. The same shape: no deadlock, and worse

Two ranks add up two gradients, `weight` and `bias`, each a single number. Rank 0 goes through them in the order weight, bias; rank 1 in the order bias, weight, perhaps because it took them from a set.
Rank 0 has weight 100 and bias 1, rank 1 has weight 101 and bias 2. What is the result?
"""

# %%
guesses = {"weight": "?", "bias": "?"}  # on rank 0


def swapped():
    rank = dist.get_rank()
    gradients = {"weight": torch.tensor([100.0 + rank]), "bias": torch.tensor([1.0 + rank])}
    names = ["weight", "bias"] if rank == 0 else ["bias", "weight"]
    for name in names:
        dist.all_reduce(gradients[name])
    return {name: gradient.item() for name, gradient in gradients.items()}


outcome = run_ranks(swapped, 2)
print("guesses:", guesses)
print("rank 0:", outcome[0], "  right: weight 201, bias 3")
print("diagnosis:", outcome.diagnosis.sentence or "none")

# %% [markdown]
r"""
**102** and **102**: 100 + 2, and 1 + 101. The run ends, nothing is reported, and the model learns from nonsense.
Both calls come from the same line and have the same shape, so not even the launcher can tell. With different lines it would compare them; with different shapes, the run would fail.

So go through names in a *sorted* order, never in that of a set or of a file system. This holds for everything that decides about a collective.

## 3. One rank makes fewer calls

The data are dealt out, and rank 0 has one batch less. It leaves its loop, and returns. What do the others do?
"""

# %%
guess = "?"


def uneven():
    total = torch.zeros(1)
    for batch in range(2 if dist.get_rank() == 0 else 3):
        loss = torch.tensor([float(batch)])
        dist.all_reduce(loss)
        total += loss
    return total.item()


outcome = run_ranks(uneven, 3, raises=False)
print("guess:", guess)
print(outcome.diagnosis.sentence)

# %% [markdown]
r"""
They wait for its third call. The same happens when a rank raises an exception that is caught, or takes another branch because its loss is NaN.
What decides about a call must be the same on all ranks: agree on it first, for instance with an all-reduce of the largest number of batches.

## 4. Two groups

With groups there is one counter for each group. Both calls below are right, if you look at either group alone. Rank 0 uses the first group first, rank 1 the second. What happens?
"""

# %%
guess = "?"


def crossed():
    groups = [dist.new_group([0, 1]), dist.new_group([0, 1])]
    x = torch.ones(1)
    order = (0, 1) if dist.get_rank() == 0 else (1, 0)
    for k in order:
        dist.all_reduce(x, group=groups[k])
    return x.item()


outcome = run_ranks(crossed, 2, raises=False)
print("guess:", guess)
print(outcome.diagnosis.sentence)

# %% [markdown]
r"""
A circle: rank 0 waits for rank 1 in the first group, and rank 1 for rank 0 in the second. It is the same as the circle of sends in `t3_02_ring`.

Here are all five ways together.

| what | how it shows in the logs | cure |
|---|---|---|
| different order | at the same position, different calls | one order on all ranks |
| a call left out | one log is shorter, its rank is elsewhere | all ranks call, or a group |
| different numbers of calls | one log is shorter, its rank has finished | agree on the number |
| a circle of messages | each is in a send | receive first on some, or `isend` |
| a circle of groups | each is in another group | one order of groups |

## 5. Reading logs

A rank that waits says little. Often the important one is that which does *not* wait in the same place.
These are the logs of four ranks of a run that stands still; all calls are in one group, and each rank is still in its last call, or has ended. Which rank is to blame?
"""

# %%
guess = "?"  # a rank

logs = [
    ["broadcast", "all_reduce", "all_reduce", "all_gather"],
    ["broadcast", "all_reduce", "all_reduce", "all_gather"],
    ["broadcast", "all_reduce", "all_gather"],
    ["broadcast", "all_reduce", "all_reduce", "all_gather"],
]
for position in range(max(map(len, logs))):
    calls = [log[position] if position < len(log) else "-" for log in logs]
    same = "same" if len(set(calls)) == 1 else "<- differs"
    print(f"{position}: {calls}  {same}")
print("guess:", guess)

# %% [markdown]
r"""
**Rank 2** left out an all-reduce, the third call. Its all-gather met the third call of the others, an all-reduce. The library did not compare them, so both may have returned, with nonsense in them, and now the others wait in an all-gather that rank 2 never makes.
So the last lines of the logs do not show the fault. The *first difference* does.

Tools write such logs. PyTorch keeps the last collectives of each rank in a *flight recorder*, and its watchdog can write them to a file when a timeout strikes [1]. NCCL prints the calls with `NCCL_DEBUG=INFO` and `NCCL_DEBUG_SUBSYS=COLL` [2].
`TORCH_DISTRIBUTED_DEBUG=DETAIL` compares shapes and names before each call: slow, but it turns a silent hang into an error [3].

## 6. Late, but not never

A rank that is slow stops nobody for ever. But in each step all wait for it. Four ranks compute for 10 ms a step, then do an all-reduce. Rank 2 needs 15 ms. How long does a step take, and how much of its time does rank 0 wait?

The clocks here are those of a *modelled* network, as in the lesson before.
"""

# %%
guesses = {"step, ms": "?", "rank 0 waits, ms": "?"}


def a_step(slow):
    net = Net(Network(4, Link(latency_us=5, gbs=25)))
    net.compute(slow if net.rank == 2 else 10e-3)
    computed = net.now
    net.barrier()  # what an all-reduce costs comes on top
    return net.now * 1e3, (net.now - computed) * 1e3


print("guesses:", guesses)
for slow in (10e-3, 15e-3):
    step, waits = run_ranks(a_step, 4, slow)[0]
    print(f"rank 2 computes {slow * 1e3:.0f} ms: step {step:.0f} ms, "
          f"rank 0 waits {waits:.0f} ms (modelled)")  # fmt: skip

# %% [markdown]
r"""
**15** and **5** ms. One slow rank of 64, 50 percent slower, makes the whole run 50 percent slower: 63 GPUs wait a third of their time. Such a rank is called a *straggler*.
The next cell draws three steps of such a run. Bars are work, gaps are waiting.
"""

# %%


def three_steps():
    net = Net(Network(4, Link(latency_us=5, gbs=25)))
    for _ in range(3):
        net.compute(15e-3 if net.rank == 2 else 10e-3)
        net.barrier()
    return [(event.start * 1e3, (event.end - event.start) * 1e3) for event in net.events]


fig, ax = plt.subplots(figsize=(7, 2.4))
for rank, bars in enumerate(run_ranks(three_steps, 4)):
    ax.broken_barh(bars, (rank - 0.35, 0.7), color="tab:blue", edgecolor="black")
ax.set(xlabel="ms (modelled)", yticks=range(4), yticklabels=[f"rank {k}" for k in range(4)])
plt.show()

# %% [markdown]
r"""
The straggler is the one that *never waits*. In a trace of a real run it is the rank whose collectives are the shortest: the others' are long, since waiting counts as part of the call.
"""

# %% [markdown]
r"""
Now no rank is slow, but none is exact. Each step takes each rank 10 ms give or take 1 ms, at random (a normal distribution). The mean over a long time is the same for all.
How long does a step take with 1 rank, with 8, with 512?
"""

# %%
guesses = {1: "?", 8: "?", 512: "?"}  # ms

rng = np.random.default_rng(seed=5)
for ranks, guess in guesses.items():
    steps = rng.normal(10, 1, size=(2000, ranks)).max(axis=1)
    print(f"{ranks:4} ranks: guess {guess}, mean step {steps.mean():.1f} ms (drawn at random)")

# %% [markdown]
r"""
About **10**, **11.5** and **13.0** ms. Each step lasts as long as the slowest rank of that step, and among 512 there is always a slow one. Nobody is to blame: the *variation* costs 30 percent.

Two things follow. Look for causes of variation, such as garbage collection, data loading or clocks of GPUs, even if their mean is small. And wait less often: ranks that meet only every tenth step have time to average out.
How much does that save, with 512 ranks?
"""

# %%
guess = "?"  # ms a step, if they meet after 10 steps

tens = rng.normal(10, 1, size=(2000, 10, 512)).sum(axis=1).max(axis=1) / 10
print("guess:", guess, f"  mean step {tens.mean():.1f} ms (drawn at random)")

# %% [markdown]
r"""
**11.0** ms: the sum of ten steps varies by the root of 10, not by 10.

## 7. Does a delay die out?

In a ring each rank talks only to its two neighbours. Rank 0 of 4 begins 100 us late. A message takes 10 us from the moment at which both of its ranks are ready, and a rank goes on when it has received from the left and its own message has arrived at the right.
When is the last rank done with the 6 steps of an all-reduce? And which ranks know of the delay after one step?
"""

# %%
guesses = {"last rank, us": "?", "ranks after one step": "?"}

clocks = [100, 0, 0, 0]
for step in range(6):
    came = [max(clocks[rank], clocks[rank - 1]) + 10 for rank in range(4)]
    clocks = [max(came[rank], came[(rank + 1) % 4]) for rank in range(4)]
    print(f"after step {step + 1}: {clocks} us (modelled)")
print("guesses:", guesses)

# %% [markdown]
r"""
All are done at **160** us. After one step both neighbours know: rank 1 had to wait for rank 0's message, and rank 3 had to wait until rank 0 took its own. After two steps all four know, and the delay is the full 100 us for each.
A ring does not forgive a late rank, and neither does any other all-reduce: nobody can have the sum before the last one has begun.

## What to remember

- The k-th call of a rank meets the k-th call of the others. Only the order counts.
- Five ways: other order, a call left out, other numbers of calls, a circle of messages, a circle of groups.
- Same shapes in another order do not hang: they give wrong numbers, in silence. Sort names.
- In logs, look for the first difference, not for the last line.
- A step lasts as long as its slowest rank. With more ranks, random variation alone costs more.
- The straggler is the rank that never waits.

**Next:** the lab, `t3_05_deadlocks_lab`, in your folder `mine/t3_many/`.

## Sources

1. PyTorch, "Flight Recorder for debugging stuck jobs". <https://docs.pytorch.org/tutorials/unstable/flight_recorder_tutorial.html>
2. NVIDIA, NCCL environment variables: `NCCL_DEBUG`, `NCCL_DEBUG_SUBSYS`. <https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html>
3. PyTorch, `torch.distributed`, "Debugging torch.distributed applications". <https://docs.pytorch.org/docs/stable/distributed.html>
"""
