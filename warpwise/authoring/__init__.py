"""Text to notebooks: one builder for lessons, labs and solutions.

    tiers/TIER/source/UNIT.py          -> tiers/TIER/UNIT.ipynb           the lesson, executed
    solutions/TIER/source/UNIT_lab.py  -> solutions/TIER/UNIT_lab.ipynb   the lab with answers
                                       -> labs/TIER/UNIT_lab.ipynb        the lab with holes

`python -m warpwise.authoring` builds, `--check` compares, `--execute` also runs changed lessons.
"""

from warpwise.authoring.errors import AuthoringError, ExecutionError
from warpwise.authoring.notebook import build_full, build_lab, build_lesson, canonical_bytes
from warpwise.authoring.source import TAGS, Cell, parse_source, read_source

__all__ = [
    "TAGS",
    "AuthoringError",
    "Cell",
    "ExecutionError",
    "build_full",
    "build_lab",
    "build_lesson",
    "canonical_bytes",
    "parse_source",
    "read_source",
]
