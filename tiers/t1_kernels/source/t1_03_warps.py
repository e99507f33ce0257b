# %% [markdown]
r"""
# Warps: 32 threads, one instruction

**Half of your threads take the `if`, the other half take the `else`. What does that cost?**

On a CPU the answer is simple: each thread runs one side and skips the other.
On a GPU it depends on *which* threads take which side.

At the end of this lesson you can

- say which threads form a warp, and which lane of it a thread is,
- count what a branch or a loop costs, and arrange threads so that it costs less,
- let the 32 lanes of a warp vote, exchange values and add them up, without any memory,
- keep clear of the mistakes that this invites: lanes that left, masks that lie, values that are not there yet.

You need the lesson `t1_02_grids` and about 40 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display

from warpwise import compare, cuda, profile, sanitize
from warpwise.compiler import compile_kernel
from warpwise.show import show_lanes, table
from warpwise.show.dial import Dial, Dialled

# %% [markdown]
r"""
## 1. Thirty-two at a time

A GPU does not run your threads one by one. It takes 32 consecutive threads of a block and runs them together.
Such a group is a *warp*. A thread's place in its warp, 0 to 31, is its *lane*. Each thread can ask for it: `cuda.laneid`.

Consecutive means: in the order in which the threads of a block are numbered. You know it from the last lesson:
`threadIdx.x + threadIdx.y * blockDim.x`, x first.

A block of 16 x 4 threads has 64 threads, so two warps. In which row does the second warp begin?
"""

# %%
guess = "?"  # the row in which lane 0 of the second warp is


@cuda.jit
def write_lane(out):
    x, y = cuda.grid(2)
    out[y, x] = cuda.laneid


lanes = np.zeros((4, 16), np.int32)
write_lane[1, (16, 4)](lanes)

print(lanes)
print("guess:", guess, "   lane 0 is in the rows", np.flatnonzero((lanes == 0).any(axis=1)))

# %% [markdown]
r"""
In row **2**. Rows 0 and 1 of the block are the first warp, rows 2 and 3 the second.
Number the threads of the block in one line, then cut the line into pieces of 32:
the lane is what is left over, `number % 32`, and the warp is `number // 32`.

Every block starts anew. A warp never holds threads of two blocks.

Why does this matter? Because the warp is what the hardware works with.
It fetches *one* instruction for the whole warp, and all its lanes carry it out, each with its own values.
We say that the warp *issues* an instruction, and that this takes one *issue slot*.
An issue slot costs the same whether 32 lanes take part or one.

## 2. What does an `if` cost?

Now back to the question from the top. In `by_lane` even threads take one side and odd threads the other.
For one thread we count 5 operations: `%` and `==`, then a load, a multiplication or addition, and a store.
How many issue slots does a warp need?

`show_lanes` runs a launch and shows what one warp issues: a row for each line of the source,
32 columns for the lanes. A filled cell is a lane that takes part, an empty one is a lane that waits.
"""

# %%
guess = "?"  # issue slots of a warp


@cuda.jit
def by_lane(out, a):
    i = cuda.grid(1)
    if i % 2 == 0:
        out[i] = 3 * a[i]
    else:
        out[i] = a[i] + 10


a = np.arange(256, dtype=np.float32)
out = np.zeros_like(a)
show_lanes(by_lane[1, 256], out, a)

# %% [markdown]
r"""
**8**: 2 for the condition, 3 for one side, 3 for the other.
A slot is for one instruction, and the two sides are different instructions. So the warp issues the first side while the odd lanes wait,
then the second side while the even lanes wait. This is *divergence*: the lanes of a warp part at a branch.

