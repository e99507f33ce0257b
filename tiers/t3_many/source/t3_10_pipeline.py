# %% [markdown]
r"""
# Pipeline parallelism: GPipe, 1F1B, interleaved, zero bubble

**A model of 80 layers is too large for one GPU, so eight GPUs take ten layers each. A batch goes through the first ten, then through the next ten. What do the other seven GPUs do meanwhile?**

At the end of this lesson you can

- say how long a pipeline idles, and in which of two conventions a paper says it,
- write the orders of GPipe and 1F1B, and say what each holds in memory,
- find the circle in orders that wait for each other for ever,
- run a pipeline on real ranks, with the gradients of one process and without a deadlock,
- weigh the chunks of the interleaved schedule: bubble, messages, memory,
- split the backward pass, and say when the bubble can vanish.

You need the lesson `t3_05_deadlocks` and about 45 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
"""

# %%
import torch
import torch.distributed as dist

from warpwise import run_ranks
from warpwise.fabric.schedules import (
    Deadlock,
    Schedule,
    Times,
    dualpipe,
    gpipe,
    interleaved,
    one_f_one_b,
    simulate,
    zb1p,
    zb2p,
)
from warpwise.show import show_schedule, table

# %% [markdown]
r"""
## 1. One after the other

Each rank holds one **stage**: a run of layers. It sends its output, the activations, to the next rank. Backward, gradients come back the other way. This is *pipeline parallelism*.

We write F0 for the forward pass of batch 0 through a stage and B0 for its backward pass. F takes 1 and B takes 2, since backward makes two products for each one of forward: one for the gradient of the input, one for that of the weights. All times here are *modelled*; messages are free until we say otherwise.

Four ranks, one batch. Which share of the time does a rank idle?
"""

# %%
guess = "?"

alone = simulate(gpipe(4, 1))
print("guess:", guess)
print(f"makespan {alone.makespan:g}, work of a rank {alone.ideal:g}: "
      f"it idles {alone.bubble_over_total:.2f} of the time (modelled)")  # fmt: skip
show_schedule(gpipe(4, 1))

# %% [markdown]
r"""
**Three quarters.** Only one rank works at a time: four GPUs are as fast as one. They only hold more.

## 2. Microbatches

Cut the batch into m **microbatches**, the micro-batches of `t3_06_data_parallel`. When rank 0 has sent microbatch 0 on, it begins with microbatch 1. First all forwards, then all backwards: this is **GPipe** [1].

The time in which ranks idle is the **bubble**. With 4 ranks and 8 microbatches a rank works for 8 x 3 = 24. How long does the whole step take?
"""

# %%
guess = "?"

ran = simulate(gpipe(4, 8))
print("guess:", guess)
print(ran)

# %% [markdown]
r"""
**33.** Rank 3 gets its first microbatch after 3 forwards, and after its last backward 3 more have to run: 3 x 1 + 3 x 2 = 9. In general the bubble is (p - 1)(F + B), whatever m is. More microbatches do not make it smaller. They make the work longer, so that it matters less.

There are *two conventions* for its share, and papers use both:

- of the **ideal** time, m (F + B): (p - 1)/m,
- of the **whole** time: (p - 1)/(m + p - 1).

For 8 ranks and 32 microbatches: which are the two shares? Do formula and simulation agree?
"""

# %%
guesses = {"of ideal": "?", "of total": "?"}

for p, m in ((4, 8), (8, 32), (8, 64)):
    ran = simulate(gpipe(p, m))
    same = ran.bubble_over_ideal == (p - 1) / m and ran.bubble_over_total == (p - 1) / (m + p - 1)
    print(f"{p} ranks, {m:2} microbatches: {ran.bubble_over_ideal:.4f} of ideal, "
          f"{ran.bubble_over_total:.4f} of total, as the formulas: {same}")  # fmt: skip
print("guesses:", guesses)

# %% [markdown]
r"""
**0.2188** and **0.1795**. Who says "22 percent bubble" and who says "18" may speak of the same run.
Turn the dials: what does a second microbatch bring, what the eighth? Blue bars are forwards, orange ones backwards.
"""

