"""The course's library as the student's process sees it: no specs, no references, no answers.

Every run gets a copy of its own, so nothing that one student's code does to it reaches another
student or the grader.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from warpwise.curriculum import COURSE

# What the process around the student's code needs of the grader: papermill's side and the probe.
_FROM_GRADING = ("__init__.py", "child.py", "client.py", "probe.py", "wire.py")

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


def _leave_out(folder: str, names: list[str]) -> list[str]:
    """The checks, and the compiled leftovers of what is not there."""
    is_top = Path(folder).name == "warpwise"
    return [name for name in names if is_top and name in ("check", "authoring", "setup")]
