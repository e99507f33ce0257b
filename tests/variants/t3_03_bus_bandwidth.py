"""Unusual but right answers to the lab t3_03_bus_bandwidth."""

from __future__ import annotations

import statistics

import numpy as np

from tests.variants import variant


@variant("bus_gbs")
def bytes_sent_by_a_rank(operation, ranks, own_bytes, seconds):
    others = ranks - 1
    sent = {
        "all_reduce": 2 * own_bytes * others / ranks,
        "all_gather": own_bytes * others,
        "broadcast": own_bytes,
    }.get(operation, own_bytes * others / ranks)
    return np.float64(sent / (seconds * 1e9))


@variant("fitted_line")
def normal_equations(sizes, seconds, factor):
    x, w = factor * np.asarray(sizes), 1 / np.asarray(seconds) ** 2
    s, sx, sxx = w.sum(), (w * x).sum(), (w * x * x).sum()
    st, sxt = (w * seconds).sum(), (w * x * seconds).sum()
    beta = (s * sxt - sx * st) / (s * sxx - sx * sx)
    return [(st - beta * sx) / s, 1 / beta]


@variant("fitted_line")
def weighted_polyfit(sizes, seconds, factor):
    beta, alpha = np.polyfit(sizes * factor, seconds, deg=1, w=1 / seconds)
    return alpha, 1 / beta


@variant("bytes_for")
def solved_for_the_time(alpha, bandwidth, factor, share):
    whole = alpha / (1 - share)
    return (whole - alpha) * bandwidth / factor


@variant("all_gather_report")
def pieces_of_the_others(ranks, own_bytes, times):
    _cold, *warm = times
    came = own_bytes * (ranks - 1)
    return came / statistics.median(warm) * 1e-9


@variant("best_cut")
def loop_over_cuts(sizes, seconds, factor):
    best, least = 0, float("inf")
    for k in range(2, len(sizes) - 1):
        total = 0.0
        for s, t in ((sizes[:k], seconds[:k]), (sizes[k:], seconds[k:])):
            beta, alpha = np.polyfit(factor * s, t, 1, w=1 / t)
            total += float((((alpha + beta * factor * s) / t - 1) ** 2).sum())
        if total < least:
            best, least = k, total
    return best
