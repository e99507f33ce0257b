# %% [markdown]
r"""
# Atomics: many threads, one counter

**A thousand threads count into the same few numbers. How do we lose none, and how long do they wait for each other?**

At the end of this lesson you can

- say why `counts[b] += 1` loses counts, and count with atomic operations instead,
- predict how many transactions one warp's atomic operation takes, for any skew of the data,
- take the waiting away: a private histogram for each block, one addition for a whole warp,
- tell which results are exact in any order, and which change from run to run.

You need the lessons `t1_03_warps` and `t1_05_shared_memory`, and about 40 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
"""

# %%
import numpy as np

from warpwise import compare, cuda, profile, sanitize
from warpwise.compiler import CompilerMissingError, compile_kernel
from warpwise.hardware import device
from warpwise.show import show_queues, table
from warpwise.show.dial import Dial, Dialled
from warpwise.simt import SimtError, run

# %% [markdown]
r"""
## 1. Lost counts

A *histogram* counts how often each value occurs. Its counters are called *bins*.
We have 4,096 values from 0 to 15, and so 16 bins. Each thread takes one value and adds 1 to its bin.
Together the bins should hold 4,096. What will they hold?
"""

# %%
guess = "?"  # the sum of all bins


@cuda.jit
def count_plain(counts, x, n):
    i = cuda.grid(1)
    if i < n:
        counts[x[i]] += 1


x = np.random.default_rng(seed=1).integers(0, 16, 4096, dtype=np.int32)
print("guess:", guess)
for order in ("lockstep", "warp-serial"):
    counts = np.zeros(16, np.int32)
    run(count_plain, 16, 256, [counts, x, x.size], order=order)
    print(f"{order:12} {counts.sum():4} of {x.size:,} counted")

# %% [markdown]
r"""
Almost all counts are lost. `counts[b] += 1` looks like one step, but it is three: *read* the old value, *add* 1, *write* the sum.
When two threads read before either of them writes, both read the same number, and both write the same sum. One of the two additions is gone.

In lockstep all threads read their zeros first, and then all write a 1: each of the 16 bins ends with 1.
In warp-serial order the 8 warps of a block run one after another, and the blocks side by side.
Each warp adds 1 to what the one before left, and a bin ends with 8.
A GPU does something in between, and something else each time. The sanitizer does not depend on luck. It names the pair of threads:
"""

# %%
counts = np.zeros(16, np.int32)
print(sanitize(count_plain[16, 256], counts, x, x.size)[0])

# %% [markdown]
r"""
## 2. Read, add and write in one step

An *atomic* operation is one that nobody can come between: the hardware reads, adds and writes as a single step.
`cuda.atomic.add(array, index, value)` is such an addition [1].
"""

# %%
guess = "?"  # the sum of all bins now


@cuda.jit
def count(counts, x, n):
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(counts, x[i], 1)


counts = np.zeros(16, np.int32)
count[16, 256](counts, x, x.size)

print(counts)
print("guess:", guess, f"   counted: {counts.sum():,}")
print("right:", np.array_equal(counts, np.bincount(x)))
print("sanitizer:", sanitize(count[16, 256], np.zeros(16, np.int32), x, x.size))

# %% [markdown]
r"""
All **4,096** are there. An atomic operation protects only against other atomic ones:
a plain `counts[b] = 0` of another thread can still come between, and the sanitizer would say so.

## 3. What an atomic operation returns

`cuda.atomic.add` returns the *old* value, the one it found. Eight threads add 1 to a counter that starts at 0.
Which numbers do they get? Can two of them get the same?
"""

# %%
guess = "?"  # the eight numbers


@cuda.jit
def draw_tickets(ticket, counter):
    i = cuda.grid(1)
    ticket[i] = cuda.atomic.add(counter, 0, 1)


