"""Unusual but right answers to the lab t3_01_collectives."""

from __future__ import annotations

import sys

import cloudpickle
import numpy as np
import torch
import torch.distributed as dist

from tests.variants import variant

cloudpickle.register_pickle_by_value(sys.modules[__name__])


@variant("mean_loss")
def gathered_pairs(losses):
    mine = torch.tensor([[losses.sum().item(), len(losses)]], dtype=torch.float64)
    parts = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, mine)
    total, count = torch.cat(parts).sum(dim=0).tolist()
    return total / count


@variant("mean_loss")
def shares_added(losses):
    """Sums in a tensor with a place for each rank, counts behind them."""
    n, rank = dist.get_world_size(), dist.get_rank()
    board = np.zeros((2, n))
    board[:, rank] = float(losses.sum()), losses.numel()
    board = torch.from_numpy(board)
    dist.all_reduce(board, op=dist.ReduceOp.SUM)
    return float(board[0].sum()) / int(board[1].sum())


@variant("held_after")
def by_slices(operation, held):
    n = len(held)
    cut = len(held[0]) // n
    everything = sum(held, [])
    total = [sum(row[k] for row in held) for k in range(len(held[0]))]
    whole = {"broadcast": held[0], "scatter": held[0], "gather": everything, "reduce": total,
             "all_gather": everything, "all_reduce": total, "reduce_scatter": total}  # fmt: skip
    after = []
    for rank in range(n):
        mine = slice(rank * cut, rank * cut + cut)
        if operation == "all_to_all":
            after.append(tuple(v for row in held for v in row[mine]))
        elif operation in ("gather", "reduce") and rank:
            after.append(None)
        else:
            row = whole[operation]
            after.append(row[mine] if "scatter" in operation else row)
    return after


@variant("bytes_sent")
def two_halves(operation, ranks, own_bytes):
    if operation == "all_gather":
        return own_bytes * ranks - own_bytes
    part = own_bytes - own_bytes / ranks
    return part + part if operation == "all_reduce" else part


@variant("logged_total")
def everybody_adds(loss):
    own, total = float(loss), loss * 1
    work = dist.all_reduce(total, async_op=True)
    work.wait()
    return [own, float(total) if dist.get_rank() == 0 else None]


@variant("logged_total")
def gathered_at_the_root(loss):
    root = dist.get_rank() == 0
    parts = [torch.empty_like(loss) for _ in range(dist.get_world_size())] if root else None
    dist.gather(loss, parts, dst=0)
    return loss.item(), sum(parts).item() if root else None


@variant("sum_in_two_steps")
def exchanged_and_added(x):
    """A reduce-scatter made of an all-to-all."""
    n = dist.get_world_size()
    size = (len(x) + n - 1) // n
    padded = torch.nn.functional.pad(x, (0, n * size - len(x)))
    got = torch.empty_like(padded)
    dist.all_to_all_single(got, padded)
    piece = got.reshape(n, size).sum(dim=0)
    parts = list(torch.empty(n, size, dtype=x.dtype))
    dist.all_gather(parts, piece)
    return torch.stack(parts).flatten()[: len(x)]


@variant("sum_in_two_steps")
def tensors_instead_of_lists(x):
    n = dist.get_world_size()
    padded = torch.cat([x, x.new_zeros(-len(x) % n)])
    piece = padded.new_empty(len(padded) // n)
    dist.reduce_scatter_tensor(piece, padded)
    dist.all_gather_into_tensor(padded, piece)
    return padded[: len(x)]


@variant("transposed_rows")
def lists_of_blocks(rows):
    n = dist.get_world_size()
    sent = [part.contiguous() for part in rows.t().contiguous().chunk(n)]
    got = [torch.empty_like(part) for part in sent]
    dist.all_to_all(got, sent)
    return torch.hstack(got)


@variant("transposed_rows")
def by_messages(rows):
    n, rank = dist.get_world_size(), dist.get_rank()
    parts = [part.contiguous() for part in rows.t().chunk(n)]
    got = [torch.empty_like(part) for part in parts]
    got[rank] = parts[rank]
    ops = []
    for k in range(n):
        if k != rank:
            ops.append(dist.P2POp(dist.isend, parts[k], k))
            ops.append(dist.P2POp(dist.irecv, got[k], k))
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    return torch.cat(got, dim=1)
