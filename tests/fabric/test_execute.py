"""The order lists that are simulated, run on real ranks: gradients equal to one process."""

import pytest
import torch
from torch import nn

from warpwise.fabric.schedules import (
    Schedule,
    ScheduleError,
    dualpipe,
    gpipe,
    interleaved,
    one_f_one_b,
    zb1p,
    zb2p,
)
from warpwise.fabric.schedules.execute import execute
from warpwise.ranks import run_ranks

WIDTH, ROWS, MICROBATCHES = 8, 3, 8


def layers(count):
    torch.manual_seed(3)
    return [
        nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH)).double()
        for _ in range(count)
    ]


def data():
    torch.manual_seed(5)
    made = [torch.randn(ROWS, WIDTH, dtype=torch.float64) for _ in range(2 * MICROBATCHES)]
    return made[:MICROBATCHES], made[MICROBATCHES:]


def loss(output, target):
    return ((output - target) ** 2).mean() / MICROBATCHES


def one_process(count):
    model, (inputs, targets) = layers(count), data()
    losses = {}
    for number, (x, target) in enumerate(zip(inputs, targets, strict=True)):
        for layer in model:
            x = layer(x)
        value = loss(x, target)
        losses[number] = float(value.detach())
        value.backward()
    return [[w.grad for w in layer.parameters()] for layer in model], losses


def on_ranks(schedule):
    """{(stage, copy): gradients} and the losses of all ranks."""

    def work():
        import torch.distributed as dist

        rank = dist.get_rank()
        all_layers, (inputs, targets) = layers(schedule.stages), data()
        mine = [all_layers[schedule.stage(rank, chunk)] for chunk in range(schedule.chunks)]
        like = torch.empty(ROWS, WIDTH, dtype=torch.float64)
        found = execute(schedule, rank, mine, inputs, targets, loss, like)
        grads = {
            (schedule.stage(rank, chunk), chunk): [w.grad for w in mine[chunk].parameters()]
            for chunk in range(schedule.chunks)
        }
        return grads, found

    values = run_ranks(work, schedule.ranks, timeout=60).values
    return [grads for grads, _ in values], {k: v for _, found in values for k, v in found.items()}


VEE = Schedule(
    [
        [*(f"F{i}" for i in range(4)), *(f"F{i}.1" for i in range(4)),
         *(f"B{i}.1" for i in range(4)), *(f"B{i}" for i in range(4))],
    ]
    * 2,
    chunks=2,
    placement="vee",
)  # fmt: skip


@pytest.mark.parametrize(
    "schedule",
    [gpipe(4, 8), one_f_one_b(4, 8), interleaved(4, 8, 2), zb1p(4, 8), zb2p(3, 8), gpipe(1, 8)],
    ids=lambda s: f"{s.name}-{s.ranks}",
)
def test_gradients_and_losses_equal_those_of_one_process(schedule):
    expected, losses = one_process(schedule.stages)
    grads, found = on_ranks(schedule)
    assert found == losses
    for held in grads:
        for (stage, _), got in held.items():
            assert all(torch.equal(a, b) for a, b in zip(got, expected[stage], strict=True))


def test_the_two_copies_of_dualpipe_add_up_to_one_model():
    schedule = dualpipe(4, 8)
    expected, losses = one_process(4)
    grads, found = on_ranks(schedule)
    assert found == losses
    copies = {key: got for held in grads for key, got in held.items()}
    for stage in range(4):
        for down, up, whole in zip(
            copies[stage, 0], copies[stage, 1], expected[stage], strict=True
        ):
            torch.testing.assert_close(down + up, whole, rtol=1e-12, atol=1e-14)


def test_the_same_gradients_as_pytorchs_own_schedule():
    """torch.distributed.pipelining's 1F1B on the same stages."""

    def theirs():
        import torch.distributed as dist
        from torch.distributed.pipelining import PipelineStage, Schedule1F1B

        rank = dist.get_rank()
        layer = layers(4)[rank]
        inputs, targets = data()
        example = (torch.empty(ROWS, WIDTH, dtype=torch.float64),)
        stage = PipelineStage(layer, rank, 4, torch.device("cpu"), input_args=example)
        schedule = Schedule1F1B(stage, MICROBATCHES, loss_fn=loss, scale_grads=False)
        x = torch.cat(inputs) if rank == 0 else None
        if rank == 0:
            schedule.step(x)
        elif rank == 3:
            schedule.step(target=torch.cat(targets))
        else:
            schedule.step()
        return [w.grad for w in layer.parameters()]

    ours, _ = on_ranks(one_f_one_b(4, 8))
    for rank, got in enumerate(run_ranks(theirs, 4, timeout=60).values):
        for a, b in zip(got, ours[rank][rank, 0], strict=True):
            torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-14)


def test_what_is_no_schedule_is_refused_before_anything_is_sent():
    with pytest.raises(ScheduleError, match="rank 0 never runs B0"):
        execute(Schedule([["F0"]]), 0, [None], [], [], loss, torch.empty(1))
    with pytest.raises(ScheduleError, match="rank 0 has 1 chunks and 2 modules"):
        execute(Schedule([["F0", "B0"]]), 0, [None, None], [], [], loss, torch.empty(1))
