"""A launch on a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import arguments
from .report import Run


def on_gpu(
    jit: Any, shape: tuple[int, int, int], bound: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Run:  # fmt: skip
    """Compile and launch; arrays that are not on the GPU are copied there and back."""
    import torch

    there: dict[str, Any] = {}
    back: list[tuple[Any, Any]] = []
    for name, value in bound.items():
        if isinstance(value, np.ndarray):
            array, kind = arguments.as_array(name, value)
            host = torch.from_numpy(array)
            if kind in ("bfloat16", "float8e4nv", "float8e5"):
                host = host.view(getattr(torch, str(value.dtype)))
        elif arguments.is_tensor(value) and value.device.type == "cpu":
            host = value.detach()
        else:
            there[name] = value
            continue
        there[name] = _placed(host)
        back.append((host, there[name]))
    jit[shape](**there, **options)
    torch.cuda.synchronize()
    for host, copy in back:
        host.copy_(copy)
    return Run(jit.__name__, shape, None, {}, f"run on {torch.cuda.get_device_name()}")


def _placed(host: Any) -> Any:
    """A copy on the GPU with the same strides."""
    import torch

    if not host.numel():
        return torch.empty_like(host, device="cuda")
    size = sum((n - 1) * step for n, step in zip(host.shape, host.stride())) + 1
    flat = torch.empty(size, dtype=host.dtype, device="cuda")
    copy = flat.as_strided(host.shape, host.stride())
    return copy.copy_(host)
