# %% [markdown]
r"""
# Expert parallelism: mixtures and all-to-all

**A model should know more, without computing more for each word. So give it many parts, and let each word use two of them. The parts stand on many GPUs. How does a word get to its parts and back, what does the journey cost, and what if all words want the same part?**

At the end of this lesson you can

- route tokens to experts, and say what gates are for,
- compute how many tokens a capacity factor drops, and how many places stay empty,
- send rows to experts on other ranks with an uneven all-to-all, and put the results back in order,
- get the gradients of one process, and say which of them need a sum over ranks,
- compute bytes before you run, and what a popular expert costs in time,
- keep experts evenly busy with a loss, and know over which tokens it must be computed.

You need the lesson `t3_04_topologies` and about 45 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
"""

# %%
import math

import numpy as np
import torch
import torch.distributed as dist

from warpwise import run_ranks
from warpwise.fabric import Link, Net, Network
from warpwise.show import show_holdings, show_trace, table
from warpwise.show.dial import Dial, Dialled
from warpwise.traces import Trace

# %% [markdown]
r"""
## 1. Many weights, few of them used

In a *mixture of experts*, the MLP of a layer stands there several times, with different weights: these are the *experts*. A small layer, the *router*, picks k of them for each token. Attention and all else stay as they are.

Mixtral 8x7B has 32 layers of width 4,096. Each has 8 experts, each expert is three matrices of 4,096 x 14,336, and each token uses 2 of the 8 [1]. How many parameters are stored, and how many does a token use, in billions?
"""

# %%
guesses = {"stored": "?", "used for a token": "?"}

layers, h, f, experts, k = 32, 4096, 14_336, 8, 2
keys, words = 1024, 32_000  # width of keys and of values; vocabulary
attention = 2 * h * h + 2 * h * keys
rest = layers * (attention + experts * h + 2 * h) + 2 * words * h + h  # router, norms, words

print("guesses:", guesses)
for name, number in (("stored", experts), ("used for a token", k)):
    print(f"{name}: {(rest + layers * number * 3 * h * f) / 1e9:.1f} billion (counted)")

# %% [markdown]
r"""
**46.7** and **12.9** billion. These are the two numbers that Mistral AI prints [1]. The name says 8 x 7, but attention is there once.

All 46.7 have to be in memory somewhere, and only 12.9 are multiplied with. So memory is what runs out first, and experts are spread over GPUs.

## 2. The router

The router is one matrix [experts, h]. Its product with a token gives a number for each expert, the *logit*. The token goes to the k largest. What comes back from them is added up with weights, the *gates*: the softmax of the k chosen logits.

*Which* expert is chosen cannot be differentiated: a choice has no slope. The router learns through the gates alone.

Here are four tokens and four experts, k = 2. To which experts does token 0 go? Which expert gets the most tokens? And with k = 1, has the router a gradient if the gate is the softmax of the one chosen logit, or if it is the chosen expert's share of the softmax over all?
"""

# %%
guesses = {"experts of token 0": "?", "most": "?", "gradient, of the one": "?", "of all": "?"}

logits = torch.tensor(
    [[2.0, 0.0, 1.0, -1.0], [3.0, 1.0, 0.0, 0.0], [1.5, 0.0, 2.0, 0.5], [2.0, 1.0, 0.0, 0.5]]
)
best, chosen = torch.topk(logits, 2)
gates = torch.softmax(best, dim=1)
print("guesses:", guesses)
print("experts:", chosen.tolist())
print("tokens by expert:", torch.bincount(chosen.flatten(), minlength=4).tolist())
print("gates of token 0:", [round(gate, 3) for gate in gates[0].tolist()])

for name in ("of the one", "of all"):
    z = logits.clone().requires_grad_()
    if name == "of the one":
        gate = torch.softmax(torch.topk(z, 1).values, dim=1)
    else:
        gate = torch.softmax(z, dim=1).max(dim=1, keepdim=True).values
    (gate * 5).sum().backward()  # 5 stands for what the expert returns
    print(f"k = 1, softmax {name}: largest gradient {z.grad.abs().max().item():.3f}")

