"""Makes the Python environment that every `make` target uses.

Run as a script by any Python from 3.11 on, before anything is installed:

    python3 warpwise/setup/environment.py [--venv .venv]
    python warpwise/setup/environment.py --here     in an environment that others made (Binder)

It creates the environment, installs requirements.txt, makes `import warpwise` work from every
folder, registers the Jupyter kernel `warpwise`, and writes a stamp.  A second run with nothing
changed reads the stamp and stops.
Not its business: system packages (system.py) and what the machine can do (warpwise/doctor.py).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OLDEST = (3, 11)
# numba and torch have wheels up to here; a newer Python would try to compile them and fail late.
NEWEST = (3, 14)
# Measured: 3.0 GB with PyTorch's CPU build.  PyTorch's CUDA build on Linux adds several GB.
NEEDED_GB_LINUX = 12
NEEDED_GB_ELSEWHERE = 4
STAMP = "warpwise-ready.json"
LOG = "warpwise-install.log"
KERNEL_NAME = "warpwise"

_COLLECTING = re.compile(r"Collecting ([\w.-]+)")  # the name, without extras and versions

# What pip says -> what a person needs to hear.  The first match wins, so specific ones come first.
PIP_FAILURES: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("No space left on device", "Errno 28", "not enough space on the disk"),
        "The disk is full.  Free some space (the environment may need {needed} GB), "
        "then run the same command again.",
    ),
    (
        ("Disk quota exceeded", "Errno 122"),
        "Your disk quota is used up.  Free some space (the environment may need {needed} GB), "
        "then run the same command again.",
    ),
    (
        ("CERTIFICATE_VERIFY_FAILED", "SSLError"),
        "The package index was reached, but its certificate was not accepted.  Behind a proxy, "
        "point PIP_CERT at the proxy's certificate file, then run the same command again.",
    ),
    (
        (
            "NewConnectionError",
            "Failed to establish a new connection",
            "Temporary failure in name resolution",
            "Name or service not known",
            "Network is unreachable",
            "ConnectTimeoutError",
            "ReadTimeoutError",
            "Connection refused",
            "ProxyError",
            # The first in the list and pure Python: not found means no index, not no build.
            "satisfies the requirement jupyterlab",
        ),
        "The package index could not be reached.  Check the network (and HTTPS_PROXY where one is "
        "needed), then run the same command again.",
    ),
    (
        ("Permission denied", "Errno 13", "Read-only file system", "Errno 30"),
        "A file could not be written.  Check who may write in {venv} (a run as root leaves files "
        "that only root can change), then run the same command again.",
    ),
    (
        ("No matching distribution found",),
        "A pinned package has no build for Python {python} on this system.  Try another Python "
        "from 3.11 to 3.14:  make lab PYTHON=python3.12",
    ),
)


class SetupError(Exception):
    """A person has to mend something before the environment can be made; the text says what."""


def needed_gb() -> int:
    """Free disk space, in GB, that a fresh environment may need on this system."""
    return NEEDED_GB_LINUX if sys.platform == "linux" else NEEDED_GB_ELSEWHERE


def explain_pip_failure(output: str, venv: Path) -> str:
    """Returns the sentence for a failed `pip install`, from what pip printed.

    output: everything pip wrote.  venv: where it was installing.
    """
    python = ".".join(map(str, sys.version_info[:3]))
    for marks, sentence in PIP_FAILURES:
        if any(mark in output for mark in marks):
            return sentence.format(needed=needed_gb(), venv=venv, python=python)
    return "pip could not install the packages.  The last lines above say which one."


def check_python(version: Sequence[int] | None = None) -> None:
    """Raises SetupError unless a Python can run the course.

    version: (major, minor, ...), by default of the Python that runs this.
    """
    found = tuple(version or sys.version_info)[:2]
    if not OLDEST <= found <= NEWEST:
        raise SetupError(
            f"This is Python {found[0]}.{found[1]}; the course needs 3.11, 3.12, 3.13 or 3.14.\n"
            "Install one of them, or name one you have:  make lab PYTHON=/path/to/python3.12"
        )


def check_venv_module() -> None:
    """Raises SetupError where Python comes without `venv` (Debian and Ubuntu ship it apart)."""
    try:
        import ensurepip  # noqa: F401  (`python -m venv` needs it, and Debian leaves it out)
        import venv  # noqa: F401
    except ImportError:
        package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        raise SetupError(
            "This Python cannot make virtual environments: its venv module is not installed.\n"
            f"On Debian or Ubuntu:  sudo apt-get install {package}\n"
            "Then run the same command again."
        ) from None


def venv_python(venv: Path) -> Path:
    """The Python inside a virtual environment."""
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def fingerprint(root: Path, venv: Path) -> dict[str, str]:
    """What an environment is made from; when a value changes, it is brought up to date."""
    return {
        "requirements": hashlib.sha256((root / "requirements.txt").read_bytes()).hexdigest(),
        "root": str(root),
        "venv": str(venv),
    }


def read_stamp(venv: Path) -> dict[str, str]:
    """The stamp of a finished environment, {} when there is none or it cannot be read."""
    try:
        stamp = json.loads((venv / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def is_ready(root: Path, venv: Path) -> bool:
    """True when the environment was finished from the requirements as they are now."""
    return venv_python(venv).exists() and read_stamp(venv) == fingerprint(root, venv)


def is_usable(venv: Path) -> bool:
    """True when the environment's Python starts and has pip, and stands where it was made.

    An interrupted run leaves one without pip; a moved folder leaves scripts naming the old place.
    """
    stamp = read_stamp(venv)
    if stamp and stamp.get("venv") != str(venv):
        return False
    if not venv_python(venv).exists():
        return False
    command = [str(venv_python(venv)), "-m", "pip", "--version"]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def create_venv(venv: Path) -> None:
    """Makes an empty virtual environment, in place of a broken one.  Raises SetupError."""
    if venv.exists():
        shutil.rmtree(venv)
    command = [sys.executable, "-m", "venv", str(venv)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        output = (done.stdout + done.stderr).strip()
        raise SetupError(f"{output}\n{explain_pip_failure(output, venv)}")


def pip_install(venv: Path, arguments: Sequence[str], say: Callable[[str], None]) -> None:
    """Runs `pip install`, shows one line a package, keeps pip's output in a log.

    Raises SetupError with pip's last lines and a sentence.
    """
    command = [str(venv_python(venv)), "-m", "pip", "install", "--disable-pip-version-check"]
    lines: list[str] = []
    with (
        (venv / LOG).open("w", encoding="utf-8") as log,
        subprocess.Popen(
            [*command, "--progress-bar", "off", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        ) as pip,
    ):
        assert pip.stdout is not None  # stdout=PIPE above
        for line in pip.stdout:
            log.write(line)
            lines.append(line.rstrip())
            if found := _COLLECTING.match(line):
                say(f"  {found[1]}")
            elif line.startswith("Installing collected packages"):
                say("  unpacking; this takes a minute or two")
    if pip.returncode:
        tail = "\n".join([line for line in lines if line.strip()][-8:])
        sentence = explain_pip_failure("\n".join(lines), venv)
        raise SetupError(f"{tail}\n\n{sentence}\nAll that pip said is in {venv / LOG}")


def ask_python(venv: Path, *arguments: str) -> str:
    """Runs the environment's Python and returns what it printed.  Raises SetupError."""
    command = [str(venv_python(venv)), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SetupError(f"{done.stderr.strip()}\nThis command failed:  {' '.join(command)}")
    return done.stdout.strip()


def link_course(root: Path, venv: Path) -> None:
    """Makes `import warpwise` work from every folder, straight from the clone.

    A path file and not `pip install -e .`: nothing to build, works offline, edits show at once.
    """
    folder = ask_python(venv, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
    (Path(folder) / "warpwise-course.pth").write_text(f"{root}\n", encoding="utf-8")


def register_kernel(venv: Path) -> None:
    """Registers the Jupyter kernel `warpwise` inside the environment, never in the user's home."""
    names = ["--name", KERNEL_NAME, "--display-name", "Warpwise"]
    ask_python(venv, "-m", "ipykernel", "install", "--sys-prefix", *names)
    spec = Path(ask_python(venv, "-c", "import sys; print(sys.prefix)"))
    spec = spec / "share/jupyter/kernels" / KERNEL_NAME / "kernel.json"
    described = json.loads(spec.read_text(encoding="utf-8"))
    # Our own start: in such a kernel, `from numba import cuda` works without a GPU, too.
    described["argv"] = [
        "warpwise.setup.kernel" if part == "ipykernel_launcher" else part
        for part in described["argv"]
    ]
    spec.write_text(json.dumps(described, indent=1), encoding="utf-8")


def warm(root: Path, venv: Path) -> str:
    """Runs one simulated kernel, so that the learner's first cell does not pay for caches.

    Returns doctor's words when something is wrong, "" otherwise: no reason not to open the course.
    """
    command = [str(venv_python(venv)), "-m", "warpwise", "doctor", "--quiet"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip() if done.returncode else ""


def prepare(root: Path, venv: Path, say: Callable[[str], None]) -> bool:
    """Brings the environment up to date.  Returns False when there was nothing to do.

    root: the course's folder.  venv: where the environment is or will be.  say: shows one line.
    Raises SetupError with a sentence that says what to mend.
    """
    if is_ready(root, venv):
        return False
    check_python()
    check_venv_module()
    if not is_usable(venv):
        free_gb = shutil.disk_usage(root).free / 10**9
        if free_gb < needed_gb():
            say(f"{free_gb:.1f} GB of disk are free; the environment may need {needed_gb()} GB.")
        say(f"Making the environment {venv} with Python {sys.version.split()[0]}")
        create_venv(venv)
    (venv / STAMP).unlink(missing_ok=True)  # an interrupted run must not look like a finished one
    say("Installing the pinned packages")
    pip_install(venv, ["-r", str(root / "requirements.txt")], say)
    link_course(root, venv)
    register_kernel(venv)
    say("Running a first simulated kernel")
    if trouble := warm(root, venv):
        say(trouble)
    (venv / STAMP).write_text(json.dumps(fingerprint(root, venv)), encoding="utf-8")
    say("The environment is ready.")
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line.  Returns the exit status."""
    parser = argparse.ArgumentParser(description="Make or update the course's Python environment.")
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv", help="where it goes")
    parser.add_argument(
        "--here", action="store_true", help="install nothing; link the course into this Python"
    )
    options = parser.parse_args(arguments)
    venv = Path(sys.prefix) if options.here else options.venv.absolute()
    try:
        if options.here:
            link_course(ROOT, venv)
            register_kernel(venv)
            return 0
        prepare(ROOT, venv, lambda line: print(line, flush=True))
    except SetupError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"\n{error}\n{explain_pip_failure(str(error), venv)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped.  The same command goes on where it left off.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