# %%
show_schedule(gpipe, p=4, m=4)

# %% [markdown]
r"""
## 3. One forward, one backward

GPipe has a price. From F to B a rank must hold what backward needs: the *activations*. How many microbatches does rank 0 hold at its peak, with m = 8?

All eight. But B0 could run as soon as microbatch 0 has come back, and then its activations are free. **1F1B** [2] does that: rank r begins with p - 1 - r forwards, then takes turns, one forward and one backward.

How much smaller does that make the bubble? And how many microbatches does each rank hold then?
"""

# %%
guesses = {"bubble": "?", "held on ranks 0 to 3": "?"}


def turns(p, m):
    """1F1B: for each rank the list of its passes."""
    orders = []
    for rank in range(p):
        ahead = min(m, p - 1 - rank)
        order = [f"F{k}" for k in range(ahead)]
        for k in range(m):
            if ahead + k < m:
                order.append(f"F{ahead + k}")
            order.append(f"B{k}")
        orders.append(order)
    return orders


by_turns = Schedule(turns(4, 8), name="1F1B")
print("guesses:", guesses)
for schedule in (gpipe(4, 8), by_turns):
    ran = simulate(schedule)
    print(f"{schedule.name:5}: bubble {ran.bubble:g} (modelled), held {ran.peaks} (counted)")
for rank, order in enumerate(turns(4, 8)):
    print(f"rank {rank}:", *order)
show_schedule(by_turns)

# %% [markdown]
r"""
**Not at all**: 9 as before. This is what most people get wrong about 1F1B. What shrinks is memory: rank r holds p - r microbatches, **4, 3, 2, 1**, however large m is.
So it helps indirectly: with GPipe, memory limits m. With 1F1B you can take m = 64 in the same memory, and then the share of the bubble is small.

## 4. Orders that wait for each other

An order is fixed before the run, rank by rank. Does every pair of orders work together? Suppose that rank 0 has room for one microbatch only, and rank 1 takes two forwards first. Each order is fine alone. What happens?
"""

# %%
guess = "?"

print("guess:", guess)
try:
    simulate(Schedule(["F0 B0 F1 B1", "F0 F1 B0 B1"]))
except Deadlock as stuck:
    print(stuck)

# %% [markdown]
r"""
**A circle**, as in `t3_05_deadlocks`: rank 0 waits for the gradient of microbatch 0, rank 1 for microbatch 1, which rank 0 will not send before.
So no rank may ask for more than the ranks before it have room for.

Now all four ranks have room for *two* microbatches, of four. Turns with fewer forwards at the beginning, 1, 1, 1 and 0, work. Below is also another order. Which takes longer, and how long?
"""

# %%
guesses = {"turns": "?", "the other": "?"}

strict = ["F0 F1 B0 F2 B1 F3 B2 B3"] * 3 + ["F0 B0 F1 B1 F2 B2 F3 B3"]
pairs = [
    "F0 F1 B0 F2 B1 F3 B2 B3",
    "F0 F1 B0 B1 F2 F3 B2 B3",
    "F0 F1 B0 B1 F2 F3 B2 B3",
    "F0 B0 F1 B1 F2 B2 F3 B3",
]
print("guesses:", guesses)
for name, orders in (("turns", strict), ("the other", pairs)):
    ran = simulate(Schedule(orders))
    print(f"{name}: makespan {ran.makespan:g} (modelled), held {ran.peaks} (counted)")
show_schedule(Schedule(pairs))

# %% [markdown]
r"""
**33** against **27**, in the same memory. With turns, rank 2 waits for F2 although its B1 is ready, and rank 1 waits with it.

Nobody needs to think that out for each case. *List scheduling* finds it: let the time run, and at each moment let every free rank start what is ready, a backward before a forward, a forward only if there is room. You will write it in the lab. Its orders cannot deadlock, since each was possible when it was made.

## 5. On real ranks

Now with tensors, on two ranks. Rank 0 has the first layer, rank 1 the second and the loss. `send` blocks until the other side receives: always on gloo, and on NCCL as soon as a message is too large for its buffers.
Both ranks follow 1F1B: rank 0 runs F0 F1 B0 B1, rank 1 F0 B0 F1 B1. Here are only the messages. What happens?
"""

