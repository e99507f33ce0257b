# %% [markdown]
r"""
# Lab: Attention

Six exercises on FlashAttention, forward and backward, with what you saw in the lesson `t2_10_attention`. They take about 55 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

A check runs your kernel through Triton's interpreter, with every access looked at, and compiles it for an A100. On a machine with a GPU it runs there as well.
Triton exists for Linux only. Elsewhere you can do exercises 1 and 4; the other checks say what is missing.

**In all kernels here:**

- `q`, `out`, `dout`, `dq` have shape (heads, n, d), `k`, `v`, `dk`, `dv` have (heads, m, d), all float16. `lse` and `delta` have (heads, n), float32. There are no gaps: row i of head h of `q` begins at element `(h * n + i) * d`.
- `tl.program_id(1)` is the head.
- D is a power of two, at least 16 and not below d. So columns have tails, too.
- With `CAUSAL`, query i sees key j when `j <= i + m - n`. A query that sees no key has zeros in `out` and minus infinity in `lse`.

Run this cell first.
"""

# %%
import numpy as np
import torch

from warpwise import check, tiles
from warpwise.tiles import tl, triton

# %% [markdown]
r"""
## Exercise 1 - Elements before kernels (1 point)

**Goal.** What does attention move and keep, when three kernels do it: S = scale * q k^T, then P = softmax(S), then out = P v?

**Given.** `heads` heads, each with `n` queries and `m` keys of `d` elements.

**Required.** A tuple of three integers, in elements, all heads together:

1. what the three kernels read and write, each array once for each kernel that touches it,
2. what they keep for the backward pass,
3. what FlashAttention keeps for the backward pass.

**Example.** `attention_elements(1, 2, 3, 4)` is `(64, 38, 42)`.
"""


# %% attention_elements tags=["exercise"]
def attention_elements(heads, n, m, d):
    """(moved by three kernels, kept by them, kept by FlashAttention), in elements."""
    ### BEGIN SOLUTION
    queries, keys, scores = n * d, m * d, n * m
    moved = 2 * queries + 2 * keys + 4 * scores
    return heads * moved, heads * (queries + 2 * keys + scores), heads * (2 * (queries + keys) + n)
    ### END SOLUTION


# %% tags=["check"]
check("attention_elements", attention_elements)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Go kernel by kernel: which arrays come in, which go out? Which ones does the lesson's list of saved tensors name?
</details>
<details><summary>Hint 2</summary>
q and k in, S out; S in, P out; P and v in, out out. Kept are q, k, v and P. FlashAttention keeps q, k, v, out and one number for each query.
</details>
<details><summary>Hint 3</summary>
For one head <code>2*n*d + 2*m*d + 4*n*m</code>, then <code>n*d + 2*m*d + n*m</code>, then <code>2*n*d + 2*m*d + n</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - Two parts of the keys (2 points)

**Goal.** One kernel has seen some keys, another kernel or another GPU the rest. Merge what they found.

**Given.** `out_a` and `out_b`: (rows, d) float32, each an attention over its own keys, already divided by its own sum. `lse_a` and `lse_b`: (rows,) float32.
A part that had no visible key for a row has `lse` = -inf there, and zeros in its output. A program takes R rows.

**Required.** `out` and `lse` of all keys together. Rows that are empty in both parts have zeros and -inf. `lse` may be anything from -1e4 to 1e4.
Each element is loaded once and stored once.

