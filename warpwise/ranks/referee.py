"""The referee: from what each rank did and where it stands to one sentence that says what is wrong.

A pure function over plain data: the snapshots may come from a run, or from a log kept in a file.
The rules are asked in turn, the surest first; see RULES.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import words
from .diagnosis import Diagnosis, Row
from .evidence import Evidence, View, Wait
from .mismatches import Mismatch, agreement, messages
from .operations import Operation
from .swaps import Swap, swaps

Rule = Callable[[Evidence], Diagnosis | None]


def diagnose(
    snapshots: Mapping[int, Mapping[str, Any] | None],
    outcomes: Mapping[int, Mapping[str, Any]] | None = None,
) -> Diagnosis:
    """What is wrong with a run, from snapshots by rank and, where known, outcomes by rank.

    A snapshot is what Recorder.snapshot() gives, or a dict with "rank", "state", "current" and
    "operations"; None for a rank of which nothing is known.  An outcome has "status" ("ok",
    "error", "died", "stuck", "killed") and may have "message", "site" and "collateral".
    """
    evidence = Evidence.of(snapshots, outcomes)
    rows = tuple(row(v, evidence.waits.get(v.rank)) for v in evidence.views.values())
    rules = AT_END if evidence.ended else RULES
    said = [found for rule in rules if (found := rule(evidence)) is not None]
    if not said:
        return Diagnosis("", "", rows=rows)
    first, rest = said[0], said[1:]
    notes = tuple(d.sentence for d in rest if d.warning)
    return Diagnosis(
        first.kind, first.sentence, first.ranks, first.cycle, first.warning, notes, rows
    )


def row(v: View, wait: Wait | None) -> Row:
    """One rank as the pictures show it."""
    now = v.current if v.state == "inside" else None
    if now is None:
        place = words.place(v.error_site if v.error_site else v.here)
        doing = {
            "outside": "runs", "inside": "runs", "finished": "returned", "failed": v.error,
            "dead": v.error or "died", "silent": "gives no answer",
        }[v.state]  # fmt: skip
        return Row(v.rank, v.state, doing, "" if v.state == "finished" else place, "")
    facts = [f"#{now.number}" if now.number >= 0 else f"tag {now.tag}"]
    facts += [f"{list(now.shape)} {now.dtype}".strip()] if now.dtype else []
    facts += [f"group {list(now.group)}"]
    return Row(
        v.rank, v.state, words.called(now), words.place(now.site), ", ".join(facts),
        wait.others if wait else (), wait.any if wait else False,
    )  # fmt: skip


# ---- collectives that do not agree

_MENDS = {
    "root": "give the same src or dst on every rank",
    "reduction": "give the same op on every rank",
    "dtype": "use one dtype on all ranks",
    "shape": "give tensors of one size on all ranks (pad, or send the sizes first)",
    "splits": "what rank i sends to rank j must be what rank j expects from rank i: exchange the "
    "split sizes first",
    "groups made": "every rank must call new_group for every group, in one order, with the same "
    "ranks, also for groups that it is not in",
}  # fmt: skip


def collectives_disagree(evidence: Evidence) -> Diagnosis | None:
    # Ranks that reduced with different ops do not hang of it: see different_reductions.
    found = [m for m in agreement(evidence) if evidence.ended or m.kind != "reduction"]
    return _disagreement(evidence, found[0]) if found else None


def different_reductions(evidence: Evidence) -> Diagnosis | None:
    found = [m for m in agreement(evidence) if m.kind == "reduction"]
    return _disagreement(evidence, found[0]) if found else None


def _disagreement(evidence: Evidence, mismatch: Mismatch) -> Diagnosis:
    iterations = uneven(evidence, mismatch) if mismatch.kind == "order" else None
    if iterations:
        return iterations
    sides: dict[str, list[tuple[int, Operation]]] = {}
    for rank, operation, text in mismatch.sides:
        sides.setdefault(text, []).append((rank, operation))
    (_, first), *_ = next(iter(sides.values()))
    members = words.group(first, len(evidence.views))
    nth = f"the {words.ordinal(mismatch.number + 1)} collective of {members}"
    involved = tuple(rank for rank, _, _ in mismatch.sides)
    if mismatch.kind == "order":
        parts = [
            f"{words.ranks(r for r, _ in side)} {words.verb(side, 'calls', 'call')} "
            f"{words.at(side[0][1])}"
            for side in sides.values()
        ]
        sentence = (
            f"{words.capital(' but '.join(parts))} as {nth}: all ranks of a group must call its "
            f"collectives in the same order, so put these calls in one order on every rank, or let "
            f"every rank make both"
        )
    else:
        parts = [
            f"{text} on {words.ranks(r for r, _ in side)} ({words.place(side[0][1].site)})"
            for text, side in sides.items()
        ]
        if mismatch.kind == "splits":
            parts = [f"rank {r} {text} ({words.place(o.site)})" for r, o, text in mismatch.sides]
        what = "new_group" if mismatch.kind == "groups made" else words.called(first)
        sentence = (
            f"{words.capital(what)}, {nth}, differs: {' but '.join(parts)}: {_MENDS[mismatch.kind]}"
        )
        if mismatch.done and evidence.ended:
            sentence += "; the run ended, but its values are wrong or uncertain"
    warning = evidence.ended or mismatch.kind == "reduction"
    return Diagnosis(mismatch.kind, sentence + ".", involved, warning=warning)


def uneven(evidence: Evidence, mismatch: Mismatch) -> Diagnosis | None:
    """A loop that some ranks leave earlier, seen where the first leaver's next call meets it."""
    for rank, operation, _ in mismatch.sides:
        for other, next_call, _ in mismatch.sides:
            if next_call.name != operation.name:
                found = _uneven(evidence, rank, operation, other, next_call)
                if found:
                    return found
    return None


