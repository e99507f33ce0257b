"""Exercises of t2_10_attention: elements moved, parts merged, and FlashAttention both ways.

n, m    queries and keys of a head, d elements each; causal: query i sees key j when j <= i + m - n
empty   a query that sees no key: its output is zeros, its lse minus infinity
delta   of a query: the sum of dout * out along its row
visit   a pair of a tile of queries and a tile of keys that is computed
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..cases import Case, Level, ceil_div
from ..spec import CompiledFact, FunctionSpec, Traffic, TritonSpec
from ..tolerance import Tolerance

UNIT = "t2_10_attention"

Array = np.ndarray
Sizes = tuple[int, int, int, int, bool, int, int]  # heads, n, m, d, causal, bq, bk
Found = dict[str, Array]

#: float16 results of products whose weights are rounded to float16 as well.
HALF = {"float16": Tolerance(5e-3, 4e-3), "float32": Tolerance(1e-5, 2e-5)}


# -- attention_elements ------------------------------------------------------------------------


def attention_elements(heads: int, n: int, m: int, d: int) -> tuple[int, int, int]:
    """(moved by three kernels, kept by them, kept by FlashAttention)."""
    return _elements(heads, n, m, d)


def _elements(
    heads: int, n: int, m: int, d: int, passes: int = 4, ins: int = 2, kept_scores: int = 1,
    kept_outs: int = 0, lse: int = 1, flash_scores: int = 0,
) -> tuple[int, int, int]:  # fmt: skip
    rows, keys, scores = n * d, m * d, n * m
    return (
        heads * (ins * (rows + keys) + passes * scores),
        heads * ((1 + kept_outs) * rows + 2 * keys + kept_scores * scores),
        heads * (2 * rows + 2 * keys + lse * n + flash_scores * scores),
    )


def element_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, int, int, int]]:
    """(heads, n, m, d): the example, one element, one query, more queries than keys, large ones."""
    yield from [
        (1, 2, 3, 4), (1, 1, 1, 1), (3, 1, 50, 16), (2, 70, 9, 24), (16, 1024, 1024, 64),
        (5, 1000, 3000, 80),
    ]  # fmt: skip
    for _ in range(4 if level == "student" else 20):
        heads, d = (int(one) for one in rng.integers(1, 100, size=2))
        n, m = (int(2 ** rng.uniform(0, 12)) for _ in range(2))
        yield heads, n, m, d


ATTENTION_ELEMENTS = FunctionSpec(
    "attention_elements", UNIT, 1, element_inputs, attention_elements,
    suspects={
        "heads_missing": lambda heads, n, m, d: _elements(1, n, m, d),
        "softmax_in_place": lambda heads, n, m, d: _elements(heads, n, m, d, passes=2),
        "one_pass_missing": lambda heads, n, m, d: _elements(heads, n, m, d, passes=3),
        "inputs_only": lambda heads, n, m, d: (
            heads * (n * d + 2 * m * d + 4 * n * m), *_elements(heads, n, m, d)[1:]
        ),
        "both_matrices_kept": lambda heads, n, m, d: _elements(heads, n, m, d, kept_scores=2),
        "scores_not_kept": lambda heads, n, m, d: _elements(heads, n, m, d, kept_scores=0),
        "output_kept": lambda heads, n, m, d: _elements(heads, n, m, d, kept_outs=1),
        "lse_forgotten": lambda heads, n, m, d: _elements(heads, n, m, d, lse=0),
        "two_numbers_a_row": lambda heads, n, m, d: _elements(heads, n, m, d, lse=2),
        "flash_keeps_scores": lambda heads, n, m, d: _elements(heads, n, m, d, flash_scores=1),
        "queries_for_keys": lambda heads, n, m, d: _elements(heads, n, n, d),
        "lengths_swapped": lambda heads, n, m, d: _elements(heads, m, n, d),
        "bytes_not_elements": lambda heads, n, m, d: tuple(
            2 * one for one in _elements(heads, n, m, d)
        ),
    },
    causes={
        "heads_missing": "That is one head.",
        "softmax_in_place": "The two matrices are moved four times: each is written once and read "
        "once.",
        "one_pass_missing": "The two matrices are moved four times: each is written once and read "
        "once.",
        "inputs_only": "The output is not among the elements moved.",
        "both_matrices_kept": "The scores S need not be kept: the backward pass of a softmax works "
        "from its result P.",
        "scores_not_kept": "The product P V needs P again in its backward pass.",
        "output_kept": "The three kernels do not need the output again; only FlashAttention does.",
        "lse_forgotten": "FlashAttention keeps a number for each row besides the matrices.",
        "two_numbers_a_row": "The maximum and the sum of a row become one number, its lse.",
        "flash_keeps_scores": "FlashAttention never writes a matrix of n x m.",
        "queries_for_keys": "k and v have m rows, not n.",
        "lengths_swapped": "q and the output have n rows, k and v have m.",
        "bytes_not_elements": "Elements are asked for, not bytes.",
    },
    hints={
        "heads_missing": ("How many heads are there?", "Each number times heads."),
        "softmax_in_place": ("Which kernels touch S, and which touch P?", "4 * n * m."),
        "one_pass_missing": ("Which kernels touch S, and which touch P?", "4 * n * m."),
        "inputs_only": ("What does the third kernel write?", "n * d elements of the output."),
        "both_matrices_kept": (
            "Which of S and P does the lesson's list of saved tensors show?",
            "P alone: n * d + 2 * m * d + n * m.",
        ),
        "scores_not_kept": (
            "Which factors does a product need for its gradients?",
            "Both: q, k, P and v.",
        ),
        "output_kept": (
            "Which tensors does the lesson's list show for the three lines?",
            "q, k, v and P.",
        ),
        "lse_forgotten": ("What else does FlashAttention keep of each row?", "Its lse: + n."),
        "two_numbers_a_row": ("What is m + log(l)?", "The lse, one number a row."),
        "flash_keeps_scores": ("What does it keep instead of P?", "The lse, n numbers."),
        "queries_for_keys": ("Which shape has k?", "(m, d)."),
        "lengths_swapped": ("Which shape has q?", "(n, d)."),
        "bytes_not_elements": ("What is asked for?", "Elements: no factor of 2 or 4."),
        "wrong_values": (
            "Go kernel by kernel: what does it read, what does it write?",
            "q and k in, S out; S in, P out; P and v in, the output out.",
        ),
    },
)  # fmt: skip


# -- merge_parts -------------------------------------------------------------------------------

PARTS: list[tuple[int, int, int]] = [(1, 16, 16), (5, 24, 16), (16, 32, 16), (37, 16, 16)]


def parts_case(rng: np.random.Generator, rows: int, d: int, r: int) -> Case:
    """Rows of every kind in turn: near, far apart, one part empty, the other, both, near 1e4."""
    kinds = [(0.4, -0.9), (2.0, 0.3), (-4.0, 1.0), (30.0, -60.0), (None, 1.5), (-2.0, None),
             (None, None), (1e4, 1e4 - 1), (-1e4, 1e4), (-1e4 - 2, -1e4)]  # fmt: skip
    lse_a, lse_b = np.zeros(rows, np.float32), np.zeros(rows, np.float32)
    out_a, out_b = (rng.normal(size=(rows, d)).astype(np.float32) for _ in range(2))
    for row in range(rows):
        for lse, out, value in zip((lse_a, lse_b), (out_a, out_b), kinds[row % 10], strict=True):
            if value is None:
                lse[row], out[row] = -np.inf, 0
            else:
                lse[row] = value + rng.uniform(0, 0.5)
    args = {
        "out": np.zeros((rows, d), np.float32), "lse": np.zeros(rows, np.float32),
        "out_a": out_a, "lse_a": lse_a, "out_b": out_b, "lse_b": lse_b, "rows": rows, "d": d,
        "R": r, "D": padded(d),
    }  # fmt: skip
    return Case(args, ceil_div(rows, r), (padded(d), r), f"{rows} rows, d = {d}")


def parts_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    for rows, d, r in PARTS:
        yield parts_case(rng, rows, d, r)
    if level == "grader":
        for rows, d in rng.integers(3, 70, size=(2, 2)):
            yield parts_case(rng, int(rows), int(d), 32)


def merged_by(rule: Callable[..., tuple[Array, Array]]) -> Callable[[Case], Found]:
    """A reference or a suspect: (out_a, lse_a, out_b, lse_b) in float64 -> (out, lse)."""

    def found(case: Case) -> Found:
        given = [case.args[name].astype(float) for name in ("out_a", "lse_a", "out_b", "lse_b")]
        with np.errstate(all="ignore"):
            out, lse = rule(*given)
        return {"out": out, "lse": lse}

    return found


def weights(lse_a: Array, lse_b: Array) -> tuple[Array, Array, Array]:
    """(lse of both, share of a, share of b); shares of an empty row are 0."""
    lse = np.logaddexp(lse_a, lse_b)
    some = np.isfinite(lse)
    return lse, np.where(some, np.exp(lse_a - lse), 0), np.where(some, np.exp(lse_b - lse), 0)


def merge_parts(out_a: Array, lse_a: Array, out_b: Array, lse_b: Array) -> tuple[Array, Array]:
    lse, a, b = weights(lse_a, lse_b)
    return a[:, None] * out_a + b[:, None] * out_b, lse


def _averaged(out_a: Array, lse_a: Array, out_b: Array, lse_b: Array) -> tuple[Array, Array]:
    return (out_a + out_b) / 2, np.logaddexp(lse_a, lse_b)


def _exchanged(out_a: Array, lse_a: Array, out_b: Array, lse_b: Array) -> tuple[Array, Array]:
    lse, a, b = weights(lse_a, lse_b)
    return b[:, None] * out_a + a[:, None] * out_b, lse


def _undivided(out_a: Array, lse_a: Array, out_b: Array, lse_b: Array) -> tuple[Array, Array]:
    top = np.maximum(lse_a, lse_b)
    a, b = (np.where(np.isfinite(top), np.exp(one - top), 0)[:, None] for one in (lse_a, lse_b))
    return a * out_a + b * out_b, np.logaddexp(lse_a, lse_b)


def _overflown(out_a: Array, lse_a: Array, out_b: Array, lse_b: Array) -> tuple[Array, Array]:
    a, b = np.exp(lse_a.astype(np.float32)), np.exp(lse_b.astype(np.float32))
    return (a[:, None] * out_a + b[:, None] * out_b) / (a + b)[:, None], np.log(a + b)


def _larger(out_a: Array, lse_a: Array, out_b: Array, lse_b: Array) -> tuple[Array, Array]:
    return np.where((lse_a >= lse_b)[:, None], out_a, out_b), np.maximum(lse_a, lse_b)


def _nan_where(empty: Callable[[Array, Array], Array]) -> Callable[..., tuple[Array, Array]]:
    def rule(out_a: Array, lse_a: Array, out_b: Array, lse_b: Array) -> tuple[Array, Array]:
        out, lse = merge_parts(out_a, lse_a, out_b, lse_b)
        bad = empty(np.isneginf(lse_a), np.isneginf(lse_b))
        return np.where(bad[:, None], np.nan, out), np.where(bad, np.nan, lse)

    return rule


MERGE_PARTS = TritonSpec(
    "merge_parts", UNIT, 2, ("out", "lse"), parts_cases, merged_by(merge_parts),
    # exp(lse_a - lse) has few digits near 1e4, but lse itself, there, is off by 0.001 at most
    tolerance={"float32": Tolerance(1e-5, 3e-3)},
    traffic=(
        Traffic("loaded", lambda case: 8 * (case.args["out"].size + case.args["lse"].size)),
        Traffic("stored", lambda case: 4 * (case.args["out"].size + case.args["lse"].size)),
    ),
    counted=lambda: parts_case(np.random.default_rng(10), 40, 24, 16),
    suspects={
        "nan_for_empty": merged_by(_nan_where(lambda a, b: a & b)),
        "nan_for_half_empty": merged_by(_nan_where(lambda a, b: a | b)),
        "averaged": merged_by(_averaged),
        "shares_exchanged": merged_by(_exchanged),
        "not_divided": merged_by(_undivided),
        "max_not_subtracted": merged_by(_overflown),
        "outputs_added": merged_by(lambda a, la, b, lb: (a + b, np.logaddexp(la, lb))),
        "larger_lse_only": lambda case: {"out": merged_by(_larger)(case)["out"]},
        "lse_is_the_larger": merged_by(lambda a, la, b, lb: (
            merge_parts(a, la, b, lb)[0], np.maximum(la, lb)
        )),
        "lse_without_maximum": merged_by(lambda a, la, b, lb: (
            merge_parts(a, la, b, lb)[0], np.logaddexp(la, lb) - np.maximum(la, lb)
        )),
        "lse_added": merged_by(lambda a, la, b, lb: (merge_parts(a, la, b, lb)[0], la + lb)),
    },
    causes={
        "nan_for_empty": "Rows that are empty in both parts become NaN: -inf minus -inf, or 0 / 0.",
        "nan_for_half_empty": "Rows with an empty part become NaN.",
        "averaged": "That is the mean of both outputs.  The part with the larger lse counts more.",
        "shares_exchanged": "Each output is weighted by the share of the other part.",
        "not_divided": "The weights of a row do not add up to 1.",
        "max_not_subtracted": "exp of an lse near 1e4 is infinite in float32.",
        "outputs_added": "The outputs are added as they are; each is divided by its own sum.",
        "larger_lse_only": "The part with the smaller lse is left out.",
        "lse_is_the_larger": "out is right; lse is the larger of the two, not that of both.",
        "lse_without_maximum": "out is right; lse lacks the maximum that was subtracted.",
        "lse_added": "out is right; the two lse are added, but exp(lse) is what adds up.",
    },
    hints={
        "nan_for_empty": (
            "Which numbers meet in a row where both lse are -inf?",
            "Subtract 0 instead of the maximum there: tl.where(top == -float('inf'), 0.0, top), "
            "and divide by 1 where the sum is 0.",
        ),
        "nan_for_half_empty": (
            "What is exp(-inf - top) for a finite top?",
            "0, and that is right.  Subtract the larger of both lse from both.",
        ),
        "averaged": (
            "Part a saw one key, part b a thousand.  Do they count alike?",
            "Weights: exp(lse_a - lse) and exp(lse_b - lse).",
        ),
        "shares_exchanged": ("Which lse belongs to out_a?", "exp(lse_a - lse) * out_a."),
        "not_divided": (
            "What do exp(lse_a - top) and exp(lse_b - top) add up to?",
            "Not to 1: divide by their sum.",
        ),
        "max_not_subtracted": (
            "How large is exp(10000)?",
            "top = tl.maximum(a, b) first; only exp(a - top) and exp(b - top).",
        ),
        "outputs_added": ("By what was out_a divided?", "By exp(lse_a): weight it first."),
        "larger_lse_only": ("Does the other part count?", "Yes: weight exp(lse_b - lse)."),
        "lse_is_the_larger": ("What is log(e^1 + e^1)?", "1 + log(2): top + tl.log(sum)."),
        "lse_without_maximum": ("What did you subtract before exp?", "top: add it again."),
        "lse_added": ("exp(lse) of both parts is what?", "The sum of exp(lse_a) and exp(lse_b)."),
        "too_many_bytes": ("How often is each lse loaded?", "Once for each row, R at a time."),
    },
)  # fmt: skip


# -- one attention, forward --------------------------------------------------------------------


def padded(d: int) -> int:
    """The smallest power of two that is not below d, and at least 16 as tl.dot wants."""
    return max(16, 1 << (d - 1).bit_length())


def named(sizes: Sizes) -> str:
    heads, n, m, d, causal = sizes[:5]
    many = f"{heads} heads, " if heads > 1 else ""
    return f"{many}n = {n}, m = {m}, d = {d}" + (", causal" if causal else "")


def tensors(rng: np.random.Generator, sizes: Sizes, kind: str = "") -> dict[str, Array]:
    """q, k, v in float16.

    kind: "high" has all scores near 1e4; "apart" has them from -1e4 to 1e4, rising along the keys
    for even queries and falling for odd ones.  "queries" and "keys" have scores near 1280, with
    large numbers in q or in k alone: a gradient is as exact as the other one is small.
    """
    heads, n, m, d = sizes[:4]
    q, k, v = (rng.normal(size=(heads, rows, d)) for rows in (n, m, m))
    if kind:
        large = {"queries": (2048.0, 1.0), "keys": (1.0, 2048.0)}
        q[..., 0], k[..., 0] = large.get(kind, (128.0, 128.0))
    if kind == "apart":
        q[:, 1::2, 0], k[:, : m // 2, 0] = -128.0, -128.0
    return {name: one.astype(np.float16) for name, one in zip("qkv", (q, k, v), strict=True)}


def constants(sizes: Sizes, rng: np.random.Generator, kind: str) -> dict[str, int | float | bool]:
    """What follows the pointers of each kernel here.  The scale is not 1 / sqrt(d)."""
    _, n, m, d, causal, bq, bk = sizes
    scale = 0.625 if kind else float(np.float32(rng.uniform(0.2, 0.5)))
    return {
        "n": n, "m": m, "d": d, "scale": scale, "CAUSAL": bool(causal), "BQ": bq, "BK": bk,
        "D": padded(d),
    }  # fmt: skip


def forward_case(rng: np.random.Generator, sizes: Sizes, kind: str = "") -> Case:
    """(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D)."""
    given = tensors(rng, sizes, kind)
    heads, n = sizes[:2]
    args = {
        "out": np.zeros_like(given["q"]), "lse": np.zeros((heads, n), np.float32), **given,
        **constants(sizes, rng, kind),
    }  # fmt: skip
    label = named(sizes) + {"": "", "high": ", scores near 1e4"}.get(kind, ", scores to 1e4")
    return Case(args, (ceil_div(n, sizes[5]), heads), (padded(sizes[3]), sizes[5]), label)


#: One key; less than a tile; a full one; tails; causal with n = m, n < m, n > m; two tile sizes.
SIZES: list[Sizes] = [
    (1, 1, 1, 16, False, 16, 16), (1, 3, 5, 16, False, 16, 16), (2, 16, 16, 16, False, 16, 16),
    (1, 20, 37, 24, False, 16, 16), (2, 5, 33, 16, False, 16, 16), (1, 16, 16, 16, True, 16, 16),
    (1, 35, 35, 16, True, 32, 16), (2, 6, 40, 16, True, 16, 16), (1, 40, 7, 16, True, 16, 32),
    (1, 19, 18, 40, True, 16, 16),
]  # fmt: skip


def drawn(rng: np.random.Generator, level: Level) -> list[Sizes]:
    """The sizes of a level."""
    if level == "student":
        return SIZES
    found = list(SIZES)
    for number in range(3):
        n, m = (int(one) for one in rng.integers(1, 80, size=2))
        d, bq, bk = (int(rng.choice(one)) for one in ((16, 20, 32, 64), (16, 32), (16, 32)))
        found.append((int(rng.integers(1, 3)), n, m, d, number != 1, bq, bk))
    return found


LARGE: list[tuple[Sizes, str]] = [
    ((1, 18, 40, 16, False, 16, 16), "high"), ((1, 20, 50, 16, True, 16, 16), "apart"),
]  # fmt: skip


def forward_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    for sizes in drawn(rng, level):
        yield forward_case(rng, sizes)
    for sizes, kind in LARGE:
        yield forward_case(rng, sizes, kind)


def given(case: Case, *names: str) -> list[Array]:
    """Arguments in float64."""
    return [case.args[name].astype(np.float64) for name in names]


Mask = Callable[[Case], Array]


def visible(case: Case) -> Array:
    """(n, m): may query i see key j?"""
    return seen(case, case.args["m"] - case.args["n"])


def seen(case: Case, ahead: int) -> Array:
    """The mask when query i sees key j up to i + ahead."""
    n, m = case.args["n"], case.args["m"]
    if not case.args["CAUSAL"]:
        return np.ones((n, m), bool)
    return np.asarray(np.arange(m)[None, :] <= np.arange(n)[:, None] + ahead)


def everything(case: Case) -> Array:
    return np.ones((case.args["n"], case.args["m"]), bool)


def scored(case: Case, mask: Mask = visible, scale: float | None = None) -> Array:
    """(heads, n, m) scores, -inf where the mask hides a key."""
    q, k = given(case, "q", "k")
    factor = case.args["scale"] if scale is None else scale
    return np.where(mask(case), factor * q @ k.swapaxes(1, 2), -np.inf)


def softmaxed(s: Array) -> tuple[Array, Array]:
    """(shares, lse) of the rows; an empty row has zeros and -inf."""
    with np.errstate(all="ignore"):
        lse = np.logaddexp.reduce(s, axis=-1)
        p = np.where(np.isneginf(s), 0.0, np.exp(s - lse[..., None]))
    return p, lse


def attend(case: Case, mask: Mask = visible, scale: float | None = None) -> Found:
    """out and lse in float64."""
    p, lse = softmaxed(scored(case, mask, scale))
    return {"out": p @ given(case, "v")[0], "lse": lse}


def top_left(case: Case) -> Array:
    return seen(case, 0)


def itself_hidden(case: Case) -> Array:
    return seen(case, case.args["m"] - case.args["n"] - 1)


def alone(case: Case, which: Callable[[int], slice]) -> Mask:
    """The mask with some keys only: `which` of m."""

    def mask(_: Case) -> Array:
        found = visible(case).copy()
        kept = np.zeros(case.args["m"], bool)
        kept[which(case.args["m"])] = True
        return np.asarray(found & kept)

    return mask


def first_keys(case: Case) -> Found:
    return attend(case, alone(case, lambda m: slice(0, case.args["BK"])))


def last_keys(case: Case) -> Found:
    size = case.args["BK"]
    return attend(case, alone(case, lambda m: slice((m - 1) // size * size, m)))


def walked(case: Case, sums: bool, outs: bool) -> Found:
    """Tile by tile of keys; are the sums, and the outputs, scaled when the maximum rises?"""
    s, v, size = scored(case), given(case, "v")[0], case.args["BK"]
    top = np.full(s.shape[:2], -np.inf)
    total, acc = np.zeros(s.shape[:2]), np.zeros((*s.shape[:2], v.shape[-1]))
    for start in range(0, s.shape[-1], size):
        tile = s[..., start : start + size]
        new = np.maximum(top, tile.max(axis=-1))
        safe = np.where(np.isneginf(new), 0.0, new)
        p, old = np.exp(tile - safe[..., None]), np.exp(top - safe)
        total = total * (old if sums else 1) + p.sum(axis=-1)
        acc = acc * (old[..., None] if outs else 1) + p @ v[:, start : start + size]
        top = new
    with np.errstate(all="ignore"):
        lse = top + np.log(total)
        return {"out": acc / np.where(total > 0, total, 1)[..., None], "lse": lse}


def ended_early(case: Case) -> Found:
    """A causal loop that ends at the end of its queries, as if there were as many keys."""
    n, m, bq, bk = (case.args[name] for name in ("n", "m", "BQ", "BK"))
    ends = np.arange(n) // bq * bq + bq

    def mask(_: Case) -> Array:
        loaded = -(-np.minimum(m, ends) // bk) * bk
        return np.asarray(visible(case) & (np.arange(m)[None, :] < loaded[:, None]))

    return attend(case, mask) if case.args["CAUSAL"] else attend(case)


def zeros_seen(case: Case) -> Found:
    """Lanes beyond the last key count as keys of zeros, in every tile that is visited."""
    s, v, size = scored(case), given(case, "v")[0], case.args["BK"]
    more = -s.shape[-1] % size
    if case.args["CAUSAL"] or not more:
        return attend(case)
    zeros = np.zeros((*s.shape[:2], more))
    p, lse = softmaxed(np.concatenate([s, zeros], axis=-1))
    return {"out": p[..., : s.shape[-1]] @ v, "lse": lse}


def finite_mask(case: Case, skipping: bool) -> Found:
    """Hidden scores are a large negative number: an empty row becomes a mean of what is there."""
    found, (v,) = attend(case), given(case, "v")
    n, m, bq, bk = (case.args[name] for name in ("n", "m", "BQ", "BK"))
    visits = visits_of(n, m, bq, bk, case.args["CAUSAL"] and skipping)
    for i in np.flatnonzero(~visible(case).any(axis=1)):
        tiles = visits[i // bq]
        if tiles:
            found["out"][:, i] = v[:, : tiles * bk].sum(axis=1) / (tiles * bk)
        found["lse"][:, i] = -1e9
    return found


def nan_rows(found: Found, rows: Array) -> Found:
    """The same with NaN in some rows."""
    return {
        name: np.where(rows[:, None] if one.ndim == 3 else rows, np.nan, one)
        for name, one in found.items()
    }


def empty(case: Case) -> Array:
    """Which queries see no key."""
    return np.asarray(~visible(case).any(axis=1))


def empty_in_visits(case: Case) -> Array:
    """Those whose tile of queries visits keys all the same, for another query's sake."""
    n, m, bq, bk = (case.args[name] for name in ("n", "m", "BQ", "BK"))
    visited = np.array(visits_of(n, m, bq, bk, case.args["CAUSAL"])) > 0
    return empty(case) & np.repeat(visited, bq)[:n]


