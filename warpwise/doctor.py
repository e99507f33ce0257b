"""`python -m warpwise doctor`: what this machine can do, and the one command that mends the rest.

Exit status 0 when the course runs here (a GPU is never needed), 1 when the CPU path is broken,
3 when --need-gpu was asked and kernels do not run on a GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence

from warpwise.setup.probes import (
    REINSTALL,
    SELFTEST,
    Finding,
    driver_cuda_version,
    probe_compiler,
    probe_disk,
    probe_driver,
    probe_gpu,
    probe_import,
    probe_kernelspec,
    probe_packages,
    probe_python,
    probe_system,
    probe_tools,
    probe_triton,
    run_python,
)

OK, BROKEN, NO_GPU = 0, 1, 3


def probe_simulator() -> Finding:
    """Runs a kernel in the simulator; this is the CPU path itself."""
    works, said = run_python("-m", SELFTEST, environment={"WARPWISE_BACKEND": "sim"})
    if not works:
        return Finding("Simulator", "broken", f"does not run: {said}", REINSTALL)
    return Finding("Simulator", "ok", "ran a kernel and every value was right")


def probe_backend() -> Finding:
    """Which `cuda` a notebook gets from `from warpwise import cuda`, and why."""
    asked = os.environ.get("WARPWISE_BACKEND")
    works, said = run_python("-m", SELFTEST)
    if not works:
        mend = "unset WARPWISE_BACKEND" if asked else REINSTALL
        why = f"with WARPWISE_BACKEND={asked}: " if asked else ""
        return Finding("Backend", "broken", f"{why}{said}", mend)
    name = {"gpu": "numba.cuda on the GPU", "sim": "the simulator"}.get(said, said)
    if asked:
        why = f"because WARPWISE_BACKEND={asked}"
    elif said == "gpu":
        why = "because a GPU works"
    else:
        why = "because no GPU works here"
    return Finding("Backend", "ok", f"`from warpwise import cuda` is {name}, {why}")


def examine() -> list[Finding]:
    """Looks at everything, in the order a reader wants it."""
    without_torch = "lessons on many GPUs need it; the first tier does not"
    compiler, ptx = probe_compiler()
    cuda = driver_cuda_version()
    gpu = probe_gpu(cuda)
    return [
        probe_python(),
        probe_system(),
        probe_disk(),
        probe_packages(),
        probe_import("NumPy", "numpy", True, "nothing runs without it"),
        probe_import("Numba", "numba", True, "nothing runs without it"),
        compiler,
        probe_triton(),
        probe_import("PyTorch", "torch", False, without_torch),
        probe_driver(cuda, ptx, gpu.status == "ok"),
        gpu,
        probe_simulator(),
        probe_backend(),
        probe_kernelspec(),
        probe_tools(),
    ]


def render(findings: Sequence[Finding]) -> str:
    """The report as text: one line a finding, what mends it below, the verdict last."""
    lines = []
    for finding in findings:
        lines.append(f"{finding.status:<7} {finding.topic:<10} {finding.text}")
        if finding.mend:
            lines.append(f"{'':18} to mend it:  {finding.mend}")
    return "\n".join([*lines, "", verdict(findings)])


def verdict(findings: Sequence[Finding]) -> str:
    """One sentence: can the course be taken here?"""
    broken = [finding.topic for finding in findings if finding.status == "broken"]
    if broken:
        return f"The course does not run here yet: {', '.join(broken)}."
    if has_gpu(findings):
        return "The course runs here, and kernels run on the GPU."
    return "The course runs here, on the simulator."


def has_gpu(findings: Sequence[Finding]) -> bool:
    """Whether a kernel ran on a GPU."""
    return any(finding.topic == "GPU" and finding.status == "ok" for finding in findings)


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line.  Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m warpwise doctor", description="What this machine can do for the course."
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument("--quiet", action="store_true", help="print only what is broken")
    parser.add_argument("--need-gpu", action="store_true", help="fail without a working GPU")
    options = parser.parse_args(arguments)
    if options.need_gpu:
        gpu = probe_gpu(driver_cuda_version())
        if gpu.status != "ok":
            print(f"This needs an NVIDIA GPU that works: {gpu.text}.", file=sys.stderr)
            return NO_GPU
        return OK
    findings = examine()
    broken = [finding for finding in findings if finding.status == "broken"]
    if options.json:
        facts = {
            "ok": not broken,
            "gpu": has_gpu(findings),
            "findings": [finding.to_dict() for finding in findings],
        }
        print(json.dumps(facts, indent=1))
    elif not options.quiet:
        print(render(findings))
    elif broken:
        print(render(broken))
    return BROKEN if broken else OK
