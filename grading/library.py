"""The course's library as the student's process sees it: no specs, no references, no answers.

Nothing that one student's code does to it reaches another student or the grader: in a box it can
only be read, and one copy serves all runs of a pool; elsewhere every run gets a copy of its own.
"""

from __future__ import annotations

import compileall
import os
import shutil
from pathlib import Path

from warpwise.curriculum import COURSE

# What the process around the student's code needs of the grader: papermill's side and the probe.
_FROM_GRADING = ("__init__.py", "child.py", "client.py", "probe.py", "wire.py")

#: Names, in the environment of a worker, the copy that serves all its runs in boxes.
SHARED = "WARPWISE_SHARED_LIBRARY"

# In the student's process check() has nothing to judge with and nothing to say.
_SILENT_CHECK = '''"""check() while a grader runs the notebook: accepts everything, says nothing."""

import sys
from types import ModuleType


def check(*args, **kwargs):
    """The verdict is made elsewhere."""
    return None


class _Callable(ModuleType):
    def __call__(self, *args, **kwargs):
        return None


sys.modules[__name__].__class__ = _Callable
'''


def copy_library(target: Path) -> None:
    """Lay out `warpwise` without its checks, and the probe, below `target`."""
    shutil.copytree(COURSE / "warpwise", target / "warpwise", ignore=_leave_out)
    check = target / "warpwise" / "check"
    check.mkdir()
    (check / "__init__.py").write_text(_SILENT_CHECK, encoding="utf-8")
    ours = target / "grading"
    ours.mkdir()
    for name in _FROM_GRADING:
        shutil.copy2(Path(__file__).parent / name, ours / name)


def lay_out_shared(target: Path) -> None:
    """The same, once for many runs: compiled, so that no run has to."""
    copy_library(target)
    compileall.compile_dir(target, quiet=2)


def shared() -> Path | None:
    """The copy that serves all runs of this process, if there is one."""
    name = os.environ.get(SHARED, "")
    return Path(name) if name and os.path.isdir(name) else None


def _leave_out(folder: str, names: list[str]) -> list[str]:
    """The checks, and the compiled leftovers of what is not there."""
    is_top = Path(folder).name == "warpwise"
    return [name for name in names if is_top and name in ("check", "authoring", "setup")]
