"""Exercises of t2_11_machine_code: kernels whose machine code has, or has not, what is asked.

row       one instruction of SASS, as text: "@P0 LDG.E.128 R4, [R2.64]"
level     a small number that a thread counts the occurrences of
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..cases import Case, Level, ceil_div, values
from ..requirements import Requirement
from ..spec import CompiledFact, FunctionSpec, KernelSpec
from ..tolerance import Tolerance

UNIT = "t2_11_machine_code"

LEVELS = 12
TILE = 16
COLUMNS = 64
#: Facts are asked for these two: their code is made by one version of libNVVM.
ARCHITECTURES = ("sm_80", "sm_90")

Array = np.ndarray
Rows = tuple[str, ...]
Read = Callable[[Any], str | None]


def on_both(*facts: tuple[Read, str]) -> tuple[CompiledFact, ...]:
    """Each (fact, diagnosis), for both architectures, one architecture after the other."""
    return tuple(CompiledFact(arch, read, slug) for arch in ARCHITECTURES for read, slug in facts)


def in_float64(code: Any) -> str | None:
    """Instructions of the PTX that compute in float64 or convert."""
    names = sorted(
        name for name in code.ptx.operations
        if ".f64" in name and not name.startswith(("ld.", "st.", "mov."))
    )  # fmt: skip
    if not names:
        return None
    return (
        f"For {code.architecture} the PTX has {code.float64} instructions in float64, where none "
        f"is allowed: {', '.join(names)}."
    )


def sign_tests(code: Any) -> str | None:
    """Copies of an index's sign, which are added to it as a mask."""
    count = code.ptx.operations["shr.s64"]
    if not count:
        return None
    many = f"{count} indices" if count > 1 else "one index"
    return f"For {code.architecture} the PTX tests the sign of {many} (shr.s64)."


def in_memory(code: Any) -> str | None:
    """Local arrays that are memory, in the PTX or on the stack."""
    count = sum(n for name, n in code.ptx.operations.items() if ".local" in name)
    if not count and not code.resources.stack:
        return None
    return (
        f"For {code.architecture} the PTX has {count} loads and stores of local memory, and a "
        f"thread needs {code.resources.stack} bytes of stack."
    )


def narrow_reads(code: Any) -> str | None:
    """Fewer than 2 fused multiply-adds for each load of shared memory."""
    names = [row.name.split(".")[0] for row in code.sass]
    adds, loads = names.count("FFMA"), names.count("LDS")
    if adds >= 2 * max(loads, 1):
        return None
    wide = code.load_bits["LDS", 128]
    return (
        f"For {code.architecture} the machine code has {adds} FFMA and {loads} LDS, {wide} of them "
        "of 128 bits.  At least 2 FFMA for each LDS are asked for."
    )


# -- single_only -------------------------------------------------------------------------------


def last_case(rng: np.random.Generator, n: int, width: int, block: int = 32) -> Case:
    """(out, x, n, width) with a thread for each element."""
    args = {"out": np.zeros(n, np.float32), "x": values(rng, (n,)), "n": n, "width": width}
    return Case(args, max(ceil_div(n, block), 1), block)


def last_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    for n, width in ((1, 1), (5, 3), (31, 1), (33, 4), (67, 100), (64, 7)):
        yield last_case(rng, n, width)
    if level == "grader":
        for n, width in rng.integers(1, 150, size=(4, 2)):
            yield last_case(rng, int(n), int(width), 64)


def half_means(case: Case, divide: bool = True, shorter: int = 0) -> dict[str, Array]:
    """Half of each element and half of the mean of the last `width`, fewer at the start."""
    x, width = case.args["x"].astype(np.float64), case.args["width"]
    out = np.empty(x.size)
    for i in range(x.size):
        part = x[max(i - width + 1 + shorter, 0) : i + 1]
        mean = part.sum() / (max(part.size, 1) if divide else width)
        out[i] = 0.5 * mean + 0.5 * x[i]
    return {"out": out}


