"""Programs with a fault, each with its mended twin: program(right) runs on every rank.

FAULTS has for each: ranks, the diagnosis's kind, and words that its sentence must have.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import torch
import torch.distributed as dist

Program = Callable[[bool], object]
FAULTS: dict[str, tuple[Program, int, str, tuple[str, ...]]] = {}


def fault(size: int, kind: str, *said: str) -> Callable[[Program], Program]:
    def keep(program: Program) -> Program:
        FAULTS[program.__name__] = (program, size, kind, said)
        return program

    return keep


def me() -> int:
    return dist.get_rank()


# ---- collectives in different orders


@fault(3, "order", "rank 0 calls all_reduce", "`dist.all_reduce(x)`",
       "ranks 1 and 2 call broadcast", "`dist.broadcast(y, 0)`", "1st collective of all ranks",
       "same order")  # fmt: skip
def opposite_collectives(right: bool) -> None:
    x, y = torch.ones(4), torch.ones(4)
    if me() == 0 or right:
        dist.all_reduce(x)
        dist.broadcast(y, 0)
    else:
        dist.broadcast(y, 0)
        dist.all_reduce(x)


@fault(3, "order", "rank 2 calls barrier", "call all_reduce", "`dist.all_reduce(torch.ones(2))`")
def barrier_against_collective(right: bool) -> None:
    if me() == 2 and not right:
        dist.barrier()
    else:
        dist.all_reduce(torch.ones(2))


@fault(2, "order", "rank 0 calls all_gather of all_gather_object()", "rank 1 calls barrier")
def object_collective_against_barrier(right: bool) -> None:
    if me() == 0 or right:
        dist.all_gather_object([None] * dist.get_world_size(), {"rank": me()})
    dist.barrier()


@fault(3, "order", "rank 1 calls barrier", "new_group")
def new_group_not_on_all(right: bool) -> None:
    """new_group must be called by all ranks, also by those outside the group."""
    if me() != 1 or right:
        dist.new_group([0, 2])
    dist.barrier()


@fault(3, "groups made", "[0, 1] on rank", "[1, 2] on rank", "new_group for every group, in one")
def new_groups_in_different_order(right: bool) -> None:
    pairs = [[0, 1], [1, 2]]
    for pair in pairs if right or me() != 2 else pairs[::-1]:
        dist.new_group(pair)


@fault(2, "groups", "circle, 0 -> 1 -> 0", "all_reduce", "opposite order")
def two_groups_in_opposite_order(right: bool) -> None:
    first, second = dist.new_group([0, 1]), dist.new_group([0, 1])
    x = torch.ones(3)
    for group in (first, second) if right or me() == 0 else (second, first):
        dist.all_reduce(x, group=group)


@fault(
    3, "groups", "circle, 0 -> 1 -> 2 -> 0", "group 1 [0, 1]", "group 2 [1, 2]", "group 3 [0, 2]"
)
def three_groups_in_a_ring(right: bool) -> None:
    groups = {pair: dist.new_group(list(pair)) for pair in ((0, 1), (1, 2), (0, 2))}
    order = {0: ((0, 1), (0, 2)), 1: ((1, 2), (0, 1)), 2: ((0, 2), (1, 2))}
    for pair in sorted(order[me()]) if right else order[me()]:
        dist.all_reduce(torch.ones(1), group=groups[pair])


# ---- messages that wait in a circle


@fault(
    2, "cycle", "circle, 0 -> 1 -> 0", "`dist.send(x, 1 - me())`", "let one of each pair receive"
)
def both_send_first(right: bool) -> None:
    x, y = torch.ones(1), torch.ones(1)
    if right and me() == 1:
        dist.recv(y, 1 - me())
        dist.send(x, 1 - me())
    else:
        dist.send(x, 1 - me())
        dist.recv(y, 1 - me())


@fault(2, "cycle", "circle, 0 -> 1 -> 0", "nobody sends")
def both_receive_first(right: bool) -> None:
    x, y = torch.ones(1), torch.ones(1)
    if right and me() == 1:
        dist.send(x, 1 - me())
    dist.recv(y, 1 - me())
    if not right or me() == 0:
        dist.send(x, 1 - me())


@fault(4, "cycle", "circle, 0 -> 1 -> 2 -> 3 -> 0", "rank 3 waits in send to rank 0")
def ring_of_sends(right: bool) -> None:
    size = dist.get_world_size()
    x, y = torch.ones(8), torch.ones(8)
    if right:
        for work in dist.batch_isend_irecv(
            [
                dist.P2POp(dist.isend, x, (me() + 1) % size),
                dist.P2POp(dist.irecv, y, (me() - 1) % size),
            ]
        ):
            work.wait()
    else:
        dist.send(x, (me() + 1) % size)
        dist.recv(y, (me() - 1) % size)


@fault(2, "cycle", "rank 0 waits for rank 1 in barrier", "rank 1 waits in recv from rank 0",
       "finish the messages before it")  # fmt: skip
def barrier_before_the_send(right: bool) -> None:
    x = torch.ones(2)
    if me() == 0 and right:
        dist.send(x, 1)
    if me() == 1:
        dist.recv(x, 0)
    dist.barrier()
    if me() == 0 and not right:
        dist.send(x, 1)


@fault(3, "cycle", "order the calls so that each send meets its receive")
def crossed_messages(right: bool) -> None:
    x = torch.ones(1)
    if me() == 0:
        for source in (1, 2) if right else (2, 1):
            dist.recv(x, source)
    elif me() == 1:
        dist.send(x, 0)
        dist.send(x, 2)
    else:
        dist.recv(x, 1)
        dist.send(x, 0)


# ---- messages that miss each other


@fault(2, "tag", "rank 0 waits in send to rank 1", "with tag 7", "with tag 8")
def different_tags(right: bool) -> None:
    x = torch.ones(1)
    if me() == 0:
        dist.send(x, 1, tag=7)
    else:
        dist.recv(x, 0, tag=7 if right else 8)


@fault(3, "peer", "rank 0 waits in send to rank 1", "it is rank 2 that waits for rank 0",
       "name rank 2 as the dst on rank 0")  # fmt: skip
def sent_to_the_wrong_rank(right: bool) -> None:
    x = torch.ones(1)
    if me() == 0:
        dist.send(x, 2 if right else 1)
    elif me() == 2:
        dist.recv(x, 0)


@fault(3, "peer", "rank 0 waits in recv from rank 1", "name rank 2 as the src on rank 0")
def received_from_the_wrong_rank(right: bool) -> None:
    x = torch.ones(1)
    if me() == 0:
        dist.recv(x, 2 if right else 1)
    elif me() == 2:
        dist.send(x, 0)


@fault(2, "missing", "rank 1 returned without its send to the waiting rank",
       "rank 0 waits for it at", "`work.wait()`", "irecv", "`work = dist.irecv(x, 1)`")  # fmt: skip
def work_that_is_never_met(right: bool) -> None:
    x = torch.ones(1)
    if me() == 0:
        work = dist.irecv(x, 1)
        assert work is not None
        x = x + 1
        work.wait()
    elif right:
        dist.send(x, 0)


@fault(3, "missing", "rank 0 waits in recv from any rank", "no rank sends to it any more")
def one_receive_too_many(right: bool) -> None:
    x = torch.ones(1)
    if me() == 0:
        for _ in range(2 if right else 3):
            dist.recv(x)
    else:
        dist.send(x, 0)


@fault(2, "unmatched", "rank 0's isend to rank 1", "was never received by rank 1")
def message_that_nobody_takes(right: bool) -> None:
    x = torch.ones(1)
    if me() == 0:
        work = dist.isend(x, 1)
        if right:
            assert work is not None
            work.wait()
    elif right:
        dist.recv(x, 0)


# ---- ranks that do not come


@fault(3, "missing", "rank 1 returned without this all_reduce",
       "ranks 0 and 2 wait for it in all_reduce",
       "every rank of the group must make this call")  # fmt: skip
def early_return(right: bool) -> int:
    x = torch.ones(1)
    if me() == 1 and not right:
        return 0
    dist.all_reduce(x)
    return 1


@fault(3, "missing", "ranks 1 and 2 returned without this barrier", "rank 0 waits for them")
def only_rank_0(right: bool) -> None:
    if me() == 0 or right:
        dist.barrier()


@fault(2, "failed", "rank 1 stopped with ValueError: bad batch",
       "`raise ValueError(\"bad batch\")`",
       "rank 0 waits for it in all_reduce", "mend rank 1")  # fmt: skip
def exception_on_one(right: bool) -> None:
    x = torch.ones(1)
    if me() == 1 and not right:
        raise ValueError("bad batch")
    dist.all_reduce(x)


@fault(2, "died", "rank 1 stopped with its process ended with exit code 7", "all_reduce")
def process_that_leaves(right: bool) -> None:
    dist.barrier()
    if me() == 1 and not right:
        os._exit(7)
    dist.all_reduce(torch.ones(1))


@fault(2, "died", "rank 0 stopped with its process was ended by SIGSEGV", "barrier")
def segmentation_fault(right: bool) -> None:
    dist.barrier()
    if me() == 0 and not right:
        os.kill(os.getpid(), signal.SIGSEGV)
    dist.barrier()


@fault(3, "missing", "rank 2 is still at", "`time.sleep(60)`", "outside any operation",
       "ranks 0 and 1 wait for it in all_reduce")  # fmt: skip
def straggler(right: bool) -> None:
    if me() == 2 and not right:
        time.sleep(60)
    dist.all_reduce(torch.ones(1))


@fault(
    2, "missing", "rank 0 is still at", "endless loop", "rank 1 waits for it in recv from rank 0"
)
def endless_loop(right: bool) -> None:
    x = torch.ones(1)
    if me() == 0:
        while not right:
            x = x * 1.0
        dist.send(x, 1)
    else:
        dist.recv(x, 0)


@fault(2, "endless", "no rank waits for another", "ranks 0 and 1 at", "`time.sleep(60)`")
def nobody_communicates(right: bool) -> None:
    if not right:
        time.sleep(60)


@fault(3, "iterations", "rank 1 made 2 calls to all_reduce", "and returned", "is in call 3",
       "number of iterations differs", "drop_last")  # fmt: skip
def uneven_iterations(right: bool) -> None:
    x = torch.ones(1)
    for _ in range(2 if me() == 1 and not right else 3):
        dist.all_reduce(x)


@fault(3, "iterations", "rank 2 made 2 calls to all_reduce", "went on to barrier", "in call 3")
def uneven_iterations_then_barrier(right: bool) -> None:
    x = torch.ones(1)
    for _ in range(2 if me() == 2 and not right else 4):
        dist.all_reduce(x)
    dist.barrier()


@fault(2, "iterations", "rank 1 made 2 calls to all_reduce", "but rank 0 made 3")
def uneven_iterations_then_same_collective(right: bool) -> None:
    """The leaver's next all_reduce meets the loop's: nothing hangs until the very end."""
    x, loss = torch.ones(1), torch.ones(1)
    for _ in range(2 if me() == 1 and not right else 3):
        dist.all_reduce(x)
    dist.all_reduce(loss)


# ---- collectives that do not agree


@fault(2, "shape", "all_reduce", "shape [4] on rank 0", "shape [5] on rank 1", "one size")
def different_shapes(right: bool) -> None:
    x = torch.ones(4 if me() == 0 or right else 5)
    dist.all_reduce(x)


@fault(3, "shape", "broadcast", "shape [8] on rank 0", "shape [6] on ranks 1 and 2")
def broadcast_into_less_room(right: bool) -> None:
    x = torch.ones(8 if me() == 0 or right else 6)
    dist.broadcast(x, 0)


@fault(2, "dtype", "float32 on rank 0", "float64 on rank 1", "one dtype")
def different_dtypes(right: bool) -> None:
    x = torch.ones(4, dtype=torch.float32 if me() == 0 or right else torch.float64)
    dist.all_reduce(x)


@fault(2, "splits", "all_to_all_single", "rank 0 sends 3 elements to rank 1",
       "rank 1 expects 2 from rank 0", "exchange the split sizes first")  # fmt: skip
def different_splits(right: bool) -> None:
    sends = [[1, 3], [2, 2]][me()]
    expects = [[1, 2], [3, 2] if right else [2, 2]][me()]
    dist.all_to_all_single(torch.ones(sum(expects)), torch.ones(sum(sends)), expects, sends)


@fault(3, "root", "broadcast", "root 0 on ranks 0 and 2", "root 1 on rank 1", "same src or dst")
def different_roots(right: bool) -> None:
    dist.broadcast(torch.ones(4), 1 if me() == 1 and not right else 0)


@fault(2, "reduction", "SUM on rank 0", "MAX on rank 1", "same op")
def different_reductions(right: bool) -> None:
    op = dist.ReduceOp.MAX if me() == 1 and not right else dist.ReduceOp.SUM
    dist.all_reduce(torch.ones(4), op=op)


@fault(2, "shape", "rank 0 sends shape [6] to rank 1", "receives it into shape [4]")
def message_into_less_room(right: bool) -> None:
    if me() == 0:
        dist.send(torch.ones(6), 1)
    else:
        dist.recv(torch.ones(6 if right else 4), 0)


# ---- what nothing else notices


@fault(2, "swap", "as the 1st collective of all ranks, rank 0 comes from",
       "`dist.all_reduce(loss)`",
       "rank 1 from", "`dist.all_reduce(accuracy)`", "nothing hangs", "fine")  # fmt: skip
def same_shapes_swapped(right: bool) -> list[float]:
    loss, accuracy = torch.tensor([1.0 + me()]), torch.tensor([100.0])
    if me() == 0 or right:
        dist.all_reduce(loss)
        dist.all_reduce(accuracy)
    else:
        dist.all_reduce(accuracy)
        dist.all_reduce(loss)
    return [loss.item(), accuracy.item()]


@fault(2, "swap", "2nd collective")
def swapped_in_a_loop(right: bool) -> None:
    a, b, c = torch.ones(2), torch.ones(2), torch.ones(2)
    for step in range(3):
        dist.all_reduce(a)
        if me() == 0 or right or step != 0:
            dist.all_reduce(b)
            dist.all_reduce(c)
        else:
            dist.all_reduce(c)
            dist.all_reduce(b)


@fault(3, "outsider", "rank 2 calls all_reduce", "on a group that it is not in", "stays as it was")
def collective_of_another_group(right: bool) -> None:
    pair = dist.new_group([0, 1])
    if not right or me() in (0, 1):
        dist.all_reduce(torch.ones(1), group=pair)


@fault(2, "unmatched", "rank 0 started all_reduce", "rank 1 never called it")
def asynchronous_and_alone(right: bool) -> None:
    if me() == 0 or right:
        work = dist.all_reduce(torch.ones(1), async_op=True)
        if right:
            work.wait()
