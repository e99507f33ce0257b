# %% [markdown]
r"""
# Context parallelism: ring attention and zig-zag

**A sequence of a million tokens does not fit on one GPU, and attention lets each token look at all the others. Can several GPUs share one sequence, and why does the obvious way to cut it leave half of them waiting?**

At the end of this lesson you can

- cut a sequence across ranks, and say which operation then needs other ranks,
- merge attention over parts of the keys,
- build ring attention, forward and backward, equal to one process,
- count the work of each rank under a causal mask, and balance it with a zig-zag,
- count bytes before you run it, and say from which length on they hide behind computing.

You need the lessons `t3_02_ring` and `t2_10_attention` and about 45 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
"""

# %%
import torch
import torch.distributed as dist
import torch.nn.functional as F

from warpwise import run_ranks
from warpwise.fabric.schedules import Task, run
from warpwise.fabric.schedules.overlap import COMPUTE, NETWORK, Step
from warpwise.show import show_overlap, show_pairs, table
from warpwise.show.dial import Dial, Dialled

# %% [markdown]
r"""
## 1. What is cut

Long sequences cost memory. A book on training counts it for Llama-3-8B: 32,768 tokens of 4,096 numbers of 2 bytes are one *hidden state*. The backward pass needs about 28 such arrays for each of the 32 layers, if nothing is recomputed [1].
How many GiB is that in all? And on each of 8 GPUs, if each has an eighth of the tokens?
"""

# %%
guesses = {"all": "?", "one of 8": "?"}  # GiB

state = 32_768 * 4_096 * 2 / 2**30
print("guesses:", guesses)
print(f"one hidden state {state} GiB, a layer {28 * state} GiB, all {28 * 32 * state} GiB")
print(f"with an eighth of the tokens: {28 * 32 * state / 8} GiB (modelled)")

# %% [markdown]
r"""
**224** GiB, as the book prints, and **28** on each of 8. *Context parallelism* cuts the sequence: all ranks have all weights, and each has a part of the tokens.

Linear layers, norms, activations and dropout work on each token alone. They do not notice the cut.
Attention does. With the *queries* Q, the *keys* K and the *values* V, each a row for each token,

    scores = Q Kᵀ / sqrt(d)        out = softmax(scores) V

where the softmax goes along each row. A query needs all keys, and most of them are on other ranks.

## 2. Attention in parts

So a rank has its queries, and keys arrive in parts. For each part it can compute attention as if there were no other keys. Two outputs then have to become one. Is the right one their mean?

With each output we keep one number a query, the *log-sum-exp*: log of the sum of exp(score) over the keys of this part. It tells how much a part weighs.
"""

# %%
guess = "?"  # is it the mean?

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
N, d = 16, 8
q, k, v = (2 * torch.randn(N, d) for _ in range(3))


def attend(q, k, v, seen):
    """Output and log-sum-exp over the keys that are seen; seen: [queries, keys], True or False."""
    scores = (q @ k.T / q.shape[-1] ** 0.5).masked_fill(~seen, -torch.inf)
    log = torch.logsumexp(scores, dim=1)
    return torch.exp(scores - log[:, None]) @ v, log


def merge(out, log, other, other_log):
    """Two parts become one."""
    total = torch.logaddexp(log, other_log)
    a, b = torch.exp(log - total), torch.exp(other_log - total)
    return a[:, None] * out + b[:, None] * other, total