ticket, counter = np.zeros(8, np.int32), np.zeros(1, np.int32)
draw_tickets[2, 4](ticket, counter)
print("guess:", guess, "   tickets:", np.sort(ticket), "   counter:", counter[0])

# %% [markdown]
r"""
They get **0 to 7**, each number once. It is like drawing a ticket at a counter.
We sorted them before printing, since *who* gets which ticket is open: CUDA promises no order [2].

A ticket is a free place. So `out[cuda.atomic.add(counter, 0, 1)] = x[i]` appends to an array,
and each thread that does it has a place of its own. Section 7 uses it.

## 4. In any order, the same result?

Threads add in an order that we do not know. Does that change the sum?
We add 1,024 numbers with atomic operations, three times, and let the warps come in three different orders.
First whole numbers, then fractions. Will the three sums be equal, bit for bit?
"""

# %%
guesses = {"int32": "?", "float32": "?"}  # equal or not?


@cuda.jit
def add_up(total, x, n):
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(total, 0, x[i])


fractions = np.random.default_rng(seed=0).random(1024, dtype=np.float32)
whole = (1000 * fractions).astype(np.int32)
for values in (whole, fractions):
    sums = []
    for seed in (1, 2, 3):
        total = np.zeros(1, values.dtype)
        run(add_up, 8, 128, [total, values, values.size], order="warp-serial", seed=seed)
        sums.append(str(total[0]))
    print(f"{values.dtype!s:8}guess: {guesses[str(values.dtype)]}   {sums}")

# %% [markdown]
r"""
Integers: three equal sums. Integer addition is exact, so its order cannot matter. The same holds for `max` and `min`.
Floats: a float sum is rounded after each addition, and another order rounds at other places. The last digits differ.

So a float sum by atomics is right within rounding, but not the same in each run.
If you need the same bits each time, add in a fixed order, as the reductions in `t1_07_reduction` do.

## 5. The queue

Thirty-two lanes of a warp execute one atomic operation together. If several of them go to the same address,
they have to go one after the other: NVIDIA calls it *serialised* [3]. Lanes that go to different addresses need not wait.

Here is the first warp of our histogram. Each row is a bin, each box a lane that wants it.
"""

# %%
show_queues(count[16, 256], np.zeros(16, np.int32), x, x.size)

# %% [markdown]
r"""
Each row is a *queue*. Global memory moves in *sectors* of 32 bytes, and a bin has 4 bytes.
So bins 0 to 7 lie in one sector, bins 8 to 15 in the next, and the two are separate pieces of work. Inside a sector the queues advance side by side: the first lanes of all of them together, then the second ones.
So the longest queue decides, and we count

> **transactions** of a request = the longest queue of each sector, added up over the sectors.

The simulator GPGPU-Sim uses this rule [4]. `profile` applies it to every warp.
Try it on five warps before you run the cell. In the fourth, bin 8 follows bin 0 by a whole sector.
"""

# %%
guesses = ["?", "?", "?", "?", "?"]  # the transactions of each warp

lane = np.arange(32, dtype=np.int32)
warps = {
    "all in bin 5": np.full(32, 5, np.int32),
    "0, 1, 2 ... 31": lane,
    "lane % 4": lane % 4,
    "8 * lane": 8 * lane,
    "lane % 16": lane % 16,
}
rows = []
for guess, (name, bins) in zip(guesses, warps.items()):
    seen = profile(count[1, 32], np.zeros(256, np.int32), bins, 32).atomics
    rows.append((name, guess, seen.worst, seen.sectors, seen.transactions))
table(("bins of the lanes", "guess", "longest queue", "sectors", "transactions"), rows, "counted")

# %% [markdown]
r"""
All lanes in one bin: **32** transactions. 32 neighbours: **4**, one for each sector, as for a load.
`lane % 4`: four queues of 8 lanes in one sector, **8**. `8 * lane`: nobody waits, but there are 32 sectors: **32**.
`lane % 16`: two sectors with queues of 2: **4**.

Real data are seldom so even. In a photo of the night sky, most pixels fall into the same dark bin.
We call the share of the crowded bin the *skew*. Move the dial from 0 to 100 %, and watch one warp of a histogram with 64 bins.
"""


