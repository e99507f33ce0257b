# %% [markdown]
r"""
# Topologies: doubling, trees, and two levels

**The ring wastes no byte. So why does NCCL not always use it?**

At the end of this lesson you can

- build an all-reduce with few rounds, and say from which size on the ring is faster,
- say what an algorithm sends inside a machine and between machines,
- see where messages share a link, and why a good formula may be wrong by a factor of four,
- choose an algorithm by size and by topology.

You need the lesson `t3_03_bus_bandwidth` and about 45 minutes. You do not need a GPU. All times here are *modelled*: computed from the latency and bandwidth of links that a cell states.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
"""

# %%
from warpwise.fabric import (
    Link,
    Network,
    cost,
    crossover,
    flows,
    halving_doubling,
    nodes_on_a_switch,
    recursive_doubling,
    ring_all_reduce,
    theory,
    tree,
    two_level,
)
from warpwise.show import show_chunks

# %% [markdown]
r"""
## 1. Fewer rounds

The ring of n ranks takes 2 (n - 1) rounds. With 1,024 ranks and 5 us a message these are 10 ms of latency, even for a single number.

Here is another way. In the first round, neighbours exchange their arrays and add: ranks 0 and 1, 2 and 3, and so on. Now each pair has a sum. In the second round, rank 0 exchanges with rank 2, and 1 with 3; then the partner is 4 away.
How many rounds until all 8 ranks have the whole sum? And who is the partner of rank 5 in the last one?
"""

# %%
guesses = {"rounds": "?", "partner of rank 5": "?"}

show_chunks(recursive_doubling(8))

# %%
print("guesses:", guesses)
for k in range(3):
    print(
        f"round {k}:",
        [f"{rank} with {rank ^ (1 << k)}" for rank in range(8) if rank < rank ^ (1 << k)],
    )
print("parts held after each round:", [2**k for k in range(4)])

# %% [markdown]
r"""
**3** rounds, log2 of 8, since the number of parts doubles each time. The partner of rank 5 in the last round is **1**: 5 ^ 4, in binary 101 and 001. The operator `^` turns over the bits that are set on its right-hand side, here one bit.
This is *recursive doubling*. Each message carries the whole array:

    recursive doubling:  log2 n (alpha + K/B)
    ring:                2 (n - 1) alpha + 2 (n - 1)/n K/B

One pays less latency, the other sends fewer bytes. For 8 ranks, 5 us and 25 GB/s: which is faster for 64 KB, and which for 64 MB?
"""

# %%
guesses = {64e3: "?", 1e6: "?", 64e6: "?"}

link = Link(latency_us=5, gbs=25)
print("K             ring    doubling   (us, modelled, 8 ranks)")
for nbytes, guess in guesses.items():
    times = [
        theory(name, 8, nbytes, link) * 1e6 for name in ("ring all-reduce", "recursive doubling")
    ]
    print(f"{nbytes / 1e3:6,.0f} KB {times[0]:9.1f} {times[1]:9.1f}    guess {guess}")

# %% [markdown]
r"""
Between them lies a size at which both take the same time. Set the formulas equal and solve for K:

    K = B alpha (2 (n - 1) - log2 n) / (log2 n - 2 (n - 1)/n)

What is it here, in KB?
"""

# %%
guess = "?"  # KB

print("guess:", guess)
for n in (4, 8, 64, 1024):
    print(f"{n:5} ranks: {crossover(n, link) / 1e3:12,.0f} KB (modelled)")

# %% [markdown]
r"""
**1,100** KB for 8 ranks. The more ranks, the longer recursive doubling is the better one.

## 2. Both at once?

Is there a way with few rounds *and* few bytes? In the first round, let each pair exchange only *halves*: rank 0 gets the first half of both, rank 1 the second. In the next round each halves what it has left.
After log2 n rounds rank r has one n-th of the array, completely summed. That is a reduce-scatter. The same way back is an all-gather.
How many rounds and how many K for 8 ranks?
"""

# %%
guesses = {"rounds": "?", "K": "?"}

print("guesses:", guesses)
print(
    "ranks        ring            doubling        halving-doubling    (rounds / K sent by a rank)"
)
for n in (4, 8, 16, 64):
    row = []
    for algorithm in (ring_all_reduce(n), recursive_doubling(n), halving_doubling(n)):
        one = cost(algorithm, Network(n, link), nbytes=6400)
        row.append(f"{one.rounds:4} / {max(one.sent) / 6400:<8g}")
    print(f"{n:5}   ", "    ".join(row))

