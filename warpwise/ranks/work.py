"""What a rank computes: operations of its matrix products, and the largest tensor it makes.

>>> with work() as done:
...     scores = q @ k.T
>>> done.flops, done.largest
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

#: Products that count, and which argument is the left factor: 2 x results x its last dimension,
#: as torch.utils.flop_counter counts them, and the products with vectors as well.
_LEFT = {"mm": 0, "bmm": 0, "addmm": 1, "baddbmm": 1, "mv": 0, "addmv": 1, "dot": 0}


@dataclass
class Work:
    """Label: counted.

    flops    multiplications and additions of matrix products; nothing else counts
    largest  bytes of the largest storage that an operation gave back
    """

    flops: int = 0
    largest: int = 0
    label: str = field(default="counted", compare=False)


@contextmanager
def work() -> Iterator[Work]:
    """Count what PyTorch does on this rank within the block, backward passes too."""
    from torch import Tensor
    from torch.utils._python_dispatch import TorchDispatchMode

    done = Work()

    class Counting(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            found = func(*args, **(kwargs or {}))
            made = found if isinstance(found, list | tuple) else (found,)
            for one in made:
                if isinstance(one, Tensor):
                    done.largest = max(done.largest, one.untyped_storage().nbytes())
            left = _LEFT.get(func._schema.name.removeprefix("aten::"))
            if left is not None:
                done.flops += 2 * made[0].numel() * args[left].shape[-1]
            return found

    with Counting():
        yield done