# %%
def skewed(skew, n, bins=64):
    """n values: a share of `skew` percent in bin 20, the rest anywhere."""
    rng = np.random.default_rng(seed=7)
    return np.where(100 * rng.random(n) < skew, 20, rng.integers(0, bins, n)).astype(np.int32)


def queues_at(skew):
    bins = skewed(skew, 32)
    return show_queues(count[1, 32], np.zeros(64, np.int32), bins, 32)._repr_mimebundle_()


Dialled([Dial("skew", range(0, 101, 10), 50)], queues_at)

# %% [markdown]
r"""
How fast does the cost grow with the skew? We count over 4,096 values, from 10 to 90 %.
How many transactions will a request need at 90 %?
Below the table stand Nsight Compute's names for the last row: requests and sectors of atomics.
`red` is an atomic operation whose result nobody uses (a *reduction*), `atom` one whose result is used.
"""

# %%
guess = "?"  # transactions of a request at 90 %

rows = []
for skew in range(10, 100, 20):
    report = profile(count[16, 256], np.zeros(64, np.int32), skewed(skew, 4096), 4096)
    mean = report.atomics.transactions_per_request
    rows.append((f"{skew} %", f"{mean:.1f}", report.atomics.worst))
print("guess:", guess)
print(table(("skew", "transactions of a request", "longest queue"), rows, "counted"))
for metric, value in report.metrics().items():
    if "_red" in metric:
        print(f"{value:6,.0f}  {metric}")

# %% [markdown]
r"""
With 90 % in one bin a request takes **31.2** transactions, almost as many as if all 32 lanes queued:
29 or so wait for the crowded bin, and the others touch two or three more sectors.

These numbers count what the source asks for. They are an *upper bound*: section 7 shows that the compiler removes some queues by itself. And they are no times.

## 6. A private copy for each block

The queues stand in global memory, and *all* threads of the launch share its 16 bins.
Shared memory is closer, and a block has it for itself. So let each block keep a histogram of its own there,
and add it to the global one when it has finished. This is called *privatisation*. It has three phases:

1. set the block's bins to zero, because shared memory starts undefined;
2. count, with atomic operations on shared memory;
3. *merge*: add each of the block's bins to the global one, with one atomic operation each.

Between two phases stands a barrier. Without the first one, a thread could count in a bin before it is zeroed;
without the second, the first warp would merge while others still count.

How much does it save? A widely used textbook asks exactly this [5]: 524,288 elements, 128 bins, 1,024 threads in a block.
How many atomic operations reach global memory

- with `count`, one thread for each element,
- with private copies, one thread for each element,
- with private copies, and four elements for each thread?

The kernel below has a grid-stride loop, so that the grid can be smaller than the data. Put your three numbers into `guesses`.
"""