# %% [markdown]
r"""
**6** rounds and **1.75** K: twice log2 n rounds, and not a byte more than the ring. These are the counts of the classic study of such algorithms [1].

By these numbers, nobody should use a ring. Yet NCCL does, for large arrays. The formulas leave something out.

## 3. Links are shared

So far each pair of ranks had a link of its own. Now take two machines with 8 GPUs each. Inside, every GPU has 300 GB/s. Between them there is one network card for each machine, 12.5 GB/s, which all 8 GPUs *share*.

The ring goes through the first machine, over to the second, through it and back. How many messages cross the cards in one round, in each direction? And in the round of recursive doubling in which the partner is 8 away?
"""

# %%
guesses = {"ring": "?", "doubling": "?"}

machines = nodes_on_a_switch(2, 8, inside=Link(4, 300), card=Link(20, 12.5))
for name, algorithm in (("ring", ring_all_reduce(16)), ("doubling", recursive_doubling(16))):
    rounds = [
        sum(
            int(a) // 8 == 0 and int(b) // 8 == 1
            for a, b in zip(one.source, one.destination, strict=True)
        )
        for one in algorithm.rounds()
    ]
    print(f"{name}: guess {guesses[name]}, messages from machine 0 to 1, by round: {rounds}")

# %% [markdown]
r"""
**1** and **8**. The ring crosses with one message of K/16 in each of its 30 rounds. Recursive doubling crosses once, with eight messages of K each, and they share one card.

The flow model below gives each message its fair share of every link that it takes. How long do 64 MB take with each algorithm? Which is the fastest?
"""

# %%
guess = "?"

sixteen = {
    "ring": ring_all_reduce(16),
    "recursive doubling": recursive_doubling(16),
    "halving-doubling": halving_doubling(16),
    "two levels": two_level(2, 8),
}
separate = Network(16, Link(4, 300), between=Link(20, 12.5), node=8)
print("guess:", guess)
print("64 MB                 own link for each pair      shared cards   (ms, modelled)")
for name, algorithm in sixteen.items():
    own = cost(algorithm, separate, 64_000_000).time
    shared = flows.run(machines, flows.of(algorithm, 64_000_000)).time
    print(f"{name:20} {own * 1e3:15.2f} {shared * 1e3:22.2f}")

# %% [markdown]
r"""
The **two levels**, by far; we come to them. With shared cards halving-doubling takes **41** ms, nearly eight times as long as its formula says, and the ring, at **10.3** ms, is four times as fast. A GPU sends the same number of bytes with both. But of the ring's 16 GPUs only two have a right neighbour on the other side.

*A formula counts what a rank sends. It does not know which links the bytes share.*

## 4. Two levels

The last row is the fastest. It uses what we know of the machines:

1. inside each machine, a reduce-scatter: GPU i of a machine holds piece i, an eighth of the array, summed over the machine;
2. between machines, an all-reduce of piece i among the GPUs with number i;
3. inside each machine, an all-gather.

How many K does a GPU send inside a machine, and how many between machines, with 8 machines of 8 GPUs?
"""

# %%
guesses = {"inside": "?", "between": "?", "rounds": "?"}


def bill(nodes, gpus):
    inside = 2 * (gpus - 1) / gpus
    between = 2 * (nodes - 1) / nodes / gpus
    return inside, between, 2 * (gpus - 1) + 2 * (nodes - 1)


print("guesses:", guesses)
for nodes, gpus in ((8, 8), (2, 8)):
    inside, between, rounds = bill(nodes, gpus)
    flat = 2 * (nodes * gpus - 1)
    print(
        f"{nodes} x {gpus}: inside {inside} K, between {between} K a GPU, {rounds} rounds; one ring: {flat}"
    )

# %% [markdown]
r"""
**1.75** K inside, **0.21875** K between, **28** rounds instead of 126. The slow links carry an eighth of what a GPU has to say.
With 2 machines, all 8 GPUs together send 8 times 0.125 K, so 1.0 K, over a card. One ring sends 2 (16 - 1)/16 K, so 1.875 K, with its single crossing.

What becomes of the time if each GPU has a card of its own, as in most machines for training? Then the pieces of step 2 travel on 8 cards at once.
"""

