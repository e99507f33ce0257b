"""Diagnoses: what a wrong output looks like, each a small pure function.

A diagnosis takes the evidence of one failing launch and returns a sentence when it fits, else None.
It returns "" where it would fit but the launch is too small to show it: one element is no last one.
Several may fit one launch; the one that fits every failing launch is the likely cause, and the
order of `DIAGNOSES` decides between those.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from .cases import as_dims
from .evidence import Evidence
from .tolerance import REDUCED, Tolerance, close
from .wording import count_of, counted, number

TOO_SMALL = ""

Diagnosis = Callable[[Evidence], str | None]


def wrote_outside(e: Evidence) -> str | None:
    """Elements that must be left alone were written, the rest is right."""
    outside = e.keep & ~e.unwritten
    if not outside.any() or (e.wrong & e.due).any():
        return None
    return (
        f"{counted(int(outside.sum()), 'element')} of {e.name} that must be left alone "
        f"{_was(outside)} written."
    )


def output_read(e: Evidence) -> str | None:
    """The output was read before it was written: it does not begin with zeros."""
    if e.inout or e.census is None:
        return None
    bad = e.wrong & e.written
    if not bad.any() or not (e.census.reads[bad] > 0).all():
        return None
    return (
        f"The kernel reads {e.name} before it stores there.  At that moment {e.name} does not hold "
        "zeros but whatever was there before, as memory on a GPU does."
    )


def only_first_thread(e: Evidence) -> str | None:
    """Each block wrote one element at most."""
    wrote, blocks = int(e.written.sum()), e.case.blocks
    if e.case.threads_per_block == 1 or not 0 < wrote <= blocks or int(e.due.sum()) <= blocks:
        return None
    if (e.wrong & e.written).any():
        return None
    return (
        f"{count_of(e.written, 'element')} of {e.name} {_was(e.written)} written by "
        f"{counted(blocks, 'block')} of {e.case.threads_per_block} threads: the threads of a block "
        "did not get an element each."
    )


def only_first_block(e: Evidence) -> str | None:
    """Only the elements of block 0 were written, by it or by every block again."""
    if e.case.blocks == 1 or (e.wrong & e.written).any():
        return None
    first = e.due & _below(e, as_dims(e.case.block))
    if (first == e.due).all() or not first.any() or not (first == e.written).all():
        return None
    return (
        f"Only the elements of the first block of threads were written: the kernel does not "
        f"tell its {e.case.blocks} blocks apart."
    )


def multiple_of_block_only(e: Evidence) -> str | None:
    """Whole blocks were written, the rest of the last one was not."""
    if (e.wrong & e.written).any():
        return None
    shape, block = _extents(e), as_dims(e.case.block)
    whole = tuple(n // b * b for n, b in zip(shape, block, strict=True))
    full = e.due & _below(e, whole)
    if (full == e.due).all() or not (full == e.written).all():
        return None
    if not full.any():
        return TOO_SMALL
    rest = int(e.due.sum() - full.sum())
    which = "element" if rest == 1 else f"{rest} elements"
    return (
        f"The last {which} of {e.name} {'was' if rest == 1 else 'were'} not written: the last "
        f"block of {e.case.threads_per_block} threads is not full."
    )


def swapped_axes(e: Evidence) -> str | None:
    """Written only as far as a grid with x and y exchanged reaches."""
    if e.got.ndim != 2 or (e.wrong & e.written).any():
        return None
    grid, block = as_dims(e.case.grid), as_dims(e.case.block)
    rows, columns = np.indices(e.got.shape)
    reached = e.due & (rows < grid[0] * block[0]) & (columns < grid[1] * block[1])
    if (reached == e.due).all() or not (reached == e.written).all():
        return None
    return (
        f"The elements that were written are those that threads reach when x counts the rows of "
        f"{e.name} and y the columns.  In this grid x counts the columns."
    )


def never_written(e: Evidence) -> str | None:
    """Some elements were not written; those that were are right."""
    missing = e.due & e.unwritten
    if not missing.any() or (e.wrong & e.written).any():
        return None
    if e.unwritten.all():
        return f"No thread wrote to {e.name}."
    outside = int((e.keep & ~e.unwritten).sum())
    instead = f"  Stores went to {counted(outside, 'element')} that must be left alone."
    return (
        f"{count_of(missing, 'element')} of {e.name} {_was(missing)} never written: no thread "
        f"stored there.{instead if outside else ''}"
    )


def all_zero(e: Evidence) -> str | None:
    """Zeros were stored where other values belong."""
    if not e.written.any() or (e.got[e.written] != 0).any() or not e.want[e.due].any():
        return None
    if e.got.size == 1:
        return f"The value written to {e.name} is zero."
    return f"Every value written to {e.name} is zero."


def input_copied(e: Evidence) -> str | None:
    """The output is one of the inputs."""
    for name, array in e.inputs.items():
        if e.written.any() and array.shape == e.got.shape:
            if close(e.got, array, e.tolerance)[e.written].all():
                return f"{e.name} is a plain copy of {e.names.get(name, name)}."
    return None


def transposed(e: Evidence) -> str | None:
    """Rows and columns are exchanged."""
    if e.got.ndim != 2 or not e.written.any():
        return None
    turned = e.want.T.reshape(e.got.shape)
    if not close(e.got, turned, e.tolerance)[e.written].all():
        return None
    return f"{e.name} holds the right values with rows and columns exchanged."


def shifted_by_one(e: Evidence) -> str | None:
    """Each value sits one place too far to one side."""
    for axis in range(e.got.ndim):
        n = e.got.shape[axis]
        if n < 3:
            continue
        low, high = _slice(e, axis, 0, n - 1), _slice(e, axis, 1, n)
        for here, there, where in ((high, low, "after"), (low, high, "before")):
            seen = e.written[here]
            right = close(e.got[here], e.want[there], e.tolerance)
            if seen.any() and right[seen].all():
                return f"The values in {e.name} are right, but each sits one place {where} its own."
    return None


def constant_output(e: Evidence) -> str | None:
    """One and the same value everywhere."""
    got, want = e.got[e.written], e.want[e.due]
    if got.size < 2 or (got != got[0]).any() or (want == want[0]).all():
        return None
    return f"Every value written to {e.name} is {number(got[0])}, but the right ones differ."


def reduced_precision(e: Evidence) -> str | None:
    """Right to the digits of the next smaller float format, infinite beyond its range."""
    kind = e.got.dtype.name
    if kind not in REDUCED or (e.due & e.unwritten).any():
        return None
    smaller, share = REDUCED[kind]
    met = [a for a in (e.want, *e.inputs.values()) if a.dtype.kind == "f"]
    largest = max(float(np.abs(a[np.isfinite(a)]).max(initial=0.0)) for a in met)
    near = close(e.got, e.want, Tolerance(0.0, share * largest))
    beyond = np.abs(e.want) > float(np.finfo(smaller).max)
    if not (near | (beyond & np.isinf(e.got)))[e.due].all():
        return None
    return (
        f"The values are nearly right, as if they had passed through {smaller} on the way; "
        f"{e.name} is {kind}."
    )


def wrong_values(e: Evidence) -> str | None:
    """Always fits: the fallback."""
    if not e.wrong.any():
        return None
    return f"The values in {e.name} are not what the exercise asks for."


DIAGNOSES: Sequence[tuple[str, Diagnosis]] = (
    ("wrote_outside", wrote_outside),
    ("output_read", output_read),
    ("only_first_block", only_first_block),
    ("only_first_thread", only_first_thread),
    ("multiple_of_block_only", multiple_of_block_only),
    ("transposed", swapped_axes),
    ("never_written", never_written),
    ("all_zero", all_zero),
    ("input_copied", input_copied),
    ("transposed", transposed),
    ("shifted_by_one", shifted_by_one),
    ("constant_output", constant_output),
    ("reduced_precision", reduced_precision),
    ("wrong_values", wrong_values),
)


def fitting(
    e: Evidence, suspects: Mapping[str, np.ndarray], causes: Mapping[str, str]
) -> dict[str, str]:
    """Every diagnosis that fits one failing launch, likeliest first: slug -> sentence.

    suspects: what known mistakes of this exercise would have given here; they come first.
    """
    found = {
        slug: causes.get(slug, f"A known mistake gives these values: {slug.replace('_', ' ')}.")
        for slug, array in suspects.items()
        if e.matches(np.ma.asanyarray(array))
    }
    for slug, diagnosis in DIAGNOSES:
        sentence = diagnosis(e)
        if sentence is not None and not found.get(slug):
            found[slug] = causes.get(slug, sentence) if sentence else TOO_SMALL
    return found


def common(failures: Sequence[Mapping[str, str]]) -> str:
    """The likeliest slug that fits every failure; else the likeliest of the first, smallest one."""
    first, *rest = failures
    shared = [slug for slug in first if all(slug in other for other in rest)]
    telling = [slug for slug in shared if slug != "wrong_values"]
    shown = [slug for slug in telling if any(other[slug] for other in failures)]
    # With two mistakes at once none fits everywhere: the smallest launch shows the first to mend.
    alone = [slug for slug in first if first[slug]]
    return (shown or telling or alone or list(first))[0]


def _extents(e: Evidence) -> tuple[int, ...]:
    """The output's extents along x, y, z of the launch; flat where the launch is 1-D."""
    flat = all(n == 1 for n in (*as_dims(e.case.grid)[1:], *as_dims(e.case.block)[1:]))
    axes = (e.got.size,) if flat else tuple(reversed(e.got.shape))
    return (*axes, 1, 1)[:3]


def _below(e: Evidence, limit: Sequence[int]) -> np.ndarray:
    """Elements whose place along x, y, z is below `limit`."""
    extents = _extents(e)
    places = np.unravel_index(np.arange(e.got.size), tuple(reversed(extents)))
    inside = np.ones(e.got.size, bool)
    for place, end in zip(reversed(places), limit, strict=False):
        inside &= place < end
    return inside.reshape(e.got.shape)


def _slice(e: Evidence, axis: int, start: int, stop: int) -> tuple[slice, ...]:
    return tuple(slice(start, stop) if k == axis else slice(None) for k in range(e.got.ndim))


def _was(which: np.ndarray) -> str:
    return "was" if int(which.sum()) == 1 else "were"
