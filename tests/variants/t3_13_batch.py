"""Unusual but right answers to the lab t3_13_batch."""

from __future__ import annotations

import math

import numpy as np

from tests.variants import variant


@variant("accumulation")
def by_counting(batch, ranks, micro):
    total, count = 0, 0
    while total < batch:
        total += ranks * micro
        count += 1
    return [count, total]


@variant("noise_of_samples")
def by_squares(gradients):
    """Without a variance: mean of squared lengths and squared length of the mean."""
    n = len(gradients)
    mean = gradients.sum(axis=0) / n
    trace = sum(float(np.dot(row - mean, row - mean)) for row in gradients) / (n - 1)
    signal = float(np.dot(mean, mean)) - trace / n
    if signal <= 0:
        return math.inf
    return trace / signal


@variant("noise_of_samples")
def covariance_matrix(gradients):
    trace = np.trace(np.atleast_2d(np.cov(gradients, rowvar=False)))
    signal = np.linalg.norm(gradients.mean(axis=0)) ** 2 - trace / gradients.shape[0]
    return np.float64(trace / signal) if signal > 0 else np.float64(np.inf)


@variant("noise_of_two")
def linear_system(small, big, small_square, big_square):
    signal, trace = np.linalg.solve([[1, 1 / small], [1, 1 / big]], [small_square, big_square])
    return trace / signal


@variant("scaled_step")
def micro_batch_by_micro_batch(weights, gradients, rate, base, micro):
    """The rate of one micro-batch, the sum of all: micro/base times the sum."""
    new = weights.copy()
    for row in gradients:
        new -= rate * micro / base * row
    return new


@variant("run_hours")
def by_samples(least_steps, noise, devices, micro, step_ms):
    batch = micro * devices
    samples = least_steps * (batch + noise)
    seconds = samples / batch * step_ms / 1000
    return [seconds / 3600, devices * seconds / 3600]


@variant("devices_for")
def loop_with_a_best(least_steps, noise, micro, step_ms, deadline):
    best = None
    for devices in sorted(step_ms, reverse=True):
        hours = step_ms[devices] * least_steps * (1 + noise / devices / micro) / 3_600_000
        if hours > deadline:
            continue
        if best is None or hours * devices < best[0] * (1 - 1e-12):
            best = (hours * devices, devices)
    return best and best[1]


@variant("devices_for")
def by_steps_and_seconds(least_steps, noise, micro, step_ms, deadline):
    """Never computes hours: steps times milliseconds, against the deadline in seconds."""
    found = []
    for devices, ms in step_ms.items():
        steps = least_steps * (devices * micro + noise) / (devices * micro)
        if steps * ms / 1000 <= deadline * 3600:
            found.append((steps * ms * devices, -devices))
    return -min(found)[1] if found else None