def _calls(v: View, operation: Operation) -> int:
    """How often a rank has come to the line of an operation, to issue it in the same group."""
    return sum(
        o.site[:2] == operation.site[:2] and o.group_id == operation.group_id for o in v.operations
    )


def _uneven(
    evidence: Evidence, rank: int, operation: Operation, other: int, next_call: Operation | None
) -> Diagnosis | None:
    """Where `rank` is one pass further in a loop than `other`, which went on to `next_call`."""
    mine, theirs = (_calls(evidence.views[r], operation) for r in (rank, other))
    if not 0 < theirs < mine or mine < 2:
        return None
    if next_call is not None:
        if 0 < _calls(evidence.views[rank], next_call) < _calls(evidence.views[other], next_call):
            return None  # both lines of one loop, in another order
    left = [
        r for r in evidence.members(operation) if 0 < _calls(evidence.views[r], operation) == theirs
    ]
    went = "returned" if next_call is None else f"went on to {words.at(next_call)}"
    now = evidence.views[rank].current
    further = f"is in call {mine} and waits"
    if now is not None and now.index != operation.index:
        further = f"made {mine}, and now waits in {words.at(now)}"
    sentence = (
        f"{words.capital(words.ranks(left))} made {theirs} {'call' if theirs == 1 else 'calls'} "
        f"to {words.at(operation)} and {went}, but rank {rank} {further}: the "
        f"number of iterations differs, so give every rank the same number (drop_last, a "
        f"DistributedSampler, the same keys), or use the Join context"
    )
    return Diagnosis("iterations", sentence + ".", tuple(sorted({*left, rank})))


def _left_early(evidence: Evidence, rank: int, o: Operation, other: int) -> Diagnosis | None:
    """As _uneven, where a rank that has returned left the loop, perhaps calls ago."""
    mine, theirs = (evidence.views[r].collectives(o.group_id) for r in (rank, other))
    for number in sorted(mine):
        went = theirs.get(number)
        if went is None or went.site[:2] != mine[number].site[:2]:
            return _uneven(evidence, rank, mine[number], other, went)
    return None


# ---- messages


def messages_disagree(evidence: Evidence) -> Diagnosis | None:
    found = messages(evidence)
    if not found or (found[0].done and not evidence.ended):
        return None
    mismatch = found[0]
    (a, send, has), (b, recv, room) = mismatch.sides
    size = sum(send.sent), sum(recv.received)
    mend = "use one dtype on both sides" if mismatch.kind == "dtype" else "give both one size"
    if mismatch.kind == "shape" and size[0] < size[1]:
        mend += ": the rest of the receiver's tensor keeps its old values"
    sentence = (
        f"Rank {a} sends {has} to rank {b} ({words.place(send.site)}), which receives it into "
        f"{room} ({words.place(recv.site)}): {mend}"
    )
    return Diagnosis(mismatch.kind, sentence + ".", (a, b), warning=evidence.ended)


