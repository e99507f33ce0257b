"""Looks at one thing of this machine at a time: Python, packages, compiler, driver, GPU, disk.

Each probe returns one Finding and never raises.  Third-party packages are imported inside the
probes only: a broken one must show up as a finding and not stop the others.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SELFTEST = "warpwise.setup.selftest"
PYTHON = shlex.quote(sys.executable)
REINSTALL = f"{PYTHON} -m pip install -r requirements.txt"
OLDEST = (3, 11)
MEND_PYTHON = "rm -rf .venv && make lab PYTHON=python3.12"
# Source: NVIDIA, Parallel Thread Execution ISA, release notes, table "PTX Release History".
# The newest PTX that a driver for this CUDA version reads.
PTX_OF_CUDA: dict[tuple[int, int], tuple[int, int]] = {
    (11, 8): (7, 8),
    (12, 0): (8, 0),
    (12, 1): (8, 1),
    (12, 2): (8, 2),
    (12, 3): (8, 3),
    (12, 4): (8, 4),
    (12, 5): (8, 5),
    (12, 6): (8, 5),
    (12, 7): (8, 6),
    (12, 8): (8, 7),
    (12, 9): (8, 8),
    (13, 0): (9, 0),
    (13, 1): (9, 1),
}
# The driver release that first reads PTX 9.0, what the pinned compiler writes.  Same source.
DRIVER_FOR_PTX_9_0 = 580
# Compute capability the test kernel is compiled for: Ampere, which every supported compiler knows.
TEST_ARCHITECTURE = (8, 0)


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's report.

    status: "ok", "absent" (the course runs without it) or "broken" (it does not run).
    mend: the one command or step that changes it, None where nothing needs to change or can.
    """

    topic: str
    status: str
    text: str
    mend: str | None = None

    def to_dict(self) -> dict[str, str | None]:
        """Plain data, for --json."""
        return asdict(self)


def version_of(package: str) -> str | None:
    """Installed version of a distribution, None when it is not installed.  Imports nothing."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def last_line(error: BaseException | str) -> str:
    """The last line with text in it: where Python puts what went wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


def run_python(
    *arguments: str, environment: Mapping[str, str] | None = None, timeout: int = 120
) -> tuple[bool, str]:
    """Runs a fresh interpreter: a package that crashes must not take the doctor along.

    arguments: as after `python`.  environment: variables to add.  timeout: seconds.
    Returns (succeeded, what it printed, or its last line when it failed).
    """
    try:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env={**os.environ, **(environment or {})},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, f"no answer within {timeout} seconds"
    if done.returncode:
        said = done.stderr.strip() or done.stdout.strip()
        return False, last_line(said or f"it ended with status {done.returncode}")
    return True, done.stdout.strip()


def probe_python() -> Finding:
    """The Python that runs this."""
    version = platform.python_version()
    if tuple(sys.version_info[:2]) < OLDEST:
        return Finding("Python", "broken", f"{version}; the course needs 3.11 to 3.14", MEND_PYTHON)
    return Finding("Python", "ok", f"{version} at {sys.executable}")


