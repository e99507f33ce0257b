# %% [markdown]
r"""
# Scan: every running total at once

**An account statement shows the balance after each booking. Each balance needs the one before it. What can a second thread do?**

At the end of this lesson you can

- compute running totals with a block of threads in two ways, and say before you run how many adds each makes,
- see why the shortest version of the code is wrong, and mend it,
- scan a warp without a barrier, a block with two, and an array of any length in one launch,
- keep the order of the operands, so that your scan also works for balances with interest,
- use a scan to decide where each thread may write.

You need the lesson `t1_07_reduction` and about 40 minutes. You do not need a GPU.
Where a cell starts with `guess = "?"`, put your answer there before you run it.
"""

# %%
import numpy as np

from warpwise import compare, cuda, profile, sanitize
from warpwise.show import show_flow, table
from warpwise.show.dial import Dial, Dialled
from warpwise.simt import run

# %% [markdown]
r"""
## 1. Two kinds of running total

A *scan*, or prefix sum, turns a list into its running totals.
An *inclusive* scan counts the element itself, so the first total is the first element.
An *exclusive* scan stops just before it, so the first total is 0.
The list below is the example of the best known text on the subject [1]. What is its exclusive scan?
"""

# %%
guess = "?"  # eight numbers

bookings = np.array([3, 1, 7, 0, 4, 1, 6, 3], np.float32)
inclusive = np.cumsum(bookings)
exclusive = inclusive - bookings

print("bookings ", bookings.astype(int))
print("inclusive", inclusive.astype(int))
print("exclusive", exclusive.astype(int))
print("guess:", guess)

# %% [markdown]
r"""
The last row is the published result: 0, 3, 4, 11, 11, 15, 16, 22 [1].
The exclusive scan is the inclusive one, moved one place to the right, with a 0 in front.

## 2. Where is the chain?

On paper you would write a loop. Here is one thread that does so.
We give it 1,024 bookings. How many adds does it make, and how many of them must wait for the one before?

`profile` counts floating-point operations by type. Our values are float32 and all index arithmetic is done on integers,
so the number under `float32` is exactly the adds of the scan.
Nsight Compute calls it `smsp__sass_thread_inst_executed_op_fp32_pred_on.sum`.
"""

# %%
guess = "?"  # adds, and adds that wait


@cuda.jit
def scan_serial(out, a, n):
    total = np.float32(0)
    for i in range(n):
        if i == 0:
            total = a[i]
        else:
            total += a[i]
        out[i] = total


def adds(report):
    return report.flops["float32"]


many = np.random.default_rng(seed=8).integers(1, 100, 1024).astype(np.float32)
report = profile(scan_serial[1, 1], np.zeros_like(many), many, 1024)
print("adds:", adds(report), "   guess:", guess)

# %% [markdown]
r"""
**1,023** adds, and each of them waits for the one before: a chain of 1,023.

But nobody forces us to add from the left. The last balance is also (the sum of the first half) + (the sum of the second half),
and the two halves can be summed at the same time. That is all we need: the operator must be *associative*,
(x + y) + z = x + (y + z). Then we may choose where to put the brackets.
(Sums of floats are associative but for rounding. Our bookings are whole numbers, so nothing is rounded here.)
We may not change the order of the operands. That will matter in section 9.

## 3. Doubling

Give each element a thread. In the first round each thread adds its left neighbour's value to its own.
Now every element holds the sum of two. In the second round it adds the value two places to the left, and holds the sum of four.
The distance doubles in each round. This is the scan of Hillis and Steele [2].

What does element 7 hold after two rounds: the sum of which bookings?
"""

# %%
guess = "?"  # the bookings in element 7 after two rounds


@cuda.jit
def scan_doubling(out, a):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    s[t] = a[t]
    cuda.syncthreads()
    d = 1
    while d < cuda.blockDim.x:
        if t >= d:
            total = s[t - d] + s[t]
        cuda.syncthreads()
        if t >= d:
            s[t] = total
        cuda.syncthreads()
        d *= 2
    out[t] = s[t]


flow = show_flow(scan_doubling[1, 8], np.zeros_like(bookings), bookings, array="s")
print("guess:", guess, "   after two rounds:", flow.rows()[2][7])
flow

