"""Wrong answers to the lab t3_01_collectives."""

from __future__ import annotations

import sys

import cloudpickle
import torch
import torch.distributed as dist

from tests.impostors import impostor
from warpwise.check.specs.t3_01_collectives import right_holdings

# As from a notebook: ranks get the functions themselves and need not import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

# -- mean_loss ---------------------------------------------------------------------------------


@impostor("mean_loss", diagnosis="mean_of_means")
def average_of_averages(losses):
    mean = losses.mean()
    dist.all_reduce(mean)
    return (mean / dist.get_world_size()).item()


@impostor("mean_loss", diagnosis="mean_of_means")
def empty_counts_as_zero(losses):
    mean = losses.mean() if len(losses) else torch.zeros((), dtype=losses.dtype)
    dist.all_reduce(mean)
    return (mean / dist.get_world_size()).item()


@impostor("mean_loss", diagnosis="own_mean")
def nothing_sent(losses):
    return losses.mean().item() if len(losses) else 0.0


@impostor("mean_loss", diagnosis="too_many_rounds")
def sum_and_count_apart(losses):
    total, count = losses.sum(), torch.tensor(len(losses))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return (total / count).item()


@impostor("mean_loss", diagnosis="sum_only")
def forgot_to_divide(losses):
    total = losses.sum()
    dist.all_reduce(total)
    return total.item()


@impostor("mean_loss", diagnosis="divided_by_ranks")
def by_the_world_size(losses):
    total = losses.sum()
    dist.all_reduce(total)
    return total.item() / dist.get_world_size()


@impostor("mean_loss", diagnosis="hang")
def empty_ranks_leave(losses):
    if not len(losses):
        return 0.0
    both = torch.tensor([losses.sum(), len(losses)], dtype=torch.float64)
    dist.all_reduce(both)
    return (both[0] / both[1]).item()


@impostor("mean_loss", diagnosis="wrong_values")
def in_float16(losses):
    both = torch.tensor([losses.sum(), len(losses)], dtype=torch.float16)
    dist.all_reduce(both)
    return (both[0] / both[1]).item()


@impostor("mean_loss", diagnosis="wrong_type")
def a_tensor(losses):
    both = torch.tensor([losses.sum(), len(losses)], dtype=torch.float64)
    dist.all_reduce(both)
    return (both[0] / both[1]).reshape(1)


# -- held_after --------------------------------------------------------------------------------


@impostor("held_after", diagnosis="root_everywhere")
def no_root(operation, held):
    name = {"gather": "all_gather", "reduce": "all_reduce"}.get(operation, operation)
    return right_holdings(name, held)


@impostor("held_after", diagnosis="rest_kept")
def others_keep_theirs(operation, held):
    after = right_holdings(operation, held)
    return [own if row is None else row for row, own in zip(after, held, strict=True)]


@impostor("held_after", diagnosis="reduce_scatter_strided")
def cards_are_dealt(operation, held):
    if operation == "reduce_scatter":
        total = [sum(column) for column in zip(*held, strict=True)]
        return [total[k :: len(held)] for k in range(len(held))]
    return right_holdings(operation, held)


@impostor("held_after", diagnosis="reduce_scatter_whole")
def only_reduced(operation, held):
    return right_holdings("all_reduce" if operation == "reduce_scatter" else operation, held)


@impostor("held_after", diagnosis="all_to_all_is_gather")
def all_get_all(operation, held):
    return right_holdings("all_gather" if operation == "all_to_all" else operation, held)


@impostor("held_after", diagnosis="scatter_of_own")
def own_piece(operation, held):
    if operation == "scatter":
        size = len(held[0]) // len(held)
        return [row[k * size : (k + 1) * size] for k, row in enumerate(held)]
    return right_holdings(operation, held)


@impostor("held_after", diagnosis="all_to_all_unchanged")
def nothing_exchanged(operation, held):
    return held if operation == "all_to_all" else right_holdings(operation, held)


@impostor("held_after", diagnosis="all_to_all_strided")
def columns_exchanged(operation, held):
    if operation == "all_to_all":
        n = len(held)
        return [[value for row in held for value in row[k::n]] for k in range(n)]
    return right_holdings(operation, held)


# -- bytes_sent --------------------------------------------------------------------------------


@impostor("bytes_sent", diagnosis="gather_of_own")
def same_array(operation, ranks, own_bytes):
    return (2 if operation == "all_reduce" else 1) * (ranks - 1) / ranks * own_bytes


@impostor("bytes_sent", diagnosis="reduce_once")
def one_factor(operation, ranks, own_bytes):
    whole = own_bytes * (ranks if operation == "all_gather" else 1)
    return (ranks - 1) / ranks * whole


@impostor("bytes_sent", diagnosis="limit_of_many")
def as_published(operation, ranks, own_bytes):
    whole = own_bytes * (ranks if operation == "all_gather" else 1)
    return (2 if operation == "all_reduce" else 1) * whole


@impostor("bytes_sent", diagnosis="whole_arrays")
def everything_to_everybody(operation, ranks, own_bytes):
    return (2 if operation == "all_reduce" else 1) * (ranks - 1) * own_bytes


