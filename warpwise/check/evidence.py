"""Evidence: one output of one launch beside its reference, and what the census saw.

got, want   what is there, what should be there
unwritten   elements no thread wrote
keep        elements that must be left alone (masked in the reference)
wrong       elements that make the case fail
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from .cases import Case, is_poison
from .runner import Outcome, Writes
from .tolerance import Tolerance, close


@dataclass(frozen=True)
class Evidence:
    """What a diagnosis may look at.  Arrays have the shape of the output.

    names: the spec's argument names -> the learner's.
    """

    case: Case
    output: str
    got: np.ndarray
    want: np.ndarray
    keep: np.ndarray
    unwritten: np.ndarray
    wrong: np.ndarray
    tolerance: Tolerance
    inputs: Mapping[str, np.ndarray]
    census: Writes | None
    names: Mapping[str, str]
    inout: bool = False
    unordered: bool = False  # got was put in the order of want

    @property
    def name(self) -> str:
        """The output, as the learner calls it."""
        return self.names.get(self.output, self.output)

    @property
    def due(self) -> np.ndarray:
        """Elements that have to be written."""
        return ~self.keep

    @property
    def written(self) -> np.ndarray:
        """Elements that have to be written and were."""
        return self.due & ~self.unwritten

    def matches(self, other: np.ndarray) -> bool:
        """Is every element that was written as in `other`, and none as it should be by luck?

        A masked element of `other` is one that this mistake leaves unwritten.  An output that may
        be read first counts as a whole: what nobody wrote still holds its old value.
        """
        if other.shape != self.got.shape or not (self.written.any() or self.inout):
            return False
        missing = np.ma.getmaskarray(other) if isinstance(other, np.ma.MaskedArray) else None
        plain = np.ma.getdata(other).astype(self.want.dtype, copy=False)
        if self.inout:
            there = self.due if missing is None else self.due & ~missing
            kept = missing is None or self.unwritten[self.due & missing].all()
            return bool(kept and close(self.got, plain, self.tolerance)[there].all())
        if missing is not None and not (missing == self.unwritten)[self.due].all():
            return False
        return bool(close(self.got, plain, self.tolerance)[self.written].all())


def gather(
    case: Case,
    output: str,
    reference: np.ndarray,
    outcome: Outcome,
    tolerance: Tolerance,
    names: Mapping[str, str],
    inout: bool,
    unordered: bool = False,
) -> Evidence:
    """Compare one output with its reference.

    unordered: the elements that have to be written may stand in any order; each is put where the
    reference, which is sorted, has its like.
    """
    got = outcome.arrays[output]
    keep = np.ma.getmaskarray(reference) if isinstance(reference, np.ma.MaskedArray) else None
    want = np.asarray(np.ma.getdata(reference))
    if want.shape != got.shape:
        raise ValueError(f"the reference of {output} has shape {want.shape}, not {got.shape}")
    if keep is None:
        keep = np.zeros(got.shape, bool)
    seen = outcome.census.get(output)
    if seen is not None:
        unwritten = seen.writes == 0
    elif inout:  # without a census, an element that kept its value counts as not written
        unwritten = np.asarray(got == case.args[output])
    else:
        unwritten = is_poison(got)
    if unordered:
        places = np.flatnonzero(~keep)
        order = np.arange(got.size)
        order[places] = places[_beside(got[places], unwritten[places], want[places], tolerance)]
        got, unwritten = got[order], unwritten[order]
        if seen is not None:
            seen = Writes(*(getattr(seen, part.name)[order] for part in fields(Writes)))
    right = close(got, want, tolerance)
    wrong = np.where(keep, ~unwritten, ~right | (unwritten & (not inout)))
    inputs = {
        name: value
        for name, value in case.args.items()
        if isinstance(value, np.ndarray) and name != output
    }
    return Evidence(
        case, output, got, want, keep, unwritten, wrong, tolerance, inputs, seen, names, inout,
        unordered,
    )  # fmt: skip


def _beside(
    got: np.ndarray, unwritten: np.ndarray, want: np.ndarray, tolerance: Tolerance
) -> np.ndarray:
    """The order of `got` in which as many elements as possible equal those of `want`, sorted.

    The others follow by value, unwritten ones last, in the places that are left.
    """
    order = np.lexsort((got, unwritten))
    written = int(np.count_nonzero(~unwritten))
    placed = np.full(want.size, -1)
    left = []
    i = k = 0
    while i < written and k < want.size:
        if close(got[order[i]], want[k], tolerance):
            placed[k] = order[i]
            i, k = i + 1, k + 1
        elif got[order[i]] < want[k]:
            left.append(order[i])
            i += 1
        else:
            k += 1
    placed[placed < 0] = [*left, *order[i:]]
    return placed