def first_head(case: Case) -> Found:
    """Each head reads the arrays of head 0."""
    given = {name: np.repeat(case.args[name][:1], len(case.args[name]), 0) for name in "qkv"}
    return attend(Case({**case.args, **given}, case.grid, case.block))


def head_of_queries(case: Case) -> Found:
    """Only head 0 is right; the keys of the others start n rows apart, not m."""
    heads, n, m = len(case.args["q"]), case.args["n"], case.args["m"]
    if heads == 1 or n == m or n > m:
        return {}
    moved = {}
    for name in "kv":
        rows = case.args[name].reshape(heads * m, -1)
        moved[name] = np.stack([rows[head * n : head * n + m] for head in range(heads)])
    return attend(Case({**case.args, **moved}, case.grid, case.block))


def overflown(case: Case) -> Found:
    """exp(score) without a maximum, in float32."""
    with np.errstate(all="ignore"):
        p = np.exp(scored(case).astype(np.float32))
        total = p.sum(axis=-1)
        out = (p @ given(case, "v")[0]) / total[..., None]
        return {"out": out, "lse": np.log(total)}


def with_lse(rule: Callable[[Array, Array, Array], Array]) -> Callable[[Case], Found]:
    """lse by rule(top, total, lse)."""

    def found(case: Case) -> Found:
        right, s = attend(case)["lse"], scored(case)
        with np.errstate(all="ignore"):
            top = s.max(axis=-1)
            return {"lse": rule(top, np.exp(right - top), right)}

    return found