# %% [markdown]
r"""
Token 0 goes to the experts **0** and **2**, with gates 0.731 and 0.269. Expert **0** has all four tokens, and expert 3 none. Nothing makes a router fair.

With k = 1 the first gradient is **0**: softmax of one number is always 1. So one takes the share of all, as the Switch Transformer does [2]. With k = 2 the softmax of the chosen ones does depend on the logits; Mixtral takes that.

## 3. Capacity

A GPU likes arrays of fixed size. So one may give each expert a fixed number of places, its *capacity*:

    capacity = factor x tokens x k / experts, rounded up

The *capacity factor* is 1 if the places are just enough for an even spread [2]. A choice that finds no place is *dropped*: the expert's output for it is zero, and only the token's way around the layer, x + output, remains.

Say that a router is perfectly fair: it draws an expert for each of 32 tokens at random, k = 1, out of 8. With a factor of 1 there are 4 places for each expert, 32 in all. How many percent are dropped? And of 4,096 tokens?

Real routers are less fair. With a *skew*, expert i is chosen with a weight of 1 / (i + 1)^skew. Of 4,096 tokens with k = 2, skew 0.5 and a factor of 1.25, how many percent of the choices are dropped, and how many of the places stay empty all the same?
"""

# %%
guesses = {"32": "?", "4,096": "?", "dropped": "?", "empty": "?"}  # percent

rng = np.random.default_rng(seed=0)


def dropped(choices, experts, factor):
    """Share of the choices that find no place."""
    counts = np.bincount(choices.ravel(), minlength=experts)
    capacity = math.ceil(factor * choices.size / experts)
    return np.maximum(counts - capacity, 0).sum() / choices.size


def routed(skew, tokens=4096, experts=8, k=2, seed=0):
    """k different experts for each token, drawn with uneven weights."""
    noise = np.random.default_rng(seed).gumbel(size=(tokens, experts))
    return np.argsort(skew * np.log(np.arange(experts) + 1) - noise, axis=1)[:, :k]


def fullness(skew, factor):
    choices = routed(skew)
    counts = np.bincount(choices.ravel(), minlength=8)
    capacity = math.ceil(factor * choices.size / 8)
    rows = [
        (i, int(c), int(max(c - capacity, 0)), int(max(capacity - c, 0)))
        for i, c in enumerate(counts)
    ]
    lost, empty = (sum(row[j] for row in rows) for j in (2, 3))
    said = f"{lost / choices.size:.1%} dropped, {empty / (8 * capacity):.1%} of the places empty"
    head = ("expert", "choices", "dropped", "empty places")
    return table(head, rows, label=f"drawn at random; {said}")._repr_mimebundle_()


print("guesses:", guesses)
for tokens in (32, 4096):
    mean = np.mean([dropped(rng.integers(8, size=(tokens, 1)), 8, 1.0) for _ in range(200)])
    print(f"{tokens} tokens, fair: {mean:.1%} dropped on average (drawn at random)")
dials = [Dial("skew", (0, 0.25, 0.5, 1.0), 0.5), Dial("factor", (1, 1.25, 1.5, 2, 4), 1.25)]
Dialled(dials, fullness)

# %% [markdown]
r"""
A fair router loses **18** percent of 32, and **1.7** percent of 4,096: even chance is uneven in small numbers. With the skew, **6.2** percent are dropped, while **25** percent of the places stay empty. Turn the dials. A larger factor drops fewer and leaves more empty. No factor does both, as long as the router is uneven.

The other way is to drop nothing, and let each expert have as many rows as come. Then arrays have uneven sizes. That is what we build.

## 4. Off to the experts

Now three ranks have one expert each: expert r is on rank r. Each rank has its own tokens, as in data parallelism. Token 12 is the third token of rank 1.

| rank | tokens | expert of each |
|---|---|---|
| 0 | 0, 1, 2, 3 | 2, 0, 2, 1 |
| 1 | 10, 11, 12 | 0, 0, 2 |
| 2 | 20, 21, 22 | 0, 1, 0 |

An all-to-all sends piece k of each rank's array to rank k. `all_to_all_single` cuts the array at *splits*: how many rows go to each rank, and how many come from each. For that the rows must stand sorted by expert.
What does rank 0 hold after it, in which order?
"""

