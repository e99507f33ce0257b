"""Parallel training written by hand: what the course builds, to be compared with PyTorch's engines.

Every function runs on each rank of a process group.
"""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn


def mean_gradients(model, cap=1 << 14):
    """Data parallel: all-reduce gradients in buckets of `cap` bytes, last parameter first."""
    world = dist.get_world_size()
    bucket, size = [], 0
    seen = set()

    def flush():
        nonlocal bucket, size
        if bucket:
            flat = torch.cat([p.grad.reshape(-1) for p in bucket])
            dist.all_reduce(flat)
            for p, part in zip(bucket, flat.split([p.numel() for p in bucket]), strict=True):
                p.grad.copy_(part.view_as(p) / world)
        bucket, size = [], 0

    for p in reversed(list(model.parameters())):
        if id(p) in seen:
            continue
        seen.add(id(p))
        if p.grad is None:  # unused on this rank, perhaps not on others
            p.grad = torch.zeros_like(p)
        bucket.append(p)
        size += p.numel() * p.element_size()
        if size >= cap:
            flush()
    flush()


class Zero:
    """ZeRO over a flat vector of all parameters, with Adam.

    stage 1 keeps whole gradients and shards the moments; 2 keeps a shard of the gradients; 3 keeps
    a shard of the parameters, too, and gathers them for each step.
    """

    def __init__(self, model, stage, lr=1e-2):
        self.model, self.stage, self.lr = model, stage, lr
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.parameters = list(model.parameters())
        self.shapes = [p.shape for p in self.parameters]
        self.count = sum(p.numel() for p in self.parameters)
        self.each = -(-self.count // self.world)
        flat = torch.cat([p.detach().reshape(-1) for p in self.parameters])
        self.shard = self._part(self._padded(flat)).clone()
        self.first = torch.zeros_like(self.shard)
        self.second = torch.zeros_like(self.shard)
        self.steps = 0
        if stage == 3:
            self._drop()

    def _padded(self, flat):
        return F.pad(flat, (0, self.each * self.world - self.count))

    def _part(self, padded):
        return padded[self.rank * self.each : (self.rank + 1) * self.each]

    def _drop(self):
        for p in self.parameters:
            p.data = torch.empty(0, dtype=p.dtype)

    def gather(self):
        """Whole parameters from everybody's shards."""
        whole = torch.empty(self.each * self.world, dtype=self.shard.dtype)
        dist.all_gather_into_tensor(whole, self.shard)
        at = 0
        for p, shape in zip(self.parameters, self.shapes, strict=True):
            p.data = whole[at : at + shape.numel()].view(shape)
            at += shape.numel()

    def step(self, loss):
        """Forward and backward by `loss(model)`, then Adam on this rank's shard."""
        if self.stage == 3:
            self.gather()
        loss(self.model).backward()
        flat = self._padded(torch.cat([p.grad.reshape(-1) for p in self.parameters]))
        if self.stage == 1:
            dist.all_reduce(flat)
            gradient = self._part(flat)
        else:
            gradient = torch.empty_like(self.shard)
            dist.reduce_scatter_tensor(gradient, flat)
        for p in self.parameters:
            p.grad = None
        self._adam(gradient / self.world)
        if self.stage == 3:
            self._drop()
        else:
            self.gather()

    def _adam(self, gradient, betas=(0.9, 0.999), eps=1e-8):
        self.steps += 1
        self.first.mul_(betas[0]).add_(gradient, alpha=1 - betas[0])
        self.second.mul_(betas[1]).addcmul_(gradient, gradient, value=1 - betas[1])
        first = self.first / (1 - betas[0] ** self.steps)
        second = self.second / (1 - betas[1] ** self.steps)
        self.shard -= self.lr * first / (second.sqrt() + eps)


class Copy(torch.autograd.Function):
    """Megatron's f: nothing forward, all-reduce backward."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.contiguous()
        dist.all_reduce(gradient)
        return gradient


class Sum(torch.autograd.Function):
    """Megatron's g: all-reduce forward, nothing backward."""

    @staticmethod
    def forward(ctx, x):
        x = x.contiguous()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class TensorParallel(nn.Module):
    """x -> down(relu(up(x))): `up` cut by columns, `down` by rows, its bias added once."""

    def __init__(self, up, down):
        super().__init__()
        rank, world = dist.get_rank(), dist.get_world_size()
        self.up = nn.Parameter(up.weight.detach().chunk(world)[rank].clone())
        self.up_bias = nn.Parameter(up.bias.detach().chunk(world)[rank].clone())
        self.down = nn.Parameter(down.weight.detach().chunk(world, dim=1)[rank].clone())
        self.down_bias = nn.Parameter(down.bias.detach().clone())

    def forward(self, x):
        hidden = torch.relu(F.linear(Copy.apply(x), self.up, self.up_bias))
        return Sum.apply(F.linear(hidden, self.down)) + self.down_bias


def ring_attention(q, k, v):
    """Causal attention of this rank's queries over all ranks' keys, which go round the ring.

    q, k, v  [heads, tokens of this rank, width]; rank r holds the r-th part of the sequence
    """
    rank, world = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % world, (rank - 1) % world
    tokens, width = q.shape[1:]
    most = torch.full((*q.shape[:2], 1), -torch.inf, dtype=q.dtype)
    total = torch.zeros_like(most)
    out = torch.zeros_like(q)
    block = torch.stack([k, v])
    for step in range(world):
        source = (rank - step) % world
        if step < world - 1:
            came = torch.empty_like(block)
            works = dist.batch_isend_irecv([dist.P2POp(dist.isend, block, right),
                                            dist.P2POp(dist.irecv, came, left)])  # fmt: skip
        scores = q @ block[0].transpose(1, 2) / width**0.5
        mine = torch.arange(tokens)[:, None] + rank * tokens
        theirs = torch.arange(tokens)[None] + source * tokens
        scores = scores.masked_fill(theirs > mine, -torch.inf)
        top = torch.maximum(most, scores.amax(-1, keepdim=True))
        safe = torch.where(top == -torch.inf, torch.zeros_like(top), top)
        weights, old = torch.exp(scores - safe), torch.exp(most - safe)
        total = total * old + weights.sum(-1, keepdim=True)
        out = out * old + weights @ block[1]
        most = top
        if step < world - 1:
            for work in works:
                work.wait()
            block = came
    return out / total


def expert_parallel(tokens, choice, experts):
    """Each token goes to the rank of its expert and back: two uneven all-to-alls.

    tokens [n, width], choice [n] expert numbers; experts: this rank's modules, as many everywhere
    """
    world, local = dist.get_world_size(), len(experts)
    order = torch.argsort(choice, stable=True)
    owner = choice[order] // local
    send = torch.bincount(owner, minlength=world)
    receive = torch.empty_like(send)
    dist.all_to_all_single(receive, send)
    sizes_in, sizes_out = receive.tolist(), send.tolist()
    came = tokens.new_empty(sum(sizes_in), tokens.shape[1])
    dist.all_to_all_single(came, tokens[order].contiguous(), sizes_in, sizes_out)
    which = choice.new_empty(sum(sizes_in))
    dist.all_to_all_single(which, choice[order].contiguous(), sizes_in, sizes_out)
    done = torch.empty_like(came)
    for number, expert in enumerate(experts):
        here = which % local == number
        done[here] = expert(came[here])
    back = torch.empty_like(tokens)
    dist.all_to_all_single(back, done, sizes_out, sizes_in)
    result = torch.empty_like(tokens)
    result[order] = back
    return result
