# %% [markdown]
r"""
# Lab: launches

Six exercises on the work around kernels, with what you saw in the lesson `t1_12_launches`. They take about 45 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

All times are *modelled*: nothing here is measured on a GPU.
1 GB/s is 1,000,000,000 bytes a second, which is 1,000 bytes a microsecond (us).
In exercises 4 to 6 each kernel fills the device, so kernels do not run side by side, and there is a copy engine for each direction.

Run this cell first.
"""

# %%
import numpy as np

from warpwise import check, cuda
from warpwise.answers import host_ops, recorded
from warpwise.hardware import races, timeline
from warpwise.show import show_timeline

TIMES = {"square": 10, "add": 10, "grind": 15}  # us a launch


def line_of(ops):
    """A slow bus, 1 GB/s, so that small arrays take as long as large ones; 1 us a call."""
    return timeline(ops, launch_us=1, copy_gbs=1, kernel_us=TIMES)


# %% [markdown]
r"""
## Exercise 1 - A loop of launches (1 point)

**Goal.** Say how long a loop of launches takes, before you run it.

**Given.** `count` kernels, launched one after the other into one stream. The host waits only at the end.
A launch takes the host `launch_us`, a kernel takes the device `kernel_us`. A kernel begins when its launch is done and the kernel before it has ended.

**Required.** The microseconds from the start of the first launch to the end of the last kernel. For `count = 0` it is 0.

**Examples.** `loop_time(1, 4.0, 10.0)` is 14, `loop_time(3, 4.0, 10.0)` is 34, and `loop_time(3, 10.0, 4.0)` is 34, too.
"""


# %% loop_time tags=["exercise"]
def loop_time(count, launch_us, kernel_us):
    """Microseconds from the first launch to the end of the last kernel."""
    ### BEGIN SOLUTION
    if count == 0:
        return 0
    return launch_us + (count - 1) * max(launch_us, kernel_us) + kernel_us
    ### END SOLUTION


# %% tags=["check"]
check("loop_time", loop_time)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Draw two rows, the host and the device, with three launches. Once with long launches, once with long kernels.
</details>
<details><summary>Hint 2</summary>
Only the first launch and the last kernel overlap with nothing. What does each further launch add?
</details>
<details><summary>Hint 3</summary>
One launch, then <code>count - 1</code> times <code>max(launch_us, kernel_us)</code>, then one kernel.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - When does a copy pay? (1 point)

**Goal.** Decide whether a computation is worth moving to the device.

**Given.** A computation repeats the same step on data that stay where they are.
On the host a step takes `host_us`. On the device it takes `kernel_us`, launch included.
For the device `bytes_in` are copied there once before the first step, and `bytes_out` are copied back once after the last, at `bus_gbs` in either direction. Nothing overlaps.

**Required.** The fewest steps with which the device is *faster* than the host, copies included. A whole number. If it never is: 0.

**Examples.** `steps_to_pay(8000, 4000, 4.0, 3.0, 1.0)` is 2: the copies take 3 us, and each step saves 2.
`steps_to_pay(4000, 4000, 4.0, 2.0, 1.0)` is 3: with two steps it would be a tie.
"""


# %% steps_to_pay tags=["exercise"]
def steps_to_pay(bytes_in, bytes_out, bus_gbs, host_us, kernel_us):
    """The fewest steps with which copies and kernels take less time than the host; 0 if none do."""
    ### BEGIN SOLUTION
    if kernel_us >= host_us:
        return 0
    copies_us = (bytes_in + bytes_out) / (1000 * bus_gbs)
    return int(copies_us // (host_us - kernel_us)) + 1
    ### END SOLUTION


# %% tags=["check"]
check("steps_to_pay", steps_to_pay)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
What do the copies cost in all, and what does one step save?
</details>
<details><summary>Hint 2</summary>
Bytes divided by <code>1000 * bus_gbs</code> are microseconds. A tie is not enough.
</details>
<details><summary>Hint 3</summary>
If <code>kernel_us &gt;= host_us</code>, return 0. Otherwise the quotient of the copies and of <code>host_us - kernel_us</code>, rounded down, plus 1.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - Many steps, one launch (2 points)

This kernel makes one step. To make six, a program launches it six times, and each launch reads and writes the whole array.
"""