# %%
guess = "?"

owned = [[0, 1, 2, 3], [10, 11, 12], [20, 21, 22]]
wants = [[2, 0, 2, 1], [0, 0, 2], [0, 1, 0]]


def plan(expert):
    """How to sort, how many rows go to each rank, and how many come from each."""
    order = torch.argsort(expert, stable=True)
    gives = torch.bincount(expert, minlength=dist.get_world_size())
    takes = torch.empty_like(gives)
    dist.all_to_all_single(takes, gives)  # the counts first
    return order, gives.tolist(), takes.tolist()


def move(rows, gives, takes):
    came = rows.new_empty(sum(takes), *rows.shape[1:])
    dist.all_to_all_single(came, rows.contiguous(), takes, gives)
    return came


def send(owned, wants):
    rank = dist.get_rank()
    order, gives, takes = plan(torch.tensor(wants[rank]))
    rows = move(torch.tensor(owned[rank])[order], gives, takes)
    return rows.tolist(), order.tolist(), gives, takes


sent = run_ranks(send, 3, owned, wants).values
print("guess:", guess)
print("rank 0 holds:", sent[0][0])
for rank in range(3):
    print(f"rank {rank}: order {sent[rank][1]}, gives {sent[rank][2]}, takes {sent[rank][3]}")

named = [
    [f"{t}:{e}" for t, e in zip(*pair, strict=True)] for pair in zip(owned, wants, strict=True)
]
in_order = [[row[i] for i in one[1]] for row, one in zip(named, sent, strict=True)]
by_number = {name.split(":")[0]: name for row in named for name in row}
there = [[by_number[str(t)] for t in one[0]] for one in sent]
show_holdings(
    {
        "sort by expert": (named, in_order),
        "all-to-all, there": (in_order, there),
        "all-to-all, back": (there, in_order),
        "put back in order": (in_order, named),
    }
)

# %% [markdown]
r"""
Rank 0 holds **1, 10, 11, 20, 22**: what comes is ordered by *source*. Read the two lists as a matrix: what rank 0 gives is a row of it, what it takes is a column. In the picture `12:2` is token 12, for expert 2; step through it.

No rank can know its column by itself. So a first, small all-to-all exchanges the counts, one number for each pair of ranks.

What if a rank only *supposes* that it gets as many rows from each as it gives?
"""

# %%
guess = "?"  # right, wrong values, an error, a hang


def supposed(owned, wants):
    x, expert = torch.tensor(owned[dist.get_rank()]), torch.tensor(wants[dist.get_rank()])
    gives = torch.bincount(expert, minlength=3).tolist()
    rows = torch.empty_like(x)
    dist.all_to_all_single(rows, x[torch.argsort(expert, stable=True)], gives, gives)
    return rows.tolist()


outcome = run_ranks(supposed, 3, owned, wants, raises=False, echo=False)
print("guess:", guess)
print(outcome.diagnosis.sentence)

# %% [markdown]
r"""
**An error** here, with a pair of ranks that disagree. Do not rely on it: nothing says what a library does with splits that do not fit, and elsewhere it may be a hang or wrong numbers.

## 5. And back

Each expert works on its rows. Then the same all-to-all in the other direction: what was given is taken, so the two lists of splits change places. The rows come back in the order in which they were sent, which is *sorted by expert*. Which line puts them in their old places?

    came[order]            or            y[order] = came
"""

# %%
guess = "?"

torch.manual_seed(1)
torch.set_default_dtype(torch.float64)
h = 4
weights = torch.randn(3, h, h)  # of three experts
tokens = [torch.randn(len(one), h) for one in owned]