# %%
guess = "?"


def one_by_one():
    tensor = torch.ones(3)
    if dist.get_rank() == 0:
        dist.send(tensor, 1)  # activation of F0
        dist.send(tensor, 1)  # activation of F1
        dist.recv(tensor, 1)  # gradient for B0
        dist.recv(tensor, 1)
    else:
        dist.recv(tensor, 0)
        dist.send(tensor, 0)  # gradient of B0
        dist.recv(tensor, 0)
        dist.send(tensor, 0)


outcome = run_ranks(one_by_one, 2, raises=False)
print("guess:", guess)
print(outcome.diagnosis.sentence)

# %% [markdown]
r"""
**They hang.** Rank 0 sends the activation of F1 while rank 1 sends the gradient of B0, and nobody receives. The simulation did not see it, because its messages wait by themselves until someone wants them.

The cure is to do both *at once*: between two passes, send what the last one made and receive what the next one needs, as one operation. `dist.batch_isend_irecv` starts a list of messages together.

And autograd? It knows nothing of other ranks. A received activation is a new leaf, so it needs `requires_grad_()`; its `.grad` is what goes back. The gradient that comes from the next rank goes into `y.backward(gradient)`.
Are the gradients those of one process?
"""

# %%
guess = "?"

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
xs, ts = torch.randn(2, 5, 3), torch.randn(2, 5, 3)  # two microbatches of five rows
weights = torch.randn(2, 3, 3)


def at_once(*messages):
    for work in dist.batch_isend_irecv(list(messages)):
        work.wait()


def send(tensor, peer):
    return dist.P2POp(dist.isend, tensor, peer)


def recv(tensor, peer):
    return dist.P2POp(dist.irecv, tensor, peer)


def loss_of(y, target):
    return (y - target).square().mean() / 2  # its share of the loss of both microbatches


def two_stages():
    w = weights[dist.get_rank()].clone().requires_grad_()
    a, b = torch.empty_like(xs[0]), torch.empty_like(xs[0])
    if dist.get_rank() == 0:
        y0 = torch.tanh(xs[0] @ w)
        at_once(send(y0.detach(), 1))
        y1 = torch.tanh(xs[1] @ w)
        at_once(send(y1.detach(), 1), recv(a, 1))  # what F1 made, what B0 needs
        y0.backward(a)
        at_once(recv(b, 1))
        y1.backward(b)
    else:
        at_once(recv(a, 0))
        loss_of(torch.tanh(a.requires_grad_() @ w), ts[0]).backward()
        at_once(send(a.grad, 0), recv(b, 0))  # what B0 made, what F1 needs
        loss_of(torch.tanh(b.requires_grad_() @ w), ts[1]).backward()
        at_once(send(b.grad, 0))
    return w.grad


def one_process():
    ws = weights.clone().requires_grad_()
    y = torch.tanh(torch.tanh(xs.flatten(0, 1) @ ws[0]) @ ws[1])
    (y - ts.flatten(0, 1)).square().mean().backward()
    return ws.grad


outcome = run_ranks(two_stages, 2)
print("guess:", guess)
print("as one process:", torch.allclose(torch.stack(outcome.values), one_process()))
print("messages sent by each rank:", outcome.ledger.of("send").calls)

# %% [markdown]
r"""
They are. Note the `/ 2`: the loss of the batch is the mean over its microbatches, so each loss is divided by their number. Without it all gradients are m times too large, and an optimiser like Adam hides it.

## 6. PyTorch's own

`torch.distributed.pipelining` has these schedules, too. You give it the rank's stage, the number of microbatches and a loss [3]. How many messages does rank 0 send in a step of 8 microbatches on 4 ranks?
"""

# %%
guess = "?"

batch, goal, layers = torch.randn(8, 3), torch.randn(8, 3), torch.randn(4, 3, 3)


