# %% [markdown]
r"""
# Collectives: what each rank holds before and after

**Four GPUs have worked on a quarter of the batch each, and each now holds its own gradient. The optimizer needs their mean, on all four. Which call makes it, and how many bytes does it move?**

At the end of this lesson you can

- run a function on several processes, and say which process is which,
- name the eight operations that processes do together, and say who holds what before and after each,
- take an operation apart into two others,
- say how many bytes a rank has to send for each, before you run it,
- read why a program hangs when one process leaves a call out.

You need the lesson `t1_01_threads` and about 40 minutes. You do not need a GPU: processes on your computer stand for the GPUs, and they call the same functions.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
"""

# %%
import torch
import torch.distributed as dist

from warpwise import run_ranks
from warpwise.show import show_holdings

# %% [markdown]
r"""
## 1. One function, four processes

A training run on four GPUs is four processes. All four run the same program, each with its own memory. No variable of one is seen by another.
What tells them apart is a number, the *rank*: 0, 1, 2 and 3. The number of processes is the *world size*.

`run_ranks(function, 4)` starts four processes, calls the function in each, and returns what they returned.
How many lines does this cell print, and what is `x[0]` at the end in rank 3?
"""

# %%
guesses = {"lines": "?", "x[0] in rank 3": "?"}

x = [100]


def hello():
    x[0] += dist.get_rank()
    print(f"I am rank {dist.get_rank()} of {dist.get_world_size()}, x[0] is {x[0]}")
    return x[0]


outcome = run_ranks(hello, 4)
print("guesses:", guesses)
print("returned:", outcome.values, "  x[0] here:", x[0])

# %% [markdown]
r"""
**Four** lines, and **103** in rank 3: each process got its own copy of the list, with 100 in it, and added its rank once. The notebook's `x` is untouched.

The function asks `torch.distributed` for its rank. That is PyTorch's module for such programs. Between GPUs it uses NVIDIA's library NCCL, here a library called gloo. The calls are the same,
so a function of this lesson runs on real machines, too; the page `warpwise/ranks/README.md` shows how.

## 2. All-reduce

Suppose the four ranks hold these gradients, two numbers each. An *all-reduce* adds them up, element by element, and gives the sum to *all*.
What does rank 2 hold afterwards? And what is left of its own gradient?
"""

# %%
guess = "?"  # two numbers

start = [[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0]]


def average_gradient():
    gradient = torch.tensor(start[dist.get_rank()])
    dist.all_reduce(gradient)  # in place: the sum takes the place of the gradient
    total = gradient.tolist()
    gradient /= dist.get_world_size()
    return total, gradient.tolist()


outcome = run_ranks(average_gradient, 4)
print("guess:", guess)
print("sum:", outcome[2][0], "  mean:", outcome[2][1])

# %% [markdown]
r"""
**10 and 100**, on every rank, and nothing is left of its own: the call works *in place*. If you need the old values, make a copy first.
Divided by the world size it is the mean. This call answers the question at the top, and most training in parallel is built on it.

A mean is a trap where ranks have different amounts of data. Rank 0 has the losses 1, 1, 1 and rank 1 has the loss 5.
One program averages on each rank and then averages the two means. Another adds sums and counts. What do they say?
"""

# %%
guesses = {"mean of means": "?", "mean of all": "?"}


def two_means():
    losses = torch.tensor([1.0, 1.0, 1.0] if dist.get_rank() == 0 else [5.0])
    mean = losses.mean()
    dist.all_reduce(mean)
    both = torch.tensor([losses.sum(), len(losses)])  # one call for two numbers
    dist.all_reduce(both)
    return mean.item() / dist.get_world_size(), (both[0] / both[1]).item()


print("guesses:", guesses)
print("mean of means, mean of all:", *run_ranks(two_means, 2)[0])

