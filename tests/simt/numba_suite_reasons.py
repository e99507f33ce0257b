"""Why a kernel of Numba's tests is refused, a test stops, or a module is not run: words to count.

`plain` keeps a message, `group` takes together what differs only in a name.
"""

from __future__ import annotations

import re
from typing import Any

#: Modules that are not run.  They launch no kernel, or look at what a launch leaves behind.
FAILS_TOO = "fails on a GPU, too"
OUT_OF_SCOPE = {
    "cudapy": {
        "compiler internals, no launch": """byteflow compiler copy_propagate ir
            ir_utils tracing transpose typeconv typeinfer mandel""",
        "reads compiled code": "debug debuginfo debuginfo_types inspect",
        "compiled kernels kept on disk": "caching launch_config_sensitive",
        "several processes, threads or GPUs": "ipc multigpu multiprocessing multithreads",
        "needs CuPy": "cupy_bfloat16_interop",
        "C++ headers through NVRTC": "bfloat16_bindings fp8_bindings",
        "each test is a process of its own": "print",
        "schedules of compiled gufuncs": "gufunc_scheduling",
    },
    "cudadrv": {
        "memory, contexts and libraries of the driver": """context_stack cuda_devicerecord
            cuda_driver cuda_memory deallocations emm_plugins host_alloc init inline_ptx
            linkable_code linker module_callbacks nvjitlink nvrtc nvvm_driver reset_device
            runtime""",
    },
    "nrt": {"reference counts of compiled code": "nrt nrt_refct"},
}


def why(unit: dict[str, Any]) -> str:
    """Why a test failed or was skipped, short enough to count."""
    kind, text = unit["kind"], unit["text"]
    called = unit["where"].split(" < ")
    if unit["verdict"] == "skipped":
        return plain(text)
    if "CUDA driver library" in text or kind in ("CudaSupportError", "DynamicLibNotFoundError"):
        return "needs the CUDA driver"
    if found := re.search(r"'(\w+)' object has no attribute '(\w+)'", text):
        return f"host API: {found[1]}.{found[2]}"
    if found := re.match(r"(\w+) not raised", text):
        return f"expects {found[1]}"
    if (kind == "Failed" and "DID NOT WARN" in text) or re.match(r"\w+Warning not triggered", text):
        return "host API: a warning of Numba's"
    if kind == "AssertionError":
        refused = any(one["expected"] for one in unit["attempts"])
        what = "answer" if unit["attempts"] and not refused else "message or host result"
        return f"another {what} in {called[-1].split(':')[-1]}"
    return plain(f"{kind}: {text}")


_FIRST = re.compile(r"^(\w+: )\S+: ")
_GROUPS = (
    (r"bfloat16", "bfloat16"),
    (r"cuda\.fp16|float16", "float16"),
    (r"cmath\.", "cmath"),
    (r"numpy\.record|'names'|Record\(|\[\('", "records"),
    (r"datetime64|timedelta64", "dates"),
    (r"array of [<|][SU]\d", "strings"),
    (r"cg\.", "cooperative groups"),
    (r"no source text", "no source text: made with exec()"),
    (r"lambda", "lambda"),
    (r"calls itself", "recursion"),
    (r"xoroshiro", "cuda.random"),
    (r"libdevice", "cuda.libdevice"),
    (r"ffi|FFI", "C code through cffi"),
    (r"DeviceNDArray cannot be indexed", "a device array as a constant"),
    (r"a kernel cannot start another one", "a kernel called as a function"),
    (r"a loop in a kernel runs over", "literal_unroll"),
    (r"(another message or host result) in", r"\1"),
    (r"is an ordinary Python function", "a plain or overloaded Python function"),
    (r"shape of cuda.shared.array", "shape of a shared array passed to a device function"),
    (r"arrays in a kernel have no (\.\w+)", r"array attribute \1"),
    (r"has no attribute (\S+)", r"attribute \1"),
    (r"was compiled for", "explicit signature with other argument types"),
    (r"(\S+) cannot be called in a kernel", r"call of \1"),
)


def plain(text: str) -> str:
    """The first line of a message without names that vary."""
    first = text.strip().split("\n")[0] if text.strip() else ""
    first = _FIRST.sub(r"\1", re.sub(r"0x[0-9a-f]+|/\S+/", "", first))
    return first[:160]


def group(reason: str) -> str:
    """The reason under which a refusal is counted."""
    for pattern, label in _GROUPS:
        if found := re.search(pattern, reason):
            return found.expand(label)
    return reason