def there_and_back(tokens, wants, weights, put):
    rank = dist.get_rank()
    order, gives, takes = plan(torch.tensor(wants[rank]))
    rows = move(tokens[rank][order], gives, takes)
    done = torch.relu(rows @ weights[rank])  # this rank's expert
    return put(move(done, takes, gives), order)


def scattered(came, order):
    y = torch.empty_like(came)
    y[order] = came
    return y


whole = [
    torch.stack([torch.relu(x @ weights[e]) for x, e in zip(xs, es, strict=True)])
    for xs, es in zip(tokens, wants, strict=True)
]
print("guess:", guess)
for name, put in (("came[order]", lambda came, order: came[order]), ("y[order] = came", scattered)):
    outcome = run_ranks(there_and_back, 3, tokens, wants, weights, put)
    right = [torch.allclose(a, b) for a, b in zip(outcome.values, whole, strict=True)]
    print(f"{name:15} equal to one process, by rank: {right}")

# %% [markdown]
r"""
**`y[order] = came`**. Sorting was x[order], so the inverse *writes* to order. The other line sorts a second time; where the order is its own inverse, as on some rank above, it even looks right.

With k choices a token has k rows. Flatten the choices: entry i belongs to token i // k, so the rows to send are x[order // k]. Multiply what comes back by its gate, and *add* it to its token, with `index_add`.

With several experts a rank, rows arrive by source, and within each source by expert. Two ranks send this rank 2 and 0 rows for its expert 0, 1 and 3 rows for its expert 1. For which expert is each of the six rows?
"""

# %%
guess = "?"

arriving = torch.tensor([[2, 1], [0, 3]])  # [source, expert]
which = torch.arange(2).repeat(2).repeat_interleave(arriving.flatten())
print("guess:", guess)
print("expert of each row:", which.tolist())
print("rows of expert 1:  ", torch.nonzero(which == 1)[:, 0].tolist())

# %% [markdown]
r"""
**0, 0, 1, 1, 1, 1**. If rank 1 had sent rows for expert 0 as well, they would stand in the middle. So counts are exchanged by expert, not only by rank: then the receiver needs no other information.

## 6. The bill

How many bytes does a rank send over its links, there and back? Rows are 4 numbers of 8 bytes here. Count from the table in section 4: which rows leave rank 0, and which rows does it send back to others?
"""

# %%
guess = "?"  # bytes that rank 0 sends, counts left out

gives, takes = sent[0][2], sent[0][3]
rows = sum(gives[1:]) + sum(takes[1:])
print("guess:", guess)
print(f"rank 0: {sum(gives[1:])} rows out, {sum(takes[1:])} back: {rows * h * 8} bytes")
print("ledger, with the counts:", outcome.ledger.wire[0], "=", rows * h * 8, "+ 2 x 8")
outcome.ledger

# %% [markdown]
r"""
**224**: three rows out and four back. The ledger agrees. For an all-to-all it reads the splits, so here the wire is *counted*, too: a row that stays on its rank takes no link.

If all is even, (n - 1)/n of all rows leave. In one layer, forward, a rank with T tokens sends

    2 k T h (n - 1)/n numbers

and as many backward. That is k times what one all-reduce of T x h numbers takes. The array that travels does not depend on how many experts there are.

DeepEP, a library for just this, prints the following for 128 tokens a rank, h = 7,168, k = 8, on 8 GPUs: 114 us for the way back, 127 GB/s [3]. A number has 2 bytes. How many GB/s do you get? The benchmark leaves 10 of the 1,024 choices out.

Does the journey hide behind the work? An expert of two matrices h x f takes 4 h f operations for a row, so 4 h f / C seconds. The row travels there and back: 4 h bytes at 2 bytes a number, 4 h / W seconds. The ratio is C / (W f): as with tensor parallelism, only the width counts, and here it is the width of *one expert*.
DeepSeek-V3 has experts of three matrices with f = 2,048 [4]. For a GPU of 989 TFLOP/s [5] on a 50 GB/s card, how many times longer than the work is the journey, if every row crosses the card?
"""

