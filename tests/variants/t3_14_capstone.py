"""Unusual but right answers to the lab t3_14_capstone."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from tests.variants import variant


@variant("days_to_train")
def passes_added_up(parameters, tokens, gpus, tflops, recomputed):
    passes = [2, 4] + [2] * recomputed
    seconds = sum(n * parameters * tokens for n in passes) / tflops / 1e12 / gpus
    return np.float64(seconds / 60 / 60 / 24)


@variant("held_bytes")
def stage_by_stage(
    layers, hidden, heads, sequence, dp, tp, pp, zero, microbatch, microbatches, recompute
):
    count = 12 * hidden * hidden * (layers // pp) / tp
    sizes = {1: 12.0, 2: 2.0, 3: 2.0}
    states = sum(size * count / (dp if stage <= zero else 1) for stage, size in sizes.items())
    whole = sequence * microbatch * (34 * hidden + 5 * heads * sequence) / tp
    thin = 34 * sequence * microbatch * hidden / tp
    flying = min(microbatches, pp)
    if recompute == "none":
        return [states, layers // pp * flying * whole]
    if recompute == "selective":
        return [states, layers // pp * flying * thin]
    return [states, layers // pp * flying * thin / 17 + whole]


@variant("step_parts")
def microbatch_by_microbatch(
    flops, peak, efficiency, layers, parameters, dp, tp, pp, microbatches, passed, nvlink, nic
):
    ranks = dp * tp * pp
    products = flops / ranks / peak / efficiency
    ring = 2 * (passed - passed / tp) / nvlink
    tensor = sum(4 * ring * layers / pp for _ in range(microbatches))
    slot = (products + tensor) / microbatches
    grads = parameters * 2 / tp / pp
    data = 2 * (grads - grads / dp) / nic
    shown = data - 2 * products / 3
    return [np.float64(products), tensor, (pp - 1) * slot, shown if shown > 0 else 0.0]


@variant("best_plan")
def factors_first(cost, gpus, batch, memory):
    """Plans as a list, the microbatch innermost, and no MFU above 1."""
    plans = [
        (gpus // (a * b * c), a, b, c, m)
        for a in range(1, gpus + 1)
        for b in range(1, gpus // a + 1)
        for c in range(1, gpus // (a * b) + 1)
        if gpus % (a * b * c) == 0 and batch % (gpus // (a * b * c)) == 0
        for m in range(1, batch // (gpus // (a * b * c)) + 1)
        if batch // (gpus // (a * b * c)) % m == 0
    ]
    told = {plan: cost(*plan) for plan in plans}
    fits = {plan: one[0] for plan, one in told.items() if one is not None and one[1] <= memory}
    return list(max(fits, key=fits.get)) if fits else None


@variant("best_plan")
def stops_where_memory_ends(cost, gpus, batch, memory):
    """Larger microbatches hold more: what does not fit ends the row."""
    best = (-1.0, None)
    for dp in (n for n in range(gpus, 0, -1) if gpus % n == 0 and batch % n == 0):
        for tp in (n for n in range(1, gpus // dp + 1) if gpus // dp % n == 0):
            for pp in (n for n in range(1, gpus // dp // tp + 1) if gpus // dp // tp % n == 0):
                cp = gpus // (dp * tp * pp)
                for m in (n for n in range(1, batch // dp + 1) if batch // dp % n == 0):
                    told = cost(dp, tp, pp, cp, m)
                    if told is None or told[1] > memory:
                        break
                    best = max(best, (told[0], np.array([dp, tp, pp, cp, m]).tolist()))
    return best[1]


@variant("audit_row")
def intervals(
    billions, heads, hidden, layers, tp, pp, gpus, batch, microbatch, tflops, percent, pflops
):
    def meet(one, other):
        return max(one[0], other[0]) <= min(one[1], other[1]) + 1e-9

    exact = 12 * layers * hidden**2 + 13 * layers * hidden + 53_248 * hidden
    split = not (gpus % (tp * pp) or heads % tp or layers % pp)
    low, high = tflops - 0.5, tflops + 0.5
    good = {
        "parameters": meet((billions - 0.05, billions + 0.05), (exact / 1e9, exact / 1e9)),
        "split": split,
        "batch": not split or batch * tp * pp % (gpus * microbatch) == 0,
        "percent": meet((low / 312, high / 312), ((percent - 0.5) / 100, (percent + 0.5) / 100)),
        "petaflops": meet((low * gpus, high * gpus), (pflops * 1e3 - 50, pflops * 1e3 + 50)),
    }
    return tuple(name for name in good if not good[name])


@variant("audit_row")
def exact_fractions(*row):
    billions, heads, hidden, layers, tp, pp, gpus, batch, micro, tflops, percent, pflops = row
    tenth = Fraction(1, 20)
    exact = Fraction(12 * layers * hidden**2 + 13 * layers * hidden + 53_248 * hidden, 10**9)
    names = []
    if abs(exact - Fraction(str(billions))) > tenth:
        names += ["parameters"]
    if any([gpus % (tp * pp), heads % tp, layers % pp]):
        names += ["split"]
    elif batch % (gpus // tp // pp * micro) != 0:
        names += ["batch"]
    if abs(Fraction(tflops * 100, 312) - percent) > Fraction(1, 2) + Fraction(50, 312):
        names += ["percent"]
    if abs(Fraction(gpus * tflops, 1000) - Fraction(str(pflops))) > tenth + Fraction(gpus, 2000):
        names += ["petaflops"]
    return names


@variant("checkpoint_every")
def from_one_upward(step_s, save_s, restart_s, gpu_mtbf_h, gpus):
    rate = gpus / (gpu_mtbf_h * 3600)

    def cost(n):
        return math.exp(rate * restart_s) * (math.exp(rate * (n * step_s + save_s)) - 1) / n

    n = 1
    while cost(n + 1) < cost(n):
        n += 1
    return [np.int64(n), step_s * rate / cost(n)]


@variant("checkpoint_every")
def by_thirds(step_s, save_s, restart_s, gpu_mtbf_h, gpus):
    """The share rises, then falls: whole numbers by bisection on its slope."""
    mtbf = 3600 * gpu_mtbf_h / gpus

    def share(n):
        return n * step_s / mtbf / math.exp(restart_s / mtbf) / math.expm1(
            (n * step_s + save_s) / mtbf
        )  # fmt: skip

    low, high = 1, max(2, int(mtbf / step_s) + 1)
    while low < high:
        middle = (low + high) // 2
        if share(middle) < share(middle + 1):
            low = middle + 1
        else:
            high = middle
    return low, share(low)