every = torch.ones(N, N // 2, dtype=torch.bool)
left, right = (attend(q, k[part], v[part], every) for part in (slice(8), slice(8, 16)))
whole = torch.softmax(q @ k.T / d**0.5, dim=1) @ v
print("guess:", guess)
print("the mean is right:   ", torch.allclose((left[0] + right[0]) / 2, whole))
print("the merge is right:  ", torch.allclose(merge(*left, *right)[0], whole))
print(f"weight of the left half: {torch.exp(left[1] - merge(*left, *right)[1]).min():.3f} to",
      f"{torch.exp(left[1] - merge(*left, *right)[1]).max():.3f}")  # fmt: skip

# %% [markdown]
r"""
**No.** Each query has other weights: exp(log of the part), divided by the sum of both. It is the online softmax of `t2_09_fusion`, with whole blocks in place of numbers. The order of the parts does not matter.

One trap. With a mask a query may see *no* key of a part. What does `attend` give back for it?
"""

# %%
guess = "?"

none = torch.zeros(1, 2, dtype=torch.bool)
out, log = attend(q[:1], k[:2], v[:2], none)
print("guess:", guess)
print("out:", out[0, :3].tolist(), " log:", log.item())

# %% [markdown]
r"""
**Not a number**: all scores are -inf, so is their log-sum-exp, and -inf - (-inf) is NaN. One NaN spoils the merge, though its weight exp(-inf) is 0.
So subtract 0 where the log is -inf. Then the output is 0 with weight 0:
"""

# %%


def attend(q, k, v, seen):
    """The same; a query that sees nothing gets zeros, and -inf as its log-sum-exp."""
    scores = (q @ k.T / q.shape[-1] ** 0.5).masked_fill(~seen, -torch.inf)
    log = torch.logsumexp(scores, dim=1)
    safe = torch.where(log == -torch.inf, 0.0, log)
    return torch.exp(scores - safe[:, None]) @ v, log


nothing = attend(q, k[:8], v[:8], torch.zeros(N, 8, dtype=torch.bool))
print("merged with nothing:", torch.equal(merge(*left, *nothing)[0], left[0]))

# %% [markdown]
r"""
Two parts that *both* see nothing would still give NaN when merged. A causal token always sees itself, so begin with the part that holds a rank's own tokens.

## 3. The ring

Each of n ranks has N/n tokens: their queries, keys and values. K and V travel round a ring, as the pieces in `t3_02_ring`. In each step a rank computes with the block that it has, and passes it on *at the same time*. After n - 1 steps it has seen all.
In step s rank r has the block of rank r - s, mod n.

Here are 16 tokens with d = 8 numbers of 8 bytes, on 4 ranks. How many bytes does each rank send?
"""

# %%
guess = "?"


def ring(q, k, v, places, causal):
    """This rank's output, log-sum-exp, and pairs of query and key by step.

    q, k, v: [tokens of this rank, d]; places[r]: positions of the tokens of rank r.
    """
    rank, n = dist.get_rank(), dist.get_world_size()
    block, total, pairs = torch.stack([k, v]), None, []
    for step in range(n):
        owner = (rank - step) % n
        if step < n - 1:
            came = torch.empty_like(block)
            works = [dist.isend(block, (rank + 1) % n), dist.irecv(came, (rank - 1) % n)]
        seen = torch.ones(len(q), len(k), dtype=torch.bool)
        if causal:
            seen = places[owner][None, :] <= places[rank][:, None]
        pairs.append(int(seen.sum()))
        part = attend(q, *block, seen)
        total = part if total is None else merge(*total, *part)
        if step < n - 1:
            for work in works:
                work.wait()
            block = came
    return *total, pairs


def on_ranks(q, k, v, places, causal):
    mine = places[dist.get_rank()]
    return ring(q[mine], k[mine], v[mine], places, causal)


contiguous = list(torch.arange(N).chunk(4))
outcome = run_ranks(on_ranks, 4, q, k, v, contiguous, False)
joined = torch.cat([value[0] for value in outcome.values])
sent = outcome.ledger.of("send").bytes
print("guess:", guess)
print("equal to one process:", torch.allclose(joined, whole))
print("bytes sent:", sent[0], "  steps:", max(outcome.ledger.rounds()))
print("2 (n - 1) (N / n) d x 8 =", 2 * 3 * 4 * 8 * 8)

# %% [markdown]
r"""
**1,536**: three times K and V of four tokens. In general 2 (n - 1)/n N d numbers: nearly all keys and values pass each rank, but only two blocks are there at a time. Queries and outputs stay.
Ring attention is from 2023 [2].

## 4. Causal: who works?

In a language model a token must not see later ones. Query i sees keys 0 to i: the *causal* mask. Half of the N x N pairs remain.
Rank 0 has tokens 0 to 3, rank 3 has tokens 12 to 15. How many times more pairs has rank 3 than rank 0? And in which steps does any rank have nothing to do?
"""

# %%
guess = "?"  # pairs of rank 3 : pairs of rank 0

causal = F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)[0]