FLOAT64_CAUSE = (
    "Something in the kernel is a float64: a literal with a point, a division by an integer, or a "
    "comparison of unsigned with signed."
)
COMMON_HINTS = {
    "float64_in_code": (
        "Print the rows of SASS whose kind is float64 or convert.  Under which lines do they "
        "stand?",
        "np.float32(...) around each literal and each integer that meets a float; np.float32(0) to "
        "start a sum.",
    ),
}

SINGLE_ONLY = KernelSpec(
    "single_only", UNIT, 2, ("out",), last_cases, half_means,
    writes_once=True,
    tolerance={"float32": Tolerance(1e-5, 1e-5)},
    suspects={
        "divided_by_width": lambda case: half_means(case, divide=False),
        "one_element_short": lambda case: half_means(case, shorter=1),
    },
    causes={
        "divided_by_width": "Each sum is divided by width, also where fewer elements are there.",
        "one_element_short": "Each mean leaves out the oldest of its elements.",
        "float64_in_code": FLOAT64_CAUSE,
    },
    hints={
        **COMMON_HINTS,
        "divided_by_width": (
            "How many elements has the mean of element 0?",
            "Divide by i + 1 - first, the number of elements that were added.",
        ),
        "one_element_short": (
            "Which elements belong to the mean of element i when width is 1?",
            "Only i itself: from i - width + 1 to i, both included.",
        ),
    },
    compiled=on_both((in_float64, "float64_in_code")),
    counted=lambda: last_case(np.random.default_rng(5), 97, 6),
)  # fmt: skip


# -- tally -------------------------------------------------------------------------------------

_PLAIN = (
    "IADD3 R{0}, P0, R{1}, R{2}, RZ", "IMAD.WIDE R{0}, R{1}, 0x4, R{2}", "EXIT",
    "FFMA R{0}, R{1}, R{2}, R{0}", "LDC R{0}, c[0x0][0x28]",
    "LEA.HI.X R{0}, R{1}, c[0x0][0x1bc], R{2}, 0x2, P1", "S2R R{0}, SR_TID.X", "BAR.SYNC 0x0",
    "DEPBAR.LE SB0, 0x1", "ISETP.GE.AND P0, PT, R{0}, c[0x0][0x170], PT", "MOV R{0}, 0x40",
    "F2F.F64.F32 R{0}, R{1}", "LOP3.LUT R{0}, R{1}, 0x80, RZ, 0xc0, !PT",
)  # fmt: skip
_DOUBLE = (
    "DFMA R{0}, R{1}, R{2}, 0.25", "DADD R{0}, R{1}, R{2}", "DMUL R{0}, R{1}, 0.5",
)  # fmt: skip
_MEMORY = (
    "LDG.E R{0}, [R{1}.64]", "LDG.E.128 R{0}, [R{1}.64+0x10]", "LDG.E.64 R{0}, [R{1}.64]",
    "LDG.E.U8 R{0}, [R{1}.64]", "LDG.E.U16.CONSTANT R{0}, [R{1}.64]", "LDG.E.S8 R{0}, [R{1}.64]",
    "LDG.E.CONSTANT R{0}, desc[UR4][R{1}.64]", "LDG.E.128.CONSTANT R{0}, desc[UR4][R{1}.64+0x40]",
    "LDS R{0}, [R{1}.X4+0x128]", "LDS.128 R{0}, [R{1}+0x64]", "LDS.64 R{0}, [R{1}.X8]",
    "LDS.U8 R{0}, [R{1}]", "STG.E [R{0}.64], R{1}", "STG.E.128 [R{0}.64], R{1}",
    "STS.64 [R{0}+0x128], R{1}", "LDL.128 R{0}, [R{1}]", "STL R{0}, [R{1}]",
)  # fmt: skip


def listing(rng: np.random.Generator, rows: int) -> Rows:
    """Rows of every kind, some of them under a predicate."""
    kinds = (_PLAIN, _DOUBLE, _MEMORY, _MEMORY)
    chosen = (kinds[int(rng.integers(4))] for _ in range(rows))
    return tuple(_row(rng, kind[int(rng.integers(len(kind)))]) for kind in chosen)


