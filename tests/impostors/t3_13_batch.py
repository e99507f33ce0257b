"""Wrong answers to the lab t3_13_batch."""

from __future__ import annotations

import numpy as np

from tests.impostors import impostor

# -- accumulation ------------------------------------------------------------------------------


@impostor("accumulation", diagnosis="rounded_down")
def whole_ones_only(batch, ranks, micro):
    count = batch // (ranks * micro)
    return count, count * ranks * micro


@impostor("accumulation", diagnosis="one_too_many")
def always_one_more(batch, ranks, micro):
    count = batch // (ranks * micro) + 1
    return count, count * ranks * micro


@impostor("accumulation", diagnosis="wanted_batch_returned")
def as_wanted(batch, ranks, micro):
    return -(-batch // (ranks * micro)), batch


@impostor("accumulation", diagnosis="micro_forgotten")
def one_sample_a_rank(batch, ranks, micro):
    count = -(-batch // ranks)
    return count, count * ranks


@impostor("accumulation", diagnosis="at_least_one")
def down_but_not_zero(batch, ranks, micro):
    count = max(1, batch // (ranks * micro))
    return count, count * ranks * micro


# -- noise_of_samples --------------------------------------------------------------------------


def ratio(trace, signal):
    return float(trace / signal) if signal > 0 else float("inf")


@impostor("noise_of_samples", diagnosis="bias_left")
def noisy_length(gradients):
    trace = gradients.var(axis=0, ddof=1).sum()
    return ratio(trace, (gradients.mean(axis=0) ** 2).sum())


@impostor("noise_of_samples", diagnosis="variance_of_n")
def biased_variance(gradients):
    trace = gradients.var(axis=0).sum()
    return ratio(trace, (gradients.mean(axis=0) ** 2).sum() - trace / len(gradients))


@impostor("noise_of_samples", diagnosis="one_variance")
def variance_of_all_numbers(gradients):
    return ratio(gradients.var(ddof=1), (gradients.mean(axis=0) ** 2).sum())


@impostor("noise_of_samples", diagnosis="length_not_squared")
def norm_of_the_mean(gradients):
    trace = gradients.var(axis=0, ddof=1).sum()
    square = (gradients.mean(axis=0) ** 2).sum() - trace / len(gradients)
    return ratio(trace, np.sqrt(max(0.0, square)))


@impostor("noise_of_samples", diagnosis="mean_of_squares")
def squares_first(gradients):
    trace = gradients.var(axis=0, ddof=1).sum()
    return ratio(trace, (gradients**2).sum(axis=1).mean())


@impostor("noise_of_samples", diagnosis="whole_trace_taken_off")
def too_much_taken_off(gradients):
    trace = gradients.var(axis=0, ddof=1).sum()
    return ratio(trace, (gradients.mean(axis=0) ** 2).sum() - trace)


@impostor("noise_of_samples", diagnosis="wrong_values")
def negative_left(gradients):
    """Right where there is a signal; a negative noise scale where there is none."""
    trace = gradients.var(axis=0, ddof=1).sum()
    return float(trace / ((gradients.mean(axis=0) ** 2).sum() - trace / len(gradients)))


# -- noise_of_two ------------------------------------------------------------------------------


@impostor("noise_of_two", diagnosis="trace_alone")
def noise_without_signal(small, big, small_square, big_square):
    return (small_square - big_square) / (1 / small - 1 / big)


@impostor("noise_of_two", diagnosis="big_as_exact")
def all_signal(small, big, small_square, big_square):
    return (small_square - big_square) * small / big_square


@impostor("noise_of_two", diagnosis="small_for_the_signal")
def noisy_signal(small, big, small_square, big_square):
    return (small_square - big_square) / (1 / small - 1 / big) / small_square


@impostor("noise_of_two", diagnosis="big_for_the_signal")
def a_little_noisy(small, big, small_square, big_square):
    return (small_square - big_square) / (1 / small - 1 / big) / big_square


@impostor("noise_of_two", diagnosis="upside_down")
def signal_to_noise(small, big, small_square, big_square):
    trace = (small_square - big_square) / (1 / small - 1 / big)
    return (small_square - trace / small) / trace


# -- scaled_step -------------------------------------------------------------------------------


@impostor("scaled_step", diagnosis="summed_and_scaled")
def as_it_was(weights, gradients, rate, base, micro):
    return weights - rate * micro * len(gradients) / base * gradients.sum(axis=0)


@impostor("scaled_step", diagnosis="not_scaled")
def old_rate(weights, gradients, rate, base, micro):
    return weights - rate * gradients.mean(axis=0)


@impostor("scaled_step", diagnosis="summed_not_scaled")
def sum_alone(weights, gradients, rate, base, micro):
    """The same only where base is micro."""
    return weights - rate * gradients.sum(axis=0)


@impostor("scaled_step", diagnosis="scaled_by_root")
def root_rule(weights, gradients, rate, base, micro):
    factor = (micro * len(gradients) / base) ** 0.5
    return weights - rate * factor * gradients.mean(axis=0)


@impostor("scaled_step", diagnosis="input_modified")
def in_place(weights, gradients, rate, base, micro):
    weights -= rate * micro * len(gradients) / base * gradients.mean(axis=0)
    return weights


@impostor("scaled_step", diagnosis="only_upward")
def never_a_smaller_rate(weights, gradients, rate, base, micro):
    """The same wherever the batch is at least base."""
    factor = max(1, micro * len(gradients) / base)
    return weights - rate * factor * gradients.mean(axis=0)


@impostor("scaled_step", diagnosis="one_micro_batch")
def first_row(weights, gradients, rate, base, micro):
    return weights - rate * micro * len(gradients) / base * gradients[0]


# -- run_hours ---------------------------------------------------------------------------------


@impostor("run_hours", diagnosis="noise_forgotten")
def least_of_all(least_steps, noise, devices, micro, step_ms):
    hours = least_steps * step_ms / 3.6e6
    return hours, hours * devices


@impostor("run_hours", diagnosis="micro_forgotten")
def devices_for_the_batch(least_steps, noise, devices, micro, step_ms):
    hours = least_steps * (1 + noise / devices) * step_ms / 3.6e6
    return hours, hours * devices


@impostor("run_hours", diagnosis="upside_down")
def other_quotient(least_steps, noise, devices, micro, step_ms):
    hours = least_steps * (1 + devices * micro / noise) * step_ms / 3.6e6
    return hours, hours * devices


@impostor("run_hours", diagnosis="in_seconds")
def seconds(least_steps, noise, devices, micro, step_ms):
    time = least_steps * (1 + noise / (devices * micro)) * step_ms / 1000
    return time, time * devices


@impostor("run_hours", diagnosis="cost_is_time")
def free_devices(least_steps, noise, devices, micro, step_ms):
    hours = least_steps * (1 + noise / (devices * micro)) * step_ms / 3.6e6
    return hours, hours


# -- devices_for -------------------------------------------------------------------------------


def rows_of(least_steps, noise, micro, step_ms):
    for devices, ms in step_ms.items():
        hours = least_steps * (1 + noise / (devices * micro)) * ms / 3.6e6
        yield hours * devices, hours, devices


@impostor("devices_for", diagnosis="fastest")
def as_fast_as_possible(least_steps, noise, micro, step_ms, deadline):
    found = [(h, d) for _, h, d in rows_of(least_steps, noise, micro, step_ms) if h <= deadline]
    return min(found)[1] if found else None


@impostor("devices_for", diagnosis="fewest_devices")
def as_few_as_possible(least_steps, noise, micro, step_ms, deadline):
    found = [d for _, h, d in rows_of(least_steps, noise, micro, step_ms) if h <= deadline]
    return min(found) if found else None


@impostor("devices_for", diagnosis="deadline_ignored")
def at_any_time(least_steps, noise, micro, step_ms, deadline):
    return min(rows_of(least_steps, noise, micro, step_ms))[2]


@impostor("devices_for", diagnosis="before_deadline")
def strictly_before(least_steps, noise, micro, step_ms, deadline):
    found = [r for r in rows_of(least_steps, noise, micro, step_ms) if r[1] < deadline]
    return min(found)[2] if found else None


@impostor("devices_for", diagnosis="slowest_of_equal")
def first_of_equal(least_steps, noise, micro, step_ms, deadline):
    """Right where the dictionary names the fastest of equal ones first."""
    found = [r for r in rows_of(least_steps, noise, micro, step_ms) if r[1] <= deadline]
    return min(found, key=lambda row: row[0])[2] if found else None


@impostor("devices_for", diagnosis="raised")
def never_late(least_steps, noise, micro, step_ms, deadline):
    return min(r for r in rows_of(least_steps, noise, micro, step_ms) if r[1] <= deadline)[2]


@impostor("devices_for", diagnosis="just_in_time")
def slowest_in_time(least_steps, noise, micro, step_ms, deadline):
    found = [(h, d) for _, h, d in rows_of(least_steps, noise, micro, step_ms) if h <= deadline]
    return max(found)[1] if found else None
