"""Folders of the grader's under the system's folder for temporary files, and what is left of them.

A grader that was killed cannot tidy up.  The next one does it, a day later: on a cluster another
machine's process may have the number of one that is gone here.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import time
from pathlib import Path

import psutil

_NAME = re.compile(r"warpwise-(?:run|library)-(\d+)-\w+")
_LEFT_S = 24 * 3600.0


def new(kind: str) -> Path:
    """A new folder, ours alone.  kind: "run" or "library"."""
    return Path(tempfile.mkdtemp(prefix=f"warpwise-{kind}-{os.getpid()}-"))


def sweep() -> None:
    """Remove folders whose process is gone and which nobody touched for a day."""
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            found = _NAME.fullmatch(entry.name)
            if found is None or not entry.is_dir(follow_symlinks=False):
                continue
            with contextlib.suppress(OSError):
                facts = entry.stat(follow_symlinks=False)
                is_ours = not hasattr(os, "getuid") or facts.st_uid == os.getuid()
                is_old = time.time() - facts.st_mtime > _LEFT_S
                if is_ours and is_old and not psutil.pid_exists(int(found[1])):
                    shutil.rmtree(entry.path, ignore_errors=True)
