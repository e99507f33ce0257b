"""Numbers that are none, shapes that cannot be: a sentence that names them, never a traceback."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from warpwise.fabric import (
    Algorithm,
    FabricError,
    Link,
    Network,
    apply,
    bus_factor,
    busbw,
    cost,
    crossover,
    fat_tree,
    fit,
    flows,
    island,
    messages,
    pcie_tree,
    preset,
    ring_all_reduce,
    theory,
    torus,
)
from warpwise.fabric.flows import Message
from warpwise.fabric.schedules import (
    Layer,
    Pair,
    Pass,
    Schedule,
    ScheduleError,
    Task,
    Times,
    Wait,
    ddp,
    fsdp,
    gpipe,
    run,
    simulate,
)
from warpwise.fabric.schedules import faults as schedule_faults

LINK = Link(1, 100)
NET = Network(4, LINK)
RING = ring_all_reduce(4)


def alone(*move: int, pieces: int = 4) -> Algorithm:
    return Algorithm("mine", 4, pieces, lambda: iter([messages([move], add=True)]))  # type: ignore[list-item]


FABRIC = [
    (lambda: Link(nan, 1), "latency_us is a number from 0, not nan"),
    (lambda: Link("1", 1), "latency_us is a number, not '1'"),
    (lambda: Link(1, inf), "gbs is a number from 0, not inf"),
    (lambda: Network(2.5, LINK), "ranks is a whole number, not 2.5"),
    (lambda: Network(4, LINK, LINK, 2.0), "node is a whole number"),
    (lambda: ring_all_reduce("4"), "ranks is a whole number, not '4'"),
    (lambda: ring_all_reduce(True), "ranks is a whole number, not True"),
    (lambda: cost(RING, NET, -8), "nbytes is at least 0, not -8"),
    (lambda: cost(RING, NET, 1e6), "nbytes is a whole number, not 1000000.0"),
    (lambda: cost(RING, NET, 8, 0), "item is at least 1, not 0"),
    (lambda: cost(RING, NET, 8, start=[nan] * 4), "start is a number from 0, not nan"),
    (lambda: apply(RING, [np.ones(8)] * 3 + [np.ones(9)]), "arrays of one shape"),
    (lambda: theory("recursive doubling", 6, 100, LINK), "power of 2; 6 ranks are none"),
    (lambda: theory("ring all-reduce", 0, 100, LINK), "ranks is at least 1"),
    (lambda: theory("tree", 4, -1, LINK), "nbytes is a number from 0"),
    (lambda: crossover(6, LINK), "power of 2"),
    (lambda: cost(alone(0, -1, 0, 1), NET, 8), "mine, round 0: there is no rank -1, only 0 to 3"),
    (lambda: cost(alone(0, 9, 0, 1), NET, 8), "there is no rank 9"),
    (lambda: cost(alone(1, 1, 0, 1), NET, 8), "rank 1 sends to itself"),
    (lambda: cost(alone(0, 1, 0, 9), NET, 8), "no pieces 0 to 9"),
    (lambda: cost(alone(0, 1, 2, 1), NET, 8), "no pieces 2 to 1"),
    (lambda: alone(0, 1, 2).rounds(), r"a message is \(source, destination"),
    (lambda: Algorithm("mine", 4, 1, []), "a function that makes them anew"),
    (lambda: fat_tree(8, 0, LINK), "a_leaf is at least 1"),
    (lambda: fat_tree(8, 4, LINK, spines=0), "spines is at least 1"),
    (lambda: fat_tree(8, 4, LINK, oversubscribed=0), "oversubscribed is a number above 0"),
    (lambda: torus(4, LINK), "a size for each dimension"),
    (lambda: torus((4, 0), LINK), "shape is at least 1"),
    (lambda: pcie_tree(8, LINK, a_switch=0), "a_switch is at least 1"),
    (lambda: island(0, LINK), "gpus is at least 1"),
    (lambda: island(2, LINK).cut("gpu0", "switch", -1), "share is a number from 0"),
    (lambda: island(2, LINK).cut("gpu0", "switch", 2), "share is at most 1"),
    (lambda: island(2, LINK).join("gpu0", "gpu0", LINK), "cannot be joined to itself"),
    (lambda: Message(0, 1, -5), "nbytes is a number from 0, not -5"),
    (lambda: Message(0, 1, inf), "nbytes is a number from 0, not inf"),
    (lambda: Message(0, 1, 10**400), "nbytes is a number from 0"),
    (lambda: Message(0, 1, 4, start=nan), "start is a number from 0"),
    (lambda: Message(0, 1, 4, after=0), "after has the numbers of messages"),
    (lambda: Message(0, 1, 4, after=("a",)), "after is a whole number"),
    (lambda: busbw("all_reduce", 8, nan, 1), "nbytes is a number from 0, not nan"),
    (lambda: bus_factor("all_reduce", 2.5), "ranks is a whole number"),
    (lambda: fit([1, 2, nan], [1, 2, 3]), "sizes is a number from 0, not nan"),
    (lambda: fit(["a", "b"], [1, 2]), "sizes is a number, not 'a'"),
    (lambda: fit([1, 2], [1, 2], 0), "factor is a number above 0"),
    (lambda: preset(3), "no machine 3"),
    (lambda: preset("DGX A100").link("between"), "DGX A100 has no 'between_us'"),
]  # fmt: skip

SCHEDULES = [
    (lambda: Pass("X", 0), "a pass is F, B, I, W, not 'X'"),
    (lambda: Pass("F", -1), "microbatch is at least 0"),
    (lambda: Pair(Pass("B", 0), Pass("F", 1)), "a pair is a forward and a backward"),
    (lambda: Schedule([["F0+B0"]]), "needs its forward"),
    (lambda: Schedule([[None]]), "None is no pass"),
    (lambda: Schedule([3]), "the order of a rank: a list is needed, not 3"),
    (lambda: Schedule("F0 B0"), "orders: a list is needed"),
    (lambda: Schedule([["F0"]], 2.5), "chunks is a whole number"),
    (lambda: gpipe(2.5, 4), "p is a whole number, not 2.5"),
    (lambda: gpipe("2", 4), "p is a whole number"),
    (lambda: simulate(gpipe(2, 2), Times(forward=nan)), "forward is a number from 0, not nan"),
    (lambda: simulate(gpipe(2, 2), Times(weight=-1)), "weight is a number from 0"),
    (lambda: simulate(gpipe(2, 2), Times(input=[1])), "input has 1 times for 2 ranks"),
    (lambda: simulate(gpipe(2, 2), Times(forward="a")), "forward is a number, not 'a'"),
    (lambda: simulate(gpipe(2, 2), Times(send=nan)), "send is a number"),
    (lambda: run([Task("a", 0, nan)]), "the duration of 'a' is a number from 0, not nan"),
    (lambda: run([Task("a", 0, 1), Task("b", 1, 1, (Wait("a", -5),))]), "the lag of 'b'"),
    (lambda: run([Task("a", 0, 1), Task("b", 1, 1, "a")]), "after is a tuple of names"),
    (lambda: ddp([Layer(1, 2, 4)], lambda nbytes: nan), "the duration of 'AR0'"),
    (lambda: fsdp([Layer(1, 2, 4)], lambda n: 1, lambda n: 1, 1.5), "prefetch is a whole number"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "said"), FABRIC, ids=[said for _, said in FABRIC])
def test_fabric_names_what_is_wrong(make, said):
    """Every public function of the fabric refuses it in a sentence."""
    with pytest.raises(FabricError, match=said):
        make()


@pytest.mark.parametrize(("make", "said"), SCHEDULES, ids=[said for _, said in SCHEDULES])
def test_schedules_name_what_is_wrong(make, said):
    """So do schedules and task graphs."""
    with pytest.raises(ScheduleError, match=said):
        make()


def test_a_gap_in_the_microbatches_is_said_at_once():
    """A microbatch with a slip of the finger in its number costs neither time nor memory."""
    found = schedule_faults(Schedule(["F0 B0 F999999999 B999999999"]))
    assert found == ["no rank runs microbatch 1; they are numbered from 0 to 999999999."]


def test_what_may_be_written_in_another_way():
    """Starts and times as arrays, an order as a line of text, no time at all."""
    assert cost(RING, NET, 8, start=np.zeros(4)).time == cost(RING, NET, 8).time
    assert simulate(Schedule(["F0 F1 B0 B1"] * 2)).makespan == simulate(gpipe(2, 2)).makespan
    assert simulate(gpipe(2, 2), Times(forward=np.ones(2))).makespan == 9.0
    assert simulate(gpipe(2, 2), Times(0, 0, 0)).bubble_over_total == 0
    assert flows.run(island(2, LINK), []).use(island(2, LINK)) == {}