# %%
guesses = {"GB/s": "?", "journey : work": "?"}

print("guesses:", guesses)
for left_out in (0, 10):
    nbytes = (128 * 8 - left_out) * 7168 * 2
    low, high = (nbytes / us / 1e3 for us in (114.5, 113.5))
    print(f"{left_out:2} left out: {nbytes / 1e6:.2f} MB, {low:.1f} to {high:.1f} GB/s (modelled)")

C, W, f = 989e12, 50e9, 2048
print(f"journey : work = {C / (W * f * 3 / 2):.1f} (modelled)")

# %% [markdown]
r"""
With 10 left out, 114 us, rounded, mean **127.0** to **128.1** GB/s: the printed number agrees. Note what it counts. Each GPU's card carries at most 50 GB/s, says the same page, so most of these bytes cannot have gone over the card; eight GPUs fit into one machine. Such a bandwidth counts rows, wherever they went.

The journey takes **6.4** times as long as the work. Fine experts are cheap to compute and dear to reach. Measures against it: 1 byte a number on the way there, not every row over the card (section 10), and other work meanwhile. With these, the report still gives about 1 : 1 for computing and communication, and a pipeline schedule is built around it to hide one behind the other [4].

## 7. Gradients

What does autograd make of `dist.all_to_all_single`? Nothing: it fills an array, and no way leads back. A `torch.autograd.Function` tells it what to do in each direction. Forward, rows go along the splits. Backward, gradients of rows go the same ways back: the backward of a dispatch is a combine, and the other way round. So a layer has *four* all-to-alls of rows a step.

Here is the whole layer with its router, k = 1, and the gate is the expert's share of the softmax. Each rank has its own tokens and its own expert; all have the same router. The loss is a sum over the tokens of all ranks. Which gradients are right as they come, and which need a sum over ranks?
"""

# %%
guesses = {"tokens": "?", "router": "?", "expert": "?"}  # right, or sum

router = torch.randn(3, h)


class Moved(torch.autograd.Function):
    """Rows along the splits; gradients the same ways back."""

    @staticmethod
    def forward(ctx, rows, gives, takes):
        ctx.splits = gives, takes
        return move(rows, gives, takes)

    @staticmethod
    def backward(ctx, gradient):
        gives, takes = ctx.splits
        return move(gradient, takes, gives), None, None


def layer(x, router, weight, moved):
    """This rank's tokens through everybody's experts; `weight` is its own expert's."""
    gate, expert = torch.softmax(x @ router.T, dim=1).max(dim=1)
    order, gives, takes = plan(expert)
    rows = moved(x[order], gives, takes)
    came = moved(torch.relu(rows @ weight), takes, gives)
    return gate[:, None] * torch.zeros_like(x).index_copy(0, order, came)


def step(tokens, router, weights, moved):
    rank = dist.get_rank()
    x, r, w = (one.clone().requires_grad_() for one in (tokens[rank], router, weights[rank]))
    layer(x, r, w, moved).square().sum().backward()
    return x.grad, r.grad, w.grad


x, r, w = (one.clone().requires_grad_() for one in (torch.cat(tokens), router, weights))
gate, expert = torch.softmax(x @ r.T, dim=1).max(dim=1)
y = gate[:, None] * torch.relu(torch.einsum("th,thj->tj", x, w[expert]))  # in one process
y.square().sum().backward()

outcome = run_ranks(step, 3, tokens, router, weights, Moved.apply)
d_tokens, d_router, d_expert = zip(*outcome.values, strict=True)
print("guesses:", guesses)
print("tokens right:", torch.allclose(torch.cat(d_tokens), x.grad))
print("router right:", [torch.allclose(one, r.grad) for one in d_router])
print("router, summed over ranks:", torch.allclose(sum(d_router), r.grad))
print("experts right:", [torch.allclose(a, b) for a, b in zip(d_expert, w.grad, strict=True)])

