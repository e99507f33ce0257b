"""Names of numba.cuda that the simulator does not have, each with what to use instead.

`alternative` answers for a name on the host and in a kernel alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any, NoReturn

_LINKING = (
    "it links code that was compiled elsewhere, and the simulator runs Python: write the function "
    "under @cuda.jit(device=True)"
)
_DRIVER = (
    "it is a part of CUDA's driver: the simulator's memory is made with cuda.to_device and "
    "cuda.device_array"
)
_PROCESSES = "other processes cannot see the simulator's memory: send array.copy_to_host()"

#: Name -> the rest of a sentence that starts with "cuda.<name> is not in the simulator: ".
ALTERNATIVES = {
    **dict.fromkeys(
        ("Archive", "CUSource", "Cubin", "Fatbin", "LTOIR", "LinkableCode", "Object", "PTXSource",
         "declare_device"),
        _LINKING,
    ),
    **dict.fromkeys(
        ("BaseCUDAMemoryManager", "HostOnlyCUDAMemoryManager", "set_memory_manager",
         "MappedMemory", "MemoryPointer", "PinnedMemory"),
        _DRIVER,
    ),
    **dict.fromkeys(("GetIpcHandleMixin", "IpcHandle", "open_ipc_array"), _PROCESSES),
    "alias": "it is a name of Numba's own build",
    "literal_unroll": "write the loop out, or loop over an array",
    "prepare_shape_strides_dtype": "it is Numba's own helper: cuda.device_array takes all of these",
}  # fmt: skip


def alternative(name: str) -> str:
    """What to use instead of cuda.<name>: the rest of a sentence; empty for an unknown name."""
    top = name.split(".")[0]
    if top in ALTERNATIVES:
        return ALTERNATIVES[top]
    return ""


def refuse(name: str) -> NoReturn:
    """AttributeError for a name that the simulator's `cuda` does not have."""
    instead = alternative(name)
    if instead:
        raise AttributeError(f"cuda.{name} is not in the simulator: {instead}.")
    raise AttributeError(f"cuda has no {name}: check the spelling.")


def without_numba_cuda(kinds: Iterable[Any]) -> str:
    """What to do about half precision where the numba-cuda wheel is missing; "" where it is not the
    reason."""
    if find_spec("numba_cuda") is not None or not {"float16", "bfloat16"} & set(map(str, kinds)):
        return ""
    return (
        "Half precision in kernels comes with the numba-cuda wheel, which this environment lacks "
        "(there is none for macOS). Use float32."
    )