# %% [markdown]
r"""
**3** and **2**. Only the second is the mean of the four losses. Note that sum and count travel in *one* call: each call makes all ranks wait for each other, so two small calls cost twice as much as one.

## 3. The eight operations

All-reduce is one of eight *collectives*: operations that all ranks call together. Four of them have a *root*, one rank that gives or gets more than the others.

| operation | in a sentence |
|---|---|
| broadcast | the root's array goes to all |
| scatter | the root's array is cut, and each rank gets one piece |
| gather | the root gets all arrays, one after the other |
| reduce | the root gets the sum |
| all-gather | all ranks get all arrays, one after the other |
| all-reduce | all ranks get the sum |
| reduce-scatter | the sum is cut, and each rank gets one piece of it |
| all-to-all | each rank cuts its array, and piece k goes to rank k |

In place of the sum one may ask for the product, the smallest, the largest, or with NCCL the mean.

The next cell runs all eight on four ranks. Rank r starts with the numbers 10 r to 10 r + 3, so that you can see where each came from. The root is rank 0.
Before you look: what does rank 1 hold after the all-to-all? And after the reduce-scatter?
"""

# %%
guesses = {"all-to-all": "?", "reduce-scatter": "?"}  # on rank 1


def all_eight():
    rank, n = dist.get_rank(), dist.get_world_size()
    x = torch.arange(n) + 10 * rank
    root = rank == 0
    after = {}

    y = x.clone()
    dist.broadcast(y, src=0)
    after["broadcast"] = y.tolist()

    piece = torch.empty_like(x[:1])
    dist.scatter(piece, list(x.chunk(n)) if root else None, src=0)
    after["scatter"] = piece.tolist()

    parts = [torch.empty_like(x[:2]) for _ in range(n)]
    dist.gather(x[:2].clone(), parts if root else None, dst=0)
    after["gather"] = torch.cat(parts).tolist() if root else None

    y = x.clone()
    dist.reduce(y, dst=0)
    after["reduce"] = y.tolist() if root else None

    dist.all_gather(parts, x[:2].clone())
    after["all-gather"] = torch.cat(parts).tolist()

    y = x.clone()
    dist.all_reduce(y)
    after["all-reduce"] = y.tolist()

    dist.reduce_scatter(piece, list(x.chunk(n)))
    after["reduce-scatter"] = piece.tolist()

    y = torch.empty_like(x)
    dist.all_to_all_single(y, x)
    after["all-to-all"] = y.tolist()
    return after


eight = run_ranks(all_eight, 4)
before = [[10 * rank + k for k in range(4)] for rank in range(4)]
two = [row[:2] for row in before]  # gather and all-gather start with two numbers each
pictures = {
    name: (two if "gather" in name else before, [eight[rank][name] for rank in range(4)])
    for name in eight[0]
}
print("guesses:", guesses)
print("rank 1:", {name: eight[1][name] for name in guesses})

# %% [markdown]
r"""
**1, 11, 21, 31**: its piece of everybody's array, a row of numbers where before there was a column. And **64**: 1 + 11 + 21 + 31, its piece of the sum.

Step through all eight. A colour belongs to the rank that had the number before; a thick frame means that it is made of several.
"""

# %%
show_holdings(pictures)

# %% [markdown]
r"""
The text of the picture shows the first of them; the slider shows the others. Here are two of them in text.
"""

# %%
for name in ("all-to-all", "reduce-scatter"):
    print(show_holdings({name: pictures[name]}), end="\n\n")

# %% [markdown]
r"""
Three things to note, since each has cost somebody an afternoon.

- After a *reduce* only the root has the sum. What the others' arrays hold then is *undefined*: partial sums may stand there. Take a copy if you need your own.
- A *scatter* and a *gather* want the list of pieces on the root alone; the others pass `None`.
- `all_gather` wants arrays of the same size on all ranks. Where sizes differ, one fills them up, and cuts them afterwards.

## 4. Two make one

Look at the pictures of reduce-scatter and all-gather. If each rank has one piece of the sum, and then all get all pieces, what is this together?
"""

# %%
guess = "?"  # one of the eight


def in_two_steps():
    rank, n = dist.get_rank(), dist.get_world_size()
    x = torch.arange(n) + 10 * rank
    piece = torch.empty_like(x[:1])
    dist.reduce_scatter(piece, list(x.chunk(n)))
    parts = [torch.empty_like(piece) for _ in range(n)]
    dist.all_gather(parts, piece)
    whole = torch.cat(parts)
    dist.all_reduce(x)
    return whole.tolist(), x.tolist()


