"""Names of GPU architectures: `sm_90`, "9.0", 9.0, 90, (9, 0) all mean compute capability 9.0."""

from __future__ import annotations

import re

from .errors import ArchitectureError

#: What the installed libNVVM and ptxas (CUDA 13) produce; CUDA 13 dropped everything before 7.5.
#: Source: CUDA Toolkit 13.0 release notes; `python -m warpwise doctor` tries the oldest and newest.
KNOWN = (
    (7, 5), (8, 0), (8, 6), (8, 7), (8, 8), (8, 9), (9, 0), (10, 0), (10, 3), (11, 0), (12, 0),
    (12, 1),
)  # fmt: skip

GENERATION = {
    (7, 0): "Volta", (7, 5): "Turing", (8, 0): "Ampere", (8, 6): "Ampere", (8, 7): "Ampere",
    (8, 8): "Ampere", (8, 9): "Ada", (9, 0): "Hopper", (10, 0): "Blackwell", (10, 3): "Blackwell",
    (11, 0): "Blackwell", (12, 0): "Blackwell", (12, 1): "Blackwell",
}  # fmt: skip


def parse(arch: object) -> tuple[int, int]:
    """The compute capability (major, minor); raises ArchitectureError and lists the known ones."""
    if isinstance(arch, tuple) and len(arch) == 2 and all(isinstance(part, int) for part in arch):
        found = (int(arch[0]), int(arch[1]))
    else:
        text = str(arch).strip().lower()
        match = re.fullmatch(r"(?:sm_|compute_|cc\s*)?(\d{2,3})|(?:cc\s*)?(\d{1,2})\.(\d)", text)
        if match is None:
            raise ArchitectureError(f"{arch!r} is no architecture. {_known()}")
        whole, major, minor = match.groups()
        found = (int(whole[:-1]), int(whole[-1])) if whole else (int(major), int(minor))
    if found not in KNOWN:
        reason = "CUDA 13 no longer compiles for it" if found < KNOWN[0] else "it is not known here"
        raise ArchitectureError(f"{name(found)}: {reason}. {_known()}")
    return found


def name(cc: tuple[int, int]) -> str:
    """`sm_90` for (9, 0)."""
    return f"sm_{cc[0]}{cc[1]}"


def _known() -> str:
    return "Known are " + ", ".join(name(cc) for cc in KNOWN) + "."
