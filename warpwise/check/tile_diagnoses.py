"""What a wrong output of a Triton kernel looks like; see `diagnoses` for how they are chosen."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from . import diagnoses, todo
from .evidence import Evidence
from .wording import count_of, counted

_OF_THREADS = ("only_first_block", "only_first_thread", "multiple_of_block_only")
_LOW = ("float16", "bfloat16")
#: Nearly right: the error of a sum kept in a short format, as a share of the largest value.
_NEARLY = 0.1

HINTS: Mapping[str, tuple[str, str]] = {
    "out_of_bounds": (
        "How many elements do all tiles have together, and how many are there?",
        "The last tile reaches beyond the end.  Compare the offsets with the length, and give the "
        "result as mask= to every tl.load and tl.store.",
    ),
    "undefined_lanes": (
        "What does tl.load give in the lanes that its mask keeps away?",
        "Name a value that changes nothing: other=0.0 for a sum or tl.dot, other=-float('inf') for "
        "a maximum.",
    ),
    "only_first_program": (
        "What tells two programs of one launch apart?",
        "Each program has to start at its own tile: tl.program_id(axis) times the tile's extent.",
    ),
    "whole_tiles_only": (
        "Try a length on paper that is not a multiple of the tile.",
        "The last tile is not full, but the lanes that have an element must store.",
    ),
    "wrong_stride": (
        "How far apart are two rows, and two columns, of each array?",
        "Use the strides that the kernel is given: pointer + row * row_stride + column * "
        "column_stride.",
    ),
    "stored_outside_rows": (
        "Which columns does a row of your output have, and which lanes store?",
        "Mask the store with the row and with the column.",
    ),
    "low_accumulator": (
        "In which dtype is the running sum kept?",
        "Start from tl.zeros(..., dtype=tl.float32) and convert once, where you store.",
    ),
    "never_written": (
        "Pick the first missing element and ask which program should have stored it.",
        "Work out the offsets of that program by hand, and follow them to the mask of the store.",
    ),
    "race": (
        "Which programs compute the element in the message?",
        "Give each element to one program, or add with tl.atomic_add.",
    ),
    "wrong_values": (
        "Work out the first row of the table by hand: which inputs should that element use?",
        "Take the program that stores it and follow its offsets through your kernel.",
    ),
    "constant_output": (
        "Every lane stores the same value.  What should differ between lanes?",
        "The stored value has to depend on the offsets of the tile.",
    ),
    "all_zero": (
        "Where does the stored value come from?",
        "Follow one program: what does it load, what does it compute, what does it store?",
    ),
    "input_modified": (
        "Which pointer stands in each tl.store?",
        "Only load from the inputs.  Results go to the output.",
    ),
    "too_many_bytes": (
        "Which element is loaded by more than one program, or more than once by one?",
        "Load a value once, keep it in a variable, and store only what the exercise asks for.",
    ),
    "not_compiled_so": (
        "Which operation on whole tiles would the compiler turn into this?",
        "Look at the dtypes and extents of the tiles that meet in tl.dot.",
    ),
    "compilation": (
        "A kernel cannot use all of Python.  Which construct does the message point at?",
        "Write it with functions of tl, if, for and while; no dictionaries, no NumPy.",
    ),
    "raised": (
        "Read the line in the message: which shapes and constants meet there?",
        "Extents have to be powers of two and known when it is compiled: mark such parameters "
        "with tl.constexpr.",
    ),
}


def fitting(
    e: Evidence, suspects: Mapping[str, np.ndarray], causes: Mapping[str, str],
    undefined: Mapping[int, int], answer: Any,
) -> dict[str, str]:  # fmt: skip
    """Every diagnosis that fits one failing launch, likeliest first: slug -> sentence.

    undefined: line -> lanes loaded without other=; answer: the kernel's Python function.
    """
    general = diagnoses.fitting(e, suspects, causes)
    found = {slug: text for slug, text in general.items() if slug in suspects}
    mine: list[tuple[str, Callable[[], str | None]]] = [
        ("undefined_lanes", lambda: _undefined(e, undefined)),
        ("only_first_program", lambda: _only_first(e)),
        ("whole_tiles_only", lambda: _whole_tiles(e)),
        ("low_accumulator", lambda: _low_accumulator(e, answer)),
    ]
    for slug, tell in mine:
        sentence = tell()
        if sentence is not None:
            found.setdefault(slug, causes.get(slug, sentence) if sentence else sentence)
    for slug, text in general.items():
        if slug not in _OF_THREADS and slug != "wrong_values":
            found.setdefault(slug, text.replace("thread", "program"))
    strided = wrong_stride(e.case.args, e.names)
    if strided:
        found.setdefault("wrong_stride", causes.get("wrong_stride", strided))
    if "wrong_values" in general:
        found.setdefault("wrong_values", general["wrong_values"])
    return found


def wrong_stride(args: Mapping[str, Any], names: Mapping[str, str]) -> str | None:
    """A sentence where an array of the case is not laid out row after row."""
    for name, value in args.items():
        if isinstance(value, np.ndarray) and value.ndim and value.size > 1:
            if not value.flags.c_contiguous:
                steps = ", ".join(str(step // value.itemsize) for step in value.strides)
                many = "strides" if value.ndim > 1 else "stride"
                return (
                    f"{names.get(name, name)} has shape {value.shape} and {many} {steps} here, in "
                    "elements; where arrays lie row after row without gaps, the kernel is right."
                )
    return None


def _undefined(e: Evidence, lines: Mapping[int, int]) -> str | None:
    """NaN, or what stands for anything, came out where lanes were loaded without other=."""
    if not lines or e.got.dtype.kind != "f":
        return None
    bad = e.wrong & e.written
    if not bad.any() or not np.isnan(e.got[bad].astype(float)).all():
        return None
    where = ", ".join(str(line) for line in sorted(lines))
    return (
        f"Lanes that are masked off in a load have no defined value without other=, and they are "
        f"used (line {where}): {e.name} becomes NaN here, and anything on a GPU."
    )


def _only_first(e: Evidence) -> str | None:
    """Only elements of program 0 were stored, by it or by every program again."""
    programs = e.case.blocks
    if programs == 1 or e.census is None or not e.written.any():
        return None
    writes, writer = e.census.writes[e.written], e.census.writer[e.written]
    if not (e.due & e.unwritten).any() or not ((writer == 0).all() or (writes == programs).all()):
        return None
    return (
        f"Only one tile of {e.name} was stored: the kernel does not tell its {programs} programs "
        "apart."
    )


def _whole_tiles(e: Evidence) -> str | None:
    fits = diagnoses.multiple_of_block_only(e)
    if not fits:
        return fits
    return (
        f"{count_of(e.due & e.unwritten, 'element')} of {e.name} in the last tile were not stored."
    )


def _low_accumulator(e: Evidence, answer: Any) -> str | None:
    """Nearly right, and the kernel's text keeps a tile of zeros, or tl.dot's result, in 16 bits."""
    if (e.due & e.unwritten).any() or e.got.dtype.kind not in "fV":
        return None
    got, want = e.got.astype(float), e.want.astype(float)
    scale = np.abs(want[np.isfinite(want)]).max(initial=0.0)
    with np.errstate(invalid="ignore"):  # an infinity where one is wanted
        near = (got == want) | (np.abs(got - want) <= _NEARLY * scale)
    if not near[e.due].all():
        return None
    tree = todo.tree_of(answer)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Call) and _name(node.func) in ("zeros", "full", "dot"):
            values = [*node.args, *(keyword.value for keyword in node.keywords)]
            if any(_name(value) in _LOW for value in values):
                line = node.lineno + _first_line(answer) - 1
                return f"Nearly right: line {line} keeps the sum in {_low(values)}."
    return None


def _low(values: list[ast.expr]) -> str:
    return next(_name(value) for value in values if _name(value) in _LOW)


def _first_line(answer: Any) -> int:
    return int(answer.__code__.co_firstlineno)


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def strayed(name: str, count: int) -> str:
    """What to say of stores between the rows of an output."""
    verb = "was" if count == 1 else "were"
    return f"{counted(count, 'element')} between the rows of {name} {verb} stored to"
