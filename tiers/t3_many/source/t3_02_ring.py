# %% [markdown]
r"""
# Ring: all-reduce from send and receive

**Eight GPUs must add up gradients of 20 GB. Each sends only 35 GB, and with a thousand GPUs it would be 40. How can that be done, when each of them talks only to its neighbour?**

At the end of this lesson you can

- pass messages between ranks without a deadlock,
- build a reduce-scatter, an all-gather and an all-reduce from messages, round by round,
- count rounds and bytes before you run it, also where n does not divide the length,
- compute the time on a network from its latency and its bandwidth.

You need the lesson `t3_01_collectives` and about 45 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
"""

# %%
import torch
import torch.distributed as dist

from warpwise import run_ranks
from warpwise.fabric import Link, Net, Network, cost, ring_all_reduce, theory
from warpwise.show import show_chunks

# %% [markdown]
r"""
## 1. One message

`dist.send(tensor, k)` sends a tensor to rank k. `dist.recv(tensor, k)` waits for one from rank k and puts it into `tensor`, which must have the right size.

Four ranks stand in a circle, a *ring*. Each wants to give its number to its right neighbour, rank + 1, and the last one to rank 0.
So each first sends to the right and then receives from the left. What happens?
"""

# %%
guess = "?"


def send_first():
    rank, n = dist.get_rank(), dist.get_world_size()
    mine, came = torch.tensor([float(rank)]), torch.empty(1)
    dist.send(mine, (rank + 1) % n)
    dist.recv(came, (rank - 1) % n)
    return came.item()


outcome = run_ranks(send_first, 4, raises=False)
print("guess:", guess)
print(outcome.diagnosis.sentence)

# %% [markdown]
r"""
It is a **deadlock**. A send may wait until the other side receives. Here everybody sends, so nobody receives.
"May": some libraries store a small message and go on. NCCL and MPI do for some sizes, gloo never does. Such a program works in the test and stands still with the large arrays of the real run.
The only safe assumption is that *a send waits for its receive*.

`dist.isend` starts to send and returns at once, with an object to wait on. `dist.irecv` does the same for receiving.
"""

# %%
guess = "?"  # what the four ranks return


def start_then_receive():
    rank, n = dist.get_rank(), dist.get_world_size()
    mine, came = torch.tensor([float(rank)]), torch.empty(1)
    sending = dist.isend(mine, (rank + 1) % n)
    dist.recv(came, (rank - 1) % n)
    sending.wait()  # from here on `mine` may be changed again
    return came.item()


print("guess:", guess)
print(run_ranks(start_then_receive, 4).values)

# %% [markdown]
r"""
**3, 0, 1, 2**. Do not change an array before its `wait`: what is under way may change with it.

Without `isend` it works as well if not all do the same: rank 0 sends first, the others receive first. But then the messages go one after the other round the circle, n of them, where one step would do.

## 2. Through one rank

The plainest all-reduce: all ranks send their array to rank 0, which adds them up and sends the sum back to each.
There are n ranks with K bytes each. How many K does rank 0 send? And how many messages follow one another, if rank 0 handles one at a time?
"""

# %%
guesses = {"bytes, in K": "?", "rounds": "?"}  # for 8 ranks


def through_rank_0(x):
    x, came = x + dist.get_rank(), torch.empty_like(x)
    rank, n = dist.get_rank(), dist.get_world_size()
    if rank > 0:
        dist.send(x, 0)
        dist.recv(x, 0)
        return x
    for k in range(1, n):
        dist.recv(came, k)
        x += came
    for k in range(1, n):
        dist.send(x, k)
    return x


x = torch.zeros(840)
outcome = run_ranks(through_rank_0, 8, x)
K = x.numel() * x.element_size()
print("guesses:", guesses)
print("sums right:", all(torch.equal(value, x + 28) for value in outcome.values))
print("rank 0 sends", outcome.ledger.of("send").bytes[0] / K, "K,",
      "rounds:", max(outcome.ledger.rounds()))  # fmt: skip

# %% [markdown]
r"""
**7 K** and **14** rounds. With 1,024 ranks it would be 1,023 K: one rank does all the work, and its link is the bottleneck.

A first idea with the ring: each rank passes on what came from the left, n - 1 times, and adds it up. Then nobody is special.
But each rank sends whole arrays, n - 1 of them. So it is still (n - 1) K, now for everybody. What is wasted?

Each array visits each rank, and is added up there: every rank computes the *whole* sum. One would be enough for each piece.

## 3. Pieces

Cut each array into n pieces. The sum of piece 0 is collected on its way round the ring: rank 0 sends its piece 0 to rank 1, which adds its own and sends the result to rank 2, and so on.
After n - 1 steps the last rank has the whole sum of piece 0. At the same time piece 1 starts at rank 1, piece 2 at rank 2. All links are busy in each step, each with a message of K/n bytes.

Turn the slider: rows are ranks, columns pieces, a number says how many ranks' parts a cell has. Which rank has the whole of piece 0 after 3 rounds?
"""