outcome = run_ranks(in_two_steps, 4)
print("guess:", guess)
print("reduce-scatter, then all-gather:", outcome[3][0])
print("all-reduce:                     ", outcome[3][1])

# %% [markdown]
r"""
An **all-reduce**. The same holds with a root: a reduce and then a broadcast is one, too, but then all bytes pass through one rank.

There is a gap between the two steps, and much of this tier lives in it. After the reduce-scatter each rank holds one n-th of the sum.
If it needs no more than that, the second step may wait, or never come. A rank that updates only its own part of the weights is the idea of ZeRO, in a later lesson.

The piece of rank k must have the same size on all ranks. Where n does not divide the length, fill the array up with zeros to the next multiple, and cut the result.

## 5. How many bytes?

A rank that takes part in an all-gather of S bytes in all has one n-th of them, and needs the rest: it must *receive* (n - 1)/n S bytes, whatever the method.
As many must be *sent* by a rank on average. For a reduce-scatter it is the same: each rank has n - 1 pieces that others wait for. An all-reduce is both, one after the other.

| operation | a rank sends at least |
|---|---|
| all-gather, reduce-scatter, all-to-all | (n - 1)/n S |
| all-reduce | 2 (n - 1)/n S |

S is the size of the *whole* array: for an all-gather, of all pieces together. These are also the factors that NVIDIA's benchmark nccl-tests uses [1].
That an all-reduce can be done with so few bytes is no accident, it needs a method; the next lesson builds it.

A model has 10 billion parameters, and its gradients take 2 bytes each: 20 GB. How many GB does each of 8 ranks send in one all-reduce? And each of 1024?
"""

# %%
guesses = {8: "?", 1024: "?"}  # GB

size_gb = 10e9 * 2 / 1e9
for n, guess in guesses.items():
    print(f"{n:5} ranks: guess {guess}, all-reduce {2 * (n - 1) / n * size_gb:.2f} GB")

# %% [markdown]
r"""
**35** and **39.96** GB. The number of ranks hardly matters. This is the good news about collectives: with more ranks each one sends about the same, never more than 2 S.

Published estimates drop the (n - 1)/n. A well-known guide counts for one step of this model 40 GB with all gradients on all ranks, and 60 GB with ZeRO-3,
which gathers the weights twice, forward and backward, and reduce-scatters the gradients once [2]. In the limit of many ranks:
"""

# %%
n = 1_000_000
part = (n - 1) / n * size_gb
print(f"one all-reduce:                       {2 * part:.1f} GB")
print(f"two all-gathers, one reduce-scatter:  {3 * part:.1f} GB")

# %% [markdown]
r"""
The *ledger* of a run says what was really called. Bytes are those that a rank hands in; *wire* is what it sends over links by the factors above.
For an all-gather the two differ. In the function below each rank hands in 4 MiB (1 MiB is 2^20 bytes). What stands under wire, for 4 ranks?
"""

# %%
guesses = {"all_gather": "?", "all_reduce": "?"}  # MiB


def gather_and_reduce():
    x = torch.ones(2**20)  # 4 MiB
    dist.all_gather([torch.empty_like(x) for _ in range(dist.get_world_size())], x)
    dist.all_reduce(x)


ledger = run_ranks(gather_and_reduce, 4).ledger
for name, guess in guesses.items():
    mine = ledger.of(name)
    print(
        f"{name}: guess {guess}, handed in {mine.bytes[0] / 1e6} MB, wire {mine.wire[0] / 1e6} MB"
    )
ledger

# %% [markdown]
r"""
**12** and **6** MiB. The whole array of the all-gather has 16 MiB, of which a rank lacks three quarters. The all-reduce works on 4 MiB, times 2 times 3/4.
This is why an all-gather of what everybody holds is dear: the result grows with the number of ranks.

## 6. All ranks must call

Rank 0 wants to print the loss of all. The others do not need it. So why should they call anything?
"""

# %%
guess = "?"  # what happens