# %%
@cuda.jit
def one_step(out, x, a, b, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = abs(a * x[i] - b)


# %% [markdown]
r"""
**Goal.** Fuse the launches: one kernel that makes all steps.

**Given.** `out` and `x`: `(n,)` float32. `a` and `b`: float32. `steps`: an integer, 0 or more. At least one thread for each element.

**Required.** `out[i]` is `x[i]` after `steps` times `v = abs(a * v - b)`. With `steps = 0` it is a copy. Each element is written once.
Over the whole launch no more sectors than *one* step loads and stores. They are counted with n = 1,000 and six steps.

**Example.** With `a = 0.75`, `b = 1.5` and two steps, 4.0 becomes 1.5, and then abs(1.125 - 1.5) = 0.375.
"""


# %% fused_steps tags=["exercise"]
@cuda.jit
def fused_steps(out, x, a, b, steps, n):
    """out = x after `steps` times v = abs(a * v - b).   out, x: (n,) float32."""
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    if i < n:
        v = x[i]
        for _ in range(steps):
            v = abs(a * v - b)
        out[i] = v
    ### END SOLUTION


# %% tags=["check"]
check("fused_steps", fused_steps)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
The steps of one element need no other element. Who can make all of them?
</details>
<details><summary>Hint 2</summary>
A loop in the thread. Between two steps the value stays in a variable, not in <code>out</code>.
</details>
<details><summary>Hint 3</summary>
Behind the guard: <code>v = x[i]</code>, a loop over <code>range(steps)</code>, then <code>out[i] = v</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - Predict the makespan (1 point)

**Goal.** Read a program of two streams and say when it is done, before it runs.

**Given.** All host arrays are pinned, and the calls themselves take no time.

```python
dx = cuda.to_device(x, stream=s1)        # 40 us
dy = cuda.to_device(y, stream=s2)        # 30 us
f[blocks, threads, s1](dx)               # 50 us
g[blocks, threads, s2](dy)               # 20 us
ready.record(s2)
ready.wait(s1)
h[blocks, threads, s1](dx, dy)           # 30 us
dx.copy_to_host(x, stream=s1)            # 25 us
dy.copy_to_host(y, stream=s2)            # 35 us
cuda.synchronize()
```

An engine takes the operation that can begin first; of two that can begin at the same time, the one called for first.

**Required.** The microseconds from the first call to the end, an integer.

**Example.** Without the second stream, from `dx` to the copy back of `x` with f and h alone: 40 + 50 + 30 + 25 = 145.
"""


# %% program_makespan tags=["exercise"]
def program_makespan():
    """Microseconds until everything is done."""
    ### BEGIN SOLUTION
    y_there = 40 + 30  # one copy engine to the device
    f_ends = 40 + 50
    g_ends = max(y_there, f_ends) + 20  # the device is busy with f
    h_ends = max(f_ends, g_ends) + 30
    y_back = g_ends + 35
    return max(h_ends, y_back) + 25  # one copy engine to the host
    ### END SOLUTION


# %% tags=["check"]
check("program_makespan", program_makespan)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Three rows on paper: copies to the device, kernels, copies to the host.
</details>
<details><summary>Hint 2</summary>
x is copied from 0 to 40, y from 40 to 70, f runs from 40 to 90. What do g and h wait for?
</details>
<details><summary>Hint 3</summary>
g ends at 110, h at 140. The copy back of y can begin first, at 110, and keeps its engine for 35 us.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - Mend the order (2 points)

This program computes `out = x² + y²`. Each square has a stream of its own, and the sum is made in the first.
Its result is right here, since the simulator does everything in the order of the calls. But look at what nothing orders.
"""


# %%
@cuda.jit
def square(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = a[i] * a[i]


@cuda.jit
def add(a, b):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = a[i] + b[i]


def broken_sum(out, x, y):
    blocks = (x.size + 255) // 256
    s1, s2 = cuda.stream(), cuda.stream()
    with cuda.pinned(out, x, y):
        dx = cuda.to_device(x, stream=s1)
        dy = cuda.to_device(y, stream=s2)
        square[blocks, 256, s1](dx)
        square[blocks, 256, s2](dy)
        add[blocks, 256, s1](dx, dy)
        dx.copy_to_host(out, stream=s1)


x = np.arange(2500, dtype=np.float32)
out = np.zeros_like(x)
ops = host_ops(broken_sum, out, x, x + 1)
print("right:", np.array_equal(out, x**2 + (x + 1) ** 2))
for race in races(ops):
    print(race)
show_timeline(line_of(ops))

# %% [markdown]
r"""
**Goal.** Mend it, without making it slow.

**Given.** `out`, `x`, `y`: one-dimensional float32 arrays of the same length, in memory that is not pinned yet.
The kernels `square` and `add` of the cell above, 10 us each; the bus and the calls as in `line_of`.

**Required.** `out = x² + y²` in the host's memory when the function returns. No race.
The modelled makespan is at most a tenth longer than that of the solution, which keeps both streams.

**Example.** For 2,500 elements the program above takes 51 us; everything in one stream would take 61.

`@recorded` writes the calls down for the check. Leave it there.
"""


# %% mended_sum tags=["exercise"]
@recorded
def mended_sum(out, x, y):
    """out = x**2 + y**2, in two streams.   out, x, y: (n,) float32 on the host."""
    ### BEGIN SOLUTION
    blocks = (x.size + 255) // 256
    s1, s2 = cuda.stream(), cuda.stream()
    squared = cuda.event(timing=False)
    with cuda.pinned(out, x, y):
        dx = cuda.to_device(x, stream=s1)
        dy = cuda.to_device(y, stream=s2)
        square[blocks, 256, s1](dx)
        square[blocks, 256, s2](dy)
        squared.record(s2)
        squared.wait(s1)
        add[blocks, 256, s1](dx, dy)
        dx.copy_to_host(out, stream=s1)
        s1.synchronize()
    ### END SOLUTION


# %% tags=["check"]
check("mended_sum", mended_sum)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Each finding names two parties. One of them is in stream 2, the other in stream 1. The last finding has one party only.
</details>
<details><summary>Hint 2</summary>
An event: recorded in stream 2 after the square, awaited by stream 1 before the sum. And the host has to wait for the result.
</details>
<details><summary>Hint 3</summary>
<code>squared = cuda.event(timing=False)</code>, <code>squared.record(s2)</code> and <code>squared.wait(s1)</code> before <code>add</code>;
<code>s1.synchronize()</code> at the end, inside the <code>with</code> block.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - Stretch: hide the copies (3 points)

**Goal.** Process many parts so that the copies disappear behind the kernels.
"""


# %%
@cuda.jit
def grind(result, part):
    i = cuda.grid(1)
    if i < part.size:
        result[i] = 0.5 * part[i] + 1.0


# %% [markdown]
r"""
**Given.** `results` and `parts`: two lists of float32 arrays of 2,500 elements, equally many, in memory that is not pinned yet.
The kernel `grind`, 15 us a launch; a copy of a part takes 10 us, a call 1 us, as in `line_of`.

**Required.** `results[k]` is `grind` of `parts[k]`, in the host's memory when the function returns. No race.
The modelled makespan is at most a fiftieth longer than that of the solution.
Use no more streams than are needed to keep the slowest engine busy.

**Example.** One part takes 36 us: a call, a copy, a kernel, a copy. Nine parts in one stream take 316.
"""


# %% overlap_parts tags=["exercise"]
@recorded
def overlap_parts(results, parts):
    """results[k] = grind of parts[k].   results, parts: lists of (2500,) float32 on the host."""
    ### BEGIN SOLUTION
    streams = [cuda.stream() for _ in range(3)]  # (10 + 15 + 10) / 15, rounded up
    with cuda.pinned(*results, *parts):
        for k, (result, part) in enumerate(zip(results, parts)):
            s = streams[k % 3]
            d_part = cuda.to_device(part, stream=s)
            d_result = cuda.device_array(part.shape, part.dtype, stream=s)
            grind[(part.size + 255) // 256, 256, s](d_result, d_part)
            d_result.copy_to_host(result, stream=s)
        cuda.synchronize()
    ### END SOLUTION


# %% [markdown]
r"""
When the check passes, a ladder follows: nine parts, in other ways and in yours.
"""

# %% tags=["check"]
if check("overlap_parts", overlap_parts).status == "pass":

    def in_streams(results, parts, count):
        streams = [cuda.stream() for _ in range(count)]
        with cuda.pinned(*results, *parts):
            for k, (result, part) in enumerate(zip(results, parts)):
                s = streams[k % count]
                d_part = cuda.to_device(part, stream=s)
                grind[10, 256, s](d_part, d_part)
                d_part.copy_to_host(result, stream=s)
            cuda.synchronize()

    def numpy_arrays(results, parts):
        for result, part in zip(results, parts):
            grind[10, 256](result, part)

    parts = [np.full(2500, k, np.float32) for k in range(9)]
    results = [np.zeros_like(part) for part in parts]
    ladder = {
        "NumPy arrays given to the kernel": host_ops(numpy_arrays, results, parts),
        "1 stream": host_ops(in_streams, results, parts, 1),
        "2 streams": host_ops(in_streams, results, parts, 2),
        "9 streams": host_ops(in_streams, results, parts, 9),
        "yours": host_ops(overlap_parts, results, parts),
    }
    for name, ops in ladder.items():
        print(f"{name:33} {1000 * line_of(ops).makespan_ms:4.0f} us (modelled)")
    print(f"{'the kernels alone':33} {9 * 15:4} us")

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
First make it right in one stream. Then ask which three things could happen at the same time.
</details>
<details><summary>Hint 2</summary>
The parts take turns: part k goes into stream k modulo the number of streams. How many streams? See section 6 of the lesson.
</details>
<details><summary>Hint 3</summary>
(10 + 15 + 10) / 15, rounded up, streams. All calls inside <code>with cuda.pinned(*results, *parts):</code>, each with
<code>stream=s</code>: to_device, a <code>device_array</code> for the result, the kernel, <code>copy_to_host(result, stream=s)</code>. <code>cuda.synchronize()</code> at the end.
</details>
"""

# %% [markdown] tags=["solution"]
r"""
## Remarks on the answers

- In exercise 1 the slower of the two rows sets the pace. That is why a graph, or a fused kernel, only helps where launches are the slower row.
- In exercise 2 the answer is the first whole number *above* a quotient: rounded down, plus 1.
- In exercise 3 the value lives in a register between two steps. Six launches would move six times the sectors.
- In exercise 4: g ends at 110, h at 140, y is back at 145, x at 170.
- In exercise 5 `s2.synchronize()` before `add` would be right as well, and hardly slower: the host waits instead of stream 1.
  In a longer program it would keep the host from calling for other work.
- In exercise 6 the first copy and the last copy stay in sight: 10 + 9 * 15 + 10 us, and the first call.
"""

# %% [markdown]
r"""
**Done?** You can now read the time around your kernels, and you have finished the first tier.
To compare your answers with ours, open `solutions/t1_kernels/t1_12_launches_lab.ipynb`.

- The second tier begins with `t2_01_gemm_tiles`: one kernel, made fast step by step.
- `t2_12_profiling` reads timelines like these from real tools.
"""
