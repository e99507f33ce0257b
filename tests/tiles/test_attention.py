"""FlashAttention on the CPU: values, gradients, and elements moved as the formula says."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("triton", reason="Triton has wheels for Linux only")
import triton

from tests.tiles import attention
from warpwise import tiles

D = 16


def inputs(rows: int, cols: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(rows)
    q, do = (rng.normal(size=(rows, D)).astype(np.float32) for _ in range(2))
    k, v = (rng.normal(size=(cols, D)).astype(np.float32) for _ in range(2))
    return q, k, v, do


def scores(q: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(probabilities, logarithms of the sums), in float64."""
    s = q.astype("f8") @ k.T.astype("f8") * D**-0.5
    lse = np.log(np.exp(s - s.max(axis=1, keepdims=True)).sum(axis=1)) + s.max(axis=1)
    return np.exp(s - lse[:, None]), lse


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (17, 33), (48, 40)])
@pytest.mark.parametrize("bm", [16, 32])
def test_forward(rows: int, cols: int, bm: int) -> None:
    """Q and the output move once, K and V once for each tile of rows."""
    q, k, v, _ = inputs(rows, cols)
    q[0] *= 1e4  # one score rules its row
    out, lse = np.zeros_like(q), np.zeros(rows, np.float32)
    programs = triton.cdiv(rows, bm)

    done = tiles.run(
        attention.forward, programs, out, lse, q, k, v, rows, cols, D**-0.5,
        D=D, BM=bm, BN=16, device="cpu",
    )  # fmt: skip

    p, want = scores(q, k)
    assert np.allclose(out, p @ v, atol=2e-5)
    assert np.allclose(lse, want, rtol=1e-5, atol=1e-5)
    assert done.loaded == {"Q": 4 * q.size, "K": 4 * k.size * programs, "V": 4 * v.size * programs}
    assert done.stored == {"OUT": 4 * q.size, "LSE": 4 * rows}
    assert not done.findings


def test_backward() -> None:
    rows, cols = 20, 33
    q, k, v, do = inputs(rows, cols)
    p, lse = scores(q, k)
    delta = ((p @ v) * do).sum(axis=1)
    dk, dv = np.zeros_like(k), np.zeros_like(v)

    tiles.run(
        attention.backward_kv, triton.cdiv(cols, 16), dk, dv, q, k, v, do, lse.astype("f4"),
        delta.astype("f4"), rows, cols, D**-0.5, D=D, BM=16, BN=16, device="cpu",
    )  # fmt: skip

    ds = p * (do @ v.T - delta[:, None]) * D**-0.5
    assert np.allclose(dv, p.T @ do, atol=2e-5)
    assert np.allclose(dk, ds.T @ q, atol=2e-5)