def print_the_loss():
    loss = torch.tensor([float(dist.get_rank())])
    if dist.get_rank() == 0:
        dist.all_reduce(loss)
        print("loss:", loss.item())


outcome = run_ranks(print_the_loss, 4, raises=False)
print("guess:", guess)
print(outcome.diagnosis.sentence)

# %% [markdown]
r"""
It **hangs**. Rank 0 needs the numbers of the others, and they never hand them in. With NCCL such a program stands still until a timeout ends it, after many minutes, and by then nobody knows which line it was.
Here the launcher has looked into each rank, and says who waits for whom. `raises=False` gives the outcome back; without it the call raises this sentence as an error.

So *a collective must be called by all ranks of its group, in the same order*. A call under `if rank == 0` is nearly always a mistake. The print may stand under it, the call may not.
What happens when the order differs is the subject of `t3_05_deadlocks`.

A *group* may be smaller than the world. `dist.new_group([0, 1])` makes one; all ranks must call that, too, even those that are not in it.
"""

# %%
guess = "?"  # what the four ranks hold


def in_pairs():
    rank = dist.get_rank()
    pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]  # everybody makes both
    x = torch.tensor([10**rank])
    dist.all_reduce(x, group=pairs[rank // 2])
    return x.item()


print("guess:", guess)
print(run_ranks(in_pairs, 4).values)

# %% [markdown]
r"""
**11, 11, 1100, 1100**. Real runs have many groups at once: the GPUs of one machine, those that hold the same part of the model, those that see the same data.

## 7. The same sum, in another order

Floating-point addition rounds, so the order of a sum matters. Is the sum of these four float32 numbers the same on all ranks? And the same as from left to right?
"""

# %%
guesses = {"same on all ranks": "?", "from left to right": "?"}

numbers = torch.tensor([1e8, 1.0, -1e8, 1.0])
left_to_right = torch.zeros(())
for number in numbers:
    left_to_right = left_to_right + number
pairs = (numbers[0] + numbers[2]) + (numbers[1] + numbers[3])


def round_off():
    x = numbers[dist.get_rank()].clone()
    dist.all_reduce(x)
    return x.item()


values = run_ranks(round_off, 4).values
print("guesses:", guesses)
print("all ranks the same:", len(set(values)) == 1)
print("left to right:", left_to_right.item(), "  in pairs:", pairs.item(), "  exact: 2")

# %% [markdown]
r"""
All ranks hold **the same**, bit for bit. That matters: copies of a model that differ in the last bit drift apart. But the order of addition is the library's choice,
and it may change with the number of ranks and the size. From left to right these four give **1**, because 1e8 + 1 is 1e8 in float32; in another order they give **2**.
So do not compare such a sum with `==`.

On GPUs, Nsight Systems shows each collective as a kernel with a name like `ncclDevKernel_AllReduce_Sum_f32_RING_LL`, and PyTorch's profiler as `nccl:all_reduce`. These names tell you what to look for.

## What to remember

- One program, n processes, nothing shared. The rank tells them apart.
- Broadcast, scatter, gather and reduce have a root. All-gather, all-reduce, reduce-scatter and all-to-all do not.
- All-reduce = reduce-scatter, then all-gather.
- A rank sends at least (n - 1)/n S for all-gather, reduce-scatter and all-to-all, and twice that for an all-reduce. S is the whole array.
- All-reduce works in place. After a reduce only the root's array means something.
- All ranks of a group must make the call, in the same order. Otherwise the program hangs.
- Put several small numbers into one call.

**Next:** the lab, `t3_01_collectives_lab`, in your folder `mine/t3_many/`.

## Sources

1. NVIDIA, nccl-tests, PERFORMANCE.md: factors from algorithm bandwidth to bus bandwidth. <https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md>
2. Hugging Face, The Ultra-Scale Playbook: volumes of data parallelism and ZeRO, for 10e9 parameters in bf16. <https://huggingface.co/spaces/nanotron/ultrascale-playbook>
3. PyTorch, `torch.distributed`. <https://docs.pytorch.org/docs/stable/distributed.html>
4. NVIDIA, NCCL User Guide, "Collective Operations". <https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/collectives.html>
"""