def _row(rng: np.random.Generator, text: str) -> str:
    """A row with registers drawn, perhaps under a predicate."""
    registers = rng.integers(2, 60, size=3).tolist()
    return ("", "", "@P0 ", "@!P2 ")[int(rng.integers(4))] + text.format(*registers)


EXAMPLE = (
    "S2R R2, SR_TID.X", "@P0 EXIT", "LDG.E.128 R4, [R2.64]", "@!P1 LDS R9, [R8.X4+0x40]",
    "F2F.F64.F32 R6, R4", "DFMA R6, R6, R10, 0.25", "STG.E [R2.64], R6",
)  # fmt: skip


def listings(rng: np.random.Generator, level: Level) -> Iterator[tuple[Rows]]:
    yield (EXAMPLE,)
    yield ((),)
    for text in ("LDG.E R4, [R2.64]", "@P3 LDG.E.U8 R4, [R2.64]", "@!P0 DMUL R2, R4, R6",
                 "LDS.128 R8, [R3+0x64]"):  # fmt: skip
        yield ((text,),)
    every = (*_PLAIN, *_DOUBLE, *_MEMORY)  # each once: chance may leave out what matters
    yield (tuple(_row(rng, every[k]) for k in rng.permutation(len(every))),)
    for _ in range(3 if level == "student" else 12):
        yield (listing(rng, int(rng.integers(5, 40))),)


_BITS = re.compile(r"\.[US]?(8|16|64|128)\b")


def tally(listing: Sequence[str]) -> tuple[int, int, int, int]:
    """Bytes loaded from global and from shared memory, float64 arithmetic, predicated rows."""
    return _tally(listing)


def _tally(
    listing: Sequence[str], whole_row: bool = False, guarded: bool = True, bits: bool = False,
    only_32: bool = False, letters: bool = False, stores: bool = False,
) -> tuple[int, int, int, int]:  # fmt: skip
    """The count, or one of the known mistakes in it."""
    loaded, shared, doubles, predicates = 0, 0, 0, 0
    for row in listing:
        under = row.startswith("@")
        predicates += under
        if under and not guarded:
            continue
        bare = row.split(" ", 1)[1] if under else row
        name = bare.split(" ")[0]
        first = name.split(".")[0]
        found = _BITS.search(bare if whole_row else name)
        width = 32 if found is None or only_32 else int(found[1])
        amount = width if bits else width // 8
        loaded += amount * (first == "LDG" or (stores and first == "STG"))
        shared += amount * (first == "LDS" or (stores and first == "STS"))
        doubles += first.startswith("D") if letters else first in ("DADD", "DMUL", "DFMA")
    return loaded, shared, doubles, predicates