def memory_bytes() -> int | None:
    """Installed memory in bytes, None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def probe_system() -> Finding:
    """Operating system, cores and memory."""
    memory = memory_bytes()
    amount = f"{memory / 2**30:.1f} GiB of memory" if memory else "memory unknown"
    system = f"{platform.system()} {platform.machine()}"
    return Finding("System", "ok", f"{system}, {os.cpu_count()} cores, {amount}")


def probe_disk() -> Finding:
    """Free space where the course lies."""
    free = shutil.disk_usage(ROOT).free
    text = f"{free / 10**9:.1f} GB free in {ROOT}"
    if free < 10**9:
        return Finding("Disk", "absent", f"{text}: notebooks may fail to save", "free some space")
    return Finding("Disk", "ok", text)


# name[extra]==version; sys_platform == "linux"
_PIN = re.compile(r'([\w-]+)(?:\[\w+\])?==([\w.]+)(?:;\s*sys_platform (==|!=) "(\w+)")?')


def pinned_versions(requirements: Path = ROOT / "requirements.txt") -> dict[str, str]:
    """Package -> version pinned for this system in requirements.txt; {} when there is no file."""
    try:
        text = requirements.read_text(encoding="utf-8")
    except OSError:
        return {}
    pins: dict[str, str] = {}
    for line in text.splitlines():
        line = re.sub(r"(^|\s)#.*", "", line)
        found = _PIN.match(line)
        if not found:
            continue
        name, version, operator, system = found.groups()
        if operator is None or (sys.platform == system) == (operator == "=="):
            pins[name] = version
    return pins


def probe_packages() -> Finding:
    """Installed versions against the pinned ones."""
    pins = pinned_versions()
    if not pins:
        return Finding("Packages", "absent", "no requirements.txt to compare with")
    others = []
    for name, pinned in pins.items():
        installed = version_of(name)
        # "2.13.0+cpu" is a build of 2.13.0; "13.0.3.0" is 13.0.3.
        same = installed and re.fullmatch(rf"{re.escape(pinned)}(\.0)*(\+.*)?", installed)
        if not same:
            others.append(f"{name} {installed or 'missing'} (pinned {pinned})")
    if others:
        return Finding("Packages", "absent", "not as tested: " + ", ".join(others), REINSTALL)
    return Finding("Packages", "ok", f"{len(pins)} installed as pinned")


def probe_import(topic: str, package: str, needed: bool, without: str) -> Finding:
    """Whether a package imports.  without: what the course lacks when it does not."""
    version = version_of(package)
    bad = "broken" if needed else "absent"
    if version is None:
        return Finding(topic, bad, f"not installed; {without}", REINSTALL)
    works, said = run_python("-c", f"import {package}")
    if not works:
        return Finding(topic, bad, f"{version} does not import: {said}; {without}", REINSTALL)
    return Finding(topic, "ok", version)


def probe_triton() -> Finding:
    """Triton, which has wheels for Linux only."""
    without = "the lesson on tiles runs without it, the Triton part is left out"
    if sys.platform != "linux" and version_of("triton") is None:
        return Finding("Triton", "absent", f"no wheels for this system; {without}")
    return probe_import("Triton", "triton", needed=False, without=without)


_COMPILE = f"""
import json
from numba import cuda, float32
def touch(out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = i
ptx, _ = cuda.compile_ptx(touch, (float32[:],), cc={TEST_ARCHITECTURE})
print(json.dumps([line.split()[1] for line in ptx.splitlines() if line.startswith('.version')]))
"""


def probe_compiler() -> tuple[Finding, tuple[int, int] | None]:
    """Compiles a kernel to PTX with the real compiler.  Returns the PTX version too, or None."""
    without = "what the real compiler says about a kernel is left out"
    version = version_of("numba-cuda")
    if version is None:
        if sys.platform == "darwin":
            return Finding("Compiler", "absent", f"no wheels for macOS; {without}"), None
        return Finding("Compiler", "absent", f"not installed; {without}", REINSTALL), None
    works, said = run_python("-c", _COMPILE)
    try:
        major, minor = json.loads(said)[0].split(".") if works else ("", "")
        ptx = int(major), int(minor)
    except (ValueError, IndexError):
        text = f"numba-cuda {version} does not compile: {said}; {without}"
        return Finding("Compiler", "absent", text, REINSTALL), None
    toolkit = version_of("cuda-toolkit")
    text = f"numba-cuda {version}, CUDA toolkit {toolkit}, writes PTX {ptx[0]}.{ptx[1]}"
    return Finding("Compiler", "ok", text), ptx


def driver_cuda_version() -> tuple[int, int] | None:
    """The newest CUDA version the installed driver supports, None without a driver."""
    name = "nvcuda.dll" if os.name == "nt" else "libcuda.so.1"
    try:
        library = ctypes.CDLL(name)
        number = ctypes.c_int()
        if library.cuDriverGetVersion(ctypes.byref(number)) != 0:
            return None
    except (OSError, AttributeError):
        return None
    return number.value // 1000, number.value % 1000 // 10


def newest_ptx(cuda: tuple[int, int]) -> tuple[int, int]:
    """The newest PTX version that a driver for this CUDA version is known to read."""
    known = [version for version in PTX_OF_CUDA if version <= cuda]
    return PTX_OF_CUDA[max(known)] if known else (0, 0)


def probe_driver(
    cuda: tuple[int, int] | None, ptx: tuple[int, int] | None, gpu_runs: bool
) -> Finding:
    """The driver against the compiler: what one writes the other must read.

    cuda: the driver's newest CUDA version.  ptx: the version the compiler writes.
    gpu_runs: whether a kernel ran; then the versions cannot be at odds.
    """
    if cuda is None:
        return Finding("Driver", "absent", "no NVIDIA driver; lessons run on the simulator")
    text = f"supports CUDA {cuda[0]}.{cuda[1]}"
    reads = newest_ptx(cuda)
    if ptx is None or gpu_runs:
        return Finding("Driver", "ok", text)
    if reads < ptx:
        return Finding(
            "Driver",
            "absent",
            f"{text} and reads PTX up to {reads[0]}.{reads[1]}; the compiler writes "
            f"PTX {ptx[0]}.{ptx[1]}, so kernels do not run on this GPU and the simulator is used",
            f"install NVIDIA driver {DRIVER_FOR_PTX_9_0} or newer",
        )
    return Finding("Driver", "ok", f"{text} and reads the compiler's PTX {ptx[0]}.{ptx[1]}")


def gpu_names() -> list[str]:
    """One line a GPU, as nvidia-smi tells it; empty without nvidia-smi or without a GPU."""
    if not shutil.which("nvidia-smi"):
        return []
    query = "--query-gpu=name,driver_version,memory.total,compute_cap"
    try:
        done = subprocess.run(
            ["nvidia-smi", query, "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    if done.returncode:
        return []
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]


def probe_gpu(cuda: tuple[int, int] | None) -> Finding:
    """The GPU, by running a kernel on it where there is one."""
    names = gpu_names()
    if not names and cuda is None:
        text = "none found; every lab can be finished on the simulator"
        return Finding("GPU", "absent", text)
    shown = "; ".join(names) or "seen by the driver"
    if version_of("numba-cuda") is None:
        return Finding("GPU", "absent", f"{shown}; numba-cuda is not installed", REINSTALL)
    works, said = run_python("-m", SELFTEST, environment={"WARPWISE_BACKEND": "gpu"})
    if not works:
        text = f"{shown}; a kernel did not run on it: {said}; the simulator is used"
        return Finding("GPU", "absent", text, "update the NVIDIA driver, then: nvidia-smi")
    return Finding("GPU", "ok", f"{shown}; ran a kernel")


def probe_kernelspec() -> Finding:
    """The Jupyter kernel `warpwise` of this environment."""
    path = Path(sys.prefix) / "share/jupyter/kernels/warpwise/kernel.json"
    mend = f"{PYTHON} warpwise/setup/environment.py --here"
    try:
        command = json.loads(path.read_text(encoding="utf-8"))["argv"][0]
    except (OSError, ValueError, KeyError, IndexError):
        return Finding("Kernel", "absent", "the Jupyter kernel is not registered", mend)
    if not shutil.which(command):
        text = f"the Jupyter kernel starts {command}, which is not there"
        return Finding("Kernel", "absent", text, mend)
    return Finding("Kernel", "ok", f"registered in {path.parent}")


def probe_tools() -> Finding:
    """Chromium and bubblewrap, which tests use."""
    from warpwise.setup.system import missing_packages

    missing = missing_packages()
    if missing:
        text = f"{' and '.join(missing)} not installed; only the tests use them"
        return Finding("Tools", "absent", text, f"sudo apt-get install {' '.join(missing)}")
    return Finding("Tools", "ok", "chromium and bubblewrap, for the tests")