def undivided(case: Case) -> Found:
    right, s = attend(case), scored(case)
    with np.errstate(all="ignore"):
        total = np.exp(right["lse"] - s.max(axis=-1))
    total = np.where(empty(case), 1.0, total)
    return {"out": right["out"] * total[..., None], "lse": right["lse"]}


def visits_of(n: int, m: int, bq: int, bk: int, causal: bool) -> list[int]:
    """For each tile of queries, how many tiles of keys it has to visit."""
    ends = [min(first + bq, n) for first in range(0, n, bq)]
    limits = [min(m, end + m - n) if causal else m for end in ends]
    return [max(0, -(-limit // bk)) for limit in limits]


def keys_loaded(n: int, m: int, bq: int, bk: int, causal: bool) -> int:
    """Rows of k, and as many of v, that all tiles of queries load together."""
    return sum(min(m, tiles * bk) for tiles in visits_of(n, m, bq, bk, causal))


def forward_bytes(case: Case, *, rows: int = 1, lse: int = 0) -> int:
    """Bytes loaded: `rows` arrays like q, the keys and values of each visit, the lse."""
    n, m, d, bq, bk = (case.args[name] for name in ("n", "m", "d", "BQ", "BK"))
    keys = keys_loaded(n, m, bq, bk, case.args["CAUSAL"])
    return len(case.args["q"]) * (2 * (rows * n * d + 2 * keys * d) + 4 * lse * n)


def _tensor_cores(code: object) -> str | None:
    """What is missing where not all products are float16 by float16 into float32."""
    found = [name for name in code.matrix if name.startswith("mma.sync")]  # type: ignore[attr-defined]
    if not found:
        return "The compiled kernel has no mma.sync: the products run outside the tensor cores."
    for name in found:
        if not name.endswith("f32.f16.f16.f32"):
            return f"The compiled kernel has {name}, not f32.f16.f16.f32: float16 in, float32 sums."
    return None


#: Causal with fewer queries than keys: 3 tiles of queries, 1 + 3, 2 + 3, ... tiles of keys.
COUNTED: Sizes = (2, 40, 56, 16, True, 16, 16)

MASK_CAUSES = {
    "causal_ignored": "Queries see keys that come after them.",
    "causal_top_left": "The mask begins in the top left corner: query i sees keys up to i.  The "
    "last query has to see the last key: up to i + m - n.",
    "itself_hidden": "A query does not see its own key: the mask is one too narrow.",
}
MASK_HINTS = {
    "causal_ignored": (
        "Where is CAUSAL used?",
        "Inside if CAUSAL: key j is seen by query i when j <= i + m - n.",
    ),
    "causal_top_left": (
        "Which keys does the last of 2 queries see, when there are 5 keys?",
        "All 5.  So query i sees key j when j <= i + m - n.",
    ),
    "itself_hidden": ("May query i see key i + m - n?", "Yes: j <= i + m - n."),
    "first_head_only": (
        "Where do the rows of head 1 begin?",
        "head = tl.program_id(1); its q begins at head * n * d, its k and v at head * m * d.",
    ),
    "queries_for_keys": (
        "How many rows has k in each head?",
        "m: head * m * d + j * d + c, for k and for v.",
    ),
    "undefined_lanes": (
        "What do rows beyond n or m, and columns beyond d, hold?",
        "other=0.0 in each load of a tile that goes into tl.dot.",
    ),
    "raised": (
        "Read the line in the message: which shapes and dtypes meet there?",
        "tl.dot wants two tiles of one dtype: p.to(tl.float16).  tl.trans(tile) turns a tile; "
        "x[:, None] makes a column of a row of numbers.",
    ),
    "not_compiled_so": (
        "In which dtype are the two tiles of each tl.dot?",
        "float16, as they are loaded; the sums stay in float32.",
    ),
    "whole_tiles_only": (
        "Try a number of rows that is no multiple of the tile.",
        "The mask of the store is rows < their number and c < d.",
    ),
}
HEAD_CAUSES = {
    "first_head_only": "All heads read the arrays of head 0.",
    "queries_for_keys": "Head 1 takes its keys from the wrong place: k and v have m rows a head, "
    "not n.",
}

FLASH_FORWARD = TritonSpec(
    "flash_forward", UNIT, 4, ("out", "lse"), forward_cases, attend,
    tolerance=HALF,
    traffic=(
        Traffic("loaded", forward_bytes),
        Traffic("stored", lambda case: 2 * case.args["q"].size + 4 * case.args["lse"].size),
    ),
    compiled=(CompiledFact("sm_80", _tensor_cores),),
    counted=lambda: forward_case(np.random.default_rng(10), COUNTED),
    suspects={
        "nan_for_empty": lambda case: nan_rows(attend(case), empty(case)),
        "nan_in_visits": lambda case: nan_rows(attend(case), empty_in_visits(case)),
        "finite_mask": lambda case: finite_mask(case, True),
        "finite_mask_everywhere": lambda case: finite_mask(case, False),
        "scale_missing": lambda case: attend(case, scale=1.0),
        "usual_scale": lambda case: attend(case, scale=case.args["d"] ** -0.5),
        "causal_ignored": lambda case: attend(case, everything),
        "causal_top_left": lambda case: attend(case, top_left),
        "itself_hidden": lambda case: attend(case, itself_hidden),
        "zero_keys_seen": zeros_seen,
        "loop_ends_early": ended_early,
        "neither_rescaled": lambda case: walked(case, False, False),
        "output_not_rescaled": lambda case: walked(case, True, False),
        "sum_not_rescaled": lambda case: walked(case, False, True),
        "first_tile_only": first_keys,
        "last_tile_only": last_keys,
        "max_not_subtracted": overflown,
        "not_divided": undivided,
        "first_head_only": first_head,
        "queries_for_keys": head_of_queries,
        "lse_without_maximum": with_lse(lambda top, total, lse: np.log(total)),
        "lse_without_logarithm": with_lse(lambda top, total, lse: top + total),
        "lse_is_the_sum": with_lse(lambda top, total, lse: total),
        "lse_is_the_maximum": with_lse(lambda top, total, lse: top),
        "lse_base_two": with_lse(lambda top, total, lse: lse / np.log(2)),
        "lse_log_base_two": with_lse(lambda top, total, lse: top + np.log2(total)),
    },
    causes={
        **MASK_CAUSES, **HEAD_CAUSES,
        "nan_for_empty": "Queries that see no key become NaN: -inf minus -inf, or 0 / 0.",
        "nan_in_visits": "Queries that see no key become NaN: -inf minus -inf.",
        "finite_mask": "Hidden scores are a finite number.  A query that sees no key then takes "
        "the mean of values that it must not see.",
        "finite_mask_everywhere": "Hidden scores are a finite number.  A query that sees no key "
        "then takes the mean of values that it must not see.",
        "scale_missing": "The scale is not in the result.",
        "usual_scale": "The scale is 1 / sqrt(d); the kernel is given another one.",
        "zero_keys_seen": "Lanes beyond the last key count as keys with score 0.",
        "loop_ends_early": "With more keys than queries the last keys are missing: the loop ends "
        "at the end of the tile of queries.",
        "neither_rescaled": "When the maximum rises, the old sum and the old output keep the old "
        "maximum in their exponents.",
        "output_not_rescaled": "When the maximum rises, the output so far keeps the old maximum "
        "in its exponents; only the sum is scaled.",
        "sum_not_rescaled": "When the maximum rises, the sum so far keeps the old maximum in its "
        "exponents; only the output is scaled.",
        "first_tile_only": "Only the keys of the first tile count.",
        "last_tile_only": "Only the keys of the last tile count.",
        "max_not_subtracted": "exp of a score near 1e4 is infinite in float32: no maximum is "
        "subtracted.",
        "not_divided": "out is not divided by the sum of the row.",
        "lse_without_maximum": "out is right; lse lacks the maximum.",
        "lse_without_logarithm": "out is right; lse is the maximum plus the sum, without a log.",
        "lse_is_the_sum": "out is right; lse holds the sum of exp(s - top).",
        "lse_is_the_maximum": "out is right; lse holds the maximum alone.",
        "lse_base_two": "out is right; lse is in base 2.",
        "lse_log_base_two": "out is right; lse mixes a maximum in base e with a log in base 2.",
        "too_many_bytes": "Some tiles are loaded more often than needed: keys that no row of the "
        "tile may see, or queries in each step.",
    },
    hints={
        **MASK_HINTS,
        "nan_for_empty": (
            "What is the maximum of a row in which all scores are -inf, and what is subtracted?",
            "safe = tl.where(new == -float('inf'), 0.0, new) for the exponentials, and at the end "
            "divide by tl.where(total > 0, total, 1.0).",
        ),
        "nan_in_visits": (
            "What is the maximum of a row in which all scores are -inf, and what is subtracted?",
            "safe = tl.where(new == -float('inf'), 0.0, new) for the exponentials, and at the end "
            "divide by tl.where(total > 0, total, 1.0).",
        ),
        "finite_mask": (
            "Which score makes exp(score - maximum) zero, whatever the maximum is?",
            "Only -float('inf').  Then take care of rows that have nothing else.",
        ),
        "finite_mask_everywhere": (
            "Which score makes exp(score - maximum) zero, whatever the maximum is?",
            "Only -float('inf').  Then take care of rows that have nothing else.",
        ),
        "scale_missing": ("Which parameter is not used?", "s = scale * tl.dot(...)."),
        "usual_scale": ("Which scale is the kernel given?", "The parameter scale."),
        "zero_keys_seen": (
            "Which score has a lane beyond the last key?",
            "-inf: tl.where(j[None, :] < m, s, -float('inf')).",
        ),
        "loop_ends_early": (
            "n = 6, m = 40, causal: how many keys does the last query see?",
            "All 40: query i sees i + m - n + 1 keys, so the loop ends at first + BQ + m - n.",
        ),
        "reduced_precision": (
            "What is rounded to float16 before the shares are added up: q times scale, the scores, "
            "the shares?",
            "Nothing: scale * tl.dot(...) in float32, and p.to(tl.float16) only inside the second "
            "tl.dot.",
        ),
        "neither_rescaled": (
            "A later tile has a larger maximum.  What do the older terms have in their exponent?",
            "The old one: total and acc times exp(top - new).",
        ),
        "output_not_rescaled": (
            "A later tile has a larger maximum.  Which of the three running values change?",
            "All: acc times exp(top - new) as well, before the new product is added.",
        ),
        "sum_not_rescaled": (
            "A later tile has a larger maximum.  Which of the three running values change?",
            "All: total times exp(top - new) as well.",
        ),
        "first_tile_only": ("How many tiles of keys are there?", "range(0, last, BK)."),
        "last_tile_only": (
            "What is added to what in each step?",
            "acc = tl.dot(p, v, acc * old), total = total * old + ..., starting from zeros.",
        ),
        "max_not_subtracted": (
            "What is exp(10000) in float32?",
            "Keep a running maximum of each row, and take exp of differences to it.",
        ),
        "not_divided": ("What do the weights of a row add up to?", "Divide by total at the end."),
        "lse_without_maximum": ("exp(s - top) was summed.  What is missing?", "top + log(total)."),
        "lse_without_logarithm": ("What is lse the logarithm of?", "top + tl.log(total)."),
        "lse_is_the_sum": ("What is lse the logarithm of?", "top + tl.log(total)."),
        "lse_is_the_maximum": ("What does lse hold besides the maximum?", "+ tl.log(total)."),
        "lse_base_two": ("Which base has lse?", "e: times log(2) = 0.6931."),
        "lse_log_base_two": ("Which base has tl.log2?", "2; both terms have to be in base e."),
        "too_many_bytes": (
            "With CAUSAL, which is the last key that any row of this tile of queries may see?",
            "End the loop at min(m, first + BQ + m - n), and load q before it.",
        ),
    },
)  # fmt: skip


# -- flash_elements ----------------------------------------------------------------------------

Tally = Callable[[int, int, int, int, int, bool], tuple[int, int, int]]


def flash_elements(n: int, m: int, d: int, bq: int, bk: int, causal: bool) -> tuple[int, int, int]:
    """(visits, elements loaded, elements stored) of the forward pass, one head."""
    visits = sum(visits_of(n, m, bq, bk, causal))
    return visits, n * d + 2 * d * keys_loaded(n, m, bq, bk, causal), n * d + n


def flash_inputs(
    rng: np.random.Generator, level: Level
) -> Iterator[tuple[int, int, int, int, int, bool]]:
    """Examples, tails, causal with every relation of n and m, large ones."""
    yield from [
        (64, 64, 16, 32, 16, False), (64, 64, 16, 32, 16, True), (1, 1, 16, 16, 16, False),
        (40, 70, 24, 16, 32, False), (40, 70, 24, 32, 16, True), (70, 40, 24, 16, 16, True),
        (1, 100, 64, 16, 16, True), (100, 16, 32, 16, 64, True), (33, 64, 16, 32, 32, True),
        (1024, 1024, 64, 128, 64, False), (1024, 1024, 64, 128, 64, True),
    ]  # fmt: skip
    for number in range(4 if level == "student" else 20):
        n, m = (int(one) for one in rng.integers(1, 400, size=2))
        d, bq, bk = (int(one) for one in rng.choice([16, 32, 64], size=3))
        yield n, m, d, bq, bk, number % 3 != 2


def flash_by(
    visits: Callable[..., int] | None = None,
    loaded: Callable[..., int] | None = None,
    stored: Callable[..., int] | None = None,
) -> Tally:
    """A suspect: some of the numbers by another rule."""

    def mistake(n: int, m: int, d: int, bq: int, bk: int, causal: bool) -> tuple[int, int, int]:
        right = flash_elements(n, m, d, bq, bk, causal)
        rules = (visits, loaded, stored)
        one, two, three = (
            value if rule is None else rule(n, m, d, bq, bk, causal)
            for rule, value in zip(rules, right, strict=True)
        )
        return one, two, three

    return mistake


def _with_visits(rule: Callable[[int, int, int, int, bool], list[int]]) -> Tally:
    """A suspect: other numbers of visits, and the elements that follow from them."""

    def mistake(n: int, m: int, d: int, bq: int, bk: int, causal: bool) -> tuple[int, int, int]:
        tiles = rule(n, m, bq, bk, causal)
        keys = sum(min(m, max(0, count) * bk) for count in tiles)
        return sum(tiles), n * d + 2 * d * keys, n * d + n

    return mistake


def _ends(n: int, bq: int) -> list[int]:
    return [min(first + bq, n) for first in range(0, n, bq)]


def _top_left(n: int, m: int, bq: int, bk: int, causal: bool) -> list[int]:
    limits = [min(m, end) if causal else m for end in _ends(n, bq)]
    return [-(-limit // bk) for limit in limits]


def _not_below_zero(n: int, m: int, bq: int, bk: int, causal: bool) -> list[int]:
    limits = [min(m, end + m - n) if causal else m for end in _ends(n, bq)]
    return [-(-limit // bk) for limit in limits]


def _of_first_row(n: int, m: int, bq: int, bk: int, causal: bool) -> list[int]:
    firsts = range(0, n, bq)
    limits = [min(m, first + 1 + m - n) if causal else m for first in firsts]
    return [max(0, -(-limit // bk)) for limit in limits]


def _keys_below_zero(
    n: int, m: int, d: int, bq: int, bk: int, causal: bool
) -> tuple[int, int, int]:
    tiles = _not_below_zero(n, m, bq, bk, causal)
    return sum(tiles), n * d + 2 * d * sum(min(m, count * bk) for count in tiles), n * d + n


def _rounded_down(n: int, m: int, bq: int, bk: int, causal: bool) -> list[int]:
    limits = [min(m, end + m - n) if causal else m for end in _ends(n, bq)]
    return [max(0, limit // bk) for limit in limits]


def _only_seen(n: int, m: int, d: int, bq: int, bk: int, causal: bool) -> int:
    limits = [min(m, end + m - n) if causal else m for end in _ends(n, bq)]
    return n * d + 2 * d * sum(max(0, limit) for limit in limits)


FLASH_ELEMENTS = FunctionSpec(
    "flash_elements", UNIT, 3, flash_inputs, flash_elements,
    suspects={
        "causal_ignored": _with_visits(lambda n, m, bq, bk, c: visits_of(n, m, bq, bk, False)),
        "causal_top_left": _with_visits(_top_left),
        "visits_below_zero": _with_visits(_not_below_zero),
        "of_first_row": _with_visits(_of_first_row),
        "keys_below_zero": _keys_below_zero,
        "rounded_down": _with_visits(_rounded_down),
        "half_of_all": _with_visits(
            lambda n, m, bq, bk, c: (
                [-(-m // bk) / 2 for _ in _ends(n, bq)] if c  # type: ignore[misc]
                else visits_of(n, m, bq, bk, False)
            )
        ),
        "whole_tiles_loaded": flash_by(
            loaded=lambda n, m, d, bq, bk, c: (
                n * d + 2 * d * bk * sum(visits_of(n, m, bq, bk, c))
            )
        ),
        "only_seen_keys": flash_by(loaded=_only_seen),
        "keys_once": flash_by(loaded=lambda n, m, d, *rest: n * d + 2 * m * d),
        "values_forgotten": flash_by(
            loaded=lambda n, m, d, bq, bk, c: n * d + d * keys_loaded(n, m, bq, bk, c)
        ),
        "queries_forgotten": flash_by(
            loaded=lambda n, m, d, bq, bk, c: 2 * d * keys_loaded(n, m, bq, bk, c)
        ),
        "queries_each_visit": flash_by(
            loaded=lambda n, m, d, bq, bk, c: d * sum(
                count * (end - first) for count, first, end in zip(
                    visits_of(n, m, bq, bk, c), range(0, n, bq), _ends(n, bq), strict=True
                )
            ) + 2 * d * keys_loaded(n, m, bq, bk, c)
        ),
        "for_each_query": flash_by(loaded=lambda n, m, d, *rest: n * d + 2 * n * m * d),
        "lse_forgotten": flash_by(stored=lambda n, m, d, *rest: n * d),
        "two_numbers_a_row": flash_by(stored=lambda n, m, d, *rest: n * d + 2 * n),
        "tiles_exchanged": lambda n, m, d, bq, bk, c: flash_elements(n, m, d, bk, bq, c),
        "bytes_not_elements": lambda n, m, d, bq, bk, c: (
            flash_elements(n, m, d, bq, bk, c)[0],
            2 * flash_elements(n, m, d, bq, bk, c)[1],
            2 * flash_elements(n, m, d, bq, bk, c)[2],
        ),
    },
    causes={
        **MASK_CAUSES,
        "causal_ignored": "Tiles of keys that come after all queries of a tile are not visited.",
        "visits_below_zero": "A tile of queries that sees no key has a negative number of visits.",
        "keys_below_zero": "A tile of queries that sees no key has a negative number of visits "
        "and of keys.",
        "of_first_row": "The visits follow from the first query of each tile; its last query sees "
        "the most keys.",
        "rounded_down": "A tile of keys that is seen in part is visited as well.",
        "half_of_all": "That is half of all visits.  Tiles on the diagonal are visited whole.",
        "whole_tiles_loaded": "Lanes beyond the last key are masked off and load nothing.",
        "only_seen_keys": "A tile of keys is loaded whole, the keys on the far side of the "
        "diagonal, too.",
        "keys_once": "That is each key once; each tile of queries loads the keys that it needs.",
        "values_forgotten": "Each visit loads a tile of k and a tile of v.",
        "queries_forgotten": "The queries are loaded as well, once.",
        "queries_each_visit": "A tile of queries is loaded once and stays.",
        "for_each_query": "That is all keys for each query; a tile of bq queries shares a load.",
        "lse_forgotten": "The lse is stored as well: one element for each query.",
        "two_numbers_a_row": "One number is stored for each query besides its output.",
        "tiles_exchanged": "bq is the tile of queries, bk the tile of keys.",
        "bytes_not_elements": "Elements are asked for, not bytes.",
    },
    hints={
        "causal_ignored": (
            "Which is the last key that any query of the tile may see?",
            "That of its last query: end + m - n keys, at most m, where end = min(first + bq, n).",
        ),
        "causal_top_left": (
            "Which keys does the last query see?",
            "All: query i sees key j when j <= i + m - n.",
        ),
        "visits_below_zero": (
            "n = 70, m = 40: how many keys does query 0 see?",
            "None.  max(0, ...) of the number of keys.",
        ),
        "keys_below_zero": (
            "n = 100, m = 16: how many keys does query 15 see?",
            "None, not 15 + 1 + 16 - 100: max(0, end + m - n).",
        ),
        "of_first_row": (
            "Which query of a tile sees the most keys?",
            "Its last one, number min(first + bq, n) - 1.",
        ),
        "rounded_down": ("17 keys, tiles of 16: how many visits?", "2: -(-keys // bk)."),
        "half_of_all": (
            "4 x 4 tiles, n = m: how many does the lesson's picture show?",
            "10, not 8.  Count each tile of queries by itself.",
        ),
        "whole_tiles_loaded": (
            "m = 70, tiles of 32: how many keys has the third tile?",
            "6: a row of tiles loads min(m, visits * bk) keys.",
        ),
        "only_seen_keys": (
            "How much of a tile on the diagonal does a visit load?",
            "All of it that lies below m.  So min(m, visits * bk) keys.",
        ),
        "keys_once": (
            "Which programs need key 0?",
            "All that have a query which sees it: about one for each bq queries.",
        ),
        "values_forgotten": ("Which two tiles does a step load?", "One of k, one of v: 2 * d."),
        "queries_forgotten": ("What does a program load first?", "n * d elements of q in all."),
        "queries_each_visit": ("Is the load of q inside the loop?", "No: n * d in all."),
        "for_each_query": ("How many queries share a tile of keys?", "bq of them."),
        "lse_forgotten": ("What is stored besides out?", "n * d + n."),
        "two_numbers_a_row": ("What is m + log(l)?", "One number: n * d + n."),
        "tiles_exchanged": ("Which tile stays, and which passes?", "bq stays, bk passes."),
        "bytes_not_elements": ("What is asked for?", "Elements: no factor of 2 or 4."),
        "wrong_values": (
            "Go through the tiles of queries one by one: which keys does each load?",
            "end = min(first + bq, n); keys = end + m - n if causal else m, from 0 to m; visits = "
            "-(-keys // bk); loaded min(m, visits * bk) rows of k and of v.",
        ),
    },
)  # fmt: skip


# -- backward ----------------------------------------------------------------------------------


def backward_tensors(
    rng: np.random.Generator, sizes: Sizes, kind: str
) -> tuple[dict[str, Array], dict[str, int | float | bool]]:
    """q, k, v, out, dout, lse and delta of a right forward pass, and the constants."""
    arrays = tensors(rng, sizes, kind)
    numbers = constants(sizes, rng, kind)
    right = attend(Case({**arrays, **numbers}, 1, 1))
    out = right["out"].astype(np.float16)
    dout = rng.normal(size=out.shape).astype(np.float16)
    delta = (out.astype(float) * dout.astype(float)).sum(axis=-1).astype(np.float32)
    more = {"out": out, "dout": dout, "lse": right["lse"].astype(np.float32), "delta": delta}
    return {**arrays, **more}, numbers


def queries_case(rng: np.random.Generator, sizes: Sizes, kind: str = "") -> Case:
    """(dq, delta, q, k, v, out, dout, lse, n, m, d, scale, CAUSAL, BQ, BK, D)."""
    arrays, numbers = backward_tensors(rng, sizes, kind)
    heads, n = sizes[:2]
    args = {
        "dq": np.zeros_like(arrays["q"]), "delta": np.zeros((heads, n), np.float32),
        **{name: arrays[name] for name in ("q", "k", "v", "out", "dout", "lse")}, **numbers,
    }  # fmt: skip
    label = named(sizes) + (", scores near 1280" if kind else "")
    return Case(args, (ceil_div(n, sizes[5]), heads), (padded(sizes[3]), sizes[5]), label)


def keys_case(rng: np.random.Generator, sizes: Sizes, kind: str = "") -> Case:
    """(dk, dv, q, k, v, dout, lse, delta, n, m, d, scale, CAUSAL, BQ, BK, D)."""
    arrays, numbers = backward_tensors(rng, sizes, kind)
    heads, m = sizes[0], sizes[2]
    args = {
        "dk": np.zeros_like(arrays["k"]), "dv": np.zeros_like(arrays["v"]),
        **{name: arrays[name] for name in ("q", "k", "v", "dout", "lse", "delta")}, **numbers,
    }  # fmt: skip
    label = named(sizes) + (", scores near 1280" if kind else "")
    return Case(args, (ceil_div(m, sizes[6]), heads), (padded(sizes[3]), sizes[6]), label)


def backward_cases(
    made: Callable[..., Case], kind: str
) -> Callable[[np.random.Generator, Level], Iterator[Case]]:
    def cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
        for sizes in drawn(rng, level):
            yield made(rng, sizes)
        yield made(rng, LARGE[1][0], kind)

    return cases


def gradients(
    case: Case, *, mask: Mask = visible, scores_by: float | None = None, by: float | None = None,
    delta: float = 1.0, with_lse: bool = True, values: str = "v", dv_by: str = "p",
    rows: Callable[[int], slice] = lambda n: slice(0, n),
    keys: Callable[[int], slice] = lambda m: slice(0, m),
) -> Found:  # fmt: skip
    """dq, dk, dv and delta in float64 from the case's lse; each argument is a mistake's dial.

    by: the factor of dq and dk; delta: the factor of delta; values: what dP is made with;
    rows, keys: which of them count.
    """
    q, k, v, dout, lse = given(case, "q", "k", "v", "dout", "lse")
    if "out" in case.args:
        sums = (given(case, "out")[0] * dout).sum(axis=-1)
    else:
        (sums,) = given(case, "delta")
    hidden = ~mask(case)
    kept = np.zeros((case.args["n"], case.args["m"]), bool)
    kept[rows(case.args["n"]), keys(case.args["m"])] = True
    with np.errstate(all="ignore"):
        s = (case.args["scale"] if scores_by is None else scores_by) * q @ k.swapaxes(1, 2)
        p = np.exp(s - lse[..., None] if with_lse else s)
        p = np.where(hidden | ~kept, 0.0, p)
        dp = dout @ (v if values == "v" else k).swapaxes(1, 2)
        ds = np.where(hidden | ~kept, 0.0, p * (dp - delta * sums[..., None]))
        factor = case.args["scale"] if by is None else by
        return {
            "dq": factor * ds @ k,
            "delta": sums,
            "dk": factor * ds.swapaxes(1, 2) @ q,
            "dv": (p if dv_by == "p" else ds).swapaxes(1, 2) @ dout,
        }


def only(*names: str, **dials: object) -> Callable[[Case], Found]:
    """Some of the gradients, by `gradients` with its dials."""

    def found(case: Case) -> Found:
        every = gradients(case, **dials)  # type: ignore[arg-type]
        return {name: every[name] for name in names}

    return found


def nan_queries(which: Callable[[Case], Array]) -> Callable[[Case], Found]:
    """dq is NaN for some of the queries."""

    def found(case: Case) -> Found:
        every = gradients(case)
        bad = which(case)[:, None]
        return {"dq": np.where(bad, np.nan, every["dq"]), "delta": every["delta"]}

    return found


def nan_keys(skipping: bool) -> Callable[[Case], Found]:
    """dk and dv are NaN in tiles of keys that an empty query is visited by."""

    def found(case: Case) -> Found:
        n, m, bq, bk = (case.args[name] for name in ("n", "m", "BQ", "BK"))
        begins = begins_of(n, m, bq, bk, case.args["CAUSAL"] and skipping)
        lost = [np.nan if empty(case)[begin:].any() else 0.0 for begin in begins]
        added = np.repeat(lost, bk)[:m, None]
        return {name: one + added for name, one in only("dk", "dv")(case).items()}

    return found


def of_first_head(*names: str) -> Callable[[Case], Found]:
    """Each head reads the inputs of head 0."""
    inputs = ("q", "k", "v", "out", "dout", "lse", "delta")

    def found(case: Case) -> Found:
        args = dict(case.args)
        for name in inputs:
            if name in args and name not in names:
                args[name] = np.repeat(args[name][:1], len(args[name]), 0)
        every = gradients(Case(args, case.grid, case.block))
        return {name: every[name] for name in names}

    return found


def other_delta(rule: Callable[[Array, Array], Array]) -> Callable[[Case], Found]:
    """delta by rule(out, dout)."""
    return lambda case: {"delta": rule(*given(case, "out", "dout"))}


def tiles_of_keys(*names: str, last: bool) -> Callable[[Case], Found]:
    """Only the first, or the last, tile of keys counts."""

    def found(case: Case) -> Found:
        m, size = case.args["m"], case.args["BK"]
        part = slice((m - 1) // size * size, m) if last else slice(0, size)
        every = gradients(case, keys=lambda _: part)
        return {name: every[name] for name in names}

    return found


def tiles_of_queries(*names: str, last: bool) -> Callable[[Case], Found]:
    """Only the first, or the last, tile of queries counts."""

    def found(case: Case) -> Found:
        n, size = case.args["n"], case.args["BQ"]
        part = slice((n - 1) // size * size, n) if last else slice(0, size)
        every = gradients(case, rows=lambda _: part)
        return {name: every[name] for name in names}

    return found


def begins_of(n: int, m: int, bq: int, bk: int, causal: bool) -> list[int]:
    """For each tile of keys, the first query that it has to load."""
    firsts = [max(0, first + n - m) if causal else 0 for first in range(0, m, bk)]
    return [min(n, first // bq * bq) for first in firsts]


def queries_loaded(n: int, m: int, bq: int, bk: int, causal: bool) -> int:
    """Rows of q, and as many of dout, that all tiles of keys load together."""
    return sum(n - begin for begin in begins_of(n, m, bq, bk, causal))


def keys_bytes(case: Case) -> int:
    """Bytes that grad_keys may load."""
    n, m, d, bq, bk = (case.args[name] for name in ("n", "m", "d", "BQ", "BK"))
    rows = queries_loaded(n, m, bq, bk, case.args["CAUSAL"])
    return len(case.args["q"]) * (2 * 2 * m * d + rows * (2 * 2 * d + 2 * 4))


BACK_CAUSES = {
    **MASK_CAUSES,
    **HEAD_CAUSES,
    "nan_for_empty": "Queries that see no key make NaN: their lse is -inf.",
    "nan_in_visits": "Queries that see no key make NaN: their lse is -inf.",
    "delta_missing": "delta is not subtracted from dP.",
    "delta_added": "delta is added to dP, not subtracted.",
    "scale_missing": "The scale is missing in front of the gradient.",
    "scale_twice": "The scale stands in front of the gradient twice.",
    "scores_unscaled": "The scores are not scaled, so P is not that of the forward pass.",
    "lse_ignored": "P is exp(s) here: the lse is not subtracted.",
    "keys_for_values": "dP is made with k.  The output was made with v.",
}
BACK_HINTS = {
    **MASK_HINTS,
    "nan_for_empty": (
        "What is exp(s - lse) where lse is -inf?",
        "Infinite, or NaN.  tl.where(seen, tl.exp(s - lse), 0.0) leaves it out.",
    ),
    "nan_in_visits": (
        "What is exp(s - lse) where lse is -inf?",
        "Infinite, or NaN.  tl.where(seen, tl.exp(s - lse), 0.0) leaves it out.",
    ),
    "reduced_precision": (
        "In which dtype are out and dout when you multiply them?",
        "float16 has three digits: .to(tl.float32) for both, then the product and the sum.",
    ),
    "delta_missing": (
        "What does the gradient of a softmax subtract?",
        "dS = P * (dP - delta[:, None]).",
    ),
    "delta_added": ("Which sign has delta?", "dS = P * (dP - delta[:, None])."),
    "scale_missing": (
        "s = scale * q k.  What is the gradient of q, given that of s?",
        "scale times dS k; scale times dS q for the keys.",
    ),
    "scale_twice": ("How often does scale stand in s = scale * q k?", "Once."),
    "scores_unscaled": ("What did the forward pass exponentiate?", "scale * tl.dot(...)."),
    "lse_ignored": ("What makes the shares of a row add up to 1?", "P = exp(s - lse)."),
    "keys_for_values": ("out = P v.  What is dP?", "dout times v, turned."),
    "too_many_bytes": (
        "Which tiles does no row of this program need, and which tiles are loaded in each step?",
        "Load what stays before the loop; with CAUSAL leave out tiles that are hidden as a whole.",
    ),
    "wrong_values": (
        "Take one pair of tiles from the lesson, line by line: s, P, dP, dS.",
        "P = exp(s - lse), dP = dout v, dS = P * (dP - delta), dq = scale dS k, dv = P dout, dk = "
        "scale dS q; the last two with P and dS turned.",
    ),
}

GRAD_QUERIES = TritonSpec(
    "grad_queries", UNIT, 3, ("delta", "dq"), backward_cases(queries_case, "queries"),
    only("dq", "delta"),
    tolerance=HALF,
    traffic=(
        Traffic("loaded", lambda case: forward_bytes(case, rows=3, lse=1)),
        Traffic("stored", lambda case: 2 * case.args["q"].size + 4 * case.args["lse"].size),
    ),
    counted=lambda: queries_case(np.random.default_rng(10), COUNTED),
    suspects={
        "nan_for_empty": nan_queries(empty),
        "nan_in_visits": nan_queries(empty_in_visits),
        "delta_missing": only("dq", "delta", delta=0.0),
        "delta_added": only("dq", "delta", delta=-1.0),
        "scale_missing": only("dq", "delta", by=1.0),
        "scale_twice": lambda case: only("dq", "delta", by=case.args["scale"] ** 2)(case),
        "scores_unscaled": only("dq", "delta", scores_by=1.0),
        "lse_ignored": only("dq", "delta", with_lse=False),
        "keys_for_values": only("dq", "delta", values="k"),
        "causal_ignored": only("dq", "delta", mask=everything),
        "causal_top_left": only("dq", "delta", mask=top_left),
        "itself_hidden": only("dq", "delta", mask=itself_hidden),
        "first_head_only": of_first_head("dq", "delta"),
        "first_tile_only": tiles_of_keys("dq", "delta", last=False),
        "last_tile_only": tiles_of_keys("dq", "delta", last=True),
        "delta_is_a_mean": other_delta(lambda out, dout: (out * dout).mean(axis=-1)),
        "delta_of_out": other_delta(lambda out, dout: (out * out).sum(axis=-1)),
        "delta_of_dout": other_delta(lambda out, dout: (dout * dout).sum(axis=-1)),
    },
    causes={
        **BACK_CAUSES,
        "first_tile_only": "Only the keys of the first tile count.",
        "last_tile_only": "Only the keys of the last tile count.",
        "delta_is_a_mean": "delta is the mean of out * dout along the row; it has to be the sum.",
        "delta_of_out": "delta is the sum of out * out.",
        "delta_of_dout": "delta is the sum of dout * dout.",
        "too_many_bytes": "Some tiles are loaded more often than needed: keys that no row of the "
        "tile may see, or rows of q, out and dout in each step.",
    },
    hints={
        **BACK_HINTS,
        "first_tile_only": ("How many tiles of keys are there?", "range(0, last, BK)."),
        "last_tile_only": ("What is added to what in each step?", "acc = tl.dot(ds, k, acc)."),
        "delta_is_a_mean": ("Sum or mean?", "tl.sum(out * dout, axis=1)."),
        "delta_of_out": ("Which two rows are multiplied?", "out and dout."),
        "delta_of_dout": ("Which two rows are multiplied?", "out and dout."),
    },
)  # fmt: skip

GRAD_KEYS = TritonSpec(
    "grad_keys", UNIT, 3, ("dk", "dv"), backward_cases(keys_case, "keys"), only("dk", "dv"),
    tolerance=HALF,
    traffic=(
        Traffic("loaded", keys_bytes),
        Traffic("stored", lambda case: 4 * case.args["k"].size),
    ),
    counted=lambda: keys_case(np.random.default_rng(10), COUNTED),
    suspects={
        "nan_for_empty": nan_keys(False),
        "nan_in_visits": nan_keys(True),
        "delta_missing": only("dk", "dv", delta=0.0),
        "delta_added": only("dk", "dv", delta=-1.0),
        "scale_missing": only("dk", "dv", by=1.0),
        "scale_twice": lambda case: only("dk", "dv", by=case.args["scale"] ** 2)(case),
        "scores_unscaled": only("dk", "dv", scores_by=1.0),
        "lse_ignored": only("dk", "dv", with_lse=False),
        "keys_for_values": only("dk", "dv", values="k"),
        "causal_ignored": only("dk", "dv", mask=everything),
        "causal_top_left": only("dk", "dv", mask=top_left),
        "itself_hidden": only("dk", "dv", mask=itself_hidden),
        "first_head_only": of_first_head("dk", "dv"),
        "first_tile_only": tiles_of_queries("dk", "dv", last=False),
        "last_tile_only": tiles_of_queries("dk", "dv", last=True),
        "dv_from_ds": only("dk", "dv", dv_by="ds"),
    },
    causes={
        **BACK_CAUSES,
        "first_tile_only": "Only the queries of the first tile count.",
        "last_tile_only": "Only the queries of the last tile count.",
        "dv_from_ds": "dk is right; dv is made with dS, and has to be made with P.",
        "too_many_bytes": "Some tiles are loaded more often than needed: queries that see no key "
        "of the tile, or rows of k and v in each step.",
    },
    hints={
        **BACK_HINTS,
        "first_tile_only": ("How many tiles of queries are there?", "The loop ends at n."),
        "last_tile_only": ("What is added to what in each step?", "acc = tl.dot(..., acc)."),
        "dv_from_ds": ("out = P v.  What is the gradient of v?", "P, turned, times dout."),
        "too_many_bytes": (
            "Which is the first query that sees any key of this tile?",
            "Query first + n - m, or 0.  Begin at its tile: max(0, first + n - m) // BQ * BQ.",
        ),
    },
)  # fmt: skip


SPECS = [ATTENTION_ELEMENTS, MERGE_PARTS, FLASH_FORWARD, FLASH_ELEMENTS, GRAD_QUERIES, GRAD_KEYS]