# %% [markdown]
r"""
The **last four**: 4 + 1 + 6 + 3 = 14. Follow the arrows upwards from element 7 in round 2, and you arrive at elements 4 to 7.
After round 3 everybody has everything to the left: the result of section 1.

Each orange box is one add. Round 1 has 7 of them, round 2 has 6, round 3 has 4: 17 together.
In a round with distance d the first d threads have nothing to add, all others add once.
How many adds are that for 1,024 elements and 10 rounds?
"""

# %%
guess = "?"  # adds for 1,024 elements

for n in (8, 32, 256, 1024):
    report = profile(scan_doubling[1, n], np.zeros(n, np.float32), many[:n])
    rounds = int(np.log2(n))
    print(f"n = {n:5}: {adds(report):6,} adds in {rounds:2} rounds"
          f"   n log2 n - (n - 1) = {n * rounds - (n - 1):6,}")  # fmt: skip
print("guess:", guess)

# %% [markdown]
r"""
**9,217**. Ten rounds of n adds would be 10,240; the threads with nothing to add save 1 + 2 + 4 + ... + 512 = 1,023.
In general that is n log2 n - (n - 1). A textbook has the same numbers: 17 for 8 elements, 9,217 for 1,024 [3].
A chain of 1,023 has become 10 rounds. The price: nine times the adds of the loop.

## 4. One barrier too few

The kernel above reads, waits, writes, waits. Twice the same `if`, two barriers in each round: that looks clumsy.
Here is the version that nearly everybody writes first. Is it right?
"""

# %%
guess = "?"  # right or wrong?


@cuda.jit
def scan_hasty(out, a):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    s[t] = a[t]
    cuda.syncthreads()
    d = 1
    while d < cuda.blockDim.x:
        if t >= d:
            s[t] += s[t - d]
        cuda.syncthreads()
        d *= 2
    out[t] = s[t]


right = np.cumsum(many)
for order in ("lockstep", "warp-serial"):
    out = np.zeros_like(many)
    run(scan_hasty, 1, 1024, [out, many], order=order, seed=1)
    print(f"{order:12} wrong balances: {np.count_nonzero(out != right):5}")
print("guess:", guess)

for finding in sanitize(scan_hasty[1, 1024], np.zeros_like(many), many):
    print(finding.text, "\n")

# %% [markdown]
r"""
It depends on who comes first. In *lockstep* all threads of the block read, then all write: no mistake to be seen.
In the order *warp-serial* each warp runs alone to the next barrier, as warps of a GPU may.
A warp that comes late finds elements that an earlier warp has already raised in this very round, and adds too much.

A test that happens to pass says nothing here. The sanitizer does not depend on luck. Its findings are below the numbers: it asks which accesses nothing puts in order.

One thread *writes* `s[t]`, another one *reads* the same element as its `s[t - d]`, in the same round.
The first finding is about two warps, the second about two lanes of one warp: not even they are bound to go in step.
The read should come first. It is a *write after read* hazard, and only a barrier between the reads and the writes removes it.
`s[t] += s[t - d]` puts both on one line, so there is no place for a barrier. Take it apart:
read into a variable, `syncthreads()`, write, `syncthreads()`. Both barriers stand outside of every `if`, so that all threads reach them.

There is another way out: read from one array and write into another, and exchange the two after each round.
Then no round overwrites what it reads. How many barriers are left for 1,024 elements? The kernel above had 21.
"""

# %%
guess = "?"  # barriers with two buffers


@cuda.jit
def scan_two_buffers(out, a):
    s = cuda.shared.array((2, 1024), np.float32)
    t = cuda.threadIdx.x
    now = 0
    s[now, t] = a[t]
    cuda.syncthreads()
    d = 1
    while d < cuda.blockDim.x:
        if t >= d:
            s[1 - now, t] = s[now, t - d] + s[now, t]
        else:
            s[1 - now, t] = s[now, t]
        cuda.syncthreads()
        now = 1 - now
        d *= 2
    out[t] = s[now, t]


for kernel in (scan_doubling, scan_two_buffers):
    report = profile(kernel[1, 1024], np.zeros_like(many), many)
    found = sanitize(kernel[1, 1024], np.zeros_like(many), many)
    print(f"{report.kernel:17} barriers: {report.barriers:3}   findings: {len(found)}")
print("guess:", guess)

