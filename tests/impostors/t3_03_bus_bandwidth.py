"""Wrong answers to the lab t3_03_bus_bandwidth."""

from __future__ import annotations

import numpy as np

from tests.impostors import impostor

# -- bus_gbs -----------------------------------------------------------------------------------


def factor_of(operation, ranks):
    part = (ranks - 1) / ranks
    return {"all_reduce": 2 * part, "broadcast": 1}.get(operation, part)


@impostor("bus_gbs", diagnosis="own_piece")
def piece_of_one_rank(operation, ranks, own_bytes, seconds):
    return factor_of(operation, ranks) * own_bytes / seconds / 1e9


@impostor("bus_gbs", diagnosis="algorithm_bandwidth")
def no_factor(operation, ranks, own_bytes, seconds):
    size = own_bytes * ranks if operation == "all_gather" else own_bytes
    return size / seconds / 1e9


@impostor("bus_gbs", diagnosis="always_all_reduce")
def one_formula(operation, ranks, own_bytes, seconds):
    return 2 * (ranks - 1) / ranks * own_bytes / seconds / 1e9


@impostor("bus_gbs", diagnosis="broadcast_as_others")
def broadcast_leaves_one_out(operation, ranks, own_bytes, seconds):
    size = own_bytes * ranks if operation == "all_gather" else own_bytes
    factor = (2 if operation == "all_reduce" else 1) * (ranks - 1) / ranks
    return factor * size / seconds / 1e9


@impostor("bus_gbs", diagnosis="in_gib")
def binary_giga(operation, ranks, own_bytes, seconds):
    size = own_bytes * ranks if operation == "all_gather" else own_bytes
    return factor_of(operation, ranks) * size / seconds / 2**30


@impostor("bus_gbs", diagnosis="reduce_once")
def one_way(operation, ranks, own_bytes, seconds):
    size = own_bytes * ranks if operation == "all_gather" else own_bytes
    factor = 1 if operation == "broadcast" else (ranks - 1) / ranks
    return factor * size / seconds / 1e9


# -- fitted_line -------------------------------------------------------------------------------


@impostor("fitted_line", diagnosis="absolute_errors")
def polyfit(sizes, seconds, factor):
    beta, alpha = np.polyfit(factor * sizes, seconds, 1)
    return float(alpha), float(1 / beta)


@impostor("fitted_line", diagnosis="factor_missing")
def bandwidth_of_the_algorithm(sizes, seconds, factor):
    rows = np.stack([1 / seconds, sizes / seconds], axis=1)
    alpha, beta = np.linalg.lstsq(rows, np.ones(len(sizes)), rcond=None)[0]
    return float(alpha), float(1 / beta)


@impostor("fitted_line", diagnosis="through_the_ends")
def two_rows(sizes, seconds, factor):
    beta = (seconds[-1] - seconds[0]) / factor / (sizes[-1] - sizes[0])
    return float(seconds[-1] - beta * factor * sizes[-1]), float(1 / beta)


@impostor("fitted_line", diagnosis="beta_returned")
def seconds_a_byte(sizes, seconds, factor):
    rows = np.stack([1 / seconds, factor * sizes / seconds], axis=1)
    alpha, beta = np.linalg.lstsq(rows, np.ones(len(sizes)), rcond=None)[0]
    return float(alpha), float(beta)


@impostor("fitted_line", diagnosis="root_weights")
def weights_of_polyfit(sizes, seconds, factor):
    """np.polyfit squares its weights, so the root is one step too much."""
    beta, alpha = np.polyfit(factor * sizes, seconds, 1, w=1 / np.sqrt(seconds))
    return float(alpha), float(1 / beta)


@impostor("fitted_line", diagnosis="exchanged")
def bandwidth_first(sizes, seconds, factor):
    rows = np.stack([1 / seconds, factor * sizes / seconds], axis=1)
    alpha, beta = np.linalg.lstsq(rows, np.ones(len(sizes)), rcond=None)[0]
    return float(1 / beta), float(alpha)


@impostor("fitted_line", diagnosis="wrong_values")
def in_logarithms(sizes, seconds, factor):
    """A power law instead of a line."""
    slope, log_alpha = np.polyfit(np.log(factor * sizes), np.log(seconds), 1)
    return float(np.exp(log_alpha)), float(1 / slope)