Let the *warp* decide instead: warps 0, 2, 4 and so on take one side, the others take the other.
Again half of all threads take each side. How many slots now?
"""

# %%
guess = "?"  # issue slots of a warp


@cuda.jit
def by_warp(out, a):
    i = cuda.grid(1)
    if (i // 32) % 2 == 0:
        out[i] = 3 * a[i]
    else:
        out[i] = a[i] + 10


display(show_lanes(by_warp[1, 256], out, a, warp=1))

first, second = profile(by_lane[1, 256], out, a), profile(by_warp[1, 256], out, a)
rows = [
    ("issue slots", first.work.slots, second.work.slots, "smsp__inst_executed.sum"),
    ("divergent branches", first.branches.divergent, second.branches.divergent,
     "smsp__sass_branch_targets_threads_divergent.sum"),
    ("active lanes of a slot", first.work.lanes_per_slot, second.work.lanes_per_slot,
     "smsp__thread_inst_executed_per_inst_executed.ratio"),
    ("lane efficiency, %", 100 * first.lane_efficiency, 100 * second.lane_efficiency, ""),
]  # fmt: skip
table(("all 8 warps", "by_lane", "by_warp", "in Nsight Compute"), rows, "counted")

# %% [markdown]
r"""
**6**, although the condition has one operation more. All lanes of warp 1 agree, so the other side is not issued at all.
An `if` alone costs nothing extra. Lanes of one warp that disagree do.

The picture shows one warp. The table counts all eight. It comes from `profile`, which runs a launch and returns a report.
`report.work` and `report.branches` have the numbers; beside them stand the names that NVIDIA's profiler, Nsight Compute, gives them.

By lane all 8 warps part, and a slot serves **20** of 32 lanes: a *lane efficiency* of **62.5 %**.
By warp none parts, and every slot serves all 32.

This is how we count, in the lesson and in the lab: each arithmetic operation, comparison, load, store, vote or shuffle of the source
is one slot, in every warp that has an active lane there. `cuda.grid`, copies and the steps of a `for` are free.
A compiler makes other instructions of the source; section 6 looks at those.

Does fewer slots mean faster? `compare` puts two versions of a kernel side by side,
here with a million threads: what was counted, what the real compiler says, and what follows for a GPU, an A100 here.
Which of the numbers differ?
"""

# %%
guess = "?"  # will the best possible time differ?

many = np.zeros(1 << 20, np.float32)
result = np.zeros_like(many)
compare({
    "by lane": (by_lane[4096, 256], result, many),
    "by warp": (by_warp[4096, 256], result, many),
})  # fmt: skip

# %% [markdown]
r"""
Later lessons explain all the columns, and the picture (`t1_11_roofline`). Here three columns are enough.
The *issue slots* differ, and so do the *sectors*, pieces of memory that the next lesson counts.
But the first number under *time*, the best possible time, is the same: both versions are bound by the DRAM, the GPU's memory.
Divergence wastes issue slots. You pay for that in time when a kernel has little to wait for and much to compute.
So do not fear every `if`. Know what it costs, then decide.

## 3. Which conditions are harmless?

The lanes of a warp agree when the condition changes only where a new warp begins.
In `in_runs` the side changes every `run` threads. At which of these values does the divergence vanish: 1, 2, 4, 8, 16, 32, 48, 64?
Guess, run the cell, then turn the dial. The picture shows warp 1, threads 32 to 63.
"""

# %%
guess = "?"  # the values without divergence


@cuda.jit
def in_runs(out, a, run):
    i = cuda.grid(1)
    if (i // run) % 2 == 0:
        out[i] = 3 * a[i]
    else:
        out[i] = a[i] + 10


def draw(run):
    return show_lanes(in_runs[1, 256], out, a, run, warp=1)._repr_mimebundle_()


runs = [1, 2, 4, 8, 16, 32, 48, 64]
for run in runs:
    report = profile(in_runs[1, 256], out, a, run)
    print(f"run {run:2}: {report.branches.divergent} of 8 warps part")
print("guess:", guess)
Dialled([Dial("run", runs, 1)], draw)

# %% [markdown]
r"""
At **32** and **64**, the multiples of 32. With 16, every warp still parts, exactly as badly as with 1.
With 48, some do: a change falls into the middle of a warp.

And if there are more than two sides? Here `sides` of them follow one another, and each lane takes one.
"""

# %%
guess = "?"  # lanes that take part in the line of the work, with 8 sides


@cuda.jit
def many_sides(out, a, sides):
    i = cuda.grid(1)
    for side in range(sides):
        if i % sides == side:
            out[i] = a[i] * side  # the work


print("sides   slots of this line, per warp   lanes that take part")
for sides in (1, 2, 4, 8, 16, 32):
    report = profile(many_sides[1, 256], out, a, sides)
    work = next(line for line in report.lines if "# the work" in line.text).work
    print(f"{sides:5}   {work.slots // 8:28}   {work.lanes_per_slot:20.0f}")
print("guess:", guess)

# %% [markdown]
r"""
With k sides the warp issues the line k times, and **32 / k** lanes take part.
This is not only our way of counting. A study of 2026 measured it on GPUs from Pascal to Blackwell.
It finds that "warp execution efficiency falls as exactly 32/k", and that the time grows in proportion to k [1].