# %%
guess = "?"  # ms for the two levels, 64 MB

print("guess:", guess)
for name in ("ring", "two levels"):
    ms = [cost(sixteen[name], Network(16, Link(4, 300), Link(20, gbs), 8), 64_000_000).time * 1e3
          for gbs in (12.5, 50)]  # fmt: skip
    print(
        f"{name:11} a card of 12.5 GB/s for each GPU: {ms[0]:5.2f} ms, of 50 GB/s: {ms[1]:5.2f} ms (modelled)"
    )

# %% [markdown]
r"""
**1.11** ms instead of 5.6. The ring gains nothing from seven more cards, as only one GPU of each machine talks to the other. NCCL builds several rings that cross at different GPUs, for that reason.

## 5. Trees

NCCL's third way is a tree. Pairs join, then pairs of pairs, and the sum comes back the same way: log2 n rounds up and as many down, whole arrays. It has few rounds, and on each level half as many messages as below.
What do the leaves do most of the time?
"""

# %%
guess = "?"

one = cost(tree(8), Network(8, link), 800)
print("guess:", guess)
print("rounds:", one.rounds, "  K sent by each rank:", [float(s) / 800 for s in one.sent])

# %% [markdown]
r"""
They **wait**: four of the eight ranks send one array up, and get one back. So the load is uneven, and half of the links rest. NCCL uses two trees at once, in which each rank is a leaf of one and an inner node of the other, with half of the array in each [2].
With chunks, as in the chain of `t3_02_ring`, the whole bandwidth is used, and the latency grows with log2 n only.

## 6. An audit

A book on scaling models computes an all-reduce on a cube of 4 x 4 x 4 chips: an array of 1,024 x 4,096 numbers of 2 bytes is spread over two of the three dimensions, and summed along the third. It takes twice an all-gather; a chip sends 90 GB/s. The book prints 190 us [3].
How many bytes of the array does one chip hold? What is right?
"""

# %%
guess = "?"  # us

whole = 1024 * 4096 * 2
print("guess:", guess)
print(f"with the whole array:       {2 * whole / 90e9 * 1e6:.1f} us (modelled)")
print(f"with a chip's 1/16 of it:   {2 * whole / 16 / 90e9 * 1e6:.2f} us (modelled)")

# %% [markdown]
r"""
**11.65** us. The edition of February 2025 reckons with the whole array, though each ring of the third dimension sums only a sixteenth of it. Such slips are easy: *ask for each step what one rank holds*.

## 7. Which one?

| | small arrays | large arrays |
|---|---|---|
| one machine, a switch between all | doubling or a tree: few rounds | ring or halving-doubling: few bytes |
| several machines, a shared card each | two levels | two levels |
| several machines, a card for each GPU | a tree over machines | rings that cross at all cards, or two levels |

NCCL decides by tables of measured latencies and bandwidths, for each size and topology. `NCCL_ALGO=Ring` or `Tree` fixes it for an experiment, `NCCL_DEBUG=INFO` shows rings and trees, and `nvidia-smi topo -m` shows which GPUs are joined by what.

## What to remember

- Recursive doubling: log2 n rounds of the whole array. Small arrays.
- Ring: 2 (n - 1) rounds, 2 (n - 1)/n K. Large arrays. Between them is an exact size.
- Halving-doubling has few of both, for a power of two, if partners far away have links of their own.
- Count messages on the link that is shared. One shared card made a formula wrong by a factor of nearly eight.
- Two levels: 2 (g - 1)/g K inside, 2 (m - 1)/m K/g between, for m machines with g GPUs.
- A tree has few rounds and an uneven load.

**Next:** the lab, `t3_04_topologies_lab`, in your folder `mine/t3_many/`.

## Sources

1. R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication Operations in MPICH", International Journal of High Performance Computing Applications 19, 2005. <https://doi.org/10.1177/1094342005051521>
2. P. Sanders, J. Speck, J. L. Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel Computing 35, 2009. <https://doi.org/10.1016/j.parco.2009.09.001>
3. J. Austin and others, "How to Scale Your Model", 2025, chapter on sharding. <https://jax-ml.github.io/scaling-book/sharding>
4. NVIDIA, NCCL environment variables: `NCCL_ALGO`. <https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html>
"""
