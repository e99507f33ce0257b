"""The simulated device: what a program can ask of the GPU it runs on.

Its limits are those of compute capability 8.0.  What only a real GPU knows (clocks, bandwidths,
temperatures) is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

from . import capacity, device_memory, streams
from .capacity import MemoryInfo
from .device_memory import Memory
from .host_log import WHOLE_DEVICE, tell

#: Attribute -> value.  Source: CUDA C++ Programming Guide, "Technical Specifications per Compute
#: Capability", column 8.0; the number of multiprocessors is that of the A100.
ATTRIBUTES = {
    "ASYNC_ENGINE_COUNT": 1,
    "CAN_MAP_HOST_MEMORY": 1,
    "COMPUTE_CAPABILITY_MAJOR": 8,
    "COMPUTE_CAPABILITY_MINOR": 0,
    "COMPUTE_MODE": 0,
    "CONCURRENT_KERNELS": 1,
    "CONCURRENT_MANAGED_ACCESS": 1,
    "COOPERATIVE_LAUNCH": 1,
    "INTEGRATED": 0,
    "KERNEL_EXEC_TIMEOUT": 0,
    "MANAGED_MEMORY": 1,
    "MAX_BLOCKS_PER_MULTIPROCESSOR": 32,
    "MAX_BLOCK_DIM_X": 1024,
    "MAX_BLOCK_DIM_Y": 1024,
    "MAX_BLOCK_DIM_Z": 64,
    "MAX_GRID_DIM_X": 2**31 - 1,
    "MAX_GRID_DIM_Y": 65535,
    "MAX_GRID_DIM_Z": 65535,
    "MAX_REGISTERS_PER_BLOCK": 65536,
    "MAX_REGISTERS_PER_MULTIPROCESSOR": 65536,
    "MAX_SHARED_MEMORY_PER_BLOCK": 48 * 1024,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 163 * 1024,
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": 164 * 1024,
    "MAX_THREADS_PER_BLOCK": 1024,
    "MAX_THREADS_PER_MULTIPROCESSOR": 2048,
    "MULTIPROCESSOR_COUNT": 108,
    "PCI_BUS_ID": 0,
    "PCI_DEVICE_ID": 0,
    "PCI_DOMAIN_ID": 0,
    "RESERVED_SHARED_MEMORY_PER_BLOCK": 1024,
    "STREAM_PRIORITIES_SUPPORTED": 0,
    "TCC_DRIVER": 0,
    "TOTAL_CONSTANT_MEMORY": 64 * 1024,
    "UNIFIED_ADDRESSING": 1,
    "WARP_SIZE": 32,
}


class Device:
    """The simulated device, number 0; also the context manager that `cuda.gpus[0]` is."""

    id = 0
    name = "Warpwise simulator"
    uuid = "GPU-00000000-0000-0000-0000-000000000000"
    compute_capability = (8, 0)
    supports_float16 = True
    supports_bfloat16 = True
    supports_fp8 = False  # from compute capability 8.9

    def __getattr__(self, name: str) -> int:
        if name in ATTRIBUTES:
            return ATTRIBUTES[name]
        if name.isupper():
            raise AttributeError(
                f"the simulated device has no {name}: only a real GPU has a value for it. "
                f"It knows {', '.join(sorted(ATTRIBUTES))}."
            )
        raise AttributeError(f"the simulated device has no {name}")

    def get_device_identity(self) -> dict[str, int]:
        """Where the device sits in the machine: nowhere."""
        return {"pci_domain_id": 0, "pci_bus_id": 0, "pci_device_id": 0}

    def get_primary_context(self) -> Context:
        """The context of the device."""
        return _CONTEXT

    def release_primary_context(self) -> None:
        """Nothing to release."""

    def reset(self) -> None:
        """Nothing to reset: Python frees what a program no longer names."""

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *exc: object) -> None: ...

    def __repr__(self) -> str:
        return f"<CUDA device 0 '{self.name}'>"


class Context:
    """What a program does with the device: memory, streams, events."""

    def __init__(self, device: Device) -> None:
        self.device = device

    def get_memory_info(self) -> MemoryInfo:
        """(free, total) in bytes: of this machine's memory, in which the device's lies."""
        return capacity.memory_info()

    def memalloc(self, bytesize: int) -> Memory:
        """Device memory of so many bytes."""
        import numpy as np

        return Memory(device_memory.undefined(bytesize, np.dtype(np.uint8)), 0, bytesize)

    def create_stream(self) -> streams.Stream:
        """A new stream."""
        return streams.stream()

    def create_external_stream(self, ptr: int) -> streams.Stream:
        """A stream that another library made."""
        return streams.external_stream(ptr)

    def get_default_stream(self) -> streams.Stream:
        """The default stream."""
        return streams.default_stream()

    def get_legacy_default_stream(self) -> streams.Stream:
        """The default stream that waits for all others."""
        return streams.legacy_default_stream()

    def get_per_thread_default_stream(self) -> streams.Stream:
        """The default stream of this thread."""
        return streams.per_thread_default_stream()

    def create_event(self, timing: bool = True) -> streams.Event:
        """A new event."""
        return streams.event(timing)

    def synchronize(self) -> None:
        """Wait for the device; it has finished."""
        tell("sync", WHOLE_DEVICE)

    def defer_cleanup(self) -> Any:
        """See cuda.defer_cleanup."""
        return streams.defer_cleanup()

    def can_access_peer(self, peer_device: int) -> bool:
        """There is no other device."""
        return False

    def push(self) -> None: ...
    def pop(self) -> None: ...
    def reset(self) -> None: ...
    def prepare_for_use(self) -> None: ...

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"the simulated context has no {name}: that part of CUDA's driver needs a GPU"
        )

    def __repr__(self) -> str:
        return "<CUDA context of device 0 of the simulator>"


class DeviceList(list[Device]):
    """All devices: one."""

    @property
    def current(self) -> Device:
        """The active device."""
        return self[0]

    def __str__(self) -> str:
        return ", ".join(str(device) for device in self)


_DEVICE = Device()
_CONTEXT = Context(_DEVICE)
gpus = DeviceList([_DEVICE])


def get_current_device() -> Device:
    """The simulated device."""
    return _DEVICE


def list_devices() -> DeviceList:
    """All devices: one."""
    return gpus


def _check_number(device_id: Any) -> None:
    if device_id not in (None, 0):
        raise ValueError(f"the simulator has one device, number 0; there is no {device_id}")


def select_device(device_id: int) -> Device:
    """The device of this number; there is number 0."""
    _check_number(device_id)
    return _DEVICE


def current_context(devnum: int | None = None) -> Context:
    """The context of the simulated device."""
    _check_number(devnum)
    return _CONTEXT


def require_context(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function one that has a context; here there always is one."""

    @wraps(fn)
    def with_context(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return with_context


def synchronize() -> None:
    """Wait for the device; launches here have finished when they return."""
    tell("sync", WHOLE_DEVICE)


def close() -> None:
    """Nothing to close."""


def is_available() -> bool:
    """True: kernels can be run, in the simulator.  `warpwise.backend()` says where."""
    return True


def cuda_error() -> None:
    """Why CUDA is not available: it is, in the simulator."""


def is_supported_version() -> bool:
    """Whether the CUDA toolkit fits."""
    return True


def is_float16_supported() -> bool:
    """Whether kernels can use float16."""
    return Device.supports_float16


def is_bfloat16_supported() -> bool:
    """Whether kernels can use bfloat16: from compute capability 8.0."""
    return Device.supports_bfloat16


def is_fp8_supported() -> bool:
    """Whether kernels can use 8-bit floats: from compute capability 8.9."""
    return Device.supports_fp8


def detect() -> bool:
    """Print what device there is."""
    print("Found 1 CUDA device: the Warpwise simulator (no GPU)")
    print("  compute capability 8.0, 108 multiprocessors, as an A100 has")
    return True