def counted(places):
    """Runs the causal ring; pairs by rank and step."""
    outcome = run_ranks(on_ranks, len(places), q, k, v, places, True)
    out = torch.empty(N, d)
    for mine, value in zip(places, outcome.values, strict=True):
        out[mine] = value[0]
    print("equal to one process:", torch.allclose(out, causal))
    return [value[2] for value in outcome.values]


def summary(pairs):
    """What each rank has to do, and what all wait for, step by step."""
    rows = [[f"rank {r}", *map(str, row), str(sum(row))] for r, row in enumerate(pairs)]
    longest = [max(step) for step in zip(*pairs, strict=True)]
    rows.append(["longest", *map(str, longest), str(sum(longest))])
    head = ["", *(f"step {s}" for s in range(len(pairs))), "sum"]
    return table(head, rows, label="counted")


pairs = counted(contiguous)
print("guess:", guess, " ", sum(pairs[3]) / sum(pairs[0]))
summary(pairs)

# %% [markdown]
r"""
**5.8** times. And it is worse than that. A step ends when the slowest rank is done, since its neighbour waits for the block. In every step some rank has a full block of 16 pairs.
So all wait for 58 pairs, where 64 would be the whole work *without* a mask. A fair share of the 136 pairs would be 34. The mask halves the work, and the ring gains almost nothing.

In general, with n ranks, the wait is (n - 1/2) blocks and the fair share n/2: a ratio of 2 - 1/n, nearly 2. (Here it is 58/34 = 1.71, since the diagonal counts as well.)

Now cut the sequence into 2 n pieces and give rank r the pieces r and 2 n - 1 - r: one early and one late. This is the *zig-zag*. Rank 0 of 4 has the tokens 0, 1, 14, 15. What is the ratio of the largest to the smallest work now?
"""

# %%
guess = "?"


def zigzag(N, n):
    """Positions by rank: piece r and piece 2 n - 1 - r."""
    pieces = torch.arange(N).chunk(2 * n)
    return [torch.cat([pieces[r], pieces[2 * n - 1 - r]]) for r in range(n)]


pairs = counted(zigzag(N, 4))
print("guess:", guess, " ", sum(pairs[3]) / sum(pairs[0]))
summary(pairs)

# %% [markdown]
r"""
**1.0**. All have 34 pairs, and in each step all have the *same* number. Nobody waits.

Look at it. Each row is a query, and its colour its rank; the number in a cell is the step in which it is computed. Turn the dials: in steps 1 to 3 of the contiguous split some ranks are idle; in the zig-zag each has half a block.
"""

# %%
show_pairs(
    {name: [row.tolist() for row in places]
     for name, places in {"zig-zag": zigzag(N, 4), "contiguous": contiguous}.items()}
)  # fmt: skip

# %% [markdown]
r"""
Half a block counts as half only if the program *leaves out* the other half. `ring` above computes all scores and masks them. Which quarters of a block does it need? Each rank has an early and a late piece of queries, and a block an early and a late piece of keys.
For rank 1 of 4: guess for each step which of the four products are needed.
"""

# %%
guess = "?"

pieces = {r: (r, 7 - r) for r in range(4)}
rank = 1
print("guess:", guess)
for step in range(4):
    owner = (rank - step) % 4
    needed = [
        f"{early_late} queries x {keys} keys"
        for early_late, mine in zip(("early", "late"), pieces[rank], strict=True)
        for keys, theirs in zip(("early", "late"), pieces[owner], strict=True)
        if theirs <= mine
    ]
    print(f"step {step}, block of rank {owner}: {', '.join(needed)}")