# %%
@cuda.jit
def count_private(counts, x, n):
    bins = cuda.shared.array(128, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(t, 128, threads):
        bins[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        cuda.atomic.add(bins, x[i], 1)
    cuda.syncthreads()
    for b in range(t, 128, threads):
        cuda.atomic.add(counts, b, bins[b])


guesses = ["?", "?", "?"]
many = np.random.default_rng(seed=4).integers(0, 128, 524_288, dtype=np.int32)
versions = {
    "straight": count[512, 1024],
    "private": count_private[512, 1024],
    "private, four each": count_private[128, 1024],
}
for guess, (name, launch) in zip(guesses, versions.items()):
    counts = np.zeros(128, np.int32)
    report = profile(launch, counts, many, many.size)
    right = np.array_equal(counts, np.bincount(many))
    print(f"{name:19} guess: {guess}   counted: {report.atomics.lanes:7,}   right: {right}")
print("sanitizer:", sanitize(count_private[4, 96], np.zeros(128, np.int32), many[:1000], 1000))

# %% [markdown]
r"""
**524,288**, **65,536** and **16,384**. Readers of the book who published their solutions arrive at the same three numbers.
The first is n. The others are *bins x blocks*: 128 x 512, and 128 x 128. Not the elements count any more, but the blocks.
So a private copy pays when a block counts many more elements than it has bins. That is why a thread should take several.

Now both kinds of memory together, for our 4,096 skewed values. The ladder shows transactions:
`atomics` on global memory, `shared atomics` on shared memory. Which of the two will the private copy reduce?
"""

# %%
guess = "?"  # global, shared, or both?

crowd = skewed(90, 4096)
print("guess:", guess)
zeros = np.zeros(128, np.int32)
ladder = compare(
    {
        "straight": (count[16, 256], zeros, crowd, crowd.size),
        "private": (count_private[16, 256], zeros, crowd, crowd.size),
        "private, four each": (count_private[4, 256], zeros, crowd, crowd.size),
    },
    device="A100",
)
columns = ("version", "atomics", "shared atomics", "issue slots", "registers")
rows = [[row["version"], *(f"{row[name]:,}" for name in columns[1:])] for row in ladder.table()]
table(columns, rows, "transactions and slots: counted; registers: compiled for an A100")

# %% [markdown]
r"""
Global memory only: from 4,000 to 256 and to 64. The queue has moved into shared memory, and there it is as long as before:
shared memory serves one lane at a time for each of its 32 *banks*, and a word lies in one bank. 29 lanes want the same word.
It is a much shorter way, and 16 blocks have 16 queues instead of one. But the queue of each warp is still there.

If the number of bins is known only at the launch, take dynamic shared memory, as in `t1_05_shared_memory`:
`cuda.shared.array(0, np.int32)` in the kernel, and `kernel[blocks, threads, 0, 4 * bins](...)` for 4 bytes a bin.

## 7. Agree first: one addition for a whole warp

Thirty lanes want to add 1 to the same counter. Why should each of them ask?
They can count themselves, and one lane adds 30. You know `ballot_sync`, `popc` and `ffs` from `t1_03_warps`. One more function helps here:

- `cuda.match_any_sync(mask, value)` gives each lane the bits of the lanes that have the *same value* as it.

Of such a group, lane `cuda.ffs(bits) - 1` is the first, and `cuda.popc(bits)` is the number of its lanes.

The mask `0xFFFFFFFF` says that all 32 lanes take part, so all 32 must arrive.
That is why the loop below runs over whole blocks of elements, and lanes beyond the end match with -1.
How many of the 3,700 transactions on shared memory will be left?
"""

# %%
guess = "?"  # transactions on shared memory


@cuda.jit
def count_agreed(counts, x, n):
    bins = cuda.shared.array(128, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(t, 128, threads):
        bins[b] = 0
    cuda.syncthreads()
    for start in range(cuda.blockIdx.x * threads, n, cuda.gridsize(1)):
        i = start + t
        mine = -1
        if i < n:
            mine = x[i]
        same = cuda.match_any_sync(0xFFFFFFFF, mine)
        if i < n and cuda.laneid == cuda.ffs(same) - 1:  # the first lane of each group
            cuda.atomic.add(bins, mine, cuda.popc(same))
    cuda.syncthreads()
    for b in range(t, 128, threads):
        cuda.atomic.add(counts, b, bins[b])


counts = np.zeros(128, np.int32)
report = profile(count_agreed[4, 256], counts, crowd, crowd.size)
print("right:", np.array_equal(counts, np.bincount(crowd, minlength=128)))
print("guess:", guess, f"   shared transactions: {report.shared_atomics.transactions:,}")
for metric, value in report.metrics().items():
    if "shared_op_atom" in metric:
        print(f"{value:6,.0f}  {metric}")

# %% [markdown]
r"""
**140** instead of 3,700: about one for each of the 128 requests. Nsight Compute counts them as *wavefronts* of shared atomics. A group of equal lanes sends one lane. What it costs is the match itself, for every element.
With even data and many bins, groups are small, and the match gains little.

Appending, from section 3, can do the same. One lane draws all tickets of its warp, and hands out the first one with a shuffle.
Each lane adds the number of lanes in front of it that also draw: `cuda.lanemask_lt()` has the bits of all lower lanes.
We keep the even ones of 64 numbers. How many transactions does the counter see, without and with the agreement?
"""

# %%
guesses = ["?", "?"]


@cuda.jit
def append_even(out, counter, x, n):
    i = cuda.grid(1)
    if i < n and x[i] % 2 == 0:
        out[cuda.atomic.add(counter, 0, 1)] = x[i]


@cuda.jit
def append_agreed(out, counter, x, n):
    i = cuda.grid(1)
    keep = i < n and x[i] % 2 == 0
    votes = cuda.ballot_sync(0xFFFFFFFF, keep)
    first = 0
    if cuda.laneid == 0:
        first = cuda.atomic.add(counter, 0, cuda.popc(votes))
    first = cuda.shfl_sync(0xFFFFFFFF, first, 0)  # from lane 0 to all
    if keep:
        out[first + cuda.popc(votes & cuda.lanemask_lt())] = x[i]


numbers = np.random.default_rng(seed=2).permutation(100)[:64].astype(np.int32)
for guess, kernel in zip(guesses, (append_even, append_agreed)):
    out, counter = np.zeros(64, np.int32), np.zeros(1, np.int32)
    seen = profile(kernel[2, 32], out, counter, numbers, numbers.size).atomics
    right = set(out[: counter[0]].tolist()) == {k for k in numbers.tolist() if k % 2 == 0}
    print(f"{kernel.__name__:14} kept {counter[0]}, right: {right}", end="")
    print(f"   guess: {guess}   transactions: {seen.transactions}")

# %% [markdown]
r"""
Of **30** transactions **2** are left, one for each warp.

Do you have to write this by hand? For the plain case, often not: since CUDA 9 the compiler does it [6].
We look at the machine code of two kernels with a plain `cuda.atomic.add`. `count_even` adds 1 to one fixed counter, `count` adds 1 to a bin.
"""


# %%
@cuda.jit
def count_even(counter, x, n):
    i = cuda.grid(1)
    if i < n and x[i] % 2 == 0:
        cuda.atomic.add(counter, 0, 1)


def atomic_instructions(kernel, args):
    """The machine instructions that vote, count bits or are atomic."""
    names = [line.name for line in compile_kernel(kernel, args, "sm_90").sass]
    return [name for name in names if name.startswith(("VOTE", "POPC", "UPOPC", "RED", "ATOM"))]


try:
    print("one counter:", atomic_instructions(count_even, (counter, numbers, 64)))
    print("many bins:  ", atomic_instructions(count, (counts, x, x.size)))
    print("a ticket:   ", atomic_instructions(append_even, (out, counter, numbers, 64)))
except CompilerMissingError as error:  # no compiler for GPUs on this computer
    print(error)

clock_ghz = device("RTX 4090").clock_mhz.value / 1000
print(f"62 billion additions a second: {62 / clock_ghz:.0f} a clock at {clock_ghz:.2f} GHz")

# %% [markdown]
r"""
With one fixed counter, the compiler put a vote (`VOTE`) and a bit count (`POPC`) before a single addition: it did what we did by hand, also for the tickets.
With bins it cannot, because it does not know which lanes have the same bin.
`RED` is the form without a result, `ATOM` the one that returns the old value.

The same must be at work in a published measurement: 62 billion atomic additions a second to *one* address, on an RTX 4090 [7].
At that card's clock this makes **25** additions a clock. One queue that takes one lane at a time could never do that.
So read counted transactions as what the source asks for. Where bins are crowded at run time, nobody agrees for you.

## 8. Beyond addition

| operation | does, and returns the old value |
|---|---|
| `cuda.atomic.add(a, i, v)`, `sub` | `a[i] + v`, `a[i] - v` |
| `cuda.atomic.max(a, i, v)`, `min` | the larger, the smaller |
| `cuda.atomic.and_`, `or_`, `xor` | bit by bit |
| `cuda.atomic.exch(a, i, v)` | stores v |
| `cuda.atomic.cas(a, i, old, v)` | stores v *if* `a[i]` equals `old` |

The last one, *compare and swap*, can build all others, and whatever is missing. Say counters must stop at 100.
The pattern: take the value that you have seen, work out the new one, and store it only if the old one is still there. Otherwise try again with what is there now.

We also ask the compiler about `cuda.atomic.max`. A GPU has an atomic maximum for integers. What will it use for floats?
"""

# %%
guess = "?"  # max or cas?


@cuda.jit
def count_to_100(counts, x, n):
    i = cuda.grid(1)
    if i < n:
        seen = 0  # a first guess; cas tells what is there
        while seen < 100:
            found = cuda.atomic.cas(counts, x[i], seen, seen + 1)
            if found == seen:
                break
            seen = found


@cuda.jit
def largest(result, x, n):
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.max(result, 0, x[i])


counts = np.zeros(16, np.int32)
report = profile(count_to_100[16, 256], counts, x, x.size)
print("all stopped at 100:", np.array_equal(counts, np.full(16, 100)))
print(f"{report.atomics.lanes:,} calls of cas for {counts.sum():,} additions")

print("guess:", guess)
try:
    for values in (whole, fractions):
        code = compile_kernel(largest, (values[:1], values, values.size), "sm_90")
        print(f"{values.dtype!s:8}", [name for name in code.ptx.operations if "atom" in name])
except CompilerMissingError as error:
    print(error)

# %% [markdown]
r"""
**330,400** calls for 1,600 additions. Each failure is another call, and here all threads try at the same time, which is the worst case.
Where threads meet, a cas loop multiplies the traffic. Prefer a ready-made operation.
Not each one is as ready-made as it looks: for float32 Numba writes a **cas** loop that treats the 32 bits of the float as an integer.

## 9. Two patterns that need care

**A lock.** Threads could take turns: who changes `lock` from 0 to 1 may enter, the others *spin*, they try again and again.
Here are two forms. In `spin` each thread waits until it has the lock, then works. In `take_turns` it works inside the loop.
Which of them will end?
"""

# %%
guesses = {"spin": "?", "take_turns": "?"}  # does it end?


@cuda.jit
def spin(total, lock):
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    cuda.threadfence()
    total[0] += 1
    cuda.threadfence()
    cuda.atomic.exch(lock, 0, 0)


@cuda.jit
def take_turns(total, lock):
    done = False
    while not done:
        if cuda.atomic.cas(lock, 0, 0, 1) == 0:
            cuda.threadfence()  # see what the last holder wrote
            total[0] += 1  # only one thread is here at a time
            cuda.threadfence()  # let the next holder see it
            cuda.atomic.exch(lock, 0, 0)
            done = True


print("guesses:", guesses)
for kernel in (take_turns, spin):
    args = [np.zeros(1, np.int32), np.zeros(1, np.int32)]
    try:
        run(kernel, 2, 64, args)
        print(f"{kernel.__name__}: total {args[0][0]}, sanitizer:", sanitize(kernel[2, 64], *args))
    except SimtError as error:
        print(error)

# %% [markdown]
r"""
`take_turns` ends, `spin` does not. The lanes of a warp leave a loop together: the holder of the lock waits at the end of the loop for the others, and they wait for the holder.
GPUs before Volta hang here. Later ones can let the lanes of a warp go separate ways [8], but a program should not rest on that.
In `take_turns` the holder gives the lock back inside the loop.
A *fence*, `cuda.threadfence()`, keeps the order of what a thread reads and writes, as others see it: first the lock, then the total, then the lock again.
A lock puts the whole launch into one queue. Use it only where nothing else works.

**The last block.** Each block stores a partial result, and the block that finishes last adds them up.
Who is last? The one that draws the highest ticket. So one launch does the work of two.
"""


# %%
@cuda.jit
def sum_by_last_block(total, parts, finished, x, n):
    part = cuda.shared.array(1, np.int32)
    ticket = cuda.shared.array(1, np.int32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if t == 0:
        part[0] = 0
    cuda.syncthreads()
    if i < n:
        cuda.atomic.add(part, 0, x[i])
    cuda.syncthreads()
    if t == 0:
        parts[cuda.blockIdx.x] = part[0]
        cuda.threadfence()  # first the part, then the ticket
        ticket[0] = cuda.atomic.add(finished, 0, 1)
    cuda.syncthreads()
    if t == 0 and ticket[0] == cuda.gridDim.x - 1:
        cuda.threadfence()
        result = 0
        for block in range(cuda.gridDim.x):
            result += parts[block]
        total[0] = result


args = [np.zeros(1, np.int32), np.zeros(8, np.int32), np.zeros(1, np.int32), whole, whole.size]
print("sanitizer:", sanitize(sum_by_last_block[8, 128], *args))
print("total:", args[0][0], "   right:", args[0][0] == whole.sum())

# %% [markdown]
r"""
Without the fence, another block could see the ticket before the part, and add up a part that is not there yet. CUDA's guide shows this pattern [9].

## What to remember

- `counts[b] += 1` is a read, an addition and a write. Threads that meet lose counts. `cuda.atomic.add` is one step.
- It returns the old value: a ticket, each number once, in no promised order.
- Integer atomics are exact in any order. Float sums change in their last bits from run to run.
- Transactions of a request: the longest queue of each sector, added up. One bin: 32. Neighbouring bins: 4.
- Private copies: zero, barrier, count, barrier, merge. Global atomics fall from n to bins x blocks.
- Under skew, let a warp agree first: `match_any_sync`, and one lane adds `popc`.
- What is missing is a `cas` loop. A lock inside a warp needs the `done` form.

**Next:** the lab, `t1_09_atomics_lab`, in your folder `mine/t1_kernels/`.

## Sources

1. NVIDIA, Numba-CUDA user guide, "Supported Atomic Operations".
   <https://nvidia.github.io/numba-cuda/user/intrinsics.html>
2. NVIDIA, CUDA C++ Programming Guide, section "Atomic Functions".
   <https://docs.nvidia.com/cuda/cuda-c-programming-guide/>
3. NVIDIA, Nsight Visual Studio Edition documentation, "Memory Statistics - Atomics".
4. GPGPU-Sim, function `memory_coalescing_arch_atomic` in `src/abstract_hardware_model.cc`.
   <https://github.com/gpgpu-sim/gpgpu-sim_distribution>
5. W. W. Hwu, D. B. Kirk, I. El Hajj, *Programming Massively Parallel Processors*, 4th edition, 2022, chapter 9, exercise 6.
   Checked against readers' published solutions, not against the book itself.
6. NVIDIA, technical blog, "CUDA Pro Tip: Optimized Filtering with Warp-Aggregated Atomics", updated in 2017.
   <https://developer.nvidia.com/blog/cuda-pro-tip-optimized-filtering-warp-aggregated-atomics/>
7. P. Whidden, "WebGPU Atomics Benchmark": one counter, 15 million threads. <https://github.com/PWhiddy/webgpu-atomics-benchmark>
8. NVIDIA, CUDA C++ Programming Guide, section "Independent Thread Scheduling".
9. The same guide, section "Memory Fence Functions".
"""