TALLY = FunctionSpec(
    "tally", UNIT, 2, listings, tally,
    suspects={
        "width_of_the_address": lambda listing: _tally(listing, whole_row=True),
        "guarded_rows_missed": lambda listing: _tally(listing, guarded=False),
        "bits_not_bytes": lambda listing: _tally(listing, bits=True),
        "always_32_bits": lambda listing: _tally(listing, only_32=True),
        "first_letter_only": lambda listing: _tally(listing, letters=True),
        "stores_counted": lambda listing: _tally(listing, stores=True),
        "converts_counted": lambda listing: tuple(
            n + sum("F64" in row for row in listing) * (k == 2)
            for k, n in enumerate(_tally(listing))
        ),
    },
    causes={
        "width_of_the_address": (
            "You read a width out of the address: in [R2.64] the 64 says that the address has 64 "
            "bits."
        ),
        "guarded_rows_missed": "Rows that begin with a predicate are left out, though they load.",
        "bits_not_bytes": "You count bits; bytes are asked for.",
        "always_32_bits": "Each load counts as 32 bits; .64, .128, .U8 and .U16 say otherwise.",
        "first_letter_only": "DEPBAR begins with a D, too: it waits, and computes nothing.",
        "stores_counted": "STG and STS store; only loads are asked for.",
        "converts_counted": "F2F converts; arithmetic is DADD, DMUL and DFMA.",
    },
    hints={
        "wrong_values": (
            "Take the rows one by one: is there a predicate, what is the name, which parts has it?",
            "The name is the first word that does not begin with @.  Split it at the dots: the "
            "first part says what it does, the others may say the width.",
        ),
        "width_of_the_address": (
            "In which word does the width of a load stand?",
            "Only in the name.  Look at the first word, not at the whole row.",
        ),
        "guarded_rows_missed": (
            "What is the first word of @P0 LDG.E R4, [R2.64]?",
            "The predicate.  Remove it before you read the name.",
        ),
        "bits_not_bytes": ("How many bits has a byte?", "Divide the width by 8."),
        "always_32_bits": (
            "What do .128 and .U8 in a name say?",
            "The parts 128, 64, U16, S16, U8 and S8 of a name; without one it is 32.",
        ),
        "first_letter_only": (
            "Which names stand for float64 arithmetic?",
            "DADD, DMUL and DFMA: compare the whole first part of the name.",
        ),
        "stores_counted": ("Which names load?", "LDG for global and LDS for shared memory."),
        "converts_counted": (
            "Which of the names compute?",
            "DADD, DMUL and DFMA: compare the whole first part of the name.",
        ),
    },
)  # fmt: skip


# -- loop_bound --------------------------------------------------------------------------------

_NAMES = (
    "LDS", "LDS.128", "LDG.E", "IADD3", "IMAD.WIDE", "ISETP.GE.AND", "BRA", "BAR.SYNC", "MOV",
    "STS",
)  # fmt: skip
#: (float32, float64) lanes of a multiprocessor by compute capability.  Source: NVIDIA, CUDA C++
#: Programming Guide, throughput of native arithmetic instructions.
_LANES = ((64, 2), (64, 32), (128, 2), (128, 64))


def turns(rng: np.random.Generator, level: Level) -> Iterator[tuple[Rows, int, int]]:
    """(names of one turn, float32 lanes, float64 lanes)."""
    product = ("FFMA",) * 16 + ("LDS",) * 16 + ("LDS.128",) * 4
    yield product, 128, 2
    yield product, 64, 32
    yield ("FFMA",), 64, 32
    yield ("LDG.E", "F2F.F64.F32", "DFMA", "F2F.F32.F64", "STG.E", "FFMA"), 128, 2
    yield ("FADD", "FMUL", "FMUL", "IADD3"), 128, 64
    yield ("FMNMX", "MUFU.RCP", "FFMA", "FFMA", "BRA"), 64, 32
    for _ in range(5 if level == "student" else 15):
        fp32, fp64 = _LANES[int(rng.integers(len(_LANES)))]
        counts = rng.integers(0, 12, size=4)
        made = [name for name, n in zip(("FFMA", "FADD", "FMUL"), counts, strict=False)
                for _ in range(int(n))]  # fmt: skip
        made += ["FFMA"] + ["DFMA"] * int(rng.integers(0, 3) * (counts[3] > 5))
        made += [str(rng.choice(_NAMES)) for _ in range(int(rng.integers(0, 30)))]
        rng.shuffle(made)
        yield tuple(made), fp32, fp64


def loop_bound(names: Sequence[str], fp32: int, fp64: int) -> tuple[float, float]:
    """Least clocks of a scheduler for one warp's turn, and the share of the peak at that rate."""
    return _bound(names, fp32, fp64)


def _bound(
    names: Sequence[str], fp32: int, fp64: int, schedulers: int = 4, issue: bool = True,
    add: bool = False, alike: bool = False, double: bool = True,
) -> tuple[float, float]:  # fmt: skip
    first = [name.split(".")[0] for name in names]
    fused, plain = first.count("FFMA"), first.count("FADD") + first.count("FMUL")
    doubles = sum(name in ("DADD", "DMUL", "DFMA") for name in first)
    times = [
        len(names) if issue else 0,
        (fused + plain) * 32 * schedulers / fp32,
        doubles * 32 * schedulers / fp64 if double else 0,
    ]
    clocks = float(sum(times) if add else max(times))
    operations = 2 * fused + (2 if alike else 1) * plain
    return clocks, operations * 32 / (2 * clocks * fp32 / schedulers)