**Example.** lse_a = 0 with out_a = 1 and lse_b = log(3) with out_b = 5: out = 4, lse = log(4).
"""


# %% merge_parts tags=["exercise"]
@triton.jit
def merge_parts(
    out, lse, out_a, lse_a, out_b, lse_b, rows, d, R: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    """Attention over the keys of both parts.   out...: (rows, d), lse...: (rows,), float32."""
    ### BEGIN SOLUTION
    r, c = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, D)
    at = r[:, None] * d + c[None, :]
    inside = (r[:, None] < rows) & (c[None, :] < d)
    a = tl.load(lse_a + r, mask=r < rows, other=0.0)
    b = tl.load(lse_b + r, mask=r < rows, other=0.0)
    top = tl.maximum(a, b)
    safe = tl.where(top == -float("inf"), 0.0, top)
    share_a, share_b = tl.exp(a - safe), tl.exp(b - safe)
    total = share_a + share_b
    divisor = tl.where(total > 0, total, 1.0)
    part_a = tl.load(out_a + at, mask=inside) * (share_a / divisor)[:, None]
    part_b = tl.load(out_b + at, mask=inside) * (share_b / divisor)[:, None]
    tl.store(out + at, part_a + part_b, mask=inside)
    tl.store(lse + r, safe + tl.log(total), mask=r < rows)
    ### END SOLUTION


# %% tags=["check"]
check("merge_parts", merge_parts)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
exp(lse) is the sum of exp(score) of a part. What part of the whole sum does it have? And what is -inf minus -inf?
</details>
<details><summary>Hint 2</summary>
Subtract the larger lse from both before exp. Where both are -inf, subtract 0 instead, and divide by 1.
</details>
<details><summary>Hint 3</summary>
<code>top = tl.maximum(a, b)</code>, <code>safe = tl.where(top == -float("inf"), 0.0, top)</code>, weights <code>tl.exp(a - safe)</code> and <code>tl.exp(b - safe)</code>, total their sum;
out is the weighted sum divided by <code>tl.where(total &gt; 0, total, 1.0)</code>, lse is <code>safe + tl.log(total)</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - The forward pass (4 points)

**Goal.** FlashAttention, with everything that the lesson's kernel leaves out: tails on all axes, heads, the causal mask, queries without keys.

**Given.** The grid is `(triton.cdiv(n, BQ), heads)`: a program takes BQ queries of one head and walks along the keys, BK at a time.

**Required.** `out` = softmax(scale * q k^T) v with the hidden scores left out, `lse` the logarithm of the sum of exp(score) of each row. Scores may be as large as 1e4, or as small as -1e4.
Both products are `tl.dot` of float16 tiles with a float32 sum, which become `mma.sync`. A tile of q is loaded once; with `CAUSAL`, tiles of keys that no query of the program sees are not loaded.

**Example.** n = 5, m = 2, causal: queries 0 to 2 see no key, query 3 sees key 0, query 4 sees both.
"""


