"""The referee as a pure function over plain data, and its pictures."""

from __future__ import annotations

import json
import random
import xml.etree.ElementTree as ElementTree
from typing import Any

from warpwise.ranks.diagnosis import Diagnosis
from warpwise.ranks.referee import diagnose


def op(name: str, line: int, text: str, **facts: Any) -> dict[str, Any]:
    """An operation as a lesson's log writes it."""
    group = facts.pop("group", [0, 1, 2])
    return {"name": name, "group": group, "site": ["train.py", line, text, "step"], **facts}


def snapshot(rank: int, state: str, *operations: dict[str, Any]) -> dict[str, Any]:
    done = list(operations)
    current = None
    for index, each in enumerate(done):
        each |= {"index": index, "done": True}
    if state == "inside":
        current = done[-1]
        current["done"] = False
    return {"rank": rank, "state": state, "operations": done, "current": current}


def ring() -> dict[int, Any]:
    """Three ranks that all send to their right neighbour."""
    return {
        r: snapshot(r, "inside", op("send", 4, "dist.send(x, right)", peer=(r + 1) % 3))
        for r in range(3)
    }


def test_a_recorded_log_is_diagnosed() -> None:
    """Hand-written snapshots, through JSON, give the same sentence as a run would."""
    found = diagnose(json.loads(json.dumps(ring())))
    assert found.kind == "cycle" and found.cycle == (0, 1, 2)
    assert found.sentence == (
        "Rank 0 waits in send to rank 1 (train.py, line 4 `dist.send(x, right)`), rank 1 waits in "
        "send to rank 2 (train.py, line 4 `dist.send(x, right)`), rank 2 waits in send to rank 0 "
        "(train.py, line 4 `dist.send(x, right)`): they wait in a circle, 0 -> 1 -> 2 -> 0; a send "
        "returns only when the other side receives, so let one of each pair receive first, or "
        "start all with isend and irecv (batch_isend_irecv) and then wait."
    )
    assert bool(found) and json.loads(json.dumps(found.to_dict()))["cycle"] == [0, 1, 2]


def test_text_picture() -> None:
    """A line for each rank: where it stands, the operation, whom it waits for."""
    shown = str(diagnose(ring())).splitlines()
    assert shown[-4].split() == ["rank", "where", "operation", "waits", "for"]
    assert shown[-3].startswith("0     train.py, line 4 `dist.send(x, right)`  send to rank 1")
    assert [line.rsplit("  ", 1)[1] for line in shown[-3:]] == ["rank 1", "rank 2", "rank 0"]


def test_svg_picture() -> None:
    """Well-formed; a box for each rank, an arrow for each wait, all words in it as well."""
    found = diagnose(ring())
    page = found._repr_html_()
    start, end = page.index("<svg"), page.index("</svg>") + 6
    root = ElementTree.fromstring(page[start:end])
    kinds = [element.tag.rpartition("}")[2] for element in root.iter()]
    assert kinds.count("rect") == 3
    arrows = [e for e in root.iter() if e.get("marker-end")]
    assert len(arrows) == 3 and all(e.get("stroke") == "#d55e00" for e in arrows)
    assert root.get("role") == "img" and "circle" in root.get("aria-label", "")
    text = "".join(root.itertext())
    assert "rank 2" in text and "dist.send(x, right)" in text and "waits in send to rank 0" in text


def test_text_in_pictures_is_escaped() -> None:
    """A learner's line with angle brackets stays text."""
    bad = snapshot(0, "inside", op("barrier", 1, "if a < b: dist.barrier('<b>')", group=[0, 1]))
    page = diagnose({0: bad, 1: snapshot(1, "finished")})._repr_html_()
    assert "<b>'" not in page.replace("<b>Rank", "") and "a &lt; b" in page


def test_a_large_world_is_shown_in_part() -> None:
    """200 ranks: those that matter are in the picture, the rest is counted."""
    group = list(range(200))
    world = {
        r: snapshot(r, "inside", op("barrier", 3, "dist.barrier()", group=group)) for r in group
    }
    world[150] = snapshot(150, "outside")
    world[150]["stack"] = [["train.py", 9, "load"]]
    found = diagnose(world)
    assert found.kind == "missing" and "Rank 150 is still at train.py, line 9" in found.sentence
    assert "ranks 0, 1, 2, 3, 4, 5 and 193 more wait for it" in found.sentence
    assert "\n150 " in str(found) and "... and 168 more ranks" in str(found)


def test_unknown_ranks() -> None:
    """A rank of which nothing is known is named as silent, not guessed at."""
    waits = snapshot(0, "inside", op("barrier", 3, "dist.barrier()", group=[0, 1]))
    found = diagnose({0: waits, 1: None})
    assert found.kind == "missing" and "Rank 1 gives no answer" in found.sentence


def test_outcomes_name_the_cause() -> None:
    """What a rank died of comes from the outcome; collateral failures count as waiting."""
    lost = snapshot(0, "failed", op("barrier", 3, "dist.barrier()", group=[0, 1]))
    lost["operations"][0]["done"] = False
    found = diagnose(
        {0: lost, 1: snapshot(1, "failed")},
        {
            0: {"status": "error", "message": "RuntimeError: lost", "collateral": True},
            1: {"status": "error", "message": "KeyError: 'loss'", "site": ["a.py", 8, "d[k]", "f"]},
        },
    )
    assert found.kind == "failed"
    assert "Rank 1 stopped with KeyError: 'loss' (a.py, line 8 `d[k]`)" in found.sentence


def test_nothing_to_say() -> None:
    """No ranks, no operations, or all well: an empty diagnosis that is false."""
    for world in ({}, {0: snapshot(0, "finished")}):
        found = diagnose(world)
        assert not found and found.kind == "" and isinstance(found, Diagnosis)
        assert str(diagnose({})) == "no fault found"


def test_any_log_gets_an_answer() -> None:
    """Random logs, most of them nonsense, never raise, and every picture can be drawn."""
    draw = random.Random(5)
    names = ("all_reduce", "broadcast", "barrier", "send", "recv", "all_to_all", "scatter")
    kinds = set()
    for _ in range(400):
        n = draw.randint(1, 4)
        world: dict[int, Any] = {}
        for rank in range(n):
            operations = []
            for _ in range(draw.randint(0, 4)):
                name = draw.choice(names)
                group = sorted({rank, *draw.sample(range(n), draw.randint(1, n))})
                facts: dict[str, Any] = {"group": group, "group_id": str(group)}
                facts["sent"] = facts["received"] = [draw.randint(0, 3)]
                facts["dtype"] = draw.choice(["float32", "int64"])
                if name in ("send", "recv"):
                    facts["peer"] = (
                        draw.choice(group) if name == "send" or draw.random() < 0.8 else None
                    )
                    facts["tag"] = draw.randint(0, 1)
                if name in ("broadcast", "scatter"):
                    facts["root"] = draw.choice(group)
                operations.append(op(name, draw.randint(1, 5), "", **facts))
            states = ["outside", "finished", "failed"] + ["inside"] * 3 * bool(operations)
            world[rank] = snapshot(rank, draw.choice(states), *operations)
            if draw.random() < 0.1:
                world[rank] = None
        found = diagnose(world)
        kinds.add(found.kind)
        assert str(found) and found._repr_html_()
    assert len(kinds) > 8, kinds
