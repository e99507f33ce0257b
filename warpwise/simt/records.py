"""Records in memory: bytes, and each field an array of its own over them.

`a[i].x` reads element i of the array `a.x`, whose elements lie one record apart.  So a field has
true addresses, bounds, counters and races like any other array, and no access needs more than
`memory` has.

Glossary
    record       at run time the pair (array of records, index): it names memory, as in Numba
    RecordRoot   memory of records; `unit` is the bytes of one record, positions are bytes
    TypedRoot    the same memory seen as elements of one dtype
    PiecesRef    an array whose elements are moved piece by piece, since their addresses are no
                 multiple of their size: complex64 as two float32, packed fields byte by byte
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .errors import MisalignedAddressError, UnsupportedError, at_line
from .storage import dynamic_bytes, poison
from .values import ArrayRef, Mask, Root, SplitRef, Value

Record = tuple[Any, tuple[Value, ...]]
BYTE = np.dtype(np.uint8)
#: (extent, bytes from one to the next) of each axis of a nested array
Tail = tuple[tuple[int, int], ...]


class RecordRoot(Root):
    """Memory of records of `unit` bytes.  `buf` holds its bytes; shared and local arrays have one
    buffer for each dtype instead, since nothing can look at them as another type."""

    __slots__ = ("_undefined", "typed", "unit")

    def __init__(self, name: str, buf: Any, space: str, unit: int, **options: Any) -> None:
        self._undefined = False
        self.typed: dict[np.dtype[Any], TypedRoot] = {}
        self.unit = unit
        super().__init__(name, buf, space, **options)

    @property
    def init(self) -> Any:
        """Always None: the elements that hold a value are known for each field, see TypedRoot."""
        return None

    @init.setter
    def init(self, value: Any) -> None:
        self._undefined = value is not None
        if value is None:
            for root in self.typed.values():
                root.init = None

    def define(self, init: Any) -> None:
        """Note which records the host has given a value."""
        for root in self.typed.values():
            if root.init is not None:
                root.init |= np.repeat(init, self.unit // root.buf.dtype.itemsize)

    def writable(self) -> Any:
        fresh = self.copy_on_write and not self.dirty
        super().writable()
        if fresh:
            for dtype, root in self.typed.items():
                root.buf = self.buf.view(dtype)
        return self.buf

    def as_type(self, run: Any, dtype: np.dtype[Any]) -> TypedRoot:
        """This memory as elements of a dtype; made at the first use."""
        found = self.typed.get(dtype)
        if found is None:
            found = self.typed[dtype] = self._view(run, dtype)
            if self.space in ("shared", "local"):
                n = np.int64(found.count)
                run.allocated(("field", id(found)), ArrayRef(found, self.name, I0, (n,), (1,)))
        return found

    def _view(self, run: Any, dtype: np.dtype[Any]) -> TypedRoot:
        count = -(-self.count // dtype.itemsize)
        if self.count and not self.bytewise:
            blocks, threads = run.lanes
            buf = np.empty(count * blocks * (threads if self.space == "local" else 1), dtype)
            poison(buf)
            return TypedRoot(self, buf, count)
        root = TypedRoot(self, self.buf.view(dtype), count)
        if self._undefined:
            root.init = np.zeros(root.buf.size, np.bool_)
        return root


class TypedRoot(Root):
    """The memory of `owner` as elements of one dtype."""

    __slots__ = ("owner",)

    def __init__(self, owner: RecordRoot, buf: Any, count: int) -> None:
        super().__init__(owner.name, buf, owner.space, count=count)
        self.owner = owner
        self.bytewise = owner.bytewise

    @property
    def memory(self) -> Root:
        return self.owner

    def writable(self) -> Any:
        self.owner.writable()
        return self.buf


class PiecesRef:
    """An array of `dtype` whose elements are the last axis of `part`."""

    __slots__ = ("dtype", "part")

    def __init__(self, part: ArrayRef, dtype: np.dtype[Any]) -> None:
        self.part = part
        self.dtype = dtype

    @property
    def name(self) -> str:
        return self.part.name

    @property
    def ndim(self) -> int:
        return len(self.part.shape) - 1

    @property
    def shape(self) -> tuple[Value, ...]:
        return self.part.shape[:-1]

    @property
    def size(self) -> Value:
        return np.prod(self.shape, dtype=np.int64)

    def floats(self, number: int) -> ArrayRef:
        """The real parts (0) or imaginary parts (1) of complex numbers."""
        p = self.part
        if p.root.buf.dtype == BYTE:
            raise UnsupportedError(
                f"{p.name} holds complex numbers at odd addresses: take an element before .real or "
                ".imag, or make the records with align=True"
            )
        return ArrayRef(p.root, p.name, p.offset + number, p.shape[:-1], p.strides[:-1])

    def indices(self, index: tuple[Value, ...]) -> list[tuple[Value, ...]]:
        """The index of each piece of an element."""
        return [(*index, np.int64(k)) for k in range(int(self.part.shape[-1]))]

    def joined(self, parts: list[Value]) -> Value:
        """Pieces -> elements."""
        if self.dtype.kind == "b":
            return parts[0] != 0
        whole = np.ascontiguousarray(np.stack(np.broadcast_arrays(*parts), axis=-1))
        return whole.view(self.dtype)[..., 0][()]

    def pieces(self, value: Value) -> list[Value]:
        """Elements -> pieces."""
        whole = np.ascontiguousarray(np.asarray(value, self.dtype)[..., None])
        split = whole.view(self.part.root.buf.dtype)
        return [split[..., k][()] for k in range(split.shape[-1])]


I0 = np.int64(0)


def records_of(root: Root) -> RecordRoot:
    """Device memory of a structured dtype as kernels see it."""
    if root.records is None:
        root.records = RecordRoot(
            root.name, bytes_of(root.buf), root.space, root.buf.dtype.itemsize
        )
        root.records.init = root.init
    found: RecordRoot = root.records
    return found


def record_array(root: RecordRoot, name: str, shape: tuple[int, ...], strides: Any) -> ArrayRef:
    """All of a root as an array of records; strides in bytes."""
    return ArrayRef(root, name, I0, tuple(np.int64(n) for n in shape), tuple(strides))


def inner(arr: Any, offset: int, name: str, tail: Tail = ()) -> Any:
    """The records that lie at a byte offset of each record of `arr`, as an array."""
    if isinstance(arr, SplitRef):
        return SplitRef(
            arr.mask, inner(arr.first, offset, name, tail), inner(arr.second, offset, name, tail)
        )
    return ArrayRef(
        arr.root, f"{arr.name}.{name}", arr.offset + offset,
        arr.shape + tuple(np.int64(n) for n, _ in tail),
        arr.strides + tuple(step for _, step in tail),
    )  # fmt: skip


def field(run: Any, arr: Any, offset: int, dtype: np.dtype[Any], name: str, tail: Tail = ()) -> Any:
    """The field at a byte offset of each record of `arr`, as an array."""
    if isinstance(arr, SplitRef):
        parts = [field(run, one, offset, dtype, name, tail) for one in (arr.first, arr.second)]
        return SplitRef(arr.mask, *parts)
    root: RecordRoot = arr.root
    at = arr.offset + offset
    first = int(at) if at.ndim == 0 else int(at.flat[0])
    size = dtype.itemsize
    shape, strides = arr.shape, arr.strides
    if tail:
        shape += tuple(np.int64(n) for n, _ in tail)
        strides += tuple(step for _, step in tail)
    label = f"{arr.name}.{name}"
    if root.unit % size == 0 and first % size == 0:
        typed = root.as_type(run, dtype)
        return ArrayRef(typed, label, at // size, shape, tuple(s // size for s in strides))
    piece = BYTE
    if dtype.kind == "c":
        part = np.dtype(f"f{size // 2}")
        if root.unit % part.itemsize == 0 and first % part.itemsize == 0:
            piece = part
    step = piece.itemsize
    strides = (*(s // step for s in strides), 1)
    typed = root.as_type(run, piece)
    part_ref = ArrayRef(typed, label, at // step, (*shape, np.int64(size // step)), strides)
    return PiecesRef(part_ref, dtype)


def field_array(
    run: Any, arr: Any, offset: int, dtype: np.dtype[Any], name: str, tail: Tail, where: Any
) -> Any:
    """`arr.name` as an array of its own.  Its elements are moved whole, so a GPU stops when they
    lie at odd addresses."""
    found = field(run, arr, offset, dtype, name, tail)
    _check_whole(found, where)
    return found


def _check_whole(arr: Any, where: Any) -> None:
    if isinstance(arr, SplitRef):
        _check_whole(arr.first, where)
        _check_whole(arr.second, where)
    elif isinstance(arr, PiecesRef) and arr.part.root.buf.dtype == BYTE:
        kernel, line, line_text = where
        size = arr.dtype.itemsize if arr.dtype.kind != "c" else arr.dtype.itemsize // 2
        raise MisalignedAddressError(
            at_line(
                kernel, line, line_text,
                f"{arr.name} holds {arr.dtype} at addresses that are no multiples of {size}",
                "On a GPU this stops the kernel: misaligned address. Make the records with "
                "np.dtype([...], align=True).",
            ),
            line=line, line_text=line_text,
        )  # fmt: skip


def padded(record: Record, ndim: int) -> Record:
    """The same record as an element of an array of more dimensions."""
    arr, index = record
    more = ndim - len(index)
    return _deeper(arr, more), (I0,) * more + index


def _deeper(arr: Any, more: int) -> Any:
    if isinstance(arr, SplitRef):
        return SplitRef(arr.mask, _deeper(arr.first, more), _deeper(arr.second, more))
    one = np.int64(1)
    return ArrayRef(
        arr.root, arr.name, arr.offset, (one,) * more + arr.shape, (0,) * more + arr.strides
    )


def copy_record(
    run: Any, target: Record, source: Record, leaves: Any, m: Mask, sites: tuple[int, int]
) -> None:
    """target = source, field by field; `leaves` are (byte offset, dtype, name, count)."""
    from .memory import load, store

    moved = []
    for offset, dtype, name, count in leaves:
        tail = ((count, dtype.itemsize),) if count > 1 else ()
        arrays = [field(run, record[0], offset, dtype, name, tail) for record in (target, source)]
        for k in range(count):
            at = (np.int64(k),) if count > 1 else ()
            value = load(run, arrays[1], (*source[1], *at), m, sites[0])
            moved.append((arrays[0], (*target[1], *at), value))
    for arr, index, value in moved:
        store(run, arr, index, value, m, sites[1])


def copy_elements(
    run: Any, target: Any, source: Any, shape: tuple[int, ...], m: Mask, sites: tuple[int, int],
    where: tuple[str, str],
) -> None:  # fmt: skip
    """target[...] = source[...] for arrays of this shape, which the target is known to have."""
    from .memory import load, store

    for have, want in zip(source.shape, shape, strict=True):
        if np.any(np.asarray(have != want) & m):
            raise UnsupportedError(
                f"{where[0]}: an array of shape {list(shape)} cannot be filled from one of shape "
                f"{[int(np.asarray(n).flat[0]) for n in source.shape]}\n  {where[1]}"
            )
    places = [tuple(np.int64(i) for i in index) for index in np.ndindex(*shape)]
    values = [load(run, source, index, m, sites[0]) for index in places]
    for index, value in zip(places, values, strict=True):
        store(run, target, index, value, m, sites[1])


def bytes_of(array: Any) -> Any:
    """The memory of a contiguous array of records as bytes; a view."""
    flat = array.reshape(-1) if array.flags.c_contiguous else array.T.reshape(-1)
    return flat.view(np.ndarray).view(BYTE)


def record_storage(
    run: Any, place: int, shape: tuple[int, ...], unit: int, space: str, name: str
) -> ArrayRef:
    """A shared or local array of records at this place of the source, as `storage` has them."""
    owned = run.local if space == "local" else run.allocations
    dynamic = space == "shared" and shape == (0,)
    key = ("dynamic", unit) if dynamic else place
    found: ArrayRef | None = owned.get(key)
    if found is None:
        if dynamic:
            raw, width = dynamic_bytes(run)
            root = RecordRoot(name, raw, space, unit, count=width)
            root.bytewise = True
            shape = (run.sharedmem // unit,)
        else:
            root = RecordRoot(name, np.empty(0, BYTE), space, unit, count=math.prod(shape) * unit)
        steps = [unit * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        found = owned[key] = record_array(root, name, shape, steps)
    return found
