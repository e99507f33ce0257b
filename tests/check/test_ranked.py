"""Functions on ranks: wrong ones with their diagnosis, strange right ones pass."""

import sys

import cloudpickle
import pytest

from warpwise.check import judge
from warpwise.check.ranked import Limits, World, ranks_spec
from warpwise.fabric import Link, Network, theory

torch = pytest.importorskip("torch", reason="ranks need PyTorch")
dist = torch.distributed

LINK = Link(5.0, 10.0)
# As from a notebook: ranks get the functions themselves and need not import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def worlds(rng, level):
    return [
        World(tuple((rng.random(length),) for _ in range(n)), Network(n, LINK))
        for n, length in ((2, 4), (4, 10), (3, 2))
    ]


def total(world):
    return [sum(args[0] for args in world.args)] * world.ranks


def ring_bytes(world):
    """Pieces of whole numbers: the busiest rank sends the larger ones."""
    n, length = world.ranks, len(world.args[0][0])
    return 2 * (n - 1) * 8 * -(-length // n)


SPEC = ranks_spec(
    "ring_sum", "t0_00_test", 3, worlds, total, ("x", "net"),
    Limits(by_hand=True, most_bytes=ring_bytes, most_rounds=lambda w: 2 * (w.ranks - 1)),
    suspects={"not_summed": lambda world: [args[0] for args in world.args]},
    causes={"not_summed": "Every rank still has its own array."},
)  # fmt: skip


def pieces_of(x, n):
    return list(torch.tensor_split(x, n))


def ring(x, net, exchange):
    n, rank = net.size, net.rank
    parts = pieces_of(x, n)
    for ahead, add in ((0, True), (1, False)):
        for step in range(n - 1):
            out, into = (rank + ahead - step) % n, (rank + ahead - step - 1) % n
            came = torch.empty_like(parts[into])
            exchange(net, parts[out], came)
            if add:
                parts[into] += came
            else:
                parts[into].copy_(came)
    return torch.cat(parts)


def right(x, net):
    return ring(x, net, lambda net, out, came: net.sendrecv(
        out, (net.rank + 1) % net.size, came, (net.rank - 1) % net.size))  # fmt: skip


def in_turns(x, net):
    """Blocking calls: even ranks send first, with an odd number of ranks the last one receives."""

    def exchange(net, out, came):
        after, before = (net.rank + 1) % net.size, (net.rank - 1) % net.size
        if net.rank == 0:
            net.send(out, after)
            net.recv(came, before)
        else:
            net.recv(came, before)
            net.send(out, after)

    return ring(x, net, exchange)


def plain_messages(x, net):
    """torch.distributed itself, without the network."""

    def exchange(net, out, came):
        after, before = (net.rank + 1) % net.size, (net.rank - 1) % net.size
        work = dist.isend(out.clone(), after)
        dist.recv(came, before)
        work.wait()

    return ring(x, net, exchange)


def all_send_first(x, net):
    def exchange(net, out, came):
        net.send(out, (net.rank + 1) % net.size)
        net.recv(came, (net.rank - 1) % net.size)

    return ring(x, net, exchange)


def whole_arrays(x, net):
    own, came = x.clone(), torch.empty_like(x)
    for _ in range(net.size - 1):
        net.sendrecv(own, (net.rank + 1) % net.size, came, (net.rank - 1) % net.size)
        own = came.clone()
        x += came
    return x


def collective(x, net):
    dist.all_reduce(x)
    return x


def untouched(x, net):
    return x


def crashes(x, net):
    if net.rank == 1:
        raise IndexError("piece 7 of 4")
    return right(x, net)


def forgets_return(x, net):
    right(x, net)


def mean(x, net):
    return right(x, net) / net.size


def leaves_early(x, net):
    if net.rank == 0:
        return x
    return right(x, net)


@pytest.mark.parametrize("answer", [right, plain_messages], ids=lambda f: f.__name__)
def test_right_answers_pass(answer):
    record = judge(SPEC, answer)
    assert record.status == "pass", record.message


@pytest.mark.parametrize(
    ("answer", "diagnosis", "said"),
    [
        (all_send_first, "hang", "send"),
        (leaves_early, "hang", "rank 0"),
        (whole_arrays, "too_many_bytes", "are enough"),
        (in_turns, "too_many_rounds", "rounds; 2 are enough"),
        (collective, "collective_used", "it calls all_reduce; messages alone are asked for"),
        (untouched, "not_summed", "Every rank still has its own array."),
        (crashes, "rank_failed", "IndexError: piece 7 of 4"),
        (forgets_return, "no_return", "rank 0 returned None"),
        (mean, "wrong_values", "rank 0 returned"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_wrong_answers_get_their_diagnosis(answer, diagnosis, said):
    record = judge(SPEC, answer)
    assert (record.status, record.diagnosis) == ("fail", diagnosis), record.message
    assert said in " ".join(record.message.split())
    assert "ranks, rank 0 with float64 (" in record.message


def test_virtual_time_is_judged_against_theory():
    def limit(world):
        size = 8 * len(world.args[0][0])
        return theory("ring all-reduce", world.ranks, size, LINK)

    def even(rng, level):
        return [World(tuple((rng.random(4 * n),) for _ in range(n)), Network(n, LINK))
                for n in (2, 4)]  # fmt: skip

    spec = ranks_spec("quick_sum", "t0_00_test", 1, even, total, ("x", "net"),
                      Limits(most_seconds=limit))  # fmt: skip
    assert judge(spec, right).status == "pass"
    slow = judge(spec, in_turns)
    assert slow.diagnosis == "too_slow"
    assert "(modelled)" in slow.message


def test_an_untouched_hole_is_todo():
    def ring_sum(x, net):
        raise NotImplementedError

    assert judge(SPEC, ring_sum).status == "todo"


def test_what_is_no_function_of_these_parameters_is_said():
    record = judge(SPEC, lambda x: x)
    assert record.diagnosis == "wrong_type"
    assert "def ring_sum(x, net)" in record.message


def test_values_may_be_lists_and_numbers():
    def each(rng, level):
        return [World(((1,), (2,), (3,)))]

    spec = ranks_spec("ranks_of", "t0_00_test", 1, each,
                      lambda world: [[r, world.args[r][0]] for r in range(3)], ("k",))  # fmt: skip
    assert judge(spec, lambda k: (dist.get_rank(), k)).status == "pass"
    assert judge(spec, lambda k: (dist.get_rank(), k + 1)).diagnosis == "wrong_values"


def test_operations_may_be_left_out_and_bytes_over_links_counted():
    def each(rng, level):
        return [World(tuple((rng.random(6),) for _ in range(3)))]

    def in_parts(x):
        mine = torch.empty(2, dtype=x.dtype)
        dist.reduce_scatter(mine, list(x.chunk(3)))
        parts = [torch.empty_like(mine) for _ in range(3)]
        dist.all_gather(parts, mine)
        return torch.cat(parts)

    def twice(x):
        dist.broadcast(x.clone(), 0)
        return in_parts(x)

    def at_once(x):
        dist.all_reduce(x)
        return x

    limits = Limits(without=frozenset({"all_reduce"}), most_wire=lambda world: 64.0)
    spec = ranks_spec("in_parts", "t0_00_test", 1, each, total, ("x",), limits)
    assert judge(spec, in_parts).status == "pass"
    assert judge(spec, at_once).diagnosis == "operation_used"
    dear = judge(spec, twice)
    assert dear.diagnosis == "too_many_bytes"
    assert "112 bytes over its links" in " ".join(dear.message.split())


def test_tensors_alive_at_once_are_counted():
    """All rows at once, against one after the other; what was given does not count."""

    def each(rng, level):
        return [World(tuple((rng.random((20, 64)),) for _ in range(2)), memory=True)]

    def wanted(world):
        return [float(sum(args[0].sum() for args in world.args))] * world.ranks

    def row_by_row(x):
        total = 0.0
        for row in x:
            row = row.clone()
            dist.all_reduce(row)
            total += row.sum().item()
        return total

    def all_rows(x):
        x = x.clone()
        dist.all_reduce(x)
        return x.sum().item()

    spec = ranks_spec("row_sums", "t0_00_test", 1, each, wanted, ("x",),
                      Limits(most_held=lambda world: 4 * 64 * 8))  # fmt: skip
    assert judge(spec, row_by_row).status == "pass"
    large = judge(spec, all_rows)
    assert large.diagnosis == "too_much_held"
    assert "are alive at once on the rank that holds most" in " ".join(large.message.split())


def test_less_than_right_values_take_was_not_counted():
    """Data that goes another way than messages, and messages that the clock does not see."""
    spec = ranks_spec(
        "quick_sum", "t0_00_test", 1, worlds, total, ("x", "net"),
        Limits(by_hand=True, least_bytes=lambda w: 1000.0),
    )  # fmt: skip
    record = judge(spec, right)
    assert record.diagnosis == "not_sent"
    assert "no right answer does with fewer than 1,000" in " ".join(record.message.split())

    spec = ranks_spec("quick_sum", "t0_00_test", 1, worlds, total, ("x", "net"),
                      Limits(most_seconds=lambda w: 1.0))  # fmt: skip
    assert judge(spec, right).status == "pass"
    assert judge(spec, plain_messages).diagnosis == "not_timed"


def test_a_value_that_is_no_data_is_said():
    record = judge(SPEC, lambda x, net: {1, 2})
    assert record.diagnosis == "rank_failed"
    assert "it returned a set: return numbers" in " ".join(record.message.split())


def test_a_function_that_cannot_travel_is_its_writers_fault():
    lock = __import__("threading").Lock()
    record = judge(SPEC, lambda x, net: lock)
    assert (record.status, record.diagnosis) == ("fail", "raised")
    assert "cannot be pickled" in " ".join(record.message.split())