# %%
guess = "?"

show_chunks(ring_all_reduce(4))

# %%
print("guess:", guess)
print(show_chunks(ring_all_reduce(4)).at(after_round=3)["text/plain"])

# %% [markdown]
r"""
**Rank 3**, the last one on the way from rank 0. This is a reduce-scatter in n - 1 rounds: rank r ends with piece r + 1, and rank 3 with piece 4, which is piece 0. The rest is an all-gather: the finished pieces go round once more, n - 1 rounds, and each rank takes what comes. Turn the slider to the end.

For a program we need the index. In step s = 0, 1, ..., n - 2 of the first half rank r sends piece (r - s) mod n, and what comes from its left neighbour is that rank's piece, (r - 1 - s) mod n.
Which piece does rank 1 of 4 send in step 2? In Python, what is (-1) % 4?
"""

# %%
guess = "?"

for step in range(3):
    print(f"step {step}:", [f"rank {r} sends {(r - step) % 4}" for r in range(4)])
print("guess:", guess)

# %% [markdown]
r"""
Piece **3**: in Python the result of `%` has the sign of the divisor, so -1 becomes 3. Now the whole thing.
`net` below stands for a network; for now only its method `sendrecv` matters: send one tensor to the right and receive another from the left, at the same time.
"""

# %%


def ring_sum(x, net):
    """The sum of x over all ranks; len(x) is a multiple of the number of ranks."""
    rank, n = net.rank, net.size
    right, left = (rank + 1) % n, (rank - 1) % n
    pieces = list(x.clone().chunk(n))
    came = torch.empty_like(pieces[0])
    for step in range(n - 1):  # reduce-scatter
        net.sendrecv(pieces[(rank - step) % n], right, came, left)
        pieces[(rank - 1 - step) % n] += came
    for step in range(n - 1):  # all-gather
        net.sendrecv(pieces[(rank + 1 - step) % n], right, came, left)
        pieces[(rank - step) % n].copy_(came)
    return torch.cat(pieces)


# %% [markdown]
r"""
Look at the indices of the second half. Rank r begins with the piece that it has finished, r + 1, and in each step it passes on what came in the step before.

How many rounds for 8 ranks, and how many K does a rank send?
"""

# %%
guesses = {"bytes, in K": "?", "rounds": "?"}

network = Network(8, Link(latency_us=5, gbs=25))


def on_network(x):
    net = Net(network)
    return ring_sum(x + net.rank, net), net.now


outcome = run_ranks(on_network, 8, x)
print("guesses:", guesses)
print("sums right:", all(torch.equal(value, x + 28) for value, _ in outcome.values))
print(outcome.ledger.against("ring all-reduce", K))

# %% [markdown]
r"""
**14** rounds, and **1.75** K, as 3,360 bytes times 1.75 are 5,880: 2 (n - 1) rounds and 2 (n - 1)/n K. That is the least that the last lesson allowed: the ring wastes no byte.
The algorithm was published with this proof in 2009 [1], and it is what NCCL calls a *ring*. For other worlds:
"""

# %%
print("ranks   rounds   bytes sent by a rank, in K")
for n in (4, 8, 16, 64):
    one = cost(ring_all_reduce(n), Network(n, Link(5, 25)), nbytes=6400)
    print(f"{n:5} {one.rounds:8} {max(one.sent) / 6400:12.5f}")

# %% [markdown]
r"""
## 4. What n does not divide

Ten numbers on four ranks: pieces of 3, 3, 2 and 2. `torch.tensor_split(x, n)` cuts like this. The array for what comes must then have the size of the piece that *comes*, not of the one that goes.
With two numbers on four ranks two pieces are empty. An empty message is still a message, and nothing needs an `if`.

How many numbers does the busiest rank send in the first half, with ten numbers on four ranks?
"""

# %%
guess = "?"

sizes = [len(piece) for piece in torch.tensor_split(torch.zeros(10), 4)]
sent = [sum(sizes[(rank - step) % 4] for step in range(3)) for rank in range(4)]
print("guess:", guess)
print("pieces:", sizes, "  numbers sent by rank:", sent)

# %% [markdown]
r"""
**8**. Each rank sends all pieces but one in each half. The busiest leaves out a small one.

## 5. Time

A message of m bytes takes

    alpha + m / B

on a link with the *latency* alpha and the *bandwidth* B, in this model and, often closely, in fact. On a network of 5 us and 25 GB/s, what takes 8 ranks longer: 14 messages of K/8 one after the other, for K = 3,360 bytes, or the same for 1 GB?
For the first, nearly all is latency. For the second, nearly all is bandwidth.

    ring:               2 (n - 1) alpha + 2 (n - 1)/n K / B
    through one rank:   2 (n - 1) (alpha + K / B)

Nothing here is measured. `Net` carries clocks along with the messages: a receiver is done at the later of both clocks, plus the time of the message. So times are *modelled*, exact, and the same on every computer.
How many us did the run above take on that network?
"""

