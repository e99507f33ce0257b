"""What a forward pass keeps for its backward: as autograd saves it, and as it stays in memory.

Storages count, each once: two views of one array cost what the array costs, and a view of three of
its rows keeps all its rows.  On `device="meta"` tensors have shapes and no data, so that layers of
any size are counted exactly without memory for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Kept:
    """A storage that autograd keeps: how the first tensor in it looked, and all of its bytes."""

    shape: tuple[int, ...]
    dtype: str
    bytes: int


@dataclass
class Saved:
    """What `saved` found, in the order of the forward pass.  Label: counted."""

    kept: list[Kept] = field(default_factory=list)
    label: str = "counted"

    @property
    def bytes(self) -> int:
        return sum(one.bytes for one in self.kept)

    def of(self, dtype: str) -> int:
        """Bytes of one dtype, e.g. "float32"."""
        return sum(one.bytes for one in self.kept if one.dtype == dtype)

    def __str__(self) -> str:
        rows = [f"{one.bytes:>13,}  {one.dtype:9} {list(one.shape)}" for one in self.kept]
        return "\n".join([*rows, f"{self.bytes:>13,}  in all ({self.label})"])


@contextmanager
def saved(weights: Iterable[Any] = ()) -> Iterator[Saved]:
    """Tensors that autograd saves within the block; those in the storages of `weights` are left
    out, since they are there anyway.

    >>> with saved(model.parameters()) as found:
    ...     y = model(x)
    >>> found.bytes
    """
    import torch

    known = {_key(weight): weight.untyped_storage() for weight in weights}
    found = Saved()

    def pack(tensor: Any) -> Any:
        key = _key(tensor)
        if key not in known:
            # Held until the block ends: a storage that is freed leaves its address to another.
            known[key] = tensor.untyped_storage()
            name = str(tensor.dtype).removeprefix("torch.")
            found.kept.append(Kept(tuple(tensor.shape), name, known[key].nbytes()))
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield found
    known.clear()


class Alive:
    """Bytes made within the block and not yet released, whoever holds them: also attributes of
    a `ctx`, which `saved` does not see.  Label: counted.

    >>> with Alive() as made:
    ...     y = forward(x)
    >>> made.bytes(y)      # without y itself
    """

    def __init__(self) -> None:
        from torch.utils._python_dispatch import TorchDispatchMode

        made = self._made = {}  # type: dict[int, tuple[Any, int]]

        class Watch(TorchDispatchMode):
            def __torch_dispatch__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                out = func(*args, **(kwargs or {}))
                given = {_key(tensor) for tensor in _tensors((args, kwargs))}
                for tensor in _tensors(out):
                    if _key(tensor) not in given:
                        made[_key(tensor)] = _weak(tensor)
                return out

        self._watch = Watch()

    def __enter__(self) -> Alive:
        self._watch.__enter__()
        return self

    def __exit__(self, *failure: Any) -> None:
        self._watch.__exit__(*failure)

    def bytes(self, *but: Any) -> int:
        """Those that are alive now, without the storages of the tensors in `but`."""
        without = {_key(tensor) for tensor in but}
        return sum(
            size
            for key, (weak, size) in self._made.items()
            if key not in without and not weak.expired()
        )


def _key(tensor: Any) -> int:
    return int(tensor.untyped_storage()._cdata)


def _weak(tensor: Any) -> tuple[Any, int]:
    from torch.multiprocessing.reductions import StorageWeakRef

    storage = tensor.untyped_storage()
    return StorageWeakRef(storage), storage.nbytes()  # type: ignore[no-untyped-call]


def _tensors(tree: Any) -> list[Any]:
    import torch
    from torch.utils._pytree import tree_leaves

    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]