## 4. A loop waits for its slowest lane

In the next kernel, thread i goes round a loop i times. The launch is a single warp, so the lanes make 0 to 31 turns.
Together they make 496 turns, 15.5 per lane in the mean. How often does the warp issue the body of the loop?
"""

# %%
guess = "?"  # how often the warp issues the body


@cuda.jit
def turns(out):
    i = cuda.grid(1)
    total = 0
    for k in range(i):
        total += k  # the body
    out[i] = total


totals = np.zeros(32, np.int64)
report = profile(turns[1, 32], totals)
body = next(line for line in report.lines if "# the body" in line.text).work
print(f"guess: {guess}   issued {body.slots} times, with {body.lanes_per_slot:.1f} lanes")
show_lanes(turns[1, 32], totals)

# %% [markdown]
r"""
**31** times: as often as the slowest lane needs it. On average **16** lanes take part; the others have finished and wait.
(The picture starts with the body, because `range(i)` takes no operation.)

What helps is to give one warp lanes that need about the same number of turns.
Here are 1,024 threads with the same turns in two orders: `i % 32` mixes them in every warp, `i // 32` sorts them.
"""

# %%
guess = "?"  # how many times fewer slots, when sorted


@cuda.jit
def turns_mixed(out):
    i = cuda.grid(1)
    total = 0
    for k in range(i % 32):
        total += k  # the body
    out[i] = total


@cuda.jit
def turns_sorted(out):
    i = cuda.grid(1)
    total = 0
    for k in range(i // 32):
        total += k  # the body
    out[i] = total


for kernel in (turns_mixed, turns_sorted):
    report = profile(kernel[4, 256], np.zeros(1024, np.int64))
    body = next(line for line in report.lines if "# the body" in line.text).work
    print(f"{kernel.__name__:13} body issued {body.slots} times, {body.lanes} turns of threads")
print("guess:", guess)

# %% [markdown]
r"""
Half: **496** instead of **992**, for the same 15,872 turns.
The threads did the same work. Only who sits beside whom has changed.

## 5. A warp that is not full

A block of 33 threads needs a second warp, for one thread. What share of the lanes is used?
"""

# %%
guess = "?"  # per cent of the lanes


@cuda.jit
def add_one(out, a):
    i = cuda.grid(1)
    out[i] = a[i] + 1


rows = []
for threads in (31, 32, 33, 64, 100, 256):
    x = np.zeros(threads, np.float32)
    report = profile(add_one[1, threads], np.zeros_like(x), x)
    use = f"{100 * report.lane_efficiency:.1f} %"
    rows.append((threads, report.warps, report.work.slots, use))
print("guess:", guess)
table(("threads", "warps", "issue slots", "lanes used"), rows, "counted")

# %% [markdown]
r"""
**51.6 %**, or 33 of 64. The second warp takes as many slots as the first.
So make the block a multiple of 32. It is one of the few rules that hold almost always.

What about the last block, where the guard stops some threads? That is one warp of the whole grid that parts. Let it.

## 6. What the compiler makes of it

We counted operations of the source. Does a GPU really jump to one side, then to the other?
Ask the compiler. It can translate for any GPU on any machine. These are the instructions that it makes,
for an H100 (`sm_90`), of the two lines behind `if` and `else` in `by_lane`.
"""

# %%
guess = "?"  # will there be a jump from one side to the other?

compiled = compile_kernel(by_lane, (out, a), "sm_90")
sides = [line for line in compiled.lines if "out[i]" in line.text]
code = [(one.address, one.text, line.text.strip()) for line in sides for one in line.instructions]
for _, instruction, text in sorted(code):
    print(f"{instruction:32} # {text}")
print("guess:", guess)

# %% [markdown]
r"""
No jump. `@P0` in front of an instruction is a *predicate*: a bit of each lane that says whether it takes part.
Lanes with the bit add (`FADD`), store (`STG`) and end (`EXIT`). Those that are left multiply (`FMUL`), store and end.
The load is in neither side: both need it, so the compiler has moved it in front of the `if`.

