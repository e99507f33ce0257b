# %% [markdown]
r"""
# Data parallelism: buckets and overlap

**Eight GPUs train one model, each on an eighth of the batch. What must they tell each other, so that the result is that of one GPU on the whole batch? And why does a step on eight often take hardly longer than the computing alone?**

At the end of this lesson you can

- train one model on several ranks and get what one process would get,
- say how many bytes that costs in each step, and with gradient accumulation,
- put gradients into buckets, and send each while the backward pass still runs,
- compute how much of the communication remains visible, and choose the size of the buckets,
- avoid the traps of start weights, unused and tied parameters,
- read in the ledger what PyTorch's own DDP does.

You need the lesson `t3_03_bus_bandwidth` and about 45 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
"""

# %%
import torch
import torch.distributed as dist
from torch import nn

from warpwise import run_ranks
from warpwise.fabric import Link, theory
from warpwise.fabric.schedules import Layer, buckets, ddp
from warpwise.show import show_overlap
from warpwise.show.dial import Dial, Dialled

# %% [markdown]
r"""
## 1. The mean of the gradients

In *data parallelism* each rank has the whole model and a part of the batch. It runs forward and backward on its part. Then all ranks average their gradients, and each makes the same step.

The loss is a mean over rows. Here is a small model with a batch of eight rows, on two ranks. We cut the batch twice: into 4 and 4 rows, and into 5 and 3. In which case is the mean of the two gradients the gradient of the whole batch?
"""

# %%
guesses = {"4 and 4 rows": "?", "5 and 3 rows": "?"}  # the same, or not

torch.manual_seed(2)
rows = torch.randn(8, 6).double()


def network(seed=1):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 1)).double()


def loss_of(model, x):
    return model(x).square().mean()


def gradients(model, x):
    model.zero_grad()
    loss_of(model, x).backward()
    return torch.cat([p.grad.flatten() for p in model.parameters()])


def averaged(cuts):
    mine = rows.split(cuts)[dist.get_rank()]
    flat = gradients(network(), mine)
    dist.all_reduce(flat)
    return flat / dist.get_world_size()


whole = gradients(network(), rows)
for (name, guess), cuts in zip(guesses.items(), ([4, 4], [5, 3]), strict=True):
    apart = (run_ranks(averaged, 2, cuts)[1] - whole).abs().max().item()
    print(f"{name}: guess {guess}, largest difference {apart:.6f}")

# %% [markdown]
r"""
With 4 and 4 there is **none** that six digits show; the two sums are rounded in another order, so the last bits may differ. With 5 and 3 it is the trap that you know from `t3_01_collectives`: a mean of means. Each of the three rows then counts more than each of the five.
So all ranks take equally many rows, or one sums and counts instead of averaging.

## 2. The same start

Each rank updates its own weights, with the same mean gradient. Suppose that they start differently, since each rank drew its own random numbers. Then 50 steps follow, with averaged gradients. How far apart are the weights of the two ranks at the end, compared with the start?
"""

# %%
guess = "?"  # times the distance at the start


def trained_apart():
    model = network(seed=dist.get_rank())
    mine = rows.chunk(2)[dist.get_rank()]
    before = model[0].weight.detach().clone()
    for _ in range(50):
        loss_of(model, mine).backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.data -= 0.1 * p.grad / 2
            p.grad = None
    return before, model[0].weight.detach()


(start_0, end_0), (start_1, end_1) = run_ranks(trained_apart, 2).values
print("guess:", guess)
print(
    f"distance: {((end_1 - end_0).norm() / (start_1 - start_0).norm()).item():.6f} of the start's"
)

# %% [markdown]
r"""
**1**: the distance stays for ever. Both subtract the same gradient, so their difference cannot change. No error is raised, each loss may even fall, and the gradient is the mean of gradients at two different points, which belongs to no model.

So the first thing that any data parallel program does is a *broadcast* of the start weights from rank 0. Giving all ranks the same seed works too, until one of them draws a number more than the others.

## 3. The bill

What do the gradients cost? A rank takes part in an all-reduce of all gradients: 2 (n - 1)/n times their bytes go out, for n ranks. With many ranks that is twice the gradients.
A model has 10 billion parameters and gradients of 2 bytes. A guide prints 40 GB for each step of data parallelism [1]. How many GB does a rank send on 8 ranks, and on 1,024? And what if each step is made of 4 *micro-batches*, with one all-reduce after each?
"""

# %%
guesses = {"8 ranks": "?", "1,024 ranks": "?", "1,024 ranks, after each of 4": "?"}  # GB


def sent_gb(n, times=1):
    return times * 2 * (n - 1) / n * 10e9 * 2 / 1e9