LOOP_BOUND = FunctionSpec(
    "loop_bound", UNIT, 2, turns, loop_bound,
    suspects={
        "issue_forgotten": lambda names, fp32, fp64: _bound(names, fp32, fp64, issue=False),
        "times_added": lambda names, fp32, fp64: _bound(names, fp32, fp64, add=True),
        "adds_like_fma": lambda names, fp32, fp64: _bound(names, fp32, fp64, alike=True),
        "float64_forgotten": lambda names, fp32, fp64: _bound(names, fp32, fp64, double=False),
        "one_scheduler": lambda names, fp32, fp64: _bound(names, fp32, fp64, schedulers=1),
    },
    causes={
        "issue_forgotten": "A scheduler starts one instruction a clock; all rows count for that.",
        "times_added": "The units work at the same time: the longest decides, not the sum.",
        "adds_like_fma": "The peak counts an FFMA as two operations; FADD and FMUL are one each.",
        "float64_forgotten": "DADD, DMUL and DFMA keep a unit of their own busy.",
        "one_scheduler": "The lanes of a multiprocessor are shared by four schedulers.",
    },
    hints={
        "wrong_values": (
            "Three things may bind.  Compute the clocks of each for the first example.",
            "Rows; float32 rows * 32 / (fp32 / 4); float64 rows * 32 / (fp64 / 4).  The largest.",
        ),
        "issue_forgotten": (
            "How many rows does a scheduler start in a clock?",
            "One: the number of rows is a bound by itself.",
        ),
        "times_added": ("Do the units wait for each other?", "No: max, not a sum."),
        "adds_like_fma": (
            "How many operations are an FFMA and an FADD?",
            "2 and 1.  The peak of a scheduler is 2 * fp32 / 4 operations a clock.",
        ),
        "float64_forgotten": (
            "Which unit does a DFMA need?",
            "The float64 one: 32 lanes at fp64 / 4 a clock.",
        ),
        "one_scheduler": (
            "Who uses the lanes of a multiprocessor?",
            "Four schedulers, a quarter each: fp32 / 4.",
        ),
    },
)  # fmt: skip


# -- signless ----------------------------------------------------------------------------------


def mirror_case(rng: np.random.Generator, n: int, block: int = 32) -> Case:
    """(out, x, n), with threads to spare."""
    args = {"out": np.zeros(n, np.float32), "x": values(rng, (n,)), "n": n}
    return Case(args, max(ceil_div(n, block), 1), block)


def mirror_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    for n in (1, 2, 31, 33, 64, 100):
        yield mirror_case(rng, n)
    if level == "grader":
        for n in rng.integers(1, 300, size=4):
            yield mirror_case(rng, int(n), 64)


def mirrored(case: Case) -> dict[str, Array]:
    """x minus x read backwards."""
    x = case.args["x"].astype(np.float64)
    return {"out": x - x[::-1]}