A branch this small is nothing to worry about. But predicates do not change the rule: an instruction takes its issue slot,
however few of the lanes take part in it. Long sides stay dear, and so do loops.

## 7. Together, but not in step

It is tempting to think: the lanes of a warp run together, so what one lane writes, the next instruction of another can read.
In `swap_lanes` each lane stores a value, then reads that of its neighbour. `^` is the exclusive or: 0 and 1 change places, 2 and 3, and so on.

`sanitize` runs a launch and looks for accesses that nothing orders, whether or not they went wrong this time.
Will it find something here?
"""

# %%
guess = "?"  # does it find something?


@cuda.jit
def swap_lanes(out, box, a):
    i = cuda.grid(1)
    box[i] = 2 * a[i]
    out[i] = box[i ^ 1]


box = np.zeros(32, np.float32)
swapped = np.zeros(32, np.float32)
values = np.arange(32, dtype=np.float32)
print(sanitize(swap_lanes[1, 32], swapped, box, values))
right = np.array_equal(swapped, 2 * values[np.arange(32) ^ 1])
print("guess:", guess, "   values right this time:", right)


# Guess first: this is what mends it.
@cuda.jit
def swap_lanes_safely(out, box, a):
    i = cuda.grid(1)
    box[i] = 2 * a[i]
    cuda.syncwarp()
    out[i] = box[i ^ 1]


print("with syncwarp:", sanitize(swap_lanes_safely[1, 32], swapped, box, values))

# %% [markdown]
r"""
It does, and the result was right all the same. Old GPUs did run a warp in step, and much old code relies on it.
Since the Volta generation of 2017 each thread has a program counter of its own: *independent thread scheduling* [2].
Lanes that parted may stay apart for a while, even behind the `if`. And the compiler may put the load in front of the store,
because for one thread alone they touch different elements. NVIDIA's guide tells programmers not to rely on the step any more [2].

`cuda.syncwarp()` mends it, in `swap_lanes_safely`: no finding. All lanes wait there for one another, and what they have stored before is visible after it [2].

It orders the lanes of one warp, no more. A value from another warp needs a barrier for the whole block,
and that is the lesson `t1_05_shared_memory`.

But within a warp there is something better than memory. The rest of this lesson is about it.

## 8. Votes

A *vote* asks all lanes a yes-or-no question and gives every lane the answer.

| call | answer |
|---|---|
| `cuda.all_sync(mask, yes)` | did all say yes? |
| `cuda.any_sync(mask, yes)` | did any? |
| `cuda.ballot_sync(mask, yes)` | who did? One bit per lane, lane 0 is the lowest bit |

`mask` names the lanes that take part, one bit each. All 32 are `0xFFFFFFFF`.
The ending `_sync` means that the call waits until all these lanes have come to it.
Say lanes 0, 3 and 5 hold a positive number and the rest hold none. Which number is the ballot?
"""

# %%
guess = "?"  # the ballot as a number

ALL = 0xFFFFFFFF


@cuda.jit
def ask(answers, a):
    positive = a[cuda.laneid] > 0
    every = cuda.all_sync(ALL, positive)
    some = cuda.any_sync(ALL, positive)
    bits = cuda.ballot_sync(ALL, positive)
    if cuda.laneid == 0:
        answers[0] = every
        answers[1] = some
        answers[2] = bits
        answers[3] = cuda.popc(bits)
        answers[4] = cuda.ffs(bits)


def answers_for(lanes):
    a = np.full(32, -1.0)
    a[lanes] = 1.0
    answers = np.zeros(5, np.int64)
    ask[1, 32](answers, a)
    return answers


rows = []
for name, lanes in (("0, 3, 5", [0, 3, 5]), ("31", [31]), ("none", []), ("all", range(32))):
    found = answers_for(lanes)
    rows.append((name, *found, np.binary_repr(found[2] & ALL)))
print("guess:", guess)
table(("positive lanes", "all", "any", "ballot", "popc", "ffs", "ballot, bit by bit"), rows)

# %% [markdown]
r"""
1 + 8 + 32 = **41**. `cuda.popc` counts the set bits, `cuda.ffs` finds the lowest one and counts from 1, with 0 for none.