# %% [markdown]
r"""
**11**: one after loading, one in each of ten rounds. It takes twice the shared memory: 8 KB instead of 4.
Neither version has a finding.

## 5. Up and down

Nine times the adds of a loop is a lot. Can a parallel scan do with about as many as the loop?

You know half of the answer: a tree reduction sums n elements with n - 1 adds. It leaves sums of 2, 4, 8, ... elements on its way.
Blelloch's scan [5] first builds this tree, the *up-sweep*. Then it walks back from the root to the leaves, the *down-sweep*.
On the way down each node holds *the sum of everything to the left of its part*.
The root has nothing to its left: 0. Each node hands its value to its left child,
and value + (sum of the left child's part) to its right child.

Each thread looks after two elements, so half as many threads are enough.
What will the last element hold just before the down-sweep, and what at the end?
"""

# %%
guess = "?"  # two numbers


@cuda.jit
def scan_tree(out, a):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    n = 2 * cuda.blockDim.x
    s[2 * t] = a[2 * t]
    s[2 * t + 1] = a[2 * t + 1]
    cuda.syncthreads()
    d = 1
    while d < n:  # up
        right = 2 * d * (t + 1) - 1
        if right < n:
            s[right] = s[right - d] + s[right]
        cuda.syncthreads()
        d *= 2
    if t == 0:
        s[n - 1] = 0
    cuda.syncthreads()
    d = n // 2
    while d > 0:  # down
        right = 2 * d * (t + 1) - 1
        if right < n:
            left_sum = s[right - d]
            s[right - d] = s[right]
            s[right] = s[right] + left_sum
        cuda.syncthreads()
        d //= 2
    out[2 * t] = s[2 * t]
    out[2 * t + 1] = s[2 * t + 1]


flow = show_flow(scan_tree[1, 4], np.zeros_like(bookings), bookings, array="s")
print("guess:", guess, "   before:", flow.rows()[3][7], "   at the end:", flow.rows()[-1][7])
flow

# %% [markdown]
r"""
**25**, the sum of all, and at the end **22**, the sum of all before it. The result is the *exclusive* scan of section 1.

Rounds 1 to 3 go up, round 4 puts the zero into the root, rounds 5 to 7 go down.
A blue arrow is a copy to the left child, two orange arrows meet in an add for the right child.
No element is read and written by different threads in one round, so one barrier a round is enough.

The text that made this scan popular on GPUs counts 2 (n - 1) adds for it [1]. How many are that for 1,024, and does our kernel agree?

## 6. Adds are not what a warp pays

And will the tree scan need as many times fewer *issue slots* as it has fewer adds?
An issue slot is one instruction of one warp, `smsp__inst_executed.sum` in Nsight Compute.
"""

# %%
guesses = "?", "?"  # adds of the tree scan for 1,024 elements; how many times fewer issue slots