def by_torch(name, steps):
    from torch import nn
    from torch.distributed import pipelining

    torch.set_default_dtype(torch.float64)
    rank, n = dist.get_rank(), dist.get_world_size()
    layer = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Tanh())
    layer[0].weight.data = layers[rank].T.contiguous()
    stage = pipelining.PipelineStage(layer, rank, n, torch.device("cpu"), input_args=(batch[:1],))
    schedule = getattr(pipelining, name)(stage, 8, loss_fn=nn.functional.mse_loss)
    given = [batch] if rank == 0 else []
    target = {"target": goal} if rank == n - 1 else {}
    for _ in range(steps):
        layer.zero_grad()
        schedule.step(*given, **target)
    return layer[0].weight.grad.T


ws = layers.clone().requires_grad_()
y = batch
for w in ws:
    y = torch.tanh(y @ w)
torch.nn.functional.mse_loss(y, goal).backward()

print("guess:", guess)
for name, steps in (("ScheduleGPipe", 1), ("Schedule1F1B", 1), ("Schedule1F1B", 2)):
    outcome = run_ranks(by_torch, 4, name, steps, timeout=90)
    same = torch.allclose(torch.stack(outcome.values), ws.grad)
    sent = outcome.ledger.of("send").calls[0]
    print(f"{name}, steps {steps}: as one process: {same}, messages of rank 0: {sent}")

# %% [markdown]
r"""
**8**, one for each microbatch: 19 - 11 in the second step. The first step has three messages more, in which the stages tell each other the shapes of what will come. The gradients are those of one process with both schedules.
It divides by the number of microbatches for you (`scale_grads`).

## 7. Interleaved: more, smaller stages

The bubble is the time that the first microbatch needs to come through all ranks. So let it come sooner: give each rank v **chunks** of layers instead of one run. With 4 ranks and v = 2, rank 0 holds stages 0 and 4, rank 1 stages 1 and 5, and so on. A microbatch goes round twice, in steps half as long [4].

What becomes of the makespan 33 with v = 2? How many microbatches does rank 0 hold, and how many messages are sent, 48 for v = 1?
"""

# %%
guesses = {"makespan": "?", "held": "?", "messages": "?"}

rows = []
for v in (1, 2, 4, 8):
    ran = simulate(interleaved(4, 8, v))
    messages = 2 * 8 * (4 * v - 1)  # each way, m microbatches, over the borders of p v stages
    dear = simulate(interleaved(4, 8, v), Times(send=0.25))
    rows.append([f"{v}", f"{ran.makespan:g}", f"{ran.bubble_over_ideal:.4f}", f"{ran.peak:g}",
                 f"{messages}", f"{dear.makespan:g}"])  # fmt: skip
print("guesses:", guesses)
head = ["v", "makespan", "bubble of ideal", "held", "messages", "makespan, a message takes 0.25"]
table(head, rows, label="modelled; held and messages counted")

# %% [markdown]
r"""
The makespan is **28.5**: the bubble is divided by v, (p - 1)/(v m) of the ideal time, as Megatron-LM's authors print it [4].
But rank 0 holds **5.5**, more than with one chunk: it fills with p v + p - 1 chunks, of which v are a microbatch. That is p (1 + (p - 1)/(p v)) microbatches [5], the most for v = 2; with many chunks it comes near to p again.
And there are **112** messages. When messages take time, as in the last column, there is a best v, here 2: each of many small steps waits for its message.

A frame marks the second chunk:
"""

# %%
show_schedule(interleaved(4, 8, 2))

# %% [markdown]
r"""
## 8. Splitting the backward pass

Why does the bubble have backward passes in it at all? Rank 2 waits for B of rank 3. But it needs only the gradient of rank 3's *input*. That of rank 3's weights, for which nobody waits, could be computed later.

So split B in two: **I**, the gradient of the input, and **W**, that of the weights. In PyTorch:
"""

# %%
x = torch.randn(5, 3, requires_grad=True)
w = torch.randn(3, 3, requires_grad=True)
dy = torch.randn(5, 3)
y = torch.tanh(x @ w)

(dx,) = torch.autograd.grad(y, x, dy, retain_graph=True)  # I: goes to the rank before
(dw,) = torch.autograd.grad(y, w, dy)  # W: any time later