# %% [markdown]
r"""
Only the **router** needs a sum: all ranks have it, and each has seen its own tokens. An expert has *all* its tokens there, and its gradient is complete. An all-reduce over it would mix up different experts.

A trap follows, if the loss is a *mean* and gradients are averaged over n ranks as in `t3_06_data_parallel`: experts do not take part in the average, but must still be divided by n. Each rank's loss is the mean of its own tokens, so what an expert gets from all ranks is n times too large.

PyTorch has such a function, too, `all_to_all_single_autograd`. Does it give the same?
"""

# %%
guess = "?"


def by_torch(rows, gives, takes):
    from torch.distributed._functional_collectives import all_to_all_single_autograd

    return all_to_all_single_autograd(rows, takes, gives, dist.group.WORLD)


outcome = run_ranks(step, 3, tokens, router, weights, by_torch)
same = [
    all(torch.allclose(a, b) for a, b in zip(ours, theirs, strict=True))
    for ours, theirs in zip(zip(d_tokens, d_router, d_expert), outcome.values, strict=True)
]
print("guess:", guess)
print("the same gradients:", same)

# %% [markdown]
r"""
The same, and it may be compiled with the rest of the model.

## 8. The popular expert

Four ranks have 64 tokens each, and one expert each. First all is even: 16 rows from each rank to each. Then half of all rows go to expert 0, and the other three share the rest. A row takes an expert 5 us; rows have 8,192 bytes, links 5 us of latency and 25 GB/s.
With even routing the layer takes 381 us, of which the experts work 320. How long does it take with the popular expert? And how long is rank 3 in its second all-to-all, waiting included?
"""

# %%
guesses = {"layer": "?", "rank 3, way back": "?"}  # us

ROW, PER_ROW = 8192, 5e-6
even = [[16, 16, 16, 16]] * 4
popular = [[32, 11, 11, 10], [32, 11, 10, 11], [32, 10, 11, 11], [31, 11, 11, 11]]


def on_the_clock(counts):
    """One layer on a virtual network: when this rank does what, in us."""
    rank, n = dist.get_rank(), dist.get_world_size()
    net = Net(Network(n, Link(latency_us=5, gbs=25)))
    done = []

    def timed(name, work):
        start = net.now
        work()
        done.append((name, rank, "stream 0", start * 1e6, (net.now - start) * 1e6, {}))

    def exchange(gives, takes):
        for away in range(1, n):
            to, source = (rank + away) % n, (rank - away) % n
            out = torch.empty(gives[to] * ROW, dtype=torch.uint8)
            net.sendrecv(out, to, torch.empty(takes[source] * ROW, dtype=torch.uint8), source)

    out, into = counts[rank], [row[rank] for row in counts]
    timed("all_to_all", lambda: exchange(out, into))
    timed("forward", lambda: net.compute(sum(into) * PER_ROW))
    timed("all_to_all", lambda: exchange(into, out))
    return done


print("guesses:", guesses)
for name, counts in (("even", even), ("popular", popular)):
    by_rank = run_ranks(on_the_clock, 4, counts).values
    whole = max(start + us for rows in by_rank for *_, start, us, _ in rows)
    print(f"{name}: layer {whole:.0f} us (modelled)")
    for part, what in enumerate(("there", "expert", "back")):
        print(f"   {what:6}", [round(rows[part][4]) for rows in by_rank], "us, by rank")
show_trace(Trace.from_rows([row for rows in by_rank for row in rows]))