# -- bytes_for ---------------------------------------------------------------------------------


@impostor("bytes_for", diagnosis="always_half")
def n_half(alpha, bandwidth, factor, share):
    return alpha * bandwidth / factor


@impostor("bytes_for", diagnosis="half_times_share")
def in_proportion(alpha, bandwidth, factor, share):
    return alpha * bandwidth / factor * share / 0.5


@impostor("bytes_for", diagnosis="upside_down")
def the_rest(alpha, bandwidth, factor, share):
    return alpha * bandwidth / factor * (1 - share) / share


@impostor("bytes_for", diagnosis="factor_missing")
def plain_link(alpha, bandwidth, factor, share):
    return alpha * bandwidth * share / (1 - share)


@impostor("bytes_for", diagnosis="factor_above")
def factor_on_top(alpha, bandwidth, factor, share):
    return alpha * bandwidth * factor * share / (1 - share)


# -- all_gather_report -------------------------------------------------------------------------


@impostor("all_gather_report", diagnosis="broken_as_given")
def as_it_was(ranks, own_bytes, times):
    return 2 * (ranks - 1) / ranks * own_bytes / (sum(times) / len(times)) / 1e9


@impostor("all_gather_report", diagnosis="own_piece")
def only_the_factor_mended(ranks, own_bytes, times):
    return float((ranks - 1) / ranks * own_bytes / np.median(times[1:]) / 1e9)


@impostor("all_gather_report", diagnosis="first_call_counted")
def cold(ranks, own_bytes, times):
    return float((ranks - 1) * own_bytes / np.median(times) / 1e9)


@impostor("all_gather_report", diagnosis="mean_taken")
def average(ranks, own_bytes, times):
    return (ranks - 1) * own_bytes / (sum(times[1:]) / len(times[1:])) / 1e9


@impostor("all_gather_report", diagnosis="fastest_taken")
def best_of_all(ranks, own_bytes, times):
    return (ranks - 1) * own_bytes / min(times[1:]) / 1e9


@impostor("all_gather_report", diagnosis="upper_middle")
def one_of_the_middle(ranks, own_bytes, times):
    warm = sorted(times[1:])
    return (ranks - 1) * own_bytes / warm[len(warm) // 2] / 1e9


@impostor("all_gather_report", diagnosis="factor_missing")
def algorithm_only(ranks, own_bytes, times):
    return float(ranks * own_bytes / np.median(times[1:]) / 1e9)


# -- best_cut ----------------------------------------------------------------------------------


def left_over(sizes, seconds, factor):
    rows = np.stack([1 / seconds, factor * sizes / seconds], axis=1)
    ones = np.ones(len(rows))
    return np.sum((rows @ np.linalg.lstsq(rows, ones, rcond=None)[0] - ones) ** 2)


@impostor("best_cut", diagnosis="off_by_one")
def last_index_below(sizes, seconds, factor):
    sums = [
        left_over(sizes[:k], seconds[:k], factor) + left_over(sizes[k:], seconds[k:], factor)
        for k in range(2, len(sizes) - 1)
    ]
    return int(np.argmin(sums)) + 1


@impostor("best_cut", diagnosis="in_the_middle")
def halves(sizes, seconds, factor):
    return len(sizes) // 2


@impostor("best_cut", diagnosis="first_part_only")
def best_beginning(sizes, seconds, factor):
    sums = [left_over(sizes[:k], seconds[:k], factor) for k in range(2, len(sizes) - 1)]
    return int(np.argmin(sums)) + 2


@impostor("best_cut", diagnosis="rows_above")
def counted_from_the_end(sizes, seconds, factor):
    sums = [
        left_over(sizes[:k], seconds[:k], factor) + left_over(sizes[k:], seconds[k:], factor)
        for k in range(2, len(sizes) - 1)
    ]
    return len(sizes) - int(np.argmin(sums)) - 2


@impostor("best_cut", diagnosis="wrong_values")
def largest_bandwidth(sizes, seconds, factor):
    """Where the bandwidth is largest below the end."""
    return int(np.argmax((sizes / seconds)[:-1])) + 1
