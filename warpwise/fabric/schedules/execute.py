"""Run a schedule for real: the order lists that `simulate` judges, on the ranks of a process group.

Called by every rank inside its function.  Messages carry tags, which gloo honours and NCCL does
not: with NCCL use torch.distributed.pipelining, whose schedules order their messages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .passes import Pass, parts
from .schedule import Schedule
from .simulate import simulate
from .tasks import ScheduleError

Tensor = Any
Module = Any


def execute(
    schedule: Schedule,
    rank: int,
    stages: Sequence[Module],
    inputs: Sequence[Tensor],
    targets: Sequence[Tensor],
    loss: Callable[[Tensor, Tensor], Tensor],
    like: Tensor,
) -> dict[int, float]:
    """Run this rank's passes in order; add the gradients of all microbatches to `.grad`.

    stages   this rank's modules, one a chunk
    inputs   one tensor a microbatch; read by the first stage
    targets  one a microbatch; read by the last stage
    loss     loss(output, target) of one microbatch; scale it there if the mean is wanted
    like     a tensor with the shape and dtype of what goes from one stage to the next

    Raises ScheduleError, and Deadlock with the cycle, before anything is sent.

    Returns {microbatch: loss} of the microbatches that end here.  In a twin the two copies of a
    stage hold the gradients of half the microbatches each: add them.
    """
    simulate(schedule)  # every rank refuses what would hang
    if rank not in range(schedule.ranks):
        raise ScheduleError(f"there is no rank {rank}, only 0 to {schedule.ranks - 1}.")
    if len(stages) != schedule.chunks:
        raise ScheduleError(f"rank {rank} has {schedule.chunks} chunks and {len(stages)} modules.")
    for name, given in (("inputs", inputs), ("targets", targets)):
        if len(given) != schedule.microbatches:
            raise ScheduleError(f"{len(given)} {name} for {schedule.microbatches} microbatches.")
    worker = _Worker(schedule, rank, stages, inputs, targets, loss, like)
    for step in schedule.orders[rank]:
        for one in parts(step):
            worker.run(one)
    for sent in worker.sending:
        sent[0].wait()
    return worker.losses


class _Worker:
    """What a rank holds while it runs: activations, and messages under way."""

    def __init__(
        self,
        schedule: Schedule,
        rank: int,
        stages: Sequence[Module],
        inputs: Sequence[Tensor],
        targets: Sequence[Tensor],
        loss: Callable[[Tensor, Tensor], Tensor],
        like: Tensor,
    ) -> None:
        self.rank, self.stages, self.inputs, self.targets = rank, stages, inputs, targets
        self.loss, self.like, self.depth = loss, like, schedule.stages
        self.ways = [schedule.way(m) for m in range(schedule.microbatches)]
        self.held: dict[tuple[int, int], tuple[Tensor, Tensor]] = {}  # input and output
        self.above: dict[tuple[int, int], Tensor | None] = {}  # gradient of the output, for W
        self.own: dict[int, Tensor] = {}  # messages to itself, by tag
        self.sending: list[tuple[Any, Tensor]] = []  # the tensor lives until it has gone
        self.losses: dict[int, float] = {}

    def run(self, one: Pass) -> None:
        where = (one.microbatch, one.chunk)
        stage = self.ways[one.microbatch].index((self.rank, one.chunk))
        if one.kind == "F":
            self._forward(where, stage)
        elif one.kind == "B":
            self._backward(where, stage)
        elif one.kind == "I":
            self._for_input(where, stage)
        else:
            self._for_weights(where)

    def _forward(self, where: tuple[int, int], stage: int) -> None:
        microbatch, chunk = where
        if stage == 0:
            x = self.inputs[microbatch]
        else:
            x = self._receive(microbatch, stage - 1, stage, back=False).requires_grad_()
        y = self.stages[chunk](x)
        if stage == self.depth - 1:
            y = self.loss(y, self.targets[microbatch])
            self.losses[microbatch] = float(y.detach())
        else:
            self._send(y.detach(), microbatch, stage, stage + 1, back=False)
        self.held[where] = (x, y)

    def _gradient(self, microbatch: int, stage: int) -> Tensor | None:
        """The gradient of a stage's output; None for the loss itself."""
        if stage == self.depth - 1:
            return None
        return self._receive(microbatch, stage + 1, stage, back=True)

    def _backward(self, where: tuple[int, int], stage: int) -> None:
        import torch

        x, y = self.held.pop(where)
        torch.autograd.backward(y, self._gradient(where[0], stage))
        if stage:
            self._send(x.grad, where[0], stage, stage - 1, back=True)

    def _for_input(self, where: tuple[int, int], stage: int) -> None:
        import torch

        x, y = self.held[where]
        above = self.above[where] = self._gradient(where[0], stage)
        if stage:
            (gradient,) = torch.autograd.grad(y, x, above, retain_graph=True)
            self._send(gradient, where[0], stage, stage - 1, back=True)

    def _for_weights(self, where: tuple[int, int]) -> None:
        import torch

        _, y = self.held.pop(where)
        weights = [w for w in self.stages[where[1]].parameters() if w.requires_grad]
        above = self.above.pop(where)
        if not weights:  # a frozen stage, or one without any
            return
        gradients = torch.autograd.grad(y, weights, above, allow_unused=True)
        for weight, gradient in zip(weights, gradients, strict=True):
            if gradient is not None:
                weight.grad = gradient if weight.grad is None else weight.grad + gradient

    def _tag(self, microbatch: int, to: int, back: bool) -> int:
        return (microbatch * self.depth + to) * 2 + back

    def _send(self, tensor: Tensor, microbatch: int, here: int, to: int, back: bool) -> None:
        import torch.distributed as dist

        peer, tag = self.ways[microbatch][to][0], self._tag(microbatch, to, back)
        if peer == self.rank:
            self.own[tag] = tensor
            return
        tensor = tensor.contiguous()
        self.sending.append((dist.isend(tensor, peer, tag=tag), tensor))

    def _receive(self, microbatch: int, start: int, here: int, back: bool) -> Tensor:
        import torch
        import torch.distributed as dist

        peer, tag = self.ways[microbatch][start][0], self._tag(microbatch, here, back)
        if peer == self.rank:
            return self.own.pop(tag)
        tensor = torch.empty_like(self.like)
        dist.recv(tensor, peer, tag=tag)
        return tensor