SIGNLESS = KernelSpec(
    "signless", UNIT, 1, ("out",), mirror_cases, mirrored,
    writes_once=True,
    suspects={
        "other_way_round": lambda case: {"out": -mirrored(case)["out"]},
        "one_to_the_left": lambda case: {
            "out": case.args["x"].astype(np.float64) - np.roll(case.args["x"][::-1], -1)
        },
    },
    causes={
        "other_way_round": "The difference has the wrong sign.",
        "one_to_the_left": "The last element is x[n - 1]; you begin one before it.",
        "sign_tested": "An index of type int64 may be negative for all the compiler knows.",
        "float64_in_code": FLOAT64_CAUSE,
    },
    hints={
        "float64_in_code": (
            "What types have the two sides of your comparison?",
            "A uint64 against an int64 is compared as float64.  Make n unsigned as well, or take "
            "np.uint32 for i.",
        ),
        "other_way_round": ("Which element is subtracted?", "x[i] - x[n - 1 - i]."),
        "one_to_the_left": ("What is the index of the last element?", "n - 1."),
        "sign_tested": (
            "Which of your two indices may be negative, by what the compiler knows of it?",
            "i, unless it is unsigned or 0 <= i was asked; and n - 1 - i, which is an int64 as "
            "soon as n is: convert n first.",
        ),
    },
    compiled=on_both((in_float64, "float64_in_code"), (sign_tests, "sign_tested")),
    counted=lambda: mirror_case(np.random.default_rng(5), 100),
)  # fmt: skip


# -- kept_counts -------------------------------------------------------------------------------


def level_case(rng: np.random.Generator, threads: int, per: int, n: int, block: int = 32) -> Case:
    """(counts, x, per, n): thread i counts the levels of x[i * per : (i + 1) * per]."""
    args = {
        "counts": np.zeros((threads, LEVELS), np.int32),
        "x": rng.integers(0, LEVELS, n).astype(np.uint8), "per": per, "n": n,
    }  # fmt: skip
    return Case(args, ceil_div(threads, block), block)


