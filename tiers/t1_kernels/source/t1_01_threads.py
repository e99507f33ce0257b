# %% [markdown]
r"""
# Threads: one function, a million times

**I have a million pairs of numbers to add. How does one function do a million things at once?**

At the end of this lesson you can

- say which thread works on which element, and why,
- choose how many threads to start, and keep the spare ones out of trouble,
- write a kernel that is right for every length and every launch.

You need Python, a little NumPy and about 25 minutes. You do not need a GPU.

Some cells start with `guess = "?"`. Put your answer there *before* you run the cell.
A wrong guess is worth more than no guess: it shows you what to look at.
"""

# %%
import math

import numpy as np

import warpwise
from warpwise import cuda, show_threads

print("Kernels run on:", warpwise.backend())

# %% [markdown]
r"""
`sim` means that the course's simulator runs your kernels on the processor of this computer.
`gpu` means that they run on a GPU.
The kernels themselves are the same: ordinary Numba CUDA, with no change for either.
The outputs you see stored in this notebook come from the simulator.

## 1. A loop whose order does not matter

On a processor, twelve sums are a loop with twelve iterations.
"""

# %%
a = np.arange(1, 13)
b = 100 * a


def add_in_a_loop(out, a, b):
    for i in range(12):
        out[i] = a[i] + b[i]


out = np.zeros(12, np.int64)
add_in_a_loop(out, a, b)
print(out)

# %% [markdown]
r"""
Look at a single iteration. It reads `a[i]` and `b[i]`, and it writes `out[i]`.
No other iteration touches these three elements, so none has to wait for another.
You could hand each one to a different person, and all could work at once.

A GPU works like that. We keep the body of the loop and throw the loop away.
Many *threads* then run the body, and each thread gets an `i` of its own.
"""


# %%
@cuda.jit
def add_pairs(out, a, b):
    i = cuda.grid(1)  # the number of this thread; it replaces the loop
    out[i] = a[i] + b[i]


# %% [markdown]
r"""
Such a function is a *kernel*, and `@cuda.jit` makes it one.
A kernel returns nothing: its results go into an array that you hand in.

You start it with a *launch*: the number of *blocks*, the number of threads in each block, then the arguments.

```python
kernel[blocks, threads](arguments)
```

We launch 3 blocks of 4 threads. How many times does the body run?
"""

# %%
guess = "?"  # how many times does the body of add_pairs run?

out = np.zeros(12, np.int64)
add_pairs[3, 4](out, a, b)

print(out)
print("guess:", guess, "   elements filled:", np.count_nonzero(out))

# %% [markdown]
r"""
**12 elements** are filled, though there is no loop in the kernel.
3 blocks of 4 threads are 12 threads, and each of them ran the body once.

## 2. Which thread has which element?

Every thread runs the same code. So how does it know that it is, say, the one for element 9?
It can ask where it stands:

| name | meaning | in our launch |
|---|---|---|
| `cuda.blockIdx.x` | the number of its block | 0, 1, 2 |
| `cuda.threadIdx.x` | its own number inside this block | 0, 1, 2, 3 |
| `cuda.blockDim.x` | how many threads each block has | 4 |

Numbers start at 0. In the next kernel each thread writes down what it knows.
Which block and which thread will write element 9?
"""

# %%
guess = "?"  # block ... and thread ...


@cuda.jit
def who_am_i(block, thread):
    i = cuda.grid(1)
    block[i] = cuda.blockIdx.x
    thread[i] = cuda.threadIdx.x


block = np.zeros(12, np.int64)
thread = np.zeros(12, np.int64)
who_am_i[3, 4](block, thread)

rows = {"element": range(12), "blockIdx.x": block, "threadIdx.x": thread}
for name, row in rows.items():
    print(f"{name:12}", *[f"{number:2}" for number in row])
print("guess:", guess, "   element 9: block", block[9], "thread", thread[9])

# %% [markdown]
r"""
Element 9 belongs to **block 2, thread 1**.
`threadIdx.x` starts again at 0 in every block, so it takes both numbers to identify a thread.

Now count. Before block 2 there are 2 whole blocks of 4 threads, that is 8 threads.
Thread 1 is one further: 8 + 1 = 9. Written with the three names, this is the formula to remember:
"""

# %%
blockDim = 4  # threads in a block
print(block * blockDim + thread)

