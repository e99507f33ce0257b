# %% [markdown]
r"""
# Lab: threads

Six short exercises on what you saw in the lesson `t1_01_threads`. They take about 35 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
A check that fails says what is wrong, where, and what to look at next. You can check as often as you like.
`NameError`? Run the cell above, and the first cell.

The first array that a check tries is small. Later ones have other lengths:
a single element, many, and none at all. An empty array needs no special case in your kernel.

Run this cell first.
"""

# %%
from warpwise import check, cuda

# %% [markdown]
r"""
## Exercise 1 - Write the index (1 point)

**Goal.** Fill an array with 0, 1, 2, 3 and so on. Each thread writes one element: its own number.

**Given.** `out`, an array of n integers (`int32`). The launch has exactly n threads: for 12
elements it may be 3 blocks of 4. Other launches have blocks of other sizes.

**Required.** `out[i] == i` for every element, each written once.

**Example.** `write_index[3, 4](out)` leaves `[0 1 2 3 4 5 6 7 8 9 10 11]` in `out`.
"""


# %% write_index tags=["exercise"]
@cuda.jit
def write_index(out):
    """out[i] = i for every i.   out: (n,) int32; the launch has n threads."""
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    out[i] = i
    ### END SOLUTION


# %% tags=["check"]
check("write_index", write_index)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Every thread runs your lines. What is different from one thread to the next?
</details>
<details><summary>Hint 2</summary>
Lesson, section 2: one call gives a thread its number in the whole launch.
</details>
<details><summary>Hint 3</summary>
Line 1: let <code>i</code> be <code>cuda.grid(1)</code>. Line 2: store <code>i</code> in the element
with the index <code>i</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - Guarded add (2 points)

**Goal.** Add two arrays, one element for each thread. The launch has more threads than elements.

**Given.** `out`, `a` and `b`, arrays of n numbers (`float32`), and `n` itself, which may be 0.
The launch has enough blocks for n elements, sometimes one or two more. Blocks have several sizes.

**Required.** `out[i] == a[i] + b[i]` for every element, each written once.
No thread reads or writes outside the arrays. `a` and `b` stay as they are.

**Example.** With n = 10, `guarded_add[3, 4](out, a, b, 10)` has 12 threads; two of them do nothing.
"""


# %% guarded_add tags=["exercise"]
@cuda.jit
def guarded_add(out, a, b, n):
    """out[i] = a[i] + b[i] for i < n.   out, a, b: (n,) float32;  n: elements."""
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    if i < n:
        out[i] = a[i] + b[i]
    ### END SOLUTION


# %% tags=["check"]
check("guarded_add", guarded_add)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Which threads of the example have no element? What do their numbers have in common?
</details>
<details><summary>Hint 2</summary>
Lesson, section 4: a thread asks whether its number is small enough before it touches an array.
Reading outside an array is as wrong as writing.
</details>
<details><summary>Hint 3</summary>
Take the number of the thread. If it is less than <code>n</code>, store the sum of the two elements.
Otherwise do nothing.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - How many blocks? (2 points)

**Goal.** Before a launch you need the number of blocks. Write the function that computes it.
This is an ordinary Python function, not a kernel.

**Given.** `n`, the number of elements, 0 or more, and `threads`, the threads in each block.

**Required.** The smallest number of blocks that gives every element a thread, as an `int`.
No elements need no block.

**Examples.** `blocks_for(10, 4)` is 3, `blocks_for(8, 4)` is 2, `blocks_for(0, 4)` is 0.
"""


# %% blocks_for tags=["exercise"]
def blocks_for(n, threads):
    """The number of blocks of `threads` threads that n elements need.   n >= 0, threads >= 1."""
    ### BEGIN SOLUTION
    return (n + threads - 1) // threads
    ### END SOLUTION


# %% tags=["check"]
check("blocks_for", blocks_for)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
What must happen to a quotient like 2.5? And to one that is 2 exactly?
</details>
<details><summary>Hint 2</summary>
Lesson, section 3: <code>//</code> rounds down. Make <code>n</code> larger before you divide: just
enough that a block with a single element counts, and a full block does not count twice.
</details>
<details><summary>Hint 3</summary>
Add <code>threads - 1</code> to <code>n</code>, in parentheses, then divide with <code>//</code>.
With n = 0 this gives 0 by itself.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - Predict: idle threads (1 point)

**Goal.** Before anything is launched, say how many threads will have nothing to do.

**Given.** 1,000,003 elements, one for each thread, in blocks of 256 threads.
There are as many blocks as needed and not one more.