# %% [markdown]
r"""
There are only two cases, apart from the own block:

- a block from a *lower* rank: all queries, and only its early keys;
- a block from a *higher* rank: only the late queries, and all its keys.

Either way half of the products, with no mask at all. The lab builds it.

Does it matter in practice? A library of ring attention prints the speed of 8 GPUs, in iterations a second, beside an eighth of the work on one GPU [3]. By our count the contiguous ring can reach a share of (n/2) / (n - 1/2) at most. What is that for 8 ranks?
"""

# %%
guess = "?"  # percent

published = [  # GPUs, one GPU alone on all of it, contiguous ring, zig-zag
    ("8 H800, forward", 591.5, 38.5, 63.0),
    ("8 H800, both ways", 154.7, 10.4, 17.4),
    ("8 A100, forward", 373.4, 24.0, 38.2),
    ("8 A100, both ways", 94.7, 6.2, 10.6),
]
print(f"guess: {guess}  at most {100 * 4 / 7.5:.1f} % (counted)")
table(
    ["published", "contiguous, %", "zig-zag, %"],
    [[name, f"{100 * a / (one / 8):.1f}", f"{100 * b / (one / 8):.1f}"]
     for name, one, a, b in published],
    label="published times",
)  # fmt: skip

# %% [markdown]
r"""
**53.3 %**. The published runs of the contiguous ring reach 51 to 54 % (the library prints 52.1, 53.9, 51.4 and 52.5, rounded on the way). Counting pairs explains nearly all of the loss. One value is above our bound. The single GPU worked on shorter sequences, at which attention is less efficient; that may be why.
The zig-zag reaches 82 to 90 %.

## 5. When do the bytes hide?

While a rank computes with one block, the next one travels. A block has c tokens of width h, all heads together. With all pairs, computing takes 4 c² h operations: 2 c² h for the scores, 2 c² h for the product with V. K and V are 4 c h bytes, of 2-byte numbers. With F operations a second and B bytes a second:

    4 c² h / F  >=  4 c h / B       so       c >= F / B

The width cancels. The paper prints this c for five machines, and six times as many tokens as the shortest sequence, since six blocks have to be held [2]. Take its F and B, and compute both. Which of the five rows does not come out as printed?
"""

# %%
guess = "?"

machines = [  # F in TFLOPS, B in GB/s, then c and the length as printed, in thousands
    ("A100, NVLink", 312, 300, 1.0, 6.2),
    ("A100, InfiniBand", 312, 12.5, 24.5, 149.5),
    ("TPU v3", 123, 112, 1.1, 6.6),
    ("TPU v4", 275, 268, 1.0, 6.2),
    ("TPU v5e", 196, 186, 1.1, 6.3),
]
print("guess:", guess)
table(
    ["machine", "c / 1000", "printed", "6 c / 1000", "printed"],
    [[name, f"{f / b:.2f}", str(c), f"{6 * f / b:.2f}", str(length)]
     for name, f, b, c, length in machines],
    label="modelled",
)  # fmt: skip

# %% [markdown]
r"""
**InfiniBand**: 312 / 12.5 is 24.96, not 24.5, and six times that is 149.76. The other eight numbers come out to the digit.

Two things change c in a real model:

- A causal zig-zag computes half of the pairs and sends the same bytes: c must be *twice* as large.
- Many models have fewer heads of keys than of queries, for example 8 of 32, as Llama-3-8B. Then K and V are a quarter as large, and c as well.

Both together: c >= 2 x 1/4 x F/B. For A100 and InfiniBand, how many tokens a rank is that?
"""

# %%
guess = "?"

FLOPS, BYTES = 312e12, 12.5e9  # F and B
heads, kv_heads, head_size = 32, 8, 128
print("guess:", guess)
print("shortest block:", 2 * (kv_heads / heads) * FLOPS / BYTES, "tokens a rank (modelled)")


def step_ms(c, share=0.5):
    """Computing with one block, and its travel."""
    computing = share * 4 * c**2 * heads * head_size / FLOPS
    travel = 2 * c * kv_heads * head_size * 2 / BYTES
    return computing * 1e3, travel * 1e3