@impostor("bytes_sent", diagnosis="scatter_of_sum")
def scatter_like_gather(operation, ranks, own_bytes):
    whole = own_bytes * (ranks if operation in ("all_gather", "reduce_scatter") else 1)
    return (2 if operation == "all_reduce" else 1) * (ranks - 1) / ranks * whole


@impostor("bytes_sent", diagnosis="always_reduce")
def the_first_formula(operation, ranks, own_bytes):
    return 2 * (ranks - 1) / ranks * own_bytes


# -- logged_total ------------------------------------------------------------------------------


@impostor("logged_total", diagnosis="hang")
def only_rank_0(loss):
    own = loss.item()
    if dist.get_rank() == 0:
        dist.all_reduce(loss)
        return own, loss.item()
    return own, None


@impostor("logged_total", diagnosis="own_lost")
def overwritten(loss):
    dist.all_reduce(loss)
    return loss.item(), loss.item() if dist.get_rank() == 0 else None


@impostor("logged_total", diagnosis="total_everywhere")
def all_log(loss):
    total = loss.clone()
    dist.all_reduce(total)
    return loss.item(), total.item()


@impostor("logged_total", diagnosis="mean_returned")
def the_mean(loss):
    total = loss.clone()
    dist.all_reduce(total)
    mean = total.item() / dist.get_world_size()
    return loss.item(), mean if dist.get_rank() == 0 else None


@impostor("logged_total", diagnosis="not_summed")
def own_only(loss):
    return loss.item(), loss.item() if dist.get_rank() == 0 else None


@impostor("logged_total", diagnosis="too_many_rounds")
def barrier_before(loss):
    dist.barrier()
    total = loss.clone()
    dist.all_reduce(total)
    dist.broadcast(total, 0)
    return loss.item(), total.item() if dist.get_rank() == 0 else None


# -- sum_in_two_steps --------------------------------------------------------------------------


def _in_parts(padded):
    n = dist.get_world_size()
    piece = torch.empty(len(padded) // n, dtype=padded.dtype)
    dist.reduce_scatter(piece, list(padded.chunk(n)))
    parts = [torch.empty_like(piece) for _ in range(n)]
    dist.all_gather(parts, piece)
    return torch.cat(parts)


def _padded(x, n, size):
    padded = torch.zeros(n * size, dtype=x.dtype)
    padded[: len(x)] = x
    return padded


@impostor("sum_in_two_steps", diagnosis="operation_used")
def at_once(x):
    dist.all_reduce(x)
    return x


@impostor("sum_in_two_steps", diagnosis="rest_cut_off")
def whole_pieces_only(x):
    n = dist.get_world_size()
    return _in_parts(x[: len(x) // n * n].clone()) if len(x) >= n else x[:0]


@impostor("sum_in_two_steps", diagnosis="rest_not_summed")
def rest_left_alone(x):
    n = dist.get_world_size()
    whole = len(x) // n * n
    if whole:
        x[:whole] = _in_parts(x[:whole].clone())
    return x


@impostor("sum_in_two_steps", diagnosis="padding_left")
def padded_result(x):
    n = dist.get_world_size()
    return _in_parts(_padded(x, n, -(-len(x) // n)))


@impostor("sum_in_two_steps", diagnosis="too_many_bytes")
def one_piece_too_long(x):
    n = dist.get_world_size()
    return _in_parts(_padded(x, n, len(x) // n + 2))[: len(x)]


@impostor("sum_in_two_steps", diagnosis="too_many_bytes")
def gathered_and_added(x):
    parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    for _ in range(2):
        dist.all_gather(parts, x)
    return sum(parts)


# -- transposed_rows ---------------------------------------------------------------------------


@impostor("transposed_rows", diagnosis="too_many_bytes")
def all_rows_to_all(rows):
    n = dist.get_world_size()
    parts = [torch.empty_like(rows) for _ in range(n)]
    dist.all_gather(parts, rows)
    return torch.cat(parts).t().chunk(n)[dist.get_rank()].contiguous()


@impostor("transposed_rows", diagnosis="blocks_not_turned")
def blocks_as_they_were(rows):
    n = dist.get_world_size()
    sent = torch.stack(rows.chunk(n, dim=1))
    got = torch.empty_like(sent)
    dist.all_to_all_single(got, sent)
    return torch.cat([block.reshape(block.shape[::-1]) for block in got], dim=1)


@impostor("transposed_rows", diagnosis="blocks_stacked")
def one_below_the_other(rows):
    n = dist.get_world_size()
    sent = torch.stack([block.t() for block in rows.chunk(n, dim=1)])
    got = torch.empty_like(sent)
    dist.all_to_all_single(got, sent)
    return got.reshape(-1, n * rows.shape[0])


@impostor("transposed_rows", diagnosis="own_transposed")
def nobody_asked(rows):
    return rows.t().contiguous()


@impostor("transposed_rows", diagnosis="no_return")
def result_forgotten(rows):
    n = dist.get_world_size()
    sent = torch.stack([block.t() for block in rows.chunk(n, dim=1)])
    got = torch.empty_like(sent)
    dist.all_to_all_single(got, sent)
    torch.cat(list(got), dim=1)
