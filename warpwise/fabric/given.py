"""A function called on a rank with that rank's arguments: what `warpwise.check.ranked` runs there.

Stands here, not in `check`, since each rank imports the module: `check` takes seconds to load.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .net import Net
from .network import Network


def call(
    answer: Callable[..., Any], args_by_rank: Sequence[Sequence[Any]], network: Network | None
) -> tuple[Any, float]:
    """The answer's value on this rank and its virtual time.

    NumPy arrays are handed over as torch tensors and tensors come back as NumPy arrays.  With a
    network the function gets its Net as the last argument.
    """
    import torch.distributed as dist

    args = [_given(value) for value in args_by_rank[dist.get_rank()]]
    net = None if network is None else Net(network)
    value = answer(*args) if net is None else answer(*args, net)
    return _taken(value), 0.0 if net is None else net.now


def _given(value: Any) -> Any:
    import torch

    return torch.from_numpy(value.copy()) if isinstance(value, np.ndarray) else value


def _taken(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return value.detach().cpu().numpy()
    if isinstance(value, list | tuple):
        return [_taken(item) for item in value]
    return value
