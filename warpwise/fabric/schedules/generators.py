"""Published pipeline schedules, made for any number of ranks and microbatches.

Every function gives a Schedule; p ranks, m microbatches, v chunks a rank.
"""

from __future__ import annotations

from ..inputs import whole
from .passes import Pair, Pass, Step
from .schedule import Schedule
from .tasks import ScheduleError


def gpipe(p: int, m: int) -> Schedule:
    """All forwards, then all backwards (GPipe, arXiv 1811.06965; also called AFAB)."""
    whole(ScheduleError, p=p, m=m)
    order = [Pass("F", i) for i in range(m)] + [Pass("B", i) for i in range(m)]
    return Schedule([order] * p, name="GPipe")


def one_f_one_b(p: int, m: int) -> Schedule:
    """1F1B (PipeDream-Flush, arXiv 2006.09503): rank r fills with p - 1 - r F, then turns."""
    whole(ScheduleError, p=p, m=m)
    orders = [_turns(m, min(m, p - 1 - rank)) for rank in range(p)]
    return Schedule(orders, name="1F1B")


def interleaved(p: int, m: int, v: int) -> Schedule:
    """Megatron's interleaved 1F1B (arXiv 2104.04473): v chunks a rank, in groups of p microbatches.

    m has to be a multiple of p, as in Megatron.
    """
    whole(ScheduleError, p=p, m=m, v=v)
    if v == 1:
        return one_f_one_b(p, m)
    if m % p:
        raise ScheduleError(
            f"interleaving runs microbatches in groups of p = {p}; {m} is no multiple."
        )

    def forward(k: int) -> Pass:
        group, rest = divmod(k, p * v)
        return Pass("F", group * p + rest % p, rest // p)

    def backward(k: int) -> Pass:
        group, rest = divmod(k, p * v)
        return Pass("B", group * p + rest % p, v - 1 - rest // p)

    orders = []
    for rank in range(p):
        ahead = min(m * v, 2 * (p - 1 - rank) + (v - 1) * p)
        order = [forward(k) for k in range(ahead)]
        for k in range(m * v):
            if ahead + k < m * v:
                order.append(forward(ahead + k))
            order.append(backward(k))
        orders.append(order)
    return Schedule(orders, chunks=v, name=f"interleaved v={v}")


def zb1p(p: int, m: int) -> Schedule:
    """Zero bubble in the memory of 1F1B (ZB-H1, arXiv 2401.10241): W is put off into the bubble.

    Rank r fills with p - 1 - r forwards and runs W r microbatches late, so that p microbatches
    are held everywhere.  With F = I = W the bubble is (p - 1) F, a third of 1F1B's.
    """
    whole(ScheduleError, p=p, m=m)
    orders = [_turns(m, min(m, p - 1 - rank), late=rank) for rank in range(p)]
    return Schedule(orders, name="ZB1P")


def zb2p(p: int, m: int) -> Schedule:
    """Zero bubble in twice the memory (ZB-H2, arXiv 2401.10241).

    Rank r fills with 2 (p - 1 - r) forwards and runs W 2 r microbatches late: 2p - 1 are held.
    With F = I = W and m >= 2p - 1 no rank idles between its first and its last pass; the ranks end
    one after the other, so the optimiser step must not wait for all of them.
    """
    whole(ScheduleError, p=p, m=m)
    orders = [_turns(m, min(m, 2 * (p - 1 - rank)), late=2 * rank) for rank in range(p)]
    return Schedule(orders, name="ZB2P")


def dualpipe(p: int, m: int) -> Schedule:
    """DualPipe (DeepSeek-V3, arXiv 2412.19437): two copies of the model, fed from both ends.

    p is even and m is even and at least 2 p.  Microbatches 0 to m/2 - 1 go down, the others go up.
    """
    whole(ScheduleError, p=p, m=m)
    if p % 2 or m % 2 or m < 2 * p:
        raise ScheduleError(
            f"DualPipe needs an even number of ranks and an even number of microbatches, at least "
            f"two a rank; not p = {p}, m = {m}."
        )
    return Schedule([_dual(p, m, rank) for rank in range(p)], 2, "twin", name="DualPipe")


class _Order:
    """One rank's order while DualPipe's is written down.  Direction 0 comes from the nearer end."""

    def __init__(self, m: int, swapped: bool) -> None:
        self.steps: list[Step] = []
        self.half = m // 2
        self.swapped = swapped
        self.forwards = [0, 0]
        self.backwards = [0, 0]
        self.owed: list[Pass] = []  # W passes put off, oldest first

    def _pass(self, kind: str, direction: int, count: list[int]) -> Pass:
        copy = direction ^ self.swapped
        made = Pass(kind, copy * self.half + count[direction], copy)
        count[direction] += 1
        return made

    def f(self, direction: int) -> None:
        self.steps.append(self._pass("F", direction, self.forwards))

    def b(self, direction: int, split: bool = False) -> None:
        made = self._pass("I" if split else "B", direction, self.backwards)
        self.steps.append(made)
        if split:
            self.owed.append(Pass("W", made.microbatch, made.chunk))

    def w(self) -> None:
        self.steps.append(self.owed.pop(0))

    def both(self, forward: int, backward: int) -> None:
        self.steps.append(
            Pair(
                self._pass("F", forward, self.forwards),
                self._pass("B", backward, self.backwards),
            )
        )


def _dual(p: int, m: int, rank: int) -> list[Step]:
    near = min(rank, p - 1 - rank)  # distance from the nearer end
    inner = p // 2 - 1 - near  # distance from the middle
    order = _Order(m, swapped=rank >= p // 2)
    for _ in range(2 * inner):  # fill from the near end
        order.f(0)
    for _ in range(near + 1):  # and from both
        order.f(0)
        order.f(1)
    for _ in range(inner):  # first backwards: W goes where the rank would wait
        order.b(1, split=True)
        order.w()
        order.f(1)
    for turn in range(m // 2 - p + near + 1):  # the steady part: always a forward with a backward
        if turn == 0 and inner == 0:  # in the middle the first two apart: a smaller bubble
            order.f(0)
            order.b(1)
        else:
            order.both(0, 1)
        order.both(1, 0)
    for _ in range(inner):
        order.b(1)
        order.both(1, 0)
    split = False  # from half way down, W is put off
    for turn in range(near + 1):
        turned = turn == (near + 1) // 2
        split = split or (turned and near % 2 == 1)
        order.b(1, split)
        split = split or (turned and near % 2 == 0)
        order.b(0, split)
    for _ in range(inner):
        order.w()
        order.b(0, split=True)
    while order.owed:
        order.w()
    return order.steps


def _turns(m: int, ahead: int, late: int | None = None) -> list[Step]:
    """`ahead` forwards, then a forward and a backward in turn; with `late`, W that much after I."""
    order: list[Step] = [Pass("F", i) for i in range(ahead)]
    for k in range(m):
        if ahead + k < m:
            order.append(Pass("F", ahead + k))
        order.append(Pass("B" if late is None else "I", k))
        if late is not None and k >= late:
            order.append(Pass("W", k - late))
    if late is not None:
        order += [Pass("W", k) for k in range(max(0, m - late), m)]
    return order


GENERATORS = {
    "GPipe": gpipe,
    "1F1B": one_f_one_b,
    "interleaved": interleaved,
    "ZB1P": zb1p,
    "ZB2P": zb2p,
    "DualPipe": dualpipe,
}