def tags_differ(evidence: Evidence) -> Diagnosis | None:
    """A send and a receive between the same two ranks that miss each other by tag or group."""
    waiting = {(w.rank, w.operation.index) for w in evidence.waits.values()}
    for rank, mine in evidence.unmatched:
        if mine.peer is None or (rank, mine.index) not in waiting:
            continue
        for other, theirs in evidence.unmatched:
            if other != mine.peer or theirs.name == mine.name or theirs.peer not in (rank, None):
                continue
            by_tag = theirs.tag != mine.tag
            what = ("tag", mine.tag, theirs.tag) if by_tag else ("group", mine.group, theirs.group)
            sentence = (
                f"Rank {rank} waits in {words.at(mine)} with {what[0]} {what[1]}, and rank {other} "
                f"has called {words.at(theirs)} with {what[0]} {what[2]}: a message is received "
                f"only where both agree, so give both the same {what[0]}, or the same order"
            )
            return Diagnosis("tag", sentence + ".", (rank, other))
    return None


def wrong_peer(evidence: Evidence) -> Diagnosis | None:
    """A send to one rank while it is another that waits for it, or the reverse."""
    stuck = set(evidence.culprits())
    for wait in evidence.waits.values():
        mine = wait.operation
        if mine.peer is None or not wait.others or mine.peer not in stuck:
            continue
        for other, theirs in evidence.unmatched:
            if other == mine.peer or theirs.name == mine.name or theirs.peer != wait.rank:
                continue
            sentence = (
                f"Rank {wait.rank} waits in {words.at(mine)}, but it is rank {other} that waits "
                f"for rank {wait.rank} in {words.at(theirs)}, and rank {mine.peer} never comes: "
                f"name rank {other} as the {'dst' if mine.name == 'send' else 'src'} on rank "
                f"{wait.rank}"
            )
            return Diagnosis("peer", sentence + ".", (wait.rank, other))
    return None


# ---- who waits for whom


def circle(evidence: Evidence) -> Diagnosis | None:
    ring = evidence.cycle()
    if not ring:
        return None
    waits = [evidence.waits[rank].operation for rank in ring]
    arrows = " -> ".join(map(str, [*ring, ring[0]]))
    names = {o.name for o in waits}
    steps = _steps(evidence, ring)
    kind = "cycle"
    if names == {"send"}:
        mend = (
            "a send returns only when the other side receives, so let one of each pair receive "
            "first, or start all with isend and irecv (batch_isend_irecv) and then wait"
        )
    elif names == {"recv"}:
        mend = (
            "everyone receives first and nobody sends, so let one of them send before it receives"
        )
    elif all(o.is_message for o in waits):
        mend = "order the calls so that each send meets its receive, or use batch_isend_irecv"
    elif not any(o.is_message for o in waits) and len({o.group_id for o in waits}) > 1:
        kind = "groups"
        mend = (
            "the ranks use these groups in opposite order, so let every rank use them in one order"
        )
    else:
        mend = "let all of them come to the collective first, or finish the messages before it"
    sentence = f"{words.capital(steps)}: they wait in a circle, {arrows}; {mend}"
    return Diagnosis(kind, sentence + ".", tuple(ring), tuple(ring))


def _steps(evidence: Evidence, ring: list[int]) -> str:
    """Each rank of a circle with its call; calls of one line are said once."""
    parts = []
    for rank in ring[:6]:
        wait = evidence.waits[rank]
        other = ring[(ring.index(rank) + 1) % len(ring)]
        o = wait.operation
        group = "" if o.is_message else f" of {words.group(o, len(evidence.views))}"
        aim = "" if o.is_message and o.peer == other else f" for rank {other}"
        started = (
            ""
            if not evidence.views[rank].waits_elsewhere
            else (f" at {words.place(evidence.views[rank].here)}, started")
        )
        parts.append(f"rank {rank} waits{aim}{started} in {words.called(o)}{group} "
                     f"({words.place(o.site)})")  # fmt: skip
    return ", ".join(parts) + (f" and {len(ring) - 6} more" if len(ring) > 6 else "")


