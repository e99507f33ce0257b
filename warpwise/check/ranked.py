"""Judging functions that run on ranks: that they end, what each rank returns, what they send.

A function is called on every rank of a `World` with that rank's arguments, and with a `Net` as the
last one where the world has a network.  Its ledger is the recorder's; its time is the network's,
virtual.  Counts and times are said by the process that ran the function; values it has to compute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..fabric.world import TIMEOUT, World, on_ranks
from . import plain
from .cases import Level
from .spec import FLOAT, FunctionSpec, Hints
from .tolerance import Tolerance
from .values import equal, mismatch, show

Found = tuple[str, str] | None  # diagnosis, what is wrong

# What ends a collective by hand: messages, and what only waits.
MESSAGES = frozenset({"send", "recv", "barrier"})
TOLD: Mapping[str, Any] = {
    "ranks": int, "status": list, "sentence": str, "failed": str, "last": bool,
    "values": list, "seconds": float, "sent": int, "wire": (int, float), "rounds": int,
    "operations": list, "flops": int, "largest": int, "held": int,
}  # fmt: skip
_NUMBERS = ("seconds", "sent", "wire", "rounds", "flops", "largest", "held")


@dataclass(frozen=True)
class Limits:
    """What a function may cost; None is not judged.

    by_hand   only messages between two ranks, no collective
    without   operations that are not to be called
    most_bytes, most_rounds   world -> what the busiest rank may send, and rounds of messages
    least_bytes               world -> what it cannot do without, by theory: fewer were not counted
    most_wire                 world -> bytes over its links, a collective's as the ledger models
    most_seconds              world -> virtual seconds until the last rank is done
    most_flops, least_flops   world -> operations of the busiest rank's matrix products: where the
                              world is counted
    largest_tensor            world -> bytes of the largest tensor a rank may make, there as well
    most_held                 world -> bytes of the tensors it makes that are alive at once, of the
                              rank that holds most; the world has to count `memory`
    """

    by_hand: bool = False
    without: frozenset[str] = frozenset()
    most_bytes: Callable[[World], float] | None = None
    least_bytes: Callable[[World], float] | None = None
    most_rounds: Callable[[World], int] | None = None
    most_wire: Callable[[World], float] | None = None
    most_seconds: Callable[[World], float] | None = None
    most_flops: Callable[[World], float] | None = None
    least_flops: Callable[[World], float] | None = None
    largest_tensor: Callable[[World], float] | None = None
    most_held: Callable[[World], float] | None = None


def ranks_spec(
    name: str,
    unit: str,
    points: float,
    worlds: Callable[[np.random.Generator, Level], Iterable[World]],
    reference: Callable[[World], Sequence[Any]],
    takes: tuple[str, ...],
    limits: Limits | None = None,
    tolerance: Tolerance = FLOAT,
    suspects: Mapping[str, Callable[[World], Sequence[Any]]] | None = None,
    causes: Mapping[str, str] | None = None,
    hints: Hints | None = None,
) -> FunctionSpec:
    """An exercise whose answer is a function that runs on ranks.

    worlds: (rng, level) -> cases, smallest first.
    reference: world -> what each rank must return, by rank.
    takes: the names of the function's parameters.
    suspects: {diagnosis: world -> what a known mistake returns, by rank}.
    """
    most = limits or Limits()

    def inputs(rng: np.random.Generator, level: Level) -> list[tuple[World]]:
        return [(world,) for world in worlds(rng, level)]

    def examine(args: Sequence[Any], got: Any) -> Found:
        world: World = args[0]
        found = (
            _untold(world, got)
            or _ended(got)
            or _values(world, got, reference(world), tolerance, suspects or {})
        )
        return found or _uncounted(world, got, most) or _cost(world, got, most)

    own: dict[str, tuple[str, str]] = {**HINTS, **(hints or {})}
    return FunctionSpec(
        name, unit, points, inputs, reference, tolerance, own, {}, {**CAUSES, **(causes or {})},
        examine, on_ranks, takes, lambda args: _said(args[0]),
    )  # fmt: skip


def _untold(world: World, got: Any) -> Found:
    """Whether this is what `on_ranks` tells; a process that lies may tell anything."""
    slug, ran = "not_told", "what came back is not what a run on ranks tells"
    if not isinstance(got, dict) or not isinstance(got.get("status"), list):
        return slug, ran
    ok = all(status == "ok" for status in got["status"])
    wanted = TOLD if ok else dict(list(TOLD.items())[:5])
    fits = got.keys() == wanted.keys() and all(
        isinstance(got[key], kind) and not (kind is not bool and isinstance(got[key], bool))
        for key, kind in wanted.items()
    )
    if not fits or got["ranks"] != world.ranks or len(got["status"]) != world.ranks:
        return slug, ran
    if not all(isinstance(one, str) for one in (*got["status"], *got.get("operations", ()))):
        return slug, ran
    if ok and (got["last"] or got["failed"] or len(got["values"]) != world.ranks):
        return slug, ran
    numbers = [got[key] for key in _NUMBERS if ok]
    return None if all(0 <= number < float("inf") for number in numbers) else (slug, ran)


def _uncounted(world: World, got: Mapping[str, Any], limits: Limits) -> Found:
    """Values are right: whether less was counted than such values take."""
    if limits.by_hand and world.ranks > 1 and not got["operations"]:
        return "not_sent", "no message was counted"
    collectives = limits.by_hand and not MESSAGES.issuperset(got["operations"])  # told later
    fewest = limits.least_bytes
    if fewest is not None and got["sent"] < fewest(world) and not collectives:
        return "not_sent", (
            f"the busiest rank sends {got['sent']:,} bytes as counted; no right answer does with "
            f"fewer than {fewest(world):,.10g}"
        )
    if limits.least_flops is not None and got["flops"] < limits.least_flops(world):
        return "not_counted", (
            f"its matrix products take {got['flops']:,} operations as counted, on the busiest "
            f"rank; no right answer does with fewer than {limits.least_flops(world):,.10g}"
        )
    if limits.most_seconds is not None and world.network is not None and got["sent"]:
        links = [world.network.link(a, b) for a in range(world.ranks) for b in range(world.ranks)]
        least = min(link.time(got["sent"]) for link in links)
        if got["seconds"] < least * (1 - 1e-9):
            return "not_timed", (
                f"the busiest rank sends {got['sent']:,} bytes, which take {least * 1e6:.6g} us on "
                f"this network (modelled); its clock is at {got['seconds'] * 1e6:.6g} us"
            )
    return None


def _ended(got: Mapping[str, Any]) -> Found:
    """Every rank came to its end."""
    if got["failed"]:
        return "rank_failed", str(got["failed"])
    if "stuck" in got["status"]:
        stuck = [rank for rank, status in enumerate(got["status"]) if status == "stuck"]
        who = "all ranks" if len(stuck) == got["ranks"] else f"ranks {', '.join(map(str, stuck))}"
        return "hang", got["sentence"] or f"{who} had not ended after {TIMEOUT:g} s"
    return None


def _values(
    world: World, got: Mapping[str, Any], wanted: Sequence[Any], tolerance: Tolerance,
    suspects: Mapping[str, Callable[[World], Sequence[Any]]],
) -> Found:  # fmt: skip
    """Every rank returned what it should."""
    expected = plain.decode(plain.encode(list(wanted)))
    values = got["values"]
    for rank, (value, want) in enumerate(zip(values, expected, strict=True)):
        if value is None and want is not None:
            return "no_return", f"rank {rank} returned None"
        problem = mismatch(value, want)
        if problem is None and equal(value, want, tolerance):
            continue
        for slug, mistake in suspects.items():
            known = plain.decode(plain.encode(list(mistake(world))))
            if all(_same(a, b, tolerance) for a, b in zip(values, known, strict=True)):
                said = f"rank {rank} returned {show(value)}, expected {show(want)}"
                return slug, f"rank {rank}: {problem}" if problem else said
        if problem:
            return "wrong_type", f"rank {rank}: {problem}"
        return "wrong_values", f"rank {rank} returned {show(value)}, expected {show(want)}"
    return None


def _same(got: Any, want: Any, tolerance: Tolerance) -> bool:
    return mismatch(got, want) is None and equal(got, want, tolerance)


def _cost(world: World, got: Mapping[str, Any], limits: Limits) -> Found:
    """Values are right: what they cost."""
    others = [name for name in got["operations"] if name not in MESSAGES]
    if limits.by_hand and others:
        return "collective_used", f"it calls {', '.join(others)}; messages alone are asked for"
    unwanted = [name for name in got["operations"] if name in limits.without]
    if unwanted:
        return "operation_used", f"it calls {', '.join(unwanted)}, which the exercise leaves out"
    if limits.most_bytes is not None and got["sent"] > limits.most_bytes(world):
        return "too_many_bytes", (
            f"the busiest rank sends {got['sent']:,} bytes; "
            f"{limits.most_bytes(world):,.10g} are enough"
        )
    if limits.most_rounds is not None and got["rounds"] > limits.most_rounds(world):
        return "too_many_rounds", (
            f"its messages follow each other in {got['rounds']} rounds; "
            f"{limits.most_rounds(world)} are enough"
        )
    if limits.most_wire is not None and got["wire"] > limits.most_wire(world) * (1 + 1e-9):
        return "too_many_bytes", (
            f"the busiest rank sends {got['wire']:,.10g} bytes over its links (collectives "
            f"modelled, as the ledger does); {limits.most_wire(world):,.10g} are enough"
        )
    if limits.most_held is not None and got["held"] > limits.most_held(world):
        return "too_much_held", (
            f"tensors of {got['held']:,} bytes are alive at once on the rank that holds most, "
            f"beside what it was given; {limits.most_held(world):,.10g} are enough"
        )
    if limits.largest_tensor is not None and got["largest"] > limits.largest_tensor(world):
        return "too_large", (
            f"the largest tensor it makes has {got['largest']:,} bytes; "
            f"{limits.largest_tensor(world):,.10g} are enough"
        )
    if limits.most_flops is not None and got["flops"] > limits.most_flops(world):
        return "too_many_flops", (
            f"the matrix products of the busiest rank take {got['flops']:,} operations; "
            f"{limits.most_flops(world):,.10g} are enough"
        )
    if limits.most_seconds is not None:
        least = limits.most_seconds(world)
        if got["seconds"] > least * (1 + 1e-9):
            return "too_slow", (
                f"the last rank is done after {got['seconds'] * 1e6:.6g} us on this network "
                f"(modelled); {least * 1e6:.6g} us are enough"
            )
    return None


def _said(world: World) -> str:
    first = ", ".join(_size(value) for value in world.args[0])
    return f"{world.ranks} ranks" + (f", rank 0 with {first}" if first else "")


def _size(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape}"
    if isinstance(value, list) and value and all(isinstance(one, np.ndarray) for one in value):
        sizes = {_size(one) for one in value}
        return f"{len(value)} x {sizes.pop()}" if len(sizes) == 1 else f"{len(value)} arrays"
    return show(value)


CAUSES: Mapping[str, str] = {
    "hang": "A rank waits for something that never comes.",
    "rank_failed": "One rank raised an exception; the others then waited in vain.",
    "not_told": "The run on ranks did not come to the end that the grader waits for.",
    "not_sent": "What travels between ranks has to go through torch.distributed, where it is "
    "counted.",
    "not_timed": "Messages that do not go through net take no time here.",
    "collective_used": "The exercise builds the collective out of send and recv.",
    "operation_used": "The exercise is to do without this operation.",
    "too_many_bytes": "Whole arrays travel where a part would do, or some travel twice.",
    "too_many_rounds": "Ranks wait for each other where they could work at the same time.",
    "too_much_held": "Something is kept that could be given back, or comes again when needed.",
    "not_counted": "Products that are not matrix products, such as a multiplication and a sum, "
    "are not counted.",
    "too_large": "Something is put together whole that could be worked through in blocks.",
    "too_many_flops": "Some products are computed whose results are not needed.",
    "too_slow": "Either too many messages follow each other, or they are too large.",
}
HINTS: Mapping[str, tuple[str, str]] = {
    "hang": (
        "Write down, for two neighbours, which call each of them is in.",
        "send returns once the other side receives.  Where all ranks send first, nobody receives: "
        "use isend, or let every other rank receive first.",
    ),
    "rank_failed": (
        "Look at the line the message names, with that rank's number.",
        "The first and the last rank are often special: follow the indices for both by hand.",
    ),
    "wrong_values": (
        "Take two ranks and arrays of two numbers, and follow each message on paper.",
        "Print the rank, the step and the index of what is sent, and compare with the picture of "
        "the lesson.",
    ),
    "no_return": (
        "What does the function give back on every rank?",
        "End it with a return, on every path, whatever the rank.",
    ),
    "not_told": (
        "Does the function leave the machinery of ranks alone?",
        "Use torch.distributed and the arguments, and return a value on every rank.",
    ),
    "not_sent": (
        "Which line of the function sends?",
        "Let ranks exchange data by messages alone: no files, no shared memory.",
    ),
    "not_timed": (
        "Which call moves the clock net.now on?",
        "Send with net.send and net.sendrecv, receive with net.recv.",
    ),
    "collective_used": (
        "Which calls of torch.distributed take part of two ranks only?",
        "Use isend and irecv, send and recv, or batch_isend_irecv.",
    ),
    "operation_used": (
        "Which other operations move the same numbers?",
        "Read what the exercise names under Required, and use those.",
    ),
    "too_many_bytes": (
        "How large is what one message carries?",
        "Cut the array into as many pieces as there are ranks, and send one piece at a time.",
    ),
    "too_many_rounds": (
        "Which messages could be under way at the same time?",
        "In each step let every rank send to one neighbour and receive from the other.",
    ),
    "too_much_held": (
        "Which of your tensors are as large as a whole array, and how long does each have a name?",
        "Cut each array to your piece as soon as it is there, and let no list, name or graph keep "
        "the whole one.",
    ),
    "not_counted": (
        "Which line multiplies?",
        "Use @, torch.matmul or torch.einsum for products of matrices.",
    ),
    "too_large": (
        "Which line makes an array that grows with the number of ranks?",
        "Work on one block at a time, and keep only the result so far.",
    ),
    "too_many_flops": (
        "Which results are thrown away afterwards?",
        "Leave those rows and columns out before the product.",
    ),
    "too_slow": (
        "Count the messages that follow each other, and the bytes of the largest.",
        "Compare alpha times the rounds with beta times the bytes: which of the two is too large?",
    ),
}