for (name, guess), gb in zip(
    guesses.items(), (sent_gb(8), sent_gb(1024), sent_gb(1024, times=4)), strict=True
):
    print(f"{name}: guess {guess}, {gb:.2f} GB")
print(f"the guide, without (n - 1)/n: {2 * 10e9 * 2 / 1e9:.0f} GB")

# %% [markdown]
r"""
**35** and **39.96** GB; the guide's **40** is the limit of many ranks. With an all-reduce after each micro-batch it is four times as much, about 160 GB, and for nothing: *gradient accumulation* adds up the gradients of several micro-batches on each rank, and the mean of sums is the sum of means. **One** all-reduce after the last is enough.

The order matters, because all-reduce works in place. If `p.grad` holds the sum over all ranks, then the next backward adds the rank's own gradient to it, and a second all-reduce adds up the first sum n times.

## 4. When does a gradient come?

The simplest program waits for the end of the backward pass and then sends everything. But the gradients do not come all at once. A *hook* is a function that PyTorch calls for each parameter as soon as its gradient is there.
The model below has three weights, called first, middle and last, and uses the first once more at its end. Such a parameter, with two places in the model, is called *tied*. In which order do the gradients come? How often does the tied one come?
"""

# %%
guess = "?"  # e.g. first, middle, last, first


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4, bias=False)
        self.middle = nn.Linear(4, 4, bias=False)
        self.last = nn.Linear(4, 4, bias=False)
        self.again = self.first  # the same module in a second place

    def forward(self, x):
        return self.again(self.last(self.middle(self.first(x))))


tied = Tied()
came = []
for name, p in tied.named_parameters():
    p.register_post_accumulate_grad_hook(lambda p, name=name: came.append(name))
tied(torch.ones(1, 4)).sum().backward()
print("guess:", guess)
print("parameters:", [name for name, _ in tied.named_parameters()])
print("gradients: ", came)

# %% [markdown]
r"""
**last, middle, first**: backwards through the model. The tied one comes **once**, and last: its gradient is whole only when the *earliest* use has been differentiated.
`parameters()` lists it once, too, at its first place. So the reversed list is a good guess of the order in which gradients come, tied ones included. Who keeps the last place instead of the first puts it too early, and all its companions wait for it.

## 5. Buckets

With hooks each gradient can travel while the next is computed. But a model has hundreds of parameters, and many are tiny: a call for each costs its latency. So one fills *buckets*:

- go through the parameters in reverse, and put each into the current bucket;
- when a bucket holds `cap` bytes or more, close it, and open the next for the parameter that follows;
- as soon as all gradients of a bucket are there, start one all-reduce of all of them.

Six parameters, in the order of the model, have 8, 4, 4, 2, 8 and 1 bytes, and the cap is 8. How many buckets are there, and what is in the first?
"""

# %%
guess = "?"

sizes = [8, 4, 4, 2, 8, 1]
print("guess:", guess)
print("buckets:", buckets([Layer(0, 0, size) for size in sizes], cap=8))

# %% [markdown]
r"""
**Three.** The first holds parameters 5 and 4: one byte is too little to close it, so it takes 8 more. Then 3, 2 and 1, and 0 at the end. A bucket may be larger than the cap, since no parameter is cut.

Here is all of it, a data parallel engine by hand in thirty lines. `async_op=True` starts an all-reduce and returns at once; `wait` waits for its end.
"""


# %%
class Parallel:
    """Averages the gradients of a model over all ranks, bucket by bucket."""

    def __init__(self, model, cap):
        for p in model.parameters():
            dist.broadcast(p.data, src=0)
        self.buckets, size = [[]], 0
        for p in reversed(list(model.parameters())):
            if size >= cap:
                self.buckets.append([])
                size = 0
            self.buckets[-1].append(p)
            size += p.numel() * p.element_size()
            p.register_post_accumulate_grad_hook(self.ready)
        self.bucket_of = {p: k for k, bucket in enumerate(self.buckets) for p in bucket}
        self.begin()

    def begin(self):
        self.missing = [len(bucket) for bucket in self.buckets]
        self.works = []

    def ready(self, p):
        k = self.bucket_of[p]
        self.missing[k] -= 1
        if self.missing[k] == 0:
            flat = torch.cat([q.grad.flatten() for q in self.buckets[k]])
            self.works.append((dist.all_reduce(flat, async_op=True), flat, k))

    def finish(self):
        for work, flat, k in self.works:
            work.wait()
            flat /= dist.get_world_size()
            parts = flat.split([p.numel() for p in self.buckets[k]])
            for p, part in zip(self.buckets[k], parts, strict=True):
                p.grad.copy_(part.view_as(p))
        self.begin()


