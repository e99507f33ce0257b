"""Kernels of the kinds that collections of GPU programs have: graphs, matrices, sorting, images.

Each has one place, {x}, where it is right or wrong; see race_suite for the notation."""

from __future__ import annotations

from .race_suite import FENCE, SYNC, Case

WARP = "cuda.syncwarp()"

PROGRAMS = [
    # -- linear algebra ---------------------------------------------------------------------------
    Case(
        "LU factors of a tile",
        1,
        (8, 8),
        """
def k(out, x, flag):
    a = cuda.shared.array((8, 8), int32)
    j, i = cuda.threadIdx.x, cuda.threadIdx.y
    a[i, j] = x[i * 8 + j]
    cuda.syncthreads()
    for p in range(7):
        if i > p and j == p:
            a[i, p] //= a[p, p]
        cuda.syncthreads()
        if i > p and j > p:
            a[i, j] -= a[i, p] * a[p, j]
        {x}
    out[i * 8 + j] = a[i, j]
""",
        (SYNC,),
        {
            "pass": {"RAW:a:11:14", "RAW:a:11:14w"},
            "if i > p: cuda.syncthreads()": {"divergent_barrier"},
        },
    ),
    Case(
        "a product written over its factor",
        2,
        64,
        """
def k(out, x, flag):
    t = cuda.threadIdx.x
    b = cuda.blockIdx.x
    total = 0
    for q in range(8):
        total += x[b * 64 + t // 8 * 8 + q] * out[q * 8 + t % 8]
    {x}
    x[b * 64 + t] = total
""",
        (SYNC, WARP),
        {
            "pass": {"WAR:x:11:9w"},
        },
    ),
    Case(
        "a transpose in place",
        1,
        (16, 16),
        """
def k(out, x, flag):
    j, i = cuda.threadIdx.x, cuda.threadIdx.y
    {x}
        v = x[i * 16 + j]
        x[i * 16 + j] = x[j * 16 + i]
        x[j * 16 + i] = v
""",
        ("if i < j:",),
        {
            "if i != j:": {"WAR:x:8:8", "WAR:x:8:8w", "WAR:x:9:7", "WAR:x:9:7w", "WAW:x:9:8w="},
            "if i <= j + 1:": {"WAR:x:8:8", "WAR:x:8:8w", "WAR:x:9:7", "WAR:x:9:7w", "WAW:x:9:8w="},
        },
    ),
    Case(
        "rows of a sparse matrix by warps",
        2,
        64,
        """
def k(out, x, flag):
    part = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    lane = t % 32
    part[t] = 0
    row = cuda.grid(1) // 32
    for e in range(lane, 50 + row, 32):
        part[t] += x[e] * (row + 1)
    step = 16
    while step > 0:
        {x}
        if lane < step:
            part[t] += part[t + step]
        step //= 2
    if lane == 0:
        out[row] = part[t]
""",
        (WARP, SYNC),
        {
            "pass": {"RAW:part:16:11w", "RAW:part:16:16w"},
        },
    ),
    Case(
        "a triangular solve, column after column",
        1,
        32,
        """
def k(out, x, flag):
    t = cuda.threadIdx.x
    out[t] = x[t]
    for j in range(32):
        {x}
        if t > j:
            out[t] -= x[j * 4 + t] * out[j]
""",
        (WARP, SYNC),
        {
            "pass": {"RAW:out:10:10w", "RAW:out:10:6w"},
        },
    ),
    # -- graphs -----------------------------------------------------------------------------------
    Case(
        "shortest paths through every vertex",
        2,
        32,
        """
def k(out, x, flag):
    i = cuda.grid(1) // 8
    j = cuda.grid(1) % 8
    {x}
        via = out[i * 8 + p] + out[p * 8 + j]
        if via < out[i * 8 + j]:
            out[i * 8 + j] = via
        elif p >= 0:
            out[i * 8 + j] = min(out[i * 8 + j], via)
""",
        ("for p in range(i * 8 + j - i * 8 - j, 0):",),
        {
            "for p in range(8):": {
                "RAW:out:8:12",
                "RAW:out:8:12w",
                "WAR:out:12:8",
                "WAR:out:12:8w",
            },
        },
    ),
    Case(
        "a frontier in two arrays",
        2,
        64,
        """
def k(out, x, flag):
    v = cuda.grid(1)
    if x[v] > 4:
        for e in range(3):
            {x}
""",
        ("cuda.atomic.max(out, (v * 7 + e) % 128, 1)", "out[v * 2 - v] = 1"),
        {
            "out[(v * 7 + e) % 128] = 1": {"WAW:out:8:8=", "WAW:out:8:8w="},
            "x[(v * 7 + e) % 128] = 9": {"WAR:x:8:6", "WAR:x:8:6w", "WAW:x:8:8=", "WAW:x:8:8w="},
        },
    ),
    Case(
        "degrees by pushing and by pulling",
        2,
        64,
        """
def k(out, x, flag):
    v = cuda.grid(1)
    for e in range(4):
        {x}
""",
        ("cuda.atomic.add(out, (v * 5 + e) % 64, 1)", "out[v] += x[(v * 5 + e) % 64]"),
        {
            "out[(v * 5 + e) % 64] += 1": {
                "RAW:out:7:7",
                "RAW:out:7:7w",
                "WAR:out:7:7",
                "WAW:out:7:7",
                "WAW:out:7:7=",
            },
        },
    ),
    Case(
        "joining sets by compare and swap",
        2,
        64,
        """
def k(out, x, flag):
    v = cuda.grid(1)
    a = v
    b = (v * 3 + 1) % 128
    low, high = min(a, b), max(a, b)
    {x}
""",
        ("cuda.atomic.cas(out, high, 0, low)", "cuda.atomic.min(out, high, low)"),
        {
            "if out[high] == 0: cuda.atomic.cas(out, high, 0, low)": {
                "WAR:out:9:9",
                "WAR:out:9:9w",
            },
            "if cuda.atomic.cas(out, high, 0, 0) == 0: out[high] = low": {
                "WAW:out:9:9",
                "WAW:out:9:9w",
            },
        },
    ),
    Case(
        "a colour that no neighbour has",
        1,
        64,
        """
def k(out, x, flag):
    v = cuda.threadIdx.x
    mine = x[v] % 4
    {x}
    if out[(v + 1) % 64] == mine:
        cuda.atomic.max(flag, 0, 1)
""",
        ("pass", SYNC),
        {
            "out[v] = mine": {"RAW:out:8:7", "RAW:out:8:7w"},
            "out[v] = mine\n    cuda.syncwarp()": {"RAW:out:9:7"},
        },
    ),
    # -- sorting and searching --------------------------------------------------------------------
    Case(
        "counting ranks",
        1,
        64,
        """
def k(out, x, flag):
    t = cuda.threadIdx.x
    rank = 0
    for j in range(64):
        if x[j] < x[t] or (x[j] == x[t] and j < t):
            rank += 1
    {x}
""",
        ("out[rank] = x[t]",),
        {
            "out[rank // 2] = t": {"WAW:out:10:10", "WAW:out:10:10w"},
            "x[rank] = x[t]": {"WAR:x:10:10", "WAR:x:10:8"},
        },
    ),
    Case(
        "a bit of a radix sort",
        1,
        64,
        """
def k(out, x, flag):
    before = cuda.shared.array(65, int32)
    t = cuda.threadIdx.x
    bit = x[t] & 1
    before[t + 1] = 1 - bit
    if t == 0:
        before[0] = 0
    cuda.syncthreads()
    d = 1
    while d < 64:
        v = before[t + 1]
        if t + 1 > d:
            v += before[t + 1 - d]
        {x}
        before[t + 1] = v
        cuda.syncthreads()
        d *= 2
    place = before[t] if bit == 0 else before[64] + t - before[t]
    out[place] = x[t]
""",
        (SYNC,),
        {
            "pass": {"WAR:before:18:16", "WAR:before:18:16w"},
            WARP: {"WAR:before:18:16"},
        },
    ),
    Case(
        "compaction by votes",
        1,
        64,
        """
def k(out, x, flag):
    sums = cuda.shared.array(2, int32)
    t = cuda.threadIdx.x
    keep = x[t] > 4
    votes = cuda.ballot_sync(0xFFFFFFFF, keep)
    mine = cuda.popc(votes & cuda.lanemask_lt())
    if t % 32 == 0:
        sums[t // 32] = cuda.popc(votes)
    {x}
    first = 0
    if t >= 32:
        first = sums[0]
    if keep:
        out[first + mine] = x[t]
""",
        (SYNC,),
        {
            "pass": {"RAW:sums:15:11"},
            WARP: {"RAW:sums:15:11"},
        },
    ),
    Case(
        "a tournament",
        1,
        64,
        """
def k(out, x, flag):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    n = 64
    while n > 1:
        cuda.syncthreads()
        best = 0
        if t < n // 2:
            best = max(s[2 * t], s[2 * t + 1])
        {x}
        if t < n // 2:
            s[t] = best
        n //= 2
    if t == 0:
        out[0] = s[0]
""",
        (SYNC,),
        {
            "pass": {"WAR:s:16:13w"},
            "if t < n // 2: cuda.syncthreads()": {"divergent_barrier"},
        },
    ),
    Case(
        "merging by halves of a block",
        1,
        64,
        """
def k(out, x, flag):
    s = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    s[t], s[t + 64] = x[t], 0
    {x}
    if t < 32:
        s[64 + t] = s[2 * t] + s[2 * t + 1]
    else:
        s[64 + t] = s[t - 32]
    cuda.syncthreads()
    out[t] = s[64 + 63 - t]
""",
        (SYNC,),
        {
            "pass": {"RAW:s:10:7", "RAW:s:10:7w", "RAW:s:12:7"},
            WARP: {"RAW:s:10:7", "RAW:s:12:7"},
        },
    ),
    # -- images and stencils ----------------------------------------------------------------------
    Case(
        "the game of life in place",
        1,
        (8, 8),
        """
def k(out, x, flag):
    j, i = cuda.threadIdx.x, cuda.threadIdx.y
    alive = 0
    for d in range(9):
        alive += out[(i + d // 3 + 7) % 8 * 8 + (j + d % 3 + 7) % 8]
    {x}
    out[i * 8 + j] = alive
""",
        (SYNC,),
        {
            "pass": {"WAR:out:10:8", "WAR:out:10:8w"},
            WARP: {"WAR:out:10:8"},
        },
    ),
    Case(
        "red and black points",
        1,
        64,
        """
def k(out, x, flag):
    t = cuda.threadIdx.x
    for colour in range(2):
        if t % 2 == colour:
            left = out[(t + 63) % 64]
            out[t] = left + out[(t + 1) % 64]
        {x}
""",
        (SYNC,),
        {
            "pass": {"RAW:out:8:9w", "RAW:out:9:9", "RAW:out:9:9w", "WAR:out:9:8", "WAR:out:9:9w"},
            "if colour == 2: cuda.syncthreads()": {
                "RAW:out:8:9w",
                "RAW:out:9:9",
                "RAW:out:9:9w",
                "WAR:out:9:8",
                "WAR:out:9:9w",
            },
        },
    ),
    Case(
        "a window that slides over rows",
        1,
        32,
        """
def k(out, x, flag):
    rows = cuda.shared.array((3, 34), int32)
    t = cuda.threadIdx.x
    for r in range(6):
        rows[r % 3, t] = x[r * 32 + t]
        {x}
        if r >= 2:
            out[r * 32 + t] = rows[0, 31 - t] + rows[1, t] + rows[2, t]
        cuda.syncwarp()
""",
        (WARP, SYNC),
        {
            "pass": {"RAW:rows:11:8w"},
        },
    ),
    Case(
        "an image's sum, row by row and block by block",
        2,
        (32, 2),
        """
def k(out, x, flag):
    row = cuda.shared.array(2, int32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    v = x[(cuda.blockIdx.x * 2 + ty) * 32 + tx]
    d = 16
    while d > 0:
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, d)
        d //= 2
    if tx == 0:
        row[ty] = v
    cuda.syncthreads()
    if tx == 0 and ty == 0:
        {x}
""",
        ("cuda.atomic.add(out, 0, row[0] + row[1])", "out[cuda.blockIdx.x] = row[0] + row[1]"),
        {
            "out[0] += row[0] + row[1]": {"WAR:out:16:16", "WAW:out:16:16"},
        },
    ),
    # -- shared memory in unusual ways ------------------------------------------------------------
    Case(
        "a value handed from block to block of a row",
        1,
        96,
        """
def k(out, x, flag):
    box = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    total = 0
    for w in range(3):
        if t == w * 32:
            box[0] = x[t]
        cuda.syncthreads()
        total += box[0]
        {x}
    out[t] = total
""",
        (SYNC,),
        {
            "pass": {"WAR:box:10:12"},
            "if w < 2: cuda.syncwarp()": {"WAR:box:10:12"},
        },
    ),
    Case(
        "a barrier that a device function holds",
        1,
        64,
        """
def k(out, x, flag):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    {x}
    out[t] = s[63 - t]

@cuda.jit(device=True)
def meet(wait):
    if wait:
        cuda.syncthreads()
""",
        ("meet(True)", "meet(x[0] > 0)"),
        {
            "meet(False)": {"RAW:s:9:7"},
            "meet(t < 32)": {"divergent_barrier"},
        },
    ),
    Case(
        "a row given to a device function",
        1,
        (8, 4),
        """
def k(out, x, flag):
    s = cuda.shared.array((4, 8), int32)
    j, i = cuda.threadIdx.x, cuda.threadIdx.y
    s[i, j] = x[i * 8 + j]
    {x}
    out[i * 8 + j] = total(s[i])

@cuda.jit(device=True)
def total(row):
    sum_ = 0
    for v in row:
        sum_ += v
    return sum_
""",
        (WARP, SYNC),
        {
            "pass": {"RAW:row:14:7w"},
        },
    ),
    Case(
        "a first element that one thread sets",
        2,
        64,
        """
def k(out, x, flag):
    best = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    {x}
    cuda.atomic.max(best, 0, x[cuda.grid(1)])
    cuda.syncthreads()
    if t == 0:
        out[cuda.blockIdx.x] = best[0]
""",
        ("if t == 0: best[0] = -1\n    cuda.syncthreads()",),
        {
            "if t == 0: best[0] = -1": {"WAW:best:8:7", "WAW:best:8:7w"},
            "pass": {"uninitialised"},
            "if t == 0: best[0] = -1\n    cuda.syncwarp()": {"WAW:best:9:7"},
        },
    ),
    Case(
        "a stack in shared memory",
        1,
        64,
        """
def k(out, x, flag):
    stack = cuda.shared.array(64, int32)
    top = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        top[0] = 0
    cuda.syncthreads()
    stack[cuda.atomic.add(top, 0, 1)] = x[t]
    {x}
    at = cuda.atomic.sub(top, 0, 1) - 1
    out[t] = stack[at]
""",
        (SYNC,),
        {
            "pass": {"RAW:stack:14:11"},
            WARP: {"RAW:stack:14:11"},
        },
    ),
    Case(
        "a padded row that is read whole",
        1,
        32,
        """
def k(out, x, flag):
    s = cuda.shared.array(33, int32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    {x}
    cuda.syncthreads()
    out[t] = s[t + 1]
""",
        ("if t == 0: s[32] = 0",),
        {
            "pass": {"uninitialised"},
            "s[32] = t": {"WAW:s:8:8w"},
        },
    ),
    Case(
        "a switch between two buffers",
        1,
        64,
        """
def k(out, x, flag):
    a = cuda.shared.array(64, int32)
    b = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    a[t] = x[t]
    cuda.syncthreads()
    for r in range(4):
        if r % 2 == 0:
            b[t] = a[(t + 33) % 64]
        else:
            a[t] = b[(t + 33) % 64]
        {x}
    out[t] = a[t]
""",
        (SYNC,),
        {
            "pass": {
                "RAW:a:12:14",
                "RAW:a:12:14w",
                "RAW:b:14:12",
                "RAW:b:14:12w",
                "WAR:a:14:12",
                "WAR:a:14:12w",
                "WAR:b:12:14",
                "WAR:b:12:14w",
            },
            "if r % 2 == 0: cuda.syncthreads()": {
                "RAW:a:12:14",
                "RAW:a:12:14w",
                "WAR:b:12:14",
                "WAR:b:12:14w",
            },
        },
    ),
    # -- warps ------------------------------------------------------------------------------------
    Case(
        "a sum by shuffles in half a warp",
        1,
        32,
        """
def k(out, x, flag):
    t = cuda.threadIdx.x
    v = x[t]
    {x}
        for d in (8, 4, 2, 1):
            v += cuda.shfl_xor_sync(0xFFFF, v, d)
        out[t] = v
""",
        ("if t < 16:",),
        {
            "if t < 12:": {"inactive_source", "mask_names_absent"},
            "if t < 20:": {"inactive_source", "mask_without_caller"},
        },
    ),
    Case(
        "a vote of those that came",
        1,
        32,
        """
def k(out, x, flag):
    t = cuda.threadIdx.x
    if x[t] > 4:
        votes = cuda.ballot_sync({x}, x[t] > 6)
        out[t] = votes
""",
        ("cuda.activemask()",),
        {
            "0xFFFFFFFF": {"mask_names_absent"},
        },
    ),
    Case(
        "lanes that swap through shared memory",
        1,
        32,
        """
def k(out, x, flag):
    s = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    for d in (1, 2, 4):
        s[t] = x[t] + d
        cuda.syncwarp()
        out[t] += s[t ^ d]
        {x}
""",
        (WARP, SYNC),
        {
            "pass": {"WAR:s:8:10w"},
            "cuda.syncwarp(1 << t)": {"WAR:s:8:10w"},
        },
    ),
    Case(
        "a half of the warp that waits for itself",
        1,
        32,
        """
def k(out, x, flag):
    s = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    s[t] = 0
    cuda.syncwarp()
    if t < 16:
        s[t] = x[t]
        cuda.syncwarp({x})
        out[t] = s[15 - t]
""",
        ("0xFFFF",),
        {
            "0xFF": {"RAW:s:12:10w", "mask_without_caller"},
            "0xFFFFFFFF": {"mask_names_absent"},
        },
    ),
    # -- blocks -----------------------------------------------------------------------------------
    Case(
        "partial sums that the last block adds",
        4,
        32,
        """
def k(out, x, flag):
    t = cuda.threadIdx.x
    b = cuda.blockIdx.x
    last = cuda.shared.array(1, int32)
    if t == 0:
        out[b] = x[b * 32] + x[b * 32 + 1]
        {x}
        last[0] = cuda.atomic.add(flag, 0, 1)
    cuda.syncthreads()
    if last[0] == 3 and t == 0:
        for j in range(4):
            out[4] += out[j]
""",
        (FENCE,),
        {
            "pass": {"RAW:out:15:9"},
            "cuda.threadfence_block()": {"RAW:out:15:9"},
        },
    ),
    Case(
        "a list that grows at its head",
        2,
        64,
        """
def k(out, x, flag):
    i = cuda.grid(1)
    {x}
""",
        ("out[i] = cuda.atomic.exch(flag, 0, i + 1)",),
        {
            "out[i] = flag[0]\n    flag[0] = i + 1": {
                "WAR:flag:7:6",
                "WAW:flag:7:7",
                "WAW:flag:7:7w",
            },
            "out[i] = flag[0]\n    cuda.atomic.exch(flag, 0, i + 1)": {"WAR:flag:7:6"},
        },
    ),
    Case(
        "a ring of work",
        2,
        32,
        """
def k(out, x, flag):
    i = cuda.grid(1)
    slot = cuda.atomic.add(flag, 0, 1)
    {x}
""",
        ("out[slot] = i",),
        {
            "out[slot % 48] = i": {"WAW:out:7:7"},
            "x[slot] = x[(slot + 1) % 64]": {"WAR:x:7:7", "WAR:x:7:7w"},
        },
    ),
    Case(
        "a float sum of all blocks",
        3,
        64,
        """
def k(out, x, flag):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = x[cuda.grid(1)] * float32(0.5)
    cuda.syncthreads()
    if t < 2:
        part = float32(0)
        for j in range(t, 64, 2):
            part += s[j]
        {x}
""",
        ("cuda.atomic.add(out, t, int32(part))", "out[cuda.blockIdx.x * 2 + t] = int32(part)"),
        {
            "out[t] += int32(part)": {"WAR:out:13:13", "WAW:out:13:13"},
            "out[cuda.blockIdx.x] = int32(part)": {"WAW:out:13:13w"},
        },
    ),
    Case(
        "two kernels' phases in one",
        2,
        64,
        """
def k(out, x, flag):
    grid = cuda.cg.this_grid()
    i = cuda.grid(1)
    for r in range(3):
        v = out[(i + 65) % 128]
        grid.sync()
        out[i] = v + x[i]
        {x}
""",
        ("grid.sync()",),
        {
            "pass": {"RAW:out:8:10"},
            SYNC: {"RAW:out:8:10"},
        },
    ),
    Case(
        "blocks of a matrix that overlap at the border",
        (2, 2),
        (8, 8),
        """
def k(out, x, flag):
    j, i = cuda.threadIdx.x, cuda.threadIdx.y
    r = cuda.blockIdx.y * {x} + i
    c = cuda.blockIdx.x * 8 + j
    out[r * 16 + c] = r + c
""",
        ("8",),
        {
            "7": {"WAW:out:8:8="},
            "0": {"WAW:out:8:8="},
        },
    ),
    Case(
        "threads along y that share a column",
        2,
        (4, 16),
        """
def k(out, x, flag):
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column = cuda.blockIdx.x * 4 + tx
    {x}
""",
        (
            "cuda.atomic.add(out, column, x[ty])",
            "out[ty * 8 + column] += x[ty]",
            "if ty == 0: out[column] += x[ty]",
        ),
        {
            "out[column] += x[ty]": {"WAR:out:7:7", "WAW:out:7:7", "WAW:out:7:7w", "WAW:out:7:7w="},
            "if ty < 8: out[column] = x[ty]": {"WAW:out:7:7w", "WAW:out:7:7w="},
        },
    ),
    Case(
        "a plane of a volume",
        1,
        (4, 4, 4),
        """
def k(out, x, flag):
    s = cuda.shared.array((4, 4, 4), int32)
    a, b, c = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
    s[c, b, a] = x[c * 16 + b * 4 + a]
    {x}
    out[c * 16 + b * 4 + a] = s[c, a, b] + s[c ^ 1, b, a]
""",
        (WARP, SYNC),
        {
            "pass": {"RAW:s:9:7w"},
        },
    ),
    Case(
        "a plane of a volume, turned",
        1,
        (4, 4, 4),
        """
def k(out, x, flag):
    s = cuda.shared.array((4, 4, 4), int32)
    a, b, c = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
    s[c, b, a] = x[c * 16 + b * 4 + a]
    {x}
    out[c * 16 + b * 4 + a] = s[a, b, c]
""",
        (SYNC,),
        {
            "pass": {"RAW:s:9:7", "RAW:s:9:7w"},
            WARP: {"RAW:s:9:7"},
        },
    ),
    Case(
        "an index beyond the last block",
        3,
        100,
        """
def k(out, x, flag):
    i = cuda.grid(1)
    {x}
        out[i] = x[i] + 1
""",
        ("if i < out.size:", "if i + 1 <= x.size:"),
        {
            "if i <= out.size:": {"out_of_bounds"},
            "if True:": {"out_of_bounds"},
        },
    ),
    Case(
        "an index before the first element",
        2,
        64,
        """
def k(out, x, flag):
    i = cuda.grid(1)
    {x}
        out[i] = x[i - 1] + x[i + 1]
""",
        ("if 0 < i < 127:", "if i > 0:"),
        {
            "if i - 300 < 127:": {"negative_index"},
            "if True:": {"negative_index"},
        },
    ),
    Case(
        "a lock around two elements",
        3,
        32,
        """
def k(out, x, flag):
    if cuda.threadIdx.x == 0:
        while cuda.atomic.cas(flag, 0, 0, 1) != 0:
            pass
        out[1] -= 1
        {x}
""",
        ("out[0] += 1\n        cuda.threadfence()\n        cuda.atomic.exch(flag, 0, 0)",),
        {
            "out[0] += 1\n        cuda.atomic.exch(flag, 0, 0)": {
                "RAW:out:8:8",
                "RAW:out:9:9",
                "WAR:out:8:8",
                "WAR:out:9:9",
                "WAW:out:8:8",
                "WAW:out:9:9",
            },
            "cuda.threadfence()\n        cuda.atomic.exch(flag, 0, 0)\n        out[0] += 1": {
                "RAW:out:11:11",
                "WAR:out:11:11",
                "WAW:out:11:11",
            },
        },
    ),
]