def absent(evidence: Evidence) -> Diagnosis | None:
    """A rank that others wait for and that does not come."""
    culprits = evidence.culprits()
    if not culprits:
        return None
    culprit = culprits[0]
    v = evidence.views[culprit]
    held = [w for w in evidence.waits.values() if culprit in w.others]
    o = held[0].operation
    waiting = [w.rank for w in held if w.operation.site[:2] == o.site[:2]]
    same = [r for r in culprits if _alike(evidence.views[r], v) and r in held[0].others]
    who, them = words.capital(words.ranks(same)), words.ranks(waiting)
    wait = words.verb(waiting, "waits", "wait")
    meanwhile = f"{them} {wait} for {words.verb(same, 'it', 'them')} in {words.at(o)}"
    if evidence.views[waiting[0]].waits_elsewhere:
        meanwhile = (
            f"{them} {wait} for {words.verb(same, 'it', 'them')} at "
            f"{words.place(evidence.views[waiting[0]].here)}, in the {words.called(o)} that was "
            f"started on {words.place(o.site)}"
        )
    involved = tuple(sorted({*same, *waiting}))
    if held[0].any:
        sentence = (
            f"{words.capital(them)} {wait} in {words.at(o)}, but no rank sends to it any more: let "
            f"one send, or receive once less"
        )
        return Diagnosis("missing", sentence + ".", tuple(waiting))
    if v.state == "finished":
        found = None if o.is_message else _left_early(evidence, waiting[0], o, culprit)
        if found:
            return found
        need = (
            f"each {o.name} needs its {'recv' if o.name == 'send' else 'send'} on the other rank"
            if o.is_message
            else "every rank of the group must make this call, so call it on all, or on a new_group"
            " of those that need it"
        )
        sentence = f"{who} returned without {_the_call(o)}, and {meanwhile}: {need}"
        return Diagnosis("missing", sentence + ".", involved)
    if v.state in ("failed", "dead"):
        cause = v.error or ("failed" if v.state == "failed" else "its process ended")
        where = f" ({words.place(v.error_site)})" if v.error_site else ""
        sentence = (
            f"{who} stopped with {cause}{where} before it came to {_the_call(o)}, and {meanwhile}: "
            f"mend rank {culprit}; the others only wait"
        )
        kind = "failed" if v.state == "failed" else "died"
        return Diagnosis(kind, sentence + ".", involved)
    if v.state == "silent":
        last = v.operations[-1] if v.operations else None
        after = f" (its last call was {words.at(last)})" if last else ""
        sentence = (
            f"{who} {words.verb(same, 'gives', 'give')} no answer{after} while {meanwhile}: it is "
            f"busy in code that does not let go of the interpreter, such as a long call into C"
        )
        return Diagnosis("missing", sentence + ".", involved)
    if v.state == "inside":
        now = v.current
        sentence = (
            f"{who} {words.verb(same, 'is', 'are')} still in {words.at(now) if now else 'a call'}, "
            f"to which all its ranks have come, while {meanwhile}: it is slow, not stuck; give the "
            f"run more time or move less data"
        )
        return Diagnosis("busy", sentence + ".", involved)
    sentence = (
        f"{who} {words.verb(same, 'is', 'are')} still at {words.place(v.here)}, outside any "
        f"operation, while {meanwhile}: {words.verb(same, 'it is', 'they are')} slow or in an "
        f"endless loop, so look at that line, or give the run more time"
    )
    return Diagnosis("missing", sentence + ".", involved)


def _alike(a: View, b: View) -> bool:
    return a.state == b.state and (a.state == "finished" or a.here[:2] == b.here[:2])


def _the_call(o: Operation) -> str:
    if o.is_message:
        return f"its {'recv from' if o.name == 'send' else 'send to'} the waiting rank"
    return f"this {o.called}"


