"""What autograd saves and what stays alive, against sizes known beforehand."""

import torch
import torch.nn.functional as F

from warpwise.ranks.saved import Alive, saved


def test_a_storage_counts_once_and_weights_do_not():
    x, up, down = (torch.randn(shape, requires_grad=True) for shape in ((6, 4), (16, 4), (4, 16)))
    with saved([up, down]) as found:
        torch.relu(x @ up.T) @ down.T
    assert [one.bytes for one in found.kept] == [6 * 4 * 4, 6 * 16 * 4]
    with saved() as found:
        torch.relu(x @ up.T) @ down.T
    assert found.bytes == (6 * 4 + 6 * 16 + 2 * 16 * 4) * 4


def test_a_view_keeps_all_of_its_storage():
    x, scale = torch.randn(9, 4, requires_grad=True), torch.randn(4, requires_grad=True)
    with saved([scale]) as found:
        x[:2] * scale
    assert found.kept[0].shape == (2, 4)
    assert found.bytes == 9 * 4 * 4


def test_tensors_without_data_are_counted_as_well():
    x = torch.empty(1 << 20, 1 << 14, device="meta", dtype=torch.bfloat16, requires_grad=True)
    with saved() as found:
        torch.native_dropout(F.gelu(x), 0.5, True)
    assert found.of("bfloat16") == 2 << 34
    assert found.of("bool") == 1 << 34
    assert found.bytes == 3 << 34


def test_what_a_ctx_holds_is_alive_though_autograd_does_not_save_it():
    class Hidden(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.held = torch.cat([x, x])
            return ctx.held.sum(0)

        @staticmethod
        def backward(ctx, gradient):
            return gradient.expand(len(ctx.held) // 2, -1)

    x = torch.randn(5, 3, requires_grad=True)
    with saved() as found, Alive() as made:
        y = Hidden.apply(x)
    assert found.bytes == 0
    assert made.bytes(y) == 2 * x.nbytes
    del y
    assert made.bytes() == 0


def test_what_is_released_within_the_block_is_not_alive():
    x = torch.randn(64)
    with Alive() as made:
        kept = (x + 1).exp()
        again = (x + 2).view(8, 8)
    assert made.bytes() == 2 * 64 * 4
    assert made.bytes(again) == kept.nbytes
