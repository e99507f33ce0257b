"""Runs a tape: the arithmetic of one loop, for a strip of lanes at a time, until all have left.

NumPy does each step of a loop for all lanes of a chunk, as long as one of them goes on.  Here a
strip of lanes leaves when it is done, and its numbers stay in the processor's cache.  One compiled
loop, kept on disk, serves all tapes: nothing is compiled for a kernel.

Glossary
    register  a row of numbers, one for each lane of a strip, in one of three banks: float64,
              float32, or int64 for integers and truth values
    step      (operation, result, first, second, extra): numbers of registers, or of what is counted
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

WIDTH = 128  # lanes of a strip
WARP = 32
ROUNDS = 4096  # of a loop, after which somebody has to look whether it ends

(
    ADD_F, SUB_F, MUL_F, DIV_F, NEG_F, LT_F, LE_F, EQ_F, NE_F, MOVE_F, SELECT_F,
    ADD_G, SUB_G, MUL_G, DIV_G, NEG_G, LT_G, LE_G, EQ_G, NE_G, MOVE_G, SELECT_G,
    ADD_I, SUB_I, MUL_I, FLOOR_I, REST_I, LT_I, LE_I, EQ_I, NE_I, MOVE_I, SELECT_I,
    AND, OR, XOR, AND_NOT, CUT, I_TO_F, I_TO_G, G_TO_F, F_TO_G, SEGMENT, BRANCH,
) = range(44)  # fmt: skip


@numba.njit(cache=True, nogil=True)
def _load(state: Any, bank: Any, k: int, lane: int) -> None:
    for v in range(state.shape[0]):
        bank[v, k] = state[v, lane]


@numba.njit(cache=True, nogil=True)
def _store(state: Any, bank: Any, k: int, lane: int, changed: int) -> None:
    for v in range(changed):
        state[v, lane] = bank[v, k]


@numba.njit(cache=True, nogil=True)
def _move(bank: Any, variables: int, to: int, k: int) -> None:
    for v in range(variables):
        bank[v, to] = bank[v, k]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def run(
    steps: Any, rounds: int, pack: bool, mask: Any, f_state: Any, g_state: Any, i_state: Any,
    changed: Any, f: Any, g: Any, i: Any, segments: Any, branches: Any, sizes: Any, slots: Any,
) -> bool:  # fmt: skip
    """Run the loop for every lane of the mask; True when all have left it.

    steps: (steps, 5) int64, the body and then the test.  pack: whether new lanes take the places of
    those that have left; without it a strip's warps are warps of a block, as counting needs.
    mask: (lanes,) int64, 1 for who is before the body; afterwards for who still is after so
    many rounds of each strip.
    f_state, g_state, i_state: (variables, lanes), in the first registers of their banks, of which
    the first `changed` (3,) are written back; the mask is the register after i_state's.
    f, g, i: (registers, WIDTH), with constants in place.
    segments: (segments, 2) lanes and warps; branches: (branches, 4) warps, divergent, lanes, taken;
    sizes: instructions of each segment; slots: (warps,) instructions issued.
    """
    lanes = mask.size
    at = i_state.shape[0]
    who = np.empty(WIDTH, np.int64)
    n = active = 0  # places that are taken, and those of lanes in the loop
    following = 0  # the lane that comes next
    rounds *= lanes // WIDTH + 1
    i[at, :] = 0
    while rounds > 0:
        if active < n and (active == 0 or (pack and active <= n - WIDTH // 4)):
            kept = 0
            for k in range(n):
                if i[at, k]:
                    if kept < k:
                        who[kept] = who[k]
                        _move(f, f_state.shape[0], kept, k)
                        _move(g, g_state.shape[0], kept, k)
                        _move(i, at, kept, k)
                    kept += 1
                    continue
                _store(f_state, f, k, who[k], changed[0])
                _store(g_state, g, k, who[k], changed[1])
                _store(i_state, i, k, who[k], changed[2])
                mask[who[k]] = 0
            for k in range(n):
                i[at, k] = k < kept
            n = kept
        if n == 0 or pack:
            while n < WIDTH and following < lanes:
                if mask[following] or not pack:
                    _load(f_state, f, n, following)
                    _load(g_state, g, n, following)
                    _load(i_state, i, n, following)
                    who[n] = following
                    i[at, n] = mask[following]
                    n += 1
                following += 1
            if n == 0:
                return True
        first_warp = 0 if pack else who[0] // WARP
        for s in range(steps.shape[0]):
            op, d, a, b, e = steps[s, 0], steps[s, 1], steps[s, 2], steps[s, 3], steps[s, 4]
            if op == ADD_F:
                for k in range(WIDTH):
                    f[d, k] = f[a, k] + f[b, k]
            elif op == SUB_F:
                for k in range(WIDTH):
                    f[d, k] = f[a, k] - f[b, k]
            elif op == MUL_F:
                for k in range(WIDTH):
                    f[d, k] = f[a, k] * f[b, k]
            elif op == DIV_F:
                for k in range(WIDTH):
                    f[d, k] = f[a, k] / f[b, k]
            elif op == NEG_F:
                for k in range(WIDTH):
                    f[d, k] = -f[a, k]
            elif op == LT_F:
                for k in range(WIDTH):
                    i[d, k] = f[a, k] < f[b, k]
            elif op == LE_F:
                for k in range(WIDTH):
                    i[d, k] = f[a, k] <= f[b, k]
            elif op == EQ_F:
                for k in range(WIDTH):
                    i[d, k] = f[a, k] == f[b, k]
            elif op == NE_F:
                for k in range(WIDTH):
                    i[d, k] = f[a, k] != f[b, k]
            elif op == MOVE_F:
                for k in range(WIDTH):
                    f[d, k] = f[a, k]
            elif op == SELECT_F:
                for k in range(WIDTH):
                    x, y = f[a, k], f[b, k]
                    f[d, k] = x if i[e, k] else y
            elif op == ADD_G:
                for k in range(WIDTH):
                    g[d, k] = g[a, k] + g[b, k]
            elif op == SUB_G:
                for k in range(WIDTH):
                    g[d, k] = g[a, k] - g[b, k]
            elif op == MUL_G:
                for k in range(WIDTH):
                    g[d, k] = g[a, k] * g[b, k]
            elif op == DIV_G:
                for k in range(WIDTH):
                    g[d, k] = g[a, k] / g[b, k]
            elif op == NEG_G:
                for k in range(WIDTH):
                    g[d, k] = -g[a, k]
            elif op == LT_G:
                for k in range(WIDTH):
                    i[d, k] = g[a, k] < g[b, k]
            elif op == LE_G:
                for k in range(WIDTH):
                    i[d, k] = g[a, k] <= g[b, k]
            elif op == EQ_G:
                for k in range(WIDTH):
                    i[d, k] = g[a, k] == g[b, k]
            elif op == NE_G:
                for k in range(WIDTH):
                    i[d, k] = g[a, k] != g[b, k]
            elif op == MOVE_G:
                for k in range(WIDTH):
                    g[d, k] = g[a, k]
            elif op == SELECT_G:
                for k in range(WIDTH):
                    u, v = g[a, k], g[b, k]
                    g[d, k] = u if i[e, k] else v
            elif op == ADD_I:
                for k in range(WIDTH):
                    i[d, k] = i[a, k] + i[b, k]
            elif op == SUB_I:
                for k in range(WIDTH):
                    i[d, k] = i[a, k] - i[b, k]
            elif op == MUL_I:
                for k in range(WIDTH):
                    i[d, k] = i[a, k] * i[b, k]
            elif op == FLOOR_I:  # by a constant above zero
                by = i[b, 0]
                if by & (by - 1) == 0:
                    shift = 0
                    while by >> shift > 1:
                        shift += 1
                    for k in range(WIDTH):
                        i[d, k] = i[a, k] >> shift
                else:
                    for k in range(WIDTH):
                        i[d, k] = i[a, k] // by
            elif op == REST_I:
                by = i[b, 0]
                if by & (by - 1) == 0:
                    for k in range(WIDTH):
                        i[d, k] = i[a, k] & (by - 1)
                else:
                    for k in range(WIDTH):
                        i[d, k] = i[a, k] % by
            elif op == LT_I:
                for k in range(WIDTH):
                    i[d, k] = i[a, k] < i[b, k]
            elif op == LE_I:
                for k in range(WIDTH):
                    i[d, k] = i[a, k] <= i[b, k]
            elif op == EQ_I:
                for k in range(WIDTH):
                    i[d, k] = i[a, k] == i[b, k]
            elif op == NE_I:
                for k in range(WIDTH):
                    i[d, k] = i[a, k] != i[b, k]
            elif op == MOVE_I:
                for k in range(WIDTH):
                    i[d, k] = i[a, k]
            elif op == SELECT_I:
                for k in range(WIDTH):
                    p, q = i[a, k], i[b, k]
                    i[d, k] = p if i[e, k] else q
            elif op == AND:
                for k in range(WIDTH):
                    i[d, k] = i[a, k] & i[b, k]
            elif op == OR:
                for k in range(WIDTH):
                    i[d, k] = i[a, k] | i[b, k]
            elif op == XOR:
                for k in range(WIDTH):
                    i[d, k] = i[a, k] ^ i[b, k]
            elif op == AND_NOT:
                for k in range(WIDTH):
                    i[d, k] = i[a, k] & ~i[b, k]
            elif op == CUT:  # to the low 64 - e bits, with sign
                for k in range(WIDTH):
                    i[d, k] = (i[a, k] << e) >> e
            elif op == I_TO_F:
                for k in range(WIDTH):
                    f[d, k] = np.float64(i[a, k])
            elif op == I_TO_G:
                for k in range(WIDTH):
                    g[d, k] = np.float32(i[a, k])
            elif op == G_TO_F:
                for k in range(WIDTH):
                    f[d, k] = np.float64(g[a, k])
            elif op == F_TO_G:
                for k in range(WIDTH):
                    g[d, k] = np.float32(f[a, k])
            elif op == SEGMENT:
                for warp in range(WIDTH // WARP):
                    here = 0
                    for k in range(WARP * warp, WARP * warp + WARP):
                        here += i[a, k]
                    if here:
                        segments[d, 0] += here
                        segments[d, 1] += 1
                        slots[first_warp + warp] += sizes[d]
            elif op == BRANCH:
                for warp in range(WIDTH // WARP):
                    yes = no = 0
                    for k in range(WARP * warp, WARP * warp + WARP):
                        yes += i[a, k]
                        no += i[b, k]
                    branches[d, 0] += yes + no > 0
                    branches[d, 1] += yes > 0 and no > 0
                    branches[d, 2] += yes + no
                    branches[d, 3] += yes
        active = 0
        for k in range(WIDTH):
            active += i[at, k]
        rounds -= 1
    for k in range(n):
        _store(f_state, f, k, who[k], changed[0])
        _store(g_state, g, k, who[k], changed[1])
        _store(i_state, i, k, who[k], changed[2])
        mask[who[k]] = i[at, k]
    return False


def registers(floats: int, singles: int, integers: int) -> tuple[Any, Any, Any]:
    """The three banks."""
    return (
        np.zeros((floats, WIDTH)), np.zeros((singles, WIDTH), np.float32),
        np.zeros((integers, WIDTH), np.int64),
    )  # fmt: skip


def warm() -> None:
    """Compile the loop, so that the first launch starts fast."""
    counts = np.zeros((1, 4), np.int64)
    state = np.zeros((0, 4))
    run(np.zeros((0, 5), np.int64), 1, True, counts[0], state, state.astype(np.float32),
        state.astype(np.int64), counts[0], *registers(1, 1, 1), counts, counts, counts[0],
        counts[0])  # fmt: skip