def level_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    for threads, per, n in ((1, 5, 5), (3, 4, 11), (31, 7, 210), (33, 3, 99), (40, 6, 200)):
        yield level_case(rng, threads, per, n)
    if level == "grader":
        for threads, per in rng.integers(1, 60, size=(3, 2)):
            yield level_case(rng, int(threads), int(per), int(threads * per - per // 2), 64)


def counted_levels(case: Case, last: bool = True, first: int = 0) -> dict[str, Array]:
    """How often each level occurs in each thread's part."""
    counts, x, per, n = (case.args[name] for name in ("counts", "x", "per", "n"))
    right = np.zeros(counts.shape, np.int64)
    for i in range(counts.shape[0]):
        part = x[i * per + first : min(i * per + per, n)]
        right[i] = np.bincount(part if last else part[:-1], minlength=LEVELS)
    return {"counts": right}


KEPT_COUNTS = KernelSpec(
    "kept_counts", UNIT, 2, ("counts",), level_cases, counted_levels,
    writes_once=True,
    suspects={
        "last_missing": lambda case: counted_levels(case, last=False),
        "first_missing": lambda case: counted_levels(case, first=1),
        "ones_only": lambda case: {"counts": np.minimum(counted_levels(case)["counts"], 1)},
    },
    causes={
        "last_missing": "The last element of each part is not counted.",
        "first_missing": "The first element of each part is not counted.",
        "ones_only": "A level that occurs more than once is counted once.",
        "array_in_memory": (
            "An index of the local array is known only at run time, and registers have no numbers "
            "then."
        ),
        "loaded_again": "x is loaded more than once for each element.",
    },
    hints={
        "last_missing": (
            "Where does thread i's part end?",
            "Before min((i + 1) * per, n).",
        ),
        "first_missing": ("Where does thread i's part begin?", "At i * per."),
        "ones_only": ("What does a second occurrence add?", "One more: +=, not =."),
        "array_in_memory": (
            "Which index of the local array is no constant after the loops have been unrolled?",
            "x[s].  Go through all levels in a loop with a known bound, and add 1 to the one that "
            "equals x[s].",
        ),
        "loaded_again": (
            "How often is each element of x loaded?",
            "Keep it in a variable: v = x[s], before the loop over the levels.",
        ),
    },
    requirements=(Requirement("loads", "loaded_again"),),
    compiled=on_both((in_memory, "array_in_memory")),
    counted=lambda: level_case(np.random.default_rng(5), 64, 8, 500),
)  # fmt: skip


# -- wide_reads --------------------------------------------------------------------------------


def product_case(rng: np.random.Generator, m: int, n: int, k: int) -> Case:
    """(c, a, b, m, n, k) with a block for each 16 x 64 results."""
    args = {
        "c": np.zeros((m, n), np.float32), "a": values(rng, (m, k)), "b": values(rng, (k, n)),
        "m": m, "n": n, "k": k,
    }  # fmt: skip
    return Case(args, (ceil_div(n, COLUMNS), ceil_div(m, TILE)), (TILE, TILE))


def product_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    sizes = [(3, 5, 7), (16, 64, 16), (17, 65, 33), (1, 130, 20), (33, 2, 48)]
    if level == "grader":
        sizes += [(int(m), int(n), int(k)) for m, n, k in rng.integers(1, 90, size=(3, 3))]
    for one in sizes:
        yield product_case(rng, *one)


def matrix_product(case: Case, columns: Callable[[int], int] | None = None) -> dict[str, Array]:
    """c = a @ b, or with its columns from elsewhere."""
    right = case.args["a"].astype(np.float64) @ case.args["b"].astype(np.float64)
    if columns is None:
        return {"c": right}
    places = np.array([columns(col) for col in range(right.shape[1])])
    wide = np.pad(right, ((0, 0), (0, COLUMNS)))  # a column that is not there sums up zeros
    return {"c": wide[:, places]}


def whole_steps(case: Case) -> dict[str, Array]:
    """A suspect: the last step along k is left out where it is not full."""
    k = case.args["k"] // TILE * TILE
    a, b = (case.args[name].astype(np.float64) for name in ("a", "b"))
    return {"c": a[:, :k] @ b[:k]}


def strided_as_neighbours(col: int) -> int:
    """The column whose sum lands in `col` when four neighbours are stored 16 apart."""
    block, place = divmod(col, COLUMNS)
    part, lane = divmod(place, TILE)
    return block * COLUMNS + 4 * lane + part


WIDE_READS = KernelSpec(
    "wide_reads", UNIT, 3, ("c",), product_cases, matrix_product,
    writes_once=True,
    tolerance={"float32": Tolerance(1e-4, 1e-4)},
    suspects={
        "stored_apart": lambda case: matrix_product(case, strided_as_neighbours),
        "whole_steps_only": whole_steps,
    },
    causes={
        "stored_apart": (
            "The sums of four neighbouring columns are stored to columns that are 16 apart."
        ),
        "whole_steps_only": "The terms of the last step, which is not full, are missing.",
        "narrow_reads": "The compiler did not join neighbouring reads to 128 bits.",
        "sectors_wasted": "The loads of global memory touch more sectors than those of the tiles.",
        "float64_in_code": FLOAT64_CAUSE,
    },
    hints={
        **COMMON_HINTS,
        "stored_apart": (
            "Which four columns has thread tx now?",
            "4 * tx to 4 * tx + 3 of its block's 64.  Store to those.",
        ),
        "whole_steps_only": (
            "What happens to the last terms when k is no multiple of 16?",
            "range(0, k, TILE), with zeros in the tiles where the matrices have ended.",
        ),
        "narrow_reads": (
            "Which reads of a thread are neighbours in a row of tile_b, and can the compiler see "
            "that their address is a multiple of 16 bytes?",
            "Read the columns 4 * tx to 4 * tx + 3, with an index that has no sign: "
            "first = np.uint32(4 * tx), then first + np.uint32(1) and so on.  Or make tile_b an "
            "array of (16, 16, 4).",
        ),
        "sectors_wasted": (
            "Which thread loads which number into the tiles?",
            "Leave the loads as they are given: neighbouring lanes load neighbouring columns.",
        ),
    },
    requirements=(Requirement("load_sectors", "sectors_wasted"),),
    compiled=on_both((in_float64, "float64_in_code"), (narrow_reads, "narrow_reads")),
    counted=lambda: product_case(np.random.default_rng(5), 32, 128, 48),
)  # fmt: skip


SPECS = [SINGLE_ONLY, TALLY, LOOP_BOUND, SIGNLESS, KEPT_COUNTS, WIDE_READS]