# %% [markdown]
r"""
The line counts from 0 to 11: each thread has a different number, and none is left out.
In a kernel you write

```python
i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
```

or, for short, `i = cuda.grid(1)`, which computes exactly this.
The 1 says that we number the threads along one line. The next lesson, on grids, uses two.

Below is a picture of our launch. When you run the cell, a slider lets you choose a block.
In a stored copy, without the slider, you see all blocks at once.
Before you choose block 1: which cells will stay coloured?
"""

# %%
show_threads(add_pairs[3, 4], out, a, b)

# %% [markdown]
r"""
Four cells for each block, side by side.
Blocks cut the array into pieces, and the threads of a block share one piece.

## 3. How many blocks?

Lengths seldom fit exactly. Say we have 10 elements and want blocks of 4 threads.
How many blocks do we need?
"""

# %%
guess = "?"  # blocks of 4 threads for 10 elements

n, threads = 10, 4
for blocks in (2, 3):
    print(blocks, "blocks:", blocks * threads, "threads for", n, "elements")
print("guess:", guess, "   needed:", math.ceil(n / threads))

# %% [markdown]
r"""
2 blocks are 8 threads: nobody would be there for elements 8 and 9.
So we need **3 blocks**. We always round up, and may then have threads to spare.

Whole numbers are enough to round up. `//` rounds down, so add `threads - 1` first:
`(n + threads - 1) // threads`.
A full block then counts once, and a block with a single element still counts.

NVIDIA's CUDA sample *vectorAdd* adds 50,000 pairs in blocks of 256 threads, rounds up in the same way,
and prints its launch [1]. Work out the number of blocks by hand, then print the same line.
"""

# %%
guess = "?"  # blocks of 256 threads for 50,000 elements