torch.tanh(x @ w).backward(dy)
print("as backward:", torch.equal(dx, x.grad), torch.equal(dw, w.grad))

# %% [markdown]
r"""
F, I and W take about 1 each. A microbatch must now be held until its W.

Take list scheduling again, with W for moments in which nothing else is ready. Four ranks, eight microbatches, room for four, as much as 1F1B needs. 1F1B's bubble was 9. What does it become?
"""

# %%
guess = "?"

greedy = Schedule([
    "F0 F1 F2 F3 I0 W0 I1 F4 I2 W1 I3 F5 W2 F6 I4 W3 F7 W4 I5 W5 I6 W6 I7 W7",
    "F0 F1 F2 F3 I0 W0 I1 W1 I2 F4 I3 W2 W3 F5 I4 F6 W4 I5 F7 I6 W5 W6 I7 W7",
    "F0 F1 F2 I0 F3 I1 W0 I2 W1 I3 F4 W2 W3 I4 F5 W4 F6 I5 W5 I6 F7 W6 I7 W7",
    "F0 I0 F1 I1 F2 I2 F3 I3 W0 W1 F4 I4 W2 W3 F5 I5 F6 I6 W4 W5 F7 I7 W6 W7",
], name="list scheduling")  # fmt: skip
print("guess:", guess)
print(simulate(greedy))
show_schedule(greedy)

# %% [markdown]
r"""
**5.** Better than 9. But the makespan could be 27: rank 3 cannot begin before 3, and works for 24. Can it be reached in this memory? Think before you run the next cell.
"""

# %%
guess = "?"  # the bubble

print("guess:", guess)
show_schedule(zb1p(4, 8))

# %% [markdown]
r"""
**3**, a third of 1F1B's. This is ZB1P, or ZB-H1, of the zero-bubble paper [6]. It begins with 3, 2, 1 and 0 forwards, as 1F1B. Then F, I and W follow in turn, and rank r puts off the last r W.

Compare the pictures. List scheduling runs a backward as soon as it is ready, so rank 0 runs I1 at the time 9, before F4. F4 then reaches rank 3 at 13 instead of 12, and rank 3 fills the gap with W1. Such moments add up: I7 of rank 3 begins at 24 instead of 22, and at the end ranks 0 to 2 wait for it, with no W left to fill the time.

To decide at each moment what is best at *that* moment is called *greedy*. Here greedy misses the best.

With more memory it gets better still. When does rank 0 have its first I? A wave goes down p ranks and back up p - 1: at 2 p - 1. Before, it can run only forwards, at most as many as fit. With room for p it idles p - 1. With how many does it idle not at all?
"""

# %%
guess = "?"  # microbatches, for p = 4

print("guess:", guess)
show_schedule(zb2p(4, 8))

# %% [markdown]
r"""
**2 p - 1 = 7.** No rank idles between its own first pass and its own last one. This is ZB2P. Its makespan is 27 as well: rank 3 begins at 3 and ends last.
But rank 0 is done at 24, and can begin with the next step. So the zero-bubble paper measures the longest time from a rank's *own first pass to its own last*, and by that measure the bubble is 0.

The authors' table says: bubble (p - 1)/m for 1F1B, (p - 1)/(3 m) for ZB1P, 0 for ZB2P; memory 1, 1 and 2 times 1F1B's, all for equal times of F, I and W [7]. Is it true for p = 8, m = 32?
"""

# %%
guesses = {"1F1B": "?", "ZB1P": "?", "ZB2P": "?"}  # bubble of ideal

p, m = 8, 32
printed = {"1F1B": ((p - 1) / m, 1), "ZB1P": ((p - 1) / (3 * m), 1), "ZB2P": (0, 2)}
print("guesses:", guesses)
for make in (one_f_one_b, zb1p, zb2p):
    ran = simulate(make(p, m))
    longest = max(ran.idle(rank) + ran.busy(rank) for rank in range(p))
    bubble, memory = printed[ran.schedule.name]
    print(f"{ran.schedule.name}: bubble {longest / ran.ideal - 1:.4f}, printed {bubble:.4f};  "
          f"memory {ran.peak / p:.3f}, printed {memory}")  # fmt: skip