# %% [markdown]
r"""
The network from section 1 has parameters of 240, 40, 40 and 8 bytes. Each rank starts with weights of its own. How many all-reduces are there with a cap of 48 bytes? Are the gradients those of one process?
"""

# %%
guesses = {"all-reduces": "?", "as in one process": "?"}


def by_hand():
    model = network(seed=dist.get_rank() + 1)  # rank 0 has seed 1
    engine = Parallel(model, cap=48)
    loss_of(model, rows.chunk(dist.get_world_size())[dist.get_rank()]).backward()
    engine.finish()
    return torch.cat([p.grad.flatten() for p in model.parameters()])


outcome = run_ranks(by_hand, 4)
print("guesses:", guesses)
print("all-reduces:", outcome.ledger.of("all_reduce").calls[0])
print("as in one process:", all(torch.allclose(flat, whole) for flat in outcome.values))
print("bytes handed in:", outcome.ledger.of("all_reduce").bytes[0], "of", whole.nbytes)

# %% [markdown]
r"""
**Two**: 8 + 40 bytes close the first bucket, 40 + 240 fill the second. The gradients agree, and no byte travels twice.

All ranks must start their buckets in the same order, or the wrong ones meet, as in `t3_05_deadlocks`. Here the order is that of the backward pass, the same on all ranks. PyTorch's DDP makes sure of it: it starts no bucket before all earlier ones have started.

## 6. Overlap

What does it bring? On our CPUs little, because ranks that compute and ranks that send share the same cores. So we compute the time instead, on a network of 8 GPUs with 20 us of latency and 25 GB/s. All times are *modelled*.
The model has 24 layers of 4 MB of gradients. A layer takes 0.25 ms forward and 0.5 ms backward.

Communication that the step must wait for, because nothing is computed meanwhile, is *exposed*: the whole time of the step, its *makespan*, minus the time of computing, here 18 ms. First: how much is exposed if all gradients travel in one call at the end, and how much if each layer has a call of its own as soon as it can?
"""

# %%
guesses = {"one call at the end": "?", "a call for each layer": "?"}  # ms

MB = 1e6
link = Link(latency_us=20, gbs=25)
layers = [Layer(forward=0.25, backward=0.5, nbytes=4 * MB)] * 24


def all_reduce_ms(nbytes):
    return theory("ring all-reduce", 8, nbytes, link) * 1e3


at_end = ddp(layers, all_reduce_ms, cap=1e12, first=None)
each = ddp(layers, all_reduce_ms, cap=1, first=None)
for (name, guess), step in zip(guesses.items(), (at_end, each), strict=True):
    print(f"{name}: guess {guess}, exposed {step.exposed:.2f} of {step.network:.2f} ms (modelled)")

# %% [markdown]
r"""
At the end **7 ms** are exposed, all there are. With a call for each layer the calls take 13.44 ms together, twice as long, because each pays 14 latencies; yet only **1.94 ms** are exposed.
One layer's call takes 0.56 ms and its neighbour's backward pass 0.5 ms. So the network falls behind a little with each layer, and the debt is paid at the end.

Now the sizes between. Which is the best of these?
"""

# %%
guess = "?"  # MB

for cap in (4, 8, 12, 16, 24, 32, 48, 96):
    step = ddp(layers, all_reduce_ms, cap=cap * MB, first=None)
    calls = len(buckets(layers, cap * MB))
    print(f"cap {cap:3} MB: {calls:2} calls, exposed {step.exposed:.2f} ms (modelled)")
print("guess:", guess)

# %% [markdown]
r"""
**8 MB**, with 0.84 ms. Smaller buckets pay too many latencies. Larger ones leave a larger last bucket, and the last bucket can never be hidden: it is full only when the backward pass is over.
A last bucket with one layer alone takes 0.56 ms. That is a *bound*: no choice leaves less. Here none reaches it, since to make room for it the bucket before would have to be done half a millisecond earlier.
Buckets need not be equal. Where layers differ, small ones at the end often leave less than any single cap; you will find the best ones in the lab.

The picture shows both over time: forward passes light, backward passes dark, and AR0, AR1, ... are the all-reduces of the buckets. Turn the dials.
"""


# %%
def picture(cap_MB, latency_us):
    slow = Link(latency_us, 25)
    step = ddp(
        layers, lambda size: theory("ring all-reduce", 8, size, slow) * 1e3, cap_MB * MB, None
    )
    return show_overlap(step)._repr_mimebundle_()


Dialled([Dial("cap_MB", (4, 8, 16, 32, 96), 16), Dial("latency_us", (0, 5, 20, 50), 20)], picture)