Look at the rows with lane 31. In Numba a ballot is a *signed* 32-bit number, so lane 31 makes it negative, and all lanes together make **-1**.
The bits are right. Take care only when you compare it or make it wider: `bits & 0xFFFFFFFF` gives the number you expect.

Because every lane gets the whole ballot, a lane can also find out *how many lanes before it* said yes.
It keeps only the bits below its own: `(1 << lane) - 1` has exactly those. For lane 3 that is 8 - 1 = 7, or 111 in binary.
With yes from lanes 0, 3 and 5: what will lanes 0, 3, 4 and 5 find?
"""

# %%
guess = "?"  # the numbers of lanes 0, 3, 4 and 5


@cuda.jit
def count_before(out, a):
    lane = cuda.laneid
    bits = cuda.ballot_sync(ALL, a[lane] > 0)
    out[lane] = cuda.popc(bits & ((1 << lane) - 1))


signs = np.full(32, -1.0)
signs[[0, 3, 5]] = 1.0
before = np.zeros(32, np.int64)
count_before[1, 32](before, signs)
print(before)
print("guess:", guess, "   lanes 0, 3, 4, 5:", before[[0, 3, 4, 5]])

# %% [markdown]
r"""
0, 1, 2, 2. The lanes that said yes have got the numbers 0, 1, 2: without a loop, without memory, in a few slots.

## 9. Shuffles

A *shuffle* lets each lane read a variable of another lane. There are four kinds. They differ in how the source lane is given:

| call | lane k reads from |
|---|---|
| `cuda.shfl_sync(mask, value, source)` | lane `source` |
| `cuda.shfl_up_sync(mask, value, delta)` | lane k - delta |
| `cuda.shfl_down_sync(mask, value, delta)` | lane k + delta |
| `cuda.shfl_xor_sync(mask, value, bits)` | lane k ^ bits |

Each lane brings its own number, so the result tells where it came from. What will lane 31 get from `down` by 2? There is no lane 33.
"""

# %%
guess = "?"  # what lane 31 reads


@cuda.jit
def sources(out):
    lane = cuda.laneid
    out[0, lane] = cuda.shfl_sync(ALL, lane, 5)
    out[1, lane] = cuda.shfl_up_sync(ALL, lane, 2)
    out[2, lane] = cuda.shfl_down_sync(ALL, lane, 2)
    out[3, lane] = cuda.shfl_xor_sync(ALL, lane, 1)


came_from = np.zeros((4, 32), np.int32)
sources[1, 32](came_from)
for name, row in zip(("from lane 5", "up by 2", "down by 2", "xor 1"), came_from, strict=True):
    print(f"{name:12}", *row)
print("guess:", guess, "   lane 31 reads from", came_from[2, 31])

# %% [markdown]
r"""
Its own: **31**. Where `up` or `down` would leave the warp, a lane gets its own value back.
That matters for sums, as you will see: the value is defined, but it is not a neighbour's.

And `cuda.shfl_sync(ALL, value, 33)`? Numba's own description says: if the source lane is outside the warp,
"the given value is returned" [3]. So lane 7 should get 7. Does it?
"""

# %%
guess = "?"  # what lane 7 reads


@cuda.jit
def from_lane_33(out):
    lane = cuda.laneid
    out[lane] = cuda.shfl_sync(ALL, lane, 33)


read = np.zeros(32, np.int32)
from_lane_33[1, 32](read)
print("guess:", guess, "   lane 7 reads from", read[7], "   all lanes:", np.unique(read))

print("\nmade by the compiler, where 0x21 is 33:")
for one in compile_kernel(from_lane_33, (read,), "sm_90").sass:
    if "0x21" in one.text or "SHFL" in one.text:
        print("       ", one.text)

# %% [markdown]
r"""
All lanes read lane **1**. The description is mistaken. The compiler hands the 33 to the hardware as it is, to the instruction `SHFL`.
The hardware looks at the low 5 bits of the source lane only: 33 is 100001 in binary, and 00001 is left.
NVIDIA's definition of the instruction says so [4], and the simulator follows it.
A wrong source lane is never reported. It just gives the value of some other lane.