**Required.** The number of threads without an element. You may use `blocks_for`.
"""

# %% idle_threads tags=["exercise"]
### BEGIN SOLUTION
idle_threads = blocks_for(1_000_003, 256) * 256 - 1_000_003
### END SOLUTION

# %% tags=["check"]
check("idle_threads", idle_threads)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
How many threads does the launch have in all?
</details>
<details><summary>Hint 2</summary>
Each element has one thread. The threads that are left over are the idle ones.
</details>
<details><summary>Hint 3</summary>
Number of blocks times 256, minus the number of elements.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - Right in any launch (3 points)

**Goal.** Multiply an array by a number. Your kernel must be right in any launch:
with too few threads, with too many, with only one.

**Given.** `out` and `a`, arrays of n numbers (`float32`), and a number `factor`.
The length is `out.size`, which may be 0. You do not know the launch.

**Required.** `out[i] == a[i] * factor` for every element, **each written exactly once**.
The threads share the work: none does it all while the others wait.
The check counts the stores and the threads that make them.

**Example.** `stride_scale[2, 4](out, a, factor)` with 21 elements: 8 threads, of which thread 3 has
the elements 3, 11 and 19.
"""


# %% stride_scale tags=["exercise"]
@cuda.jit
def stride_scale(out, a, factor):
    """out[i] = a[i] * factor for every i, in any launch.   out, a: (n,) float32;  factor: float."""
    ### BEGIN SOLUTION
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = a[i] * factor
    ### END SOLUTION


# %% tags=["check"]
check("stride_scale", stride_scale)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
When a thread has finished its first element, how far is it to its next one?
</details>
<details><summary>Hint 2</summary>
Lesson, section 7: a grid-stride loop has a start, a stop and a step. The step belongs to the whole
launch, not to one block.
</details>
<details><summary>Hint 3</summary>
Use <code>range</code> with three arguments: the number of the thread, the length of the array, and
the number of threads in the launch, <code>cuda.gridsize(1)</code>.
</details>
"""

# %% [markdown]
r"""
When your kernel passes, you can look at it. Add a cell (key <kbd>B</kbd>) with these lines.
Then change the launch, and see which block gets which pieces.

```python
import numpy as np
from warpwise import show_threads

out, a = np.zeros(21), np.arange(21.0)
show_threads(stride_scale[2, 4], out, a, 2.0)
```
"""

# %% [markdown]
r"""
## Exercise 6 - Stretch: interleave (3 points)

**Goal.** Shuffle two arrays into one like a deck of cards: one from `a`, one from `b`, one from `a`,
and so on. Here you read from one index and write to another.

**Given.** `a`, `b` and `out`, arrays of integers (`int32`). `out` is as long as both together.
`a` is as long as `b`, or one longer. Both may be empty. You do not know the launch.

**Required.** `out` is `a[0], b[0], a[1], b[1], ...`, each element written exactly once, in any launch.
Again the threads share the work.

**Example.** `a = [1, 2, 3]` and `b = [10, 20]` give `out = [1, 10, 2, 20, 3]`.
"""


# %% interleave tags=["exercise"]
@cuda.jit
def interleave(out, a, b):
    """out = a[0], b[0], a[1], b[1], ...   a: (m,) int32;  b: (m,) or (m - 1,);  out: both together."""
    ### BEGIN SOLUTION
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        if i % 2 == 0:
            out[i] = a[i // 2]
        else:
            out[i] = b[i // 2]
    ### END SOLUTION


# %% tags=["check"]
check("interleave", interleave)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Write down, for out[0] to out[4], which array and which index each comes from.
</details>
<details><summary>Hint 2</summary>
Loop over the elements of <code>out</code> with a grid-stride loop. Whether the index is even or odd
decides the array; <code>%</code> tells you.
</details>
<details><summary>Hint 3</summary>
If <code>i % 2</code> is 0, <code>out[i]</code> comes from <code>a</code>, otherwise from
<code>b</code>, and in both cases from the index <code>i // 2</code>.
</details>
"""

# %% [markdown] tags=["solution"]
r"""
### Remarks on the answers

- `guarded_add` can also return early: `if i >= n: return`. Both are common.
- `blocks_for` can be `-(-n // threads)` or `math.ceil(n / threads)`; the check accepts them all.
- `interleave` also works in pairs: a thread takes `a[i]` to `out[2 * i]` and `b[i]` to
  `out[2 * i + 1]`. Then the last pair needs a guard of its own, as it may lack its second half.
- In none of these kernels does a thread use what another one has written. So they need no order.
"""

# %% [markdown]
r"""
**Done?** You can now start as many threads as you like, and you know what each one does.
To compare your answers with ours, open `solutions/t1_kernels/t1_01_threads_lab.ipynb`.

The next lesson, `t1_02_grids`, numbers threads in two dimensions.
"""