def nobody_waits(evidence: Evidence) -> Diagnosis | None:
    """Ranks that run on and on while no other waits for them."""
    running = [v for v in evidence.views.values() if v.state in ("outside", "silent")]
    if not running or evidence.waits:
        return None
    places: dict[str, list[int]] = {}
    for v in running:
        places.setdefault(words.place(v.here) if v.here[1] else "an unknown line", []).append(
            v.rank
        )
    at = " and ".join(f"{words.ranks(found)} at {place}" for place, found in places.items())
    sentence = (
        f"No rank waits for another: {at} {words.verb([v.rank for v in running], 'is', 'are')} "
        f"still computing, slow or in an endless loop"
    )
    return Diagnosis("endless", sentence + ".", tuple(v.rank for v in running))


def all_there(evidence: Evidence) -> Diagnosis | None:
    """Ranks inside an operation to which everybody has come."""
    waits = [w for w in evidence.waits.values() if not w.others]
    if not waits:
        return None
    o = waits[0].operation
    sentence = (
        f"All ranks of {words.at(o)} have come and nothing is wrong with it: it is slow, so give "
        f"the run more time or move less data"
    )
    return Diagnosis("busy", sentence + ".", tuple(w.rank for w in waits))


# ---- what stays silent


def swapped(evidence: Evidence) -> Diagnosis | None:
    found = swaps(evidence)
    if not found:
        return None
    s: Swap = found[0]
    a, b = s.first[0], s.second[0]
    sentence = (
        f"As the {words.ordinal(s.number + 1)} collective of "
        f"{words.group(a, len(evidence.views))}, rank {s.a} comes from {words.place(a.site)} and "
        f"rank {s.b} from {words.place(b.site)}, and later the reverse: the calls match in kind "
        f"and size, so nothing hangs, but each rank's data meets the other line's; if these are "
        f"meant to be the same operation, fine, else put the lines in one order on all ranks"
    )
    return Diagnosis("swap", sentence + ".", (s.a, s.b), warning=True)


def left_over(evidence: Evidence) -> Diagnosis | None:
    """Messages and collectives that some rank started and no other met, in a run that ended."""
    for rank, o in evidence.unmatched:
        if o.peer is None:
            continue
        other = "received" if o.name == "send" else "sent"
        sentence = (
            f"Rank {rank}'s {words.at(o)} was never {other} by rank {o.peer}: the run ended "
            f"without this message, so wait for the Work, and let rank {o.peer} call its "
            f"{'recv' if o.name == 'send' else 'send'}"
        )
        return Diagnosis("unmatched", sentence + ".", (rank, o.peer), warning=True)
    for v in evidence.views.values():
        for group in evidence.groups:
            # Who has called least lacks the last of who has called most.
            mine = v.collectives(group)
            last = mine[max(mine)] if mine else None
            lacking = evidence.lacking(last) if last else []
            if last and lacking and not v.partial:
                sentence = (
                    f"Rank {v.rank} started {words.at(last)}, but {words.ranks(lacking)} never "
                    f"called it: nobody waited, so the run ended and the result is not there; call "
                    f"it on every rank and wait for its Work"
                )
                return Diagnosis("unmatched", sentence + ".", (v.rank, *lacking), warning=True)
    return None


def outsiders(evidence: Evidence) -> Diagnosis | None:
    for v in evidence.views.values():
        for o in v.operations:
            if o.outsider:
                who = [
                    w.rank
                    for w in evidence.views.values()
                    if any(x.outsider and x.site[:2] == o.site[:2] for x in w.operations)
                ]
                sentence = (
                    f"{words.capital(words.ranks(who))} {words.verb(who, 'calls', 'call')} "
                    f"{words.at(o)} on a group that {words.verb(who, 'it is', 'they are')} not in: "
                    f"nothing happens there and the tensor stays as it was; guard the call with "
                    f"`if rank in ranks`"
                )
                return Diagnosis("outsider", sentence + ".", tuple(who), warning=True)
    return None


RULES: tuple[Rule, ...] = (
    collectives_disagree, messages_disagree, tags_differ, circle, wrong_peer, absent, nobody_waits,
    all_there, different_reductions, swapped, outsiders,
)  # fmt: skip
AT_END: tuple[Rule, ...] = (collectives_disagree, messages_disagree, swapped, left_over, outsiders)