## 10. A sum in five steps

How do 32 lanes add up their values? Lane 0 could ask all others, in 31 steps.
Or: each lane adds the value of the lane 16 above. Then lanes 0 to 15 hold all there is, as 16 sums.
Then the same with 8, 4, 2 and 1. Each lane brings 1 here. Which lanes hold 32 at the end?
"""

# %%
guess = "?"  # the lanes that hold 32


@cuda.jit
def fold(history, a):
    lane = cuda.laneid
    v = a[lane]
    history[0, lane] = v
    row = 1
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(ALL, v, step)
        history[row, lane] = v
        row += 1


def folded(a):
    history = np.zeros((6, 32), a.dtype)
    fold[1, 32](history, a)
    return history


ones, numbers = folded(np.ones(32, np.int32)), folded(np.arange(32, dtype=np.int32))
print("guess:", guess)
print("ones:    32 in lanes", *np.flatnonzero(ones[5] == 32))
print("0 to 31:", sum(range(32)), "in lanes", *np.flatnonzero(numbers[5] == sum(range(32))))

used = np.zeros((6, 32), bool)
for row, still in enumerate((32, 16, 8, 4, 2, 1)):
    used[row, :still] = True
print(f"additions: {5 * 32}, used for the sum of lane 0: {used[1:].sum()}")

fig, ax = plt.subplots(figsize=(12, 3))
ax.imshow(used, cmap="Blues", vmin=0, vmax=2.5, aspect="auto")
for (row, lane), value in np.ndenumerate(numbers):
    ax.text(lane, row, value, ha="center", va="center", fontsize=8)
ax.set(title="the numbers 0 to 31, folded", xlabel="lane", xticks=range(0, 32, 4),
       yticks=range(6), yticklabels=["start", "+ 16", "+ 8", "+ 4", "+ 2", "+ 1"])  # fmt: skip
plt.show()

# %% [markdown]
r"""
With ones, all of them, by accident: a lane without a partner adds its own value again.
With the numbers 0 to 31 the truth comes out: after `shfl_down_sync` only lane **0** has the sum. Do not test with ones alone.

In the picture, lane 0's sum is made of the blue cells. What the other lanes compute is never used: **31** of 160 additions count.
That does not matter: those lanes would have waited anyway, and there are 5 steps instead of 31.
With `shfl_xor_sync` in place of `shfl_down_sync` every lane ends up with the sum, at the same price.

One more point. float32 rounds after each addition, so the order of a sum shows in its last digits.
Three ways to add the same 32 numbers, and the warp's. How many different results?
"""

# %%
guess = "?"  # how many different results

x = np.random.default_rng(seed=4).random(32, dtype=np.float32)

one_by_one = np.float32(0)
for value in x:
    one_by_one += value

halves = x.copy()
while halves.size > 1:  # the five steps in NumPy: the upper half onto the lower
    middle = halves.size // 2
    halves = halves[:middle] + halves[middle:]

neighbours = x.copy()
while neighbours.size > 1:  # the other way round: steps of 1, 2, 4, 8, 16
    neighbours = neighbours[0::2] + neighbours[1::2]

for order, total in (
    ("one after another", one_by_one),
    ("steps of 1 up to 16", neighbours[0]),
    ("steps of 16 down to 1", halves[0]),
    ("the warp", folded(x)[5, 0]),
):
    print(f"{order:22} {total:.6f}")
print("guess:", guess, "   the warp agrees in every bit:", folded(x)[5, 0] == halves[0])

# %% [markdown]
r"""
Three orders, **three** results. The warp agrees with the NumPy version of *its* order in every bit.
None of them is wrong. But whoever states the order can check a sum exactly, and the lab does.

## 11. Who takes part?

