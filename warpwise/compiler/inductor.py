"""What torch.compile makes of a function on the CPU: the C++ of its fused kernels, as text.

The text ends where a C++ compiler would begin, so none is needed.  It is made for one thread and
without vector instructions: the same text on every machine.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

#: What says nothing about the computation: the body of a kernel is left without it.
_NOISE = re.compile(r"integer_div|^\s*[{}]\s*$|#include|#pragma")
_CAST = re.compile(r"static_cast<int64_t>\(((?:[^()]|\([^()]*\))*)\)")
_LONG = re.compile(r"\b(\d+)L\b")


def fused_cpp(function: Callable[..., Any], *shapes: tuple[int, ...]) -> list[str]:
    """The kernels that torch.compile's Inductor generates for `function` on float32 tensors.

    shapes: one for each argument.  Each kernel is C++ without casts of indices and without lines
    that hold a brace alone; the indentation shows the loops.  Raises what `function` raises.
    """
    # torch takes seconds to import, and Inductor seconds more.
    import torch
    from torch._inductor import config, cpu_vec_isa
    from torch._inductor.debug import DebugContext
    from torch._inductor.decomposition import select_decomp_table
    from torch._inductor.graph import GraphLowering
    from torch._inductor.virtualized import V
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    traced = make_fx(function, decomposition_table=select_decomp_table(), tracing_mode="fake")(
        *[torch.empty(shape) for shape in shapes]
    )
    mode = FakeTensorMode()
    with mode:
        inputs = [torch.empty(shape) for shape in shapes]
    # vec_isa_ok: no question to the C++ compiler about vector units.  cxx: Inductor wants one
    # that answers --version, though nothing will be compiled; Python does.
    plain = {"cpp.simdlen": 1, "cpp.threads": 1, "cpp.vec_isa_ok": False,
             "cpp.cxx": (sys.executable,)}  # fmt: skip
    with config.patch(plain), V.set_fake_mode(mode), V.set_debug_handler(DebugContext()):
        graph = GraphLowering(traced, example_inputs=inputs)
        with V.set_graph_handler(graph):
            graph.run(*inputs)
            wrapper, _ = graph.codegen()
    cpu_vec_isa.valid_vec_isa_list.cache_clear()  # what comes later may have vector instructions
    kernels = re.findall(r"r'''(.*?)'''", wrapper.value, re.DOTALL)
    return [_readable(kernel) for kernel in kernels]


def _readable(kernel: str) -> str:
    text = re.sub(r",\n\s+", ", ", kernel)
    text = re.sub(r'extern "C"\s+void\s+', "void ", text)
    while _CAST.search(text):
        text = _CAST.sub(r"\1", text)
    text = _LONG.sub(r"\1", text)
    found, depths = [], [-1]
    for line in text.splitlines():
        if line.strip() and not _NOISE.search(line):
            depth = len(line) - len(line.lstrip())
            while depths[-1] > depth:
                depths.pop()
            if depths[-1] < depth:
                depths.append(depth)
            found.append("    " * (len(depths) - 2) + line.strip())
    return "\n".join(found)
