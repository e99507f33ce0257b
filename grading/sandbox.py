"""The walls around a student's process: bubblewrap, where this machine lets us use it.

Inside there is a read-only system with Python and its packages, the folder of the run, and nothing
else: no network, no processes but its own, no home, no course.  What can be written is limited in
size; when the first process ends, all end.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

#: Said in every result.
BUBBLEWRAP = "in bubblewrap"
NONE = "unsandboxed"
#: Folders of a run that its code may fill, each up to the limit on files.
WRITABLE = ("cwd", "home")
#: Where its answers leave the box.
OUT = "out"
#: Where the course's library is in the folder of a run.
LIBRARY = "library"

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
_FILES = ("/etc/ld.so.cache", "/etc/localtime", "/sys/devices/system/cpu")
_KERNEL = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr", "kcore", "pressure")
_WISHES = ("--disable-userns",)  # no boxes inside the box, where files have no limit
_NOBODY = "65534"


@cache
def kind() -> str:
    """What stands around runs on this machine; found out by trying."""
    if not sys.platform.startswith("linux") or shutil.which("bwrap") is None:
        return NONE
    with tempfile.TemporaryDirectory(prefix="warpwise-try-") as name:
        lay_out(Path(name))
        command = [sys.executable, "-c", "import ctypes"]
        try:
            done = subprocess.run(
                inside(command, Path(name), 1), capture_output=True, timeout=30, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return NONE
    return BUBBLEWRAP if done.returncode == 0 else NONE


@cache
def _options() -> frozenset[str]:
    """What the installed bubblewrap understands."""
    done = subprocess.run(["bwrap", "--help"], capture_output=True, text=True, check=False)
    return frozenset(done.stdout.split())


def lay_out(folder: Path) -> None:
    """The folders of a run that its code may write to."""
    for name in (*WRITABLE, OUT):
        (folder / name).mkdir()


def command(run: list[str], folder: Path, file_mb: int, library: Path | None = None) -> list[str]:
    """`run` as it is started here: inside the walls if there are any."""
    return run if kind() == NONE else inside(run, folder, file_mb, library)


def inside(run: list[str], folder: Path, file_mb: int, library: Path | None = None) -> list[str]:
    """The command line that runs `run` in a box with the run's folder.

    library: a folder to be read there as the run's own library.
    """
    room = ["--size", str(file_mb * 1_000_000), "--tmpfs"]
    words = ["bwrap", "--unshare-all", "--unshare-user", "--die-with-parent", "--new-session"]
    words += ["--uid", _NOBODY, "--gid", _NOBODY, "--hostname", "run"]
    words += [one for one in _WISHES if one in _options()]
    for path in _system():
        words += ["--ro-bind", path, path]
    for path in _SYSTEM:
        if os.path.islink(path):
            words += ["--symlink", os.readlink(path), path]
    words += ["--proc", "/proc"]
    for name in _KERNEL:  # root's own files there could be written by root in the box
        if os.path.exists(f"/proc/{name}"):
            words += ["--ro-bind", f"/proc/{name}", f"/proc/{name}"]
    words += ["--dev", "/dev", *room, "/dev/shm", *room, "/tmp"]
    for path in _python():
        words += ["--ro-bind", path, path]
        for hidden in ("warpwise", "grading"):  # installed: it would bring the specs
            if os.path.isdir(f"{path}/{hidden}"):
                words += ["--tmpfs", f"{path}/{hidden}"]
    words += ["--ro-bind", str(folder), str(folder)]
    if library is not None:
        (folder / LIBRARY).mkdir(exist_ok=True)
        words += ["--ro-bind", str(library), str(folder / LIBRARY)]
    for name in WRITABLE:
        words += [*room, str(folder / name)]
    words += ["--bind", str(folder / OUT), str(folder / OUT)]
    return [*words, "--remount-ro", "/", "--chdir", str(folder / "cwd"), "--", *run]


def _system() -> Iterator[str]:
    for path in (*_SYSTEM, *_FILES):
        if os.path.exists(path) and not os.path.islink(path):
            yield path


def _python() -> list[str]:
    """The interpreter and its packages, outer folders first."""
    packages = [one for one in sys.path if Path(one).name in ("site-packages", "dist-packages")]
    found = {os.path.realpath(one) for one in packages if os.path.isdir(one)}
    found |= {sys.prefix, sys.base_prefix, os.path.realpath(sys.base_prefix)}
    return sorted(one for one in found if not one.startswith("/usr/"))