Shuffles and votes have one strict rule: **every lane that the mask names makes the same call**,
and a lane that is read from must be one of them. What happens here, where only lanes 0 to 19 come to the call?
"""

# %%
guess = "?"  # what is wrong with it


@cuda.jit
def some_lanes_call(out):
    lane = cuda.laneid
    square = lane * lane
    if lane < 20:
        out[lane] = cuda.shfl_sync(ALL, square, 25)


squares = np.zeros(32, np.int32)
print(sanitize(some_lanes_call[1, 32], squares))


# Guess first: these are the two ways out.
@cuda.jit
def all_lanes_call(out):
    lane = cuda.laneid
    square = lane * lane
    got = cuda.shfl_sync(ALL, square, 25)
    if lane < 20:
        out[lane] = got


@cuda.jit
def honest_mask(out):
    lane = cuda.laneid
    square = lane * lane
    mask = cuda.ballot_sync(ALL, lane < 20)
    if lane < 20:
        out[lane] = cuda.shfl_sync(mask, square, 3)


for kernel in (all_lanes_call, honest_mask):
    print(f"{kernel.__name__}: {sanitize(kernel[1, 32], squares)}, lane 0 has read {squares[0]}")

# %% [markdown]
r"""
Two findings. The mask promises lanes that do not come: on a GPU the others may wait for ever, or read anything.
And lane 25, from which they read, is one of those that do not come: its value is undefined.

There are two ways out, both in the cell above. Most often, let **all** lanes call, and put only the load and the store behind the condition.
Or take a mask that tells the truth, with a ballot *before* the branch and the same condition, and read only from lanes in it.

25² is 625, and 3² is 9. Both are clean.

What if a lane has no value, because the array ends before it? Give it one that changes nothing:
0 for a sum, -inf for a maximum, "no" for a vote. A lane that returns early cannot give anything.
Mind its type: a plain `0.0` is a float64 and makes the variable a float64 in all lanes. Write `np.float32(0)`, or `np.float32(-np.inf)`.

## What to remember

- A warp is 32 consecutive threads of one block, x first. Lane = number in the block % 32.
- A warp issues one instruction at a time. An issue slot costs the same for 1 lane and for 32.
- Lanes that disagree make the warp issue both sides. A condition that only changes from warp to warp is free of this.
- A loop runs until the slowest lane is done. Put equal work side by side.
- Make a block a multiple of 32 threads: with 33, half of the lanes are idle.
- Divergence wastes issue slots, not always time. The compiler turns small branches into predicates.
- Lanes are not in step. What one stores, another may read after `cuda.syncwarp()`.
- `ballot_sync` tells every lane about all others; `popc` counts bits, `ffs` finds the lowest, from 1.
- Shuffles read other lanes' variables. Only the low 5 bits of a source lane count. A sum takes five steps.
- Every lane that the mask names makes the same call. A lane without data brings a value that changes nothing.

| counted here | in Nsight Compute |
|---|---|
| `report.work.slots` | `smsp__inst_executed.sum` |
| `report.work.lanes` | `smsp__thread_inst_executed.sum` |
| `report.work.lanes_per_slot` | `smsp__thread_inst_executed_per_inst_executed.ratio` |
| `report.branches.divergent` | `smsp__sass_branch_targets_threads_divergent.sum` |

**Next:** the lab, `t1_03_warps_lab`, in your folder `mine/t1_kernels/`.

## Sources

1. "Characterizing Warp Divergence from Pascal to Blackwell", 2026, summary.
   <https://arxiv.org/abs/2607.23402>
2. NVIDIA, CUDA C++ Programming Guide, sections "SIMT Architecture", "Independent Thread Scheduling" and "Synchronization Functions":
   warps, their threads, what is no longer guaranteed, and `__syncwarp`.
   <https://docs.nvidia.com/cuda/cuda-c-programming-guide/>
3. Numba-CUDA 0.30, description of `shfl_sync` in `numba/cuda/intrinsics.py`.
   <https://github.com/NVIDIA/numba-cuda>
4. NVIDIA, PTX ISA, section "shfl.sync": the source lane is computed from bits 0 to 4 of the operand.
   Section "vote.sync" defines the votes.
   <https://docs.nvidia.com/cuda/parallel-thread-execution/>
5. NVIDIA, Nsight Compute documentation, "Metrics Reference": the names of the counters.
   <https://docs.nvidia.com/nsight-compute/ProfilingGuide/>
"""