# %% [markdown]
r"""
**727** us instead of 381, nearly twice as long, though there are exactly as many rows as before. Rank 3 is **473** us on its way back, and most of that it waits for expert 0.

It is the straggler of `t3_05_deadlocks`: rank 0 never waits, and the long all-to-alls of the others are waiting. This straggler is no slow machine but a popular expert, and a layer later it may be another one.

So what counts is one number, the rows of the busiest rank over the mean. If the busiest has x times its fair share, the experts' part takes x times as long, and for 1 - 1/x of it the GPUs are idle, all together. Here x is 127/64, so about half.

A capacity factor bounds x, and drops tokens for it. Copies of popular experts on further GPUs bound it, too, and cost memory; DeepSeek-V3 is served that way [4]. In training one rather keeps the router fair.

## 9. Keeping the balance

A *load-balancing loss* is added to the model's own loss [2]:

    experts x (f0 p0 + f1 p1 + ...)

Of all choices the share f_i falls on expert i; p_i is the mean over tokens of its share of the softmax. Counts have no slope, so f is a mere number; the gradient flows through p, and presses most where f is large.
What is the loss with 8 experts if all is even? And if all tokens are sure of one expert?
"""

# %%
guesses = {"even": "?", "one expert": "?", "counts after 200 steps": "?"}


def balance(logits, k):
    experts = logits.shape[1]
    chosen = torch.topk(logits, k).indices
    f = torch.bincount(chosen.flatten(), minlength=experts) / chosen.numel()
    p = torch.softmax(logits, dim=1).mean(dim=0)
    return experts * (f * p).sum()


sure = torch.zeros(64, 8)
sure[:, 0] = 50
turns = torch.zeros(64, 8)
turns[torch.arange(64), torch.arange(64) % 8] = 2  # each expert is the best of 8 tokens
print("guesses:", guesses)
print(f"even: {balance(turns, 1):.3f}   one expert: {balance(sure, 1):.3f}")

torch.manual_seed(3)
x = torch.randn(1024, 16)
x[:, 0] = 1
biased = torch.randn(8, 16) / 2
biased[:, 0] = torch.linspace(2, -2, 8)  # every token likes the first experts
router = biased.clone().requires_grad_()
for number in range(201):
    if number in (0, 20, 200):
        counts = torch.bincount(torch.topk(x @ router.T, 2).indices.flatten(), minlength=8)
        print(f"step {number:3}: choices by expert {counts.tolist()}")
    balance(x @ router.T, 2).backward()
    router.data -= 0.5 * router.grad
    router.grad = None

# %% [markdown]
r"""
**1** and **8**. After 200 steps the choices are even within three of 256. In a real model this loss gets a small factor, because it works against what the router wants: the Switch Transformer takes 0.01 [2].

Even *over which tokens*? Two ranks have texts of one subject each, and each subject has two experts of four that understand it. What is the loss on each rank, and over both?
"""

# %%
guesses = {"each rank": "?", "both": "?"}

one, other = torch.zeros(8, 4), torch.zeros(8, 4)
one[torch.arange(8), torch.arange(8) % 2] = 3  # experts 0 and 1 in turn
other[torch.arange(8), 2 + torch.arange(8) % 2] = 3
print("guesses:", guesses)
print(f"each rank: {balance(one, 1):.2f}, {balance(other, 1):.2f}")
print(f"both:      {balance(torch.cat([one, other]), 1):.2f}")

# %% [markdown]
r"""
**1.83** on each, **1** over both. Load is even, every expert has its subject, and yet a loss on each rank for itself would press each to use all four. So f and p have to be summed over the tokens of all ranks *before* they are multiplied; the sum of the ranks' losses is something else. Qwen's authors report that models with the loss over the whole batch are better, and their experts more specialised [6].

DeepSeek-V3 does mostly without the loss. It adds a number to each expert's logit, for the *choice* only, not for the gate. After each batch the number rises a little for experts with too few tokens, and falls for those with too many [4]. Can that make a router even that nobody trains?
"""

# %%
guess = "?"

extra = torch.zeros(8)
for batch in range(201):
    chosen = torch.topk(x @ biased.T + extra, 2).indices
    counts = torch.bincount(chosen.flatten(), minlength=8)
    if batch in (0, 20, 200):
        print(f"batch {batch:3}: choices by expert {counts.tolist()}")
    extra += 0.02 * torch.sign(counts.double().mean() - counts)
print("guess:", guess)

