"""What a rank computes, against torch's own counter, and the largest tensor it makes."""

import pytest

torch = pytest.importorskip("torch", reason="ranks need PyTorch")

from warpwise.ranks.work import work  # noqa: E402


def products(a, b, x):
    """Each kind of product, and a backward pass."""
    a = a.clone().requires_grad_()
    (a @ b).square().sum().backward()
    torch.addmm(torch.zeros(3, 5), a, b)
    torch.bmm(a[None].expand(2, 3, 4), b[None].expand(2, 4, 5))
    torch.einsum("ij,jk->ik", a, b)
    return a.grad


def test_operations_are_those_of_torch():
    from torch.utils.flop_counter import FlopCounterMode

    a, b, x = torch.randn(3, 4), torch.randn(4, 5), torch.randn(4)
    with FlopCounterMode(display=False) as theirs:
        products(a, b, x)
    with work() as ours:
        products(a, b, x)
    assert ours.flops == theirs.get_total_flops() == 2 * 3 * 4 * 5 * 6


def test_products_with_vectors_count_as_well():
    a, x = torch.randn(3, 4), torch.randn(4)
    with work() as done:
        a @ x
        x @ x
    assert done.flops == 2 * 3 * 4 + 2 * 4


def test_a_view_is_as_large_as_what_it_shows():
    x = torch.zeros(6, dtype=torch.float64)
    with work() as done:
        x[:, None].expand(6, 100)
    assert done.largest == 48
    with work() as done:
        x[:, None] + torch.zeros(100, dtype=torch.float64)
    assert done.largest == 6 * 100 * 8


def test_nothing_done_is_nothing_counted():
    with work() as done:
        pass
    assert (done.flops, done.largest) == (0, 0)