for n in (8, 32, 256, 1024):
    report = profile(scan_tree[1, n // 2], np.zeros(n, np.float32), many[:n])
    print(f"n = {n:5}: {adds(report):6,} adds   2 (n - 1) = {2 * (n - 1):6,}")
print("guess:", guesses[0])

doubling = profile(scan_doubling[1, 1024], np.zeros_like(many), many)
tree = profile(scan_tree[1, 512], np.zeros_like(many), many)
for name, read in {
    "adds": adds,
    "issue slots": lambda r: r.work.slots,
    "bank conflicts": lambda r: r.shared.bank_conflicts,
    "barriers": lambda r: r.barriers,
}.items():
    print(f"{name:16} doubling {read(doubling):7,}   up and down {read(tree):7,}")
print("guess:", guesses[1])

# %% [markdown]
r"""
**2,046**: exactly the published number, n - 1 on the way up and n - 1 on the way down.
An algorithm whose work grows like that of the best serial one is called *work-efficient*.

That is 4.5 times fewer adds, but hardly any fewer issue slots: **3,462** against **3,557**.
An instruction costs a slot whether one lane is active or 32. And a warp without work still has to find that out:
in every round it works out its index, compares, and waits at the barrier.
Doubling has 32 warps and 10 rounds, the tree 16 warps and 20 rounds. Both make 320 times a warp and a round.

The tree scan has 1,304 *bank conflicts* on top. Shared memory has 32 banks; word i lies in bank i % 32.
When lanes of one warp want different words of one bank, they are served one after the other.
In the round with d = 16 neighbouring lanes are 32 words apart, so all of them want the same bank.

The cure of [1] is to leave gaps: element i moves to place i + i // 32, so a step of 32 words becomes a step of 33.
There is a second formula, a C macro for gaps on two levels. For the 16 banks of its time it was printed as [4]

    ((n) >> NUM_BANKS + (n) >> (2 * LOG_NUM_BANKS))        NUM_BANKS = 16, LOG_NUM_BANKS = 4

Python reads `>>` and `+` in the same order as C. How large is the gap for n = 100?
"""

# %%
guess = "?"  # the gap for element 100

NUM_BANKS, LOG_NUM_BANKS = 16, 4
gaps = [n >> NUM_BANKS + n >> 2 * LOG_NUM_BANKS for n in range(1024)]
meant = [(n >> LOG_NUM_BANKS) + (n >> 2 * LOG_NUM_BANKS) for n in range(1024)]
print("guess:", guess, "   as printed:", gaps[100], "   as meant:", meant[100])
print("largest gap as printed:", max(gaps), "   as meant:", max(meant))


@cuda.jit(device=True)
def no_gap(i):
    return i


@cuda.jit(device=True)
def one_gap(i):
    return i + i // 32


def tree_with(place):
    @cuda.jit
    def scan_tree_gaps(out, a):
        s = cuda.shared.array(1056, np.float32)
        t = cuda.threadIdx.x
        n = 2 * cuda.blockDim.x
        half = cuda.blockDim.x
        s[place(t)] = a[t]
        s[place(t + half)] = a[t + half]
        cuda.syncthreads()
        d = 1
        while d < n:
            right = 2 * d * (t + 1) - 1
            if right < n:
                s[place(right)] = s[place(right - d)] + s[place(right)]
            cuda.syncthreads()
            d *= 2
        if t == 0:
            s[place(n - 1)] = 0
        cuda.syncthreads()
        d = n // 2
        while d > 0:
            right = 2 * d * (t + 1) - 1
            if right < n:
                left_sum = s[place(right - d)]
                s[place(right - d)] = s[place(right)]
                s[place(right)] = s[place(right)] + left_sum
            cuda.syncthreads()
            d //= 2
        out[t] = s[place(t)]
        out[t + half] = s[place(t + half)]

    return scan_tree_gaps


scan_tree_gaps = tree_with(one_gap)
for name, kernel in (("no gap", tree_with(no_gap)), ("i // 32", scan_tree_gaps)):
    report = profile(kernel[1, 512], np.zeros_like(many), many)
    print(f"{name:10} bank conflicts: {report.shared.bank_conflicts:5,}")

# %% [markdown]
r"""
**0**, and 0 for every element. `+` comes before `>>`, so the macro means `(n >> (16 + n)) >> 8`, which leaves nothing of n;
in C a shift by so much is not even defined. And the first shift should be by the *logarithm* of the number of banks.
The results stay right, only the gaps are missing. No test of values could ever notice, and the line was copied many times.
A count of conflicts notices at once. The last two lines try the tree scan without gaps, which is all that the macro gives, and with i + i // 32.

**None** are left. Nsight Compute has them as `l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum`, and `_st` for the stores.

## 7. A warp needs no barrier

Doubling within one warp needs neither shared memory nor a barrier: `shfl_up_sync(mask, value, d)` hands each lane
the value of the lane d places below. What do the lanes below d get, which have no such lane?
"""

# %%
guess = "?"  # what lane 0 gets for d = 1


@cuda.jit
def from_below(out, a, d):
    lane = cuda.threadIdx.x
    out[lane] = cuda.shfl_up_sync(0xFFFFFFFF, a[lane], d)


numbers = np.arange(100, 132)
for d in (1, 4):
    got = np.zeros_like(numbers)
    from_below[1, 32](got, numbers, d)
    print(f"d = {d}:", got[:8], "...")
print("guess:", guess)

# %% [markdown]
r"""
They get **their own value** back. Without a guard they would add it to itself. So the guard `if lane >= d` is needed as before,
but it stands behind the shuffle: all 32 lanes have to take part in the exchange, also those that do not use what they get.

`warp_scan` is a device function, so that other kernels can call it. Five rounds scan 32 values.
"""


# %%
@cuda.jit(device=True)
def warp_scan(value):
    """Inclusive scan of the warp's 32 values."""
    lane = cuda.laneid
    d = 1
    while d < 32:
        below = cuda.shfl_up_sync(0xFFFFFFFF, value, d)
        if lane >= d:
            value = below + value
        d *= 2
    return value


@cuda.jit
def scan_warps(out, a):
    i = cuda.grid(1)
    out[i] = warp_scan(a[i])


out = np.zeros_like(many)
report = profile(scan_warps[1, 1024], out, many)  # runs the kernel, too
print(
    "each 32 right:", np.array_equal(out.reshape(-1, 32), np.cumsum(many.reshape(-1, 32), axis=1))
)
print("adds:", adds(report), "   barriers:", report.barriers, "   issue slots:", report.work.slots)

# %% [markdown]
r"""
## 8. A block in three steps

32 warps now have 32 separate scans. What is missing in warp 5? The sum of everything in warps 0 to 4, the same number for all its lanes.
So we scan again, one level higher:

1. each warp scans its own values; its last lane stores the warp's total in shared memory,
2. one warp scans the totals: they fit, since a block has at most 32 warps,
3. each warp adds the scanned total of the warp before it.

How many barriers does that take?
"""

# %%
guess = "?"  # barriers


@cuda.jit(device=True)
def block_scan(value, totals):
    """Inclusive scan over the block.  totals: 32 shared values; the last warp's holds the sum."""
    warp, lane = cuda.threadIdx.x // 32, cuda.laneid
    value = warp_scan(value)
    if lane == 31:
        totals[warp] = value
    cuda.syncthreads()
    if warp == 0:
        total = np.float32(0)
        if lane < cuda.blockDim.x // 32:
            total = totals[lane]
        totals[lane] = warp_scan(total)
    cuda.syncthreads()
    if warp > 0:
        value = totals[warp - 1] + value
    return value


@cuda.jit
def scan_levels(out, a):
    totals = cuda.shared.array(32, np.float32)
    i = cuda.grid(1)
    out[i] = block_scan(a[i], totals)


out = np.zeros_like(many)
report = profile(scan_levels[1, 1024], out, many)
print(
    "right:", np.array_equal(out, right), "   findings:", sanitize(scan_levels[1, 1024], out, many)
)
print("barriers:", report.barriers, "   adds:", adds(report), "   guess:", guess)

# %% [markdown]
r"""
**Two**, one before and one after the step with the totals.
Both stand outside of the `if`s; only the work between them is done by one warp.

The ladder of our versions, from `compare`. One block says little about times, so we keep what is counted.
Which version do you expect to have the fewest issue slots?
"""

# %%
guess = "?"

ladder = compare(
    {
        "doubling": (scan_doubling[1, 1024], out, many),
        "two buffers": (scan_two_buffers[1, 1024], out, many),
        "up and down": (scan_tree[1, 512], out, many),
        "with gaps": (scan_tree_gaps[1, 512], out, many),
        "three steps": (scan_levels[1, 1024], out, many),
    },
    device="A100",
)
print("guess:", guess)
columns = ("version", "sectors", "conflicts", "issue slots", "registers")
rows = [[row["version"], *(f"{row[name]:,}" for name in columns[1:])] for row in ladder.table()]
table(columns, rows, "counted; registers: compiled for an A100")

# %% [markdown]
r"""
The scan in **three steps** needs about a third of the slots of any other, with more adds than the tree and two barriers.
Nearly all of its work is the five rounds of shuffles, in which no lane waits for another warp.
NVIDIA's library CUB has it too, under the name `BLOCK_SCAN_WARP_SCANS` [6].

`up and down` moves twice the sectors, because each thread loads `a[2 * t]` and `a[2 * t + 1]`: each load skips every second element.
The version with gaps loads `a[t]` and `a[t + half]` instead.

Is this a matter of size? Turn the dial. Is there a number of elements for which the tree needs many fewer slots than doubling?
"""

# %%
guess = "?"


def counted(elements):
    rows = []
    for name, kernel, threads in (
        ("doubling", scan_doubling, elements),
        ("two buffers", scan_two_buffers, elements),
        ("up and down", scan_tree, elements // 2),
        ("with gaps", scan_tree_gaps, elements // 2),
        ("three steps", scan_levels, elements),
    ):
        report = profile(kernel[1, threads], np.zeros(elements, np.float32), many[:elements])
        numbers = adds(report), report.work.slots, report.barriers, report.shared.bank_conflicts
        rows.append([name, *(f"{number:,}" for number in numbers)])
    head = ["version", "adds", "issue slots", "barriers", "bank conflicts"]
    return table(head, rows, label="counted")._repr_mimebundle_()


print("guess:", guess)
Dialled([Dial("elements", (64, 128, 256, 512, 1024), 64)], counted)

# %% [markdown]
r"""
There is none. With 64 elements the tree even needs more slots, with 1,024 about as many, although it makes 2.5 to 4.5 times fewer adds.
Being work-efficient pays where each add is expensive. It also shapes real scans from the other side: when each thread first scans
several values of its own in a plain loop, most adds are made in these loops, and the total stays near 2n.

## 9. When the order of the operands matters

Back to the bank. Each day brings interest *and* a booking: balance = a * balance + b.
One day is a pair (a, b), a function of the balance. Two days after one another are again such a function:

    first (a1, b1), then (a2, b2):    a2 * (a1 * x + b1) + b2  =  (a2 * a1) * x + (a2 * b1 + b2)

So pairs can be scanned, with "first this, then that" as the operator. It is associative, but not *commutative*:
interest before a deposit and interest after it are different things.

We scan 256 days by doubling, once with the earlier day as the first operand and once the other way round.
Which of the two numbers of a pair, a or b, will be wrong?
"""

# %%
guess = "?"  # a, b or both


@cuda.jit(device=True)
def then(a1, b1, a2, b2):
    """First (a1, b1), then (a2, b2)."""
    return a2 * a1, a2 * b1 + b2


def days_with(earlier_first):
    @cuda.jit
    def scan_days(out_a, out_b, a, b):
        s_a = cuda.shared.array(1024, np.float32)
        s_b = cuda.shared.array(1024, np.float32)
        t = cuda.threadIdx.x
        x_a, x_b = a[t], b[t]
        s_a[t], s_b[t] = x_a, x_b
        cuda.syncthreads()
        d = 1
        while d < cuda.blockDim.x:
            if t >= d:
                if earlier_first:
                    x_a, x_b = then(s_a[t - d], s_b[t - d], x_a, x_b)
                else:
                    x_a, x_b = then(x_a, x_b, s_a[t - d], s_b[t - d])
            cuda.syncthreads()
            s_a[t], s_b[t] = x_a, x_b
            cuda.syncthreads()
            d *= 2
        out_a[t], out_b[t] = x_a, x_b

    return scan_days


rng = np.random.default_rng(seed=9)
a = rng.uniform(0.9, 1.1, 256).astype(np.float32)
b = rng.integers(-50, 100, 256).astype(np.float32)
want_a, want_b = [], []
x = 1.0, 0.0
for day in zip(a.astype(float), b.astype(float)):
    x = day[0] * x[0], day[0] * x[1] + day[1]
    want_a.append(x[0])
    want_b.append(x[1])

for earlier_first in (True, False):
    got_a, got_b = np.zeros_like(a), np.zeros_like(b)
    days_with(earlier_first)[1, 256](got_a, got_b, a, b)
    wrong_a = np.count_nonzero(~np.isclose(got_a, want_a, rtol=1e-3))
    wrong_b = np.count_nonzero(~np.isclose(got_b, want_b, rtol=1e-3, atol=1e-1))
    print(f"earlier day first: {earlier_first!s:5}   wrong a: {wrong_a:3}   wrong b: {wrong_b:3}")
print("guess:", guess)

# %% [markdown]
r"""
Only **b**. The a's are multiplied, and multiplication does not mind. Half of the answer looks perfect, and a test with a = 1 would show nothing.

In a scan the value from the left, at `t - d` or from the lower lane, belongs to *earlier* elements: it is always the first operand.
For the same reason the down-sweep of section 5 wrote `s[right] + left_sum`, value of the node first: it stands for everything further left.
And a scan can carry more than sums: any state with an associative rule, such as maxima, products of matrices, or x = a * x + b.

## 10. More than one block

An array of 65,536 elements needs 64 blocks of 1,024. The trick with the totals works once more, one level higher: three launches.

1. each block scans its part and stores its total,
2. one block scans the 64 totals,
3. every block adds the scanned total of the block before it.

Global memory moves in *sectors* of 32 bytes, 8 float32 values. Once over the array is 8,192 sectors.
How many times over the array do the three launches go, reads and writes together?
"""

# %%
guess = "?"  # times over the array


@cuda.jit
def scan_parts(out, sums, a, n):
    totals = cuda.shared.array(32, np.float32)
    i = cuda.grid(1)
    value = np.float32(0)
    if i < n:
        value = a[i]
    value = block_scan(value, totals)
    if i < n:
        out[i] = value
    if cuda.threadIdx.x == cuda.blockDim.x - 1:
        sums[cuda.blockIdx.x] = value


@cuda.jit
def add_before(out, scanned, n):
    i = cuda.grid(1)
    if i < n and cuda.blockIdx.x > 0:
        out[i] = scanned[cuda.blockIdx.x - 1] + out[i]


n = 65_536
long = np.random.default_rng(seed=10).integers(0, 10, n).astype(np.float32)
out, sums, scanned = np.zeros_like(long), np.zeros(64, np.float32), np.zeros(64, np.float32)
launches = [
    (scan_parts[64, 1024], out, sums, long, n),
    (scan_parts[1, 64], scanned, np.zeros(1, np.float32), sums, 64),
    (add_before[64, 1024], out, scanned, n),
]
moved = 0
for launch, *arguments in launches:
    report = profile(launch, *arguments)
    sectors = report.loads.sectors + report.stores.sectors
    moved += sectors
    print(f"{report.kernel:11} {sectors:7,} sectors")
print("right:", np.array_equal(out, np.cumsum(long)))
print(f"together {moved:,} sectors = {moved / 8192:.2f} times over the array   guess: {guess}")

# %% [markdown]
r"""
**Four** times: read and write in the first launch, read and write again in the third.
The small rest are the totals, which each warp of the third launch loads.
A plain copy of the array goes over it twice, and no scan can do with less. Can one launch do it with about two?

It can, if a block can learn the sum of everything before it *while it still holds its own values*.
That is the scan with *decoupled look-back* [7], which its authors describe as about 2n data movement. Each block

1. takes a number from a counter, so that the block before it in the array has certainly started,
2. scans its part and publishes its *total*, flag 1,
3. looks back, block by block: a block with flag 1 has a total, which is added; one with flag 2 has the sum of everything up to its end, its *prefix*, which is added, and the search ends; flag 0: look again,
4. publishes its own prefix, flag 2, and adds what it found to all its values.

An *atomic operation* reads and changes a cell in one step, which no other thread can interrupt.
`atomic.add(counter, 0, 1)` adds 1 to `counter[0]` and gives back the old value, so each block gets a number of its own.
`atomic.exch` stores and gives back the old value. Adding 0 only reads, and always the newest value.
The next lesson is about atomics.

A total must be there before its flag is. `threadfence()` says so: what this thread wrote above comes before what it writes below.
The reader needs one as well, between the flag and the total.
"""


# %%
@cuda.jit
def scan_single_pass(out, a, counter, flag, total, prefix, n):
    totals = cuda.shared.array(32, np.float32)
    number = cuda.shared.array(1, np.int32)
    before = cuda.shared.array(1, np.float32)
    t = cuda.threadIdx.x
    if t == 0:
        number[0] = cuda.atomic.add(counter, 0, 1)
    cuda.syncthreads()
    block = number[0]
    i = block * cuda.blockDim.x + t
    value = np.float32(0)
    if i < n:
        value = a[i]
    value = block_scan(value, totals)
    if t == cuda.blockDim.x - 1:
        total[block] = value
        cuda.threadfence()
        cuda.atomic.exch(flag, block, 1)
        found = np.float32(0)
        k = block - 1
        while k >= 0:
            seen = cuda.atomic.add(flag, k, 0)
            cuda.threadfence()
            if seen == 2:
                found = prefix[k] + found
                k = -1
            elif seen == 1:
                found = total[k] + found
                k -= 1
        prefix[block] = found + value
        cuda.threadfence()
        cuda.atomic.exch(flag, block, 2)
        before[0] = found
    cuda.syncthreads()
    if i < n:
        out[i] = before[0] + value


def scratch(blocks):
    """counter, flag, total, prefix: all zero before the launch."""
    return (np.zeros(1, np.int32), np.zeros(blocks, np.int32),
            np.zeros(blocks, np.float32), np.zeros(blocks, np.float32))  # fmt: skip


out = np.zeros_like(long)
report = profile(scan_single_pass[64, 1024], out, long, *scratch(64), n)
sectors = report.loads.sectors + report.stores.sectors
print("right:", np.array_equal(out, np.cumsum(long)))
print(f"{sectors:,} sectors = {sectors / 8192:.2f} times over the array")
print("of a and out alone:", sum(report.unique_sectors[name] for name in ("a", "out")) / 8192)

# %% [markdown]
r"""
**Two** times over the array, plus what the blocks tell each other: the published 2n.
How far a block has to look back depends on how far the blocks before it have come, so on a GPU the rest differs from run to run.

Which of the two is better? The single launch moves half as much, and needs scratch arrays that are zero at the start.

## 11. Where may I write?

Scans are rarely wanted for their own sake. They answer the question where each thread may write.

*Compaction* keeps the elements that pass a test, in their order. Flag each element with 1 or 0.
The exclusive scan of the flags says how many kept elements stand before it, and that is its place.
Which place does the 6 get?
"""

# %%
guess = "?"  # the place of the 6

values = np.array([3, -1, -7, 4, -1, 6, 2, -5])
keep = (values > 0).astype(int)
place = np.cumsum(keep) - keep
kept = np.zeros(keep.sum(), int)
kept[place[keep == 1]] = values[keep == 1]

print("values", values)
print("keep  ", keep)
print("place ", place)
print("kept  ", kept, "   guess:", guess)

keys = np.array([5, 2, 7, 1, 4, 3, 6, 0])
for bit in range(3):
    ones = keys >> bit & 1
    zeros_before = np.cumsum(1 - ones) - (1 - ones)
    ones_before = np.cumsum(ones) - ones
    place = np.where(ones == 0, zeros_before, (1 - ones).sum() + ones_before)
    moved_keys = np.zeros_like(keys)
    moved_keys[place] = keys
    keys = moved_keys
    print(f"after bit {bit}:", keys)

# %% [markdown]
r"""
Place **2**: two kept elements stand before it. All threads can write at the same time; no two of them meet.

*Radix sort*, in the last lines above, is this, twice for each bit: elements with bit 0 go to the front, those with bit 1 behind them, each in its old order.

## What to remember

- A scan gives every running total. Inclusive counts the element itself, exclusive does not: move by one, put the identity in front.
- It needs an associative operator. Order counts: the value from the left is the first operand.
- Doubling: log2 n rounds, n log2 n - (n - 1) adds. Up and down: 2 log2 n rounds, 2 (n - 1) adds.
- In place, doubling needs two barriers a round: reads, barrier, writes, barrier. Or two buffers and one barrier.
- Fewer adds are not fewer issue slots. Count both, and bank conflicts too.
- A warp scans by `shfl_up_sync` without a barrier; the guard stands behind the shuffle. A block needs two barriers.
- Across blocks: three launches go four times over the array, one launch with look-back about twice.
- The exclusive scan of flags is the place to write to.

**Next:** the lab, `t1_08_scan_lab`, in your folder `mine/t1_kernels/`.

## Sources

1. M. Harris, S. Sengupta, J. D. Owens, "Parallel Prefix Sum (Scan) with CUDA", *GPU Gems 3*, chapter 39, 2007:
   the example, 2 (n - 1) adds, gaps against bank conflicts.
2. W. D. Hillis, G. L. Steele, "Data parallel algorithms", Communications of the ACM 29(12), 1986.
3. *Grokking GPU Programming*, Manning, sections 6.14 and 6.19: adds of the doubling scan.
   <https://livebook.manning.com/learn/concepts/work--metric/grokking-gpu-programming>
4. M. Harris, "Parallel Prefix Sum (Scan) with CUDA", 2007, page 11, as quoted by a reader in NVIDIA's forum.
   <https://forums.developer.nvidia.com/t/avoiding-bank-conflics-in-scan/14071>
5. G. E. Blelloch, "Prefix sums and their applications", 1990.
6. NVIDIA, CUB: `cub::BlockScan` and its three algorithms.
   <https://nvidia.github.io/cccl/cub/api/classcub_1_1BlockScan.html>
7. D. Merrill, M. Garland, "Single-pass parallel prefix scan with decoupled look-back", NVIDIA, 2016: "only ~2n data movement".
   <https://research.nvidia.com/publication/single-pass-parallel-prefix-scan-decoupled-look-back>
"""
