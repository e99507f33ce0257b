"""What Triton's interpreter calls for each operation, with memory that is looked at.

The interpreter of the pinned version computes tiles with NumPy and loads through raw addresses.
Here loads and stores go through `Memory`; what the interpreter gets wrong (see traps.py) is
computed as a GPU would, or refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import InterpreterBuilder, InterpreterOptions, TensorHandle

from ..simt.errors import at_line
from . import narrow
from .errors import TileError
from .memory import Memory

Handle = Any
_RMW: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "ADD": np.add, "FADD": np.add, "MIN": np.minimum, "UMIN": np.minimum, "MAX": np.maximum,
    "UMAX": np.maximum, "AND": np.bitwise_and, "OR": np.bitwise_or, "XOR": np.bitwise_xor,
    "XCHG": lambda old, new: new,
}  # fmt: skip
_SPINS = 1000
_ALL = np.ones((), bool)
#: What stands in lanes that are masked off without other=: no value a right kernel may use.
_UNDEFINED_CODES = {"bf16": 0x7FC0, "fp8e5": 0x7F, "fp8e4nv": 0x7F}
_UNDEFINED_INTEGER = 77


class Builder(InterpreterBuilder):
    """One launch.  `memory` sees every access; `notes` collects remarks: slug -> (line, text)."""

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self.memory = memory
        # As compiled code: integers wrap.
        self.options = InterpreterOptions(sanitize_overflow=False)
        self.codegen_fns["min_dot_size"] = _min_dot_size
        self.notes: dict[str, tuple[int, str]] = {}
        self._spins = 0

    def start(self, place: tuple[int, int, int], number: int, text: str) -> None:
        """The next program."""
        self.set_grid_idx(*place)
        self.memory.program, self.memory.program_text = number, text
        self._spins = 0

    def refused(self, fact: str, step: str) -> TileError:
        line, text = self.memory.place()
        return TileError(
            at_line(self.memory.kernel, line, text, fact, step), "unsupported", line=line
        )

    def note(self, slug: str, text: str) -> None:
        self.notes.setdefault(slug, (self.memory.place()[0], text))

    # memory

    def create_load(self, ptr: Handle, *rest: Any) -> Handle:
        return self._load(ptr, _ALL, None, "no mask")

    def create_masked_load(
        self,
        ptrs: Handle,
        mask: Handle,
        other: Handle,
        *rest: Any,
        **_: Any,
    ) -> Handle:
        return self._load(ptrs, mask.data, other, "mask")

    def create_tensor_pointer_load(
        self,
        ptr: Handle,
        boundary_check: Any,
        padding_option: Any,
        *rest: Any,
    ) -> Handle:
        ptrs, mask = ptr.materialize_pointers(boundary_check)
        other = None
        if padding_option is not None:
            kind = ptrs.get_element_ty()
            zero = padding_option == interpreter._ir.PADDING_OPTION.PAD_ZERO
            other = TensorHandle(np.zeros((), _numpy(kind)) if zero else _undefined(kind), kind)
        return self._load(ptrs, mask, other, "boundary_check")

    def _load(self, ptrs: Handle, mask: Any, other: Handle | None, how: str) -> Handle:
        kind = ptrs.get_element_ty()
        filling = _undefined(kind) if other is None else other.data
        data = self.memory.load(ptrs.data, mask, filling, _numpy(kind), how, other is None)
        return TensorHandle(data, kind)

    def create_store(self, ptr: Handle, val: Handle, *rest: Any) -> None:
        self.memory.store(ptr.data, val.data, _ALL, "no mask")

    def create_masked_store(self, ptrs: Handle, value: Handle, mask: Handle, *rest: Any) -> None:
        self.memory.store(ptrs.data, value.data, mask.data, "mask")

    def create_tensor_pointer_store(
        self,
        ptr: Handle,
        value: Handle,
        boundary_check: Any,
        *rest: Any,
    ) -> None:
        ptrs, mask = ptr.materialize_pointers(boundary_check)
        self.memory.store(ptrs.data, value.data, mask, "boundary_check")

    def create_atomic_rmw(
        self,
        op: Any,
        ptr: Handle,
        val: Handle,
        mask: Handle,
        *rest: Any,
    ) -> Handle:
        change = _RMW[op.name]
        if narrow.is_narrow(val.dtype):
            raise self.refused(
                f"an atomic on {val.dtype} cannot be followed on the CPU",
                "Keep the sum in float32 and convert it once, at the end.",
            )
        old = self.memory.atomic(ptr.data, mask.data, val.data.dtype, change, val.data)
        return TensorHandle(old, val.dtype.scalar)

    def create_atomic_cas(self, ptr: Handle, cmp: Handle, val: Handle, *rest: Any) -> Handle:
        expected = np.broadcast_to(cmp.data, ptr.data.shape).reshape(-1)[:1]

        def change(old: np.ndarray, new: np.ndarray) -> np.ndarray:
            return np.where(old == expected, new, old)

        mask = np.ones(ptr.data.shape, bool)
        old = self.memory.atomic(ptr.data, mask, cmp.data.dtype, change, val.data)
        self._spins = 0 if (old == cmp.data).all() else self._spins + 1
        if self._spins > _SPINS:
            raise self.refused(
                f"{self.memory.program_text} waits here for another program",
                "Programs run one after another on the CPU, and on a GPU nothing promises that the "
                "other one runs at the same time.",
            )
        return TensorHandle(old, cmp.dtype.scalar)

    # floats that NumPy does not have

    def get_bf16(self, value: float) -> Handle:
        return TensorHandle(narrow.rounded(np.array([value], "f4"), tl.bfloat16), tl.bfloat16)

    def cast_impl(self, src: Handle, dst_type: Any) -> Handle:
        self._readable(src)
        data = narrow.widened(src.data, src.dtype)
        to = dst_type.scalar
        if to.is_floating():
            self._readable(TensorHandle(np.zeros(1, _numpy(to)), to))
            return TensorHandle(narrow.rounded(data, to), to)
        return TensorHandle(data.astype(_numpy(to)), to)

    create_si_to_fp = create_ui_to_fp = create_fp_to_si = create_fp_to_ui = cast_impl
    create_fp_ext = create_fp_trunc = cast_impl

    def create_int_cast(self, src: Handle, dst_type: Any, is_signed: bool) -> Handle:
        return self.cast_impl(src, dst_type)

    def create_fp_to_fp(self, src: Handle, dst_type: Any, rounding_mode: Any) -> Handle:
        if rounding_mode not in (None, interpreter._ir.ROUNDING_MODE.RTNE):
            raise self.refused(
                "this conversion does not round to nearest, which is not followed on the CPU",
                "Leave fp_downcast_rounding out.",
            )
        return self.cast_impl(src, dst_type)

    def binary_op(self, lhs: Handle, rhs: Handle, op: Any) -> Handle:
        if narrow.is_narrow(lhs.dtype):
            found = self._wide(op, lhs, rhs)
        else:
            found = super().binary_op(lhs, rhs, op)
        if found.data.dtype == bool:  # the interpreter calls a comparison what it compares
            return TensorHandle(found.data, tl.int1)
        return found

    def ternary_op(self, lhs: Handle, rhs: Handle, other: Handle, op: Any) -> Handle:
        if op is np.where or not narrow.is_narrow(other.dtype):
            return super().ternary_op(lhs, rhs, other, op)
        return self._wide(op, lhs, rhs, other)

    def unary_op(self, arg: Handle, op: Any) -> Handle:
        if not narrow.is_narrow(arg.dtype):
            return super().unary_op(arg, op)
        return self._wide(op, arg)

    def create_fma(self, x: Handle, y: Handle, z: Handle) -> Handle:
        return self._wide(lambda a, b, c: a * b + c, x, y, z)

    def _wide(self, op: Any, *handles: Handle) -> Handle:
        """An operation of bfloat16 or fp8 in float32, rounded once; comparisons stay booleans."""
        for handle in handles:
            self._readable(handle)
        found = op(*(narrow.widened(handle.data, handle.dtype) for handle in handles))
        kind = handles[-1].dtype.scalar
        return TensorHandle(narrow.rounded(found, kind) if found.dtype.kind == "f" else found, kind)

    def _readable(self, handle: Handle) -> None:
        kind = handle.dtype.scalar
        if not isinstance(kind, tl.pointer_type) and kind.is_floating():
            if kind.name not in narrow.FLOATS:
                raise self.refused(
                    f"{kind} is not followed on the CPU", "Use fp8e4nv or fp8e5, as GPUs do."
                )

    # where NumPy and a GPU differ

    def create_maxnumf(self, lhs: Handle, rhs: Handle) -> Handle:
        return self.binary_op(lhs, rhs, np.fmax)

    def create_minnumf(self, lhs: Handle, rhs: Handle) -> Handle:
        return self.binary_op(lhs, rhs, np.fmin)

    def create_ashr(self, lhs: Handle, rhs: Handle) -> Handle:
        copies = (TensorHandle(one.data, one.dtype) for one in (lhs, rhs))
        return super().create_ashr(*copies)

    def create_dot(self, a: Handle, b: Handle, d: Handle, precision: Any, *rest: Any) -> Handle:
        for handle in (a, b):
            self._readable(handle)
        if a.dtype.scalar == tl.float32 and precision.name != "IEEE":
            self.note(
                "tf32",
                "tl.dot of float32 was computed in float32.  A GPU rounds the inputs to tf32, 10 "
                'bits after the point, unless input_precision="ieee" is given.',
            )
        wide = np.result_type(d.data.dtype, np.float32) if d.dtype.is_floating() else np.int32
        left, right = (narrow.widened(one.data, one.dtype).astype(wide) for one in (a, b))
        found = np.matmul(left, right) + narrow.widened(d.data, d.dtype)
        kind = d.dtype.scalar
        data = narrow.rounded(found, kind) if kind.is_floating() else found.astype(_numpy(kind))
        return TensorHandle(data, kind)

    def create_assert(self, condition: Handle, message: str) -> None:
        if not np.all(condition.data):
            fact = f"tl.device_assert fails in {self.memory.program_text}: {message}"
            line, text = self.memory.place()
            raise TileError(at_line(self.memory.kernel, line, text, fact), "raised", line=line)

    def create_extern_elementwise(self, *rest: Any) -> Handle:
        raise self.refused(
            "functions of libdevice do not run on the CPU", "Use those of tl and tl.math."
        )

    def create_inline_asm(self, *rest: Any) -> Handle:
        raise self.refused("PTX does not run on the CPU", "Write it with functions of tl.")


def _numpy(kind: Any) -> np.dtype:
    found: np.dtype = interpreter._get_np_dtype(kind)
    return found


def _undefined(kind: Any) -> np.ndarray:
    """One element that stands for anything."""
    dtype = _numpy(kind)
    if kind.name in _UNDEFINED_CODES:
        return np.array(_UNDEFINED_CODES[kind.name], dtype)
    return np.array(np.nan if dtype.kind == "f" else _UNDEFINED_INTEGER, dtype)


def _min_dot_size(lhs: Any, rhs: Any) -> tuple[int, int, int]:
    """As Triton's compiler for NVIDIA GPUs: K of at least 32 for 8-bit inputs, else 16."""
    return (1, 1, 32 if lhs.scalar.primitive_bitwidth == 8 else 16)