# %%
guess = "?"  # us

link = Link(latency_us=5, gbs=25)
print("guess:", guess)
print(f"clock of the last rank: {max(now for _, now in outcome.values) * 1e6:.4f} us (modelled)")
print(f"theory:                 {theory('ring all-reduce', 8, K, link) * 1e6:.4f} us (modelled)")

# %% [markdown]
r"""
About **70** us: 14 times 5 us, and the bytes hardly count. Which of the two is faster for small arrays? And for large ones?
"""

# %%
guesses = {"4 KB": "?", "1 GB": "?"}  # ring, or through rank 0

print("K            ring      through rank 0   (ms, modelled, 8 ranks)")
for name, nbytes in (("4 KB", 4e3), ("1 MB", 1e6), ("1 GB", 1e9)):
    ring = theory("ring all-reduce", 8, nbytes, link) * 1e3
    root = 2 * (8 - 1) * link.time(nbytes) * 1e3
    print(f"{name} {ring:14.4f} {root:14.4f}", "  guess:", guesses.get(name, ""))

# %% [markdown]
r"""
The ring is never slower: it has as many rounds, and each carries an eighth. For 1 GB it takes **70 ms**, and the other way **560**.

For small arrays the 14 latencies dominate, and with 1,024 ranks there would be 2,046 of them. Fewer rounds with more bytes would then be better. That is the subject of `t3_04_topologies`.

A published estimate to check. A book on scaling models counts, for an all-gather round a ring of 4 chips, S / W seconds, with S the bytes of the whole array and W what a chip sends both ways together, 90 GB/s.
An array of 1,024 x 4,096 numbers of 2 bytes is spread over 4 chips, and 4 such groups hold one quarter of its columns each. The book prints 23 us [2]. And with (n - 1)/n?
"""

# %%
guess = "?"  # us

size = 1024 * 4096 * 2 / 4  # one group's quarter
print("guess:", guess)
print(f"as the book counts:  {size / 90e9 * 1e6:.2f} us (modelled)")
print(f"with (n - 1)/n:      {size / 90e9 * 3 / 4 * 1e6:.2f} us (modelled)")

# %% [markdown]
r"""
**23.30** and **17.48** us. Both are modelled, and the difference is a convention: the book leaves the factor out, and says so. For 4 chips that is a quarter of the time, for 64 it would be 2 %.

## 6. A chain in chunks

One more trick, for a broadcast. Rank 0 sends an array to rank 1, which sends it on to rank 2, and so on. That takes (n - 1) (alpha + K/B): while the array travels over one link, all others rest.
Cut it into m chunks, and let each rank pass on a chunk while the next one comes in. Then it takes

    (n - 2 + m) (alpha + K / (m B))

The first chunk needs n - 1 steps, and each further one a step more. What is the best m, of 1, 4, 16, 64 and 256, for 8 ranks and 1 MB?
"""

# %%
guess = "?"


def chain_us(n, nbytes, chunks):
    return (n - 2 + chunks) * link.time(nbytes / chunks) * 1e6


print("guess:", guess)
for chunks in (1, 4, 16, 64, 256):
    print(f"{chunks:4} chunks: {chain_us(8, 1e6, chunks):7.1f} us (modelled)")

# %% [markdown]
r"""
**4** of these. Few chunks leave links idle, many pay latency for each. Between them is a best value: where the derivative is zero, m is the root of (n - 2) K / (alpha B).
Here that is about 7. NCCL cuts its arrays into chunks for this reason as well.

## What to remember

- A send may wait for its receive. If all send first, nothing moves. Use `isend`, or send and receive together.
- Pieces instead of whole arrays: each link carries K/n in each round, and all links work.
- Ring all-reduce: 2 (n - 1) rounds, 2 (n - 1)/n K sent by each rank. First half adds, second half copies.
- The piece to send is (rank - step) mod n; what comes is one less.
- Time: 2 (n - 1) alpha + 2 (n - 1)/n K / B. Small arrays pay rounds, large ones pay bytes.
- Chunks keep a chain busy: (n - 2 + m) steps of K/m.

On GPUs, look in Nsight Systems for NCCL kernels with `RING` in their names; `NCCL_DEBUG=INFO` prints the rings that NCCL has found.

**Next:** the lab, `t3_02_ring_lab`, in your folder `mine/t3_many/`.

## Sources

1. P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", Journal of Parallel and Distributed Computing 69, 2009. <https://doi.org/10.1016/j.jpdc.2008.09.002>
2. J. Austin and others, "How to Scale Your Model", 2025, chapter on sharding: all-gather on TPU v4p. <https://jax-ml.github.io/scaling-book/sharding>
3. R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication Operations in MPICH", 2005: rounds and bytes of rings.
4. NVIDIA, NCCL environment variables: `NCCL_DEBUG`, `NCCL_ALGO`. <https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html>
"""
