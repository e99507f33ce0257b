"""Failure: one failing launch of a kernel, the evidence, and the diagnoses that fit it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .cases import Case
from .report import Row


@dataclass(frozen=True)
class Failure:
    """Why one case failed: slug -> sentence, likeliest first, and what to show for it.

    elements: of the output; minor: the values are right, only a requirement is not met.
    partly: some elements are right; valued: the values are wrong; hint: whose hints to show, where
    it is not the diagnosis; urgent: told before wrong values, which it explains.
    mild: another case may show the same in a graver form; output: whose values are wrong.
    """

    case: Case
    fits: Mapping[str, str]
    what: str
    cells: tuple[Row, ...] = ()
    left_out: str = ""
    elements: int = 2
    minor: bool = False
    partly: bool = False
    valued: bool = False
    hint: str = ""
    urgent: bool = False
    mild: bool = False
    output: str = ""