def ring_picture(tokens_a_rank, n):
    computing, travel = step_ms(tokens_a_rank)
    tasks = [Task("QKV0", COMPUTE, computing)]
    for s in range(1, n):
        tasks.append(Task(f"KV{s}", NETWORK, travel))
        tasks.append(Task(f"QKV{s}", COMPUTE, computing, (f"KV{s}",)))
    return show_overlap(Step(run(tasks), 0))._repr_mimebundle_()


Dialled(
    [Dial("tokens_a_rank", (2048, 4096, 8192, 12480, 16384, 32768), 8192), Dial("n", (2, 4, 8), 4)],
    ring_picture,
)

# %% [markdown]
r"""
**12,480** tokens a rank. With 8,192 the computing waits in each step, with 16,384 it never does. QKV stands for attention with one block, KV for a block that travels.
Computing grows with c², travel with c. So context parallelism pays for *long* sequences, and the more ranks share one sequence, the smaller c becomes.

## 6. Backward

Backward, each block needs what the forward pass saved: the output and the log-sum-exp L, a number a query. With dO, the gradient of the output, for one block of keys:

    P  = exp(scores - L)            the true shares of these keys, whatever the other keys are
    dV = Pᵀ dO
    dP = dO Vᵀ
    dS = P * (dP - D)               D: sum over a row of dO * out
    dQ = dS K / sqrt(d)             dK = dSᵀ Q / sqrt(d)

Since L is that of *all* keys, blocks are independent: nothing has to be merged, only added. For which of dQ, dK and dV does a rank need the other ranks?
"""

# %%
guess = "?"


def block_gradients(q, k, v, out, log, d_out, seen):
    """dQ, and [dK, dV] of one block."""
    scale = q.shape[-1] ** -0.5
    P = torch.exp((q @ k.T * scale).masked_fill(~seen, -torch.inf) - log[:, None])
    dS = P * (d_out @ v.T - (d_out * out).sum(1, keepdim=True))
    return dS @ k * scale, torch.stack([dS.T @ q * scale, P.T @ d_out])


def ring_backward(q, k, v, places, d_out):
    rank, n = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % n, (rank - 1) % n
    out, log, _ = ring(q, k, v, places, True)
    block, dq = torch.stack([k, v]), torch.zeros_like(q)
    d_block = torch.zeros_like(block)
    for step in range(n):
        seen = places[(rank - step) % n][None, :] <= places[rank][:, None]
        more, own = block_gradients(q, *block, out, log, d_out, seen)
        dq += more
        d_block += own  # what this rank adds to the gradient of the visitor
        for what in [block] * (step < n - 1) + [d_block]:
            sending = dist.isend(what.clone(), right)  # the block
            dist.recv(what, left)
            sending.wait()
    return dq, d_block[0], d_block[1]


def backward_on_ranks(q, k, v, places, d_out):
    mine = places[dist.get_rank()]
    return ring_backward(q[mine], k[mine], v[mine], places, d_out[mine])


d_out = torch.randn(N, d)
one = [x.clone().requires_grad_() for x in (q, k, v)]
F.scaled_dot_product_attention(*(x[None] for x in one), is_causal=True)[0].backward(d_out)
places = zigzag(N, 4)
outcome = run_ranks(backward_on_ranks, 4, q, k, v, places, d_out)
print("guess:", guess)
for number, name in enumerate(("dQ", "dK", "dV")):
    found = torch.empty(N, d)
    for mine, value in zip(places, outcome.values, strict=True):
        found[mine] = value[number]
    print(name, "equal to one process:", torch.allclose(found, one[number].grad))