for n in (7, 8, 9):
    print(n, "elements:", (n + 4 - 1) // 4, "blocks of 4 threads")

n, threads = 50_000, 256
blocks = (n + threads - 1) // threads
print(f"CUDA kernel launch with {blocks} blocks of {threads} threads")
print("guess:", guess, "   blocks:", blocks)
print("threads without an element:", blocks * threads - n)

# %% [markdown]
r"""
**196 blocks of 256 threads**: letter for letter the line that NVIDIA's program prints.
Its last block is not full: **176** of its threads have no element.

Why not take one block with 50,000 threads, or more than two billion blocks? We ask the simulator.
`run` always uses the simulator, even on a computer with a GPU, so it prints the same everywhere.
"""

# %%
from warpwise.simt import SimtError, run

for blocks, threads in ((1, 50_000), (2**31, 1)):
    try:
        run(add_pairs, blocks, threads, [out, a, b])
    except SimtError as error:
        print(error)

# %% [markdown]
r"""
These are the limits of today's GPUs: **1,024** threads in a block, and **2,147,483,647** blocks
along x [2]. A large array therefore needs many blocks.

## 4. Threads without an element

Back to 10 elements and 3 blocks of 4 threads. There are 12 threads.
Our kernel knows nothing about the length. What do threads 10 and 11 do?
"""

# %%
guess = "?"  # what do threads 10 and 11 do?

a10, b10 = a[:10], b[:10]
out10 = np.zeros(10, np.int64)
try:
    run(add_pairs, 3, 4, [out10, a10, b10])
except SimtError as error:
    print(error)

# %% [markdown]
r"""
The simulator has stopped the kernel. You will meet such reports again, so let us read this one.

1. **What**: a *load* is a read. The kernel read `a[10]`; inside it, our array `a10` is called `a`.
   The array has 10 elements, so its last index is 9.
2. **Who**: 2 of the 12 threads did it. The first is thread 2 of block 2.
   Check it with the formula: 2 * 4 + 2 = 10.
   Positions have three numbers because a launch can have three dimensions. Ours uses only the first.
3. **Where**: line 4 of the cell that defines the kernel.
4. **What now**: a thread may work only while its index is below the size.

A GPU makes no such check, and Numba's manual says that you must make it yourself [3].
Threads 10 and 11 would read whatever lies behind `a`, and store to whatever lies behind `out`.
Often nothing seems to happen, until some other array turns out to hold wrong numbers.

The cure is one line. It is called the *guard*.
"""


# %%
@cuda.jit
def add_guarded(out, a, b):
    i = cuda.grid(1)
    if i < out.size:  # the guard: threads without an element do nothing
        out[i] = a[i] + b[i]


out10 = np.zeros(10, np.int64)
add_guarded[3, 4](out10, a10, b10)
print(out10)

# %% [markdown]
r"""
All 10 sums are there. How many threads wrote nothing? The picture counts them.
Choose the last block to see which ones they were.
"""

# %%
show_threads(add_guarded[3, 4], out10, a10, b10)

# %% [markdown]
r"""
## 5. A million

Now the question from the top. How many threads will have nothing to do?
"""

# %%
guess = "?"  # threads without an element, for a million elements in blocks of 256

n, threads = 1_000_000, 256
blocks = (n + threads - 1) // threads

random = np.random.default_rng(seed=1)
x = random.random(n, dtype=np.float32)
y = random.random(n, dtype=np.float32)
sums = np.zeros(n, np.float32)
add_guarded[blocks, threads](sums, x, y)

print("same as NumPy:", np.array_equal(sums, x + y))
print(f"{blocks:,} blocks, {blocks * threads:,} threads")
print("guess:", guess, "   without an element:", blocks * threads - n)

# %% [markdown]
r"""
That is the answer: **one short function, 1,000,192 threads**, and each thread knows its number.
The **192** spare threads stop at the guard.

And what went on inside this computer? If your first cell printed `sim`, there were not a million threads.
The simulator ran each line of the kernel for thousands of threads at a time.
The values and the counts are exact. The time it took says nothing about a GPU.

## 6. In which order do threads run?

The loop in section 1 went from the first element to the last. Do threads do that as well?
We can find out with a task that needs an order: a running total.
Each thread adds its element to the total left by the thread before it.
Thread 0 has none before it, so we set its total by hand, and `0 < i` keeps it out of the kernel.

We take twelve ones. In order, the totals would be 1, 2, 3 and so on up to 12.
What will the last one be?
"""

# %%
guess = "?"  # the last running total of twelve ones


@cuda.jit
def running_total(total, a):
    i = cuda.grid(1)
    if 0 < i < total.size:
        total[i] = total[i - 1] + a[i]  # relies on the thread before


ones = np.ones(12, np.int64)
total = np.zeros(12, np.int64)
total[0] = ones[0]  # thread 0 has none before it
running_total[3, 4](total, ones)

print("in order:", np.cumsum(ones))
print("kernel:  ", total)
print("guess:", guess, "   last total:", total[-1])

# %% [markdown]
r"""
The last total is **1**, not 12.
The simulator let all threads read before any of them wrote, so all but one found a zero.
A GPU may do this too, or something else, and something else again in the next run.
CUDA does not promise in which order blocks run, or that they run at the same time [4].

So there is a rule: **no thread may need what another thread of the same launch writes.**
Adding pairs follows it. A running total does not, and needs ideas from later lessons:
barriers in `t1_05_shared_memory`, and then `t1_08_scan`.

## 7. More elements than threads

So far each thread had at most one element. It may have several, if it gets its loop back.
In the next kernel each thread writes its own number into every element that it handles.
`cuda.gridsize(1)` is the number of all threads in the launch.

We launch 2 blocks of 4 threads for 21 elements. Which elements will thread 3 handle?
"""

# %%
guess = "?"  # the elements of thread 3


@cuda.jit
def who_has(owner):
    for i in range(cuda.grid(1), owner.size, cuda.gridsize(1)):
        owner[i] = cuda.grid(1)


owner = np.full(21, -1)
who_has[2, 4](owner)

for start in range(0, 21, 8):
    print("elements from", f"{start:2}:", owner[start : start + 8])
print("guess:", guess, "   thread 3 has:", np.flatnonzero(owner == 3))

# %% [markdown]
r"""
Thread 3 has elements **3, 11 and 19**. Each line above is one iteration of the loop.
In each iteration, the 8 threads together cover 8 neighbouring elements. Then they all jump ahead by 8.
In `range`,

- the *start* is the thread's own number,
- the *stop* is the length, which makes it the guard as well,
- the *step* is the number of threads in the whole grid.

This is a *grid-stride loop* [5]. Look at it in the picture: each block now has several pieces.
"""

# %%
show_threads(who_has[2, 4], owner)

# %% [markdown]
r"""
Here 8 threads were enough. What if there is a single one, or if there are 256,000?
How many of the 21 elements will be missed?
"""

# %%
guess = "?"  # elements missed, for each line

for blocks, threads in ((1, 1), (2, 4), (3, 32), (1000, 256)):
    owner = np.full(21, -1)
    who_has[blocks, threads](owner)
    missed = np.count_nonzero(owner == -1)
    print(f"{blocks * threads:7,} threads: {missed} elements missed")
print("guess:", guess)

# %% [markdown]
r"""
**0 missed**, each time. One thread does all the work in 21 iterations.
Of 256,000 threads only 21 find an element.

A common slip is to step by the number of threads in *one block*. Here it is, with sums to compute.
Are they right? And how many stores do the 8 threads make for 21 elements?

We have to count for that. An *observer* watches a simulated run.
`Census` is one: it counts how often each element is read and written.
"""

# %%
from warpwise.observe import Census

guess_right = "?"  # are the values right, yes or no?
guess_stores = "?"  # how many stores for 21 elements?


@cuda.jit
def add_with_short_steps(out, a, b):
    for i in range(cuda.grid(1), out.size, cuda.blockDim.x):  # the step is too short
        out[i] = a[i] + b[i]


a21 = np.arange(21)
out21 = np.zeros(21, np.int64)
census = Census()
run(add_with_short_steps, 2, 4, [out21, a21, a21], observers=[census])

print("guess:", guess_right, "   right values:", np.array_equal(out21, a21 + a21))
print("stores to each element:", census.writes["out"])
print("guess:", guess_stores, "   stores:", census.writes["out"].sum())

# %% [markdown]
r"""
All values are right, and that is what makes this slip hard to find.
But there were **38 stores for 21 elements**: from element 4 on, both blocks did the same work.
In the lab, the check counts stores as well, so that you notice.

How many stores are there with 5 blocks? Work it out, then change the launch and run the cell again.

<details><summary>Answer</summary>

65. The first block starts at element 0 and stores to all 21 elements.
The next ones start 4, 8, 12 and 16 elements later: 21 + 17 + 13 + 9 + 5 = 65.

</details>

## 8. What is simulated, and what a GPU adds

| | in the simulator | on a GPU |
|---|---|---|
| your kernel | the same source | the same source |
| which thread touches which element, and how often | counted, exact | the same |
| types and values | by Numba's rules for CUDA | the same rules |
| an index outside the array | stopped, with a report | not checked |
| the order of threads | always the same, so that you can repeat a run | may differ from run to run |
| time | means nothing | can be measured; `t1_12_launches` does it |

This course never shows the seconds of a simulated run as if they were a GPU's.
All labs can be done, with full marks, without a GPU.

## What to remember

- A kernel is the body of a loop. A launch `kernel[blocks, threads](...)` runs it in every thread.
- `cuda.grid(1)` is `blockIdx.x * blockDim.x + threadIdx.x`, the thread's number in the launch.
- Blocks are whole, so round up: `(n + threads - 1) // threads`. A block has at most 1,024 threads.
- Some threads then have no element. Guard every read and every store: `if i < out.size:`.
- Threads have no promised order. None may need what another one writes in the same launch.
- `range(cuda.grid(1), n, cuda.gridsize(1))` is right for any number of threads.

**Next:** the lab, `t1_01_threads_lab`, in your folder `mine/t1_kernels/`.
The first exercise takes two minutes.

## Sources

1. NVIDIA, CUDA Samples, `vectorAdd.cu`: 50,000 elements, blocks of 256 threads, rounded up as above.
   <https://github.com/NVIDIA/cuda-samples/blob/master/Samples/0_Introduction/vectorAdd/vectorAdd.cu>
   (read at commit `35a407d`)
2. NVIDIA, CUDA C++ Programming Guide, section "Compute Capabilities", table of technical
   specifications. <https://docs.nvidia.com/cuda/cuda-c-programming-guide/>
3. NVIDIA, Numba-CUDA user guide, "Writing CUDA Kernels": launches, `grid`, `gridsize`, boundaries.
   <https://nvidia.github.io/numba-cuda/user/kernels.html>
4. NVIDIA, CUDA Programming Guide, section "Programming Model": no thread block may rely on
   results from another.
   <https://docs.nvidia.com/cuda/cuda-programming-guide/01-introduction/programming-model.html>
5. M. Harris, "CUDA Pro Tip: Write Flexible Kernels with Grid-Stride Loops", NVIDIA.
   <https://developer.nvidia.com/blog/cuda-pro-tip-write-flexible-kernels-grid-stride-loops/>
"""