# %% [markdown]
r"""
With no latency the smallest buckets are the best. With more of it the best size grows. On a real machine, look in Nsight Systems: the NCCL kernels have a stream of their own, and what of them stands beyond the last kernel of the backward pass is exposed.

## 7. PyTorch's DDP

`DistributedDataParallel`, DDP for short, does what our engine does. Its buckets hold 25 MiB unless you set `bucket_cap_mb` [2]. For a model of 10 billion parameters with 2 bytes each, how many buckets is that, if all are just full?
"""

# %%
guess = "?"

print("guess:", guess)
print("buckets:", -(-int(10e9 * 2) // (25 * 2**20)))

# %% [markdown]
r"""
**763**. All but the last can be hidden.

Now for real, on two ranks: a model of eight layers with 64 KiB of float32 each, and buckets of 128 KiB. Rank 1 draws other start weights. Guess the number of all-reduces in the second step, and in the four micro-batches, where the first three run under `no_sync()`.
The last part builds a model with a layer that no one uses. What does DDP say?
"""

# %%
guesses = {"second step": "?", "four micro-batches": "?"}  # all-reduces


class Unused(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.unused = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return self.used(x)


def with_ddp():
    from torch.nn.parallel import DistributedDataParallel as DDP

    torch.manual_seed(dist.get_rank())
    model = nn.Sequential(*[nn.Linear(128, 128, bias=False) for _ in range(8)])
    alike = DDP(model, bucket_cap_mb=0.125)
    torch.manual_seed(7)
    x = torch.randn(4, 128).chunk(2)[dist.get_rank()]
    alike(x).square().mean().backward()  # first step
    gradient = model[0].weight.grad.clone()
    alike(x).square().mean().backward()  # second step
    with alike.no_sync():
        for _ in range(3):
            alike(x).square().mean().backward()  # under no_sync
    alike(x).square().mean().backward()  # the fourth
    lazy = DDP(Unused())
    try:
        lazy(torch.ones(2, 4)).sum().backward()
        lazy(torch.ones(2, 4)).sum().backward()
    except RuntimeError as error:
        said = str(error).split(".")[0]
    return gradient, said


outcome = run_ranks(with_ddp, 2, timeout=120)
print("guesses:", guesses)
for entry in outcome.ledger.entries:
    if entry.rank == 0 and "x)." in entry.text and entry.operation == "all_reduce":
        print(f"{entry.text.split('# ')[1]:14} {entry.calls} all-reduces, {entry.bytes:,} bytes")

torch.manual_seed(0)  # as rank 0
alone = nn.Sequential(*[nn.Linear(128, 128, bias=False) for _ in range(8)])
torch.manual_seed(7)
alone(torch.randn(4, 128)).square().mean().backward()
same = all(torch.allclose(alone[0].weight.grad, g, atol=1e-7) for g, _ in outcome.values)
print("as one process on the whole batch:", same)
print("with an unused layer:", outcome[0][1])

# %% [markdown]
r"""
- The **first** step has one bucket. DDP looks in which order the gradients really come, and builds the buckets after it.
- The **second** has **four**, of two layers each, 128 KiB. The bytes are the same: 524,288, all gradients once.
- The **four micro-batches** together have **four**, all in the last one. Under `no_sync` nothing travels, so it does not appear in the list. Without it there would be sixteen. Each would bring the right values, since DDP averages what it has accumulated so far; only the bytes are wasted.

An **unused** parameter gets no gradient, so its bucket is never full. DDP notices it at the *next* step. If one rank used the layer and another did not, the first would wait in an all-reduce that the second never calls: a deadlock.
With `find_unused_parameters=True` DDP walks through the graph in each step, and counts zeros for what a rank left out, as any engine must: the mean over n ranks divides by n, also where a rank has nothing to add. This is right, since the gradient of what does not appear in a loss is zero.

## What to remember

- Equal parts of the batch, the same start weights, the mean of the gradients: then n ranks do what one process does.
- In a step a rank sends 2 (n - 1)/n times the bytes of the gradients, however many micro-batches there are: send after the last.
- Gradients come backwards. Buckets in reverse order travel while the rest is computed.
- Exposed: makespan minus computing. Small buckets pay latency, large ones leave a large last bucket, and the last bucket is never hidden.
- A tied parameter counts once, at its first place. An unused one counts as zeros.

**Next:** the lab, `t3_06_data_parallel_lab`, in your folder `mine/t3_many/`.

## Sources

1. N. Tazi and others, "The Ultra-Scale Playbook", 2025: volumes of data parallelism and ZeRO. <https://huggingface.co/spaces/nanotron/ultrascale-playbook>
2. PyTorch, `DistributedDataParallel`: `bucket_cap_mb`, `find_unused_parameters`, `no_sync`. <https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html>
3. S. Li and others, "PyTorch Distributed: Experiences on Accelerating Data Parallel Training", VLDB 2020. <https://arxiv.org/abs/2006.15704>
"""