backward = sum(e.bytes for e in outcome.ledger.entries if e.rank == 0 and "the block" in e.text)
print("bytes sent backward:", backward, "=", backward // 512, "blocks of 512")

# %% [markdown]
r"""
**dK and dV.** dQ stays, since a rank sees all keys. But the gradient of a key has a share from each rank whose queries saw it. So it travels *with* its block and collects the shares, and after n steps it is home.

Count: K and V go n - 1 steps once more, dK and dV go n steps. That is 2 n - 1 blocks of K and V, **7** for n = 4, against 3 forward.
Could one step be saved? The reduce-scatter of `t3_02_ring` takes n - 1. Here the *first* message carries what a rank adds to its own block, though it is the one that gets it in the end. It could keep that, and let the gradient begin at its neighbour. The lab does.

What about hiding? Backward has 5 products of c² h where forward has 2, and twice the bytes a step. Is c larger or smaller than forward?
"""

# %%
guess = "?"

print("guess:", guess)
print("backward c : forward c =", (8 / 4) / (5 / 2), "(modelled)")

# %% [markdown]
r"""
Smaller, **0.8** of it: if it hides forward, it hides backward.

## 7. PyTorch's own

PyTorch 2.13 has `torch.distributed.tensor.experimental.context_parallel`, which replaces the attention inside a `with` block. It needs a GPU's attention kernel. The function beneath it takes the kernel as an argument; we hand it the CPU's and ask for the ring. (Its name begins with an underscore: it may change.)
It cuts the sequence by itself, with `_HeadTailLoadBalancer`. Guess what it does with 16 tokens and 4 ranks, and how many messages a rank sends forward and backward.
"""

# %%
guesses = {"rank 0 has": "?", "forward": "?", "backward": "?"}


def by_torch(q, k, v, d_out):
    import torch
    from torch.distributed.tensor.experimental._context_parallel import _attention as cp
    from torch.distributed.tensor.experimental._context_parallel import _load_balancer

    rank, n, group = dist.get_rank(), dist.get_world_size(), dist.group.WORLD
    cp._cp_options.convert_to_f32 = False
    cp._cp_options.rotate_method = cp._RotateMethod.ALL_TO_ALL
    order = _load_balancer._HeadTailLoadBalancer(len(q), n, "cpu")._generate_indices()[0]
    mine = order.chunk(n)[rank].long()
    q, k, v, d_out = (x[mine][None, None] for x in (q, k, v, d_out))
    kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    back = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
    out, log = cp._templated_ring_attention(group, 2, kernel, q, k, v, is_causal=True)  # forward
    found = cp._templated_ring_attention_backward(  # backward
        group, 2, back.default, d_out, "grad_out", q, k, v, out, log, True, dropout_p=0.0
    )
    return mine, out[0, 0], found[1][0, 0]


outcome = run_ranks(by_torch, 4, q, k, v, d_out, timeout=90)
print("guesses:", guesses)
print("rank 0 has:", outcome[0][0].tolist())
print("out as ours:", all(torch.allclose(o, causal[mine]) for mine, o, _ in outcome.values))
print("dK as ours: ", all(torch.allclose(g, one[1].grad[m]) for m, _, g in outcome.values))
for entry in outcome.ledger.entries:
    if entry.rank == 0:
        print("forward: " if "# forward" in entry.text else "backward:", entry.operation,
              entry.calls, "times", entry.bytes, "bytes")  # fmt: skip

# %% [markdown]
r"""
It is the zig-zag, and the same numbers. A step is an all-to-all in which each rank sends to one other only: 3 forward; 3 + 4 backward, so its gradients go home in n steps.
By default PyTorch does not use the ring at all: it gathers all keys and values in one all-gather, the same bytes in one call, and keeps them whole. Llama 3 was trained with such an all-gather, on the zig-zag's pieces [4]: with few heads of keys it is cheap, and masks of any kind are simple.

## 8. Another way: heads

Heads do not know of each other. *Ulysses* [5] exchanges: an all-to-all gives each rank *all* tokens of *some* heads, each rank computes ordinary attention, and another all-to-all brings the outputs back.
Q, K, V and the output each travel once. With 4 ranks, 16 tokens and 4 heads of 8 numbers: does it send more or less than the ring?
"""

# %%
guess = "?"


def to_heads(x):
    """[my tokens, heads, d] -> [all tokens, my heads, d]"""
    out = torch.stack(x.chunk(dist.get_world_size(), dim=1))
    came = torch.empty_like(out)
    dist.all_to_all_single(came, out)
    return came.flatten(0, 1)


def to_tokens(x):
    """The way back."""
    n = dist.get_world_size()
    came = torch.empty_like(x)
    dist.all_to_all_single(came, x.contiguous())
    return torch.cat(list(came.chunk(n)), dim=1)


def ulysses(q, k, v):
    mine = slice(4 * dist.get_rank(), 4 * dist.get_rank() + 4)
    q, k, v = (to_heads(x[mine]).transpose(0, 1) for x in (q, k, v))
    return to_tokens(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(0, 1))


many = [torch.randn(N, 4, d) for _ in range(3)]
right = F.scaled_dot_product_attention(*(x.transpose(0, 1) for x in many), is_causal=True)
outcome = run_ranks(ulysses, 4, *many)
print("guess:", guess)
print("equal:", torch.allclose(torch.cat(outcome.values), right.transpose(0, 1)))
print(
    f"bytes over links: {outcome.ledger.wire[0]:.0f} (modelled), the ring: {2 * 3 * 4 * 4 * d * 8}"
)

# %% [markdown]
r"""
**Less**: 3,072 against 6,144. Ulysses sends 4 (n - 1)/n N h/n numbers, so *less* with more ranks; its paper counts 4 N h/P [5]. The ring sends 2 (n - 1)/n N h.
But the number of ranks cannot exceed the number of heads, of keys too, and it cannot hide behind the attention that waits for it. Many systems use both: Ulysses inside a node, the ring between nodes.

## 9. What else changes with the cut

- *Positions.* A rank's first token is not token 0. Rotary embeddings need the true positions, in the zig-zag's order.
- *Targets.* The label of a token is the next token, which may be on another rank. Shift the labels before you cut.
- *Loss.* The mean over tokens is the sum over all ranks divided by all tokens that count, as in `t3_01_collectives`.
- *Weights.* All ranks have the same weights, and each has a share of their gradients: they are summed over the ranks of one sequence, too.

## What to remember

- Context parallelism cuts the sequence. Only attention needs other ranks.
- Parts of keys merge by their log-sum-exp: weights exp(L_part - L_total).
- Ring: n - 1 steps forward, each with K and V of N/n tokens: 2 (n - 1)/n N h_kv numbers.
- Under a causal mask the contiguous cut makes all wait for nearly twice the fair share. The zig-zag gives each rank the pieces r and 2 n - 1 - r: the same work for all, in each step.
- It hides if c >= F/B tokens a rank; twice that under a causal zig-zag, less with fewer key heads.
- Backward: K and V again, dK and dV travel with their block, dQ stays.

On GPUs, Nsight Systems shows the send and receive kernels of NCCL beside the attention kernel. Where there are gaps between attention kernels, blocks come too late.

**Next:** the lab, `t3_11_context_parallel_lab`, in your folder `mine/t3_many/`.

## Sources

1. S. Bekman, "Machine Learning Engineering": activation memory of Llama-3-8B. <https://github.com/stas00/ml-engineering>
2. H. Liu, M. Zaharia, P. Abbeel, "Ring Attention with Blockwise Transformers for Near-Infinite Context", 2023: Table 2. <https://arxiv.org/abs/2310.01889>
3. Z. Zhu, ring-flash-attention, README: 8 GPUs, 8,192 tokens each, heads as Llama-3.1-8B. <https://github.com/zhuzilin/ring-flash-attention>
4. Meta, "The Llama 3 Herd of Models", 2024, section on parallelism. <https://arxiv.org/abs/2407.21783>
5. S. A. Jacobs and others, "DeepSpeed Ulysses", 2023. <https://arxiv.org/abs/2309.14509>
6. W. Brandon and others, "Striped Attention: Faster Ring Attention for Causal Transformers", 2023: another balanced cut. <https://arxiv.org/abs/2311.09431>
7. PyTorch, `context_parallel`. <https://docs.pytorch.org/tutorials/unstable/context_parallel.html>
"""
