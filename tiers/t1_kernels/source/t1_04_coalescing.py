# %% [markdown]
r"""
# Coalescing: counting sectors

**Two kernels add two photos. They differ in a single line, and their results are equal to the last bit.
Why does one of them move so many more bytes?**

At the end of this lesson you can

- say how many bytes really move when the 32 threads of a warp read or write,
- look at an index and predict the number: 4, 5, 8, 12 or 32,
- read a profile, find the line that wastes most, and mend it,
- choose between an array of structs and a struct of arrays,
- say how much a cache can save, and why it may not.

You need the lessons `t1_02_grids` and `t1_03_warps` and about 40 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
"""

# %%
import numpy as np
from IPython.display import display

from warpwise import compare, cuda, profile
from warpwise.compiler import compile_kernel
from warpwise.show import show_sectors, table

# %% [markdown]
r"""
## 1. The same sum, twice

Both kernels add two photos of 1080 rows and 1920 columns, in float32.
In the first, x counts the columns, as you learned it. In the second, x counts the rows.
Each grid has enough threads for its kernel, so both are right.

How many bytes must such a kernel read at least? Two photos, four bytes a pixel: 16.6 million.
How many times as much will the worse of the two read?
"""

# %%
guess = "?"  # how many times as many bytes


@cuda.jit
def add_xy(out, a, b, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        out[y, x] = a[y, x] + b[y, x]


@cuda.jit
def add_yx(out, a, b, height, width):
    y, x = cuda.grid(2)  # the only difference
    if x < width and y < height:
        out[y, x] = a[y, x] + b[y, x]


height, width = 1080, 1920
block = (32, 8)
wide = (width // 32, height // 8)  # x along the columns
tall = ((height + 31) // 32, width // 8)  # x along the rows

rng = np.random.default_rng(seed=4)
a, b = rng.random((2, height, width), dtype=np.float32)
sum_xy, sum_yx = np.zeros_like(a), np.zeros_like(a)
good = profile(add_xy[wide, block], sum_xy, a, b, height, width)
bad = profile(add_yx[tall, block], sum_yx, a, b, height, width)

print("equal:", np.array_equal(sum_xy, sum_yx))
print("guess:", guess, "   times:", bad.loads.bytes_moved / good.loads.bytes_moved)
rows = [
    ("the threads ask for", f"{good.loads.bytes_requested:,}", f"{bad.loads.bytes_requested:,}"),
    ("to answer, there move", f"{good.loads.bytes_moved:,}", f"{bad.loads.bytes_moved:,}"),
]
table(("bytes read", "x is the column", "x is the row"), rows, "counted")

# %% [markdown]
r"""
Both ask for the same 16,588,800 bytes. To answer the second one, **8** times as many have to move.
`profile` runs a launch in the simulator and counts what every access of every warp costs.
These are exact counts, not times. But a sum of photos has little else to do than to move bytes,
so eight times the bytes is a disaster.

To see where the factor 8 comes from, we look at one single load of one single warp.

## 2. One load of a warp

The 32 threads of a warp execute a load together, so the memory gets 32 addresses at once.
This is one *request*. The memory does not answer it byte by byte.
It is cut into *sectors* of 32 bytes, and a sector moves whole or not at all [1].
Four sectors make a *line* of 128 bytes, the unit in which caches keep their books [2].

One warp copies 32 numbers of float32, four bytes each. How many sectors does its load need?
"""

# %%
guess = "?"  # sectors of the load


@cuda.jit
def copy(out, a):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i]


numbers = np.arange(1024, dtype=np.float32)
out = np.zeros(32, np.float32)
report = profile(copy[1, 32], out, numbers)

print("requests:", report.loads.requests)
print("sectors: ", report.loads.sectors, "   guess:", guess)

show_sectors(copy[1, 32], out, numbers)

# %% [markdown]
r"""
**4**: 32 lanes of 4 bytes are 128 bytes, exactly four sectors.
The picture is made from this launch. Each cell is one float32, eight of them make a sector, and a row is a line.
The number in a cell is the lane that asks for it.

When the lanes of a warp ask for neighbouring addresses, their 32 loads melt into a few sectors.
That is *coalescing*. It is not something you switch on. It happens, or not, depending on the addresses.
Stores follow the same rule.

## 3. One number further

Now each lane reads the number one place further on: lane 0 reads `a[1]`, lane 31 reads `a[32]`.
Still 32 neighbours, still 128 bytes. How many sectors?

The kernel takes an offset and a *stride*, the step from one lane to the next. Here the stride is 1.
"""

# %%
guess = "?"  # sectors with offset 1


@cuda.jit
def strided(out, a, offset, stride):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[offset + i * stride]


report = profile(strided[1, 32], out, numbers, 1, 1)
print("guess:", guess, "   sectors:", report.loads.sectors)

show_sectors(strided[1, 32], out, numbers, 1, 1, array="a")

# %% [markdown]
r"""
**5**. Lane 31 has slipped into the next sector, and the whole of that sector moves for it.
We measure how well a load uses what it moves by its *efficiency*: bytes asked for over bytes moved.
Here it is 128 / 160, or 80 %.

The grey cells are the waste: they move, and nobody asks for them.
With offset 1 that is one number in front and seven behind.
Which offsets are as good as 0? One loop tells.
"""

# %%
guess = "?"  # the offsets with 4 sectors

fours = []
for offset in range(40):
    report = profile(strided[1, 32], out, numbers, offset, 1)
    if report.loads.sectors == 4:
        fours.append(offset)
print("guess:", guess, "   4 sectors:", fours, "   otherwise 5")

# %% [markdown]
r"""
The multiples of **8**: eight numbers of 4 bytes fill one sector.
This only holds because the array itself starts at the beginning of a sector.
You can rely on that: memory that CUDA hands out starts at a multiple of 256 bytes at least [1].

NVIDIA's guide has the same experiment, a copy with an offset.
It says four transactions of 32 bytes where the offset is a multiple of 8 numbers, and five elsewhere [1].

## 4. Every second number

Next, the stride. With stride 2, lane 0 reads `a[0]`, lane 1 reads `a[2]`, and so on. How many sectors?
And what is the most that any stride can cost?
"""

# %%
guesses = "?", "?"  # sectors with stride 2, the most of all

print("stride  sectors  efficiency")
for stride in (1, 2, 3, 4, 7, 8, 16, 31):
    loads = profile(strided[1, 32], out, numbers, 0, stride).loads
    print(f"{stride:6}  {loads.sectors:7}  {loads.bytes_requested / loads.bytes_moved:9.1%}")
print("guesses:", *guesses)

dials = {"offset": range(17), "stride": range(1, 17)}
show_sectors(strided[1, 32], out, numbers, 0, 2, array="a", dials=dials)

# %% [markdown]
r"""
Stride 2 costs **8** sectors: every second number that moves is for nobody. The guide has this case, too,
and the same 50 % [1].
From stride 8 on, each lane has a sector of its own: **32**, the most there is.
Of each sector's 32 bytes only 4 are used, which is 12.5 %.

This is where our factor comes from: 32 sectors instead of 4.

Turn the dials of the picture. A dotted sector is one that does *not* move.
Before you start: at which stride do the first dotted sectors appear between two lanes?
And does an offset always cost a sector more?

Up to stride 8 every sector between the first and the last lane moves. From stride 9 on, a lane can jump over a sector,
and that one stays where it is. That is why 32 is the most: a lane cannot touch two sectors with one number.

An offset costs a sector more only if it pushes the last lane over a border while the first lane stays behind one.
With stride 2, offset 1 is free: it uses the odd numbers instead of the even ones.

## 5. What does not matter

In the next kernel an array says which number each lane reads, so that we can try any pattern; -1 stands for
a lane that takes no part. We ask the picture for its numbers, instead of looking at it.
Some of these patterns look bad and are not. How many sectors has each?
"""

# %%
guesses = {
    "backwards": "?",
    "shuffled": "?",
    "pairs share": "?",
    "all the same": "?",
    "every other lane": "?",
    "anywhere in 1,024": "?",
}


@cuda.jit
def gather(out, a, where):
    i = cuda.grid(1)
    if where[i] >= 0:
        out[i] = a[where[i]]


lane = np.arange(32)
patterns = {
    "backwards": 31 - lane,
    "shuffled": rng.permutation(32),
    "pairs share": lane // 2,
    "all the same": np.full(32, 7),
    "every other lane": np.where(lane % 2 == 0, lane, -1),
    "anywhere in 1,024": rng.integers(0, 1024, 32),
}
rows = []
for name, where in patterns.items():
    load = show_sectors(gather[1, 32], out, numbers, where, array="a").requests[0]
    efficiency = load.bytes_requested / load.bytes_moved
    rows.append((name, guesses[name], f"{len(load.sectors)}", f"{efficiency:.1%}"))
table(("the lanes read", "guess", "sectors", "efficiency"), rows, "counted")

# %% [markdown]
r"""
- Order is free. Backwards or shuffled: what counts is *which* sectors, not who reads what.
- Lanes that share a number share its sector. If all 32 read the same number, **one** sector moves for all of them.
  The efficiency is above 100 %, because 32 lanes ask and one answer serves them all.
- Lanes that take no part ask for nothing. But the sectors of the others still move whole:
  16 lanes, 4 sectors, 50 %.
- Lanes that jump anywhere seldom meet in a sector. Tables, trees and graphs are read like this.

So there is only one question to ask about a load: **how many different sectors do the lanes of a warp touch?**

## 6. Wider and narrower numbers

A copy of float64 has 32 lanes of 8 bytes. How many sectors? And what is its efficiency?
"""

# %%
guesses = "?", "?"  # sectors and efficiency with float64

rows = []
for dtype in (np.uint8, np.float16, np.float32, np.float64):
    loads = profile(copy[1, 32], np.zeros(32, dtype), np.zeros(32, dtype)).loads
    efficiency = loads.bytes_requested / loads.bytes_moved
    rows.append((np.dtype(dtype).name, f"{loads.sectors}", f"{efficiency:.0%}"))
print("guesses:", *guesses)
table(("a copy of", "sectors", "efficiency"), rows, "counted")

# %% [markdown]
r"""
**8** sectors, and **100 %**. So 8 sectors a request is bad for float32 with stride 2, and perfect for float64.
Never judge a number of sectors alone. Compare it with the fewest for the same bytes.

A wider load can even help. The bytes of two neighbouring float32 are one float64, as far as a copy is concerned,
and NumPy's `view` takes them so without moving any. We copy the same 65,536 numbers both ways, and ask the real
compiler which instruction it makes. What changes: the requests, the sectors, or both?
"""

# %%
guess = "?"  # requests, sectors or both

many = np.arange(65_536, dtype=np.float32)
target = np.zeros_like(many)
rows = []
for dtype in (np.float32, np.float64):
    source, result = many.view(dtype), target.view(dtype)
    loads = profile(copy[source.size // 256, 256], result, source).loads
    compiled = compile_kernel(copy, (result, source), "sm_80")
    kind, bits = next(load for load in compiled.load_bits if load[0] == "LDG")
    rows.append(
        (np.dtype(dtype).name, f"{loads.requests:,}", f"{loads.sectors:,}", f"{kind}, {bits} bits")
    )
print("right:", np.array_equal(target, many), "   guess:", guess)
table(("copied as", "requests", "sectors", "instruction"), rows, "counted; instruction: compiled")

# %% [markdown]
r"""
Half the **requests**, each with twice the sectors: the bytes are the same.
`LDG` is the GPU's instruction for a load from global memory, here of 32 or of 64 bits for each lane.
The widest has 128 bits. Wide loads save instructions. They do not save bytes.

## 7. Back to the photos

Now you can explain the photos. In a block of 32 x 8 threads, the first warp holds the threads with
`threadIdx.y == 0` and `threadIdx.x` from 0 to 31, as you saw in `t1_03_warps`.
In `add_xy` these are 32 neighbours in a row. And in `add_yx`?
"""

# %%
display(show_sectors(add_yx[tall, block], sum_yx, a, b, height, width, array="a"))
bad

# %% [markdown]
r"""
They stand below one another, in 32 different rows. In memory the next row is 1,920 numbers away,
so this is a load with stride 1920: **32** sectors for 128 bytes.

You do not have to guess which line it is. The report of `profile`, below the picture, shows the source with the cost of each line:
sectors a request, and in brackets the fewest for the same numbers. It also points at the worst line.

The sentence below the source says it all: its loads move 31.8 sectors a request where 4.0 would do,
because neighbouring threads are 1,920 elements apart.
(It is not quite 32, because the last warps hang over the lower edge, where lanes are idle.)

So here is the reason for the rule of `t1_02_grids`: **x is the column, because x changes first within a warp,
and the column changes first in memory.** In an index, `threadIdx.x` belongs into the last place.

Does the block have to be 32 wide? Its warps may also cover several short pieces of rows.
All these blocks have 256 threads. From which width on are there 4 sectors a request?
"""

# %%
guess = "?"  # the narrowest block with 4 sectors

print("block      sectors a request")
for shape in ((256, 1), (32, 8), (16, 16), (8, 32), (4, 64), (1, 256)):
    grid = (width + shape[0] - 1) // shape[0], (height + shape[1] - 1) // shape[1]
    loads = profile(add_xy[grid, shape], sum_xy, a, b, height, width).loads
    print(f"{shape!s:9}  {loads.sectors_per_request:.1f}")
print("guess:", guess)

odd = np.zeros((64, 1921), np.float32)
loads = profile(add_xy[(61, 8), block], np.zeros_like(odd), odd, odd, 64, 1921).loads
print(f"rows of 1,921 numbers: {loads.sectors_per_request:.2f} sectors a request")

# %% [markdown]
r"""
From **8** on. A piece of a row of 8 numbers fills one sector, and four such pieces are as good as one long row.
A block of 16 x 16 is fine. One that is 4 wide wastes half, and one that is 1 wide is our bad kernel again.

What if the rows have 1,921 numbers? Then most rows begin inside a sector, and a warp pays the fifth one. That is the last number above.

## 8. A piece for each thread

On a CPU with 8 threads you would cut an array into 8 pieces, one for each thread, and it would be a good idea:
each core walks through memory of its own. We do the same on the GPU, 16 numbers for each thread,
and compare with the grid-stride loop of `t1_01_threads`. How many sectors a request?
"""

# %%
guesses = "?", "?"  # sectors a request: pieces, grid-stride loop


@cuda.jit
def negate_pieces(out, a, each):
    first = cuda.grid(1) * each
    for i in range(first, first + each):
        out[i] = -a[i]


@cuda.jit
def negate_strides(out, a, each):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = -a[i]


long = np.ones(262_144, np.float32)
negated = np.zeros_like(long)
pieces = profile(negate_pieces[64, 256], negated, long, 16)
strides = profile(negate_strides[64, 256], negated, long, 16)
print(f"pieces:  {pieces.stores.sectors_per_request:4.1f} sectors a request")
print(f"strides: {strides.stores.sectors_per_request:4.1f} sectors a request")
print("guesses:", *guesses)

# %% [markdown]
r"""
**32** against **4**. Each thread walks through its piece in good order. But a warp does not see one thread,
it sees 32 of them at the same moment, and at any moment they are 16 numbers apart.
On a GPU the threads must be neighbours, not the steps of one thread.

## 9. What a cache can save

There is an objection. In `negate_pieces` a thread comes back to the same sector in its next step, and in the one after.
If a cache has kept it, the sector need not move again. How much could that save?

The report also counts the *different* sectors of each array, however often they were asked for.
This is what a perfect cache would move: everything once.
"""

# %%
guess = "?"  # different sectors of a in negate_pieces

print(f"sectors asked for: {pieces.loads.sectors:9,}")
print(f"different sectors: {pieces.unique_sectors['a']:9,}")
print("guess:", guess)

# %% [markdown]
r"""
**32,768**, exactly the size of the array: with a perfect cache nothing would be lost.
Without any cache, 8 times as much moves.

The truth lies between. To lose nothing, the cache must keep each lane's sector for eight steps, while all other lanes
go on. A GPU consists of many *SMs*, streaming multiprocessors,
each with a small *L1 cache* of its own.
A V100 runs up to 2,048 threads on one SM. With a sector of `a` and one of `out` for each thread, how much is that?
"""

# %%
guess = "?"  # KiB

print("guess:", guess, "   KiB:", 2048 * 2 * 32 / 1024)

# %% [markdown]
r"""
**128 KiB**, and that is all an SM of the V100 has, for its L1 cache and shared memory together [3].
One more array, and it does not fit. And even a cache that has everything must look up 32 sectors for each request.
A coalesced kernel needs none of this luck: it uses a sector whole, and at once.

NVIDIA measured the copy with an offset on a V100. By the count, offset 1 needs 5 sectors instead of 4,
so it should reach 4/5 of the speed. Measured was about **9/10** [1]. Let us count what they ran.
Blocks are counted one by one, too: as if each block had a perfect cache of its own.
"""


# %%
@cuda.jit
def offset_copy(out, a, offset):
    i = cuda.grid(1) + offset
    out[i] = a[i]


million = np.zeros(1_048_576 + 32, np.float32)
straight = profile(offset_copy[4096, 256], np.zeros_like(million), million, 0)
shifted = profile(offset_copy[4096, 256], np.zeros_like(million), million, 1)
rows = []
for cache, count in {
    "none": lambda report: report.loads.sectors,
    "perfect, one for each block": lambda report: report.unique_sectors_per_block["a"],
    "perfect, one for all": lambda report: report.unique_sectors["a"],
}.items():
    before, after = count(straight), count(shifted)
    rows.append((cache, f"{before:,}", f"{after:,}", f"{before / after:.3f}"))
table(("cache", "sectors, offset 0", "sectors, offset 1", "share of the speed"), rows, "counted")

# %% [markdown]
r"""
Without any cache the share would be **0.800**, the guide's 4/5. With a perfect cache for each block it would be **0.970**,
because the fifth sector of a warp is the first one of the next warp, in all but the last warp of a block.
The measured 0.9 lies between the two. This is the guide's own explanation: warps reuse what their neighbours have fetched [1].

Keep this in mind whenever you count: sectors asked for is the worst case, different sectors the best.
`compare` puts both into its model of the time, for a device of your choice. The lower end is with a perfect cache, the upper end without one.
"""

# %%
compare(
    {
        "x is the row": (add_yx[tall, block], sum_yx, a, b, height, width),
        "x is the column": (add_xy[wide, block], sum_xy, a, b, height, width),
    },
    device="A100",
)

# %% [markdown]
r"""
The lower ends are the same, as the different sectors are the same. The upper ends are far apart.
The wrong order *may* be saved by a cache. The right order does not need saving.

## 10. Records

A particle has a position: x, y and z. You could make one array whose elements are records, an
*array of structs*, or three arrays, a *struct of arrays*. NumPy has records, and kernels take them.
`align=True` asks for the layout that C would give them, so that a load can fetch a field in one go.

A kernel reads x of every particle. A record has 12 bytes. How many sectors for a warp?
And if a mass is added, and a record has 16 bytes?
"""

# %%
guesses = "?", "?"  # sectors: records of 12 bytes, of 16 bytes

xyz = np.dtype([("x", np.float32), ("y", np.float32), ("z", np.float32)], align=True)
xyzm = np.dtype([*xyz.descr, ("mass", np.float32)], align=True)


@cuda.jit
def only_x(out, p):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = p[i].x


for dtype in (xyz, xyzm):
    loads = profile(only_x[1, 32], out, np.zeros(32, dtype)).loads
    print(
        f"{dtype.itemsize} bytes: {loads.sectors} sectors, {loads.bytes_requested / loads.bytes_moved:.1%}"
    )
print("guesses:", *guesses)

show_sectors(only_x[1, 32], out, np.zeros(32, xyz), array="p")

# %% [markdown]
r"""
**12** and **16**. A field of a record is a load with a stride: 3 numbers in the first case, 4 in the second.
In a struct of arrays, x lies in an array of its own: stride 1, 4 sectors.

What if the kernel needs all three fields? Then every byte that moves is used by somebody, sooner or later.
Look at both numbers again: asked for, and different.
"""

# %%
guesses = "?", "?"  # sectors asked for: array of structs, struct of arrays


@cuda.jit
def length_records(out, p):
    i = cuda.grid(1)
    if i < out.size:
        px, py, pz = p[i].x, p[i].y, p[i].z
        out[i] = px * px + py * py + pz * pz


@cuda.jit
def length_arrays(out, x, y, z):
    i = cuda.grid(1)
    if i < out.size:
        px, py, pz = x[i], y[i], z[i]
        out[i] = px * px + py * py + pz * pz


n = 4096
lengths = np.zeros(n, np.float32)
fields = np.zeros((3, n), np.float32)
for name, report in (
    ("records", profile(length_records[16, 256], lengths, np.zeros(n, xyz))),
    ("arrays ", profile(length_arrays[16, 256], lengths, *fields)),
):
    read = sum(report.unique_sectors.values()) - report.unique_sectors["out"]
    print(f"{name}: {report.loads.sectors:5,} sectors asked for, {read:5,} different")
print("guesses:", *guesses)

# %% [markdown]
r"""
Three times as many sectors asked for, but the same **1,536** different ones.
With records, y and z come from a cache, if it has kept them. With arrays, nothing has to be kept.

So as long as neighbouring threads take neighbouring particles, arrays are never worse,
and records are at their worst when you need one field of many.
Records win where threads jump to particles anywhere, and need all fields: then a record lies in one or two sectors,
and three arrays cost three.

## 11. In Nsight Compute

On a GPU, NVIDIA's profiler *Nsight Compute* counts the same things, under longer names. You can take the names from here:
"""

# %%
rows = []
for name, value in bad.metrics().items():
    if "mem_global" in name or "dram" in name:
        rows.append((f"{value:,}" if isinstance(value, int) else f"{value:.2f}", name))
table(("add_yx", "in Nsight Compute"), rows, "counted")

# %% [markdown]
r"""
Read the names from behind: `op_ld` are loads, `op_st` stores; `requests` and `sectors` are what you think.
`average_t_sectors_per_request` is the number to look at first. 4 is perfect for float32, 8 for float64 [2].
`average_data_bytes_per_sector` is the efficiency again: 4 bytes of 32 are 12.5 %.
The last line counts sectors between *DRAM*, the memory chips, and the GPU. Our number assumes a perfect cache that is empty
at the start, so a GPU's number will differ.

## What to remember

- A load or store of a warp is one request. Memory moves in sectors of 32 bytes, whole.
- Count the different sectors that the 32 lanes touch. Order and sharing do not matter.
- float32: 4 neighbouring and aligned, 5 shifted, 8 with stride 2, 32 from stride 8 on.
- Efficiency is bytes asked for over bytes moved: 100 %, 80 %, 50 %, 12.5 %.
- `threadIdx.x` belongs into the last index. Rows of a block should be at least 8 numbers of float32 wide.
- Threads must be neighbours, not the steps of a thread: no piece for each thread.
- A field of records is a load with a stride: 12 sectors for records of 12 bytes.
- Sectors asked for is the worst case. Different sectors is what a perfect cache would move.

**Next:** the lab, `t1_04_coalescing_lab`, in your folder `mine/t1_kernels/`.

## Sources

1. NVIDIA, CUDA C++ Best Practices Guide, section "Coalesced Access to Global Memory", with its parts on simple,
   misaligned and strided access, and the effects of misalignment on a V100.
   <https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/>
2. NVIDIA, Nsight Compute documentation, Profiling Guide: requests, sectors, lines, and the memory tables.
   <https://docs.nvidia.com/nsight-compute/ProfilingGuide/>
3. NVIDIA, Tesla V100 GPU Architecture, white paper, 2017: 128 KB of L1 cache and shared memory together in each SM.
"""