# %% [markdown]
r"""
The bubbles agree to the digit; the "2" is 15/8, or 2 - 1/p.

One thing spoils it. Many training programs compute the norm of *all* gradients before the optimiser's step, to clip them. Then all ranks wait for the last one, and the makespan counts again. The authors step first and check afterwards; without that they lose about 8 percent [7].

## 9. From both ends

DualPipe, of DeepSeek-V3, has two copies of the model in opposite directions, so that microbatches enter at both ends. Its authors print this table [8], where B is the full backward pass and F&B a forward and a backward that run as one:

| | bubble | activations |
|---|---|---|
| 1F1B | (PP - 1)(F + B) | PP |
| ZB1P | (PP - 1)(F + B - 2W) | PP |
| DualPipe | (PP/2 - 1)(F&B + B - 3W) | PP + 1 |

For 8 ranks, 20 microbatches, F = W = 1, B = 2 and F&B = 3: what are the three bubbles?
"""

# %%
guesses = {"1F1B": "?", "ZB1P": "?", "DualPipe": "?"}

F, W, B, FB, PP = 1, 1, 2, 3, 8
printed = {
    "1F1B": ((PP - 1) * (F + B), PP),
    "ZB1P": ((PP - 1) * (F + B - 2 * W), PP),
    "DualPipe": ((PP // 2 - 1) * (FB + B - 3 * W), PP + 1),
}
print("guesses:", guesses)
for make in (one_f_one_b, zb1p, dualpipe):
    ran = simulate(make(PP, 20))
    print(f"{ran.schedule.name:8}: bubble {ran.bubble:g}, held {ran.peak:g}; "
          f"printed {printed[ran.schedule.name]}")  # fmt: skip

# %% [markdown]
r"""
**21, 7 and 6**, with **8, 8 and 9** held: the table holds in the simulation. The price of the last one is the second copy of all weights.

## What to remember

- Without microbatches a pipeline of p ranks is as fast as one.
- The bubble is (p - 1)(F + B): (p - 1)/m of the ideal time, (p - 1)/(m + p - 1) of the whole. Ask which one is meant.
- 1F1B has the same bubble as GPipe, and holds p - r microbatches instead of m.
- Orders can wait in a circle; and messages can, where the orders do not: send and receive at once.
- Divide each loss by the number of microbatches.
- v chunks divide the bubble by v, and cost p v - 1 messages each way instead of p - 1, and memory.
- Split B into I and W: with room for 2 p - 1 no rank idles between its own first and last pass. Greedy choices miss the best.

On GPUs, Nsight Systems shows the bubble as gaps on all ranks at the beginning and the end of a step, and messages as NCCL kernels of send and receive.

**Next:** the lab, `t3_10_pipeline_lab`, in your folder `mine/t3_many/`.

## Sources

1. Y. Huang and others, "GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism", 2019. <https://arxiv.org/abs/1811.06965>
2. D. Narayanan and others, "Memory-Efficient Pipeline-Parallel DNN Training" (PipeDream-Flush), 2021. <https://arxiv.org/abs/2006.09503>
3. PyTorch, pipeline parallelism. <https://docs.pytorch.org/docs/stable/distributed.pipelining.html>
4. D. Narayanan and others, "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", 2021: the interleaved schedule and its bubble. <https://arxiv.org/abs/2104.04473>
5. V. Korthikanti and others, "Reducing Activation Recomputation in Large Transformer Models", 2022: memory of the first stage. <https://arxiv.org/abs/2205.05198>
6. P. Qi and others, "Zero Bubble Pipeline Parallelism", 2024. <https://arxiv.org/abs/2401.10241>
7. Sea AI Lab, README of zero-bubble-pipeline-parallelism: the table of schedules, and the loss without post-validation. <https://github.com/sail-sg/zero-bubble-pipeline-parallelism>
8. DeepSeek, README of DualPipe: bubbles and memory. <https://github.com/deepseek-ai/DualPipe>
"""
