"""Installs the system packages that tests need, where it may: Debian or Ubuntu, as root.

Elsewhere it says what is missing and how to get it; the tests that need it are then skipped, with
the reason.  Run as a script:  .venv/bin/python warpwise/setup/system.py
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping

# Package -> the commands of which any one will do.
PACKAGES: Mapping[str, tuple[str, ...]] = {
    "chromium": ("chromium", "chromium-browser", "google-chrome"),  # drives JupyterLab in tests
    "bubblewrap": ("bwrap",),  # the sandbox that grading runs in
}


def missing_packages(which: Callable[[str], str | None] = shutil.which) -> list[str]:
    """Names of packages none of whose commands are on PATH, in the order of PACKAGES."""
    return [name for name, commands in PACKAGES.items() if not any(map(which, commands))]


def why_not() -> str | None:
    """Why this process may not install packages; None when it may."""
    if sys.platform != "linux" or not shutil.which("apt-get"):
        return "this is not Debian or Ubuntu"
    if os.geteuid() != 0:
        return "this is not root"
    return None


def advice(missing: list[str], reason: str) -> str:
    """The sentence for packages that are missing and may not be installed."""
    names = " ".join(missing)
    return (
        f"Not installed, because {reason}: {names}.  Tests that need them will be left out.\n"
        f"On Debian or Ubuntu:  sudo apt-get install {names}"
    )


def install(missing: list[str]) -> bool:
    """Installs packages with apt-get.  Returns False when it failed; apt-get says why."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    quiet = ["-qq", "-o=Dpkg::Use-Pty=0"]
    for command in (
        ["apt-get", *quiet, "update"],
        ["apt-get", *quiet, "install", "-y", "--no-install-recommends", *missing],
    ):
        done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            return False
    return True


def main() -> int:
    """Command line.  Always 0: a missing package leaves tests out, it does not stop them."""
    missing = missing_packages()
    if not missing:
        return 0
    if reason := why_not():
        print(advice(missing, reason), flush=True)
    else:
        print(f"Installing {' '.join(missing)} for the tests", flush=True)
        if not install(missing):
            print(advice(missing, "apt-get failed"), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