# %% flash_forward tags=["exercise"]
@triton.jit
def flash_forward(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Attention of one tile of queries, all its keys; see the beginning of the lab for shapes."""
    ### BEGIN SOLUTION
    head, first, c = tl.program_id(1), tl.program_id(0) * BQ, tl.arange(0, D)
    i = first + tl.arange(0, BQ)
    at_q = (head * n + i)[:, None] * d + c[None, :]
    in_q = (i[:, None] < n) & (c[None, :] < d)
    queries = tl.load(q + at_q, mask=in_q, other=0.0)
    top = tl.full((BQ,), -float("inf"), tl.float32)
    total = tl.zeros((BQ,), tl.float32)
    acc = tl.zeros((BQ, D), tl.float32)
    last = m
    if CAUSAL:
        last = min(m, first + BQ + m - n)
    for start in range(0, last, BK):
        j = start + tl.arange(0, BK)
        at_k = (head * m + j)[:, None] * d + c[None, :]
        in_k = (j[:, None] < m) & (c[None, :] < d)
        keys = tl.load(k + at_k, mask=in_k, other=0.0)
        values = tl.load(v + at_k, mask=in_k, other=0.0)
        seen = j[None, :] < m
        if CAUSAL:
            seen = seen & (j[None, :] <= i[:, None] + m - n)
        s = tl.where(seen, scale * tl.dot(queries, tl.trans(keys)), -float("inf"))
        new = tl.maximum(top, tl.max(s, axis=1))
        safe = tl.where(new == -float("inf"), 0.0, new)
        p = tl.exp(s - safe[:, None])
        old = tl.exp(top - safe)
        total = total * old + tl.sum(p, axis=1)
        acc = tl.dot(p.to(tl.float16), values, acc * old[:, None])
        top = new
    divisor = tl.where(total > 0, total, 1.0)
    tl.store(out + at_q, acc / divisor[:, None], mask=in_q)
    tl.store(lse + head * n + i, top + tl.log(total), mask=i < n)
    ### END SOLUTION


# %% tags=["check"]
check("flash_forward", flash_forward)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Begin with the lesson's kernel. Which offsets need a mask, which loads an <code>other=</code>, and which scores have to become -inf?
When is the new maximum of a row still -inf, and what would be subtracted from what?
</details>
<details><summary>Hint 2</summary>
Row i of head h of q begins at <code>(h * n + i) * d</code>, row j of k and v at <code>(h * m + j) * d</code>. Hide keys beyond m, and with CAUSAL those with <code>j &gt; i + m - n</code>, by <code>tl.where</code>.
Subtract 0 where the new maximum is -inf. The last key of the program is that of its last query.
</details>
<details><summary>Hint 3</summary>
<code>last = min(m, first + BQ + m - n)</code> with CAUSAL. In the loop <code>safe = tl.where(new == -float("inf"), 0.0, new)</code>, <code>p = tl.exp(s - safe[:, None])</code>,
<code>old = tl.exp(top - safe)</code>, <code>total = total * old + tl.sum(p, axis=1)</code>, <code>acc = tl.dot(p.to(tl.float16), values, acc * old[:, None])</code>.
At the end divide by <code>tl.where(total &gt; 0, total, 1.0)</code>, and store <code>top + tl.log(total)</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - What it moves (3 points)

**Goal.** Say what your kernel of exercise 3 moves, for any block size, before it runs. Plain Python, no kernel.

**Given.** One head: n queries, m keys, d elements each, tiles of `bq` queries and `bk` keys, with or without the causal mask.
A program loads its queries once. It visits tiles of keys from the first one on, as far as its last query sees any, and loads each of them whole: k and v, the keys below m.

**Required.** A tuple of three integers, all programs together:

1. the visits, which are pairs of a tile of queries and a tile of keys,
2. the elements loaded from q, k and v,
3. the elements stored to `out` and `lse`.

**Examples.** `flash_elements(64, 64, 16, 32, 16, False)` is `(8, 5120, 1088)`; with the causal mask it is `(6, 4096, 1088)`.
"""


# %% flash_elements tags=["exercise"]
def flash_elements(n, m, d, bq, bk, causal):
    """(visits, elements loaded, elements stored) of one head's forward pass."""
    ### BEGIN SOLUTION
    visits = keys = 0
    for first in range(0, n, bq):
        end = min(first + bq, n)  # of the queries
        sees = max(0, min(m, end + m - n)) if causal else m
        tiles_ = -(-sees // bk)
        visits += tiles_
        keys += min(m, tiles_ * bk)
    return visits, n * d + 2 * keys * d, n * d + n
    ### END SOLUTION


# %% tags=["check"]
if check("flash_elements", flash_elements).status == "pass":
    # Your kernel, counted, beside your formula.
    n, m, d = 96, 128, 32
    arrays = [np.ones((1, rows, d), np.float16) for rows in (n, n, m, m)]
    for bq, bk in ((16, 32), (32, 32), (64, 16), (32, 64)):
        try:
            run = tiles.run(
                flash_forward, (triton.cdiv(n, bq), 1), arrays[0], np.zeros((1, n), np.float32),
                *arrays[1:], n, m, d, 0.25, CAUSAL=True, BQ=bq, BK=bk, D=32,
            )  # fmt: skip
        except tiles.TileError as error:
            print(error)
            break
        counted = sum(run.loaded.values()) // 2
        formula = flash_elements(n, m, d, bq, bk, True)[1]
        print(f"BQ = {bq}, BK = {bk}: {counted:,} elements counted, {formula:,} by your formula")

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Go through the tiles of queries one by one. Which is the last query of each, and how many keys does it see?
</details>
<details><summary>Hint 2</summary>
<code>end = min(first + bq, n)</code>; its last query sees <code>end + m - n</code> keys, at least 0 and at most m. The visits are that over bk, rounded up, and the last visit may reach beyond m.
</details>
<details><summary>Hint 3</summary>
Add up <code>visits = -(-sees // bk)</code> and <code>keys = min(m, visits * bk)</code> over the tiles; loaded <code>n*d + 2*d*keys</code>, stored <code>n*d + n</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - Backward, for the queries (3 points)

**Goal.** The gradient of q, without a matrix of n x m: P is computed again from `lse`.

**Given.** `dout`, the gradient of `out`, has the shape of `out`. The grid is `(triton.cdiv(n, BQ), heads)`. `out` and `lse` come from the forward pass; queries without keys have zeros and -inf there.

**Required.** `delta[row]` = sum of dout * out along the row, computed in float32, and `dq` = scale * dS k, where P = exp(s - lse), dP = dout v^T and dS = P * (dP - delta).
A tile of q, out and dout is loaded once; with `CAUSAL`, tiles of keys that no query of the program sees are not loaded.

**Example.** With a single key, P is 1 and dP is delta, so `dq` is 0 for every query that sees it.
"""


# %% grad_queries tags=["exercise"]
@triton.jit
def grad_queries(
    dq, delta, q, k, v, out, dout, lse, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """dq and delta of one tile of queries."""
    ### BEGIN SOLUTION
    head, first, c = tl.program_id(1), tl.program_id(0) * BQ, tl.arange(0, D)
    i = first + tl.arange(0, BQ)
    at_q = (head * n + i)[:, None] * d + c[None, :]
    in_q = (i[:, None] < n) & (c[None, :] < d)
    queries = tl.load(q + at_q, mask=in_q, other=0.0)
    douts = tl.load(dout + at_q, mask=in_q, other=0.0)
    outs = tl.load(out + at_q, mask=in_q, other=0.0)
    logs = tl.load(lse + head * n + i, mask=i < n, other=0.0)
    sums = tl.sum(outs.to(tl.float32) * douts.to(tl.float32), axis=1)
    tl.store(delta + head * n + i, sums, mask=i < n)
    acc = tl.zeros((BQ, D), tl.float32)
    last = m
    if CAUSAL:
        last = min(m, first + BQ + m - n)
    for start in range(0, last, BK):
        j = start + tl.arange(0, BK)
        at_k = (head * m + j)[:, None] * d + c[None, :]
        in_k = (j[:, None] < m) & (c[None, :] < d)
        keys = tl.load(k + at_k, mask=in_k, other=0.0)
        values = tl.load(v + at_k, mask=in_k, other=0.0)
        seen = j[None, :] < m
        if CAUSAL:
            seen = seen & (j[None, :] <= i[:, None] + m - n)
        s = scale * tl.dot(queries, tl.trans(keys))
        p = tl.where(seen, tl.exp(s - logs[:, None]), 0.0)
        dp = tl.dot(douts, tl.trans(values))
        ds = p * (dp - sums[:, None])
        acc = tl.dot(ds.to(tl.float16), keys, acc)
    tl.store(dq + at_q, scale * acc, mask=in_q)
    ### END SOLUTION


# %% tags=["check"]
check("grad_queries", grad_queries)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
The loop is that of exercise 3: a tile of queries stays, tiles of keys pass. What stays besides q? Which running value is left, and is anything rescaled?
</details>
<details><summary>Hint 2</summary>
q, dout, lse and delta stay. In each step s, then P with <code>tl.where</code> for hidden keys, dP with the values, dS, and one product into the sum. No maximum: lse has it.
</details>
<details><summary>Hint 3</summary>
<code>p = tl.where(seen, tl.exp(s - logs[:, None]), 0.0)</code>, <code>dp = tl.dot(douts, tl.trans(values))</code>, <code>ds = p * (dp - sums[:, None])</code>,
<code>acc = tl.dot(ds.to(tl.float16), keys, acc)</code>; store <code>scale * acc</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - Stretch: backward, for the keys (3 points)

**Goal.** The gradients of k and v. Now a tile of keys stays, and the queries pass.

**Given.** The grid is `(triton.cdiv(m, BK), heads)`. `delta` comes from exercise 5.

**Required.** `dv` = P^T dout and `dk` = scale * dS^T q. No two programs store to the same element, and there are no atomics.
A tile of k and v is loaded once; with `CAUSAL`, tiles of queries that see no key of the program are not loaded.

**Example.** With a single key that all n queries see, `dv` is the sum of all rows of `dout`, and `dk` is 0.

The next cell is given: it makes one operation for PyTorch of your three kernels. When they are right, the check compares its gradients with PyTorch's own, and shows what it saves.
"""


# %%
class YourAttention(torch.autograd.Function):
    """Your kernels as one operation.   q: (heads, n, d), k, v: (heads, m, d), float16."""

    @staticmethod
    def launch(kernel, outputs, inputs, rows, scale, causal):
        """Run a kernel with tiles of 16 x 16; `rows` is what its programs share out."""
        q, k = inputs[:2]
        (heads, n, d), m = q.shape, k.shape[1]
        grid = (triton.cdiv(rows, 16), heads)
        width = max(16, triton.next_power_of_2(d))
        kernel[grid](*outputs, *inputs, n, m, d, scale, causal, 16, 16, width)
        return outputs

    @staticmethod
    def forward(ctx, q, k, v, scale, causal):
        lse = torch.zeros(q.shape[:2], device=q.device)
        out, lse = YourAttention.launch(
            flash_forward, [torch.zeros_like(q), lse], [q, k, v], q.shape[1], scale, causal
        )
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.given = scale, causal
        return out

    @staticmethod
    def backward(ctx, dout):
        q, k, v, out, lse = ctx.saved_tensors
        outputs = [torch.zeros_like(q), torch.zeros_like(lse)]
        inputs = [q, k, v, out, dout.contiguous(), lse]
        dq, delta = YourAttention.launch(grad_queries, outputs, inputs, q.shape[1], *ctx.given)
        outputs = [torch.zeros_like(k), torch.zeros_like(v)]
        inputs = [q, k, v, dout.contiguous(), lse, delta]
        dk, dv = YourAttention.launch(grad_keys, outputs, inputs, k.shape[1], *ctx.given)
        return dq, dk, dv, None, None


# %% grad_keys tags=["exercise"]
@triton.jit
def grad_keys(
    dk, dv, q, k, v, dout, lse, delta, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """dk and dv of one tile of keys."""
    ### BEGIN SOLUTION
    head, first, c = tl.program_id(1), tl.program_id(0) * BK, tl.arange(0, D)
    j = first + tl.arange(0, BK)
    at_k = (head * m + j)[:, None] * d + c[None, :]
    in_k = (j[:, None] < m) & (c[None, :] < d)
    keys = tl.load(k + at_k, mask=in_k, other=0.0)
    values = tl.load(v + at_k, mask=in_k, other=0.0)
    acc_k = tl.zeros((BK, D), tl.float32)
    acc_v = tl.zeros((BK, D), tl.float32)
    begin = 0
    if CAUSAL:
        begin = max(0, first + n - m) // BQ * BQ  # the first query that sees key `first`
    for start in range(begin, n, BQ):
        i = start + tl.arange(0, BQ)
        at_q = (head * n + i)[:, None] * d + c[None, :]
        in_q = (i[:, None] < n) & (c[None, :] < d)
        queries = tl.load(q + at_q, mask=in_q, other=0.0)
        douts = tl.load(dout + at_q, mask=in_q, other=0.0)
        logs = tl.load(lse + head * n + i, mask=i < n, other=0.0)
        sums = tl.load(delta + head * n + i, mask=i < n, other=0.0)
        seen = (i[:, None] < n) & (j[None, :] < m)
        if CAUSAL:
            seen = seen & (j[None, :] <= i[:, None] + m - n)
        s = scale * tl.dot(queries, tl.trans(keys))
        p = tl.where(seen, tl.exp(s - logs[:, None]), 0.0)
        dp = tl.dot(douts, tl.trans(values))
        ds = p * (dp - sums[:, None])
        acc_v = tl.dot(tl.trans(p).to(tl.float16), douts, acc_v)
        acc_k = tl.dot(tl.trans(ds).to(tl.float16), queries, acc_k)
    tl.store(dv + at_k, acc_v, mask=in_k)
    tl.store(dk + at_k, scale * acc_k, mask=in_k)
    ### END SOLUTION


# %% tags=["check"]
if check("grad_keys", grad_keys).status == "pass":
    torch.manual_seed(10)
    q, k, v, dout = (torch.randn(2, rows, 24).half() for rows in (20, 40, 40, 20))
    kept = []
    inputs = [one.clone().requires_grad_() for one in (q, k, v)]
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t)
    try:
        with hooks:
            out = YourAttention.apply(*inputs, 0.2, True)
        ours = torch.autograd.grad(out, inputs, dout)
    except Exception as error:  # exercise 3 or 5 is not done yet
        print("Not yet:", str(error).splitlines()[0])
    else:
        mask = torch.ones(20, 40, dtype=torch.bool).tril(40 - 20)
        exact = [one.double().requires_grad_() for one in (q, k, v)]
        theirs = torch.nn.functional.scaled_dot_product_attention(*exact, mask, scale=0.2)
        wanted = torch.autograd.grad(theirs, exact, dout.double())
        print("saved for the backward pass:", [tuple(one.shape) for one in kept])
        for name, one, two in zip(("dq", "dk", "dv"), ours, wanted):
            print(f"{name}: largest difference from PyTorch's {(one - two).abs().max():.0e}")

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
The same pair of tiles as in exercise 5, with other things that stay. Which two products have a turned P or dS in them? Which queries see the first key of the tile?
</details>
<details><summary>Hint 2</summary>
k and v stay. In each step load q, dout, lse and delta of BQ queries, and make s, P, dP and dS as before. Query i sees key j when <code>i &gt;= j + n - m</code>, so the loop may begin at the tile of query <code>first + n - m</code>, if that is not negative.
</details>
<details><summary>Hint 3</summary>
<code>begin = max(0, first + n - m) // BQ * BQ</code>; <code>acc_v = tl.dot(tl.trans(p).to(tl.float16), douts, acc_v)</code>, <code>acc_k = tl.dot(tl.trans(ds).to(tl.float16), queries, acc_k)</code>;
store <code>acc_v</code> and <code>scale * acc_k</code>.
</details>
"""

# %% [markdown] tags=["solution"]
r"""
## Remarks on the answers

- In exercise 1 FlashAttention can keep more than the three kernels: 42 against 38 in the example. It has no term n m, and that decides when n is large.
- Exercise 2 is all that ring attention and split keys need: each part is a complete attention over its keys.
- In exercise 3 only a row without any key needs `safe`, because a causal row that sees something sees key 0. With a window, or with padding on the left, rows begin with hidden tiles, and `safe` is needed for them as well.
- In exercise 4 a larger tile of queries always loads less. Nothing in the formula says what it costs: registers, and programs.
- In exercises 5 and 6 s and dP are computed in both kernels: 7 products in all. One kernel that adds its parts of dq by atomics needs 5, and gives sums in an order that changes from run to run.
- Zeros beyond the last query add nothing to dk and dv: their rows of q and dout are zero. Hidden keys are another matter; they have to be masked in P.
- Real kernels put log2(e) into the scale and use exp2, which saves a multiplication for each score.
"""

# %% [markdown]
r"""
**Done?** You have written the kernel that made long contexts possible, with its gradients, and you can say what it moves.
To compare your answers with ours, open `solutions/t2_gpu/t2_10_attention_lab.ipynb`.

- `t2_11_machine_code` reads what the compiler makes of such kernels.
- `t3_11_context_parallel` spreads the keys over several GPUs, and merges the parts as in exercise 2.
"""