# %% [markdown]
r"""
**Yes**, within four of 256. It is a thermostat and needs no gradient, so nothing works against the model's own loss.

## 10. Two levels

A row for each choice is a waste if two of a token's experts stand on the same machine: the token could cross the card once, and be handed on inside. DeepSeek-V3 has 256 experts, 8 for each token, on 64 GPUs in 8 machines [4]. If the 8 are drawn at random, to how many different machines does a token go? To how many different GPUs?

And inside a machine NVLink carries 160 GB/s where the card carries 50. How many experts a machine can a token have before NVLink becomes the slower part, and how many in all on 4 machines?
"""

# %%
guesses = {"machines": "?", "GPUs": "?", "experts a machine": "?", "on four": "?"}


def different(places, experts=256, k=8):
    """Expected number of places with at least one of k different experts."""
    missed = math.comb(experts - experts // places, k) / math.comb(experts, k)
    return places * (1 - missed)


print("guesses:", guesses)
print(f"machines {different(8):.2f}, GPUs {different(64):.2f} (modelled)")
for name, copies in (
    ("a row a choice", 8),
    ("once to each machine", different(8)),
    ("at most 4", 4),
):
    print(f"{name:21} {copies * 7 / 8:.2f} rows of a token cross its card (modelled)")
print("experts a machine:", 160 / 50, "  on four machines:", round(4 * 160 / 50, 1))

# %% [markdown]
r"""
**5.29** machines, and 7.68 GPUs. Sending once to each machine saves a third of what crosses the card. DeepSeek-V3 goes further and lets a token choose among the experts of *at most 4* machines [4].

Then there is room for **3.2** experts a machine, **12.8** in all; the report prints 3.2 and 13 [4]. Only 8 are used: five more would cost nothing on the network.

## What to remember

- Experts multiply the weights that are stored, not those that a token uses.
- The choice has no slope; the router learns through gates.
- Capacity = factor x tokens x k / experts. It drops choices and leaves places empty, both at once.
- Counts first, then rows. Rows arrive by source, and by expert within a source. Back with exchanged splits, then y[order] = came.
- 2 k T h (n - 1)/n numbers forward, as many backward, in four all-to-alls of rows.
- The backward of a dispatch is a combine. The router's gradient needs a sum over ranks, the experts' do not.
- A layer takes as long as its most popular expert.
- Balance over the tokens of all ranks: sum f and p first, then multiply.
- Across machines a token should travel once.

On GPUs, Nsight Systems shows the all-to-alls as NCCL kernels named `SendRecv`, since NCCL builds them out of sends and receives; where their lengths differ between ranks, look for the popular expert.

**Next:** the lab, `t3_12_expert_parallel_lab`, in your folder `mine/t3_many/`.

## Sources

1. Mistral AI, "Mixtral of experts", 2023: 46.7 and 12.9 billion. <https://mistral.ai/news/mixtral-of-experts/> Shape: the model's `config.json`. <https://huggingface.co/mistralai/Mixtral-8x7B-v0.1>
2. W. Fedus, B. Zoph, N. Shazeer, "Switch Transformers", 2021: capacity, k = 1, the loss and its factor. <https://arxiv.org/abs/2101.03961>
3. DeepSeek, DeepEP, documentation of version 1: low-latency kernels; the choices left out are in `tests/test_low_latency.py`. <https://github.com/deepseek-ai/DeepEP/blob/main/docs/legacy.md>
4. DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024: sections 2.1.2, 3.2, 3.4 and 4.2. <https://arxiv.org/abs/2412.19437>
5. NVIDIA, H100 SXM: bfloat16, 1,979 TFLOP/s with sparsity, half of it without. <https://www.nvidia.com/en-us/data-center/h100/>
6. Z. Qiu and others, "Demons in the Detail: On Implementing Load Balancing Loss for Training Specialized Mixture-of-Expert Models", 2025. <https://arxiv.org/abs/2501.11873>
7. PyTorch, `torch.distributed.all_to_all_single`. <https://docs.pytorch.org/docs/stable/distributed.html>
"""
